//! Copies a warp's outputs from its local memory into the rows of the batch, after the warp has ended.

use super::run::{Lot, StageRun, Target, WARP};
use super::{LaneWord, OutputArea, OutputPlace, Stage};
use crate::exec::{Local, Word};

/// A warp that has ended.
struct Left<'a> {
    lot: &'a Lot,
    words: &'a [Word],
    shared: &'a [Word],
    lanes: usize,
}

impl Left<'_> {
    /// A word of a lane's local memory.
    #[inline]
    fn local(&self, lane: usize, address: usize) -> Word {
        self.words[address / 4 * self.lanes + lane]
    }

    /// Lanes in which the word at an address is not 0.
    fn set(&self, address: u32) -> u64 {
        let row = &self.words[address as usize / 4 * self.lanes..][..self.lanes];
        let eights = row.chunks(8).map(|eight| {
            let bits = eight.iter().zip(0..).map(|(&word, lane)| u64::from(word != [0; 4]) << lane);
            bits.fold(0, |bits, bit| bits | bit)
        });
        eights.zip((0..).step_by(8)).fold(0, |lanes, (bits, first)| lanes | bits << first)
    }
}

/// The numbers of the lanes in a mask.
fn each_lane(mut lanes: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (lanes != 0).then(|| lanes.trailing_zeros())?;
        lanes &= lanes - 1;
        Some(lane as usize)
    })
}

/// Rows of columns.
#[inline]
#[cfg(target_arch = "x86_64")]
fn transposed(columns: [&[Word; 4]; 4]) -> [[Word; 4]; 4] {
    use std::arch::x86_64::{
        __m128, _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps,
    };
    let mut rows = [[[0; 4]; 4]; 4];
    // SAFETY: vectors of 128 bits are part of the architecture; each access is of 16 bytes, at any alignment. Nothing is computed.
    unsafe {
        let [a, b, c, d] = columns.map(|column| _mm_loadu_ps(column.as_ptr().cast()));
        let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
        let (ab_high, cd_high) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        let all: [__m128; 4] = [
            _mm_movelh_ps(ab, cd),
            _mm_movehl_ps(cd, ab),
            _mm_movelh_ps(ab_high, cd_high),
            _mm_movehl_ps(cd_high, ab_high),
        ];
        for (row, words) in rows.iter_mut().zip(all) {
            _mm_storeu_ps(row.as_mut_ptr().cast(), words);
        }
    }
    rows
}

/// Rows of columns.
#[inline]
#[cfg(not(target_arch = "x86_64"))]
fn transposed([a, b, c, d]: [&[Word; 4]; 4]) -> [[Word; 4]; 4] {
    std::array::from_fn(|n| [a[n], b[n], c[n], d[n]])
}

impl StageRun {
    /// Writes the rows of a warp that has ended, whose local memory [`StageRun::fill`] has filled.
    pub fn collect(&self, local: &Local, shared: &[u8], warp: u64) {
        self.collect_shared(shared, warp);
        let lanes = self.lanes;
        let (words, filled) = local.words();
        let left = Left { lot: &filled.lot, words, shared: shared.as_chunks().0, lanes };
        match self.program.interface.stage {
            Stage::Fragment => self.collect_pixels(&left),
            Stage::Geometry => self.collect_emitted(&left),
            _ => self.collect_lanes(&left),
        }
    }

    fn collect_pixels(&self, left: &Left<'_>) {
        let lot = left.lot;
        let (present, covered) = (lot.present(), lot.covered);
        // Where the word says nothing but who is covered, and stays as it was, it need not be read.
        let layout = &self.program.layout;
        let own = layout.alive.filter(|&alive| {
            !self.program.keeps_inputs || !layout.lane_words.contains(&(LaneWord::Covered, alive))
        });
        let alive = own.map_or(covered, |address| left.set(address) & covered);
        // GCN: what exports have written counts, and coverage is EXEC of the last one.
        let is_wave = self.guest_lanes() as usize == WARP;
        let mut rows = [0; WARP];
        self.pixel_rows(lot, &mut rows[..lot.count], false);
        for ((index, output), area) in
            self.program.interface.outputs.iter().enumerate().zip(&self.program.layout.outputs)
        {
            let lanes = if is_wave && area.written.is_some() { covered } else { alive };
            self.put_lanes(&self.outputs[index], area, output.words, left, lanes, &rows);
        }
        if let Some(coverage) = self.coverage {
            for lane in each_lane(if is_wave { present } else { covered }) {
                // SAFETY: there is a byte for each pixel row, and only this warp has the row.
                unsafe { coverage.add(rows[lane]).write((alive >> lane & 1) as u8) };
            }
        }
    }

    fn collect_emitted(&self, left: &Left<'_>) {
        let (interface, layout) = (&self.program.interface, &self.program.layout);
        let most = interface.max_vertices as usize;
        for lane in 0..left.lot.count {
            let number = |address: u32| u32::from_le_bytes(left.local(lane, address as usize));
            let count = layout.emitted.map_or(0, number);
            let rows = most.min(count as usize);
            let first = (left.lot.first + lane) * most;
            for (target, (output, area)) in
                self.outputs.iter().zip(interface.outputs.iter().zip(&layout.outputs))
            {
                for row in 0..rows {
                    self.put(target, area, output.words, left, lane, first + row, row);
                }
            }
            let Some((counts, cuts)) = self.emitted else { continue };
            // SAFETY: there is a word for each lane of the batch, and for each of its rows; only this warp has the lane.
            unsafe {
                counts.add(left.lot.first + lane).write(count);
                for row in 0..most {
                    let flags =
                        layout.cuts.filter(|_| row < rows).map_or(0, |cuts| number(cuts + 4 * row as u32));
                    cuts.add(first + row).write(flags);
                }
            }
        }
    }

    fn collect_lanes(&self, left: &Left<'_>) {
        let interface = &self.program.interface;
        let each = (interface.invocations as usize).max(1);
        for (target, (output, area)) in
            self.outputs.iter().zip(interface.outputs.iter().zip(&self.program.layout.outputs))
        {
            if let OutputPlace::Patch(_) = output.place {
                // Whole patches: the first lane of each stands for it.
                for lane in (0..left.lot.count).step_by(each) {
                    let patch = (left.lot.first + lane) / each;
                    let (from, row) = if area.shared { (lane / each, 0) } else { (lane, 0) };
                    self.put(target, area, output.words, left, from, patch, row);
                }
            } else {
                let rows = std::array::from_fn(|lane| left.lot.first + lane);
                self.put_lanes(target, area, output.words, left, left.lot.present(), &rows);
            }
        }
    }

    /// Writes a row for each of some lanes.
    fn put_lanes(
        &self,
        target: &Target,
        area: &OutputArea,
        words: u32,
        left: &Left<'_>,
        lanes: u64,
        rows: &[usize; WARP],
    ) {
        if area.shared || area.written.is_some() || target.masks.is_some() {
            each_lane(lanes).for_each(|lane| self.put(target, area, words, left, lane, rows[lane], 0));
            return;
        }
        // What each lane has of a word stands side by side.
        let (start, step) =
            (area.start as usize / 4 * left.lanes, area.word_stride as usize / 4 * left.lanes);
        let column = |number: usize| &left.words[start + number * step..][..left.lanes];
        let put = |lane: usize, word: usize, bytes: &[Word]| {
            let at = rows[lane] * target.stride + 4 * word;
            // SAFETY: the row is inside of the array, as has been counted; only this warp has it, and columns do not overlap.
            unsafe { target.start.add(at).copy_from_nonoverlapping(bytes.as_ptr().cast(), 4 * bytes.len()) };
        };
        let words = words as usize;
        let fours = words / 4 * 4;
        for first in (0..fours).step_by(4) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|n| column(first + n));
            if lanes == left.lot.present() {
                let [a4, b4, c4, d4] =
                    [a.as_chunks::<4>().0, b.as_chunks().0, c.as_chunks().0, d.as_chunks().0];
                let quarters = a4.iter().zip(b4).zip(c4.iter().zip(d4)).take(left.lot.count / 4);
                for (((a, b), (c, d)), number) in quarters.zip(0..) {
                    let of_lanes = transposed([a, b, c, d]);
                    for (lane, of_lane) in (4 * number..).zip(&of_lanes) {
                        put(lane, first, of_lane);
                    }
                }
                let rest = left.lot.count / 4 * 4..left.lot.count;
                rest.for_each(|lane| put(lane, first, &[a[lane], b[lane], c[lane], d[lane]]));
                continue;
            }
            each_lane(lanes).for_each(|lane| put(lane, first, &[a[lane], b[lane], c[lane], d[lane]]));
        }
        for word in fours..words {
            let of_word = column(word);
            each_lane(lanes).for_each(|lane| put(lane, word, &[of_word[lane]]));
        }
    }

    /// Writes a row: the words of a lane that the program has written. `vertex` is the number of the emitted vertex.
    #[expect(clippy::too_many_arguments, reason = "a row has this many coordinates")]
    #[inline]
    fn put(
        &self,
        target: &Target,
        area: &OutputArea,
        words: u32,
        left: &Left<'_>,
        lane: usize,
        row: usize,
        vertex: usize,
    ) {
        let (start, step, rows) = (area.start as usize, area.word_stride as usize, area.row_stride as usize);
        if !area.shared && area.written.is_none() && target.masks.is_none() {
            let from = &left.words[(start + vertex * rows) / 4 * left.lanes + lane..];
            let from = from.iter().step_by((step / 4 * left.lanes).max(1));
            for (number, &word) in from.take(words as usize).enumerate() {
                // SAFETY: as below.
                unsafe { target.start.add(row * target.stride + 4 * number).cast::<Word>().write(word) };
            }
            return;
        }
        let mut mask = 0;
        for number in 0..words as usize {
            if let Some(written) = area.written
                && left.local(lane, written as usize + 4 * number) == [0; 4]
            {
                continue;
            }
            let word = match area.shared {
                true => left.shared[(start + lane * rows + number * step) / 4],
                false => left.local(lane, start + vertex * rows + number * step),
            };
            mask |= 1 << (number & 63);
            // SAFETY: the row is inside of the array, as has been counted; only this warp has it, and columns do not overlap.
            unsafe { target.start.add(row * target.stride + 4 * number).cast::<Word>().write(word) };
        }
        if let Some(masks) = target.masks {
            // SAFETY: a canvas has a mask for each row.
            unsafe { masks.add(row).write(mask) };
        }
    }
}
