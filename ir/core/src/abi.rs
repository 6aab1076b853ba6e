//! What a frontend says about launching a kernel: its arguments, the memory segments it needs, and the launch values that its
//! registers start with. A frontend makes one [`KernelAbi`] for each kernel, as plain data; the runtime fills memory and
//! registers from it, without knowing the ISA.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::opcodes::Space;

/// Bytes of a page, the unit of mapping.
const PAGE: u64 = 4096;

/// A value that the launch defines for a lane, a warp or a block. All are 32-bit integers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Builtin {
    /// Thread index in the block along axis 0 to 2.
    Tid(u8),
    /// Block index in the grid along axis 0 to 2.
    Ctaid(u8),
    /// Threads of a block along axis 0 to 2.
    Ntid(u8),
    /// Blocks of the grid along axis 0 to 2.
    Nctaid(u8),
    /// Index of the lane in its warp.
    LaneId,
    /// Index of the warp in its block.
    WarpId,
    /// Warps of a block.
    NumWarps,
    /// Linear index of the thread in its block.
    LinearTid,
    /// Linear index of the block in the grid.
    LinearCtaid,
    /// The lanes of the warp that have threads, one bit a lane: the low (0) or high (1) 32 bits.
    Launched(u8),
    /// Threads of the grid along axis 0 to 2.
    GridThreads(u8),
    /// Number of axes of the launch: that of the last axis along which there is more than one thread; at least 1.
    Axes,
    /// Bytes of shared memory of a block.
    SharedBytes,
    /// Word of the launch's user data, by number, 0 to [`USER_WORDS`] - 1. The same for all lanes.
    UserData(u8),
}

/// Most words of user data of a launch.
pub const USER_WORDS: u8 = 40;

impl Builtin {
    /// Every builtin with its name in the text format, but for user data, which is `user0` and so on.
    pub const NAMES: [(Builtin, &'static str); 24] = [
        (Builtin::Tid(0), "tid.x"),
        (Builtin::Tid(1), "tid.y"),
        (Builtin::Tid(2), "tid.z"),
        (Builtin::Ctaid(0), "ctaid.x"),
        (Builtin::Ctaid(1), "ctaid.y"),
        (Builtin::Ctaid(2), "ctaid.z"),
        (Builtin::Ntid(0), "ntid.x"),
        (Builtin::Ntid(1), "ntid.y"),
        (Builtin::Ntid(2), "ntid.z"),
        (Builtin::Nctaid(0), "nctaid.x"),
        (Builtin::Nctaid(1), "nctaid.y"),
        (Builtin::Nctaid(2), "nctaid.z"),
        (Builtin::LaneId, "laneid"),
        (Builtin::WarpId, "warpid"),
        (Builtin::NumWarps, "numwarps"),
        (Builtin::LinearTid, "lineartid"),
        (Builtin::LinearCtaid, "linearctaid"),
        (Builtin::Launched(0), "launched.lo"),
        (Builtin::Launched(1), "launched.hi"),
        (Builtin::GridThreads(0), "gridthreads.x"),
        (Builtin::GridThreads(1), "gridthreads.y"),
        (Builtin::GridThreads(2), "gridthreads.z"),
        (Builtin::Axes, "axes"),
        (Builtin::SharedBytes, "sharedbytes"),
    ];

    /// The name in the text format.
    pub fn name(self) -> Cow<'static, str> {
        if let Builtin::UserData(number) = self {
            return format!("user{number}").into();
        }
        Builtin::NAMES.iter().find(|(b, _)| *b == self).map_or("?", |(_, n)| n).into()
    }

    /// The builtin called `name`.
    pub fn parse(name: &str) -> Option<Builtin> {
        if let Some(number) = name.strip_prefix("user") {
            let known = number.parse().ok().filter(|&number| number < USER_WORDS).map(Builtin::UserData);
            return known.filter(|known| known.name() == name);
        }
        Builtin::NAMES.iter().find(|(_, n)| *n == name).map(|(b, _)| *b)
    }
}

/// A launch value written into memory before a block starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderField {
    /// Where it is written: shared memory, a const bank, or (`Global`) a segment of [`KernelAbi::segments`] by number.
    /// A segment can only hold values that are the same for all blocks.
    pub space: Space,
    /// Byte offset in that space.
    pub offset: u32,
    /// Bytes written, 1, 2 or 4, little endian.
    pub bytes: u8,
    /// What is written.
    pub value: Builtin,
}

/// Memory that a launch provides in the guest's address space. In arguments and header fields, segment number `n` of
/// [`KernelAbi::segments`] is named `Space::Global(n)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Name for messages.
    pub name: &'static str,
    /// Its guest address. Nothing else may be mapped there.
    pub address: u64,
    /// Its size.
    pub size: SegmentSize,
    /// Whether the guest may store to it.
    pub writable: bool,
    /// Its initial contents, as (offset, bytes); the rest is zero.
    pub contents: Vec<(u32, Arc<[u8]>)>,
}

/// The size of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentSize {
    /// So many bytes, or more if its contents need more.
    Bytes(u32),
    /// So many bytes, a multiple of 8, for each warp of the blocks that exist. They are zero when a block starts.
    /// [`crate::SlotInit::WarpOffset`] gives a slot the offset of the warp's part.
    PerWarp(u32),
    /// A part for each warp as in [`SegmentSize::PerWarp`], but of memory that the guest has mapped itself, so that
    /// nothing is mapped or cleared. This is the default division of the memory, which a launch may override; `None`: a
    /// launch must give one.
    Ring(Option<WarpRing>),
}

/// How memory is divided among warps: each warp that exists at a time has a part of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpRing {
    /// Number of parts, and so of warps that can exist at a time. There must be enough for one block.
    pub warps: u32,
    /// Bytes of a part.
    pub warp_bytes: u32,
}

/// Where kernel parameters are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamSpace {
    /// Shared memory (Tesla), a const bank (Fermi), or a segment by number (`Global`; GCN).
    pub space: Space,
    /// Byte offset of the first parameter.
    pub offset: u32,
    /// Bytes that parameters may take.
    pub max_bytes: u32,
    /// Bytes of a pointer argument without an explicit size.
    pub pointer_bytes: u8,
}

/// The launch interface and the limits of a kernel on its chip.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelAbi {
    /// Lanes of a warp, 16, 32 or 64.
    pub warp_lanes: u32,
    /// Whether all lanes of a warp are active for any block size, because the guest itself masks lanes without threads
    /// ([`Builtin::Launched`]).
    pub full_warps: bool,
    /// Values written before each block.
    pub header: Vec<HeaderField>,
    /// Where arguments go.
    pub params: ParamSpace,
    /// Memory segments that the launch provides.
    pub segments: Vec<Segment>,
    /// Most blocks along each axis.
    pub max_grid: [u32; 3],
    /// Most threads along each axis.
    pub max_block: [u32; 3],
    /// Most threads of a block.
    pub max_threads: u32,
    /// Most registers of a thread.
    pub max_registers: u32,
    /// Most bytes of shared memory of a block.
    pub max_shared_bytes: u32,
    /// Most bytes of local memory of a thread.
    pub max_local_bytes: u32,
    /// Barriers of a block.
    pub barriers: u32,
}

impl KernelAbi {
    /// Ranges of addresses that nothing stores to while the kernel runs: its read-only segments, extended to whole
    /// pages, because nothing else is mapped in these.
    pub fn read_only(&self) -> Vec<Range<u64>> {
        let constant = self.segments.iter().filter(|segment| !segment.writable);
        let range = |segment: &Segment| match segment.size {
            SegmentSize::Bytes(bytes) => {
                let bytes = u64::from(bytes).max(1).next_multiple_of(PAGE);
                Some(segment.address..segment.address + bytes)
            }
            _ => None,
        };
        constant.filter_map(range).collect()
    }

    /// The largest value that a builtin can have in a launch within the limits, including lanes without a thread.
    pub fn most(&self, value: Builtin) -> u64 {
        let lanes = u64::from(self.warp_lanes.max(1));
        let threads = u64::from(self.max_threads);
        let at = |axes: [u32; 3], axis: u8| axes.get(usize::from(axis)).copied().map_or(0, u64::from);
        let whole = |threads: u64| threads.next_multiple_of(lanes);
        match value {
            // Lanes behind the last thread go on along the first axis that has more than one: up to a whole warp if it
            // is the only one, else at most a warp beyond its own size, which is half of all threads at most.
            Builtin::Tid(axis) => {
                let own = at(self.max_block, axis);
                let with_others = if axis < 2 { own.min(threads / 2) + lanes } else { 0 };
                whole(own).max(with_others).saturating_sub(1)
            }
            Builtin::LinearTid => whole(threads).saturating_sub(1),
            Builtin::Ctaid(axis) => at(self.max_grid, axis).saturating_sub(1),
            Builtin::Ntid(axis) => at(self.max_block, axis),
            Builtin::Nctaid(axis) => at(self.max_grid, axis),
            Builtin::LaneId => lanes - 1,
            Builtin::WarpId => threads.div_ceil(lanes).saturating_sub(1),
            Builtin::NumWarps => threads.div_ceil(lanes),
            Builtin::Axes => 3,
            Builtin::SharedBytes => self.max_shared_bytes.into(),
            Builtin::LinearCtaid | Builtin::Launched(_) | Builtin::GridThreads(_) | Builtin::UserData(_) => {
                u32::MAX.into()
            }
        }
    }
}
