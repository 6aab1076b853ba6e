//! What Tesla's and Fermi's `cvt` have in common: source and destination types, and how the variant is encoded in the first
//! argument of a pure function.

use crate::envydis::Type;
use crate::soft::{F16, F32, F64, Format, Rounding};

/// A source or destination type of `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Kind {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::U8,
        Kind::S8,
        Kind::U16,
        Kind::S16,
        Kind::U32,
        Kind::S32,
        Kind::U64,
        Kind::S64,
        Kind::F16,
        Kind::F32,
        Kind::F64,
    ];

    /// What a type of the listing converts as.
    pub fn of(ty: Type) -> Option<Kind> {
        Some(match ty {
            Type::U8 | Type::B8 => Kind::U8,
            Type::S8 => Kind::S8,
            Type::U16 | Type::B16 => Kind::U16,
            Type::S16 => Kind::S16,
            Type::U32 | Type::B32 | Type::U24 => Kind::U32,
            Type::S32 | Type::S24 => Kind::S32,
            Type::U64 | Type::B64 => Kind::U64,
            Type::S64 => Kind::S64,
            Type::F16 => Kind::F16,
            Type::F32 => Kind::F32,
            Type::F64 => Kind::F64,
            Type::B96 | Type::B128 => return None,
        })
    }

    /// Bits of a value.
    pub fn bits(self) -> u32 {
        match self {
            Kind::U8 | Kind::S8 => 8,
            Kind::U16 | Kind::S16 | Kind::F16 => 16,
            Kind::U32 | Kind::S32 | Kind::F32 => 32,
            Kind::U64 | Kind::S64 | Kind::F64 => 64,
        }
    }

    /// Signed integers.
    pub fn is_signed(self) -> bool {
        matches!(self, Kind::S8 | Kind::S16 | Kind::S32 | Kind::S64)
    }

    /// Floats.
    pub fn is_float(self) -> bool {
        self.format().is_some()
    }

    /// The format of a float.
    pub fn format(self) -> Option<Format> {
        match self {
            Kind::F16 => Some(F16),
            Kind::F32 => Some(F32),
            Kind::F64 => Some(F64),
            _ => None,
        }
    }
}

/// One form of `cvt`, but for what a family has of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Destination.
    pub to: Kind,
    /// Source; its bits are the low bits of what is converted.
    pub from: Kind,
    /// Direction of the narrowing or of the rounding to an integer.
    pub rounding: Rounding,
    /// Between floats: to an integral value.
    pub integral: bool,
    /// The absolute value of the source.
    pub absolute: bool,
    /// The opposite of the source, after `absolute`.
    pub negate: bool,
    /// The modifier `sat`: a float result goes to 0 to 1.
    pub saturate: bool,
}

impl Form {
    /// A plain conversion, to nearest.
    pub fn new(to: Kind, from: Kind) -> Form {
        Form {
            to,
            from,
            rounding: Rounding::Nearest,
            integral: false,
            absolute: false,
            negate: false,
            saturate: false,
        }
    }

    /// As a number of [`Form::BITS`] bits.
    pub fn encode(&self) -> u32 {
        self.to as u32
            | (self.from as u32) << 4
            | self.rounding.field() << 8
            | u32::from(self.integral) << 10
            | u32::from(self.absolute) << 11
            | u32::from(self.negate) << 12
            | u32::from(self.saturate) << 13
    }

    /// Bits of an encoded form; what a family adds stands above them.
    pub const BITS: u32 = 14;

    /// The form of a number; those that stand for none give some form.
    pub fn decode(code: u32) -> Form {
        let kind = |n: u32| Kind::ALL[(n & 15).min(10) as usize];
        Form {
            to: kind(code),
            from: kind(code >> 4),
            rounding: Rounding::from_field(code >> 8),
            integral: code >> 10 & 1 != 0,
            absolute: code >> 11 & 1 != 0,
            negate: code >> 12 & 1 != 0,
            saturate: code >> 13 & 1 != 0,
        }
    }

    /// A float source after `absolute` and `negate`.
    pub fn modified(&self, format: &Format, bits: u64) -> u64 {
        let bits = if self.absolute { bits & !format.sign_bit() } else { bits };
        if self.negate { bits ^ format.sign_bit() } else { bits }
    }
}
