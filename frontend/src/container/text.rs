//! Reads text cubins, which nvcc wrote before CUDA 3.0.
//!
//! A file is a list of `key {value}`, `key = value` and `name { ... }`. Keys at the top level: `architecture`; `code`, one for
//! each kernel; `const` or `consts`, constant variables; `reloc`, variables in global memory whose addresses are stored in a
//! constant bank. Keys in a kernel: `name lmem smem reg bar`, `const` with `mem` (the compiler's constant bank), and `bincode`.
//!
//! Everything else (`abiversion`, `modname`, `sampler`, ...) is skipped. That includes `constrelocs`, which lists words of c1[]
//! to be increased by the code's address: here code starts at address 0.

use bytes::Bytes;
use warpjit_ir::Meter;

use super::limits::{self, zeros};
use crate::Isa;
use crate::error::ContainerError;
use crate::module::{ConstPart, ConstSymbol, Global, Kernel, Module};
use crate::tesla::chip::Chip;

/// True if the first word is one a text cubin begins with.
pub fn is_text_cubin(bytes: &[u8]) -> bool {
    let word: Vec<u8> = bytes
        .iter()
        .copied()
        .skip_while(u8::is_ascii_whitespace)
        .take(16)
        .take_while(u8::is_ascii_lowercase)
        .collect();
    matches!(&word[..], b"architecture" | b"abiversion" | b"modname" | b"code")
}

/// A word with its line.
#[derive(Clone, Copy)]
struct Token<'a> {
    line: u32,
    text: &'a str,
}

fn error<T>(line: u32, reason: impl Into<String>) -> Result<T, ContainerError> {
    Err(ContainerError::Text { line, reason: reason.into() })
}

/// Words, braces and equals signs.
fn tokens<'a>(text: &'a str, meter: &Meter) -> Result<Vec<Token<'a>>, ContainerError> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        meter.step(1)?;
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let end = match rest.find(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | '=')) {
                Some(0) => 1,
                Some(end) => end,
                None => rest.len(),
            };
            meter.step(1)?;
            meter.hold(size_of::<Token<'_>>())?;
            found.push(Token { line: index as u32 + 1, text: &rest[..end] });
            rest = rest[end..].trim_start();
        }
    }
    Ok(found)
}

/// An entry of a block.
struct Entry<'t, 'a> {
    line: u32,
    key: &'a str,
    value: Value<'t, 'a>,
}

enum Value<'t, 'a> {
    /// `= word`.
    Word(&'t Token<'a>),
    /// `{ ... }`: the tokens within.
    Block(&'t [Token<'a>]),
}

/// Splits the inside of a block into its entries.
fn entries<'t, 'a>(tokens: &'t [Token<'a>], end_line: u32) -> Result<Vec<Entry<'t, 'a>>, ContainerError> {
    let mut found = Vec::new();
    let mut rest = tokens;
    while let Some((key, after)) = rest.split_first() {
        if matches!(key.text, "{" | "}" | "=") {
            return error(key.line, format!("`{}` stands where a name should", key.text));
        }
        let Some((sign, after)) = after.split_first() else {
            return error(end_line, format!("the file ends after `{}`", key.text));
        };
        match sign.text {
            "=" => {
                let Some((value, after)) = after.split_first() else {
                    return error(end_line, format!("`{}` has no value", key.text));
                };
                if matches!(value.text, "{" | "}" | "=") {
                    return error(value.line, format!("`{}` has no value", key.text));
                }
                found.push(Entry { line: key.line, key: key.text, value: Value::Word(value) });
                rest = after;
            }
            "{" => {
                let mut depth = 1_u32;
                let close = after.iter().position(|token| {
                    match token.text {
                        "{" => depth += 1,
                        "}" => depth -= 1,
                        _ => {}
                    }
                    depth == 0
                });
                let Some(close) = close else {
                    return error(end_line, format!("`{}` of line {} is not closed", key.text, key.line));
                };
                found.push(Entry { line: key.line, key: key.text, value: Value::Block(&after[..close]) });
                rest = &after[close + 1..];
            }
            other => return error(sign.line, format!("`{other}` stands where `=` or `{{` should")),
        }
    }
    Ok(found)
}

impl<'t, 'a> Entry<'t, 'a> {
    fn word(&self) -> Result<&'a str, ContainerError> {
        match self.value {
            Value::Word(word) | Value::Block([word]) => Ok(word.text),
            Value::Block(_) => error(self.line, format!("`{}` should be one word", self.key)),
        }
    }

    fn number(&self, limit: u32) -> Result<u32, ContainerError> {
        let word = self.word()?;
        match parse_number(word) {
            Some(value) if value <= limit => Ok(value),
            Some(value) => error(self.line, format!("`{}` is {value}, more than {limit}", self.key)),
            None => error(self.line, format!("`{}` is `{word}`, not a number", self.key)),
        }
    }

    /// The tokens of a block; a word is a block of one.
    fn block(&self) -> Result<&'t [Token<'a>], ContainerError> {
        match self.value {
            Value::Block(tokens) => Ok(tokens),
            Value::Word(word) => Ok(std::slice::from_ref(word)),
        }
    }

    /// The words of a block of numbers as bytes.
    fn words(&self) -> Result<Vec<u8>, ContainerError> {
        let mut bytes = Vec::new();
        for token in self.block()? {
            let Some(value) = token.text.starts_with("0x").then(|| parse_number(token.text)).flatten() else {
                return error(token.line, format!("`{}` is no word of {}", token.text, self.key));
            };
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        Ok(bytes)
    }
}

fn parse_number(word: &str) -> Option<u32> {
    let (digits, radix) = match word.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None => (word, 10),
    };
    // `from_str_radix` would take a sign.
    digits
        .bytes()
        .all(|c| c.is_ascii_alphanumeric())
        .then(|| u32::from_str_radix(digits, radix).ok())
        .flatten()
}

/// A `const`, `consts` or `reloc` block.
struct ConstSection {
    name: String,
    bank: u32,
    offset: u32,
    bytes: u32,
    contents: Option<Vec<u8>>,
}

fn segment(block: &[Token<'_>], line: u32, end_line: u32) -> Result<ConstSection, ContainerError> {
    let mut segment = ConstSection { name: String::new(), bank: 0, offset: 0, bytes: 0, contents: None };
    for entry in entries(block, end_line)? {
        match entry.key {
            "name" => segment.name = entry.word()?.to_string(),
            "segnum" => segment.bank = entry.number(limits::BANKS - 1)?,
            "offset" => segment.offset = entry.number(limits::BANK)?,
            "bytes" => segment.bytes = entry.number(u32::MAX)?,
            "mem" => segment.contents = Some(entry.words()?),
            _ => {}
        }
    }
    if let Some(contents) = &mut segment.contents {
        // The last word may be there in part.
        let whole = segment.bytes as usize;
        if contents.len() != whole.next_multiple_of(4) {
            let reason = format!("`mem` holds {} bytes, `bytes` says {whole}", contents.len());
            return error(line, reason);
        }
        contents.truncate(whole);
    }
    Ok(segment)
}

impl ConstSection {
    fn check(self, line: u32) -> Result<ConstSection, ContainerError> {
        match self.offset.checked_add(self.bytes) {
            Some(end) if end <= limits::BANK => Ok(self),
            _ => error(
                line,
                format!("the segment ends behind {:#x}, the end of a constant bank", limits::BANK),
            ),
        }
    }

    /// Its contents, zeros where the file has none.
    fn contents(self) -> ConstPart {
        let bytes = self.contents.map_or_else(|| zeros(self.bytes as usize), Bytes::from);
        ConstPart { bank: self.bank, offset: self.offset, bytes }
    }
}

fn kernel(block: &[Token<'_>], line: u32, end_line: u32) -> Result<Kernel, ContainerError> {
    let mut kernel = Kernel::default();
    let mut has_code = false;
    for entry in entries(block, end_line)? {
        match entry.key {
            "name" => kernel.name = entry.word()?.to_string(),
            "lmem" => kernel.local_bytes = entry.number(limits::LOCAL)?,
            "smem" => kernel.shared_bytes = entry.number(limits::SHARED)?,
            "reg" => kernel.registers = Some(entry.number(limits::REGISTERS)?),
            "bar" => kernel.barriers = entry.number(limits::BARRIERS)?,
            "const" | "consts" => {
                let found = segment(entry.block()?, entry.line, end_line)?;
                kernel.consts.push(found.check(entry.line)?.contents());
            }
            "bincode" => {
                kernel.code = entry.words()?.into();
                has_code = true;
            }
            _ => {}
        }
    }
    if kernel.name.is_empty() {
        return error(line, "`code` without `name`");
    }
    if !has_code || kernel.code.is_empty() || kernel.code.len() > limits::CODE as usize {
        return error(line, format!("kernel `{}` has no code, or too much", kernel.name));
    }
    Ok(kernel)
}

/// Takes a text cubin apart.
pub fn load(bytes: &[u8], meter: &Meter) -> Result<Module, ContainerError> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(bad) => {
            let before = &bytes[..bad.valid_up_to()];
            let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u32;
            return error(line, "a byte that is no text");
        }
    };
    let end_line = text.lines().count().max(1) as u32;
    let mut module = Module {
        isa: Isa::Tesla,
        chip: None,
        kernels: Vec::new(),
        shared_consts: Vec::new(),
        globals: Vec::new(),
        global_memory: None,
        const_symbols: Vec::new(),
    };
    let tokens = tokens(text, meter)?;
    for entry in entries(&tokens, end_line)? {
        meter.step(1)?;
        meter.hold(size_of::<Kernel>())?;
        match entry.key {
            "architecture" => {
                let name = entry.word()?;
                match Chip::parse(name) {
                    Some(chip) => module.chip = Some(chip.into()),
                    None => return error(entry.line, format!("architecture `{name}` is not supported")),
                }
            }
            "code" => module.kernels.push(kernel(entry.block()?, entry.line, end_line)?),
            "const" | "consts" => {
                let found = segment(entry.block()?, entry.line, end_line)?.check(entry.line)?;
                module.const_symbols.push(ConstSymbol {
                    name: found.name.clone(),
                    bank: found.bank,
                    offset: found.offset,
                    bytes: found.bytes,
                });
                module.shared_consts.push(found.contents());
            }
            "reloc" => {
                let found = segment(entry.block()?, entry.line, end_line)?;
                module.globals.push(Global {
                    name: found.name,
                    bank: found.bank,
                    offset: found.offset,
                    bytes: found.bytes,
                });
            }
            _ => {}
        }
    }
    if module.kernels.is_empty() {
        return error(end_line, "there is no `code`");
    }
    meter.release(tokens.len() * size_of::<Token<'_>>());
    Ok(module)
}
