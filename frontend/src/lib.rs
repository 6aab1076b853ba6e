//! Everything that knows guest instruction sets: containers, decoders, disassemblers, assemblers, and lifters to the IR.
#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(feature = "tesla", feature = "fermi", feature = "gcn", feature = "vp1")),
    allow(
        dead_code,
        unused_imports,
        unused_macros,
        reason = "what only an instruction set that is left out uses"
    )
)]

#[cfg(not(all(feature = "tesla", feature = "fermi", feature = "gcn", feature = "vp1")))]
#[macro_use]
mod without;

pub mod bits;
pub mod chip;
mod chip_names;
pub mod code;
pub mod container;
mod emission;
#[cfg(any(feature = "tesla", feature = "fermi", feature = "vp1"))]
pub mod envydis;
pub mod error;
#[cfg_attr(not(feature = "fermi"), path = "fermi/without.rs")]
pub mod fermi;
pub mod formula;
pub mod front_end;
#[cfg_attr(not(feature = "gcn"), path = "gcn/without.rs")]
pub mod gcn;
pub mod image;
pub mod isa;
#[cfg(any(feature = "tesla", feature = "fermi", feature = "gcn", feature = "vp1"))]
mod listing;
pub mod module;
#[cfg(any(feature = "tesla", feature = "fermi", feature = "gcn", feature = "vp1"))]
mod prose;
mod pure_table;
#[cfg(any(feature = "tesla", feature = "fermi", feature = "gcn", feature = "vp1"))]
mod reachable;
pub mod registry;
pub mod sampling;
#[cfg(any(feature = "tesla", feature = "fermi"))]
mod simt;
pub mod soft;
pub mod stage;
#[cfg_attr(not(feature = "tesla"), path = "tesla/without.rs")]
pub mod tesla;
#[cfg(test)]
mod testing;
#[cfg_attr(not(feature = "vp1"), path = "vp1/without.rs")]
pub mod vp1;

pub use chip::Chip;
pub use code::{CodeAt, CodeMap, CodePiece, CodeSource};
pub use error::{CodeError, LoadError, SourceError, SourceErrors};
pub use front_end::{CodeLocation, FrontEnd, LaunchRules, Target};
pub use isa::{Isa, Stage};
pub use stage::{StageInterface, StageLayout};
