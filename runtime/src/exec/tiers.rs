//! Who executes a block of code: the interpreter, or compiled code.

use super::memory::View;
use super::setup::Plan;
use crate::program::Variant;
use crate::{Error, Memory};
use std::time::Duration;
use warpjit_ir::interp::{self, Code, Flow, Scratch, Warp};
use warpjit_ir::regions::Kernel;
use warpjit_ir::{Block, Function, Slot};

/// A kernel ready to run, shared by all threads and launches with the same settings.
#[derive(Debug)]
pub struct Tiers {
    kernel: Kernel,
    code: Code,
    offsets: Vec<u32>,
}

/// What was counted.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// The interpreter's statistics.
    pub interp: interp::Stats,
}

impl Counts {
    /// Adds another thread's counts.
    pub fn add(&mut self, other: &Counts) {
        self.interp.add(&other.interp);
    }

    /// Share of the executed instructions that compiled code executed.
    pub fn jit_share(&self) -> f64 {
        0.0
    }
}

impl Tiers {
    /// Makes a kernel ready.
    pub fn new(function: Function, variant: Variant) -> Result<Self, Error> {
        let kernel = Kernel::new(function, variant.region_options());
        let code = Code::new(&kernel.func).map_err(|error| Error::Program(error.to_string()))?;
        let (offsets, _) = kernel.func.frame_layout();
        Ok(Tiers { kernel, code, offsets })
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
        Duration::ZERO
    }

    /// Bytes of a warp's frame.
    pub fn frame_bytes(&self) -> usize {
        self.code.frame_bytes()
    }
}

/// One thread's means to execute code.
pub struct Stepper<'a> {
    tiers: &'a Tiers,
    scratch: Scratch,
}

impl<'a> Stepper<'a> {
    /// For one thread of a launch.
    pub fn new(tiers: &'a Tiers, plan: &'a Plan, _memory: &'a Memory, count: bool) -> Self {
        let mut scratch = Scratch::new(&tiers.code);
        scratch.max_steps = plan.max_steps;
        scratch.stats = count.then(Box::default);
        Stepper { tiers, scratch }
    }

    /// Executes the block of code that a warp stands at, or a region that starts there; about `slice`
    /// instructions at most.
    pub fn step(&mut self, warp: &mut Warp, view: &mut View<'_>, _slice: u64) -> Flow {
        self.tiers.code.run_block(&mut self.scratch, warp, view)
    }

    /// Guest address of the instruction that ends a block.
    pub fn term_pc(&self, block: Block) -> u32 {
        self.tiers.kernel.func.blocks.get(block.index()).map_or(0, |data| data.term_pc)
    }

    /// What was counted.
    pub fn into_counts(self) -> Counts {
        Counts { interp: self.scratch.stats.map_or_else(Default::default, |stats| *stats) }
    }
}
