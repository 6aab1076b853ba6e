//! Functions that work on exponents, as formulas for compiled code: scaling by powers of two ([`super::arith`]), and the steps of
//! the division sequence ([`super::divide`]) where the lifter does not recognise the whole sequence.
//!
//! The formulas are written once for f32 and f64 (`Number`).

use warpjit_ir::{Builder, Scalar, Value};

use super::number::{Double, Number, Single};
use super::pure::FORM;
use super::{Mode, Width};
use crate::formula::{Lanes, Ops};
use crate::soft::Rounding;

/// What the steps look at: a number's magnitude and, shifted by the fraction's bits, its exponent field.
struct Operand<B> {
    all: B,
    size: B,
    field: B,
}

/// Exponent field, which may be negative, and fraction.
#[derive(Clone, Copy)]
struct Parts<B> {
    exponent: B,
    fraction: B,
}

/// Which denormals are zeros.
#[derive(Clone, Copy, Debug)]
pub struct Flush {
    /// Denormal sources are zeros.
    pub inputs: bool,
    /// Denormal results are zeros.
    pub outputs: bool,
}

/// More than any exponent can be changed by.
const MOST_POWER: i32 = 5000;

/// Formulas of a format.
struct Formulas<'o, O: Ops, N: Number<O>> {
    o: &'o mut O,
    infinity: N::Bits,
    zero: N::Bits,
}

impl<'o, O: Ops, N: Number<O>> Formulas<'o, O, N> {
    fn new(o: &'o mut O) -> Self {
        let infinity = N::bits(o, (2 * N::LIMITS.bias + 1) << N::LIMITS.fraction);
        let zero = N::bits(o, 0);
        Formulas { o, infinity, zero }
    }

    /// The bits of an exponent, as a difference.
    fn exponent(&mut self, exponent: i64) -> N::Bits {
        N::bits(self.o, exponent << N::LIMITS.fraction)
    }

    fn sign_bit(&mut self) -> N::Bits {
        N::bits(self.o, (1u64 << (N::LIMITS.width - 1)) as i64)
    }

    fn nan(&mut self) -> N::Bits {
        N::bits(self.o, ((2 * N::LIMITS.bias + 1) << N::LIMITS.fraction) | (1 << (N::LIMITS.fraction - 1)))
    }

    fn operand(&mut self, all: N::Bits) -> Operand<N::Bits> {
        let magnitude = N::bits(self.o, ((1u64 << (N::LIMITS.width - 1)) - 1) as i64);
        let size = N::and(self.o, all, magnitude);
        let field = N::and(self.o, all, self.infinity);
        Operand { all, size, field }
    }

    /// Whether a difference of exponents, or of what [`Formulas::key`] gives, is below so many powers of two.
    fn below(&mut self, difference: N::Bits, exponent: i64) -> O::Truth {
        let limit = self.exponent(exponent);
        N::slt(self.o, difference, limit)
    }

    /// Where the condition holds, else the other.
    fn choose(&mut self, when: O::Truth, a: N::Bits, b: N::Bits) -> N::Bits {
        N::select(self.o, when, a, b)
    }

    /// Exponent field and fraction of a number, as if exponents had no least one.
    fn split(&mut self, of: &Operand<N::Bits>) -> Parts<N::Bits> {
        let integer = N::of_integer(self.o, of.size);
        let is_denormal = N::eq(self.o, of.field, self.zero);
        let bits = self.choose(is_denormal, integer, of.size);
        let exponent = N::shr(self.o, bits, N::LIMITS.fraction);
        let weight = N::bits(self.o, N::LIMITS.bias + i64::from(N::LIMITS.fraction) - 1);
        let weight = self.choose(is_denormal, weight, self.zero);
        let exponent = N::sub(self.o, exponent, weight);
        let mask = N::bits(self.o, (1 << N::LIMITS.fraction) - 1);
        Parts { exponent, fraction: N::and(self.o, bits, mask) }
    }

    /// Both as one, for magnitudes to be compared.
    fn key(&mut self, parts: &Parts<N::Bits>) -> N::Bits {
        let exponent = N::shl(self.o, parts.exponent, N::LIMITS.fraction);
        N::or(self.o, exponent, parts.fraction)
    }

    /// Whether a quotient of numbers with these keys is denormal, less than the smallest normal number but not rounded to zero, and
    /// they are finite. The denominator is no denormal; where the difference wraps the quotient is far below.
    fn is_denormal(&mut self, numerator: N::Bits, denominator: N::Bits) -> O::Truth {
        let difference = N::sub(self.o, numerator, denominator);
        let least = 1 - N::LIMITS.bias;
        let small = self.below(difference, least);
        let zero_below =
            N::bits(self.o, ((least - i64::from(N::LIMITS.fraction) - 1) << N::LIMITS.fraction) - 1);
        let some = N::slt(self.o, zero_below, difference);
        let [finite_n, finite_d] = [numerator, denominator].map(|key| N::slt(self.o, key, self.infinity));
        [some, finite_n, finite_d].into_iter().fold(small, |all, one| self.o.both(all, one))
    }

    /// The number of this sign, exponent field and fraction, to nearest even where it is denormal, or a zero with `flush`; zeros,
    /// infinities and NaNs are those of `a`.
    fn joined(&mut self, a: &Operand<N::Bits>, parts: &Parts<N::Bits>, flush: bool) -> N::Bits {
        let exponent = parts.exponent;
        let small = if flush { self.zero } else { self.rounded(parts) };
        let result = self.key(parts);
        let normal = N::slt(self.o, self.zero, exponent);
        let result = self.choose(normal, result, small);
        let largest = N::bits(self.o, 2 * N::LIMITS.bias);
        let large = N::slt(self.o, largest, exponent);
        let result = self.choose(large, self.infinity, result);
        self.like(a, result)
    }

    /// A magnitude with the sign of `a`, but zeros, infinities and NaNs as they are there.
    fn like(&mut self, a: &Operand<N::Bits>, magnitude: N::Bits) -> N::Bits {
        let result = self.where_is(a.size, self.zero, self.zero, magnitude);
        let result = self.where_is(a.size, self.infinity, self.infinity, result);
        let sign = self.sign_bit();
        let sign = N::and(self.o, a.all, sign);
        let result = N::or(self.o, result, sign);
        let (is_nan, nan) = (N::slt(self.o, self.infinity, a.size), self.nan());
        self.choose(is_nan, nan, result)
    }

    /// Times a power of two, up or down by the scale.
    fn scaled(&mut self, a: &Operand<N::Bits>, parts: &Parts<N::Bits>, by: i64) -> N::Bits {
        let by = N::bits(self.o, by);
        let exponent = N::add(self.o, parts.exponent, by);
        self.joined(a, &Parts { exponent, ..*parts }, false)
    }

    /// The denormal that a number with an exponent below the least one is.
    fn rounded(&mut self, parts: &Parts<N::Bits>) -> N::Bits {
        let (one, implicit) = (N::bits(self.o, 1), self.exponent(1));
        let significand = N::or(self.o, parts.fraction, implicit);
        // Bits to be shifted out. All are out before the width is reached.
        let shift = N::sub(self.o, one, parts.exponent);
        let most = N::bits(self.o, i64::from(N::LIMITS.width) - 1);
        let is_less = N::slt(self.o, shift, most);
        let shift = self.choose(is_less, shift, most);
        // Less than half of the last bit's weight, and that bit: to even.
        let ones = N::bits(self.o, ((1u64 << (N::LIMITS.width - 1)) - 1) as i64);
        let width = N::bits(self.o, N::LIMITS.width.into());
        let rest = N::sub(self.o, width, shift);
        let half = N::shr_by(self.o, ones, rest);
        let odd = N::shr_by(self.o, significand, shift);
        let odd = N::and(self.o, odd, one);
        let sum = N::add(self.o, significand, half);
        let sum = N::add(self.o, sum, odd);
        N::shr_by(self.o, sum, shift)
    }

    /// A source, of which denormals may be zeros.
    fn source(&mut self, all: N::Bits, flush: bool) -> Operand<N::Bits> {
        let of = self.operand(all);
        if !flush {
            return of;
        }
        let sign = self.sign_bit();
        let sign = N::and(self.o, all, sign);
        let all = self.where_is(of.field, self.zero, sign, all);
        self.operand(all)
    }

    /// `a * 2^exponent`.
    fn ldexp(&mut self, a: N::Bits, exponent: O::Word, flush: Flush) -> N::Bits {
        // Beyond this everything over- or underflows, and sums of exponents cannot.
        let least = self.o.word((-MOST_POWER) as u32);
        let exponent = self.o.smax(exponent, least);
        let exponent = self.o.add_bits(exponent, MOST_POWER as u32);
        let most = self.o.word(2 * MOST_POWER as u32);
        let exponent = self.o.umin(exponent, most);
        let exponent = N::of_word(self.o, exponent);
        let more = N::bits(self.o, MOST_POWER.into());
        let by = N::sub(self.o, exponent, more);
        let a = self.source(a, flush.inputs);
        let parts = self.split(&a);
        let exponent = N::add(self.o, parts.exponent, by);
        self.joined(&a, &Parts { exponent, ..parts }, flush.outputs)
    }

    /// The significand of `frexp`; `nan_of_infinity`: NaN for infinities.
    fn significand(&mut self, a: N::Bits, nan_of_infinity: bool, flush: Flush) -> N::Bits {
        let a = self.source(a, flush.inputs);
        let parts = self.split(&a);
        let half = self.exponent(N::LIMITS.bias - 1);
        let result = N::or(self.o, parts.fraction, half);
        let result = self.like(&a, result);
        let nan = self.nan();
        if nan_of_infinity { self.where_is(a.size, self.infinity, nan, result) } else { result }
    }

    /// The exponent of `frexp`, and `special` for infinities and NaNs.
    fn power(&mut self, a: N::Bits, special: i32, flush: Flush) -> O::Word {
        let a = self.source(a, flush.inputs);
        let parts = self.split(&a);
        let bias = N::bits(self.o, N::LIMITS.bias - 1);
        let power = N::sub(self.o, parts.exponent, bias);
        let power = self.where_is(a.size, self.zero, self.zero, power);
        let special = N::bits(self.o, special.into());
        let power = self.where_is(a.field, self.infinity, special, power);
        N::low_word(self.o, power)
    }

    /// `v_div_scale`: the number, and all bits or none for whether the quotient has to be scaled back.
    fn scale(&mut self, a: N::Bits, denominator: N::Bits, numerator: N::Bits) -> [N::Bits; 2] {
        let [of, d, n] = [a, denominator, numerator].map(|x| self.operand(x));
        let parts = self.split(&of);
        let [up, down] = [N::LIMITS.scale, -N::LIMITS.scale].map(|by| self.scaled(&of, &parts, by));
        let [d_key, n_key] = [&d, &n].map(|x| {
            let parts = self.split(x);
            self.key(&parts)
        });
        let is_denominator = N::eq(self.o, of.all, d.all);
        let is_numerator = N::eq(self.o, of.all, n.all);
        let [all, none] = [N::bits(self.o, -1), self.zero];
        let one = self.exponent(N::LIMITS.bias);
        let small_quotient = self.is_denormal(n_key, d_key);
        let small_reciprocal = self.is_denormal(one, d_key);

        // Of several cases the last one of these is the one.
        let mut result = [a, none];
        let tiny = self.below(n.field, N::LIMITS.tiny + 1);
        result = self.case(tiny, [up, none], result);
        let scaled = self.choose(is_numerator, up, a);
        result = self.case(small_quotient, [scaled, all], result);
        result = self.case(small_reciprocal, [down, none], result);
        let both = self.o.both(small_quotient, small_reciprocal);
        let scaled = self.choose(is_denominator, down, a);
        result = self.case(both, [scaled, all], result);
        let denormal = N::eq(self.o, d.field, self.zero);
        result = self.case(denormal, [up, none], result);
        let difference = N::sub(self.o, n.field, d.field);
        let small = self.below(difference, N::LIMITS.large);
        let scaled = self.choose(is_denominator, up, a);
        result = self.case(small, result, [scaled, all]);
        let nan = self.nan();
        for operand in [n.size, d.size] {
            let zero = N::eq(self.o, operand, self.zero);
            result = self.case(zero, [nan, none], result);
        }
        result
    }

    fn case(&mut self, when: O::Truth, a: [N::Bits; 2], b: [N::Bits; 2]) -> [N::Bits; 2] {
        [self.choose(when, a[0], b[0]), self.choose(when, a[1], b[1])]
    }

    /// `v_div_fixup`.
    fn fixup(&mut self, quotient: N::Bits, denominator: N::Bits, numerator: N::Bits) -> N::Bits {
        let [q, d, n] = [quotient, denominator, numerator].map(|x| self.operand(x));
        let (sign, nan) = (self.sign_bit(), self.nan());
        // One bit alone: the sum of signs is their difference.
        let signs = N::add(self.o, d.all, n.all);
        let sizes = N::add(self.o, d.size, n.size);
        let signs = N::sub(self.o, signs, sizes);
        let sign = N::and(self.o, signs, sign);
        let infinity = N::or(self.o, sign, self.infinity);
        let result = N::or(self.o, sign, q.size);
        let is_nan = N::slt(self.o, self.infinity, q.size);
        let result = self.choose(is_nan, infinity, result);
        let difference = N::sub(self.o, n.field, d.field);
        let underflow = self.below(difference, N::LIMITS.underflow);
        let result = self.choose(underflow, sign, result);
        let result = self.where_is(d.size, self.infinity, sign, result);
        let result = self.where_is(n.size, self.zero, sign, result);
        let result = self.where_is(d.size, self.zero, infinity, result);
        let result = self.where_is(n.size, self.infinity, infinity, result);
        // Both of a kind.
        let mut result = result;
        for kind in [self.zero, self.infinity] {
            let if_both = self.where_is(n.size, kind, nan, result);
            result = self.where_is(d.size, kind, if_both, result);
        }
        for operand in [d.size, n.size] {
            let is_nan = N::slt(self.o, self.infinity, operand);
            result = self.choose(is_nan, nan, result);
        }
        result
    }

    fn where_is(&mut self, a: N::Bits, b: N::Bits, then: N::Bits, otherwise: N::Bits) -> N::Bits {
        let equal = N::eq(self.o, a, b);
        self.choose(equal, then, otherwise)
    }
}

/// `v_div_scale`'s number, and all bits or none for its flag; operands as there.
pub fn scale<N: Number<O>, O: Ops>(
    o: &mut O,
    a: N::Bits,
    denominator: N::Bits,
    numerator: N::Bits,
) -> [N::Bits; 2] {
    Formulas::<O, N>::new(o).scale(a, denominator, numerator)
}

/// `v_div_fixup`.
pub fn fixup<N: Number<O>, O: Ops>(
    o: &mut O,
    quotient: N::Bits,
    denominator: N::Bits,
    numerator: N::Bits,
) -> N::Bits {
    Formulas::<O, N>::new(o).fixup(quotient, denominator, numerator)
}

/// `a * 2^exponent`, to nearest even.
pub fn ldexp<N: Number<O>, O: Ops>(o: &mut O, a: N::Bits, exponent: O::Word, flush: Flush) -> N::Bits {
    Formulas::<O, N>::new(o).ldexp(a, exponent, flush)
}

/// The significand of `frexp`; `nan_of_infinity`: NaN for infinities.
pub fn significand<N: Number<O>, O: Ops>(
    o: &mut O,
    a: N::Bits,
    nan_of_infinity: bool,
    flush: Flush,
) -> N::Bits {
    Formulas::<O, N>::new(o).significand(a, nan_of_infinity, flush)
}

/// The exponent of `frexp`, and `special` for infinities and NaNs.
pub fn power<N: Number<O>, O: Ops>(o: &mut O, a: N::Bits, special: i32, flush: Flush) -> O::Word {
    Formulas::<O, N>::new(o).power(a, special, flush)
}

/// MODE and the form, where they are known.
fn known(b: &Builder<'_>, mode: Value, width: Width) -> Option<(Mode, Flush, bool)> {
    let bits = b.func.as_const(mode)? as u32;
    let mode = Mode(bits & 0xffff);
    let flush = Flush { inputs: mode.flushes_inputs(width), outputs: mode.flushes_outputs(width) };
    Some((mode, flush, bits >> FORM != 0))
}

macro_rules! expansions {
    ($($number:ident, $float:ident, $bits:ident: $scale:ident, $flag:ident, $fixup:ident, $ldexp:ident, $significand:ident, $power:ident;)*) => {
        $(
            /// For compiled code.
            pub fn $scale(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
                let &[a, d, n] = args else { return None };
                let [a, d, n] = [a, d, n].map(|x| b.bitcast(x, Scalar::$bits));
                let [result, _] = scale::<$number, _>(&mut Lanes::new(b, ftz), a, d, n);
                Some(b.bitcast(result, Scalar::$float))
            }

            /// For compiled code.
            pub fn $flag(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
                let &[d, n] = args else { return None };
                let [d, n] = [d, n].map(|x| b.bitcast(x, Scalar::$bits));
                let mut o = Lanes::new(b, ftz);
                let [_, flag] = scale::<$number, _>(&mut o, d, d, n);
                let all = <$number as Number<Lanes<'_, '_>>>::bits(&mut o, -1);
                Some(<$number as Number<Lanes<'_, '_>>>::eq(&mut o, flag, all))
            }

            /// For compiled code.
            pub fn $fixup(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
                let &[q, d, n] = args else { return None };
                let [q, d, n] = [q, d, n].map(|x| b.bitcast(x, Scalar::$bits));
                let result = fixup::<$number, _>(&mut Lanes::new(b, ftz), q, d, n);
                Some(b.bitcast(result, Scalar::$float))
            }

            /// For compiled code that rounds to nearest.
            pub fn $ldexp(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
                let &[mode, a, exponent] = args else { return None };
                let (mode, flush, _) = known(b, mode, Width::$number)?;
                if mode.rounding(Width::$number) != Rounding::Nearest {
                    return None;
                }
                let a = b.bitcast(a, Scalar::$bits);
                let result = ldexp::<$number, _>(&mut Lanes::new(b, ftz), a, exponent, flush);
                Some(b.bitcast(result, Scalar::$float))
            }

            /// For compiled code.
            pub fn $significand(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
                let &[mode, a] = args else { return None };
                let (_, flush, form) = known(b, mode, Width::$number)?;
                let a = b.bitcast(a, Scalar::$bits);
                let result = significand::<$number, _>(&mut Lanes::new(b, ftz), a, form, flush);
                Some(b.bitcast(result, Scalar::$float))
            }

            /// For compiled code.
            pub fn $power(b: &mut Builder<'_>, args: &[Value], ftz: bool) -> Option<Value> {
                let &[mode, a] = args else { return None };
                let (_, flush, form) = known(b, mode, Width::$number)?;
                let a = b.bitcast(a, Scalar::$bits);
                Some(power::<$number, _>(&mut Lanes::new(b, ftz), a, -i32::from(form), flush))
            }
        )*
    };
}

expansions! {
    Single, F32, I32: scale_f32, flag_f32, fixup_f32, ldexp_f32, significand_f32, power_f32;
    Double, F64, I64: scale_f64, flag_f64, fixup_f64, ldexp_f64, significand_f64, power_f64;
}
