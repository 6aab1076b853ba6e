//! Everything that knows guest instruction sets: containers, decoders, disassemblers, assemblers, and lifters to the IR.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod bits;
pub mod chip;
mod chip_names;
pub mod code;
pub mod container;
mod emission;
pub mod envydis;
pub mod error;
pub mod fermi;
pub mod formula;
pub mod front_end;
pub mod gcn;
pub mod image;
pub mod isa;
pub mod module;
mod pure_table;
pub mod registry;
pub mod sampling;
mod simt;
pub mod soft;
pub mod stage;
pub mod tesla;
#[cfg(test)]
mod testing;
pub mod vp1;

pub use chip::Chip;
pub use code::{CodeAt, CodeMap, CodePiece, CodeSource};
pub use error::{LoadError, SourceError, SourceErrors};
pub use front_end::{CodePlace, FrontEnd, LaunchRules, Target};
pub use isa::{Isa, Stage};
pub use stage::{StageInterface, StageLayout};
