//! Distributes the blocks of a launch over host threads.
//!
//! Blocks start in the order of their indices. A block that does not end within its time slice goes into a queue that all threads
//! share, and a block that has not started takes its place. So a block that waits for another one (a flag in global memory, a
//! ticket) cannot keep it from starting, with one thread or many. When a block ends, the one that has waited longest continues.
//!
//! The fault reported is that of the lowest faulting block, for any number of threads. So when a block faults, blocks with a
//! higher index stop, and lower ones go on. A lower block that waits for a higher one would then never end, so its remaining
//! slices are limited.
//!
//! If a ring limits how many blocks can exist, a thread first takes a part of the ring, then the next block, so that blocks start in
//! order. A thread that gets no part resumes a suspended block or waits; one that does not need its part gives it back.

use super::block::{BlockFault, RunningBlock};
use super::block_row;
use super::compiler_threads::Background;
use super::launch_state::LaunchState;
use super::pool::Pool;
use super::setup::Plan;
use super::stop::Stop;
use super::strategy::Strategy;
use super::tiers::{Counts, Kept, StopPoll, Tiers, Watch};
use crate::fork;
use crate::{CancelToken, Memory, Progress, SaveToken};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Instant;
use warpjit_ir::Function;

mod means;
mod pausing;
mod queue;
mod rows;
mod work;

use pausing::{Left, Paused};

/// Most blocks suspended at a time. No chip has more resident blocks.
const MOST_SUSPENDED: usize = 256;
/// Most memory of suspended blocks.
const SUSPENDED_BYTES: usize = 256 << 20;

/// The result of a launch.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The fault of the lowest block, with its index.
    pub fault: Option<(u64, BlockFault)>,
    /// Sum over threads.
    pub counts: Counts,
    /// Blocks that ended.
    pub blocks: u64,
    /// Warp instructions and thread instructions.
    pub steps: (u64, u64),
    /// The block that ended last on any thread: for registers of launches of one block.
    pub last: Option<Box<RunningBlock>>,
    /// Whether the launch was cancelled before it ended.
    pub cancelled: bool,
    /// What the thread that ended last leaves for the next launch ([`Scheduler::lend`]).
    pub kept: Option<Kept>,
    /// The state of the launch, if it was stopped to be saved.
    pub saved: Option<LaunchState>,
}

/// Keeps a value that threads write often off the cache lines of values that they only read.
#[repr(align(128))]
struct Alone<T>(T);

struct Queue {
    suspended: VecDeque<Box<RunningBlock>>,
    /// Threads that have work or may find some.
    busy: usize,
    /// The launch is over.
    over: bool,
}

/// Makes the [`Tiers`] for a strategy other than vectors.
type MakeOthers<'a> = &'a (dyn Fn(Strategy) -> Option<Arc<Tiers>> + Sync);

/// Everything that the threads of a launch share.
pub struct Scheduler<'a> {
    plan: &'a Plan,
    tiers: &'a Tiers,
    memory: &'a Memory,
    background: &'a Background,
    cancel: Option<&'a CancelToken>,
    /// What else stops the launch.
    stop: Stop<'a>,
    progress: Option<&'a Progress>,
    /// When it was last told because it had not been for a while.
    told: Mutex<Option<Instant>>,
    threads: usize,
    /// Whether threads come and go, and none waits for others ([`Scheduler::serve`]).
    served: bool,
    /// What an earlier launch of the same kernel has left, for the first thread.
    lent: Mutex<Option<Lent>>,
    /// Whether grid-row code may be used.
    rows: bool,
    /// Makes the tiers for other strategies, if these are allowed; `others` holds the results.
    make_others: Option<MakeOthers<'a>>,
    others: [OnceLock<Option<Arc<Tiers>>>; Strategy::OTHERS],
    /// Whether the guest's memory for warps (a ring) has room for fewer blocks than threads and queue could hold.
    limited: bool,
    most_suspended: usize,
    /// Whether the thread that was served last had put a block aside: the next one starts another block, which this one may wait for.
    prefers_fresh: AtomicBool,
    next: Alone<AtomicU64>,
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Length of the queue, to read without the lock.
    waiting: AtomicUsize,
    /// Index of the lowest block that has faulted.
    faulted: AtomicU64,
    done: Alone<AtomicU64>,
    /// Blocks that had ended before a launch was saved that this one goes on with.
    done_before: u64,
    /// What may pause the launch, and the kernel as it was lifted.
    save: Option<(&'a SaveToken, &'a Function)>,
    /// Blocks below `next` that are left to start, and whether there are any.
    left: Left,
    has_left: AtomicBool,
    cancelled: AtomicBool,
    outcome: Mutex<Outcome>,
    /// The process that it was made in.
    process: u64,
}

/// What a launch leaves for the next one of the same kernel: a stepper's storage, and a block that can be reset.
pub type Lent = (Kept, Option<Box<RunningBlock>>);

/// Answers the polls of a running block.
struct OfBlock<'s, 'a> {
    scheduler: &'s Scheduler<'a>,
    index: u64,
}

impl StopPoll for OfBlock<'_, '_> {
    fn stop(&self) -> bool {
        self.scheduler.is_pointless(self.index)
    }

    fn is_late(&self) -> bool {
        self.scheduler.faulted.load(Ordering::Relaxed) != u64::MAX
    }

    fn pause(&self) -> bool {
        self.scheduler.count_and_ask()
    }

    fn is_paused(&self) -> bool {
        self.scheduler.is_paused()
    }
}

/// Ends the launch if a thread panics (a bug of ours), so that the others do not wait for it.
struct Bail<'s, 'a> {
    scheduler: &'s Scheduler<'a>,
    /// Whether the thread still counts as busy.
    busy: bool,
}

impl Drop for Bail<'_, '_> {
    fn drop(&mut self) {
        // In a child of `fork` no thread waits, and the lock may be held for ever.
        if std::thread::panicking() && self.scheduler.process == fork::generation() {
            self.scheduler.faulted.store(0, Ordering::Relaxed);
            let mut queue = self.scheduler.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.busy -= usize::from(self.busy);
            drop(queue);
            self.scheduler.wake.notify_all();
        }
    }
}

/// Most blocks in the queue. Each thread may still add one more.
fn most_suspended(plan: &Plan, tiers: &Tiers) -> usize {
    let bytes = RunningBlock::bytes(plan, tiers).max(1);
    (SUSPENDED_BYTES / bytes).clamp(2, MOST_SUSPENDED)
}

/// Most blocks that exist at a time in a launch on `threads` threads. These are the blocks in the queue; for each
/// thread the one that it runs, one for reuse for each strategy, and one that it may add to a full queue; and the one whose
/// registers are kept at the end.
pub fn most_blocks(plan: &Plan, tiers: &Tiers, threads: usize) -> u32 {
    let all = most_suspended(plan, tiers).saturating_add(threads.saturating_mul(5)).saturating_add(1);
    // A launch never has more blocks than this. Kept blocks count too.
    let blocks = usize::try_from(plan.blocks.end - plan.blocks.start).unwrap_or(usize::MAX).max(1);
    u32::try_from(all.min(blocks)).unwrap_or(u32::MAX)
}

impl<'a> Scheduler<'a> {
    /// Prepares a launch on `threads` threads.
    pub fn new(
        plan: &'a Plan,
        tiers: &'a Tiers,
        memory: &'a Memory,
        background: &'a Background,
        threads: usize,
    ) -> Self {
        let threads = threads
            .clamp(1, usize::try_from(plan.blocks.end - plan.blocks.start).unwrap_or(usize::MAX).max(1));
        Scheduler {
            plan,
            tiers,
            memory,
            background,
            cancel: None,
            stop: Stop::default(),
            progress: None,
            told: Mutex::new(None),
            threads,
            served: false,
            lent: Mutex::new(None),
            rows: false,
            make_others: None,
            others: Default::default(),
            limited: plan.segments.are_limited() && plan.blocks.end - plan.blocks.start > 1,
            most_suspended: most_suspended(plan, tiers),
            prefers_fresh: AtomicBool::new(false),
            next: Alone(AtomicU64::new(plan.blocks.start)),
            queue: Mutex::new(Queue { suspended: VecDeque::new(), busy: 0, over: false }),
            wake: Condvar::new(),
            waiting: AtomicUsize::new(0),
            faulted: AtomicU64::new(u64::MAX),
            done: Alone(AtomicU64::new(0)),
            done_before: 0,
            save: None,
            left: Left::default(),
            has_left: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            outcome: Mutex::default(),
            process: fork::generation(),
        }
    }

    /// Allows grid-row code. It does not preserve the registers and shared memory of each block for the launch to
    /// capture.
    pub fn allow_rows(&mut self) {
        self.rows = block_row::may_run(self.plan, self.tiers);
    }

    /// Allows other strategies than vectors where they are faster. `make` makes the tiers for them.
    pub fn allow_others(&mut self, make: MakeOthers<'a>) {
        // With room for few blocks, a thread could keep more than its share for reuse.
        if self.tiers.may_part() && !self.limited {
            self.make_others = Some(make);
        }
    }

    /// Lets the token cancel the launch.
    pub fn cancel_by(&mut self, cancel: Option<&'a CancelToken>) {
        self.cancel = cancel;
    }

    /// Lets also this stop the launch.
    pub fn stop_by(&mut self, stop: Stop<'a>) {
        self.stop = stop;
    }

    /// Lends a thread what an earlier launch of the same kernel has left.
    pub fn lend(&mut self, lent: Lent) {
        self.lent = Mutex::new(Some(lent));
    }

    /// Reports how far the launch is.
    pub fn tell(&mut self, progress: Option<&'a Progress>) {
        self.progress = progress;
    }

    /// Runs all blocks, or until it is paused.
    pub fn run(mut self, pool: &Pool, watch: Watch) -> Outcome {
        let saved = loop {
            pool.run(self.threads - 1, &|| self.work(watch, None));
            match self.look_at_pause(watch) {
                Paused::No => break None,
                Paused::GoOn => {}
                Paused::Here(state) => break Some(state),
            }
        };
        Outcome { saved, ..self.outcome() }
    }

    /// What has come of it, once all threads are out.
    pub fn outcome(&self) -> Outcome {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let mut outcome = std::mem::take(&mut *outcome);
        outcome.blocks = self.done.0.load(Ordering::Relaxed);
        outcome.cancelled = self.cancelled.load(Ordering::Relaxed);
        outcome
    }

    /// For a launch in a queue: lets threads come and go.
    pub fn be_served(&mut self) {
        self.served = true;
    }

    /// Most threads that may serve at a time.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs blocks on this thread until `until`, or as long as it finds some. Unlike in [`Scheduler::run`], it waits for no other
    /// thread.
    pub fn serve(&self, watch: Watch, until: Instant) {
        self.work(watch, Some(until));
    }

    /// Whether another thread would find something to do.
    pub fn has_work(&self) -> bool {
        if self.limited && self.waiting.load(Ordering::Relaxed) == 0 && !self.plan.segments.have_room() {
            return false;
        }
        self.waiting.load(Ordering::Relaxed) > 0 || !self.all_have_started()
    }

    /// Whether all blocks have ended. Threads may still be on their way out.
    pub fn is_over(&self) -> bool {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).over
    }

    fn is_cancelled(&self) -> bool {
        if self.cancel.is_some_and(CancelToken::is_cancelled) || self.stop.is_asked() {
            self.cancelled.store(true, Ordering::Relaxed);
            return true;
        }
        false
    }

    /// Whether a block need not continue.
    fn is_pointless(&self, index: u64) -> bool {
        index > self.faulted.load(Ordering::Relaxed) || self.is_cancelled()
    }

    /// Adds what a block has executed that is not run to its end.
    fn add_steps(&self, (warps, threads): (u64, u64)) {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.steps = (outcome.steps.0 + warps, outcome.steps.1 + threads);
    }

    fn fail(&self, index: u64, fault: BlockFault) {
        self.faulted.fetch_min(index, Ordering::Relaxed);
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if outcome.fault.is_none_or(|(lowest, _)| index < lowest) {
            outcome.fault = Some((index, fault));
        }
    }
}
