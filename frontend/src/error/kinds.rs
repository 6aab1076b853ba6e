//! Makes the kinds of an error: an enum whose fields are data, with the name of each kind and its numbers by name.
//!
//! The front ends and the runtime make their errors with it, so that bindings can ask for a kind and its numbers without a table of
//! their own.

/// What may be a number of an error.
#[doc(hidden)]
pub trait Number {
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

/// Says that values of a type are no numbers of an error.
#[doc(hidden)]
#[macro_export]
macro_rules! no_numbers {
    ($($ty:ty)*) => {
        $(impl $crate::error::Number for $ty {
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

no_numbers!(String Vec<String> &'static str [u32; 3] crate::Isa crate::Chip crate::stage::Per super::CodeError);
no_numbers!(warpjit_ir::meter::Task warpjit_ir::verify::VerifyError warpjit_ir::interp::InvalidCode);

impl<T: Number> Number for Option<T> {
    fn number(&self) -> Option<u64> {
        self.as_ref().and_then(Number::number)
    }
}

/// Defines an enum of errors. Each kind has named fields or none, and a text for `thiserror`.
#[doc(hidden)]
#[macro_export]
macro_rules! error_kinds {
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
            /// The names of all kinds.
            #[doc(hidden)]
            pub const KINDS: &'static [&'static str] = &[$(stringify!($kind)),*];

            /// The name of the kind. It stays when the text changes.
            pub fn kind(&self) -> &'static str {
                match self {
                    $($name::$kind { .. } => stringify!($kind),)*
                }
            }

            /// The number in the field with a name; `None` if the kind has no such field, or it holds no number.
            #[allow(unused_variables)]
            pub fn number(&self, name: &str) -> Option<u64> {
                match self {
                    $($name::$kind $({ $($field),* })? => {
                        $($(if name == stringify!($field) {
                            return $crate::error::Number::number($field);
                        })*)?
                    })*
                }
                None
            }
        }
    };
}
