//! Block compression 1 to 5: 4 x 4 texels in 8 or 16 bytes.
//!
//! Components are the exact values of the definition, as the nearest f32: end points are fractions of 31, 63, 255 or 127, those between
//! them fractions of these (docs/hardware/textures-nv.md section 3). Hardware is up to about 1/255 off.

use super::srgb::{SRGB31, SRGB63};
use crate::Texel;

const ONE: u32 = 0x3f80_0000;

/// The first eight bytes of an element, or the last eight.
fn half(element: &[u8; 16], second: bool) -> u64 {
    let element = u128::from_le_bytes(*element);
    if second { (element >> 64) as u64 } else { element as u64 }
}

/// `numerator / denominator`: both are small, so that the division rounds once.
fn fraction(numerator: i32, denominator: i32) -> u32 {
    (numerator as f32 / denominator as f32).to_bits()
}

/// Red, green, blue and alpha of a block of colours. `four`: there are always four colours, none of them transparent.
fn colour(block: u64, texel: u32, four: bool, srgb: bool) -> Texel {
    let (c0, c1) = (block as u16, (block >> 16) as u16);
    let index = block >> (32 + 2 * texel) & 3;
    // Of the two end points: weights of the first and the second, and what these are fractions of.
    let (first, second, of) = match (index, four || c0 > c1) {
        (0, _) => (1, 0, 1),
        (1, _) => (0, 1, 1),
        (2, true) => (2, 1, 3),
        (_, true) => (1, 2, 3),
        (2, false) => (1, 1, 2),
        (_, false) => return [0; 4],
    };
    let part = |bit: u32, most: u16| {
        let end = |colour: u16| i32::from(colour >> bit & most);
        let sum = first * end(c0) + second * end(c1);
        match srgb {
            true if most == 31 => SRGB31[(sum * (6 / of)) as usize & 255],
            true => SRGB63[(sum * (6 / of)) as usize & 511],
            false => fraction(sum, of * i32::from(most)),
        }
    };
    [part(11, 31), part(5, 63), part(0, 31), ONE]
}

/// A component that has a block of its own: two end points of eight bits, and three bits for each texel.
fn component(block: u64, texel: u32, signed: bool) -> u32 {
    let end = |bit: u32| match signed {
        true => i32::from((block >> bit) as i8),
        false => i32::from((block >> bit) as u8),
    };
    let (r0, r1) = (end(0), end(8));
    let most = if signed { 127 } else { 255 };
    // -128 is -1.0, too.
    let (a, b) = (r0.max(-most), r1.max(-most));
    let index = (block >> (16 + 3 * texel) & 7) as i32;
    match (index, r0 > r1) {
        (0, _) => fraction(a, most),
        (1, _) => fraction(b, most),
        (_, true) => fraction((8 - index) * a + (index - 1) * b, 7 * most),
        (6, false) => fraction(if signed { -1 } else { 0 }, 1),
        (7, false) => ONE,
        (_, false) => fraction((6 - index) * a + (index - 1) * b, 5 * most),
    }
}

/// A texel, 0 to 15 in order of rows, of block compression 1 to 5.
pub(super) fn decode(element: &[u8; 16], kind: u8, signed: bool, srgb: bool, texel: u32) -> Texel {
    let (low, high) = (half(element, false), half(element, true));
    match kind {
        1 => colour(low, texel, false, srgb),
        2 => {
            let alpha = (low >> (4 * texel) & 15) as i32;
            let [r, g, b, _] = colour(high, texel, true, srgb);
            [r, g, b, fraction(alpha, 15)]
        }
        3 => {
            let [r, g, b, _] = colour(high, texel, true, srgb);
            [r, g, b, component(low, texel, false)]
        }
        4 => [component(low, texel, signed), 0, 0, ONE],
        5 => [component(low, texel, signed), component(high, texel, signed), 0, ONE],
        _ => [0; 4],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texels(bytes: &[u8], kind: u8, signed: bool) -> Vec<[f32; 4]> {
        let mut element = [0; 16];
        element[..bytes.len()].copy_from_slice(bytes);
        (0..16).map(|n| decode(&element, kind, signed, false, n).map(f32::from_bits)).collect()
    }

    #[test]
    fn four_colours_or_three() {
        // Red 31 (0xf800) and green 63 (0x07e0): the first is larger, so there are four. Texels 0 to 3 have indices 0 to 3.
        let four = texels(&[0x00, 0xf8, 0xe0, 0x07, 0b1110_0100, 0, 0, 0], 1, false);
        assert_eq!(four[0], [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(four[1], [0.0, 1.0, 0.0, 1.0]);
        assert_eq!(four[2], [62.0 / 93.0, 63.0 / 189.0, 0.0, 1.0]);
        assert_eq!(four[3], [31.0 / 93.0, 126.0 / 189.0, 0.0, 1.0]);
        assert_eq!(four[4..], [four[0]; 12]);
        let three = texels(&[0xe0, 0x07, 0x00, 0xf8, 0b1110_0100, 0, 0, 0], 1, false);
        assert_eq!(three[2], [0.5, 0.5, 0.0, 1.0]);
        assert_eq!(three[3], [0.0; 4]);
        // The same block behind alphas has four.
        let alphas = [0x10, 0x32, 0, 0, 0, 0, 0, 0xf0, 0xe0, 0x07, 0x00, 0xf8, 0b1110_0100, 0, 0, 0];
        let four = texels(&alphas, 2, false);
        assert_eq!(four[3], [62.0 / 93.0, 63.0 / 189.0, 0.0, 3.0 / 15.0]);
        assert_eq!([four[0][3], four[1][3], four[2][3], four[15][3]], [0.0, 1.0 / 15.0, 2.0 / 15.0, 1.0]);
    }

    #[test]
    fn eight_values_or_six() {
        // Indices 0 to 7 of texels 0 to 7.
        let indices = [0x88, 0xc6, 0xfa];
        let block = |r0: u8, r1: u8| [&[r0, r1], &indices[..], &[0; 3]].concat();
        let red = |r0, r1, signed| {
            let texels = texels(&block(r0, r1), 4, signed);
            std::array::from_fn::<f32, 8, _>(|n| texels[n][0])
        };
        assert_eq!(red(255, 0, false), [1.0, 0.0, 6. / 7., 5. / 7., 4. / 7., 3. / 7., 2. / 7., 1. / 7.]);
        assert_eq!(red(0, 255, false), [0.0, 1.0, 0.2, 0.4, 0.6, 0.8, 0.0, 1.0]);
        assert_eq!(red(0x80, 0x7f, true), [-1.0, 1.0, -0.6, -0.2, 0.2, 0.6, -1.0, 1.0]);
        assert_eq!(red(0x7f, 0x81, true)[2], 635.0 / 889.0);
        assert_eq!(texels(&block(255, 0), 4, false)[0], [1.0, 0.0, 0.0, 1.0]);
        let both = texels(&[block(255, 0), block(0, 255)].concat(), 5, false);
        assert_eq!(both[2], [6. / 7., 0.2, 0.0, 1.0]);
        let alpha = texels(&[block(0, 255), vec![0xff; 4], vec![0; 4]].concat(), 3, false);
        assert_eq!(alpha[7], [1.0; 4]);
        assert_eq!(alpha[6][3], 0.0);
    }
}
