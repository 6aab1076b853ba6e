//! Lifts programs to the IR's SPMD form.
//!
//! A wave becomes a warp of 64 lanes that the IR considers always active; EXEC is data, a mask. Scalar registers are uniform i32
//! slots (`s0`, ..., `vcc_lo`, `m0`), and so are SCC and MODE. Vector registers are i32 slots `v0`, .... A scalar pair that holds
//! a mask has a mask slot, too (`views`). A write to a vector register changes only the lanes in EXEC, and EXEC guards memory
//! accesses.
//!
//! `graph` finds the reachable instructions, `statics` and `views` analyse them, and `lifter` goes through the blocks. `control`
//! emits what changes the program counter; each other topic has a file (`emit` says how these work).
//!
//! No code is an error here. Undefined words, graphics-only instructions, and targets outside the code or inside an instruction
//! become an `illegal` fault, which is raised if the wave gets there.

mod access;
mod atomic;
mod buffer;
mod bytes;
mod compare;
mod control;
mod convert;
#[cfg(test)]
mod dot_tests;
mod double;
mod effects;
mod emit;
mod export;
mod flat;
mod float;
mod format;
mod gds;
mod graph;
mod half;
mod hwreg;
mod image;
mod index;
mod int;
mod interp;
mod lanes;
mod lds;
mod lifter;
mod mask;
#[cfg(test)]
mod memory_tests;
mod modes;
mod operand;
mod options;
mod ordered;
mod packed;
mod quotient;
mod result;
mod scalar;
mod scalar_bits;
mod scratch;
mod slots;
mod smem;
mod special;
mod stage;
mod statics;
#[cfg(test)]
mod tests;
mod truth;
#[cfg(test)]
mod vector_tests;
mod views;

use warpjit_ir::{Form, Function, Meter, Stopped};

use super::{Inst, Topic};
use crate::code::Code;
use crate::stage::StageLayout;
use emit::Emit;
pub use gds::is_used as uses_data_share;
use graph::Graph;
pub use options::{Entry, Options, Register};
use stage::Places;
pub use stage::check as check_stage;
use views::Analysis;

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
    let mailbox = if image::has_device(&graph) { image::MAILBOX_BYTES } else { 0 };
    let places = options.stage.map(|interface| Places::new(interface, &graph, mailbox));
    lifter::lift(&mut function, code, &graph, &analysis, options, places.as_ref(), meter)?;
    let local_bytes = places.as_ref().map_or(mailbox, |places| places.end);
    Ok(Lifted { function, local_bytes, stage: places.map(|places| places.layout) })
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

/// Emits an instruction that does not change the program counter, in the file of its topic. False if it is none of these, or illegal.
fn topic(e: &mut Emit<'_>, inst: &Inst) -> bool {
    match inst.op.topic() {
        Topic::Scalar => scalar::inst(e, inst),
        Topic::ScalarBits => scalar_bits::inst(e, inst),
        Topic::Logic => mask::inst(e, inst),
        Topic::HardwareRegister => hwreg::inst(e, inst),
        Topic::Control => false,
        Topic::Message => stage::inst(e, inst),
        Topic::ScalarMemory => smem::inst(e, inst),
        Topic::Int => int::inst(e, inst),
        Topic::Float => float::inst(e, inst),
        Topic::Double => double::inst(e, inst),
        Topic::Half => half::inst(e, inst),
        Topic::Packed => packed::inst(e, inst),
        Topic::Convert => convert::inst(e, inst),
        Topic::Special => special::inst(e, inst),
        Topic::Compare => compare::inst(e, inst),
        Topic::Index => index::inst(e, inst),
        Topic::Lanes => lanes::inst(e, inst),
        Topic::Interpolation => interp::inst(e, inst),
        Topic::Export => export::inst(e, inst),
        Topic::Lds => lds::inst(e, inst),
        Topic::Flat => flat::inst(e, inst),
        Topic::Buffer => buffer::inst(e, inst),
        Topic::Image => image::inst(e, inst),
    }
}
