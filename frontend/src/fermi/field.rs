//! Operand fields: where they stand in the word and what operand they make (docs/hardware/fermi.md section 9).

use super::operand::{MemSpace, Operand, RegWidth, ZERO_REG};
use crate::bits::Bits;

/// What a memory operand names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    Memory(MemSpace),
    /// Constant space with its number in the word.
    Const(Bits),
    /// Constant space of that number.
    FixedConst(u8),
}

impl Space {
    /// Name in listings, without the number.
    pub(super) fn name(self) -> &'static str {
        match self {
            Space::Memory(space) => space.name(),
            Space::Const(_) | Space::FixedConst(_) => "c",
        }
    }
}

impl MemSpace {
    /// Name in listings.
    pub fn name(self) -> &'static str {
        match self {
            MemSpace::Global => "g",
            MemSpace::Shared => "s",
            MemSpace::Local => "l",
            MemSpace::Attr => "a",
            MemSpace::Vertex => "p",
            MemSpace::Pixel => "pix",
        }
    }
}

/// A memory operand: `space[$base + (offset << shift)]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mem {
    pub(super) space: Space,
    pub(super) base: Option<Bits>,
    /// The base is a register pair.
    pub(super) wide: bool,
    pub(super) offset: Bits,
    pub(super) shift: u8,
    /// The offset is a two's complement number.
    pub(super) signed: bool,
}

impl Mem {
    fn offset(self, word: u64) -> i32 {
        let value = if self.signed { self.offset.get_signed(word) } else { self.offset.get(word) as i64 };
        (value << self.shift) as i32
    }
}

/// How a number in the word is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    Unsigned,
    Signed,
    /// Unsigned, but the assembler also takes negative numbers.
    Wrapping,
    /// The top bits of a larger number.
    Top(u8),
}

/// What an address field refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    pub(super) bits: Bits,
    pub(super) shift: u8,
    /// Distance from the next instruction, this many bytes on; `None`: absolute.
    pub(super) relative: Option<u8>,
    /// An address to which a register is added.
    pub(super) base: bool,
}

/// How often the count of a register vector is where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    Fixed(u8),
    /// Number in the word plus one.
    PlusOne(Bits),
    /// Four, with a mask.
    Mask(Bits),
}

/// Kinds of operand fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    Reg(Bits, RegWidth),
    /// First or second predicate destination.
    PredDst(Bits, bool),
    PredSrc(Bits),
    Guard(Bits),
    /// `$c` that gets the flags.
    CcOut,
    /// `$c` whose carry is read.
    CcIn,
    /// `$c` that is tested.
    CcTest,
    Flags,
    Sreg(Bits),
    Number(Bits, Number),
    /// Number of a byte or half of the source.
    Part(Bits),
    /// Shift count of `iscadd`.
    Shift(Bits),
    Code(Code),
    Tex(Bits),
    Sampler(Bits),
    Surface(Bits),
    Image(Bits),
    ImageReg(Bits),
    Mem(Mem),
    /// Register vector: base and count.
    Vec(Bits, Count),
    /// Bits without meaning that compilers set: no text.
    Ignore(Bits),
}

const DST: Bits = Bits::at(14, 6);
const SRC1: Bits = Bits::at(20, 6);
const SRC2: Bits = Bits::at(26, 6);
const SRC3: Bits = Bits::at(49, 6);
const DST2: Bits = Bits::at(43, 6);
const LDULD_DST2: Bits = Bits::at(32, 6);
/// The destination of `ld` beside `ldu`: here `$r63` is written as such.
pub(super) const PAIR_DST: Field = Field::Reg(LDULD_DST2, RegWidth::B32);
const NONE: Bits = Bits::at(0, 0);
/// Space of `ldc` and its like.
const FULL_SPACE: Bits = Bits::at(42, 5);
const OFFSET32: Bits = Bits::at(26, 32);
const OFFSET24: Bits = Bits::at(26, 24);
const OFFSET16: Bits = Bits::at(26, 16);
/// Offset of short loads and stores.
const SHORT_OFFSET: Bits = Bits::split(8, 2, 26, 6);

const fn mem(space: MemSpace, wide: bool, offset: Bits, shift: u8) -> Mem {
    Mem { space: Space::Memory(space), base: Some(SRC1), wide, offset, shift, signed: true }
}

const fn constant(space: Space, base: Option<Bits>, offset: Bits, shift: u8) -> Mem {
    Mem { space, base, wide: false, offset, shift, signed: false }
}

/// `c[]` of a short form, by source and space.
fn short_constant(name: &str) -> Option<Mem> {
    let (source, space) = name.strip_prefix("SCONST")?.split_once('_')?;
    let offset = match source {
        "1" => SRC1,
        "2" => SRC2,
        "3" => Bits::at(8, 6),
        _ => return None,
    };
    Some(constant(Space::FixedConst(space.parse().ok()?), None, offset, 2))
}

/// The memory operands of `ld .. ldu ..`.
fn pair(name: &str) -> Option<Mem> {
    let name = name.strip_prefix("LDULD_")?;
    let (name, shift) = match name.as_bytes() {
        [.., b'S', digit @ b'1'..=b'4'] => (&name[..name.len() - 2], digit - b'0'),
        _ => (name, 0),
    };
    let first = Bits::at(43, 10);
    let second = Bits::split(5, 5, 38, 5);
    Some(match name {
        "SHARED" => mem(MemSpace::Shared, false, first, shift),
        "GLOBAL1" => mem(MemSpace::Global, false, first, shift),
        "GLOBALD1" => mem(MemSpace::Global, true, first, shift),
        "GLOBAL2" => Mem { base: Some(SRC2), ..mem(MemSpace::Global, false, second, shift) },
        "GLOBALD2" => Mem { base: Some(SRC2), ..mem(MemSpace::Global, true, second, shift) },
        _ => return None,
    })
}

/// The memory field of that name.
fn parse_memory(name: &str) -> Option<Mem> {
    use MemSpace::{Attr, Global, Local, Pixel, Shared, Vertex};
    const GCMEM: Bits = Bits::at(28, 30);
    const GATOM: Bits = Bits::split(26, 17, 55, 3);
    Some(match name {
        "GLOBAL" => mem(Global, false, OFFSET32, 0),
        "GLOBALD" => mem(Global, true, OFFSET32, 0),
        "GLOBALDSU" => mem(Global, true, NONE, 0),
        "GATOM" => mem(Global, false, GATOM, 0),
        "GATOMD" => mem(Global, true, GATOM, 0),
        "GCMEM" => mem(Global, false, GCMEM, 2),
        "GDCMEM" => mem(Global, true, GCMEM, 2),
        "SHARED" => mem(Shared, false, OFFSET24, 0),
        "LOCAL" | "LCMEM" => mem(Local, false, OFFSET24, 0),
        "GLOBALS2" => mem(Global, false, SHORT_OFFSET, 2),
        "GLOBALS3" => mem(Global, false, SHORT_OFFSET, 3),
        "GLOBALDS2" => mem(Global, true, SHORT_OFFSET, 2),
        "GLOBALDS3" => mem(Global, true, SHORT_OFFSET, 3),
        "SHAREDS2" => mem(Shared, false, SHORT_OFFSET, 2),
        "SHAREDS3" => mem(Shared, false, SHORT_OFFSET, 3),
        "LOCALS2" => mem(Local, false, SHORT_OFFSET, 2),
        "LOCALS3" => mem(Local, false, SHORT_OFFSET, 3),
        "ATTR" => Mem { signed: false, ..mem(Attr, false, Bits::at(32, 10), 0) },
        "ATTRS1" => Mem { signed: false, base: None, ..mem(Attr, false, Bits::split(8, 2, 20, 6), 2) },
        "ATTRS2" => Mem { signed: false, base: None, ..mem(Attr, false, SHORT_OFFSET, 2) },
        "VBASRC" => mem(Vertex, false, OFFSET16, 0),
        "PIX" => mem(Pixel, false, Bits::at(26, 8), 0),
        "CONST" => constant(Space::Const(Bits::split(42, 4, 26, 1)), None, Bits::at(28, 14), 2),
        "SUCONST" => constant(Space::Const(Bits::at(40, 4)), None, Bits::at(26, 14), 2),
        "FCONST" => Mem { signed: true, ..constant(Space::Const(FULL_SPACE), Some(SRC1), OFFSET16, 0) },
        "FCONSTNR" => Mem { signed: true, ..constant(Space::Const(FULL_SPACE), None, OFFSET16, 0) },
        "FCONSTS" => {
            Mem { signed: true, ..constant(Space::Const(Bits::at(5, 3)), Some(SRC1), SHORT_OFFSET, 2) }
        }
        _ => return short_constant(name).or_else(|| pair(name)),
    })
}

/// The field of that name.
pub(super) fn parse(name: &str) -> Option<Field> {
    use Number::{Signed, Top, Unsigned, Wrapping};
    use RegWidth::{B32, B64, B128};
    let number = |pos, len| Field::Number(Bits::at(pos, len), Unsigned);
    let code = |bits, shift, relative| Code { bits, shift, relative, base: false };
    Some(match name {
        "DST" => Field::Reg(DST, B32),
        "DSTD" => Field::Reg(DST, B64),
        "DSTQ" => Field::Reg(DST, B128),
        "SRC1" => Field::Reg(SRC1, B32),
        "SRC1D" => Field::Reg(SRC1, B64),
        "SRC2" => Field::Reg(SRC2, B32),
        "SRC2D" => Field::Reg(SRC2, B64),
        "SRC3" => Field::Reg(SRC3, B32),
        "SRC3D" => Field::Reg(SRC3, B64),
        "SRC3S" => Field::Reg(Bits::at(8, 6), B32),
        "DST2" => Field::Reg(DST2, B32),
        "DST2D" => Field::Reg(DST2, B64),
        "LDULD_DST2" => PAIR_DST,
        "LDULD_DST2D" => Field::Reg(LDULD_DST2, B64),
        "LDULD_DST2Q" => Field::Reg(LDULD_DST2, B128),
        "PDST" => Field::PredDst(Bits::at(17, 3), false),
        "PDSTN" => Field::PredDst(Bits::at(14, 3), true),
        "PDST2" => Field::PredDst(Bits::at(54, 3), false),
        "PDST3" => Field::PredDst(Bits::at(53, 3), false),
        "PDST4" => Field::PredDst(Bits::at(50, 3), false),
        "PDST5" => Field::PredDst(Bits::at(55, 3), false),
        "PDSTL" => Field::PredDst(Bits::split(8, 2, 58, 1), false),
        "PSRC1" => Field::PredSrc(Bits::at(20, 3)),
        "PSRC2" => Field::PredSrc(Bits::at(26, 3)),
        "PSRC3" => Field::PredSrc(Bits::at(49, 3)),
        "PSRCN" => Field::PredSrc(Bits::at(14, 3)),
        "PRED" => Field::Guard(Bits::at(10, 3)),
        "CCOUT" => Field::CcOut,
        "CCIN" => Field::CcIn,
        "CCTEST" => Field::CcTest,
        "FLAGS" => Field::Flags,
        "SREG" => Field::Sreg(Bits::at(26, 8)),
        "SREGS" => Field::Sreg(Bits::at(20, 8)),
        "TEX" => Field::Tex(Bits::at(32, 8)),
        "SAMP" => Field::Sampler(Bits::at(40, 5)),
        "SURF" => Field::Surface(Bits::at(26, 3)),
        "IMGI" => Field::Image(Bits::at(26, 3)),
        "IMGR" => Field::ImageReg(SRC2),
        "IMM" => Field::Number(Bits::at(26, 20), Signed),
        "FIMM" => Field::Number(Bits::at(26, 20), Top(12)),
        "DIMM" => Field::Number(Bits::at(26, 20), Top(44)),
        "LIMM" => Field::Number(Bits::at(26, 32), Wrapping),
        "IMMS" => Field::Number(Bits::at(20, 12), Signed),
        "FIMMS" => Field::Number(Bits::at(20, 12), Top(20)),
        "SIMMS" => Field::Number(Bits::split(26, 6, 8, 2), Signed),
        "SUIMM" => Field::Number(Bits::at(49, 6), Signed),
        "TEXIMM" => Field::Number(Bits::at(32, 11), Signed),
        "VIMM" => number(26, 16),
        "V4IMM" => number(26, 8),
        "PM" => number(26, 16),
        "TCNT" => number(26, 12),
        "BAR" => number(20, 4),
        "BPT" => number(26, 20),
        "BPTS" => number(7, 20),
        "SHCNTS" => number(26, 5),
        "TEXBARIMM" => number(26, 6),
        "SHFLIMM1" => number(26, 5),
        "SHFLIMM2" => number(42, 13),
        "SCHED0" => number(4, 8),
        "SCHED1" => number(12, 8),
        "SCHED2" => number(20, 8),
        "SCHED3" => number(28, 8),
        "SCHED4" => number(36, 8),
        "SCHED5" => number(44, 8),
        "SCHED6" => number(52, 8),
        "SHCNT" => Field::Shift(Bits::at(5, 5)),
        "BNUM" => Field::Part(Bits::at(55, 2)),
        "HNUM" => Field::Part(Bits::at(56, 1)),
        "BTARG" | "CTARG" => Field::Code(code(OFFSET24, 0, Some(8))),
        "ABTARG" | "ACTARG" => Field::Code(code(OFFSET32, 0, None)),
        "NTARG" => Field::Code(Code { base: true, ..code(OFFSET24, 0, Some(8)) }),
        "ANTARG" => Field::Code(Code { base: true, ..code(OFFSET32, 0, None) }),
        "BTARGS" => Field::Code(code(Bits::at(14, 14), 2, Some(4))),
        "CTARGS" => Field::Code(code(Bits::at(6, 22), 2, Some(4))),
        "TDST" => Field::Vec(DST, Count::Mask(Bits::at(46, 4))),
        "SUSTPSRC_GF100" => Field::Vec(DST, Count::Mask(Bits::at(49, 4))),
        "SUSTPSRC_GK104" => Field::Vec(DST, Count::Mask(Bits::at(54, 4))),
        "SADDR" => Field::Vec(SRC1, Count::PlusOne(Bits::at(44, 2))),
        "ASRC" => Field::Vec(SRC2, Count::PlusOne(Bits::at(5, 2))),
        "ADST" => Field::Vec(DST, Count::PlusOne(Bits::at(5, 2))),
        "ASRCS" => Field::Vec(SRC2, Count::PlusOne(Bits::at(6, 2))),
        "ADSTS" => Field::Vec(DST, Count::PlusOne(Bits::at(6, 2))),
        "IGNPRED" => Field::Ignore(Bits::at(10, 4)),
        _ => match name.strip_prefix("TSRC").map(str::as_bytes) {
            Some(&[source @ b'1'..=b'2', count @ b'0'..=b'4']) => {
                Field::Vec(if source == b'1' { SRC1 } else { SRC2 }, Count::Fixed(count - b'0'))
            }
            _ => Field::Mem(parse_memory(name)?),
        },
    })
}

impl Field {
    /// Bits of the word the field looks at.
    pub(super) fn mask(self) -> u64 {
        match self {
            Field::Reg(bits, _)
            | Field::PredDst(bits, _)
            | Field::PredSrc(bits)
            | Field::Guard(bits)
            | Field::Sreg(bits)
            | Field::Number(bits, _)
            | Field::Part(bits)
            | Field::Shift(bits)
            | Field::Tex(bits)
            | Field::Sampler(bits)
            | Field::Surface(bits)
            | Field::Image(bits)
            | Field::ImageReg(bits)
            | Field::Ignore(bits) => bits.mask(),
            Field::CcOut | Field::CcIn | Field::CcTest | Field::Flags => 0,
            Field::Code(code) => code.bits.mask(),
            Field::Mem(mem) => {
                let space = if let Space::Const(bits) = mem.space { bits.mask() } else { 0 };
                space | mem.base.map_or(0, Bits::mask) | mem.offset.mask()
            }
            Field::Vec(base, count) => {
                base.mask()
                    | match count {
                        Count::Fixed(_) => 0,
                        Count::PlusOne(bits) | Count::Mask(bits) => bits.mask(),
                    }
            }
        }
    }

    /// The operand in `word`; `None` for ignored bits.
    pub(super) fn operand(self, word: u64, pc: u32) -> Option<Operand> {
        let small = |bits: Bits| bits.get(word) as u8;
        Some(match self {
            Field::Reg(bits, width) => Operand::Reg { num: small(bits), width },
            Field::PredDst(bits, _) | Field::PredSrc(bits) | Field::Guard(bits) => Operand::Pred(small(bits)),
            // The register itself is named by the field.
            Field::CcOut | Field::CcIn | Field::CcTest | Field::Flags => Operand::Imm(0),
            Field::Sreg(bits) => Operand::Sreg(small(bits)),
            Field::Number(bits, number) => Operand::Imm(match number {
                Number::Unsigned | Number::Wrapping => bits.get(word),
                Number::Signed => bits.get_signed(word) as u64 & 0xffff_ffff,
                Number::Top(shift) => bits.get(word) << shift,
            }),
            Field::Part(bits) | Field::Shift(bits) => Operand::Imm(bits.get(word)),
            Field::Code(code) => {
                let address = match code.relative {
                    Some(len) => {
                        let distance = (code.bits.get_signed(word) << code.shift) as u32;
                        pc.wrapping_add(u32::from(len)).wrapping_add(distance)
                    }
                    None => (code.bits.get(word) << code.shift) as u32,
                };
                if code.base { Operand::Imm(u64::from(address)) } else { Operand::Target(address) }
            }
            Field::Tex(bits) => Operand::Tex(small(bits)),
            Field::Sampler(bits) => Operand::Sampler(small(bits)),
            Field::Surface(bits) => Operand::Surface(small(bits)),
            Field::Image(bits) => Operand::Image(small(bits)),
            Field::ImageReg(bits) => match small(bits) {
                ZERO_REG => Operand::Image(0),
                num => Operand::ImageReg(num),
            },
            Field::Mem(mem) => {
                let base = mem.base.map_or(ZERO_REG, small);
                let offset = mem.offset(word);
                match mem.space {
                    Space::Memory(space) => Operand::Mem { space, base, wide: mem.wide, offset },
                    Space::Const(bits) => Operand::Const { space: small(bits), base, offset },
                    Space::FixedConst(space) => Operand::Const { space, base, offset },
                }
            }
            Field::Vec(base, count) => {
                let (count, mask) = match count {
                    Count::Fixed(count) => (count, None),
                    Count::PlusOne(bits) => (small(bits) + 1, None),
                    Count::Mask(bits) => (4, Some(small(bits))),
                };
                let mask = mask.unwrap_or((1 << count) - 1);
                // Where nothing is there the base means nothing.
                Operand::Vec { base: if mask == 0 { 0 } else { small(base) }, count, mask }
            }
            Field::Ignore(_) => return None,
        })
    }
}
