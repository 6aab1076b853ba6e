//! Matches the tokens of an assembly line against the rows of the table. It gives the encodings that fit or, if there are none,
//! the furthest token reached and what could have stood there.

use crate::bits::Bits;

use super::dialect::Dialect;
use super::table::{Alternative, Atom, Row, Table};
use super::token::{Kind, Token};

/// Bits decided so far, and the field that a label's address goes into.
#[derive(Clone, Copy, Default)]
pub struct State {
    word: u64,
    known: u64,
    label: Option<LabelField>,
}

/// A field that waits for an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelField {
    pub(crate) bits: Bits,
    /// Low bits the field leaves out.
    pub(crate) shift: u8,
    /// The field holds the signed distance from [`Dialect::origin`].
    pub(crate) relative: bool,
    /// Index of the token with the label or address.
    pub(crate) token: usize,
}

impl LabelField {
    /// The bits of the word for an address, if it fits; distances count from `origin`.
    pub(crate) fn place(self, address: u32, origin: u32) -> Option<u64> {
        let value =
            if self.relative { i64::from(address.wrapping_sub(origin) as i32) } else { i64::from(address) };
        if value & ((1 << self.shift) - 1) != 0 {
            return None;
        }
        let value = value >> self.shift;
        if self.relative { self.bits.place_signed(value) } else { self.bits.place(value as u64) }
    }
}

/// An encoding of an instruction's text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Match {
    pub(crate) word: u64,
    pub(crate) len: u8,
    pub(crate) label: Option<LabelField>,
}

/// Where matching got stuck: the furthest token and what would have been possible there.
#[derive(Default)]
pub(crate) struct Stuck {
    pub(crate) token: usize,
    expected: Vec<String>,
    /// So many different things that a list does not help.
    pub(crate) many: bool,
}

/// More alternatives than this are not listed.
const LISTED: usize = 8;

impl Stuck {
    /// `expected` is asked only where it can end up in a message: most rows fail at their first word.
    fn note(&mut self, token: usize, expected: impl FnOnce() -> String) {
        if token < self.token || token == self.token && self.many {
            return;
        }
        if token > self.token {
            *self = Stuck { token, ..Stuck::default() };
        }
        let expected = expected();
        if !self.expected.contains(&expected) {
            self.expected.push(expected);
        }
        self.many = self.token == 0 || self.expected.len() > LISTED;
    }

    /// What would have been possible.
    pub(crate) fn expected(&self) -> String {
        self.expected.join(" or ")
    }
}

impl State {
    /// With bits decided, unless they already are in another way.
    pub(crate) fn set(mut self, mask: u64, value: u64) -> Option<State> {
        if (self.word ^ value) & self.known & mask != 0 {
            return None;
        }
        self.word |= value;
        self.known |= mask;
        Some(self)
    }

    /// With a number in a field.
    pub(crate) fn put(self, bits: Bits, value: u64) -> Option<State> {
        self.set(bits.mask(), bits.place(value)?)
    }

    /// With a two's complement number in a field.
    pub(crate) fn put_signed(self, bits: Bits, value: i64) -> Option<State> {
        self.set(bits.mask(), bits.place_signed(value)?)
    }

    /// With bits that have no meaning set where they are not decided.
    pub(crate) fn fill(mut self, mask: u64) -> State {
        self.word |= mask & !self.known;
        self
    }

    /// With a field that waits for an address.
    pub(crate) fn wait(self, field: LabelField) -> Option<State> {
        let state = self.set(field.bits.mask(), 0)?;
        Some(State { label: Some(field), ..state })
    }
}

/// A number that may also be given as a negative one.
pub(crate) fn wrap(value: i64, len: u8) -> Option<u64> {
    let size = 1_i64 << len;
    (-size / 2..size).contains(&value).then(|| value as u64 & (size as u64 - 1))
}

/// Atoms that follow once the current ones are through.
struct Rest<'a, D: Dialect> {
    atoms: &'a [Atom<D>],
    then: Option<&'a Rest<'a, D>>,
}

struct Matcher<'a, D: Dialect> {
    table: &'static Table<D>,
    tokens: &'a [Token],
    target: D::Target,
    extra: u64,
    stuck: &'a mut Stuck,
}

/// The encodings of an instruction, the shortest first: one a class. `long` leaves out short ones. `extra` are bits that the text
/// does not show; the encodings do not have them yet.
pub(crate) fn encodings<D: Dialect>(
    tokens: &[Token],
    target: D::Target,
    (long, extra): (bool, u64),
    stuck: &mut Stuck,
) -> Vec<Match> {
    let table = D::table();
    let mut found: Vec<Match> = Vec::new();
    for forms in D::CLASSES {
        let usable = |form: &D::Form| !long || D::form_len(*form) == 8;
        let rows = table
            .rows
            .iter()
            .filter(|row| forms.contains(&row.form) && usable(&row.form) && row.available(target));
        let mut matcher = Matcher { table, tokens, target, extra, stuck };
        found.extend(rows.filter_map(|row| matcher.row(row)).next());
    }
    found
}

impl<D: Dialect> Matcher<'_, D> {
    fn row(&mut self, row: &Row<D>) -> Option<Match> {
        let state = State { word: row.value, known: row.mask, label: None };
        let state = self.run(&row.atoms, None, 0, state)?;
        // Another row may be the one that the word decodes as.
        let found = self.table.find(state.word | self.extra, self.target);
        if !found.is_some_and(|found| std::ptr::eq(found, row)) {
            return None;
        }
        Some(Match { word: state.word, len: row.len_bytes(), label: state.label })
    }

    fn run(
        &mut self,
        atoms: &[Atom<D>],
        then: Option<&Rest<'_, D>>,
        at: usize,
        state: State,
    ) -> Option<State> {
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
            Atom::Word(name) | Atom::OperandWord(name) => {
                matches!(kind, Some(Kind::Word(word)) if word == name)
            }
            Atom::Open => kind == Some(&Kind::Open),
            Atom::Close => kind == Some(&Kind::Close),
            Atom::Field(field) => {
                if let Some(state) = D::place_ignored(*field, state) {
                    return self.run(atoms, then, at, state);
                }
                let next = kind.and_then(|kind| D::place(*field, kind, state, at));
                let Some(next) = next else {
                    self.stuck.note(at, || D::describe(*field));
                    return None;
                };
                return self.run(atoms, then, at + 1, next);
            }
            Atom::Slot(slot) => {
                let table = self.table;
                let rest = Rest { atoms, then };
                return table.slots[*slot].iter().enumerate().find_map(|(index, alternative)| {
                    if !D::met(alternative.need, self.target) {
                        return None;
                    }
                    let next = state.set(alternative.mask, alternative.value)?;
                    let found = self.run(&alternative.atoms, Some(&rest), at, next)?;
                    // An earlier alternative would win when the word is read back; one with the same bits is
                    // another spelling.
                    let earlier = &table.slots[*slot][..index];
                    let reads = |other: &Alternative<D>| {
                        found.word & other.mask == other.value
                            && D::met(other.need, self.target)
                            && (other.value, other.mask) != (alternative.value, alternative.mask)
                    };
                    (!earlier.iter().any(reads)).then_some(found)
                });
            }
        };
        if fits {
            return self.run(atoms, then, at + 1, state);
        }
        self.stuck.note(at, || match atom {
            Atom::Word(name) | Atom::OperandWord(name) => format!("`{name}`"),
            Atom::Open => "`(`".into(),
            _ => "`)`".into(),
        });
        None
    }
}
