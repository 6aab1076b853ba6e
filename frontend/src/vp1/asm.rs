//! VP1's assembler: from text to instruction words.
//!
//! A line holds labels (`name:`), an instruction in the words of the listing, a directive or nothing. Comments: `;` and `//` to
//! the end of the line. `#name` stands for the word address of a label. Directives: `.u8`, `.u16`, `.u32` with numbers, and
//! `.align`, which fills with `bnop` up to the next group of four words.
//!
//! Instructions between `{` and `}` (on lines of their own or not) form one bundle. They must be in the order of the units. If
//! the bundle would cross a border between groups of four words, `bnop` is inserted before it. `|` separates instructions on one
//! line.
//!
//! A line of a listing (`00000008: 4f000000 - snop`) is accepted as it is. Its word becomes the code, and its text must be what
//! the word decodes to.

use std::collections::BTreeMap;

use super::table::Vp1;
use super::{Chip, Unit, bundle_len, decode};
use crate::envydis::{Assembly, Encoded, encode, number};
use crate::error::{SourceError, SourceErrors};

/// A thing that takes room in the code.
enum Item {
    Label(String),
    Inst(Encoded),
    Raw(Vec<u8>),
    Align,
    Open,
    Close,
    /// A listing's address column.
    Address(u32),
}

struct Statement {
    line: usize,
    column: usize,
    item: Item,
}

impl Statement {
    fn error(&self, reason: impl Into<String>) -> SourceError {
        SourceError { line: self.line, column: self.column, reason: reason.into() }
    }
}

/// Assembles a text, whether source or listing.
pub fn assemble(text: &str, chip: Chip) -> Result<Assembly, SourceErrors> {
    let mut items = Vec::new();
    let mut errors = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut parser = Line { line: index + 1, chip, items: &mut items };
        if let Err((column, reason)) = parser.parse(without_comment(line)) {
            errors.push(SourceError { line: index + 1, column, reason });
        }
    }
    if errors.is_empty() {
        // Addresses first, words then.
        match layout(&items).and_then(|labels| emit(&items, &labels).map(|done| (labels, done))) {
            Ok((labels, (base, code))) => return Ok(Assembly { base, code, labels }),
            Err(error) => errors.push(error),
        }
    }
    Err(SourceErrors(errors))
}

fn without_comment(line: &str) -> &str {
    let end = [line.find(';'), line.find("//")].into_iter().flatten().min();
    &line[..end.unwrap_or(line.len())]
}

/// The words of a line with their columns; parentheses and braces stand for themselves, brackets hold spaces.
fn words(line: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    let mut rest = line;
    let mut column = 1;
    loop {
        let trimmed = rest.trim_start();
        column += rest[..rest.len() - trimmed.len()].chars().count();
        rest = trimmed;
        let Some(first) = rest.chars().next() else { return out };
        let len = match first {
            '(' | ')' | '{' | '}' | '|' => 1,
            '[' => rest.find(']').map_or(rest.len(), |end| end + 1),
            _ => {
                let stop =
                    |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '{' | '}' | '|' | '[' | ',');
                let end = rest.find(stop).unwrap_or(rest.len());
                // A stray separator is a word that nothing matches.
                if end == 0 { first.len_utf8() } else { end }
            }
        };
        out.push((column, &rest[..len]));
        column += rest[..len].chars().count();
        rest = &rest[len..];
    }
}

struct Line<'a> {
    line: usize,
    chip: Chip,
    items: &'a mut Vec<Statement>,
}

impl Line<'_> {
    fn put(&mut self, column: usize, item: Item) {
        self.items.push(Statement { line: self.line, column, item });
    }

    fn parse(&mut self, line: &str) -> Result<(), (usize, String)> {
        let words = words(line);
        let mut words = words.as_slice();
        if self.listing(line, words)? {
            return Ok(());
        }
        while let Some(&(column, word)) = words.first() {
            if let Some(label) = word.strip_suffix(':') {
                let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
                if label.is_empty() || !label.chars().all(valid) {
                    return Err((column, format!("`{label}` is no name of a label")));
                }
                self.put(column, Item::Label(label.into()));
            } else if word == "{" {
                self.put(column, Item::Open);
            } else if word == "}" {
                self.put(column, Item::Close);
            } else if word == "|" {
                // Nothing but the end of what is before it.
            } else if word.starts_with('.') {
                return self.directive(column, word, &words[1..]);
            } else {
                let stops = |&(_, word): &(usize, &str)| matches!(word, "{" | "}" | "|");
                let end = words.iter().position(stops).unwrap_or(words.len());
                let from = column - 1;
                let to = words.get(end).map_or(usize::MAX, |&(column, _)| column - 1);
                let text: String = line.chars().take(to).skip(from).collect();
                let inst = encode::<Vp1>(&text, column, self.chip)?;
                let word = inst.encodings[0].word | inst.extra;
                if u64::from(decode(word as u32, 0, self.chip).unknown()) != inst.extra {
                    return Err((column, "`[unknown: ]` has bits that the text has, too".into()));
                }
                self.put(column, Item::Inst(inst));
                words = &words[end..];
                continue;
            }
            words = &words[1..];
        }
        Ok(())
    }

    /// A line of a listing: `address: word mark text`.
    fn listing(&mut self, line: &str, words: &[(usize, &str)]) -> Result<bool, (usize, String)> {
        let hex = |text: &str| (text.len() == 8).then(|| u32::from_str_radix(text, 16).ok()).flatten();
        let [(column, address), rest @ ..] = words else { return Ok(false) };
        let Some(address) = address.strip_suffix(':').and_then(hex) else { return Ok(false) };
        self.put(*column, Item::Address(address));
        match rest {
            [(column, word @ (".u8" | ".u16" | ".u32")), rest @ ..] => {
                self.directive(*column, word, rest)?;
                Ok(true)
            }
            [(column, word), (mark_column, mark), ..] if matches!(*mark, "{" | "|" | "}" | "-") => {
                let word = hex(word).ok_or_else(|| (*column, format!("`{word}` is no word of a listing")))?;
                let wanted = decode(word, address, self.chip).to_string();
                let text: String = line.chars().skip(*mark_column).collect();
                if text.trim() != wanted {
                    return Err((
                        *mark_column + 2,
                        format!("{word:08x} is `{wanted}`, not `{}`", text.trim()),
                    ));
                }
                self.put(*column, Item::Raw(word.to_le_bytes().to_vec()));
                Ok(true)
            }
            _ => {
                Err((*column, "a line of a listing has an address, a word, a mark and an instruction".into()))
            }
        }
    }

    fn directive(
        &mut self,
        column: usize,
        name: &str,
        args: &[(usize, &str)],
    ) -> Result<(), (usize, String)> {
        let bytes = match name {
            ".u8" => 1,
            ".u16" => 2,
            ".u32" => 4,
            ".align" if args.is_empty() => {
                self.put(column, Item::Align);
                return Ok(());
            }
            ".align" => return Err((column, "`.align` takes no number: groups have four words".into())),
            _ => return Err((column, format!("no directive `{name}`"))),
        };
        if args.is_empty() {
            return Err((column, format!("`{name}` wants numbers")));
        }
        let mut raw = Vec::new();
        for &(column, text) in args.iter().filter(|(_, text)| *text != ",") {
            let fits = |value: &i64| (-(1i64 << (8 * bytes - 1))..1i64 << (8 * bytes)).contains(value);
            let value = number(text).filter(fits);
            let value = value.ok_or_else(|| (column, format!("`{text}` is no number of {bytes} bytes")))?;
            raw.extend_from_slice(&value.to_le_bytes()[..bytes]);
        }
        self.put(column, Item::Raw(raw));
        Ok(())
    }
}

/// Bytes of a thing at byte address `at`, with the padding before it.
fn room(items: &[Statement], index: usize, at: u64) -> u64 {
    match &items[index].item {
        Item::Label(_) | Item::Close | Item::Address(_) => 0,
        Item::Inst(_) => 4,
        Item::Raw(bytes) => bytes.len() as u64,
        Item::Align => at.next_multiple_of(16) - at,
        Item::Open => {
            let inside =
                items[index + 1..].iter().take_while(|statement| !matches!(statement.item, Item::Close));
            let words = inside.filter(|statement| matches!(statement.item, Item::Inst(_))).count() as u64;
            let left = 4 - at / 4 % 4;
            if words > left { 4 * left } else { 0 }
        }
    }
}

/// Word addresses of the labels.
fn layout(items: &[Statement]) -> Result<BTreeMap<String, u32>, SourceError> {
    let mut labels = BTreeMap::new();
    let mut base = None;
    let mut at = 0u64;
    for (index, statement) in items.iter().enumerate() {
        match &statement.item {
            Item::Label(name) => {
                // A label in front of a bundle names the bundle, not the padding before it.
                let behind = items[index + 1..].iter().position(|p| !matches!(p.item, Item::Label(_)));
                let opens = behind.map(|by| index + 1 + by);
                let opens = opens.filter(|&open| matches!(items[open].item, Item::Open));
                let target = at + opens.map_or(0, |open| room(items, open, at));
                if !target.is_multiple_of(4) {
                    return Err(statement.error(format!("label `{name}` is not at a word")));
                }
                if labels.insert(name.clone(), (target / 4) as u32).is_some() {
                    return Err(statement.error(format!("label `{name}` is there twice")));
                }
            }
            Item::Address(address) => {
                let address = u64::from(*address) * 4;
                if base.is_none() && at == 0 {
                    at = address;
                }
                if address != at {
                    return Err(statement.error(format!("the code is at word {:#x} here", at / 4)));
                }
            }
            Item::Inst(_) if !at.is_multiple_of(4) => {
                return Err(statement.error("an instruction is not at a word"));
            }
            _ => {}
        }
        base.get_or_insert(at);
        at += room(items, index, at);
        if at > 1 << 30 {
            return Err(statement.error("the code is too long"));
        }
    }
    Ok(labels)
}

/// Base and code.
fn emit(items: &[Statement], labels: &BTreeMap<String, u32>) -> Result<(u32, Vec<u8>), SourceError> {
    let base = match items.first().map(|statement| &statement.item) {
        Some(Item::Address(address)) => *address,
        _ => 0,
    };
    let mut code = Vec::new();
    let mut open: Option<(usize, &Statement)> = None;
    for (index, statement) in items.iter().enumerate() {
        let at = u64::from(base) * 4 + code.len() as u64;
        match &statement.item {
            Item::Label(_) | Item::Address(_) => {}
            Item::Raw(bytes) => code.extend_from_slice(bytes),
            Item::Inst(inst) => {
                let word = inst.word::<Vp1>(0, (at / 4) as u32, labels);
                let word =
                    word.map_err(|(column, reason)| SourceError { line: statement.line, column, reason })?;
                code.extend_from_slice(&(word as u32).to_le_bytes());
            }
            Item::Align | Item::Open => {
                for _ in 0..room(items, index, at) / 4 {
                    code.extend_from_slice(&Unit::Branch.no_op().to_le_bytes());
                }
                if matches!(statement.item, Item::Open) && open.replace((code.len(), statement)).is_some() {
                    return Err(statement.error("a bundle within a bundle"));
                }
            }
            Item::Close => {
                let (start, _) = open.take().ok_or_else(|| statement.error("no bundle ends here"))?;
                let words = (code.len() - start) as u32 / 4;
                let word = |pc: u32| {
                    let bytes = code.get(4 * pc.wrapping_sub(base) as usize..)?.first_chunk()?;
                    Some(u32::from_le_bytes(*bytes))
                };
                if bundle_len(base + start as u32 / 4, word) != words {
                    let order = "a bundle has at most one instruction of each unit, in the order address, \
                                 scalar, vector, branch";
                    return Err(statement.error(order));
                }
            }
        }
    }
    match open {
        Some((_, statement)) => Err(statement.error("a bundle without an end")),
        None => Ok((base, code)),
    }
}
