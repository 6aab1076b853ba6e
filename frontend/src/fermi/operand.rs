//! Operands and modifiers of the decoded form.

use std::fmt;

use super::modifier::{Kind, Modifier};
use crate::envydis::{AtomOp, LogicOp, QuadLane, QuadOp, Rounding, Type};

/// How many registers a register operand names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegWidth {
    /// One register.
    B32,
    /// `$r0d`: an even register and the next one.
    B64,
    /// `$r0q`: four registers.
    B128,
}

impl RegWidth {
    /// Size in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            RegWidth::B32 => 4,
            RegWidth::B64 => 8,
            RegWidth::B128 => 16,
        }
    }
}

/// The register that reads 0 and drops what is written.
pub const ZERO_REG: u8 = 63;

/// The predicate that is always true and drops what is written.
pub const TRUE_PRED: u8 = 7;

/// Memory that an address reaches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemSpace {
    /// `g[]`: generic addresses, with windows to shared and local memory.
    Global,
    /// `s[]`
    Shared,
    /// `l[]`
    Local,
    /// `a[]`: attributes in and out (graphics).
    Attr,
    /// `p[]`: vertices of the input primitive (graphics).
    Vertex,
    /// `pix[]` (graphics).
    Pixel,
}

/// One operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// `$r`: general register, pair or quad. [`ZERO_REG`] reads 0 and discards, also as a pair or quad. The
    /// hardware wants pairs even and quads divisible by four; the decoder reports the number as it is encoded.
    Reg {
        /// Register number (the first one of a pair or quad).
        num: u8,
        /// How many.
        width: RegWidth,
    },
    /// Register vector of a texture, attribute or surface instruction.
    Vec {
        /// First register.
        base: u8,
        /// Number of components, 0 to 4.
        count: u8,
        /// Components that are there; the others take no register.
        mask: u8,
    },
    /// `$p` as a source (negation: [`Src::not`]); [`TRUE_PRED`] is true.
    Pred(u8),
    /// `c0[]` to `c31[]`: of ALU operands always a 32-bit word (64 for f64) at a fixed offset.
    Const {
        /// Constant space. ALU operands reach c0 to c17.
        space: u8,
        /// Register added to the offset; [`ZERO_REG`] where there is none.
        base: u8,
        /// Byte offset.
        offset: i32,
    },
    /// A memory address: `base + offset`.
    Mem {
        /// Which memory.
        space: MemSpace,
        /// Address register; [`ZERO_REG`] for none.
        base: u8,
        /// The address is in a register pair (`g[$r2d]`).
        wide: bool,
        /// Byte offset.
        offset: i32,
    },
    /// `img[]`: surface slot by number (GF100).
    Image(u8),
    /// `img[$r]`: surface slot by register (GF100).
    ImageReg(u8),
    /// `$g`: surface slot of `suredp`.
    Surface(u8),
    /// Immediate, already expanded: integers of 20 bits are sign-extended to 32 bits (to 64 for 64-bit types),
    /// floats have their low bits filled with zeros (f64: all 64 bits are here), upper bits are 0 for 32-bit values.
    Imm(u64),
    /// Special register (docs/hardware/fermi.md section 6).
    Sreg(u8),
    /// Byte address of code.
    Target(u32),
    /// `$t`: texture.
    Tex(u8),
    /// `$s`: sampler.
    Sampler(u8),
}

impl Operand {
    /// Number and width of a general register.
    pub fn as_reg(self) -> Option<(u8, RegWidth)> {
        match self {
            Operand::Reg { num, width } => Some((num, width)),
            _ => None,
        }
    }
}

/// Which part of a source is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Select {
    /// All of it.
    #[default]
    All,
    /// Byte 0-3 (conversions, video instructions; [`Src::ty`] says how it is extended).
    Byte(u8),
    /// Half 0-1.
    Half(u8),
    /// Video instructions on four bytes: for each lane (lowest first) a byte of both sources, 0-3 of the first
    /// and 4-7 of the second one. The plain forms are 0123 of source 1 and 4567 of source 2.
    Bytes([u8; 4]),
    /// Video instructions on two halves: for each lane a half, 0-1 of the first and 2-3 of the second source.
    /// The plain forms are 01 of source 1 and 23 of source 2.
    Halves([u8; 2]),
}

/// A source operand with what is done to it when it is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Src {
    /// The operand.
    pub operand: Operand,
    /// The type it is read as, where the text names one before it; else the operation's.
    pub ty: Option<Type>,
    /// Which part is read.
    pub select: Select,
    /// Negated, after `abs`. Of the first factor of `fma`: the product is.
    pub neg: bool,
    /// Absolute value.
    pub abs: bool,
    /// Complemented; of predicates: negated.
    pub not: bool,
}

/// A predicate that is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PredSrc {
    /// 0-6, or [`TRUE_PRED`].
    pub num: u8,
    /// Negated.
    pub not: bool,
}

impl PredSrc {
    /// `$p7`
    pub const TRUE: PredSrc = PredSrc { num: TRUE_PRED, not: false };
}

impl fmt::Display for PredSrc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}p{}", if self.not { "!" } else { "" }, self.num)
    }
}

/// `add` and its relatives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AddOp {
    /// a + b
    #[default]
    Add,
    /// a - b
    Sub,
    /// b - a
    Subr,
    /// a + b + 1
    AddPo,
}

/// Cache operation of a load or store. Nothing a program computes depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cache {
    /// Load: all levels.
    Ca,
    /// Load, store: level 2.
    Cg,
    /// Load, store: streaming.
    Cs,
    /// Load: volatile.
    Cv,
    /// Store: write back.
    Wb,
    /// Store: write through.
    Wt,
}

/// `vote`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VoteOp {
    /// True in all active threads.
    All,
    /// True in one of them.
    Any,
    /// The same in all of them.
    Uni,
}

/// `bar`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BarOp {
    /// Wait; the register gets the number of threads whose predicate is true. `bar.sync` is this without results.
    Popc,
    /// Wait; the predicate result is true if all threads' are.
    And,
    /// Wait; the predicate result is true if one thread's is.
    Or,
    /// Count, do not wait.
    Arrive,
    /// Wait (short form).
    Sync,
}

/// Scope of `membar`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MembarLevel {
    /// The block.
    Cta,
    /// The chip.
    Gl,
    /// Everything.
    Sys,
}

/// `shfl`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShflOp {
    /// From that lane.
    Idx,
    /// From a lower lane.
    Up,
    /// From a higher lane.
    Down,
    /// From the lane with those bits flipped.
    Bfly,
}

/// Mode of `prmt`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PrmtMode {
    /// Four selectors.
    #[default]
    Index,
    /// Forward, four bytes from a position.
    F4e,
    /// Backward.
    B4e,
    /// One byte everywhere.
    Rc8,
    /// Edge clamp left.
    Ecl,
    /// Edge clamp right.
    Ecr,
    /// One half twice.
    Rc16,
}

/// What becomes of the result of a video instruction and its third source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Merge {
    /// The result alone; the third source is not looked at.
    #[default]
    None,
    /// The low half of the result goes to the upper half of source 3.
    H1,
    /// It goes to the lower half.
    H0,
    /// The low byte goes to byte 0.
    B0,
    /// It goes to byte 2.
    B2,
    /// Sum of result and source 3 (of all lanes of vector forms).
    Add,
    /// Minimum of both.
    Min,
    /// Maximum of both.
    Max,
    /// Vector forms: minimum lane by lane.
    SimdMin,
    /// Vector forms: maximum lane by lane.
    SimdMax,
}

/// Which 64-bit part `min` and `max` of integers work on (`low`, `med`, `high`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MinMaxPart {
    /// A whole 32-bit value.
    #[default]
    Whole,
    /// The lowest word of a long number; `$c` is read.
    Low,
    /// A middle word; `$c` is read.
    Med,
    /// The highest word.
    High,
}

/// Modifiers of a whole instruction. What does not occur in a row keeps its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mods {
    /// The operation's type: the first one in the text. Of `cvt` and the video instructions the destination's, of
    /// loads, stores and atomics what is accessed, of `set` to a register what is written (b32: -1 or 0, f32: 1.0
    /// or 0); what is compared is in [`Src::ty`]. Multiplications of integers have none, their sources do.
    pub ty: Option<Type>,
    /// Result saturated (f32: to 0..1; integers: to the type's range).
    pub sat: bool,
    /// Denormals are flushed to zero.
    pub ftz: bool,
    /// 0 times anything is 0 (and denormals are flushed).
    pub fmz: bool,
    /// `rn rm rp rz`
    pub rounding: Option<Rounding>,
    /// `rni rmi rpi rzi`: to an integer.
    pub int_rounding: Option<Rounding>,
    /// Comparison of `set` and `slct`: bit 0 less, 1 equal, 2 greater, 3 unordered. Also of `set` by `$c`, where it
    /// is a condition like [`Inst::cond`](super::Inst::cond).
    pub compare: u8,
    /// Integer add family; of `mad` the addend is the second operand.
    pub add: AddOp,
    /// `.X`: the carry of `$c` is an operand. Additions add it (in place of the 1 that `sub`, `subr` and `addpo`
    /// add after complementing), shifts and comparisons continue a long one, `logic` takes the flags along.
    pub carry_in: bool,
    /// Bitwise operation; of `set` from two predicates (`Op::PSet`, `Op::PSetP`) how they are combined, and with
    /// one predicate `And` with [`TRUE_PRED`] as the second.
    pub logic: LogicOp,
    /// How a comparison's result and [`Mods::pred`] are combined.
    pub set_logic: LogicOp,
    /// The predicate read beside the sources: of `set` the one combined with the result ([`PredSrc::TRUE`] in the
    /// plain form), of `min`/`max` true for the minimum, of `selp` and `vsel` the selector, of `vote` and `bar` the
    /// voter's, of surface instructions whether the access happens.
    pub pred: PredSrc,
    /// Atomic operation.
    pub atom: AtomOp,
    /// The product of `mul f32` and `mul f64` is negated.
    pub neg: bool,
    /// f32 `mul`: the product is scaled by 2 to this power, -3 to 3.
    pub scale: i8,
    /// The high half of a 64-bit product; of moves from and to flags, of `$flags` mask bits.
    pub high: bool,
    /// `ext`, `shr`: the source's bits are reversed first.
    pub reverse: bool,
    /// Shift counts are taken modulo 32 (without: 32 and more shift everything out).
    pub wrap: bool,
    /// `bfind`: 31 minus the position.
    pub shift_amount: bool,
    /// `min low`, `med`, `high`.
    pub part: MinMaxPart,
    /// `prmt`
    pub prmt: PrmtMode,
    /// Lanes of a quad that write (`mov l013`); 0xf everywhere else.
    pub lanes: u8,
    /// `quadop` by lane of the quad.
    pub quad: [QuadOp; 4],
    /// Source lane of `quadop`.
    pub quad_lane: QuadLane,
    /// `quadop dall`, textures' `dall`: derivatives also from threads that are off.
    pub dall: bool,
    /// Shift left of `Op::IScAdd` in bits.
    pub shift: u8,
    /// Video instructions: merge with source 3.
    pub merge: Merge,
    /// Video instructions on lanes: which ones are written (others keep source 3). All in the plain form.
    pub lane_mask: u8,
    /// `vmad`: the result is shifted right by 0, 7 or 15.
    pub shift_right: u8,
    /// `vote`
    pub vote: VoteOp,
    /// `bar`
    pub bar: BarOp,
    /// `membar`
    pub membar: MembarLevel,
    /// `shfl`
    pub shfl: ShflOp,
    /// Loads and stores: `None` where the row has none.
    pub cache: Option<Cache>,
    /// Branches, calls and `preret`: `lim`, a limit on the call stack.
    pub lim: bool,
    /// `bra allwarp` (.U): jumps only if all active threads pass.
    pub allwarp: bool,
    /// An indirect branch or call whose address is relative to the next instruction.
    pub pcrel: bool,
    /// `rtt terminate`
    pub terminate: bool,
    /// Textures: `live`, only for threads that are on.
    pub live: bool,
    pub(super) listed: [Option<Modifier>; MAX_LISTED],
}

/// The most modifiers that [`Mods::listed`] has.
pub(super) const MAX_LISTED: usize = 8;

impl Mods {
    /// The modifiers that nothing else here says, in the order of the listing. They select among sub-operations of
    /// graphics, cache, surface and debug instructions.
    pub fn listed(&self) -> impl Iterator<Item = Modifier> {
        self.listed.into_iter().flatten()
    }

    /// The modifier of a kind.
    pub fn get<K: Kind>(&self) -> Option<K> {
        self.listed().find_map(K::of)
    }

    /// True if the modifier is there.
    pub fn has<K: Kind>(&self, modifier: K) -> bool {
        self.listed().any(|listed| K::of(listed) == Some(modifier))
    }
}

impl Default for Mods {
    fn default() -> Self {
        Mods {
            ty: None,
            sat: false,
            ftz: false,
            fmz: false,
            rounding: None,
            int_rounding: None,
            compare: 0,
            add: AddOp::Add,
            carry_in: false,
            logic: LogicOp::And,
            set_logic: LogicOp::And,
            pred: PredSrc::TRUE,
            atom: AtomOp::Add,
            neg: false,
            scale: 0,
            high: false,
            reverse: false,
            wrap: false,
            shift_amount: false,
            part: MinMaxPart::Whole,
            prmt: PrmtMode::Index,
            lanes: 0xf,
            quad: [QuadOp::Add; 4],
            quad_lane: QuadLane::Lane(0),
            dall: false,
            shift: 0,
            merge: Merge::None,
            lane_mask: 0xf,
            shift_right: 0,
            vote: VoteOp::All,
            bar: BarOp::Popc,
            membar: MembarLevel::Cta,
            shfl: ShflOp::Idx,
            cache: None,
            lim: false,
            allwarp: false,
            pcrel: false,
            terminate: false,
            live: false,
            listed: [None; MAX_LISTED],
        }
    }
}
