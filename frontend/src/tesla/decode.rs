//! Decodes instruction words to [`Inst`].

use super::operand::{AddOp, Mods, Operand, Src};
use super::table::Tesla;
use super::{End, Form, Inst, MAX_SRCS, Op, Predicate, Target};
use crate::envydis::{self, AtomOp, DecodeError, Dialect, LogicOp, Signs, Type, code, lane_mask, rounding};

/// Decodes the instruction at byte offset `pc` of `code`. That long instructions stand at multiples of eight is
/// the assembler's business; the decoder takes them anywhere.
pub fn decode(code: &[u8], pc: u32, target: Target) -> Result<Inst, DecodeError> {
    let (raw, _) = envydis::fetch::<Tesla>(code, pc)?;
    decode_word(raw, pc, target)
}

/// Decodes an instruction from its words (`word1 << 32 | word0`; word 1 of a short one is not looked at).
pub fn decode_word(raw: u64, pc: u32, target: Target) -> Result<Inst, DecodeError> {
    build(raw, pc, target).map(|builder| builder.inst)
}

fn build(raw: u64, pc: u32, target: Target) -> Result<Builder, DecodeError> {
    let len = if raw & 1 == 0 { 4 } else { 8 };
    let raw = if len == 4 { raw & 0xffff_ffff } else { raw };
    let undefined = DecodeError::Undefined { pc, len, raw };
    let row = Tesla::table().find(raw, target).ok_or(undefined)?;
    let mut builder = Builder {
        inst: Inst {
            pc,
            len,
            raw,
            target,
            row,
            op: row.op,
            form: row.form,
            end: End::None,
            pred: None,
            cdst: None,
            dst: None,
            mods: Mods::default(),
            unknown: 0,
            srcs: [Src { operand: Operand::Discard, ty: None, neg: false, abs: false, not: false }; MAX_SRCS],
            src_count: 0,
        },
        state: State::Prefix,
        condition: None,
        ty: None,
        memory_type: None,
        outer_type: None,
        signs: Signs::default(),
        quads: 0,
        unexplained: None,
    };
    let used = Tesla::table()
        .walk(row, raw, pc, target, &mut |element| builder.element(element))
        .ok_or(undefined)?;
    builder.inst.unknown = raw & !used;
    Ok(builder)
}

#[derive(PartialEq, Eq)]
enum State {
    /// Before the mnemonic.
    Prefix,
    /// In the parentheses of a predicate or lane mask.
    Condition,
    /// After the mnemonic.
    Body,
}

/// Turns an instruction's text into its meaning.
struct Builder {
    inst: Inst,
    state: State,
    /// Condition code of the predicate being read.
    condition: Option<u8>,
    /// The last type named.
    ty: Option<Type>,
    /// The type of the memory operand that follows.
    memory_type: Option<Type>,
    /// The type outside of the parentheses of a multiply-add.
    outer_type: Option<Type>,
    signs: Signs,
    /// Lanes of `quadop` seen.
    quads: usize,
    /// A word that means nothing here.
    unexplained: Option<&'static str>,
}

/// Names of predicate conditions by code; the undefined ones are empty.
pub(super) const CONDITIONS: [&str; 32] = [
    "never", "l", "e", "le", "g", "lg", "ge", "lge", "u", "lu", "eu", "leu", "gu", "lgu", "geu", "always",
    "o", "c", "a", "s", "", "", "", "", "", "", "", "", "ns", "na", "nc", "no",
];

type Element = envydis::Element<Tesla>;

impl Builder {
    fn element(&mut self, element: Element) {
        match (&self.state, element) {
            (State::Prefix, Element::Word("exit")) => self.inst.end = End::Exit,
            (State::Prefix, Element::Word("join")) => self.inst.end = End::Join,
            (State::Prefix, Element::Word(name)) => {
                self.state = State::Body;
                self.mnemonic(name);
            }
            (State::Prefix, Element::Open) => self.state = State::Condition,
            (State::Condition, Element::Word(name)) => match lane_mask(name) {
                Some(mask) => self.inst.mods.lanes = mask,
                None => {
                    self.condition = code(&CONDITIONS, name);
                    self.explain(name, self.condition.is_some());
                    // `never` reads no register.
                    self.inst.pred = self.condition.map(|cond| Predicate { cond, creg: 0 });
                }
            },
            (State::Condition, Element::Operand(_, Operand::Creg(creg))) => {
                self.inst.pred = self.condition.map(|cond| Predicate { cond, creg });
            }
            (State::Condition, Element::Close) => self.state = State::Prefix,
            (State::Body, Element::Word(name)) => self.word(name),
            (State::Body, Element::OperandWord(name)) => {
                self.memory_type = Type::parse(name);
                self.explain(name, self.memory_type.is_some());
            }
            (State::Body, Element::Open) => {
                self.inst.mods.neg_product = self.signs.neg;
                self.signs.neg = false;
                self.outer_type = self.ty;
            }
            // The addend of an integer multiply-add is a whole register whatever the factors are.
            (State::Body, Element::Close) => self.ty = self.outer_type,
            (State::Body, Element::Operand(_, operand)) => self.operand(operand),
            _ => {}
        }
    }

    /// The first word: for some operations it is a modifier.
    fn mnemonic(&mut self, name: &'static str) {
        let mods = &mut self.inst.mods;
        match self.inst.op {
            Op::IAdd | Op::IMad16 | Op::IMad24 => {
                mods.add = match name {
                    "add" => AddOp::Add,
                    "sub" => AddOp::Sub,
                    "subr" => AddOp::Subr,
                    "addc" => AddOp::Addc,
                    _ => return self.explain(name, false),
                }
            }
            Op::Logic => match LogicOp::parse(name) {
                Some(logic) => mods.logic = logic,
                None => self.explain(name, false),
            },
            // `ld add`: the operation comes next.
            Op::Atom if name != "ld" => self.atomic(name),
            _ => {}
        }
    }

    fn atomic(&mut self, name: &'static str) {
        let atom = AtomOp::parse(name);
        self.explain(name, atom.is_some());
        self.inst.mods.atom = atom.unwrap_or_default();
    }

    /// Notes a word that means nothing here. There is none in the table: a test looks.
    fn explain(&mut self, name: &'static str, known: bool) {
        if !known {
            self.unexplained = Some(name);
        }
    }

    fn word(&mut self, name: &'static str) {
        if let Some(ty) = Type::parse(name) {
            self.inst.mods.ty.get_or_insert(ty);
            self.ty = Some(ty);
            return;
        }
        let op = self.inst.op;
        let mods = &mut self.inst.mods;
        match op {
            Op::Red | Op::Atom => return self.atomic(name),
            Op::ISet | Op::FSet | Op::DSet => {
                if let Some(code) = code(&CONDITIONS, name) {
                    // Integers have no unordered bit, and call all the others "always".
                    mods.compare = code;
                    return;
                }
            }
            Op::QuadOp => {
                let known = envydis::quad_word(name, &mut mods.quad, &mut mods.quad_lane, &mut self.quads);
                return self.explain(name, known);
            }
            _ => {}
        }
        if let Some((direction, to_integer)) = rounding(name) {
            *(if to_integer { &mut mods.int_rounding } else { &mut mods.rounding }) = Some(direction);
            return;
        }
        match name {
            _ if self.signs.word(name) => {}
            "sat" => mods.sat = true,
            "high" => mods.high = true,
            "sfu" => mods.sfu = true,
            "all" if op == Op::Vote => mods.vote_all = true,
            "all" if op == Op::Bar => mods.all = true,
            "lim" => mods.lim = true,
            "inc" => mods.inc = true,
            "wait" => mods.wait = true,
            "unlock" => mods.unlock = true,
            "cent" => mods.centroid = true,
            "flat" => mods.flat = true,
            "live" => mods.live = true,
            "deriv" => mods.deriv = true,
            "cube" => mods.cube = true,
            // The operation says it, or where nothing else is said (`all` of textures).
            "mul" | "any" | "lock" | "all" => {}
            _ => self.explain(name, false),
        }
    }

    fn operand(&mut self, mut operand: Operand) {
        let op = self.inst.op;
        match operand {
            Operand::Creg(creg) => {
                if op == Op::MovFromCreg {
                    self.source(operand);
                } else if self.inst.mods.add == AddOp::Addc && self.inst.dst.is_some() {
                    self.inst.mods.carry = Some(creg);
                } else {
                    self.inst.cdst = Some(creg);
                }
                return;
            }
            Operand::Shared { ref mut ty, .. } | Operand::Const { ref mut ty, .. } => {
                // Loads and stores name what they access once; elsewhere that is b16 or b32, or stands in
                // front of the operand.
                let access = matches!(op, Op::LdConst | Op::LdShared | Op::LdLock | Op::StShared);
                let named = self.memory_type.take().or(self.ty.filter(|_| access));
                *ty = match op {
                    // Code addresses are words.
                    Op::BraIndirect => Type::B32,
                    _ => named.unwrap_or(*ty),
                };
            }
            _ => {}
        }
        let has_dst = !matches!(
            op,
            Op::StOut
                | Op::StShared
                | Op::StLocal
                | Op::StGlobal
                | Op::Red
                | Op::MovToCreg
                | Op::PmEvent
                | Op::Bar
        ) && self.inst.form != Form::Control;
        if has_dst && self.inst.dst.is_none() {
            self.inst.dst = Some(operand);
        } else {
            self.source(operand);
        }
    }

    fn source(&mut self, operand: Operand) {
        if let Some(slot) = self.inst.srcs.get_mut(self.inst.src_count as usize) {
            let Signs { neg, abs, not } = self.signs;
            *slot = Src { operand, ty: self.ty, neg, abs, not };
            self.inst.src_count += 1;
        }
        self.signs = Signs::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tesla::{Chip, STAGES};
    use crate::testing::Random;

    /// Each word that a row can have is a type, a modifier, or one that the operation says: none is dropped.
    #[test]
    fn every_word_means_something() {
        let mut random = Random(1);
        let mut decoded = 0;
        for (chip, stage) in [Chip::G80, Chip::G200, Chip::Gt215]
            .into_iter()
            .flat_map(|chip| STAGES.map(|stage| (chip, stage)))
        {
            let target = Target { chip, stage };
            for row in super::super::table::rows().iter().filter(|row| row.available(target)) {
                for word in Tesla::table().samples(row, &mut || random.next()) {
                    let Ok(builder) = build(word, 0, target) else { continue };
                    let text = builder.inst.row.text;
                    assert_eq!(builder.unexplained, None, "`{text}`: {}", builder.inst);
                    decoded += 1;
                }
            }
        }
        assert!(decoded > 10_000, "{decoded}");
    }
}
