//! The description of a launch: what to run, with which arguments, and what may end it.

use crate::{CancelToken, SaveToken};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
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
    /// Whether to return the final registers ([`crate::Report::registers`]). Only for launches of one warp.
    pub capture_registers: bool,
    /// Initial shared memory of each block; the rest is zero.
    pub shared: Vec<u8>,
    /// Whether to return the final shared memory ([`crate::Report::shared`]). Only for launches of one block.
    pub capture_shared: bool,
    /// Blocks to run, by linear index; `None`: all.
    pub blocks: Option<Range<u64>>,
    /// Ends the launch early when asked to.
    pub cancel: Option<CancelToken>,
    /// Stops the launch when asked to, so that it can be saved ([`crate::Report::saved`]). Loops of such launches run slower: their
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
