//! Compiles lane regions of warpjit IR to machine code: with Cranelift, or on hosts with AVX-512 with a generator of our own
//! (`avx512`).
//!
//! [`compile_region`] takes a function in mask form and returns machine code that runs it for the active lanes of a warp, chunk
//! by chunk (4 to 64 lanes), on a [`Context`] and the warp's frame. [`compile_pieces`] does the same for grid-row code
//! ([`BlockRow`]). The code has no relocations: it finds everything from outside in the context.
#![warn(missing_docs)]
#![deny(clippy::undocumented_unsafe_blocks)]

mod affine;
mod alignment;
mod atomics;
mod avx512;
mod clif;
mod compile;
mod context;
mod embedded;
mod even_address;
mod extremes;
mod flow;
mod frame;
mod helpers;
mod listing;
mod lower;
mod operands;
mod options;
mod slots_after;
mod translate;
mod wanted;
mod ways;
mod wide_helpers;

pub use atomics::LaneAtomic;
pub use avx512::host_has_it as host_has_wide_vectors;
pub use compile::{
    Entry, Error, FloatEnv, HostPlace, HostRegisters, Listing, MOST_STACK_BYTES, NO_PC, RegionCode, Returns,
    TrapLane, TrapSite, compile_pieces, compile_region, guest_pc, list_region,
};
pub use context::{
    CONST_BANKS, CallPureFn, Context, FAULT, FaultKind, FaultRecord, FmaF64Fn, LaneWords, PARTED, PollFn,
    RowWarp, STOPPED, SUSPENDED, TablePointer, UNFIT, decode_space, encode_space,
};
pub use frame::frame_bytes;
pub use options::{BlockRow, HostLevel, Options, Piece, RowField, RowSlot, Shape, SlotShape, Target, Way};
pub use slots_after::{SlotUses, meet as meet_shapes, slot_uses, slots_after};
pub use translate::{LaneTranslation, Translator};
