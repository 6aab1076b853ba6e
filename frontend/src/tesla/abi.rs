//! The launch interface of Tesla's compute programs: where parameters, block and grid sizes are at entry (docs/hardware/tesla.md section
//! 8).

use warpjit_ir::{Builtin, HeaderField, KernelAbi, ParamSpace, Space};

use super::Chip;

/// What a launch writes where, and the limits of the chip.
///
/// `s[0]` holds the header as 16-bit values, parameters follow from `s[0x10]`. `$r0` is set up by the lifter's
/// prologue from the thread index.
pub fn compute(_chip: Chip) -> KernelAbi {
    let field = |offset, value| HeaderField { space: Space::Shared, offset, bytes: 2, value };
    KernelAbi {
        warp_lanes: 32,
        full_warps: false,
        header: vec![
            field(0x2, Builtin::Ntid(0)),
            field(0x4, Builtin::Ntid(1)),
            field(0x6, Builtin::Ntid(2)),
            field(0x8, Builtin::Nctaid(0)),
            field(0xa, Builtin::Nctaid(1)),
            field(0xc, Builtin::Ctaid(0)),
            field(0xe, Builtin::Ctaid(1)),
        ],
        params: ParamSpace { space: Space::Shared, offset: 0x10, max_bytes: 256, pointer_bytes: 4 },
        segments: Vec::new(),
        max_grid: [65535, 65535, 1],
        max_block: [512, 512, 64],
        max_threads: 512,
        max_registers: 128,
        max_shared_bytes: 0x4000,
        max_local_bytes: 0x1_0000,
        barriers: 16,
    }
}
