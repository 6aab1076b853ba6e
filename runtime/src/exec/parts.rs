//! Divides a grid whose last groups have another size into parts with blocks of one size.

use std::ops::Range;

/// A box of the grid, whose blocks are of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The coordinates of its first block, from those of the grid's first.
    pub first: [u32; 3],
    /// Blocks along each axis.
    pub extent: [u32; 3],
    /// Threads of a block along each axis.
    pub size: [u32; 3],
    /// The blocks to run, by linear index in the box.
    pub blocks: Range<u64>,
}

/// The parts of a grid, of which a range of blocks is to run. `last` are the sizes of the last blocks along each axis.
///
/// Parts run one after the other. If all blocks of a grid run there are at most eight, in the order of their first blocks; where the
/// last blocks are as all others, the grid is one.
pub fn parts(grid: [u32; 3], block: [u32; 3], last: [u32; 3], blocks: &Range<u64>) -> Vec<Part> {
    if last == block {
        return vec![Part { first: [0; 3], extent: grid, size: block, blocks: blocks.clone() }];
    }
    let all = u64::from(grid[0]) * u64::from(grid[1]) * u64::from(grid[2]);
    if *blocks == (0..all) {
        return boxes([0; 3], grid, grid, block, last);
    }
    // Row by row, as far as the range goes.
    let row = u64::from(grid[0]);
    let mut found = Vec::new();
    let mut at = blocks.start;
    while at < blocks.end {
        let (x, y, z) = (at % row, at / row % u64::from(grid[1]), at / row / u64::from(grid[1]));
        let count = (row - x).min(blocks.end - at);
        let first = [x, y, z].map(|n| n as u32);
        found.extend(boxes(first, [count as u32, 1, 1], grid, block, last));
        at += count;
    }
    found
}

/// The parts of a box.
fn boxes(first: [u32; 3], extent: [u32; 3], grid: [u32; 3], block: [u32; 3], last: [u32; 3]) -> Vec<Part> {
    // Along each axis: (first, blocks, size) of the usual blocks, then of the last one.
    let axis = |n: usize| {
        let end = first[n] + extent[n];
        let own = end == grid[n] && last[n] != block[n];
        let usual = (first[n], extent[n] - u32::from(own), block[n]);
        let rest = own.then_some((end - 1, 1, last[n]));
        [Some(usual).filter(|usual| usual.1 > 0), rest].into_iter().flatten()
    };
    let mut found = Vec::new();
    for z in axis(2) {
        for y in axis(1) {
            for x in axis(0) {
                let extent = [x.1, y.1, z.1];
                let count = extent.iter().map(|&n| u64::from(n)).product();
                let size = [x.2, y.2, z.2];
                found.push(Part { first: [x.0, y.0, z.0], extent, size, blocks: 0..count });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each block of a range is in one part, with the size that its place gives.
    #[test]
    fn parts_cover_the_grid() {
        let (grid, block) = ([3, 4, 2], [8, 4, 2]);
        for last in [[8, 4, 2], [3, 4, 2], [8, 1, 2], [5, 2, 1]] {
            for blocks in [0..24, 5..6, 4..19, 23..24, 7..7] {
                let mut seen = vec![0; 24];
                for part in parts(grid, block, last, &blocks) {
                    for at in part.blocks {
                        let [x, y, _] = part.extent.map(u64::from);
                        let own = [at % x, at / x % y, at / x / y].map(|n| n as u32);
                        let place: [u32; 3] = std::array::from_fn(|n| part.first[n] + own[n]);
                        seen[(place[0] + 3 * (place[1] + 4 * place[2])) as usize] += 1;
                        let size: [u32; 3] =
                            std::array::from_fn(|n| if place[n] + 1 == grid[n] { last[n] } else { block[n] });
                        assert_eq!(part.size, size, "{place:?} {last:?}");
                    }
                }
                let wanted: Vec<_> = (0..24).map(|n| i32::from(blocks.contains(&n))).collect();
                assert_eq!(seen, wanted, "{last:?} {blocks:?}");
            }
        }
        assert_eq!(parts(grid, block, [5, 2, 1], &(0..24)).len(), 8);
        assert_eq!(parts([1; 3], block, [5, 4, 2], &(0..1)).len(), 1);
    }
}
