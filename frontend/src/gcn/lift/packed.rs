//! Packed operations (VOP3P): two halves at a time, and multiply-add of mixed widths.

use warpjit_ir::{Imm, Opcode, Scalar, Value};

use super::emit::Emit;
use super::half;
use super::int::{clamp_i16, pack, saturates};
use super::modes::Way;
use crate::gcn::numeric::{Width, pure};
use crate::gcn::{Inst, Op};

/// Emits an instruction of this file's; false for others.
pub(super) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    if matches!(inst.op, Op::V_MAD_MIX_F32 | Op::V_MAD_MIXLO_F16 | Op::V_MAD_MIXHI_F16) {
        mix(e, inst);
        return true;
    }
    let sources = match inst.op {
        Op::V_PK_MAD_I16 | Op::V_PK_MAD_U16 | Op::V_PK_FMA_F16 => 3,
        Op::V_PK_MUL_LO_U16
        | Op::V_PK_ADD_I16
        | Op::V_PK_SUB_I16
        | Op::V_PK_LSHLREV_B16
        | Op::V_PK_LSHRREV_B16
        | Op::V_PK_ASHRREV_I16
        | Op::V_PK_MAX_I16
        | Op::V_PK_MIN_I16
        | Op::V_PK_ADD_U16
        | Op::V_PK_SUB_U16
        | Op::V_PK_MAX_U16
        | Op::V_PK_MIN_U16
        | Op::V_PK_ADD_F16
        | Op::V_PK_MUL_F16
        | Op::V_PK_MIN_F16
        | Op::V_PK_MAX_F16 => 2,
        _ => return false,
    };
    let float = is_float(inst.op);
    let results = [(inst.op_sel, inst.neg_lo), (inst.op_sel_hi, inst.neg_hi)].map(|(sel, neg)| {
        let halves: Vec<Value> = (0..sources)
            .map(|n| {
                let word = e.src32(inst, n);
                let high = sel >> n & 1 != 0;
                let half = if high { e.ushr_const(word, 16) } else { e.and_const(word, 0xffff) };
                if float && neg >> n & 1 != 0 { half::negate(e, half) } else { half }
            })
            .collect();
        let value = if float { float_half(e, inst, &halves) } else { integer_half(e, inst, &halves) };
        e.and_const(value, 0xffff)
    });
    let value = pack(e, results[0], results[1]);
    e.set_dst32(inst, value);
    true
}

fn is_float(op: Op) -> bool {
    matches!(op, Op::V_PK_FMA_F16 | Op::V_PK_ADD_F16 | Op::V_PK_MUL_F16 | Op::V_PK_MIN_F16 | Op::V_PK_MAX_F16)
}

fn float_half(e: &mut Emit<'_>, inst: &Inst, s: &[Value]) -> Value {
    let value = match (inst.op, s) {
        (Op::V_PK_FMA_F16, &[a, b, c]) => half::fma(e, a, b, c),
        (Op::V_PK_ADD_F16, &[a, b]) => half::add(e, a, b),
        (Op::V_PK_MUL_F16, &[a, b]) => half::mul(e, a, b),
        (op, &[a, b, ..]) => half::min_max(e, op == Op::V_PK_MAX_F16, a, b),
        _ => e.b.i32(0),
    };
    e.modified_f16(inst, value)
}

fn integer_half(e: &mut Emit<'_>, inst: &Inst, s: &[Value]) -> Value {
    let signed = matches!(
        inst.op,
        Op::V_PK_MAD_I16
            | Op::V_PK_ADD_I16
            | Op::V_PK_SUB_I16
            | Op::V_PK_ASHRREV_I16
            | Op::V_PK_MAX_I16
            | Op::V_PK_MIN_I16
    );
    let extended: Vec<Value> =
        s.iter().map(|&half| if signed { e.extend(half, 16, true) } else { half }).collect();
    let &[a, b, ..] = extended.as_slice() else { return e.b.i32(0) };
    let c = extended.get(2).copied();
    let value = match inst.op {
        Op::V_PK_MUL_LO_U16 => e.b.imul(a, b),
        Op::V_PK_ADD_I16 | Op::V_PK_ADD_U16 => e.b.iadd(a, b),
        Op::V_PK_SUB_I16 | Op::V_PK_SUB_U16 => e.b.isub(a, b),
        Op::V_PK_MAX_I16 => e.b.smax(a, b),
        Op::V_PK_MIN_I16 => e.b.smin(a, b),
        Op::V_PK_MAX_U16 => e.b.umax(a, b),
        Op::V_PK_MIN_U16 => e.b.umin(a, b),
        Op::V_PK_LSHLREV_B16 | Op::V_PK_LSHRREV_B16 | Op::V_PK_ASHRREV_I16 => {
            let count = e.and_const(s[0], 15);
            let op = match inst.op {
                Op::V_PK_LSHLREV_B16 => Opcode::Ishl,
                Op::V_PK_LSHRREV_B16 => Opcode::Ushr,
                _ => Opcode::Sshr,
            };
            e.b.same(op, &[b, count], Imm::None)
        }
        _ => {
            let product = e.b.imul(a, b);
            match c {
                Some(c) => e.b.iadd(product, c),
                None => product,
            }
        }
    };
    if !saturates(inst) {
        return value;
    }
    match inst.op {
        Op::V_PK_ADD_U16 | Op::V_PK_MAD_U16 => {
            let limit = e.b.i32(0xffff);
            e.b.umin(value, limit)
        }
        Op::V_PK_SUB_U16 => {
            let zero = e.b.i32(0);
            e.b.smax(value, zero)
        }
        _ if signed => clamp_i16(e, value),
        _ => value,
    }
}

/// `v_mad_mix`: each source is an f32 or, where `op_sel_hi` says so, the half that `op_sel` names. The product and the
/// sum are rounded in f32, denormals being zeros; the result is an f32 or is rounded again to a half of the register.
fn mix(e: &mut Emit<'_>, inst: &Inst) {
    let sources: Vec<Value> = (0..3)
        .map(|n| {
            let word = e.src32(inst, n);
            let value = if inst.op_sel_hi >> n & 1 == 0 {
                e.b.bitcast(word, Scalar::F32)
            } else {
                let high = inst.op_sel >> n & 1 != 0;
                let half = if high { e.ushr_const(word, 16) } else { e.and_const(word, 0xffff) };
                let half = e.flush_half_source(half);
                half::widen(e, half)
            };
            let value = if inst.neg_hi >> n & 1 != 0 { e.b.fabs(value) } else { value };
            if inst.neg_lo >> n & 1 != 0 { e.b.fneg(value) } else { value }
        })
        .collect();
    let &[a, b, c] = sources.as_slice() else { return };
    let value = super::float::mad(e, a, b, c);
    if inst.op == Op::V_MAD_MIX_F32 {
        return e.finish_f32(inst, value);
    }
    let bits = match e.way(Width::Half) {
        Way::Plain { ftz: false } => half::narrow(e, value),
        _ => e.call_mode(&pure::F16_FROM_F32, 0, &[value]),
    };
    let bits = e.modified_f16(inst, bits);
    e.set_dst_half(inst, bits, inst.op == Op::V_MAD_MIXHI_F16);
}
