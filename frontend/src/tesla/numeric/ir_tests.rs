//! Tests that the IR operations that the lifter uses give the same bits as the functions that model the chip.

use warpjit_ir::interp::eval_scalar;
use warpjit_ir::{Imm, Opcode, Scalar};

use super::{Rounding, f32};

/// Numbers round the borders, and random ones of like exponents.
fn samples() -> Vec<u32> {
    let mut samples = vec![
        0,
        1,
        0x007f_ffff,
        0x0080_0000,
        0x0080_0001,
        0x00ff_ffff,
        0x3f80_0000,
        0x3f80_0001,
        0x3fff_ffff,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0001,
    ];
    let mut state = 1u32;
    for exponent in [1, 2, 3, 24, 25, 63, 64, 65, 100, 120, 126, 127, 128, 150, 190, 253, 254] {
        for _ in 0..3 {
            state = state.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            samples.push(exponent << 23 | state >> 9);
        }
    }
    samples.extend(samples.clone().iter().map(|x| x | f32::SIGN));
    samples
}

fn ir(op: Opcode, args: &[u32]) -> u32 {
    let args: Vec<u64> = args.iter().map(|&x| x.into()).collect();
    let types = vec![Scalar::F32; args.len()];
    let value = eval_scalar(op, &Imm::Ftz(true), &types, Scalar::F32, &args);
    let bits = value.expect("a float operation") as u32;
    if f32::is_nan(bits) { f32::NAN } else { bits }
}

#[test]
fn add_mul_and_mad() {
    let samples = samples();
    for &a in &samples {
        for &b in &samples {
            assert_eq!(ir(Opcode::Fadd, &[a, b]), f32::add(a, b, Rounding::Nearest), "{a:x} + {b:x}");
            assert_eq!(ir(Opcode::Fmul, &[a, b]), f32::mul(a, b, Rounding::Nearest), "{a:x} * {b:x}");
            for &c in &samples {
                let (fast, exact) = (ir(Opcode::FmadTrunc, &[a, b, c]), f32::mad(a, b, c));
                // The model of the chip rounds a tiny sum to the grid of denormals before it flushes, so that
                // sums less than 2^-150 below the smallest normal number become that; the IR operation rounds to
                // 24 bits, and half as far below.
                let at_the_border = exact & !f32::SIGN == 0x0080_0000 && fast == exact & f32::SIGN;
                assert!(fast == exact || at_the_border, "{a:x} * {b:x} + {c:x}: {fast:x}, want {exact:x}");
            }
        }
    }
}
