//! Writes listings: address, words, markers of branch and call targets, text.

use std::collections::HashMap;
use std::fmt;

use super::decode::{DecodeError, decode};
use super::{Chip, Inst, Op};
use crate::listing::LineHead;

/// One line of a listing: an instruction or what stands in its place.
#[derive(Clone, Copy, Debug)]
pub struct ListingLine {
    /// Address.
    pub pc: u64,
    /// The dwords, or the bytes that are left at the end of the code.
    pub raw: u64,
    /// Length in bytes: 4 or 8, less at the end of cut code.
    pub len: u8,
    /// A branch or fork goes here.
    pub branch_target: bool,
    /// A call goes here.
    pub call_target: bool,
    /// The instruction.
    pub inst: Result<Inst, DecodeError>,
}

impl fmt::Display for ListingLine {
    /// The line without a newline at the end; an empty line stands before what is called. Where a branch goes
    /// stands behind it as a comment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ListingLine { pc, raw, len, branch_target, call_target, .. } = *self;
        write!(f, "{}", LineHead { pc, raw, len, branch_target, call_target })?;
        match &self.inst {
            Ok(inst) => inst.fmt(f)?,
            Err(_) => f.write_str("??")?,
        }
        match self.inst.ok().and_then(|inst| inst.target_pc) {
            Some(target) => write!(f, "  // {target:#x}"),
            None => Ok(()),
        }
    }
}

/// The listing of code that stands at `base`.
pub fn disasm(code: &[u8], base: u64, chip: impl Into<Chip>) -> Vec<ListingLine> {
    let chip = chip.into();
    let mut lines = Vec::new();
    let mut marks: HashMap<u64, (bool, bool)> = HashMap::new();
    let mut offset = 0;
    while let Some(rest) = code.get(offset..).filter(|rest| !rest.is_empty()) {
        let pc = base.wrapping_add(offset as u64);
        let inst = decode(rest, pc, chip);
        let len = match inst {
            Ok(inst) => inst.len,
            Err(_) => rest.len().min(4) as u8,
        };
        let mut bytes = [0; 8];
        let kept = usize::from(len).min(rest.len());
        bytes[..kept].copy_from_slice(&rest[..kept]);
        if let Ok(Inst { target_pc: Some(target), op, .. }) = inst {
            let mark = marks.entry(target).or_default();
            *(if op == Op::S_CALL_B64 { &mut mark.0 } else { &mut mark.1 }) = true;
        }
        let raw = u64::from_le_bytes(bytes);
        lines.push(ListingLine { pc, raw, len, branch_target: false, call_target: false, inst });
        offset += kept;
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
pub fn listing(code: &[u8], base: u64, chip: impl Into<Chip>) -> String {
    disasm(code, base, chip).iter().map(|line| format!("{line}\n")).collect()
}
