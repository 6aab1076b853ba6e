//! Runs grid rows: all blocks that differ in `ctaid.x` only, in one call of grid-row code (`jit/rows.rs`).
//!
//! One block's warps are set up once, and every block of the row reuses them: the code itself resets their frames and shared
//! memory between blocks. If the warps of a block diverge, the code returns, and that block continues warp by warp.

use std::ops::Range;
use std::sync::Arc;

use warpjit_backend::LINE_BYTES;
use warpjit_backend::RowWarp;
use warpjit_ir::interp::{CacheAligned, Frame, Warp};

use super::block::{InLaunch, RunningBlock, Turn};
use super::jit::{Compiled, RowFlow, SampleBlock};
use super::setup::Plan;
use super::tiers::{Stepper, Tiers};
use crate::CancelToken;

/// A thread's means to run grid rows.
pub struct RowRunner {
    code: Arc<Compiled>,
    /// If the code was made for another block class: how many versions existed when it was chosen.
    others: Option<usize>,
    block: Box<RunningBlock>,
    /// The warps' initial frames.
    firsts: Vec<Frame>,
    warps: Vec<RowWarp>,
    /// Initial shared memory, if the code copies it for each block.
    shared: CacheAligned<u8>,
}

/// The result of running a grid row.
pub struct RowEnd {
    /// Number of blocks that ended.
    pub blocks: u64,
    /// Warp instructions and thread instructions of them.
    pub steps: (u64, u64),
    /// What became of the block after these.
    pub next: NextBlock,
}

/// What became of the first block that grid-row code did not finish.
pub enum NextBlock {
    /// There is none.
    None,
    /// It was stopped.
    Stopped,
    /// It ran for a slice warp by warp. Its storage cannot be reused as a new block's.
    Alone(Box<RunningBlock>, Turn),
}

/// Whether a launch may use grid-row code at all.
pub fn may_run(plan: &Plan, tiers: &Tiers) -> bool {
    tiers.has_code()
        && plan.max_steps == 0
        && plan.slots.is_empty()
        && !plan.segments.have_parts()
        && !tiers.start().uses_local
        && plan.stage.is_none()
}

impl RowRunner {
    /// A runner, if there is code for the block. `block` is kept for the next try.
    pub fn new(
        plan: &Plan,
        tiers: &Tiers,
        stepper: &Stepper<'_>,
        block: &mut Option<Box<RunningBlock>>,
    ) -> Option<RowRunner> {
        if !stepper.may_have_rows() {
            // Return before a block is made; this is the common case for kernels without grid-row code.
            return None;
        }
        let first = || Box::new(RunningBlock::unprepared(plan, tiers, plan.blocks.start));
        let known = block.get_or_insert_with(first);
        let frames = known.frames();
        let words: Vec<&[u32]> = frames.iter().map(|frame| frame.words()).collect();
        let (shared, whole) = (plan.shared.len(), plan.all_lanes());
        let sample = SampleBlock { frames: &words, shared, whole, threads: plan.size };
        let versions = stepper.row_versions();
        let (code, is_own) = stepper.code_for_rows(sample)?;
        let firsts: Vec<Frame> = frames.into_iter().cloned().collect();
        let size = if code.copies_shared() { known.shared_with_slack().len() } else { 0 };
        let mut block = block.take()?;
        let warps = block.row_warps(plan, &firsts);
        let shared = CacheAligned::new(size, tiers.start().shared_line, LINE_BYTES);
        Some(RowRunner { code, others: (!is_own).then_some(versions), block, firsts, warps, shared })
    }

    /// Whether no code has been added since that may fit better.
    pub fn is_best(&self, stepper: &Stepper<'_>) -> bool {
        self.others.is_none_or(|versions| stepper.row_versions() == versions)
    }

    /// Runs blocks from the first of `blocks` to the end of its grid row, at most those of `blocks`. If a block had to
    /// continue warp by warp, the runner is used up.
    pub fn run(
        mut self,
        launch: &InLaunch<'_>,
        stepper: &mut Stepper<'_>,
        blocks: &Range<u64>,
    ) -> (Option<RowRunner>, RowEnd) {
        let plan = launch.plan;
        let first = plan.coordinates(blocks.start)[0];
        let left = plan.row_left(blocks.start).min(blocks.end - blocks.start) as u32;
        self.block.stand_for(plan, launch.tiers, blocks.start, &mut self.firsts);
        if self.code.copies_shared() {
            self.shared.copy_from_slice(self.block.shared_with_slack());
        }
        let linear_more = (plan.linear(blocks.start) as u32).wrapping_sub(first);
        let Some(mut view) = self.block.view(plan, launch.memory) else {
            let end = RowEnd { blocks: u64::from(left), steps: (0, 0), next: NextBlock::None };
            return (Some(self), end);
        };
        let at = (first..first + left, linear_more);
        let run = stepper.run_row(&self.code, &mut self.warps, at, &mut view, &self.shared, launch.stop_poll);
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
            None => block.turn(plan, launch.tiers, launch.memory, stepper, launch.stop_poll),
        };
        (None, end(NextBlock::Alone(block, turn)))
    }
}

impl Tiers {
    /// Compiles what a launch of such a block needs, if code is compiled at all. `false`: it was cancelled.
    pub fn compile_ahead(&self, plan: &Plan, block: &RunningBlock, cancel: &CancelToken) -> bool {
        let Some(jit) = self.jit() else { return true };
        let warps: Vec<&Warp> = block.warps().collect();
        // A launch that waits for its code asks for this of a single block, too, unless it would run warp by warp first.
        let several = plan.blocks.end - plan.blocks.start > 1;
        let asks = || !self.behind() && !jit.rows_need_a_run((plan.size, plan.all_lanes()), Some(cancel));
        let has_rows = may_run(plan, self) && (several || asks());
        let first = has_rows.then(|| RunningBlock::unprepared(plan, self, plan.blocks.start));
        let frames = first.as_ref().map_or_else(Vec::new, |block| block.frames());
        let words: Vec<&[u32]> = frames.iter().map(|frame| frame.words()).collect();
        let (shared, whole) = (plan.shared.len(), plan.all_lanes());
        let sample = SampleBlock { frames: &words, shared, whole, threads: plan.size };
        jit.compile_ahead(&warps, first.is_some().then_some(sample), Some(cancel))
    }
}
