//! The chips of all instruction sets, as one enum, and the parser of their names.

use std::fmt;
use std::str::FromStr;

use crate::isa::{Isa, LoadError, Target};
use crate::{fermi, gcn, tesla, vp1};

/// A chip of any instruction set. Everything that a program's chip decides goes by this value; names of chips occur at
/// the border only (launch files, the command line, containers) and are read by [`Chip::parse`] and [`Isa::chip`].
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
    /// The chip of that name. Capitals make no difference; each instruction set's own `Chip::parse` says which names it
    /// knows. `g80` has shader processors (Tesla) and a video processor (VP1): a name that several instruction sets know
    /// means the first of them in [`Isa::ALL`], which are the shader processors. [`Isa::chip`] finds the other one.
    pub fn parse(name: &str) -> Option<Chip> {
        Isa::ALL.iter().find_map(|isa| isa.front_end().parse_chip(name))
    }

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

    /// What can be done for the chip: lifting, listing, assembling.
    pub fn target(&self) -> &dyn Target {
        match self {
            Chip::Tesla(chip) => chip,
            Chip::Fermi(chip) => chip,
            Chip::Gcn(chip) => chip,
            Chip::Vp1(chip) => chip,
        }
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Chip {
    type Err = LoadError;

    /// [`Chip::parse`]; the error lists the chips that there are.
    fn from_str(name: &str) -> Result<Chip, LoadError> {
        Chip::parse(name).ok_or_else(|| {
            let of = |isa: &Isa| format!("{isa}: {}", isa.front_end().chips().join(", "));
            let known: Vec<String> = Isa::ALL.iter().map(of).collect();
            LoadError::Program(format!("{name:?} is no chip; there are {}", known.join("; ")))
        })
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

impl From<gcn::Generation> for Chip {
    fn from(generation: gcn::Generation) -> Chip {
        Chip::Gcn(generation.into())
    }
}

impl From<vp1::Chip> for Chip {
    fn from(chip: vp1::Chip) -> Chip {
        Chip::Vp1(chip)
    }
}

/// Makers and brands, which say nothing of the chip.
const BRANDS: [&str; 5] = ["nvidia", "geforce", "amd", "ati", "radeon"];

/// A name in the form in which names are compared: small letters, without blanks, hyphens, underscores and brands.
pub(crate) fn plain_name(name: &str) -> String {
    let plain: String =
        name.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).flat_map(char::to_lowercase).collect();
    let mut rest = plain.as_str();
    while let Some(behind) = BRANDS.iter().find_map(|brand| rest.strip_prefix(brand)) {
        rest = behind;
    }
    rest.to_owned()
}

/// Finds a name in lists of names; both are compared as [`plain_name`] gives them.
pub(crate) fn find_named<T: Copy>(lists: &[(T, &[&str])], name: &str) -> Option<T> {
    let name = plain_name(name);
    let found = lists.iter().find(|(_, names)| names.iter().any(|known| plain_name(known) == name));
    found.map(|&(item, _)| item)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every name that any instruction set lists means a chip of it, and `Chip::parse` finds that very chip; but for `g80`,
    /// which stands for Tesla there.
    #[test]
    fn names_are_unambiguous() {
        for isa in Isa::ALL {
            for name in isa.front_end().chips() {
                let chip = isa.chip(name).unwrap();
                assert_eq!(chip.isa(), *isa, "{name}");
                assert_eq!(isa.chip(chip.name()).unwrap(), chip, "{name}");
                assert_eq!(isa.chip(&name.to_uppercase()).unwrap(), chip, "{name}");
                let alone = Chip::parse(name).unwrap();
                if *isa == Isa::Vp1 && name == "g80" {
                    assert_eq!(alone, Chip::Tesla(tesla::Chip::G80));
                } else {
                    assert_eq!(alone, chip, "{name}");
                }
            }
        }
    }

    #[test]
    fn compute_capabilities_and_boards() {
        let of = |name: &str| Chip::parse(name).map(Chip::name);
        assert_eq!(of("sm_11"), Some("g84"));
        assert_eq!(of("SM_13"), Some("g200"));
        assert_eq!(of("sm_21"), Some("gf104"));
        assert_eq!(of("GeForce GTX 280"), Some("g200"));
        assert_eq!(of("gtx480"), Some("gf100"));
        assert_eq!(of("RX 480"), Some("polaris10"));
        assert_eq!(of("sm_35"), None);
        assert_eq!(of(""), None);
        assert_eq!(Isa::Vp1.chip("G80").unwrap(), Chip::Vp1(vp1::Chip::G80));
        assert_eq!(
            Isa::Tesla.chip("gf100").unwrap_err().to_string().split(';').next(),
            Some("tesla has no chip gf100")
        );
    }
}
