//! Translates a function into [`Code`], the form that the interpreter runs.
//!
//! Each value becomes a scratch row, one element for each lane of the warp. Rows of constants come first and serve all blocks;
//! behind them are the rows of the block that runs, each after its operands. Values that are used outside their block are kept in
//! [`super::Warp`] and copied in and out. Lifted kernels have no such values, because registers are slots between blocks.

use std::collections::BTreeMap;

use super::stats::Stats;
use super::warp::Warp;
use warpjit_ir_core::device::DeviceSite;
use warpjit_ir_core::entities::{Block, Inst, Slot, Value};
use warpjit_ir_core::eval::{self, Kernel};
use warpjit_ir_core::function::{Form, SlotInit, Terminator};
use warpjit_ir_core::opcodes::{AtomicOp, MemAccess};
use warpjit_ir_core::pure::PureFn;
use warpjit_ir_core::types::Scalar;
use warpjit_ir_core::word_table::WordTable;

/// A function that breaks a rule which the verifier checks.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidCode {
    /// Operand count, types or immediate do not fit the operation.
    #[error("{inst} ({op}) is ill-typed")]
    IllTyped {
        /// Which.
        inst: Inst,
        /// Name of its operation.
        op: &'static str,
    },
    /// A use before the definition in a block.
    #[error("{value} is used in {block} before its definition")]
    Undefined {
        /// What.
        value: Value,
        /// Where.
        block: Block,
    },
    /// A block without an end, or with arguments that do not match its target's parameters.
    #[error("{block} has a bad terminator")]
    BadTerminator {
        /// Which.
        block: Block,
    },
}

/// Where a slot lies in the frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotLayout {
    pub word: u32,
    pub scalar: Scalar,
    pub uniform: bool,
}

/// What a step of a block's body does. Operands are offsets into the scratch array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A pure operation.
    Lanes(Kernel, u64),
    /// A registered function with its number of arguments.
    Pure(&'static PureFn, u8),
    /// An entry of a table.
    Lookup(&'static WordTable),
    Get(SlotLayout),
    /// Operand a, mask b if there is one.
    Set(SlotLayout, bool),
    /// Reads row n of the warp's values.
    CrossGet(u32),
    /// Writes it.
    CrossSet(u32),
    /// Loads. Operands: address a, guard b.
    Load(Access, bool),
    /// Stores. Operands: address a, value b, guard c.
    Store(Access, bool),
    /// Executes an atomic. Operands: address a, value b, new value c, guard d.
    Atomic(Access, AtomicOp, bool),
    Lock(Access, bool),
    UnlockStore(Access, bool),
    /// Calls a device. Operand: guard a, if there is one.
    Device(DeviceSite, bool),
    /// Faults lanes. The flags: whether a store is denied, and whether there is a guard.
    Deny(Access, bool, bool),
    /// Adds an offset to the address. There is no translation, because the interpreter's memory takes guest addresses.
    Translated(i32),
    /// Copies the value of the lowest taking-part lane to all lanes. Operands: value a, guard b.
    Share(bool),
    Any,
    VoteAny,
    VoteAll,
    Ballot,
    QuadLane(u8),
    Shuffle,
    ActiveMask,
    LaneBit,
    Clock,
}

/// A memory access with the type of its address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub mem: MemAccess,
    pub wide_address: bool,
    /// The warp makes it once, for its lowest lane that takes part: address and value have uniform types.
    pub once: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub kind: Kind,
    pub dst: u32,
    pub args: [u32; 4],
    /// How many of the block's guest instructions have begun when it runs, including its own. 0: it belongs to an
    /// instruction that an earlier block has counted.
    pub step: u32,
    pub pc: u32,
}

/// Copies of the arguments of an edge: from an offset in the scratch array to a row of the warp's values.
pub(super) type EdgeCopies = Vec<(u32, u32)>;

#[derive(Clone, Debug)]
pub(super) struct BlockCode {
    pub ops: Vec<Op>,
    pub term: Terminator,
    /// Condition or address of the terminator; `exited` of a return.
    pub term_args: [Option<u32>; 2],
    /// Whether the condition of the terminator is the same in all lanes.
    pub same_cond: bool,
    pub edges: [EdgeCopies; 2],
    pub pc: u32,
    pub term_pc: u32,
    pub guest_insts: u32,
    /// Whether the terminator belongs to a guest instruction that an earlier block has counted.
    pub term_goes_on: bool,
    /// Whether lanes read values of inactive lanes.
    pub cross_lane: bool,
    pub groups: [u32; Stats::GROUPS.len()],
    /// Addresses of the instructions that the block counts. An instruction that begins in an earlier block is not among
    /// them.
    pub counted: Vec<u32>,
    /// Group of each of these.
    pub step_groups: Vec<u8>,
    /// Instructions whose lanes are given by a lane mask.
    pub lane_counts: Vec<LanesCounted>,
}

/// Guest instructions with the same lanes.
#[derive(Clone, Debug)]
pub(super) struct LanesCounted {
    /// Offset of the mask in the scratch array.
    pub lanes: u32,
    /// Addresses of the instructions.
    pub pcs: Vec<u32>,
}

/// A function prepared for interpretation. Immutable, so threads share it.
#[derive(Clone, Debug)]
pub struct Code {
    pub(super) lanes: usize,
    pub(super) form: Form,
    pub(super) blocks: Vec<BlockCode>,
    pub(super) block_at: BTreeMap<u32, Block>,
    /// Whether joins continue at their entry's target (Fermi). Then unwinding pops the entry.
    pub(super) joins_at_target: bool,
    /// Whether the guest has a lane mask, so that active lanes say nothing about an instruction's lanes.
    pub(super) has_lane_register: bool,
    pub(super) constants: Vec<u64>,
    pub(super) scratch_lines: usize,
    pub(super) entry: Block,
    pub(super) slots: Vec<(SlotLayout, SlotInit)>,
    pub(super) frame_bytes: usize,
    /// Alignment of frames.
    pub(super) line_bytes: usize,
    pub(super) cross_lines: usize,
}

impl Code {
    /// Lets the frames of its warps start at multiples of `line_bytes`, a power of two: vectors that compiled code loads from them then
    /// lie in one cache line.
    pub fn align_frames(&mut self, line_bytes: usize) {
        self.line_bytes = line_bytes;
    }

    /// Lanes of the warp.
    pub fn lanes(&self) -> u32 {
        self.lanes as u32
    }

    /// All lanes as a set.
    pub fn all_lanes(&self) -> u64 {
        eval::lane_mask(self.lanes())
    }

    /// Where execution starts.
    pub fn entry(&self) -> Block {
        self.entry
    }

    /// Bytes of a warp's frame.
    pub fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// The terminator of a block.
    pub fn term(&self, block: Block) -> &Terminator {
        &self.blocks[block.index()].term
    }

    /// See [`Function::behind_join`].
    pub(super) fn behind_join(&self, block: Block, next: Block, target: Block) -> Block {
        let named = &self.blocks[target.index()];
        let behind = if target == block { None } else { named.term.behind_target(named.pc, named.term_pc) };
        behind.unwrap_or(next)
    }

    /// Guest instructions that one pass through a block executes.
    pub fn guest_insts(&self, block: Block) -> u32 {
        self.blocks[block.index()].guest_insts
    }

    /// Guest address of a block's first instruction.
    pub fn pc(&self, block: Block) -> u32 {
        self.blocks[block.index()].pc
    }

    /// Guest addresses of the instructions that one pass through a block executes, as far as it is known.
    pub fn block_pcs(&self, block: Block) -> &[u32] {
        &self.blocks[block.index()].counted
    }

    /// The guest address of each operation of a block.
    pub fn block_ops(&self, block: Block) -> impl Iterator<Item = u32> {
        self.blocks[block.index()].ops.iter().map(|op| op.pc)
    }

    /// Guest instructions of a block by group, in the order of [`Stats::GROUPS`].
    pub fn block_groups(&self, block: Block) -> [u32; Stats::GROUPS.len()] {
        self.blocks[block.index()].groups
    }

    /// Size in words of a warp's values that are used across blocks.
    pub(super) fn cross_values(&self) -> usize {
        self.cross_lines * self.lanes
    }

    /// Where a slot lies.
    pub(super) fn slot_layout(&self, slot: Slot) -> Option<SlotLayout> {
        self.slots.get(slot.index()).map(|(layout, _)| *layout)
    }

    pub(super) fn initial_slots(&self) -> impl Iterator<Item = (SlotLayout, SlotInit)> + '_ {
        self.slots.iter().copied()
    }

    /// The guest address of a warp that has executed `done` instructions of its block.
    pub(super) fn pc_after(&self, warp: &Warp, done: u32) -> u32 {
        let block = &self.blocks[warp.block.index()];
        let end = if done == 0 { block.pc } else { block.term_pc };
        block.counted.get(done as usize).copied().unwrap_or(end)
    }
}
