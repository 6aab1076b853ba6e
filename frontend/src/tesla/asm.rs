//! Tesla's assembler: the shared one ([`crate::envydis`]) with Tesla's operands.

use super::table::Tesla;
use super::{Inst, Target};
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
/// A line of a listing (`00000008: 10000c1d 0403c780  B  mov ...`) is accepted as it is. Its words become the code, and its text
/// must be what they decode to, so bits that the text does not show survive. Bits that every chip ignores are not shown at all
/// ([`Inst::canonical`]); others are shown as `[unknown: ...]`, which is accepted without words, too.
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
