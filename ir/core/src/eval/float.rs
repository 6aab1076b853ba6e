//! Float arithmetic and comparison.
//!
//! # How results are flushed exactly
//! With `ftz` a result is flushed if its magnitude is below the least normal number N *after* rounding to the format's precision
//! with unbounded exponent. The host rounds with gradual underflow, to a coarser grid. Let x be the exact result and r the host's
//! result:
//! - |r| < N: x is at least half a denormal step (2^-150 for f32) below N. Rounding to full precision has a smaller step there,
//!   so it stays below N: flush.
//! - |r| > N: |x| > N: keep.
//! - |r| = N: x may be just below N, where the two roundings differ. The operation is repeated on operands scaled by a power of
//!   two, clear of underflow, where the host's rounding *is* the one with unbounded exponent.
//!
//! Sums of normals never need the third case: they are multiples of the least denormal, so small sums are exact.

use super::{Kernel, k1, k2, k3};
use crate::function::Imm;
use crate::opcodes::{FloatCC, Opcode};
use crate::types::Scalar;

/// What the kernels need of a float type.
pub(super) trait Float: Copy + PartialOrd {
    /// Least positive normal number.
    const MIN_NORMAL: Self;
    /// Power of two that lifts results near the least normal clear of underflow.
    const LIFT: Self;
    /// Magnitude.
    fn magnitude(self) -> Self;
    /// Zero of the same sign.
    fn zero_of_sign(self) -> Self;
    /// Product.
    fn times(self, by: Self) -> Self;

    /// A denormal as zero of its sign, anything else as it is.
    #[inline(always)]
    fn flush(self) -> Self {
        if self.magnitude() < Self::MIN_NORMAL { self.zero_of_sign() } else { self }
    }

    /// Flushes a rounded result; `lifted` computes it scaled by [`Float::LIFT`] (see the module's comment).
    #[inline(always)]
    fn flush_result(self, lifted: impl FnOnce() -> Self) -> Self {
        let size = self.magnitude();
        let tiny = size < Self::MIN_NORMAL
            || (size == Self::MIN_NORMAL && lifted().magnitude() < Self::MIN_NORMAL.times(Self::LIFT));
        if tiny { self.zero_of_sign() } else { self }
    }
}

macro_rules! float {
    ($ty:ident, $lift:expr) => {
        impl Float for $ty {
            const MIN_NORMAL: $ty = $ty::MIN_POSITIVE;
            const LIFT: $ty = $lift;
            #[inline(always)]
            fn magnitude(self) -> $ty {
                self.abs()
            }
            #[inline(always)]
            fn zero_of_sign(self) -> $ty {
                (0.0 as $ty).copysign(self)
            }
            #[inline(always)]
            fn times(self, by: $ty) -> $ty {
                self * by
            }
        }
    };
}
// 2^64 and 2^512: far above the precision, and small enough that operands whose result is near the least normal
// do not overflow when multiplied by it (|a| <= 2^106 even under the cancellation of a fused multiply-add).
float!(f32, 18_446_744_073_709_551_616.0);
float!(f64, f64::from_bits((1023 + 512) << 52));

/// Product as f32 with flushed operands and result; exact in f64, so one rounding decides everything without a branch.
#[inline(always)]
fn fmul_ftz_f32(a: f32, b: f32) -> f32 {
    let exact = f64::from(a.flush()) * f64::from(b.flush());
    demote_ftz(exact)
}

/// f64 to f32 where the result flushes if it is denormal after rounding with unbounded exponent: if it is
/// below (1 - 2^-25) * 2^-126, the point from which nearest-even rounds up to 2^-126.
#[inline(always)]
pub(super) fn demote_ftz(x: f64) -> f32 {
    const LIMIT: f64 = f64::from_bits(((1023 - 127) << 52) | (0xff_ffff << 28));
    let r = x as f32;
    if x.abs() < LIMIT { r.zero_of_sign() } else { r }
}

/// Multiply-add of Tesla: the product truncated to 24 bits with unbounded exponent, the sum rounded once.
///
/// Any operand that is zero (after flushing) makes it a rounded product and a rounded sum
/// (docs/hardware/tesla.md section 6); that differs only for a zero addend.
///
/// Exactness: the product of two 24-bit significands has at most 48 bits, and exponents stay within 2^±254, so it is
/// exact in f64; clearing the low 29 of 52 fraction bits leaves 24 significant bits, rounded to zero. The sum of two
/// 24-bit numbers is then rounded to 53 bits and after that to 24. Rounding twice to nearest is harmless when the first
/// precision is at least 2p + 2 = 50 for sums of p-bit numbers (Figueroa 1995): a sum that needs more than 53 bits has
/// its smaller operand at least 53 - 24 = 29 positions under the larger's leading bit, below every midpoint of 24-bit
/// numbers, so the first rounding cannot land on one unless the sum was on it. The exponents' range plays no part: f64
/// reaches far below, and a result too small for f32 is flushed by [`demote_ftz`] with exponent unbounded.
#[inline(always)]
pub(super) fn fmad_trunc(a: f32, b: f32, c: f32) -> f32 {
    let (a, b, c) = (a.flush(), b.flush(), c.flush());
    let product = f64::from(a) * f64::from(b);
    if c == 0.0 {
        return demote_ftz(product) + c;
    }
    // An infinite product keeps its bits; a NaN from 0 * Inf has only its quiet bit, above those cleared; a
    // NaN operand's payload is unspecified anyway.
    let truncated = f64::from_bits(product.to_bits() & !0x1fff_ffff);
    demote_ftz(truncated + f64::from(c))
}

/// The lesser or greater of two floats by their bits.
macro_rules! extreme {
    ($name:ident, $uint:ident, $int:ident, $float:ident) => {
        #[inline(always)]
        fn $name(a: $uint, b: $uint, greater: bool) -> $uint {
            let is_nan = |x: $uint| $float::from_bits(x).is_nan();
            // Integers in the order of the floats: of negative ones all but the sign is the other way round.
            let order = |x: $uint| x as $int ^ ((x as $int >> ($uint::BITS - 1)) & $int::MAX);
            if is_nan(a) || !is_nan(b) && (order(b) < order(a)) != greater { b } else { a }
        }
    };
}
extreme!(extreme_f32, u32, i32, f32);
extreme!(extreme_f64, u64, i64, f64);

/// A kernel for either float type.
macro_rules! float_kernel {
    ($scalar:expr, $k:ident, $($body:tt)*) => {
        match $scalar {
            Scalar::F32 => $k!(f32, $($body)*),
            Scalar::F64 => $k!(f64, $($body)*),
            _ => return None,
        }
    };
}

/// An arithmetic kernel: plain, or flushing with the lifted recomputation.
macro_rules! arithmetic {
    ($scalar:expr, $ftz:expr, $k:ident, |$($x:ident),*| $e:expr, $lifted:expr) => {
        if $ftz {
            float_kernel!($scalar, $k, |$($x),*| {
                $(let $x = $x.flush();)*
                let r = $e;
                r.flush_result(|| $lifted)
            })
        } else {
            float_kernel!($scalar, $k, |$($x),*| $e)
        }
    };
}

/// A comparison kernel; the immediate says whether to flush first.
macro_rules! compare {
    ($scalar:expr, |$a:ident, $b:ident| $e:expr) => {
        float_kernel!($scalar, k2, |$a, $b, imm| {
            let ($a, $b) = if imm != 0 { ($a.flush(), $b.flush()) } else { ($a, $b) };
            $e
        })
    };
}

/// The factor of [`Float::LIFT`] in the type of the first argument.
#[inline(always)]
fn lift<F: Float>(x: F) -> F {
    x.times(F::LIFT)
}

pub(super) fn kernel(op: Opcode, imm: &Imm, scalar: Scalar) -> Option<(Kernel, u64)> {
    let ftz = matches!(imm, Imm::Ftz(true));
    let mut bits = 0;
    let kernel = match op {
        Opcode::Fadd => arithmetic!(scalar, ftz, k2, |a, b| a + b, lift(a + b)),
        Opcode::Fsub => arithmetic!(scalar, ftz, k2, |a, b| a - b, lift(a - b)),
        Opcode::Fmul if ftz && scalar == Scalar::F32 => k2!(f32, |a, b| fmul_ftz_f32(a, b)),
        Opcode::Fmul => arithmetic!(scalar, ftz, k2, |a, b| a * b, lift(a) * b),
        Opcode::Fdiv => arithmetic!(scalar, ftz, k2, |a, b| a / b, lift(a) / b),
        // The root of a normal number is never small.
        Opcode::Fsqrt if ftz => float_kernel!(scalar, k1, |a| a.flush().sqrt()),
        Opcode::Fsqrt => float_kernel!(scalar, k1, |a| a.sqrt()),
        Opcode::Fma => arithmetic!(scalar, ftz, k3, |a, b, c| a.mul_add(b, c), lift(a).mul_add(b, lift(c))),
        Opcode::FmadTrunc if scalar == Scalar::F32 => k3!(f32, |a, b, c| fmad_trunc(a, b, c)),
        Opcode::Fneg => match scalar {
            Scalar::F32 => k1!(u32, |a| a ^ 0x8000_0000),
            Scalar::F64 => k1!(u64, |a| a ^ (1 << 63)),
            _ => return None,
        },
        Opcode::Fabs => match scalar {
            Scalar::F32 => k1!(u32, |a| a & 0x7fff_ffff),
            Scalar::F64 => k1!(u64, |a| a & !(1 << 63)),
            _ => return None,
        },
        Opcode::Ffloor => float_kernel!(scalar, k1, |a| a.floor()),
        Opcode::Fceil => float_kernel!(scalar, k1, |a| a.ceil()),
        Opcode::Ftrunc => float_kernel!(scalar, k1, |a| a.trunc()),
        Opcode::Fnearest => float_kernel!(scalar, k1, |a| a.round_ties_even()),
        Opcode::Fflush => match scalar {
            // On bits: a NaN must keep its own, which moving it through a float type need not do.
            Scalar::F32 => k1!(u32, |a| if a & 0x7f80_0000 == 0 { a & 0x8000_0000 } else { a }),
            Scalar::F64 => k1!(u64, |a| if a & (0x7ff << 52) == 0 { a & (1 << 63) } else { a }),
            _ => return None,
        },
        Opcode::Fmin => match scalar {
            Scalar::F32 => k2!(u32, |a, b| extreme_f32(a, b, false)),
            Scalar::F64 => k2!(u64, |a, b| extreme_f64(a, b, false)),
            _ => return None,
        },
        Opcode::Fmax => match scalar {
            Scalar::F32 => k2!(u32, |a, b| extreme_f32(a, b, true)),
            Scalar::F64 => k2!(u64, |a, b| extreme_f64(a, b, true)),
            _ => return None,
        },
        // With the quiet bit flipped, only signalling NaNs are above all others.
        Opcode::Fsignals => match scalar {
            Scalar::F32 => k2!(u32, |a, b| [a, b].iter().any(|x| (x ^ 1 << 22) << 1 > 0x7fc0_0000 << 1)),
            Scalar::F64 => k2!(u64, |a, b| [a, b].iter().any(|x| (x ^ 1 << 51) << 1 > 0x7ff8 << 49)),
            _ => return None,
        },
        Opcode::Fcanon => {
            let Imm::Bits(nan) = imm else { return None };
            bits = nan & scalar.bit_mask();
            match scalar {
                Scalar::F32 => k1!(u32, |a, imm| if a & 0x7fff_ffff > 0x7f80_0000 { imm as u32 } else { a }),
                Scalar::F64 => k1!(u64, |a, imm| if a & !(1 << 63) > 0x7ff << 52 { imm } else { a }),
                _ => return None,
            }
        }
        Opcode::Fcmp => {
            let Imm::FloatCmp(cc, ftz) = imm else { return None };
            bits = u64::from(*ftz);
            match cc {
                FloatCC::Eq => compare!(scalar, |a, b| a == b),
                FloatCC::Lt => compare!(scalar, |a, b| a < b),
                FloatCC::Le => compare!(scalar, |a, b| a <= b),
                FloatCC::Gt => compare!(scalar, |a, b| a > b),
                FloatCC::Ge => compare!(scalar, |a, b| a >= b),
                FloatCC::One => compare!(scalar, |a, b| a != b && !a.is_nan() && !b.is_nan()),
                FloatCC::Ord => compare!(scalar, |a, b| !a.is_nan() && !b.is_nan()),
                FloatCC::Uno => compare!(scalar, |a, b| a.is_nan() || b.is_nan()),
                FloatCC::Ueq => compare!(scalar, |a, b| a == b || a.is_nan() || b.is_nan()),
                FloatCC::Ult => compare!(scalar, |a, b| a < b || a.is_nan() || b.is_nan()),
                FloatCC::Ule => compare!(scalar, |a, b| a <= b || a.is_nan() || b.is_nan()),
                FloatCC::Ugt => compare!(scalar, |a, b| a > b || a.is_nan() || b.is_nan()),
                FloatCC::Uge => compare!(scalar, |a, b| a >= b || a.is_nan() || b.is_nan()),
                FloatCC::Ne => compare!(scalar, |a, b| a != b),
            }
        }
        _ => return None,
    };
    Some((kernel, bits))
}
