//! Distributes the blocks of a launch over host threads.
//!
//! Blocks start in the order of their indices. A block that does not end within its time slice goes into a queue that all threads
//! share, and a block that has not started takes its place. So a block that waits for another one (a flag in global memory, a
//! ticket) cannot keep it from starting, with one thread or many. When a block ends, the one that has waited longest continues.
//!
//! The fault reported is that of the lowest faulting block, for any number of threads. So when a block faults, blocks with a
//! higher index stop, and lower ones go on. A lower block that waits for a higher one would then never end, so its remaining
//! slices are limited.

use super::background::Background;
use super::block::{BlockFault, InLaunch, RunningBlock, Turn};
use super::block_row::{self, NextBlock, RowRunner};
use super::launch_state::LaunchState;
use super::pool::Pool;
use super::samples::{Sampler, thread_time};
use super::setup::Plan;
use super::stock::Stock;
use super::stop::Stop;
use super::tiers::{Counts, Kept, Patience, Stepper, StepperParts, Tiers, Watch};
use super::ways::Way;
use crate::fork;
use crate::{CancelToken, Memory, Progress, SaveToken};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use warpjit_ir::Function;

#[path = "pausing.rs"]
mod pausing;

use pausing::{Left, Paused};

/// Most blocks suspended at a time. No chip has more resident blocks.
const MOST_SUSPENDED: usize = 256;
/// Most memory of suspended blocks.
const SUSPENDED_BYTES: usize = 256 << 20;
/// Slices that a block gets after a higher block has faulted.
const LATE_TURNS: u32 = 64;
/// Time that it gets at least. Slices of a block that waits are short, and what it waits for may come from another lower block.
const LATE_TIME: Duration = Duration::from_millis(50);

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

/// A block with more warp instructions than that is reported as done at once, and not with the rest of the thread's
/// batch.
const TALK_STEPS: u64 = 1 << 14;
/// Most blocks of a stage that follow each other before a thread looks at anything else.
const MOST_FOLLOWERS: u64 = 64;

/// Keeps a value that threads write often off the cache lines of values that they only read.
#[repr(align(128))]
struct Alone<T>(T);

/// A thread's state for running grid rows.
struct Rows {
    runner: Option<RowRunner>,
    /// A block from which a runner can be made.
    block: Option<Box<RunningBlock>>,
    /// Blocks to run warp by warp before grid-row code is requested; `None`: it is never requested.
    wait: Option<u32>,
    /// Blocks that grid-row code finished (`together`), and blocks that it left to continue warp by warp (`alone`).
    together: u64,
    alone: u64,
}

/// Number of such `alone` blocks that is always tolerated.
const FEW_ALONE: u64 = 4;

/// Blocks to run warp by warp between two requests for grid-row code that is being compiled.
const BLOCKS_MEANWHILE: u32 = 16;
/// Progress is told at least so often while blocks end, in grids of which each 256th part takes long.
const LONG_UNTOLD: Duration = Duration::from_millis(100);

struct Queue {
    suspended: VecDeque<Box<RunningBlock>>,
    /// Threads that have work or may find some.
    busy: usize,
    /// The launch is over.
    over: bool,
}

/// Makes the [`Tiers`] that run blocks another way.
type MakeOthers<'a> = &'a (dyn Fn(Way) -> Option<Arc<Tiers>> + Sync);

/// A thread's state for running blocks one way.
struct Means<'s> {
    tiers: &'s Tiers,
    stepper: Stepper<'s>,
    /// A finished block whose storage can be reused.
    spare: Option<Box<RunningBlock>>,
}

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
    /// Makes the tiers that run blocks in other ways, if that is allowed; `others` holds the results.
    make_others: Option<MakeOthers<'a>>,
    others: [OnceLock<Option<Arc<Tiers>>>; Way::OTHERS],
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

/// A block to start.
enum Fresh {
    /// This one.
    Block(Box<RunningBlock>),
    /// There is one, but the guest's memory for warps has no room for it.
    NoRoom,
    /// There is none.
    None,
}

/// Answers the polls of a running block.
struct OfBlock<'s, 'a> {
    scheduler: &'s Scheduler<'a>,
    index: u64,
}

impl Patience for OfBlock<'_, '_> {
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
struct Bail<'s, 'a>(&'s Scheduler<'a>);

impl Drop for Bail<'_, '_> {
    fn drop(&mut self) {
        // In a child of `fork` no thread waits, and the lock may be held for ever.
        if std::thread::panicking() && self.0.process == fork::generation() {
            self.0.faulted.store(0, Ordering::Relaxed);
            self.0.queue.lock().unwrap_or_else(PoisonError::into_inner).busy -= 1;
            self.0.wake.notify_all();
        }
    }
}

/// Most blocks in the queue. Each thread may still add one more.
fn most_suspended(plan: &Plan, tiers: &Tiers) -> usize {
    let bytes = RunningBlock::bytes(plan, tiers).max(1);
    (SUSPENDED_BYTES / bytes).clamp(2, MOST_SUSPENDED)
}

/// Most blocks that exist at a time in a launch on `threads` threads. These are the blocks in the queue; for each
/// thread the one that it runs, one for reuse for each way, and one that it may add to a full queue; and the one whose
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

    /// Allows running blocks in other ways where that is faster. `make` makes the tiers for them.
    pub fn allow_others(&mut self, make: MakeOthers<'a>) {
        // With room for few blocks, a thread could keep more than its share for reuse.
        if self.tiers.may_part() && !self.limited {
            self.make_others = Some(make);
        }
    }

    /// The way that the next block goes.
    fn way(&self) -> Way {
        if self.make_others.is_none() {
            return Way::Vectors;
        }
        loop {
            let way = self.tiers.choice().way();
            if way == Way::Vectors || self.other(way).is_some() {
                return way;
            }
            self.tiers.choice().give_up(way);
        }
    }

    /// The tiers that run blocks in a way other than vectors.
    fn other(&self, way: Way) -> Option<&Tiers> {
        let cell = &self.others[way.other()?];
        cell.get_or_init(|| self.make_others.and_then(|make| make(way))).as_deref()
    }

    /// The way that these tiers run blocks.
    fn way_of(&self, tiers: &Tiers) -> Way {
        let is = |cell: &OnceLock<Option<Arc<Tiers>>>| {
            cell.get().is_some_and(|other| other.as_deref().is_some_and(|other| std::ptr::eq(other, tiers)))
        };
        self.others.iter().position(is).map_or(Way::Vectors, Way::of_other)
    }

    /// A thread's state for a way; `vectors` where there is no code for it.
    fn means_of<'m, 's>(
        &'s self,
        way: Way,
        vectors: &'m mut Means<'s>,
        others: &'m mut [Option<Means<'s>>; Way::OTHERS],
        watch: Watch,
    ) -> &'m mut Means<'s> {
        let Some(other) = way.other().map(|number| &mut others[number]) else { return vectors };
        if other.is_none() {
            *other = self.other(way).map(|tiers| self.means(tiers, watch));
        }
        other.as_mut().unwrap_or(vectors)
    }

    /// If blocks are being timed: this thread's processor time and the compile time so far.
    fn start_clock(&self, tiers: &Tiers) -> Option<(Duration, Duration)> {
        let measures = self.make_others.is_some() && self.tiers.choice().is_measuring();
        measures.then(|| (thread_time(), tiers.compile_times().0))
    }

    /// Reports blocks that have run since the clock was started. Compile time in between is subtracted.
    fn stop_clock(&self, started: Option<(Duration, Duration)>, way: Way, tiers: &Tiers, blocks: u64) {
        match started {
            Some((start, compiling)) if tiers.compile_times().0 == compiling => {
                self.tiers.choice().took(way, blocks, thread_time().saturating_sub(start));
            }
            Some(_) => {}
            None if self.make_others.is_some() => self.tiers.choice().ran(blocks),
            None => {}
        }
    }

    /// What steppers of this launch are made for.
    fn parts<'s>(&'s self, tiers: &'s Tiers, watch: Watch) -> StepperParts<'s> {
        let &Scheduler { plan, memory, background, cancel, .. } = self;
        StepperParts { tiers, plan, memory, background, cancel, watch }
    }

    /// A thread's state for running blocks one way.
    fn means<'s>(&'s self, tiers: &'s Tiers, watch: Watch) -> Means<'s> {
        let stepper = Stepper::new(self.parts(tiers, watch));
        Means { tiers, stepper, spare: None }
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

    /// Lets a thread leave that is served: gives back the blocks that it has claimed and not started.
    fn go(&self, stock: &mut Stock) {
        self.give_up(std::mem::replace(&mut stock.blocks, 0..0));
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.busy -= 1;
        queue.over |= queue.busy == 0 && queue.suspended.is_empty() && self.all_have_started();
    }

    /// The main loop of one thread.
    fn work(&self, watch: Watch, until: Option<Instant>) {
        {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.over {
                return;
            }
            queue.busy += 1;
        }
        let _bail = Bail(self);
        let is_late = || until.is_some_and(|until| Instant::now() >= until);
        let lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut vectors = match lent {
            Some((kept, spare)) => {
                let stepper = Stepper::again(kept, self.parts(self.tiers, watch));
                Means { tiers: self.tiers, stepper, spare }
            }
            None => self.means(self.tiers, watch),
        };
        let mut others: [Option<Means<'_>>; Way::OTHERS] = Default::default();
        let mut sampler = Sampler::start(watch.sample_rate);
        let mut steps = (0, 0);
        let mut fresh = Stock::new();
        let mut prefer_fresh = self.prefers_fresh.load(Ordering::Relaxed);
        let mut done = 0;
        let may = self.rows && !watch.count && !watch.profile;
        let mut rows = Rows {
            runner: None,
            block: None,
            wait: may.then(|| vectors.stepper.blocks_before_rows(self.plan)),
            together: 0,
            alone: 0,
        };
        let mut turns = 0;
        loop {
            // At least one, so that the launch gets on however late the thread is.
            if turns > 0 && is_late() {
                self.prefers_fresh.store(prefer_fresh, Ordering::Relaxed);
                self.go(&mut fresh);
                break;
            }
            turns += 1;
            let way = self.way();
            match &mut rows.wait {
                _ if way != Way::Vectors => {}
                Some(0) if !prefer_fresh && self.waiting.load(Ordering::Relaxed) == 0 => {
                    self.rows(&mut vectors.stepper, &mut fresh, &mut rows, &mut steps, &mut done, &is_late);
                }
                Some(wait) => *wait = wait.saturating_sub(1),
                None => {}
            }
            let means = self.means_of(self.way(), &mut vectors, &mut others, watch);
            let taken =
                self.take(&mut means.stepper, means.tiers, &mut fresh, &mut means.spare, prefer_fresh);
            let Some(mut block) = taken else { break };
            // A suspended block continues the way in which it started.
            let means = self.means_of(block.way, &mut vectors, &mut others, watch);
            sampler.empty();
            let (index, way) = (block.index, block.way);
            let patience = OfBlock { scheduler: self, index };
            let started = self.start_clock(means.tiers);
            let turn = block.turn(self.plan, means.tiers, self.memory, &mut means.stepper, &patience);
            let (turn, more) = self.go_on(&mut block, turn, means, &mut fresh, &mut steps);
            done += more;
            self.stop_clock(started, way, means.tiers, more + u64::from(matches!(turn, Turn::Done)));
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
    fn tell_done(&self, count: u64) {
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
    fn is_long_untold(&self) -> bool {
        let Ok(mut told) = self.told.try_lock() else { return false };
        let now = Instant::now();
        let since = *told.get_or_insert(now);
        let long = now.duration_since(since) >= LONG_UNTOLD;
        if long {
            *told = Some(now);
        }
        long
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

    fn suspend(&self, block: Box<RunningBlock>) {
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
    fn keep(&self, block: Box<RunningBlock>) -> Option<Box<RunningBlock>> {
        if block.may_be_reset() {
            return Some(block);
        }
        self.give_back(&mut Some(block));
        None
    }

    /// If room is limited, releases the room of a block that this thread does not reuse next.
    fn give_back(&self, spare: &mut Option<Box<RunningBlock>>) {
        if self.limited && spare.take().is_some() {
            self.wake_those_without_room();
        }
    }

    /// Wakes threads that wait for room: there is some now, or no block is left to start.
    fn wake_those_without_room(&self) {
        // After this lock, a thread that has just found no room is either waiting or will look again.
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }

    /// Claims blocks for a thread whose batch is empty.
    fn fill(&self, stock: &mut Stock) {
        if stock.blocks.is_empty()
            && let Some(blocks) = self.take_left(u64::MAX)
        {
            stock.blocks = blocks;
            return;
        }
        stock.fill(&self.next.0, self.plan.blocks.end, self.threads);
    }

    /// Runs the thread's batch with grid-row code, as long as there is some.
    fn rows(
        &self,
        stepper: &mut Stepper<'_>,
        stock: &mut Stock,
        rows: &mut Rows,
        steps: &mut (u64, u64),
        done: &mut u64,
        is_late: &dyn Fn() -> bool,
    ) {
        loop {
            if self.plan.may_pause && self.count_and_ask() {
                return;
            }
            self.fill(stock);
            if stock.blocks.is_empty() || self.is_pointless(stock.blocks.start) || self.way() != Way::Vectors
            {
                return;
            }
            let runner = match rows.runner.take().filter(|runner| runner.is_best(stepper)) {
                Some(runner) => runner,
                None => match RowRunner::new(self.plan, self.tiers, stepper, &mut rows.block) {
                    Some(runner) => runner,
                    None => {
                        rows.wait = stepper.rows_may_come().then_some(BLOCKS_MEANWHILE);
                        return;
                    }
                },
            };
            let patience = OfBlock { scheduler: self, index: stock.blocks.start };
            let launch =
                InLaunch { plan: self.plan, tiers: self.tiers, memory: self.memory, patience: &patience };
            let started = self.start_clock(self.tiers);
            let (runner, end) = runner.run(&launch, stepper, &stock.blocks);
            self.stop_clock(started, Way::Vectors, self.tiers, end.blocks);
            rows.runner = runner;
            let (warps, threads) = end.steps;
            *steps = (steps.0 + warps, steps.1 + threads);
            *done += end.blocks;
            stock.blocks.start += end.blocks;
            rows.together += end.blocks;
            match end.next {
                NextBlock::None => {}
                NextBlock::Stopped => stock.blocks.start += 1,
                NextBlock::Alone(block, turn) => {
                    stock.blocks.start += 1;
                    rows.alone += 1;
                    if let Some(block) = self.after_turn(block, turn, done) {
                        let (warps, threads) = block.steps();
                        *steps = (steps.0 + warps, steps.1 + threads);
                    }
                }
            }
            if stock.blocks.is_empty() || warps > TALK_STEPS {
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

    /// Runs blocks of a stage that follow a finished one, in its storage: single warps, which cost little more than finding the next one
    /// anew. Gives how the last one's slice ended, and how many have ended before it.
    fn go_on(
        &self,
        block: &mut RunningBlock,
        mut turn: Turn,
        means: &mut Means<'_>,
        stock: &mut Stock,
        steps: &mut (u64, u64),
    ) -> (Turn, u64) {
        let mut done = 0;
        if self.plan.stage.is_none() || self.limited || !block.may_be_reset() {
            return (turn, done);
        }
        while matches!(turn, Turn::Done) && done < MOST_FOLLOWERS {
            let next = stock.blocks.start;
            if stock.blocks.is_empty() || self.is_pointless(next) {
                break;
            }
            stock.blocks.start += 1;
            done += 1;
            block.collect(self.plan);
            let (warps, threads) = block.steps();
            *steps = (steps.0 + warps, steps.1 + threads);
            block.reset(self.plan, means.tiers, self.memory, next);
            let patience = OfBlock { scheduler: self, index: next };
            turn = block.turn(self.plan, means.tiers, self.memory, &mut means.stepper, &patience);
        }
        (turn, done)
    }

    /// Handles the end of a block's slice; returns the block if it has finished.
    fn after_turn(
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

    /// The next block to start, from the thread's batch if it has one.
    fn fresh(
        &self,
        stepper: &mut Stepper<'_>,
        tiers: &Tiers,
        stock: &mut Stock,
        spare: &mut Option<Box<RunningBlock>>,
    ) -> Fresh {
        let mut place = None;
        if self.limited {
            // Take the room first, then the block. So blocks start in order, as on the hardware, and a block may wait
            // for lower ones.
            if self.all_have_started() {
                return Fresh::None;
            }
            if spare.is_none() {
                place = self.plan.segments.take_place();
                if place.is_none() {
                    return Fresh::NoRoom;
                }
            }
        }
        let index = loop {
            if !self.limited {
                self.fill(stock);
            } else if let Some(blocks) = self.take_left(1) {
                stock.blocks = blocks;
            } else {
                stock.take_one(&self.next.0, self.plan.blocks.end);
            }
            let Some(index) = stock.blocks.next() else { return Fresh::None };
            if !self.is_pointless(index) {
                break index;
            }
            // All blocks after it are pointless too; some before it may be left.
            stock.blocks = index..index;
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
                let place = place.or_else(|| self.plan.segments.take_place());
                let mut block =
                    Box::new(RunningBlock::new(self.plan, tiers, self.memory, stepper, index, place));
                block.way = self.way_of(tiers);
                block
            }
        })
    }

    /// The next block for this thread; `None` when the launch is over.
    fn take(
        &self,
        stepper: &mut Stepper<'_>,
        tiers: &Tiers,
        stock: &mut Stock,
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
                match self.fresh(stepper, tiers, stock, spare) {
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
                self.go(stock);
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
