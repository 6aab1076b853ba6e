//! Emits the decoding of block compression 1 to 5, as `warpjit_texture::format` does it for one texel.

use warpjit_ir::{IntCC, Value, WordTable};
use warpjit_texture::format::{SRGB31, SRGB63};

use super::emit::Emit;

static INTENSITIES_31: WordTable = WordTable::new("texture.srgb31", &SRGB31);
static INTENSITIES_63: WordTable = WordTable::new("texture.srgb63", &SRGB63);

/// A block of 4 x 4 texels, and which of them is wanted.
pub(super) struct Block {
    /// Its offset in the image.
    pub at: Value,
    /// Column and row of the texel, 0 to 3.
    pub place: [Value; 2],
    /// Block compression 1 to 5.
    pub kind: u8,
    pub signed: bool,
    pub srgb: bool,
}

impl Emit<'_> {
    /// The components of a texel that are wanted and that the format has.
    pub fn block_texel(&mut self, block: &Block, wanted: [bool; 4]) -> [Option<Value>; 4] {
        if block.kind >= 4 {
            let green = block.kind == 5 && wanted[1];
            return [
                wanted[0].then(|| self.block_component(block, 0)),
                green.then(|| self.block_component(block, 8)),
                None,
                None,
            ];
        }
        let colours = wanted[..3].contains(&true) || block.kind == 1;
        let mut texel = if colours { self.block_colour(block, wanted) } else { [None; 4] };
        if wanted[3] && block.kind > 1 {
            texel[3] = Some(match block.kind {
                2 => self.block_alpha(block),
                _ => self.block_component(block, 0),
            });
        }
        texel
    }

    /// Whether a bit is set.
    fn is_set(&mut self, n: Value, bit: u32) -> Value {
        let bit = self.and(n, 1 << bit);
        let zero = self.int(0);
        self.icmp(IntCC::Ne, bit, zero)
    }

    /// What stands in the place of a column, of some bits each. What is above stays.
    fn of_column(&mut self, bits: Value, block: &Block, width: u32) -> Value {
        let [odd, right] = [0, 1].map(|bit| self.is_set(block.place[0], bit));
        let two = self.shr(bits, 2 * width);
        let bits = self.b.select(right, two, bits);
        let one = self.shr(bits, width);
        self.b.select(odd, one, bits)
    }

    /// A quotient of small integers.
    fn quotient(&mut self, numerator: Value, denominator: Value) -> Value {
        let numerator = self.float_of(numerator);
        self.fdiv(numerator, denominator)
    }

    /// Red, green and blue, and alpha of block compression 1.
    fn block_colour(&mut self, block: &Block, wanted: [bool; 4]) -> [Option<Value>; 4] {
        let first = if block.kind == 1 { 0 } else { 8 };
        let ends = self.texel(block.at, first, 4);
        // A byte of indices for each row.
        let row = self.b.iadd(block.at, block.place[1]);
        let indices = self.texel(row, first + 4, 1);
        let index = self.of_column(indices, block, 2);
        let [second, between] = [0, 1].map(|bit| self.is_set(index, bit));
        // Whether there are four colours; if not, the last is transparent.
        let four = (block.kind == 1).then(|| {
            let (c0, c1) = (self.and(ends, 0xffff), self.shr(ends, 16));
            self.icmp(IntCC::Sgt, c0, c1)
        });
        let opaque = four.map(|four| {
            let last = self.b.iand(second, between);
            let other = self.b.inot(last);
            self.b.ior(four, other)
        });
        let part = |e: &mut Self, bit: u32, most: u32| {
            let [e0, e1] = [bit, bit + 16].map(|bit| {
                let end = e.shr(ends, bit);
                e.and(end, most)
            });
            // Between the ends: twice the nearer and the other, or each once.
            let (near, far) = (e.b.select(second, e1, e0), e.b.select(second, e0, e1));
            let again = match four {
                Some(four) => e.where_holds(four, near),
                None => near,
            };
            let more = e.b.iadd(far, again);
            let more = e.where_holds(between, more);
            let sum = e.b.iadd(near, more);
            let sum = match opaque {
                Some(opaque) => e.where_holds(opaque, sum),
                None => sum,
            };
            if block.srgb {
                // In sixths of the ends.
                let (two, three, six) = (e.int(2), e.int(3), e.int(6));
                let of_between = match four {
                    Some(four) => e.b.select(four, two, three),
                    None => two,
                };
                let factor = e.b.select(between, of_between, six);
                let sixths = e.b.imul(sum, factor);
                return e.b.lookup(if most == 31 { &INTENSITIES_31 } else { &INTENSITIES_63 }, sixths);
            }
            let [once, twice, thrice] = [1, 2, 3].map(|n| e.b.f32((n * most) as f32));
            let of_between = match four {
                Some(four) => e.b.select(four, thrice, twice),
                None => thrice,
            };
            let of = e.b.select(between, of_between, once);
            let quotient = e.quotient(sum, of);
            e.bits(quotient)
        };
        let mut texel = [(11, 31), (5, 63), (0, 31)].map(Some).into_iter().chain([None]);
        std::array::from_fn(|k| {
            if !wanted[k] {
                texel.next();
                return None;
            }
            match texel.next().flatten() {
                Some((bit, most)) => Some(part(self, bit, most)),
                None => opaque.map(|opaque| {
                    let (one, zero) = (self.b.f32(1.0), self.b.f32(0.0));
                    let alpha = self.b.select(opaque, one, zero);
                    self.bits(alpha)
                }),
            }
        })
    }

    /// Alpha of block compression 2: four bits for each texel.
    fn block_alpha(&mut self, block: &Block) -> Value {
        let [column, row] = block.place;
        let (half, rows) = (self.shr(column, 1), self.shl(row, 1));
        let at = self.b.iadd(block.at, rows);
        let at = self.b.iadd(at, half);
        let both = self.texel(at, 0, 1);
        let odd = self.is_set(column, 0);
        let (left, right) = (self.and(both, 15), self.shr(both, 4));
        let alpha = self.b.select(odd, right, left);
        let most = self.b.f32(15.0);
        let alpha = self.quotient(alpha, most);
        self.bits(alpha)
    }

    /// A component that has a block of its own, at a byte of the element.
    fn block_component(&mut self, block: &Block, first: u32) -> Value {
        let row = block.place[1];
        let ends = self.texel(block.at, first, 2);
        let most = if block.signed { 127 } else { 255 };
        let [r0, r1] = [0, 8].map(|bit| match block.signed {
            true => {
                let high = self.shl(ends, 24 - bit);
                self.sar(high, 24)
            }
            false => {
                let end = self.shr(ends, bit);
                self.and(end, 255)
            }
        });
        let eight = self.icmp(IntCC::Sgt, r0, r1);
        let least = self.int(-most);
        let [a, b] = [r0, r1].map(|end| if block.signed { self.b.smax(end, least) } else { end });

        // Twelve bits a row, from the third byte on.
        let half = self.shr(row, 1);
        let bytes = self.b.iadd(row, half);
        let at = self.b.iadd(block.at, bytes);
        let indices = self.texel(at, first + 2, 2);
        let odd = self.is_set(row, 0);
        let high = self.shr(indices, 4);
        let indices = self.b.select(odd, high, indices);
        let index = self.of_column(indices, block, 3);
        let index = self.and(index, 7);

        // An end, or so many parts of each.
        let [zero, two, six, seven] = [0, 2, 6, 7].map(|n| self.int(n));
        let is_first = self.icmp(IntCC::Eq, index, zero);
        let is_end = self.icmp(IntCC::Slt, index, two);
        let end = self.b.select(is_first, a, b);
        let [a, b, end, index_float] = [a, b, end, index].map(|n| self.float_of(n));
        let [one, five, seven_parts, most_float] = [1.0, 5.0, 7.0, most as f32].map(|x| self.b.f32(x));
        let parts = self.b.select(eight, seven_parts, five);
        let to_end = self.fadd(parts, one);
        let of_a = self.fsub(to_end, index_float);
        let of_b = self.fsub(index_float, one);
        let (a, b) = (self.fmul(a, of_a), self.fmul(b, of_b));
        let sum = self.fadd(a, b);
        let sum = self.b.select(is_end, end, sum);
        let parts = self.b.select(is_end, one, parts);
        let of = self.fmul(parts, most_float);
        let value = self.fdiv(sum, of);

        // The last two of eight, if there are six values between.
        let special = self.icmp(IntCC::Sge, index, six);
        let six_values = self.b.inot(eight);
        let special = self.b.iand(special, six_values);
        let highest = self.icmp(IntCC::Eq, index, seven);
        let low = self.b.f32(if block.signed { -1.0 } else { 0.0 });
        let extreme = self.b.select(highest, one, low);
        let value = self.b.select(special, extreme, value);
        self.bits(value)
    }
}
