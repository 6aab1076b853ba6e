//! Benchmarks of warpjit against native code.
//!
//! `benches/kernels/` holds guest kernels, a folder each with a launch file; dropping one in adds a benchmark.
//! Those that [`kernels`] knows have a model of their result and native yardsticks, too.

#![warn(missing_docs)]
#![allow(clippy::needless_range_loop, reason = "several arrays go by one index; a loop over it says so")]

pub mod groups;
pub mod halves;
pub mod kernels;
pub mod numeric;
pub mod simd;
pub mod suite;
pub mod vp1;
