//! The generations of GCN and the chips that belong to them.

use std::fmt;

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

/// Names of chips: what drivers, LLVM and CLRX call them.
const CHIPS: [(Generation, &[&str]); 4] = [
    (
        Generation::Gfx6,
        &[
            "tahiti",
            "pitcairn",
            "capeverde",
            "verde",
            "oland",
            "hainan",
            "gfx600",
            "gfx601",
            "gfx602",
            "si",
            "southern-islands",
            "gfx6",
            "gcn1.0",
        ],
    ),
    (
        Generation::Gfx7,
        &[
            "hawaii",
            "bonaire",
            "kabini",
            "kaveri",
            "mullins",
            "spectre",
            "spooky",
            "kalindi",
            "godavari",
            "gfx700",
            "gfx701",
            "gfx702",
            "gfx703",
            "gfx704",
            "gfx705",
            "ci",
            "sea-islands",
            "gfx7",
            "gcn1.1",
        ],
    ),
    (
        Generation::Gfx8,
        &[
            "fiji",
            "tonga",
            "tongapro",
            "iceland",
            "topaz",
            "carrizo",
            "polaris10",
            "polaris11",
            "polaris12",
            "ellesmere",
            "baffin",
            "gfx804",
            "stoney",
            "gfx800",
            "gfx801",
            "gfx802",
            "gfx803",
            "gfx805",
            "gfx810",
            "vi",
            "volcanic-islands",
            "gfx8",
            "gcn1.2",
        ],
    ),
    (
        Generation::Gfx9,
        &[
            "vega10", "vega11", "vega12", "vega20", "raven", "raven2", "renoir", "picasso", "gfx900",
            "gfx901", "gfx902", "gfx903", "gfx904", "gfx905", "gfx906", "gfx907", "gfx909", "gfx90c", "gfx9",
            "gcn1.4", "gcn1.4.1",
        ],
    ),
];

impl Generation {
    /// All of them, oldest first.
    pub const ALL: [Generation; 4] = [Generation::Gfx6, Generation::Gfx7, Generation::Gfx8, Generation::Gfx9];

    /// The chip that stands for the generation: `tahiti`, `hawaii`, `fiji`, `vega10`.
    pub fn name(self) -> &'static str {
        self.chips()[0]
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

    /// All names of chips and of the generation itself that [`Generation::parse`] knows.
    pub fn chips(self) -> &'static [&'static str] {
        CHIPS[self as usize].1
    }

    /// The generation of a chip. Capitals do not matter; neither does what follows a colon (`gfx900:xnack-`)
    /// or what precedes the last `--` of a target name (`amdgcn-amd-amdhsa--gfx900`).
    pub fn parse(name: &str) -> Option<Generation> {
        let name = name.rsplit("--").next().unwrap_or(name);
        let name = name.split([':', '+']).next().unwrap_or(name).to_ascii_lowercase();
        let found = CHIPS.iter().find(|(_, chips)| chips.contains(&name.as_str()));
        found.map(|&(generation, _)| generation)
    }

    /// The generation of a `gfx` number: major, minor and stepping (8, 0, 3).
    pub fn of_version(major: u32, minor: u32, stepping: u32) -> Option<Generation> {
        Generation::parse(&format!("gfx{major}{minor}{stepping:x}"))
    }

    /// True for GCN 1.0 and 1.1, whose encodings are laid out alike; 1.2 and 1.4 have another layout.
    pub fn is_old(self) -> bool {
        self <= Generation::Gfx7
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_are_found() {
        assert_eq!(Generation::parse("Pitcairn"), Some(Generation::Gfx6));
        assert_eq!(Generation::parse("gfx701"), Some(Generation::Gfx7));
        assert_eq!(Generation::parse("amdgcn-amd-amdhsa--gfx803"), Some(Generation::Gfx8));
        assert_eq!(Generation::parse("gfx90c:xnack-"), Some(Generation::Gfx9));
        assert_eq!(Generation::of_version(9, 0, 12), Some(Generation::Gfx9));
        assert_eq!(Generation::of_version(8, 1, 0), Some(Generation::Gfx8));
        assert_eq!(Generation::parse("gfx1010"), None);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = Generation::ALL.into_iter().flat_map(Generation::chips).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
