//! Approximate numerics: truncating multiply-adds become fused ones, and pure functions that name a quicker sequence are that. Integer results
//! stay what they are, and so do NaNs: each that a guest can see has the guest's bits (`fcanon`), for what an addition or a fused multiply-add
//! makes of two NaNs differs from host to host and with the order of operands. `docs/numerics.md` has the bounds.
//!
//! Meant for a kernel as it is lifted, so that both tiers run the same.

use super::expand;
use crate::function::{Function, Imm};
use crate::opcodes::Opcode;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let mut changed = expand::replace(func, |callee| callee.fast, true);
    for inst in func.insts.iter_mut().filter(|inst| inst.op == Opcode::FmadTrunc) {
        (inst.op, inst.imm) = (Opcode::Fma, Imm::Ftz(true));
        changed = true;
    }
    changed
}
