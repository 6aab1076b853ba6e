//! Blocks that run together, all in one call of grid-row code.

use std::ops::Range;
use std::sync::Arc;

use warpjit_backend::RowWarp;

use super::Stepper;
use crate::exec::jit::{Compiled, Make, RowFlow, SampleBlock};
use crate::exec::memory::View;
use crate::exec::setup::Plan;
use crate::exec::tiers::calls::{FUEL, Poll, StopPoll};

/// How [`Stepper::run_row`] has ended.
pub struct RowRun {
    /// What happened.
    pub flow: RowFlow,
    /// The block reached, along the row.
    pub block: u32,
    /// The warp.
    pub warp: usize,
    /// Guest instructions that each warp of that block has executed in completed phases.
    pub insts: u64,
    /// Guest instructions that one warp of each earlier block has executed, summed over the blocks.
    pub row_insts: u64,
}

impl Stepper<'_> {
    /// Whether there is grid-row code, or it would be compiled on request.
    pub fn may_have_rows(&self) -> bool {
        let is_hot = || !self.entries[self.tiers.start.block.index()].versions.is_empty();
        self.tiers.jit.as_ref().is_some_and(|jit| jit.rows_are_near(!self.tiers.behind || is_hot()))
    }

    /// Grid-row code that fits a block, and whether it was made for the block's class. With background compilation, it
    /// is requested once there is code for single warps or for another class.
    pub fn code_for_rows(&self, sample: SampleBlock<'_>) -> Option<(Arc<Compiled>, bool)> {
        let jit = self.tiers.jit.as_ref()?;
        let at = self.tiers.kernel.func.entry;
        let is_cold = || self.entries[self.tiers.start.block.index()].versions.is_empty();
        let make = match self.tiers.behind {
            false => Make::Now,
            true if is_cold() && jit.row_versions() == 0 => Make::Never,
            true => Make::Behind(self.background),
        };
        jit.rows(at, sample, make, self.cancel)
    }

    /// Number of versions of grid-row code.
    pub fn row_versions(&self) -> usize {
        self.tiers.jit.as_ref().map_or(0, |jit| jit.row_versions())
    }

    /// Blocks to run warp by warp before grid-row code is requested.
    pub fn blocks_before_rows(&self, plan: &Plan) -> u32 {
        // With background compilation blocks have run before it is requested anyway, and testing this would first have
        // to find all regions.
        (!self.tiers.behind
            && self
                .tiers
                .jit
                .as_ref()
                .is_some_and(|jit| jit.rows_need_a_run((plan.size, plan.all_lanes()), self.cancel)))
        .into()
    }

    /// Whether there may be grid-row code later, if there is none now.
    pub fn rows_may_come(&self) -> bool {
        self.tiers.behind && self.tiers.jit.as_ref().is_some_and(|jit| jit.rows_are_possible())
    }

    /// Runs blocks of a grid row: first and end index along the row, and the difference to the linear index. `shared`
    /// is the initial shared memory.
    pub fn run_row(
        &mut self,
        code: &Compiled,
        warps: &mut [RowWarp],
        (row, linear_more): (Range<u32>, u32),
        view: &mut View<'_>,
        shared: &[u8],
        stop_poll: &dyn StopPoll,
    ) -> RowRun {
        let mut poll = Poll::new(stop_poll, view);
        self.prepare(view, &mut poll);
        let context = &mut *self.context;
        (context.block_x, context.block_end, context.linear_more) = (row.start, row.end, linear_more);
        context.shared_first = shared.as_ptr();
        let start = warps.as_ptr() as usize;
        let flow = code.run_row(context, warps, &self.rights);
        let warp = (context.warp as usize).wrapping_sub(start) / size_of::<RowWarp>();
        // The fuel spent belongs to no single warp.
        context.fuel = FUEL;
        RowRun { flow, block: context.block_x, warp, insts: context.insts, row_insts: context.row_insts }
    }

    /// Guest instructions that one warp of plain grid-row code is counted as.
    pub fn first_insts(&self) -> u64 {
        self.tiers.code.guest_insts(self.tiers.start.block).into()
    }
}
