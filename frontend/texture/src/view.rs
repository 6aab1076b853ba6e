//! [`View`]: a texture as an instruction sees it.

use crate::format::{Format, Number, Packing};
use crate::kind::Kind;
use crate::layout::{Image, Layout, Level};

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
    /// The image that it is of, as its layout sees it.
    pub fn image(&self) -> Image<'_> {
        Image { kind: self.kind, size: self.size, format: &self.format, address: self.address }
    }

    /// Texels of a level of the *image* along an axis.
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        self.image().level_size(level)
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

    /// A level of the *image*, prepared for computing addresses.
    pub fn level(&self, level: u32) -> Level {
        self.layout.level(self.image(), level)
    }

    /// Address of an element: column, row and slice in a level of the *image*, and the layer of the image.
    pub fn element_address(&self, level: u32, x: u32, y: u32, z: u32, layer: u32) -> u64 {
        self.level(level).address(x, y, z, layer)
    }
}
