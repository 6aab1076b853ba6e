//! The description of a launch, and the report that it returns.

use crate::{Listings, Profile, SaveToken, SavedLaunch};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use warpjit_ir::{TextureTables, WarpRing};

/// One run of a kernel.
///
/// ```
/// use std::time::Duration;
/// use warpjit_runtime::{CancelToken, Config, Engine, Isa, Launch, Program, ProgramOptions};
///
/// // s_endpgm would end the wave; s_branch to itself never does.
/// let words = 0xbf82_ffff_u32.to_le_bytes();
/// let options = ProgramOptions::new(Isa::Gcn).chip(Some("polaris10".parse()?)).raw(true);
/// let program = Program::load(&words, &options)?;
///
/// let engine = Engine::new(Config::default())?;
/// let memory = engine.memory()?;
/// let cancel = CancelToken::new();
/// let launch = Launch::default().block([64, 1, 1]).grid([8, 1, 1]).cancel(Some(cancel.clone()));
/// let report = std::thread::scope(|scope| {
///     scope.spawn(|| {
///         std::thread::sleep(Duration::from_millis(5));
///         cancel.cancel();
///     });
///     engine.run(&program, &memory, &launch)
/// })?;
/// assert!(report.cancelled && report.fault.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Default)]
pub struct Launch {
    /// Blocks along each axis, at least 1 (the default, 0, is an error).
    pub grid: [u32; 3],
    /// Threads of a block along each axis, at least 1 (the default, 0, is an error).
    pub block: [u32; 3],
    /// Coordinates of the first block: `grid` blocks are counted from there along each axis. What GCN's COMPUTE_START_X, Y and Z say (the
    /// packet of a dispatch that has them gives the ends along each axis in place of the numbers of blocks). Stages have none.
    pub grid_start: [u32; 3],
    /// Threads of the last block along each axis; 0: as many as of all others. What GCN's COMPUTE_NUM_THREAD_X, Y and Z say as
    /// NUM_THREAD_PARTIAL. These blocks have fewer threads and warps, and no others differ. Blocks of one size run before those of the
    /// next: with more than one axis, no block may wait for another row. Stages have none.
    pub last_block: [u32; 3],
    /// Bytes of shared memory beyond what the kernel has of its own.
    pub dynamic_shared: u32,
    /// Most instructions a warp may execute; one more is a `timeout` fault. 0 means no limit. The limit is exact and
    /// slows the kernel down (figures: docs/performance.md). To stop a runaway launch at no cost, use [`CancelToken`].
    pub max_steps: u64,
    /// Kernel arguments, laid out in order with natural alignment.
    pub args: Vec<Arg>,
    /// Contents of const banks, as (bank, bytes). They override what the container puts there.
    pub consts: Vec<(u32, Vec<u8>)>,
    /// Windows to global memory (Tesla). With none, every window is the whole address space.
    pub globals: Vec<GlobalSpace>,
    /// Words that the hardware loads into the first scalar registers of each wave, from `s0` on. Only for raw GCN code
    /// with [`crate::ProgramOptions::rsrc2`], which says how many there are. Registers without a word start at zero.
    pub user_data: Vec<u32>,
    /// How the program's scratch buffer is divided among warps. Only for raw GCN code whose
    /// [`crate::ProgramOptions::rsrc2`] enables scratch; other programs ignore it. `None`: room for 32 warps, with
    /// [`crate::ProgramOptions::local`] bytes a lane. The buffer must be large enough for all parts, otherwise some
    /// accesses are outside it.
    pub scratch_ring: Option<WarpRing>,
    /// Initial values of registers, as (name, values): one value for all lanes, or one for each lane.
    pub registers: Vec<(String, Vec<u64>)>,
    /// Whether to return the final registers ([`Report::registers`]). Only for launches of one warp.
    pub capture_registers: bool,
    /// Initial shared memory of each block; the rest is zero.
    pub shared: Vec<u8>,
    /// Whether to return the final shared memory ([`Report::shared`]). Only for launches of one block.
    pub capture_shared: bool,
    /// Blocks to run, by linear index; `None`: all.
    pub blocks: Option<Range<u64>>,
    /// Ends the launch early when asked to.
    pub cancel: Option<CancelToken>,
    /// Stops the launch when asked to, so that it can be saved ([`Report::saved`]). Loops of such launches run slower: their
    /// code must be able to stop within bounded time. Only for compute programs.
    pub save: Option<SaveToken>,
    /// Textures, samplers and surfaces; tables of the chip's configuration.
    pub textures: TextureTables,
    /// Called on any thread with the progress of the launch: for each 256th part of the blocks, and ten times a second while blocks
    /// end.
    pub progress: Option<Progress>,
}

crate::setters::setters! {
    Launch {
        grid: [u32; 3],
        block: [u32; 3],
        grid_start: [u32; 3],
        last_block: [u32; 3],
        dynamic_shared: u32,
        max_steps: u64,
        args: Vec<Arg>,
        consts: Vec<(u32, Vec<u8>)>,
        globals: Vec<GlobalSpace>,
        user_data: Vec<u32>,
        scratch_ring: Option<WarpRing>,
        registers: Vec<(String, Vec<u64>)>,
        capture_registers: bool,
        shared: Vec<u8>,
        capture_shared: bool,
        blocks: Option<Range<u64>>,
        cancel: Option<CancelToken>,
        save: Option<SaveToken>,
        textures: TextureTables,
        progress: Option<Progress>,
    }
}

/// A callback that gets (blocks finished, blocks in all).
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("grid", &self.grid)
            .field("block", &self.block)
            .field("grid_start", &self.grid_start)
            .field("last_block", &self.last_block)
            .field("dynamic_shared", &self.dynamic_shared)
            .field("max_steps", &self.max_steps)
            .field("args", &self.args.len())
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}

/// A kernel argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg {
    /// Its bytes, little endian.
    pub bytes: Vec<u8>,
    /// Its alignment, a power of two up to 64.
    pub align: usize,
    /// Makes this a pointer to so many bytes of dynamic shared memory, if the ISA has such arguments. Then only the
    /// length of `bytes` matters.
    pub shared: Option<u32>,
}

impl Arg {
    /// A 32-bit argument: a number or a 32-bit pointer.
    pub fn u32(value: u32) -> Self {
        Arg { bytes: value.to_le_bytes().into(), align: 4, shared: None }
    }

    /// A binary32 argument.
    pub fn f32(value: f32) -> Self {
        Arg { bytes: value.to_le_bytes().into(), align: 4, shared: None }
    }

    /// A pointer (32 bits) to `bytes` bytes of dynamic shared memory.
    pub fn shared(bytes: u32) -> Self {
        Arg { shared: Some(bytes), ..Arg::u32(0) }
    }

    /// A structure passed by value: its bytes in memory order, and its alignment (a power of two, the largest of its
    /// members'). If the program states the layout of its parameters, the structure must have the stated size, and the
    /// alignment is ignored.
    pub fn bytes(bytes: impl Into<Vec<u8>>, align: usize) -> Self {
        Arg { bytes: bytes.into(), align, shared: None }
    }

    /// A structure or vector of 32-bit integers, aligned to 4 bytes.
    pub fn u32s(members: &[u32]) -> Self {
        Arg::bytes(members.iter().flat_map(|member| member.to_le_bytes()).collect::<Vec<u8>>(), 4)
    }

    /// A structure or vector of binary32 numbers, aligned to 4 bytes.
    pub fn f32s(members: &[f32]) -> Self {
        Arg::bytes(members.iter().flat_map(|member| member.to_le_bytes()).collect::<Vec<u8>>(), 4)
    }

    /// A 64-bit argument.
    pub fn u64(value: u64) -> Self {
        Arg { bytes: value.to_le_bytes().into(), align: 8, shared: None }
    }
}

/// A window to global memory: Tesla's g0[] to g15[].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalSpace {
    /// Number of the window, 0 to 15.
    pub index: u32,
    /// Guest address of its start.
    pub address: u64,
    /// Its size in bytes of guest memory.
    pub bytes: u64,
    /// How its addresses map to memory.
    pub mode: GlobalMode,
}

/// How the addresses of a window map to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GlobalMode {
    /// Bytes from the start.
    Linear,
    /// An image in tiles of 64 bytes by `4 << tile_mode` rows; each tile is stored row by row. The low half of an
    /// address is x in bytes, the high half is y. This is the layout of G80's two-dimensional surfaces.
    Tiled2d {
        /// Bytes from one row to the next, a multiple of 64.
        pitch: u32,
        /// Bytes of a row that exist.
        width: u32,
        /// Rows that exist.
        height: u32,
        /// Binary logarithm of a tile's rows, less two; at most 5.
        tile_mode: u32,
    },
}

/// Cancels a launch, or the loading of a program. Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
    /// What else cancels what has this token.
    more: Option<Arc<More>>,
}

/// See [`CancelToken::joined`].
#[derive(Debug)]
struct More {
    flag: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl CancelToken {
    /// A token that has not been used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the launches that hold this token soon. If one is compiling, it stops at the latest when the current
    /// region is done.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// One that another token and a deadline cancel, too.
    pub(crate) fn joined(&self, other: &CancelToken, deadline: Option<Instant>) -> CancelToken {
        let more = Some(Arc::new(More { flag: other.flag.clone(), deadline }));
        CancelToken { flag: self.flag.clone(), more }
    }

    /// Makes it unused again, if nobody else has it; else one that is.
    pub(crate) fn renew(&mut self) {
        match Arc::get_mut(&mut self.flag) {
            Some(flag) => *flag.get_mut() = false,
            None => *self = CancelToken::new(),
        }
    }

    /// The flag that it sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.flag.clone()
    }

    /// Whether [`CancelToken::cancel`] has been called.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.more.as_ref().is_some_and(|more| more.is_due())
    }
}

impl More {
    fn is_due(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// What a launch did.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// The fault that ended the launch, if one did: that of the lowest block that faulted. Memory keeps what was stored
    /// before.
    pub fault: Option<Fault>,
    /// What was executed.
    pub stats: Stats,
    /// Registers at the end by name, one value a lane, if asked for.
    pub registers: BTreeMap<String, Vec<u64>>,
    /// Shared memory of the only block at the end, if asked for.
    pub shared: Vec<u8>,
    /// Whether the launch was cancelled.
    pub cancelled: bool,
    /// The launch between two of its regions, if [`Launch::save`] has stopped it before its end. Then the other fields tell of
    /// the blocks that have ended.
    pub saved: Option<Box<SavedLaunch>>,
    /// The profile, if [`crate::Observe`] asks for one.
    pub profile: Option<Box<Profile>>,
    /// All code compiled so far for the program with the engine's settings, if [`crate::Observe::listings`] asks for
    /// it.
    pub listings: Option<Box<Listings>>,
}

impl Report {
    /// Adds what a later launch of the same batch did.
    pub(crate) fn add(&mut self, more: Report) {
        let (own, other) = (&mut self.stats, &more.stats);
        let (before, after) = (own.thread_instructions as f64, other.thread_instructions as f64);
        let share = |one: f64, two: f64| (one * before + two * after) / (before + after).max(1.0);
        own.tiers.interpreted = share(own.tiers.interpreted, other.tiers.interpreted);
        own.tiers.compiled = share(own.tiers.compiled, other.tiers.compiled);
        own.jit_share = own.tiers.compiled;
        own.blocks += other.blocks;
        own.warps += other.warps;
        own.warp_instructions += other.warp_instructions;
        own.thread_instructions += other.thread_instructions;
        own.lane_slots += other.lane_slots;
        own.counted = other.counted;
        own.compile += other.compile;
        own.compile_behind += other.compile_behind;
        own.run += other.run;
        own.cached_regions = own.cached_regions.max(other.cached_regions);
        for (group, count) in &other.groups {
            *own.groups.entry(group).or_default() += count;
        }
        for (space, (loaded, stored)) in &other.traffic {
            let sum = own.traffic.entry(space).or_default();
            *sum = (sum.0 + loaded, sum.1 + stored);
        }
        self.cancelled |= more.cancelled;
        self.fault = self.fault.take().or(more.fault);
        self.stats.not_compiled = self.stats.not_compiled.take().or(more.stats.not_compiled);
        // Those of the last one that has any.
        if !more.registers.is_empty() {
            self.registers = more.registers;
        }
        if !more.shared.is_empty() {
            self.shared = more.shared;
        }
        self.saved = more.saved.or(self.saved.take());
        self.profile = more.profile.or(self.profile.take());
        self.listings = more.listings.or(self.listings.take());
    }
}

/// What a launch executed. Counts are exact in the interpreter; see [`crate::Config::count`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Blocks that were run to their end.
    pub blocks: u64,
    /// Warps of these.
    pub warps: u64,
    /// Guest instructions executed by warps.
    pub warp_instructions: u64,
    /// Thread instructions: each instruction that a warp executed, times its lanes. On Tesla, Fermi and VP1 these are
    /// the active lanes, whatever the instruction's predicate. On GCN they are the lanes in EXEC for a vector
    /// instruction, and none for a scalar instruction.
    pub thread_instructions: u64,
    /// Whether instructions were counted ([`crate::Config::count`]). Otherwise `warp_instructions`,
    /// `thread_instructions` and `lane_slots` are estimates.
    pub counted: bool,
    /// Time in which at least one thread of the launch was compiling.
    pub compile: std::time::Duration,
    /// Time that the engine's compiler thread spent on regions that became ready while the launch ran
    /// ([`crate::Tier::Auto`]).
    pub compile_behind: std::time::Duration,
    /// Time from start to end, compiling excluded.
    pub run: std::time::Duration,
    /// Operations executed by warps, by topic.
    pub groups: BTreeMap<&'static str, u64>,
    /// Bytes loaded and stored by lanes, by space.
    pub traffic: BTreeMap<&'static str, (u64, u64)>,
    /// What [`Stats::thread_instructions`] would be if every such instruction had all lanes of the warp.
    pub lane_slots: u64,
    /// Number of regions loaded from the cache ([`crate::Config::cache`]) for the program with these settings.
    pub cached_regions: u64,
    /// The share of each tier.
    pub tiers: TierShares,
    /// Equal to [`TierShares::compiled`] of `tiers`.
    pub jit_share: f64,
    /// Why the interpreter ran code that should have been compiled, if that happened: a limit of the code generator was
    /// reached.
    pub not_compiled: Option<String>,
}

/// The share of thread instructions that each tier executed, from 0 to 1. Both are 0 if none was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct TierShares {
    /// The interpreter.
    pub interpreted: f64,
    /// Compiled code.
    pub compiled: f64,
}

impl TierShares {
    /// Computed from the instructions that the interpreter and compiled code have executed.
    pub(crate) fn of((interpreted, compiled): (u64, u64)) -> Self {
        let all = (interpreted + compiled).max(1) as f64;
        TierShares { interpreted: interpreted as f64 / all, compiled: compiled as f64 / all }
    }
}

/// A fault of the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Guest address of the instruction. Of code that was not loaded from guest memory it counts from the code's first byte (or from
    /// [`crate::ProgramOptions::base`]).
    pub pc: u64,
    /// The block, by its coordinates in the grid, from [`Launch::grid_start`] on.
    pub block: [u32; 3],
    /// The warp in the block.
    pub warp: u32,
    /// The lowest lane of the warp that faulted.
    pub lane: u32,
    /// Memory: the guest address. Illegal: where a computed jump leads.
    pub address: Option<u64>,
    /// Memory: the address space.
    pub space: Option<String>,
    /// Memory: whether it was a store (atomics count as stores).
    pub store: bool,
    /// Illegal: the instruction's bytes, as far as they are in the code.
    pub bytes: Vec<u8>,
    /// Texture: the slot of the texture, sampler or surface that the instruction names, if it names one.
    pub slot: Option<u32>,
    /// Texture: what is wrong.
    pub reason: Option<&'static str>,
}

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// An address that is not mapped, not writable or not aligned.
    Memory,
    /// An instruction that does not exist, or that this program may not execute.
    Illegal,
    /// The guest's trap instruction.
    Trap,
    /// All living warps of a block wait and no barrier can open.
    Barrier,
    /// The divergence stack overflowed, or had no matching entry.
    Stack,
    /// [`Launch::max_steps`] was reached.
    Timeout,
    /// What a texture instruction needs is missing or undefined ([`Fault::reason`]).
    Texture,
}

impl FaultKind {
    /// The name in launch files and reports.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Memory => "memory",
            FaultKind::Illegal => "illegal",
            FaultKind::Trap => "trap",
            FaultKind::Barrier => "barrier",
            FaultKind::Stack => "stack",
            FaultKind::Timeout => "timeout",
            FaultKind::Texture => "texture",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        write!(
            f,
            "{} fault at pc {:#x}, block ({x}, {y}, {z}), warp {}, lane {}",
            self.kind, self.pc, self.warp, self.lane
        )?;
        if let Some(slot) = self.slot {
            write!(f, ": slot {slot}")?;
        }
        if let Some(reason) = self.reason {
            write!(f, ": {reason}")?;
            return self.address.map_or(Ok(()), |address| write!(f, " at {address:#x}"));
        }
        if let Some(address) = self.address {
            let what = if self.store { "store to" } else { "load from" };
            write!(f, ": {what} {} {address:#x}", self.space.as_deref().unwrap_or("memory"))?;
        }
        if !self.bytes.is_empty() {
            f.write_str(":")?;
            for byte in &self.bytes {
                write!(f, " {byte:02x}")?;
            }
        }
        Ok(())
    }
}
