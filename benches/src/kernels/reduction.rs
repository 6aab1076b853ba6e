//! Reduction: sums blocks of 512 floats by a tree in shared memory. Down to one warp it has barriers; the last warp relies on
//! lock step instead.

use super::{Bench, Buffers, Guest, Native, Yardstick};
use crate::numeric::{Arithmetic, Fermi, Random, Tesla, bytes_of_floats, floats_of};
use crate::simd::Simd;

const BLOCKS: usize = 2048;

/// The kernel.
#[derive(Debug)]
pub struct Reduction {
    /// Whose.
    pub guest: Guest,
}

impl Bench for Reduction {
    fn name(&self) -> &'static str {
        "reduction"
    }

    fn guest(&self) -> Guest {
        self.guest
    }

    fn inputs(&self) -> Buffers {
        let mut random = Random::new(4);
        vec![("x", bytes_of_floats((0..BLOCKS * 512).map(|_| random.float(0.0, 1.0))))]
    }

    fn model(&self, inputs: &Buffers) -> Buffers {
        let x = floats_of(&inputs[0].1);
        let add = match self.guest {
            Guest::Tesla => Tesla::add,
            Guest::Fermi => Fermi::add,
        };
        let sums = x.chunks_exact(512).map(|x| {
            let mut x = x.to_vec();
            while x.len() > 1 {
                let half = x.len() / 2;
                x = (0..half).map(|at| add(x[at], x[at + half])).collect();
            }
            x[0]
        });
        vec![("sums", bytes_of_floats(sums))]
    }

    fn native(&self, inputs: &Buffers) -> Box<dyn Native> {
        Box::new(NativeReduction { x: floats_of(&inputs[0].1), sums: vec![0.0; BLOCKS] })
    }
}

struct NativeReduction {
    x: Vec<f32>,
    sums: Vec<f32>,
}

impl NativeReduction {
    /// The tree by level, in registers as soon as `U` vectors hold one.
    #[inline(always)]
    fn tree<S: Simd, const U: usize>(&mut self, s: S) {
        for (x, sum) in self.x.chunks_exact(512).zip(&mut self.sums) {
            let mut level = [0.0; 256];
            for at in (0..256).step_by(S::LANES) {
                s.store(&mut level[at..], s.add(s.load(&x[at..]), s.load(&x[at + 256..])));
            }
            let mut half = 128;
            while half > S::LANES * U {
                for at in (0..half).step_by(S::LANES) {
                    let sum = s.add(s.load(&level[at..]), s.load(&level[at + half..]));
                    s.store(&mut level[at..], sum);
                }
                half /= 2;
            }
            let mut vectors: [S::F; U] = std::array::from_fn(|u| {
                let at = u * S::LANES;
                s.add(s.load(&level[at..]), s.load(&level[at + S::LANES * U..]))
            });
            let mut count = U;
            while count > 1 {
                count /= 2;
                for at in 0..count {
                    vectors[at] = s.add(vectors[at], vectors[at + count]);
                }
            }
            let mut last = [0.0; 16];
            s.store(&mut last, vectors[0]);
            let mut half = S::LANES / 2;
            while half > 0 {
                for at in 0..half {
                    last[at] += last[at + half];
                }
                half /= 2;
            }
            *sum = last[0];
        }
    }
}

impl Yardstick for NativeReduction {
    fn unrolls(&self) -> &'static [usize] {
        &[1, 2, 4]
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, unroll: usize) {
        match unroll {
            1 => self.tree::<S, 1>(s),
            2 => self.tree::<S, 2>(s),
            _ => self.tree::<S, 4>(s),
        }
    }

    fn output(&self) -> Vec<u8> {
        bytes_of_floats(self.sums.iter().copied())
    }
}
