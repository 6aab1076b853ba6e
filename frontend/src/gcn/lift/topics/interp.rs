//! Lifts interpolation of a fragment's attributes. The words P0, P10 and P20 of the lane's primitive are in its local memory
//! ([`stage`](crate::gcn::lift::analysis::stage)); M0, which says where hardware has them, does not count.
//!
//! Our choice where documents do not say: `P10 * I + P0` and `P20 * J + D` are rounded once each (fused), as shadPS4
//! does; those with halves in f32, and the result once more. An attribute that the launch does not give is 0.

use warpjit_ir::{Opcode, Scalar, Value};

use super::half;
use crate::gcn::lift::emit::Emit;
use crate::gcn::numeric::{Width, pure};
use crate::gcn::{Inst, Op, Operand};

/// Emits an interpolation; false for other instructions, and in programs of other stages than a fragment's.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    use Op::*;
    let Some(interp) = inst.interp else { return false };
    if e.own.stage_memory.is_none() {
        return false;
    }
    let zero = e.b.i32(0);
    let [p0, p10, p20] = e.attribute(interp.attr, interp.chan).unwrap_or([zero; 3]);
    let single = |e: &mut Emit<'_>, bits: Value| e.b.bitcast(bits, Scalar::F32);
    let part = |e: &mut Emit<'_>, word: Value| {
        let bits = if interp.high { e.ushr_const(word, 16) } else { e.and_const(word, 0xffff) };
        half::widen(e, bits)
    };
    match inst.op {
        V_INTERP_P1_F32 => {
            let (slope, at, start) = (single(e, p10), e.src_f32(inst, 0), single(e, p0));
            let value = multiply_add(e, slope, at, start);
            e.finish_f32(inst, value);
        }
        V_INTERP_P2_F32 => {
            let (slope, at, start) = (single(e, p20), e.src_f32(inst, 0), e.src_f32(inst, 1));
            let value = multiply_add(e, slope, at, start);
            e.finish_f32(inst, value);
        }
        V_INTERP_MOV_F32 => {
            let value = match inst.src(0).operand {
                Operand::Int(0) => p10,
                Operand::Int(1) => p20,
                _ => p0,
            };
            e.set_dst32(inst, value);
        }
        V_INTERP_P1LL_F16 => {
            let (slope, at, start) = (part(e, p10), e.src_f32(inst, 0), part(e, p0));
            let value = multiply_add(e, slope, at, start);
            e.finish_f32(inst, value);
        }
        V_INTERP_P1LV_F16 => {
            let (slope, at, start) = (part(e, p10), e.src_f32(inst, 0), e.src32(inst, 1));
            let start = part(e, start);
            let value = multiply_add(e, slope, at, start);
            e.finish_f32(inst, value);
        }
        V_INTERP_P2_F16 | V_INTERP_P2_LEGACY_F16 => {
            let (slope, at, start) = (part(e, p20), e.src_f32(inst, 0), e.src_f32(inst, 1));
            let value = multiply_add(e, slope, at, start);
            let value = half::narrow(e, value);
            e.finish_f16(inst, value);
        }
        _ => return false,
    }
    true
}

fn multiply_add(e: &mut Emit<'_>, a: Value, b: Value, c: Value) -> Value {
    e.arithmetic(Width::Single, Opcode::Fma, &pure::FMA_F32, &[a, b, c])
}
