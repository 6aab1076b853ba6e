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
    /// All that an x86-64 host has but vectors of 512 bits and what came with them; other hosts as `Native`.
    Avx2,
    /// x86-64 with SSE4.1 and nothing newer; other hosts as `Native`.
    Sse41,
}

/// A host to compile for. Making one takes some microseconds: keep it.
#[derive(Clone)]
pub struct Target {
    /// With the slower, better register allocator, then with the fast one.
    isas: [OwnedTargetIsa; 2],
    pub(crate) host: Host,
    wide_vectors: bool,
}

/// What lowering must know of the host.
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

    /// The machine of a target triple, with what every such machine of the level has: on x86-64 AVX2 and FMA unless it is SSE4.1.
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
                // `speed` moves loads before arithmetic and spills: 1.5 to 2.3 times slower on warp code.
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
        // The last is what Cranelift needs for the instruction in whose place it stands.
        let rounded_products = x86 && ["has_avx512f", "has_avx512vl", "has_avx512dq"].iter().all(|f| has(f));
        let host =
            Host { x86, rounded_products, fma: !x86 || has("has_fma"), bit_counts: !x86 || has("has_lzcnt") };
        Ok(Target { isas, host, wide_vectors: false })
    }

    /// Whether this is the machine itself, and it has what vectors of 512 bits need.
    pub fn has_wide_vectors(&self) -> bool {
        self.wide_vectors
    }

    pub(crate) fn isa(&self, fast_compile: bool) -> &OwnedTargetIsa {
        &self.isas[usize::from(fast_compile)]
    }
}

impl Target {
    /// Adds all that code for the target depends on, made with [`Options::wide_vectors`] or without: the generator that makes it, the machine,
    /// its features, settings. What is code of one of these is of no use for another.
    pub fn hash_for(&self, wide_vectors: bool, state: &mut impl std::hash::Hasher) {
        use std::hash::Hash;
        // Cranelift knows less of a host than the other generator asks for: its features are named by themselves.
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

/// What this machine has.
fn native() -> Result<isa::Builder, Error> {
    cranelift_native::builder().map_err(|e| Error::Host(e.to_owned()))
}

/// What [`HostLevel::Avx2`] is without.
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

/// What the caller knows of a slot's values at the entry of the region, and has checked: in all lanes of each chunk that has an active
/// one; with [`Options::wide_vectors`] in each sixteen lanes of it; [`Options::apart`] says what these have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// The same in all lanes.
    Uniform,
    /// An i32 that grows by so much from lane to lane, modulo 2^32.
    Affine(i32),
    /// As `Affine` in all lanes of each chunk with an active lane, active or not, and the low 16 bits never carry into
    /// the high ones within a chunk: two packed coordinates.
    Packed(i32),
    /// Each `lanes` lanes, 8 or 4, grow by `step` from lane to lane, and each of these has `apart` more than the one before, all modulo 2^32.
    /// With `packed`, `apart` is a multiple of 2^16, and the low 16 bits never carry into the high ones, nor those out.
    Lines {
        /// Lanes of a line.
        lanes: u8,
        /// From lane to lane.
        step: i32,
        /// From line to line.
        apart: i32,
        /// Two packed coordinates.
        packed: bool,
    },
    /// Nothing but ones: -1, or a truth value that holds. Code is made of it before it comes here
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
    /// What each sixteen lanes have more than those before them where it is the shape of all these lanes.
    pub(crate) fn apart(self) -> i32 {
        match self {
            Shape::Uniform | Shape::Ones => 0,
            Shape::Affine(step) | Shape::Packed(step) => step.wrapping_mul(VECTOR_LANES as i32),
            Shape::Lines { lanes, apart, .. } => apart.wrapping_mul(VECTOR_LANES as i32 / i32::from(lanes)),
        }
    }
}

/// The shape of a slot in parts of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlotShape {
    /// The shape, of each part or of each sixteen lanes of it.
    pub shape: Shape,
    /// Lanes of a part.
    pub lanes: u32,
    /// Where the shape is that of each sixteen lanes only: what each of them has more than the sixteen before, within a part. Of
    /// [`Shape::Packed`] it is a multiple of 2^16, and the sum never wraps.
    pub apart: Option<i32>,
}

impl SlotShape {
    /// A shape that each part of so many lanes has.
    pub fn new(shape: Shape, lanes: u32) -> SlotShape {
        SlotShape { shape, lanes, apart: None }
    }

    /// A shape that each sixteen lanes have, of which those of one part have each so much more than the one before.
    pub fn apart(shape: Shape, lanes: u32, apart: i32) -> SlotShape {
        match apart == shape.apart() {
            true => SlotShape::new(shape, lanes),
            false => SlotShape { shape, lanes, apart: Some(apart) },
        }
    }

    /// What each sixteen lanes have more than those before in chunks of so many lanes, if that is known ([`Options::apart`]).
    pub fn apart_in(self, chunk_lanes: u32) -> Option<i32> {
        (self.lanes >= chunk_lanes).then(|| self.apart.unwrap_or(self.shape.apart()))
    }

    /// Whether it is the shape of whole chunks of so many lanes.
    pub fn is_whole(self, chunk_lanes: u32) -> bool {
        self.lanes >= chunk_lanes && self.apart.is_none()
    }

    /// What two have in common.
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
            // A uniform slot has one value for all lanes.
            (None, 1) => write!(f, "{shape}"),
            (None, _) => write!(f, "{shape} over {lanes} lanes"),
        }
    }
}

/// Code for all warps of the blocks of a row: those that differ in their index along the first axis only.
///
/// A kernel comes as pieces ([`Piece`]): regions that all warps of a block run, one warp after the other, before any of them goes
/// on to the next piece. The code's second argument is the first [`crate::RowWarp`] of a block instead of a frame; rows, warps and the
/// block that runs are in the context. It goes on as long as all warps take the same way, all threads of them; where they do not it
/// returns [`crate::PARTED`].
#[derive(Clone, Debug, Default)]
pub struct BlockRow {
    /// By slot; missing ones are [`RowSlot::OfWarp`]. Others than that are written by no piece.
    pub slots: Vec<RowSlot>,
    /// Where shared memory has the block's index.
    pub fields: Vec<RowField>,
    /// Guest addresses that can be read and that nobody writes.
    pub fixed: Vec<Range<u64>>,
    /// Bytes of the frame that each block finds as [`crate::RowWarp::first`] has them: whole words.
    pub restored: Vec<Range<u32>>,
    /// Bytes of the frame that hold the block's index in each word when a block starts, the linear one or that along the row.
    pub indexed: Vec<(Range<u32>, bool)>,
    /// Each block finds shared memory as [`crate::Context::shared_first`] has it, but for `fields`.
    pub copies_shared: bool,
    /// Lanes without a thread keep what their slots hold.
    pub keeps_lanes: bool,
    /// All lanes of every warp take part: nothing asks for [`crate::RowWarp::lanes`].
    pub whole: bool,
}

/// A part of a kernel that all warps of a block run.
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
    /// By exit: slots of which only the first lane of each sixteen is stored there. All pieces that follow know a shape of them, and take
    /// the other lanes from that; whoever else wants to see the frame has to put them there. Missing exits have none.
    pub by_firsts: Vec<Vec<Slot>>,
    /// Guest instructions that it counts for.
    pub insts: u32,
    /// By exit, where all warps go that come out there.
    pub ways: Vec<Way>,
    /// Shapes of slots that nothing but a look at each warp can tell, and the lanes of the parts of the warp of which each has it: where
    /// one has not, the code returns [`crate::UNFIT`]. With [`BlockRow::whole`] and without [`SlotShape::apart`] only.
    pub checks: Vec<(Slot, SlotShape)>,
}

/// Where warps go behind an exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// All threads have ended.
    Ended,
    /// To a piece.
    Next(usize),
    /// To one of two pieces, by the exit's condition.
    Branch {
        /// Where it holds in all lanes.
        taken: usize,
        /// Where it holds in none.
        next: usize,
    },
}

impl Way {
    /// The pieces that it leads to.
    pub fn pieces(self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Way::Ended => (None, None),
            Way::Next(n) => (Some(n), None),
            Way::Branch { taken, next } => (Some(taken), Some(next)),
        };
        first.into_iter().chain(second)
    }
}

/// What a slot holds when a block of a row starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RowSlot {
    /// What the frame of the warp says.
    #[default]
    OfWarp,
    /// The same in all warps and lanes of the row.
    Same,
    /// The block's index along the row; an i32.
    Block,
    /// The block's linear index in the grid; an i32.
    LinearBlock,
}

/// A field of shared memory that differs from block to block of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowField {
    /// First byte.
    pub offset: u32,
    /// 1, 2 or 4.
    pub bytes: u8,
    /// The block's linear index, not that along the row.
    pub linear: bool,
}

/// How a region is compiled.
#[derive(Clone, Debug)]
pub struct Options {
    /// For which host.
    pub target: Target,
    /// Vectors of four lanes in a chunk: 1, 2 or 4; with `wide_vectors` 4, 8 or 16.
    pub groups: u8,
    /// One lane is a chunk, its values in scalars; the region is made for that ([`warpjit_ir::passes::one_lane`]). `groups` is 1.
    pub single: bool,
    /// Vectors of 512 bits ([`Target::has_wide_vectors`]); unchecked memory only.
    pub wide_vectors: bool,
    /// Quick compilation, slow code; with `wide_vectors` there is one kind only.
    pub fast_compile: bool,
    /// Test global accesses against the page table instead of relying on signals.
    pub checked_memory: bool,
    /// The region translates the 64-bit addresses of its loads and stores ([`warpjit_ir::passes::translate`]): with `checked_memory`, the translation
    /// checks them.
    pub translated: bool,
    /// Most bytes of stack that code may take; [`crate::MOST_STACK_BYTES`] unless less is wanted. Where more are needed, there is no code.
    pub most_stack_bytes: u32,
    /// The region may wait for others: behind each chunk its code looks whether the rest of them has been given to another call
    /// ([`crate::Context::split`]).
    pub may_wait: bool,
    /// Count guest instructions.
    pub count: bool,
    /// Tell which code is of which guest instruction ([`crate::RegionCode::pcs`]).
    pub pcs: bool,
    /// Give the code as text too ([`crate::RegionCode::listing`]).
    pub list: bool,
    /// By slot; missing ones are unknown.
    pub slot_shapes: Vec<Option<Shape>>,
    /// By slot with a shape: what each sixteen lanes of a chunk have more than the sixteen before them, modulo 2^32, where that is known.
    /// What grows by `n` from lane to lane over the whole chunk has `16 * n`.
    pub apart: Vec<Option<i32>>,
    /// By block: the lanes that execute it, for `count`; missing ones are not counted.
    pub block_masks: Vec<Option<Value>>,
}

impl Options {
    /// Two groups, unchecked memory, nothing known.
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
