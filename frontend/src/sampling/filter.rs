//! Emits the filter of one level: reads the texels that take part, and mixes them along x, then y, then z.

use warpjit_ir::{FloatCC, IntCC, Value};
use warpjit_texture::format::{Number, Packing};
use warpjit_texture::sample::Compare;
use warpjit_texture::{Kind, Source};

use super::axis::{Coordinate, LevelData, Taps};
use super::data::{head, level};
use super::emit::Emit;
use super::key::{StateKey, has_slices};
use super::request::{Action, Input};
use super::texel::Offset;

/// A value that is computed for each texel and filtered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    /// A component of the format, and the word of the border that stands for it.
    Component { component: usize, border: usize },
    /// The result of a comparison.
    Comparison,
    /// Bits that do not depend on the texel, but for the border's.
    Constant { bits: u32, border: usize },
}

/// What becomes a result.
#[derive(Clone, Copy)]
pub(super) enum Outcome {
    /// A channel by its number.
    Channel(usize),
    /// Always the same.
    Bits(u32),
}

/// The channels of a key, and what each of the four results is.
pub(super) struct Channels {
    pub list: Vec<Channel>,
    pub outcomes: [Outcome; 4],
    /// Components that are decoded.
    pub wanted: [bool; 4],
}

impl Channels {
    /// The channels of a key.
    pub fn of(key: &StateKey) -> Channels {
        let mut list = Vec::new();
        let own_border = key.has_border() && !key.border_sources && key.compare.is_none();
        let mut add = |channel: Channel| {
            let known = list.iter().position(|of| *of == channel);
            Outcome::Channel(known.unwrap_or_else(|| {
                list.push(channel);
                list.len() - 1
            }))
        };
        let outcomes = std::array::from_fn(|k| {
            let bits = match key.sources[k] {
                Source::Zero => 0,
                Source::OneFloat => 1f32.to_bits(),
                Source::OneInt => 1,
                Source::Component(_) if key.compare.is_some() => return add(Channel::Comparison),
                Source::Component(component) => {
                    let component = usize::from(component & 3);
                    let border = if own_border { k } else { component };
                    return add(Channel::Component { component, border });
                }
            };
            let wanted = match key.request.action {
                Action::Gather { component, .. } => k == usize::from(component & 3),
                _ => key.request.results.mask >> k & 1 != 0,
            };
            if own_border && wanted {
                add(Channel::Constant { bits, border: k })
            } else {
                Outcome::Bits(bits)
            }
        });
        let mut wanted = [false; 4];
        for channel in &list {
            match channel {
                Channel::Component { component, .. } => wanted[*component] = true,
                Channel::Comparison => {
                    wanted[key.compare.map_or(0, |(_, component, _)| component.into())] = true
                }
                Channel::Constant { .. } => {}
            }
        }
        Channels { list, outcomes, wanted }
    }
}

impl StateKey {
    /// Whether a blend may be of what is no finite number. Where components have different types, the bits of integers are blended as if
    /// they were floats: only views that show integers alone are not filtered.
    fn may_be_special(&self) -> bool {
        let float = match &self.format.packing {
            Packing::Fields(fields) => fields.iter().any(|field| match field.number {
                Number::Float | Number::Sint => field.bits > 0,
                // With fewer bits the exponent is not that of infinity.
                Number::Uint => field.bits > 30,
                _ => false,
            }),
            // There is a zero with a sign.
            Packing::Bc6 { signed } => *signed,
            _ => false,
        };
        self.compare.is_none() && (float || self.has_border())
    }
}

/// The values of all channels.
pub(super) type Texels = Vec<Value>;
/// Words of an element, those that are needed.
type Words = [Option<Value>; 4];

impl Emit<'_> {
    /// The data of a level by its number.
    pub fn level_data(&mut self, number: Value) -> LevelData {
        let words = self.int(4 * self.key.level_words() as i32);
        let start = self.int(4 * head::WORDS as i32);
        let levels = self.b.imul(number, words);
        let at = self.b.iadd(levels, start);
        LevelData { at, size: [0, 1, 2].map(|axis| self.word(at, level::SIZE + axis)) }
    }

    /// The layer of the image that a sample names, if it names one.
    pub fn layer(&mut self) -> Option<Value> {
        let kind = self.key.kind;
        if kind == Kind::D3 || !has_slices(kind) {
            return None;
        }
        let layer = self.input(self.key.request.layer);
        let last = self.head(head::LAST_LAYER);
        let layer = if kind.is_cube() {
            // Of cubes by face; those beyond the last are the last.
            let (six, one, zero) = (self.int(6), self.int(1), self.int(0));
            let layers = self.b.iadd(last, one);
            let cubes = self.sixth(layers);
            let cubes = self.b.umax(cubes, one);
            let last_cube = self.b.isub(cubes, one);
            let cube = self.sixth(layer);
            let faces = self.b.imul(cube, six);
            let face = self.b.isub(layer, faces);
            let cube = self.b.umin(cube, last_cube);
            let cube = self.b.umax(cube, zero);
            let faces = self.b.imul(cube, six);
            self.b.iadd(faces, face)
        } else {
            self.b.umin(layer, last)
        };
        let first = self.head(head::FIRST_LAYER);
        Some(self.b.iadd(layer, first))
    }

    /// A sixth, rounded down.
    fn sixth(&mut self, n: Value) -> Value {
        let factor = self.b.i32(0xaaaa_aaab);
        let high = self.b.umulhi(n, factor);
        self.shr(high, 2)
    }

    /// The words of the texel at an offset that its channels need.
    fn texel_words(&mut self, channels: &Channels, offset: Offset) -> Words {
        if channels.wanted.contains(&true) { self.element(offset, channels.wanted) } else { [None; 4] }
    }

    /// The values of a texel.
    pub fn texel_values(
        &mut self,
        channels: &Channels,
        reference: Option<Value>,
        offset: Offset,
        inside: Option<Value>,
    ) -> Texels {
        let words = self.texel_words(channels, offset);
        self.values_of(channels, reference, words, inside)
    }

    /// The values of a texel whose words these are.
    fn values_of(
        &mut self,
        channels: &Channels,
        reference: Option<Value>,
        words: Words,
        inside: Option<Value>,
    ) -> Texels {
        let mut values = Texels::new();
        for channel in &channels.list {
            let value = match *channel {
                Channel::Component { component, border } => {
                    let value = self.component(&words, component);
                    self.or_border(value, border, inside)
                }
                Channel::Constant { bits, border } => {
                    let value = self.b.i32(bits);
                    let value = self.float(value);
                    let value = self.splat(value);
                    self.or_border(value, border, inside)
                }
                Channel::Comparison => {
                    let (compare, component, _) = self.key.compare.expect("of a comparison");
                    let value = self.component(&words, component.into());
                    let value = self.or_border(value, 0, inside);
                    self.compared(compare, reference.expect("of a comparison"), value)
                }
            };
            values.push(value);
        }
        values
    }

    fn or_border(&mut self, value: Value, border: usize, inside: Option<Value>) -> Value {
        let Some(inside) = inside else { return value };
        let border = self.head(head::BORDER + border as u32);
        let border = self.float(border);
        self.b.select(inside, value, border)
    }

    fn compared(&mut self, compare: Compare, reference: Value, texel: Value) -> Value {
        let (one, zero) = (self.b.f32(1.0), self.b.f32(0.0));
        let cc = match compare {
            Compare::Never => return self.splat(zero),
            Compare::Always => return self.splat(one),
            Compare::Less => FloatCC::Lt,
            Compare::Equal => FloatCC::Eq,
            Compare::LessEqual => FloatCC::Le,
            Compare::Greater => FloatCC::Gt,
            Compare::NotEqual => FloatCC::Ne,
            Compare::GreaterEqual => FloatCC::Ge,
        };
        let holds = self.fcmp(cc, reference, texel);
        self.b.select(holds, one, zero)
    }

    /// What texels are compared with, if they are.
    pub fn reference(&mut self) -> Option<Value> {
        let (_, _, clamped) = self.key.compare?;
        let bits = self.input(self.key.request.reference);
        let reference = self.float(bits);
        if !clamped {
            return Some(self.splat(reference));
        }
        let (zero, one) = (self.b.f32(0.0), self.b.f32(1.0));
        let above = self.fcmp(FloatCC::Gt, reference, zero);
        let large = self.fcmp(FloatCC::Gt, reference, one);
        let most = self.b.select(large, one, reference);
        Some(self.b.select(above, most, zero))
    }

    /// Mixes the values of two texels.
    pub fn mix(&mut self, a: &Texels, b: &Texels, (weight, first): (Value, Value)) -> Texels {
        let first = self.key.may_be_special().then_some(first);
        a.iter().zip(b).map(|(&a, &b)| self.blend(a, b, weight, first)).collect()
    }

    /// What the taps of an axis add to addresses.
    fn tap_offsets(&mut self, axis: usize, taps: &Taps, data: &LevelData) -> [Offset; 2] {
        let first = self.offset(axis, taps.texels[0], data);
        let second = if taps.weight.is_some() { self.offset(axis, taps.texels[1], data) } else { first };
        [first, second]
    }

    /// Whether all of the truth values hold that there are.
    fn all_of(&mut self, of: &[Option<Value>]) -> Option<Value> {
        of.iter().flatten().copied().reduce(|a, b| self.b.iand(a, b))
    }

    /// The filtered texels of a level.
    pub fn filtered(
        &mut self,
        channels: &Channels,
        sample: &Sample,
        data: &LevelData,
        minified: Option<Value>,
    ) -> Texels {
        let axes = self.key.kind.axes();
        let taps: Vec<Taps> = (0..axes)
            .map(|axis| {
                let offset = self.key.request.offset[axis];
                self.taps(axis, sample.at[axis], [offset, Input::None], data, minified)
            })
            .collect();
        let offsets: Vec<[Offset; 2]> =
            (0..axes).map(|axis| self.tap_offsets(axis, &taps[axis], data)).collect();
        let mut start = self.level_offset(data);
        if let Some(layer) = sample.layer {
            let layer = self.offset(2, layer, data);
            start = self.both(start, layer);
        }
        self.fetch_ahead(&sample.later, start, data);
        let count = |axis: usize| if axis < axes && taps[axis].weight.is_some() { 2 } else { 1 };
        // Where elements are single words, all are loaded before anything is made of them: so the host waits for them at once, and a word
        // needs less room than the values that it becomes.
        let at_once = self.key.format.bytes <= 4 && self.key.format.block() == (1, 1);
        let mut texels = Vec::new();
        for z in 0..count(2) {
            let of_slice = if axes > 2 { self.both(start, offsets[2][z]) } else { start };
            for y in 0..count(1) {
                let of_row = if axes > 1 { self.both(of_slice, offsets[1][y]) } else { of_slice };
                for &column in &offsets[0][..count(0)] {
                    let offset = self.both(of_row, column);
                    let words = at_once.then(|| self.texel_words(channels, offset));
                    texels.push((offset, words));
                }
            }
        }
        let mut texels = texels.into_iter();
        let mut slices = Vec::new();
        for z in 0..count(2) {
            let in_slice = if axes > 2 { taps[2].inside[z] } else { None };
            let mut rows = Vec::new();
            for y in 0..count(1) {
                let in_row = if axes > 1 { taps[1].inside[y] } else { None };
                let mut of_row = Vec::new();
                for (in_column, (offset, words)) in
                    taps[0].inside.into_iter().zip(texels.by_ref().take(count(0)))
                {
                    let inside = self.all_of(&[in_slice, in_row, in_column]);
                    of_row.push(match words {
                        Some(words) => self.values_of(channels, sample.reference, words, inside),
                        None => self.texel_values(channels, sample.reference, offset, inside),
                    });
                }
                rows.push(self.along(&of_row, &taps[0]));
            }
            slices.push(if axes > 1 { self.along(&rows, &taps[1]) } else { rows.remove(0) });
        }
        if axes > 2 { self.along(&slices, &taps[2]) } else { slices.remove(0) }
    }

    fn along(&mut self, texels: &[Texels], taps: &Taps) -> Texels {
        match (texels, taps.weight) {
            ([a, b], Some(weight)) => self.mix(a, b, weight),
            _ => texels[0].clone(),
        }
    }

    /// The four texels of a gather, one component each.
    pub fn gathered(&mut self, channels: &Channels, sample: &Sample, data: &LevelData) -> Vec<Texels> {
        let Action::Gather { offsets, .. } = self.key.request.action else { return Vec::new() };
        let axes = self.key.kind.axes();
        let mut start = self.level_offset(data);
        if let Some(layer) = sample.layer {
            let layer = self.offset(2, layer, data);
            start = self.both(start, layer);
        }
        let mut all = Vec::new();
        for (k, place) in [[0, 1], [1, 1], [1, 0], [0, 0]].into_iter().enumerate() {
            let mut offset = start;
            let mut inside = Vec::new();
            for axis in 0..axes {
                // With offsets of its own each result is the first texel of a footprint.
                let own = offsets.filter(|_| !self.key.kind.is_cube() && axis < 2).map(|of| of[k][axis]);
                let moves = [self.key.request.offset[axis], own.unwrap_or_default()];
                let taps = self.taps(axis, sample.at[axis], moves, data, None);
                let n = if own.is_some() || axis == 2 { 0 } else { place[axis] };
                let part = self.offset(axis, taps.texels[n], data);
                offset = self.both(offset, part);
                inside.push(taps.inside[n]);
            }
            let inside = self.all_of(&inside);
            all.push(self.texel_values(channels, sample.reference, offset, inside));
        }
        all
    }

    /// The texel of a fetch, and where it is inside.
    pub fn fetched(&mut self, channels: &Channels, data: &LevelData) -> (Texels, Option<Value>) {
        let key = self.key;
        let axes = key.kind.axes();
        let mut offset = self.level_offset(data);
        let mut inside: Vec<Option<Value>> = Vec::new();
        let zero = self.int(0);
        for axis in 0..axes {
            let mut at = self.input(key.request.at[axis]);
            if key.request.offset[axis] != Input::None {
                let more = self.input(key.request.offset[axis]);
                at = self.b.iadd(at, more);
            }
            let here = self.icmp(IntCC::Ult, at, data.size[axis]);
            inside.push(Some(here));
            let at = self.b.select(here, at, zero);
            let part = self.offset(axis, at, data);
            offset = self.both(offset, part);
        }
        if key.request.layer != Input::None {
            let layer = self.input(key.request.layer);
            let last = self.head(head::LAST_LAYER);
            let here = self.icmp(IntCC::Ule, layer, last);
            inside.push(Some(here));
        }
        if has_slices(key.kind) && key.kind != Kind::D3 {
            let layer = self.input(key.request.layer);
            let last = self.head(head::LAST_LAYER);
            let layer = self.b.umin(layer, last);
            let first = self.head(head::FIRST_LAYER);
            let layer = self.b.iadd(layer, first);
            let part = self.offset(2, layer, data);
            offset = self.both(offset, part);
        }
        let inside = self.all_of(&inside);
        (self.texel_values(channels, None, offset, None), inside)
    }
}

/// What a sample has for all levels.
pub(super) struct Sample {
    pub at: Vec<Coordinate>,
    /// Layer of the image.
    pub layer: Option<Value>,
    pub reference: Option<Value>,
    /// Coordinates of pixels that come later, if they can be told.
    pub later: Vec<Value>,
}
