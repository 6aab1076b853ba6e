//! Fermi's assembler: the shared one ([`crate::envydis`]) with Fermi's operands.

use super::table::Fermi;
use super::{Chip, Inst};
use crate::envydis::{self, Assembly};
use crate::error::SourceErrors;

/// Assembles a text, whether source or listing.
///
/// A line holds labels (`name:`), an instruction in the words of the listing, a directive (`.u8`, `.u16`,
/// `.u32`, `.u64` with numbers; `.align n`) or nothing. Comments: `;` and `//` to the end of the line,
/// `/* */` within it. `#name` stands for the address of a label.
///
/// If an instruction has a short and a long encoding, the short one is taken; `long` in front forbids that. A long instruction must be at a
/// multiple of eight bytes. Where it would not be, the short instruction before it is encoded as long.
///
/// A line of a listing (`00000008: 84005c04 2c000000     mov ...`) is accepted as it is. Its words become the code, and its text
/// must be what they decode to, so bits that the text does not show survive. Bits that every chip ignores are not shown at all
/// ([`Inst::canonical`]); others are shown as `[unknown: ...]`, which is accepted without words, too.
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
