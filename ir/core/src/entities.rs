//! Typed indices of the entities of a [`crate::Function`]: values, blocks, instructions, slots.

use std::fmt;

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The entity's index in its table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The entity with index `index`.
            ///
            /// # Panics
            /// When `index` exceeds 32 bits.
            #[inline]
            pub fn new(index: usize) -> Self {
                $name(u32::try_from(index).expect("entity index"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

entity!(
    /// An SSA value: the result of an instruction or a block parameter.
    Value,
    "v"
);
entity!(
    /// A basic block.
    Block,
    "block"
);
entity!(
    /// An instruction.
    Inst,
    "inst"
);
entity!(
    /// A variable of the warp's frame: a guest register, a flag, a builtin.
    Slot,
    "s"
);
