//! Emits the decoding of block compression 6 and 7, as `warpjit_texture::format` does it for one texel.
//!
//! Each lane's block has a mode of its own. What modes say is in tables ([`bc67_words`]); numbers of a few bits are loaded from where they
//! are in the block.

use std::sync::LazyLock;

use warpjit_ir::{IntCC, Opcode, Scalar, Value, WordTable};
use warpjit_texture::format::bc67_words;

use super::emit::Emit;
use super::texel::INTENSITIES;

type Table = LazyLock<WordTable>;

fn table(name: &'static str, words: Vec<u32>) -> WordTable {
    WordTable::new(name, words.leak())
}

static PLACES: Table = Table::new(|| table("texture.bc67.places", bc67_words::places()));
static WEIGHTS: Table = Table::new(|| table("texture.bc67.weights", bc67_words::weights()));
/// Two words for each mode of block compression 7.
static MODES7: LazyLock<[WordTable; 2]> = LazyLock::new(|| {
    let [first, second] = bc67_words::modes7();
    [table("texture.bc7.modes", first), table("texture.bc7.starts", second)]
});
/// Six bits, the highest first.
static TURNED: Table =
    Table::new(|| table("texture.turned6", (0..64u32).map(|bits| bits.reverse_bits() >> 26).collect()));

/// What modes of block compression 6 say.
struct Modes6 {
    modes: WordTable,
    first: [WordTable; 3],
    third: [[WordTable; 2]; 3],
    second: [[WordTable; 3]; 3],
}

static MODES6: LazyLock<Modes6> = LazyLock::new(|| {
    let words = bc67_words::modes6();
    let all = |names: &[&'static str], tables: Vec<Vec<u32>>| -> Vec<WordTable> {
        names.iter().zip(tables).map(|(name, words)| table(name, words)).collect()
    };
    let exactly = "as many names as tables";
    let first = all(&["texture.bc6.r0", "texture.bc6.g0", "texture.bc6.b0"], words.first.into());
    let names = [
        ["texture.bc6.r2", "texture.bc6.r2b"],
        ["texture.bc6.g2", "texture.bc6.g2b"],
        ["texture.bc6.b2", "texture.bc6.b2b"],
    ];
    let third = names
        .iter()
        .zip(words.third)
        .map(|(names, tables)| <[WordTable; 2]>::try_from(all(names, tables.into())).expect(exactly));
    let names = [
        ["texture.bc6.r13", "texture.bc6.r13b", "texture.bc6.r13c"],
        ["texture.bc6.g13", "texture.bc6.g13b", "texture.bc6.g13c"],
        ["texture.bc6.b13", "texture.bc6.b13b", "texture.bc6.b13c"],
    ];
    let second = names
        .iter()
        .zip(words.second)
        .map(|(names, tables)| <[WordTable; 3]>::try_from(all(names, tables.into())).expect(exactly));
    Modes6 {
        modes: table("texture.bc6.modes", words.modes),
        first: <[WordTable; 3]>::try_from(first).expect(exactly),
        third: <[[WordTable; 2]; 3]>::try_from(third.collect::<Vec<_>>()).expect(exactly),
        second: <[[WordTable; 3]; 3]>::try_from(second.collect::<Vec<_>>()).expect(exactly),
    }
});

/// A block that is being decoded.
struct Read {
    at: Value,
    /// Number of the texel, 0 to 15.
    texel: Value,
}

impl Emit<'_> {
    /// Bits of a word.
    fn field(&mut self, word: Value, low: u32, bits: u32) -> Value {
        let moved = self.shr(word, low);
        if low + bits == 32 { moved } else { self.and(moved, u32::MAX >> (32 - bits)) }
    }

    /// The lowest bits of a number, as many as a value says: less than 32.
    fn lowest(&mut self, number: Value, count: Value) -> Value {
        let one = self.int(1);
        let end = self.b.ishl(one, count);
        let mask = self.b.isub(end, one);
        self.b.iand(number, mask)
    }

    /// A number in a block: where it begins, and how many bits it has, at most 16.
    fn bits_at(&mut self, read: &Read, at: Value, count: Value) -> Value {
        let byte = self.shr(at, 3);
        // The last word has them where the next byte is not in the block any more.
        let last = self.int(12);
        let byte = self.b.umin(byte, last);
        let place = self.b.iadd(read.at, byte);
        let word = self.texel(place, 0, 4);
        let before = self.shl(byte, 3);
        let by = self.b.isub(at, before);
        let word = self.b.ushr(word, by);
        self.lowest(word, count)
    }

    fn read(&mut self, at: Value, place: [Value; 2]) -> Read {
        let row = self.shl(place[1], 2);
        let texel = self.b.iadd(row, place[0]);
        let texel = self.splat(texel);
        Read { at, texel }
    }

    /// The texel's index, of so many bits each from `start` on, as [`PLACES`] says where it is.
    fn index(&mut self, read: &Read, start: Value, width: Value, place: Value) -> Value {
        let left_out = self.field(place, 2, 2);
        let lacks = self.field(place, 4, 1);
        let before = self.b.imul(width, read.texel);
        let before = self.b.isub(before, left_out);
        let at = self.b.iadd(start, before);
        let own = self.b.isub(width, lacks);
        self.bits_at(read, at, own)
    }

    fn weight(&mut self, width: Value, index: Value) -> Value {
        let row = self.shl(width, 4);
        let at = self.b.ior(row, index);
        self.b.lookup(&WEIGHTS, at)
    }

    /// What is between two end points.
    fn between(&mut self, a: Value, b: Value, weight: Value) -> Value {
        let all = self.int(64);
        let rest = self.b.isub(all, weight);
        let (a, b) = (self.b.imul(a, rest), self.b.imul(b, weight));
        let sum = self.b.iadd(a, b);
        let half = self.int(32);
        let sum = self.b.iadd(sum, half);
        self.sar(sum, 6)
    }

    fn holds(&mut self, bit: Value) -> Value {
        let zero = self.int(0);
        self.icmp(IntCC::Ne, bit, zero)
    }

    /// Components of a texel of block compression 7 that are wanted.
    pub fn block7_texel(
        &mut self,
        at: Value,
        place: [Value; 2],
        srgb: bool,
        wanted: [bool; 4],
    ) -> [Option<Value>; 4] {
        let read = self.read(at, place);
        let byte = self.texel(at, 0, 1);
        let [mode, starts] = [0, 1].map(|n| self.b.lookup(&MODES7[n], byte));
        let (subsets, colour, alpha) =
            (self.field(mode, 0, 2), self.field(mode, 2, 3), self.field(mode, 5, 4));
        let (own, common) = (self.field(mode, 9, 1), self.field(mode, 10, 1));
        let (width, second_width) = (self.field(mode, 11, 3), self.field(mode, 14, 2));
        let (pattern_at, pattern_bits) = (self.field(mode, 16, 4), self.field(mode, 20, 3));
        let (rotation_bits, choice_bits) = (self.field(mode, 23, 2), self.field(mode, 25, 1));
        let valid = self.field(mode, 26, 1);
        let valid = self.holds(valid);
        let [points, low_bits, indices, second_indices] =
            [0, 7, 14, 21].map(|low| self.field(starts, low, 7));

        let pattern = self.bits_at(&read, pattern_at, pattern_bits);
        let rotation_at = self.b.iadd(pattern_at, pattern_bits);
        let rotation = self.bits_at(&read, rotation_at, rotation_bits);
        let choice_at = self.b.iadd(rotation_at, rotation_bits);
        let choice = self.bits_at(&read, choice_at, choice_bits);

        let row = self.shl(pattern, 4);
        let of = self.b.ior(row, read.texel);
        let number = self.shl(subsets, 10);
        let of = self.b.ior(number, of);
        let of_first = self.b.lookup(&PLACES, of);
        let of_second = self.b.lookup(&PLACES, read.texel);
        let first = self.index(&read, indices, width, of_first);
        let first = self.weight(width, first);
        let second = self.index(&read, second_indices, second_width, of_second);
        let second = self.weight(second_width, second);
        let has_second = self.holds(second_width);
        let second = self.b.select(has_second, second, first);
        let swaps = self.holds(choice);
        let of_colour = self.b.select(swaps, second, first);
        let of_alpha = self.b.select(swaps, first, second);

        let subset = self.field(of_first, 0, 2);
        let pair = self.shl(subset, 1);
        let one = self.int(1);
        let ends = self.b.iadd(subsets, one);
        let ends = self.shl(ends, 1);
        // Each end point's low bit, or that of its subset.
        let low = self.b.ior(own, common);
        let shared = self.holds(common);
        let low_bits = [0, 1].map(|end| {
            let end = self.int(end);
            let number = self.b.iadd(pair, end);
            let number = self.b.select(shared, subset, number);
            let at = self.b.iadd(low_bits, number);
            self.bits_at(&read, at, low)
        });
        let has_alpha = self.holds(alpha);
        let value = |e: &mut Self, component: u32| {
            let width = if component == 3 { alpha } else { colour };
            let before = e.int(component as i32);
            let before = e.b.imul(before, ends);
            let start = e.b.imul(before, colour);
            let start = e.b.iadd(points, start);
            let full = e.b.iadd(width, low);
            // The highest bits again below, so that there are eight.
            let eight = e.int(8);
            let up = e.b.isub(eight, full);
            let twice = e.shl(full, 1);
            let down = e.b.isub(twice, eight);
            let [a, b] = [0, 1].map(|end| {
                let number = e.int(end as i32);
                let number = e.b.iadd(pair, number);
                let before = e.b.imul(number, width);
                let at = e.b.iadd(start, before);
                let bits = e.bits_at(&read, at, width);
                let bits = e.b.ishl(bits, low);
                let bits = e.b.ior(bits, low_bits[end]);
                let (high, again) = (e.b.ishl(bits, up), e.b.ushr(bits, down));
                let value = e.b.ior(high, again);
                if component < 3 {
                    return value;
                }
                let most = e.int(255);
                e.b.select(has_alpha, value, most)
            });
            e.between(a, b, if component == 3 { of_alpha } else { of_colour })
        };
        // Rotation n exchanges alpha and component n - 1.
        let own_alpha = value(self, 3);
        let all: [Option<Value>; 3] =
            std::array::from_fn(|n| (wanted[n] || wanted[3]).then(|| value(self, n as u32)));
        let turns: [Value; 3] = [1, 2, 3].map(|n| {
            let n = self.int(n);
            self.icmp(IntCC::Eq, rotation, n)
        });
        std::array::from_fn(|n| {
            if !wanted[n] {
                return None;
            }
            let number = match n {
                3 => (0..3).fold(own_alpha, |alpha, n| match all[n] {
                    Some(colour) => self.b.select(turns[n], colour, alpha),
                    None => alpha,
                }),
                _ => self.b.select(turns[n], own_alpha, all[n]?),
            };
            let bits = if srgb && n < 3 {
                self.b.lookup(&INTENSITIES, number)
            } else {
                let float = self.unorm8(number);
                self.bits(float)
            };
            Some(self.where_holds(valid, bits))
        })
    }

    /// A piece of a number of block compression 6, at its place in the number: as the 15 bits from `low` on say.
    fn piece(&mut self, read: &Read, piece: Value, low: u32, turned: bool) -> Value {
        let at = self.field(piece, low, 7);
        let count = self.field(piece, low + 7, 4);
        let by = self.field(piece, low + 11, 4);
        let mut bits = self.bits_at(read, at, count);
        if turned {
            let six = self.int(6);
            let rest = self.b.isub(six, count);
            let first = self.b.lookup(&TURNED, bits);
            bits = self.b.ushr(first, rest);
        }
        self.b.ishl(bits, by)
    }

    /// A number of pieces: those of each table, at an index.
    fn pieces(&mut self, read: &Read, tables: &'static [WordTable], at: Value) -> Value {
        let mut sum = self.int(0);
        for table in tables.iter().filter(|table| table.words().iter().any(|&word| word != 0)) {
            let word = self.b.lookup(table, at);
            for low in [0, 16] {
                if table.words().iter().any(|&word| word >> low & 0x7fff != 0) {
                    let bits = self.piece(read, word, low, false);
                    sum = self.b.ior(sum, bits);
                }
            }
        }
        sum
    }

    /// The two's complement in the lowest bits.
    fn sign_extended(&mut self, number: Value, bits: Value) -> Value {
        let all = self.int(32);
        let by = self.b.isub(all, bits);
        let high = self.b.ishl(number, by);
        self.b.sshr(high, by)
    }

    /// An end point's component at full width.
    fn widened(&mut self, value: Value, bits: Value, signed: bool) -> Value {
        let (zero, one) = (self.int(0), self.int(1));
        let (magnitude, bits, wide) = match signed {
            true => {
                let other = self.b.isub(zero, value);
                (self.b.smax(value, other), self.b.isub(bits, one), 15)
            }
            false => (value, bits, 16),
        };
        let most = self.b.ishl(one, bits);
        let most = self.b.isub(most, one);
        let moved = self.shl(magnitude, wide);
        let half = self.int(1 << (wide - 1));
        let moved = self.b.iadd(moved, half);
        let middle = self.b.ushr(moved, bits);
        let is_most = self.icmp(IntCC::Sge, magnitude, most);
        let highest = self.int((1 << wide) - 1);
        let number = self.b.select(is_most, highest, middle);
        let is_some = self.holds(magnitude);
        let number = self.where_holds(is_some, number);
        // Of full width already.
        let fifteen = self.int(15);
        let is_full = self.icmp(IntCC::Sge, bits, fifteen);
        let number = self.b.select(is_full, magnitude, number);
        if !signed {
            return number;
        }
        let below = self.icmp(IntCC::Slt, value, zero);
        let negative = self.b.isub(zero, number);
        self.b.select(below, negative, number)
    }

    /// Components of a texel of block compression 6 that are wanted and that the format has.
    pub fn block6_texel(
        &mut self,
        at: Value,
        place: [Value; 2],
        signed: bool,
        wanted: [bool; 4],
    ) -> [Option<Value>; 4] {
        let tables: &'static Modes6 = &MODES6;
        let read = self.read(at, place);
        let code = self.texel(at, 0, 1);
        let code = self.and(code, 31);
        let mode = self.b.lookup(&tables.modes, code);
        let first_bits = self.field(mode, 0, 5);
        let differences = self.field(mode, 17, 1);
        let differences = self.holds(differences);
        let two = self.field(mode, 18, 1);
        let has_two = self.holds(two);
        let valid = self.field(mode, 19, 1);
        let valid = self.holds(valid);

        let (at_pattern, five) = (self.int(77), self.int(5));
        let pattern = self.bits_at(&read, at_pattern, five);
        let pattern = self.where_holds(has_two, pattern);
        let (row, number) = (self.shl(pattern, 4), self.shl(two, 10));
        let of = self.b.ior(row, read.texel);
        let of = self.b.ior(of, number);
        let of = self.b.lookup(&PLACES, of);
        let [three, four, early, late] = [3, 4, 65, 82].map(|n| self.int(n));
        let width = self.b.select(has_two, three, four);
        let start = self.b.select(has_two, late, early);
        let index = self.index(&read, start, width, of);
        let weight = self.weight(width, index);
        let subset = self.field(of, 0, 2);
        let is_second = self.holds(subset);
        let half = self.shl(subset, 5);
        let of_subset = self.b.ior(half, code);

        let component = |e: &mut Self, n: usize| {
            let own = e.b.lookup(&tables.first[n], code);
            let (low, high) = (e.piece(&read, own, 0, false), e.piece(&read, own, 16, true));
            let mut own = e.b.ior(low, high);
            if signed {
                own = e.sign_extended(own, first_bits);
            }
            let bits = e.field(mode, 5 + 4 * n as u32, 4);
            let other = |e: &mut Self, number: Value| {
                let difference = e.sign_extended(number, bits);
                let sum = e.b.iadd(own, difference);
                let sum = e.lowest(sum, first_bits);
                let number = e.b.select(differences, sum, number);
                if signed { e.sign_extended(number, first_bits) } else { number }
            };
            let third = e.pieces(&read, &tables.third[n], code);
            let third = other(e, third);
            let a = e.b.select(is_second, third, own);
            let b = e.pieces(&read, &tables.second[n], of_subset);
            let b = other(e, b);
            let [a, b] = [a, b].map(|end| e.widened(end, first_bits, signed));
            let value = e.between(a, b, weight);
            let (zero, parts) = (e.int(0), e.int(31));
            let half = if signed {
                let other = e.b.isub(zero, value);
                let magnitude = e.b.smax(value, other);
                let product = e.b.imul(magnitude, parts);
                let half = e.sar(product, 5);
                let below = e.icmp(IntCC::Slt, value, zero);
                let sign = e.int(0x8000);
                let sign = e.where_holds(below, sign);
                e.b.ior(half, sign)
            } else {
                let product = e.b.imul(value, parts);
                e.sar(product, 6)
            };
            let float = e.b.convert(Opcode::F16ToF32, half, Scalar::F32);
            let bits = e.bits(float);
            e.where_holds(valid, bits)
        };
        std::array::from_fn(|n| (n < 3 && wanted[n]).then(|| component(self, n)))
    }
}
