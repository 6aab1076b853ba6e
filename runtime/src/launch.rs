//! What a launch is made of.

use crate::{Listings, Profile};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use warpjit_ir::WarpRing;

/// One run of a kernel.
#[derive(Clone, Default)]
pub struct Launch {
    /// Blocks along each axis.
    pub grid: [u32; 3],
    /// Threads of a block along each axis.
    pub block: [u32; 3],
    /// Bytes of shared memory beyond what the kernel has of its own.
    pub dynamic_shared: u32,
    /// Warp instructions after which a warp ends with a `timeout` fault; 0: no limit. It is exact: with AVX-512 most launches take up to twice as long, without
    /// it some take 40 times as long (code is compiled block by block). [`CancelToken`] ends those that take too long at no cost.
    pub max_steps: u64,
    /// Kernel arguments, laid out in order with natural alignment.
    pub args: Vec<Arg>,
    /// Contents of const banks: (bank, bytes). What a container binds is bound already, and overridden here.
    pub consts: Vec<(u32, Vec<u8>)>,
    /// Windows to global memory (Tesla). With none, every window is the whole address space.
    pub globals: Vec<GlobalSpace>,
    /// Words that the hardware loads into the first registers of each warp: `s0` and those behind it of raw GCN code with
    /// [`crate::ProgramOptions::rsrc2`], which says how many there may be. Registers for which there are no words start at zero.
    pub user_data: Vec<u32>,
    /// How warps share out the memory that the program takes for its scratch, where it has such memory in a buffer: raw GCN code whose
    /// [`crate::ProgramOptions::rsrc2`] enables scratch. `None`: as [`crate::ProgramOptions::local`] says, for 32 warps. Other programs
    /// do not look at it. The buffer must have room for all parts, else some accesses are outside.
    pub scratch_ring: Option<WarpRing>,
    /// Registers that do not start at zero: (name, one value for all lanes or one a lane).
    pub registers: Vec<(String, Vec<u64>)>,
    /// Whether to give the registers back ([`Report::registers`]); for launches of one warp.
    pub capture_registers: bool,
    /// What shared memory begins with in each block, instead of zeros; may be shorter than it is.
    pub shared: Vec<u8>,
    /// Whether to give shared memory back ([`Report::shared`]); for launches of one block.
    pub capture_shared: bool,
    /// Blocks to run, by linear index; `None`: all.
    pub blocks: Option<Range<u64>>,
    /// Ends the launch early when asked to.
    pub cancel: Option<CancelToken>,
    /// Called now and then, from any thread.
    pub progress: Option<Progress>,
}

/// Gets (blocks done, blocks to do).
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("grid", &self.grid)
            .field("block", &self.block)
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
    /// A pointer to so many bytes of dynamic shared memory, where the ISA has such arguments: `bytes` is only as long as
    /// it then.
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

    /// A structure, passed by value: its bytes as they lie in memory, and its alignment (a power of two, the greatest of its
    /// members'). Where the program says how its parameters are laid out, the structure must have the size that it says, and the
    /// alignment makes no difference.
    pub fn bytes(bytes: impl Into<Vec<u8>>, align: usize) -> Self {
        Arg { bytes: bytes.into(), align, shared: None }
    }

    /// A structure of words, or a vector of them, aligned as a word.
    pub fn u32s(members: &[u32]) -> Self {
        Arg::bytes(members.iter().flat_map(|member| member.to_le_bytes()).collect::<Vec<u8>>(), 4)
    }

    /// A structure of binary32 numbers, or a vector of them, aligned as one.
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
    /// Where it begins in guest memory.
    pub address: u64,
    /// How much of guest memory it shows.
    pub bytes: u64,
    /// How addresses in it count.
    pub mode: GlobalMode,
}

/// How addresses in a window to global memory count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobalMode {
    /// Bytes from the start.
    Linear,
    /// A picture: the low half of an address is x in bytes, the high half y. Memory holds tiles of 64 bytes by
    /// `4 << tile_mode` rows, each row by row (the layout of G80's two-dimensional surfaces).
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

/// Asks a launch, or the loading of a program, to stop; clones ask the same one.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that has not been used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the launches that hold this token, soon: also while they compile, at the latest when the code generator is done with the region that
    /// it is at.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// What it sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// Whether [`CancelToken::cancel`] has been called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a launch did.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Guest misbehaviour that ended the launch: that of the lowest block that faulted. Memory keeps what was
    /// stored before.
    pub fault: Option<Fault>,
    /// What was executed.
    pub stats: Stats,
    /// Registers at the end by name, one value a lane, if asked for.
    pub registers: BTreeMap<String, Vec<u64>>,
    /// Shared memory of the only block at the end, if asked for.
    pub shared: Vec<u8>,
    /// Whether the launch was cancelled.
    pub cancelled: bool,
    /// What was seen of it, if [`crate::Observe`] asks for something.
    pub profile: Option<Box<Profile>>,
    /// What has been compiled of the program with the engine's settings so far, if [`crate::Observe::listings`] asks for it.
    pub listings: Option<Box<Listings>>,
}

/// What a launch executed. Counts are exact in the interpreter; see [`crate::Config::count`].
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// Blocks that were run to their end.
    pub blocks: u64,
    /// Warps of these.
    pub warps: u64,
    /// Guest instructions executed by warps.
    pub warp_instructions: u64,
    /// Thread instructions: those that warps executed, each times the lanes that it was for. On Tesla, Fermi and VP1 these are the active lanes,
    /// whether or not a predicate lets them do anything. On GCN they are the lanes in EXEC, of vector instructions; scalar
    /// instructions are for no lane.
    pub thread_instructions: u64,
    /// Whether instructions were counted ([`crate::Config::count`]). Else `warp_instructions`, `thread_instructions` and `lane_slots` are estimates.
    pub counted: bool,
    /// Time in which some thread of the launch was compiling: what the launch waited for.
    pub compile: std::time::Duration,
    /// Time that compiling took on the engine's own thread while the launch ran ([`crate::Tier::Auto`]), for regions that
    /// became ready before it ended.
    pub compile_behind: std::time::Duration,
    /// Time from start to end, compiling excluded.
    pub run: std::time::Duration,
    /// Operations executed by warps, by topic.
    pub groups: BTreeMap<&'static str, u64>,
    /// Bytes loaded and stored by lanes, by space.
    pub traffic: BTreeMap<&'static str, (u64, u64)>,
    /// What [`Stats::thread_instructions`] would be if each instruction that is for lanes were for all lanes of a warp.
    pub lane_slots: u64,
    /// Regions of the program, with these settings, that came from the cache ([`crate::Config::cache`]).
    pub cached_regions: u64,
    /// Which tier executed what part.
    pub tiers: TierShares,
    /// Share of the blocks of code (by guest instructions) that compiled code executed: [`TierShares::compiled`].
    pub jit_share: f64,
    /// Why code that should be compiled was left to the interpreter, if that happened: a limit of the code generator.
    pub not_compiled: Option<String>,
}

/// Which tier executed what share of the thread instructions; both are 0 where none was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TierShares {
    /// The interpreter.
    pub interpreted: f64,
    /// Compiled code.
    pub compiled: f64,
}

impl TierShares {
    /// From the instructions that the interpreter and compiled code have executed.
    pub(crate) fn of((interpreted, compiled): (u64, u64)) -> Self {
        let all = (interpreted + compiled).max(1) as f64;
        TierShares { interpreted: interpreted as f64 / all, compiled: compiled as f64 / all }
    }
}

/// Guest misbehaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Guest address of the instruction.
    pub pc: u32,
    /// The block, by its coordinates in the grid.
    pub block: [u32; 3],
    /// The warp in the block.
    pub warp: u32,
    /// The lowest lane of the warp that it happened to.
    pub lane: u32,
    /// Memory: the guest address.
    pub address: Option<u64>,
    /// Memory: the address space.
    pub space: Option<String>,
    /// Memory: whether it was a store (atomics count as stores).
    pub store: bool,
    /// Illegal: the instruction's bytes, as far as they are in the code.
    pub bytes: Vec<u8>,
}

/// Kinds of guest misbehaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An address that is not mapped, not writable or not aligned.
    Memory,
    /// An instruction that does not exist, or that this program may not execute.
    Illegal,
    /// The guest's trap instruction.
    Trap,
    /// All living warps of a block wait and no barrier can open.
    Barrier,
    /// The divergence stack overflowed, or held nothing that fits.
    Stack,
    /// [`Launch::max_steps`] was reached.
    Timeout,
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
