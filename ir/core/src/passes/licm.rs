//! Loop-invariant code motion: moves pure operations whose operands are made outside a loop in front of it.
//!
//! Pure operations never trap, so they may run although the loop would not have run them. Loads move only if they are from const
//! space and cannot fault; reads of slots only if the function never writes the slot.

use super::rewrite::{load_cannot_fault, values_cross_blocks, written_slots};
use crate::analysis::{Cfg, Dominators, Loops};
use crate::entities::{Block, Inst, Value};
use crate::function::{BlockCall, Form, Function, Imm, Terminator, ValueDef};
use crate::opcodes::{Opcode, Space};

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    if !values_cross_blocks(func) {
        return false;
    }
    let mut changed = false;
    let mut cfg = Cfg::new(func);
    let mut dom = Dominators::of(&cfg);
    let mut loops = Loops::new(&cfg, &dom);
    let written = written_slots(func);
    let mut home = homes(func);
    // Inner loops first: what leaves one may leave the next.
    for index in (0..loops.loops.len()).rev() {
        if !has_invariant(func, &loops, index, &home, &written) {
            continue;
        }
        let place = match front(&loops, &dom, index) {
            Some(place) => place,
            None => {
                let Some(place) = make_front(func, &cfg, &loops, index) else { continue };
                // The loops found again have the same order, because only a preheader is new.
                cfg = Cfg::new(func);
                dom = Dominators::of(&cfg);
                let found = Loops::new(&cfg, &dom);
                if !found.loops.iter().map(|l| l.header).eq(loops.loops.iter().map(|l| l.header)) {
                    return true;
                }
                loops = found;
                home = homes(func);
                place
            }
        };
        changed |= hoist(func, &loops, index, place, &mut home, &written);
    }
    changed
}

/// The block that each value is made in.
fn homes(func: &Function) -> Vec<Option<Block>> {
    let mut home = vec![None; func.values.len()];
    for block in func.block_ids() {
        let data = func.block(block);
        for &param in &data.params {
            home[param.index()] = Some(block);
        }
        for &inst in &data.insts {
            if let Some(result) = func.inst(inst).result {
                home[result.index()] = Some(block);
            }
        }
    }
    home
}

fn may_move(func: &Function, inst: Inst, written: &[bool]) -> bool {
    let data = func.inst(inst);
    match (data.op, &data.imm) {
        (Opcode::ActiveMask, _) => func.form == Form::Mask,
        (Opcode::SlotGet, Imm::Slot(slot)) => !written[slot.index()],
        (Opcode::Load, Imm::Mem(mem)) => {
            matches!(mem.space, Space::Const(_)) && load_cannot_fault(func, data)
        }
        (op, _) => op.is_pure(),
    }
}

fn is_invariant(
    func: &Function,
    loops: &Loops,
    index: usize,
    inst: Inst,
    home: &[Option<Block>],
    written: &[bool],
) -> bool {
    let outside = |v: Value| home[v.index()].is_some_and(|b| !loops.is_in(index, b));
    may_move(func, inst, written) && func.inst(inst).args.iter().all(|&v| outside(v))
}

fn has_invariant(
    func: &Function,
    loops: &Loops,
    index: usize,
    home: &[Option<Block>],
    written: &[bool],
) -> bool {
    loops.loops[index].blocks.iter().any(|&block| {
        let insts = &func.block(block).insts;
        insts.iter().any(|&inst| is_invariant(func, loops, index, inst, home, written))
    })
}

/// The block to hoist to: the immediate dominator of the loop's header, if it is directly in the surrounding loop.
fn front(loops: &Loops, dom: &Dominators, index: usize) -> Option<Block> {
    let this = &loops.loops[index];
    let up = dom.idom[this.header.index()]?;
    (loops.innermost[up.index()] == this.parent).then_some(up)
}

/// Makes a preheader: a block that all edges into the loop from outside lead through.
fn make_front(func: &mut Function, cfg: &Cfg, loops: &Loops, index: usize) -> Option<Block> {
    let header = loops.loops[index].header;
    if header == func.entry {
        return None;
    }
    let outside: Vec<Block> = cfg.preds[header.index()]
        .iter()
        .copied()
        .filter(|&p| cfg.is_reachable(p) && !loops.is_in(index, p))
        .collect();
    // The target of a push or of an indirect branch must stay the same block.
    if outside.iter().any(|&p| func.term(p).calls().next().is_none()) {
        return None;
    }
    let place = func.add_block(func.block(header).pc);
    let types: Vec<_> = func.block(header).params.iter().map(|&v| func.ty(v)).collect();
    let args: Vec<Value> = types.into_iter().map(|ty| func.add_param(place, ty)).collect();
    func.block_mut(place).term = Some(Terminator::Jump(BlockCall { block: header, args }));
    for block in outside {
        if let Some(term) = &mut func.block_mut(block).term {
            term.for_each_call(|call| {
                if call.block == header {
                    call.block = place;
                }
            });
        }
    }
    Some(place)
}

fn hoist(
    func: &mut Function,
    loops: &Loops,
    index: usize,
    place: Block,
    home: &mut [Option<Block>],
    written: &[bool],
) -> bool {
    let mut moved = Vec::new();
    for &block in &loops.loops[index].blocks {
        let mut insts = std::mem::take(&mut func.block_mut(block).insts);
        insts.retain(|&inst| {
            if !is_invariant(func, loops, index, inst, home, written) {
                return true;
            }
            if let Some(result) = func.inst(inst).result {
                home[result.index()] = Some(place);
                debug_assert!(matches!(func.values[result.index()].def, ValueDef::Inst(_)));
            }
            moved.push(inst);
            false
        });
        func.block_mut(block).insts = insts;
    }
    let changed = !moved.is_empty();
    func.block_mut(place).insts.extend(moved);
    changed
}
