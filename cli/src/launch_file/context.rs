//! What the sections of a launch file need to know of each other while they are read.

use warpjit_frontend::{Isa, LaunchRules};

use super::files::Files;

/// What the sections need to know of each other while they are read.
pub(super) struct Context<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) isa: Isa,
    pub(super) rules: LaunchRules,
    /// Whether textures have handles, in a const bank: from GK104 on.
    pub(super) has_handles: bool,
}
