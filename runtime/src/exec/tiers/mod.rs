//! A kernel in both tiers: the interpreter's code and the JIT ([`Tiers`]). [`Stepper`] executes warps, choosing for each step between the
//! two.

mod calls;
mod stepper;

use std::sync::Arc;
use std::time::Duration;

use warpjit_backend::LINE_BYTES;
use warpjit_ir::interp::{self, Code, Warp};
use warpjit_ir::meter::Usage;
use warpjit_ir::regions::Kernel;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::{Function, Scalar, Slot, Terminator};

use super::compiler_threads::Background;
use super::initial_state::InitialState;
use super::jit::{CodeIndex, Jit, RowFacts};
use super::limits::Limits;
use super::samples::RawSamples;
use super::strategy::Choice;
use crate::cache::CacheConfig;
use crate::variant::Variant;
use crate::{Config, Error, Listings, Observe, ProgramError, Tier};

pub use calls::StopPoll;
pub use stepper::{Hint, Kept, Midway, Step, Stepper, StepperParts, Until};

/// A kernel that is ready to run in both tiers. Threads and launches with the same settings share it.
#[derive(Debug)]
pub struct Tiers {
    kernel: Arc<Kernel>,
    code: Code,
    offsets: Vec<u32>,
    start: InitialState,
    jit: Option<Arc<Jit>>,
    /// Whether code is compiled in the background while the interpreter runs.
    behind: bool,
    /// Whether compiled code translates 64-bit addresses.
    translates: bool,
    /// Whether compiled code takes addresses relative to the range that the memory hands out.
    rebases: bool,
    /// Whether compiled code asks before accesses.
    permits: bool,
    /// The choice of strategy, if others than this one are possible.
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
        let meter = limits.meter(Usage::default());
        let kernel = Arc::new(Kernel::within(function, variant.region_options(), facts.read_only(), &meter)?);
        meter.stage("making it ready for the interpreter")?;
        let mut code =
            Code::new(&kernel.func).map_err(|error| ProgramError::NotRunnable { source: error })?;
        code.align_frames(LINE_BYTES);
        let (offsets, _) = kernel.func.frame_layout();
        let start = InitialState::new(&kernel.func, variant.keep_registers, &meter)?;
        let spent = meter.spent();
        let jit = |kernel| Jit::new(kernel, variant, facts, cache, limits.budget, spent);
        let jit = match variant.tier {
            Tier::Interp => None,
            Tier::Jit | Tier::Auto => Some(Arc::new(jit(kernel.clone())?)),
        };
        let behind = variant.tier == Tier::Auto;
        let (translates, rebases, permits) = (variant.translates(), variant.rebase, variant.permits);
        let known = jit.as_ref().and_then(|jit: &Arc<Jit>| jit.strategy());
        let choice = Choice::new(if behind { WARM_UP_TIME_IN_BACKGROUND } else { WARM_UP_TIME }, known);
        Ok(Tiers { kernel, code, offsets, start, jit, behind, translates, rebases, permits, choice })
    }

    /// What a warp has summed up in a uniform slot since this was called last.
    pub(in crate::exec) fn take_uniform(&self, slot: Slot, warp: &mut Warp) -> u64 {
        let offset = self.slot_offset(slot);
        let sum = warp.frame.read(offset, Scalar::I32, 0);
        warp.frame.write(offset, Scalar::I32, 0, 0);
        sum
    }

    /// Whether code is compiled while the interpreter runs, so that launches do not wait for it.
    pub(in crate::exec) fn behind(&self) -> bool {
        self.behind
    }

    /// The choice of strategy.
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

    /// The JIT, if code is compiled.
    pub(in crate::exec) fn jit(&self) -> Option<&Arc<Jit>> {
        self.jit.as_ref()
    }

    /// The kernel as the interpreter runs it.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Whether a barrier is behind an exit.
    pub fn is_barrier(&self, exit: ExitKind) -> bool {
        let func = &self.kernel.func;
        matches!(exit, ExitKind::Terminator(block) if matches!(func.term(block), Terminator::Barrier { .. }))
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
    pub fn start(&self) -> &InitialState {
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
            jit.note_strategy(self.choice.found());
            jit.save_behind(background);
        }
    }

    /// Saves new code to the cache on this thread, if there is a cache.
    pub fn save_now(&self) {
        let Some(jit) = &self.jit else { return };
        jit.note_strategy(self.choice.found());
        if jit.is_unsaved() {
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
/// background (`WARM_UP_TIME_IN_BACKGROUND`), so that compiling has ended by then.
const WARM_UP_TIME: Duration = Duration::from_millis(2);
const WARM_UP_TIME_IN_BACKGROUND: Duration = Duration::from_millis(20);
