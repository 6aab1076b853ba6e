//! Runs GPU programs on the CPU: a launch runs a program on guest memory, changes that memory, and gives a report.
//!
//! - [`Program::load`] reads a container (or raw words) and lifts a kernel, [`Program::load_at`] does that for code in guest memory;
//! - [`Engine::memory`] makes a guest address space, [`Memory::map`] puts buffers into it;
//! - [`Engine::run`] distributes the blocks of a [`Launch`] over host threads. What the guest does wrong comes back as
//!   [`Report::fault`]; an [`Error`] of [`Engine::run`] means that nothing was run.
//!
//! A kernel that stores three times its thread index, assembled and run:
//!
//! ```
//! use warpjit_frontend::tesla::{Chip, Target, assemble};
//! use warpjit_runtime::{Access, Arg, Config, Engine, Isa, Launch, Program, ProgramOptions};
//!
//! let source = "
//!     and b32 $r1 $r0 0xffff
//!     shl b32 $r2 $r1 0x2
//!     add b32 $r2 b32 s[0x10] $r2
//!     add b32 $r3 $r1 $r1
//!     add b32 $r3 $r3 $r1
//!     exit st b32 g14[$r2] $r3
//! ";
//! let assembly = assemble(source, Target::compute(Chip::G80))?;
//! let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse()?)).registers(Some(4));
//! let program = Program::load(&assembly.code, &options)?;
//!
//! let engine = Engine::new(Config::default())?;
//! let memory = engine.memory()?;
//! let out = memory.map(None, 64 * 4, Access::ReadWrite)?;
//! let launch = Launch::default().grid([1, 1, 1]).block([64, 1, 1]).args(vec![Arg::u32(out as u32)]);
//! let report = engine.run(&program, &memory, &launch)?;
//! assert_eq!(report.fault, None);
//!
//! let mut bytes = [0; 64 * 4];
//! memory.read(out, &mut bytes)?;
//! let third = u32::from_le_bytes(bytes[12..16].try_into()?);
//! assert_eq!(third, 9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Programs of the VP1 video processor, which has no grids, can be launched in the same way or driven as a machine ([`vp1`]).
//!
//! The modules, in the order of a launch:
//!
//! - `load`, `code_source`, `image`, `program`, `program_options`, `program_cache`: from bytes or guest memory to a [`Program`];
//! - `memory`: the guest's address space;
//! - `launch`, [`stage`]: what to run; `report`, `fault`, `profile`: what it gives; `cancel`, `save_token`: what ends it early;
//! - `config`, `observe`, `variant`: settings, and those of them that code depends on;
//! - `engine`, `exec`: set-up, scheduling, tiers; `prepared`, `queue`, `saved`, `compilation`: other ways to run;
//! - `cache`, `debug`, `listing`, `profile`: code on disk, and what can be observed;
//! - `vm`, `fork`: all that depends on the operating system and the processor (docs/unsafe.md).
#![cfg_attr(
    not(all(feature = "jit", feature = "cache", feature = "vp1")),
    allow(dead_code, unused_imports, reason = "what only a part that is left out uses")
)]
#![warn(missing_docs)]

mod bytes;
mod cache;
mod cancel;
mod code_source;
mod compilation;
mod config;
mod debug;
mod digest;
mod engine;
mod error;
mod exec;
mod fault;
mod fork;
mod image;
mod launch;
mod listing;
mod load;
mod memory;
mod observe;
mod outcome;
mod prepared;
mod profile;
mod profiling;
mod program;
mod program_cache;
mod program_options;
mod queue;
mod report;
mod save_token;
mod saved;
mod setters;
pub mod stage;
mod variant;
mod vm;
#[cfg(feature = "vp1")]
pub mod vp1;

pub use warpjit_backend::HostLevel;
pub use warpjit_frontend::container::ContainerError;
pub use warpjit_frontend::image::{ConstPart, KernelImage};
pub use warpjit_frontend::{Chip, CodeAt, CodeMap, CodePiece, CodeSource, Isa};
pub use warpjit_ir::interp::profile::{AccessCounts, Direction};
pub use warpjit_ir::meter::{Budget, Task as BudgetTask};
pub use warpjit_ir::{TextureTables, WarpRing};

#[cfg(feature = "cache")]
pub use cache::CacheConfig;
pub use cancel::CancelToken;
pub use compilation::Compilation;
pub use config::{Config, Idle, Numerics, Signals, Tier};
pub use engine::Engine;
pub use error::{
    Addresses, Axis, BudgetError, CodeError, CompileError, ConfigError, DependencyError, Error, ImageError,
    LaunchError, MemoryError, ProgramError, RowsError, StateError,
};
pub use exec::{BoundSampler, Sampler};
pub use fault::{Fault, FaultKind};
pub use fork::between_forks;
pub use launch::{Arg, GlobalMode, GlobalSpace, Launch, Progress};
pub use listing::{CodeKind, CodeListing, CodePart, KnownSlot, Listings};
#[doc(hidden)]
pub use memory::window_access;
pub use memory::{
    ADDRESS_BITS, Access, Denied, Device, FileSharing, GUARD_BYTES, Memory, MemoryOptions, PAGE_BYTES,
    PAGE_READ, PAGE_WRITE, PageFault, Pager, WINDOW_BYTES, WriteWatch,
};
pub use observe::Observe;
pub use prepared::Prepared;
pub use profile::{AccessProfile, BlockProfile, InstructionProfile, Profile, Samples};
pub use program::Program;
pub use program_cache::{ProgramCache, ProgramCacheStats};
pub use program_options::ProgramOptions;
pub use queue::{Completion, Dispatch, OnDrop, Priority, Queue, QueueOptions, Submission, Ticket};
pub use report::{Report, Stats, TierShares};
pub use save_token::SaveToken;
pub use saved::SavedLaunch;
pub use vm::handle_signal;
