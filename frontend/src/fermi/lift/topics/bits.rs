//! Lifts bit fields, searches and counts of bits, and permutations of bytes (docs/hardware/fermi.md section 2, seed 004).

use warpjit_ir::{GuestFault, IntCC, Value};

use crate::fermi::lift::emit::Emit;
use crate::fermi::numeric::pure;
use crate::fermi::{Inst, Op};

/// Emits one of these instructions.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::Ext => extract(e, inst),
        Op::Ins => insert(e, inst),
        Op::BFind => find(e, inst),
        Op::Popc => {
            let (a, b) = (e.src(inst, 0), e.src(inst, 1));
            let both = e.b.iand(a, b);
            let count = e.b.popcnt(both);
            e.finish(inst, count);
        }
        Op::Prmt => permute(e, inst),
        _ => e.fault(GuestFault::Illegal),
    }
}

/// Position and length of a bit field.
fn field(e: &mut Emit<'_>, inst: &Inst) -> (Value, Value) {
    let both = e.src(inst, 1);
    let pos = e.and_const(both, 0xff);
    let len = e.ushr_const(both, 8);
    (pos, e.and_const(len, 0xff))
}

/// The lowest `len` bits.
fn low_ones(e: &mut Emit<'_>, len: Value) -> Value {
    let (one, all, limit) = (e.b.i32(1), e.b.i32(u32::MAX), e.b.i32(32));
    let bit = e.b.ishl(one, len);
    let ones = e.b.isub(bit, one);
    let short = e.b.icmp(IntCC::Ult, len, limit);
    e.b.select(short, ones, all)
}

/// Bit field extract. Beyond bit 31 a signed source goes on with its sign, an unsigned one with zeros.
fn extract(e: &mut Emit<'_>, inst: &Inst) {
    let a = e.src(inst, 0);
    let a = if inst.mods.reverse { e.b.bitrev(a) } else { a };
    let (pos, len) = field(e, inst);
    let (none, limit, most) = (e.b.i32(0), e.b.i32(32), e.b.i32(31));
    let result = if inst.is_signed(0) {
        // Up until the field's top bit is bit 31, then down again.
        let end = e.b.iadd(pos, len);
        let end = e.b.umin(end, limit);
        let left = e.b.isub(limit, end);
        let up = e.b.ishl(a, left);
        let right = e.b.iadd(left, pos);
        let right = e.b.umin(right, most);
        let value = e.b.sshr(up, right);
        let empty = e.b.icmp(IntCC::Eq, len, none);
        e.b.select(empty, none, value)
    } else {
        let shifted = e.b.ushr(a, pos);
        let inside = e.b.icmp(IntCC::Ult, pos, limit);
        let shifted = e.b.select(inside, shifted, none);
        let ones = low_ones(e, len);
        e.b.iand(shifted, ones)
    };
    e.finish(inst, result);
}

/// Bit field insert; what would go beyond bit 31 is lost.
fn insert(e: &mut Emit<'_>, inst: &Inst) {
    let (a, base) = (e.src(inst, 0), e.src(inst, 2));
    let (pos, len) = field(e, inst);
    let (none, limit) = (e.b.i32(0), e.b.i32(32));
    let ones = low_ones(e, len);
    let mask = e.b.ishl(ones, pos);
    let inside = e.b.icmp(IntCC::Ult, pos, limit);
    let mask = e.b.select(inside, mask, none);
    let moved = e.b.ishl(a, pos);
    let put = e.b.iand(moved, mask);
    let not = e.b.inot(mask);
    let kept = e.b.iand(base, not);
    let result = e.b.ior(kept, put);
    e.finish(inst, result);
}

/// The highest bit that is set (signed: that differs from the sign), or -1.
fn find(e: &mut Emit<'_>, inst: &Inst) {
    let mut value = e.src(inst, 0);
    if inst.is_signed(0) {
        let count = e.b.i32(31);
        let fill = e.b.sshr(value, count);
        value = e.b.ixor(value, fill);
    }
    let zeros = e.b.clz(value);
    let result = if inst.mods.shift_amount {
        let (limit, none) = (e.b.i32(32), e.b.i32(u32::MAX));
        let nothing = e.b.icmp(IntCC::Eq, zeros, limit);
        e.b.select(nothing, none, zeros)
    } else {
        let most = e.b.i32(31);
        e.b.isub(most, zeros)
    };
    e.finish(inst, result);
}

/// Byte permute: with a known selector shifts, else a pure function.
fn permute(e: &mut Emit<'_>, inst: &Inst) {
    let (a, c) = (e.src(inst, 0), e.src(inst, 2));
    let mode = inst.mods.prmt;
    let Some(selector) = e.immediate(inst, 1) else {
        let selector = e.src(inst, 1);
        let mode = e.b.i32(mode as u32);
        let result = e.b.call_pure(&pure::PRMT, &[mode, a, selector, c]);
        return e.write(inst, result);
    };
    let nibbles = crate::fermi::numeric::selectors(mode as u32, selector);
    let result = permute_by(e, a, c, nibbles);
    e.write(inst, result);
}

/// The bytes of `c:a` that four selectors name; bit 3 of a selector is for the byte's sign.
fn permute_by(e: &mut Emit<'_>, a: Value, c: Value, nibbles: [u8; 4]) -> Value {
    if let Some(from) = consecutive(nibbles) {
        return match from {
            0 => a,
            4 => c,
            from => {
                let low = e.ushr_const(a, 8 * u32::from(from));
                let high = e.shl_const(c, 32 - 8 * u32::from(from));
                e.b.ior(low, high)
            }
        };
    }
    let mut result = None;
    for (to, nibble) in nibbles.into_iter().enumerate() {
        let from = if nibble & 4 == 0 { a } else { c };
        let at = 8 * u32::from(nibble & 3);
        let byte = if nibble & 8 != 0 {
            let up = e.shl_const(from, 24 - at);
            let count = e.b.i32(31);
            let sign = e.b.sshr(up, count);
            e.and_const(sign, 0xff << (8 * to))
        } else {
            let there = e.and_const(from, 0xff << at);
            let to = 8 * to as u32;
            match at.cmp(&to) {
                std::cmp::Ordering::Equal => there,
                std::cmp::Ordering::Less => e.shl_const(there, to - at),
                std::cmp::Ordering::Greater => e.ushr_const(there, at - to),
            }
        };
        result = Some(match result {
            None => byte,
            Some(rest) => e.b.ior(rest, byte),
        });
    }
    result.unwrap_or(a)
}

/// The first of four selectors that follow each other.
fn consecutive(nibbles: [u8; 4]) -> Option<u8> {
    let from = nibbles[0];
    (from <= 4 && nibbles.iter().zip(from..).all(|(&nibble, at)| nibble == at)).then_some(from)
}
