//! Images of GCN 1.0 to 1.2: linear, in micro tiles, in macro tiles (docs/hardware/graphics-gcn.md sections 4.1, 4.2).

use super::image::Image;
use super::{formula::Part, macro_tiles::MacroTiles, place::Place};
use crate::kind::Kind;

pub use super::chips::TileTables;

/// Order of the elements of a micro tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Micro {
    /// For displays.
    Display,
    /// For everything else.
    Thin,
    /// For depth; the same order as `Thin`.
    Depth,
    /// For rotated displays.
    Rotated,
    /// Of several slices.
    Thick,
}

/// What an entry of the tile tables says, for elements of some size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileMode {
    /// `ARRAY_MODE`: 0 linear general, 1 linear aligned, 2 and 3 micro tiles (thin, thick), 4 and up macro tiles.
    pub array_mode: u8,
    /// Order in micro tiles.
    pub micro: Micro,
    /// `PIPE_CONFIG`.
    pub pipe_config: u8,
    /// Bytes at which a micro tile is split.
    pub tile_split: u32,
    /// Micro tiles side by side in a bank.
    pub bank_width: u32,
    /// Micro tiles one above the other in a bank.
    pub bank_height: u32,
    /// How much wider than high the tiles of all banks are.
    pub macro_aspect: u32,
    /// Banks: 2, 4, 8 or 16.
    pub banks: u32,
    /// Samples of a texel: a power of two. More than one have thin tiles only.
    pub samples: u32,
    /// Whether thick levels behind the first become thin where there are fewer slices than a tile has: on GCN 1.0.
    pub thins_out: bool,
}

impl TileMode {
    /// Linear, with aligned rows.
    pub const LINEAR_ALIGNED: TileMode = TileMode::linear(1);
    /// Linear, with nothing aligned.
    pub const LINEAR_GENERAL: TileMode = TileMode::linear(0);

    const fn linear(array_mode: u8) -> TileMode {
        TileMode {
            array_mode,
            micro: Micro::Display,
            pipe_config: 0,
            tile_split: 64,
            bank_width: 1,
            bank_height: 1,
            macro_aspect: 1,
            banks: 2,
            samples: 1,
            thins_out: false,
        }
    }

    /// Samples of a texel, at least 1.
    fn all_samples(&self) -> u64 {
        self.samples.clamp(1, 16).into()
    }

    /// Bytes of an element's micro tile: its slices and samples.
    pub(super) fn tile_bytes(&self, bytes: u64) -> u64 {
        64 * bytes * u64::from(self.thickness()) * self.all_samples()
    }

    /// Bytes from an element of a micro tile to the next, and from its first sample to the one named: all elements of a sample stand
    /// together, but the samples of a depth.
    pub(super) fn sampled(&self, bytes: u64, sample: u32) -> (u64, u64) {
        let (samples, sample) = (self.all_samples(), u64::from(sample));
        let sample = sample.min(samples - 1);
        match self.micro {
            Micro::Depth => (bytes * samples, sample * bytes),
            _ => (bytes, sample * 64 * bytes),
        }
    }

    /// Slices of a micro tile.
    pub fn thickness(&self) -> u32 {
        match self.array_mode {
            3 | 7 | 9 | 10 | 13 | 15 => 4,
            8 | 14 => 8,
            _ => 1,
        }
    }

    /// Whether micro tiles are distributed over pipes and banks.
    pub fn is_macro_tiled(&self) -> bool {
        self.array_mode >= 4
    }

    /// The mode of a level behind the first with so many slices.
    fn of_slices(self, slices: u64) -> TileMode {
        if !self.thins_out || slices >= self.thickness().into() {
            return self;
        }
        let array_mode = match self.array_mode {
            3 => 2,
            7 => 4,
            13 => 12,
            8 if slices < 4 => 4,
            8 => 7,
            14 if slices < 4 => 12,
            14 => 13,
            other => other,
        };
        TileMode { array_mode, ..self }
    }
}

/// An image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Surface {
    /// How it is tiled.
    pub mode: TileMode,
    /// Texels from row to row in level 0.
    pub pitch: u32,
    /// Slices of the resource (faces, of cubes); of three dimensions the image's size counts.
    pub slices: u32,
    /// Whether all is padded to powers of two, level 0 too.
    pub pow2_pad: bool,
    /// The sample whose elements are meant.
    pub sample: u32,
}

/// Size and start of a level.
#[derive(Clone, Copy, Debug)]
struct Extent {
    mode: TileMode,
    pitch: u64,
    rows: u64,
    slices: u64,
    start: u64,
    bytes: u64,
}

impl Surface {
    /// Where a level begins, and how it is laid out.
    pub(super) fn level(&self, image: Image<'_>, level: u32) -> (u64, Place) {
        let bytes = u64::from(image.format.bytes.max(1));
        let extent = self.extent(image, level);
        let Extent { mode, pitch, rows, start, .. } = extent;
        if mode.array_mode < 2 {
            let pitch = pitch.wrapping_mul(bytes);
            return (
                image.address.wrapping_add(start),
                Place::Rows { pitch, slice: pitch.wrapping_mul(rows) },
            );
        }
        // Only of macro tiled images do the lowest bits of the address mean pipe and bank.
        let swizzle = match self.mode.is_macro_tiled() {
            true => MacroTiles::swizzle_mask(&self.mode) & image.address,
            false => 0,
        };
        let address = (image.address - swizzle).wrapping_add(start);
        let order = Order::new(&mode, bytes);
        let place = match mode.is_macro_tiled() {
            true => Place::Macro(MacroTiles::new(&mode, order, bytes, (pitch, rows), swizzle, self.sample)),
            false => Place::Micro(MicroTiles::new(&mode, order, bytes, (pitch, rows), self.sample)),
        };
        (address, place)
    }

    /// The sizes of a level, which depend on those of all before.
    fn extent(&self, image: Image<'_>, level: u32) -> Extent {
        // From here on, all levels are as small as can be.
        let level = level.min(32);
        let bytes = u64::from(image.format.bytes.max(1));
        let (block_width, _) = image.format.block();
        let mut end = 0u64;
        let mut number = 0;
        loop {
            let padded = |n: u64| if number > 0 || self.pow2_pad { n.next_power_of_two() } else { n };
            let [_, rows, depth] = image.format.elements(image.level_size(number)).map(u64::from);
            // Widths of levels follow from the first's pitch.
            let width = self.pitch.checked_shr(number).unwrap_or(0).max(1).div_ceil(block_width);
            let width = if number == 0 { width.into() } else { padded(width.into()) };
            let slices = if image.kind == Kind::D3 { depth } else { self.slices.max(1).into() };
            let sizes = [width, padded(rows.max(1)), padded(slices.max(1))];
            let (extent, align) = self.sized(sizes, bytes, number);
            let start = end.wrapping_add(align - 1) & !(align - 1);
            if number == level {
                return Extent { start, ..extent };
            }
            let bytes = extent.pitch.wrapping_mul(extent.rows).wrapping_mul(extent.slices);
            end = start.wrapping_add(bytes.wrapping_mul(extent.bytes));
            number += 1;
        }
    }

    /// Pads a level as its mode asks, which may be a simpler one than the first level's. Also: what its start is aligned to.
    fn sized(&self, [width, rows, slices]: [u64; 3], bytes: u64, level: u32) -> (Extent, u64) {
        let mut extent = Extent { mode: self.mode, pitch: width, rows, slices, start: 0, bytes };
        if self.mode.array_mode < 2 {
            if level > 0 && self.mode.array_mode == 1 {
                let (of_row, of_slice) = ((64 / bytes).max(8), (256 / bytes).max(64));
                extent.pitch = aligned_pitch(width.next_multiple_of(of_row), of_row, rows, of_slice);
            }
            return (extent, if self.mode.array_mode == 1 { 256 } else { 1 });
        }
        let tiled_bytes = bytes.next_power_of_two();
        let mut mode = if level > 0 { self.mode.of_slices(slices) } else { self.mode };
        if level > 0 && mode.is_macro_tiled() {
            let (wide, high) = MacroTiles::dimensions(&self.mode, tiled_bytes);
            let thin = mode.thickness() == 1;
            if width < wide || rows < high || thin && MacroTiles::too_small_if_thin(&self.mode, tiled_bytes) {
                mode.array_mode = if thin { 2 } else { 3 };
                mode = mode.of_slices(slices);
            }
        }
        let thickness = u64::from(mode.thickness());
        extent.mode = mode;
        extent.slices = slices.next_multiple_of(thickness);
        if mode.is_macro_tiled() {
            let (wide, high) = MacroTiles::dimensions(&mode, tiled_bytes);
            extent.pitch = width.next_multiple_of(wide);
            extent.rows = rows.next_multiple_of(high);
            return (extent, MacroTiles::bytes(&mode, tiled_bytes));
        }
        extent.pitch = width.next_multiple_of(8);
        extent.rows = rows.next_multiple_of(8);
        if level > 0 {
            // A slice (of thick tiles, four of them) fills 256 bytes at least.
            let of_slice = (256 / (tiled_bytes * thickness)).max(1);
            extent.pitch = aligned_pitch(extent.pitch, 8, extent.rows, of_slice);
        }
        (extent, 256)
    }
}

/// The least pitch with which slices have a multiple of `of_slice` elements.
fn aligned_pitch(mut pitch: u64, of_row: u64, rows: u64, of_slice: u64) -> u64 {
    for _ in 0..256 {
        if pitch.wrapping_mul(rows).is_multiple_of(of_slice) {
            break;
        }
        pitch += of_row;
    }
    pitch
}

/// Order of the elements in a micro tile: what the lowest three bits of x, y, z add to an element's number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    x: [u16; 8],
    y: [u16; 8],
    z: [u16; 8],
}

impl Order {
    fn new(mode: &TileMode, bytes: u64) -> Order {
        let (thickness, log2) = (mode.thickness(), bytes.max(1).next_power_of_two().ilog2().min(4));
        let thin: &[u8; 12] = match (mode.micro, log2) {
            (Micro::Display, 0) => b"x0x1x2y1y0y2",
            (Micro::Display, 1) => b"x0x1x2y0y1y2",
            (Micro::Display, 2) => b"x0x1y0x2y1y2",
            (Micro::Display, 3) => b"x0y0x1x2y1y2",
            (Micro::Display, _) => b"y0x0x1x2y1y2",
            (Micro::Rotated, 0) => b"y0y1y2x1x0x2",
            (Micro::Rotated, 1) => b"y0y1y2x0x1x2",
            (Micro::Rotated, 2) => b"y0y1x0y2x1x2",
            (Micro::Rotated, 3) => b"y0x0y1x1x2y2",
            _ => b"x0y0x1y1x2y2",
        };
        let thick: Option<&[u8; 16]> = match (mode.micro, log2) {
            (Micro::Thick, 0 | 1) => Some(b"x0y0x1y1z0z1x2y2"),
            (Micro::Thick, 2) => Some(b"x0y0x1z0y1z1x2y2"),
            (Micro::Thick, _) => Some(b"x0y0z0x1y1z1x2y2"),
            _ => None,
        };
        let order = match thick {
            Some(thick) if thickness > 1 => &thick[..],
            _ => &thin[..],
        };
        let mut places = Order { x: [0; 8], y: [0; 8], z: [0; 8] };
        let mut place = 0;
        let mut add = |axis: &mut [u16; 8], bit: u32| {
            for (n, value) in (0u16..).zip(axis) {
                *value |= (n >> bit & 1) << place;
            }
            place += 1;
        };
        for pair in order.chunks(2) {
            let bit = u32::from(pair[1] - b'0');
            match pair[0] {
                b'x' => add(&mut places.x, bit),
                b'y' => add(&mut places.y, bit),
                _ => add(&mut places.z, bit),
            }
        }
        // Thin orders have slices above them, and thick ones the third bit of eight slices.
        let done = order.len() as u32 / 2 - 6;
        (done..thickness.ilog2()).for_each(|bit| add(&mut places.z, bit));
        places
    }

    /// The number of an element in its micro tile.
    #[inline]
    pub(super) fn number(&self, x: u32, y: u32, slice: u32) -> u64 {
        let of = |axis: &[u16; 8], n: u32| axis[n as usize & 7];
        (of(&self.x, x) | of(&self.y, y) | of(&self.z, slice)).into()
    }
}

/// A level in micro tiles, row after row of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct MicroTiles {
    order: Order,
    /// Bytes from element to element.
    bytes: u64,
    /// Where the elements of the sample begin in a tile.
    first: u64,
    /// Log2 of the slices of a tile.
    thickness: u32,
    tile_bytes: u64,
    /// Tiles of a row, and bytes of the slices of a tile.
    columns: u64,
    slice_bytes: u64,
}

impl Order {
    /// What each bit of a coordinate adds, in bytes.
    pub(super) fn bits(&self, bytes: u32) -> [[u32; 16]; 3] {
        [&self.x, &self.y, &self.z].map(|axis| {
            let of = |n: usize| if n < 3 { u32::from(axis[1 << n]) * bytes } else { 0 };
            std::array::from_fn(of)
        })
    }
}

impl MicroTiles {
    /// What columns, rows and slices add to addresses.
    pub(super) fn parts(&self) -> Option<[Part; 3]> {
        let bytes = (self.bytes.is_power_of_two() && self.first == 0).then_some(self.bytes as u32)?;
        let [x, y, mut z] = self.order.bits(bytes);
        z[self.thickness as usize..].fill(0);
        Some([
            Part { low: 3, step: self.tile_bytes, bits: x },
            Part { low: 3, step: self.tile_bytes.wrapping_mul(self.columns), bits: y },
            Part { low: self.thickness, step: self.slice_bytes, bits: z },
        ])
    }

    fn new(mode: &TileMode, order: Order, bytes: u64, (pitch, rows): (u64, u64), sample: u32) -> MicroTiles {
        let tile_bytes = mode.tile_bytes(bytes);
        let (bytes, first) = mode.sampled(bytes, sample);
        MicroTiles {
            order,
            bytes,
            first,
            thickness: mode.thickness().ilog2(),
            tile_bytes,
            columns: pitch / 8,
            slice_bytes: pitch.wrapping_mul(rows).wrapping_mul(tile_bytes / 64),
        }
    }

    #[inline]
    pub(super) fn offset(&self, x: u32, y: u32, slice: u32) -> u64 {
        let tile = u64::from(y / 8).wrapping_mul(self.columns).wrapping_add(u64::from(x / 8));
        let slices = u64::from(slice >> self.thickness).wrapping_mul(self.slice_bytes);
        let inside = self.order.number(x, y, slice & ((1 << self.thickness) - 1)) * self.bytes + self.first;
        slices.wrapping_add(tile.wrapping_mul(self.tile_bytes)).wrapping_add(inside)
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

    fn image(mode: TileMode, kind: Kind, size: [u32; 3], bytes: u8, levels: u32, layers: u32) -> View {
        let pitch = size[0].next_multiple_of(8).max(64).next_power_of_two();
        let surface = Surface { mode, pitch, slices: layers, pow2_pad: levels > 1, sample: 0 };
        view(kind, size, bytes, levels, layers, Layout::Gcn(surface))
    }

    fn starts(view: &View, levels: u32) -> Vec<u64> {
        (0..levels).map(|level| view.element_address(level, 0, 0, 0, 0)).collect()
    }

    /// Worked out by hand from the rules, as in the front end's linear images.
    #[test]
    fn linear_levels() {
        let of = |mode, size, pitch, bytes, slices, pow2_pad| {
            let surface = Surface { mode, pitch, slices, pow2_pad, sample: 0 };
            view(Kind::D2Array, size, bytes, 7, slices, Layout::Gcn(surface))
        };
        let aligned = TileMode::LINEAR_ALIGNED;
        let even = of(aligned, [64, 32, 1], 64, 4, 1, true);
        assert_eq!(starts(&even, 7), [0, 8192, 10240, 10752, 11008, 11264, 11520]);
        assert_eq!(even.element_address(3, 1, 2, 0, 0), 10752 + 2 * 64 + 4);
        let three = of(aligned, [64, 32, 1], 64, 4, 3, false);
        assert_eq!(starts(&three, 3), [0, 3 * 8192, 3 * 8192 + 4 * 2048]);
        let odd = of(aligned, [20, 10, 1], 32, 4, 1, false);
        assert_eq!(starts(&odd, 3), [0, 1280, 1280 + 512]);
        let general = of(TileMode::LINEAR_GENERAL, [20, 10, 1], 20, 4, 1, false);
        assert_eq!(starts(&general, 3), [0, 800, 1312]);
        for mode in [aligned, TileMode::LINEAR_GENERAL] {
            for bytes in [1, 4, 12, 16] {
                check_disjoint(&image(mode, Kind::D2Array, [37, 11, 1], bytes, 6, 3));
                check_disjoint(&image(mode, Kind::D3, [37, 11, 5], bytes, 6, 1));
            }
        }
    }

    /// All modes of all chips: no two elements are in the same place.
    #[test]
    fn tiled_elements_do_not_overlap() {
        for (chip, gfx6) in
            [("tahiti", true), ("verde", true), ("bonaire", false), ("hawaii", false), ("fiji", false)]
        {
            let tables = TileTables::of_chip(chip).unwrap();
            for index in 0..32 {
                for bytes in [1, 4, 16] {
                    let mode = tables.mode(index, bytes.into(), gfx6);
                    check_disjoint(&image(mode, Kind::D2Array, [70, 40, 1], bytes, 4, 3));
                    check_disjoint(&image(mode, Kind::D3, [40, 70, 6], bytes, 4, 1));
                }
            }
        }
        for array_mode in 0..16 {
            for pipe_config in [0, 5, 10, 17, 31] {
                let mode = TileMode { array_mode, pipe_config, ..TileMode::LINEAR_ALIGNED };
                check_absurd(&Layout::Gcn(Surface {
                    mode,
                    pitch: u32::MAX,
                    slices: u32::MAX,
                    pow2_pad: true,
                    sample: 0,
                }));
                check_absurd(&Layout::Gcn(Surface { mode, pitch: 0, slices: 0, pow2_pad: false, sample: 0 }));
                check_disjoint(&image(mode, Kind::D2Array, [150, 40, 1], 2, 4, 2));
            }
        }
    }

    /// Elements of all samples have bytes of their own, and together fill whole tiles.
    #[test]
    fn samples_do_not_overlap() {
        for (chip, gfx6) in [("tahiti", true), ("bonaire", false), ("fiji", false)] {
            let tables = TileTables::of_chip(chip).unwrap();
            for (index, samples, bytes) in
                [(13, 4, 4u8), (14, 2, 4), (14, 4, 8), (14, 8, 1), (0, 4, 4), (5, 2, 4)]
            {
                let mode = tables.mode_of_samples(index, bytes.into(), samples, gfx6);
                assert_eq!(mode.samples, samples);
                let (width, height) = match mode.is_macro_tiled() {
                    true => MacroTiles::dimensions(&mode, bytes.into()),
                    false => (8, 8),
                };
                let size = [2 * width as u32, height as u32, 1];
                let mut starts = Vec::new();
                for sample in 0..samples {
                    let surface = Surface { mode, pitch: size[0], slices: 1, pow2_pad: false, sample };
                    let view = view(Kind::D2, size, bytes, 1, 1, Layout::Gcn(surface));
                    let level = view.level(0);
                    for y in 0..size[1] {
                        starts.extend((0..size[0]).map(|x| level.address(x, y, 0, 0)));
                    }
                }
                starts.sort_unstable();
                let wanted: Vec<u64> = (0..starts.len() as u64).map(|n| n * u64::from(bytes)).collect();
                assert_eq!(starts, wanted, "{chip} {index} {samples} {bytes}");
            }
        }
    }

    /// Micro tiles: samples of a colour are 64 elements each, those of a depth stand together.
    #[test]
    fn samples_of_micro_tiles() {
        let of = |micro, sample| {
            let mode = TileMode { array_mode: 2, micro, samples: 4, ..TileMode::LINEAR_ALIGNED };
            let surface = Surface { mode, pitch: 16, slices: 2, pow2_pad: false, sample };
            view(Kind::D2Array, [16, 16, 1], 4, 1, 2, Layout::Gcn(surface))
        };
        // Tile 2 of rows of two, element 3 (x 1, y 1), sample 2.
        assert_eq!(of(Micro::Thin, 2).element_address(0, 1, 9, 0, 0), 2 * 1024 + 2 * 256 + 3 * 4);
        assert_eq!(of(Micro::Depth, 2).element_address(0, 1, 9, 0, 0), 2 * 1024 + (3 * 4 + 2) * 4);
        assert_eq!(of(Micro::Thin, 3).element_address(0, 0, 0, 0, 1), 4 * 1024 + 3 * 256);
        // Samples that are not there are the last one.
        assert_eq!(of(Micro::Thin, 9).element_address(0, 0, 0, 0, 0), 3 * 256);
    }

    /// Tiles of 8 x 8 elements in order of rows; the order inside by the table.
    #[test]
    fn micro_tiles() {
        let thin = TileTables::of_chip("tahiti").unwrap().mode(13, 4, true);
        let view = image(thin, Kind::D2Array, [64, 16, 1], 4, 1, 2);
        let place = |x, y, layer| view.element_address(0, x, y, 0, layer);
        assert_eq!([place(1, 0, 0), place(0, 1, 0), place(2, 0, 0), place(7, 7, 0)], [4, 8, 16, 252]);
        assert_eq!([place(8, 0, 0), place(0, 8, 0), place(0, 0, 1)], [256, 8 * 256, 16 * 256]);
        // A level of bytes has 32 columns at least, so that it fills 256 bytes.
        let bytes =
            image(TileTables::of_chip("fiji").unwrap().mode(13, 1, false), Kind::D2, [64, 8, 1], 1, 5, 1);
        assert_eq!(starts(&bytes, 5), [0, 512, 768, 1024, 1280]);
    }

    /// Macro tiles of tahiti's mode 16: 64 x 128 elements of four bytes, in 8 pipes and 16 banks.
    #[test]
    fn macro_tiles() {
        let mode = TileTables::of_chip("tahiti").unwrap().mode(16, 4, true);
        let mut view = image(mode, Kind::D2Array, [256, 256, 1], 4, 9, 2);
        let place = |view: &View, x, y, layer| view.element_address(0, x, y, 0, layer);
        // x3 is bit 1 of the pipe, x4 bit 0; y3 bit 0 of the pipe and (as bit 0 of the row of tiles) bit 3 of the bank.
        assert_eq!(
            [place(&view, 8, 0, 0), place(&view, 16, 0, 0), place(&view, 0, 8, 0)],
            [0x200, 0x100, 0x100 + 0x4000]
        );
        // A macro tile has 0x8000 bytes; the next column turns the bank's lowest bit.
        assert_eq!(place(&view, 64, 0, 0), 0x8000 + 0x800);
        // The second slice turns the banks by seven.
        assert_eq!(place(&view, 0, 0, 1), 0x4_0000 + 7 * 0x800);
        // 32 x 32 elements are less than a macro tile: the fourth level and all after it are in micro tiles.
        let levels = starts(&view, 9);
        assert_eq!(levels[..3], [0, 2 * 0x4_0000, 2 * 0x5_0000]);
        assert_eq!(view.element_address(2, 8, 0, 0, 0) - levels[2], 0x100);
        // Bits of the address above 256 bytes change pipe and bank.
        view.address = 0x300;
        assert_eq!([place(&view, 0, 0, 0), place(&view, 8, 0, 0)], [0x300, 0x100]);
    }
}
