//! Launches guest programs: memory, scheduling, faults, tiers.

mod config;
mod engine;
mod error;
mod exec;
mod launch;
mod memory;
mod program;
pub mod vm;

pub use warpjit_frontend::Isa;

pub use config::{Config, HostLevel, Tier};
pub use engine::Engine;
pub use error::Error;
pub use launch::{
    Arg, CancelToken, Fault, FaultKind, GlobalMode, GlobalSpace, Launch, Progress, Report, Stats,
};
pub use memory::{Access, Denied, Memory, PAGE_BYTES, PAGE_READ, PAGE_WRITE, SPACE_BYTES};
pub use program::{ConstPart, KernelImage, Program, ProgramOptions};
