//! Tokens of assembly text.

use super::disasm::SPECIAL;

/// A token and the column (from 1) it begins at.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    pub(super) column: usize,
    pub(super) kind: Kind,
}

/// What a token is.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind {
    Word(String),
    Open,
    Close,
    /// `$r4l`: class letter, number, suffix.
    Reg(char, u32, Option<char>),
    /// `$sr2`, `$clock`.
    Special(u8),
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

/// A memory operand: space letter, index, base register, offset, post-increment.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Memory {
    pub(super) letter: char,
    pub(super) index: Option<u32>,
    pub(super) base: Option<(char, u32)>,
    pub(super) offset: i64,
    pub(super) post: Option<i64>,
}

impl Kind {
    /// The token as an error message shows it.
    pub(super) fn describe(&self) -> String {
        match self {
            Kind::Word(word) => format!("`{word}`"),
            Kind::Open => "`(`".into(),
            Kind::Close => "`)`".into(),
            Kind::Reg(class, num, suffix) => {
                format!("`${class}{num}{}`", suffix.map(String::from).unwrap_or_default())
            }
            Kind::Special(num) => format!("special register {num}"),
            Kind::Vec(_) => "register vector".into(),
            Kind::Discard => "`#`".into(),
            Kind::Number(value) if *value < 0 => format!("`-{:#x}`", value.unsigned_abs()),
            Kind::Number(value) => format!("`{value:#x}`"),
            Kind::Label(name) => format!("`#{name}`"),
            Kind::Memory(memory) => match memory.index {
                Some(index) => format!("`{}{index}[]` operand", memory.letter),
                None => format!("`{}[]` operand", memory.letter),
            },
        }
    }
}

/// A place in a line and what is wrong there.
pub(super) type TokenError = (usize, String);

/// A number: hexadecimal with 0x, else decimal; at most 64 bits with a sign.
pub(super) fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) if !hex.starts_with('+') => i64::from_str_radix(hex, 16).ok()?,
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
fn register(name: &str) -> Option<Kind> {
    if let Some(num) = SPECIAL.iter().position(|special| !special.is_empty() && *special == name) {
        return Some(Kind::Special(num as u8));
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
        "l" | "h" | "d" | "q" if class == "r" => suffix.chars().next(),
        _ => return None,
    };
    match class {
        "sr" => u8::try_from(num).ok().map(Kind::Special),
        "r" | "a" | "c" | "t" | "s" | "o" => Some(Kind::Reg(class.chars().next()?, num, suffix)),
        _ => None,
    }
}

/// What stands between the brackets of a memory operand.
fn address(letter: char, index: Option<u32>, text: &str) -> Option<Memory> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let base_register = |text: &str| match register(text.strip_prefix('$')?)? {
        Kind::Reg(class, num, None) => Some((class, num)),
        _ => None,
    };
    if let Some((base, post)) = text.split_once("++") {
        let base = if number(base) == Some(0) { None } else { Some(base_register(base)?) };
        return Some(Memory { letter, index, base, offset: 0, post: Some(number(post)?) });
    }
    if !text.starts_with('$') {
        return Some(Memory { letter, index, base: None, offset: number(&text)?, post: None });
    }
    let (base, offset) = match text.find(['+', '-']) {
        Some(at) => (&text[..at], number(text[at..].strip_prefix('+').unwrap_or(&text[at..]))?),
        None => (text.as_str(), 0),
    };
    Some(Memory { letter, index, base: Some(base_register(base)?), offset, post: None })
}

/// Splits a line into tokens. `first_column` is the column of its first character.
pub(super) fn tokens(line: &str, first_column: usize) -> Result<Vec<Token>, TokenError> {
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
                    let mut letters = word.chars();
                    let bad = || (column, format!("`{}` is no memory operand", &rest[..=close]));
                    let letter = letters.next().ok_or_else(bad)?;
                    let digits = letters.as_str();
                    let index = match digits {
                        "" => None,
                        _ if digits.len() <= 3 && digits.bytes().all(|c| c.is_ascii_digit()) => {
                            digits.parse().ok()
                        }
                        _ => return Err(bad()),
                    };
                    at += close + 1;
                    Kind::Memory(address(letter, index, &rest[end + 1..close]).ok_or_else(bad)?)
                } else if word.is_empty() {
                    return Err((column, format!("unexpected `{c}`")));
                } else {
                    at += end;
                    word_kind(word).ok_or_else(|| (column, format!("`{word}` is no operand")))?
                }
            }
        };
        found.push(Token { column, kind });
    }
    Ok(found)
}

fn word_kind(word: &str) -> Option<Kind> {
    if word.contains(':') {
        let components = word.split(':').map(|component| match component {
            "#" => Some(None),
            _ => match register(component.strip_prefix('$')?)? {
                Kind::Reg('r', num, None) => Some(Some(num)),
                _ => None,
            },
        });
        return components.collect::<Option<Vec<_>>>().map(Kind::Vec);
    }
    match word.chars().next()? {
        '$' => register(&word[1..]),
        '#' if word.len() == 1 => Some(Kind::Discard),
        '#' => is_label(&word[1..]).then(|| Kind::Label(word[1..].to_string())),
        '0'..='9' | '-' => number(word).map(Kind::Number),
        c if c.is_ascii_lowercase() => {
            word.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_').then(|| Kind::Word(word.to_string()))
        }
        _ => None,
    }
}

/// True for a name a label may have.
pub(super) fn is_label(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}
