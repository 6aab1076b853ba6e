//! Makes two versions of a region: for lanes that have the guest's mask when they enter, and for lanes that have not.
//!
//! A wave's code computes under EXEC, and what EXEC is when a region starts is not known. For a single lane it is one
//! truth value, so one branch at the start tells it for all that follows: in the first version nearly all selections by
//! EXEC are gone, in the second nearly everything is. A chunk of several lanes takes the second version if none of them has the mask.

use foldhash::{HashMap, HashMapExt, HashSet};
use warpjit_ir_core::analysis::Cfg;
use warpjit_ir_core::entities::{Block, Inst, Slot, Value};
use warpjit_ir_core::function::{BlockCall, Form, Function, Imm, Terminator};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::Scalar;

use super::one_lane::{self, BlockExit};

/// Uses of the mask from which on two versions are made.
const FEWEST_USES: usize = 6;

/// Most instructions of a region with two versions.
const MOST_INSTS: usize = 12_000;

/// Makes the versions if that pays. The function is in mask form, and right for a chunk of a single lane only.
pub fn run(func: &mut Function) -> bool {
    let size: usize = func.blocks.iter().map(|b| b.insts.len()).sum();
    if func.form != Form::Mask || size > MOST_INSTS {
        return false;
    }
    let mask = match func.lane_mask {
        Some(_) => working_mask(func),
        None => entry_mask(func, |_| true),
    };
    // The lane is active, in both versions.
    let changed = one_lane::activate(func);
    mask.is_some_and(|mask| part_by(func, mask, true).is_some()) || changed
}

/// The same for chunks of several lanes: those of which no lane has the wave's mask.
pub fn skip_empty(func: &mut Function) -> bool {
    let size: usize = func.blocks.iter().map(|b| b.insts.len()).sum();
    if func.form != Form::Mask || size > MOST_INSTS || func.lane_mask.is_none() {
        return false;
    }
    let Some(mask) = entry_mask(func, |slot| slot == func.lane_mask) else { return false };
    let Some(copies) = part_by(func, mask, false) else { return false };
    // What is known there, and nowhere else.
    let first = copies[0];
    let pc = func.block(first).pc;
    let none = func.make_inst(Opcode::Const, &[], Imm::Bits(0), Some(func.ty(mask)), pc);
    func.block_mut(first).insts.insert(0, none);
    let Some(none) = func.inst(none).result else { return false };
    for block in copies {
        for inst in func.block(block).insts.clone() {
            func.inst_mut(inst).args.iter_mut().filter(|arg| **arg == mask).for_each(|arg| *arg = none);
        }
        if let Some(term) = &mut func.block_mut(block).term {
            term.map_uses(|v| if v == mask { none } else { v });
        }
    }
    true
}

/// Parts a function by a mask at its start. The blocks of the version for lanes without it, the first one first. With one lane, it has only
/// the blocks that such a lane comes to.
fn part_by(func: &mut Function, mask: Value, one_lane: bool) -> Option<Vec<Block>> {
    let cfg = Cfg::new(func);
    let entry = func.entry;
    if !cfg.preds[entry.index()].is_empty() {
        return None;
    }
    // What the mask is made of comes first, all else in its block goes into one of its own.
    let (first, rest) = part(func, mask)?;
    func.block_mut(entry).insts = first;
    let (pc, term_pc) = (func.block(entry).pc, func.block(entry).term_pc);
    let with = func.add_block(pc);
    let term = func.block_mut(entry).term.take();
    let data = func.block_mut(with);
    (data.insts, data.term, data.term_pc) = (rest, term, term_pc);

    let call = |block| BlockCall { block, args: Vec::new() };
    func.block_mut(entry).term = Some(Terminator::Jump(call(with)));
    let exits = match one_lane {
        true => one_lane::exits_if(func, mask, false),
        false => vec![BlockExit::Either; func.blocks.len()],
    };
    let old = std::iter::once(with).chain(cfg.rpo.into_iter().filter(|&b| b != entry));
    let old: Vec<Block> = old.filter(|block| exits[block.index()] != BlockExit::Unreached).collect();
    let copies = copy(func, &old, &exits);
    let without = copies[&with];
    func.block_mut(entry).term = Some(Terminator::BrAny { mask, taken: call(with), next: call(without) });
    Some(old.iter().map(|block| copies[block]).collect())
}

/// The mask of lanes that is read when the region starts, from such a slot, and used most often.
fn entry_mask(func: &Function, is_it: impl Fn(Option<Slot>) -> bool) -> Option<Value> {
    let mut uses: HashMap<Value, usize> = HashMap::new();
    for &inst in &func.block(func.entry).insts {
        let data = func.inst(inst);
        let (Opcode::SlotGet | Opcode::LaneBit, Some(r)) = (data.op, data.result) else { continue };
        let slot = if let Imm::Slot(slot) = data.imm { Some(slot) } else { None };
        if func.ty(r).scalar == Scalar::I1 && !func.ty(r).uniform && is_it(slot) {
            uses.insert(r, 0);
        }
    }
    let mut count = |v: Value| {
        if let Some(uses) = uses.get_mut(&v) {
            *uses += 1;
        }
    };
    for block in &func.blocks {
        block.insts.iter().for_each(|&i| func.inst(i).args.iter().for_each(|&v| count(v)));
        if let Some(term) = &block.term {
            term.for_each_use(&mut count);
        }
    }
    let most = uses.into_iter().max_by_key(|&(v, uses)| (uses, std::cmp::Reverse(v)))?;
    (most.1 >= FEWEST_USES).then_some(most.0)
}

/// The mask of a wave under which most is done that is no mask itself: one that is read when the region starts, or made of such.
fn working_mask(func: &Function) -> Option<Value> {
    let mut works: HashMap<Value, usize> = HashMap::new();
    for &inst in &func.block(func.entry).insts {
        let data = func.inst(inst);
        let Some(r) = data.result.filter(|&r| is_mask(func, r)) else { continue };
        let made = matches!(data.op, Opcode::Iand | Opcode::Ior | Opcode::Ixor | Opcode::Inot);
        let of = |known: &HashMap<Value, usize>| data.args.iter().all(|arg| known.contains_key(arg));
        if data.op == Opcode::SlotGet || made && of(&works) {
            works.insert(r, 0);
        }
    }
    // What is done under a part of a mask is done under the mask. Uses come behind definitions, but around loops.
    let mut under: HashMap<Value, usize> = HashMap::new();
    let cfg = Cfg::new(func);
    for &block in cfg.rpo.iter().rev() {
        if let Some(term) = &func.block(block).term {
            term.for_each_use(|v| {
                if is_mask(func, v) && !matches!(term, Terminator::Return { .. }) {
                    *under.entry(v).or_default() += 1;
                }
            });
        }
        for &inst in func.block(block).insts.iter().rev() {
            let data = func.inst(inst);
            let own = data.result.and_then(|r| under.get(&r)).copied().unwrap_or_default();
            let is_mask = |v: Value| is_mask(func, v);
            let weight = match data.op {
                Opcode::Iand if data.result.is_some_and(is_mask) => own,
                Opcode::Any => own,
                Opcode::Ior | Opcode::Ixor | Opcode::Inot => 0,
                Opcode::Select if data.result.is_some_and(is_mask) => 0,
                // A mask that is set.
                Opcode::SlotSet if data.args.len() == 1 => 0,
                _ => 1,
            };
            for &arg in data.args.iter().filter(|&&arg| weight > 0 && is_mask(arg)) {
                let sum = under.entry(arg).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
    }
    for (mask, works) in &mut works {
        *works = under.get(mask).copied().unwrap_or_default();
    }
    let most = works.into_iter().max_by_key(|&(v, works)| (works, std::cmp::Reverse(v)))?;
    (most.1 > 0).then_some(most.0)
}

fn is_mask(func: &Function, v: Value) -> bool {
    func.ty(v).scalar == Scalar::I1 && !func.ty(v).uniform
}

/// The instructions of the entry block that a value is made of, and the others. `None` if they cannot come first.
fn part(func: &Function, value: Value) -> Option<(Vec<Inst>, Vec<Inst>)> {
    let insts = &func.block(func.entry).insts;
    let mut needed = HashSet::from_iter([value]);
    let mut is_needed = vec![false; insts.len()];
    for (n, &inst) in insts.iter().enumerate().rev() {
        let data = func.inst(inst);
        if !data.result.is_some_and(|r| needed.contains(&r)) {
            continue;
        }
        if data.op != Opcode::SlotGet && !data.op.is_pure() {
            return None;
        }
        is_needed[n] = true;
        needed.extend(&data.args);
    }
    let last = is_needed.iter().rposition(|&needed| needed)?;
    if insts[..last].iter().any(|&inst| func.inst(inst).op == Opcode::SlotSet) {
        return None;
    }
    let of = |which: bool| {
        let both = insts.iter().zip(&is_needed);
        both.filter(|&(_, &needed)| needed == which).map(|(&inst, _)| inst).collect()
    };
    Some((of(true), of(false)))
}

/// Copies blocks, which are left as `exits` says; jumps between them lead to copies.
fn copy(func: &mut Function, blocks: &[Block], exits: &[BlockExit]) -> HashMap<Block, Block> {
    let mut copies = HashMap::new();
    let mut values: HashMap<Value, Value> = HashMap::new();
    let mut made = Vec::new();
    for &block in blocks {
        let data = func.block(block).clone();
        let copy = func.add_block(data.pc);
        copies.insert(block, copy);
        for &param in &data.params {
            let ty = func.ty(param);
            values.insert(param, func.add_param(copy, ty));
        }
        for &inst in &data.insts {
            let old = func.inst(inst).clone();
            let ty = old.result.map(|r| func.ty(r));
            let new = func.make_inst(old.op, &old.args, old.imm, ty, old.pc);
            func.block_mut(copy).insts.push(new);
            if let (Some(from), Some(to)) = (old.result, func.inst(new).result) {
                values.insert(from, to);
            }
            made.push(new);
        }
        let term = match (data.term, exits[block.index()]) {
            (
                Some(Terminator::BrIf { taken, next, .. } | Terminator::BrAny { taken, next, .. }),
                BlockExit::Decided(known),
            ) => Some(Terminator::Jump(if known { taken } else { next })),
            (term, _) => term,
        };
        let to = func.block_mut(copy);
        (to.term, to.term_pc, to.guest_insts) = (term, data.term_pc, data.guest_insts);
        (to.counted, to.lane_counts) = (data.counted, data.lane_counts);
    }
    let new = |v: Value| *values.get(&v).unwrap_or(&v);
    for inst in made {
        func.inst_mut(inst).args.iter_mut().for_each(|a| *a = new(*a));
    }
    for copy in copies.values() {
        if let Some(term) = &mut func.block_mut(*copy).term {
            term.map_uses(new);
            term.map_blocks(|b| *copies.get(&b).unwrap_or(&b));
        }
    }
    copies
}

/// Removes stores of slots that change nothing: to lanes that have not the mask, and of what the slot held.
pub fn drop_unchanged(func: &mut Function) -> bool {
    // Slots that are written where the region ends only hold what they held until then.
    let mut kept: HashMap<Slot, bool> = HashMap::new();
    for block in &func.blocks {
        let ends = matches!(block.term, Some(Terminator::Return { .. }));
        let mut here = Vec::new();
        for &inst in &block.insts {
            if let (Opcode::SlotSet, Imm::Slot(slot)) = (func.inst(inst).op, func.inst(inst).imm) {
                *kept.entry(slot).or_insert(true) &= ends && !here.contains(&slot);
                here.push(slot);
            }
        }
    }
    let is_vain = |func: &Function, inst| {
        let data = func.inst(inst);
        let (Opcode::SlotSet, Imm::Slot(slot)) = (data.op, data.imm) else { return false };
        if func.slots[slot.index()].ty.uniform {
            // Written by the last chunk for all.
            return false;
        }
        let never = data.args.get(1).is_some_and(|&g| func.as_const(g).is_some_and(|bits| bits & 1 == 0));
        let held = |v: Value| {
            let source = func.def_inst(v);
            source.is_some_and(|of| of.op == Opcode::SlotGet && of.imm == Imm::Slot(slot))
        };
        never || kept[&slot] && data.args.first().is_some_and(|&v| held(v))
    };
    let mut changed = false;
    for block in func.block_ids() {
        let insts = std::mem::take(&mut func.block_mut(block).insts);
        let before = insts.len();
        let left: Vec<_> = insts.into_iter().filter(|&inst| !is_vain(func, inst)).collect();
        changed |= left.len() != before;
        func.block_mut(block).insts = left;
    }
    changed
}
