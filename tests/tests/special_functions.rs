//! Tests special functions through the public API: the interpreter and compiled code with all settings are compared with the
//! numerics in Rust, bit for bit.

use std::collections::BTreeMap;

use warpjit_frontend::formula::Scalars;
use warpjit_frontend::gcn::{self, Generation, numeric::trans};
use warpjit_frontend::tesla;
use warpjit_frontend::tesla::numeric::{Rounding, f32 as chip_f32, sfu, sfu_fast};
use warpjit_frontend::{fermi, fermi::numeric as fermi_numeric};
use warpjit_runtime::{
    Access, Arg, Config, Engine, HostLevel, Isa, Launch, Memory, Numerics, Program, ProgramOptions, Tier,
};

/// A function of the unit, on bits.
type Model = fn(u32) -> u32;

const THREADS: u32 = 256;

/// An instruction, what it computes, and what it computes with approximate numerics.
type Case = (&'static str, fn(u32) -> u32, fn(u32) -> u32);

/// Every sign and exponent with the first and last fractions and some in between, as many as fill the blocks.
fn arguments() -> Vec<u32> {
    let mut list = Vec::new();
    let mut state = 1u64;
    for high in 0..1 << 9 {
        for fraction in [0, 1, 2, 0x1_0000, 0x1_ffff, 0x2_0000, 0x35_04f3, 0x40_0000, 0x7f_fffe, 0x7f_ffff] {
            list.push(high << 23 | fraction);
        }
        for _ in 0..10 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            list.push(high << 23 | (state >> 41) as u32);
        }
    }
    // Where results are neither 0 nor infinite.
    for _ in 0..10_240 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        list.push((state >> 32) as u32 & 0x87ff_ffff | 0x3c00_0000);
    }
    assert_eq!(list.len() % THREADS as usize, 0);
    list
}

fn engines(numerics: Numerics) -> Vec<(String, Engine)> {
    let kinds = [
        (Tier::Interp, HostLevel::Native, None),
        (Tier::Jit, HostLevel::Native, Some(1)),
        (Tier::Jit, HostLevel::Native, None),
        (Tier::Jit, HostLevel::Native, Some(4)),
        (Tier::Jit, HostLevel::Sse41, Some(2)),
    ];
    let engine = |(tier, host, chunk_groups)| {
        let config =
            Config::default().tier(tier).host(host).chunk_groups(chunk_groups).numerics(numerics).threads(1);
        (format!("{tier:?} {host:?} {chunk_groups:?} {numerics:?}"), Engine::new(config).unwrap())
    };
    kinds.into_iter().map(engine).collect()
}

/// Runs a program whose parameters are an array of arguments and one of results, a thread an element.
fn run(engine: &Engine, program: &Program, arguments: &[u32]) -> Vec<u32> {
    let memory: Memory = engine.memory().unwrap();
    let bytes = arguments.len() as u64 * 4;
    let from = memory.map(None, bytes, Access::ReadWrite).unwrap();
    let to = memory.map(None, bytes, Access::ReadWrite).unwrap();
    let data: Vec<u8> = arguments.iter().flat_map(|x| x.to_le_bytes()).collect();
    memory.write(from, &data).unwrap();
    let launch = Launch::default()
        .grid([arguments.len() as u32 / THREADS, 1, 1])
        .block([THREADS, 1, 1])
        .args(vec![Arg::u32(from as u32), Arg::u32(to as u32)]);
    let report = engine.run(program, &memory, &launch).unwrap();
    assert!(report.fault.is_none(), "{:?}", report.fault);
    let mut data = vec![0; bytes as usize];
    memory.read(to, &mut data).unwrap();
    data.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Whether a result is that of a formula: with approximate numerics it is not specified whether denormals count as
/// zeros. Tiers agree to the bit all the same ([`TheSame`]).
fn same(numerics: Numerics, a: u32, b: u32) -> bool {
    let is_tiny = |x: u32| f32::from_bits(x).abs() < 2f32.powi(-120);
    a == b || numerics == Numerics::Fast && is_tiny(a) && is_tiny(b)
}

/// Results that must be the same of each engine.
#[derive(Default)]
struct TheSame(Option<Vec<u32>>);

impl TheSame {
    #[track_caller]
    fn check(&mut self, kind: &str, results: &[u32]) {
        let wanted = self.0.get_or_insert_with(|| results.to_vec());
        let wrong = wanted.iter().zip(results).position(|(a, b)| a != b);
        assert_eq!(wrong.map(|n| (wanted[n], results[n])), None, "{kind}");
    }
}

fn check((name, exact, fast): Case, program: &Program) {
    let arguments = arguments();
    for (numerics, function) in [(Numerics::Exact, exact), (Numerics::Fast, fast)] {
        let mut all = TheSame::default();
        for (kind, engine) in engines(numerics) {
            let results = run(&engine, program, &arguments);
            all.check(&format!("{name}, {kind}"), &results);
            for (&x, &got) in arguments.iter().zip(&results) {
                let want = function(x);
                let right = same(numerics, got, want);
                assert!(right, "{name}({x:#010x}) is {want:#010x}, {kind} gives {got:#010x}");
            }
        }
    }
}

/// What stands in a listing: the instruction with one operand in place, or as it is.
fn with_operand(op: &str, register: &str) -> String {
    if op.contains('$') { op.into() } else { format!("{op} {register} {register}") }
}

fn load(isa: Isa, chip: &str, registers: u32, code: &[u8]) -> Program {
    let options =
        ProgramOptions::new(isa).raw(true).chip(Some(chip.parse().unwrap())).registers(Some(registers));
    Program::load(code, &options).unwrap()
}

/// A program for [`run`]: the lines make the result of the argument, both in $r2.
fn tesla_program(lines: &str) -> Program {
    let text = format!(
        "cvt u32 $r1 u16 $r0l\ncvt u32 $r2 u16 u16 s[0xc]\ncvt u32 $r3 u16 u16 s[0x2]\n\
         add $r0 (mul u16 $r2l $r3l) $r1\nshl b32 $r0 $r0 0x2\nadd b32 $r1 b32 s[0x10] $r0\n\
         add b32 $r0 b32 s[0x14] $r0\nld b32 $r2 g14[$r1]\n{lines}\nexit st b32 g14[$r0] $r2\n"
    );
    let target = tesla::Target::compute(tesla::Chip::G84);
    let code = tesla::assemble(&text, target).unwrap_or_else(|e| panic!("{e}\n{text}")).code;
    load(Isa::Tesla, "g84", 12, &code)
}

/// The same with $r4, and with the result's address in $r6.
fn fermi_program(lines: &str) -> Program {
    let text = format!(
        "long mov b32 $r0 $tidx\nlong mov b32 $r1 $ctaidx\nlong add $r2 (mul u32 $r1 u32 c0[0x8]) $r0\n\
         long add b32 $r3 (shl $r2 0x2) c0[0x20]\nlong add b32 $r6 (shl $r2 0x2) c0[0x24]\n\
         long ld b32 $r4 ca g[$r3]\n{lines}\nlong st b32 wb g[$r6] $r4\nlong exit\n"
    );
    let code = fermi::assemble(&text, fermi::Chip::Gf100).unwrap_or_else(|e| panic!("{e}\n{text}")).code;
    load(Isa::Fermi, "gf100", 20, &code)
}

/// An integer in a direction.
fn of_int(x: u32, signed: bool, rounding: Rounding) -> u32 {
    let value = if signed { f64::from(x as i32) } else { f64::from(x) };
    let nearest = value as f32;
    let (above, below) = (f64::from(nearest) > value, f64::from(nearest) < value);
    match rounding {
        Rounding::Down if above => nearest.next_down(),
        Rounding::Up if below => nearest.next_up(),
        Rounding::Zero if value > 0.0 && above => nearest.next_down(),
        Rounding::Zero if value < 0.0 && below => nearest.next_up(),
        _ => nearest,
    }
    .to_bits()
}

#[test]
fn tesla() {
    let square: fn(u32) -> u32 = |x| chip_f32::mul(x, x, Rounding::Zero);
    let unsigned: fn(u32) -> u32 = |x| of_int(x, false, Rounding::Zero);
    let signed: fn(u32) -> u32 = |x| of_int(x, true, Rounding::Zero);
    let functions: [Case; 11] = [
        ("mul rz f32 $r2 $r2 $r2", square, square),
        ("cvt rz f32 $r2 u32 $r2", unsigned, unsigned),
        ("cvt rz f32 $r2 s32 $r2", signed, signed),
        ("rcp f32", sfu::rcp, |x| sfu_fast::rcp(&mut Scalars, x)),
        ("rsqrt f32", sfu::rsqrt, |x| sfu_fast::rsqrt(&mut Scalars, x)),
        ("lg2 f32", sfu::lg2, |x| sfu_fast::lg2(&mut Scalars, x)),
        ("sin f32", sfu::sin, |x| sfu_fast::sin(&mut Scalars, x)),
        ("cos f32", sfu::cos, |x| sfu_fast::cos(&mut Scalars, x)),
        ("ex2 f32", sfu::ex2, |x| sfu_fast::ex2(&mut Scalars, x)),
        ("presin f32", sfu::presin, |x| sfu_fast::presin(&mut Scalars, x)),
        ("preex2 f32", sfu::preex2, |x| sfu_fast::preex2(&mut Scalars, x)),
    ];
    // Once in a region that may flush denormals by itself only, once beside a sum, with which the host flushes.
    for case in functions {
        let line = with_operand(case.0, "$r2");
        for more in ["", "add rn f32 $r3 $r2 $r2\nst b32 g14[$r0] $r3\n"] {
            check(case, &tesla_program(&format!("{more}{line}")));
        }
    }
}

/// The special-function unit for all arguments there are, of the functions that the environment variable `WARPJIT_EVERY_ARGUMENT`
/// names (`rsqrt,rcp`): takes minutes in a release build.
#[test]
fn tesla_every_argument() {
    const BATCH: u32 = 1 << 22;
    let names = std::env::var("WARPJIT_EVERY_ARGUMENT").unwrap_or_default();
    let functions: [(&str, Model); 6] = [
        ("rcp", sfu::rcp),
        ("rsqrt", sfu::rsqrt),
        ("lg2", sfu::lg2),
        ("sin", sfu::sin),
        ("cos", sfu::cos),
        ("ex2", sfu::ex2),
    ];
    let config = Config::default().tier(Tier::Jit).threads(1);
    let engine = Engine::new(config).unwrap();
    for (name, function) in functions.into_iter().filter(|(name, _)| names.split(',').any(|n| n == *name)) {
        let program =
            tesla_program(&format!("add rn f32 $r3 $r2 $r2\nst b32 g14[$r0] $r3\n{name} f32 $r2 $r2"));
        for start in (0..=u32::MAX).step_by(BATCH as usize) {
            let arguments: Vec<u32> = (start..=start + (BATCH - 1)).collect();
            let results = run(&engine, &program, &arguments);
            for (&x, &got) in arguments.iter().zip(&results) {
                let want = function(x);
                assert_eq!(got, want, "{name}({x:#010x}) is {want:#010x}, not {got:#010x}");
            }
        }
    }
}

#[test]
fn fermi() {
    let up: fn(u32) -> u32 = |x| of_int(x, false, Rounding::Up);
    let down: fn(u32) -> u32 = |x| of_int(x, true, Rounding::Down);
    let functions: [Case; 8] = [
        ("cvt rp f32 $r4 u32 $r4", up, up),
        ("cvt rm f32 $r4 s32 $r4", down, down),
        ("sin f32", |x| fermi_numeric::sin(&mut Scalars, x), |x| fermi_numeric::quick::sin(&mut Scalars, x)),
        ("cos f32", |x| fermi_numeric::cos(&mut Scalars, x), |x| fermi_numeric::quick::cos(&mut Scalars, x)),
        ("ex2 f32", |x| fermi_numeric::ex2(&mut Scalars, x), |x| fermi_numeric::quick::ex2(&mut Scalars, x)),
        ("lg2 f32", |x| fermi_numeric::lg2(&mut Scalars, x), |x| fermi_numeric::quick::lg2(&mut Scalars, x)),
        ("rcp64h", |x| fermi_numeric::rcp64h(&mut Scalars, x), |x| fermi_numeric::rcp64h(&mut Scalars, x)),
        (
            "rsqrt64h",
            |x| fermi_numeric::rsqrt64h(&mut Scalars, x),
            |x| fermi_numeric::rsqrt64h(&mut Scalars, x),
        ),
    ];
    // Once in a region that may flush denormals, once beside an addition that must not.
    for case in functions {
        let line = with_operand(case.0, "$r4");
        for more in ["", "long add rn f32 $r5 $r4 $r4\nlong st b32 wb g[$r6] $r5\n"] {
            check(case, &fermi_program(&format!("{more}long {line}")));
        }
    }
}

/// Registers are the arguments, 16 of each lane a launch.
#[test]
fn gcn() {
    const REGISTERS: usize = 16;
    use Generation::{Gfx8, Gfx9};
    let functions: [(Generation, Case); 6] = [
        (
            Gfx9,
            ("v_exp_f32", |x| trans::exp_f32(&mut Scalars, x), |x| trans::quick::exp_f32(&mut Scalars, x)),
        ),
        (
            Gfx9,
            ("v_log_f32", |x| trans::log_f32(&mut Scalars, x), |x| trans::quick::log_f32(&mut Scalars, x)),
        ),
        (
            Gfx8,
            ("v_sin_f32", |x| trans::sin_f32(&mut Scalars, x), |x| trans::quick::sin_f32(&mut Scalars, x)),
        ),
        (
            Gfx8,
            ("v_cos_f32", |x| trans::cos_f32(&mut Scalars, x), |x| trans::quick::cos_f32(&mut Scalars, x)),
        ),
        (
            Gfx9,
            (
                "v_sin_f32",
                |x| trans::sin_any_f32(&mut Scalars, x),
                |x| trans::quick::sin_any_f32(&mut Scalars, x),
            ),
        ),
        (
            Gfx9,
            (
                "v_cos_f32",
                |x| trans::cos_any_f32(&mut Scalars, x),
                |x| trans::quick::cos_any_f32(&mut Scalars, x),
            ),
        ),
    ];
    for (generation, (op, exact, fast)) in functions {
        let mut text: String = (0..REGISTERS).map(|n| format!("{op} v{n}, v{n}\n")).collect();
        text += "s_endpgm\n";
        let code = gcn::assemble(&text, generation).unwrap_or_else(|e| panic!("{e}\n{text}")).code;
        let options = ProgramOptions::new(Isa::Gcn)
            .raw(true)
            .chip(Some(generation.into()))
            .registers(Some(REGISTERS as u32))
            .sgprs(Some(16));
        let program = Program::load(&code, &options).unwrap();
        let exact = engines(Numerics::Exact).into_iter().map(|of| (Numerics::Exact, exact, of));
        let fast = engines(Numerics::Fast).into_iter().map(|of| (Numerics::Fast, fast, of));
        let mut all: BTreeMap<(&str, u32), TheSame> = BTreeMap::new();
        for (numerics, function, (kind, engine)) in exact.chain(fast) {
            let mode = if numerics == Numerics::Fast { "fast" } else { "exact" };
            for chunk in arguments().chunks_exact(64 * REGISTERS) {
                let lanes = |n: usize| chunk[64 * n..][..64].iter().map(|&x| x.into()).collect::<Vec<u64>>();
                let launch = Launch::default()
                    .grid([1; 3])
                    .block([64, 1, 1])
                    .registers((0..REGISTERS).map(|n| (format!("v{n}"), lanes(n))).collect())
                    .capture_registers(true);
                let memory = engine.memory().unwrap();
                let report = engine.run(&program, &memory, &launch).unwrap();
                assert!(report.fault.is_none(), "{:?}", report.fault);
                for n in 0..REGISTERS {
                    let results: Vec<u32> =
                        report.registers[&format!("v{n}")].iter().map(|&x| x as u32).collect();
                    let all = all.entry((mode, chunk[64 * n])).or_default();
                    all.check(&format!("{op}, {kind}"), &results);
                    for (&x, &got) in chunk[64 * n..].iter().zip(&report.registers[&format!("v{n}")]) {
                        let want = function(x);
                        let right = same(numerics, got as u32, want);
                        assert!(right, "{op} {x:#010x}: want {want:#010x}, {kind} gives {got:#x}");
                    }
                }
            }
        }
    }
}

/// What takes numbers apart, in vector code where MODE is known: all that the interpreter's calls give, in each format.
#[test]
fn gcn_powers_and_divisions() {
    const INPUTS: u32 = 12;
    let ops = [
        "v_ldexp_f32 v12, v0, v1",
        "v_frexp_mant_f32 v13, v0",
        "v_frexp_exp_i32_f32 v14, v1",
        "v_div_scale_f32 v15, vcc, v2, v2, v3",
        "v_cndmask_b32 v16, 0, 1, vcc",
        "v_div_scale_f32 v17, vcc, v3, v2, v3",
        "v_div_fixup_f32 v18, v1, v2, v3",
        "v_ldexp_f64 v[20:21], v[4:5], v1",
        "v_frexp_mant_f64 v[22:23], v[4:5]",
        "v_frexp_exp_i32_f64 v24, v[6:7]",
        "v_div_scale_f64 v[26:27], vcc, v[6:7], v[6:7], v[8:9]",
        "v_cndmask_b32 v25, 0, 1, vcc",
        "v_div_scale_f64 v[28:29], vcc, v[8:9], v[6:7], v[8:9]",
        "v_div_fixup_f64 v[30:31], v[4:5], v[6:7], v[8:9]",
        "v_rcp_f16 v32, v10",
        "v_rsq_f16 v33, v10",
        "v_sqrt_f16 v34, v10",
        "v_exp_f16 v35, v10",
        "v_log_f16 v36, v10",
        "v_sin_f16 v37, v10",
        "v_cos_f16 v38, v10",
        "v_frexp_mant_f16 v39, v10",
        "v_frexp_exp_i16_f16 v40, v10",
        "v_ldexp_f16 v41, v10, v1",
        "v_div_fixup_f16 v42, v10, v11, v2",
    ];
    let mut state = 5u64;
    let mut random = move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 32) as u32
    };
    // MODE as it is, with all denormals, with none, rounding up.
    let modes = ["", "(HW_REG_MODE, 4, 4), 0xf", "(HW_REG_MODE, 4, 4), 0", "(HW_REG_MODE, 0, 4), 5"];
    let cases = [Generation::Gfx8, Generation::Gfx9].map(|generation| modes.map(|mode| (generation, mode)));
    for (generation, mode) in cases.into_iter().flatten() {
        let mode = if mode.is_empty() { String::new() } else { format!("s_setreg_imm32_b32 hwreg{mode}\n") };
        let text = format!("{mode}{}\ns_endpgm\n", ops.join("\n"));
        let code = gcn::assemble(&text, generation).unwrap_or_else(|e| panic!("{e}\n{text}")).code;
        let options = ProgramOptions::new(Isa::Gcn)
            .raw(true)
            .chip(Some(generation.into()))
            .registers(Some(44))
            .sgprs(Some(16));
        let program = Program::load(&code, &options).unwrap();
        for round in 0..24 {
            // Any bits; exponents near the ends; small ones, which are powers for `ldexp` as well.
            let mut value = |n: u32| match (round + n) % 4 {
                0 => random(),
                1 => random() & 0x81ff_ffff | (random() & 1) << 30,
                2 => random() & 0x8000_ffff | 0x7ef0_0000,
                _ => (random() & 0x1ff).wrapping_sub(0x100),
            };
            let lanes =
                |value: &mut dyn FnMut(u32) -> u32, n| (0..64).map(|_| value(n).into()).collect::<Vec<u64>>();
            let registers: Vec<_> = (0..INPUTS).map(|n| (format!("v{n}"), lanes(&mut value, n))).collect();
            let mut wanted = None;
            for (kind, engine) in engines(Numerics::Exact) {
                let kind = format!("{generation} {kind}");
                let launch = Launch::default()
                    .grid([1; 3])
                    .block([64, 1, 1])
                    .registers(registers.clone())
                    .capture_registers(true);
                let memory = engine.memory().unwrap();
                let report = engine.run(&program, &memory, &launch).unwrap();
                assert!(report.fault.is_none(), "{:?}", report.fault);
                let all: Vec<_> = (INPUTS..43).map(|n| report.registers[&format!("v{n}")].clone()).collect();
                let wanted = wanted.get_or_insert_with(|| all.clone());
                for (n, (want, got)) in wanted.iter().zip(&all).enumerate() {
                    assert_eq!(want, got, "v{} with {mode:?}, {kind}", n + 12);
                }
            }
        }
    }
}

/// Multiply-add of each argument with its neighbours: a fused one differs by no more than a unit of the product, which the exact one
/// truncates, and one of the result.
#[test]
fn fused_multiply_add() {
    let text = "add b32 $r3 $r2 0x3579bd\nxor b32 $r4 $r2 0x80002461\nadd f32 $r2 (mul $r2 $r3) $r4";
    let program = tesla_program(text);
    let arguments = arguments();
    let exact = run(&engines(Numerics::Exact)[0].1, &program, &arguments);
    let mut differences = 0;
    let mut all = TheSame::default();
    for (kind, engine) in engines(Numerics::Fast) {
        let fast = run(&engine, &program, &arguments);
        all.check(&kind, &fast);
        for ((&x, &want), &got) in arguments.iter().zip(&exact).zip(&fast) {
            let number = |x: u32| f64::from(f32::from_bits(x));
            let (want, got) = (number(want), number(got));
            let product = number(x) * number(x.wrapping_add(0x35_79bd));
            let unit = |x: f64| x.abs() * 2f64.powi(-23);
            let tiny = f64::from(f32::MIN_POSITIVE);
            let bound = unit(product) + unit(want) + tiny;
            let close = (want - got).abs() <= bound;
            // One rounds to the greatest number, the other to infinity.
            let ends = |x: f64| x.abs() >= f64::from(f32::MAX);
            let right = close
                || want.is_nan() && got.is_nan()
                || ends(want) && ends(got) && want.signum() == got.signum();
            assert!(right, "{x:#010x}: {got:e}, exact {want:e}, {kind}");
            differences += usize::from(want != got && !want.is_nan());
        }
    }
    assert!(differences > 0, "fused multiply-adds give what truncating ones do");
}

/// Distances as programs compute them: sums of squares, of which the code tests only the last, and what the unit makes of these, in a loop
/// in which one addend stays as it is.
#[test]
fn reciprocals_of_sums() {
    // $r3 = what is added, another thread's argument but for a bit; $r4 = bits of all results.
    let text = |factor, flipped| {
        format!(
            "xor b32 $r3 $r1 0x4\nld b32 $r3 g14[$r3]\nxor b32 $r3 $r3 0x1\nmov b32 $r4 0x0\nmov b32 $r6 0x3f800000\n\
             mov b32 $r10 0x0\nmov b32 $r11 0x3\nround:\nxor b32 $r5 $r2 {flipped:#x}\nxor b32 $r8 $r2 0x80000000\n\
             add f32 $r7 (mul $r2 {factor}) $r3\nadd f32 $r7 (mul $r5 $r5) $r7\nadd f32 $r7 (mul $r6 $r6) $r7\n\
             rsqrt f32 $r8 $r7\nadd f32 $r9 (mul $r8 $r5) $r3\nrcp f32 $r9 $r9\n\
             xor b32 $r4 $r4 $r7\nadd b32 $r4 $r4 $r8\nxor b32 $r4 $r4 $r9\n\
             add f32 $r6 (mul $r8 $r9) $r2\nadd f32 $r2 (mul $r2 $r8) $r5\n\
             add b32 $r10 $r10 0x1\nset $c0 # l u32 $r10 $r11\n(lg $c0) bra #round\nadd b32 $r2 $r2 $r4"
        )
    };
    let mad = chip_f32::mad;
    // The first product is a square, or the opposite of one.
    let model = |x: u32, c: u32, sign: u32, flipped: u32| {
        let (mut x, mut z, mut bits) = (x, 0x3f80_0000, 0u32);
        for _ in 0..3 {
            let y = x ^ flipped;
            let squares = mad(z, z, mad(y, y, mad(x, x ^ sign, c)));
            let r = sfu::rsqrt(squares);
            let q = sfu::rcp(mad(r, y, c));
            bits = (bits ^ squares).wrapping_add(r) ^ q;
            (z, x) = (mad(r, q, x), mad(x, r, y));
        }
        bits.wrapping_add(x)
    };
    let special = [
        0,
        0x8000_0000,
        1,
        0x8000_0001,
        0x7f_ffff,
        0x80_0000,
        0x7f7f_ffff,
        0xff7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0xbf80_0000,
        0x1fff_ffff,
        0x2000_0000,
        0x5fff_ffff,
        0x6000_0000,
        0x9fff_ffff,
        0xdfff_ffff,
    ];
    let mut state = 5u64;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 32) as u32
    };
    // In each warp all arguments are of one kind, but for one lane of some.
    let mut arguments: Vec<u32> = Vec::new();
    for warp in 0..64 * 9u32 {
        for lane in 0..32 {
            let (exponent, bits) = (next() % 8, next());
            arguments.push(match warp % 9 {
                _ if warp & 1 != 0 && lane == warp / 16 % 32 => special[bits as usize % special.len()],
                // Powers of four and what does not change them.
                0 if lane % 2 == 0 => (127 + 2 * exponent) << 23 ^ 1,
                0 => 0x2280_0000,
                // Squares about the limits of what is tested.
                1 => (127 + 28 + exponent) << 23 | bits & 0x7f_ffff,
                2 => (127 - 35 + exponent) << 23 | bits & 0x7f_ffff,
                3 => (127 - 66 + exponent) << 23 | bits & 0x7f_ffff,
                4 => (127 + 60 + exponent % 5) << 23 | bits & 0x7f_ffff,
                // What is added is negative in half of the lanes.
                5 => (123 + exponent) << 23 | bits & 0x807f_ffff,
                6 => bits,
                // A square and the opposite of one.
                7 if lane % 2 == 1 => {
                    let other = arguments[arguments.len() - 1];
                    chip_f32::mul(other, other, Rounding::Zero) ^ (1 | (warp & 2) << 30)
                }
                _ => (123 + exponent) << 23 | bits & 0x7f_ffff,
            });
        }
    }
    // Second factors are as large as the first, or by far larger or smaller.
    let kinds = [("$r2", 0), ("$r8", 0x8000_0000)];
    for ((factor, sign), flipped) in
        kinds.into_iter().flat_map(|k| [0x8000_4321, 0x8800_4321].map(|f| (k, f)))
    {
        let program = tesla_program(&text(factor, flipped));
        for (kind, engine) in engines(Numerics::Exact) {
            let results = run(&engine, &program, &arguments);
            for (n, &got) in results.iter().enumerate() {
                let (x, c) = (arguments[n], arguments[n ^ 1] ^ 1);
                let want = model(x, c, sign, flipped);
                assert_eq!(got, want, "{kind}: of {x:#010x} and {c:#010x} {got:#010x}, not {want:#010x}");
            }
        }
    }
}
