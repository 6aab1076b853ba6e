//! Tests Fermi's instruction table as a whole: rows decode to themselves; text and words round-trip.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use common::{Random, root};
use warpjit_frontend::fermi::table::rows;
use warpjit_frontend::fermi::{
    Chip, DecodeError, Form, Inst, Op, Row, assemble, decode_word, listing, support_table,
};

/// One chip of each family.
const CHIPS: [Chip; 2] = [Chip::Gf100, Chip::Gk104];

/// A word of that row: everything the row does not fix is random.
fn word_of(row: &Row, random: &mut Random) -> u64 {
    let word = row.value | random.next() & !row.mask;
    if row.len_bytes() == 4 { word & 0xffff_ffff } else { word }
}

/// The rows of a chip that come before `row` and have words in common with it.
fn shadowed(row: &Row, word: u64, chip: Chip) -> bool {
    let before = rows().iter().take_while(|other| !std::ptr::eq(*other, row));
    before.filter(|other| other.available(chip)).any(|other| word & other.mask == other.value)
}

#[test]
fn rows_decode_to_themselves() {
    let mut random = Random::new(2);
    for row in rows() {
        for chip in CHIPS.into_iter().filter(|&chip| row.available(chip)) {
            let mut found = 0;
            for _ in 0..4000 {
                let word = word_of(row, &mut random);
                if shadowed(row, word, chip) {
                    continue;
                }
                match decode_word(word, 0, chip) {
                    Ok(inst) => {
                        assert!(std::ptr::eq(inst.row, row), "`{}` decodes as `{}`", row.text, inst.row.text);
                        assert_eq!(inst.op, row.op);
                        found += 1;
                    }
                    Err(error) => assert!(matches!(error, DecodeError::Undefined { .. })),
                }
                if found == 20 {
                    break;
                }
            }
            assert_ne!(found, 0, "`{}` never decodes on {chip}", row.text);
        }
    }
}

/// Rows that share words with a later one: the more special one stands first.
#[test]
fn overlapping_rows_are_known() {
    let mut found = BTreeSet::new();
    for chip in CHIPS {
        let rows: Vec<_> = rows().iter().filter(|row| row.available(chip)).collect();
        for (index, a) in rows.iter().enumerate() {
            assert_eq!(a.value & !a.mask, 0, "`{}` has value bits outside of its mask", a.text);
            for b in &rows[index + 1..] {
                if (a.value ^ b.value) & a.mask & b.mask == 0 {
                    found.insert((a.op, b.op).into_debug());
                }
            }
        }
    }
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        [
            // `mov $flags` with $r63, `mad sd`, and the formatted stores, whose bits 54-57 are a mask.
            "IMadSd IMadTyped",
            "MovFromFlags MovFromFlags",
            "SuStB SuStP",
            "SuStGB SuStGP",
        ]
    );
}

/// Two operations by name.
trait IntoDebug {
    fn into_debug(self) -> String;
}

impl IntoDebug for (Op, Op) {
    fn into_debug(self) -> String {
        format!("{:?} {:?}", self.0, self.1)
    }
}

/// Assembles the text of an instruction alone.
fn assemble_one(inst: &Inst) -> u64 {
    let long = if inst.len == 8 { "long " } else { "" };
    let text = format!("{long}{inst}");
    let code = assemble(&text, inst.chip).unwrap_or_else(|errors| panic!("{text}: {errors}")).code;
    assert_eq!(code.len(), usize::from(inst.len), "{text}");
    let mut bytes = [0; 8];
    bytes[..code.len()].copy_from_slice(&code);
    u64::from_le_bytes(bytes)
}

/// Everything decoded but the text, in which immediates of 20 and 32 bits differ. The zero register is written like
/// the number.
fn meaning(inst: &Inst) -> String {
    let all = format!("{inst:?}").replace("Reg { num: 63, width: B32 }", "Imm(0)");
    // `bra c0[]` is also there with the zero register as base.
    let all = all.replace("op: BraIndirect", "op: Bra");
    all[..all.find(", text: ").unwrap()].to_string()
}

#[test]
fn text_and_words_round_trip() {
    let mut random = Random::new(3);
    let mut decoded: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut total, mut exact) = (0, 0);
    for chip in CHIPS {
        for row in rows().iter().filter(|row| row.available(chip)) {
            for _ in 0..40 {
                let word = word_of(row, &mut random);
                let Ok(inst) = decode_word(word, 0, chip) else { continue };
                // The listing keeps every bit.
                let code = &word.to_le_bytes()[..usize::from(inst.len)];
                let text = listing(code, 0, chip);
                assert_eq!(assemble(&text, chip).unwrap().code, code, "{text}");
                let word = word & !inst.unknown;
                let inst = decode_word(word, 0, chip).unwrap();
                *decoded.entry(inst.row.text).or_default() += 1;
                let back = assemble_one(&inst);
                let again = decode_word(back, 0, chip).unwrap();
                // Another encoding may have the same text; then it means the same.
                assert_eq!(meaning(&again), meaning(&inst), "{word:016x} {back:016x}");
                assert_eq!(assemble_one(&again), back, "`{inst}`");
                assert_eq!(inst.canonical(), back, "`{inst}`");
                total += 1;
                exact += u32::from(back == word);
            }
        }
    }
    assert_eq!(decoded.len(), rows().iter().map(|row| row.text).collect::<BTreeSet<_>>().len());
    println!("{total} words, {exact} of them exact");
    // Most text stands for one encoding; what does not is control flow's guard and spare codes.
    assert!(exact * 10 > total * 8, "{exact} of {total}");
}

#[test]
fn every_operation_has_a_row() {
    for op in Op::ALL {
        assert!(rows().iter().any(|row| row.op == *op), "{op:?}");
    }
}

#[test]
fn families_differ() {
    let sched = 0x2282_8282_8282_8287;
    assert!(decode_word(sched, 0, Chip::Gf100).is_err());
    assert_eq!(decode_word(sched, 0, Chip::Gk104).unwrap().op, Op::Sched);
    // ldu of GF100 is shfl of GK104.
    let word = 0x8980_7c00_4041_dc65;
    assert_eq!(decode_word(word, 0, Chip::Gf119).unwrap().op, Op::Ldu);
    assert_eq!(decode_word(word, 0, Chip::Gk107).unwrap().op, Op::Shfl);
    for chip in Chip::ALL {
        assert_eq!(Chip::parse(chip.name()), Some(*chip));
    }
    assert_eq!(Chip::parse("sm_21"), Some(Chip::Gf104));
    assert_eq!(Chip::parse("sm_35"), None);
}

#[test]
fn any_word_decodes_or_is_undefined() {
    let mut random = Random::new(4);
    let mut code = Vec::new();
    for _ in 0..60_000 {
        let word = random.next();
        code.extend_from_slice(&(word as u32).to_le_bytes());
        for chip in CHIPS {
            match decode_word(word, 0xffff_fff8, chip) {
                Ok(inst) => {
                    assert!(!inst.to_string().is_empty());
                    assert!(inst.row.form != Form::Short || inst.len == 4);
                }
                Err(DecodeError::Undefined { raw, len, .. }) => {
                    assert_eq!(raw, if len == 4 { word & 0xffff_ffff } else { word });
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    // A listing of noise, cut anywhere, assembles to the same noise.
    for chip in CHIPS {
        for len in (0..64).chain([code.len() - 3, code.len()]) {
            let text = listing(&code[..len], 0x40, chip);
            let assembly = assemble(&text, chip).unwrap();
            assert_eq!(assembly.base, if len == 0 { 0 } else { 0x40 });
            assert!(assembly.code == code[..len], "{len} bytes");
        }
    }
}

#[test]
fn support_table_is_current() {
    let path = root().join("docs/support-fermi.md");
    let wanted = support_table();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/support-fermi.md is not current: run this test with BLESS=1");
}
