//! Lifts programs of all stages to the IR's SPMD form.
//!
//! Every register is a slot: `r0` to `r62` (i32); `p0` to `p6` (masks); `c.z`, `c.s`, `c.c`, `c.o` (masks). A register beyond the
//! program's allotment has no slot: it reads 0, and writes to it are dropped. `graph` finds the reachable instructions. Each
//! other file lifts the instructions of one topic.
//!
//! No code is an error here. Undefined words and targets outside the code become an `illegal` fault, which is raised if a lane gets there.
//! Addresses of code are those of the segment: the file's first byte is at [`Options::base`].

mod analysis;
mod control;
mod emit;
mod options;
mod slots;
#[cfg(test)]
mod tests;
mod topics;

use warpjit_ir::{Builtin, Form, Function, Meter, Stopped, Terminator};

use super::Op;
use crate::code::Code;
use crate::simt::stage::Uses;
use crate::simt::{Carried, Simt};
use emit::{Emit, Own};
use slots::{Program, Slots};

pub(crate) use options::Needs;
pub use options::Options;

/// What the instructions that can be reached need.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub(crate) fn needs(code: &Code<'_>, options: &Options<'_>, meter: &Meter) -> Result<Needs, Stopped> {
    let graph = analysis::graph::explore(code, options, meter)?;
    let windows = analysis::graph::knows_windows(&graph, options.chip);
    let mut needs = Needs {
        local: graph.insts().any(|inst| analysis::graph::is_local(inst, windows)),
        local_end: graph.insts().map(analysis::graph::local_end).max().unwrap_or(0),
        counters: graph.insts().any(topics::barrier::counts),
        textures: graph
            .insts()
            .any(|inst| topics::texture::is_texture(inst) || topics::surface::is_surface(inst)),
        uses: Uses::default(),
    };
    for inst in graph.insts() {
        topics::stage::note(inst, options.stage, &mut needs);
    }
    Ok(needs)
}

/// Lifts the program that starts at `options.entry` of `code`.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub fn lift(code: &[u8], options: &Options<'_>, meter: &Meter) -> Result<Function, Stopped> {
    lift_code(&Code::of_file(code, options.base, options.base.into()), options, meter)
}

/// The same for code that may be in guest memory.
///
/// # Errors
/// As [`lift`].
pub(crate) fn lift_code(code: &Code<'_>, options: &Options<'_>, meter: &Meter) -> Result<Function, Stopped> {
    let graph = analysis::graph::explore(code, options, meter)?;
    let mut func = Function::new(options.name, Form::Spmd, 32);
    let slots = Slots::declare(&mut func, options.registers);
    let blocks = graph.blocks(&mut func, options.entry);
    let mut carried = Carried::new(builtin_max);
    let program = Program {
        graph: &graph,
        blocks: &blocks,
        windows: analysis::graph::knows_windows(&graph, options.chip),
        local_bytes: options.local_bytes,
        counters: options.counters,
        plan: options.plan,
        mailbox: options.mailbox,
        texture_handles: options.texture_handles,
    };
    let entry = func.entry;
    let family = Own { slots: &slots, program: &program };
    let mut emit = Emit::new(&mut func, entry, Simt { family, carried: &mut carried });
    let first = blocks.behind(options.entry);
    match options.plan {
        Some(plan) => emit.stage_prologue(plan, first),
        None => emit.terminate(Terminator::Jump(first.into())),
    }
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
