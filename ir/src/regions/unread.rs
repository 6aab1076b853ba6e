//! Takes out of a kernel what only serves to show registers at its end, where nobody looks at them.
//!
//! Code without a container may be asked for all its registers, and a wave's masks become numbers for that: votes of all lanes. A launch that
//! does not ask is better off without them, for such operations keep all lanes of a wave together.

use super::liveness::SlotLiveness;
use crate::function::{Function, Imm};
use crate::meter::{Meter, Stopped};
use crate::opcodes::Opcode;
use crate::passes::dce;

/// Most rounds: each may show that what an earlier one needed is not read either.
const ROUNDS: usize = 4;

/// Removes writes of slots that no block reads behind them, and what was computed for these alone.
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
