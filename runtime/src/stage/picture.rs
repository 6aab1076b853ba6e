//! Writes the outputs of a fragment batch into a picture. Several quads may cover one pixel, so each quad's outputs are kept until all
//! quads have ended. Then they are written in the order of the quads.

use super::run::{Target, WARP};
use super::{Batch, Quad, StageInterface, Work};
use crate::{Error, LaunchError};

/// Most words of an output whose rows are kept.
const MOST_WORDS: u32 = 64;
/// Coverage of a pixel that has none.
const NONE: u8 = 2;

/// What the quads of a picture leave, by their own rows.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    outputs: Vec<Rows>,
    coverage: Vec<u8>,
}

/// An output's rows.
#[derive(Debug)]
struct Rows {
    bytes: Vec<u8>,
    masks: Vec<u64>,
    /// The picture.
    target: Target,
}

impl Canvas {
    /// Puts itself in place of the batch's arrays.
    pub(super) fn redirect(
        &mut self,
        interface: &StageInterface,
        rows: usize,
        outputs: &mut [Target],
        coverage: &mut Option<*mut u8>,
    ) -> Result<(), Error> {
        self.outputs.clear();
        for (output, target) in interface.outputs.iter().zip(outputs) {
            if output.words > MOST_WORDS {
                return Err(LaunchError::PictureWords { found: output.words, limit: MOST_WORDS }.into());
            }
            let stride = output.words as usize * 4;
            let mut own = Rows { bytes: vec![0; rows * stride], masks: vec![0; rows], target: *target };
            *target = Target { start: own.bytes.as_mut_ptr(), stride, masks: Some(own.masks.as_mut_ptr()) };
            self.outputs.push(own);
        }
        if let Some(coverage) = coverage {
            self.coverage = vec![NONE; rows];
            *coverage = self.coverage.as_mut_ptr();
        }
        Ok(())
    }

    /// Paints the batch's arrays after the launch. `lanes` are those of a warp of the chip.
    pub fn paint(self, batch: &mut Batch<'_>, lanes: usize) {
        let Work::Picture(quads, rect) = batch.work else { return };
        let row_of = |row: usize| {
            let Quad { x, y, .. } = quads[row / 4];
            rect.row(x + (row & 1) as u32, y + (row >> 1 & 1) as u32)
        };
        for own in &self.outputs {
            let row_bytes = own.bytes.len() / own.masks.len().max(1);
            for (row, &mask) in own.masks.iter().enumerate().filter(|(_, mask)| **mask != 0) {
                for (number, word) in own.bytes[row * row_bytes..][..row_bytes].chunks(4).enumerate() {
                    if mask >> number & 1 != 0 {
                        let at = row_of(row) * own.target.stride + 4 * number;
                        // SAFETY: the batch's array, which has a row for each pixel, and is borrowed mutably here.
                        unsafe { own.target.start.add(at).copy_from_nonoverlapping(word.as_ptr(), 4) };
                    }
                }
            }
        }
        let Some(coverage) = &mut batch.coverage else { return };
        // On GCN pixels that no quad covers have none; elsewhere only quads that cover a pixel say something.
        let is_wave = lanes == WARP;
        if is_wave && let Some(pixels) = coverage.get_mut(..rect.pixels() as usize) {
            pixels.fill(0);
        }
        for (row, &value) in self.coverage.iter().enumerate() {
            let covered = quads[row / 4].mask >> (row & 3) & 1 != 0;
            if value != NONE && covered {
                coverage[row_of(row)] = value;
            }
        }
    }
}
