//! Lifts integer arithmetic, logic, shifts and comparisons.

use warpjit_ir::{GuestFault, IntCC, Value};

use crate::tesla::lift::emit::{Emit, Flags};
use crate::tesla::{AddOp, Inst, LogicOp, Op, Operand, Type};

/// Emits one integer instruction.
pub(in crate::tesla::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::IAdd => add(e, inst),
        Op::ISet => set(e, inst),
        Op::IMax | Op::IMin => min_max(e, inst),
        Op::Shl => shl(e, inst),
        Op::Shr => shr(e, inst),
        Op::IMul16 => {
            let product = mul16(e, inst, signed(inst, 0), signed(inst, 1));
            e.write(inst, product);
            e.set_integer_flags(inst, product, false);
        }
        Op::IMul24 => {
            let product = mul24(e, inst);
            e.write(inst, product);
            e.set_integer_flags(inst, product, false);
        }
        Op::IMad16 => {
            let sign = is_signed(inst);
            let product = mul16(e, inst, sign, sign);
            mad(e, inst, product);
        }
        Op::IMad24 => {
            let product = mul24(e, inst);
            mad(e, inst, product);
        }
        Op::Sad => sad(e, inst),
        Op::Logic => logic(e, inst),
        _ => e.fault(GuestFault::Illegal),
    }
}

/// Whether the operation works on 16 bits.
fn is_half(inst: &Inst) -> bool {
    inst.mods.ty.is_some_and(|ty| ty.bits() == 16)
}

fn is_signed(inst: &Inst) -> bool {
    inst.mods.ty.is_some_and(Type::is_signed)
}

/// Whether source `n` is named signed.
fn signed(inst: &Inst, n: usize) -> bool {
    inst.src(n).and_then(|src| src.ty).is_some_and(Type::is_signed)
}

/// Source `n` of an operation of the instruction's type.
fn source(e: &mut Emit<'_>, inst: &Inst, n: usize, signed: bool) -> Value {
    if is_half(inst) { e.src16(inst, n, signed) } else { e.src(inst, n) }
}

fn add(e: &mut Emit<'_>, inst: &Inst) {
    let a = source(e, inst, 0, false);
    let b = source(e, inst, 1, false);
    if is_half(inst) { add16(e, inst, a, b) } else { add32(e, inst, a, b) }
}

fn mad(e: &mut Emit<'_>, inst: &Inst, product: Value) {
    let addend = e.src(inst, 2);
    add32(e, inst, product, addend);
}

/// The carry that `addc` adds, 0 or 1.
fn carry_in(e: &mut Emit<'_>, inst: &Inst) -> Value {
    let carry = e.flag(inst.mods.carry.unwrap_or(0), 2);
    let (one, none) = (e.b.i32(1), e.b.i32(0));
    e.b.select(carry, one, none)
}

/// The add family on 32 bits. `sub` is `a + ~b + 1`, `subr` is `~a + b + 1`; carry and overflow are those of that
/// sum. On saturated overflow the sign of the (complemented) first operand says which end the result takes; on
/// overflow that of `~a` is that of `b`.
fn add32(e: &mut Emit<'_>, inst: &Inst, a: Value, b: Value) {
    let op = inst.mods.add;
    let (first, second) = if op == AddOp::Subr { (b, a) } else { (a, b) };
    let carry_in = (op == AddOp::Addc).then(|| carry_in(e, inst));
    let mut result = match op {
        AddOp::Add | AddOp::Addc => e.b.iadd(first, second),
        AddOp::Sub | AddOp::Subr => e.b.isub(first, second),
    };
    let partial = result;
    if let Some(carry) = carry_in {
        result = e.b.iadd(result, carry);
    }
    let wanted = inst.cdst.is_some();
    if !wanted && !inst.mods.sat {
        return e.write(inst, result);
    }
    // Signs: a sum overflows where the result differs from both operands, a difference where the operands differ
    // and the result differs from the first one.
    let raw = result;
    let differs = e.b.ixor(first, raw);
    let other = match op {
        AddOp::Add | AddOp::Addc => e.b.ixor(second, raw),
        AddOp::Sub | AddOp::Subr => e.b.ixor(first, second),
    };
    let overflow = e.b.iand(differs, other);
    let overflow = e.sign_bit(overflow, false);
    if inst.mods.sat {
        let shift = e.b.i32(31);
        let fill = e.b.sshr(first, shift);
        let most = e.b.i32(0x7fff_ffff);
        let end = e.b.ixor(fill, most);
        result = e.b.select(overflow, end, result);
    }
    let carry = match op {
        _ if !wanted => overflow,
        AddOp::Add => e.b.icmp(IntCC::Ult, raw, first),
        AddOp::Sub | AddOp::Subr => e.b.icmp(IntCC::Uge, first, second),
        AddOp::Addc => {
            let low = e.b.icmp(IntCC::Ult, partial, first);
            let high = e.b.icmp(IntCC::Ult, raw, partial);
            e.b.ior(low, high)
        }
    };
    e.write(inst, result);
    arithmetic_flags(e, inst, result, false, carry, overflow);
}

/// `$c` with Z and S of the result.
fn arithmetic_flags(e: &mut Emit<'_>, inst: &Inst, result: Value, half: bool, carry: Value, overflow: Value) {
    if inst.cdst.is_some() {
        let (zero, sign) = e.zero_sign(result, half);
        e.set_flags(inst, Flags { zero, sign, carry, overflow });
    }
}

/// The add family on 16 bits, operands zero-extended.
fn add16(e: &mut Emit<'_>, inst: &Inst, a: Value, b: Value) {
    let complement = e.b.i32(0xffff);
    let op = inst.mods.add;
    let a = if op == AddOp::Subr { e.b.ixor(a, complement) } else { a };
    let b = if op == AddOp::Sub { e.b.ixor(b, complement) } else { b };
    let carry_in = match op {
        AddOp::Add => None,
        AddOp::Sub | AddOp::Subr => Some(e.b.i32(1)),
        AddOp::Addc => Some(carry_in(e, inst)),
    };
    let mut sum = e.b.iadd(a, b);
    if let Some(carry) = carry_in {
        sum = e.b.iadd(sum, carry);
    }
    let mut result = e.b.iand(sum, complement);
    if inst.cdst.is_none() && !inst.mods.sat {
        return e.write(inst, result);
    }
    let (da, db) = (e.b.ixor(a, result), e.b.ixor(b, result));
    let overflow = e.b.iand(da, db);
    let overflow = e.sign_bit(overflow, true);
    if inst.mods.sat {
        let negative = e.ushr_const(a, 15);
        let most = e.b.i32(0x7fff);
        let end = e.b.iadd(most, negative);
        result = e.b.select(overflow, end, result);
    }
    let above = e.and_const(sum, 0x1_0000);
    let none = e.b.i32(0);
    let carry = e.b.icmp(IntCC::Ne, above, none);
    e.write(inst, result);
    arithmetic_flags(e, inst, result, true, carry, overflow);
}

fn mul16(e: &mut Emit<'_>, inst: &Inst, signed_a: bool, signed_b: bool) -> Value {
    let a = e.src16(inst, 0, signed_a);
    let b = e.src16(inst, 1, signed_b);
    e.b.imul(a, b)
}

/// The low 32 bits of a 24 x 24 bit product, or with `high` bits 16 to 47.
fn mul24(e: &mut Emit<'_>, inst: &Inst) -> Value {
    let sign = is_signed(inst) || signed(inst, 0);
    let [a, b] = [0, 1].map(|n| {
        let value = e.src(inst, n);
        if sign { e.sext(value, 24) } else { e.and_const(value, 0x00ff_ffff) }
    });
    let low = e.b.imul(a, b);
    if !inst.mods.high {
        return low;
    }
    let above = if sign { e.b.smulhi(a, b) } else { e.b.umulhi(a, b) };
    let above = e.shl_const(above, 16);
    let low = e.ushr_const(low, 16);
    e.b.ior(above, low)
}

/// `|a - b| + c`: the sources are 16 or 32 bits, the sum always 32.
fn sad(e: &mut Emit<'_>, inst: &Inst) {
    let sign = is_signed(inst);
    let a = source(e, inst, 0, sign);
    let b = source(e, inst, 1, sign);
    let c = e.src(inst, 2);
    let (high, low) = if sign { (e.b.smax(a, b), e.b.smin(a, b)) } else { (e.b.umax(a, b), e.b.umin(a, b)) };
    let distance = e.b.isub(high, low);
    let result = e.b.iadd(distance, c);
    e.write(inst, result);
    if inst.cdst.is_some() {
        let carry = e.b.icmp(IntCC::Ult, result, c);
        let (da, db) = (e.b.ixor(distance, result), e.b.ixor(c, result));
        let overflow = e.b.iand(da, db);
        let overflow = e.sign_bit(overflow, false);
        arithmetic_flags(e, inst, result, false, carry, overflow);
    }
}

fn set(e: &mut Emit<'_>, inst: &Inst) {
    let sign = is_signed(inst);
    let a = source(e, inst, 0, sign);
    let b = source(e, inst, 1, sign);
    let cc = match (inst.mods.compare & 7, sign) {
        (0, _) => None,
        (1, true) => Some(IntCC::Slt),
        (1, false) => Some(IntCC::Ult),
        (2, _) => Some(IntCC::Eq),
        (3, true) => Some(IntCC::Sle),
        (3, false) => Some(IntCC::Ule),
        (4, true) => Some(IntCC::Sgt),
        (4, false) => Some(IntCC::Ugt),
        (5, _) => Some(IntCC::Ne),
        (6, true) => Some(IntCC::Sge),
        (6, false) => Some(IntCC::Uge),
        _ => None,
    };
    let holds = match cc {
        Some(cc) => e.b.icmp(cc, a, b),
        None => e.b.bool(inst.mods.compare & 7 == 7),
    };
    write_test(e, inst, holds);
}

/// Writes all ones or zero, and `$c`, for a test.
pub(in crate::tesla::lift) fn write_test(e: &mut Emit<'_>, inst: &Inst, holds: Value) {
    let (ones, none) = (e.b.i32(u32::MAX), e.b.i32(0));
    let result = e.b.select(holds, ones, none);
    e.write(inst, result);
    if inst.cdst.is_some() {
        let flags = e.test_flags(holds);
        e.set_flags(inst, flags);
    }
}

fn min_max(e: &mut Emit<'_>, inst: &Inst) {
    let sign = is_signed(inst);
    let a = source(e, inst, 0, sign);
    let b = source(e, inst, 1, sign);
    let result = match (inst.op == Op::IMax, sign) {
        (true, true) => e.b.smax(a, b),
        (true, false) => e.b.umax(a, b),
        (false, true) => e.b.smin(a, b),
        (false, false) => e.b.umin(a, b),
    };
    e.write(inst, result);
    e.set_integer_flags(inst, result, is_half(inst));
}

/// `$c` of a shift: C is the last bit shifted out, O says if a shift by one changed the sign.
fn shift_flags(e: &mut Emit<'_>, inst: &Inst, a: Value, count: Value, result: Value, carry: Value) {
    let half = is_half(inst);
    let one = e.b.i32(1);
    let by_one = e.b.icmp(IntCC::Eq, count, one);
    let changed = e.b.ixor(a, result);
    let changed = e.sign_bit(changed, half);
    let overflow = e.b.iand(by_one, changed);
    let (zero, sign) = e.zero_sign(result, half);
    e.set_flags(inst, Flags { zero, sign, carry, overflow });
}

/// Where `1 <= count < size`.
fn within(e: &mut Emit<'_>, count: Value, size: u32) -> (Value, Value) {
    let one = e.b.i32(1);
    let less = e.b.isub(count, one);
    let limit = e.b.i32(size - 1);
    (e.b.icmp(IntCC::Ult, less, limit), less)
}

/// The shift count where it stands in the instruction.
fn immediate(inst: &Inst) -> Option<u32> {
    match inst.src(1).map(|src| src.operand) {
        Some(Operand::Imm(count)) => Some(count),
        _ => None,
    }
}

/// `shifted` where `count < size`, else 0.
fn if_below(e: &mut Emit<'_>, inst: &Inst, count: Value, size: u32, shifted: Value) -> Value {
    if immediate(inst).is_some_and(|count| count < size) {
        return shifted;
    }
    let (limit, none) = (e.b.i32(size), e.b.i32(0));
    let fits = e.b.icmp(IntCC::Ult, count, limit);
    e.b.select(fits, shifted, none)
}

fn shl(e: &mut Emit<'_>, inst: &Inst) {
    let half = is_half(inst);
    let size = if half { 16 } else { 32 };
    let a = source(e, inst, 0, false);
    let count = source(e, inst, 1, false);
    let none = e.b.i32(0);
    let shifted = e.b.ishl(a, count);
    let shifted = if_below(e, inst, count, size, shifted);
    let result = if half { e.and_const(shifted, 0xffff) } else { shifted };
    e.write(inst, result);
    if inst.cdst.is_some() {
        let carry = if half {
            let out = e.and_const(shifted, 0x1_0000);
            e.b.icmp(IntCC::Ne, out, none)
        } else {
            let (inside, _) = within(e, count, 32);
            // Bit 32 - count; the host's shift takes the count modulo 32.
            let back = e.b.ineg(count);
            let out = e.b.ushr(a, back);
            let out = e.and_const(out, 1);
            let out = e.b.icmp(IntCC::Ne, out, none);
            e.b.iand(inside, out)
        };
        shift_flags(e, inst, a, count, result, carry);
    }
}

fn shr(e: &mut Emit<'_>, inst: &Inst) {
    let half = is_half(inst);
    let sign = is_signed(inst);
    let size = if half { 16 } else { 32 };
    let a = source(e, inst, 0, sign);
    let count = source(e, inst, 1, false);
    let none = e.b.i32(0);
    let result = if sign {
        // From the width up only the sign is left.
        let most = e.b.i32(31);
        let bounded =
            if immediate(inst).is_some_and(|count| count < size) { count } else { e.b.umin(count, most) };
        let shifted = e.b.sshr(a, bounded);
        if half { e.and_const(shifted, 0xffff) } else { shifted }
    } else {
        let shifted = e.b.ushr(a, count);
        if_below(e, inst, count, size, shifted)
    };
    e.write(inst, result);
    if inst.cdst.is_some() {
        let (inside, less) = within(e, count, size);
        let out = e.b.ushr(a, less);
        let out = e.and_const(out, 1);
        let out = e.b.icmp(IntCC::Ne, out, none);
        let carry = e.b.iand(inside, out);
        shift_flags(e, inst, a, count, result, carry);
    }
}

fn logic(e: &mut Emit<'_>, inst: &Inst) {
    let [a, b] = [0, 1].map(|n| {
        let value = source(e, inst, n, false);
        if inst.src(n).is_some_and(|src| src.not) { e.b.inot(value) } else { value }
    });
    let result = match inst.mods.logic {
        LogicOp::And => e.b.iand(a, b),
        LogicOp::Or => e.b.ior(a, b),
        LogicOp::Xor => e.b.ixor(a, b),
        LogicOp::Mov2 => b,
    };
    let half = is_half(inst);
    let result = if half { e.and_const(result, 0xffff) } else { result };
    e.write(inst, result);
    e.set_integer_flags(inst, result, half);
}
