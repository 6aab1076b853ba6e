//! Runs a formula at compile time and appends its operations to the IR ([`Lanes`]), which makes it vector code.

use super::Ops;
use warpjit_ir::{Builder, FloatCC, IntCC, Opcode, PureFn, Scalar, Value, WordTable};

/// Appends operations.
pub struct Lanes<'a, 'b> {
    b: &'a mut Builder<'b>,
    ftz: bool,
}

impl<'a, 'b> Lanes<'a, 'b> {
    /// Appends to `b`. `ftz`: float operations flush. No formula sees a denormal that would matter, but in a region all of whose
    /// other operations flush, and in no other, flushing costs nothing.
    pub fn new(b: &'a mut Builder<'b>, ftz: bool) -> Self {
        Lanes { b, ftz }
    }
}

macro_rules! bodies {
    ($b:ident, $ftz:ident: $($name:ident($($arg:ident: $ty:ty),*) = $body:expr;)*) => {
        $(fn $name(&mut self, $($arg: $ty),*) -> Value {
            #[allow(unused_variables)]
            let ($b, $ftz) = (&mut *self.b, self.ftz);
            $body
        })*
    };
}

impl Lanes<'_, '_> {
    fn by_constant(&mut self, op: Opcode, a: Value, n: u32) -> Value {
        let n = match self.b.func.ty(a).scalar {
            Scalar::I64 => self.b.i64(n.into()),
            _ => self.b.i32(n),
        };
        self.b.same(op, &[a, n], warpjit_ir::Imm::None)
    }
}

impl Ops for Lanes<'_, '_> {
    type Word = Value;
    type Wide = Value;
    type Single = Value;
    type Double = Value;
    type Truth = Value;

    fn shl(&mut self, a: Value, n: u32) -> Value {
        self.by_constant(Opcode::Ishl, a, n)
    }

    fn shr(&mut self, a: Value, n: u32) -> Value {
        self.by_constant(Opcode::Ushr, a, n)
    }

    fn sar(&mut self, a: Value, n: u32) -> Value {
        self.by_constant(Opcode::Sshr, a, n)
    }

    fn wide_shl(&mut self, a: Value, n: u32) -> Value {
        self.by_constant(Opcode::Ishl, a, n)
    }

    fn wide_shr(&mut self, a: Value, n: u32) -> Value {
        self.by_constant(Opcode::Ushr, a, n)
    }

    bodies! { b, ftz:
        word(bits: u32) = b.i32(bits);
        wide(bits: u64) = b.i64(bits);
        double(value: f64) = b.f64(value);
        single(value: f32) = b.f32(value);
        call(callee: &'static PureFn, a: Value) = b.call_pure(callee, &[a]);
        canonical(x: Value, nan: u32) = b.fcanon(x, nan.into());
        lookup(table: &'static WordTable, index: Value) = b.lookup(table, index);

        add(x: Value, y: Value) = b.iadd(x, y);
        sub(x: Value, y: Value) = b.isub(x, y);
        mul(x: Value, y: Value) = b.imul(x, y);
        mul_high(x: Value, y: Value) = b.umulhi(x, y);
        and(x: Value, y: Value) = b.iand(x, y);
        or(x: Value, y: Value) = b.ior(x, y);
        xor(x: Value, y: Value) = b.ixor(x, y);
        shl_by(x: Value, n: Value) = b.ishl(x, n);
        shr_by(x: Value, n: Value) = b.ushr(x, n);
        umin(x: Value, y: Value) = b.umin(x, y);
        smax(x: Value, y: Value) = b.smax(x, y);
        eq(x: Value, y: Value) = b.icmp(IntCC::Eq, x, y);
        ult(x: Value, y: Value) = b.icmp(IntCC::Ult, x, y);
        slt(x: Value, y: Value) = b.icmp(IntCC::Slt, x, y);
        both(x: Value, y: Value) = b.iand(x, y);
        select(when: Value, x: Value, y: Value) = b.select(when, x, y);
        to_single(x: Value) = b.convert(Opcode::FcvtFromSint, x, Scalar::F32);
        to_word(x: Value) = b.convert(Opcode::FcvtToSint, x, Scalar::I32);
        single_add(x: Value, y: Value) = b.float(Opcode::Fadd, &[x, y], ftz);
        single_sub(x: Value, y: Value) = b.float(Opcode::Fsub, &[x, y], ftz);
        single_mul(x: Value, y: Value) = b.float(Opcode::Fmul, &[x, y], ftz);
        single_fma(x: Value, y: Value, z: Value) = b.float(Opcode::Fma, &[x, y, z], ftz);
        single_div(x: Value, y: Value) = b.float(Opcode::Fdiv, &[x, y], true);
        single_sqrt(x: Value) = b.float(Opcode::Fsqrt, &[x], true);
        single_nearest(x: Value) = b.fnearest(x);
        widen(x: Value) = b.convert(Opcode::F16ToF32, x, Scalar::F32);
        narrow(x: Value) = b.convert(Opcode::F32ToF16, x, Scalar::I32);
        bits(x: Value) = b.bitcast(x, Scalar::I32);
        of_bits(x: Value) = b.bitcast(x, Scalar::F32);

        wide_add(x: Value, y: Value) = b.iadd(x, y);
        wide_sub(x: Value, y: Value) = b.isub(x, y);
        wide_and(x: Value, y: Value) = b.iand(x, y);
        wide_or(x: Value, y: Value) = b.ior(x, y);
        wide_shr_by(x: Value, n: Value) = b.ushr(x, n);
        wide_eq(x: Value, y: Value) = b.icmp(IntCC::Eq, x, y);
        wide_slt(x: Value, y: Value) = b.icmp(IntCC::Slt, x, y);
        wide_select(when: Value, x: Value, y: Value) = b.select(when, x, y);
        low(x: Value) = b.convert(Opcode::Trunc, x, Scalar::I32);
        extend(x: Value) = b.convert(Opcode::Zext, x, Scalar::I64);
        wide_bits(x: Value) = b.bitcast(x, Scalar::I64);
        of_wide_bits(x: Value) = b.bitcast(x, Scalar::F64);

        promote(x: Value) = b.convert(Opcode::Fpromote, x, Scalar::F64);
        demote(x: Value) = b.convert_ftz(Opcode::Fdemote, x, Scalar::F32, true);
        double_of_signed(x: Value) = b.convert(Opcode::FcvtFromSint, x, Scalar::F64);
        double_of_unsigned(x: Value) = b.convert(Opcode::FcvtFromUint, x, Scalar::F64);
        double_add(x: Value, y: Value) = b.float(Opcode::Fadd, &[x, y], ftz);
        double_sub(x: Value, y: Value) = b.float(Opcode::Fsub, &[x, y], ftz);
        double_mul(x: Value, y: Value) = b.float(Opcode::Fmul, &[x, y], ftz);
        double_div(x: Value, y: Value) = b.float(Opcode::Fdiv, &[x, y], ftz);
        double_sqrt(x: Value) = b.float(Opcode::Fsqrt, &[x], ftz);
        double_abs(x: Value) = b.fabs(x);
        double_neg(x: Value) = b.fneg(x);
        double_lt(x: Value, y: Value) = b.fcmp(FloatCC::Lt, x, y, ftz);
        double_eq(x: Value, y: Value) = b.fcmp(FloatCC::Eq, x, y, ftz);
        double_select(when: Value, x: Value, y: Value) = b.select(when, x, y);
    }
}
