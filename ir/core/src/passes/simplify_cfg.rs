//! Simplifies control flow: branches on constants, jumps to jumps, blocks with a single predecessor, parameters with a single
//! argument, unreachable blocks.
//!
//! In SPMD form a block with a cross-lane operation stays on its own, and a branch whose sides are the same block stays a branch,
//! because its lanes diverge there.

use super::rewrite::{Aliases, single_arguments};
use crate::analysis::{Cfg, Uses};
use crate::entities::{Block, Value};
use crate::function::{BlockCall, Form, Function, Terminator, ValueDef};
use crate::opcodes::Opcode;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let mut changed = false;
    // Each rule may enable the others. Every round but the last removes something, so this ends.
    loop {
        let mut again = conditions(func);
        again |= thread(func);
        again |= single_arguments(func);
        again |= remove_unreachable(func);
        again |= merge(func);
        if !again {
            return changed;
        }
        changed = true;
    }
}

/// Simplifies branches whose condition is constant or inverted, or whose sides are equal.
fn conditions(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.block_ids() {
        let Some(term) = &func.block(block).term else { continue };
        let simpler = match term {
            Terminator::Branch { cond, taken, next }
            | Terminator::BrAny { mask: cond, taken, next }
            | Terminator::BrIf { cond, taken, next } => {
                if let Some(holds) = func.as_const(*cond) {
                    Some(Terminator::Jump(if holds != 0 { taken.clone() } else { next.clone() }))
                } else if func.form == Form::Mask && taken == next {
                    Some(Terminator::Jump(taken.clone()))
                } else {
                    simpler_condition(func, term)
                }
            }
            Terminator::Leave { cond: Some(cond), next, kind } => match func.as_const(*cond) {
                Some(0) => Some(Terminator::Jump((*next).into())),
                Some(_) => Some(Terminator::Leave { cond: None, next: *next, kind: *kind }),
                None => None,
            },
            _ => None,
        };
        if let Some(term) = simpler {
            func.block_mut(block).term = Some(term);
            changed = true;
        }
    }
    changed
}

fn simpler_condition(func: &Function, term: &Terminator) -> Option<Terminator> {
    match term {
        Terminator::BrAny { mask, taken, next } if func.ty(*mask).uniform => {
            Some(Terminator::BrIf { cond: *mask, taken: taken.clone(), next: next.clone() })
        }
        Terminator::BrIf { cond, taken, next } => {
            let def = func.def_inst(*cond)?;
            match def.op {
                Opcode::Inot => {
                    Some(Terminator::BrIf { cond: def.args[0], taken: next.clone(), next: taken.clone() })
                }
                Opcode::Any if !func.ty(def.args[0]).uniform => {
                    Some(Terminator::BrAny { mask: def.args[0], taken: taken.clone(), next: next.clone() })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Jump threading: redirects edges to a block that only jumps on to that block's target.
fn thread(func: &mut Function) -> bool {
    let uses = Uses::new(func);
    let mut onward: Vec<Option<BlockCall>> = vec![None; func.blocks.len()];
    for block in func.block_ids() {
        let data = func.block(block);
        let Some(Terminator::Jump(to)) = &data.term else { continue };
        if to.block == block || !data.insts.is_empty() || (func.form == Form::Spmd && data.guest_insts != 0) {
            continue;
        }
        // No other block may use the parameters, because they do not exist on the redirected path.
        let own = |p: &Value| to.args.iter().filter(|a| *a == p).count() as u32;
        if data.params.iter().all(|p| uses.count(*p) == own(p)) {
            onward[block.index()] = Some(to.clone());
        }
    }
    let onward = ends(func, onward);
    let mut changed = false;
    for block in func.block_ids() {
        let Some(mut term) = func.block_mut(block).term.take() else { continue };
        term.for_each_call(|call| {
            if let Some(to) = onward[call.block.index()].as_ref().filter(|_| call.block != block) {
                *call = through(func, call, to);
                changed = true;
            }
        });
        func.block_mut(block).term = Some(term);
    }
    changed
}

/// The edge that replaces an edge `call` to a block that only jumps on with `to`.
fn through(func: &Function, call: &BlockCall, to: &BlockCall) -> BlockCall {
    let params = &func.block(call.block).params;
    let given = |v: &Value| params.iter().position(|p| p == v).map_or(*v, |n| call.args[n]);
    BlockCall { block: to.block, args: to.args.iter().map(given).collect() }
}

/// For each block, the end of its chain of jumps. A ring of empty blocks has no end, so all its blocks lead to one of
/// them.
fn ends(func: &Function, onward: Vec<Option<BlockCall>>) -> Vec<Option<BlockCall>> {
    let mut ends: Vec<Option<BlockCall>> = vec![None; onward.len()];
    let mut seen = vec![false; onward.len()];
    for start in func.block_ids() {
        let mut way = Vec::new();
        let mut at = start;
        while let Some(to) = onward[at.index()].as_ref().filter(|_| !seen[at.index()]) {
            seen[at.index()] = true;
            way.push(at);
            at = to.block;
        }
        // In a ring: the block that closes it.
        let last = way.last().copied().filter(|_| way.contains(&at));
        for &block in way.iter().rev() {
            let Some(to) = onward[block.index()].as_ref().filter(|_| Some(block) != last) else { continue };
            let end = match &ends[to.block.index()] {
                Some(end) => through(func, to, end),
                None => to.clone(),
            };
            ends[block.index()] = Some(end);
        }
    }
    ends
}

fn is_alone(func: &Function, block: Block) -> bool {
    func.form == Form::Spmd && func.block(block).insts.iter().any(|&i| func.inst(i).op.is_cross_lane())
}

/// Merges a block into its only predecessor, if that one only jumps to it.
fn merge(func: &mut Function) -> bool {
    let mut changed = false;
    let cfg = Cfg::new(func);
    let indirect = func.blocks.iter().any(|b| matches!(b.term, Some(Terminator::BranchIndirect { .. })));
    let mut aliases = Aliases::new(func);
    let mut gone = vec![false; func.blocks.len()];
    for &block in &cfg.rpo {
        if gone[block.index()] {
            continue;
        }
        while let Some(Terminator::Jump(to)) = &func.block(block).term {
            let next = to.block;
            let joins = next != block
                && next != func.entry
                && !gone[next.index()]
                && cfg.preds[next.index()].len() == 1
                && !(indirect && func.block_at.values().any(|&b| b == next))
                && !is_alone(func, block)
                && !is_alone(func, next);
            if !joins {
                break;
            }
            let args = to.args.clone();
            let data = func.block_mut(next);
            let params = std::mem::take(&mut data.params);
            let insts = std::mem::take(&mut data.insts);
            let counted = std::mem::take(&mut data.counted.0);
            let (term, term_pc, guest_insts) = (data.term.take(), data.term_pc, data.guest_insts);
            let data = func.block_mut(block);
            data.insts.extend(insts);
            data.term = term;
            data.term_pc = term_pc;
            data.guest_insts = data.guest_insts.saturating_add(guest_insts);
            data.counted.0.extend(counted);
            for (param, arg) in params.into_iter().zip(args) {
                aliases.set(param, arg);
            }
            // The block is unreachable now but needs a terminator.
            func.block_mut(next).term = Some(Terminator::Jump(next.into()));
            gone[next.index()] = true;
            changed = true;
        }
    }
    if changed {
        aliases.apply(func);
        remove_unreachable(func);
    }
    changed
}

/// Drops blocks that the entry does not lead to and numbers the others anew.
fn remove_unreachable(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    if cfg.rpo.len() == func.blocks.len() {
        return false;
    }
    let mut number: Vec<Option<Block>> = vec![None; func.blocks.len()];
    let mut count = 0;
    for block in func.block_ids() {
        if cfg.is_reachable(block) {
            number[block.index()] = Some(Block::new(count));
            count += 1;
        }
    }
    let mut old = 0;
    func.blocks.retain(|_| {
        old += 1;
        number[old - 1].is_some()
    });
    func.entry = number[func.entry.index()].unwrap_or(func.entry);
    func.block_at.retain(|_, block| match number[block.index()] {
        Some(new) => {
            *block = new;
            true
        }
        None => false,
    });
    for data in &mut func.blocks {
        if let Some(term) = &mut data.term {
            term.map_blocks(|b| number[b.index()].unwrap_or(b));
        }
    }
    for block in func.block_ids() {
        for (n, param) in func.block(block).params.clone().into_iter().enumerate() {
            func.values[param.index()].def = ValueDef::Param(block, n as u32);
        }
    }
    true
}
