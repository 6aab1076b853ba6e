//! Random GCN programs of the scalar unit among vector code, and a direct model that computes their results.
//!
//! The model works on the text of programs and is written from the notes on the hardware (docs/hardware/gcn.md sections 3 and 5). It
//! shares no code with the decoder, the lifter and the interpreter, so it can test them.

mod generator;
pub mod memory;
mod model;
pub mod object;
pub mod one_wave;
mod operations;
mod program;
pub mod scalar;
mod scalar_model;
pub mod vector;

pub use generator::{BASE, OFFSET, RESOURCE, program};
pub use model::{State, run};
pub use program::{Arg, Ins, Item, Program};
