//! Runs a formula in Rust, for one lane ([`Scalars`]).

use super::Ops;
use crate::soft::{self, Rounding};
use warpjit_ir::{PureFn, WordTable};

/// Computes at once.
#[derive(Clone, Copy, Debug)]
pub struct Scalars;

macro_rules! bodies {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty = $body:expr;)*) => {
        $(#[inline(always)] fn $name(&mut self, $($arg: $ty),*) -> $ret { $body })*
    };
}

impl Ops for Scalars {
    type Word = u32;
    type Wide = u64;
    type Single = f32;
    type Double = f64;
    type Truth = bool;

    bodies! {
        word(bits: u32) -> u32 = bits;
        wide(bits: u64) -> u64 = bits;
        double(value: f64) -> f64 = value;
        single(value: f32) -> f32 = value;
        shl(a: u32, n: u32) -> u32 = a << n;
        shr(a: u32, n: u32) -> u32 = a >> n;
        sar(a: u32, n: u32) -> u32 = (a as i32 >> n) as u32;
        wide_shl(a: u64, n: u32) -> u64 = a << n;
        wide_shr(a: u64, n: u32) -> u64 = a >> n;
        call(callee: &'static PureFn, a: u32) -> u32 = (callee.eval)(&[a.into()]) as u32;
        canonical(a: f32, nan: u32) -> f32 = if a.is_nan() { f32::from_bits(nan) } else { a };
        lookup(table: &'static WordTable, index: u32) -> u32 = table.entry(index);

        add(a: u32, b: u32) -> u32 = a.wrapping_add(b);
        sub(a: u32, b: u32) -> u32 = a.wrapping_sub(b);
        mul(a: u32, b: u32) -> u32 = a.wrapping_mul(b);
        mul_high(a: u32, b: u32) -> u32 = ((u64::from(a) * u64::from(b)) >> 32) as u32;
        and(a: u32, b: u32) -> u32 = a & b;
        or(a: u32, b: u32) -> u32 = a | b;
        xor(a: u32, b: u32) -> u32 = a ^ b;
        shl_by(a: u32, n: u32) -> u32 = a << (n & 31);
        shr_by(a: u32, n: u32) -> u32 = a >> (n & 31);
        umin(a: u32, b: u32) -> u32 = a.min(b);
        smax(a: u32, b: u32) -> u32 = (a as i32).max(b as i32) as u32;
        eq(a: u32, b: u32) -> bool = a == b;
        ult(a: u32, b: u32) -> bool = a < b;
        slt(a: u32, b: u32) -> bool = (a as i32) < b as i32;
        both(a: bool, b: bool) -> bool = a && b;
        select(when: bool, a: u32, b: u32) -> u32 = if when { a } else { b };
        to_single(a: u32) -> f32 = a as i32 as f32;
        to_word(a: f32) -> u32 = a as i32 as u32;
        single_add(a: f32, b: f32) -> f32 = a + b;
        single_sub(a: f32, b: f32) -> f32 = a - b;
        single_mul(a: f32, b: f32) -> f32 = a * b;
        single_fma(a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, c);
        // Rounding an f64 quotient again gives the f32 one: it has more than twice the bits.
        single_div(a: f32, b: f32) -> f32 = demoted(f64::from(flushed(a)) / f64::from(flushed(b)));
        single_sqrt(a: f32) -> f32 = flushed(a).sqrt();
        single_nearest(a: f32) -> f32 = a.round_ties_even();
        widen(a: u32) -> f32 = {
            let number = soft::F16.number((a & 0xffff).into());
            f32::from_bits(number.round(&soft::F32, Rounding::Nearest, 0x7fc0_0000) as u32)
        };
        narrow(a: f32) -> u32 = {
            let nan = if a.is_sign_negative() { 0xfe00 } else { 0x7e00 };
            soft::F32.number(a.to_bits().into()).round(&soft::F16, Rounding::Nearest, nan) as u32
        };
        bits(a: f32) -> u32 = a.to_bits();
        of_bits(a: u32) -> f32 = f32::from_bits(a);

        wide_add(a: u64, b: u64) -> u64 = a.wrapping_add(b);
        wide_sub(a: u64, b: u64) -> u64 = a.wrapping_sub(b);
        wide_and(a: u64, b: u64) -> u64 = a & b;
        wide_or(a: u64, b: u64) -> u64 = a | b;
        wide_shr_by(a: u64, n: u64) -> u64 = a >> (n & 63);
        wide_eq(a: u64, b: u64) -> bool = a == b;
        wide_slt(a: u64, b: u64) -> bool = (a as i64) < b as i64;
        wide_select(when: bool, a: u64, b: u64) -> u64 = if when { a } else { b };
        low(a: u64) -> u32 = a as u32;
        extend(a: u32) -> u64 = a.into();
        wide_bits(a: f64) -> u64 = a.to_bits();
        of_wide_bits(a: u64) -> f64 = f64::from_bits(a);

        promote(a: f32) -> f64 = a.into();
        demote(a: f64) -> f32 = demoted(a);
        double_of_signed(a: u32) -> f64 = f64::from(a as i32);
        double_of_unsigned(a: u32) -> f64 = f64::from(a);
        double_add(a: f64, b: f64) -> f64 = a + b;
        double_sub(a: f64, b: f64) -> f64 = a - b;
        double_mul(a: f64, b: f64) -> f64 = a * b;
        double_div(a: f64, b: f64) -> f64 = a / b;
        double_sqrt(a: f64) -> f64 = a.sqrt();
        double_abs(a: f64) -> f64 = a.abs();
        double_neg(a: f64) -> f64 = -a;
        double_lt(a: f64, b: f64) -> bool = a < b;
        double_eq(a: f64, b: f64) -> bool = a == b;
        double_select(when: bool, a: f64, b: f64) -> f64 = if when { a } else { b };
    }
}

/// To nearest even; what is denormal after rounding to 24 bits becomes a zero.
#[inline(always)]
fn demoted(a: f64) -> f32 {
    const UP: f64 = 18_446_744_073_709_551_616.0;
    const LEAST: f32 = f32::MIN_POSITIVE * UP as f32;
    // 2^64 times as large it is rounded as if there were no denormals.
    let tiny = ((a * UP) as f32).abs() < LEAST;
    let bits = (a as f32).to_bits();
    f32::from_bits(if tiny { bits & 0x8000_0000 } else { bits })
}

#[inline(always)]
fn flushed(a: f32) -> f32 {
    if a.is_subnormal() { f32::from_bits(a.to_bits() & 0x8000_0000) } else { a }
}
