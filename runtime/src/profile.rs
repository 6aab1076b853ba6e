//! Profiles: where a launch spent its time, and what it did there.

use crate::exec::Tiers;
use crate::vm::sampler::{Place, Sample, Sampling};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use warpjit_ir::{interp, lane_counts};

/// What is told of a launch and its compiled code, and to whom. By default nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Observe {
    /// Compiled code is written down for Linux perf: /tmp/perf-PID.map and /tmp/jit-PID.dump.
    pub perf: bool,
    /// Samples a second that are taken of each thread for [`Profile::samples`]; 0: none.
    pub sample_rate: u32,
    /// Whether the interpreter counts blocks, lanes and accesses for [`Profile::blocks`] and what follows there; meant for
    /// [`crate::Tier::Interp`], as compiled code counts none of it.
    pub count: bool,
    /// Whether what is compiled is kept as text, for [`crate::Report::listings`]. Nothing comes from the cache or goes there then.
    pub listings: bool,
}

impl Observe {
    /// Whether code must tell of which guest instruction it is.
    pub(crate) fn needs_pcs(self) -> bool {
        self.perf || self.sample_rate > 0 || crate::debug::ALWAYS_TELLS
    }
}

/// What was seen of a launch.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// Where threads were.
    pub samples: Samples,
    /// Lanes of a warp.
    pub lanes: u32,
    /// Blocks of code that were executed, in the order of the program.
    pub blocks: Vec<BlockProfile>,
    /// Executions by guest address of the instruction.
    pub instructions: BTreeMap<u32, InstructionProfile>,
    /// Memory accesses in the order of the program.
    pub accesses: Vec<AccessProfile>,
}

/// Where threads were, by samples at an even pace.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// In compiled code of the instruction at a guest address.
    pub compiled: BTreeMap<u32, u64>,
    /// In functions that compiled code of the instruction at a guest address has called.
    pub helpers: BTreeMap<u32, u64>,
    /// In the interpreter. It is sampled by block; the samples of a block are spread over its instructions by the number of their
    /// operations.
    pub interpreted: BTreeMap<u32, f64>,
    /// In compiled code between instructions: registers that come in and go out, the way from chunk to chunk.
    pub between: u64,
    /// Compiling.
    pub compiling: u64,
    /// In the rest of the runtime: scheduling, entering code, setting warps up.
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
pub struct BlockProfile {
    /// Guest address of its first instruction.
    pub pc: u32,
    /// Guest address of its last.
    pub term_pc: u32,
    /// Guest instructions.
    pub instructions: u32,
    /// Executions by warps.
    pub executions: u64,
    /// Active lanes of all executions.
    pub lanes: u64,
    /// Of those, lanes for which the condition of the last instruction held; `None` if it has none.
    pub taken: Option<u64>,
    /// Executions after which lanes went different ways.
    pub parted: u64,
}

/// Executions of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionProfile {
    /// By warps.
    pub executions: u64,
    /// Lanes that it was for, summed over all executions (see [`crate::Stats::thread_instructions`]); `None` for one that is for no lanes
    /// (a scalar instruction of GCN).
    pub lanes: Option<u64>,
}

/// Executions of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessProfile {
    /// Guest address of the instruction.
    pub pc: u32,
    /// Address space.
    pub space: &'static str,
    /// What it does.
    pub direction: interp::profile::Direction,
    /// Bytes of a lane. An access of more is several.
    pub bytes: u8,
    /// What the addresses looked like.
    pub counts: interp::profile::AccessCounts,
}

/// Samples of threads before it is known whose code they are in.
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

    /// Makes room for more, now and then.
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

/// Puts together what was seen of a launch.
pub(crate) fn profile(tiers: &Tiers, raw: &RawSamples, counts: Option<&interp::Profile>) -> Profile {
    let mut profile =
        Profile { samples: samples(tiers, raw), lanes: tiers.code().lanes(), ..Profile::default() };
    let Some(counts) = counts else { return profile };
    let (code, function) = (tiers.code(), tiers.function());
    let has_lane_register = lane_counts::has_lane_register(function);
    for (block, seen) in function.block_ids().zip(&counts.blocks) {
        if seen.executions == 0 {
            continue;
        }
        for &pc in code.block_pcs(block) {
            let sum = profile
                .instructions
                .entry(pc)
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
            pc: data.pc,
            term_pc: data.term_pc,
            instructions: data.guest_insts,
            executions: seen.executions,
            lanes: seen.lanes,
            taken: conditional.then_some(seen.taken),
            parted: seen.parted,
        });
    }
    profile.blocks.sort_by_key(|block| (block.pc, block.term_pc));
    for (pc, &(_, lanes)) in &counts.masked {
        if let Some(instruction) = profile.instructions.get_mut(pc) {
            instruction.lanes = Some(lanes);
        }
    }
    profile.accesses = counts
        .accesses
        .iter()
        .map(|(&(pc, kind), &counts)| AccessProfile {
            pc,
            space: interp::Stats::SPACES[usize::from(kind.space)],
            direction: kind.direction,
            bytes: kind.bytes,
            counts,
        })
        .collect();
    profile
}

fn samples(tiers: &Tiers, raw: &RawSamples) -> Samples {
    let mut samples =
        Samples { lost: raw.lost, busy: raw.busy, failed: raw.failed.clone(), ..Samples::default() };
    let index = tiers.code_index();
    let mut blocks: BTreeMap<u32, u64> = BTreeMap::new();
    for (&sample, &count) in &raw.samples {
        match sample {
            Sample::Code(at) => match index.guest_pc(at) {
                Some(pc) => *samples.compiled.entry(pc).or_default() += count,
                None => samples.between += count,
            },
            Sample::Helper(at) => match index.guest_pc(at) {
                Some(pc) => *samples.helpers.entry(pc).or_default() += count,
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
            *samples.interpreted.entry(pc).or_default() += count as f64 / pcs.len() as f64;
        }
    }
    samples
}
