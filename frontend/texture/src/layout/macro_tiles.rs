//! Macro tiles of GCN 1.0 to 1.2: micro tiles distributed over pipes and banks (docs/hardware/graphics-gcn.md section 4.1).

use super::formula::Part;
use super::gcn::{Order, TileMode};

/// Bytes of a pipe before the next one's follow.
const INTERLEAVE: u64 = 256;

/// Which bits of a tile's column and row (bit 0: neighbouring tiles) are added up for a bit of the pipe's number.
type PipeBit = (u8, u8);

/// The bits of the pipe's number for each `PIPE_CONFIG`.
fn pipe_bits(config: u8) -> &'static [PipeBit] {
    const X3: u8 = 1;
    const X4: u8 = 2;
    const X5: u8 = 4;
    const X6: u8 = 8;
    const Y3: u8 = 1;
    const Y4: u8 = 2;
    const Y5: u8 = 4;
    const Y6: u8 = 8;
    match config {
        4 => &[(X4, Y3), (X3, Y4)],
        5 => &[(X3 | X4, Y3), (X4, Y4)],
        6 => &[(X3 | X4, Y3), (X4, Y5)],
        7 => &[(X3 | X5, Y3), (X5, Y5)],
        9 => &[(X4 | X5, Y3), (X3, Y4), (X4, Y5)],
        10 => &[(X4 | X5, Y3), (X3, Y4), (X5, Y5)],
        11 => &[(X3 | X4, Y3), (X5, Y4), (X4, Y5)],
        12 => &[(X3 | X4, Y3), (X4, Y4), (X5, Y5)],
        13 => &[(X3 | X4, Y3), (X4, Y6), (X5, Y5)],
        14 => &[(X3 | X5, Y3), (X6, Y5), (X5, Y6)],
        16 => &[(X4, Y3), (X3, Y4), (X5, Y6), (X6, Y5)],
        17 => &[(X3 | X4, Y3), (X4, Y4), (X5, Y6), (X6, Y5)],
        _ => &[(X3, Y3)],
    }
}

/// Sizes of banks, after they were made to fit elements of some size: the tiles of a bank fill the interleave of a pipe at least.
#[derive(Clone, Copy, Debug)]
struct Banks {
    /// Bytes of a tile, or of a part of it if it is split, and the number of parts.
    tile: u64,
    parts: u64,
    pipes: u64,
    width: u64,
    height: u64,
    aspect: u64,
    banks: u64,
}

fn banks(mode: &TileMode, bytes: u64) -> Banks {
    let power = |n: u32| u64::from(n.max(1).next_power_of_two());
    let thickness = u64::from(mode.thickness());
    let whole = mode.tile_bytes(bytes);
    let split = power(mode.tile_split).max(64);
    let pipes = 1 << pipe_bits(mode.pipe_config).len();
    let width = power(mode.bank_width);
    // Thick tiles are never split, but fitted as if they were.
    let tile = whole.min(split);
    let height = power(mode.bank_height).max(INTERLEAVE / (tile * width));
    let aspect = power(mode.macro_aspect).max(INTERLEAVE / (tile * pipes * width));
    let banks = power(mode.banks).clamp(2, 16);
    let aspect = aspect.min(height * banks);
    let parts = if thickness == 1 { whole / tile } else { 1 };
    Banks { tile: if thickness == 1 { tile } else { whole }, parts, pipes, width, height, aspect, banks }
}

/// A level in macro tiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct MacroTiles {
    order: Order,
    /// Bytes from element to element.
    bytes: u64,
    /// Where the elements of the sample begin in a tile.
    first: u64,
    /// Log2 of the slices of a tile.
    thickness: u32,
    banks: Banks,
    /// Log2 of the width and height of a macro tile in elements.
    width: u32,
    height: u32,
    /// Macro tiles of a row, and bytes of one and of a slice in each bank of each pipe.
    columns: u64,
    tile_bytes: u64,
    slice_bytes: u64,
    pipe_config: u8,
    rotation: Rotation,
    /// Whether pipes and banks are those of the first macro tile.
    alike: bool,
    /// Whether parts of tiles have banks of their own.
    parts_rotate: bool,
    /// Added to the number of the pipe and of the bank.
    pipe_swizzle: u64,
    bank_swizzle: u64,
}

/// What slices change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rotation {
    /// Nothing.
    None,
    /// Banks.
    Banks,
    /// Pipes, and banks after all pipes.
    Pipes,
}

impl MacroTiles {
    /// Width and height of a macro tile in elements.
    pub(super) fn dimensions(mode: &TileMode, bytes: u64) -> (u64, u64) {
        let b = banks(mode, bytes);
        (8 * b.width * b.pipes * b.aspect, (8 * b.height * b.banks / b.aspect).max(8))
    }

    /// Whether thin tiles in the banks of `mode`, whose own may be thick, would not fill a pipe's interleave.
    pub(super) fn too_small_if_thin(mode: &TileMode, bytes: u64) -> bool {
        let b = banks(mode, bytes);
        let tile = (64 * bytes).min(mode.tile_split.into());
        tile * b.width * b.height < INTERLEAVE || tile * b.pipes * b.width * b.aspect < INTERLEAVE
    }

    /// Bytes of a macro tile in all pipes and banks.
    pub(super) fn bytes(mode: &TileMode, bytes: u64) -> u64 {
        let b = banks(mode, bytes);
        b.pipes * b.banks * b.width * b.height * b.tile
    }

    /// The bits of an image's address that are no address, but added to pipe and bank.
    pub(super) fn swizzle_mask(mode: &TileMode) -> u64 {
        let b = banks(mode, 1);
        (b.pipes * b.banks - 1) * INTERLEAVE
    }

    /// A level of so many elements a row and rows, both whole macro tiles.
    pub(super) fn new(
        mode: &TileMode,
        order: Order,
        bytes: u64,
        (pitch, rows): (u64, u64),
        swizzle: u64,
        sample: u32,
    ) -> MacroTiles {
        let size = bytes.next_power_of_two();
        let (element, first) = mode.sampled(size, sample);
        let b = banks(mode, size);
        let (wide, high) = MacroTiles::dimensions(mode, size);
        let tile_bytes = b.tile * b.width * b.height;
        let swizzle = swizzle / INTERLEAVE;
        let macro_tiles = (pitch / wide).wrapping_mul(rows / high);
        MacroTiles {
            order,
            bytes: element,
            first,
            thickness: mode.thickness().ilog2(),
            banks: b,
            width: wide.ilog2(),
            height: high.ilog2(),
            columns: pitch / wide,
            tile_bytes,
            slice_bytes: tile_bytes.wrapping_mul(macro_tiles),
            pipe_config: mode.pipe_config,
            rotation: match mode.array_mode {
                4 | 7 | 8 => Rotation::Banks,
                12..=14 => Rotation::Pipes,
                _ => Rotation::None,
            },
            alike: matches!(mode.array_mode, 5 | 9),
            parts_rotate: matches!(mode.array_mode, 4 | 6 | 11 | 12),
            pipe_swizzle: swizzle & (b.pipes - 1),
            bank_swizzle: (swizzle / b.pipes) & (b.banks - 1),
        }
    }

    /// What columns, rows and slices add to addresses, and what is changed in all of them; `None` where that is not independent. Where
    /// slices turn banks, it is for one slice only.
    pub(super) fn parts(&self, slice: Option<u32>) -> Option<([Part; 3], u32)> {
        let b = &self.banks;
        let odd = matches!(self.pipe_config, 7 | 14) && b.width == 1;
        // Slices that turn banks or pipes are added to the swizzle.
        let turns = slice.is_none() && self.rotation != Rotation::None;
        if b.parts > 1 || self.first > 0 || odd || self.alike || turns || !self.bytes.is_power_of_two() {
            return None;
        }
        let spread = |bytes: u64| (bytes / INTERLEAVE).wrapping_mul(b.pipes * b.banks * INTERLEAVE);
        let step = spread(self.tile_bytes);
        let slices = Part {
            low: self.thickness,
            step: spread(self.slice_bytes),
            bits: {
                let [_, _, mut z] = self.order.bits(self.bytes as u32);
                z[self.thickness as usize..].fill(0);
                z
            },
        };
        let slice = slice.unwrap_or(0);
        let of_slice = slices.outside(slice);
        let inside = |x: u32, y: u32| self.offset(x, y, slice).wrapping_sub(of_slice);
        let of_slice_inside = slices.inside(slice);
        let flips = u32::try_from(inside(0, 0)).ok()?;
        let mut parts = [
            Part { low: self.width, step, bits: [0; 16] },
            Part { low: self.height, step: step.wrapping_mul(self.columns), bits: [0; 16] },
            slices,
        ];
        // What is left of a bit's offset is inside a macro tile, where bits do not depend on each other.
        for n in 0..16 {
            let [x, y] = [(1 << n, 0), (0, 1 << n)].map(|(x, y)| inside(x, y));
            let [of_x, of_y] = [parts[0].outside(1 << n), parts[1].outside(1 << n)];
            parts[0].bits[n] = u32::try_from(x.wrapping_sub(of_x)).ok()? ^ flips;
            parts[1].bits[n] = u32::try_from(y.wrapping_sub(of_y)).ok()? ^ flips;
        }
        // The slice's own bits are its part's.
        Some((parts, flips ^ of_slice_inside))
    }

    #[inline]
    pub(super) fn offset(&self, x: u32, y: u32, slice: u32) -> u64 {
        let b = &self.banks;
        let inside = self.order.number(x, y, slice & ((1 << self.thickness) - 1)) * self.bytes + self.first;
        let (part, inside) = if b.parts > 1 { (inside / b.tile, inside % b.tile) } else { (0, inside) };
        let slice = u64::from(slice >> self.thickness);
        let [x, y] = [x, y].map(u64::from);
        let macro_tile = (y >> self.height).wrapping_mul(self.columns).wrapping_add(x >> self.width);
        let in_bank = (y / 8 % b.height) * b.width + x / 8 / b.pipes % b.width;
        let offset = slice.wrapping_mul(b.parts).wrapping_add(part).wrapping_mul(self.slice_bytes);
        let offset = offset.wrapping_add(macro_tile.wrapping_mul(self.tile_bytes));
        let offset = offset.wrapping_add(in_bank * b.tile + inside);
        let (x, y) = match self.alike {
            true => (x & ((1 << self.width) - 1), y & ((1 << self.height) - 1)),
            false => (x, y),
        };
        let (pipe, bank) = (self.pipe(x / 8, y / 8, slice), self.bank(x / 8, y / 8, slice, part));
        let place = bank * b.pipes + pipe;
        let high = (offset / INTERLEAVE).wrapping_mul(b.pipes * b.banks * INTERLEAVE);
        high | (place * INTERLEAVE) | (offset % INTERLEAVE)
    }

    /// The pipe of a micro tile.
    fn pipe(&self, x: u64, y: u64, slice: u64) -> u64 {
        let odd = |bits: u64| u64::from(bits.count_ones() & 1);
        let bit = |&(of_x, of_y): &PipeBit| odd(x & u64::from(of_x)) ^ odd(y & u64::from(of_y));
        let bits = pipe_bits(self.pipe_config).iter().enumerate();
        let pipe = bits.fold(0, |pipe, (n, of)| pipe | bit(of) << n);
        let pipes = self.banks.pipes;
        let rotation = match self.rotation {
            Rotation::Pipes => (pipes / 2).saturating_sub(1).max(1).wrapping_mul(slice),
            _ => 0,
        };
        pipe ^ self.pipe_swizzle.wrapping_add(rotation) & (pipes - 1)
    }

    /// The bank of (a part of) a micro tile.
    fn bank(&self, x: u64, y: u64, slice: u64, part: u64) -> u64 {
        let b = &self.banks;
        let (column, row) = (x / (b.width * b.pipes), y / b.height);
        let bit = |value: u64, n: u32| value >> n & 1;
        let (tx, ty) = (|n| bit(column, n), |n| bit(row, n));
        let mut bank = match b.banks {
            16 => tx(0) ^ ty(3) | (tx(1) ^ ty(2) ^ ty(3)) << 1 | (tx(2) ^ ty(1)) << 2 | (tx(3) ^ ty(0)) << 3,
            8 => tx(0) ^ ty(2) | (tx(1) ^ ty(1) ^ ty(2)) << 1 | (tx(2) ^ ty(0)) << 2,
            4 => tx(0) ^ ty(1) | (tx(1) ^ ty(0)) << 1,
            _ => tx(0) ^ ty(0),
        };
        if matches!(self.pipe_config, 7 | 14) && b.width == 1 {
            bank |= bit(bank, 0) ^ bit(x, 1) ^ bit(x, 2);
        }
        let of_slice = match self.rotation {
            Rotation::None => 0,
            Rotation::Banks => (b.banks / 2 - 1).wrapping_mul(slice),
            Rotation::Pipes => (b.pipes / 2).saturating_sub(1).max(1).wrapping_mul(slice) / b.pipes,
        };
        let of_part = if self.parts_rotate { (b.banks / 2 + 1) * part } else { 0 };
        (bank ^ self.bank_swizzle.wrapping_add(of_slice) ^ of_part) & (b.banks - 1)
    }
}
