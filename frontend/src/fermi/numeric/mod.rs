//! Numerics that IR operations do not say: directed rounding, conversions, video instructions, special functions.
//!
//! All functions work on the bits of one lane. No model of Fermi that was held against the hardware is known (docs/hardware/fermi.md):
//! sums, products and fused multiply-adds are IEEE's, with the flags of the instruction; every NaN is [`NAN`].

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

/// Whether a factor makes a product zero with `fmz`.
fn is_zero(x: u32) -> bool {
    x & !SIGN == 0
}

/// Sum.
pub fn add(a: u32, b: u32, flags: Flags) -> u32 {
    let format = flags.format();
    let sum = format.number(a.into()).plus(format.number(b.into()), flags.rounding);
    sum.round(&format, flags.rounding, NAN.into()) as u32
}

/// Product, scaled.
pub fn mul(a: u32, b: u32, flags: Flags) -> u32 {
    if flags.fmz && (is_zero(flags.flush(a)) || is_zero(flags.flush(b))) {
        return 0;
    }
    let format = flags.format();
    let product = format.number(a.into()).times(format.number(b.into()));
    let scaled = product.map(|real| Real { exponent: real.exponent + flags.scale, ..real });
    scaled.round(&format, flags.rounding, NAN.into()) as u32
}

/// Fused multiply-add.
pub fn fma(a: u32, b: u32, c: u32, flags: Flags) -> u32 {
    if flags.fmz && (is_zero(flags.flush(a)) || is_zero(flags.flush(b))) {
        return add(0, c, flags);
    }
    let format = flags.format();
    let [a, b, c] = [a, b, c].map(|x| format.number(x.into()));
    a.times(b).plus(c, flags.rounding).round(&format, flags.rounding, NAN.into()) as u32
}

/// f64 sum.
pub fn add64(a: u64, b: u64, rounding: Rounding) -> u64 {
    F64.number(a).plus(F64.number(b), rounding).round(&F64, rounding, NAN64)
}

/// f64 product.
pub fn mul64(a: u64, b: u64, rounding: Rounding) -> u64 {
    F64.number(a).times(F64.number(b)).round(&F64, rounding, NAN64)
}

/// f64 fused multiply-add.
pub fn fma64(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    let product = F64.number(a).times(F64.number(b));
    product.plus(F64.number(c), rounding).round(&F64, rounding, NAN64)
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
