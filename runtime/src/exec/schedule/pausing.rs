//! Stops a launch between regions, so that it can be saved, and starts one from what was saved.
//!
//! When a launch is to stop, each thread suspends its block at the next end of a block or region and leaves. Then all blocks that
//! exist are in the queue, and those that have not started are known by their indices. That is the state of the launch, with
//! what it provides to the guest: locks of words of global memory, and memory segments.
//!
//! Launches that may be paused run code that leaves regions within bounded time ([`crate::variant::Variant::bounded`]).

use super::{OfBlock, Scheduler};
use crate::exec::block::{Portable, RunningBlock};
use crate::exec::launch_state::LaunchState;
use crate::exec::tiers::Watch;
use crate::{Error, SaveToken, StateError};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use warpjit_ir::Function;

/// Most blocks that a thread takes at a time of those that were left.
const MOST_AT_A_TIME: u64 = 64;

/// Blocks that have not started although later ones have, because the launch was paused in between.
#[derive(Debug, Default)]
pub(super) struct Left(Mutex<Vec<Range<u64>>>);

impl Left {
    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Range<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a pause ends.
pub(super) enum Paused {
    /// There is none: the launch is over.
    No,
    /// The launch has to go on, because a block has faulted.
    GoOn,
    /// The launch is in this state.
    Here(LaunchState),
}

impl<'a> Scheduler<'a> {
    /// Lets the token pause the launch of a kernel, given as it was lifted.
    pub fn pause_by(&mut self, save: Option<&'a SaveToken>, function: &'a Function) {
        self.save = save.map(|token| (token, function));
    }

    /// Whether the launch is to stop to be saved. A launch that has a fault goes on until the lowest block with one is known.
    pub(super) fn is_paused(&self) -> bool {
        self.save.is_some_and(|(token, _)| token.is_asked())
            && self.faulted.load(Ordering::Relaxed) == u64::MAX
    }

    /// Counts a block or region that a warp has run, and tells whether the launch is to stop.
    pub(super) fn count_and_ask(&self) -> bool {
        if let Some((token, _)) = self.save {
            token.count();
        }
        self.is_paused()
    }

    /// Lets a thread leave a launch that is paused.
    pub(super) fn leave(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).busy -= 1;
        self.wake.notify_all();
    }

    /// Whether no block is left to start.
    pub(super) fn all_have_started(&self) -> bool {
        self.next.0.load(Ordering::Relaxed) >= self.plan.blocks.end && !self.has_left.load(Ordering::Relaxed)
    }

    /// Gives back blocks that a thread has claimed and not started.
    pub(super) fn give_up(&self, blocks: Range<u64>) {
        self.give_up_all(&[blocks]);
    }

    /// The same for several ranges.
    fn give_up_all(&self, ranges: &[Range<u64>]) {
        let mut list = self.left.list();
        let had = list.len();
        list.extend(ranges.iter().filter(|range| !range.is_empty()).cloned());
        if list.len() == had {
            return;
        }
        list.sort_unstable_by_key(|range| range.start);
        self.has_left.store(true, Ordering::Relaxed);
    }

    /// Claims some of the first blocks that are left.
    pub(super) fn take_left(&self, most: u64) -> Option<Range<u64>> {
        if !self.has_left.load(Ordering::Relaxed) {
            return None;
        }
        let mut list = self.left.list();
        let first = list.first_mut()?;
        let share = (first.end - first.start).div_ceil(self.threads as u64 * 8).min(most.min(MOST_AT_A_TIME));
        let taken = first.start..first.start + share;
        first.start = taken.end;
        if first.is_empty() {
            list.remove(0);
        }
        self.has_left.store(!list.is_empty(), Ordering::Relaxed);
        Some(taken)
    }

    /// Forgets all blocks that are left to start.
    pub(super) fn start_no_more(&self) {
        self.next.0.store(self.plan.blocks.end, Ordering::Relaxed);
        self.left.list().clear();
        self.has_left.store(false, Ordering::Relaxed);
    }

    /// After a block was found pointless: forgets those behind the block that has faulted, or all if the launch is cancelled. Those
    /// before it may fault, too, and the lowest one counts.
    pub(super) fn start_none_in_vain(&self, cancelled: bool) {
        if cancelled {
            return self.start_no_more();
        }
        // Blocks that are left were claimed in order, so no block before the one that has faulted is beyond `next`.
        self.next.0.store(self.plan.blocks.end, Ordering::Relaxed);
        let end = self.faulted.load(Ordering::Relaxed).saturating_add(1);
        let mut list = self.left.list();
        list.iter_mut().for_each(|range| range.end = range.end.min(end));
        list.retain(|range| range.start < range.end);
        self.has_left.store(!list.is_empty(), Ordering::Relaxed);
    }

    /// After all threads have left: the state of the launch, if it was paused.
    pub(super) fn look_at_pause(&mut self, watch: Watch) -> Paused {
        let Some((_, function)) = self.save else { return Paused::No };
        let queue = self.queue.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut blocks = std::mem::take(&mut queue.suspended);
        self.waiting.store(0, Ordering::Relaxed);
        let nothing = blocks.is_empty() && self.all_have_started();
        if nothing || *self.cancelled.get_mut() || self.is_cancelled() {
            return Paused::No;
        }
        let portable = Portable::new(function);
        let this = &*self;
        let mut vectors = this.means(this.tiers, watch);
        let mut others = Default::default();
        blocks.retain_mut(|block| {
            let means = this.means_of(block.strategy, &mut vectors, &mut others, watch);
            let stop_poll = OfBlock { scheduler: this, index: block.index };
            let launch = (this.plan, means.tiers, this.memory);
            match block.come_to_rest(launch, &portable, &mut means.stepper, &stop_poll) {
                Ok(()) => true,
                Err(fault) => {
                    this.fail(block.index, fault);
                    this.add_steps(block.steps());
                    false
                }
            }
        });
        // What was executed on the way to rest counts, too.
        let steppers = others.into_iter().flatten().chain([vectors]).map(|means| means.stepper);
        let mut outcome = this.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        steppers.for_each(|stepper| outcome.counts.add(&stepper.into_counts()));
        drop(outcome);
        if this.faulted.load(Ordering::Relaxed) != u64::MAX {
            this.waiting.store(blocks.len(), Ordering::Relaxed);
            let mut queue = this.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.suspended = blocks;
            queue.over = false;
            return Paused::GoOn;
        }
        let state = |block: &mut Box<RunningBlock>| {
            let tiers = this.other(block.strategy).unwrap_or(this.tiers);
            block.state(this.plan, tiers, this.memory, &portable)
        };
        let blocks = blocks.iter_mut().map(state).collect();
        let mut unstarted = this.left.list().clone();
        let next = this.next.0.load(Ordering::Relaxed);
        if next < this.plan.blocks.end {
            unstarted.push(next..this.plan.blocks.end);
        }
        let segments = this.plan.segments.contents(this.memory, None, this.plan.warps);
        Paused::Here(LaunchState { blocks, unstarted, locks: this.plan.locks.taken(), segments })
    }

    /// Starts from a state that was saved, and not from the first block. Nothing of the state is trusted.
    ///
    /// # Errors
    /// It is no state of such a launch.
    pub fn start_from(
        &mut self,
        state: &LaunchState,
        function: &Function,
        watch: Watch,
    ) -> Result<(), Error> {
        let plan = self.plan;
        if !state.is_sound(&plan.blocks) {
            return Err(StateError::OtherBlocks.into());
        }
        let (found, wanted) = (state.segments.len() as u64, plan.segments.kept_bytes(None, plan.warps));
        if found != wanted {
            return Err(StateError::Segments { found, wanted }.into());
        }
        let portable = Portable::new(function);
        let this = &*self;
        let mut means = this.means(this.tiers, watch);
        let launch = (plan, this.tiers, this.memory);
        let mut blocks = Vec::new();
        for state in &state.blocks {
            let block = RunningBlock::with_state(launch, &portable, &mut means.stepper, state);
            blocks.push(block.map_err(|reason| StateError::Block { reason })?);
        }
        plan.segments.put_back(this.memory, None, plan.warps, &state.segments);
        for &word in &state.locks {
            plan.locks.take(word);
        }
        this.start_no_more();
        this.give_up_all(&state.unstarted);
        let all = plan.blocks.end - plan.blocks.start;
        drop(means);
        self.done_before = all.saturating_sub(state.blocks_left());
        self.waiting.store(blocks.len(), Ordering::Relaxed);
        let queue = self.queue.get_mut().unwrap_or_else(PoisonError::into_inner);
        queue.suspended = blocks.into();
        Ok(())
    }
}
