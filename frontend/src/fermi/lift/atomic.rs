//! Atomics on global memory, locked shared memory: each in a block of its own.
//!
//! Generic addresses of atomics are global ones: compiled code of the time makes atomics on shared memory of locked accesses.
//! Of the locked accesses to g[] only the encoding is known; they are illegal.

use warpjit_ir::{AtomicOp, GuestFault, Imm, MemAccess, Opcode, Scalar, Space, Type as IrType};

use super::emit::Emit;
use super::memory::{access, part, stored};
use crate::fermi::{AtomOp, Inst, MemSpace, Op, Operand, Type};

/// Emits one atomic or locked access.
pub(super) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::LdLock => load_lock(e, inst),
        Op::StUnlock => store_unlock(e, inst),
        _ => atomic(e, inst),
    }
}

fn operation(op: AtomOp, ty: Type) -> AtomicOp {
    let signed = ty.is_signed();
    match op {
        AtomOp::Add if ty == Type::F32 => AtomicOp::FaddFtz,
        AtomOp::Add => AtomicOp::Add,
        AtomOp::Exch => AtomicOp::Exch,
        AtomOp::Cas => AtomicOp::Cas,
        AtomOp::Inc => AtomicOp::Inc,
        AtomOp::Dec => AtomicOp::Dec,
        AtomOp::Max if signed => AtomicOp::Smax,
        AtomOp::Max => AtomicOp::Umax,
        AtomOp::Min if signed => AtomicOp::Smin,
        AtomOp::Min => AtomicOp::Umin,
        AtomOp::And => AtomicOp::And,
        AtomOp::Or => AtomicOp::Or,
        AtomOp::Xor => AtomicOp::Xor,
    }
}

fn atomic(e: &mut Emit<'_>, inst: &Inst) {
    let Some(Operand::Mem { base, wide: wide_address, offset, .. }) = inst.src(0).map(|src| src.operand)
    else {
        return;
    };
    let ty = inst.mods.ty.unwrap_or(Type::U32);
    let op = operation(inst.mods.atom, ty);
    let wide = ty.bits() == 64;
    let value_type = if wide { IrType::I64 } else { IrType::I32 };
    let address_type = if wide_address { IrType::I64 } else { IrType::I32 };
    let address = e.address(base, wide_address);
    let address = e.b.splat(address);
    let address = e.keep(address, address_type, 0);
    let operand = |e: &mut Emit<'_>, n, slot| {
        let value = if wide { e.src64(inst, n) } else { e.src(inst, n) };
        let value = e.b.splat(value);
        e.keep(value, value_type, slot)
    };
    let value = operand(e, 1, 1);
    let new = (op == AtomicOp::Cas).then(|| operand(e, 2, 2));
    let old = e.temp(value_type, 3);
    let bytes = if wide { 8 } else { 4 };
    let mem = MemAccess {
        space: Space::Global(0),
        bytes,
        signed: false,
        offset,
        align: bytes,
        align_offset: 0,
        far: false,
    };
    e.isolated(|e| {
        let (address, value) = (e.get(address), e.get(value));
        let new = new.map(|slot| e.get(slot));
        let guard = e.guard;
        let result = e.b.atomic(mem, op, address, value, new, guard);
        e.put_always(old, result);
    });
    if inst.op == Op::Atom {
        let result = e.get(old);
        if wide { e.write64(inst, result) } else { e.write(inst, result) }
    }
}

/// The place of a locked access: its base register and offset, in shared memory only.
fn locked(inst: &Inst) -> Option<(u8, i32)> {
    match inst.src(0).map(|src| src.operand) {
        Some(Operand::Mem { space: MemSpace::Shared, base, offset, .. }) => Some((base, offset)),
        _ => None,
    }
}

/// The word of shared memory whose lock an access takes.
const WORD: MemAccess = MemAccess {
    space: Space::Shared,
    bytes: 4,
    signed: false,
    offset: 0,
    align: 1,
    align_offset: 0,
    far: false,
};

/// Takes the lock of the word and loads; the predicate says where that worked.
fn load_lock(e: &mut Emit<'_>, inst: &Inst) {
    let Some((base, offset)) = locked(inst) else { return e.fault(GuestFault::Illegal) };
    let ty = inst.mods.ty.unwrap_or(Type::B32);
    let Some(mem) = access(MemSpace::Shared, ty) else { return };
    let address = e.group(base, 0);
    let offset = e.b.i32(offset as u32);
    let address = e.b.iadd(address, offset);
    let word = e.and_const(address, 0xfffc);
    let (address, word) = (e.b.splat(address), e.b.splat(word));
    let (address, word) = (e.keep(address, IrType::I32, 0), e.keep(word, IrType::I32, 2));
    let took = e.temp(IrType::MASK, 1);
    e.isolated(|e| {
        let mut args = vec![e.get(word)];
        args.extend(e.guard);
        let success = e.b.push(Opcode::Lock, &args, Imm::Mem(WORD), Some(IrType::varying(Scalar::I1)));
        if let Some(success) = success {
            e.put_always(took, success);
        }
    });
    let (success, address) = (e.get(took), e.get(address));
    let outer = e.guard;
    let taken = match outer {
        Some(guard) => e.b.iand(guard, success),
        None => success,
    };
    e.guard = Some(taken);
    if let Some(Operand::Reg { num, .. }) = inst.dst {
        for n in 0..ty.bytes().div_ceil(4) as u8 {
            let value = e.b.load(part(mem, n), address, None);
            e.set_group(num, n, value);
        }
    }
    e.guard = outer;
    e.set_pred(inst.pdst, success);
}

/// Stores and frees the lock of the word. What is not a word is stored first; the word is then stored as it is.
fn store_unlock(e: &mut Emit<'_>, inst: &Inst) {
    let Some((base, offset)) = locked(inst) else { return e.fault(GuestFault::Illegal) };
    let ty = inst.mods.ty.unwrap_or(Type::B32);
    let Some(mem) = access(MemSpace::Shared, ty) else { return };
    let address = e.group(base, 0);
    let offset = e.b.i32(offset as u32);
    let address = e.b.iadd(address, offset);
    let word = e.and_const(address, 0xfffc);
    let values = stored(e, inst, 1, ty);
    let value = if ty.bytes() == 4 {
        values[0]
    } else {
        let guard = e.guard;
        for (n, &value) in values.iter().enumerate() {
            e.b.store(part(mem, n as u8), address, value, guard);
        }
        e.b.load(WORD, word, None)
    };
    let (word, value) = (e.b.splat(word), e.b.splat(value));
    let (word, value) = (e.keep(word, IrType::I32, 0), e.keep(value, IrType::I32, 2));
    e.isolated(|e| {
        let mut args = vec![e.get(word), e.get(value)];
        args.extend(e.guard);
        e.b.push(Opcode::UnlockStore, &args, Imm::Mem(WORD), None);
    });
}
