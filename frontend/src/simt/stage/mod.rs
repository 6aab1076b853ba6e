//! Programs of graphics stages of Tesla and Fermi: where their inputs and outputs are in the memory of a lane ([`Plan`]), and the code
//! that reads and writes them.
//!
//! A lane's words stand in its local memory, behind the guest's own; outputs of tessellation control, which other lanes read, in
//! shared memory. Accesses at addresses that only the program knows when it runs search the few ranges that there are.

mod emit;
mod plan;

pub(crate) use emit::{At, Read};
pub(crate) use plan::{Plan, Uses};

use warpjit_ir::function::{SlotData, SlotInit};
use warpjit_ir::{Function, Imm, InstData, KernelAbi, Opcode, ParamSpace, Reach, Space, Terminator};

use crate::isa::Stage;
use crate::simt::texture::scratch_of;
use crate::stage::{Per, StageInput, StageLayout};

/// A space that a program reads inputs from. Numbers of words in one say nothing about those in another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum InputSpace {
    /// What the stage reads usually: a[], or v[] of Tesla.
    Attribute,
    /// Tesla: p[], words of vertices of a primitive.
    Vertex,
    /// Fermi's tessellation evaluation: the own output space.
    Point,
    /// Fermi's tessellation evaluation: patch space.
    Patch,
}

impl InputSpace {
    /// Where a program finds an input. `apart`: words of vertices have a space of their own.
    fn of(input: &StageInput, apart: bool) -> InputSpace {
        match input.per {
            Per::Point => InputSpace::Point,
            Per::Patch => InputSpace::Patch,
            Per::Vertex if apart => InputSpace::Vertex,
            _ => InputSpace::Attribute,
        }
    }
}

/// Lanes of a warp.
pub(crate) const LANES: u32 = 32;

/// The launch interface of a stage's program, whose blocks are single warps, from that of a compute program.
pub(crate) fn interface(compute: KernelAbi, shared_bytes: u32, local_bytes: u32) -> KernelAbi {
    KernelAbi {
        header: Vec::new(),
        params: ParamSpace { max_bytes: 0, ..compute.params },
        max_grid: [0x7fff_ffff, 1, 1],
        max_block: [LANES, 1, 1],
        max_threads: LANES,
        max_shared_bytes: compute.max_shared_bytes.max(shared_bytes),
        max_local_bytes: compute.max_local_bytes.max(local_bytes),
        ..compute
    }
}

/// Where the inputs and outputs of a stage's program are, with what its code says: local memory that need not begin as zeros, and warps
/// that may run as one. `mailbox` is where its texture instructions have theirs, `local` whether it accesses local memory itself.
pub(crate) fn layout_of(
    plan: &Plan,
    stage: Stage,
    function: &Function,
    mailbox: Option<u32>,
    local: bool,
) -> StageLayout {
    let mut layout = plan.layout.clone();
    layout.scratch.extend(mailbox.into_iter().flat_map(|mailbox| scratch_of(mailbox, function)));
    if local {
        // Addresses that the program computes may lead there.
        layout.scratch.clear();
    }
    layout.joined = joined_warps(stage, function);
    layout
}

/// How many warps may run as one: the code then has as many lanes as masks have bits.
const JOINED: u32 = 2;

/// How many warps of a stage may run as one because no lane can tell. Then what a warp costs, whatever its lanes do, is paid once for all.
/// Lanes of tessellation control share memory; other programs could tell by votes, shuffles, shared memory, barriers, and the number of a
/// lane. Programs that store to memory of others are not joined either, so that a batch in which a lane faults can be run again as the
/// chip would.
fn joined_warps(stage: Stage, function: &Function) -> u32 {
    let asks_others = |inst: &InstData| {
        let stores = match inst.imm {
            Imm::Mem(mem) if inst.op == Opcode::Load => mem.space == Space::Shared,
            Imm::Mem(mem) | Imm::Atomic(mem, _) => mem.space != Space::Local,
            Imm::Device(site) => (site.callee.stores)(site.params),
            _ => false,
        };
        stores || inst.op.reach() == Reach::Warp
    };
    let asks_itself = |slot: &SlotData| matches!(slot.init, SlotInit::Builtin(_));
    let waits = |block| matches!(function.term(block), Terminator::Barrier { .. });
    let can_tell = stage == Stage::TessControl
        || function.insts.iter().any(asks_others)
        || function.slots.iter().any(asks_itself)
        || function.block_ids().any(waits);
    if can_tell { 1 } else { JOINED }
}
