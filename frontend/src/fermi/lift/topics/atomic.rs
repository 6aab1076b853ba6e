//! Lifts atomics and locked accesses. Each gets a block of its own.
//!
//! Atomics take generic addresses. A lock on a word of global memory holds for the whole grid, one on a word of shared memory for
//! the block. The former is our choice: of locked accesses to global memory the documents only give the encoding.

use warpjit_ir::{AtomicOp, GuestFault, MemAccess, Scalar, Slot, Space, Type as IrType, Value};

use super::generic;
use super::memory::{access, part, stored};
use crate::fermi::lift::emit::Emit;
use crate::fermi::{AtomOp, Inst, MemSpace, Op, Operand, Type};

/// Emits one atomic or locked access.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::LdLock => load_lock(e, inst),
        Op::StUnlock => store_unlock(e, inst),
        Op::Red | Op::Atom => atomic(e, inst),
        _ => e.fault(GuestFault::Illegal),
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
    let cases: Vec<Case> = if e.own.family.program.windows {
        let generic = generic::resolve(e, address, offset);
        let cases = generic.cases().into_iter().zip([5, 6, 6]);
        let cases = cases.zip([7, 8, 9]).map(|(((space, address, mask), slot), mask_slot)| {
            let mask = generic::guarded(e, mask);
            let mask = e.b.splat(mask);
            let mask = e.keep(mask, IrType::MASK, mask_slot);
            let address = keep_address(e, address, slot);
            Case { mem: MemAccess { offset: 0, ..generic::within(mem, space) }, address, mask: Some(mask) }
        });
        cases.collect()
    } else {
        vec![Case { mem, address: keep_address(e, address, 0), mask: None }]
    };
    let old = e.temp(value_type, 3);
    for case in cases {
        e.isolated(|e| {
            let (address, value) = (e.get(case.address), e.get(value));
            let new = new.map(|slot| e.get(slot));
            let mask = case.mask.map(|slot| e.get(slot));
            let guard = mask.or(e.guard);
            let mut result = e.b.atomic(case.mem, op, address, value, new, guard);
            // Without a result register the order of the lanes cannot be seen.
            if inst.op != Op::Atom {
                return;
            }
            if let Some(mask) = mask {
                let before = e.get(old);
                result = e.b.select(mask, result, before);
            }
            e.put_in_all_lanes(old, result);
        });
    }
    if inst.op == Op::Atom {
        let result = e.get(old);
        if wide { e.write64(inst, result) } else { e.write(inst, result) }
    }
}

/// A memory space that an atomic at a generic address may access.
struct Case {
    mem: MemAccess,
    address: Slot,
    /// The lanes whose address is in this space; `None` if there is only one space: then the guard's lanes.
    mask: Option<Slot>,
}

fn keep_address(e: &mut Emit<'_>, address: Value, slot: usize) -> Slot {
    let address = e.b.splat(address);
    let ty = if e.b.func.ty(address).scalar == Scalar::I64 { IrType::I64 } else { IrType::I32 };
    e.keep(address, ty, slot)
}

/// The type, the access and the address of a locked access; a fault where it is in neither shared nor global memory.
fn locked(e: &mut Emit<'_>, inst: &Inst) -> Option<(Type, MemAccess, Value)> {
    let Some(Operand::Mem { space: space @ (MemSpace::Shared | MemSpace::Global), base, offset, .. }) =
        inst.src(0).map(|src| src.operand)
    else {
        e.fault(GuestFault::Illegal);
        return None;
    };
    let ty = inst.mods.ty.unwrap_or(Type::B32);
    let mem = access(space, ty)?;
    let address = e.group(base, 0);
    let offset = e.b.i32(offset as u32);
    Some((ty, mem, e.b.iadd(address, offset)))
}

/// The word whose lock an access takes.
fn word(mem: MemAccess) -> MemAccess {
    MemAccess { bytes: 4, signed: false, offset: 0, align: 4, align_offset: 0, ..mem }
}

/// Takes the lock of the word and loads; the predicate says where that worked.
fn load_lock(e: &mut Emit<'_>, inst: &Inst) {
    let Some((ty, mem, address)) = locked(e, inst) else { return };
    let aligned = e.and_const(address, !3);
    let (address, aligned) = (e.b.splat(address), e.b.splat(aligned));
    let (address, aligned) = (e.keep(address, IrType::I32, 0), e.keep(aligned, IrType::I32, 2));
    let took = e.temp(IrType::MASK, 1);
    let stores = match (mem.space, e.own.family.program.plan) {
        (Space::Global(_), Some(plan)) => e.alive(plan),
        _ => None,
    };
    let stores = stores.map(|stores| e.keep(stores, IrType::MASK, 4));
    e.isolated(|e| {
        let aligned = e.get(aligned);
        let Some(stores) = stores else {
            let success = e.lock(word(mem), aligned);
            return e.put_in_all_lanes(took, success);
        };
        // A helper would never free the lock, as it stores nothing. It goes on as if it had it.
        let stores = e.get(stores);
        let mut success = None;
        e.under(stores, |e| success = Some(e.lock(word(mem), aligned)));
        let helper = e.complement(stores);
        let success = success.map_or(helper, |success| e.b.ior(success, helper));
        e.put_in_all_lanes(took, success);
    });
    let (success, address) = (e.get(took), e.get(address));
    e.under(success, |e| {
        let Some(Operand::Reg { num, .. }) = inst.dst else { return };
        let words = 0..ty.bytes().div_ceil(4) as u8;
        // All words are loaded before a register of the address may be written.
        let taken = e.guard;
        let values: Vec<Value> = words.map(|n| e.b.load(part(mem, n), address, taken)).collect();
        for (n, value) in (0..).zip(values) {
            e.set_group(num, n, value);
        }
    });
    e.set_pred(inst.pdst, success);
}

/// Stores and frees the lock of the 32-bit word that holds the address. A value of another size is stored by a plain access first;
/// then the word is stored with the contents that it has. Some forms return in a predicate whether the store was made: here it always is.
fn store_unlock(e: &mut Emit<'_>, inst: &Inst) {
    let Some((ty, mem, address)) = locked(e, inst) else { return };
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
    e.store_unlock(word(mem), aligned, value);
    let made = e.b.bool(true);
    e.set_pred(inst.pdst, made);
}
