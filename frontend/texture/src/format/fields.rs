//! Formats whose components have bits of their own.

use super::{Field, Number, convert};
use crate::Texel;

/// A component that a format does not have.
pub(super) const NONE: Field = Field { bit: 0, bits: 0, number: Number::Unorm };

/// The 32-bit word of an element that has a bit, and the one above it.
fn words(element: &[u8; 16], bit: usize) -> u64 {
    let word = |n: usize| match element.get(4 * n..4 * n + 4) {
        Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
        _ => 0,
    };
    u64::from(word(bit / 32)) | u64::from(word(bit / 32 + 1)) << 32
}

#[inline]
fn bits(element: &[u8; 16], field: Field) -> u32 {
    let bits = (words(element, field.bit.into()) >> (field.bit % 32)) as u32;
    bits & convert::low_bits(field.bits.into())
}

/// Whether the first component that there is is an integer.
pub(super) fn is_integer(fields: &[Field; 4]) -> bool {
    let first = fields.iter().find(|field| field.bits != 0);
    first.is_some_and(|field| matches!(field.number, Number::Uint | Number::Sint))
}

#[inline]
pub(super) fn decode(fields: &[Field; 4], element: &[u8; 16]) -> Texel {
    let mut texel = [0; 4];
    for (component, &field) in texel.iter_mut().zip(fields) {
        if field.bits != 0 {
            *component = convert::decode(field.number, field.bits.into(), bits(element, field));
        }
    }
    if fields[3].bits == 0 {
        texel[3] = convert::one(is_integer(fields));
    }
    texel
}

pub(super) fn encode(fields: &[Field; 4], texel: Texel) -> Option<[u8; 16]> {
    let mut element = 0u128;
    for (&field, word) in fields.iter().zip(texel) {
        if field.bits == 0 {
            continue;
        }
        if field.number == Number::Srgb {
            return None;
        }
        let value = convert::encode(field.number, field.bits.into(), word);
        element |= u128::from(value).checked_shl(field.bit.into()).unwrap_or(0);
    }
    Some(element.to_le_bytes())
}
