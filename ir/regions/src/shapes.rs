//! Finds the values of a region that are the same in all lanes of a chunk, and makes their types uniform.
//!
//! The lanes of a chunk run in lock step. So a value computed from uniform values is uniform, and so is a loop's parameter if all
//! lanes enter the loop together and each iteration passes on a uniform value.

use super::liveness::SlotSet;
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{Function, Imm, Terminator, ValueDef};
use warpjit_ir_core::graph;
use warpjit_ir_core::opcodes::{Opcode, Space};

/// Makes the types of uniform values uniform. The slots of `uniform_slots` hold one value in all lanes of each chunk.
pub fn infer_uniform(func: &mut Function, uniform_slots: &SlotSet) {
    let succs: Vec<Vec<usize>> = func
        .block_ids()
        .map(|b| {
            let mut list = Vec::new();
            func.term(b).for_each_successor(|s| {
                if !list.contains(&s.index()) {
                    list.push(s.index());
                }
            });
            list
        })
        .collect();
    let Some(nest) = graph::natural_loops(&succs, func.entry.index()) else { return };
    let preds = graph::predecessors(&succs);
    let mut edges = vec![0; succs.len()];
    for b in func.block_ids() {
        func.term(b).for_each_successor(|s| edges[s.index()] += 1);
    }
    // Blocks whose parameters may be uniform: loop headers that all lanes enter together and return to together.
    let together: Vec<bool> = (0..succs.len())
        .map(|n| {
            nest.loops.iter().enumerate().any(|(l, data)| {
                let back: Vec<usize> = preds[n].iter().copied().filter(|&p| nest.is_in(l, p)).collect();
                data.header == n
                    && preds[n].len() == 2
                    && edges[n] == 2
                    && back.len() == 1
                    && nest.innermost[back[0]] == Some(l)
                    && preds[n].iter().all(|&p| p == back[0] || nest.innermost[p] == data.parent)
            })
        })
        .collect();

    let mut uniform: Vec<bool> = (0..func.values.len())
        .map(|v| match func.values[v].def {
            ValueDef::Inst(_) => true,
            // The table still has values of blocks that a pass has removed.
            ValueDef::Param(b, _) => {
                together.get(b.index()).copied().unwrap_or(false) || func.ty(Value::new(v)).uniform
            }
        })
        .collect();
    let mut def_block = vec![func.entry.index(); func.values.len()];
    for b in func.block_ids() {
        let results = func.block(b).insts.iter().filter_map(|i| func.inst(*i).result);
        results.chain(func.block(b).params.iter().copied()).for_each(|v| def_block[v.index()] = b.index());
    }
    // Lanes leave a loop in different iterations, so its values differ between them after it.
    let left_loop = |v: Value, b: Block| {
        let in_loop = nest.innermost[def_block[v.index()]];
        func.as_const(v).is_none() && in_loop.is_some_and(|l| !nest.is_in(l, b.index()))
    };
    let mut changed = true;
    while changed {
        changed = false;
        for b in func.block_ids() {
            for &i in &func.block(b).insts {
                let data = func.inst(i);
                let Some(v) = data.result else { continue };
                let args = data.args.iter().all(|a| uniform[a.index()] && !left_loop(*a, b));
                let now = match (data.op, data.imm) {
                    (Opcode::Const, _) => true,
                    (Opcode::SlotGet, Imm::Slot(s)) => {
                        func.slots[s.index()].ty.uniform || uniform_slots.contains(s)
                    }
                    // A guarded load may not be executed at all.
                    (Opcode::Load, Imm::Mem(m)) => args && data.args.len() == 1 && m.space != Space::Local,
                    (Opcode::Splat, _) => false,
                    (op, _) if op.differs_by_lane() => false,
                    _ => args && data.op.is_pure(),
                };
                changed |= uniform[v.index()] && !now;
                uniform[v.index()] &= now;
            }
            let mut edge = |to: Block, args: &[Value]| {
                for (p, a) in func.block(to).params.iter().zip(args) {
                    if uniform[p.index()] && (!uniform[a.index()] || left_loop(*a, b)) {
                        uniform[p.index()] = false;
                        changed = true;
                    }
                }
            };
            match func.term(b) {
                Terminator::Jump(c) => edge(c.block, &c.args),
                Terminator::Branch { taken, next, .. } => {
                    edge(taken.block, &taken.args);
                    edge(next.block, &next.args);
                }
                _ => {}
            }
        }
    }
    for (data, uniform) in func.values.iter_mut().zip(uniform) {
        data.ty.uniform = uniform;
    }
}
