//! What modes of block compression 6 and 7 say, as tables of words for generated code: made from what `super::bc67` decodes by.

use super::bc67::{MODES6, MODES7, index_place, subset, weight};

/// Of each texel in each pattern, at `subsets - 1 << 10 | pattern << 4 | texel`: its subset (bits 0 and 1), how many texels before it have
/// an index without its highest bit (bits 2 and 3), whether its own has none (bit 4).
pub fn places() -> Vec<u32> {
    let place = |at: u32| {
        let (subsets, pattern, texel) = ((at >> 10) + 1, (at >> 4 & 63) as usize, at & 15);
        let (left_out, is_anchor) = index_place(subsets, pattern, texel);
        subset(subsets, pattern, texel) as u32 | left_out << 2 | u32::from(is_anchor) << 4
    };
    // There are never four subsets.
    (0..4096).map(|at| if at >> 10 < 3 { place(at) } else { 0 }).collect()
}

/// How near the second end point is, in parts of 64: at `width << 4 | index` of indices of that many bits.
pub fn weights() -> Vec<u32> {
    (0..128).map(|at| weight(at >> 4, (at & 15) as usize) as u32).collect()
}

/// What block compression 7's modes say, by the first byte of a block: two tables.
///
/// - The first: subsets less one (2 bits), bits of a colour (3) and of alpha (4), whether end points have a low bit of their own (1) or one
///   in common (1), bits of an index (3) and of a second one (2), where the pattern's number begins (4), its bits (3), those of the
///   rotation (2), of the choice of indices (1), and whether there is such a mode (1).
/// - The second: where end points, low bits, indices and second indices begin, 7 bits each. End points that have low bits have them there.
pub fn modes7() -> [Vec<u32>; 2] {
    let of = |byte: u32| {
        let number = byte.trailing_zeros();
        let Some(mode) = MODES7.get(number as usize) else { return [0; 2] };
        let head = number + 1;
        let points = head + mode.pattern + mode.rotation + mode.choice;
        let low = points + 2 * mode.subsets * (3 * mode.colour + mode.alpha);
        let (own, common) = (u32::from(mode.own_low_bit), u32::from(mode.common_low_bit));
        let indices = low + 2 * mode.subsets * own + mode.subsets * common;
        let second = indices + 16 * mode.index - mode.subsets;
        let fields = [
            (mode.subsets - 1, 2),
            (mode.colour, 3),
            (mode.alpha, 4),
            (own, 1),
            (common, 1),
            (mode.index, 3),
            (mode.second_index, 2),
            (head, 4),
            (mode.pattern, 3),
            (mode.rotation, 2),
            (mode.choice, 1),
            (1, 1),
        ];
        let places = [(points, 7), (low, 7), (indices, 7), (second & 127, 7)];
        [packed(&fields), packed(&places)]
    };
    [0, 1].map(|which| (0..256).map(|byte| of(byte)[which]).collect())
}

/// Numbers of so many bits each, from the lowest bit on.
fn packed(fields: &[(u32, u32)]) -> u32 {
    fields.iter().rev().fold(0, |word, &(value, bits)| word << bits | value)
}

/// What block compression 6's modes say, by the lowest five bits of a block.
pub struct Modes6 {
    /// Bits of the first end point's components (5 bits), of the others' red, green and blue (4 each), whether those are differences (1),
    /// whether there are two subsets (1), whether there is such a mode (1).
    pub modes: Vec<u32>,
    /// For each component, the two pieces of the first end point; the second has its highest bit first.
    pub first: [Vec<u32>; 3],
    /// For each component, the pieces of the first end point of the second subset, two in each table.
    pub third: [[Vec<u32>; 2]; 3],
    /// For each component, the pieces of a subset's second end point at `subset << 5 | mode`, two in each table.
    pub second: [[Vec<u32>; 3]; 3],
}

/// The words of [`Modes6`]. A piece is where it begins in the block (7 bits), how many bits it has (4) and its lowest bit in the number
/// (4); two of them are in a word, 16 bits each.
pub fn modes6() -> Modes6 {
    let mode_of = |code: u32| {
        let code = if code & 2 == 0 { code & 3 } else { code };
        MODES6.iter().find(|(number, _)| *number == code).map(|(_, mode)| mode)
    };
    let modes = (0..32).map(|code| {
        let Some(mode) = mode_of(code) else { return 0 };
        let [red, green, blue] = mode.others;
        packed(&[
            (mode.first, 5),
            (red, 4),
            (green, 4),
            (blue, 4),
            (mode.differences.into(), 1),
            (u32::from(mode.subsets == 2), 1),
            (1, 1),
        ])
    });
    // The pieces of one end point's component: those at 2 n and 2 n + 1.
    let pieces = |code: u32, point: usize, component: usize, n: usize| {
        let Some(mode) = mode_of(code) else { return 0 };
        let mut at = if code & 2 == 0 { 2 } else { 5 };
        let mut all = Vec::new();
        for &(of, end, low, count, _) in &mode.pieces {
            if (of, end) == (component, point) {
                all.push(packed(&[(at, 7), (count, 4), (low, 4)]));
            }
            at += count;
        }
        let piece = |n: usize| all.get(n).copied().unwrap_or(0);
        piece(2 * n) | piece(2 * n + 1) << 16
    };
    Modes6 {
        modes: modes.collect(),
        first: [0, 1, 2].map(|c| (0..32).map(|code| pieces(code, 0, c, 0)).collect()),
        third: [0, 1, 2].map(|c| [0, 1].map(|n| (0..32).map(|code| pieces(code, 2, c, n)).collect())),
        second: [0, 1, 2].map(|c| {
            [0, 1, 2].map(|n| {
                let of = |at: u32| pieces(at & 31, if at >> 5 == 0 { 1 } else { 3 }, c, n);
                (0..64).map(of).collect()
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is left out: a number has no more pieces than the tables, and only a first end point's second piece is turned round.
    #[test]
    fn all_pieces_are_in_the_tables() {
        for (_, mode) in MODES6.iter() {
            for component in 0..3 {
                for (point, most) in [(0, 2), (1, 6), (2, 4), (3, 6)] {
                    let pieces: Vec<_> =
                        mode.pieces.iter().filter(|piece| (piece.0, piece.1) == (component, point)).collect();
                    assert!(pieces.len() <= most);
                    let turned = |n: usize| pieces.get(n).is_some_and(|piece| piece.4);
                    assert!((0..6).all(|n| !turned(n) || (point, n) == (0, 1)));
                    // Turned round or not is the same for one bit.
                    let second = pieces.get(1).filter(|_| point == 0);
                    assert!(second.is_none_or(|piece| piece.4 || piece.3 == 1));
                }
            }
        }
    }
}
