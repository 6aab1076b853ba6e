//! Lifts f32 arithmetic and the special-function unit.
//!
//! Round-to-nearest arithmetic becomes IR operations. Other rounding directions, `fmz` and the scaled product are pure functions
//! where the IR cannot express them. The special-function unit flushes denormals; its reciprocal and reciprocal square root
//! become the IR's division and square root.

use crate::simt::float_compare;
use warpjit_ir::{FloatCC, GuestFault, Opcode, PureFn, Scalar, Value};

use super::int::pick;
use super::special::write_test;
use crate::fermi::lift::emit::Emit;
use crate::fermi::numeric::{self, pure};
use crate::fermi::{Inst, Op, Rounding, Src};

/// Emits one float instruction.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::FAdd => {
            let (a, b) = (source(e, inst, 0), source(e, inst, 1));
            let sum = if is_nearest(inst) {
                nearest(e, inst, Opcode::Fadd, &[a, b])
            } else {
                exact(e, inst, &pure::ADD, &[a, b])
            };
            finish(e, inst, sum);
        }
        Op::FMul => mul(e, inst),
        Op::FFma => fma(e, inst),
        Op::FMinMax => {
            let [a, b] = [0, 1].map(|n| {
                let value = source(e, inst, n);
                if inst.mods.ftz { e.b.fflush(value) } else { value }
            });
            let result = pick(e, inst, |e, min| if min { e.b.fmin(a, b) } else { e.b.fmax(a, b) });
            let result = e.b.fcanon(result, numeric::NAN.into());
            finish(e, inst, result);
        }
        Op::FSet | Op::FSetP => {
            let (a, b) = (source(e, inst, 0), source(e, inst, 1));
            let holds = float_compare(&mut e.b, inst.mods.compare, a, b, inst.mods.ftz);
            write_test(e, inst, holds);
        }
        Op::FSlct => {
            let (a, b) = (e.src(inst, 0), e.src(inst, 1));
            let c = source(e, inst, 2);
            let zero = e.b.f32(0.0);
            let first = float_compare(&mut e.b, inst.mods.compare, c, zero, inst.mods.ftz);
            let result = e.b.select(first, a, b);
            e.write(inst, result);
        }
        Op::PreSin | Op::PreEx2 | Op::Cos | Op::Sin | Op::Ex2 | Op::Lg2 => special(e, inst),
        Op::Rcp | Op::Rsqrt | Op::Rcp64h | Op::Rsqrt64h => special(e, inst),
        _ => e.fault(GuestFault::Illegal),
    }
}

/// Applies the modifiers of a source.
pub(in crate::fermi::lift) fn modified(e: &mut Emit<'_>, src: Option<Src>, value: Value) -> Value {
    src.map_or(value, |src| e.modified(value, src.abs, src.neg))
}

/// Source `n` as f32, modifiers applied.
pub(in crate::fermi::lift) fn source(e: &mut Emit<'_>, inst: &Inst, n: usize) -> Value {
    let bits = e.src(inst, n);
    let value = e.b.bitcast(bits, Scalar::F32);
    modified(e, inst.src(n), value)
}

/// Whether an instruction rounds to nearest.
pub(in crate::fermi::lift) fn is_nearest(inst: &Inst) -> bool {
    inst.mods.rounding.unwrap_or_default() == Rounding::Nearest
}

fn flushes(inst: &Inst) -> bool {
    inst.mods.ftz || inst.mods.fmz
}

/// An IR operation with the chip's NaN.
fn nearest(e: &mut Emit<'_>, inst: &Inst, op: Opcode, args: &[Value]) -> Value {
    let value = e.b.float(op, args, flushes(inst));
    e.b.fcanon(value, numeric::NAN.into())
}

/// A pure function with the instruction's flags.
fn exact(e: &mut Emit<'_>, inst: &Inst, callee: &'static PureFn, args: &[Value]) -> Value {
    let flags = numeric::Flags {
        rounding: inst.mods.rounding.unwrap_or_default(),
        ftz: flushes(inst),
        fmz: inst.mods.fmz,
        scale: inst.mods.scale.into(),
    };
    let mut all = vec![e.b.i32(flags.encode())];
    all.extend(args);
    e.b.call_pure(callee, &all)
}

fn mul(e: &mut Emit<'_>, inst: &Inst) {
    let (a, b) = (source(e, inst, 0), source(e, inst, 1));
    let a = if inst.mods.neg { e.b.fneg(a) } else { a };
    let product = if !is_nearest(inst) || inst.mods.scale != 0 {
        exact(e, inst, &pure::MUL, &[a, b])
    } else {
        let product = nearest(e, inst, Opcode::Fmul, &[a, b]);
        if inst.mods.fmz {
            let vanishes = is_zero_product(e, a, b);
            let zero = e.b.f32(0.0);
            e.b.select(vanishes, zero, product)
        } else {
            product
        }
    };
    finish(e, inst, product);
}

/// Whether a factor is zero, denormals being so.
fn is_zero_product(e: &mut Emit<'_>, a: Value, b: Value) -> Value {
    let zero = e.b.f32(0.0);
    let [a, b] = [a, b].map(|factor| e.b.fcmp(FloatCC::Eq, factor, zero, true));
    e.b.ior(a, b)
}

fn fma(e: &mut Emit<'_>, inst: &Inst) {
    let (a, b, c) = (source(e, inst, 0), source(e, inst, 1), source(e, inst, 2));
    let sum = if !is_nearest(inst) {
        exact(e, inst, &pure::FMA, &[a, b, c])
    } else {
        let sum = nearest(e, inst, Opcode::Fma, &[a, b, c]);
        if inst.mods.fmz {
            let vanishes = is_zero_product(e, a, b);
            let zero = e.b.f32(0.0);
            let alone = nearest(e, inst, Opcode::Fadd, &[zero, c]);
            e.b.select(vanishes, alone, sum)
        } else {
            sum
        }
    };
    finish(e, inst, sum);
}

/// Saturates where asked, writes the result and `$c`.
fn finish(e: &mut Emit<'_>, inst: &Inst, value: Value) {
    let value = if inst.mods.sat { saturate(e, value) } else { value };
    e.write_f32(inst, value);
    if inst.cc_out {
        let flags = e.float_flags(value, flushes(inst));
        e.set_flags(flags);
    }
}

/// `sat`: to 0 to 1; a NaN becomes +0 (PTX manual), and so does -0.
pub(in crate::fermi::lift) fn saturate(e: &mut Emit<'_>, value: Value) -> Value {
    let (zero, one) = (e.b.f32(0.0), e.b.f32(1.0));
    let above = e.b.fmax(value, zero);
    e.b.fmin(above, one)
}

fn special(e: &mut Emit<'_>, inst: &Inst) {
    if matches!(inst.op, Op::Rcp64h | Op::Rsqrt64h) {
        return upper_word(e, inst);
    }
    let x = source(e, inst, 0);
    let result = match inst.op {
        // The argument is prepared as it is.
        Op::PreSin | Op::PreEx2 => e.b.fflush(x),
        Op::Rcp => {
            let one = e.b.f32(1.0);
            e.b.float(Opcode::Fdiv, &[one, x], true)
        }
        Op::Rsqrt => {
            let (one, root) = (e.b.f32(1.0), e.b.float(Opcode::Fsqrt, &[x], true));
            e.b.float(Opcode::Fdiv, &[one, root], true)
        }
        op => {
            let callee: &'static PureFn = match op {
                Op::Cos => &pure::COS,
                Op::Sin => &pure::SIN,
                Op::Ex2 => &pure::EX2,
                _ => &pure::LG2,
            };
            e.b.call_pure(callee, &[x])
        }
    };
    let result = e.b.fcanon(result, numeric::NAN.into());
    let result = if inst.mods.sat { saturate(e, result) } else { result };
    e.write_f32(inst, result);
}

/// Works on the upper word of an f64; `sat` of a part of a number means nothing.
fn upper_word(e: &mut Emit<'_>, inst: &Inst) {
    let mut x = e.src(inst, 0);
    if let Some(src) = inst.src(0) {
        if src.abs {
            x = e.and_const(x, !numeric::SIGN);
        }
        if src.neg {
            let sign = e.b.i32(numeric::SIGN);
            x = e.b.ixor(x, sign);
        }
    }
    let callee: &'static PureFn = if inst.op == Op::Rcp64h { &pure::RCP64H } else { &pure::RSQRT64H };
    let result = e.b.call_pure(callee, &[x]);
    e.write(inst, result);
}
