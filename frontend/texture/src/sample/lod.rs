//! Levels of detail: docs/hardware/textures-nv.md section 8, docs/hardware/graphics-gcn.md section 5.1.

use super::filter::round_even;
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

/// A level of detail in 1/256. What is no number is the lowest.
fn fixed(lod: f64) -> i32 {
    if lod.is_nan() {
        -LIMIT
    } else {
        round_even(lod * 256.0).clamp(-i64::from(LIMIT), i64::from(LIMIT)) as i32
    }
}

/// The binary logarithm, from additions, products and quotients only: the same bits on all machines. Powers of two are exact.
fn log2(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if !x.is_finite() {
        return x;
    }
    if x < f64::MIN_POSITIVE {
        return f64::NEG_INFINITY;
    }
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh t, whose series 1 + t^2 / 3 + t^4 / 5 ... times t ends soon: t is at most 0.172.
    const SERIES: [f64; 9] =
        [1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0];
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let square = t * t;
    let series = SERIES.into_iter().fold(0.0, |sum, term| sum * square + term);
    exponent as f64 + 2.0 * std::f64::consts::LOG2_E * t * series
}

/// Level of detail of changes of the place, each times the sizes of the view's first level; biases and clamps come later.
pub(super) fn of_changes(dx: [f64; 3], dy: [f64; 3]) -> f64 {
    let square = |d: [f64; 3]| d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    let (x, y) = (square(dx), square(dy));
    if x.is_nan() || y.is_nan() {
        return f64::NEG_INFINITY;
    }
    log2(if y > x { y } else { x }) / 2.0
}

/// What the level of detail `lod` of an instruction becomes.
pub(super) fn adjust(lod: f64, detail: &Detail, view: &View, sampler: &Sampler) -> Adjusted {
    let bias = if detail.bias.is_nan() { 0.0 } else { f64::from(detail.bias) };
    let raw = fixed(lod + bias + f64::from(sampler.bias) / 256.0);
    let clamp = detail.clamp.map_or(-LIMIT, |clamp| fixed(clamp.into()));
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
        for e in -1000..1000 {
            assert_eq!(log2(2f64.powi(e)), f64::from(e));
        }
        for k in 1..2000 {
            let x = f64::from(k) * 0.0137;
            assert!((log2(x) - x.log2()).abs() < 1e-11, "{x}");
        }
        assert_eq!(log2(0.0), f64::NEG_INFINITY);
        assert_eq!(log2(f64::INFINITY), f64::INFINITY);
        assert!(log2(f64::NAN).is_nan());
    }

    #[test]
    fn changes() {
        assert_eq!(of_changes([4.0, 0.0, 0.0], [0.0, 8.0, 0.0]), 3.0);
        assert_eq!(of_changes([0.0; 3], [0.0; 3]), f64::NEG_INFINITY);
        assert_eq!(of_changes([3.0, 4.0, 0.0], [0.0; 3]), of_changes([5.0, 0.0, 0.0], [0.0; 3]));
        assert_eq!(of_changes([f64::NAN, 0.0, 0.0], [8.0; 3]), f64::NEG_INFINITY);
        assert_eq!(of_changes([f64::INFINITY, 0.0, 0.0], [0.0; 3]), f64::INFINITY);
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
        assert_eq!([f64::NAN, f64::NEG_INFINITY, -1e30, 1e30].map(fixed), [-LIMIT, -LIMIT, -LIMIT, LIMIT]);
    }
}
