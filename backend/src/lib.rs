//! Lane regions of warpjit IR to host code with Cranelift.
