//! Computes conversions between number formats.

use super::{Mode, Width};
use crate::soft::{Real, Rounding, shift_right};

/// A float in another format, by MODE's rules for both.
pub fn float(from: Width, to: Width, mode: Mode, a: u64) -> u64 {
    float_rounded(from, to, mode, mode.rounding(to), a)
}

/// A float in another format, rounded in a direction of its own.
pub fn float_rounded(from: Width, to: Width, mode: Mode, rounding: Rounding, a: u64) -> u64 {
    let number = from.format().number(mode.input(from, a));
    number.round(&mode.output(to), rounding, to.nan())
}

/// An integer as a float.
pub fn from_int(to: Width, mode: Mode, value: i64) -> u64 {
    let real = Real { negative: value < 0, magnitude: value.unsigned_abs().into(), exponent: 0 };
    mode.output(to).round(real, mode.rounding(to))
}

/// A float as an integer, rounded as told; saturates, NaN gives 0.
pub fn to_int(from: Width, rounding: Rounding, a: u64, low: i64, high: i64) -> i64 {
    let format = from.format();
    if format.is_nan(a) {
        return 0;
    }
    let limit = if a & format.sign_bit() != 0 { low } else { high };
    if format.is_infinite(a) {
        return limit;
    }
    let real = format.unpack(a);
    if real.magnitude != 0 && 128 - real.magnitude.leading_zeros() as i32 + real.exponent > 62 {
        return limit;
    }
    let size = shift_right(real.magnitude, -real.exponent, rounding, real.negative) as i64;
    (if real.negative { -size } else { size }).clamp(low, high)
}

/// `a * scale` to the nearest integer after clamping to -1 (signed) or 0, and 1; NaN gives 0.
pub fn norm16(from: Width, a: u64, signed: bool) -> u32 {
    let format = from.format();
    let a = match float(from, Width::Double, Mode::NEAREST, a) {
        _ if format.is_nan(a) => 0.0,
        wide => f64::from_bits(wide),
    };
    // 53 bits hold the product of 24 and 16.
    let (low, scale) = if signed { (-1.0, 32767.0) } else { (0.0, 65535.0) };
    let scaled = a.clamp(low, 1.0) * scale;
    to_int(Width::Double, Rounding::Nearest, scaled.to_bits(), -0x8000, 0xffff) as u32 & 0xffff
}

/// A byte of `into` replaced by `a` as an integer of 0 to 255.
pub fn pk_u8(mode: Mode, a: u64, index: u32, into: u32) -> u32 {
    let value = to_int(Width::Single, mode.rounding(Width::Single), a, 0, 255) as u32;
    let shift = 8 * (index & 3);
    into & !(0xff << shift) | value << shift
}
