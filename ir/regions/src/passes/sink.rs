//! Moves pure operations out of a loop if only blocks use them that are outside all loops and return: the value is computed once,
//! at the exit, and not in every iteration.
//!
//! Example: a region that counts steps for `max_steps` may exit at the head of a loop, and there stores every register that the
//! loop reads anywhere, even those of intermediate results.

use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::analysis::{Cfg, Dominators, Loops};
use warpjit_ir_core::entities::{Block, Inst, Value};
use warpjit_ir_core::function::{Form, Function, Terminator};

/// Most blocks that get a copy of one operation.
const MOST_BLOCKS: usize = 4;

/// Most operations that the pass may add to a function.
const MOST_COPIES: usize = 400;

/// Runs the pass, on mask form only.
pub fn run(func: &mut Function) -> bool {
    if func.form != Form::Mask {
        return false;
    }
    let cfg = Cfg::new(func);
    let dom = Dominators::of(&cfg);
    let loops = Loops::new(&cfg, &dom);
    if loops.loops.is_empty() {
        return false;
    }
    let returns =
        |func: &Function, block: Block| matches!(func.block(block).term, Some(Terminator::Return { .. }));
    let mut users = users(func);
    let (mut changed, mut copies) = (false, 0);
    // Visit users before the values they use.
    for &block in cfg.rpo.iter().rev() {
        if loops.innermost[block.index()].is_none() {
            continue;
        }
        let insts = func.block(block).insts.clone();
        let mut gone: Vec<Inst> = Vec::new();
        for &inst in insts.iter().rev() {
            let data = func.inst(inst);
            let Some(result) = data.result.filter(|_| data.op.is_pure()) else { continue };
            let Some(blocks) = users.get(&result).filter(|blocks| blocks.len() <= MOST_BLOCKS) else {
                continue;
            };
            let outside = |b: &Block| loops.innermost[b.index()].is_none() && returns(func, *b);
            if !blocks.iter().all(outside) || copies + blocks.len() > MOST_COPIES {
                continue;
            }
            let blocks = blocks.clone();
            copies += blocks.len();
            for &arg in &func.inst(inst).args {
                let of = users.entry(arg).or_default();
                of.retain(|b| *b != block || uses_besides(func, block, arg, &gone, inst));
                blocks.iter().for_each(|p| {
                    if !of.contains(p) {
                        of.push(*p)
                    }
                });
            }
            gone.push(inst);
            for &target in &blocks {
                copy_to(func, inst, target);
            }
            changed = true;
        }
        func.block_mut(block).insts.retain(|inst| !gone.contains(inst));
    }
    changed
}

/// The blocks that use each value.
fn users(func: &Function) -> HashMap<Value, Vec<Block>> {
    let mut users: HashMap<Value, Vec<Block>> = HashMap::new();
    for block in func.block_ids() {
        let mut note = |v: Value| {
            let of = users.entry(v).or_default();
            if of.last() != Some(&block) {
                of.push(block);
            }
        };
        for &inst in &func.block(block).insts {
            func.inst(inst).args.iter().copied().for_each(&mut note);
        }
        if let Some(term) = &func.block(block).term {
            term.for_each_use(note);
        }
    }
    users
}

/// Whether a block still uses a value, apart from the instructions that are moved out (`gone`, `leaving`).
fn uses_besides(func: &Function, block: Block, value: Value, gone: &[Inst], leaving: Inst) -> bool {
    let data = func.block(block);
    let stays = |inst: &&Inst| **inst != leaving && !gone.contains(inst);
    let mut used = data.insts.iter().filter(stays).any(|&inst| func.inst(inst).args.contains(&value));
    if let Some(term) = &data.term {
        term.for_each_use(|v| used |= v == value);
    }
    used
}

/// Puts a copy of an instruction at the start of a block and makes the block use the copy's result.
fn copy_to(func: &mut Function, inst: Inst, target: Block) {
    let data = func.inst(inst).clone();
    let Some(old) = data.result else { return };
    let ty = func.ty(old);
    let copy = func.make_inst(data.op, &data.args, data.imm, Some(ty), data.pc);
    let Some(new) = func.inst(copy).result else { return };
    let map = |v: Value| if v == old { new } else { v };
    for other in func.block(target).insts.clone() {
        func.inst_mut(other).args.iter_mut().for_each(|a| *a = map(*a));
    }
    let block = func.block_mut(target);
    block.insts.insert(0, copy);
    if let Some(term) = &mut block.term {
        term.map_uses(map);
    }
}
