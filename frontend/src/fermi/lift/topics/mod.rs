//! The code of each instruction, a file a topic; [`control`](super::control) says which file has which.

pub(super) mod atomic;
pub(super) mod barrier;
mod bits;
pub(super) mod convert;
pub(super) mod double;
pub(super) mod float;
pub(super) mod generic;
pub(super) mod int;
pub(super) mod lanes;
pub(super) mod memory;
pub(super) mod special;
pub(super) mod stage;
pub(super) mod surface;
pub(super) mod surface_address;
pub(super) mod texture;
pub(super) mod video;
