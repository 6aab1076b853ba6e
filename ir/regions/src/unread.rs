//! Removes slot writes that nothing reads, and the code that only computed them, from kernels whose registers the launch does not
//! ask for.
//!
//! A launch may ask for the final registers of code without a container. For that, the lifter turns a wave's masks into numbers,
//! with votes over all lanes. Such operations would keep the wave from running chunk by chunk, so they are removed when no one
//! reads their results.

use super::liveness::SlotLiveness;
use warpjit_ir_core::function::{Function, Imm};
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::passes::dce;

/// Most rounds. Each removal may make further writes dead.
const ROUNDS: usize = 4;

/// Removes slot writes that no later block reads, and what was computed only for them.
pub(super) fn drop_unread(func: &mut Function, meter: &Meter) -> Result<(), Stopped> {
    for _ in 0..ROUNDS {
        let live = SlotLiveness::compute(func, false, meter)?;
        let mut changed = false;
        for block in func.block_ids() {
            meter.step(1)?;
            let mut read = live.live_out(func, block);
            let insts = std::mem::take(&mut func.block_mut(block).insts);
            let count = insts.len();
            let mut kept: Vec<_> = insts
                .into_iter()
                .rev()
                .filter(|&inst| match (func.inst(inst).op, func.inst(inst).imm) {
                    (Opcode::SlotSet, Imm::Slot(slot)) => {
                        let stays = read.contains(slot);
                        read.remove(slot);
                        stays
                    }
                    (Opcode::SlotGet, Imm::Slot(slot)) => {
                        read.insert(slot);
                        true
                    }
                    _ => true,
                })
                .collect();
            kept.reverse();
            changed |= kept.len() != count;
            func.block_mut(block).insts = kept;
        }
        if !changed {
            break;
        }
        dce::run(func);
    }
    Ok(())
}
