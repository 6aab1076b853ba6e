//! Finds the slots that hold one value in all active lanes of the warp, at the start of each block in SPMD form.
//!
//! Lanes that have diverged reconverge only where an entry of the divergence stack is popped. So a slot written between a push
//! and the block where that entry is popped counts as varying from that block on.

use std::collections::BTreeSet;

use super::liveness::SlotSet;
use warpjit_ir_core::abi::Builtin;
use warpjit_ir_core::entities::{Block, Slot};
use warpjit_ir_core::function::{Function, Imm, PushKind, SlotInit, Terminator};
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::opcodes::{Opcode, Space};

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
    pub fn compute(func: &Function, meter: &Meter) -> Result<Uniformity, Stopped> {
        meter.stage("uniform slots")?;
        let slots = func.slots.len();
        let kills = reconvergence_kills(func, meter)?;
        meter.hold(func.blocks.len() * SlotSet::bytes_of(slots))?;
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
            // An indirect branch may reach every block, so nothing is uniform.
            at_entry.iter_mut().for_each(|s| *s = SlotSet::empty(slots));
        }
        for (b, kill) in kills.iter().enumerate() {
            at_entry[b].subtract(kill);
        }
        let mut uniform_cond = vec![false; func.blocks.len()];
        let mut values = vec![false; func.values.len()];
        // Revisit only blocks whose start has changed. Otherwise a sequence of loops would take quadratic time.
        let mut work: BTreeSet<usize> = (0..func.blocks.len()).collect();
        while let Some(b) = work.pop_first().map(Block::new) {
            meter.step(1 + func.block(b).insts.len() / 16)?;
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
        Ok(Uniformity { at_entry, uniform_cond })
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

/// The uniform slots after a block, and whether its terminator's condition is uniform. `uniform` is scratch space,
/// false for all values on entry and return.
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
            // The warps of a block take turns on one thread, so all lanes read the same shared memory. Global memory
            // may change between chunks.
            (Opcode::Load, Imm::Mem(m)) => operands && matches!(m.space, Space::Const(_) | Space::Shared),
            (Opcode::VoteAny | Opcode::VoteAll | Opcode::Ballot | Opcode::Any, _) => true,
            (Opcode::Shuffle, _) => data.args.get(1).is_some_and(|i| uniform[i.index()]),
            (Opcode::LaneBit, _) => false,
            _ => operands && data.op.is_pure(),
        };
        if let Some(v) = data.result {
            // A value of uniform type is uniform in any case.
            let result = result || func.ty(v).uniform;
            uniform[v.index()] = result;
        }
    }
    let mut cond = true;
    func.term(block).for_each_use(|v| cond &= uniform[v.index()]);
    // Reset the scratch space.
    for v in func.block(block).insts.iter().filter_map(|&i| func.inst(i).result) {
        uniform[v.index()] = false;
    }
    (slots, cond)
}

/// Limit on the blocks visited after all pushes together: `LOOKS` times the number of blocks, plus `MORE_LOOKS`. That
/// suffices for pushes nested a hundred deep. For outer pushes of deeper code, every slot that the kernel writes counts
/// as varying.
const LOOKS: usize = 64;
const MORE_LOOKS: usize = 1 << 12;

/// For each block: the slots that are varying at its start because lanes reconverge there.
fn reconvergence_kills(func: &Function, meter: &Meter) -> Result<Vec<SlotSet>, Stopped> {
    let slots = func.slots.len();
    let mut kills = vec![SlotSet::empty(slots); func.blocks.len()];
    let has_pushes = func.block_ids().any(|b| {
        matches!(
            func.term(b),
            Terminator::Push { .. }
                | Terminator::Call { .. }
                | Terminator::QuadOn { .. }
                | Terminator::QuadPop { .. }
        )
    });
    if !has_pushes {
        return Ok(kills);
    }
    let written: Vec<SlotSet> = func.block_ids().map(|b| written_by(func, b)).collect();
    meter.hold(2 * func.blocks.len() * SlotSet::bytes_of(slots))?;
    let mut behind = Behind {
        func,
        seen: vec![0; func.blocks.len()],
        search: 0,
        found: Vec::new(),
        left: LOOKS * func.blocks.len() + MORE_LOOKS,
    };
    // Inner pushes come after outer ones and are visited first.
    let mut rest = Vec::new();
    for b in func.block_ids().rev() {
        let (kind, start, target) = match *func.term(b) {
            Terminator::Push { kind, target, next } => (kind, next, target),
            Terminator::Call { target, ret } => (PushKind::Call, target, ret),
            Terminator::QuadOn { next } | Terminator::QuadPop { next } => {
                kills[next.index()] = SlotSet::full(slots);
                continue;
            }
            _ => continue,
        };
        if !behind.find(start, target, meter)? {
            rest.push((kind, target));
            continue;
        }
        let mut set = written[target.index()].clone();
        behind.found.iter().for_each(|b| _ = set.union(&written[b.index()]));
        kills[target.index()].union(&set);
        if kind == PushKind::Join {
            for &j in behind.found.iter().chain([&target]) {
                if let Terminator::Join { next, .. } = func.term(j) {
                    kills[next.index()].union(&set);
                }
            }
        }
    }
    if rest.is_empty() {
        return Ok(kills);
    }
    let mut all = SlotSet::empty(slots);
    written.iter().for_each(|set| _ = all.union(set));
    for &(_, target) in &rest {
        kills[target.index()].union(&all);
    }
    if rest.iter().any(|(kind, _)| *kind == PushKind::Join) {
        for j in func.block_ids() {
            if let Terminator::Join { next, .. } = func.term(j) {
                kills[next.index()].union(&all);
            }
        }
    }
    Ok(kills)
}

/// Slots that a block writes.
fn written_by(func: &Function, block: Block) -> SlotSet {
    let mut set = SlotSet::empty(func.slots.len());
    for &i in &func.block(block).insts {
        if let (Opcode::SlotSet, Imm::Slot(s)) = (func.inst(i).op, func.inst(i).imm) {
            set.insert(s);
        }
    }
    set
}

/// Searches the blocks between a push and the block where its entry is popped.
struct Behind<'a> {
    func: &'a Function,
    /// For each block: the last search that visited it.
    seen: Vec<u32>,
    search: u32,
    found: Vec<Block>,
    /// How many blocks may still be visited.
    left: usize,
}

impl Behind<'_> {
    /// Finds the blocks reachable from `start` without passing `target`. Returns false if too many blocks were visited.
    fn find(&mut self, start: Block, target: Block, meter: &Meter) -> Result<bool, Stopped> {
        self.search += 1;
        self.found.clear();
        self.seen[target.index()] = self.search;
        let mut work = vec![start];
        while let Some(b) = work.pop() {
            if std::mem::replace(&mut self.seen[b.index()], self.search) == self.search {
                continue;
            }
            meter.step(1)?;
            let Some(left) = self.left.checked_sub(1) else { return Ok(false) };
            self.left = left;
            self.found.push(b);
            self.func.term(b).for_each_successor(|s| work.push(s));
        }
        Ok(true)
    }
}
