//! Profiles of a launch: where its threads spent their time, and what the interpreter counted of blocks, lanes and accesses.

use crate::Program;
use crate::exec::Tiers;
use crate::vm::sampler::{Place, Sample, Sampling};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use warpjit_ir::interp;

/// What to record of launches and compiled code. By default nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Observe {
    /// Announce compiled code to Linux perf: /tmp/perf-PID.map and /tmp/jit-PID.dump.
    pub perf: bool,
    /// Samples per second of each thread for [`Profile::samples`]; 0: none.
    pub sample_rate: u32,
    /// Whether the interpreter counts blocks, lanes and accesses, for [`Profile::blocks`] and the fields after it. Use
    /// it with [`crate::Tier::Interp`], because compiled code counts none of this.
    pub count: bool,
    /// Whether to keep compiled code as text, for [`crate::Report::listings`]. Then the code cache is not used.
    pub listings: bool,
}

crate::setters::setters! {
    Observe {
        perf: bool,
        sample_rate: u32,
        count: bool,
        listings: bool,
    }
}

impl Observe {
    /// Whether code needs a table of guest addresses.
    pub(crate) fn needs_pcs(self) -> bool {
        self.perf || self.sample_rate > 0 || crate::debug::ALWAYS_TELLS
    }
}

/// The profile of a launch.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Profile {
    /// Samples of what threads were doing.
    pub samples: Samples,
    /// Lanes of a warp.
    pub lanes: u32,
    /// Blocks of code that were executed, in the order of the program.
    pub blocks: Vec<BlockProfile>,
    /// Executions by guest address of the instruction.
    pub instructions: BTreeMap<u64, InstructionProfile>,
    /// Memory accesses in the order of the program.
    pub accesses: Vec<AccessProfile>,
}

/// Samples of what threads were doing, taken at a constant rate.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Samples {
    /// In compiled code, by guest address of the instruction.
    pub compiled: BTreeMap<u64, u64>,
    /// In functions that compiled code has called, by guest address of the calling instruction.
    pub helpers: BTreeMap<u64, u64>,
    /// In the interpreter, by guest address. A sample names only the block of code; it is divided among the block's
    /// instructions in proportion to their operations.
    pub interpreted: BTreeMap<u64, f64>,
    /// In compiled code that belongs to no guest instruction: loading and storing slots, the loop over chunks.
    pub between: u64,
    /// Compiling.
    pub compiling: u64,
    /// In the rest of the runtime: scheduling, entering code, setting up warps.
    pub runtime: u64,
    /// Samples for which there was no room.
    pub lost: u64,
    /// Processor time of the threads while they were sampled.
    pub busy: Duration,
    /// Why a thread was not sampled, if that happened.
    pub failed: Option<String>,
}

impl Samples {
    /// All samples.
    pub fn total(&self) -> u64 {
        let of_code: u64 = self.compiled.values().chain(self.helpers.values()).sum();
        let interpreted: f64 = self.interpreted.values().sum();
        of_code + interpreted.round() as u64 + self.between + self.compiling + self.runtime
    }

    /// Adds those of another launch of the same program.
    pub fn add(&mut self, other: &Samples) {
        for (&pc, &count) in &other.compiled {
            *self.compiled.entry(pc).or_default() += count;
        }
        for (&pc, &count) in &other.helpers {
            *self.helpers.entry(pc).or_default() += count;
        }
        for (&pc, &count) in &other.interpreted {
            *self.interpreted.entry(pc).or_default() += count;
        }
        self.between += other.between;
        self.compiling += other.compiling;
        self.runtime += other.runtime;
        self.lost += other.lost;
        self.busy += other.busy;
        if self.failed.is_none() {
            self.failed.clone_from(&other.failed);
        }
    }
}

/// Executions of a block of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockProfile {
    /// Guest address of its first instruction.
    pub pc: u64,
    /// Guest address of its last.
    pub term_pc: u64,
    /// Guest instructions.
    pub instructions: u32,
    /// Executions by warps.
    pub executions: u64,
    /// Active lanes of all executions.
    pub lanes: u64,
    /// Lanes of these for which the condition of the last instruction held; `None` if it has none.
    pub taken: Option<u64>,
    /// Executions after which lanes diverged.
    pub parted: u64,
}

/// Executions of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionProfile {
    /// By warps.
    pub executions: u64,
    /// Its lanes, summed over all executions (see [`crate::Stats::thread_instructions`]); `None` for a scalar
    /// instruction of GCN.
    pub lanes: Option<u64>,
}

/// Executions of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessProfile {
    /// Guest address of the instruction.
    pub pc: u64,
    /// Address space.
    pub space: &'static str,
    /// What it does.
    pub direction: interp::profile::Direction,
    /// Bytes of a lane. An access of more is several.
    pub bytes: u8,
    /// The address patterns.
    pub counts: interp::profile::AccessCounts,
}

/// Samples before host addresses are resolved to guest addresses.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawSamples {
    samples: HashMap<Sample, u64>,
    lost: u64,
    busy: Duration,
    failed: Option<String>,
}

impl RawSamples {
    /// Adds another thread's.
    pub fn add(&mut self, other: &RawSamples) {
        for (&sample, &count) in &other.samples {
            *self.samples.entry(sample).or_default() += count;
        }
        self.lost += other.lost;
        self.busy += other.busy;
        if self.failed.is_none() {
            self.failed.clone_from(&other.failed);
        }
    }
}

/// The sampling of one thread of a launch.
#[derive(Debug)]
pub(crate) struct Sampler {
    sampling: Option<Sampling>,
    start: Duration,
    raw: RawSamples,
}

impl Sampler {
    /// Begins, if `rate` is not 0.
    pub fn start(rate: u32) -> Sampler {
        let mut raw = RawSamples::default();
        let mut sampling = None;
        if rate > 0 {
            match Sampling::start(rate) {
                Ok(started) => sampling = Some(started),
                Err(error) => raw.failed = Some(error.to_string()),
            }
        }
        let start = if sampling.is_some() { thread_time() } else { Duration::ZERO };
        Sampler { sampling, start, raw }
    }

    /// Empties the sample buffer if it is getting full.
    #[inline]
    pub fn empty(&mut self) {
        if let Some(sampling) = &self.sampling
            && sampling.is_filling()
        {
            self.take();
        }
    }

    fn take(&mut self) {
        if let Some(sampling) = &self.sampling {
            let samples = &mut self.raw.samples;
            self.raw.lost += sampling.take(|sample| *samples.entry(sample).or_default() += 1);
        }
    }

    /// Ends.
    pub fn finish(mut self) -> RawSamples {
        if self.sampling.is_some() {
            self.take();
            self.raw.busy = thread_time().saturating_sub(self.start);
        }
        self.sampling = None;
        self.raw
    }
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Builds the profile of a launch.
pub(crate) fn profile(
    program: &Program,
    tiers: &Tiers,
    raw: &RawSamples,
    counts: Option<&interp::Profile>,
) -> Profile {
    let mut profile =
        Profile { samples: samples(program, tiers, raw), lanes: tiers.code().lanes(), ..Profile::default() };
    let Some(counts) = counts else { return profile };
    let (code, function) = (tiers.code(), tiers.function());
    let has_lane_register = function.lane_mask.is_some();
    for (block, seen) in function.block_ids().zip(&counts.blocks) {
        if seen.executions == 0 {
            continue;
        }
        for &pc in code.block_pcs(block) {
            let sum = profile
                .instructions
                .entry(program.address_of(pc))
                .or_insert(InstructionProfile { executions: 0, lanes: Some(0) });
            sum.executions += seen.executions;
            sum.lanes = sum.lanes.filter(|_| !has_lane_register).map(|lanes| lanes + seen.lanes);
        }
        let data = function.block(block);
        if data.guest_insts == 0 {
            continue;
        }
        let conditional = data.term.as_ref().is_some_and(interp::profile::is_conditional);
        profile.blocks.push(BlockProfile {
            pc: program.address_of(data.pc),
            term_pc: program.address_of(data.term_pc),
            instructions: data.guest_insts,
            executions: seen.executions,
            lanes: seen.lanes,
            taken: conditional.then_some(seen.taken),
            parted: seen.parted,
        });
    }
    profile.blocks.sort_by_key(|block| (block.pc, block.term_pc));
    for (&pc, &(_, lanes)) in &counts.masked {
        if let Some(instruction) = profile.instructions.get_mut(&program.address_of(pc)) {
            instruction.lanes = Some(lanes);
        }
    }
    profile.accesses = counts
        .accesses
        .iter()
        .map(|(&(pc, kind), &counts)| AccessProfile {
            pc: program.address_of(pc),
            space: interp::Stats::SPACES[usize::from(kind.space)],
            direction: kind.direction,
            bytes: kind.bytes,
            counts,
        })
        .collect();
    profile
}

fn samples(program: &Program, tiers: &Tiers, raw: &RawSamples) -> Samples {
    let mut samples =
        Samples { lost: raw.lost, busy: raw.busy, failed: raw.failed.clone(), ..Samples::default() };
    let index = tiers.code_index();
    let mut blocks: BTreeMap<u32, u64> = BTreeMap::new();
    for (&sample, &count) in &raw.samples {
        match sample {
            Sample::Code(at) => match index.guest_pc(at) {
                Some(pc) => *samples.compiled.entry(program.address_of(pc)).or_default() += count,
                None => samples.between += count,
            },
            Sample::Helper(at) => match index.guest_pc(at) {
                Some(pc) => *samples.helpers.entry(program.address_of(pc)).or_default() += count,
                None => samples.between += count,
            },
            Sample::Place(Place::Compiler) => samples.compiling += count,
            Sample::Place(Place::Runtime) => samples.runtime += count,
            Sample::Place(Place::Interpreter(block)) => *blocks.entry(block).or_default() += count,
        }
    }
    for (block, count) in blocks {
        let block = warpjit_ir::Block::new(block as usize);
        if block.index() >= tiers.function().blocks.len() {
            samples.runtime += count;
            continue;
        }
        let mut pcs: Vec<u32> = tiers.code().block_ops(block).collect();
        if pcs.is_empty() {
            pcs.push(tiers.function().block(block).term_pc);
        }
        for &pc in &pcs {
            *samples.interpreted.entry(program.address_of(pc)).or_default() +=
                count as f64 / pcs.len() as f64;
        }
    }
    samples
}
