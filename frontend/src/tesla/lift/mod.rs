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
mod slots;
#[cfg(test)]
mod tests;
mod topics;

use warpjit_ir::{Builtin, Form, Function, Meter, Stopped, Terminator};

use super::{Inst, Target};
use crate::code::Code;
use crate::simt::stage::{Plan, Uses};
use crate::simt::{Carried, Graph, Simt};
use emit::{Emit, Own};
use slots::Slots;

/// What the lifter has to know about a program besides its code.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Name of the resulting function.
    pub name: &'a str,
    /// Chip and program type.
    pub target: Target,
    /// Address of the code's first byte.
    pub base: u32,
    /// Address of the first instruction.
    pub entry: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Const banks whose contents are fixed, as `(bank, bytes)`: the only targets of a `bra c[]` through them are
    /// the words they hold. A `bra c[]` through any other bank may go to every instruction.
    pub const_banks: &'a [(u8, &'a [u8])],
    /// Inputs and outputs of a graphics stage.
    pub(crate) plan: Option<&'a Plan>,
    /// Where texture instructions have their arguments in local memory.
    pub(crate) mailbox: u32,
}

impl<'a> Options<'a> {
    /// A compute program at address 0 that needs nothing.
    pub fn compute(name: &'a str, target: Target, registers: u32) -> Options<'a> {
        Options { name, target, base: 0, entry: 0, registers, const_banks: &[], plan: None, mailbox: 0 }
    }
}

/// What a program needs of its launch.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Bytes of local memory that accesses reach at known addresses; `None`: there is no access.
    pub(crate) local: Option<u32>,
    /// It has texture instructions.
    pub(crate) textures: bool,
    /// What it uses of its stage.
    pub(crate) uses: Uses,
}

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
