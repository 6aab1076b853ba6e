//! GCN's assembler: from text in LLVM's syntax to bytes.
//!
//! A line holds labels (`name:`), an instruction, a directive or nothing. Comments: `;` and `//` to the end of the line, `/* */`
//! within it. `.byte .short .long .quad` (and their other names) put numbers into the code; `.p2align`, `.align` and `.space`
//! fill with zeros. Directives that describe the object file are skipped: symbols, sizes, kernel descriptors, metadata, and all
//! sections but `.text`.
//!
//! A mnemonic without `_e32`, `_e64`, `_sdwa` or `_dpp` takes the first encoding that can express the instruction. A branch takes
//! a label or the number of dwords to jump over. A literal can be a label or the difference of two labels.
//!
//! A line of a listing (`00000008: 7e000280  B  v_mov_b32_e32 v0, 0`) is accepted as it is. Its words become the code, and its
//! text must be what they decode to. So bits without a meaning survive.

use std::collections::BTreeMap;

use super::asm_inst::{Parsed, parse};
use super::asm_operand::number;
use super::decode::decode;
use super::encode::encode_row;
use super::operand::Operand;
use super::table::Row;
use super::{Chip, Inst};
use crate::error::{SourceError, SourceErrors};

/// Assembled code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assembly {
    /// Address of the first byte: 0, or that of a listing's first line.
    pub base: u64,
    /// The code.
    pub code: Vec<u8>,
    /// Addresses of the labels.
    pub labels: BTreeMap<String, u64>,
}

/// What is wrong, and in which column.
pub(super) type LineError = (usize, String);

/// A number that may name labels: a sum with signs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Expression(pub(super) Vec<(bool, Term)>);

/// Part of a sum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Term {
    /// A number.
    Number(i64),
    /// A label.
    Label(String),
}

impl Expression {
    /// Reads a sum of numbers and labels.
    pub(super) fn parse(text: &str) -> Option<Expression> {
        let mut terms = Vec::new();
        let mut rest = text.trim();
        let mut negative = false;
        loop {
            if let Some(after) = rest.strip_prefix('-') {
                negative = !negative;
                rest = after.trim_start();
                continue;
            }
            let end = rest.find(['+', '-', ' ']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let term = match number(word) {
                Some(value) => Term::Number(value),
                None if is_label(word) => Term::Label(word.to_owned()),
                None => return None,
            };
            terms.push((negative, term));
            rest = after.trim_start();
            match rest.chars().next() {
                None => return Some(Expression(terms)),
                Some('+') => negative = false,
                Some('-') => negative = true,
                Some(_) => return None,
            }
            rest = rest[1..].trim_start();
        }
    }

    fn value(&self, labels: &BTreeMap<String, u64>) -> Result<i64, String> {
        let mut sum = 0i64;
        for (negative, term) in &self.0 {
            let value = match term {
                Term::Number(value) => *value,
                Term::Label(name) => match labels.get(name) {
                    Some(address) => *address as i64,
                    None => return Err(format!("there is no label `{name}`")),
                },
            };
            sum = if *negative { sum.wrapping_sub(value) } else { sum.wrapping_add(value) };
        }
        Ok(sum)
    }
}

fn is_label(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | '$');
    name.starts_with(first)
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '@'))
}

/// What becomes of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// The dwords that a branch jumps over.
    Branch,
    /// The literal of a source.
    Literal,
}

/// A thing that takes room in the code.
enum Item {
    Label(String),
    Inst { inst: Box<Inst>, row: &'static Row, expression: Option<(Expression, Use)> },
    Data { bytes: usize, value: Expression },
    Raw(Vec<u8>),
    Align(u64),
    Address(u64),
}

struct Statement {
    line: usize,
    column: usize,
    item: Item,
}

/// Assembles a text, whether source or listing.
///
/// # Errors
///
/// What is wrong with the text, line by line.
pub fn assemble(text: &str, chip: impl Into<Chip>) -> Result<Assembly, SourceErrors> {
    let mut source = Source { chip: chip.into(), items: Vec::new(), text_section: true, until: None };
    let mut errors = Vec::new();
    let mut in_comment = false;
    for (index, line) in text.lines().enumerate() {
        let line = without_comments(line, &mut in_comment);
        if let Err((column, reason)) = source.line(&line, index + 1) {
            errors.push(SourceError { line: index + 1, column, reason });
        }
    }
    if !errors.is_empty() {
        return Err(SourceErrors(errors));
    }
    layout(source.items).map_err(|error| SourceErrors(vec![error]))
}

/// The line with comments blanked out, so that columns stay.
fn without_comments(line: &str, in_comment: &mut bool) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let mut quoted = false;
    while let Some(c) = rest.chars().next() {
        let size = if *in_comment && rest.starts_with("*/") {
            *in_comment = false;
            out.push_str("  ");
            2
        } else if *in_comment {
            out.push(' ');
            c.len_utf8()
        } else if !quoted && (c == ';' || rest.starts_with("//")) {
            break;
        } else if !quoted && rest.starts_with("/*") {
            *in_comment = true;
            out.push_str("  ");
            2
        } else {
            quoted ^= c == '"';
            out.push(c);
            c.len_utf8()
        };
        rest = &rest[size..];
    }
    out
}

struct Source {
    chip: Chip,
    items: Vec<Statement>,
    /// Whether the current section is `.text`.
    text_section: bool,
    /// The directive that ends what is being skipped.
    until: Option<&'static str>,
}

/// Directives that begin what is not code, and what ends it.
const BLOCKS: [(&str, &str); 5] = [
    (".amd_kernel_code_t", ".end_amd_kernel_code_t"),
    (".amdhsa_kernel", ".end_amdhsa_kernel"),
    (".amdgpu_metadata", ".end_amdgpu_metadata"),
    (".amd_amdgpu_hsa_metadata", ".end_amd_amdgpu_hsa_metadata"),
    (".amd_amdgpu_pal_metadata", ".end_amd_amdgpu_pal_metadata"),
];

/// Directives that concern the object file only.
const IGNORED: [&str; 20] = [
    ".globl",
    ".global",
    ".local",
    ".weak",
    ".protected",
    ".hidden",
    ".internal",
    ".type",
    ".size",
    ".ident",
    ".file",
    ".loc",
    ".comm",
    ".addrsig",
    ".addrsig_sym",
    ".amdgcn_target",
    ".amdgpu_hsa_kernel",
    ".hsa_code_object_version",
    ".hsa_code_object_isa",
    ".amdgpu_lds",
];

impl Source {
    fn push(&mut self, line: usize, column: usize, item: Item) {
        self.items.push(Statement { line, column, item });
    }

    fn line(&mut self, text: &str, line: usize) -> Result<(), LineError> {
        let mut rest = text;
        let column = |rest: &str| text[..text.len() - rest.len()].chars().count() + 1;
        loop {
            rest = rest.trim_start();
            let end = rest.find(|c: char| c.is_whitespace() || c == ':').unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            let Some(after) = after.strip_prefix(':') else { break };
            if self.until.is_some() {
                return Ok(());
            }
            let listing = name.len() == 8 && u32::from_str_radix(name, 16).is_ok();
            if listing && !after.trim().is_empty() {
                return self.listing(name, after, line, column(rest));
            }
            if !is_label(name) {
                return Err((column(rest), format!("`{name}` cannot be a label")));
            }
            if self.text_section {
                self.push(line, column(rest), Item::Label(name.to_owned()));
            }
            rest = after;
        }
        let rest = rest.trim_end();
        if rest.is_empty() {
            return Ok(());
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (name, arguments) = rest.split_at(end);
        if let Some(until) = self.until {
            if name == until {
                self.until = None;
            }
            return Ok(());
        }
        if name.starts_with('.') {
            return self.directive(name, arguments.trim(), line, column(rest));
        }
        // A symbol that is set; the code does not change.
        if arguments.trim_start().starts_with('=') || !self.text_section {
            return Ok(());
        }
        let Parsed { inst, row, expression } =
            parse(rest, self.chip).map_err(|(at, reason)| (column(rest) + at, reason))?;
        self.push(line, column(rest), Item::Inst { inst: Box::new(inst), row, expression });
        Ok(())
    }

    fn directive(
        &mut self,
        name: &str,
        arguments: &str,
        line: usize,
        column: usize,
    ) -> Result<(), LineError> {
        if let Some((_, end)) = BLOCKS.iter().find(|(begin, _)| *begin == name) {
            self.until = Some(end);
            return Ok(());
        }
        let section = match name {
            ".text" => Some(".text"),
            ".data" | ".rodata" | ".bss" => Some(""),
            ".section" | ".pushsection" => Some(arguments.split([',', ' ']).next().unwrap_or("")),
            ".popsection" | ".previous" => Some(".text"),
            _ => None,
        };
        if let Some(section) = section {
            self.text_section = section == ".text" || section.starts_with(".text.");
            return Ok(());
        }
        let known = IGNORED.contains(&name)
            || [".cfi_", ".set", ".equ", ".amdhsa_"].iter().any(|prefix| name.starts_with(prefix));
        if known || !self.text_section {
            return Ok(());
        }
        let bytes = match name {
            ".byte" => 1,
            ".short" | ".hword" | ".2byte" => 2,
            ".long" | ".int" | ".word" | ".4byte" => 4,
            ".quad" | ".8byte" => 8,
            ".p2align" | ".align" | ".balign" => {
                let power = name != ".balign";
                let value = number(arguments.split(',').next().unwrap_or("").trim());
                let value = value.filter(|value| (0..=if power { 16 } else { 1 << 16 }).contains(value));
                let Some(value) = value else {
                    return Err((column, format!("`{arguments}` is no alignment")));
                };
                let align = if power { 1 << value } else { value.max(1) as u64 };
                self.push(line, column, Item::Align(align));
                return Ok(());
            }
            ".space" | ".zero" | ".skip" => {
                let count = number(arguments.split(',').next().unwrap_or("").trim());
                let Some(count) = count.filter(|count| (0..1 << 24).contains(count)) else {
                    return Err((column, format!("`{arguments}` is no number of bytes")));
                };
                self.push(line, column, Item::Raw(vec![0; count as usize]));
                return Ok(());
            }
            _ => return Err((column, format!("there is no directive `{name}`"))),
        };
        for part in arguments.split(',') {
            let Some(value) = Expression::parse(part) else {
                return Err((column, format!("`{}` is no number", part.trim())));
            };
            self.push(line, column, Item::Data { bytes, value });
        }
        Ok(())
    }

    /// A line of a listing: address, words, marks, text.
    fn listing(&mut self, address: &str, after: &str, line: usize, column: usize) -> Result<(), LineError> {
        let address = u64::from_str_radix(address, 16).map_err(|_| (column, "no address".to_owned()))?;
        let mut words = after.split_whitespace();
        let mut bytes = Vec::new();
        let mut text = Vec::new();
        for word in words.by_ref() {
            let hex = bytes.len() < 8 && bytes.len() % 4 == 0 && matches!(word.len(), 2 | 4 | 6 | 8);
            let value = if hex && text.is_empty() { u32::from_str_radix(word, 16).ok() } else { None };
            match value {
                Some(value) => bytes.extend_from_slice(&value.to_le_bytes()[..word.len() / 2]),
                None => {
                    text.push(word);
                    break;
                }
            }
        }
        text.extend(words);
        let marked = text.first().is_some_and(|word| matches!(*word, "B" | "C" | "CB"));
        let text = text[usize::from(marked)..].join(" ");
        let shown = match decode(&bytes, address, self.chip) {
            Ok(inst) if usize::from(inst.len) == bytes.len() => inst.to_string(),
            _ => "??".to_owned(),
        };
        let same = shown.split_whitespace().eq(text.split_whitespace());
        if !text.is_empty() && !same {
            return Err((column, format!("the words are `{shown}`, not `{text}`")));
        }
        self.push(line, column, Item::Address(address));
        self.push(line, column, Item::Raw(bytes));
        Ok(())
    }
}

/// Bytes that an item takes at an address.
fn size(item: &Item, address: u64) -> Result<u64, String> {
    Ok(match item {
        Item::Label(_) | Item::Address(_) => 0,
        Item::Inst { inst, row, .. } => {
            let (_, len) = encode_row(inst, row).ok_or("no encoding says this")?;
            len.into()
        }
        Item::Data { bytes, .. } => *bytes as u64,
        Item::Raw(bytes) => bytes.len() as u64,
        Item::Align(align) => address.next_multiple_of(*align) - address,
    })
}

/// Gives every item its place and writes the code.
fn layout(items: Vec<Statement>) -> Result<Assembly, SourceError> {
    let mut assembly = Assembly::default();
    let mut begun = false;
    let error = |statement: &Statement, reason: String| SourceError {
        line: statement.line,
        column: statement.column,
        reason,
    };
    let mut address = 0;
    for statement in &items {
        match &statement.item {
            Item::Label(name) => {
                if assembly.labels.insert(name.clone(), address).is_some() {
                    return Err(error(statement, format!("`{name}` is there already")));
                }
            }
            Item::Address(given) if !begun => {
                assembly.base = *given;
                address = *given;
                begun = true;
            }
            Item::Address(given) if *given != address => {
                return Err(error(statement, format!("the code is at {address:#x} here")));
            }
            item => {
                begun |= !matches!(item, Item::Address(_));
                address += size(item, address).map_err(|reason| error(statement, reason))?;
            }
        }
    }
    for statement in &items {
        let address = assembly.base + assembly.code.len() as u64;
        let length = size(&statement.item, address).map_err(|reason| error(statement, reason))? as usize;
        match &statement.item {
            Item::Label(_) | Item::Address(_) => {}
            Item::Raw(bytes) => assembly.code.extend_from_slice(bytes),
            Item::Align(_) => assembly.code.resize(assembly.code.len() + length, 0),
            Item::Data { bytes, value } => {
                let value = value.value(&assembly.labels).map_err(|reason| error(statement, reason))?;
                assembly.code.extend_from_slice(&value.to_le_bytes()[..*bytes]);
            }
            Item::Inst { inst, row, expression } => {
                let mut inst = **inst;
                if let Some((expression, place)) = expression {
                    let value =
                        expression.value(&assembly.labels).map_err(|reason| error(statement, reason))?;
                    set_expression(&mut inst, value, *place, expression, address)
                        .map_err(|reason| error(statement, reason))?;
                }
                let (word, len) =
                    encode_row(&inst, row).ok_or_else(|| error(statement, "no encoding says this".into()))?;
                assembly.code.extend_from_slice(&word.to_le_bytes()[..usize::from(len)]);
            }
        }
    }
    Ok(assembly)
}

/// Puts the value of an expression where it belongs. `address` is that of the instruction.
fn set_expression(
    inst: &mut Inst,
    value: i64,
    place: Use,
    expression: &Expression,
    address: u64,
) -> Result<(), String> {
    let relative = expression.0.iter().any(|(_, term)| matches!(term, Term::Label(_)));
    match place {
        Use::Branch => {
            let bytes = value.wrapping_sub(address as i64).wrapping_sub(4);
            let dwords = if relative { bytes >> 2 } else { value };
            if relative && bytes % 4 != 0
                || !(-0x8000..0x1_0000).contains(&dwords)
                || relative && dwords > 0x7fff
            {
                return Err("too far to branch".into());
            }
            inst.simm16 = dwords as u16;
        }
        Use::Literal => {
            let literal = inst.srcs.iter_mut().find(|arg| matches!(arg.operand, Operand::Literal(_)));
            if let Some(arg) = literal {
                arg.operand = Operand::Literal(value as u32);
            }
        }
    }
    Ok(())
}
