//! 64-bit values that a guest of 32-bit registers keeps in two words: sums with carries and sign extensions become one operation again.

use super::{Act, Folder};
use crate::entities::Value;
use crate::function::{Imm, InstData};
use crate::opcodes::{IntCC, Opcode};
use crate::types::Scalar;

/// Levels of operands looked through for what a word is a half of.
const DEPTH: u32 = 4;

impl Folder<'_> {
    /// `ior` of two 64-bit values that is a low and a high word put together.
    pub(super) fn concat(&mut self, a: Value, b: Value) -> Option<Act> {
        for (low, high) in [(a, b), (b, a)] {
            // The high word where it stands already.
            if let (Some(&[low]), Some((whole, keep))) =
                (self.is(low, Opcode::Zext), self.is_by(high, Opcode::Iand))
                && keep & 0xffff_ffff == 0
                && self.bits(whole).clear(!keep & !0xffff_ffff)
                && self.is_low_of(low, whole, DEPTH)
            {
                return Some(Act::Is(whole));
            }
        }
        let (low, high) = self.halves(a, b).or_else(|| self.halves(b, a))?;
        if let Some(whole) = self.whole(low, high) {
            return Some(Act::Is(whole));
        }
        if self.is_by(high, Opcode::Sshr) == Some((low, 31)) {
            return Some(Act::Now(Opcode::Sext, vec![low], Imm::None));
        }
        let (p, q) = self.is2(low, Opcode::Imul).unwrap_or((low, low));
        for (op, extend) in [(Opcode::Umulhi, Opcode::Zext), (Opcode::Smulhi, Opcode::Sext)] {
            if let Some((r, t)) = self.is2(high, op)
                && ((r, t) == (p, q) || (t, r) == (p, q))
            {
                let [p, q] = [p, q].map(|v| self.make(extend, &[v], Imm::None, Scalar::I64));
                return Some(Act::Now(Opcode::Imul, vec![p, q], Imm::None));
            }
        }
        self.sum(low, high).or_else(|| self.difference(low, high))
    }

    /// The 64-bit value that two words are the halves of.
    fn whole(&self, low: Value, high: Value) -> Option<Value> {
        let &[shifted] = self.is(high, Opcode::Trunc)? else { return None };
        let (whole, 32) = self.is_by(shifted, Opcode::Ushr)? else { return None };
        self.is_low_of(low, whole, DEPTH).then_some(whole)
    }

    /// Whether a word is the low half of a 64-bit value, as far as their definitions tell.
    fn is_low_of(&self, low: Value, whole: Value, depth: u32) -> bool {
        if let (Some(a), Some(b)) = (self.c(low), self.c(whole)) {
            return a == b & 0xffff_ffff;
        }
        let Some(wide) = self.def(whole) else { return self.is(low, Opcode::Trunc) == Some(&[whole]) };
        if matches!(wide.op, Opcode::Zext | Opcode::Sext) && wide.args[0] == low
            || self.low_word(whole) == Some(low)
        {
            return true;
        }
        let Some(word) = self.def(low) else { return false };
        if word.op == Opcode::Trunc && word.args[0] == whole {
            return true;
        }
        let same = |a: usize, b: usize| self.is_low_of(word.args[a], wide.args[b], depth - 1);
        depth > 0
            && word.op == wide.op
            && match word.op {
                Opcode::Iadd | Opcode::Imul => same(0, 0) && same(1, 1) || same(0, 1) && same(1, 0),
                Opcode::Isub => same(0, 0) && same(1, 1),
                Opcode::Ishl => {
                    let counts = (self.c(word.args[1]), self.c(wide.args[1]));
                    matches!(counts, (Some(a), Some(b)) if a == b && a < 32) && same(0, 0)
                }
                _ => false,
            }
    }

    /// `zext low` and `ishl (zext high), 32`.
    fn halves(&self, low: Value, high: Value) -> Option<(Value, Value)> {
        let &[low] = self.is(low, Opcode::Zext)? else { return None };
        let (high, 32) = self.is_by(high, Opcode::Ishl)? else { return None };
        let &[high] = self.is(high, Opcode::Zext)? else { return None };
        Some((low, high))
    }

    /// The condition of a value that is 1 where it holds, else 0.
    fn one_if(&self, value: Value) -> Option<Value> {
        match *self.is(value, Opcode::Select)? {
            [c, one, zero] if self.c(one) == Some(1) && self.c(zero) == Some(0) => Some(c),
            _ => None,
        }
    }

    /// The operands of an unsigned comparison "less".
    fn less(&self, value: Value) -> Option<(Value, Value)> {
        match self.def(value)? {
            InstData { op: Opcode::Icmp, imm: Imm::Int(IntCC::Ult), args, .. } => Some((args[0], args[1])),
            InstData { op: Opcode::Icmp, imm: Imm::Int(IntCC::Ugt), args, .. } => Some((args[1], args[0])),
            _ => None,
        }
    }

    /// `low = x + y`, `high = p + q + (low < x)`.
    fn sum(&mut self, low: Value, high: Value) -> Option<Act> {
        let (x, y) = self.is2(low, Opcode::Iadd)?;
        let carries = |f: &Self, value: Value| {
            f.one_if(value).and_then(|c| f.less(c)).is_some_and(|(l, r)| l == low && (r == x || r == y))
        };
        if carries(self, high) {
            let (x, y) = (self.zext(x), self.zext(y));
            return Some(Act::Now(Opcode::Iadd, vec![x, y], Imm::None));
        }
        let (s, t) = self.is2(high, Opcode::Iadd)?;
        let rest = if carries(self, t) {
            s
        } else if carries(self, s) {
            t
        } else {
            return None;
        };
        let (x, y) = match self.is2(rest, Opcode::Iadd) {
            // Which belongs to which does not matter; halves of one value do best.
            Some((p, q)) if self.belong(x, q) || self.belong(y, p) => (self.join(x, q), self.join(y, p)),
            Some((p, q)) => (self.join(x, p), self.join(y, q)),
            None if self.belong(y, rest) => (self.zext(x), self.join(y, rest)),
            None => (self.join(x, rest), self.zext(y)),
        };
        Some(Act::Now(Opcode::Iadd, vec![x, y], Imm::None))
    }

    /// `low = x - y`, `high = p - q - (x < y)`.
    fn difference(&mut self, low: Value, high: Value) -> Option<Act> {
        let (x, y) = self.is2(low, Opcode::Isub)?;
        let (rest, borrow) = self.is2(high, Opcode::Isub)?;
        if self.one_if(borrow).and_then(|c| self.less(c)) != Some((x, y)) {
            return None;
        }
        let (x, y) = match self.is2(rest, Opcode::Isub) {
            Some((p, q)) => (self.join(x, p), self.join(y, q)),
            None => (self.join(x, rest), self.zext(y)),
        };
        Some(Act::Now(Opcode::Isub, vec![x, y], Imm::None))
    }

    /// Whether two words are halves of one 64-bit value that is at hand.
    fn belong(&self, low: Value, high: Value) -> bool {
        self.is_by(high, Opcode::Sshr) == Some((low, 31)) || self.whole(low, high).is_some()
    }

    fn zext(&mut self, word: Value) -> Value {
        self.make(Opcode::Zext, &[word], Imm::None, Scalar::I64)
    }

    /// The words put together; what they are halves of is found when the result is visited.
    fn join(&mut self, low: Value, high: Value) -> Value {
        if let Some(whole) = self.whole(low, high) {
            return whole;
        }
        if self.is_by(high, Opcode::Sshr) == Some((low, 31)) {
            return self.make(Opcode::Sext, &[low], Imm::None, Scalar::I64);
        }
        let (low, high) = (self.zext(low), self.zext(high));
        let by = self.constant(Scalar::I64, 32);
        let high = self.make(Opcode::Ishl, &[high, by], Imm::None, Scalar::I64);
        self.make(Opcode::Ior, &[high, low], Imm::None, Scalar::I64)
    }

    /// The low word of two put together, or of a value all of whose low word follows from low words.
    pub(super) fn low_word(&self, value: Value) -> Option<Value> {
        let (a, b) = self.is2(value, Opcode::Ior)?;
        self.halves(a, b).or_else(|| self.halves(b, a)).map(|(low, _)| low)
    }

    /// The high word of two put together.
    pub(super) fn high_word(&self, value: Value) -> Option<Value> {
        let (a, b) = self.is2(value, Opcode::Ior)?;
        self.halves(a, b).or_else(|| self.halves(b, a)).map(|(_, high)| high)
    }
}
