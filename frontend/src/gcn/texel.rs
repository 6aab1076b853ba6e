//! Converts texels of typed buffers and images to components and back, for all data and number formats.
//!
//! The formats are those of docs/hardware/gcn.md section 5 ("Memory") and the vendor's tables. The name of a data format lists its
//! components from the highest bits down; the first component (red) has the lowest bits. Components with a shared exponent
//! (5_9_9_9) are always floats, stored as OpenGL's extension `EXT_texture_shared_exponent` defines.
//!
//! The tables of formats are those of textures ([`warpjit_texture::format`]). The conversions of numbers here are of their own: they are
//! arithmetic in f64, as the documents define them, and a test compares them with the quick ones of textures.
//!
//! Our choices, where no document says: integers that do not fit are clamped when stored, as Direct3D has it;
//! components that the instruction does not supply are stored as 0; a format that does not exist loads as 0.

mod inline;

use warpjit_ir::{PureFn, Scalar, WordTable};
use warpjit_texture::format::{Number, gcn_components, gcn_number};

use crate::soft::{self, F16, F32, Format, Rounding, Tiny};

/// A data format: where the components of a texel are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DataFormat {
    /// Bytes of a texel.
    pub(crate) bytes: u32,
    /// Widths of the components, from the lowest bits up.
    widths: &'static [u8],
    /// Whether the bits above them are an exponent that they have in common.
    pub(crate) shared_exponent: bool,
}

impl DataFormat {
    /// By its code in descriptors and MTBUF words ([`gcn_components`]). Code 0 and others that are reserved have no format.
    pub(crate) fn of(code: u32) -> Option<DataFormat> {
        let (bytes, widths) = gcn_components(code)?;
        Some(DataFormat { bytes: bytes.into(), widths, shared_exponent: code == SHARED_EXPONENT })
    }

    /// Widths of the components, from the lowest bits up.
    pub(crate) fn widths(self) -> impl Iterator<Item = u32> {
        self.widths.iter().map(|&width| width.into())
    }

    /// Width of a component that there is.
    pub(crate) fn width(self, component: usize) -> Option<u32> {
        self.widths().nth(component)
    }

    /// Bit number of a component's lowest bit.
    pub(crate) fn position(self, component: usize) -> u32 {
        self.widths().take(component).sum()
    }
}

/// The data format 5_9_9_9.
pub(crate) const SHARED_EXPONENT: u32 = 34;
/// The data format 32_32_32.
pub(crate) const TRIPLE_WORDS: u32 = 13;

/// Data format and number format of codes; `None` where there are no numbers in them.
pub(crate) fn formats(data: u32, number: u32) -> Option<(DataFormat, Number)> {
    let (data, number) = (DataFormat::of(data)?, gcn_number(number)?);
    (!data.shared_exponent || number == Number::Float).then_some((data, number))
}

/// Data formats that an image may have here, as bits: 0, of which there is no texel, and all that [`DataFormat::of`] knows.
pub(crate) const IMAGE_DATA_FORMATS: u64 = {
    let (mut bits, mut code) = (1, 1);
    while code < 64 {
        bits |= (gcn_components(code).is_some() as u64) << code;
        code += 1;
    }
    bits
};

/// Number formats that one may have here, as bits: all but sRGB's.
pub(crate) const IMAGE_NUMBER_FORMATS: u64 = {
    let (mut bits, mut code) = (0, 0);
    while code < 8 {
        bits |= (gcn_number(code).is_some() as u64) << code;
        code += 1;
    }
    bits
};

/// The format of a fourth component of `width` bits that the fetch of a vertex reads: before 1.4 two bits have no sign. Drivers' code puts
/// it back (Mesa: "the hardware always treats the 2-bit alpha channel as unsigned"). It is not known of other loads.
pub(crate) fn of_buffer_alpha(number: Number, width: u32) -> Number {
    match number {
        Number::Snorm | Number::SnormNoZero if width == 2 => Number::Unorm,
        Number::Sscaled if width == 2 => Number::Uscaled,
        Number::Sint if width == 2 => Number::Uint,
        same => same,
    }
}

/// What is 1 in this format.
pub(crate) fn one(number: Number) -> u32 {
    if number.is_integer() { 1 } else { 1f32.to_bits() }
}

const F11: Format = Format { fraction: 6, bias: 15, tiny: Tiny::Keep };
const F10: Format = Format { fraction: 5, bias: 15, tiny: Tiny::Keep };
const NAN: u32 = 0x7fc0_0000;

/// The float format of a component, its highest bit being a sign or (of 11 and 10 bits) not there.
fn float_format(width: u32) -> Option<Format> {
    match width {
        16 => Some(F16),
        11 => Some(F11),
        10 => Some(F10),
        _ => None,
    }
}

/// A small float as an f32: exact.
fn widen(format: Format, bits: u32) -> u32 {
    let bits = u64::from(bits);
    let sign = if bits & format.sign_bit() != 0 { 1 << 31 } else { 0 };
    if format.is_nan(bits) {
        NAN
    } else if format.is_infinite(bits) {
        sign | f32::INFINITY.to_bits()
    } else {
        F32.round(format.unpack(bits), Rounding::Nearest) as u32
    }
}

/// An f32 as a small float, to nearest even.
fn narrow(format: Format, bits: u32) -> u32 {
    let x = f32::from_bits(bits);
    if x.is_nan() {
        return (format.infinity() | 1 << (format.fraction - 1)) as u32;
    }
    if x.is_infinite() {
        let sign = if x.is_sign_negative() { format.sign_bit() } else { 0 };
        return (sign | format.infinity()) as u32;
    }
    format.round(soft::F32.unpack(bits.into()), Rounding::Nearest) as u32
}

/// The bits of an f16 for those of an f32.
pub(crate) fn to_f16(bits: u32) -> u32 {
    narrow(F16, bits)
}

/// The bits of an f32 for those of an f16.
pub(crate) fn from_f16(bits: u32) -> u32 {
    widen(F16, bits & 0xffff)
}

/// What the fields of a texel with a common exponent are multiplied by: 2^(exponent - 24), as an f32.
fn shared_scale(texel: u32) -> f32 {
    f32::from_bits(((texel >> 27) + 127 - 24) << 23)
}

/// The texel with a common exponent that is nearest to three numbers: what is negative or a NaN is 0, what is too large
/// the largest there is.
fn share_exponent(components: [u32; 3]) -> u32 {
    const LARGEST: f64 = 65408.0;
    let numbers = components.map(|bits| {
        let x = f64::from(f32::from_bits(bits));
        // Of a NaN and a number `max` is the number.
        LARGEST.min(x.max(0.0))
    });
    let most = numbers.into_iter().fold(0.0, f64::max);
    // Exact for numbers that an f32 can hold, which are normal here.
    let floor_log2 = (most.to_bits() >> 52) as i32 - 1023;
    let exponent = floor_log2.max(-16) + 16;
    let field = |x: f64, exponent: i32| (x * 2f64.powi(24 - exponent) + 0.5).floor() as u32;
    let exponent = if field(most, exponent) > 511 { exponent + 1 } else { exponent };
    let [x, y, z] = numbers.map(|number| field(number, exponent));
    x | y << 9 | z << 18 | (exponent as u32) << 27
}

fn low_bits(width: u32) -> u32 {
    if width >= 32 { u32::MAX } else { (1 << width) - 1 }
}

fn sign_extended(bits: u32, width: u32) -> i32 {
    (bits << (32 - width.clamp(1, 32))) as i32 >> (32 - width.clamp(1, 32))
}

/// A component's bits as what a register gets: the bits of an f32 or an integer. `alpha`: the fourth component.
fn decode(format: Number, width: u32, bits: u32, alpha: bool) -> u32 {
    let signed = sign_extended(bits, width);
    let unsigned_max = f64::from(low_bits(width));
    let signed_max = f64::from((low_bits(width) >> 1).max(1));
    let float = |x: f64| (x as f32).to_bits();
    match format {
        Number::Unorm => float(f64::from(bits) / unsigned_max),
        Number::Snorm => float((f64::from(signed) / signed_max).max(-1.0)),
        Number::Uscaled => float(f64::from(bits)),
        Number::Sscaled => float(f64::from(signed)),
        Number::Uint => bits,
        Number::Sint => signed as u32,
        Number::SnormNoZero => float((2.0 * f64::from(signed) + 1.0) / unsigned_max),
        // No float has eight bits: they are the stencil beside a float's depth.
        Number::Float if matches!(width, 8 | 32) => bits,
        Number::Float => float_format(width).map_or(0, |format| widen(format, bits)),
        Number::Srgb => {
            let x = f64::from(bits) / unsigned_max;
            float(match x {
                _ if alpha => x,
                _ if x <= 0.040_45 => x / 12.92,
                _ => ((x + 0.055) / 1.055).powf(2.4),
            })
        }
    }
}

/// The inverse of [`decode`]: what a register holds as a component's bits, to nearest even.
fn encode(format: Number, width: u32, value: u32, alpha: bool) -> u32 {
    let x = f64::from(f32::from_bits(value));
    // A NaN is 0, as `max` and the conversion to an integer make it.
    let number = if x.is_nan() { 0.0 } else { x };
    let unsigned_max = f64::from(low_bits(width));
    let signed_max = f64::from((low_bits(width) >> 1).max(1));
    let bits = match format {
        Number::Unorm => (number.clamp(0.0, 1.0) * unsigned_max).round_ties_even() as u32,
        Number::Snorm => (number.clamp(-1.0, 1.0) * signed_max).round_ties_even() as i32 as u32,
        // Conversions of floats to integers cut off.
        Number::Uscaled => number.clamp(0.0, unsigned_max) as u32,
        Number::Sscaled => number.clamp(-signed_max - 1.0, signed_max) as i32 as u32,
        Number::Uint => value.min(low_bits(width)),
        Number::Sint => {
            let most = (low_bits(width) >> 1) as i32;
            (value as i32).clamp(-most - 1, most) as u32
        }
        Number::SnormNoZero => {
            ((number.clamp(-1.0, 1.0) * unsigned_max - 1.0) / 2.0).round_ties_even() as i32 as u32
        }
        Number::Float if matches!(width, 8 | 32) => value,
        // The small ones have no sign: what is negative is 0.
        Number::Float if width < 16 && number < 0.0 => 0,
        Number::Float => float_format(width).map_or(0, |format| narrow(format, value)),
        Number::Srgb => {
            let x = number.clamp(0.0, 1.0);
            let x = match x {
                _ if alpha => x,
                _ if x <= 0.003_130_8 => x * 12.92,
                _ => 1.055 * x.powf(1.0 / 2.4) - 0.055,
            };
            (x * unsigned_max).round_ties_even() as u32
        }
    };
    bits & low_bits(width)
}

/// What a selector gives of a texel: 0, 1 (of the number format), or component 4 to 7. Components that the data
/// format does not have are 0, the fourth 1. 16-bit results (`d16`) are f16 or the low half of an integer. `plain_alpha`: see
/// [`of_buffer_alpha`].
pub(crate) fn load(data: u32, number: u32, selector: u32, d16: bool, plain_alpha: bool, texel: u128) -> u32 {
    let Some((data, number)) = formats(data, number) else { return 0 };
    let value = match selector {
        1 => one(number),
        4..=7 => {
            let component = selector as usize - 4;
            match data.width(component) {
                Some(width) => {
                    let bits = (texel >> data.position(component)) as u32 & low_bits(width);
                    match data.shared_exponent {
                        true => (bits as f32 * shared_scale(texel as u32)).to_bits(),
                        false if plain_alpha && component == 3 => {
                            decode(of_buffer_alpha(number, width), width, bits, true)
                        }
                        false => decode(number, width, bits, component == 3),
                    }
                }
                None if component == 3 => one(number),
                None => 0,
            }
        }
        _ => 0,
    };
    match d16 {
        false => value,
        true if number.is_integer() => value & 0xffff,
        true => to_f16(value),
    }
}

/// The texel of four components in registers. Component `i` of memory is the one of the registers whose selector
/// names it; what none names is 0.
pub(crate) fn store(data: u32, number: u32, selectors: u32, d16: bool, values: [u32; 4]) -> u128 {
    let Some((data, number)) = formats(data, number) else { return 0 };
    let given = |component: u32| {
        let from = (0..4).find(|i| selectors >> (3 * i) & 7 == component + 4)?;
        let value = *values.get(from as usize)?;
        Some(match d16 {
            false => value,
            true if number == Number::Sint => sign_extended(value, 16) as u32,
            true if number == Number::Uint => value & 0xffff,
            true => from_f16(value),
        })
    };
    if data.shared_exponent {
        return share_exponent([0, 1, 2].map(|component| given(component).unwrap_or(0))).into();
    }
    let mut texel = 0;
    for (component, width) in (0..).zip(data.widths()) {
        let Some(value) = given(component) else { continue };
        texel |=
            u128::from(encode(number, width, value, component == 3)) << data.position(component as usize);
    }
    texel
}

/// What [`LOAD`] and [`STORE`] get as first argument: data format 5:0, number format 8:6, selectors of three bits from
/// 12 up (for [`LOAD`] the first one only), `d16` 24, for [`LOAD`] 25 whether two bits of a fourth component have no sign
/// ([`of_buffer_alpha`]). Accesses with sRGB's curve, which only images have, and stores
/// with a common exponent are a device's.
pub(crate) fn pack_format(data: u32, number: u32, selectors: u32, d16: bool) -> u32 {
    data & 63 | (number & 7) << 6 | (selectors & 0xfff) << 12 | u32::from(d16) << 24
}

/// Selectors that leave all components where they are.
pub(crate) const IDENTITY: u32 = 4 | 5 << 3 | 6 << 6 | 7 << 9;

fn arg(args: &[u64], n: usize) -> u64 {
    args.get(n).copied().unwrap_or(0)
}

/// A component of a texel: [`pack_format`], the texel's first eight bytes, its last eight bytes.
pub(crate) static LOAD: PureFn = PureFn {
    name: "gcn.texel_load",
    params: &[Scalar::I32, Scalar::I64, Scalar::I64],
    result: Scalar::I32,
    eval: |args| {
        let format = arg(args, 0) as u32;
        let texel = u128::from(arg(args, 1)) | u128::from(arg(args, 2)) << 64;
        let (d16, plain_alpha) = (format >> 24 & 1 != 0, format >> 25 & 1 != 0);
        load(format & 63, format >> 6 & 7, format >> 12 & 7, d16, plain_alpha, texel).into()
    },
    expand: Some(inline::load),
    fast: None,
    special: None,
};

/// Eight bytes of a texel: [`pack_format`], the first two components, the last two, and 0 for the texel's first half, 1 for the second.
pub(crate) static STORE: PureFn = PureFn {
    name: "gcn.texel_store",
    params: &[Scalar::I32, Scalar::I64, Scalar::I64, Scalar::I32],
    result: Scalar::I64,
    eval: |args| {
        let format = arg(args, 0) as u32;
        let (low, high) = (arg(args, 1), arg(args, 2));
        let values = [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32];
        if format & 63 == SHARED_EXPONENT {
            return 0;
        }
        let texel = store(format & 63, format >> 6 & 7, format >> 12 & 0xfff, format >> 24 & 1 != 0, values);
        (texel >> (64 * (arg(args, 3) & 1))) as u64
    },
    expand: Some(inline::store),
    fast: None,
    special: None,
};

/// Bytes of a texel of a data format (5:0), 0 where there is no such format.
pub(crate) static BYTES: PureFn = PureFn {
    name: "gcn.texel_bytes",
    params: &[Scalar::I32],
    result: Scalar::I32,
    eval: |args| DataFormat::of(arg(args, 0) as u32 & 63).map_or(0, |data| data.bytes.into()),
    expand: None,
    fast: None,
    special: None,
};

/// The functions, for those who look them up by name.
pub static ALL: &[&PureFn] = &[&LOAD, &STORE, &BYTES];

/// The tables of their expansions.
pub static TABLES: &[&WordTable] = &[&inline::FIELDS, &inline::PLAIN_ALPHA];

#[cfg(test)]
mod tests;
