//! What the float instructions of Tesla and Fermi have in common: source modifiers, rounding to an integer, flags.

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
