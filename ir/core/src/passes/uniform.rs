//! Finds values that are the same in every lane and makes their types uniform.
//!
//! An operation on uniform operands is uniform. In mask form so is a block parameter all of whose arguments are uniform, because
//! all lanes take an edge at once; in SPMD form parameters keep their types. A `splat` of a uniform value is replaced by its
//! operand, because a uniform value may stand wherever a varying one may.

use super::rewrite::Aliases;
use crate::analysis::Cfg;
use crate::function::{Form, Function, Imm, InstData, ValueDef};
use crate::opcodes::{Opcode, Space};

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let uniform = uniform_values(func);
    let mut changed = false;
    for (value, uniform) in func.values.iter_mut().zip(&uniform) {
        changed |= *uniform && !value.ty.uniform;
        value.ty.uniform |= uniform;
    }
    let mut aliases = Aliases::new(func);
    for block in func.block_ids() {
        let mut insts = std::mem::take(&mut func.block_mut(block).insts);
        insts.retain(|&inst| {
            let data = func.inst(inst);
            match (data.op, data.result) {
                (Opcode::Splat, Some(result))
                    if func.ty(data.args[0]).uniform && aliases.get(data.args[0]) != result =>
                {
                    aliases.set(result, data.args[0]);
                    false
                }
                _ => true,
            }
        });
        func.block_mut(block).insts = insts;
    }
    aliases.apply(func);
    changed | aliases.any()
}

/// Optimistic: a value counts as uniform until an operand turns out varying.
fn uniform_values(func: &Function) -> Vec<bool> {
    let cfg = Cfg::new(func);
    let mut uniform: Vec<bool> = func.values.iter().map(|v| v.ty.uniform).collect();
    // Values whose type may change.
    let mut open = vec![false; func.values.len()];
    for &block in &cfg.rpo {
        let data = func.block(block);
        if func.form == Form::Mask && block != func.entry {
            for &param in &data.params {
                open[param.index()] = true;
            }
        }
        for &inst in &data.insts {
            let inst = func.inst(inst);
            if let Some(result) = inst.result {
                open[result.index()] = follows_operands(inst);
            }
        }
    }
    for (uniform, open) in uniform.iter_mut().zip(&open) {
        *uniform |= open;
    }
    // Unreachable code is left alone.
    for block in func.block_ids().filter(|&b| !cfg.is_reachable(b)) {
        for call in func.block(block).term.iter().flat_map(|t| t.calls()) {
            for (&param, &arg) in func.block(call.block).params.iter().zip(&call.args) {
                if !func.ty(arg).uniform {
                    open[param.index()] = false;
                    uniform[param.index()] = func.ty(param).uniform;
                }
            }
        }
    }
    loop {
        let mut changed = false;
        for &block in &cfg.rpo {
            let data = func.block(block);
            for &inst in &data.insts {
                let inst = func.inst(inst);
                let Some(result) = inst.result else { continue };
                if open[result.index()]
                    && uniform[result.index()]
                    && !func.ty(result).uniform
                    && inst.args.iter().any(|a| !uniform[a.index()])
                {
                    uniform[result.index()] = false;
                    changed = true;
                }
            }
            for call in data.term.iter().flat_map(|t| t.calls()) {
                for (&param, &arg) in func.block(call.block).params.iter().zip(&call.args) {
                    if uniform[param.index()] && !uniform[arg.index()] && !func.ty(param).uniform {
                        debug_assert!(matches!(func.values[param.index()].def, ValueDef::Param(..)));
                        uniform[param.index()] = false;
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            return uniform;
        }
    }
}

/// Whether the result is uniform if all operands are.
fn follows_operands(inst: &InstData) -> bool {
    match (inst.op, &inst.imm) {
        (op, _) if op.differs_by_lane() => false,
        (Opcode::Load, Imm::Mem(mem)) => matches!(mem.space, Space::Const(_)),
        (op, _) => op.is_pure(),
    }
}
