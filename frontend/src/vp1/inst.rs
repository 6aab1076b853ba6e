//! The decoded form of a VP1 instruction, and the decoder.

use super::chip::Chip;
use super::op::Op;
use super::table::{Row, table};

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    /// Its row of the table.
    pub row: &'static Row,
    /// Its bits.
    pub word: u32,
    /// Its word address.
    pub pc: u32,
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
}

/// The instruction of a word at word address `pc`.
pub fn decode(word: u32, pc: u32, chip: Chip) -> Inst {
    Inst { row: table().find(word, chip), word, pc }
}
