//! Computes the steps of the division sequence: scaling, fused multiply-add with scaling, fix-up.

use super::arith::{fma, ldexp};
use super::{Mode, Width};

/// What differs between the formats: by how much is scaled, and from which difference or exponent on.
struct Limits {
    /// Binary exponent of the scale.
    scale: i32,
    /// If numerator's exponent - denominator's exponent is this or more, the quotient is near the largest finite number.
    large: i32,
    /// Exponent field of a numerator that is so small that the residual would be lost.
    tiny: i32,
    /// If that difference is below this, the quotient is zero.
    underflow: i32,
}

fn limits(width: Width) -> Limits {
    match width {
        Width::Double => Limits { scale: 128, large: 768, tiny: 53, underflow: -1075 },
        // Half precision has a fix-up only, without underflow.
        Width::Half => Limits { scale: 0, large: 0, tiny: 0, underflow: i32::MIN },
        Width::Single => Limits { scale: 64, large: 96, tiny: 23, underflow: -150 },
    }
}

/// Exponent field.
fn exponent(width: Width, a: u64) -> i32 {
    let format = width.format();
    ((a & format.infinity()) >> format.fraction) as i32
}

/// `v_div_scale`: `a` (the denominator or the numerator again), scaled so that nothing overflows or becomes
/// denormal in the sequence, and whether the quotient has to be scaled back.
pub fn scale(width: Width, a: u64, denominator: u64, numerator: u64) -> (u64, bool) {
    let format = width.format();
    let size = |x: u64| x & !format.sign_bit();
    let limits = limits(width);
    let scaled = |by: i32| ldexp(width, Mode::NEAREST, a, by);
    let is_denominator = a == denominator;
    if size(denominator) == 0 || size(numerator) == 0 {
        return (width.nan(), false);
    }
    let difference = exponent(width, numerator) - exponent(width, denominator);
    // Whether a quotient is denormal: less than the smallest normal number but not rounded to zero.
    let denormal = |numerator: u64| {
        let all = |x: u64| format.is_nan(x) || format.is_infinite(x);
        if all(numerator) || all(denominator) {
            return false;
        }
        let (n, d) = (format.unpack(size(numerator)), format.unpack(size(denominator)));
        // n < 2^e d
        let below = |e: i32| {
            let shift = n.exponent - d.exponent - e;
            match shift {
                0..=60 => n.magnitude << shift < d.magnitude,
                -60..0 => n.magnitude < d.magnitude << -shift,
                _ => shift < 0,
            }
        };
        let least = 1 - format.bias;
        below(least) && !below(least - format.fraction as i32 - 1)
    };
    let one = (format.bias as u64) << format.fraction;
    let (small_quotient, small_reciprocal) = (denormal(numerator), denormal(one));
    if difference >= limits.large {
        (if is_denominator { scaled(limits.scale) } else { a }, true)
    } else if exponent(width, denominator) == 0 {
        (scaled(limits.scale), false)
    } else if small_reciprocal && small_quotient {
        (if is_denominator { scaled(-limits.scale) } else { a }, true)
    } else if small_reciprocal {
        (scaled(-limits.scale), false)
    } else if small_quotient {
        (if a == numerator { scaled(limits.scale) } else { a }, true)
    } else if exponent(width, numerator) <= limits.tiny {
        (scaled(limits.scale), false)
    } else {
        (a, false)
    }
}

/// How `v_div_fmas` scales.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FmasScale {
    /// Not at all.
    None,
    /// By 2^32 (f32), 2^64 (f64): what documents say for any VCC.
    Up,
    /// Back by what `v_div_scale` scaled: up for an addend of at least 2, else down.
    Back,
}

/// `v_div_fmas`: multiply-add, times the scale.
pub fn fmas(width: Width, mode: Mode, scale: FmasScale, a: u64, b: u64, c: u64) -> u64 {
    let sum = fma(width, mode, a, b, c);
    let by = limits(width).scale;
    match scale {
        FmasScale::None => sum,
        FmasScale::Up => ldexp(width, mode, sum, by / 2),
        FmasScale::Back if exponent(width, c) > width.format().bias => ldexp(width, mode, sum, by),
        FmasScale::Back => ldexp(width, mode, sum, -by),
    }
}

/// `v_div_fixup`: the quotient, with signs, zeros, infinities and NaNs put right.
pub fn fixup(width: Width, quotient: u64, denominator: u64, numerator: u64) -> u64 {
    let format = width.format();
    let size = |x: u64| x & !format.sign_bit();
    let sign = (denominator ^ numerator) & format.sign_bit();
    let (d, n) = (size(denominator), size(numerator));
    if format.is_nan(denominator) || format.is_nan(numerator) {
        return width.nan();
    }
    if (d == 0 && n == 0) || (format.is_infinite(d) && format.is_infinite(n)) {
        return width.nan();
    }
    if d == 0 || format.is_infinite(n) {
        return sign | format.infinity();
    }
    if format.is_infinite(d) || n == 0 {
        return sign;
    }
    if exponent(width, n) - exponent(width, d) < limits(width).underflow {
        return sign;
    }
    if format.is_nan(quotient) {
        // The sequence makes a NaN of a quotient that overflows by more than the scale (CLRX's description).
        return sign | format.infinity();
    }
    sign | size(quotient)
}
