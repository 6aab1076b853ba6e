//! Tests that what the rows say of SCC and scalar registers is what the code of an instruction does: each operation of each chip is lifted
//! by itself, and the slots that its code reads and writes are compared with the instruction's effects.

use std::collections::BTreeSet;

use warpjit_ir::{Imm, Opcode};

use super::illegal::words;
use super::*;
use crate::gcn::lift::analysis::effects::Effects;
use crate::gcn::lift::lift_plainly;
use crate::gcn::lift::slots::{EXEC, SGPRS};
use crate::gcn::rows::Registers;
use crate::gcn::table::meaning;
use crate::gcn::{Format, Inst, Operand};

/// Names of the slots that the code of an instruction reads, and of those that it writes.
fn used(inst: &Inst, code: [u32; 2], chip: Chip) -> (BTreeSet<String>, BTreeSet<String>) {
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut bytes = bytes[..usize::from(inst.len)].to_vec();
    bytes.extend([0, 0, 0x81, 0xbf]);
    let func = lift_plainly(&file(&bytes), &options(chip));
    let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
    for (_, block) in func.blocks.iter().enumerate().filter(|&(index, _)| index != func.entry.index()) {
        for &at in &block.insts {
            let data = func.inst(at);
            let Imm::Slot(slot) = data.imm else { continue };
            let name = func.slots[slot.index()].name.clone();
            match data.op {
                Opcode::SlotGet => _ = reads.insert(name),
                Opcode::SlotSet => _ = writes.insert(name),
                _ => {}
            }
        }
    }
    (reads, writes)
}

/// The pair of a scalar register's slot, by its name, if it is an SGPR or part of VCC.
fn pair_of(name: &str) -> Option<u8> {
    match name.strip_suffix(".m").unwrap_or(name) {
        "vcc" | "vcc_lo" | "vcc_hi" => Some(106),
        name => name.strip_prefix('s')?.parse::<u8>().ok().filter(|&code| code < SGPRS).map(|code| code & !1),
    }
}

#[test]
fn rows_say_what_is_read_and_written() {
    let mut wrong = BTreeSet::new();
    for chip in Chip::kinds() {
        for (name, (op, words)) in words(chip) {
            let row = meaning(op);
            let (mut scc_read, mut scc_written) = (false, false);
            for code in words {
                let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
                let Ok(inst) = decode(&bytes, 0, chip) else { continue };
                let (reads, writes) = used(&inst, code, chip);
                let named = inst.srcs().iter().any(|src| src.operand == Operand::Scc);
                let fx = Effects::of(&inst, false);
                scc_read |= reads.contains("scc") && !named;
                scc_written |= writes.contains("scc");
                if reads.contains("scc") && !fx.reads_scc {
                    wrong.insert(format!("{name} reads scc"));
                }
                let written: BTreeSet<u8> =
                    fx.writes.iter().map(|&(pair, _)| pair).chain(fx.may_write.iter().copied()).collect();
                let read: BTreeSet<u8> = fx.reads.iter().map(|&(pair, _)| pair).collect();
                for slot in &writes {
                    // A mask that is read is kept as one.
                    let kept = slot.ends_with(".m") && pair_of(slot).is_some_and(|pair| read.contains(&pair));
                    if pair_of(slot).is_some_and(|pair| !written.contains(&pair)) && !kept {
                        wrong.insert(format!("{name} writes {slot}"));
                    }
                }
                if writes.contains("exec") && !written.contains(&EXEC) {
                    wrong.insert(format!("{name} writes exec"));
                }
                let scalar = matches!(
                    inst.format,
                    Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem
                );
                for slot in reads.iter().filter(|_| scalar) {
                    let made = writes.contains(slot);
                    if pair_of(slot).is_some_and(|pair| !read.contains(&pair)) && !made {
                        wrong.insert(format!("{name} reads {slot}"));
                    }
                }
            }
            if scc_written != row.writes.contains(Registers::SCC) {
                wrong.insert(format!("{name}: its code writes scc: {scc_written}, its row says otherwise"));
            }
            // Parts of STATUS hold SCC too.
            let status = matches!(op, gcn::Op::S_GETREG_B32 | gcn::Op::S_GETREG_REGRD_B32);
            if scc_read != row.reads.contains(Registers::SCC) && !status {
                wrong.insert(format!("{name}: its code reads scc: {scc_read}, its row says otherwise"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}
