//! Computes exponentials, logarithms, sines, cosines, and the reciprocals and roots of f16.
//!
//! The hardware is within 1 ulp of the true value (sine and cosine: a small absolute error); its bits are not documented. Here
//! exp, log, sin and cos are formulas of f64 arithmetic, rounded once ([`crate::formula::elementary`]), also for f16. Reciprocals
//! and roots of f16 are computed in f64; those of f32 and f64 are IR operations (`lift/special.rs`). Denormal f32 sources and
//! results are zeros in all modes; f16 follows MODE.
//!
//! Arguments of sine and cosine are in turns: 1.0 is a full circle. GCN 1.0 to 1.2 accept 256 turns in either direction. Beyond
//! that the sine is 0 and the cosine 1, so compilers reduce the argument with `v_fract` first. 1.4 accepts all numbers, and
//! compilers pass any: LLVM's feature `trig-reduced-range` and Mesa's ACO end with 1.2, and the vendor's documents of later chips
//! say "full range input is supported" and name sin(-MaxFloat) = 0. Here the functions of 1.4 are periodic.

use super::{Mode, Width, convert};
use crate::formula::elementary::{ANY_TURNS, exp2, log2, of_single, of_turns};
use crate::formula::{Ops, Scalars};
use crate::soft::{F64, Real, Rounding};

macro_rules! singles {
    ($($(#[$doc:meta])* $name:ident: |$o:ident, $x:ident| $body:expr;)*) => {
        $(
            $(#[$doc])*
            pub fn $name<O: Ops>(o: &mut O, bits: O::Word) -> O::Word {
                of_single(o, bits, 0x7fc0_0000, |$o, $x| $body)
            }
        )*
    };
}

singles! {
    /// 2^x (`v_exp_f32`).
    exp_f32: |o, x| exp2(o, x);
    /// log2(x) (`v_log_f32`).
    log_f32: |o, x| log2(o, x);
    /// Sine of x turns (`v_sin_f32`), 0 beyond [`FEW_TURNS`].
    sin_f32: |o, x| of_turns(o, x, FEW_TURNS, false);
    /// Cosine of x turns (`v_cos_f32`), 1 beyond [`FEW_TURNS`].
    cos_f32: |o, x| of_turns(o, x, FEW_TURNS, true);
    /// Sine of any number of turns (`v_sin_f32` of 1.4).
    sin_any_f32: |o, x| of_turns(o, x, ANY_TURNS, false);
    /// Cosine of any number of turns (`v_cos_f32` of 1.4).
    cos_any_f32: |o, x| of_turns(o, x, ANY_TURNS, true);
}

/// The turns, either way, of which GCN 1.0 to 1.2 have sines and cosines.
pub const FEW_TURNS: f64 = 256.0;

/// The same for approximate numerics ([`crate::formula::fast`]).
pub mod quick {
    use crate::formula::{Ops, fast};

    const NAN: u32 = 0x7fc0_0000;
    const FEW_TURNS: Option<f32> = Some(super::FEW_TURNS as f32);

    /// 2^x.
    pub fn exp_f32<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
        fast::exp2(o, x, NAN)
    }

    /// log2(x).
    pub fn log_f32<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
        fast::lg2(o, x, NAN)
    }

    /// Sine of x turns, 0 beyond [`super::FEW_TURNS`].
    pub fn sin_f32<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
        fast::of_turns(o, x, FEW_TURNS, false, NAN)
    }

    /// Cosine of x turns, 1 beyond [`super::FEW_TURNS`].
    pub fn cos_f32<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
        fast::of_turns(o, x, FEW_TURNS, true, NAN)
    }

    /// Sine of any number of turns.
    pub fn sin_any_f32<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
        fast::of_turns(o, x, None, false, NAN)
    }

    /// Cosine of any number of turns.
    pub fn cos_any_f32<O: Ops>(o: &mut O, x: O::Word) -> O::Word {
        fast::of_turns(o, x, None, true, NAN)
    }
}

/// What a half-precision function computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// 2^x
    Exp,
    /// log2(x)
    Log,
    /// Sine of x turns, 0 beyond [`FEW_TURNS`]
    Sin,
    /// Cosine of x turns, 1 beyond [`FEW_TURNS`]
    Cos,
    /// Sine of any number of turns
    SinAny,
    /// Cosine of any number of turns
    CosAny,
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
        Function::Exp => exp2(&mut Scalars, x),
        Function::Log => log2(&mut Scalars, x),
        Function::Sin => of_turns(&mut Scalars, x, FEW_TURNS, false),
        Function::Cos => of_turns(&mut Scalars, x, FEW_TURNS, true),
        Function::SinAny => of_turns(&mut Scalars, x, ANY_TURNS, false),
        Function::CosAny => of_turns(&mut Scalars, x, ANY_TURNS, true),
        Function::Rcp => 1.0 / x,
        Function::Rsq => 1.0 / x.sqrt(),
        Function::Sqrt => x.sqrt(),
    };
    let nearest = Mode(mode.0 & !0xc);
    // The f64 on the way is no denormal.
    let number = F64.number(y.to_bits());
    number.round(&nearest.output(Width::Half), Rounding::Nearest, Width::Half.nan())
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
