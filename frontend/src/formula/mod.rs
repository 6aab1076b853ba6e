//! Numeric functions that are written once and used twice: run in Rust, and emitted as IR.
//!
//! A formula is a function over [`Ops`]; it takes and returns bit patterns. With [`Scalars`] it computes one lane in Rust. With
//! [`Lanes`] it appends IR operations, from which the backend makes vector code. Every operation of [`Ops`] gives the same bits
//! in both, so the two always agree.

pub mod directed;
pub mod elementary;
pub mod fast;
mod lanes;
mod scalars;

pub use lanes::Lanes;
pub use scalars::Scalars;

use warpjit_ir::{Builder, PureFn, Scalar, Value, WordTable};

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ident),*) -> $ret:ident;)*) => {
        /// The operations of formulas.
        ///
        /// Shift counts are modulo the width. Float operations with a zero or denormal operand or result that is not exact must not
        /// occur unless their documentation says what they give: a region's environment may flush denormals.
        pub trait Ops {
            /// 32 bits.
            type Word: Copy;
            /// 64 bits.
            type Wide: Copy;
            /// A binary32 number.
            type Single: Copy;
            /// A binary64 number.
            type Double: Copy;
            /// A truth value.
            type Truth: Copy;

            /// A constant.
            fn word(&mut self, bits: u32) -> Self::Word;
            /// A constant.
            fn wide(&mut self, bits: u64) -> Self::Wide;
            /// A constant.
            fn double(&mut self, value: f64) -> Self::Double;
            /// A constant.
            fn single(&mut self, value: f32) -> Self::Single;
            /// Left shift by a constant.
            fn shl(&mut self, a: Self::Word, n: u32) -> Self::Word;
            /// Logical right shift by a constant.
            fn shr(&mut self, a: Self::Word, n: u32) -> Self::Word;
            /// Arithmetic right shift by a constant.
            fn sar(&mut self, a: Self::Word, n: u32) -> Self::Word;
            /// Left shift by a constant.
            fn wide_shl(&mut self, a: Self::Wide, n: u32) -> Self::Wide;
            /// Logical right shift by a constant.
            fn wide_shr(&mut self, a: Self::Wide, n: u32) -> Self::Wide;
            /// A function of one word.
            fn call(&mut self, callee: &'static PureFn, a: Self::Word) -> Self::Word;
            /// The number, or the NaN with these bits for any NaN.
            fn canonical(&mut self, a: Self::Single, nan: u32) -> Self::Single;
            /// Entry of a table.
            fn lookup(&mut self, table: &'static WordTable, index: Self::Word) -> Self::Word;
            $($(#[$doc])* fn $name(&mut self, $($arg: Self::$ty),*) -> Self::$ret;)*

            /// And with a constant.
            fn and_bits(&mut self, a: Self::Word, bits: u32) -> Self::Word {
                let bits = self.word(bits);
                self.and(a, bits)
            }
            /// Sum with a constant.
            fn add_bits(&mut self, a: Self::Word, bits: u32) -> Self::Word {
                let bits = self.word(bits);
                self.add(a, bits)
            }
            /// Product with a constant.
            fn mul_bits(&mut self, a: Self::Word, bits: u32) -> Self::Word {
                let bits = self.word(bits);
                self.mul(a, bits)
            }
            /// Whether below a constant, signed.
            fn below(&mut self, a: Self::Word, bits: u32) -> Self::Truth {
                let bits = self.word(bits);
                self.slt(a, bits)
            }
            /// Whether above a constant, signed.
            fn above(&mut self, a: Self::Word, bits: u32) -> Self::Truth {
                let bits = self.word(bits);
                self.slt(bits, a)
            }
            /// Whether equal to a constant.
            fn is(&mut self, a: Self::Word, bits: u32) -> Self::Truth {
                let bits = self.word(bits);
                self.eq(a, bits)
            }
            /// A constant where the condition holds.
            fn put(&mut self, when: Self::Truth, bits: u32, otherwise: Self::Word) -> Self::Word {
                let bits = self.word(bits);
                self.select(when, bits, otherwise)
            }
        }
    };
}

ops! {
    /// Sum.
    add(a: Word, b: Word) -> Word;
    /// Difference.
    sub(a: Word, b: Word) -> Word;
    /// Product.
    mul(a: Word, b: Word) -> Word;
    /// High half of the unsigned product.
    mul_high(a: Word, b: Word) -> Word;
    /// And.
    and(a: Word, b: Word) -> Word;
    /// Or.
    or(a: Word, b: Word) -> Word;
    /// Exclusive or.
    xor(a: Word, b: Word) -> Word;
    /// Left shift.
    shl_by(a: Word, n: Word) -> Word;
    /// Logical right shift.
    shr_by(a: Word, n: Word) -> Word;
    /// Unsigned minimum.
    umin(a: Word, b: Word) -> Word;
    /// Signed maximum.
    smax(a: Word, b: Word) -> Word;
    /// Whether equal.
    eq(a: Word, b: Word) -> Truth;
    /// Whether less, unsigned.
    ult(a: Word, b: Word) -> Truth;
    /// Whether less, signed.
    slt(a: Word, b: Word) -> Truth;
    /// Whether both hold.
    both(a: Truth, b: Truth) -> Truth;
    /// The second where the first holds, else the third.
    select(when: Truth, a: Word, b: Word) -> Word;
    /// Signed integer to float, nearest even.
    to_single(a: Word) -> Single;
    /// Float to signed integer, truncated; within range.
    to_word(a: Single) -> Word;
    /// Sum.
    single_add(a: Single, b: Single) -> Single;
    /// Difference.
    single_sub(a: Single, b: Single) -> Single;
    /// Product.
    single_mul(a: Single, b: Single) -> Single;
    /// Fused multiply-add.
    single_fma(a: Single, b: Single, c: Single) -> Single;
    /// Quotient; denormal operands and results are zeros.
    single_div(a: Single, b: Single) -> Single;
    /// Square root; a denormal is zero.
    single_sqrt(a: Single) -> Single;
    /// Nearest integer, ties to even.
    single_nearest(a: Single) -> Single;
    /// A binary16 number in the low half of a word, exactly; which NaN is not said.
    widen(a: Word) -> Single;
    /// Conversion to binary16, nearest even, with denormals; 0x7e00 and the sign for NaNs.
    narrow(a: Single) -> Word;
    /// Bits of a float.
    bits(a: Single) -> Word;
    /// Float of bits.
    of_bits(a: Word) -> Single;

    /// Sum.
    wide_add(a: Wide, b: Wide) -> Wide;
    /// Difference.
    wide_sub(a: Wide, b: Wide) -> Wide;
    /// And.
    wide_and(a: Wide, b: Wide) -> Wide;
    /// Or.
    wide_or(a: Wide, b: Wide) -> Wide;
    /// Logical right shift.
    wide_shr_by(a: Wide, n: Wide) -> Wide;
    /// Whether equal.
    wide_eq(a: Wide, b: Wide) -> Truth;
    /// Whether less, signed.
    wide_slt(a: Wide, b: Wide) -> Truth;
    /// The second where the first holds, else the third.
    wide_select(when: Truth, a: Wide, b: Wide) -> Wide;
    /// Low half.
    low(a: Wide) -> Word;
    /// Zero extension.
    extend(a: Word) -> Wide;
    /// Bits of a float.
    wide_bits(a: Double) -> Wide;
    /// Float of bits.
    of_wide_bits(a: Wide) -> Double;

    /// Exact conversion; what a denormal gives is not said.
    promote(a: Single) -> Double;
    /// Conversion to nearest even; a denormal result becomes the zero of its sign.
    demote(a: Double) -> Single;
    /// Signed integer to float, exact.
    double_of_signed(a: Word) -> Double;
    /// Unsigned integer to float, exact.
    double_of_unsigned(a: Word) -> Double;
    /// Sum.
    double_add(a: Double, b: Double) -> Double;
    /// Difference.
    double_sub(a: Double, b: Double) -> Double;
    /// Product.
    double_mul(a: Double, b: Double) -> Double;
    /// Quotient.
    double_div(a: Double, b: Double) -> Double;
    /// Square root.
    double_sqrt(a: Double) -> Double;
    /// Magnitude.
    double_abs(a: Double) -> Double;
    /// Opposite.
    double_neg(a: Double) -> Double;
    /// Whether less.
    double_lt(a: Double, b: Double) -> Truth;
    /// Whether equal.
    double_eq(a: Double, b: Double) -> Truth;
    /// The second where the first holds, else the third.
    double_select(when: Truth, a: Double, b: Double) -> Double;
}

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;

/// Where the bits of an f32 are a zero's or a denormal's.
pub fn is_tiny<O: Ops>(o: &mut O, x: O::Word) -> O::Truth {
    let exponent = o.and_bits(x, INFINITY);
    o.is(exponent, 0)
}

/// `result`, a function of positive numbers `x`, but `at_infinity` there and `nan` for all beyond: negative numbers and NaNs.
pub fn of_positive<O: Ops>(o: &mut O, x: O::Word, result: O::Word, at_infinity: u32, nan: u32) -> O::Word {
    let infinite = o.is(x, INFINITY);
    let result = o.put(infinite, at_infinity, result);
    let infinity = o.word(INFINITY);
    let beyond = o.ult(infinity, x);
    o.put(beyond, nan, result)
}

/// Logarithms of positive numbers, but those of zeros, denormals, infinity and all beyond.
pub fn logarithm<O: Ops>(o: &mut O, x: O::Word, result: O::Word, nan: u32) -> O::Word {
    let result = of_positive(o, x, result, INFINITY, nan);
    let tiny = is_tiny(o, x);
    o.put(tiny, INFINITY | SIGN, result)
}

/// Appends a formula of one argument: the expansion of a [`warpjit_ir::PureFn`] with that argument and result.
pub(crate) fn unary(
    b: &mut Builder<'_>,
    args: &[Value],
    ftz: bool,
    result: Scalar,
    formula: fn(&mut Lanes<'_, '_>, Value) -> Value,
) -> Option<Value> {
    let &[x] = args else { return None };
    let x = b.bitcast(x, Scalar::I32);
    let y = formula(&mut Lanes::new(b, ftz), x);
    Some(b.bitcast(y, result))
}
