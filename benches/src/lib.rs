//! Benchmarks warpjit against native code.
//!
//! `benches/kernels/` holds guest kernels, a folder each with a launch file; a new folder is a new benchmark. Those that
//! [`kernels`] lists also have a model of their result and native code to compare with.

#![warn(missing_docs)]
#![allow(clippy::needless_range_loop, reason = "several arrays go by one index; a loop over it says so")]

pub mod groups;
pub mod halves;
pub mod kernels;
pub mod numeric;
pub mod simd;
pub mod suite;
pub mod vp1;
