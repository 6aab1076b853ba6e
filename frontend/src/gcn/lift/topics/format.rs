//! Lifts typed loads and stores: converts a texel in memory to components in registers and back ([`texel`](crate::gcn::texel)
//! defines the formats). Common formats that are known at compile time become a few IR operations, all others a function call.

use warpjit_ir::{FloatCC, IntCC, Opcode, Scalar, Value};
use warpjit_texture::format::Number;

use crate::gcn::Inst;
use crate::gcn::lift::emit::Emit;
use crate::gcn::texel::{self, DataFormat};

/// Data format, number format and which component goes where.
#[derive(Clone, Copy)]
pub(in crate::gcn::lift) enum TexelFormat {
    /// Known here: data format, number format, selectors.
    Known(u32, u32, u32),
    /// In a resource: a uniform i32 as [`texel::pack_format`] makes it.
    Dynamic(Value),
}

/// The canonical f32 NaN.
const NAN: u64 = 0x7fc0_0000;

impl TexelFormat {
    /// The format that an MTBUF instruction names.
    pub(in crate::gcn::lift) fn of_instruction(inst: &Inst) -> TexelFormat {
        TexelFormat::Known(inst.mem.dfmt.into(), inst.mem.nfmt.into(), texel::IDENTITY)
    }

    /// The format in `word`, the last dword of a buffer's resource.
    pub(in crate::gcn::lift) fn of_buffer(e: &mut Emit<'_>, word: Value) -> TexelFormat {
        if let Some(word) = e.b.func.as_const(word) {
            let word = word as u32;
            return TexelFormat::Known(word >> 15 & 15, word >> 12 & 7, word & 0xfff);
        }
        let data = field(e, word, 15, 4);
        let number = field(e, word, 12, 3);
        let selectors = field(e, word, 0, 12);
        TexelFormat::pack(e, data, number, selectors)
    }

    /// A format that is known at run time only, from its fields.
    pub(in crate::gcn::lift) fn pack(
        e: &mut Emit<'_>,
        data: Value,
        number: Value,
        selectors: Value,
    ) -> TexelFormat {
        let number = e.shl_const(number, 6);
        let selectors = e.shl_const(selectors, 12);
        let packed = e.b.ior(data, number);
        TexelFormat::Dynamic(e.b.ior(packed, selectors))
    }

    /// Bytes of a texel: a constant where it is known.
    pub(in crate::gcn::lift) fn bytes(self, e: &mut Emit<'_>) -> Value {
        match self {
            TexelFormat::Known(data, ..) => {
                let bytes = DataFormat::of(data).map_or(0, |data| data.bytes);
                e.b.i32(bytes)
            }
            TexelFormat::Dynamic(packed) => {
                let data = e.and_const(packed, 63);
                e.b.call_pure(&texel::BYTES, &[data])
            }
        }
    }

    fn packed(self, e: &mut Emit<'_>) -> Value {
        match self {
            TexelFormat::Known(data, number, selectors) => {
                e.b.i32(texel::pack_format(data, number, selectors, false))
            }
            TexelFormat::Dynamic(packed) => packed,
        }
    }

    /// The accesses that make up a texel: first byte, bytes, and under which condition.
    fn accesses(self, e: &mut Emit<'_>) -> Vec<(u32, u8, Option<Value>)> {
        if let TexelFormat::Known(data, ..) = self {
            return match DataFormat::of(data).map_or(0, |data| data.bytes) {
                bytes @ 1..=2 => vec![(0, bytes as u8, None)],
                bytes => (0..bytes / 4).map(|word| (4 * word, 4, None)).collect(),
            };
        }
        let size = self.bytes(e);
        let mut accesses = Vec::new();
        for bytes in [1, 2] {
            let exactly = e.b.i32(bytes);
            accesses.push((0, bytes as u8, Some(e.b.icmp(IntCC::Eq, size, exactly))));
        }
        for word in 0..4 {
            let needed = e.b.i32(4 * word + 4);
            accesses.push((4 * word, 4, Some(e.b.icmp(IntCC::Uge, size, needed))));
        }
        accesses
    }

    /// The first `count` components of the texel that `read` reads access by access (first byte, bytes; where a
    /// condition does not hold it gives 0). `plain_alpha`: see [`texel::of_buffer_alpha`].
    pub(in crate::gcn::lift) fn load(
        self,
        e: &mut Emit<'_>,
        count: usize,
        d16: bool,
        plain_alpha: bool,
        mut read: impl FnMut(&mut Emit<'_>, u32, u8, Option<Value>) -> Value,
    ) -> Vec<Value> {
        let zero = e.b.i32(0);
        let mut raw = [zero; 4];
        for (at, bytes, cond) in self.accesses(e) {
            let value = read(e, at, bytes, cond);
            let word = &mut raw[at as usize / 4];
            *word = if *word == zero { value } else { e.b.ior(*word, value) };
        }
        if let TexelFormat::Known(data, number, selectors) = self
            && let (Some((data, number)), false) = (texel::formats(data, number), d16)
        {
            let known = (0..count).map(|i| {
                let selector = selectors >> (3 * i) & 7;
                let number = match data.width(3) {
                    Some(width) if selector == 7 && plain_alpha => texel::of_buffer_alpha(number, width),
                    _ => number,
                };
                known_component(e, data, number, selector, &raw)
            });
            if let Some(values) = known.collect() {
                return values;
            }
        }
        let (low, high) = (e.wide(raw[0], raw[1]), e.wide(raw[2], raw[3]));
        let packed = self.packed(e);
        (0..count as u32)
            .map(|i| {
                let format = e.and_const(packed, 0x3ff);
                let selector = field(e, packed, 12 + 3 * i, 3);
                let selector = e.shl_const(selector, 12);
                let format = e.b.ior(format, selector);
                let flag = e.b.i32(u32::from(d16) << 24 | u32::from(plain_alpha) << 25);
                let format = e.b.ior(format, flag);
                e.b.call_pure(&texel::LOAD, &[format, low, high])
            })
            .collect()
    }

    /// Makes a texel of components (missing ones are 0) and gives it to `write` access by access: first byte, bytes, value,
    /// condition.
    pub(in crate::gcn::lift) fn store(
        self,
        e: &mut Emit<'_>,
        components: &[Value],
        d16: bool,
        mut write: impl FnMut(&mut Emit<'_>, u32, u8, Value, Option<Value>),
    ) {
        let zero = e.b.i32(0);
        let mut values = [zero; 4];
        components.iter().zip(&mut values).for_each(|(&from, to)| *to = from);
        let plain = match self {
            TexelFormat::Known(data, number, texel::IDENTITY) => {
                let words = DataFormat::of(data).is_some_and(|data| data.widths().all(|width| width == 32));
                words && matches!(number, 4 | 5 | 7) && !d16
            }
            _ => false,
        };
        let packed = self.packed(e);
        let halves = (!plain).then(|| {
            let (low, high) = (e.wide(values[0], values[1]), e.wide(values[2], values[3]));
            let flag = e.b.i32(u32::from(d16) << 24);
            let format = e.b.ior(packed, flag);
            [0, 1].map(|half| {
                let half = e.b.i32(half);
                e.b.call_pure(&texel::STORE, &[format, low, high, half])
            })
        });
        for (at, bytes, cond) in self.accesses(e) {
            let value = match halves {
                None => values[at as usize / 4],
                Some(halves) => {
                    let by = e.b.i64(u64::from(8 * at % 64));
                    let moved = e.b.ushr(halves[at as usize / 8], by);
                    e.b.convert(Opcode::Trunc, moved, Scalar::I32)
                }
            };
            write(e, at, bytes, value, cond);
        }
    }
}

/// `value[low..low + bits]`.
pub(in crate::gcn::lift) fn field(e: &mut Emit<'_>, value: Value, low: u32, bits: u32) -> Value {
    let shifted = if low == 0 { value } else { e.ushr_const(value, low) };
    e.and_const(shifted, (1 << bits) - 1)
}

/// A component of a texel in operations of the IR; `None` for what needs a function.
fn known_component(
    e: &mut Emit<'_>,
    data: DataFormat,
    number: Number,
    selector: u32,
    raw: &[Value; 4],
) -> Option<Value> {
    let component = match selector {
        1 => return Some(e.b.i32(texel::one(number))),
        4..=7 => selector as usize - 4,
        _ => return Some(e.b.i32(0)),
    };
    let Some(width) = data.width(component) else {
        return Some(e.b.i32(if component == 3 { texel::one(number) } else { 0 }));
    };
    let position = data.position(component);
    let word = raw[position as usize / 32];
    if width == 32 {
        let same = number.is_integer() || number == Number::Float;
        return same.then_some(word);
    }
    let unsigned = field(e, word, position % 32, width);
    if data.shared_exponent {
        // As a factor, 2^(exponent - 24), it is a normal number.
        let exponent = e.ushr_const(word, 27);
        let scale = e.add_const(exponent, 127 - 24);
        let scale = e.shl_const(scale, 23);
        let scale = e.b.bitcast(scale, Scalar::F32);
        let value = e.b.convert(Opcode::FcvtFromUint, unsigned, Scalar::F32);
        let value = e.b.float(Opcode::Fmul, &[value, scale], false);
        return Some(e.b.bitcast(value, Scalar::I32));
    }
    let signed = |e: &mut Emit<'_>| e.extend(unsigned, width, true);
    let most = ((1u32 << width) - 1) as f32;
    let divided = |e: &mut Emit<'_>, value: Value, by: f32| {
        let by = e.b.f32(by);
        e.b.float(Opcode::Fdiv, &[value, by], false)
    };
    let float = match number {
        Number::Uint => return Some(unsigned),
        Number::Sint => return Some(signed(e)),
        Number::Unorm => {
            let value = e.b.convert(Opcode::FcvtFromUint, unsigned, Scalar::F32);
            divided(e, value, most)
        }
        Number::Snorm if width > 2 => {
            let value = signed(e);
            let value = e.b.convert(Opcode::FcvtFromSint, value, Scalar::F32);
            let value = divided(e, value, ((1u32 << (width - 1)) - 1) as f32);
            let least = e.b.f32(-1.0);
            let below = e.b.fcmp(FloatCC::Lt, value, least, false);
            e.b.select(below, least, value)
        }
        Number::Uscaled => e.b.convert(Opcode::FcvtFromUint, unsigned, Scalar::F32),
        Number::Sscaled => {
            let value = signed(e);
            e.b.convert(Opcode::FcvtFromSint, value, Scalar::F32)
        }
        Number::Float if width == 16 => {
            let value = e.b.convert(Opcode::F16ToF32, unsigned, Scalar::F32);
            e.b.fcanon(value, NAN)
        }
        _ => return None,
    };
    Some(e.b.bitcast(float, Scalar::I32))
}
