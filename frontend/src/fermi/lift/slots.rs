//! What all instructions of a program share while it is lifted: the program, and the slots of a thread's state.

use warpjit_ir::{Function, Slot, SlotInit, Type};

use crate::fermi::Inst;
use crate::simt::stage::Plan;
use crate::simt::{Blocks, Graph};

/// The program being lifted.
pub(in crate::fermi::lift) struct Program<'a> {
    pub(in crate::fermi::lift) graph: &'a Graph<Inst>,
    pub(in crate::fermi::lift) blocks: &'a Blocks,
    /// Whether generic addresses can point to shared or local memory.
    pub(in crate::fermi::lift) windows: bool,
    pub(in crate::fermi::lift) local_bytes: u32,
    pub(in crate::fermi::lift) counters: u8,
    /// Inputs and outputs of a graphics stage.
    pub(in crate::fermi::lift) plan: Option<&'a Plan>,
    /// Where texture and surface instructions have their arguments in local memory.
    pub(in crate::fermi::lift) mailbox: u32,
    pub(in crate::fermi::lift) texture_handles: u8,
}

/// The slots of a thread's state.
pub(in crate::fermi::lift) struct Slots {
    pub(in crate::fermi::lift) registers: Vec<Slot>,
    pub(in crate::fermi::lift) predicates: [Slot; 7],
    /// z, s, c, o of `$c`.
    pub(in crate::fermi::lift) flags: [Slot; 4],
}

impl Slots {
    pub(in crate::fermi::lift) fn declare(func: &mut Function, registers: u32) -> Slots {
        let registers = (0..registers.min(63))
            .map(|n| func.add_slot(format!("r{n}"), Type::I32, SlotInit::Zero))
            .collect();
        let predicates = std::array::from_fn(|n| func.add_slot(format!("p{n}"), Type::MASK, SlotInit::Zero));
        let flags =
            ["z", "s", "c", "o"].map(|flag| func.add_slot(format!("c.{flag}"), Type::MASK, SlotInit::Zero));
        Slots { registers, predicates, flags }
    }
}
