//! Joins all instruction sets: finds the front end of each, the chip that a name means, and the pure functions and constant
//! tables by their names. Code that is cached on disk refers to functions and tables by name.

use std::str::FromStr;

use warpjit_ir::{DeviceFn, PureFn, WordTable};

use crate::chip::Chip;
use crate::error::CodeError;
use crate::front_end::{FrontEnd, Target};
use crate::isa::Isa;
#[cfg(any(feature = "tesla", feature = "fermi"))]
use crate::simt::texture;
use crate::{fermi, gcn, tesla, vp1};

impl Isa {
    /// The front end.
    pub fn front_end(self) -> &'static dyn FrontEnd {
        match self {
            Isa::Tesla => &tesla::front_end::TeslaFrontEnd,
            Isa::Fermi => &fermi::front_end::FermiFrontEnd,
            Isa::Gcn => &gcn::front_end::GcnFrontEnd,
            Isa::Vp1 => &vp1::front_end::Vp1FrontEnd,
        }
    }

    /// The chip of that name of this instruction set.
    ///
    /// # Errors
    ///
    /// There is none; the error lists those that there are.
    pub fn chip(self, name: &str) -> Result<Chip, CodeError> {
        let front_end = self.front_end();
        front_end.parse_chip(name).ok_or_else(|| {
            let known = front_end.chips().into_iter().map(str::to_owned).collect();
            CodeError::UnknownChip { isa: Some(self), name: name.to_owned(), known }
        })
    }
}

impl Chip {
    /// The chip of that name. Capitals make no difference; each instruction set's own `Chip::parse` says which names it
    /// knows. `g80` has shader processors (Tesla) and a video processor (VP1): a name that several instruction sets know
    /// means the first of them in [`Isa::ALL`], which are the shader processors. [`Isa::chip`] finds the other one.
    pub fn parse(name: &str) -> Option<Chip> {
        Isa::ALL.iter().find_map(|isa| isa.front_end().parse_chip(name))
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

impl FromStr for Chip {
    type Err = CodeError;

    /// [`Chip::parse`]; the error lists the chips that there are.
    fn from_str(name: &str) -> Result<Chip, CodeError> {
        Chip::parse(name).ok_or_else(|| {
            let of = |isa: &Isa| format!("{isa}: {}", isa.front_end().chips().join(", "));
            let known: Vec<String> = Isa::ALL.iter().map(of).collect();
            CodeError::UnknownChip { isa: None, name: name.to_owned(), known }
        })
    }
}

/// The pure functions of all front ends, by instruction set.
static PURES: &[&[&PureFn]] = &[
    #[cfg(feature = "tesla")]
    tesla::numeric::pure::ALL,
    #[cfg(feature = "fermi")]
    fermi::numeric::pure::ALL,
    #[cfg(feature = "gcn")]
    gcn::numeric::pure::ALL,
    #[cfg(feature = "gcn")]
    gcn::texel::ALL,
    #[cfg(feature = "gcn")]
    gcn::surface::ALL,
    #[cfg(feature = "vp1")]
    &vp1::lift::PURE_FUNCTIONS,
];

/// Their tables.
static TABLES: &[&[&WordTable]] = &[
    #[cfg(feature = "gcn")]
    gcn::texel::TABLES,
    #[cfg(feature = "tesla")]
    tesla::numeric::sfu_formula::TABLES,
];

/// Devices.
static DEVICES: &[&[&DeviceFn]] = &[
    #[cfg(feature = "gcn")]
    gcn::image::ALL,
    #[cfg(feature = "tesla")]
    &[&texture::TESLA],
    #[cfg(feature = "fermi")]
    &[&texture::FERMI, &fermi::surface::SURFACE],
];

/// All pure functions.
pub fn pures() -> impl Iterator<Item = &'static PureFn> {
    PURES.iter().flat_map(|list| list.iter().copied())
}

/// All tables.
pub fn tables() -> impl Iterator<Item = &'static WordTable> {
    TABLES.iter().flat_map(|list| list.iter().copied())
}

/// All devices.
pub fn devices() -> impl Iterator<Item = &'static DeviceFn> {
    DEVICES.iter().flat_map(|list| list.iter().copied())
}

/// The device of a name.
pub fn device(name: &str) -> Option<&'static DeviceFn> {
    devices().find(|device| device.name == name)
}

/// The pure function of a name.
pub fn pure(name: &str) -> Option<&'static PureFn> {
    pures().find(|pure| pure.name == name)
}

/// The table of a name.
pub fn table(name: &str) -> Option<&'static WordTable> {
    tables().find(|table| table.name() == name)
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

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = pures().map(|pure| pure.name).collect();
        names.extend(tables().map(WordTable::name));
        names.extend(devices().map(|device| device.name));
        let count = names.len();
        assert!(count > 100, "{count}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
