//! Asks before accesses to global memory whether lanes may make them, for launches whose addresses are the host's own.
//!
//! There all of the process is at its addresses, and only some of it is the guest's. This pass puts a [`Opcode::PermitLoad`] or
//! [`Opcode::PermitStore`] in front of each load and store. The access keeps its address, so that code generators see as much of it as
//! without: lanes side by side stay lanes side by side. (A translation, [`super::translate`], would make it a value of which nothing is
//! known.)
//!
//! The permits of accesses of one kind that follow one another at offsets from one address stand together in front of the first, because
//! code generators make such accesses one. So all of them are asked before the first access; what a fault leaves behind is as if they were
//! not (see [`Opcode::PermitStore`]).
//!
//! Addresses of 32 bits become 64-bit ones, and bits that the device ignores are replaced, also of atomics of 32-bit addresses. Atomics
//! have no permit: code generators ask for their lanes one by one.

use foldhash::{HashMap, HashMapExt};

use crate::entities::{Inst, Value};
use crate::function::{Function, Imm};
use crate::opcodes::{MemAccess, Opcode, Space};
use crate::passes::translate::adds_offset_first;
use crate::types::{Scalar, Type};

/// Most accesses whose permits stand together.
const MOST: usize = 4;

/// Most bytes from the first to the last of what they access. Code generators have windows for no less.
const MOST_SPAN: i64 = 1024;

/// Adds permits to a device that ignores no bits; returns whether there are accesses.
pub fn run(func: &mut Function) -> bool {
    let has_some =
        func.block_ids().flat_map(|b| &func.block(b).insts).any(|&i| global_access(func, i).is_some());
    run_with(func, 0) && has_some
}

/// Adds permits to all accesses of a function; `false`, with the function as it was, if it has some of another kind: then no code can be
/// made.
/// `ignored`: so many of the highest bits of 64-bit addresses repeat the bit below them, whatever the guest has there.
pub fn run_with(func: &mut Function, ignored: u32) -> bool {
    if !knows_accesses(func) {
        return false;
    }
    for block in func.block_ids() {
        let insts = std::mem::take(&mut func.block_mut(block).insts);
        let mut wide = Vec::with_capacity(insts.len());
        let mut known = HashMap::new();
        for inst in insts {
            if let Some(mem) = global_access(func, inst) {
                widen(func, inst, mem, ignored, (&mut known, &mut wide));
            }
            wide.push(inst);
        }
        let mut list = Vec::with_capacity(wide.len());
        let mut rest = &wide[..];
        while let Some(&inst) = rest.first() {
            if global_access(func, inst).is_none() {
                list.push(inst);
                rest = &rest[1..];
                continue;
            }
            let together = followers(func, inst, rest);
            let (own, behind) = rest.split_at(together);
            for &inst in own {
                list.extend(permit_of(func, inst));
            }
            list.extend(own);
            rest = behind;
        }
        func.block_mut(block).insts = list;
    }
    true
}

/// Whether all that a function does in global memory are loads, stores and atomics at addresses of 32 or 64 bits: what this pass, and the
/// runtime's for the range that a space hands out, can rewrite.
pub fn knows_accesses(func: &Function) -> bool {
    let known = |inst: Inst| {
        let data = func.inst(inst);
        global_access(func, inst).is_none()
            || matches!(data.op, Opcode::Load | Opcode::Store | Opcode::Atomic)
                && matches!(func.ty(data.args[0]).scalar, Scalar::I32 | Scalar::I64)
    };
    func.block_ids().flat_map(|block| &func.block(block).insts).all(|&inst| known(inst))
}

/// The access of an operation to global memory.
pub fn global_access(func: &Function, inst: Inst) -> Option<MemAccess> {
    func.mem_access(inst).filter(|mem| matches!(mem.space, Space::Global(_)))
}

/// How many accesses from the first of `rest` on are of its kind, at offsets from its address, for the same lanes.
fn followers(func: &Function, inst: Inst, rest: &[Inst]) -> usize {
    let first = func.inst(inst);
    let guard = |op: Opcode| if op == Opcode::Store { 2 } else { 1 };
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    let mut follows = |other: &Inst| {
        let data = func.inst(*other);
        let Some(mem) = global_access(func, *other) else { return false };
        low = low.min(mem.offset.into());
        high = high.max(i64::from(mem.offset) + i64::from(mem.bytes));
        data.op == first.op
            && high - low <= MOST_SPAN
            && data.args[0] == first.args[0]
            && data.args.get(guard(data.op)) == first.args.get(guard(first.op))
    };
    match first.op {
        Opcode::Load | Opcode::Store => {
            rest.iter().take(MOST).take_while(|other| follows(other)).count().max(1)
        }
        _ => 1,
    }
}

/// The permit of an access.
fn permit_of(func: &mut Function, inst: Inst) -> Option<Inst> {
    let data = func.inst(inst).clone();
    let op = match data.op {
        Opcode::Load => Opcode::PermitLoad,
        Opcode::Store => Opcode::PermitStore,
        _ => return None,
    };
    Some(func.make_inst(op, &data.args, data.imm, None, data.pc))
}

/// Makes the address of an access one of 64 bits that the device ignores none of. `known`: what a 64-bit address has become in this block.
fn widen(
    func: &mut Function,
    inst: Inst,
    mut mem: MemAccess,
    ignored: u32,
    (known, list): (&mut HashMap<Value, Value>, &mut Vec<Inst>),
) {
    let data = func.inst(inst);
    let (op, pc, mut address) = (data.op, data.pc, data.args[0]);
    let ty = func.ty(address);
    let wide = Type { scalar: Scalar::I64, uniform: ty.uniform };
    let mut make = |op: Opcode, args: &[Value], imm: Imm, ty: Type| {
        let made = func.make_inst(op, args, imm, Some(ty), pc);
        list.push(made);
        Value::new(func.values.len() - 1)
    };
    if ty.scalar == Scalar::I32 {
        // The sum has 32 bits, as the guest's address has.
        if mem.offset != 0 {
            let number = Type { scalar: Scalar::I32, uniform: true };
            let offset = make(Opcode::Const, &[], Imm::Bits((mem.offset as u32).into()), number);
            address = make(Opcode::Iadd, &[address, offset], Imm::None, ty);
            mem.offset = 0;
        }
        address = make(Opcode::Zext, &[address], Imm::None, wide);
    } else if ignored > 0 && op != Opcode::Atomic {
        // (The runtime takes an atomic's address as the guest has it.)
        let number = Type { scalar: Scalar::I64, uniform: true };
        let by_offset = adds_offset_first(ignored, mem.offset);
        if by_offset {
            let offset = make(Opcode::Const, &[], Imm::Bits(i64::from(mem.offset) as u64), number);
            address = make(Opcode::Iadd, &[address, offset], Imm::None, wide);
            mem.offset = 0;
        }
        let mut replaced = || {
            let by = make(Opcode::Const, &[], Imm::Bits(ignored.into()), number);
            let up = make(Opcode::Ishl, &[address, by], Imm::None, wide);
            make(Opcode::Sshr, &[up, by], Imm::None, wide)
        };
        address = if by_offset { replaced() } else { *known.entry(address).or_insert_with(replaced) };
    }
    let data = func.inst_mut(inst);
    data.args[0] = address;
    match &mut data.imm {
        Imm::Mem(own) | Imm::Atomic(own, _) => *own = mem,
        _ => {}
    }
}
