//! VP1's instruction table, and what the shared table, printer and assembler ([`crate::envydis`]) ask of the instruction set.
//!
//! In: the texts of `rows` and `slots`. Out: the compiled `Table`, made once, and [`Vp1`], through which the shared code gets at it and at
//! the operand fields (`field`).

use std::fmt;
use std::sync::LazyLock;

use super::field::{self, Field, Kind as FieldKind, Operand};
use super::inst::decode;
use super::{Chip, Inst, Op, Unit, asm_field, rows, slots};
use crate::bits::Bits;
use crate::envydis::{self, DecodeError, Dialect, Kind, Others, State, Table, Token};

/// One instruction form.
pub type Row = envydis::Row<Vp1>;

impl Row {
    /// The unit that executes it.
    pub fn unit(&self) -> Unit {
        self.form
    }

    /// Whether only G80 has it.
    pub fn g80_only(&self) -> bool {
        self.need.g80
    }
}

/// What a row asks of the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// That it is G80.
    pub(super) g80: bool,
}

/// Vp1, as [`crate::envydis`] sees an instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Vp1;

impl Dialect for Vp1 {
    type Target = Chip;
    type Need = Need;
    type Op = Op;
    type Form = Unit;
    type Field = Field;
    type Operand = Operand;
    type Inst = Inst;

    /// The opcode.
    const INDEX: Bits = Bits::at(24, 8);
    const CLASSES: &'static [&'static [Unit]] = &[&Unit::ALL];
    const REGISTERS: &'static [&'static str] =
        &["a", "r", "v", "c", "vc", "l", "m", "x", "d", "f", "mi", "uc"];
    const SUFFIXED: &'static [&'static str] = &["a", "r", "v"];

    fn table() -> &'static Table<Vp1> {
        &TABLE
    }

    /// Reads `[G80]`.
    fn parse_need(brackets: &'static str) -> Need {
        match brackets {
            "" => Need { g80: false },
            "[G80]" => Need { g80: true },
            _ => unreachable!("the table needs `{brackets}`"),
        }
    }

    fn met(need: Need, chip: Chip) -> bool {
        !need.g80 || chip == Chip::G80
    }

    fn form_len(_: Unit) -> u8 {
        4
    }

    fn field(name: &str) -> Option<Field> {
        field::parse(name)
    }

    fn field_mask(field: Field) -> u64 {
        field.bits.mask()
    }

    fn operand(field: Field, word: u64, pc: u32) -> Option<Operand> {
        field.operand(word, pc)
    }

    fn fmt_operand(
        _field: Field,
        operand: Operand,
        _nested: bool,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        fmt::Display::fmt(&operand, f)
    }

    fn place_ignored(field: Field, state: State) -> Option<State> {
        match field.kind {
            FieldKind::Ignored(bits) => Some(state.fill(bits.into())),
            _ => None,
        }
    }

    fn place(field: Field, kind: &Kind, state: State, token: usize) -> Option<State> {
        asm_field::place(field, kind, state, token)
    }

    fn describe(field: Field) -> String {
        asm_field::describe(field)
    }

    fn named(name: &str) -> Option<Kind> {
        asm_field::named(name)
    }

    /// A plain 0 is a number where that is possible, else it is `$r31`, which some listings write so.
    fn respelled(tokens: &[Token]) -> Option<Vec<Token>> {
        asm_field::zeros_as_registers(tokens)
    }

    /// Branches count groups of four words from their own group.
    fn origin(pc: u32, _len_bytes: u8) -> u32 {
        pc & !3
    }

    fn decode_word(raw: u64, pc: u32, chip: Chip) -> Result<Inst, DecodeError> {
        Ok(decode(raw as u32, pc, chip))
    }

    fn others(chip: Chip) -> Vec<Others<Vp1>> {
        let targets = Chip::ALL.into_iter().map(|chip| (chip, chip.name())).collect();
        vec![Others { text: format!("{chip} has no such instruction; these have:"), targets }]
    }
}

static TABLE: LazyLock<Table<Vp1>> = LazyLock::new(|| {
    let mut table = Table::new(&[slots::SLOTS]);
    for lines in [rows::SCALAR, rows::VECTOR, rows::ADDRESS, rows::BRANCH] {
        table.add(|value| Unit::of(value as u32), (0, 0), "", lines);
    }
    table
});

/// All rows, unit by unit.
pub fn rows() -> &'static [Row] {
    &TABLE.rows
}
