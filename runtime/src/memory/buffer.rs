//! What the list of buffers knows of each.

use super::pages::Access;

/// A mapped range of guest addresses, at the address by which the list finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Buffer {
    pub bytes: u64,
    pub access: Access,
    pub kind: Kind,
}

/// Whose memory a buffer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Pages of this space alone.
    Own,
    /// Pages that other mappings of the process show too.
    Shared,
    /// Special pages.
    Special,
    /// In a space whose addresses are the host's: pages of the embedder.
    Registered,
}

impl Kind {
    /// Whether the space has mapped its pages.
    pub fn is_ours(self) -> bool {
        matches!(self, Kind::Own | Kind::Shared)
    }
}
