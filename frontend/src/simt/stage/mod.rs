//! Programs of graphics stages of Tesla and Fermi: where their inputs and outputs are in the memory of a lane ([`Plan`]), and the code
//! that reads and writes them.
//!
//! A lane's words stand in its local memory, behind the guest's own; outputs of tessellation control, which other lanes read, in
//! shared memory. Accesses at addresses that only the program knows when it runs search the few ranges that there are.

mod emit;
mod plan;

pub(crate) use emit::{At, Read};
pub(crate) use plan::{Plan, Uses};

use warpjit_ir::function::SlotInit;
use warpjit_ir::{Function, KernelAbi, ParamSpace, Reach};

use crate::isa::Stage;
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

/// How many warps run as one: the code then has as many lanes as masks have bits.
const JOINED: u32 = 2;

/// Lets several warps of a stage run as one, where no lane can tell: what a warp costs, whatever its lanes do, is paid once for all. Lanes
/// of tessellation control share memory; other programs could tell by votes, shuffles, and the number of a lane.
pub(crate) fn join_warps(
    stage: Stage,
    function: &mut Function,
    abi: &mut KernelAbi,
    layout: &mut StageLayout,
) {
    let asks_others = function.insts.iter().any(|inst| inst.op.reach() == Reach::Warp);
    let asks_itself = function.slots.iter().any(|slot| matches!(slot.init, SlotInit::Builtin(_)));
    if stage == Stage::TessControl || asks_others || asks_itself {
        return;
    }
    let lanes = LANES * JOINED;
    (function.lanes, abi.warp_lanes) = (lanes, lanes);
    (abi.max_block[0], abi.max_threads) = (lanes, lanes);
    layout.joined = JOINED;
}
