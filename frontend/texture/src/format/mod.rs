//! [`Format`]: the bits of an element, and the components that a shader sees.

mod bc;
mod bc67;
mod bc67_tables;
pub mod bc67_words;
mod codes;
mod convert;
mod fields;
mod srgb;

pub use codes::{gcn, gcn_components, gcn_number, gk104_image, nvidia, nvidia_surface};
pub use convert::SRGB8;
pub use srgb::{SRGB31, SRGB63};

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

impl Number {
    /// Whether components are integers in registers.
    pub fn is_integer(self) -> bool {
        matches!(self, Number::Uint | Number::Sint)
    }
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
    /// One texel of so many bytes with these components: lowest bit, number of bits, what they are. The first is red; up to four count.
    pub const fn fields(bytes: u8, components: &[(u8, u8, Number)]) -> Format {
        let mut fields = [fields::NONE; 4];
        let mut n = 0;
        while n < components.len() && n < 4 {
            let (bit, bits, number) = components[n];
            fields[n] = Field { bit, bits, number };
            n += 1;
        }
        Format { bytes, packing: Packing::Fields(fields) }
    }

    /// Texels of an element along x and y: 1 and 1, or those of a block.
    pub fn block(&self) -> (u32, u32) {
        match self.packing {
            Packing::Fields(_) | Packing::SharedExponent => (1, 1),
            Packing::Bc { .. } | Packing::Bc6 { .. } => (4, 4),
            Packing::Pairs { .. } => (2, 1),
        }
    }

    /// Elements of an image of so many texels along x, y, z.
    pub fn elements(&self, [x, y, z]: [u32; 3]) -> [u32; 3] {
        let (width, height) = self.block();
        [x.div_ceil(width), y.div_ceil(height), z]
    }

    /// The components of one texel of an element; `x` and `y` are its place in the block. Components that the format does not have
    /// are 0; the fourth is then 1: integer 1 where the first component that there is is an integer, else 1.0.
    #[inline]
    pub fn decode(&self, element: &[u8; 16], x: u32, y: u32) -> Texel {
        match &self.packing {
            Packing::Fields(fields) => fields::decode(fields, element),
            _ => self.decode_packed(element, x, y),
        }
    }

    fn decode_packed(&self, element: &[u8; 16], x: u32, y: u32) -> Texel {
        let texel = (y & 3) << 2 | x & 3;
        let word = u32::from_le_bytes([element[0], element[1], element[2], element[3]]);
        let one = convert::one(false);
        match self.packing {
            Packing::Fields(ref fields) => fields::decode(fields, element),
            Packing::SharedExponent => {
                let [red, green, blue] = convert::from_shared_exponent(word);
                [red, green, blue, one]
            }
            Packing::Bc { kind: 7, srgb, .. } => bc67::decode7(element, srgb, texel),
            Packing::Bc { kind, signed, srgb } => bc::decode(element, kind, signed, srgb, texel),
            Packing::Bc6 { signed } => bc67::decode6(element, signed, texel),
            Packing::Pairs { green_first } => {
                let byte = |n: u32| convert::decode(Number::Unorm, 8, word >> (8 * n) & 0xff);
                let (others, green) = if green_first { (1, 0) } else { (0, 1) };
                [byte(others), byte(green + 2 * (x & 1)), byte(others + 2), one]
            }
        }
    }

    /// The element of a texel with these components; `None` if the format cannot be stored (compressed ones, sRGB).
    pub fn encode(&self, texel: Texel) -> Option<[u8; 16]> {
        match &self.packing {
            Packing::Fields(fields) => fields::encode(fields, texel),
            Packing::SharedExponent => {
                let [red, green, blue, _] = texel;
                Some(u128::from(convert::to_shared_exponent([red, green, blue])).to_le_bytes())
            }
            Packing::Bc { .. } | Packing::Bc6 { .. } | Packing::Pairs { .. } => None,
        }
    }

    /// The format without sRGB's curve.
    pub fn without_srgb(self) -> Format {
        let packing = match self.packing {
            Packing::Fields(fields) => Packing::Fields(fields.map(|field| match field.number {
                Number::Srgb => Field { number: Number::Unorm, ..field },
                _ => field,
            })),
            Packing::Bc { kind, signed, .. } => Packing::Bc { kind, signed, srgb: false },
            other => other,
        };
        Format { packing, ..self }
    }

    /// Whether a component goes from 0 to 1.
    pub fn is_unorm(&self, component: usize) -> bool {
        match self.packing {
            Packing::Fields(fields) => matches!(fields[component & 3].number, Number::Unorm | Number::Srgb),
            Packing::Bc { signed, .. } => !signed,
            Packing::Pairs { .. } => true,
            _ => false,
        }
    }

    /// Whether its components are integers, which cannot be filtered. Of components of several kinds the first that there is counts.
    pub fn is_integer(&self) -> bool {
        matches!(&self.packing, Packing::Fields(fields) if fields::is_integer(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(bytes: &[u8]) -> [u8; 16] {
        let mut element = [0; 16];
        element[..bytes.len()].copy_from_slice(bytes);
        element
    }

    #[test]
    fn missing_components() {
        let red = Format::fields(1, &[(0, 8, Number::Unorm)]);
        assert_eq!(red.decode(&element(&[255]), 0, 0), [0x3f80_0000, 0, 0, 0x3f80_0000]);
        let integer = Format::fields(2, &[(0, 8, Number::Sint), (8, 8, Number::Sint)]);
        assert_eq!(integer.decode(&element(&[255, 2]), 0, 0), [u32::MAX, 2, 0, 1]);
        assert!(integer.is_integer() && !red.is_integer());
        // Depth beside stencil: the first counts.
        let mixed = Format::fields(4, &[(0, 24, Number::Unorm), (24, 8, Number::Uint)]);
        assert_eq!(mixed.decode(&element(&[255, 255, 255, 7]), 0, 0), [0x3f80_0000, 7, 0, 0x3f80_0000]);
        let alpha = Format::fields(
            1,
            &[(0, 0, Number::Unorm), (0, 0, Number::Unorm), (0, 0, Number::Unorm), (0, 8, Number::Uint)],
        );
        assert_eq!(alpha.decode(&element(&[9]), 0, 0), [0, 0, 0, 9]);
        assert!(alpha.is_integer());
    }

    #[test]
    fn what_is_stored_comes_back() {
        let rgb10 = gcn(9, 0, false).unwrap();
        for seed in 0..1000u32 {
            let word = seed.wrapping_mul(0x9e37_79b9);
            let bytes = element(&word.to_le_bytes());
            assert_eq!(rgb10.encode(rgb10.decode(&bytes, 0, 0)), Some(bytes));
        }
        let wide = gcn(14, 4, false).unwrap();
        assert_eq!(wide.encode([1, 2, 3, 4]).map(u128::from_le_bytes), Some(1 | 2 << 32 | 3 << 64 | 4 << 96));
        assert_eq!(gcn(10, 9, false).unwrap().encode([0; 4]), None);
        assert_eq!(gcn(35, 0, false).unwrap().encode([0; 4]), None);
    }

    #[test]
    fn pairs_share_red_and_blue() {
        let unorm = |n: u8| (f32::from(n) / 255.0).to_bits();
        let bytes = element(&[10, 20, 30, 40]);
        let pairs = |green_first| Format { bytes: 4, packing: Packing::Pairs { green_first } };
        assert_eq!(pairs(false).decode(&bytes, 1, 0), [unorm(10), unorm(40), unorm(30), unorm(255)]);
        assert_eq!(pairs(true).decode(&bytes, 0, 0), [unorm(20), unorm(10), unorm(40), unorm(255)]);
        assert_eq!(pairs(true).elements([5, 3, 2]), [3, 3, 2]);
    }
}
