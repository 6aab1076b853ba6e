//! NVIDIA Tesla where this build leaves it out: the names of its chips.

pub mod chip;

pub use chip::{Chip, Features, STAGES};

/// Says what is missing.
pub mod front_end {
    use super::Chip;

    without!(TeslaFrontEnd, Tesla, Chip::ALL, Chip::G80);
}
