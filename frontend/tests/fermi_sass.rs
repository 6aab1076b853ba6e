//! Tests the vendor's syntax: the encodings and usages of seed 004, and `fermi_sass.txt`, a list of instructions in envydis's
//! syntax and, indented, in the vendor's (`BLESS=1` rewrites the latter).

mod common;

use std::fmt::Write as _;

use common::Random;
use warpjit_frontend::fermi::table::rows;
use warpjit_frontend::fermi::{Chip, Sass, assemble, decode, decode_word, sass_listing};

/// A word of a template as seed 004 prints it, bit 0 leftmost, with fields added.
fn word(template: &str, fields: &[(u32, u64)]) -> u64 {
    let bits: Vec<u64> =
        template.chars().filter(|c| !c.is_whitespace()).map(|c| u64::from(c == '1')).collect();
    assert_eq!(bits.len(), 64, "{template}");
    let word: u64 = bits.iter().enumerate().map(|(at, bit)| bit << at).sum();
    fields.iter().fold(word, |word, (at, value)| word | value << at)
}

const IADD: &str = "1100 000000 1110 000000 000000 0000000000000000000000 0000000000 010010";
const IADD32I: &str = "0100 000000 1110 000000 000000 00000000000000000000000000000000 0 10000";
const IMUL: &str = "1100 010100 1110 000000 000000 0000000000000000000000 0000000000 001010";
const IMUL32I: &str = "0100 010100 1110 000000 000000 00000000000000000000000000000000 0 01000";
const IMAD: &str = "1100 010100 1110 000000 000000 0000000000000000000000 0 000000 000 000100";
const ISCADD: &str = "1100 00000 01110 000000 000000 0000000000000000000000 0000000000 000010";
const ISETP: &str = "1100 010000 1110 111 000 000000 0000000000000000000000 0 1110 000000 11000";
const ICMP: &str = "1100 010000 1110 000000 000000 0000000000000000000000 0 000000 000 001100";
const VADD: &str = "0010 011000 1110 000000 000000 0000000000000000 1000000 000000 111 000011";

/// Fields: destination, sources 1 to 3, a const operand.
const DST: u32 = 14;
const SRC1: u32 = 20;
const SRC2: u32 = 26;
const SRC3: u32 = 49;
const C: (u32, u64) = (46, 1);

/// Expectations from seed 004: usages, and modifiers by the bits its tables name.
#[test]
fn integer_opcodes_of_the_seed() {
    let registers = [(DST, 0), (SRC1, 1), (SRC2, 2)];
    let with = |more: &[(u32, u64)]| [&registers[..], more].concat();
    let cases = [
        (IADD, with(&[]), "IADD R0, R1, R2"),
        (IADD, with(&[(8, 1)]), "IADD R0, R1, -R2"),
        (IADD, with(&[(9, 1)]), "IADD R0, -R1, R2"),
        (IADD, with(&[(8, 3)]), "IADD.PO R0, R1, R2"),
        (IADD, with(&[(6, 1)]), "IADD.X R0, R1, R2"),
        (IADD, with(&[(5, 1)]), "IADD.SAT R0, R1, R2"),
        (IADD, with(&[(5, 3)]), "IADD.SAT.X R0, R1, R2"),
        // The example.
        (IADD, vec![(SRC1, 1), (28, 8), C, (9, 1), (6, 1), (48, 1)], "IADD.X R0.CC, -R1, c[0x0][0x20]"),
        (IADD, vec![(SRC1, 1), (26, 0x7ffff), (46, 3)], "IADD R0, R1, 0x7ffff"),
        (IADD32I, vec![(SRC1, 1), (26, 0xabcd)], "IADD32I R0, R1, 0xabcd"),
        (IADD32I, vec![(SRC1, 1), (26, 0xabcd), (6, 1), (58, 1)], "IADD32I.X R0.CC, R1, 0xabcd"),
        (IADD32I, vec![(SRC1, 1), (26, 0xabcd), (5, 1)], "IADD32I.SAT R0, R1, 0xabcd"),
        (IMUL, with(&[]), "IMUL R0, R1, R2"),
        (IMUL, with(&[(6, 1)]), "IMUL.HI R0, R1, R2"),
        (IMUL, with(&[(48, 1)]), "IMUL R0.CC, R1, R2"),
        (IMUL32I, vec![(SRC1, 1), (26, 0xabcd)], "IMUL32I R0, R1, 0xabcd"),
        (IMUL32I, vec![(SRC1, 1), (26, 0xabcd), (58, 1)], "IMUL32I R0.CC, R1, 0xabcd"),
        (IMAD, with(&[(SRC3, 3)]), "IMAD R0, R1, R2, R3"),
        (IMAD, with(&[(SRC3, 3), (8, 1)]), "IMAD R0, R1, R2, -R3"),
        (IMAD, with(&[(SRC3, 3), (9, 1)]), "IMAD R0, -R1, R2, R3"),
        (IMAD, with(&[(SRC3, 3), (8, 3)]), "IMAD.PO R0, R1, R2, R3"),
        (IMAD, with(&[(SRC3, 3), (6, 1), (56, 1)]), "IMAD.HI.SAT R0, R1, R2, R3"),
        (IMAD, vec![(SRC1, 1), (28, 8), C, (SRC3, 3)], "IMAD R0, R1, c[0x0][0x20], R3"),
        (IMAD, vec![(SRC1, 1), (28, 8), (47, 1), (SRC3, 2)], "IMAD R0, R1, R2, c[0x0][0x20]"),
        (ISCADD, with(&[(5, 4)]), "ISCADD R0, R1, R2, 0x4"),
        (ISCADD, with(&[(5, 4), (55, 1)]), "ISCADD R0, R1, -R2, 0x4"),
        (ISCADD, with(&[(5, 4), (56, 1), (48, 1)]), "ISCADD R0.CC, -R1, R2, 0x4"),
        (ISCADD, with(&[(5, 4), (55, 3)]), "ISCADD.PO R0, R1, R2, 0x4"),
        (ISETP, vec![(SRC1, 1), (SRC2, 2), (55, 6)], "ISETP.GE.AND P0, PT, R1, R2, PT"),
        (ICMP, with(&[(SRC3, 3), (55, 1)]), "ICMP.LT R0, R1, R2, R3"),
        (ICMP, with(&[(SRC3, 3), (55, 5)]), "ICMP.NE R0, R1, R2, R3"),
        // Of VADD: operand 2 is a register of 32 bits unless the bits say otherwise.
        (VADD, vec![(SRC1, 1), (26, 0xabcd), (44, 6), (SRC3, 3)], "VADD.S32.S8 R0, R1, 0xabcd, R3"),
    ];
    for (template, fields, wanted) in cases {
        let word = word(template, &fields);
        let inst = decode_word(word, 0, Chip::Gf100).unwrap();
        assert_eq!(Sass(&inst).to_string(), wanted, "{word:016x} {inst}");
        assert_eq!(inst.unknown, 0);
    }
    // Clearing a template's bits: the other sign, and of ISETP the other type and logic.
    let clear = |template, fields: &[(u32, u64)], mask: u64| word(template, fields) & !mask;
    let cases = [
        (clear(IMUL, &registers, 0xa0), "IMUL.U32.U32 R0, R1, R2"),
        (clear(IMUL, &registers, 0x80), "IMUL.U32.S32 R0, R1, R2"),
        (clear(IMUL, &registers, 0x20), "IMUL.S32.U32 R0, R1, R2"),
        (clear(IMAD, &registers, 0xa0), "IMAD.U32.U32 R0, R1, R2, R0"),
        (clear(ISETP, &[(SRC1, 1), (SRC2, 2), (55, 1), (53, 1)], 0x20), "ISETP.LT.U32.OR P0, PT, R1, R2, PT"),
        (
            clear(ISETP, &[(SRC1, 1), (SRC2, 2), (55, 2), (54, 1), (52, 1)], 6 << 49),
            "ISETP.EQ.XOR P0, PT, R1, R2, !P1",
        ),
        (clear(ICMP, &[(SRC1, 1), (SRC2, 2), (SRC3, 3), (55, 4)], 0x20), "ICMP.GT.U32 R0, R1, R2, R3"),
    ];
    for (word, wanted) in cases {
        let inst = decode_word(word, 0, Chip::Gf100).unwrap();
        assert_eq!(Sass(&inst).to_string(), wanted, "{word:016x} {inst}");
    }
}

/// VADD's tables: types by selector and sign, subtraction, merging.
#[test]
fn vadd_of_the_seed() {
    // Register operand 2 (mod3 1): selector in bits 32-34, register in 26-31.
    let base = word(VADD, &[(SRC1, 1), (SRC2, 2), (SRC3, 3), (47, 1)]);
    let vadd = |add: u64, clear: u64| {
        let inst = decode_word(base & !clear | add, 0, Chip::Gf100).unwrap();
        assert_eq!(inst.unknown, 0);
        Sass(&inst).to_string()
    };
    assert_eq!(vadd(0, 0), "VADD.S8.S8 R0, R1, R2, R3");
    assert_eq!(vadd(6 << 44 | 6 << 32, 0), "VADD.S32.S32 R0, R1, R2, R3");
    assert_eq!(vadd(1 << 44 | 3 << 32, 0), "VADD.S8.S8 R0, R1.B1, R2.B3, R3");
    assert_eq!(vadd(4 << 44 | 5 << 32, 0), "VADD.S16.S16 R0, R1, R2.H1, R3");
    assert_eq!(vadd(6 << 44 | 6 << 32, 0x60), "VADD.U32.U32 R0, R1, R2, R3");
    assert_eq!(vadd(6 << 44 | 6 << 32, 1 << 42), "VADD.UD.S32.S32 R0, R1, R2, R3");
    assert_eq!(vadd(1 << 9 | 6 << 44 | 6 << 32, 0), "VADD.S32.S32.SAT R0, R1, R2, R3");
    assert_eq!(vadd(1 << 8 | 6 << 44 | 6 << 32, 0), "VADD.S32.S32 R0, -R1, R2, R3");
    assert_eq!(vadd(1 << 7 | 6 << 44 | 6 << 32, 0), "VADD.S32.S32 R0, R1, -R2, R3");
    assert_eq!(vadd(3 << 7 | 6 << 44 | 6 << 32, 0), "VADD.S32.S32.PO R0, R1, R2, R3");
    assert_eq!(vadd(1 << 4 | 1 << 48, 0), "VADD.S8.S8.S R0.CC, R1, R2, R3");
    let merges = ["MRG_16H", "MRG_16L", "MRG_8B0", "MRG_8B2", "ACC", "MIN", "MAX"];
    for (code, name) in merges.into_iter().enumerate() {
        let wanted = format!("VADD.S8.S8.{name} R0, R1, R2, R3");
        assert_eq!(vadd((code as u64) << 55, 7 << 55), wanted);
    }
}

#[test]
fn both_syntaxes() {
    let mut chip = Chip::Gf100;
    common::check_lines("fermi_sass.txt", |line, out| {
        if let Some(name) = line.strip_prefix("# chip ") {
            chip = Chip::parse(name).unwrap();
        }
        if line.starts_with('#') {
            return;
        }
        let code = assemble(line, chip).unwrap_or_else(|errors| panic!("{line}: {errors}")).code;
        let _ = writeln!(out, "    {}", Sass(&decode(&code, 0, chip).unwrap()));
    });
}

/// Every row prints in the syntax, and looks like it.
#[test]
fn every_instruction_prints() {
    let mut random = Random::new(6);
    for chip in [Chip::Gf100, Chip::Gk104] {
        for row in rows().iter().filter(|row| row.available(chip)) {
            let mut found = 0;
            for _ in 0..200 {
                let word = row.value | random.next() & !row.mask;
                let Ok(inst) = decode_word(word, 0, chip) else { continue };
                found += 1;
                let text = Sass(&inst).to_string();
                let plain = text
                    .strip_prefix('@')
                    .and_then(|rest| rest.split_once(' '))
                    .map_or(&*text, |(_, rest)| rest);
                let name = plain.split(' ').next().unwrap();
                assert!(name.starts_with(|c: char| c.is_ascii_uppercase()), "{text}");
                let known = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "._".contains(c);
                assert!(name.chars().all(known) && !name.contains("..") && !name.ends_with('.'), "{text}");
                assert!(!text.contains('$') && !text.ends_with(' '), "{text}");
                assert_eq!(name.ends_with(".S"), inst.join, "{text}");
            }
            assert_ne!(found, 0, "{}", row.text);
        }
    }
}

#[test]
fn listing_keeps_its_columns() {
    let code = [0x2c00_0000_8400_5c04_u64, 0x8000_0000_0000_1de7, !0].map(u64::to_le_bytes).concat();
    let wanted = "00000000: 84005c04 2c000000     S2R R1, SR_Tid_X\n\
                  00000008: 00001de7 80000000     EXIT\n\
                  00000010: ffffffff              ??\n\
                  00000014: ffffffff              ??\n";
    assert_eq!(sass_listing(&code, 0, Chip::Gf100), wanted);
}
