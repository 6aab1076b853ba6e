//! Lifts f32 arithmetic, and what f32 and f64 have in common: minimum, maximum, rounding to integers.
//!
//! The rules are from docs/hardware/gcn.md section 5 and the vendor's descriptions. `v_mad` and `v_mac` round the product, then the sum,
//! and flush denormals whatever MODE says. `v_fma` is fused and obeys MODE. Minimum and maximum obey MODE's denormal bits on 1.4
//! only.

use warpjit_ir::analysis::Classes;
use warpjit_ir::{FloatCC, Imm, Opcode, Scalar, Value};

use crate::gcn::lift::analysis::statics::Mode;
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::modes::FloatLowering;
use crate::gcn::numeric::{Width, pure};
use crate::gcn::{Generation, Inst, Op};

/// Emits an instruction of this file's; false for others.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    if inst.op == Op::V_FREXP_EXP_I32_F32 {
        let a = e.src_f32(inst, 0);
        let form = u32::from(inst.generation == Generation::Gfx6);
        let value = e.call_mode(&pure::FREXP_EXP_F32, form, &[a]);
        e.set_dst32(inst, value);
        return true;
    }
    let Some(value) = result(e, inst) else { return false };
    e.finish_f32(inst, value);
    true
}

fn result(e: &mut Emit<'_>, inst: &Inst) -> Option<Value> {
    let mut s = |n| e.src_f32(inst, n);
    Some(match inst.op {
        Op::V_ADD_F32 => {
            let (a, b) = (s(0), s(1));
            add(e, a, b)
        }
        Op::V_SUB_F32 => {
            let (a, b) = (s(0), s(1));
            subtract(e, a, b)
        }
        Op::V_SUBREV_F32 => {
            let (a, b) = (s(0), s(1));
            subtract(e, b, a)
        }
        Op::V_MUL_F32 => {
            let (a, b) = (s(0), s(1));
            e.arithmetic(Width::Single, Opcode::Fmul, &pure::MUL_F32, &[a, b])
        }
        Op::V_MUL_LEGACY_F32 => {
            let (a, b) = (s(0), s(1));
            let product = e.arithmetic(Width::Single, Opcode::Fmul, &pure::MUL_F32, &[a, b]);
            legacy_product(e, a, b, product)
        }
        Op::V_MAC_F32 | Op::V_MAD_F32 | Op::V_MADMK_F32 | Op::V_MADAK_F32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            mad(e, a, b, c)
        }
        Op::V_MAC_LEGACY_F32 | Op::V_MAD_LEGACY_F32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            let zero = e.b.f32(0.0);
            let no_factor = either_zero(e, a, b, true);
            let (a, b) = (e.b.select(no_factor, zero, a), e.b.select(no_factor, zero, b));
            mad(e, a, b, c)
        }
        Op::V_FMA_F32 | Op::V_FMAC_F32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            e.arithmetic(Width::Single, Opcode::Fma, &pure::FMA_F32, &[a, b, c])
        }
        Op::V_MULLIT_F32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            mullit(e, a, b, c)
        }
        Op::V_MIN_F32 | Op::V_MAX_F32 => {
            let (a, b) = (s(0), s(1));
            let value = min_max(e, Width::Single, inst.op == Op::V_MAX_F32, a, b);
            // What a denormal goes through behind the choice makes a zero of it (corpus/gcn/asm_vf32_flush).
            if inst.clamp { e.flush_result(Width::Single, value) } else { value }
        }
        Op::V_MIN_LEGACY_F32 | Op::V_MAX_LEGACY_F32 => {
            let (a, b) = (s(0), s(1));
            let condition = if inst.op == Op::V_MIN_LEGACY_F32 { FloatCC::Lt } else { FloatCC::Ge };
            let ftz = e.flushes_single();
            let first = e.b.fcmp(condition, a, b, ftz);
            e.b.select(first, a, b)
        }
        Op::V_MIN3_F32 | Op::V_MAX3_F32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            min_max3(e, inst.op == Op::V_MAX3_F32, a, b, c)
        }
        Op::V_MED3_F32 => {
            let (a, b, c) = (s(0), s(1), s(2));
            median(e, a, b, c)
        }
        Op::V_FRACT_F32 | Op::V_TRUNC_F32 | Op::V_CEIL_F32 | Op::V_RNDNE_F32 | Op::V_FLOOR_F32 => {
            let a = s(0);
            to_integral(e, Width::Single, inst.op, a)
        }
        Op::V_CUBEID_F32 | Op::V_CUBESC_F32 | Op::V_CUBETC_F32 | Op::V_CUBEMA_F32 => {
            let (x, y, z) = (s(0), s(1), s(2));
            cube(e, inst.op, x, y, z)
        }
        Op::V_LDEXP_F32 => {
            let a = s(0);
            let exponent = e.src32(inst, 1);
            ldexp(e, a, exponent)
        }
        Op::V_FREXP_MANT_F32 => {
            let a = s(0);
            let form = u32::from(inst.generation == Generation::Gfx6);
            e.call_mode(&pure::FREXP_MANT_F32, form, &[a])
        }
        _ => return None,
    })
}

fn add(e: &mut Emit<'_>, a: Value, b: Value) -> Value {
    e.arithmetic(Width::Single, Opcode::Fadd, &pure::ADD_F32, &[a, b])
}

fn subtract(e: &mut Emit<'_>, a: Value, b: Value) -> Value {
    match e.lowering(Width::Single) {
        FloatLowering::Plain { ftz } => e.b.float(Opcode::Fsub, &[a, b], ftz),
        FloatLowering::Call => {
            let b = e.b.fneg(b);
            add(e, a, b)
        }
    }
}

/// Multiply-add of two roundings.
pub(in crate::gcn::lift) fn mad(e: &mut Emit<'_>, a: Value, b: Value, c: Value) -> Value {
    match e.flushing_lowering(Width::Single) {
        FloatLowering::Plain { ftz } => {
            let product = e.b.float(Opcode::Fmul, &[a, b], ftz);
            e.b.float(Opcode::Fadd, &[product, c], ftz)
        }
        FloatLowering::Call => e.call_mode(&pure::MAD_F32, 0, &[a, b, c]),
    }
}

/// Where a legacy product is +0, whatever the other factor is.
fn either_zero(e: &mut Emit<'_>, a: Value, b: Value, ftz: bool) -> Value {
    let zero = e.b.f32(0.0);
    let (no_a, no_b) = (e.b.fcmp(FloatCC::Eq, a, zero, ftz), e.b.fcmp(FloatCC::Eq, b, zero, ftz));
    e.b.ior(no_a, no_b)
}

/// The product of `v_mul_legacy_f32`.
fn legacy_product(e: &mut Emit<'_>, a: Value, b: Value, product: Value) -> Value {
    let (a, b, ftz) = match e.lowering(Width::Single) {
        FloatLowering::Plain { ftz } => (a, b, ftz),
        FloatLowering::Call => (e.flush_source(Width::Single, a), e.flush_source(Width::Single, b), false),
    };
    let zero = e.b.f32(0.0);
    let no_factor = either_zero(e, a, b, ftz);
    e.b.select(no_factor, zero, product)
}

/// `v_mullit_f32`: the legacy product where the third source is positive and the second is above the lowest number, which
/// is the result elsewhere.
fn mullit(e: &mut Emit<'_>, a: Value, b: Value, c: Value) -> Value {
    let product = e.arithmetic(Width::Single, Opcode::Fmul, &pure::MUL_F32, &[a, b]);
    let product = legacy_product(e, a, b, product);
    let (zero, lowest, ftz) = (e.b.f32(0.0), e.b.f32(f32::MIN), e.flushes_single());
    let positive = e.b.fcmp(FloatCC::Gt, c, zero, ftz);
    let above = e.b.fcmp(FloatCC::Gt, b, lowest, ftz);
    let lit = e.b.iand(positive, above);
    e.b.select(lit, product, lowest)
}

/// Minimum or maximum of f32 or f64.
pub(in crate::gcn::lift) fn min_max(
    e: &mut Emit<'_>,
    width: Width,
    maximum: bool,
    a: Value,
    b: Value,
) -> Value {
    let follows_mode = e.own.generation >= Generation::Gfx9;
    let Mode::Known(mode) = e.mode() else {
        let form = pure::extreme_form(maximum, follows_mode);
        let callee = if width == Width::Double { &pure::MIN_MAX_F64 } else { &pure::MIN_MAX_F32 };
        return e.call_mode(callee, form, &[a, b]);
    };
    let (a, b) = if follows_mode { (e.flush_source(width, a), e.flush_source(width, b)) } else { (a, b) };
    let value = if maximum { e.b.fmax(a, b) } else { e.b.fmin(a, b) };
    let value = if mode.ieee { quiet_signalling(e, width, a, b, value) } else { value };
    if follows_mode { e.flush_result(width, value) } else { value }
}

/// Minimum or maximum of three.
fn min_max3(e: &mut Emit<'_>, maximum: bool, a: Value, b: Value, c: Value) -> Value {
    let two = step(e, maximum, a, b);
    min_max(e, Width::Single, maximum, two, c)
}

/// Minimum or maximum of f32 that goes into another one: a NaN is quiet.
fn step(e: &mut Emit<'_>, maximum: bool, a: Value, b: Value) -> Value {
    let value = min_max(e, Width::Single, maximum, a, b);
    e.b.fcanon(value, Width::Single.nan())
}

/// A NaN in place of `value` where a source is a signalling NaN.
fn quiet_signalling(e: &mut Emit<'_>, width: Width, a: Value, b: Value, value: Value) -> Value {
    let Some(signals) = signalling(e, a, b) else { return value };
    let scalar = e.b.func.ty(value).scalar;
    let nan = e.b.constant(scalar, width.nan());
    e.b.select(signals, nan, value)
}

/// Whether one of two floats is a signalling NaN; nothing where neither can be one.
fn signalling(e: &mut Emit<'_>, a: Value, b: Value) -> Option<Value> {
    match (may_signal(e, a), may_signal(e, b)) {
        (false, false) => None,
        (true, false) => Some(e.b.fsignals(a, a)),
        (false, true) => Some(e.b.fsignals(b, b)),
        (true, true) => Some(e.b.fsignals(a, b)),
    }
}

/// Whether a float may be a signalling NaN, as far as the block shows: constants tell, and what was made canonical is none.
fn may_signal(e: &Emit<'_>, value: Value) -> bool {
    let mut from = value;
    while let Some(inst) = e.b.func.def_inst(from) {
        match (inst.op, inst.imm) {
            (Opcode::Const, Imm::Bits(bits)) => {
                return Classes::of(e.b.func.ty(from).scalar, bits).may(Classes::SIGNALLING);
            }
            (Opcode::Fcanon, _) => return false,
            (Opcode::Bitcast | Opcode::Fneg | Opcode::Fabs | Opcode::Splat, _) => from = inst.args[0],
            _ => break,
        }
    }
    true
}

/// The median; the minimum where one is a NaN.
fn median(e: &mut Emit<'_>, a: Value, b: Value, c: Value) -> Value {
    if let Some(value) = within_limits(e, [a, b, c]) {
        return value;
    }
    let low = step(e, false, a, b);
    let high = step(e, true, a, b);
    let upper = step(e, false, high, c);
    let median = min_max(e, Width::Single, true, low, upper);
    let least = min_max(e, Width::Single, false, low, c);
    let ftz = e.flushes_single();
    let nan_ab = e.b.fcmp(FloatCC::Uno, a, b, ftz);
    let nan_c = e.b.fcmp(FloatCC::Uno, c, c, ftz);
    let nan = e.b.ior(nan_ab, nan_c);
    e.b.select(nan, least, median)
}

/// The median of a value and two constants: it is brought between them, and a NaN becomes the lesser one, which is the minimum.
fn within_limits(e: &mut Emit<'_>, sources: [Value; 3]) -> Option<Value> {
    let Mode::Known(mode) = e.mode() else { return None };
    let follows_mode = e.own.generation >= Generation::Gfx9;
    let limit = |source: &Value| {
        let mut from = *source;
        while let Some(inst) = e.b.func.def_inst(from).filter(|inst| inst.op == Opcode::Bitcast) {
            from = inst.args[0];
        }
        let number = f32::from_bits(e.b.func.as_const(from)? as u32);
        (!number.is_nan() && !number.is_subnormal()).then_some(number)
    };
    let limits = sources.each_ref().map(limit);
    let open = limits.iter().position(Option::is_none)?;
    let mut of: Vec<f32> = limits.into_iter().flatten().collect();
    let &[_, last] = of.as_slice() else { return None };
    of.sort_by(f32::total_cmp);
    let mut x = sources[open];
    if follows_mode {
        x = e.flush_source(Width::Single, x);
    }
    let (low, high) = (e.b.f32(of[0]), e.b.f32(of[1]));
    let value = e.b.fmax(x, low);
    let mut value = e.b.fmin(value, high);
    if mode.ieee && may_signal(e, x) {
        // The minimum of the first two is a NaN then, and that of a NaN and the third one is the third one; or it is the third one that is.
        let signals = e.b.fsignals(x, x);
        let other = if open == 2 { e.b.constant(Scalar::F32, Width::Single.nan()) } else { e.b.f32(last) };
        value = e.b.select(signals, other, value);
    }
    Some(if follows_mode { e.flush_result(Width::Single, value) } else { value })
}

/// Rounding to integers in the four directions, and the fraction, of f32 or f64.
pub(in crate::gcn::lift) fn to_integral(e: &mut Emit<'_>, width: Width, op: Op, a: Value) -> Value {
    let a = e.flush_source(width, a);
    match op {
        Op::V_TRUNC_F32 | Op::V_TRUNC_F64 => e.b.ftrunc(a),
        Op::V_CEIL_F32 | Op::V_CEIL_F64 => e.b.fceil(a),
        Op::V_RNDNE_F32 | Op::V_RNDNE_F64 => e.b.fnearest(a),
        Op::V_FLOOR_F32 | Op::V_FLOOR_F64 => e.b.ffloor(a),
        _ => {
            // The difference of a tiny negative number rounds to 1; the result stays below.
            let ftz = width == Width::Single && e.flushes_single();
            let floor = e.b.ffloor(a);
            let fraction = e.b.float(Opcode::Fsub, &[a, floor], ftz);
            let (one, below) = match width {
                Width::Double => (e.b.f64(1.0), e.b.f64(1.0 - f64::EPSILON / 2.0)),
                _ => (e.b.f32(1.0), e.b.f32(1.0 - f32::EPSILON / 2.0)),
            };
            let too_large = e.b.fcmp(FloatCC::Ge, fraction, one, ftz);
            let fraction = e.b.select(too_large, below, fraction);
            e.flush_result(width, fraction)
        }
    }
}

/// Cube map coordinates. The major axis is z if none is longer, else y unless x is longer, else x.
fn cube(e: &mut Emit<'_>, op: Op, x: Value, y: Value, z: Value) -> Value {
    let ftz = e.flushes_single();
    let (ax, ay, az) = (e.b.fabs(x), e.b.fabs(y), e.b.fabs(z));
    let zx = e.b.fcmp(FloatCC::Ge, az, ax, ftz);
    let zy = e.b.fcmp(FloatCC::Ge, az, ay, ftz);
    let is_z = e.b.iand(zx, zy);
    let is_y = e.b.fcmp(FloatCC::Ge, ay, ax, ftz);
    let zero = e.b.f32(0.0);
    let mut pick = |on_z: Value, on_y: Value, on_x: Value| {
        let rest = e.b.select(is_y, on_y, on_x);
        e.b.select(is_z, on_z, rest)
    };
    if op == Op::V_CUBEMA_F32 {
        let major = pick(z, y, x);
        return e.arithmetic(Width::Single, Opcode::Fadd, &pure::ADD_F32, &[major, major]);
    }
    let major = pick(z, y, x);
    let negative = e.b.fcmp(FloatCC::Lt, major, zero, ftz);
    let (nx, ny, nz) = (e.b.fneg(x), e.b.fneg(y), e.b.fneg(z));
    let mut either = |if_negative: Value, otherwise: Value| e.b.select(negative, if_negative, otherwise);
    let (on_z, on_y, on_x) = match op {
        Op::V_CUBESC_F32 => (either(nx, x), x, either(z, nz)),
        Op::V_CUBETC_F32 => (ny, either(nz, z), ny),
        _ => {
            let faces = [5.0, 4.0, 3.0, 2.0, 1.0, 0.0].map(|face| e.b.f32(face));
            let mut either = |n: usize| e.b.select(negative, faces[n], faces[n + 1]);
            (either(0), either(2), either(4))
        }
    };
    let rest = e.b.select(is_y, on_y, on_x);
    e.b.select(is_z, on_z, rest)
}

/// `a * 2^exponent`. With denormals off it is a product of three powers, whose exponents need no more than that range.
fn ldexp(e: &mut Emit<'_>, a: Value, exponent: Value) -> Value {
    let FloatLowering::Plain { ftz: true } = e.lowering(Width::Single) else {
        return e.call_mode(&pure::LDEXP_F32, 0, &[a, exponent]);
    };
    let (mut value, mut rest) = (a, exponent);
    let (low, high) = (e.b.i32(-126i32 as u32), e.b.i32(127));
    for step in 0..3 {
        let part = e.b.smax(rest, low);
        let part = e.b.smin(part, high);
        if step < 2 {
            rest = e.b.isub(rest, part);
        }
        let bits = e.add_const(part, 127);
        let bits = e.shl_const(bits, 23);
        let power = e.b.bitcast(bits, Scalar::F32);
        value = e.b.float(Opcode::Fmul, &[value, power], true);
    }
    value
}
