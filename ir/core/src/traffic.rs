//! Counts, for statistics, how many bytes lanes load and store.
//!
//! The interpreter counts by itself. For compiled code, [`expand`] adds to each memory access a sum in a slot of its own kind
//! ([`Counter`]). What an access has for one lane counts for each lane that takes part; what the warp does once counts once
//! ([`Function::accesses_once`]). An atomic counts as both a load and a store.

use crate::builder::Builder;
use crate::entities::{Slot, Value};
use crate::function::{Function, Imm, InstData, SlotInit};
use crate::opcodes::{Opcode, Space};
use crate::types::{Scalar, Type};

/// Start of the names of the slots in which compiled code counts bytes.
const SLOT: &str = "#traffic";

/// A slot in which compiled code counts bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Of accesses to a space of this kind, whatever its number.
    pub space: Space,
    /// Whether it counts what is stored.
    pub stores: bool,
    /// Whether it counts for the warp what the warp does once. Otherwise each lane has its own sum.
    pub once: bool,
    /// The slot: an i32, uniform if `once` is set.
    pub slot: Slot,
}

/// Whether a slot of this name is a [`Counter`]'s.
pub fn is_counter(name: &str) -> bool {
    name.starts_with(SLOT)
}

/// Adds a slot for each kind of access that the function has.
pub fn add_slots(func: &mut Function) -> Vec<Counter> {
    let mut counters: Vec<Counter> = Vec::new();
    let mut wanted: Vec<(Space, bool, bool)> = Vec::new();
    for block in &func.blocks {
        for &inst in &block.insts {
            let data = func.inst(inst);
            for (space, stores) in moves(data) {
                let kind = (any_number(space), stores, counts_once(func, data));
                if !wanted.contains(&kind) {
                    wanted.push(kind);
                }
            }
        }
    }
    for (space, stores, once) in wanted {
        let ty = if once { Type::uniform(Scalar::I32) } else { Type::I32 };
        let slot = func.add_slot(format!("{SLOT}{}", counters.len()), ty, SlotInit::Zero);
        counters.push(Counter { space, stores, once, slot });
    }
    counters
}

/// Adds the bytes of each access to the slots of its kind.
pub fn expand(func: &mut Function, counters: &[Counter]) {
    for block in func.block_ids() {
        if !func.block(block).insts.iter().any(|&inst| !moves(func.inst(inst)).is_empty()) {
            continue;
        }
        for inst in std::mem::take(&mut func.block_mut(block).insts) {
            func.block_mut(block).insts.push(inst);
            let data = func.inst(inst);
            let moves = moves(data);
            let (Imm::Mem(mem) | Imm::Atomic(mem, _)) = data.imm else { continue };
            let (once, pc, guard) = (counts_once(func, data), data.pc, guard(data));
            for (space, stores) in moves {
                let is_it = |c: &&Counter| (c.space, c.stores, c.once) == (any_number(space), stores, once);
                let Some(counter) = counters.iter().find(is_it) else { continue };
                let mut b = Builder::new(func, block);
                b.pc = pc;
                let mut more = b.i32(mem.bytes.into());
                if let Some(guard) = guard {
                    let none = b.i32(0);
                    more = b.select(guard, more, none);
                }
                let before = b.get(counter.slot);
                let sum = b.iadd(before, more);
                b.set(counter.slot, sum);
            }
        }
    }
}

/// The space with number 0.
fn any_number(space: Space) -> Space {
    match space {
        Space::Global(_) => Space::Global(0),
        Space::Const(_) => Space::Const(0),
        Space::Shared | Space::Local => space,
    }
}

/// What an operation moves: spaces, and whether it stores.
fn moves(data: &InstData) -> Vec<(Space, bool)> {
    let (Imm::Mem(mem) | Imm::Atomic(mem, _)) = data.imm else { return Vec::new() };
    match data.op {
        Opcode::Load | Opcode::Lock => vec![(mem.space, false)],
        Opcode::Store | Opcode::UnlockStore => vec![(mem.space, true)],
        Opcode::Atomic => vec![(mem.space, false), (mem.space, true)],
        _ => Vec::new(),
    }
}

/// The condition of a lane's part in an access, if there is one.
fn guard(data: &InstData) -> Option<Value> {
    let plain = match data.op {
        Opcode::Load | Opcode::Lock => 1,
        _ => data.atomic_operands(),
    };
    data.args.get(plain).copied()
}

/// Whether the bytes count once: no lifter makes an access of the warp with a condition that differs between lanes, so such a one
/// counts as one of lanes.
fn counts_once(func: &Function, data: &InstData) -> bool {
    func.accesses_once(data) && guard(data).is_none_or(|guard| func.ty(guard).uniform)
}
