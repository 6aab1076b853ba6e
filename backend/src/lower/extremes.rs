//! The lesser and the greater of two floats, signalling NaNs, and selections that are a minimum or maximum of the host.

use std::rc::Rc;

use warpjit_ir::analysis::{Classes, FloatClasses};
use warpjit_ir::{FloatCC, Imm, InstData, Opcode, Value};

use super::float::format;
use super::{Lower, Parts, arg};
use crate::clif::{Emit, HostFloatCC, HostIntCC, V, int_of, vector};
use crate::code::FloatEnv;
use crate::error::Error;
use crate::extremes::Plan;

impl Lower<'_, '_> {
    /// What kinds of floats values can be.
    pub(super) fn classes(&mut self) -> Rc<FloatClasses> {
        let f = self.f;
        self.float_classes.get_or_insert_with(|| Rc::new(FloatClasses::new(f))).clone()
    }

    /// The lesser or greater of two floats, on one vector or one scalar.
    pub(super) fn extreme(&mut self, data: &InstData, a: V, b: V) -> Result<V, Error> {
        let classes = self.classes();
        let (x, y) = (classes.of(arg(data, 0)?), classes.of(arg(data, 1)?));
        let greater = data.op == Opcode::Fmax;
        let flushes = self.env == FloatEnv::FlushAll;
        if !self.e.host.x86 {
            let nan = |kinds: Classes| kinds.may(Classes::NAN);
            return Ok(self.e.extreme_of_numbers(greater, (a, nan(x)), (b, nan(y))));
        }
        let plan = Plan::new(x, y, greater, flushes);
        let (a, b) = if plan.swap { (b, a) } else { (a, b) };
        if plan.bits {
            return Ok(self.e.extreme_by_bits(greater, a, b, plan));
        }
        let mut r = self.e.host_extreme(greater, a, b);
        if plan.zeros && (plan.first_nan || plan.second_nan) {
            r = self.e.right_zeros(greater, a, b, r);
        } else if plan.zeros {
            // Of equal ones this is the second, the other way round it is the first; else both are the same.
            let other = self.e.host_extreme(greater, b, a);
            r = self.e.zero_of_both(greater, r, other);
        }
        if plan.second_nan {
            let none = self.e.fcmp(HostFloatCC::Unordered, b, b);
            r = self.e.sel(none, a, r);
        }
        Ok(r)
    }

    /// Whether one of two floats is a signalling NaN, on one vector or one scalar.
    pub(super) fn signals(&mut self, data: &InstData, a: V, b: V) -> Result<V, Error> {
        let ty = self.e.ty(a);
        let k = format(ty);
        let quiet = k.min_normal >> 1;
        // With the quiet bit flipped, signalling NaNs are above all others.
        let turned = |l: &mut Self, x: V| {
            let bits = l.e.cast(x, int_of(ty));
            let bits = l.e.bxor_imm(bits, quiet);
            l.e.band_imm(bits, k.magnitude)
        };
        let above = |l: &mut Self, x: V| l.e.icmp_imm(HostIntCC::SignedGreaterThan, x, k.exponent | quiet);
        let a = turned(self, a);
        if arg(data, 0)? == arg(data, 1)? {
            return Ok(above(self, a));
        }
        let b = turned(self, b);
        if ty.lane_bits() == 32 {
            let highest = self.e.smax(a, b);
            return Ok(above(self, highest));
        }
        let (a, b) = (above(self, a), above(self, b));
        Ok(self.e.bor(a, b))
    }

    /// Vectors of a selection between two floats by which of them is less, where that is the host's minimum or maximum.
    pub(super) fn select_extreme(&mut self, data: &InstData) -> Result<Option<Parts>, Error> {
        if !self.e.host.x86 {
            return Ok(None);
        }
        let (c, x, y) = (arg(data, 0)?, arg(data, 1)?, arg(data, 2)?);
        let Some(test) = self.f.def_inst(c).filter(|test| test.op == Opcode::Fcmp) else { return Ok(None) };
        let (Imm::FloatCmp(cc, ftz), &[p, q]) = (test.imm, test.args.as_slice()) else { return Ok(None) };
        let (less, [x, y]) = match cc {
            FloatCC::Lt => (true, [x, y]),
            FloatCC::Gt => (false, [x, y]),
            // The complement: what is chosen changes places.
            FloatCC::Uge => (true, [y, x]),
            FloatCC::Ule => (false, [y, x]),
            _ => return Ok(None),
        };
        let scalar = self.scalar_of(p);
        let [first, second] = [x, y].map(|v| self.before_bitcast(v));
        let whole = |l: &Self, v: Value| l.before_canon(v);
        let same = |l: &Self, a: Value, b: Value| whole(l, a) == whole(l, b);
        // `a < b ? a : b` is a minimum, `b < a ? a : b` a maximum.
        let greater = match (
            same(self, first, p) && same(self, second, q),
            same(self, first, q) && same(self, second, p),
        ) {
            (true, _) => !less,
            (_, true) => less,
            _ => return Ok(None),
        };
        if self.scalar_of(first) != scalar || self.scalar_of(second) != scalar {
            return Ok(None);
        }
        if ftz || self.turns {
            let classes = self.classes();
            if classes.of(first).or(classes.of(second)).may(Classes::DENORMALS) {
                return Ok(None);
            }
        }
        let ty = vector(self.scalar_of(x));
        self.part_by_part(&[first, second], |l, v| {
            let r = l.e.host_extreme(greater, v[0], v[1]);
            Ok(l.e.cast(r, ty))
        })
        .map(Some)
    }

    fn before_bitcast(&self, v: Value) -> Value {
        match self.f.def_inst(v) {
            Some(data) if data.op == Opcode::Bitcast => {
                data.args.first().map_or(v, |&a| self.before_bitcast(a))
            }
            _ => v,
        }
    }
}

impl Emit<'_> {
    /// The host's minimum or maximum: `a` where it is less (greater), else `b`.
    fn host_extreme(&mut self, greater: bool, a: V, b: V) -> V {
        // The shapes that the code generator knows as one instruction of x86.
        let first = if greater {
            self.fcmp(HostFloatCC::LessThan, b, a)
        } else {
            self.fcmp(HostFloatCC::LessThan, a, b)
        };
        if !self.is_vector(a) {
            return self.select(first, a, b);
        }
        let ty = self.ty(a);
        let first = self.cast(first, ty);
        self.bitselect(first, a, b)
    }

    /// -0 for the lesser of zeros that are not both +0, +0 for the greater of such that are not both -0. Of other
    /// numbers both are the same.
    fn zero_of_both(&mut self, greater: bool, a: V, b: V) -> V {
        let ty = self.ty(a);
        let (a, b) = (self.cast(a, int_of(ty)), self.cast(b, int_of(ty)));
        let both = if greater { self.band(a, b) } else { self.bor(a, b) };
        self.cast(both, ty)
    }

    /// The lesser or greater `r`, which is `b` where both are equal, with the right one of two zeros.
    fn right_zeros(&mut self, greater: bool, a: V, b: V, r: V) -> V {
        let ty = self.ty(a);
        if !self.is_vector(a) {
            let both = self.zero_of_both(greater, a, b);
            let equal = self.fcmp(HostFloatCC::Equal, a, b);
            return self.sel(equal, both, r);
        }
        let int = int_of(ty);
        let (bits, r) = (self.cast(a, int), self.cast(r, int));
        let r = if greater {
            let differs = self.fcmp(HostFloatCC::NotEqual, a, b);
            let kept = self.bor(bits, differs);
            self.band(r, kept)
        } else {
            let equal = self.fcmp(HostFloatCC::Equal, a, b);
            let put = self.band(bits, equal);
            self.bor(r, put)
        };
        self.cast(r, ty)
    }

    /// By the bits, for code in which the host takes denormals for zeros.
    fn extreme_by_bits(&mut self, greater: bool, a: V, b: V, plan: Plan) -> V {
        let ty = self.ty(a);
        let int = int_of(ty);
        let (x, y) = (self.cast(a, int), self.cast(b, int));
        let cc = if greater { HostIntCC::SignedGreaterThan } else { HostIntCC::SignedLessThan };
        let r = if !plan.signs && ty.lane_bits() == 32 {
            if greater { self.smax(x, y) } else { self.smin(x, y) }
        } else {
            let mut first = self.icmp(cc, x, y);
            if plan.signs {
                let both = self.band(x, y);
                if !self.is_vector(both) {
                    let below_zero = self.icmp_imm(HostIntCC::SignedLessThan, both, 0);
                    first = self.bxor(first, below_zero);
                } else {
                    // The blend looks at the sign alone.
                    first = self.bxor(first, both);
                }
            }
            self.sel(first, x, y)
        };
        let mut r = self.cast(r, ty);
        for (may, source, other) in [(plan.second_nan, b, a), (plan.first_nan, a, b)] {
            if may {
                let none = self.fcmp(HostFloatCC::Unordered, source, source);
                r = self.sel(none, other, r);
            }
        }
        r
    }

    /// Where the host has an instruction that knows -0 from +0 but gives a NaN where one operand is one; with each
    /// operand whether it may be.
    fn extreme_of_numbers(&mut self, greater: bool, (a, a_nan): (V, bool), (b, b_nan): (V, bool)) -> V {
        let mut number = |may: bool, x: V, other: V| {
            if !may {
                return x;
            }
            let none = self.fcmp(HostFloatCC::Unordered, x, x);
            self.sel(none, other, x)
        };
        let (x, y) = (number(a_nan, a, b), number(b_nan, b, a));
        if greater { self.fmax(x, y) } else { self.fmin(x, y) }
    }
}
