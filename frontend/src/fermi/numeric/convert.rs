//! Computes `cvt` in all combinations of types and roundings (PTX manual, `cvt`). An integer result that does not fit is clamped.
//! A NaN becomes the integer 0, except that it becomes an integer with only the top bit set if f64, s64 or u64 takes part.

use std::ops::Deref;

use super::{INFINITY, NAN, NAN64, SIGN};
pub use crate::simt::{Form, Kind};
use crate::soft::{Format, Number, Real, Rounding, shift_right};

/// The one NaN of f16.
pub const NAN16: u16 = 0x7fff;

/// The one NaN of a float type.
fn nan(kind: Kind) -> u64 {
    match kind {
        Kind::F16 => NAN16.into(),
        Kind::F32 => NAN.into(),
        _ => NAN64,
    }
}

/// One form of `cvt`. Integers always clamp where a value does not fit and `saturate` is set, else they wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convert {
    /// What Tesla has as well.
    pub form: Form,
    /// f32 denormals become zeros.
    pub ftz: bool,
}

impl Deref for Convert {
    type Target = Form;

    fn deref(&self) -> &Form {
        &self.form
    }
}

impl Convert {
    /// As one number, the first argument of pure functions.
    pub fn encode(&self) -> u32 {
        self.form.encode() | u32::from(self.ftz) << Form::BITS
    }

    /// The form of a number.
    pub fn decode(code: u32) -> Convert {
        Convert { form: Form::decode(code), ftz: code >> Form::BITS & 1 != 0 }
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
        let number = format.number(self.modified(&format, self.flush(bits, self.from)));
        let Some(to) = self.to.format() else {
            return match number {
                Number::Nan if self.from.bits() == 64 || self.to.bits() == 64 => {
                    self.integer(1 << (self.to.bits() - 1), false)
                }
                number => self.integer(whole(number, self.rounding), true),
            };
        };
        let integral = |real: Real| match real.exponent {
            // Whatever is that large is integral.
            0.. => real,
            below => {
                let magnitude = shift_right(real.magnitude, -below, self.rounding, real.negative);
                Real { magnitude, exponent: 0, ..real }
            }
        };
        let number = if self.integral { number.map(integral) } else { number };
        self.saturated(self.flush(number.round(&to, self.rounding, nan(self.to)), self.to))
    }

    /// To 0 to 1; a NaN becomes 0.
    fn saturated(&self, bits: u64) -> u64 {
        let Some(format) = self.to.format().filter(|_| self.saturate) else { return bits };
        let one = (format.bias as u64) << format.fraction;
        if format.is_nan(bits) || bits & format.sign_bit() != 0 { 0 } else { bits.min(one) }
    }
}

/// The number as an integer, 0 for a NaN; what is far too large is the largest.
fn whole(number: Number, rounding: Rounding) -> i128 {
    let (negative, magnitude) = match number {
        Number::Nan => return 0,
        Number::Infinite { negative } => (negative, i128::MAX),
        Number::Finite(real) => {
            let top = 128 - real.magnitude.leading_zeros() as i32 + real.exponent;
            let magnitude = if real.magnitude != 0 && top > 100 {
                i128::MAX
            } else {
                shift_right(real.magnitude, -real.exponent, rounding, real.negative) as i128
            };
            (real.negative, magnitude)
        }
    };
    if negative { -magnitude } else { magnitude }
}
