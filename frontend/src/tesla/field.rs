//! Operand fields: where they stand in the word and what operand they make (docs/hardware/tesla.md section 3).

use super::operand::{Address, Operand, RegWidth};
use crate::bits::Bits;
use crate::envydis::Type;

/// Which register a register field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Full,
    Half,
    Double,
    Quad,
}

/// Memory spaces, with the type where the field itself decides it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    Shared(Type),
    Const(Type),
    Out(Type),
    Local,
    Attr,
    Prim,
    Varying,
}

impl Space {
    pub(super) fn letter(self) -> &'static str {
        match self {
            Space::Shared(_) => "s",
            Space::Const(_) => "c",
            Space::Out(_) => "o",
            Space::Local => "l",
            Space::Attr => "a",
            Space::Prim => "p",
            Space::Varying => "v",
        }
    }
}

/// A memory operand: `letter[$areg+offset << shift]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mem {
    pub(super) space: Space,
    /// Number of the constant space.
    pub(super) index: Bits,
    pub(super) areg: Bits,
    pub(super) offset: Bits,
    pub(super) shift: u8,
    pub(super) post: bool,
    /// The offset is a two's complement number (short post-increment forms).
    pub(super) signed: bool,
    /// The field is wide enough to wrap around, so that the assembler takes negative offsets.
    pub(super) wraps: bool,
}

impl Mem {
    /// The byte offset.
    pub(super) fn offset(self, word: u64) -> i64 {
        if self.signed {
            self.offset.get_signed(word) << self.shift
        } else {
            (self.offset.get(word) << self.shift) as i64
        }
    }
}

/// Kinds of operand fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    Reg(Bits, Shape),
    Areg(Bits),
    Creg(Bits),
    Sreg(Bits),
    /// Unsigned number.
    Imm(Bits),
    /// Unsigned number that the assembler also takes as a negative one.
    WrapImm(Bits),
    /// Texel offset.
    SignedImm(Bits),
    /// Word address, shown in bytes.
    Target(Bits),
    Tex(Bits),
    Sampler(Bits),
    Global {
        index: Bits,
        reg: Bits,
    },
    Mem(Mem),
    /// Register vector: base, count - 1 (or four), mask.
    Vec(Bits, Option<Bits>, Option<Bits>),
    Discard,
    /// Bits without meaning that compilers set: no text.
    Ignore(Bits),
}

const SDST: Bits = Bits::at(2, 6);
const LDST: Bits = Bits::at(2, 7);
const SSRC: Bits = Bits::at(9, 6);
const LSRC: Bits = Bits::at(9, 7);
const SSRC2: Bits = Bits::at(16, 6);
const LSRC2: Bits = Bits::at(16, 7);
const LSRC3: Bits = Bits::at(46, 7);
const SAREG: Bits = Bits::at(26, 2);
const LAREG: Bits = Bits::split(26, 2, 34, 1);
const NONE: Bits = Bits::at(0, 0);
const CSPACE: Bits = Bits::at(54, 4);
const CODE: Bits = Bits::split(11, 16, 46, 6);

const fn mem(space: Space, areg: Bits, offset: Bits, shift: u8) -> Mem {
    Mem { space, index: NONE, areg, offset, shift, post: false, signed: false, wraps: false }
}

/// Shared memory inside an ALU instruction.
const fn shared(ty: Type, areg: Bits, offset: Bits) -> Mem {
    mem(Space::Shared(ty), areg, offset, ty.shift())
}

const fn constant(ty: Type, index: Bits, areg: Bits, offset: Bits) -> Mem {
    Mem { index, ..mem(Space::Const(ty), areg, offset, ty.shift()) }
}

/// The post-increment form of an ALU memory operand: the increment is signed.
const fn post(mem: Mem) -> Mem {
    Mem { post: true, signed: true, ..mem }
}

/// The operand of a load or store: all offset bits, modulo 64 KiB.
const fn full(space: Space, shift: u8) -> Mem {
    let index = if matches!(space, Space::Const(_)) { CSPACE } else { NONE };
    Mem { index, wraps: true, ..mem(space, LAREG, Bits::at(9, 16 - shift), shift) }
}

const fn full_post(space: Space, shift: u8) -> Mem {
    Mem { post: true, ..full(space, shift) }
}

impl Type {
    /// log2 of the size, for the sizes memory operands have.
    const fn shift(self) -> u8 {
        match self {
            Type::U8 | Type::S8 | Type::B8 => 0,
            Type::U16 | Type::S16 | Type::B16 | Type::F16 => 1,
            _ => 2,
        }
    }
}

/// The field of that name.
pub(super) fn parse(name: &str) -> Option<Field> {
    use Field::{Areg, Creg, Discard, Global, Ignore, Imm, Reg, Sampler, SignedImm, Sreg, Tex, Vec, WrapImm};
    use Shape::{Double, Full, Half, Quad};
    use Type::{B8, B16, B32};
    const SCONST: Bits = Bits::at(21, 1);
    const S_OFFSET: Bits = Bits::at(9, 4);
    const L_OFFSET: Bits = Bits::at(9, 5);
    const SC_OFFSET: Bits = Bits::at(16, 5);
    let memory = match name {
        "SSHARED8" => shared(B8, SAREG, S_OFFSET),
        "SSHARED16" => shared(B16, SAREG, S_OFFSET),
        "SSHARED32" => shared(B32, SAREG, S_OFFSET),
        "SSHARED8PI" => post(shared(B8, SAREG, S_OFFSET)),
        "SSHARED16PI" => post(shared(B16, SAREG, S_OFFSET)),
        "SSHARED32PI" => post(shared(B32, SAREG, S_OFFSET)),
        "LSHARED8" => shared(B8, LAREG, L_OFFSET),
        "LSHARED16" => shared(B16, LAREG, L_OFFSET),
        "LSHARED32" => shared(B32, LAREG, L_OFFSET),
        "LSHARED8PI" => post(shared(B8, LAREG, L_OFFSET)),
        "LSHARED16PI" => post(shared(B16, LAREG, L_OFFSET)),
        "LSHARED32PI" => post(shared(B32, LAREG, L_OFFSET)),
        "FSHARED8" => full(Space::Shared(B8), 0),
        "FSHARED16" => full(Space::Shared(B16), 1),
        "FSHARED32" => full(Space::Shared(B32), 2),
        "FSHARED8PI" => full_post(Space::Shared(B8), 0),
        "FSHARED16PI" => full_post(Space::Shared(B16), 1),
        "FSHARED32PI" => full_post(Space::Shared(B32), 2),
        "SCONST16" => constant(B16, SCONST, SAREG, SC_OFFSET),
        "SCONST32" => constant(B32, SCONST, SAREG, SC_OFFSET),
        "SCONST16PI" => post(constant(B16, SCONST, SAREG, SC_OFFSET)),
        "SCONST32PI" => post(constant(B32, SCONST, SAREG, SC_OFFSET)),
        "L2CONST16" => constant(B16, CSPACE, LAREG, LSRC2),
        "L2CONST32" => constant(B32, CSPACE, LAREG, LSRC2),
        "L3CONST16" => constant(B16, CSPACE, LAREG, LSRC3),
        "L3CONST32" => constant(B32, CSPACE, LAREG, LSRC3),
        "L2CONST16PI" => post(constant(B16, CSPACE, LAREG, LSRC2)),
        "L2CONST32PI" => post(constant(B32, CSPACE, LAREG, LSRC2)),
        "L3CONST16PI" => post(constant(B16, CSPACE, LAREG, LSRC3)),
        "L3CONST32PI" => post(constant(B32, CSPACE, LAREG, LSRC3)),
        "L2CONST16NA" => constant(B16, CSPACE, NONE, LSRC2),
        "L2CONST32NA" => constant(B32, CSPACE, NONE, LSRC2),
        "L3CONST16NA" => constant(B16, CSPACE, NONE, LSRC3),
        "L3CONST32NA" => constant(B32, CSPACE, NONE, LSRC3),
        "FCONST8" => full(Space::Const(B8), 0),
        "FCONST16" => full(Space::Const(B16), 1),
        "FCONST32" => full(Space::Const(B32), 2),
        "FCONST8PI" => full_post(Space::Const(B8), 0),
        "FCONST16PI" => full_post(Space::Const(B16), 1),
        "FCONST32PI" => full_post(Space::Const(B32), 2),
        "LOCAL" => full(Space::Local, 0),
        "LOCALPI" => full_post(Space::Local, 0),
        "SATTR" => mem(Space::Attr, NONE, SSRC, 2),
        "LATTR" => mem(Space::Attr, NONE, LSRC, 2),
        "FATTR" => mem(Space::Attr, LAREG, LSRC, 2),
        "SPRIM" => mem(Space::Prim, SAREG, SSRC, 2),
        "LPRIM" => mem(Space::Prim, LAREG, LSRC, 2),
        "SVAR" => mem(Space::Varying, SAREG, Bits::at(16, 8), 2),
        "LVAR" => mem(Space::Varying, LAREG, Bits::at(16, 8), 2),
        "OUT16" => mem(Space::Out(B16), NONE, LDST, 1),
        "OUT32" => mem(Space::Out(B32), NONE, LDST, 2),
        "FOUT32" => full(Space::Out(B32), 2),
        _ => {
            return Some(match name {
                "SDST" => Reg(SDST, Full),
                "LDST" => Reg(LDST, Full),
                "SHDST" => Reg(SDST, Half),
                "LHDST" => Reg(LDST, Half),
                "LDDST" => Reg(LDST, Double),
                "LQDST" => Reg(LDST, Quad),
                "SSRC" => Reg(SSRC, Full),
                "LSRC" => Reg(LSRC, Full),
                "SHSRC" => Reg(SSRC, Half),
                "LHSRC" => Reg(LSRC, Half),
                "LDSRC" => Reg(LSRC, Double),
                "SSRC2" => Reg(SSRC2, Full),
                "LSRC2" => Reg(LSRC2, Full),
                "SHSRC2" => Reg(SSRC2, Half),
                "LHSRC2" => Reg(LSRC2, Half),
                "LDSRC2" => Reg(LSRC2, Double),
                "LSRC3" => Reg(LSRC3, Full),
                "LHSRC3" => Reg(LSRC3, Half),
                "LDSRC3" => Reg(LSRC3, Double),
                "LAREG" => Areg(LAREG),
                "ADST" => Areg(Bits::at(2, 3)),
                "COND" => Creg(Bits::at(44, 2)),
                "CDST" => Creg(Bits::at(36, 2)),
                "C0" => Creg(NONE),
                "SREG" => Sreg(Bits::at(46, 4)),
                "TEX" => Tex(Bits::at(9, 8)),
                "SAMP" => Sampler(Bits::at(17, 5)),
                "IMM" => WrapImm(Bits::split(16, 6, 34, 26)),
                "OFFS" => WrapImm(LSRC_OFFS),
                "PM" => Imm(Bits::at(10, 4)),
                "BAR" => Imm(Bits::at(21, 4)),
                "BARMASK" => Imm(Bits::at(9, 12)),
                "SHCNT" => Imm(Bits::at(16, 7)),
                "HSHCNT" => Imm(Bits::at(16, 4)),
                "TOFFX" => SignedImm(Bits::at(56, 4)),
                "TOFFY" => SignedImm(Bits::at(52, 4)),
                "TOFFZ" => SignedImm(Bits::at(48, 4)),
                "BTARG" | "CTARG" => Field::Target(CODE),
                "LTDST" => Vec(LDST, None, Some(Bits::split(25, 2, 46, 2))),
                "STDST" => Vec(SDST, None, None),
                "LTSRC" => Vec(LDST, Some(Bits::at(22, 2)), None),
                "STSRC" => Vec(SDST, Some(Bits::at(22, 2)), None),
                "GLOBAL" => Global { index: Bits::at(16, 4), reg: LSRC },
                "GLOBAL2" => Global { index: Bits::at(23, 4), reg: LSRC },
                "DISCARD" => Discard,
                "IGNCE" => Ignore(Bits::at(38, 1)),
                "IGNPRED" => Ignore(Bits::at(39, 7)),
                _ => return None,
            });
        }
    };
    Some(Field::Mem(memory))
}

/// Addend of `add $a`.
const LSRC_OFFS: Bits = Bits::at(9, 16);

impl Field {
    /// Bits of the word the field looks at.
    pub(super) fn mask(self) -> u64 {
        match self {
            Field::Reg(bits, _)
            | Field::Areg(bits)
            | Field::Creg(bits)
            | Field::Sreg(bits)
            | Field::Imm(bits)
            | Field::WrapImm(bits)
            | Field::SignedImm(bits)
            | Field::Target(bits)
            | Field::Tex(bits)
            | Field::Sampler(bits)
            | Field::Ignore(bits) => bits.mask(),
            Field::Global { index, reg } => index.mask() | reg.mask(),
            Field::Mem(mem) => mem.index.mask() | mem.areg.mask() | mem.offset.mask(),
            Field::Vec(base, count, mask) => {
                base.mask() | count.map_or(0, Bits::mask) | mask.map_or(0, Bits::mask)
            }
            Field::Discard => 0,
        }
    }

    /// The operand in `word`; `None` for ignored bits.
    pub(super) fn operand(self, word: u64) -> Option<Operand> {
        Some(match self {
            Field::Reg(bits, shape) => {
                let value = bits.get(word) as u8;
                match shape {
                    Shape::Full => Operand::Reg { num: value, width: RegWidth::B32 },
                    Shape::Half => {
                        Operand::Reg { num: value >> 1, width: RegWidth::B16 { high: value & 1 != 0 } }
                    }
                    Shape::Double => Operand::Reg { num: value, width: RegWidth::B64 },
                    Shape::Quad => Operand::Reg { num: value, width: RegWidth::B128 },
                }
            }
            Field::Areg(bits) => Operand::Areg(bits.get(word) as u8),
            Field::Creg(bits) => Operand::Creg(bits.get(word) as u8),
            Field::Sreg(bits) => Operand::Sreg(bits.get(word) as u8),
            Field::Imm(bits) | Field::WrapImm(bits) => Operand::Imm(bits.get(word) as u32),
            Field::SignedImm(bits) => Operand::TexOffset(bits.get_signed(word) as i8),
            Field::Target(bits) => Operand::Target((bits.get(word) << 2) as u32),
            Field::Tex(bits) => Operand::Tex(bits.get(word) as u8),
            Field::Sampler(bits) => Operand::Sampler(bits.get(word) as u8),
            Field::Global { index, reg } => {
                Operand::Global { space: index.get(word) as u8, reg: reg.get(word) as u8 }
            }
            Field::Mem(mem) => {
                let offset = mem.offset(word);
                let addr = Address {
                    areg: mem.areg.get(word) as u8,
                    offset_bytes: if mem.post { 0 } else { offset as u32 },
                    post_increment: mem.post.then_some(offset as i32),
                };
                match mem.space {
                    Space::Shared(ty) => Operand::Shared { ty, addr },
                    Space::Const(ty) => Operand::Const { space: mem.index.get(word) as u8, ty, addr },
                    Space::Out(ty) => Operand::Out { ty, addr },
                    Space::Local => Operand::Local { addr },
                    Space::Attr => Operand::Attr { addr },
                    Space::Prim => Operand::Prim { addr },
                    Space::Varying => Operand::Varying { addr },
                }
            }
            Field::Vec(base, count, mask) => {
                let count = count.map_or(4, |bits| bits.get(word) as u8 + 1);
                Operand::Vec {
                    base: base.get(word) as u8,
                    count,
                    mask: mask.map_or((1 << count) - 1, |bits| bits.get(word) as u8),
                }
            }
            Field::Discard => Operand::Discard,
            Field::Ignore(_) => return None,
        })
    }
}
