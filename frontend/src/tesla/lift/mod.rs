//! Lifts programs of all stages to the IR's SPMD form.
//!
//! Every register is a slot: `r0`, `r1`, ... (i32); `a1` to `a4` and `a7` (i32, of which 16 bits are used); `c0.z`, `c0.s`,
//! `c0.c`, `c0.o` and so on (masks). A register beyond the program's allotment has no slot: it reads 0, and writes to it are
//! dropped.
//!
//! [`graph`](self) finds the reachable instructions and where blocks begin. Each other file lifts the instructions of one topic.
//!
//! No code is an error here. Undefined words, and targets outside the code or inside an instruction become an `illegal` fault, which is
//! raised if a lane gets there. Addresses of code are those of the segment: the file's first byte is at [`Options::base`].

mod analysis;
mod control;
mod emit;
mod options;
mod slots;
#[cfg(test)]
mod tests;
mod topics;

use warpjit_ir::{Builtin, Form, Function, Meter, Stopped, Terminator};

use super::Inst;
use crate::code::Code;
use crate::simt::{Carried, Graph, Simt};
use emit::{Emit, Own};
use slots::Slots;

pub(crate) use options::Needs;
pub use options::Options;

/// The instructions that can be reached.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub(crate) fn explore(code: &Code<'_>, options: &Options<'_>, meter: &Meter) -> Result<Graph<Inst>, Stopped> {
    analysis::graph::explore(code, options, meter)
}

/// What they need.
pub(crate) fn needs(graph: &Graph<Inst>) -> Needs {
    let mut needs = Needs::default();
    for inst in graph.insts() {
        topics::stage::note(inst, &mut needs);
    }
    needs
}

/// Lifts the program that starts at `options.entry` of `code`.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub fn lift(code: &[u8], options: &Options<'_>, meter: &Meter) -> Result<Function, Stopped> {
    let code = Code::of_file(code, options.base, options.base.into());
    lift_graph(&explore(&code, options, meter)?, options, meter)
}

/// Lifts instructions that were found before.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub(crate) fn lift_graph(
    graph: &Graph<Inst>,
    options: &Options<'_>,
    meter: &Meter,
) -> Result<Function, Stopped> {
    let mut func = Function::new(options.name, Form::Spmd, 32);
    let slots = Slots::declare(&mut func, options.registers);
    let blocks = graph.blocks(&mut func, options.entry);
    let mut carried = Carried::new(emit::builtin_max);
    let prologue = func.entry;
    let family = Own { slots: &slots, plan: options.plan, mailbox: options.mailbox };
    let mut emit = Emit::new(&mut func, prologue, Simt { family, carried: &mut carried });
    let first = blocks.behind(options.entry);
    match options.plan {
        Some(plan) => emit.stage_prologue(plan, first),
        None => {
            // What the hardware passes in a register; a branch to the entry does not do it again.
            let tid = emit.packed(Builtin::Tid);
            emit.set_reg(0, tid);
            emit.terminate(Terminator::Jump(first.into()));
        }
    }
    emit.blocks(graph, &blocks, meter, |emit, inst| {
        emit.count();
        control::inst(emit, inst, &blocks);
        inst.next_pc()
    })?;
    Ok(func)
}
