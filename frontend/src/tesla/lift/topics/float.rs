//! Lifts f32 and f64 arithmetic and the special-function unit.

use crate::simt::float_compare;
use warpjit_ir::{FloatCC, GuestFault, IntCC, Opcode, PureFn, Scalar, Value};

use super::int::write_test;
use crate::tesla::lift::emit::{Emit, Flags};
use crate::tesla::numeric::{f32, f64, pure};
use crate::tesla::{Inst, Op, Src};

/// Emits one float instruction.
pub(in crate::tesla::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::FAdd => {
            let (a, b) = (source(e, inst, 0), source(e, inst, 1));
            let sum = arithmetic(e, inst, Opcode::Fadd, &pure::ADD_F32, a, b);
            finish(e, inst, sum);
        }
        Op::FMul => {
            let (a, b) = (source(e, inst, 0), source(e, inst, 1));
            let product = arithmetic(e, inst, Opcode::Fmul, &pure::MUL_F32, a, b);
            finish(e, inst, product);
        }
        Op::FMad => {
            let (a, b, c) = (source(e, inst, 0), source(e, inst, 1), source(e, inst, 2));
            let a = if inst.mods.neg_product { e.b.fneg(a) } else { a };
            let sum = e.b.float(Opcode::FmadTrunc, &[a, b, c], true);
            let sum = canonical(e, sum);
            finish(e, inst, sum);
        }
        Op::FMax | Op::FMin => {
            let result = min_max(e, inst);
            finish(e, inst, result);
        }
        Op::FSet => {
            let (a, b) = (source(e, inst, 0), source(e, inst, 1));
            let holds = float_compare(&mut e.b, inst.mods.compare, a, b, true);
            write_test(e, inst, holds);
        }
        Op::Slct => slct(e, inst),
        Op::DAdd | Op::DMul | Op::DFma | Op::DMin | Op::DMax => double(e, inst),
        Op::DSet => {
            let [a, b] = [0, 1].map(|n| {
                let bits = e.src64(inst, n);
                let value = e.b.bitcast(bits, Scalar::F64);
                modified(e, inst.src(n), value)
            });
            let holds = float_compare(&mut e.b, inst.mods.compare, a, b, false);
            write_test(e, inst, holds);
        }
        Op::Rcp | Op::Rsqrt | Op::Lg2 | Op::Sin | Op::Cos | Op::Ex2 | Op::PreSin | Op::PreEx2 => {
            special(e, inst)
        }
        _ => e.fault(GuestFault::Illegal),
    }
}

/// Applies the modifiers of a source.
pub(in crate::tesla::lift) fn modified(e: &mut Emit<'_>, src: Option<Src>, value: Value) -> Value {
    src.map_or(value, |src| e.modified(value, src.abs, src.neg))
}

/// Source `n` as f32, modifiers applied.
pub(in crate::tesla::lift) fn source(e: &mut Emit<'_>, inst: &Inst, n: usize) -> Value {
    let bits = e.src(inst, n);
    let value = e.b.bitcast(bits, Scalar::F32);
    modified(e, inst.src(n), value)
}

/// The chip's one NaN for any NaN.
pub(in crate::tesla::lift) fn canonical(e: &mut Emit<'_>, value: Value) -> Value {
    e.b.fcanon(value, u64::from(f32::NAN))
}

/// The field of an instruction's direction, the first argument of pure functions.
fn rounding_field(inst: &Inst) -> u32 {
    inst.mods.rounding.unwrap_or_default().field()
}

/// A sum or product: an IR operation to nearest, else a pure function.
fn arithmetic(
    e: &mut Emit<'_>,
    inst: &Inst,
    op: Opcode,
    exact: &'static PureFn,
    a: Value,
    b: Value,
) -> Value {
    match rounding_field(inst) {
        0 => {
            let value = e.b.float(op, &[a, b], true);
            canonical(e, value)
        }
        field => {
            let field = e.b.i32(field);
            e.b.call_pure(exact, &[field, a, b])
        }
    }
}

/// Saturates where asked, writes the result and `$c`.
fn finish(e: &mut Emit<'_>, inst: &Inst, value: Value) {
    let value = if inst.mods.sat { saturate(e, value) } else { value };
    e.write_f32(inst, value);
    set_f32_flags(e, inst, value);
}

/// `sat` of a value whose NaN is the chip's: it stays, the rest goes to `[0, 1]`.
pub(in crate::tesla::lift) fn saturate(e: &mut Emit<'_>, value: Value) -> Value {
    let bits = e.b.bitcast(value, Scalar::I32);
    // As integers, negative numbers are below 0, and numbers from 0 up are ordered.
    let (none, one, infinity) = (e.b.i32(0), e.b.i32(f32::ONE), e.b.i32(f32::INFINITY));
    let low = e.b.smax(bits, none);
    let is_nan = e.b.icmp(IntCC::Sgt, low, infinity);
    let high = e.b.smin(low, one);
    let result = e.b.select(is_nan, low, high);
    e.b.bitcast(result, Scalar::F32)
}

/// `$c` of an f32 result: Z for zero and NaN, S for negative and NaN.
pub(in crate::tesla::lift) fn set_f32_flags(e: &mut Emit<'_>, inst: &Inst, value: Value) {
    if inst.cdst.is_some() {
        let flags = e.float_flags(value, true);
        e.set_flags(inst, flags);
    }
}

/// Minimum or maximum; denormals flush first.
fn min_max(e: &mut Emit<'_>, inst: &Inst) -> Value {
    let [a, b] = [0, 1].map(|n| {
        let value = source(e, inst, n);
        e.b.fflush(value)
    });
    let result = if inst.op == Op::FMin { e.b.fmin(a, b) } else { e.b.fmax(a, b) };
    canonical(e, result)
}

/// Picks source 1 where source 3 is not negative; flags look at the bits only.
fn slct(e: &mut Emit<'_>, inst: &Inst) {
    let (a, b) = (e.src(inst, 0), e.src(inst, 1));
    let selector = source(e, inst, 2);
    let zero = e.b.f32(0.0);
    let first = e.b.fcmp(FloatCC::Ge, selector, zero, true);
    let result = e.b.select(first, a, b);
    e.write(inst, result);
    if inst.cdst.is_some() {
        let (none, clear) = (e.b.i32(0), e.b.bool(false));
        let magnitude = e.and_const(result, 0x7fff_ffff);
        let zero = e.b.icmp(IntCC::Eq, magnitude, none);
        let negative = e.sign_bit(result, false);
        let not_zero = e.b.inot(zero);
        let sign = e.b.iand(negative, not_zero);
        e.set_flags(inst, Flags { zero, sign, carry: clear, overflow: clear });
    }
}

/// f64 arithmetic: to nearest by IR operations, else by pure functions.
fn double(e: &mut Emit<'_>, inst: &Inst) {
    let nearest = rounding_field(inst) == 0;
    let result = match inst.op {
        // Of several NaNs that of the second operand wins, then the addend's, then the first one's.
        Op::DAdd if nearest => double_nearest(e, inst, Opcode::Fadd, &[0, 1]),
        Op::DMul if nearest => double_nearest(e, inst, Opcode::Fmul, &[0, 1]),
        Op::DFma if nearest => double_nearest(e, inst, Opcode::Fma, &[0, 2, 1]),
        Op::DMin => double_extreme(e, inst, Opcode::Fmin),
        Op::DMax => double_extreme(e, inst, Opcode::Fmax),
        _ => double_exact(e, inst),
    };
    e.write64(inst, result);
    set_f64_flags(e, inst, result);
}

/// Whether source `n` is negated, be it as a factor of a product that is.
fn negated(inst: &Inst, n: usize) -> bool {
    inst.src(n).is_some_and(|src| src.neg) || n == 0 && inst.mods.neg_product
}

/// An IR operation on all sources, and what it leaves open: an invalid operation gives the chip's NaN, and a NaN
/// operand comes out quiet with payload and sign, `order` going from the weakest one to the one that wins.
fn double_nearest(e: &mut Emit<'_>, inst: &Inst, op: Opcode, order: &[usize]) -> Value {
    let sources: Vec<Value> = (0..order.len()).map(|n| e.src64(inst, n)).collect();
    let mut args = Vec::new();
    for (n, &bits) in sources.iter().enumerate() {
        args.push(double_source(e, inst, n, bits));
    }
    let result = e.b.float(op, &args, false);
    let result = e.b.fcanon(result, f64::NAN);
    let mut result = e.b.bitcast(result, Scalar::I64);
    let quiet = e.b.i64(f64::QUIET);
    for &n in order {
        let is_nan = e.b.fcmp(FloatCC::Uno, args[n], args[n], false);
        let payload = e.b.ior(sources[n], quiet);
        result = e.b.select(is_nan, payload, result);
    }
    e.b.bitcast(result, Scalar::F64)
}

/// Source `n` as f64, modifiers applied.
fn double_source(e: &mut Emit<'_>, inst: &Inst, n: usize, bits: Value) -> Value {
    let value = e.b.bitcast(bits, Scalar::F64);
    let value = if inst.src(n).is_some_and(|src| src.abs) { e.b.fabs(value) } else { value };
    if negated(inst, n) { e.b.fneg(value) } else { value }
}

/// Minimum or maximum: of two NaNs the second stays, quiet and with its sign.
fn double_extreme(e: &mut Emit<'_>, inst: &Inst, op: Opcode) -> Value {
    let (first, second) = (e.src64(inst, 0), e.src64(inst, 1));
    let (a, b) = (double_source(e, inst, 0, first), double_source(e, inst, 1, second));
    let value = e.b.same(op, &[a, b], warpjit_ir::Imm::None);
    // Both are NaNs where the result is one.
    let none = e.b.fcmp(FloatCC::Uno, value, value, false);
    let quiet = e.b.i64(f64::QUIET);
    let payload = e.b.ior(second, quiet);
    let value = e.b.bitcast(value, Scalar::I64);
    let value = e.b.select(none, payload, value);
    e.b.bitcast(value, Scalar::F64)
}

/// A pure function, whose first argument says the direction and which operands are negated or made absolute, for a
/// NaN keeps its sign.
fn double_exact(e: &mut Emit<'_>, inst: &Inst) -> Value {
    let (callee, count): (&'static PureFn, usize) = match inst.op {
        Op::DAdd => (&pure::ADD_F64, 2),
        Op::DMul => (&pure::MUL_F64, 2),
        _ => (&pure::FMA_F64, 3),
    };
    let mut form = rounding_field(inst);
    for n in 0..count {
        let absolute = inst.src(n).is_some_and(|src| src.abs);
        form |= u32::from(negated(inst, n)) << (2 + 2 * n) | u32::from(absolute) << (3 + 2 * n);
    }
    let mut args = vec![e.b.i32(form)];
    for n in 0..count {
        let bits = e.src64(inst, n);
        args.push(e.b.bitcast(bits, Scalar::F64));
    }
    e.b.call_pure(callee, &args)
}

/// `$c` of an f64 result.
pub(in crate::tesla::lift) fn set_f64_flags(e: &mut Emit<'_>, inst: &Inst, value: Value) {
    if inst.cdst.is_some() {
        let flags = e.float_flags(value, false);
        e.set_flags(inst, flags);
    }
}

fn special(e: &mut Emit<'_>, inst: &Inst) {
    let callee: &'static PureFn = match inst.op {
        Op::Rcp => &pure::RCP,
        Op::Rsqrt => &pure::RSQRT,
        Op::Lg2 => &pure::LG2,
        Op::Sin => &pure::SIN,
        Op::Cos => &pure::COS,
        Op::Ex2 => &pure::EX2,
        Op::PreSin => &pure::PRESIN,
        _ => &pure::PREEX2,
    };
    let argument = source(e, inst, 0);
    let argument = e.b.bitcast(argument, callee.params[0]);
    let result = e.b.call_pure(callee, &[argument]);
    if callee.result == Scalar::I32 {
        return e.write(inst, result);
    }
    let result = canonical(e, result);
    let result = if inst.mods.sat { saturate(e, result) } else { result };
    e.write_f32(inst, result);
}
