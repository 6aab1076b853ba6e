//! Which block a thread runs next: one that has waited longest, or one that has not started. Blocks that are suspended, and storage of
//! blocks that have ended.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::Scheduler;
use crate::exec::block::RunningBlock;
use crate::exec::block_batch::BlockBatch;
use crate::exec::tiers::{Stepper, Tiers};

/// A block to start.
enum Fresh {
    /// This one.
    Block(Box<RunningBlock>),
    /// There is one, but the guest's memory for warps has no room for it.
    NoRoom,
    /// There is none.
    None,
}

impl Scheduler<'_> {
    pub(super) fn suspend(&self, block: Box<RunningBlock>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.suspended.push_back(block);
        self.waiting.store(queue.suspended.len(), Ordering::Relaxed);
        drop(queue);
        if self.limited {
            // Wake all, because they wait for different things.
            self.wake.notify_all();
        } else {
            self.wake.notify_one();
        }
    }

    /// Keeps a finished block for reuse, if it can be reset.
    pub(super) fn keep(&self, block: Box<RunningBlock>) -> Option<Box<RunningBlock>> {
        if block.may_be_reset() {
            return Some(block);
        }
        self.give_back(&mut Some(block));
        None
    }

    /// If room is limited, releases the room of a block that this thread does not reuse next.
    pub(super) fn give_back(&self, spare: &mut Option<Box<RunningBlock>>) {
        if self.limited && spare.take().is_some() {
            self.wake_those_without_room();
        }
    }

    /// Wakes threads that wait for room: there is some now, or no block is left to start.
    pub(super) fn wake_those_without_room(&self) {
        // After this lock, a thread that has just found no room is either waiting or will look again.
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }

    /// Claims blocks for a thread whose batch is empty.
    pub(super) fn fill(&self, batch: &mut BlockBatch) {
        if batch.blocks.is_empty()
            && let Some(blocks) = self.take_left(u64::MAX)
        {
            batch.blocks = blocks;
            return;
        }
        batch.fill(&self.next.0, self.plan.blocks.end, self.threads);
    }

    /// The next block to start, from the thread's batch if it has one.
    fn fresh(
        &self,
        stepper: &mut Stepper<'_>,
        tiers: &Tiers,
        batch: &mut BlockBatch,
        spare: &mut Option<Box<RunningBlock>>,
    ) -> Fresh {
        let mut part = None;
        if self.limited {
            // Take the room first, then the block. So blocks start in order, as on the hardware, and a block may wait
            // for lower ones.
            if self.all_have_started() {
                return Fresh::None;
            }
            if spare.is_none() {
                part = self.plan.segments.take_part();
                if part.is_none() {
                    return Fresh::NoRoom;
                }
            }
        }
        let index = loop {
            if !self.limited {
                self.fill(batch);
            } else if let Some(blocks) = self.take_left(1) {
                batch.blocks = blocks;
            } else {
                batch.take_one(&self.next.0, self.plan.blocks.end);
            }
            let Some(index) = batch.blocks.next() else { return Fresh::None };
            if !self.is_pointless(index) {
                break index;
            }
            // All blocks after it are pointless too; some before it may be left.
            batch.blocks = index..index;
            self.start_none_in_vain(self.is_cancelled());
            if !self.has_left.load(Ordering::Relaxed) {
                return Fresh::None;
            }
        };
        Fresh::Block(match spare.take() {
            Some(mut block) => {
                block.reset(self.plan, tiers, self.memory, index);
                block
            }
            None => {
                let part = part.or_else(|| self.plan.segments.take_part());
                let mut block =
                    Box::new(RunningBlock::new(self.plan, tiers, self.memory, stepper, index, part));
                block.strategy = self.strategy_of(tiers);
                block
            }
        })
    }

    /// The next block for this thread; `None` when the launch is over.
    pub(super) fn take(
        &self,
        stepper: &mut Stepper<'_>,
        tiers: &Tiers,
        batch: &mut BlockBatch,
        spare: &mut Option<Box<RunningBlock>>,
        prefer_fresh: bool,
    ) -> Option<Box<RunningBlock>> {
        loop {
            if self.plan.may_pause && self.is_paused() {
                self.leave();
                return None;
            }
            let waiting = self.waiting.load(Ordering::Relaxed);
            let mut no_room = false;
            if waiting == 0 || prefer_fresh && waiting < self.most_suspended {
                match self.fresh(stepper, tiers, batch, spare) {
                    Fresh::Block(block) => return Some(block),
                    Fresh::NoRoom => no_room = true,
                    Fresh::None if self.limited => self.wake_those_without_room(),
                    Fresh::None => {}
                }
            }
            self.give_back(spare);
            if waiting > 0 {
                let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                let block = queue.suspended.pop_front();
                self.waiting.store(queue.suspended.len(), Ordering::Relaxed);
                drop(queue);
                match block {
                    Some(block) if self.is_pointless(block.index) => {
                        self.add_steps(block.steps());
                        self.give_back(&mut Some(block));
                        continue;
                    }
                    Some(block) => return Some(block),
                    None => continue,
                }
            }
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if no_room && self.served {
                // This thread leaves; those that have the room go on.
                drop(queue);
                self.go(batch);
                return None;
            }
            if no_room {
                // The room is taken by blocks that run or have been suspended meanwhile. This thread still has a block
                // to start, so it counts as busy.
                let left = || !self.all_have_started() && !self.is_paused();
                while queue.suspended.is_empty() && !self.plan.segments.have_room() && left() {
                    queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                continue;
            }
            // Nothing to do now, but other threads may still suspend a block.
            if self.served && self.has_left.load(Ordering::Relaxed) {
                // Another thread has just left.
                continue;
            }
            queue.busy -= 1;
            if queue.busy == 0 && queue.suspended.is_empty() {
                queue.over = true;
                drop(queue);
                self.wake.notify_all();
                return None;
            }
            if self.served {
                return None;
            }
            while queue.suspended.is_empty() && queue.busy > 0 {
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            if queue.suspended.is_empty() {
                return None;
            }
            queue.busy += 1;
        }
    }
}
