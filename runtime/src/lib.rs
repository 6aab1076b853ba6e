//! Launches guest programs: memory, scheduling, faults, tiers.

mod config;
mod error;
mod launch;
mod memory;
pub mod vm;

pub use config::{Config, HostLevel, Tier};
pub use error::Error;
pub use launch::{
    Arg, CancelToken, Fault, FaultKind, GlobalMode, GlobalSpace, Launch, Progress, Report, Stats,
};
pub use memory::{Access, Denied, Memory, PAGE_BYTES, PAGE_READ, PAGE_WRITE, SPACE_BYTES};
