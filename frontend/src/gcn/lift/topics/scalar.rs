//! Lifts scalar arithmetic, shifts, moves and compares (docs/hardware/gcn.md section 5).

use warpjit_ir::{IntCC, Opcode, Scalar, Type, Value};

use crate::gcn::lift::analysis::hwreg::setreg_source;
use crate::gcn::lift::analysis::statics::address_behind;
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::slots::SGPRS;
use crate::gcn::{Inst, Op};

/// Scalar instructions of 32 bits, and shifts of 64.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    arithmetic(e, inst) || shift(e, inst) || moves(e, inst) || compare(e, inst) || relative(e, inst)
}

fn arithmetic(e: &mut Emit<'_>, inst: &Inst) -> bool {
    use Op::*;
    let simm = inst.simm16 as i16 as u32;
    match inst.op {
        S_ADDK_I32 | S_MULK_I32 => {
            let Some(dst) = inst.dst else { return true };
            let (a, b) = (e.read32(dst), e.b.i32(simm));
            if inst.op == S_MULK_I32 {
                let product = e.b.imul(a, b);
                e.set_dst32(inst, product);
            } else {
                signed_sum(e, inst, a, b);
            }
            return true;
        }
        _ => {}
    }
    let op = inst.op;
    if !matches!(
        op,
        S_ADD_U32
            | S_SUB_U32
            | S_ADD_I32
            | S_SUB_I32
            | S_ADDC_U32
            | S_SUBB_U32
            | S_MIN_I32
            | S_MIN_U32
            | S_MAX_I32
            | S_MAX_U32
            | S_MUL_I32
            | S_MUL_HI_U32
            | S_MUL_HI_I32
            | S_ABSDIFF_I32
            | S_LSHL1_ADD_U32
            | S_LSHL2_ADD_U32
            | S_LSHL3_ADD_U32
            | S_LSHL4_ADD_U32
            | S_PACK_LL_B32_B16
            | S_PACK_LH_B32_B16
            | S_PACK_HH_B32_B16
    ) {
        return false;
    }
    let (a, b) = (e.src32(inst, 0), e.src32(inst, 1));
    match op {
        S_ADD_U32 => {
            let sum = e.b.iadd(a, b);
            let carry = e.b.icmp(IntCC::Ult, sum, a);
            finish(e, inst, sum, Some(carry));
        }
        S_ADDC_U32 => {
            let carry_in = e.scc();
            let carry_in = e.bit(carry_in);
            let first = e.b.iadd(a, b);
            let carry1 = e.b.icmp(IntCC::Ult, first, a);
            let sum = e.b.iadd(first, carry_in);
            let carry2 = e.b.icmp(IntCC::Ult, sum, first);
            let carry = e.b.ior(carry1, carry2);
            finish(e, inst, sum, Some(carry));
        }
        S_SUB_U32 => {
            let difference = e.b.isub(a, b);
            let borrow = e.b.icmp(IntCC::Ult, a, b);
            finish(e, inst, difference, Some(borrow));
        }
        S_SUBB_U32 => {
            let borrow_in = e.scc();
            let borrow_in = e.bit(borrow_in);
            let first = e.b.isub(a, b);
            let borrow1 = e.b.icmp(IntCC::Ult, a, b);
            let difference = e.b.isub(first, borrow_in);
            let borrow2 = e.b.icmp(IntCC::Ult, first, borrow_in);
            let borrow = e.b.ior(borrow1, borrow2);
            finish(e, inst, difference, Some(borrow));
        }
        S_ADD_I32 => signed_sum(e, inst, a, b),
        S_SUB_I32 => {
            let difference = e.b.isub(a, b);
            let (signs, changed) = (e.b.ixor(a, b), e.b.ixor(a, difference));
            let overflow = e.b.iand(signs, changed);
            let overflow = negative(e, overflow);
            finish(e, inst, difference, Some(overflow));
        }
        S_MIN_I32 | S_MIN_U32 | S_MAX_I32 | S_MAX_U32 => {
            let cc = match op {
                S_MIN_I32 => IntCC::Slt,
                S_MIN_U32 => IntCC::Ult,
                S_MAX_I32 => IntCC::Sgt,
                _ => IntCC::Ugt,
            };
            let first = e.b.icmp(cc, a, b);
            let value = e.b.select(first, a, b);
            finish(e, inst, value, Some(first));
        }
        S_MUL_I32 => {
            let value = e.b.imul(a, b);
            finish(e, inst, value, None);
        }
        S_MUL_HI_U32 => {
            let value = e.b.umulhi(a, b);
            finish(e, inst, value, None);
        }
        S_MUL_HI_I32 => {
            let value = e.b.smulhi(a, b);
            finish(e, inst, value, None);
        }
        S_ABSDIFF_I32 => {
            let difference = e.b.isub(a, b);
            let value = absolute(e, difference);
            e.set_dst32(inst, value);
            e.set_scc_nonzero(value);
        }
        S_LSHL1_ADD_U32 | S_LSHL2_ADD_U32 | S_LSHL3_ADD_U32 | S_LSHL4_ADD_U32 => {
            let count = op as u64 - S_LSHL1_ADD_U32 as u64 + 1;
            let (a, b) = (e.zext(a), e.zext(b));
            let count = e.b.i64(count);
            let a = e.b.ishl(a, count);
            let sum = e.b.iadd(a, b);
            let (low, high) = (e.low(sum), e.high(sum));
            let zero = e.b.i32(0);
            let carry = e.b.icmp(IntCC::Ne, high, zero);
            finish(e, inst, low, Some(carry));
        }
        S_PACK_LL_B32_B16 | S_PACK_LH_B32_B16 | S_PACK_HH_B32_B16 => {
            let low = if op == S_PACK_HH_B32_B16 { e.ushr_const(a, 16) } else { e.and_const(a, 0xffff) };
            let high = if op == S_PACK_LL_B32_B16 { e.shl_const(b, 16) } else { e.and_const(b, 0xffff_0000) };
            let value = e.b.ior(low, high);
            finish(e, inst, value, None);
        }
        _ => return false,
    }
    true
}

fn finish(e: &mut Emit<'_>, inst: &Inst, value: Value, scc: Option<Value>) {
    e.set_dst32(inst, value);
    if let Some(scc) = scc {
        e.set_scc(scc);
    }
}

/// Sum with SCC on signed overflow.
fn signed_sum(e: &mut Emit<'_>, inst: &Inst, a: Value, b: Value) {
    let sum = e.b.iadd(a, b);
    let (changed_a, changed_b) = (e.b.ixor(a, sum), e.b.ixor(b, sum));
    let overflow = e.b.iand(changed_a, changed_b);
    let overflow = negative(e, overflow);
    finish(e, inst, sum, Some(overflow));
}

fn negative(e: &mut Emit<'_>, value: Value) -> Value {
    let zero = e.b.constant(e.b.func.ty(value).scalar, 0);
    e.b.icmp(IntCC::Slt, value, zero)
}

fn absolute(e: &mut Emit<'_>, value: Value) -> Value {
    let below = negative(e, value);
    let negated = e.b.ineg(value);
    e.b.select(below, negated, value)
}

/// Shifts and bit fields.
fn shift(e: &mut Emit<'_>, inst: &Inst) -> bool {
    use Op::*;
    match inst.op {
        S_LSHL_B32 | S_LSHR_B32 | S_ASHR_I32 => {
            let (a, count) = (e.src32(inst, 0), e.src32(inst, 1));
            let value = match inst.op {
                S_LSHL_B32 => e.b.ishl(a, count),
                S_LSHR_B32 => e.b.ushr(a, count),
                _ => e.b.sshr(a, count),
            };
            e.set_dst32(inst, value);
            e.set_scc_nonzero(value);
        }
        S_LSHL_B64 | S_LSHR_B64 | S_ASHR_I64 => {
            let (a, count) = (e.src64(inst, 0), e.src32(inst, 1));
            let count = e.zext(count);
            let value = match inst.op {
                S_LSHL_B64 => e.b.ishl(a, count),
                S_LSHR_B64 => e.b.ushr(a, count),
                _ => e.b.sshr(a, count),
            };
            e.set_dst64(inst, value);
            e.set_scc_nonzero(value);
        }
        S_BFM_B32 => {
            let (width, offset) = (e.src32(inst, 0), e.src32(inst, 1));
            let one = e.b.i32(1);
            let bits = e.b.ishl(one, width);
            let bits = e.b.isub(bits, one);
            let value = e.b.ishl(bits, offset);
            e.set_dst32(inst, value);
        }
        S_BFM_B64 => {
            let (width, offset) = (e.src32(inst, 0), e.src32(inst, 1));
            let (width, offset) = (e.zext(width), e.zext(offset));
            let one = e.b.i64(1);
            let bits = e.b.ishl(one, width);
            let bits = e.b.isub(bits, one);
            let value = e.b.ishl(bits, offset);
            e.set_dst64(inst, value);
        }
        S_BFE_U32 | S_BFE_I32 => {
            let (a, field) = (e.src32(inst, 0), e.src32(inst, 1));
            let value = extract(e, a, field, inst.op == S_BFE_I32);
            e.set_dst32(inst, value);
            e.set_scc_nonzero(value);
        }
        S_BFE_U64 | S_BFE_I64 => {
            let (a, field) = (e.src64(inst, 0), e.src32(inst, 1));
            let value = extract(e, a, field, inst.op == S_BFE_I64);
            e.set_dst64(inst, value);
            e.set_scc_nonzero(value);
        }
        _ => return false,
    }
    true
}

/// The bits of `a` that a field names: offset in its low 5 or 6 bits, width in 22:16.
fn extract(e: &mut Emit<'_>, a: Value, field: Value, signed: bool) -> Value {
    let scalar = e.b.func.ty(a).scalar;
    let bits = scalar.bits();
    let offset = e.and_const(field, bits - 1);
    let width = e.ushr_const(field, 16);
    let width = e.and_const(width, 0x7f);
    // What is left above the offset; a wider field has no more.
    let most = e.b.i32(bits);
    let most = e.b.isub(most, offset);
    let width = e.b.umin(width, most);
    let zero32 = e.b.i32(0);
    let empty = e.b.icmp(IntCC::Eq, width, zero32);
    let wide = |e: &mut Emit<'_>, value: Value| if scalar == Scalar::I64 { e.zext(value) } else { value };
    let up = e.b.isub(most, width);
    let down = e.b.i32(bits);
    let down = e.b.isub(down, width);
    let (up, down) = (wide(e, up), wide(e, down));
    let value = e.b.ishl(a, up);
    let value = if signed { e.b.sshr(value, down) } else { e.b.ushr(value, down) };
    let zero = e.b.constant(scalar, 0);
    e.b.select(empty, zero, value)
}

fn moves(e: &mut Emit<'_>, inst: &Inst) -> bool {
    use Op::*;
    match inst.op {
        S_MOV_B32 | S_MOV_REGRD_B32 | S_MOV_FED_B32 => {
            let value = e.src32(inst, 0);
            e.set_dst32(inst, value);
        }
        S_MOVK_I32 => {
            let value = e.b.i32(inst.simm16 as i16 as u32);
            e.set_dst32(inst, value);
        }
        S_CMOV_B32 | S_CMOVK_I32 => {
            let Some(dst) = inst.dst else { return true };
            let new =
                if inst.op == S_CMOVK_I32 { e.b.i32(inst.simm16 as i16 as u32) } else { e.src32(inst, 0) };
            let (scc, old) = (e.scc(), e.read32(dst));
            let value = e.b.select(scc, new, old);
            e.set_dst32(inst, value);
        }
        S_CSELECT_B32 => {
            let (scc, a, b) = (e.scc(), e.src32(inst, 0), e.src32(inst, 1));
            let value = e.b.select(scc, a, b);
            e.set_dst32(inst, value);
        }
        S_GETPC_B64 => {
            let next = e.b.i64(address_behind(inst, e.own.code));
            e.set_dst64(inst, next);
        }
        S_MEMTIME | S_MEMREALTIME => {
            let clock = e.cross1(&[], |e, _| {
                let ty = Type::uniform(Scalar::I32);
                e.b.push(Opcode::Clock, &[], warpjit_ir::Imm::None, Some(ty)).expect("has a result")
            });
            let clock = e.zext(clock);
            e.set_dst64(inst, clock);
        }
        _ => return false,
    }
    true
}

/// The condition of a compare, and whether a constant is extended by its sign.
fn condition(op: Op) -> Option<(IntCC, bool)> {
    use Op::*;
    Some(match op {
        S_CMP_EQ_I32 | S_CMPK_EQ_I32 => (IntCC::Eq, true),
        S_CMP_LG_I32 | S_CMPK_LG_I32 => (IntCC::Ne, true),
        S_CMP_GT_I32 | S_CMPK_GT_I32 => (IntCC::Sgt, true),
        S_CMP_GE_I32 | S_CMPK_GE_I32 => (IntCC::Sge, true),
        S_CMP_LT_I32 | S_CMPK_LT_I32 => (IntCC::Slt, true),
        S_CMP_LE_I32 | S_CMPK_LE_I32 => (IntCC::Sle, true),
        S_CMP_EQ_U32 | S_CMPK_EQ_U32 => (IntCC::Eq, false),
        S_CMP_LG_U32 | S_CMPK_LG_U32 => (IntCC::Ne, false),
        S_CMP_GT_U32 | S_CMPK_GT_U32 => (IntCC::Ugt, false),
        S_CMP_GE_U32 | S_CMPK_GE_U32 => (IntCC::Uge, false),
        S_CMP_LT_U32 | S_CMPK_LT_U32 => (IntCC::Ult, false),
        S_CMP_LE_U32 | S_CMPK_LE_U32 => (IntCC::Ule, false),
        _ => return None,
    })
}

fn compare(e: &mut Emit<'_>, inst: &Inst) -> bool {
    use Op::*;
    if let Some((cc, signed)) = condition(inst.op) {
        let (a, b) = if inst.format == crate::gcn::Format::Sopk {
            let constant = if signed { inst.simm16 as i16 as u32 } else { inst.simm16.into() };
            (e.read32(setreg_source(inst)), e.b.i32(constant))
        } else {
            (e.src32(inst, 0), e.src32(inst, 1))
        };
        let scc = e.b.icmp(cc, a, b);
        e.set_scc(scc);
        return true;
    }
    let cc = match inst.op {
        S_BITCMP0_B32 | S_BITCMP0_B64 => IntCC::Eq,
        S_BITCMP1_B32 | S_BITCMP1_B64 => IntCC::Ne,
        _ => return false,
    };
    let bit = if matches!(inst.op, S_BITCMP0_B32 | S_BITCMP1_B32) {
        let (a, count) = (e.src32(inst, 0), e.src32(inst, 1));
        e.b.ushr(a, count)
    } else {
        let (a, count) = (e.src64(inst, 0), e.src32(inst, 1));
        let count = e.zext(count);
        let bit = e.b.ushr(a, count);
        e.low(bit)
    };
    let bit = e.and_const(bit, 1);
    let zero = e.b.i32(0);
    let scc = e.b.icmp(cc, bit, zero);
    e.set_scc(scc);
    true
}

/// `s_movrel*`: the register M0 behind the one named.
fn relative(e: &mut Emit<'_>, inst: &Inst) -> bool {
    use Op::*;
    let wide = matches!(inst.op, S_MOVRELS_B64 | S_MOVRELD_B64);
    let step = if wide { 2 } else { 1 };
    // All SGPRS; of what is behind them only what is named.
    let reach = |first: u8| (first..SGPRS.max(first + 1)).step_by(step).collect::<Vec<_>>();
    match inst.op {
        S_MOVRELS_B32 | S_MOVRELS_B64 => {
            let first = inst.src(0).operand.scalar_code().unwrap_or(0);
            let first = if wide { first & !1 } else { first };
            let m0 = e.m0();
            let mut value = read(e, 0, wide);
            for code in reach(first) {
                let here = is_index(e, m0, code - first, wide);
                let register = read(e, code, wide);
                value = e.b.select(here, register, value);
            }
            if wide { e.set_dst64(inst, value) } else { e.set_dst32(inst, value) }
        }
        S_MOVRELD_B32 | S_MOVRELD_B64 => {
            let first = inst.dst.and_then(|dst| dst.operand.scalar_code()).unwrap_or(0);
            let first = if wide { first & !1 } else { first };
            let value = if wide { e.src64(inst, 0) } else { e.src32(inst, 0) };
            let m0 = e.m0();
            for code in reach(first) {
                let here = is_index(e, m0, code - first, wide);
                let old = read(e, code, wide);
                let value = e.b.select(here, value, old);
                if wide { e.set_scalar64(code, value) } else { e.set_scalar(code, value) }
            }
        }
        _ => return false,
    }
    true
}

fn read(e: &mut Emit<'_>, code: u8, wide: bool) -> Value {
    if wide { e.scalar64(code) } else { e.scalar(code) }
}

/// Whether M0 names the register `distance` behind the first one; of pairs its low bit does not count.
fn is_index(e: &mut Emit<'_>, m0: Value, distance: u8, wide: bool) -> Value {
    let index = if wide { e.and_const(m0, !1) } else { m0 };
    let distance = e.b.i32(distance.into());
    e.b.icmp(IntCC::Eq, index, distance)
}

impl Emit<'_> {
    /// An i32 as an i64, zero above.
    pub(in crate::gcn::lift) fn zext(&mut self, value: Value) -> Value {
        self.b.convert(Opcode::Zext, value, Scalar::I64)
    }
}
