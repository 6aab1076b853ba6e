//! Reads the descriptors of images (T#) and samplers (S#); docs/hardware/graphics-gcn.md sections 2 and 5.

use warpjit_ir::TextureTables;
use warpjit_texture::format::gcn as format_of;
use warpjit_texture::layout::{Layout, gcn, gfx9};
use warpjit_texture::sample::{Compare, Filter, Mip, Reduction, Rounding, Sampler, Ties, Wrap};
use warpjit_texture::{Format, Kind, Source};

use crate::gcn::{Chip, Generation};

/// Bits of words: word, lowest bit, bits.
fn bits(words: &[u32], word: usize, low: u32, count: u32) -> u32 {
    words.get(word).map_or(0, |word| word >> low & (u32::MAX >> (32 - count)))
}

/// A number of so many bits with a sign.
fn signed(value: u32, count: u32) -> i32 {
    (value << (32 - count)) as i32 >> (32 - count)
}

/// An image's descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) address: u64,
    pub(crate) kind: Kind,
    /// Texels of level 0.
    pub(crate) size: [u32; 3],
    pub(crate) first_level: u32,
    pub(crate) last_level: u32,
    pub(crate) first_layer: u32,
    /// Number of the last slice of the view.
    pub(crate) last_layer: u32,
    /// Slices of the image itself, as far as the descriptor says.
    pub(crate) slices: u32,
    /// In 1/256, from level 0 on.
    pub(crate) min_lod: u32,
    pub(crate) format: Format,
    /// The format with sRGB's curve, if it is one of unorms that can have it: for samplers that force it.
    pub(crate) curved: Option<Format>,
    pub(crate) sources: [Source; 4],
    /// Tiling index; on 1.4 the swizzle mode.
    pub(crate) tiling: u32,
    pub(crate) pow2_pad: bool,
    /// Texels from row to row, and so on: on 1.4 what layouts make of it.
    pub(crate) pitch: u32,
    /// Levels of the image.
    pub(crate) levels: u32,
    /// Samples of a texel.
    pub(crate) samples: u32,
    /// Which component of a border's colour is where (1.4).
    pub(crate) border_swizzle: u32,
}

/// Type codes.
const D1: u32 = 8;
const D2: u32 = 9;
const D3: u32 = 10;
const CUBE: u32 = 11;
const D1_ARRAY: u32 = 12;
const D2_ARRAY: u32 = 13;
const MSAA: u32 = 14;
const MSAA_ARRAY: u32 = 15;

impl Image {
    /// Reads a descriptor; `None`: there is no image, and every access gives 0. `short`: only four words are given. `array`: the
    /// instruction has a slice among its coordinates.
    pub(crate) fn read(
        words: &[u32; 8],
        generation: Generation,
        short: bool,
        array: bool,
    ) -> Result<Option<Image>, &'static str> {
        let nine = generation == Generation::Gfx9;
        let field = |word, low, count| bits(words, word, low, count);
        let (data, number) = (field(1, 20, 6), field(1, 26, 4));
        if data == 0 {
            return Ok(None);
        }
        let ty = field(3, 28, 4);
        let line = matches!(ty, D1 | D1_ARRAY);
        let kind = match (ty, array) {
            (D1 | D1_ARRAY, false) => Kind::D1,
            (D1 | D1_ARRAY, true) => Kind::D1Array,
            (D2 | D2_ARRAY | MSAA | MSAA_ARRAY, false) => Kind::D2,
            (D2 | D2_ARRAY | MSAA | MSAA_ARRAY, true) => Kind::D2Array,
            (D3, _) => Kind::D3,
            (CUBE, _) => Kind::CubeArray,
            _ => return Err("the image has an unknown type"),
        };
        let several = matches!(ty, MSAA | MSAA_ARRAY);
        let samples = if several { 1 << field(3, 16, 4).min(4) } else { 1 };
        if generation >= Generation::Gfx8 && !short && field(6, 21, 1) != 0 {
            return Err("the image is compressed");
        }
        let format = format_of(data, number, nine).ok_or("the image has an unknown format")?;
        // Components of 8 bits, and block compression 1 to 3 and 7.
        let may_curve = number == 0 && matches!(data, 1 | 3 | 10 | 35..=37 | 41);
        let curved = if may_curve { format_of(data, 9, nine) } else { None };
        let one = if format.is_integer() { Source::OneInt } else { Source::OneFloat };
        let sources = [0, 3, 6, 9].map(|low| match field(3, low, 3) {
            1 => one,
            selector @ 4..=7 => Source::Component(selector as u8 - 4),
            _ => Source::Zero,
        });
        let width = field(2, 0, 14) + 1;
        let height = if line { 1 } else { field(2, 14, 14) + 1 };
        let depth = field(4, 0, 13);
        let (first_level, last_level) = if several { (0, 0) } else { (field(3, 12, 4), field(3, 16, 4)) };
        let high = signed(field(1, 0, 8), 8) as i64 as u64;
        let (first_layer, last_layer) = match ty {
            D3 => (0, 0),
            _ if nine => (field(5, 0, 13), depth),
            _ => (field(5, 0, 13), field(5, 13, 13)),
        };
        let slices = match ty {
            CUBE if !nine => 6 * (depth + 1),
            _ => depth + 1,
        };
        let pitch = match (short, nine) {
            (true, _) => width,
            (_, true) => field(4, 13, 16) + 1,
            (_, false) => field(4, 13, 14) + 1,
        };
        Ok(Some(Image {
            address: (high << 32 | u64::from(words[0])) << 8,
            kind,
            size: [width, height, if ty == D3 { depth + 1 } else { 1 }],
            first_level,
            last_level,
            first_layer,
            last_layer: if array || kind.is_cube() { last_layer } else { first_layer },
            slices,
            min_lod: field(1, 8, 12),
            format,
            curved,
            sources,
            tiling: field(3, 20, 5),
            pow2_pad: !nine && field(3, 25, 1) != 0,
            pitch,
            levels: if nine && !several { field(5, 28, 4).max(last_level) + 1 } else { last_level + 1 },
            samples,
            border_swizzle: if nine { field(4, 29, 3) } else { 0 },
        }))
    }
}

/// Where a sampler has its border's colour from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Border {
    /// These components, where 1 is one of the format's kind.
    Fixed([u8; 4]),
    /// Entry of the table.
    Entry(u32),
}

/// Whether a sampler forces sRGB's curve on unorms.
pub(crate) fn forces_curve(words: &[u32; 4]) -> bool {
    bits(words, 0, 20, 1) != 0
}

/// Reads a sampler's descriptor; the border's colour is still to be filled in.
pub(crate) fn sampler(words: &[u32; 4], generation: Generation) -> (Sampler, Border) {
    let field = |word, low, count| bits(words, word, low, count);
    let wrap = [0, 3, 6].map(|low| match field(0, low, 3) {
        0 => Wrap::Wrap,
        1 => Wrap::Mirror,
        2 => Wrap::ClampToEdge,
        3 => Wrap::MirrorOnceEdge,
        4 => Wrap::ClampHalfBorder,
        5 => Wrap::MirrorOnceHalfBorder,
        6 => Wrap::Border,
        _ => Wrap::MirrorOnceBorder,
    });
    let compare = Compare::of(field(0, 12, 3));
    let anisotropic = field(2, 20, 2).max(field(2, 22, 2)) >= 2;
    let filter = |low| if field(2, low, 2) & 1 == 0 { Filter::Nearest } else { Filter::Linear };
    let border = match field(3, 30, 2) {
        0 => Border::Fixed([0; 4]),
        1 => Border::Fixed([0, 0, 0, 1]),
        2 => Border::Fixed([1; 4]),
        _ => Border::Entry(field(3, 0, 12)),
    };
    let sampler = Sampler {
        wrap,
        mag: filter(20),
        min: filter(22),
        z: match field(2, 24, 2) {
            0 => None,
            1 => Some(Filter::Nearest),
            _ => Some(Filter::Linear),
        },
        mip: match field(2, 26, 2) {
            0 => Mip::None,
            1 => Mip::Nearest,
            _ => Mip::Linear,
        },
        min_lod: field(1, 0, 12) as i32,
        max_lod: field(1, 12, 12) as i32,
        bias: signed(field(2, 0, 14), 14) + 16 * signed(field(2, 14, 6), 6),
        compare: Some(compare),
        unnormalized: field(0, 15, 1) != 0,
        seamless: field(0, 28, 1) == 0,
        // Drivers' code takes the half texel back (Mesa: "the hardware incorrectly forces nearest filtering").
        integer_gathers_nearest: generation != Generation::Gfx9,
        max_anisotropy: if anisotropic { 1 << field(0, 9, 3).min(4) } else { 1 },
        reduction: match field(0, 29, 2) {
            1 => Reduction::Min,
            2 => Reduction::Max,
            _ => Reduction::Blend,
        },
        nearest: if field(0, 27, 1) != 0 { Rounding::Trunc } else { Rounding::Rounded },
        mip_ties: Ties::Up,
        border_sources: generation == Generation::Gfx9,
        ..Sampler::default()
    };
    (sampler, border)
}

/// Where the elements of an image are: by the tables of the launch, or else of the chip.
pub(crate) fn layout(image: &Image, chip: Chip, given: &TextureTables) -> Result<Layout, &'static str> {
    let generation = chip.generation();
    let of = |chip: Chip| {
        gcn::TileTables::of_chip(match chip.name() {
            "tongapro" => "tonga",
            "gfx705" => "kabini",
            name => name,
        })
    };
    // Consoles have tables of their own, which no source tells.
    let tables = of(chip).or(of(generation.into())).ok_or("the chip has no tile tables")?;
    if generation == Generation::Gfx9 {
        // Blocks of variable size have never been in use.
        if matches!(image.tiling, 12..=15 | 28..=31) {
            return Err("the image has an unknown swizzle mode");
        }
        return Ok(Layout::Gfx9(gfx9::Surface {
            swizzle: image.tiling as u8,
            pitch: image.pitch,
            levels: image.levels,
            gb_addr_config: given.address_config.unwrap_or(tables.gb_addr_config),
            samples: image.samples,
            sample: 0,
        }));
    }
    let mut tables = *tables;
    if let Some(modes) = &given.tile_modes {
        tables.tile_modes = **modes;
    }
    if let Some(modes) = &given.macrotile_modes {
        tables.macrotile_modes = **modes;
    }
    tables.gb_addr_config = given.address_config.unwrap_or(tables.gb_addr_config);
    let gfx6 = generation == Generation::Gfx6;
    let mode = tables.mode_of_samples(image.tiling, image.format.bytes.into(), image.samples, gfx6);
    if image.samples > 1 && (mode.array_mode < 2 || mode.thickness() > 1) {
        return Err("the image has several samples a texel, and is not in thin tiles");
    }
    let (pitch, slices, pow2_pad) = (image.pitch, image.slices, image.pow2_pad);
    Ok(Layout::Gcn(gcn::Surface { mode, pitch, slices, pow2_pad, sample: 0 }))
}
