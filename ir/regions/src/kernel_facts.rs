//! What is known of a kernel before its regions are explored ([`KernelFacts`]), and how they will run ([`Mode`]).

use std::sync::atomic::{AtomicBool, Ordering};

use super::split::Order;
use super::uniform::Uniformity;
use foldhash::HashMap;
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::exit::terminator_cond;
use warpjit_ir_core::function::{Function, PushKind, Terminator};
use warpjit_ir_core::meter::{Meter, Stopped};

/// How regions are run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Mode {
    /// One chunk holds all lanes of the warp.
    pub whole: bool,
    /// Regions may contain cross-lane operations.
    pub across: bool,
    /// A block has only one warp.
    pub alone: bool,
    /// The warp's steps are counted: lanes must not diverge, and loops exit when the steps left run short.
    pub counted: bool,
    /// Lanes never diverge ([`super::wave`]).
    pub wave: bool,
    /// A chunk holds whole quads.
    pub by_quads: bool,
    /// Regions that do not count their steps contain no loops.
    pub cut_loops: bool,
    /// Code does a scalar store of a wave once.
    pub stores_once: bool,
}

/// What exploring needs to know of the kernel.
#[derive(Debug)]
pub struct KernelFacts {
    /// Which slots and conditions are uniform.
    pub uniform: Uniformity,
    /// Blocks that may run with a call entry on the stack.
    pub(crate) may_be_called: Vec<bool>,
    /// How its regions are run.
    pub(crate) mode: Mode,
    /// Which memory accesses are ordered between lanes.
    pub(crate) order: Order,
    /// Blocks with a vote that each chunk takes by itself, each with the post-dominator of the vote's branch
    /// ([`super::votes`]).
    pub(crate) votes: HashMap<Block, Block>,
    /// Blocks with a vote that an exit can take, each with the mask that is asked for ([`super::votes::at_exits`]).
    pub(crate) exit_votes: HashMap<Block, Value>,
    /// For each block explored so far: whether it is the head of a loop that certainly waits.
    waits: Vec<AtomicBool>,
}

impl KernelFacts {
    /// Analyses a kernel in SPMD form. Its blocks must be cut at hazards, unless one chunk holds the whole warp.
    pub fn compute(
        func: &Function,
        mode: Mode,
        order: Order,
        (votes, exit_votes): (HashMap<Block, Block>, HashMap<Block, Value>),
        meter: &Meter,
    ) -> Result<KernelFacts, Stopped> {
        let may_be_called = may_be_called(func, meter)?;
        let waits = func.blocks.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(KernelFacts {
            uniform: Uniformity::compute(func, meter)?,
            may_be_called,
            mode,
            order,
            votes,
            exit_votes,
            waits,
        })
    }

    /// Whether the block ends with a vote that the exit of a region can take.
    pub fn votes_at_exit(&self, block: Block) -> bool {
        self.exit_votes.contains_key(&block)
    }

    /// What an exit after the block's body gives as the condition of its terminator: the mask of a vote, since the condition needs all
    /// lanes of the warp.
    pub(crate) fn exit_cond(&self, func: &Function, block: Block) -> Option<Value> {
        self.exit_votes.get(&block).copied().or_else(|| terminator_cond(func.term(block)))
    }

    /// Whether a block is known to be the head of a loop that certainly waits.
    pub fn surely_waits(&self, block: Block) -> bool {
        self.waits.get(block.index()).is_some_and(|waits| waits.load(Ordering::Relaxed))
    }

    /// Notes that a block is the head of such a loop.
    pub(crate) fn note_wait(&self, block: Option<Block>) {
        if let Some(waits) = block.and_then(|block| self.waits.get(block.index())) {
            waits.store(true, Ordering::Relaxed);
        }
    }
}

/// Blocks that may run with a call entry on the stack.
fn may_be_called(func: &Function, meter: &Meter) -> Result<Vec<bool>, Stopped> {
    let mut found = vec![false; func.blocks.len()];
    let mut work: Vec<Block> = Vec::new();
    let mut is_indirect = false;
    for b in func.block_ids() {
        match *func.term(b) {
            Terminator::Call { target, .. } => work.push(target),
            Terminator::Push { kind: PushKind::Call, next, .. } => work.push(next),
            Terminator::BranchIndirect { .. } => is_indirect = true,
            _ => {}
        }
    }
    if is_indirect && !work.is_empty() {
        // Whatever an indirect branch reaches.
        work.extend(func.block_at.values());
    }
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut found[b.index()], true) {
            meter.step(1)?;
            func.term(b).for_each_successor(|s| work.push(s));
        }
    }
    Ok(found)
}
