//! Text to words.
//!
//! A line holds labels (`name:`), an instruction in the words of the listing, a directive (`.u8`, `.u16`,
//! `.u32`, `.u64` with numbers; `.align n`) or nothing. Comments: `;` and `//` to the end of the line,
//! `/* */` within it. `#name` stands for the address of a label.
//!
//! Of the forms an instruction has the short one is taken, `long` in front forbids it. Long instructions stand
//! at multiples of eight: where one would not, the short one before it becomes long.
//!
//! Lines of a listing (`00000008: 10000c1d 0403c780  B  mov ...`) are taken as they are: the words count, and
//! the text must be what they decode to. So bits that no operand stands for survive: those that every chip
//! ignores are not in the text at all ([`Inst::canonical`](super::Inst::canonical)), others are shown as
//! `[unknown: ...]`, which is accepted without words, too.

use std::collections::BTreeMap;

use super::asm_match::{Match, Stuck, encodings};
use super::asm_token::{Kind, Token, is_label, number, tokens};
use super::decode::decode_word;
use super::table::table;
use super::{Chip, Inst, ProgramType, Target};
use crate::isa::{SourceError, SourceErrors};

/// Assembled code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assembly {
    /// Address of the first byte: 0, or that of a listing's first line.
    pub base: u32,
    /// The code.
    pub code: Vec<u8>,
    /// Addresses of the labels.
    pub labels: BTreeMap<String, u32>,
}

/// A thing that takes room in the code.
enum Item {
    Label(String),
    /// An instruction: its encodings, the chosen one, bits to add, the label it names.
    Inst {
        encodings: Vec<Match>,
        chosen: usize,
        extra: u64,
        label: Option<(String, usize)>,
    },
    Raw(Vec<u8>),
    Align(u32),
    /// A listing's address column.
    Address(u32),
}

struct Placed {
    line: usize,
    column: usize,
    item: Item,
}

/// Assembles a text, whether source or listing.
pub fn assemble(text: &str, target: Target) -> Result<Assembly, SourceErrors> {
    let mut items = Vec::new();
    let mut errors = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut parser = Line { line: index + 1, target, items: &mut items };
        if let Err((column, reason)) = parser.parse(&without_comments(line)) {
            errors.push(SourceError { line: index + 1, column, reason });
        }
    }
    if !errors.is_empty() {
        return Err(SourceErrors(errors));
    }
    layout(items).map_err(|error| SourceErrors(vec![error]))
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
type LineError = (usize, String);

struct Line<'a> {
    line: usize,
    target: Target,
    items: &'a mut Vec<Placed>,
}

impl Line<'_> {
    fn push(&mut self, column: usize, item: Item) {
        self.items.push(Placed { line: self.line, column, item });
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
        let (text, extra) = split_unknown(rest, column)?;
        let mut tokens = tokens(text, column)?;
        let long = matches!(tokens.first(), Some(Token { kind: Kind::Word(word), .. }) if word == "long");
        if long {
            tokens.remove(0);
        }
        let Some(first) = tokens.first() else {
            return Err((column, "`long` needs an instruction".into()));
        };
        let first_column = first.column;
        let encodings = self.encodings(&tokens, long, column + text.chars().count())?;
        let label = encodings.iter().find_map(|found| found.label).and_then(|field| {
            let token = tokens.get(field.token)?;
            match &token.kind {
                Kind::Label(name) => Some((name.clone(), token.column)),
                _ => None,
            }
        });
        self.push(first_column, Item::Inst { encodings, chosen: 0, extra, label });
        Ok(())
    }

    /// The encodings of an instruction, or what is wrong with it.
    fn encodings(&self, tokens: &[Token], long: bool, end: usize) -> Result<Vec<Match>, LineError> {
        let mut stuck = Stuck::default();
        let mut found = encodings(table(), tokens, self.target, long, &mut stuck);
        // An encoding counts only if it says what the text says.
        let at_zero = |found: &Match| decode_word(found.word, 0, self.target).is_ok();
        found.retain(at_zero);
        if !found.is_empty() {
            return Ok(found);
        }
        let column = tokens.get(stuck.token).map_or(end, |token| token.column);
        let elsewhere =
            |target: Target| !encodings(table(), tokens, target, long, &mut Stuck::default()).is_empty();
        let first = tokens.first().map_or(end, |token| token.column);
        let Target { chip, program } = self.target;
        let chips: Vec<&str> = Chip::ALL
            .into_iter()
            .filter(|&chip| elsewhere(Target { chip, program }))
            .map(Chip::name)
            .collect();
        if !chips.is_empty() {
            return Err((first, format!("{chip} has no such instruction; these have: {}", chips.join(" "))));
        }
        let programs: Vec<&str> = ProgramType::ALL
            .into_iter()
            .filter(|&program| elsewhere(Target { chip, program }))
            .map(ProgramType::name)
            .collect();
        if !programs.is_empty() {
            let programs = programs.join(" ");
            return Err((
                first,
                format!("{} programs have no such instruction; these have: {programs}", program.name()),
            ));
        }
        if long && !encodings(table(), tokens, self.target, false, &mut Stuck::default()).is_empty() {
            return Err((first, "there is no long form of this instruction".into()));
        }
        let got =
            tokens.get(stuck.token).map_or("the end of the line".to_string(), |token| token.kind.describe());
        // Past a handful of alternatives a list does not help.
        let reason = if stuck.token == 0 || stuck.expected.len() > 8 {
            match tokens.get(stuck.token).map(|token| &token.kind) {
                Some(Kind::Word(word)) if stuck.token == 0 => format!("unknown instruction `{word}`"),
                _ => format!("unexpected {got}"),
            }
        } else {
            format!("unexpected {got}, wanted {}", stuck.expected.join(" or "))
        };
        Err((column, reason))
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
            if words == 1 && raw.first().is_some_and(|byte| byte & 1 == 0) {
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
        let inst = match (low, high) {
            (Some(low), _) if low & 1 == 0 && raw.len() == 4 => {
                decode_word(u64::from(low), address, self.target).ok()
            }
            (Some(low), Some(high)) => {
                decode_word(u64::from(high) << 32 | u64::from(low), address, self.target).ok()
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

/// Chooses forms, places everything and fills in labels.
fn layout(mut items: Vec<Placed>) -> Result<Assembly, SourceError> {
    let error =
        |placed: &Placed, reason: String| SourceError { line: placed.line, column: placed.column, reason };
    let base = match items.iter().find(|placed| !matches!(placed.item, Item::Label(_))) {
        Some(Placed { item: Item::Address(base), .. }) => *base,
        _ => 0,
    };
    let at_eight = "a long instruction must stand at a multiple of 8";
    let mut pc = u64::from(base);
    let mut previous = None;
    for index in 0..items.len() {
        match &items[index].item {
            Item::Label(_) | Item::Address(_) => continue,
            Item::Inst { encodings, chosen, .. } => {
                let len = encodings[*chosen].len;
                if len == 8 && !pc.is_multiple_of(8) {
                    // The short instruction before this one takes its long form.
                    let before = previous.map(|previous: usize| &mut items[previous].item);
                    let Some(Item::Inst { encodings, chosen, .. }) = before else {
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
        if pc > 1 << 24 {
            return Err(error(&items[index], "code space ends at 0x1000000".into()));
        }
        previous = Some(index);
    }
    let mut labels = BTreeMap::new();
    let mut pc = base;
    for placed in &items {
        match &placed.item {
            Item::Label(name) => {
                if labels.insert(name.clone(), pc).is_some() {
                    return Err(error(placed, format!("label `{name}` stands twice")));
                }
            }
            Item::Address(address) => {
                if pc != *address {
                    return Err(error(placed, format!("the line before ends at {pc:#x}")));
                }
            }
            Item::Inst { encodings, chosen, .. } => pc += u32::from(encodings[*chosen].len),
            Item::Raw(raw) => pc += raw.len() as u32,
            Item::Align(align) => pc = pc.next_multiple_of(*align),
        }
    }
    let mut code = Vec::new();
    for placed in &items {
        match &placed.item {
            Item::Label(_) | Item::Address(_) => {}
            Item::Raw(raw) => code.extend_from_slice(raw),
            Item::Align(align) => {
                while !(code.len() as u64 + u64::from(base)).is_multiple_of(u64::from(*align)) {
                    code.push(0);
                }
            }
            Item::Inst { encodings, chosen, extra, label } => {
                let found = encodings[*chosen];
                let mut word = found.word | extra;
                if let (Some(field), Some((name, column))) = (found.label, label) {
                    let at = |reason| SourceError { line: placed.line, column: *column, reason };
                    let address = labels.get(name).ok_or_else(|| at(format!("no label `{name}`")))?;
                    let bits = field.place(*address);
                    word |= bits.ok_or_else(|| at(format!("label `{name}` at {address:#x} does not fit")))?;
                }
                code.extend_from_slice(&word.to_le_bytes()[..found.len as usize]);
            }
        }
    }
    Ok(Assembly { base, code, labels })
}

impl Inst {
    /// What the assembler makes of the instruction's text. It differs from `raw` only in bits the text does not
    /// show: those of the `Ignore` fields (facts, section 2: predicates of instructions that have none, `$c`
    /// enables that are not looked at), word 0 bits 23-24 where no operand can be a `c[]`, word 1 bit 21 beside
    /// `p[]`. One difference has a meaning: whether an `o[]` or `#` that `ld` and `cvt` to 8 bits write is 16 or
    /// 32 bits wide does not show, and 32 is taken.
    pub fn canonical(&self) -> u64 {
        let text = self.to_string();
        let Ok((text, extra)) = split_unknown(&text, 1) else { return self.raw };
        let Ok(tokens) = tokens(text, 1) else { return self.raw };
        let found = encodings(table(), &tokens, self.target, self.len == 8, &mut Stuck::default());
        found.first().map_or(self.raw, |found| found.word | extra)
    }
}
