//! What each pure operation computes, on the bits of one lane.
//!
//! Every operation is a [`Kernel`]: a loop over lanes around one expression. The interpreter runs a kernel over a warp;
//! [`eval_scalar`] runs it over a single lane, for constant folding and tests. So the meaning of each operation is written down
//! once.
//!
//! A lane's value is a `u64` whose bits above the element's width are zero; a truth value is 0 or 1.

mod convert;
mod float;
mod int;
mod mask;

pub use convert::{f16_to_f32, f32_to_f16};
pub use int::atomic_result;
pub use mask::{lane_mask, pack};

use crate::function::Imm;
use crate::opcodes::Opcode;
use crate::types::Scalar;

/// One operation over lanes: destination, three operands (those the operation lacks are ignored), immediate bits.
pub type Kernel = fn(&mut [u64], &[u64], &[u64], &[u64], u64);

/// An element as Rust computes with it.
pub trait Lane: Copy {
    /// The element that bits are.
    fn from_lane(bits: u64) -> Self;
    /// Its bits.
    fn to_lane(self) -> u64;
}

macro_rules! lanes {
    ($($ty:ty: $from:expr, $to:expr;)*) => {
        $(impl Lane for $ty {
            #[inline(always)]
            fn from_lane(bits: u64) -> Self { let f: fn(u64) -> $ty = $from; f(bits) }
            #[inline(always)]
            fn to_lane(self) -> u64 { let f: fn($ty) -> u64 = $to; f(self) }
        })*
    };
}

lanes! {
    bool: |b| b & 1 != 0, |v| u64::from(v);
    u32: |b| b as u32, |v| u64::from(v);
    i32: |b| b as i32, |v| u64::from(v as u32);
    u64: |b| b, |v| v;
    i64: |b| b as i64, |v| v as u64;
    f32: |b| f32::from_bits(b as u32), |v| u64::from(v.to_bits());
    f64: f64::from_bits, |v| v.to_bits();
}

/// Kernel of one operand; the optional second name is the immediate.
macro_rules! k1 {
    ($ty:ty, |$a:ident| $e:expr) => {
        $crate::eval::k1!($ty, |$a, _imm| $e)
    };
    ($ty:ty, |$a:ident, $imm:ident| $e:expr) => {{
        fn kernel(d: &mut [u64], x: &[u64], _: &[u64], _: &[u64], $imm: u64) {
            for (d, &x) in d.iter_mut().zip(x) {
                let $a = <$ty as $crate::eval::Lane>::from_lane(x);
                *d = $crate::eval::Lane::to_lane($e);
            }
        }
        kernel as $crate::eval::Kernel
    }};
}

/// Kernel of two operands of one type; the optional third name is the immediate.
macro_rules! k2 {
    ($ty:ty, |$a:ident, $b:ident| $e:expr) => {
        $crate::eval::k2!($ty, |$a, $b, _imm| $e)
    };
    ($ty:ty, |$a:ident, $b:ident, $imm:ident| $e:expr) => {{
        fn kernel(d: &mut [u64], x: &[u64], y: &[u64], _: &[u64], $imm: u64) {
            for ((d, &x), &y) in d.iter_mut().zip(x).zip(y) {
                let $a = <$ty as $crate::eval::Lane>::from_lane(x);
                let $b = <$ty as $crate::eval::Lane>::from_lane(y);
                *d = $crate::eval::Lane::to_lane($e);
            }
        }
        kernel as $crate::eval::Kernel
    }};
}

/// Kernel of three operands of one type.
macro_rules! k3 {
    ($ty:ty, |$a:ident, $b:ident, $c:ident| $e:expr) => {{
        fn kernel(d: &mut [u64], x: &[u64], y: &[u64], z: &[u64], _: u64) {
            for (((d, &x), &y), &z) in d.iter_mut().zip(x).zip(y).zip(z) {
                let $a = <$ty as $crate::eval::Lane>::from_lane(x);
                let $b = <$ty as $crate::eval::Lane>::from_lane(y);
                let $c = <$ty as $crate::eval::Lane>::from_lane(z);
                *d = $crate::eval::Lane::to_lane($e);
            }
        }
        kernel as $crate::eval::Kernel
    }};
}

pub(crate) use {k1, k2, k3};

/// The kernel of an operation with its immediate bits; `arg` is the type of the last operand.
///
/// `None` for operations that are not pure functions of a lane's operands, for `call.pure` and `lookup`, and for types that the
/// operation does not have.
pub fn kernel(op: Opcode, imm: &Imm, arg: Scalar, result: Scalar) -> Option<(Kernel, u64)> {
    int::kernel(op, imm, arg)
        .or_else(|| float::kernel(op, imm, arg))
        .or_else(|| convert::kernel(op, imm, arg, result))
        .or_else(|| mask::kernel(op, imm, arg))
}

/// Evaluates a pure operation on the bits of one lane.
///
/// `types` are those of the operands. `None` where the operation is not a pure function of its operands or its
/// types are wrong.
pub fn eval_scalar(op: Opcode, imm: &Imm, types: &[Scalar], result: Scalar, args: &[u64]) -> Option<u64> {
    match (op, imm) {
        (Opcode::Const, Imm::Bits(bits)) => return Some(bits & result.bit_mask()),
        (Opcode::CallPure, Imm::Pure(callee)) if callee.params == types && args.len() == types.len() => {
            return Some((callee.eval)(args) & result.bit_mask());
        }
        (Opcode::Lookup, Imm::Table(table)) => {
            let word = table.entry(*args.first()? as u32);
            return (types == [Scalar::I32] && result == Scalar::I32).then_some(word.into());
        }
        _ => {}
    }
    let (run, bits) = kernel(op, imm, *types.last()?, result)?;
    let arg = |i: usize| [args.get(i).copied().unwrap_or(0)];
    let mut out = [0];
    run(&mut out, &arg(0), &arg(1), &arg(2), bits);
    Some(out[0])
}

#[cfg(test)]
mod tests;
