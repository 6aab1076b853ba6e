//! The SSA IR of warpjit, in one crate for those who use it. Front ends lift guest code to it, passes optimise it, the interpreter
//! runs it and the back end compiles it.
//!
//! This crate only hands on what its parts have:
//!
//! | crate | folder | what it has |
//! |---|---|---|
//! | `warpjit-ir-core` | `ir/core` | types, text form, verifier, meaning of the operations, analyses and passes for any function |
//! | `warpjit-ir-interp` | `ir/interp` | the interpreter: warps, divergence stack, profiles |
//! | `warpjit-ir-regions` | `ir/regions` | lane regions, and the passes of mask form |
//!
//! The interpreter and the regions do not know each other, and none of them depends on a crate that knows a guest or a host.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub use warpjit_ir_core::*;
pub use warpjit_ir_regions as regions;

/// The interpreter, with the meaning of the operations.
pub mod interp {
    pub use warpjit_ir_core::eval::{self, atomic_result, eval_scalar, lane_mask};
    pub use warpjit_ir_interp::*;
}

/// All passes: those for any function, and those of mask form.
pub mod passes {
    pub use warpjit_ir_core::passes::{
        Pass, classes, dce, expand, fast, fold, gvn, licm, permit, renumber, rewrite, simplify_cfg,
        translate, uniform,
    };
    pub use warpjit_ir_regions::passes::*;
}
