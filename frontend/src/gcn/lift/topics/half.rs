//! Lifts f16 arithmetic. A value is its f16 bits in the low half of an i32.
//!
//! f16 arithmetic is done in f32. f32 has enough bits that rounding a sum, product, quotient or root of f16 values twice, to f32
//! and then to f16, gives what rounding once gives. `v_fma_f16` is the exception: where f32 loses bits of the sum, it sets the
//! sum's lowest bit, so that the second rounding knows. No f32 value here is denormal. The pure functions of the numerics are
//! called if f16 denormals are off, in other rounding modes, and for rare operations.

use warpjit_ir::{FloatCC, IntCC, Opcode, PureFn, Scalar, Value};

use crate::gcn::lift::analysis::statics::Mode;
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::modes::FloatLowering;
use crate::gcn::numeric::{Width, pure};
use crate::gcn::{Generation, Inst, Op};

/// Emits an instruction of this file's; false for others.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let mut s = |n| e.src_f16(inst, n);
    let value = match inst.op {
        Op::V_ADD_F16 | Op::V_MUL_F16 => {
            let (a, b) = (s(0), s(1));
            if inst.op == Op::V_ADD_F16 { add(e, a, b) } else { mul(e, a, b) }
        }
        Op::V_SUB_F16 | Op::V_SUBREV_F16 => {
            let (a, b) = (s(0), s(1));
            let (a, b) = if inst.op == Op::V_SUB_F16 { (a, b) } else { (b, a) };
            let b = negate(e, b);
            add(e, a, b)
        }
        Op::V_MAC_F16 | Op::V_MADMK_F16 | Op::V_MADAK_F16 | Op::V_MAD_F16 | Op::V_MAD_LEGACY_F16 => {
            let (a, b, c) = (s(0), s(1), s(2));
            e.call_mode(&pure::MAD_F16, 0, &[a, b, c])
        }
        Op::V_FMA_F16 | Op::V_FMA_LEGACY_F16 => {
            let (a, b, c) = (s(0), s(1), s(2));
            fma(e, a, b, c)
        }
        Op::V_MIN_F16 | Op::V_MAX_F16 => {
            let (a, b) = (s(0), s(1));
            min_max(e, inst.op == Op::V_MAX_F16, a, b)
        }
        Op::V_MIN3_F16 | Op::V_MAX3_F16 => {
            let (a, b, c) = (s(0), s(1), s(2));
            let maximum = inst.op == Op::V_MAX3_F16;
            let two = min_max(e, maximum, a, b);
            min_max(e, maximum, two, c)
        }
        Op::V_MED3_F16 => {
            let (a, b, c) = (s(0), s(1), s(2));
            median(e, a, b, c)
        }
        Op::V_FLOOR_F16 | Op::V_CEIL_F16 | Op::V_TRUNC_F16 | Op::V_RNDNE_F16 | Op::V_FRACT_F16 => {
            let a = s(0);
            to_integral(e, inst.op, a)
        }
        Op::V_LDEXP_F16 => {
            let a = s(0);
            let exponent = e.src16(inst, 1);
            e.call_mode(&pure::LDEXP_F16, 0, &[a, exponent])
        }
        Op::V_DIV_FIXUP_F16 | Op::V_DIV_FIXUP_LEGACY_F16 => {
            let (a, b, c) = (s(0), s(1), s(2));
            e.b.call_pure(&pure::DIV_FIXUP_F16, &[a, b, c])
        }
        Op::V_FREXP_EXP_I16_F16 => {
            let a = s(0);
            let value = e.call_mode(&pure::FREXP_EXP_F16, 0, &[a]);
            e.set_dst16(inst, value);
            return true;
        }
        Op::V_PACK_B32_F16 => {
            let (a, b) = (s(0), s(1));
            let (a, b) = (e.flush_half_source(a), e.flush_half_source(b));
            let value = e.pack(a, b);
            e.set_dst32(inst, value);
            return true;
        }
        op => {
            let Some(callee) = function(op, inst.generation) else { return false };
            let a = s(0);
            e.call_mode(callee, 0, &[a])
        }
    };
    e.finish_f16(inst, value);
    true
}

/// Functions of one half that are calls.
fn function(op: Op, generation: Generation) -> Option<&'static PureFn> {
    Some(match op {
        Op::V_EXP_F16 => &pure::EXP_F16,
        Op::V_LOG_F16 => &pure::LOG_F16,
        Op::V_SIN_F16 if generation.has_any_turns() => &pure::SIN_ANY_F16,
        Op::V_SIN_F16 => &pure::SIN_F16,
        Op::V_COS_F16 if generation.has_any_turns() => &pure::COS_ANY_F16,
        Op::V_COS_F16 => &pure::COS_F16,
        Op::V_RCP_F16 => &pure::RCP_F16,
        Op::V_RSQ_F16 => &pure::RSQ_F16,
        Op::V_SQRT_F16 => &pure::SQRT_F16,
        Op::V_FREXP_MANT_F16 => &pure::FREXP_MANT_F16,
        _ => return None,
    })
}

/// Widens; NaNs become NaNs of any kind.
pub(in crate::gcn::lift) fn widen(e: &mut Emit<'_>, bits: Value) -> Value {
    e.b.convert(Opcode::F16ToF32, bits, Scalar::F32)
}

/// Rounds to the nearest half.
pub(in crate::gcn::lift) fn narrow(e: &mut Emit<'_>, value: Value) -> Value {
    e.b.convert(Opcode::F32ToF16, value, Scalar::I32)
}

/// The other sign.
pub(in crate::gcn::lift) fn negate(e: &mut Emit<'_>, bits: Value) -> Value {
    let sign = e.b.i32(0x8000);
    e.b.ixor(bits, sign)
}

/// An operation of f32, rounded again, where MODE allows it.
fn through_single(e: &mut Emit<'_>, op: Opcode, callee: &'static PureFn, a: Value, b: Value) -> Value {
    if e.lowering(Width::Half) != (FloatLowering::Plain { ftz: false }) {
        return e.call_mode(callee, 0, &[a, b]);
    }
    let (a, b, ftz) = (widen(e, a), widen(e, b), e.flushes_single());
    let value = e.b.float(op, &[a, b], ftz);
    narrow(e, value)
}

/// Sum.
pub(in crate::gcn::lift) fn add(e: &mut Emit<'_>, a: Value, b: Value) -> Value {
    through_single(e, Opcode::Fadd, &pure::ADD_F16, a, b)
}

/// Product.
pub(in crate::gcn::lift) fn mul(e: &mut Emit<'_>, a: Value, b: Value) -> Value {
    through_single(e, Opcode::Fmul, &pure::MUL_F16, a, b)
}

/// Fused multiply-add. The product is exact in f32. Of the sum, the error of its rounding is found exactly; if there is one, the
/// sum is cut off instead, and made odd: it then lies on the right side of every half and of every middle between two.
pub(in crate::gcn::lift) fn fma(e: &mut Emit<'_>, a: Value, b: Value, c: Value) -> Value {
    if e.lowering(Width::Half) != (FloatLowering::Plain { ftz: false }) {
        return e.call_mode(&pure::FMA_F16, 0, &[a, b, c]);
    }
    let (a, b, c) = (widen(e, a), widen(e, b), widen(e, c));
    let ftz = e.flushes_single();
    let mut float = |op, x, y| e.b.float(op, &[x, y], ftz);
    let product = float(Opcode::Fmul, a, b);
    let sum = float(Opcode::Fadd, product, c);
    let c_part = float(Opcode::Fsub, sum, product);
    let p_part = float(Opcode::Fsub, sum, c_part);
    let p_error = float(Opcode::Fsub, product, p_part);
    let c_error = float(Opcode::Fsub, c, c_part);
    let error = float(Opcode::Fadd, p_error, c_error);
    let zero = e.b.f32(0.0);
    let inexact = e.b.fcmp(FloatCC::One, error, zero, ftz);
    let (bits, error) = (e.b.bitcast(sum, Scalar::I32), e.b.bitcast(error, Scalar::I32));
    let signs = e.b.ixor(bits, error);
    let beyond = e.sshr_const(signs, 31);
    let cut = e.b.iadd(bits, beyond);
    let one = e.b.i32(1);
    let odd = e.b.ior(cut, one);
    let bits = e.b.select(inexact, odd, bits);
    let sum = e.b.bitcast(bits, Scalar::F32);
    narrow(e, sum)
}

/// Minimum or maximum; denormals obey MODE on 1.4 only.
pub(in crate::gcn::lift) fn min_max(e: &mut Emit<'_>, maximum: bool, a: Value, b: Value) -> Value {
    let follows_mode = e.own.generation >= Generation::Gfx9;
    let plain = match e.mode() {
        Mode::Known(mode) if mode.denorm64 == 3 || !follows_mode => Some(mode.ieee),
        _ => None,
    };
    let Some(ieee) = plain else {
        let form = pure::extreme_form(maximum, follows_mode);
        return e.call_mode(&pure::MIN_MAX_F16, form, &[a, b]);
    };
    // At the top of words halves are ordered as integers are, those below zero the other way round.
    let (x, y) = (e.shl_const(a, 16), e.shl_const(b, 16));
    let first = if maximum { e.b.icmp(IntCC::Sgt, x, y) } else { e.b.icmp(IntCC::Slt, x, y) };
    let (zero, signs) = (e.b.i32(0), e.b.iand(x, y));
    let below_zero = e.b.icmp(IntCC::Slt, signs, zero);
    let first = e.b.ixor(first, below_zero);
    let mut value = e.b.select(first, a, b);
    let infinity = e.b.i32(0x7c00);
    for (source, other) in [(b, a), (a, b)] {
        let magnitude = e.and_const(source, 0x7fff);
        let nan = e.b.icmp(IntCC::Sgt, magnitude, infinity);
        value = e.b.select(nan, other, value);
    }
    if ieee {
        // With the quiet bit flipped, signalling NaNs are above all others.
        let [x, y] = [a, b].map(|source| {
            let quiet = e.b.i32(0x200);
            let bits = e.b.ixor(source, quiet);
            e.and_const(bits, 0x7fff)
        });
        let (highest, nan) = (e.b.smax(x, y), e.b.i32(0x7e00));
        let signals = e.b.icmp(IntCC::Sgt, highest, nan);
        value = e.b.select(signals, nan, value);
    }
    value
}

fn median(e: &mut Emit<'_>, a: Value, b: Value, c: Value) -> Value {
    let low = min_max(e, false, a, b);
    let high = min_max(e, true, a, b);
    let upper = min_max(e, false, high, c);
    let median = min_max(e, true, low, upper);
    let least = min_max(e, false, low, c);
    let infinity = e.b.i32(0x7c00);
    let mut value = median;
    for source in [a, b, c] {
        let magnitude = e.and_const(source, 0x7fff);
        let nan = e.b.icmp(IntCC::Sgt, magnitude, infinity);
        value = e.b.select(nan, least, value);
    }
    value
}

fn to_integral(e: &mut Emit<'_>, op: Op, a: Value) -> Value {
    let a = e.flush_half_source(a);
    let a = widen(e, a);
    let value = match op {
        Op::V_FLOOR_F16 => e.b.ffloor(a),
        Op::V_CEIL_F16 => e.b.fceil(a),
        Op::V_TRUNC_F16 => e.b.ftrunc(a),
        Op::V_RNDNE_F16 => e.b.fnearest(a),
        _ => {
            let (floor, ftz) = (e.b.ffloor(a), e.flushes_single());
            let fraction = e.b.float(Opcode::Fsub, &[a, floor], ftz);
            let bits = narrow(e, fraction);
            // Below 1, also where it rounds to that.
            let (one, below) = (e.b.i32(0x3c00), e.b.i32(0x3bff));
            let is_one = e.b.icmp(IntCC::Eq, bits, one);
            return e.b.select(is_one, below, bits);
        }
    };
    narrow(e, value)
}
