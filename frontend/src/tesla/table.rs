//! The instruction table: rows and slots in the form that decoder, printer and assembler walk.

use std::sync::LazyLock;

use super::field::{self, Field};
use super::operand::Operand;
use super::{Chip, Features, Form, Op, ProgramType, Target, rows, slots};
use crate::envydis::Type;

/// What a row or alternative asks of the chip and the program type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Need {
    features: Features,
    programs: u8,
}

impl Need {
    pub(super) fn met(self, target: Target) -> bool {
        target.chip.features().contains(self.features) && self.programs & target.program.bit() != 0
    }
}

/// One element of a row's text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Atom {
    /// A word of the listing.
    Word(&'static str),
    /// A word that is the type of the memory operand after it, not of the operation.
    MemType(Type),
    /// `(`
    Open,
    /// `)`
    Close,
    /// An operand.
    Field(Field),
    /// Index of a slot.
    Slot(usize),
}

/// An alternative of a slot.
#[derive(Debug)]
pub(super) struct Alternative {
    pub(super) value: u64,
    pub(super) mask: u64,
    pub(super) need: Need,
    pub(super) atoms: Vec<Atom>,
}

/// One instruction form.
#[derive(Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// The word class.
    pub form: Form,
    /// The instruction in the words of the listing, operands as field names.
    pub text: &'static str,
    /// Fixed bits.
    pub value: u64,
    /// Which bits are fixed.
    pub mask: u64,
    pub(super) need: Need,
    pub(super) atoms: Vec<Atom>,
}

impl Row {
    /// True if chip and program type have the row.
    pub fn available(&self, target: Target) -> bool {
        self.need.met(target)
    }

    /// The chips that have it.
    pub fn chips(&self) -> Vec<Chip> {
        Chip::ALL.into_iter().filter(|chip| chip.features().contains(self.need.features)).collect()
    }

    /// The program types that have it.
    pub fn programs(&self) -> Vec<ProgramType> {
        ProgramType::ALL.into_iter().filter(|program| self.need.programs & program.bit() != 0).collect()
    }

    /// Length of the instruction in bytes.
    pub fn len_bytes(&self) -> u8 {
        match self.form {
            Form::Short | Form::ShortControl => 4,
            Form::Imm | Form::Long | Form::Control => 8,
        }
    }
}

/// An element of an instruction's text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece {
    Word(&'static str),
    MemType(Type),
    Open,
    Close,
    Operand(Operand),
}

pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    pub(super) slots: Vec<Vec<Alternative>>,
    /// The slot of predicates, which every plain long instruction begins with.
    pub(super) predicate: usize,
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

/// The table.
pub(super) fn table() -> &'static Table {
    &TABLE
}

/// All rows.
pub fn rows() -> &'static [Row] {
    &TABLE.rows
}

/// Splits `text [F_X] [CP|VP]` into the text and what it needs.
fn parse_need(line: &'static str) -> (&'static str, Need) {
    let mut need = Need { features: Features::NONE, programs: 0xf };
    let (text, brackets) = match line.find('[') {
        Some(at) => (line[..at].trim_end(), &line[at..]),
        None => (line, ""),
    };
    for group in brackets.split(['[', ']', ' ']).filter(|group| !group.is_empty()) {
        let feature = match group {
            "F_SM11" => Some(Features::SM11),
            "F_SM12" => Some(Features::SM12),
            "F_FP64" => Some(Features::FP64),
            "F_D3D10_1" => Some(Features::D3D10_1),
            _ => None,
        };
        match feature {
            Some(feature) => need.features = need.features.and(feature),
            None => {
                need.programs = group
                    .split('|')
                    .map(|name| match name {
                        "VP" => ProgramType::Vertex.bit(),
                        "GP" => ProgramType::Geometry.bit(),
                        "FP" => ProgramType::Fragment.bit(),
                        "CP" => ProgramType::Compute.bit(),
                        _ => unreachable!("the table needs `{name}`"),
                    })
                    .sum();
            }
        }
    }
    (text, need)
}

fn parse_atoms(text: &'static str, memory_slot: bool) -> Vec<Atom> {
    text.split_whitespace()
        .map(|word| match word {
            "(" => Atom::Open,
            ")" => Atom::Close,
            _ if word.starts_with('<') => {
                let name = &word[1..word.len() - 1];
                let index = slots::SLOTS.iter().position(|(slot, _)| *slot == name);
                Atom::Slot(index.unwrap_or_else(|| unreachable!("the table has no slot `{name}`")))
            }
            _ if word.starts_with(|c: char| c.is_ascii_uppercase()) => Atom::Field(
                field::parse(word).unwrap_or_else(|| unreachable!("the table has no field `{word}`")),
            ),
            _ => match Type::parse(word) {
                Some(ty) if memory_slot => Atom::MemType(ty),
                _ => Atom::Word(word),
            },
        })
        .collect()
}

impl Table {
    fn new() -> Table {
        let slots = slots::SLOTS
            .iter()
            .map(|(name, alternatives)| {
                let memory_slot = matches!(*name, "ss" | "is" | "realls");
                let compile = |&(value, mask, line): &slots::Alternative| {
                    let (text, need) = parse_need(line);
                    Alternative { value, mask, need, atoms: parse_atoms(text, memory_slot) }
                };
                alternatives.iter().map(compile).collect()
            })
            .collect();
        let mut rows = Vec::new();
        let lists = [
            (Form::Short, 0, 1, rows::SHORT),
            (Form::Imm, 0x3_00000001, 0x3_00000003, rows::IMM),
            (Form::Long, 1, 3, rows::LONG),
            (Form::Control, 3, 3, rows::CONTROL),
        ];
        for (form, class_value, class_mask, lines) in lists {
            for &(value, mask, op, line) in lines {
                let (text, need) = parse_need(line);
                let form = if form == Form::Short && value & 2 != 0 { Form::ShortControl } else { form };
                rows.push(Row {
                    op,
                    form,
                    text,
                    value: value | class_value,
                    mask: mask | class_mask,
                    need,
                    atoms: parse_atoms(text, false),
                });
            }
        }
        let predicate = slots::SLOTS.iter().position(|(name, _)| *name == "p");
        let predicate = predicate.unwrap_or_else(|| unreachable!("the table has a slot of predicates"));
        Table { rows, slots, predicate }
    }

    /// The row of an instruction word.
    pub(super) fn find(&self, word: u64, target: Target) -> Option<&Row> {
        self.rows.iter().find(|row| {
            word & row.mask == row.value
                && row.need.met(target)
                && (row.form != Form::Long || word >> 32 & 3 != 3)
        })
    }

    /// Gives the pieces of an instruction's text to `out`, prefixes first. Returns the bits the text stands
    /// for, or `None` where a slot has no alternative for the word.
    pub(super) fn walk(
        &self,
        row: &Row,
        word: u64,
        target: Target,
        out: &mut dyn FnMut(Piece),
    ) -> Option<u64> {
        let mut used = row.mask;
        if row.form == Form::Long {
            used |= 0x3_00000000;
            match word >> 32 & 3 {
                1 => out(Piece::Word("exit")),
                2 => out(Piece::Word("join")),
                _ => {}
            }
            self.walk_atoms(&[Atom::Slot(self.predicate)], word, target, &mut used, out)?;
        }
        self.walk_atoms(&row.atoms, word, target, &mut used, out)?;
        Some(used)
    }

    fn walk_atoms(
        &self,
        atoms: &[Atom],
        word: u64,
        target: Target,
        used: &mut u64,
        out: &mut dyn FnMut(Piece),
    ) -> Option<()> {
        for atom in atoms {
            match *atom {
                Atom::Word(name) => out(Piece::Word(name)),
                Atom::MemType(ty) => out(Piece::MemType(ty)),
                Atom::Open => out(Piece::Open),
                Atom::Close => out(Piece::Close),
                Atom::Field(field) => {
                    *used |= field.mask();
                    if let Some(operand) = field.operand(word) {
                        out(Piece::Operand(operand));
                    }
                }
                Atom::Slot(slot) => {
                    let chosen = self.slots[slot].iter().find(|alternative| {
                        word & alternative.mask == alternative.value && alternative.need.met(target)
                    })?;
                    *used |= chosen.mask;
                    self.walk_atoms(&chosen.atoms, word, target, used, out)?;
                }
            }
        }
        Some(())
    }
}
