//! Listings in envydis's layout: address, words, marks of targets, text.

use std::collections::BTreeSet;
use std::fmt::Write;

use warpjit_frontend::tesla::decode::DecodeError;
use warpjit_frontend::tesla::{Inst, Op, Target, decode};

/// The listing of a piece of Tesla code.
///
/// `B` marks what a branch (or a pushed target) names, `C` what a call names. Words that are no
/// instruction of the chip are shown as `??`.
pub fn tesla(code: &[u8], target: Target) -> String {
    let lines = sweep(code, target);
    let mut branches = BTreeSet::new();
    let mut calls = BTreeSet::new();
    for line in &lines {
        if let Line::Inst(inst) = line
            && let Some(pc) = inst.target_pc()
        {
            if inst.op == Op::Call {
                calls.insert(pc)
            } else {
                branches.insert(pc)
            };
        }
    }
    let mut text = String::new();
    for line in &lines {
        let (pc, len, raw) = line.place();
        if calls.contains(&pc) {
            text.push('\n');
        }
        let _ = write!(text, "{pc:08x}: {:08x} ", raw & 0xffff_ffff);
        let _ = if len == 8 { write!(text, "{:08x}", raw >> 32) } else { write!(text, "{:8}", "") };
        let mark = |set: &BTreeSet<u32>, mark| if set.contains(&pc) { mark } else { ' ' };
        let _ = write!(text, "  {}{} ", mark(&calls, 'C'), mark(&branches, 'B'));
        let _ = match line {
            Line::Inst(inst) => writeln!(text, "{inst}"),
            Line::Unknown { .. } => writeln!(text, "??"),
        };
    }
    text
}

enum Line {
    Inst(Inst),
    Unknown { pc: u32, len: u8, raw: u64 },
}

impl Line {
    fn place(&self) -> (u32, u8, u64) {
        match self {
            Line::Inst(inst) => (inst.pc, inst.len, inst.raw),
            Line::Unknown { pc, len, raw } => (*pc, *len, *raw),
        }
    }
}

/// Decodes from the first byte to the last. A remainder of less than a word is shown as one.
fn sweep(code: &[u8], target: Target) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut pc = 0;
    while (pc as usize) < code.len() {
        let line = match decode(code, pc, target) {
            Ok(inst) => Line::Inst(inst),
            Err(DecodeError::Undefined { pc, len, raw }) => Line::Unknown { pc, len, raw },
            Err(_) => {
                let rest = code[pc as usize..].iter().take(4);
                let raw = rest.rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                Line::Unknown { pc, len: 4, raw }
            }
        };
        pc += u32::from(line.place().1).max(4);
        lines.push(line);
    }
    lines
}
