//! The second code generator: lane regions for x86-64 with AVX-512, sixteen lanes a vector.
//!
//! Cranelift knows 128-bit vectors only. Here a narrow value (i32, f32) of a chunk is one 512-bit register for every sixteen
//! lanes, a wide one (i64, f64) two, a mask an opmask register, and what is the same in all lanes is in a general register (a
//! float in one vector). A chunk is 16, 32 or 64 lanes; where it is the whole warp, operations across lanes are code too, and
//! accesses of memory happen in the program's order for all lanes.
//!
//! [`code`] holds instructions over virtual registers, [`asm`] writes them, [`emit`] allocates registers (regalloc2, Cranelift's
//! allocator) and encodes (iced-x86). The other modules lower the IR's operations, by topic.
//!
//! Which file writes which pattern of accesses or operations:
//!
//! | lanes access, or compute | code | file |
//! |---|---|---|
//! | contiguous words; one address | vectors; a scalar access | `side_by_side.rs`, `one_access.rs` |
//! | 64-bit addresses | one test at run time for all near one base: vectors if contiguous, else each lane | `places.rs`, `even.rs`, `wide_lanes.rs` |
//! | anywhere | gathers and scatters; scalar loads in functions with few | `gathers.rs` |
//! | components of vectors of two or four | whole vectors, unused words masked off so that nothing faults for them | `apart.rs` |
//! | last lane first: `b[i] = a[n-1-i]` | vectors with reversed elements | `descending.rs` |
//! | contiguous in each 8 or 4 lanes only (blocks 8 or 12 wide) | half or quarter vectors behind a test | `runs.rs` |
//! | coordinates of blocks 8 or 4 wide (2-D affine, `Shape::Lines`) | one vector a line, one test for the first and the last | `lines.rs`, `by_lines.rs` |
//! | `i < n` of 64-bit numbers on a line | the first and the last lane decide; the mask is bits of a general register | `bits.rs` |
//! | shared memory | one bounds test for a run of accesses; the run is emitted twice, without tests and lane by lane | `rows.rs`, `lane_by_lane.rs` |
//! | shared memory just stored by nearby lanes | taken from the stored vectors: the host does not forward two stores to one load | `held.rs` |
//! | 64-bit values whose addresses repeat | one gather, or broadcasts | `alike.rs` |
//! | `x[col[k]]` in divergent loops | scalar loads; inactive lanes use the first lane's first index | `indexed.rs` |
//! | table look-ups | byte permutations up to 128 words, pairs of tables, xor trees | `lookups.rs`, `special.rs`, `table_trees.rs` |
//! | truncating multiply-adds | a run in three versions, one test at the end | `mads.rs` |
//! | Tesla's `rcp`, `rsqrt` | written directly (`PureFn::special`) | `special.rs` |
//! | atomics | a loop over the lanes with host instructions, else a call | `atomics.rs` |
//! | the few lanes left in a one-block loop of scattered loads | one lane after another in scalar registers; a walking address is tested once | `single.rs`, `walks.rs` |
//! | streams, in grid-row code | prefetches two pages ahead, not in loops | `streams.rs` |
//!
//! A value that is affine in each 16 lanes but not over the chunk is one scalar a vector, or one in all if consecutive vectors differ by
//! a known constant ([`crate::vector_stride`]). `hoist.rs` moves invariants of generated loops (chunks, warps, blocks) out, with loads
//! that cannot change.

mod across;
mod alike;
mod apart;
mod asm;
mod atomics;
mod bits;
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
