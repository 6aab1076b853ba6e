//! Computes f32 arithmetic: denormal operands and results are flushed, every NaN result is [`NAN`].

use super::soft::{F32_FLUSH, F32_MAD};
use super::{Order, Rounding};

/// The one NaN that f32 operations produce.
pub const NAN: u32 = 0x7fff_ffff;
/// Sign bit.
pub const SIGN: u32 = 0x8000_0000;
/// Plus infinity.
pub const INFINITY: u32 = 0x7f80_0000;
/// 1.0
pub const ONE: u32 = 0x3f80_0000;

/// Whether the bits are a NaN.
pub fn is_nan(x: u32) -> bool {
    x & !SIGN > INFINITY
}

/// Whether the bits are an infinity.
pub fn is_infinite(x: u32) -> bool {
    x & !SIGN == INFINITY
}

/// Denormals become zero of their sign.
pub fn flush(x: u32) -> u32 {
    if x & INFINITY == 0 { x & SIGN } else { x }
}

/// The `sat` modifier: to `[0, 1]`, a NaN stays (the NaN-to-zero mode of GT215+ is off).
pub fn saturate(x: u32) -> u32 {
    if is_nan(x) {
        NAN
    } else if x & SIGN != 0 {
        0
    } else {
        x.min(ONE)
    }
}

/// Sum. The chip offers `rn` and `rz`.
pub fn add(a: u32, b: u32, rounding: Rounding) -> u32 {
    let sum = F32_FLUSH.number(a.into()).plus(F32_FLUSH.number(b.into()), rounding);
    sum.round(&F32_FLUSH, rounding, NAN.into()) as u32
}

/// Product. The chip offers `rn` and `rz`.
pub fn mul(a: u32, b: u32, rounding: Rounding) -> u32 {
    let product = F32_FLUSH.number(a.into()).times(F32_FLUSH.number(b.into()));
    product.round(&F32_FLUSH, rounding, NAN.into()) as u32
}

/// Multiply and add, to nearest: the product is cut to 24 bits without rounding, its exponent is
/// unbounded; with a zero among the operands it is a rounded product and a sum.
pub fn mad(a: u32, b: u32, c: u32) -> u32 {
    let nearest = Rounding::Nearest;
    if [a, b, c].into_iter().any(|x| flush(x) & !SIGN == 0) {
        return add(mul(a, b, nearest), c, nearest);
    }
    let [a, b, c] = [a, b, c].map(|x| F32_MAD.number(x.into()));
    let product = a.times(b).map(|product| product.truncate(24));
    product.plus(c, nearest).round(&F32_MAD, nearest, NAN.into()) as u32
}

/// Compares; denormals are zero, zeros are equal.
pub fn compare(a: u32, b: u32) -> Order {
    if is_nan(a) || is_nan(b) {
        return Order::Unordered;
    }
    match key(a).cmp(&key(b)) {
        std::cmp::Ordering::Less => Order::Less,
        std::cmp::Ordering::Equal => Order::Equal,
        std::cmp::Ordering::Greater => Order::Greater,
    }
}

/// An integer that orders as the number does; both zeros are 0.
fn key(x: u32) -> i32 {
    let x = flush(x);
    let magnitude = (x & !SIGN) as i32;
    if x & SIGN != 0 { -magnitude } else { magnitude }
}

/// Greater of two: a NaN loses, `+0` is greater than `-0`.
pub fn max(a: u32, b: u32) -> u32 {
    pick(a, b, false)
}

/// Smaller of two: a NaN loses, `-0` is smaller than `+0`.
pub fn min(a: u32, b: u32) -> u32 {
    pick(a, b, true)
}

fn pick(a: u32, b: u32, smaller: bool) -> u32 {
    let (a, b) = match (is_nan(a), is_nan(b)) {
        (true, true) => return NAN,
        (true, false) => (b, b),
        (false, true) => (a, a),
        _ => (a, b),
    };
    let (a, b) = (flush(a), flush(b));
    // One's complement of negative numbers orders -0 below +0.
    let order = |x: u32| if x & SIGN != 0 { !x as i32 ^ i32::MIN } else { x as i32 };
    if (order(a) < order(b)) == smaller { a } else { b }
}

/// Rounds to an integral value; zero keeps its sign.
pub fn round_integral(x: u32, rounding: Rounding) -> u32 {
    if is_nan(x) {
        return NAN;
    }
    let x = flush(x);
    let exponent = (x >> 23 & 0xff) as i32;
    if exponent >= 127 + 23 {
        return x;
    }
    let real = F32_FLUSH.unpack(x.into());
    let whole = super::soft::shift_right(real.magnitude, -real.exponent, rounding, real.negative);
    F32_FLUSH.round(super::soft::Real { magnitude: whole, exponent: 0, ..real }, rounding) as u32
}

/// `$c` of a float result: its order against zero.
pub fn condition(x: u32) -> u32 {
    compare(x, 0) as u32
}
