//! Names and launch limits of the chips.

use std::fmt;

/// The instruction sets that a launch file may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IsaName {
    /// NVIDIA G80 to GT218.
    Tesla,
    /// NVIDIA GF100 to GK107.
    Fermi,
    /// AMD GCN 1.0 to 1.4.
    Gcn,
    /// NVIDIA video processor 1.
    Vp1,
}

impl IsaName {
    /// The names, in the order of the variants.
    pub const NAMES: [&'static str; 4] = ["tesla", "fermi", "gcn", "vp1"];
    const ALL: [IsaName; 4] = [IsaName::Tesla, IsaName::Fermi, IsaName::Gcn, IsaName::Vp1];

    pub(super) fn from_index(index: usize) -> IsaName {
        Self::ALL[index]
    }

    /// The name in a launch file.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether the ISA's pointers have 32 bits unless the file says otherwise.
    pub fn pointer_bytes(self) -> usize {
        if self == IsaName::Gcn { 8 } else { 4 }
    }

    /// Chip names the ISA knows, for messages; see [`IsaName::knows`].
    pub fn chips(self) -> &'static [&'static str] {
        match self {
            IsaName::Tesla => {
                &["g80", "g84", "g86", "g92", "g94", "g96", "g98", "g200", "gt215", "gt216", "gt218"]
            }
            IsaName::Fermi => &[
                "gf100", "gf104", "gf106", "gf108", "gf110", "gf111", "gf112", "gf113", "gf114", "gf115",
                "gf116", "gf117", "gf118", "gf119", "gk104", "gk106", "gk107",
            ],
            IsaName::Gcn => &[
                "tahiti",
                "pitcairn",
                "verde",
                "oland",
                "hainan",
                "bonaire",
                "hawaii",
                "kaveri",
                "kabini",
                "mullins",
                "tonga",
                "iceland",
                "carrizo",
                "fiji",
                "stoney",
                "polaris10",
                "polaris11",
                "polaris12",
                "vega10",
                "vega12",
                "vega20",
                "raven",
            ],
            IsaName::Vp1 => &["nv41", "nv44", "g80"],
        }
    }

    /// Whether `chip` is a name of a chip with this ISA.
    pub fn knows(self, chip: &str) -> bool {
        self.chips().contains(&chip)
            || self == IsaName::Gcn
                && chip.strip_prefix("gfx").is_some_and(|n| {
                    n.len() == 3
                        && matches!(n.as_bytes()[0], b'6'..=b'9')
                        && u32::from_str_radix(n, 16).is_ok_and(|n| n <= 0x906)
                })
    }

    /// The largest grid. Tesla's is two-dimensional; GK104 widens the first dimension.
    pub(super) fn max_grid(self, chip: Option<&str>) -> [u32; 3] {
        match self {
            IsaName::Tesla => [65535, 65535, 1],
            IsaName::Fermi if chip.is_some_and(|c| c.starts_with("gk")) => [0x7fff_ffff, 65535, 65535],
            IsaName::Fermi => [65535; 3],
            _ => [u32::MAX; 3],
        }
    }

    /// The largest block by dimension, and its largest number of threads.
    pub(super) fn max_block(self) -> ([u32; 3], u32) {
        match self {
            IsaName::Tesla => ([512, 512, 64], 512),
            IsaName::Fermi => ([1024, 1024, 64], 1024),
            _ => ([1024; 3], 1024),
        }
    }
}

impl fmt::Display for IsaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
