//! `bar` (facts/fermi.md section 2).

use warpjit_ir::{BarrierSpec, GuestFault, Terminator};

use super::control::next_block;
use super::emit::Emit;
use crate::fermi::{BarOp, Inst};

/// Threads of a warp; counts of threads are multiples of it.
const LANES: u32 = 32;

/// Emits a barrier. Number and count must be known: no compiler of the time leaves them to a register.
pub(super) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    let count = if inst.srcs().len() > 1 { e.immediate(inst, 1) } else { Some(0) };
    let (Some(number), Some(threads)) = (e.immediate(inst, 0), count) else {
        return e.fault(GuestFault::Illegal);
    };
    let spec = BarrierSpec {
        index: number as u8 & 15,
        arrive: true,
        wait: inst.mods.bar != BarOp::Arrive,
        warps: (threads != 0).then(|| threads.div_ceil(LANES)),
    };
    let next = next_block(e, inst);
    e.terminate(Terminator::Barrier { spec, next });
}
