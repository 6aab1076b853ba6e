//! The bits of an f32 or an f64 as formulas handle them ([`Number`]).

use crate::formula::Ops;

/// What differs between the formats; the last four as `divide::Limits`.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub fraction: u32,
    pub bias: i64,
    /// Bits in all.
    pub width: u32,
    pub scale: i64,
    pub large: i64,
    pub tiny: i64,
    pub underflow: i64,
}

/// The bits of a format as formulas handle them.
pub trait Number<O: Ops> {
    /// All bits of a number.
    type Bits: Copy;
    /// The format.
    const LIMITS: Limits;

    /// A constant, cut to the width.
    fn bits(o: &mut O, bits: i64) -> Self::Bits;
    /// And.
    fn and(o: &mut O, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Or.
    fn or(o: &mut O, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Sum.
    fn add(o: &mut O, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Difference.
    fn sub(o: &mut O, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Logical right shift.
    fn shr_by(o: &mut O, a: Self::Bits, n: Self::Bits) -> Self::Bits;
    /// Left shift by a constant.
    fn shl(o: &mut O, a: Self::Bits, n: u32) -> Self::Bits;
    /// Logical right shift by a constant.
    fn shr(o: &mut O, a: Self::Bits, n: u32) -> Self::Bits;
    /// A word, extended by zeros.
    fn of_word(o: &mut O, a: O::Word) -> Self::Bits;
    /// The low word.
    fn low_word(o: &mut O, a: Self::Bits) -> O::Word;
    /// Whether equal.
    fn eq(o: &mut O, a: Self::Bits, b: Self::Bits) -> O::Truth;
    /// Whether less, signed.
    fn slt(o: &mut O, a: Self::Bits, b: Self::Bits) -> O::Truth;
    /// The second where the first holds, else the third.
    fn select(o: &mut O, when: O::Truth, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// The bits of the float that an integer is; it has no more bits than a fraction.
    fn of_integer(o: &mut O, a: Self::Bits) -> Self::Bits;
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $bits:ident as $int:ty, $limits:expr, [$constant:ident $and:ident $or:ident $add:ident $sub:ident
        $shl:ident $shr:ident $shr_by:ident $eq:ident $slt:ident $select:ident], |$o:ident, $a:ident| of_word $of_word:expr,
        low_word $low_word:expr, of_integer $of_integer:expr;)*) => {
        $(
            $(#[$doc])*
            pub struct $name;

            impl<O: Ops> Number<O> for $name {
                type Bits = O::$bits;
                const LIMITS: Limits = $limits;

                fn bits(o: &mut O, bits: i64) -> O::$bits {
                    o.$constant(bits as $int)
                }
                fn and(o: &mut O, a: O::$bits, b: O::$bits) -> O::$bits {
                    o.$and(a, b)
                }
                fn or(o: &mut O, a: O::$bits, b: O::$bits) -> O::$bits {
                    o.$or(a, b)
                }
                fn add(o: &mut O, a: O::$bits, b: O::$bits) -> O::$bits {
                    o.$add(a, b)
                }
                fn sub(o: &mut O, a: O::$bits, b: O::$bits) -> O::$bits {
                    o.$sub(a, b)
                }
                fn shl(o: &mut O, a: O::$bits, n: u32) -> O::$bits {
                    o.$shl(a, n)
                }
                fn shr(o: &mut O, a: O::$bits, n: u32) -> O::$bits {
                    o.$shr(a, n)
                }
                fn shr_by(o: &mut O, a: O::$bits, n: O::$bits) -> O::$bits {
                    o.$shr_by(a, n)
                }
                fn eq(o: &mut O, a: O::$bits, b: O::$bits) -> O::Truth {
                    o.$eq(a, b)
                }
                fn slt(o: &mut O, a: O::$bits, b: O::$bits) -> O::Truth {
                    o.$slt(a, b)
                }
                fn select(o: &mut O, when: O::Truth, a: O::$bits, b: O::$bits) -> O::$bits {
                    o.$select(when, a, b)
                }
                #[allow(unused_variables)]
                fn of_word($o: &mut O, $a: O::Word) -> O::$bits {
                    $of_word
                }
                #[allow(unused_variables)]
                fn low_word($o: &mut O, $a: O::$bits) -> O::Word {
                    $low_word
                }
                fn of_integer($o: &mut O, $a: O::$bits) -> O::$bits {
                    $of_integer
                }
            }
        )*
    };
}

numbers! {
    /// Binary32.
    Single: Word as u32, Limits { fraction: 23, bias: 127, width: 32, scale: 64, large: 96, tiny: 23, underflow: -150 },
        [word and or add sub shl shr shr_by eq slt select],
        |o, a| of_word a, low_word a, of_integer {
            let float = o.to_single(a);
            O::bits(o, float)
        };
    /// Binary64.
    Double: Wide as u64, Limits { fraction: 52, bias: 1023, width: 64, scale: 128, large: 768, tiny: 53, underflow: -1075 },
        [wide wide_and wide_or wide_add wide_sub wide_shl wide_shr wide_shr_by wide_eq wide_slt wide_select],
        |o, a| of_word o.extend(a), low_word o.low(a), of_integer {
            let high = o.wide_shr(a, 32);
            let [high, low] = [high, a].map(|half| o.low(half));
            let [high, low] = [high, low].map(|half| o.double_of_unsigned(half));
            let weight = o.double(4_294_967_296.0);
            let high = o.double_mul(high, weight);
            let sum = o.double_add(high, low);
            o.wide_bits(sum)
        };
}
