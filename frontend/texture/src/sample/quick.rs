//! The quick way for what most programs sample: flat textures of four 8-bit components, without comparisons. It gives the bits of the
//! general way; a request with a texel beyond the edges goes there.

use super::filter::{Axis, Edge, Tap};
use super::sampler::{Filter, Reduction, Sampler};
use super::texels::{self, Level};
use crate::format::{Field, Number, Packing};
use crate::{Error, Kind, Memory, Texel, View};

/// Components side by side.
type Lanes = [f32; 4];

/// Whether samples of a view can go the quick way.
pub(super) fn serves(view: &View, sampler: &Sampler) -> bool {
    const BYTES: [Field; 4] = [
        Field { bit: 0, bits: 8, number: Number::Unorm },
        Field { bit: 8, bits: 8, number: Number::Unorm },
        Field { bit: 16, bits: 8, number: Number::Unorm },
        Field { bit: 24, bits: 8, number: Number::Unorm },
    ];
    matches!(view.kind, Kind::D2 | Kind::D2Array)
        && view.format.bytes == 4
        && view.format.packing == Packing::Fields(BYTES)
        && sampler.compare.is_none()
        && sampler.reduction == Reduction::Blend
}

/// A place in a flat texture.
pub(super) struct Place {
    pub at: [f64; 2],
    pub offset: [i32; 2],
    pub layer: u32,
}

/// The components of the filtered texel of a level; `None`: a texel is beyond the edges.
pub(super) fn level<M: Memory + ?Sized>(
    view: &View,
    sampler: &Sampler,
    level: &Level,
    filter: Filter,
    normalized: bool,
    place: &Place,
    memory: &mut M,
) -> Result<Option<Lanes>, Error> {
    let axis = |k: usize| {
        let n = level.size[k];
        let edge = Edge::Wrap(sampler.wrap[k]);
        let at = edge.position(place.at[k], normalized, n);
        match filter {
            Filter::Nearest => Axis::nearest(at, place.offset[k], sampler.nearest, edge, n),
            Filter::Linear => Axis::linear(at, place.offset[k], edge, n),
        }
    };
    let (x, y) = (axis(0), axis(1));
    let mut row = |y: Tap| -> Result<Option<Lanes>, Error> {
        let Tap::At(y) = y else { return Ok(None) };
        let mut texel = |x: Tap| -> Result<Option<Lanes>, Error> {
            let Tap::At(x) = x else { return Ok(None) };
            let address = level.address(view, [x, y, 0], place.layer);
            let word = memory.word(address).map_err(Error::Unmapped)?;
            Ok(Some(word.to_le_bytes().map(|byte| f32::from(byte) / 255.0)))
        };
        blend(x.weight, texel(x.taps[0])?, || texel(x.taps[1]))
    };
    blend(y.weight, row(y.taps[0])?, || row(y.taps[1]))
}

/// What two neighbours make; the second is asked for if it has a weight, in 1/256.
fn blend(
    weight: u32,
    first: Option<Lanes>,
    second: impl FnOnce() -> Result<Option<Lanes>, Error>,
) -> Result<Option<Lanes>, Error> {
    let Some(first) = first.filter(|_| weight != 0) else { return Ok(first) };
    Ok(second()?.map(|second| mix(first, second, weight)))
}

/// Two texels; `weight` is that of the second, in 1/256.
#[inline]
pub(super) fn mix(a: Lanes, b: Lanes, weight: u32) -> Lanes {
    let weight = weight as f32 / 256.0;
    std::array::from_fn(|k| a[k] + (b[k] - a[k]) * weight)
}

/// Results through the view's sources.
pub(super) fn results(view: &View, components: Lanes) -> Texel {
    texels::apply(view.sources, components.map(f32::to_bits))
}
