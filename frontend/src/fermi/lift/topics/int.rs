//! Lifts integer arithmetic, logic, shifts and comparisons; `bits.rs` has bit fields and bytes (docs/hardware/fermi.md section 2, seed 004).

use warpjit_ir::{GuestFault, IntCC, Opcode, Scalar, Value};

use super::bits;
use super::special::write_test;
use crate::fermi::lift::emit::Emit;
use crate::fermi::{AddOp, Inst, LogicOp, MinMaxPart, Op, Select, TRUE_PRED, Type};
use crate::simt::Flags;

/// Emits one integer instruction.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::IAdd => {
            let (a, b) = (e.src(inst, 0), e.src(inst, 1));
            add(e, inst, a, b);
        }
        Op::IScAdd => {
            let (a, b) = (e.src(inst, 0), e.src(inst, 1));
            let a = if inst.mods.shift == 0 { a } else { e.shl_const(a, inst.mods.shift.into()) };
            add(e, inst, a, b);
        }
        Op::IMul => {
            let product = product(e, inst);
            e.finish(inst, product);
        }
        Op::IMad => {
            let product = product(e, inst);
            let c = e.src(inst, 2);
            add(e, inst, product, c);
        }
        Op::IMadTyped => {
            let [a, b, c] = [0, 1, 2].map(|n| typed(e, inst, n));
            let product = e.b.imul(a, b);
            let sum = e.b.iadd(product, c);
            e.finish(inst, sum);
        }
        Op::IMinMax => min_max(e, inst),
        Op::ISet | Op::ISetP => {
            let holds = compare_sources(e, inst);
            write_test(e, inst, holds);
        }
        Op::ISlct => {
            let (a, b, c) = (e.src(inst, 0), e.src(inst, 1), e.src(inst, 2));
            let none = e.b.i32(0);
            let first = compare(e, inst.mods.compare, inst.is_signed(2), c, none);
            let result = e.b.select(first, a, b);
            e.write(inst, result);
        }
        Op::Sad => sad(e, inst),
        Op::Shl => shl(e, inst),
        Op::Shr => shr(e, inst),
        Op::Logic => logic(e, inst),
        Op::Ext | Op::Ins | Op::BFind | Op::Popc | Op::Prmt => bits::inst(e, inst),
        _ => e.fault(GuestFault::Illegal),
    }
}

/// A source of `mad b32`: a part of the register, extended.
fn typed(e: &mut Emit<'_>, inst: &Inst, n: usize) -> Value {
    let value = e.src(inst, n);
    let Some(src) = inst.src(n) else { return value };
    let sign = inst.is_signed(n);
    match (src.ty, src.select) {
        (_, Select::Half(1)) if sign => {
            let count = e.b.i32(16);
            e.b.sshr(value, count)
        }
        (_, Select::Half(1)) => e.ushr_const(value, 16),
        (_, Select::Half(_)) if sign => e.sext(value, 16),
        (_, Select::Half(_)) => e.and_const(value, 0xffff),
        (Some(Type::S24), _) => e.sext(value, 24),
        (Some(Type::U24), _) => e.and_const(value, 0xff_ffff),
        _ => value,
    }
}

/// The low or high word of the product of sources 0 and 1, each with its own sign.
fn product(e: &mut Emit<'_>, inst: &Inst) -> Value {
    let (a, b) = (e.src(inst, 0), e.src(inst, 1));
    if !inst.mods.high {
        return e.b.imul(a, b);
    }
    let (first, second) = match (inst.is_signed(0), inst.is_signed(1)) {
        (true, true) => return e.b.smulhi(a, b),
        (false, false) => return e.b.umulhi(a, b),
        (true, false) => (a, b),
        (false, true) => (b, a),
    };
    // The signed one counts 2^32 less where it is negative.
    let high = e.b.umulhi(first, second);
    let count = e.b.i32(31);
    let negative = e.b.sshr(first, count);
    let less = e.b.iand(negative, second);
    e.b.isub(high, less)
}

/// The add family: `sub` is `a + ~b + 1`, `subr` `~a + b + 1`, `addpo` `a + b + 1`; `.X` adds the carry in place of
/// the 1. Carry and overflow are those of that sum. A saturated result takes the end on the side of the exact sum.
fn add(e: &mut Emit<'_>, inst: &Inst, a: Value, b: Value) {
    let op = inst.mods.add;
    let wanted = inst.cc_out || inst.mods.sat;
    if !wanted && !inst.mods.carry_in {
        let result = match op {
            AddOp::Add => e.b.iadd(a, b),
            AddOp::Sub => e.b.isub(a, b),
            AddOp::Subr => e.b.isub(b, a),
            AddOp::AddPo => {
                let sum = e.b.iadd(a, b);
                let one = e.b.i32(1);
                e.b.iadd(sum, one)
            }
        };
        return e.write(inst, result);
    }
    let sum = sum(e, inst, op, a, b);
    let mut result = sum.result;
    if inst.mods.sat {
        // On overflow both operands have the sign of the exact sum.
        let shift = e.b.i32(31);
        let fill = e.b.sshr(sum.first, shift);
        let most = e.b.i32(0x7fff_ffff);
        let end = e.b.ixor(fill, most);
        result = e.b.select(sum.overflow, end, result);
    }
    e.write(inst, result);
    if inst.cc_out {
        let (zero, sign) = e.zero_sign(result, false);
        e.set_flags(Flags { zero, sign, carry: sum.carry, overflow: sum.overflow });
    }
}

/// A sum with its carry and overflow.
struct Sum {
    first: Value,
    result: Value,
    carry: Value,
    overflow: Value,
}

fn sum(e: &mut Emit<'_>, inst: &Inst, op: AddOp, a: Value, b: Value) -> Sum {
    let first = if op == AddOp::Subr { e.b.inot(a) } else { a };
    let second = if op == AddOp::Sub { e.b.inot(b) } else { b };
    let extra = match (inst.mods.carry_in, op) {
        (true, _) => {
            let carry = e.flags().carry;
            Some(e.bit(carry))
        }
        (false, AddOp::Add) => None,
        (false, _) => Some(e.b.i32(1)),
    };
    let partial = e.b.iadd(first, second);
    let mut carry = e.b.icmp(IntCC::Ult, partial, first);
    let mut result = partial;
    if let Some(extra) = extra {
        result = e.b.iadd(partial, extra);
        let again = e.b.icmp(IntCC::Ult, result, partial);
        carry = e.b.ior(carry, again);
    }
    let (da, db) = (e.b.ixor(first, result), e.b.ixor(second, result));
    let overflow = e.b.iand(da, db);
    let overflow = e.sign_bit(overflow, false);
    Sum { first, result, carry, overflow }
}

/// An integer comparison with condition bits less, equal, greater.
pub(in crate::fermi::lift) fn compare(e: &mut Emit<'_>, code: u8, signed: bool, a: Value, b: Value) -> Value {
    let cc = match (code & 7, signed) {
        (1, true) => IntCC::Slt,
        (1, false) => IntCC::Ult,
        (2, _) => IntCC::Eq,
        (3, true) => IntCC::Sle,
        (3, false) => IntCC::Ule,
        (4, true) => IntCC::Sgt,
        (4, false) => IntCC::Ugt,
        (5, _) => IntCC::Ne,
        (6, true) => IntCC::Sge,
        (6, false) => IntCC::Uge,
        (never_or_always, _) => return e.b.bool(never_or_always != 0),
    };
    e.b.icmp(cc, a, b)
}

/// `set` of integers. `.X` continues a comparison whose lower words `sub` has left in `$c`: it looks at
/// `a + ~b + carry`, and both are equal only if the lower words are.
fn compare_sources(e: &mut Emit<'_>, inst: &Inst) -> Value {
    let (a, b) = (e.src(inst, 0), e.src(inst, 1));
    let sign = inst.is_signed(0);
    let code = inst.mods.compare & 7;
    if !inst.mods.carry_in || matches!(code, 0 | 7) {
        return compare(e, code, sign, a, b);
    }
    let lower = e.flags();
    let sum = sum(e, inst, AddOp::Sub, a, b);
    let (zero, minus) = e.zero_sign(sum.result, false);
    let equal = e.b.iand(zero, lower.zero);
    let less = if sign { e.b.ixor(minus, sum.overflow) } else { e.b.inot(sum.carry) };
    let (holds, inverted) = match code {
        1 => (less, false),
        2 => (equal, false),
        3 => (e.b.ior(less, equal), false),
        4 => (e.b.ior(less, equal), true),
        5 => (equal, true),
        _ => (less, true),
    };
    if inverted { e.b.inot(holds) } else { holds }
}

/// Picks by the predicate: true is the minimum.
pub(in crate::fermi::lift) fn pick(
    e: &mut Emit<'_>,
    inst: &Inst,
    mut result: impl FnMut(&mut Emit<'_>, bool) -> Value,
) -> Value {
    let pred = inst.mods.pred;
    if pred.num == TRUE_PRED {
        return result(e, !pred.not);
    }
    let (min, max) = (result(e, true), result(e, false));
    let holds = e.pred(pred);
    e.b.select(holds, min, max)
}

/// Minimum and maximum. Of long numbers `high` compares the highest words, `med` and `low` go on with the others:
/// `$c` tells them whether the words above are equal (Z) and whether the first operand's are not less (C). That
/// is how `.CC` of `high` and `med` is defined here; the documents only name the forms.
fn min_max(e: &mut Emit<'_>, inst: &Inst) {
    let (a, b) = (e.src(inst, 0), e.src(inst, 1));
    let sign = inst.is_signed(0);
    let part = inst.mods.part;
    if part == MinMaxPart::Whole {
        let result = pick(e, inst, |e, min| match (min, sign) {
            (true, true) => e.b.smin(a, b),
            (true, false) => e.b.umin(a, b),
            (false, true) => e.b.smax(a, b),
            (false, false) => e.b.umax(a, b),
        });
        return e.finish(inst, result);
    }
    let mut equal = e.b.icmp(IntCC::Eq, a, b);
    let mut not_less = compare(e, 6, sign && part == MinMaxPart::High, a, b);
    if part != MinMaxPart::High {
        let above = e.flags();
        equal = e.b.iand(above.zero, equal);
        not_less = e.blend(above.zero, not_less, above.carry);
    }
    let result =
        pick(e, inst, |e, min| if min { e.b.select(not_less, b, a) } else { e.b.select(not_less, a, b) });
    e.write(inst, result);
    if inst.cc_out {
        let clear = e.b.bool(false);
        let sign = e.b.inot(not_less);
        e.set_flags(Flags { zero: equal, sign, carry: not_less, overflow: clear });
    }
}

/// `|a - b| + c`
fn sad(e: &mut Emit<'_>, inst: &Inst) {
    let (a, b, c) = (e.src(inst, 0), e.src(inst, 1), e.src(inst, 2));
    let sign = inst.is_signed(0);
    let (high, low) = if sign { (e.b.smax(a, b), e.b.smin(a, b)) } else { (e.b.umax(a, b), e.b.umin(a, b)) };
    let distance = e.b.isub(high, low);
    let result = e.b.iadd(distance, c);
    e.write(inst, result);
    if inst.cc_out {
        let carry = e.b.icmp(IntCC::Ult, result, c);
        let (da, db) = (e.b.ixor(distance, result), e.b.ixor(c, result));
        let overflow = e.b.iand(da, db);
        let overflow = e.sign_bit(overflow, false);
        let (zero, sign) = e.zero_sign(result, false);
        e.set_flags(Flags { zero, sign, carry, overflow });
    }
}

/// Whether the shift count of source 1 is surely taken as it is.
fn in_range(e: &Emit<'_>, inst: &Inst) -> bool {
    inst.mods.wrap || e.immediate(inst, 1).is_some_and(|count| count < 32)
}

/// `.CC` of shifts: C is the last bit shifted out. `.X` puts the carry where the first bit has gone, so that shifts
/// by one of the words of a long number continue each other (chosen: the documents only name the flag).
fn shift_flags(e: &mut Emit<'_>, inst: &Inst, a: Value, count: Value, result: Value, left: bool) {
    e.write(inst, result);
    if !inst.cc_out {
        return;
    }
    let one = e.b.i32(1);
    let less = e.b.isub(count, one);
    let limit = e.b.i32(if inst.mods.wrap { 31 } else { 32 });
    let effective = if inst.mods.wrap {
        let count = e.and_const(count, 31);
        e.b.isub(count, one)
    } else {
        less
    };
    let inside = e.b.icmp(IntCC::Ult, effective, limit);
    let out = if left {
        let back = e.b.ineg(count);
        let out = e.b.ushr(a, back);
        e.and_const(out, 1)
    } else {
        let out = e.b.ushr(a, less);
        e.and_const(out, 1)
    };
    let out = e.test(out, 1);
    let carry = e.b.iand(inside, out);
    let clear = e.b.bool(false);
    let (zero, sign) = e.zero_sign(result, false);
    e.set_flags(Flags { zero, sign, carry, overflow: clear });
}

fn shl(e: &mut Emit<'_>, inst: &Inst) {
    let (a, count) = (e.src(inst, 0), e.src(inst, 1));
    let mut result = e.b.ishl(a, count);
    if !in_range(e, inst) {
        let (limit, none) = (e.b.i32(32), e.b.i32(0));
        let fits = e.b.icmp(IntCC::Ult, count, limit);
        result = e.b.select(fits, result, none);
    }
    if inst.mods.carry_in {
        let carry = e.flags().carry;
        let low = e.bit(carry);
        result = e.b.ior(result, low);
    }
    shift_flags(e, inst, a, count, result, true);
}

fn shr(e: &mut Emit<'_>, inst: &Inst) {
    let (a, count) = (e.src(inst, 0), e.src(inst, 1));
    let a = if inst.mods.reverse { e.b.bitrev(a) } else { a };
    let free = in_range(e, inst);
    let mut result = if inst.is_signed(0) {
        let most = e.b.i32(31);
        let bounded = if free { count } else { e.b.umin(count, most) };
        e.b.sshr(a, bounded)
    } else {
        let shifted = e.b.ushr(a, count);
        if free {
            shifted
        } else {
            let (limit, none) = (e.b.i32(32), e.b.i32(0));
            let fits = e.b.icmp(IntCC::Ult, count, limit);
            e.b.select(fits, shifted, none)
        }
    };
    if inst.mods.carry_in {
        let carry = e.flags().carry;
        let high = e.bit(carry);
        let high = e.shl_const(high, 31);
        let kept = e.and_const(result, 0x7fff_ffff);
        result = e.b.ior(kept, high);
    }
    shift_flags(e, inst, a, count, result, false);
}

/// Bitwise operations. `.X` makes Z hold only if it did before, so that a long number can be tested for zero (chosen).
fn logic(e: &mut Emit<'_>, inst: &Inst) {
    let (a, b) = (e.src(inst, 0), e.src(inst, 1));
    let result = match inst.mods.logic {
        LogicOp::And => e.b.iand(a, b),
        LogicOp::Or => e.b.ior(a, b),
        LogicOp::Xor => e.b.ixor(a, b),
        LogicOp::Mov2 => b,
    };
    if inst.cc_out && inst.mods.carry_in {
        let before = e.flags();
        e.write(inst, result);
        let (zero, sign) = e.zero_sign(result, false);
        let zero = e.b.iand(zero, before.zero);
        let clear = e.b.bool(false);
        return e.set_flags(Flags { zero, sign, carry: clear, overflow: clear });
    }
    e.finish(inst, result);
}

/// A 32-bit value as a 64-bit one.
pub(in crate::fermi::lift) fn widen(e: &mut Emit<'_>, value: Value, signed: bool) -> Value {
    e.b.convert(if signed { Opcode::Sext } else { Opcode::Zext }, value, Scalar::I64)
}
