//! Grid rows: a thread runs the blocks that it has claimed with grid-row code, as long as few of them leave it.

use std::sync::atomic::Ordering;

use super::work::TALK_STEPS;
use super::{OfBlock, Scheduler};
use crate::exec::block::{InLaunch, RunningBlock};
use crate::exec::block_batch::BlockBatch;
use crate::exec::block_row::{NextBlock, RowRunner};
use crate::exec::strategy::Strategy;
use crate::exec::tiers::{Stepper, Tiers};

/// A thread's state for running grid rows with one strategy.
pub(super) struct Rows {
    pub(super) runner: Option<RowRunner>,
    /// A block from which a runner can be made.
    pub(super) block: Option<Box<RunningBlock>>,
    /// Blocks to run warp by warp before grid-row code is requested; `None`: it is never requested.
    pub(super) wait: Option<u32>,
    /// Blocks that grid-row code finished (`together`), and blocks that it left to continue warp by warp (`alone`).
    pub(super) together: u64,
    pub(super) alone: u64,
}

/// Number of such `alone` blocks that is always tolerated.
const FEW_ALONE: u64 = 4;

/// Blocks to run warp by warp between two requests for grid-row code that is being compiled.
const BLOCKS_MEANWHILE: u32 = 16;
impl Scheduler<'_> {
    /// Runs the thread's batch with grid-row code of a strategy, as long as there is some.
    pub(super) fn rows(
        &self,
        (strategy, tiers, stepper): (Strategy, &Tiers, &mut Stepper<'_>),
        batch: &mut BlockBatch,
        rows: &mut Rows,
        steps: &mut (u64, u64),
        done: &mut u64,
        is_late: &dyn Fn() -> bool,
    ) {
        loop {
            if self.plan.may_pause && self.count_and_ask() {
                return;
            }
            self.fill(batch);
            if batch.blocks.is_empty() || self.is_pointless(batch.blocks.start) || self.strategy() != strategy
            {
                return;
            }
            let runner = match rows.runner.take().filter(|runner| runner.is_best(stepper)) {
                Some(runner) => runner,
                None => match RowRunner::new(self.plan, tiers, stepper, &mut rows.block) {
                    Some(runner) => runner,
                    None => {
                        rows.wait = stepper.rows_may_come().then_some(BLOCKS_MEANWHILE);
                        return;
                    }
                },
            };
            let stop_poll = OfBlock { scheduler: self, index: batch.blocks.start };
            let launch = InLaunch { plan: self.plan, tiers, memory: self.memory, stop_poll: &stop_poll };
            let started = self.start_clock(tiers);
            let (runner, end) = runner.run(&launch, stepper, &batch.blocks);
            self.stop_clock(started, strategy, tiers, end.blocks);
            rows.runner = runner;
            let (warps, threads) = end.steps;
            *steps = (steps.0 + warps, steps.1 + threads);
            *done += end.blocks;
            batch.blocks.start += end.blocks;
            rows.together += end.blocks;
            match end.next {
                NextBlock::None => {}
                NextBlock::Stopped => batch.blocks.start += 1,
                NextBlock::Alone(mut block, turn) => {
                    block.strategy = strategy;
                    batch.blocks.start += 1;
                    rows.alone += 1;
                    if let Some(block) = self.after_turn(block, turn, done) {
                        let (warps, threads) = block.steps();
                        *steps = (steps.0 + warps, steps.1 + threads);
                    }
                }
            }
            if batch.blocks.is_empty() || warps > TALK_STEPS {
                self.tell_done(std::mem::take(done));
            }
            if rows.alone > FEW_ALONE && rows.alone > rows.together / 4 {
                // Too many blocks diverge: running them warp by warp costs less.
                rows.wait = None;
                return;
            }
            if self.waiting.load(Ordering::Relaxed) > 0 || is_late() {
                return;
            }
        }
    }
}
