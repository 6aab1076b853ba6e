//! Containers, decoders, disassemblers, assemblers and lifters of guest ISAs.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod bits;
pub mod container;
pub mod envydis;
pub mod fermi;
pub mod gcn;
pub mod tesla;

use std::fmt;

/// A guest instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Isa {
    /// NVIDIA Tesla: G80 to GT218.
    Tesla,
}

impl Isa {
    /// The name launch files and the command line use.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Tesla => "tesla",
        }
    }

    /// The instruction set of that name.
    pub fn parse(name: &str) -> Option<Isa> {
        match name {
            "tesla" => Some(Isa::Tesla),
            _ => None,
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
