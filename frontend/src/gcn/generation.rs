//! The generations of GCN: names and numbers.

use std::fmt;

use super::Chip;

/// A generation of the instruction set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Generation {
    /// GCN 1.0, gfx6: Southern Islands.
    Gfx6,
    /// GCN 1.1, gfx7: Sea Islands.
    Gfx7,
    /// GCN 1.2, gfx8: Volcanic Islands.
    Gfx8,
    /// GCN 1.4, gfx9: Vega.
    Gfx9,
}

impl Generation {
    /// All of them, oldest first.
    pub const ALL: [Generation; 4] = [Generation::Gfx6, Generation::Gfx7, Generation::Gfx8, Generation::Gfx9];

    /// The name of the chip that stands for the generation: `tahiti`, `hawaii`, `fiji`, `vega10`.
    pub fn name(self) -> &'static str {
        Chip::from(self).name()
    }

    /// The generation's number: `1.0`, `1.1`, `1.2`, `1.4`.
    pub fn number(self) -> &'static str {
        match self {
            Generation::Gfx6 => "1.0",
            Generation::Gfx7 => "1.1",
            Generation::Gfx8 => "1.2",
            Generation::Gfx9 => "1.4",
        }
    }

    /// True for GCN 1.0 and 1.1, whose encodings are laid out alike; 1.2 and 1.4 have another layout.
    pub fn is_old(self) -> bool {
        self <= Generation::Gfx7
    }

    /// Whether `v_sin` and `v_cos` take any number of turns. Before GCN 1.4 they take 256 either way.
    pub fn has_any_turns(self) -> bool {
        self >= Generation::Gfx9
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
