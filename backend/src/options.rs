//! The options of a compilation: the host, the lanes of a chunk, what is known of slots at entry, and the description of grid-row
//! code.

use std::ops::Range;

use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use target_lexicon::{Architecture, Triple};
use warpjit_ir::{Function, Slot, Value};

use crate::Error;

/// Which instructions code may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostLevel {
    /// All that the host has.
    Native,
    /// On x86-64, everything that the host has except AVX-512. On other hosts as `Native`.
    Avx2,
    /// On x86-64, SSE4.1 and nothing newer. On other hosts as `Native`.
    Sse41,
}

/// A host to compile for. Making one takes some microseconds: keep it.
#[derive(Clone)]
pub struct Target {
    /// First with the slower, better register allocator, then with the fast one.
    isas: [OwnedTargetIsa; 2],
    pub(crate) host: Host,
    wide_vectors: bool,
}

/// Features of the host that lowering depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Host {
    /// x86-64; else AArch64.
    pub x86: bool,
    /// Fused multiply-add of vectors.
    pub fma: bool,
    /// Products of vectors rounded towards zero in one instruction, see [`crate::embedded`].
    pub rounded_products: bool,
    /// Leading and trailing zeros, set bits in one instruction.
    pub bit_counts: bool,
}

impl Target {
    /// This machine.
    pub fn host(level: HostLevel) -> Result<Target, Error> {
        match level {
            HostLevel::Sse41 if cfg!(target_arch = "x86_64") => Target::with_features(Triple::host(), &SSE41),
            HostLevel::Avx2 if cfg!(target_arch = "x86_64") => Target::build(|| {
                let mut builder = native()?;
                for feature in AVX512 {
                    builder.set(feature, "false").map_err(|e| Error::Host(e.to_string()))?;
                }
                Ok(builder)
            }),
            _ => {
                let mut target = Target::build(native)?;
                target.wide_vectors = crate::avx512::host_has_it();
                Ok(target)
            }
        }
    }

    /// The machine of a target triple, with the features that every such machine of the level has: on x86-64 AVX2 and
    /// FMA, unless the level is SSE4.1.
    pub fn triple(triple: &str, level: HostLevel) -> Result<Target, Error> {
        let triple: Triple = triple.parse().map_err(|_| Error::Host(format!("no target `{triple}`")))?;
        let features: &[&str] = match (triple.architecture, level) {
            (Architecture::X86_64, HostLevel::Sse41) => &SSE41,
            (Architecture::X86_64, _) => &AVX2,
            _ => &[],
        };
        Target::with_features(triple, features)
    }

    fn with_features(triple: Triple, features: &[&str]) -> Result<Target, Error> {
        Target::build(|| {
            let mut builder = isa::lookup(triple.clone()).map_err(|e| Error::Host(e.to_string()))?;
            for feature in features {
                builder.enable(feature).map_err(|e| Error::Host(e.to_string()))?;
            }
            Ok(builder)
        })
    }

    fn build(builder: impl Fn() -> Result<isa::Builder, Error>) -> Result<Target, Error> {
        let make = |allocator: &str| -> Result<OwnedTargetIsa, Error> {
            let mut flags = settings::builder();
            let verify = if cfg!(debug_assertions) { "true" } else { "false" };
            for (name, value) in [
                // `speed` moves loads before arithmetic and causes spills, which makes warp code much slower.
                ("opt_level", "none"),
                ("regalloc_algorithm", allocator),
                ("enable_verifier", verify),
                ("enable_probestack", "false"),
                ("enable_alias_analysis", "false"),
                ("unwind_info", "false"),
            ] {
                flags.set(name, value).map_err(|e| Error::Host(e.to_string()))?;
            }
            builder()?.finish(settings::Flags::new(flags)).map_err(|e| Error::Host(e.to_string()))
        };
        let isas = [make("backtracking")?, make("single_pass")?];
        let x86 = match isas[0].triple().architecture {
            Architecture::X86_64 => true,
            Architecture::Aarch64(_) => false,
            other => return Err(Error::Host(format!("no code for {other}"))),
        };
        let has =
            |name: &str| isas[0].isa_flags().iter().any(|v| v.name == name && v.as_bool() == Some(true));
        // DQ is needed for the instruction that is emitted in its place.
        let rounded_products = x86 && ["has_avx512f", "has_avx512vl", "has_avx512dq"].iter().all(|f| has(f));
        let host =
            Host { x86, rounded_products, fma: !x86 || has("has_fma"), bit_counts: !x86 || has("has_lzcnt") };
        Ok(Target { isas, host, wide_vectors: false })
    }

    /// Whether this is the machine itself and has the AVX-512 features that 512-bit vectors need.
    pub fn has_wide_vectors(&self) -> bool {
        self.wide_vectors
    }

    pub(crate) fn isa(&self, fast_compile: bool) -> &OwnedTargetIsa {
        &self.isas[usize::from(fast_compile)]
    }
}

impl Target {
    /// Hashes everything that code for the target depends on, with or without [`Options::wide_vectors`]: the code
    /// generator, the machine, its features, and settings. Code made for one combination cannot be used for another.
    pub fn hash_for(&self, wide_vectors: bool, state: &mut impl std::hash::Hasher) {
        use std::hash::Hash;
        // Cranelift's settings do not name all features that the other generator needs, so these are hashed too.
        let generator: (&str, &[&str]) =
            if wide_vectors { ("avx512", crate::avx512::FEATURES) } else { ("cranelift", &[]) };
        generator.hash(state);
        for isa in &self.isas {
            (isa.name(), isa.isa_flags_hash_key(), isa.flags()).hash(state);
            isa.triple().hash(state);
        }
        self.host.hash(state);
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Target({}, {:?})", self.isas[0].triple(), self.host)
    }
}

/// The features of this machine.
fn native() -> Result<isa::Builder, Error> {
    cranelift_native::builder().map_err(|e| Error::Host(e.to_owned()))
}

/// The features that [`HostLevel::Avx2`] disables.
const AVX512: [&str; 5] =
    ["has_avx512bitalg", "has_avx512dq", "has_avx512f", "has_avx512vbmi", "has_avx512vl"];
const SSE41: [&str; 3] = ["has_sse3", "has_ssse3", "has_sse41"];
const AVX2: [&str; 10] = [
    "has_sse3",
    "has_ssse3",
    "has_sse41",
    "has_sse42",
    "has_popcnt",
    "has_avx",
    "has_avx2",
    "has_fma",
    "has_bmi1",
    "has_lzcnt",
];

/// Lanes of a vector of the widest kind.
pub(crate) const VECTOR_LANES: u32 = 16;

/// The *lane pattern* of a slot at the entry of the region: how its value depends on the lane.
///
/// The caller has checked it in every chunk that has an active lane, for all lanes of the chunk. With
/// [`Options::wide_vectors`] it is the pattern within each 16-lane vector of the chunk, and [`Options::apart`] relates
/// consecutive vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// The same in all lanes.
    Uniform,
    /// An i32 with this stride from lane to lane, modulo 2^32.
    Affine(i32),
    /// Two packed 16-bit coordinates: as `Affine`, in inactive lanes too, and the low 16 bits never carry into the high
    /// ones within a chunk.
    Packed(i32),
    /// 2-D affine, as thread coordinates in blocks that are 4 or 8 wide:
    /// `first + (lane % lanes) * step + (lane / lanes) * apart`, modulo 2^32. With `packed`, `apart` is a multiple of
    /// 2^16, the low 16 bits never carry into the high ones, and these never overflow.
    Lines {
        /// Lanes of a row, 4 or 8.
        lanes: u8,
        /// Difference from lane to lane within a row.
        step: i32,
        /// Difference from row to row.
        apart: i32,
        /// Two packed coordinates.
        packed: bool,
    },
    /// All bits are ones: -1, or a mask that holds in all lanes. The region has been cut and optimised for this already
    /// ([`warpjit_ir::regions::SlotFacts::ones`]).
    Ones,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shape::Uniform => f.write_str("uniform"),
            Shape::Affine(step) => write!(f, "affine {step}"),
            Shape::Packed(step) => write!(f, "packed {step}"),
            Shape::Lines { lanes, step, apart, packed } => {
                let packed = if *packed { "packed " } else { "" };
                write!(f, "{packed}lines of {lanes}, {step} from lane to lane, {apart} from line to line")
            }
            Shape::Ones => f.write_str("all ones"),
        }
    }
}

impl Shape {
    /// The difference between consecutive 16-lane vectors, if the pattern holds over all of their lanes.
    pub(crate) fn apart(self) -> i32 {
        match self {
            Shape::Uniform | Shape::Ones => 0,
            Shape::Affine(step) | Shape::Packed(step) => step.wrapping_mul(VECTOR_LANES as i32),
            Shape::Lines { lanes, apart, .. } => apart.wrapping_mul(VECTOR_LANES as i32 / i32::from(lanes)),
        }
    }
}

/// The lane pattern of a slot, with the parts of a warp in which it holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlotShape {
    /// The pattern, within each part or within each 16-lane vector of it.
    pub shape: Shape,
    /// Lanes of a part.
    pub lanes: u32,
    /// If the pattern only holds within each 16-lane vector: the difference between consecutive vectors of a part. For
    /// [`Shape::Packed`] it is a multiple of 2^16, and the sum never wraps.
    pub apart: Option<i32>,
}

impl SlotShape {
    /// A pattern that holds in each part of `lanes` lanes.
    pub fn new(shape: Shape, lanes: u32) -> SlotShape {
        SlotShape { shape, lanes, apart: None }
    }

    /// A pattern that holds within each 16-lane vector, with the given difference between consecutive vectors of a
    /// part.
    pub fn apart(shape: Shape, lanes: u32, apart: i32) -> SlotShape {
        match apart == shape.apart() {
            true => SlotShape::new(shape, lanes),
            false => SlotShape { shape, lanes, apart: Some(apart) },
        }
    }

    /// The difference between consecutive 16-lane vectors in chunks of `chunk_lanes` lanes, if known
    /// ([`Options::apart`]).
    pub fn apart_in(self, chunk_lanes: u32) -> Option<i32> {
        (self.lanes >= chunk_lanes).then(|| self.apart.unwrap_or(self.shape.apart()))
    }

    /// Whether the pattern holds over whole chunks of `chunk_lanes` lanes.
    pub fn is_whole(self, chunk_lanes: u32) -> bool {
        self.lanes >= chunk_lanes && self.apart.is_none()
    }

    /// The strongest pattern that both imply.
    pub fn meet(self, other: SlotShape) -> Option<SlotShape> {
        let shape = match (self.shape, other.shape) {
            (a, b) if a == b => a,
            (Shape::Affine(a) | Shape::Packed(a), Shape::Affine(b) | Shape::Packed(b)) if a == b => {
                Shape::Affine(a)
            }
            _ => return None,
        };
        let lanes = self.lanes.min(other.lanes);
        if (self.apart, other.apart) == (None, None) {
            return Some(SlotShape::new(shape, lanes));
        }
        Some(match (self.apart_in(lanes), other.apart_in(lanes)) {
            (Some(a), Some(b)) if a == b => SlotShape::apart(shape, lanes, a),
            _ => SlotShape::new(shape, lanes.min(VECTOR_LANES)),
        })
    }
}

impl std::fmt::Display for SlotShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SlotShape { shape, lanes, apart } = self;
        match (apart, lanes) {
            (Some(apart), _) => {
                write!(
                    f,
                    "{shape} over {VECTOR_LANES} lanes, each {apart} more than those before over {lanes}"
                )
            }
            // A slot of uniform type.
            (None, 1) => write!(f, "{shape}"),
            (None, _) => write!(f, "{shape} over {lanes} lanes"),
        }
    }
}

/// Grid-row code: one function for all warps of all blocks of a grid row, which differ in their index along the first
/// axis only.
///
/// A kernel is given as *phases* ([`Piece`]): regions that all warps of a block finish, one warp after another, before
/// any warp starts the next phase. The code's second argument is the first [`crate::RowWarp`] of a block instead of a
/// frame. The current row, block and warp are in the context. The code runs as long as all warps take the same exits
/// with all their threads; otherwise it returns [`crate::PARTED`].
///
/// A kernel comes as pieces ([`Piece`]): regions that all warps of a block run, one warp after the other, before any of them goes
/// on to the next piece. The code's second argument is the first [`crate::RowWarp`] of a block instead of a frame; rows, warps and the
/// block that runs are in the context. It goes on as long as all warps take the same way, all threads of them; where they do not it
/// returns [`crate::PARTED`].
#[derive(Clone, Debug, Default)]
pub struct BlockRow {
    /// For each slot: its value at the start of a block; missing ones are [`RowSlot::OfWarp`]. All other kinds are only
    /// for slots that no phase writes.
    pub slots: Vec<RowSlot>,
    /// Fields of shared memory that hold the block's index.
    pub fields: Vec<RowField>,
    /// Ranges of guest addresses that are readable and never written.
    pub fixed: Vec<Range<u64>>,
    /// Bytes of the frame that are copied from [`crate::RowWarp::first`] for each block; whole words.
    pub restored: Vec<Range<u32>>,
    /// Bytes of the frame each of whose words is set to the block's index when a block starts: the linear index (true)
    /// or the one along the row.
    pub indexed: Vec<(Range<u32>, bool)>,
    /// Whether shared memory is copied from [`crate::Context::shared_first`] for each block, except `fields`.
    pub copies_shared: bool,
    /// Whether lanes without a thread must keep their slots' values.
    pub keeps_lanes: bool,
    /// Whether all lanes of every warp are active, so that [`crate::RowWarp::lanes`] is not read.
    pub whole: bool,
}

/// A phase: a region that all warps of a block finish before any warp starts the next one.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    /// The region, in mask form.
    pub func: &'a Function,
    /// As [`Options::groups`].
    pub groups: u8,
    /// As [`Options::slot_shapes`].
    pub slot_shapes: Vec<Option<Shape>>,
    /// As [`Options::apart`].
    pub apart: Vec<Option<i32>>,
    /// For each exit: slots of which only lane 0 of each 16 is stored. All later phases know their lane pattern and
    /// compute the other lanes from it. Anyone else who reads the frame must fill them in. Missing exits have none.
    pub by_firsts: Vec<Vec<Slot>>,
    /// Guest instructions that one run of it is counted as.
    pub insts: u32,
    /// For each exit: its successor.
    pub ways: Vec<Way>,
    /// Lane patterns that the code must check for each warp at the start of the phase; if a check fails, it returns
    /// [`crate::UNFIT`]. Only with [`BlockRow::whole`], and without [`SlotShape::apart`].
    pub checks: Vec<(Slot, SlotShape)>,
}

/// The successor of an exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// All threads have ended.
    Ended,
    /// A phase.
    Next(usize),
    /// One of two phases, by the exit's condition.
    Branch {
        /// The phase if it holds in all lanes.
        taken: usize,
        /// The phase if it holds in no lane.
        next: usize,
    },
}

impl Way {
    /// The phases that it leads to.
    pub fn pieces(self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Way::Ended => (None, None),
            Way::Next(n) => (Some(n), None),
            Way::Branch { taken, next } => (Some(taken), Some(next)),
        };
        first.into_iter().chain(second)
    }
}

/// A slot's value when a block of a grid row starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RowSlot {
    /// The value in the warp's frame.
    #[default]
    OfWarp,
    /// The same in all warps and lanes of the row.
    Same,
    /// The block's index along the row; an i32.
    Block,
    /// The block's linear index in the grid; an i32.
    LinearBlock,
}

/// A field of shared memory that differs between the blocks of a grid row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowField {
    /// First byte.
    pub offset: u32,
    /// 1, 2 or 4.
    pub bytes: u8,
    /// Whether it holds the block's linear index, not the index along the row.
    pub linear: bool,
}

/// How a region is compiled.
#[derive(Clone, Debug)]
pub struct Options {
    /// The host to compile for.
    pub target: Target,
    /// Lanes of a chunk, in groups of four: 1, 2 or 4; with `wide_vectors` 4, 8 or 16.
    pub groups: u8,
    /// Chunks are single lanes, with all values in scalars. The region must be made for that
    /// ([`warpjit_ir::passes::one_lane`]), and `groups` is 1.
    pub single: bool,
    /// Use 512-bit vectors ([`Target::has_wide_vectors`]). Not with checked memory.
    pub wide_vectors: bool,
    /// Fast compilation, slow code. No effect with `wide_vectors`.
    pub fast_compile: bool,
    /// Test global accesses against the page table instead of relying on signals.
    pub checked_memory: bool,
    /// The region translates the 64-bit addresses of its loads and stores ([`warpjit_ir::passes::translate`]): with `checked_memory`, the translation
    /// checks them.
    pub translated: bool,
    /// Most bytes of stack that code may use, at most [`crate::MOST_STACK_BYTES`]. If more are needed, compilation
    /// fails.
    pub most_stack_bytes: u32,
    /// The region may wait for others. After each chunk, its code checks whether another call has taken over the
    /// remaining chunks ([`crate::Context::split`]).
    pub may_wait: bool,
    /// Count guest instructions.
    pub count: bool,
    /// Make the table of guest addresses ([`crate::RegionCode::pcs`]).
    pub pcs: bool,
    /// Return the code as text too ([`crate::RegionCode::listing`]).
    pub list: bool,
    /// For each slot: its lane pattern at entry. Missing ones are unknown.
    pub slot_shapes: Vec<Option<Shape>>,
    /// For each slot with a pattern: the difference between consecutive 16-lane vectors of a chunk, modulo 2^32, if
    /// known. A slot with stride `n` over the whole chunk has `16 * n`.
    pub apart: Vec<Option<i32>>,
    /// For `count`: the mask of the lanes that execute each block. Missing blocks are not counted.
    pub block_masks: Vec<Option<Value>>,
}

impl Options {
    /// Chunks of two groups, unchecked memory, nothing known of slots.
    pub fn new(target: Target) -> Options {
        Options {
            target,
            groups: 2,
            single: false,
            wide_vectors: false,
            fast_compile: false,
            checked_memory: false,
            translated: false,
            most_stack_bytes: crate::MOST_STACK_BYTES,
            may_wait: false,
            count: false,
            pcs: false,
            list: false,
            slot_shapes: Vec::new(),
            apart: Vec::new(),
            block_masks: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_shapes_have_in_common_what_both_say() {
        let (even, same) = (Shape::Affine(4), Shape::Uniform);
        let whole = SlotShape::new(even, 32);
        let (near, far) = (SlotShape::apart(even, 32, 0), SlotShape::apart(even, 32, 128));
        let parts = SlotShape::new(even, 16);
        assert_eq!(SlotShape::apart(even, 32, 64), whole);
        for (a, b, want) in [
            (whole, whole, Some(whole)),
            (near, near, Some(near)),
            (near, far, Some(parts)),
            (near, whole, Some(parts)),
            (near, parts, Some(parts)),
            (whole, SlotShape::new(even, 64), Some(whole)),
            // What holds over more lanes holds over fewer.
            (near, SlotShape::apart(even, 64, 0), Some(near)),
            (whole, SlotShape::apart(Shape::Packed(4), 32, 0), Some(parts)),
            (SlotShape::new(Shape::Packed(4), 32), whole, Some(whole)),
            (whole, SlotShape::new(same, 32), None),
            (SlotShape::new(even, 8), near, Some(SlotShape::new(even, 8))),
        ] {
            assert_eq!((a.meet(b), b.meet(a)), (want, want), "{a} and {b}");
        }
        assert_eq!([whole, near, parts].map(|shape| shape.apart_in(32)), [Some(64), Some(0), None]);
        assert_eq!(near.apart_in(64), None);
        assert_eq!([whole, near, parts].map(|shape| shape.is_whole(32)), [true, false, false]);
    }
}
