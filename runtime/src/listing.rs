//! Listings: what has been compiled of a program, as text.
//!
//! The addresses in texts are positions ([`crate::Program::address_of`]).

use std::ops::Range;
use std::sync::Arc;

/// All code compiled for a program with an engine's settings ([`crate::Observe::listings`]).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Listings {
    /// Functions, in the order in which they were made.
    pub functions: Vec<Arc<CodeListing>>,
    /// Guest addresses of blocks of code that were reached but must run in the interpreter.
    pub interpreted: Vec<u64>,
}

/// A host function compiled from guest code.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CodeListing {
    /// The name that profilers and debuggers show: `warpjit::KERNEL@ADDRESS#VERSION`.
    pub name: String,
    /// What one call executes.
    pub kind: CodeKind,
    /// What it was compiled from: one region, or the phases of the kernel.
    pub parts: Vec<CodePart>,
    /// The assumptions under which it runs. Other warps or blocks use another version.
    pub assumed: Vec<KnownSlot>,
    /// Bytes of code and constants.
    pub bytes: usize,
    /// Cranelift's IR, if it made the code.
    pub clif: String,
    /// Host instructions, with guest addresses.
    pub host: String,
}

/// What one call of a function executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodeKind {
    /// A region for a warp.
    Region,
    /// The kernel, for the blocks of a grid row and all their warps.
    Rows {
        /// Whether it needs all lanes of every warp to be active.
        whole: bool,
    },
    /// Regions, from one to the next, for a warp.
    Chain,
}

/// A region as it was compiled.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CodePart {
    /// Where it starts and what it covers, in words.
    pub outline: String,
    /// For each block of code that it covers: the range of guest addresses.
    pub spans: Vec<Range<u64>>,
    /// Its exits, in words.
    pub exits: Vec<String>,
    /// Lanes of a chunk.
    pub lanes: u32,
    /// Of a phase: the lane patterns at its start that follow from the assumptions and from earlier phases.
    pub known: Vec<KnownSlot>,
    /// Of a phase: the lane patterns that are checked for each warp at its start.
    pub looked_at: Vec<KnownSlot>,
    /// Its IR before branches become masks.
    pub regions: String,
    /// Its IR in mask form, from which code was generated: optimised, with full-mask versions.
    pub mask: String,
}

/// What is known of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownSlot {
    /// The guest's name for it, or the lifter's.
    pub slot: String,
    /// What is known, in words.
    pub what: String,
}
