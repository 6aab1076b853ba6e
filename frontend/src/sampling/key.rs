//! [`StateKey`]: all of a request, a texture and a sampler that the code depends on. What differs otherwise is data ([`super::data`]).

use warpjit_texture::format::{Field, Number, Packing};
use warpjit_texture::layout::{Formula, Part};
use warpjit_texture::sample::{
    Compare, CubeCoordinates, Filter, Mip, Reduction, Rounding, Sampler, Ties, Wrap,
};
use warpjit_texture::{Format, Kind, Layout, Source, View};

use super::request::{Action, Input, Level, Request};

/// The most levels of a view.
pub(super) const MOST_LEVELS: u32 = 16;
/// The most texels along an axis, so that positions in 1/256 fit into 32 bits.
const MOST_TEXELS: u32 = 1 << 14;
/// The most texels of an axis whose positions are computed in f32.
pub(super) const MOST_EVEN: u32 = 1 << 12;
/// The most distances by which bits of a coordinate move.
const MOST_SHIFTS: usize = 12;

/// Bytes of a first level that stays in the caches next to a processor, so that nothing is asked for ahead.
const MOST_NEAR: u64 = 1 << 19;

/// Bytes of the first level of an image.
fn bytes_about(view: &View) -> u64 {
    let [width, height, depth] = view.size.map(u64::from);
    let (across, down) = view.format.block();
    let elements = width.div_ceil(across.into()).saturating_mul(height.div_ceil(down.into()));
    elements.saturating_mul(depth.max(view.layers.into())).saturating_mul(view.format.bytes.into())
}

/// What a coordinate adds outside of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Outside {
    /// Nothing.
    None,
    /// A multiple of the number of its block.
    Product,
    /// The number of its block, shifted.
    Shift,
}

/// How a coordinate becomes a part of an address. What is `None` is different in each level.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PartKey {
    pub outside: Outside,
    pub low: Option<u32>,
    /// Distances by which bits move to the left, and which bits do.
    pub shifts: Vec<(i32, Option<u32>)>,
}

/// What the code of a sampler depends on. Addresses, sizes, levels of detail and the like are data ([`super::Data`]).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StateKey {
    pub(super) request: Request,
    pub(super) kind: Kind,
    pub(super) format: Format,
    pub(super) sources: [Source; 4],
    pub(super) wrap: [Wrap; 3],
    pub(super) seam: bool,
    /// Filters by axis.
    pub(super) mag: [Filter; 3],
    pub(super) min: [Filter; 3],
    pub(super) mip: Mip,
    pub(super) ties: Ties,
    pub(super) rounding: Rounding,
    pub(super) normalized: bool,
    /// Axes along which a texture is repeated and has a power of two texels in each level, [`MOST_EVEN`] at most.
    pub(super) even: [bool; 3],
    /// Function, component, whether the reference is clamped.
    pub(super) compare: Option<(Compare, u8, bool)>,
    pub(super) border_sources: bool,
    /// Samples may take several probes.
    pub(super) probes: bool,
    /// How coordinates change along x and along y of the screen, where lanes are pixels and the image is large: what later ones take can be
    /// fetched ahead.
    pub(super) changes: Option<[[Input; 3]; 2]>,
    /// Nothing but the sampler's bias is added to a level of detail, and that is less than 32 levels.
    pub(super) small_bias: bool,
    /// A gather begins half a texel beyond a linear filter's first.
    pub(super) half_beyond: bool,
    pub(super) parts: [PartKey; 3],
    /// Bits inside of blocks depend on several coordinates.
    pub(super) mixed: bool,
}

/// What a coordinate's bits do, as distances to the left and the bits that have them.
pub(super) fn moves(part: &Part) -> Vec<(i32, u32)> {
    let mut moves: Vec<(i32, u32)> = Vec::new();
    for (n, &bits) in part.bits.iter().enumerate() {
        for to in (0..32).filter(|to| bits >> to & 1 != 0) {
            let by = to - n as i32;
            match moves.iter_mut().find(|(known, _)| *known == by) {
                Some((_, mask)) => *mask |= 1 << n,
                None => moves.push((by, 1 << n)),
            }
        }
    }
    moves.sort_unstable();
    moves
}

/// All bits that a part may change inside of blocks.
pub(super) fn all_bits(part: &Part) -> u32 {
    part.bits.iter().fold(0, |all, bits| all | bits)
}

impl PartKey {
    const NONE: PartKey = PartKey { outside: Outside::None, low: None, shifts: Vec::new() };

    /// Of the parts of all levels.
    fn of(parts: &[Part], axis: usize, constant: bool) -> Option<PartKey> {
        let first = parts.first()?;
        let same = |of: &dyn Fn(&Part) -> u64| parts.iter().all(|part| of(part) == of(first));
        let plain = parts.iter().all(|part| part.low == 0 && part.bits == [0; 16]);
        if axis == 0 && plain && first.step.is_power_of_two() && same(&|part| part.step) {
            let by = first.step.trailing_zeros() as i32;
            return Some(PartKey { outside: Outside::None, low: None, shifts: vec![(by, Some(u32::MAX))] });
        }
        let outside = match axis == 0 && parts.iter().all(|part| part.step.is_power_of_two()) {
            true => Outside::Shift,
            false => Outside::Product,
        };
        let low = ((plain || constant) && same(&|part| part.low.into())).then_some(first.low);
        let all: Vec<_> = parts.iter().map(moves).collect();
        let mut distances: Vec<i32> = all.iter().flatten().map(|(by, _)| *by).collect();
        distances.sort_unstable();
        distances.dedup();
        let mask =
            |moves: &[(i32, u32)], by: i32| moves.iter().find(|(n, _)| *n == by).map_or(0, |(_, mask)| *mask);
        let shifts: Vec<_> = distances
            .into_iter()
            .map(|by| {
                let first = mask(&all[0], by);
                let known = constant && all.iter().all(|moves| mask(moves, by) == first);
                (by, known.then_some(first))
            })
            .collect();
        (shifts.len() <= MOST_SHIFTS).then_some(PartKey { outside, low, shifts })
    }
}

/// The formulas of all levels of a view; of one slice only, where the view has no others.
pub(super) fn formulas(view: &View) -> Option<Vec<Formula>> {
    let count = view.last_level.checked_sub(view.first_level)?.checked_add(1)?;
    let count = if view.kind == Kind::Buffer { 1 } else { count };
    if count > MOST_LEVELS || view.last_level > 31 {
        return None;
    }
    let slice = (!has_slices(view.kind)).then_some(view.first_layer);
    (0..count).map(|level| view.level(view.first_level + level).formula(slice)).collect()
}

/// Whether coordinates name slices or layers.
pub(super) fn has_slices(kind: Kind) -> bool {
    kind == Kind::D3 || kind.has_layers() || kind.is_cube()
}

/// Bits of a number that is taken apart in floats.
const MOST_BITS: u8 = 24;

/// Whether code decodes a component.
fn decodes(field: &Field, bytes: u8) -> bool {
    let (first, last) = (field.bit / 32, (field.bit + field.bits.max(1) - 1) / 32);
    let known = match field.number {
        Number::Uint | Number::Sint => true,
        Number::Float => matches!(field.bits, 8 | 10 | 11 | 16 | 32),
        Number::Srgb => field.bits == 8,
        Number::SnormNoZero => field.bits < MOST_BITS,
        Number::Unorm | Number::Snorm | Number::Uscaled | Number::Sscaled => field.bits <= MOST_BITS,
    };
    field.bits == 0 || known && first == last && u32::from(last) * 4 < u32::from(bytes)
}

impl StateKey {
    /// Lanes of a warp.
    pub fn lanes(&self) -> u32 {
        self.request.lanes.into()
    }

    /// Words of the mailbox that code reads and writes, at least.
    pub fn mailbox_words(&self) -> u32 {
        words(&self.request, self.changes.as_ref())
    }

    /// The key of a request; `None`: it is nothing that code is made for.
    pub fn of(view: &View, sampler: &Sampler, request: Request) -> Option<StateKey> {
        let fetch = request.action == Action::Fetch;
        let axes = view.kind.axes();
        let format = if sampler.srgb { view.format } else { view.format.without_srgb() };
        let known = match &format.packing {
            Packing::Fields(fields) => fields.iter().all(|field| decodes(field, format.bytes)),
            Packing::SharedExponent | Packing::Bc { kind: 1..=5 | 7, .. } | Packing::Bc6 { .. } => true,
            _ => false,
        };
        let in_range = |n: i32| n.unsigned_abs() <= 1 << 20;
        let fits = view.size[..axes].iter().all(|&n| n > 0 && (n <= MOST_TEXELS || fetch));
        let plain_lods = in_range(sampler.min_lod) && in_range(sampler.max_lod) && in_range(sampler.bias);
        if !known || !fits || !plain_lods || sampler.reduction != Reduction::Blend || view.layers > 1 << 16 {
            return None;
        }
        let direction = view.kind.is_cube() && request.cube == CubeCoordinates::Direction && !fetch;
        let seam = view.kind.is_cube() && sampler.seamless && !fetch;
        if direction || seam || view.kind == Kind::Buffer && !fetch {
            return None;
        }
        let normalized = view.normalized && !sampler.unnormalized;
        let integer = sampler.compare.is_none() && view.is_integer();
        let wrap =
            std::array::from_fn(|k| if k < axes && !fetch { sampler.wrap[k] } else { Wrap::ClampToEdge });
        let again = |wrap: &Wrap| matches!(wrap, Wrap::Wrap | Wrap::Mirror);
        if !normalized && wrap.iter().any(again) && !fetch {
            return None;
        }

        let formulas = formulas(view)?;
        let constant = !matches!(view.layout, Layout::BlockLinear(_));
        let slices = has_slices(view.kind);
        let mut parts = [PartKey::NONE, PartKey::NONE, PartKey::NONE];
        for (axis, key) in parts.iter_mut().enumerate() {
            if axis < axes || axis == 2 && slices {
                let all: Vec<Part> = formulas.iter().map(|formula| formula.parts[axis]).collect();
                *key = PartKey::of(&all, axis, constant || axis == 0)?;
            }
        }
        let mixed = formulas.iter().any(|formula| {
            let [x, y, z] =
                [0, 1, 2].map(|axis| if slices || axis < 2 { all_bits(&formula.parts[axis]) } else { 0 });
            let f = formula.flips;
            x & y | x & z | y & z | (x | y | z) & f != 0
        });

        let mut key = StateKey {
            request,
            kind: view.kind,
            format,
            sources: view.sources,
            wrap,
            seam,
            mag: [Filter::Nearest; 3],
            min: [Filter::Nearest; 3],
            mip: Mip::None,
            ties: Ties::Down,
            rounding: Rounding::Trunc,
            normalized,
            even: [false; 3],
            compare: None,
            border_sources: sampler.border_sources,
            probes: false,
            changes: match request.level {
                Level::Changes(changes) if !fetch && bytes_about(view) > MOST_NEAR => Some(changes),
                _ => None,
            },
            small_bias: request.bias == Input::None && sampler.bias.unsigned_abs() < 32 << 8,
            half_beyond: false,
            parts,
            mixed,
        };
        key.set_filters(sampler, integer, formulas.len() > 1);
        key.set_results(sampler);
        if !fetch {
            let first = view.level_size(view.first_level);
            // Sizes are halved, so that all levels have powers of two if the first one has.
            key.even = std::array::from_fn(|axis| {
                axis < axes
                    && wrap[axis] == Wrap::Wrap
                    && first[axis].is_power_of_two()
                    && first[axis] <= MOST_EVEN
            });
        }
        Some(key)
    }

    /// Filters, as far as they count.
    fn set_filters(&mut self, sampler: &Sampler, integer: bool, levels: bool) {
        let axes = self.kind.axes();
        let lowest = self.request.level == Level::Lowest;
        let along = |xy: Filter| {
            let z = sampler.z.unwrap_or(xy);
            [xy, xy, z].map(|filter| if integer { Filter::Nearest } else { filter })
        };
        let cut = |filters: [Filter; 3]| {
            std::array::from_fn(|k| if k < axes { filters[k] } else { Filter::Nearest })
        };
        match self.request.action {
            Action::Fetch => {
                self.border_sources = false;
                self.normalized = true;
                (self.request.bias, self.request.clamp) = (Input::None, Input::None);
                return;
            }
            Action::Sample => {
                self.probes =
                    sampler.max_anisotropy > 1 && !integer && matches!(self.request.level, Level::Changes(_));
                self.mag = cut(along(sampler.mag));
                self.min = if lowest { self.mag } else { cut(along(sampler.min)) };
                self.mip = match sampler.mip {
                    _ if !self.normalized || lowest || !levels => Mip::None,
                    Mip::Linear if integer => Mip::Nearest,
                    mip => mip,
                };
            }
            Action::Gather { .. } => {
                self.mag = cut([Filter::Linear, Filter::Linear, Filter::Nearest]);
                self.min = self.mag;
                self.half_beyond = integer && sampler.integer_gathers_nearest;
                self.mip = match sampler.mip {
                    Mip::None => Mip::None,
                    _ if !self.normalized || lowest || !levels => Mip::None,
                    _ => Mip::Nearest,
                };
            }
        }
        let nearest = self.mag.contains(&Filter::Nearest) || self.min.contains(&Filter::Nearest);
        self.rounding = if nearest { sampler.nearest } else { Rounding::Trunc };
        self.ties = if self.mip == Mip::Nearest { sampler.mip_ties } else { Ties::Down };
        if self.mip == Mip::None && self.mag == self.min && !self.probes {
            // Whatever the level of detail is.
            self.request.level = Level::Lowest;
            (self.request.bias, self.request.clamp) = (Input::None, Input::None);
        }
    }

    /// What is wanted of texels.
    fn set_results(&mut self, sampler: &Sampler) {
        let component = |source: &Source| match source {
            Source::Component(component) => Some(component & 3),
            _ => None,
        };
        let compare = if self.request.action == Action::Fetch { None } else { sampler.compare };
        let named = match self.request.action {
            Action::Gather { component, .. } => &self.sources[usize::from(component & 3)..][..1],
            _ => &self.sources[..],
        };
        self.compare = compare.map(|compare| {
            let named = named.iter().find_map(component).unwrap_or(0);
            (compare, named, self.format.is_unorm(named.into()))
        });
        if self.compare.is_none() {
            self.request.reference = Input::None;
        }
        // What nobody takes.
        match self.request.action {
            Action::Gather { component, .. } => {
                let wanted = usize::from(component & 3);
                (0..4).filter(|&k| k != wanted).for_each(|k| self.sources[k] = Source::Zero);
            }
            _ => {
                let mask = self.request.results.mask;
                (0..4).filter(|k| mask >> k & 1 == 0).for_each(|k| self.sources[k] = Source::Zero);
            }
        }
    }

    /// Whether the border may be seen.
    pub(super) fn has_border(&self) -> bool {
        let inside = [Wrap::Wrap, Wrap::Mirror, Wrap::ClampToEdge, Wrap::MirrorOnceEdge];
        !self.wrap.iter().all(|wrap| inside.contains(wrap))
    }
}

/// Words of the mailbox that a request names.
fn words(request: &Request, changes: Option<&[[Input; 3]; 2]>) -> u32 {
    let mut most = 0u32;
    let mut all = |input: &Input| {
        let word = match *input {
            Input::None | Input::Bits(_) => return,
            Input::Word(word) | Input::Field { word, .. } | Input::Sum(word, _) => word,
            Input::Rounded(word) | Input::Face(word) => word,
            Input::Change { to, from, .. } => to.max(from),
        };
        most = most.max(u32::from(word) + 1);
    };
    request.at.iter().for_each(&mut all);
    request.offset.iter().for_each(&mut all);
    [request.layer, request.reference, request.bias, request.clamp].iter().for_each(&mut all);
    match &request.level {
        Level::Lowest => {}
        Level::Given(input) => all(input),
        Level::Changes(changes) => changes.iter().flatten().for_each(&mut all),
    }
    changes.into_iter().flatten().flatten().for_each(&mut all);
    if let Action::Gather { offsets: Some(offsets), .. } = &request.action {
        offsets.iter().flatten().for_each(&mut all);
    }
    most.max(u32::from(request.results.first) + 5)
}
