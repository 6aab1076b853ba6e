//! Folding rules for comparisons, selects and truth values.

use super::{Act, Folder};
use crate::entities::Value;
use crate::eval::eval_scalar;
use crate::function::{Form, Imm, InstData};
use crate::opcodes::{IntCC, Opcode};
use crate::types::Scalar;
use smallvec::smallvec;

/// How many operations deep a select between two constants is searched for.
const DEPTH: u32 = 5;

impl Folder<'_> {
    pub(super) fn compare(&mut self, data: &InstData) -> Option<Act> {
        match (data.op, data.args.as_slice(), &data.imm) {
            (Opcode::Icmp, &[a, b], Imm::Int(cc)) => self.icmp(*cc, a, b),
            (Opcode::Select, &[c, a, b], _) => self.select(c, a, b),
            // A uniform truth value that holds, holds in at least one lane.
            (Opcode::Any, &[a], _) if self.func.ty(a).uniform => Some(Act::Is(a)),
            _ => None,
        }
    }

    /// `lane_bit` of a constant: uniform if the bits of all lanes are equal.
    pub(super) fn lane_bit(&mut self, data: &InstData) -> Option<Act> {
        let lanes = u64::MAX >> (64 - self.func.lanes.clamp(1, 64));
        match self.c(*data.args.first()?)? & lanes {
            0 => Some(Act::Const(0)),
            all if all == lanes => Some(Act::Const(1)),
            _ => None,
        }
    }

    fn icmp(&mut self, cc: IntCC, a: Value, b: Value) -> Option<Act> {
        use IntCC::*;
        if a == b {
            return Some(Act::Const(u64::from(matches!(cc, Eq | Sle | Sge | Ule | Uge))));
        }
        if self.c(a).is_some() && self.c(b).is_none() {
            return Some(Act::Now(Opcode::Icmp, smallvec![b, a], Imm::Int(cc.swapped())));
        }
        if let Some(truth) = self.compare_known(cc, a, b) {
            return Some(Act::Const(u64::from(truth)));
        }
        if let Some(n) = self.c(b) {
            return self.icmp_const(cc, a, n);
        }
        None
    }

    /// The result of a comparison, if known bits and bounds decide it.
    fn compare_known(&self, cc: IntCC, a: Value, b: Value) -> Option<bool> {
        use IntCC::*;
        let (x, y) = (self.bits(a), self.bits(b));
        let mask = self.scalar(a).bit_mask();
        let sign = mask ^ (mask >> 1);
        if matches!(cc, Eq | Ne) {
            let apart = x.ones & y.zeros | x.zeros & y.ones;
            let differ = apart != 0 || x.max < y.min() || y.max < x.min();
            return differ.then_some(cc == Ne);
        }
        let (negative_x, negative_y) = (x.ones & sign != 0, y.ones & sign != 0);
        let (positive_x, positive_y) = (x.clear(sign), y.clear(sign));
        let unsigned = match cc {
            Slt | Sle | Sgt | Sge => {
                if negative_x && positive_y {
                    return Some(matches!(cc, Slt | Sle));
                }
                if positive_x && negative_y {
                    return Some(matches!(cc, Sgt | Sge));
                }
                if !(positive_x && positive_y) {
                    return None;
                }
                match cc {
                    Slt => Ult,
                    Sle => Ule,
                    Sgt => Ugt,
                    _ => Uge,
                }
            }
            _ => cc,
        };
        let less = |p: bool, x: super::Bits, y: super::Bits| {
            // x < y, or x <= y where `p`
            if x.max < y.min() || (p && x.max == y.min()) {
                Some(true)
            } else if x.min() > y.max || (!p && x.min() == y.max) {
                Some(false)
            } else {
                None
            }
        };
        match unsigned {
            Ult => less(false, x, y),
            Ule => less(true, x, y),
            Ugt => less(false, y, x),
            _ => less(true, y, x),
        }
    }

    fn icmp_const(&mut self, cc: IntCC, a: Value, n: u64) -> Option<Act> {
        use IntCC::*;
        let scalar = self.scalar(a);
        let mask = scalar.bit_mask();
        let sign = mask ^ (mask >> 1);
        // A select between two constants, compared with a constant, is the condition, its complement, or a constant.
        if let Some((c, [t, f])) = self.choice(a, DEPTH) {
            let holds = |x| eval_scalar(Opcode::Icmp, &Imm::Int(cc), &[scalar, scalar], Scalar::I1, &[x, n]);
            return match (holds(t)?, holds(f)?) {
                (1, 0) => Some(Act::Is(c)),
                (0, 1) => Some(Act::Now(Opcode::Inot, smallvec![c], Imm::None)),
                (truth, _) => Some(Act::Const(truth)),
            };
        }
        match (cc, n) {
            (Ult, 1) => return self.icmp_by(Eq, a, 0),
            (Uge, 1) => return self.icmp_by(Ne, a, 0),
            (Ugt, 0) => return self.icmp_by(Ne, a, 0),
            (Ule, 0) => return self.icmp_by(Eq, a, 0),
            (Sgt, _) if n == mask => return self.icmp_by(Sge, a, 0),
            (Sle, _) if n == mask => return self.icmp_by(Slt, a, 0),
            _ => {}
        }
        let equality = matches!(cc, Eq | Ne);
        let data = self.def(a)?.clone();
        match (data.op, data.args.as_slice()) {
            (Opcode::Iadd, &[x, y]) if equality => {
                let m = self.c(y)?;
                self.icmp_by(cc, x, n.wrapping_sub(m))
            }
            (Opcode::Isub | Opcode::Ixor, &[x, y]) if equality && n == 0 => {
                Some(Act::Now(Opcode::Icmp, smallvec![x, y], Imm::Int(cc)))
            }
            (Opcode::Ixor, &[x, y]) if equality => {
                let m = self.c(y)?;
                self.icmp_by(cc, x, n ^ m)
            }
            (Opcode::Ineg, &[x]) if equality => self.icmp_by(cc, x, n.wrapping_neg()),
            (Opcode::Inot, &[x]) if equality => self.icmp_by(cc, x, !n),
            // The sign bit alone.
            (Opcode::Iand, &[x, y]) if equality && n == 0 && self.c(y) == Some(sign) => {
                self.icmp_by(if cc == Eq { Sge } else { Slt }, x, 0)
            }
            // Any one bit.
            (Opcode::Iand, &[_, y]) if equality && n.is_power_of_two() && self.c(y) == Some(n) => {
                self.icmp_by(cc.inverse(), a, 0)
            }
            // Bits of a lower half, of the whole where they lie.
            (Opcode::Iand, &[x, y]) if equality && n == 0 && self.uses.count(a) == 1 => {
                let bits = self.c(y)?;
                let half = self.def(x).filter(|data| data.op == Opcode::Trunc)?.args[0];
                if self.uses.count(x) != 1 {
                    return None;
                }
                let bits = self.constant(Scalar::I64, bits);
                let whole = self.make(Opcode::Iand, &[half, bits], Imm::None, Scalar::I64);
                self.icmp_by(cc, whole, 0)
            }
            (Opcode::Ushr, &[x, y]) if equality && n == 0 && self.c(y)? == u64::from(scalar.bits()) - 1 => {
                self.icmp_by(if cc == Eq { Sge } else { Slt }, x, 0)
            }
            (Opcode::Zext, &[x]) if n <= 0xffff_ffff => {
                let narrow = match cc {
                    Eq | Ne | Ult | Ule | Ugt | Uge => cc,
                    // Both are positive in 64 bits.
                    Slt => Ult,
                    Sle => Ule,
                    Sgt => Ugt,
                    Sge => Uge,
                };
                self.icmp_by(narrow, x, n)
            }
            (Opcode::Sext, &[x])
                if n as i64 == i64::from(n as i32) && !matches!(cc, Ult | Ule | Ugt | Uge) =>
            {
                self.icmp_by(cc, x, n & 0xffff_ffff)
            }
            _ => None,
        }
    }

    fn icmp_by(&mut self, cc: IntCC, a: Value, bits: u64) -> Option<Act> {
        let b = self.constant(self.scalar(a), bits);
        Some(Act::Now(Opcode::Icmp, smallvec![a, b], Imm::Int(cc)))
    }

    /// If `value` is a select between two constants: the condition and the constants.
    fn choice(&self, value: Value, depth: u32) -> Option<(Value, [u64; 2])> {
        let data = self.def(value)?;
        let result = self.scalar(value);
        if !matches!(result, Scalar::I32 | Scalar::I64) || depth == 0 {
            return None;
        }
        match (data.op, data.args.as_slice()) {
            (Opcode::Bmask, &[c]) => Some((c, [result.bit_mask(), 0])),
            (Opcode::Select, &[c, a, b]) => Some((c, [self.c(a)?, self.c(b)?])),
            (op, args)
                if op.group() == crate::opcodes::Group::Int
                    || op.group() == crate::opcodes::Group::Convert =>
            {
                let types: Vec<Scalar> = args.iter().map(|&v| self.scalar(v)).collect();
                let place = args.iter().position(|&v| self.c(v).is_none())?;
                let (c, values) = self.choice(args[place], depth - 1)?;
                let mut out = [0; 2];
                for (out, bits) in out.iter_mut().zip(values) {
                    let bits: Vec<u64> = args
                        .iter()
                        .enumerate()
                        .map(|(i, &v)| if i == place { Some(bits) } else { self.c(v) })
                        .collect::<Option<_>>()?;
                    *out = eval_scalar(data.op, &data.imm, &types, result, &bits)?;
                }
                Some((c, out))
            }
            _ => None,
        }
    }

    fn select(&mut self, c: Value, a: Value, b: Value) -> Option<Act> {
        if a == b {
            return Some(Act::Is(a));
        }
        if let Some(truth) = self.c(c) {
            return Some(Act::Is(if truth != 0 { a } else { b }));
        }
        if let Some(&[x]) = self.is(c, Opcode::Inot) {
            return Some(Act::Now(Opcode::Select, smallvec![x, b, a], Imm::None));
        }
        let scalar = self.scalar(a);
        // In mask form nothing reads values of lanes that did not enter, except masks, and lanes of the same quad.
        if self.func.form == Form::Mask
            && !self.looks
            && scalar != Scalar::I1
            && self.is(c, Opcode::ActiveMask).is_some()
        {
            return Some(Act::Is(a));
        }
        match (scalar, self.c(a), self.c(b)) {
            (_, Some(x), Some(y)) if x == y => return Some(Act::Is(a)),
            (Scalar::I1, Some(1), Some(0)) => return Some(Act::Is(c)),
            (Scalar::I1, Some(0), Some(1)) => return Some(Act::Now(Opcode::Inot, smallvec![c], Imm::None)),
            (Scalar::I1, Some(1), _) => return Some(Act::Now(Opcode::Ior, smallvec![c, b], Imm::None)),
            (Scalar::I1, _, Some(0)) => return Some(Act::Now(Opcode::Iand, smallvec![c, a], Imm::None)),
            (Scalar::I1, Some(0), _) => {
                let not = self.make(Opcode::Inot, &[c], Imm::None, Scalar::I1);
                return Some(Act::Now(Opcode::Iand, smallvec![not, b], Imm::None));
            }
            (Scalar::I1, _, Some(1)) => {
                let not = self.make(Opcode::Inot, &[c], Imm::None, Scalar::I1);
                return Some(Act::Now(Opcode::Ior, smallvec![not, a], Imm::None));
            }
            (Scalar::I32 | Scalar::I64, Some(x), Some(0)) if x == scalar.bit_mask() => {
                return Some(Act::Now(Opcode::Bmask, smallvec![c], Imm::None));
            }
            _ => {}
        }
        if let Some(&[d, x, y]) = self.is(a, Opcode::Select) {
            if d == c {
                return Some(Act::Now(Opcode::Select, smallvec![c, x, b], Imm::None));
            }
            // select c, (select d, x, b), b
            if y == b {
                let both = self.make(Opcode::Iand, &[c, d], Imm::None, Scalar::I1);
                return Some(Act::Now(Opcode::Select, smallvec![both, x, b], Imm::None));
            }
        }
        if let Some(&[d, x, y]) = self.is(b, Opcode::Select) {
            if d == c {
                return Some(Act::Now(Opcode::Select, smallvec![c, a, y], Imm::None));
            }
            // select c, a, (select d, a, y)
            if x == a {
                let either = self.make(Opcode::Ior, &[c, d], Imm::None, Scalar::I1);
                return Some(Act::Now(Opcode::Select, smallvec![either, a, y], Imm::None));
            }
        }
        // If the condition says that the alternatives are equal, either one will do.
        if let Some(InstData { op: Opcode::Icmp, args, imm: Imm::Int(cc), .. }) = self.def(c) {
            let same = args[..] == [a, b] || args[..] == [b, a];
            match cc {
                IntCC::Eq if same => return Some(Act::Is(b)),
                IntCC::Ne if same => return Some(Act::Is(a)),
                _ => {}
            }
        }
        None
    }
}
