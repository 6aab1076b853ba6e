//! What float instructions of both families do alike.

use warpjit_ir::{FloatCC, Scalar, Value};

use super::{Emitter, Flags};
use crate::soft::Rounding;

impl<O> Emitter<'_, O> {
    /// The modifiers of a source: abs, then neg.
    pub(crate) fn modified(&mut self, value: Value, absolute: bool, negate: bool) -> Value {
        let value = if absolute { self.b.fabs(value) } else { value };
        if negate { self.b.fneg(value) } else { value }
    }

    /// The integral value in that direction.
    pub(crate) fn round(&mut self, value: Value, direction: Rounding) -> Value {
        match direction {
            Rounding::Nearest => self.b.fnearest(value),
            Rounding::Down => self.b.ffloor(value),
            Rounding::Up => self.b.fceil(value),
            Rounding::Zero => self.b.ftrunc(value),
        }
    }

    /// Minimum or maximum: a NaN loses, of two zeros the sign decides.
    pub(crate) fn min_max(&mut self, a: Value, b: Value, min: bool) -> Value {
        let scalar = self.b.func.ty(a).scalar;
        let int = if scalar == Scalar::F64 { Scalar::I64 } else { Scalar::I32 };
        let (a_bits, b_bits) = (self.b.bitcast(a, int), self.b.bitcast(b, int));
        // Where both are equal this merges the signs of zeros and changes nothing else.
        let equal = if min { self.b.ior(a_bits, b_bits) } else { self.b.iand(a_bits, b_bits) };
        let equal = self.b.bitcast(equal, scalar);
        let (first, second) = if min { (FloatCC::Lt, FloatCC::Gt) } else { (FloatCC::Gt, FloatCC::Lt) };
        let a_wins = self.b.fcmp(first, a, b, false);
        let b_wins = self.b.fcmp(second, a, b, false);
        let a_nan = self.b.fcmp(FloatCC::Uno, a, a, false);
        let b_nan = self.b.fcmp(FloatCC::Uno, b, b, false);
        let take_a = self.b.ior(a_wins, b_nan);
        let take_b = self.b.ior(b_wins, a_nan);
        let other = self.b.select(take_b, b, equal);
        self.b.select(take_a, a, other)
    }

    /// `$c` of an f32 or f64 result: Z for zero and NaN, S for negative and NaN, C and O clear.
    pub(crate) fn float_flags(&mut self, value: Value, ftz: bool) -> Flags {
        let none = match self.b.func.ty(value).scalar {
            Scalar::F64 => self.b.f64(0.0),
            _ => self.b.f32(0.0),
        };
        let clear = self.b.bool(false);
        let zero = self.b.fcmp(FloatCC::Ueq, value, none, ftz);
        let sign = self.b.fcmp(FloatCC::Ult, value, none, ftz);
        Flags { zero, sign, carry: clear, overflow: clear }
    }
}
