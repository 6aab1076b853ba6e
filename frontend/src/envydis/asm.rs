//! The assembler of Tesla and Fermi: from text to instruction words. [`encode`], which does an instruction, is VP1's, too.
//!
//! A line holds labels (`name:`), an instruction in the words of the listing, a directive (`.u8`, `.u16`,
//! `.u32`, `.u64` with numbers; `.align n`) or nothing. Comments: `;` and `//` to the end of the line,
//! `/* */` within it. `#name` stands for the address of a label.
//!
//! If an instruction has a short and a long encoding, the assembler takes the short one; `long` in front forbids that. A long
//! instruction must be at a multiple of eight bytes. Where it would not be, the short instruction before it is encoded as long.
//!
//! A line of a listing (`00000008: 10000c1d 0403c780  B  mov ...`) is accepted as it is. Its words become the code, and its text
//! must be what they decode to, so bits that the text does not show survive. There are two kinds of such bits. Those that every
//! chip ignores are not shown at all (`Inst::canonical`). Others are shown as `[unknown: ...]`, which is accepted without words,
//! too.

use std::collections::BTreeMap;

use super::dialect::{Dialect, Lines};
use super::matcher::{Match, Stuck, encodings};
use super::token::{Kind, Token, is_label, number, tokens};
use crate::error::{SourceError, SourceErrors};

/// Assembled code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assembly {
    /// Address of the first byte (VP1: word address): 0, or that of a listing's first line.
    pub base: u32,
    /// The code.
    pub code: Vec<u8>,
    /// Addresses of the labels (VP1: word addresses).
    pub labels: BTreeMap<String, u32>,
}

/// An address that fills a field once everything has its place.
pub(crate) enum Address {
    Label(String),
    Number(u32),
}

/// A thing that takes room in the code.
enum Item {
    Label(String),
    /// An instruction, and which of its encodings is chosen.
    Inst {
        inst: Encoded,
        chosen: usize,
    },
    Raw(Vec<u8>),
    Align(u32),
    /// A listing's address column.
    Address(u32),
}

struct Statement {
    line: usize,
    column: usize,
    item: Item,
}

/// Assembles a text, whether source or listing.
pub(crate) fn assemble<D: Lines>(text: &str, target: D::Target) -> Result<Assembly, SourceErrors> {
    let mut items = Vec::new();
    let mut errors = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut parser = Line::<D> { line: index + 1, target, items: &mut items };
        if let Err((column, reason)) = parser.parse(&without_comments(line)) {
            errors.push(SourceError { line: index + 1, column, reason });
        }
    }
    if !errors.is_empty() {
        return Err(SourceErrors(errors));
    }
    layout::<D>(items).map_err(|error| SourceErrors(vec![error]))
}

/// The line with comments blanked out, so that columns stay.
fn without_comments(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if c == ';' || rest.starts_with("//") {
            break;
        }
        let Some(comment) = rest.strip_prefix("/*") else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        let skip = comment.find("*/").map_or(rest.len(), |end| end + 4);
        out.extend(rest[..skip].chars().map(|_| ' '));
        rest = &rest[skip..];
    }
    out
}

/// What is wrong, and in which column.
pub(crate) type LineError = (usize, String);

struct Line<'a, D: Lines> {
    line: usize,
    target: D::Target,
    items: &'a mut Vec<Statement>,
}

impl<D: Lines> Line<'_, D> {
    fn push(&mut self, column: usize, item: Item) {
        self.items.push(Statement { line: self.line, column, item });
    }

    fn parse(&mut self, line: &str) -> Result<(), LineError> {
        let mut column = 1;
        let mut rest = line;
        loop {
            let trimmed = rest.trim_start();
            column += rest[..rest.len() - trimmed.len()].chars().count();
            rest = trimmed;
            let name = rest.split(|c: char| c.is_whitespace() || c == ':').next().unwrap_or("");
            if !rest[name.len()..].starts_with(':') {
                break;
            }
            let after = &rest[name.len() + 1..];
            let listing = name.len() == 8 && u32::from_str_radix(name, 16).is_ok();
            if listing && !after.trim().is_empty() {
                return self.listing(name, after, column);
            }
            if !is_label(name) {
                return Err((column, format!("`{name}` cannot be a label")));
            }
            self.push(column, Item::Label(name.to_string()));
            column += name.len() + 1;
            rest = after;
        }
        if rest.is_empty() {
            return Ok(());
        }
        if rest.starts_with('.') {
            return self.directive(rest, column);
        }
        let inst = encode::<D>(rest, column, self.target)?;
        self.push(inst.column, Item::Inst { inst, chosen: 0 });
        Ok(())
    }

    fn directive(&mut self, text: &str, column: usize) -> Result<(), LineError> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or("");
        let mut values = Vec::new();
        for word in words {
            let word = word.trim_end_matches(',');
            let column = column + text.find(word).map_or(0, |at| text[..at].chars().count());
            let hex = word.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
            let value = hex.map(i128::from).or_else(|| number(word).map(i128::from));
            values.push((column, value.ok_or_else(|| (column, format!("`{word}` is no number")))?));
        }
        let size = match name {
            ".u8" => 1,
            ".u16" => 2,
            ".u32" => 4,
            ".u64" => 8,
            ".align" => {
                let align = match values[..] {
                    [(_, align)] => {
                        u32::try_from(align).ok().filter(|align| align.is_power_of_two() && *align <= 4096)
                    }
                    _ => None,
                };
                let align =
                    align.ok_or((column, "`.align` needs one power of two up to 4096".to_string()))?;
                self.push(column, Item::Align(align));
                return Ok(());
            }
            _ => return Err((column, format!("unknown directive `{name}`"))),
        };
        let mut raw = Vec::new();
        for (column, value) in values {
            let limit = 1_i128 << (8 * size);
            if !(-limit / 2..limit).contains(&value) {
                return Err((column, format!("{value:#x} does not fit into {size} bytes")));
            }
            raw.extend_from_slice(&(value as u64).to_le_bytes()[..size]);
        }
        self.push(column, Item::Raw(raw));
        Ok(())
    }

    /// A line of a listing, after its address.
    fn listing(&mut self, address: &str, rest: &str, column: usize) -> Result<(), LineError> {
        let address = u32::from_str_radix(address, 16).map_err(|_| (column, "bad address".to_string()))?;
        self.push(column, Item::Address(address));
        let mut raw = Vec::new();
        let mut text = rest;
        let mut words = 0;
        while words < 2 {
            let trimmed = text.trim_start();
            let word = trimmed.split_whitespace().next().unwrap_or("");
            let hex = word.len() == 8 || (words == 0 || raw.len() == 4) && matches!(word.len(), 2 | 4 | 6);
            let value = if hex { u32::from_str_radix(word, 16).ok() } else { None };
            let Some(value) = value.filter(|_| !word.starts_with('+')) else { break };
            raw.extend_from_slice(&value.to_le_bytes()[..word.len() / 2]);
            text = &trimmed[word.len()..];
            words += 1;
            if words == 1 && raw.first().is_some_and(|byte| D::len_bytes(*byte) == 4) {
                break;
            }
        }
        let at = |text: &str| column + 9 + rest[..rest.len() - text.len()].chars().count();
        if raw.is_empty() {
            return Err((at(text.trim_start()), "a listing line needs its words in hexadecimal".into()));
        }
        let mut text = text.trim_start();
        for mark in ["C", "B"] {
            if let Some(after) = text.strip_prefix(mark).filter(|after| after.starts_with(' ')) {
                text = after.trim_start();
            }
        }
        let text_column = at(text);
        let wanted = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (low, high) = (word_at(&raw, 0), word_at(&raw, 4));
        let short = raw.first().is_some_and(|byte| D::len_bytes(*byte) == 4);
        let inst = match (low, high) {
            (Some(low), _) if short && raw.len() == 4 => {
                D::decode_word(u64::from(low), address, self.target).ok()
            }
            (Some(low), Some(high)) => {
                D::decode_word(u64::from(high) << 32 | u64::from(low), address, self.target).ok()
            }
            _ => None,
        };
        let is = inst.map_or("??".to_string(), |inst| inst.to_string());
        if !wanted.is_empty() && wanted != is {
            return Err((text_column, format!("the words mean `{is}`")));
        }
        self.push(column, Item::Raw(raw));
        Ok(())
    }
}

/// An instruction's text, encoded.
pub(crate) struct Encoded {
    /// Its encodings, the shortest first; never none.
    pub(crate) encodings: Vec<Match>,
    /// Bits that the text does not show.
    pub(crate) extra: u64,
    /// The address that it names, and in which column.
    pub(crate) address: Option<(Address, usize)>,
    /// The column of its first word.
    pub(crate) column: usize,
}

/// Encodes the text of an instruction, which begins in `column`.
pub(crate) fn encode<D: Dialect>(text: &str, column: usize, target: D::Target) -> Result<Encoded, LineError> {
    let (text, extra) = split_unknown(text, column)?;
    let mut tokens = tokens::<D>(text, column)?;
    let long = matches!(tokens.first(), Some(Token { kind: Kind::Word(word), .. }) if word == "long");
    if long {
        tokens.remove(0);
    }
    let Some(first) = tokens.first() else {
        return Err((column, "`long` needs an instruction".into()));
    };
    let first_column = first.column;
    let end = column + text.chars().count();
    let encodings = encodings_of::<D>(&tokens, target, (long, extra), end)?;
    let address = encodings.iter().find_map(|found| found.label).and_then(|field| {
        let token = tokens.get(field.token)?;
        Some((address(&token.kind)?, token.column))
    });
    Ok(Encoded { encodings, extra, address, column: first_column })
}

/// The encodings of an instruction, or what is wrong with it; its text ends in column `end`.
fn encodings_of<D: Dialect>(
    tokens: &[Token],
    target: D::Target,
    how: (bool, u64),
    end: usize,
) -> Result<Vec<Match>, LineError> {
    let mut stuck = Stuck::default();
    let mut found = encodings::<D>(tokens, target, how, &mut stuck);
    if found.is_empty()
        && let Some(tokens) = D::respelled(tokens)
    {
        found = encodings::<D>(&tokens, target, how, &mut Stuck::default());
    }
    // An encoding counts only if it says what the text says.
    found.retain(|found| D::decode_word(found.word, 0, target).is_ok());
    if !found.is_empty() {
        return Ok(found);
    }
    let column = tokens.get(stuck.token).map_or(end, |token| token.column);
    let fits =
        |target: D::Target, how| !encodings::<D>(tokens, target, how, &mut Stuck::default()).is_empty();
    let first = tokens.first().map_or(end, |token| token.column);
    for others in D::others(target) {
        let have = others.targets.iter().filter(|(target, _)| fits(*target, how));
        let have: Vec<&str> = have.map(|(_, name)| *name).collect();
        if !have.is_empty() {
            return Err((first, format!("{} {}", others.text, have.join(" "))));
        }
    }
    if how.0 && fits(target, (false, how.1)) {
        return Err((first, "there is no long form of this instruction".into()));
    }
    let got =
        tokens.get(stuck.token).map_or("the end of the line".to_string(), |token| token.kind.describe());
    let reason = if stuck.many {
        match tokens.get(stuck.token).map(|token| &token.kind) {
            Some(Kind::Word(word)) if stuck.token == 0 => format!("unknown instruction `{word}`"),
            _ => format!("unexpected {got}"),
        }
    } else {
        format!("unexpected {got}, wanted {}", stuck.expected())
    };
    Err((column, reason))
}

impl Encoded {
    /// The word of an encoding once all labels are known; the instruction stands at `pc`.
    pub(crate) fn word<D: Dialect>(
        &self,
        chosen: usize,
        pc: u32,
        labels: &BTreeMap<String, u32>,
    ) -> Result<u64, LineError> {
        let found = self.encodings[chosen];
        let word = found.word | self.extra;
        let (Some(field), Some((address, column))) = (found.label, &self.address) else { return Ok(word) };
        let (value, name) = match address {
            Address::Number(value) => (*value, String::new()),
            Address::Label(name) => {
                let found = labels.get(name).ok_or_else(|| (*column, format!("no label `{name}`")))?;
                (*found, format!("label `{name}` at "))
            }
        };
        let bits = field.place(value, D::origin(pc, found.len));
        Ok(word | bits.ok_or_else(|| (*column, format!("{name}{value:#x} does not fit")))?)
    }
}

fn word_at(raw: &[u8], at: usize) -> Option<u32> {
    raw.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

/// Takes `[unknown: 00000000 00003000]` off the end of a text.
fn split_unknown(text: &str, column: usize) -> Result<(&str, u64), LineError> {
    let Some(at) = text.find("[unknown:") else { return Ok((text, 0)) };
    let column = column + text[..at].chars().count();
    let bad = || (column, "`[unknown: ]` wants one or two words in hexadecimal".to_string());
    let inner = text[at + 9..].trim_end().strip_suffix(']').ok_or_else(bad)?;
    let mut extra = 0;
    let mut words = 0;
    for word in inner.split_whitespace() {
        if words == 2 {
            return Err(bad());
        }
        extra |= u64::from(u32::from_str_radix(word, 16).map_err(|_| bad())?) << (32 * words);
        words += 1;
    }
    if words == 0 { Err(bad()) } else { Ok((&text[..at], extra)) }
}

/// The address a token stands for.
fn address(kind: &Kind) -> Option<Address> {
    match kind {
        Kind::Label(name) => Some(Address::Label(name.clone())),
        Kind::Number(value) => u32::try_from(*value).ok().map(Address::Number),
        _ => None,
    }
}

/// Chooses forms, places everything and fills in addresses.
fn layout<D: Lines>(mut items: Vec<Statement>) -> Result<Assembly, SourceError> {
    let error = |statement: &Statement, reason: String| SourceError {
        line: statement.line,
        column: statement.column,
        reason,
    };
    let limit = D::CODE_LIMIT;
    let base = match items.iter().find(|statement| !matches!(statement.item, Item::Label(_))) {
        Some(Statement { item: Item::Address(base), .. }) => *base,
        _ => 0,
    };
    let at_eight = "a long instruction must stand at a multiple of 8";
    let mut pc = u64::from(base);
    let mut previous = None;
    for index in 0..items.len() {
        match &items[index].item {
            Item::Label(_) | Item::Address(_) => continue,
            Item::Inst { inst, chosen } => {
                let len = inst.encodings[*chosen].len;
                if len == 8 && !pc.is_multiple_of(8) {
                    // The short instruction before this one takes its long form.
                    let before = previous.map(|previous: usize| &mut items[previous].item);
                    let Some(Item::Inst { inst: Encoded { encodings, .. }, chosen }) = before else {
                        return Err(error(&items[index], at_eight.into()));
                    };
                    if pc % 8 != 4 || encodings[*chosen].len != 4 || *chosen + 1 == encodings.len() {
                        let reason = format!("{at_eight}, and what stands before it has no longer form");
                        return Err(error(&items[index], reason));
                    }
                    *chosen += 1;
                    pc += 4;
                }
                pc += u64::from(len);
            }
            Item::Raw(raw) => pc += raw.len() as u64,
            Item::Align(align) => pc = pc.next_multiple_of(u64::from(*align)),
        }
        if pc > limit {
            return Err(error(&items[index], format!("code space ends at {limit:#x}")));
        }
        previous = Some(index);
    }
    let mut labels = BTreeMap::new();
    let mut pc = base;
    for statement in &items {
        match &statement.item {
            Item::Label(name) => {
                if labels.insert(name.clone(), pc).is_some() {
                    return Err(error(statement, format!("label `{name}` stands twice")));
                }
            }
            Item::Address(address) => {
                if pc != *address {
                    return Err(error(statement, format!("the line before ends at {pc:#x}")));
                }
            }
            Item::Inst { inst, chosen } => pc += u32::from(inst.encodings[*chosen].len),
            Item::Raw(raw) => pc += raw.len() as u32,
            Item::Align(align) => pc = pc.next_multiple_of(*align),
        }
    }
    let mut code = Vec::new();
    for statement in &items {
        match &statement.item {
            Item::Label(_) | Item::Address(_) => {}
            Item::Raw(raw) => code.extend_from_slice(raw),
            Item::Align(align) => {
                while !(code.len() as u64 + u64::from(base)).is_multiple_of(u64::from(*align)) {
                    code.push(0);
                }
            }
            Item::Inst { inst, chosen } => {
                let pc = base.wrapping_add(code.len() as u32);
                let word = inst.word::<D>(*chosen, pc, &labels).map_err(|(column, reason)| SourceError {
                    line: statement.line,
                    column,
                    reason,
                })?;
                code.extend_from_slice(&word.to_le_bytes()[..inst.encodings[*chosen].len as usize]);
            }
        }
    }
    Ok(Assembly { base, code, labels })
}

/// What the assembler makes of an instruction's text at that address.
pub(crate) fn canonical<D: Dialect>(text: &str, pc: u32, len: u8, target: D::Target) -> Option<u64> {
    let (text, extra) = split_unknown(text, 1).ok()?;
    let tokens = tokens::<D>(text, 1).ok()?;
    let found = *encodings::<D>(&tokens, target, (len == 8, extra), &mut Stuck::default()).first()?;
    let mut word = found.word | extra;
    if let Some(field) = found.label
        && let Address::Number(value) = address(&tokens.get(field.token)?.kind)?
    {
        word |= field.place(value, D::origin(pc, found.len))?;
    }
    Some(word)
}
