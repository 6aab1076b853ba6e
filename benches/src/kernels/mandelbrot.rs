//! Mandelbrot: iterations until escape for 512 x 384 points, at most 256. The lanes diverge.
//!
//! There are two versions. One has separate multiplications and additions, as `__fmul_rn` and `__fadd_rn` give. The other has the
//! chip's `mad` (Tesla's truncates) or `fma`, into which nvcc contracts them by default.

use super::{Bench, Buffers, Guest, Native, Tolerance, Yardstick};
use crate::numeric::{Arithmetic, Fermi, Tesla, bytes_of};
use crate::simd::Simd;

const WIDTH: usize = 512;
const HEIGHT: usize = 384;
const LEFT: f32 = -2.25;
const TOP: f32 = -1.125;
const STEP: f32 = 0.005859375;
const MOST: u32 = 256;

/// The kernel, or the one with `mad`.
#[derive(Debug)]
pub struct Mandelbrot {
    /// Whose.
    pub guest: Guest,
    /// Contracted to `mad`.
    pub mad: bool,
}

impl Mandelbrot {
    fn point<A: Arithmetic>(&self, x: usize, y: usize) -> u32 {
        let (cx, cy) = if self.mad {
            (A::mad(x as f32, STEP, LEFT), A::mad(y as f32, STEP, TOP))
        } else {
            (A::add(A::mul(x as f32, STEP), LEFT), A::add(A::mul(y as f32, STEP), TOP))
        };
        let (mut zx, mut zy) = (0.0, 0.0);
        for count in 0..MOST {
            if self.mad {
                let square = A::mul(zy, zy);
                if A::mad(zx, zx, square) > 4.0 {
                    return count;
                }
                let real = A::add(A::mad(zx, zx, -square), cx);
                zy = A::mad(A::add(zx, zx), zy, cy);
                zx = real;
            } else {
                let (xx, yy) = (A::mul(zx, zx), A::mul(zy, zy));
                if A::add(xx, yy) > 4.0 {
                    return count;
                }
                let xy = A::mul(zx, zy);
                zy = A::add(A::add(xy, xy), cy);
                zx = A::add(A::add(xx, -yy), cx);
            }
        }
        MOST
    }
}

impl Bench for Mandelbrot {
    fn name(&self) -> &'static str {
        if self.mad { "mandelbrot_mad" } else { "mandelbrot" }
    }

    fn guest(&self) -> Guest {
        self.guest
    }

    fn inputs(&self) -> Buffers {
        Vec::new()
    }

    fn model(&self, _: &Buffers) -> Buffers {
        let points = (0..WIDTH * HEIGHT).map(|at| match self.guest {
            Guest::Tesla => self.point::<Tesla>(at % WIDTH, at / WIDTH),
            Guest::Fermi => self.point::<Fermi>(at % WIDTH, at / WIDTH),
        });
        vec![("out", bytes_of(points))]
    }

    fn native(&self, _: &Buffers) -> Box<dyn Native> {
        Box::new(NativeMandelbrot { fused: self.mad, out: vec![0; WIDTH * HEIGHT] })
    }

    fn native_tolerance(&self) -> Tolerance {
        if self.mad { Tolerance::Sum(0.01) } else { Tolerance::Exact }
    }

    fn slice(&self) -> (usize, usize) {
        (WIDTH * 4 * 100, WIDTH * 4)
    }
}

struct NativeMandelbrot {
    fused: bool,
    out: Vec<u32>,
}

impl NativeMandelbrot {
    #[inline(always)]
    fn rows<S: Simd, const U: usize>(&mut self, s: S) {
        if self.fused { self.points::<S, U, true>(s) } else { self.points::<S, U, false>(s) }
    }

    #[inline(always)]
    fn points<S: Simd, const U: usize, const FUSED: bool>(&mut self, s: S) {
        let ramp: [f32; 16] = std::array::from_fn(|lane| lane as f32);
        let (step, left, four) = (s.f(STEP), s.f(LEFT), s.f(4.0));
        for (y, row) in self.out.chunks_exact_mut(WIDTH).enumerate() {
            let cy = s.f(y as f32 * STEP + TOP);
            for (x, points) in row.chunks_exact_mut(S::LANES * U).enumerate() {
                let cx: [S::F; U] = std::array::from_fn(|u| {
                    let x = s.add(s.f((x * U * S::LANES + u * S::LANES) as f32), s.load(&ramp));
                    s.add(s.mul(x, step), left)
                });
                let mut zx = [s.f(0.0); U];
                let mut zy = [s.f(0.0); U];
                let mut count = [s.i(0); U];
                let mut live = [s.all(); U];
                for _ in 0..MOST {
                    let mut any = false;
                    for u in 0..U {
                        let (x, y) = (zx[u], zy[u]);
                        let yy = s.mul(y, y);
                        if FUSED {
                            live[u] = s.and_m(live[u], s.le(s.fma(x, x, yy), four));
                            zx[u] = s.add(s.sub(s.mul(x, x), yy), cx[u]);
                            zy[u] = s.fma(s.add(x, x), y, cy);
                        } else {
                            let xx = s.mul(x, x);
                            live[u] = s.and_m(live[u], s.le(s.add(xx, yy), four));
                            let xy = s.mul(x, y);
                            zx[u] = s.add(s.sub(xx, yy), cx[u]);
                            zy[u] = s.add(s.add(xy, xy), cy);
                        }
                        count[u] = s.count(count[u], live[u]);
                    }
                    for mask in live {
                        any |= s.any(mask);
                    }
                    if !any {
                        break;
                    }
                }
                for u in 0..U {
                    s.store_i(&mut points[u * S::LANES..], count[u]);
                }
            }
        }
    }
}

impl Yardstick for NativeMandelbrot {
    fn unrolls(&self) -> &'static [usize] {
        &[1, 2, 4]
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, unroll: usize) {
        match unroll {
            1 => self.rows::<S, 1>(s),
            2 => self.rows::<S, 2>(s),
            _ => self.rows::<S, 4>(s),
        }
    }

    fn output(&self) -> Vec<u8> {
        bytes_of(self.out.iter().copied())
    }
}
