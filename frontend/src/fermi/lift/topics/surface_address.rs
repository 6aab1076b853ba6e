//! Lifts what makes addresses of GK104's surfaces: `suclamp`, `subfm`, `sueau` and `mad b32 sd`.
//!
//! No source says what bits these give. What stands here is what Mesa's programs must compute with its descriptors
//! (docs/hardware/textures-nv.md section 13):
//!
//! - The word of limits that `suclamp` takes has the last coordinate in bits 0 to 21, the log2 of the coordinates in a
//!   block in bits 22 to 25, and the log2 of the block's gobs along this axis in bits 29 to 31. Along x a block is a gob,
//!   64 bytes; its coordinates are elements, or bytes.
//! - Programs add bits 0 to 15 of the results up, times the row's number of blocks: there is the block's number.
//!   They take bits 0 to 23 of a layer, where blocks are one layer thick, as its number.
//! - `subfm` gives bits 0 to 7 of an address, and `sueau` the others.
//!
//! The other bits are this project's: of `suclamp`, the offset in the block in bits 16 to 23, log2 of the coordinates in a
//! block in 24 to 27, log2 of its gobs in 28 to 30, and in bit 31 whether the coordinate was outside; of `subfm`, the byte in the
//! block in bits 0 to 23, log2 of the block's gobs in bits 24 to 27.

use warpjit_ir::{GuestFault, IntCC, Value};

use crate::fermi::lift::emit::Emit;
use crate::fermi::modifier::{SurfaceLayout, SurfaceShape};
use crate::fermi::{Inst, Op, Type};

/// Log2 of 256 byte units in a gob.
const GOB_UNITS: u32 = 1;

/// Emits one of them.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::SuClamp => clamp(e, inst),
        Op::SuBfm => offset_in_block(e, inst),
        Op::SuEau => upper_address(e, inst),
        Op::IMadSd => multiply(e, inst),
        _ => e.fault(GuestFault::Illegal),
    }
}

/// `mad b32 sd`: the parts of the sources are chosen by the descriptor; all descriptors seen want these.
fn multiply(e: &mut Emit<'_>, inst: &Inst) {
    let (a, b, c) = (e.src(inst, 0), e.src(inst, 1), e.src(inst, 2));
    let (b, c) = (e.and_const(b, 0xffff), e.and_const(c, 0xffff));
    let product = e.b.imul(a, b);
    let sum = e.b.iadd(product, c);
    e.finish(inst, sum);
}

/// Bits of a word from `at` on.
fn field(e: &mut Emit<'_>, word: Value, at: u32, bits: u32) -> Value {
    let above = e.ushr_const(word, at);
    e.and_const(above, (1 << bits) - 1)
}

fn clamp(e: &mut Emit<'_>, inst: &Inst) {
    let (coordinate, limit, offset) = (e.src(inst, 0), e.src(inst, 1), e.src(inst, 2));
    let coordinate = e.b.iadd(coordinate, offset);
    let last = e.and_const(limit, 0x3f_ffff);
    let zero = e.b.i32(0);
    let outside = e.b.icmp(IntCC::Ugt, coordinate, last);
    let clamped = if inst.mods.ty.is_some_and(Type::is_signed) {
        let positive = e.b.smax(coordinate, zero);
        e.b.smin(positive, last)
    } else {
        e.b.umin(coordinate, last)
    };
    e.set_pred(inst.pdst, outside);
    // Linear: the coordinate itself.
    if inst.mods.has(SurfaceLayout::Linear) {
        return e.write(inst, clamped);
    }
    let shift = field(e, limit, 22, 4);
    let block = e.b.ushr(clamped, shift);
    let first = e.b.ishl(block, shift);
    let offset = e.b.isub(clamped, first);
    let block = e.and_const(block, 0xffff);
    let offset = e.shl_const(offset, 16);
    let shift = e.shl_const(shift, 24);
    let gobs = e.ushr_const(limit, 29);
    let gobs = e.shl_const(gobs, 28);
    let one = e.b.i32(1 << 31);
    let flag = e.b.select(outside, one, zero);
    let mut result = block;
    for part in [offset, shift, gobs, flag] {
        result = e.b.ior(result, part);
    }
    e.write(inst, result);
}

fn offset_in_block(e: &mut Emit<'_>, inst: &Inst) {
    let [x, y, z] = [0, 1, 2].map(|n| e.src(inst, n));
    let deep = inst.mods.has(SurfaceShape::D3);
    let any = e.b.ior(x, y);
    let any = if deep { e.b.ior(any, z) } else { any };
    let zero = e.b.i32(0);
    let outside = e.b.icmp(IntCC::Slt, any, zero);
    e.set_pred(inst.pdst, outside);
    // Along x a gob has 64 bytes, 2^shift elements.
    let (offset, shift) = (field(e, x, 16, 8), field(e, x, 24, 4));
    let six = e.b.i32(6);
    let element = e.b.isub(six, shift);
    let column = e.b.ishl(offset, element);
    // Eight rows, then the next gob.
    let (row, rows) = (field(e, y, 16, 8), field(e, y, 28, 3));
    let row = e.shl_const(row, 6);
    let mut byte = e.b.ior(column, row);
    let mut gobs = rows;
    if deep {
        let (slice, slices) = (field(e, z, 16, 8), field(e, z, 28, 3));
        let slice = e.shl_const(slice, 9);
        let slice = e.b.ishl(slice, rows);
        byte = e.b.ior(byte, slice);
        gobs = e.b.iadd(rows, slices);
    }
    let gobs = e.shl_const(gobs, 24);
    let result = e.b.ior(byte, gobs);
    e.write(inst, result);
}

fn upper_address(e: &mut Emit<'_>, inst: &Inst) {
    let (block, offset, base) = (e.src(inst, 0), e.src(inst, 1), e.src(inst, 2));
    let gobs = field(e, offset, 24, 4);
    let units = e.b.ishl(block, gobs);
    let units = e.shl_const(units, GOB_UNITS);
    let within = field(e, offset, 8, 16);
    let address = e.b.iadd(base, units);
    let address = e.b.iadd(address, within);
    e.write(inst, address);
}
