//! Approximate numerics: truncating multiply-adds become fused ones, NaNs keep what bits they have, and pure functions that
//! name a quicker sequence are that. Integer results stay what they are. `docs/numerics.md` has the bounds.
//!
//! Meant for a kernel as it is lifted, so that both tiers run the same.

use super::{Aliases, expand};
use crate::entities::Block;
use crate::function::{Function, Imm};
use crate::opcodes::Opcode;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let changed = expand::replace(func, |callee| callee.fast);
    let mut aliases = Aliases::new(func);
    let mut fused = false;
    for n in 0..func.blocks.len() {
        for i in 0..func.block(Block::new(n)).insts.len() {
            let inst = func.block(Block::new(n)).insts[i];
            let data = func.inst_mut(inst);
            match (data.op, data.result, data.args.first()) {
                (Opcode::FmadTrunc, ..) => {
                    (data.op, data.imm) = (Opcode::Fma, Imm::Ftz(true));
                    fused = true;
                }
                (Opcode::Fcanon, Some(result), Some(&arg)) => aliases.set(result, arg),
                _ => {}
            }
        }
    }
    aliases.apply(func);
    if aliases.any() {
        // What is left of `fcanon` has no uses.
        for n in 0..func.blocks.len() {
            let mut insts = std::mem::take(&mut func.block_mut(Block::new(n)).insts);
            insts.retain(|&i| func.inst(i).op != Opcode::Fcanon);
            func.block_mut(Block::new(n)).insts = insts;
        }
    }
    changed | fused | aliases.any()
}
