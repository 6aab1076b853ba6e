//! The compiled instruction table, which decoder, printer and assembler walk.

use std::sync::LazyLock;

use super::field::{self, Field, Operand};
use super::{Chip, Op, rows, slots};

/// One element of a row's text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Atom {
    /// A word of the listing.
    Word(&'static str),
    /// An operand.
    Field(Field),
    /// Index of a slot.
    Slot(usize),
}

/// An alternative of a slot.
#[derive(Debug)]
pub(super) struct Alternative {
    pub(super) value: u32,
    pub(super) mask: u32,
    pub(super) atoms: Vec<Atom>,
}

/// One instruction form.
#[derive(Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// The instruction in the words of the listing, operands as field names.
    pub text: &'static str,
    /// Fixed bits.
    pub value: u32,
    /// Which bits are fixed.
    pub mask: u32,
    /// Whether only G80 has it.
    pub g80_only: bool,
    pub(super) atoms: Vec<Atom>,
}

impl Row {
    /// True if the chip has the row.
    pub fn available(&self, chip: Chip) -> bool {
        !self.g80_only || chip == Chip::G80
    }
}

/// An element of an instruction's text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Piece {
    Word(&'static str),
    Operand(Operand),
}

pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    pub(super) slots: Vec<Vec<Alternative>>,
    /// The rows that a word with that top byte can be of, in order.
    by_opcode: Vec<Vec<usize>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

/// The table.
pub(super) fn table() -> &'static Table {
    &TABLE
}

/// All rows, unit by unit.
pub fn rows() -> &'static [Row] {
    &TABLE.rows
}

fn parse_atoms(text: &'static str) -> Vec<Atom> {
    text.split_whitespace()
        .map(|word| match word {
            _ if word.starts_with('<') => {
                let name = &word[1..word.len() - 1];
                let index = slots::SLOTS.iter().position(|(slot, _)| *slot == name);
                Atom::Slot(index.unwrap_or_else(|| unreachable!("the table has no slot `{name}`")))
            }
            _ if word.starts_with(|c: char| c.is_ascii_uppercase()) => Atom::Field(
                field::parse(word).unwrap_or_else(|| unreachable!("the table has no field `{word}`")),
            ),
            _ => Atom::Word(word),
        })
        .collect()
}

impl Table {
    fn new() -> Table {
        let slots = slots::SLOTS.iter().map(|(_, alternatives)| {
            let compile = |&(value, mask, text): &slots::Alternative| Alternative {
                value,
                mask,
                atoms: parse_atoms(text),
            };
            alternatives.iter().map(compile).collect()
        });
        let lines = [rows::SCALAR, rows::VECTOR, rows::ADDRESS, rows::BRANCH];
        let rows: Vec<_> = lines
            .into_iter()
            .flatten()
            .map(|&(value, mask, op, line)| {
                let (text, g80_only) = match line.strip_suffix(" [G80]") {
                    Some(text) => (text, true),
                    None => (line, false),
                };
                Row { op, text, value, mask, g80_only, atoms: parse_atoms(text) }
            })
            .collect();
        let fits = |row: &Row, opcode: u32| (opcode << 24 ^ row.value) & row.mask & 0xff00_0000 == 0;
        let by_opcode = (0..256)
            .map(|opcode| (0..rows.len()).filter(|&index| fits(&rows[index], opcode)).collect())
            .collect();
        Table { rows, slots: slots.collect(), by_opcode }
    }

    /// The row of an instruction word. Every word has one: each opcode ends in a row without further conditions.
    pub(super) fn find(&self, word: u32, chip: Chip) -> &Row {
        let candidates = self.by_opcode[(word >> 24) as usize].iter().map(|&index| &self.rows[index]);
        candidates
            .into_iter()
            .find(|row| word & row.mask == row.value && row.available(chip))
            .unwrap_or_else(|| unreachable!("the table has no row for {word:08x}"))
    }

    /// Gives the pieces of an instruction's text to `out`. Returns the bits the text stands for.
    pub(super) fn walk(&self, row: &Row, word: u32, pc: u32, out: &mut dyn FnMut(Piece)) -> u32 {
        row.mask | self.walk_atoms(&row.atoms, word, pc, out)
    }

    fn walk_atoms(&self, atoms: &[Atom], word: u32, pc: u32, out: &mut dyn FnMut(Piece)) -> u32 {
        let mut used = 0;
        for atom in atoms {
            match *atom {
                Atom::Word(name) => out(Piece::Word(name)),
                Atom::Field(field) => {
                    used |= field.mask();
                    if let Some(operand) = field.operand(word, pc) {
                        out(Piece::Operand(operand));
                    }
                }
                Atom::Slot(slot) => {
                    let fits = |alternative: &&Alternative| word & alternative.mask == alternative.value;
                    // The alternatives of a slot cover all values of its bits.
                    if let Some(chosen) = self.slots[slot].iter().find(fits) {
                        used |= chosen.mask | self.walk_atoms(&chosen.atoms, word, pc, out);
                    }
                }
            }
        }
        used
    }
}
