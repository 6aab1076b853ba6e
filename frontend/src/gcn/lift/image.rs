//! Images: loads, stores and atomics of resources whose texels lie row by row, and what a resource says of itself.
//!
//! Resources are two-dimensional, with or without slices, and their rows are `pitch` texels apart. An access to one that is tiled or of
//! another type is `illegal`: what it would read is not where this looks. Of the levels of detail only the
//! first is there; others and coordinates outside read as 0 and are not written. Sampling is `illegal` until there are textures.

use warpjit_ir::{GuestFault, IntCC, MemAccess, Opcode, Scalar, Terminator, Value};

use super::access::{self, GLOBAL, access};
use super::atomic::{self, Rmw};
use super::buffer::{halves, pack_halves, packs, resource_words};
use super::emit::Emit;
use super::format::{TexelFormat, field};
use crate::gcn::{Arg, Format, Generation, Inst, Op};

/// Emits one image access; false for what is not one or samples.
pub(super) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    if inst.format != Format::Mimg {
        return false;
    }
    let Some(resource) = inst.mem.base else { return false };
    let short = inst.mem.r128 && inst.generation != Generation::Gfx9;
    use Op::*;
    let rmw = atomic::memory_atomic(inst.op);
    let accesses = rmw.is_some()
        || inst.op.name().starts_with("IMAGE_LOAD")
        || inst.op.name().starts_with("IMAGE_STORE");
    if accesses {
        refuse_others(e, inst, resource);
    }
    let mut words = resource_words(e, resource, if short { 4 } else { 8 });
    words.resize(8, e.b.i32(0));
    if inst.op == IMAGE_GET_RESINFO {
        info(e, inst, &words);
        return true;
    }
    if !accesses {
        return false;
    }
    let image = &Image::new(e, inst, &words);
    match (inst.op, rmw) {
        (_, Some(rmw)) => update(e, inst, image, rmw),
        (IMAGE_LOAD | IMAGE_LOAD_MIP, _) => load(e, inst, image),
        (IMAGE_LOAD_PCK | IMAGE_LOAD_MIP_PCK, _) => load_raw(e, inst, image, false),
        (IMAGE_LOAD_PCK_SGN | IMAGE_LOAD_MIP_PCK_SGN, _) => load_raw(e, inst, image, true),
        (IMAGE_STORE | IMAGE_STORE_MIP, _) => store(e, inst, image),
        _ => store_raw(e, inst, image),
    }
    true
}

/// The types of resources that are known here: two dimensions, an array of these.
const TYPES: [u32; 2] = [9, 13];

/// Tiling indices of rows one after the other. Up to 1.2 drivers fill the table that the index is for, all alike: aligned rows are 8,
/// others 31; 0 is taken for "says nothing" (chosen: its entry is for depth, which no such access is for). On 1.4 linear is 0.
fn linear(generation: Generation) -> &'static [u32] {
    if generation == Generation::Gfx9 { &[0] } else { &[0, 8, 31] }
}

/// The fault `illegal` for resources that are laid out in another way. Values made before are lost.
fn refuse_others(e: &mut Emit<'_>, inst: &Inst, resource: Arg) {
    let word = resource_words(e, resource, 4)[3];
    let tilings = linear(inst.generation);
    if let Some(word) = e.b.func.as_const(word)
        && TYPES.contains(&(word as u32 >> 28))
        && tilings.contains(&(word as u32 >> 20 & 31))
    {
        return;
    }
    let one_of = |e: &mut Emit<'_>, value: Value, list: &[u32]| {
        let mut found = e.b.i32(list[0]);
        found = e.b.icmp(IntCC::Eq, value, found);
        for &other in &list[1..] {
            let other = e.b.i32(other);
            let same = e.b.icmp(IntCC::Eq, value, other);
            found = e.b.ior(found, same);
        }
        found
    };
    let (kind, tiling) = (field(e, word, 28, 4), field(e, word, 20, 5));
    let kind = one_of(e, kind, &TYPES);
    let tiling = one_of(e, tiling, tilings);
    let plain = e.b.iand(kind, tiling);
    let pc = e.b.pc;
    let [refused, goes_on] = [(); 2].map(|()| e.core.b.func.add_block(pc));
    e.terminate(Terminator::Branch { cond: plain, taken: goes_on.into(), next: refused.into() });
    e.start(refused);
    e.terminate(Terminator::Fault(GuestFault::Illegal));
    e.start(goes_on);
}

/// A resource and the texels in it that the lanes name.
struct Image {
    address: Value,
    /// Whether there is such a texel.
    inside: Value,
    format: TexelFormat,
}

impl Image {
    fn new(e: &mut Emit<'_>, inst: &Inst, words: &[Value]) -> Image {
        let (data, number) = (field(e, words[1], 20, 6), field(e, words[1], 26, 4));
        let selectors = field(e, words[3], 0, 12);
        let known = [words[1], words[3]].map(|word| e.b.func.as_const(word).map(|word| word as u32));
        let format = match known {
            [Some(formats), Some(selectors)] => {
                TexelFormat::Known(formats >> 20 & 63, formats >> 26 & 15, selectors & 0xfff)
            }
            _ => TexelFormat::pack(e, data, number, selectors),
        };
        let coordinates = Coordinates::of(e, inst);
        let (width, height) = (size(e, words[2], 0), size(e, words[2], 14));
        let pitch = if inst.mem.r128 && inst.generation != Generation::Gfx9 {
            width
        } else {
            let bits = if inst.generation == Generation::Gfx9 { 16 } else { 14 };
            let pitch = field(e, words[4], 13, bits);
            e.add_const(pitch, 1)
        };
        let mut inside = e.b.icmp(IntCC::Ult, coordinates.x, width);
        let y_inside = e.b.icmp(IntCC::Ult, coordinates.y, height);
        inside = e.b.iand(inside, y_inside);
        let mut row = coordinates.y;
        if let Some(slice) = coordinates.slice {
            let depth = field(e, words[4], 0, 13);
            let there = e.b.icmp(IntCC::Ule, slice, depth);
            inside = e.b.iand(inside, there);
            let rows = e.b.imul(slice, height);
            row = e.b.iadd(row, rows);
        }
        if let Some(level) = coordinates.level {
            let zero = e.b.i32(0);
            let first = e.b.icmp(IntCC::Eq, level, zero);
            inside = e.b.iand(inside, first);
        }
        let texel = e.b.imul(row, pitch);
        let texel = e.b.iadd(texel, coordinates.x);
        let bytes = format.bytes(e);
        let offset = e.b.imul(texel, bytes);
        let offset = e.b.convert(Opcode::Zext, offset, Scalar::I64);
        // Bits 47 to 8 of the base, which is extended by its sign.
        let high = e.extend(words[1], 8, true);
        let base = e.wide(words[0], high);
        let shift = e.b.i64(8);
        let base = e.b.ishl(base, shift);
        Image { address: e.b.iadd(base, offset), inside, format }
    }

    fn read(&self, e: &mut Emit<'_>, at: u32, bytes: u8, signed: bool, cond: Option<Value>) -> Value {
        let ok = access::and(e, Some(self.inside), cond);
        let guard = access::guard(e, ok);
        let value = e.b.load(access(GLOBAL, bytes, signed, at as i32), self.address, Some(guard));
        access::or_zero(e, ok, value)
    }

    fn write(&self, e: &mut Emit<'_>, at: u32, bytes: u8, value: Value, cond: Option<Value>) {
        let ok = access::and(e, Some(self.inside), cond);
        let guard = access::guard(e, ok);
        e.b.store(access(GLOBAL, bytes, false, at as i32), self.address, value, Some(guard));
    }

    /// The accesses that move dwords of the texel as they are: number of the dword, bytes, condition.
    fn raw_pieces(&self, e: &mut Emit<'_>) -> Vec<(u32, u8, Value)> {
        let size = self.format.bytes(e);
        let mut pieces = Vec::new();
        for bytes in [1, 2] {
            let exactly = e.b.i32(bytes);
            pieces.push((0, bytes as u8, e.b.icmp(IntCC::Eq, size, exactly)));
        }
        for word in 0..4 {
            let needed = e.b.i32(4 * word + 4);
            pieces.push((word, 4, e.b.icmp(IntCC::Uge, size, needed)));
        }
        pieces
    }
}

/// What the address registers hold.
struct Coordinates {
    x: Value,
    y: Value,
    slice: Option<Value>,
    level: Option<Value>,
}

impl Coordinates {
    fn of(e: &mut Emit<'_>, inst: &Inst) -> Coordinates {
        let count = 2 + usize::from(inst.mem.da) + usize::from(has_level(inst.op));
        let Some(addr) = inst.mem.addr else {
            let zero = e.b.i32(0);
            return Coordinates { x: zero, y: zero, slice: None, level: None };
        };
        let mut values = if inst.mem.r128 && inst.generation == Generation::Gfx9 {
            // 16-bit coordinates, two a register.
            let words = e.src_words(addr, count.div_ceil(2));
            words.into_iter().flat_map(|word| [e.and_const(word, 0xffff), e.ushr_const(word, 16)]).collect()
        } else {
            e.src_words(addr, count)
        }
        .into_iter();
        let zero = e.b.i32(0);
        let mut next = || values.next().unwrap_or(zero);
        let (x, y) = (next(), next());
        let slice = inst.mem.da.then(&mut next);
        let level = has_level(inst.op).then(&mut next);
        Coordinates { x, y, slice, level }
    }
}

fn has_level(op: Op) -> bool {
    op.name().contains("_MIP")
}

/// A field of 14 bits that is one less than a size.
fn size(e: &mut Emit<'_>, word: Value, low: u32) -> Value {
    let less = field(e, word, low, 14);
    e.add_const(less, 1)
}

/// Those of four values that the instruction's mask names.
fn masked(inst: &Inst, values: &[Value]) -> Vec<Value> {
    values.iter().enumerate().filter(|(i, _)| inst.mem.dmask >> i & 1 != 0).map(|(_, &value)| value).collect()
}

fn finish(e: &mut Emit<'_>, inst: &Inst, mut values: Vec<Value>) {
    if inst.mem.tfe || inst.mem.lwe {
        values.push(e.b.i32(0));
    }
    e.set_dst_words(inst, &values);
}

fn load(e: &mut Emit<'_>, inst: &Inst, image: &Image) {
    let d16 = inst.mem.d16;
    let values = image.format.load(e, 4, d16, |e, at, bytes, cond| image.read(e, at, bytes, false, cond));
    let mut values = masked(inst, &values);
    if d16 && packs(inst) {
        values = pack_halves(e, &values);
    }
    finish(e, inst, values);
}

fn load_raw(e: &mut Emit<'_>, inst: &Inst, image: &Image, signed: bool) {
    let zero = e.b.i32(0);
    let mut words = [zero; 4];
    for (word, bytes, cond) in image.raw_pieces(e) {
        let value = image.read(e, 4 * word, bytes, signed, Some(cond));
        words[word as usize] = e.b.ior(words[word as usize], value);
    }
    let values = masked(inst, &words);
    finish(e, inst, values);
}

/// The components that a store has, in their places; the others are 0.
fn stored(e: &mut Emit<'_>, inst: &Inst) -> [Value; 4] {
    let mut components = [e.b.i32(0); 4];
    let Some(data) = inst.mem.data else { return components };
    let count = (inst.mem.dmask & 15).count_ones() as usize;
    let values = if inst.mem.d16 { halves(e, inst, count, false) } else { e.src_words(data, count) };
    let places = (0..4).filter(|i| inst.mem.dmask >> i & 1 != 0);
    places.zip(values).for_each(|(place, value)| components[place] = value);
    components
}

fn store(e: &mut Emit<'_>, inst: &Inst, image: &Image) {
    let components = stored(e, inst);
    image.format.store(e, &components, inst.mem.d16, |e, at, bytes, value, cond| {
        image.write(e, at, bytes, value, cond);
    });
}

fn store_raw(e: &mut Emit<'_>, inst: &Inst, image: &Image) {
    let words = stored(e, inst);
    for (word, bytes, cond) in image.raw_pieces(e) {
        image.write(e, 4 * word, bytes, words[word as usize], Some(cond));
    }
}

/// Width, height, depth or slices, levels of the resource at the level that the address register names.
fn info(e: &mut Emit<'_>, inst: &Inst, words: &[Value]) {
    let level = match inst.mem.addr {
        Some(addr) => e.read32(addr),
        None => e.b.i32(0),
    };
    let (width, height) = (size(e, words[2], 0), size(e, words[2], 14));
    let one = e.b.i32(1);
    let shrunk = |e: &mut Emit<'_>, value: Value| {
        let value = e.b.ushr(value, level);
        e.b.umax(value, one)
    };
    let (width, height) = (shrunk(e, width), shrunk(e, height));
    let depth = field(e, words[4], 0, 13);
    let depth = e.add_const(depth, 1);
    let (first, last) = (field(e, words[3], 12, 4), field(e, words[3], 16, 4));
    let levels = e.b.isub(last, first);
    let levels = e.add_const(levels, 1);
    let values = masked(inst, &[width, height, depth, levels]);
    let values = values.into_iter().map(|value| e.b.splat(value)).collect();
    finish(e, inst, values);
}

/// An atomic on a texel of 32 or 64 bits, as many as the instruction has data for.
fn update(e: &mut Emit<'_>, inst: &Inst, image: &Image, rmw: Rmw) {
    let words = (inst.mem.dmask & 15).count_ones();
    let rmw = Rmw { wide: words >= if rmw.op.takes_two() { 4 } else { 2 }, ..rmw };
    let bytes = rmw.bytes();
    let operands = atomic::memory_operands(e, inst, rmw);
    let mem = MemAccess { align: bytes, ..access(GLOBAL, bytes, false, 0) };
    let old = atomic::emit(e, inst, mem, rmw, image.address, operands, Some(image.inside));
    atomic::write_old(e, inst, old);
}
