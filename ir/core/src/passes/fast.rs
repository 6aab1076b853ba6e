//! Approximate numerics: replaces truncating multiply-adds by fused ones, and calls of pure functions by their quicker sequences
//! ([`crate::PureFn::fast`]). `docs/numerics.md` states the error bounds.
//!
//! Integer results do not change. Neither do NaNs: an `fcanon` follows wherever the guest can see one, because which NaN an
//! addition or a fused multiply-add of two NaNs gives differs between hosts and with the order of operands.
//!
//! The pass runs on a kernel as it is lifted, so that both tiers execute the same operations.

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
