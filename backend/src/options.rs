//! What the caller chooses: the host, the chunk, what it knows of slots, how rows of blocks are run.

use std::ops::Range;

use warpjit_ir::{Function, Slot, Value};

use crate::shape::{Shape, SlotShape};
use crate::target::Target;

/// Grid-row code: one function for all warps of all blocks of a grid row, which differ in their index along the first
/// axis only.
///
/// A kernel comes as phases ([`Phase`]): regions that all warps of a block run, one warp after the other, before any of them goes
/// on to the next phase. The code's second argument is the first [`crate::RowWarp`] of a block instead of a frame; rows, warps and the
/// block that runs are in the context. It goes on as long as all warps take the same exit, all threads of them; where they do not it
/// returns [`crate::PARTED`].
#[derive(Clone, Debug, Default)]
pub struct BlockRow {
    /// For each slot: its value at the start of a block; missing ones are [`RowSlot::OfWarp`]. All other kinds are only
    /// for slots that no phase writes.
    pub slots: Vec<RowSlot>,
    /// Fields of shared memory that hold the block's index.
    pub fields: Vec<RowField>,
    /// Ranges of guest addresses that are readable and never written.
    pub fixed: Vec<Range<u64>>,
    /// Bytes of the frame that are copied from [`crate::RowWarp::first`] for each block; whole words.
    pub restored: Vec<Range<u32>>,
    /// Bytes of the frame each of whose words is set to the block's index when a block starts: the linear index (true)
    /// or the one along the row.
    pub indexed: Vec<(Range<u32>, bool)>,
    /// Whether shared memory is copied from [`crate::Context::shared_first`] for each block, except `fields`.
    pub copies_shared: bool,
    /// Whether lanes without a thread must keep their slots' values.
    pub keeps_lanes: bool,
    /// Whether all lanes of every warp are active, so that [`crate::RowWarp::lanes`] is not read.
    pub whole: bool,
}

/// A phase: a region that all warps of a block finish before any warp starts the next one.
#[derive(Clone, Debug)]
pub struct Phase<'a> {
    /// The region, in mask form.
    pub func: &'a Function,
    /// As [`Options::chunk_groups`].
    pub chunk_groups: u8,
    /// As [`Options::slot_shapes`].
    pub slot_shapes: Vec<Option<Shape>>,
    /// As [`Options::apart`].
    pub apart: Vec<Option<i32>>,
    /// For each exit: slots of which only lane 0 of each 16 is stored. All later phases know their lane pattern and
    /// compute the other lanes from it. Anyone else who reads the frame must fill them in. Missing exits have none.
    pub by_firsts: Vec<Vec<Slot>>,
    /// Guest instructions that one run of it is counted as.
    pub insts: u32,
    /// For each exit: its successor.
    pub successors: Vec<Successor>,
    /// Lane patterns that the code must check for each warp at the start of the phase; if a check fails, it returns
    /// [`crate::UNFIT`]. Only with [`BlockRow::whole`], and without [`SlotShape::apart`].
    pub checks: Vec<(Slot, SlotShape)>,
}

/// The successor of an exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Successor {
    /// All threads have ended.
    Ended,
    /// A phase.
    Next(usize),
    /// One of two phases, by the exit's condition.
    Branch {
        /// The phase if it holds in all lanes.
        taken: usize,
        /// The phase if it holds in no lane.
        next: usize,
    },
}

impl Successor {
    /// The phases that it leads to.
    pub fn phases(self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Successor::Ended => (None, None),
            Successor::Next(n) => (Some(n), None),
            Successor::Branch { taken, next } => (Some(taken), Some(next)),
        };
        first.into_iter().chain(second)
    }
}

/// A link of a chain ([`crate::compile_chain`]): a region of a kernel whose exits lead to other links, in the same function.
///
/// As between two regions that are called one after the other, all of a warp's state is in its frame between two links.
#[derive(Clone, Debug)]
pub struct Link<'a> {
    /// The region, in mask form.
    pub func: &'a Function,
    /// How it is compiled: chunk and lane patterns may differ between the links.
    pub options: Options,
    /// Guest instructions that one run of it is counted as ([`crate::Context::chain_left`]).
    pub insts: u32,
    /// For each exit: where it leads.
    pub exits: Vec<LinkExit>,
    /// Added to the numbers of its guest faults.
    pub first_fault: u32,
    /// What its code assumes of a warp's slots: [`Passage::checks`] come from these.
    pub checks: Vec<(Slot, SlotShape)>,
    /// The link where a warp goes whose slots are not so, another version of the same region.
    pub otherwise: Option<usize>,
    /// What the code returns instead of going on with this link.
    pub enter: u32,
}

/// Where an exit of a link leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkExit {
    /// What the code returns if it ends there. Less than [`warpjit_ir::regions::promote::FAULT_EXIT`].
    pub exit: u32,
    /// Where it goes on without a condition, or if the exit's condition is true in no lane; `None`: it ends.
    pub next: Option<Passage>,
    /// Where it goes on if the exit's condition is true.
    pub taken: Option<Passage>,
    /// Whether the exit has a condition.
    pub branches: bool,
    /// Whether one lane in which the condition is true decides for all; else all active lanes must agree, or the code ends there.
    pub any: bool,
}

/// How a link is reached from another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passage {
    /// The link.
    pub to: usize,
    /// Which of its assumptions must be checked, because they do not follow from the link before.
    pub checks: Vec<(Slot, SlotShape)>,
}

/// A slot's value when a block of a grid row starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RowSlot {
    /// The value in the warp's frame.
    #[default]
    OfWarp,
    /// The same in all warps and lanes of the row.
    Same,
    /// The block's index along the row; an i32.
    Block,
    /// The block's linear index in the grid; an i32.
    LinearBlock,
}

/// A field of shared memory that differs between the blocks of a grid row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowField {
    /// First byte.
    pub offset: u32,
    /// 1, 2 or 4.
    pub bytes: u8,
    /// Whether it holds the block's linear index, not the index along the row.
    pub linear: bool,
}

/// How a region is compiled.
#[derive(Clone, Debug)]
pub struct Options {
    /// The host to compile for.
    pub target: Target,
    /// Size of a chunk in groups of four lanes: 1, 2 or 4; with `wide_vectors` 4, 8 or 16.
    pub chunk_groups: u8,
    /// Chunks are single lanes, with all values in scalars. The region must be made for that
    /// ([`warpjit_ir::passes::one_lane`]), and `chunk_groups` is 1.
    pub single: bool,
    /// Use 512-bit vectors ([`Target::has_wide_vectors`]). Not with checked memory.
    pub wide_vectors: bool,
    /// Use 256-bit vectors, eight lanes a chunk; `chunk_groups` counts for nothing. Only for functions that do nothing but compute, load (with
    /// `open_loads`) and set slots: others are [`crate::Error::Refused`]. Not with `wide_vectors`.
    pub eight_lanes: bool,
    /// Test global accesses against the page table instead of relying on signals.
    pub checked_memory: bool,
    /// Global memory may be loaded for lanes that take no part: all addresses that lanes can have are good. Not with `checked_memory`.
    pub open_loads: bool,
    /// The region translates the 64-bit addresses of its loads and stores ([`warpjit_ir::passes::translate`]): with
    /// `checked_memory`, the translation checks them.
    pub translated: bool,
    /// The region asks before accesses to global memory ([`warpjit_ir::passes::permit`]), all of which have 64-bit addresses: these are the
    /// host's. Not with `checked_memory`.
    pub permits: bool,
    /// Bytes of local memory that each lane has at least ([`crate::Context::local_bytes`]): what constant addresses name below needs no
    /// test.
    pub local_bytes: u32,
    /// Most bytes of stack that code may use, at most [`crate::MOST_STACK_BYTES`]. If more are needed, compilation
    /// fails.
    pub most_stack_bytes: u32,
    /// All lanes of the warp enter, whenever the code is called: [`crate::Context::active`] has them. Not with `may_wait`.
    pub all_enter: bool,
    /// The region may wait for others. After each chunk, its code checks whether another call has taken over the
    /// remaining chunks ([`crate::Context::split`]).
    pub may_wait: bool,
    /// Count guest instructions.
    pub count: bool,
    /// Make the table of guest addresses ([`crate::RegionCode::pcs`]).
    pub pcs: bool,
    /// Return the code as text too ([`crate::RegionCode::listing`]).
    pub list: bool,
    /// For each slot: its lane pattern at entry. Missing ones are unknown.
    pub slot_shapes: Vec<Option<Shape>>,
    /// For each slot with a pattern: the difference between consecutive 16-lane vectors of a chunk, modulo 2^32, if
    /// known. A slot with stride `n` over the whole chunk has `16 * n`.
    pub apart: Vec<Option<i32>>,
    /// For `count`: the mask of the lanes that execute each block. Missing blocks are not counted.
    pub block_masks: Vec<Option<Value>>,
}

impl Options {
    /// Whether devices may answer accesses to global memory, so that each lane that loads may find something else, also at one address.
    /// That is so where translations check addresses.
    pub fn has_devices(&self) -> bool {
        self.checked_memory && self.translated
    }

    /// Chunks of eight lanes, unchecked memory, nothing known of slots.
    pub fn new(target: Target) -> Options {
        Options {
            target,
            chunk_groups: 2,
            single: false,
            wide_vectors: false,
            eight_lanes: false,
            checked_memory: false,
            open_loads: false,
            translated: false,
            permits: false,
            local_bytes: 0,
            most_stack_bytes: crate::code::MOST_STACK_BYTES,
            all_enter: false,
            may_wait: false,
            count: false,
            pcs: false,
            list: false,
            slot_shapes: Vec::new(),
            apart: Vec::new(),
            block_masks: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_shapes_have_in_common_what_both_say() {
        let (even, same) = (Shape::Affine(4), Shape::Uniform);
        let whole = SlotShape::new(even, 32);
        let (near, far) = (SlotShape::apart(even, 32, 0), SlotShape::apart(even, 32, 128));
        let parts = SlotShape::new(even, 16);
        assert_eq!(SlotShape::apart(even, 32, 64), whole);
        for (a, b, want) in [
            (whole, whole, Some(whole)),
            (near, near, Some(near)),
            (near, far, Some(parts)),
            (near, whole, Some(parts)),
            (near, parts, Some(parts)),
            (whole, SlotShape::new(even, 64), Some(whole)),
            // What holds over more lanes holds over fewer.
            (near, SlotShape::apart(even, 64, 0), Some(near)),
            (whole, SlotShape::apart(Shape::Packed(4), 32, 0), Some(parts)),
            (SlotShape::new(Shape::Packed(4), 32), whole, Some(whole)),
            (whole, SlotShape::new(same, 32), None),
            (SlotShape::new(even, 8), near, Some(SlotShape::new(even, 8))),
        ] {
            assert_eq!((a.meet(b), b.meet(a)), (want, want), "{a} and {b}");
        }
        assert_eq!([whole, near, parts].map(|shape| shape.apart_in(32)), [Some(64), Some(0), None]);
        assert_eq!(near.apart_in(64), None);
        assert_eq!([whole, near, parts].map(|shape| shape.is_whole(32)), [true, false, false]);
    }
}
