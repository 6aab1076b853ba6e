//! Lifts vector compares and `v_cndmask`, the move that a mask controls.

use warpjit_ir::{FloatCC, IntCC, Opcode, Scalar, Value};

use crate::gcn::lift::analysis::effects::is_cmpx;
use crate::gcn::lift::analysis::statics::Mode;
use crate::gcn::lift::emit::Emit;
use crate::gcn::{Inst, Op};

/// What a compare tests, by its name: `V_CMP_LT_F32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Test {
    Never,
    Always,
    Float(FloatCC),
    Int(IntCC),
    Class,
}

/// Type of the operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    F16,
    F32,
    F64,
    I16,
    I32,
    I64,
}

/// Vector compares and `v_cndmask_b32`.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    match inst.op {
        Op::V_CNDMASK_B32 => {
            let (a, b) = (e.src32_modified(inst, 0), e.src32_modified(inst, 1));
            let mask = e.mask_src(inst.src(2));
            let value = e.b.select(mask, b, a);
            e.set_dst32(inst, value);
        }
        op => {
            let Some((test, kind)) = parse(op) else { return false };
            let mask = evaluate(e, inst, test, kind);
            let mask = e.set_mask_result(inst, mask);
            if is_cmpx(op) {
                e.set_exec(mask);
            }
        }
    }
    true
}

fn parse(op: Op) -> Option<(Test, Kind)> {
    let mut words = op.name().split('_');
    if words.next() != Some("V") || !matches!(words.next(), Some("CMP" | "CMPX" | "CMPS" | "CMPSX")) {
        return None;
    }
    let (condition, kind) = (words.next()?, words.next()?);
    let unsigned = kind.starts_with('U');
    let kind = match kind {
        "F16" => Kind::F16,
        "F32" => Kind::F32,
        "F64" => Kind::F64,
        "I16" | "U16" => Kind::I16,
        "I32" | "U32" => Kind::I32,
        _ => Kind::I64,
    };
    let float = matches!(kind, Kind::F16 | Kind::F32 | Kind::F64);
    let int = |signed, plain| Test::Int(if unsigned { plain } else { signed });
    let test = match (condition, float) {
        ("F", _) => Test::Never,
        ("T" | "TRU", _) => Test::Always,
        ("CLASS", _) => Test::Class,
        ("LT", true) => Test::Float(FloatCC::Lt),
        ("EQ", true) => Test::Float(FloatCC::Eq),
        ("LE", true) => Test::Float(FloatCC::Le),
        ("GT", true) => Test::Float(FloatCC::Gt),
        ("LG", true) => Test::Float(FloatCC::One),
        ("GE", true) => Test::Float(FloatCC::Ge),
        ("O", true) => Test::Float(FloatCC::Ord),
        ("U", true) => Test::Float(FloatCC::Uno),
        ("NGE", true) => Test::Float(FloatCC::Ult),
        ("NLG", true) => Test::Float(FloatCC::Ueq),
        ("NGT", true) => Test::Float(FloatCC::Ule),
        ("NLE", true) => Test::Float(FloatCC::Ugt),
        ("NEQ", true) => Test::Float(FloatCC::Ne),
        ("NLT", true) => Test::Float(FloatCC::Uge),
        ("EQ", false) => Test::Int(IntCC::Eq),
        ("NE", false) => Test::Int(IntCC::Ne),
        ("LT", false) => int(IntCC::Slt, IntCC::Ult),
        ("LE", false) => int(IntCC::Sle, IntCC::Ule),
        ("GT", false) => int(IntCC::Sgt, IntCC::Ugt),
        ("GE", false) => int(IntCC::Sge, IntCC::Uge),
        _ => return None,
    };
    Some((test, kind))
}

fn evaluate(e: &mut Emit<'_>, inst: &Inst, test: Test, kind: Kind) -> Value {
    match test {
        Test::Never => e.b.bool(false),
        Test::Always => e.b.bool(true),
        Test::Class => class(e, inst, kind),
        Test::Int(cc) => {
            let signed = matches!(cc, IntCC::Slt | IntCC::Sle | IntCC::Sgt | IntCC::Sge);
            let mut read = |i| match kind {
                Kind::I16 if signed => e.src_i16(inst, i),
                Kind::I16 => e.src16(inst, i),
                Kind::I64 => e.src64(inst, i),
                _ => e.src32(inst, i),
            };
            let (a, b) = (read(0), read(1));
            e.b.icmp(cc, a, b)
        }
        Test::Float(cc) => {
            let (a, b) = (float(e, inst, kind, 0), float(e, inst, kind, 1));
            // Where MODE is known the comparison itself takes denormals for zeros.
            let flushes =
                kind == Kind::F32 && matches!(e.mode(), Mode::Known(mode) if mode.denorm32 & 1 == 0);
            e.b.fcmp(cc, a, b, flushes)
        }
    }
}

/// A source as it is compared: denormals are zeros where MODE does not allow them as inputs.
fn float(e: &mut Emit<'_>, inst: &Inst, kind: Kind, i: usize) -> Value {
    let value = match kind {
        Kind::F16 => {
            let bits = e.src_f16(inst, i);
            e.b.convert(Opcode::F16ToF32, bits, Scalar::F32)
        }
        Kind::F64 => e.src_f64(inst, i),
        _ => e.src_f32(inst, i),
    };
    let flush = |e: &mut Emit<'_>| if kind == Kind::F16 { e.flush_half(value) } else { e.b.fflush(value) };
    match e.mode() {
        Mode::Known(mode) if kind != Kind::F32 && mode.denorm64 & 1 == 0 => flush(e),
        Mode::Known(_) => value,
        Mode::Dynamic => {
            let off = e.mode_bit_clear(if kind == Kind::F32 { 4 } else { 6 });
            let flushed = flush(e);
            e.b.select(off, flushed, value)
        }
    }
}

/// `v_cmp_class`: the second source has a bit for each class of numbers: signalling and quiet NaN, then -inf, -normal,
/// -denormal, -0, +0, +denormal, +normal, +inf.
fn class(e: &mut Emit<'_>, inst: &Inst, kind: Kind) -> Value {
    let classes = e.src32(inst, 1);
    // Bits of the value, of infinity, of the smallest normal number, of the bit that makes a NaN quiet.
    let (bits, infinity, normal, quiet) = match kind {
        Kind::F16 => (e.src_f16(inst, 0), 0x7c00, 0x400, 0x200),
        Kind::F64 => {
            let value = e.src_f64(inst, 0);
            (e.b.bitcast(value, Scalar::I64), 0x7ff << 52, 1 << 52, 1 << 51)
        }
        _ => {
            let value = e.src_f32(inst, 0);
            (e.b.bitcast(value, Scalar::I32), 0x7f80_0000, 0x0080_0000, 0x0040_0000)
        }
    };
    let scalar = e.b.func.ty(bits).scalar;
    let sign = e.b.constant(scalar, infinity + normal);
    let negative = e.b.iand(bits, sign);
    let rest = e.b.constant(scalar, infinity + normal - 1);
    let magnitude = e.b.iand(bits, rest);
    let zero = e.b.constant(scalar, 0);
    let negative = e.b.icmp(IntCC::Ne, negative, zero);
    let infinity = e.b.constant(scalar, infinity);
    let is_nan = e.b.icmp(IntCC::Ugt, magnitude, infinity);
    // 0 for zero, 1 for denormals, 2 for normal numbers, 3 for infinity.
    let mut size = e.b.i32(0);
    let one = e.b.constant(scalar, 1);
    let normal = e.b.constant(scalar, normal);
    for (number, least) in [(1, one), (2, normal), (3, infinity)] {
        let reaches = e.b.icmp(IntCC::Uge, magnitude, least);
        let number = e.b.i32(number);
        size = e.b.select(reaches, number, size);
    }
    let (five, six) = (e.b.i32(5), e.b.i32(6));
    let (below, above) = (e.b.isub(five, size), e.b.iadd(six, size));
    let number = e.b.select(negative, below, above);
    let quiet = e.b.constant(scalar, quiet);
    let quiet = e.b.iand(bits, quiet);
    let quiet = e.b.icmp(IntCC::Ne, quiet, zero);
    let nan = e.bit(quiet);
    let number = e.b.select(is_nan, nan, number);
    let bit = e.b.ushr(classes, number);
    let bit = e.and_const(bit, 1);
    let none = e.b.i32(0);
    e.b.icmp(IntCC::Ne, bit, none)
}
