//! Fermi's disassembler: writes decoded instructions in envydis's syntax.
//!
//! In: code, and the address at which it stands. Out: a line for each instruction ([`disasm`]), or the text of all ([`listing`]). The
//! shared printer ([`crate::envydis`]) walks the instruction's row; this file has Fermi's operands. NVIDIA's own syntax is in `sass`.

use std::fmt;

use super::field::{self, Field, Number};
use super::operand::{Operand, RegWidth, TRUE_PRED, ZERO_REG};
use super::table::Fermi;
use super::{Chip, Inst};
use crate::envydis;

impl fmt::Display for Inst {
    /// The text of a listing line, without address and words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        envydis::fmt_inst(self.row, self.raw, self.pc, self.chip, self.unknown, f)
    }
}

/// Names of special registers (docs/hardware/fermi.md section 6).
#[rustfmt::skip]
pub(super) const SPECIAL: &[(u8, &str)] = &[
    (0, "laneid"), (2, "nphysid"), (3, "physid"), (4, "pm0"), (5, "pm1"), (6, "pm2"), (7, "pm3"), (8, "pm4"),
    (9, "pm5"), (10, "pm6"), (11, "pm7"), (16, "vtxcnt"), (17, "invoc"), (18, "ydir"), (19, "thread_kill"),
    (32, "tid"), (33, "tidx"), (34, "tidy"), (35, "tidz"), (36, "launcharg"), (37, "ctaidx"), (38, "ctaidy"),
    (39, "ctaidz"), (40, "ntid"), (41, "ntidx"), (42, "ntidy"), (43, "ntidz"), (44, "gridid"), (45, "nctaidx"),
    (46, "nctaidy"), (47, "nctaidz"), (48, "swinbase"), (49, "swinsz"), (50, "smemsz"), (51, "smembanks"),
    (52, "lwinbase"), (53, "lwinsz"), (54, "lpossz"), (55, "lnegstart"), (56, "lanemask_eq"), (57, "lanemask_lt"),
    (58, "lanemask_le"), (59, "lanemask_gt"), (60, "lanemask_ge"), (64, "trapstat"), (66, "warperr"),
    (80, "clock"), (81, "clockhi"),
];

/// A number that may be negative.
fn signed(value: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value < 0 { write!(f, "-{:#x}", value.unsigned_abs()) } else { write!(f, "{value:#x}") }
}

fn address(base: u8, suffix: &str, offset: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("[")?;
    if base == ZERO_REG && suffix.is_empty() {
        // Without a register a negative offset is a 64-bit number, as in envydis.
        write!(f, "{:#x}", i64::from(offset))?;
    } else {
        write!(f, "$r{base}{suffix}")?;
        if offset != 0 {
            f.write_str(if offset < 0 { "-" } else { "+" })?;
            write!(f, "{:#x}", offset.unsigned_abs())?;
        }
    }
    f.write_str("]")
}

/// An operand as a listing shows it.
pub(super) fn fmt_operand(
    field: Field,
    operand: Operand,
    nested: bool,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match field {
        Field::CcOut | Field::CcIn | Field::CcTest => return f.write_str("$c"),
        Field::Flags => return f.write_str("$flags"),
        _ => {}
    }
    match operand {
        Operand::Reg { num: ZERO_REG, width: RegWidth::B32 } if field != field::PAIR_DST => {
            f.write_str("0x0")
        }
        Operand::Reg { num, width } => match width {
            RegWidth::B32 => write!(f, "$r{num}"),
            RegWidth::B64 => write!(f, "$r{num}d"),
            RegWidth::B128 => write!(f, "$r{num}q"),
        },
        Operand::Vec { count: 0, .. } => f.write_str("()"),
        Operand::Vec { base, count, mask } => envydis::fmt_vector(base, count, mask, f),
        Operand::Pred(TRUE_PRED) => f.write_str("0x1"),
        Operand::Pred(num) => write!(f, "$p{num}"),
        Operand::Const { space, base, offset } => {
            write!(f, "c{space}")?;
            address(base, "", offset, f)
        }
        Operand::Mem { space, base, wide, offset } => {
            f.write_str(space.name())?;
            address(base, if wide { "d" } else { "" }, offset, f)
        }
        Operand::Image(num) => write!(f, "img[{num:#x}]"),
        Operand::ImageReg(num) => {
            f.write_str("img")?;
            address(num, "", 0, f)
        }
        Operand::Surface(num) => write!(f, "$g{num}"),
        Operand::Imm(value) => match field {
            // envydis shows negative numbers as such only at the top.
            Field::Number(_, Number::Signed) if nested => write!(f, "{:#x}", i64::from(value as u32 as i32)),
            Field::Number(_, Number::Signed) => signed(i64::from(value as u32 as i32), f),
            _ => signed(value as i64, f),
        },
        Operand::Target(pc) => write!(f, "{pc:#x}"),
        Operand::Sreg(num) => match SPECIAL.iter().find(|(special, _)| *special == num) {
            Some((_, name)) => write!(f, "${name}"),
            None => write!(f, "$sr{num}"),
        },
        Operand::Tex(num) => write!(f, "$t{num}"),
        Operand::Sampler(num) => write!(f, "$s{num}"),
    }
}

/// One line of a listing: an instruction or what stands in its place.
pub type ListingLine = envydis::ListingLine<Inst>;

/// The listing of code that stands at `base`.
pub fn disasm(code: &[u8], base: u32, chip: Chip) -> Vec<ListingLine> {
    envydis::disasm::<Fermi>(code, base, chip)
}

/// The text of [`disasm`], a newline after each line.
pub fn listing(code: &[u8], base: u32, chip: Chip) -> String {
    envydis::listing::<Fermi>(code, base, chip)
}
