//! Which slots hold one value in all active lanes of the warp, at the start of each block in SPMD form.
//!
//! A value is uniform here when all lanes that are active together hold the same one. Lanes that ran apart come
//! together only where an entry of the divergence stack is popped, so a slot written between a push and the place
//! where its entry is popped counts as varying from there on.

use std::collections::BTreeSet;

use super::liveness::SlotSet;
use crate::abi::Builtin;
use crate::entities::{Block, Slot};
use crate::function::{Function, Imm, PushKind, SlotInit, Terminator};
use crate::opcodes::{Opcode, Space};

/// Result of the analysis.
#[derive(Clone, Debug)]
pub struct Uniformity {
    /// Slots uniform at the start of each block.
    at_entry: Vec<SlotSet>,
    /// Per block, whether the condition of its terminator is uniform.
    uniform_cond: Vec<bool>,
}

impl Uniformity {
    /// Analyses a kernel in SPMD form.
    pub fn compute(func: &Function) -> Uniformity {
        let slots = func.slots.len();
        let kills = reconvergence_kills(func);
        let mut entry = SlotSet::full(slots);
        for (i, data) in func.slots.iter().enumerate() {
            if let SlotInit::Builtin(Builtin::Tid(_) | Builtin::LaneId | Builtin::LinearTid) = data.init {
                entry.remove(Slot::new(i));
            }
        }
        let mut at_entry = vec![SlotSet::full(slots); func.blocks.len()];
        at_entry[func.entry.index()] = entry;
        let indirect = func.block_ids().any(|b| matches!(func.term(b), Terminator::BranchIndirect { .. }));
        if indirect {
            // Anything may come from anywhere.
            at_entry.iter_mut().for_each(|s| *s = SlotSet::empty(slots));
        }
        for (b, kill) in kills.iter().enumerate() {
            at_entry[b].subtract(kill);
        }
        let mut uniform_cond = vec![false; func.blocks.len()];
        let mut values = vec![false; func.values.len()];
        // Only blocks whose start has changed are looked at again: one loop after another would take time by the square of their number.
        let mut work: BTreeSet<usize> = (0..func.blocks.len()).collect();
        while let Some(b) = work.pop_first().map(Block::new) {
            let (out, cond) = transfer(func, b, at_entry[b.index()].clone(), &mut values);
            uniform_cond[b.index()] = cond;
            let mut varying = SlotSet::full(slots);
            varying.subtract(&out);
            func.term(b).for_each_successor(|s| {
                if at_entry[s.index()].subtract(&varying) {
                    work.insert(s.index());
                }
            });
        }
        Uniformity { at_entry, uniform_cond }
    }

    /// Slots uniform where `block` starts.
    pub fn at_entry(&self, block: Block) -> &SlotSet {
        &self.at_entry[block.index()]
    }

    /// Whether all active lanes agree on the condition of `block`'s terminator.
    pub fn cond_is_uniform(&self, block: Block) -> bool {
        self.uniform_cond[block.index()]
    }
}

/// What is uniform behind a block, and whether its terminator's condition is. `uniform` is for its own use, false for all values.
fn transfer(func: &Function, block: Block, mut slots: SlotSet, uniform: &mut [bool]) -> (SlotSet, bool) {
    for &inst in &func.block(block).insts {
        let data = func.inst(inst);
        let operands = data.args.iter().all(|a| uniform[a.index()]);
        let result = match (data.op, data.imm) {
            (Opcode::SlotGet, Imm::Slot(s)) => slots.contains(s) || func.slots[s.index()].ty.uniform,
            (Opcode::SlotSet, Imm::Slot(s)) => {
                if operands {
                    slots.insert(s);
                } else {
                    slots.remove(s);
                }
                false
            }
            // The warps of a block take turns, so all lanes see one value of shared memory; global memory may change
            // between chunks of lanes.
            (Opcode::Load, Imm::Mem(m)) => operands && matches!(m.space, Space::Const(_) | Space::Shared),
            (Opcode::VoteAny | Opcode::VoteAll | Opcode::Ballot | Opcode::Any, _) => true,
            (Opcode::Shuffle, _) => data.args.get(1).is_some_and(|i| uniform[i.index()]),
            (Opcode::LaneBit, _) => false,
            _ => operands && data.op.is_pure(),
        };
        if let Some(v) = data.result {
            // What is uniform by type is so wherever lanes are.
            let result = result || func.ty(v).uniform;
            uniform[v.index()] = result;
        }
    }
    let mut cond = true;
    func.term(block).for_each_use(|v| cond &= uniform[v.index()]);
    // Of another block's values nothing is known.
    for v in func.block(block).insts.iter().filter_map(|&i| func.inst(i).result) {
        uniform[v.index()] = false;
    }
    (slots, cond)
}

/// For each block, the slots that are varying at its start because lanes come together there.
fn reconvergence_kills(func: &Function) -> Vec<SlotSet> {
    let slots = func.slots.len();
    let mut kills = vec![SlotSet::empty(slots); func.blocks.len()];
    let reach = |from: Block, target: Block| {
        let mut seen = vec![false; func.blocks.len()];
        let mut work = vec![from];
        while let Some(b) = work.pop() {
            if !std::mem::replace(&mut seen[b.index()], true) && b != target {
                func.term(b).for_each_successor(|s| work.push(s));
            }
        }
        seen[target.index()] = true;
        seen
    };
    let written = |seen: &[bool]| {
        let mut set = SlotSet::empty(slots);
        for b in func.block_ids().filter(|b| seen[b.index()]) {
            for &i in &func.block(b).insts {
                if let (Opcode::SlotSet, Imm::Slot(s)) = (func.inst(i).op, func.inst(i).imm) {
                    set.insert(s);
                }
            }
        }
        set
    };
    for b in func.block_ids() {
        let (kind, start, target) = match *func.term(b) {
            Terminator::Push { kind, target, next } => (kind, next, target),
            Terminator::Call { target, ret } => (PushKind::Call, target, ret),
            Terminator::QuadOn { next } | Terminator::QuadPop { next } => {
                kills[next.index()] = SlotSet::full(slots);
                continue;
            }
            _ => continue,
        };
        let seen = reach(start, target);
        let set = written(&seen);
        kills[target.index()].union(&set);
        if kind == PushKind::Join {
            for j in func.block_ids().filter(|j| seen[j.index()]) {
                if let Terminator::Join { next, .. } = func.term(j) {
                    kills[next.index()].union(&set);
                }
            }
        }
    }
    kills
}
