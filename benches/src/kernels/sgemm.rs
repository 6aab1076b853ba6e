//! Sgemm: the product of two 512 x 512 matrices, with tiles of 16 x 16 in shared memory.

use std::fmt::Write;

use super::{Bench, Buffers, Guest, Native, Tolerance, Yardstick, fermi};
use crate::numeric::{Arithmetic, Fermi, Random, Tesla, bytes_of_floats, floats_of};
use crate::simd::Simd;

const N: usize = 512;

/// The kernel.
#[derive(Debug)]
pub struct Sgemm {
    /// Whose.
    pub guest: Guest,
}

const HEAD: &str = "\
// C = A B, matrices of n by n floats, n a multiple of 16: a block of 16 by 16 threads computes a tile.
//   s[0x10] A    s[0x14] B    s[0x18] C    s[0x1c] n
// Tiles in shared memory: A at s[0x40], B at s[0x440].

// $r1 = tid.x, $r2 = tid.y, $r3 = column, $r4 = row
and b32 $r1 $r0 0xffff
shr u32 $r2 $r0 0x10
and b32 $r2 $r2 0x3ff
cvt u32 $r3 u16 u16 s[0xc]
shl b32 $r3 $r3 0x4
add b32 $r3 $r3 $r1
cvt u32 $r4 u16 u16 s[0xe]
shl b32 $r4 $r4 0x4
add b32 $r4 $r4 $r2
// $r5 = address in A, $r6 in B, $r7 = 16 rows of B, $r9 = end of A's row
mov b32 $r7 b32 s[0x1c]
mul $r5 u16 $r4l u16 $r7l
add b32 $r5 $r5 $r1
shl b32 $r5 $r5 0x2
add b32 $r5 b32 s[0x10] $r5
mul $r6 u16 $r2l u16 $r7l
add b32 $r6 $r6 $r3
shl b32 $r6 $r6 0x2
add b32 $r6 b32 s[0x14] $r6
shl b32 $r8 $r7 0x2
add b32 $r9 $r5 $r8
shl b32 $r7 $r7 0x6
// $a1 = A's row in the tile, $a2 = B's column, $a3 = this thread's place
shl b32 $r10 $r2 0x6
add b32 $r11 $r10 0x40
shl $a1 $r11 0x0
shl $a2 $r1 0x2
shl b32 $r11 $r1 0x2
add b32 $r10 $r10 $r11
shl $a3 $r10 0x0
mov b32 $r8 0x0
loop:
ld b32 $r10 g14[$r5]
ld b32 $r11 g14[$r6]
st b32 s[$a3+0x40] $r10
st b32 s[$a3+0x440] $r11
bar inc wait 0x0 0xfff
";

const TAIL: &str = "\
bar inc wait 0x0 0xfff
add b32 $r5 $r5 0x40
add b32 $r6 $r6 $r7
set $c0 # l u32 $r5 $r9
(lg $c0) bra #loop
mov b32 $r5 b32 s[0x1c]
mul $r5 u16 $r4l u16 $r5l
add b32 $r5 $r5 $r3
shl b32 $r5 $r5 0x2
add b32 $r5 b32 s[0x18] $r5
exit st b32 g14[$r5] $r8
";

impl Bench for Sgemm {
    fn name(&self) -> &'static str {
        "sgemm"
    }

    fn guest(&self) -> Guest {
        self.guest
    }

    fn source(&self) -> Option<String> {
        if self.guest == Guest::Fermi {
            return Some(fermi::sgemm());
        }
        let mut text = HEAD.to_string();
        for k in 0..16 {
            let (register, a, b) = (10 + k % 4, k * 4, 0x440 + k * 64);
            let _ = writeln!(text, "ld $r{register} b32 s[$a2+{b:#x}]");
            let _ = writeln!(text, "add f32 $r8 (mul b32 s[$a1+{a:#x}] $r{register}) $r8");
        }
        text.push_str(TAIL);
        Some(text)
    }

    fn inputs(&self) -> Buffers {
        let mut random = Random::new(3);
        let mut next = || bytes_of_floats((0..N * N).map(|_| random.float(-1.0, 1.0)));
        vec![("a", next()), ("b", next())]
    }

    fn model(&self, inputs: &Buffers) -> Buffers {
        match self.guest {
            Guest::Tesla => product::<Tesla>(inputs),
            Guest::Fermi => product::<Fermi>(inputs),
        }
    }

    fn native(&self, inputs: &Buffers) -> Box<dyn Native> {
        let (a, b) = (floats_of(&inputs[0].1), floats_of(&inputs[1].1));
        Box::new(NativeSgemm { a, b, c: vec![0.0; N * N], panel: vec![0.0; N * 64] })
    }

    fn native_tolerance(&self) -> Tolerance {
        Tolerance::Relative(2e-4)
    }
}

/// The guest's result.
fn product<A: Arithmetic>(inputs: &Buffers) -> Buffers {
    let (a, b) = (floats_of(&inputs[0].1), floats_of(&inputs[1].1));
    let mut c = vec![0.0; N * N];
    for (row, a) in c.chunks_exact_mut(N).zip(a.chunks_exact(N)) {
        for (&a, b) in a.iter().zip(b.chunks_exact(N)) {
            for (c, &b) in row.iter_mut().zip(b) {
                *c = A::mad(a, b, *c);
            }
        }
    }
    vec![("c", bytes_of_floats(c))]
}

/// Panels of B, two vectors wide and packed, stay in the first-level cache; a few rows of A by one panel are kept in
/// registers.
struct NativeSgemm {
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    panel: Vec<f32>,
}

impl NativeSgemm {
    #[inline(always)]
    fn product<S: Simd, const ROWS: usize, const VECTORS: usize>(&mut self, s: S) {
        let width = S::LANES * VECTORS;
        for column in (0..N).step_by(width) {
            let panel = &mut self.panel[..N * width];
            for (to, from) in panel.chunks_exact_mut(width).zip(self.b.chunks_exact(N)) {
                to.copy_from_slice(&from[column..column + width]);
            }
            let rows = self.a.chunks_exact(N * ROWS).zip(self.c.chunks_exact_mut(N * ROWS));
            for (a, c) in rows {
                let a: [&[f32]; ROWS] = std::array::from_fn(|row| &a[row * N..row * N + N]);
                let mut sums = [[s.f(0.0); VECTORS]; ROWS];
                for (k, b) in panel.chunks_exact(width).enumerate() {
                    let b: [S::F; VECTORS] = std::array::from_fn(|v| s.load(&b[v * S::LANES..]));
                    for row in 0..ROWS {
                        let a = s.f(a[row][k]);
                        for v in 0..VECTORS {
                            sums[row][v] = s.fma(a, b[v], sums[row][v]);
                        }
                    }
                }
                for row in 0..ROWS {
                    for v in 0..VECTORS {
                        s.store(&mut c[row * N + column + v * S::LANES..], sums[row][v]);
                    }
                }
            }
        }
    }
}

impl Yardstick for NativeSgemm {
    fn unrolls(&self) -> &'static [usize] {
        &[4, 8]
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, unroll: usize) {
        match unroll {
            4 => self.product::<S, 4, 2>(s),
            _ => self.product::<S, 8, 2>(s),
        }
    }

    fn output(&self) -> Vec<u8> {
        bytes_of_floats(self.c.iter().copied())
    }
}
