//! Tests what gfx906 added against plain Rust: dot products, the fused multiply-add into a register, `v_xnor_b32`.

use super::vector_tests::{CLAMP, NEAREST, OLD, run};
use crate::gcn::Generation::Gfx9;
use crate::gcn::Op;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 ^ (self.0 >> 13) as u32
    }
}

/// Words of all kinds, and extreme parts and sums.
fn inputs() -> Vec<[u64; 3]> {
    let mut random = Random(9);
    let edges = [
        0,
        0x7fff_7fff,
        0x8000_8000,
        0xffff_ffff,
        0x8080_8080,
        0x7f7f_7f7f,
        0x8888_8888,
        0x7fff_ffff,
        0x8000_0000,
    ];
    let mut list = Vec::new();
    for a in edges {
        for b in edges {
            for c in [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fff0] {
                list.push([a, b, c]);
            }
        }
    }
    list.extend((0..300).map(|_| [0; 3].map(|_| u64::from(random.next()))));
    list
}

/// Part `n` of a word.
fn part(word: u64, n: u32, bits: u32, signed: bool) -> i64 {
    let field = (word >> (n * bits) & ((1 << bits) - 1)) as i64;
    if signed && field >> (bits - 1) != 0 { field - (1 << bits) } else { field }
}

#[test]
fn integer_products() {
    let inputs = inputs();
    for (op, bits, signed) in [
        (Op::V_DOT2_I32_I16, 16, true),
        (Op::V_DOT2_U32_U16, 16, false),
        (Op::V_DOT4_I32_I8, 8, true),
        (Op::V_DOT4_U32_U8, 8, false),
        (Op::V_DOT8_I32_I4, 4, true),
        (Op::V_DOT8_U32_U4, 4, false),
    ] {
        let exact = |[a, b, c]: [u64; 3]| {
            let sum: i64 = (0..32 / bits).map(|n| part(a, n, bits, signed) * part(b, n, bits, signed)).sum();
            sum + part(c, 0, 32, signed)
        };
        for clamp in [false, true] {
            let got = run(op, Gfx9, if clamp { CLAMP } else { 0 }, NEAREST, true, &inputs);
            for (&input, got) in inputs.iter().zip(got) {
                let sum = exact(input);
                let want = match (clamp, signed) {
                    (false, _) => sum as u32,
                    (true, true) => sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
                    (true, false) => sum.clamp(0, u32::MAX.into()) as u32,
                };
                assert_eq!(got as u32, want, "{} {input:x?} clamp {clamp}", op.name());
            }
        }
    }
    // With op_sel the high half of the first source stands for the low one, too.
    let got = run(Op::V_DOT2_I32_I16, Gfx9, 1 << 11, NEAREST, true, &[[0x0003_0005, 0x0007_000b, 100]]);
    assert_eq!(got[0] as u32, 3 * 11 + 3 * 7 + 100);
}

#[test]
fn half_products() {
    // 1.5 * 2 + (-3) * 0.25 + 10
    let inputs = [[0xc200_3e00, 0x3400_4000, u64::from(10f32.to_bits())]];
    let value =
        |flags| f32::from_bits(run(Op::V_DOT2_F32_F16, Gfx9, flags, NEAREST, true, &inputs)[0] as u32);
    assert_eq!(value(0), 12.25);
    // neg_lo of the first source, neg_hi of the second, both of the third.
    assert_eq!(value(1 << 61), 10.0 - 3.0 - 0.75);
    assert_eq!(value(1 << 9), 13.75);
    assert_eq!(value(1 << 63), -7.75);
    assert_eq!(value(CLAMP), 1.0);
    // Products are exact; each sum is rounded.
    let tiny = [[0x3c00_3c00, 0x0c00_3c01, u64::from(4f32.to_bits())]];
    let first = 4.0f32 + 1.000_976_6;
    let got = run(Op::V_DOT2_F32_F16, Gfx9, 0, NEAREST, true, &tiny)[0] as u32;
    assert_eq!(f32::from_bits(got), first + 2f32.powi(-12));
}

#[test]
fn fused_into_the_register_and_xnor() {
    let inputs = inputs();
    let got = run(Op::V_XNOR_B32, Gfx9, 0, NEAREST, true, &inputs);
    for ([a, b, _], got) in inputs.iter().zip(got) {
        assert_eq!(got as u32, !(a ^ b) as u32);
    }
    let old = f32::from_bits(OLD as u32);
    let numbers: Vec<[u64; 3]> = [1.5f32, -3.25, 1e10, 1e-20, 0.1, 7e-39]
        .into_iter()
        .flat_map(|a| [0.3f32, -1e3, 1e-19].map(|b| [a.to_bits().into(), b.to_bits().into(), 0]))
        .collect();
    let got = run(Op::V_FMAC_F32, Gfx9, 0, NEAREST, true, &numbers);
    for ([a, b, _], got) in numbers.iter().zip(got) {
        let want = f32::from_bits(*a as u32).mul_add(f32::from_bits(*b as u32), old);
        assert_eq!(got as u32, want.to_bits());
    }
}
