//! Reads the resource of an image: whether its texels can be accessed here, its size, levels of detail and slices.
//!
//! The fields are those of docs/hardware/graphics-gcn.md section 2. Most resources are known at run time only, so all of this is emitted
//! as code.

use warpjit_ir::{IntCC, Opcode, Value};

use super::super::buffer::resource_words;
use super::super::format::{TexelFormat, field};
use crate::gcn::lift::emit::Emit;
use crate::gcn::rows::Property;
use crate::gcn::surface::{self, LEVEL_SHIFT, LINEAR_ALIGNED, LINEAR_GENERAL};
use crate::gcn::table::meaning;
use crate::gcn::texel::{IMAGE_DATA_FORMATS, IMAGE_NUMBER_FORMATS, SHARED_EXPONENT, TRIPLE_WORDS};
use crate::gcn::{Arg, Generation, Inst};

/// The types of resources, as bits: those of one dimension, of three, cubes, and those with several samples a texel.
const ONE_DIMENSION: u64 = 1 << 8 | 1 << 12;
const ONE_DIMENSION_ARRAY: u64 = 1 << 12;
const THREE_DIMENSIONS: u64 = 1 << 10;
const CUBE: u64 = 1 << 11;
const SAMPLES: u64 = 1 << 14 | 1 << 15;
/// The image types that accesses support, a bit each. All others are buffers, reserved or multisampled.
const TYPES: u64 = ONE_DIMENSION | THREE_DIMENSIONS | CUBE | 1 << 9 | 1 << 13;

/// A field of a resource: dword, lowest bit, bits.
type Field = (usize, u32, u32);

const DATA_FORMAT: Field = (1, 20, 6);
const NUMBER_FORMAT: Field = (1, 26, 4);
const BASE_LEVEL: Field = (3, 12, 4);
const LAST_LEVEL: Field = (3, 16, 4);
const TILING: Field = (3, 20, 5);
const TYPE: Field = (3, 28, 4);
const DEPTH: Field = (4, 0, 13);
const BASE_ARRAY: Field = (5, 0, 13);
/// Up to 1.2. On 1.4 the last slice is where the others have the depth.
const LAST_ARRAY: Field = (5, 13, 13);
/// On 1.4: the number of the last level of the image, of which the resource may have a part.
const MAX_MIP: Field = (5, 28, 4);
/// From 1.2 on.
const COMPRESSION: Field = (6, 21, 1);

/// Tiling indices of rows one after the other, as bits.
fn linear(generation: Generation) -> u64 {
    if generation == Generation::Gfx9 { 1 } else { 1 << LINEAR_ALIGNED | 1 << LINEAR_GENERAL }
}

/// Whether the texels of a resource are in rows and have a format that is known here.
pub(super) enum Plain {
    Always,
    Never,
    /// Where this holds, uniform.
    If(Value),
}

/// A resource of which some or all dwords are known at run time only.
pub(super) struct Resource {
    words: Vec<Value>,
    generation: Generation,
    /// Whether the instruction has only the first four dwords of it; the others are 0.
    short: bool,
}

impl Resource {
    pub(super) fn new(e: &mut Emit<'_>, inst: &Inst, resource: Arg) -> Resource {
        let short = inst.mem.r128 && inst.generation != Generation::Gfx9;
        let mut words = resource_words(e, resource, if short { 4 } else { 8 });
        words.resize(8, e.b.i32(0));
        Resource { words, generation: inst.generation, short }
    }

    /// A dword of it.
    pub(super) fn word(&self, n: usize) -> Value {
        self.words[n]
    }

    fn field(&self, e: &mut Emit<'_>, (word, low, bits): Field) -> Value {
        field(e, self.words[word], low, bits)
    }

    /// Whether a field is one of the numbers whose bits are set.
    fn is(&self, e: &mut Emit<'_>, of: Field, numbers: u64) -> Value {
        let number = self.field(e, of);
        let number = e.b.convert(Opcode::Zext, number, warpjit_ir::Scalar::I64);
        let numbers = e.b.i64(numbers);
        let shifted = e.b.ushr(numbers, number);
        let (one, none) = (e.b.i64(1), e.b.i64(0));
        let bit = e.b.iand(shifted, one);
        e.b.icmp(IntCC::Ne, bit, none)
    }

    /// The number that a field is, where that is known.
    fn known(&self, e: &Emit<'_>, (word, low, bits): Field) -> Option<u32> {
        Some(e.b.func.as_const(self.words[word])? as u32 >> low & ((1 << bits) - 1))
    }

    /// The field that says whether there are levels of detail, in the image or, up to 1.2, in the resource.
    fn last_of_all(&self) -> Field {
        if self.generation == Generation::Gfx9 { MAX_MIP } else { LAST_LEVEL }
    }

    /// What accesses know of resources: fields and their numbers, as bits.
    fn known_here(&self, stores: bool) -> Vec<(Field, u64)> {
        let shared = if stores { 1 << SHARED_EXPONENT } else { 0 };
        let mut known = vec![
            (DATA_FORMAT, IMAGE_DATA_FORMATS & !shared),
            (NUMBER_FORMAT, IMAGE_NUMBER_FORMATS),
            (TILING, linear(self.generation)),
            (TYPE, TYPES),
        ];
        if matches!(self.generation, Generation::Gfx8 | Generation::Gfx9) && !self.short {
            known.push((COMPRESSION, 1));
        }
        known
    }

    /// Whether the texels of a resource are laid out as [`surface`] says and have a format of
    /// [`texel`](crate::gcn::texel). Without a format there is nothing to access, whatever the rest says.
    pub(super) fn is_plain(e: &mut Emit<'_>, inst: &Inst, resource: Arg) -> Plain {
        let it = Resource::new(e, inst, resource);
        let stores = meaning(inst.op).has(Property::Store);
        let known = it.known_here(stores);
        let has = |e: &Emit<'_>, of, numbers: u64| it.known(e, of).map(|n| numbers >> n & 1 != 0);
        if has(e, DATA_FORMAT, 1) == Some(true) {
            return Plain::Always;
        }
        let one_level = [has(e, it.last_of_all(), 1), has(e, DATA_FORMAT, !(1 << TRIPLE_WORDS))];
        let whole = one_level.contains(&Some(true));
        let fields: Vec<_> = known.iter().map(|&(of, numbers)| has(e, of, numbers)).collect();
        if fields.contains(&Some(false)) && has(e, DATA_FORMAT, 1) == Some(false)
            || one_level == [Some(false); 2]
        {
            return Plain::Never;
        }
        if whole && fields.iter().all(|&has| has == Some(true)) {
            return Plain::Always;
        }
        // No source says where levels of texels of three words lie.
        let mut plain = it.is(e, it.last_of_all(), 1);
        let other = it.is(e, DATA_FORMAT, !(1 << TRIPLE_WORDS));
        plain = e.b.ior(plain, other);
        for (of, numbers) in known {
            let one = it.is(e, of, numbers);
            plain = e.b.iand(plain, one);
        }
        let none = it.is(e, DATA_FORMAT, 1);
        Plain::If(e.b.ior(plain, none))
    }

    /// The format of its texels.
    pub(super) fn format(&self, e: &mut Emit<'_>) -> TexelFormat {
        let known = [1, 3].map(|word| e.b.func.as_const(self.words[word]).map(|word| word as u32));
        match known {
            [Some(formats), Some(selectors)] => {
                TexelFormat::Known(formats >> 20 & 63, formats >> 26 & 15, selectors & 0xfff)
            }
            _ => {
                let (data, number) = (self.field(e, DATA_FORMAT), self.field(e, NUMBER_FORMAT));
                let selectors = self.field(e, (3, 0, 12));
                TexelFormat::pack(e, data, number, selectors)
            }
        }
    }

    /// Whether there is one dimension, with or without slices.
    pub(super) fn is_line(&self, e: &mut Emit<'_>) -> Value {
        self.is(e, TYPE, ONE_DIMENSION)
    }

    /// Whether there are three dimensions.
    pub(super) fn is_solid(&self, e: &mut Emit<'_>) -> Value {
        self.is(e, TYPE, THREE_DIMENSIONS)
    }

    /// Whether its slices are the faces of cubes.
    pub(super) fn is_cube(&self, e: &mut Emit<'_>) -> Value {
        self.is(e, TYPE, CUBE)
    }

    /// The level of detail that is `more` behind the first, and whether the resource has it.
    pub(super) fn level(&self, e: &mut Emit<'_>, more: Value) -> (Value, Value) {
        let (first, last) = self.levels(e);
        up_to(e, more, first, last)
    }

    /// Numbers of the first and the last level of detail.
    fn levels(&self, e: &mut Emit<'_>) -> (Value, Value) {
        let (first, last) = (self.field(e, BASE_LEVEL), self.field(e, LAST_LEVEL));
        // These have one, and the field says how many samples there are.
        let samples = self.is(e, TYPE, SAMPLES);
        (first, e.b.select(samples, first, last))
    }

    /// Dword 2, the sizes. In one dimension the height is 1, whatever the field says.
    fn size_word(&self, e: &mut Emit<'_>) -> Value {
        let line = self.is_line(e);
        let width = e.and_const(self.words[2], 0x3fff);
        e.b.select(line, width, self.words[2])
    }

    /// Width and height at a level of detail.
    pub(super) fn sizes(&self, e: &mut Emit<'_>, level: Value) -> [Value; 2] {
        let word = self.size_word(e);
        [0, 14].map(|low| {
            let less = field(e, word, low, 14);
            let size = e.add_const(less, 1);
            shrunk(e, size, level)
        })
    }

    /// The slice that is `more` behind the first at a level of detail, and whether the resource has it.
    pub(super) fn slice(&self, e: &mut Emit<'_>, more: Value, level: Value) -> (Value, Value) {
        let (first, last) = self.slices(e, level);
        up_to(e, more, first, last)
    }

    /// Numbers of the first and the last slice at a level of detail.
    fn slices(&self, e: &mut Emit<'_>, level: Value) -> (Value, Value) {
        let solid = self.is_solid(e);
        let less = self.field(e, DEPTH);
        let depth = e.add_const(less, 1);
        let depth = shrunk(e, depth, level);
        let deepest = e.add_const(depth, u32::MAX);
        let last = if self.generation == Generation::Gfx9 { less } else { self.field(e, LAST_ARRAY) };
        let (zero, first) = (e.b.i32(0), self.field(e, BASE_ARRAY));
        (e.b.select(solid, zero, first), e.b.select(solid, deepest, last))
    }

    /// The arguments of [`surface::START`] and [`surface::SHAPE`] for a level of detail, with so many bytes a texel.
    pub(super) fn layout(&self, e: &mut Emit<'_>, level: Value, bytes: Value) -> [Value; 3] {
        let gfx9 = self.generation == Generation::Gfx9;
        // Half a resource has no pitch: its rows are as long as they are wide.
        let geometry = if self.short {
            let less = e.and_const(self.words[2], 0x3fff);
            e.shl_const(less, 13)
        } else {
            self.words[4]
        };
        let flags = [(self.is_solid(e), surface::SOLID), (self.is_cube(e), surface::CUBES)];
        let level = e.and_const(level, 15);
        let mut what = e.b.i32(surface::pack_what(0, gfx9));
        let flags = flags.map(|(cond, flag)| {
            let (flag, none) = (e.b.i32(flag), e.b.i32(0));
            e.b.select(cond, flag, none)
        });
        let parts = [
            bytes,
            e.and_const(self.words[3], surface::OF_DWORD_3),
            e.and_const(self.words[5], surface::OF_DWORD_5),
            e.shl_const(level, LEVEL_SHIFT),
        ];
        for part in parts.into_iter().chain(flags) {
            what = e.b.ior(what, part);
        }
        [self.size_word(e), geometry, what]
    }

    /// What it says of itself, at the level of detail that is `more` behind the first: width, height, depth or slices, levels. Of a level
    /// that is not there the sizes are 0; of a resource without a format all is. Whether the texels can be accessed does not matter.
    pub(super) fn info(&self, e: &mut Emit<'_>, more: Value) -> [Value; 4] {
        let zero = e.b.i32(0);
        let (first_level, last_level) = self.levels(e);
        let (level, there) = self.level(e, more);
        let [width, height] = self.sizes(e, level);
        let (first, last) = self.slices(e, level);
        let slices = e.b.isub(last, first);
        let slices = e.add_const(slices, 1);
        // An array of lines has its slices where others have the height: so Mesa reads them up to 1.2, and has no such resources on 1.4.
        let lines = self.is(e, TYPE, ONE_DIMENSION_ARRAY);
        let height = e.b.select(lines, slices, height);
        let count = e.b.isub(last_level, first_level);
        let count = e.add_const(count, 1);
        let data = self.field(e, DATA_FORMAT);
        let any = e.b.icmp(IntCC::Ne, data, zero);
        let there = e.b.iand(there, any);
        let [width, height, slices] = [width, height, slices].map(|size| e.b.select(there, size, zero));
        [width, height, slices, e.b.select(any, count, zero)]
    }
}

/// `first + more`, and whether that is `last` at most.
fn up_to(e: &mut Emit<'_>, more: Value, first: Value, last: Value) -> (Value, Value) {
    let sum = e.b.iadd(first, more);
    // The sum may wrap where `more` alone is too much.
    let (small, there) = (e.b.icmp(IntCC::Ule, more, last), e.b.icmp(IntCC::Ule, sum, last));
    (sum, e.b.iand(small, there))
}

/// A size at a level of detail.
fn shrunk(e: &mut Emit<'_>, size: Value, level: Value) -> Value {
    let (size, one) = (e.b.ushr(size, level), e.b.i32(1));
    e.b.umax(size, one)
}
