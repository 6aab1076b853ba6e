//! Tesla's instruction table, and what the shared decoder, disassembler and assembler ([`crate::envydis`]) ask of the instruction set.
//!
//! In: the texts of `rows` and `slots`. Out: the compiled `Table`, made once, and [`Tesla`], through which the shared code gets at it, at
//! the operand fields (`field`) and at the decoder (`decode`).

use std::fmt;
use std::sync::LazyLock;

use super::decode::decode_word;
use super::disasm::SPECIAL;
use super::field::{self, Field};
use super::operand::Operand;
use super::{Chip, Features, Form, Inst, Op, STAGES, Stage, Target, asm_field, rows, slots};
use crate::bits::Bits;
use crate::envydis::{self, DecodeError, Dialect, Kind, Lines, Others, State, Table, Type};

/// One instruction form.
pub type Row = envydis::Row<Tesla>;

/// What a row or alternative asks of the chip and the program type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    pub(super) features: Features,
    pub(super) stages: u8,
}

impl Need {
    pub(super) fn met(self, target: Target) -> bool {
        target.chip.features().contains(self.features) && self.stages & target.stage.bit() != 0
    }
}

impl Row {
    /// The chips that have it.
    pub fn chips(&self) -> Vec<Chip> {
        Chip::ALL.into_iter().filter(|chip| chip.features().contains(self.need.features)).collect()
    }

    /// The program types that have it.
    pub fn stages(&self) -> Vec<Stage> {
        STAGES.into_iter().filter(|stage| self.need.stages & stage.bit() != 0).collect()
    }
}

/// Tesla, as [`crate::envydis`] sees an instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Tesla;

impl Dialect for Tesla {
    type Target = Target;
    type Need = Need;
    type Op = Op;
    type Form = Form;
    type Field = Field;
    type Operand = Operand;
    type Inst = Inst;

    const INDEX: Bits = Bits::split(28, 4, 0, 2);
    const CLASSES: &'static [&'static [Form]] =
        &[&[Form::Short, Form::ShortControl], &[Form::Long, Form::Control], &[Form::Imm]];
    const REGISTERS: &'static [&'static str] = &["r", "a", "c", "t", "s", "o"];
    const SUFFIXED: &'static [&'static str] = &["r"];

    fn table() -> &'static Table<Tesla> {
        &TABLE
    }

    /// Reads `[F_X] [CP|VP]`.
    fn parse_need(brackets: &'static str) -> Need {
        let mut need = Need { features: Features::NONE, stages: 0xff };
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
                    need.stages = group
                        .split('|')
                        .map(|name| match name {
                            "VP" => Stage::Vertex.bit(),
                            "GP" => Stage::Geometry.bit(),
                            "FP" => Stage::Fragment.bit(),
                            "CP" => Stage::Compute.bit(),
                            _ => unreachable!("the table needs `{name}`"),
                        })
                        .sum();
                }
            }
        }
        need
    }

    fn met(need: Need, target: Target) -> bool {
        need.met(target)
    }

    fn form_len(form: Form) -> u8 {
        match form {
            Form::Short | Form::ShortControl => 4,
            Form::Imm | Form::Long | Form::Control => 8,
        }
    }

    fn is_operand_word(slot: &str, word: &str) -> bool {
        matches!(slot, "ss" | "is" | "realls") && Type::parse(word).is_some()
    }

    fn field(name: &str) -> Option<Field> {
        field::parse(name)
    }

    fn field_mask(field: Field) -> u64 {
        field.mask()
    }

    fn operand(field: Field, word: u64, _pc: u32) -> Option<Operand> {
        field.operand(word)
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
        matches!(field, Field::Ignore(_)).then_some(state)
    }

    fn place(field: Field, kind: &Kind, state: State, token: usize) -> Option<State> {
        asm_field::place(field, kind, state, token)
    }

    fn describe(field: Field) -> String {
        asm_field::describe(field)
    }

    fn named(name: &str) -> Option<Kind> {
        let num = SPECIAL.iter().position(|special| !special.is_empty() && *special == name)?;
        Some(Kind::Special(num as u8))
    }

    fn decode_word(raw: u64, pc: u32, target: Target) -> Result<Inst, DecodeError> {
        decode_word(raw, pc, target)
    }

    fn others(target: Target) -> Vec<Others<Tesla>> {
        let Target { chip, stage } = target;
        let chips = Chip::ALL.into_iter().map(|chip| (Target { chip, stage }, chip.name()));
        let stages = STAGES.into_iter().map(|stage| (Target { chip, stage }, stage.name()));
        vec![
            Others { text: format!("{chip} has no such instruction; these have:"), targets: chips.collect() },
            Others {
                text: format!("{} programs have no such instruction; these have:", stage.name()),
                targets: stages.collect(),
            },
        ]
    }
}

impl Lines for Tesla {
    const CODE_LIMIT: u64 = 1 << 24;

    fn len_bytes(first: u8) -> u8 {
        if first & 1 == 0 { 4 } else { 8 }
    }

    fn code_target(inst: &Inst) -> Option<(u32, bool)> {
        inst.target_pc().map(|pc| (pc, inst.op == Op::Call))
    }
}

static TABLE: LazyLock<Table<Tesla>> = LazyLock::new(|| {
    let mut table = Table::new(&[slots::SLOTS]);
    let short = |value| if value & 2 != 0 { Form::ShortControl } else { Form::Short };
    table.add(short, (0, 1), "", rows::SHORT);
    // Immediate forms are what the plain long ones leave: `end` has no alternative for them.
    table.add(|_| Form::Imm, (0x3_00000001, 0x3_00000003), "", rows::IMM);
    table.add(|_| Form::Long, (1, 3), "<end> <p>", rows::LONG);
    table.add(|_| Form::Control, (3, 3), "", rows::CONTROL);
    table
});

/// All rows.
pub fn rows() -> &'static [Row] {
    &TABLE.rows
}
