//! Finds the texels that a filter reads along one axis of a level, and their weights.
//!
//! In: a coordinate, the number of texels, and what lies beyond the first and last of them ([`Edge`]). Out: an [`Axis`] of two texels;
//! nearest filtering uses the first only. Rounding is the chip's: docs/hardware/textures-nv.md section 7,
//! docs/hardware/graphics-gcn.md section 5.2.

use super::sampler::{Reduction, Rounding, Wrap};
use crate::Texel;

/// No coordinate is farther from 0, in textures: what is beyond is as far outside, whatever the offset.
const FARTHEST: f64 = 256.0;

/// The same, in texels, of coordinates that count these.
const FARTHEST_TEXEL: f64 = (1 << 22) as f64;

/// The nearest integer, of two the even one; 0 of what is no number.
pub(super) fn round_even(x: f64) -> i64 {
    // From 2^52 on a float has no fraction, so that the sum rounds at the point.
    const POINT: f64 = (3u64 << 51) as f64;
    const FAR: f64 = (1u64 << 50) as f64;
    (x.clamp(-FAR, FAR) + POINT - POINT) as i64
}

/// The largest integer that is not above.
fn floor(x: f64) -> i64 {
    let whole = x as i64;
    whole - i64::from(x < whole as f64)
}

/// What is beyond the first and last texel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Edge {
    Wrap(Wrap),
    /// The neighbouring face of a cube.
    Seam,
}

/// A texel along one axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tap {
    At(u32),
    Border,
    /// On the neighbouring face of a cube, where the face's texel of this number would be.
    Beyond(i64),
}

impl Edge {
    /// A coordinate in texels of a level. What is no finite number counts as 0. Of what comes again and again the first is taken.
    pub(super) fn position(self, coordinate: f64, normalized: bool, n: u32) -> f64 {
        let c = if coordinate.is_finite() { coordinate } else { 0.0 };
        if !normalized {
            return c.clamp(-FARTHEST_TEXEL, FARTHEST_TEXEL);
        }
        let c = match self {
            Edge::Wrap(Wrap::Wrap) => c - c.floor(),
            Edge::Wrap(Wrap::Mirror) => c - 2.0 * (0.5 * c).floor(),
            _ => c.clamp(-FARTHEST, FARTHEST),
        };
        c * f64::from(n)
    }

    fn tap(self, i: i64, n: u32) -> Tap {
        match self {
            Edge::Wrap(wrap) => wrap.texel(i, n).map_or(Tap::Border, Tap::At),
            Edge::Seam if (0..i64::from(n)).contains(&i) => Tap::At(i as u32),
            Edge::Seam => Tap::Beyond(i),
        }
    }
}

/// The texels along one axis that a filter takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Axis {
    pub taps: [Tap; 2],
    /// Of the second, in 1/256. It is not read if that is 0.
    pub weight: u32,
}

impl Axis {
    /// An axis along which a texture has no coordinate.
    pub const NONE: Axis = Axis { taps: [Tap::At(0); 2], weight: 0 };

    /// The texel that a position is in.
    pub fn nearest(at: f64, offset: i32, rounding: Rounding, edge: Edge, n: u32) -> Self {
        let i = match rounding {
            Rounding::Trunc => floor(at),
            Rounding::Rounded => round_even(at * 256.0) >> 8,
        } + i64::from(offset);
        let tap = match edge {
            Edge::Wrap(wrap) => edge.tap(wrap.clamp_nearest(i, n), n),
            Edge::Seam => Edge::Wrap(Wrap::ClampToEdge).tap(i, n),
        };
        Axis { taps: [tap; 2], weight: 0 }
    }

    /// The two texels that are nearest to a position.
    pub fn linear(at: f64, offset: i32, edge: Edge, n: u32) -> Self {
        let q = round_even(256.0 * (at - 0.5)) + 256 * i64::from(offset);
        let q = match edge {
            Edge::Wrap(wrap) => wrap.clamp_linear(q, n),
            Edge::Seam => q.clamp(-128, 256 * i64::from(n) - 128),
        };
        Axis { taps: [edge.tap(q >> 8, n), edge.tap((q >> 8) + 1, n)], weight: (q & 255) as u32 }
    }
}

/// What is made of texels that are no numbers, on all machines.
const NAN: f32 = f32::from_bits(0x7fc0_0000);

/// A number, or the one that stands for what is none.
pub(super) fn number(x: f32) -> f32 {
    if x.is_nan() { NAN } else { x }
}

impl Reduction {
    /// What two texels make; `weight` is that of the second, in 1/256.
    pub(super) fn combine(self, a: Texel, b: Texel, weight: u32) -> Texel {
        let weight = weight as f32 / 256.0;
        std::array::from_fn(|k| {
            let (a, b) = (f32::from_bits(a[k]), f32::from_bits(b[k]));
            match self {
                Reduction::Blend => number(a + (b - a) * weight),
                Reduction::Min if b < a => b,
                Reduction::Max if b > a => b,
                Reduction::Min | Reduction::Max => a,
            }
            .to_bits()
        })
    }
}

/// One axis of a filter: the texels at its taps, combined.
fn along<E>(
    axis: &Axis,
    reduction: Reduction,
    mut at: impl FnMut(Tap) -> Result<Texel, E>,
) -> Result<Texel, E> {
    let first = at(axis.taps[0])?;
    if axis.weight == 0 {
        return Ok(first);
    }
    Ok(reduction.combine(first, at(axis.taps[1])?, axis.weight))
}

/// Combines the texels of all axes: along x first, then y, then z.
pub(super) fn filter<E>(
    [x, y, z]: &[Axis; 3],
    reduction: Reduction,
    mut texel: impl FnMut([Tap; 3]) -> Result<Texel, E>,
) -> Result<Texel, E> {
    along(z, reduction, |z| along(y, reduction, |y| along(x, reduction, |x| texel([x, y, z]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGE: Edge = Edge::Wrap(Wrap::ClampToEdge);

    #[test]
    fn rounding() {
        assert_eq!([0.5, 1.5, 2.5, -0.5, -1.5, 0.51, -0.51].map(round_even), [0, 2, 2, 0, -2, 1, -1]);
        assert_eq!([f64::NAN, 1e300, -1e300].map(round_even), [0, 1 << 50, -(1 << 50)]);
        assert_eq!([0.0, 0.99, -0.01, -1.0, 7.0].map(floor), [0, 0, -1, -1, 7]);
        let positions = |edge: Edge| {
            [f64::NAN, f64::INFINITY, 0.25, -0.25, 1.25, 1e9, -1e9].map(|c| edge.position(c, true, 8))
        };
        assert_eq!(positions(EDGE), [0.0, 0.0, 2.0, -2.0, 10.0, 2048.0, -2048.0]);
        assert_eq!(positions(Edge::Wrap(Wrap::Wrap)), [0.0, 0.0, 2.0, 6.0, 2.0, 0.0, 0.0]);
        assert_eq!(positions(Edge::Wrap(Wrap::Mirror)), [0.0, 0.0, 2.0, 14.0, 10.0, 0.0, 0.0]);
        assert_eq!([0.25, -1e9].map(|c| EDGE.position(c, false, 8)), [0.25, -4_194_304.0]);
    }

    #[test]
    fn weights() {
        let linear = |at: f64| {
            let Axis { taps, weight } = Axis::linear(at, 0, EDGE, 8);
            (taps, weight)
        };
        let at = |a, b| [Tap::At(a), Tap::At(b)];
        assert_eq!(linear(2.5), (at(2, 3), 0));
        assert_eq!(linear(2.75), (at(2, 3), 64));
        assert_eq!(linear(3.0), (at(2, 3), 128));
        assert_eq!(linear(0.0), (at(0, 0), 128));
        // 256 * (u - 0.5) of 0.5 and 1.5: ties go to the even number.
        assert_eq!(linear(0.5 + 0.5 / 256.0), (at(0, 1), 0));
        assert_eq!(linear(0.5 + 1.5 / 256.0), (at(0, 1), 2));
        assert_eq!(Axis::linear(2.75, -2, EDGE, 8), Axis { taps: at(0, 1), weight: 64 });
    }

    #[test]
    fn nearest() {
        let nearest = |at, rounding| Axis::nearest(at, 0, rounding, EDGE, 8).taps[0];
        assert_eq!(nearest(2.999, Rounding::Trunc), Tap::At(2));
        assert_eq!(nearest(2.999, Rounding::Rounded), Tap::At(3));
        assert_eq!(nearest(2.99, Rounding::Rounded), Tap::At(2));
        assert_eq!(nearest(-0.001, Rounding::Trunc), Tap::At(0));
        let border = Axis::nearest(-0.001, 0, Rounding::Trunc, Edge::Wrap(Wrap::Border), 8);
        assert_eq!(border.taps[0], Tap::Border);
    }

    #[test]
    fn what_has_no_weight_is_not_read() {
        let mut read = Vec::new();
        let axes = [Axis::linear(2.75, 0, EDGE, 8), Axis::linear(1.5, 0, EDGE, 8), Axis::NONE];
        let result = filter(&axes, Reduction::Blend, |taps| {
            read.push(taps.map(|tap| if let Tap::At(i) = tap { i } else { 99 }));
            Ok::<_, ()>([(read.len() as f32).to_bits(); 4])
        });
        assert_eq!(read, [[2, 1, 0], [3, 1, 0]]);
        assert_eq!(result, Ok([1.25f32.to_bits(); 4]));
    }

    #[test]
    fn reductions() {
        let (a, b) = ([1f32, -1.0, 3.0, 0.0].map(f32::to_bits), [2f32, -2.0, 3.0, 4.0].map(f32::to_bits));
        let of = |reduction: Reduction| reduction.combine(a, b, 64).map(f32::from_bits);
        assert_eq!(of(Reduction::Blend), [1.25, -1.25, 3.0, 1.0]);
        assert_eq!(of(Reduction::Min), [1.0, -2.0, 3.0, 0.0]);
        assert_eq!(of(Reduction::Max), [2.0, -1.0, 3.0, 4.0]);
    }
}
