//! The chips that have a video processor 1, and their names.

use std::fmt;

use crate::chip_names::plain_name;

/// A chip with this processor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Chip {
    /// NV41 to NV43.
    Nv41,
    /// NV44 and what came before G80.
    Nv44,
    /// G80: has `$x`, `$d` and bits 6 and 7 of `$c`.
    G80,
}

impl Chip {
    /// All chips.
    pub const ALL: [Chip; 3] = [Chip::Nv41, Chip::Nv44, Chip::G80];

    /// The name launch files use.
    pub fn name(self) -> &'static str {
        match self {
            Chip::Nv41 => "nv41",
            Chip::Nv44 => "nv44",
            Chip::G80 => "g80",
        }
    }

    /// The chip of that name, whatever its capitals.
    pub fn parse(name: &str) -> Option<Chip> {
        let plain = plain_name(name);
        Chip::ALL.into_iter().find(|chip| chip.name() == plain)
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
