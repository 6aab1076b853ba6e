//! Compiles lane regions of warpjit IR to machine code: with Cranelift, or on hosts with AVX-512 with a generator of our own
//! (`avx512`).
//!
//! [`compile_region`] takes a function in mask form and returns machine code that runs it for the active lanes of a warp, chunk
//! by chunk (4 to 64 lanes), on a [`Context`] and the warp's frame. [`compile_phases`] does the same for grid-row code
//! ([`BlockRow`]). The code has no relocations: it finds everything from outside in the context.
//!
//! A warp's frame is slot-major, `frame[slot][lane]` ([`warpjit_ir::Function::frame_layout`]). Masks are words of 0 or -1; a uniform slot's
//! value is its first element. Code reads and writes whole vectors: a frame must be as long as the layout says, and lanes that do not
//! enter keep their values.
//!
//! Without the cargo feature `jit` there is no generator ([`Error::LeftOut`]); `listings` prints host instructions as text.
#![warn(missing_docs)]
#![cfg_attr(
    not(feature = "jit"),
    allow(dead_code, unused_imports, reason = "what only a code generator uses")
)]
#![deny(clippy::undocumented_unsafe_blocks)]

mod affine;
mod alignment;
mod atomics;
#[cfg(feature = "jit")]
mod avx512;
#[cfg(feature = "jit")]
mod clif;
mod code;
#[cfg(feature = "jit")]
mod compile;
mod context;
mod costs;
mod demanded_lanes;
mod error;
mod even_address;
mod exit_patterns;
mod extremes;
mod flow;
mod generator;
mod helpers;
mod host;
#[cfg(feature = "jit")]
mod listing;
#[cfg(feature = "jit")]
mod lower;
mod new_context;
mod operands;
mod options;
mod permits;
mod phase_exits;
mod scalar_answers;
mod shape;
#[cfg_attr(not(feature = "jit"), path = "no_target.rs")]
mod target;
mod translate;
mod trap;
mod vector_stride;
mod wide_helpers;
mod width;
#[cfg(not(feature = "jit"))]
mod without;

pub use atomics::LaneAtomic;
pub use code::{Entry, FloatEnv, Listing, MOST_STACK_BYTES, NO_PC, RegionCode, Returns, guest_pc};
#[cfg(feature = "jit")]
pub use compile::{compile_chain, compile_phases, compile_region, list_region};
pub use context::{
    CONST_BANKS, CallPureFn, Context, FAULT, FaultKind, FaultRecord, FmaF64Fn, LaneWords, LastPage, PARTED,
    PollFn, RowWarp, STOPPED, SUSPENDED, TablePointer, UNFIT, decode_space, encode_space,
};
pub use costs::{SCHEDULE, few_lanes};
pub use error::Error;
pub use exit_patterns::{SlotUses, meet as meet_shapes, slot_uses, slots_after};
pub use generator::{Generator, VECTOR_LANES};
pub use helpers::in_host_floats;
pub use host::{HostLevel, LINE_BYTES, host_has_wide_vectors};
pub use options::{BlockRow, Link, LinkExit, Options, Passage, Phase, RowField, RowSlot, Successor};
pub use permits::{Permits, Permitter, Windows};
pub use scalar_answers::ScalarAnswers;
pub use shape::{Shape, SlotShape};
pub use target::Target;
pub use translate::{LaneTranslation, Translator};
pub use trap::{HostPlace, HostRegisters, TrapLane, TrapSite};
#[cfg(not(feature = "jit"))]
pub use without::{compile_chain, compile_phases, compile_region, list_region};
