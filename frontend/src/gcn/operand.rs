//! Operands of decoded instructions: register or constant, width, and type; and the codes by which fields name them.

use super::Generation;

/// How an operation takes the bits of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// 16 bits without a meaning.
    B16,
    /// 16 bits, unsigned.
    U16,
    /// 16 bits, signed.
    I16,
    /// IEEE half.
    F16,
    /// Two 16-bit integers in a dword.
    Pk16,
    /// Two halves in a dword.
    PkF16,
    /// 32 bits without a meaning.
    B32,
    /// 32 bits, unsigned.
    U32,
    /// 32 bits, signed.
    I32,
    /// IEEE single.
    F32,
    /// 64 bits without a meaning.
    B64,
    /// 64 bits, unsigned.
    U64,
    /// 64 bits, signed.
    I64,
    /// IEEE double.
    F64,
    /// Several dwords: [`Arg::words`] says how many.
    Words,
}

impl Type {
    /// Width of one value in bits; 0 for [`Type::Words`].
    pub fn bits(self) -> u32 {
        match self {
            Type::B16 | Type::U16 | Type::I16 | Type::F16 => 16,
            Type::Pk16 | Type::PkF16 | Type::B32 | Type::U32 | Type::I32 | Type::F32 => 32,
            Type::B64 | Type::U64 | Type::I64 | Type::F64 => 64,
            Type::Words => 0,
        }
    }

    /// True for f16, f32, f64 and pairs of f16.
    pub fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::F32 | Type::F64 | Type::PkF16)
    }
}

/// A floating-point inline constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InlineFloat {
    /// 0.5
    Half,
    /// -0.5
    MinusHalf,
    /// 1.0
    One,
    /// -1.0
    MinusOne,
    /// 2.0
    Two,
    /// -2.0
    MinusTwo,
    /// 4.0
    Four,
    /// -4.0
    MinusFour,
    /// 1 / (2 pi), 1.2 and later.
    InvTwoPi,
}

impl InlineFloat {
    /// In the order of their source codes, which begin with 240.
    pub const ALL: [InlineFloat; 9] = [
        InlineFloat::Half,
        InlineFloat::MinusHalf,
        InlineFloat::One,
        InlineFloat::MinusOne,
        InlineFloat::Two,
        InlineFloat::MinusTwo,
        InlineFloat::Four,
        InlineFloat::MinusFour,
        InlineFloat::InvTwoPi,
    ];

    /// Bits as f16.
    pub fn bits16(self) -> u16 {
        [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118][self as usize]
    }

    /// Bits as f32.
    pub fn bits32(self) -> u32 {
        match self {
            InlineFloat::InvTwoPi => 0x3e22_f983,
            _ => (self.value() as f32).to_bits(),
        }
    }

    /// Bits as f64.
    pub fn bits64(self) -> u64 {
        match self {
            InlineFloat::InvTwoPi => 0x3fc4_5f30_6dc9_c882,
            _ => self.value().to_bits(),
        }
    }

    fn value(self) -> f64 {
        [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 0.159_154_943_091_895_32][self as usize]
    }
}

/// A place or value that an instruction reads or writes. Of pairs and longer groups this is the first dword;
/// [`Arg::words`] tells how many follow. Groups of scalar registers are in [`Operand::scalar_code`] order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A scalar register: 0 to 103 on 1.0 and 1.1, 0 to 101 on 1.2 and 1.4.
    Sgpr(u8),
    /// A vector register.
    Vgpr(u8),
    /// FLAT_SCRATCH, 1.1 and later: dword 0 or 1.
    FlatScratch(u8),
    /// XNACK_MASK, 1.2 and later: dword 0 or 1.
    XnackMask(u8),
    /// VCC: dword 0 or 1.
    Vcc(u8),
    /// Trap base address, 1.0 to 1.2: dword 0 or 1.
    Tba(u8),
    /// Trap memory address, 1.0 to 1.2: dword 0 or 1.
    Tma(u8),
    /// Trap temporary: 0 to 11, 0 to 15 on 1.4.
    Ttmp(u8),
    /// M0.
    M0,
    /// EXEC: dword 0 or 1.
    Exec(u8),
    /// An inline integer, -16 to 64.
    Int(i8),
    /// An inline float. What bits it stands for depends on the operand's type: [`Arg::constant`].
    Float(InlineFloat),
    /// Base of the LDS aperture, 1.4.
    SharedBase,
    /// Limit of the LDS aperture, 1.4.
    SharedLimit,
    /// Base of the scratch aperture, 1.4.
    PrivateBase,
    /// Limit of the scratch aperture, 1.4.
    PrivateLimit,
    /// Wave that leaves a primitive-ordered section, 1.4.
    PopsExitingWaveId,
    /// 1 if VCC is zero.
    Vccz,
    /// 1 if EXEC is zero.
    Execz,
    /// SCC.
    Scc,
    /// A dword of LDS at the address M0 gives, for all lanes.
    LdsDirect,
    /// The literal dword after the instruction. How it becomes 64 bits wide: [`Arg::constant`].
    Literal(u32),
    /// No register: the scalar address of global and scratch accesses is `off`.
    Off,
}

impl Operand {
    /// A number for every scalar register, the same on all generations: SGPRs from 0, VCC 106, TTMP from 108, M0 124,
    /// EXEC 126, TBA 128, TMA 130, FLAT_SCRATCH 132, XNACK_MASK 134. Parts of groups have consecutive numbers.
    /// `None` for what is not a scalar register.
    pub fn scalar_code(self) -> Option<u8> {
        Some(match self {
            Operand::Sgpr(n) => n,
            Operand::FlatScratch(part) => 132 + part,
            Operand::XnackMask(part) => 134 + part,
            Operand::Vcc(part) => 106 + part,
            Operand::Ttmp(n) => 108 + n,
            Operand::M0 => 124,
            Operand::Exec(part) => 126 + part,
            Operand::Tba(part) => 128 + part,
            Operand::Tma(part) => 130 + part,
            _ => return None,
        })
    }

    /// The register number, if this is a vector register.
    pub fn vgpr(self) -> Option<u8> {
        match self {
            Operand::Vgpr(n) => Some(n),
            _ => None,
        }
    }
}

/// Part of a dword that SDWA takes or writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Select {
    /// Byte 0 to 3.
    Byte(u8),
    /// Half 0 or 1.
    Word(u8),
    /// The whole.
    Dword,
}

impl Select {
    /// By its code in the SDWA dword; 7 is not defined.
    pub fn from_code(code: u32) -> Option<Select> {
        match code {
            0..=3 => Some(Select::Byte(code as u8)),
            4 | 5 => Some(Select::Word(code as u8 - 4)),
            6 => Some(Select::Dword),
            _ => None,
        }
    }

    /// Its code in the SDWA dword.
    pub fn code(self) -> u32 {
        match self {
            Select::Byte(n) => u32::from(n),
            Select::Word(n) => 4 + u32::from(n),
            Select::Dword => 6,
        }
    }

    /// Bit number of the lowest bit.
    pub fn shift(self) -> u32 {
        match self {
            Select::Byte(n) => 8 * u32::from(n),
            Select::Word(n) => 16 * u32::from(n),
            Select::Dword => 0,
        }
    }

    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            Select::Byte(_) => 8,
            Select::Word(_) => 16,
            Select::Dword => 32,
        }
    }
}

/// An operand in its role in an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Arg {
    /// What is read or written.
    pub operand: Operand,
    /// As what.
    pub ty: Type,
    /// How many dwords (1 for 16-bit types).
    pub words: u8,
    /// Take the absolute value (before `neg`); float sources only.
    pub abs: bool,
    /// Negate; float sources only.
    pub neg: bool,
    /// SDWA: extend the selected part by its sign; integer sources only.
    pub sext: bool,
    /// SDWA: the part of the dword that is the source. [`Select::Dword`] without SDWA.
    pub sel: Select,
}

impl Arg {
    /// An operand without modifiers. `words` 0 means as many as the type has.
    pub fn new(operand: Operand, ty: Type, words: u8) -> Arg {
        let words = if words == 0 { (ty.bits() / 32).max(1) as u8 } else { words };
        Arg { operand, ty, words, abs: false, neg: false, sext: false, sel: Select::Dword }
    }

    /// The bits an inline constant or literal stands for, `None` for everything else. Modifiers are not applied.
    /// (docs/hardware/gcn.md section 3.)
    ///
    /// - A float constant has the format of the operand's type, in integer operands that of f32 (f64 in 64-bit ones).
    /// - Integers extend by their sign.
    /// - A literal is the high dword of an f64, else it extends by its sign, unsigned and untyped ones by zero: LLVM 14 makes `s_mov_b64
    ///   s[4:5], 0xfffe0001` of 0xfffe0001, and its programs compare with that.
    /// - A 16-bit or packed operand gets an integer's or literal's 32 bits. Where it is a float, a float constant is f16 in the low half, zero
    ///   in the high one. As an integer it has f32's 32 bits there too, of which 16-bit operations see the low half (LLVM's
    ///   `getInlineEncodingV216`).
    pub fn constant(&self) -> Option<u64> {
        let narrow = |value: i64| if self.ty.bits() == 64 { value as u64 } else { value as u32 as u64 };
        match self.operand {
            Operand::Int(value) => Some(narrow(value.into())),
            Operand::Float(float) => Some(match self.ty {
                Type::F16 | Type::PkF16 => float.bits16().into(),
                ty if ty.bits() == 64 => float.bits64(),
                _ => float.bits32().into(),
            }),
            Operand::Literal(word) => Some(match self.ty {
                Type::F64 => u64::from(word) << 32,
                Type::U64 | Type::B64 => word.into(),
                _ => narrow(i64::from(word as i32)),
            }),
            _ => None,
        }
    }
}

/// Highest scalar register that a group can reach, whatever names the last ones have.
const LAST_SGPR: u16 = 103;

/// Operand codes: which register or constant a source field's number means (docs/hardware/gcn.md section 3).
impl Operand {
    /// A scalar register or constant by its code below 256, in a place for `words` dwords. Registers of groups are
    /// rounded down as the hardware does. `None`: no such operand.
    pub(super) fn scalar(code: u16, generation: Generation, words: u8) -> Option<Operand> {
        let part = (code & 1) as u8;
        let align = match words {
            0 | 1 => 1,
            2 => 2,
            _ => 4,
        };
        let group =
            |operand: Operand| if words > 2 || words == 2 && part != 0 { None } else { Some(operand) };
        let single = |operand: Operand| if words > 2 { None } else { Some(operand) };
        let (old, nine) = (generation.is_old(), generation == Generation::Gfx9);
        let sgprs = if old { 104 } else { 102 };
        match code {
            _ if code < sgprs => {
                let first = code / align * align;
                (first + u16::from(words.max(1)) - 1 <= LAST_SGPR).then_some(Operand::Sgpr(first as u8))
            }
            102 | 103 => group(Operand::FlatScratch(part)),
            104 | 105 if generation == Generation::Gfx7 => group(Operand::FlatScratch(part)),
            104 | 105 if !old => group(Operand::XnackMask(part)),
            106 | 107 => group(Operand::Vcc(part)),
            108..=123 if nine => ttmp(code - 108, align, words, 16),
            112..=123 => ttmp(code - 112, align, words, 12),
            108 | 109 => group(Operand::Tba(part)),
            110 | 111 => group(Operand::Tma(part)),
            124 if words <= 1 => Some(Operand::M0),
            126 | 127 => group(Operand::Exec(part)),
            128..=192 => single(Operand::Int((code - 128) as i8)),
            193..=208 => single(Operand::Int(-((code - 192) as i8))),
            235 if nine => single(Operand::SharedBase),
            236 if nine => single(Operand::SharedLimit),
            237 if nine => single(Operand::PrivateBase),
            238 if nine => single(Operand::PrivateLimit),
            239 if nine => single(Operand::PopsExitingWaveId),
            240..=247 => single(Operand::Float(InlineFloat::ALL[usize::from(code - 240)])),
            248 if !old => single(Operand::Float(InlineFloat::InvTwoPi)),
            251 => single(Operand::Vccz),
            252 => single(Operand::Execz),
            253 => single(Operand::Scc),
            254 if words <= 1 => Some(Operand::LdsDirect),
            _ => None,
        }
    }

    /// A vector register in a place for `words` dwords.
    pub(super) fn vector(number: u64, words: u8) -> Option<Operand> {
        (number + u64::from(words.max(1)) <= 256).then_some(Operand::Vgpr(number as u8))
    }

    /// The nine-bit code of an operand; vector registers from 256. `None`: the generation does not have it.
    pub(super) fn code(self, generation: Generation) -> Option<u16> {
        let (old, nine) = (generation.is_old(), generation == Generation::Gfx9);
        let only = |yes: bool, code: u16| yes.then_some(code);
        match self {
            Operand::Sgpr(n) => only(u16::from(n) < if old { 104 } else { 102 }, n.into()),
            Operand::Vgpr(n) => Some(256 + u16::from(n)),
            Operand::FlatScratch(part) => match generation {
                Generation::Gfx6 => None,
                Generation::Gfx7 => Some(104 + u16::from(part)),
                _ => Some(102 + u16::from(part)),
            },
            Operand::XnackMask(part) => only(!old, 104 + u16::from(part)),
            Operand::Vcc(part) => Some(106 + u16::from(part)),
            Operand::Tba(part) => only(!nine, 108 + u16::from(part)),
            Operand::Tma(part) => only(!nine, 110 + u16::from(part)),
            Operand::Ttmp(n) if nine => only(n < 16, 108 + u16::from(n)),
            Operand::Ttmp(n) => only(n < 12, 112 + u16::from(n)),
            Operand::M0 => Some(124),
            Operand::Exec(part) => Some(126 + u16::from(part)),
            Operand::Int(n @ 0..=64) => Some(128 + n as u16),
            Operand::Int(n @ -16..=-1) => Some(192 + u16::from(n.unsigned_abs())),
            Operand::Int(_) => None,
            Operand::Float(InlineFloat::InvTwoPi) => only(!old, 248),
            Operand::Float(float) => Some(240 + float as u16),
            Operand::SharedBase => only(nine, 235),
            Operand::SharedLimit => only(nine, 236),
            Operand::PrivateBase => only(nine, 237),
            Operand::PrivateLimit => only(nine, 238),
            Operand::PopsExitingWaveId => only(nine, 239),
            Operand::Vccz => Some(251),
            Operand::Execz => Some(252),
            Operand::Scc => Some(253),
            Operand::LdsDirect => Some(254),
            Operand::Literal(_) => Some(255),
            Operand::Off => None,
        }
    }
}

fn ttmp(number: u16, align: u16, words: u8, count: u16) -> Option<Operand> {
    let first = number / align * align;
    (first + u16::from(words.max(1)) <= count).then_some(Operand::Ttmp(first as u8))
}
