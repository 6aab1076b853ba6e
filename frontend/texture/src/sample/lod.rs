//! Levels of detail: docs/hardware/textures-nv.md section 8, docs/hardware/graphics-gcn.md section 5.1.

use super::sampler::{Filter, Mip, Sampler, Ties};
use crate::View;

/// Where an instruction's level of detail comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lod {
    /// The first level of the view and the magnification filter, whatever biases and clamps say.
    Lowest,
    /// The instruction gives it, relative to the view's first level.
    Level(f32),
    /// It follows from how the coordinates change from pixel to pixel, along x and along y of the screen. Changes of coordinates as the
    /// request has them: of a cube's direction, or of places on a face.
    Gradients {
        /// Change along x.
        dx: [f32; 3],
        /// Change along y.
        dy: [f32; 3],
    },
}

/// An instruction's level of detail, with what it adds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Detail {
    /// Where it comes from.
    pub lod: Lod,
    /// Added to it, beside the sampler's bias.
    pub bias: f32,
    /// It is at least this, also where the sampler's clamps say less.
    pub clamp: Option<f32>,
}

impl Detail {
    /// The first level and the magnification filter.
    pub const LOWEST: Detail = Detail { lod: Lod::Lowest, bias: 0.0, clamp: None };

    /// A given level of detail.
    pub fn level(lod: f32) -> Self {
        Detail { lod: Lod::Level(lod), ..Detail::LOWEST }
    }

    /// That of gradients.
    pub fn gradients(dx: [f32; 3], dy: [f32; 3]) -> Self {
        Detail { lod: Lod::Gradients { dx, dy }, ..Detail::LOWEST }
    }
}

/// A level of detail before and after clamps, in 1/256 of a level, relative to the view's first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LodQuery {
    /// With biases, before clamps. No change at all gives -32768 levels, an infinite one 32768.
    pub raw: i32,
    /// After the clamps of sampler, instruction and view, and at most the view's last level.
    pub used: i32,
}

impl LodQuery {
    /// [`LodQuery::raw`] in levels.
    pub fn raw_levels(&self) -> f32 {
        self.raw as f32 / 256.0
    }

    /// [`LodQuery::used`] in levels.
    pub fn used_levels(&self) -> f32 {
        self.used as f32 / 256.0
    }
}

/// Levels of a view; at least 1.
pub(super) fn levels(view: &View) -> u32 {
    match view.kind {
        crate::Kind::Buffer => 1,
        _ => view.last_level.saturating_sub(view.first_level).saturating_add(1),
    }
}

/// The greatest level of detail by absolute value, 32768 levels.
const LIMIT: i32 = 1 << 23;

/// A level of detail in 1/256, to nearest even. What is no number is the lowest.
fn fixed(lod: f32) -> i32 {
    // The product is exact, and conversions saturate.
    if lod.is_nan() { -LIMIT } else { ((lod * 256.0).round_ties_even() as i32).clamp(-LIMIT, LIMIT) }
}

/// `log2_128` of a fraction from 1 to 2, by the highest 8 bits of the mantissa. The lower 15 bits of the mantissa added to an entry give
/// the logarithm in bits 16 and up: it changes once at most in each 256th.
pub const LOG2: [u32; 256] = {
    let mut table = [0; 256];
    // 2^(1/256), a half of a step, and its square.
    const HALF: f64 = 1.002_711_275_050_202_5;
    let mut place = HALF;
    let mut below = 0;
    let mut n = 0;
    while n < 256 {
        let end = (n + 1) as f64 / 256.0 + 1.0;
        // Without a change in here, nothing that is added gets to bit 16.
        let mut entry = below << 16 | 0x8000;
        if place < end {
            let mantissa = (place - 1.0) * (1 << 23) as f64;
            let next = mantissa as u32 + 1;
            entry = (below << 16) + (0x1_0000 - (next & 0x7fff));
            below += 1;
            place *= HALF * HALF;
        }
        table[n as usize] = entry;
        n += 1;
    }
    table
};

/// 128 times the binary logarithm, to the nearest; far below all others of 0 and numbers that are not normal.
fn log2_128(x: f32) -> i32 {
    let bits = x.to_bits();
    match bits {
        0x0080_0000..=0x7f7f_ffff => {
            let fraction = (LOG2[(bits >> 15 & 255) as usize] + (bits & 0x7fff)) >> 16;
            ((bits >> 23) as i32 - 127) * 128 + fraction as i32
        }
        0x7f80_0000 => LIMIT,
        _ => -LIMIT,
    }
}

/// `256 * log2(n + 1)` to the nearest, of 1 to 16 probes.
pub const PROBES_LOG2: [u32; 16] =
    [0, 256, 406, 512, 594, 662, 719, 768, 812, 850, 886, 918, 947, 975, 1000, 1024];

/// What changes of the place say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Changes {
    /// Level of detail in 1/256; biases and clamps come later.
    pub lod: i32,
    /// Probes that are taken side by side.
    pub probes: u32,
    /// They lie along the change in y, not that in x.
    pub along_y: bool,
}

/// Of changes of the place, each times the sizes of the view's first level, and the most probes that may be taken.
///
/// With several probes the longer change is divided among them: there are as many as it is longer than the shorter one, or than a
/// texel of the first level if that is more, rounded up.
pub(super) fn of_changes(dx: [f32; 3], dy: [f32; 3], most_probes: u32) -> Changes {
    let square = |d: [f32; 3]| d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    let (x, y) = (square(dx), square(dy));
    if x.is_nan() || y.is_nan() {
        return Changes { lod: -LIMIT, probes: 1, along_y: false };
    }
    let along_y = y > x;
    let (long, short) = if along_y { (y, x) } else { (x, y) };
    // That of the root.
    let lod = log2_128(long);
    if most_probes <= 1 {
        return Changes { lod, probes: 1, along_y };
    }
    let short = if short > 1.0 { short } else { 1.0 };
    // What is no number, an infinity by another, becomes 0.
    let times = (long / short).sqrt().ceil() as i32;
    let probes = times.clamp(1, most_probes.min(16) as i32) as u32;
    Changes { lod: lod - PROBES_LOG2[probes as usize - 1] as i32, probes, along_y }
}

/// Where a probe is, in parts of the longer change from the middle on.
pub(super) fn probe_place(number: u32, probes: u32) -> f32 {
    let twice = (2 * number + 1) as f32 - probes as f32;
    twice / (2 * probes) as f32
}

/// The level of detail that an instruction gives, in 1/256.
pub(super) fn given(lod: f32) -> i32 {
    fixed(lod)
}

/// No level of detail: below all others.
pub(super) const NONE: i32 = -LIMIT;

/// What the level of detail `lod` of an instruction becomes. Each part is in 1/256 before they are added.
pub(super) fn adjust(lod: i32, detail: &Detail, view: &View, sampler: &Sampler) -> Adjusted {
    let bias = if detail.bias.is_nan() { 0 } else { fixed(detail.bias) };
    let sum = i64::from(lod) + i64::from(bias) + i64::from(sampler.bias);
    let raw = sum.clamp((-LIMIT).into(), LIMIT.into()) as i32;
    let clamp = detail.clamp.map_or(-LIMIT, fixed);
    let lowest = view.min_lod.min(LIMIT as u32) as i32;
    let clamped = raw.max(sampler.min_lod).min(sampler.max_lod).max(clamp).max(lowest);
    let last = (levels(view) - 1).min(LIMIT as u32 >> 8) as i32;
    Adjusted { clamped, query: LodQuery { raw, used: clamped.clamp(0, last * 256) } }
}

/// A level of detail with biases and clamps.
pub(super) struct Adjusted {
    /// After clamps, but not to the view's levels: its sign says which filter counts.
    pub clamped: i32,
    pub query: LodQuery,
}

/// Filter and levels that a sample takes; levels are relative to the view's first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Selection {
    pub filter: Filter,
    pub level: u32,
    /// Of the level behind it, in 1/256; 0 where there is none.
    pub weight: u32,
}

impl Selection {
    /// The first level, magnified.
    pub fn lowest(sampler: &Sampler) -> Self {
        Selection { filter: sampler.mag, level: 0, weight: 0 }
    }

    /// What a level of detail takes. `mip` is the sampler's, or one that the texture forces.
    pub fn new(lod: &Adjusted, sampler: &Sampler, mip: Mip) -> Self {
        if lod.clamped <= 0 {
            return Selection::lowest(sampler);
        }
        let used = lod.query.used;
        let (level, weight) = match mip {
            Mip::None => (0, 0),
            Mip::Nearest => (nearest(used, sampler.mip_ties), 0),
            Mip::Linear => (used as u32 >> 8, used as u32 & 255),
        };
        Selection { filter: sampler.min, level, weight }
    }
}

/// The level nearest to a level of detail that is at least 0.
pub(super) fn nearest(lod: i32, ties: Ties) -> u32 {
    let half = match ties {
        Ties::Down => 127,
        Ties::Up => 128,
    };
    (lod.max(0) + half) as u32 >> 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms() {
        for e in -126..128 {
            assert_eq!(log2_128(2f32.powi(e)), 128 * e);
        }
        // All mantissas that are near a change, and some others.
        for mantissa in
            (0..1 << 23).filter(|m| m % 997 == 0 || (LOG2[m >> 15] as usize + (m & 0x7fff) + 1) & 0xffff < 3)
        {
            let x = f32::from_bits(127 << 23 | mantissa as u32);
            assert_eq!(f64::from(log2_128(x)), (f64::from(x).log2() * 128.0).round(), "{x}");
        }
        assert_eq!([0.0, 1e-40, f32::NAN, -1.0].map(log2_128), [-LIMIT; 4]);
        assert_eq!(log2_128(f32::INFINITY), LIMIT);
    }

    #[test]
    fn changes() {
        let of_changes = |dx, dy| of_changes(dx, dy, 1).lod;
        assert_eq!(of_changes([4.0, 0.0, 0.0], [0.0, 8.0, 0.0]), 3 * 256);
        assert_eq!(of_changes([0.0; 3], [0.0; 3]), NONE);
        assert_eq!(of_changes([3.0, 4.0, 0.0], [0.0; 3]), of_changes([5.0, 0.0, 0.0], [0.0; 3]));
        assert_eq!(of_changes([f32::NAN, 0.0, 0.0], [8.0; 3]), NONE);
        assert_eq!(of_changes([f32::INFINITY, 0.0, 0.0], [0.0; 3]), LIMIT);
    }

    #[test]
    fn probes() {
        for n in 1..=16u32 {
            assert_eq!(f64::from(PROBES_LOG2[n as usize - 1]), (f64::from(n).log2() * 256.0).round(), "{n}");
            // Evenly spaced around the middle, each in the middle of its part.
            let places: Vec<f32> = (0..n).map(|k| probe_place(k, n)).collect();
            assert!((places.iter().sum::<f32>()).abs() < 1e-5);
            assert!((places[0] - (0.5 / n as f32 - 0.5)).abs() < 1e-6);
        }
        let of = |x: f32, y: f32, most| {
            let Changes { lod, probes, along_y } = of_changes([x, 0.0, 0.0], [0.0, y, 0.0], most);
            (lod, probes, along_y)
        };
        // Eight texels by two: four probes with two texels each.
        assert_eq!(of(8.0, 2.0, 16), (256, 4, false));
        assert_eq!(of(2.0, 8.0, 16), (256, 4, true));
        // At most two, with four texels each.
        assert_eq!(of(8.0, 2.0, 2), (512, 2, false));
        assert_eq!(of(8.0, 2.0, 1), (768, 1, false));
        // A probe has one texel of the first level at least.
        assert_eq!(of(8.0, 0.01, 16), (0, 8, false));
        assert_eq!(of(0.5, 0.01, 16), (-256, 1, false));
        assert_eq!(of(5.0, 2.0, 16).1, 3);
        assert_eq!(of(f32::INFINITY, f32::INFINITY, 16).1, 1);
        assert_eq!(of(f32::INFINITY, 1.0, 16).1, 16);
        assert_eq!(of(f32::NAN, 1.0, 16), (NONE, 1, false));
    }

    #[test]
    fn nearest_levels() {
        let at = |ties| [0, 1, 127, 128, 129, 383, 384, 385].map(|lod| nearest(lod, ties));
        assert_eq!(at(Ties::Down), [0, 0, 0, 0, 1, 1, 1, 2]);
        assert_eq!(at(Ties::Up), [0, 0, 0, 1, 1, 1, 2, 2]);
    }

    #[test]
    fn numbers() {
        assert_eq!([1.0, -0.5, 0.001953125, 0.005859375].map(fixed), [256, -128, 0, 2]);
        assert_eq!([f32::NAN, f32::NEG_INFINITY, -1e30, 1e30].map(fixed), [-LIMIT, -LIMIT, -LIMIT, LIMIT]);
    }
}
