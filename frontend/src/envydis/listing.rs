//! Writes listings: address, words, markers of branch and call targets, text.

use std::collections::HashMap;
use std::fmt;

use super::dialect::{DecodeError, Dialect, Lines, fetch};
use super::table::{Element, Row};
use crate::listing::LineHead;

/// Writes the text of an instruction, without address and words.
pub(crate) fn fmt_inst<D: Dialect>(
    row: &Row<D>,
    raw: u64,
    pc: u32,
    target: D::Target,
    unknown: u64,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let mut result = Ok(());
    let mut space = false;
    let mut nested = false;
    let mut put = |f: &mut fmt::Formatter<'_>, element: Element<D>| -> fmt::Result {
        if space && !matches!(element, Element::Close) {
            f.write_str(" ")?;
        }
        space = !matches!(element, Element::Open);
        match element {
            Element::Word(name) | Element::OperandWord(name) => f.write_str(name),
            Element::Open => {
                nested = true;
                f.write_str("(")
            }
            Element::Close => {
                nested = false;
                f.write_str(")")
            }
            Element::Operand(field, operand) => D::fmt_operand(field, operand, nested, f),
        }
    };
    D::table().walk(row, raw, pc, target, &mut |element| {
        if result.is_ok() {
            result = put(f, element);
        }
    });
    result?;
    if unknown != 0 {
        write!(f, " [unknown: {:08x}", unknown & 0xffff_ffff)?;
        if row.len_bytes() == 8 {
            write!(f, " {:08x}", unknown >> 32)?;
        }
        f.write_str("]")?;
    }
    Ok(())
}

/// One line of a listing: an instruction or what stands in its place.
#[derive(Clone, Copy, Debug)]
pub struct ListingLine<I> {
    /// Address.
    pub pc: u32,
    /// The words, or the bytes that are left at the end of the code.
    pub raw: u64,
    /// Length in bytes: 4 or 8, less at the end of cut code.
    pub len: u8,
    /// A branch goes here, or a pushed target is here.
    pub branch_target: bool,
    /// A call goes here.
    pub call_target: bool,
    /// The instruction.
    pub inst: Result<I, DecodeError>,
}

impl<I> ListingLine<I> {
    /// Writes everything before the text.
    pub(crate) fn fmt_head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ListingLine { pc, raw, len, branch_target, call_target, .. } = *self;
        let head = LineHead { pc: pc.into(), raw, len, branch_target, call_target };
        write!(f, "{head}")
    }
}

impl<I: fmt::Display> fmt::Display for ListingLine<I> {
    /// The line without a newline at the end; an empty line stands before what is called.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_head(f)?;
        match &self.inst {
            Ok(inst) => inst.fmt(f),
            Err(_) => f.write_str("??"),
        }
    }
}

/// The listing of code that stands at `base`.
pub(crate) fn disasm<D: Lines>(code: &[u8], base: u32, target: D::Target) -> Vec<ListingLine<D::Inst>> {
    let mut lines = Vec::new();
    let mut marks: HashMap<u32, (bool, bool)> = HashMap::new();
    let mut offset = 0;
    while offset < code.len() {
        let pc = base.wrapping_add(offset as u32);
        let (raw, len, inst) = match fetch::<D>(code, offset as u32) {
            Ok((raw, len)) => (raw, len, D::decode_word(raw, pc, target)),
            Err(_) => {
                let rest = &code[offset..];
                let mut bytes = [0; 8];
                let len = rest.len().min(8);
                bytes[..len].copy_from_slice(&rest[..len]);
                (u64::from_le_bytes(bytes), len as u8, Err(DecodeError::Truncated { pc }))
            }
        };
        if let Ok(inst) = &inst
            && let Some((to, called)) = D::code_target(inst)
        {
            let mark = marks.entry(to).or_default();
            if called {
                mark.0 = true;
            } else {
                mark.1 = true;
            }
        }
        lines.push(ListingLine { pc, raw, len, branch_target: false, call_target: false, inst });
        offset += usize::from(len);
    }
    for line in &mut lines {
        if let Some(&(call, branch)) = marks.get(&line.pc) {
            line.call_target = call;
            line.branch_target = branch;
        }
    }
    lines
}

/// The text of [`disasm`], a newline after each line.
pub(crate) fn listing<D: Lines>(code: &[u8], base: u32, target: D::Target) -> String {
    disasm::<D>(code, base, target).iter().map(|line| format!("{line}\n")).collect()
}
