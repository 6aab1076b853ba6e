//! Lifts every kernel of the corpus and verifies the IR.

use warpjit_ir::Meter;
use warpjit_ir::verify::verify;

use super::{file, options};
use crate::gcn::Chip;
use crate::gcn::lift::lift;
use crate::testing::corpus::unpacked;

fn word(bytes: &[u8], at: usize, len: usize) -> usize {
    let part = bytes.get(at..at + len).unwrap_or(&[]);
    part.iter().rev().fold(0, |all, &byte| all << 8 | usize::from(byte))
}

/// The code section of a code object with the entries that its symbols name: functions, and kernels of the old form behind
/// their 256-byte headers.
fn code(elf: &[u8]) -> Option<(Vec<u8>, Vec<u32>)> {
    let (table, size, count) = (word(elf, 0x28, 8), word(elf, 0x3a, 2), word(elf, 0x3c, 2));
    let sections: Vec<usize> = (0..count).map(|n| table + n * size).collect();
    // Executable, with contents.
    let text = sections.iter().position(|&at| word(elf, at + 8, 8) & 4 != 0 && word(elf, at + 4, 4) == 1)?;
    let field = |section: usize, at: usize| word(elf, sections[section] + at, 8);
    let (address, offset, bytes) = (field(text, 0x10), field(text, 0x18), field(text, 0x20));
    let mut entries = Vec::new();
    for &section in sections.iter().filter(|&&at| word(elf, at + 4, 4) == 2) {
        let (offset, bytes) = (word(elf, section + 0x18, 8), word(elf, section + 0x20, 8));
        for symbol in (offset..offset + bytes).step_by(24) {
            let (kind, value) = (word(elf, symbol + 4, 1) & 15, word(elf, symbol + 8, 8));
            let inside = word(elf, symbol + 6, 2) == text;
            match kind {
                2 if inside => entries.push((value - address) as u32),
                10 if inside => entries.push((value - address + 256) as u32),
                _ => {}
            }
        }
    }
    Some((elf.get(offset..offset + bytes)?.to_vec(), entries))
}

#[test]
fn kernels_lift() {
    let mut count = 0;
    for (folder, files) in unpacked("gcn") {
        for (name, bytes) in files {
            let place = format!("{folder}/{name}");
            let parts: Vec<&str> = name.split('.').collect();
            let (Some(chip), Some(&("co" | "bin"))) = (Chip::parse(parts[0]), parts.last()) else { continue };
            let (code, entries) = match bytes.starts_with(b"\x7fELF") {
                true => code(&bytes).unwrap_or_else(|| panic!("{place}")),
                false => (bytes, vec![0]),
            };
            for entry in entries {
                let mut options = options(chip);
                options.entry = entry;
                options.vgprs = 128;
                options.observed = false;
                let func = lift(&file(&code), &options, &Meter::unlimited()).expect("no limits").function;
                if let Err(error) = verify(&func) {
                    panic!("{place}: {error}");
                }
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count} kernels");
}
