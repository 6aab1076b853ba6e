//! Lifts packed operations (VOP3P), which work on two 16-bit halves at a time, and multiply-add of mixed widths.

use warpjit_ir::{Imm, Opcode, Scalar, Value};

use super::half;
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::modes::FloatLowering;
use crate::gcn::numeric::{Width, pure};
use crate::gcn::{Arg, Inst, Op};

/// Emits an instruction of this file's; false for others.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    match inst.op {
        Op::V_MAD_MIX_F32 => return mix(e, inst, Mix { fused: false, half: None }),
        Op::V_MAD_MIXLO_F16 => return mix(e, inst, Mix { fused: false, half: Some(false) }),
        Op::V_MAD_MIXHI_F16 => return mix(e, inst, Mix { fused: false, half: Some(true) }),
        Op::V_FMA_MIX_F32 => return mix(e, inst, Mix { fused: true, half: None }),
        Op::V_FMA_MIXLO_F16 => return mix(e, inst, Mix { fused: true, half: Some(false) }),
        Op::V_FMA_MIXHI_F16 => return mix(e, inst, Mix { fused: true, half: Some(true) }),
        _ => {}
    }
    if let Some((bits, signed)) = dot_parts(inst.op) {
        dot(e, inst, bits, signed);
        return true;
    }
    if inst.op == Op::V_DOT2_F32_F16 {
        dot_f16(e, inst);
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
    let value = e.pack(results[0], results[1]);
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
    if !inst.saturates() {
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
        _ if signed => e.clamp_i16(value),
        _ => value,
    }
}

/// Bits of the parts of an integer scalar product, and whether they are signed.
fn dot_parts(op: Op) -> Option<(u32, bool)> {
    Some(match op {
        Op::V_DOT2_I32_I16 => (16, true),
        Op::V_DOT2_U32_U16 => (16, false),
        Op::V_DOT4_I32_I8 => (8, true),
        Op::V_DOT4_U32_U8 => (8, false),
        Op::V_DOT8_I32_I4 => (4, true),
        Op::V_DOT8_U32_U4 => (4, false),
        _ => return None,
    })
}

/// The products of the parts of two words, added to a third one; with `clamp` the exact sum saturates. Only those of 16 bits have
/// `op_sel`.
fn dot(e: &mut Emit<'_>, inst: &Inst, bits: u32, signed: bool) {
    let mut words = [e.src32(inst, 0), e.src32(inst, 1)];
    if bits == 16 {
        words = [0, 1].map(|n| {
            let [low, high] = [inst.op_sel, inst.op_sel_hi].map(|sel| {
                if sel >> n & 1 != 0 { e.ushr_const(words[n], 16) } else { e.and_const(words[n], 0xffff) }
            });
            e.pack(low, high)
        });
    }
    let widen = |e: &mut Emit<'_>, value: Value| {
        let op = if signed { Opcode::Sext } else { Opcode::Zext };
        e.b.convert(op, value, Scalar::I64)
    };
    let exact = inst.saturates();
    let mut sum = e.src32(inst, 2);
    if exact {
        sum = widen(e, sum);
    }
    for n in 0..32 / bits {
        let [a, b] = words.map(|word| {
            let up = e.shl_const(word, 32 - bits * (n + 1));
            if signed { e.sshr_const(up, 32 - bits) } else { e.ushr_const(up, 32 - bits) }
        });
        let mut product = e.b.imul(a, b);
        if exact {
            product = widen(e, product);
        }
        sum = e.b.iadd(sum, product);
    }
    if exact {
        let (least, most) =
            if signed { (i64::from(i32::MIN), i64::from(i32::MAX)) } else { (0, u32::MAX.into()) };
        let (least, most) = (e.b.i64(least as u64), e.b.i64(most as u64));
        let value = e.b.smax(sum, least);
        let value = e.b.smin(value, most);
        sum = e.low(value);
    }
    e.set_dst32(inst, sum);
}

/// `v_dot2_f32_f16`: two fused multiply-adds in f32, that of the low halves first (chosen: documents give the formula only).
fn dot_f16(e: &mut Emit<'_>, inst: &Inst) {
    let word = e.src32(inst, 2);
    let mut sum = e.b.bitcast(word, Scalar::F32);
    if inst.neg_lo & 4 != 0 {
        sum = e.b.fneg(sum);
    }
    for (sel, neg) in [(inst.op_sel, inst.neg_lo), (inst.op_sel_hi, inst.neg_hi)] {
        let [a, b] = [0, 1].map(|n| {
            let word = e.src32(inst, n);
            let half = if sel >> n & 1 != 0 { e.ushr_const(word, 16) } else { e.and_const(word, 0xffff) };
            let half = if neg >> n & 1 != 0 { half::negate(e, half) } else { half };
            let half = e.flush_half_source(half);
            half::widen(e, half)
        });
        sum = e.arithmetic(Width::Single, Opcode::Fma, &pure::FMA_F32, &[a, b, sum]);
    }
    e.finish_f32(inst, sum);
}

/// What kind of multiply-add of mixed widths an operation is.
#[derive(Clone, Copy)]
struct Mix {
    /// `v_fma_mix`: product and sum are rounded together, as MODE says. `v_mad_mix` rounds each of them, and denormals are
    /// zeros.
    fused: bool,
    /// The result is rounded again to f16, and goes to the low (false) or high half of the register.
    half: Option<bool>,
}

/// Emits a multiply-add of mixed widths: each source is an f32 or, where `op_sel_hi` says so, the half that `op_sel` names.
fn mix(e: &mut Emit<'_>, inst: &Inst, kind: Mix) -> bool {
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
            let Arg { neg, abs, .. } = inst.src(n);
            let value = if abs { e.b.fabs(value) } else { value };
            if neg { e.b.fneg(value) } else { value }
        })
        .collect();
    let &[a, b, c] = sources.as_slice() else { return false };
    let value = if kind.fused {
        e.arithmetic(Width::Single, Opcode::Fma, &pure::FMA_F32, &[a, b, c])
    } else {
        super::float::mad(e, a, b, c)
    };
    let Some(high) = kind.half else {
        e.finish_f32(inst, value);
        return true;
    };
    let bits = match e.lowering(Width::Half) {
        FloatLowering::Plain { ftz: false } => half::narrow(e, value),
        _ => e.call_mode(&pure::F16_FROM_F32, 0, &[value]),
    };
    let bits = e.modified_f16(inst, bits);
    e.set_dst_half(inst, bits, high);
    true
}
