//! The runs of a prepared launch: alone, as a part of a queue, or by many threads.

use super::{Begun, Means, Running, Working};
use crate::exec::block::{RunningBlock, Turn};
use crate::exec::samples::thread_time;
use crate::exec::setup::{Plan, UserWords};
use crate::exec::strategy::Strategy;
use crate::exec::tiers::StopPoll;
use crate::exec::{
    BlockFault, Kept, Outcome, Scheduler, Stepper, StepperParts, Stop, Tiers, Watch, most_blocks,
};
use crate::fork::Section;
use crate::outcome;
use crate::prepared::wide::{Owned, others_of};
use crate::prepared::{Template, Wide};
use crate::variant::Needs;
use crate::{CancelToken, Config, Error, Launch, Report, Stats, TierShares};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Answers the polls of a block that runs alone.
struct Asked<'a> {
    cancel: Option<&'a CancelToken>,
    stop: Stop<'a>,
    stopped: Cell<bool>,
}

impl StopPoll for Asked<'_> {
    fn stop(&self) -> bool {
        let stops = self.cancel.is_some_and(CancelToken::is_cancelled) || self.stop.is_asked();
        if stops {
            self.stopped.set(true);
        }
        stops
    }

    fn is_late(&self) -> bool {
        false
    }
}

impl Working {
    /// Whether only [`Engine::run`] can run it: it may be saved, or its last blocks have another size.
    pub fn is_special(&self) -> bool {
        let Launch { save, last_block, block, .. } = &self.template.launch;
        let differs = |axis: usize| last_block[axis] != 0 && last_block[axis] != block[axis];
        save.is_some() || (0..3).any(differs)
    }

    /// Whether it has a single block that runs without a scheduler.
    pub fn is_alone(&self) -> bool {
        self.may_be_alone && self.plan.blocks.end - self.plan.blocks.start == 1
    }

    /// Runs it on this thread, with helpers of the engine.
    pub fn run(&mut self) -> Result<Report, Error> {
        crate::vm::on_enough_stack(|| {
            let template = self.template.clone();
            let cancel = template.launch.cancel.as_ref();
            let give_up = || cancel.is_some_and(CancelToken::is_cancelled);
            // A single block asks only when it is suspended.
            if give_up() {
                return Ok(Report { cancelled: true, ..Report::default() });
            }
            match self.begin(&give_up)? {
                Begun::Yes => {}
                Begun::Cancelled | Begun::Later => {
                    return Ok(Report { cancelled: true, ..Report::default() });
                }
            }
            if self.is_alone() {
                loop {
                    if let Some(report) = self.go_on(None, Stop::default()) {
                        return Ok(report);
                    }
                }
            }
            let outcome = self.run_scheduler(&template);
            Ok(self.end(outcome))
        })
    }

    /// Begins a run: maps segments and finds code for the memory as it is now.
    pub fn begin(&mut self, give_up: &dyn Fn() -> bool) -> Result<Begun, Error> {
        // A run that has panicked has left something.
        self.give_up();
        let start = Instant::now();
        let template = self.template.clone();
        let Template { engine, memory, launch, .. } = &*template;
        engine.look_at_handlers(start)?;
        let mut needs = Needs::with(engine.config(), memory);
        // What its own segments needed last time, they will need again.
        needs.translation |= self.made_for.translation;
        let held = loop {
            let section = Section::enter();
            if needs != self.made_for {
                match self.adapt(needs) {
                    Err(Error::Cancelled) => return Ok(Begun::Cancelled),
                    done => done?,
                }
            }
            let tiers = self.vectors.tiers.clone();
            let parts = most_blocks(&self.plan, &tiers, engine.config().thread_count());
            // It may have to wait for another launch, whose thread may fork.
            drop(section);
            let plan = self.plan()?;
            plan.samplers.begin(engine.config());
            let warps = plan.warps;
            if !plan.segments.map(memory, warps, parts, give_up)? {
                let cancelled = launch.cancel.as_ref().is_some_and(CancelToken::is_cancelled);
                return Ok(if cancelled { Begun::Cancelled } else { Begun::Later });
            }
            // Memory becomes coarse only while nobody uses it.
            let held = memory.hold();
            let others = Needs::of(memory);
            if needs.covers(others) {
                break held;
            }
            // Mapping the launch's own segments made memory coarse, or another thread changed the space meanwhile.
            drop(held);
            plan.segments.unmap(memory);
            needs = needs.and(others);
        };
        let before = self.vectors.tiers.compile_times();
        self.running = Some(Running { start, before, held, block: None, threads: (0, 0), stopped: false });
        Ok(Begun::Yes)
    }

    /// The strategy of the only block.
    pub(super) fn strategy(&mut self) -> Strategy {
        if self.plan.segments.are_limited() || !self.may_choose() {
            return Strategy::Vectors;
        }
        let tiers = &self.vectors.tiers;
        loop {
            let strategy = tiers.choice().strategy();
            let Some(other) = strategy.other().map(|number| &mut self.others[number]) else {
                return strategy;
            };
            if other.is_none() {
                *other = others_of(&self.template, self.variant, tiers)(strategy).map(Means::new);
            }
            if other.is_some() {
                return strategy;
            }
            // As in `Scheduler::strategy`.
            if self.template.launch.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
                return Strategy::Vectors;
            }
            tiers.choice().give_up(strategy);
        }
    }

    pub(super) fn may_choose(&self) -> bool {
        self.variant.may_choose(self.template.engine.config()) && self.vectors.tiers.may_part()
    }

    /// Runs the only block until `until` or to its end; `None`: it has not ended.
    pub fn go_on(&mut self, until: Option<Instant>, stop: Stop<'_>) -> Option<Report> {
        let suspended = self.running.as_mut()?.block.take();
        let strategy = suspended.as_ref().map_or_else(|| self.strategy(), |(_, strategy)| *strategy);
        let may_choose = self.may_choose();
        let template = self.template.clone();
        let Template { engine, memory, launch, .. } = &*template;
        let choice = self.vectors.tiers.clone();
        let choice = choice.choice();
        let other = strategy.other().and_then(|number| self.others[number].as_mut());
        let means = other.unwrap_or(&mut self.vectors);
        let (plan, tiers) = (&*self.plan, &*means.tiers);
        let cancel = launch.cancel.as_ref();
        let watch = Watch::new(engine.config());
        let kept = means.kept.take().unwrap_or_else(|| Kept::new(tiers));
        let parts = StepperParts { tiers, plan, memory, background: &engine.background, cancel, watch };
        let mut stepper = Stepper::again(kept, parts);
        let index = plan.blocks.start;
        let mut block = match suspended {
            Some((block, _)) => block,
            None => start_block(
                means.block.take(),
                means.stale,
                &means.user,
                tiers,
                plan,
                memory,
                &mut stepper,
                strategy,
            ),
        };
        means.stale = false;
        let stop_poll = Asked { cancel, stop, stopped: Cell::new(false) };
        let clock = (may_choose && choice.is_measuring()).then(|| (thread_time(), tiers.compile_times().0));
        let turn = loop {
            match block.turn(plan, tiers, memory, &mut stepper, &stop_poll) {
                Turn::Suspended if stop_poll.stop() => break Turn::Stopped,
                Turn::Suspended if until.is_some_and(|until| Instant::now() >= until) => {
                    break Turn::Suspended;
                }
                Turn::Suspended => {}
                turn => break turn,
            }
        };
        let done = u64::from(matches!(turn, Turn::Done));
        match clock {
            Some((start, compiling)) if tiers.compile_times().0 == compiling => {
                let time = thread_time().saturating_sub(start);
                choice.took(strategy, done, time, compiling);
            }
            Some(_) => {}
            None if may_choose => choice.ran(done),
            None => {}
        }
        let threads = stepper.threads();
        let running = self.running.as_mut()?;
        running.threads = (running.threads.0 + threads.0, running.threads.1 + threads.1);
        running.stopped |= stop_poll.stopped.get();
        means.kept = Some(stepper.leave().0);
        let fault = match turn {
            Turn::Suspended => {
                running.block = Some((block, strategy));
                return None;
            }
            Turn::Faulted(fault) => Some((index, fault)),
            Turn::Done | Turn::Stopped => None,
        };
        // Its suspended calls use memory that is about to be unmapped.
        block.abandon();
        let steps = block.steps();
        if block.may_be_reset() && !plan.segments.have_parts() {
            means.block = Some(block);
        } else {
            drop(block);
        }
        let running = self.running.take()?;
        let report = self.report_alone(running, done, fault, steps);
        if done > 0
            && let Some(progress) = &launch.progress
        {
            progress(1, 1);
        }
        Some(report)
    }

    /// The report of a block that ran alone.
    pub(super) fn report_alone(
        &mut self,
        running: Running,
        done: u64,
        fault: Option<(u64, BlockFault)>,
        (warp_instructions, thread_instructions): (u64, u64),
    ) -> Report {
        let template = self.template.clone();
        let _section = Section::enter();
        let (compile, compile_behind) = self.end_run(&running);
        let plan = &*self.plan;
        let tiers = TierShares::of(running.threads);
        let stats = Stats {
            blocks: done,
            warps: done * u64::from(plan.warps),
            warp_instructions,
            thread_instructions,
            lane_slots: warp_instructions * u64::from(plan.lanes),
            compile,
            compile_behind,
            run: running.start.elapsed().saturating_sub(compile),
            cached_regions: self.vectors.tiers.loaded(),
            not_compiled: self.vectors.tiers.not_compiled(),
            tiers,
            jit_share: tiers.compiled,
            ..Stats::default()
        };
        let fault = fault.map(|(block, fault)| outcome::describe(&template.program, plan, block, &fault));
        Report {
            cancelled: running.stopped && done == 0 && fault.is_none(),
            fault,
            stats,
            ..Report::default()
        }
    }

    /// Unmaps segments and gives the time spent compiling.
    pub(super) fn end_run(&mut self, running: &Running) -> (Duration, Duration) {
        let template = self.template.clone();
        if let Ok(plan) = self.plan() {
            plan.segments.unmap(&template.memory);
        }
        let (before, after) = (running.before, self.vectors.tiers.compile_times());
        self.vectors.tiers.save_behind(&template.engine.background);
        (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1))
    }

    /// Runs all blocks on this thread and helpers of the engine.
    pub(super) fn run_scheduler(&mut self, template: &Arc<Template>) -> Outcome {
        let Template { engine, memory, launch, .. } = &**template;
        let section = Section::enter();
        let threads = engine.config().thread_count();
        let others = others_of(template, self.variant, &self.vectors.tiers);
        let lent = self.lend();
        let (plan, tiers) = (&*self.plan, &*self.vectors.tiers);
        let mut scheduler = Scheduler::new(plan, tiers, memory, &engine.background, threads);
        scheduler.cancel_by(launch.cancel.as_ref());
        scheduler.tell(launch.progress.as_ref());
        self.set_up(&mut scheduler, &*others);
        if let Some(lent) = lent {
            scheduler.lend(lent);
        }
        drop(section);
        scheduler.run(&engine.pool, Watch::new(engine.config()))
    }

    /// What an earlier run has left, if it fits this one.
    pub(super) fn lend(&mut self) -> Option<(Kept, Option<Box<RunningBlock>>)> {
        let Config { observe, count, .. } = self.template.engine.config();
        if *count || observe.count {
            return None;
        }
        let means = &mut self.vectors;
        let kept = means.kept.take()?;
        // A block that has been changed by user data is made anew.
        let block = means.block.take().filter(|_| !std::mem::take(&mut means.stale));
        Some((kept, block))
    }

    /// What the scheduler of this launch may do.
    pub(super) fn set_up<'a>(
        &self,
        scheduler: &mut Scheduler<'a>,
        others: &'a (dyn Fn(Strategy) -> Option<Arc<Tiers>> + Send + Sync),
    ) {
        let launch = &self.template.launch;
        if launch.capture_registers || launch.capture_shared {
            return;
        }
        if self.variant.may_choose(self.template.engine.config()) {
            scheduler.allow_others(others);
        }
        scheduler.allow_rows();
    }

    /// The launch as an object that threads enter and leave, after [`Working::begin`].
    pub fn widen(&mut self, cancel: &CancelToken, deadline: Option<Instant>) -> Wide {
        let _section = Section::enter();
        let lent = self.lend();
        let owned = Owned {
            plan: self.plan.clone(),
            tiers: self.vectors.tiers.clone(),
            template: self.template.clone(),
            cancel: cancel.clone(),
            others: others_of(&self.template, self.variant, &self.vectors.tiers),
        };
        let threads = self.template.engine.config().thread_count();
        Wide::new(owned, threads, deadline, |scheduler, owned| {
            self.set_up(scheduler, &*owned.others);
            if let Some(lent) = lent {
                scheduler.lend(lent);
            }
        })
    }

    /// Ends a run of any number of blocks; nothing else names the plan any more.
    pub fn end(&mut self, mut outcome: Outcome) -> Report {
        let Some(running) = self.running.take() else { return Report::default() };
        let template = self.template.clone();
        let Template { engine, program, launch, .. } = &*template;
        let _section = Section::enter();
        let counted = engine.config().count || engine.config().observe.count;
        self.vectors.kept = outcome.kept.take().filter(|_| !counted);
        let (compile, compile_behind) = self.end_run(&running);
        let (plan, tiers) = (&*self.plan, &*self.vectors.tiers);
        let mut report = Report {
            fault: outcome.fault.map(|(block, fault)| outcome::describe(program, plan, block, &fault)),
            stats: outcome::stats(
                plan,
                &outcome,
                outcome.blocks * u64::from(plan.warps),
                engine.config().count,
            ),
            registers: BTreeMap::new(),
            shared: Vec::new(),
            cancelled: outcome.cancelled,
            saved: None,
            profile: None,
            listings: None,
        };
        let observe = engine.config().observe;
        if observe.sample_rate > 0 || observe.count {
            let counts = &outcome.counts;
            report.profile = Some(Box::new(crate::profiling::profile(
                program,
                tiers,
                &counts.samples,
                counts.profile.as_deref(),
            )));
        }
        if observe.listings {
            report.listings = Some(Box::new(program.with_addresses(tiers.listings())));
        }
        report.stats.compile = compile;
        report.stats.compile_behind = compile_behind;
        report.stats.cached_regions = tiers.loaded();
        report.stats.not_compiled = tiers.not_compiled();
        report.stats.run = running.start.elapsed().saturating_sub(compile);
        if launch.capture_registers {
            report.registers = outcome::registers(program, plan, tiers, &outcome);
        }
        if let Some(block) = outcome.last.as_ref().filter(|_| launch.capture_shared) {
            report.shared = block.shared().to_vec();
        }
        let keeps = !plan.segments.have_parts() && !launch.capture_registers;
        self.vectors.block = outcome.last.take().filter(|block| keeps && block.may_be_reset());
        drop(running.held);
        report
    }

    /// Compiles what a run needs, without running anything.
    pub fn compile_ahead(&self, cancel: &CancelToken) -> Result<(), Error> {
        let Template { engine, memory, .. } = &*self.template;
        let held = memory.hold();
        let (plan, tiers, watch) = (&*self.plan, &*self.vectors.tiers, Watch::new(engine.config()));
        let parts =
            StepperParts { tiers, plan, memory, background: &engine.background, cancel: Some(cancel), watch };
        let mut stepper = Stepper::new(parts);
        // Its warps are after the prologue, as those of a launch are when they reach the first region.
        let block = RunningBlock::new(plan, tiers, memory, &mut stepper, plan.blocks.start, None);
        let done = crate::vm::on_stack_for_compiler(|| tiers.compile_ahead(plan, &block, cancel));
        drop(held);
        tiers.save_now();
        if done { Ok(()) } else { Err(Error::Cancelled) }
    }

    /// Ends a run that has panicked, or that is given up.
    pub fn give_up(&mut self) {
        if let Some(mut running) = self.running.take() {
            if let Some((block, _)) = &mut running.block {
                block.abandon();
            }
            running.block = None;
            self.forget_blocks();
            self.end_run(&running);
        }
    }
}

/// The block of a run, with the storage of an earlier one if it can be reset.
#[allow(clippy::too_many_arguments, reason = "parts of what its only caller has borrowed")]
fn start_block(
    earlier: Option<Box<RunningBlock>>,
    stale: bool,
    user: &[UserWords],
    tiers: &Tiers,
    plan: &Plan,
    memory: &crate::Memory,
    stepper: &mut Stepper<'_>,
    strategy: Strategy,
) -> Box<RunningBlock> {
    let index = plan.blocks.start;
    // A prologue computes from user data, and named registers may override it.
    let can_patch = tiers.start().prologue.is_none() && plan.slots.is_empty();
    if let Some(mut block) = earlier.filter(|_| !stale || can_patch) {
        if stale {
            block.set_user_data(tiers, user, plan.user_data());
        }
        block.reset(plan, tiers, memory, index);
        return block;
    }
    let part = plan.segments.take_part();
    let mut block = Box::new(RunningBlock::new(plan, tiers, memory, stepper, index, part));
    block.strategy = strategy;
    block
}
