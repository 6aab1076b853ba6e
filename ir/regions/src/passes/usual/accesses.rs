//! What the pass looks at: loads, stores, and what stands in front of them; and bounds.

use warpjit_ir_core::entities::{Inst, Value};
use warpjit_ir_core::function::{Function, Imm, InstData};
use warpjit_ir_core::opcodes::{Opcode, Space};
use warpjit_ir_core::types::Scalar;

/// The operands of a memory operation.
pub(super) struct Access {
    pub address: Value,
    pub guard: Option<Value>,
}

/// The operands of a load, a store, or what stands in front of one.
pub(super) fn access_of(data: &InstData) -> Option<Access> {
    let Imm::Mem(mem) = data.imm else { return None };
    let guard = match data.op {
        Opcode::Load | Opcode::TranslateLoad | Opcode::PermitLoad => 1,
        Opcode::Store | Opcode::TranslateStore | Opcode::PermitStore => 2,
        _ => return None,
    };
    let address = *data.args.first()?;
    matches!(mem.space, Space::Global(_)).then(|| Access { address, guard: data.args.get(guard).copied() })
}

/// Whether it accesses global memory under a mask, in each lane for itself.
pub(super) fn is_candidate(func: &Function, data: &InstData) -> bool {
    let Some(Access { address, guard: Some(guard) }) = access_of(data) else { return false };
    !func.ty(address).uniform && !func.ty(guard).uniform && func.ty(guard).scalar == Scalar::I1
}

/// The memory operations of the guest's instruction that begins at a place, with nothing but pure operations in between.
pub(super) fn same_instruction(func: &Function, insts: &[Inst], at: usize) -> Vec<usize> {
    let pc = func.inst(insts[at]).pc;
    let memory = (at..insts.len()).filter(|&place| !func.inst(insts[place]).op.is_pure());
    let is_its = |&place: &usize| {
        let data = func.inst(insts[place]);
        data.pc == pc && is_candidate(func, data)
    };
    memory.take_while(is_its).collect()
}

/// Whether a mask says that lanes' numbers are below or above one that all share.
pub(super) fn is_bound(func: &Function, mask: Value, data: &InstData) -> bool {
    let uniform = |n: usize| func.ty(data.args[n]).uniform;
    data.op == Opcode::Icmp && !func.ty(mask).uniform && (uniform(0) || uniform(1))
}
