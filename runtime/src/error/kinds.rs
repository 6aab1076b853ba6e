//! Makes the kinds of an error: an enum whose fields are data, with the name of each kind and its numbers by name.

use crate::memory::Denied;

/// What may be a number of an error.
pub(super) trait Number {
    /// It, if it is one.
    fn number(&self) -> Option<u64>;
}

macro_rules! numbers {
    ($($ty:ty)*) => {
        $(impl Number for $ty {
            fn number(&self) -> Option<u64> {
                u64::try_from(*self).ok()
            }
        })*
    };
}

numbers!(bool u8 u16 u32 u64 usize i32);

macro_rules! others {
    ($($ty:ty)*) => {
        $(impl Number for $ty {
            fn number(&self) -> Option<u64> {
                None
            }
        })*
    };
}

impl Number for std::time::Duration {
    fn number(&self) -> Option<u64> {
        u64::try_from(self.as_nanos()).ok()
    }
}

impl Number for Box<crate::Fault> {
    fn number(&self) -> Option<u64> {
        self.address
    }
}

others!(String &'static str [u32; 3] Axis super::Addresses super::RowsError crate::Isa crate::Chip Box<super::Error>);
others!(warpjit_ir::meter::Task super::ImageError crate::stage::Per);
others!(warpjit_ir::verify::VerifyError warpjit_ir::interp::InvalidCode);

impl Number for Denied {
    fn number(&self) -> Option<u64> {
        Some(self.address)
    }
}

impl<T: Number> Number for Option<T> {
    fn number(&self) -> Option<u64> {
        self.as_ref().and_then(Number::number)
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

macro_rules! kinds {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$of:meta])* $kind:ident $({ $($(#[$with:meta])* $field:ident: $ty:ty),* $(,)? })?,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$of])* $kind $({ $($(#[$with])* $field: $ty),* })?,)*
        }

        impl $name {
            /// The name of the kind.
            pub(super) fn kind(&self) -> &'static str {
                match self {
                    $($name::$kind { .. } => stringify!($kind),)*
                }
            }

            /// The number in a field.
            #[allow(unused_variables)]
            pub(super) fn number(&self, name: &str) -> Option<u64> {
                match self {
                    $($name::$kind $({ $($field),* })? => {
                        $($(if name == stringify!($field) {
                            return $crate::error::kinds::Number::number($field);
                        })*)?
                    })*
                }
                None
            }
        }
    };
}

pub(super) use kinds;
