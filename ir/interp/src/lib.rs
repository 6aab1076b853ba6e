//! The interpreter: runs a function block by block for the active lanes of a warp.
//!
//! - [`Code`] is a function prepared for interpretation; threads share it.
//! - [`Warp`] is the state of one warp: frame, masks, divergence stack, current block.
//! - [`Scratch`] holds the values of the block that runs; each thread has one.
//!
//! [`Code::run_block`] executes one block: its body ([`Code::run_body`]), then its terminator ([`Code::finish`]) by the rules of
//! docs/hardware/divergence.md. Compiled code replaces the body only and calls [`Code::finish`] too, so both tiers diverge alike.
//!
//! Memory is whatever implements [`WarpMemory`]. What each operation computes stands in [`warpjit_ir_core::eval`].
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod body;
mod cache_line;
mod code;
mod control;
mod effects;
mod frame;
mod mask_form;
mod memory;
mod prepare;
pub mod profile;
mod state;
mod stats;
mod warp;

pub use body::Scratch;
pub use cache_line::CacheAligned;
pub use code::{Code, InvalidCode};
pub use effects::fault_of_device;
pub use frame::Frame;
pub use mask_form::{MaskExit, run_mask_function};
pub use memory::{Denied, WarpMemory};
pub use profile::Profile;
pub use state::WarpState;
pub use stats::Stats;
pub use warp::{Entry, EntryKind, MAX_STACK, Warp};

use warpjit_ir_core::function::BarrierSpec;
use warpjit_ir_core::opcodes::Space;

/// What went wrong in a guest program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// Unmapped, read-only or misaligned address.
    Memory,
    /// Undefined instruction or a jump to no instruction.
    Illegal,
    /// The guest's trap instruction.
    Trap,
    /// The divergence stack over- or underflowed.
    Stack,
    /// More instructions than [`Scratch::max_steps`].
    Timeout,
    /// What a texture instruction needs is missing or undefined: the slot that it names, if it names one, and what is wrong.
    Texture(Option<u32>, &'static str),
}

/// A guest fault, and where it was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// Guest address of the instruction.
    pub pc: u32,
    /// Lowest lane concerned.
    pub lane: u32,
    /// Address accessed or jumped to.
    pub address: Option<u64>,
    /// Space accessed.
    pub space: Option<Space>,
    /// Whether the access was a store or an atomic.
    pub store: bool,
}

/// What a warp does after a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Flow {
    /// Goes on at [`Warp::block`].
    Next,
    /// Has arrived at a barrier, waits for it or both; goes on at [`Warp::block`] after that.
    Barrier(BarrierSpec),
    /// All lanes have left.
    Ended,
    /// Has faulted; the warp stays where it was.
    Fault(Fault),
}

#[cfg(test)]
mod tests;
