//! One thread's state for executing warps: [`Stepper`]. It is the *driver* of regions: it enters them, and executes their terminators on
//! the warp's divergence stack. Warps that run one after another through the same region are in `convergent`, grid rows in `rows`,
//! calls that wait in `midway`, and what leads from one region to the next in `stride`.

mod convergent;
mod counting;
mod midway;
mod rows;
mod stride;

use std::ffi::c_void;
use std::sync::Arc;

use warpjit_backend::Context;
use warpjit_ir::interp::{self, Flow, Scratch, Warp};
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::{Block, Scalar};

use super::calls::{FUEL, Poll, StopPoll, call_device, global_atomic, poll, translate};
use super::{Counts, Tiers, Watch};
use crate::exec::compiler_threads::Background;
use crate::exec::jit::{Compiled, Ready, RegionFlow};
use crate::exec::memory::{Rights, View};
use crate::exec::path_cache::PathCache;
use crate::exec::setup::Plan;
use crate::memory::Permitted;
use crate::vm::sampler::{self, Activity};
use crate::vm::{Call, RawFault};
use crate::{CancelToken, Memory};
use midway::LongCall;

pub use midway::Midway;
pub use stride::Until;

/// Warp instructions that a region may execute before it returns to the driver, if it counts them and the launch may be
/// paused.
const PAUSE_STEPS: u64 = 1 << 20;
/// The same if what it loads and stores is counted: a lane's sum must fit in 32 bits, and an instruction moves 64 bytes at most.
const COUNTED_STEPS: u64 = 1 << 25;
/// How often code may fail to fit all warps of a block before a thread stops trying to run warps together.
const MOST_CREDIT: i32 = 64;
/// A thread's record of the region that starts at a block.
#[derive(Debug, Clone, Default)]
struct Entry {
    versions: Vec<Arc<Compiled>>,
    /// The version that fitted the last warp.
    last: usize,
    /// The exit that the code took last, which is expected again.
    expected: u64,
    never: bool,
}

/// What is known of a warp's initial state.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hint {
    /// The version of the start region that fits it, so that its assumptions need no check.
    version: Option<u32>,
    /// Whether the warp has run since it was set up.
    has_run: bool,
}

impl Hint {
    /// Records that the warp has run.
    pub fn run(&mut self) {
        self.has_run = true;
    }

    /// Records that the warp is in its initial state again.
    pub fn reset(&mut self) {
        self.has_run = false;
    }
}

/// How [`Stepper::step`] has ended.
pub enum Step {
    /// A block or region of code has run.
    Flow(Flow),
    /// A region was suspended, so that others can run.
    Suspended,
    /// Compiled code was stopped, and the warp's state is unusable.
    Stopped,
}

/// What a [`Stepper`] is made for.
#[derive(Clone, Copy)]
pub struct StepperParts<'a> {
    /// The kernel's code in each tier.
    pub tiers: &'a Tiers,
    /// The launch.
    pub plan: &'a Plan,
    /// The memory that it runs in.
    pub memory: &'a Memory,
    /// Where code is compiled behind the launch.
    pub background: &'a Background,
    /// Cancels compiling.
    pub cancel: Option<&'a CancelToken>,
    /// What is recorded.
    pub watch: Watch,
}

/// One thread's state for executing warps.
pub struct Stepper<'a> {
    tiers: &'a Tiers,
    background: &'a Background,
    /// Cancels compiling.
    cancel: Option<&'a CancelToken>,
    scratch: Scratch,
    context: Box<Context>,
    /// Where code asks before accesses.
    _permitted: Option<Permitted>,
    entries: Vec<Entry>,
    rights: Rights<'a>,
    /// The most instructions that a warp is given for a region.
    most_given: u64,
    /// Frame offset of the slot with the instructions that a warp has left, if regions count them.
    steps_at: Option<u32>,
    threads: (u64, u64),
    /// Whether instructions are counted; `lanes` are the counts of lanes ([`Counts::lanes`]), modulo 2^64.
    counts: bool,
    lanes: (u64, u64),
    /// Whether a warp may run through several regions at once: nothing is looked at between them.
    strides: bool,
    /// The block whose terminator was executed last.
    last: Block,
    /// How many more failures to run warps together are tolerated; 0 if warps are not run together.
    credit: i32,
    /// Storage for the calls of [`Stepper::run_convergent`].
    calls: Vec<Call>,
    /// Stacks and contexts kept for regions that may wait.
    long_calls: Vec<LongCall>,
    /// The paths that blocks take.
    path_cache: PathCache,
    /// The chain that the entries have ([`Jit::new_chain`]), and how often warps have gone from one region to another since it was told.
    ///
    /// [`Jit::new_chain`]: crate::exec::jit::Jit::new_chain
    chain: u32,
    hops: u64,
    /// So many are told at a time.
    own_hops: u64,
    /// Instructions that each warp ran in the last call, if that was a chain's.
    chain_ran: Option<u64>,
    /// The last call that [`Stepper::run_convergent`] made; `ended` is its exception, if it had one.
    last_call: usize,
    ended: Option<Box<RawFault>>,
}

/// What a [`Stepper`] leaves for the next launch of the same kernel with the same [`Watch`]: storage, and what it has learnt of
/// the code. It names nothing of the launch that it was used for, until [`Stepper::again`] sets that anew.
pub struct Kept {
    scratch: Scratch,
    context: Box<Context>,
    entries: Vec<Entry>,
    calls: Vec<Call>,
    path_cache: PathCache,
    chain: u32,
}

// SAFETY: the context's pointers are only used by compiled code, which a `Stepper` enters after `Stepper::again` has set them; the
// calls are an empty list.
unsafe impl Send for Kept {}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}

impl Kept {
    /// Nothing learnt yet.
    pub fn new(tiers: &Tiers) -> Kept {
        Kept {
            scratch: Scratch::new(&tiers.code),
            context: Box::new(Context::new()),
            entries: vec![Entry::default(); tiers.kernel.func.blocks.len()],
            calls: Vec::new(),
            path_cache: PathCache::default(),
            chain: 0,
        }
    }
}

impl<'a> Stepper<'a> {
    /// Makes one for a thread of a launch.
    pub fn new(parts: StepperParts<'a>) -> Self {
        Stepper::again(Kept::new(parts.tiers), parts)
    }

    /// Makes one from what another one has left, which was for the same tiers.
    pub fn again(kept: Kept, parts: StepperParts<'a>) -> Self {
        let StepperParts { tiers, plan, memory, background, cancel, watch } = parts;
        let Kept { mut scratch, mut context, entries, calls, path_cache, chain } = kept;
        scratch.max_steps = plan.max_steps;
        scratch.stats = watch.count.then(Box::default);
        scratch.profile = watch.profile.then(|| Box::new(interp::Profile::new(&tiers.code)));
        context.global_base = memory.base();
        context.window_high = !(memory.window_bytes() - 1);
        context.global_high = if tiers.translates { 0 } else { context.window_high };
        match memory.upper_base() {
            Some(upper) => context.map_upper(upper),
            None => context.unmap_upper(),
        }
        context.near_guards = memory.has_near_guards().into();
        context.page_table = memory.page_table();
        context.poll = poll;
        context.global_atomic = global_atomic;
        context.call_device = call_device;
        context.translate = translate;
        for (pointer, bank) in context.const_banks.iter_mut().zip(&plan.consts) {
            *pointer = bank.bytes().as_ptr();
        }
        (context.rebase, context.ignored_bits) = (0, memory.ignored_bits());
        if tiers.rebases {
            memory.rebase(&mut context, tiers.translates);
        }
        context.windows = std::ptr::null();
        let permitted = if tiers.permits { Some(memory.begin_permits(&mut context)) } else { None };
        context.generation = memory.generation();
        // Several warps cannot run together if they use local memory, because each has its own; none if instructions are counted,
        // which is done after each region; or if steps are limited and regions do not count them.
        let together = tiers.jit.is_some()
            && (!tiers.start.uses_local || plan.warps == 1)
            && (plan.max_steps == 0 || tiers.kernel.steps_slot().is_some())
            && !watch.count;
        let credit = if together { MOST_CREDIT } else { 0 };
        let last = tiers.code.entry();
        Stepper {
            tiers,
            background,
            cancel,
            scratch,
            context,
            _permitted: permitted,
            entries,
            rights: Rights { plan, memory },
            most_given: match (plan.may_pause, watch.count) {
                (true, _) => PAUSE_STEPS,
                (false, true) => COUNTED_STEPS,
                (false, false) => i32::MAX as u64,
            },
            steps_at: tiers.kernel.steps_slot().map(|slot| tiers.slot_offset(slot)),
            threads: (0, 0),
            counts: watch.count,
            lanes: (0, 0),
            strides: !watch.count
                && plan.max_steps == 0
                && !plan.may_pause
                && tiers.kernel.steps_slot().is_none(),
            last,
            credit,
            calls,
            long_calls: Vec::new(),
            path_cache,
            chain,
            hops: 0,
            own_hops: tiers.jit.as_ref().map_or(stride::OWN_HOPS, |jit| jit.hops_at_a_time(stride::OWN_HOPS)),
            chain_ran: None,
            last_call: 0,
            ended: None,
        }
    }

    /// What was counted, and what is worth keeping for the next launch.
    pub fn leave(mut self) -> (Kept, Counts) {
        let (threads, lanes) = (self.threads, self.lanes);
        let interp = self.scratch.stats.take().map_or_else(Default::default, |stats| *stats);
        let profile = self.scratch.profile.take();
        let counts = Counts { interp, threads, lanes, profile, ..Counts::default() };
        self.calls.clear();
        let Stepper { scratch, context, entries, calls, path_cache, chain, .. } = self;
        (Kept { scratch, context, entries, calls, path_cache, chain }, counts)
    }

    /// What was counted.
    pub fn into_counts(self) -> Counts {
        self.leave().1
    }

    /// How many thread instructions were executed by the interpreter and by compiled code.
    pub fn threads(&self) -> (u64, u64) {
        self.threads
    }

    /// Interprets the warp's current block of code.
    pub fn interpret(&mut self, warp: &mut Warp, view: &mut View<'_>) -> Flow {
        let before = warp.thread_steps;
        self.last = warp.block;
        sampler::set_activity(Activity::Interpreter(warp.block.index() as u32));
        let flow = self.tiers.code.run_block(&mut self.scratch, warp, view);
        sampler::set_activity(Activity::Runtime);
        // May be negative: a faulting instruction is uncounted again, and compiled code may have counted it.
        let more = warp.thread_steps.wrapping_sub(before) as i64;
        match self.threads.0.checked_add_signed(more) {
            Some(sum) => self.threads.0 = sum,
            None => self.threads.1 = self.threads.1.saturating_add_signed(more),
        }
        self.take_lanes(warp);
        flow
    }

    /// Executes the warp's current block of code, or a region that starts there and those behind it as far as `until` says, or
    /// resumes the warp's suspended region.
    pub fn step(
        &mut self,
        warp: &mut Warp,
        midway: &mut Option<Box<Midway>>,
        view: &mut View<'_>,
        hint: &mut Hint,
        stop_poll: &dyn StopPoll,
        mut until: Option<Until<'_>>,
    ) -> Step {
        if let Some(begun) = midway.take() {
            return self.go_on(warp, begun, midway, stop_poll);
        }
        if until.is_some() {
            self.look_at_chains(0);
        }
        let Some(mut version) = self.choose(warp, hint) else {
            return Step::Flow(self.interpret(warp, view));
        };
        if self.entries[warp.block.index()].versions[version].waits() != 0 {
            return self.begin(warp, version, midway, view);
        }
        let mut poll = Poll::new(stop_poll, view);
        self.prepare(view, &mut poll);
        self.give_steps(warp, warp.steps);
        loop {
            let given = self.give_chain(until.as_ref(), warp.steps);
            let code = &self.entries[warp.block.index()].versions[version];
            let is_chain = code.is_chain();
            let result = code.enter(&mut self.context, warp);
            let ran = self.take_chain_back(is_chain, given, 1);
            if let (true, Some(until)) = (is_chain, &mut until) {
                until.passed(ran);
            }
            let code = &self.entries[warp.block.index()].versions[version];
            let next = result.as_ref().ok().and_then(|&exit| self.onward(code, exit, warp));
            let Some(next) = next else {
                let outcome = code.came_back(result, &mut self.context, &self.rights);
                return self.finish(warp, outcome).map_or(Step::Stopped, Step::Flow);
            };
            self.hops += u64::from(!is_chain);
            self.go_to(next, warp);
            let goes_on = |until: &mut Until<'_>| until.goes_on(warp.steps);
            match self.ready_at(next, warp).filter(|_| until.as_mut().is_some_and(goes_on)) {
                None => return Step::Flow(Flow::Next),
                Some(ready) => version = ready,
            }
            self.context.fuel = FUEL;
        }
    }

    /// Moves a warp's counts of lanes to this thread's.
    fn take_lanes(&mut self, warp: &mut Warp) {
        let (insts, slots) = warp.take_lanes();
        self.lanes = (self.lanes.0.wrapping_add(insts), self.lanes.1.wrapping_add(slots));
    }

    /// Instruction budget for the next region of a warp that has executed `taken` instructions: the rest of
    /// `max_steps`, or what is given at a time if that is less.
    fn steps_given(&self, taken: u64) -> u64 {
        let most = if self.scratch.max_steps == 0 { u64::MAX } else { self.scratch.max_steps };
        most.saturating_sub(taken).min(self.most_given)
    }

    /// Writes the instruction budget for a warp's next region, given that it has executed `taken` instructions.
    pub fn give_steps(&self, warp: &mut Warp, taken: u64) {
        if let Some(offset) = self.steps_at {
            warp.frame.write(offset, Scalar::I32, 0, self.steps_given(taken));
        }
    }

    /// Instructions that a warp has executed in regions since [`Stepper::give_steps`] was called with `taken`; `None`
    /// if regions do not count them.
    pub fn steps_since(&self, warp: &Warp, taken: u64) -> Option<u64> {
        let left = warp.frame.read(self.steps_at?, Scalar::I32, 0);
        Some(self.steps_given(taken).saturating_sub(left))
    }

    /// Whether all warps have enough instructions left for a version of the region at a block.
    pub fn have_steps<'w>(&self, at: Block, index: usize, mut warps: impl Iterator<Item = &'w Warp>) -> bool {
        let Some(offset) = self.steps_at else { return true };
        let wanted = self.entries[at.index()].versions[index].steps();
        warps.all(|warp| warp.frame.read(offset, Scalar::I32, 0) >= wanted)
    }

    /// Points the context to a warp's memory.
    #[inline]
    fn prepare(&mut self, view: &mut View<'_>, poll: &mut Poll<'_>) {
        self.chain_ran = None;
        let context = &mut *self.context;
        (context.shared_base, context.shared_bytes) = view.shared.raw();
        (context.local_base, context.local_bytes) = view.local.raw();
        context.fuel = FUEL;
        context.user = std::ptr::from_mut(poll).cast::<c_void>();
    }

    /// Executes what follows the region at the warp's block, given how the region ended.
    fn finish(&mut self, warp: &mut Warp, outcome: RegionFlow) -> Option<Flow> {
        let at = warp.block;
        let before = warp.thread_steps;
        self.last = at;
        let flow = match outcome {
            RegionFlow::Exit(exit, exited, cond) => {
                let steps = self.steps_since(warp, warp.steps);
                self.count(at, steps, warp);
                if let ExitKind::Terminator(block) = exit {
                    self.last = block;
                }
                self.tiers.code.finish_region(warp, exit, exited, Some(cond))
            }
            RegionFlow::Fault(fault) => {
                self.count(at, None, warp);
                Flow::Fault(fault)
            }
            RegionFlow::Stopped => return None,
        };
        self.threads.1 += warp.thread_steps.wrapping_sub(before);
        self.take_lanes(warp);
        Some(flow)
    }

    /// Whether a block is known to be the head of a loop that certainly waits.
    #[inline]
    pub fn surely_waits(&self, at: Block) -> bool {
        self.tiers.jit.is_some() && self.tiers.kernel.surely_waits(at)
    }

    /// Chooses the version of the region at the warp's block to run, if any.
    #[inline]
    fn choose(&mut self, warp: &Warp, hint: &mut Hint) -> Option<usize> {
        let jit = self.tiers.jit.as_ref().filter(|jit| !jit.lacks_lanes(warp))?;
        let first = !std::mem::replace(&mut hint.has_run, true);
        let entry = &mut self.entries[warp.block.index()];
        if entry.never {
            return None;
        }
        let max_steps = self.scratch.max_steps;
        if max_steps != 0 && warp.steps + u64::from(self.tiers.code.guest_insts(warp.block)) > max_steps {
            // Interpret near the limit, to stop at the right instruction.
            return None;
        }
        let fresh = first && warp.block == self.tiers.start.block;
        if fresh
            && let Some(number) = hint.version
            && let Some(found) = entry.versions.iter().position(|code| code.number() == number)
        {
            return Some(found);
        }
        let likely = entry.versions.get(entry.last).is_some_and(|code| code.fits(warp));
        let found = match if likely {
            Some(entry.last)
        } else {
            entry.versions.iter().position(|code| code.fits(warp))
        } {
            // A version that suits the warp better may exist or be made.
            Some(found) if !(fresh && entry.versions[found].assumes_little()) => found,
            _ => {
                sampler::set_activity(Activity::Compiler);
                let code = match self.tiers.behind {
                    true => jit.ready(warp, self.background),
                    false => jit.region(warp, self.cancel).map_or(Ready::Never, Ready::Code),
                };
                sampler::set_activity(Activity::Runtime);
                match code {
                    Ready::Code(code) => {
                        let known = entry.versions.iter().position(|known| known.number() == code.number());
                        known.unwrap_or_else(|| {
                            entry.versions.push(code);
                            entry.versions.len() - 1
                        })
                    }
                    Ready::Later => return None,
                    Ready::Never => {
                        entry.never = true;
                        return None;
                    }
                }
            }
        };
        entry.last = found;
        if max_steps != 0 && warp.steps + entry.versions[found].steps() > max_steps {
            return None;
        }
        if self.rights.plan.may_pause && entry.versions[found].steps() > self.most_given {
            return None;
        }
        if fresh {
            hint.version = Some(entry.versions[found].number());
        }
        Some(found)
    }

    /// Guest address of the terminator that was executed last.
    pub fn last_pc(&self) -> u32 {
        self.tiers.kernel.func.blocks.get(self.last.index()).map_or(0, |data| data.term_pc)
    }
}
