//! The compiled table: rows and slots parsed once from their texts, in the form that decoder, printer and assembler walk.

use super::dialect::Dialect;

/// Value, mask, operation, text.
pub(crate) type Line<Op> = (u64, u64, Op, &'static str);

/// All slots by name; each alternative is value, mask, text.
pub(crate) type Slots = [(&'static str, &'static [(u64, u64, &'static str)])];

/// One element of a row's text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Atom<D: Dialect> {
    /// A word of the listing.
    Word(&'static str),
    /// A word that belongs to the operand after it ([`Dialect::is_operand_word`]).
    OperandWord(&'static str),
    /// `(`
    Open,
    /// `)`
    Close,
    /// An operand.
    Field(D::Field),
    /// Index of a slot.
    Slot(usize),
}

/// An alternative of a slot.
#[derive(Debug)]
pub(crate) struct Alternative<D: Dialect> {
    pub(crate) value: u64,
    pub(crate) mask: u64,
    pub(crate) need: D::Need,
    pub(crate) atoms: Vec<Atom<D>>,
}

/// One instruction form.
#[derive(Debug)]
pub struct Row<D: Dialect> {
    /// The operation.
    pub op: D::Op,
    /// The word class.
    pub form: D::Form,
    /// The instruction in the words of the listing, operands as field names.
    pub text: &'static str,
    /// Fixed bits.
    pub value: u64,
    /// Which bits are fixed.
    pub mask: u64,
    pub(crate) need: D::Need,
    pub(crate) atoms: Vec<Atom<D>>,
}

/// An element of an instruction's text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Element<D: Dialect> {
    Word(&'static str),
    OperandWord(&'static str),
    Open,
    Close,
    Operand(D::Field, D::Operand),
}

/// The table of an ISA.
pub struct Table<D: Dialect> {
    pub(crate) rows: Vec<Row<D>>,
    pub(crate) slots: Vec<Vec<Alternative<D>>>,
    names: Vec<&'static str>,
    /// The rows that a word can be of, in order, by the word's value of [`Dialect::INDEX`].
    candidates: Vec<Vec<usize>>,
}

/// Splits `text [NEEDS]` into the text and what it needs.
fn parse_need<D: Dialect>(line: &'static str) -> (&'static str, D::Need) {
    let (text, brackets) = match line.find('[') {
        Some(at) => (line[..at].trim_end(), &line[at..]),
        None => (line, ""),
    };
    (text, D::parse_need(brackets))
}

impl<D: Dialect> Table<D> {
    /// A table of slots without rows.
    pub(crate) fn new(slots: &[&'static Slots]) -> Table<D> {
        let slots = || slots.iter().copied().flatten();
        let names = slots().map(|(name, _)| *name).collect();
        let candidates = vec![Vec::new(); 1 << D::INDEX.len()];
        let mut table = Table { rows: Vec::new(), slots: Vec::new(), names, candidates };
        for (name, alternatives) in slots() {
            let compile = |&(value, mask, line): &(u64, u64, &'static str)| {
                let (text, need) = parse_need::<D>(line);
                Alternative { value, mask, need, atoms: table.parse_atoms(text, name) }
            };
            let alternatives = alternatives.iter().map(compile).collect();
            table.slots.push(alternatives);
        }
        table
    }

    /// Adds rows. `class` is the value and mask of the bits that all of them have, `prefix` what stands before the
    /// text of each.
    pub(crate) fn add(
        &mut self,
        form: impl Fn(u64) -> D::Form,
        class: (u64, u64),
        prefix: &'static str,
        lines: &[Line<D::Op>],
    ) {
        for &(value, mask, op, line) in lines {
            let (text, need) = parse_need::<D>(line);
            let mut atoms = self.parse_atoms(prefix, "");
            atoms.extend(self.parse_atoms(text, ""));
            let (value, mask) = (value | class.0, mask | class.1);
            for (index, candidates) in self.candidates.iter_mut().enumerate() {
                let fits = |word: u64| (word ^ value) & mask & D::INDEX.mask() == 0;
                if D::INDEX.place(index as u64).is_some_and(fits) {
                    candidates.push(self.rows.len());
                }
            }
            self.rows.push(Row { op, form: form(value), text, value, mask, need, atoms });
        }
    }

    fn parse_atoms(&self, text: &'static str, slot: &str) -> Vec<Atom<D>> {
        text.split_whitespace()
            .map(|word| match word {
                "(" => Atom::Open,
                ")" => Atom::Close,
                _ if word.starts_with('<') => {
                    let name = &word[1..word.len() - 1];
                    let index = self.names.iter().position(|slot| *slot == name);
                    Atom::Slot(index.unwrap_or_else(|| unreachable!("the table has no slot `{name}`")))
                }
                _ if word.starts_with(|c: char| c.is_ascii_uppercase()) => Atom::Field(
                    D::field(word).unwrap_or_else(|| unreachable!("the table has no field `{word}`")),
                ),
                _ if D::is_operand_word(slot, word) => Atom::OperandWord(word),
                _ => Atom::Word(word),
            })
            .collect()
    }

    /// The row of an instruction word.
    pub(crate) fn find(&self, word: u64, target: D::Target) -> Option<&Row<D>> {
        let candidates = self.candidates[D::INDEX.get(word) as usize].iter().map(|&index| &self.rows[index]);
        candidates.into_iter().find(|row| word & row.mask == row.value && row.available(target))
    }

    /// Gives the elements of an instruction's text to `out`. Returns the bits the text stands for, or `None` where a
    /// slot has no alternative for the word.
    pub(crate) fn walk(
        &self,
        row: &Row<D>,
        word: u64,
        pc: u32,
        target: D::Target,
        out: &mut dyn FnMut(Element<D>),
    ) -> Option<u64> {
        let mut used = row.mask;
        self.walk_atoms(&row.atoms, (word, pc, target), &mut used, out)?;
        Some(used)
    }

    fn walk_atoms(
        &self,
        atoms: &[Atom<D>],
        at: (u64, u32, D::Target),
        used: &mut u64,
        out: &mut dyn FnMut(Element<D>),
    ) -> Option<()> {
        let (word, pc, target) = at;
        for atom in atoms {
            match *atom {
                Atom::Word(name) => out(Element::Word(name)),
                Atom::OperandWord(name) => out(Element::OperandWord(name)),
                Atom::Open => out(Element::Open),
                Atom::Close => out(Element::Close),
                Atom::Field(field) => {
                    *used |= D::field_mask(field);
                    if let Some(operand) = D::operand(field, word, pc) {
                        out(Element::Operand(field, operand));
                    }
                }
                Atom::Slot(slot) => {
                    let chosen = self.slots[slot].iter().find(|alternative| {
                        word & alternative.mask == alternative.value && D::met(alternative.need, target)
                    })?;
                    *used |= chosen.mask;
                    self.walk_atoms(&chosen.atoms, at, used, out)?;
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
impl<D: Dialect> Table<D> {
    /// Instruction words of a row in which each alternative of each of its slots is chosen: with the other bits zero, one, and `random`.
    pub(crate) fn samples(&self, row: &Row<D>, random: &mut dyn FnMut() -> u64) -> Vec<u64> {
        let mut chosen = vec![(row.value, row.mask)];
        let slots = |atoms: &[Atom<D>]| -> Vec<usize> {
            let slots = atoms.iter().filter_map(|atom| match atom {
                Atom::Slot(slot) => Some(*slot),
                _ => None,
            });
            slots.collect()
        };
        let mut open: Vec<_> =
            slots(&row.atoms).into_iter().map(|slot| (slot, row.value, row.mask)).collect();
        while let Some((slot, value, mask)) = open.pop() {
            for alternative in &self.slots[slot] {
                if (value ^ alternative.value) & mask & alternative.mask != 0 {
                    continue;
                }
                let (value, mask) = (value | alternative.value, mask | alternative.mask);
                chosen.push((value, mask));
                open.extend(slots(&alternative.atoms).into_iter().map(|slot| (slot, value, mask)));
            }
        }
        let words = chosen.into_iter();
        words
            .flat_map(|(value, mask)| {
                [value, value | !mask, value | random() & !mask, value | random() & !mask]
            })
            .collect()
    }
}
