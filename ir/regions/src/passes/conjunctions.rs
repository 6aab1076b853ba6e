//! Simplifies conjunctions of masks: each condition occurs once, and uniform conditions are combined first, as scalars.
//!
//! A guest with a lane mask (GCN's EXEC) restricts each nested comparison to the mask of the comparisons around it, so the same
//! mask occurs several times in one conjunction. Combined as scalars, uniform conditions cost one conversion to a mask instead of
//! one each.

use warpjit_ir_core::analysis::Uses;
use warpjit_ir_core::entities::{Inst, Value};
use warpjit_ir_core::function::{Form, Function, Imm, InstData};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::{Scalar, Type};

/// Most conditions of a conjunction that is rewritten.
const MOST: usize = 16;

/// Runs the pass. In SPMD form it does nothing.
pub fn run(func: &mut Function) -> bool {
    if func.form == Form::Spmd {
        return false;
    }
    let uses = Uses::new(func);
    // Conjunctions that are only used as an operand of another conjunction.
    let mut inner = vec![false; func.values.len()];
    for &inst in func.blocks.iter().flat_map(|b| &b.insts) {
        if is_conjunction(func, func.inst(inst)) {
            for &a in &func.inst(inst).args {
                inner[a.index()] = uses.count(a) == 1;
            }
        }
    }
    let mut changed = false;
    for block in func.block_ids() {
        let mut at = 0;
        while at < func.block(block).insts.len() {
            let inst = func.block(block).insts[at];
            let whole = func.inst(inst).result.is_some_and(|r| !inner[r.index()]);
            if whole
                && is_conjunction(func, func.inst(inst))
                && let Some((args, made)) = rewritten(func, inst, &inner)
            {
                func.inst_mut(inst).args = args.into();
                let count = made.len();
                func.block_mut(block).insts.splice(at..at, made);
                at += count;
                changed = true;
            }
            at += 1;
        }
    }
    changed
}

/// Whether an instruction is the intersection of masks of lanes.
fn is_conjunction(func: &Function, data: &InstData) -> bool {
    data.op == Opcode::Iand
        && data.result.is_some_and(|r| func.ty(r).scalar == Scalar::I1 && !func.ty(r).uniform)
}

/// The new operands of a conjunction and the instructions to insert before it; `None` if it neither repeats a condition
/// nor has separate uniform conditions.
fn rewritten(func: &mut Function, inst: Inst, inner: &[bool]) -> Option<(Vec<Value>, Vec<Inst>)> {
    let (mut lanes, mut same): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    let (mut met, mut joints) = (0, 0);
    let mut work: Vec<Value> = func.inst(inst).args.iter().rev().copied().collect();
    while let Some(v) = work.pop() {
        let part = func.def_inst(v).filter(|data| inner[v.index()] && is_conjunction(func, data));
        if let Some(data) = part {
            work.extend(data.args.iter().rev());
            joints += 1;
            continue;
        }
        met += 1;
        let list = if func.ty(v).uniform { &mut same } else { &mut lanes };
        if !list.contains(&v) {
            list.push(v);
        }
    }
    // A condition that is a conjunct of another one, which is kept because it has other uses, need not be tested again.
    let implied = |v: Value| lanes.iter().any(|&of| of != v && of_conjunction(func, of, v));
    let same: Vec<Value> = same.into_iter().filter(|&v| !implied(v)).collect();
    let lanes: Vec<Value> = lanes.iter().copied().filter(|&v| !implied(v)).collect();
    let now = lanes.len() + same.len();
    if met > MOST || now < 2 || now == met && (same.len() < 2 || joints == 0) {
        return None;
    }
    let pc = func.inst(inst).pc;
    let mut made = Vec::new();
    let mut meet = |list: &[Value], ty: Type| {
        list.iter().copied().reduce(|all, v| {
            made.push(func.make_inst(Opcode::Iand, &[all, v], Imm::None, Some(ty), pc));
            Value::new(func.values.len() - 1)
        })
    };
    let (&last, rest) = lanes.split_last()?;
    let args = match meet(&same, Type::uniform(Scalar::I1)) {
        Some(same) => vec![meet(&lanes, Type::MASK)?, same],
        None => vec![meet(rest, Type::MASK)?, last],
    };
    Some((args, made))
}

/// Whether `v` is a conjunct of the conjunction `mask`.
fn of_conjunction(func: &Function, mask: Value, v: Value) -> bool {
    let mut work = vec![mask];
    for _ in 0..2 * MOST {
        let Some(next) = work.pop() else { return false };
        if let Some(data) = func.def_inst(next).filter(|data| is_conjunction(func, data)) {
            if data.args.contains(&v) {
                return true;
            }
            work.extend(&data.args);
        }
    }
    false
}
