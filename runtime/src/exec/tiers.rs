//! Who executes a block of code: the interpreter, or compiled code.

use super::jit::{Compiled, Jit, RegionFlow};
use super::memory::View;
use super::setup::Plan;
use crate::program::Variant;
use crate::{Error, Memory, Tier};
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;
use warpjit_backend::Context;
use warpjit_ir::interp::{self, Code, Flow, Scratch, Warp};
use warpjit_ir::regions::Kernel;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::{Block, Function, Slot};

/// A kernel ready to run, shared by all threads and launches with the same settings.
#[derive(Debug)]
pub struct Tiers {
    kernel: Kernel,
    code: Code,
    offsets: Vec<u32>,
    jit: Option<Jit>,
    /// Executions of a block by one thread before it is compiled.
    cold: u32,
}

/// What was counted.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// The interpreter's statistics.
    pub interp: interp::Stats,
    /// Thread instructions by the interpreter and by compiled code.
    pub threads: (u64, u64),
}

impl Counts {
    /// Adds another thread's counts.
    pub fn add(&mut self, other: &Counts) {
        self.interp.add(&other.interp);
        self.threads = (self.threads.0 + other.threads.0, self.threads.1 + other.threads.1);
    }

    /// Share of the executed instructions that compiled code executed.
    pub fn jit_share(&self) -> f64 {
        let all = self.threads.0 + self.threads.1;
        if all == 0 { 0.0 } else { self.threads.1 as f64 / all as f64 }
    }
}

impl Tiers {
    /// Makes a kernel ready.
    pub fn new(function: Function, variant: Variant) -> Result<Self, Error> {
        let kernel = Kernel::new(function, variant.region_options());
        let code = Code::new(&kernel.func).map_err(|error| Error::Program(error.to_string()))?;
        let (offsets, _) = kernel.func.frame_layout();
        let jit = match variant.tier {
            Tier::Interp => None,
            Tier::Jit | Tier::Auto => Some(Jit::new(&kernel, variant)?),
        };
        let cold = if variant.tier == Tier::Auto { AUTO_COLD } else { 0 };
        Ok(Tiers { kernel, code, offsets, jit, cold })
    }

    /// The code for the interpreter.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The kernel, in SPMD form, as both tiers run it.
    pub fn function(&self) -> &Function {
        &self.kernel.func
    }

    /// Where a slot lies in the frame, in bytes.
    pub fn slot_offset(&self, slot: Slot) -> u32 {
        self.offsets.get(slot.index()).copied().unwrap_or(0)
    }

    /// Time spent compiling so far, of all threads together.
    pub fn compile_time(&self) -> Duration {
        self.jit.as_ref().map_or(Duration::ZERO, Jit::compile_time)
    }

    /// Regions that the code generator refused: a bug of ours, the interpreter ran them.
    pub fn refused(&self) -> u64 {
        self.jit.as_ref().map_or(0, Jit::refused)
    }

    /// Bytes of a warp's frame.
    pub fn frame_bytes(&self) -> usize {
        self.code.frame_bytes()
    }
}

/// Executions of a block before [`Tier::Auto`] compiles it.
const AUTO_COLD: u32 = 16;
/// Back edges between two looks at whether to stop.
const FUEL: i64 = 1 << 16;

/// What a thread knows of the region that starts at a block.
#[derive(Debug, Clone, Default)]
struct Entry {
    versions: Vec<Arc<Compiled>>,
    never: bool,
    executions: u32,
}

/// Asks whether to stop, for [`poll`].
struct Poll<'a> {
    stop: &'a dyn Fn() -> bool,
}

/// Called by compiled code when its fuel is spent.
unsafe extern "C" fn poll(context: *mut Context) -> u32 {
    // SAFETY: compiled code passes its context, whose `user` points to the Poll of the call of `Stepper::step` that runs.
    let (context, poll) = unsafe { (&mut *context, &*(*context).user.cast::<Poll<'_>>()) };
    context.fuel = FUEL;
    // Compiled code must not be unwound.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (poll.stop)())).map_or(1, u32::from)
}

/// One thread's means to execute code.
pub struct Stepper<'a> {
    tiers: &'a Tiers,
    scratch: Scratch,
    context: Box<Context>,
    entries: Vec<Entry>,
    threads: (u64, u64),
    /// The block whose terminator was executed last.
    term: Block,
    /// Compiled code was asked to stop; its warp is in no state to go on.
    pub stopped: bool,
}

impl<'a> Stepper<'a> {
    /// For one thread of a launch.
    pub fn new(tiers: &'a Tiers, plan: &'a Plan, memory: &'a Memory, count: bool) -> Self {
        let mut scratch = Scratch::new(&tiers.code);
        scratch.max_steps = plan.max_steps;
        scratch.stats = count.then(Box::default);
        let mut context = Box::new(Context::new());
        context.global_base = memory.base();
        context.page_table = memory.page_table();
        context.poll = poll;
        context.fuel = FUEL;
        for (pointer, bank) in context.const_banks.iter_mut().zip(&plan.consts) {
            *pointer = bank.as_ptr();
        }
        let entries = vec![Entry::default(); tiers.kernel.func.blocks.len()];
        Stepper { tiers, scratch, context, entries, threads: (0, 0), term: tiers.kernel.func.entry, stopped: false }
    }

    /// Executes the block of code that a warp stands at, or a region that starts there.
    pub fn step(&mut self, warp: &mut Warp, view: &mut View<'_>, stop: &dyn Fn() -> bool) -> Flow {
        let before = warp.thread_steps;
        if let Some(code) = self.choose(warp) {
            let flow = self.run_region(&code, warp, view, stop);
            self.threads.1 += warp.thread_steps - before;
            return flow;
        }
        self.term = warp.block;
        let flow = self.tiers.code.run_block(&mut self.scratch, warp, view);
        self.threads.0 += warp.thread_steps - before;
        flow
    }

    /// Compiled code for the region at the warp's block, if it is to run.
    fn choose(&mut self, warp: &Warp) -> Option<Arc<Compiled>> {
        let jit = self.tiers.jit.as_ref()?;
        let entry = &mut self.entries[warp.block.index()];
        if entry.never {
            return None;
        }
        let max_steps = self.scratch.max_steps;
        if max_steps != 0 && warp.steps + u64::from(self.tiers.code.guest_insts(warp.block)) > max_steps {
            // The interpreter stops at the right instruction.
            return None;
        }
        if let Some(found) = entry.versions.iter().find(|c| c.fits(warp)) {
            return Some(found.clone());
        }
        if entry.executions < self.tiers.cold {
            entry.executions += 1;
            return None;
        }
        let Some(code) = jit.region(&self.tiers.kernel, warp) else {
            entry.never = true;
            return None;
        };
        entry.versions.push(code.clone());
        Some(code)
    }

    fn run_region(
        &mut self,
        code: &Compiled,
        warp: &mut Warp,
        view: &mut View<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Flow {
        let poll = Poll { stop };
        let context = &mut *self.context;
        (context.shared_base, context.shared_bytes) = view.shared.raw();
        (context.local_base, context.local_bytes) = view.local.raw();
        context.user = (&raw const poll).cast_mut().cast::<c_void>();
        let at = warp.block;
        let outcome = code.run(context, warp);
        self.count(at, warp);
        match outcome {
            RegionFlow::Exit(exit, exited, cond) => {
                if let ExitKind::Terminator(block) = exit {
                    self.term = block;
                }
                self.tiers.code.finish_region(warp, exit, exited, Some(cond))
            }
            RegionFlow::Fault(fault) => Flow::Fault(fault),
            RegionFlow::Stopped => {
                self.stopped = true;
                Flow::Next
            }
        }
    }

    /// Adds what a region counted to the warp: its threads' instructions exactly, of the warp those of the longest
    /// thread (less than the hardware's where lanes went different ways).
    fn count(&self, at: Block, warp: &mut Warp) {
        let Some(slot) = self.tiers.kernel.count_slot() else {
            warp.count(u64::from(self.tiers.code.guest_insts(at)));
            return;
        };
        let lanes = self.tiers.kernel.func.lanes as usize;
        let start = self.tiers.slot_offset(slot) as usize / 4;
        let counts = &mut warp.frame.words_mut()[start..start + lanes];
        let longest = counts.iter().copied().max().unwrap_or(0);
        let all: u64 = counts.iter().map(|&c| u64::from(c)).sum();
        counts.fill(0);
        warp.steps += u64::from(longest);
        warp.thread_steps += all;
    }

    /// Guest address of the instruction that ended the last block of code.
    pub fn term_pc(&self) -> u32 {
        self.tiers.kernel.func.blocks.get(self.term.index()).map_or(0, |data| data.term_pc)
    }

    /// What was counted.
    pub fn into_counts(self) -> Counts {
        let interp = self.scratch.stats.map_or_else(Default::default, |stats| *stats);
        Counts { interp, threads: self.threads }
    }
}
