//! The pure functions that lifted code calls by name: wrappers of the parent module's arithmetic that take and return lane bits. If a
//! function has variants, its first argument is a constant that encodes the variant ([`Flags::encode`], [`Convert::encode`],
//! [`Form::encode`]).

use super::convert::{self, Convert, Kind};
use super::video::Form;
use super::{Flags, Rounding};
use crate::formula::directed::OfInt;
use crate::formula::{Lanes, Scalars};
use crate::pure_table::{a, functions, w};
use warpjit_ir::{Builder, Value};

fn flags(args: &[u64]) -> Flags {
    Flags::decode(w(args, 0))
}

fn rounding(args: &[u64]) -> Rounding {
    Rounding::from_field(w(args, 0))
}

/// Integers to f32.
fn conversion(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
    let &[form, x] = args else { return None };
    let form = Convert::decode(b.func.as_const(form)? as u32);
    let signed = match (form.from, form.to, form.saturate) {
        (Kind::U32, Kind::F32, false) => false,
        (Kind::S32, Kind::F32, false) => true,
        _ => return None,
    };
    let convert::Form { absolute, negate, rounding, .. } = form.form;
    Some(OfInt { signed, absolute, negate, rounding }.apply(&mut Lanes::new(b, ftz), x))
}

functions! {
    /// f32 sum, flags first
    ADD = "fermi.fadd" (I32, F32, F32) -> F32, |x| super::add(w(x, 1), w(x, 2), flags(x)).into();
    /// f32 product, flags first
    MUL = "fermi.fmul" (I32, F32, F32) -> F32, |x| super::mul(w(x, 1), w(x, 2), flags(x)).into();
    /// f32 fused multiply-add, flags first
    FMA = "fermi.ffma" (I32, F32, F32, F32) -> F32, |x| super::fma(w(x, 1), w(x, 2), w(x, 3), flags(x)).into();
    /// f64 sum, rounding field first
    ADD64 = "fermi.dadd" (I32, F64, F64) -> F64, |x| super::add64(a(x, 1), a(x, 2), rounding(x));
    /// f64 product, rounding field first
    MUL64 = "fermi.dmul" (I32, F64, F64) -> F64, |x| super::mul64(a(x, 1), a(x, 2), rounding(x));
    /// f64 fused multiply-add, rounding field first
    FMA64 = "fermi.dfma" (I32, F64, F64, F64) -> F64, |x| super::fma64(a(x, 1), a(x, 2), a(x, 3), rounding(x));
    /// Sine
    SIN = "fermi.sin" (F32) -> F32, |x| super::sin(&mut Scalars, w(x, 0)).into(), inline super::sin, fast super::quick::sin;
    /// Cosine
    COS = "fermi.cos" (F32) -> F32, |x| super::cos(&mut Scalars, w(x, 0)).into(), inline super::cos, fast super::quick::cos;
    /// `2^x`
    EX2 = "fermi.ex2" (F32) -> F32, |x| super::ex2(&mut Scalars, w(x, 0)).into(), inline super::ex2, fast super::quick::ex2;
    /// `log2(x)`
    LG2 = "fermi.lg2" (F32) -> F32, |x| super::lg2(&mut Scalars, w(x, 0)).into(), inline super::lg2, fast super::quick::lg2;
    /// Upper word of an f64 reciprocal
    RCP64H = "fermi.rcp64h" (I32) -> I32, |x| super::rcp64h(&mut Scalars, w(x, 0)).into(), inline super::rcp64h;
    /// Upper word of an f64 reciprocal square root
    RSQRT64H = "fermi.rsqrt64h" (I32) -> I32, |x| super::rsqrt64h(&mut Scalars, w(x, 0)).into(), inline super::rsqrt64h;
    /// Byte permute: mode, first operand, selector, third operand
    PRMT = "fermi.prmt" (I32, I32, I32, I32) -> I32, |x| super::permute(w(x, 0), w(x, 1), w(x, 2), w(x, 3)).into();
    /// Conversion to at most 32 bits of at most 32 bits
    CVT32_FROM32 = "fermi.cvt.i32.i32" (I32, I32) -> I32, |x| Convert::decode(w(x, 0)).apply(a(x, 1)), expand conversion;
    /// Conversion to at most 32 bits of 64 bits
    CVT32_FROM64 = "fermi.cvt.i32.i64" (I32, I64) -> I32, |x| Convert::decode(w(x, 0)).apply(a(x, 1));
    /// Conversion to 64 bits of at most 32 bits
    CVT64_FROM32 = "fermi.cvt.i64.i32" (I32, I32) -> I64, |x| Convert::decode(w(x, 0)).apply(a(x, 1));
    /// Conversion to 64 bits of 64 bits
    CVT64_FROM64 = "fermi.cvt.i64.i64" (I32, I64) -> I64, |x| Convert::decode(w(x, 0)).apply(a(x, 1));
    /// Video instruction
    VIDEO = "fermi.video" (I64, I32, I32, I32) -> I32, |x| Form::decode(a(x, 0)).apply(w(x, 1), w(x, 2), w(x, 3)).into();
}
