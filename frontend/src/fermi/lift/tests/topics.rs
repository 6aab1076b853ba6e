//! Tests that the file of an operation's topic has its code.

use warpjit_ir::{GuestFault, Meter, Terminator};

use crate::fermi::lift::{Options, lift};
use crate::fermi::table::rows;
use crate::fermi::{Chip, Op, Topic, assemble, decode_word};
use crate::testing::Random;

/// Whether some word of an operation does anything else than fault as illegal.
fn has_code(op: Op) -> bool {
    let mut random = Random(op as u64 + 1);
    Chip::ALL.iter().any(|&chip| {
        rows().iter().filter(|row| row.op == op && row.available(chip)).any(|row| {
            (0..40).any(|n| {
                // Zeros first: then an address is that of the instruction itself.
                let noise = if n == 0 { 0 } else { random.next() };
                let word = row.value | noise & !row.mask;
                // Groups of GK104 begin with hints.
                let Ok(inst) = decode_word(word, 8, chip) else { return false };
                let end = assemble("exit", chip).unwrap().code;
                let code = [&[0; 8], &word.to_le_bytes()[..usize::from(inst.len)], &end[..]].concat();
                let options = Options { entry: 8, ..Options::compute("code", chip, 63) };
                let func = lift(&code, &options, &Meter::unlimited()).unwrap();
                let illegal = Some(Terminator::Fault(GuestFault::Illegal));
                inst.op == op && !func.blocks.iter().any(|block| block.term_pc == 8 && block.term == illegal)
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
