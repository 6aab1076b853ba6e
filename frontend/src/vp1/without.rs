//! NVIDIA's video processor 1 where this build leaves it out: the names of its chips.

pub mod chip;

pub use chip::Chip;

/// Says what is missing.
pub mod front_end {
    use super::Chip;

    without!(Vp1FrontEnd, Vp1, Chip::ALL, Chip::G80);
}
