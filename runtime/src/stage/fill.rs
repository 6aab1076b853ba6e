//! Copies the inputs of a warp into its local memory.

use super::interface::parts;
use super::run::{Items, Lot, Source, StageRun, WARP};
use super::{InputArea, LaneWord, Per, Quad, Stage};
use crate::exec::{HeldRow, Local, Word};

/// All bits of a truth value.
const TRUE: u32 = u32::MAX;

impl StageRun {
    /// Makes a warp's local memory what it starts with. Memory that is `fresh` holds zeros.
    pub fn fill(&self, local: &mut Local, warp: u64, fresh: bool) {
        let lot = self.lot(warp);
        let lanes = self.program.lanes;
        let (words, held) = local.stage_words();
        if fresh {
            held.clear();
            held.resize(self.inputs.len(), None);
        } else {
            for range in &self.program.cleared {
                words[range.start * lanes..range.end * lanes].fill([0; 4]);
            }
        }
        for &(what, address) in &self.program.layout.lane_words {
            let place = &mut words[address as usize / 4 * lanes..][..lanes];
            self.lane_word(what, &lot, place);
        }
        for (source, held) in self.inputs.iter().zip(held) {
            if let Some(area) = &self.program.layout.inputs[source.index] {
                self.fill_input(source, area, &lot, words, held);
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
        let first = lot.first % each;
        let centre = |at: u32| (at as f32 + 0.5).to_le_bytes();
        // There are whole quads where there are pixels.
        let each_quad = |here: &mut [Word], words: &dyn Fn(&Quad) -> [Word; 4]| {
            let quads = here.as_chunks_mut::<4>().0.iter_mut().zip(&lot.quads);
            quads.for_each(|(four, quad)| *four = words(quad));
        };
        match what {
            LaneWord::Covered if self.program.interface.stage == Stage::Fragment => {
                each_quad(here, &|quad| [0, 1, 2, 3].map(|n| (TRUE * (quad.mask >> n & 1)).to_le_bytes()));
            }
            LaneWord::Present | LaneWord::Covered => here.fill(TRUE.to_le_bytes()),
            LaneWord::PixelX => each_quad(here, &|quad| {
                let [left, right] = [quad.x, quad.x + 1].map(centre);
                [left, right, left, right]
            }),
            LaneWord::PixelY => each_quad(here, &|quad| {
                let [upper, lower] = [quad.y, quad.y + 1].map(centre);
                [upper, upper, lower, lower]
            }),
            LaneWord::Invocation | LaneWord::PatchInWarp => {
                let is_number = what == LaneWord::Invocation;
                for (word, number) in here.iter_mut().zip(first..) {
                    let value = if is_number { number % each } else { number / each };
                    *word = (value as u32).to_le_bytes();
                }
            }
        }
    }

    /// `held`: what the warp before has left.
    fn fill_input(
        &self,
        source: &Source,
        area: &InputArea,
        lot: &Lot,
        words: &mut [Word],
        held: &mut Option<HeldRow>,
    ) {
        let input = &self.program.interface.inputs[source.index];
        let one = self.one_row(input.per, lot);
        let now = one.map(|row| HeldRow { row, lanes: lot.count }).filter(|_| self.program.keeps_inputs);
        if now.is_some() && *held == now {
            return;
        }
        *held = now;
        let vertices = self.program.vertices_of(input);
        let mut rows = [0; WARP];
        let rows = &mut rows[..lot.count];
        match one {
            Some(row) => rows.fill(row),
            None => self.input_rows(input.per, lot, rows),
        }
        // Where the rows of the lanes begin.
        rows.iter_mut().for_each(|row| *row *= vertices * source.stride);
        let one = one.map(|row| row * vertices * source.stride);
        let (parts, lanes) = (parts(input), self.program.lanes);
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

    /// The row that all lanes of a warp have, if it is one: mostly all pixels of a warp are of one primitive.
    fn one_row(&self, per: Per, lot: &Lot) -> Option<usize> {
        match (per, self.items) {
            (Per::Launch, _) | (Per::Plane | Per::Primitive, Items::Rect(_)) => Some(0),
            (Per::Plane | Per::Primitive, Items::Quads(..)) => {
                let quads = &lot.quads[..lot.count / 4];
                let first = quads.first()?.primitive;
                quads.iter().all(|quad| quad.primitive == first).then_some(first as usize)
            }
            _ => None,
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
