//! Tesla's [`Dialect`]: what the shared decoder, disassembler and assembler ask of it.

use std::fmt;

use super::decode::decode_word;
use super::disasm::SPECIAL;
use super::field::{self, Field};
use super::operand::Operand;
use super::table::{self, Need};
use super::{Chip, Form, Inst, Op, STAGES, Target, asm_field};
use crate::bits::Bits;
use crate::envydis::{DecodeError, Dialect, Kind, Lines, Others, State, Table, Type};

/// The dialect.
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
        table::table()
    }

    fn parse_need(brackets: &'static str) -> Need {
        table::parse_need(brackets)
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

    fn origin(pc: u32, len_bytes: u8) -> u32 {
        pc.wrapping_add(u32::from(len_bytes))
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
