//! Copies the inputs of a warp into its local memory.

use super::interface::parts;
use super::run::{Items, Lot, Source, StageRun, WARP};
use super::{InputArea, LaneWord, Per, Stage};
use crate::exec::{Local, Word};

/// All bits of a truth value.
const TRUE: u32 = u32::MAX;

impl StageRun {
    /// Makes a warp's local memory what it starts with. Memory that is `fresh` holds zeros.
    pub fn fill(&self, local: &mut Local, warp: u64, fresh: bool) {
        let lot = self.lot(warp);
        let (words, lanes) = (local.words_mut(), self.program.lanes);
        if !fresh {
            for range in &self.program.cleared {
                words[range.start * lanes..range.end * lanes].fill([0; 4]);
            }
        }
        for &(what, address) in &self.program.layout.lane_words {
            let place = &mut words[address as usize / 4 * lanes..][..lanes];
            self.lane_word(what, &lot, place);
        }
        for source in &self.inputs {
            if let Some(area) = &self.program.layout.inputs[source.index] {
                self.fill_input(source, area, &lot, words);
            }
        }
    }

    fn lane_word(&self, what: LaneWord, lot: &Lot, place: &mut [Word]) {
        let (here, others) = place.split_at_mut(lot.count);
        others.fill([0; 4]);
        let each = match self.items {
            Items::Lanes(each) => each,
            Items::Quads(..) | Items::Rect(_) => 4,
        };
        let pixel = |lane: usize| {
            let quad = &lot.quads[lane / 4];
            (quad.x + (lane & 1) as u32, quad.y + (lane >> 1 & 1) as u32)
        };
        let offset = lot.first % each;
        let covered = lot.covered();
        for (lane, word) in here.iter_mut().enumerate() {
            let value = match what {
                LaneWord::Present => TRUE,
                LaneWord::Covered if self.program.interface.stage != Stage::Fragment => TRUE,
                LaneWord::Covered => TRUE * (covered >> lane & 1) as u32,
                LaneWord::PixelX => (pixel(lane).0 as f32 + 0.5).to_bits(),
                LaneWord::PixelY => (pixel(lane).1 as f32 + 0.5).to_bits(),
                LaneWord::Invocation => ((offset + lane) % each) as u32,
                LaneWord::PatchInWarp => ((offset + lane) / each) as u32,
            };
            *word = value.to_le_bytes();
        }
    }

    fn fill_input(&self, source: &Source, area: &InputArea, lot: &Lot, words: &mut [Word]) {
        let input = &self.program.interface.inputs[source.index];
        let mut rows = [0; WARP];
        let rows = &mut rows[..lot.count];
        self.input_rows(input.per, lot, rows);
        let vertices = self.program.vertices_of(input);
        let (parts, lanes) = (parts(input), self.program.lanes);
        // Where the rows of the lanes begin. Mostly all pixels of a warp are of one primitive.
        rows.iter_mut().for_each(|row| *row *= vertices * source.stride);
        let one = rows.first().copied().filter(|first| rows.iter().all(|row| row == first));
        for vertex in 0..vertices {
            for number in 0..input.words as usize {
                let start = area.start as usize
                    + vertex * area.vertex_stride as usize
                    + number * area.word_stride as usize;
                for part in 0..parts {
                    let place = &mut words[(start / 4 + part) * lanes..][..lanes];
                    let (here, others) = place.split_at_mut(rows.len());
                    others.fill([0; 4]);
                    let column = vertex * source.stride + (number * parts + part) * 4;
                    if let Some(row) = one {
                        // SAFETY: as below.
                        here.fill(unsafe { source.start.add(row + column).cast::<Word>().read() });
                        continue;
                    }
                    for (word, &row) in here.iter_mut().zip(&*rows) {
                        // SAFETY: a word of a row of the batch's array; the rows have been counted.
                        *word = unsafe { source.start.add(row + column).cast::<Word>().read() };
                    }
                }
            }
        }
    }

    /// The row of each lane; of inputs with rows for several vertices the primitive's.
    fn input_rows(&self, per: Per, lot: &Lot, rows: &mut [usize]) {
        match (per, self.items) {
            (Per::Launch, _) => rows.fill(0),
            (Per::Plane | Per::Primitive, Items::Quads(..) | Items::Rect(_)) => {
                for (quad, rows) in lot.quads.iter().zip(rows.chunks_mut(4)) {
                    rows.fill(quad.primitive as usize);
                }
            }
            (Per::Pixel, _) => self.pixel_rows(lot, rows, true),
            (Per::Point, _) => rows.iter_mut().zip(lot.first..).for_each(|(row, lane)| *row = lane),
            (_, Items::Lanes(1)) => rows.iter_mut().zip(lot.first..).for_each(|(row, lane)| *row = lane),
            (_, Items::Lanes(each)) => {
                let (mut item, mut number) = (lot.first / each, lot.first % each);
                for row in rows {
                    *row = item;
                    number += 1;
                    if number == each {
                        (item, number) = (item + 1, 0);
                    }
                }
            }
            _ => {}
        }
    }

    /// The pixel row of each lane, of inputs or of outputs. What goes into a picture has rows by quads until it is painted.
    pub(super) fn pixel_rows(&self, lot: &Lot, rows: &mut [usize], is_input: bool) {
        let rect = match self.items {
            Items::Rect(rect) => Some(rect),
            Items::Quads(_, image) => image.filter(|_| is_input),
            Items::Lanes(_) => None,
        };
        let Some(rect) = rect else {
            rows.iter_mut().zip(lot.first..).for_each(|(row, lane)| *row = lane);
            return;
        };
        let width = rect.width as usize;
        for (quad, rows) in lot.quads.iter().zip(rows.chunks_exact_mut(4)) {
            let first = rect.row(quad.x, quad.y);
            rows.copy_from_slice(&[first, first + 1, first + width, first + width + 1]);
        }
    }
}
