//! What the kinds of the runtime's errors hold beside numbers and texts. The kinds are made by `error_kinds` of
//! warpjit-frontend.

use crate::memory::Denied;
use warpjit_frontend::error::Number;
use warpjit_frontend::no_numbers;

impl Number for Box<crate::Fault> {
    fn number(&self) -> Option<u64> {
        self.address
    }
}

no_numbers!(Axis super::Addresses super::RowsError Box<super::Error> super::ImageError);

impl Number for Denied {
    fn number(&self) -> Option<u64> {
        Some(self.address)
    }
}

/// An axis of grids and blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Axis {
    /// The first one.
    X,
    /// The second one.
    Y,
    /// The third one.
    Z,
}

impl Axis {
    /// All of them, in order.
    pub(crate) const ALL: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];
}

impl std::fmt::Display for Axis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Axis::X => "x",
            Axis::Y => "y",
            Axis::Z => "z",
        })
    }
}
