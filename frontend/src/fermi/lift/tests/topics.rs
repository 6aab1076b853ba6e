//! Tests that the file of an operation's topic has its code.

use warpjit_ir::{GuestFault, Meter, Terminator};

use crate::fermi::lift::{Options, lift};
use crate::fermi::table::rows;
use crate::fermi::{Chip, Op, TRUE_PRED, Topic, assemble, decode_word};
use crate::testing::Random;

/// The bits of a branch's distance.
const DISTANCE: u64 = 0xff_ffff << 26;

/// Whether some word of an operation does anything else than fault as illegal.
fn has_code(op: Op) -> bool {
    let mut random = Random(op as u64 + 1);
    Chip::ALL.iter().any(|&chip| {
        rows().iter().filter(|row| row.op == op && row.available(chip)).any(|row| {
            (0..40).any(|n| {
                // Every other one leaves the distances of branches zero: the next instruction.
                let noise = random.next() & if n % 2 == 0 { !DISTANCE } else { !0 };
                let word = row.value | noise & !row.mask;
                // Groups of GK104 begin with hints.
                let Ok(inst) = decode_word(word, 8, chip) else { return false };
                let end = assemble("exit", chip).unwrap().code;
                let code = [&[0; 8], &word.to_le_bytes()[..usize::from(inst.len)], &end[..]].concat();
                let options = Options { entry: 8, ..Options::compute("code", chip, 63) };
                let func = lift(&code, &options, &Meter::unlimited()).unwrap();
                let illegal = Some(Terminator::Fault(GuestFault::Illegal));
                // No lane executes an instruction whose guard is never true.
                let never = inst.guard.is_some_and(|guard| guard.num == TRUE_PRED && guard.not);
                let runs = inst.op == op && !never;
                runs && !func.blocks.iter().any(|block| block.term_pc == 8 && block.term == illegal)
            })
        })
    })
}

/// What a graphics stage has needs a plan (`stage.rs`), without which it is illegal. Hints to the scheduler are no instructions.
#[test]
fn every_operation_has_code() {
    for &op in Op::ALL {
        match op.topic() {
            Topic::Unknown => assert!(!has_code(op), "{op:?}"),
            _ if op.topic() == Topic::Stage || matches!(op, Op::Sched | Op::Discard) => {}
            _ => assert!(has_code(op), "`{op:?}` has no code in the file of its topic"),
        }
    }
}
