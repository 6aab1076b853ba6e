//! Block-linear images of Tesla, Fermi and GK104 (docs/hardware/textures-nv.md section 4).

use super::formula::{Part, gob_parts};
use super::image::Image;
use crate::kind::Kind;

/// Parameters of a block-linear image.
///
/// A gob has 64 bytes a row; a block is a column of gobs, and of slices of such. Each level is a surface of its own, one behind the
/// other; all levels of a layer come before the next layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockLinear {
    /// Log2 of the rows of a gob: 2 on Tesla, 3 from Fermi on.
    pub gob_rows: u8,
    /// Log2 of the gobs of a block along y.
    pub block_height: u8,
    /// Log2 of the slices of a block.
    pub block_depth: u8,
    /// Levels of the *resource*, on which the distance of layers depends; at least 1.
    pub levels: u32,
    /// Whether blocks that are larger than a level needs are made smaller: always, but for Fermi's image slots (section 11).
    pub shrink: bool,
}

/// A level of a block-linear image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gobs {
    /// Log2 of: rows of a gob, gobs of a block along y, slices of a block.
    gob_rows: u32,
    block_height: u32,
    block_depth: u32,
    /// Blocks along x and y.
    columns: u64,
    rows: u64,
    /// Bytes from layer to layer.
    layer: u64,
}

impl Gobs {
    /// Where an element is whose first byte is byte `x` of its row.
    #[inline]
    pub(super) fn offset(&self, x: u64, y: u32, z: u32, layer: u32) -> u64 {
        let rows = self.gob_rows + self.block_height;
        let [y, z, layer] = [y, z, layer].map(u64::from);
        let within = |value: u64, bits: u32| value & ((1 << bits) - 1);
        let block = (z >> self.block_depth).wrapping_mul(self.rows).wrapping_add(y >> rows);
        let block = block.wrapping_mul(self.columns).wrapping_add(x >> 6);
        let gob = within(z, self.block_depth) << self.block_height | within(y, rows) >> self.gob_rows;
        let offset = self.block_bytes().wrapping_mul(block);
        let inside = gob << (6 + self.gob_rows) | within(y, self.gob_rows) << 6 | x & 63;
        offset.wrapping_add(inside).wrapping_add(layer.wrapping_mul(self.layer))
    }

    /// What columns and rows add to addresses.
    pub(super) fn parts(&self, log2_bytes: u32) -> [Part; 2] {
        let [columns, rows, _] = self.all_parts(log2_bytes);
        [columns, rows]
    }

    /// What slices add.
    pub(super) fn slices(&self) -> Part {
        self.all_parts(0)[2]
    }

    fn all_parts(&self, log2_bytes: u32) -> [Part; 3] {
        let column = self.block_bytes();
        let row = column.wrapping_mul(self.columns);
        let steps = [column, row, row.wrapping_mul(self.rows)];
        gob_parts(log2_bytes, self.gob_rows + self.block_height, self.block_depth, steps)
    }

    /// Bytes from layer to layer.
    pub(super) fn layer_bytes(&self) -> u64 {
        self.layer
    }

    fn block_bytes(&self) -> u64 {
        1 << (6 + self.gob_rows + self.block_height + self.block_depth)
    }
}

impl BlockLinear {
    /// Blocks of a level, and its bytes.
    fn blocks(&self, image: Image<'_>, level: u32) -> (Gobs, u64) {
        let [width, height, depth] = image.format.elements(image.level_size(level)).map(u64::from);
        let gob_rows = u32::from(self.gob_rows.min(8));
        let shrunk = |log2: u8, size: u64| {
            let mut log2 = u32::from(log2.min(8));
            while self.shrink && log2 > 0 && 1 << (log2 - 1) >= size {
                log2 -= 1;
            }
            log2
        };
        let block_height = shrunk(self.block_height, height.div_ceil(1 << gob_rows));
        let block_depth = shrunk(self.block_depth, depth);
        let columns = (width * u64::from(image.format.bytes)).div_ceil(64);
        let rows = height.div_ceil(1 << (gob_rows + block_height));
        let gobs = Gobs { gob_rows, block_height, block_depth, columns, rows, layer: 0 };
        let count = columns.wrapping_mul(rows).wrapping_mul(depth.div_ceil(1 << block_depth));
        (gobs, count.wrapping_mul(gobs.block_bytes()))
    }

    /// Where a level begins, and how it is laid out.
    pub(super) fn level(&self, image: Image<'_>, level: u32) -> (u64, Gobs) {
        // Levels from this one on are all alike.
        let last = level.min(32);
        let ends = |count: u32| (0..count).fold(0u64, |sum, n| sum.wrapping_add(self.blocks(image, n).1));
        let (mut gobs, _) = self.blocks(image, level);
        if image.kind != Kind::D3 {
            gobs.layer = self.layer_bytes(image);
        }
        (ends(last), gobs)
    }

    /// Bytes from layer to layer: to the end of the resource's last level, rounded up to blocks of level 0.
    pub fn layer_bytes(&self, image: Image<'_>) -> u64 {
        let levels = self.levels.clamp(1, 32);
        let end = (0..levels).fold(0u64, |sum, n| sum.wrapping_add(self.blocks(image, n).1));
        let block = self.blocks(image, 0).0.block_bytes();
        end.wrapping_add(block - 1) & !(block - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Layout,
        tests::{check_absurd, check_disjoint, view},
    };
    use super::*;

    fn layout(gob_rows: u8, block_height: u8, block_depth: u8, levels: u32) -> BlockLinear {
        BlockLinear { gob_rows, block_height, block_depth, levels, shrink: true }
    }

    /// The tables of the page's section 4: RGBA8, 40 x 20, blocks of four gobs.
    #[test]
    fn examples_of_two_dimensions() {
        let texels = [(5, 3), (17, 3), (17, 9), (39, 19)];
        for (gob_rows, wanted) in [(2, [0xd4, 0x4c4, 0x644, 0x14dc]), (3, [0xd4, 0x8c4, 0xa44, 0x14dc])] {
            let view = view(Kind::D2, [40, 20, 1], 4, 1, 1, Layout::BlockLinear(layout(gob_rows, 2, 0, 1)));
            assert_eq!(texels.map(|(x, y)| view.element_address(0, x, y, 0, 0)), wanted);
            let Layout::BlockLinear(blocks) = &view.layout else { unreachable!() };
            assert_eq!(blocks.layer_bytes(view.image()), 0x1800);
        }
    }

    #[test]
    fn examples_of_three_dimensions() {
        for (gob_rows, wanted) in [(2, [0x28c, 0x38c, 0x7fc]), (3, [0x28c, 0x38c, 0x7fc])] {
            let view = view(Kind::D3, [16, 8, 4], 4, 1, 1, Layout::BlockLinear(layout(gob_rows, 1, 2, 1)));
            let texels = [(3, 2, 1), (3, 6, 1), (15, 7, 3)];
            assert_eq!(texels.map(|(x, y, z)| view.element_address(0, x, y, z, 0)), wanted);
            assert_eq!(check_disjoint(&view), 0x800);
        }
    }

    #[test]
    fn levels_and_layers() {
        let starts = [[0, 0x1800, 0x2000, 0x2200, 0x2300], [0, 0x1800, 0x2000, 0x2200, 0x2400]];
        for (gob_rows, starts, stride) in [(2, starts[0], 0x2400), (3, starts[1], 0x2800)] {
            let layout = Layout::BlockLinear(layout(gob_rows, 2, 0, 5));
            let view = view(Kind::D2Array, [40, 20, 1], 4, 5, 3, layout);
            let found: Vec<u64> = (0..5).map(|level| view.element_address(level, 0, 0, 0, 0)).collect();
            assert_eq!(found, starts);
            assert_eq!(view.element_address(0, 0, 0, 0, 1), stride);
            check_disjoint(&view);
        }
    }

    #[test]
    fn elements_do_not_overlap() {
        for gob_rows in [2, 3] {
            for bytes in [1, 2, 4, 8, 16] {
                for (height, depth) in [(0, 0), (3, 1), (5, 5)] {
                    let layout = Layout::BlockLinear(layout(gob_rows, height, depth, 4));
                    check_disjoint(&view(Kind::D3, [19, 37, 5], bytes, 4, 1, layout.clone()));
                    check_disjoint(&view(Kind::D2Array, [33, 21, 1], bytes, 4, 3, layout.clone()));
                    check_disjoint(&view(Kind::D1, [300, 1, 1], bytes, 4, 1, layout.clone()));
                    check_absurd(&layout);
                }
            }
        }
        let whole = BlockLinear { shrink: false, ..layout(3, 4, 0, 1) };
        let view = view(Kind::D2, [40, 20, 1], 4, 1, 1, Layout::BlockLinear(whole));
        // A block has 128 rows, though there are only 20.
        assert_eq!(view.element_address(0, 16, 0, 0, 0), 128 * 64);
        check_disjoint(&view);
    }
}
