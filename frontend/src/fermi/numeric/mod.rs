//! Numerics that IR operations do not say: directed rounding, conversions, video instructions, special functions.
//!
//! All functions work on the bits of one lane. No model of Fermi that was held against the hardware exists in the facts: sums,
//! products and fused multiply-adds are IEEE's, with the flags of the instruction; every NaN is [`NAN`].

pub mod convert;
pub mod pure;
mod special;
pub mod video;

pub use special::{cos, ex2, lg2, quick, rcp64h, rsqrt64h, sin};

use crate::soft::{F32, F32_FLUSH, F64, Format, Real, Rounding};

/// The one NaN that f32 operations produce.
pub const NAN: u32 = 0x7fff_ffff;
/// The one NaN that f64 operations produce.
pub const NAN64: u64 = 0xfff8_0000_0000_0000;
/// Sign bit of an f32.
pub const SIGN: u32 = 0x8000_0000;
/// Plus infinity.
pub const INFINITY: u32 = 0x7f80_0000;

/// What an f32 instruction does beside its operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags {
    /// Direction of rounding.
    pub rounding: Rounding,
    /// Denormals count as zeros and come out as such.
    pub ftz: bool,
    /// Zero times anything is zero.
    pub fmz: bool,
    /// The product is multiplied by two to this power before it is rounded.
    pub scale: i32,
}

impl Flags {
    /// As one number, the first argument of pure functions.
    pub fn encode(self) -> u32 {
        self.rounding.field()
            | u32::from(self.ftz) << 2
            | u32::from(self.fmz) << 3
            | ((self.scale + 8) as u32 & 15) << 4
    }

    /// The flags of a number.
    pub fn decode(code: u32) -> Flags {
        Flags {
            rounding: Rounding::from_field(code),
            ftz: code & 4 != 0,
            fmz: code & 8 != 0,
            scale: (code >> 4 & 15) as i32 - 8,
        }
    }

    fn format(self) -> Format {
        if self.ftz { F32_FLUSH } else { F32 }
    }

    fn flush(self, x: u32) -> u32 {
        if self.ftz && x & INFINITY == 0 { x & SIGN } else { x }
    }
}

fn is_nan(x: u32) -> bool {
    x & !SIGN > INFINITY
}

fn is_infinite(x: u32) -> bool {
    x & !SIGN == INFINITY
}

fn is_zero(x: u32) -> bool {
    x & !SIGN == 0
}

/// Sum.
pub fn add(a: u32, b: u32, flags: Flags) -> u32 {
    if is_nan(a) || is_nan(b) {
        return NAN;
    }
    match (is_infinite(a), is_infinite(b)) {
        (true, true) if a != b => return NAN,
        (true, _) => return a,
        (_, true) => return b,
        _ => {}
    }
    let format = flags.format();
    let sum = format.unpack(a.into()).plus(format.unpack(b.into()), flags.rounding == Rounding::Down);
    format.round(sum, flags.rounding) as u32
}

/// Product, scaled.
pub fn mul(a: u32, b: u32, flags: Flags) -> u32 {
    let (a, b) = (flags.flush(a), flags.flush(b));
    if flags.fmz && (is_zero(a) || is_zero(b)) {
        return 0;
    }
    if is_nan(a) || is_nan(b) {
        return NAN;
    }
    let sign = (a ^ b) & SIGN;
    if is_infinite(a) || is_infinite(b) {
        return if is_zero(a) || is_zero(b) { NAN } else { sign | INFINITY };
    }
    let format = flags.format();
    let product = format.unpack(a.into()).times(format.unpack(b.into()));
    format.round(Real { exponent: product.exponent + flags.scale, ..product }, flags.rounding) as u32
}

/// Fused multiply-add.
pub fn fma(a: u32, b: u32, c: u32, flags: Flags) -> u32 {
    let (a, b, c) = (flags.flush(a), flags.flush(b), flags.flush(c));
    if flags.fmz && (is_zero(a) || is_zero(b)) {
        return add(0, c, flags);
    }
    if is_nan(a) || is_nan(b) || is_nan(c) {
        return NAN;
    }
    let sign = (a ^ b) & SIGN;
    if is_infinite(a) || is_infinite(b) {
        let invalid = is_zero(a) || is_zero(b) || is_infinite(c) && c & SIGN != sign;
        return if invalid { NAN } else { sign | INFINITY };
    }
    if is_infinite(c) {
        return c;
    }
    let format = flags.format();
    let product = format.unpack(a.into()).times(format.unpack(b.into()));
    let sum = product.plus(format.unpack(c.into()), flags.rounding == Rounding::Down);
    format.round(sum, flags.rounding) as u32
}

fn is_nan64(x: u64) -> bool {
    F64.is_nan(x)
}

/// f64 sum.
pub fn add64(a: u64, b: u64, rounding: Rounding) -> u64 {
    if is_nan64(a) || is_nan64(b) {
        return NAN64;
    }
    match (F64.is_infinite(a), F64.is_infinite(b)) {
        (true, true) if a != b => return NAN64,
        (true, _) => return a,
        (_, true) => return b,
        _ => {}
    }
    F64.round(F64.unpack(a).plus(F64.unpack(b), rounding == Rounding::Down), rounding)
}

/// f64 product.
pub fn mul64(a: u64, b: u64, rounding: Rounding) -> u64 {
    if is_nan64(a) || is_nan64(b) {
        return NAN64;
    }
    let sign = (a ^ b) & F64.sign_bit();
    if F64.is_infinite(a) || F64.is_infinite(b) {
        let zero = a << 1 == 0 || b << 1 == 0;
        return if zero { NAN64 } else { sign | F64.infinity() };
    }
    F64.round(F64.unpack(a).times(F64.unpack(b)), rounding)
}

/// f64 fused multiply-add.
pub fn fma64(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    if is_nan64(a) || is_nan64(b) || is_nan64(c) {
        return NAN64;
    }
    let sign = (a ^ b) & F64.sign_bit();
    if F64.is_infinite(a) || F64.is_infinite(b) {
        let zero = a << 1 == 0 || b << 1 == 0;
        let invalid = zero || F64.is_infinite(c) && c & F64.sign_bit() != sign;
        return if invalid { NAN64 } else { sign | F64.infinity() };
    }
    if F64.is_infinite(c) {
        return c;
    }
    let product = F64.unpack(a).times(F64.unpack(b));
    F64.round(product.plus(F64.unpack(c), rounding == Rounding::Down), rounding)
}

/// The four byte selectors of `prmt` in a mode, by the number of [`PrmtMode`](crate::fermi::PrmtMode), lowest byte first. Bytes 0-3
/// are the first operand's, 4-7 the third's; 8 is added for the sign of a byte (PTX manual, `prmt`).
pub fn selectors(mode: u32, selector: u32) -> [u8; 4] {
    let n = (selector & 3) as u8;
    std::array::from_fn(|to| {
        let i = to as u8;
        match mode {
            // Four bytes up from n, down from n.
            1 => n + i,
            2 => n.wrapping_sub(i) & 7,
            // One byte everywhere.
            3 => n,
            // Not below n, not above n.
            4 => i.max(n),
            5 => i.min(n),
            // One half twice.
            6 => 2 * (n & 1) + (i & 1),
            _ => (selector >> (4 * to)) as u8 & 15,
        }
    })
}

/// `prmt`
pub fn permute(mode: u32, a: u32, selector: u32, c: u32) -> u32 {
    let bytes = u64::from(c) << 32 | u64::from(a);
    let picked = selectors(mode, selector).map(|nibble| {
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        if nibble & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte }
    });
    u32::from_le_bytes(picked)
}

#[cfg(test)]
mod tests;
