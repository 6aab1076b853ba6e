//! Integer arithmetic and logic.

use super::{Kernel, k1, k2};
use crate::function::Imm;
use crate::opcodes::{AtomicOp, IntCC, Opcode};
use crate::types::Scalar;

/// A kernel for either width, on unsigned elements.
macro_rules! unsigned {
    ($scalar:expr, $k:ident, $($body:tt)*) => {
        match $scalar {
            Scalar::I32 => $k!(u32, $($body)*),
            Scalar::I64 => $k!(u64, $($body)*),
            _ => return None,
        }
    };
}

/// A kernel for either width, on signed elements.
macro_rules! signed {
    ($scalar:expr, $k:ident, $($body:tt)*) => {
        match $scalar {
            Scalar::I32 => $k!(i32, $($body)*),
            Scalar::I64 => $k!(i64, $($body)*),
            _ => return None,
        }
    };
}

pub(super) fn kernel(op: Opcode, imm: &Imm, scalar: Scalar) -> Option<(Kernel, u64)> {
    let logic = scalar.is_int() || scalar == Scalar::I1;
    let kernel = match op {
        Opcode::Iadd => unsigned!(scalar, k2, |a, b| a.wrapping_add(b)),
        Opcode::Isub => unsigned!(scalar, k2, |a, b| a.wrapping_sub(b)),
        Opcode::Imul => unsigned!(scalar, k2, |a, b| a.wrapping_mul(b)),
        Opcode::Umulhi => match scalar {
            Scalar::I32 => k2!(u32, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
            Scalar::I64 => k2!(u64, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64),
            _ => return None,
        },
        Opcode::Smulhi => match scalar {
            Scalar::I32 => k2!(i32, |a, b| ((i64::from(a) * i64::from(b)) >> 32) as i32),
            Scalar::I64 => k2!(i64, |a, b| ((i128::from(a) * i128::from(b)) >> 64) as i64),
            _ => return None,
        },
        // Canonical lanes stay canonical under these three, whatever the width.
        Opcode::Iand if logic => k2!(u64, |a, b| a & b),
        Opcode::Ior if logic => k2!(u64, |a, b| a | b),
        Opcode::Ixor if logic => k2!(u64, |a, b| a ^ b),
        Opcode::Inot if scalar == Scalar::I1 => k1!(bool, |a| !a),
        Opcode::Inot => unsigned!(scalar, k1, |a| !a),
        Opcode::Ineg => unsigned!(scalar, k1, |a| a.wrapping_neg()),
        Opcode::Ishl => unsigned!(scalar, k2, |a, b| a.wrapping_shl(b as u32)),
        Opcode::Ushr => unsigned!(scalar, k2, |a, b| a.wrapping_shr(b as u32)),
        Opcode::Sshr => signed!(scalar, k2, |a, b| a.wrapping_shr(b as u32)),
        Opcode::Rotl => unsigned!(scalar, k2, |a, b| a.rotate_left(b as u32 & 63)),
        Opcode::Umin => unsigned!(scalar, k2, |a, b| a.min(b)),
        Opcode::Umax => unsigned!(scalar, k2, |a, b| a.max(b)),
        Opcode::Smin => signed!(scalar, k2, |a, b| a.min(b)),
        Opcode::Smax => signed!(scalar, k2, |a, b| a.max(b)),
        Opcode::Popcnt => unsigned!(scalar, k1, |a| a.count_ones()),
        Opcode::Clz => unsigned!(scalar, k1, |a| a.leading_zeros()),
        Opcode::Ctz => unsigned!(scalar, k1, |a| a.trailing_zeros()),
        Opcode::Bitrev => unsigned!(scalar, k1, |a| a.reverse_bits()),
        Opcode::Bswap => unsigned!(scalar, k1, |a| a.swap_bytes()),
        Opcode::Icmp => {
            let Imm::Int(cc) = imm else { return None };
            match cc {
                IntCC::Eq => unsigned!(scalar, k2, |a, b| a == b),
                IntCC::Ne => unsigned!(scalar, k2, |a, b| a != b),
                IntCC::Slt => signed!(scalar, k2, |a, b| a < b),
                IntCC::Sle => signed!(scalar, k2, |a, b| a <= b),
                IntCC::Sgt => signed!(scalar, k2, |a, b| a > b),
                IntCC::Sge => signed!(scalar, k2, |a, b| a >= b),
                IntCC::Ult => unsigned!(scalar, k2, |a, b| a < b),
                IntCC::Ule => unsigned!(scalar, k2, |a, b| a <= b),
                IntCC::Ugt => unsigned!(scalar, k2, |a, b| a > b),
                IntCC::Uge => unsigned!(scalar, k2, |a, b| a >= b),
            }
        }
        _ => return None,
    };
    Some((kernel, 0))
}

/// What an atomic leaves in memory: `old` is what was there, `value` the operand (what `cas` compares with),
/// `new` what `cas` stores on a match. `bytes` is 4 or 8; bits above are ignored and come out zero.
#[inline]
pub fn atomic_result(op: AtomicOp, bytes: u8, old: u64, value: u64, new: u64) -> u64 {
    let wide = bytes == 8;
    let mask = if wide { u64::MAX } else { 0xffff_ffff };
    let (old, value, new) = (old & mask, value & mask, new & mask);
    let signed = |v: u64| if wide { v as i64 } else { i64::from(v as i32) };
    let (next, previous) = (old.wrapping_add(1) & mask, old.wrapping_sub(1) & mask);
    let inc = if next > value { 0 } else { next };
    let dec = if previous > value { value } else { previous };
    let result = match op {
        AtomicOp::Add => old.wrapping_add(value),
        AtomicOp::Exch => value,
        AtomicOp::Cas => {
            if old == value {
                new
            } else {
                old
            }
        }
        AtomicOp::Inc => inc,
        AtomicOp::Dec => dec,
        AtomicOp::IncS if signed(value) >= 0 => inc,
        AtomicOp::IncS if signed(next) > 0 || signed(value) > signed(next) => value,
        AtomicOp::IncS => next,
        AtomicOp::DecS if signed(value) >= 0 => dec,
        AtomicOp::DecS if signed(previous) > 0 || signed(value) > signed(previous) => 0,
        AtomicOp::DecS => previous,
        AtomicOp::Umax => old.max(value),
        AtomicOp::Umin => old.min(value),
        AtomicOp::Smax => signed(old).max(signed(value)) as u64,
        AtomicOp::Smin => signed(old).min(signed(value)) as u64,
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::Fadd | AtomicOp::Fmin | AtomicOp::Fmax => float_atomic(op, wide, old, value),
        AtomicOp::FaddFtz => add_flushed(old, value),
        AtomicOp::Rsub => value.wrapping_sub(old),
        AtomicOp::Fcas if float_equal(wide, old, value) => new,
        AtomicOp::Fcas => old,
        AtomicOp::Mskor => old & !value | new,
        AtomicOp::Wrap if old >= value => old - value,
        AtomicOp::Wrap => old.wrapping_add(new),
        AtomicOp::CondExch if value > mask >> 1 => value & mask >> 1,
        AtomicOp::CondExch => old,
        AtomicOp::Nop => old,
    };
    result & mask
}

/// Whether two floats are equal: of the bits of binary64 where `wide`, else of binary32.
fn float_equal(wide: bool, a: u64, b: u64) -> bool {
    if wide {
        f64::from_bits(a) == f64::from_bits(b)
    } else {
        f32::from_bits(a as u32) == f32::from_bits(b as u32)
    }
}

/// A sum of binary32 without denormals.
fn add_flushed(old: u64, value: u64) -> u64 {
    let flush = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
    let [old, value] = [old, value].map(|bits| flush(f32::from_bits(bits as u32)));
    let sum = old + value;
    if sum.is_nan() { 0x7fff_ffff } else { flush(sum).to_bits().into() }
}

/// The float operations of [`atomic_result`], on the bits of binary64 where `wide`, else of binary32.
fn float_atomic(op: AtomicOp, wide: bool, old: u64, value: u64) -> u64 {
    macro_rules! pick {
        ($float:ty, $bits:ty, $nan:expr) => {{
            let (old, value) = (<$float>::from_bits(old as $bits), <$float>::from_bits(value as $bits));
            let less =
                |a: $float, b: $float| a < b || (a == b && a.is_sign_negative() && b.is_sign_positive());
            let result = match op {
                AtomicOp::Fadd => old + value,
                _ if old.is_nan() => value,
                _ if value.is_nan() => old,
                AtomicOp::Fmin if less(value, old) => value,
                AtomicOp::Fmax if less(old, value) => value,
                _ => old,
            };
            if op == AtomicOp::Fadd && result.is_nan() { $nan } else { u64::from(result.to_bits()) }
        }};
    }
    if wide { pick!(f64, u64, 0x7ff8_0000_0000_0000) } else { pick!(f32, u32, 0x7fc0_0000) }
}
