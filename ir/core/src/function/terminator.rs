//! How a block ends: [`Terminator`], with the kinds of entries on the divergence stack, barriers, and guest faults.

use crate::entities::{Block, Slot, Value};

/// A block and the arguments for its parameters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BlockCall {
    /// Where.
    pub block: Block,
    /// One a parameter.
    pub args: Vec<Value>,
}

impl From<Block> for BlockCall {
    fn from(block: Block) -> Self {
        BlockCall { block, args: Vec::new() }
    }
}

/// Kind of a divergence-stack entry that a push instruction makes (docs/hardware/divergence.md).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum PushKind {
    /// joinat, ssy.
    Join,
    /// prebrk, pbk.
    Break,
    /// precont, pcnt.
    Continue,
    /// preret, pret: an entry that `ret` returns to.
    Call,
    /// plongjmp.
    Long,
}

/// How lanes leave.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LeaveKind {
    /// brk.
    Break,
    /// cont.
    Continue,
    /// ret; without a call entry on the stack the thread ends.
    Return,
    /// longjmp.
    Long,
    /// exit.
    Exit,
}

impl LeaveKind {
    /// The kind of entry that says where lanes that leave this way continue; `None` if their threads end.
    pub fn entry(self) -> Option<PushKind> {
        match self {
            LeaveKind::Break => Some(PushKind::Break),
            LeaveKind::Continue => Some(PushKind::Continue),
            LeaveKind::Return => Some(PushKind::Call),
            LeaveKind::Long => Some(PushKind::Long),
            LeaveKind::Exit => None,
        }
    }
}

/// The guest faults that code itself can raise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum GuestFault {
    /// Undefined or impossible instruction.
    Illegal,
    /// The guest's trap instruction.
    Trap,
}

/// A barrier instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BarrierSpec {
    /// Which barrier.
    pub index: u8,
    /// Whether the warp arrives.
    pub arrive: bool,
    /// Whether the warp waits.
    pub wait: bool,
    /// Number of warps that must arrive; `None`: all warps of the block.
    pub warps: Option<u32>,
    /// If the barrier is chosen at run time: the i32 slot that names it. Its value in the lowest active lane has the
    /// barrier's index in bits 0 to 3 and the number of warps (0: all of the block) above. Then `index` and `warps` are
    /// ignored.
    pub from: Option<Slot>,
}

impl BarrierSpec {
    /// The barrier that the value of the slot `from` names.
    pub fn named_by(self, value: u32) -> BarrierSpec {
        let warps = value >> 4;
        BarrierSpec { index: value as u8 & 15, warps: (warps != 0).then_some(warps), from: None, ..self }
    }
}

/// The end of a block.
///
/// Those up to [`Terminator::Fault`] stand in SPMD form, where the stack rules of docs/hardware/divergence.md apply;
/// those after it in mask form. `Jump` stands in both.
#[derive(Clone, PartialEq, Hash, Debug)]
pub enum Terminator {
    /// Goes on at one block.
    Jump(BlockCall),
    /// Lanes whose `cond` holds go to `taken`, the rest to `next`. When lanes disagree, the rest is pushed as a
    /// branch entry and the taken side runs first.
    Branch {
        /// Condition, a mask.
        cond: Value,
        /// Where lanes go whose condition holds.
        taken: BlockCall,
        /// Where the others go.
        next: BlockCall,
    },
    /// Pushes an entry with the active mask and goes on.
    Push {
        /// Kind of entry.
        kind: PushKind,
        /// Its target.
        target: Block,
        /// Where execution goes on.
        next: Block,
    },
    /// Pushes a call entry for `ret` and jumps to `target`.
    Call {
        /// The function called.
        target: Block,
        /// Where it returns to.
        ret: Block,
    },
    /// Lanes whose `cond` holds (all without one) leave; the others go on at `next`.
    Leave {
        /// How.
        kind: LeaveKind,
        /// Condition, a mask.
        cond: Option<Value>,
        /// Where the others go.
        next: Block,
    },
    /// Lanes whose `cond` holds (all without one) have arrived at the join.
    Join {
        /// Condition, a mask (Fermi's `.S`); Tesla has none.
        cond: Option<Value>,
        /// Tesla: behind the joining instruction. Fermi: where lanes go that do not join.
        next: Block,
        /// Whether lanes continue at the target of the popped join entry (Fermi) instead of at `next` (Tesla, see
        /// [`Terminator::behind_target`]).
        at_target: bool,
    },
    /// Pushes a quad entry and enables all lanes of every quad that has an active one.
    QuadOn {
        /// Where execution goes on.
        next: Block,
    },
    /// Pops the quad entry and restores its mask.
    QuadPop {
        /// Where execution goes on.
        next: Block,
    },
    /// Arrives at or waits for a barrier.
    Barrier {
        /// The barrier.
        spec: BarrierSpec,
        /// Where execution goes on.
        next: Block,
    },
    /// Jumps to the block whose guest address is the (varying) `address`. If lanes have different targets, these run
    /// one after another, in the order of their lowest lanes; the waiting ones are pushed as branch entries. An address
    /// at which no block starts is an `illegal` fault.
    BranchIndirect {
        /// Guest byte address, i32 or i64; no block is at one beyond 32 bits.
        address: Value,
    },
    /// The guest faults, if any lane is active.
    Fault(GuestFault),

    /// Mask form: goes to `taken` if `mask` holds in any lane, else to `next`.
    BrAny {
        /// Mask tested.
        mask: Value,
        /// Where it goes if any lane holds.
        taken: BlockCall,
        /// Where it goes if none does.
        next: BlockCall,
    },
    /// Mask form: goes to `taken` if the uniform truth value holds, else to `next`.
    BrIf {
        /// Uniform condition.
        cond: Value,
        /// Where it goes if it holds.
        taken: BlockCall,
        /// Where it goes if not.
        next: BlockCall,
    },
    /// Mask form: the region ends for this chunk. `exited` are the lanes whose threads have ended. `cond` is the
    /// condition of the terminator that the driver executes next (a branch or leave).
    Return {
        /// Which of the region's exits.
        exit: u32,
        /// Lanes that have ended, a mask.
        exited: Option<Value>,
        /// Condition for the exit's terminator, a mask.
        cond: Option<Value>,
    },
}

impl Terminator {
    /// Tesla: where lanes continue that pop a join entry at a join other than the one the entry names. `self` is the
    /// terminator of the block that the entry names; `pc` and `term_pc` are the block's address and the terminator's.
    /// If that block is just a join, lanes continue after it.
    ///
    /// The vendor's compilers have joins at their entries' targets only (docs/hardware/divergence.md). Mesa's replaces a branch to the
    /// join by a join (`FlatteningPass::tryPropagateBranch`, nv50_ir): where no lane takes the other side, it pops the entry itself.
    pub fn behind_target(&self, pc: u32, term_pc: u32) -> Option<Block> {
        match self {
            Terminator::Join { next, at_target: false, .. } if pc == term_pc => Some(*next),
            _ => None,
        }
    }

    /// Calls `f` with each successor, pushed targets included.
    pub fn for_each_successor(&self, mut f: impl FnMut(Block)) {
        match self {
            Terminator::Jump(c) => f(c.block),
            Terminator::Branch { taken, next, .. }
            | Terminator::BrAny { taken, next, .. }
            | Terminator::BrIf { taken, next, .. } => {
                f(taken.block);
                f(next.block);
            }
            Terminator::Push { target, next, .. } => {
                f(*next);
                f(*target);
            }
            Terminator::Call { target, ret } => {
                f(*target);
                f(*ret);
            }
            Terminator::Leave { next, .. }
            | Terminator::Join { next, .. }
            | Terminator::QuadOn { next }
            | Terminator::QuadPop { next }
            | Terminator::Barrier { next, .. } => f(*next),
            Terminator::BranchIndirect { .. } | Terminator::Fault(_) | Terminator::Return { .. } => {}
        }
    }

    /// Calls `f` with each value used.
    pub fn for_each_use(&self, mut f: impl FnMut(Value)) {
        match self {
            Terminator::Jump(c) => c.args.iter().copied().for_each(f),
            Terminator::Branch { cond: m, taken, next }
            | Terminator::BrAny { mask: m, taken, next }
            | Terminator::BrIf { cond: m, taken, next } => {
                f(*m);
                taken.args.iter().chain(&next.args).copied().for_each(f);
            }
            Terminator::Leave { cond, .. } | Terminator::Join { cond, .. } => {
                cond.iter().copied().for_each(f)
            }
            Terminator::BranchIndirect { address } => f(*address),
            Terminator::Return { exited, cond, .. } => exited.iter().chain(cond).copied().for_each(f),
            _ => {}
        }
    }

    /// Calls `f` with each edge that carries arguments.
    pub fn for_each_call(&mut self, mut f: impl FnMut(&mut BlockCall)) {
        match self {
            Terminator::Jump(c) => f(c),
            Terminator::Branch { taken, next, .. }
            | Terminator::BrAny { taken, next, .. }
            | Terminator::BrIf { taken, next, .. } => {
                f(taken);
                f(next);
            }
            _ => {}
        }
    }

    /// Replaces each block named by what `f` gives for it.
    pub fn map_blocks(&mut self, mut f: impl FnMut(Block) -> Block) {
        match self {
            Terminator::Push { target, next, .. } => {
                *target = f(*target);
                *next = f(*next);
            }
            Terminator::Call { target, ret } => {
                *target = f(*target);
                *ret = f(*ret);
            }
            Terminator::Leave { next, .. }
            | Terminator::Join { next, .. }
            | Terminator::QuadOn { next }
            | Terminator::QuadPop { next }
            | Terminator::Barrier { next, .. } => *next = f(*next),
            _ => self.for_each_call(|call| call.block = f(call.block)),
        }
    }

    /// The edges that carry arguments.
    pub fn calls(&self) -> impl Iterator<Item = &BlockCall> {
        let (a, b) = match self {
            Terminator::Jump(c) => (Some(c), None),
            Terminator::Branch { taken, next, .. }
            | Terminator::BrAny { taken, next, .. }
            | Terminator::BrIf { taken, next, .. } => (Some(taken), Some(next)),
            _ => (None, None),
        };
        a.into_iter().chain(b)
    }

    /// Calls `f` with each value used that is not an argument of an edge.
    pub fn for_each_condition(&self, mut f: impl FnMut(Value)) {
        match self {
            Terminator::Branch { cond, .. } | Terminator::BrIf { cond, .. } => f(*cond),
            Terminator::BrAny { mask, .. } => f(*mask),
            Terminator::Jump(_) => {}
            _ => self.for_each_use(f),
        }
    }

    /// Replaces each value used by what `f` gives for it.
    pub fn map_uses(&mut self, mut f: impl FnMut(Value) -> Value) {
        let mut all = |values: &mut Vec<Value>| values.iter_mut().for_each(|v| *v = f(*v));
        match self {
            Terminator::Jump(c) => all(&mut c.args),
            Terminator::Branch { cond: m, taken, next }
            | Terminator::BrAny { mask: m, taken, next }
            | Terminator::BrIf { cond: m, taken, next } => {
                all(&mut taken.args);
                all(&mut next.args);
                *m = f(*m);
            }
            Terminator::Leave { cond, .. } | Terminator::Join { cond, .. } => {
                if let Some(v) = cond {
                    *v = f(*v);
                }
            }
            Terminator::BranchIndirect { address } => *address = f(*address),
            Terminator::Return { exited, cond, .. } => {
                for v in exited.iter_mut().chain(cond) {
                    *v = f(*v);
                }
            }
            _ => {}
        }
    }
}
