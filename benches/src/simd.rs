//! Host vectors of 4, 8 or 16 lanes of 32 bits, for the native code that kernels are compared with.
//!
//! A native kernel is one generic function ([`Kernel::run`]), compiled for each width with that width's instructions enabled.
//! [`Simd`] is implemented by tokens ([`V4`], [`V8`], [`V16`]). A token can only be obtained on a processor that has the
//! instructions, which makes the methods safe to call.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled with the instructions switched on"
)]

#[cfg(target_arch = "x86_64")]
pub use x86::{V4, V8, V16};

/// A width: its vector types and what can be done with them. All methods are one or two instructions.
#[allow(missing_docs, reason = "the names are the documentation")]
pub trait Simd: Copy {
    /// Floats.
    type F: Copy;
    /// 32-bit integers.
    type I: Copy;
    /// A lane mask.
    type M: Copy;
    /// Lanes of a vector.
    const LANES: usize;

    /// Runs a kernel with this width's instructions.
    fn run<K: Kernel>(self, kernel: K) -> K::Out;

    fn f(self, x: f32) -> Self::F;
    fn load(self, from: &[f32]) -> Self::F;
    fn store(self, to: &mut [f32], x: Self::F);
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`.
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    fn sqrt(self, a: Self::F) -> Self::F;
    /// Estimate of `1 / sqrt(a)`, 12 bits or more.
    fn rsqrt_estimate(self, a: Self::F) -> Self::F;
    fn le(self, a: Self::F, b: Self::F) -> Self::M;
    fn select(self, m: Self::M, yes: Self::F, no: Self::F) -> Self::F;
    fn abs(self, a: Self::F) -> Self::F;

    fn i(self, x: u32) -> Self::I;
    fn load_i(self, from: &[u32]) -> Self::I;
    fn store_i(self, to: &mut [u32], x: Self::I);
    fn add_i(self, a: Self::I, b: Self::I) -> Self::I;
    fn sub_i(self, a: Self::I, b: Self::I) -> Self::I;
    fn and_i(self, a: Self::I, b: Self::I) -> Self::I;
    fn or_i(self, a: Self::I, b: Self::I) -> Self::I;
    fn xor_i(self, a: Self::I, b: Self::I) -> Self::I;
    fn shl<const N: u32>(self, a: Self::I) -> Self::I;
    fn shr<const N: u32>(self, a: Self::I) -> Self::I;
    fn sra<const N: u32>(self, a: Self::I) -> Self::I;
    fn bits(self, a: Self::F) -> Self::I;
    fn floats(self, a: Self::I) -> Self::F;
    /// To float, signed.
    fn to_f(self, a: Self::I) -> Self::F;
    /// To integer, nearest.
    fn round_i(self, a: Self::F) -> Self::I;
    /// Words of a table at these indices, each below its length.
    fn gather(self, table: &[u32; 256], index: Self::I) -> Self::I;

    fn and_m(self, a: Self::M, b: Self::M) -> Self::M;
    fn any(self, m: Self::M) -> bool;
    fn all(self) -> Self::M;
    /// `a + 1` where the mask is set.
    fn count(self, a: Self::I, m: Self::M) -> Self::I;
}

/// A yardstick's inner part.
pub trait Kernel {
    /// What it gives.
    type Out;
    /// The work. Implementations must be `#[inline(always)]`.
    fn run<S: Simd>(self, simd: S) -> Self::Out;
}

#[cfg(target_arch = "x86_64")]
mod x86;
