//! Tests minimum, maximum, median and clamp of each instruction set: NaNs of both kinds, zeros, denormals and other numbers, in
//! all modes. The interpreter and compiled code with all settings are compared with a model written here.

use warpjit_frontend::gcn::{self, Generation};
use warpjit_frontend::{fermi, tesla};
use warpjit_runtime::{
    Access, Arg, Config, Engine, HostLevel, Isa, Launch, Memory, Program, ProgramOptions, Tier,
};

/// A float format.
#[derive(Clone, Copy)]
struct Format {
    bits: u32,
    fraction: u32,
    /// Of GCN's MODE: where its denormal field is.
    field: u32,
}

const HALF: Format = Format { bits: 16, fraction: 10, field: 6 };
const SINGLE: Format = Format { bits: 32, fraction: 23, field: 4 };
const DOUBLE: Format = Format { bits: 64, fraction: 52, field: 6 };

impl Format {
    fn sign(self) -> u64 {
        1 << (self.bits - 1)
    }

    fn infinity(self) -> u64 {
        (self.sign() - 1) >> self.fraction << self.fraction
    }

    fn quiet(self) -> u64 {
        1 << (self.fraction - 1)
    }

    /// The positive quiet NaN.
    fn nan(self) -> u64 {
        self.infinity() | self.quiet()
    }

    fn one(self) -> u64 {
        self.infinity() >> (self.fraction + 1) << self.fraction
    }

    fn is_nan(self, x: u64) -> bool {
        x & !self.sign() > self.infinity()
    }

    fn signals(self, x: u64) -> bool {
        self.is_nan(x) && x & self.quiet() == 0
    }

    fn flush(self, x: u64) -> u64 {
        if x & self.infinity() == 0 { x & self.sign() } else { x }
    }

    /// A number's place among numbers, -0 before +0.
    fn order(self, x: u64) -> i128 {
        let magnitude = i128::from(x & !self.sign());
        if x & self.sign() != 0 { -1 - magnitude } else { magnitude }
    }

    /// The lesser or greater of two; the number, where there is one only.
    fn extreme(self, a: u64, b: u64, greater: bool) -> u64 {
        match (self.is_nan(a), self.is_nan(b)) {
            (true, _) => b,
            (_, true) => a,
            _ if greater == (self.order(a) > self.order(b)) => a,
            _ => b,
        }
    }

    /// Zeros, ones, borders, NaNs of both kinds and signs, and a few others.
    fn edges(self) -> Vec<u64> {
        let unit = 1 << self.fraction;
        let (one, infinity) = (self.one(), self.infinity());
        let mut all = vec![0, 1, unit - 1, unit, one - 1, one, one + unit / 2, infinity - 1, infinity];
        all.extend([infinity | 1, infinity | (self.quiet() - 1), self.nan(), self.nan() | 5]);
        all.extend(all.clone().iter().map(|bits| bits | self.sign()));
        all
    }

    /// All pairs of edges, and a third one.
    fn triples(self) -> Vec<[u64; 3]> {
        let edges = self.edges();
        let mut all = Vec::new();
        for (n, &a) in edges.iter().enumerate() {
            for (m, &b) in edges.iter().enumerate() {
                all.push([a, b, edges[(n * 7 + m * 3) % edges.len()]]);
            }
        }
        let mut state = 1u64;
        all.resize_with(all.len().next_multiple_of(64) + 128, || {
            [(); 3].map(|()| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                state.rotate_left(29) & ((self.sign() - 1) | self.sign())
            })
        });
        all
    }
}

/// GCN's rules in a mode.
#[derive(Clone, Copy)]
struct Rules {
    format: Format,
    mode: u32,
    /// Minimum and maximum obey MODE's denormals.
    follows: bool,
}

impl Rules {
    fn takes(self, x: u64) -> u64 {
        if self.follows { self.input(x) } else { x }
    }

    fn input(self, x: u64) -> u64 {
        if self.mode >> self.format.field & 1 == 0 { self.format.flush(x) } else { x }
    }

    fn output(self, x: u64) -> u64 {
        if self.mode >> self.format.field & 2 == 0 { self.format.flush(x) } else { x }
    }

    fn canonical(self, x: u64) -> u64 {
        if self.format.is_nan(x) { self.format.nan() } else { x }
    }

    /// Minimum or maximum.
    fn of_two(self, a: u64, b: u64, greater: bool) -> u64 {
        let (a, b) = (self.takes(a), self.takes(b));
        if self.mode & 0x200 != 0 && (self.format.signals(a) || self.format.signals(b)) {
            return self.format.nan();
        }
        let value = self.format.extreme(a, b, greater);
        self.canonical(if self.follows { self.output(value) } else { value })
    }

    fn min(self, a: u64, b: u64) -> u64 {
        self.of_two(a, b, false)
    }

    fn max(self, a: u64, b: u64) -> u64 {
        self.of_two(a, b, true)
    }

    fn median(self, a: u64, b: u64, c: u64) -> u64 {
        if [a, b, c].iter().any(|&x| self.format.is_nan(x)) {
            return self.min(self.min(a, b), c);
        }
        let mut all = [a, b, c].map(|x| self.takes(x));
        all.sort_by_key(|&x| self.format.order(x));
        if self.follows { self.output(all[1]) } else { all[1] }
    }

    /// Behind an f32 or f64 result.
    fn clamp(self, x: u64) -> u64 {
        if self.format.is_nan(x) {
            return if self.mode & 0x100 != 0 { 0 } else { self.format.nan() };
        }
        let (zero, one) = (0, self.format.one());
        if self.format.order(x) <= 0 { zero } else { self.format.extreme(x, one, false) }
    }

    /// A product with one.
    fn times_one(self, x: u64) -> u64 {
        self.canonical(self.output(self.input(x)))
    }

    fn negated(self, x: u64) -> u64 {
        x ^ self.format.sign()
    }
}

/// Lines of a program, with `D` for the destination, and what it is then.
type Line = (&'static str, fn(Rules, [u64; 3]) -> u64);

const SINGLES: &[Line] = &[
    ("v_min_f32 D, v0, v1", |r, [a, b, _]| r.min(a, b)),
    ("v_max_f32 D, v0, v1", |r, [a, b, _]| r.max(a, b)),
    ("v_max_f32 D, v0, v0", |r, [a, ..]| r.max(a, a)),
    ("v_min_f32 D, 0, v0", |r, [a, ..]| r.min(0, a)),
    ("v_max_f32 D, 0, v0", |r, [a, ..]| r.max(0, a)),
    ("v_min_f32 D, 1.0, v0", |r, [a, ..]| r.min(r.format.one(), a)),
    ("v_max_f32 D, -1.0, v0", |r, [a, ..]| r.max(r.negated(r.format.one()), a)),
    ("v_max_f32 D, 0x80000000, v0", |r, [a, ..]| r.max(0x8000_0000, a)),
    ("v_min_f32 D, 0x7f800001, v0", |r, [a, ..]| r.min(0x7f80_0001, a)),
    ("v_max_f32 D, 0x7fc00000, v0", |r, [a, ..]| r.max(0x7fc0_0000, a)),
    ("v_min_f32 D, -v0, |v1|", |r, [a, b, _]| r.min(r.negated(a), b & !r.format.sign())),
    ("v_max_f32 D, -|v0|, |v1|", |r, [a, b, _]| r.max(a | r.format.sign(), b & !r.format.sign())),
    ("v_min3_f32 D, v0, v1, v2", |r, [a, b, c]| r.min(r.min(a, b), c)),
    ("v_max3_f32 D, v0, v1, v2", |r, [a, b, c]| r.max(r.max(a, b), c)),
    ("v_med3_f32 D, v0, v1, v2", |r, [a, b, c]| r.median(a, b, c)),
    ("v_med3_f32 D, v0, 0, 1.0", |r, [a, ..]| r.median(a, 0, r.format.one())),
    ("v_med3_f32 D, 1.0, v0, 0", |r, [a, ..]| r.median(r.format.one(), a, 0)),
    ("v_med3_f32 D, 2.0, -1.0, v0", |r, [a, ..]| r.median(0x4000_0000, 0xbf80_0000, a)),
    ("v_min_f32 D, v0, v1 clamp", |r, [a, b, _]| r.clamp(r.output(r.min(a, b)))),
    ("v_max_f32 D, v0, v1 clamp", |r, [a, b, _]| r.clamp(r.output(r.max(a, b)))),
    ("v_mul_f32 D, 1.0, v0 clamp", |r, [a, ..]| r.clamp(r.times_one(a))),
    ("v_max_f32 v6, 0, v0\nv_min_f32 D, 1.0, v6", |r, [a, ..]| r.min(r.format.one(), r.max(0, a))),
    ("v_max_f32 v6, v0, v0\nv_max_f32 v7, v1, v1\nv_min_f32 D, v6, v7", |r, [a, b, _]| {
        r.min(r.max(a, a), r.max(b, b))
    }),
    ("v_mul_f32 v6, 1.0, v0\nv_mul_f32 v7, 1.0, v1\nv_min_f32 D, v6, v7", |r, [a, b, _]| {
        r.min(r.times_one(a), r.times_one(b))
    }),
    ("v_max_f32 D, v6, v7", |r, [a, b, _]| r.max(r.times_one(a), r.times_one(b))),
    ("v_med3_f32 D, v6, v7, v0", |r, [a, b, _]| r.median(r.times_one(a), r.times_one(b), a)),
    ("v_med3_f32 D, v6, -1.0, 1.0", |r, [a, ..]| {
        r.median(r.times_one(a), r.negated(r.format.one()), r.format.one())
    }),
];

const DOUBLES: &[Line] = &[
    ("v_min_f64 D, v[0:1], v[2:3]", |r, [a, b, _]| r.min(a, b)),
    ("v_max_f64 D, v[0:1], v[2:3]", |r, [a, b, _]| r.max(a, b)),
    ("v_max_f64 D, v[0:1], v[0:1]", |r, [a, ..]| r.max(a, a)),
    ("v_min_f64 D, v[0:1], 1.0", |r, [a, ..]| r.min(a, r.format.one())),
    ("v_max_f64 D, 0, v[0:1]", |r, [a, ..]| r.max(0, a)),
    ("v_min_f64 D, -v[0:1], |v[2:3]|", |r, [a, b, _]| r.min(r.negated(a), b & !r.format.sign())),
    ("v_max_f64 D, v[0:1], v[2:3] clamp", |r, [a, b, _]| r.clamp(r.max(a, b))),
    ("v_mul_f64 v[6:7], v[0:1], 1.0\nv_min_f64 D, v[6:7], v[2:3]", |r, [a, b, _]| r.min(r.times_one(a), b)),
];

const HALVES: &[Line] = &[
    ("v_min_f16 D, v0, v1", |r, [a, b, _]| r.min(a, b)),
    ("v_max_f16 D, v0, v1", |r, [a, b, _]| r.max(a, b)),
    ("v_max_f16 D, v0, v0", |r, [a, ..]| r.max(a, a)),
    ("v_min_f16 D, 1.0, v0", |r, [a, ..]| r.min(r.format.one(), a)),
    ("v_max_f16 D, 0, v0", |r, [a, ..]| r.max(0, a)),
];

const HALVES_OF_9: &[Line] = &[
    ("v_min3_f16 D, v0, v1, v2", |r, [a, b, c]| r.min(r.min(a, b), c)),
    ("v_max3_f16 D, v0, v1, v2", |r, [a, b, c]| r.max(r.max(a, b), c)),
    ("v_med3_f16 D, v0, v1, v2", |r, [a, b, c]| r.median(a, b, c)),
    ("v_pk_min_f16 D, v0, v1", |r, [a, b, _]| r.min(a, b)),
    ("v_pk_max_f16 D, v0, v1", |r, [a, b, _]| r.max(a, b)),
];

/// Tier, host, groups of lanes.
fn engines() -> Vec<(String, Engine)> {
    let kinds = [
        (Tier::Interp, HostLevel::Native, None),
        (Tier::Jit, HostLevel::Native, None),
        (Tier::Jit, HostLevel::Avx2, Some(2)),
        (Tier::Jit, HostLevel::Sse41, Some(1)),
    ];
    { kinds.into_iter() }
        .map(|(tier, host, chunk_groups)| {
            let config = Config::default().tier(tier).host(host).chunk_groups(chunk_groups).threads(1);
            (format!("{tier:?} {host:?} {chunk_groups:?}"), Engine::new(config).expect("is a config"))
        })
        .collect()
}

/// The first register of results.
const RESULTS: usize = 8;
const REGISTERS: u32 = 40;

/// Runs lines in a mode on all engines. Registers have the operands, those of f64 two each.
fn check(engines: &[(String, Engine)], format: Format, generation: Generation, mode: u32, lines: &[Line]) {
    let wide = format.bits == 64;
    let words = if wide { 2 } else { 1 };
    let mut text = format!("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 10), {mode:#x}\n");
    for (n, (line, _)) in lines.iter().enumerate() {
        let at = RESULTS + n * words;
        let destination = if wide { format!("v[{at}:{}]", at + 1) } else { format!("v{at}") };
        text += &line.replace('D', &destination);
        text += "\n";
    }
    text += "s_endpgm\n";
    let code = gcn::assemble(&text, generation).unwrap_or_else(|e| panic!("{e}\n{text}")).code;
    let options = ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some(generation.into()))
        .registers(Some(REGISTERS))
        .sgprs(Some(16));
    let program = Program::load(&code, &options).expect("is a program");
    let rules = Rules { format, mode, follows: generation >= Generation::Gfx9 };
    for (kind, engine) in engines {
        for group in format.triples().chunks(64) {
            let mut registers = Vec::new();
            for n in 0..3 {
                for word in 0..words {
                    let lanes = group.iter().map(|of| of[n] >> (32 * word) & 0xffff_ffff).collect();
                    registers.push((format!("v{}", n * words + word), lanes));
                }
            }
            let launch =
                Launch::default().grid([1; 3]).block([64, 1, 1]).registers(registers).capture_registers(true);
            let memory = engine.memory().expect("memory");
            let report = engine.run(&program, &memory, &launch).expect("runs");
            assert!(report.fault.is_none(), "{:?}", report.fault);
            for (n, (line, model)) in lines.iter().enumerate() {
                for (lane, &operands) in group.iter().enumerate() {
                    let register = |word: usize| {
                        report.registers[&format!("v{}", RESULTS + n * words + word)][lane] & 0xffff_ffff
                    };
                    let got = if wide { register(0) | register(1) << 32 } else { register(0) };
                    let got = if format.bits == 16 { got & 0xffff } else { got };
                    let want = model(rules, operands);
                    assert_eq!(
                        got, want,
                        "{line} of {operands:x?} in mode {mode:#x} on {generation}, {kind}: {got:x}, not {want:x}"
                    );
                }
            }
        }
    }
}

/// IEEE 0x200, DX10_CLAMP 0x100, denormals of f64 and f16 0xc0, of f32 0x30. Results are rounded to nearest.
const MODES: [u32; 9] = [0x3f0, 0x3c0, 0x1c0, 0x1f0, 0x0c0, 0x2f0, 0x300, 0x350, 0x3a0];

#[test]
fn gcn_singles() {
    let engines = engines();
    for generation in [Generation::Gfx7, Generation::Gfx8, Generation::Gfx9] {
        for mode in MODES {
            check(&engines, SINGLE, generation, mode, SINGLES);
        }
    }
}

#[test]
fn gcn_doubles() {
    let engines = engines();
    for generation in [Generation::Gfx6, Generation::Gfx9] {
        for mode in MODES {
            check(&engines, DOUBLE, generation, mode, DOUBLES);
        }
    }
}

#[test]
fn gcn_halves() {
    let engines = engines();
    for mode in MODES {
        check(&engines, HALF, Generation::Gfx8, mode, HALVES);
        check(&engines, HALF, Generation::Gfx9, mode, &[HALVES, HALVES_OF_9].concat());
    }
}

/// Words that a thread of the programs below has, of operands and of results.
const WORDS: usize = 4;
const THREADS: u32 = 64;

/// A program whose threads load four words into $r4 to $r7, run the lines, and store $r8 to $r11; its arguments are the addresses of
/// these words.
fn tesla_program(chip: tesla::Chip, name: &str, lines: &str) -> Program {
    let mut text = "cvt u32 $r1 u16 $r0l\ncvt u32 $r2 u16 u16 s[0xc]\ncvt u32 $r3 u16 u16 s[0x2]\n\
         add $r0 (mul u16 $r2l $r3l) $r1\nshl b32 $r0 $r0 0x4\n"
        .to_owned();
    for n in 0..WORDS {
        text += &format!("add b32 $r1 b32 s[{:#x}] $r0\nld b32 $r{} g14[$r1]\n", 0x10 + 4 * n, 4 + n);
    }
    text += lines;
    for n in 0..WORDS {
        text += &format!("\nadd b32 $r1 b32 s[{:#x}] $r0\nst b32 g14[$r1] $r{}", 0x20 + 4 * n, 8 + n);
    }
    text += "\nexit nop\n";
    let target = tesla::Target::compute(chip);
    let code = tesla::assemble(&text, target).unwrap_or_else(|e| panic!("{e}\n{text}")).code;
    load(Isa::Tesla, name, &code)
}

fn fermi_program(lines: &str) -> Program {
    let mut text = "long mov b32 $r0 $tidx\nlong mov b32 $r1 $ctaidx\n\
         long add $r2 (mul u32 $r1 u32 c0[0x8]) $r0\n"
        .to_owned();
    for n in 0..WORDS {
        text += &format!("long add b32 $r3 (shl $r2 0x4) c0[{:#x}]\n", 0x20 + 4 * n);
        text += &format!("long ld b32 $r{} ca g[$r3]\n", 4 + n);
    }
    text += lines;
    for n in 0..WORDS {
        text += &format!("\nlong add b32 $r3 (shl $r2 0x4) c0[{:#x}]", 0x30 + 4 * n);
        text += &format!("\nlong st b32 wb g[$r3] $r{}", 8 + n);
    }
    text += "\nlong exit\n";
    let code = fermi::assemble(&text, fermi::Chip::Gf100).unwrap_or_else(|e| panic!("{e}\n{text}")).code;
    load(Isa::Fermi, "gf100", &code)
}

fn load(isa: Isa, chip: &str, code: &[u8]) -> Program {
    let options =
        ProgramOptions::new(isa).raw(true).chip(Some(chip.parse().expect("is a chip"))).registers(Some(20));
    Program::load(code, &options).expect("is a program")
}

fn run(engine: &Engine, program: &Program, operands: &[[u32; WORDS]]) -> Vec<[u32; WORDS]> {
    let memory: Memory = engine.memory().expect("memory");
    let bytes = (operands.len() * WORDS * 4) as u64;
    let [from, to] = [(); 2].map(|()| memory.map(None, bytes, Access::ReadWrite).expect("there is room"));
    let data: Vec<u8> = operands.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(from, &data).expect("is mapped");
    let places = [from, to].into_iter().flat_map(|base| (0..4).map(move |n| Arg::u32(base as u32 + 4 * n)));
    let launch = Launch::default()
        .grid([operands.len() as u32 / THREADS, 1, 1])
        .block([THREADS, 1, 1])
        .args(places.collect());
    let report = engine.run(program, &memory, &launch).expect("runs");
    assert!(report.fault.is_none(), "{:?}", report.fault);
    let mut data = vec![0; bytes as usize];
    memory.read(to, &mut data).expect("is mapped");
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four"));
    data.chunks_exact(4 * WORDS).map(|own| [0, 4, 8, 12].map(|at| word(&own[at..at + 4]))).collect()
}

/// Runs a program of two operands, f64 as two words each, f32 in the first and third, and holds it against the model of its words.
fn check_words(program: &Program, format: Format, model: impl Fn(u64, u64) -> [u32; WORDS]) {
    let wide = format.bits == 64;
    let operands: Vec<[u32; WORDS]> = { format.triples().into_iter() }
        .map(|[a, b, _]| [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32])
        .collect();
    for (kind, engine) in engines() {
        for (of, got) in operands.iter().zip(run(&engine, program, &operands)) {
            let number = |n: usize| u64::from(of[n]) | if wide { u64::from(of[n + 1]) << 32 } else { 0 };
            let want = model(number(0), number(2));
            assert_eq!(got, want, "{of:x?}, {kind}: {got:x?}, not {want:x?}");
        }
    }
}

/// Words of two f64.
fn words_of(a: u64, b: u64) -> [u32; WORDS] {
    [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
}

/// Brought between 0 and 1.
fn saturated(x: u64) -> u64 {
    SINGLE.extreme(SINGLE.extreme(x, 0, true), SINGLE.one(), false)
}

#[test]
fn tesla_singles() {
    let program = tesla_program(
        tesla::Chip::G84,
        "g84",
        "min f32 $r8 $r4 $r6\nmax f32 $r9 $r4 $r6\nmin f32 $r10 neg $r4 abs $r6\nmax f32 $r11 $r4 $r4",
    );
    let canonical = |x: u64| if SINGLE.is_nan(x) { 0x7fff_ffff } else { x as u32 };
    check_words(&program, SINGLE, |a, b| {
        let (a, b) = (SINGLE.flush(a), SINGLE.flush(b));
        let turned = SINGLE.extreme(a ^ SINGLE.sign(), b & !SINGLE.sign(), false);
        [SINGLE.extreme(a, b, false), SINGLE.extreme(a, b, true), turned, a].map(canonical)
    });
}

#[test]
fn tesla_doubles() {
    // Of two NaNs the second one stays, quiet.
    let quiet = |x: u64| if DOUBLE.is_nan(x) { x | DOUBLE.quiet() } else { x };
    let lines = "min f64 $r8d $r4d $r6d\nmax f64 $r10d $r4d $r6d";
    check_words(&tesla_program(tesla::Chip::G200, "g200", lines), DOUBLE, |a, b| {
        words_of(quiet(DOUBLE.extreme(a, b, false)), quiet(DOUBLE.extreme(a, b, true)))
    });
    // A NaN keeps its sign, whatever is asked of it.
    let turned = |x: u64, turn: fn(u64) -> u64| if DOUBLE.is_nan(x) { x } else { turn(x) };
    let lines = "min f64 $r8d neg $r4d abs $r6d\nmax f64 $r10d abs $r4d neg $r6d";
    check_words(&tesla_program(tesla::Chip::G200, "g200", lines), DOUBLE, |a, b| {
        let negated = [a, b].map(|x| turned(x, |x| x ^ 1 << 63));
        let absolute = [a, b].map(|x| turned(x, |x| x & !(1 << 63)));
        words_of(
            quiet(DOUBLE.extreme(negated[0], absolute[1], false)),
            quiet(DOUBLE.extreme(absolute[0], negated[1], true)),
        )
    });
}

#[test]
fn fermi_singles() {
    for (name, ftz) in [("", false), ("ftz ", true)] {
        let program = fermi_program(&format!(
            "long min {name}f32 $r8 $r4 $r6\nlong max {name}f32 $r9 $r4 $r6\n\
             long min {name}f32 $r10 neg $r4 abs $r6\nlong add sat rn f32 $r11 $r4 $r63"
        ));
        let canonical = |x: u64| if SINGLE.is_nan(x) { 0x7fff_ffff } else { x as u32 };
        check_words(&program, SINGLE, |a, b| {
            let of = |x| if ftz { SINGLE.flush(x) } else { x };
            let (p, q) = (of(a), of(b));
            let turned = SINGLE.extreme(p ^ SINGLE.sign(), q & !SINGLE.sign(), false);
            [SINGLE.extreme(p, q, false), SINGLE.extreme(p, q, true), turned, saturated(a)].map(canonical)
        });
    }
}

#[test]
fn fermi_doubles() {
    let program = fermi_program("long min f64 $r8d $r4d $r6d\nlong max f64 $r10d $r4d $r6d");
    let canonical = |x: u64| if DOUBLE.is_nan(x) { 0xfff8_0000_0000_0000 } else { x };
    check_words(&program, DOUBLE, |a, b| {
        words_of(canonical(DOUBLE.extreme(a, b, false)), canonical(DOUBLE.extreme(a, b, true)))
    });
}
