//! Dead code elimination: removes instructions that have no effect and whose results are not used, and block parameters that only
//! feed themselves.
//!
//! A load that may fault stays, so that a program faults the same with and without this pass.

use super::rewrite::{load_cannot_fault, retain_params};
use crate::analysis::Incoming;
use crate::entities::{Inst, Value};
use crate::function::{Function, ValueDef};
use crate::opcodes::Opcode;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let live = live_values(func);
    let mut changed = retain_params(func, |param| live[param.index()]);
    for block in func.block_ids() {
        let mut insts = std::mem::take(&mut func.block_mut(block).insts);
        let before = insts.len();
        insts.retain(|&i| is_needed(func, &live, i));
        changed |= insts.len() != before;
        func.block_mut(block).insts = insts;
    }
    changed
}

fn stays(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    match data.op {
        Opcode::Load => !load_cannot_fault(func, data),
        op => op.has_effect(),
    }
}

/// Tells which instructions the pass would keep: those that have an effect, or that something with an effect needs.
pub(super) fn needed(func: &Function) -> impl Fn(Inst) -> bool + use<'_> {
    let live = live_values(func);
    move |inst| is_needed(func, &live, inst)
}

fn is_needed(func: &Function, live: &[bool], inst: Inst) -> bool {
    stays(func, inst) || func.inst(inst).result.is_some_and(|v| live[v.index()])
}

/// Optimistic: nothing is live until something with an effect needs it.
fn live_values(func: &Function) -> Vec<bool> {
    let mut live = vec![false; func.values.len()];
    let mut work: Vec<Value> = Vec::new();
    let incoming = Incoming::new(func, func.block_ids());
    for data in &func.blocks {
        for &inst in &data.insts {
            if stays(func, inst) {
                work.extend(&func.inst(inst).args);
            }
        }
        if let Some(term) = &data.term {
            term.for_each_condition(|v| work.push(v));
        }
    }
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut live[value.index()], true) {
            continue;
        }
        match func.values[value.index()].def {
            ValueDef::Inst(inst) => work.extend(&func.inst(inst).args),
            ValueDef::Param(block, n) => work.extend(incoming.arguments(block, n)),
        }
    }
    live
}
