//! Removes float operations that the possible classes of their operands make redundant ([`FloatClasses`]): tests for NaNs that
//! cannot occur, flushing of values that are never denormal, a minimum or maximum of which one operand is always the result.
//!
//! Unlike [`super::fold`], it knows the classes of block parameters.

use super::rewrite::Aliases;
use crate::analysis::{Classes, FloatClasses};
use crate::function::{Function, Imm, InstData};
use crate::opcodes::{FloatCC, Opcode};
use crate::types::Type;
use smallvec::smallvec;

/// What becomes of an instruction.
enum Act {
    /// The result is that operand.
    Operand(usize),
    /// The result is this truth value.
    Truth(bool),
    /// One operand twice.
    Both(usize),
}

/// Runs the pass. A function without minimum, maximum and flushing has little for it.
pub fn run(func: &mut Function) -> bool {
    let looks = |op| matches!(op, Opcode::Fmin | Opcode::Fmax | Opcode::Fsignals | Opcode::Fflush);
    if !func.blocks.iter().any(|block| block.insts.iter().any(|&inst| looks(func.inst(inst).op))) {
        return false;
    }
    let classes = FloatClasses::new(func);
    let mut aliases = Aliases::new(func);
    let mut changed = false;
    for block in func.block_ids() {
        let mut insts = std::mem::take(&mut func.block_mut(block).insts);
        insts.retain(|&inst| {
            let data = func.inst(inst);
            let (Some(result), Some(act)) = (data.result, act(data, &classes)) else { return true };
            match act {
                Act::Operand(n) => {
                    // In unreachable code a value may be defined by itself.
                    if aliases.get(data.args[n]) == result {
                        return true;
                    }
                    aliases.set(result, data.args[n]);
                    return false;
                }
                Act::Truth(truth) => {
                    let ty = func.ty(result).scalar;
                    func.values[result.index()].ty = Type::uniform(ty);
                    let data = func.inst_mut(inst);
                    (data.op, data.imm) = (Opcode::Const, Imm::Bits(truth.into()));
                    data.args.clear();
                }
                Act::Both(n) => {
                    let data = func.inst_mut(inst);
                    data.args = smallvec![data.args[n]; 2];
                }
            }
            changed = true;
            true
        });
        func.block_mut(block).insts = insts;
    }
    aliases.apply(func);
    changed | aliases.any()
}

fn act(data: &InstData, classes: &FloatClasses) -> Option<Act> {
    let may = |n: usize, kinds: Classes| classes.of(data.args[n]).may(kinds);
    // Of a test for `kinds` on two operands: the only operand that it can be about, or its constant result.
    let test = |kinds: Classes, otherwise: bool| match (may(0, kinds), may(1, kinds)) {
        (false, false) => Some(Act::Truth(otherwise)),
        (true, false) if data.args[0] != data.args[1] => Some(Act::Both(0)),
        (false, true) if data.args[0] != data.args[1] => Some(Act::Both(1)),
        _ => None,
    };
    match (data.op, &data.imm) {
        (Opcode::Fsignals, _) => test(Classes::SIGNALLING, false),
        (Opcode::Fcmp, Imm::FloatCmp(FloatCC::Uno, _)) => test(Classes::NAN, false),
        (Opcode::Fcmp, Imm::FloatCmp(FloatCC::Ord, _)) => test(Classes::NAN, true),
        (Opcode::Fcanon, _) if !may(0, Classes::NAN) => Some(Act::Operand(0)),
        (Opcode::Fflush, _) if !may(0, Classes::DENORMALS) => Some(Act::Operand(0)),
        (Opcode::Fmin | Opcode::Fmax, _) if data.args[0] == data.args[1] => Some(Act::Operand(0)),
        (Opcode::Fmin | Opcode::Fmax, _) => {
            let (a, b) = (classes.of(data.args[0]), classes.of(data.args[1]));
            a.decided(b, data.op == Opcode::Fmax).map(|first| Act::Operand(usize::from(!first)))
        }
        _ => None,
    }
}
