//! NVIDIA Fermi where this build leaves it out: the names of its chips.

pub mod chip;
pub mod map;

pub use chip::{Chip, Family};

/// Says what is missing.
pub mod front_end {
    use super::Chip;

    without!(FermiFrontEnd, Fermi, Chip::ALL.iter(), Chip::Gf100);
}
