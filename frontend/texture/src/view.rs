//! [`View`]: a texture as an instruction sees it.

use crate::format::{Number, Packing};
use crate::{Format, Layout};

/// Shape of a texture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// One-dimensional.
    D1,
    /// Two-dimensional.
    D2,
    /// Three-dimensional.
    D3,
    /// Six faces; layers are faces, `6 * cube + face` of an array of cubes.
    Cube,
    /// Layers of one-dimensional textures.
    D1Array,
    /// Layers of two-dimensional textures.
    D2Array,
    /// Layers of cubes.
    CubeArray,
    /// A row of elements without levels; coordinates are element numbers.
    Buffer,
}

impl Kind {
    /// Coordinates along which texels lie: 1, 2 or 3 (a cube: 2).
    pub fn axes(self) -> usize {
        match self {
            Kind::D1 | Kind::D1Array | Kind::Buffer => 1,
            Kind::D2 | Kind::D2Array | Kind::Cube | Kind::CubeArray => 2,
            Kind::D3 => 3,
        }
    }

    /// Whether it has layers that a coordinate names.
    pub fn has_layers(self) -> bool {
        matches!(self, Kind::D1Array | Kind::D2Array | Kind::CubeArray)
    }

    /// Whether it is made of cube faces.
    pub fn is_cube(self) -> bool {
        matches!(self, Kind::Cube | Kind::CubeArray)
    }
}

/// What a component of a result is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// 0.
    Zero,
    /// 1.0.
    OneFloat,
    /// Integer 1.
    OneInt,
    /// Component 0 to 3 of the format.
    Component(u8),
}

/// A texture as an instruction sees it: some levels and layers of an image in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Shape.
    pub kind: Kind,
    /// Texels of level 0 of the image along x, y, z; at least 1. Of a buffer: elements.
    pub size: [u32; 3],
    /// First level of the view.
    pub first_level: u32,
    /// Last level of the view, at least the first.
    pub last_level: u32,
    /// First layer of the view (of a cube: face).
    pub first_layer: u32,
    /// Layers (of a cube: faces) of the view, at least 1.
    pub layers: u32,
    /// Lowest level of detail that sampling may use, relative to the view's first level, in 1/256.
    pub min_lod: u32,
    /// Format of the elements.
    pub format: Format,
    /// What the four results are.
    pub sources: [Source; 4],
    /// Whether coordinates of samples go from 0 to 1 over the texture; else they count texels.
    pub normalized: bool,
    /// Where elements are.
    pub layout: Layout,
    /// Address of the image (level 0, layer 0).
    pub address: u64,
}

impl View {
    /// Texels of a level of the *image* along an axis.
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        let part = |size: u32| size.checked_shr(level).unwrap_or(0).max(1);
        let [x, y, z] = self.size;
        [part(x), part(y), if self.kind == Kind::D3 { part(z) } else { 1 }]
    }

    /// Whether its results are integers, which cannot be filtered. Of a depth with a stencil those components count that sources name, and
    /// the first of them.
    pub fn is_integer(&self) -> bool {
        let Packing::Fields(fields) = self.format.packing else { return self.format.is_integer() };
        let named = self.sources.iter().filter_map(|source| match source {
            Source::Component(component) => Some(fields[usize::from(component & 3)]),
            _ => None,
        });
        named
            .filter(|field| field.bits > 0)
            .map(|field| matches!(field.number, Number::Uint | Number::Sint))
            .next()
            .unwrap_or(false)
    }
}
