//! Replaces calls of pure functions by their expansions ([`crate::PureFn::expand`]): vector code instead of one call for each
//! lane.

use super::rewrite::Aliases;
use crate::builder::Builder;
use crate::entities::{Block, Value};
use crate::function::{Function, Imm, InstData};
use crate::opcodes::Opcode;
use crate::pure::{ExpandFn, PureFn};
use crate::types::Scalar;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    all(func, |callee| callee.expand)
}

/// The same, but keeps calls of functions that the code generator implements itself ([`PureFn::special`]).
pub fn run_but_special(func: &mut Function) -> bool {
    all(func, |callee| if callee.special.is_some() { None } else { callee.expand })
}

/// Replaces calls until none is left, because an expansion may contain calls.
fn all(func: &mut Function, of: fn(&PureFn) -> Option<ExpandFn>) -> bool {
    let mut any = false;
    while replace(func, of, false) {
        any = true;
    }
    any
}

/// Replaces calls by the sequence that `of` gives for the callee, if any. `blind`: the sequences treat every NaN alike,
/// so an `fcanon` of an argument is skipped.
pub(super) fn replace(func: &mut Function, of: fn(&PureFn) -> Option<ExpandFn>, blind: bool) -> bool {
    let sequence = |inst: &InstData| match inst.imm {
        Imm::Pure(callee) => of(callee),
        _ => None,
    };
    let mut insts = func.blocks.iter().flat_map(|b| &b.insts);
    if !insts.any(|&i| sequence(func.inst(i)).is_some()) {
        return false;
    }
    let ftz = !keeps_denormals(func);
    let mut aliases = Aliases::new(func);
    for n in 0..func.blocks.len() {
        let block = Block::new(n);
        if !func.block(block).insts.iter().any(|&i| sequence(func.inst(i)).is_some()) {
            continue;
        }
        for inst in std::mem::take(&mut func.block_mut(block).insts) {
            let data = func.inst(inst);
            if let (Some(expand), Some(result)) = (sequence(data), data.result) {
                let args = data.args.iter().map(|&a| aliases.get(a));
                let args =
                    args.map(|a| if blind { before_canonical(func, a) } else { a }).collect::<Vec<_>>();
                let pc = data.pc;
                let mut b = Builder::new(func, block);
                b.pc = pc;
                if let Some(value) = expand(&mut b, &args, ftz) {
                    aliases.set(result, value);
                    continue;
                }
            }
            func.block_mut(block).insts.push(inst);
        }
    }
    aliases.apply(func);
    aliases.any()
}

/// The operand of the `fcanon` that made a float, seen through bitcasts; else the float itself.
fn before_canonical(func: &Function, float: Value) -> Value {
    if !matches!(func.ty(float).scalar, Scalar::F32 | Scalar::F64) {
        return float;
    }
    let mut value = float;
    while let Some(data) = func.def_inst(value) {
        match data.op {
            Opcode::Bitcast => value = data.args[0],
            Opcode::Fcanon if func.ty(data.args[0]) == func.ty(float) => return data.args[0],
            _ => break,
        }
    }
    float
}

/// Whether some operation must not flush denormals. Then the region cannot run with the host's flush-to-zero mode.
fn keeps_denormals(func: &Function) -> bool {
    use Opcode::*;
    let mut insts = func.blocks.iter().flat_map(|b| &b.insts).map(|&i| func.inst(i));
    insts.any(|inst| match inst.op {
        Fadd | Fsub | Fmul | Fdiv | Fsqrt | Fma | Fdemote => inst.imm != Imm::Ftz(true),
        Fcmp => matches!(inst.imm, Imm::FloatCmp(_, false)),
        _ => false,
    })
}
