//! Tests Tesla's instruction table as a whole: rows decode to themselves; none overlap; text and words round-trip.

mod common;

use std::collections::BTreeMap;
use std::fs;

use common::{Random, root};
use warpjit_frontend::tesla::table::rows;
use warpjit_frontend::tesla::{
    Chip, DecodeError, Form, Inst, Op, Operand, Row, STAGES, Stage, Target, Type, assemble, decode_word,
    listing, support_table,
};

/// One chip of each set of features.
const CHIPS: [Chip; 5] = [Chip::G80, Chip::G84, Chip::G200, Chip::Mcp77, Chip::Gt215];

fn targets() -> impl Iterator<Item = Target> {
    CHIPS.into_iter().flat_map(|chip| STAGES.into_iter().map(move |stage| Target { chip, stage }))
}

/// A word of that row: everything the row does not fix is random.
fn word_of(row: &Row, random: &mut Random) -> u64 {
    let mut word = row.value | random.next() & !row.mask;
    if row.form == Form::Long && word >> 32 & 3 == 3 {
        word &= !(1 << 32);
    }
    if row.len_bytes() == 4 { word & 0xffff_ffff } else { word }
}

#[test]
fn rows_decode_to_themselves() {
    let mut random = Random::new(2);
    for row in rows() {
        for target in targets().filter(|&target| row.available(target)) {
            let mut found = 0;
            for _ in 0..2000 {
                match decode_word(word_of(row, &mut random), 0, target) {
                    Ok(inst) => {
                        assert!(std::ptr::eq(inst.row, row), "`{}` decodes as `{}`", row.text, inst.row.text);
                        found += 1;
                    }
                    Err(error) => assert!(matches!(error, DecodeError::Undefined { .. })),
                }
                if found == 20 {
                    break;
                }
            }
            assert_ne!(found, 0, "`{}` never decodes for {target:?}", row.text);
        }
    }
}

#[test]
fn rows_do_not_overlap() {
    let rows = rows();
    for (index, a) in rows.iter().enumerate() {
        for b in &rows[index + 1..] {
            let apart = (a.value ^ b.value) & a.mask & b.mask != 0;
            // The immediate forms are what the plain long ones leave: word 1 bits 0-1 are 3.
            let classes = matches!((a.form, b.form), (Form::Imm, Form::Long) | (Form::Long, Form::Imm));
            let together = targets().any(|target| a.available(target) && b.available(target));
            assert!(apart || classes || !together, "`{}` and `{}` overlap", a.text, b.text);
        }
        assert_eq!(a.value & !a.mask, 0, "`{}` has value bits outside of its mask", a.text);
    }
}

/// Bits that an instruction has but its text does not: see [`Inst::canonical`].
fn ignored(inst: &Inst) -> u64 {
    // Selectors of c[] operands that the row does not have, or that nothing selects.
    let mut bits = 0x0180_0000;
    if inst.row.text.contains("IGNCE") {
        bits |= 1 << 38;
    }
    if inst.row.text.contains("IGNPRED") {
        bits |= 0x7f << 39;
    }
    // Word 0 bits 23-24 alone select p[].
    if inst.srcs().iter().any(|src| matches!(src.operand, Operand::Prim { .. })) {
        bits |= 1 << 53;
    }
    // Loads from c[] and s[] and conversions to 8 bits do not show how wide their o[] is.
    let several = inst.row.text.contains("<csldreg>")
        || inst.op == Op::Cvt && matches!(inst.mods.ty, Some(Type::U8 | Type::S8));
    if several && matches!(inst.dst, Some(Operand::Out { .. } | Operand::Discard)) {
        bits |= 1 << 58 | 0x1fc;
    }
    bits
}

/// Assembles the text of an instruction alone.
fn assemble_one(inst: &Inst) -> u64 {
    let long = if inst.len == 8 { "long " } else { "" };
    let text = format!("{long}{inst}");
    let code = assemble(&text, inst.target).unwrap_or_else(|errors| panic!("{text}: {errors}")).code;
    assert_eq!(code.len(), usize::from(inst.len), "{text}");
    let mut bytes = [0; 8];
    bytes[..code.len()].copy_from_slice(&code);
    u64::from_le_bytes(bytes)
}

#[test]
fn text_and_words_round_trip() {
    let mut random = Random::new(3);
    let mut decoded: BTreeMap<&str, u32> = BTreeMap::new();
    for target in targets() {
        for row in rows().iter().filter(|row| row.available(target)) {
            for _ in 0..12 {
                let word = word_of(row, &mut random);
                let Ok(inst) = decode_word(word, 0, target) else { continue };
                *decoded.entry(row.text).or_default() += 1;
                let back = assemble_one(&inst);
                let differ = back ^ word;
                assert_eq!(differ & !ignored(&inst), 0, "{word:016x} {back:016x} `{inst}` of `{}`", row.text);
                let again = decode_word(back, 0, target).unwrap();
                assert_eq!(again.to_string(), inst.to_string());
                assert_eq!(assemble_one(&again), back, "`{inst}`");
                assert_eq!(inst.canonical(), back, "`{inst}`");
                // The listing keeps every bit.
                let code = &word.to_le_bytes()[..usize::from(inst.len)];
                let text = listing(code, 0, target);
                assert_eq!(assemble(&text, target).unwrap().code, code, "{text}");
            }
        }
    }
    assert_eq!(
        decoded.len(),
        rows().iter().map(|row| row.text).collect::<std::collections::BTreeSet<_>>().len()
    );
}

#[test]
fn any_word_decodes_or_is_undefined() {
    let mut random = Random::new(4);
    let mut code = Vec::new();
    for _ in 0..60_000 {
        let word = random.next();
        code.extend_from_slice(&(word as u32).to_le_bytes());
        for target in [Target::compute(Chip::G80), Target { chip: Chip::Gt215, stage: Stage::Geometry }] {
            match decode_word(word, 0, target) {
                Ok(inst) => assert!(!inst.to_string().is_empty()),
                Err(DecodeError::Undefined { raw, len, .. }) => {
                    assert_eq!(raw, if len == 4 { word & 0xffff_ffff } else { word });
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    // A listing of noise, cut anywhere, assembles to the same noise.
    for target in [Target::compute(Chip::G200), Target { chip: Chip::G80, stage: Stage::Fragment }] {
        for len in (0..64).chain([code.len() - 3, code.len()]) {
            let text = listing(&code[..len], 0x40, target);
            let assembly = assemble(&text, target).unwrap();
            assert_eq!(assembly.base, if len == 0 { 0 } else { 0x40 });
            assert!(assembly.code == code[..len], "{len} bytes");
        }
    }
}

#[test]
fn support_table_is_current() {
    let path = root().join("docs/support-tesla.md");
    let wanted = support_table();
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/support-tesla.md is not current: run this test with BLESS=1");
}
