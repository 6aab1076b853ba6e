//! Black-Scholes: prices of call and put options. Special functions: rcp, rsqrt, lg2, ex2.

use super::{Bench, Buffers, Guest, Native, Tolerance, Yardstick, fermi};
use crate::numeric::{Arithmetic, FermiFtz, Random, Tesla, bytes_of_floats, floats_of};
use crate::simd::Simd;

const OPTIONS: usize = 1 << 18;

pub(super) const RATE: f32 = 0.02;
pub(super) const VOLATILITY: f32 = 0.3;
pub(super) const LN_2: f32 = std::f32::consts::LN_2;
pub(super) const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// `RATE + VOLATILITY^2 / 2`.
pub(super) const DRIFT: f32 = 0.065;
/// Coefficients of the cumulative normal distribution (Abramowitz and Stegun 26.2.17).
pub(super) const NORMAL: [f32; 5] = [0.319_381_53, -0.356_563_78, 1.781_477_9, -1.821_256, 1.330_274_5];
pub(super) const NORMAL_K: f32 = 0.231_641_9;
/// `1 / sqrt(2 pi)`.
pub(super) const RSQRT_2PI: f32 = 0.398_942_3;

/// The kernel.
#[derive(Debug)]
pub struct BlackScholes {
    /// Whose.
    pub guest: Guest,
}

/// The distribution of $r{d} to $r{to}, by $r12 to $r14. $r15 = 1.
fn normal(d: u32, to: u32) -> String {
    let bits = |x: f32| format!("{:#x}", x.to_bits());
    let mut lines = vec![
        format!("cvt abs f32 $r12 f32 $r{d}"),
        "mov b32 $r13 $r15".into(),
        format!("add f32 $r13 (mul $r12 {}) $r13", bits(NORMAL_K)),
        "rcp f32 $r12 $r13".into(),
        format!("mov b32 $r13 {}", bits(NORMAL[3])),
        format!("add f32 $r13 (mul $r12 {}) $r13", bits(NORMAL[4])),
    ];
    for at in (0..3).rev() {
        let (from, into) = if at == 1 { (14, 13) } else { (13, 14) };
        lines.push(format!("mov b32 $r{into} {}", bits(NORMAL[at])));
        lines.push(format!("add f32 $r{into} (mul $r{from} $r12) $r{into}"));
    }
    lines.extend([
        "mul rn f32 $r12 $r14 $r12".into(),
        format!("mul rn f32 $r13 $r{d} $r{d}"),
        format!("mul f32 $r13 $r13 {}", bits(-0.5 * LOG2_E)),
        "preex2 f32 $r13 $r13".into(),
        "ex2 f32 $r13 $r13".into(),
        format!("mul f32 $r13 $r13 {}", bits(RSQRT_2PI)),
        format!("mul rn f32 $r{to} $r12 $r13"),
        format!("set $c0 # g f32 $r{d} $r124"),
        format!("(lg $c0) add rn f32 $r{to} $r15 neg $r{to}"),
    ]);
    lines.join("\n")
}

impl Bench for BlackScholes {
    fn name(&self) -> &'static str {
        "black_scholes"
    }

    fn guest(&self) -> Guest {
        self.guest
    }

    fn source(&self) -> Option<String> {
        if self.guest == Guest::Fermi {
            return Some(fermi::black_scholes());
        }
        let bits = |x: f32| format!("{:#x}", x.to_bits());
        Some(format!(
            "\
// Black-Scholes prices of European options, one a thread.
//   s[0x10] price  s[0x14] strike  s[0x18] years  s[0x1c] call  s[0x20] put

cvt u32 $r1 u16 $r0l
cvt u32 $r2 u16 u16 s[0xc]
cvt u32 $r3 u16 u16 s[0x2]
add $r0 (mul u16 $r2l $r3l) $r1
shl b32 $r0 $r0 0x2
add b32 $r1 b32 s[0x10] $r0
ld b32 $r4 g14[$r1]
add b32 $r1 b32 s[0x14] $r0
ld b32 $r5 g14[$r1]
add b32 $r1 b32 s[0x18] $r0
ld b32 $r6 g14[$r1]
mov b32 $r15 0x3f800000
// $r7 = volatility by the root of the time, $r8 = d1, $r9 = d2
rsqrt f32 $r7 $r6
rcp f32 $r7 $r7
mul f32 $r7 $r7 {volatility}
rcp f32 $r8 $r5
mul rn f32 $r8 $r4 $r8
lg2 f32 $r8 $r8
mul f32 $r9 $r6 {drift}
add f32 $r9 (mul $r8 {ln_2}) $r9
rcp f32 $r8 $r7
mul rn f32 $r8 $r9 $r8
add rn f32 $r9 $r8 neg $r7
// $r10 and $r11 = their distribution
{first}
{second}
// $r12 = discounted strike
mul f32 $r12 $r6 {rate}
preex2 f32 $r12 $r12
ex2 f32 $r12 $r12
mul rn f32 $r12 $r5 $r12
mul rn f32 $r13 $r12 $r11
add f32 $r13 (mul $r4 $r10) neg $r13
add b32 $r1 b32 s[0x1c] $r0
st b32 g14[$r1] $r13
add rn f32 $r10 $r15 neg $r10
add rn f32 $r11 $r15 neg $r11
mul rn f32 $r13 $r4 $r10
add f32 $r13 (mul $r12 $r11) neg $r13
add b32 $r1 b32 s[0x20] $r0
exit st b32 g14[$r1] $r13
",
            volatility = bits(VOLATILITY),
            drift = bits(DRIFT),
            ln_2 = bits(LN_2),
            rate = bits(-RATE * LOG2_E),
            first = normal(8, 10),
            second = normal(9, 11),
        ))
    }

    fn inputs(&self) -> Buffers {
        let mut random = Random::new(8);
        let mut next = |low, high| bytes_of_floats((0..OPTIONS).map(|_| random.float(low, high)));
        vec![("price", next(5.0, 30.0)), ("strike", next(1.0, 100.0)), ("years", next(0.25, 10.0))]
    }

    fn model(&self, inputs: &Buffers) -> Buffers {
        match self.guest {
            Guest::Tesla => prices::<Tesla>(inputs),
            Guest::Fermi => prices::<FermiFtz>(inputs),
        }
    }

    fn native(&self, inputs: &Buffers) -> Box<dyn Native> {
        let inputs = std::array::from_fn(|at| floats_of(&inputs[at].1));
        Box::new(NativePrices { inputs, call: vec![0.0; OPTIONS], put: vec![0.0; OPTIONS] })
    }

    fn native_tolerance(&self) -> Tolerance {
        Tolerance::Relative(1e-3)
    }
}

/// The guest's result.
fn prices<A: Arithmetic>(inputs: &Buffers) -> Buffers {
    let [price, strike, years] = [0, 1, 2].map(|at| floats_of(&inputs[at].1));
    let normal = |d: f32| {
        let k = A::rcp(A::mad(d.abs(), NORMAL_K, 1.0));
        let start = A::mad(k, NORMAL[4], NORMAL[3]);
        let sum = NORMAL[..3].iter().rev().fold(start, |sum, &coefficient| A::mad(sum, k, coefficient));
        let density = A::mul(A::ex2(A::mul(A::mul(d, d), -0.5 * LOG2_E)), RSQRT_2PI);
        let tail = A::mul(A::mul(sum, k), density);
        if d > 0.0 { A::add(1.0, -tail) } else { tail }
    };
    let prices = (0..OPTIONS).map(|at| {
        let (price, strike, years) = (price[at], strike[at], years[at]);
        let spread = A::mul(A::rcp(A::rsqrt(years)), VOLATILITY);
        let ratio = A::lg2(A::mul(price, A::rcp(strike)));
        let d1 = A::mul(A::mad(ratio, LN_2, A::mul(years, DRIFT)), A::rcp(spread));
        let d2 = A::add(d1, -spread);
        let (n1, n2) = (normal(d1), normal(d2));
        let discounted = A::mul(strike, A::ex2(A::mul(years, -RATE * LOG2_E)));
        let call = A::mad(price, n1, -A::mul(discounted, n2));
        let put = A::mad(discounted, A::add(1.0, -n2), -A::mul(price, A::add(1.0, -n1)));
        (call, put)
    });
    let (call, put): (Vec<f32>, Vec<f32>) = prices.unzip();
    vec![("call", bytes_of_floats(call)), ("put", bytes_of_floats(put))]
}

struct NativePrices {
    inputs: [Vec<f32>; 3],
    call: Vec<f32>,
    put: Vec<f32>,
}

/// Power of two, to about a unit in the last place: a polynomial on [-1/2, 1/2].
#[inline(always)]
fn exp2<S: Simd>(s: S, x: S::F) -> S::F {
    let x = s.select(s.le(x, s.f(-126.0)), s.f(-126.0), x);
    let whole = s.round_i(x);
    let rest = s.sub(x, s.to_f(whole));
    let coefficients = [1.535_336e-4, 1.339_887e-3, 9.618_437e-3, 5.550_332_5e-2, 0.240_226_48, LN_2, 1.0];
    let mut sum = s.f(coefficients[0]);
    for coefficient in &coefficients[1..] {
        sum = s.fma(sum, rest, s.f(*coefficient));
    }
    s.floats(s.add_i(s.bits(sum), s.shl::<23>(whole)))
}

/// Natural logarithm of normal numbers: a polynomial round 1 (Cephes).
#[inline(always)]
fn ln<S: Simd>(s: S, x: S::F) -> S::F {
    // Fraction from sqrt(1/2) to sqrt(2).
    let bits = s.sub_i(s.bits(x), s.i(0x3f35_04f3));
    let exponent = s.to_f(s.sra::<23>(bits));
    let fraction = s.floats(s.add_i(s.and_i(bits, s.i(0x007f_ffff)), s.i(0x3f35_04f3)));
    let rest = s.sub(fraction, s.f(1.0));
    let square = s.mul(rest, rest);
    let coefficients = [
        7.037_683_6e-2,
        -0.115_146_1,
        0.116_769_984,
        -0.124_201_41,
        0.142_493_23,
        -0.166_680_57,
        0.200_007_14,
        -0.249_999_94,
        0.333_333_3,
    ];
    let mut sum = s.f(coefficients[0]);
    for coefficient in &coefficients[1..] {
        sum = s.fma(sum, rest, s.f(*coefficient));
    }
    let sum = s.fma(s.mul(sum, rest), square, s.mul(square, s.f(-0.5)));
    s.fma(exponent, s.f(LN_2), s.add(rest, sum))
}

#[inline(always)]
fn distribution<S: Simd>(s: S, d: S::F) -> S::F {
    let one = s.f(1.0);
    let k = s.div(one, s.fma(s.abs(d), s.f(NORMAL_K), one));
    let mut sum = s.f(NORMAL[4]);
    for coefficient in NORMAL[..4].iter().rev() {
        sum = s.fma(sum, k, s.f(*coefficient));
    }
    let density = s.mul(exp2(s, s.mul(s.mul(d, d), s.f(-0.5 * LOG2_E))), s.f(RSQRT_2PI));
    let tail = s.mul(s.mul(sum, k), density);
    s.select(s.le(d, s.f(0.0)), tail, s.sub(one, tail))
}

impl NativePrices {
    #[inline(always)]
    fn prices<S: Simd, const U: usize>(&mut self, s: S) {
        let [price, strike, years] = &self.inputs;
        let one = s.f(1.0);
        for start in (0..OPTIONS).step_by(S::LANES * U) {
            for u in 0..U {
                let at = start + u * S::LANES;
                let (price, strike, years) =
                    (s.load(&price[at..]), s.load(&strike[at..]), s.load(&years[at..]));
                let spread = s.mul(s.sqrt(years), s.f(VOLATILITY));
                let ratio = ln(s, s.div(price, strike));
                let d1 = s.div(s.fma(years, s.f(DRIFT), ratio), spread);
                let d2 = s.sub(d1, spread);
                let (n1, n2) = (distribution(s, d1), distribution(s, d2));
                let discounted = s.mul(strike, exp2(s, s.mul(years, s.f(-RATE * LOG2_E))));
                let call = s.sub(s.mul(price, n1), s.mul(discounted, n2));
                let put = s.sub(s.mul(discounted, s.sub(one, n2)), s.mul(price, s.sub(one, n1)));
                s.store(&mut self.call[at..], call);
                s.store(&mut self.put[at..], put);
            }
        }
    }
}

impl Yardstick for NativePrices {
    fn unrolls(&self) -> &'static [usize] {
        &[1, 2]
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, unroll: usize) {
        match unroll {
            1 => self.prices::<S, 1>(s),
            _ => self.prices::<S, 2>(s),
        }
    }

    fn output(&self) -> Vec<u8> {
        bytes_of_floats(self.call.iter().copied())
    }
}
