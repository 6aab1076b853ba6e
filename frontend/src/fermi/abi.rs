//! The launch interface of Fermi's compute programs: what c0[] holds at entry, and where shared and local memory are in the
//! generic address space (docs/hardware/fermi.md sections 3 and 6).
//!
//! c0[] holds the block size, the grid size and the parameters. Before them are the addresses of the two windows through which
//! generic addresses reach shared and local memory. Compiled code makes a generic address by adding `c0[0x0]` (GK104: 0x20) to an
//! address in `s[]`, and `c0[0x4]` (0x24) to one in `l[]`. A driver chooses where the windows are; here they are where Mesa puts
//! them.

use std::sync::Arc;

use bytes::Bytes;
use warpjit_ir::{Builtin, HeaderField, KernelAbi, ParamSpace, Segment, SegmentSize, Space};

use super::chip::{Chip, Family};
pub use super::map::*;
use crate::module::{ConstPart, GlobalMemory};

/// The word of c1[] (GK104: c0[]) that compiled code takes its stack pointer from.
const STACK_TOP: u32 = 0x100;
const STACK_TOP_GK104: u32 = 0x44;

/// Byte offset in c0[] of the addresses of the windows.
pub fn windows(chip: Chip) -> u32 {
    match chip.family() {
        Family::Gf100 => 0,
        Family::Gk104 => 0x20,
    }
}

/// What a launch writes where, and the limits of the chip.
pub fn compute(chip: Chip) -> KernelAbi {
    let (sizes, params) = match chip.family() {
        Family::Gf100 => (0x8, 0x20),
        Family::Gk104 => (0x28, 0x140),
    };
    let header = (0..3).flat_map(|axis| {
        let field = |offset, value| HeaderField { space: Space::Const(0), offset, bytes: 4, value };
        let at = sizes + 4 * u32::from(axis);
        [field(at, Builtin::Ntid(axis)), field(at + 12, Builtin::Nctaid(axis))]
    });
    KernelAbi {
        warp_lanes: 32,
        full_warps: false,
        header: header.collect(),
        params: ParamSpace {
            space: Space::Const(0),
            offset: params,
            max_bytes: PARAM_BYTES,
            pointer_bytes: 4,
        },
        segments: Vec::new(),
        max_grid: match chip.family() {
            Family::Gf100 => [65535; 3],
            Family::Gk104 => [0x7fff_ffff, 65535, 65535],
        },
        max_block: [1024, 1024, 64],
        max_threads: 1024,
        max_registers: REGISTERS,
        max_shared_bytes: SHARED_BYTES,
        max_local_bytes: LOCAL_BYTES,
        barriers: 16,
    }
}

/// What the driver puts in constant banks: the windows and the top of the stack, which is the end of local memory.
pub fn driver_words(chip: Chip, local_bytes: u32) -> Vec<ConstPart> {
    let part = |bank, offset, value: u32| ConstPart {
        bank,
        offset,
        bytes: Bytes::copy_from_slice(&value.to_le_bytes()),
    };
    let windows = windows(chip);
    let (bank, stack) = match chip.family() {
        Family::Gf100 => (1, STACK_TOP),
        Family::Gk104 => (0, STACK_TOP_GK104),
    };
    vec![part(0, windows, SHARED_WINDOW), part(0, windows + 4, LOCAL_WINDOW), part(bank, stack, local_bytes)]
}

/// The segment of what barriers count in.
pub fn counters() -> Segment {
    Segment {
        name: "counters of barriers",
        address: COUNTERS_ADDRESS,
        size: SegmentSize::PerWarp(COUNTERS_BYTES),
        writable: true,
        contents: Vec::new(),
    }
}

/// The segment of a module's variables.
pub fn variables(memory: &GlobalMemory) -> Segment {
    Segment {
        name: "variables",
        address: memory.address,
        size: SegmentSize::Bytes(memory.bytes),
        writable: true,
        contents: vec![(0, Arc::from(memory.contents.as_slice()))],
    }
}
