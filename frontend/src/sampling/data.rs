//! The constants of one texture and sampler that compiled code reads from a const bank: sizes, addresses of levels, borders, limits. Code of
//! one [`StateKey`](super::key::StateKey) serves all textures and samplers that differ in these only.

use warpjit_texture::layout::Part;
use warpjit_texture::sample::{Sampler, Wrap};
use warpjit_texture::{Kind, View};

use super::key::{Outside, StateKey, formulas, has_slices, moves};
use super::request::{Action, Input};

/// Words of all levels together.
pub(super) mod head {
    /// The last offset of an element in the image.
    pub const LIMIT: u32 = 0;
    /// The last level, in 1/256.
    pub const LAST: u32 = 1;
    /// The sampler's bounds of levels of detail, the view's, the sampler's bias.
    pub const MIN_LOD: u32 = 2;
    pub const MAX_LOD: u32 = 3;
    pub const LOWEST: u32 = 4;
    pub const BIAS: u32 = 5;
    /// The last layer that can be named, and what is added to it.
    pub const LAST_LAYER: u32 = 6;
    pub const FIRST_LAYER: u32 = 7;
    /// The border, four words.
    pub const BORDER: u32 = 8;
    /// Sizes of the first level as floats, or ones: what changes of coordinates are multiplied by.
    pub const SCALE: u32 = 12;
    /// Number of levels.
    pub const LEVELS: u32 = 15;
    /// The most probes.
    pub const PROBES: u32 = 16;
    /// What all clamps together do with a level of detail, with the clamp to the view's levels and without it.
    pub const USED_LEAST: u32 = 17;
    pub const USED_MOST: u32 = 18;
    pub const LEAST: u32 = 19;
    pub const MOST: u32 = 20;
    /// All; even, so that what has two words is aligned.
    pub const WORDS: u32 = 22;
}

/// Words of each level, behind those of all.
pub(super) mod level {
    /// Texels along x, y, z.
    pub const SIZE: u32 = 0;
    /// Offset of the level in the image.
    pub const START: u32 = 3;
    /// Bits that are changed inside of blocks.
    pub const FLIPS: u32 = 4;
    /// f32: one divided by the texels after which an axis comes again.
    pub const PERIOD: u32 = 5;
    /// f64: texels of a coordinate of 1, in texels and in 1/256.
    pub const TEXELS: u32 = 8;
    pub const POSITIONS: u32 = 14;
    /// Of each axis: shift to the number of its block, step (or shift) of it, then masks.
    pub const PARTS: u32 = 20;
}

impl StateKey {
    /// The first word of an axis' part in a level.
    pub(super) fn part_word(&self, axis: usize) -> u32 {
        let before = self.parts[..axis].iter().map(|part| 2 + part.shifts.len() as u32).sum::<u32>();
        level::PARTS + before
    }

    /// Words of a level.
    pub(super) fn level_words(&self) -> u32 {
        self.part_word(2) + 2 + self.parts[2].shifts.len() as u32
    }
}

/// Data of code for a view and a sampler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Data {
    words: Vec<u32>,
    address: u64,
    bytes: u32,
}

impl Data {
    /// Words of the const bank.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Where the image begins in memory, which code reads at offsets from there.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes that code may read from there on.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }
}

/// The data of a view and a sampler, whose key this is; `None` if the image is too large.
pub(super) fn data(key: &StateKey, view: &View, sampler: &Sampler) -> Option<Data> {
    let formulas = formulas(view)?;
    let base = formulas.iter().map(|formula| formula.start).min()?;
    let slices = has_slices(view.kind);
    let last_slice = u64::from(view.first_layer).checked_add(u64::from(view.layers.max(1)))? - 1;
    let mut words = vec![0; head::WORDS as usize];
    let mut end = 0u64;
    let normalized = key.normalized;
    for (number, formula) in (0..).zip(&formulas) {
        let image_level = view.first_level + number;
        let size = match view.kind {
            Kind::Buffer => [view.size[0].max(1), 1, 1],
            _ => view.level_size(image_level),
        };
        let elements = view.level(image_level).size();
        // Where the view has one slice, the formula is that of it.
        let fixed = if slices { 0 } else { formula.parts[2].outside(view.first_layer) };
        let start = (formula.start - base).checked_add(fixed)?;
        let flips = formula.flips ^ if slices { 0 } else { formula.parts[2].inside(view.first_layer) };
        let mut last = start;
        let mut inside = flips;
        for (axis, part) in formula.parts.iter().enumerate() {
            let most = match axis {
                2 if view.kind == Kind::D3 => u64::from(elements[2].max(1)) - 1,
                2 if slices => last_slice,
                2 => continue,
                _ => u64::from(elements[axis].max(1)) - 1,
            };
            last = last.checked_add((most >> part.low).checked_mul(part.step)?)?;
            inside |= super::key::all_bits(part);
        }
        let inside =
            if key.mixed { inside } else { inside_most(&formula.parts, elements, last_slice, view, flips) };
        end = end.max(last.checked_add(inside.into())?.checked_add(view.format.bytes.into())?);
        words.extend(size);
        words.push(u32::try_from(start).ok()?);
        words.push(flips);
        for (axis, &n) in size.iter().enumerate() {
            let period = if key.wrap[axis] == Wrap::Mirror { 2.0 * n as f32 } else { n as f32 };
            words.push((1.0 / period).to_bits());
        }
        for scale in [1.0, 256.0] {
            for &n in &size {
                let texels = if normalized { f64::from(n) * scale } else { scale };
                words.extend([texels.to_bits() as u32, (texels.to_bits() >> 32) as u32]);
            }
        }
        for (part, of) in key.parts.iter().zip(&formula.parts) {
            words.push(of.low);
            words.push(match part.outside {
                Outside::None => 0,
                Outside::Product => of.step as u32,
                Outside::Shift => of.step.trailing_zeros(),
            });
            let moves = moves(of);
            let masks = part
                .shifts
                .iter()
                .map(|(by, _)| moves.iter().find(|(n, _)| n == by).map_or(0, |(_, mask)| *mask));
            words.extend(masks);
        }
    }
    let bytes = u32::try_from(end).ok().filter(|&bytes| bytes <= i32::MAX as u32)?;
    let lod = |n: i32| n as u32;
    words[head::LIMIT as usize] = bytes - u32::from(view.format.bytes);
    words[head::LAST as usize] = (formulas.len() as u32 - 1) * 256;
    words[head::MIN_LOD as usize] = lod(sampler.min_lod);
    words[head::MAX_LOD as usize] = lod(sampler.max_lod);
    words[head::LOWEST as usize] = view.min_lod.min(1 << 23);
    words[head::BIAS as usize] = lod(sampler.bias);
    let lowest = view.min_lod.min(1 << 23) as i32;
    let clamped = |n: i32| n.max(sampler.min_lod).min(sampler.max_lod).max(lowest);
    let last = (formulas.len() as i32 - 1) * 256;
    // Clamps one after the other are one: between what they make of the least and of the greatest.
    let ends = [i32::MIN, i32::MAX].map(clamped);
    words[head::LEAST as usize..][..2].copy_from_slice(&ends.map(lod));
    words[head::USED_LEAST as usize..][..2].copy_from_slice(&ends.map(|end| lod(end.clamp(0, last))));
    words[head::LAST_LAYER as usize] = view.layers.max(1) - 1;
    words[head::FIRST_LAYER as usize] = view.first_layer;
    words[head::BORDER as usize..][..4].copy_from_slice(&sampler.border);
    for axis in 0..3 {
        let n = if normalized { view.level_size(view.first_level)[axis] } else { 1 };
        words[head::SCALE as usize + axis] = (n as f32).to_bits();
    }
    words[head::PROBES as usize] = sampler.max_anisotropy.clamp(1, 16).into();
    words[head::LEVELS as usize] = formulas.len() as u32;
    // A layer that the fetch of a view without such names is not there.
    let layer = key.request.layer != Input::None && key.request.action == Action::Fetch;
    (!layer || slices || view.layers <= 1).then_some(Data { words, address: base, bytes })
}

/// The last place inside of a block, where coordinates change different bits.
fn inside_most(parts: &[Part; 3], elements: [u32; 3], last_slice: u64, view: &View, flips: u32) -> u32 {
    let most = |axis: usize| -> u32 {
        let last = match axis {
            2 if view.kind == Kind::D3 => elements[2].max(1) - 1,
            2 if has_slices(view.kind) => u32::try_from(last_slice).unwrap_or(u32::MAX),
            2 => return 0,
            _ => elements[axis].max(1) - 1,
        };
        let bits = parts[axis].bits.iter().enumerate();
        // Bits above the coordinate's highest are never set.
        bits.filter(|(n, _)| last >> n != 0).fold(0, |all, (_, bits)| all | bits)
    };
    flips | most(0) | most(1) | most(2)
}
