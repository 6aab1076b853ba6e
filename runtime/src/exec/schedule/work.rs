//! One thread of a launch: its main loop, and what follows a block's slice.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::means::Means;
use super::rows::Rows;
use super::{Bail, OfBlock, Scheduler};
use crate::exec::block::{RunningBlock, Turn};
use crate::exec::block_batch::BlockBatch;
use crate::exec::block_row;
use crate::exec::samples::Sampler;
use crate::exec::strategy::Strategy;
use crate::exec::tiers::{Stepper, Watch};
use crate::fork;

/// A block with more warp instructions than that is reported as done at once, and not with the rest of the thread's
/// batch.
pub(super) const TALK_STEPS: u64 = 1 << 14;
/// Most blocks of a stage that follow each other before a thread looks at anything else.
const MOST_FOLLOWERS: u64 = 64;

/// Progress is told at least so often while blocks end, in grids of which each 256th part takes long.
const LONG_UNTOLD: Duration = Duration::from_millis(100);

/// Slices that a block gets after a higher block has faulted.
const LATE_TURNS: u32 = 64;
/// Time that it gets at least. Slices of a block that waits are short, and what it waits for may come from another lower block.
const LATE_TIME: Duration = Duration::from_millis(50);

impl Scheduler<'_> {
    /// Lets a thread leave that is served: gives back the blocks that it has claimed and not started.
    pub(super) fn go(&self, batch: &mut BlockBatch) {
        self.give_up(std::mem::replace(&mut batch.blocks, 0..0));
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.busy -= 1;
        queue.over |= queue.busy == 0 && queue.suspended.is_empty() && self.all_have_started();
    }

    /// The main loop of one thread.
    pub(super) fn work(&self, watch: Watch, until: Option<Instant>) {
        {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.over {
                return;
            }
            queue.busy += 1;
        }
        let mut bail = Bail { scheduler: self, busy: true };
        let is_late = || until.is_some_and(|until| Instant::now() >= until);
        let lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut vectors = match lent {
            Some((kept, spare)) => {
                let stepper = Stepper::again(kept, self.parts(self.tiers, watch));
                Means { tiers: self.tiers, stepper, spare }
            }
            None => self.means(self.tiers, watch),
        };
        let mut others: [Option<Means<'_>>; Strategy::OTHERS] = Default::default();
        let mut sampler = Sampler::start(watch.sample_rate);
        let mut steps = (0, 0);
        let mut fresh = BlockBatch::new();
        let mut prefer_fresh = self.prefers_fresh.load(Ordering::Relaxed);
        let may = self.rows && !watch.count && !watch.profile;
        let rows_of = |means: &Means<'_>| Rows {
            runner: None,
            block: None,
            wait: (may && block_row::may_run(self.plan, means.tiers))
                .then(|| means.stepper.blocks_before_rows(self.plan)),
            together: 0,
            alone: 0,
        };
        let mut rows = rows_of(&vectors);
        let mut rows_of_warps = None;
        let mut done = 0;
        let mut turns = 0;
        loop {
            // At least one, so that the launch gets on however late the thread is.
            if turns > 0 && is_late() {
                self.prefers_fresh.store(prefer_fresh, Ordering::Relaxed);
                self.go(&mut fresh);
                break;
            }
            turns += 1;
            let strategy = self.strategy();
            let means = self.means_of(strategy, &mut vectors, &mut others, watch);
            let rows = match strategy {
                Strategy::Vectors => Some(&mut rows),
                Strategy::Warps => Some(rows_of_warps.get_or_insert_with(|| rows_of(means))),
                Strategy::Lanes | Strategy::Narrow => None,
            };
            if let Some(rows) = rows {
                match &mut rows.wait {
                    Some(0) if !prefer_fresh && self.waiting.load(Ordering::Relaxed) == 0 => {
                        let means = (strategy, means.tiers, &mut means.stepper);
                        self.rows(means, &mut fresh, rows, &mut steps, &mut done, &is_late);
                    }
                    Some(wait) => *wait = wait.saturating_sub(1),
                    None => {}
                }
            }
            let means = self.means_of(self.strategy(), &mut vectors, &mut others, watch);
            let taken =
                self.take(&mut means.stepper, means.tiers, &mut fresh, &mut means.spare, prefer_fresh);
            let Some(mut block) = taken else { break };
            // A suspended block goes on with the strategy with which it started.
            let means = self.means_of(block.strategy, &mut vectors, &mut others, watch);
            sampler.empty();
            let (index, strategy) = (block.index, block.strategy);
            let stop_poll = OfBlock { scheduler: self, index };
            let started = self.start_clock(means.tiers);
            let turn = block.turn(self.plan, means.tiers, self.memory, &mut means.stepper, &stop_poll);
            let (turn, more) = self.go_on(&mut block, turn, means, &mut fresh, &mut steps);
            done += more;
            self.stop_clock(started, strategy, means.tiers, more + u64::from(matches!(turn, Turn::Done)));
            let Some(block) = self.after_turn(block, turn, &mut done) else {
                prefer_fresh = true;
                continue;
            };
            prefer_fresh = false;
            let (warps, threads) = block.steps();
            steps = (steps.0 + warps, steps.1 + threads);
            means.spare = self.keep(block);
            if fresh.blocks.is_empty() || warps > TALK_STEPS {
                self.tell_done(std::mem::take(&mut done));
            }
        }
        // What is told may panic, and others wait for busy threads.
        bail.busy = false;
        self.tell_done(done);
        if self.plan.may_pause {
            self.give_up(fresh.blocks);
        }
        let samples = sampler.finish();
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let spare = vectors.spare;
        let (kept, counts) = vectors.stepper.leave();
        outcome.kept = Some(kept);
        outcome.counts.add(&counts);
        for other in others.into_iter().flatten() {
            outcome.counts.add(&other.stepper.leave().1);
        }
        outcome.counts.samples.add(&samples);
        outcome.steps = (outcome.steps.0 + steps.0, outcome.steps.1 + steps.1);
        if spare.is_some() {
            outcome.last = spare;
        }
    }

    /// Adds to the number of finished blocks.
    pub(super) fn tell_done(&self, count: u64) {
        if count == 0 {
            return;
        }
        let before = self.done.0.fetch_add(count, Ordering::Relaxed) + self.done_before;
        let done = before + count;
        if let Some(progress) = self.progress {
            let all = self.plan.blocks.end - self.plan.blocks.start;
            let part = (all / 256).max(1);
            if done == all || done / part != before / part || self.is_long_untold() {
                progress(done, all);
                // The child has lost the launch's other threads, their blocks, and the locks they hold.
                assert!(self.process == fork::generation(), "a child of fork cannot go on with a launch");
            }
        }
    }

    /// Whether nothing has been told for a while; the next call counts from now on.
    pub(super) fn is_long_untold(&self) -> bool {
        let Ok(mut told) = self.told.try_lock() else { return false };
        let now = Instant::now();
        let since = *told.get_or_insert(now);
        let long = now.duration_since(since) >= LONG_UNTOLD;
        if long {
            *told = Some(now);
        }
        long
    }

    /// Runs blocks of a stage that follow a finished one, in its storage: single warps, which cost little more than finding the next one
    /// anew. Gives how the last one's slice ended, and how many have ended before it.
    fn go_on(
        &self,
        block: &mut RunningBlock,
        mut turn: Turn,
        means: &mut Means<'_>,
        batch: &mut BlockBatch,
        steps: &mut (u64, u64),
    ) -> (Turn, u64) {
        let mut done = 0;
        if self.plan.stage.is_none() || self.limited || !block.may_be_reset() {
            return (turn, done);
        }
        while matches!(turn, Turn::Done) && done < MOST_FOLLOWERS {
            let next = batch.blocks.start;
            if batch.blocks.is_empty() || self.is_pointless(next) {
                break;
            }
            batch.blocks.start += 1;
            done += 1;
            block.collect(self.plan);
            let (warps, threads) = block.steps();
            *steps = (steps.0 + warps, steps.1 + threads);
            block.reset(self.plan, means.tiers, self.memory, next);
            let stop_poll = OfBlock { scheduler: self, index: next };
            turn = block.turn(self.plan, means.tiers, self.memory, &mut means.stepper, &stop_poll);
        }
        (turn, done)
    }

    /// Handles the end of a block's slice; returns the block if it has finished.
    pub(super) fn after_turn(
        &self,
        mut block: Box<RunningBlock>,
        turn: Turn,
        done: &mut u64,
    ) -> Option<Box<RunningBlock>> {
        match turn {
            Turn::Suspended => {
                let late = self.faulted.load(Ordering::Relaxed) != u64::MAX;
                block.late_turns += u32::from(late);
                let since = late.then(|| *block.late_since.get_or_insert_with(Instant::now));
                if block.late_turns <= LATE_TURNS || since.is_some_and(|since| since.elapsed() < LATE_TIME) {
                    self.suspend(block);
                    return None;
                }
            }
            Turn::Done => {
                block.collect(self.plan);
                *done += 1;
            }
            Turn::Faulted(fault) => self.fail(block.index, fault),
            Turn::Stopped => {}
        }
        // Its suspended calls use memory that the launch is about to unmap.
        block.abandon();
        Some(block)
    }
}
