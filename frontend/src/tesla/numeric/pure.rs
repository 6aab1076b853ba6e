//! The pure functions that lifted code calls by name, `fn(&[u64]) -> u64`.
//!
//! Arguments and results are zero-extended lane values. If a function has variants, its first argument is a constant that encodes
//! the variant (a rounding field, [`Convert::encode`]). A missing argument counts as 0, so no call can fail.

use super::convert::{Convert, Kind};
use super::{Rounding, f32, f64, sfu, sfu_fast, sfu_formula, sfu_tables};
use crate::formula::Lanes;
use crate::formula::directed::{self, OfInt};
use crate::pure_table::{a, functions, w};
use warpjit_ir::{Builder, Scalar, Special, Value};

fn rounding(args: &[u64]) -> Rounding {
    Rounding::from_field(w(args, 0))
}

/// Operand `n` of an f64 operation whose form says what is done to it: above the two bits of the rounding field,
/// one bit for neg and one for abs per operand.
fn double(args: &[u64], n: usize) -> u64 {
    let form = w(args, 0) >> (2 + 2 * n);
    f64::modify(a(args, n + 1), form & 2 != 0, form & 1 != 0)
}

/// Products rounded towards zero, as divisions of integers have them.
fn product(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
    let &[form, x, y] = args else { return None };
    if Rounding::from_field(b.func.as_const(form)? as u32) != Rounding::Zero {
        return None;
    }
    let [x, y] = [x, y].map(|value| b.bitcast(value, Scalar::I32));
    let result = directed::mul_toward_zero(&mut Lanes::new(b, ftz), x, y, f32::NAN);
    Some(b.bitcast(result, Scalar::F32))
}

/// Integers of 32 bits to f32.
fn conversion(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
    let &[form, x] = args else { return None };
    let form = Convert::decode(b.func.as_const(form)? as u32);
    // The chip's opposite of 0 is -0.
    if form.negate || form.absolute || form.saturate || form.width != 32 {
        return None;
    }
    let signed = match (form.from, form.to) {
        (Kind::U32, Kind::F32) => false,
        (Kind::S32, Kind::F32) => true,
        _ => return None,
    };
    let of = OfInt { signed, absolute: false, negate: false, rounding: form.rounding };
    Some(of.apply(&mut Lanes::new(b, ftz), x))
}

functions! {
    /// `1 / x`
    RCP = "tesla.rcp" (F32) -> F32, |x| sfu::rcp(w(x, 0)).into(), inline sfu_formula::rcp, fast sfu_fast::rcp,
        special Special::Rcp(&sfu_tables::RCP);
    /// `1 / sqrt(x)`
    RSQRT = "tesla.rsqrt" (F32) -> F32, |x| sfu::rsqrt(w(x, 0)).into(), inline sfu_formula::rsqrt, fast sfu_fast::rsqrt,
        special Special::Rsqrt(&sfu_tables::RSQRT);
    /// `log2(x)`
    LG2 = "tesla.lg2" (F32) -> F32, |x| sfu::lg2(w(x, 0)).into(), inline sfu_formula::lg2, fast sfu_fast::lg2;
    /// `sin` of a prepared argument
    SIN = "tesla.sin" (I32) -> F32, |x| sfu::sin(w(x, 0)).into(), inline sfu_formula::sin, fast sfu_fast::sin;
    /// `cos` of a prepared argument
    COS = "tesla.cos" (I32) -> F32, |x| sfu::cos(w(x, 0)).into(), inline sfu_formula::cos, fast sfu_fast::cos;
    /// `2^x` of a prepared argument
    EX2 = "tesla.ex2" (I32) -> F32, |x| sfu::ex2(w(x, 0)).into(), inline sfu_formula::ex2, fast sfu_fast::ex2;
    /// Prepares an argument of sin and cos
    PRESIN = "tesla.presin" (F32) -> I32, |x| sfu::presin(w(x, 0)).into(), inline sfu_formula::presin, fast sfu_fast::presin;
    /// Prepares an argument of ex2
    PREEX2 = "tesla.preex2" (F32) -> I32, |x| sfu::preex2(w(x, 0)).into(), inline sfu_formula::preex2, fast sfu_fast::preex2;
    /// The truncated squarer of 17-bit numbers
    SQUARE = "tesla.square" (I32) -> I32, |x| sfu::square(w(x, 0) & 0x1_ffff) as u64, inline sfu_formula::square, special Special::Square;
    /// f32 sum, rounding field first
    ADD_F32 = "tesla.fadd" (I32, F32, F32) -> F32, |x| f32::add(w(x, 1), w(x, 2), rounding(x)).into();
    /// f32 product, rounding field first
    MUL_F32 = "tesla.fmul" (I32, F32, F32) -> F32, |x| f32::mul(w(x, 1), w(x, 2), rounding(x)).into(), expand product;
    /// f32 multiply-add
    MAD_F32 = "tesla.fmad" (F32, F32, F32) -> F32, |x| f32::mad(w(x, 0), w(x, 1), w(x, 2)).into();
    /// f64 sum, form first
    ADD_F64 = "tesla.dadd" (I32, F64, F64) -> F64, |x| f64::add(double(x, 0), double(x, 1), rounding(x));
    /// f64 product, form first
    MUL_F64 = "tesla.dmul" (I32, F64, F64) -> F64, |x| f64::mul(double(x, 0), double(x, 1), rounding(x));
    /// f64 fused multiply-add, form first
    FMA_F64 = "tesla.dfma" (I32, F64, F64, F64) -> F64, |x| f64::fma(double(x, 0), double(x, 1), double(x, 2), rounding(x));
    /// Conversion into at most 32 bits of at most 32 bits, [`Convert::encode`] first
    CVT32_FROM32 = "tesla.cvt.i32.i32" (I32, I32) -> I32, |x| Convert::decode(w(x, 0)).apply(a(x, 1)), expand conversion;
    /// Conversion into at most 32 bits of 64 bits
    CVT32_FROM64 = "tesla.cvt.i32.i64" (I32, I64) -> I32, |x| Convert::decode(w(x, 0)).apply(a(x, 1));
    /// Conversion into 64 bits of at most 32 bits
    CVT64_FROM32 = "tesla.cvt.i64.i32" (I32, I32) -> I64, |x| Convert::decode(w(x, 0)).apply(a(x, 1));
    /// Conversion into 64 bits of 64 bits
    CVT64_FROM64 = "tesla.cvt.i64.i64" (I32, I64) -> I64, |x| Convert::decode(w(x, 0)).apply(a(x, 1));
    /// `$c` of a conversion of at most 32 bits
    CVT_CONDITION32 = "tesla.cvt.cc.i32" (I32, I32) -> I32, |x| Convert::decode(w(x, 0)).condition(a(x, 1)).into();
    /// `$c` of a conversion of 64 bits
    CVT_CONDITION64 = "tesla.cvt.cc.i64" (I32, I64) -> I32, |x| Convert::decode(w(x, 0)).condition(a(x, 1)).into();
}
