//! The pure functions that both tiers call by name: wrappers of the parent module's arithmetic that take and return lane bits.
//!
//! If a result depends on MODE, the first argument holds MODE in its low 16 bits and the operation's variant above ([`FORM`]). A
//! missing argument counts as 0, so no call can fail.

use super::divide::FmasScale;
use super::trans::Function;
use super::{Mode, Width, arith, bytes, convert, divide, halves, scaling, trans};
use crate::formula::Scalars;
use crate::pure_table::{a, functions, w};
use crate::soft::Rounding;

/// Where the form begins in the first argument.
pub const FORM: u32 = 16;

const MAXIMUM: u32 = 1;
const FOLLOWS_MODE: u32 = 2;

/// Form of min and max: which of them, and whether denormals follow MODE.
pub fn extreme_form(maximum: bool, follows_mode: bool) -> u32 {
    let maximum = if maximum { MAXIMUM } else { 0 };
    if follows_mode { maximum | FOLLOWS_MODE } else { maximum }
}

fn h(args: &[u64], n: usize) -> u64 {
    a(args, n) & 0xffff
}

fn mode(args: &[u64]) -> Mode {
    Mode(w(args, 0) & 0xffff)
}

fn form(args: &[u64]) -> u32 {
    w(args, 0) >> FORM
}

fn fmas_scale(form: u32) -> FmasScale {
    match form {
        0 => FmasScale::None,
        1 => FmasScale::Up,
        _ => FmasScale::Back,
    }
}

fn min_max(width: Width, args: &[u64], a: u64, b: u64) -> u64 {
    let form = form(args);
    arith::min_max(width, mode(args), form & MAXIMUM != 0, form & FOLLOWS_MODE != 0, a, b)
}

use Width::{Double, Half, Single};

functions! {
    // f32.

    /// f32 sum
    ADD_F32 = "gcn.add.f32" (I32, F32, F32) -> F32, |x| arith::add(Single, mode(x), a(x, 1), a(x, 2));
    /// f32 product
    MUL_F32 = "gcn.mul.f32" (I32, F32, F32) -> F32, |x| arith::mul(Single, mode(x), a(x, 1), a(x, 2));
    /// f32 fused multiply-add
    FMA_F32 = "gcn.fma.f32" (I32, F32, F32, F32) -> F32, |x| arith::fma(Single, mode(x), a(x, 1), a(x, 2), a(x, 3));
    /// f32 multiply-add with a rounded product
    MAD_F32 = "gcn.mad.f32" (I32, F32, F32, F32) -> F32, |x| arith::mad(Single, mode(x), a(x, 1), a(x, 2), a(x, 3));
    /// f32 minimum or maximum
    MIN_MAX_F32 = "gcn.minmax.f32" (I32, F32, F32) -> F32, |x| min_max(Single, x, a(x, 1), a(x, 2));
    /// f32 times a power of two
    LDEXP_F32 = "gcn.ldexp.f32" (I32, F32, I32) -> F32, |x| arith::ldexp(Single, mode(x), a(x, 1), w(x, 2) as i32), expand scaling::ldexp_f32;
    /// f32 significand; form 1: NaN for infinities
    FREXP_MANT_F32 = "gcn.frexp_mant.f32" (I32, F32) -> F32, |x| arith::frexp_mant(Single, mode(x), a(x, 1), form(x) != 0), expand scaling::significand_f32;
    /// f32 exponent; form 1: -1 for infinities and NaNs
    FREXP_EXP_F32 = "gcn.frexp_exp.f32" (I32, F32) -> I32,
        |x| u64::from(arith::frexp_exp(Single, mode(x), a(x, 1), -(form(x) as i32)) as u32), expand scaling::power_f32;
    /// f32 multiply-add of the division; the form is [`FmasScale`]
    FMAS_F32 = "gcn.div_fmas.f32" (I32, F32, F32, F32) -> F32,
        |x| divide::fmas(Single, mode(x), fmas_scale(form(x)), a(x, 1), a(x, 2), a(x, 3));
    /// f32 scaling for the division
    DIV_SCALE_F32 = "gcn.div_scale.f32" (F32, F32, F32) -> F32, |x| divide::scale(Single, a(x, 0), a(x, 1), a(x, 2)).0, expand scaling::scale_f32;
    /// Whether the f32 quotient has to be scaled back
    DIV_FLAG_F32 = "gcn.div_flag.f32" (F32, F32) -> I1, |x| divide::scale(Single, a(x, 0), a(x, 0), a(x, 1)).1.into(), expand scaling::flag_f32;
    /// f32 fix-up of the division
    DIV_FIXUP_F32 = "gcn.div_fixup.f32" (F32, F32, F32) -> F32, |x| divide::fixup(Single, a(x, 0), a(x, 1), a(x, 2)), expand scaling::fixup_f32;
    /// 2^x
    EXP_F32 = "gcn.exp.f32" (F32) -> F32, |x| trans::exp_f32(&mut Scalars, w(x, 0)).into(), inline trans::exp_f32, fast trans::quick::exp_f32;
    /// log2(x)
    LOG_F32 = "gcn.log.f32" (F32) -> F32, |x| trans::log_f32(&mut Scalars, w(x, 0)).into(), inline trans::log_f32, fast trans::quick::log_f32;
    /// Sine of turns, 0 beyond 256
    SIN_F32 = "gcn.sin.f32" (F32) -> F32, |x| trans::sin_f32(&mut Scalars, w(x, 0)).into(), inline trans::sin_f32, fast trans::quick::sin_f32;
    /// Cosine of turns, 1 beyond 256
    COS_F32 = "gcn.cos.f32" (F32) -> F32, |x| trans::cos_f32(&mut Scalars, w(x, 0)).into(), inline trans::cos_f32, fast trans::quick::cos_f32;
    /// Sine of any number of turns
    SIN_ANY_F32 = "gcn.sin_any.f32" (F32) -> F32, |x| trans::sin_any_f32(&mut Scalars, w(x, 0)).into(), inline trans::sin_any_f32, fast trans::quick::sin_any_f32;
    /// Cosine of any number of turns
    COS_ANY_F32 = "gcn.cos_any.f32" (F32) -> F32, |x| trans::cos_any_f32(&mut Scalars, w(x, 0)).into(), inline trans::cos_any_f32, fast trans::quick::cos_any_f32;

    // f64.

    /// f64 sum
    ADD_F64 = "gcn.add.f64" (I32, F64, F64) -> F64, |x| arith::add(Double, mode(x), a(x, 1), a(x, 2));
    /// f64 product
    MUL_F64 = "gcn.mul.f64" (I32, F64, F64) -> F64, |x| arith::mul(Double, mode(x), a(x, 1), a(x, 2));
    /// f64 fused multiply-add
    FMA_F64 = "gcn.fma.f64" (I32, F64, F64, F64) -> F64, |x| arith::fma(Double, mode(x), a(x, 1), a(x, 2), a(x, 3));
    /// f64 minimum or maximum
    MIN_MAX_F64 = "gcn.minmax.f64" (I32, F64, F64) -> F64, |x| min_max(Double, x, a(x, 1), a(x, 2));
    /// f64 times a power of two
    LDEXP_F64 = "gcn.ldexp.f64" (I32, F64, I32) -> F64, |x| arith::ldexp(Double, mode(x), a(x, 1), w(x, 2) as i32), expand scaling::ldexp_f64;
    /// f64 significand; form 1: NaN for infinities
    FREXP_MANT_F64 = "gcn.frexp_mant.f64" (I32, F64) -> F64, |x| arith::frexp_mant(Double, mode(x), a(x, 1), form(x) != 0), expand scaling::significand_f64;
    /// f64 exponent; form 1: -1 for infinities and NaNs
    FREXP_EXP_F64 = "gcn.frexp_exp.f64" (I32, F64) -> I32,
        |x| u64::from(arith::frexp_exp(Double, mode(x), a(x, 1), -(form(x) as i32)) as u32), expand scaling::power_f64;
    /// f64 multiply-add of the division; the form is [`FmasScale`]
    FMAS_F64 = "gcn.div_fmas.f64" (I32, F64, F64, F64) -> F64,
        |x| divide::fmas(Double, mode(x), fmas_scale(form(x)), a(x, 1), a(x, 2), a(x, 3));
    /// f64 scaling for the division
    DIV_SCALE_F64 = "gcn.div_scale.f64" (F64, F64, F64) -> F64, |x| divide::scale(Double, a(x, 0), a(x, 1), a(x, 2)).0, expand scaling::scale_f64;
    /// Whether the f64 quotient has to be scaled back
    DIV_FLAG_F64 = "gcn.div_flag.f64" (F64, F64) -> I1, |x| divide::scale(Double, a(x, 0), a(x, 0), a(x, 1)).1.into(), expand scaling::flag_f64;
    /// f64 fix-up of the division
    DIV_FIXUP_F64 = "gcn.div_fixup.f64" (F64, F64, F64) -> F64, |x| divide::fixup(Double, a(x, 0), a(x, 1), a(x, 2)), expand scaling::fixup_f64;
    /// Bits of 2 / pi
    TRIG_PREOP_F64 = "gcn.trig_preop.f64" (F64, I32) -> F64, |x| trans::trig_preop(a(x, 0), w(x, 1));

    // f16, in the low half of a word.

    /// f16 sum
    ADD_F16 = "gcn.add.f16" (I32, I32, I32) -> I32, |x| arith::add(Half, mode(x), h(x, 1), h(x, 2));
    /// f16 product
    MUL_F16 = "gcn.mul.f16" (I32, I32, I32) -> I32, |x| arith::mul(Half, mode(x), h(x, 1), h(x, 2));
    /// f16 fused multiply-add
    FMA_F16 = "gcn.fma.f16" (I32, I32, I32, I32) -> I32, |x| arith::fma(Half, mode(x), h(x, 1), h(x, 2), h(x, 3));
    /// f16 multiply-add with a rounded product
    MAD_F16 = "gcn.mad.f16" (I32, I32, I32, I32) -> I32, |x| arith::mad(Half, mode(x), h(x, 1), h(x, 2), h(x, 3));
    /// f16 minimum or maximum
    MIN_MAX_F16 = "gcn.minmax.f16" (I32, I32, I32) -> I32, |x| min_max(Half, x, h(x, 1), h(x, 2));
    /// f16 times a power of two, whose exponent is a half too
    LDEXP_F16 = "gcn.ldexp.f16" (I32, I32, I32) -> I32, |x| arith::ldexp(Half, mode(x), h(x, 1), i32::from(w(x, 2) as i16)), expand halves::ldexp_f16;
    /// f16 significand
    FREXP_MANT_F16 = "gcn.frexp_mant.f16" (I32, I32) -> I32, |x| arith::frexp_mant(Half, mode(x), h(x, 1), false), expand halves::significand_f16;
    /// f16 exponent, a half
    FREXP_EXP_F16 = "gcn.frexp_exp.f16" (I32, I32) -> I32, |x| (arith::frexp_exp(Half, mode(x), h(x, 1), 0) as u32 & 0xffff).into(), expand halves::power_f16;
    /// f16 fix-up of the division
    DIV_FIXUP_F16 = "gcn.div_fixup.f16" (I32, I32, I32) -> I32, |x| divide::fixup(Half, h(x, 0), h(x, 1), h(x, 2)), expand halves::fixup_f16;
    /// 2^x of an f16
    EXP_F16 = "gcn.exp.f16" (I32, I32) -> I32, |x| trans::half(Function::Exp, mode(x), h(x, 1)), expand halves::exp_f16;
    /// log2(x) of an f16
    LOG_F16 = "gcn.log.f16" (I32, I32) -> I32, |x| trans::half(Function::Log, mode(x), h(x, 1)), expand halves::log_f16;
    /// Sine of turns, 0 beyond 256, f16
    SIN_F16 = "gcn.sin.f16" (I32, I32) -> I32, |x| trans::half(Function::Sin, mode(x), h(x, 1)), expand halves::sin_f16;
    /// Cosine of turns, 1 beyond 256, f16
    COS_F16 = "gcn.cos.f16" (I32, I32) -> I32, |x| trans::half(Function::Cos, mode(x), h(x, 1)), expand halves::cos_f16;
    /// Sine of any number of turns, f16
    SIN_ANY_F16 = "gcn.sin_any.f16" (I32, I32) -> I32, |x| trans::half(Function::SinAny, mode(x), h(x, 1)), expand halves::sin_any_f16;
    /// Cosine of any number of turns, f16
    COS_ANY_F16 = "gcn.cos_any.f16" (I32, I32) -> I32, |x| trans::half(Function::CosAny, mode(x), h(x, 1)), expand halves::cos_any_f16;
    /// 1 / x of an f16
    RCP_F16 = "gcn.rcp.f16" (I32, I32) -> I32, |x| trans::half(Function::Rcp, mode(x), h(x, 1)), expand halves::rcp_f16;
    /// 1 / sqrt(x) of an f16
    RSQ_F16 = "gcn.rsq.f16" (I32, I32) -> I32, |x| trans::half(Function::Rsq, mode(x), h(x, 1)), expand halves::rsq_f16;
    /// sqrt(x) of an f16
    SQRT_F16 = "gcn.sqrt.f16" (I32, I32) -> I32, |x| trans::half(Function::Sqrt, mode(x), h(x, 1)), expand halves::sqrt_f16;

    // Conversions.

    /// f32 to f16
    F16_FROM_F32 = "gcn.cvt.f16.f32" (I32, F32) -> I32, |x| convert::float(Single, Half, mode(x), a(x, 1));
    /// f32 to f16 towards zero
    F16_FROM_F32_RTZ = "gcn.cvt_rtz.f16.f32" (I32, F32) -> I32,
        |x| convert::float_rounded(Single, Half, mode(x), Rounding::Zero, a(x, 1)), expand halves::f16_towards_zero;
    /// f16 to f32
    F32_FROM_F16 = "gcn.cvt.f32.f16" (I32, I32) -> F32, |x| convert::float(Half, Single, mode(x), h(x, 1));
    /// f64 to f32
    F32_FROM_F64 = "gcn.cvt.f32.f64" (I32, F64) -> F32, |x| convert::float(Double, Single, mode(x), a(x, 1));
    /// f32 to f64
    F64_FROM_F32 = "gcn.cvt.f64.f32" (I32, F32) -> F64, |x| convert::float(Single, Double, mode(x), a(x, 1));
    /// i32 to f32
    F32_FROM_I32 = "gcn.cvt.f32.i32" (I32, I32) -> F32, |x| convert::from_int(Single, mode(x), (w(x, 1) as i32).into());
    /// u32 to f32
    F32_FROM_U32 = "gcn.cvt.f32.u32" (I32, I32) -> F32, |x| convert::from_int(Single, mode(x), w(x, 1).into());
    /// i16 to f16
    F16_FROM_I16 = "gcn.cvt.f16.i16" (I32, I32) -> I32, |x| convert::from_int(Half, mode(x), (w(x, 1) as i16).into());
    /// u16 to f16
    F16_FROM_U16 = "gcn.cvt.f16.u16" (I32, I32) -> I32, |x| convert::from_int(Half, mode(x), h(x, 1) as i64);
    /// f32 to the nearest i16 of -1 to 1
    NORM_I16_F32 = "gcn.norm.i16.f32" (F32) -> I32, |x| convert::norm16(Single, a(x, 0), true).into(), expand halves::norm_i16;
    /// f32 to the nearest u16 of 0 to 1
    NORM_U16_F32 = "gcn.norm.u16.f32" (F32) -> I32, |x| convert::norm16(Single, a(x, 0), false).into(), expand halves::norm_u16;
    /// f16 to the nearest i16 of -1 to 1
    NORM_I16_F16 = "gcn.norm.i16.f16" (I32) -> I32, |x| convert::norm16(Half, h(x, 0), true).into();
    /// f16 to the nearest u16 of 0 to 1
    NORM_U16_F16 = "gcn.norm.u16.f16" (I32) -> I32, |x| convert::norm16(Half, h(x, 0), false).into();
    /// f32 to a byte of a word
    PK_U8_F32 = "gcn.pk.u8.f32" (I32, F32, I32, I32) -> I32, |x| convert::pk_u8(mode(x), a(x, 1), w(x, 2), w(x, 3)).into();

    // Bytes.

    /// Four sums; flags first: 1 masked, 2 saturating
    QSAD_PK_U16_U8 = "gcn.qsad_pk.u16.u8" (I32, I64, I32, I64) -> I64,
        |x| bytes::qsad_pk(a(x, 1), w(x, 2), a(x, 3), w(x, 0) & 1 != 0, w(x, 0) & 2 != 0);
    /// Look-up of a screen partition
    SCREEN_PARTITION = "gcn.screen_partition" (I32) -> I32, |x| bytes::screen_partition(w(x, 0)).into();
    /// Permutation of bytes
    PERM_B32 = "gcn.perm.b32" (I32, I32, I32) -> I32, |x| bytes::perm(w(x, 0), w(x, 1), w(x, 2)).into();
}
