//! AMD GCN where this build leaves it out: the names of its chips.

pub mod chip;
pub mod generation;
pub mod map;

pub use chip::{Chip, Features};
pub use generation::Generation;

/// Says what is missing.
pub mod front_end {
    use super::{Chip, Generation};

    without!(GcnFrontEnd, Gcn, Chip::all(), Generation::Gfx8);
}
