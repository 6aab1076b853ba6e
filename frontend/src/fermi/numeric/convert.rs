//! `cvt` in all combinations (PTX manual, `cvt`): a NaN becomes the integer 0, what does not fit is clamped.

use super::{INFINITY, NAN, NAN64, SIGN};
use crate::soft::{F16, F32, F64, Format, Real, Rounding, shift_right};

/// The one NaN of f16.
pub const NAN16: u16 = 0x7fff;

/// A source or destination type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    fn format(self) -> Option<Format> {
        match self {
            Kind::F16 => Some(F16),
            Kind::F32 => Some(F32),
            Kind::F64 => Some(F64),
            _ => None,
        }
    }

    fn nan(self) -> u64 {
        match self {
            Kind::F16 => NAN16.into(),
            Kind::F32 => NAN.into(),
            _ => NAN64,
        }
    }
}

/// One form of `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convert {
    /// Destination.
    pub to: Kind,
    /// Source; its bits are the low bits of what is converted.
    pub from: Kind,
    /// Direction of the narrowing or of the rounding to an integer.
    pub rounding: Rounding,
    /// Between floats: to an integral value.
    pub integral: bool,
    /// Of the source, before `negate`.
    pub absolute: bool,
    /// Of the source.
    pub negate: bool,
    /// A float result to 0 to 1. Integers always clamp where a value does not fit and this is set, else they wrap.
    pub saturate: bool,
    /// f32 denormals become zeros.
    pub ftz: bool,
}

impl Convert {
    /// As one number, the first argument of pure functions.
    pub fn encode(&self) -> u32 {
        self.to as u32
            | (self.from as u32) << 4
            | self.rounding.field() << 8
            | u32::from(self.integral) << 10
            | u32::from(self.absolute) << 11
            | u32::from(self.negate) << 12
            | u32::from(self.saturate) << 13
            | u32::from(self.ftz) << 14
    }

    /// The form of a number.
    pub fn decode(code: u32) -> Convert {
        let kind = |n: u32| Kind::ALL[(n & 15).min(10) as usize];
        Convert {
            to: kind(code),
            from: kind(code >> 4),
            rounding: Rounding::from_field(code >> 8),
            integral: code >> 10 & 1 != 0,
            absolute: code >> 11 & 1 != 0,
            negate: code >> 12 & 1 != 0,
            saturate: code >> 13 & 1 != 0,
            ftz: code >> 14 & 1 != 0,
        }
    }

    /// Converts. Narrow integers come out extended to 32 bits by their sign.
    pub fn apply(&self, source: u64) -> u64 {
        let source = source & u64::MAX >> (64 - self.from.bits());
        match self.from.format() {
            Some(format) => self.of_float(source, format),
            None => self.of_int(source),
        }
    }

    fn flush(&self, bits: u64, kind: Kind) -> u64 {
        if self.ftz && kind == Kind::F32 && bits as u32 & INFINITY == 0 {
            bits & u64::from(SIGN)
        } else {
            bits
        }
    }

    fn of_int(&self, source: u64) -> u64 {
        let unused = 64 - self.from.bits();
        let value = if self.from.is_signed() {
            i128::from((source << unused) as i64 >> unused)
        } else {
            i128::from(source)
        };
        let value = if self.absolute { value.abs() } else { value };
        let value = if self.negate { -value } else { value };
        match self.to.format() {
            Some(format) => {
                let real = Real { negative: value < 0, magnitude: value.unsigned_abs(), exponent: 0 };
                self.saturated(format.round(real, self.rounding))
            }
            None => self.integer(value, self.saturate),
        }
    }

    /// An integer of the destination's type in its register.
    fn integer(&self, value: i128, clamp: bool) -> u64 {
        let bits = self.to.bits();
        let value = if !clamp {
            value
        } else if self.to.is_signed() {
            value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            value.clamp(0, (1 << bits) - 1)
        };
        let unused = 64 - bits;
        let narrow = (value as u64) << unused;
        let extended = if self.to.is_signed() { (narrow as i64 >> unused) as u64 } else { narrow >> unused };
        if bits == 64 { extended } else { extended & 0xffff_ffff }
    }

    fn of_float(&self, bits: u64, format: Format) -> u64 {
        let bits = self.flush(bits, self.from);
        if format.is_nan(bits) {
            return if self.to.is_float() { self.saturated(self.to.nan()) } else { 0 };
        }
        let bits = if self.absolute { bits & !format.sign_bit() } else { bits };
        let bits = if self.negate { bits ^ format.sign_bit() } else { bits };
        let negative = bits & format.sign_bit() != 0;
        let Some(to) = self.to.format() else {
            let magnitude =
                if format.is_infinite(bits) { i128::MAX } else { whole(format.unpack(bits), self.rounding) };
            return self.integer(if negative { -magnitude } else { magnitude }, true);
        };
        let result = if format.is_infinite(bits) {
            to.infinity() | if negative { to.sign_bit() } else { 0 }
        } else {
            let real = format.unpack(bits);
            let real = if self.integral {
                // Whatever is that large is integral.
                if real.exponent >= 0 {
                    real
                } else {
                    let magnitude = shift_right(real.magnitude, -real.exponent, self.rounding, negative);
                    Real { magnitude, exponent: 0, ..real }
                }
            } else {
                real
            };
            to.round(real, self.rounding)
        };
        self.saturated(self.flush(result, self.to))
    }

    /// To 0 to 1; a NaN becomes 0.
    fn saturated(&self, bits: u64) -> u64 {
        let Some(format) = self.to.format().filter(|_| self.saturate) else { return bits };
        let one = (format.bias as u64) << format.fraction;
        if format.is_nan(bits) || bits & format.sign_bit() != 0 { 0 } else { bits.min(one) }
    }
}

/// The magnitude as an integer; what is far too large is the largest.
fn whole(real: Real, rounding: Rounding) -> i128 {
    let top = 128 - real.magnitude.leading_zeros() as i32 + real.exponent;
    if real.magnitude != 0 && top > 100 {
        return i128::MAX;
    }
    shift_right(real.magnitude, -real.exponent, rounding, real.negative) as i128
}
