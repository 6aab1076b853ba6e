//! Copies the inputs of a warp into its local memory.

use super::interface::parts;
use super::run::{Items, Lot, Source, StageRun, WARP};
use super::{InputArea, LaneWord, Per, Quad, Stage};
use crate::exec::{Local, Word};

/// All bits of a truth value.
const TRUE: u32 = u32::MAX;

/// Half-integers from here on and larger differences are not floats of 32 bits.
const EXACT: u32 = 1 << 22;

/// What scratch words begin as in builds that look for faults; else they begin as what the warp before has left.
const POISON: Word = [0xa5; 4];

/// Centres of the pixels of quads side by side, from the first on, along the x axis.
const CENTRES: [f32; WARP] = {
    let mut centres = [0.0; WARP];
    let mut lane = 0;
    while lane < WARP {
        centres[lane] = (lane / 4 * 2 + lane % 2) as f32 + 0.5;
        lane += 1;
    }
    centres
};

/// What is known of the local memory of a warp of a stage.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    /// For each input: the row that it has in all lanes, if it is one.
    held: Vec<Option<HeldRow>>,
    /// What the warp stands for.
    pub(super) lot: Lot,
    /// All lanes are present, and their words say so.
    all_present: bool,
    /// The same of covered pixels.
    all_covered: bool,
}

/// The row of an input whose words all lanes have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeldRow {
    row: usize,
    /// How many lanes have them.
    lanes: usize,
}

impl StageRun {
    /// Makes a warp's local memory what it starts with. Memory that is `fresh` holds zeros.
    pub fn fill(&self, local: &mut Local, warp: u64, fresh: bool) {
        let lanes = self.lanes;
        let (words, filled) = local.words_mut();
        self.find_lot(warp, &mut filled.lot);
        let Filled { held, lot, all_present, all_covered } = filled;
        if fresh {
            held.clear();
            held.resize(self.inputs.len(), None);
            (*all_present, *all_covered) = (false, false);
        } else {
            for range in &self.program.cleared {
                words[range.start * lanes..range.end * lanes].fill([0; 4]);
            }
        }
        if cfg!(debug_assertions) {
            for range in &self.program.scratch {
                words[range.start * lanes..range.end * lanes].fill(POISON);
            }
        }
        let full = self.program.keeps_inputs && lot.count == lanes;
        let all_full = full && lot.covered == lot.present();
        let are_pixels = self.program.interface.stage == Stage::Fragment;
        for &(what, address) in &self.program.layout.lane_words {
            let stays = match what {
                LaneWord::Covered if are_pixels => all_full && *all_covered,
                LaneWord::Present | LaneWord::Covered => full && *all_present,
                _ => false,
            };
            if stays {
                continue;
            }
            let place = &mut words[address as usize / 4 * lanes..][..lanes];
            self.lane_word(what, lot, place);
        }
        (*all_present, *all_covered) = (full, all_full);
        for (source, held) in self.inputs.iter().zip(held) {
            if let Some(area) = &self.program.layout.inputs[source.index] {
                self.fill_input(source, area, lot, words, held);
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
        fn each_quad(here: &mut [Word], lot: &Lot, words: impl Fn(&Quad) -> [Word; 4]) {
            let quads = here.as_chunks_mut::<4>().0.iter_mut().zip(&lot.quads);
            quads.for_each(|(four, quad)| *four = words(quad));
        }
        match what {
            LaneWord::Covered if self.program.interface.stage == Stage::Fragment => {
                let truths = (0..).map(|lane| (TRUE * (lot.covered >> lane & 1) as u32).to_le_bytes());
                here.iter_mut().zip(truths).for_each(|(word, truth)| *word = truth);
            }
            LaneWord::Present | LaneWord::Covered => here.fill(TRUE.to_le_bytes()),
            LaneWord::PixelX => match lot.run {
                Some((x, _)) if x < EXACT - 2 * WARP as u32 => {
                    let centres = CENTRES.map(|centre| (x as f32 + centre).to_le_bytes());
                    here.copy_from_slice(&centres[..here.len()]);
                }
                Some((x, _)) => {
                    let centres = (0..).map(|lane| centre(x + lane / 4 * 2 + lane % 2));
                    here.iter_mut().zip(centres).for_each(|(word, centre)| *word = centre);
                }
                None => each_quad(here, lot, |quad| {
                    let [left, right] = [quad.x, quad.x + 1].map(centre);
                    [left, right, left, right]
                }),
            },
            LaneWord::PixelY => {
                let column = |y: u32| {
                    let [upper, lower] = [y, y + 1].map(centre);
                    [upper, upper, lower, lower]
                };
                match lot.run {
                    Some((_, y)) => here.as_chunks_mut().0.fill(column(y)),
                    None => each_quad(here, lot, |quad| column(quad.y)),
                }
            }
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
        let (parts, lanes) = (parts(input), self.lanes);
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
                lot.primitive.map(|primitive| primitive as usize)
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
        let of_quad = |first: usize| [first, first + 1, first + width, first + width + 1];
        let each = rows.as_chunks_mut().0.iter_mut();
        match lot.run {
            Some((x, y)) => {
                let firsts = (rect.row(x, y)..).step_by(2);
                each.zip(firsts).for_each(|(rows, first)| *rows = of_quad(first));
            }
            None => each.zip(&lot.quads).for_each(|(rows, quad)| *rows = of_quad(rect.row(quad.x, quad.y))),
        }
    }
}
