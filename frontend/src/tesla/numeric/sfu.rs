//! Computes the special-function unit bit for bit: quadratic interpolation in the chip's tables.

use super::f32::{INFINITY, NAN, ONE, SIGN, is_nan};
use super::sfu_tables as tables;

const FRACTION: u32 = 0x007f_ffff;
const IMPLICIT: i64 = 1 << 23;

/// The truncated squarer of 17-bit numbers: partial products lose the bits that fall below the result, which is
/// `(sum over set bits i of x >> (18 - i)) >> 1`.
///
/// Each pair of different bits stands twice in that sum. Of the upper eight bits no product is cut, so together they
/// give half their square. Of a lower and an upper bit, those products stay whose weights reach 18: row `m` of
/// [`CROSS`] and [`CROSS_LOW`], bit `16 - m` times the bits from `m + 2` up. Two lower bits never reach it.
pub(super) fn square(x: u32) -> i64 {
    let upper = x >> 9;
    let lower = x >> 2 & 0x7f;
    let cross = u32::from(CROSS[(x >> 13 & 15) as usize][lower as usize]);
    let cross_low = u32::from(CROSS_LOW[(x >> 10 & 7) as usize][(lower >> 4) as usize]);
    i64::from(((upper * upper) >> 1) + cross + cross_low)
}

/// For bits 13 to 16 (the row) and bits 2 to 8 (the column): the sum of their products.
static CROSS: [[u8; 128]; 16] = {
    let mut table = [[0; 128]; 16];
    let mut row = 0;
    while row < 16 {
        let mut column = 0;
        while column < 128 {
            let mut m = 0;
            while m < 4 {
                if row >> (3 - m) & 1 != 0 {
                    table[row][column] += (column >> m) as u8;
                }
                m += 1;
            }
            column += 1;
        }
        row += 1;
    }
    table
};

/// For bits 10 to 12 and bits 6 to 8, likewise.
static CROSS_LOW: [[u8; 8]; 8] = {
    let mut table = [[0; 8]; 8];
    let mut row = 0;
    while row < 8 {
        let mut column = 0;
        while column < 8 {
            let mut m = 0;
            while m < 3 {
                if row >> (2 - m) & 1 != 0 {
                    table[row][column] += (column >> m) as u8;
                }
                m += 1;
            }
            column += 1;
        }
        row += 1;
    }
    table
};

/// `row[0] << value_shift + row[1] * x + row[2] * squared << square_shift`.
fn interpolate(row: [i32; 3], x: u32, squared: i64, value_shift: u32, square_shift: u32) -> i64 {
    (i64::from(row[0]) << value_shift)
        + i64::from(row[1]) * i64::from(x)
        + ((i64::from(row[2]) * squared) << square_shift)
}

/// Packs a significand in `[2^23, 2^24]`; results below the smallest normal number are zero.
fn pack(sign: u32, mut exponent: i32, significand: i64) -> u32 {
    let mut fraction = (significand - IMPLICIT) as u32;
    if fraction > FRACTION {
        fraction = 0;
        exponent += 1;
    }
    if exponent <= 0 {
        return sign;
    }
    sign | (exponent as u32) << 23 | fraction
}

fn exponent(x: u32) -> i32 {
    (x >> 23 & 0xff) as i32
}

/// `1 / x`.
pub fn rcp(x: u32) -> u32 {
    let sign = x & SIGN;
    match exponent(x) {
        0 => sign | INFINITY,
        0xff if is_nan(x) => NAN,
        0xff => sign,
        e => {
            let fraction = x & FRACTION;
            let rest = fraction & 0xffff;
            let row = tables::RCP[(fraction >> 16) as usize];
            let sum = interpolate(row, rest, square(rest << 1), 13, 0);
            pack(sign, 253 - e, (sum + 0x47e7) >> 15)
        }
    }
}

/// `1 / sqrt(x)`.
pub fn rsqrt(x: u32) -> u32 {
    let sign = x & SIGN;
    match exponent(x) {
        0 => sign | INFINITY,
        _ if sign != 0 || is_nan(x) => NAN,
        0xff => 0,
        e => {
            let power = e - 127;
            // Odd powers use the upper half of the table: the argument is normalised to [1, 4).
            let argument = x & FRACTION | ((power & 1) as u32) << 23;
            let half = power >> 1;
            if argument == 0 {
                return ((127 - half) as u32) << 23;
            }
            let rest = argument & 0x1ffff;
            let row = tables::RSQRT[(argument >> 17) as usize];
            let sum = interpolate(row, rest, square(rest), 14, 2);
            pack(0, 126 - half, (sum + 0x7fff) >> 16)
        }
    }
}

/// `log2(x)`.
pub fn lg2(x: u32) -> u32 {
    match exponent(x) {
        0 => return SIGN | INFINITY,
        _ if x & SIGN != 0 || is_nan(x) => return NAN,
        0xff => return INFINITY,
        _ => {}
    }
    let fraction = x & FRACTION;
    let mut sum = 0;
    if x != ONE {
        let rest = fraction & 0x1ffff;
        let row = tables::LG2[(fraction >> 17) as usize];
        sum = (interpolate(row, rest, square(rest), 12, 1) + 0x3345) >> 2;
    }
    sum += i64::from(exponent(x) - 127) << 36;
    let mut sign = 0;
    if sum < 0 {
        sign = SIGN;
        sum = !sum;
    }
    normalized(sign, sum, 42, 127 + 6)
}

/// Packs a fixed-point magnitude by truncation; `top` is the bit whose exponent field is `field`.
fn normalized(sign: u32, magnitude: i64, top: u32, field: i32) -> u32 {
    if magnitude == 0 {
        return sign;
    }
    let up = magnitude.leading_zeros() as i32 - (63 - top as i32);
    let magnitude = magnitude << up.max(0) >> (-up).max(0);
    pack(sign, field - up, magnitude >> (top - 23))
}

/// `sin` of what [`presin`] made of the argument.
pub fn sin(x: u32) -> u32 {
    sin_quadrant(x, x & SIGN, x >> 23)
}

/// `cos` of what [`presin`] made of the argument: one quadrant on, the sign dropped.
pub fn cos(x: u32) -> u32 {
    sin_quadrant(x, 0, (x >> 23) + 1)
}

fn sin_quadrant(x: u32, sign: u32, quadrant: u32) -> u32 {
    // Bit 30 marks infinity and NaN.
    if x >> 30 & 1 != 0 {
        return NAN;
    }
    let fraction = if quadrant & 1 != 0 { !x } else { x } & FRACTION;
    let sign = sign ^ (quadrant & 2) << 30;
    let rest = fraction & 0x1ffff;
    let row = tables::SIN[(fraction >> 17) as usize];
    normalized(sign, interpolate(row, rest, square(rest), 11, 0), 37, 127)
}

/// `2^x` of what [`preex2`] made of the argument.
pub fn ex2(x: u32) -> u32 {
    let negative = x & SIGN != 0;
    if x >> 30 & 1 != 0 {
        return match (x >> 23 & 1 != 0, negative) {
            (false, _) => NAN,
            (true, false) => INFINITY,
            (true, true) => 0,
        };
    }
    let mut whole = exponent(x);
    let mut fraction = x & FRACTION;
    if negative {
        whole = -whole;
        if fraction != 0 {
            whole -= 1;
            fraction = !fraction & FRACTION;
        }
    }
    let rest = fraction & 0x1ffff;
    let row = tables::EX2[(fraction >> 17) as usize];
    let sum = interpolate(row, rest, square(rest), 13, 0);
    pack(0, whole + 127, (sum + 0x77e2) >> 15)
}

/// 2/pi, 24 bits.
const TWO_OVER_PI: u64 = 0xa2_f983;

/// Argument of sin and cos as a fixed-point number of quadrants: bit 31 sign, quadrant in bits 23
/// and 24, 23 bits below.
pub fn presin(x: u32) -> u32 {
    prepare(x, |power, significand| {
        // The multiplier keeps 32 bits of the product; what is beyond two quadrant bits drops out.
        let product = (u64::from(significand) * TWO_OVER_PI) >> 16;
        let shift = power - 8;
        let fixed = if shift >= 0 {
            product.checked_shl(shift as u32).unwrap_or(0)
        } else {
            product.checked_shr(shift.unsigned_abs()).unwrap_or(0)
        };
        fixed as u32 & 0x01ff_ffff
    })
}

/// Argument of ex2 in fixed point: bit 31 sign, 7 integer and 23 fraction bits, truncated.
pub fn preex2(x: u32) -> u32 {
    prepare(x, |power, significand| match power {
        7.. => FIXED_INFINITY,
        0..=6 => significand << power,
        _ => significand.checked_shr(power.unsigned_abs()).unwrap_or(0),
    })
}

const FIXED_NAN: u32 = 0x4000_0000;
const FIXED_INFINITY: u32 = 0x4080_0000;

/// The special cases of both fixed-point forms; `finite` gets the power of two and the significand.
fn prepare(x: u32, finite: impl Fn(i32, u32) -> u32) -> u32 {
    let sign = x & SIGN;
    sign | match exponent(x) {
        0 => 0,
        0xff if is_nan(x) => FIXED_NAN,
        0xff => FIXED_INFINITY,
        e => finite(e - 127, x & FRACTION | IMPLICIT as u32),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn square_is_the_sum_of_truncated_partial_products() {
        for x in 0..1 << 17 {
            let sum: u32 = (0..17).filter(|bit| x >> bit & 1 != 0).map(|bit| x >> (18 - bit)).sum();
            assert_eq!(super::square(x), i64::from(sum >> 1), "{x:#x}");
        }
    }
}
