//! Approximates the special-function unit for approximate numerics: short polynomials in f32, without tables. The preparation
//! instructions (`presin`, `preex2`) give fixed-point numbers and are exact except for the sign of a NaN. Error bounds:
//! `docs/numerics.md`.

use super::f32::{NAN, SIGN};
use super::sfu_formula::{
    FRACTION, IMPLICIT, Nan, no_denormal, number_or_nan, power_of_prepared, preex2_with, presin_with,
    special_power, within_quadrant,
};
use crate::formula::{Ops, fast};

/// `1 / x`.
pub fn rcp<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    fast::rcp(o, x, NAN)
}

/// `1 / sqrt(x)`.
pub fn rsqrt<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    fast::rsqrt(o, x, NAN)
}

/// `log2(x)`.
pub fn lg2<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    fast::lg2(o, x, NAN)
}

/// Argument of sin and cos: a NaN's sign is lost.
pub fn presin<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    presin_with(o, x, Nan::Alike)
}

/// Argument of ex2: a NaN's sign is lost.
pub fn preex2<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    preex2_with(o, x, Nan::Alike)
}

/// `2^x` of a prepared argument.
pub fn ex2<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let power = power_of_prepared(o, x);
    let fraction = o.and_bits(power, FRACTION);
    let significand = fast::exp2_of_fraction(o, fraction);
    let exponent = o.and_bits(power, !FRACTION);
    let result = o.add(exponent, significand);
    let result = no_denormal(o, result);
    special_power(o, x, result)
}

/// `sin` of a prepared argument.
pub fn sin<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let half = o.shl(x, 7);
    let sign = o.xor(x, half);
    quadrant(o, x, x, sign)
}

/// `cos` of a prepared argument.
pub fn cos<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let turned = o.add_bits(x, IMPLICIT);
    let half = o.shl(turned, 7);
    quadrant(o, x, turned, half)
}

fn quadrant<O: Ops>(o: &mut O, x: O::Word, turned: O::Word, sign: O::Word) -> O::Word {
    let fraction = within_quadrant(o, x, turned);
    let fraction = o.and_bits(fraction, FRACTION);
    let result = fast::sin_of_fraction(o, fraction);
    let sign = o.and_bits(sign, SIGN);
    let result = o.or(result, sign);
    number_or_nan(o, x, result)
}
