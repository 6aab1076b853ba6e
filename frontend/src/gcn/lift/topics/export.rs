//! Lifts exports of graphics programs: they write outputs, words of the lane's local memory ([`stage`](crate::gcn::lift::analysis::stage)).
//!
//! Channels that are not enabled stay as they were. Of a fragment only covered lanes export, also in whole-quad mode; the export with
//! `done` and `vm` decides which pixels live.

use warpjit_ir::{Scalar, Value};

use super::half;
use crate::gcn::lift::analysis::stage::ExportWords;
use crate::gcn::lift::emit::Emit;
use crate::gcn::{Exp, Inst, Op};
use crate::isa::Stage;

/// The canonical f32 NaN.
const NAN: u64 = 0x7fc0_0000;

/// Emits an export; false for what is none, and in compute programs.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let (Some(exp), Some(stage_memory)) = (inst.exp.filter(|_| inst.op == Op::EXP), e.own.stage_memory)
    else {
        return false;
    };
    let lanes = e.store_guard(None);
    for target in stage_memory.exports.get(&exp.target).into_iter().flatten() {
        for (word, value) in words(e, inst, exp, target) {
            e.set_local(target.start + 4 * word, value, Some(lanes));
            let set = e.b.i32(u32::MAX);
            e.set_local(target.written + 4 * word, set, Some(lanes));
        }
    }
    if let (Some(alive), true, true, Stage::Fragment) =
        (stage_memory.alive, exp.done, exp.vm, stage_memory.stage)
    {
        let (set, none) = (e.b.i32(u32::MAX), e.b.i32(0));
        let value = e.b.select(lanes, set, none);
        e.set_local(alive, value, None);
    }
    true
}

/// What an export writes to an output: numbers of words, and values.
fn words(e: &mut Emit<'_>, inst: &Inst, exp: Exp, to: &ExportWords) -> Vec<(u32, Value)> {
    let mut words = Vec::new();
    if exp.compr && !to.half {
        // Two registers of two halves each.
        for word in (0..2).filter(|&word| word < to.words && exp.enable >> (2 * word) & 3 != 0) {
            let channel = 2 * word + u32::from(exp.enable >> (2 * word) & 1 == 0);
            words.push((word, e.src32(inst, channel as usize)));
        }
        return words;
    }
    for word in (0..4).filter(|&word| word < to.words && exp.enable >> word & 1 != 0) {
        let mut value = e.src32(inst, word as usize);
        if exp.compr {
            let bits = if word % 2 == 0 { e.and_const(value, 0xffff) } else { e.ushr_const(value, 16) };
            let float = half::widen(e, bits);
            let float = e.b.fcanon(float, NAN);
            value = e.b.bitcast(float, Scalar::I32);
        }
        words.push((word, value));
    }
    words
}
