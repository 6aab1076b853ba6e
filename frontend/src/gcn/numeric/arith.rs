//! Computes sums, products, fused multiply-adds and similar in any rounding and denormal mode.

use std::cmp::Ordering;

use super::{Mode, Width};
use crate::soft::{Number, Real, Rounding};

/// A source as the operation sees it.
fn number(width: Width, mode: Mode, bits: u64) -> Number {
    width.format().number(mode.input(width, bits))
}

/// A result as the operation gives it.
fn round(width: Width, mode: Mode, result: Number) -> u64 {
    result.round(&mode.output(width), mode.rounding(width), width.nan())
}

/// Sum.
pub fn add(width: Width, mode: Mode, a: u64, b: u64) -> u64 {
    let sum = number(width, mode, a).plus(number(width, mode, b), mode.rounding(width));
    round(width, mode, sum)
}

/// Product.
pub fn mul(width: Width, mode: Mode, a: u64, b: u64) -> u64 {
    round(width, mode, number(width, mode, a).times(number(width, mode, b)))
}

/// Fused multiply-add.
pub fn fma(width: Width, mode: Mode, a: u64, b: u64, c: u64) -> u64 {
    let [a, b, c] = [a, b, c].map(|x| number(width, mode, x));
    round(width, mode, a.times(b).plus(c, mode.rounding(width)))
}

/// Multiply-add with a rounded product; denormals are zeros whatever MODE says.
pub fn mad(width: Width, mode: Mode, a: u64, b: u64, c: u64) -> u64 {
    let mode = mode.flushing(width);
    add(width, mode, mul(width, mode, a, b), c)
}

/// `a * 2^exponent`.
pub fn ldexp(width: Width, mode: Mode, a: u64, exponent: i32) -> u64 {
    // Beyond this everything over- or underflows, and sums of exponents cannot.
    let exponent = exponent.clamp(-5000, 5000);
    let scaled = number(width, mode, a).map(|real| Real { exponent: real.exponent + exponent, ..real });
    round(width, mode, scaled)
}

/// How two numbers that are no NaNs compare; the zeros are apart, minus below plus.
fn order(width: Width, a: u64, b: u64) -> Ordering {
    let sign = width.format().sign_bit();
    let key = |x: u64| if x & sign != 0 { !x & (sign | (sign - 1)) } else { x | sign };
    key(a).cmp(&key(b))
}

/// Minimum or maximum. One NaN gives the other operand, but a signalling one in IEEE mode gives a quiet NaN.
/// -0 is below +0. `flush`: denormals follow MODE (1.4; before that they are kept).
pub fn min_max(width: Width, mode: Mode, maximum: bool, flush: bool, a: u64, b: u64) -> u64 {
    let format = width.format();
    let through = |x: u64| if flush { mode.input(width, x) } else { x };
    let (a, b) = (through(a), through(b));
    if mode.ieee() && (width.is_signalling(a) || width.is_signalling(b)) {
        return width.nan();
    }
    let chosen = match (format.is_nan(a), format.is_nan(b)) {
        (true, true) => return width.nan(),
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            let first = (order(width, a, b) == Ordering::Less) != maximum;
            if first { a } else { b }
        }
    };
    if flush && mode.flushes_outputs(width) { width.flush(chosen) } else { chosen }
}

/// Significand of `frexp`, 0.5 to 1, with the number's sign. `quiet_infinity`: an infinity gives NaN (1.0).
pub fn frexp_mant(width: Width, mode: Mode, a: u64, quiet_infinity: bool) -> u64 {
    let format = width.format();
    let a = mode.input(width, a);
    if format.is_nan(a) || (format.is_infinite(a) && quiet_infinity) {
        return width.nan();
    }
    if format.is_infinite(a) || a & !format.sign_bit() == 0 {
        return a;
    }
    let real = format.unpack(a);
    let top = 128 - real.magnitude.leading_zeros() as i32;
    format.round(Real { exponent: -top, ..real }, Rounding::Nearest)
}

/// Exponent of `frexp`; 0 for zero, `special` for infinities and NaNs.
pub fn frexp_exp(width: Width, mode: Mode, a: u64, special: i32) -> i32 {
    let format = width.format();
    let a = mode.input(width, a);
    if format.is_nan(a) || format.is_infinite(a) {
        return special;
    }
    if a & !format.sign_bit() == 0 {
        return 0;
    }
    let real = format.unpack(a);
    128 - real.magnitude.leading_zeros() as i32 + real.exponent
}
