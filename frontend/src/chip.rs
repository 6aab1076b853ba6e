//! The chips of all instruction sets, as one enum.

use std::fmt;

use crate::fermi::chip as fermi;
use crate::gcn::chip as gcn;
use crate::gcn::generation::Generation;
use crate::isa::Isa;
use crate::tesla::chip as tesla;
use crate::vp1::chip as vp1;

/// A chip of any instruction set. Everything that a program's chip decides goes by this value; names of chips occur at
/// the border only (launch files, the command line, containers) and are read by [`Chip::parse`] and [`Isa::chip`](crate::isa::Isa::chip).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Chip {
    /// NVIDIA Tesla.
    Tesla(tesla::Chip),
    /// NVIDIA Fermi.
    Fermi(fermi::Chip),
    /// AMD GCN.
    Gcn(gcn::Chip),
    /// A chip's NVIDIA video processor 1.
    Vp1(vp1::Chip),
}

impl Chip {
    /// The instruction set.
    pub fn isa(self) -> Isa {
        match self {
            Chip::Tesla(_) => Isa::Tesla,
            Chip::Fermi(_) => Isa::Fermi,
            Chip::Gcn(_) => Isa::Gcn,
            Chip::Vp1(_) => Isa::Vp1,
        }
    }

    /// The chip's name. [`Isa::chip`] gives the chip back for it.
    pub fn name(self) -> &'static str {
        match self {
            Chip::Tesla(chip) => chip.name(),
            Chip::Fermi(chip) => chip.name(),
            Chip::Gcn(chip) => chip.name(),
            Chip::Vp1(chip) => chip.name(),
        }
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<tesla::Chip> for Chip {
    fn from(chip: tesla::Chip) -> Chip {
        Chip::Tesla(chip)
    }
}

impl From<fermi::Chip> for Chip {
    fn from(chip: fermi::Chip) -> Chip {
        Chip::Fermi(chip)
    }
}

impl From<gcn::Chip> for Chip {
    fn from(chip: gcn::Chip) -> Chip {
        Chip::Gcn(chip)
    }
}

impl From<Generation> for Chip {
    fn from(generation: Generation) -> Chip {
        Chip::Gcn(generation.into())
    }
}

impl From<vp1::Chip> for Chip {
    fn from(chip: vp1::Chip) -> Chip {
        Chip::Vp1(chip)
    }
}
