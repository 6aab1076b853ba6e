//! Headers (TIC) and samplers (TSC) as views and samplers of the texture library; docs/hardware/textures-nv.md sections 1 and 2.

use warpjit_ir::device::TextureEntry;
use warpjit_texture::format::{self, Field, Number, Packing};
use warpjit_texture::layout::nvidia::BlockLinear;
use warpjit_texture::sample::{Compare, Filter, Mip, Wrap};
use warpjit_texture::{Format, Kind, Layout, Sampler, Source, View};

use super::Family;

/// Bits of a word.
fn bits(word: u32, at: u32, count: u32) -> u32 {
    word >> at & ((1 << count) - 1)
}

/// Whether a bit of a word is set.
fn bit(word: u32, at: u32) -> bool {
    word >> at & 1 != 0
}

impl Family {
    fn is_fermi(self) -> bool {
        matches!(self, Family::Gf100 | Family::Gk104)
    }

    /// Log2 of the rows of a gob.
    pub(super) fn gob_rows(self) -> u8 {
        if self.is_fermi() { 3 } else { 2 }
    }
}

/// The number of a header's shape.
pub(super) fn shape(header: &TextureEntry) -> u32 {
    bits(header[2], 14, 4)
}

/// The view of a header; the error says what is wrong with it.
pub(super) fn view(header: &TextureEntry, family: Family) -> Result<View, &'static str> {
    let [w0, address, w2, w3, w4, w5, _, w7] = *header;
    if bit(w0, 30) {
        return Err("packed components");
    }
    let types = [6, 9, 12, 15].map(|at| bits(w0, at, 3));
    let format = format::nvidia(bits(w0, 0, 6), types, bit(w2, 10), family.is_fermi());
    let format = format.ok_or("unknown format")?;
    let sources = [18, 21, 24, 27].map(|at| match bits(w0, at, 3) {
        source @ 2..=5 => Source::Component(source as u8 - 2),
        6 => Source::OneInt,
        7 => Source::OneFloat,
        _ => Source::Zero,
    });
    let kind = match bits(w2, 14, 4) {
        0 => Kind::D1,
        1 | 7 => Kind::D2,
        2 => Kind::D3,
        3 => Kind::Cube,
        4 => Kind::D1Array,
        5 => Kind::D2Array,
        6 => Kind::Buffer,
        8 => Kind::CubeArray,
        _ => return Err("unknown type"),
    };
    let single = matches!(bits(w2, 14, 4), 6 | 7);
    let extended = bit(w4, 31) && family != Family::G80;
    let last_of_all = bits(w5, 28, 4);
    let (first_level, last_level) = match (single, extended) {
        (true, _) => (0, 0),
        (_, true) => (bits(w7, 0, 4), bits(w7, 4, 4)),
        _ => (0, last_of_all),
    };
    let width = bits(w4, 0, 30).max(1);
    let height = bits(w5, 0, 16) | if extended { bits(w7, 8, 1) << 16 } else { 0 };
    let height = if height == 0 { 0x1_0000 } else { height };
    let depth = bits(w5, 16, 12).max(1);
    let size = match kind {
        Kind::D1 | Kind::D1Array | Kind::Buffer => [width, 1, 1],
        Kind::D3 => [width, height, depth],
        _ => [width, height, 1],
    };
    let layers = match kind {
        Kind::Cube => 6,
        Kind::CubeArray => 6 * depth,
        Kind::D1Array | Kind::D2Array => depth,
        _ => 1,
    };
    let layout = if kind == Kind::Buffer || bit(w2, 18) {
        Layout::Pitch { pitch: bits(w3, 0, 20).into(), layer: 0 }
    } else {
        Layout::BlockLinear(BlockLinear {
            gob_rows: family.gob_rows(),
            block_height: bits(w2, 22, 3) as u8,
            block_depth: bits(w2, 25, 3) as u8,
            levels: if single { 1 } else { last_of_all + 1 },
            shrink: true,
        })
    };
    Ok(View {
        kind,
        size,
        first_level,
        last_level: last_level.max(first_level),
        first_layer: 0,
        layers,
        min_lod: if extended { bits(w7, 16, 12) } else { 0 },
        format,
        sources,
        normalized: bit(w2, 31),
        layout,
        address: u64::from(address) | u64::from(w2 & 0xff) << 32,
    })
}

/// Whether a sampler lets sRGB formats be converted.
pub(super) fn converts_srgb(entry: &TextureEntry) -> bool {
    bit(entry[0], 13)
}

/// The sampler of an entry, for a texture with that header.
pub(super) fn sampler(entry: &TextureEntry, header: &TextureEntry, family: Family) -> Sampler {
    let [w0, w1, w2, w3, border @ ..] = *entry;
    let wrap = |at| match bits(w0, at, 3) {
        0 => Wrap::Wrap,
        1 => Wrap::Mirror,
        2 => Wrap::ClampToEdge,
        3 => Wrap::Border,
        4 => Wrap::ClampHalfBorder,
        5 => Wrap::MirrorOnceEdge,
        6 => Wrap::MirrorOnceBorder,
        _ => Wrap::MirrorOnceHalfBorder,
    };
    let compare = Compare::of(bits(w0, 10, 3));
    let filter = |linear| if linear { Filter::Linear } else { Filter::Nearest };
    // Signed, 13 bits of which 8 are a fraction.
    let signed = |value: u32| (value << 19) as i32 >> 19;
    let from_header = bit(header[3], 29);
    let border = if bit(header[4], 30) {
        [border[0]; 4]
    } else if bit(header[2], 10) {
        let [red, green, blue] = [bits(w2, 24, 8), bits(w3, 12, 8), bits(w3, 20, 8)].map(linear);
        [red, green, blue, border[3]]
    } else {
        border
    };
    let anisotropy = if from_header { bits(header[6], 27, 3) } else { bits(w0, 20, 3) };
    Sampler {
        wrap: [wrap(0), wrap(3), wrap(6)],
        mag: filter(bits(w1, 0, 2) == 2),
        min: filter(bits(w1, 4, 2) >= 2),
        mip: match bits(w1, 6, 2) {
            2 => Mip::Nearest,
            3 => Mip::Linear,
            _ => Mip::None,
        },
        min_lod: bits(w2, 0, 12) as i32,
        max_lod: bits(w2, 12, 12) as i32,
        bias: signed(if from_header { bits(header[6], 5, 13) } else { bits(w1, 12, 13) }),
        compare: bit(w0, 9).then_some(compare),
        border,
        border_sources: false,
        unnormalized: family == Family::Gk104 && bit(w1, 25),
        seamless: family == Family::Gk104 && bit(w1, 9),
        // Of linear filters only.
        max_anisotropy: match bits(w1, 4, 2) {
            2 | 3 => [1, 2, 4, 6, 8, 10, 12, 16][anisotropy as usize],
            _ => 1,
        },
        srgb: converts_srgb(entry),
        ..Sampler::default()
    }
}

/// A byte with sRGB's curve as the bits of a float.
fn linear(byte: u32) -> u32 {
    let none = Field { bit: 0, bits: 0, number: Number::Unorm };
    let red = Field { bit: 0, bits: 8, number: Number::Srgb };
    let format = Format { bytes: 1, packing: Packing::Fields([red, none, none, none]) };
    let mut element = [0; 16];
    element[0] = byte as u8;
    format.decode(&element, 0, 0)[0]
}
