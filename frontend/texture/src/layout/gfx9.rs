//! Images of GCN 1.4: linear, or in blocks of 256 bytes, 4 KB or 64 KB with a swizzle in them (docs/hardware/graphics-gcn.md section 4.3).

use super::image::Image;
use super::{formula::Part, place::Place};
use crate::kind::Kind;

/// An image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Surface {
    /// Swizzle mode of the descriptor, 0 to 31. Those that are not defined are taken as linear.
    pub swizzle: u8,
    /// `epitch + 1` of the descriptor: elements from row to row where there is one level, else rows or elements of the chain of levels.
    pub pitch: u32,
    /// Levels of the *resource*, at least 1.
    pub levels: u32,
    /// `GB_ADDR_CONFIG`, whose numbers of pipes, banks and shader engines count.
    pub gb_addr_config: u32,
    /// Samples of a texel, and the one whose elements are meant.
    pub samples: u32,
    /// See [`Surface::samples`].
    pub sample: u32,
}

/// Order of elements in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Depth,
    Standard,
    Display,
    Rotated,
}

/// What a swizzle mode says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Swizzle {
    /// Log2 of the bytes of a block.
    block: u32,
    order: Order,
    /// Whether pipe and bank are changed by higher bits, and also by the slice.
    xor: bool,
    of_slice: bool,
}

fn swizzle(mode: u8) -> Option<Swizzle> {
    let (block, xor, of_slice) = match mode {
        1..=3 => (8, false, false),
        4..=7 => (12, false, false),
        8..=11 => (16, false, false),
        16..=19 => (16, true, false),
        20..=23 => (12, true, true),
        24..=27 => (16, true, true),
        _ => return None,
    };
    let order = match mode & 3 {
        0 => Order::Depth,
        1 => Order::Standard,
        2 => Order::Display,
        _ => Order::Rotated,
    };
    Some(Swizzle { block, order, xor, of_slice })
}

/// A level in swizzled blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// Log2 of the block's bytes, and of its elements along x, y, z.
    block: u32,
    size: [u32; 3],
    /// Where the level begins in the image, in blocks.
    start: [u64; 3],
    /// Blocks of a row and of a slice of the image.
    columns: u64,
    slice: u64,
    /// What each bit of x, y and the slice changes in a block's offset.
    bits: [[u32; 16]; 3],
    /// What all offsets have in addition: the place among the smallest levels, and the image's own swizzle.
    tail: u32,
    swizzle: u32,
}

impl Blocks {
    /// Bytes to the first block, what columns, rows and slices add to addresses, and what is changed in all of them.
    pub(super) fn parts(&self) -> (u64, [Part; 3], u32) {
        let steps = [1, self.columns, self.slice].map(|blocks| blocks << self.block);
        let inside = ((1u64 << self.block) - 1) as u32;
        let start =
            steps.iter().zip(self.start).fold(0u64, |sum, (step, n)| sum.wrapping_add(step.wrapping_mul(n)));
        let parts = std::array::from_fn(|axis| Part {
            low: self.size[axis],
            step: steps[axis],
            bits: self.bits[axis].map(|bits| bits & inside),
        });
        (start, parts, (self.tail ^ self.swizzle) & inside)
    }

    #[inline]
    pub(super) fn offset(&self, x: u32, y: u32, slice: u32) -> u64 {
        let mut inside = self.tail ^ self.swizzle;
        for (value, bits) in [x, y, slice].into_iter().zip(&self.bits) {
            let mut rest = value & 0xffff;
            while rest != 0 {
                inside ^= bits[rest.trailing_zeros() as usize & 15];
                rest &= rest - 1;
            }
        }
        let at = |value: u32, axis: usize| u64::from(value >> self.size[axis]).wrapping_add(self.start[axis]);
        let block = at(slice, 2).wrapping_mul(self.slice);
        let block = block.wrapping_add(at(y, 1).wrapping_mul(self.columns)).wrapping_add(at(x, 0));
        block << self.block | u64::from(inside & ((1 << self.block) - 1))
    }
}

/// An axis, and a bit of a coordinate along it.
type Source = (usize, u32);
/// The axis of samples.
const SAMPLE: usize = 3;

/// Which bits of coordinates the bits of a block's offset are, and those of bits that would follow.
fn sources(kind: Swizzle, thick: bool, bytes: u32) -> [Option<Source>; 40] {
    let micro: &[u8] = match (thick, kind.order, bytes) {
        (true, Order::Depth, 0) => b"x0y0x1y1z0z1x2z2y2x3",
        (true, Order::Depth, 1) => b"x0y0x1y1z0z1z2y2x2",
        (true, Order::Depth, 2) => b"x0y0x1z0y1z1y2x2",
        (true, Order::Depth, 3) => b"x0y0z0x1z1y1x2",
        (true, Order::Depth, _) => b"x0y0z0z1y1x1",
        (true, _, 0) => b"x0x1x2x3y0y1z0z1z2y2",
        (true, _, 1) => b"x0x1x2y0y1z0z1z2y2",
        (true, _, 2) => b"x0x1y0y1z0z1y2x2",
        (true, _, 3) => b"x0y0y1z0z1x1x2",
        (true, _, _) => b"y0y1z0z1x0x1",
        // The rest follows the rule for bits above: from bit 6 on y where the bit is even.
        (false, Order::Depth, 0) => b"x0y0x1y1x2y2",
        (false, Order::Depth, 1) => b"x0y0x1y1x2",
        (false, Order::Depth, 2) => b"x0y0x1y1",
        (false, Order::Depth, 3) => b"x0y0x1",
        (false, Order::Depth, _) => b"x0y0",
        (false, Order::Standard, 0) => b"x0x1x2x3y0y1y2y3",
        (false, Order::Standard, 1) => b"x0x1x2y0y1y2x3",
        (false, Order::Standard, 2) => b"x0x1y0y1y2x2",
        (false, Order::Standard, 3) => b"x0y0y1x1x2",
        (false, Order::Standard, _) => b"y0y1x0x1",
        (false, Order::Display, 0) => b"x0x1x2y1y0y2x3y3",
        (false, Order::Display, 1) => b"x0x1x2y0y1y2x3",
        (false, Order::Display, 2) => b"x0x1y0x2y1y2",
        (false, Order::Display, 3) => b"x0y0x1x2y1",
        (false, Order::Display, _) => b"x0y0x1y1",
        (false, Order::Rotated, 0) => b"y0y1y2x1x0x2x3y3",
        (false, Order::Rotated, 1) => b"y0y1y2x0x1x2x3",
        (false, Order::Rotated, 2) => b"y0y1x0y2x1x2",
        (false, Order::Rotated, 3) => b"y0x0y1x1x2",
        // Not defined: as the standard order.
        (false, Order::Rotated, _) => b"y0y1x0x1",
    };
    let mut sources = [None; 40];
    let mut next = [0; 3];
    let mut place = bytes;
    for pair in micro.chunks(2) {
        let axis = usize::from(pair[0] - b'x');
        let bit = u32::from(pair[1] - b'0');
        sources[place as usize] = Some((axis, bit));
        next[axis] = next[axis].max(bit + 1);
        place += 1;
    }
    for place in place as usize..40 {
        let axis = match thick {
            true => [0, 2, 1][place % 3],
            false => 1 - place % 2,
        };
        sources[place] = Some((axis, next[axis]));
        next[axis] += 1;
    }
    sources
}

/// The same where texels have `samples` bits of samples: those of depths are the lowest bits, and x goes first up to as many bits more; those
/// of colours are the highest bits of the block. Both are as in the data equations of AMD's address library.
fn with_samples(
    of_pixels: [Option<Source>; 40],
    kind: Swizzle,
    bytes: u32,
    samples: u32,
) -> [Option<Source>; 40] {
    let mut sources = of_pixels;
    let first = match kind.order {
        Order::Depth => {
            let (start, turn) = (bytes + samples, 6 + samples);
            let mut next = [0; 2];
            for place in start..40 {
                let y =
                    if place < turn { (place - start) % 2 != 0 } else { (place - turn).is_multiple_of(2) };
                let axis = usize::from(y);
                sources[place as usize] = Some((axis, next[axis]));
                next[axis] += 1;
            }
            bytes
        }
        _ => kind.block - samples,
    };
    for number in 0..samples {
        sources[(first + number) as usize] = Some((SAMPLE, number));
    }
    sources
}

/// Log2 of a block's elements along x, y, z.
fn block_size(block: u32, thick: bool, bytes: u32) -> [u32; 3] {
    if !thick {
        let elements = block - bytes;
        return [elements.div_ceil(2), elements / 2, 0];
    }
    let micro = [[4, 3, 3], [3, 3, 3], [3, 3, 2], [3, 2, 2], [2, 2, 2]][bytes as usize];
    let (more, rest) = ((block - 10) / 3, (block - 10) % 3);
    [micro[0] + more, micro[1] + more + rest / 2, micro[2] + more + u32::from(rest != 0)]
}

/// Where the smallest levels are in the block that they share, in 256 bytes: for a block of 64 KB from the first on, for one of 4 KB from
/// the fifth on.
const TAIL: [u32; 12] = [128, 64, 32, 16, 8, 6, 5, 4, 3, 2, 1, 0];

fn half(blocks: u64) -> u64 {
    blocks.div_ceil(2)
}

/// The chain of an image's levels.
struct Chain {
    /// Blocks of a row and rows of blocks of all levels.
    columns: u64,
    rows: u64,
    /// Where the wanted level begins, in blocks.
    start: [u64; 3],
    /// Its number among the smallest levels, if it is one.
    in_tail: Option<u32>,
}

impl Surface {
    fn log2(&self, bit: u32, most: u32, width: u32) -> u32 {
        (self.gb_addr_config >> bit & ((1 << width) - 1)).min(most)
    }

    /// Where a level begins, and how it is laid out.
    pub(super) fn level(&self, image: Image<'_>, level: u32) -> (u64, Place) {
        let one_dimension = matches!(image.kind, Kind::D1 | Kind::D1Array | Kind::Buffer);
        match swizzle(self.swizzle) {
            Some(kind) if !one_dimension => self.blocks(image, level.min(31), kind),
            _ => self.rows(image, level.min(31), one_dimension),
        }
    }

    fn rows(&self, image: Image<'_>, level: u32, one_dimension: bool) -> (u64, Place) {
        let bytes = u64::from(image.format.bytes.max(1));
        let [width, height, _] = image.format.elements(image.level_size(0)).map(u64::from);
        let given = u64::from(self.pitch);
        let several = self.levels > 1;
        let (pitch, rows) = match several {
            true => (width.next_multiple_of((256 / bytes).max(1)), given),
            false => (given, if one_dimension { 1 } else { height }),
        };
        let (mut above, mut of_level) = (0u64, height);
        for _ in 0..level {
            above = above.wrapping_add(of_level);
            of_level = of_level.div_ceil(2);
        }
        let pitch = pitch.wrapping_mul(bytes);
        let start = image.address.wrapping_add(above.wrapping_mul(pitch));
        (start, Place::Rows { pitch, slice: pitch.wrapping_mul(rows) })
    }

    fn blocks(&self, image: Image<'_>, level: u32, kind: Swizzle) -> (u64, Place) {
        let bytes = u32::from(image.format.bytes.max(1)).next_power_of_two().ilog2().min(4);
        let solid = image.kind == Kind::D3;
        let thick = solid && kind.block > 8 && matches!(kind.order, Order::Depth | Order::Standard);
        // In three dimensions "display" means thin blocks, in the standard order.
        let order = if solid && kind.order == Order::Display { Order::Standard } else { kind.order };
        let kind = Swizzle { order, ..kind };
        let of_pixels = sources(kind, thick, bytes);
        let samples = self.samples.clamp(1, 16).ilog2().min(kind.block - bytes);
        let sources = if samples > 0 { with_samples(of_pixels, kind, bytes, samples) } else { of_pixels };
        let mut size = block_size(kind.block, thick, bytes);
        // So many elements fewer: first half as many columns, then half as many rows, and so on.
        size[0] -= samples.div_ceil(2).min(size[0]);
        size[1] -= (samples / 2).min(size[1]);
        let chain = self.chain(image, level, kind, thick, size);

        let mut bits = [[0u32; 16]; 4];
        let mut change = |source: Option<Source>, by: u32| {
            if let Some((axis, bit)) = source
                && let Some(bits) = bits[axis].get_mut(bit as usize)
            {
                *bits ^= by;
            }
        };
        for place in 0..kind.block {
            change(sources[place as usize], 1 << place);
        }
        let mut of_address = 0;
        // Samples of colours turn nothing.
        let turning = if kind.order == Order::Depth { sources } else { of_pixels };
        if kind.xor {
            let room = kind.block - 8;
            let pipes = room.min(self.log2(0, 5, 3) + self.log2(19, 3, 2));
            let banks = (room - pipes).min(self.log2(12, 4, 3));
            let parts = if thick { 3 } else { 2 };
            for (first, count) in [(8, pipes), (8 + pipes, banks)] {
                for n in 0..count {
                    for other in 1..parts {
                        let source = match thick {
                            true => first + 3 * count - other - 2 * n,
                            false => first + 2 * count - 1 - n,
                        };
                        // Without the slice nothing above the block counts.
                        if kind.of_slice || source < kind.block {
                            change(turning[source as usize], 1 << (first + n));
                        }
                    }
                }
            }
            // Slices of thin blocks change pipe and bank, their lowest bit the highest of these.
            if kind.of_slice && !thick && samples == 0 {
                (0..pipes).for_each(|n| change(Some((2, n)), 1 << (8 + pipes - 1 - n)));
                (0..banks).for_each(|n| change(Some((2, pipes + n)), 1 << (8 + pipes + banks - 1 - n)));
            }
            if kind.of_slice {
                of_address = image.address as u32 & ((1 << (pipes + banks)) - 1) << 8;
            }
        }
        let tail = chain.in_tail.map_or(0, |n| {
            let entry = (n + 16 - kind.block.min(16)) as usize;
            TAIL.get(entry).copied().unwrap_or(0) << 8
        });
        let [bits @ .., of_sample] = bits;
        let of_sample = of_sample.iter().enumerate();
        let sample =
            of_sample.fold(0, |all, (n, bits)| all ^ if self.sample >> n & 1 != 0 { *bits } else { 0 });
        let blocks = Blocks {
            block: kind.block,
            size,
            start: chain.start,
            columns: chain.columns,
            slice: chain.columns.wrapping_mul(chain.rows),
            bits,
            tail: tail ^ sample,
            swizzle: of_address,
        };
        (image.address - u64::from(of_address), Place::Blocks(blocks))
    }

    /// The chain of levels, and where in it one is.
    fn chain(&self, image: Image<'_>, level: u32, kind: Swizzle, thick: bool, size: [u32; 3]) -> Chain {
        let elements = image.format.elements(image.level_size(0)).map(u64::from);
        let of_blocks = |axis: usize| elements[axis].div_ceil(1 << size[axis]).max(1);
        let mut blocks = [of_blocks(0), of_blocks(1), of_blocks(2)];
        let given = u64::from(self.pitch);
        if self.levels <= 1 {
            let columns = given.div_ceil(1 << size[0]);
            return Chain { columns, rows: blocks[1], start: [0; 3], in_tail: None };
        }
        // What fits in half a block has all levels in the tail.
        let mut tail_size = size;
        let halved = match (thick, kind.block % 3) {
            (false, _) | (true, 1) => 0,
            (true, 0) => 1,
            (true, _) => 2,
        };
        tail_size[halved] = tail_size[halved].saturating_sub(1);
        let axes = if thick { 3 } else { 2 };
        let fits = |level: u32| {
            let size = image.format.elements(image.level_size(level));
            kind.block > 8 && (0..axes).all(|axis| u64::from(size[axis]) <= 1 << tail_size[axis])
        };
        if fits(0) {
            return Chain { columns: 1, rows: 1, start: [0; 3], in_tail: Some(level) };
        }
        let x_major = blocks[0] >= blocks[1] && (!thick || blocks[0] >= blocks[2]);
        let y_major = blocks[0] < blocks[1] && (!thick || blocks[1] >= blocks[2]);
        // The last level of all, or the first in the tail, if that comes before.
        let last = self.levels.min(32) - 1;
        let ending = (0..last).find(|&n| fits(n)).unwrap_or(last);
        let second = |blocks: u64| match half(blocks) {
            1 if ending > 2 => 2,
            other => other,
        };
        let (columns, rows) = match y_major {
            true => (blocks[0].wrapping_add(second(blocks[0])), blocks[1]),
            false => (blocks[0], blocks[1].wrapping_add(second(blocks[1]))),
        };
        // The descriptor gives one of them.
        let (columns, rows) = match y_major {
            true => (given.div_ceil(1 << size[0]), rows),
            false => (columns, given.div_ceil(1 << size[1])),
        };
        let mut start = [0u64; 3];
        for number in 1..=level {
            let axis = match number {
                1 | 3 if y_major => 0,
                1 | 3 => 1,
                _ if x_major => 0,
                _ if y_major => 1,
                _ => 2,
            };
            start[axis] = start[axis].wrapping_add(blocks[axis]);
            let [x, y, z] = blocks;
            let in_tail = kind.block > 8
                && match (thick, kind.block % 3) {
                    (false, _) => x == 1 && y <= 2,
                    (true, 0) => x <= 2 && y == 1 && z <= 2,
                    (true, 1) => x == 1 && y <= 2 && z <= 2,
                    (true, _) => x <= 2 && y <= 2 && z == 1,
                };
            if in_tail {
                return Chain { columns, rows, start, in_tail: Some(level - number) };
            }
            blocks = blocks.map(half);
        }
        Chain { columns, rows, start, in_tail: None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Layout,
        tests::{check_absurd, check_disjoint, view},
    };
    use super::*;
    use crate::View;

    const VEGA10: u32 = 0x2a11_4042;

    fn surface(swizzle: u8, pitch: u32, levels: u32) -> Surface {
        Surface { swizzle, pitch, levels, gb_addr_config: VEGA10, samples: 1, sample: 0 }
    }

    fn starts(view: &View, levels: u32) -> Vec<u64> {
        (0..levels).map(|level| view.element_address(level, 0, 0, 0, 0)).collect()
    }

    /// Rows 10, 5, 3, 2, 1: 21 in all; 20 elements of 4 bytes in rows of 256 bytes.
    #[test]
    fn linear_levels() {
        let layout = |levels, pitch| Layout::Gfx9(surface(0, pitch, levels));
        let several = view(Kind::D2Array, [20, 10, 1], 4, 5, 3, layout(5, 21));
        assert_eq!(starts(&several, 5), [0, 2560, 3840, 4608, 5120]);
        assert_eq!(several.element_address(0, 3, 2, 0, 1), 21 * 256 + 2 * 256 + 12);
        check_disjoint(&several);
        let one = view(Kind::D2Array, [20, 10, 1], 4, 1, 3, layout(1, 128));
        assert_eq!(one.element_address(0, 1, 1, 0, 1), 10 * 512 + 512 + 4);
        let rows = view(Kind::D1Array, [20, 1, 1], 4, 3, 2, layout(3, 3));
        assert_eq!(rows.element_address(2, 1, 0, 0, 1), 3 * 256 + 2 * 256 + 4);
        check_disjoint(&rows);
    }

    #[test]
    fn orders_in_a_block() {
        let place = |swizzle, x, y, layer| {
            view(Kind::D2Array, [128, 64, 1], 4, 1, 2, Layout::Gfx9(surface(swizzle, 128, 1)))
                .element_address(0, x, y, 0, layer)
        };
        // Standard, 256 bytes: x0 x1 y0 y1 y2 x2 above two bits of bytes; blocks of 8 x 8.
        assert_eq!(
            [(1, 0), (2, 0), (4, 0), (0, 1), (8, 0), (0, 8)].map(|(x, y)| place(1, x, y, 0)),
            [4, 8, 128, 16, 256, 4096]
        );
        // Depth, 64 KB: x0 y0 x1 y1 y2 x2 y3 x3 ...; blocks of 128 x 128.
        assert_eq!(
            [(1, 0), (0, 1), (0, 4), (4, 0), (0, 8)].map(|(x, y)| place(8, x, y, 0)),
            [4, 8, 64, 128, 256]
        );
        // With four pipe bits: address bit 8 is also bit 15 of the offset (x6), 11 also 12 (y5). Slices turn the highest pipe bit first.
        assert_eq!(place(25, 64, 0, 0), 1 << 15 | 1 << 8);
        assert_eq!(place(25, 0, 32, 0), 1 << 12 | 1 << 11);
        assert_eq!(place(25, 0, 0, 1), 0x1_0000 | 1 << 11);
    }

    /// Bits of samples, as the address library's data equations have them.
    #[test]
    fn samples_lie_where_the_address_library_has_them() {
        let place = |swizzle, samples, sample, x, y, layer| {
            let surface = Surface { samples, sample, ..surface(swizzle, 256, 1) };
            view(Kind::D2Array, [256, 256, 1], 4, 1, 2, Layout::Gfx9(surface))
                .element_address(0, x, y, 0, layer)
        };
        // Depth, four samples: two bits above those of bytes, then x0 y0 x1 y1, and from bit 8 on y2 x2 y3 x3 ...
        let of_depth =
            [(1, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, 1), (0, 2, 0), (0, 0, 2), (0, 0, 4), (0, 4, 0)];
        let bits = of_depth.map(|(sample, x, y)| place(8, 4, sample, x, y, 0));
        assert_eq!(bits, [4, 8, 16, 32, 64, 128, 256, 512]);
        // Blocks of 64 x 64 then: half of 128 x 128 along x, and along y.
        assert_eq!([place(8, 4, 0, 64, 0, 0), place(8, 4, 0, 0, 64, 0)], [0x1_0000, 0x4_0000]);
        // Colours, standard, two samples: the highest bit of a block of 64 x 128.
        assert_eq!([place(9, 2, 1, 0, 0, 0), place(9, 2, 0, 64, 0, 0)], [1 << 15, 0x1_0000]);
        assert_eq!([place(9, 8, 1, 0, 0, 0), place(9, 8, 4, 0, 0, 0)], [1 << 13, 1 << 15]);
        // Pipes are turned by bits of pixels as if there were no samples: bit 8 by x6, which is above the block; not by samples or slices.
        assert_eq!(place(25, 2, 0, 64, 0, 0), 0x1_0000 | 1 << 8);
        assert_eq!(place(25, 2, 1, 0, 0, 0), 1 << 15);
        assert_eq!(place(25, 2, 0, 0, 0, 1), 0x1_0000 * 4 * 2);
    }

    /// Elements of all samples have places of their own, in as much room as so many times the elements take.
    #[test]
    fn samples_do_not_overlap() {
        for swizzle in [8, 9, 10, 24, 25, 26] {
            for (bytes, samples) in [(1u32, 8u32), (2, 2), (4, 2), (4, 4), (4, 8), (8, 4), (8, 8)] {
                // A block of AMD's address library: that of one sample, with the width halved first.
                let (elements, halved) = ((1u32 << 16) / bytes, samples.ilog2());
                let (width, height) = (elements.ilog2().div_ceil(2), elements.ilog2() / 2);
                let size = [1 << (width - halved.div_ceil(2)), 1 << (height - halved / 2), 1];
                let mut places: Vec<u64> = Vec::new();
                for sample in 0..samples {
                    let surface = Surface { samples, sample, ..surface(swizzle, size[0], 1) };
                    let view = view(Kind::D2Array, size, bytes as u8, 1, 1, Layout::Gfx9(surface));
                    let all = (0..size[1]).flat_map(|y| (0..size[0]).map(move |x| (x, y)));
                    places.extend(all.map(|(x, y)| view.element_address(0, x, y, 0, 0)));
                }
                places.sort_unstable();
                let wanted = (0..places.len() as u64).map(|n| n * u64::from(bytes));
                assert!(places.iter().copied().eq(wanted), "{swizzle} {bytes} {samples}");
            }
        }
    }

    /// All swizzles, with chains of levels and without.
    #[test]
    fn elements_do_not_overlap() {
        for swizzle in (0..28).filter(|n| !(12..16).contains(n)) {
            for bytes in [1, 2, 4, 8, 16] {
                let flat = |size: [u32; 3], levels, given| {
                    view(Kind::D2Array, size, bytes, levels, 2, Layout::Gfx9(surface(swizzle, given, levels)))
                };
                check_disjoint(&flat([70, 30, 1], 1, 256));
                if swizzle > 3 {
                    // The chain is as high as wide blocks need it, and higher than wide.
                    check_disjoint(&flat([150, 130, 1], 6, 2048));
                    check_disjoint(&flat([60, 300, 1], 6, 2048));
                    check_disjoint(&flat([9, 9, 1], 4, 2048));
                    let solid = Layout::Gfx9(surface(swizzle, 1024, 5));
                    check_disjoint(&view(Kind::D3, [40, 30, 20], bytes, 5, 1, solid));
                }
            }
        }
        for swizzle in 0..=255 {
            check_absurd(&Layout::Gfx9(surface(swizzle, u32::MAX, 16)));
            check_absurd(&Layout::Gfx9(surface(swizzle, 0, u32::MAX)));
            check_absurd(&Layout::Gfx9(Surface { gb_addr_config: u32::MAX, ..surface(swizzle, 77, 1) }));
        }
    }
}
