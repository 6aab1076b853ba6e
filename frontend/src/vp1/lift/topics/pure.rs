//! Computes the scalar unit's bytewise arithmetic as pure functions (docs/hardware/vp1.md sections 4 and 5).

use warpjit_ir::{PureFn, Scalar};

const I32: Scalar = Scalar::I32;

/// Applies a function to each pair of bytes, signed or not, and clips what it gives.
fn bytes(args: &[u64], signed: bool, f: fn(i32, i32) -> i32) -> u64 {
    let mut out = 0;
    for at in [0, 8, 16, 24] {
        let byte = |word: u64| {
            let byte = (word >> at) as u8;
            if signed { i32::from(byte as i8) } else { i32::from(byte) }
        };
        let (low, high) = if signed { (-0x80, 0x7f) } else { (0, 0xff) };
        let result = f(byte(args[0]), byte(args[1])).clamp(low, high);
        out |= u64::from(result as u8) << at;
    }
    out
}

/// Shifts each byte right by a signed number of four bits, without clipping.
fn shift_bytes(args: &[u64], signed: bool) -> u64 {
    let mut out = 0;
    for at in [0, 8, 16, 24] {
        let byte = (args[0] >> at) as u8;
        let value = if signed { i32::from(byte as i8) } else { i32::from(byte) };
        let count = ((args[1] >> at) as i32) << 28 >> 28;
        let result = if count < 0 { value << -count } else { value >> count };
        out |= u64::from(result as u8) << at;
    }
    out
}

/// Settings of a product of bytes, the third argument.
pub(in crate::vp1::lift) const SIGNED1: u32 = 1;
pub(in crate::vp1::lift) const SIGNED2: u32 = 2;
/// Signed result, rounded and shifted accordingly.
pub(in crate::vp1::lift) const SIGNED_RESULT: u32 = 4;
pub(in crate::vp1::lift) const ROUND: u32 = 8;
/// The bus gets the product without its low eight bits.
pub(in crate::vp1::lift) const BUS_HIGH: u32 = 16;

/// The products of bytes; signed factors count twice.
fn products(args: &[u64]) -> [i32; 4] {
    let flags = args[2] as u32;
    let factor = |word: u64, at: u32, signed: u32| {
        let byte = (word >> at) as u8;
        if flags & signed != 0 { i32::from(byte as i8) * 2 } else { i32::from(byte) }
    };
    let round = match flags & (ROUND | SIGNED_RESULT) {
        ROUND => 0x80,
        both if both & ROUND != 0 => 0x100,
        _ => 0,
    };
    [0, 8, 16, 24].map(|at| factor(args[0], at, SIGNED1) * factor(args[1], at, SIGNED2) + round)
}

fn multiply(args: &[u64]) -> u64 {
    let signed = args[2] as u32 & SIGNED_RESULT != 0;
    let mut out = 0;
    for (byte, product) in products(args).into_iter().enumerate() {
        let result = if signed { (product >> 9).clamp(-0x80, 0x7f) } else { (product >> 8).clamp(0, 0xff) };
        out |= u64::from(result as u8) << (8 * byte);
    }
    out
}

/// The factors on the bus, ten signed bits in sixteen each.
fn bus(args: &[u64]) -> u64 {
    let shift = if args[2] as u32 & BUS_HIGH != 0 { 8 } else { 0 };
    let mut out = 0;
    for (byte, product) in products(args).into_iter().enumerate() {
        let factor = (product >> shift) << 22 >> 22;
        out |= u64::from(factor as u16) << (16 * byte);
    }
    out
}

macro_rules! functions {
    ($($name:ident $text:literal $params:expr, $result:expr, $eval:expr;)*) => {
        $(pub(in crate::vp1::lift) static $name: PureFn =
            PureFn { name: $text, params: $params, result: $result, eval: $eval, expand: None, fast: None, special: None };)*
    };
}

functions! {
    BMIN_S "vp1.bmin_s" &[I32, I32], I32, |args| bytes(args, true, i32::min);
    BMIN_U "vp1.bmin_u" &[I32, I32], I32, |args| bytes(args, false, i32::min);
    BMAX_S "vp1.bmax_s" &[I32, I32], I32, |args| bytes(args, true, i32::max);
    BMAX_U "vp1.bmax_u" &[I32, I32], I32, |args| bytes(args, false, i32::max);
    BABS_S "vp1.babs_s" &[I32, I32], I32, |args| bytes(args, true, |a, _| a.abs());
    BABS_U "vp1.babs_u" &[I32, I32], I32, |args| bytes(args, false, |a, _| a);
    BNEG_S "vp1.bneg_s" &[I32, I32], I32, |args| bytes(args, true, |a, _| -a);
    BNEG_U "vp1.bneg_u" &[I32, I32], I32, |args| bytes(args, false, |a, _| -a);
    BADD_S "vp1.badd_s" &[I32, I32], I32, |args| bytes(args, true, |a, b| a + b);
    BADD_U "vp1.badd_u" &[I32, I32], I32, |args| bytes(args, false, |a, b| a + b);
    BSUB_S "vp1.bsub_s" &[I32, I32], I32, |args| bytes(args, true, |a, b| a - b);
    BSUB_U "vp1.bsub_u" &[I32, I32], I32, |args| bytes(args, false, |a, b| a - b);
    BSHR_S "vp1.bshr_s" &[I32, I32], I32, |args| shift_bytes(args, true);
    BSHR_U "vp1.bshr_u" &[I32, I32], I32, |args| shift_bytes(args, false);
    BMUL "vp1.bmul" &[I32, I32, I32], I32, multiply;
    BMUL_BUS "vp1.bmul_bus" &[I32, I32, I32], Scalar::I64, bus;
}

/// All, to find them by name.
pub static FUNCTIONS: [&PureFn; 16] = [
    &BMIN_S, &BMIN_U, &BMAX_S, &BMAX_U, &BABS_S, &BABS_U, &BNEG_S, &BNEG_U, &BADD_S, &BADD_U, &BSUB_S,
    &BSUB_U, &BSHR_S, &BSHR_U, &BMUL, &BMUL_BUS,
];
