//! The profile of a launch: where its threads spent their time, and what the interpreter counted of blocks, lanes and accesses. It is
//! made in `profiling.rs`.

use std::collections::BTreeMap;
use std::time::Duration;
use warpjit_ir::interp;

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
