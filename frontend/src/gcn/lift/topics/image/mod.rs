//! Lifts loads, stores and atomics of images, and queries of an image resource.
//!
//! What samples is done by a device ([`crate::gcn::image`]), and so is what an image in rows is not: tiled, or of a rare format. Loads,
//! stores and atomics of linear images, whose texels are in rows ([`surface`]), of one, two and three dimensions, arrays of them, and
//! cubes, are emitted as code: in loops of compute programs they are a few operations. If only the resource says at run time what it is,
//! there are both ways. Both give the same bits.
//!
//! Coordinates, slices and levels outside the image read 0 and are not written. The same holds for every access to a resource without a
//! format, such as one that is all zeros.

mod device;
mod resource;

use warpjit_ir::{IntCC, MemAccess, Opcode, Scalar, Terminator, Value};

pub(in crate::gcn::lift) use self::device::MAILBOX_BYTES;
use self::resource::{Plain, Resource};
use super::atomic::{self, Rmw};
use super::buffer::{halves, pack_halves, packs};
use super::format::TexelFormat;
use crate::gcn::image::{Action, Shape};
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::access::{self, GLOBAL, access};
use crate::gcn::surface;
use crate::gcn::{Arg, Format, Generation, Inst, Op};

/// Emits one image access; false for what is not one or samples.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let (Some(resource), Some(shape)) = (inst.mem.base, Shape::of(inst.op)) else { return false };
    if shape.action == Action::Sizes {
        let resource = Resource::new(e, inst, resource);
        info(e, inst, &resource);
        return true;
    }
    if shape.samples() {
        device::call(e, inst, &shape);
        return true;
    }
    match Resource::is_plain(e, inst, resource) {
        Plain::Always => plain(e, inst, resource),
        Plain::Never => device::call(e, inst, &shape),
        Plain::If(cond) => {
            let pc = e.b.pc;
            let [rows, device, behind] = [(); 3].map(|()| e.b.func.add_block(pc));
            e.end_block(Terminator::Branch { cond, taken: rows.into(), next: device.into() });
            e.start(device);
            device::call(e, inst, &shape);
            e.end_block(Terminator::Jump(behind.into()));
            e.start(rows);
            plain(e, inst, resource);
            e.end_block(Terminator::Jump(behind.into()));
            e.start(behind);
        }
    }
    true
}

/// Emits an access to an image in rows.
fn plain(e: &mut Emit<'_>, inst: &Inst, resource: Arg) {
    use Op::*;
    let resource = Resource::new(e, inst, resource);
    let image = &Image::new(e, inst, &resource);
    match (inst.op, atomic::memory_atomic(inst.op)) {
        (_, Some(rmw)) => update(e, inst, image, rmw),
        (IMAGE_LOAD | IMAGE_LOAD_MIP, _) => load(e, inst, image),
        (IMAGE_LOAD_PCK | IMAGE_LOAD_MIP_PCK, _) => load_raw(e, inst, image, false),
        (IMAGE_LOAD_PCK_SGN | IMAGE_LOAD_MIP_PCK_SGN, _) => load_raw(e, inst, image, true),
        (IMAGE_STORE | IMAGE_STORE_MIP, _) => store(e, inst, image),
        _ => store_raw(e, inst, image),
    }
}

/// A resource and the texels in it that the lanes name.
struct Image {
    address: Value,
    /// Whether there is such a texel.
    inside: Value,
    format: TexelFormat,
}

impl Image {
    fn new(e: &mut Emit<'_>, inst: &Inst, resource: &Resource) -> Image {
        let format = resource.format(e);
        let bytes = format.bytes(e);
        let zero = e.b.i32(0);
        let at = Coordinates::of(e, inst, resource);
        let mut inside = e.b.icmp(IntCC::Ne, bytes, zero);
        let (level, there) = resource.level(e, at.level);
        inside = e.b.iand(inside, there);
        for (coordinate, size) in [at.x, at.y].into_iter().zip(resource.sizes(e, level)) {
            let there = e.b.icmp(IntCC::Ult, coordinate, size);
            inside = e.b.iand(inside, there);
        }
        let (slice, there) = resource.slice(e, at.slice, level);
        inside = e.b.iand(inside, there);
        let args = resource.layout(e, level, bytes);
        let [start, shape] = [&surface::START, &surface::SHAPE].map(|of| e.b.call_pure(of, &args));
        let half = e.b.i64(32);
        let (pitch, rows) = (e.b.convert(Opcode::Trunc, shape, Scalar::I32), e.b.ushr(shape, half));
        let rows = e.b.convert(Opcode::Trunc, rows, Scalar::I32);
        let above = e.b.imul(slice, rows);
        let row = e.b.iadd(above, at.y);
        let [row, pitch, x, bytes] =
            [row, pitch, at.x, bytes].map(|value| e.b.convert(Opcode::Zext, value, Scalar::I64));
        let texel = e.b.imul(row, pitch);
        let texel = e.b.iadd(texel, x);
        let offset = e.b.imul(texel, bytes);
        // Bits 47 to 8 of the base, which is extended by its sign.
        let high = e.extend(resource.word(1), 8, true);
        let base = e.wide(resource.word(0), high);
        let shift = e.b.i64(8);
        let base = e.b.ishl(base, shift);
        let base = e.b.iadd(base, start);
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
        let guard = e.store_guard(ok);
        e.b.store(access(GLOBAL, bytes, false, at as i32), self.address, value, Some(guard));
    }

    /// The accesses that move dwords of the texel as they are: number of the dword, bytes, condition.
    fn raw_accesses(&self, e: &mut Emit<'_>) -> Vec<(u32, u8, Value)> {
        let size = self.format.bytes(e);
        let mut accesses = Vec::new();
        for bytes in [1, 2] {
            let exactly = e.b.i32(bytes);
            accesses.push((0, bytes as u8, e.b.icmp(IntCC::Eq, size, exactly)));
        }
        for word in 0..4 {
            let needed = e.b.i32(4 * word + 4);
            accesses.push((word, 4, e.b.icmp(IntCC::Uge, size, needed)));
        }
        accesses
    }
}

/// What the address registers hold. What they do not is 0.
struct Coordinates {
    x: Value,
    y: Value,
    slice: Value,
    level: Value,
}

impl Coordinates {
    /// There is a register for each that the type of the resource has: x; y unless it has one dimension; the slice, where the instruction
    /// says so or there are three dimensions; the level, of instructions with one.
    fn of(e: &mut Emit<'_>, inst: &Inst, resource: &Resource) -> Coordinates {
        let zero = e.b.i32(0);
        let Some(addr) = inst.mem.addr else {
            return Coordinates { x: zero, y: zero, slice: zero, level: zero };
        };
        let count = 3 + usize::from(has_level(inst.op));
        let values: Vec<Value> = if inst.mem.r128 && inst.generation == Generation::Gfx9 {
            // 16-bit coordinates, two a register.
            let words = e.src_words(addr, count.div_ceil(2));
            words.into_iter().flat_map(|word| [e.and_const(word, 0xffff), e.ushr_const(word, 16)]).collect()
        } else {
            e.src_words(addr, count)
        };
        let (line, solid) = (resource.is_line(e), resource.is_solid(e));
        let y = e.b.select(line, zero, values[1]);
        let third = e.b.select(line, values[1], values[2]);
        let (slice, level) = if inst.mem.da {
            (third, has_level(inst.op).then(|| e.b.select(line, values[2], values[3])))
        } else {
            let level = has_level(inst.op).then(|| e.b.select(solid, values[3], third));
            (e.b.select(solid, values[2], zero), level)
        };
        let slice = face(e, resource, slice);
        Coordinates { x: values[0], y, slice, level: level.unwrap_or(zero) }
    }
}

/// The slice that a coordinate of a cube is, eight numbers being for the six faces of each (docs/hardware/graphics-gcn.md section 5.3; of
/// an image_load no source says it). The last two of the eight are no slice. For others it is the coordinate.
fn face(e: &mut Emit<'_>, resource: &Resource, slice: Value) -> Value {
    let cube = resource.is_cube(e);
    let (face, number) = (e.and_const(slice, 7), e.ushr_const(slice, 3));
    let six = e.b.i32(6);
    let first = e.b.imul(number, six);
    let of_cube = e.b.iadd(first, face);
    let (is_face, none) = (e.b.icmp(IntCC::Ult, face, six), e.b.i32(u32::MAX));
    let of_cube = e.b.select(is_face, of_cube, none);
    e.b.select(cube, of_cube, slice)
}

fn has_level(op: Op) -> bool {
    op.name().contains("_MIP")
}

/// The values whose bits are set in the instruction's `dmask`.
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
    let values =
        image.format.load(e, 4, d16, false, |e, at, bytes, cond| image.read(e, at, bytes, false, cond));
    let mut values = masked(inst, &values);
    if d16 && packs(inst) {
        values = pack_halves(e, &values);
    }
    finish(e, inst, values);
}

fn load_raw(e: &mut Emit<'_>, inst: &Inst, image: &Image, signed: bool) {
    let zero = e.b.i32(0);
    let mut words = [zero; 4];
    for (word, bytes, cond) in image.raw_accesses(e) {
        let value = image.read(e, 4 * word, bytes, signed, Some(cond));
        words[word as usize] = e.b.ior(words[word as usize], value);
    }
    let values = masked(inst, &words);
    finish(e, inst, values);
}

/// The components that a store has, at their indices; the others are 0.
fn stored(e: &mut Emit<'_>, inst: &Inst) -> [Value; 4] {
    let mut components = [e.b.i32(0); 4];
    let Some(data) = inst.mem.data else { return components };
    let count = (inst.mem.dmask & 15).count_ones() as usize;
    let values = if inst.mem.d16 { halves(e, inst, count, false) } else { e.src_words(data, count) };
    let indices = (0..4).filter(|i| inst.mem.dmask >> i & 1 != 0);
    indices.zip(values).for_each(|(index, value)| components[index] = value);
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
    for (word, bytes, cond) in image.raw_accesses(e) {
        image.write(e, 4 * word, bytes, words[word as usize], Some(cond));
    }
}

/// What a resource says of itself at the level of detail that the address register names.
fn info(e: &mut Emit<'_>, inst: &Inst, resource: &Resource) {
    let more = match inst.mem.addr {
        Some(addr) => e.read32(addr),
        None => e.b.i32(0),
    };
    let values = resource.info(e, more);
    let values = masked(inst, &values);
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

/// Whether a program has instructions that may call the device.
pub(in crate::gcn::lift) fn has_device(graph: &crate::gcn::lift::analysis::graph::Graph) -> bool {
    graph.nodes().flat_map(|(_, node)| &node.insts).any(|inst| inst.format == Format::Mimg)
}
