//! [`Layout`]: where the elements of an image are in memory.

/// Where the elements of an image are, relative to its address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Rows of `pitch` bytes, layers of `layer` bytes; one level.
    Pitch {
        /// Bytes from row to row.
        pitch: u64,
        /// Bytes from layer to layer.
        layer: u64,
    },
}
