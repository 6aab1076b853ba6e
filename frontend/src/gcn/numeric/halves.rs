//! Functions of f16 ([`super::trans::half`] and others) as f32 formulas, for compiled code.
//!
//! Every f16 is exactly an f32, so functions that only split a number (exponent, fraction) are exact. Quotients and roots are
//! rounded twice, which does not change the result; `tests.rs` shows that for all arguments.

use warpjit_ir::{Builder, Value};

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
pub fn ldexp_f16(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
    let &[mode, x, exponent] = args else { return None };
    is_usual(b, mode).then(|| ldexp(&mut Lanes::new(b, ftz), x, exponent))
}

/// For compiled code.
pub fn fixup_f16(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
    let &[q, d, n] = args else { return None };
    Some(fixup(&mut Lanes::new(b, ftz), q, d, n))
}
