//! Rounds to f32 towards zero or an infinity. The exact result comes as f64 values.

use super::Ops;
use crate::soft::Rounding;

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
/// The bits of an f64 that an f32 has no room for.
const LOST: u64 = (1 << 29) - 1;

/// The f64 without the bits that an f32 has no room for; an infinity stays one.
fn truncated<O: Ops>(o: &mut O, x: O::Double) -> O::Double {
    let bits = o.wide_bits(x);
    let kept = o.wide(!LOST);
    let bits = o.wide_and(bits, kept);
    o.of_wide_bits(bits)
}

/// f32 product rounded towards zero; denormal operands and results are zeros.
pub fn mul_toward_zero<O: Ops>(o: &mut O, a: O::Word, b: O::Word, nan: u32) -> O::Word {
    let sign = o.xor(a, b);
    let sign = o.and_bits(sign, SIGN);
    let [a, b] = [a, b].map(|x| {
        let exponent = o.and_bits(x, INFINITY);
        let zero = o.is(exponent, 0);
        let flushed = o.and_bits(x, SIGN);
        let x = o.select(zero, flushed, x);
        let x = o.of_bits(x);
        o.promote(x)
    });
    // 48 bits at most, and no exponent that an f64 does not have.
    let product = o.double_mul(a, b);
    let cut = truncated(o, product);
    let result = o.demote(cut);
    let result = o.bits(result);
    let size = o.double_abs(product);
    let most = o.double(f32::MAX.into());
    let beyond = o.double_lt(most, size);
    let greatest = o.word(f32::MAX.to_bits());
    let greatest = o.or(sign, greatest);
    let result = o.select(beyond, greatest, result);
    let infinity = o.double(f64::INFINITY);
    let infinite = o.double_eq(size, infinity);
    let infinity = o.word(INFINITY);
    let infinity = o.or(sign, infinity);
    let result = o.select(infinite, infinity, result);
    let number = o.double_eq(product, product);
    let nan = o.word(nan);
    o.select(number, result, nan)
}

/// An integer, its magnitude or its opposite, as f32.
#[derive(Clone, Copy, Debug)]
pub struct OfInt {
    /// Of a signed integer.
    pub signed: bool,
    /// Its magnitude.
    pub absolute: bool,
    /// The opposite, after that.
    pub negate: bool,
    /// The direction.
    pub rounding: Rounding,
}

impl OfInt {
    /// Bits of the f32.
    pub fn apply<O: Ops>(self, o: &mut O, x: O::Word) -> O::Word {
        let mut value = if self.signed { o.double_of_signed(x) } else { o.double_of_unsigned(x) };
        if self.absolute {
            value = o.double_abs(value);
        }
        let zero = o.double(0.0);
        if self.negate {
            // The opposite of no integer is -0.
            value = o.double_sub(zero, value);
        }
        let rounded = match self.rounding {
            Rounding::Nearest => value,
            Rounding::Zero => truncated(o, value),
            Rounding::Down | Rounding::Up => {
                let cut = truncated(o, value);
                let bits = o.wide_bits(cut);
                let unit = o.wide(LOST + 1);
                let next = o.wide_add(bits, unit);
                let next = o.of_wide_bits(next);
                let away = match self.rounding {
                    Rounding::Down => o.double_lt(value, zero),
                    _ => o.double_lt(zero, value),
                };
                let directed = o.double_select(away, next, cut);
                let exact = o.double_eq(cut, value);
                o.double_select(exact, cut, directed)
            }
        };
        let single = o.demote(rounded);
        o.bits(single)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fermi::numeric::convert::{Convert, Form, Kind};
    use crate::formula::Scalars;
    use crate::tesla::numeric::f32 as tesla;

    const DIRECTIONS: [Rounding; 4] = [Rounding::Nearest, Rounding::Down, Rounding::Up, Rounding::Zero];

    /// Words of all sizes.
    fn words() -> impl Iterator<Item = u32> {
        let edges = [
            0,
            1,
            0xff_ffff,
            0x100_0000,
            0x100_0001,
            0x1ff_ffff,
            0x7fff_ffff,
            0x7fff_ff80,
            0x8000_0000,
            u32::MAX,
        ];
        let mut state = 1u32;
        edges.into_iter().chain((0..20_000).map(move |n| {
            state = state.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            let x = (state ^ state >> 15) >> (n % 32);
            if n & 32 != 0 { x.wrapping_neg() } else { x }
        }))
    }

    #[test]
    fn integers() {
        for x in words() {
            for rounding in DIRECTIONS {
                for (from, signed) in [(Kind::U32, false), (Kind::S32, true)] {
                    for (absolute, negate) in [(false, false), (true, false), (false, true), (true, true)] {
                        let form = Form { rounding, absolute, negate, ..Form::new(Kind::F32, from) };
                        let form = Convert { form, ftz: false };
                        let got = OfInt { signed, absolute, negate, rounding }.apply(&mut Scalars, x);
                        assert_eq!(u64::from(got), form.apply(x.into()), "{x:#x} {form:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn products() {
        let floats = || {
            let edges = [0, 1, 0x007f_ffff, 0x0080_0000, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0001];
            let random = words().skip(10).step_by(97).map(|x| x.wrapping_mul(0x9e37_79b9));
            edges.into_iter().flat_map(|x| [x, x | SIGN]).chain(random)
        };
        for a in floats() {
            for b in floats() {
                let want = tesla::mul(a, b, Rounding::Zero);
                assert_eq!(mul_toward_zero(&mut Scalars, a, b, tesla::NAN), want, "{a:#x} * {b:#x}");
                // Where the product is of ordinary size, too.
                let [a, b] = [a, b].map(|x| x & 0x9fff_ffff | 0x2000_0000);
                let want = tesla::mul(a, b, Rounding::Zero);
                assert_eq!(mul_toward_zero(&mut Scalars, a, b, tesla::NAN), want, "{a:#x} * {b:#x}");
            }
        }
    }
}
