//! Saxpy: `y = a x + y` over four million floats. Limited by memory bandwidth.

use super::{Bench, Buffers, Guest, Native, Tolerance, Yardstick};
use crate::numeric::{Arithmetic, Fermi, Random, Tesla, bytes_of_floats, floats_of};
use crate::simd::Simd;

const COUNT: usize = 1 << 22;
const A: f32 = 1.7;

/// The kernel.
#[derive(Debug)]
pub struct Saxpy {
    /// Whose.
    pub guest: Guest,
    /// With addresses of 64 bits.
    pub wide: bool,
}

impl Bench for Saxpy {
    fn name(&self) -> &'static str {
        if self.wide { "saxpy64" } else { "saxpy" }
    }

    fn guest(&self) -> Guest {
        self.guest
    }

    fn inputs(&self) -> Buffers {
        let mut random = Random::new(2);
        let mut next = || bytes_of_floats((0..COUNT).map(|_| random.float(-1.0, 1.0)));
        vec![("x", next()), ("y", next())]
    }

    fn model(&self, inputs: &Buffers) -> Buffers {
        let (x, y) = (floats_of(&inputs[0].1), floats_of(&inputs[1].1));
        let mad = match self.guest {
            Guest::Tesla => Tesla::mad,
            Guest::Fermi => Fermi::mad,
        };
        vec![("y", bytes_of_floats(x.iter().zip(&y).map(|(&x, &y)| mad(A, x, y))))]
    }

    fn native(&self, inputs: &Buffers) -> Box<dyn Native> {
        Box::new(NativeSaxpy { x: floats_of(&inputs[0].1), y: floats_of(&inputs[1].1) })
    }

    fn halves(&self, inputs: &Buffers) -> Option<[Buffers; 2]> {
        let half = |n: usize| {
            inputs.iter().map(|(name, bytes)| (*name, bytes[n * 2 * COUNT..][..2 * COUNT].to_vec())).collect()
        };
        Some([half(0), half(1)])
    }

    fn native_tolerance(&self) -> Tolerance {
        Tolerance::Relative(1e-6)
    }
}

struct NativeSaxpy {
    x: Vec<f32>,
    y: Vec<f32>,
}

impl NativeSaxpy {
    #[inline(always)]
    fn groups<S: Simd, const U: usize>(&mut self, s: S) {
        let a = s.f(A);
        let size = S::LANES * U;
        for (x, y) in self.x.chunks_exact(size).zip(self.y.chunks_exact_mut(size)) {
            for u in 0..U {
                let at = u * S::LANES;
                let sum = s.fma(a, s.load(&x[at..]), s.load(&y[at..]));
                s.store(&mut y[at..], sum);
            }
        }
    }
}

impl Yardstick for NativeSaxpy {
    fn unrolls(&self) -> &'static [usize] {
        &[1, 4]
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, unroll: usize) {
        match unroll {
            1 => self.groups::<S, 1>(s),
            _ => self.groups::<S, 4>(s),
        }
    }

    fn output(&self) -> Vec<u8> {
        bytes_of_floats(self.y.iter().copied())
    }
}
