//! The types of values and slots: a scalar type, and whether the lanes hold one value each (varying) or all the same one
//! (uniform).

use std::fmt;

/// What one lane's element is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    /// A truth value; varying, this is a *mask*.
    I1,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl Scalar {
    /// Every scalar type.
    pub const ALL: [Scalar; 5] = [Scalar::I1, Scalar::I32, Scalar::I64, Scalar::F32, Scalar::F64];

    /// Bits of the element (1 for a truth value).
    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            Scalar::I1 => 1,
            Scalar::I32 | Scalar::F32 => 32,
            Scalar::I64 | Scalar::F64 => 64,
        }
    }

    /// Bytes one lane takes in the warp's frame; a truth value is a word, 0 or -1.
    pub fn frame_bytes(self) -> usize {
        match self {
            Scalar::I64 | Scalar::F64 => 8,
            _ => 4,
        }
    }

    /// Whether this is a float type.
    #[inline]
    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }

    /// Whether this is I32 or I64.
    #[inline]
    pub fn is_int(self) -> bool {
        matches!(self, Scalar::I32 | Scalar::I64)
    }

    /// The bits that an element of this type can have set.
    pub fn bit_mask(self) -> u64 {
        match self {
            Scalar::I1 => 1,
            Scalar::I32 | Scalar::F32 => 0xffff_ffff,
            Scalar::I64 | Scalar::F64 => u64::MAX,
        }
    }

    /// The name in the text format.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::I1 => "i1",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }
}

/// A scalar type, one value a lane (*varying*) or one a warp (*uniform*).
///
/// In the text format a varying type is the scalar's name (`i32`; a varying `i1` is `mask`),
/// a uniform one has the prefix `u` (`ui32`, `ui1`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    /// The element.
    pub scalar: Scalar,
    /// One value for all lanes.
    pub uniform: bool,
}

impl Type {
    /// Varying truth value.
    pub const MASK: Type = Type::varying(Scalar::I1);
    /// Varying 32-bit integer.
    pub const I32: Type = Type::varying(Scalar::I32);
    /// Varying 64-bit integer.
    pub const I64: Type = Type::varying(Scalar::I64);
    /// Varying binary32.
    pub const F32: Type = Type::varying(Scalar::F32);
    /// Varying binary64.
    pub const F64: Type = Type::varying(Scalar::F64);

    /// One value a lane.
    #[inline]
    pub const fn varying(scalar: Scalar) -> Type {
        Type { scalar, uniform: false }
    }

    /// One value a warp.
    #[inline]
    pub const fn uniform(scalar: Scalar) -> Type {
        Type { scalar, uniform: true }
    }

    /// The same element with another scalar.
    pub fn with_scalar(self, scalar: Scalar) -> Type {
        Type { scalar, ..self }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.uniform, self.scalar) {
            (false, Scalar::I1) => f.write_str("mask"),
            (false, s) => f.write_str(s.name()),
            (true, s) => write!(f, "u{}", s.name()),
        }
    }
}
