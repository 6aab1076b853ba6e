//! Benchmarks of warpjit against native code.
