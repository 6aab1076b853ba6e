//! Fermi's assembler: the shared one ([`crate::envydis`]) with Fermi's operands.

use super::dialect::Fermi;
use super::{Chip, Inst};
use crate::envydis::{self, Assembly};
use crate::error::SourceErrors;

/// Assembles a text, whether source or listing.
///
/// A line holds labels (`name:`), an instruction in the words of the listing, a directive (`.u8`, `.u16`,
/// `.u32`, `.u64` with numbers; `.align n`) or nothing. Comments: `;` and `//` to the end of the line,
/// `/* */` within it. `#name` stands for the address of a label.
///
/// Of the forms an instruction has the short one is taken, `long` in front forbids it. Long instructions stand
/// at multiples of eight: where one would not, the short one before it becomes long.
///
/// Lines of a listing (`00000008: 84005c04 2c000000     mov ...`) are taken as they are: the words count, and
/// the text must be what they decode to. So bits that no operand stands for survive: those that every chip
/// ignores are not in the text at all ([`Inst::canonical`]), others are shown as `[unknown: ...]`, which is
/// accepted without words, too.
pub fn assemble(text: &str, target: Chip) -> Result<Assembly, SourceErrors> {
    envydis::assemble::<Fermi>(text, target)
}

impl Inst {
    /// What the assembler makes of the instruction's text. It differs from `raw` in bits the text does not show
    /// (guards of instructions that have none), and where several encodings have the same text: an immediate of 20
    /// bits in place of one of 32.
    pub fn canonical(&self) -> u64 {
        envydis::canonical::<Fermi>(&self.to_string(), self.pc, self.len, self.chip).unwrap_or(self.raw)
    }
}
