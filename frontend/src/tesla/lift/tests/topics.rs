//! Tests that the file of an operation's topic has its code.

use warpjit_ir::{GuestFault, Meter, Terminator};

use crate::tesla::lift::{Options, lift};
use crate::tesla::table::rows;
use crate::tesla::{Chip, Op, STAGES, Target, Topic, assemble, decode_word};
use crate::testing::Random;

/// The bits of a code address.
const CODE_ADDRESS: u64 = 0xffff << 11 | 0x3f << 46;

/// Whether some word of an operation does anything else than fault as illegal.
fn has_code(op: Op) -> bool {
    let mut random = Random(op as u64 + 1);
    let targets = Chip::ALL.into_iter().flat_map(|chip| STAGES.map(|stage| Target { chip, stage }));
    targets.into_iter().any(|target| {
        rows().iter().filter(|row| row.op == op && row.available(target)).any(|row| {
            (0..40).any(|n| {
                // Every other one leaves code addresses zero: the instruction itself.
                let noise = random.next() & if n % 2 == 0 { !CODE_ADDRESS } else { !0 };
                let word = row.value | noise & !row.mask;
                let Ok(inst) = decode_word(word, 0, target) else { return false };
                let end =
                    assemble("exit nop", Target { stage: crate::Stage::Compute, ..target }).unwrap().code;
                let code = [&word.to_le_bytes()[..usize::from(inst.len)], &end[..]].concat();
                let options = Options::compute("code", target, 128);
                let func = lift(&code, &options, &Meter::unlimited()).unwrap();
                let illegal = Some(Terminator::Fault(GuestFault::Illegal));
                // No lane executes an instruction whose predicate is `never`.
                let runs = inst.op == op && inst.pred.is_none_or(|pred| pred.cond != 0);
                runs && !func.blocks.iter().any(|block| block.term_pc == 0 && block.term == illegal)
            })
        })
    })
}

/// What a graphics stage has needs a plan (`stage.rs`), without which it is illegal.
#[test]
fn every_operation_has_code() {
    for &op in Op::ALL {
        match op.topic() {
            Topic::Unknown => assert!(!has_code(op), "{op:?}"),
            Topic::Stage => {}
            _ => assert!(has_code(op), "`{op:?}` has no code in the file of its topic"),
        }
    }
}
