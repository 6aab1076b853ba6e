//! Textures with several samples a texel. Their samples are texels of an image that is two or four times as wide, and as high or twice as
//! high: a program of Tesla computes the texels of samples itself, the texture units of Fermi do it (docs/hardware/textures-nv.md
//! section 6).

use warpjit_ir::device::TextureEntry;

/// How samples are placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mode {
    /// Log2 of a pixel's texels along x and y.
    pub log2: [u32; 2],
}

/// The mode that a header says.
pub(super) fn mode(header: &TextureEntry) -> Mode {
    let log2 = match header[7] >> 12 & 15 {
        // Two samples; the second mode has another order, which no source tells.
        1 | 5 => [1, 0],
        // Four, without and with coverage samples beside them.
        2 | 8 | 9 => [1, 1],
        // Eight.
        3 | 4 | 10 | 11 => [2, 1],
        _ => [0, 0],
    };
    Mode { log2 }
}

impl Mode {
    /// Samples of a pixel.
    pub fn count(self) -> u32 {
        1 << (self.log2[0] + self.log2[1])
    }

    /// The texel of a sample, from the pixel's first one on: pairs side by side, two pairs one above the other, four beside four.
    pub fn texel(self, sample: u32) -> [u32; 2] {
        [sample & 1 | sample >> 1 & 2, sample >> 1 & 1]
    }

    /// Where a sample is in its pixel, from the centre on, in pixels: the standard patterns of Direct3D.
    pub fn position(self, sample: u32) -> [f32; 2] {
        const TWO: [[i8; 2]; 2] = [[4, 4], [-4, -4]];
        const FOUR: [[i8; 2]; 4] = [[-2, -6], [6, -2], [-6, 2], [2, 6]];
        const EIGHT: [[i8; 2]; 8] = [[1, -3], [-1, 3], [5, 1], [-3, -5], [-5, 5], [-7, -1], [3, 7], [7, -7]];
        let table: &[[i8; 2]] = match self.count() {
            2 => &TWO,
            4 => &FOUR,
            8 => &EIGHT,
            _ => &[],
        };
        table.get(sample as usize).map_or([0.0; 2], |at| at.map(|n| f32::from(n) / 16.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All samples of a pixel have texels of their own, which fill it.
    #[test]
    fn texels() {
        for code in 0..16 {
            let mode = mode(&[0, 0, 0, 0, 0, 0, 0, code << 12]);
            let [width, height] = mode.log2.map(|log2| 1u32 << log2);
            let mut texels: Vec<_> = (0..mode.count()).map(|sample| mode.texel(sample)).collect();
            texels.sort_unstable();
            let all: Vec<_> = (0..width).flat_map(|x| (0..height).map(move |y| [x, y])).collect();
            assert_eq!(texels, all, "{code}");
            let mut positions: Vec<_> =
                (0..mode.count()).map(|sample| mode.position(sample).map(|c| (c * 16.0) as i32)).collect();
            positions.sort_unstable();
            positions.dedup();
            assert_eq!(positions.len() as u32, mode.count());
        }
    }
}
