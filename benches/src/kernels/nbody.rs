//! N-body: gravity between all pairs of 2048 bodies, with tiles of 256 bodies in shared memory.

use std::fmt::Write;

use super::{Bench, Buffers, Guest, Native, Tolerance, Yardstick, fermi};
use crate::numeric::{Arithmetic, FermiFtz, Random, Tesla, bytes_of_floats, floats_of};
use crate::simd::Simd;

const BODIES: usize = 2048;
/// Softening, squared.
const SOFT: f32 = 0.01;

/// The kernel.
#[derive(Debug)]
pub struct Nbody {
    /// Whose.
    pub guest: Guest,
}

const HEAD: &str = "\
// Accelerations of n bodies; n is a multiple of the block's 256 threads.
//   s[0x10] bodies (x y z mass)    s[0x14] accelerations    s[0x18] n    s[0x1c] softening squared
// A tile of 256 bodies is at s[0x40].

cvt u32 $r1 u16 $r0l
cvt u32 $r2 u16 u16 s[0xc]
cvt u32 $r3 u16 u16 s[0x2]
add $r0 (mul u16 $r2l $r3l) $r1
shl b32 $r0 $r0 0x4
// $r4 to $r6 = position, $r8 to $r10 = acceleration, $r12 = softening
add b32 $r2 b32 s[0x10] $r0
ld b128 $r4q g14[$r2]
mov b32 $r8 0x0
mov b32 $r9 0x0
mov b32 $r10 0x0
mov b32 $r11 0x0
mov b32 $r12 b32 s[0x1c]
// $r1 = address of this thread's body of the tile, $r2 = end; $a2 = its place in shared memory
shl b32 $r3 $r1 0x4
shl $a2 $r3 0x0
add b32 $r1 b32 s[0x10] $r3
mov b32 $r2 b32 s[0x18]
shl b32 $r2 $r2 0x4
add b32 $r2 $r2 $r1
tile:
ld b128 $r16q g14[$r1]
st b32 s[$a2+0x40] $r16
st b32 s[$a2+0x44] $r17
st b32 s[$a2+0x48] $r18
st b32 s[$a2+0x4c] $r19
bar inc wait 0x0 0xfff
mov b32 $r3 0x0
mov b32 $r13 0x1000
body:
shl $a1 $r3 0x0
";

const TAIL: &str = "\
add b32 $r3 $r3 0x40
set $c0 # l u32 $r3 $r13
(lg $c0) bra #body
bar inc wait 0x0 0xfff
add b32 $r1 $r1 0x1000
set $c0 # l u32 $r1 $r2
(lg $c0) bra #tile
add b32 $r0 b32 s[0x14] $r0
exit st b128 g14[$r0] $r8q
";

impl Bench for Nbody {
    fn name(&self) -> &'static str {
        "nbody"
    }

    fn guest(&self) -> Guest {
        self.guest
    }

    fn source(&self) -> Option<String> {
        if self.guest == Guest::Fermi {
            return Some(fermi::nbody());
        }
        let mut text = HEAD.to_string();
        for body in 0..4 {
            let at = 0x40 + body * 16;
            let _ = writeln!(text, "add rn f32 $r16 b32 s[$a1+{at:#x}] neg $r4");
            let _ = writeln!(text, "add rn f32 $r17 b32 s[$a1+{:#x}] neg $r5", at + 4);
            let _ = writeln!(text, "add rn f32 $r18 b32 s[$a1+{:#x}] neg $r6", at + 8);
            text.push_str("add f32 $r19 (mul $r16 $r16) $r12\n");
            text.push_str("add f32 $r19 (mul $r17 $r17) $r19\n");
            text.push_str("add f32 $r19 (mul $r18 $r18) $r19\n");
            text.push_str("rsqrt f32 $r19 $r19\n");
            text.push_str("mul rn f32 $r20 $r19 $r19\n");
            text.push_str("mul rn f32 $r19 $r20 $r19\n");
            let _ = writeln!(text, "mul rn f32 $r19 b32 s[$a1+{:#x}] $r19", at + 12);
            text.push_str("add f32 $r8 (mul $r16 $r19) $r8\n");
            text.push_str("add f32 $r9 (mul $r17 $r19) $r9\n");
            text.push_str("add f32 $r10 (mul $r18 $r19) $r10\n");
        }
        text.push_str(TAIL);
        Some(text)
    }

    fn inputs(&self) -> Buffers {
        let mut random = Random::new(7);
        let bodies = (0..BODIES * 4)
            .map(|at| if at % 4 == 3 { random.float(0.1, 1.0) } else { random.float(-1.0, 1.0) });
        vec![("bodies", bytes_of_floats(bodies))]
    }

    fn model(&self, inputs: &Buffers) -> Buffers {
        match self.guest {
            Guest::Tesla => accelerations::<Tesla>(inputs),
            Guest::Fermi => accelerations::<FermiFtz>(inputs),
        }
    }

    fn native(&self, inputs: &Buffers) -> Box<dyn Native> {
        let bodies = floats_of(&inputs[0].1);
        let parts = std::array::from_fn(|part| bodies.iter().copied().skip(part).step_by(4).collect());
        Box::new(NativeNbody { bodies: parts, sums: std::array::from_fn(|_| vec![0.0; BODIES]) })
    }

    fn native_tolerance(&self) -> Tolerance {
        Tolerance::Relative(1e-3)
    }
}

/// The guest's result.
fn accelerations<A: Arithmetic>(inputs: &Buffers) -> Buffers {
    let bodies = floats_of(&inputs[0].1);
    let accelerations = bodies.chunks_exact(4).flat_map(|body| {
        let mut sum = [0.0; 4];
        for other in bodies.chunks_exact(4) {
            let way: [f32; 3] = std::array::from_fn(|axis| A::add(other[axis], -body[axis]));
            let square = way.iter().fold(SOFT, |sum, &x| A::mad(x, x, sum));
            let inverse = A::rsqrt(square);
            let force = A::mul(other[3], A::mul(A::mul(inverse, inverse), inverse));
            for axis in 0..3 {
                sum[axis] = A::mad(way[axis], force, sum[axis]);
            }
        }
        sum
    });
    vec![("accelerations", bytes_of_floats(accelerations))]
}

/// A body a lane, all others one by one.
struct NativeNbody {
    bodies: [Vec<f32>; 4],
    sums: [Vec<f32>; 3],
}

impl NativeNbody {
    #[inline(always)]
    fn forces<S: Simd, const U: usize>(&mut self, s: S) {
        let [x, y, z, mass] = &self.bodies;
        let (soft, half, three) = (s.f(SOFT), s.f(-0.5), s.f(-3.0));
        for at in (0..BODIES).step_by(S::LANES * U) {
            let place: [[S::F; 3]; U] =
                std::array::from_fn(|u| [x, y, z].map(|axis| s.load(&axis[at + u * S::LANES..])));
            let mut sums = [[s.f(0.0); 3]; U];
            for (((&x, &y), &z), &mass) in x.iter().zip(y).zip(z).zip(mass) {
                let other = [s.f(x), s.f(y), s.f(z)];
                let mass = s.f(mass);
                for u in 0..U {
                    let way: [S::F; 3] = std::array::from_fn(|axis| s.sub(other[axis], place[u][axis]));
                    let square = way.iter().fold(soft, |sum, &x| s.fma(x, x, sum));
                    // An estimate and a step of Newton's: what -ffast-math makes of 1 / sqrtf(x).
                    let estimate = s.rsqrt_estimate(square);
                    let step = s.fma(s.mul(square, estimate), estimate, three);
                    let inverse = s.mul(s.mul(estimate, half), step);
                    let force = s.mul(mass, s.mul(s.mul(inverse, inverse), inverse));
                    for axis in 0..3 {
                        sums[u][axis] = s.fma(way[axis], force, sums[u][axis]);
                    }
                }
            }
            for u in 0..U {
                for axis in 0..3 {
                    s.store(&mut self.sums[axis][at + u * S::LANES..], sums[u][axis]);
                }
            }
        }
    }
}

impl Yardstick for NativeNbody {
    fn unrolls(&self) -> &'static [usize] {
        &[1, 2]
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, unroll: usize) {
        match unroll {
            1 => self.forces::<S, 1>(s),
            _ => self.forces::<S, 2>(s),
        }
    }

    fn output(&self) -> Vec<u8> {
        let [x, y, z] = &self.sums;
        bytes_of_floats((0..BODIES).flat_map(|at| [x[at], y[at], z[at], 0.0]))
    }
}
