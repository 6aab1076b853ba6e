//! Checks [`FloatClasses`](super::FloatClasses) against the interpreter: each result of an operation is of a class that the
//! analysis allows.

use super::{Classes, FloatClasses};
use crate::builder::Builder;
use crate::eval::eval_scalar;
use crate::function::{Form, Function, Imm, SlotInit};
use crate::opcodes::Opcode;
use crate::types::{Scalar, Type};

/// Numbers of every kind and at the borders.
fn numbers(scalar: Scalar) -> Vec<u64> {
    let (fraction, sign) = if scalar == Scalar::F64 { (52, 63) } else { (23, 31) };
    let infinity = ((1 << (sign - fraction)) - 1) << fraction;
    let one = (infinity >> fraction >> 1) << fraction;
    let quiet = 1 << (fraction - 1);
    let mut all = vec![0, 1, (1 << fraction) - 1, 1 << fraction, one, one | quiet, infinity - 1, infinity];
    all.extend([infinity | quiet, infinity | 1, infinity | quiet | 3]);
    all.extend(all.clone().iter().map(|bits| bits | 1 << sign));
    all
}

/// One operation whose operands are each one of two constants.
fn function(op: Opcode, imm: Imm, scalar: Scalar, operands: &[[u64; 2]]) -> (Function, crate::Value) {
    let mut func = Function::new("one", Form::Mask, 32);
    let slot = func.add_slot("which", Type::MASK, SlotInit::Zero);
    let block = func.add_block(0);
    let mut b = Builder::new(&mut func, block);
    let which = b.get(slot);
    let args: Vec<_> = { operands.iter() }
        .map(|&[x, y]| {
            let (x, y) = (b.constant(scalar, x), b.constant(scalar, y));
            b.select(which, x, y)
        })
        .collect();
    let result = b.same(op, &args, imm);
    (func, result)
}

#[test]
fn results_are_of_the_kinds_that_operands_allow() {
    use Opcode::*;
    let operations = [
        (Fneg, 1),
        (Fabs, 1),
        (Fflush, 1),
        (Ffloor, 1),
        (Fceil, 1),
        (Ftrunc, 1),
        (Fnearest, 1),
        (Fsqrt, 1),
        (Fadd, 2),
        (Fsub, 2),
        (Fmul, 2),
        (Fdiv, 2),
        (Fmin, 2),
        (Fmax, 2),
        (Fma, 3),
        (FmadTrunc, 3),
    ];
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize
    };
    for scalar in [Scalar::F32, Scalar::F64] {
        let numbers = numbers(scalar);
        for (op, count) in operations {
            if op == FmadTrunc && scalar == Scalar::F64 {
                continue;
            }
            for round in 0..4000 {
                let ftz = round % 2 == 0;
                let takes_ftz = matches!(op, Fadd | Fsub | Fmul | Fdiv | Fsqrt | Fma);
                let imm = if takes_ftz { Imm::Ftz(ftz) } else { Imm::None };
                let operands: Vec<[u64; 2]> =
                    (0..count).map(|_| [(); 2].map(|()| numbers[random() % numbers.len()])).collect();
                let (func, result) = function(op, imm, scalar, &operands);
                let kinds = FloatClasses::new(&func).of(result);
                for choice in 0..1 << count {
                    let args: Vec<u64> =
                        operands.iter().enumerate().map(|(n, pair)| pair[choice >> n & 1]).collect();
                    let got = eval_scalar(op, &imm, &vec![scalar; count], scalar, &args).expect("pure");
                    let kind = Classes::of(scalar, got);
                    assert!(kinds.may(kind), "{} {imm:?} {args:x?}: {got:x} is none of {kinds:?}", op.name());
                }
            }
        }
    }
}

#[test]
fn a_clamped_number_is_no_nan_and_has_no_sign() {
    let mut func = Function::new("clamp", Form::Mask, 32);
    let slot = func.add_slot("x", Type::F32, SlotInit::Zero);
    let block = func.add_block(0);
    let mut b = Builder::new(&mut func, block);
    let x = b.get(slot);
    let (zero, one) = (b.f32(0.0), b.f32(1.0));
    let above = b.fmax(x, zero);
    let clamped = b.fmin(above, one);
    let classes = FloatClasses::new(&func);
    assert_eq!(classes.of(x), Classes::ALL);
    for value in [above, clamped] {
        assert!(!classes.of(value).may(Classes::NAN.or(Classes::NEGATIVE)));
    }
    assert!(!classes.of(clamped).may(Classes::of(Scalar::F32, 0x7f80_0000)));
    // What is clamped again is what it was.
    assert_eq!(classes.of(clamped).decided(Classes::POS_ZERO, true), Some(true));
}

#[test]
fn kinds_go_round_loops() {
    let text = "function @f mask lanes 32 {
    slot s0: f32 a
    slot s1: mask m

block0 at 0x0:
    v0: f32 = slot.get s0
    v1: uf32 = const 0x0
    v2: f32 = fmax v0, v1
    jump block1(v2)

block1(v3: f32) at 0x8:
    v4: uf32 = const 0x3f800000
    v5: f32 = fmul.ftz v3, v4
    v6: f32 = fcanon v5, 0x7fc00000
    v7: f32 = fmax v6, v1
    v8: mask = slot.get s1
    br_any v8, block1(v7), block2

block2 at 0x10:
    return 0
}
";
    let func = crate::text::parse_function(text, &[]).expect("is right");
    let classes = FloatClasses::new(&func);
    let param = func.block(crate::Block(1)).params[0];
    assert!(!classes.of(param).may(Classes::NAN.or(Classes::NEGATIVE)));
    assert!(classes.of(param).may(Classes::DENORMALS));
}
