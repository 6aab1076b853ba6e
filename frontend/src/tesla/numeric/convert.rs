//! Computes the `cvt` instruction in all its combinations of types and roundings.

use std::ops::Deref;

use super::soft::{self, F16, F32, F64, Real, shift_right};
use super::{Order, Rounding, f32, f64};
pub use crate::simt::{Form, Kind};

/// One form of `cvt`. For 8-bit integers `to` is the range that the result is clamped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Convert {
    /// What Fermi has as well.
    pub form: Form,
    /// Bits of the register that takes the result: 16, 32 or 64.
    pub width: u32,
}

impl Deref for Convert {
    type Target = Form;

    fn deref(&self) -> &Form {
        &self.form
    }
}

impl Convert {
    /// A plain conversion, to nearest.
    pub fn new(to: Kind, from: Kind) -> Self {
        Convert { form: Form::new(to, from), width: to.bits().max(16) }
    }

    /// Packs the form into an integer, the first argument of the pure functions.
    pub fn encode(&self) -> u32 {
        self.form.encode() | (self.width / 16) << Form::BITS
    }

    /// Inverse of [`Convert::encode`]; other integers give some form.
    pub fn decode(code: u32) -> Self {
        Convert { form: Form::decode(code), width: (code >> Form::BITS & 7) * 16 }
    }

    /// Whether one of the double-width forms of G200 is meant, which have rules of their own.
    fn is_wide(&self) -> bool {
        self.to.bits() == 64 || self.from.bits() == 64
    }

    /// Converts. The result stands in the low bits, zero-extended.
    pub fn apply(&self, source: u64) -> u64 {
        match (self.from.is_float(), self.to.is_float()) {
            (false, false) => self.int_to_int(source),
            (false, true) => self.int_to_float(source),
            (true, false) => self.float_to_int(source).0,
            (true, true) => self.float_to_float(source),
        }
    }

    /// Whether the conversion raises O: only the double-width float to integer forms do.
    pub fn overflows(&self, source: u64) -> bool {
        self.from.is_float() && !self.to.is_float() && self.float_to_int(source).1
    }

    /// The `$c` value that belongs to a result.
    pub fn condition(&self, source: u64) -> u32 {
        let result = self.apply(source);
        match self.to {
            Kind::F16 => f32::condition(widen_f16(result as u16)),
            // Denormals, which only the narrowing from f64 produces, count as what they are.
            Kind::F32 if self.is_wide() => condition_f32_denormal(result as u32),
            Kind::F32 => f32::condition(result as u32),
            Kind::F64 => f64::condition(result),
            _ => {
                let negative = result >> (self.width - 1) & 1;
                u32::from(result == 0) | (negative as u32) << 1 | u32::from(self.overflows(source)) << 3
            }
        }
    }

    /// Sign and magnitude of an integer source, after abs and neg.
    fn integer(&self, source: u64) -> (bool, u64, bool) {
        let unused = 64 - self.from.bits();
        let (was_negative, magnitude) = if self.from.is_signed() {
            let value = (source << unused) as i64 >> unused;
            (value < 0, value.unsigned_abs())
        } else {
            (false, source << unused >> unused)
        };
        ((was_negative && !self.absolute) ^ self.negate, magnitude, was_negative)
    }

    fn int_to_int(&self, source: u64) -> u64 {
        let (negative, magnitude, _) = self.integer(source);
        let all = u64::MAX >> (64 - self.width);
        let range = self.to.bits();
        if !self.to.is_signed() {
            return if negative { 0 } else { magnitude.min(u64::MAX >> (64 - range)) };
        }
        let limit = 1 << (range - 1);
        if negative { magnitude.min(limit).wrapping_neg() & all } else { magnitude.min(limit - 1) }
    }

    fn int_to_float(&self, source: u64) -> u64 {
        let (negative, magnitude, was_negative) = self.integer(source);
        let real = Real { negative, magnitude: magnitude.into(), exponent: 0 };
        // The double-width unsigned forms ignore the sign when they round.
        let blind = self.is_wide() && !self.from.is_signed();
        let round = |format: &soft::Format, real: Real| {
            let sign = if negative { format.sign_bit() } else { 0 };
            let rounded = Real { negative: negative && !blind, ..real };
            format.round(rounded, self.rounding) & !format.sign_bit() | sign
        };
        match self.to {
            Kind::F64 => round(&F64, real),
            Kind::F16 => {
                let magnitude = self.spoil_for_f16(magnitude as u32, negative, was_negative);
                let single = round(&F32, Real { magnitude: magnitude.into(), ..real }) as u32;
                let single = if self.saturate { f32::saturate(single) } else { single };
                u64::from(narrow_f16(single, self.rounding, false))
            }
            _ => {
                let single = round(&F32, real) as u32;
                // The double-width forms ignore `sat`.
                let saturate = self.saturate && !self.is_wide();
                u64::from(if saturate { f32::saturate(single) } else { single })
            }
        }
    }

    /// What the hardware's integer to f16 path does to the magnitude before it converts: numbers
    /// that would round up over all their high bits vanish, and up to six high bits are lost,
    /// depending on the low half of the source.
    fn spoil_for_f16(&self, magnitude: u32, negative: bool, was_negative: bool) -> u32 {
        let outward = match self.rounding {
            Rounding::Nearest => true,
            Rounding::Up => !negative,
            Rounding::Down => negative,
            Rounding::Zero => false,
        };
        let magnitude = match magnitude >> 5 & 0x01ff_ffff {
            0x01ff_ffff if outward => 0,
            _ => magnitude,
        };
        let low = magnitude.wrapping_sub(was_negative.into()) as u16;
        let lost = 2 + low.leading_zeros().min(5);
        magnitude << lost >> lost
    }

    /// The result and whether it overflowed.
    fn float_to_int(&self, source: u64) -> (u64, bool) {
        let wide = self.is_wide();
        let (format, bits) = match self.from {
            Kind::F16 => (F32, u64::from(widen_f16(source as u16))),
            Kind::F32 => (F32, source & 0xffff_ffff),
            _ => (F64, source),
        };
        let bits = self.modified(&format, bits);
        if format.is_nan(bits) {
            return if wide { (1 << (self.width - 1), true) } else { (0, false) };
        }
        let negative = bits & format.sign_bit() != 0;
        let magnitude = if format.is_infinite(bits) {
            u64::MAX
        } else {
            let bits = if wide { bits } else { u64::from(f32::flush(bits as u32)) };
            let real = format.unpack(bits);
            // Everything from 2^64 up is clamped; shifting it out would not fit.
            if real.magnitude != 0 && 128 - real.magnitude.leading_zeros() as i32 + real.exponent > 64 {
                u64::MAX
            } else {
                shift_right(real.magnitude, -real.exponent, self.rounding, negative) as u64
            }
        };
        let range = self.to.bits();
        let largest = u64::MAX >> (64 - range);
        // The model of the chip raises O for this value even where it fits.
        let odd = magnitude == 0xffff_ffff;
        let (result, clamped) = if self.to.is_signed() {
            let limit = largest / 2 + 1;
            if negative {
                (magnitude.min(limit).wrapping_neg() & largest, magnitude > limit)
            } else {
                (magnitude.min(limit - 1), magnitude >= limit)
            }
        } else if negative {
            (0, magnitude != 0)
        } else {
            (magnitude.min(largest), magnitude > largest)
        };
        (result, wide && (clamped || odd))
    }

    fn float_to_float(&self, source: u64) -> u64 {
        if self.is_wide() {
            return self.float_to_float_wide(source);
        }
        let single = if self.from == Kind::F16 { widen_f16(source as u16) } else { source as u32 };
        let single = self.modified(&F32, single.into()) as u32;
        let single = if f32::is_nan(single) { f32::NAN } else { f32::flush(single) };
        let single = if self.saturate { f32::saturate(single) } else { single };
        let single = if self.integral { f32::round_integral(single, self.rounding) } else { single };
        if self.to == Kind::F16 {
            u64::from(narrow_f16(single, self.rounding, self.integral))
        } else {
            u64::from(single)
        }
    }

    fn float_to_float_wide(&self, source: u64) -> u64 {
        let double = if self.from == Kind::F64 { source } else { widen_f32(source as u32) };
        let double = f64::modify(double, self.absolute, self.negate);
        if self.to == Kind::F32 {
            return u64::from(narrow_f64(double, self.rounding));
        }
        let integral = self.integral && self.from == Kind::F64;
        if integral { f64::round_integral(double, self.rounding) } else { double }
    }
}

fn condition_f32_denormal(x: u32) -> u32 {
    if x & 0x7fff_ffff == 0 || x & f32::INFINITY != 0 {
        return f32::condition(x);
    }
    (if x & f32::SIGN != 0 { Order::Less } else { Order::Greater }) as u32
}

/// f16 to f32: exact; a NaN becomes the chip's.
pub fn widen_f16(x: u16) -> u32 {
    let x = u64::from(x);
    if F16.is_nan(x) {
        f32::NAN
    } else if F16.is_infinite(x) {
        (x as u32 & 0x8000) << 16 | f32::INFINITY
    } else {
        F32.round(F16.unpack(x), Rounding::Zero) as u32
    }
}

/// f32 to f16: denormal sources are zero, and so is all below 2^-33, whatever the direction.
/// `truncate` cuts the fraction (the sources are integral then); overflow still follows `rounding`.
pub fn narrow_f16(x: u32, rounding: Rounding, truncate: bool) -> u16 {
    if f32::is_nan(x) {
        return 0x7fff;
    }
    let sign = (x >> 16) as u16 & 0x8000;
    let exponent = x >> 23 & 0xff;
    if f32::is_infinite(x) {
        return sign | 0x7c00;
    }
    if exponent <= 0x5d {
        return sign;
    }
    let overflows = exponent >= 127 + 16;
    let rounding = if truncate && !overflows { Rounding::Zero } else { rounding };
    F16.round(F32.unpack(x.into()), rounding) as u16
}

/// f32 to f64: exact; denormals are kept, a NaN is made quiet and keeps its payload.
pub fn widen_f32(x: u32) -> u64 {
    let bits = u64::from(x);
    let sign = (bits & 0x8000_0000) << 32;
    if f32::is_nan(x) {
        sign | f64::INFINITY | f64::QUIET | (bits & 0x007f_ffff) << 29
    } else if f32::is_infinite(x) {
        sign | f64::INFINITY
    } else {
        F64.round(F32.unpack(bits), Rounding::Zero)
    }
}

/// f64 to f32: denormals are kept, a NaN is made quiet and keeps the top of its payload.
pub fn narrow_f64(x: u64, rounding: Rounding) -> u32 {
    let sign = (x >> 32) as u32 & f32::SIGN;
    if f64::is_nan(x) {
        sign | f32::INFINITY | 1 << 22 | (x >> 29) as u32 & 0x007f_ffff
    } else if F64.is_infinite(x) {
        sign | f32::INFINITY
    } else {
        F32.round(F64.unpack(x), rounding) as u32
    }
}
