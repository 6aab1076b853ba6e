//! Short f32 formulas for approximate numerics, accurate to a few units in the last place (`docs/numerics.md`).

use super::{INFINITY, Ops, SIGN, logarithm};

const MAGNITUDE: u32 = 0x7fff_ffff;

/// `2^t` for 0 to 1: relative error 2^-29 before rounding.
const EXP2_UP: [f32; 7] = [
    1.0,
    f32::from_bits(0x3f317215),
    0.240_229_84,
    0.055_483_34,
    0.009_678_841,
    0.001_243_968_8,
    0.000_217_022_56,
];

/// `2^t` for -1/2 to 1/2: likewise.
const EXP2_AROUND: [f32; 7] = [
    1.0,
    std::f32::consts::LN_2,
    0.240_226_47,
    0.055_503_286,
    0.009_618_489,
    0.001_339_993_1,
    0.000_153_458_12,
];

/// `log2(1 + r) / r` for 1 + r from sqrt(1/2) to sqrt(2): relative error 2^-27.
const LOG2: [f32; 10] = [
    std::f32::consts::LOG2_E,
    -0.721_347_33,
    0.480_898_24,
    -0.360_696_64,
    0.288_567_42,
    -0.239_617_4,
    0.204_600_63,
    -0.191_062_75,
    0.186_174_94,
    -0.109_949_54,
];

/// `sin(pi / 2 t) / t` of the square of t, for 0 to 1: relative error 2^-27.
const SIN_QUARTER: [f32; 5] =
    [std::f32::consts::FRAC_PI_2, -0.645_963_7, 0.079_689_68, -0.004_673_766_6, 0.000_151_485_13];

/// `cos(pi / 2 t)` of the square of t, for 0 to 1/2: error 2^-25.
const COS_QUARTER: [f32; 5] = [1.0, -1.233_700_5, 0.253_669_2, -0.020_860_072, 0.000_903_631_7];

fn polynomial<O: Ops, const N: usize>(o: &mut O, x: O::Single, coefficients: &[f32; N]) -> O::Single {
    let mut sum = o.single(coefficients[N - 1]);
    for &coefficient in coefficients[..N - 1].iter().rev() {
        let coefficient = o.single(coefficient);
        sum = o.single_fma(sum, x, coefficient);
    }
    sum
}

/// `t / 2^23`.
fn fraction<O: Ops>(o: &mut O, t: O::Word) -> O::Single {
    let t = o.to_single(t);
    let unit = o.single(2f32.powi(-23));
    o.single_mul(t, unit)
}

/// Bits of `2^(t / 2^23)` for an integer `t` from 0 to 2^23.
pub fn exp2_of_fraction<O: Ops>(o: &mut O, t: O::Word) -> O::Word {
    let t = fraction(o, t);
    let result = polynomial(o, t, &EXP2_UP);
    o.bits(result)
}

/// `1 / x`; `nan` for NaNs.
pub fn rcp<O: Ops>(o: &mut O, x: O::Word, nan: u32) -> O::Word {
    let one = o.single(1.0);
    let x = o.of_bits(x);
    let result = o.single_div(one, x);
    let result = o.canonical(result, nan);
    o.bits(result)
}

/// `1 / sqrt(x)`; `nan` for NaNs and below zero.
pub fn rsqrt<O: Ops>(o: &mut O, x: O::Word, nan: u32) -> O::Word {
    let one = o.single(1.0);
    let x = o.of_bits(x);
    let root = o.single_sqrt(x);
    let result = o.single_div(one, root);
    let result = o.canonical(result, nan);
    o.bits(result)
}

/// `log2(x)` of a positive normal number, minus infinity for zeros and denormals, `nan` below.
pub fn lg2<O: Ops>(o: &mut O, x: O::Word, nan: u32) -> O::Word {
    const ROOT_HALF: u32 = 0x3f35_04f3;
    let from_root = o.add_bits(x, 0u32.wrapping_sub(ROOT_HALF));
    let exponent = o.sar(from_root, 23);
    let power = o.shl(exponent, 23);
    let rest = o.sub(x, power);
    let rest = o.of_bits(rest);
    let one = o.single(1.0);
    let rest = o.single_sub(rest, one);
    let p = polynomial(o, rest, &LOG2);
    let exponent = o.to_single(exponent);
    let result = o.single_fma(rest, p, exponent);
    let result = o.bits(result);
    logarithm(o, x, result, nan)
}

/// Bits of `sin(pi / 2 * t / 2^23)` for an integer `t` from 0 to 2^23.
pub fn sin_of_fraction<O: Ops>(o: &mut O, t: O::Word) -> O::Word {
    let t = fraction(o, t);
    let square = o.single_mul(t, t);
    let p = polynomial(o, square, &SIN_QUARTER);
    let result = o.single_mul(p, t);
    o.bits(result)
}

/// `2^x`; results below the smallest normal number are zero.
pub fn exp2<O: Ops>(o: &mut O, x: O::Word, nan: u32) -> O::Word {
    let number = o.of_bits(x);
    let whole = o.single_nearest(number);
    let rest = o.single_sub(number, whole);
    let p = polynomial(o, rest, &EXP2_AROUND);
    let significand = o.bits(p);
    let power = o.to_word(whole);
    let power = o.shl(power, 23);
    let result = o.add(significand, power);
    let small = o.below(result, 1 << 23);
    let result = o.put(small, 0, result);
    // From 128 on either infinity or zero.
    let magnitude = o.and_bits(x, MAGNITUDE);
    let large = o.above(magnitude, 0x42ff_ffff);
    let negative = o.sar(x, 31);
    let below = o.and_bits(negative, INFINITY);
    let infinity = o.word(INFINITY);
    let end = o.xor(below, infinity);
    let result = o.select(large, end, result);
    let is_nan = o.above(magnitude, INFINITY);
    o.put(is_nan, nan, result)
}

/// Sine or cosine of an f32 `t` of -1/2 to 1/2 quarter turns beside a number of quarters.
fn of_quarters<O: Ops>(o: &mut O, quarters: O::Word, t: O::Single, cosine: bool) -> O::Word {
    let square = o.single_mul(t, t);
    let sin = polynomial(o, square, &SIN_QUARTER);
    let sin = o.single_mul(sin, t);
    let sin = o.bits(sin);
    let cos = polynomial(o, square, &COS_QUARTER);
    let cos = o.bits(cos);
    let quadrant = o.add_bits(quarters, cosine.into());
    let odd = o.and_bits(quadrant, 1);
    let even = o.is(odd, 0);
    let value = o.select(even, sin, cos);
    let half = o.shl(quadrant, 30);
    let sign = o.and_bits(half, SIGN);
    o.xor(value, sign)
}

/// `value`, but the value at 0 for magnitudes above `most`, where there is such a bound, and `nan` for infinities and NaNs.
fn bounded<O: Ops>(
    o: &mut O,
    x: O::Word,
    value: O::Word,
    most: Option<f32>,
    cosine: bool,
    nan: u32,
) -> O::Word {
    let magnitude = o.and_bits(x, MAGNITUDE);
    let value = match most {
        Some(most) => {
            let far = o.above(magnitude, most.to_bits());
            let at_zero = if cosine { 1f32.to_bits() } else { 0 };
            o.put(far, at_zero, value)
        }
        None => value,
    };
    let endless = o.above(magnitude, INFINITY - 1);
    o.put(endless, nan, value)
}

/// Sine or cosine of full turns; 0 and 1 for magnitudes above `most`, where there is such a bound.
pub fn of_turns<O: Ops>(o: &mut O, x: O::Word, most: Option<f32>, cosine: bool, nan: u32) -> O::Word {
    let turns = o.of_bits(x);
    let whole = o.single_nearest(turns);
    let rest = o.single_sub(turns, whole);
    let four = o.single(4.0);
    let quarters = o.single_mul(rest, four);
    let nearest = o.single_nearest(quarters);
    let t = o.single_sub(quarters, nearest);
    let quarters = o.to_word(nearest);
    let value = of_quarters(o, quarters, t, cosine);
    bounded(o, x, value, most, cosine, nan)
}

/// Sine or cosine of an angle; 0 and 1 beyond 2^20.
pub fn of_angle<O: Ops>(o: &mut O, x: O::Word, cosine: bool, nan: u32) -> O::Word {
    /// -pi / 2 in three parts.
    const PARTS: [f32; 3] = [-std::f32::consts::FRAC_PI_2, 4.371_139e-8, 1.715_124_9e-15];
    let angle = o.of_bits(x);
    let factor = o.single(std::f32::consts::FRAC_2_PI);
    let quarters = o.single_mul(angle, factor);
    let nearest = o.single_nearest(quarters);
    let rest = PARTS.into_iter().fold(angle, |rest, part| {
        let part = o.single(part);
        o.single_fma(nearest, part, rest)
    });
    let t = o.single_mul(rest, factor);
    let quarters = o.to_word(nearest);
    let value = of_quarters(o, quarters, t, cosine);
    bounded(o, x, value, Some(1_048_576.0), cosine, nan)
}

#[cfg(test)]
mod tests {
    use crate::fermi::numeric as fermi;
    use crate::formula::Scalars;
    use crate::gcn::numeric::trans;
    use crate::tesla::numeric::{sfu, sfu_fast, sfu_formula};

    /// How far a quick result may be from the exact one.
    enum Bound {
        /// Units in the last place of the exact one.
        Ulps(u32),
        /// Units, or if that is more, 2 to this power.
        UlpsOr(u32, i32),
    }
    use Bound::{Ulps, UlpsOr};

    type Function = fn(&mut Scalars, u32) -> u32;

    /// Name, exact, quick, bound as in `docs/numerics.md`.
    const CASES: [(&str, Function, Function, Bound); 16] = [
        ("tesla rcp", sfu_formula::rcp, sfu_fast::rcp, Ulps(2)),
        ("tesla rsqrt", sfu_formula::rsqrt, sfu_fast::rsqrt, Ulps(3)),
        ("tesla lg2", sfu_formula::lg2, sfu_fast::lg2, UlpsOr(4, -22)),
        ("tesla ex2", sfu_formula::ex2, sfu_fast::ex2, Ulps(4)),
        ("tesla sin", sfu_formula::sin, sfu_fast::sin, UlpsOr(4, -20)),
        ("tesla cos", sfu_formula::cos, sfu_fast::cos, UlpsOr(4, -20)),
        ("fermi lg2", fermi::lg2, fermi::quick::lg2, UlpsOr(4, -23)),
        ("fermi ex2", fermi::ex2, fermi::quick::ex2, Ulps(4)),
        ("fermi sin", fermi::sin, fermi::quick::sin, UlpsOr(4, -22)),
        ("fermi cos", fermi::cos, fermi::quick::cos, UlpsOr(4, -22)),
        ("gcn log", trans::log_f32, trans::quick::log_f32, UlpsOr(4, -23)),
        ("gcn exp", trans::exp_f32, trans::quick::exp_f32, Ulps(4)),
        ("gcn sin", trans::sin_f32, trans::quick::sin_f32, UlpsOr(4, -22)),
        ("gcn cos", trans::cos_f32, trans::quick::cos_f32, UlpsOr(4, -22)),
        ("gcn sin of any size", trans::sin_any_f32, trans::quick::sin_any_f32, UlpsOr(4, -22)),
        ("gcn cos of any size", trans::cos_any_f32, trans::quick::cos_any_f32, UlpsOr(4, -22)),
    ];

    fn is_nan(x: u32) -> bool {
        x & 0x7fff_ffff > 0x7f80_0000
    }

    /// Compiled and interpreted code hand them NaNs as arithmetic makes them, which differ from host to host.
    #[test]
    fn all_nans_are_alike() {
        let prepared = ["tesla ex2", "tesla sin", "tesla cos"];
        let floats = CASES.iter().filter(|case| !prepared.contains(&case.0)).map(|case| (case.0, case.2));
        let prepare: [(&str, Function); 2] = [("presin", sfu_fast::presin), ("preex2", sfu_fast::preex2)];
        for (name, quick) in floats.chain(prepare) {
            let wanted = quick(&mut Scalars, 0x7fff_ffff);
            for x in [0x7f80_0001, 0x7fa0_0000, 0x7fc0_0000, 0xff80_0001, 0xffc0_0000, 0xffff_ffff] {
                assert_eq!(quick(&mut Scalars, x), wanted, "{name}({x:#x})");
            }
        }
        // All else is prepared exactly.
        for x in (0..1 << 16).map(|n: u32| n << 16 | n.wrapping_mul(0x9e37)).filter(|&x| !is_nan(x)) {
            assert_eq!(sfu_fast::presin(&mut Scalars, x), sfu::presin(x), "{x:#x}");
            assert_eq!(sfu_fast::preex2(&mut Scalars, x), sfu::preex2(x), "{x:#x}");
        }
    }

    #[test]
    fn quick_results_are_within_the_bounds() {
        let mut state = 1u32;
        for (name, exact, quick, bound) in CASES {
            let (mut most, mut worst) = (0, 0);
            for n in 0..1_000_000u32 {
                state = state.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
                // Half of them where results are neither 0 nor infinite.
                let mut x = n << 23 ^ state >> 5;
                if n & 1 != 0 {
                    x = x & 0x87ff_ffff | 0x3c00_0000;
                }
                if name.starts_with("fermi")
                    && matches!(&name[6..], "sin" | "cos")
                    && x & 0x7fff_ffff > 0x4980_0000
                {
                    // No bound is promised.
                    continue;
                }
                if name == "tesla ex2" {
                    x = sfu::preex2(x);
                } else if matches!(name, "tesla sin" | "tesla cos") {
                    x = sfu::presin(x);
                }
                let (want, got) = (exact(&mut Scalars, x), quick(&mut Scalars, x));
                if is_nan(want) || is_nan(got) {
                    assert!(
                        is_nan(want) && is_nan(got),
                        "{name}({x:#010x}): {got:#010x}, exact {want:#010x}"
                    );
                    continue;
                }
                let far = (want ^ got) >> 31 != 0;
                let ulps = if far { u32::MAX } else { want.abs_diff(got) };
                let difference = f64::from(f32::from_bits(want)) - f64::from(f32::from_bits(got));
                let (allowed, absolute) = match bound {
                    Ulps(ulps) => (ulps, 0.0),
                    UlpsOr(ulps, power) => (ulps, 2f64.powi(power)),
                };
                // Where one has been flushed the other is at the border.
                let small = |x: u32| x & 0x7fff_ffff <= 0x0080_0000 + allowed;
                let flushed = small(want) && small(got);
                let within = ulps <= allowed || difference.abs() <= absolute || flushed;
                assert!(within, "{name}({x:#010x}): {got:#010x}, exact {want:#010x}");
                if !flushed && difference.abs() > absolute && ulps > most {
                    (most, worst) = (ulps, x);
                }
            }
            println!("{name}: {most} units at {worst:#010x}");
        }
    }
}
