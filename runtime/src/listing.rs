//! What has been compiled, as text.

use std::ops::Range;
use std::sync::Arc;

/// What has been compiled of a program with an engine's settings ([`crate::Observe::listings`]).
#[derive(Debug, Clone, Default)]
pub struct Listings {
    /// Functions, in the order in which they were made.
    pub functions: Vec<Arc<CodeListing>>,
    /// Guest addresses of blocks of code that came up and that the interpreter must run.
    pub interpreted: Vec<u32>,
}

/// A function of the host, made of guest code.
#[derive(Debug, Clone)]
pub struct CodeListing {
    /// What tools outside know it by: `warpjit::KERNEL@ADDRESS#VERSION`.
    pub name: String,
    /// What it does in one call.
    pub kind: CodeKind,
    /// What it was made of: one region, or the pieces of the kernel.
    pub parts: Vec<CodePart>,
    /// What must be so for it to be run; other warps, or blocks, get another version.
    pub assumed: Vec<KnownSlot>,
    /// Bytes of code and constants.
    pub bytes: usize,
    /// Cranelift's IR, if it made the code.
    pub clif: String,
    /// Host instructions, with guest addresses.
    pub host: String,
}

/// What a function does in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeKind {
    /// A region for a warp.
    Region,
    /// The kernel, for blocks of a row of the grid and all their warps.
    Rows {
        /// All lanes of every warp take part.
        whole: bool,
    },
}

/// A region as it was compiled.
#[derive(Debug, Clone)]
pub struct CodePart {
    /// Where it starts and what it covers, in words.
    pub outline: String,
    /// Guest addresses between which the instructions of each block of code lie that it covers.
    pub spans: Vec<Range<u32>>,
    /// Where it comes out, in words.
    pub exits: Vec<String>,
    /// Lanes that go through it together.
    pub lanes: u32,
    /// What follows for the start of a piece from what is assumed and from the pieces before.
    pub known: Vec<KnownSlot>,
    /// What each warp is looked at for where a piece starts.
    pub looked_at: Vec<KnownSlot>,
    /// Its IR before branches become masks.
    pub regions: String,
    /// Its IR in mask form, as code was generated from it: optimised, with versions for where all lanes take part.
    pub mask: String,
}

/// What is known of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSlot {
    /// The guest's name for it, or the lifter's.
    pub slot: String,
    /// What is known, in words.
    pub what: String,
}
