//! Rows of blocks at a time, where there is code for that (`jit/rows.rs`).
//!
//! One block's warps are set up once and stand for those of every block; the code itself makes of their frames and of shared memory what
//! a block finds. Where warps part, that block goes on by itself from there.

use std::ops::Range;
use std::sync::Arc;

use warpjit_backend::RowWarp;
use warpjit_ir::interp::Frame;
use warpjit_ir::lines::Lines;

use super::block::{InLaunch, RunningBlock, Turn};
use super::jit::{BlockLook, Compiled, RowFlow};
use super::setup::Plan;
use super::tiers::{Stepper, Tiers};

/// What a thread runs rows with.
pub struct RowRunner {
    code: Arc<Compiled>,
    /// It was made for blocks of another kind, when there were so many versions.
    others: Option<usize>,
    block: Box<RunningBlock>,
    /// The warps' frames as blocks find them.
    firsts: Vec<Frame>,
    warps: Vec<RowWarp>,
    /// Shared memory as blocks find it, if the code copies that.
    shared: Lines<u8>,
}

/// How a row ended.
pub struct RowEnd {
    /// Blocks that ended.
    pub blocks: u64,
    /// Warp instructions and thread instructions of them.
    pub steps: (u64, u64),
    /// The block that was the next, and what became of it.
    pub next: NextBlock,
}

/// What became of the first block that code for rows did not run to its end.
pub enum NextBlock {
    /// There is none.
    None,
    /// It was stopped.
    Stopped,
    /// It ran for a turn by itself. Its storage is not as a new block's.
    Alone(Box<RunningBlock>, Turn),
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
        let words: Vec<&[u32]> = frames.iter().map(|frame| frame.words()).collect();
        let (shared, whole) = (plan.shared.len(), plan.all_lanes());
        let look = BlockLook { frames: &words, shared, whole, threads: plan.block };
        let versions = stepper.row_versions();
        let (code, is_own) = stepper.code_for_rows(look)?;
        let firsts: Vec<Frame> = frames.into_iter().cloned().collect();
        let size = if code.copies_shared() { known.shared_with_slack().len() } else { 0 };
        let mut block = block.take()?;
        let warps = block.row_warps(plan, &firsts);
        let shared = Lines::new(size, tiers.start().shared_line);
        Some(RowRunner { code, others: (!is_own).then_some(versions), block, firsts, warps, shared })
    }

    /// Whether there is no code since that may be better.
    pub fn is_best(&self, stepper: &Stepper<'_>) -> bool {
        self.others.is_none_or(|versions| stepper.row_versions() == versions)
    }

    /// Runs blocks from the first of `blocks` to the end of their row, at most those of `blocks`. Where a block had to go on by itself there
    /// is no runner any more.
    pub fn run(
        mut self,
        launch: &InLaunch<'_>,
        stepper: &mut Stepper<'_>,
        blocks: &Range<u64>,
    ) -> (Option<RowRunner>, RowEnd) {
        let plan = launch.plan;
        let first = plan.coordinates(blocks.start)[0];
        let left = u64::from(plan.grid[0] - first).min(blocks.end - blocks.start) as u32;
        self.block.stand_for(plan, launch.tiers, blocks.start, &mut self.firsts);
        if self.code.copies_shared() {
            self.shared.copy_from_slice(self.block.shared_with_slack());
        }
        let linear_more = (blocks.start as u32).wrapping_sub(first);
        let Some(mut view) = self.block.view(plan, launch.memory) else {
            let end = RowEnd { blocks: u64::from(left), steps: (0, 0), next: NextBlock::None };
            return (Some(self), end);
        };
        let at = (first..first + left, linear_more);
        let run = stepper.run_row(&self.code, &mut self.warps, at, &mut view, &self.shared, launch.patience);
        let done = match run.flow {
            RowFlow::Done => left,
            _ => run.block.saturating_sub(first).min(left),
        };
        let insts = match self.code.is_plain_row() {
            true => stepper.first_insts() * u64::from(done),
            false => run.row_insts,
        };
        let threads: u64 = (0..plan.warps).map(|w| u64::from(plan.lane_mask(w).count_ones())).sum();
        let steps = (insts * u64::from(plan.warps), insts * threads);
        stepper.add_threads(steps.1);
        let end = |next| RowEnd { blocks: u64::from(done), steps, next };
        let (at, parted) = match run.flow {
            RowFlow::Done => return (Some(self), end(NextBlock::None)),
            RowFlow::Stopped => return (Some(self), end(NextBlock::Stopped)),
            RowFlow::Suspended(at) => (at, None),
            RowFlow::Parted(parted) => (parted.at, Some((parted, run.warp))),
        };
        let mut block = self.block;
        block.become_later(plan, launch.tiers, blocks.start + u64::from(done), &self.code);
        let turn = match block.take_over(launch, stepper, (at, run.insts), parted) {
            Some(turn) => turn,
            None => block.turn(plan, launch.tiers, launch.memory, stepper, launch.patience),
        };
        (None, end(NextBlock::Alone(block, turn)))
    }
}
