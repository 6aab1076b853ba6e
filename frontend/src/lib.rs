//! Everything that knows guest instruction sets: containers, decoders, disassemblers, assemblers, and lifters to the IR.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod bits;
pub mod chip;
pub mod container;
mod emission;
pub mod envydis;
pub mod fermi;
pub mod formula;
pub mod gcn;
pub mod image;
pub mod isa;
mod pure_table;
pub mod registry;
mod simt;
pub mod soft;
pub mod tesla;
#[cfg(test)]
mod testing;
pub mod vp1;

pub use chip::Chip;
pub use isa::{FrontEnd, Isa, LaunchRules, LoadError, ProgramType, SourceError, SourceErrors, Target};
