//! Texels by integer coordinates: fetches, loads, stores, atomics, sizes.
//!
//! Layers and levels count from the view's first ones on; coordinates that the view's shape does not have are ignored. What is outside
//! of a level, of the layers or the levels reads 0, and is not written; docs/hardware/textures-nv.md section 10,
//! docs/hardware/graphics-gcn.md section 6.

use super::lod::levels;
use super::texels::{Level, apply, inside, level_number};
use crate::{Error, Kind, Memory, Source, Texel, View};

/// The level and the place in it, if it is inside.
fn place(view: &View, at: [u32; 3], layer: u32, level: u32) -> Option<(Level, [u32; 3])> {
    let level = Level::new(view, level_number(view, level)?);
    let at = inside(view, &level, at, layer)?;
    Some((level, at))
}

/// The texel at a place, without a sampler; [`Prepared::fetch`](super::Prepared::fetch) is for many lanes. Outside all
/// four results are 0, whatever the sources.
///
/// # Errors
///
/// It is inside, but not in memory.
pub fn fetch<M: Memory + ?Sized>(
    view: &View,
    at: [u32; 3],
    layer: u32,
    level: u32,
    memory: &mut M,
) -> Result<Texel, Error> {
    let Some((level, at)) = place(view, at, layer, level) else { return Ok([0; 4]) };
    let texel = level.texel(view, &view.format, at, layer, memory)?;
    Ok(apply(view.sources, texel))
}

/// Address of the element that a texel is in; `None`: it is outside.
pub fn address(view: &View, at: [u32; 3], layer: u32, level: u32) -> Option<u64> {
    let (level, at) = place(view, at, layer, level)?;
    Some(level.address(view, at, layer))
}

/// The bytes of the element that a texel is in, unconverted; zeros outside and behind the element's bytes.
///
/// # Errors
///
/// It is inside, but not in memory.
pub fn load_raw<M: Memory + ?Sized>(
    view: &View,
    at: [u32; 3],
    layer: u32,
    level: u32,
    memory: &mut M,
) -> Result<[u8; 16], Error> {
    let Some((level, at)) = place(view, at, layer, level) else { return Ok([0; 16]) };
    level.element(view, at, layer, memory)
}

/// Replaces the bytes of the element that a texel is in.
///
/// # Errors
///
/// It is inside, but cannot be written.
pub fn store_raw<M: Memory + ?Sized>(
    view: &View,
    at: [u32; 3],
    layer: u32,
    level: u32,
    element: &[u8; 16],
    memory: &mut M,
) -> Result<(), Error> {
    let Some(address) = address(view, at, layer, level) else { return Ok(()) };
    let bytes = usize::from(view.format.bytes).min(element.len());
    memory.write(address, &element[..bytes]).map_err(Error::NotWritable)
}

/// Stores a texel. Values go to the components that the view's sources name; where several name one, the first counts. Components
/// without a value, or one whose bit of `mask` is not set, become 0. Formats that cannot be stored drop it.
///
/// # Errors
///
/// It is inside, but cannot be written.
pub fn store<M: Memory + ?Sized>(
    view: &View,
    at: [u32; 3],
    layer: u32,
    level: u32,
    texel: Texel,
    mask: u8,
    memory: &mut M,
) -> Result<(), Error> {
    let mut components = [0; 4];
    for (k, value) in texel.into_iter().enumerate().rev() {
        if let Source::Component(component) = view.sources[k] {
            components[usize::from(component & 3)] = if mask & 1 << k != 0 { value } else { 0 };
        }
    }
    match view.format.encode(components) {
        Some(element) => store_raw(view, at, layer, level, &element, memory),
        None => Ok(()),
    }
}

/// Replaces the first 4 or 8 `bytes` of an element by what `update` makes of them, in one step, and returns what they were; 0 outside,
/// and of elements that have fewer bytes.
///
/// # Errors
///
/// It is inside, but cannot be written.
pub fn atomic<M: Memory + ?Sized>(
    view: &View,
    at: [u32; 3],
    layer: u32,
    level: u32,
    bytes: u8,
    update: &dyn Fn(u64) -> u64,
    memory: &mut M,
) -> Result<u64, Error> {
    if !matches!(bytes, 4 | 8) || bytes > view.format.bytes {
        return Ok(0);
    }
    let Some(address) = address(view, at, layer, level) else { return Ok(0) };
    memory.update(address, bytes, update).map_err(Error::NotWritable)
}

/// What the third number of a cube's size counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CubeSize {
    /// Cubes (NVIDIA).
    Cubes,
    /// Faces (GCN).
    Faces,
}

/// Sizes of a level: width, height (layers of a one-dimensional array), depth or layers, and the number of levels. Of a level outside the
/// first three are 0.
pub fn query_size(view: &View, level: u32, cubes: CubeSize) -> [u32; 4] {
    let count = levels(view);
    let Some(level) = level_number(view, level) else { return [0, 0, 0, count] };
    let [width, height, depth] = Level::new(view, level).size;
    let layers = view.layers.max(1);
    match view.kind {
        Kind::D1 | Kind::Buffer => [width, 1, 1, count],
        Kind::D1Array => [width, layers, 1, count],
        Kind::D2 => [width, height, 1, count],
        Kind::D2Array => [width, height, layers, count],
        Kind::D3 => [width, height, depth, count],
        Kind::Cube | Kind::CubeArray => match cubes {
            CubeSize::Cubes => [width, height, (layers / 6).max(1), count],
            CubeSize::Faces => [width, height, layers, count],
        },
    }
}
