//! Typed access to the keys of a parsed TOML table, with errors that name file, line and key.
//!
//! Tables are read key by key because serde's derived readers lose what a good message needs (the index in an array of tables)
//! and some values (numbers above `i64::MAX`, `f32` rounded once).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeArray, DeFloat, DeInteger, DeTable, DeValue};

use super::error::{LaunchFileError, Result};

/// The text being read: for line numbers and the file's name in messages.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub file: &'a Path,
    pub text: &'a str,
}

impl Source<'_> {
    /// An error at `span` of the text.
    pub fn error(&self, span: Option<Range<usize>>, key: &str, reason: String) -> LaunchFileError {
        let line = span.map(|s| {
            let before = self.text.as_bytes().iter().take(s.start);
            before.filter(|&&b| b == b'\n').count() + 1
        });
        LaunchFileError { file: self.file.to_path_buf(), line, key: key.to_owned(), reason }
    }
}

/// One table of the file.
pub(super) struct Table<'a> {
    source: Source<'a>,
    /// The table's own path, empty for the root.
    path: String,
    span: Range<usize>,
    table: &'a DeTable<'a>,
    /// Keys that have been asked for: the allowed ones.
    known: RefCell<BTreeSet<&'static str>>,
}

/// One value of the file, with its path.
#[derive(Clone)]
pub(super) struct Value<'a> {
    source: Source<'a>,
    pub path: String,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Table<'a> {
    pub fn new(source: Source<'a>, path: String, span: Range<usize>, table: &'a DeTable<'a>) -> Self {
        Table { source, path, span, table, known: RefCell::default() }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of `key`, which becomes an allowed key.
    pub fn get(&self, key: &'static str) -> Option<Value<'a>> {
        self.known.borrow_mut().insert(key);
        let value = self.table.get(key)?;
        Some(Value { source: self.source, path: self.path_of(key), value })
    }

    /// The value of `key`, or an error that says it is missing.
    pub fn need(&self, key: &'static str, what: &str) -> Result<Value<'a>> {
        self.get(key).ok_or_else(|| self.error_at(key, format!("missing; {what}")))
    }

    /// All entries, for tables whose keys are names.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + '_ {
        self.table.iter().map(|(key, value)| {
            let key: &str = key.get_ref();
            (key, Value { source: self.source, path: self.path_of(key), value })
        })
    }

    /// Returns an error for the first key that was not read.
    pub fn finish(&self) -> Result<()> {
        let known = self.known.borrow();
        for key in self.table.keys() {
            if !known.contains(key.get_ref().as_ref()) {
                let allowed: Vec<_> = known.iter().copied().collect();
                let path = self.path_of(key.get_ref());
                let reason = format!("unknown key; allowed are {}", allowed.join(", "));
                return Err(self.source.error(Some(key.span()), &path, reason));
            }
        }
        Ok(())
    }

    /// An error about the table as a whole.
    pub fn error(&self, reason: impl Into<String>) -> LaunchFileError {
        self.source.error(Some(self.span.clone()), &self.path, reason.into())
    }

    /// An error about a key that is not there.
    pub fn error_at(&self, key: &str, reason: impl Into<String>) -> LaunchFileError {
        self.source.error(Some(self.span.clone()), &self.path_of(key), reason.into())
    }

    /// Complains if any of `keys` is given, because of `why`.
    pub fn refuse(&self, keys: &[&'static str], why: &str) -> Result<()> {
        for key in keys {
            if let Some(value) = self.get(key) {
                return Err(value.error(why));
            }
        }
        Ok(())
    }

    /// The one key of `keys` that is given, if any; two are an error.
    pub fn one_of(&self, keys: &[&'static str]) -> Result<Option<(&'static str, Value<'a>)>> {
        let mut found: Option<(&'static str, Value<'a>)> = None;
        for key in keys {
            if let Some(value) = self.get(key) {
                if let Some((first, _)) = found {
                    return Err(value.error(format!(
                        "given beside `{first}`; only one of {} is allowed",
                        keys.join(", ")
                    )));
                }
                found = Some((key, value));
            }
        }
        Ok(found)
    }

    /// The table under `key`, if it is there.
    pub fn table(&self, key: &'static str) -> Result<Option<Table<'a>>> {
        self.get(key).map(|v| v.table()).transpose()
    }

    /// The array of tables under `key`, empty if it is not there.
    pub fn tables(&self, key: &'static str) -> Result<Vec<Table<'a>>> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        value.list("an array of tables")?.iter().map(Value::table).collect()
    }
}

impl<'a> Value<'a> {
    /// An error about this value.
    pub fn error(&self, reason: impl Into<String>) -> LaunchFileError {
        self.source.error(Some(self.value.span()), &self.path, reason.into())
    }

    fn wrong(&self, wanted: &str) -> LaunchFileError {
        let shown = match self.value.get_ref() {
            DeValue::String(s) => format!("{s:?}"),
            DeValue::Integer(i) => i.to_string(),
            DeValue::Float(f) => f.to_string(),
            DeValue::Boolean(b) => b.to_string(),
            other => format!("a value of type {}", other.type_str()),
        };
        self.error(format!("is {shown}, must be {wanted}"))
    }

    pub fn table(&self) -> Result<Table<'a>> {
        match self.value.get_ref() {
            DeValue::Table(t) => Ok(Table::new(self.source, self.path.clone(), self.value.span(), t)),
            _ => Err(self.wrong("a table")),
        }
    }

    /// The elements of an array.
    pub fn list(&self, wanted: &str) -> Result<Vec<Value<'a>>> {
        let DeValue::Array(array) = self.value.get_ref() else {
            return Err(self.wrong(wanted));
        };
        let array: &DeArray<'a> = array;
        let element = |(i, value)| Value { source: self.source, path: format!("{}[{i}]", self.path), value };
        Ok(array.iter().enumerate().map(element).collect())
    }

    pub fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    pub fn is_str(&self) -> bool {
        self.value.get_ref().is_str()
    }

    pub fn str(&self, wanted: &str) -> Result<&'a str> {
        self.value.get_ref().as_str().ok_or_else(|| self.wrong(wanted))
    }

    /// A string that is not empty.
    pub fn name(&self, wanted: &str) -> Result<&'a str> {
        let s = self.str(wanted)?;
        if s.is_empty() { Err(self.wrong(wanted)) } else { Ok(s) }
    }

    /// One of the words in `allowed`: its index.
    pub fn word(&self, allowed: &[&str]) -> Result<usize> {
        let wanted = format!("one of {}", allowed.join(", "));
        let s = self.str(&wanted)?;
        allowed.iter().position(|a| *a == s).ok_or_else(|| self.wrong(&wanted))
    }

    /// An integer from `min` to `max`.
    pub fn integer(&self, min: i128, max: i128) -> Result<i128> {
        let wanted = || format!("an integer from {} to {}", bound(min), bound(max));
        let DeValue::Integer(i) = self.value.get_ref() else {
            return Err(self.wrong(&wanted()));
        };
        integer_of(i).filter(|n| (min..=max).contains(n)).ok_or_else(|| self.wrong(&wanted()))
    }

    pub fn u32(&self, min: u32, max: u32) -> Result<u32> {
        self.integer(min.into(), max.into()).map(|n| n as u32)
    }

    /// A 64-bit number: an integer, or a string with one, since TOML promises integers of 63 bits only.
    pub fn u64(&self) -> Result<u64> {
        if let DeValue::String(text) = self.value.get_ref() {
            let (digits, radix) = text.strip_prefix("0x").map_or((text.as_ref(), 10), |digits| (digits, 16));
            // Nothing but digits: Rust takes a sign as well.
            let digits = digits.replace('_', "");
            let is_plain = digits.chars().all(|digit| digit.is_digit(radix));
            let parsed = u64::from_str_radix(if is_plain { &digits } else { "" }, radix);
            let wanted = "a string with a decimal number, or a hexadecimal one as in \"0xffff800000100000\", of 64 bits";
            return parsed.map_err(|_| self.wrong(wanted));
        }
        self.integer(0, u64::MAX.into()).map(|n| n as u64)
    }

    /// A floating-point number; integers are taken too, and `nan`, `inf`. A number that rounds to infinity is an error.
    pub fn f32(&self) -> Result<f32> {
        // Parsed straight to f32: by way of f64 it would be rounded twice.
        let value = self.number(|s| s.parse::<f32>().ok(), |n| n as f32)?;
        if value.is_infinite() && !self.is_infinity() {
            Err(self.wrong("at most 3.4028235e38, or inf"))
        } else {
            Ok(value)
        }
    }

    /// As [`Value::f32`], in double precision.
    pub fn f64(&self) -> Result<f64> {
        let value = self.number(|s| s.parse::<f64>().ok(), |n| n as f64)?;
        if value.is_infinite() && !self.is_infinity() {
            Err(self.wrong("at most 1.7976931348623157e308, or inf"))
        } else {
            Ok(value)
        }
    }

    fn number<T>(&self, float: impl Fn(&str) -> Option<T>, int: impl Fn(i128) -> T) -> Result<T> {
        let value = match self.value.get_ref() {
            DeValue::Float(f) => float_text(f).and_then(|s| float(&s)),
            DeValue::Integer(i) => integer_of(i).map(int),
            _ => None,
        };
        value.ok_or_else(|| self.wrong("a number"))
    }

    /// Whether the text itself says infinity.
    fn is_infinity(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Float(f) if f.as_str().ends_with("inf"))
    }
}

/// Bounds of whole words are clearer in hexadecimal.
fn bound(n: i128) -> String {
    if n > 0xffff && (n + 1) & n == 0 { format!("{n:#x}") } else { n.to_string() }
}

fn integer_of(i: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(i.as_str(), i.radix()).ok()
}

/// The text of a float as Rust's parser takes it.
fn float_text(f: &DeFloat<'_>) -> Option<String> {
    Some(f.as_str().replace('_', ""))
}
