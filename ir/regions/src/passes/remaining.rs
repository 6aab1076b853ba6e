//! Removes the accumulated exit mask of LLVM's divergent loops.
//!
//! Such a loop updates EXEC as `exec & !(left | leaving)`. Lanes in `left` are no longer in `exec`, so `exec & !leaving` is
//! equal, and `left` is dead unless something else reads it. In the same way, a conjunct of the removed mask that all of `exec`
//! satisfies is dropped.

use crate::masks::Masks;
use foldhash::HashMap;
use warpjit_ir_core::analysis::Uses;
use warpjit_ir_core::entities::{Inst, Value};
use warpjit_ir_core::function::{Form, Function, Imm, InstData};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::Scalar;

/// Most conjuncts or disjuncts of the removed mask that are examined.
const MOST: usize = 8;

/// Runs the pass. In SPMD form it does nothing: there, masks are not values.
pub fn run(func: &mut Function) -> bool {
    if func.form == Form::Spmd {
        return false;
    }
    let (masks, uses) = (Masks::new(func), Uses::new(func));
    let insts = func.blocks.iter().flat_map(|b| &b.insts);
    let found: HashMap<Inst, (usize, Value)> =
        insts.filter_map(|&inst| Some((inst, simpler(&masks, &uses, func.inst(inst))?))).collect();
    for block in func.block_ids() {
        let mut at = 0;
        while at < func.block(block).insts.len() {
            let inst = func.block(block).insts[at];
            if let Some(&(n, less)) = found.get(&inst) {
                let (old, pc) = (func.inst(inst).args[n], func.inst(inst).pc);
                let made = func.make_inst(Opcode::Inot, &[less], Imm::None, Some(func.ty(old)), pc);
                let not = Value::new(func.values.len() - 1);
                func.inst_mut(inst).args[n] = not;
                func.block_mut(block).insts.insert(at, made);
                at += 1;
            }
            at += 1;
        }
    }
    !found.is_empty()
}

/// If `data` is `lanes & !mask`: the index of the operand `!mask`, and a simpler mask to remove instead.
fn simpler(masks: &Masks<'_>, uses: &Uses, data: &InstData) -> Option<(usize, Value)> {
    let func = masks.func;
    let (Opcode::Iand, &[a, b]) = (data.op, &data.args[..]) else { return None };
    let is_mask = |v: Value| func.ty(v).scalar == Scalar::I1 && !func.ty(v).uniform;
    [(a, b, 1), (b, a, 0)].into_iter().find_map(|(lanes, not, n)| {
        let taken = func.def_inst(not).filter(|data| data.op == Opcode::Inot && is_mask(not))?.args[0];
        let (mut less, mut only) = (taken, uses.count(not) == 1);
        for _ in 0..MOST {
            let Some(data) = func.def_inst(less) else { break };
            only &= uses.count(less) == 1;
            let needless = |&part: &Value| match data.op {
                Opcode::Ior => masks.are_disjoint(lanes, part),
                // A conjunction with other users stays anyway, so using a part of it would only lengthen the part's
                // live range.
                Opcode::Iand => only && masks.implies(lanes, part),
                _ => false,
            };
            let &[a, b] = &data.args[..] else { break };
            less = match (needless(&a), needless(&b)) {
                (true, _) if is_mask(b) => b,
                (_, true) if is_mask(a) => a,
                _ => break,
            };
        }
        (less != taken).then_some((n, less))
    })
}
