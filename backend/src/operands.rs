//! Reads the operands of IR instructions for both code generators. A missing operand is an error, not a panic.

use warpjit_ir::types::Scalar;
use warpjit_ir::{Function, Imm, InstData, MemAccess, Opcode, Value};

use crate::context::{FaultRecord, at};
use crate::error::Error;

pub(crate) fn malformed(data: &InstData) -> Error {
    Error::Malformed(format!("{} with {} operands and {:?}", data.op.name(), data.args.len(), data.imm))
}

pub(crate) fn result(data: &InstData) -> Result<Value, Error> {
    data.result.ok_or_else(|| malformed(data))
}

pub(crate) fn arg(data: &InstData, k: usize) -> Result<Value, Error> {
    data.args.get(k).copied().ok_or_else(|| malformed(data))
}

/// The parts of a fault's record that are constants: offsets in the context, each with its word. Faulting code stores them itself, since as
/// arguments of the block that all faults end in they would need registers.
pub(crate) fn known_of_fault(data: &InstData, mem: MemAccess) -> [(i32, u32); 2] {
    let access = FaultRecord::access(mem.space, !is_load(data.op), mem.bytes);
    [(at::FAULT_PC, data.pc), (at::FAULT_ACCESS, access)]
}

/// Whether elements have 64 bits.
pub(crate) fn wide(scalar: Scalar) -> bool {
    scalar.frame_bytes() == 8
}

/// Result and bits of a constant.
pub(crate) fn constant(f: &Function, data: &InstData) -> Result<(Value, u64), Error> {
    let (Imm::Bits(bits), Some(r)) = (data.imm, data.result) else { return Err(malformed(data)) };
    Ok((r, bits & f.ty(r).scalar.bit_mask()))
}

/// The operands of a load, a store, `deny_load` or `deny_store`.
pub(crate) struct MemoryOperands {
    pub mem: MemAccess,
    pub address: Value,
    /// The value stored; for `deny_load` and `deny_store` the truth value.
    pub value: Option<Value>,
    pub guard: Option<Value>,
}

impl MemoryOperands {
    pub fn of(data: &InstData) -> Result<MemoryOperands, Error> {
        let Imm::Mem(mem) = data.imm else { return Err(malformed(data)) };
        if !matches!(mem.bytes, 1 | 2 | 4 | 8) || !mem.align.is_power_of_two() {
            return Err(malformed(data));
        }
        let takes_value = matches!(
            data.op,
            Opcode::Store
                | Opcode::DenyLoad
                | Opcode::DenyStore
                | Opcode::TranslateStore
                | Opcode::PermitStore
        );
        let value = if takes_value { Some(arg(data, 1)?) } else { None };
        let guard = data.args.get(1 + usize::from(value.is_some())).copied();
        Ok(MemoryOperands { mem, address: arg(data, 0)?, value, guard })
    }
}

/// Whether an operation is a load, or asks for one.
pub(crate) fn is_load(op: Opcode) -> bool {
    matches!(op, Opcode::Load | Opcode::DenyLoad | Opcode::TranslateLoad | Opcode::PermitLoad)
}

/// Whether an access is to shared memory.
pub(crate) fn is_shared(data: &InstData) -> bool {
    matches!(data.imm, Imm::Mem(mem) | Imm::Atomic(mem, _) if mem.space == warpjit_ir::Space::Shared)
}

/// Result, value and index of a shuffle.
pub(crate) fn shuffle(f: &Function, data: &InstData) -> Result<(Value, Value, Value), Error> {
    let (r, value, index) = (result(data)?, arg(data, 0)?, arg(data, 1)?);
    if wide(f.ty(value).scalar) || data.args.len() != 2 {
        return Err(malformed(data));
    }
    Ok((r, value, index))
}

/// The index of `item` in a list of things that the code needs from outside; appends it if it is new.
pub(crate) fn number<T>(list: &mut Vec<&'static T>, item: &'static T) -> usize {
    list.iter().position(|known| std::ptr::eq(*known, item)).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}
