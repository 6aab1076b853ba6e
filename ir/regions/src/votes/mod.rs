//! Finds votes of a wave that each chunk of lanes may take by itself.
//!
//! Compilers put `branch if no lane is left` around divergent code (`s_cbranch_execz`), and loops run until no lane is left
//! (`s_cbranch_execnz`). Such a branch is uniform over the wave, so a region would end there: only the driver sees all lanes. But
//! mostly the branch only saves work: with an empty mask, the code that it skips has no effect. Then each chunk may branch by its
//! own lanes, and the whole loop becomes part of a region.
//!
//! That is allowed if, for a lane outside the mask, every path from the vote to its post-dominator leaves all that is live there
//! unchanged. The proof evaluates the blocks between for such a lane (`paths.rs`). It knows of each value (`fact.rs`) that it is the
//! same as at the vote, or a number. A value that does change may still be harmless, if nothing reads it in that lane
//! (`unseen.rs`).
//!
//! Any other such branch is left to the exit of the region ([`at_exits`]): its condition is the mask, which has the bits of all chunks when
//! the last one has run, and the driver branches by it.

mod fact;
mod paths;
mod unseen;

use std::collections::BTreeMap;

use self::paths::{Paths, state_at_vote, uniform_numbers};
use super::liveness::SlotLiveness;
use foldhash::HashMap;
use warpjit_ir_core::entities::{Block, Slot, Value};
use warpjit_ir_core::function::{Function, Terminator, ValueDef};
use warpjit_ir_core::graph;
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::opcodes::Opcode;

/// A vote that chunks may be able to take by themselves.
struct Candidate {
    inst: warpjit_ir_core::entities::Inst,
    /// The post-dominator of its branch.
    meeting: Block,
    /// What the paths to it change in a lane outside the mask.
    changes: Vec<Change>,
}

/// A slot whose value may differ from its value at the vote.
struct Change {
    slot: Slot,
    /// Its new value, if it is always either this number or unchanged.
    now: Option<u64>,
}

/// Limit on the blocks evaluated after all votes together: `LOOKS` times the number of blocks, plus `MORE_LOOKS`. That
/// suffices for votes nested a hundred deep. Outer votes of deeper code stay with the driver.
const LOOKS: usize = 64;
const MORE_LOOKS: usize = 1 << 12;

/// Rewrites the votes that chunks can take by themselves from `vote_any` to `any`, in a kernel in SPMD form whose lanes
/// never diverge. Returns each block with such a vote, with the post-dominator of its branch.
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
            // After an unconditional leave nothing follows.
            if !matches!(func.term(b), Terminator::Leave { cond: None, .. }) {
                func.term(b).for_each_successor(|s| list.push(s.index()));
            }
            list
        })
        .collect();
    let post = graph::post_dominators(&succs);
    let preds = graph::predecessors(&succs);
    let mut values = fact::BlockFacts::new(func);
    meter.hold(values.bytes())?;
    let numbers = uniform_numbers(func, &succs, &mut values, meter)?;
    let mut votes = BTreeMap::new();
    let mut left = LOOKS * func.blocks.len() + MORE_LOOKS;
    // Inner votes come after outer ones and are visited first.
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
        let start = state_at_vote(func, block, before, vote.mask, &numbers[block.index()]);
        let paths = Paths { func, live, succs: &succs, meter };
        if let Some(changes) = paths.changes(block, meeting, start, &mut values, &mut left)? {
            votes.insert(block, Candidate { inst: vote.inst, meeting, changes });
        }
    }
    meter.release(values.bytes());
    unseen::keep_unseen(func, live, &mut votes, meter)?;
    for vote in votes.values() {
        func.inst_mut(vote.inst).op = Opcode::Any;
    }
    Ok(votes.into_iter().map(|(block, vote)| (block, vote.meeting)).collect())
}

/// Whether a kernel in SPMD form whose lanes never diverge has votes that only the whole wave can take.
pub fn some_stay(func: &Function, keep_registers: bool, meter: &Meter) -> Result<bool, Stopped> {
    let count = |func: &Function| {
        let of = |block: &warpjit_ir_core::function::BlockData| {
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

/// The votes that a region can leave to its exit: blocks whose branch is taken if any lane of the warp is in a mask, each with that mask.
/// The region ends with the mask as the condition of the branch, and whoever continues the warp sees all its lanes.
pub fn at_exits(func: &Function) -> HashMap<Block, Value> {
    let direct = |block: Block| {
        let vote = vote_of(func, block)?;
        let Terminator::Branch { cond, .. } = func.term(block) else { return None };
        let is_used = |i: warpjit_ir_core::entities::Inst| func.inst(i).args.contains(cond);
        let branch_alone = !func.block(block).insts.iter().any(|&i| is_used(i));
        (func.inst(vote.inst).result == Some(*cond) && branch_alone).then_some((block, vote.mask))
    };
    func.block_ids().filter_map(direct).collect()
}

/// Rewrites the votes of these blocks, of which regions use nothing but the mask, so that no cross-lane operation is left there.
pub fn leave_to_exits<'b>(func: &mut Function, blocks: impl Iterator<Item = &'b Block>) {
    for &block in blocks {
        for inst in func.block(block).insts.clone() {
            if func.inst(inst).op == Opcode::VoteAny {
                func.inst_mut(inst).op = Opcode::Any;
            }
        }
    }
}

struct Vote {
    inst: warpjit_ir_core::entities::Inst,
    mask: Value,
}

/// The vote of a block whose branch depends on it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use warpjit_ir_core::text::parse_function;

    /// How many votes of a program of a divergent loop are taken by chunks. `body` is done in the loop, `after` behind it.
    fn localized(body: &str, after: &str) -> usize {
        let text = format!(
            "function @test spmd lanes 64 {{
                slot s0: mask exec lane_mask
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
        // A load may fault in lanes that have left, whether its value is used or not; one that is off there does not.
        assert_eq!(localized("v23: i32 = load.u32 global0[v2 + 0x0] align 4", STORE), 0);
        assert_eq!(localized("v23: i32 = load.u32 global0[v2 + 0x0] align 4 if v1", STORE), 1);
        assert_eq!(localized("v23: i32 = load.u32 shared[v2 + 0x0] align 4", STORE), 1);
        // A mask without lanes before the vote is one behind it.
        let none = "v20: ui1 = const 0x0\n v21: mask = splat v20\n slot.set s6, v21";
        let used = "v22: mask = slot.get s6\n store.u32 global0[v13 + 0x0], v13 align 4 if v22";
        assert_eq!(localized(none, used), 1);
        assert_eq!(localized("store.u32 global0[v2 + 0x0], v2 align 4 if v1", STORE), 1);
    }

    /// A program that adds to a register in lanes, and to a scalar once, if any lane of a mask is left; `after` is done with the vote.
    fn voting(after: &str) -> Function {
        let text = format!(
            "function @test spmd lanes 64 {{
                slot s0: mask exec lane_mask
                slot s1: i32 v0
                slot s2: ui32 s0
            block0 pc 0x0:
                v0: mask = slot.get s0
                v1: i32 = slot.get s1
                v2: i32 = iadd v1, v1
                v3: i32 = select v0, v2, v1
                slot.set s1, v3
                jump block1
            block1 pc 0x4:
                v4: mask = slot.get s0
                v5: ui1 = vote_any v4
                {after}
                branch v5, block2, block3
            block2 pc 0x8:
                v6: ui32 = slot.get s2
                v7: ui32 = iadd v6, v6
                slot.set s2, v7
                jump block3
            block3 pc 0xc:
                v8: i32 = slot.get s1
                v9: ui32 = slot.get s2
                store.u32 global0[v8 + 0x0], v9 align 4
                leave.exit -> block3
            }}"
        );
        parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn a_vote_that_all_lanes_take_is_the_exits() {
        use crate::{Kernel, RegionOptions, SlotFacts};
        use warpjit_ir_core::exit::ExitKind;
        let exits = |after: &str, at: usize| {
            let kernel = Kernel::new(voting(after), RegionOptions::default());
            let region = kernel.region(Block::new(at), &SlotFacts::none(kernel.func.slots.len()))?;
            warpjit_ir_core::verify::verify(&region.mask).expect("valid mask form");
            assert!(!region.mask.to_string().contains("vote_any"), "{}", region.mask);
            // The condition of the exit is EXEC, and is not the same in all lanes.
            let conds = region.mask.blocks.iter().filter_map(|block| match &block.term {
                Some(Terminator::Return { cond: Some(cond), .. }) => Some(region.mask.ty(*cond).uniform),
                _ => None,
            });
            Some((region.exits.clone(), conds.collect::<Vec<_>>(), region.blocks.len()))
        };
        let vote = vec![ExitKind::Ended, ExitKind::Terminator(Block(1))];
        assert_eq!(exits("", 0), Some((vote.clone(), vec![false], 2)));
        // Where the vote stands at the start, too.
        assert_eq!(exits("", 1), Some((vote, vec![false], 1)));
        // A number that is made of it needs all lanes, so the interpreter takes it.
        let kept = "v20: ui32 = const 0x1\n v21: ui32 = const 0x0\n v22: ui32 = select v5, v20, v21\n slot.set s2, v22";
        let enter = vec![ExitKind::Ended, ExitKind::Enter(Block(1))];
        assert_eq!(exits(kept, 0), Some((enter, vec![], 1)));
        assert_eq!(exits(kept, 1), None);
    }

    /// Whether chunks take the vote of a program that does `inside` in lanes with `v0 < v1` only, and `after` in all.
    /// It has a mask that is kept (s4), one that is always there (s5), the lanes that are taken along (s6) and a scalar
    /// that is 5 before (s7).
    fn is_own(before: &str, inside: &str, after: &str) -> bool {
        let text = format!(
            "function @test spmd lanes 64 {{
                slot s0: mask exec lane_mask
                slot s1: mask saved
                slot s2: i32 v0
                slot s3: i32 v1
                slot s4: mask kept
                slot s5: mask always
                slot s6: mask taken
                slot s7: ui32 mode
            block0 pc 0x0:
                v0: ui1 = const 0x1
                v1: mask = splat v0
                slot.set s0, v1
                v2: ui32 = const 0x5
                slot.set s7, v2
                jump block1
            block1 pc 0x4:
                v3: mask = slot.get s0
                v4: i32 = slot.get s2
                v5: i32 = slot.get s3
                v6: mask = icmp ult v4, v5
                v7: mask = iand v3, v6
                slot.set s1, v3
                slot.set s0, v7
                slot.set s6, v7
                {before}
                jump block2
            block2 pc 0x8:
                v8: mask = slot.get s0
                v9: ui1 = vote_any v8
                branch v9, block3, block4
            block3 pc 0xc:
                v10: mask = slot.get s0
                v11: i32 = slot.get s2
                v12: i32 = slot.get s3
                v13: mask = icmp ult v11, v12
                v14: ui32 = const 0x7
                v15: ui32 = const 0x5
                {inside}
                jump block4
            block4 pc 0x10:
                v16: mask = slot.get s1
                slot.set s0, v16
                v17: i32 = slot.get s2
                {after}
                jump block5
            block5 pc 0x14:
                leave.exit -> block5
            }}"
        );
        let mut func = parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let meter = Meter::unlimited();
        let live = SlotLiveness::compute(&func, false, &meter).expect("no limits");
        !localize(&mut func, &live, &meter).expect("no limits").is_empty()
    }

    #[test]
    fn masks_may_hold_anything_for_lanes_that_nobody_asks_for() {
        let anything = "slot.set s4, v13";
        let store = |guard: &str| format!("store.u32 global0[v17 + 0x0], v17 align 4 if {guard}");
        // Asked for where the lane was taken along, or for all that are in EXEC now.
        let taken = "v30: mask = slot.get s4\n v31: mask = slot.get s6\n v32: mask = iand v30, v31\n";
        assert!(is_own("", anything, &format!("{taken} {}", store("v32"))));
        let any = "v30: mask = slot.get s4\n v31: mask = iand v30, v16\n";
        assert!(!is_own("", anything, &format!("{any} {}", store("v31"))));
        // As a value to be stored, as an address, in a register, by other lanes, by a branch.
        let stored = "v30: mask = slot.get s4\n v31: i32 = bmask v30\n";
        assert!(!is_own("", anything, &format!("{stored} store.u32 global0[v17 + 0x0], v31 align 4 if v16")));
        assert!(!is_own("", anything, &format!("{stored} store.u32 global0[v31 + 0x0], v17 align 4 if v16")));
        let votes = "v30: mask = slot.get s4\n v31: ui64 = ballot v30\n v32: ui32 = trunc v31\n";
        let voted = format!("{votes} store.u32 global0[v17 + 0x0], v32 align 4 if v16");
        assert!(!is_own("", anything, &voted));
        // Written again before, in all lanes that are asked for.
        let again = "v30: mask = slot.get s4\n v31: mask = inot v16\n v32: mask = iand v30, v31\n v33: mask = ior v32, v16\n";
        assert!(is_own("", anything, &format!("{again} {}", store("v33"))));
    }

    #[test]
    fn what_is_put_back_is_not_changed() {
        let stored = "v30: ui32 = slot.get s7\n store.u32 global0[v17 + 0x0], v30 align 4 if v16";
        assert!(is_own("", "slot.set s7, v14\n slot.set s7, v15", stored));
        assert!(!is_own("", "slot.set s7, v14", stored));
        // There is one scalar for all lanes, whatever they do with it.
        let masked = "v30: ui32 = slot.get s7\n v31: mask = slot.get s6\n store.u32 global0[v17 + 0x0], v30 align 4 if v31";
        assert!(!is_own("", "slot.set s7, v14", masked));
        // A copy, and what is left of it in lanes that are not taken along.
        let copy = "v20: mask = slot.get s5\n slot.set s4, v20";
        let part = "v21: mask = slot.get s5\n v22: mask = inot v10\n v23: mask = iand v21, v22\n v24: mask = iand v13, v10\n\
                    v25: mask = ior v23, v24\n slot.set s4, v25";
        let asked = "v30: mask = slot.get s4\n store.u32 global0[v17 + 0x0], v17 align 4 if v30";
        assert!(is_own(copy, part, asked));
        assert!(!is_own("", part, asked));
    }
}
