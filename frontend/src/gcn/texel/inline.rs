//! The expansions of [`LOAD`](super::LOAD) and [`STORE`](super::STORE): operations that compute the same for any format.
//!
//! Descriptors are known at run time only, but to all lanes alike. So what follows from the format (where a component is, its limits, how it
//! rounds) is computed once, in scalars, and the lanes' values pass all kinds of conversion, of which selects take the right one. That costs
//! some fifty operations a component, where a call for each lane costs hundreds. Numbers are f64 on the way, as the definition has them.

use warpjit_ir::{Builder, FloatCC, IntCC, Opcode, Scalar, Value, WordTable};
use warpjit_texture::format::gcn_components;

use super::{NAN, SHARED_EXPONENT};

/// Codes of number formats.
const UNORM: u32 = 0;
const SNORM: u32 = 1;
const USCALED: u32 = 2;
const SSCALED: u32 = 3;
const UINT: u32 = 4;
const SINT: u32 = 5;
const SNORM_NO_ZERO: u32 = 6;
const FLOAT: u32 = 7;

/// Number formats as bits of a word.
const SIGNED: u32 = 1 << SNORM | 1 << SSCALED | 1 << SINT | 1 << SNORM_NO_ZERO;
const SCALED: u32 = 1 << USCALED | 1 << SSCALED;
const INTEGER: u32 = 1 << UINT | 1 << SINT;

/// Of each data format, and of each of four components: the lowest bit 7:0, the width 13:8, whether there is such a format 16.
pub(super) static FIELDS: WordTable = WordTable::new("gcn.texel_fields", &FIELD_WORDS);

static FIELD_WORDS: [u32; 256] = {
    let (mut table, mut data) = ([0; 256], 0);
    while data < 64 {
        if let Some((_, widths)) = gcn_components(data as u32) {
            let (mut component, mut at) = (0, 0);
            while component < 4 {
                let width = if component < widths.len() { widths[component] as u32 } else { 0 };
                table[4 * data + component] = at | width << 8 | 1 << 16;
                at += width;
                component += 1;
            }
        }
        data += 1;
    }
    table
};

/// The number format of a fourth component of two bits in the fetch of a vertex: [`super::of_buffer_alpha`].
pub(super) static PLAIN_ALPHA: WordTable = WordTable::new("gcn.texel_plain_alpha", &PLAIN_ALPHA_WORDS);

static PLAIN_ALPHA_WORDS: [u32; 16] =
    [UNORM, UNORM, USCALED, USCALED, UINT, UINT, UNORM, FLOAT, 0, 0, 0, 0, 0, 0, 0, 0];

struct Ops<'a, 'b> {
    b: &'a mut Builder<'b>,
}

/// What is known of the format, all of it uniform.
struct Format {
    data: Value,
    number: Value,
    /// Whether results, or what is stored, are halves.
    d16: Value,
}

/// A component's place, all of it uniform.
struct Field {
    /// The lowest bit of the texel.
    at: Value,
    /// At least 1.
    width: Value,
    /// Ones as many as the component has bits.
    mask: Value,
    /// Whether there is such a component.
    there: Value,
    /// Whether there is such a data format.
    known: Value,
}

/// How numbers become integers of a component, f64 and uniform.
struct Range {
    /// The largest unsigned and signed integer.
    unsigned: Value,
    signed: Value,
}

impl Ops<'_, '_> {
    fn int(&mut self, bits: u32) -> Value {
        self.b.i32(bits)
    }

    fn bits_of(&mut self, value: Value, low: u32, bits: u32) -> Value {
        let (by, mask) = (self.int(low), self.int((1 << bits) - 1));
        let value = self.b.ushr(value, by);
        self.b.iand(value, mask)
    }

    fn is(&mut self, value: Value, wanted: u32) -> Value {
        let wanted = self.int(wanted);
        self.b.icmp(IntCC::Eq, value, wanted)
    }

    /// Whether a number is one of those that the bits of a word say.
    fn one_of(&mut self, number: Value, list: u32) -> Value {
        let list = self.int(list);
        let bit = self.b.ushr(list, number);
        let one = self.int(1);
        let bit = self.b.iand(bit, one);
        self.b.icmp(IntCC::Eq, bit, one)
    }

    fn either(&mut self, cond: Value, a: u32, b: u32) -> Value {
        let (a, b) = (self.int(a), self.int(b));
        self.b.select(cond, a, b)
    }

    fn either64(&mut self, cond: Value, a: f64, b: f64) -> Value {
        let (a, b) = (self.b.f64(a), self.b.f64(b));
        self.b.select(cond, a, b)
    }

    fn float(&mut self, op: Opcode, args: &[Value]) -> Value {
        self.b.float(op, args, false)
    }

    fn format(&mut self, format: Value) -> Format {
        let (data, number) = (self.bits_of(format, 0, 6), self.bits_of(format, 6, 3));
        let d16 = self.bits_of(format, 24, 1);
        let d16 = self.is(d16, 1);
        Format { data, number, d16 }
    }

    /// The four words of two values of 64 bits.
    fn words(&mut self, low: Value, high: Value) -> [Value; 4] {
        let by = self.b.i64(32);
        let [[a, b], [c, d]] = [low, high].map(|half| {
            let above = self.b.ushr(half, by);
            [half, above].map(|value| self.b.convert(Opcode::Trunc, value, Scalar::I32))
        });
        [a, b, c, d]
    }

    fn field(&mut self, data: Value, component: Value) -> Field {
        let two = self.int(2);
        let first = self.b.ishl(data, two);
        let index = self.b.iadd(first, component);
        let entry = self.b.lookup(&FIELDS, index);
        let (at, width) = (self.bits_of(entry, 0, 8), self.bits_of(entry, 8, 6));
        let known = self.bits_of(entry, 16, 1);
        let known = self.is(known, 1);
        let zero = self.int(0);
        let there = self.b.icmp(IntCC::Ne, width, zero);
        let one = self.int(1);
        let width = self.b.umax(width, one);
        let (all, word) = (self.int(u32::MAX), self.int(32));
        let rest = self.b.isub(word, width);
        let mask = self.b.ushr(all, rest);
        Field { at, width, mask, there, known }
    }

    fn range(&mut self, field: &Field) -> Range {
        let one = self.int(1);
        let half = self.b.ushr(field.mask, one);
        let half = self.b.umax(half, one);
        let [unsigned, signed] =
            [field.mask, half].map(|most| self.b.convert(Opcode::FcvtFromUint, most, Scalar::F64));
        Range { unsigned, signed }
    }

    /// Bits that a small float of a width lacks at the end of those of an f16: 0 of 16 bits, 4 of 11, 5 of 10.
    fn lacking(&mut self, width: Value) -> Value {
        let fifteen = self.int(15);
        let lacking = self.b.isub(fifteen, width);
        let zero = self.int(0);
        let whole = self.is(width, 16);
        self.b.select(whole, zero, lacking)
    }

    /// Whether a float of that width is small, and whether it is kept as it is.
    fn kinds_of_float(&mut self, width: Value) -> [Value; 2] {
        let kinds = [[10, 11, 16], [8, 32, 32]];
        kinds.map(|widths| {
            let [a, b, c] = widths.map(|wanted| self.is(width, wanted));
            let ab = self.b.ior(a, b);
            self.b.ior(ab, c)
        })
    }
}

/// [`LOAD`](super::LOAD).
pub(super) fn load(b: &mut Builder<'_>, args: &[Value], _: bool) -> Option<Value> {
    let &[packed, low, high] = args else { return None };
    let mut e = Ops { b };
    let format = e.format(packed);
    let selector = e.bits_of(packed, 12, 3);
    let component = e.bits_of(selector, 0, 2);
    let field = e.field(format.data, component);
    let number = {
        let plain = e.bits_of(packed, 25, 1);
        let (plain, fourth, two) = (e.is(plain, 1), e.is(component, 3), e.is(field.width, 2));
        let plain = e.b.iand(plain, fourth);
        let plain = e.b.iand(plain, two);
        let without = e.b.lookup(&PLAIN_ALPHA, format.number);
        e.b.select(plain, without, format.number)
    };
    let words = e.words(low, high);
    let (bits, signed) = {
        let mut word = words[0];
        for (n, &other) in (1..).zip(&words[1..]) {
            let first = e.int(32 * n);
            let behind = e.b.icmp(IntCC::Uge, field.at, first);
            word = e.b.select(behind, other, word);
        }
        let by = e.bits_of(field.at, 0, 5);
        let moved = e.b.ushr(word, by);
        let bits = e.b.iand(moved, field.mask);
        let all = e.int(32);
        let rest = e.b.isub(all, field.width);
        let up = e.b.ishl(bits, rest);
        (bits, e.b.sshr(up, rest))
    };
    let is_signed = e.one_of(number, SIGNED);
    let integer = e.b.select(is_signed, signed, bits);
    let divided = quotient(&mut e, integer, number, is_signed, &field);
    let kept = {
        let [small, as_it_is] = e.kinds_of_float(field.width);
        let by = e.lacking(field.width);
        let half = e.b.ishl(bits, by);
        let half = e.b.convert(Opcode::F16ToF32, half, Scalar::F32);
        let half = e.b.fcanon(half, NAN.into());
        let half = e.b.bitcast(half, Scalar::I32);
        let zero = e.int(0);
        let kept = e.b.select(as_it_is, bits, zero);
        e.b.select(small, half, kept)
    };
    let shared = {
        // As a factor, 2^(exponent - 24), it is a normal number.
        let exponent = e.bits_of(words[0], 27, 5);
        let (bias, by) = (e.int(127 - 24), e.int(23));
        let scale = e.b.iadd(exponent, bias);
        let scale = e.b.ishl(scale, by);
        let scale = e.b.bitcast(scale, Scalar::F32);
        let value = e.b.convert(Opcode::FcvtFromSint, bits, Scalar::F32);
        let value = e.float(Opcode::Fmul, &[value, scale]);
        e.b.bitcast(value, Scalar::I32)
    };
    let is_integer = e.one_of(number, INTEGER);
    let is_float = e.is(number, FLOAT);
    let has_exponent = e.is(format.data, SHARED_EXPONENT);
    let zero = e.int(0);
    let value = e.b.select(has_exponent, shared, kept);
    let value = e.b.select(is_float, value, divided);
    let value = e.b.select(is_integer, integer, value);
    // What the texel does not have, and what the selector says without it.
    let one = e.either(is_integer, 1, 1f32.to_bits());
    let fourth = e.is(component, 3);
    let absent = e.b.select(fourth, one, zero);
    let value = e.b.select(field.there, value, absent);
    let four = e.int(4);
    let of_texel = e.b.icmp(IntCC::Uge, selector, four);
    let is_one = e.is(selector, 1);
    let fixed = e.b.select(is_one, one, zero);
    let value = e.b.select(of_texel, value, fixed);
    // A common exponent makes floats only.
    let none = e.b.inot(has_exponent);
    let sound = e.b.ior(none, is_float);
    let sound = e.b.iand(sound, field.known);
    let value = e.b.select(sound, value, zero);
    let half = half_of(&mut e, value);
    let mask = e.int(0xffff);
    let low = e.b.iand(value, mask);
    let narrow = e.b.select(is_integer, low, half);
    Some(e.b.select(format.d16, narrow, value))
}

/// An integer as the f32 of its number format, which is neither an integer nor a float.
fn quotient(e: &mut Ops<'_, '_>, integer: Value, number: Value, is_signed: Value, field: &Field) -> Value {
    let value = e.b.convert(Opcode::FcvtFromSint, integer, Scalar::F64);
    // Unsigned integers of 32 bits.
    let zero = e.b.f64(0.0);
    let negative = e.float_below(value, zero);
    let unsigned = e.b.inot(is_signed);
    let wraps = e.b.iand(negative, unsigned);
    let more = e.either64(wraps, 4_294_967_296.0, 0.0);
    let value = e.float(Opcode::Fadd, &[value, more]);
    let no_zero = e.is(number, SNORM_NO_ZERO);
    let (times, more) = (e.either64(no_zero, 2.0, 1.0), e.either64(no_zero, 1.0, 0.0));
    let value = e.float(Opcode::Fmul, &[value, times]);
    let value = e.float(Opcode::Fadd, &[value, more]);
    let range = e.range(field);
    let (is_snorm, scaled) = (e.is(number, SNORM), e.one_of(number, SCALED));
    let by = e.b.select(is_snorm, range.signed, range.unsigned);
    let one = e.b.f64(1.0);
    let by = e.b.select(scaled, one, by);
    let value = e.float(Opcode::Fdiv, &[value, by]);
    let least = e.either64(is_snorm, -1.0, f64::NEG_INFINITY);
    let below = e.float_below(value, least);
    let value = e.b.select(below, least, value);
    let value = e.b.convert_ftz(Opcode::Fdemote, value, Scalar::F32, false);
    e.b.bitcast(value, Scalar::I32)
}

/// The f16 of an f32's bits; a NaN has no sign.
fn half_of(e: &mut Ops<'_, '_>, bits: Value) -> Value {
    let float = e.b.bitcast(bits, Scalar::F32);
    let float = e.b.fcanon(float, NAN.into());
    e.b.convert(Opcode::F32ToF16, float, Scalar::I32)
}

/// [`STORE`](super::STORE).
pub(super) fn store(b: &mut Builder<'_>, args: &[Value], _: bool) -> Option<Value> {
    let &[packed, low, high, which] = args else { return None };
    let mut e = Ops { b };
    let format = e.format(packed);
    let which = e.bits_of(which, 0, 1);
    let words = e.words(low, high);
    let selectors: [Value; 4] = std::array::from_fn(|n| e.bits_of(packed, 12 + 3 * n as u32, 3));
    let zero = e.int(0);
    let mut dwords = [zero; 2];
    for component in 0..4 {
        let number = e.int(component);
        let field = e.field(format.data, number);
        // The first register whose selector names the component.
        let mut given = zero;
        for (&selector, &word) in selectors.iter().zip(&words).rev() {
            let named = e.is(selector, component + 4);
            given = e.b.select(named, word, given);
        }
        let given = widened(&mut e, &format, given);
        let bits = encoded(&mut e, &format, given, &field);
        let place = e.bits_of(field.at, 0, 5);
        let moved = e.b.ishl(bits, place);
        let five = e.int(5);
        let number = e.b.ushr(field.at, five);
        for (n, dword) in (0..).zip(&mut dwords) {
            let (one, n) = (e.int(1), e.int(n));
            let first = e.b.ishl(which, one);
            let wanted = e.b.iadd(first, n);
            let here = e.b.icmp(IntCC::Eq, number, wanted);
            let here = e.b.iand(here, field.there);
            let part = e.b.select(here, moved, zero);
            *dword = e.b.ior(*dword, part);
        }
    }
    let [low, high] = dwords.map(|dword| e.b.convert(Opcode::Zext, dword, Scalar::I64));
    let by = e.b.i64(32);
    let high = e.b.ishl(high, by);
    let half = e.b.ior(high, low);
    // Nothing is stored with a common exponent.
    let (has_exponent, none) = (e.is(format.data, SHARED_EXPONENT), e.b.i64(0));
    Some(e.b.select(has_exponent, none, half))
}

/// A component of 32 bits from one that may be of 16.
fn widened(e: &mut Ops<'_, '_>, format: &Format, given: Value) -> Value {
    let (mask, by) = (e.int(0xffff), e.int(16));
    let low = e.b.iand(given, mask);
    let up = e.b.ishl(given, by);
    let signed = e.b.sshr(up, by);
    let float = e.b.convert(Opcode::F16ToF32, low, Scalar::F32);
    let float = e.b.fcanon(float, NAN.into());
    let float = e.b.bitcast(float, Scalar::I32);
    let (is_signed, is_unsigned) = (e.is(format.number, SINT), e.is(format.number, UINT));
    let wide = e.b.select(is_unsigned, low, float);
    let wide = e.b.select(is_signed, signed, wide);
    e.b.select(format.d16, wide, given)
}

/// A register as the bits of a component.
fn encoded(e: &mut Ops<'_, '_>, format: &Format, value: Value, field: &Field) -> Value {
    let number = format.number;
    let rounded = rounded(e, number, value, field);
    let integer = {
        let one = e.int(1);
        let most = e.b.ushr(field.mask, one);
        let least = e.b.inot(most);
        let unsigned = e.b.umin(value, field.mask);
        let signed = e.b.smax(value, least);
        let signed = e.b.smin(signed, most);
        let is_signed = e.is(number, SINT);
        e.b.select(is_signed, signed, unsigned)
    };
    let float = {
        let [small, as_it_is] = e.kinds_of_float(field.width);
        let narrow = narrowed(e, value, field.width);
        let zero = e.int(0);
        let kept = e.b.select(as_it_is, value, zero);
        e.b.select(small, narrow, kept)
    };
    let (is_integer, is_float) = (e.one_of(number, INTEGER), e.is(number, FLOAT));
    let bits = e.b.select(is_float, float, rounded);
    let bits = e.b.select(is_integer, integer, bits);
    e.b.iand(bits, field.mask)
}

/// An f32 as the integer of its number format, which is neither an integer nor a float.
fn rounded(e: &mut Ops<'_, '_>, number: Value, value: Value, field: &Field) -> Value {
    let zero = e.b.f64(0.0);
    let x = e.b.bitcast(value, Scalar::F32);
    let is_nan = e.b.fcmp(FloatCC::Uno, x, x, false);
    let x = e.b.convert(Opcode::Fpromote, x, Scalar::F64);
    let x = e.b.select(is_nan, zero, x);
    let range = e.range(field);
    let (is_signed, scaled) = (e.one_of(number, SIGNED), e.one_of(number, SCALED));
    let one = e.b.f64(1.0);
    let most = e.b.select(is_signed, range.signed, range.unsigned);
    let (least, high) = {
        let minus = e.b.f64(-1.0);
        let least = e.float(Opcode::Fsub, &[minus, range.signed]);
        let least = e.b.select(scaled, least, minus);
        (e.b.select(is_signed, least, zero), e.b.select(scaled, most, one))
    };
    let below = e.float_below(x, least);
    let x = e.b.select(below, least, x);
    let above = e.float_below(high, x);
    let x = e.b.select(above, high, x);
    let is_snorm = e.is(number, SNORM);
    let factor = e.b.select(is_snorm, range.signed, range.unsigned);
    let factor = e.b.select(scaled, one, factor);
    let x = e.float(Opcode::Fmul, &[x, factor]);
    let no_zero = e.is(number, SNORM_NO_ZERO);
    let (less, half) = (e.either64(no_zero, 1.0, 0.0), e.either64(no_zero, 0.5, 1.0));
    let x = e.float(Opcode::Fsub, &[x, less]);
    let x = e.float(Opcode::Fmul, &[x, half]);
    let nearest = e.b.fnearest(x);
    let x = e.b.select(scaled, x, nearest);
    // What has no place below 2^31 as an unsigned number, as a signed one.
    let middle = e.b.f64(2_147_483_648.0);
    let small = e.float_below(x, middle);
    let less = e.either64(small, 0.0, 4_294_967_296.0);
    let x = e.float(Opcode::Fsub, &[x, less]);
    e.b.convert(Opcode::FcvtToSint, x, Scalar::I32)
}

/// An f32's bits as those of a small float, to nearest even: what is too large is infinite; below 16 bits there is no sign, and what is
/// negative is 0.
fn narrowed(e: &mut Ops<'_, '_>, value: Value, width: Value) -> Value {
    let lacking = e.lacking(width);
    let (ten, one) = (e.int(10), e.int(1));
    let fraction = e.b.isub(ten, lacking);
    let thirty_one = e.int(31);
    let infinity = e.b.ishl(thirty_one, fraction);
    let by = e.int(0x7fff_ffff);
    let size = e.b.iand(value, by);
    let normal = {
        let bias = e.int(112 << 23);
        let moved = e.b.isub(size, bias);
        let all = e.int(23);
        let shift = e.b.isub(all, fraction);
        let odd = e.b.ushr(size, shift);
        let odd = e.b.iand(odd, one);
        let below = e.b.isub(shift, one);
        let half = e.b.ishl(one, below);
        let half = e.b.isub(half, one);
        let sum = e.b.iadd(moved, half);
        let sum = e.b.iadd(sum, odd);
        let bits = e.b.ushr(sum, shift);
        e.b.umin(bits, infinity)
    };
    let denormal = {
        // The last bit of a sum with this number is worth as much as the last bit of the small float.
        let (bias, by) = (e.int(127 + 9), e.int(23));
        let exponent = e.b.isub(bias, fraction);
        let point = e.b.ishl(exponent, by);
        let (float, number) = (e.b.bitcast(size, Scalar::F32), e.b.bitcast(point, Scalar::F32));
        let sum = e.float(Opcode::Fadd, &[float, number]);
        let sum = e.b.bitcast(sum, Scalar::I32);
        e.b.isub(sum, point)
    };
    let least_normal = e.int(113 << 23);
    let is_small = e.b.icmp(IntCC::Ult, size, least_normal);
    let bits = e.b.select(is_small, denormal, normal);
    let whole = e.is(width, 16);
    let sign = {
        let (by, sign) = (e.int(16), e.either(whole, 0x8000, 0));
        let high = e.b.ushr(value, by);
        e.b.iand(high, sign)
    };
    let zero = e.int(0);
    let negative = e.b.icmp(IntCC::Slt, value, zero);
    let cut = e.b.inot(whole);
    let cut = e.b.iand(negative, cut);
    let bits = e.b.ior(bits, sign);
    let bits = e.b.select(cut, zero, bits);
    let below = e.b.isub(fraction, one);
    let quiet = e.b.ishl(one, below);
    let nan = e.b.ior(infinity, quiet);
    let infinite = e.int(0x7f80_0000);
    let is_nan = e.b.icmp(IntCC::Ugt, size, infinite);
    e.b.select(is_nan, nan, bits)
}

impl Ops<'_, '_> {
    fn float_below(&mut self, a: Value, b: Value) -> Value {
        self.b.fcmp(FloatCC::Lt, a, b, false)
    }
}
