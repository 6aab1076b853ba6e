//! Black-Scholes: prices of call and put options. Uses the special functions rcp, rsqrt, lg2 and ex2.

use super::{Bench, Buffers, Guest, Native, Tolerance, Yardstick};
use crate::numeric::{Arithmetic, FermiFtz, Random, Tesla, bytes_of_floats, floats_of};
use crate::simd::Simd;

const OPTIONS: usize = 1 << 18;

const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.3;
const LN_2: f32 = std::f32::consts::LN_2;
const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// `RATE + VOLATILITY^2 / 2`.
const DRIFT: f32 = 0.065;
/// Coefficients of the cumulative normal distribution (Abramowitz and Stegun 26.2.17).
const NORMAL: [f32; 5] = [0.319_381_53, -0.356_563_78, 1.781_477_9, -1.821_256, 1.330_274_5];
const NORMAL_K: f32 = 0.231_641_9;
/// `1 / sqrt(2 pi)`.
const RSQRT_2PI: f32 = 0.398_942_3;

/// The kernel.
#[derive(Debug)]
pub struct BlackScholes {
    /// Whose.
    pub guest: Guest,
}

/// What a guest's assembly has of its own.
struct Dialect {
    /// Ends with $r0 = what a place of an array is made of.
    head: &'static str,
    /// $r1 = address of the thread's place in the array whose address is a parameter, by the parameter's number.
    place: fn(u32) -> String,
    load: [&'static str; 2],
    store: [&'static str; 2],
    /// What flushes denormals, where not all operations do.
    ftz: &'static str,
    /// $r12 = magnitude.
    magnitude: fn(u32) -> String,
    /// Where 1 is from the start, and the line that puts it there.
    one: &'static str,
    set_one: &'static str,
    /// `$r{into} = $r{a} * b + c`, named `rn` or not.
    mad: fn(u32, u32, &str, &str, &str) -> String,
    /// `1 - $r{of}`, there, if a predicate says so.
    one_minus: fn(&str, u32) -> String,
    /// Whether a register is above 0, and the predicate that says it.
    positive: [&'static str; 3],
    /// Whether the last store can end the thread.
    exit_at_store: bool,
}

const TESLA: Dialect = Dialect {
    head: "\
// Black-Scholes prices of European options, one a thread.
//   s[0x10] price  s[0x14] strike  s[0x18] years  s[0x1c] call  s[0x20] put

cvt u32 $r1 u16 $r0l
cvt u32 $r2 u16 u16 s[0xc]
cvt u32 $r3 u16 u16 s[0x2]
add $r0 (mul u16 $r2l $r3l) $r1
shl b32 $r0 $r0 0x2
",
    place: |number| format!("add b32 $r1 b32 s[{:#x}] $r0", 0x10 + 4 * number),
    load: ["ld b32", "g14"],
    store: ["st b32", "g14"],
    ftz: "",
    magnitude: |of| format!("cvt abs f32 $r12 f32 $r{of}"),
    one: "$r15",
    set_one: "mov b32 $r15 0x3f800000\n",
    mad: |into, a, b, c, _| format!("add f32 $r{into} (mul $r{a} {b}) {c}"),
    one_minus: |guard, of| format!("{guard}add rn f32 $r{of} $r15 neg $r{of}"),
    positive: ["set $c0 # g f32", "$r124", "(lg $c0) "],
    exit_at_store: true,
};

/// As with `-use_fast_math`.
const FERMI: Dialect = Dialect {
    head: "\
// Black-Scholes prices of European options, one a thread.
//   c0[0x20] price  c0[0x24] strike  c0[0x28] years  c0[0x2c] call  c0[0x30] put

mov b32 $r0 $ctaidx
mov b32 $r1 $tidx
add $r0 (mul u32 $r0 u32 c0[0x8]) $r1
",
    place: |number| format!("add b32 $r1 (shl $r0 0x2) c0[{:#x}]", 0x20 + 4 * number),
    load: ["ld b32", "ca g"],
    store: ["st b32 wb", "g"],
    ftz: "ftz ",
    magnitude: |of| format!("cvt ftz f32 $r12 abs f32 $r{of}"),
    one: "0x3f800000",
    set_one: "",
    mad: |into, a, b, c, rn| format!("fma ftz {rn}f32 $r{into} $r{a} {b} {c}"),
    one_minus: |guard, of| format!("{guard}add ftz rn f32 $r{of} neg $r{of} 0x3f800000"),
    positive: ["set ftz $p0 0x1 gt f32", "0x0", "$p0 "],
    exit_at_store: false,
};

/// How the assemblies write a float.
fn bits(x: f32) -> String {
    format!("{:#x}", x.to_bits())
}

impl Dialect {
    /// The distribution of $r{d} to $r{to}, by $r12 to $r14.
    fn normal(&self, d: u32, to: u32) -> String {
        let Dialect { ftz, one, mad, positive: [above, zero, guard], .. } = self;
        let mut lines = vec![
            (self.magnitude)(d),
            format!("mov b32 $r13 {one}"),
            mad(13, 12, &bits(NORMAL_K), "$r13", ""),
            "rcp f32 $r12 $r13".into(),
            format!("mov b32 $r13 {}", bits(NORMAL[3])),
            mad(13, 12, &bits(NORMAL[4]), "$r13", ""),
        ];
        for at in (0..3).rev() {
            let (from, into) = if at == 1 { (14, 13) } else { (13, 14) };
            lines.push(format!("mov b32 $r{into} {}", bits(NORMAL[at])));
            lines.push(mad(into, from, "$r12", &format!("$r{into}"), "rn "));
        }
        lines.extend([
            format!("mul {ftz}rn f32 $r12 $r14 $r12"),
            format!("mul {ftz}rn f32 $r13 $r{d} $r{d}"),
            format!("mul {ftz}f32 $r13 $r13 {}", bits(-0.5 * LOG2_E)),
            "preex2 f32 $r13 $r13".into(),
            "ex2 f32 $r13 $r13".into(),
            format!("mul {ftz}f32 $r13 $r13 {}", bits(RSQRT_2PI)),
            format!("mul {ftz}rn f32 $r{to} $r12 $r13"),
            format!("{above} $r{d} {zero}"),
            (self.one_minus)(guard, to),
        ]);
        lines.join("\n")
    }

    fn load(&self, number: u32, to: u32) -> String {
        format!("{}\n{} $r{to} {}[$r1]", (self.place)(number), self.load[0], self.load[1])
    }

    fn store(&self, number: u32, exit: &str) -> String {
        format!("{}\n{exit}{} {}[$r1] $r13", (self.place)(number), self.store[0], self.store[1])
    }

    fn source(&self) -> String {
        let Dialect { head, ftz, set_one, mad, one_minus, .. } = self;
        let (exit_before, exit_behind) = if self.exit_at_store { ("exit ", "") } else { ("", "exit\n") };
        format!(
            "\
{head}{price}
{strike}
{years}
{set_one}// $r7 = volatility by the root of the time, $r8 = d1, $r9 = d2
rsqrt f32 $r7 $r6
rcp f32 $r7 $r7
mul {ftz}f32 $r7 $r7 {volatility}
rcp f32 $r8 $r5
mul {ftz}rn f32 $r8 $r4 $r8
lg2 f32 $r8 $r8
mul {ftz}f32 $r9 $r6 {drift}
{sum}
rcp f32 $r8 $r7
mul {ftz}rn f32 $r8 $r9 $r8
add {ftz}rn f32 $r9 $r8 neg $r7
// $r10 and $r11 = their distribution
{first}
{second}
// $r12 = discounted strike
mul {ftz}f32 $r12 $r6 {rate}
preex2 f32 $r12 $r12
ex2 f32 $r12 $r12
mul {ftz}rn f32 $r12 $r5 $r12
mul {ftz}rn f32 $r13 $r12 $r11
{call}
{store_call}
{rest_10}
{rest_11}
mul {ftz}rn f32 $r13 $r4 $r10
{put}
{store_put}
{exit_behind}",
            price = self.load(0, 4),
            strike = self.load(1, 5),
            years = self.load(2, 6),
            volatility = bits(VOLATILITY),
            drift = bits(DRIFT),
            sum = mad(9, 8, &bits(LN_2), "$r9", ""),
            first = self.normal(8, 10),
            second = self.normal(9, 11),
            rate = bits(-RATE * LOG2_E),
            call = mad(13, 4, "$r10", "neg $r13", "rn "),
            store_call = self.store(3, ""),
            rest_10 = one_minus("", 10),
            rest_11 = one_minus("", 11),
            put = mad(13, 12, "$r11", "neg $r13", "rn "),
            store_put = self.store(4, exit_before),
        )
    }
}

impl Bench for BlackScholes {
    fn name(&self) -> &'static str {
        "black_scholes"
    }

    fn guest(&self) -> Guest {
        self.guest
    }

    fn source(&self) -> Option<String> {
        Some(match self.guest {
            Guest::Tesla => TESLA.source(),
            Guest::Fermi => FERMI.source(),
        })
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
