//! Folding rules for float arithmetic and conversions. A rule may change the bits of a NaN that arithmetic gives, because they
//! are unspecified.

use super::{Act, Folder};
use crate::analysis::{Classes, is_flushed};
use crate::entities::Value;
use crate::function::{Imm, InstData};
use crate::opcodes::{FloatCC, Opcode};
use crate::types::Scalar;
use smallvec::smallvec;

/// How many operations deep a value is examined to exclude a NaN.
const DEPTH: u32 = 6;

impl Folder<'_> {
    pub(super) fn float(&mut self, data: &InstData) -> Option<Act> {
        use Opcode::*;
        let result = self.scalar(data.result?);
        match (data.op, data.args.as_slice()) {
            (Zext | Sext, &[a]) => self.extend(data.op, a),
            (Trunc, &[a]) => self.trunc(a),
            (Bitcast, &[a]) => {
                let &[x] = self.is(a, Bitcast)? else { return None };
                (self.scalar(x) == result).then_some(Act::Is(x))
            }
            (F16ToF32, &[a]) => {
                let x = self.demand(a, 0xffff)?;
                Some(Act::Now(F16ToF32, smallvec![x], data.imm))
            }
            (Fneg, &[a]) => Some(Act::Is(self.is(a, Fneg)?[0])),
            (Fabs, &[a]) => {
                if self.is(a, Fabs).is_some() {
                    return Some(Act::Is(a));
                }
                let &[x] = self.is(a, Fneg)? else { return None };
                Some(Act::Now(Fabs, smallvec![x], Imm::None))
            }
            (Fflush, &[a]) => is_flushed(self.func, a).then_some(Act::Is(a)),
            (Fcanon, &[a]) => {
                if !self.may_be_nan(a, DEPTH) {
                    return Some(Act::Is(a));
                }
                match self.def(a)? {
                    InstData { op: Fcanon, imm, .. } if *imm == data.imm => Some(Act::Is(a)),
                    // Only the outer `fcanon` matters.
                    InstData { op: Fcanon, args, .. } => Some(Act::Now(Fcanon, smallvec![args[0]], data.imm)),
                    InstData { op: Select, args, .. } => {
                        let quiet = self.quietened(&args.clone())?;
                        Some(Act::Now(Fcanon, smallvec![quiet], data.imm))
                    }
                    _ => None,
                }
            }
            // If both are the same NaN, its bits may be the result.
            (Fmin | Fmax, &[a, b]) => (a == b).then_some(Act::Is(a)),
            (Fsignals, &[a, b]) => self.signals(a, b),
            (Fcmp, &[a, b]) => self.fcmp(data, a, b),
            (Fmul | Fdiv, &[a, b]) => self.scale(data, a, b, result).or_else(|| self.flushed_operands(data)),
            (Fadd | Fsub, &[a, b]) => self.negated(data, a, b).or_else(|| self.flushed_operands(data)),
            (Fsqrt | Fma | FmadTrunc, _) => self.flushed_operands(data),
            (Ffloor | Fceil | Ftrunc | Fnearest, &[a]) => {
                // Already an integer.
                let d = self.def(a)?;
                let whole = matches!(d.op, Ffloor | Fceil | Ftrunc | Fnearest | FcvtFromSint | FcvtFromUint);
                whole.then_some(Act::Is(a))
            }
            _ => None,
        }
    }

    /// The value that a select passes on unless it is a signalling NaN, which the select replaces by a quiet one.
    fn quietened(&self, select: &[Value]) -> Option<Value> {
        let &[signals, nan, value] = select else { return None };
        let (a, b) = self.is2(signals, Opcode::Fsignals)?;
        (a == value && b == value && self.c(nan).is_some() && self.may_be_nan(nan, 0)).then_some(value)
    }

    /// Tests for signalling NaNs. They do not depend on the sign, and a canonical NaN is not signalling.
    fn signals(&mut self, a: Value, b: Value) -> Option<Act> {
        let without_sign = |f: &Self, v: Value| match f.def(v) {
            Some(InstData { op: Opcode::Fneg | Opcode::Fabs, args, .. }) => args[0],
            _ => v,
        };
        let may = |f: &Self, v: Value| match f.def(v) {
            Some(InstData { op: Opcode::Fcanon, imm: Imm::Bits(nan), .. }) => {
                Classes::of(f.scalar(v), *nan).may(Classes::SIGNALLING)
            }
            _ => f.may_be_nan(v, DEPTH),
        };
        let (x, y) = (without_sign(self, a), without_sign(self, b));
        let (x, y) = match (may(self, x), may(self, y)) {
            (false, false) => return Some(Act::Const(0)),
            (false, true) => (y, y),
            (true, false) => (x, x),
            (true, true) => (x, y),
        };
        ((x, y) != (a, b)).then(|| Act::Now(Opcode::Fsignals, smallvec![x, y], Imm::None))
    }

    /// Sums of negated operands.
    fn negated(&mut self, data: &InstData, a: Value, b: Value) -> Option<Act> {
        let now = |op, x, y| Some(Act::Now(op, smallvec![x, y], data.imm));
        match (data.op, self.is(a, Opcode::Fneg), self.is(b, Opcode::Fneg)) {
            (Opcode::Fadd, _, Some(&[y])) => now(Opcode::Fsub, a, y),
            (Opcode::Fadd, Some(&[x]), _) => now(Opcode::Fsub, b, x),
            (Opcode::Fsub, _, Some(&[y])) => now(Opcode::Fadd, a, y),
            _ => None,
        }
    }

    /// Multiplication by one, division by a power of two.
    fn scale(&mut self, data: &InstData, a: Value, b: Value, scalar: Scalar) -> Option<Act> {
        let n = self.c(b)?;
        let value = match scalar {
            Scalar::F32 => f64::from(f32::from_bits(n as u32)),
            _ => f64::from_bits(n),
        };
        let ftz = data.imm == Imm::Ftz(true);
        if value == 1.0 {
            return Some(if ftz { Act::Now(Opcode::Fflush, smallvec![a], Imm::None) } else { Act::Is(a) });
        }
        if value == -1.0 && !ftz {
            return Some(Act::Now(Opcode::Fneg, smallvec![a], Imm::None));
        }
        if data.op == Opcode::Fdiv && is_power_of_two(n, scalar) {
            // The reciprocal of a power of two is exact; both round the same product once.
            let bits = match scalar {
                Scalar::F32 => u64::from((1.0 / f32::from_bits(n as u32)).to_bits()),
                _ => (1.0 / f64::from_bits(n)).to_bits(),
            };
            if is_power_of_two(bits, scalar) {
                let b = self.constant(scalar, bits);
                return Some(Act::Now(Opcode::Fmul, smallvec![a, b], data.imm));
            }
        }
        None
    }

    /// Operands are flushed by the operation itself.
    fn flushed_operands(&mut self, data: &InstData) -> Option<Act> {
        let flushes = match data.imm {
            Imm::Ftz(ftz) | Imm::FloatCmp(_, ftz) => ftz || data.op == Opcode::FmadTrunc,
            _ => data.op == Opcode::FmadTrunc,
        };
        if !flushes {
            return None;
        }
        let place = data.args.iter().position(|&v| self.is(v, Opcode::Fflush).is_some())?;
        let mut args = data.args.clone();
        args[place] = self.is(args[place], Opcode::Fflush)?[0];
        Some(Act::Now(data.op, args, data.imm))
    }

    fn fcmp(&mut self, data: &InstData, a: Value, b: Value) -> Option<Act> {
        let Imm::FloatCmp(cc, ftz) = data.imm else { return None };
        let nan = |f: &Self, v| f.may_be_nan(v, DEPTH);
        let ordered = !nan(self, a) && (a == b || !nan(self, b));
        match cc {
            FloatCC::Ord if ordered => return Some(Act::Const(1)),
            FloatCC::Uno if ordered => return Some(Act::Const(0)),
            // A constant that is not a NaN does not matter, so test the other operand only.
            FloatCC::Ord | FloatCC::Uno if a != b && self.c(b).is_some() && !nan(self, b) => {
                return Some(Act::Now(Opcode::Fcmp, smallvec![a, a], data.imm));
            }
            _ => {}
        }
        if a == b {
            let with_nan = match cc {
                FloatCC::Eq | FloatCC::Le | FloatCC::Ge => FloatCC::Ord,
                FloatCC::Ne | FloatCC::Ult | FloatCC::Ugt => FloatCC::Uno,
                FloatCC::Lt | FloatCC::Gt | FloatCC::One => return Some(Act::Const(0)),
                FloatCC::Ueq | FloatCC::Ule | FloatCC::Uge => return Some(Act::Const(1)),
                FloatCC::Ord | FloatCC::Uno => return self.flushed_operands(data),
            };
            return Some(Act::Now(Opcode::Fcmp, smallvec![a, a], Imm::FloatCmp(with_nan, ftz)));
        }
        self.flushed_operands(data)
    }

    fn extend(&mut self, op: Opcode, a: Value) -> Option<Act> {
        if op == Opcode::Sext && self.bits(a).clear(0x8000_0000) {
            return Some(Act::Now(Opcode::Zext, smallvec![a], Imm::None));
        }
        // The low half of a value that has nothing else.
        let &[x] = self.is(a, Opcode::Trunc)? else { return None };
        (op == Opcode::Zext && self.bits(x).clear(!0xffff_ffff)).then_some(Act::Is(x))
    }

    /// The low half of 64 bits.
    fn trunc(&mut self, a: Value) -> Option<Act> {
        use Opcode::*;
        if let Some(low) = self.low_word(a) {
            return Some(Act::Is(low));
        }
        let data = self.def(a)?.clone();
        match (data.op, data.args.as_slice()) {
            (Zext | Sext, &[x]) => Some(Act::Is(x)),
            (Bmask, &[c]) => Some(Act::Now(Bmask, smallvec![c], Imm::None)),
            (Iadd | Isub | Imul | Iand | Ior | Ixor, &[x, y]) => {
                let only = self.uses.count(a) <= 1;
                let (x, y) = (self.narrow(x, only)?, self.narrow(y, only)?);
                let (x, y) = (self.low(x), self.low(y));
                Some(Act::Now(data.op, smallvec![x, y], Imm::None))
            }
            (Ishl, &[x, y]) => {
                let n = self.c(y)? % 64;
                let x = self.narrow(x, false)?;
                if n >= 32 {
                    return Some(Act::Const(0));
                }
                let x = self.low(x);
                self.by(Ishl, x, n)
            }
            (Ushr | Sshr, &[x, y]) => {
                let n = self.c(y)? % 64;
                if n == 32
                    && let Some((p, q)) = self.is2(x, Imul)
                {
                    // The high half of a product.
                    for (extend, high) in [(Zext, Umulhi), (Sext, Smulhi)] {
                        if let (Some(&[p]), Some(&[q])) = (self.is(p, extend), self.is(q, extend)) {
                            return Some(Act::Now(high, smallvec![p, q], Imm::None));
                        }
                    }
                }
                let &[x] = self.is(x, Zext)? else {
                    return None;
                };
                if n >= 32 { Some(Act::Const(0)) } else { self.by(Ushr, x, n) }
            }
            _ => {
                let x = self.demand(a, 0xffff_ffff)?;
                Some(Act::Now(Trunc, smallvec![x], Imm::None))
            }
        }
    }

    /// The low half of a 64-bit value, if it exists or can be computed. `only`: nothing but the low half of the final
    /// result is used.
    fn narrow(&self, value: Value, only: bool) -> Option<Low> {
        if let Some(bits) = self.c(value) {
            return Some(Low::Const(bits & 0xffff_ffff));
        }
        for op in [Opcode::Zext, Opcode::Sext] {
            if let Some(&[x]) = self.is(value, op) {
                return Some(Low::Value(x));
            }
        }
        if let Some(low) = self.low_word(value) {
            return Some(Low::Value(low));
        }
        let single = only && self.uses.count(value) <= 1;
        let arithmetic =
            self.def(value).is_some_and(|d| matches!(d.op, Opcode::Iadd | Opcode::Isub | Opcode::Imul));
        (self.func.ty(value).uniform || single && arithmetic).then_some(Low::Half(value))
    }

    fn low(&mut self, low: Low) -> Value {
        match low {
            Low::Value(x) => x,
            Low::Const(bits) => self.constant(Scalar::I32, bits),
            Low::Half(value) => self.make(Opcode::Trunc, &[value], Imm::None, Scalar::I32),
        }
    }

    /// Whether the value may be a NaN; false only if that is proved impossible.
    fn may_be_nan(&self, value: Value, depth: u32) -> bool {
        use Opcode::*;
        let Some(data) = self.def(value) else { return true };
        if let Some(bits) = self.c(value) {
            return match self.scalar(value) {
                Scalar::F32 => f32::from_bits(bits as u32).is_nan(),
                _ => f64::from_bits(bits).is_nan(),
            };
        }
        match data.op {
            FcvtFromSint | FcvtFromUint => false,
            Fneg | Fabs | Fflush | Ffloor | Fceil | Ftrunc | Fnearest | Fpromote | Fdemote if depth > 0 => {
                self.may_be_nan(data.args[0], depth - 1)
            }
            Select if depth > 0 => {
                self.may_be_nan(data.args[1], depth - 1) || self.may_be_nan(data.args[2], depth - 1)
            }
            Fmin | Fmax if depth > 0 => {
                self.may_be_nan(data.args[0], depth - 1) && self.may_be_nan(data.args[1], depth - 1)
            }
            _ => true,
        }
    }
}

enum Low {
    Value(Value),
    Const(u64),
    /// The low half of this one.
    Half(Value),
}

/// Whether the bits are a normal power of two, of either sign.
fn is_power_of_two(bits: u64, scalar: Scalar) -> bool {
    match scalar {
        Scalar::F32 => f32::from_bits(bits as u32).is_normal() && bits & 0x7f_ffff == 0,
        _ => f64::from_bits(bits).is_normal() && bits & 0xf_ffff_ffff_ffff == 0,
    }
}
