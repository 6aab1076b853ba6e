//! Atomics on global memory, locked shared memory: each in a block of its own.

use warpjit_ir::{AtomicOp, Imm, MemAccess, Opcode, Scalar, Space, Type as IrType};

use super::emit::Emit;
use super::memory::global;
use crate::tesla::{AtomOp, Inst, Op, Operand, Type};

/// Emits one atomic or locked access.
pub(super) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::LdLock => load_lock(e, inst),
        Op::StShared => store_unlock(e, inst),
        _ => atomic(e, inst),
    }
}

fn operation(inst: &Inst) -> AtomicOp {
    let signed = inst.mods.ty.is_some_and(Type::is_signed);
    match (inst.mods.atom, signed) {
        (AtomOp::Add, _) => AtomicOp::Add,
        (AtomOp::Exch, _) => AtomicOp::Exch,
        (AtomOp::Cas, _) => AtomicOp::Cas,
        (AtomOp::Inc, false) => AtomicOp::Inc,
        (AtomOp::Dec, false) => AtomicOp::Dec,
        (AtomOp::Inc, true) => AtomicOp::IncS,
        (AtomOp::Dec, true) => AtomicOp::DecS,
        (AtomOp::Max, false) => AtomicOp::Umax,
        (AtomOp::Max, true) => AtomicOp::Smax,
        (AtomOp::Min, false) => AtomicOp::Umin,
        (AtomOp::Min, true) => AtomicOp::Smin,
        (AtomOp::And, _) => AtomicOp::And,
        (AtomOp::Or, _) => AtomicOp::Or,
        (AtomOp::Xor, _) => AtomicOp::Xor,
    }
}

fn atomic(e: &mut Emit<'_>, inst: &Inst) {
    let Some(Operand::Global { space, reg }) = inst.src(0).map(|src| src.operand) else { return };
    let wide = inst.mods.ty.is_some_and(|ty| ty.bits() == 64);
    let ty = if wide { IrType::I64 } else { IrType::I32 };
    let address = e.reg(reg.into());
    let address = e.keep(address, IrType::I32, 0);
    let operand = |e: &mut Emit<'_>, n| if wide { e.src64(inst, n) } else { e.src(inst, n) };
    let value = operand(e, 1);
    let value = e.keep(value, ty, 1);
    let new = (inst.mods.atom == AtomOp::Cas).then(|| {
        let new = operand(e, 2);
        e.keep(new, ty, 2)
    });
    let old = e.temp(ty, 3);
    let mem = MemAccess { bytes: if wide { 8 } else { 4 }, ..global(space, if wide { 8 } else { 4 }, false) };
    let op = operation(inst);
    e.isolated(|e| {
        let address = e.get(address);
        let value = e.get(value);
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

/// `ld lock`: takes the word's lock and loads it; `$c` is S where that worked, Z where another warp holds the lock.
fn load_lock(e: &mut Emit<'_>, inst: &Inst) {
    let Some(Operand::Shared { addr, .. }) = inst.src(0).map(|src| src.operand) else { return };
    let (mem, base) = e.address(Space::Shared, addr, 4, false);
    let address = e.keep(base, IrType::I32, 0);
    let (locked, loaded) = (e.temp(IrType::MASK, 1), e.temp(IrType::I32, 3));
    e.isolated(|e| {
        let address = e.get(address);
        let mut args = vec![address];
        args.extend(e.guard);
        let success =
            e.b.push(Opcode::Lock, &args, Imm::Mem(mem), Some(IrType::varying(Scalar::I1)))
                .unwrap_or(address);
        let word = e.b.load(mem, address, None);
        e.put_always(locked, success);
        e.put_always(loaded, word);
    });
    let (success, word) = (e.get(locked), e.get(loaded));
    let outer = e.guard;
    e.guard = Some(match outer {
        Some(guard) => e.b.iand(guard, success),
        None => success,
    });
    e.write(inst, word);
    e.guard = outer;
    let flags = e.test_flags(success);
    e.set_flags(inst, flags);
}

/// `st unlock`: stores and frees the lock.
fn store_unlock(e: &mut Emit<'_>, inst: &Inst) {
    let Some(Operand::Shared { addr, ty }) = inst.src(0).map(|src| src.operand) else { return };
    let value = e.src(inst, 1);
    let (mem, base) = e.address(Space::Shared, addr, ty.bytes(), false);
    let address = e.keep(base, IrType::I32, 0);
    let value = e.keep(value, IrType::I32, 1);
    e.isolated(|e| {
        let mut args = vec![e.get(address), e.get(value)];
        args.extend(e.guard);
        e.b.push(Opcode::UnlockStore, &args, Imm::Mem(mem), None);
    });
}
