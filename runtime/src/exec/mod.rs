//! Runs a launch: sets it up, distributes its blocks over host threads, and runs their warps, in the interpreter or in compiled
//! code.

mod barrier;
pub(crate) mod block;
mod block_batch;
mod block_row;
mod carried;
pub(crate) mod compiler_threads;
mod cpus;
mod initial_state;
mod jit;
pub(crate) mod lanes;
mod launch_state;
mod limits;
mod locks;
pub(crate) mod memory;
mod parts;
mod path_cache;
pub(crate) mod pool;
mod repeats;
mod samplers;
pub(crate) mod samples;
mod schedule;
pub(crate) mod setup;
pub(crate) mod stop;
pub mod strategy;
pub(crate) mod tiers;

pub(crate) use barrier::Barrier;
pub(crate) use block::{BlockFault, BlockState, WarpWords};
pub(crate) use jit::RowFacts;
pub(crate) use launch_state::LaunchState;
pub(crate) use limits::Limits;
pub(crate) use memory::{Local, Word};
pub use samplers::{BoundSampler, Sampler};
pub(crate) use schedule::{Outcome, Scheduler, most_blocks};
pub(crate) use stop::Stop;
pub(crate) use tiers::{Kept, Stepper, StepperParts, Tiers, Watch};
