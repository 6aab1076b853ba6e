//! Mask form of regions in which lanes never diverge.
//!
//! If the guest has a scalar unit (GCN, VP1), every branch is uniform by declaration: the wave has one program counter, and the
//! lanes that an instruction concerns are data. So blocks, branches and parameters stay as they are, and no masks are added to
//! those of the program.
//!
//! Such a region still runs chunk by chunk. Each chunk computes the same scalars from the same uniform slots; generated code
//! writes the uniform slots for the last chunk only.

use super::liveness::SlotSet;
use warpjit_ir_core::builder::Builder;

use warpjit_ir_core::function::{Form, Function, Imm, Terminator};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::Type;

/// Whether lanes of a kernel in SPMD form never diverge: all its branches have uniform conditions by type, and it has
/// no other divergence instructions.
pub fn is_wave(func: &Function) -> bool {
    let uniform = func.slots.iter().any(|slot| slot.ty.uniform);
    let together = |term: &Terminator| match term {
        Terminator::Branch { cond, .. } => func.ty(*cond).uniform,
        Terminator::Leave { cond, .. } => cond.is_none(),
        Terminator::BranchIndirect { address } => func.ty(*address).uniform,
        Terminator::Jump(_) | Terminator::Barrier { .. } | Terminator::Fault(_) => true,
        _ => false,
    };
    uniform && func.blocks.iter().all(|block| block.term.as_ref().is_some_and(together))
}

/// Turns a region in SSA of such a kernel into mask form. The slots of `uniform_slots` hold one value in all lanes of
/// each chunk, so reads of them become uniform.
pub fn to_mask(src: &Function, uniform_slots: &SlotSet) -> Function {
    let mut out = src.clone();
    out.form = Form::Mask;
    for inst in &src.insts {
        if let (Opcode::SlotGet, Imm::Slot(slot), Some(result)) = (inst.op, inst.imm, inst.result)
            && uniform_slots.contains(slot)
        {
            out.values[result.index()].ty.uniform = true;
        }
    }
    for block in src.block_ids() {
        let data = src.block(block);
        let Some(term) = &data.term else { continue };
        let mut b = Builder::new(&mut out, block);
        b.pc = data.term_pc;
        let term = match term {
            Terminator::Branch { cond, taken, next } => {
                Terminator::BrIf { cond: *cond, taken: taken.clone(), next: next.clone() }
            }
            Terminator::Return { exit: 0, .. } => {
                let all = b.push(Opcode::ActiveMask, &[], Imm::None, Some(Type::MASK));
                Terminator::Return { exit: 0, exited: all, cond: None }
            }
            Terminator::Return { exit, exited, cond } => {
                // A vote's is a mask already.
                let cond = cond.map(|c| if src.ty(c).uniform { b.splat(c) } else { c });
                Terminator::Return { exit: *exit, exited: *exited, cond }
            }
            other => other.clone(),
        };
        out.block_mut(block).term = Some(term);
    }
    out
}
