//! Tests vector arithmetic, one instruction at a time, in all modes that make a difference: lifts it, runs it in the interpreter,
//! and compares with the numerics and with plain Rust. Whole programs with results from elsewhere are in the corpus (`asm_*`).

use warpjit_ir::Meter;
use warpjit_ir::interp::{Code, Denied, Flow, Scratch, Warp, WarpMemory};
use warpjit_ir::verify::verify;
use warpjit_ir::{Builtin, Scalar, Space};

use super::{Options, lift};
use crate::formula::Scalars;
use crate::gcn::numeric::{Mode, Width, arith, bytes, convert, divide, trans};
use crate::gcn::table::{ArgSlot, Row, rows};
use crate::gcn::{Chip, Format, Generation, Op, decode};
use crate::soft::Rounding;

/// No memory: arithmetic needs none.
struct NoMemory;

impl WarpMemory for NoMemory {
    fn load(&mut self, _: Space, _: u32, _: u64, _: u8) -> Result<u64, Denied> {
        Err(Denied)
    }

    fn store(&mut self, _: Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), Denied> {
        Err(Denied)
    }
}

/// What the destination holds before.
pub(super) const OLD: u64 = 0x0bad_cafe_1234_abcd;
/// Round to nearest, all denormals, DX10_CLAMP, IEEE.
pub(super) const NEAREST: u32 = 0x3f0;
/// Modes of each kind: nearest with denormals kept, flushed, f32 flushed alone; other roundings; mixed denormals.
const MODES: [u32; 8] = [NEAREST, 0x300, 0x3c0, 0x3f5, 0x3fa, 0x3cf, 0x350, 0x0a0];

/// The row of an operation, and its word as VOP3 (or VOP3P) of v20 (and VCC), v10, v12, v14.
fn encoded(op: Op, generation: Generation) -> (&'static Row, u64) {
    let of = |row: &&Row| row.op == op && row.code(generation).is_some();
    let row = rows().iter().find(of).unwrap_or_else(|| panic!("{} on {generation}", op.name()));
    let word = match (row.format, row.long_code(generation)) {
        (Format::Vop3p, _) => 0xd380_0000 | u64::from(row.codes[generation as usize].unwrap() & 0x7f) << 16,
        (_, Some(code)) => 0xd000_0000 | u64::from(code) << if generation.is_old() { 17 } else { 16 },
        _ => panic!("{} has no long form", op.name()),
    };
    let packed = if row.format == Format::Vop3p { 3u64 << 59 | 1 << 14 } else { 0 };
    let carry = if row.carry_out { 106 << 8 } else { 0 };
    let source = |n: usize| {
        let register = match row.srcs.get(n) {
            Some(ArgSlot::Carry) => 106,
            None | Some(ArgSlot::Tied | ArgSlot::Implicit) => return 0,
            Some(_) => 0x100 + 10 + 2 * n as u64,
        };
        register << (32 + 9 * n)
    };
    let destination = if row.dst.is_some() { 20 } else { 0 };
    (row, word | destination | carry | packed | source(0) | source(1) | source(2))
}

/// Bits of a VOP3 word.
pub(super) const CLAMP: u64 = 1 << 15;

/// What a run leaves: v20 and v21, and VCC.
struct Results {
    lanes: Vec<u64>,
    vcc: u64,
}

/// Runs words of code with `inputs` in v10, v12 and v14 (and the registers behind), 64 lanes at a time.
fn run_words(chip: impl Into<Chip>, words: &[u64], mode: u32, inputs: &[[u64; 3]]) -> Vec<Results> {
    let chip = chip.into();
    let mut code = Vec::new();
    for &word in words {
        let bytes = word.to_le_bytes();
        // A scalar instruction without a literal is short.
        let short = word >> 32 == 0 && (word as u32) >> 28 == 0xb && word & 0xff != 0xff;
        code.extend(if short { &bytes[..4] } else { &bytes[..] });
    }
    code.extend(0xbf81_0000u32.to_le_bytes());
    let options = Options {
        name: "instruction",
        decode: |bytes, pc, chip| decode(bytes, pc.into(), chip).ok(),
        chip,
        entry: 0,
        vgprs: 24,
        sgprs: 16,
        mode,
        lds_bytes: 0,
        scratch_bytes: 0,
        shared_aperture: 1,
        private_aperture: 2,
        preload: &[],
        observed: true,
        jump_targets: &[],
        stage: None,
    };
    let func = lift(&crate::code::Code::of_file(&code, 0, 0), &options, &Meter::unlimited())
        .expect("no limits")
        .function;
    verify(&func).unwrap_or_else(|error| panic!("{:?}\n{func}", error.violations));
    let (offsets, _) = func.frame_layout();
    let slot = |name: &str| {
        let index =
            func.slots.iter().position(|slot| slot.name == name).unwrap_or_else(|| panic!("slot {name}"));
        offsets[index]
    };
    let program = Code::new(&func).expect("a valid function");
    let mut scratch = Scratch::new(&program);
    let registers: Vec<u32> = (0..24).map(|n| slot(&format!("v{n}"))).collect();
    let s4 = slot("s4");
    let (vcc_lo, vcc_hi) = (slot("vcc_lo"), slot("vcc_hi"));
    let mut all = Vec::new();
    for group in inputs.chunks(64) {
        let mut warp = Warp::new(&program, u64::MAX, |which, lane| match which {
            Builtin::LaneId | Builtin::Tid(0) => lane,
            Builtin::Launched(_) => u32::MAX,
            _ => 0,
        });
        for (lane, values) in (0..).zip(group) {
            for (value, first) in [(values[0], 10), (values[1], 12), (values[2], 14), (OLD, 20)] {
                warp.frame.write(registers[first], Scalar::I32, lane, value & 0xffff_ffff);
                warp.frame.write(registers[first + 1], Scalar::I32, lane, value >> 32);
            }
        }
        // What `dynamic` sets MODE to.
        (0..64).for_each(|lane| warp.frame.write(s4, Scalar::I32, lane, mode.into()));
        loop {
            match program.run_block(&mut scratch, &mut warp, &mut NoMemory) {
                Flow::Next | Flow::Barrier(_) => {}
                Flow::Ended => break,
                Flow::Fault(fault) => panic!("{fault:?} in {words:x?} on {chip}"),
            }
        }
        let read = |register: u32, lane: u32| warp.frame.read(register, Scalar::I32, lane);
        let lanes = (0..group.len() as u32)
            .map(|lane| read(registers[20], lane) | read(registers[21], lane) << 32)
            .collect();
        all.push(Results { lanes, vcc: read(vcc_lo, 0) | read(vcc_hi, 0) << 32 });
    }
    all
}

/// `s_setreg_b32 hwreg(HW_REG_MODE, 0, 10), s4`: MODE is not known behind it.
fn dynamic(generation: Generation) -> u64 {
    let row = rows().iter().find(|row| row.op == Op::S_SETREG_B32).expect("s_setreg_b32");
    let code = u64::from(row.code(generation).expect("on all generations"));
    0xb000_0000 | code << 23 | 4 << 16 | 1 | 9 << 11
}

/// Runs an operation in one mode, known or not, and gives v20 and v21 of each input.
pub(super) fn run(
    op: Op,
    generation: Generation,
    flags: u64,
    mode: u32,
    known: bool,
    inputs: &[[u64; 3]],
) -> Vec<u64> {
    let (row, word) = encoded(op, generation);
    let word = word | flags;
    let words = if known { vec![word] } else { vec![dynamic(generation), word] };
    run_words(row.chip(generation).unwrap(), &words, mode, inputs)
        .into_iter()
        .flat_map(|results| results.lanes)
        .collect()
}

/// Triples of numbers round the borders of a format and random ones, NaNs and all.
fn inputs(width: Width) -> Vec<[u64; 3]> {
    let format = width.format();
    let unit = 1u64 << format.fraction;
    let one = (format.bias as u64) << format.fraction;
    let infinity = format.infinity();
    let edges =
        [0, 1, unit - 1, unit, unit + 1, one - 1, one, one + 1, one + unit / 2, infinity - 1, infinity];
    let nans = [infinity | 1, infinity | (unit / 2), infinity | (unit / 2) | 5];
    let mut edges: Vec<u64> = edges.into_iter().chain(nans).collect();
    edges.extend(edges.clone().iter().map(|bits| bits | format.sign_bit()));
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut all = Vec::new();
    for (n, &a) in edges.iter().enumerate() {
        for (m, &b) in edges.iter().enumerate() {
            all.push([a, b, edges[(n * 7 + m * 3) % edges.len()]]);
        }
    }
    let mask = (format.sign_bit() << 1).wrapping_sub(1);
    for n in 0..600u64 {
        // Like exponents, so that sums cancel, and any.
        let near = |r: u64| {
            (one + (r >> 48 & 15) * unit - 8 * unit) & !(unit - 1)
                | r & (unit - 1)
                | r << 8 & format.sign_bit()
        };
        let all_of = [random(), random(), random()];
        all.push(if n % 2 == 0 { all_of.map(|r| near(r) & mask) } else { all_of.map(|r| r & mask) });
    }
    all
}

type Reference = fn(Mode, u64, u64, u64) -> u64;

/// Checks an operation in every mode, known at compile time and not.
fn check(width: Width, op: Op, generations: &[Generation], reference: Reference) {
    let inputs = inputs(width);
    let mask = if width == Width::Double { u64::MAX } else { 0xffff_ffff };
    for &generation in generations {
        for mode in MODES {
            for known in [true, false] {
                let results = run(op, generation, 0, mode, known, &inputs);
                for (&[a, b, c], got) in inputs.iter().zip(results) {
                    let (got, want) = (got & mask, reference(Mode(mode), a, b, c) & mask);
                    let name = op.name();
                    assert_eq!(
                        got, want,
                        "{name} {a:x} {b:x} {c:x} mode {mode:x} known {known} on {generation}: {got:x}, want {want:x}"
                    );
                }
            }
        }
    }
}

use Generation::{Gfx6, Gfx7, Gfx8, Gfx9};

#[test]
fn single_precision_is_that_of_the_numerics() {
    let w = Width::Single;
    check(w, Op::V_ADD_F32, &[Gfx6, Gfx9], |m, a, b, _| arith::add(Width::Single, m, a, b));
    check(w, Op::V_SUB_F32, &[Gfx9], |m, a, b, _| arith::add(Width::Single, m, a, b ^ 1 << 31));
    check(w, Op::V_SUBREV_F32, &[Gfx9], |m, a, b, _| arith::add(Width::Single, m, b, a ^ 1 << 31));
    check(w, Op::V_MUL_F32, &[Gfx8], |m, a, b, _| arith::mul(Width::Single, m, a, b));
    check(w, Op::V_FMA_F32, &[Gfx7], |m, a, b, c| arith::fma(Width::Single, m, a, b, c));
    check(w, Op::V_MAD_F32, &[Gfx9], |m, a, b, c| arith::mad(Width::Single, m, a, b, c));
    check(w, Op::V_LDEXP_F32, &[Gfx8], |m, a, b, _| arith::ldexp(Width::Single, m, a, b as u32 as i32));
    for generation in [Gfx6, Gfx9] {
        let (min, max): (Reference, Reference) = if generation == Gfx9 {
            (
                |m, a, b, _| arith::min_max(Width::Single, m, false, true, a, b),
                |m, a, b, _| arith::min_max(Width::Single, m, true, true, a, b),
            )
        } else {
            (
                |m, a, b, _| arith::min_max(Width::Single, m, false, false, a, b),
                |m, a, b, _| arith::min_max(Width::Single, m, true, false, a, b),
            )
        };
        check(w, Op::V_MIN_F32, &[generation], min);
        check(w, Op::V_MAX_F32, &[generation], max);
    }
    check(w, Op::V_MAX3_F32, &[Gfx9], |m, a, b, c| {
        let max = |a, b| arith::min_max(Width::Single, m, true, true, a, b);
        max(max(a, b), c)
    });
}

/// Checks an operation on one word; the sign of a zero is free.
fn check_word(op: Op, generations: &[Generation], sign: u64, argument: u64, want: u64) {
    for &generation in generations {
        let got = run(op, generation, 0, NEAREST, true, &[[argument, 0, 0]])[0] & 0xffff_ffff;
        assert!(got == want || got == sign && want == 0, "{} on {generation}: {got:x}", op.name());
    }
}

/// 300.25 turns: within the range of 1.4 only.
#[test]
fn turns_are_any_number_from_1_4_on() {
    for (generations, sin, cos) in [(&[Gfx6, Gfx7, Gfx8][..], 0, 1.0f32), (&[Gfx9], 0x3f80_0000, 0.0)] {
        check_word(Op::V_SIN_F32, generations, 1 << 31, 300.25f32.to_bits().into(), sin);
        check_word(Op::V_COS_F32, generations, 1 << 31, 300.25f32.to_bits().into(), cos.to_bits().into());
    }
    for (generation, sin, cos) in [(Gfx8, 0, 0x3c00), (Gfx9, 0x3c00, 0)] {
        check_word(Op::V_SIN_F16, &[generation], 1 << 15, 0x5cb1, sin);
        check_word(Op::V_COS_F16, &[generation], 1 << 15, 0x5cb1, cos);
    }
}

#[test]
fn double_precision_is_that_of_the_numerics() {
    let w = Width::Double;
    check(w, Op::V_ADD_F64, &[Gfx6], |m, a, b, _| arith::add(Width::Double, m, a, b));
    check(w, Op::V_MUL_F64, &[Gfx9], |m, a, b, _| arith::mul(Width::Double, m, a, b));
    check(w, Op::V_FMA_F64, &[Gfx8], |m, a, b, c| arith::fma(Width::Double, m, a, b, c));
    check(w, Op::V_MIN_F64, &[Gfx9], |m, a, b, _| arith::min_max(Width::Double, m, false, true, a, b));
    check(w, Op::V_MAX_F64, &[Gfx7], |m, a, b, _| arith::min_max(Width::Double, m, true, false, a, b));
    check(w, Op::V_LDEXP_F64, &[Gfx9], |m, a, b, _| arith::ldexp(Width::Double, m, a, b as u32 as i32));
}

#[test]
fn half_precision_is_that_of_the_numerics() {
    let w = Width::Half;
    check(w, Op::V_ADD_F16, &[Gfx8], |m, a, b, _| arith::add(Width::Half, m, a, b));
    check(w, Op::V_SUB_F16, &[Gfx9], |m, a, b, _| arith::add(Width::Half, m, a, b ^ 0x8000));
    check(w, Op::V_MUL_F16, &[Gfx9], |m, a, b, _| arith::mul(Width::Half, m, a, b));
    check(w, Op::V_FMA_F16, &[Gfx9], |m, a, b, c| keep_high(arith::fma(Width::Half, m, a, b, c)));
    check(w, Op::V_FMA_LEGACY_F16, &[Gfx8, Gfx9], |m, a, b, c| arith::fma(Width::Half, m, a, b, c));
    check(w, Op::V_MAD_LEGACY_F16, &[Gfx8], |m, a, b, c| arith::mad(Width::Half, m, a, b, c));
    check(w, Op::V_MIN_F16, &[Gfx9], |m, a, b, _| arith::min_max(Width::Half, m, false, true, a, b));
    check(w, Op::V_MAX_F16, &[Gfx8], |m, a, b, _| arith::min_max(Width::Half, m, true, false, a, b));
}

/// The upper half of the destination stays.
fn keep_high(half: u64) -> u64 {
    half & 0xffff | OLD & 0xffff_0000
}

#[test]
fn conversions_are_those_of_the_numerics() {
    let single = Width::Single;
    check(single, Op::V_CVT_F16_F32, &[Gfx6, Gfx9], |m, a, _, _| {
        convert::float(Width::Single, Width::Half, m, a)
    });
    check(single, Op::V_CVT_F64_F32, &[Gfx9], |m, a, _, _| {
        // Only the sources of f32 can be denormal.
        convert::float(Width::Single, Width::Double, m, a) & 0xffff_ffff
    });
    check(single, Op::V_CVT_F32_I32, &[Gfx9], |m, a, _, _| {
        convert::from_int(Width::Single, m, (a as i32).into())
    });
    check(single, Op::V_CVT_F32_U32, &[Gfx9], |m, a, _, _| {
        convert::from_int(Width::Single, m, (a as u32).into())
    });
    check(single, Op::V_CVT_PKRTZ_F16_F32, &[Gfx8], |m, a, b, _| {
        let half = |x| convert::float_rounded(Width::Single, Width::Half, m, Rounding::Zero, x);
        half(a) | half(b) << 16
    });
    check(single, Op::V_CVT_PK_U8_F32, &[Gfx9], |m, a, b, c| convert::pk_u8(m, a, b as u32, c as u32).into());
    check(single, Op::V_CVT_FLR_I32_F32, &[Gfx7], |m, a, _, _| {
        let a = if m.flushes_inputs(Width::Single) { Width::Single.flush(a) } else { a };
        convert::to_int(Width::Single, Rounding::Down, a, i32::MIN.into(), i32::MAX.into()) as u64
    });
    check(single, Op::V_CVT_I32_F32, &[Gfx9], |_, a, _, _| {
        convert::to_int(Width::Single, Rounding::Zero, a, i32::MIN.into(), i32::MAX.into()) as u64
    });
    check(Width::Double, Op::V_CVT_F32_F64, &[Gfx9], |m, a, _, _| {
        convert::float(Width::Double, Width::Single, Mode(m.0 | 0xc0), a) | OLD & !0xffff_ffff
    });
    check(Width::Half, Op::V_CVT_F32_F16, &[Gfx8], |m, a, _, _| {
        convert::float(Width::Half, Width::Single, m, a)
    });
    check(Width::Half, Op::V_CVT_F16_I16, &[Gfx9], |m, a, _, _| {
        convert::from_int(Width::Half, m, (a as i16).into())
    });
    check(Width::Half, Op::V_CVT_U16_F16, &[Gfx9], |_, a, _, _| {
        convert::to_int(Width::Half, Rounding::Zero, a, 0, 0xffff) as u64
    });
}

#[test]
fn division_steps_are_those_of_the_numerics() {
    for (width, generation) in [(Width::Single, Gfx9), (Width::Double, Gfx7)] {
        let double = width == Width::Double;
        let pick = |a, b| if double { b } else { a };
        let inputs: Vec<[u64; 3]> =
            inputs(width).into_iter().flat_map(|[a, b, _]| [[a, a, b], [b, a, b]]).collect();
        let mask = if double { u64::MAX } else { 0xffff_ffff };
        let word = encoded(pick(Op::V_DIV_SCALE_F32, Op::V_DIV_SCALE_F64), generation).1;
        for (group, results) in inputs.chunks(64).zip(run_words(generation, &[word], NEAREST, &inputs)) {
            for (lane, (&[s, d, n], got)) in group.iter().zip(&results.lanes).enumerate() {
                let (value, flag) = divide::scale(width, s, d, n);
                let value = if width.format().is_nan(value) { width.nan() } else { value };
                assert_eq!((got & mask, results.vcc >> lane & 1 != 0), (value, flag), "{s:x} {d:x} {n:x}");
            }
        }
        let fixup = pick(Op::V_DIV_FIXUP_F32, Op::V_DIV_FIXUP_F64);
        for (&[q, d, n], got) in inputs.iter().zip(run(fixup, generation, 0, NEAREST, true, &inputs)) {
            assert_eq!(got & mask, divide::fixup(width, q, d, n), "{q:x} {d:x} {n:x}");
        }
    }
}

#[test]
fn reciprocals_and_roots_are_within_an_ulp() {
    let inputs: Vec<[u64; 3]> =
        inputs(Width::Single).into_iter().chain((0..4000).map(|n| [n * 0x7_1235, 0, 0])).collect();
    let of = |op| run(op, Gfx9, 0, 0x3c0, true, &inputs);
    type Case = (Op, fn(f64) -> f64, f64);
    let cases: [Case; 3] = [
        (Op::V_RCP_F32, |x| 1.0 / x, 0.5),
        (Op::V_SQRT_F32, f64::sqrt, 0.5),
        (Op::V_RSQ_F32, |x| 1.0 / x.sqrt(), 0.9),
    ];
    for (op, function, limit) in cases {
        for (&[a, ..], got) in inputs.iter().zip(of(op)) {
            let x = f32::from_bits(Width::Single.flush(a) as u32);
            let (want, got) = (function(x.into()), f32::from_bits(got as u32));
            let name = op.name();
            if want.is_nan() || want.is_infinite() || want == 0.0 || want.abs() < f64::from(f32::MIN_POSITIVE)
            {
                let want = if want.abs() < f64::from(f32::MIN_POSITIVE) { want.signum() * 0.0 } else { want };
                let want = if want.is_nan() { 0x7fc0_0000 } else { (want as f32).to_bits() };
                assert_eq!(got.to_bits(), want, "{name} {a:x}");
                continue;
            }
            // One unit of the last place at the true value.
            let unit = 2f64.powi((want.abs().to_bits() >> 52) as i32 - 1023 - 23);
            let error = (f64::from(got) - want).abs() / unit;
            assert!(error <= limit, "{name} {a:x}: {got:e}, want {want:e}, off by {error}");
        }
    }
    for (&[a, ..], got) in inputs.iter().zip(of(Op::V_EXP_F32)) {
        assert_eq!(got as u32, trans::exp_f32(&mut Scalars, a as u32), "2^{a:x}");
    }
}

/// A VOP3 instruction: destination, scalar destination if it has one, sources as in the field, negated ones.
fn vop3(op: Op, generation: Generation, dst: u64, sdst: u64, sources: [u64; 3], neg: u64) -> u64 {
    let (row, word) = encoded(op, generation);
    let code = word & (0x3ff << if generation.is_old() { 17 } else { 16 }) | 0xd000_0000;
    let carry = if row.carry_out { sdst << 8 } else { 0 };
    code | dst | carry | sources[0] << 32 | sources[1] << 41 | sources[2] << 50 | neg << 61
}

/// What LLVM makes of v14 / v12, into v20 (and v21); `keep` and `flush` go round the part that keeps denormals.
fn division_words(generation: Generation, double: bool, keep: &[u64], flush: &[u64]) -> Vec<u64> {
    let v = |n: u64| 0x100 + n;
    let (one, vcc) = (242, 106);
    let (scale, fma, mul, rcp, fmas, fixup) = if double {
        (
            Op::V_DIV_SCALE_F64,
            Op::V_FMA_F64,
            Op::V_MUL_F64,
            Op::V_RCP_F64,
            Op::V_DIV_FMAS_F64,
            Op::V_DIV_FIXUP_F64,
        )
    } else {
        (
            Op::V_DIV_SCALE_F32,
            Op::V_FMA_F32,
            Op::V_MUL_F32,
            Op::V_RCP_F32,
            Op::V_DIV_FMAS_F32,
            Op::V_DIV_FIXUP_F32,
        )
    };
    let make = |op, dst, sdst, sources, neg| vop3(op, generation, dst, sdst, sources, neg);
    let fma = |dst, a, b, c, neg| make(fma, dst, 0, [a, b, c], neg);
    let mut words = vec![
        make(scale, 16, 6, [v(12), v(12), v(14)], 0),
        make(scale, 18, vcc, [v(14), v(12), v(14)], 0),
        make(rcp, 8, 0, [v(16), 0, 0], 0),
    ];
    words.extend(keep);
    words.extend([fma(6, v(16), v(8), one, 1), fma(8, v(6), v(8), v(8), 0)]);
    if double {
        words.extend([fma(6, v(16), v(8), one, 1), fma(8, v(8), v(6), v(8), 0)]);
    }
    words.push(make(mul, 6, 0, [v(18), v(8), 0], 0));
    if !double {
        words.extend([fma(4, v(16), v(6), v(18), 1), fma(6, v(4), v(8), v(6), 0)]);
    }
    words.push(fma(4, v(16), v(6), v(18), 1));
    words.extend(flush);
    words.push(make(fmas, 4, 0, [v(4), v(8), v(6)], 0));
    words.push(make(fixup, 20, 0, [v(4), v(12), v(14)], 0));
    words
}

#[test]
fn expanded_divisions_are_one() {
    // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3 and 4 (of which two bits count).
    let (keep, flush) = (0x3_ba00_0901u64, 0x4_ba00_0901u64);
    let cases = [(Gfx8, false, 0x3c0, true), (Gfx9, false, NEAREST, false), (Gfx7, true, 0x3c0, false)];
    for (generation, double, mode, toggles) in cases {
        let width = if double { Width::Double } else { Width::Single };
        let inputs: Vec<[u64; 3]> = inputs(width);
        let (on, off): (&[u64], &[u64]) = if toggles { (&[keep], &[flush]) } else { (&[], &[]) };
        let words = division_words(generation, double, on, off);
        // The same with the quotient read from elsewhere, which nobody can see through.
        let mut apart = words.clone();
        let fixup = apart.len() - 1;
        apart[fixup] = apart[fixup] & !(0x1ff << 32) | (0x100 + 10) << 32;
        let flattened = |words: &[u64]| -> Vec<u64> {
            run_words(generation, words, mode, &inputs)
                .into_iter()
                .flat_map(|results| results.lanes)
                .collect()
        };
        let (whole, apart) = (flattened(&words), flattened(&apart));
        for ((&[q, d, n], got), other) in inputs.iter().zip(whole).zip(apart) {
            let flushed = |x: u64| if toggles { width.flush(x) } else { x };
            let want = if double {
                (f64::from_bits(flushed(n)) / f64::from_bits(flushed(d))).to_bits()
            } else {
                (f32::from_bits(flushed(n) as u32) / f32::from_bits(flushed(d) as u32)).to_bits().into()
            };
            let want = if width.format().is_nan(want) { width.nan() } else { flushed(want) };
            let mask = if double { u64::MAX } else { 0xffff_ffff };
            assert_eq!(got & mask, want, "{n:x} / {d:x} on {generation}");
            let fixed = divide::fixup(width, flushed(q), flushed(d), flushed(n));
            assert_eq!(other & mask, fixed, "fix-up of {q:x}, {n:x} / {d:x} on {generation}");
        }
    }
}

#[test]
fn limits_of_clamp_and_omod() {
    let add = |flags, mode, a: f32, b: f32| {
        let inputs = [[u64::from(a.to_bits()), b.to_bits().into(), 0]];
        f32::from_bits(run(Op::V_ADD_F32, Gfx9, flags, mode, true, &inputs)[0] as u32)
    };
    let (mul2, mul4, div2) = (1 << 59, 2 << 59, 3u64 << 59);
    assert_eq!(add(CLAMP, NEAREST, 0.25, 0.5), 0.75);
    assert_eq!(add(CLAMP, NEAREST, 1.0, 0.5), 1.0);
    assert_eq!(add(CLAMP, NEAREST, -1.0, 0.5).to_bits(), 0);
    assert_eq!(add(CLAMP, NEAREST, -0.0, -0.0).to_bits(), 0);
    assert_eq!(add(CLAMP, NEAREST, f32::NAN, 0.5).to_bits(), 0);
    assert_eq!(add(CLAMP, NEAREST & !0x100, f32::NAN, 0.5).to_bits(), 0x7fc0_0000);
    assert_eq!([mul2, mul4, div2].map(|omod| add(omod, 0x3c0, 1.0, 2.0)), [6.0, 12.0, 1.5]);
    assert_eq!(add(mul2, NEAREST, 1.0, 2.0), 3.0, "not with denormals on");
    assert_eq!(add(div2, 0x3c0, f32::MIN_POSITIVE, 0.0), 0.0);
    assert_eq!(add(mul4 | CLAMP, 0x3c0, 0.125, 0.0625), 0.75);
}

#[test]
fn integers_saturate_where_told() {
    let one = |op, generation, a: u64, b: u64| {
        let inputs = [[a, b, 0]];
        let clamp = if generation < Gfx8 { 1 << 11 } else { CLAMP };
        run(op, generation, clamp, NEAREST, true, &inputs)[0] & 0xffff_ffff
    };
    assert_eq!(one(Op::V_ADD_U32, Gfx9, 0xffff_fff0, 0x20), 0xffff_ffff);
    assert_eq!(one(Op::V_SUB_U32, Gfx9, 1, 2), 0);
    assert_eq!(one(Op::V_SUBREV_U32, Gfx9, 1, 5), 4);
    assert_eq!(one(Op::V_ADD_I32, Gfx9, 0x7fff_fff0, 0x20), 0x7fff_ffff);
    assert_eq!(one(Op::V_SUB_I32, Gfx9, 0x8000_0000, 1), 0x8000_0000);
    assert_eq!(one(Op::V_SUB_I32, Gfx9, 5, 7), 0xffff_fffe);
    assert_eq!(one(Op::V_ADD_U16, Gfx8, 0xfff0, 0x20), 0xffff);
    assert_eq!(one(Op::V_SUB_U16, Gfx9, 3, 4), 0);
    assert_eq!(one(Op::V_ADD_I16, Gfx9, 0x7fff, 1), 0x1234_7fff);
    assert_eq!(one(Op::V_MAD_U32_U24, Gfx9, 0xff_ffff, 0xff_ffff), 0xffff_ffff);
    assert_eq!(one(Op::V_MAD_I32_I24, Gfx8, 0x80_0000, 0x7f_ffff), 0x8000_0000);
    assert_eq!(one(Op::V_PK_ADD_U16, Gfx9, 0xffff_0001, 0x0002_0003), 0xffff_0004);
    assert_eq!(one(Op::V_PK_SUB_I16, Gfx9, 0x8000_0001, 0x0001_0003), 0x8000_fffe);
    assert_eq!(one(Op::V_SAD_U32, Gfx9, 7, 3), 4);
}

#[test]
fn bytes_are_permuted_alike_with_constant_selectors() {
    let generation = Gfx9;
    let (high, low) = (0x8899_2abbu32, 0x4455_e677u32);
    let mut selectors = vec![0x0001_0203, 0x0405_0607, 0x0706_0504, 0x0302_0100, 0x0b0a_0908, 0xff0d_0c00];
    selectors.extend((0..200u32).map(|n| n.wrapping_mul(0x9e37_79b9) & 0x0f0f_0f0f));
    let word = encoded(Op::V_PERM_B32, generation).1;
    let move_row = rows().iter().find(|row| row.op == Op::S_MOV_B32).expect("s_mov_b32");
    let code = u64::from(move_row.code(generation).expect("there"));
    for selector in selectors {
        let inputs = [[high.into(), low.into(), selector.into()]];
        let want = u64::from(bytes::perm(high, low, selector));
        let varying = run_words(generation, &[word], NEAREST, &inputs)[0].lanes[0] & 0xffff_ffff;
        // s_mov_b32 s5, literal; the selector from s5.
        let set = 0xbe80_00ff | code << 8 | 5 << 16 | u64::from(selector) << 32;
        let from_scalar = word & !(0x1ff << 50) | 5 << 50;
        let constant = run_words(generation, &[set, from_scalar], NEAREST, &inputs)[0].lanes[0] & 0xffff_ffff;
        assert_eq!((varying, constant), (want, want), "{selector:x}");
    }
}

#[test]
fn wide_sums_of_differences() {
    let inputs = [[0x0605_0403_0201, 0x0403_0201, 0x0004_0003_0002_0001]];
    let one = |op| run(op, Gfx9, 0, NEAREST, true, &inputs)[0];
    assert_eq!(
        one(Op::V_QSAD_PK_U16_U8),
        bytes::qsad_pk(inputs[0][0], 0x0403_0201, inputs[0][2], false, false)
    );
    // The four sums of v_mqsad_u32_u8 begin in v20; v14 and v15 are the first two accumulators.
    assert_eq!(one(Op::V_MQSAD_U32_U8), 0x0002_0001 | (0x0004_0003 + 4) << 32);
}

/// What no compute program has: interpolation.
const ILLEGAL: [Op; 7] = [
    Op::V_INTERP_P1_F32,
    Op::V_INTERP_P2_F32,
    Op::V_INTERP_MOV_F32,
    Op::V_INTERP_P1LL_F16,
    Op::V_INTERP_P1LV_F16,
    Op::V_INTERP_P2_LEGACY_F16,
    Op::V_INTERP_P2_F16,
];

#[test]
fn every_vector_operation_is_lifted() {
    let formats = [Format::Vop1, Format::Vop2, Format::Vop3, Format::Vop3p];
    let mut count = 0;
    for row in rows().iter().filter(|row| formats.contains(&row.format)) {
        // Lane operations have other operands, and tests of their own.
        let lanes =
            ["READLANE", "WRITELANE", "READFIRSTLANE"].iter().any(|name| row.op.name().contains(name));
        if lanes || ILLEGAL.contains(&row.op) {
            continue;
        }
        for generation in row.generations() {
            if row.format != Format::Vop3p && row.long_code(generation).is_none() {
                continue;
            }
            let word = encoded(row.op, generation).1;
            // A fault would panic.
            run_words(row.chip(generation).unwrap(), &[word], NEAREST, &[[1, 2, 3]]);
            count += 1;
        }
    }
    assert!(count > 750, "{count}");
}
