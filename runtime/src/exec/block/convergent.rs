//! Runs the warps of a block together while they take the same path.
//!
//! Between barriers, the warps of a block mostly run the same regions to the same exits. As long as they do, one call runs the
//! region for all of them, one after another, and only one position is kept for all. A barrier at which all meet, and a branch on
//! which all agree, only moves that position. When a warp takes another exit, each warp gets its own state again, and those at
//! the same position continue in groups.
//!
//! Compared with running each warp alone, only the order between barriers differs, and there the guest defines none. If several
//! warps fault, the reported fault is the one that running each warp alone would find first.
//!
//! Warps that have diverged go on in groups, the group that is first in program order first. `path_cache.rs` remembers the way of a block
//! from region to region. This is off with local memory, with limits that regions do not count, and with counting where each warp needs a
//! look.

use super::{BLOCK_SLICE, BlockFault, FIRST_LOOK, Repeats, Resident, RunningBlock, Turn};
use crate::Memory;
use crate::exec::jit::{KnownShapes, Parted, RegionFlow};
use crate::exec::memory::View;
use crate::exec::setup::Plan;
use crate::exec::tiers::{Stepper, StopPoll, Tiers};
use crate::vm::Call;
use warpjit_ir::interp::Warp;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::{Block, Terminator};

/// What a slice of a block needs of its launch.
pub struct InLaunch<'a> {
    /// The launch.
    pub plan: &'a Plan,
    /// The kernel.
    pub tiers: &'a Tiers,
    /// Global memory.
    pub memory: &'a Memory,
    /// Polled now and then.
    pub stop_poll: &'a dyn StopPoll,
}

/// Does not let a launch pause.
struct Unpaused<'a>(&'a dyn StopPoll);

impl StopPoll for Unpaused<'_> {
    fn stop(&self) -> bool {
        self.0.stop()
    }

    fn is_late(&self) -> bool {
        self.0.is_late()
    }
}

impl Resident {
    /// Whether the warp runs with the group at a block. `whole`: the group is all living warps, whatever position their
    /// own state has.
    #[inline]
    fn is_in_group(&self, at: Block, whole: bool) -> bool {
        !self.warp.ended && self.midway.is_none() && (whole || self.waits.is_none() && self.warp.block == at)
    }
}

impl RunningBlock {
    /// Runs warps together while they take the same path. Returns how the slice ended if it did; otherwise every warp
    /// has its own state and continues alone.
    pub(super) fn run_convergent(
        &mut self,
        launch: &InLaunch<'_>,
        stepper: &mut Stepper<'_>,
        spent: &mut u64,
    ) -> Option<Turn> {
        stepper.look_for_chain();
        if !stepper.may_run_convergent() {
            return self.diverge(launch);
        }
        let mut calls = stepper.take_calls();
        let turn = self.run_groups(launch, stepper, spent, &mut calls);
        stepper.keep_calls(calls);
        turn
    }

    fn run_groups(
        &mut self,
        launch: &InLaunch<'_>,
        stepper: &mut Stepper<'_>,
        spent: &mut u64,
        calls: &mut Vec<Call>,
    ) -> Option<Turn> {
        let (mut at, mut whole, mut index) = (launch.tiers.start().block, true, None);
        if self.fresh {
            if self.version.is_none() {
                self.version = stepper.common_version(self.warps.iter().map(|resident| resident.hint));
            }
            index = self.version.and_then(|version| stepper.index_at_start(version));
            if index.is_none() {
                return self.diverge(launch);
            }
        } else {
            (at, whole) = self.next_group(launch.tiers)?;
        }
        // Instructions that each warp has executed but not added to its own count yet.
        let mut steps = 0;
        // Lane patterns known of all warps, from regions that all warps of the block have run together.
        let mut known = KnownShapes::default();
        // The head of a loop that certainly waits, if they have reached one.
        let mut waited = None;
        let mut repeats = Repeats::new(FIRST_LOOK);
        // `stop`: the path-cache node of `index`, if known. `came`: the node and successor by which the warps came.
        let (mut stop, mut came) = (None, None);
        loop {
            let found = match index.take() {
                Some(found) => found,
                None => {
                    let Some(found) = stepper.index_for_all(at, self.group(at, whole), &known) else {
                        if whole {
                            self.land(at, steps, !calls.is_empty(), stepper);
                        }
                        return None;
                    };
                    found
                }
            };
            if whole && stop.is_none() {
                stop = stepper.path_node(at, found, &known);
                if let (Some((from, way)), Some(stop)) = (came, stop) {
                    stepper.path_cache().link(from, way, stop);
                }
            }
            if calls.is_empty() {
                self.list_calls(launch.plan, at, whole, stepper, calls);
            }
            let called = calls.iter().map(|call| &self.warps[call.tag].warp);
            if !stepper.have_steps(at, found, called) {
                if self.fresh {
                    return self.diverge(launch);
                }
                if whole {
                    self.land(at, steps, true, stepper);
                }
                return None;
            }
            let local = &mut self.warps.first_mut()?.local;
            let mut view = View { plan: launch.plan, memory: launch.memory, shared: &mut self.shared, local };
            let ended = stepper.run_convergent(at, found, calls, &mut view, launch.stop_poll, &mut repeats);
            let insts = stepper.insts(at);
            if let Some(kind) = ended {
                *spent += insts * calls.len() as u64;
                if self.fresh && matches!(kind, ExitKind::Ended) {
                    self.end_all(calls, insts, stepper);
                    return Some(Turn::Done);
                }
                if self.fresh {
                    self.restart(launch.plan, launch.tiers);
                }
                if let (true, Some((next, way))) = (whole, self.same_exit(kind, calls, launch.tiers)) {
                    if !launch.tiers.is_barrier(kind) {
                        stepper.hop(at, found, calls.len());
                    }
                    at = next;
                    steps += insts;
                    if launch.stop_poll.stop() {
                        return Some(Turn::Stopped);
                    }
                    let waits = stepper.surely_waits(at) && waited.replace(at) == Some(at)
                        || repeats.step(at, || self.group(at, true));
                    let pauses = launch.plan.may_pause && launch.stop_poll.pause();
                    if waits || pauses || *spent >= BLOCK_SLICE {
                        self.land(at, steps, true, stepper);
                        return Some(Turn::Suspended);
                    }
                    came = stop.take().map(|stop| (stop, way));
                    known = KnownShapes::default();
                    if let Some((from, way)) = came {
                        let living = self.warps.iter().filter(|resident| !resident.warp.ended);
                        let living = living.map(|resident| &resident.warp);
                        match stepper.path_cache().follow(from, way, living) {
                            Some((next, block, version)) if block == at => {
                                (stop, index) = (Some(next), Some(version));
                            }
                            _ => known = stepper.path_cache().known_behind(from),
                        }
                    }
                    continue;
                }
            }
            if self.fresh {
                self.restart(launch.plan, launch.tiers);
            }
            if whole {
                self.land(at, std::mem::take(&mut steps), true, stepper);
            }
            known = KnownShapes::default();
            (stop, came) = (None, None);
            let (last, flow, expected) = stepper.parted(at, found, calls);
            *spent += if ended.is_none() { insts * (last as u64 + 1) } else { 0 };
            let before = stepper.exit(at, found, expected);
            let parted = self.go_on_each(launch, stepper, before, &calls[..=last], flow);
            calls.clear();
            if let Some(turn) = parted {
                return Some(turn);
            }
            if launch.plan.may_pause && launch.stop_poll.pause() && self.living > 0 {
                return Some(Turn::Suspended);
            }
            if *spent >= BLOCK_SLICE {
                // The slice ends after the other groups have run.
                return None;
            }
            (at, whole) = self.next_group(launch.tiers)?;
            let waits = stepper.surely_waits(at) && waited.replace(at) == Some(at);
            if waits || repeats.step(at, || self.group(at, whole)) {
                // The loop has checked its condition twice. Let others run.
                return None;
            }
        }
    }

    /// The warps of a group.
    fn group(&self, at: Block, whole: bool) -> impl Iterator<Item = &Warp> + Clone {
        self.warps
            .iter()
            .filter(move |resident| resident.is_in_group(at, whole))
            .map(|resident| &resident.warp)
    }

    /// Gives each warp its own initial state, if none has run yet.
    fn diverge(&mut self, launch: &InLaunch<'_>) -> Option<Turn> {
        if self.fresh {
            self.restart(launch.plan, launch.tiers);
        }
        None
    }

    /// The next group to run: of the blocks of code where runnable warps are, the one with the lowest address, and
    /// whether all living warps are there. Diverged warps meet again soonest if those that are behind go first.
    fn next_group(&mut self, tiers: &Tiers) -> Option<(Block, bool)> {
        let mut first: Option<(u32, Block)> = None;
        let mut whole = true;
        for (number, resident) in self.warps.iter_mut().enumerate() {
            if resident.warp.ended {
                continue;
            }
            if resident.midway.is_some() {
                whole = false;
                continue;
            }
            if let Some((index, _)) = resident.waits {
                if !self.barriers.passes(number, index) {
                    whole = false;
                    continue;
                }
                resident.waits = None;
            }
            let block = resident.warp.block;
            match first {
                Some((_, known)) if known == block => continue,
                Some(_) => whole = false,
                None => {}
            }
            let here = (tiers.code().pc(block), block);
            first = Some(first.map_or(here, |first| first.min(here)));
        }
        first.map(|(_, block)| (block, whole))
    }

    /// The warps of a group as calls.
    fn list_calls(
        &mut self,
        plan: &Plan,
        at: Block,
        whole: bool,
        stepper: &Stepper<'_>,
        calls: &mut Vec<Call>,
    ) {
        for (number, resident) in self.warps.iter_mut().enumerate() {
            let lanes = match self.fresh {
                true => plan.lane_mask(number as u32),
                false if !resident.is_in_group(at, whole) => continue,
                false => resident.warp.active,
            };
            let taken = if self.fresh { 0 } else { resident.warp.steps };
            stepper.give_steps(&mut resident.warp, taken);
            calls.push(Call::new(resident.warp.frame.as_mut_ptr().cast(), lanes, number));
        }
    }

    /// Records that all warps have run from their initial state to their end.
    fn end_all(&mut self, calls: &[Call], insts: u64, stepper: &mut Stepper<'_>) {
        let (mut steps, mut threads) = (0, 0);
        for call in calls {
            let own = stepper.steps_since(&self.warps[call.tag].warp, 0).unwrap_or(insts);
            steps += own;
            threads += own * u64::from(call.word.count_ones());
        }
        stepper.add_threads(threads);
        self.ended_steps = (steps, threads);
        self.living = 0;
    }

    /// Where all warps continue after the same exit, if that does not depend on a warp's state, and which successor of
    /// the exit that is ([`crate::exec::path_cache`]).
    fn same_exit(&self, kind: ExitKind, calls: &[Call], tiers: &Tiers) -> Option<(Block, usize)> {
        if calls.iter().any(|call| call.words[0] & call.word != 0) {
            // Some threads have ended.
            return None;
        }
        let block = match kind {
            ExitKind::Ended => return None,
            ExitKind::Enter(block) => return Some((block, 0)),
            ExitKind::Terminator(block) => block,
        };
        match tiers.function().term(block) {
            Terminator::Jump(call) if call.args.is_empty() => Some((call.block, 0)),
            Terminator::Barrier { spec, next } => {
                let all = self.living as usize == calls.len()
                    && spec.arrive
                    && spec.wait
                    && spec.from.is_none()
                    && spec.warps.is_none_or(|count| count == self.living);
                let even = || self.barriers.is_even(spec.index, calls.iter().map(|call| call.tag));
                (all && even()).then_some((*next, 0))
            }
            Terminator::Branch { taken, next, .. } if taken.args.is_empty() && next.args.is_empty() => {
                let taking = |call: &Call| tiers.code().taking(block, call.word, call.words[1]);
                if calls.iter().all(|call| taking(call) == call.word) {
                    Some((taken.block, 1))
                } else if calls.iter().all(|call| taking(call) == 0) {
                    Some((next.block, 2))
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    /// Moves all living warps to a block and adds `steps` instructions to their counts, or as many as regions have
    /// counted if they were `called`.
    fn land(&mut self, at: Block, steps: u64, called: bool, stepper: &mut Stepper<'_>) {
        for resident in self.warps.iter_mut().filter(|resident| !resident.warp.ended) {
            resident.warp.block = at;
            resident.hint.run();
            let before = resident.warp.thread_steps;
            let counted = stepper.steps_since(&resident.warp, resident.warp.steps).filter(|_| called);
            resident.warp.count(counted.unwrap_or(steps));
            let taken = resident.warp.steps;
            stepper.give_steps(&mut resident.warp, taken);
            stepper.add_threads(resident.warp.thread_steps - before);
        }
    }

    /// Continues a block that grid-row code has left. All its warps have reached `at`, `insts` guest instructions after
    /// the start. If they have diverged there, `parted` says how those up to `last` left the phase. Returns how the
    /// slice ended if it did.
    pub fn take_over(
        &mut self,
        launch: &InLaunch<'_>,
        stepper: &mut Stepper<'_>,
        (at, insts): (Block, u64),
        parted: Option<(Parted, usize)>,
    ) -> Option<Turn> {
        self.restart(launch.plan, launch.tiers);
        self.land(at, insts, false, stepper);
        let (parted, last) = parted?;
        let call = |(number, resident): (usize, &mut Resident)| {
            let mut call = Call::new(resident.warp.frame.as_mut_ptr().cast(), resident.warp.active, number);
            let all = parted.before.is_some_and(|(_, holds)| holds == Some(true));
            // The code reports ended threads only if not all threads have ended.
            let ended = parted.before.is_some_and(|(kind, _)| matches!(kind, ExitKind::Ended));
            call.words = [if ended { call.word } else { 0 }, if all { call.word } else { 0 }];
            call
        };
        let ran = last + usize::from(parted.flow.is_some());
        let calls: Vec<Call> = self.warps.iter_mut().enumerate().take(ran).map(call).collect();
        let before = parted.before.map(|(kind, _)| kind);
        let last = || {
            calls.last().zip(before).map(|(call, kind)| RegionFlow::Exit(kind, call.words[0], call.words[1]))
        };
        let flow = parted.flow.or_else(last)?;
        self.go_on_each(launch, stepper, before, &calls, flow)
    }

    /// Lets each warp that has run continue alone: the last one as `flow` says, those before it by the exit `before`.
    fn go_on_each(
        &mut self,
        launch: &InLaunch<'_>,
        stepper: &mut Stepper<'_>,
        before: Option<ExitKind>,
        calls: &[Call],
        flow: RegionFlow,
    ) -> Option<Turn> {
        let (last, earlier) = calls.split_last()?;
        let outcomes = earlier
            .iter()
            .filter_map(|call| Some((call.tag, RegionFlow::Exit(before?, call.words[0], call.words[1]))))
            .chain([(last.tag, flow)]);
        for (number, outcome) in outcomes {
            self.warps[number].hint.run();
            let Some(flow) = stepper.resume(&mut self.warps[number].warp, outcome) else {
                return Some(Turn::Stopped);
            };
            if let Err(fault) = self.settle(number, flow, stepper) {
                return Some(self.first_fault(launch, stepper, number, fault));
            }
        }
        None
    }

    /// After a warp has faulted: a lower warp may fault before the next barrier too, and running each warp alone would
    /// find that fault first.
    fn first_fault(
        &mut self,
        launch: &InLaunch<'_>,
        stepper: &mut Stepper<'_>,
        number: usize,
        fault: BlockFault,
    ) -> Turn {
        let stop_poll = Unpaused(launch.stop_poll);
        for lower in 0..number {
            let resident = &self.warps[lower];
            if resident.warp.ended || resident.waits.is_some() {
                continue;
            }
            match self.warp_slice(lower, launch.plan, launch.memory, stepper, &stop_poll) {
                Err(first) => return Turn::Faulted(first),
                Ok(None) => return Turn::Stopped,
                Ok(Some(_)) => {}
            }
        }
        Turn::Faulted(fault)
    }
}
