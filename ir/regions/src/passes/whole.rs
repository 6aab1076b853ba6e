//! Versions code for a full mask: copies the blocks under a mask, behind a test that all lanes of the chunk have it.
//!
//! Mostly all lanes of a chunk take the same side of a branch. In the copy the mask, and every mask that it is a conjunction of,
//! is the constant true: accesses need no guard, selects choose nothing, and nested conditions are not restricted. Copied are the
//! blocks that the target of a `br_any` dominates, if the branch is not in a loop and at least two accesses to global memory
//! under a mask gain from it.

use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::analysis::{Cfg, Dominators};
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{BlockCall, Form, Function, Imm, InstData, Terminator};
use warpjit_ir_core::graph::on_cycle;
use warpjit_ir_core::opcodes::{Opcode, Space};
use warpjit_ir_core::passes::rewrite::values_cross_blocks;
use warpjit_ir_core::types::{Scalar, Type};

/// Fewest masked accesses that make a version worthwhile.
const FEWEST: usize = 2;
/// Most instructions of a version.
const MOST: usize = 200;
/// Most instructions of all versions of a function.
const MOST_IN_ALL: usize = 400;

/// Runs the pass. In SPMD form it does nothing: there, masks are not values.
pub fn run(func: &mut Function) -> bool {
    if func.form == Form::Spmd || !values_cross_blocks(func) {
        return false;
    }
    // Blocks whose branch has been versioned, or is not to be.
    let mut done = vec![false; func.blocks.len()];
    let mut left = MOST_IN_ALL;
    let mut changed = false;
    while let Some((from, blocks, size)) = next(func, &mut done) {
        if size > left {
            continue;
        }
        left -= size;
        changed = true;
        make(func, from, &blocks);
        done.resize(func.blocks.len(), false);
        blocks.iter().for_each(|b| done[b.index()] = true);
        // The block that now holds the old branch was made before the copies.
        done[func.blocks.len() - blocks.len() - 1] = true;
    }
    changed
}

/// The next block whose branch is worth a version; the blocks to be copied, the branch's target first, and their instructions.
fn next(func: &Function, done: &mut [bool]) -> Option<(Block, Vec<Block>, usize)> {
    let cfg = Cfg::new(func);
    let dominators = Dominators::of(&cfg);
    let succs: Vec<Vec<usize>> = cfg.succs.iter().map(|s| s.iter().map(|b| b.index()).collect()).collect();
    let in_loop = on_cycle(&succs);
    for &from in &cfg.rpo {
        if std::mem::replace(&mut done[from.index()], true) {
            continue;
        }
        let Terminator::BrAny { mask, taken, next } = func.term(from) else { continue };
        let own =
            taken.block != from && taken.block != next.block && cfg.preds[taken.block.index()] == [from];
        // In a loop the lanes diverge sooner or later.
        if !own || in_loop[from.index()] || func.ty(*mask).uniform || func.as_const(*mask).is_some() {
            continue;
        }
        let mut blocks = vec![taken.block];
        let inside = |b: &Block| *b != taken.block && dominators.dominates(taken.block, *b);
        blocks.extend(cfg.rpo.iter().copied().filter(inside));
        let insts = || blocks.iter().flat_map(|&b| &func.block(b).insts);
        let size = insts().count();
        let accesses = insts().filter(|&&i| is_masked_access(func, func.inst(i))).count();
        if size <= MOST && accesses >= FEWEST {
            return Some((from, blocks, size));
        }
    }
    None
}

/// Whether lanes access global memory under a mask.
fn is_masked_access(func: &Function, data: &InstData) -> bool {
    let guard = match data.op {
        Opcode::Load => 1,
        Opcode::Store => 2,
        _ => return false,
    };
    let Imm::Mem(mem) = data.imm else { return false };
    let guarded = data.args.get(guard).is_some_and(|&g| func.as_const(g).is_none());
    matches!(mem.space, Space::Global(_)) && guarded && !func.ty(data.args[0]).uniform
}

/// Makes the version.
fn make(func: &mut Function, from: Block, blocks: &[Block]) {
    let Some(old @ Terminator::BrAny { .. }) = func.block_mut(from).term.take() else { return };
    let Terminator::BrAny { mask, ref taken, .. } = old else { return };
    let (pc, taken) = (func.block(from).term_pc, taken.clone());
    // The test counts lanes that have not entered as lacking the mask. So in the version all lanes have entered.
    let mut push = |op, args: &[Value]| {
        let inst = func.make_inst(op, args, Imm::None, Some(Type::MASK), pc);
        func.block_mut(from).insts.push(inst);
        Value::new(func.values.len() - 1)
    };
    let active = push(Opcode::ActiveMask, &[]);
    let both = push(Opcode::Iand, &[active, mask]);
    let lacking = push(Opcode::Inot, &[both]);
    let aside = func.add_block(pc);
    (func.block_mut(aside).term, func.block_mut(aside).term_pc) = (Some(old), pc);

    let copies: HashMap<Block, Block> = blocks.iter().map(|&b| (b, copy_head(func, b))).collect();
    let first = copies[&taken.block];
    let truth = func.make_inst(Opcode::Const, &[], Imm::Bits(1), Some(Type::uniform(Scalar::I1)), pc);
    func.block_mut(first).insts.push(truth);
    let truth = Value::new(func.values.len() - 1);
    let mut values: HashMap<Value, Value> = HashMap::new();
    let mut true_ones = vec![mask];
    while let Some(v) = true_ones.pop() {
        if values.insert(v, truth).is_none()
            && let Some(InstData { op: Opcode::Iand, args, .. }) = func.def_inst(v)
        {
            true_ones.extend(args);
        }
    }
    for &b in blocks {
        let (copy, data) = (copies[&b], func.block(b).clone());
        for (&old, &new) in data.params.iter().zip(&func.block(copy).params.clone()) {
            values.insert(old, new);
        }
    }
    // Copy in the order of dominance, so that operands are copied before their uses; parameters were copied above.
    for &b in blocks {
        let (copy, data) = (copies[&b], func.block(b).clone());
        for inst in data.insts {
            let old = func.inst(inst).clone();
            let args: Vec<Value> = old.args.iter().map(|a| *values.get(a).unwrap_or(a)).collect();
            let ty = old.result.map(|r| func.ty(r));
            let new = func.make_inst(old.op, &args, old.imm, ty, old.pc);
            func.block_mut(copy).insts.push(new);
            if let Some(result) = old.result {
                values.entry(result).or_insert(Value::new(func.values.len() - 1));
            }
        }
        let Some(mut term) = data.term else { continue };
        term.map_uses(|v| *values.get(&v).unwrap_or(&v));
        term.map_blocks(|b| *copies.get(&b).unwrap_or(&b));
        func.block_mut(copy).term = Some(term);
    }
    let aside = BlockCall { block: aside, args: Vec::new() };
    let whole = BlockCall { block: first, args: taken.args };
    func.block_mut(from).term = Some(Terminator::BrAny { mask: lacking, taken: aside, next: whole });
}

/// A block like another, without instructions.
fn copy_head(func: &mut Function, block: Block) -> Block {
    let data = func.block(block).clone();
    let copy = func.add_block(data.pc);
    for param in data.params {
        let ty = func.ty(param);
        func.add_param(copy, ty);
    }
    let made = func.block_mut(copy);
    (made.guest_insts, made.term_pc) = (data.guest_insts, data.term_pc);
    copy
}
