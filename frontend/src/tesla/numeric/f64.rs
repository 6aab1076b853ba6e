//! Computes f64 arithmetic (G200): no flushing, fused multiply-add, NaN payloads are preserved.

use super::soft::{F64, Real, shift_right};
use super::{Order, Rounding};

/// Sign bit.
pub const SIGN: u64 = 1 << 63;
/// Result of an invalid operation.
pub const NAN: u64 = 0xfff8_0000_0000_0000;
/// The bit that makes a NaN quiet.
pub const QUIET: u64 = 1 << 51;
/// Plus infinity.
pub const INFINITY: u64 = 0x7ff0_0000_0000_0000;

/// Whether the bits are a NaN.
pub fn is_nan(x: u64) -> bool {
    x & !SIGN > INFINITY
}

/// Source modifiers: a NaN is made quiet and keeps its sign, other numbers take abs, then neg.
pub fn modify(x: u64, absolute: bool, negate: bool) -> u64 {
    if is_nan(x) {
        return x | QUIET;
    }
    let x = if absolute { x & !SIGN } else { x };
    if negate { x ^ SIGN } else { x }
}

/// The NaN that an operation gives for its operands, of several the first one in the list.
fn quieted(operands: &[u64]) -> Option<u64> {
    operands.iter().find(|&&x| is_nan(x)).map(|x| x | QUIET)
}

/// Sum. A NaN of the second operand wins.
pub fn add(a: u64, b: u64, rounding: Rounding) -> u64 {
    let sum = || F64.number(a).plus(F64.number(b), rounding).round(&F64, rounding, NAN);
    quieted(&[b, a]).unwrap_or_else(sum)
}

/// Product. A NaN of the second operand wins.
pub fn mul(a: u64, b: u64, rounding: Rounding) -> u64 {
    let product = || F64.number(a).times(F64.number(b)).round(&F64, rounding, NAN);
    quieted(&[b, a]).unwrap_or_else(product)
}

/// Fused `a * b + c`. Of several NaNs that of `b` wins, then `c`, then `a`.
pub fn fma(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    let sum = || {
        let product = F64.number(a).times(F64.number(b));
        product.plus(F64.number(c), rounding).round(&F64, rounding, NAN)
    };
    quieted(&[b, c, a]).unwrap_or_else(sum)
}

/// Compares; zeros are equal.
pub fn compare(a: u64, b: u64) -> Order {
    if is_nan(a) || is_nan(b) {
        return Order::Unordered;
    }
    let key = |x: u64| {
        let magnitude = (x & !SIGN) as i64;
        if x & SIGN != 0 { -magnitude } else { magnitude }
    };
    match key(a).cmp(&key(b)) {
        std::cmp::Ordering::Less => Order::Less,
        std::cmp::Ordering::Equal => Order::Equal,
        std::cmp::Ordering::Greater => Order::Greater,
    }
}

/// Greater of two: a NaN loses against a number, of two the second stays.
pub fn max(a: u64, b: u64) -> u64 {
    pick(a, b, false)
}

/// Smaller of two: a NaN loses against a number, of two the second stays.
pub fn min(a: u64, b: u64) -> u64 {
    pick(a, b, true)
}

fn pick(a: u64, b: u64, smaller: bool) -> u64 {
    match (is_nan(a), is_nan(b)) {
        (true, true) => return b | QUIET,
        (true, false) => return b,
        (false, true) => return a,
        _ => {}
    }
    let order = |x: u64| if x & SIGN != 0 { !x as i64 ^ i64::MIN } else { x as i64 };
    if (order(a) < order(b)) == smaller { a } else { b }
}

/// Rounds to an integral value; zero keeps its sign, a NaN passes.
pub fn round_integral(x: u64, rounding: Rounding) -> u64 {
    if is_nan(x) || (x >> 52 & 0x7ff) as i32 >= 1023 + 52 {
        return x;
    }
    let real = F64.unpack(x);
    let whole = shift_right(real.magnitude, -real.exponent, rounding, real.negative);
    F64.round(Real { magnitude: whole, exponent: 0, ..real }, rounding)
}

/// `$c` of a result: its order against zero.
pub fn condition(x: u64) -> u32 {
    compare(x, 0) as u32
}
