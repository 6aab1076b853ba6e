//! Tests that the operations that `support.rs` lists are `illegal` when a program reaches them, and no others.

use std::collections::BTreeMap;

use warpjit_ir::Meter;
use warpjit_ir::{GuestFault, Terminator};

use super::*;
use crate::gcn::support::not_run;
use crate::gcn::{Chip, Inst, Op};

/// Words of every operation of a chip, some of each.
pub(super) fn words(chip: Chip) -> BTreeMap<&'static str, (Op, Vec<[u32; 2]>)> {
    let mut found: BTreeMap<&'static str, (Op, Vec<[u32; 2]>)> = BTreeMap::new();
    let mut random = 1u32;
    for high in 0..=0xffffu32 {
        // SOP1 and VOP1 have their opcodes lower down.
        let lows = if matches!(high >> 7, 0x17d | 0x7d) || high >> 9 == 0x3f { 0..=0xff } else { 0..=1 };
        for low in lows {
            let low = if high >> 14 == 3 { low << 15 | 0xf00 } else { low << 8 };
            for second in [0, 0x0102_0304, 0x7f02_0304] {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let code = [high << 16 | low | random >> 28, second];
                let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
                let Ok(inst) = decode(&bytes, 0, chip) else { continue };
                let list = &mut found.entry(inst.op.name()).or_insert((inst.op, Vec::new())).1;
                if list.len() < 6 {
                    list.push(code);
                }
            }
        }
    }
    found
}

/// Whether the instruction faults by itself; one that goes elsewhere may find nothing there.
fn faults(code: [u32; 2], chip: Chip) -> Option<bool> {
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let inst: Inst = decode(&bytes, 0, chip).ok()?;
    let mut bytes = bytes[..usize::from(inst.len)].to_vec();
    bytes.extend([0, 0, 0x81, 0xbf]);
    let func = lift(&file(&bytes), &options(chip), &Meter::unlimited()).expect("no limits").function;
    // Whatever registers hold: what depends on a resource is no fault of the instruction itself.
    let mut block = func.block(func.entry);
    for _ in 0..func.blocks.len() {
        if let Some(Terminator::Jump(call)) = &block.term {
            block = func.block(call.block);
        }
    }
    Some(matches!(block.term, Some(Terminator::Fault(GuestFault::Illegal))) && block.term_pc == 0)
}

#[test]
fn what_is_not_run_is_listed() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for chip in Chip::kinds() {
        for (name, (op, words)) in words(chip) {
            seen += 1;
            // What stands behind the end of a program is not there.
            if name.starts_with("S_ENDPGM") {
                continue;
            }
            let all = words.iter().filter_map(|&code| faults(code, chip)).all(|faults| faults);
            if all != not_run(op).is_some() {
                wrong.push(format!("{name} {chip}: illegal {all}"));
            }
        }
    }
    assert!(seen > 3000, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
