//! Single precision, and what single and double have in common: minimum, maximum, rounding to integers.
//!
//! Facts/gcn.md section 5 and the vendor's descriptions. `v_mad` and `v_mac` round the product, then the sum, and flush
//! denormals whatever MODE says; `v_fma` is fused and obeys MODE. Minimum and maximum obey MODE's denormals on 1.4 only.

use warpjit_ir::{FloatCC, IntCC, Opcode, Scalar, Value};

use super::emit::Emit;
use super::modes::Way;
use super::statics::Mode;
use crate::gcn::numeric::{Width, pure};
use crate::gcn::{Generation, Inst, Op};

/// Emits an instruction of this file's; false for others.
pub(super) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
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
            let maximum = inst.op == Op::V_MAX3_F32;
            let two = min_max(e, Width::Single, maximum, a, b);
            min_max(e, Width::Single, maximum, two, c)
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
    match e.way(Width::Single) {
        Way::Plain { ftz } => e.b.float(Opcode::Fsub, &[a, b], ftz),
        Way::Call => {
            let b = e.b.fneg(b);
            add(e, a, b)
        }
    }
}

/// Multiply-add of two roundings.
pub(super) fn mad(e: &mut Emit<'_>, a: Value, b: Value, c: Value) -> Value {
    match e.flushing_way(Width::Single) {
        Way::Plain { ftz } => {
            let product = e.b.float(Opcode::Fmul, &[a, b], ftz);
            e.b.float(Opcode::Fadd, &[product, c], ftz)
        }
        Way::Call => e.call_mode(&pure::MAD_F32, 0, &[a, b, c]),
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
    let (a, b, ftz) = match e.way(Width::Single) {
        Way::Plain { ftz } => (a, b, ftz),
        Way::Call => (e.flush_source(Width::Single, a), e.flush_source(Width::Single, b), false),
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
pub(super) fn min_max(e: &mut Emit<'_>, width: Width, maximum: bool, a: Value, b: Value) -> Value {
    let follows_mode = e.generation >= Generation::Gfx9;
    let Mode::Known(mode) = e.mode() else {
        let form = pure::extreme_form(maximum, follows_mode);
        let callee = if width == Width::Double { &pure::MIN_MAX_F64 } else { &pure::MIN_MAX_F32 };
        return e.call_mode(callee, form, &[a, b]);
    };
    let (a, b) = if follows_mode { (e.flush_source(width, a), e.flush_source(width, b)) } else { (a, b) };
    let ftz = width == Width::Single && e.flushes_single();
    let value = if ftz && !follows_mode {
        select_extreme_bits(e, maximum, a, b)
    } else {
        select_extreme(e, maximum, a, b, ftz)
    };
    let value = if mode.ieee { quiet_signalling(e, width, a, b, value) } else { value };
    if follows_mode { e.flush_result(width, value) } else { value }
}

/// The smaller or larger of two; the other one where one is a NaN. `ftz`: there are no denormals.
pub(super) fn select_extreme(e: &mut Emit<'_>, maximum: bool, a: Value, b: Value, ftz: bool) -> Value {
    if a == b {
        return a;
    }
    let scalar = e.b.func.ty(a).scalar;
    let constant = e.b.func.as_const(b);
    let condition = if maximum { FloatCC::Gt } else { FloatCC::Lt };
    let first = e.b.fcmp(condition, a, b, ftz);
    let mut value = e.b.select(first, a, b);
    if constant.is_none() {
        let no_b = e.b.fcmp(FloatCC::Uno, b, b, ftz);
        value = e.b.select(no_b, a, value);
    }
    // Of the zeros -0 is the smaller one. Equal numbers have equal bits otherwise.
    let nonzero = constant.is_some_and(|bits| bits << (64 - scalar.bits() + 1) != 0);
    if !nonzero {
        let int = if scalar == Scalar::F64 { Scalar::I64 } else { Scalar::I32 };
        let (x, y) = (e.b.bitcast(a, int), e.b.bitcast(b, int));
        let both = if maximum { e.b.iand(x, y) } else { e.b.ior(x, y) };
        let both = e.b.bitcast(both, scalar);
        let equal = e.b.fcmp(FloatCC::Eq, a, b, ftz);
        value = e.b.select(equal, both, value);
    }
    value
}

/// The same of f32 by their bits, denormals and all, in code that flushes.
fn select_extreme_bits(e: &mut Emit<'_>, maximum: bool, a: Value, b: Value) -> Value {
    if a == b {
        return a;
    }
    // Integers in the order of the floats: those below zero the other way round.
    let [x, y] = [a, b].map(|value| {
        let bits = e.b.bitcast(value, Scalar::I32);
        let sign = e.sshr_const(bits, 31);
        let flip = e.ushr_const(sign, 1);
        e.b.ixor(bits, flip)
    });
    let first = e.b.icmp(if maximum { IntCC::Sgt } else { IntCC::Slt }, x, y);
    let mut value = e.b.select(first, a, b);
    for (source, other) in [(a, b), (b, a)] {
        let none = e.b.fcmp(FloatCC::Uno, source, source, true);
        value = e.b.select(none, other, value);
    }
    value
}

/// A NaN in place of `value` where a source is a signalling NaN.
fn quiet_signalling(e: &mut Emit<'_>, width: Width, a: Value, b: Value, value: Value) -> Value {
    let mut value = value;
    for source in [a, b] {
        if let Some(signals) = is_signalling(e, width, source) {
            let nan = match width {
                Width::Double => e.b.constant(Scalar::F64, width.nan()),
                _ => e.b.constant(Scalar::F32, width.nan()),
            };
            value = e.b.select(signals, nan, value);
        }
    }
    value
}

/// Whether an f32 or f64 is a signalling NaN; nothing if it cannot be one: constants and what was made canonical.
fn is_signalling(e: &mut Emit<'_>, width: Width, value: Value) -> Option<Value> {
    let mut from = value;
    while let Some(inst) = e.b.func.def_inst(from) {
        match inst.op {
            Opcode::Const | Opcode::Fcanon => return None,
            Opcode::Bitcast | Opcode::Fneg | Opcode::Fabs | Opcode::Splat => from = inst.args[0],
            _ => break,
        }
    }
    // With the quiet bit flipped, only signalling NaNs are above all others.
    Some(if width == Width::Double {
        let bits = e.b.bitcast(value, Scalar::I64);
        let quiet = e.b.i64(1 << 51);
        let bits = e.b.ixor(bits, quiet);
        let magnitude = e.b.i64(u64::MAX >> 1);
        let bits = e.b.iand(bits, magnitude);
        let limit = e.b.i64(width.nan());
        e.b.icmp(IntCC::Ugt, bits, limit)
    } else {
        let bits = e.b.bitcast(value, Scalar::I32);
        let quiet = e.b.i32(1 << 22);
        let bits = e.b.ixor(bits, quiet);
        let bits = e.and_const(bits, u32::MAX >> 1);
        let limit = e.b.i32(width.nan() as u32);
        e.b.icmp(IntCC::Sgt, bits, limit)
    })
}

/// The median; the minimum where one is a NaN.
fn median(e: &mut Emit<'_>, a: Value, b: Value, c: Value) -> Value {
    let w = Width::Single;
    let low = min_max(e, w, false, a, b);
    let high = min_max(e, w, true, a, b);
    let upper = min_max(e, w, false, high, c);
    let median = min_max(e, w, true, low, upper);
    let least = min_max(e, w, false, low, c);
    let ftz = e.flushes_single();
    let nan_ab = e.b.fcmp(FloatCC::Uno, a, b, ftz);
    let nan_c = e.b.fcmp(FloatCC::Uno, c, c, ftz);
    let nan = e.b.ior(nan_ab, nan_c);
    e.b.select(nan, least, median)
}

/// Rounding to integers in the four directions, and the fraction, of f32 or f64.
pub(super) fn to_integral(e: &mut Emit<'_>, width: Width, op: Op, a: Value) -> Value {
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
    let Way::Plain { ftz: true } = e.way(Width::Single) else {
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
