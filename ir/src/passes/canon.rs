//! Drops `fcanon` where nothing can see the bits of a NaN.
//!
//! Arithmetic, comparisons and conversions to integers take every NaN alike, and so does another `fcanon`. Operations that
//! hand a NaN on (`fneg`, `select`, `bitcast`, a block parameter) see its bits if a user of theirs does; this is optimistic,
//! so that a value that goes round a loop and only meets arithmetic needs no `fcanon`. Everything else sees the bits:
//! stores, slots, integer arithmetic, registered functions. An operation that takes every NaN alike uses what stands
//! before an `fcanon` in any case, so that it need not wait for it.

use super::Aliases;
use crate::entities::Value;
use crate::function::{Function, ValueDef};
use crate::opcodes::Opcode;

/// What an operation does with the NaN bits of an operand.
#[derive(PartialEq)]
enum Use {
    /// Takes every NaN alike.
    Blind,
    /// Hands them on in its result.
    Passes,
    /// Shows them.
    Sees,
}

fn use_of(op: Opcode) -> Use {
    use Opcode::*;
    match op {
        Fadd | Fsub | Fmul | Fdiv | Fsqrt | Fma | FmadTrunc | Fcmp | Fcanon | Fpromote | Fdemote
        | FcvtToSint | FcvtToUint => Use::Blind,
        Fneg | Fabs | Fflush | Ffloor | Fceil | Ftrunc | Fnearest | Select | Splat | Bitcast => Use::Passes,
        _ => Use::Sees,
    }
}

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let mut changed = look_through(func);
    let seen = seen_values(func);
    let mut aliases = Aliases::new(func);
    for block in func.block_ids() {
        let mut insts = std::mem::take(&mut func.block_mut(block).insts);
        insts.retain(|&inst| {
            let data = func.inst(inst);
            match (data.op, data.result) {
                (Opcode::Fcanon, Some(result)) if !seen[result.index()] => {
                    // In unreachable code a value may be made of itself.
                    if aliases.get(data.args[0]) == result {
                        return true;
                    }
                    aliases.set(result, data.args[0]);
                    false
                }
                _ => true,
            }
        });
        func.block_mut(block).insts = insts;
    }
    aliases.apply(func);
    changed |= aliases.any();
    changed
}

fn look_through(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.block_ids() {
        for n in 0..func.block(block).insts.len() {
            let inst = func.block(block).insts[n];
            if use_of(func.inst(inst).op) != Use::Blind {
                continue;
            }
            for n in 0..func.inst(inst).args.len() {
                let arg = func.inst(inst).args[n];
                if let Some(before) = func.def_inst(arg).filter(|d| d.op == Opcode::Fcanon) {
                    func.inst_mut(inst).args[n] = before.args[0];
                    changed = true;
                }
            }
        }
    }
    changed
}

fn seen_values(func: &Function) -> Vec<bool> {
    let mut seen = vec![false; func.values.len()];
    let mut work: Vec<Value> = Vec::new();
    let mut feeds: Vec<Vec<Value>> = vec![Vec::new(); func.values.len()];
    for data in &func.blocks {
        for &inst in &data.insts {
            if use_of(func.inst(inst).op) == Use::Sees {
                work.extend(&func.inst(inst).args);
            }
        }
        for call in data.term.iter().flat_map(|t| t.calls()) {
            for (&param, &arg) in func.block(call.block).params.iter().zip(&call.args) {
                feeds[param.index()].push(arg);
            }
        }
    }
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut seen[value.index()], true) {
            continue;
        }
        match func.values[value.index()].def {
            ValueDef::Param(..) => work.extend(&feeds[value.index()]),
            ValueDef::Inst(inst) if use_of(func.inst(inst).op) == Use::Passes => {
                work.extend(&func.inst(inst).args);
            }
            ValueDef::Inst(_) => {}
        }
    }
    seen
}
