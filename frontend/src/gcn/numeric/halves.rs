//! Functions of f16 ([`super::trans::half`] and others) as f32 formulas, for compiled code.
//!
//! Every f16 is exactly an f32, so functions that only split a number (exponent, fraction) are exact. Quotients and roots are
//! rounded twice, which does not change the result; `tests.rs` shows that for all arguments.

use warpjit_ir::{Builder, Scalar, Value};

use super::number::Single;
use super::scaling::{self, Flush};
use super::trans::FEW_TURNS;
use super::{Mode, Width, pure};
use crate::formula::elementary::{ANY_TURNS, exp2, log2, of_turns};
use crate::formula::{Lanes, Ops, is_tiny};
use crate::soft::Rounding;

/// The one NaN: no sign.
fn one_nan<O: Ops>(o: &mut O, result: O::Word) -> O::Word {
    let size = o.and_bits(result, 0x7fff);
    let is_nan = o.above(size, 0x7c00);
    o.put(is_nan, 0x7e00, result)
}

/// The bits of the f32 that an f16 is.
fn widened<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let wide = o.widen(x);
    o.bits(wide)
}

/// The function `of` of an f16, on the bits of f32.
fn through_single<O: Ops>(o: &mut O, x: O::Word, of: impl FnOnce(&mut O, O::Word) -> O::Word) -> O::Word {
    let bits = widened(o, x);
    let result = of(o, bits);
    let result = o.of_bits(result);
    let half = o.narrow(result);
    one_nan(o, half)
}

/// 1 / x.
pub fn rcp<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    through_single(o, x, |o, x| {
        let (x, one) = (o.of_bits(x), o.single(1.0));
        let y = o.single_div(one, x);
        o.bits(y)
    })
}

/// sqrt(x).
pub fn sqrt<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    through_single(o, x, |o, x| {
        let x = o.of_bits(x);
        let y = o.single_sqrt(x);
        o.bits(y)
    })
}

/// 1 / sqrt(x).
pub fn rsq<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    through_single(o, x, |o, x| {
        let (x, one) = (o.of_bits(x), o.single(1.0));
        let y = o.single_sqrt(x);
        let y = o.single_div(one, y);
        o.bits(y)
    })
}

/// The function `of` of an f16 as an f64. On the way to f16 is an f32 that is cut off, and odd where it lost something, so that it lies on
/// the right side of every middle between two halves.
fn through_double<O: Ops>(o: &mut O, x: O::Word, of: impl FnOnce(&mut O, O::Double) -> O::Double) -> O::Word {
    let wide = o.widen(x);
    let wide = o.promote(wide);
    let y = of(o, wide);
    let single = o.demote(y);
    let (bits, again) = (o.bits(single), o.promote(single));
    let [size, size_again] = [y, again].map(|y| o.double_abs(y));
    let beyond = o.double_lt(size, size_again);
    let less = o.add_bits(bits, u32::MAX);
    let cut = o.select(beyond, less, bits);
    let one = o.word(1);
    let odd = o.or(cut, one);
    let exact = o.double_eq(size, size_again);
    let result = o.select(exact, bits, odd);
    // What is too small for f32 is zero.
    let is_tiny = is_tiny(o, bits);
    let result = o.select(is_tiny, bits, result);
    let result = o.of_bits(result);
    let half = o.narrow(result);
    one_nan(o, half)
}

/// 2^x.
pub fn exp<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    through_double(o, x, |o, x| exp2(o, x))
}

/// log2(x).
pub fn log<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    through_double(o, x, |o, x| log2(o, x))
}

/// Sine of x turns, 0 beyond [`FEW_TURNS`].
pub fn sin<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    through_double(o, x, |o, x| of_turns(o, x, FEW_TURNS, false))
}

/// Cosine of x turns, 1 beyond [`FEW_TURNS`].
pub fn cos<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    through_double(o, x, |o, x| of_turns(o, x, FEW_TURNS, true))
}

/// Sine of any number of turns.
pub fn sin_any<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    through_double(o, x, |o, x| of_turns(o, x, ANY_TURNS, false))
}

/// Cosine of any number of turns.
pub fn cos_any<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    through_double(o, x, |o, x| of_turns(o, x, ANY_TURNS, true))
}

/// Denormals stay.
const KEEP: Flush = Flush { inputs: false, outputs: false };

/// The significand of `frexp`.
pub fn significand<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    through_single(o, x, |o, x| scaling::significand::<Single, _>(o, x, false, KEEP))
}

/// The exponent of `frexp`, a half.
pub fn power<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let bits = widened(o, x);
    let power = scaling::power::<Single, _>(o, bits, 0, KEEP);
    o.and_bits(power, 0xffff)
}

/// `x * 2^exponent`, the exponent a half.
pub fn ldexp<O: Ops>(o: &mut O, x: O::Word, exponent: O::Word) -> O::Word {
    let exponent = o.shl(exponent, 16);
    let exponent = o.sar(exponent, 16);
    through_single(o, x, |o, x| scaling::ldexp::<Single, _>(o, x, exponent, KEEP))
}

/// `v_div_fixup_f16`; no quotient of f16 is too small for that of f32.
pub fn fixup<O: Ops>(o: &mut O, quotient: O::Word, denominator: O::Word, numerator: O::Word) -> O::Word {
    let [d, n] = [denominator, numerator].map(|x| widened(o, x));
    through_single(o, quotient, |o, quotient| scaling::fixup::<Single, _>(o, quotient, d, n))
}

/// The f16 nearest to an f32 (its bits) towards zero. `flushes`: denormals become zeros.
pub fn towards_zero<O: Ops>(o: &mut O, x: O::Word, flushes: bool) -> O::Word {
    let single = o.of_bits(x);
    let nearest = o.narrow(single);
    let wide = widened(o, nearest);
    let [size, size_again] = [x, wide].map(|x| o.and_bits(x, 0x7fff_ffff));
    // Of a NaN one of its neighbours, which is a NaN too.
    let beyond = o.ult(size, size_again);
    let less = o.add_bits(nearest, u32::MAX);
    let half = o.select(beyond, less, nearest);
    let half = if flushes {
        let exponent = o.and_bits(half, 0x7c00);
        let is_tiny = o.is(exponent, 0);
        let zero = o.and_bits(half, 0x8000);
        o.select(is_tiny, zero, half)
    } else {
        half
    };
    one_nan(o, half)
}

/// [`super::convert::norm16`] of an f32's bits.
pub fn norm16<O: Ops>(o: &mut O, x: O::Word, signed: bool) -> O::Word {
    // A sum with it has the nearest integer in its low bits.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let (low, scale) = if signed { (-1.0, 32767.0) } else { (0.0, 65535.0) };
    let single = o.of_bits(x);
    let wide = o.promote(single);
    let [low, high, scale, whole] = [low, 1.0, scale, WHOLE].map(|value| o.double(value));
    let is_less = o.double_lt(wide, low);
    let clamped = o.double_select(is_less, low, wide);
    let is_more = o.double_lt(high, clamped);
    let clamped = o.double_select(is_more, high, clamped);
    let scaled = o.double_mul(clamped, scale);
    let sum = o.double_add(scaled, whole);
    let bits = o.wide_bits(sum);
    let bits = o.low(bits);
    let number = o.and_bits(bits, 0xffff);
    let size = o.and_bits(x, 0x7fff_ffff);
    let is_nan = o.above(size, 0x7f80_0000);
    o.put(is_nan, 0, number)
}

/// Whether MODE is known, keeps f16's denormals and rounds to nearest.
fn is_usual(b: &Builder<'_>, mode: Value) -> bool {
    b.func.as_const(mode).is_some_and(|bits| {
        let mode = Mode(bits as u32 & 0xffff);
        let keeps = !mode.flushes_inputs(Width::Half) && !mode.flushes_outputs(Width::Half);
        keeps && mode.rounding(Width::Half) == Rounding::Nearest && bits >> pure::FORM == 0
    })
}

macro_rules! expansions {
    ($($expand:ident = $formula:ident;)*) => {
        $(
            /// For compiled code.
            pub fn $expand(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
                let &[mode, x] = args else { return None };
                is_usual(b, mode).then(|| $formula(&mut Lanes::new(b, ftz), x))
            }
        )*
    };
}

expansions! {
    rcp_f16 = rcp;
    sqrt_f16 = sqrt;
    rsq_f16 = rsq;
    exp_f16 = exp;
    log_f16 = log;
    sin_f16 = sin;
    cos_f16 = cos;
    sin_any_f16 = sin_any;
    cos_any_f16 = cos_any;
    significand_f16 = significand;
    power_f16 = power;
}

/// For compiled code.
pub fn f16_towards_zero(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
    let &[mode, x] = args else { return None };
    let mode = Mode(b.func.as_const(mode)? as u32 & 0xffff);
    let x = b.bitcast(x, Scalar::I32);
    Some(towards_zero(&mut Lanes::new(b, ftz), x, mode.flushes_outputs(Width::Half)))
}

/// For compiled code.
pub fn norm_i16(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
    norm(b, args, ftz, true)
}

/// For compiled code.
pub fn norm_u16(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
    norm(b, args, ftz, false)
}

fn norm(b: &mut Builder<'_>, args: &[Value], ftz: bool, signed: bool) -> Option<Value> {
    let &[x] = args else { return None };
    let x = b.bitcast(x, Scalar::I32);
    Some(norm16(&mut Lanes::new(b, ftz), x, signed))
}

/// For compiled code.
pub fn ldexp_f16(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
    let &[mode, x, exponent] = args else { return None };
    is_usual(b, mode).then(|| ldexp(&mut Lanes::new(b, ftz), x, exponent))
}

/// For compiled code.
pub fn fixup_f16(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
    let &[q, d, n] = args else { return None };
    Some(fixup(&mut Lanes::new(b, ftz), q, d, n))
}
