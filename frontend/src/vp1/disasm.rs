//! VP1's disassembler: instructions and listings as text.

use std::fmt;
use std::fmt::Write as _;

use super::bundle::bundles;
use super::{Chip, Inst, decode};
use crate::envydis;

impl fmt::Display for Inst {
    /// The text of a listing line, without address and word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        envydis::fmt_inst(self.row, self.word.into(), self.pc, self.chip, self.unknown().into(), f)
    }
}

/// The listing of `code`, whose first word has the word address `base`.
///
/// One line a word: word address, word, its number in its bundle, the instruction. A bundle of several words goes from
/// `{` to `}`, one of a single word is marked `-`. That is how control that comes from above sees it; a jump into the
/// middle of a bundle finds the rest of it.
pub fn listing(code: &[u8], base: u32, chip: Chip) -> String {
    let (words, rest) = code.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let mut out = String::new();
    for (first, len) in bundles(&words, base) {
        for number in 0..len {
            let mark = match (number, len - number) {
                (0, 1) => '-',
                (0, _) => '{',
                (_, 1) => '}',
                _ => '|',
            };
            let pc = base.wrapping_add((first + number) as u32);
            let inst = decode(words[first + number], pc, chip);
            let _ = writeln!(out, "{pc:08x}: {:08x} {mark} {inst}", inst.word);
        }
    }
    if !rest.is_empty() {
        let bytes: Vec<_> = rest.iter().map(|byte| format!("{byte:#04x}")).collect();
        let _ = writeln!(out, "{:08x}: .u8 {}", base.wrapping_add(words.len() as u32), bytes.join(" "));
    }
    out
}
