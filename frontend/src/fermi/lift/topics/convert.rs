//! Lifts `cvt`: as IR operations if they give exactly the chip's result, else as a call of a pure function.

use warpjit_ir::{GuestFault, Opcode, PureFn, Scalar, Value};

use super::double;
use super::float::{saturate, source};
use crate::fermi::lift::emit::Emit;
use crate::fermi::numeric::convert::{Convert, Form, Kind};
use crate::fermi::numeric::{self, pure};
use crate::fermi::{Inst, Op, Select};
use crate::soft::Rounding;

/// Emits one conversion.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    if !matches!(inst.op, Op::Cvt) {
        return e.fault(GuestFault::Illegal);
    }
    let Some(form) = form(inst) else { return };
    let wide = form.from.bits() == 64 || form.to.bits() == 64;
    match (form.from, form.to) {
        (Kind::F32, Kind::F64) if !form.saturate && !form.integral => {
            let value = float_source(e, inst, &form);
            let value = e.b.convert(Opcode::Fpromote, value, Scalar::F64);
            finish64(e, inst, value);
        }
        (Kind::F64, Kind::F32) if form.rounding == Rounding::Nearest && !form.saturate && !form.integral => {
            let value = double::source(e, inst, 0);
            let value = e.b.convert_ftz(Opcode::Fdemote, value, Scalar::F32, form.ftz);
            finish32(e, inst, &form, value);
        }
        _ if wide => exact(e, inst, &form),
        (from, to) if !from.is_float() && !to.is_float() => int_to_int(e, inst, &form),
        (from, Kind::F32) if !from.is_float() && form.rounding == Rounding::Nearest => {
            int_to_float(e, inst, &form);
        }
        (Kind::F32, Kind::U32 | Kind::S32) => float_to_int(e, inst, &form),
        (Kind::F32, Kind::F32) => {
            let value = float_source(e, inst, &form);
            let value = if form.integral { e.round(value, form.rounding) } else { value };
            finish32(e, inst, &form, value);
        }
        _ => exact(e, inst, &form),
    }
}

fn form(inst: &Inst) -> Option<Convert> {
    let src = inst.src(0)?;
    let (to, from) = (Kind::of(inst.mods.ty?)?, Kind::of(src.ty?)?);
    let form = Form {
        to,
        from,
        rounding: inst.mods.int_rounding.or(inst.mods.rounding).unwrap_or_default(),
        integral: inst.mods.int_rounding.is_some() && to.is_float() && from.is_float(),
        absolute: src.abs,
        negate: src.neg,
        saturate: inst.mods.sat,
    };
    Some(Convert { form, ftz: inst.mods.ftz })
}

/// A source of at most 32 bits: the part that is converted, extended.
fn source32(e: &mut Emit<'_>, inst: &Inst, form: &Convert) -> Value {
    let value = e.src(inst, 0);
    let shift = match inst.src(0).map(|src| src.select) {
        Some(Select::Byte(n)) => 8 * u32::from(n),
        Some(Select::Half(n)) => 16 * u32::from(n),
        _ => 0,
    };
    let bits = form.from.bits();
    if bits == 32 {
        return value;
    }
    if form.from.is_signed() {
        let left = 32u32.saturating_sub(bits + shift);
        let up = if left == 0 { value } else { e.shl_const(value, left) };
        let count = e.b.i32(32 - bits);
        return e.b.sshr(up, count);
    }
    let down = if shift == 0 { value } else { e.ushr_const(value, shift) };
    if shift + bits >= 32 { down } else { e.and_const(down, u32::MAX >> (32 - bits)) }
}

fn exact(e: &mut Emit<'_>, inst: &Inst, form: &Convert) {
    let wide_source = form.from.bits() == 64;
    let wide_result = form.to.bits() == 64;
    let value = if wide_source { e.src64(inst, 0) } else { source32(e, inst, form) };
    let callee: &'static PureFn = match (wide_source, wide_result) {
        (false, false) => &pure::CVT32_FROM32,
        (false, true) => &pure::CVT64_FROM32,
        (true, false) => &pure::CVT32_FROM64,
        (true, true) => &pure::CVT64_FROM64,
    };
    let code = e.b.i32(form.encode());
    let result = e.b.call_pure(callee, &[code, value]);
    match form.to {
        Kind::F64 => {
            let result = e.b.bitcast(result, Scalar::F64);
            finish64(e, inst, result);
        }
        Kind::F32 => {
            let result = e.b.bitcast(result, Scalar::F32);
            e.write_f32(inst, result);
            flags32(e, inst, form, result);
        }
        Kind::U64 | Kind::S64 => {
            e.write64(inst, result);
            if inst.cc_out {
                let (low, high) = (e.low(result), e.high(result));
                let any = e.b.ior(low, high);
                let (zero, _) = e.zero_sign(any, false);
                let sign = e.sign_bit(high, false);
                let clear = e.b.bool(false);
                e.set_flags(crate::simt::Flags { zero, sign, carry: clear, overflow: clear });
            }
        }
        _ => e.finish(inst, result),
    }
}

/// Integers of at most 32 bits. With `sat` a value that does not fit is clamped, without it is cut.
fn int_to_int(e: &mut Emit<'_>, inst: &Inst, form: &Convert) {
    let mut value = source32(e, inst, form);
    // One bit more than 32 is needed only for the magnitude of the least number, and for the negative of an unsigned one.
    if form.saturate && (form.absolute || form.negate) {
        return exact(e, inst, form);
    }
    if form.absolute && form.from.is_signed() {
        let opposite = e.b.ineg(value);
        value = e.b.smax(value, opposite);
    }
    if form.negate {
        value = e.b.ineg(value);
    }
    if form.saturate {
        value = clamp(e, value, form);
    }
    let bits = form.to.bits();
    let result = match (bits, form.to.is_signed()) {
        (32, _) => value,
        (bits, true) => e.sext(value, bits),
        (bits, false) => e.and_const(value, u32::MAX >> (32 - bits)),
    };
    e.finish(inst, result);
}

/// A number of the source's type into the destination's range.
fn clamp(e: &mut Emit<'_>, value: Value, form: &Convert) -> Value {
    let bits = form.to.bits();
    let most = if form.to.is_signed() { (1u64 << (bits - 1)) - 1 } else { (1 << bits) - 1 };
    if !form.from.is_signed() {
        let most = e.b.i32(most as u32);
        return e.b.umin(value, most);
    }
    let least = if form.to.is_signed() { (most as i32).wrapping_neg() - 1 } else { 0 };
    let least = e.b.i32(least as u32);
    let value = e.b.smax(value, least);
    if most > i32::MAX as u64 {
        return value;
    }
    let most = e.b.i32(most as u32);
    e.b.smin(value, most)
}

/// To nearest, which is symmetric: abs and neg can follow the conversion.
fn int_to_float(e: &mut Emit<'_>, inst: &Inst, form: &Convert) {
    let value = source32(e, inst, form);
    let op = if form.from.is_signed() { Opcode::FcvtFromSint } else { Opcode::FcvtFromUint };
    let value = e.b.convert(op, value, Scalar::F32);
    let value = if form.absolute { e.b.fabs(value) } else { value };
    // The negative of zero is the integer zero.
    let value = if form.negate {
        let zero = e.b.f32(0.0);
        e.b.float(Opcode::Fsub, &[zero, value], false)
    } else {
        value
    };
    finish32(e, inst, form, value);
}

/// An f32 source, flushed, modifiers applied.
fn float_source(e: &mut Emit<'_>, inst: &Inst, form: &Convert) -> Value {
    let value = source(e, inst, 0);
    if form.ftz { e.b.fflush(value) } else { value }
}

/// NaN gives 0, what does not fit is clamped.
fn float_to_int(e: &mut Emit<'_>, inst: &Inst, form: &Convert) {
    let value = float_source(e, inst, form);
    // The conversion itself truncates.
    let value = if form.rounding == Rounding::Zero { value } else { e.round(value, form.rounding) };
    let op = if form.to.is_signed() { Opcode::FcvtToSint } else { Opcode::FcvtToUint };
    let result = e.b.convert(op, value, Scalar::I32);
    e.finish(inst, result);
}

fn finish32(e: &mut Emit<'_>, inst: &Inst, form: &Convert, value: Value) {
    let value = e.b.fcanon(value, numeric::NAN.into());
    let value = if form.saturate { saturate(e, value) } else { value };
    e.write_f32(inst, value);
    flags32(e, inst, form, value);
}

fn flags32(e: &mut Emit<'_>, inst: &Inst, form: &Convert, value: Value) {
    if inst.cc_out {
        let flags = e.float_flags(value, form.ftz);
        e.set_flags(flags);
    }
}

fn finish64(e: &mut Emit<'_>, inst: &Inst, value: Value) {
    let value = e.b.fcanon(value, numeric::NAN64);
    e.write64(inst, value);
    if inst.cc_out {
        let flags = e.float_flags(value, false);
        e.set_flags(flags);
    }
}
