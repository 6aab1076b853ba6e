//! Lifts conversions between number formats.

use warpjit_ir::{FloatCC, Opcode, PureFn, Scalar, Value};

use super::half::{narrow, widen};
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::modes::FloatLowering;
use crate::gcn::numeric::{Width, pure};
use crate::gcn::{Inst, Op};

/// Emits an instruction of this file's; false for others.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    to_integer(e, inst) || to_float(e, inst) || halves(e, inst) || packs(e, inst)
}

/// Floats to integers: towards zero but where said otherwise; they saturate, and NaN gives 0.
fn to_integer(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let value = match inst.op {
        Op::V_CVT_I32_F32 | Op::V_CVT_U32_F32 => e.src_f32(inst, 0),
        Op::V_CVT_I32_F64 | Op::V_CVT_U32_F64 => e.src_f64(inst, 0),
        Op::V_CVT_FLR_I32_F32 => {
            let a = e.src_f32(inst, 0);
            let a = e.flush_source(Width::Single, a);
            e.b.ffloor(a)
        }
        Op::V_CVT_RPI_I32_F32 => {
            // floor(a + 0.5), the sum being exact.
            let a = e.src_f32(inst, 0);
            let ftz = e.flushes_single();
            let floor = e.b.ffloor(a);
            let rest = e.b.float(Opcode::Fsub, &[a, floor], ftz);
            let (half, one) = (e.b.f32(0.5), e.b.f32(1.0));
            let up = e.b.fcmp(FloatCC::Ge, rest, half, ftz);
            let next = e.b.float(Opcode::Fadd, &[floor, one], ftz);
            e.b.select(up, next, floor)
        }
        _ => return false,
    };
    let unsigned = matches!(inst.op, Op::V_CVT_U32_F32 | Op::V_CVT_U32_F64);
    let op = if unsigned { Opcode::FcvtToUint } else { Opcode::FcvtToSint };
    let value = e.b.convert(op, value, Scalar::I32);
    e.set_dst32(inst, value);
    true
}

/// Integers and floats of other widths to f32 and f64.
fn to_float(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let byte = match inst.op {
        Op::V_CVT_F32_UBYTE0 => Some(0),
        Op::V_CVT_F32_UBYTE1 => Some(8),
        Op::V_CVT_F32_UBYTE2 => Some(16),
        Op::V_CVT_F32_UBYTE3 => Some(24),
        _ => None,
    };
    let value = match inst.op {
        Op::V_CVT_F32_I32 => {
            let a = e.src32(inst, 0);
            from_integer(e, Opcode::FcvtFromSint, &pure::F32_FROM_I32, a)
        }
        Op::V_CVT_F32_U32 => {
            let a = e.src32(inst, 0);
            from_integer(e, Opcode::FcvtFromUint, &pure::F32_FROM_U32, a)
        }
        Op::V_CVT_OFF_F32_I4 => {
            let a = e.src32(inst, 0);
            let a = e.extend(a, 4, true);
            let a = e.b.convert(Opcode::FcvtFromSint, a, Scalar::F32);
            let (sixteenth, ftz) = (e.b.f32(0.0625), e.flushes_single());
            e.b.float(Opcode::Fmul, &[a, sixteenth], ftz)
        }
        Op::V_CVT_F32_F16 => {
            let a = e.src_f16(inst, 0);
            let a = e.flush_half_source(a);
            widen(e, a)
        }
        Op::V_CVT_F32_F64 => {
            let a = e.src_f64(inst, 0);
            match e.lowering(Width::Single) {
                FloatLowering::Plain { ftz } => e.b.convert_ftz(Opcode::Fdemote, a, Scalar::F32, ftz),
                FloatLowering::Call => e.call_mode(&pure::F32_FROM_F64, 0, &[a]),
            }
        }
        Op::V_CVT_F64_F32 => {
            let a = e.src_f32(inst, 0);
            let a = e.flush_source(Width::Single, a);
            e.b.convert(Opcode::Fpromote, a, Scalar::F64)
        }
        Op::V_CVT_F64_I32 | Op::V_CVT_F64_U32 => {
            let a = e.src32(inst, 0);
            let signed = inst.op == Op::V_CVT_F64_I32;
            let op = if signed { Opcode::FcvtFromSint } else { Opcode::FcvtFromUint };
            e.b.convert(op, a, Scalar::F64)
        }
        _ => {
            let Some(shift) = byte else { return false };
            let a = e.src32(inst, 0);
            let a = if shift == 0 { a } else { e.ushr_const(a, shift) };
            let a = e.extend(a, 8, false);
            // Converted as if signed, which hosts have.
            e.b.convert(Opcode::FcvtFromSint, a, Scalar::F32)
        }
    };
    if e.b.func.ty(value).scalar == Scalar::F64 {
        e.finish_f64(inst, value);
    } else {
        e.finish_f32(inst, value);
    }
    true
}

fn from_integer(e: &mut Emit<'_>, op: Opcode, callee: &'static PureFn, a: Value) -> Value {
    if e.rounds_to_nearest(Width::Single) {
        e.b.convert(op, a, Scalar::F32)
    } else {
        e.call_mode(callee, 0, &[a])
    }
}

/// From and to halves.
fn halves(e: &mut Emit<'_>, inst: &Inst) -> bool {
    match inst.op {
        Op::V_CVT_F16_F32 => {
            let a = e.src_f32(inst, 0);
            let value = match e.lowering(Width::Half) {
                FloatLowering::Plain { ftz: false } => narrow(e, a),
                _ => e.call_mode(&pure::F16_FROM_F32, 0, &[a]),
            };
            e.finish_f16(inst, value);
        }
        Op::V_CVT_F16_U16 | Op::V_CVT_F16_I16 => {
            let signed = inst.op == Op::V_CVT_F16_I16;
            let a = if signed { e.src_i16(inst, 0) } else { e.src16(inst, 0) };
            let value = if e.rounds_to_nearest(Width::Half) {
                let wide = e.b.convert(Opcode::FcvtFromSint, a, Scalar::F32);
                narrow(e, wide)
            } else {
                let callee = if signed { &pure::F16_FROM_I16 } else { &pure::F16_FROM_U16 };
                e.call_mode(callee, 0, &[a])
            };
            e.finish_f16(inst, value);
        }
        Op::V_CVT_U16_F16 | Op::V_CVT_I16_F16 => {
            let a = e.src_f16(inst, 0);
            let a = widen(e, a);
            let value = if inst.op == Op::V_CVT_I16_F16 {
                let value = e.b.convert(Opcode::FcvtToSint, a, Scalar::I32);
                e.clamp_i16(value)
            } else {
                let value = e.b.convert(Opcode::FcvtToUint, a, Scalar::I32);
                let limit = e.b.i32(0xffff);
                e.b.umin(value, limit)
            };
            e.set_dst16(inst, value);
        }
        Op::V_CVT_NORM_I16_F16 | Op::V_CVT_NORM_U16_F16 => {
            let signed = inst.op == Op::V_CVT_NORM_I16_F16;
            let a = e.src_f16(inst, 0);
            let callee = if signed { &pure::NORM_I16_F16 } else { &pure::NORM_U16_F16 };
            let value = e.b.call_pure(callee, &[a]);
            e.set_dst16(inst, value);
        }
        _ => return false,
    }
    true
}

/// Several results in one word.
fn packs(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let value = match inst.op {
        Op::V_CVT_PKRTZ_F16_F32 => {
            let pair = [e.src_f32(inst, 0), e.src_f32(inst, 1)];
            let [low, high] = pair.map(|a| e.call_mode(&pure::F16_FROM_F32_RTZ, 0, &[a]));
            e.pack(low, high)
        }
        Op::V_CVT_PKNORM_I16_F32 | Op::V_CVT_PKNORM_U16_F32 => {
            let signed = inst.op == Op::V_CVT_PKNORM_I16_F32;
            let callee = if signed { &pure::NORM_I16_F32 } else { &pure::NORM_U16_F32 };
            let pair = [e.src_f32(inst, 0), e.src_f32(inst, 1)];
            let [low, high] = pair.map(|a| e.b.call_pure(callee, &[a]));
            e.pack(low, high)
        }
        Op::V_CVT_PKNORM_I16_F16 | Op::V_CVT_PKNORM_U16_F16 => {
            let signed = inst.op == Op::V_CVT_PKNORM_I16_F16;
            let callee = if signed { &pure::NORM_I16_F16 } else { &pure::NORM_U16_F16 };
            let pair = [e.src_f16(inst, 0), e.src_f16(inst, 1)];
            let [low, high] = pair.map(|a| e.b.call_pure(callee, &[a]));
            e.pack(low, high)
        }
        Op::V_CVT_PK_U8_F32 => {
            let (index, into) = (e.src32(inst, 1), e.src32(inst, 2));
            pack_byte(e, inst, index, into)
        }
        Op::V_CVT_PKACCUM_U8_F32 => {
            let (index, into) = (e.src32(inst, 1), e.read_dst(inst));
            pack_byte(e, inst, index, into)
        }
        _ => return false,
    };
    e.set_dst32(inst, value);
    true
}

/// A byte of `into` replaced by the first source as an integer of 0 to 255.
fn pack_byte(e: &mut Emit<'_>, inst: &Inst, index: Value, into: Value) -> Value {
    let a = e.src_f32(inst, 0);
    if !e.rounds_to_nearest(Width::Single) {
        return e.call_mode(&pure::PK_U8_F32, 0, &[a, index, into]);
    }
    let a = e.b.fnearest(a);
    let a = e.b.convert(Opcode::FcvtToUint, a, Scalar::I32);
    let limit = e.b.i32(255);
    let a = e.b.umin(a, limit);
    let index = e.and_const(index, 3);
    let shift = e.shl_const(index, 3);
    let (a, field) = (e.b.ishl(a, shift), e.b.ishl(limit, shift));
    let others = e.b.inot(field);
    let kept = e.b.iand(into, others);
    e.b.ior(kept, a)
}
