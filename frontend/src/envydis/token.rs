//! Splits assembly text into tokens.

use super::dialect::Dialect;

/// A token and the column (from 1) it begins at.
#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    pub(crate) column: usize,
    pub(crate) kind: Kind,
}

/// What a token is.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Word(String),
    Open,
    Close,
    /// `$r4l`: class, number, suffix.
    Reg(&'static str, u32, Option<char>),
    /// `$sr2`, `$clock`.
    Special(u8),
    /// A register without number, `$flags`.
    Named(&'static str),
    /// `$r0:#:$r1`
    Vec(Vec<Option<u32>>),
    /// `#`
    Discard,
    Number(i64),
    /// `#name`
    Label(String),
    /// `c1[$a1+0x20]`
    Memory(Memory),
}

/// A memory operand: space, index, base register (class, number, suffix), offset, post-increment.
#[derive(Clone, PartialEq, Debug)]
pub struct Memory {
    pub(crate) space: String,
    pub(crate) index: Option<u32>,
    pub(crate) base: Option<(&'static str, u32, Option<char>)>,
    pub(crate) offset: i64,
    pub(crate) post: Option<i64>,
}

impl Kind {
    /// The token as an error message shows it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Kind::Word(word) => format!("`{word}`"),
            Kind::Open => "`(`".into(),
            Kind::Close => "`)`".into(),
            Kind::Reg(class, num, suffix) => {
                format!("`${class}{num}{}`", suffix.map(String::from).unwrap_or_default())
            }
            Kind::Special(num) => format!("special register {num}"),
            Kind::Named(name) => format!("`${name}`"),
            Kind::Vec(_) => "register vector".into(),
            Kind::Discard => "`#`".into(),
            Kind::Number(value) if *value < 0 => format!("`-{:#x}`", value.unsigned_abs()),
            Kind::Number(value) => format!("`{value:#x}`"),
            Kind::Label(name) => format!("`#{name}`"),
            Kind::Memory(memory) => match memory.index {
                Some(index) => format!("`{}{index}[]` operand", memory.space),
                None => format!("`{}[]` operand", memory.space),
            },
        }
    }
}

/// A place in a line and what is wrong there.
pub(crate) type TokenError = (usize, String);

/// A number: hexadecimal with 0x, else decimal; at most 64 bits with a sign, or 64 hexadecimal ones without.
pub(crate) fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) if !hex.starts_with('+') => match u64::from_str_radix(hex, 16).ok()? {
            value if negative => i64::try_from(value).ok()?,
            value => value as i64,
        },
        Some(_) => return None,
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse().ok()?,
        None => return None,
    };
    Some(if negative { -value } else { value })
}

/// Characters that end a word.
fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | ',')
}

/// A register name without its `$`.
fn register<D: Dialect>(name: &str) -> Option<Kind> {
    if let Some(kind) = D::named(name) {
        return Some(kind);
    }
    let letters = name.len() - name.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
    let (class, rest) = name.split_at(letters);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (num, suffix) = rest.split_at(digits);
    if num.is_empty() || num.len() > 4 {
        return None;
    }
    let num: u32 = num.parse().ok()?;
    let suffix = match suffix {
        "" => None,
        "l" | "h" | "d" | "q" if D::SUFFIXED.contains(&class) => suffix.chars().next(),
        _ => return None,
    };
    match class {
        "sr" => u8::try_from(num).ok().map(Kind::Special),
        _ => {
            let class = D::REGISTERS.iter().find(|known| **known == class)?;
            Some(Kind::Reg(class, num, suffix))
        }
    }
}

/// What stands between the brackets of a memory operand.
fn address<D: Dialect>(space: &str, index: Option<u32>, text: &str) -> Option<Memory> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let base_register = |text: &str| match register::<D>(text.strip_prefix('$')?)? {
        Kind::Reg(class, num, suffix) => Some((class, num, suffix)),
        _ => None,
    };
    let memory = Memory { space: space.to_string(), index, base: None, offset: 0, post: None };
    if let Some((base, post)) = text.split_once("++") {
        let base = if number(base) == Some(0) { None } else { Some(base_register(base)?) };
        return Some(Memory { base, post: Some(number(post)?), ..memory });
    }
    if !text.starts_with('$') {
        return Some(Memory { offset: number(&text)?, ..memory });
    }
    let (base, offset) = match text.find(['+', '-']) {
        Some(at) => (&text[..at], number(text[at..].strip_prefix('+').unwrap_or(&text[at..]))?),
        None => (text.as_str(), 0),
    };
    Some(Memory { base: Some(base_register(base)?), offset, ..memory })
}

/// Splits a line into tokens. `first_column` is the column of its first character.
pub(crate) fn tokens<D: Dialect>(line: &str, first_column: usize) -> Result<Vec<Token>, TokenError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = line[at..].chars().next() {
        let column = first_column + line[..at].chars().count();
        let rest = &line[at..];
        let kind = match c {
            _ if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '(' if rest.starts_with("()") => {
                at += 2;
                Kind::Vec(Vec::new())
            }
            '(' => {
                at += 1;
                Kind::Open
            }
            ')' => {
                at += 1;
                Kind::Close
            }
            _ => {
                let end = rest.find(is_delimiter).unwrap_or(rest.len());
                let word = &rest[..end];
                if rest[end..].starts_with('[') {
                    let close = rest.find(']').ok_or((column, "`[` without `]`".to_string()))?;
                    let bad = || (column, format!("`{}` is no memory operand", &rest[..=close]));
                    let space = word.trim_end_matches(|c: char| c.is_ascii_digit());
                    let digits = &word[space.len()..];
                    if space.is_empty() || digits.len() > 3 || !space.bytes().all(|c| c.is_ascii_alphabetic())
                    {
                        return Err(bad());
                    }
                    let index = if digits.is_empty() { None } else { digits.parse().ok() };
                    at += close + 1;
                    Kind::Memory(address::<D>(space, index, &rest[end + 1..close]).ok_or_else(bad)?)
                } else if word.is_empty() {
                    return Err((column, format!("unexpected `{c}`")));
                } else {
                    at += end;
                    word_kind::<D>(word).ok_or_else(|| (column, format!("`{word}` is no operand")))?
                }
            }
        };
        found.push(Token { column, kind });
    }
    Ok(found)
}

fn word_kind<D: Dialect>(word: &str) -> Option<Kind> {
    if word.contains(':') {
        let components = word.split(':').map(|component| match component {
            "#" => Some(None),
            _ => match register::<D>(component.strip_prefix('$')?)? {
                Kind::Reg("r", num, None) => Some(Some(num)),
                _ => None,
            },
        });
        return components.collect::<Option<Vec<_>>>().map(Kind::Vec);
    }
    match word.chars().next()? {
        '$' => register::<D>(&word[1..]),
        '#' if word.len() == 1 => Some(Kind::Discard),
        '#' => is_label(&word[1..]).then(|| Kind::Label(word[1..].to_string())),
        '-' => number(word).map(Kind::Number),
        // `2d` is a word.
        '0'..='9' => number(word).map(Kind::Number).or_else(|| plain_word(word)),
        c if c.is_ascii_lowercase() => plain_word(word),
        _ => None,
    }
}

fn plain_word(word: &str) -> Option<Kind> {
    let plain = word.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    plain.then(|| Kind::Word(word.to_string()))
}

/// True for a name a label may have.
pub(crate) fn is_label(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}
