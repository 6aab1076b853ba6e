//! Lifts `cvt`: as IR operations if they give exactly the chip's result, else as a call of a pure function.

use warpjit_ir::{GuestFault, IntCC, Opcode, PureFn, Scalar, Value};

use super::float::{canonical, modified, saturate, set_f32_flags, set_f64_flags};
use crate::tesla::lift::emit::{Emit, Flags};
use crate::tesla::numeric::convert::{Convert, Form, Kind};
use crate::tesla::numeric::pure;
use crate::tesla::{Inst, Op, Operand, RegWidth, Rounding};

/// Emits one conversion.
pub(in crate::tesla::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    if inst.op != Op::Cvt {
        return e.fault(GuestFault::Illegal);
    }
    let Some(form) = form(inst) else { return };
    let simple = form.rounding == Rounding::Nearest;
    match (form.from, form.to) {
        (from, to) if from.bits() == 64 || to.bits() == 64 => exact(e, inst, form),
        (from, to) if !from.is_float() && !to.is_float() => int_to_int(e, inst, form),
        (from, Kind::F32) if !from.is_float() && simple => int_to_f32(e, inst, form),
        (Kind::F32 | Kind::F16, to) if !to.is_float() => float_to_int(e, inst, form),
        (Kind::F32 | Kind::F16, Kind::F32) => float_to_f32(e, inst, form),
        _ => exact(e, inst, form),
    }
}

fn form(inst: &Inst) -> Option<Convert> {
    let src = inst.src(0)?;
    let form = Form {
        to: Kind::of(inst.mods.ty?)?,
        from: Kind::of(src.ty?)?,
        rounding: inst.mods.int_rounding.or(inst.mods.rounding).unwrap_or_default(),
        integral: inst.mods.int_rounding.is_some(),
        // The modifiers of the only source stand before the types in the text; the decoder may attach them to it.
        absolute: src.abs,
        negate: src.neg,
        saturate: inst.mods.sat,
    };
    let width = match inst.dst {
        Some(Operand::Reg { width: RegWidth::B16 { .. }, .. }) => 16,
        Some(Operand::Reg { width: RegWidth::B64, .. }) => 64,
        Some(Operand::Reg { .. }) => 32,
        // A result that goes nowhere still has flags.
        _ => form.to.bits().max(16),
    };
    Some(Convert { form, width })
}

/// The source as it comes, at most 32 bits.
fn source32(e: &mut Emit<'_>, inst: &Inst, form: &Convert) -> Value {
    let value = e.src(inst, 0);
    match form.from {
        Kind::U8 => e.and_const(value, 0xff),
        Kind::S8 => e.sext(value, 8),
        Kind::U16 | Kind::F16 => e.src16_of(inst, value),
        Kind::S16 => e.sext(value, 16),
        _ => value,
    }
}

/// A pure function for the value, and one for `$c` where the result's type does not say it.
fn exact(e: &mut Emit<'_>, inst: &Inst, form: Convert) {
    let wide_source = form.from.bits() == 64;
    let value = if wide_source { e.src64(inst, 0) } else { source32(e, inst, &form) };
    let (convert, condition): (&'static PureFn, &'static PureFn) = match (wide_source, form.width == 64) {
        (false, false) => (&pure::CVT32_FROM32, &pure::CVT_CONDITION32),
        (false, true) => (&pure::CVT64_FROM32, &pure::CVT_CONDITION32),
        (true, false) => (&pure::CVT32_FROM64, &pure::CVT_CONDITION64),
        (true, true) => (&pure::CVT64_FROM64, &pure::CVT_CONDITION64),
    };
    let code = e.b.i32(form.encode());
    let result = e.b.call_pure(convert, &[code, value]);
    if form.width == 64 {
        e.write64(inst, result);
    } else {
        e.write(inst, result);
    }
    match form.to {
        Kind::F32 if !wide_source => {
            let result = e.b.bitcast(result, Scalar::F32);
            set_f32_flags(e, inst, result);
        }
        Kind::F64 => {
            let result = e.b.bitcast(result, Scalar::F64);
            set_f64_flags(e, inst, result);
        }
        _ if inst.cdst.is_some() => {
            let condition = e.b.call_pure(condition, &[code, value]);
            let flags = creg_flags(e, condition);
            e.set_flags(inst, flags);
        }
        _ => {}
    }
}

/// The four bits of a `$c` value as masks.
pub(in crate::tesla::lift) fn creg_flags(e: &mut Emit<'_>, value: Value) -> Flags {
    let [zero, sign, carry, overflow] = [1, 2, 4, 8].map(|bit| e.test(value, bit));
    Flags { zero, sign, carry, overflow }
}

/// Integer to integer: clamps to the destination's range.
fn int_to_int(e: &mut Emit<'_>, inst: &Inst, form: Convert) {
    let mut value = source32(e, inst, &form);
    let range = form.to.bits();
    let source_bits = form.from.bits();
    let from_signed = form.from.is_signed();
    let result = if !form.absolute && !form.negate {
        clamp(e, value, form.to, from_signed, source_bits)
    } else {
        // Sign and magnitude apart, for the magnitude may need all 32 bits.
        let none = e.b.i32(0);
        let mut negative = e.b.bool(false);
        if from_signed {
            let below = e.b.icmp(IntCC::Slt, value, none);
            let opposite = e.b.ineg(value);
            value = e.b.smax(value, opposite);
            negative = if form.absolute { negative } else { below };
        }
        if form.negate {
            negative = e.b.inot(negative);
        }
        if form.to.is_signed() {
            let most = e.b.i32((1 << (range - 1)) - 1);
            let least = e.b.i32(1 << (range - 1));
            let up = e.b.umin(value, most);
            let down = e.b.umin(value, least);
            let down = e.b.ineg(down);
            e.b.select(negative, down, up)
        } else {
            let up = if range < 32 {
                let most = e.b.i32(u32::MAX >> (32 - range));
                e.b.umin(value, most)
            } else {
                value
            };
            e.b.select(negative, none, up)
        }
    };
    let half = form.width == 16;
    let result = if half { e.and_const(result, 0xffff) } else { result };
    e.write(inst, result);
    e.set_integer_flags(inst, result, half);
}

/// Clamps a number without sign changes; leaves out what the source's range cannot need.
fn clamp(e: &mut Emit<'_>, value: Value, to: Kind, from_signed: bool, source_bits: u32) -> Value {
    let range = to.bits();
    match (from_signed, to.is_signed()) {
        (false, false) if range >= source_bits => value,
        (true, true) if range >= source_bits => value,
        (false, true) if range > source_bits => value,
        (false, _) => {
            let bits = if to.is_signed() { range - 1 } else { range };
            let most = e.b.i32(u32::MAX >> (32 - bits));
            e.b.umin(value, most)
        }
        (true, false) => {
            let none = e.b.i32(0);
            let value = e.b.smax(value, none);
            if range >= source_bits {
                return value;
            }
            let most = e.b.i32(u32::MAX >> (32 - range));
            e.b.smin(value, most)
        }
        (true, true) => {
            let most = e.b.i32(u32::MAX >> (33 - range));
            let least = e.b.inot(most);
            let value = e.b.smin(value, most);
            e.b.smax(value, least)
        }
    }
}

/// Integer to f32 to nearest, which is symmetric: abs and neg can follow the conversion.
fn int_to_f32(e: &mut Emit<'_>, inst: &Inst, form: Convert) {
    let value = source32(e, inst, &form);
    let op = if form.from.is_signed() { Opcode::FcvtFromSint } else { Opcode::FcvtFromUint };
    let value = e.b.convert(op, value, Scalar::F32);
    let value = if form.absolute { e.b.fabs(value) } else { value };
    let value = if form.negate { e.b.fneg(value) } else { value };
    let value = if form.saturate { saturate(e, value) } else { value };
    e.write_f32(inst, value);
    set_f32_flags(e, inst, value);
}

/// An f16 or f32 source as f32, modifiers applied.
fn float_source(e: &mut Emit<'_>, inst: &Inst, form: &Convert) -> Value {
    let bits = source32(e, inst, form);
    let value = if form.from == Kind::F16 {
        e.b.convert(Opcode::F16ToF32, bits, Scalar::F32)
    } else {
        e.b.bitcast(bits, Scalar::F32)
    };
    let value = modified(e, inst.src(0), value);
    e.b.fflush(value)
}

/// f16 or f32 to at most 32 bits: NaN gives 0, what does not fit is clamped.
fn float_to_int(e: &mut Emit<'_>, inst: &Inst, form: Convert) {
    let value = float_source(e, inst, &form);
    // The conversion itself truncates.
    let value = if form.rounding == Rounding::Zero { value } else { e.round(value, form.rounding) };
    let range = form.to.bits();
    let half = form.width == 16;
    let result = if form.to.is_signed() {
        let value = e.b.convert(Opcode::FcvtToSint, value, Scalar::I32);
        clamp(e, value, form.to, true, 32)
    } else {
        let value = e.b.convert(Opcode::FcvtToUint, value, Scalar::I32);
        if range < 32 { clamp(e, value, form.to, false, 32) } else { value }
    };
    let result = if half { e.and_const(result, 0xffff) } else { result };
    e.write(inst, result);
    e.set_integer_flags(inst, result, half);
}

/// f16 or f32 to f32: flush, canonical NaN, saturate, round to an integer.
fn float_to_f32(e: &mut Emit<'_>, inst: &Inst, form: Convert) {
    let value = float_source(e, inst, &form);
    let value = canonical(e, value);
    let value = if form.saturate { saturate(e, value) } else { value };
    let value = if form.integral {
        let rounded = e.round(value, form.rounding);
        canonical(e, rounded)
    } else {
        value
    };
    e.write_f32(inst, value);
    set_f32_flags(e, inst, value);
}
