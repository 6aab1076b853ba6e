//! A kernel cut into phases for grid-row code. `phases.rs` cuts it; a *phase* is a region that all warps of a block finish before any warp
//! starts the next one.

use warpjit_backend::{SlotShape, Successor};
use warpjit_ir::Slot;
use warpjit_ir::regions::Region;
use warpjit_ir::regions::liveness::SlotSet;

/// The lane pattern of each slot at the start of a phase.
pub(super) type Shapes = Vec<Option<SlotShape>>;

/// A phase.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub region: Region,
    /// Size of a chunk in groups of four lanes.
    pub chunk_groups: u8,
    pub successors: Vec<Successor>,
    pub shapes: Shapes,
    /// The patterns that code must check for each warp.
    pub checks: Vec<(Slot, SlotShape)>,
    /// Compact slots at the start of the phase, each with its stride ([`super::compact_slots`]).
    pub firsts: Vec<(Slot, i32)>,
    /// For each exit: the slots that are stored in compact form.
    pub by_firsts: Vec<Vec<Slot>>,
}

impl Phase {
    /// The phases that may follow.
    pub fn next(&self) -> Vec<usize> {
        self.successors.iter().flat_map(|successor| successor.phases()).collect()
    }

    /// For each slot: the difference between consecutive 16-lane vectors of a chunk.
    pub fn vector_strides(&self) -> Vec<Option<i32>> {
        let lanes = u32::from(self.chunk_groups) * 4;
        self.shapes.iter().map(|known| known.and_then(|known| known.apart_in(lanes))).collect()
    }
}

/// All phases. Blocks start at the first one.
#[derive(Clone, Debug)]
pub(super) struct Phases {
    pub list: Vec<Phase>,
    /// Slots that any phase writes.
    pub written: SlotSet,
    /// The number of warps that the barriers require, if it is not all.
    pub warps: Option<u32>,
}
