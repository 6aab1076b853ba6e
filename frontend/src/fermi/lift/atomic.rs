//! Atomics and locked accesses: each in a block of its own.
//!
//! Atomics take generic addresses. The lock of a word of g[] holds for the whole grid, that of s[] for the block (chosen for g[], of
//! whose locked accesses the documents only have the encoding).

use warpjit_ir::{AtomicOp, GuestFault, Imm, MemAccess, Opcode, Scalar, Slot, Space, Type as IrType, Value};

use super::emit::Emit;
use super::generic;
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
    let operand = |e: &mut Emit<'_>, n, slot| {
        let value = if wide { e.src64(inst, n) } else { e.src(inst, n) };
        let value = e.b.splat(value);
        e.keep(value, value_type, slot)
    };
    let value = operand(e, 1, 1);
    let new = (op == AtomicOp::Cas).then(|| operand(e, 2, 2));
    let address = e.address(base, wide_address);
    // One access where all is global memory, else one for each space, with the lanes that are there.
    let ways: Vec<Way> = if e.own.program.windows {
        let place = generic::place(e, address, offset);
        let ways = place.ways().into_iter().zip([5, 6, 6]);
        let ways = ways.zip([7, 8, 9]).map(|(((space, address, mask), slot), mask_slot)| {
            let mask = generic::guarded(e, mask);
            let mask = e.b.splat(mask);
            let mask = e.keep(mask, IrType::MASK, mask_slot);
            let address = keep_address(e, address, slot);
            Way { mem: MemAccess { offset: 0, ..generic::within(mem, space) }, address, mask: Some(mask) }
        });
        ways.collect()
    } else {
        vec![Way { mem, address: keep_address(e, address, 0), mask: None }]
    };
    let old = e.temp(value_type, 3);
    for way in ways {
        e.isolated(|e| {
            let (address, value) = (e.get(way.address), e.get(value));
            let new = new.map(|slot| e.get(slot));
            let mask = way.mask.map(|slot| e.get(slot));
            let guard = mask.or(e.guard);
            let mut result = e.b.atomic(way.mem, op, address, value, new, guard);
            if let Some(mask) = mask {
                let before = e.get(old);
                result = e.b.select(mask, result, before);
            }
            e.put_always(old, result);
        });
    }
    if inst.op == Op::Atom {
        let result = e.get(old);
        if wide { e.write64(inst, result) } else { e.write(inst, result) }
    }
}

/// One of the spaces that an atomic operation may be on.
struct Way {
    mem: MemAccess,
    address: Slot,
    /// The lanes that are there; those of the guard where there is no choice.
    mask: Option<Slot>,
}

fn keep_address(e: &mut Emit<'_>, address: Value, slot: usize) -> Slot {
    let address = e.b.splat(address);
    let ty = if e.b.func.ty(address).scalar == Scalar::I64 { IrType::I64 } else { IrType::I32 };
    e.keep(address, ty, slot)
}

/// The place of a locked access: its base register and offset, in shared or global memory.
fn locked(inst: &Inst) -> Option<(MemSpace, u8, i32)> {
    match inst.src(0).map(|src| src.operand) {
        Some(Operand::Mem { space: space @ (MemSpace::Shared | MemSpace::Global), base, offset, .. }) => {
            Some((space, base, offset))
        }
        _ => None,
    }
}

/// The word whose lock an access takes.
fn word(mem: MemAccess) -> MemAccess {
    MemAccess { bytes: 4, signed: false, offset: 0, align: 4, align_offset: 0, ..mem }
}

/// Takes the lock of the word and loads; the predicate says where that worked.
fn load_lock(e: &mut Emit<'_>, inst: &Inst) {
    let Some((space, base, offset)) = locked(inst) else { return e.fault(GuestFault::Illegal) };
    let ty = inst.mods.ty.unwrap_or(Type::B32);
    let Some(mem) = access(space, ty) else { return };
    let address = e.group(base, 0);
    let offset = e.b.i32(offset as u32);
    let address = e.b.iadd(address, offset);
    let aligned = e.and_const(address, !3);
    let (address, aligned) = (e.b.splat(address), e.b.splat(aligned));
    let (address, aligned) = (e.keep(address, IrType::I32, 0), e.keep(aligned, IrType::I32, 2));
    let took = e.temp(IrType::MASK, 1);
    e.isolated(|e| {
        let mut args = vec![e.get(aligned)];
        args.extend(e.guard);
        let imm = Imm::Mem(word(mem));
        let success = e.b.push(Opcode::Lock, &args, imm, Some(IrType::varying(Scalar::I1)));
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
        let words = 0..ty.bytes().div_ceil(4) as u8;
        // All words are loaded before a register of the address may be written.
        let values: Vec<Value> = words.map(|n| e.b.load(part(mem, n), address, Some(taken))).collect();
        for (n, value) in (0..).zip(values) {
            e.set_group(num, n, value);
        }
    }
    e.guard = outer;
    e.set_pred(inst.pdst, success);
}

/// Stores and frees the lock of the word. What is not a word is stored first; the word is then stored as it is. Some forms
/// give a predicate, whether the store was made: here it always is.
fn store_unlock(e: &mut Emit<'_>, inst: &Inst) {
    let Some((space, base, offset)) = locked(inst) else { return e.fault(GuestFault::Illegal) };
    let ty = inst.mods.ty.unwrap_or(Type::B32);
    let Some(mem) = access(space, ty) else { return };
    let address = e.group(base, 0);
    let offset = e.b.i32(offset as u32);
    let address = e.b.iadd(address, offset);
    let values = stored(e, inst, 1, ty);
    let (aligned, value) = if ty.bytes() == 4 {
        (address, values[0])
    } else {
        let aligned = e.and_const(address, !3);
        let guard = e.guard;
        for (n, &value) in values.iter().enumerate() {
            e.b.store(part(mem, n as u8), address, value, guard);
        }
        (aligned, e.b.load(word(mem), aligned, guard))
    };
    let (aligned, value) = (e.b.splat(aligned), e.b.splat(value));
    let (aligned, value) = (e.keep(aligned, IrType::I32, 0), e.keep(value, IrType::I32, 2));
    e.isolated(|e| {
        let mut args = vec![e.get(aligned), e.get(value)];
        args.extend(e.guard);
        e.b.push(Opcode::UnlockStore, &args, Imm::Mem(word(mem)), None);
    });
    let made = e.b.bool(true);
    e.set_pred(inst.pdst, made);
}
