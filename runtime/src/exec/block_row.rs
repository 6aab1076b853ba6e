//! Rows of blocks at a time, where there is code for that (`jit/rows.rs`).
//!
//! One block's warps are set up once; since the code writes no slot and no shared memory, they stand for those of every block.

use std::ops::Range;
use std::sync::Arc;

use warpjit_backend::RowWarp;

use super::block::{BlockFault, RunningBlock};
use super::jit::{BlockLook, Compiled, RegionFlow};
use super::setup::Plan;
use super::tiers::{Patience, Stepper, Tiers};
use crate::Memory;

/// What a thread runs rows with.
pub struct RowRunner {
    code: Arc<Compiled>,
    block: Box<RunningBlock>,
    warps: Vec<RowWarp>,
}

/// How a row ended.
pub struct RowEnd {
    /// Blocks that ended.
    pub blocks: u64,
    /// The block that faulted, and how.
    pub fault: Option<(u64, BlockFault)>,
    /// The block behind them was stopped.
    pub stopped: bool,
}

/// Whether rows may be run in a launch at all.
pub fn may_run(plan: &Plan, tiers: &Tiers) -> bool {
    tiers.has_code()
        && plan.max_steps == 0
        && plan.slots.is_empty()
        && !plan.segments.have_places()
        && !tiers.start().uses_local
}

impl RowRunner {
    /// A runner, if there is code for it. `block` is kept for the next try.
    pub fn new(
        plan: &Plan,
        tiers: &Tiers,
        stepper: &Stepper<'_>,
        block: &mut Option<Box<RunningBlock>>,
    ) -> Option<RowRunner> {
        if !stepper.may_have_rows() {
            // Most launches of other kernels come by here: no block is made for them.
            return None;
        }
        let first = || Box::new(RunningBlock::unprepared(plan, tiers, plan.blocks.start));
        let known = block.get_or_insert_with(first);
        let frames = known.frames();
        let whole = plan.all_lanes();
        let code = stepper.code_for_rows(BlockLook { frames: &frames, shared: plan.shared.len(), whole })?;
        let mut block = block.take()?;
        let warps = block.row_warps(plan);
        Some(RowRunner { code, block, warps })
    }

    /// Runs blocks from the first of `blocks` to the end of their row, at most those of `blocks`.
    pub fn run(
        &mut self,
        plan: &Plan,
        tiers: &Tiers,
        memory: &Memory,
        stepper: &mut Stepper<'_>,
        blocks: &Range<u64>,
        patience: &dyn Patience,
    ) -> RowEnd {
        let first = plan.coordinates(blocks.start)[0];
        let left = u64::from(plan.grid[0] - first).min(blocks.end - blocks.start) as u32;
        self.block.stand_for(plan, tiers, blocks.start);
        let linear_more = (blocks.start as u32).wrapping_sub(first);
        let Some(mut view) = self.block.view(plan, memory) else {
            return RowEnd { blocks: u64::from(left), fault: None, stopped: false };
        };
        let at = (first..first + left, linear_more);
        let (flow, reached, warp) = stepper.run_row(&self.code, &mut self.warps, at, &mut view, patience);
        let done = match flow {
            RegionFlow::Exit(..) => left,
            _ => reached.saturating_sub(first).min(left),
        };
        stepper.add_threads(RowRunner::steps(plan, stepper, u64::from(done)).1);
        let index = blocks.start + u64::from(done);
        let fault = match flow {
            RegionFlow::Fault(fault) => {
                let (pc, lane) = (fault.pc, fault.lane);
                Some((index, BlockFault { fault: Some(fault), pc, warp: warp as u32, lane }))
            }
            _ => None,
        };
        RowEnd { blocks: u64::from(done), fault, stopped: matches!(flow, RegionFlow::Stopped) }
    }

    /// What blocks have executed: (by warps, by threads).
    pub fn steps(plan: &Plan, stepper: &Stepper<'_>, blocks: u64) -> (u64, u64) {
        let insts = stepper.first_insts() * blocks;
        let threads: u64 = (0..plan.warps).map(|w| u64::from(plan.lane_mask(w).count_ones())).sum();
        (insts * u64::from(plan.warps), insts * threads)
    }
}
