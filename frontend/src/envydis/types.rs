//! Data types and sub-operations that Tesla and Fermi name alike in their text.

use std::fmt;

macro_rules! types {
    ($($(#[$doc:meta])* $variant:ident $name:literal $bits:literal,)*) => {
        /// Operand and operation types, named as in the listing.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Type {
            $($(#[$doc])* $variant,)*
        }

        impl Type {
            /// The name in listings.
            pub fn name(self) -> &'static str {
                match self {
                    $(Type::$variant => $name,)*
                }
            }

            /// The type of that name.
            pub fn parse(name: &str) -> Option<Type> {
                match name {
                    $($name => Some(Type::$variant),)*
                    _ => None,
                }
            }

            /// Width of a value in bits (`u24` and `s24` look at 24 bits of a register).
            pub fn bits(self) -> u32 {
                match self {
                    $(Type::$variant => $bits,)*
                }
            }
        }
    };
}

types! {
    /// Unsigned byte.
    U8 "u8" 8,
    /// Signed byte.
    S8 "s8" 8,
    /// Byte of no particular sign (stores).
    B8 "b8" 8,
    /// Unsigned 16-bit.
    U16 "u16" 16,
    /// Signed 16-bit.
    S16 "s16" 16,
    /// 16 bits.
    B16 "b16" 16,
    /// The low 24 bits of a register, unsigned.
    U24 "u24" 24,
    /// The low 24 bits of a register, signed.
    S24 "s24" 24,
    /// Unsigned 32-bit.
    U32 "u32" 32,
    /// Signed 32-bit.
    S32 "s32" 32,
    /// 32 bits.
    B32 "b32" 32,
    /// Unsigned 64-bit.
    U64 "u64" 64,
    /// Signed 64-bit.
    S64 "s64" 64,
    /// 64 bits.
    B64 "b64" 64,
    /// 96 bits.
    B96 "b96" 96,
    /// 128 bits.
    B128 "b128" 128,
    /// Half float.
    F16 "f16" 16,
    /// Single float.
    F32 "f32" 32,
    /// Double float.
    F64 "f64" 64,
}

impl Type {
    /// Size in bytes; `u24` and `s24` occupy a register.
    pub fn bytes(self) -> u32 {
        match self {
            Type::B96 => 12,
            _ => self.bits().next_power_of_two() / 8,
        }
    }

    /// Signed integers.
    pub fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S24 | Type::S32 | Type::S64)
    }

    /// Floating point.
    pub fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::F32 | Type::F64)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Bitwise operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LogicOp {
    /// a & b
    #[default]
    And,
    /// a | b
    Or,
    /// a ^ b
    Xor,
    /// b
    Mov2,
}

/// Atomic operations on global memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AtomOp {
    /// old + value
    #[default]
    Add,
    /// value
    Exch,
    /// Compare with the second operand, then the third one.
    Cas,
    /// Count up to a limit.
    Inc,
    /// Count down from a limit.
    Dec,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
    /// old & value
    And,
    /// old | value
    Or,
    /// old ^ value
    Xor,
}

/// What `quadop` does in one lane of the quad.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum QuadOp {
    /// other + own
    #[default]
    Add,
    /// own - other
    Subr,
    /// other - own
    Sub,
    /// own
    Mov2,
}

/// Where `quadop` takes its first operand from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum QuadLane {
    /// That lane of the quad.
    Lane(u8),
    /// The horizontal neighbour.
    Dx,
    /// The vertical neighbour.
    Dy,
}

impl Default for QuadLane {
    fn default() -> Self {
        QuadLane::Lane(0)
    }
}
