//! Checks that nothing reads what the code after a vote changes in lanes outside the vote's mask.
//!
//! Compilers put into a scalar mask the right bits for the lanes in EXEC, and any bits for the others. So the code that a vote
//! guards often changes mask bits of lanes that are not in its mask. These bits are harmless if they are overwritten before
//! anything reads them for that lane: then the lane behaves the same whether or not it runs the guarded code.
//!
//! The check follows one lane through the kernel, from its start. For each slot it knows a number, or the votes that the slot's
//! value may depend on (its *taint*). A lane's truth values are related (it is in EXEC now, so it was in that mask), so a block
//! has one state for each combination of known masks. If a branch, a store, an atomic or another lane would see a tainted value,
//! its votes stay with the whole wave, and the check is repeated without them.

use std::collections::{BTreeMap, BTreeSet};

use super::fact::Fact;
use super::{Candidate, vote_of};
use crate::liveness::{SlotLiveness, SlotSet};
use warpjit_ir_core::entities::{Block, Slot, Value};
use warpjit_ir_core::function::{Function, Imm, Terminator};
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::Scalar;

/// Most states of a block; further ones are merged.
const STATES: usize = 16;
/// Limit on block evaluations: `LOOKS` times the number of blocks, plus `MORE_LOOKS`.
const LOOKS: usize = 256;
const MORE_LOOKS: usize = 1 << 12;
/// How often votes are removed and the check repeated.
const ROUNDS: usize = 8;
/// How deep the consequences of a truth value are followed.
const DEPTH: u32 = 16;

/// Removes from `votes` those whose changes may be read.
pub(super) fn keep_unseen(
    func: &Function,
    live: &SlotLiveness,
    votes: &mut BTreeMap<Block, Candidate>,
    meter: &Meter,
) -> Result<(), Stopped> {
    meter.stage("changes behind votes")?;
    let mut looks = LOOKS * func.blocks.len() + MORE_LOOKS;
    for _ in 0..ROUNDS {
        let numbers = votes.iter().filter(|(_, vote)| !vote.changes.is_empty()).map(|(&block, _)| block);
        let numbers: BTreeMap<Block, u64> =
            numbers.enumerate().map(|(n, block)| (block, 1 << n.min(63))).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        let Some(exec) = live.exec() else { break };
        let mut walk = Walk {
            func,
            live,
            exec,
            fixed: live.live_at_end(),
            votes,
            numbers: &numbers,
            values: vec![Fact::NONE; func.values.len()],
            masks: (0..func.slots.len()).filter(|&n| func.slots[n].ty.scalar == Scalar::I1).collect(),
            holds: vec![None; func.slots.len()],
            states: vec![Vec::new(); func.blocks.len()],
            work: BTreeSet::new(),
            seen: 0,
        };
        if !walk.all(&mut looks, meter)? {
            break;
        }
        let seen = walk.seen;
        if seen == 0 {
            return Ok(());
        }
        votes.retain(|block, _| numbers.get(block).is_none_or(|bit| seen & bit == 0));
    }
    votes.retain(|_, vote| vote.changes.is_empty());
    Ok(())
}

/// The check: one lane's paths through the kernel.
struct Walk<'a> {
    func: &'a Function,
    live: &'a SlotLiveness,
    exec: Slot,
    /// Slots that must not be tainted, because they are read after the kernel.
    fixed: SlotSet,
    votes: &'a BTreeMap<Block, Candidate>,
    /// The taint of each vote that leaves something changed.
    numbers: &'a BTreeMap<Block, u64>,
    /// The facts of the current block's values.
    values: Vec<Fact>,
    /// The slots with truth values.
    masks: Vec<usize>,
    /// The value in each slot that the current block has read or written.
    holds: Vec<Option<Value>>,
    states: Vec<Vec<Vec<Fact>>>,
    work: BTreeSet<(usize, usize)>,
    /// Votes whose taint has been seen.
    seen: u64,
}

/// Assumptions made, to be undone.
type Assumed = Vec<(Value, Fact)>;

impl Walk<'_> {
    /// Follows the lane to the fixed point. Returns whether that was possible.
    fn all(&mut self, looks: &mut usize, meter: &Meter) -> Result<bool, Stopped> {
        let start = vec![Fact::NONE; self.func.slots.len()];
        for truth in [0, 1] {
            let mut facts = start.clone();
            facts[self.exec.index()] = Fact::number(truth);
            self.arrive(self.func.entry, facts);
        }
        while let Some((block, state)) = self.work.pop_first() {
            meter.step(1)?;
            let Some(rest) = looks.checked_sub(1) else { return Ok(false) };
            *looks = rest;
            let facts = self.states[block][state].clone();
            if !self.step(Block::new(block), facts) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds a state at the start of `block`. States with different known masks are kept apart.
    fn arrive(&mut self, block: Block, mut facts: Vec<Fact>) {
        let live = self.live.live_in(block);
        for (n, fact) in facts.iter_mut().enumerate() {
            let slot = Slot::new(n);
            if slot != self.exec && !live.contains(slot) {
                *fact = Fact::NONE;
            }
        }
        let alike = |a: &[Fact]| self.masks.iter().all(|&n| a[n].number == facts[n].number);
        let states = &mut self.states[block.index()];
        let found = states.iter().position(|state| alike(state)).or_else(|| {
            let exec = self.exec.index();
            let full = states.len() >= STATES;
            full.then(|| states.iter().position(|state| state[exec].number == facts[exec].number)).flatten()
        });
        let at = match found {
            None => {
                states.push(facts);
                states.len() - 1
            }
            Some(at) => {
                if !Fact::meet_all(&mut states[at], &facts) {
                    return;
                }
                at
            }
        };
        self.work.insert((block.index(), at));
    }

    /// Evaluates a block; false if its successors are unknown.
    fn step(&mut self, block: Block, mut facts: Vec<Fact>) -> bool {
        self.run(block, &mut facts);
        match *self.func.term(block) {
            Terminator::Jump(ref call) if call.args.is_empty() => self.go_on(call.block, &facts),
            Terminator::Branch { cond, ref taken, ref next }
                if taken.args.is_empty() && next.args.is_empty() =>
            {
                let (taken, next) = (taken.block, next.block);
                let Some(vote) = self.votes.get(&block) else {
                    self.split(cond, &facts, |walk, truth, facts| {
                        walk.go_on(if truth { taken } else { next }, facts);
                    });
                    return true;
                };
                let mask = vote_of(self.func, block).expect("it was one").mask;
                let is_inverse = self.func.def_inst(cond).is_some_and(|data| data.op == Opcode::Inot);
                let (meeting, number) = (vote.meeting, self.numbers.get(&block).copied());
                self.split(mask, &facts, |walk, truth, facts| match truth {
                    true => walk.go_on(if is_inverse { next } else { taken }, facts),
                    false => {
                        let mut facts = facts.to_vec();
                        if let Some(number) = number {
                            walk.change(block, number, &mut facts);
                        }
                        walk.go_on(meeting, &facts);
                    }
                });
            }
            Terminator::Leave { cond: None, .. } | Terminator::Fault(_) => {}
            Terminator::Leave { cond: Some(cond), next, .. } => {
                self.split(cond, &facts, |walk, truth, facts| {
                    if !truth {
                        walk.go_on(next, facts);
                    }
                });
            }
            Terminator::Barrier { next, .. } => self.go_on(next, &facts),
            _ => return false,
        }
        true
    }

    /// Applies the changes of a vote.
    fn change(&mut self, vote: Block, number: u64, facts: &mut [Fact]) {
        for change in &self.votes[&vote].changes {
            let fact = &mut facts[change.slot.index()];
            if change.now.is_some() && change.now == fact.number {
                continue;
            }
            *fact = Fact { taint: fact.taint | number, ..Fact::NONE };
            self.seen |= self.shown(change.slot, *fact);
        }
    }

    /// The taint of a slot write that is visible in any case, because the slot is uniform or is read at the end.
    fn shown(&self, slot: Slot, fact: Fact) -> u64 {
        let shows = self.func.slots[slot.index()].ty.uniform || self.fixed.contains(slot);
        if shows { fact.taint } else { 0 }
    }

    /// Continues with each truth value that `value` may have.
    fn split(&mut self, value: Value, facts: &[Fact], mut then: impl FnMut(&mut Self, bool, &[Fact])) {
        self.seen |= self.values[value.index()].taint;
        for truth in [false, true] {
            let mut assumed = Assumed::new();
            if self.assume(value, truth, DEPTH, &mut assumed) {
                let mut facts = facts.to_vec();
                self.put_back(&mut facts);
                then(self, truth, &facts);
            }
            for (value, fact) in assumed.into_iter().rev() {
                self.values[value.index()] = fact;
            }
        }
    }

    /// Continues at a block, once for the lane in EXEC and once for the lane outside.
    fn go_on(&mut self, block: Block, facts: &[Fact]) {
        let exec = facts[self.exec.index()];
        self.seen |= exec.taint;
        match self.holds[self.exec.index()] {
            Some(value) if exec.number.is_none() => {
                self.split(value, facts, |walk, truth, facts| {
                    let mut facts = facts.to_vec();
                    facts[walk.exec.index()].number = Some(truth.into());
                    walk.arrive(block, facts);
                });
            }
            _ => self.arrive(block, facts.to_vec()),
        }
    }

    /// Assumes a truth value and what follows from it for other values. False if that is a contradiction.
    fn assume(&mut self, value: Value, truth: bool, depth: u32, assumed: &mut Assumed) -> bool {
        let fact = self.values[value.index()];
        if let Some(number) = fact.number {
            return (number != 0) == truth;
        }
        if fact.taint != 0 {
            return true;
        }
        assumed.push((value, fact));
        self.values[value.index()].number = Some(truth.into());
        let Some(data) = self.func.def_inst(value).filter(|_| depth > 0) else { return true };
        let known = |walk: &Self, v: Value| walk.values[v.index()].number;
        match (data.op, &data.args[..]) {
            (Opcode::Inot, &[of]) => self.assume(of, !truth, depth - 1, assumed),
            (Opcode::Splat, &[of]) => self.assume(of, truth, depth - 1, assumed),
            (Opcode::Iand, &[a, b]) if truth => {
                self.assume(a, true, depth - 1, assumed) && self.assume(b, true, depth - 1, assumed)
            }
            (Opcode::Ior, &[a, b]) if !truth => {
                self.assume(a, false, depth - 1, assumed) && self.assume(b, false, depth - 1, assumed)
            }
            // One operand is known, so the other one decides.
            (Opcode::Iand | Opcode::Ior, &[a, b]) => match (known(self, a), known(self, b)) {
                (Some(_), None) => self.assume(b, truth, depth - 1, assumed),
                (None, Some(_)) => self.assume(a, truth, depth - 1, assumed),
                _ => true,
            },
            (Opcode::Ixor, &[a, b]) => match (known(self, a), known(self, b)) {
                (Some(a), None) => self.assume(b, truth != (a != 0), depth - 1, assumed),
                (None, Some(b)) => self.assume(a, truth != (b != 0), depth - 1, assumed),
                _ => true,
            },
            _ => true,
        }
    }

    /// Updates the facts of slots from the facts of the values they hold.
    fn put_back(&self, facts: &mut [Fact]) {
        for (fact, value) in facts.iter_mut().zip(&self.holds) {
            if let Some(value) = value {
                *fact = self.values[value.index()];
            }
        }
    }

    /// Evaluates the instructions of a block.
    fn run(&mut self, block: Block, facts: &mut [Fact]) {
        self.holds.fill(None);
        for &param in &self.func.block(block).params {
            self.values[param.index()] = Fact::NONE;
        }
        let mut args = Vec::new();
        for &inst in &self.func.block(block).insts {
            let data = self.func.inst(inst);
            args.clear();
            args.extend(data.args.iter().map(|v| self.values[v.index()]));
            let taint = args.iter().fold(0, |all, arg| all | arg.taint);
            let is_off = |n: usize| args.get(n).is_some_and(|guard| guard.number == Some(0));
            let result = match (data.op, data.imm) {
                (Opcode::SlotGet, Imm::Slot(slot)) => {
                    self.holds[slot.index()] = data.result;
                    facts[slot.index()]
                }
                (Opcode::SlotSet, Imm::Slot(slot)) => {
                    self.seen |= self.shown(slot, args[0]);
                    self.holds[slot.index()] = Some(data.args[0]);
                    facts[slot.index()] = args[0];
                    continue;
                }
                (Opcode::Load, _) if is_off(1) => Fact::NONE,
                (Opcode::Store, _) if is_off(2) => continue,
                (Opcode::Atomic, _) if is_off(data.atomic_operands()) => Fact::NONE,
                (Opcode::VoteAny, _) => {
                    self.seen |= taint;
                    Fact { number: args[0].number.filter(|&number| number != 0), ..Fact::NONE }
                }
                (op, _) if op.is_pure() => Fact::of_result(self.func, data, &args),
                // Results that depend on memory or other lanes.
                _ => {
                    self.seen |= taint;
                    Fact::NONE
                }
            };
            if let Some(v) = data.result {
                self.values[v.index()] = result;
            }
        }
    }
}
