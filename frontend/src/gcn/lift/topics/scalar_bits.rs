//! Lifts scalar operations on single bits: counting, finding, quad masks, reversal.

use warpjit_ir::{IntCC, Scalar, Value};

use crate::gcn::lift::emit::Emit;
use crate::gcn::{Inst, Op};

/// Counts and searches of 32 and 64 bits.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    use Op::*;
    match inst.op {
        S_NOT_B32 | S_WQM_B32 | S_QUADMASK_B32 | S_ABS_I32 | S_BREV_B32 => {
            let a = e.src32(inst, 0);
            let value = change(e, inst.op, a);
            e.set_dst32(inst, value);
            if inst.op != S_BREV_B32 {
                e.set_scc_nonzero(value);
            }
        }
        S_WQM_B64 | S_QUADMASK_B64 | S_BREV_B64 => {
            let a = e.src64(inst, 0);
            let value = change(e, inst.op, a);
            e.set_dst64(inst, value);
            if inst.op != S_BREV_B64 {
                e.set_scc_nonzero(value);
            }
        }
        S_BCNT0_I32_B32 | S_BCNT1_I32_B32 | S_BCNT0_I32_B64 | S_BCNT1_I32_B64 => {
            let a = source(e, inst, matches!(inst.op, S_BCNT0_I32_B64 | S_BCNT1_I32_B64));
            let zeros = matches!(inst.op, S_BCNT0_I32_B32 | S_BCNT0_I32_B64);
            let a = if zeros { e.b.inot(a) } else { a };
            let count = e.b.popcnt(a);
            let count = narrow(e, count);
            e.set_dst32(inst, count);
            e.set_scc_nonzero(count);
        }
        S_FF0_I32_B32 | S_FF1_I32_B32 | S_FLBIT_I32_B32 | S_FLBIT_I32 => find(e, inst, false),
        S_FF0_I32_B64 | S_FF1_I32_B64 | S_FLBIT_I32_B64 | S_FLBIT_I32_I64 => find(e, inst, true),
        S_SEXT_I32_I8 | S_SEXT_I32_I16 => {
            let a = e.src32(inst, 0);
            let value = e.extend(a, if inst.op == S_SEXT_I32_I8 { 8 } else { 16 }, true);
            e.set_dst32(inst, value);
        }
        S_BITSET0_B32 | S_BITSET1_B32 => {
            let Some(dst) = inst.dst else { return true };
            let (old, position) = (e.read32(dst), e.src32(inst, 0));
            let value = set_bit(e, old, position, inst.op == S_BITSET1_B32);
            e.set_dst32(inst, value);
        }
        S_BITSET0_B64 | S_BITSET1_B64 => {
            let Some(dst) = inst.dst else { return true };
            let (old, position) = (e.read64(dst), e.src32(inst, 0));
            let position = e.zext(position);
            let value = set_bit(e, old, position, inst.op == S_BITSET1_B64);
            e.set_dst64(inst, value);
        }
        S_BITREPLICATE_B64_B32 => {
            let a = e.src32(inst, 0);
            let mut value = e.zext(a);
            for (count, mask) in SPREAD {
                value = fold_shift(e, value, count, mask, true);
            }
            let one = e.b.i64(1);
            let twin = e.b.ishl(value, one);
            let value = e.b.ior(value, twin);
            e.set_dst64(inst, value);
        }
        _ => return false,
    }
    true
}

/// Steps that move bit i to bit 2 i.
const SPREAD: [(u64, u64); 5] = [
    (16, 0x0000_ffff_0000_ffff),
    (8, 0x00ff_00ff_00ff_00ff),
    (4, 0x0f0f_0f0f_0f0f_0f0f),
    (2, 0x3333_3333_3333_3333),
    (1, 0x5555_5555_5555_5555),
];

/// Steps that move bit 4 i to bit i.
const GATHER: [(u64, u64); 4] = [
    (3, 0x0303_0303_0303_0303),
    (6, 0x000f_000f_000f_000f),
    (12, 0x0000_00ff_0000_00ff),
    (24, 0x0000_0000_0000_ffff),
];

/// `(value | value shifted by count) & mask`.
fn fold_shift(e: &mut Emit<'_>, value: Value, count: u64, mask: u64, left: bool) -> Value {
    let scalar = e.b.func.ty(value).scalar;
    let (count, mask) = (e.b.constant(scalar, count), e.b.constant(scalar, mask));
    let moved = if left { e.b.ishl(value, count) } else { e.b.ushr(value, count) };
    let both = e.b.ior(value, moved);
    e.b.iand(both, mask)
}

fn source(e: &mut Emit<'_>, inst: &Inst, wide: bool) -> Value {
    if wide { e.src64(inst, 0) } else { e.src32(inst, 0) }
}

fn narrow(e: &mut Emit<'_>, value: Value) -> Value {
    if e.b.func.ty(value).scalar == Scalar::I64 { e.low(value) } else { value }
}

fn change(e: &mut Emit<'_>, op: Op, a: Value) -> Value {
    use Op::*;
    let scalar = e.b.func.ty(a).scalar;
    match op {
        S_NOT_B32 => e.b.inot(a),
        S_BREV_B32 | S_BREV_B64 => e.b.bitrev(a),
        S_ABS_I32 => {
            let zero = e.b.constant(scalar, 0);
            let below = e.b.icmp(IntCC::Slt, a, zero);
            let negated = e.b.ineg(a);
            e.b.select(below, negated, a)
        }
        _ => {
            // Bit 4 i: whether any of quad i is set.
            let pairs = fold_shift(e, a, 1, u64::MAX, false);
            let quads = fold_shift(e, pairs, 2, 0x1111_1111_1111_1111, false);
            if matches!(op, S_WQM_B32 | S_WQM_B64) {
                let all = e.b.constant(scalar, 15);
                return e.b.imul(quads, all);
            }
            let steps = if scalar == Scalar::I64 { &GATHER[..] } else { &GATHER[..3] };
            steps.iter().fold(quads, |value, &(count, mask)| fold_shift(e, value, count, mask, false))
        }
    }
}

/// The first one, zero or bit unlike the sign; -1 if there is none.
fn find(e: &mut Emit<'_>, inst: &Inst, wide: bool) {
    use Op::*;
    let mut a = source(e, inst, wide);
    let scalar = e.b.func.ty(a).scalar;
    match inst.op {
        S_FF0_I32_B32 | S_FF0_I32_B64 => a = e.b.inot(a),
        S_FLBIT_I32 | S_FLBIT_I32_I64 => {
            let last = e.b.constant(scalar, u64::from(scalar.bits()) - 1);
            let sign = e.b.sshr(a, last);
            a = e.b.ixor(a, sign);
        }
        _ => {}
    }
    let from_low = matches!(inst.op, S_FF0_I32_B32 | S_FF1_I32_B32 | S_FF0_I32_B64 | S_FF1_I32_B64);
    let position = if from_low { e.b.ctz(a) } else { e.b.clz(a) };
    let position = narrow(e, position);
    let zero = e.b.constant(scalar, 0);
    let none = e.b.icmp(IntCC::Eq, a, zero);
    let minus_one = e.b.i32(u32::MAX);
    let value = e.b.select(none, minus_one, position);
    e.set_dst32(inst, value);
}

fn set_bit(e: &mut Emit<'_>, old: Value, position: Value, set: bool) -> Value {
    let one = e.b.constant(e.b.func.ty(old).scalar, 1);
    let bit = e.b.ishl(one, position);
    if set {
        return e.b.ior(old, bit);
    }
    let others = e.b.inot(bit);
    e.b.iand(old, others)
}
