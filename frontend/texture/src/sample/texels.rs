//! Elements and texels of a level, as they are in memory.

use super::lod::levels;
use crate::format::{Field, Number, Packing};
use crate::{Error, Format, Kind, Memory, Source, Texel, View};

/// Address of an element: x, y, z in elements; level and layer of the image. The only place that asks the layout.
fn address(view: &View, level: u32, x: u32, y: u32, z: u32, layer: u32) -> u64 {
    view.element_address(level, x, y, z, layer)
}

/// One level of a view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// Its number in the image.
    number: u32,
    /// Its texels along x, y, z.
    pub size: [u32; 3],
}

impl Level {
    /// A level of a view by its number from the view's first on.
    pub fn new(view: &View, level: u32) -> Self {
        let number = view.first_level.saturating_add(level);
        let size = match view.kind {
            Kind::Buffer => [view.size[0], 1, 1],
            _ => view.level_size(number),
        };
        Level { number, size: size.map(|size| size.max(1)) }
    }

    /// Address of the element that a texel is in; the layer counts from the view's first on.
    pub fn address(&self, view: &View, [x, y, z]: [u32; 3], layer: u32) -> u64 {
        let (width, height) = view.format.block();
        address(view, self.number, x / width, y / height, z, view.first_layer.wrapping_add(layer))
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
        let (width, height) = format.block();
        Ok(format.decode(&element, at[0] % width, at[1] % height))
    }
}

/// A place in a view by integers, if it is inside.
pub(super) struct Place {
    pub level: Level,
    pub at: [u32; 3],
    pub layer: u32,
}

/// The place with these coordinates, of which only those count that the view's shape has. Layer and level count from the view's first
/// ones on. `None`: it is outside.
pub(super) fn place(view: &View, at: [u32; 3], layer: u32, level: u32) -> Option<Place> {
    let level = if view.kind == Kind::Buffer { 0 } else { level };
    if level >= levels(view) || layer >= view.layers.max(1) {
        return None;
    }
    let level = Level::new(view, level);
    let axes = view.kind.axes();
    let at = std::array::from_fn(|k| if k < axes { at[k] } else { 0 });
    (0..axes).all(|k| at[k] < level.size[k]).then_some(Place { level, at, layer })
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

/// The format without sRGB's curve.
pub(super) fn linear(format: Format) -> Format {
    let packing = match format.packing {
        Packing::Fields(fields) => Packing::Fields(fields.map(|field| match field.number {
            Number::Srgb => Field { number: Number::Unorm, ..field },
            _ => field,
        })),
        Packing::Bc { kind, signed, .. } => Packing::Bc { kind, signed, srgb: false },
        other => other,
    };
    Format { packing, ..format }
}

/// Whether a component goes from 0 to 1.
pub(super) fn is_unorm(format: &Format, component: usize) -> bool {
    match format.packing {
        Packing::Fields(fields) => matches!(fields[component & 3].number, Number::Unorm | Number::Srgb),
        Packing::Bc { signed, .. } => !signed,
        Packing::Pairs { .. } => true,
        _ => false,
    }
}
