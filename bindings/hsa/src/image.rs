//! Images and samplers: their descriptors, as the chips read them, and copies of what is in images.
//!
//! All images are laid out line by line, lines 256 bytes apart or a multiple of that; HSA leaves that to the library. A handle is the
//! address of the descriptor: HIP and device code read it there.

use crate::cells::Cells;
use crate::chip::Device;
use crate::host;
use crate::status::{Result, Status};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use warpjit_runtime::Memory;

/// Lines and images begin at multiples of so many bytes.
pub(crate) const ALIGNMENT: u64 = 256;

/// Bytes of a texel, and the chips' numbers of its data and number formats. `None`: there is no such format.
fn texel(order: u32, kind: u32) -> Option<(u32, u32, u32)> {
    /// Number formats.
    const UNORM: u32 = 0;
    const SNORM: u32 = 1;
    const UINT: u32 = 4;
    const SINT: u32 = 5;
    const FLOAT: u32 = 7;
    const SRGB: u32 = 9;
    let components = match order {
        // A, R, intensity, luminance, depth.
        0 | 1 | 16 | 17 | 18 => 1,
        // RG, RA.
        3 | 5 => 2,
        // RGBA, BGRA, ARGB, SRGBA.
        8 | 9 | 10 | 14 => 4,
        // RGB: only what is packed.
        6 => {
            return match kind {
                5 => Some((2, 17, UNORM)),
                6 => Some((2, 16, UNORM)),
                7 => Some((4, 9, UNORM)),
                _ => None,
            };
        }
        _ => return None,
    };
    let (bytes, number) = match kind {
        0 => (1, SNORM),
        1 => (2, SNORM),
        2 => (1, UNORM),
        3 => (2, UNORM),
        8 => (1, SINT),
        9 => (2, SINT),
        10 => (4, SINT),
        11 => (1, UINT),
        12 => (2, UINT),
        13 => (4, UINT),
        14 => (2, FLOAT),
        15 => (4, FLOAT),
        _ => return None,
    };
    let may = match order {
        9 | 10 => bytes == 1,
        14 => kind == 2,
        16 | 17 => matches!(number, UNORM | SNORM | FLOAT),
        18 => matches!(kind, 3 | 15),
        _ => true,
    };
    let number = if order == 14 { SRGB } else { number };
    let data = match (components, bytes) {
        (1, 1) => 1,
        (1, 2) => 2,
        (1, _) => 4,
        (2, 1) => 3,
        (2, 2) => 5,
        (2, _) => 11,
        (_, 1) => 10,
        (_, 2) => 12,
        _ => 14,
    };
    may.then_some((components * bytes, data, number))
}

/// Which component, or 0 or 1, each of a texel's four values is: selectors of the chips.
fn selectors(order: u32) -> u32 {
    const ZERO: u32 = 0;
    const ONE: u32 = 1;
    const X: u32 = 4;
    const Y: u32 = 5;
    const Z: u32 = 6;
    const W: u32 = 7;
    let [x, y, z, w] = match order {
        0 => [ZERO, ZERO, ZERO, X],
        3 => [X, Y, ZERO, ONE],
        5 => [X, ZERO, ZERO, Y],
        6 => [Z, Y, X, ONE],
        8 | 14 => [X, Y, Z, W],
        9 => [Z, Y, X, W],
        10 => [Y, Z, W, X],
        16 => [X, X, X, X],
        17 => [X, X, X, ONE],
        18 => [X, ZERO, ZERO, ZERO],
        _ => [X, ZERO, ZERO, ONE],
    };
    x | y << 3 | z << 6 | w << 9
}

/// `hsa_ext_image_geometry_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Geometry {
    Line,
    Plane,
    Solid,
    Lines,
    Planes,
    Buffer,
}

impl Geometry {
    pub fn new(number: u32) -> Result<Geometry> {
        match number {
            0 => Ok(Geometry::Line),
            1 | 6 => Ok(Geometry::Plane),
            2 => Ok(Geometry::Solid),
            3 => Ok(Geometry::Lines),
            4 | 7 => Ok(Geometry::Planes),
            5 => Ok(Geometry::Buffer),
            _ => Err(Status::INVALID_ARGUMENT),
        }
    }
}

/// What an image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Description {
    pub geometry: u32,
    pub width: u64,
    pub height: u64,
    pub depth: u64,
    pub layers: u64,
    /// `hsa_ext_image_channel_type_t` and `hsa_ext_image_channel_order_t`.
    pub kind: u32,
    pub order: u32,
}

/// How an image lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    geometry: Geometry,
    /// Texels, lines, layers.
    size: [u64; 3],
    texel: u64,
    /// Bytes from line to line and from layer to layer.
    pitches: [u64; 2],
    data: u32,
    number: u32,
    pub bytes: u64,
}

/// HSA_EXT_IMAGE_CAPABILITY of images with a format.
pub(crate) fn capabilities(geometry: u32, order: u32, kind: u32) -> Result<u32> {
    const READ: u32 = 1;
    const WRITE: u32 = 2;
    const BOTH: u32 = 4;
    Geometry::new(geometry)?;
    Ok(match texel(order, kind) {
        None => 0,
        // sRGB cannot be written.
        Some(_) if order == 14 => READ,
        Some(_) if order == 18 => READ | WRITE,
        Some(_) => READ | WRITE | BOTH,
    })
}

impl Layout {
    /// How an image is laid out, with pitches that are given or else chosen.
    pub fn new(description: &Description, row_pitch: u64, slice_pitch: u64) -> Result<Layout> {
        let geometry = Geometry::new(description.geometry)?;
        let found = texel(description.order, description.kind);
        let (texel, data, number) = found.ok_or(Status::IMAGE_FORMAT_UNSUPPORTED)?;
        let texel = u64::from(texel);
        let Description { width, height, depth, layers, .. } = *description;
        const MOST: u64 = 16384;
        const MOST_LAYERS: u64 = 8192;
        let within = |size: u64, most: u64| (1..=most).contains(&size);
        let (size, fits) = match geometry {
            Geometry::Line => ([width, 1, 1], within(width, MOST)),
            Geometry::Buffer => ([width, 1, 1], within(width, u32::MAX.into())),
            Geometry::Plane => ([width, height, 1], within(width, MOST) && within(height, MOST)),
            Geometry::Solid => (
                [width, height, depth],
                within(width, MOST) && within(height, MOST) && within(depth, MOST_LAYERS),
            ),
            Geometry::Lines => ([width, 1, layers], within(width, MOST) && within(layers, MOST_LAYERS)),
            Geometry::Planes => (
                [width, height, layers],
                within(width, MOST) && within(height, MOST) && within(layers, MOST_LAYERS),
            ),
        };
        if !fits {
            return Err(Status::IMAGE_SIZE_UNSUPPORTED);
        }
        let own = match geometry {
            Geometry::Buffer => size[0] * texel,
            _ => (size[0] * texel).next_multiple_of(ALIGNMENT),
        };
        let row = if row_pitch == 0 { own } else { row_pitch };
        if row < size[0] * texel
            || !row.is_multiple_of(texel)
            || row / texel > MOST && geometry != Geometry::Buffer
        {
            return Err(Status::IMAGE_PITCH_UNSUPPORTED);
        }
        // The chips know no pitch of layers.
        let slice = row * size[1];
        if slice_pitch != 0 && slice_pitch != slice && size[2] > 1 {
            return Err(Status::IMAGE_PITCH_UNSUPPORTED);
        }
        let bytes = slice.checked_mul(size[2]).ok_or(Status::IMAGE_SIZE_UNSUPPORTED)?;
        Ok(Layout { geometry, size, texel, pitches: [row, slice], data, number, bytes })
    }
}

/// Words of an image's object: the descriptor, then what HIP's device code asks for.
const IMAGE_WORDS: usize = 12;
const SAMPLER_WORDS: usize = 8;

/// An image or a sampler.
struct Made {
    cells: Cells,
    /// Of an image: its layout and where it is.
    image: Option<(Layout, u64)>,
}

static MADE: Mutex<Option<HashMap<u64, Made>>> = Mutex::new(None);

fn keep(memory: &Memory, words: &[u32], image: Option<(Layout, u64)>) -> Result<u64> {
    let cells = Cells::new(memory, 4096)?;
    for (number, word) in words.iter().enumerate() {
        cells.u32(4 * number).store(*word, Ordering::Relaxed);
    }
    let handle = cells.address();
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.get_or_insert_default().insert(handle, Made { cells, image });
    Ok(handle)
}

/// Ends an image or a sampler.
pub(crate) fn destroy(handle: u64, is_image: bool) -> Result<()> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let made = made.as_mut().ok_or(Status::INVALID_ARGUMENT)?;
    if made.get(&handle).is_none_or(|made| made.image.is_some() != is_image) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let gone = made.remove(&handle);
    debug_assert!(gone.is_some_and(|gone| gone.cells.address() == handle));
    Ok(())
}

/// Makes an image of memory.
pub(crate) fn create(
    memory: &Memory,
    device: &Device,
    description: &Description,
    layout: Layout,
    data: u64,
) -> Result<u64> {
    let mut words = [0; IMAGE_WORDS];
    if layout.geometry == Geometry::Buffer {
        // A buffer resource: structures of a texel's size.
        words[0] = data as u32;
        words[1] = (data >> 32) as u32 & 0xffff | (layout.texel as u32) << 16;
        words[2] = layout.bytes.min(u32::MAX.into()) as u32;
        words[3] = selectors(description.order) | layout.number << 12 | layout.data << 15;
    } else {
        if !data.is_multiple_of(ALIGNMENT) {
            return Err(Status::INVALID_ARGUMENT);
        }
        /// Tiling index of linear images before gfx9; swizzle mode of them on gfx9.
        const LINEAR_ALIGNED: u32 = 8;
        const LINEAR: u32 = 0;
        let kind = match layout.geometry {
            Geometry::Line | Geometry::Buffer => 8,
            Geometry::Plane => 9,
            Geometry::Solid => 10,
            Geometry::Lines => 12,
            Geometry::Planes => 13,
        };
        let [width, height, layers] = layout.size.map(|size| size as u32);
        let pitch = (layout.pitches[0] / layout.texel) as u32;
        words[0] = (data >> 8) as u32;
        words[1] = (data >> 40) as u32 & 0xff | layout.data << 20 | layout.number << 26;
        words[2] = (width - 1) | (height - 1) << 14;
        let tiling = if device.is_gfx9() { LINEAR } else { LINEAR_ALIGNED };
        words[3] = selectors(description.order) | tiling << 20 | kind << 28;
        words[4] = (layers - 1) | (pitch - 1) << 13;
        let is_array = matches!(layout.geometry, Geometry::Lines | Geometry::Planes);
        if is_array && !device.is_gfx9() {
            words[5] = (layers - 1) << 13;
        }
    }
    words[8] = description.kind;
    words[9] = description.order;
    words[10] = description.width as u32;
    keep(memory, &words, Some((layout, data)))
}

/// Makes a sampler: normalised coordinates or not, linear filters or not, `hsa_ext_sampler_addressing_mode_t`.
pub(crate) fn create_sampler(memory: &Memory, coordinates: u32, filter: u32, addressing: u32) -> Result<u64> {
    let clamp = match addressing {
        0 | 3 => 0,
        1 => 2,
        2 => 6,
        4 => 1,
        _ => return Err(Status::INVALID_ARGUMENT),
    };
    if coordinates > 1 || filter > 1 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let mut words = [0; SAMPLER_WORDS];
    words[0] = clamp | clamp << 3 | clamp << 6 | u32::from(coordinates == 0) << 15;
    // All levels of detail.
    words[1] = 4095 << 12;
    words[2] = filter << 20 | filter << 22;
    keep(memory, &words, None)
}

/// A part of an image: the first texel, and texels along each axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub offset: [u32; 3],
    pub range: [u32; 3],
}

/// An image's layout, and where it is.
fn find(handle: u64) -> Result<(Layout, u64)> {
    let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let found = made.as_ref().and_then(|made| made.get(&handle)?.image);
    found.ok_or(Status::INVALID_ARGUMENT)
}

impl Layout {
    /// Axes of a region: arrays of lines have layers in place of lines.
    fn on_axes(&self, at: [u32; 3], fill: u32) -> [u64; 3] {
        let [x, y, z] = at;
        if self.geometry == Geometry::Lines { [x, fill, y] } else { [x, y, z] }.map(u64::from)
    }

    /// Lines of a region: calls `line` with the address of each line of texels, its number and that of its layer, and its bytes.
    fn each_line(
        &self,
        data: u64,
        region: &Region,
        mut line: impl FnMut(u64, u64, u64, u64) -> Result<()>,
    ) -> Result<()> {
        let (from, range) =
            (self.on_axes(region.offset, 0), self.on_axes(region.range, 1).map(|size| size.max(1)));
        for axis in 0..3 {
            if from[axis] + range[axis] > self.size[axis] {
                return Err(Status::INVALID_ARGUMENT);
            }
        }
        for layer in 0..range[2] {
            for row in 0..range[1] {
                let at = data
                    + (from[2] + layer) * self.pitches[1]
                    + (from[1] + row) * self.pitches[0]
                    + from[0] * self.texel;
                line(at, row, layer, range[0] * self.texel)?;
            }
        }
        Ok(())
    }

    /// Pitches of memory that holds a region, where the program does not say them.
    fn pitches_of(&self, region: &Region, row: u64, slice: u64) -> [u64; 2] {
        let range = self.on_axes(region.range, 1);
        let row = if row == 0 { range[0] * self.texel } else { row };
        [row, if slice == 0 { row * range[1].max(1) } else { slice }]
    }
}

/// Copies from memory to a part of an image.
pub(crate) fn import(memory: u64, row: u64, slice: u64, image: u64, region: &Region) -> Result<()> {
    let (layout, data) = find(image)?;
    let [row, slice] = layout.pitches_of(region, row, slice);
    layout.each_line(data, region, |at, y, z, bytes| host::copy(at, memory + y * row + z * slice, bytes))
}

/// Copies from a part of an image to memory.
pub(crate) fn export(image: u64, memory: u64, row: u64, slice: u64, region: &Region) -> Result<()> {
    let (layout, data) = find(image)?;
    let [row, slice] = layout.pitches_of(region, row, slice);
    layout.each_line(data, region, |at, y, z, bytes| host::copy(memory + y * row + z * slice, at, bytes))
}

/// Copies a part of an image to another image.
pub(crate) fn copy(
    from: u64,
    from_offset: [u32; 3],
    to: u64,
    to_offset: [u32; 3],
    range: [u32; 3],
) -> Result<()> {
    let ((source, source_data), (target, target_data)) = (find(from)?, find(to)?);
    if source.texel != target.texel {
        return Err(Status::INVALID_ARGUMENT);
    }
    let mut lines = Vec::new();
    source.each_line(source_data, &Region { offset: from_offset, range }, |at, _, _, _| {
        lines.push(at);
        Ok(())
    })?;
    let mut lines = lines.into_iter();
    target.each_line(target_data, &Region { offset: to_offset, range }, |at, _, _, bytes| {
        let from = lines.next().ok_or(Status::INVALID_ARGUMENT)?;
        host::copy(at, from, bytes)
    })
}

/// Sets all texels of a part to four values: floats, or integers where the format has them.
pub(crate) fn clear(memory: &Memory, image: u64, values: [u32; 4], region: &Region) -> Result<()> {
    let (layout, data) = find(image)?;
    let components = match layout.data {
        1 | 2 | 4 => 1,
        3 | 5 | 11 => 2,
        10 | 12 | 14 => 4,
        // Packed ones.
        _ => return Err(Status::IMAGE_FORMAT_UNSUPPORTED),
    };
    let bytes = layout.texel as usize / components;
    let mut texel = Vec::new();
    for value in &values[..components] {
        let real = f32::from_bits(*value);
        let most = ((1_u64 << (8 * bytes)) - 1) as f32;
        let word = match (layout.number, bytes) {
            (0 | 9, _) => (real.clamp(0.0, 1.0) * most).round_ties_even() as u32,
            (1, _) => (real.clamp(-1.0, 1.0) * (most / 2.0).floor()).round_ties_even() as i32 as u32,
            (7, 2) => u32::from(half(real)),
            _ => *value,
        };
        texel.extend_from_slice(&word.to_le_bytes()[..bytes]);
    }
    layout.each_line(data, region, |at, _, _, bytes| {
        let line = texel.repeat(bytes as usize / texel.len());
        memory.write(at, &line).map_err(|_| Status::INVALID_ARGUMENT)
    })
}

/// The nearest half-precision number; ties go to the even one.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    // 65520 and more is infinity.
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Denormals: in units of 2^-24, which a sum with 0.5 rounds to.
        let units = (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5_f32.to_bits();
        return sign | units as u16;
    }
    let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    sign | ((rounded >> 13) - (112 << 10)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpjit_runtime::{Access, MemoryOptions};

    fn description(geometry: u32, width: u64, height: u64, depth: u64) -> Description {
        Description { geometry, width, height, depth, layers: depth, kind: 2, order: 8 }
    }

    #[test]
    fn halves() {
        for (value, bits) in [
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (65504.0, 0x7bff),
            (65519.9, 0x7bff),
            (65520.0, 0x7c00),
            (5.960_464_5e-8, 1),
            (6.097_555e-5, 0x3ff),
            (6.103_515_6e-5, 0x400),
            (1.000_488_3, 0x3c00),
            (1.001_464_8, 0x3c02),
            (f32::NEG_INFINITY, 0xfc00),
        ] {
            assert_eq!(half(value), bits, "{value}");
        }
        assert_eq!(half(f32::NAN), 0x7e00);
    }

    #[test]
    fn layouts() {
        let layout = Layout::new(&description(2, 5, 3, 2), 0, 0).unwrap();
        assert_eq!((layout.pitches, layout.bytes), ([256, 768], 1536));
        assert_eq!(Layout::new(&description(1, 0, 3, 0), 0, 0), Err(Status::IMAGE_SIZE_UNSUPPORTED));
        assert_eq!(Layout::new(&description(1, 5, 3, 0), 10, 0), Err(Status::IMAGE_PITCH_UNSUPPORTED));
        let other = Description { kind: 4, ..description(1, 5, 3, 0) };
        assert_eq!(Layout::new(&other, 0, 0), Err(Status::IMAGE_FORMAT_UNSUPPORTED));
        assert_eq!(capabilities(1, 8, 2), Ok(7));
        assert_eq!(capabilities(9, 8, 2), Err(Status::INVALID_ARGUMENT));
    }

    #[test]
    fn there_and_back() {
        let memory = Memory::with(&MemoryOptions::new().identity()).unwrap();
        let description = description(2, 5, 3, 2);
        let layout = Layout::new(&description, 0, 0).unwrap();
        let data = memory.map(None, layout.bytes, Access::ReadWrite).unwrap();
        let image = create(&memory, &Device::usual(), &description, layout, data).unwrap();
        let source: Vec<u8> = (0..5 * 3 * 2 * 4).collect();
        let mut back = vec![0; source.len()];
        let whole = Region { offset: [0; 3], range: [5, 3, 2] };
        import(source.as_ptr().expose_provenance() as u64, 0, 0, image, &whole).unwrap();
        export(image, back.as_mut_ptr().expose_provenance() as u64, 0, 0, &whole).unwrap();
        assert_eq!(source, back);
        let part = Region { offset: [4, 2, 1], range: [1, 1, 1] };
        clear(&memory, image, [1.0_f32, 0.0, 0.5, 1.0].map(f32::to_bits), &part).unwrap();
        let mut texel = [0; 4];
        memory.read(data + 768 + 512 + 16, &mut texel).unwrap();
        assert_eq!(texel, [255, 0, 128, 255]);
        let outside = Region { offset: [1, 0, 0], range: [5, 1, 1] };
        assert_eq!(import(data, 0, 0, image, &outside), Err(Status::INVALID_ARGUMENT));
        assert_eq!(destroy(image, false), Err(Status::INVALID_ARGUMENT));
        destroy(image, true).unwrap();
        assert_eq!(destroy(image, true), Err(Status::INVALID_ARGUMENT));
    }
}
