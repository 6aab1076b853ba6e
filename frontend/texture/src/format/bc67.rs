//! Block compression 6 (halves) and 7: 4 x 4 texels in 16 bytes, in one of several modes.
//!
//! The texels of a block fall into up to three subsets, by one of 64 patterns. Each subset has two end points of its own; an index for
//! each texel says where between them it is. The first texel of a subset (its anchor) has an index whose highest bit is 0 and left out.

use std::sync::LazyLock;

use super::{bc67_tables as tables, convert};
use crate::Texel;

const ONE: u32 = 0x3f80_0000;

/// Reads a block from its lowest bit on.
struct Bits {
    block: u128,
    at: u32,
}

impl Bits {
    fn take(&mut self, count: u32) -> u32 {
        let bits = self.block.checked_shr(self.at).unwrap_or(0) as u32 & convert::low_bits(count);
        self.at += count;
        bits
    }
}

/// Which of a block's subsets a texel is in.
pub(super) fn subset(subsets: u32, pattern: usize, texel: u32) -> usize {
    let n = pattern & 63;
    match subsets {
        2 => usize::from(tables::TWO[n] >> texel & 1),
        3 => (tables::THREE[n] >> (2 * texel) & 3) as usize,
        _ => 0,
    }
}

/// Whether a texel's index lacks its highest bit.
fn is_anchor(subsets: u32, pattern: usize, texel: u32) -> bool {
    let n = pattern & 63;
    texel == 0
        || match subsets {
            2 => u32::from(tables::ANCHOR_OF_TWO[n]) == texel,
            3 => tables::ANCHORS_OF_THREE[n].contains(&(texel as u8)),
            _ => false,
        }
}

/// How many texels before a texel have an index that lacks its highest bit, and whether its own does.
pub(super) fn index_place(subsets: u32, pattern: usize, texel: u32) -> (u32, bool) {
    let left_out = (0..texel).filter(|&before| is_anchor(subsets, pattern, before)).count() as u32;
    (left_out, is_anchor(subsets, pattern, texel))
}

/// The index of a texel: of so many bits each, from bit `at` on.
fn index(block: u128, at: u32, bits: u32, subsets: u32, pattern: usize, texel: u32) -> usize {
    let (left_out, is_anchor) = index_place(subsets, pattern, texel);
    let own = bits - u32::from(is_anchor);
    Bits { block, at: at + bits * texel - left_out }.take(own) as usize
}

pub(super) fn weight(bits: u32, index: usize) -> i32 {
    let weights: &[u8] = match bits {
        2 => &[0, 21, 43, 64],
        3 => &[0, 9, 18, 27, 37, 46, 55, 64],
        _ => &[0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64],
    };
    weights.get(index).copied().unwrap_or(64).into()
}

fn between(a: i32, b: i32, weight: i32) -> i32 {
    (a * (64 - weight) + b * weight + 32) >> 6
}

/// A mode of block compression 7.
pub(super) struct Mode7 {
    pub(super) subsets: u32,
    /// Bits of the pattern's number, of the rotation, of the choice between the two sets of indices.
    pub(super) pattern: u32,
    pub(super) rotation: u32,
    pub(super) choice: u32,
    /// Bits of an end point's colours and alpha.
    pub(super) colour: u32,
    pub(super) alpha: u32,
    /// Lowest bits that the components of an end point, or of both end points of a subset, have in common.
    pub(super) own_low_bit: bool,
    pub(super) common_low_bit: bool,
    /// Bits of an index, and of one of a second set.
    pub(super) index: u32,
    pub(super) second_index: u32,
}

#[rustfmt::skip]
const fn mode7(n: [u32; 10]) -> Mode7 {
    let [subsets, pattern, rotation, choice, colour, alpha, own, common, index, second_index] = n;
    Mode7 { subsets, pattern, rotation, choice, colour, alpha, own_low_bit: own != 0, common_low_bit: common != 0, index, second_index }
}

pub(super) const MODES7: [Mode7; 8] = [
    mode7([3, 4, 0, 0, 4, 0, 1, 0, 3, 0]),
    mode7([2, 6, 0, 0, 6, 0, 0, 1, 3, 0]),
    mode7([3, 6, 0, 0, 5, 0, 0, 0, 2, 0]),
    mode7([2, 6, 0, 0, 7, 0, 1, 0, 2, 0]),
    mode7([1, 0, 2, 1, 5, 6, 0, 0, 2, 3]),
    mode7([1, 0, 2, 0, 7, 8, 0, 0, 2, 2]),
    mode7([1, 0, 0, 0, 7, 7, 1, 0, 4, 0]),
    mode7([2, 6, 0, 0, 5, 5, 1, 0, 2, 0]),
];

/// A texel of block compression 7. A block of no mode is 0 in all components.
pub(super) fn decode7(element: &[u8; 16], srgb: bool, texel: u32) -> Texel {
    let block = u128::from_le_bytes(*element);
    let number = block.trailing_zeros();
    let Some(mode) = MODES7.get(number as usize) else { return [0; 4] };
    let mut bits = Bits { block, at: number + 1 };
    let pattern = bits.take(mode.pattern) as usize;
    let rotation = bits.take(mode.rotation);
    let choice = bits.take(mode.choice);
    let ends = 2 * mode.subsets as usize;
    let mut points = [[255i32; 4]; 6];
    for component in 0..3 {
        points.iter_mut().take(ends).for_each(|point| point[component] = bits.take(mode.colour) as i32);
    }
    if mode.alpha > 0 {
        points.iter_mut().take(ends).for_each(|point| point[3] = bits.take(mode.alpha) as i32);
    }
    let mut low_bits = [0; 6];
    if mode.own_low_bit {
        low_bits.iter_mut().take(ends).for_each(|bit| *bit = bits.take(1) as i32);
    } else if mode.common_low_bit {
        low_bits.chunks_mut(2).take(ends / 2).for_each(|pair| pair.fill(bits.take(1) as i32));
    }
    let has_low = u32::from(mode.own_low_bit || mode.common_low_bit);
    for (point, low) in points.iter_mut().zip(low_bits).take(ends) {
        for (component, value) in point.iter_mut().enumerate() {
            let width = if component == 3 { mode.alpha } else { mode.colour };
            if width == 0 {
                continue;
            }
            let (width, v) = (width + has_low, *value << has_low | low);
            *value = v << (8 - width) | v >> (2 * width - 8);
        }
    }
    let first = index(block, bits.at, mode.index, mode.subsets, pattern, texel);
    let first = weight(mode.index, first);
    let second = match mode.second_index {
        0 => first,
        width => weight(width, index(block, bits.at + 16 * mode.index - mode.subsets, width, 1, 0, texel)),
    };
    let (of_colour, of_alpha) = if choice != 0 { (second, first) } else { (first, second) };
    let pair = 2 * subset(mode.subsets, pattern, texel);
    let (a, b) = (points[pair], points[pair + 1]);
    let mut values: [i32; 4] =
        std::array::from_fn(|n| between(a[n], b[n], if n == 3 { of_alpha } else { of_colour }));
    if rotation != 0 {
        values.swap(3, rotation as usize - 1);
    }
    let number = |n: usize| if srgb && n < 3 { super::Number::Srgb } else { super::Number::Unorm };
    std::array::from_fn(|n| convert::decode(number(n), 8, values[n] as u32))
}

/// A mode of block compression 6.
pub(super) struct Mode6 {
    /// Bits of the first end point's components, and of the others' red, green and blue.
    pub(super) first: u32,
    pub(super) others: [u32; 3],
    /// Whether the others are differences from the first.
    pub(super) differences: bool,
    pub(super) subsets: u32,
    /// Pieces of end points in the order of the block's bits: component, end point, lowest bit, bits, whether the highest comes first.
    pub(super) pieces: Vec<(usize, usize, u32, u32, bool)>,
}

/// The pieces of a mode by their names in the definition: `ry3:0` are bits 0 to 3 of red of the third end point (w, x, y, z), with the
/// lowest first in the block.
fn pieces(names: &str) -> Vec<(usize, usize, u32, u32, bool)> {
    let piece = |name: &str| {
        let component = "rgb".find(name.get(0..1)?)?;
        let point = "wxyz".find(name.get(1..2)?)?;
        let (from, to) = match name.get(2..)?.split_once(':') {
            Some((high, low)) => (low.parse::<u32>().ok()?, high.parse::<u32>().ok()?),
            None => (name.get(2..)?.parse().ok()?, name.get(2..)?.parse().ok()?),
        };
        Some((component, point, from.min(to), from.abs_diff(to) + 1, from > to))
    };
    names.split_whitespace().filter_map(piece).collect()
}

/// By the number in the lowest two or five bits.
pub(super) static MODES6: LazyLock<Vec<(u32, Mode6)>> = LazyLock::new(|| {
    let mode = |&(code, first, others, differences, names): &tables::Mode6| {
        let subsets = if code & 3 == 3 { 1 } else { 2 };
        (code, Mode6 { first, others, differences, subsets, pieces: pieces(names) })
    };
    tables::MODES6.iter().map(mode).collect()
});

fn sign_extended(value: i32, bits: u32) -> i32 {
    value << (32 - bits) >> (32 - bits)
}

/// An end point's component at full width.
fn widened(value: i32, bits: u32, signed: bool) -> i32 {
    if !signed {
        return match value {
            _ if bits >= 15 => value,
            0 => 0,
            _ if value == (1 << bits) - 1 => 0xffff,
            _ => ((value << 16) + 0x8000) >> bits,
        };
    }
    let magnitude = match value.abs() {
        magnitude if bits >= 16 => magnitude,
        0 => 0,
        magnitude if magnitude >= (1 << (bits - 1)) - 1 => 0x7fff,
        magnitude => ((magnitude << 15) + 0x4000) >> (bits - 1),
    };
    if value < 0 { -magnitude } else { magnitude }
}

/// A texel of block compression 6. A block of no mode is black.
pub(super) fn decode6(element: &[u8; 16], signed: bool, texel: u32) -> Texel {
    let block = u128::from_le_bytes(*element);
    let mut bits = Bits { block, at: 0 };
    let code = match bits.take(2) {
        short @ 0..=1 => short,
        low => low | bits.take(3) << 2,
    };
    let Some((_, mode)) = MODES6.iter().find(|(number, _)| *number == code) else { return [0, 0, 0, ONE] };
    let mut points = [[0i32; 3]; 4];
    for &(component, point, low, count, highest_first) in &mode.pieces {
        let piece = match highest_first {
            false => bits.take(count),
            true => bits.take(count).reverse_bits() >> (32 - count),
        };
        points[point][component] |= (piece << low) as i32;
    }
    let pattern = if mode.subsets == 2 { bits.take(5) as usize } else { 0 };
    for component in 0..3 {
        let first = points[0][component];
        let own = if signed { sign_extended(first, mode.first) } else { first };
        points[0][component] = own;
        for point in points.iter_mut().take(2 * mode.subsets as usize).skip(1) {
            let value = &mut point[component];
            if mode.differences {
                let sum = own.wrapping_add(sign_extended(*value, mode.others[component]));
                *value = sum & convert::low_bits(mode.first) as i32;
            }
            if signed {
                *value = sign_extended(*value, mode.first);
            }
        }
    }
    let width = if mode.subsets == 2 { 3 } else { 4 };
    let weight = weight(width, index(block, bits.at, width, mode.subsets, pattern, texel));
    let pair = 2 * subset(mode.subsets, pattern, texel);
    let half = |component: usize| {
        let end = |point: usize| widened(points[point][component], mode.first, signed);
        let value = between(end(pair), end(pair + 1), weight);
        let half = match signed {
            false => (value * 31) >> 6,
            true if value < 0 => (-value * 31) >> 5 | 0x8000,
            true => (value * 31) >> 5,
        };
        convert::from_f16(half as u32)
    };
    [half(0), half(1), half(2), ONE]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each mode has so many bits in all.
    #[test]
    fn modes_fill_a_block() {
        for (number, mode) in MODES7.iter().enumerate() {
            let ends = 2 * mode.subsets;
            let low = u32::from(mode.own_low_bit) * ends + u32::from(mode.common_low_bit) * mode.subsets;
            let indices = 16 * mode.index - mode.subsets + (16 * mode.second_index).saturating_sub(1);
            let points = ends * (3 * mode.colour + mode.alpha) + low;
            let head = number as u32 + 1 + mode.pattern + mode.rotation + mode.choice;
            assert_eq!(head + points + indices, 128, "mode {number}");
        }
        assert_eq!(MODES6.len(), 14);
        for (code, mode) in MODES6.iter() {
            let bits: u32 = mode.pieces.iter().map(|piece| piece.3).sum();
            let head = if code & 2 == 0 { 2 } else { 5 };
            assert_eq!(head + bits, if mode.subsets == 2 { 77 } else { 65 }, "mode {code:#x}");
            // No bit of an end point comes twice.
            let mut seen = [[0u32; 3]; 4];
            for &(component, point, low, count, _) in &mode.pieces {
                let piece = convert::low_bits(count) << low;
                assert_eq!(seen[point][component] & piece, 0, "mode {code:#x}");
                seen[point][component] |= piece;
            }
            for (point, parts) in seen.iter().enumerate().take(2 * mode.subsets as usize) {
                let widths = if point == 0 { [mode.first; 3] } else { mode.others };
                assert_eq!(*parts, widths.map(convert::low_bits), "mode {code:#x}");
            }
        }
    }

    #[test]
    fn a_block_of_one_colour() {
        // Mode 6 of 7: both end points have red 0x7f, green 0x40, blue 0, alpha 0x7f and low bits 1; indices are 0.
        let block: u128 =
            1 << 6 | 0x7f << 7 | 0x7f << 14 | 0x40 << 21 | 0x40 << 28 | 0x7f << 49 | 0x7f << 56 | 3 << 63;
        for texel in 0..16 {
            let wanted = [255, 129, 1, 255].map(|n| (n as f32 / 255.0).to_bits());
            assert_eq!(decode7(&block.to_le_bytes(), false, texel), wanted);
        }
        assert_eq!(decode7(&[0; 16], false, 3), [0; 4]);
        // Mode 11 of 6: ten bits each, both end points white (0x3ff) in red, 0 in green, 0x200 in blue.
        let block: u128 = 0x03 | 0x3ff << 5 | 0x200 << 25 | 0x3ff << 35 | 0x200 << 55;
        let [red, green, blue, alpha] = decode6(&block.to_le_bytes(), false, 9).map(f32::from_bits);
        // 0xffff * 31 / 64 is 0x7bff, the largest half; 0x200 widens to 0x8020, 0x3e0f as a half.
        assert_eq!([red, green, blue, alpha], [65504.0, 0.0, 1.514_648_4, 1.0]);
        assert_eq!(decode6(&[0x13; 16], false, 0), [0, 0, 0, ONE]);
    }
}
