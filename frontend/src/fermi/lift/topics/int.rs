//! Lifts integer arithmetic, logic, shifts, bit fields and comparisons (docs/hardware/fermi.md section 2, seed 004).

use warpjit_ir::{GuestFault, IntCC, Opcode, Scalar, Value};

use super::special::write_test;
use crate::fermi::lift::emit::Emit;
use crate::fermi::numeric::pure;
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
            let first = compare(e, inst.mods.compare, signed(inst, 2), c, none);
            let result = e.b.select(first, a, b);
            e.write(inst, result);
        }
        Op::Sad => sad(e, inst),
        Op::Shl => shl(e, inst),
        Op::Shr => shr(e, inst),
        Op::Logic => logic(e, inst),
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

/// Whether source `n` is signed; where it names no type, whether the operation is.
fn signed(inst: &Inst, n: usize) -> bool {
    inst.src(n).and_then(|src| src.ty).or(inst.mods.ty).is_some_and(Type::is_signed)
}

/// A source of `mad b32`: a part of the register, extended.
fn typed(e: &mut Emit<'_>, inst: &Inst, n: usize) -> Value {
    let value = e.src(inst, n);
    let Some(src) = inst.src(n) else { return value };
    let sign = signed(inst, n);
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
    let (first, second) = match (signed(inst, 0), signed(inst, 1)) {
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
    let sign = signed(inst, 0);
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
    let sign = signed(inst, 0);
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
    let sign = signed(inst, 0);
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
    let mut result = if signed(inst, 0) {
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
    let result = if signed(inst, 0) {
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
    if signed(inst, 0) {
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

/// A 32-bit value as a 64-bit one.
pub(in crate::fermi::lift) fn widen(e: &mut Emit<'_>, value: Value, signed: bool) -> Value {
    e.b.convert(if signed { Opcode::Sext } else { Opcode::Zext }, value, Scalar::I64)
}
