//! The engine: runs launches of programs on guest memory, and gives a report of each ([`crate::outcome`]).

use crate::exec::compiler_threads::{Background, Limits};
use crate::exec::pool::Pool;
use crate::exec::setup::Plan;
use crate::exec::{Outcome, Scheduler, Watch, most_blocks};
use crate::fork::Section;
use crate::outcome::{describe, registers, stats};
use crate::saved::Identity;
use crate::stage::{Batch, Canvas, StageRun, Work};
use crate::variant::{Needs, Variant};
use crate::{
    CancelToken, Config, ConfigError, Error, Fault, Launch, LaunchError, Memory, Program, Progress, Report,
    SavedLaunch, Tier,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Runs launches with the settings of a [`Config`].
///
/// One engine serves any number of programs, memories and threads. Besides the settings it holds threads that wait for
/// the next launch, and one that compiles in the background ([`crate::Tier::Auto`]). When its last clone is dropped, it
/// waits for the region that is being compiled, and drops other requests.
///
/// ```
/// use warpjit_runtime::{Config, Engine, HostLevel, Tier};
///
/// let engine = Engine::new(Config::default().threads(2).tier(Tier::Auto).host(HostLevel::Avx2))?;
/// assert_eq!(engine.config().thread_count(), 2);
/// // Clones share the threads.
/// let other = engine.clone();
/// std::thread::spawn(move || other.wait_for_compiler()).join().map_err(|_| "panicked")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Engine {
    config: Config,
    pub(crate) pool: Arc<Pool>,
    pub(crate) background: Arc<Background>,
    handlers: Arc<Handlers>,
}

/// When the engine last checked that its signal handlers are installed. A check needs a system call, which a small
/// launch would feel.
#[derive(Debug)]
struct Handlers {
    made: Instant,
    /// Nanoseconds from `start` to the last check; 0 before the first one.
    looked: AtomicU64,
}

/// Nanoseconds for which a check is valid.
const LOOK_AGAIN: u64 = 20_000;

/// More parts of segments than any engine gives blocks at a time.
const MOST_PARTS: u32 = 1 << 15;

/// Most threads of an engine, and of its compiler.
const MOST_THREADS: usize = 4096;

impl Engine {
    /// Checks the settings and installs the signal handlers that compiled code needs.
    pub fn new(config: Config) -> Result<Self, Error> {
        if let Some(groups) = config.chunk_groups
            && !matches!(groups, 0 | 1 | 2 | 4 | 8 | 16)
        {
            return Err(ConfigError::Chunk { groups }.into());
        }
        for threads in [config.threads, config.compiler_threads] {
            if threads > MOST_THREADS {
                return Err(ConfigError::Threads { threads, limit: MOST_THREADS }.into());
            }
        }
        if config.signals == crate::Signals::Embedder {
            crate::vm::leave_to_embedder();
        }
        config.ensure_handlers()?;
        if config.observe.perf {
            crate::debug::open_perf()?;
        }
        let handlers = Arc::new(Handlers { made: Instant::now(), looked: AtomicU64::new(0) });
        let pool = Arc::new(Pool::new(config.thread_count(), config.idle));
        let background = Arc::new(Background::new(Limits {
            threads: config.compiler_threads.max(1),
            nice: config.compiler_nice,
            waiting: config.compiler_queue.unwrap_or(usize::MAX),
        }));
        Ok(Engine { config, pool, background, handlers })
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Installs the signal handlers again if somebody has replaced them ([`crate::Signals::Own`]). A launch does that by
    /// itself, unless another launch has done it within the last 20 microseconds. So this is only needed between
    /// installing a handler and launching at once.
    ///
    /// # Errors
    ///
    /// [`Error::Os`] where the system refuses it.
    pub fn ensure_handlers(&self) -> Result<(), Error> {
        self.config.ensure_handlers()
    }

    /// The same at the start of a launch.
    pub(crate) fn look_at_handlers(&self, start: Instant) -> Result<(), Error> {
        let now = start.duration_since(self.handlers.made).as_nanos() as u64;
        let looked = self.handlers.looked.load(Ordering::Relaxed);
        if looked == 0 || now.saturating_sub(looked) > LOOK_AGAIN {
            self.config.ensure_handlers()?;
            self.handlers.looked.store(now.max(1), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Works on this thread for `time`: runs what queues have ([`crate::Queue`]) and helps with launches of other threads. It sleeps
    /// while there is nothing to do, and gives whether there was anything. For [`crate::Idle::Embedder`], where nobody else does; with the
    /// engine's own threads this is one more.
    ///
    /// It stays longer where a launch lets it: it leaves a queue's launch between two blocks or slices of blocks, but the launch of
    /// [`Engine::run`] that it helps with only when nothing is left to do in it. Even with no time it does one thing, if there is one.
    ///
    /// # Panics
    /// Never by callbacks of submissions: their panics come out of [`crate::Ticket::wait`].
    pub fn work(&self, time: std::time::Duration) -> bool {
        let until = Instant::now() + time.min(std::time::Duration::from_secs(1 << 30));
        crate::vm::on_enough_stack(|| self.pool.work(until, &|| false))
    }

    /// One with the same settings and no threads, for a job of this engine's own threads, which must not keep them.
    pub(crate) fn without_threads(&self) -> Engine {
        Engine {
            config: self.config.clone(),
            pool: Arc::default(),
            background: Arc::default(),
            handlers: self.handlers.clone(),
        }
    }

    /// Makes an empty guest address space.
    pub fn memory(&self) -> Result<Memory, Error> {
        Memory::new()
    }

    /// Waits until all code that launches have requested so far is compiled ([`crate::Tier::Auto`]). Later launches
    /// start with it. Nothing that was requested is dropped, so afterwards all of it is there, unless the code generator has refused it
    /// or the budget is spent ([`crate::Stats::not_compiled`]).
    pub fn wait_for_compiler(&self) {
        self.background.wait();
    }

    /// For the end of a process: lets compiler threads, now one for each processor, go on for so
    /// long at most with what launches have asked for, forgets the rest, and
    /// stores what was compiled ([`Config::cache`]). A process whose programs are never dropped would lose that.
    pub fn settle(&self, time: std::time::Duration) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.background.settle(time, processors);
    }

    /// Runs a launch to its end: all blocks done, a fault, or cancelled.
    ///
    /// `Err` means that nothing was run. What the guest does wrong is in [`Report::fault`].
    ///
    /// # Errors
    /// When the launch does not fit the program, the host has no room for it, or the program cannot be made ready within
    /// [`Config::budget`].
    pub fn run(&self, program: &Program, memory: &Memory, launch: &Launch) -> Result<Report, Error> {
        let task = Task { program, memory, launch, saved: None, waits: true };
        self.run_grid(&task).map(Option::unwrap_or_default)
    }

    /// The same, or [`Engine::run_stage`] if there is a batch, but `None` if it would have to wait for another launch's segments: that
    /// launch may need this very thread.
    pub(crate) fn run_if_free(
        &self,
        program: &Program,
        memory: &Memory,
        launch: &Launch,
        batch: Option<&mut Batch<'_>>,
    ) -> Result<Option<Report>, Error> {
        let task = Task { program, memory, launch, saved: None, waits: false };
        match batch {
            None => self.run_grid(&task),
            Some(batch) => self.run_batch(&task, batch),
        }
    }

    fn run_grid(&self, task: &Task<'_>) -> Result<Option<Report>, Error> {
        if let Some(interface) = task.program.interface() {
            let stage = interface.stage.name();
            return Err(LaunchError::NeedsBatch { stage }.into());
        }
        self.run_any(task, None)
    }

    /// Continues a launch that was saved, to its end or until it is saved again. The launch must be the same: program, grid,
    /// arguments, and whatever else its blocks begin with. Its tokens, its callback and the settings of the engine may be others,
    /// but for [`Config::numerics`]. Memory must contain what it did when the launch was saved
    /// ([`SavedLaunch::restore_memory`]).
    ///
    /// The report tells of what runs now: blocks that had ended before are not counted again.
    ///
    /// # Errors
    /// [`Error::State`] if the state is not of this launch, or is none that a launch can be in; else as [`Engine::run`]. The
    /// memory is as before then.
    pub fn resume(
        &self,
        program: &Program,
        memory: &Memory,
        launch: &Launch,
        saved: &SavedLaunch,
    ) -> Result<Report, Error> {
        if program.interface().is_some() {
            return Err(LaunchError::StageResumed.into());
        }
        let task = Task { program, memory, launch, saved: Some(saved), waits: true };
        self.run_any(&task, None).map(Option::unwrap_or_default)
    }

    /// Runs a program of a graphics stage over a batch, to its end. `grid` and `block` of the launch are not used: blocks are single warps
    /// along x, as [`Fault::block`] and [`Launch::blocks`] number them. A stage takes no [`Launch::args`].
    ///
    /// If the guest faults, arrays keep what blocks wrote that had ended before.
    ///
    /// # Errors
    /// As [`Engine::run`]; also if the batch does not fit the program's interface, or an array is too small.
    pub fn run_stage(
        &self,
        program: &Program,
        memory: &Memory,
        launch: &Launch,
        batch: &mut Batch<'_>,
    ) -> Result<Report, Error> {
        let task = Task { program, memory, launch, saved: None, waits: true };
        self.run_batch(&task, batch).map(Option::unwrap_or_default)
    }

    fn run_batch(&self, task: &Task<'_>, batch: &mut Batch<'_>) -> Result<Option<Report>, Error> {
        let Some(stage) = task.program.stage() else {
            return Err(LaunchError::NeedsGrid.into());
        };
        if task.launch.save.is_some() {
            return Err(LaunchError::StageSaved.into());
        }
        let mut canvas = matches!(batch.work, Work::Picture(..)).then(Canvas::default);
        let lanes = stage.lanes;
        let report = self.run_any(task, Some((batch, canvas.as_mut())))?;
        if let (Some(canvas), true) = (canvas, report.is_some()) {
            canvas.paint(batch, lanes);
        }
        Ok(report)
    }

    /// Whether several warps of a stage may run as one: nothing that the launch asks for is told by warp. The interpreter as a tier of its
    /// own runs what the chip runs.
    fn may_join(&self, launch: &Launch) -> bool {
        let by_warp = launch.max_steps != 0
            || launch.blocks.is_some()
            || launch.capture_registers
            || launch.capture_shared
            || !launch.registers.is_empty();
        let counts = self.config.count || self.config.observe.count;
        self.config.tier != Tier::Interp && !by_warp && !counts
    }

    /// `None`: it would have to wait for another launch, and [`Task::waits`] says no.
    fn run_any(
        &self,
        task: &Task<'_>,
        mut batch: Option<(&mut Batch<'_>, Option<&mut Canvas>)>,
    ) -> Result<Option<Report>, Error> {
        let Task { program, memory, .. } = *task;
        crate::vm::on_enough_stack(|| {
            let mut needs = Needs::with(&self.config, memory);
            let mut join = self.may_join(task.launch);
            loop {
                let run = match (&mut batch, program.stage()) {
                    (Some((batch, canvas)), Some(stage)) => {
                        // SAFETY: the arrays are borrowed for longer than this call, which ends with the run.
                        Some(unsafe { StageRun::new(stage, batch, canvas.as_deref_mut(), join) }?)
                    }
                    _ => None,
                };
                if run.as_ref().is_some_and(|run| run.warps() == 0) {
                    return Ok(Some(Report::default()));
                }
                let joined = run.as_ref().is_some_and(StageRun::is_joined);
                match self.run_with(task, needs, run)? {
                    // What such programs do can be done again: then the fault and what was there before it are the chip's.
                    Ran::Whole(report) if joined && report.fault.is_some() => join = false,
                    Ran::Whole(report) => return Ok(Some(*report)),
                    Ran::Waits => return Ok(None),
                    // Mapping the launch's own segments made memory coarse, or another thread changed the space meanwhile.
                    // Without the segments it may need less.
                    Ran::NeedsOtherCode(others) => needs = needs.and(others),
                }
            }
        })
    }

    /// Runs a launch with code for what a memory needs.
    fn run_with(&self, task: &Task<'_>, needs: Needs, stage: Option<StageRun>) -> Result<Ran, Error> {
        let Task { program, memory, launch, saved, waits } = *task;
        let cancelled = || Ran::Whole(Box::new(Report { cancelled: true, ..Report::default() }));
        let start = Instant::now();
        self.look_at_handlers(start)?;
        let section = Section::enter();
        let mut variant = Variant::new(&self.config, launch, needs.translation);
        variant.settle_memory(memory, needs);
        variant.joined = stage.as_ref().is_some_and(StageRun::is_joined);
        let unlimited = program.ends_within(launch.max_steps);
        variant.exact_steps &= !unlimited || self.config.count;
        // Code without loops leaves its regions soon anyway, and the interpreter can stop after each block.
        variant.bounded = launch.save.is_some()
            && !variant.exact_steps
            && variant.tier != Tier::Interp
            && program.most_steps().is_none();
        let tiers = match program.tiers(variant, &self.config, launch.cancel.as_ref()) {
            Err(Error::Cancelled) => return Ok(cancelled()),
            tiers => tiers?,
        };
        let mut plan = Plan::new(&program.needs(), tiers.function(), launch, stage)?;
        plan.samplers.configure(&self.config);
        if unlimited {
            plan.max_steps = 0;
        }
        if launch.capture_registers && (plan.blocks.end - plan.blocks.start != 1 || plan.warps != 1) {
            return Err(LaunchError::CapturedWarps.into());
        }
        if launch.capture_shared && plan.blocks.end - plan.blocks.start != 1 {
            return Err(LaunchError::CapturedBlocks.into());
        }
        if (launch.save.is_some() || saved.is_some()) && tiers.code().passes_values() {
            return Err(LaunchError::PassesValues { name: program.name().to_owned() }.into());
        }
        if (launch.save.is_some() || saved.is_some()) && plan.parts.len() > 1 {
            return Err(LaunchError::SavedParts.into());
        }
        if launch.save.is_some() || saved.is_some() {
            plan.segments.note();
        }
        let identity = || Identity::new(program, &plan, launch, &self.config);
        let state = saved.map(|saved| saved.state_of(&identity())).transpose()?;
        let mut parts = most_blocks(&plan, &tiers, self.config.thread_count());
        if let Some(state) = state {
            // The blocks that there are come on top of those that may be made.
            parts = parts.saturating_add(state.blocks.len() as u32).max(state.parts().min(MOST_PARTS));
        }
        let warps = plan.warps;
        let cancel = launch.cancel.as_ref();
        let is_cancelled = || cancel.is_some_and(CancelToken::is_cancelled);
        // It may have to wait for another launch, whose thread may fork.
        drop(section);
        if !plan.segments.map(memory, warps, parts, &|| !waits || is_cancelled())? {
            return Ok(if is_cancelled() { cancelled() } else { Ran::Waits });
        }
        // Memory becomes coarse only while nobody uses it.
        let used = memory.use_it();
        let others = Needs::of(memory);
        if !needs.covers(others) {
            drop(used);
            plan.segments.unmap(memory);
            return Ok(Ran::NeedsOtherCode(others));
        }
        let section = Section::enter();
        let before = tiers.compile_times();
        let threads = self.config.thread_count();
        let others = |way| program.other_tiers(way, variant, &tiers, &self.config, launch.cancel.as_ref());
        drop(section);
        let captures = launch.capture_registers || launch.capture_shared;
        let (all, single) = (plan.blocks.end - plan.blocks.start, plan.parts.len() == 1);
        let function = &program.image().function;
        let mut whole: Option<Whole> = None;
        let mut saved = None;
        for part in std::mem::take(&mut plan.parts) {
            plan.go_to(&part);
            if whole.as_ref().is_some_and(|whole| whole.is_over(&plan)) {
                continue;
            }
            let section = Section::enter();
            let done = whole.as_ref().map_or(0, |whole| whole.outcome.blocks);
            let progress = launch.progress.as_ref().map(|progress| match single {
                true => progress.clone(),
                false => progress_from(progress, done, all),
            });
            let mut scheduler = Scheduler::new(&plan, &tiers, memory, &self.background, threads);
            if !captures && variant.may_choose(&self.config) {
                scheduler.allow_others(&others);
            }
            scheduler.cancel_by(launch.cancel.as_ref());
            if !captures && !variant.bounded {
                scheduler.allow_rows();
            }
            scheduler.pause_by(launch.save.as_ref(), function);
            if let Some(state) = state
                && let Err(error) = scheduler.start_from(state, function, Watch::new(&self.config))
            {
                drop(scheduler);
                drop(used);
                plan.segments.unmap(memory);
                return Err(error);
            }
            scheduler.tell(progress.as_ref());
            drop(section);
            let mut outcome = scheduler.run(&self.pool, Watch::new(&self.config));
            saved = outcome.saved.take();
            match &mut whole {
                None => whole = Some(Whole::new(program, &plan, outcome)),
                Some(whole) => whole.add(program, &plan, outcome),
            }
        }
        drop(used);
        let _section = Section::enter();
        let Whole { outcome, fault, warps, .. } = whole.unwrap_or_default();
        let saved = saved.map(|state| {
            Box::new(SavedLaunch::new(Identity::new(program, &plan, launch, &self.config), state))
        });
        plan.segments.unmap(memory);
        let after = tiers.compile_times();
        let compile = after.0.saturating_sub(before.0);
        let mut report = Report {
            fault: fault.map(|(_, fault)| fault),
            stats: stats(&plan, &outcome, warps, self.config.count),
            registers: BTreeMap::new(),
            shared: Vec::new(),
            cancelled: outcome.cancelled,
            saved,
            profile: None,
            listings: None,
        };
        let observe = self.config.observe;
        if observe.sample_rate > 0 || observe.count {
            let counts = &outcome.counts;
            report.profile = Some(Box::new(crate::profiling::profile(
                program,
                &tiers,
                &counts.samples,
                counts.profile.as_deref(),
            )));
        }
        if observe.listings {
            report.listings = Some(Box::new(program.with_addresses(tiers.listings())));
        }
        tiers.save_behind(&self.background);
        report.stats.compile = compile;
        report.stats.cached_regions = tiers.loaded();
        report.stats.compile_behind = after.1.saturating_sub(before.1);
        report.stats.not_compiled = tiers.not_compiled();
        report.stats.run = start.elapsed().saturating_sub(compile);
        if launch.capture_registers {
            report.registers = registers(program, &plan, &tiers, &outcome);
        }
        if let Some(block) = outcome.last.filter(|_| launch.capture_shared) {
            report.shared = block.shared().to_vec();
        }
        Ok(Ran::Whole(Box::new(report)))
    }
}

/// A launch to be run.
#[derive(Clone, Copy)]
struct Task<'a> {
    program: &'a Program,
    memory: &'a Memory,
    launch: &'a Launch,
    /// The state to start from.
    saved: Option<&'a SavedLaunch>,
    /// Whether it may wait for another launch.
    waits: bool,
}

/// What came of a launch.
enum Ran {
    /// It has run.
    Whole(Box<Report>),
    /// It has not: another launch has the addresses of its segments.
    Waits,
    /// It has not: this memory needs other code, which checks pages, or translates addresses.
    NeedsOtherCode(Needs),
}

/// What the parts of a launch that have run did, put together.
#[derive(Default)]
struct Whole {
    outcome: Outcome,
    /// The fault of the lowest block, with its index in the grid.
    fault: Option<(u64, Fault)>,
    /// Warps of blocks that ended.
    warps: u64,
}

impl Whole {
    fn new(program: &Program, plan: &Plan, mut outcome: Outcome) -> Whole {
        let fault = outcome.fault.take();
        let fault = fault.map(|(block, fault)| (plan.linear(block), describe(program, plan, block, &fault)));
        let warps = outcome.blocks * u64::from(plan.warps);
        Whole { outcome, fault, warps }
    }

    fn add(&mut self, program: &Program, plan: &Plan, outcome: Outcome) {
        let Whole { outcome, fault, warps } = Whole::new(program, plan, outcome);
        self.warps += warps;
        if fault.as_ref().is_some_and(|(at, _)| self.fault.as_ref().is_none_or(|(before, _)| at < before)) {
            self.fault = fault;
        }
        let own = &mut self.outcome;
        own.counts.add(&outcome.counts);
        own.blocks += outcome.blocks;
        own.steps = (own.steps.0 + outcome.steps.0, own.steps.1 + outcome.steps.1);
        own.last = own.last.take().or(outcome.last);
        own.cancelled |= outcome.cancelled;
    }

    /// Whether the part that a plan describes need not run any more.
    fn is_over(&self, plan: &Plan) -> bool {
        let behind = |&(at, _): &(u64, Fault)| at < plan.linear(plan.blocks.start);
        self.outcome.cancelled || self.fault.as_ref().is_some_and(behind)
    }
}

/// A callback for a part, if `before` blocks of other parts have run and the launch has `all`.
fn progress_from(progress: &Progress, before: u64, all: u64) -> Progress {
    let progress = progress.clone();
    Arc::new(move |done, _| progress(before + done, all))
}
