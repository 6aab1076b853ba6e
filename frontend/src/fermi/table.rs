//! Fermi's instruction table, and what the shared decoder, disassembler and assembler ([`crate::envydis`]) ask of the instruction set.
//!
//! In: the texts of `rows` and `slots`. Out: the compiled `Table`, made once, and [`Fermi`], through which the shared code gets at it, at
//! the operand fields (`field`) and at the decoder (`decode`).

use std::fmt;
use std::sync::LazyLock;

use super::decode::decode_word;
use super::disasm::{SPECIAL, fmt_operand};
use super::field::{self, Field};
use super::operand::Operand;
use super::{Chip, Family, Form, Inst, Op, asm_field, rows, slots, slots_media};
use crate::bits::Bits;
use crate::envydis::{self, DecodeError, Dialect, Kind, Lines, Others, State, Table};

/// One instruction form.
pub type Row = envydis::Row<Fermi>;

impl Row {
    /// The family that has it, if not both do.
    pub fn family(&self) -> Option<Family> {
        self.need
    }

    /// The chips that have it.
    pub fn chips(&self) -> Vec<Chip> {
        Chip::ALL.iter().copied().filter(|chip| self.available(*chip)).collect()
    }
}

/// Fermi, as [`crate::envydis`] sees an instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Fermi;

impl Dialect for Fermi {
    type Target = Chip;
    type Need = Option<Family>;
    type Op = Op;
    type Form = Form;
    type Field = Field;
    type Operand = Operand;
    type Inst = Inst;

    const INDEX: Bits = Bits::split(60, 4, 0, 4);
    const CLASSES: &'static [&'static [Form]] = &[
        &[Form::Short],
        &[
            Form::Long(0),
            Form::Long(1),
            Form::Long(2),
            Form::Long(3),
            Form::Long(4),
            Form::Long(5),
            Form::Long(6),
            Form::Control,
        ],
    ];
    const REGISTERS: &'static [&'static str] = &["r", "p", "t", "s", "g"];
    const SUFFIXED: &'static [&'static str] = &["r"];

    fn table() -> &'static Table<Fermi> {
        &TABLE
    }

    fn parse_need(brackets: &'static str) -> Option<Family> {
        match brackets {
            "" => None,
            "[F_GF100]" => Some(Family::Gf100),
            "[F_GK104]" => Some(Family::Gk104),
            _ => unreachable!("the table needs `{brackets}`"),
        }
    }

    fn met(need: Option<Family>, target: Chip) -> bool {
        need.is_none_or(|family| family == target.family())
    }

    fn form_len(form: Form) -> u8 {
        match form {
            Form::Short => 4,
            Form::Long(_) | Form::Control => 8,
        }
    }

    fn field(name: &str) -> Option<Field> {
        field::parse(name)
    }

    fn field_mask(field: Field) -> u64 {
        field.mask()
    }

    fn operand(field: Field, word: u64, pc: u32) -> Option<Operand> {
        field.operand(word, pc)
    }

    fn fmt_operand(field: Field, operand: Operand, nested: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_operand(field, operand, nested, f)
    }

    fn place_ignored(field: Field, state: State) -> Option<State> {
        matches!(field, Field::Ignore(_)).then_some(state)
    }

    fn place(field: Field, kind: &Kind, state: State, token: usize) -> Option<State> {
        asm_field::place(field, kind, state, token)
    }

    fn describe(field: Field) -> String {
        asm_field::describe(field)
    }

    fn named(name: &str) -> Option<Kind> {
        match name {
            "c" => Some(Kind::Named("c")),
            "flags" => Some(Kind::Named("flags")),
            _ => SPECIAL.iter().find(|(_, special)| *special == name).map(|(num, _)| Kind::Special(*num)),
        }
    }

    fn decode_word(raw: u64, pc: u32, target: Chip) -> Result<Inst, DecodeError> {
        decode_word(raw, pc, target)
    }

    fn others(target: Chip) -> Vec<Others<Fermi>> {
        let chips = Chip::ALL.iter().map(|chip| (*chip, chip.name()));
        vec![Others {
            text: format!("{target} has no such instruction; these have:"),
            targets: chips.collect(),
        }]
    }
}

impl Lines for Fermi {
    const CODE_LIMIT: u64 = 1 << 31;

    fn len_bytes(first: u8) -> u8 {
        if first & 8 == 0 { 8 } else { 4 }
    }

    fn code_target(inst: &Inst) -> Option<(u32, bool)> {
        inst.target_pc().map(|pc| (pc, inst.op == Op::Call))
    }
}

static TABLE: LazyLock<Table<Fermi>> = LazyLock::new(|| {
    let mut table = Table::new(&[slots::FLAGS, slots::FIELDS, slots_media::MEDIA]);
    table.add(|_| Form::Short, (8, 8), "", rows::SHORT);
    let classes = [rows::F32, rows::F64, rows::IMM, rows::INT, rows::MISC, rows::MEMORY, rows::TEXTURE];
    for (class, lines) in classes.into_iter().enumerate() {
        let class = class as u8;
        table.add(move |_| Form::Long(class), (u64::from(class), 0xf), "<join> <p>", lines);
    }
    table.add(|_| Form::Control, (7, 0xf), "", rows::CONTROL);
    table
});

/// All rows.
pub fn rows() -> &'static [Row] {
    &TABLE.rows
}
