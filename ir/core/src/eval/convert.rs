//! Conversions between element types.

use super::float::demote_ftz;
use super::{Kernel, k1};
use crate::function::Imm;
use crate::opcodes::Opcode;
use crate::types::Scalar::{self, F32, F64, I1, I32, I64};

pub(super) fn kernel(op: Opcode, imm: &Imm, from: Scalar, to: Scalar) -> Option<(Kernel, u64)> {
    let kernel = match (op, from, to) {
        // Lanes are zero-extended already.
        (Opcode::Zext, I32, I64) => k1!(u64, |a| a),
        (Opcode::Bitcast, I32, F32) | (Opcode::Bitcast, F32, I32) => k1!(u64, |a| a),
        (Opcode::Bitcast, I64, F64) | (Opcode::Bitcast, F64, I64) => k1!(u64, |a| a),
        (Opcode::Sext, I32, I64) => k1!(i32, |a| i64::from(a)),
        (Opcode::Trunc, I64, I32) => k1!(u64, |a| a as u32),
        (Opcode::Bmask, I1, I32) => k1!(bool, |a| if a { u32::MAX } else { 0 }),
        (Opcode::Bmask, I1, I64) => k1!(bool, |a| if a { u64::MAX } else { 0 }),
        // Rust's casts from float to integer truncate, clamp, and give 0 for a NaN.
        (Opcode::FcvtToSint, F32, I32) => k1!(f32, |a| a as i32),
        (Opcode::FcvtToSint, F32, I64) => k1!(f32, |a| a as i64),
        (Opcode::FcvtToSint, F64, I32) => k1!(f64, |a| a as i32),
        (Opcode::FcvtToSint, F64, I64) => k1!(f64, |a| a as i64),
        (Opcode::FcvtToUint, F32, I32) => k1!(f32, |a| a as u32),
        (Opcode::FcvtToUint, F32, I64) => k1!(f32, |a| a as u64),
        (Opcode::FcvtToUint, F64, I32) => k1!(f64, |a| a as u32),
        (Opcode::FcvtToUint, F64, I64) => k1!(f64, |a| a as u64),
        (Opcode::FcvtFromSint, I32, F32) => k1!(i32, |a| a as f32),
        (Opcode::FcvtFromSint, I64, F32) => k1!(i64, |a| a as f32),
        (Opcode::FcvtFromSint, I32, F64) => k1!(i32, |a| f64::from(a)),
        (Opcode::FcvtFromSint, I64, F64) => k1!(i64, |a| a as f64),
        (Opcode::FcvtFromUint, I32, F32) => k1!(u32, |a| a as f32),
        (Opcode::FcvtFromUint, I64, F32) => k1!(u64, |a| a as f32),
        (Opcode::FcvtFromUint, I32, F64) => k1!(u32, |a| f64::from(a)),
        (Opcode::FcvtFromUint, I64, F64) => k1!(u64, |a| a as f64),
        (Opcode::Fpromote, F32, F64) => k1!(f32, |a| f64::from(a)),
        (Opcode::Fdemote, F64, F32) if matches!(imm, Imm::Ftz(true)) => k1!(f64, |a| demote_ftz(a)),
        (Opcode::Fdemote, F64, F32) => k1!(f64, |a| a as f32),
        (Opcode::F16ToF32, I32, F32) => k1!(u32, |a| f16_to_f32(a as u16)),
        (Opcode::F32ToF16, F32, I32) => k1!(u32, |a| u32::from(f32_to_f16(a))),
        _ => return None,
    };
    Some((kernel, 0))
}

/// Bits of the f32 equal to a binary16; a NaN keeps sign and payload and becomes quiet.
pub fn f16_to_f32(half: u16) -> u32 {
    let sign = u32::from(half & 0x8000) << 16;
    let exponent = u32::from(half >> 10) & 31;
    let fraction = u32::from(half & 0x3ff);
    match (exponent, fraction) {
        (0, 0) => sign,
        (0, _) => {
            // fraction * 2^-24: the leading bit at position p stands for 2^(p - 24).
            let p = 31 - fraction.leading_zeros();
            sign | (p + 127 - 24) << 23 | (fraction << (23 - p) & 0x7f_ffff)
        }
        (31, 0) => sign | 0x7f80_0000,
        (31, _) => sign | 0x7fc0_0000 | fraction << 13,
        _ => sign | (exponent + 127 - 15) << 23 | fraction << 13,
    }
}

/// The binary16 nearest to the f32 with the given bits, ties to even; a NaN gives 0x7e00 with its sign.
pub fn f32_to_f16(bits: u32) -> u16 {
    let sign = (bits >> 16) as u16 & 0x8000;
    let size = bits & 0x7fff_ffff;
    if size > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    let exponent = (size >> 23) as i32 - 127;
    if exponent >= 16 {
        return sign | 0x7c00;
    }
    if exponent < -25 {
        return sign;
    }
    // Significand with its leading bit, and how many of its 24 bits fall away: 13 for normals, one more for each step below.
    let significand = size & 0x7f_ffff | 0x80_0000;
    let drop = if exponent >= -14 { 13 } else { (-14 - exponent) as u32 + 13 };
    let kept = significand >> drop;
    let rest = significand & ((1 << drop) - 1);
    let half = 1 << (drop - 1);
    let rounded = kept + u32::from(rest > half || (rest == half && kept & 1 != 0));
    // A carry out of the fraction runs into the exponent, up to infinity, as it must.
    let base = if exponent >= -14 { ((exponent + 14) as u32) << 10 } else { 0 };
    sign | (base + rounded) as u16
}
