//! Tests VP1's instruction table as a whole: every word has a row; text and words round-trip; bundles.

mod common;

use std::collections::BTreeSet;
use std::fs;

use common::{Random, root};
use warpjit_frontend::vp1::table::rows;
use warpjit_frontend::vp1::{Chip, Op, Row, Unit, assemble, bundles, decode, listing, support_table};

/// A word of that row: everything the row does not fix is random.
fn word_of(row: &Row, random: &mut Random) -> u32 {
    (row.value | random.next() & !row.mask) as u32
}

/// Opcodes that do the same share a text; the assembler takes the first.
fn redundant(row: &Row) -> u32 {
    if matches!(row.op, Op::ByteAbs | Op::ByteNeg | Op::Abs | Op::Neg) { 0x3000_0000 } else { 0 }
}

/// Where nothing is written to a `$c` or `$vc`, bits 0 and 1 mean nothing.
fn ignored(row: &Row, word: u32) -> u32 {
    if (row.text.contains("<mcdst>") || row.text.contains("<vcdst>")) && word & 4 != 0 { 3 } else { 0 }
}

fn assemble_one(text: &str, chip: Chip) -> u32 {
    let code = assemble(text, chip).unwrap_or_else(|errors| panic!("{text}: {errors}")).code;
    u32::from_le_bytes(code.try_into().unwrap_or_else(|_| panic!("{text}")))
}

#[test]
fn rows_decode_to_themselves() {
    let mut random = Random::new(1);
    for chip in Chip::ALL {
        for row in rows().iter().filter(|row| row.available(chip)) {
            let found =
                (0..200).filter(|_| std::ptr::eq(decode(word_of(row, &mut random), 0, chip).row, row));
            assert_ne!(found.count(), 0, "`{}` never decodes on {chip}", row.text);
            assert_eq!(row.value & !row.mask, 0, "`{}` has value bits outside of its mask", row.text);
        }
    }
}

#[test]
fn every_opcode_has_a_row_of_its_unit() {
    for opcode in 0..256u32 {
        for low in [0, 0x00ff_ffff, 0x0055_5555] {
            let word = opcode << 24 | low;
            let row = decode(word, 0, Chip::Nv41).row;
            assert_eq!(row.unit(), Unit::of(word));
        }
    }
}

#[test]
fn text_and_words_round_trip() {
    let mut random = Random::new(2);
    let mut seen = BTreeSet::new();
    for chip in [Chip::Nv41, Chip::G80] {
        for row in rows().iter().filter(|row| row.available(chip)) {
            for _ in 0..60 {
                let word = word_of(row, &mut random);
                let inst = decode(word, 0, chip);
                if Unit::of(word) == Unit::Branch && inst.to_string().contains(" 0xff") {
                    // A target below address 0 wraps; the assembler knows no such address.
                    continue;
                }
                seen.insert(inst.row.text);
                let back = assemble_one(&inst.to_string(), chip);
                let differ = (back ^ word) & !ignored(inst.row, word) & !redundant(inst.row);
                assert_eq!(differ, 0, "{word:08x} {back:08x} `{inst}` of `{}`", inst.row.text);
                let again = decode(back, 0, chip);
                assert_eq!(again.to_string(), inst.to_string());
                // The listing keeps every bit.
                let text = listing(&word.to_le_bytes(), 0, chip);
                assert_eq!(assemble(&text, chip).unwrap().code, word.to_le_bytes(), "{text}");
            }
        }
    }
    let all: BTreeSet<_> = rows().iter().map(|row| row.text).collect();
    assert_eq!(seen, all);
}

#[test]
fn listings_of_noise_assemble_to_the_noise() {
    let mut random = Random::new(3);
    let code: Vec<u8> = (0..40_000).map(|_| random.next() as u8).collect();
    for base in [0, 0x41] {
        for len in (0..40).chain([code.len() - 1, code.len()]) {
            let text = listing(&code[..len], base, Chip::G80);
            let assembly = assemble(&text, Chip::G80).unwrap();
            assert_eq!(assembly.base, if len == 0 { 0 } else { base });
            assert!(assembly.code == code[..len], "{len} bytes");
        }
    }
}

/// Words made by hand from docs/hardware/vp1.md sections 3 and 10: the fields and the rows.
#[test]
fn words_of_the_facts() {
    let cases = [
        (0x65002000, "mov $r0 0x2000"),
        (0x650fffff, "mov $r1 -0x1"),
        (0x75081234, "sethi $r1 0x12340000"),
        (0x4c0841c7, "add $r1 $r1 $r0"),
        (0x4c084007, "add $r1 $r1 ($c0 sf)"),
        (0x6c084ff8, "add $r1 $c0 $r1 0x1ff"),
        (0x4208446f, "or $r1 $r1 not $r2"),
        (0xe00001e7, "bra 0x0"),
        (0xe00003e7, "bra 0x4"),
        (0xe1000807, "bra loop $l3 $l0 $c0 sf 0x10"),
        (0xef000000, "bnop"),
        (0xff010005, "exit intr 0x5"),
        (0xea000002, "abra 0x8"),
        (0xf0080010, "mov $l1 $c1 0x10"),
        (0xd7000001, "star $v0 $a0 ( slct $c0 sf $a0d )"),
        (0xd7000200, "ldr $v0 $a0 $v1"),
        (0xbb000000, "mov $v0 $vc"),
        (0x82080088, "vmac s rd int -0x4 hi $v1 u $v0 u $v0"),
        (0x24020000, "vec 0x0 0x80 $vc0 sf 0x0"),
        (0xb6000880, "vlrp4b u rd 0x1 $v0 $v0q $c0 $c0 b20 $vc0 sf"),
    ];
    for (word, text) in cases {
        let shown = decode(word, 0, Chip::G80).to_string();
        let wanted = match text {
            "add $r1 $r1 ($c0 sf)" => "add $r1 $r1 (slct $c0 sf $r0d)",
            "star $v0 $a0 ( slct $c0 sf $a0d )" => "star $v0 $a0 (slct $c0 sf $a0d) ",
            text => text,
        };
        assert_eq!(shown.trim_end().split(" [unknown").next().unwrap(), wanted.trim_end(), "{word:08x}");
    }
}

#[test]
fn bundles_follow_the_fetch_rule() {
    let (a, s, v, b) = (0xdf00_0000, 0x4f00_0000, 0xbf00_0000, 0xef00_0000);
    let lens = |words: &[u32], base| bundles(words, base).map(|(_, len)| len).collect::<Vec<_>>();
    assert_eq!(lens(&[a, s, v, b], 0), [4]);
    assert_eq!(lens(&[a, s, v, b], 1), [3, 1]);
    assert_eq!(lens(&[b, v, s, a], 0), [1, 1, 1, 1]);
    assert_eq!(lens(&[s, s, v, b, a, v], 0), [1, 3, 2]);
    assert_eq!(lens(&[s, b, a, v, b], 0), [2, 2, 1]);
    assert_eq!(lens(&[s, v, b, s, v, b], 2), [2, 1, 3]);
    assert_eq!(lens(&[], 0), [0usize; 0]);
}

#[test]
fn sources() {
    let source = "
        // a loop
        mov $l0 $c0 3            ; three times
        snop
    top: { add $r0 $c1 $r0 1
           vadd u $v0 $vc0 $v0 $v1 |
           bra loop $l0 $c0 $l0 not $c0 lzf #top }
        bnop
        .align
        exit 0x0
        .u32 0x12345678, -1
    ";
    let assembly = assemble(source, Chip::Nv41).unwrap();
    let words: Vec<u32> =
        assembly.code.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    assert_eq!(assembly.labels["top"], 4);
    assert_eq!(words.len(), 11);
    assert_eq!(
        words[..8],
        [
            0xf000_0003,
            0x4f00_0000,
            0xef00_0000,
            0xef00_0000,
            0x6c00_0009,
            0x9c00_0200,
            0xe300_01a0,
            0xef00_0000
        ]
    );
    assert_eq!(words[8..], [0xff00_0000, 0x1234_5678, 0xffff_ffff]);
}

#[test]
fn bad_sources() {
    let reason = |source: &str| assemble(source, Chip::Nv41).unwrap_err().to_string();
    for (source, wanted) in [
        ("frob $r0", "1:1: unknown instruction `frob`"),
        ("mov $r32 0x0", "1:5: unexpected `$r32`"),
        ("\nmov $r0 $x0", "2:1: nv41 has no such instruction; these have: g80"),
        (
            "add $r0 $r1",
            "1:12: unexpected the end of the line, wanted `(` or $r0-$r31 or a number from -0x400 to 0x3ff",
        ),
        (
            "add $r0 $r1 0x400",
            "1:13: unexpected `0x400`, wanted `(` or $r0-$r31 or a number from -0x400 to 0x3ff",
        ),
        ("bra #nowhere", "1:5: no label `nowhere`"),
        ("bra 0x5", "1:5: 0x5 does not fit"),
        ("a: a: snop", "1:4: label `a` is there twice"),
        ("{ snop snop }", "1:8: unexpected `snop`, wanted the end of the line"),
        (
            "{ bnop\nsnop }",
            "2:6: a bundle has at most one instruction of each unit, in the order address, scalar, vector, branch",
        ),
        ("{ snop", "1:1: a bundle without an end"),
        ("snop }", "1:6: no bundle ends here"),
        ("{ { snop } }", "1:3: a bundle within a bundle"),
        (".u8 256", "1:5: `256` is no number of 1 bytes"),
        (".u8 1\nsnop", "2:1: an instruction is not at a word"),
        (".org 5", "1:1: no directive `.org`"),
        ("00000000: 4f000000 - bnop", "1:22: 4f000000 is `snop`, not `bnop`"),
        ("00000000: 4f000000 - snop\n00000002: 4f000000 - snop", "2:1: the code is at word 0x1 here"),
        ("00000000: 4f0000", "1:1: a line of a listing has an address, a word, a mark and an instruction"),
        ("mov $r0 0x0 [unknown: 00000001]", "1:1: `[unknown: ]` has bits that the text has, too"),
        ("mov $l0 $c1 0x5", "1:13: unexpected `0x5`, wanted $r0-$r31"),
    ] {
        assert_eq!(reason(source), wanted, "{source}");
    }
    // Noise is refused, whatever it is.
    let mut random = Random::new(9);
    let pool = [
        "mov",
        "|",
        "$r1",
        "(",
        ")",
        "{",
        "}",
        "#",
        "0x",
        "-",
        "é",
        ".align",
        "a:",
        "[unknown: 0",
        "]",
        ",",
        "slct",
    ];
    for _ in 0..3000 {
        let words: Vec<_> =
            (0..random.next() % 9).map(|_| pool[random.next() as usize % pool.len()]).collect();
        let _ = assemble(&words.join(" "), Chip::G80);
    }
}

#[test]
fn support_table_is_current() {
    let path = root().join("docs/support-vp1.md");
    let wanted = support_table();
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/support-vp1.md is not current: run this test with BLESS=1");
}
