//! Matching tokens against the rows of the table.

use crate::bits::Bits;

use super::asm_token::{Kind, Token};
use super::field::{Field, Mem, Shape};
use super::table::{Alternative, Atom, Row, Table};
use super::{Form, Target};

/// Bits decided so far, and the place a label's address goes.
#[derive(Clone, Copy, Default)]
struct State {
    word: u64,
    known: u64,
    label: Option<LabelField>,
}

/// A field that waits for the address of a label.
#[derive(Clone, Copy, Debug)]
pub(super) struct LabelField {
    bits: Bits,
    /// Low bits the field leaves out.
    shift: u8,
    /// Index of the label's token.
    pub(super) token: usize,
}

impl LabelField {
    /// The bits of the word for an address, if it fits.
    pub(super) fn place(self, address: u32) -> Option<u64> {
        let value = u64::from(address);
        if value & ((1 << self.shift) - 1) != 0 {
            return None;
        }
        self.bits.place(value >> self.shift)
    }
}

/// An encoding of an instruction's text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) word: u64,
    pub(super) len: u8,
    pub(super) label: Option<LabelField>,
}

/// Where matching got stuck: the furthest token and what would have been possible there.
#[derive(Default)]
pub(super) struct Stuck {
    pub(super) token: usize,
    pub(super) expected: Vec<String>,
}

impl Stuck {
    fn note(&mut self, token: usize, expected: impl FnOnce() -> String) {
        if token < self.token {
            return;
        }
        if token > self.token {
            self.token = token;
            self.expected.clear();
        }
        let expected = expected();
        if !self.expected.contains(&expected) {
            self.expected.push(expected);
        }
    }
}

impl State {
    fn set(mut self, mask: u64, value: u64) -> Option<State> {
        if (self.word ^ value) & self.known & mask != 0 {
            return None;
        }
        self.word |= value;
        self.known |= mask;
        Some(self)
    }

    fn put(self, bits: Bits, value: u64) -> Option<State> {
        self.set(bits.mask(), bits.place(value)?)
    }
}

/// Atoms that follow once the current ones are through.
struct Rest<'a> {
    atoms: &'a [Atom],
    then: Option<&'a Rest<'a>>,
}

struct Matcher<'a> {
    table: &'a Table,
    tokens: &'a [Token],
    target: Target,
    stuck: &'a mut Stuck,
}

/// The encodings of an instruction, the shortest first: one a form. `long` leaves out short ones.
pub(super) fn encodings(
    table: &Table,
    tokens: &[Token],
    target: Target,
    long: bool,
    stuck: &mut Stuck,
) -> Vec<Match> {
    let mut found: Vec<Match> = Vec::new();
    let classes: [&[Form]; 3] =
        [&[Form::Short, Form::ShortControl], &[Form::Long, Form::Control], &[Form::Imm]];
    for forms in classes {
        if long && forms.contains(&Form::Short) {
            continue;
        }
        let rows = table.rows.iter().filter(|row| forms.contains(&row.form) && row.available(target));
        let mut matcher = Matcher { table, tokens, target, stuck };
        found.extend(rows.filter_map(|row| matcher.row(row)).next());
    }
    found
}

impl Matcher<'_> {
    fn row(&mut self, row: &Row) -> Option<Match> {
        let mut state = State { word: row.value, known: row.mask, label: None };
        let mut first = 0;
        let predicate = [Atom::Slot(self.table.predicate)];
        let rest = Rest { atoms: &row.atoms, then: None };
        let state = if row.form == Form::Long {
            let end = match self.tokens.first().map(|token| &token.kind) {
                Some(Kind::Word(word)) if word == "exit" => 1,
                Some(Kind::Word(word)) if word == "join" => 2,
                _ => 0,
            };
            first = usize::from(end != 0);
            state = state.set(0x3_00000000, end << 32)?;
            self.run(&predicate, Some(&rest), first, state)?
        } else {
            self.run(&row.atoms, None, first, state)?
        };
        Some(Match { word: state.word, len: row.len_bytes(), label: state.label })
    }

    fn run(&mut self, atoms: &[Atom], then: Option<&Rest<'_>>, at: usize, state: State) -> Option<State> {
        let Some((atom, atoms)) = atoms.split_first() else {
            return match then {
                Some(rest) => self.run(rest.atoms, rest.then, at, state),
                None if at == self.tokens.len() => Some(state),
                None => {
                    self.stuck.note(at, || "the end of the line".into());
                    None
                }
            };
        };
        let kind = self.tokens.get(at).map(|token| &token.kind);
        let fits = match atom {
            Atom::Word(name) => matches!(kind, Some(Kind::Word(word)) if word == name),
            Atom::MemType(ty) => matches!(kind, Some(Kind::Word(word)) if word == ty.name()),
            Atom::Open => kind == Some(&Kind::Open),
            Atom::Close => kind == Some(&Kind::Close),
            Atom::Field(Field::Ignore(_)) => return self.run(atoms, then, at, state),
            Atom::Field(field) => {
                let next = kind.and_then(|kind| place(*field, kind, state, at));
                let Some(next) = next else {
                    self.stuck.note(at, || describe(*field));
                    return None;
                };
                return self.run(atoms, then, at + 1, next);
            }
            Atom::Slot(slot) => {
                let table = self.table;
                let rest = Rest { atoms, then };
                return table.slots[*slot].iter().enumerate().find_map(|(index, alternative)| {
                    if !alternative.need.met(self.target) {
                        return None;
                    }
                    let next = state.set(alternative.mask, alternative.value)?;
                    let found = self.run(&alternative.atoms, Some(&rest), at, next)?;
                    // An earlier alternative would win when the word is read back.
                    let earlier = &table.slots[*slot][..index];
                    let reads = |other: &Alternative| {
                        found.word & other.mask == other.value && other.need.met(self.target)
                    };
                    (!earlier.iter().any(reads)).then_some(found)
                });
            }
        };
        if fits {
            return self.run(atoms, then, at + 1, state);
        }
        self.stuck.note(at, || match atom {
            Atom::Word(name) => format!("`{name}`"),
            Atom::MemType(ty) => format!("`{ty}`"),
            Atom::Open => "`(`".into(),
            _ => "`)`".into(),
        });
        None
    }
}

/// Puts an operand into its field.
fn place(field: Field, kind: &Kind, state: State, token: usize) -> Option<State> {
    match (field, kind) {
        (Field::Reg(bits, shape), Kind::Reg('r', num, suffix)) => {
            let num = u64::from(*num);
            let value = match (shape, suffix) {
                (Shape::Full, None) | (Shape::Double, Some('d')) | (Shape::Quad, Some('q')) => num,
                (Shape::Half, Some('l')) => num << 1,
                (Shape::Half, Some('h')) => num << 1 | 1,
                _ => return None,
            };
            state.put(bits, value)
        }
        (Field::Areg(bits), Kind::Number(0)) => state.put(bits, 0),
        (Field::Areg(bits), Kind::Reg('a', num, None)) | (Field::Creg(bits), Kind::Reg('c', num, None)) => {
            state.put(bits, u64::from(*num))
        }
        (Field::Tex(bits), Kind::Reg('t', num, None)) | (Field::Sampler(bits), Kind::Reg('s', num, None)) => {
            state.put(bits, u64::from(*num))
        }
        (Field::Sreg(bits), Kind::Special(num)) => state.put(bits, u64::from(*num)),
        (Field::Imm(bits), Kind::Number(value)) => state.put(bits, u64::try_from(*value).ok()?),
        (Field::WrapImm(bits), Kind::Number(value)) => state.put(bits, wrap(*value, bits.len())?),
        (Field::SignedImm(bits), Kind::Number(value)) => state.set(bits.mask(), bits.place_signed(*value)?),
        (Field::Target(bits), Kind::Number(value)) => {
            let value = u64::try_from(*value).ok()?;
            if value % 4 != 0 {
                return None;
            }
            state.put(bits, value >> 2)
        }
        (Field::Target(bits), Kind::Label(_)) => label(state, LabelField { bits, shift: 2, token }),
        (Field::WrapImm(bits), Kind::Label(_)) => label(state, LabelField { bits, shift: 0, token }),
        (Field::Global { index, reg }, Kind::Memory(memory)) => {
            if memory.letter != 'g' || memory.offset != 0 || memory.post.is_some() {
                return None;
            }
            let ('r', num) = memory.base? else { return None };
            state.put(index, u64::from(memory.index?))?.put(reg, u64::from(num))
        }
        (Field::Mem(mem), Kind::Memory(memory)) => place_memory(mem, memory, state),
        (Field::Vec(base, count, mask), Kind::Vec(registers)) => {
            let first = registers.iter().flatten().next().copied().unwrap_or(0);
            let in_order = registers.iter().flatten().enumerate().all(|(k, &num)| num == first + k as u32);
            let present = registers.iter().enumerate().filter(|(_, register)| register.is_some());
            let present = present.fold(0_u64, |mask, (k, _)| mask | 1 << k.min(63));
            let state = match count {
                Some(bits) => state.put(bits, (registers.len() as u64).checked_sub(1)?)?,
                None if registers.len() == 4 => state,
                None => return None,
            };
            let state = match mask {
                Some(bits) => state.put(bits, present)?,
                None if present.count_ones() as usize == registers.len() => state,
                None => return None,
            };
            match present {
                _ if !in_order => None,
                // No register is named: the sources, which begin at the same one, decide.
                0 => Some(state),
                _ => state.put(base, u64::from(first)),
            }
        }
        // A vector of one component looks like a register.
        (Field::Vec(..), Kind::Reg('r', num, None)) => {
            place(field, &Kind::Vec(vec![Some(*num)]), state, token)
        }
        (Field::Discard, Kind::Discard) => Some(state),
        _ => None,
    }
}

fn label(state: State, field: LabelField) -> Option<State> {
    let state = state.set(field.bits.mask(), 0)?;
    Some(State { label: Some(field), ..state })
}

/// A number that may also be given as a negative one.
fn wrap(value: i64, len: u8) -> Option<u64> {
    let size = 1_i64 << len;
    (-size / 2..size).contains(&value).then(|| value as u64 & (size as u64 - 1))
}

fn place_memory(mem: Mem, memory: &super::asm_token::Memory, state: State) -> Option<State> {
    if !mem.space.letter().starts_with(memory.letter) || mem.post != memory.post.is_some() {
        return None;
    }
    let state = match memory.index {
        Some(index) if !mem.index.is_empty() => state.put(mem.index, u64::from(index))?,
        None if mem.index.is_empty() => state,
        _ => return None,
    };
    let state = match memory.base {
        None => state.put(mem.areg, 0)?,
        // `$a0` is written as nothing.
        Some(('a', num)) if num != 0 => state.put(mem.areg, u64::from(num))?,
        _ => return None,
    };
    let offset = memory.post.unwrap_or(memory.offset);
    if offset & ((1 << mem.shift) - 1) != 0 {
        return None;
    }
    let value = if mem.signed {
        mem.offset.place_signed(offset >> mem.shift)?
    } else if mem.wraps {
        mem.offset.place(wrap(offset, mem.offset.len() + mem.shift)? >> mem.shift)?
    } else {
        mem.offset.place(u64::try_from(offset).ok()? >> mem.shift)?
    };
    state.set(mem.offset.mask(), value)
}

/// What a field wants, for error messages.
fn describe(field: Field) -> String {
    let range = |bits: Bits| (1_u64 << bits.len()) - 1;
    match field {
        Field::Reg(bits, Shape::Full) => format!("$r0-$r{}", range(bits)),
        Field::Reg(bits, Shape::Half) => format!("$r0l-$r{}h", range(bits) >> 1),
        Field::Reg(_, Shape::Double) => "a register pair ($r0d)".into(),
        Field::Reg(_, Shape::Quad) => "a register quad ($r0q)".into(),
        Field::Areg(_) => "an address register or 0x0".into(),
        Field::Creg(bits) if bits.is_empty() => "$c0".into(),
        Field::Creg(_) => "$c0-$c3".into(),
        Field::Sreg(_) => "a special register".into(),
        Field::Imm(bits) | Field::WrapImm(bits) => format!("a number up to {:#x}", range(bits)),
        Field::SignedImm(_) => "a number from -0x8 to 0x7".into(),
        Field::Target(_) => "a label or a code address (a multiple of 4)".into(),
        Field::Tex(bits) => format!("$t0-$t{}", range(bits)),
        Field::Sampler(bits) => format!("$s0-$s{}", range(bits)),
        Field::Global { .. } => "g0[$r0]".into(),
        Field::Mem(mem) => {
            let letter = mem.space.letter();
            let index = match mem.index.len() {
                0 => String::new(),
                _ => format!("0-{letter}{}", range(mem.index)),
            };
            let reach = range(mem.offset) << mem.shift;
            format!("{letter}{index}[] up to {reach:#x} in steps of {:#x}", 1 << mem.shift)
        }
        Field::Vec(..) => "a register vector ($r0:$r1:..)".into(),
        Field::Discard => "`#`".into(),
        Field::Ignore(_) => String::new(),
    }
}
