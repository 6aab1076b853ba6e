//! Determines what a launch provides for a kernel: segments of memory, initial registers, limits (docs/hardware/gcn.md section 6).
//!
//! `raw` makes this setup for a program without a container, `code_object` for a kernel of a code object. `rsrc` decodes the
//! hardware registers that say how a program starts.
//!
//! A launch provides its segments at fixed addresses, far from where buffers usually are. So the lifter knows them at compile
//! time: results of `s_getpc_b64` and pointers to arguments are constants in the code.

use std::sync::Arc;

use warpjit_ir::{KernelAbi, ParamSpace, Segment, SegmentSize, Space};

use super::Generation;
use super::lift::{Entry, Register};

mod code_object;
pub mod property;
mod raw;
mod rsrc;

pub use super::map::*;
pub(super) use code_object::code_object;
pub(super) use raw::raw;
pub use rsrc::{stage_user_words, tmpring, user_words};

/// Lanes of a wave.
const LANES: u32 = 64;
/// A wave's scratch is a multiple of that many bytes.
const SCRATCH_GRANULE: u32 = 1024;
/// SGPRs of raw code that does not say, and most that it may ask for.
pub(super) const RAW_SGPRS: u32 = 104;
/// Most SGPRs that a descriptor can give a wave and a chip has.
const MOST_SGPRS: u32 = 112;
/// The segment of the arguments.
const KERNARG: u8 = 0;

/// How a kernel is launched.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub abi: KernelAbi,
    /// What registers hold at the entry; all others are zero.
    pub preload: Vec<(Register, Entry)>,
    /// MODE at the entry.
    pub mode: u32,
    pub vgprs: u32,
    pub sgprs: u32,
    /// (offset, bytes) of the explicit arguments, where the container says.
    pub params: Option<Vec<(u32, u32)>>,
    /// Bytes of LDS and of scratch.
    pub shared_bytes: u32,
    pub local_bytes: u32,
    /// The high dwords of flat addresses in LDS and scratch, zeros where the program cannot know them.
    pub apertures: (u32, u32),
}

/// The limits of a chip; nothing is set up.
pub(super) fn limits(generation: Generation) -> KernelAbi {
    KernelAbi {
        warp_lanes: LANES,
        full_warps: true,
        header: Vec::new(),
        params: ParamSpace { space: Space::Global(KERNARG), offset: 0, max_bytes: 0, pointer_bytes: 8 },
        segments: Vec::new(),
        max_grid: [u32::MAX; 3],
        max_block: [1024; 3],
        max_threads: 1024,
        max_registers: 256,
        max_shared_bytes: if generation == Generation::Gfx6 { 0x8000 } else { 0x1_0000 },
        max_local_bytes: 0x1_fff0,
        barriers: 1,
    }
}

/// A launch of a graphics stage is a row of single waves.
pub(super) fn limit_to_stage(abi: &mut KernelAbi) {
    abi.max_grid = [i32::MAX as u32, 1, 1];
    abi.max_block = [LANES, 1, 1];
    abi.max_threads = LANES;
}

/// The segment of the code.
fn code_segment(code: Arc<[u8]>) -> Segment {
    Segment {
        name: "code",
        address: CODE_ADDRESS,
        size: SegmentSize::Bytes(0),
        writable: false,
        contents: vec![(0, code)],
    }
}

/// The segment of the global data share, for programs that use it.
pub(super) fn data_share() -> Segment {
    Segment {
        name: "global data share",
        address: GDS_ADDRESS,
        size: SegmentSize::Bytes(GDS_BYTES + GDS_SYNC_BYTES),
        writable: true,
        contents: Vec::new(),
    }
}
