//! Lifts moves, loads and stores.
//!
//! A global access that is not aligned to its size faults. The other spaces accept any address; the documents do not say, so this
//! is our choice. A wide access is emitted one register at a time, and each part requires the alignment of the whole.

use warpjit_ir::{GuestFault, MemAccess, Space, Value};

use crate::tesla::lift::emit::Emit;
use crate::tesla::{Inst, Op, Operand, RegWidth, Type};

/// Emits one move, load or store.
pub(in crate::tesla::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::Mov => mov(e, inst),
        Op::LdConst | Op::LdShared => {
            let value = e.src(inst, 0);
            e.write(inst, value);
        }
        Op::StShared if inst.mods.unlock => super::atomic::inst(e, inst),
        Op::StShared => store_shared(e, inst),
        Op::LdLocal | Op::LdGlobal => load_wide(e, inst),
        Op::StLocal | Op::StGlobal => store_wide(e, inst),
        _ => e.fault(GuestFault::Illegal),
    }
}

fn mov(e: &mut Emit<'_>, inst: &Inst) {
    let value = e.src(inst, 0);
    e.in_quad_lanes(inst.mods.lanes, |e| e.write(inst, value));
}

/// Where a memory operand points: the access without its width, and the address.
fn operand_address(e: &mut Emit<'_>, operand: Operand, ty: Type) -> Option<(MemAccess, Value)> {
    match operand {
        Operand::Shared { addr, .. } => {
            Some(e.address(Space::Shared, addr, ty.bytes().min(4), ty.is_signed()))
        }
        Operand::Local { addr } => Some(e.address(Space::Local, addr, ty.bytes().min(4), ty.is_signed())),
        Operand::Global { space, reg } => {
            let address = e.reg(reg.into());
            Some((global(space, ty.bytes(), ty.is_signed()), address))
        }
        _ => None,
    }
}

/// A naturally aligned access to a global space; wide ones start with their first four bytes.
pub(in crate::tesla::lift) fn global(space: u8, bytes: u32, signed: bool) -> MemAccess {
    MemAccess {
        space: Space::Global(space),
        bytes: bytes.min(4) as u8,
        signed,
        offset: 0,
        align: bytes as u8,
        far: false,
        align_offset: 0,
    }
}

/// The access to word `n` of a wide one.
fn part(mem: MemAccess, n: u32) -> MemAccess {
    MemAccess { offset: mem.offset + 4 * n as i32, far: false, align_offset: 4 * n as u8, ..mem }
}

fn words(ty: Type) -> u32 {
    ty.bytes().div_ceil(4)
}

fn load_wide(e: &mut Emit<'_>, inst: &Inst) {
    let ty = inst.mods.ty.unwrap_or(Type::B32);
    let Some((mem, address)) = inst.src(0).and_then(|src| operand_address(e, src.operand, ty)) else {
        return;
    };
    // Only global loads can fault in lanes that the predicate leaves out.
    let guard = e.guard.filter(|_| matches!(mem.space, Space::Global(_)));
    let values: Vec<Value> = (0..words(ty)).map(|n| e.b.load(part(mem, n), address, guard)).collect();
    match inst.dst {
        Some(Operand::Reg { num, width: RegWidth::B64 | RegWidth::B128 }) => {
            for (n, value) in values.into_iter().enumerate() {
                e.set_reg(u32::from(num) + n as u32, value);
            }
        }
        _ => e.write(inst, values[0]),
    }
}

fn store_wide(e: &mut Emit<'_>, inst: &Inst) {
    let ty = inst.mods.ty.unwrap_or(Type::B32);
    let Some((mem, address)) = inst.src(0).and_then(|src| operand_address(e, src.operand, ty)) else {
        return;
    };
    for n in 0..words(ty) {
        let value = match inst.src(1).map(|src| src.operand) {
            Some(Operand::Reg { num, width: RegWidth::B64 | RegWidth::B128 | RegWidth::B32 }) => {
                e.reg(u32::from(num) + n)
            }
            _ => e.src(inst, 1),
        };
        let guard = e.guard;
        e.b.store(part(mem, n), address, value, guard);
    }
}

fn store_shared(e: &mut Emit<'_>, inst: &Inst) {
    let value = e.src(inst, 1);
    let Some(Operand::Shared { ty, .. }) = inst.src(0).map(|src| src.operand) else { return };
    let Some((mem, address)) = inst.src(0).and_then(|src| operand_address(e, src.operand, ty)) else {
        return;
    };
    let guard = e.guard;
    e.b.store(mem, address, value, guard);
}
