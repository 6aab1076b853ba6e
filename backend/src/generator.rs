//! The code generator of a launch ([`Generator`]): which passes a region goes through before it, how many lanes a chunk may have, and which
//! lane patterns it can use.
//!
//! For launches there are two generators: one with vectors of 128 bits, for every host, and one with vectors of 512 bits, for hosts with
//! AVX-512. No other module asks which of the two it has. (A third, `avx512/eight`, is for the samplers of hosts with AVX2.)

use warpjit_ir::regions::{
    ChunkLimits, Region, optimize_one_lane, optimize_within, serialize_lanes, usual_accesses, versions,
};
use warpjit_ir::{Function, Meter, Slot, Stopped};

use crate::costs;
use crate::host::{HostLevel, host_has_wide_vectors};
use crate::options::Options;
use crate::target::Target;
use crate::width;

/// Lanes of a vector of 512 bits with elements of 32 bits. Lane patterns are known by so many lanes, whatever the generator.
pub const VECTOR_LANES: u32 = 16;

/// Most groups of four lanes in a chunk with 128-bit vectors.
const MAX_NARROW: u8 = 4;

/// A code generator. Code that two generators make differs, so code is cached for each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Generator {
    /// Vectors have 512 bits.
    wide: bool,
}

impl Generator {
    /// The generator for this machine. `chunk_groups`: the groups of four lanes that a chunk should have, if the user says so. Checked
    /// memory, and lanes one after another, are for vectors of 128 bits.
    pub fn of_host(
        level: HostLevel,
        chunk_groups: Option<u8>,
        single: bool,
        checked_memory: bool,
    ) -> Generator {
        let wide = level == HostLevel::Native
            && !single
            && !checked_memory
            && chunk_groups.is_none_or(|groups| groups > MAX_NARROW)
            && host_has_wide_vectors();
        Generator { wide }
    }

    /// The same, for a target: vectors of 512 bits only if it has them.
    pub fn on(self, target: &Target) -> Generator {
        Generator { wide: self.wide && target.has_wide_vectors() }
    }

    /// The one that options choose.
    pub fn of(options: &Options) -> Generator {
        Generator { wide: options.wide_vectors }
    }

    /// The other generator, which needs other code: for tests of what code is kept for.
    #[doc(hidden)]
    pub fn other(self) -> Generator {
        Generator { wide: !self.wide }
    }

    /// Writes it into options.
    pub fn choose(self, options: &mut Options) {
        options.wide_vectors = self.wide;
    }

    /// Hashes everything that its code for a target depends on.
    pub fn hash_with(self, target: &Target, state: &mut impl std::hash::Hasher) {
        target.hash_for(self.wide, state);
    }

    /// How many lanes a chunk may have. `chunk_groups`: as the user says.
    pub fn chunk_limits(self, chunk_groups: Option<u8>) -> ChunkLimits {
        costs::chunk_limits(self.wide, chunk_groups.map(|groups| 4 * u32::from(groups)))
    }

    /// Optimises a region's mask form. Pure functions that the generator knows stay calls.
    ///
    /// # Errors
    /// When the meter's budget is used up or the work is cancelled.
    pub fn optimize(self, region: &mut Region, meter: &Meter) -> Result<(), Stopped> {
        optimize_within(region, self.wide, meter)
    }

    /// The same for chunks of a single lane.
    ///
    /// # Errors
    /// When the meter's budget is used up or the work is cancelled.
    pub fn optimize_one_lane(self, region: &mut Region, meter: &Meter) -> Result<(), Stopped> {
        optimize_one_lane(region, self.wide, meter)
    }

    /// Gives an optimised region what the generator profits from: versions of accesses for the usual case, serialised lanes, or versions for
    /// full masks and another order of instructions, or fewer changes of the float environment. `all_enter`: all lanes enter the region.
    /// `single`: chunks are single lanes.
    pub fn specialize(self, region: &mut Region, all_enter: bool, single: bool) {
        if !single {
            usual_accesses(region, all_enter);
        }
        // A loop with serialised lanes has no full mask, so no full-mask versions.
        if self.wide && !serialize_lanes(&mut region.mask, costs::few_lanes) {
            versions(region, all_enter, &costs::SCHEDULE);
        }
        #[cfg(feature = "jit")]
        if !self.wide {
            crate::lower::float::group_by_float_env(&mut region.mask);
        }
    }

    /// Whether grid-row code may keep some slots only by the first lane of each vector ([`crate::BlockRow`]).
    pub fn has_compact_slots(self) -> bool {
        self.wide
    }

    /// Whether patterns of [`VECTOR_LANES`] lanes are of use in larger chunks, and 2-D affine ones in chunks of that size or larger.
    pub fn knows_vectors(self) -> bool {
        self.wide
    }

    /// Whether regions can be joined to a chain ([`crate::compile_chain`]).
    pub fn joins_regions(self) -> bool {
        !self.wide
    }

    /// Lanes of the smallest chunk.
    pub fn min_chunk_lanes(self) -> u32 {
        if self.wide { VECTOR_LANES } else { 4 }
    }

    /// Groups of four lanes in a chunk of a region whose mask form this is. `asked`: as the user says. `whole`: the region needs the warp in
    /// one chunk. The caller limits the number to the warp's lanes.
    pub fn chunk_groups(self, func: &Function, whole: bool, asked: Option<u8>) -> u8 {
        let of_vector = VECTOR_LANES as u8 / 4;
        match (self.wide, asked) {
            (true, Some(groups)) => groups,
            (false, Some(groups)) => groups.min(MAX_NARROW),
            (true, None) if whole => of_vector,
            (true, None) => width::vectors(func) * of_vector,
            (false, None) => width::smallest_groups(func),
        }
    }

    /// Larger chunks that may pay for grid-row code, in groups of four lanes, the largest first: once it is known which slots are
    /// affine, and if [`Generator::fits`] says so. `phases` are the mask forms of the kernel's phases, `warp` the groups of a warp.
    pub fn larger_chunks<'a>(
        self,
        mut phases: impl ExactSizeIterator<Item = &'a Function>,
        warp: u8,
    ) -> &'static [u8] {
        /// Groups of the largest warp.
        const LARGEST: u8 = 16;
        let alone = phases.len() == 1;
        match self.wide {
            true if !alone || warp != LARGEST || !phases.all(width::accesses_lanes) => &[],
            true => &[LARGEST],
            false if phases.any(width::parts_in_loops) => &[],
            false if alone => &[8, 4],
            false => &[4],
        }
    }

    /// Whether the values of a phase fit the registers in chunks of that many groups of four lanes. `slot_is_even`: the slot is affine over such a chunk.
    pub fn fits(self, func: &Function, groups: u8, slot_is_even: impl Fn(Slot) -> bool) -> bool {
        match self.wide {
            true => width::fits_whole(func),
            false => width::narrow_groups(func, slot_is_even) >= groups,
        }
    }
}
