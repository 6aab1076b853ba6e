//! Operands and modifiers of the decoded form.

use crate::envydis::{AtomOp, LogicOp, QuadLane, QuadOp, Rounding, Type};

/// Which part of the register file a register operand names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegWidth {
    /// One half of a register, `$r0l` or `$r0h`.
    B16 {
        /// The upper half.
        high: bool,
    },
    /// A whole register.
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
            RegWidth::B16 { .. } => 2,
            RegWidth::B32 => 4,
            RegWidth::B64 => 8,
            RegWidth::B128 => 16,
        }
    }
}

/// `[$a + offset]`, or `[$a++increment]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Address {
    /// `$a` number; 0 is the constant zero.
    pub areg: u8,
    /// Byte offset; 0 in the post-increment form.
    pub offset_bytes: u32,
    /// Post-increment form: added to `$a` after the access, and not to the address.
    pub post_increment: Option<i32>,
}

/// One operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// `$r`: general register, half, pair or quad. The hardware wants pairs even and quads
    /// divisible by four; the decoder reports the number as it is encoded.
    Reg {
        /// Register number (the first one of a pair or quad).
        num: u8,
        /// How much of it.
        width: RegWidth,
    },
    /// Register vector of a texture instruction.
    Vec {
        /// First register.
        base: u8,
        /// Number of components.
        count: u8,
        /// Components that are there; the others take no register.
        mask: u8,
    },
    /// `#`: the result is dropped.
    Discard,
    /// `o[]`: output register as a destination.
    Out {
        /// `b16` or `b32`.
        ty: Type,
        /// Where.
        addr: Address,
    },
    /// `s[]`.
    Shared {
        /// What is accessed: u8 u16 s16 b32 (b8 b16 b32 in stores).
        ty: Type,
        /// Where.
        addr: Address,
    },
    /// `c0[]` to `c15[]`.
    Const {
        /// Constant space.
        space: u8,
        /// What is accessed: u8 u16 s16 b16 b32.
        ty: Type,
        /// Where.
        addr: Address,
    },
    /// `l[]`; the operation's type says what is accessed.
    Local {
        /// Where.
        addr: Address,
    },
    /// `g0[$r]` to `g15[$r]`; the operation's type says what is accessed.
    Global {
        /// Global space.
        space: u8,
        /// Address register.
        reg: u8,
    },
    /// `a[]`: vertex attribute (vertex and geometry programs).
    Attr {
        /// Where.
        addr: Address,
    },
    /// `p[]`: vertex of the input primitive (geometry programs).
    Prim {
        /// Where.
        addr: Address,
    },
    /// `v[]`: interpolated attribute (fragment programs).
    Varying {
        /// Where.
        addr: Address,
    },
    /// Immediate.
    Imm(u32),
    /// `$a`, 0 being the constant zero.
    Areg(u8),
    /// `$c`.
    Creg(u8),
    /// Special register.
    Sreg(u8),
    /// Byte address of code.
    Target(u32),
    /// `$t`: texture.
    Tex(u8),
    /// `$s`: sampler.
    Sampler(u8),
    /// Texel offset.
    TexOffset(i8),
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

/// A source operand with what is done to it when it is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Src {
    /// The operand.
    pub operand: Operand,
    /// The type it is read as, where the text names one before it (`cvt`, `mul u16 .. s16 ..`).
    pub ty: Option<Type>,
    /// Negated, after `abs`.
    pub neg: bool,
    /// Absolute value.
    pub abs: bool,
    /// Complemented.
    pub not: bool,
}

/// `add` and its relatives, of integer add and multiply-add.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AddOp {
    /// a + b
    #[default]
    Add,
    /// a - b
    Sub,
    /// b - a
    Subr,
    /// a + b + carry of `$c`
    Addc,
}

/// Modifiers of a whole instruction. What does not occur in a row keeps its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mods {
    /// The operation's type: the first one in the text. Of `cvt` the destination's; of loads, stores and
    /// atomics what is accessed; of `set` what is compared. `mul $r u16 .. s16 ..` has one a source.
    pub ty: Option<Type>,
    /// Result saturated.
    pub sat: bool,
    /// `rn rm rp rz`
    pub rounding: Option<Rounding>,
    /// `rni rmi rpi rzi`: to an integer.
    pub int_rounding: Option<Rounding>,
    /// Comparison of `set`: bit 0 less, 1 equal, 2 greater, 3 unordered.
    pub compare: u8,
    /// Integer add family.
    pub add: AddOp,
    /// `$c` whose carry `addc` reads.
    pub carry: Option<u8>,
    /// Bitwise operation.
    pub logic: LogicOp,
    /// Atomic operation.
    pub atom: AtomOp,
    /// The product of a multiply-add is negated.
    pub neg_product: bool,
    /// `mul high`: bits 16-47 of the 24 x 24 bit product.
    pub high: bool,
    /// `mov sfu`: done by the other unit, nothing else differs.
    pub sfu: bool,
    /// `(l013)`: lanes of the quad that write; 0xf everywhere else.
    pub lanes: u8,
    /// `quadop` by lane of the quad.
    pub quad: [QuadOp; 4],
    /// Source lane of `quadop`.
    pub quad_lane: QuadLane,
    /// `vote all` in place of `vote any`.
    pub vote_all: bool,
    /// `call lim`, `preret lim`, `bra lim c[]`.
    pub lim: bool,
    /// `bar inc`
    pub inc: bool,
    /// `bar wait`
    pub wait: bool,
    /// `bar .. all`: the whole block, no warp count.
    pub all: bool,
    /// `st unlock`
    pub unlock: bool,
    /// `interp cent`
    pub centroid: bool,
    /// `interp flat`
    pub flat: bool,
    /// Texture: only for live lanes.
    pub live: bool,
    /// Texture: explicit derivatives.
    pub deriv: bool,
    /// Texture: cube map.
    pub cube: bool,
}

impl Default for Mods {
    fn default() -> Self {
        Mods {
            ty: None,
            sat: false,
            rounding: None,
            int_rounding: None,
            compare: 0,
            add: AddOp::Add,
            carry: None,
            logic: LogicOp::And,
            atom: AtomOp::Add,
            neg_product: false,
            high: false,
            sfu: false,
            lanes: 0xf,
            quad: [QuadOp::Add; 4],
            quad_lane: QuadLane::Lane(0),
            vote_all: false,
            lim: false,
            inc: false,
            wait: false,
            all: false,
            unlock: false,
            centroid: false,
            flat: false,
            live: false,
            deriv: false,
            cube: false,
        }
    }
}
