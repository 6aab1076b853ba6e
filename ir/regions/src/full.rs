//! Makes the entry mask of a mask-form function constant, for warps in which all lanes are active.

use warpjit_ir_core::function::{Form, Function, Imm};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::Type;

/// Replaces the mask of entering lanes by constant true. The caller guarantees that all lanes enter.
pub fn all_enter(func: &mut Function) {
    debug_assert_eq!(func.form, Form::Mask);
    for inst in &mut func.insts {
        if let (Opcode::ActiveMask, Some(result)) = (inst.op, inst.result) {
            (inst.op, inst.imm) = (Opcode::Const, Imm::Bits(1));
            func.values[result.index()].ty = Type::uniform(warpjit_ir_core::Scalar::I1);
        }
    }
}
