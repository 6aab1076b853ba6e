//! [`Layout`]: where the elements of an image are in memory.
//!
//! Levels, and rows, columns and slices in them, are those of *elements*: of block-compressed formats these are blocks. Sizes that make
//! no sense give addresses that make none, and nothing else.

pub mod chips;
mod formula;
pub mod gcn;
pub mod gfx9;
mod image;
mod macro_tiles;
pub mod nvidia;
mod place;

pub use formula::{Formula, Part};
pub use image::Image;

use crate::kind::Kind;
use place::Place;

/// Where the elements of an image are, relative to its address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Rows of `pitch` bytes, layers (or slices of three dimensions) of `layer` bytes; one level. Of buffers neither counts.
    Pitch {
        /// Bytes from row to row.
        pitch: u64,
        /// Bytes from layer to layer.
        layer: u64,
    },
    /// Blocks of gobs: NVIDIA's from G80 on.
    BlockLinear(nvidia::BlockLinear),
    /// AMD's up to GCN 1.2: linear, in micro tiles or in macro tiles.
    Gcn(gcn::Surface),
    /// AMD's of GCN 1.4: linear, or swizzled in blocks.
    Gfx9(gfx9::Surface),
}

/// A level of an image, prepared for computing addresses.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// Where the level begins: its first element, unless a swizzle moves that.
    address: u64,
    /// Elements along x, y, z.
    size: [u32; 3],
    /// Bytes of an element.
    bytes: u64,
    /// Whether `z` counts for slices, or the layer.
    solid: bool,
    /// How it is laid out.
    place: Place,
}

impl Level {
    /// The addresses of this level's elements, or only those of one slice (of the level where it has some, else of the image), if they have
    /// such a form.
    pub fn formula(&self, slice: Option<u32>) -> Option<Formula> {
        let bytes = self.bytes;
        let of = |start: u64, parts: [Part; 3], flips: u32| Some(Formula { start, parts, flips });
        match &self.place {
            &Place::Rows { pitch, slice } => {
                of(self.address, [Part::steps(bytes), Part::steps(pitch), Part::steps(slice)], 0)
            }
            Place::Gobs(gobs) => {
                let log2 = bytes.is_power_of_two().then(|| bytes.trailing_zeros())?;
                let [columns, rows] = gobs.parts(log2.min(6));
                let slices = if self.solid { gobs.slices() } else { Part::steps(gobs.layer_bytes()) };
                of(self.address, [columns, rows, slices], 0)
            }
            Place::Micro(tiles) => of(self.address, tiles.parts()?, 0),
            Place::Macro(tiles) => {
                let (parts, flips) = tiles.parts(slice)?;
                of(self.address, parts, flips)
            }
            Place::Blocks(blocks) => {
                let (start, parts, flips) = blocks.parts();
                of(self.address.wrapping_add(start), parts, flips)
            }
        }
    }

    /// Elements along x, y, z.
    pub fn size(&self) -> [u32; 3] {
        self.size
    }

    /// Address of an element: its column, row and slice in the level, and the layer of the image.
    #[inline]
    pub fn address(&self, x: u32, y: u32, z: u32, layer: u32) -> u64 {
        let [column, row] = [x, y].map(u64::from);
        // What is not solid has slices by layers only.
        let slice = if self.solid { z } else { layer };
        let offset = match &self.place {
            Place::Rows { pitch, slice: bytes } => {
                let row = row.wrapping_mul(*pitch).wrapping_add(u64::from(slice).wrapping_mul(*bytes));
                column.wrapping_mul(self.bytes).wrapping_add(row)
            }
            Place::Gobs(gobs) => gobs.offset(column.wrapping_mul(self.bytes), y, z, layer),
            Place::Micro(tiles) => tiles.offset(x, y, slice),
            Place::Macro(tiles) => tiles.offset(x, y, slice),
            Place::Blocks(blocks) => blocks.offset(x, y, slice),
        };
        self.address.wrapping_add(offset)
    }
}

impl Layout {
    /// A level of an image, prepared for computing addresses.
    pub fn level(&self, image: Image<'_>, level: u32) -> Level {
        let bytes = u64::from(image.format.bytes.max(1));
        let size = image.format.elements(image.level_size(level));
        let (address, place) = match self {
            &Layout::Pitch { pitch, layer } => (image.address, Place::Rows { pitch, slice: layer }),
            Layout::BlockLinear(layout) => {
                let (start, gobs) = layout.level(image, level);
                (image.address.wrapping_add(start), Place::Gobs(gobs))
            }
            Layout::Gcn(surface) => surface.level(image, level),
            Layout::Gfx9(surface) => surface.level(image, level),
        };
        Level { address, size, bytes, solid: image.kind == Kind::D3, place }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::View;
    use crate::{Format, Source, format::Number};

    /// A view of all levels and layers of an image whose elements have so many bytes.
    pub(crate) fn view(
        kind: Kind,
        size: [u32; 3],
        bytes: u8,
        levels: u32,
        layers: u32,
        layout: Layout,
    ) -> View {
        View {
            kind,
            size,
            first_level: 0,
            last_level: levels - 1,
            first_layer: 0,
            layers,
            min_lod: 0,
            format: Format::fields(bytes, &[(0, 8, Number::Uint)]),
            sources: [0, 1, 2, 3].map(Source::Component),
            normalized: true,
            layout,
            address: 0,
        }
    }

    /// All elements of all levels and layers have bytes of their own, aligned to their size. Returns the end of the last.
    pub(crate) fn check_disjoint(view: &View) -> u64 {
        let bytes = u64::from(view.format.bytes);
        let mut starts = Vec::new();
        for number in 0..=view.last_level {
            let level = view.level(number);
            let [width, height, depth] = level.size();
            for layer in 0..view.layers {
                for z in 0..depth {
                    for y in 0..height {
                        starts.extend((0..width).map(|x| level.address(x, y, z, layer)));
                    }
                }
            }
        }
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= bytes), "overlap: {view:?}");
        assert!(starts.iter().all(|start| start % bytes == 0 || bytes == 12), "alignment: {view:?}");
        starts.last().map_or(0, |start| start + bytes)
    }

    /// Nothing panics, whatever the sizes.
    pub(crate) fn check_absurd(layout: &Layout) {
        for kind in [Kind::D1, Kind::D2, Kind::D3, Kind::CubeArray] {
            for size in [[1; 3], [u32::MAX; 3], [0x1234_5678, 1, 77], [0; 3]] {
                for bytes in [1, 12, 16] {
                    for level in [0, 1, 15, 40, u32::MAX] {
                        let view = view(kind, size, bytes, 1, 1, layout.clone());
                        let level = view.level(level);
                        let at = [0, 1, 0x1234, u32::MAX];
                        at.iter().for_each(|&n| {
                            level.address(n, n, n, n);
                        });
                    }
                }
            }
        }
    }

    #[test]
    fn rows() {
        let layout = Layout::Pitch { pitch: 64, layer: 1024 };
        let view = view(Kind::D2Array, [10, 6, 1], 4, 1, 3, layout.clone());
        assert_eq!(view.element_address(0, 3, 2, 0, 1), 3 * 4 + 2 * 64 + 1024);
        assert_eq!(check_disjoint(&view), 2 * 1024 + 5 * 64 + 40);
        check_absurd(&layout);
        let buffer = super::tests::view(
            Kind::Buffer,
            [u32::MAX, 1, 1],
            16,
            1,
            1,
            Layout::Pitch { pitch: 0, layer: 0 },
        );
        assert_eq!(buffer.element_address(0, u32::MAX, 0, 0, 0), 16 * u64::from(u32::MAX));
    }
}
