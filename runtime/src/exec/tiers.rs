//! Who executes a block of code: the interpreter, or compiled code.

use super::background::Background;
use super::jit::{
    BlockLook, CodeIndex, Compiled, Jit, KnownShapes, Make, Ready, RegionFlow, RowFacts, RowFlow,
};
use super::memory::{Rights, View};
use super::setup::Plan;
use super::start::Start;
use super::trails::Trails;
use super::ways::Choice;
use crate::cache::CacheConfig;
use crate::profile::RawSamples;
use crate::program::Variant;
use crate::vm::sampler::{self, Place};
use crate::vm::{Call, RawFault, Suspender};
use crate::{Budget, CancelToken, Config, Error, Listings, Memory, Observe, Tier};
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use warpjit_backend::{Context, LaneTranslation, RowWarp, Translator};
use warpjit_ir::interp::{self, Code, Flow, Scratch, Warp};
use warpjit_ir::meter::{Meter, Spent, Task};
use warpjit_ir::regions::Kernel;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::{Block, Function, Scalar, Slot, Terminator};

#[path = "midway.rs"]
mod midway;

use midway::LongCall;
pub use midway::Midway;

/// A kernel ready to run, shared by all threads and launches with the same settings.
#[derive(Debug)]
pub struct Tiers {
    kernel: Arc<Kernel>,
    code: Code,
    offsets: Vec<u32>,
    start: Start,
    jit: Option<Arc<Jit>>,
    /// Whether code is compiled while the interpreter runs, not before the first run.
    behind: bool,
    /// Whether compiled code looks 64-bit addresses up.
    translates: bool,
    /// Whether blocks go this way or lane by lane, where both are possible.
    choice: Choice,
}

/// What is watched of a launch besides its results.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watch {
    /// Instructions are counted.
    pub count: bool,
    /// The interpreter counts for a profile.
    pub profile: bool,
    /// Samples a second of each thread.
    pub sample_rate: u32,
}

impl Watch {
    /// What the settings ask for.
    pub fn new(config: &Config) -> Watch {
        let Observe { sample_rate, count, .. } = config.observe;
        Watch { count: config.count, profile: count, sample_rate }
    }
}

/// What was counted.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// The interpreter's statistics.
    pub interp: interp::Stats,
    /// Thread instructions by the interpreter and by compiled code, all lanes of a wave being active: for the tiers' shares.
    pub threads: (u64, u64),
    /// Where instructions are counted: lanes that they were for, and lanes that they could have been for.
    pub lanes: (u64, u64),
    /// The interpreter's counts for a profile.
    pub profile: Option<Box<interp::Profile>>,
    /// Where threads were.
    pub samples: RawSamples,
}

impl Counts {
    /// Adds another thread's counts.
    pub fn add(&mut self, other: &Counts) {
        self.interp.add(&other.interp);
        self.threads = (self.threads.0 + other.threads.0, self.threads.1 + other.threads.1);
        self.lanes = (self.lanes.0.wrapping_add(other.lanes.0), self.lanes.1.wrapping_add(other.lanes.1));
        if let Some(more) = &other.profile {
            self.profile.get_or_insert_default().add(more);
        }
        self.samples.add(&other.samples);
    }
}

/// What compiling may take, and what ends it early.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits<'a> {
    /// For all regions of a kernel together.
    pub budget: Budget,
    /// Of the launch that waits for it.
    pub cancel: Option<&'a CancelToken>,
}

impl Limits<'_> {
    /// A meter for work that begins now, some having been spent before.
    pub fn meter(&self, before: Spent) -> Meter {
        let meter = Meter::new(Task::Compiling, self.budget, before);
        match self.cancel {
            Some(cancel) => meter.cancelled_by(cancel.flag()),
            None => meter,
        }
    }
}

impl Tiers {
    /// Makes a kernel ready.
    pub fn new(
        function: Function,
        variant: Variant,
        facts: RowFacts,
        cache: Option<&CacheConfig>,
        limits: Limits<'_>,
    ) -> Result<Self, Error> {
        let meter = limits.meter(Spent::default());
        let kernel = Arc::new(Kernel::within(function, variant.region_options(), facts.read_only(), &meter)?);
        meter.stage("making it ready for the interpreter")?;
        let code = Code::new(&kernel.func).map_err(|error| Error::Program(error.to_string()))?;
        let (offsets, _) = kernel.func.frame_layout();
        let start = Start::new(&kernel.func, variant.keep_registers, &meter)?;
        let spent = meter.spent();
        let jit = |kernel| Jit::new(kernel, variant, facts, cache, limits.budget, spent);
        let jit = match variant.tier {
            Tier::Interp => None,
            Tier::Jit | Tier::Auto => Some(Arc::new(jit(kernel.clone())?)),
        };
        let behind = variant.tier == Tier::Auto;
        let translates = variant.translate;
        let choice = Choice::new(if behind { PATIENCE_BEHIND } else { PATIENCE });
        Ok(Tiers { kernel, code, offsets, start, jit, behind, translates, choice })
    }

    /// Whether blocks go this way or lane by lane.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Whether warps may part, or go round loops: else no other way can be quicker.
    pub fn may_part(&self) -> bool {
        let blocks = &self.kernel.func.blocks;
        blocks
            .iter()
            .filter_map(|block| block.term.as_ref())
            .any(|term| matches!(term, Terminator::Branch { .. } | Terminator::Leave { cond: Some(_), .. }))
    }

    /// What has been compiled so far, if it is kept as text.
    pub fn listings(&self) -> Listings {
        self.jit.as_ref().map_or_else(Listings::default, |jit| jit.listings())
    }

    /// The code for the interpreter.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The kernel, in SPMD form, as both tiers run it.
    pub fn function(&self) -> &Function {
        &self.kernel.func
    }

    /// Whether code is compiled at all.
    pub fn has_code(&self) -> bool {
        self.jit.is_some()
    }

    /// How warps start.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Where a slot lies in the frame, in bytes.
    pub fn slot_offset(&self, slot: Slot) -> u32 {
        self.offsets.get(slot.index()).copied().unwrap_or(0)
    }

    /// Time in which some thread of a launch was compiling so far, and an engine's own thread.
    pub fn compile_times(&self) -> (Duration, Duration) {
        self.jit.as_ref().map_or_else(Default::default, |jit| (jit.compile_time(), jit.background_time()))
    }

    /// Regions that came from the cache.
    pub fn loaded(&self) -> u64 {
        self.jit.as_ref().map_or(0, |jit| jit.loaded())
    }

    /// Has new code stored in the cache, if there is one.
    pub fn save_behind(&self, background: &Background) {
        if let Some(jit) = &self.jit {
            jit.save_behind(background);
        }
    }

    /// Why code that should be compiled could not be, if so: the interpreter ran it.
    pub fn not_compiled(&self) -> Option<String> {
        self.jit.as_ref().and_then(|jit| jit.refusal())
    }

    /// Where compiled code lies, to find guest addresses by.
    pub fn code_index(&self) -> CodeIndex {
        self.jit.as_ref().map_or_else(CodeIndex::default, |jit| jit.index())
    }

    /// Bytes of a warp's frame.
    pub fn frame_bytes(&self) -> usize {
        self.code.frame_bytes()
    }
}

/// Time that a kernel takes before another way is tried; where code is made while the interpreter runs, that has passed by then.
const PATIENCE: Duration = Duration::from_millis(2);
const PATIENCE_BEHIND: Duration = Duration::from_millis(20);

/// Times that no code fits all warps of a block before they are no longer tried to run together.
const MOST_CREDIT: i32 = 64;
/// Back edges between two looks at whether to stop.
const FUEL: i64 = 1 << 16;
/// Looks that a region may take after a higher block has faulted.
const LATE_LOOKS: u32 = 1 << 10;

/// What running code asks now and then.
pub trait Patience {
    /// Whether the launch is over for this block.
    fn stop(&self) -> bool;
    /// Whether a higher block has faulted, so that this one must end some time.
    fn is_late(&self) -> bool;
}

/// What a thread knows of the region that starts at a block.
#[derive(Debug, Clone, Default)]
struct Entry {
    versions: Vec<Arc<Compiled>>,
    /// The version that fitted last.
    last: usize,
    /// The exit by which the code came out last.
    wanted: u64,
    never: bool,
}

/// What a context's `user` names while compiled code runs.
struct Poll<'a> {
    asked: Asked<'a>,
    memory: &'a Memory,
}

/// What is done when the fuel is spent.
enum Asked<'a> {
    /// The launch is asked whether to go on.
    Patience(&'a dyn Patience, u32),
    /// The call is put aside: who resumes it asks, and gives it fuel.
    Suspend(Suspender),
}

impl<'a> Poll<'a> {
    fn new(patience: &'a dyn Patience, view: &View<'a>) -> Poll<'a> {
        Poll { asked: Asked::Patience(patience, 0), memory: view.memory }
    }
}

/// Called by compiled code when its fuel is spent.
unsafe extern "C" fn poll(context: *mut Context) -> u32 {
    // SAFETY: compiled code passes its context, whose `user` names the Poll of the call that runs; nothing else uses either meanwhile.
    let asked = unsafe { &mut (*(*context).user.cast::<Poll<'_>>()).asked };
    let (patience, late_looks) = match asked {
        Asked::Patience(patience, late_looks) => (*patience, late_looks),
        Asked::Suspend(suspender) => {
            let suspender = *suspender;
            // SAFETY: the context's code has called this, and nothing here is to be dropped.
            unsafe { suspender.suspend() };
            return 0;
        }
    };
    *late_looks += u32::from(patience.is_late());
    // SAFETY: as above.
    unsafe { (*context).fuel = FUEL };
    u32::from(*late_looks > LATE_LOOKS || patience.stop())
}

/// Called by compiled code for an atomic of global memory.
unsafe extern "C" fn global_atomic(context: *mut Context) {
    // SAFETY: as in `poll`.
    let (context, poll) = unsafe { (&mut *context, &*(*context).user.cast::<Poll<'_>>()) };
    let memory = poll.memory;
    context.each_atomic(|x| memory.atomic(x.address, x.bytes, x.op, x.value, x.new).ok());
}

/// Called by compiled code for an access of memory outside the window.
unsafe extern "C" fn translate(context: *mut Context) {
    // SAFETY: as in `poll`.
    let (context, poll) = unsafe { (&mut *context, &*(*context).user.cast::<Poll<'_>>()) };
    context.each_translation(&mut Translations(poll.memory));
}

/// The answers to translations.
struct Translations<'a>(&'a Memory);

impl Translator for Translations<'_> {
    fn translate(&mut self, access: &LaneTranslation) -> Option<*mut u8> {
        // SAFETY: the bounce is eight bytes of the context, aligned, that nothing else uses meanwhile.
        let bounce = unsafe { AtomicU64::from_ptr(access.bounce.cast()) };
        self.0.translate(access.address, access.bytes, access.value, bounce).ok()
    }

    fn store(&mut self, address: u64, bytes: u8, value: u64) {
        // It has been translated, so it is mapped.
        let _ = self.0.store(address, bytes, value);
    }
}

/// What is known of a warp's first state.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hint {
    /// The version of the code at the start that fits it: that needs no look at its registers.
    version: Option<u32>,
    /// Whether the warp has run since.
    has_run: bool,
}

impl Hint {
    /// The warp has run.
    pub fn run(&mut self) {
        self.has_run = true;
    }

    /// The warp is in its first state again.
    pub fn reset(&mut self) {
        self.has_run = false;
    }
}

/// How [`Stepper::run_row`] has ended.
pub struct RowRun {
    /// What has happened.
    pub flow: RowFlow,
    /// The block reached, along the row.
    pub block: u32,
    /// The warp.
    pub warp: usize,
    /// Guest instructions that each warp of that block has executed in pieces that all have run.
    pub insts: u64,
    /// Those of a warp of each block before, summed.
    pub row_insts: u64,
}

/// How [`Stepper::step`] has ended.
pub enum Step {
    /// A block or region of code has run.
    Flow(Flow),
    /// A region is in its midst, and others are to have a turn first.
    Suspended,
    /// Compiled code was asked to stop, and the warp is in no state to go on.
    Stopped,
}

/// One thread's means to execute code.
pub struct Stepper<'a> {
    tiers: &'a Tiers,
    background: &'a Background,
    /// Ends compiling early.
    cancel: Option<&'a CancelToken>,
    scratch: Scratch,
    context: Box<Context>,
    entries: Vec<Entry>,
    rights: Rights<'a>,
    /// Where the frame has the steps that a warp has left, if regions count them.
    steps_at: Option<u32>,
    threads: (u64, u64),
    /// Whether instructions are counted; of what lanes were counted ([`Counts::lanes`]), modulo 2^64.
    counts: bool,
    lanes: (u64, u64),
    /// The block whose terminator was executed last.
    last: Block,
    /// How often in vain warps may still be tried to run together; none if they may not.
    credit: i32,
    /// Storage for the calls of [`Stepper::run_together`].
    calls: Vec<Call>,
    /// Means for calls of regions that may wait.
    long_calls: Vec<LongCall>,
    /// The ways that blocks take.
    trails: Trails,
    /// The last of the calls that [`Stepper::run_together`] has made, and how it ended if by an exception.
    last_call: usize,
    ended: Option<Box<RawFault>>,
}

impl<'a> Stepper<'a> {
    /// For one thread of a launch.
    pub fn new(
        tiers: &'a Tiers,
        plan: &'a Plan,
        memory: &'a Memory,
        background: &'a Background,
        cancel: Option<&'a CancelToken>,
        watch: Watch,
    ) -> Self {
        let mut scratch = Scratch::new(&tiers.code);
        scratch.max_steps = plan.max_steps;
        scratch.stats = watch.count.then(Box::default);
        scratch.profile = watch.profile.then(|| Box::new(interp::Profile::new(&tiers.code)));
        let mut context = Box::new(Context::new());
        context.global_base = memory.base();
        context.window_high = !(memory.window_bytes() - 1);
        context.global_high = if tiers.translates { 0 } else { context.window_high };
        if let Some(upper) = memory.upper_base() {
            context.map_upper(upper);
        }
        context.near_guards = memory.has_near_guards().into();
        context.page_table = memory.page_table();
        context.poll = poll;
        context.global_atomic = global_atomic;
        context.translate = translate;
        for (pointer, bank) in context.const_banks.iter_mut().zip(&plan.consts) {
            *pointer = bank.bytes().as_ptr();
        }
        let entries = vec![Entry::default(); tiers.kernel.func.blocks.len()];
        // Local memory is each warp's own, exact counts need a look after each region, and limits, where regions do not count themselves.
        let together = tiers.jit.is_some()
            && !tiers.start.uses_local
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
            entries,
            rights: Rights { plan, memory },
            steps_at: tiers.kernel.steps_slot().map(|slot| tiers.slot_offset(slot)),
            threads: (0, 0),
            counts: watch.count,
            lanes: (0, 0),
            last,
            credit,
            calls: Vec::new(),
            long_calls: Vec::new(),
            trails: Trails::default(),
            last_call: 0,
            ended: None,
        }
    }

    /// Executes the block of code that a warp stands at in the interpreter.
    pub fn interpret(&mut self, warp: &mut Warp, view: &mut View<'_>) -> Flow {
        let before = warp.thread_steps;
        self.last = warp.block;
        sampler::set_place(Place::Interpreter(warp.block.index() as u32));
        let flow = self.tiers.code.run_block(&mut self.scratch, warp, view);
        sampler::set_place(Place::Runtime);
        // Less where an instruction faults that was counted before: by compiled code, if not here.
        let more = warp.thread_steps.wrapping_sub(before) as i64;
        match self.threads.0.checked_add_signed(more) {
            Some(sum) => self.threads.0 = sum,
            None => self.threads.1 = self.threads.1.saturating_add_signed(more),
        }
        self.take_lanes(warp);
        flow
    }

    /// Executes the block of code that a warp stands at, or a region that starts there, or goes on with the region that the warp is in the
    /// midst of.
    pub fn step(
        &mut self,
        warp: &mut Warp,
        midway: &mut Option<Box<Midway>>,
        view: &mut View<'_>,
        hint: &mut Hint,
        patience: &dyn Patience,
    ) -> Step {
        if let Some(begun) = midway.take() {
            return self.go_on(warp, begun, midway, patience);
        }
        let Some(version) = self.choose(warp, hint) else { return Step::Flow(self.interpret(warp, view)) };
        let at = warp.block;
        if self.entries[at.index()].versions[version].waits() != 0 {
            return self.begin(warp, version, midway, view);
        }
        let mut poll = Poll::new(patience, view);
        self.prepare(view, &mut poll);
        self.give_steps(warp, warp.steps);
        let code = &self.entries[at.index()].versions[version];
        let outcome = code.run(&mut self.context, warp, &self.rights);
        self.finish(warp, outcome).map_or(Step::Stopped, Step::Flow)
    }

    /// Takes over what a warp has counted of lanes.
    fn take_lanes(&mut self, warp: &mut Warp) {
        let (insts, slots) = warp.take_lanes();
        self.lanes = (self.lanes.0.wrapping_add(insts), self.lanes.1.wrapping_add(slots));
    }

    /// Steps that regions of a warp that has taken so many are told are left.
    fn steps_given(&self, taken: u64) -> u64 {
        let most = if self.scratch.max_steps == 0 { u64::MAX } else { self.scratch.max_steps };
        most.saturating_sub(taken).min(i32::MAX as u64)
    }

    /// Tells the regions that a warp runs next how many steps are left if it has taken so many.
    pub fn give_steps(&self, warp: &mut Warp, taken: u64) {
        if let Some(offset) = self.steps_at {
            warp.frame.write(offset, Scalar::I32, 0, self.steps_given(taken));
        }
    }

    /// Steps that a warp has taken in regions since it had taken so many, when it was told; none if they do not count.
    pub fn steps_since(&self, warp: &Warp, taken: u64) -> Option<u64> {
        let left = warp.frame.read(self.steps_at?, Scalar::I32, 0);
        Some(self.steps_given(taken).saturating_sub(left))
    }

    /// Whether warps have steps enough left for a version of the code at a block.
    pub fn have_steps<'w>(&self, at: Block, place: usize, mut warps: impl Iterator<Item = &'w Warp>) -> bool {
        let Some(offset) = self.steps_at else { return true };
        let wanted = self.entries[at.index()].versions[place].steps();
        warps.all(|warp| warp.frame.read(offset, Scalar::I32, 0) >= wanted)
    }

    /// Makes the context that of a warp's memory.
    #[inline]
    fn prepare(&mut self, view: &mut View<'_>, poll: &mut Poll<'_>) {
        let context = &mut *self.context;
        (context.shared_base, context.shared_bytes) = view.shared.raw();
        (context.local_base, context.local_bytes) = view.local.raw();
        context.fuel = FUEL;
        context.user = std::ptr::from_mut(poll).cast::<c_void>();
    }

    /// Goes on where the region at the warp's block has come out.
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

    /// Whether a loop that does nothing but wait for others begins at a block, as far as is known.
    #[inline]
    pub fn surely_waits(&self, at: Block) -> bool {
        self.tiers.jit.is_some() && self.tiers.kernel.surely_waits(at)
    }

    /// Whether running warps together is worth a try ([`super::block`]).
    #[inline]
    pub fn may_run_together(&self) -> bool {
        self.credit > 0
    }

    /// The version of the code at the start that fits warps of these hints, if it is the same for all.
    pub fn common_version(&self, mut hints: impl Iterator<Item = Hint>) -> Option<u32> {
        let first = hints.next()?.version?;
        hints.all(|hint| hint.version == Some(first)).then_some(first)
    }

    /// Where a version of the code at the start is kept by this thread.
    pub fn place_at_start(&self, version: u32) -> Option<usize> {
        let known = &self.entries[self.tiers.start.block.index()].versions;
        known.iter().position(|code| code.number() == version).filter(|&place| known[place].waits() == 0)
    }

    /// A version of the code at a block that fits all of the warps.
    pub fn place_for_all<'w>(
        &mut self,
        at: Block,
        warps: impl Iterator<Item = &'w Warp> + Clone,
        known: &KnownShapes,
    ) -> Option<usize> {
        let entry = &self.entries[at.index()];
        if entry.versions.iter().any(|code| code.waits() != 0) {
            // Each warp has a stack of its own there.
            return None;
        }
        let fits = |place: usize| entry.versions[place].fits_all(warps.clone(), known);
        let found = (!entry.versions.is_empty() && fits(entry.last))
            .then_some(entry.last)
            .or_else(|| (0..entry.versions.len()).find(|&place| fits(place)));
        let cold = entry.versions.is_empty() && !entry.never;
        self.credit += match found {
            Some(_) => i32::from(self.credit < MOST_CREDIT),
            // No code yet says nothing about the warps.
            None => -i32::from(!cold),
        };
        found
    }

    /// An empty list for [`Stepper::run_together`].
    pub fn take_calls(&mut self) -> Vec<Call> {
        self.calls.clear();
        std::mem::take(&mut self.calls)
    }

    /// Keeps the list's storage for the next time.
    pub fn keep_calls(&mut self, calls: Vec<Call>) {
        self.calls = calls;
    }

    /// Runs the code at a block for warps that all stand there, one after the other, while they come out by the same exit.
    /// Gives that exit if all did; else [`Stepper::parted`] tells more.
    // Inline: arguments on the stack are written and read in pieces of different size, which costs more than the rest.
    #[inline(always)]
    pub fn run_together(
        &mut self,
        at: Block,
        place: usize,
        calls: &mut [Call],
        view: &mut View<'_>,
        patience: &dyn Patience,
    ) -> Option<ExitKind> {
        let mut poll = Poll::new(patience, view);
        self.prepare(view, &mut poll);
        let entry = &self.entries[at.index()];
        let code = &entry.versions[place];
        self.ended = None;
        self.last_call = code.run_all(&mut self.context, calls, entry.wanted, &mut self.ended);
        let all = self.last_call + 1 == calls.len() && self.ended.is_none();
        if all && calls.last().is_some_and(|call| call.result == entry.wanted) {
            return code.exit(entry.wanted);
        }
        None
    }

    /// Of warps of which not all have come out as the others did: the last that ran, how that came out, and by which exit those
    /// before it did.
    pub fn parted(&mut self, at: Block, place: usize, calls: &[Call]) -> (usize, RegionFlow, u64) {
        let entry = &mut self.entries[at.index()];
        let call = calls.get(self.last_call);
        let wanted = entry.wanted;
        let code = &entry.versions[place];
        let flow = code.flow_of(&mut self.context, call, self.ended.take(), &self.rights);
        if let (RegionFlow::Exit(..), Some(call)) = (&flow, call) {
            entry.wanted = call.result;
        }
        (self.last_call, flow, wanted)
    }

    /// The ways that blocks take.
    pub fn trails(&mut self) -> &mut Trails {
        &mut self.trails
    }

    /// A version of the code at a block, run by warps of which so much is known, as a step of their way.
    pub fn stop(&mut self, at: Block, place: usize, known: &KnownShapes) -> Option<u32> {
        let code = self.entries[at.index()].versions.get(place)?;
        self.trails.stop(at, place, code, known)
    }

    /// Where an exit of a version leads.
    pub fn exit(&self, at: Block, place: usize, number: u64) -> Option<ExitKind> {
        self.entries[at.index()].versions.get(place)?.exit(number)
    }

    /// Goes on with a warp as [`Stepper::run_together`] has found it to come out. `None`: it was stopped.
    pub fn resume(&mut self, warp: &mut Warp, outcome: RegionFlow) -> Option<Flow> {
        self.finish(warp, outcome)
    }

    /// Guest instructions that an execution of the code at a block counts for.
    pub fn insts(&self, at: Block) -> u64 {
        self.tiers.code.guest_insts(at).into()
    }

    /// Counts thread instructions of compiled code that no warp has counted.
    pub fn add_threads(&mut self, count: u64) {
        self.threads.1 += count;
    }

    /// Whether there is code for rows of blocks, or it would be compiled if it were asked for.
    pub fn may_have_rows(&self) -> bool {
        let is_hot = || !self.entries[self.tiers.start.block.index()].versions.is_empty();
        self.tiers.jit.as_ref().is_some_and(|jit| jit.rows_are_near(!self.tiers.behind || is_hot()))
    }

    /// Code for rows of blocks that fits a block like that, and whether it was made for such. Where code is compiled behind, it is asked for
    /// once there is some for single warps, or for other rows.
    pub fn code_for_rows(&self, look: BlockLook<'_>) -> Option<(Arc<Compiled>, bool)> {
        let jit = self.tiers.jit.as_ref()?;
        let at = self.tiers.kernel.func.entry;
        let is_cold = || self.entries[self.tiers.start.block.index()].versions.is_empty();
        let make = match self.tiers.behind {
            false => Make::Now,
            true if is_cold() && jit.row_versions() == 0 => Make::Never,
            true => Make::Behind(self.background),
        };
        jit.rows(at, look, make, self.cancel)
    }

    /// How many versions of code for rows of blocks there are.
    pub fn row_versions(&self) -> usize {
        self.tiers.jit.as_ref().map_or(0, |jit| jit.row_versions())
    }

    /// Blocks that are to run one by one before code for rows is asked for.
    pub fn blocks_before_rows(&self, plan: &Plan) -> u32 {
        // Where code is made behind, blocks have run before it is asked for; and looking would find all regions first.
        (!self.tiers.behind
            && self
                .tiers
                .jit
                .as_ref()
                .is_some_and(|jit| jit.rows_need_a_run((plan.block, plan.all_lanes()), self.cancel)))
        .into()
    }

    /// Whether code for rows of blocks may be there later, if it is not now.
    pub fn rows_may_come(&self) -> bool {
        self.tiers.behind && self.tiers.jit.as_ref().is_some_and(|jit| jit.rows_are_possible())
    }

    /// Runs a row of blocks: from and to along the row, and what their linear index has more; `shared` is what blocks find in shared memory.
    pub fn run_row(
        &mut self,
        code: &Compiled,
        warps: &mut [RowWarp],
        (row, linear_more): (Range<u32>, u32),
        view: &mut View<'_>,
        shared: &[u8],
        patience: &dyn Patience,
    ) -> RowRun {
        let mut poll = Poll::new(patience, view);
        self.prepare(view, &mut poll);
        let context = &mut *self.context;
        (context.block_x, context.block_end, context.linear_more) = (row.start, row.end, linear_more);
        context.shared_first = shared.as_ptr();
        let start = warps.as_ptr() as usize;
        let flow = code.run_row(context, warps, &self.rights);
        let warp = (context.warp as usize).wrapping_sub(start) / size_of::<RowWarp>();
        // What loops have taken is not one warp's.
        context.fuel = FUEL;
        RowRun { flow, block: context.block_x, warp, insts: context.insts, row_insts: context.row_insts }
    }

    /// Guest instructions that a warp of a row counts for.
    pub fn first_insts(&self) -> u64 {
        self.insts(self.tiers.start.block)
    }

    /// Which version of the region at the warp's block is to run, if any.
    #[inline]
    fn choose(&mut self, warp: &Warp, hint: &mut Hint) -> Option<usize> {
        let jit = self.tiers.jit.as_ref()?;
        let first = !std::mem::replace(&mut hint.has_run, true);
        let entry = &mut self.entries[warp.block.index()];
        if entry.never {
            return None;
        }
        let max_steps = self.scratch.max_steps;
        if max_steps != 0 && warp.steps + u64::from(self.tiers.code.guest_insts(warp.block)) > max_steps {
            // The interpreter stops at the right instruction.
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
            // Another version may have been made for such warps, or be made.
            Some(found) if !(fresh && entry.versions[found].assumes_little()) => found,
            _ => {
                sampler::set_place(Place::Compiler);
                let code = match self.tiers.behind {
                    true => jit.ready(warp, self.background),
                    false => jit.region(warp, self.cancel).map_or(Ready::Never, Ready::Code),
                };
                sampler::set_place(Place::Runtime);
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
        if fresh {
            hint.version = Some(entry.versions[found].number());
        }
        Some(found)
    }

    /// Adds what a region has executed to the warp: `steps`, if it counted those, else the instructions of its first block, and, where nobody
    /// counts exactly, the time that its loops took.
    fn count(&self, at: Block, steps: Option<u64>, warp: &mut Warp) {
        let executed = steps.unwrap_or_else(|| u64::from(self.tiers.code.guest_insts(at)));
        warp.count(executed);
        if !self.counts {
            if steps.is_none() {
                // For the turns of warps and blocks.
                warp.steps += FUEL.saturating_sub(self.context.fuel).unsigned_abs();
            }
            return;
        }
        let Some([lanes, masked]) = self.tiers.kernel.lane_slots() else { return warp.count_lanes(executed) };
        let count = self.tiers.kernel.func.lanes as usize;
        let start = self.tiers.slot_offset(lanes) as usize / 4;
        let sums = &mut warp.frame.words_mut()[start..start + count];
        warp.lane_insts = sums.iter().fold(warp.lane_insts, |all, &sum| all.wrapping_add(sum.into()));
        sums.fill(0);
        let masked = self.tiers.slot_offset(masked);
        let instructions = warp.frame.read(masked, Scalar::I32, 0);
        warp.lane_slots = warp.lane_slots.wrapping_add(instructions * count as u64);
        warp.frame.write(masked, Scalar::I32, 0, 0);
    }

    /// Guest address of the terminator that was executed last.
    pub fn last_pc(&self) -> u32 {
        self.tiers.kernel.func.blocks.get(self.last.index()).map_or(0, |data| data.term_pc)
    }

    /// What was counted.
    pub fn into_counts(self) -> Counts {
        let interp = self.scratch.stats.map_or_else(Default::default, |stats| *stats);
        let (threads, lanes) = (self.threads, self.lanes);
        Counts { interp, threads, lanes, profile: self.scratch.profile, ..Counts::default() }
    }
}
