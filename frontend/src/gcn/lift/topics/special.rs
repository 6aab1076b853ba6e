//! Lifts reciprocals, roots, transcendental functions, and the steps of the division sequence.
//!
//! The documents give the hardware's results only to within 1 ulp, so these are not bit-exact. `v_rcp` and `v_sqrt` are correctly
//! rounded here; `v_rsq_f32` is within 0.9 ulp, `v_rsq_f64` within 1.5. The others are in `numeric::trans`. f32 functions flush
//! denormal sources and results in every mode; f64 functions obey MODE's denormal bits. None obeys MODE's rounding.

use warpjit_ir::function::InstData;
use warpjit_ir::{FloatCC, Function, Opcode, PureFn, Scalar, Value};

use super::quotient;
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::modes::FloatLowering;
use crate::gcn::numeric::divide::FmasScale;
use crate::gcn::numeric::{Width, pure};
use crate::gcn::{Inst, Op};

/// Emits an instruction of this file's; false for others.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    functions(e, inst) || double(e, inst) || division(e, inst)
}

fn functions(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let callee: Option<&'static PureFn> = match inst.op {
        Op::V_EXP_F32 | Op::V_EXP_LEGACY_F32 => Some(&pure::EXP_F32),
        Op::V_LOG_F32 | Op::V_LOG_LEGACY_F32 | Op::V_LOG_CLAMP_F32 => Some(&pure::LOG_F32),
        Op::V_SIN_F32 if inst.generation.has_any_turns() => Some(&pure::SIN_ANY_F32),
        Op::V_SIN_F32 => Some(&pure::SIN_F32),
        Op::V_COS_F32 if inst.generation.has_any_turns() => Some(&pure::COS_ANY_F32),
        Op::V_COS_F32 => Some(&pure::COS_F32),
        Op::V_RCP_F32
        | Op::V_RCP_IFLAG_F32
        | Op::V_RCP_CLAMP_F32
        | Op::V_RCP_LEGACY_F32
        | Op::V_RSQ_F32
        | Op::V_RSQ_CLAMP_F32
        | Op::V_RSQ_LEGACY_F32
        | Op::V_SQRT_F32 => None,
        _ => return false,
    };
    let a = e.src_f32(inst, 0);
    let value = match (callee, inst.op) {
        (Some(callee), _) => e.b.call_pure(callee, &[a]),
        (None, Op::V_SQRT_F32) => e.b.float(Opcode::Fsqrt, &[a], true),
        (None, Op::V_RSQ_F32 | Op::V_RSQ_CLAMP_F32 | Op::V_RSQ_LEGACY_F32) => rsq(e, a),
        _ => {
            let one = e.b.f32(1.0);
            e.b.float(Opcode::Fdiv, &[one, a], true)
        }
    };
    let value = match inst.op {
        Op::V_RCP_CLAMP_F32 | Op::V_RSQ_CLAMP_F32 | Op::V_LOG_CLAMP_F32 => {
            clamp_infinity(e, value, f32::MAX.to_bits().into(), f32::MIN.to_bits().into())
        }
        // No infinity: a zero of its sign.
        Op::V_RCP_LEGACY_F32 => clamp_infinity(e, value, 0, 1 << 31),
        Op::V_RSQ_LEGACY_F32 => clamp_infinity(e, value, 0, 0),
        _ => value,
    };
    e.finish_f32(inst, value);
    true
}

/// Replaces +infinity by `plus` and -infinity by `minus`.
fn clamp_infinity(e: &mut Emit<'_>, value: Value, plus: u64, minus: u64) -> Value {
    let scalar = e.b.func.ty(value).scalar;
    let infinity = if scalar == Scalar::F64 { Width::Double } else { Width::Single }.format();
    let ends = [(infinity.infinity(), plus), (infinity.infinity() | infinity.sign_bit(), minus)];
    ends.into_iter().fold(value, |value, (from, to)| {
        let (from, to) = (e.b.constant(scalar, from), e.b.constant(scalar, to));
        let is = e.b.fcmp(FloatCC::Eq, value, from, scalar == Scalar::F32);
        e.b.select(is, to, value)
    })
}

/// `1 / sqrt(a)` as `sqrt(4 / a) / 2`: the root halves the error of the quotient. The least normal number, whose
/// quotient overflows, and zeros, whose sign the root would not take, are taken care of apart.
fn rsq(e: &mut Emit<'_>, a: Value) -> Value {
    let (four, half) = (e.b.f32(4.0), e.b.f32(0.5));
    let quotient = e.b.float(Opcode::Fdiv, &[four, a], true);
    let root = e.b.float(Opcode::Fsqrt, &[quotient], true);
    let value = e.b.float(Opcode::Fmul, &[root, half], true);
    let (least, of_least) = (e.b.f32(f32::MIN_POSITIVE), e.b.f32(2f32.powi(63)));
    let is_least = e.b.fcmp(FloatCC::Eq, a, least, true);
    let value = e.b.select(is_least, of_least, value);
    let (zero, nan) = (e.b.f32(0.0), e.b.constant(Scalar::F32, Width::Single.nan()));
    let is_positive = e.b.fcmp(FloatCC::Gt, a, zero, true);
    let is_zero = e.b.fcmp(FloatCC::Eq, a, zero, true);
    let other = e.b.select(is_zero, quotient, nan);
    e.b.select(is_positive, value, other)
}

fn double(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let value = match inst.op {
        Op::V_RCP_F64 | Op::V_RCP_CLAMP_F64 | Op::V_RSQ_F64 | Op::V_RSQ_CLAMP_F64 | Op::V_SQRT_F64 => {
            let a = e.src_f64(inst, 0);
            let a = e.flush_source(Width::Double, a);
            let root = !matches!(inst.op, Op::V_RCP_F64 | Op::V_RCP_CLAMP_F64);
            let value = if root { e.b.float(Opcode::Fsqrt, &[a], false) } else { a };
            let value = if inst.op == Op::V_SQRT_F64 {
                value
            } else {
                let one = e.b.f64(1.0);
                e.b.float(Opcode::Fdiv, &[one, value], false)
            };
            let value = e.flush_result(Width::Double, value);
            if matches!(inst.op, Op::V_RCP_CLAMP_F64 | Op::V_RSQ_CLAMP_F64) {
                clamp_infinity(e, value, f64::MAX.to_bits(), f64::MIN.to_bits())
            } else {
                value
            }
        }
        Op::V_TRIG_PREOP_F64 => {
            let a = e.src_f64(inst, 0);
            let segment = e.src32(inst, 1);
            e.b.call_pure(&pure::TRIG_PREOP_F64, &[a, segment])
        }
        _ => return false,
    };
    e.finish_f64(inst, value);
    true
}

fn division(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let width = match inst.op {
        Op::V_DIV_SCALE_F32 | Op::V_DIV_FMAS_F32 | Op::V_DIV_FIXUP_F32 => Width::Single,
        Op::V_DIV_SCALE_F64 | Op::V_DIV_FMAS_F64 | Op::V_DIV_FIXUP_F64 => Width::Double,
        _ => return false,
    };
    let double = width == Width::Double;
    let sources = [0, 1, 2].map(|n| if double { e.src_f64(inst, n) } else { e.src_f32(inst, n) });
    if let Some(quotient) = quotient::of_sequence(e, inst, width, sources) {
        return finish_division(e, inst, width, quotient);
    }
    let is_fmas = matches!(inst.op, Op::V_DIV_FMAS_F32 | Op::V_DIV_FMAS_F64);
    let [a, b, c] = if is_fmas { sources } else { sources.map(|source| e.flush_source(width, source)) };
    let value = match inst.op {
        Op::V_DIV_SCALE_F32 | Op::V_DIV_SCALE_F64 => {
            let (scale, flag) = if double {
                (&pure::DIV_SCALE_F64, &pure::DIV_FLAG_F64)
            } else {
                (&pure::DIV_SCALE_F32, &pure::DIV_FLAG_F32)
            };
            let value = e.b.call_pure(scale, &[a, b, c]);
            let flag = e.b.call_pure(flag, &[b, c]);
            let value = finish_division(e, inst, width, value);
            e.set_mask_result(inst, flag);
            return value;
        }
        Op::V_DIV_FMAS_F32 | Op::V_DIV_FMAS_F64 => {
            let flag = e.mask_src(inst.src(3));
            fmas(e, width, flag, a, b, c)
        }
        _ => {
            let callee = if double { &pure::DIV_FIXUP_F64 } else { &pure::DIV_FIXUP_F32 };
            e.b.call_pure(callee, &[a, b, c])
        }
    };
    finish_division(e, inst, width, value)
}

fn finish_division(e: &mut Emit<'_>, inst: &Inst, width: Width, value: Value) -> bool {
    if width == Width::Double {
        e.finish_f64(inst, value);
    } else {
        e.finish_f32(inst, value);
    }
    true
}

/// Whether a mask is made from a number that this block computes, not from a slot that other blocks have written.
fn is_made_as_number(func: &Function, flag: Value) -> bool {
    let Some(InstData { op: Opcode::LaneBit, args, .. }) = func.def_inst(flag) else { return false };
    let mut work = args.to_vec();
    while let Some(v) = work.pop() {
        match func.def_inst(v) {
            None | Some(InstData { op: Opcode::SlotGet, .. }) => return false,
            Some(data) => match data.op {
                Opcode::Zext | Opcode::Ishl | Opcode::Ior | Opcode::Trunc | Opcode::Ushr => {
                    work.extend(&data.args);
                }
                _ => {}
            },
        }
    }
    true
}

/// Emits `v_div_fmas`. Where VCC is set, the vendor's documents multiply by 2^32 (f32) or 2^64 (f64). With VCC from `v_div_scale`
/// that would give wrong quotients: there the hardware undoes the scaling of `v_div_scale`, up or down depending on the addend's size
/// (CLRX's description, from tests on chips). So the documented factor applies only if VCC is known to be computed as a number; if it
/// is the result of an instruction, or comes from another block, the scaling is undone.
fn fmas(e: &mut Emit<'_>, width: Width, flag: Value, a: Value, b: Value, c: Value) -> Value {
    let double = width == Width::Double;
    let as_number = is_made_as_number(e.b.func, flag);
    let FloatLowering::Plain { ftz } = e.lowering(width) else {
        let form = if as_number { FmasScale::Up } else { FmasScale::Back };
        let callee = if double { &pure::FMAS_F64 } else { &pure::FMAS_F32 };
        let scaled = e.call_mode(callee, form as u32, &[a, b, c]);
        let plain = e.call_mode(callee, FmasScale::None as u32, &[a, b, c]);
        return e.b.select(flag, scaled, plain);
    };
    let constant = |e: &mut Emit<'_>, power: i32| {
        if double { e.b.f64(2f64.powi(power)) } else { e.b.f32(2f32.powi(power)) }
    };
    let sum = e.b.float(Opcode::Fma, &[a, b, c], ftz);
    let scale = if double { 128 } else { 64 };
    let factor = if as_number {
        constant(e, scale / 2)
    } else {
        let (up, down, two) = (constant(e, scale), constant(e, -scale), constant(e, 1));
        let size = e.b.fabs(c);
        let large = e.b.fcmp(FloatCC::Ge, size, two, ftz);
        e.b.select(large, up, down)
    };
    let one = constant(e, 0);
    let factor = e.b.select(flag, factor, one);
    e.b.float(Opcode::Fmul, &[sum, factor], ftz)
}
