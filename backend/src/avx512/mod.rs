//! The second code generator: lane regions for x86-64 with AVX-512, sixteen lanes a vector.
//!
//! Cranelift knows 128-bit vectors only. Here a narrow value (i32, f32) of a chunk is one 512-bit register for every sixteen
//! lanes, a wide one (i64, f64) two, a mask an opmask register, and what is the same in all lanes is in a general register (a
//! float in one vector). A chunk is 16, 32 or 64 lanes; where it is the whole warp, operations across lanes are code too, and
//! accesses of memory happen in the program's order for all lanes.
//!
//! [`code`] holds instructions over virtual registers, [`asm`] writes them, [`emit`] allocates registers (regalloc2, Cranelift's
//! allocator) and encodes (iced-x86). The other modules lower the IR's operations, by topic.

mod across;
mod alike;
mod apart;
mod asm;
mod atomics;
mod block_row;
mod by_lines;
mod code;
mod control;
mod convert;
mod descending;
pub(crate) mod eight;
mod emit;
mod even;
mod float;
mod gathers;
mod general;
mod held;
mod hoist;
mod indexed;
mod int;
mod lane_by_lane;
mod lines;
mod lookups;
mod lower;
mod mads;
mod masks;
mod memory;
mod one_access;
mod permit;
mod phases;
mod places;
mod rows;
mod runs;
mod scalar;
mod side_by_side;
mod single;
mod special;
mod streams;
mod table_trees;
mod translate;
mod uses;
mod values;
mod walks;
mod wide_lanes;

use warpjit_ir::{Function, Opcode};

use crate::code::{FloatEnv, Listing, RegionCode};
use crate::error::Error;
use crate::options::Options;
use crate::options::{BlockRow, Phase};
use crate::trap::TrapLane;

/// Compiles a region in mask form.
pub(crate) fn compile(func: &Function, options: &Options, env: FloatEnv) -> Result<RegionCode, Error> {
    finish(lower::lower(func, options, env)?, options, env)
}

/// Compiles a kernel for rows of blocks; `options` by phase.
pub(crate) fn compile_phases(
    phases: &[Phase<'_>],
    row: &BlockRow,
    options: &[Options],
    env: FloatEnv,
) -> Result<RegionCode, Error> {
    finish(lower::lower_phases(phases, row, options, env)?, &options[0], env)
}

/// Makes machine code of what lowering has given.
fn finish(lowered: lower::Lowered, options: &Options, env: FloatEnv) -> Result<RegionCode, Error> {
    let emitted = emit::emit(&lowered.code, &lowered.pool, lowered.buffer_bytes, options)?;
    let mut traps = Vec::with_capacity(emitted.sites.len());
    for &emit::EmittedSite { offset, site, accessed } in &emitted.sites {
        let Some(&(mut site)) = lowered.sites.get(site as usize) else {
            return Err(Error::Codegen(format!("trap at {offset:#x} without a site")));
        };
        if let TrapLane::Run { place, .. } | TrapLane::One { place, .. } = &mut site.lane {
            *place =
                accessed.ok_or_else(|| Error::Codegen(format!("trap at {offset:#x} without a place")))?;
        }
        traps.push((offset, site));
    }
    Ok(RegionCode {
        code: emitted.code,
        traps,
        pcs: if options.pcs { emitted.pcs } else { Vec::new() },
        pures: lowered.pures,
        devices: lowered.devices,
        tables: lowered.tables,
        returns: Vec::new(),
        shared_reach: lowered.shared_reach,
        float_env: env,
        listing: Listing { clif: String::new(), assembly: emitted.listing },
    })
}

/// Operations across lanes that code can hold where a chunk is the whole warp.
pub(crate) fn crosses_lanes(op: Opcode) -> bool {
    matches!(op, Opcode::VoteAny | Opcode::VoteAll | Opcode::Ballot | Opcode::Shuffle | Opcode::QuadLane)
}
