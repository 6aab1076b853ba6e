//! The slots of a thread's state.

use warpjit_ir::{Function, Slot, SlotInit, Type};

/// The slots of a thread's state.
pub(in crate::tesla::lift) struct Slots {
    pub(in crate::tesla::lift) registers: Vec<Slot>,
    /// z, s, c, o of each `$c`.
    pub(in crate::tesla::lift) flags: [[Slot; 4]; 4],
    pub(in crate::tesla::lift) aregs: [Option<Slot>; 8],
}

impl Slots {
    pub(in crate::tesla::lift) fn declare(func: &mut Function, registers: u32) -> Slots {
        let registers = (0..registers.min(128))
            .map(|n| func.add_slot(format!("r{n}"), Type::I32, SlotInit::Zero))
            .collect();
        let flags = std::array::from_fn(|n| {
            std::array::from_fn(|flag| {
                let name = format!("c{n}.{}", ["z", "s", "c", "o"][flag]);
                func.add_slot(name, Type::MASK, SlotInit::Zero)
            })
        });
        let aregs = std::array::from_fn(|n| {
            is_areg(n as u8).then(|| {
                let slot = func.add_slot(format!("a{n}"), Type::I32, SlotInit::Zero);
                func.slots[slot.index()].umax = Some(0xffff);
                slot
            })
        });
        Slots { registers, flags, aregs }
    }
}

/// Whether `$a` of that number can be written: `$a0` is zero, 5 and 6 do not exist. (`$a7` is one a warp; here
/// each lane keeps what it wrote.)
pub(in crate::tesla::lift) fn is_areg(number: u8) -> bool {
    matches!(number, 1..=4 | 7)
}
