//! Lifts compute programs to the IR's SPMD form.
//!
//! Every register is a slot: `r0` to `r62` (i32); `p0` to `p6` (masks); `c.z`, `c.s`, `c.c`, `c.o` (masks). A register beyond the
//! program's allotment has no slot: it reads 0, and writes to it are dropped. `graph` finds the reachable instructions. Each
//! other file lifts the instructions of one topic.
//!
//! No code is an error here. Undefined words, graphics and texture instructions, and targets outside the code become an `illegal`
//! fault, which is raised if a lane gets there.

mod atomic;
mod barrier;
mod control;
mod convert;
mod double;
mod emit;
mod float;
mod generic;
mod graph;
mod int;
mod lanes;
mod memory;
mod special;
#[cfg(test)]
mod tests;
mod video;

use warpjit_ir::{Builtin, Form, Function, Meter, Slot, SlotInit, Stopped, Terminator, Type};

use super::{Chip, Inst, Op};
use crate::simt::{Blocks, Carried, Graph};
use emit::{Emit, Own};

/// What the lifter has to know about a program besides its code.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Name of the resulting function.
    pub name: &'a str,
    /// The chip.
    pub chip: Chip,
    /// Byte offset of the first instruction.
    pub entry: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// The segment that barriers count lanes in, if they do ([`Needs::counters`]).
    pub counters: u8,
}

/// What a program needs of its launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// Local memory.
    pub local: bool,
    /// Memory in which barriers count lanes.
    pub counters: bool,
}

/// What the instructions that can be reached need.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub fn needs(code: &[u8], options: &Options<'_>, meter: &Meter) -> Result<Needs, Stopped> {
    let graph = graph::explore(code, options, meter)?;
    let windows = graph::knows_windows(&graph, options.chip);
    Ok(Needs {
        local: graph.insts().any(|inst| graph::is_local(inst, windows)),
        counters: graph.insts().any(barrier::counts),
    })
}

/// Lifts the program that starts at `options.entry` of `code`.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub fn lift(code: &[u8], options: &Options<'_>, meter: &Meter) -> Result<Function, Stopped> {
    let graph = graph::explore(code, options, meter)?;
    let mut func = Function::new(options.name, Form::Spmd, 32);
    let slots = Slots::declare(&mut func, options.registers);
    let blocks = graph.blocks(&mut func, options.entry);
    let mut carried = Carried::new(builtin_max);
    let program = Program {
        graph: &graph,
        blocks: &blocks,
        windows: graph::knows_windows(&graph, options.chip),
        local_bytes: options.local_bytes,
        counters: options.counters,
    };
    let entry = func.entry;
    let mut emit = Emit::new(&mut func, &mut carried, Own { slots: &slots, program: &program }, entry);
    emit.terminate(Terminator::Jump(blocks.behind(options.entry).into()));
    emit.blocks(&graph, &blocks, meter, |emit, inst| {
        // Hints to the scheduler are no instructions.
        if inst.op != Op::Sched {
            emit.count();
            control::inst(emit, inst);
        }
        inst.next_pc()
    })?;
    Ok(func)
}

/// The program being lifted.
struct Program<'a> {
    graph: &'a Graph<Inst>,
    blocks: &'a Blocks,
    /// Whether generic addresses can point to shared or local memory.
    windows: bool,
    local_bytes: u32,
    counters: u8,
}

/// The slots of a thread's state.
struct Slots {
    registers: Vec<Slot>,
    predicates: [Slot; 7],
    /// z, s, c, o of `$c`.
    flags: [Slot; 4],
}

impl Slots {
    fn declare(func: &mut Function, registers: u32) -> Slots {
        let registers = (0..registers.min(63))
            .map(|n| func.add_slot(format!("r{n}"), Type::I32, SlotInit::Zero))
            .collect();
        let predicates = std::array::from_fn(|n| func.add_slot(format!("p{n}"), Type::MASK, SlotInit::Zero));
        let flags =
            ["z", "s", "c", "o"].map(|flag| func.add_slot(format!("c.{flag}"), Type::MASK, SlotInit::Zero));
        Slots { registers, predicates, flags }
    }
}

/// The largest value of a builtin on any chip of the family.
fn builtin_max(builtin: Builtin) -> Option<u32> {
    match builtin {
        Builtin::Tid(0 | 1) => Some(1023),
        Builtin::Tid(_) => Some(63),
        Builtin::LaneId => Some(31),
        Builtin::WarpId => Some(31),
        Builtin::Ctaid(1 | 2) => Some(65534),
        _ => None,
    }
}
