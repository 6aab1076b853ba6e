//! Formats by the codes that descriptors have for them.

use super::{Field, Format, Number, Packing, fields};

/// Number types of headers' components.
fn nvidia_number(code: u32) -> Option<Number> {
    Some(match code {
        // 5 and 6 are computed in halves.
        1 | 5 => Number::Snorm,
        2 | 6 => Number::Unorm,
        3 => Number::Sint,
        4 => Number::Uint,
        7 => Number::Float,
        _ => return None,
    })
}

/// Whether there are floats of so many bits.
fn is_float_width(bits: u8) -> bool {
    matches!(bits, 10 | 11 | 16 | 32)
}

fn bc(kind: u8, signed: bool, srgb: bool) -> Format {
    let bytes = if matches!(kind, 1 | 4) { 8 } else { 16 };
    Format { bytes, packing: Packing::Bc { kind, signed, srgb } }
}

fn bc6(signed: bool) -> Format {
    Format { bytes: 16, packing: Packing::Bc6 { signed } }
}

const SHARED_EXPONENT: Format = Format { bytes: 4, packing: Packing::SharedExponent };

/// A format of components side by side from the lowest bit up.
fn packed(bytes: u8, widths: &[u8], number: impl Fn(usize, u8) -> Option<Number>) -> Option<Format> {
    let mut parts = [fields::NONE; 4];
    let mut bit = 0;
    for (n, (part, &bits)) in parts.iter_mut().zip(widths).enumerate() {
        *part = Field { bit, bits, number: number(n, bits)? };
        bit += bits;
    }
    Some(Format { bytes, packing: Packing::Fields(parts) })
}

/// The format of a texture header: `code` is bits 0 to 5 of its word 0, `types` are those of components 0 to 3 (bits 6 to 17), `srgb` is
/// its sRGB bit, `fermi` that it is for GF100 or later (docs/hardware/textures-nv.md section 3). `None` where the code or a type is
/// undefined.
pub fn nvidia(code: u32, types: [u32; 4], srgb: bool, fermi: bool) -> Option<Format> {
    let first = nvidia_number(types[0]);
    let (bytes, widths): (u8, &[u8]) = match code {
        0x01 => (16, &[32, 32, 32, 32]),
        0x02 if fermi => (12, &[32, 32, 32]),
        0x03 => (8, &[16, 16, 16, 16]),
        0x04 => (8, &[32, 32]),
        0x05 | 0x30 => (8, &[32, 8]),
        0x07 => (4, &[8, 8, 8]),
        0x08 => (4, &[8, 8, 8, 8]),
        0x09 => (4, &[10, 10, 10, 2]),
        0x0c => (4, &[16, 16]),
        0x0d | 0x2b => (4, &[24, 8]),
        0x0e | 0x29 => (4, &[8, 24]),
        0x0f | 0x2f => (4, &[32]),
        0x12 => (2, &[4, 4, 4, 4]),
        0x13 => (2, &[1, 5, 5, 5]),
        0x14 => (2, &[5, 5, 5, 1]),
        0x15 => (2, &[5, 6, 5]),
        0x16 => (2, &[5, 5, 6]),
        0x18 => (2, &[8, 8]),
        0x1b | 0x3a => (2, &[16]),
        0x1d => (1, &[8]),
        0x1e => (1, &[4, 4]),
        0x21 => (4, &[11, 11, 10]),
        0x2a => (4, &[24]),
        0x10 | 0x11 if fermi => return (first? == Number::Float).then_some(bc6(code == 0x10)),
        0x17 if fermi => return (first? == Number::Unorm).then_some(bc(7, false, srgb)),
        0x20 => return (first? == Number::Float).then_some(SHARED_EXPONENT),
        0x22 | 0x23 => {
            return Some(Format { bytes: 4, packing: Packing::Pairs { green_first: code == 0x23 } });
        }
        0x24..=0x26 => return (first? == Number::Unorm).then_some(bc((code - 0x23) as u8, false, srgb)),
        0x27 | 0x28 => {
            let kind = (code - 0x23) as u8;
            return match first? {
                Number::Unorm => Some(bc(kind, false, false)),
                Number::Snorm => Some(bc(kind, true, false)),
                _ => None,
            };
        }
        _ => return None,
    };
    packed(bytes, widths, |n, bits| match nvidia_number(types[n])? {
        Number::Unorm if srgb && bits == 8 && n < 3 => Some(Number::Srgb),
        // The stencil beside a float's depth, where all types are alike.
        Number::Float if bits == 8 && matches!(code, 0x05 | 0x30) => Some(Number::Uint),
        Number::Float if bits == 11 || bits == 10 => (code == 0x21).then_some(Number::Float),
        Number::Float => is_float_width(bits).then_some(Number::Float),
        // Floats are all that these can be.
        _ if code == 0x21 => None,
        number => Some(number),
    })
}

/// Components of so many bits each: the first `count` of red, green, blue, alpha.
fn even(bits: u8, count: usize, number: Number) -> Option<Format> {
    packed(bits / 8 * count as u8, &[bits; 4][..count], |_, _| Some(number))
}

/// As [`even`], in more bytes than the components need.
fn padded(bytes: u8, bits: u8, number: Number) -> Option<Format> {
    let format = even(bits, 3, number)?;
    Some(Format { bytes, ..format })
}

/// Components of these widths from the lowest bit up, blue first and red third.
fn blue_first(bytes: u8, widths: &[u8], srgb: bool) -> Option<Format> {
    let number = |n: usize, _| Some(if srgb && n < 3 { Number::Srgb } else { Number::Unorm });
    let format = packed(bytes, widths, number)?;
    let Packing::Fields([blue, green, red, alpha]) = format.packing else { return None };
    Some(Format { bytes, packing: Packing::Fields([red, green, blue, alpha]) })
}

fn rgb10(number: Number) -> Option<Format> {
    packed(4, &[10, 10, 10, 2], |_, _| Some(number))
}

fn srgb8(bytes: u8, count: usize) -> Option<Format> {
    packed(bytes, &[8; 4][..count], |n, _| Some(if n < 3 { Number::Srgb } else { Number::Unorm }))
}

/// The colour surface format of a code, 0xc0 and up: render targets and Fermi's image slots (docs/hardware/textures-nv.md section 12).
pub fn nvidia_surface(code: u32) -> Option<Format> {
    use Number::{Float, Sint, Snorm, Uint, Unorm};
    match code {
        0xc0 => even(32, 4, Float),
        0xc1 => even(32, 4, Sint),
        0xc2 => even(32, 4, Uint),
        0xc3 => padded(16, 32, Float),
        0xc4 => padded(16, 32, Sint),
        0xc5 => padded(16, 32, Uint),
        0xc6 => even(16, 4, Unorm),
        0xc7 => even(16, 4, Snorm),
        0xc8 => even(16, 4, Sint),
        0xc9 => even(16, 4, Uint),
        0xca => even(16, 4, Float),
        0xce => padded(8, 16, Float),
        0xcb => even(32, 2, Float),
        0xcc => even(32, 2, Sint),
        0xcd => even(32, 2, Uint),
        0xcf => blue_first(4, &[8; 4], false),
        0xd0 => blue_first(4, &[8; 4], true),
        0xd1 => rgb10(Unorm),
        0xd2 => rgb10(Uint),
        0xdf => blue_first(4, &[10, 10, 10, 2], false),
        0xd5 => even(8, 4, Unorm),
        0xd6 => srgb8(4, 4),
        0xd7 => even(8, 4, Snorm),
        0xd8 => even(8, 4, Sint),
        0xd9 => even(8, 4, Uint),
        0xda => even(16, 2, Unorm),
        0xdb => even(16, 2, Snorm),
        0xdc => even(16, 2, Sint),
        0xdd => even(16, 2, Uint),
        0xde => even(16, 2, Float),
        0xe0 => packed(4, &[11, 11, 10], |_, _| Some(Float)),
        0xe3 => even(32, 1, Sint),
        0xe4 | 0xff => even(32, 1, Uint),
        0xe5 => even(32, 1, Float),
        0xe6 => blue_first(4, &[8; 3], false),
        0xe7 => blue_first(4, &[8; 3], true),
        0xe8 => blue_first(2, &[5, 6, 5], false),
        0xe9 => blue_first(2, &[5, 5, 5, 1], false),
        0xf8 => blue_first(2, &[5, 5, 5], false),
        0xea => even(8, 2, Unorm),
        0xeb => even(8, 2, Snorm),
        0xec => even(8, 2, Sint),
        0xed => even(8, 2, Uint),
        0xee => even(16, 1, Unorm),
        0xef => even(16, 1, Snorm),
        0xf0 => even(16, 1, Sint),
        0xf1 => even(16, 1, Uint),
        0xf2 => even(16, 1, Float),
        0xf3 => even(8, 1, Unorm),
        0xf4 => even(8, 1, Snorm),
        0xf5 => even(8, 1, Sint),
        0xf6 => even(8, 1, Uint),
        0xf7 => Some(Format::fields(1, &[(0, 0, Unorm), (0, 0, Unorm), (0, 0, Unorm), (0, 8, Unorm)])),
        0xf9 => padded(4, 8, Unorm),
        0xfa => srgb8(4, 3),
        _ => None,
    }
}

/// The format of GK104's image instructions (docs/hardware/textures-nv.md section 13).
pub fn gk104_image(code: u32) -> Option<Format> {
    use Number::{Float, Sint, Snorm, Uint, Unorm};
    let of = |first: u32, numbers: &[Number]| numbers.get((code - first) as usize).copied();
    match code {
        0x02..=0x04 => even(32, 4, of(0x02, &[Float, Sint, Uint])?),
        0x08..=0x0c => even(16, 4, of(0x08, &[Unorm, Snorm, Sint, Uint, Float])?),
        0x0d..=0x0f => even(32, 2, of(0x0d, &[Float, Sint, Uint])?),
        0x11 => blue_first(4, &[8; 4], false),
        0x13 => rgb10(Unorm),
        0x15 => rgb10(Uint),
        0x18 => even(8, 4, Unorm),
        0x1a..=0x1c => even(8, 4, of(0x1a, &[Snorm, Sint, Uint])?),
        0x1d..=0x21 => even(16, 2, of(0x1d, &[Unorm, Snorm, Sint, Uint, Float])?),
        0x24 => packed(4, &[11, 11, 10], |_, _| Some(Float)),
        0x27..=0x29 => even(32, 1, of(0x27, &[Sint, Uint, Float])?),
        0x2e..=0x31 => even(8, 2, of(0x2e, &[Unorm, Snorm, Sint, Uint])?),
        0x32..=0x36 => even(16, 1, of(0x32, &[Unorm, Snorm, Sint, Uint, Float])?),
        0x37..=0x3a => even(8, 1, of(0x37, &[Unorm, Snorm, Sint, Uint])?),
        _ => None,
    }
}

/// A texel of one of GCN's data formats whose components have bits of their own: its bytes, and the widths of its components from the
/// lowest bit up (docs/hardware/graphics-gcn.md section 3.1). 16 and up are formats of images only. Those of 34 have an exponent in common,
/// which is above them.
pub const fn gcn_components(data: u32) -> Option<(u8, &'static [u8])> {
    let components: (u8, &[u8]) = match data {
        1 => (1, &[8]),
        2 => (2, &[16]),
        3 => (2, &[8, 8]),
        4 => (4, &[32]),
        5 => (4, &[16, 16]),
        6 => (4, &[11, 11, 10]),
        7 => (4, &[10, 11, 11]),
        8 => (4, &[2, 10, 10, 10]),
        9 => (4, &[10, 10, 10, 2]),
        10 => (4, &[8, 8, 8, 8]),
        11 => (8, &[32, 32]),
        12 => (8, &[16, 16, 16, 16]),
        13 => (12, &[32, 32, 32]),
        14 => (16, &[32, 32, 32, 32]),
        16 => (2, &[5, 6, 5]),
        17 => (2, &[5, 5, 5, 1]),
        18 => (2, &[1, 5, 5, 5]),
        19 => (2, &[4, 4, 4, 4]),
        20 => (4, &[24, 8]),
        21 => (4, &[8, 24]),
        22 => (8, &[32, 8]),
        34 => (4, &[9, 9, 9]),
        57 => (1, &[4, 4]),
        58 => (2, &[5, 5, 6]),
        _ => return None,
    };
    Some(components)
}

/// The number format of a code (docs/hardware/graphics-gcn.md section 3.2).
pub const fn gcn_number(code: u32) -> Option<Number> {
    Some(match code {
        0 => Number::Unorm,
        1 => Number::Snorm,
        2 => Number::Uscaled,
        3 => Number::Sscaled,
        4 => Number::Uint,
        5 => Number::Sint,
        6 => Number::SnormNoZero,
        7 => Number::Float,
        9 => Number::Srgb,
        _ => return None,
    })
}

/// The format of a data format and a number format, of buffers and images (docs/hardware/graphics-gcn.md sections 3.1, 3.2). `gfx9`: for
/// GCN 1.4. `None` where there are no numbers in it, and for formats of multisampling, of one bit and of other families.
pub fn gcn(data: u32, number: u32, gfx9: bool) -> Option<Format> {
    let numbers = gcn_number(number)?;
    let srgb = numbers == Number::Srgb;
    let (bytes, widths): (u8, &[u8]) = match data {
        // What 1.4 has in another place are ETC2, ASTC and FMASK, none of which is here, and stencils beside depths of 16 or 32 bits.
        59 | 60 if gfx9 => (1, &[8]),
        32 | 33 => {
            let pairs = Packing::Pairs { green_first: data == 33 };
            return (numbers == Number::Unorm).then_some(Format { bytes: 4, packing: pairs });
        }
        34 => return (numbers == Number::Float).then_some(SHARED_EXPONENT),
        35..=37 | 41 => {
            return (numbers == Number::Unorm || srgb).then_some(bc((data - 34) as u8, false, srgb));
        }
        38 | 39 => {
            let signed = numbers == Number::Snorm;
            return (signed || numbers == Number::Unorm).then_some(bc((data - 34) as u8, signed, false));
        }
        // The number format says only whether the halves have signs.
        40 => return matches!(number, 0 | 1 | 7).then_some(bc6(number == 1)),
        _ => gcn_components(data)?,
    };
    // Alpha has no curve.
    packed(bytes, widths, |n, _| Some(if srgb && n == 3 { Number::Unorm } else { numbers }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Word 0 of the usual formats: their types are what the format is made of.
    fn of_word(word: u32) -> Option<Format> {
        nvidia(word & 63, [6, 9, 12, 15].map(|bit| word >> bit & 7), false, true)
    }

    #[test]
    fn usual_texture_headers() {
        use Number::{Float, Snorm, Uint, Unorm};
        let even = |bits, count, number| even(bits, count, number);
        assert_eq!(of_word(0x2c69_2488), even(8, 4, Unorm));
        assert_eq!(of_word(0x2c6a_4908), even(8, 4, Uint));
        assert_eq!(of_word(0x2c68_9248), even(8, 4, Snorm));
        assert_eq!(of_word(0x3a71_2495), packed(2, &[5, 6, 5], |_, _| Some(Unorm)));
        assert_eq!(of_word(0x3c6b_ffe1), packed(4, &[11, 11, 10], |_, _| Some(Float)));
        assert_eq!(of_word(0x3c6b_ffe0), Some(SHARED_EXPONENT));
        assert_eq!(of_word(0x380b_ffcf), even(32, 1, Float));
        assert_eq!(of_word(0x2c6b_ffc3), even(16, 4, Float));
        assert_eq!(of_word(0x2c6a_4901), even(32, 4, Uint));
        let depth = |n: usize, _| Some(if n == 0 { Unorm } else { Uint });
        assert_eq!(of_word(0x3a4a_48ab), packed(4, &[24, 8], depth));
        assert_eq!(of_word(0x3b6e_4529), packed(4, &[8, 24], |n, _| Some(if n == 0 { Uint } else { Unorm })));
        assert_eq!(of_word(0x3a4a_49ef), even(32, 1, Float));
        assert_eq!(of_word(0x2c69_24a4), Some(bc(1, false, false)));
        assert_eq!(of_word(0x2c69_24a6), Some(bc(3, false, false)));
        assert_eq!(of_word(0x3809_24a7), Some(bc(4, false, false)));
        assert_eq!(nvidia(0x02, [7; 4], false, false), None);
        assert_eq!(nvidia(0x02, [7; 4], false, true).map(|f| f.bytes), Some(12));
        assert_eq!(
            [0, 6, 0x1c, 0x1f, 0x2c, 0x31, 0x3e, 0x3f].map(|code| nvidia(code, [2; 4], false, true)),
            [None; 8]
        );
        assert_eq!(nvidia(8, [2, 2, 0, 2], false, true), None);
        assert_eq!(nvidia(8, [2; 4], true, true), srgb8(4, 4));
        assert_eq!(nvidia(0x15, [2; 4], true, true), nvidia(0x15, [2; 4], false, true));
    }

    /// Components lie in the element and not in each other; blocks have their sizes.
    #[test]
    fn all_codes_make_sense() {
        let check = |format: Format| {
            assert!(matches!(format.bytes, 1 | 2 | 4 | 8 | 12 | 16));
            let Packing::Fields(parts) = format.packing else { return };
            let mut seen = 0u128;
            for part in parts.into_iter().filter(|part| part.bits > 0) {
                let mask = ((1u128 << part.bits) - 1) << part.bit;
                assert_eq!(seen & mask, 0, "{format:?}");
                assert!(part.bit / 32 == (part.bit + part.bits - 1) / 32, "{format:?}");
                seen |= mask;
            }
            assert!(seen.checked_shr(8 * u32::from(format.bytes)).unwrap_or(0) == 0, "{format:?}");
        };
        for code in 0..256 {
            nvidia_surface(code).map(check);
            gk104_image(code).map(check);
            (0..8).for_each(|kind| {
                nvidia(code, [kind; 4], false, true).map(check);
            });
            (0..16).for_each(|number| {
                gcn(code, number, false).map(check);
            });
        }
        assert_eq!(
            nvidia_surface(0xcf).map(|f| f.encode([0x3f80_0000, 0, 0, 0])),
            Some(Some(0xff_0000u128.to_le_bytes()))
        );
        assert_eq!(gk104_image(0x1d), even(16, 2, Number::Unorm));
        assert_eq!(gk104_image(0x10), None);
        assert_eq!(gcn(10, 9, false), srgb8(4, 4));
        assert_eq!(gcn(0, 0, false), None);
        assert_eq!(gcn(34, 0, false), None);
    }
}
