//! Lifts programs to the IR's SPMD form.
//!
//! A wave becomes a warp of 64 lanes that the IR considers always active; EXEC is data, a mask. Scalar registers are uniform i32
//! slots (`s0`, ..., `vcc_lo`, `m0`), and so are SCC and MODE. Vector registers are i32 slots `v0`, .... A scalar pair that holds
//! a mask has a mask slot, too (`views`). A write to a vector register changes only the lanes in EXEC, and EXEC guards memory
//! accesses.
//!
//! `analysis` finds the reachable instructions and what is known and needed at each. `emit` makes IR: slots, operands, results,
//! memory accesses. `topics` has the code of each operation, a file a topic. `lifter` goes through the blocks, and `control` emits what
//! changes the program counter.
//!
//! No code is an error here. Undefined words, graphics-only instructions, and targets outside the code or inside an instruction
//! become an `illegal` fault, which is raised if the wave gets there.

mod analysis;
mod control;
#[cfg(test)]
mod dot_tests;
mod emit;
mod lifter;
#[cfg(test)]
mod memory_tests;
mod options;
mod slots;
#[cfg(test)]
mod tests;
mod topics;
#[cfg(test)]
mod vector_tests;

use warpjit_ir::{Form, Function, Meter, Stopped};

use crate::code::Code;
use crate::stage::StageLayout;
use analysis::graph::Graph;
use analysis::stage::StageMemory;
pub use analysis::stage::check as check_stage;
use analysis::views::Analysis;
pub use options::{Entry, Options, Register};
pub use topics::gds::is_used as uses_data_share;

/// A lifted program.
#[derive(Debug)]
pub struct Lifted {
    /// The code.
    pub function: Function,
    /// Bytes of local memory of a lane that it uses: not the guest's, but for devices and stages.
    pub local_bytes: u32,
    /// Inputs and outputs, of a graphics stage.
    pub stage: Option<StageLayout>,
}

/// Lifts the program that starts at `options.entry` of `code`.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub fn lift(code: &Code<'_>, options: &Options<'_>, meter: &Meter) -> Result<Lifted, Stopped> {
    let mut graph = Graph::explore(code, options, meter)?;
    let mut analysis = Analysis::new(&graph, options, meter)?;
    let needless = graph.needless_branches(&analysis);
    if !needless.is_empty() {
        graph = Graph::explore_without(code, options, &needless, meter)?;
        analysis = Analysis::new(&graph, options, meter)?;
    }
    let mut function = Function::new(options.name, Form::Spmd, 64);
    let mailbox = if topics::image::has_device(&graph) { topics::image::MAILBOX_BYTES } else { 0 };
    let stage_memory = options.stage.map(|interface| StageMemory::new(interface, &graph, mailbox));
    lifter::lift(&mut function, code, &graph, &analysis, options, stage_memory.as_ref(), meter)?;
    let local_bytes = stage_memory.as_ref().map_or(mailbox, |stage_memory| stage_memory.end);
    Ok(Lifted { function, local_bytes, stage: stage_memory.map(|stage_memory| stage_memory.layout) })
}

/// The same without knowing anything of masks.
#[cfg(test)]
fn lift_plainly(code: &Code<'_>, options: &Options<'_>) -> Function {
    let meter = Meter::unlimited();
    let graph = Graph::explore(code, options, &meter).expect("no limits");
    let mut func = Function::new(options.name, Form::Spmd, 64);
    lifter::lift(&mut func, code, &graph, &Analysis::plain(), options, None, &meter).expect("no limits");
    func
}
