//! Methods that set one field of a structure of settings, so that fields can be added without breaking an embedder.

/// Makes a method for each field that takes the settings and gives them back with the field changed.
macro_rules! setters {
    ($type:ident { $($(#[$attribute:meta])* $field:ident: $value:ty,)* }) => {
        impl $type {
            $(
                $(#[$attribute])*
                #[doc = concat!("Sets [`", stringify!($type), "::", stringify!($field), "`](#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, value: $value) -> Self {
                    self.$field = value;
                    self
                }
            )*
        }
    };
}

pub(crate) use setters;
