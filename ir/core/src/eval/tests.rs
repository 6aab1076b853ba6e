//! Tests pure operations against values computed by hand, and float arithmetic against exact integer arithmetic.

use super::*;
use crate::WordTable;
use crate::opcodes::{AtomicOp, FloatCC, IntCC, Sig};
use Opcode::*;
use Scalar::*;

fn eval(op: Opcode, imm: Imm, types: &[Scalar], result: Scalar, args: &[u64]) -> u64 {
    eval_scalar(op, &imm, types, result, args).unwrap_or_else(|| panic!("{} {types:?}", op.name()))
}

/// Operands of one type, that of the result.
fn same(op: Opcode, ty: Scalar, args: &[u64]) -> u64 {
    eval(op, Imm::None, &vec![ty; args.len()], ty, args)
}

fn f32s(op: Opcode, ftz: bool, args: &[f32]) -> f32 {
    let bits: Vec<u64> = args.iter().map(|a| u64::from(a.to_bits())).collect();
    f32::from_bits(eval(op, Imm::Ftz(ftz), &vec![F32; args.len()], F32, &bits) as u32)
}

fn f64s(op: Opcode, ftz: bool, args: &[f64]) -> f64 {
    let bits: Vec<u64> = args.iter().map(|a| a.to_bits()).collect();
    f64::from_bits(eval(op, Imm::Ftz(ftz), &vec![F64; args.len()], F64, &bits))
}

fn convert(op: Opcode, from: Scalar, to: Scalar, bits: u64) -> u64 {
    eval(op, Imm::None, &[from], to, &[bits])
}

#[track_caller]
fn assert_f32(got: f32, want: f32) {
    assert_eq!(got.to_bits(), want.to_bits(), "got {got:e} wanted {want:e}");
}

/// 2^e as f32, denormals included.
fn p2(e: i32) -> f32 {
    (2f64).powi(e) as f32
}

static TABLE: WordTable = WordTable::new("test.table", &[0xffff_ffff; 16]);

#[test]
fn every_pure_operation_evaluates_in_each_of_its_types() {
    for &op in Opcode::ALL {
        let imm = match op {
            Const | Fcanon => Imm::Bits(1),
            Icmp => Imm::Int(IntCC::Eq),
            Fcmp => Imm::FloatCmp(FloatCC::Eq, false),
            Lookup => Imm::Table(&TABLE),
            _ => Imm::None,
        };
        let check = |types: &[Scalar], result: Scalar| {
            let got = eval_scalar(op, &imm, types, result, &vec![1; types.len()]);
            let got = got.unwrap_or_else(|| panic!("{} {types:?} -> {result:?}", op.name()));
            assert_eq!(got & !result.bit_mask(), 0, "{} is not canonical", op.name());
        };
        if !op.is_pure() || op == CallPure || op.differs_by_lane() {
            continue;
        }
        match op.sig() {
            Sig::Const => Scalar::ALL.iter().for_each(|&t| check(&[], t)),
            Sig::Same(n, types) => types.iter().for_each(|&t| check(&vec![t; usize::from(n)], t)),
            Sig::Fixed(types, result) => check(types, result),
            Sig::Compare(types) => types.iter().for_each(|&t| check(&[t, t], I1)),
            Sig::Select => Scalar::ALL.iter().for_each(|&t| check(&[I1, t, t], t)),
            Sig::Convert(pairs) => pairs.iter().for_each(|&(from, to)| check(&[from], to)),
            Sig::Special => panic!("{} is pure and special", op.name()),
        }
    }
}

#[test]
fn wrong_types_and_effects_do_not_evaluate() {
    assert_eq!(eval_scalar(Iadd, &Imm::None, &[F32, F32], F32, &[0, 0]), None);
    assert_eq!(eval_scalar(FmadTrunc, &Imm::None, &[F64; 3], F64, &[0; 3]), None);
    assert_eq!(eval_scalar(Fpromote, &Imm::None, &[F64], F32, &[0]), None);
    assert_eq!(eval_scalar(Icmp, &Imm::None, &[I32, I32], I1, &[0, 0]), None);
    assert_eq!(eval_scalar(Load, &Imm::None, &[I32], I32, &[0]), None);
    assert_eq!(eval_scalar(Ballot, &Imm::None, &[I1], I64, &[1]), None);
}

#[test]
fn integer_arithmetic() {
    assert_eq!(same(Iadd, I32, &[0xffff_ffff, 2]), 1);
    assert_eq!(same(Iadd, I64, &[u64::MAX, 2]), 1);
    assert_eq!(same(Isub, I32, &[0, 1]), 0xffff_ffff);
    assert_eq!(same(Isub, I64, &[0, 1]), u64::MAX);
    assert_eq!(same(Imul, I32, &[0x1_0001, 0x1_0001]), 0x2_0001);
    assert_eq!(same(Imul, I64, &[1 << 33, 1 << 31]), 0);
    assert_eq!(same(Umulhi, I32, &[0xffff_ffff, 0xffff_ffff]), 0xffff_fffe);
    assert_eq!(same(Umulhi, I64, &[u64::MAX, u64::MAX]), u64::MAX - 1);
    assert_eq!(same(Smulhi, I32, &[0xffff_ffff, 0xffff_ffff]), 0);
    assert_eq!(same(Smulhi, I32, &[0x8000_0000, 2]), 0xffff_ffff);
    assert_eq!(same(Smulhi, I32, &[0x8000_0000, 0x8000_0000]), 0x4000_0000);
    assert_eq!(same(Smulhi, I64, &[1 << 63, 2]), u64::MAX);
    assert_eq!(same(Ineg, I32, &[0x8000_0000]), 0x8000_0000);
    assert_eq!(same(Ineg, I64, &[1]), u64::MAX);
    assert_eq!(same(Umin, I32, &[0xffff_ffff, 1]), 1);
    assert_eq!(same(Umax, I32, &[0xffff_ffff, 1]), 0xffff_ffff);
    assert_eq!(same(Smin, I32, &[0xffff_ffff, 1]), 0xffff_ffff);
    assert_eq!(same(Smax, I32, &[0xffff_ffff, 1]), 1);
    assert_eq!(same(Smin, I64, &[u64::MAX, 1]), u64::MAX);
    assert_eq!(same(Smax, I64, &[1 << 63, 0]), 0);
}

#[test]
fn logic_and_bits() {
    assert_eq!(same(Iand, I32, &[0b1100, 0b1010]), 0b1000);
    assert_eq!(same(Ior, I64, &[0b1100, 0b1010]), 0b1110);
    assert_eq!(same(Ixor, I1, &[1, 1]), 0);
    assert_eq!(same(Inot, I1, &[1]), 0);
    assert_eq!(same(Inot, I1, &[0]), 1);
    assert_eq!(same(Inot, I32, &[0xf]), 0xffff_fff0);
    assert_eq!(same(Inot, I64, &[0]), u64::MAX);
    assert_eq!(same(Popcnt, I32, &[0xf0f0_0001]), 9);
    assert_eq!(same(Popcnt, I64, &[u64::MAX]), 64);
    assert_eq!(same(Clz, I32, &[0]), 32);
    assert_eq!(same(Clz, I32, &[1]), 31);
    assert_eq!(same(Clz, I64, &[0]), 64);
    assert_eq!(same(Ctz, I32, &[0]), 32);
    assert_eq!(same(Ctz, I32, &[8]), 3);
    assert_eq!(same(Ctz, I64, &[0]), 64);
    assert_eq!(same(Bitrev, I32, &[1]), 0x8000_0000);
    assert_eq!(same(Bitrev, I64, &[2]), 1 << 62);
    assert_eq!(same(Bswap, I32, &[0x1122_3344]), 0x4433_2211);
    assert_eq!(same(Bswap, I64, &[0x1122]), 0x2211 << 48);
}

#[test]
fn shift_counts_are_modulo_the_width() {
    assert_eq!(same(Ishl, I32, &[1, 33]), 2);
    assert_eq!(same(Ishl, I64, &[1, 33]), 1 << 33);
    assert_eq!(same(Ishl, I64, &[1, 65]), 2);
    assert_eq!(same(Ushr, I32, &[0x8000_0000, 31]), 1);
    assert_eq!(same(Ushr, I32, &[0x8000_0000, 32]), 0x8000_0000);
    assert_eq!(same(Sshr, I32, &[0x8000_0000, 31]), 0xffff_ffff);
    assert_eq!(same(Sshr, I32, &[0x8000_0000, 0xffff_ffe1]), 0xc000_0000);
    assert_eq!(same(Sshr, I64, &[1 << 63, 63]), u64::MAX);
    assert_eq!(same(Sshr, I64, &[1 << 63, (1 << 32) | 64]), 1 << 63);
    assert_eq!(same(Rotl, I32, &[0x8000_0001, 33]), 3);
    assert_eq!(same(Rotl, I64, &[(1 << 63) | 1, 65]), 3);
}

#[test]
fn integer_comparison() {
    let cases = [
        (IntCC::Eq, [0, 1, 0]),
        (IntCC::Ne, [1, 0, 1]),
        (IntCC::Slt, [1, 0, 0]),
        (IntCC::Sle, [1, 1, 0]),
        (IntCC::Sgt, [0, 0, 1]),
        (IntCC::Sge, [0, 1, 1]),
        (IntCC::Ult, [0, 0, 1]),
        (IntCC::Ule, [0, 1, 1]),
        (IntCC::Ugt, [1, 0, 0]),
        (IntCC::Uge, [1, 1, 0]),
    ];
    for (cc, want) in cases {
        for (pair, want) in [(-1i64, 1i64), (7, 7), (1, -1)].into_iter().zip(want) {
            let (a, b) = pair;
            assert_eq!(eval(Icmp, Imm::Int(cc), &[I64, I64], I1, &[a as u64, b as u64]), want, "{cc:?}");
            let (a, b) = (u64::from(a as u32), u64::from(b as u32));
            assert_eq!(eval(Icmp, Imm::Int(cc), &[I32, I32], I1, &[a, b]), want, "{cc:?}");
        }
    }
}

#[test]
fn float_comparison() {
    // Less, equal, greater, unordered.
    let cases = [
        (FloatCC::Eq, 0b0100),
        (FloatCC::Lt, 0b1000),
        (FloatCC::Le, 0b1100),
        (FloatCC::Gt, 0b0010),
        (FloatCC::Ge, 0b0110),
        (FloatCC::One, 0b1010),
        (FloatCC::Ord, 0b1110),
        (FloatCC::Uno, 0b0001),
        (FloatCC::Ueq, 0b0101),
        (FloatCC::Ult, 0b1001),
        (FloatCC::Ule, 0b1101),
        (FloatCC::Ugt, 0b0011),
        (FloatCC::Uge, 0b0111),
        (FloatCC::Ne, 0b1011),
    ];
    let pairs: [(f64, f64); 4] = [(1.0, 2.0), (0.0, -0.0), (f64::INFINITY, 1.0), (f64::NAN, 1.0)];
    for (cc, want) in cases {
        for (i, (a, b)) in pairs.into_iter().enumerate() {
            let want = want >> (3 - i) & 1;
            for ftz in [false, true] {
                let imm = Imm::FloatCmp(cc, ftz);
                assert_eq!(eval(Fcmp, imm, &[F64, F64], I1, &[a.to_bits(), b.to_bits()]), want, "{cc:?}");
                let narrow = [a, b].map(|x| u64::from((x as f32).to_bits()));
                assert_eq!(eval(Fcmp, imm, &[F32, F32], I1, &narrow), want, "{cc:?}");
            }
        }
    }
    let cmp = |ftz| eval(Fcmp, Imm::FloatCmp(FloatCC::Lt, ftz), &[F32, F32], I1, &[0, 1]);
    assert_eq!((cmp(false), cmp(true)), (1, 0));
}

#[test]
fn plain_float_arithmetic() {
    assert_f32(f32s(Fadd, false, &[1.0, p2(-24)]), 1.0);
    assert_f32(f32s(Fadd, false, &[1.0, p2(-24) * 1.5]), 1.0 + p2(-23));
    assert_f32(f32s(Fsub, false, &[p2(-126), p2(-149)]), p2(-126) - p2(-149));
    assert_f32(f32s(Fmul, false, &[p2(-100), p2(-49)]), p2(-149));
    assert_f32(f32s(Fdiv, false, &[1.0, 0.0]), f32::INFINITY);
    assert_f32(f32s(Fsqrt, false, &[-0.0]), -0.0);
    assert!(f32s(Fsqrt, false, &[-1.0]).is_nan());
    // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the last bit survives only when fused.
    let a = 1.0 + p2(-12);
    assert_f32(f32s(Fma, false, &[a, a, -(1.0 + p2(-11))]), p2(-24));
    let a = 1.0 + (2f64).powi(-27);
    assert_eq!(f64s(Fma, false, &[a, a, -(1.0 + (2f64).powi(-26))]), (2f64).powi(-54));
    assert_eq!(f64s(Fadd, false, &[1e300, 1e300]), 2e300);
    assert_eq!(f64s(Fsub, false, &[1.0, 0.25]), 0.75);
    assert_eq!(f64s(Fmul, false, &[3.0, -0.5]), -1.5);
    assert_eq!(f64s(Fdiv, false, &[3.0, 2.0]), 1.5);
    assert_eq!(f64s(Fsqrt, false, &[2.25]), 1.5);
}

#[test]
fn lesser_greater_and_signalling() {
    let (nan, signalling) = (0x7fc0_0000, 0xff80_0001);
    for (a, b, lesser, greater) in [
        (0, 0x8000_0000, 0x8000_0000, 0),
        (0x8000_0000, 0, 0x8000_0000, 0),
        (1, 0, 0, 1),
        (0x8000_0001, 0x8000_0002, 0x8000_0002, 0x8000_0001),
        (0xbf80_0000, 0x3f80_0000, 0xbf80_0000, 0x3f80_0000),
        (0xff80_0000, 0x7f80_0000, 0xff80_0000, 0x7f80_0000),
        (nan, 1, 1, 1),
        (1, nan, 1, 1),
        (signalling, 0x8000_0000, 0x8000_0000, 0x8000_0000),
        (0xff80_0000, signalling, 0xff80_0000, 0xff80_0000),
    ] {
        assert_eq!((same(Fmin, F32, &[a, b]), same(Fmax, F32, &[a, b])), (lesser, greater), "{a:x} {b:x}");
    }
    assert!(f32::from_bits(same(Fmin, F32, &[nan, signalling]) as u32).is_nan());
    assert_eq!(same(Fmin, F64, &[0, 1 << 63]), 1 << 63);
    assert_eq!(same(Fmax, F64, &[0x7ff0_0000_0000_0001, 1]), 1);
    let signals = |ty, a, b| eval(Fsignals, Imm::None, &[ty, ty], I1, &[a, b]);
    assert_eq!(signals(F32, nan, signalling), 1);
    assert_eq!(signals(F32, 0x7fbf_ffff, 0), 1);
    assert_eq!(signals(F32, 0x7f80_0000, 0xffc0_0000), 0);
    assert_eq!(signals(F64, 0x7ff0_0000_0000_0001, 0), 1);
    assert_eq!(signals(F64, 0xfff8_0000_0000_0000, 0x7ff0_0000_0000_0000), 0);
}

#[test]
fn signs_rounding_flush_and_nan() {
    assert_eq!(same(Fneg, F32, &[0x7fc0_1234]), 0xffc0_1234);
    assert_eq!(same(Fabs, F32, &[0xff80_0001]), 0x7f80_0001);
    assert_eq!(same(Fneg, F64, &[0]), 1 << 63);
    assert_eq!(same(Fabs, F64, &[(1 << 63) | 5]), 5);
    for (x, floor, ceil, trunc, near) in [
        (2.5f32, 2.0, 3.0, 2.0, 2.0),
        (-2.5, -3.0, -2.0, -2.0, -2.0),
        (3.5, 3.0, 4.0, 3.0, 4.0),
        (-0.5, -1.0, -0.0, -0.0, -0.0),
        (0.75, 0.0, 1.0, 0.0, 1.0),
        (8388609.0, 8388609.0, 8388609.0, 8388609.0, 8388609.0),
    ] {
        for (op, want) in [(Ffloor, floor), (Fceil, ceil), (Ftrunc, trunc), (Fnearest, near)] {
            assert_f32(f32s(op, false, &[x]), want);
            assert_eq!(f64s(op, false, &[f64::from(x)]).to_bits(), f64::from(want).to_bits());
        }
    }
    assert_eq!(same(Fflush, F32, &[0x807f_ffff]), 0x8000_0000);
    assert_eq!(same(Fflush, F32, &[0x0080_0000]), 0x0080_0000);
    assert_eq!(same(Fflush, F32, &[0x7f80_0001]), 0x7f80_0001);
    assert_eq!(same(Fflush, F64, &[0x000f_ffff_ffff_ffff]), 0);
    assert_eq!(same(Fflush, F64, &[0xfff0_0000_0000_0001]), 0xfff0_0000_0000_0001);
    let canon = |ty, bits| eval(Fcanon, Imm::Bits(0x7fff_ffff), &[ty], ty, &[bits]);
    assert_eq!(canon(F32, 0xff80_0001), 0x7fff_ffff);
    assert_eq!(canon(F32, 0xff80_0000), 0xff80_0000);
    assert_eq!(canon(F64, 0x7ff0_0000_0000_0000), 0x7ff0_0000_0000_0000);
    assert_eq!(canon(F64, 0x7ff0_0000_0000_0001), 0x7fff_ffff);
}

#[test]
fn flushing_decides_after_rounding_with_unbounded_exponent() {
    let least = f32::MIN_POSITIVE;
    let denormal = f32::from_bits(0x007f_ffff);
    // Operands.
    assert_f32(f32s(Fadd, true, &[denormal, denormal]), 0.0);
    assert_f32(f32s(Fadd, true, &[-denormal, -0.0]), -0.0);
    assert_f32(f32s(Fmul, true, &[denormal, p2(100)]), 0.0);
    assert_f32(f32s(Fdiv, true, &[1.0, -denormal]), f32::NEG_INFINITY);
    assert_f32(f32s(Fsqrt, true, &[-denormal]), -0.0);
    // Results.
    assert_f32(f32s(Fsub, true, &[-least, -least * 1.5]), 0.0);
    assert_f32(f32s(Fsub, true, &[least, least * 1.5]), -0.0);
    assert_f32(f32s(Fadd, true, &[least * 1.5, -least * 0.75]), least * 1.5);
    assert_f32(f32s(Fadd, true, &[least * 2.0, -least]), least);
    // (2 - 2^-23) * 2^-127: 24 bits, exact with unbounded exponent, though the denormal grid rounds it up to 2^-126.
    let ones = 2.0 - p2(-23);
    assert_f32(f32s(Fmul, false, &[ones, p2(-63) * p2(-64)]), least);
    let near = [ones * p2(-60), p2(-67)];
    assert_f32(f32s(Fmul, false, &near), least);
    assert_f32(f32s(Fmul, true, &near), 0.0);
    assert_f32(f32s(Fmul, true, &[-near[0], near[1]]), -0.0);
    assert_f32(f32s(Fma, true, &[near[0], near[1], 0.0]), 0.0);
    assert_f32(f32s(Fdiv, true, &[near[0], p2(67)]), 0.0);
    // 25 ones * 2^-127 lie half way to 2^-126 and round to even: up. (2^25 - 1 = 31 * 601 * 1801.)
    let tie = [(31.0 * 601.0) * p2(-75), 1801.0 * p2(-76)];
    assert_f32(f32s(Fmul, true, &tie), least);
    assert_f32(f32s(Fma, true, &[tie[0], tie[1], 0.0]), least);
    // The same in f64.
    let ones = 2.0 - f64::EPSILON;
    let near = [ones * (2f64).powi(-500), (2f64).powi(-523)];
    assert_eq!(f64s(Fmul, false, &near), f64::MIN_POSITIVE);
    assert_eq!(f64s(Fmul, true, &near), 0.0);
    assert_eq!(f64s(Fdiv, true, &[near[0], (2f64).powi(523)]), 0.0);
    assert_eq!(f64s(Fma, true, &[near[0], near[1], 0.0]), 0.0);
    assert_eq!(f64s(Fadd, true, &[f64::MIN_POSITIVE, -f64::MIN_POSITIVE / 2.0]), f64::MIN_POSITIVE);
    assert_eq!(f64s(Fadd, true, &[f64::MIN_POSITIVE * 1.5, -f64::MIN_POSITIVE]), 0.0);
    assert_eq!(f64s(Fadd, true, &[f64::MIN_POSITIVE * 2.0, -f64::MIN_POSITIVE]), f64::MIN_POSITIVE);
    // f64 to f32.
    let demote =
        |x: f64, ftz| f32::from_bits(eval(Fdemote, Imm::Ftz(ftz), &[F64], F32, &[x.to_bits()]) as u32);
    let limit = (1.0 - (2f64).powi(-25)) * (2f64).powi(-126);
    assert_f32(demote(limit, true), least);
    assert_f32(demote(f64::from_bits(limit.to_bits() - 1), true), 0.0);
    assert_f32(demote(f64::from_bits(limit.to_bits() - 1), false), least);
    assert_f32(demote(-(2f64).powi(-140), true), -0.0);
    assert_f32(demote((2f64).powi(-140), false), p2(-140));
}

#[test]
fn multiply_add_truncates_its_product() {
    let mad = |a, b, c| f32s(FmadTrunc, true, &[a, b, c]);
    let a = 1.0 + p2(-12) + p2(-23);
    // a^2 = 1 + 2^-11 + 2^-22 + 2^-24 + 2^-34 + 2^-46: truncated to 1 + 2^-11 + 2^-22.
    assert_f32(mad(a, a, -1.0), p2(-11) + p2(-22));
    assert_f32(mad(a, -a, 1.0), -(p2(-11) + p2(-22)));
    // Rounding would give one unit more: 1.5 * (1 + 2^-23) = 1.5 + 1.5 * 2^-23.
    let b = 1.0 + p2(-23);
    assert_f32(mad(1.5, b, 1.0), 2.5);
    // A zero addend rounds the product: 1.5 + 2 * 2^-23, a flushed denormal counts as zero.
    assert_f32(mad(1.5, b, 0.0), 1.5 + p2(-22));
    assert_f32(mad(1.5, b, f32::from_bits(1)), 1.5 + p2(-22));
    // The product neither overflows nor underflows.
    assert_f32(mad(p2(127), 2.0, -p2(127)), p2(127));
    assert_f32(mad(p2(-100), p2(-100), -0.0), 0.0);
    assert_f32(mad(p2(-63), p2(-64), p2(-126)), p2(-126) * 1.5);
    assert_f32(mad(p2(-63), p2(-64), -p2(-126)), -0.0);
    assert_f32(mad(f32::from_bits(0x7fff), p2(30), 1.0), 1.0);
    // Infinities and zeros.
    assert_f32(mad(f32::INFINITY, 2.0, -1.0), f32::INFINITY);
    assert!(mad(f32::INFINITY, 0.0, 1.0).is_nan());
    assert!(mad(f32::INFINITY, 1.0, f32::NEG_INFINITY).is_nan());
    assert!(mad(1.0, 1.0, f32::NAN).is_nan());
    assert_f32(mad(-0.0, 1.0, -0.0), -0.0);
    assert_f32(mad(-0.0, 1.0, 0.0), 0.0);
    assert_f32(mad(1.0, 1.0, -1.0), 0.0);
}

/// m * 2^e rounded to 24 bits with unbounded exponent, then flushed or overflown.
fn round24(m: i128, mut e: i32) -> f32 {
    let (negative, mut m) = (m < 0, m.unsigned_abs());
    let extra = (128 - m.leading_zeros() as i32) - 24;
    if extra > 0 {
        let (rest, half) = (m & ((1 << extra) - 1), 1 << (extra - 1));
        m >>= extra;
        m += u128::from(rest > half || rest == half && m & 1 != 0);
        e += extra;
    }
    let size = m as f64 * (2f64).powi(e);
    let size = if size < f64::from(f32::MIN_POSITIVE) { 0.0 } else { size as f32 };
    if negative { -size } else { size }
}

/// Significand with sign, and exponent, of a flushed float.
fn split(x: f32) -> (i128, i32) {
    let x = f32::from_bits(eval(Fflush, Imm::None, &[F32], F32, &[u64::from(x.to_bits())]) as u32);
    if x == 0.0 {
        return (0, 0);
    }
    let (bits, e) = (x.to_bits() & 0x7f_ffff | 0x80_0000, (x.to_bits() >> 23 & 255) as i32 - 150);
    (if x < 0.0 { -i128::from(bits) } else { i128::from(bits) }, e)
}

#[test]
fn flushing_arithmetic_agrees_with_integers() {
    let mut state = 0x1234_5678_9abc_def0u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    // Significands with long runs make ties and near ties; exponents near the least.
    let mut float = |e: i32| {
        let r = next();
        let fraction = match r >> 60 {
            0..4 => 0,
            4..7 => 0x7f_ffff,
            7..9 => 0x7f_ffff & !(1 << (r % 23)) as u32,
            9..11 => 1 << (r % 23),
            _ => (r >> 20) as u32 & 0x7f_ffff,
        };
        let exponent = (e + 127 + (r >> 8 & 3) as i32).clamp(0, 254) as u32;
        f32::from_bits(((r >> 30) as u32 & 0x8000_0000) | exponent << 23 | fraction)
    };
    let sum = |m: i128, e: i32, n: i128, f: i32| {
        if m == 0 {
            return (n, f);
        }
        if n == 0 {
            return (m, e);
        }
        let low = e.min(f);
        ((m << (e - low)) + (n << (f - low)), low)
    };
    // Results that are zero have no sign here.
    let agree = |got: f32, want: f32, what: &str, x: [f32; 3]| {
        assert!(
            got.to_bits() == want.to_bits() || (got == 0.0 && want == 0.0),
            "{what} {x:?}: {got:e} {want:e}"
        );
    };
    for i in 0..200_000 {
        let e = if i & 1 == 0 { -64 } else { -20 };
        let (a, b, c) = (float(e), float(-63), float(if i & 1 == 0 { -127 } else { -90 + i % 17 }));
        let ((m, em), (n, en), (k, ek)) = (split(a), split(b), split(c));
        let (p, ep) = (m * n, em + en);
        agree(f32s(Fmul, true, &[a, b]), round24(p, ep), "mul", [a, b, c]);
        let (s, es) = sum(p, ep, k, ek);
        agree(f32s(Fma, true, &[a, b, c]), round24(s, es), "fma", [a, b, c]);
        let want = if k == 0 {
            round24(p, ep)
        } else {
            let cut = ((128 - p.unsigned_abs().leading_zeros() as i32) - 24).max(0);
            // Division truncates towards zero, a shift would not.
            let (s, es) = sum(p / (1 << cut), ep + cut, k, ek);
            round24(s, es)
        };
        agree(f32s(FmadTrunc, true, &[a, b, c]), want, "mad", [a, b, c]);
        let (s, es) = sum(m, em, k, ek);
        agree(f32s(Fadd, true, &[a, c]), round24(s, es), "add", [a, b, c]);
        if n != 0 && m != 0 {
            // The quotient to 64 more bits, and one for what is left of it.
            let (q, rest) = ((m << 64) / n, (m << 64) % n);
            let sticky = if q < 0 { -i128::from(rest != 0) } else { i128::from(rest != 0) };
            let a = a * p2(-60);
            if a.is_normal() {
                let got = f32s(Fdiv, true, &[a, b * p2(60)]);
                agree(got, round24(q * 2 + sticky, em - en - 65 - 120), "div", [a, b, c]);
            }
        }
    }
}

#[test]
fn integer_conversions() {
    assert_eq!(convert(Zext, I32, I64, 0x8000_0000), 0x8000_0000);
    assert_eq!(convert(Sext, I32, I64, 0x8000_0000), 0xffff_ffff_8000_0000);
    assert_eq!(convert(Trunc, I64, I32, 0x1234_5678_9abc_def0), 0x9abc_def0);
    assert_eq!(convert(Bmask, I1, I32, 1), 0xffff_ffff);
    assert_eq!(convert(Bmask, I1, I64, 1), u64::MAX);
    assert_eq!(convert(Bmask, I1, I64, 0), 0);
    assert_eq!(convert(Bitcast, I32, F32, 0x7f80_0001), 0x7f80_0001);
    assert_eq!(convert(Bitcast, F64, I64, 0x7ff0_0000_0000_0001), 0x7ff0_0000_0000_0001);
}

#[test]
fn float_to_integer_clamps() {
    let f = |x: f32| u64::from(x.to_bits());
    for (x, s32, u32s, s64, u64s) in [
        (-1.9f32, -1i32, 0u32, -1i64, 0u64),
        (f32::NAN, 0, 0, 0, 0),
        (f32::INFINITY, i32::MAX, u32::MAX, i64::MAX, u64::MAX),
        (f32::NEG_INFINITY, i32::MIN, 0, i64::MIN, 0),
        (2147483648.0, i32::MAX, 1 << 31, 1 << 31, 1 << 31),
        (-2147483648.0, i32::MIN, 0, -(1 << 31), 0),
        (4294967296.0, i32::MAX, u32::MAX, 1 << 32, 1 << 32),
        (9.9, 9, 9, 9, 9),
    ] {
        assert_eq!(convert(FcvtToSint, F32, I32, f(x)), u64::from(s32 as u32), "{x}");
        assert_eq!(convert(FcvtToUint, F32, I32, f(x)), u64::from(u32s), "{x}");
        assert_eq!(convert(FcvtToSint, F32, I64, f(x)), s64 as u64, "{x}");
        assert_eq!(convert(FcvtToUint, F32, I64, f(x)), u64s, "{x}");
        let d = f64::from(x).to_bits();
        assert_eq!(convert(FcvtToSint, F64, I32, d), u64::from(s32 as u32), "{x}");
        assert_eq!(convert(FcvtToUint, F64, I32, d), u64::from(u32s), "{x}");
        assert_eq!(convert(FcvtToSint, F64, I64, d), s64 as u64, "{x}");
        assert_eq!(convert(FcvtToUint, F64, I64, d), u64s, "{x}");
    }
}

#[test]
fn integer_to_float_rounds_once() {
    let f32_of = |op, from, bits| f32::from_bits(convert(op, from, F32, bits) as u32);
    let f64_of = |op, from, bits| f64::from_bits(convert(op, from, F64, bits));
    // 2^24 + 1 is a tie, 2^24 + 3 one to the other side.
    assert_f32(f32_of(FcvtFromUint, I32, 0x100_0001), 16777216.0);
    assert_f32(f32_of(FcvtFromUint, I32, 0x100_0003), 16777220.0);
    assert_f32(f32_of(FcvtFromSint, I32, 0xffff_ffff), -1.0);
    assert_f32(f32_of(FcvtFromUint, I32, 0xffff_ffff), 4294967296.0);
    assert_f32(f32_of(FcvtFromSint, I64, 1 << 63), -9223372036854775808.0);
    // Through f64 this would round to the tie 2^60 + 2^36 first and then down to even.
    assert_f32(f32_of(FcvtFromUint, I64, (1 << 60) + (1 << 36) + 1), p2(60) + p2(37));
    assert_f32(f32_of(FcvtFromSint, I64, (1 << 60) + (1 << 36) + 1), p2(60) + p2(37));
    assert_eq!(f64_of(FcvtFromSint, I32, 0x8000_0000), -2147483648.0);
    assert_eq!(f64_of(FcvtFromUint, I32, 0x8000_0000), 2147483648.0);
    assert_eq!(f64_of(FcvtFromUint, I64, u64::MAX), 18446744073709551616.0);
    assert_eq!(f64_of(FcvtFromSint, I64, u64::MAX), -1.0);
    assert_eq!(f64_of(FcvtFromSint, I64, (1 << 53) + 1), 9007199254740992.0);
    assert_eq!(f64_of(Fpromote, F32, 1), (2f64).powi(-149));
}

#[test]
fn halves() {
    let to = |bits| convert(F16ToF32, I32, F32, bits);
    let from = |x: f32| convert(F32ToF16, F32, I32, u64::from(x.to_bits()));
    assert_eq!(to(0x3c00), u64::from(1f32.to_bits()));
    assert_eq!(to(0xffff_c000), u64::from((-2f32).to_bits()));
    assert_eq!(to(0x0001), u64::from(p2(-24).to_bits()));
    assert_eq!(to(0x83ff), u64::from((-1023.0 * p2(-24)).to_bits()));
    assert_eq!(to(0x7bff), u64::from(65504f32.to_bits()));
    assert_eq!(to(0xfc00), u64::from(f32::NEG_INFINITY.to_bits()));
    assert!(f32::from_bits(to(0x7c01) as u32).is_nan());
    assert_eq!(from(65504.0), 0x7bff);
    assert_eq!(from(65519.9), 0x7bff);
    assert_eq!(from(65520.0), 0x7c00);
    assert_eq!(from(-1e30), 0xfc00);
    assert_eq!(from(f32::NEG_INFINITY), 0xfc00);
    assert_eq!(from(-f32::NAN), 0xfe00);
    assert_eq!(from(f32::from_bits(0x7f80_0001)), 0x7e00);
    // Ties to even: 1 + 2^-11 down, 1 + 3 * 2^-11 up.
    assert_eq!(from(1.0 + p2(-11)), 0x3c00);
    assert_eq!(from(1.0 + 3.0 * p2(-11)), 0x3c02);
    assert_eq!(from(1.0 + p2(-11) + p2(-23)), 0x3c01);
    assert_eq!(from(p2(-24)), 1);
    assert_eq!(from(p2(-25)), 0);
    assert_eq!(from(p2(-25) * 1.5), 1);
    assert_eq!(from(-p2(-26)), 0x8000);
    assert_eq!(from(p2(-14) - p2(-26)), 0x0400);
    // Every binary16 but NaNs survives the way there and back.
    for half in (0..0x1_0000u64).filter(|h| h & 0x7fff <= 0x7c00) {
        assert_eq!(convert(F32ToF16, F32, I32, to(half)), half);
    }
}

#[test]
fn select_and_sets() {
    assert_eq!(eval(Select, Imm::None, &[I1, I64, I64], I64, &[1, 5, 6]), 5);
    assert_eq!(eval(Select, Imm::None, &[I1, F32, F32], F32, &[0, 5, 6]), 6);
    assert_eq!(same(Splat, I32, &[7]), 7);
    assert_eq!(eval(Const, Imm::Bits(3), &[], I1, &[]), 1);
    assert_eq!(pack(&[1, 0, 1, 1]), 0b1101);
    assert_eq!((lane_mask(32), lane_mask(64)), (0xffff_ffff, u64::MAX));
}

#[test]
fn atomics() {
    let top = u64::from(u32::MAX);
    for (op, old, value, want) in [
        (AtomicOp::Add, top, 2, 1),
        (AtomicOp::Exch, 1, 2, 2),
        (AtomicOp::Cas, 1, 1, 9),
        (AtomicOp::Cas, 1, 2, 1),
        (AtomicOp::Inc, 3, 4, 4),
        (AtomicOp::Inc, 4, 4, 0),
        (AtomicOp::Inc, top, 4, 0),
        (AtomicOp::Dec, 3, 4, 2),
        (AtomicOp::Dec, 6, 4, 4),
        (AtomicOp::Dec, 0, 4, 4),
        // Signed quirk: value = -4, t = old + 1.
        (AtomicOp::IncS, 3, 4, 4),
        (AtomicOp::IncS, 7, top - 3, top - 3),
        (AtomicOp::IncS, top - 9, top - 3, top - 3),
        (AtomicOp::IncS, top - 1, top - 3, top),
        (AtomicOp::DecS, 0, 4, 4),
        (AtomicOp::DecS, 7, top - 3, 0),
        (AtomicOp::DecS, top - 9, top - 3, 0),
        (AtomicOp::DecS, top, top - 3, top - 1),
        (AtomicOp::Umax, top, 1, top),
        (AtomicOp::Umin, top, 1, 1),
        (AtomicOp::Smax, top, 1, 1),
        (AtomicOp::Smin, top, 1, top),
        (AtomicOp::And, 6, 3, 2),
        (AtomicOp::Or, 6, 3, 7),
        (AtomicOp::Xor, 6, 3, 5),
        (AtomicOp::Nop, 6, 3, 6),
        (AtomicOp::Rsub, 6, 3, top - 2),
        (AtomicOp::Fcas, 1 << 31, 0, 9),
        (AtomicOp::Fcas, 1, 2, 1),
        (AtomicOp::Fcas, 0x7fc0_0000, 0x7fc0_0000, 0x7fc0_0000),
        (AtomicOp::Mskor, 6, 3, 13),
        (AtomicOp::Wrap, 7, 7, 0),
        (AtomicOp::Wrap, 6, 7, 15),
        (AtomicOp::CondExch, 6, 3, 6),
        (AtomicOp::CondExch, 6, 1 << 31 | 3, 3),
    ] {
        assert_eq!(atomic_result(op, 4, old, value, 9), want, "{op:?} {old:#x} {value:#x}");
    }
    let bits = |x: f32| u64::from(x.to_bits());
    for (op, old, value, want) in [
        (AtomicOp::Fadd, 1.5f32, 2.25, 3.75),
        (AtomicOp::Fadd, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(0x7fc0_0000)),
        (AtomicOp::Fmin, 1.0, -2.0, -2.0),
        (AtomicOp::Fmin, 0.0, -0.0, -0.0),
        (AtomicOp::Fmin, f32::NAN, 3.0, 3.0),
        (AtomicOp::Fmax, -0.0, 0.0, 0.0),
        (AtomicOp::Fmax, 3.0, f32::NAN, 3.0),
        (AtomicOp::Fmax, -1.0, -2.0, -1.0),
    ] {
        assert_eq!(atomic_result(op, 4, bits(old), bits(value), 0), bits(want), "{op:?} {old} {value}");
    }
    assert_eq!(atomic_result(AtomicOp::Fadd, 8, 1.5f64.to_bits(), 2f64.to_bits(), 0), 3.5f64.to_bits());
    assert_eq!(atomic_result(AtomicOp::Add, 8, u64::MAX, 2, 0), 1);
    assert_eq!(atomic_result(AtomicOp::Smin, 8, u64::MAX, 2, 0), u64::MAX);
    assert_eq!(atomic_result(AtomicOp::Fcas, 8, 1 << 63, 0, 7), 7);
    assert_eq!(atomic_result(AtomicOp::Cas, 8, 1 << 40, 1 << 40, 7), 7);
}
