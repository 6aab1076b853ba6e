//! Exponential, logarithm, sine, cosine, reciprocals and roots.
//!
//! The hardware is within 1 ulp of the true value (sine and cosine: a small absolute error), its bits are not
//! documented. Here exp, log, sin and cos are computed in f64 with a relative error below 2^-40 and rounded once, so
//! that results are the correctly rounded ones but for one in some 100000, and that one is off by less
//! than 0.501 ulp. Those of f16 are made from the same, reciprocals and roots of f16 from f64 ones. Reciprocals and roots
//! of f32 and f64 are IR operations (`lift/special.rs`). Denormal f32 sources and results are zeros in all modes; f16
//! follows MODE.
//!
//! The loops over words have no branches, so that the compiler makes vector code of them.

use super::{Mode, Width, convert};
use crate::soft::{F64, Real, Rounding};

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

fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for n in (0..N - 1).rev() {
        sum = sum * x + coefficients[n];
    }
    sum
}

/// 2^x; NaN for NaN. Right for results that are no smaller than 2^-1000 and no larger than 2^1000.
fn exp2(x: f64) -> f64 {
    let x = if x > 1000.0 { 1000.0 } else { x };
    let x = if x < -1000.0 { -1000.0 } else { x };
    let shifted = x + MAGIC;
    let p = polynomial(x - (shifted - MAGIC), &EXP2);
    // A NaN stays one: the addition is to its exponent only if it is a number.
    let result = f64::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 52));
    if x.is_nan() { x } else { result }
}

/// log2 of a normal positive number.
fn log2_normal(x: f64) -> f64 {
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    // Exponent such that the rest lies between sqrt(1/2) and sqrt(2); as a float by way of MAGIC. The offset keeps the
    // shift unsigned.
    let k = (x.to_bits().wrapping_sub(ROOT_HALF).wrapping_add(2048 << 52)) >> 52;
    let rest = f64::from_bits(x.to_bits().wrapping_sub(k.wrapping_sub(2048) << 52));
    let k = f64::from_bits(MAGIC.to_bits() + k) - (MAGIC + 2048.0);
    let s = (rest - 1.0) / (rest + 1.0);
    k + s * polynomial(s * s, &LOG2)
}

/// log2(x); minus infinity for zeros, NaN for what is below.
fn log2(x: f64) -> f64 {
    let normal = log2_normal(x);
    let result = if x == 0.0 { f64::NEG_INFINITY } else { normal };
    let result = if x == f64::INFINITY { x } else { result };
    if x < 0.0 || x.is_nan() { f64::NAN } else { result }
}

/// Sine or cosine of `turns` full turns; 0 and 1 beyond 256 turns; NaN for infinities.
fn sin_cos(turns: f64, cosine: bool) -> f64 {
    let quarters = turns * 4.0 + MAGIC;
    let rest = turns - (quarters - MAGIC) * 0.25;
    let quadrant = quarters.to_bits().wrapping_add(u64::from(cosine));
    let square = rest * rest;
    let (sin, cos) = (rest * polynomial(square, &SIN), polynomial(square, &COS));
    let value = if quadrant & 1 != 0 { cos } else { sin };
    let value = if quadrant & 2 != 0 { -value } else { value };
    let size = turns.abs();
    let value = if size > 256.0 { f64::from(u8::from(cosine)) } else { value };
    if size < f64::INFINITY { value } else { f64::NAN }
}

/// f32 of an f32 function; denormals in and out are zeros.
fn single(x: u32, function: impl Fn(f64) -> f64) -> u32 {
    let x = if x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x };
    let y = function(f64::from(f32::from_bits(x))) as f32;
    let bits = y.to_bits();
    let bits = if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits };
    if y.is_nan() { 0x7fc0_0000 } else { bits }
}

macro_rules! singles {
    ($($(#[$doc:meta])* $name:ident, $words:ident: |$x:ident| $body:expr;)*) => {
        $(
            $(#[$doc])*
            pub fn $name(bits: u32) -> u32 {
                single(bits, |$x| $body)
            }

            /// The same of each word.
            pub fn $words(from: &[u32], to: &mut [u32]) {
                for (&from, to) in from.iter().zip(to) {
                    *to = $name(from);
                }
            }
        )*
    };
}

singles! {
    /// 2^x (`v_exp_f32`).
    exp_f32, exp_f32_words: |x| exp2(x);
    /// log2(x) (`v_log_f32`).
    log_f32, log_f32_words: |x| log2(x);
    /// Sine of x turns (`v_sin_f32`).
    sin_f32, sin_f32_words: |x| sin_cos(x, false);
    /// Cosine of x turns (`v_cos_f32`).
    cos_f32, cos_f32_words: |x| sin_cos(x, true);
}

/// What a half-precision function computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// 2^x
    Exp,
    /// log2(x)
    Log,
    /// Sine of x turns
    Sin,
    /// Cosine of x turns
    Cos,
    /// 1 / x
    Rcp,
    /// 1 / sqrt(x)
    Rsq,
    /// sqrt(x)
    Sqrt,
}

/// A function of an f16 (`v_exp_f16` and so on).
pub fn half(function: Function, mode: Mode, bits: u64) -> u64 {
    let exact = Mode(mode.0 | 0x80 | 0x40);
    let x = f64::from_bits(convert::float(Width::Half, Width::Double, exact, mode.input(Width::Half, bits)));
    let y = match function {
        Function::Exp => exp2(x),
        Function::Log => log2(x),
        Function::Sin => sin_cos(x, false),
        Function::Cos => sin_cos(x, true),
        Function::Rcp => 1.0 / x,
        Function::Rsq => 1.0 / x.sqrt(),
        Function::Sqrt => x.sqrt(),
    };
    let nearest = Mode(mode.0 & !0xc);
    if y.is_nan() {
        return Width::Half.nan();
    }
    let y = y.to_bits();
    // The f64 on the way is no denormal.
    let out = nearest.output(Width::Half);
    if F64.is_infinite(y) {
        return if y & F64.sign_bit() != 0 { 0xfc00 } else { 0x7c00 };
    }
    out.round(F64.unpack(y), Rounding::Nearest)
}

/// 2 / pi: 1216 bits behind the point.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// `v_trig_preop_f64`: 53 bits of 2 / pi, beginning with bit 53 `segment`, further on for numbers from 2^55 up, so
/// that the product with the number has the bits that matter. The hardware has 1201 bits; zeros follow.
pub fn trig_preop(a: u64, segment: u32) -> u64 {
    let exponent = (a >> 52 & 0x7ff) as i32;
    let shift = (segment & 31) as i32 * 53 + (exponent - 1077).max(0);
    let bit = |n: i32| {
        let word = TWO_OVER_PI.get(n as usize / 64).filter(|_| n < 1201).copied().unwrap_or(0);
        word >> (63 - n % 64) & 1
    };
    let bits = (shift..shift + 53).fold(0, |bits, n| bits << 1 | bit(n));
    let exponent = if exponent >= 1968 { 128 } else { 0 } - 53 - shift;
    F64.round(Real { negative: false, magnitude: bits.into(), exponent }, Rounding::Nearest)
}
