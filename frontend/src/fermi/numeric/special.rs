//! The special-function unit. docs/hardware/fermi.md has no bits of the hardware's; the vendor promises 2 units in the last place (sine and
//! cosine: an absolute error of 2^-21 for angles of up to pi). These are formulas of f64 arithmetic, rounded once to f32
//! ([`crate::formula::elementary`]), the same on every host.
//!
//! The preparation (RRO) keeps the argument in radians or as the exponent it is.

use super::{NAN, NAN64, SIGN};
use crate::formula::Ops;
use crate::formula::elementary::{exp2, log2, of_angle, of_single};

/// Sine of an angle.
pub fn sin<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    of_single(o, x, NAN, |o, x| of_angle(o, x, false))
}

/// Cosine of an angle.
pub fn cos<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    of_single(o, x, NAN, |o, x| of_angle(o, x, true))
}

/// Power of 2.
pub fn ex2<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    of_single(o, x, NAN, |o, x| exp2(o, x))
}

/// Logarithm to base 2.
pub fn lg2<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    of_single(o, x, NAN, |o, x| log2(o, x))
}

/// The upper word of an f64 function of a number whose lower word is 0.
fn upper<O: Ops>(o: &mut O, x: O::Word, function: impl FnOnce(&mut O, O::Double) -> O::Double) -> O::Word {
    let x = flush(o, x);
    let x = o.extend(x);
    let x = o.wide_shl(x, 32);
    let x = o.of_wide_bits(x);
    let y = function(o, x);
    let bits = o.wide_bits(y);
    let bits = o.wide_shr(bits, 32);
    let bits = o.low(bits);
    let bits = flush(o, bits);
    let number = o.double_eq(y, y);
    let nan = o.word((NAN64 >> 32) as u32);
    o.select(number, bits, nan)
}

/// Zero for the upper word of a denormal.
fn flush<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let exponent = o.and_bits(x, 0x7ff0_0000);
    let small = o.is(exponent, 0);
    let sign = o.and_bits(x, SIGN);
    o.select(small, sign, x)
}

/// Upper word of a reciprocal.
pub fn rcp64h<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    upper(o, x, |o, x| {
        let one = o.double(1.0);
        o.double_div(one, x)
    })
}

/// Upper word of a reciprocal square root.
pub fn rsqrt64h<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    upper(o, x, |o, x| {
        let root = o.double_sqrt(x);
        let one = o.double(1.0);
        o.double_div(one, root)
    })
}

/// The same for approximate numerics ([`crate::formula::fast`]).
pub mod quick {
    use super::NAN;
    use crate::formula::{Ops, fast};

    /// Sine of an angle.
    pub fn sin<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
        fast::of_angle(o, x, false, NAN)
    }

    /// Cosine of an angle.
    pub fn cos<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
        fast::of_angle(o, x, true, NAN)
    }

    /// Power of 2.
    pub fn ex2<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
        fast::exp2(o, x, NAN)
    }

    /// Logarithm to base 2.
    pub fn lg2<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
        fast::lg2(o, x, NAN)
    }
}
