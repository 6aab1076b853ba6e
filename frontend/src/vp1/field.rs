//! Operand fields: which bits of the word each one occupies, and the operand that its value means (docs/hardware/vp1.md section 3 and
//! 10).

use std::fmt;

use crate::bits::Bits;

/// What a field stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A register: its class and the suffix that says that its neighbours belong to it.
    Register(&'static str, &'static str),
    /// A number, shifted left by that many bits.
    Unsigned(u8),
    /// A two's complement number.
    Signed,
    /// A word address: groups of four words relative to the branch's own group.
    Relative,
    /// A word address: a group of four words.
    Absolute,
    /// `#`: the destination that there is none of.
    Discard,
    /// All `$vc` registers.
    AllFlags,
    /// Bits that mean nothing; the value they are given.
    Ignored(u32),
}

/// An operand field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    name: &'static str,
    pub(super) bits: Bits,
    pub(super) kind: Kind,
}

const DST: Bits = Bits::at(19, 5);
const SRC1: Bits = Bits::at(14, 5);
const SRC2: Bits = Bits::at(9, 5);
const NONE: Bits = Bits::at(0, 0);

const fn register(name: &'static str, bits: Bits, class: &'static str) -> Field {
    Field { name, bits, kind: Kind::Register(class, "") }
}

const fn wide(name: &'static str, bits: Bits, class: &'static str, suffix: &'static str) -> Field {
    Field { name, bits, kind: Kind::Register(class, suffix) }
}

const fn number(name: &'static str, bits: Bits, shift: u8) -> Field {
    Field { name, bits, kind: Kind::Unsigned(shift) }
}

const fn signed(name: &'static str, bits: Bits) -> Field {
    Field { name, bits, kind: Kind::Signed }
}

/// All fields.
const FIELDS: &[Field] = &[
    register("ADST", DST, "a"),
    wide("ADSTD", DST, "a", "d"),
    register("ASRC1", SRC1, "a"),
    wide("ASRC1D", SRC1, "a", "d"),
    register("ASRC2", SRC2, "a"),
    wide("ASRC2D", SRC2, "a", "d"),
    wide("ASRC2Q", SRC2, "a", "q"),
    register("RDST", DST, "r"),
    register("RSRC1", SRC1, "r"),
    register("RSRC2", SRC2, "r"),
    wide("RSRC2D", SRC2, "r", "d"),
    wide("RSRC2Q", SRC2, "r", "q"),
    register("VDST", DST, "v"),
    wide("VDSTQ", DST, "v", "q"),
    register("VSRC1", SRC1, "v"),
    wide("VSRC1D", SRC1, "v", "d"),
    wide("VSRC1Q", SRC1, "v", "q"),
    register("VSRC2", SRC2, "v"),
    wide("VSRC2D", SRC2, "v", "d"),
    wide("VSRC2Q", SRC2, "v", "q"),
    register("VSRC3", Bits::at(4, 5), "v"),
    register("CDST", Bits::at(19, 2), "c"),
    register("CDSTP", Bits::at(0, 2), "c"),
    register("CSRCP", Bits::at(3, 2), "c"),
    register("CSRC1", SRC1, "c"),
    register("VCDST", Bits::at(0, 2), "vc"),
    register("VCIDX", Bits::at(19, 2), "vc"),
    Field { name: "VC", bits: NONE, kind: Kind::AllFlags },
    register("LDST", Bits::at(19, 2), "l"),
    register("LDSTL", Bits::at(0, 2), "l"),
    register("LSRCL", Bits::at(3, 2), "l"),
    register("SLDST", DST, "l"),
    register("SLSRC1", SRC1, "l"),
    register("MDST", Bits::split(19, 5, 3, 1), "m"),
    register("MSRC1", Bits::split(14, 5, 3, 1), "m"),
    register("XDST", Bits::at(19, 4), "x"),
    register("XSRC1", Bits::at(14, 4), "x"),
    register("DDST", Bits::at(19, 3), "d"),
    register("DSRC1", Bits::at(14, 3), "d"),
    register("FDST", Bits::at(19, 1), "f"),
    register("FSRC1", Bits::at(14, 1), "f"),
    register("SRDST", DST, "sr"),
    register("SRSRC1", SRC1, "sr"),
    register("MIDST", DST, "mi"),
    register("MISRC1", SRC1, "mi"),
    register("UCDST", DST, "uc"),
    register("UCSRC1", SRC1, "uc"),
    signed("IMM", Bits::at(3, 11)),
    number("UIMM", Bits::at(3, 11), 0),
    signed("IMML", Bits::at(0, 19)),
    number("IMMH", Bits::at(0, 16), 16),
    number("IMM16", Bits::at(0, 16), 0),
    number("XDIMM", Bits::at(0, 13), 0),
    number("COMP", Bits::at(3, 2), 0),
    number("BITOP", Bits::at(3, 4), 0),
    number("CMPOP", Bits::at(19, 4), 0),
    number("BARU", Bits::at(3, 2), 0),
    number("BARW", Bits::at(20, 2), 0),
    number("BIMM", Bits::at(3, 8), 0),
    number("BIMMMUL", Bits::split(9, 5, 0, 1), 2),
    number("BIMMBAD", Bits::at(0, 8), 0),
    signed("SHIFT", Bits::at(5, 3)),
    signed("ALTSHIFT", Bits::at(11, 3)),
    number("VCXFRM", Bits::split(22, 2, 0, 1), 0),
    signed("FACTOR1", Bits::at(1, 9)),
    signed("FACTOR2", Bits::at(10, 9)),
    number("RFILE", Bits::at(3, 5), 0),
    number("DSTNUM", DST, 0),
    number("SRC1NUM", SRC1, 0),
    Field { name: "BTARG", bits: Bits::at(9, 15), kind: Kind::Relative },
    Field { name: "CTARG", bits: Bits::at(9, 15), kind: Kind::Relative },
    Field { name: "ABTARG", bits: Bits::at(0, 16), kind: Kind::Absolute },
    Field { name: "DISCARD", bits: NONE, kind: Kind::Discard },
    Field { name: "IGNCE", bits: Bits::at(0, 2), kind: Kind::Ignored(3) },
];

/// The field of that name.
pub(super) fn parse(name: &str) -> Option<Field> {
    FIELDS.iter().copied().find(|field| field.name == name)
}

/// Registers that have names of their own.
pub(super) const NAMED: [(&str, u32, &str); 3] =
    [("sr", 30, "tick"), ("sr", 31, "csreq"), ("uc", 16, "uccfg")];

/// An operand as a listing shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A register: class, number, suffix (`d`, `q` or nothing).
    Register(&'static str, u32, &'static str),
    /// A number.
    Number(i64),
    /// A word address.
    Target(u32),
    /// `#`
    Discard,
    /// `$vc`
    AllFlags,
}

impl Field {
    /// The operand in `word` at word address `pc`, if the field shows one.
    pub(super) fn operand(self, word: u64, pc: u32) -> Option<Operand> {
        let raw = self.bits.get(word) as u32;
        let signed = self.bits.get_signed(word);
        Some(match self.kind {
            Kind::Register(class, suffix) => Operand::Register(class, raw, suffix),
            Kind::Unsigned(shift) => Operand::Number(i64::from(raw) << shift),
            Kind::Signed => Operand::Number(signed),
            Kind::Relative => Operand::Target((pc & !3).wrapping_add((signed as u32).wrapping_mul(4))),
            Kind::Absolute => Operand::Target(raw << 2),
            Kind::Discard => Operand::Discard,
            Kind::AllFlags => Operand::AllFlags,
            Kind::Ignored(_) => return None,
        })
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Operand::Register(class, number, suffix) => {
                match NAMED.iter().find(|&&(of, known, _)| of == class && known == number) {
                    Some((_, _, name)) => write!(f, "${name}"),
                    None => write!(f, "${class}{number}{suffix}"),
                }
            }
            Operand::Number(value) if value < 0 => write!(f, "-{:#x}", value.unsigned_abs()),
            Operand::Number(value) => write!(f, "{value:#x}"),
            Operand::Target(address) => write!(f, "{address:#x}"),
            Operand::Discard => f.write_str("#"),
            Operand::AllFlags => f.write_str("$vc"),
        }
    }
}
