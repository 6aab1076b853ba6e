//! Colour targets: where their pixels are, and what is in them.

use super::Refused;
use super::blend::Blend;
use super::registers::{Registers, tile_mode};
use crate::chip::Chip;
use crate::memory::AddressSpace;
use warpjit_runtime::Denied;
use warpjit_texture::format::{self, Field, Number, Packing};
use warpjit_texture::layout::gcn::{self, TileMode};
use warpjit_texture::layout::{Level, gfx9};
use warpjit_texture::{Format, Kind, Layout, Source, Texel, View};

/// Registers of a target, from CB_COLOR0_BASE on.
const FIRST: u32 = 0x28c60;
const STEP: u32 = 0x3c;

/// An image that is drawn into.
#[derive(Debug, Clone)]
pub(super) struct Surface {
    /// The level as it is for each sample.
    samples: Vec<Level>,
    bytes: u8,
    /// The slices that it has are a third axis, not layers.
    is_solid: bool,
    pub first_layer: u32,
    pub last_layer: u32,
}

impl Surface {
    /// A level of an image before gfx9, which has a place of its own. `slice`: pixels from layer to layer.
    pub fn old(
        address: u64,
        mode: TileMode,
        pitch: u32,
        slice: u64,
        format: Format,
        layers: [u32; 2],
    ) -> Surface {
        let rows = (slice / u64::from(pitch.max(1))).min(1 << 15) as u32;
        let slices = layers[1].max(layers[0]) + 1;
        let layout = Layout::Gcn(gcn::Surface { mode, pitch, slices, pow2_pad: false, sample: 0 });
        Surface::new(&view(Kind::D2Array, [pitch, rows, 1], format, layout, address), 0, layers)
    }

    /// A level of an image.
    pub fn new(view: &View, level: u32, layers: [u32; 2]) -> Surface {
        let count = match view.layout {
            Layout::Gcn(surface) => surface.mode.samples,
            Layout::Gfx9(surface) => surface.samples,
            _ => 1,
        };
        let of_sample = |sample: u32| {
            let layout = match view.layout {
                Layout::Gcn(surface) => Layout::Gcn(gcn::Surface { sample, ..surface }),
                Layout::Gfx9(surface) => Layout::Gfx9(gfx9::Surface { sample, ..surface }),
                ref other => other.clone(),
            };
            View { layout, ..view.clone() }.level(level)
        };
        Surface {
            samples: (0..count.max(1)).map(of_sample).collect(),
            bytes: view.format.bytes,
            is_solid: view.kind == Kind::D3,
            first_layer: layers[0],
            last_layer: layers[1].max(layers[0]),
        }
    }

    /// Samples of a pixel.
    pub fn samples(&self) -> u32 {
        self.samples.len() as u32
    }

    /// Where a sample of a pixel of a layer is; `None` if there is none.
    fn address(&self, [x, y, layer, sample]: [u32; 4]) -> Option<u64> {
        let level = self.samples.get(sample as usize)?;
        let [width, height, _] = level.size();
        let layer = self.first_layer + layer;
        if x >= width || y >= height || layer > self.last_layer {
            return None;
        }
        let (slice, layer) = if self.is_solid { (layer, 0) } else { (0, layer) };
        Some(level.address(x, y, slice, layer))
    }

    /// The element of a place: column, row, layer and sample. Where there is none it is 0.
    pub fn load(&self, space: &AddressSpace, place: [u32; 4]) -> Result<[u8; 16], Denied> {
        let mut element = [0; 16];
        let Some(address) = self.address(place) else { return Ok(element) };
        let bytes = usize::from(self.bytes);
        for part in (0..bytes).step_by(8) {
            let count = (bytes - part).min(8);
            let word = space.memory().load(address + part as u64, count as u8)?;
            element[part..part + 8].copy_from_slice(&word.to_le_bytes());
        }
        Ok(element)
    }

    /// Replaces it.
    pub fn store(&self, space: &AddressSpace, place: [u32; 4], element: &[u8; 16]) -> Result<(), Denied> {
        let Some(address) = self.address(place) else { return Ok(()) };
        let bytes = usize::from(self.bytes);
        for part in (0..bytes).step_by(8) {
            let mut word = [0; 8];
            word.copy_from_slice(&element[part..part + 8]);
            let count = (bytes - part).min(8);
            space.memory().store(address + part as u64, count as u8, u64::from_le_bytes(word))?;
        }
        Ok(())
    }
}

/// A view of one level, of which only the layout counts.
pub(super) fn view(kind: Kind, size: [u32; 3], format: Format, layout: Layout, address: u64) -> View {
    View {
        kind,
        size,
        first_level: 0,
        last_level: 0,
        first_layer: 0,
        layers: 1,
        min_lod: 0,
        format,
        sources: [0, 1, 2, 3].map(Source::Component),
        normalized: true,
        layout,
        address,
    }
}

/// A colour target.
#[derive(Debug, Clone)]
pub(super) struct ColorTarget {
    pub surface: Surface,
    pub format: Format,
    /// Which exported colour it gets: the number of its export.
    pub export: u32,
    /// Components that are written.
    pub mask: u32,
    pub blend: Blend,
    /// Whether colours are clamped to the format's range before they are blended.
    pub is_clamped: bool,
    /// How bits are combined with those that are there: a table by (new, old); 0xc: the new ones.
    pub rop: u32,
}

impl ColorTarget {
    /// Whether writing needs what is there.
    pub fn reads(&self) -> bool {
        self.blend.enabled || self.rop != 0xc || self.present() & !self.mask != 0
    }

    /// Components that the format has.
    fn present(&self) -> u32 {
        let Packing::Fields(fields) = self.format.packing else { return 15 };
        fields.iter().enumerate().filter(|(_, field)| field.bits != 0).fold(0, |mask, (n, _)| mask | 1 << n)
    }

    /// The mean of all samples of a pixel; of integers the first sample.
    pub fn mean(&self, space: &AddressSpace, [x, y, layer]: [u32; 3]) -> Result<Texel, Denied> {
        let count = self.surface.samples();
        let first = self.format.decode(&self.surface.load(space, [x, y, layer, 0])?, 0, 0);
        if self.format.is_integer() || count == 1 {
            return Ok(first);
        }
        let mut sum = first.map(f32::from_bits);
        for sample in 1..count {
            let element = self.surface.load(space, [x, y, layer, sample])?;
            let texel = self.format.decode(&element, 0, 0);
            sum.iter_mut().zip(texel).for_each(|(sum, part)| *sum += f32::from_bits(part));
        }
        Ok(sum.map(|sum| (sum / count as f32).to_bits()))
    }

    /// Writes a colour, the bits of floats or integers, to a place: column, row, layer and sample.
    pub fn write(&self, space: &AddressSpace, place: [u32; 4], colors: [Texel; 2]) -> Result<(), Denied> {
        let old = if self.reads() { self.surface.load(space, place)? } else { [0; 16] };
        let mut color = colors[0];
        if self.blend.enabled && !self.format.is_integer() {
            let was = self.format.decode(&old, 0, 0).map(f32::from_bits);
            let range = self.range();
            let new = colors.map(|color| color.map(f32::from_bits));
            color = self.blend.apply(new, was, range).map(f32::to_bits);
        }
        let mut element = encode(&self.format, color);
        if self.rop != 0xc {
            let (new, was) = (u128::from_le_bytes(element), u128::from_le_bytes(old));
            let table = [!new & !was, !new & was, new & !was, new & was];
            let chosen = table.iter().enumerate().filter(|(n, _)| self.rop >> n & 1 != 0);
            element = chosen.fold(0u128, |all, (_, bits)| all | bits).to_le_bytes();
        }
        if let Packing::Fields(fields) = self.format.packing
            && self.present() & !self.mask != 0
        {
            let kept = fields.iter().enumerate().filter(|(n, _)| self.mask >> n & 1 == 0);
            let kept = kept.fold(0, |all: u128, (_, field)| all | ((1 << field.bits) - 1) << field.bit);
            let (new, was) = (u128::from_le_bytes(element), u128::from_le_bytes(old));
            element = (new & !kept | was & kept).to_le_bytes();
        }
        self.surface.store(space, place, &element)
    }

    /// What components can be, if they have a range and are clamped to it.
    fn range(&self) -> Option<[f32; 2]> {
        let Packing::Fields(fields) = self.format.packing else { return None };
        let first = fields.iter().find(|field| field.bits != 0)?;
        match first.number {
            Number::Unorm | Number::Srgb if self.is_clamped => Some([0.0, 1.0]),
            Number::Snorm if self.is_clamped => Some([-1.0, 1.0]),
            _ => None,
        }
    }
}

/// A colour as an element, with sRGB's curve where the format has it.
fn encode(format: &Format, mut color: Texel) -> [u8; 16] {
    if let Packing::Fields(fields) = format.packing {
        for (word, field) in color.iter_mut().zip(fields) {
            if field.number == Number::Srgb {
                *word = to_srgb(f32::from_bits(*word)).to_bits();
            }
        }
    }
    format.without_srgb().encode(color).unwrap_or([0; 16])
}

/// sRGB's curve, from a linear intensity.
fn to_srgb(linear: f32) -> f32 {
    let linear = f64::from(linear);
    let curved = if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    curved as f32
}

/// The format by the fields of CB_COLOR_INFO.
fn color_format(info: u32) -> Option<Format> {
    let number = match info >> 8 & 7 {
        // Images have other numbers for sRGB and floats.
        6 => 9,
        other => other,
    };
    let format = format::gcn(info >> 2 & 31, number, false)?;
    let Packing::Fields(fields) = format.packing else { return None };
    let count = fields.iter().filter(|field| field.bits != 0).count();
    const NO: usize = 4;
    // Which component in memory red, green, blue and alpha are.
    let order = match (count, info >> 11 & 3) {
        (4, 0) => [0, 1, 2, 3],
        (4, 1) => [2, 1, 0, 3],
        (4, 2) => [3, 2, 1, 0],
        (4, _) => [1, 2, 3, 0],
        (3, 0) => [0, 1, 2, NO],
        (3, 1) => [0, 1, NO, 2],
        (3, 2) => [2, 1, 0, NO],
        (3, _) => [2, 1, NO, 0],
        (2, 0) => [0, 1, NO, NO],
        (2, 1) => [0, NO, NO, 1],
        (2, 2) => [1, 0, NO, NO],
        (2, _) => [1, NO, NO, 0],
        (_, 0) => [0, NO, NO, NO],
        (_, 1) => [NO, 0, NO, NO],
        (_, 2) => [NO, NO, 0, NO],
        (_, _) => [NO, NO, NO, 0],
    };
    let none = Field { bit: 0, bits: 0, number: Number::Unorm };
    let fields = order.map(|n| fields.get(n).copied().unwrap_or(none));
    // The curve is of colours, wherever they are in memory.
    let is_srgb = number == 9;
    let fields: [Field; 4] = std::array::from_fn(|n| match is_srgb {
        true => Field { number: if n < 3 { Number::Srgb } else { Number::Unorm }, ..fields[n] },
        false => fields[n],
    });
    Some(Format { packing: Packing::Fields(fields), ..format })
}

fn surface(
    chip: &Chip,
    registers: Registers<'_>,
    first: u32,
    number: u32,
    format: Format,
) -> Result<Surface, Refused> {
    let word = |offset: u32| registers.at(first + offset);
    let (view_word, attributes) = (word(0xc), word(0x14));
    let layers = [view_word & 0x7ff, view_word >> 13 & 0x7ff];
    // NUM_FRAGMENTS: samples that are stored.
    let samples = 1 << (attributes >> 15 & 3);
    if chip.generation < 9 {
        let pitch = ((word(4) & 0x7ff) + 1) * 8;
        let slice = u64::from((word(8) & 0x3f_ffff) + 1) * 64;
        let address = u64::from(word(0)) << 8;
        let mode = tile_mode(chip, attributes & 31, format.bytes, samples);
        return Ok(Surface::old(address, mode, pitch, slice, format, layers));
    }
    let address = u64::from(word(0)) << 8 | u64::from(word(4) & 0xff) << 40;
    let sizes = word(8);
    let kind = if attributes >> 28 & 3 == 2 { Kind::D3 } else { Kind::D2Array };
    let size = [(sizes >> 14 & 0x3fff) + 1, (sizes & 0x3fff) + 1, (attributes & 0x7ff) + 1];
    let layout = Layout::Gfx9(gfx9::Surface {
        swizzle: (attributes >> 18 & 31) as u8,
        pitch: (registers.at(0x287a0 + 4 * number) & 0xffff) + 1,
        levels: (sizes >> 28) + 1,
        gb_addr_config: chip.address_config,
        samples,
        sample: 0,
    });
    Ok(Surface::new(&view(kind, size, format, layout, address), view_word >> 24 & 15, layers))
}

/// Whether a draw makes one sample of several: the second target gets the means of the first.
pub(super) fn is_resolve(registers: Registers<'_>) -> bool {
    registers.at(0x28808) >> 4 & 7 == 3
}

/// The targets that a draw writes.
///
/// # Errors
/// What is asked for and not done.
pub(super) fn targets(chip: &Chip, registers: Registers<'_>) -> Result<Vec<ColorTarget>, Refused> {
    let control = registers.at(0x28808);
    match control >> 4 & 7 {
        // Off.
        0 => return Ok(Vec::new()),
        // Drawing, and resolving of the first target to the second.
        1 | 3 => {}
        // Elimination of fast clears and decompression: nothing is compressed here.
        2 | 5 | 6 => return Ok(Vec::new()),
        _ => return Err(Refused("a mode of colours")),
    }
    let resolves = is_resolve(registers);
    let (masks, shader) = (registers.at(0x28238), registers.at(0x2823c));
    let mut targets = Vec::new();
    let mut export = 0;
    for number in 0..8 {
        let by_shader = if resolves && number < 2 { 15 } else { shader >> (4 * number) & 15 };
        if by_shader == 0 {
            continue;
        }
        let own = export;
        export += 1;
        let first = FIRST + STEP * number;
        let info = registers.at(first + 0x10);
        let mask = if resolves { 15 } else { masks >> (4 * number) & by_shader };
        if mask == 0 || info >> 2 & 31 == 0 {
            continue;
        }
        // DCC_ENABLE; on these chips it is compressed memory.
        if info >> 28 & 1 != 0 && chip.generation >= 8 {
            return Err(Refused("compressed colours (DCC)"));
        }
        let format = color_format(info).ok_or(Refused("a format of colours"))?;
        let blend = registers.at(0x28780 + 4 * number);
        let rop = match blend >> 31 {
            0 => control >> 16 & 15,
            _ => 0xc,
        };
        let constants = [0, 4, 8, 12].map(|at| registers.float(0x28414 + at));
        targets.push(ColorTarget {
            surface: surface(chip, registers, first, number, format)?,
            format,
            export: own,
            mask,
            blend: Blend::new(blend, constants),
            is_clamped: info >> 15 & 1 != 0,
            rop,
        });
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_swaps() {
        let info = |format: u32, number: u32, swap: u32| format << 2 | number << 8 | swap << 11;
        let color = [1.0f32, 0.5, 0.25, 0.0].map(f32::to_bits);
        let word = |info: u32| u128::from_le_bytes(encode(&color_format(info).unwrap(), color)) as u32;
        assert_eq!(word(info(10, 0, 0)), 0x0040_80ff);
        assert_eq!(word(info(10, 0, 1)), 0x00ff_8040);
        assert_eq!(word(info(10, 0, 2)), 0xff80_4000);
        assert_eq!(word(info(10, 0, 3)), 0x4080_ff00);
        assert_eq!(word(info(16, 0, 2)), 31 << 11 | 32 << 5 | 8, "red is in the upper bits");
        assert_eq!(word(info(1, 0, 3)), 0, "alpha only");
        assert_eq!(word(info(3, 0, 0)), 0x80ff);
        // sRGB's curve of 0.25 and 0.5 is 137 and 188.
        assert_eq!(word(info(10, 6, 1)), 0x00ff_bc89);
        assert!(color_format(info(31, 0, 0)).is_none());
    }
}
