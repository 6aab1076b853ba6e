//! The Tesla chips: their names, and what each of them can decode.

use std::fmt;

use crate::chip_names::{find_named, plain_name};
use crate::isa::Stage;

/// A chip of the family.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Chip {
    G80,
    G84,
    G86,
    G92,
    G94,
    G96,
    G98,
    G200,
    Mcp77,
    Mcp79,
    Gt215,
    Gt216,
    Gt218,
}

impl Chip {
    /// All chips, oldest first.
    pub const ALL: [Chip; 13] = [
        Chip::G80,
        Chip::G84,
        Chip::G86,
        Chip::G92,
        Chip::G94,
        Chip::G96,
        Chip::G98,
        Chip::G200,
        Chip::Mcp77,
        Chip::Mcp79,
        Chip::Gt215,
        Chip::Gt216,
        Chip::Gt218,
    ];

    /// The chip's name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Chip::G80 => "g80",
            Chip::G84 => "g84",
            Chip::G86 => "g86",
            Chip::G92 => "g92",
            Chip::G94 => "g94",
            Chip::G96 => "g96",
            Chip::G98 => "g98",
            Chip::G200 => "g200",
            Chip::Mcp77 => "mcp77",
            Chip::Mcp79 => "mcp79",
            Chip::Gt215 => "gt215",
            Chip::Gt216 => "gt216",
            Chip::Gt218 => "gt218",
        }
    }

    /// The chip of a name, whatever its capitals: the chip's own, the compute capability of a cubin (`sm_10` to `sm_13`
    /// give the oldest chip that has it), or a board that was made with one chip only (`gtx280`).
    pub fn parse(name: &str) -> Option<Chip> {
        /// Compute capabilities and boards.
        const OTHER_NAMES: &[(Chip, &[&str])] = &[
            (Chip::G80, &["sm_10", "8800gtx", "8800ultra", "c870"]),
            (Chip::G84, &["sm_11", "8600gt", "8600gts"]),
            (Chip::G92, &["8800gt", "9800gtx", "9800gx2", "gts250"]),
            (Chip::G94, &["9600gt"]),
            (Chip::G200, &["sm_13", "gtx260", "gtx275", "gtx280", "gtx285", "gtx295", "c1060"]),
            (Chip::Gt215, &["sm_12", "gt240"]),
        ];
        let plain = plain_name(name);
        let own = Chip::ALL.into_iter().find(|chip| chip.name() == plain);
        own.or_else(|| find_named(OTHER_NAMES, name))
    }

    /// What the chip can decode (docs/hardware/tesla.md section 8, "Variants").
    pub fn features(self) -> Features {
        match self {
            Chip::G80 => Features::NONE,
            Chip::G84 | Chip::G86 | Chip::G92 | Chip::G94 | Chip::G96 | Chip::G98 => Features::SM11,
            Chip::G200 => Features::SM11.and(Features::SM12).and(Features::FP64),
            Chip::Mcp77 | Chip::Mcp79 => Features::SM11.and(Features::SM12),
            Chip::Gt215 | Chip::Gt216 | Chip::Gt218 => {
                Features::SM11.and(Features::SM12).and(Features::D3D10_1)
            }
        }
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Groups of encodings that came with a chip.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Features(u8);

impl Features {
    /// The base set of G80.
    pub const NONE: Features = Features(0);
    /// G84 and later: atomics on global memory, loads from shared memory.
    pub const SM11: Features = Features(1);
    /// G200, MCP77/79 and GT215 and later: vote, locked shared memory, 64-bit atomics.
    pub const SM12: Features = Features(2);
    /// G200 only: double precision.
    pub const FP64: Features = Features(4);
    /// GT215 and later.
    pub const D3D10_1: Features = Features(8);

    /// Both sets.
    pub const fn and(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    /// True if all of `other` is here.
    pub const fn contains(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The stages that the family has.
pub const STAGES: [Stage; 4] = [Stage::Vertex, Stage::Geometry, Stage::Fragment, Stage::Compute];

/// What selects rows of the table: the chip and the stage of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The chip.
    pub chip: Chip,
    /// The program's stage.
    pub stage: Stage,
}

impl Target {
    /// A compute program on that chip.
    pub const fn compute(chip: Chip) -> Target {
        Target { chip, stage: Stage::Compute }
    }
}
