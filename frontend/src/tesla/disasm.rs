//! Tesla's disassembler: listings in envydis's syntax.

use std::fmt;

use super::operand::{Address, Operand, RegWidth};
use super::table::Tesla;
use super::{Inst, Target};
use crate::envydis;

impl fmt::Display for Inst {
    /// The text of a listing line, without address and words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        envydis::fmt_inst(self.row, self.raw, self.pc, self.target, self.unknown, f)
    }
}

/// Names of special registers; number 2 has none.
pub(super) const SPECIAL: [&str; 9] =
    ["physid", "clock", "", "vstride", "pm0", "pm1", "pm2", "pm3", "sampleid"];

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Operand::Reg { num, width } => match width {
                RegWidth::B16 { high: false } => write!(f, "$r{num}l"),
                RegWidth::B16 { high: true } => write!(f, "$r{num}h"),
                RegWidth::B32 => write!(f, "$r{num}"),
                RegWidth::B64 => write!(f, "$r{num}d"),
                RegWidth::B128 => write!(f, "$r{num}q"),
            },
            Operand::Vec { base, count, mask } => envydis::fmt_vector(base, count, mask, f),
            Operand::Discard => f.write_str("#"),
            Operand::Out { addr, .. } => write!(f, "o[{addr}]"),
            Operand::Shared { addr, .. } => write!(f, "s[{addr}]"),
            Operand::Const { space, addr, .. } => write!(f, "c{space}[{addr}]"),
            Operand::Local { addr } => write!(f, "l[{addr}]"),
            Operand::Global { space, reg } => write!(f, "g{space}[$r{reg}]"),
            Operand::Attr { addr } => write!(f, "a[{addr}]"),
            Operand::Prim { addr } => write!(f, "p[{addr}]"),
            Operand::Varying { addr } => write!(f, "v[{addr}]"),
            Operand::Imm(value) | Operand::Target(value) => write!(f, "{value:#x}"),
            Operand::Areg(0) => f.write_str("0x0"),
            Operand::Areg(num) => write!(f, "$a{num}"),
            Operand::Creg(num) => write!(f, "$c{num}"),
            Operand::Sreg(num) => match SPECIAL.get(usize::from(num)) {
                Some(name) if !name.is_empty() => write!(f, "${name}"),
                _ => write!(f, "$sr{num}"),
            },
            Operand::Tex(num) => write!(f, "$t{num}"),
            Operand::Sampler(num) => write!(f, "$s{num}"),
            Operand::TexOffset(value) if value < 0 => write!(f, "-{:#x}", value.unsigned_abs()),
            Operand::TexOffset(value) => write!(f, "{value:#x}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.areg, self.post_increment) {
            (0, None) => write!(f, "{:#x}", self.offset_bytes),
            (areg, None) if self.offset_bytes == 0 => write!(f, "$a{areg}"),
            (areg, None) => write!(f, "$a{areg}+{:#x}", self.offset_bytes),
            (areg, Some(increment)) => {
                match areg {
                    0 => f.write_str("0x0")?,
                    _ => write!(f, "$a{areg}")?,
                }
                let sign = if increment < 0 { "-" } else { "" };
                write!(f, "++{sign}{:#x}", increment.unsigned_abs())
            }
        }
    }
}

/// One line of a listing: an instruction or what stands in its place.
pub type ListingLine = envydis::ListingLine<Inst>;

/// The listing of code that stands at `base`.
pub fn disasm(code: &[u8], base: u32, target: Target) -> Vec<ListingLine> {
    envydis::disasm::<Tesla>(code, base, target)
}

/// The text of [`disasm`], a newline after each line.
pub fn listing(code: &[u8], base: u32, target: Target) -> String {
    envydis::listing::<Tesla>(code, base, target)
}
