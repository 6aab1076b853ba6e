//! Elements and texels of a level, as they are in memory.

use super::lod::levels;

use crate::{Error, Format, Kind, Memory, Source, Texel, View, layout};

/// Texels of a level of the image along x, y, z.
fn size(view: &View, number: u32) -> [u32; 3] {
    let size = match view.kind {
        Kind::Buffer => [view.size[0], 1, 1],
        _ => view.level_size(number),
    };
    size.map(|size| size.max(1))
}

/// Texels of the view's first level along x, y, z.
pub(super) fn first_size(view: &View) -> [u32; 3] {
    size(view, view.first_level)
}

/// One level of a view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// Where its elements are.
    layout: layout::Level,
    /// Its texels along x, y, z.
    pub size: [u32; 3],
    /// Log2 of the texels of an element along x, y: blocks are powers of two.
    block: [u32; 2],
}

impl Level {
    /// A level of a view by its number from the view's first on.
    pub fn new(view: &View, level: u32) -> Self {
        let number = view.first_level.saturating_add(level);
        let (width, height) = view.format.block();
        Level {
            layout: view.level(number),
            size: size(view, number),
            block: [width, height].map(u32::trailing_zeros),
        }
    }

    /// Address of the element that a texel is in; the layer counts from the view's first on.
    pub fn address(&self, view: &View, [x, y, z]: [u32; 3], layer: u32) -> u64 {
        let [width, height] = self.block;
        self.layout.address(x >> width, y >> height, z, view.first_layer.wrapping_add(layer))
    }

    /// The element that a texel is in.
    ///
    /// # Errors
    ///
    /// Its bytes are not there.
    pub fn element<M: Memory + ?Sized>(
        &self,
        view: &View,
        at: [u32; 3],
        layer: u32,
        memory: &mut M,
    ) -> Result<[u8; 16], Error> {
        let mut element = [0; 16];
        let bytes = usize::from(view.format.bytes).min(element.len());
        memory.read(self.address(view, at, layer), &mut element[..bytes]).map_err(Error::Unmapped)?;
        Ok(element)
    }

    /// The components of a texel, before the view's sources. `format` is the view's, or with other numbers than the view's.
    ///
    /// # Errors
    ///
    /// Its bytes are not there.
    pub fn texel<M: Memory + ?Sized>(
        &self,
        view: &View,
        format: &Format,
        at: [u32; 3],
        layer: u32,
        memory: &mut M,
    ) -> Result<Texel, Error> {
        let element = self.element(view, at, layer, memory)?;
        let [x, y] = [0, 1].map(|k: usize| at[k] & ((1 << self.block[k]) - 1));
        Ok(format.decode(&element, x, y))
    }
}

/// The number of a level of the view, if it has it; a buffer has one whatever the number.
pub(super) fn level_number(view: &View, level: u32) -> Option<u32> {
    let level = if view.kind == Kind::Buffer { 0 } else { level };
    (level < levels(view)).then_some(level)
}

/// A place in a level by integers, of which only those count that the view's shape has. The layer counts from the view's first on.
/// `None`: it is outside.
pub(super) fn inside(view: &View, level: &Level, at: [u32; 3], layer: u32) -> Option<[u32; 3]> {
    let axes = view.kind.axes();
    let at = std::array::from_fn(|k| if k < axes { at[k] } else { 0 });
    (layer < view.layers.max(1) && (0..axes).all(|k| at[k] < level.size[k])).then_some(at)
}

/// What the view's sources make of a format's components.
pub(super) fn apply(sources: [Source; 4], texel: Texel) -> Texel {
    sources.map(|source| match source {
        Source::Zero => 0,
        Source::OneFloat => 1f32.to_bits(),
        Source::OneInt => 1,
        Source::Component(component) => texel[usize::from(component & 3)],
    })
}
