//! Tests the GCN instruction table as a whole: opcodes, names, agreement with the notes it was made from, the generated document.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use common::root;
use warpjit_frontend::gcn::Property;
use warpjit_frontend::gcn::table::{meaning, rows};
use warpjit_frontend::gcn::{Chip, Format, Generation, Op, Row, decode, support_table};

#[test]
fn opcodes_are_unique() {
    let mut seen = BTreeMap::new();
    for row in rows() {
        for chip in Chip::kinds().filter(|&chip| row.is_on(chip)) {
            let key = (row.format, row.code(chip.generation()), chip);
            if let Some(other) = seen.insert(key, row.op) {
                panic!("{:?} and {other:?} are both {key:?}", row.op);
            }
        }
        for generation in row.generations() {
            assert!(row.chip(generation).is_some(), "{:?}: no chip of {generation} has it", row.op);
        }
        assert!(row.generations().next().is_some(), "{:?} has no opcode", row.op);
    }
}

#[test]
fn every_operation_has_a_row() {
    let found: BTreeSet<Op> = rows().iter().map(|row| row.op).collect();
    let missing: Vec<_> = Op::ALL.iter().filter(|op| !found.contains(op)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The lifter takes the first row of an operation as what it means.
#[test]
fn rows_of_an_operation_say_the_same_of_registers() {
    let said = |row: &Row| {
        let old = [Property::Old, Property::Lanes, Property::Mask, Property::IndexedSource];
        (row.reads, row.writes, row.mask_source(), row.lane_source(), old.map(|property| row.has(property)))
    };
    for row in rows() {
        assert_eq!(said(row), said(meaning(row.op)), "{:?}", row.op);
    }
}

#[test]
fn rows_of_memory_operations_say_what_they_do() {
    use Property::{Atomic, Load, Other, Store};
    for row in rows() {
        let memory = matches!(
            row.format,
            Format::Smem | Format::Ds | Format::Flat | Format::Mubuf | Format::Mtbuf | Format::Mimg
        );
        let count = [Load, Store, Atomic, Other].into_iter().filter(|&property| row.has(property)).count();
        assert_eq!(count, usize::from(memory), "{:?}: {}", row.op, row.text);
    }
}

/// Names of the list that are another operation's other name, or wrong (docs/hardware/gcn.md section 7).
fn other_name(format: &str, generation: Generation, name: &str) -> Option<&'static str> {
    Some(match (format, generation, name) {
        // CLRX lists scalar atomics on 1.2; they are of 1.4.
        ("SMEM", Generation::Gfx8, name) if name.starts_with("s_buffer_atomic") => "",
        _ => return None,
    })
}

/// The list has every opcode of every generation with LLVM's and CLRX's name.
#[test]
fn table_is_that_of_llvm_and_clrx() {
    let text = include_str!("tables/gcn_opcodes.csv");
    let mut count = 0;
    for line in text.lines().skip(1) {
        let fields: Vec<_> = line.split(',').collect();
        let [format, number, code, _, llvm, clrx] = fields[..] else { panic!("{line}") };
        let generation =
            Generation::ALL.into_iter().find(|generation| generation.number() == number).unwrap();
        let code: u16 = code.parse().unwrap();
        let name = if llvm.is_empty() { clrx } else { llvm };
        if other_name(format, generation, name) == Some("") || format == "VOP3" && code >= 0x380 {
            continue;
        }
        let short = |base: u16| code.checked_sub(base);
        let old = generation.is_old();
        let candidates: Vec<(Format, u16)> = match format {
            "SOP2" => vec![(Format::Sop2, code)],
            "SOPK" => vec![(Format::Sopk, code)],
            "SOP1" => vec![(Format::Sop1, code)],
            "SOPC" => vec![(Format::Sopc, code)],
            "SOPP" => vec![(Format::Sopp, code)],
            "SMEM" => vec![(Format::Smem, code)],
            "VOP2" => vec![(Format::Vop2, code)],
            "VOP1" => vec![(Format::Vop1, code)],
            "VOPC" => vec![(Format::Vopc, code)],
            "VOP3" => [
                Some((Format::Vop3, code)),
                Some((Format::Vopc, code)),
                short(0x100).map(|code| (Format::Vop2, code)),
                short(if old { 0x180 } else { 0x140 }).map(|code| (Format::Vop1, code)),
            ]
            .into_iter()
            .flatten()
            .collect(),
            "VOP3P" => vec![(Format::Vop3p, code)],
            "VINTRP" => vec![(Format::Vintrp, code)],
            "DS" => vec![(Format::Ds, code)],
            "FLAT" | "GLOBAL" | "SCRATCH" => vec![(Format::Flat, code)],
            "MUBUF" => vec![(Format::Mubuf, code)],
            "MTBUF" => vec![(Format::Mtbuf, code)],
            "MIMG" => vec![(Format::Mimg, code)],
            _ => panic!("{line}"),
        };
        let segmentless = name.replace("global_", "flat_").replace("scratch_", "flat_");
        let wanted = if format == "SMEM" || format == "SOP1" { name } else { &segmentless };
        let names: Vec<_> = rows()
            .iter()
            .filter(|row| row.code(generation).is_some_and(|code| candidates.contains(&(row.format, code))))
            .map(|row| row.name(generation))
            .collect();
        assert!(names.contains(&wanted), "{line}: {names:?}");
        count += 1;
    }
    eprintln!("{count} opcodes");
    assert!(count > 4000);
}

#[test]
fn cut_and_misaligned_code_is_an_error() {
    let word = 0xbe8000ff_u64 | 0x12345678 << 32;
    let bytes = word.to_le_bytes();
    for generation in Generation::ALL {
        assert_eq!(decode(&bytes, 0, generation).is_ok(), !generation.is_old(), "{generation}");
        for len in 0..8 {
            assert!(decode(&bytes[..len], 0, generation).is_err());
        }
        assert!(decode(&bytes, 2, generation).is_err());
    }
}

#[test]
fn support_table_is_current() {
    let path = root().join("docs/support-gcn.md");
    let wanted = support_table();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/support-gcn.md is not current: run this test with BLESS=1");
}
