//! Blocks over host threads.
//!
//! Blocks start in order of their index. A block that does not end within its slice is put in a queue that all
//! threads share, and one that has not started yet takes its place: so a block that waits for another one (a
//! flag in global memory, a ticket) cannot keep it from starting, with one thread or with many. A
//! block that ends is followed by the one that has waited longest.
//!
//! When a block faults, those of lower index go on, because the fault reported is the one of the lowest block,
//! whatever the number of threads; those of higher index stop. A lower block that waits for a higher one would never
//! end then, so its patience is limited.

use super::background::Background;
use super::block::{BlockFault, InLaunch, RunningBlock, Turn};
use super::block_row::{self, NextBlock, RowRunner};
use super::pool::Pool;
use super::setup::Plan;
use super::stock::Stock;
use super::tiers::{Counts, Patience, Stepper, Tiers, Watch};
use super::ways::Way;
use crate::fork;
use crate::profile::Sampler;
use crate::{CancelToken, Memory, Progress};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Most blocks that may be suspended at a time, as no chip has more resident.
const MOST_SUSPENDED: usize = 256;
/// Memory that suspended blocks may take.
const SUSPENDED_BYTES: usize = 256 << 20;
/// Turns that a block has after one above it has faulted.
const LATE_TURNS: u32 = 64;

/// What the scheduler says in the end.
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
}

/// Warp instructions of a block after which a thread says that it is done, though it has more at hand.
const TALK_STEPS: u64 = 1 << 14;

/// Something that threads change often, away from what they only read.
#[repr(align(128))]
struct Alone<T>(T);

/// A thread's means to run rows of blocks.
struct Rows {
    runner: Option<RowRunner>,
    /// The block that a runner is made of.
    block: Option<Box<RunningBlock>>,
    /// Blocks to run one by one before code for rows is asked for; none if it never is.
    wait: Option<u32>,
    /// Blocks that code for rows ran to their ends, and those that had to go on by themselves.
    together: u64,
    alone: u64,
}

/// So many blocks may have to go on by themselves before it matters.
const FEW_ALONE: u64 = 4;

/// Blocks that run one by one while code for rows is being compiled.
const BLOCKS_MEANWHILE: u32 = 16;

struct Queue {
    suspended: VecDeque<Box<RunningBlock>>,
    /// Threads that have or may find something to do.
    busy: usize,
    /// Nothing is left to do; threads that come now are too late.
    over: bool,
}

/// Makes what runs blocks lane by lane.
type MakeLanes<'a> = &'a (dyn Fn() -> Option<Arc<Tiers>> + Sync);

/// A thread's means to run blocks one way.
struct Means<'s> {
    tiers: &'s Tiers,
    stepper: Stepper<'s>,
    /// A block that is over, to be used again.
    spare: Option<Box<RunningBlock>>,
}

/// Everything that the threads of a launch share.
pub struct Scheduler<'a> {
    plan: &'a Plan,
    tiers: &'a Tiers,
    memory: &'a Memory,
    background: &'a Background,
    cancel: Option<&'a CancelToken>,
    progress: Option<&'a Progress>,
    threads: usize,
    /// Rows of blocks may be run at once.
    rows: bool,
    /// Makes what runs blocks lane by lane, where they may go that way; and what it has made.
    make_lanes: Option<MakeLanes<'a>>,
    lanes: OnceLock<Option<Arc<Tiers>>>,
    /// Fewer blocks may exist at a time than threads and queue could hold, because the guest's memory for warps has room for so many.
    limited: bool,
    most_suspended: usize,
    next: Alone<AtomicU64>,
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Length of the queue, to read without the lock.
    waiting: AtomicUsize,
    /// Index of the lowest block that has faulted.
    faulted: AtomicU64,
    done: Alone<AtomicU64>,
    cancelled: AtomicBool,
    outcome: Mutex<Outcome>,
    /// The process that it was made in.
    process: u64,
}

/// A block to start.
enum Fresh {
    /// This one.
    Block(Box<RunningBlock>),
    /// There is one, but no room for it in the guest's memory for warps.
    NoRoom,
    /// There is none.
    None,
}

/// What a running block asks.
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
}

/// If a thread panics (a bug of ours), the others must not wait for it.
struct Bail<'s, 'a>(&'s Scheduler<'a>);

impl Drop for Bail<'_, '_> {
    fn drop(&mut self) {
        // In a child of `fork` nobody waits, and the lock may be held for ever.
        if std::thread::panicking() && self.0.process == fork::generation() {
            self.0.faulted.store(0, Ordering::Relaxed);
            self.0.queue.lock().unwrap_or_else(PoisonError::into_inner).busy -= 1;
            self.0.wake.notify_all();
        }
    }
}

/// Most blocks that wait in the queue, but that each thread may add one more.
fn most_suspended(plan: &Plan, tiers: &Tiers) -> usize {
    let bytes = RunningBlock::bytes(plan, tiers).max(1);
    (SUSPENDED_BYTES / bytes).clamp(2, MOST_SUSPENDED)
}

/// Most blocks that exist at a time in a launch on so many threads: those in the queue, and for each thread one that
/// it runs, one that it keeps to use again for each way, and the one that it may add to a full queue; and the one whose
/// registers are kept in the end.
pub fn most_blocks(plan: &Plan, tiers: &Tiers, threads: usize) -> u32 {
    let all = most_suspended(plan, tiers).saturating_add(threads.saturating_mul(4)).saturating_add(1);
    // No more than the launch has; those kept are blocks as well.
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
            progress: None,
            threads,
            rows: false,
            make_lanes: None,
            lanes: OnceLock::new(),
            limited: plan.segments.are_limited() && plan.blocks.end - plan.blocks.start > 1,
            most_suspended: most_suspended(plan, tiers),
            next: Alone(AtomicU64::new(plan.blocks.start)),
            queue: Mutex::new(Queue { suspended: VecDeque::new(), busy: 0, over: false }),
            wake: Condvar::new(),
            waiting: AtomicUsize::new(0),
            faulted: AtomicU64::new(u64::MAX),
            done: Alone(AtomicU64::new(0)),
            cancelled: AtomicBool::new(false),
            outcome: Mutex::default(),
            process: fork::generation(),
        }
    }

    /// Allows rows of blocks to be run at once, where nobody wants to see what a block leaves in registers or shared memory.
    pub fn allow_rows(&mut self) {
        self.rows = block_row::may_run(self.plan, self.tiers);
    }

    /// Allows blocks to go lane by lane, where that is quicker; `make` makes what is needed for that.
    pub fn allow_lanes(&mut self, make: MakeLanes<'a>) {
        // Where there is room for few blocks, a thread could keep more than its share.
        if self.tiers.may_part() && !self.limited {
            self.make_lanes = Some(make);
        }
    }

    /// The way that the next block goes.
    fn way(&self) -> Way {
        if self.make_lanes.is_none() || self.tiers.choice().way() == Way::Vectors {
            return Way::Vectors;
        }
        match self.lanes() {
            Some(_) => Way::Lanes,
            None => {
                self.tiers.choice().give_up();
                Way::Vectors
            }
        }
    }

    /// What runs blocks lane by lane.
    fn lanes(&self) -> Option<&Tiers> {
        self.lanes.get_or_init(|| self.make_lanes.and_then(|make| make())).as_deref()
    }

    /// The clock and the time spent compiling, where blocks are timed.
    fn start_clock(&self, tiers: &Tiers) -> Option<(Instant, Duration)> {
        let measures = self.make_lanes.is_some() && self.tiers.choice().is_measuring();
        measures.then(|| (Instant::now(), tiers.compile_times().0))
    }

    /// Blocks have run since the clock was started. What was compiled meanwhile is not theirs.
    fn stop_clock(&self, started: Option<(Instant, Duration)>, way: Way, tiers: &Tiers, blocks: u64) {
        match started {
            Some((start, compiling)) if tiers.compile_times().0 == compiling => {
                self.tiers.choice().took(way, blocks, start.elapsed());
            }
            Some(_) => {}
            None if self.make_lanes.is_some() => self.tiers.choice().ran(blocks),
            None => {}
        }
    }

    /// A thread's means to run blocks one way.
    fn means<'s>(&'s self, tiers: &'s Tiers, watch: Watch) -> Means<'s> {
        let stepper = Stepper::new(tiers, self.plan, self.memory, self.background, self.cancel, watch);
        Means { tiers, stepper, spare: None }
    }

    /// Stops when the token says so.
    pub fn cancel_by(&mut self, cancel: Option<&'a CancelToken>) {
        self.cancel = cancel;
    }

    /// Tells how far the launch is.
    pub fn tell(&mut self, progress: Option<&'a Progress>) {
        self.progress = progress;
    }

    /// Runs all blocks.
    pub fn run(self, pool: &Pool, watch: Watch) -> Outcome {
        pool.run(self.threads - 1, &|| self.work(watch));
        let mut outcome = self.outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcome.blocks = self.done.0.into_inner();
        outcome.cancelled = self.cancelled.into_inner();
        outcome
    }

    fn is_cancelled(&self) -> bool {
        if self.cancel.is_some_and(CancelToken::is_cancelled) {
            self.cancelled.store(true, Ordering::Relaxed);
            return true;
        }
        false
    }

    /// Whether a block need not go on.
    fn is_pointless(&self, index: u64) -> bool {
        index > self.faulted.load(Ordering::Relaxed) || self.is_cancelled()
    }

    /// One thread's part.
    fn work(&self, watch: Watch) {
        {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.over {
                return;
            }
            queue.busy += 1;
        }
        let _bail = Bail(self);
        let mut vectors = self.means(self.tiers, watch);
        let mut lanes: Option<Means<'_>> = None;
        let mut sampler = Sampler::start(watch.sample_rate);
        let mut steps = (0, 0);
        let mut fresh = Stock::new();
        let mut prefer_fresh = false;
        let mut done = 0;
        let may = self.rows && !watch.count && !watch.profile;
        let mut rows = Rows {
            runner: None,
            block: None,
            wait: may.then(|| vectors.stepper.blocks_before_rows(self.plan)),
            together: 0,
            alone: 0,
        };
        loop {
            let way = self.way();
            match &mut rows.wait {
                _ if way == Way::Lanes => {}
                Some(0) if !prefer_fresh && self.waiting.load(Ordering::Relaxed) == 0 => {
                    self.rows(&mut vectors.stepper, &mut fresh, &mut rows, &mut steps, &mut done);
                }
                Some(wait) => *wait = wait.saturating_sub(1),
                None => {}
            }
            let way = self.way();
            if way == Way::Lanes && lanes.is_none() {
                lanes = self.lanes().map(|tiers| self.means(tiers, watch));
            }
            let means = match (way, &mut lanes) {
                (Way::Lanes, Some(lanes)) => lanes,
                _ => &mut vectors,
            };
            let taken =
                self.take(&mut means.stepper, means.tiers, &mut fresh, &mut means.spare, prefer_fresh);
            let Some(mut block) = taken else { break };
            // One that was suspended goes on as it has begun.
            if block.way == Way::Lanes && lanes.is_none() {
                lanes = self.lanes().map(|tiers| self.means(tiers, watch));
            }
            let means = match (block.way, &mut lanes) {
                (Way::Lanes, Some(lanes)) => lanes,
                _ => &mut vectors,
            };
            sampler.empty();
            let (index, way) = (block.index, block.way);
            let patience = OfBlock { scheduler: self, index };
            let started = self.start_clock(means.tiers);
            let turn = block.turn(self.plan, means.tiers, self.memory, &mut means.stepper, &patience);
            self.stop_clock(started, way, means.tiers, matches!(turn, Turn::Done).into());
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
        let samples = sampler.finish();
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let spare = vectors.spare;
        for stepper in [Some(vectors.stepper), lanes.map(|lanes| lanes.stepper)].into_iter().flatten() {
            outcome.counts.add(&stepper.into_counts());
        }
        outcome.counts.samples.add(&samples);
        outcome.steps = (outcome.steps.0 + steps.0, outcome.steps.1 + steps.1);
        if spare.is_some() {
            outcome.last = spare;
        }
    }

    /// Adds blocks to those that are done.
    fn tell_done(&self, count: u64) {
        if count == 0 {
            return;
        }
        let before = self.done.0.fetch_add(count, Ordering::Relaxed);
        let done = before + count;
        if let Some(progress) = self.progress {
            let all = self.plan.blocks.end - self.plan.blocks.start;
            let part = (all / 256).max(1);
            if done == all || done / part != before / part {
                progress(done, all);
                // What other threads of the launch have begun is lost, and their locks with it.
                assert!(self.process == fork::generation(), "a child of fork cannot go on with a launch");
            }
        }
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
            // They wait for different things.
            self.wake.notify_all();
        } else {
            self.wake.notify_one();
        }
    }

    /// Keeps a block that is over for the next one, if it can be used again.
    fn keep(&self, block: Box<RunningBlock>) -> Option<Box<RunningBlock>> {
        if block.may_be_reset() {
            return Some(block);
        }
        self.give_back(&mut Some(block));
        None
    }

    /// Lets others have the room of a block that this thread does not use next, where room is limited.
    fn give_back(&self, spare: &mut Option<Box<RunningBlock>>) {
        if self.limited && spare.take().is_some() {
            self.wake_those_without_room();
        }
    }

    /// Wakes threads that wait for room, since there is some or no block is left to start.
    fn wake_those_without_room(&self) {
        // A thread that has just found none waits by now, or looks again.
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }

    /// Takes blocks that have not started yet for a thread that has none.
    fn fill(&self, stock: &mut Stock) {
        stock.fill(&self.next.0, self.plan.blocks.end, self.threads);
    }

    /// Runs blocks that have not started yet by rows, while there is code for that.
    fn rows(
        &self,
        stepper: &mut Stepper<'_>,
        stock: &mut Stock,
        rows: &mut Rows,
        steps: &mut (u64, u64),
        done: &mut u64,
    ) {
        loop {
            self.fill(stock);
            if stock.blocks.is_empty() || self.is_pointless(stock.blocks.start) || self.way() == Way::Lanes {
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
                // Blocks go their own ways: one by one costs less.
                rows.wait = None;
                return;
            }
            if self.waiting.load(Ordering::Relaxed) > 0 {
                return;
            }
        }
    }

    /// What follows from a turn of a block; gives the block if it is over.
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
                if block.late_turns <= LATE_TURNS {
                    self.suspend(block);
                    return None;
                }
            }
            Turn::Done => *done += 1,
            Turn::Faulted(fault) => self.fail(block.index, fault),
            Turn::Stopped => {}
        }
        // What its warps are in the midst of needs memory that the launch gives back.
        block.abandon();
        Some(block)
    }

    /// A block that has not started yet, from the thread's own small stock if there is one.
    fn fresh(
        &self,
        stepper: &mut Stepper<'_>,
        tiers: &Tiers,
        stock: &mut Stock,
        spare: &mut Option<Box<RunningBlock>>,
    ) -> Fresh {
        let mut place = None;
        if self.limited {
            // First the room, then the block: so blocks start in order, as on the hardware, and one may wait for those before it.
            if self.next.0.load(Ordering::Relaxed) >= self.plan.blocks.end {
                return Fresh::None;
            }
            if spare.is_none() {
                place = self.plan.segments.take_place();
                if place.is_none() {
                    return Fresh::NoRoom;
                }
            }
            stock.take_one(&self.next.0, self.plan.blocks.end);
        } else {
            self.fill(stock);
        }
        let Some(index) = stock.blocks.next() else { return Fresh::None };
        if self.is_pointless(index) {
            // So are all after it.
            stock.blocks = index..index;
            self.next.0.store(self.plan.blocks.end, Ordering::Relaxed);
            return Fresh::None;
        }
        Fresh::Block(match spare.take() {
            Some(mut block) => {
                block.reset(self.plan, tiers, self.memory, index);
                block
            }
            None => {
                let place = place.or_else(|| self.plan.segments.take_place());
                let mut block =
                    Box::new(RunningBlock::new(self.plan, tiers, self.memory, stepper, index, place));
                block.way = if std::ptr::eq(tiers, self.tiers) { Way::Vectors } else { Way::Lanes };
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
                        let steps = block.steps();
                        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
                        outcome.steps = (outcome.steps.0 + steps.0, outcome.steps.1 + steps.1);
                        drop(outcome);
                        self.give_back(&mut Some(block));
                        continue;
                    }
                    Some(block) => return Some(block),
                    None => continue,
                }
            }
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if no_room {
                // Blocks that run have the room, or were suspended meanwhile. This thread has one to start, and so is not idle.
                let left = || self.next.0.load(Ordering::Relaxed) < self.plan.blocks.end;
                while queue.suspended.is_empty() && !self.plan.segments.have_room() && left() {
                    queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                continue;
            }
            // Nothing here: others may suspend something yet.
            queue.busy -= 1;
            if queue.busy == 0 && queue.suspended.is_empty() {
                queue.over = true;
                drop(queue);
                self.wake.notify_all();
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
