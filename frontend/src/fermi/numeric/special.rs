//! The special-function unit. No bits of the hardware's are in the facts; these are the host's f64 functions, rounded once to
//! f32, so right to within a hair of half a unit in the last place, where the vendor promises 2.
//!
//! The preparation (RRO) keeps the argument in radians or as the exponent it is.

use super::{INFINITY, NAN, SIGN, is_nan};

/// Denormals become zeros: the unit knows none.
fn flush(x: u32) -> u32 {
    if x & INFINITY == 0 { x & SIGN } else { x }
}

/// Rounds once, without denormals.
fn rounded(value: f64) -> u32 {
    let bits = (value as f32).to_bits();
    if is_nan(bits) { NAN } else { flush(bits) }
}

fn of(x: u32, function: impl Fn(f64) -> f64) -> u32 {
    if is_nan(x) {
        return NAN;
    }
    rounded(function(f64::from(f32::from_bits(flush(x)))))
}

/// Sine of an angle.
pub fn sin(x: u32) -> u32 {
    of(x, f64::sin)
}

/// Cosine of an angle.
pub fn cos(x: u32) -> u32 {
    of(x, f64::cos)
}

/// Power of 2.
pub fn ex2(x: u32) -> u32 {
    of(x, f64::exp2)
}

/// Logarithm to base 2.
pub fn lg2(x: u32) -> u32 {
    of(x, f64::log2)
}

/// The upper word of an f64 function of a number whose lower word is 0.
fn upper(x: u32, function: impl Fn(f64) -> f64) -> u32 {
    const MAGNITUDE: u32 = 0x7fff_ffff;
    const SMALLEST_NORMAL: u32 = 0x0010_0000;
    let flush = |x: u32| if x & MAGNITUDE < SMALLEST_NORMAL { x & SIGN } else { x };
    let value = function(f64::from_bits(u64::from(flush(x)) << 32));
    if value.is_nan() { (super::NAN64 >> 32) as u32 } else { flush((value.to_bits() >> 32) as u32) }
}

/// Upper word of a reciprocal.
pub fn rcp64h(x: u32) -> u32 {
    upper(x, |x| 1.0 / x)
}

/// Upper word of a reciprocal square root.
pub fn rsqrt64h(x: u32) -> u32 {
    upper(x, |x| 1.0 / x.sqrt())
}
