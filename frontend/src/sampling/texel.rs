//! Emits the access to texels: from numbers of columns, rows and slices to addresses, and from the bits there to components.

use warpjit_ir::{Opcode, Scalar, Value, WordTable};
use warpjit_texture::format::{Field, Number, Packing, SRGB8};

use super::axis::LevelData;
use super::block::Block;
use super::data::{head, level};
use super::emit::{Emit, NAN};
use super::key::Outside;

pub(super) static INTENSITIES: WordTable = WordTable::new("texture.srgb", &SRGB8);

/// What coordinates add to an address: outside of blocks, and inside. Of formats whose elements are 4 x 4 texels also the place in the
/// element, column and row.
#[derive(Clone, Copy, Default)]
pub(super) struct Offset {
    outside: Option<Value>,
    inside: Option<Value>,
    place: [Option<Value>; 2],
}

impl Emit<'_> {
    fn some_sum(&mut self, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.b.iadd(a, b)),
            (one, None) | (None, one) => one,
        }
    }

    fn some_xor(&mut self, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.b.ixor(a, b)),
            (one, None) | (None, one) => one,
        }
    }

    /// Both together.
    pub fn both(&mut self, a: Offset, b: Offset) -> Offset {
        Offset {
            outside: self.some_sum(a.outside, b.outside),
            inside: self.some_xor(a.inside, b.inside),
            place: [0, 1].map(|axis: usize| a.place[axis].or(b.place[axis])),
        }
    }

    /// What the level adds.
    pub fn level_offset(&mut self, data: &LevelData) -> Offset {
        let start = self.word(data.at, level::START);
        let flips = self.word(data.at, level::FLIPS);
        match self.key.mixed {
            true => Offset { outside: Some(start), inside: Some(flips), ..Offset::default() },
            false => Offset { outside: Some(self.b.iadd(start, flips)), ..Offset::default() },
        }
    }

    /// What a coordinate adds.
    pub fn offset(&mut self, axis: usize, texel: Value, data: &LevelData) -> Offset {
        let mut place = [None; 2];
        let mut coordinate = texel;
        if axis < 2 && self.key.format.block() == (4, 4) {
            place[axis] = Some(self.and(texel, 3));
            coordinate = self.shr(texel, 2);
        }
        let part = &self.key.parts[axis];
        let at = self.key.part_word(axis);
        let number = |e: &mut Self| match part.low {
            Some(low) => e.shr(coordinate, low),
            None => {
                let low = e.word(data.at, at);
                e.b.ushr(coordinate, low)
            }
        };
        let outside = match part.outside {
            Outside::None => None,
            Outside::Product => {
                let (number, step) = (number(self), self.word(data.at, at + 1));
                Some(self.b.imul(number, step))
            }
            Outside::Shift => {
                let (number, step) = (number(self), self.word(data.at, at + 1));
                Some(self.b.ishl(number, step))
            }
        };
        let mut inside = None;
        for (n, &(by, mask)) in part.shifts.iter().enumerate() {
            let bits = match mask {
                Some(u32::MAX) => coordinate,
                Some(mask) => self.and(coordinate, mask),
                None => {
                    let mask = self.word(data.at, at + 2 + n as u32);
                    self.b.iand(coordinate, mask)
                }
            };
            let moved = if by < 0 { self.shr(bits, by.unsigned_abs()) } else { self.shl(bits, by as u32) };
            inside = self.some_xor(inside, Some(moved));
        }
        match self.key.mixed {
            true => Offset { outside, inside, place },
            false => Offset { outside: self.some_sum(outside, inside), inside: None, place },
        }
    }

    /// Where in the image that is.
    pub fn image_offset(&mut self, offset: Offset) -> Value {
        let at = self.some_sum(offset.outside, offset.inside);
        let zero = self.int(0);
        let limit = self.head(head::LIMIT);
        // Nothing is read beyond the image, whatever the numbers.
        let at = self.b.umin(at.unwrap_or(zero), limit);
        self.splat(at)
    }

    /// The words of the element at an offset, as many as components need; of block compression the components of the texel.
    pub fn element(&mut self, offset: Offset, wanted: [bool; 4]) -> [Option<Value>; 4] {
        let at = self.image_offset(offset);
        let zero = self.int(0);
        let bytes = self.key.format.bytes;
        let place = offset.place.map(|part| part.unwrap_or(zero));
        match self.key.format.packing {
            Packing::Bc { kind: 7, srgb, .. } => return self.block7_texel(at, place, srgb, wanted),
            Packing::Bc { kind, signed, srgb } => {
                return self.block_texel(&Block { at, place, kind, signed, srgb }, wanted);
            }
            Packing::Bc6 { signed } => return self.block6_texel(at, place, signed, wanted),
            _ => {}
        }
        let mut words = [None; 4];
        if bytes < 4 {
            words[0] = Some(self.texel(at, 0, bytes));
            return words;
        }
        let used: [bool; 4] = match self.key.format.packing {
            Packing::Fields(fields) => std::array::from_fn(|word| {
                (0..4).any(|c| wanted[c] && fields[c].bits > 0 && usize::from(fields[c].bit) / 32 == word)
            }),
            _ => [true, false, false, false],
        };
        for pair in [0, 2] {
            let byte = 4 * pair as u32;
            match [used[pair], used[pair + 1]] {
                [true, true] => {
                    let both = self.texel(at, byte, 8);
                    words[pair] = Some(self.b.convert(Opcode::Trunc, both, Scalar::I32));
                    let by = self.b.i64(32);
                    let high = self.b.ushr(both, by);
                    words[pair + 1] = Some(self.b.convert(Opcode::Trunc, high, Scalar::I32));
                }
                [first, second] => {
                    if first {
                        words[pair] = Some(self.texel(at, byte, 4));
                    }
                    if second {
                        words[pair + 1] = Some(self.texel(at, byte + 4, 4));
                    }
                }
            }
        }
        words
    }

    /// A component of an element, as an f32 with its bits.
    pub fn component(&mut self, words: &[Option<Value>; 4], component: usize) -> Value {
        let one = |e: &mut Self, integer: bool| if integer { e.b.i32(1) } else { e.b.f32(1.0) };
        let bits = match &self.key.format.packing {
            Packing::Fields(fields) => {
                let field = fields[component];
                if field.bits > 0 {
                    let word = words[usize::from(field.bit) / 32].expect("loaded where it is wanted");
                    self.number(word, field)
                } else if component == 3 {
                    one(self, self.key.format.is_integer())
                } else {
                    self.int(0)
                }
            }
            Packing::Bc { .. } | Packing::Bc6 { .. } if words[component].is_some() => {
                words[component].expect("is some")
            }
            _ if component == 3 => one(self, false),
            Packing::Bc { .. } | Packing::Bc6 { .. } => self.int(0),
            _ => {
                let word = words[0].expect("always loaded");
                let exponent = self.shr(word, 27);
                let bias = self.int(127 - 24);
                let exponent = self.b.iadd(exponent, bias);
                let scale = self.shl(exponent, 23);
                let scale = self.float(scale);
                let field = self.shr(word, 9 * component as u32);
                let field = self.and(field, 0x1ff);
                let float = self.float_of(field);
                self.fmul(float, scale)
            }
        };
        let float = self.float(bits);
        self.splat(float)
    }

    /// A field's number.
    fn number(&mut self, word: Value, field: Field) -> Value {
        let (low, bits) = (u32::from(field.bit % 32), u32::from(field.bits));
        let high = 32 - low - bits;
        let unsigned = |e: &mut Self| match (low, high) {
            (_, 0) => e.shr(word, low),
            // Elements of a byte or two are loaded as such.
            (0, _) if bits == 8 * u32::from(e.key.format.bytes) => word,
            _ => {
                let moved = e.shr(word, low);
                e.and(moved, u32::MAX >> (32 - bits))
            }
        };
        let signed = |e: &mut Self| {
            let moved = e.shl(word, high);
            e.sar(moved, 32 - bits)
        };
        let most = |bits: u32| (u32::MAX >> (32 - bits)) as f32;
        match field.number {
            Number::Unorm if bits == 8 => {
                let n = unsigned(self);
                self.unorm8(n)
            }
            Number::Unorm => {
                let n = unsigned(self);
                let (n, most) = (self.float_of(n), self.b.f32(most(bits)));
                self.fdiv(n, most)
            }
            Number::Snorm => {
                let n = signed(self);
                let most = (u32::MAX >> (32 - bits) >> 1).max(1);
                let least = self.int(-(most as i32));
                let n = self.b.smax(n, least);
                let (n, most) = (self.float_of(n), self.b.f32(most as f32));
                self.fdiv(n, most)
            }
            Number::SnormNoZero => {
                let n = signed(self);
                let (twice, one) = (self.shl(n, 1), self.int(1));
                let n = self.b.iadd(twice, one);
                let (n, most) = (self.float_of(n), self.b.f32(most(bits)));
                self.fdiv(n, most)
            }
            Number::Uscaled => {
                let n = unsigned(self);
                self.float_of(n)
            }
            Number::Sscaled => {
                let n = signed(self);
                self.float_of(n)
            }
            Number::Uint => unsigned(self),
            Number::Sint => signed(self),
            Number::Srgb => {
                let n = unsigned(self);
                self.b.lookup(&INTENSITIES, n)
            }
            Number::Float => {
                let n = unsigned(self);
                let half = match bits {
                    8 | 32 => return n,
                    11 => self.shl(n, 4),
                    10 => self.shl(n, 5),
                    _ => n,
                };
                let float = self.b.convert(Opcode::F16ToF32, half, Scalar::F32);
                self.b.fcanon(float, NAN)
            }
        }
    }

    /// `n / 255`, the nearest float, as the sum of an exact product and a small one.
    pub(super) fn unorm8(&mut self, n: Value) -> Value {
        let (high, low) = unorm8_factors();
        let n = self.float_of(n);
        let (high, low) = (self.b.f32(high), self.b.f32(low));
        if self.fused {
            // The first product is exact, so that it need not be rounded by itself.
            let low = self.fmul(n, low);
            return self.fma(n, high, low);
        }
        let (high, low) = (self.fmul(n, high), self.fmul(n, low));
        self.fadd(high, low)
    }
}

/// Of `1 / 255` what has few bits, and the rest.
const fn unorm8_factors() -> (f32, f32) {
    (257.0 / 65536.0, (1.0 / 255.0 - 257.0 / 65536.0f64) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_quotients() {
        let (high, low) = unorm8_factors();
        for n in 0..256u16 {
            let n = f32::from(n);
            assert_eq!((n * high + n * low).to_bits(), (n / 255.0).to_bits(), "{n}");
            assert_eq!(n.mul_add(high, n * low).to_bits(), (n / 255.0).to_bits(), "{n}");
        }
    }
}
