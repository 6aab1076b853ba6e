//! Text to words.

use super::dialect::Tesla;
use super::{Inst, Target};
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
/// Lines of a listing (`00000008: 10000c1d 0403c780  B  mov ...`) are taken as they are: the words count, and
/// the text must be what they decode to. So bits that no operand stands for survive: those that every chip
/// ignores are not in the text at all ([`Inst::canonical`]), others are shown as `[unknown: ...]`, which is
/// accepted without words, too.
pub fn assemble(text: &str, target: Target) -> Result<Assembly, SourceErrors> {
    envydis::assemble::<Tesla>(text, target)
}

impl Inst {
    /// What the assembler makes of the instruction's text. It differs from `raw` only in bits the text does not
    /// show: those of the `Ignore` fields (docs/hardware/tesla.md section 2: predicates of instructions that have none, `$c`
    /// enables that are not looked at), word 0 bits 23-24 where no operand can be a `c[]`, word 1 bit 21 beside
    /// `p[]`. One difference has a meaning: whether an `o[]` or `#` that `ld` and `cvt` to 8 bits write is 16 or
    /// 32 bits wide does not show, and 32 is taken.
    pub fn canonical(&self) -> u64 {
        envydis::canonical::<Tesla>(&self.to_string(), self.pc, self.len, self.target).unwrap_or(self.raw)
    }
}
