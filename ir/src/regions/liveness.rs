//! Which slots a lane may still read, at the start of each block of a kernel in SPMD form.

use crate::entities::{Block, Slot};
use crate::function::{BarrierSpec, Function, Imm, LeaveKind, PushKind, Terminator};
use crate::opcodes::Opcode;

/// A set of slots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotSet(Vec<u64>);

impl SlotSet {
    /// No slot of `slots`.
    pub fn empty(slots: usize) -> SlotSet {
        SlotSet(vec![0; slots.div_ceil(64)])
    }

    /// All of `slots`.
    pub fn full(slots: usize) -> SlotSet {
        let mut set = SlotSet::empty(slots);
        (0..slots).for_each(|s| {
            set.insert(Slot::new(s));
        });
        set
    }

    /// Whether `slot` is in it.
    pub fn contains(&self, slot: Slot) -> bool {
        self.0[slot.index() / 64] >> (slot.index() % 64) & 1 != 0
    }

    /// Adds `slot`; whether it was new.
    pub fn insert(&mut self, slot: Slot) -> bool {
        let new = !self.contains(slot);
        self.0[slot.index() / 64] |= 1 << (slot.index() % 64);
        new
    }

    /// Takes `slot` out.
    pub fn remove(&mut self, slot: Slot) {
        self.0[slot.index() / 64] &= !(1 << (slot.index() % 64));
    }

    /// Adds all of `other`; whether anything was new.
    pub fn union(&mut self, other: &SlotSet) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= b & !*a != 0;
            *a |= b;
        }
        changed
    }

    /// Takes all of `other` out; whether anything was in it.
    pub fn subtract(&mut self, other: &SlotSet) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= *a & b != 0;
            *a &= !b;
        }
        changed
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        (0..self.0.len() * 64).map(Slot::new).filter(|s| self.contains(*s))
    }
}

/// Slots live at the start of each block.
#[derive(Clone, Debug)]
pub struct SlotLiveness {
    live_in: Vec<SlotSet>,
    succs: Vec<Vec<Block>>,
    slots: usize,
    keep_all: bool,
    /// Someone may look at the registers behind every block.
    everywhere: bool,
    /// Slots that count even in lanes that are not active: those that a cross-lane read takes, and all that are ever
    /// read if there is a `quadon`, which wakes lanes wherever they are.
    pinned: SlotSet,
}

/// Slots whose values count in lanes that are elsewhere.
fn pinned(func: &Function) -> SlotSet {
    let wakes = func.block_ids().any(|b| matches!(func.term(b), Terminator::QuadOn { .. }));
    let mut pinned = SlotSet::empty(func.slots.len());
    for b in func.block_ids() {
        let insts = || func.block(b).insts.iter().map(|&inst| func.inst(inst));
        if wakes || insts().any(|data| matches!(data.op, Opcode::QuadLane | Opcode::Shuffle)) {
            for data in insts() {
                if let (Opcode::SlotGet, Imm::Slot(s)) = (data.op, data.imm) {
                    pinned.insert(s);
                }
            }
        }
    }
    pinned
}

impl SlotLiveness {
    /// Computes liveness. The stack may be anything: a leave goes to every target pushed for its kind, and lanes that
    /// wait at a join may resume at every join target. With `keep_all` every slot is live at the end of a thread
    /// (someone wants to look at the registers).
    pub fn compute(func: &Function, keep_all: bool) -> SlotLiveness {
        let slots = func.slots.len();
        let mut targets: Vec<(PushKind, Block)> = Vec::new();
        for b in func.block_ids() {
            match func.term(b) {
                Terminator::Push { kind, target, .. } => targets.push((*kind, *target)),
                Terminator::Call { ret, .. } => targets.push((PushKind::Call, *ret)),
                _ => {}
            }
        }
        let of = |kind: PushKind| targets.iter().filter(move |t| t.0 == kind).map(|t| t.1);
        let succs: Vec<Vec<Block>> = func
            .block_ids()
            .map(|b| {
                let mut list = Vec::new();
                match func.term(b) {
                    // The target of a push is reached by the leave or join, not from here.
                    Terminator::Push { next, .. } => list.push(*next),
                    Terminator::Call { target, .. } => list.push(*target),
                    Terminator::Leave { kind, cond, next } => {
                        list.extend(cond.map(|_| *next));
                        match kind {
                            LeaveKind::Break => list.extend(of(PushKind::Break)),
                            LeaveKind::Continue => list.extend(of(PushKind::Continue)),
                            LeaveKind::Return => list.extend(of(PushKind::Call)),
                            LeaveKind::Long => list.extend(of(PushKind::Long)),
                            LeaveKind::Exit => {}
                        }
                    }
                    Terminator::Join { next, .. } => {
                        list.push(*next);
                        list.extend(of(PushKind::Join));
                    }
                    Terminator::BranchIndirect { .. } => list.extend(func.block_at.values()),
                    other => other.for_each_successor(|s| list.push(s)),
                }
                list
            })
            .collect();
        let mut this = SlotLiveness {
            live_in: vec![SlotSet::empty(slots); func.blocks.len()],
            succs,
            slots,
            keep_all,
            everywhere: false,
            pinned: pinned(func),
        };
        this.solve(func);
        this
    }

    /// Liveness where someone may look at all registers behind every block, as where `max_steps` ends a warp.
    pub fn keep_everywhere(mut self, func: &Function) -> SlotLiveness {
        (self.keep_all, self.everywhere) = (true, true);
        self.solve(func);
        self
    }

    fn solve(&mut self, func: &Function) {
        // What each block reads before it writes it, and what it writes.
        let none = SlotSet::empty(self.slots);
        let mut effects = vec![(none.clone(), none); func.blocks.len()];
        for (b, (reads, writes)) in func.block_ids().zip(&mut effects) {
            for &inst in &func.block(b).insts {
                let data = func.inst(inst);
                match (data.op, data.imm) {
                    (Opcode::SlotSet, Imm::Slot(s)) => {
                        writes.insert(s);
                    }
                    (Opcode::SlotGet, Imm::Slot(s)) if !writes.contains(s) => {
                        reads.insert(s);
                    }
                    _ => {}
                }
            }
        }
        let mut preds = vec![Vec::new(); func.blocks.len()];
        for (b, succs) in self.succs.iter().enumerate() {
            succs.iter().for_each(|s| preds[s.index()].push(b));
        }
        // Later blocks first: most edges go forward.
        let mut waiting = vec![true; func.blocks.len()];
        let mut work: Vec<usize> = (0..func.blocks.len()).collect();
        while let Some(b) = work.pop() {
            waiting[b] = false;
            let (reads, writes) = &effects[b];
            let mut live = self.live_out(func, Block::new(b));
            live.subtract(writes);
            live.union(reads);
            if self.live_in[b].union(&live) {
                for &p in &preds[b] {
                    if !std::mem::replace(&mut waiting[p], true) {
                        work.push(p);
                    }
                }
            }
        }
    }

    /// Slots live where `block` starts.
    pub fn live_in(&self, block: Block) -> &SlotSet {
        &self.live_in[block.index()]
    }

    /// Slots live behind the body of `block`, before its terminator.
    pub fn live_out(&self, func: &Function, block: Block) -> SlotSet {
        let ends = matches!(
            func.term(block),
            Terminator::Leave { .. }
                | Terminator::Join { .. }
                | Terminator::Fault(_)
                | Terminator::BranchIndirect { .. }
        );
        let mut live = if self.keep_all && (ends || self.everywhere) {
            SlotSet::full(self.slots)
        } else {
            self.pinned.clone()
        };
        for s in &self.succs[block.index()] {
            live.union(&self.live_in[s.index()]);
        }
        if let Terminator::Barrier { spec: BarrierSpec { from: Some(slot), .. }, .. } = func.term(block) {
            live.insert(*slot);
        }
        live
    }

    /// Slots live where a thread ends.
    pub fn live_at_end(&self) -> SlotSet {
        if self.keep_all { SlotSet::full(self.slots) } else { self.pinned.clone() }
    }
}
