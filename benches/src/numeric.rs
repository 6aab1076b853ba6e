//! The chips' float arithmetic for the models, written from docs/hardware/tesla.md section 6 and docs/hardware/fermi.md
//! section 2 independently of the lifters. It handles finite arguments, in the host's `f64` and `f32`.

use warpjit_frontend::fermi::numeric as fermi;
use warpjit_frontend::formula::Scalars;
use warpjit_frontend::tesla::numeric::sfu;

/// How a guest's code computes.
pub trait Arithmetic {
    /// Sum, to nearest.
    fn add(a: f32, b: f32) -> f32;
    /// Product, to nearest.
    fn mul(a: f32, b: f32) -> f32;
    /// `a * b + c` as the chip's contracted operation does it.
    fn mad(a: f32, b: f32, c: f32) -> f32;
    /// `1 / x` by the special-function unit.
    fn rcp(x: f32) -> f32;
    /// `1 / sqrt(x)` by the special-function unit.
    fn rsqrt(x: f32) -> f32;
    /// Binary logarithm by the special-function unit.
    fn lg2(x: f32) -> f32;
    /// Power of two by the special-function unit, its argument prepared.
    fn ex2(x: f32) -> f32;
}

fn flush(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { 0.0_f32.copysign(x) } else { x }
}

/// G80 to G200: denormals are flushed, `mad` truncates the product. The tests of the special-function unit hold it against
/// the hardware's results.
#[derive(Clone, Copy, Debug)]
pub struct Tesla;

impl Arithmetic for Tesla {
    fn add(a: f32, b: f32) -> f32 {
        flush(a + b)
    }

    fn mul(a: f32, b: f32) -> f32 {
        flush(a * b)
    }

    fn mad(a: f32, b: f32, c: f32) -> f32 {
        if a == 0.0 || b == 0.0 || c == 0.0 {
            return Self::add(Self::mul(a, b), c);
        }
        // 48 bits at most: exact. Of 53 significant bits the lowest 29 go.
        let exact = f64::from(a) * f64::from(b);
        let product = f64::from_bits(exact.to_bits() & !((1 << 29) - 1));
        flush(sum_to_odd(product, f64::from(c)) as f32)
    }

    fn rcp(x: f32) -> f32 {
        f32::from_bits(sfu::rcp(x.to_bits()))
    }

    fn rsqrt(x: f32) -> f32 {
        f32::from_bits(sfu::rsqrt(x.to_bits()))
    }

    fn lg2(x: f32) -> f32 {
        f32::from_bits(sfu::lg2(x.to_bits()))
    }

    fn ex2(x: f32) -> f32 {
        f32::from_bits(sfu::ex2(sfu::preex2(x.to_bits())))
    }
}

/// GF100 as nvcc compiles for it: IEEE's operations, fused; with `FTZ` as with `-ftz=true`, a part of `-use_fast_math`.
#[derive(Clone, Copy, Debug)]
pub struct Gf100<const FTZ: bool>;

/// As nvcc compiles.
pub type Fermi = Gf100<false>;

/// As it does with `-ftz=true`.
pub type FermiFtz = Gf100<true>;

impl<const FTZ: bool> Gf100<FTZ> {
    fn result(x: f32) -> f32 {
        if FTZ { flush(x) } else { x }
    }
}

impl<const FTZ: bool> Arithmetic for Gf100<FTZ> {
    fn add(a: f32, b: f32) -> f32 {
        Self::result(a + b)
    }

    fn mul(a: f32, b: f32) -> f32 {
        Self::result(a * b)
    }

    fn mad(a: f32, b: f32, c: f32) -> f32 {
        Self::result(a.mul_add(b, c))
    }

    fn rcp(x: f32) -> f32 {
        flush(1.0 / flush(x))
    }

    fn rsqrt(x: f32) -> f32 {
        1.0 / flush(x).sqrt()
    }

    fn lg2(x: f32) -> f32 {
        f32::from_bits(fermi::lg2(&mut Scalars, x.to_bits()))
    }

    fn ex2(x: f32) -> f32 {
        f32::from_bits(fermi::ex2(&mut Scalars, x.to_bits()))
    }
}

/// Sum of two numbers, rounded to odd, so that it can be rounded once more without harm.
fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let b_seen = sum - a;
    let error = (a - (sum - b_seen)) + (b - b_seen);
    let bits = sum.to_bits();
    if error == 0.0 || bits & 1 != 0 {
        return sum;
    }
    f64::from_bits(if (error > 0.0) == (sum > 0.0) { bits + 1 } else { bits - 1 })
}

/// Numbers that look random and are the same on every run (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence for each seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next word.
    pub fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x >> 32) as u32
    }

    /// A float from `low` to `high`.
    pub fn float(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.word() >> 8) as f32 / (1 << 24) as f32
    }
}

/// Bytes of words.
pub fn bytes_of(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Bytes of floats.
pub fn bytes_of_floats(floats: impl IntoIterator<Item = f32>) -> Vec<u8> {
    floats.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// Words of bytes.
pub fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

/// Floats of bytes.
pub fn floats_of(bytes: &[u8]) -> Vec<f32> {
    words_of(bytes).into_iter().map(f32::from_bits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpjit_frontend::tesla::numeric;

    #[test]
    fn mad_agrees_with_the_lifter_s() {
        let mut random = Random::new(1);
        for _ in 0..200_000 {
            let mut next = || f32::from_bits(random.word() & 0x83ff_ffff | 0x3e00_0000);
            let (a, b, c) = (next(), next(), next());
            let theirs = numeric::f32::mad(a.to_bits(), b.to_bits(), c.to_bits());
            assert_eq!(Tesla::mad(a, b, c).to_bits(), theirs, "{a:e} * {b:e} + {c:e}");
        }
    }
}
