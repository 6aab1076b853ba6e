//! Decodes instruction words to [`Inst`]: walks the row's text, as the listing does, and takes each word and operand for what it means.

mod word;

use super::field::{Field, Number};
use super::operand::{Mods, Operand, PredSrc, RegWidth, Select, Src, TRUE_PRED};
use super::table::Fermi;
use super::words::CONDITIONS;
use super::{Chip, Form, Inst, MAX_SRCS, Op};
use crate::envydis::{self, DecodeError, Dialect, Signs, Type, code, lane_mask};

type Element = envydis::Element<Fermi>;

/// Decodes the instruction at byte offset `pc` of `code`. That long instructions stand at multiples of eight is
/// the assembler's business; the decoder takes them anywhere.
pub fn decode(code: &[u8], pc: u32, chip: Chip) -> Result<Inst, DecodeError> {
    let (raw, _) = envydis::fetch::<Fermi>(code, pc)?;
    decode_word(raw, pc, chip)
}

/// Decodes an instruction from its words (`word1 << 32 | word0`; word 1 of a short one is not looked at).
pub fn decode_word(raw: u64, pc: u32, chip: Chip) -> Result<Inst, DecodeError> {
    build(raw, pc, chip).map(|builder| builder.inst)
}

fn build(raw: u64, pc: u32, chip: Chip) -> Result<Builder, DecodeError> {
    let len = if raw & 8 == 0 { 8 } else { 4 };
    let raw = if len == 4 { raw & 0xffff_ffff } else { raw };
    let undefined = DecodeError::Undefined { pc, len, raw };
    let row = Fermi::table().find(raw, chip).ok_or(undefined)?;
    let empty =
        Src { operand: Operand::Imm(0), ty: None, select: Select::All, neg: false, abs: false, not: false };
    let mut builder = Builder {
        inst: Inst {
            pc,
            len,
            raw,
            chip,
            row,
            op: row.op,
            guard: None,
            cond: None,
            join: false,
            dst: None,
            dst2: None,
            pdst: None,
            pdst2: None,
            cc_out: false,
            video_lanes: 1,
            mods: Mods::default(),
            unknown: 0,
            srcs: [empty; MAX_SRCS],
            src_count: 0,
        },
        prefix: true,
        operands: 0,
        condition: None,
        ty: None,
        outer_type: None,
        select: None,
        signs: Signs::default(),
        quads: 0,
        listed: 0,
        unexplained: None,
    };
    let used =
        Fermi::table().walk(row, raw, pc, chip, &mut |element| builder.element(element)).ok_or(undefined)?;
    builder.finish();
    builder.inst.unknown = raw & !used;
    Ok(builder)
}

/// Turns an instruction's text into its meaning.
struct Builder {
    inst: Inst,
    /// Before the mnemonic.
    prefix: bool,
    /// Operands seen after the mnemonic.
    operands: usize,
    /// `$c` condition being read.
    condition: Option<u8>,
    /// The last type named.
    ty: Option<Type>,
    /// The type outside of parentheses.
    outer_type: Option<Type>,
    select: Option<Select>,
    signs: Signs,
    /// Lanes of `quadop` seen.
    quads: usize,
    /// Modifiers listed.
    listed: usize,
    /// A word that means nothing here.
    unexplained: Option<&'static str>,
}

impl Builder {
    fn element(&mut self, element: Element) {
        match element {
            Element::Word(name) | Element::OperandWord(name) if self.prefix => self.prefix_word(name),
            Element::Word(name) | Element::OperandWord(name) => self.word(name),
            Element::Operand(Field::Guard(_), Operand::Pred(num)) => {
                self.inst.guard = Some(PredSrc { num, not: self.signs.not });
                self.signs.not = false;
            }
            Element::Operand(Field::CcTest, _) => {
                let condition = self.condition.take();
                if self.prefix || self.inst.op == Op::TexBar {
                    self.inst.cond = condition;
                }
            }
            Element::Operand(field, operand) => self.field(field, operand),
            Element::Open => self.outer_type = self.ty,
            // The addend of a multiply-add has no type of the factors.
            Element::Close if !self.prefix => self.ty = self.outer_type,
            Element::Close => {}
        }
    }

    fn prefix_word(&mut self, name: &'static str) {
        match name {
            "join" => self.inst.join = true,
            "not" => self.signs.not = true,
            _ => {
                if let Some(mask) = lane_mask(name) {
                    self.inst.mods.lanes = mask;
                } else if let Some(code) = code(&CONDITIONS, name) {
                    self.never();
                    self.condition = Some(code);
                } else {
                    self.never();
                    self.prefix = false;
                    self.mnemonic(name);
                }
            }
        }
    }

    /// A condition that no `$c` follows is the guard `never`.
    fn never(&mut self) {
        if self.condition.take().is_some() {
            self.inst.guard = Some(PredSrc { num: TRUE_PRED, not: true });
        }
    }

    fn field(&mut self, field: Field, mut operand: Operand) {
        // `minmax $p1 f32`: the type comes behind.
        self.operands += usize::from(!matches!(field, Field::PredSrc(_)));
        let op = self.inst.op;
        match (field, &mut operand) {
            (Field::CcOut, _) => self.inst.cc_out = true,
            (Field::CcIn, _) => self.inst.mods.carry_in = true,
            (Field::PredDst(_, second), Operand::Pred(num)) => {
                let num = (*num != TRUE_PRED).then_some(*num);
                if second {
                    self.inst.pdst2 = num;
                } else {
                    self.inst.pdst = num;
                }
            }
            (Field::PredSrc(_), Operand::Pred(num)) => {
                if matches!(op, Op::PSet | Op::PSetP) && self.inst.src_count < 2 {
                    self.source(operand);
                } else {
                    self.inst.mods.pred = PredSrc { num: *num, not: self.signs.not };
                    self.signs.not = false;
                }
            }
            (Field::Part(bits), Operand::Imm(value)) => {
                let part = *value as u8;
                let select = if bits.len() == 1 { Select::Half(part) } else { Select::Byte(part) };
                // Of `f16 $r 0x1` it stands behind the source.
                match self.inst.src_count.checked_sub(1) {
                    Some(last) => self.inst.srcs[usize::from(last)].select = select,
                    None => self.select = Some(select),
                }
            }
            (Field::Shift(_), Operand::Imm(value)) => self.inst.mods.shift = *value as u8,
            (Field::Flags, _) => {}
            (Field::Reg(..) | Field::Vec(..), _) if self.takes_dst() => {
                if self.inst.dst.is_none() {
                    self.inst.dst = Some(operand);
                } else {
                    self.inst.dst2 = Some(operand);
                }
            }
            (Field::Number(_, Number::Signed), Operand::Imm(value)) => {
                if matches!(self.ty, Some(Type::U64 | Type::S64)) {
                    *value = i64::from(*value as u32 as i32) as u64;
                }
                self.source(operand);
            }
            _ => self.source(operand),
        }
    }

    /// True if the next register is a destination.
    fn takes_dst(&self) -> bool {
        let op = self.inst.op;
        let no_dst = op.has_no_dst() || op == Op::Bar && self.inst.row.form == Form::Short;
        match (no_dst, self.inst.dst) {
            (true, _) => false,
            (_, None) => true,
            // `ld .. ldu ..`: the second register follows the first address.
            (_, Some(_)) => op == Op::LdLdu && self.inst.dst2.is_none(),
        }
    }

    fn source(&mut self, operand: Operand) {
        let op = self.inst.op;
        let index = usize::from(self.inst.src_count);
        let mut select = self.select.take();
        let mut ty = self.ty;
        if op.is_video() {
            match index {
                // What the result is merged with has its type.
                2 => ty = self.inst.mods.ty,
                0 | 1 => {
                    select = select.or(match (self.inst.video_lanes, index) {
                        (4, 0) => Some(Select::Bytes([0, 1, 2, 3])),
                        (4, _) => Some(Select::Bytes([4, 5, 6, 7])),
                        (2, 0) => Some(Select::Halves([0, 1])),
                        (2, _) => Some(Select::Halves([2, 3])),
                        _ => None,
                    });
                }
                _ => {}
            }
        }
        if let Some(slot) = self.inst.srcs.get_mut(index) {
            let select = select.unwrap_or_default();
            let Signs { neg, abs, not } = self.signs;
            *slot = Src { operand, ty, select, neg, abs, not };
            self.inst.src_count += 1;
        }
        self.signs = Signs::default();
    }

    /// What only the end of the text decides.
    fn finish(&mut self) {
        let inst = &mut self.inst;
        if matches!(inst.op, Op::LdLock | Op::StUnlock) && inst.mods.ty.is_none() {
            // GK104's name what they access only if the registers do not.
            let value = inst.dst.or(inst.src(1).map(|src| src.operand)).and_then(Operand::as_reg);
            let ty = match value {
                Some((_, RegWidth::B64)) => Type::B64,
                Some((_, RegWidth::B128)) => Type::B128,
                _ => Type::B32,
            };
            inst.mods.ty = Some(ty);
            for src in &mut inst.srcs {
                src.ty = Some(ty);
            }
        }
        if matches!(inst.op, Op::PSet | Op::PSetP) && inst.src_count == 1 {
            // The long form leaves out `and $p0`, the short one `and $p7`.
            let num = if inst.row.form == Form::Short { TRUE_PRED } else { 0 };
            let second = Src { operand: Operand::Pred(num), not: false, ..inst.srcs[0] };
            inst.srcs[1] = second;
            inst.src_count = 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    /// Each word that a row can have is a type, a modifier, or one that the operation says: none is dropped.
    #[test]
    fn every_word_means_something() {
        let mut random = Random(1);
        let mut decoded = 0;
        for chip in [Chip::Gf100, Chip::Gk104] {
            for row in super::super::table::rows().iter().filter(|row| row.available(chip)) {
                for word in Fermi::table().samples(row, &mut || random.next()) {
                    let Ok(builder) = build(word, 0, chip) else { continue };
                    let text = builder.inst.row.text;
                    assert_eq!(builder.unexplained, None, "`{text}`: {}", builder.inst);
                    decoded += 1;
                }
            }
        }
        assert!(decoded > 10_000, "{decoded}");
    }
}
