//! What an instruction set supplies so that the shared machinery works for it: [`Dialect`] for the table, for the text of an
//! instruction and for assembling it; [`Lines`] for whole listings and sources, where their form is Tesla's and Fermi's.

use std::fmt;

use super::matcher::State;
use super::table::{Row, Table};
use super::token::{Kind, Token};
use crate::bits::Bits;

/// Why there is no instruction at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The code ends within the instruction, or the address is outside of it.
    #[error("code ends within the instruction at {pc:#x}")]
    Truncated {
        /// Byte address.
        pc: u32,
    },
    /// The address is not a multiple of four.
    #[error("code address {pc:#x} is not a multiple of four")]
    Misaligned {
        /// Byte address.
        pc: u32,
    },
    /// The chip and program type have no such encoding.
    #[error("undefined instruction {raw:#x} at {pc:#x}")]
    Undefined {
        /// Byte address.
        pc: u32,
        /// Length in bytes.
        len: u8,
        /// The words.
        raw: u64,
    },
}

impl DecodeError {
    /// The address of the fault.
    pub fn pc(self) -> u32 {
        match self {
            DecodeError::Truncated { pc }
            | DecodeError::Misaligned { pc }
            | DecodeError::Undefined { pc, .. } => pc,
        }
    }
}

/// Targets that may have what another one lacks, for error messages: what to say before their names, and each one
/// with its name.
pub struct Others<D: Dialect> {
    pub(crate) text: String,
    pub(crate) targets: Vec<(D::Target, &'static str)>,
}

/// An ISA's part of the machinery.
pub trait Dialect: Sized + 'static {
    /// What selects rows (chip, program type).
    type Target: Copy + fmt::Debug;
    /// What a row asks of the target.
    type Need: Copy + PartialEq + fmt::Debug;
    /// A row's operation.
    type Op: Copy + fmt::Debug;
    /// Word class of a row.
    type Form: Copy + PartialEq + fmt::Debug + 'static;
    /// Kinds of operand fields.
    type Field: Copy + fmt::Debug;
    /// What a field's bits mean.
    type Operand: Copy + fmt::Debug;
    /// The decoded form; its `Display` is the text of a listing line.
    type Inst: Copy + fmt::Display + fmt::Debug;

    /// Bits by whose value the table finds the rows that an instruction word can be of.
    const INDEX: Bits;
    /// Classes in the order in which the assembler tries them; the first encoding of each is kept. Shorter ones
    /// come first.
    const CLASSES: &'static [&'static [Self::Form]];
    /// Letters of numbered registers (`$r1`).
    const REGISTERS: &'static [&'static str];
    /// Those of them that may have a suffix (`$r1d`).
    const SUFFIXED: &'static [&'static str];

    /// The table.
    fn table() -> &'static Table<Self>;
    /// Reads what stands in the brackets behind a row's text.
    fn parse_need(brackets: &'static str) -> Self::Need;
    /// True if the target has what is asked for.
    fn met(need: Self::Need, target: Self::Target) -> bool;
    /// Length of a row's instructions in bytes.
    fn form_len(form: Self::Form) -> u8;
    /// True for words in a slot that belong to the operand behind them, not to the instruction.
    fn is_operand_word(slot: &str, word: &str) -> bool {
        let _ = (slot, word);
        false
    }

    /// The field of that name.
    fn field(name: &str) -> Option<Self::Field>;
    /// Bits of the word the field looks at.
    fn field_mask(field: Self::Field) -> u64;
    /// The operand in `word` at `pc`; `None` for ignored bits.
    fn operand(field: Self::Field, word: u64, pc: u32) -> Option<Self::Operand>;
    /// The operand as a listing shows it; `nested`: within parentheses.
    fn fmt_operand(
        field: Self::Field,
        operand: Self::Operand,
        nested: bool,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result;
    /// Assembles a field that has no text. `None`: it has text.
    fn place_ignored(field: Self::Field, state: State) -> Option<State>;
    /// Puts a token into a field; `token` is its index.
    fn place(field: Self::Field, kind: &Kind, state: State, token: usize) -> Option<State>;
    /// What a field wants, for error messages.
    fn describe(field: Self::Field) -> String;
    /// The token of a register without number, `$` left out.
    fn named(name: &str) -> Option<Kind>;
    /// What else the tokens may mean, if no encoding fits them as they are.
    fn respelled(tokens: &[Token]) -> Option<Vec<Token>> {
        let _ = tokens;
        None
    }
    /// The address from which the distances of an instruction's relative fields count.
    fn origin(pc: u32, len_bytes: u8) -> u32 {
        pc.wrapping_add(u32::from(len_bytes))
    }

    /// Decodes an instruction from its words.
    fn decode_word(raw: u64, pc: u32, target: Self::Target) -> Result<Self::Inst, DecodeError>;
    /// Where else to look for an instruction that the target lacks.
    fn others(target: Self::Target) -> Vec<Others<Self>>;
}

/// What the shared listings and sources ask besides: one instruction a line, of one or two words, at byte addresses.
pub trait Lines: Dialect {
    /// Where code ends at the latest.
    const CODE_LIMIT: u64;

    /// Length of an instruction in bytes, by its first byte.
    fn len_bytes(first: u8) -> u8;
    /// The code address an instruction names, and whether it is called.
    fn code_target(inst: &Self::Inst) -> Option<(u32, bool)>;
}

/// The words at byte offset `pc`, and their length in bytes.
pub(crate) fn fetch<D: Lines>(code: &[u8], pc: u32) -> Result<(u64, u8), DecodeError> {
    if !pc.is_multiple_of(4) {
        return Err(DecodeError::Misaligned { pc });
    }
    let word = |at: usize| -> Option<u64> {
        let bytes = code.get(at..at.checked_add(4)?)?;
        Some(u64::from(u32::from_le_bytes(bytes.try_into().ok()?)))
    };
    let truncated = DecodeError::Truncated { pc };
    let low = word(pc as usize).ok_or(truncated)?;
    if D::len_bytes(low as u8) == 4 {
        return Ok((low, 4));
    }
    let high = word(pc as usize + 4).ok_or(truncated)?;
    Ok((high << 32 | low, 8))
}

impl<D: Dialect> Row<D> {
    /// True if the target has the row.
    pub fn available(&self, target: D::Target) -> bool {
        D::met(self.need, target)
    }

    /// Length of the instruction in bytes.
    pub fn len_bytes(&self) -> u8 {
        D::form_len(self.form)
    }
}
