//! Executes warps step by step, choosing for each step between the interpreter and compiled code. This is the *driver* of
//! regions: it enters them, and executes their terminators on the warp's divergence stack.

use super::background::Background;
use super::block::RunningBlock;
use super::block_row;
use super::carried;
use super::jit::{
    BlockLook, CodeIndex, Compiled, Jit, KnownShapes, Make, Ready, RegionFlow, RowFacts, RowFlow,
};
use super::limits::Limits;
use super::memory::{Device, Rights, View};
use super::samples::RawSamples;
use super::setup::Plan;
use super::start::Start;
use super::trails::Trails;
use super::ways::Choice;
use crate::cache::CacheConfig;
use crate::variant::Variant;
use crate::vm::sampler::{self, Place};
use crate::vm::{Call, RawFault, Suspender};
use crate::{CancelToken, Config, Error, Listings, Memory, Observe, Tier};
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use warpjit_backend::LINE_BYTES;
use warpjit_backend::{Context, LaneTranslation, RowWarp, Translator, in_host_floats};
use warpjit_ir::interp::{self, Code, Flow, Scratch, Warp};
use warpjit_ir::meter::Spent;
use warpjit_ir::regions::Kernel;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::{Block, DeviceCall, DeviceFault, Function, Scalar, Slot, Terminator};

#[path = "midway.rs"]
mod midway;

use midway::LongCall;
pub use midway::Midway;

/// A kernel that is ready to run in both tiers. Threads and launches with the same settings share it.
#[derive(Debug)]
pub struct Tiers {
    kernel: Arc<Kernel>,
    code: Code,
    offsets: Vec<u32>,
    start: Start,
    jit: Option<Arc<Jit>>,
    /// Whether code is compiled in the background while the interpreter runs.
    behind: bool,
    /// Whether compiled code translates 64-bit addresses.
    translates: bool,
    /// The choice between this way and lane by lane, if both are possible.
    choice: Choice,
}

/// What a launch records besides its results.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watch {
    /// Count instructions.
    pub count: bool,
    /// Let the interpreter count for a profile.
    pub profile: bool,
    /// Samples a second of each thread.
    pub sample_rate: u32,
}

impl Watch {
    /// What the configuration asks for.
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
    /// Thread instructions by the interpreter and by compiled code. They show each tier's share, so all lanes of a wave
    /// count as active.
    pub threads: (u64, u64),
    /// If instructions are counted: lanes in which they took effect, and lanes in which they could have.
    pub lanes: (u64, u64),
    /// The interpreter's counts for a profile.
    pub profile: Option<Box<interp::Profile>>,
    /// The samples.
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

impl Tiers {
    /// Prepares a kernel.
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
        let mut code = Code::new(&kernel.func).map_err(|error| Error::Program(error.to_string()))?;
        code.align_frames(LINE_BYTES);
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

    /// The choice between this way and lane by lane.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Whether code runs all lanes of a warp together.
    pub fn has_whole_warps(&self) -> bool {
        self.kernel.whole_warps()
    }

    /// Whether the kernel can diverge or has loops. Otherwise lane by lane cannot be faster.
    pub fn may_part(&self) -> bool {
        let blocks = &self.kernel.func.blocks;
        blocks
            .iter()
            .filter_map(|block| block.term.as_ref())
            .any(|term| matches!(term, Terminator::Branch { .. } | Terminator::Leave { cond: Some(_), .. }))
    }

    /// The code compiled so far, if it is kept as text.
    pub fn listings(&self) -> Listings {
        self.jit.as_ref().map_or_else(Listings::default, |jit| jit.listings())
    }

    /// Compiles what a launch of such a block needs, if code is compiled at all. `false`: it was cancelled.
    pub fn compile_ahead(&self, plan: &Plan, block: &RunningBlock, cancel: &CancelToken) -> bool {
        let Some(jit) = &self.jit else { return true };
        let warps: Vec<&Warp> = block.warps().collect();
        let several = plan.blocks.end - plan.blocks.start > 1;
        let first = (several && block_row::may_run(plan, self))
            .then(|| RunningBlock::unprepared(plan, self, plan.blocks.start));
        let frames = first.as_ref().map_or_else(Vec::new, |block| block.frames());
        let words: Vec<&[u32]> = frames.iter().map(|frame| frame.words()).collect();
        let (shared, whole) = (plan.shared.len(), plan.all_lanes());
        let look = BlockLook { frames: &words, shared, whole, threads: plan.size };
        jit.compile_ahead(&warps, first.is_some().then_some(look), Some(cancel))
    }

    /// The kernel as the interpreter runs it.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The kernel, in SPMD form, as both tiers run it.
    pub fn function(&self) -> &Function {
        &self.kernel.func
    }

    /// Whether this has a JIT.
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

    /// Time spent compiling so far: by threads of launches, and by engines' compiler threads.
    pub fn compile_times(&self) -> (Duration, Duration) {
        self.jit.as_ref().map_or_else(Default::default, |jit| (jit.compile_time(), jit.background_time()))
    }

    /// Bytes of host memory that it takes, by the sizes of its parts: the kernel twice, as IR and for the interpreter, and compiled code.
    pub fn bytes_used(&self) -> usize {
        2 * self.kernel.func.bytes() + self.jit.as_ref().map_or(0, |jit| jit.bytes_used())
    }

    /// Number of regions loaded from the cache.
    pub fn loaded(&self) -> u64 {
        self.jit.as_ref().map_or(0, |jit| jit.loaded())
    }

    /// Saves new code to the cache in the background, if there is a cache.
    pub fn save_behind(&self, background: &Background) {
        if let Some(jit) = &self.jit {
            jit.save_behind(background);
        }
    }

    /// Saves new code to the cache on this thread, if there is a cache.
    pub fn save_now(&self) {
        if let Some(jit) = self.jit.as_ref().filter(|jit| jit.is_unsaved()) {
            jit.save();
        }
    }

    /// Why the code generator rejected a region, if it did. The interpreter ran it.
    pub fn not_compiled(&self) -> Option<String> {
        self.jit.as_ref().and_then(|jit| jit.refusal())
    }

    /// The host addresses of compiled code, to look up guest addresses.
    pub fn code_index(&self) -> CodeIndex {
        self.jit.as_ref().map_or_else(CodeIndex::default, |jit| jit.index())
    }

    /// Bytes of a warp's frame.
    pub fn frame_bytes(&self) -> usize {
        self.code.frame_bytes()
    }
}

/// Time that a kernel runs with vectors before lane by lane is tried. It is longer if code is compiled in the
/// background (`PATIENCE_BEHIND`), so that compiling has ended by then.
const PATIENCE: Duration = Duration::from_millis(2);
const PATIENCE_BEHIND: Duration = Duration::from_millis(20);

/// How often code may fail to fit all warps of a block before a thread stops trying to run warps together.
const MOST_CREDIT: i32 = 64;
/// Back edges between two polls.
const FUEL: i64 = 1 << 16;
/// Warp instructions that a region may execute before it returns to the driver, if it counts them and the launch may be
/// paused.
const PAUSE_STEPS: u64 = 1 << 20;
/// Polls that a region may take after a higher block has faulted.
const LATE_LOOKS: u32 = 1 << 10;

/// What running code polls now and then.
pub trait Patience {
    /// Whether the launch is over for this block.
    fn stop(&self) -> bool;
    /// Whether a higher block has faulted, so that this one gets a limited time.
    fn is_late(&self) -> bool;
    /// Asked wherever a warp has reached the end of a block or region, if the launch may be paused ([`Plan::may_pause`]):
    /// whether it is to stop there, to be saved.
    fn pause(&self) -> bool {
        false
    }
    /// Whether [`Patience::pause`] has said so.
    fn is_paused(&self) -> bool {
        false
    }
}

/// A thread's record of the region that starts at a block.
#[derive(Debug, Clone, Default)]
struct Entry {
    versions: Vec<Arc<Compiled>>,
    /// The version that fitted the last warp.
    last: usize,
    /// The exit that the code took last, which is expected again.
    wanted: u64,
    never: bool,
}

/// The target of a context's `user` pointer while compiled code runs.
struct Poll<'a> {
    asked: Asked<'a>,
    memory: &'a Memory,
    plan: &'a Plan,
}

/// What to do when the fuel is spent.
enum Asked<'a> {
    /// Poll the launch whether to go on. The number counts polls after a higher block has faulted.
    Patience(&'a dyn Patience, u32),
    /// Suspend the call. Its resumer polls, and refills the fuel.
    Suspend(Suspender),
}

impl<'a> Poll<'a> {
    fn new(patience: &'a dyn Patience, view: &View<'a>) -> Poll<'a> {
        Poll { asked: Asked::Patience(patience, 0), memory: view.memory, plan: view.plan }
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
    context.each_atomic(|x| {
        carried::catch(|| memory.guest_atomic(x.address, x.bytes, x.op, x.value, x.new).ok()).flatten()
    });
}

/// Called by compiled code for a device call.
unsafe extern "C" fn call_device(context: *mut Context) {
    // SAFETY: as in `poll`.
    let (context, poll) = unsafe { (&mut *context, &*(*context).user.cast::<Poll<'_>>()) };
    // SAFETY: the context's code is in a device call.
    let (site, lanes) = unsafe { context.device_call() };
    let count = poll.plan.lanes as usize;
    let bytes = (context.local_bytes as usize).next_multiple_of(4) * count;
    // SAFETY: the context's local memory is the warp's, of that size, and nothing else uses it while its code waits for this call.
    let local = unsafe { std::slice::from_raw_parts_mut(context.local_base, bytes) };
    if poll.plan.samplers.serve_again(&site, local, count, lanes) {
        context.end_device_call(None);
        return;
    }
    let mut access = Device { plan: poll.plan, memory: poll.memory, local, lanes: count, site: Some(&site) };
    let mut call = DeviceCall { params: site.params, mailbox: site.mailbox, lanes, access: &mut access };
    let lane = lanes.trailing_zeros();
    let done = in_host_floats(|| carried::catch(|| (site.callee.run)(&mut call)));
    // The panic is thrown where this fault arrives.
    let fault = done.unwrap_or(Err(DeviceFault::Memory { lane, address: 0, store: false }));
    let fault = fault.err();
    context.end_device_call(fault);
}

/// Called by compiled code for an access outside the window.
unsafe extern "C" fn translate(context: *mut Context) {
    // SAFETY: as in `poll`.
    let (context, poll) = unsafe { (&mut *context, &*(*context).user.cast::<Poll<'_>>()) };
    context.each_translation(&mut Translations(poll.memory));
}

/// Answers requests for translations.
struct Translations<'a>(&'a Memory);

impl Translator for Translations<'_> {
    fn translate(&mut self, access: &LaneTranslation) -> Option<*mut u8> {
        // SAFETY: the bounce is eight bytes of the context, aligned, that nothing else uses meanwhile.
        let bounce = unsafe { AtomicU64::from_ptr(access.bounce.cast()) };
        carried::catch(|| self.0.translate(access.address, access.bytes, access.value, bounce).ok()).flatten()
    }

    fn store(&mut self, address: u64, bytes: u8, value: u64) {
        // Cannot fail: the address has been translated, so it is mapped.
        let _ = carried::catch(|| self.0.guest_store(address, bytes, value));
    }
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

/// How [`Stepper::run_row`] has ended.
pub struct RowRun {
    /// What happened.
    pub flow: RowFlow,
    /// The block reached, along the row.
    pub block: u32,
    /// The warp.
    pub warp: usize,
    /// Guest instructions that each warp of that block has executed in completed phases.
    pub insts: u64,
    /// Guest instructions that one warp of each earlier block has executed, summed over the blocks.
    pub row_insts: u64,
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
    /// The block whose terminator was executed last.
    last: Block,
    /// How many more failures to run warps together are tolerated; 0 if warps are not run together.
    credit: i32,
    /// Storage for the calls of [`Stepper::run_together`].
    calls: Vec<Call>,
    /// Stacks and contexts kept for regions that may wait.
    long_calls: Vec<LongCall>,
    /// The paths that blocks take.
    trails: Trails,
    /// The last call that [`Stepper::run_together`] made; `ended` is its exception, if it had one.
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
    trails: Trails,
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
            trails: Trails::default(),
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
        let Kept { mut scratch, mut context, entries, calls, trails } = kept;
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
            entries,
            rights: Rights { plan, memory },
            most_given: if plan.may_pause { PAUSE_STEPS } else { i32::MAX as u64 },
            steps_at: tiers.kernel.steps_slot().map(|slot| tiers.slot_offset(slot)),
            threads: (0, 0),
            counts: watch.count,
            lanes: (0, 0),
            last,
            credit,
            calls,
            long_calls: Vec::new(),
            trails,
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
        let Stepper { scratch, context, entries, calls, trails, .. } = self;
        (Kept { scratch, context, entries, calls, trails }, counts)
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
        sampler::set_place(Place::Interpreter(warp.block.index() as u32));
        let flow = self.tiers.code.run_block(&mut self.scratch, warp, view);
        sampler::set_place(Place::Runtime);
        // May be negative: a faulting instruction is uncounted again, and compiled code may have counted it.
        let more = warp.thread_steps.wrapping_sub(before) as i64;
        match self.threads.0.checked_add_signed(more) {
            Some(sum) => self.threads.0 = sum,
            None => self.threads.1 = self.threads.1.saturating_add_signed(more),
        }
        self.take_lanes(warp);
        flow
    }

    /// Executes the warp's current block of code, or a region that starts there, or resumes the warp's suspended
    /// region.
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
    pub fn have_steps<'w>(&self, at: Block, place: usize, mut warps: impl Iterator<Item = &'w Warp>) -> bool {
        let Some(offset) = self.steps_at else { return true };
        let wanted = self.entries[at.index()].versions[place].steps();
        warps.all(|warp| warp.frame.read(offset, Scalar::I32, 0) >= wanted)
    }

    /// Points the context to a warp's memory.
    #[inline]
    fn prepare(&mut self, view: &mut View<'_>, poll: &mut Poll<'_>) {
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

    /// Whether it is worthwhile to run warps together ([`super::block`]).
    #[inline]
    pub fn may_run_together(&self) -> bool {
        self.credit > 0
    }

    /// The version of the start region that all these hints name, if they agree.
    pub fn common_version(&self, mut hints: impl Iterator<Item = Hint>) -> Option<u32> {
        let first = hints.next()?.version?;
        hints.all(|hint| hint.version == Some(first)).then_some(first)
    }

    /// This thread's index of a version of the start region.
    pub fn place_at_start(&self, version: u32) -> Option<usize> {
        let known = &self.entries[self.tiers.start.block.index()].versions;
        known.iter().position(|code| code.number() == version).filter(|&place| known[place].waits() == 0)
    }

    /// A version of the region at a block that fits all of the warps.
    pub fn place_for_all<'w>(
        &mut self,
        at: Block,
        warps: impl Iterator<Item = &'w Warp> + Clone,
        known: &KnownShapes,
    ) -> Option<usize> {
        let entry = &self.entries[at.index()];
        if entry.versions.iter().any(|code| code.waits() != 0) {
            // Such a region needs a stack for each warp.
            return None;
        }
        let fits = |place: usize| entry.versions[place].fits_all(warps.clone(), known);
        let found = (!entry.versions.is_empty() && fits(entry.last))
            .then_some(entry.last)
            .or_else(|| (0..entry.versions.len()).find(|&place| fits(place)));
        let cold = entry.versions.is_empty() && !entry.never;
        self.credit += match found {
            Some(_) => i32::from(self.credit < MOST_CREDIT),
            // If there is no code yet, that is no failure.
            None => -i32::from(!cold),
        };
        found
    }

    /// An empty list for [`Stepper::run_together`].
    pub fn take_calls(&mut self) -> Vec<Call> {
        self.calls.clear();
        std::mem::take(&mut self.calls)
    }

    /// Keeps the list's storage for reuse.
    pub fn keep_calls(&mut self, calls: Vec<Call>) {
        self.calls = calls;
    }

    /// Runs the region at a block for warps that are all there, one after another, while they take the same exit.
    /// Returns that exit if all took it; otherwise see [`Stepper::parted`].
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

    /// After warps have diverged in [`Stepper::run_together`]: the last warp that ran, how its region ended, and the
    /// exit of the warps before it.
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

    /// The paths that blocks take.
    pub fn trails(&mut self) -> &mut Trails {
        &mut self.trails
    }

    /// The path-cache node for a version of the region at a block and the lane patterns known of its warps.
    pub fn stop(&mut self, at: Block, place: usize, known: &KnownShapes) -> Option<u32> {
        let code = self.entries[at.index()].versions.get(place)?;
        self.trails.stop(at, place, code, known)
    }

    /// Where an exit of a version leads.
    pub fn exit(&self, at: Block, place: usize, number: u64) -> Option<ExitKind> {
        self.entries[at.index()].versions.get(place)?.exit(number)
    }

    /// Continues a warp after its region in [`Stepper::run_together`]. `None`: it was stopped.
    pub fn resume(&mut self, warp: &mut Warp, outcome: RegionFlow) -> Option<Flow> {
        self.finish(warp, outcome)
    }

    /// Guest instructions that one run of the region at a block is counted as.
    pub fn insts(&self, at: Block) -> u64 {
        self.tiers.code.guest_insts(at).into()
    }

    /// Adds thread instructions of compiled code that no warp has counted.
    pub fn add_threads(&mut self, count: u64) {
        self.threads.1 += count;
    }

    /// Whether there is grid-row code, or it would be compiled on request.
    pub fn may_have_rows(&self) -> bool {
        let is_hot = || !self.entries[self.tiers.start.block.index()].versions.is_empty();
        self.tiers.jit.as_ref().is_some_and(|jit| jit.rows_are_near(!self.tiers.behind || is_hot()))
    }

    /// Grid-row code that fits a block, and whether it was made for the block's class. With background compilation, it
    /// is requested once there is code for single warps or for another class.
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

    /// Number of versions of grid-row code.
    pub fn row_versions(&self) -> usize {
        self.tiers.jit.as_ref().map_or(0, |jit| jit.row_versions())
    }

    /// Blocks to run warp by warp before grid-row code is requested.
    pub fn blocks_before_rows(&self, plan: &Plan) -> u32 {
        // With background compilation blocks have run before it is requested anyway, and testing this would first have
        // to find all regions.
        (!self.tiers.behind
            && self
                .tiers
                .jit
                .as_ref()
                .is_some_and(|jit| jit.rows_need_a_run((plan.size, plan.all_lanes()), self.cancel)))
        .into()
    }

    /// Whether there may be grid-row code later, if there is none now.
    pub fn rows_may_come(&self) -> bool {
        self.tiers.behind && self.tiers.jit.as_ref().is_some_and(|jit| jit.rows_are_possible())
    }

    /// Runs blocks of a grid row: first and end index along the row, and the difference to the linear index. `shared`
    /// is the initial shared memory.
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
        // The fuel spent belongs to no single warp.
        context.fuel = FUEL;
        RowRun { flow, block: context.block_x, warp, insts: context.insts, row_insts: context.row_insts }
    }

    /// Guest instructions that one warp of plain grid-row code is counted as.
    pub fn first_insts(&self) -> u64 {
        self.insts(self.tiers.start.block)
    }

    /// Chooses the version of the region at the warp's block to run, if any.
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
        if self.rights.plan.may_pause && entry.versions[found].steps() > self.most_given {
            return None;
        }
        if fresh {
            hint.version = Some(entry.versions[found].number());
        }
        Some(found)
    }

    /// Adds the instructions of a region to the warp's count: `steps` if the region counted them, else those of its
    /// first block plus, if no exact count is needed, its back edges.
    fn count(&self, at: Block, steps: Option<u64>, warp: &mut Warp) {
        let executed = steps.unwrap_or_else(|| u64::from(self.tiers.code.guest_insts(at)));
        warp.count(executed);
        if !self.counts {
            if steps.is_none() {
                // This limits the slices of warps and blocks.
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
}
