//! The Fermi chips: their names, and which of them have the same encodings.

use std::fmt;

use crate::chip_names::{find_named, plain_name};

macro_rules! chips {
    ($($variant:ident $name:literal $family:ident,)*) => {
        /// A chip of the family.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs, reason = "the names are the documentation")]
        pub enum Chip {
            $($variant,)*
        }

        impl Chip {
            /// All chips, oldest first.
            pub const ALL: &'static [Chip] = &[$(Chip::$variant,)*];

            /// The chip's name in lower case.
            pub fn name(self) -> &'static str {
                match self {
                    $(Chip::$variant => $name,)*
                }
            }

            /// Which encodings it has.
            pub fn family(self) -> Family {
                match self {
                    $(Chip::$variant => Family::$family,)*
                }
            }
        }
    };
}

chips! {
    Gf100 "gf100" Gf100,
    Gf104 "gf104" Gf100,
    Gf106 "gf106" Gf100,
    Gf114 "gf114" Gf100,
    Gf116 "gf116" Gf100,
    Gf108 "gf108" Gf100,
    Gf110 "gf110" Gf100,
    Gf111 "gf111" Gf100,
    Gf112 "gf112" Gf100,
    Gf113 "gf113" Gf100,
    Gf115 "gf115" Gf100,
    Gf118 "gf118" Gf100,
    Gf119 "gf119" Gf100,
    Gf117 "gf117" Gf100,
    Gk104 "gk104" Gk104,
    Gk107 "gk107" Gk104,
    Gk106 "gk106" Gk104,
}

impl Chip {
    /// The chip of a name, whatever its capitals: the chip's own, the compute capability of a cubin (`sm_20`, `sm_21` and
    /// `sm_30` give the oldest chip that has it), or a board that was made with one chip only (`gtx480`).
    pub fn parse(name: &str) -> Option<Chip> {
        /// Compute capabilities and boards.
        const OTHER_NAMES: &[(Chip, &[&str])] = &[
            (Chip::Gf100, &["sm_20", "gtx465", "gtx470", "gtx480", "c2050", "c2070"]),
            (Chip::Gf104, &["sm_21"]),
            (Chip::Gf110, &["gtx570", "gtx580", "gtx590"]),
            (Chip::Gf116, &["gtx550ti"]),
            (Chip::Gk104, &["sm_30", "gtx680", "gtx690"]),
        ];
        let plain = plain_name(name);
        let own = Chip::ALL.iter().copied().find(|chip| chip.name() == plain);
        own.or_else(|| find_named(OTHER_NAMES, name))
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Chips with the same encodings (docs/hardware/fermi.md section 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// GF100 to GF119: sm_20 and sm_21.
    Gf100,
    /// GK104 to GK107: sm_30. Every eighth word is a `sched` word.
    Gk104,
}
