//! Powers of two, logarithms, sines and cosines in f64, for results of 32 bits. They use sums and products only, so every host
//! gives the same bits.
//!
//! The relative error is below 2^-40 (for sine and cosine near a zero: the absolute error). A result that is rounded once to f32
//! is therefore nearly always the correctly rounded one; about one in 100000 is not, and that one is off by less than 0.501 ulp.

use super::{Ops, SIGN, is_tiny};

/// 1.5 * 2^52: added and subtracted it rounds to an integer, which stands in the low bits of the sum.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// ln(2)^k / k!
const EXP2: [f64; 11] = [
    1.0,
    std::f64::consts::LN_2,
    0.24022650695910072,
    0.05550410866482158,
    0.009618129107628477,
    0.0013333558146428443,
    0.0001540353039338161,
    1.5252733804059841e-5,
    1.321548679014431e-6,
    1.01780860092397e-7,
    7.054911620801123e-9,
];

/// 2 / ((2 k + 1) ln 2)
const LOG2: [f64; 10] = [
    2.8853900817779268,
    0.9617966939259756,
    0.5770780163555853,
    0.4121985831111324,
    0.3205988979753252,
    0.2623081892525388,
    0.22195308321368667,
    0.19235933878519512,
    0.16972882833987804,
    0.15186263588304877,
];

/// (-1)^k (2 pi)^(2 k + 1) / (2 k + 1)!
const SIN: [f64; 8] = [
    std::f64::consts::TAU,
    -41.34170224039976,
    81.60524927607506,
    -76.70585975306139,
    42.058693944897655,
    -15.09464257682299,
    3.819952584848282,
    -0.7181223017785006,
];

/// (-1)^k (2 pi)^(2 k) / (2 k)!
const COS: [f64; 9] = [
    1.0,
    -19.739208802178716,
    64.9393940226683,
    -85.45681720669373,
    60.24464137187666,
    -26.4262567833744,
    7.903536371318469,
    -1.714390711088672,
    0.28200596845579123,
];

fn polynomial<O: Ops, const N: usize>(o: &mut O, x: O::Double, coefficients: &[f64; N]) -> O::Double {
    let mut sum = o.double(coefficients[N - 1]);
    for &coefficient in coefficients[..N - 1].iter().rev() {
        let coefficient = o.double(coefficient);
        let product = o.double_mul(sum, x);
        sum = o.double_add(product, coefficient);
    }
    sum
}

/// 2^x; NaN for NaN. Right for results that are no smaller than 2^-1000 and no larger than 2^1000.
pub fn exp2<O: Ops>(o: &mut O, x: O::Double) -> O::Double {
    let (most, least) = (o.double(1000.0), o.double(-1000.0));
    let above = o.double_lt(most, x);
    let bounded = o.double_select(above, most, x);
    let below = o.double_lt(bounded, least);
    let bounded = o.double_select(below, least, bounded);
    let magic = o.double(MAGIC);
    let shifted = o.double_add(bounded, magic);
    let whole = o.double_sub(shifted, magic);
    let rest = o.double_sub(bounded, whole);
    let p = polynomial(o, rest, &EXP2);
    let power = o.wide_bits(shifted);
    let power = o.wide_shl(power, 52);
    let bits = o.wide_bits(p);
    let bits = o.wide_add(bits, power);
    let result = o.of_wide_bits(bits);
    let number = o.double_eq(x, x);
    o.double_select(number, result, x)
}

/// log2(x); minus infinity for zeros, NaN for what is below. No denormals.
pub fn log2<O: Ops>(o: &mut O, x: O::Double) -> O::Double {
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    // Exponent such that the rest lies between sqrt(1/2) and sqrt(2); as a float by way of MAGIC. The offset keeps the
    // shift unsigned.
    let bits = o.wide_bits(x);
    let offset = o.wide((2048u64 << 52).wrapping_sub(ROOT_HALF));
    let k = o.wide_add(bits, offset);
    let k = o.wide_shr(k, 52);
    let power = o.wide_shl(k, 52);
    let bits = o.wide_sub(bits, power);
    let offset = o.wide(2048 << 52);
    let bits = o.wide_add(bits, offset);
    let rest = o.of_wide_bits(bits);
    let magic = o.wide(MAGIC.to_bits());
    let k = o.wide_add(magic, k);
    let k = o.of_wide_bits(k);
    let magic = o.double(MAGIC + 2048.0);
    let k = o.double_sub(k, magic);
    let one = o.double(1.0);
    let (over, under) = (o.double_sub(rest, one), o.double_add(rest, one));
    let s = o.double_div(over, under);
    let square = o.double_mul(s, s);
    let p = polynomial(o, square, &LOG2);
    let p = o.double_mul(s, p);
    let normal = o.double_add(k, p);

    let (zero, infinity, nan) = (o.double(0.0), o.double(f64::INFINITY), o.double(f64::NAN));
    let minus = o.double(f64::NEG_INFINITY);
    let finite = o.double_lt(x, infinity);
    let result = o.double_select(finite, normal, x);
    let positive = o.double_lt(zero, x);
    let is_zero = o.double_eq(x, zero);
    let other = o.double_select(is_zero, minus, nan);
    o.double_select(positive, result, other)
}

/// Sine or cosine of a number of quarter turns and what is left of the turns, at most an eighth.
fn of_quarters<O: Ops>(o: &mut O, quarters: O::Word, rest: O::Double, cosine: bool) -> O::Double {
    let square = o.double_mul(rest, rest);
    let sin = polynomial(o, square, &SIN);
    let sin = o.double_mul(rest, sin);
    let cos = polynomial(o, square, &COS);
    let quadrant = o.add_bits(quarters, cosine.into());
    let odd = o.and_bits(quadrant, 1);
    let even = o.is(odd, 0);
    let value = o.double_select(even, sin, cos);
    let half = o.and_bits(quadrant, 2);
    let first = o.is(half, 0);
    let opposite = o.double_neg(value);
    o.double_select(first, value, opposite)
}

/// Every f32 and f16 of a greater magnitude is an integer: so many full turns have sine 0 and cosine 1 exactly.
pub const ANY_TURNS: f64 = 8_388_608.0;

/// Sine or cosine of `turns` full turns. For magnitudes above `most`, at most 2^48, the value at 0; NaN for infinities.
pub fn of_turns<O: Ops>(o: &mut O, turns: O::Double, most: f64, cosine: bool) -> O::Double {
    let (four, quarter, magic) = (o.double(4.0), o.double(0.25), o.double(MAGIC));
    let quarters = o.double_mul(turns, four);
    let quarters = o.double_add(quarters, magic);
    let whole = o.double_sub(quarters, magic);
    let whole = o.double_mul(whole, quarter);
    let rest = o.double_sub(turns, whole);
    let bits = o.wide_bits(quarters);
    let bits = o.low(bits);
    let value = of_quarters(o, bits, rest, cosine);
    bounded(o, turns, value, most, cosine)
}

/// `value`, but the value at 0 for magnitudes above `most`, and NaN for infinities and NaNs.
fn bounded<O: Ops>(o: &mut O, x: O::Double, value: O::Double, most: f64, cosine: bool) -> O::Double {
    let size = o.double_abs(x);
    let most = o.double(most);
    let far = o.double_lt(most, size);
    let of_far = o.double(if cosine { 1.0 } else { 0.0 });
    let value = o.double_select(far, of_far, value);
    let infinity = o.double(f64::INFINITY);
    let finite = o.double_lt(size, infinity);
    let nan = o.double(f64::NAN);
    o.double_select(finite, value, nan)
}

/// Sine or cosine of an angle that is an f32; NaN for infinities. Up to 2^29 within 3e-16 and 2^-40 of the value.
/// Beyond 2^30, where f32 are ten turns and more apart, the absolute error grows to 2^-32; beyond 2^50 they are 0 and
/// 1.
pub fn of_angle<O: Ops>(o: &mut O, angle: O::Double, cosine: bool) -> O::Double {
    // 2 / pi in pieces of 29 bits, so that the product with an f32 is exact, and the rest.
    let [first, second, third] = TWO_OVER_PI.map(|piece| o.double(piece));
    let magic = o.double(MAGIC);
    let high = o.double_mul(angle, first);
    let shifted = o.double_add(high, magic);
    let whole = o.double_sub(shifted, magic);
    let rest = o.double_sub(high, whole);
    let middle = o.double_mul(angle, second);
    let rest = o.double_add(rest, middle);
    let low = o.double_mul(angle, third);
    let rest = o.double_add(rest, low);
    // The lower pieces can have led out of the quarter.
    let again = o.double_add(rest, magic);
    let carried = o.double_sub(again, magic);
    let rest = o.double_sub(rest, carried);
    let quarter = o.double(0.25);
    let rest = o.double_mul(rest, quarter);
    let (bits, more) = (o.wide_bits(shifted), o.wide_bits(again));
    let quarters = o.wide_add(bits, more);
    let quarters = o.low(quarters);
    let value = of_quarters(o, quarters, rest, cosine);
    bounded(o, angle, value, MOST_ANGLE, cosine)
}

/// Angles above count as 0: 2^50, beyond the numbers that MAGIC rounds.
const MOST_ANGLE: f64 = 1_125_899_906_842_624.0;

/// 2 / pi: twice 29 bits, and 53 of the rest.
const TWO_OVER_PI: [f64; 3] = [0.636_619_770_899_415, 1.468_166_324_625_208_6e-9, 2.276_010_073_078_396e-18];

/// A function of an f32: denormals in and out are zeros, a NaN becomes `nan`.
pub fn of_single<O: Ops>(
    o: &mut O,
    x: O::Word,
    nan: u32,
    function: impl FnOnce(&mut O, O::Double) -> O::Double,
) -> O::Word {
    let tiny = is_tiny(o, x);
    let sign = o.and_bits(x, SIGN);
    let x = o.select(tiny, sign, x);
    let x = o.of_bits(x);
    let x = o.promote(x);
    let y = function(o, x);
    let result = o.demote(y);
    let result = o.bits(result);
    let number = o.double_eq(y, y);
    let nan = o.word(nan);
    o.select(number, result, nan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::Scalars;

    #[test]
    fn pieces_of_two_over_pi() {
        // The published bits of 2 / pi.
        let bits = 0xa2f9_836e_4e44_1529_fc27_57d1_f534_ddc0_u128;
        let [first, second, third] = TWO_OVER_PI;
        assert_eq!(first * 2f64.powi(29), (bits >> 99) as f64);
        assert_eq!(second * 2f64.powi(58), (bits >> 70 & 0x1fff_ffff) as f64);
        assert_eq!(third * 2f64.powi(111), (bits >> 17 & ((1 << 53) - 1)) as f64);
    }

    #[test]
    fn angles() {
        for n in 0..200_000u32 {
            let exponent = 100 + n % 56;
            let x = f32::from_bits(n & 1 << 31 | exponent << 23 | n.wrapping_mul(0x9e37_79b9) >> 9);
            for (cosine, want) in [(false, f64::from(x).sin()), (true, f64::from(x).cos())] {
                let got = of_angle(&mut Scalars, x.into(), cosine);
                assert!(
                    (got - want).abs() <= want.abs() * 2f64.powi(-40) + 3e-16,
                    "{x:e}: {got:e}, {want:e}"
                );
            }
        }
        // At the multiples of pi / 2 that are nearest to an f32.
        for x in [0x3fc9_0fdbu32, 0x4049_0fdb, 0x40c9_0fdb, 0x490b_5316, 0x4b80_2336, 0x4cf9_be45]
            .map(f32::from_bits)
        {
            let (got, want) = (of_angle(&mut Scalars, x.into(), false), f64::from(x).sin());
            assert!((got - want).abs() <= want.abs() * 2f64.powi(-40), "{x:e}: {got:e}, {want:e}");
        }
        for cosine in [false, true] {
            assert!(of_angle(&mut Scalars, f64::NEG_INFINITY, cosine).is_nan());
            assert!(of_angle(&mut Scalars, f64::NAN, cosine).is_nan());
            assert_eq!(of_angle(&mut Scalars, 1e30f32.into(), cosine), f64::from(u8::from(cosine)));
        }
    }
}
