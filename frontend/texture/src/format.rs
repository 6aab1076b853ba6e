//! [`Format`]: the bits of an element, and the components that a shader sees.

use crate::Texel;

/// How the bits of a component make a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Number {
    /// Unsigned, 0 to 1.
    Unorm,
    /// Signed, -1 to 1.
    Snorm,
    /// Signed, -1 to 1, without a zero: `(2s + 1) / (2^n - 1)`.
    SnormNoZero,
    /// Unsigned integer as a float.
    Uscaled,
    /// Signed integer as a float.
    Sscaled,
    /// Unsigned integer.
    Uint,
    /// Signed integer.
    Sint,
    /// A float of 32, 16, 11 or 10 bits.
    Float,
    /// Unsigned, 0 to 1, with sRGB's curve.
    Srgb,
}

/// Where a component's bits are in an element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    /// Lowest bit.
    pub bit: u8,
    /// Number of bits; 0: there is no such component.
    pub bits: u8,
    /// What the bits are.
    pub number: Number,
}

/// How an element holds its texels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Packing {
    /// One texel; each component has bits of its own.
    Fields([Field; 4]),
    /// One texel of 32 bits: three mantissas of 9 bits and an exponent of 5.
    SharedExponent,
    /// 4 x 4 texels of block compression 1 to 5, 7; `signed` of 4, 5; `srgb` of 1, 2, 3, 7.
    Bc {
        /// 1, 2, 3, 4, 5 or 7.
        kind: u8,
        /// Components are signed.
        signed: bool,
        /// Red, green and blue have sRGB's curve.
        srgb: bool,
    },
    /// 4 x 4 texels of block compression 6 (halves).
    Bc6 {
        /// Halves have signs.
        signed: bool,
    },
    /// Two texels side by side in 32 bits that share red and blue; bytes from the lowest: X is red, green of the left texel, blue,
    /// green of the right (`green_first`: green, red, green, blue).
    Pairs {
        /// Green is in the even bytes.
        green_first: bool,
    },
}

/// A texel format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// Bytes of an element, 1, 2, 4, 8, 12 or 16.
    pub bytes: u8,
    /// How it holds texels.
    pub packing: Packing,
}

impl Format {
    /// Texels of an element along x and y: 1 and 1, or those of a block.
    pub fn block(&self) -> (u32, u32) {
        match self.packing {
            Packing::Fields(_) | Packing::SharedExponent => (1, 1),
            Packing::Bc { .. } | Packing::Bc6 { .. } => (4, 4),
            Packing::Pairs { .. } => (2, 1),
        }
    }

    /// The components of one texel of an element; `x` and `y` are its place in the block. Components that the format does not have
    /// are 0; the fourth is then 1 (1.0, or integer 1 where all others are integers).
    pub fn decode(&self, element: &[u8; 16], x: u32, y: u32) -> Texel {
        let _ = (x, y);
        let Packing::Fields(fields) = self.packing else { return [0; 4] };
        let bits = u128::from_le_bytes(*element);
        let mut texel = [0, 0, 0, if self.is_integer() { 1 } else { 1f32.to_bits() }];
        for (out, field) in texel.iter_mut().zip(fields).filter(|(_, field)| field.bits > 0) {
            let max = (1u64 << field.bits) - 1;
            let value = (bits >> field.bit) as u64 & max;
            *out = match field.number {
                Number::Unorm | Number::Srgb => (value as f64 / max as f64) as f32,
                _ => f32::from_bits(value as u32),
            }
            .to_bits();
        }
        texel
    }

    /// The element of a texel with these components; `None` if the format cannot be stored (compressed ones, sRGB).
    pub fn encode(&self, texel: Texel) -> Option<[u8; 16]> {
        let Packing::Fields(fields) = self.packing else { return None };
        let mut bits = 0u128;
        for (component, field) in texel.into_iter().zip(fields).filter(|(_, field)| field.bits > 0) {
            let max = (1u64 << field.bits) - 1;
            let value = match field.number {
                Number::Unorm => {
                    (f64::from(f32::from_bits(component).clamp(0.0, 1.0)) * max as f64).round() as u64
                }
                Number::Srgb => return None,
                _ => u64::from(component) & max,
            };
            bits |= u128::from(value) << field.bit;
        }
        Some(bits.to_le_bytes())
    }

    /// Whether its components are integers, which cannot be filtered.
    pub fn is_integer(&self) -> bool {
        matches!(self.packing, Packing::Fields(fields)
            if fields.iter().all(|field| field.bits == 0 || matches!(field.number, Number::Uint | Number::Sint)))
    }
}
