//! Compares the numerics with an independent software float, the host's functions, and known values.

use rustc_apfloat::ieee::{Double as ApDouble, Half as ApHalf, Single as ApSingle};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::divide::FmasScale;
use super::trans::Function;
use super::{Mode, Width, arith, bytes, convert, divide, halves, scaling, trans};
use crate::formula::Scalars;
use crate::soft::Rounding;

const WIDTHS: [Width; 3] = [Width::Half, Width::Single, Width::Double];
const ROUNDS: [Round; 4] =
    [Round::NearestTiesToEven, Round::TowardPositive, Round::TowardNegative, Round::TowardZero];

/// Numbers round the borders of a format, and random ones of like exponents, of both signs.
fn samples(width: Width, random: usize) -> Vec<u64> {
    let format = width.format();
    let (one, infinity) = ((format.bias as u64) << format.fraction, format.infinity());
    let unit = 1u64 << format.fraction;
    let mut samples = vec![
        0,
        1,
        2,
        unit - 1,
        unit,
        unit + 1,
        one - unit,
        one - 1,
        one,
        one + 1,
        one + unit / 2,
        infinity - unit,
        infinity - 1,
        infinity,
        infinity | 1,
        infinity | (unit / 2),
    ];
    let mut state = 0x2545_f491_4f6c_dd1du64;
    for n in 0..random {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let exponent = match n % 4 {
            0 => format.bias as u64 + n as u64 % 7,
            1 => n as u64 % 30 % (2 * format.bias as u64),
            2 => (2 * format.bias as u64).saturating_sub(n as u64 % 13),
            _ => state >> 40 & (infinity >> format.fraction) & !1,
        };
        samples.push(exponent << format.fraction | state & (unit - 1));
    }
    samples.extend(samples.clone().iter().map(|x| x | format.sign_bit()));
    samples
}

fn oracle<F: Float>(width: Width, mode: u32, a: u64, b: u64, c: u64) -> [u64; 3] {
    let (fa, fb, fc) = (F::from_bits(a.into()), F::from_bits(b.into()), F::from_bits(c.into()));
    let round = ROUNDS[mode as usize];
    let results = [fa.add_r(fb, round).value, fa.mul_r(fb, round).value, fa.mul_add_r(fb, fc, round).value];
    results.map(|r| if r.is_nan() { width.nan() } else { r.to_bits() as u64 })
}

#[test]
fn sums_and_products_round_as_told() {
    for width in WIDTHS {
        let samples = samples(width, 24);
        for round in 0..4u32 {
            let mode = Mode(0xf0 | round << 2 | round);
            for &a in &samples {
                for &b in &samples {
                    let c = a.rotate_left(7) ^ b;
                    let c = c & (width.format().sign_bit() << 1).wrapping_sub(1);
                    let want = match width {
                        Width::Half => oracle::<ApHalf>(width, round, a, b, c),
                        Width::Single => oracle::<ApSingle>(width, round, a, b, c),
                        Width::Double => oracle::<ApDouble>(width, round, a, b, c),
                    };
                    let got = [
                        arith::add(width, mode, a, b),
                        arith::mul(width, mode, a, b),
                        arith::fma(width, mode, a, b, c),
                    ];
                    assert_eq!(got, want, "{width:?} mode {round}: {a:x} {b:x} {c:x}");
                }
            }
        }
    }
}

#[test]
fn denormals_follow_their_bits() {
    let (tiny, least) = (0x0000_1000, 0x0080_0000);
    let half = 0x3f00_0000;
    let add = |mode: u32, a, b| arith::add(Width::Single, Mode(mode), a, b);
    let mul = |mode: u32, a, b| arith::mul(Width::Single, Mode(mode), a, b);
    // Kept, sources only, results only, none.
    assert_eq!([0x30, 0x10, 0x20, 0].map(|mode| add(mode, tiny, 0)), [tiny, 0, 0, 0]);
    assert_eq!([0x30, 0x10, 0x20, 0].map(|mode| mul(mode, least, half)), [least / 2, 0, least / 2, 0]);
    assert_eq!([0x30, 0x10, 0x20, 0].map(|mode| add(mode, tiny | 1 << 31, least)), {
        [least - tiny, 0, least, least]
    });
    // The bits for f64 are for f16 too, and do not count for f32.
    assert_eq!(arith::add(Width::Half, Mode(0xc0), 3, 0), 3);
    assert_eq!(arith::add(Width::Half, Mode(0x30), 3, 0), 0);
    // mad flushes whatever MODE says.
    assert_eq!(arith::mad(Width::Single, Mode::NEAREST, tiny, 0x3f80_0000, 0), 0);
}

#[test]
fn mad_rounds_twice() {
    // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the last bit is lost in the product.
    let a = 0x3f80_0800;
    let minus = u64::from((-(1.0f32 + 2f32.powi(-11))).to_bits());
    assert_eq!(arith::mad(Width::Single, Mode::NEAREST, a, a, minus), 0);
    assert_eq!(arith::fma(Width::Single, Mode::NEAREST, a, a, minus), u64::from(2f32.powi(-24).to_bits()));
}

#[test]
fn minimum_and_maximum() {
    let w = Width::Single;
    let min = |mode, a, b| arith::min_max(w, Mode(mode), false, true, a, b);
    let max = |mode, a, b| arith::min_max(w, Mode(mode), true, true, a, b);
    let (zero, minus_zero, one, minus_one) = (0, 0x8000_0000, 0x3f80_0000, 0xbf80_0000);
    let (quiet, signalling) = (0x7fc0_0123, 0x7f80_0001);
    for (a, b) in [(zero, minus_zero), (minus_zero, zero)] {
        assert_eq!((min(0xf0, a, b), max(0xf0, a, b)), (minus_zero, zero));
    }
    assert_eq!((min(0xf0, one, minus_one), max(0xf0, one, minus_one)), (minus_one, one));
    assert_eq!((min(0x2f0, one, quiet), max(0x2f0, quiet, one)), (one, one));
    assert_eq!((min(0xf0, one, signalling), min(0x2f0, one, signalling)), (one, w.nan()));
    assert_eq!((min(0xf0, 1, one), min(0, 1, one)), (1, 0));
    assert_eq!(arith::min_max(w, Mode(0), false, false, 1, one), 1);
}

#[test]
fn scaling_and_taking_apart() {
    for width in WIDTHS {
        for &a in &samples(width, 60) {
            let format = width.format();
            if format.is_nan(a) || format.is_infinite(a) {
                continue;
            }
            let mode = Mode::NEAREST;
            let (mant, exp) =
                (arith::frexp_mant(width, mode, a, false), arith::frexp_exp(width, mode, a, -1));
            assert_eq!(arith::ldexp(width, mode, mant, exp), a, "{width:?} {a:x} = {mant:x} * 2^{exp}");
            if a & !format.sign_bit() != 0 {
                let field = (mant & format.infinity()) >> format.fraction;
                assert_eq!(field as i32, format.bias - 1, "0.5 <= significand < 1 of {a:x}");
            }
        }
    }
    let ldexp =
        |a: f32, n| f32::from_bits(arith::ldexp(Width::Single, Mode::NEAREST, a.to_bits().into(), n) as u32);
    assert_eq!(ldexp(1.5, -149), f32::from_bits(2), "ties to even");
    assert_eq!(ldexp(1.0, i32::MAX), f32::INFINITY);
    assert_eq!(ldexp(-1.0, i32::MIN).to_bits(), 0x8000_0000);
}

#[test]
fn conversions() {
    for round in 0..4u32 {
        let mode = Mode(0xf0 | round << 2 | round);
        for &a in &samples(Width::Single, 400) {
            let exact = ApSingle::from_bits(a.into());
            let half: ApHalf = exact.convert_r(ROUNDS[round as usize], &mut false).value;
            let want = if exact.is_nan() { 0x7e00 } else { half.to_bits() as u64 };
            assert_eq!(convert::float(Width::Single, Width::Half, mode, a), want, "{a:x} mode {round}");
        }
        for &a in &samples(Width::Double, 400) {
            let exact = ApDouble::from_bits(a.into());
            let single: ApSingle = exact.convert_r(ROUNDS[round as usize], &mut false).value;
            let want = if exact.is_nan() { 0x7fc0_0000 } else { single.to_bits() as u64 };
            assert_eq!(convert::float(Width::Double, Width::Single, mode, a), want, "{a:x} mode {round}");
        }
        for value in
            [0, 1, -1, 0x7fff_ffff, 0x7fff_ff80, -0x8000_0000, 0xffff_ffff, 16_777_217, -16_777_219i64]
        {
            let want = ApSingle::from_i128_r(value.into(), ROUNDS[round as usize]).value.to_bits() as u64;
            assert_eq!(convert::from_int(Width::Single, mode, value), want, "{value} mode {round}");
        }
    }
    let int = |x: f32, rounding| {
        convert::to_int(Width::Single, rounding, x.to_bits().into(), -0x8000_0000, 0x7fff_ffff)
    };
    assert_eq!(int(-1.5, Rounding::Zero), -1);
    assert_eq!(int(-1.5, Rounding::Down), -2);
    assert_eq!(int(2.5, Rounding::Nearest), 2);
    assert_eq!(int(3e9, Rounding::Zero), 0x7fff_ffff);
    assert_eq!(int(f32::NEG_INFINITY, Rounding::Zero), -0x8000_0000);
    assert_eq!(int(f32::NAN, Rounding::Zero), 0);
    assert_eq!(int(1e-40, Rounding::Zero), 0);
    let norm = |x: f32, signed| convert::norm16(Width::Single, x.to_bits().into(), signed);
    assert_eq!((norm(1.0, true), norm(-2.0, true), norm(0.5, true)), (0x7fff, 0x8001, 0x4000));
    assert_eq!((norm(1.0, false), norm(-2.0, false), norm(f32::NAN, false)), (0xffff, 0, 0));
    let byte = |x: f32| convert::pk_u8(Mode::NEAREST, x.to_bits().into(), 1, 0x1234_5678);
    assert_eq!((byte(2.5), byte(-1.0), byte(256.0)), (0x1234_0278, 0x1234_0078, 0x1234_ff78));
}

/// Distance in units of the last place, NaNs and infinities being equal to themselves only.
fn ulps(a: u32, b: u32) -> u32 {
    let key = |x: u32| if x >> 31 != 0 { 0x8000_0000 - (x & 0x7fff_ffff) } else { x + 0x8000_0000 };
    if a == b { 0 } else { key(a).abs_diff(key(b)) }
}

#[test]
fn transcendental_functions_are_within_an_ulp() {
    let tau = std::f64::consts::TAU;
    type Case<'a> = (&'a str, fn(&mut Scalars, u32) -> u32, &'a dyn Fn(f64) -> f64);
    let functions: [Case<'_>; 6] = [
        ("exp", trans::exp_f32, &f64::exp2),
        ("log", trans::log_f32, &f64::log2),
        ("sin", trans::sin_f32, &|x| (tau * (x - x.round())).sin()),
        ("cos", trans::cos_f32, &|x| (tau * (x - x.round())).cos()),
        ("sin of any size", trans::sin_any_f32, &|x| (tau * (x - x.round())).sin()),
        ("cos of any size", trans::cos_any_f32, &|x| (tau * (x - x.round())).cos()),
    ];
    let mut inputs: Vec<u32> = samples(Width::Single, 4000).into_iter().map(|x| x as u32).collect();
    inputs.extend((0..4000).map(|n| (n as f32 * 0.031_25 - 60.0).to_bits()));
    // Turns beyond 256 that are no integers: up to 2^23.
    inputs.extend(
        (0..16_000).map(|n: u32| n << 31 | (135 + n / 2 % 16) << 23 | n.wrapping_mul(0x9e37_79b9) >> 9),
    );
    for (name, function, reference) in functions {
        for &input in &inputs {
            let x = f32::from_bits(input);
            let x = if x.is_subnormal() { 0.0 } else { x };
            let trigonometric = name.starts_with("sin") || name.starts_with("cos");
            let out_of_range = matches!(name, "sin" | "cos") && x.abs() > 256.0 && x.is_finite();
            let want =
                if out_of_range { f64::from(u8::from(name == "cos")) } else { reference(x.into()) } as f32;
            let want = if want.is_subnormal() { 0.0 } else { want };
            let got = function(&mut Scalars, input);
            if want.is_nan() {
                assert_eq!(got, 0x7fc0_0000, "{name} {input:x}");
            } else if trigonometric && want.abs() < 1e-10 {
                // At the zeros the reference has the error of pi.
                assert!(f32::from_bits(got).abs() < 1e-10, "{name} {input:x}: {got:x}");
            } else {
                let border = want == 0.0 && got == 0x0080_0000;
                assert!(border || ulps(got, want.to_bits()) <= 1, "{name} {input:x}: {got:x}, want {want:e}");
            }
        }
    }
    assert_eq!(
        (trans::exp_f32(&mut Scalars, 0x40a0_0000), trans::log_f32(&mut Scalars, 0x4200_0000)),
        (0x4200_0000, 0x40a0_0000)
    );
    assert_eq!(
        (trans::sin_f32(&mut Scalars, 0x3e80_0000), trans::cos_f32(&mut Scalars, 0)),
        (0x3f80_0000, 0x3f80_0000)
    );
    assert_eq!(trans::log_f32(&mut Scalars, 0x8000_0000), 0xff80_0000);
}

/// What the vendor's documents of chips with the whole range give as examples, and quarters of turns beyond 256.
#[test]
fn sines_and_cosines_of_any_size() {
    // Only the examples say which zero it is.
    let same = |got: u32, want: u32, nan: u32| got == want || got & nan == 0 && want & nan == 0;
    for (x, sin, cos) in [
        (0xff7f_ffff, 0, 0x3f80_0000),
        (0x7f7f_ffff, 0, 0x3f80_0000),
        (0x8000_0000, 0x8000_0000, 0x3f80_0000),
        (0x3e80_0000, 0x3f80_0000, 0),
        (0x7f80_0000, 0x7fc0_0000, 0x7fc0_0000),
        (0xff80_0000, 0x7fc0_0000, 0x7fc0_0000),
        (256.25f32.to_bits(), 0x3f80_0000, 0),
        ((-300.25f32).to_bits(), 0xbf80_0000, 0),
        (1_000_000.75f32.to_bits(), 0xbf80_0000, 0),
        (8_388_607.5f32.to_bits(), 0, 0xbf80_0000),
        (8_388_609f32.to_bits(), 0, 0x3f80_0000),
    ] {
        let got = [trans::sin_any_f32(&mut Scalars, x), trans::cos_any_f32(&mut Scalars, x)];
        let right = same(got[0], sin, 0x7fff_ffff) && same(got[1], cos, 0x7fff_ffff);
        assert!(right, "{x:#x}: {got:x?}");
    }
    assert_eq!(trans::sin_any_f32(&mut Scalars, 0xff7f_ffff), 0);
    assert_eq!(trans::sin_any_f32(&mut Scalars, 0x8000_0000), 0x8000_0000);
    for (x, sin, cos) in [
        (0xfbff, 0, 0x3c00),
        (0x7bff, 0, 0x3c00),
        (0x8000, 0x8000, 0x3c00),
        (0x3400, 0x3c00, 0),
        (0xfc00, 0x7e00, 0x7e00),
        // 1028, 272.5, 300.25.
        (0x6404, 0, 0x3c00),
        (0x5c42, 0, 0xbc00),
        (0x5cb1, 0x3c00, 0),
    ] {
        let got = [Function::SinAny, Function::CosAny].map(|of| trans::half(of, Mode::NEAREST, x) as u32);
        let right = same(got[0], sin, 0x7fff) && same(got[1], cos, 0x7fff);
        assert!(right, "{x:#x}: {got:x?}");
    }
}

#[test]
fn half_precision_functions() {
    let mode = Mode::NEAREST;
    let f = |function, x| trans::half(function, mode, x);
    assert_eq!(f(Function::Rcp, 0x4000), 0x3800);
    assert_eq!(f(Function::Rcp, 0x8000), 0xfc00);
    assert_eq!(f(Function::Sqrt, 0x4400), 0x4000);
    assert_eq!(f(Function::Sqrt, 0xbc00), 0x7e00);
    assert_eq!(f(Function::Rsq, 0x4400), 0x3800);
    assert_eq!(f(Function::Rsq, 0), 0x7c00);
    assert_eq!(f(Function::Exp, 0x4900), 0x6400);
    assert_eq!(f(Function::Exp, 0xcb00), 0x0400);
    assert_eq!(f(Function::Exp, 0xcb80), 0x0200, "a denormal");
    assert_eq!(trans::half(Function::Exp, Mode(0), 0xcb80), 0);
    assert_eq!(f(Function::Log, 0x6400), 0x4900);
    assert_eq!(f(Function::Sin, 0x3400), 0x3c00);
    assert_eq!(f(Function::Cos, 0x3800), 0xbc00);
}

#[test]
fn two_over_pi() {
    let segment = |a: f64, n| f64::from_bits(trans::trig_preop(a.to_bits(), n));
    assert_eq!(segment(1.0, 0).to_bits(), 0x3fe4_5f30_6dc9_c882);
    // As a double-double 2 / pi is the f64 one unit above the first segment, less 3.9357e-17.
    let rest = segment(1.0, 1);
    assert!((rest - (2f64.powi(-53) - 3.935_735_335_036_497e-17)).abs() < 1e-31, "{rest:e}");
    assert!(segment(1.0, 2) < rest * 2f64.powi(-50));
    // From 2^55 up the window moves with the number.
    assert_eq!(segment(2f64.powi(54), 0), segment(1.0, 0));
    assert!(segment(2f64.powi(60), 0) < 2f64.powi(-6));
    assert_eq!(segment(1.0, 31), 0.0);
}

#[test]
fn division_works_out() {
    let single = |x: u64| f32::from_bits(x as u32);
    let bits = |x: f32| u64::from(x.to_bits());
    let (w, mode) = (Width::Single, Mode::NEAREST);
    let samples = samples(w, 80);
    for &n in &samples {
        for &d in &samples {
            // The sequence that LLVM makes of a division.
            let (sd, _) = divide::scale(w, d, d, n);
            let (sn, back) = divide::scale(w, n, d, n);
            let negative = sd ^ w.format().sign_bit();
            let rcp = bits(1.0 / single(sd));
            let error = arith::fma(w, mode, negative, rcp, bits(1.0));
            let rcp = arith::fma(w, mode, error, rcp, rcp);
            let quotient = arith::mul(w, mode, sn, rcp);
            let residual = arith::fma(w, mode, negative, quotient, sn);
            let quotient = arith::fma(w, mode, residual, rcp, quotient);
            let residual = arith::fma(w, mode, negative, quotient, sn);
            let scale = if back { FmasScale::Back } else { FmasScale::None };
            let sum = divide::fmas(w, mode, scale, residual, rcp, quotient);
            let got = divide::fixup(w, sum, d, n);
            let want = single(n) / single(d);
            let want = if want.is_nan() { w.nan() } else { bits(want) };
            // A denormal quotient is rounded twice, once before it is scaled back.
            let distance = ulps(got as u32, want as u32);
            let denormal = want & !w.format().sign_bit() <= 0x0080_0000;
            assert!(distance == 0 || (denormal && distance == 1), "{n:x} / {d:x}: {got:x}, want {want:x}");
        }
    }
}

#[test]
fn division_steps_as_formulas() {
    use super::number::{Double, Single};
    let mut o = crate::formula::Scalars;
    let mut flags = [0; 2];
    for (double, w) in [(false, Width::Single), (true, Width::Double)] {
        let mut scale = |a: u64, d: u64, n: u64| {
            let [value, flag] = match double {
                false => scaling::scale::<Single, _>(&mut o, a as u32, d as u32, n as u32).map(u64::from),
                true => scaling::scale::<Double, _>(&mut o, a, d, n),
            };
            let all = if double { u64::MAX } else { u32::MAX.into() };
            assert!(flag == 0 || flag == all, "{a:x} of {n:x} / {d:x}: {flag:x}");
            (value, flag == all)
        };
        // Exponents all over, and those near each other or near a limit.
        let mut samples = samples(w, 150);
        let format = w.format();
        for exponent in [0, 1, 22, 23, 24, 53, 54, 96, 128, 768].into_iter().filter(|&e| e <= format.bias) {
            for field in [exponent, 2 * format.bias - exponent] {
                samples.extend([0, 1, 5].map(|x| (field as u64) << format.fraction | x));
            }
        }
        for &n in &samples {
            for &d in &samples {
                for a in [d, n, samples[(n ^ d) as usize % samples.len()]] {
                    let (got, want) = (scale(a, d, n), divide::scale(w, a, d, n));
                    assert_eq!(got, want, "{a:x} of {n:x} / {d:x}");
                    flags[usize::from(got.1)] += 1;
                }
            }
        }
        for &n in &samples {
            for &d in &samples {
                for q in [
                    d,
                    n,
                    0,
                    format.infinity(),
                    format.infinity() | 1,
                    samples[(n ^ d) as usize % samples.len()],
                ] {
                    let got = match double {
                        false => scaling::fixup::<Single, _>(
                            &mut crate::formula::Scalars,
                            q as u32,
                            d as u32,
                            n as u32,
                        )
                        .into(),
                        true => scaling::fixup::<Double, _>(&mut crate::formula::Scalars, q, d, n),
                    };
                    assert_eq!(got, divide::fixup(w, q, d, n), "{q:x} for {n:x} / {d:x}");
                }
            }
        }
    }
    assert!(flags[0].min(flags[1]) > 10_000, "{flags:?}");
}

#[test]
fn powers_of_two_as_formulas() {
    use super::number::{Double, Single};
    use super::scaling::{Flush, ldexp, power, significand};
    let o = &mut crate::formula::Scalars;
    let powers = [
        0, 1, 22, 23, 24, 25, 52, 53, 54, 100, 126, 149, 150, 254, 277, 300, 1022, 1074, 1075, 2046, 2100,
        4999, 6000,
    ];
    let powers = powers.iter().flat_map(|&p| [p, -p]).chain([i32::MIN, i32::MAX]);
    let powers: Vec<i32> = powers.collect();
    for bits in [0x0, 0x50, 0xa0, 0xf0] {
        let mode = Mode(bits);
        for (double, w) in [(false, Width::Single), (true, Width::Double)] {
            let flush = Flush { inputs: mode.flushes_inputs(w), outputs: mode.flushes_outputs(w) };
            let samples = samples(w, 400).into_iter().flat_map(|x| [x, x ^ w.format().sign_bit()]);
            for a in samples {
                for &p in &powers {
                    let got = match double {
                        false => ldexp::<Single, _>(o, a as u32, p as u32, flush).into(),
                        true => ldexp::<Double, _>(o, a, p as u32, flush),
                    };
                    assert_eq!(got, arith::ldexp(w, mode, a, p), "{a:x} * 2^{p} with {bits:x}");
                }
                for form in [false, true] {
                    let (got, got_power) = match double {
                        false => (
                            significand::<Single, _>(o, a as u32, form, flush).into(),
                            power::<Single, _>(o, a as u32, -i32::from(form), flush),
                        ),
                        true => (
                            significand::<Double, _>(o, a, form, flush),
                            power::<Double, _>(o, a, -i32::from(form), flush),
                        ),
                    };
                    assert_eq!(got, arith::frexp_mant(w, mode, a, form), "{a:x} with {bits:x}");
                    assert_eq!(
                        got_power as i32,
                        arith::frexp_exp(w, mode, a, -i32::from(form)),
                        "{a:x} with {bits:x}"
                    );
                }
            }
        }
    }
}

#[test]
fn functions_of_halves_as_formulas() {
    use super::halves;
    use trans::Function;
    type Formula = fn(&mut crate::formula::Scalars, u32) -> u32;
    let o = &mut crate::formula::Scalars;
    let (w, mode) = (Width::Half, Mode::NEAREST);
    let functions: [(Function, Formula); 9] = [
        (Function::Exp, halves::exp),
        (Function::Log, halves::log),
        (Function::Sin, halves::sin),
        (Function::Cos, halves::cos),
        (Function::SinAny, halves::sin_any),
        (Function::CosAny, halves::cos_any),
        (Function::Rcp, halves::rcp),
        (Function::Rsq, halves::rsq),
        (Function::Sqrt, halves::sqrt),
    ];
    let samples = samples(w, 60);
    for x in 0..1 << 16 {
        let wide = u64::from(x);
        for (function, formula) in functions {
            assert_eq!(u64::from(formula(o, x)), trans::half(function, mode, wide), "{function:?} of {x:x}");
        }
        assert_eq!(u64::from(halves::significand(o, x)), arith::frexp_mant(w, mode, wide, false), "{x:x}");
        assert_eq!(halves::power(o, x), arith::frexp_exp(w, mode, wide, 0) as u32 & 0xffff, "{x:x}");
        for p in [0i16, 1, -1, 9, -9, 15, -15, 24, -25, 40, -41, 200, -300, i16::MAX, i16::MIN] {
            let want = arith::ldexp(w, mode, wide, p.into());
            assert_eq!(u64::from(halves::ldexp(o, x, p as u16 as u32)), want, "{x:x} * 2^{p}");
        }
        let other = samples[x as usize % samples.len()];
        for (q, d, n) in
            [(wide, other, wide ^ other), (other, wide, wide), (wide, wide, other), (other, other, wide)]
        {
            let got = halves::fixup(o, q as u32, d as u32, n as u32);
            assert_eq!(u64::from(got), divide::fixup(w, q, d, n), "{q:x} for {n:x} / {d:x}");
        }
    }
}

/// Beside every half, and beside the middle between two: that is where results change.
#[test]
fn formulas_of_packed_conversions() {
    let o = &mut crate::formula::Scalars;
    let (single, half) = (Width::Single, Width::Half);
    let (keeps, flushes) = (Mode(0xf0), Mode(0x30));
    for size in 0..0x8000 {
        let start = convert::float(half, single, keeps, size) as u32;
        let next = convert::float(half, single, keeps, size + 1) as u32;
        for x in [start, start / 2 + next / 2] {
            for x in [x.wrapping_sub(1), x, x + 1].into_iter().flat_map(|x| [x, x ^ 0x8000_0000]) {
                for (mode, flushes) in [(keeps, false), (flushes, true)] {
                    let want = convert::float_rounded(single, half, mode, Rounding::Zero, x.into());
                    assert_eq!(u64::from(halves::towards_zero(o, x, flushes)), want, "{x:x} {mode:?}");
                }
            }
        }
    }
    for number in 0..=0x1_0000u32 {
        for (signed, scale) in [(true, 65534.0), (false, 131070.0)] {
            // Whole numbers, and the middles between them.
            let x = (f64::from(number) * 2.0 / scale, f64::from(2 * number + 1) / scale);
            for x in [x.0, x.1, -x.0, -x.1].map(|x| (x as f32).to_bits()) {
                for x in [x.wrapping_sub(1), x, x + 1] {
                    let want = convert::norm16(single, x.into(), signed);
                    assert_eq!(halves::norm16(o, x, signed), want, "{x:x} {signed}");
                }
            }
        }
    }
    for x in [0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f80_0001, 0xffff_ffff, 1, 0x8000_0001, 0x7f7f_ffff] {
        let want = convert::float_rounded(single, half, keeps, Rounding::Zero, x.into());
        assert_eq!(u64::from(halves::towards_zero(o, x, false)), want, "{x:x}");
        for signed in [false, true] {
            assert_eq!(halves::norm16(o, x, signed), convert::norm16(single, x.into(), signed), "{x:x}");
        }
    }
}

#[test]
fn permutation_and_differences() {
    assert_eq!(bytes::perm(0x8899_aabb, 0x4455_6677, 0x0706_0504), 0x8899_aabb);
    assert_eq!(bytes::perm(0x8899_aabb, 0x4455_6677, 0x0001_0203), 0x7766_5544);
    assert_eq!(bytes::perm(0x8899_2abb, 0x4455_e677, 0x0b0a_0908), 0xff00_00ff);
    assert_eq!(bytes::perm(1, 2, 0xff0d_0c00), 0xffff_0002);
    assert_eq!(bytes::sad_u8(0x00ff_1005, 0x0000_2001, false), 255 + 16 + 4);
    assert_eq!(bytes::sad_u8(0x00ff_1005, 0x0000_2001, true), 16 + 4);
    let sums = bytes::qsad_pk(0x0605_0403_0201, 0x0403_0201, 0x0004_0003_0002_0001, false, false);
    assert_eq!(sums, 0x0011_000b_0006_0001);
    assert_eq!(bytes::qsad_pk(1, 0, 0xffff, false, false), 0);
    assert_eq!(bytes::qsad_pk(1, 0, 0xffff, false, true), 0xffff);
    assert_eq!(bytes::qsad_pk(1, 0, 0xffff, true, false), 0xffff);
    assert_eq!([0, 1, 0x10, 0xff, 0x1_0000].map(bytes::screen_partition), [1, 3, 15, 1, 1]);
}
