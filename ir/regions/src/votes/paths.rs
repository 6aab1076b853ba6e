//! Finds the slots that the paths after a vote change in a lane outside the vote's mask.

use std::collections::{BTreeMap, BTreeSet};

use super::Change;
use super::fact::{BlockFacts, Fact};
use crate::liveness::SlotLiveness;
use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::entities::{Block, Slot, Value};
use warpjit_ir_core::function::{Function, Imm, Terminator};
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::opcodes::{Opcode, Space};

/// The known numbers of uniform slots at the start of each block. Mostly this is the guest's MODE.
pub(super) fn uniform_numbers(
    func: &Function,
    succs: &[Vec<usize>],
    values: &mut BlockFacts,
    meter: &Meter,
) -> Result<Vec<Vec<Option<u64>>>, Stopped> {
    let mut starts: Vec<Option<Vec<Fact>>> = vec![None; func.blocks.len()];
    let comes_anywhere = |b: Block| matches!(func.term(b), Terminator::BranchIndirect { .. });
    if !func.block_ids().any(comes_anywhere) {
        let mut work = BTreeSet::from([func.entry.index()]);
        starts[func.entry.index()] = Some(vec![Fact::NONE; func.slots.len()]);
        while let Some(at) = work.pop_first() {
            meter.step(1)?;
            let mut state = starts[at].clone().expect("it was put there with the block");
            // Other effects do not change slots.
            run(func, Block::new(at), (&mut state, values), |_| true);
            for (fact, slot) in state.iter_mut().zip(&func.slots) {
                fact.number = fact.number.filter(|_| slot.ty.uniform);
            }
            for &next in &succs[at] {
                match &mut starts[next] {
                    start @ None => {
                        *start = Some(state.clone());
                        work.insert(next);
                    }
                    Some(start) => {
                        let met: Vec<Fact> = start.iter().zip(&state).map(|(a, b)| a.meet(*b)).collect();
                        if met != *start {
                            *start = met;
                            work.insert(next);
                        }
                    }
                }
            }
        }
    }
    let numbers = |start: Option<Vec<Fact>>| match start {
        Some(facts) => facts.iter().map(|fact| fact.number).collect(),
        None => vec![None; func.slots.len()],
    };
    Ok(starts.into_iter().map(numbers).collect())
}

/// What is known at the vote in a lane outside the mask: slots that hold the mask or a part of it are false. Uniform
/// slots have the known `numbers`.
pub(super) fn state_at_vote(
    func: &Function,
    block: Block,
    before: Option<Block>,
    mask: Value,
    numbers: &[Option<u64>],
) -> Vec<Fact> {
    let as_it_is = |(n, &number): (usize, &Option<u64>)| Fact { same: Some(Slot::new(n)), number, taint: 0 };
    let mut state: Vec<Fact> = numbers.iter().enumerate().map(as_it_is).collect();
    let slot_of = |v: Value| match func.def_inst(v).map(|data| (data.op, data.imm)) {
        Some((Opcode::SlotGet, Imm::Slot(slot))) => Some(slot),
        _ => None,
    };
    let Some(voted) = slot_of(mask) else { return state };
    // A block with a vote writes no slots, so its reads give the slots' values at the vote.
    debug_assert!(func.block(block).insts.iter().all(|&i| !func.inst(i).op.has_effect()));
    state[voted.index()].number = Some(0);
    let Some(before) = before else { return state };
    // What the previous block has written to slots, in terms of its own values.
    let mut put: HashMap<Slot, Value> = HashMap::new();
    let mut read: HashMap<Slot, Value> = HashMap::new();
    for &inst in &func.block(before).insts {
        let data = func.inst(inst);
        match (data.op, data.imm) {
            (Opcode::SlotSet, Imm::Slot(slot)) => {
                put.insert(slot, data.args[0]);
            }
            (Opcode::SlotGet, Imm::Slot(slot)) => {
                if let (false, Some(v)) = (put.contains_key(&slot), data.result) {
                    read.insert(slot, v);
                }
            }
            _ => {}
        }
    }
    // A slot that is a copy of another one has the same facts.
    for (&copy, value) in &put {
        let of =
            read.iter().filter(|&(slot, read)| read == value && put.get(slot).is_none_or(|put| put == value));
        if let Some(of) = of.map(|(&slot, _)| slot).min() {
            state[copy.index()].same = Some(of);
        }
    }
    let Some(&root) = put.get(&voted).or(read.get(&voted)) else { return state };
    for (slot, &value) in put.iter().chain(&read) {
        if !(read.get(slot) == Some(&value) && put.contains_key(slot)) && implies(func, value, root, 6) {
            state[slot.index()].number = Some(0);
        }
    }
    state
}

/// Whether a truth value can only hold where `of` does.
fn implies(func: &Function, value: Value, of: Value, depth: u32) -> bool {
    if value == of {
        return true;
    }
    let Some(data) = func.def_inst(value) else { return false };
    depth > 0
        && match data.op {
            Opcode::Iand => data.args.iter().any(|&a| implies(func, a, of, depth - 1)),
            Opcode::Splat => implies(func, data.args[0], of, depth - 1),
            // A mask without lanes.
            Opcode::Const => data.imm == Imm::Bits(0),
            _ => false,
        }
}

/// The paths after votes.
pub(super) struct Paths<'a> {
    pub func: &'a Function,
    pub live: &'a SlotLiveness,
    pub succs: &'a [Vec<usize>],
    pub meter: &'a Meter,
}

impl Paths<'_> {
    /// The slots live at `meeting` that some path from the vote's sides changes, in a lane that starts with `start`.
    /// `None` if a path has another visible effect, or if more than `left` blocks would have to be evaluated.
    pub fn changes(
        &self,
        vote: Block,
        meeting: Block,
        start: Vec<Fact>,
        values: &mut BlockFacts,
        left: &mut usize,
    ) -> Result<Option<Vec<Change>>, Stopped> {
        let mut walk =
            Walk { meeting, start, states: HashMap::new(), work: BTreeSet::new(), changes: BTreeMap::new() };
        let wanted: Vec<Slot> =
            self.live.live_in(meeting).iter().filter(|s| s.index() < self.func.slots.len()).collect();
        let start = walk.start.clone();
        for &side in &self.succs[vote.index()] {
            walk.arrive(&start, side, &wanted);
        }
        while let Some(at) = walk.work.pop_first() {
            self.meter.step(1)?;
            let Some(rest) = left.checked_sub(1) else { return Ok(None) };
            *left = rest;
            let block = Block::new(at);
            // Only jumps and branches keep the lanes together and in this kernel.
            if !matches!(self.func.term(block), Terminator::Jump(_) | Terminator::Branch { .. }) {
                return Ok(None);
            }
            let mut state = walk.states[&at].clone();
            if !run(self.func, block, (&mut state, values), |_| false) {
                return Ok(None);
            }
            for &next in &self.succs[at] {
                walk.arrive(&state, next, &wanted);
            }
        }
        Ok(Some(walk.changes.into_iter().map(|(slot, now)| Change { slot, now }).collect()))
    }
}

/// The search over the blocks that a lane reaches after a vote.
struct Walk {
    meeting: Block,
    start: Vec<Fact>,
    states: HashMap<usize, Vec<Fact>>,
    work: BTreeSet<usize>,
    /// Slots whose value at the meeting may differ from that at the vote, with their number there if known.
    changes: BTreeMap<Slot, Option<u64>>,
}

impl Walk {
    fn arrive(&mut self, state: &[Fact], to: usize, wanted: &[Slot]) {
        if to == self.meeting.index() {
            for &slot in wanted {
                let (now, then) = (state[slot.index()], self.start[slot.index()]);
                let stays = (now.same.is_some() && now.same == then.same)
                    || (now.number.is_some() && now.number == then.number);
                if !stays {
                    let known = self.changes.entry(slot).or_insert(now.number);
                    *known = known.filter(|_| *known == now.number);
                }
            }
            return;
        }
        match self.states.get_mut(&to) {
            None => {
                self.states.insert(to, state.to_vec());
                self.work.insert(to);
            }
            Some(old) => {
                if Fact::meet_all(old, state) {
                    self.work.insert(to);
                }
            }
        }
    }
}

/// Evaluates a block for a lane, with what is known of slots; false if it contains an effect or a cross-lane operation that `may` does not
/// allow.
fn run(
    func: &Function,
    block: Block,
    (state, values): (&mut [Fact], &mut BlockFacts),
    may: impl Fn(Opcode) -> bool,
) -> bool {
    let mut fits = true;
    values.begin();
    let mut args: Vec<Fact> = Vec::new();
    for &inst in &func.block(block).insts {
        let data = func.inst(inst);
        args.clear();
        args.extend(data.args.iter().map(|&v| values.get(v)));
        let is_off = |n: usize| args.get(n).is_some_and(|guard| guard.number == Some(0));
        let result = match (data.op, data.imm) {
            (Opcode::SlotGet, Imm::Slot(slot)) => state[slot.index()],
            (Opcode::SlotSet, Imm::Slot(slot)) => {
                state[slot.index()] = args[0];
                continue;
            }
            (Opcode::Store, _) if is_off(2) => continue,
            (Opcode::Atomic, _) if is_off(data.atomic_operands()) => Fact::NONE,
            // A lane that would load does not skip it: its load may fault.
            (Opcode::Load, Imm::Mem(mem)) if matches!(mem.space, Space::Global(_)) => {
                let own = data.result.is_some_and(|v| !func.ty(v).uniform);
                fits &= !own || is_off(1) || may(Opcode::Load);
                Fact::NONE
            }
            // The result of another vote is unknown, so both sides of its branch are followed.
            (Opcode::VoteAny | Opcode::Any, _) => Fact::NONE,
            (op, _) if op.has_effect() || op.is_cross_lane() => {
                fits &= may(op);
                Fact::NONE
            }
            _ => Fact::of_result(func, data, &args),
        };
        if let Some(v) = data.result {
            values.set(v, result);
        }
    }
    fits
}
