//! The special-function unit as formulas of 32-bit arithmetic, for vector code. They give the same bits as [`super::sfu`].
//!
//! A function interpolates `c0 << k + c1 * rest + c2 * square`, which has about 40 bits. Here `c1 * rest + c2 * square` fits into
//! 32 bits, for two reasons: tables have twice the rows where `rest` would have 17 bits (`rows`), and an offset keeps the sum
//! positive. Its bits from `k` upwards are then added to `c0`.

use super::f32::{INFINITY, NAN, ONE, SIGN};
use super::{pure, sfu_tables};
use crate::formula::{Ops, is_tiny, logarithm, of_positive};
use warpjit_ir::WordTable;

pub(super) const FRACTION: u32 = 0x007f_ffff;
const MAGNITUDE: u32 = 0x7fff_ffff;
pub(super) const IMPLICIT: u32 = 1 << 23;

/// The words of a table: first all `c0`, then all `c1 << 16 | c2`, both as magnitudes.
struct Rows<const N: usize> {
    values: [u32; N],
    slopes: [u32; N],
}

/// Rows of `1 << rest_bits` arguments each, of a table whose rows have 17 bits, or 16 if there are as many already.
///
/// `value_shift` and `square_shift` are those of the unit; `offset`, a multiple of `1 << value_shift`, is taken off here and added
/// to the other terms. `swap`: the halves of the table change places.
const fn rows<const ROWS: usize, const N: usize>(
    table: [[i32; 3]; ROWS],
    value_shift: u32,
    square_shift: u32,
    offset: u64,
    swap: bool,
) -> Rows<N> {
    let parts = N / ROWS;
    let mut values = [0; N];
    let mut slopes = [0; N];
    let mut i = 0;
    while i < N {
        let [c0, c1, c2] = table[i / parts];
        // What the upper bit of the rest would have added.
        let more = (c1 as i64 * (i % parts) as i64) << (16 - value_shift);
        let at = if swap { i ^ (N / 2) } else { i };
        values[at] = (c0 as i64 + more - (offset >> value_shift) as i64) as u32;
        slopes[at] = c1.unsigned_abs() << 16 | c2.unsigned_abs() << square_shift;
        i += 1;
    }
    Rows { values, slopes }
}

/// The same as tables of the IR.
struct Table {
    values: &'static WordTable,
    slopes: &'static WordTable,
}

macro_rules! word_tables {
    ($($name:ident = $text:literal: [$n:literal] = $make:expr;)*) => {
        $(static $name: Table = {
            static ROWS: Rows<$n> = $make;
            static VALUES: WordTable = WordTable::new(concat!($text, ".values"), &ROWS.values);
            static SLOPES: WordTable = WordTable::new(concat!($text, ".slopes"), &ROWS.slopes);
            Table { values: &VALUES, slopes: &SLOPES }
        };)*

        /// Every table that formulas look up.
        pub static TABLES: &[&WordTable] = &[$($name.values, $name.slopes),*];
    };
}

/// Makes `c2 * square - c1 * rest` positive; with the rounding added it fits 32 bits. (`fits` among the tests.)
const RCP_OFFSET: u32 = 0u32.wrapping_sub(1 << 15);
const RSQRT_OFFSET: u32 = 0u32.wrapping_sub(1520 << 14);
const LG2_OFFSET: u32 = 1 << 26;

word_tables! {
    RCP = "tesla.rcp": [128] = rows(sfu_tables::RCP, 13, 0, RCP_OFFSET as u64, false);
    // Odd powers stand first: the index is the lowest bit of the exponent and the upper ones of the fraction.
    RSQRT = "tesla.rsqrt": [256] = rows(sfu_tables::RSQRT, 14, 2, RSQRT_OFFSET as u64, true);
    LG2 = "tesla.lg2": [128] = rows(sfu_tables::LG2, 12, 1, LG2_OFFSET as u64, false);
    SIN = "tesla.sin": [64] = rows(sfu_tables::SIN, 11, 0, 0, false);
    EX2 = "tesla.ex2": [128] = rows(sfu_tables::EX2, 13, 0, 0, false);
}

/// The truncated squarer of the lower 17 bits, see `sfu::square`: half the square of the upper eight bits, and for each set bit
/// from 16 to 10 the seven bits from bit 8 down, shifted to its weight. Those products stand side by side in bytes.
pub fn square<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let x = o.and_bits(x, 0x1_ffff);
    // Bytes: the lower bits shifted right by 0, 1, 2, 3 for bits 16 to 13, and by 4, 5, 6 for bits 12 to 10.
    let lower = o.shr(x, 2);
    let lower = o.and_bits(lower, 0x7f);
    let first = o.mul_bits(lower, 0x0020_4081);
    let first = o.and_bits(first, 0x0f1f_3f7f);
    let second = o.shr(first, 4);
    let second = o.and_bits(second, 0x0001_0307);
    // Bit 16 - m comes to bit 8 m + 6, bit 12 - m to bit 8 m + 2; each becomes as many ones as its term has bits.
    let upper = o.shr(x, 10);
    let spread = o.mul_bits(upper, 0x0804_0201);
    let takes = o.shr(spread, 6);
    let takes = o.and_bits(takes, 0x0101_0101);
    let takes = o.mul_bits(takes, 0x7f);
    let first = o.and(first, takes);
    let takes = o.shr(spread, 2);
    let takes = o.and_bits(takes, 0x0001_0101);
    let takes = o.mul_bits(takes, 7);
    let second = o.and(second, takes);
    let terms = o.add(first, second);
    let terms = o.mul_bits(terms, 0x0101_0101);
    let cross = o.shr(terms, 24);
    let upper = o.shr(x, 9);
    let upper = o.mul(upper, upper);
    let upper = o.shr(upper, 1);
    o.add(upper, cross)
}

/// `c0`, `c2 * square(x)` and `c1 * rest`.
fn terms<O: Ops>(o: &mut O, table: &Table, index: O::Word, x: O::Word, rest: O::Word) -> [O::Word; 3] {
    let packed = o.lookup(table.slopes, index);
    let value = o.lookup(table.values, index);
    let (c1, c2) = (o.shr(packed, 16), o.and_bits(packed, 0xffff));
    let squared = o.call(&pure::SQUARE, x);
    [value, o.mul(c2, squared), o.mul(c1, rest)]
}

/// The terms of the row that the bits from 16 on name.
fn terms_at<O: Ops>(o: &mut O, table: &Table, x: O::Word) -> [O::Word; 3] {
    let index = o.shr(x, 16);
    let rest = o.and_bits(x, 0xffff);
    terms(o, table, index, x, rest)
}

/// Adds the bits of `sum` from `shift` on to the row's value and drops two more: the significand.
fn significand<O: Ops>(o: &mut O, value: O::Word, sum: O::Word, shift: u32) -> O::Word {
    let high = o.shr(sum, shift);
    let whole = o.add(value, high);
    o.shr(whole, 2)
}

/// Zero where the bits are those of a number below the smallest normal one, or below zero.
pub(super) fn no_denormal<O: Ops>(o: &mut O, bits: O::Word) -> O::Word {
    let small = o.below(bits, IMPLICIT);
    o.put(small, 0, bits)
}

/// `1 / x`.
pub fn rcp<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let index = o.shr(x, 16);
    let rest = o.and_bits(x, 0xffff);
    let twice = o.shl(rest, 1);
    let [value, curve, slope] = terms(o, &RCP, index, twice, rest);
    let sum = o.add_bits(curve, RCP_OFFSET.wrapping_add(0x47e7));
    let sum = o.sub(sum, slope);
    let significand = significand(o, value, sum, 13);
    let exponent = o.and_bits(x, INFINITY);
    let result = o.add_bits(significand, 252 << 23);
    let result = o.sub(result, exponent);
    let result = no_denormal(o, result);
    // Zeros and denormals; infinities have come out as zero.
    let magnitude = o.and_bits(x, MAGNITUDE);
    let zero = o.below(magnitude, IMPLICIT);
    let result = o.put(zero, INFINITY, result);
    let sign = o.and_bits(x, SIGN);
    let result = o.or(result, sign);
    let nan = o.above(magnitude, INFINITY);
    o.put(nan, NAN, result)
}

/// `1 / sqrt(x)`.
pub fn rsqrt<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let [value, curve, slope] = terms_at(o, &RSQRT, x);
    let sum = o.add_bits(curve, RSQRT_OFFSET.wrapping_add(0x7fff));
    let sum = o.sub(sum, slope);
    let significand = significand(o, value, sum, 14);
    // Even powers of 2 are exact.
    let argument = o.and_bits(x, FRACTION | IMPLICIT);
    let even = o.is(argument, IMPLICIT);
    let significand = o.put(even, 1 << 24, significand);
    let half = o.add_bits(x, IMPLICIT);
    let half = o.shr(half, 1);
    let half = o.and_bits(half, INFINITY);
    let result = o.add_bits(significand, 189 << 23);
    let result = o.sub(result, half);
    let result = of_positive(o, x, result, 0, NAN);
    let tiny = is_tiny(o, x);
    let sign = o.and_bits(x, SIGN);
    let infinity = o.word(INFINITY);
    let signed = o.or(sign, infinity);
    o.select(tiny, signed, result)
}

/// A float of the upper 24 bits of a number below 2^31, as bits.
fn truncated<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    // Clears at least the first bit that a float has no room for: what is left of the others is less than half a unit.
    let top = o.shr(x, 24);
    let ones = o.word(u32::MAX);
    let keep = o.xor(top, ones);
    let kept = o.and(x, keep);
    let float = o.to_single(kept);
    o.bits(float)
}

/// `top << up`, and below it the bits of `sum` from `down` on.
fn part<O: Ops>(o: &mut O, top: O::Word, sum: O::Word, up: u32, down: u32) -> O::Word {
    let top = o.shl(top, up);
    let low = o.shr(sum, down);
    let low = o.and_bits(low, (1 << up) - 1);
    o.or(top, low)
}

/// `log2(x)`.
pub fn lg2<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let [value, curve, slope] = terms_at(o, &LG2, x);
    let sum = o.add_bits(slope, LG2_OFFSET + 0x3345);
    let sum = o.sub(sum, curve);
    let high = o.shr(sum, 12);
    // The fraction of the logarithm: 36 bits, of which `top` are the upper 26 and `sum` has the others.
    let top = o.add(value, high);
    let lower = part(o, top, sum, 10, 2);
    let middle = part(o, top, sum, 5, 7);
    let exponent = o.shl(x, 1);
    let exponent = o.and_bits(exponent, 0xff00_0000);
    let exponent = o.add_bits(exponent, 0u32.wrapping_sub(127 << 24));
    let upper = o.shr(top, 2);
    let upper = o.add(exponent, upper);
    let negative = o.sar(upper, 31);
    let upper = o.xor(upper, negative);
    let lower = o.xor(lower, negative);
    let middle = o.xor(middle, negative);
    let middle = o.and_bits(middle, MAGNITUDE);
    // Logarithms near 0 need their lower bits.
    let small = o.below(upper, 1 << 24);
    let magnitude = o.select(small, middle, upper);
    let scale = o.word(24 << 23);
    let scale = o.put(small, 31 << 23, scale);
    let near = o.below(upper, 1 << 19);
    let magnitude = o.select(near, lower, magnitude);
    let scale = o.put(near, 36 << 23, scale);
    let float = truncated(o, magnitude);
    let result = o.sub(float, scale);
    let sign = o.and_bits(negative, SIGN);
    let result = o.or(result, sign);
    let one = o.is(x, ONE);
    let result = o.put(one, 0, result);
    logarithm(o, x, result, NAN)
}

/// `sin` of a prepared argument.
pub fn sin<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let half = o.shl(x, 7);
    let sign = o.xor(x, half);
    let sign = o.and_bits(sign, SIGN);
    quadrant(o, x, x, sign)
}

/// `cos` of a prepared argument.
pub fn cos<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let turned = o.add_bits(x, IMPLICIT);
    let half = o.shl(turned, 7);
    let sign = o.and_bits(half, SIGN);
    quadrant(o, x, turned, sign)
}

/// The function's value at `x`, in the quadrant that `turned` says.
fn quadrant<O: Ops>(o: &mut O, x: O::Word, turned: O::Word, sign: O::Word) -> O::Word {
    let fraction = within_quadrant(o, x, turned);
    let rest = o.and_bits(fraction, 0x1_ffff);
    let index = o.shr(fraction, 17);
    let [value, curve, slope] = terms(o, &SIN, index, rest, rest);
    let sum = o.sub(slope, curve);
    let high = o.shr(sum, 11);
    let top = o.add(value, high);
    let lower = part(o, top, sum, 11, 0);
    let upper = part(o, top, sum, 4, 7);
    // A small sine needs its lower bits.
    let near = o.below(upper, 1 << 24);
    let magnitude = o.select(near, lower, upper);
    let float = truncated(o, magnitude);
    let coarse = o.word(30 << 23);
    let scale = o.put(near, 37 << 23, coarse);
    let result = o.sub(float, scale);
    // 0 would have come out below zero.
    let zero = o.word(0);
    let result = o.smax(result, zero);
    let result = o.or(result, sign);
    number_or_nan(o, x, result)
}

/// `x`, its bits below the quadrant complemented where the quadrant of `turned` is odd: there sine and cosine run backwards.
pub(super) fn within_quadrant<O: Ops>(o: &mut O, x: O::Word, turned: O::Word) -> O::Word {
    let odd = o.shl(turned, 8);
    let odd = o.sar(odd, 31);
    o.xor(x, odd)
}

/// `result`, but for arguments that were no numbers before they were prepared.
pub(super) fn number_or_nan<O: Ops>(o: &mut O, x: O::Word, result: O::Word) -> O::Word {
    let special = o.and_bits(x, 1 << 30);
    let number = o.is(special, 0);
    let nan = o.word(NAN);
    o.select(number, result, nan)
}

/// `2^x` of a prepared argument.
pub fn ex2<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let power = power_of_prepared(o, x);
    let [value, curve, slope] = terms_at(o, &EX2, power);
    let sum = o.add_bits(curve, 0x77e2);
    let sum = o.add(sum, slope);
    let significand = significand(o, value, sum, 13);
    let exponent = o.and_bits(power, !FRACTION);
    let result = o.add(exponent, significand);
    let result = o.add_bits(result, 126 << 23);
    let result = no_denormal(o, result);
    special_power(o, x, result)
}

/// A prepared argument of ex2 as a signed number of 2^-23.
pub(super) fn power_of_prepared<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    let negative = o.sar(x, 31);
    let magnitude = o.and_bits(x, MAGNITUDE);
    let fraction = o.and_bits(x, FRACTION);
    // Whole numbers are negated, others complemented.
    let whole = o.is(fraction, 0);
    let zero = o.word(0);
    let more = o.select(whole, negative, zero);
    let power = o.xor(magnitude, negative);
    o.sub(power, more)
}

/// `result`, but for the prepared infinities and NaN.
pub(super) fn special_power<O: Ops>(o: &mut O, x: O::Word, result: O::Word) -> O::Word {
    let negative = o.sar(x, 31);
    let infinite = o.and_bits(x, 1 << 23);
    let nan = o.is(infinite, 0);
    let below = o.and_bits(negative, INFINITY);
    let infinity = o.word(INFINITY);
    let infinity = o.xor(infinity, below);
    let special = o.put(nan, NAN, infinity);
    let is_special = o.and_bits(x, 1 << 30);
    let number = o.is(is_special, 0);
    o.select(number, result, special)
}

/// `exponent(x)`, the significand, and what the special cases give in place of a fixed-point number.
fn unpacked<O: Ops>(o: &mut O, x: O::Word) -> (O::Word, O::Word) {
    let exponent = o.shr(x, 23);
    let exponent = o.and_bits(exponent, 0xff);
    let significand = o.and_bits(x, FRACTION);
    let implicit = o.word(IMPLICIT);
    (exponent, o.or(significand, implicit))
}

/// The special cases of both fixed-point forms.
fn prepared<O: Ops>(o: &mut O, x: O::Word, exponent: O::Word, finite: O::Word, nan: Nan) -> O::Word {
    let zero = o.is(exponent, 0);
    let fixed = o.put(zero, 0, finite);
    let magnitude = o.and_bits(x, MAGNITUDE);
    let infinite = o.is(magnitude, INFINITY);
    let fixed = o.put(infinite, FIXED_INFINITY, fixed);
    signed(o, x, magnitude, fixed, nan)
}

/// What becomes of the sign of a NaN in fixed-point form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nan {
    /// It is kept, as on the hardware.
    Signed,
    /// It is cleared, so that all NaNs are equal.
    Alike,
}

/// The fixed-point form of a magnitude with the sign of `x`, or that of a NaN.
fn signed<O: Ops>(o: &mut O, x: O::Word, magnitude: O::Word, fixed: O::Word, nan: Nan) -> O::Word {
    let is_nan = o.above(magnitude, INFINITY);
    let sign = o.and_bits(x, SIGN);
    match nan {
        Nan::Signed => {
            let fixed = o.put(is_nan, FIXED_NAN, fixed);
            o.or(fixed, sign)
        }
        Nan::Alike => {
            let fixed = o.or(fixed, sign);
            o.put(is_nan, FIXED_NAN, fixed)
        }
    }
}

const FIXED_NAN: u32 = 0x4000_0000;
const FIXED_INFINITY: u32 = 0x4080_0000;

/// A count of at most 31, by which all that may stand here is shifted out; negative numbers become 31, too.
fn count<O: Ops>(o: &mut O, n: O::Word) -> O::Word {
    let most = o.word(31);
    o.umin(n, most)
}

/// Argument of sin and cos.
pub fn presin<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    presin_with(o, x, Nan::Signed)
}

pub(super) fn presin_with<O: Ops>(o: &mut O, x: O::Word, nan: Nan) -> O::Word {
    let (exponent, significand) = unpacked(o, x);
    let raised = o.shl(significand, 8);
    let factor = o.word(0xa2_f983 << 8);
    let product = o.mul_high(raised, factor);
    // One of the two shifts leaves nothing of the 25 bits wanted.
    let up = o.add_bits(exponent, 0u32.wrapping_sub(135));
    let up = count(o, up);
    let left = o.shl_by(product, up);
    let base = o.word(134);
    let down = o.sub(base, exponent);
    let down = count(o, down);
    let half = o.shr(product, 1);
    let right = o.shr_by(half, down);
    let fixed = o.or(left, right);
    let fixed = o.and_bits(fixed, 0x01ff_ffff);
    prepared(o, x, exponent, fixed, nan)
}

/// Argument of ex2: `|x| * 2^23`, truncated; nothing of a denormal is left.
pub fn preex2<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
    preex2_with(o, x, Nan::Signed)
}

pub(super) fn preex2_with<O: Ops>(o: &mut O, x: O::Word, nan: Nan) -> O::Word {
    const LARGE: u32 = 0x4300_0000;
    let magnitude = o.and_bits(x, MAGNITUDE);
    let large = o.word(LARGE);
    let bounded = o.umin(magnitude, large);
    let number = o.of_bits(bounded);
    let scale = o.single(IMPLICIT as f32);
    let scaled = o.single_mul(number, scale);
    let fixed = o.to_word(scaled);
    let beyond = o.above(magnitude, LARGE - 1);
    let fixed = o.put(beyond, FIXED_INFINITY, fixed);
    signed(o, x, magnitude, fixed, nan)
}

#[cfg(test)]
mod tests {
    use super::super::sfu;
    use crate::formula::Scalars;

    /// Name, reference, formula.
    type Case = (&'static str, fn(u32) -> u32, fn(&mut Scalars, u32) -> u32);

    const CASES: [Case; 9] = [
        ("square", |x| sfu::square(x & 0x1_ffff) as u32, super::square),
        ("rcp", sfu::rcp, super::rcp),
        ("rsqrt", sfu::rsqrt, super::rsqrt),
        ("lg2", sfu::lg2, super::lg2),
        ("sin", sfu::sin, super::sin),
        ("cos", sfu::cos, super::cos),
        ("ex2", sfu::ex2, super::ex2),
        ("presin", sfu::presin, super::presin),
        ("preex2", sfu::preex2, super::preex2),
    ];

    fn check((name, reference, formula): Case, x: u32) {
        let (want, got) = (reference(x), formula(&mut Scalars, x));
        assert_eq!(want, got, "{name}({x:#010x}) is {want:#010x}, not {got:#010x}");
    }

    #[test]
    fn the_same_bits_for_every_sign_and_exponent() {
        for case in CASES {
            for high in 0..1 << 9 {
                // The first and last fractions, and some of each row.
                for fraction in (0..48).chain((1 << 23) - 48..1 << 23).chain((0..1 << 23).step_by(12_347)) {
                    check(case, high << 23 | fraction);
                }
            }
        }
    }

    #[test]
    fn the_same_bits_for_every_fraction() {
        for case in CASES {
            // Two neighbouring exponents: all rows of every table, with every rest.
            (126 << 23..128 << 23).for_each(|x| check(case, x));
        }
    }
}
