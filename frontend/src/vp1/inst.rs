//! The decoded form of a VP1 instruction, and the decoder.

use super::chip::Chip;
use super::op::Op;
use super::table::{Row, Vp1};
use crate::envydis::Dialect;

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    /// Its row of the table.
    pub row: &'static Row,
    /// Its bits.
    pub word: u32,
    /// Its word address.
    pub pc: u32,
    /// The chip it was decoded for.
    pub chip: Chip,
}

impl Inst {
    /// The operation.
    pub fn op(&self) -> Op {
        self.row.op
    }

    /// Bits 24 to 31.
    pub fn opcode(&self) -> u32 {
        self.word >> 24
    }

    /// Bits that the text does not show.
    pub fn unknown(&self) -> u32 {
        let word = u64::from(self.word);
        // The alternatives of a slot cover all values of its bits.
        let used = Vp1::table().walk(self.row, word, self.pc, self.chip, &mut |_| {}).unwrap_or(word);
        self.word & !used as u32
    }
}

/// The instruction of a word at word address `pc`.
///
/// Every word has a row: each opcode ends in a row without further conditions.
pub fn decode(word: u32, pc: u32, chip: Chip) -> Inst {
    let row = Vp1::table().find(word.into(), chip);
    Inst { row: row.unwrap_or_else(|| unreachable!("the table has no row for {word:08x}")), word, pc, chip }
}
