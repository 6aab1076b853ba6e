//! Votes of a wave that each chunk of lanes can take for itself.
//!
//! Compilers put `branch if no lane is left` round divergent code (`s_cbranch_execz`), and loops run until no lane is left
//! (`s_cbranch_execnz`). Such a branch is uniform, so without more knowledge a region ends there, because only the driver sees all
//! lanes. But mostly the branch only saves work: where the mask is empty, the code that it guards does nothing. Then each
//! chunk may branch by its own lanes, and the whole loop becomes a part of a region.
//!
//! That holds if, for a lane that is not in the mask, every way from the vote to its post-dominator leaves all
//! that is live there as it was. It is found by evaluating the blocks between for such a lane, with what is known of masks:
//! `Abstract` values are `the same as at the vote` or a known truth value.

use std::collections::{BTreeSet, HashMap};

use super::liveness::SlotLiveness;
use crate::entities::{Block, Slot, Value};
use crate::function::{Function, Imm, Terminator, ValueDef};
use crate::graph;
use crate::meter::{Meter, Stopped};
use crate::opcodes::Opcode;

/// What is known of a value, in a lane that is not in the mask voted on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Abstract {
    /// It is what this slot held at the vote.
    same: Option<Slot>,
    /// Of a truth value.
    known: Option<bool>,
}

impl Abstract {
    const TOP: Abstract = Abstract { same: None, known: None };

    fn known(value: bool) -> Abstract {
        Abstract { same: None, known: Some(value) }
    }

    fn meet(self, other: Abstract) -> Abstract {
        let keep = |a: Option<bool>, b: Option<bool>| if a == b { a } else { None };
        Abstract {
            same: if self.same == other.same { self.same } else { None },
            known: keep(self.known, other.known),
        }
    }
}

/// Blocks that are evaluated behind votes, all together: so many times those that there are, and some more. That is enough for votes within
/// each other a hundred deep; the outermost ones of code that goes deeper stay with the driver.
const LOOKS: usize = 64;
const MORE_LOOKS: usize = 1 << 12;

/// Rewrites the votes of a kernel in SPMD form (whose lanes never part) that chunks can take for themselves from
/// `vote_any` to `any`. Gives for each block with such a vote the block where its ways meet again.
pub fn localize(
    func: &mut Function,
    live: &SlotLiveness,
    meter: &Meter,
) -> Result<HashMap<Block, Block>, Stopped> {
    meter.stage("votes of chunks")?;
    let succs: Vec<Vec<usize>> = func
        .block_ids()
        .map(|b| {
            let mut list = Vec::new();
            // Where all lanes leave, none goes on.
            if !matches!(func.term(b), Terminator::Leave { cond: None, .. }) {
                func.term(b).for_each_successor(|s| list.push(s.index()));
            }
            list
        })
        .collect();
    let post = graph::post_dominators(&succs);
    let preds = graph::predecessors(&succs);
    let mut votes = HashMap::new();
    let mut left = LOOKS * func.blocks.len() + MORE_LOOKS;
    // Votes within the ways of others stand behind those, and are looked at first.
    for block in func.block_ids().rev() {
        meter.step(1)?;
        let Some(vote) = vote_of(func, block) else { continue };
        let meeting = match post[block.index()] {
            Some(p) if p < succs.len() => Block::new(p),
            _ => continue,
        };
        let before = match preds[block.index()][..] {
            [p] if matches!(func.term(Block::new(p)), Terminator::Jump(_)) => Some(Block::new(p)),
            _ => None,
        };
        let start = state_at_vote(func, block, before, vote.mask);
        let ways = Ways { func, live, succs: &succs, meter };
        if ways.leave_all(block, meeting, start, &mut left)? {
            votes.insert(block, (meeting, vote.inst));
        }
    }
    for &(_, inst) in votes.values() {
        func.inst_mut(inst).op = Opcode::Any;
    }
    Ok(votes.into_iter().map(|(block, (meeting, _))| (block, meeting)).collect())
}

/// Whether a kernel in SPMD form whose lanes never part has votes that only the whole wave can take.
pub fn some_stay(func: &Function, keep_registers: bool, meter: &Meter) -> Result<bool, Stopped> {
    let count = |func: &Function| {
        let of = |block: &crate::function::BlockData| {
            block.insts.iter().filter(|&&i| func.inst(i).op == Opcode::VoteAny).count()
        };
        func.blocks.iter().map(of).sum::<usize>()
    };
    if count(func) == 0 {
        return Ok(false);
    }
    let live = SlotLiveness::compute(func, keep_registers, meter)?;
    let mut changed = func.clone();
    localize(&mut changed, &live, meter)?;
    Ok(count(&changed) > 0)
}

struct Vote {
    inst: crate::entities::Inst,
    mask: Value,
}

/// The vote that a block consists of, if its branch goes by it.
fn vote_of(func: &Function, block: Block) -> Option<Vote> {
    let Terminator::Branch { cond, taken, next } = func.term(block) else { return None };
    if !(taken.args.is_empty() && next.args.is_empty()) {
        return None;
    }
    let def = |v: Value| match func.values[v.index()].def {
        ValueDef::Inst(inst) => Some(inst),
        ValueDef::Param(..) => None,
    };
    let mut inst = def(*cond)?;
    if func.inst(inst).op == Opcode::Inot {
        inst = def(func.inst(inst).args[0])?;
    }
    let data = func.inst(inst);
    let only = func.block(block).insts.iter().filter(|&&i| func.inst(i).op.is_cross_lane()).count() == 1;
    let quiet = func.block(block).insts.iter().all(|&i| {
        let data = func.inst(i);
        !data.op.has_effect() && data.op != Opcode::Load
    });
    (data.op == Opcode::VoteAny && only && quiet && func.block(block).insts.contains(&inst))
        .then(|| Vote { inst, mask: data.args[0] })
}

/// What is known where the vote is taken, in a lane that is not in the mask: slots that hold the mask or a part of it are false.
fn state_at_vote(func: &Function, block: Block, before: Option<Block>, mask: Value) -> Vec<Abstract> {
    let mut state: Vec<Abstract> =
        (0..func.slots.len()).map(|s| Abstract { same: Some(Slot::new(s)), known: None }).collect();
    let slot_of = |v: Value| match func.def_inst(v).map(|data| (data.op, data.imm)) {
        Some((Opcode::SlotGet, Imm::Slot(slot))) => Some(slot),
        _ => None,
    };
    let Some(voted) = slot_of(mask) else { return state };
    // The vote's own block may have read the slot after writing nothing: blocks with votes write no slots.
    debug_assert!(func.block(block).insts.iter().all(|&i| !func.inst(i).op.has_effect()));
    state[voted.index()].known = Some(false);
    let Some(before) = before else { return state };
    // What the block before has put into slots, in terms of its own values.
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
    let Some(&root) = put.get(&voted).or(read.get(&voted)) else { return state };
    for (slot, &value) in put.iter().chain(&read) {
        if !(read.get(slot) == Some(&value) && put.contains_key(slot)) && implies(func, value, root, 6) {
            state[slot.index()].known = Some(false);
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

/// The ways behind votes.
struct Ways<'a> {
    func: &'a Function,
    live: &'a SlotLiveness,
    succs: &'a [Vec<usize>],
    meter: &'a Meter,
}

impl Ways<'_> {
    /// Whether every way from the vote's sides to `meeting` leaves what is live there as it was, in a lane that starts with `start`. No, too,
    /// where more than `left` blocks would have to be evaluated for that.
    fn leave_all(
        &self,
        vote: Block,
        meeting: Block,
        start: Vec<Abstract>,
        left: &mut usize,
    ) -> Result<bool, Stopped> {
        let wanted = self.live.live_in(meeting);
        let mut states: HashMap<usize, Vec<Abstract>> = HashMap::new();
        let mut work: BTreeSet<usize> = BTreeSet::new();
        let arrives = |state: &[Abstract],
                       to: usize,
                       states: &mut HashMap<usize, Vec<Abstract>>,
                       work: &mut BTreeSet<usize>| {
            if to == meeting.index() {
                return wanted.iter().filter(|s| s.index() < state.len()).all(|s| {
                    let (now, then) = (state[s.index()], start[s.index()]);
                    now.same == Some(s) || (now.known.is_some() && now.known == then.known)
                });
            }
            match states.get_mut(&to) {
                None => {
                    states.insert(to, state.to_vec());
                    work.insert(to);
                }
                Some(old) => {
                    let met: Vec<Abstract> = old.iter().zip(state).map(|(a, b)| a.meet(*b)).collect();
                    if met != *old {
                        *old = met;
                        work.insert(to);
                    }
                }
            }
            true
        };
        for &side in &self.succs[vote.index()] {
            if !arrives(&start, side, &mut states, &mut work) {
                return Ok(false);
            }
        }
        while let Some(at) = work.pop_first() {
            self.meter.step(1)?;
            let Some(rest) = left.checked_sub(1) else { return Ok(false) };
            *left = rest;
            let block = Block::new(at);
            // Lanes stay together and in this program.
            if !matches!(self.func.term(block), Terminator::Jump(_) | Terminator::Branch { .. }) {
                return Ok(false);
            }
            let mut state = states[&at].clone();
            if !run(self.func, block, &mut state) {
                return Ok(false);
            }
            for &next in &self.succs[at] {
                if !arrives(&state, next, &mut states, &mut work) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Evaluates a block for a lane; false if it may do something that a skipped block would not have done.
fn run(func: &Function, block: Block, state: &mut [Abstract]) -> bool {
    let mut values: HashMap<Value, Abstract> = HashMap::new();
    for &inst in &func.block(block).insts {
        let data = func.inst(inst);
        let get = |n: usize| data.args.get(n).and_then(|v| values.get(v)).copied().unwrap_or(Abstract::TOP);
        let result = match (data.op, data.imm) {
            (Opcode::SlotGet, Imm::Slot(slot)) => state[slot.index()],
            (Opcode::SlotSet, Imm::Slot(slot)) => {
                state[slot.index()] = get(0);
                continue;
            }
            (Opcode::Const, Imm::Bits(bits))
                if data.result.is_some_and(|v| func.ty(v).scalar.bits() == 1) =>
            {
                Abstract::known(bits != 0)
            }
            (Opcode::Splat, _) => get(0),
            (Opcode::Iand, _) => logic(get(0), get(1), false),
            (Opcode::Ior, _) => logic(get(0), get(1), true),
            (Opcode::Ixor, _) => match (get(0), get(1)) {
                (a, b) if a.known.is_some() && b.known.is_some() => {
                    Abstract { same: None, known: Some(a.known != b.known) }
                }
                (a, b) if b.known == Some(false) => a,
                (a, b) if a.known == Some(false) => b,
                _ => Abstract::TOP,
            },
            (Opcode::Inot, _) => Abstract { same: None, known: get(0).known.map(|k| !k) },
            (Opcode::Select, _) => match get(0).known {
                Some(true) => get(1),
                Some(false) => get(2),
                None => get(1).meet(get(2)),
            },
            (Opcode::Store, _) if data.args.len() == 3 && get(2).known == Some(false) => continue,
            (Opcode::Atomic, _)
                if data.args.len() > data.atomic_operands()
                    && get(data.atomic_operands()).known == Some(false) =>
            {
                Abstract::TOP
            }
            (op, _) if op.has_effect() => return false,
            // Other votes: whatever they say, this lane is not in them if it is not in their mask; both ways are looked at.
            (Opcode::VoteAny | Opcode::Any, _) => Abstract::TOP,
            (op, _) if op.is_cross_lane() => return false,
            _ => Abstract::TOP,
        };
        if let Some(v) = data.result {
            values.insert(v, result);
        }
    }
    true
}

/// `and` of two values, or `or`; `absorbing` is the truth value that decides alone.
fn logic(a: Abstract, b: Abstract, absorbing: bool) -> Abstract {
    match (a.known, b.known) {
        (Some(k), _) | (_, Some(k)) if k == absorbing => {
            let both = a.known.is_some() && a.same.is_some() && a.known == Some(absorbing);
            Abstract {
                same: if both { a.same } else { b.same.filter(|_| b.known == Some(absorbing)) },
                known: Some(absorbing),
            }
        }
        (Some(_), _) => b,
        (_, Some(_)) => a,
        _ if a.same.is_some() && a.same == b.same => a,
        _ => Abstract::TOP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_function;

    /// How many votes of a program of a divergent loop are taken by chunks. `body` is done in the loop, `after` behind it.
    fn localized(body: &str, after: &str) -> usize {
        let text = format!(
            "function @test spmd lanes 64 {{
                slot s0: mask exec
                slot s1: mask saved
                slot s2: i32 v0
                slot s3: i32 v1
                slot s4: ui32 s0
                slot s5: mask kept
                slot s6: mask none
            block0 pc 0x0:
                v0: mask = slot.get s0
                slot.set s1, v0
                jump block1
            block1 pc 0x4:
                v1: mask = slot.get s0
                v2: i32 = slot.get s2
                v3: i32 = slot.get s3
                {body}
                v6: i32 = iadd v2, v3
                v7: i32 = select v1, v6, v2
                slot.set s2, v7
                v8: mask = icmp ult v7, v3
                v9: mask = iand v1, v8
                slot.set s0, v9
                slot.set s5, v9
                jump block2
            block2 pc 0x8:
                v10: mask = slot.get s5
                v11: ui1 = vote_any v10
                branch v11, block1, block3
            block3 pc 0xc:
                v12: mask = slot.get s1
                slot.set s0, v12
                v13: i32 = slot.get s2
                {after}
                jump block4
            block4 pc 0x10:
                leave.exit -> block4
            }}"
        );
        let mut func = parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let meter = Meter::unlimited();
        let live = SlotLiveness::compute(&func, false, &meter).expect("no limits");
        let stays = some_stay(&func, false, &meter).expect("no limits");
        let count = localize(&mut func, &live, &meter).expect("no limits").len();
        assert_eq!(stays, count == 0, "the program has one vote");
        count
    }

    const STORE: &str = "store.u32 global0[v13 + 0x0], v13 align 4 if v12";

    #[test]
    fn a_loop_that_lanes_leave_one_by_one_is_each_chunks_own() {
        assert_eq!(localized("", STORE), 1);
    }

    #[test]
    fn what_a_wave_does_for_lanes_that_have_left_must_not_show() {
        // A scalar counts iterations, and is used behind the loop.
        let count = "v4: ui32 = slot.get s4\n v5: ui32 = iadd v4, v4\n slot.set s4, v5";
        assert_eq!(localized(count, STORE), 1);
        assert_eq!(
            localized(count, "v14: ui32 = slot.get s4\n store.u32 global0[v13 + 0x0], v14 align 4 if v12"),
            0
        );
        // A register is written in all lanes, a store is not guarded.
        assert_eq!(localized("slot.set s3, v2", STORE), 1);
        assert_eq!(
            localized(
                "slot.set s3, v2",
                "v15: i32 = slot.get s3\n store.u32 global0[v13 + 0x0], v15 align 4"
            ),
            0
        );
        assert_eq!(localized("store.u32 global0[v2 + 0x0], v2 align 4", STORE), 0);
        // A mask without lanes before the vote is one behind it.
        let none = "v20: ui1 = const 0x0\n v21: mask = splat v20\n slot.set s6, v21";
        let used = "v22: mask = slot.get s6\n store.u32 global0[v13 + 0x0], v13 align 4 if v22";
        assert_eq!(localized(none, used), 1);
        assert_eq!(localized("store.u32 global0[v2 + 0x0], v2 align 4 if v1", STORE), 1);
    }
}
