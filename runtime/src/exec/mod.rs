//! Runs a launch: sets it up, distributes its blocks over host threads, and runs their warps, in the interpreter or in compiled
//! code.

pub(crate) mod background;
mod barrier;
pub(crate) mod block;
mod block_row;
mod carried;
mod cpus;
mod jit;
mod locks;
pub(crate) mod memory;
mod parts;
pub(crate) mod pool;
mod samplers;
mod schedule;
mod segments;
pub(crate) mod setup;
mod start;
mod stock;
pub(crate) mod stop;
pub(crate) mod tiers;
mod trails;
pub mod ways;

pub(crate) use barrier::Barrier;
pub(crate) use block::{BlockFault, BlockState, WarpWords};
pub(crate) use jit::RowFacts;
pub(crate) use memory::{Local, Word};
pub use samplers::{BoundSampler, Sampler};
pub(crate) use schedule::{LaunchState, Outcome, Scheduler, most_blocks};
pub(crate) use stop::Stop;
pub(crate) use tiers::{Kept, Limits, Stepper, StepperParts, Tiers, Watch};
