//! Lifts f64 arithmetic.

use warpjit_ir::{Opcode, Value};

use super::float::{min_max, to_integral};
use crate::gcn::lift::emit::Emit;
use crate::gcn::numeric::{Width, pure};
use crate::gcn::{Generation, Inst, Op};

/// Emits an instruction of this file's; false for others.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    // Infinities and NaNs give something else on 1.0.
    let form = u32::from(inst.generation == Generation::Gfx6);
    if inst.op == Op::V_FREXP_EXP_I32_F64 {
        let a = e.src_f64(inst, 0);
        let value = e.call_mode(&pure::FREXP_EXP_F64, form, &[a]);
        e.set_dst32(inst, value);
        return true;
    }
    let a = match inst.op {
        Op::V_ADD_F64
        | Op::V_MUL_F64
        | Op::V_FMA_F64
        | Op::V_MIN_F64
        | Op::V_MAX_F64
        | Op::V_LDEXP_F64
        | Op::V_FREXP_MANT_F64
        | Op::V_FRACT_F64
        | Op::V_TRUNC_F64
        | Op::V_CEIL_F64
        | Op::V_RNDNE_F64
        | Op::V_FLOOR_F64 => e.src_f64(inst, 0),
        _ => return false,
    };
    let value = result(e, inst, form, a);
    e.finish_f64(inst, value);
    true
}

fn result(e: &mut Emit<'_>, inst: &Inst, form: u32, a: Value) -> Value {
    let w = Width::Double;
    match inst.op {
        Op::V_ADD_F64 => {
            let b = e.src_f64(inst, 1);
            e.arithmetic(w, Opcode::Fadd, &pure::ADD_F64, &[a, b])
        }
        Op::V_MUL_F64 => {
            let b = e.src_f64(inst, 1);
            e.arithmetic(w, Opcode::Fmul, &pure::MUL_F64, &[a, b])
        }
        Op::V_FMA_F64 => {
            let (b, c) = (e.src_f64(inst, 1), e.src_f64(inst, 2));
            e.arithmetic(w, Opcode::Fma, &pure::FMA_F64, &[a, b, c])
        }
        Op::V_MIN_F64 | Op::V_MAX_F64 => {
            let b = e.src_f64(inst, 1);
            min_max(e, w, inst.op == Op::V_MAX_F64, a, b)
        }
        Op::V_LDEXP_F64 => {
            let exponent = e.src32(inst, 1);
            e.call_mode(&pure::LDEXP_F64, 0, &[a, exponent])
        }
        Op::V_FREXP_MANT_F64 => e.call_mode(&pure::FREXP_MANT_F64, form, &[a]),
        _ => to_integral(e, w, inst.op, a),
    }
}
