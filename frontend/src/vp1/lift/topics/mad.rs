//! Lifts the vector unit's pipeline of multiplier, adder and accumulator (docs/hardware/vp1.md section 6).

use warpjit_ir::Value;

use super::bus::{self, Bus, FlagChoice};
use super::scalar::{dst, src1, src2};
use crate::vp1::Inst;
use crate::vp1::lift::emit::{Emit, Writer};

/// A source with its sign.
#[derive(Clone, Copy)]
struct Source {
    value: Value,
    signed: bool,
}

/// What is added to the products.
#[derive(Clone, Copy)]
enum Addend {
    Zero,
    Accumulator,
    /// The second source.
    Second,
    /// The second source, not doubled.
    SecondPlain,
    /// The third source, its bit 7 flipped if that is said.
    Third {
        flipped: bool,
    },
}

/// How the sources are combined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Products {
    /// The first by the second.
    One,
    /// The first less the third, by the second.
    Blend,
    /// The first and the third by factors of the bus.
    Two,
    /// First and second, both less the third, by factors.
    BlendTwo,
    /// The first less the third, and the third, by factors.
    BlendThird,
}

/// Where the result lies in the accumulator.
#[derive(Clone, Copy)]
struct Format {
    integer: bool,
    signed: bool,
    shift: i32,
    low: bool,
    round: bool,
}

impl Format {
    /// Which bit is the result's lowest one.
    fn lowest_bit(self) -> i32 {
        match (self.integer, self.signed) {
            (true, _) => 16 - self.shift,
            (false, false) => 8 - self.shift,
            (false, true) => 9 - self.shift,
        }
    }
}

/// An instruction of this pipeline.
struct Mad {
    sources: [Source; 3],
    addend: Addend,
    products: Products,
    format: Format,
    /// Factors are masks.
    masks: bool,
    /// The flags that choose factors, where the bus does not.
    flags: FlagChoice,
    /// Whether the bus may choose them.
    bus_flags: bool,
    writes_register: bool,
    writes_accumulator: bool,
}

/// Three signed bits from bit `at`.
fn shift_field(word: u32, at: u32) -> i32 {
    (word << (29 - at)) as i32 >> 29
}

/// Emits an instruction.
pub(in crate::vp1::lift) fn unit(e: &mut Emit<'_>, inst: Inst, bus: Bus) {
    let mad = match inst.opcode() {
        0x90 => blend(e, inst),
        0xb3..=0xb5 => quad_blend(e, inst),
        0xb6 | 0xb7 => last_blend(e, inst),
        _ => multiply(e, inst),
    };
    run(e, inst.word, &mad, bus);
}

fn own_flags(word: u32) -> FlagChoice {
    FlagChoice { register: word & 3, zero: word & 4 != 0, transform: 0 }
}

/// Opcodes 80 to 87 and those that differ from them in bits 4 and 5.
fn multiply(e: &mut Emit<'_>, inst: Inst) -> Mad {
    let (word, opcode) = (inst.word, inst.opcode());
    let sub = opcode & 7;
    let immediate = opcode & 0x20 != 0;
    let second = match (immediate, opcode) {
        (false, _) => e.v(src2(word)),
        (true, 0xb0) => e.word(word & 0xff),
        (true, _) => e.word(((word & 1) << 5 | src2(word)) << 2),
    };
    // Bad opcodes take the third source from its field.
    let third = if matches!(opcode, 0x96 | 0xa6 | 0xa7) { word >> 4 & 31 } else { src1(word) | 1 };
    let (first, third) = (e.v(src1(word)), e.v(third));
    let (signed1, signed2) = (word & 4 != 0, word & 2 != 0);
    Mad {
        sources: [
            Source { value: first, signed: signed1 },
            Source { value: second, signed: signed2 },
            Source { value: third, signed: signed1 },
        ],
        addend: match sub {
            2 | 3 | 6 | 7 => Addend::Accumulator,
            4 | 5 => Addend::Second,
            _ => Addend::Zero,
        },
        products: if sub < 4 { Products::One } else { Products::Two },
        format: Format {
            integer: word & 8 != 0,
            signed: opcode & 0x10 == 0,
            shift: shift_field(word, 5),
            low: word & 0x10 != 0,
            round: word & 0x100 != 0,
        },
        masks: word & 1 != 0,
        flags: own_flags(word),
        bus_flags: true,
        writes_register: !matches!(sub, 0 | 3 | 4 | 6),
        writes_accumulator: true,
    }
}

/// 90: vlrp.
fn blend(e: &mut Emit<'_>, inst: Inst) -> Mad {
    let word = inst.word;
    let source = |value| Source { value, signed: false };
    Mad {
        sources: [source(e.v(src1(word))), source(e.v(src2(word))), source(e.v(src1(word) | 1))],
        addend: Addend::Third { flipped: false },
        products: Products::Blend,
        format: Format {
            integer: false,
            signed: false,
            shift: shift_field(word, 5),
            low: false,
            round: word & 0x100 != 0,
        },
        masks: false,
        flags: own_flags(word),
        bus_flags: false,
        writes_register: true,
        writes_accumulator: false,
    }
}

/// Register n of the quad that the first source names, rotated by `$c`.
fn quad(e: &mut Emit<'_>, word: u32, n: u32) -> Value {
    let rotating = word & !0x1e0 | 0x80;
    e.mangled(rotating, src1(word), n, &|e, index| e.v(index))
}

/// b3, b4, b5: vlrp2, vlrp4a, vlrpf.
fn quad_blend(e: &mut Emit<'_>, inst: Inst) -> Mad {
    let (word, opcode) = (inst.word, inst.opcode());
    let signed = opcode == 0xb3 && word & 0x200 != 0;
    let source = |value| Source { value, signed };
    let mut mad = Mad {
        sources: [source(quad(e, word, 2)), source(quad(e, word, 3)), source(quad(e, word, 0))],
        addend: Addend::Third { flipped: opcode == 0xb3 && word & 0x400 != 0 },
        products: Products::BlendTwo,
        format: Format {
            integer: false,
            signed: opcode == 0xb3 && word & 0x1000 != 0,
            shift: shift_field(word, 5),
            low: opcode != 0xb3,
            round: word & 0x100 != 0,
        },
        masks: false,
        flags: own_flags(word),
        bus_flags: false,
        writes_register: opcode == 0xb3,
        writes_accumulator: opcode != 0xb3 || word & 0x800 != 0,
    };
    if opcode == 0xb5 {
        mad.sources[2] = mad.sources[1];
        mad.sources[1] = Source { value: e.v(src2(word)), signed: true };
        mad.addend = Addend::SecondPlain;
        mad.products = Products::BlendThird;
    }
    mad
}

/// b6, b7: vlrp4b.
fn last_blend(e: &mut Emit<'_>, inst: Inst) -> Mad {
    let word = inst.word;
    let source = |value| Source { value, signed: false };
    let mut read = |n| e.mangled(word, src1(word), n, &|e, index| e.v(index));
    let (first, third) = (read(1), read(0));
    Mad {
        sources: [source(first), source(e.get(e.own.slots.vx)), source(third)],
        addend: Addend::Accumulator,
        products: Products::BlendTwo,
        format: Format {
            integer: false,
            signed: inst.opcode() == 0xb7,
            shift: shift_field(word, 11),
            low: false,
            round: word & 0x200 != 0,
        },
        masks: false,
        flags: own_flags(word),
        bus_flags: false,
        writes_register: true,
        writes_accumulator: true,
    }
}

/// A source as a factor: signed ones count twice where the result is a fraction.
fn factor(e: &mut Emit<'_>, source: Source, integer: bool) -> Value {
    match (source.signed, integer) {
        (false, _) => source.value,
        (true, true) => e.sign_extend(source.value, 8),
        (true, false) => {
            // To the top, and back but for one bit.
            let high = e.shift(source.value, 24);
            e.shift(high, -23)
        }
    }
}

/// The factors for each component.
fn bus_factors(e: &mut Emit<'_>, mad: &Mad, bus: Bus) -> [Value; 2] {
    if mad.masks {
        return bus.masks(e).map(|mask| e.choose(mask, 0x100, 0));
    }
    let choice = bus.flag_choice().filter(|_| mad.bus_flags).unwrap_or(mad.flags);
    let factors = bus.factors(e);
    // Where both are the same, flags do not matter.
    if factors[0] == factors[1] && factors[2] == factors[3] {
        return [factors[0], factors[2]];
    }
    let flag = bus::flag_of(e, choice);
    [e.b.select(flag, factors[1], factors[0]), e.b.select(flag, factors[3], factors[2])]
}

fn run(e: &mut Emit<'_>, word: u32, mad: &Mad, bus: Bus) {
    let format = mad.format;
    let lowest = format.lowest_bit();
    let [first, second, third] = mad.sources;
    let as_factor = |e: &mut Emit<'_>, source| factor(e, source, format.integer);
    let (a, c) = (as_factor(e, first), as_factor(e, third));
    let products = match mad.products {
        Products::One => {
            let b = as_factor(e, second);
            e.b.imul(a, b)
        }
        Products::Blend => {
            let b = as_factor(e, second);
            let difference = e.b.isub(a, c);
            e.b.imul(difference, b)
        }
        Products::Two | Products::BlendTwo | Products::BlendThird => {
            let [one, two] = bus_factors(e, mad, bus);
            let b = as_factor(e, second);
            let (left, right) = match mad.products {
                Products::Two => (a, c),
                Products::BlendThird => (e.b.isub(a, c), c),
                _ => (e.b.isub(a, c), e.b.isub(b, c)),
            };
            let (left, right) = (e.b.imul(left, one), e.b.imul(right, two));
            e.b.iadd(left, right)
        }
    };
    let mut sum = e.shift(products, if format.integer { 8 } else { 0 });
    let addend = match mad.addend {
        Addend::Zero => None,
        Addend::Accumulator => Some(e.get(e.own.slots.va)),
        Addend::Second => {
            let value = as_factor(e, second);
            Some(e.shift(value, lowest))
        }
        Addend::SecondPlain => {
            let value = e.sign_extend(second.value, 8);
            Some(e.shift(value, lowest))
        }
        Addend::Third { flipped } => {
            let flip = e.word(if flipped { 0x80 } else { 0 });
            let value = e.b.ixor(third.value, flip);
            let value = as_factor(e, Source { value, ..third });
            Some(e.shift(value, lowest))
        }
    };
    if let Some(addend) = addend {
        sum = e.b.iadd(sum, addend);
    }
    let round_bit = if format.low { lowest - 8 } else { lowest };
    if format.round && round_bit > 0 {
        let half = e.word(1 << (round_bit - 1));
        let config = e.get(e.own.slots.uc16);
        let down = e.and_const(config, 1);
        let half = e.b.isub(half, down);
        sum = e.b.iadd(sum, half);
    }
    // 28 bits.
    if mad.writes_accumulator {
        let kept = e.and_const(sum, 0x0fff_ffff);
        let kept = e.b.splat(kept);
        e.set(Writer::Vector, e.own.slots.va, kept);
    }
    if mad.writes_register {
        // Sixteen bits from eight below the result's lowest, of which one byte is read.
        let signed = e.shift(sum, 4);
        let value = if lowest >= 8 {
            e.shift(signed, -4 - (lowest - 8))
        } else {
            let signed = e.shift(signed, -4);
            e.shift(signed, 8 - lowest)
        };
        let value = if format.signed { e.clamp(value, -0x8000, 0x7fff) } else { e.clamp(value, 0, 0xffff) };
        let value = if format.low { value } else { e.shift(value, -8) };
        let byte = e.and_const(value, 0xff);
        let byte = e.b.splat(byte);
        e.set(Writer::Vector, e.own.slots.v[dst(word) as usize], byte);
    }
}
