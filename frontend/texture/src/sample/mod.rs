//! Sampling: coordinates, levels of detail, filters. It executes the requests of texture and image instructions.
//!
//! Arithmetic is the same on all machines: positions are computed in f64, levels of detail in f32, and put on the grid of 1/256 that
//! hardware has, texels are mixed in f32, along x, then y, z and levels. The places where families differ are fields of [`Sampler`] and of
//! the requests. No number makes a request fail or panic; it fails only where a texel that counts is not in memory. Texels of weight 0 do
//! not count.
//!
//! - [`sampler`]: what a sampler says; `request`: what an instruction asks for; [`Prepared`]: a view and a sampler, for many lanes;
//! - `lod`, `cube`, `filter`, `wrap`: from coordinates to levels, faces, texels and weights;
//! - `image`: requests with integer coordinates, which need no sampler.

mod cube;
mod filter;
mod image;
mod lod;
mod quick;
mod request;
pub mod sampler;
mod texels;
mod wrap;

#[cfg(test)]
mod tests;

pub use image::{CubeSize, address, atomic, fetch, load_raw, query_size, store, store_raw};
pub use lod::{Detail, LOG2, Lod, LodQuery, PROBES_LOG2};
pub use request::{Coordinates, CubeCoordinates, Gather};
pub use sampler::{Compare, Filter, Mip, Reduction, Rounding, Sampler, Ties, Wrap};

use cube::Projected;
use filter::{Axis, Edge, Tap, filter};
use lod::{Adjusted, Changes, Selection};
use texels::Level;

use crate::{Error, Format, Memory, Source, Texel, View};

/// A place with a cube's face found out.
struct Spot {
    at: [f64; 3],
    offset: [i32; 3],
    /// Layer from the view's first on; of a cube, that of its face 0.
    layer: u32,
    face: u32,
}

/// A comparison of one request: function, reference, component of the format.
type Comparison = Option<(Compare, f32, usize)>;

/// A view and a sampler, made ready to sample for many lanes.
pub struct Prepared<'a> {
    view: &'a View,
    sampler: &'a Sampler,
    /// The view's, or without sRGB.
    format: Format,
    /// Results are integers, which cannot be filtered. Those of comparisons are floats.
    integer: bool,
    normalized: bool,
    /// Samples can go the quick way ([`quick`]).
    quick: bool,
    /// Levels that were used, even and odd ones.
    levels: [Option<(u32, Level)>; 2],
}

/// Samples for one lane: [`Prepared::sample`].
///
/// # Errors
///
/// A texel that counts is not in memory.
pub fn sample<M: Memory + ?Sized>(
    view: &View,
    sampler: &Sampler,
    at: &Coordinates,
    detail: &Detail,
    memory: &mut M,
) -> Result<Texel, Error> {
    Prepared::new(view, sampler).sample(at, detail, memory)
}

/// Gathers for one lane: [`Prepared::gather`].
///
/// # Errors
///
/// A texel that counts is not in memory.
pub fn gather<M: Memory + ?Sized>(
    view: &View,
    sampler: &Sampler,
    at: &Coordinates,
    request: &Gather,
    memory: &mut M,
) -> Result<Texel, Error> {
    Prepared::new(view, sampler).gather(at, request, memory)
}

/// The level of detail of one lane: [`Prepared::query_lod`].
pub fn query_lod(view: &View, sampler: &Sampler, at: &Coordinates, detail: &Detail) -> LodQuery {
    Prepared::new(view, sampler).query_lod(at, detail)
}

impl<'a> Prepared<'a> {
    /// Prepares a view and a sampler.
    pub fn new(view: &'a View, sampler: &'a Sampler) -> Self {
        Prepared {
            view,
            sampler,
            quick: quick::serves(view, sampler),
            format: if sampler.srgb { view.format } else { view.format.without_srgb() },
            integer: sampler.compare.is_none() && view.is_integer(),
            normalized: view.normalized && !sampler.unnormalized,
            levels: [None; 2],
        }
    }

    /// The filtered texel at a place, through the view's sources. If the sampler compares, the result of comparisons is in all
    /// components that sources name.
    ///
    /// # Errors
    ///
    /// A texel that counts is not in memory.
    pub fn sample<M: Memory + ?Sized>(
        &mut self,
        at: &Coordinates,
        detail: &Detail,
        memory: &mut M,
    ) -> Result<Texel, Error> {
        if self.sampler.max_anisotropy > 1 && self.filters() {
            let changes = self.changes(detail, at);
            if let Some((changes, along)) = changes.filter(|(changes, _)| changes.probes > 1) {
                return self.sample_probes(at, detail, &changes, along, memory);
            }
        }
        let selection = self.select(at, detail);
        self.sample_selected(at, &selection, memory)
    }

    /// Whether samples may take several probes.
    fn filters(&self) -> bool {
        !self.integer && self.sampler.reduction == Reduction::Blend
    }

    /// The mean of several samples.
    fn sample_probes<M: Memory + ?Sized>(
        &mut self,
        at: &Coordinates,
        detail: &Detail,
        changes: &Changes,
        along: [f32; 3],
        memory: &mut M,
    ) -> Result<Texel, Error> {
        let selection = self.select(at, detail);
        // Those of a cube lie on the face that the middle is on.
        let mut probe = *at;
        if self.view.kind.is_cube() && at.cube == CubeCoordinates::Direction {
            let projected = Projected::new(at.at);
            let [u, v] = projected.place();
            probe.cube = CubeCoordinates::Face;
            probe.layer = at.layer.min(u32::MAX / 6 - 1) * 6 + projected.face;
            probe.at = [u as f32, v as f32, 0.0];
        }
        let middle = probe.at;
        let mut sum = [0.0; 4];
        for number in 0..changes.probes {
            let place = lod::probe_place(number, changes.probes);
            probe.at = std::array::from_fn(|axis| middle[axis] + along[axis] * place);
            let texel = self.sample_selected(&probe, &selection, memory)?.map(f32::from_bits);
            sum = std::array::from_fn(|k| if number == 0 { texel[k] } else { sum[k] + texel[k] });
        }
        let probes = changes.probes as f32;
        Ok(sum.map(|sum| filter::number(sum / probes).to_bits()))
    }

    /// A sample of levels and with a filter that are known.
    fn sample_selected<M: Memory + ?Sized>(
        &mut self,
        at: &Coordinates,
        selection: &Selection,
        memory: &mut M,
    ) -> Result<Texel, Error> {
        if self.quick
            && let Some(texel) = self.sample_quickly(at, selection, memory)?
        {
            return Ok(texel);
        }
        let spot = self.spot(at);
        let comparison = self.comparison(at, &self.view.sources);
        let first = self.sample_level(selection.level, selection.filter, &spot, comparison, memory)?;
        if selection.weight == 0 {
            return Ok(first);
        }
        let second = self.sample_level(selection.level + 1, selection.filter, &spot, comparison, memory)?;
        Ok(self.sampler.reduction.combine(first, second, selection.weight))
    }

    /// [`Prepared::sample`] of a flat texture, the quick way; `None`: that way does not serve this request.
    fn sample_quickly<M: Memory + ?Sized>(
        &mut self,
        at: &Coordinates,
        selection: &Selection,
        memory: &mut M,
    ) -> Result<Option<Texel>, Error> {
        let layer = if self.view.kind.has_layers() { at.layer.min(self.view.layers.max(1) - 1) } else { 0 };
        let place = quick::Place {
            at: [at.at[0], at.at[1]].map(f64::from),
            offset: [at.offset[0], at.offset[1]],
            layer,
        };
        let (view, sampler, normalized) = (self.view, self.sampler, self.normalized);
        let mut sample = |number: u32, memory: &mut M| {
            let level = self.level(number);
            quick::level(view, sampler, &level, selection.filter, normalized, &place, memory)
        };
        let Some(first) = sample(selection.level, memory)? else { return Ok(None) };
        if selection.weight == 0 {
            return Ok(Some(quick::results(view, first)));
        }
        let second = sample(selection.level + 1, memory)?;
        Ok(second.map(|second| quick::results(view, quick::mix(first, second, selection.weight))))
    }

    /// One component of the four texels of a linear filter at (i, j): those at (i, j+1), (i+1, j+1), (i+1, j), (i, j). If the sampler
    /// compares, each is compared. Wraps as sampling does.
    ///
    /// # Errors
    ///
    /// One of the texels is not in memory.
    pub fn gather<M: Memory + ?Sized>(
        &mut self,
        at: &Coordinates,
        request: &Gather,
        memory: &mut M,
    ) -> Result<Texel, Error> {
        let level = self.gathered_level(at, &request.detail);
        let mut spot = self.spot(at);
        let result = usize::from(request.component & 3);
        let comparison = self.comparison(at, &self.view.sources[result..=result]);
        let offset = spot.offset;
        let half = if self.integer && self.sampler.integer_gathers_nearest { 0.5 } else { 0.0 };
        let mut axes = self.axes_from(&level, Filter::Linear, Filter::Nearest, &spot, half);
        let mut gathered = [0; 4];
        for (k, (x, y)) in [(0, 1), (1, 1), (1, 0), (0, 0)].into_iter().enumerate() {
            let (x, y) = match request.offsets {
                Some(offsets) if !self.view.kind.is_cube() => {
                    spot.offset = [0, 1, 2].map(|axis: usize| {
                        offset[axis].saturating_add(offsets[k].get(axis).copied().unwrap_or(0))
                    });
                    axes = self.axes_from(&level, Filter::Linear, Filter::Nearest, &spot, half);
                    (0, 0)
                }
                _ => (x, y),
            };
            let taps = [axes[0].taps[x], axes[1].taps[y], axes[2].taps[0]];
            gathered[k] = self.tap(&level, taps, &spot, comparison, memory)?[result];
        }
        Ok(gathered)
    }

    /// One component of four texels side by side along x, from the first one on that [`Prepared::gather`] would take: those at (i, j) to
    /// (i + 3, j). If the sampler compares, each is compared.
    ///
    /// # Errors
    ///
    /// One of the texels is not in memory.
    pub fn gather_row<M: Memory + ?Sized>(
        &mut self,
        at: &Coordinates,
        request: &Gather,
        memory: &mut M,
    ) -> Result<Texel, Error> {
        let level = self.gathered_level(at, &request.detail);
        let mut spot = self.spot(at);
        let result = usize::from(request.component & 3);
        let comparison = self.comparison(at, &self.view.sources[result..=result]);
        let mut gathered = [0; 4];
        for to in &mut gathered {
            let taps = self.first_taps(&level, &spot);
            *to = self.tap(&level, taps, &spot, comparison, memory)?[result];
            spot.offset[0] = spot.offset[0].saturating_add(1);
        }
        Ok(gathered)
    }

    /// The elements of `count` texels side by side along x, from the first one on that [`Prepared::gather`] would take: their bits, one
    /// element behind the other, as far as 16 bytes go. Those of the border, and of other faces of a cube, are zeros.
    ///
    /// # Errors
    ///
    /// One of the texels is not in memory.
    pub fn gather_elements<M: Memory + ?Sized>(
        &mut self,
        at: &Coordinates,
        detail: &Detail,
        count: u32,
        memory: &mut M,
    ) -> Result<[u8; 16], Error> {
        let level = self.gathered_level(at, detail);
        let mut spot = self.spot(at);
        let bytes = usize::from(self.view.format.bytes.clamp(1, 16));
        let mut gathered = [0; 16];
        for to in gathered.chunks_mut(bytes).take(count as usize) {
            if let [Tap::At(x), Tap::At(y), Tap::At(z)] = self.first_taps(&level, &spot) {
                let layer = spot.layer.saturating_add(spot.face);
                let element = level.element(self.view, [x, y, z], layer, memory)?;
                to.copy_from_slice(&element[..to.len()]);
            }
            spot.offset[0] = spot.offset[0].saturating_add(1);
        }
        Ok(gathered)
    }

    /// The level that a gather takes texels from.
    fn gathered_level(&mut self, at: &Coordinates, detail: &Detail) -> Level {
        let level = match self.adjusted(at, detail) {
            Some(lod) if self.normalized && self.sampler.mip != Mip::None => {
                lod::nearest(lod.query.used, self.sampler.mip_ties)
            }
            _ => 0,
        };
        self.level(level)
    }

    /// The first texel along each axis that a gather takes.
    fn first_taps(&self, level: &Level, spot: &Spot) -> [Tap; 3] {
        let half = if self.integer && self.sampler.integer_gathers_nearest { 0.5 } else { 0.0 };
        self.axes_from(level, Filter::Linear, Filter::Nearest, spot, half).map(|axis| axis.taps[0])
    }

    /// [`fetch`], but that the sampler says whether sRGB is converted. Nothing else of it counts.
    ///
    /// # Errors
    ///
    /// The texel is inside, but not in memory.
    pub fn fetch<M: Memory + ?Sized>(
        &mut self,
        at: [u32; 3],
        layer: u32,
        level: u32,
        memory: &mut M,
    ) -> Result<Texel, Error> {
        let Some(level) = texels::level_number(self.view, level) else { return Ok([0; 4]) };
        let level = self.level(level);
        let Some(at) = texels::inside(self.view, &level, at, layer) else { return Ok([0; 4]) };
        let texel = level.texel(self.view, &self.format, at, layer, memory)?;
        Ok(self.results(texel, None))
    }

    /// The level of detail that a sample would have. [`Lod::Lowest`] gives the lowest one.
    pub fn query_lod(&self, at: &Coordinates, detail: &Detail) -> LodQuery {
        match self.adjusted(at, detail) {
            Some(lod) => lod.query,
            None => lod::adjust(lod::NONE, detail, self.view, self.sampler).query,
        }
    }

    /// The level of detail with biases and clamps; `None`: the lowest, whatever they are.
    fn adjusted(&self, at: &Coordinates, detail: &Detail) -> Option<Adjusted> {
        let lod = match detail.lod {
            Lod::Lowest => return None,
            Lod::Level(lod) => lod::given(lod),
            Lod::Gradients { .. } => self.changes(detail, at)?.0.lod,
        };
        Some(lod::adjust(lod, detail, self.view, self.sampler))
    }

    /// What the changes of coordinates say, if there are some, and the longer one.
    fn changes(&self, detail: &Detail, at: &Coordinates) -> Option<(Changes, [f32; 3])> {
        let Lod::Gradients { dx, dy } = detail.lod else { return None };
        let sizes = if self.normalized { texels::first_size(self.view) } else { [1; 3] };
        let scale = sizes.map(|size| size as f32);
        let projected = (self.view.kind.is_cube() && at.cube == CubeCoordinates::Direction)
            .then(|| Projected::new(at.at));
        let axes = self.view.kind.axes();
        let changes = [dx, dy].map(|change| {
            let change = match &projected {
                Some(projected) => {
                    let [s, t] = projected.derivative(change);
                    [s as f32, t as f32, 0.0]
                }
                None => change,
            };
            std::array::from_fn(|k| if k < axes { change[k] } else { 0.0 })
        });
        let [x, y] = changes.map(|change: [f32; 3]| std::array::from_fn(|k| change[k] * scale[k]));
        let most = if self.filters() { self.sampler.max_anisotropy.into() } else { 1 };
        let found = lod::of_changes(x, y, most);
        Some((found, changes[usize::from(found.along_y)]))
    }

    /// Levels and filter of a sample.
    fn select(&self, at: &Coordinates, detail: &Detail) -> Selection {
        // Coordinates in texels are those of the first level. Integers are not mixed.
        let mip = match self.sampler.mip {
            _ if !self.normalized => Mip::None,
            Mip::Linear if self.integer => Mip::Nearest,
            mip => mip,
        };
        if mip == Mip::None && self.sampler.mag == self.sampler.min {
            // Whatever the level of detail is.
            return Selection::lowest(self.sampler);
        }
        match self.adjusted(at, detail) {
            Some(lod) => Selection::new(&lod, self.sampler, mip),
            None => Selection::lowest(self.sampler),
        }
    }

    /// Face and layer of a place.
    fn spot(&self, at: &Coordinates) -> Spot {
        let layers = self.view.layers.max(1);
        if !self.view.kind.is_cube() {
            let layer = if self.view.kind.has_layers() { at.layer.min(layers - 1) } else { 0 };
            return Spot { at: at.at.map(f64::from), offset: at.offset, layer, face: 0 };
        }
        let last = (layers / 6).max(1) - 1;
        let (face, [u, v], cube) = match at.cube {
            CubeCoordinates::Direction => {
                let projected = Projected::new(at.at);
                (projected.face, projected.place(), at.layer)
            }
            CubeCoordinates::Face => (at.layer % 6, [at.at[0], at.at[1]].map(f64::from), at.layer / 6),
        };
        Spot { at: [u, v, 0.0], offset: [0; 3], layer: cube.min(last) * 6, face }
    }

    /// The comparison of a request, with the component that the first source names.
    fn comparison(&self, at: &Coordinates, sources: &[Source]) -> Comparison {
        let compare = self.sampler.compare?;
        let component = sources.iter().find_map(|source| component(*source)).unwrap_or(0);
        let reference = match at.reference {
            reference if !self.format.is_unorm(component) => reference,
            reference if reference > 0.0 => reference.min(1.0),
            _ => 0.0,
        };
        Some((compare, reference, component))
    }

    /// A level of the view.
    fn level(&mut self, number: u32) -> Level {
        match &mut self.levels[number as usize & 1] {
            Some((known, level)) if *known == number => *level,
            slot => slot.insert((number, Level::new(self.view, number))).1,
        }
    }

    /// The texels along each axis that a filter takes.
    fn axes(&self, level: &Level, filter: Filter, z: Filter, spot: &Spot) -> [Axis; 3] {
        self.axes_from(level, filter, z, spot, 0.0)
    }

    /// As [`Prepared::axes`], for a place that many texels beyond along x and y.
    fn axes_from(&self, level: &Level, filter: Filter, z: Filter, spot: &Spot, beyond: f64) -> [Axis; 3] {
        let kind = self.view.kind;
        let mut axes = [Axis::NONE; 3];
        for (k, axis) in axes.iter_mut().enumerate().take(kind.axes()) {
            let n = level.size[k];
            let edge = if kind.is_cube() && self.sampler.seamless {
                Edge::Seam
            } else {
                Edge::Wrap(self.sampler.wrap[k])
            };
            let at = edge.position(spot.at[k], self.normalized, n);
            let at = if k < 2 { at + beyond } else { at };
            *axis = match if k == 2 { z } else { filter } {
                Filter::Nearest => Axis::nearest(at, spot.offset[k], self.sampler.nearest, edge, n),
                Filter::Linear => Axis::linear(at, spot.offset[k], edge, n),
            };
        }
        axes
    }

    /// The filtered texel of a level.
    fn sample_level<M: Memory + ?Sized>(
        &mut self,
        number: u32,
        xy: Filter,
        spot: &Spot,
        comparison: Comparison,
        memory: &mut M,
    ) -> Result<Texel, Error> {
        let level = self.level(number);
        let xy = if self.integer { Filter::Nearest } else { xy };
        let z = if self.integer { Filter::Nearest } else { self.sampler.z.unwrap_or(xy) };
        let axes = self.axes(&level, xy, z, spot);
        filter(&axes, self.sampler.reduction, |taps| self.tap(&level, taps, spot, comparison, memory))
    }

    /// The results of one texel. Sources apply here: filtering their results is the same as filtering components, and the border may
    /// not go through them.
    fn tap<M: Memory + ?Sized>(
        &self,
        level: &Level,
        taps: [Tap; 3],
        spot: &Spot,
        comparison: Comparison,
        memory: &mut M,
    ) -> Result<Texel, Error> {
        let [n, m, _] = level.size;
        let mut texel = |at: [u32; 3], face: u32| {
            let layer = spot.layer.saturating_add(face);
            let texel = level.texel(self.view, &self.format, at, layer, memory)?;
            Ok(self.results(texel, comparison))
        };
        match taps {
            [Tap::At(x), Tap::At(y), Tap::At(z)] => texel([x, y, z], spot.face),
            [Tap::Beyond(i), Tap::Beyond(j), _] => {
                // Three faces meet at a corner; in the place of the fourth texel is the mean of the others.
                let inside = |i: i64, n: u32| i.clamp(0, i64::from(n) - 1);
                let (x, y) = (inside(i, n), inside(j, m));
                let mut beyond = |i, j| {
                    let (face, [x, y]) = cube::neighbour(spot.face, i, j, n);
                    texel([x, y.min(m - 1), 0], face)
                };
                let (a, b) = (beyond(i, y)?, beyond(x, j)?);
                let c = texel([x as u32, y as u32, 0], spot.face)?;
                Ok(std::array::from_fn(|k| {
                    let [a, b, c] = [a[k], b[k], c[k]].map(f32::from_bits);
                    ((a + b + c) / 3.0).to_bits()
                }))
            }
            [Tap::Beyond(i), Tap::At(j), _] => {
                let (face, [x, y]) = cube::neighbour(spot.face, i, j.into(), n);
                texel([x, y.min(m - 1), 0], face)
            }
            [Tap::At(i), Tap::Beyond(j), _] => {
                let (face, [x, y]) = cube::neighbour(spot.face, i.into(), j, n);
                texel([x, y.min(m - 1), 0], face)
            }
            _ => Ok(self.border(comparison)),
        }
    }

    /// The results that components of a texel make.
    fn results(&self, texel: Texel, comparison: Comparison) -> Texel {
        let texel = match comparison {
            Some((compare, reference, component)) => {
                let holds = compare.holds(reference, f32::from_bits(texel[component & 3]));
                [if holds { 1f32.to_bits() } else { 0 }; 4]
            }
            None => texel,
        };
        texels::apply(self.view.sources, texel)
    }

    /// The results of a texel of the border.
    fn border(&self, comparison: Comparison) -> Texel {
        match comparison {
            // The first component of a border is its depth, whichever component of the format is.
            Some(_) => self.results([self.sampler.border[0]; 4], comparison),
            None if self.sampler.border_sources => self.results(self.sampler.border, None),
            None => self.sampler.border,
        }
    }
}

/// The component that a source names.
fn component(source: Source) -> Option<usize> {
    match source {
        Source::Component(component) => Some(usize::from(component & 3)),
        _ => None,
    }
}
