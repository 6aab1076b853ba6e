//! The samples of a pixel: where they are, and how often the pixel program runs for them.

use super::registers::Registers;

/// Most samples of a pixel.
pub(super) const MOST: usize = 16;

/// The samples of pixels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Samples {
    pub count: u32,
    /// Where they are in each pixel of a quad, in 1/256 of a pixel from its upper left corner.
    pub positions: [[[i32; 2]; MOST]; 4],
    /// Which of them may be covered, in each pixel of a quad.
    pub mask: [u32; 4],
    /// How often the pixel program runs for a pixel: each time for as many samples.
    pub runs: u32,
    /// Whether alpha says how many samples are covered.
    pub alpha_to_mask: bool,
}

impl Samples {
    /// By the registers. `center`: where in a pixel its centre is.
    pub fn new(registers: Registers<'_>, center: f64) -> Samples {
        let count = 1u32 << (registers.at(0x28be0) & 7).min(4);
        let middle = (center * 256.0) as i32;
        let mut positions = [[[middle; 2]; MOST]; 4];
        // MSAA_ENABLE; without it all samples are in the middle.
        if count > 1 && registers.bit(0x28a48, 0) {
            for (pixel, positions) in (0..).zip(&mut positions) {
                for (sample, position) in (0..).zip(positions.iter_mut().take(count as usize)) {
                    // Four bits each of x and y, in 1/16 of a pixel from the middle.
                    let word = registers.at(0x28bf8 + 16 * pixel + 4 * (sample / 4));
                    let part = |shift: u32| ((word >> shift & 15) << 28) as i32 >> 28;
                    *position =
                        [middle + 16 * part(8 * (sample % 4)), middle + 16 * part(8 * (sample % 4) + 4)];
                }
            }
        }
        let masks = [registers.at(0x28c38), registers.at(0x28c3c)];
        let iterates = registers.bit(0x28a4c, 16);
        Samples {
            count,
            positions,
            mask: [masks[0], masks[0] >> 16, masks[1], masks[1] >> 16].map(|mask| mask & 0xffff),
            runs: if iterates { (1u32 << (registers.at(0x28804) >> 4 & 7)).min(count) } else { 1 },
            alpha_to_mask: registers.bit(0x28b70, 0),
        }
    }

    /// The first sample of a run, and all of them as bits.
    pub fn of_run(&self, run: u32) -> (u32, u32) {
        let each = self.count / self.runs;
        (run * each, ((1 << each) - 1) << (run * each))
    }

    /// Where a sample is in a pixel of a quad, in pixels.
    pub fn position(&self, lane: u32, sample: u32) -> [f64; 2] {
        self.positions[lane as usize & 3][sample as usize % MOST].map(|steps| f64::from(steps) / 256.0)
    }

    /// The samples that an alpha covers.
    pub fn of_alpha(&self, alpha: f32) -> u32 {
        // Of a NaN none.
        let covered = (alpha.clamp(0.0, 1.0) * self.count as f32 + 0.5) as u32;
        (1 << covered.min(self.count)) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(set: &[(usize, u32)]) -> Samples {
        let mut registers = vec![0; 0x1_0000];
        registers[0x28c38 / 4] = u32::MAX;
        registers[0x28c3c / 4] = u32::MAX;
        set.iter().for_each(|(address, value)| registers[address / 4] = *value);
        Samples::new(Registers(&registers), 0.5)
    }

    #[test]
    fn positions_and_runs() {
        let one = samples(&[]);
        assert_eq!((one.count, one.runs, one.position(3, 0)), (1, 1, [0.5; 2]));
        // Two samples a quarter of a pixel up left and down right.
        let two = [(0x28be0, 1), (0x28bf8, 0x44cc), (0x28c08, 0x44cc), (0x28c38, 0xfffd_ffff)];
        let apart = samples(&[&two[..], &[(0x28a48, 1)]].concat());
        assert_eq!(
            (apart.position(0, 0), apart.position(1, 1), apart.position(2, 1)),
            ([0.25; 2], [0.75; 2], [0.5; 2])
        );
        assert_eq!(apart.mask, [0xffff, 0xfffd, 0xffff, 0xffff]);
        assert_eq!((apart.runs, apart.of_run(0)), (1, (0, 3)));
        let together = samples(&two);
        assert_eq!((together.count, together.position(0, 0)), (2, [0.5; 2]));
        let each = samples(&[&two[..], &[(0x28a4c, 1 << 16), (0x28804, 1 << 4)]].concat());
        assert_eq!((each.runs, each.of_run(0), each.of_run(1)), (2, (0, 1), (1, 2)));
    }

    #[test]
    fn alphas() {
        let four = samples(&[(0x28be0, 2)]);
        assert_eq!(
            [-1.0, 0.0, 0.26, 0.5, 0.99, 7.0, f32::NAN].map(|alpha| four.of_alpha(alpha)),
            [0, 0, 1, 3, 15, 15, 0]
        );
    }
}
