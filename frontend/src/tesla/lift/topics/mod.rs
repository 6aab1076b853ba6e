//! The code of each instruction, a file a topic; [`control`](super::control) says which file has which.

pub(super) mod atomic;
pub(super) mod convert;
pub(super) mod float;
pub(super) mod int;
pub(super) mod memory;
pub(super) mod special;
pub(super) mod stage;
pub(super) mod texture;
