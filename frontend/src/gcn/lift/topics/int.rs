//! Lifts integer arithmetic and logic of the vector unit on 32 and 64 bits (`int16.rs` has 16 bits, `bytes.rs` bytes).
//!
//! A shift uses the low 5 bits of its count (64-bit shifts 6, 16-bit shifts 4). The clamp bit saturates integer results on 1.2
//! and later; earlier chips have no such bit (docs/hardware/gcn.md section 5).

use warpjit_ir::{IntCC, Opcode, Scalar, Value};

use crate::gcn::lift::emit::Emit;
use crate::gcn::{Inst, Op};

/// Emits an instruction of this file's; false for others.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    plain(e, inst) || multiply(e, inst) || carry(e, inst) || wide(e, inst)
}

/// Operations on whole registers that need no carry.
fn plain(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let mut s = |n| e.src32(inst, n);
    let value = match inst.op {
        Op::V_NOP | Op::V_CLREXCP => return true,
        Op::V_MOV_B32 | Op::V_MOV_FED_B32 | Op::V_MOV_PRSV_B32 => e.src32_modified(inst, 0),
        Op::V_NOT_B32 => {
            let a = s(0);
            e.b.inot(a)
        }
        Op::V_BFREV_B32 => {
            let a = s(0);
            e.b.bitrev(a)
        }
        Op::V_FFBH_U32 => {
            let a = s(0);
            let count = e.b.clz(a);
            or_minus_one(e, a, count)
        }
        Op::V_FFBL_B32 => {
            let a = s(0);
            let count = e.b.ctz(a);
            or_minus_one(e, a, count)
        }
        Op::V_FFBH_I32 => {
            // The first bit that differs from the sign.
            let a = s(0);
            let sign = e.sshr_const(a, 31);
            let other = e.b.ixor(a, sign);
            let count = e.b.clz(other);
            or_minus_one(e, other, count)
        }
        Op::V_MIN_I32 | Op::V_MAX_I32 | Op::V_MIN_U32 | Op::V_MAX_U32 => {
            let (a, b) = (s(0), s(1));
            let op = min_max_opcode(inst.op);
            e.b.same(op, &[a, b], warpjit_ir::Imm::None)
        }
        Op::V_MIN3_I32 | Op::V_MIN3_U32 | Op::V_MAX3_I32 | Op::V_MAX3_U32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            let op = min_max_opcode(inst.op);
            three(e, op, a, b, c)
        }
        Op::V_MED3_I32 | Op::V_MED3_U32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            median(e, inst.op == Op::V_MED3_I32, a, b, c)
        }
        Op::V_LSHLREV_B32 | Op::V_LSHRREV_B32 | Op::V_ASHRREV_I32 => {
            let (count, a) = (s(0), s(1));
            shift(e, inst.op, a, count)
        }
        Op::V_LSHL_B32 | Op::V_LSHR_B32 | Op::V_ASHR_I32 => {
            let (a, count) = (s(0), s(1));
            shift(e, inst.op, a, count)
        }
        Op::V_AND_B32 | Op::V_OR_B32 | Op::V_XOR_B32 => {
            let (a, b) = (s(0), s(1));
            logic(e, inst.op, a, b)
        }
        Op::V_XNOR_B32 => {
            let (a, b) = (s(0), s(1));
            let differ = e.b.ixor(a, b);
            e.b.inot(differ)
        }
        Op::V_BFM_B32 => {
            let (bits, at) = (s(0), s(1));
            let one = e.b.i32(1);
            let field = e.b.ishl(one, bits);
            let field = e.add_const(field, u32::MAX);
            e.b.ishl(field, at)
        }
        Op::V_BCNT_U32_B32 => {
            let (a, b) = (s(0), s(1));
            let count = e.b.popcnt(a);
            e.b.iadd(count, b)
        }
        Op::V_MBCNT_LO_U32_B32 | Op::V_MBCNT_HI_U32_B32 => {
            let (a, b) = (s(0), s(1));
            mbcnt(e, inst.op == Op::V_MBCNT_HI_U32_B32, a, b)
        }
        Op::V_CVT_PK_U16_U32 => {
            let (a, b) = (s(0), s(1));
            let limit = e.b.i32(0xffff);
            let (a, b) = (e.b.umin(a, limit), e.b.umin(b, limit));
            e.pack(a, b)
        }
        Op::V_CVT_PK_I16_I32 => {
            let (a, b) = (s(0), s(1));
            let (a, b) = (e.clamp_i16(a), e.clamp_i16(b));
            let a = e.and_const(a, 0xffff);
            e.pack(a, b)
        }
        Op::V_SAT_PK_U8_I16 => {
            let a = s(0);
            let (low, high) = (e.extend(a, 16, true), e.sshr_const(a, 16));
            let (zero, limit) = (e.b.i32(0), e.b.i32(255));
            let (low, high) = (e.b.smax(low, zero), e.b.smax(high, zero));
            let (low, high) = (e.b.smin(low, limit), e.b.smin(high, limit));
            let high = e.shl_const(high, 8);
            e.b.ior(low, high)
        }
        Op::V_BFE_U32 | Op::V_BFE_I32 => {
            let (a, at, bits) = (s(0), s(1), s(2));
            field(e, inst.op == Op::V_BFE_I32, a, at, bits)
        }
        Op::V_BFI_B32 => {
            // c + (a & (b ^ c)) without the carries.
            let (mask, a, b) = (s(0), s(1), s(2));
            let differ = e.b.ixor(a, b);
            let differ = e.b.iand(differ, mask);
            e.b.ixor(differ, b)
        }
        Op::V_ALIGNBIT_B32 | Op::V_ALIGNBYTE_B32 => {
            let (high, low, count) = (s(0), s(1), s(2));
            let count = if inst.op == Op::V_ALIGNBIT_B32 {
                count
            } else {
                let bytes = e.and_const(count, 3);
                e.shl_const(bytes, 3)
            };
            e.align(high, low, count)
        }
        Op::V_XAD_U32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            let x = e.b.ixor(a, b);
            e.b.iadd(x, c)
        }
        Op::V_LSHL_ADD_U32 => {
            let (a, count, c) = (s(0), s(1), s(2));
            let x = e.b.ishl(a, count);
            e.b.iadd(x, c)
        }
        Op::V_ADD_LSHL_U32 => {
            let (a, b, count) = (s(0), s(1), s(2));
            let x = e.b.iadd(a, b);
            e.b.ishl(x, count)
        }
        Op::V_ADD3_U32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            let x = e.b.iadd(a, b);
            e.b.iadd(x, c)
        }
        Op::V_LSHL_OR_B32 => {
            let (a, count, c) = (s(0), s(1), s(2));
            let x = e.b.ishl(a, count);
            e.b.ior(x, c)
        }
        Op::V_AND_OR_B32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            let x = e.b.iand(a, b);
            e.b.ior(x, c)
        }
        Op::V_OR3_B32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            let x = e.b.ior(a, b);
            e.b.ior(x, c)
        }
        _ => return false,
    };
    e.set_dst32(inst, value);
    true
}

/// `value`, or -1 where `bits` are all zero.
fn or_minus_one(e: &mut Emit<'_>, bits: Value, value: Value) -> Value {
    let (zero, none) = (e.b.i32(0), e.b.i32(u32::MAX));
    let empty = e.b.icmp(IntCC::Eq, bits, zero);
    e.b.select(empty, none, value)
}

pub(super) fn min_max_opcode(op: Op) -> Opcode {
    match op {
        Op::V_MIN_I32 | Op::V_MIN3_I32 | Op::V_MIN3_I16 | Op::V_MIN_I16 => Opcode::Smin,
        Op::V_MAX_I32 | Op::V_MAX3_I32 | Op::V_MAX3_I16 | Op::V_MAX_I16 => Opcode::Smax,
        Op::V_MIN_U32 | Op::V_MIN3_U32 | Op::V_MIN3_U16 | Op::V_MIN_U16 => Opcode::Umin,
        _ => Opcode::Umax,
    }
}

pub(super) fn three(e: &mut Emit<'_>, op: Opcode, a: Value, b: Value, c: Value) -> Value {
    let two = e.b.same(op, &[a, b], warpjit_ir::Imm::None);
    e.b.same(op, &[two, c], warpjit_ir::Imm::None)
}

pub(super) fn median(e: &mut Emit<'_>, signed: bool, a: Value, b: Value, c: Value) -> Value {
    let (low, high) =
        if signed { (e.b.smin(a, b), e.b.smax(a, b)) } else { (e.b.umin(a, b), e.b.umax(a, b)) };
    if signed {
        let upper = e.b.smin(high, c);
        e.b.smax(low, upper)
    } else {
        let upper = e.b.umin(high, c);
        e.b.umax(low, upper)
    }
}

fn shift(e: &mut Emit<'_>, op: Op, a: Value, count: Value) -> Value {
    match op {
        Op::V_LSHLREV_B32 | Op::V_LSHL_B32 | Op::V_LSHLREV_B64 | Op::V_LSHL_B64 => e.b.ishl(a, count),
        Op::V_LSHRREV_B32 | Op::V_LSHR_B32 | Op::V_LSHRREV_B64 | Op::V_LSHR_B64 => e.b.ushr(a, count),
        _ => e.b.sshr(a, count),
    }
}

fn logic(e: &mut Emit<'_>, op: Op, a: Value, b: Value) -> Value {
    match op {
        Op::V_AND_B32 => e.b.iand(a, b),
        Op::V_OR_B32 => e.b.ior(a, b),
        _ => e.b.ixor(a, b),
    }
}

/// Bits set in `bits` below the lane's own, in this half of the wave, and `plus`.
fn mbcnt(e: &mut Emit<'_>, high: bool, bits: Value, plus: Value) -> Value {
    let lane = e.lane_id();
    let limit = e.b.i32(32);
    let low = e.b.umin(lane, limit);
    let below = if high { e.b.isub(lane, low) } else { low };
    if e.b.func.as_const(bits) == Some(u32::MAX.into()) {
        return e.b.iadd(below, plus);
    }
    // Up to 32 bits: made in 64.
    let (one, below) = (e.b.i64(1), e.b.convert(Opcode::Zext, below, Scalar::I64));
    let mask = e.b.ishl(one, below);
    let mask = e.low(mask);
    let mask = e.add_const(mask, u32::MAX);
    let set = e.b.iand(bits, mask);
    let count = e.b.popcnt(set);
    e.b.iadd(count, plus)
}

/// A bit field: offset and width are 5 bits; past the top there is the sign or zero.
fn field(e: &mut Emit<'_>, signed: bool, a: Value, at: Value, bits: Value) -> Value {
    let bits = e.and_const(bits, 31);
    let one = e.b.i32(1);
    if !signed {
        let a = e.b.ushr(a, at);
        let mask = e.b.ishl(one, bits);
        let mask = e.add_const(mask, u32::MAX);
        return e.b.iand(a, mask);
    }
    let a = e.b.sshr(a, at);
    let width = e.b.i32(32);
    let rest = e.b.isub(width, bits);
    let a = e.b.ishl(a, rest);
    let a = e.b.sshr(a, rest);
    let zero = e.b.i32(0);
    let none = e.b.icmp(IntCC::Eq, bits, zero);
    e.b.select(none, zero, a)
}

/// Products.
fn multiply(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let signed24 = matches!(inst.op, Op::V_MUL_I32_I24 | Op::V_MUL_HI_I32_I24 | Op::V_MAD_I32_I24);
    let value = match inst.op {
        Op::V_MUL_I32_I24
        | Op::V_MUL_U32_U24
        | Op::V_MUL_HI_I32_I24
        | Op::V_MUL_HI_U32_U24
        | Op::V_MAD_I32_I24
        | Op::V_MAD_U32_U24 => {
            let (a, b) = (e.src32(inst, 0), e.src32(inst, 1));
            let (a, b) = (e.extend(a, 24, signed24), e.extend(b, 24, signed24));
            match inst.op {
                Op::V_MUL_HI_I32_I24 => e.b.smulhi(a, b),
                Op::V_MUL_HI_U32_U24 => e.b.umulhi(a, b),
                Op::V_MUL_I32_I24 | Op::V_MUL_U32_U24 => e.b.imul(a, b),
                _ => {
                    let c = e.src32(inst, 2);
                    multiply_add(e, inst, signed24, a, b, c)
                }
            }
        }
        Op::V_MUL_LO_U32 | Op::V_MUL_LO_I32 | Op::V_MUL_HI_U32 | Op::V_MUL_HI_I32 => {
            let (a, b) = (e.src32(inst, 0), e.src32(inst, 1));
            match inst.op {
                Op::V_MUL_HI_U32 => e.b.umulhi(a, b),
                Op::V_MUL_HI_I32 => e.b.smulhi(a, b),
                _ => e.b.imul(a, b),
            }
        }
        Op::V_MAD_U32_U16 | Op::V_MAD_I32_I16 => {
            let signed = inst.op == Op::V_MAD_I32_I16;
            let (a, b) = if signed {
                (e.src_i16(inst, 0), e.src_i16(inst, 1))
            } else {
                (e.src16(inst, 0), e.src16(inst, 1))
            };
            let c = e.src32(inst, 2);
            multiply_add(e, inst, signed, a, b, c)
        }
        _ => return false,
    };
    e.set_dst32(inst, value);
    true
}

/// `a * b + c` in 32 bits, saturated if told so.
fn multiply_add(e: &mut Emit<'_>, inst: &Inst, signed: bool, a: Value, b: Value, c: Value) -> Value {
    if !inst.saturates() {
        let product = e.b.imul(a, b);
        return e.b.iadd(product, c);
    }
    let extend = if signed { Opcode::Sext } else { Opcode::Zext };
    let [a, b, c] = [a, b, c].map(|x| e.b.convert(extend, x, Scalar::I64));
    let product = e.b.imul(a, b);
    let sum = e.b.iadd(product, c);
    let sum = if signed {
        let (low, high) = (e.b.i64(i64::from(i32::MIN) as u64), e.b.i64(i32::MAX as u64));
        let sum = e.b.smax(sum, low);
        e.b.smin(sum, high)
    } else {
        let high = e.b.i64(u32::MAX.into());
        e.b.umin(sum, high)
    };
    e.low(sum)
}

/// Sums and differences, with and without carry.
fn carry(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let subtract = match inst.op {
        Op::V_ADD_CO_U32 | Op::V_ADDC_CO_U32 | Op::V_ADD_U32 | Op::V_ADD_I32 => false,
        Op::V_SUB_CO_U32
        | Op::V_SUBREV_CO_U32
        | Op::V_SUBB_CO_U32
        | Op::V_SUBBREV_CO_U32
        | Op::V_SUB_U32
        | Op::V_SUBREV_U32
        | Op::V_SUB_I32 => true,
        _ => return false,
    };
    let reversed = matches!(inst.op, Op::V_SUBREV_CO_U32 | Op::V_SUBBREV_CO_U32 | Op::V_SUBREV_U32);
    let carries =
        !matches!(inst.op, Op::V_ADD_U32 | Op::V_SUB_U32 | Op::V_SUBREV_U32 | Op::V_ADD_I32 | Op::V_SUB_I32);
    let takes = matches!(inst.op, Op::V_ADDC_CO_U32 | Op::V_SUBB_CO_U32 | Op::V_SUBBREV_CO_U32);
    let (a, b) = (e.src32(inst, 0), e.src32(inst, 1));
    let (a, b) = if reversed { (b, a) } else { (a, b) };
    let mut sum = if subtract { e.b.isub(a, b) } else { e.b.iadd(a, b) };
    if matches!(inst.op, Op::V_ADD_I32 | Op::V_SUB_I32) {
        let sum = if inst.saturates() { saturate_signed(e, subtract, a, b, sum) } else { sum };
        e.set_dst32(inst, sum);
        return true;
    }
    let saturates = inst.saturates();
    let mut overflow = None;
    if carries || saturates {
        let first = e.b.icmp(IntCC::Ult, if subtract { a } else { sum }, if subtract { b } else { a });
        overflow = Some(first);
        if takes {
            let mask = e.mask_src(inst.src(2));
            let taken = e.bit(mask);
            let total = if subtract { e.b.isub(sum, taken) } else { e.b.iadd(sum, taken) };
            // The step of one goes round only from the very end.
            let end = e.b.i32(if subtract { 0 } else { u32::MAX });
            let at_end = e.b.icmp(IntCC::Eq, sum, end);
            let second = e.b.iand(at_end, mask);
            overflow = Some(e.b.ior(first, second));
            sum = total;
        }
    }
    if let Some(overflow) = overflow.filter(|_| saturates) {
        let limit = e.b.i32(if subtract { 0 } else { u32::MAX });
        sum = e.b.select(overflow, limit, sum);
    }
    e.set_dst32(inst, sum);
    if let Some(overflow) = overflow.filter(|_| carries) {
        e.set_mask_result(inst, overflow);
    }
    true
}

/// A signed sum or difference at its limit where it overflowed.
fn saturate_signed(e: &mut Emit<'_>, subtract: bool, a: Value, b: Value, sum: Value) -> Value {
    // Overflow: operands of like (difference: unlike) sign, and a result of the other one.
    let changed = e.b.ixor(a, sum);
    let other = e.b.ixor(b, if subtract { a } else { sum });
    let overflow = e.b.iand(changed, other);
    let zero = e.b.i32(0);
    let overflow = e.b.icmp(IntCC::Slt, overflow, zero);
    let sign = e.sshr_const(a, 31);
    let limit = e.b.i32(i32::MAX as u32);
    let limit = e.b.ixor(sign, limit);
    e.b.select(overflow, limit, sum)
}

/// Operations on 64 bits.
fn wide(e: &mut Emit<'_>, inst: &Inst) -> bool {
    match inst.op {
        Op::V_LSHL_B64 | Op::V_LSHR_B64 | Op::V_ASHR_I64 => {
            let (a, count) = (e.src64(inst, 0), e.src32(inst, 1));
            let count = e.b.convert(Opcode::Zext, count, Scalar::I64);
            let value = shift(e, inst.op, a, count);
            e.set_dst64(inst, value);
        }
        Op::V_LSHLREV_B64 | Op::V_LSHRREV_B64 | Op::V_ASHRREV_I64 => {
            let (count, a) = (e.src32(inst, 0), e.src64(inst, 1));
            let count = e.b.convert(Opcode::Zext, count, Scalar::I64);
            let value = shift(e, inst.op, a, count);
            e.set_dst64(inst, value);
        }
        Op::V_MAD_U64_U32 | Op::V_MAD_I64_I32 => {
            let signed = inst.op == Op::V_MAD_I64_I32;
            let extend = if signed { Opcode::Sext } else { Opcode::Zext };
            let (a, b, c) = (e.src32(inst, 0), e.src32(inst, 1), e.src64(inst, 2));
            let (a, b) = (e.b.convert(extend, a, Scalar::I64), e.b.convert(extend, b, Scalar::I64));
            let product = e.b.imul(a, b);
            let sum = e.b.iadd(product, c);
            let wrapped = e.b.icmp(IntCC::Ult, sum, c);
            let carry = if signed {
                // Bit 64 of the sum of the operands with their signs.
                let zero = e.b.i64(0);
                let (p, q) = (e.b.icmp(IntCC::Slt, product, zero), e.b.icmp(IntCC::Slt, c, zero));
                let signs = e.b.ixor(p, q);
                e.b.ixor(signs, wrapped)
            } else {
                wrapped
            };
            let sum = if inst.saturates() && !signed {
                let limit = e.b.i64(u64::MAX);
                e.b.select(carry, limit, sum)
            } else {
                sum
            };
            e.set_dst64(inst, sum);
            e.set_mask_result(inst, carry);
        }
        _ => return false,
    }
    true
}
