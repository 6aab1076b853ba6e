//! Lifts loads and stores (docs/hardware/fermi.md section 3).
//!
//! An access that is not aligned to its size faults. (cuda-gdb's manual lists this exception for shared and local addresses,
//! too.) Constant spaces accept any address; the documents do not say, so this is our choice. A wide access is emitted 32 bits at
//! a time, and each part requires the alignment of the whole.

use warpjit_ir::{GuestFault, IntCC, MemAccess, Space, Value};

use super::generic;
use crate::fermi::abi::BANKS;
use crate::fermi::lift::emit::{Emit, constant};
use crate::fermi::modifier::ConstMode;
use crate::fermi::{Inst, MemSpace, Op, Operand, Type};

/// Emits one load or store.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    let ty = inst.mods.ty.unwrap_or(Type::B32);
    match inst.op {
        Op::LdConst => load_constant(e, inst, ty),
        Op::St => {
            let Some(operand) = inst.src(0).map(|src| src.operand) else { return };
            let values = stored(e, inst, 1, ty);
            store(e, operand, ty, &values);
        }
        Op::LdLdu => {
            let loads = [(inst.dst, 0), (inst.dst2, 1)].map(|(dst, n)| {
                let src = inst.src(n)?;
                let ty = src.ty.unwrap_or(ty);
                let values = load(e, src.operand, ty);
                // The second load computes its address before the first one writes.
                Some((dst, values))
            });
            for (dst, values) in loads.into_iter().flatten() {
                write(e, dst, &values);
            }
        }
        Op::Ld | Op::Ldu => {
            let Some(operand) = inst.src(0).map(|src| src.operand) else { return };
            let values = load(e, operand, ty);
            write(e, inst.dst, &values);
        }
        _ => e.fault(GuestFault::Illegal),
    }
}

/// Words that an access takes.
fn words(ty: Type) -> u8 {
    ty.bytes().div_ceil(4) as u8
}

fn write(e: &mut Emit<'_>, dst: Option<Operand>, values: &[Value]) {
    if let Some(Operand::Reg { num, .. }) = dst {
        for (n, &value) in values.iter().enumerate() {
            e.set_group(num, n as u8, value);
        }
    }
}

/// The words that a store takes from source `n`.
pub(in crate::fermi::lift) fn stored(e: &mut Emit<'_>, inst: &Inst, n: usize, ty: Type) -> Vec<Value> {
    let Some(Operand::Reg { num, .. }) = inst.src(n).map(|src| src.operand) else {
        return vec![e.b.i32(0)];
    };
    (0..words(ty)).map(|n| e.group(num, n)).collect()
}

/// The access of a space without its offset.
pub(in crate::fermi::lift) fn access(space: MemSpace, ty: Type) -> Option<MemAccess> {
    let space = match space {
        MemSpace::Global => Space::Global(0),
        MemSpace::Shared => Space::Shared,
        MemSpace::Local => Space::Local,
        MemSpace::Attr | MemSpace::Vertex | MemSpace::Pixel => return None,
    };
    let (bytes, align) = (ty.bytes().min(4) as u8, ty.bytes() as u8);
    let far = space != Space::Global(0);
    Some(MemAccess { space, bytes, signed: ty.is_signed(), offset: 0, far, align, align_offset: 0 })
}

/// The access to word `n` of a wide one.
pub(in crate::fermi::lift) fn part(mem: MemAccess, n: u8) -> MemAccess {
    let align_offset = if mem.align > 1 { 4 * n } else { 0 };
    MemAccess { offset: mem.offset.wrapping_add(4 * i32::from(n)), align_offset, ..mem }
}

fn load(e: &mut Emit<'_>, operand: Operand, ty: Type) -> Vec<Value> {
    let Operand::Mem { space, base, wide, offset } = operand else { return Vec::new() };
    let Some(mem) = access(space, ty) else { return Vec::new() };
    let mem = MemAccess { offset, ..mem };
    let address = e.address(base, wide);
    if space == MemSpace::Global && e.own.family.program.windows {
        let generic = generic::resolve(e, address, offset);
        return (0..words(ty)).map(|n| generic.load(e, MemAccess { offset: 0, ..mem }, n)).collect();
    }
    // What the guard leaves out must not fault.
    let guard = e.guard;
    (0..words(ty)).map(|n| e.b.load(part(mem, n), address, guard)).collect()
}

/// Stores words under the guard.
pub(in crate::fermi::lift) fn store(e: &mut Emit<'_>, operand: Operand, ty: Type, values: &[Value]) {
    let Operand::Mem { space, base, wide, offset } = operand else { return };
    let Some(mem) = access(space, ty) else { return };
    let mem = MemAccess { offset, ..mem };
    let address = e.address(base, wide);
    if space == MemSpace::Global && e.own.family.program.windows {
        let generic = generic::resolve(e, address, offset);
        for (n, &value) in values.iter().enumerate() {
            generic.store(e, MemAccess { offset: 0, ..mem }, n as u8, value);
        }
        return;
    }
    let guard = e.guard;
    for (n, &value) in values.iter().enumerate() {
        e.b.store(part(mem, n as u8), address, value, guard);
    }
}

/// In the mode `is` the upper half of the register counts banks on from the encoded one, and the address is the lower half (Mesa's
/// nv50_ir_lowering_nvc0.cpp, for arrays of constant buffers). What the other modes do is not documented.
fn load_constant(e: &mut Emit<'_>, inst: &Inst, ty: Type) {
    let mode = inst.mods.get::<ConstMode>();
    if matches!(mode, Some(ConstMode::Il | ConstMode::Isl)) {
        return e.fault(GuestFault::Illegal);
    }
    let Some(Operand::Const { space, base, offset }) = inst.src(0).map(|src| src.operand) else { return };
    let base = e.group(base, 0);
    let bytes = ty.bytes().min(4) as u8;
    let offsets = (0..words(ty)).map(|n| offset.wrapping_add(4 * i32::from(n)));
    let load = |e: &mut Emit<'_>, bank: u8, offset: i32, address: Value| {
        e.b.load(constant(bank, offset, bytes, ty.is_signed()), address, None)
    };
    let values: Vec<Value> = if mode == Some(ConstMode::Is) {
        let (on, address) = (e.ushr_const(base, 16), e.and_const(base, 0xffff));
        let banks = space..BANKS as u8;
        let is_it: Vec<Value> = banks
            .clone()
            .map(|bank| {
                let number = e.b.i32((bank - space).into());
                e.b.icmp(IntCC::Eq, on, number)
            })
            .collect();
        // Beyond the last bank there are zeros, as in one that is not bound.
        let zero = e.b.i32(0);
        let word = |offset| {
            banks.clone().zip(&is_it).fold(zero, |value, (bank, &is_it)| {
                let there = load(e, bank, offset, address);
                e.b.select(is_it, there, value)
            })
        };
        offsets.map(word).collect()
    } else {
        offsets.map(|offset| load(e, space, offset, base)).collect()
    };
    write(e, inst.dst, &values);
}
