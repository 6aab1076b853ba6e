//! Folding rules for 64-bit values that a guest with 32-bit registers keeps in two words.
//!
//! They recognise a pair of 32-bit computations as one 64-bit operation: a sum with carry, a difference with borrow, a product, a
//! shift, a select, a sign extension. Example: `low = x + y`, `high = p + q + carry(low)` becomes `(p:x) + (q:y)`.

use super::{Act, Folder};
use crate::entities::Value;
use crate::function::{Args, Imm, InstData};
use crate::opcodes::{IntCC, Opcode};
use crate::types::Scalar;
use smallvec::smallvec;

/// How many operands deep a word is examined to find what it is half of.
const DEPTH: u32 = 4;
/// Most operands of nested sums.
const MOST_TERMS: usize = 5;

/// A word of 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Value(Value),
    Const(u64),
}

impl Folder<'_> {
    /// An `ior` of two 64-bit values that joins a low and a high word.
    pub(super) fn concat(&mut self, a: Value, b: Value) -> Option<Act> {
        for (low, high) in [(a, b), (b, a)] {
            // The high word is already in place.
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
            return Some(Act::Now(Opcode::Sext, smallvec![low], Imm::None));
        }
        let (p, q) = self.is2(low, Opcode::Imul).unwrap_or((low, low));
        for (op, extend) in [(Opcode::Umulhi, Opcode::Zext), (Opcode::Smulhi, Opcode::Sext)] {
            if let Some((r, t)) = self.is2(high, op)
                && ((r, t) == (p, q) || (t, r) == (p, q))
            {
                let [p, q] = [p, q].map(|v| self.make(extend, &[v], Imm::None, Scalar::I64));
                return Some(Act::Now(Opcode::Imul, smallvec![p, q], Imm::None));
            }
        }
        // The halves of a word shifted left.
        if let Some((x, n, extend)) = self.moved_up(low, high) {
            let (wide, by) = (self.make(extend, &[x], Imm::None, Scalar::I64), self.constant(Scalar::I64, n));
            return Some(Act::Now(Opcode::Ishl, smallvec![wide, by], Imm::None));
        }
        self.sum(low, high)
            .or_else(|| self.difference(low, high))
            .or_else(|| self.product(low, high))
            .or_else(|| self.product_and_more(low, high))
            .or_else(|| self.both(low, high))
    }

    /// If these are the halves of an extended word shifted left: the word, the shift count, and the extension.
    fn moved_up(&self, low: Value, high: Value) -> Option<(Value, u64, Opcode)> {
        let (x, n) = self.is_by(low, Opcode::Ishl)?;
        let extended = [(Opcode::Ushr, Opcode::Zext), (Opcode::Sshr, Opcode::Sext)];
        let fits = |op: Opcode| self.is_by(high, op).is_some_and(|(y, m)| x == y && n + m == 32);
        extended.into_iter().find(|&(shift, _)| fits(shift)).map(|(_, extend)| (x, n, extend))
    }

    /// The 64-bit value of which two words are the halves, if it exists.
    fn whole(&self, low: Value, high: Value) -> Option<Value> {
        if let Some(&[whole]) = self.is(low, Opcode::Trunc)
            && self.is_high_of(high, whole, DEPTH)
        {
            return Some(whole);
        }
        let &[shifted] = self.is(high, Opcode::Trunc)? else { return None };
        let (whole, 32) = self.is_by(shifted, Opcode::Ushr)? else { return None };
        self.is_low_of(low, whole, DEPTH).then_some(whole)
    }

    /// Whether a word is the high half of a 64-bit value, as far as their definitions tell.
    fn is_high_of(&self, high: Value, whole: Value, depth: u32) -> bool {
        if let Some(bits) = self.c(high) {
            let of_whole = self.bits(whole);
            return of_whole.ones >> 32 == bits && of_whole.clear(!bits << 32);
        }
        let half = self.is(high, Opcode::Trunc).and_then(|args| self.is_by(args[0], Opcode::Ushr));
        if half == Some((whole, 32)) || self.high_word(whole) == Some(high) {
            return true;
        }
        // Two shifts may have been folded into one.
        if let (Some((x, n)), Some((y, m))) = (half, self.is_by(whole, Opcode::Ushr))
            && x == y
            && n == m + 32
            && n < 64
        {
            return true;
        }
        let (Some(word), Some(wide)) = (self.def(high), self.def(whole)) else { return false };
        if wide.op == Opcode::Sext && self.is_by(high, Opcode::Sshr) == Some((wide.args[0], 31)) {
            return true;
        }
        let same = |a: usize, b: usize| self.is_high_of(word.args[a], wide.args[b], depth - 1);
        depth > 0
            && word.op == wide.op
            && match word.op {
                Opcode::Iand | Opcode::Ior | Opcode::Ixor => {
                    same(0, 0) && same(1, 1) || same(0, 1) && same(1, 0)
                }
                Opcode::Select => word.args[0] == wide.args[0] && same(1, 1) && same(2, 2),
                Opcode::Ushr | Opcode::Sshr => {
                    let counts = (self.c(word.args[1]), self.c(wide.args[1]));
                    matches!(counts, (Some(a), Some(b)) if a == b && a < 32) && same(0, 0)
                }
                _ => false,
            }
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
                Opcode::Iadd | Opcode::Imul | Opcode::Iand | Opcode::Ior | Opcode::Ixor => {
                    same(0, 0) && same(1, 1) || same(0, 1) && same(1, 0)
                }
                Opcode::Isub => same(0, 0) && same(1, 1),
                Opcode::Select => word.args[0] == wide.args[0] && same(1, 1) && same(2, 2),
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

    /// If a value is 1 where a condition holds and else 0: the condition.
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

    /// Whether a value is the carry of `low = x + y`: 1 or 0.
    pub(super) fn is_carry(&self, value: Value, low: Value, x: Value, y: Value) -> bool {
        let Some(cond) = self.one_if(value) else { return false };
        if let Some((l, r)) = self.less(cond) {
            return l == low && (r == x || r == y);
        }
        // A sum of x and 1 is below 1 where x is the largest number.
        match self.def(cond) {
            Some(InstData { op: Opcode::Icmp, imm: Imm::Int(IntCC::Eq), args, .. }) => {
                let (a, b) = (args[0], self.c(args[1]));
                a == x && self.c(y) == Some(1) && b == Some(0xffff_ffff)
                    || a == low && self.c(y) == Some(1) && b == Some(0)
            }
            _ => false,
        }
    }

    /// The operands of nested sums of words.
    pub(super) fn terms(&self, value: Value) -> Vec<Value> {
        self.nested(vec![value], MOST_TERMS)
    }

    /// Values whose sum is that of the given ones: the operands of those that are sums, until there are `most`.
    pub(super) fn nested(&self, mut terms: Vec<Value>, most: usize) -> Vec<Value> {
        let mut at = 0;
        while at < terms.len() {
            match self.is2(terms[at], Opcode::Iadd) {
                Some((a, b)) if terms.len() < most => {
                    terms[at] = a;
                    terms.insert(at + 1, b);
                }
                _ => at += 1,
            }
        }
        terms
    }

    /// A low word with the sum of others as the high one.
    pub(super) fn with_terms(&mut self, low: Value, terms: &[Value]) -> Value {
        if terms.is_empty() {
            return self.zext(low);
        }
        let high = self.total(terms);
        self.join(low, high)
    }

    /// A sum of words.
    fn total(&mut self, terms: &[Value]) -> Value {
        let add = |f: &mut Self, sum: Value, &term: &Value| {
            f.make(Opcode::Iadd, &[sum, term], Imm::None, Scalar::I32)
        };
        match *terms {
            [] => self.constant(Scalar::I32, 0),
            [first, ref rest @ ..] => rest.iter().fold(first, |sum, term| add(self, sum, term)),
        }
    }

    /// `low = x + y`, `high` a sum of words and of the carry of `low`.
    fn sum(&mut self, low: Value, high: Value) -> Option<Act> {
        let (x, y) = self.is2(low, Opcode::Iadd)?;
        let mut terms = self.terms(high);
        let carry = terms.iter().position(|&term| self.is_carry(term, low, x, y))?;
        // The sum to which the carry was added, if it exists.
        let rest = self.is2(high, Opcode::Iadd).and_then(|(a, b)| match terms[carry] {
            carry if carry == b => Some(a),
            carry if carry == a => Some(b),
            _ => None,
        });
        terms.remove(carry);
        // A constant with the high word of one.
        if let (Some(low), Some(top)) = (self.c(y), terms.iter().position(|&term| self.c(term).is_some())) {
            let bits = self.c(terms.remove(top)).unwrap_or(0) << 32 | low;
            let (x, y) = (self.with_terms(x, &terms), self.constant(Scalar::I64, bits));
            return Some(Act::Now(Opcode::Iadd, smallvec![x, y], Imm::None));
        }
        // One of x and y is a sum itself, with a carry of its own.
        for (x, y) in [(x, y), (y, x)] {
            let Some((p, q)) = self.is2(x, Opcode::Iadd) else { continue };
            if terms.iter().any(|&term| self.is_carry(term, x, p, q)) {
                let rest = rest.unwrap_or_else(|| self.total(&terms));
                let (x, y) = (self.join(x, rest), self.zext(y));
                return Some(Act::Now(Opcode::Iadd, smallvec![x, y], Imm::None));
            }
        }
        // One is the low word of a product.
        for (x, y) in [(x, y), (y, x)] {
            if let Some([p, q]) = self.factors(x, &mut terms) {
                let product = self.make(Opcode::Imul, &[p, q], Imm::None, Scalar::I64);
                let other = self.with_terms(y, &terms);
                return Some(Act::Now(Opcode::Iadd, smallvec![product, other], Imm::None));
            }
        }
        // Any pairing of low and high words is correct; halves of one value fold best.
        for (x, y) in [(x, y), (y, x)] {
            let with = (0..terms.len()).find(|&n| self.belong(x, terms[n]));
            if let Some(with) = with {
                let p = terms.remove(with);
                let (x, y) = (self.join(x, p), self.with_terms(y, &terms));
                return Some(Act::Now(Opcode::Iadd, smallvec![x, y], Imm::None));
            }
        }
        // A pointer's halves are uniform, an index's are not. So pair uniform words with uniform ones.
        let alike = |f: &Self, a: Value, b: Value| f.func.ty(a).uniform == f.func.ty(b).uniform;
        let (x, y) = match *terms {
            [] => (self.zext(x), self.zext(y)),
            [p] if !alike(self, x, p) && alike(self, y, p) => (self.zext(x), self.join(y, p)),
            [p] => (self.join(x, p), self.zext(y)),
            [p, q] if !alike(self, x, p) && alike(self, x, q) && alike(self, y, p) => {
                (self.join(x, q), self.join(y, p))
            }
            [p, q] => (self.join(x, p), self.join(y, q)),
            _ => {
                let rest = rest.unwrap_or_else(|| self.total(&terms));
                (self.join(x, rest), self.zext(y))
            }
        };
        Some(Act::Now(Opcode::Iadd, smallvec![x, y], Imm::None))
    }

    /// `(p:x) + y` of words where p and y are uniform and x is varying: pairs the uniform ones, so that the varying
    /// part stands alone.
    pub(super) fn uniform_words(&mut self, a: Value, b: Value) -> Option<Act> {
        for (a, b) in [(a, b), (b, a)] {
            let (Some((p, q)), Some(&[y])) = (self.is2(a, Opcode::Ior), self.is(b, Opcode::Zext)) else {
                continue;
            };
            let Some((x, p)) = self.halves(p, q).or_else(|| self.halves(q, p)) else { continue };
            let uniform = [p, y, x].map(|v| self.func.ty(v).uniform);
            if uniform == [true, true, false] {
                let (index, base) = (self.zext(x), self.join(y, p));
                return Some(Act::Now(Opcode::Iadd, smallvec![index, base], Imm::None));
            }
        }
        None
    }

    /// The two words of which a word is the high half of the product.
    fn high_product(&self, value: Value) -> Option<(Word, Word)> {
        if let Some((p, q)) = self.is2(value, Opcode::Umulhi) {
            return Some((self.word(p), self.word(q)));
        }
        let &[shifted] = self.is(value, Opcode::Trunc)? else { return None };
        let (product, 32) = self.is_by(shifted, Opcode::Ushr)? else { return None };
        self.wide_product(product)
    }

    /// The two words of which a 64-bit value is the product.
    fn wide_product(&self, value: Value) -> Option<(Word, Word)> {
        let (p, q) = self.is2(value, Opcode::Imul)?;
        let word = |v: Value| match (self.is(v, Opcode::Zext), self.c(v)) {
            (Some(&[word]), _) => Some(self.word(word)),
            (_, Some(bits)) if bits <= 0xffff_ffff => Some(Word::Const(bits)),
            _ => None,
        };
        Some((word(p)?, word(q)?))
    }

    fn value_of(&mut self, word: Word) -> Value {
        match word {
            Word::Value(value) => value,
            Word::Const(bits) => self.constant(Scalar::I32, bits),
        }
    }

    fn word(&self, value: Value) -> Word {
        self.c(value).map_or(Word::Value(value), Word::Const)
    }

    /// `low = p * q`, `high` the high half of that, plus `p * r` or `q * s` or both: the product of two 64-bit values.
    fn product(&mut self, low: Value, high: Value) -> Option<Act> {
        let mut terms = self.terms(high);
        let factors = self.factors(low, &mut terms)?;
        terms.is_empty().then(|| Act::Now(Opcode::Imul, Args::from_slice(&factors), Imm::None))
    }

    /// The halves of `p * q + c`, of words p and q, where `p * r` or `q * s` or both are added to the high one: the product of two 64-bit
    /// values, plus c.
    fn product_and_more(&mut self, low: Value, high: Value) -> Option<Act> {
        let &[whole] = self.is(low, Opcode::Trunc)? else { return None };
        let (a, b) = self.is2(whole, Opcode::Iadd)?;
        let (words, more) = match (self.wide_product(a), self.wide_product(b)) {
            (Some(words), _) => (words, b),
            (None, Some(words)) => (words, a),
            _ => return None,
        };
        let mut terms = self.terms(high);
        let own = terms.iter().position(|&term| self.is_high_of(term, whole, DEPTH))?;
        terms.remove(own);
        let factors = self.factors_of(words, &mut terms)?;
        if !terms.is_empty() {
            return None;
        }
        let product = self.make(Opcode::Imul, &factors, Imm::None, Scalar::I64);
        Some(Act::Now(Opcode::Iadd, smallvec![product, more], Imm::None))
    }

    /// The factors of a 64-bit product with the given low word. Removes from `terms` those that make up its high word.
    fn factors(&mut self, low: Value, terms: &mut Vec<Value>) -> Option<[Value; 2]> {
        let (p, q) = match self.is(low, Opcode::Trunc) {
            Some(&[whole]) => self.wide_product(whole)?,
            _ => self.is2(low, Opcode::Imul).map(|(a, b)| (self.word(a), self.word(b)))?,
        };
        let at = terms.iter().position(|&term| {
            self.high_product(term).is_some_and(|words| words == (p, q) || words == (q, p))
        })?;
        let mut others = terms.clone();
        others.remove(at);
        let factors = self.factors_of((p, q), &mut others)?;
        *terms = others;
        Some(factors)
    }

    /// Two 64-bit values with the given low words, whose product has a high word that some terms are added to, besides that of the low words'
    /// product. Removes these terms.
    fn factors_of(&mut self, (p, q): (Word, Word), terms: &mut Vec<Value>) -> Option<[Value; 2]> {
        // High words of the factors, with p and with q as low ones.
        let mut highs: [Option<Word>; 2] = [None; 2];
        let mut rest = Vec::new();
        for &term in terms.iter() {
            let found = self.is2(term, Opcode::Imul).and_then(|(a, b)| {
                let (a, b) = (self.word(a), self.word(b));
                [(1, p, a, b), (1, p, b, a), (0, q, a, b), (0, q, b, a)]
                    .into_iter()
                    .find_map(|(place, low, a, b)| (a == low && highs[place].is_none()).then_some((place, b)))
            });
            match found {
                Some((place, word)) => highs[place] = Some(word),
                None => rest.push(term),
            }
        }
        if highs == [None; 2] {
            return None;
        }
        *terms = rest;
        Some([(p, highs[0]), (q, highs[1])].map(|(low, high)| match (low, high) {
            (Word::Const(low), Some(Word::Const(high))) => self.constant(Scalar::I64, high << 32 | low),
            (Word::Const(low), None) => self.constant(Scalar::I64, low),
            (low, high) => {
                let low = self.value_of(low);
                match high {
                    Some(high) => {
                        let high = self.value_of(high);
                        self.join(low, high)
                    }
                    None => self.zext(low),
                }
            }
        }))
    }

    /// The same select or bitwise operation on both halves, if that makes use of an existing 64-bit value.
    fn both(&mut self, low: Value, high: Value) -> Option<Act> {
        use Opcode::*;
        let (of_low, of_high) = (self.def(low)?, self.def(high)?);
        if of_low.op != of_high.op {
            return None;
        }
        match (of_low.op, &of_low.args[..], &of_high.args[..]) {
            (Select, &[c, a, b], &[d, p, q])
                if c == d && (self.meet(a, p, DEPTH) || self.meet(b, q, DEPTH)) =>
            {
                let (x, y) = (self.join(a, p), self.join(b, q));
                Some(Act::Now(Select, smallvec![c, x, y], Imm::None))
            }
            (op @ (Iand | Ior | Ixor), &[a, b], &[p, q]) => {
                for (p, q) in [(p, q), (q, p)] {
                    if self.meet(a, p, DEPTH) || self.meet(b, q, DEPTH) {
                        let (x, y) = (self.join(a, p), self.join(b, q));
                        return Some(Act::Now(op, smallvec![x, y], Imm::None));
                    }
                }
                None
            }
            _ => None,
        }
    }

    /// Whether joining two words gives something simpler.
    fn meet(&self, low: Value, high: Value, depth: u32) -> bool {
        if self.belong(low, high) {
            return true;
        }
        let (Some(of_low), Some(of_high)) = (self.def(low), self.def(high)) else { return false };
        match (of_low.op, of_high.op) {
            (Opcode::Iadd, _) => {
                let (x, y) = (of_low.args[0], of_low.args[1]);
                self.terms(high).into_iter().any(|term| self.is_carry(term, low, x, y))
            }
            (Opcode::Select, Opcode::Select) if depth > 0 && of_low.args[0] == of_high.args[0] => {
                (1..3).any(|n| self.meet(of_low.args[n], of_high.args[n], depth - 1))
            }
            _ => false,
        }
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
        Some(Act::Now(Opcode::Isub, smallvec![x, y], Imm::None))
    }

    /// Whether two words are the halves of an existing 64-bit value.
    pub(super) fn belong(&self, low: Value, high: Value) -> bool {
        self.is_by(high, Opcode::Sshr) == Some((low, 31))
            || self.moved_up(low, high).is_some()
            || self.whole(low, high).is_some()
    }

    pub(super) fn zext(&mut self, word: Value) -> Value {
        self.make(Opcode::Zext, &[word], Imm::None, Scalar::I64)
    }

    /// Joins two words. If they are halves of a value, that is found when the result is visited.
    pub(super) fn join(&mut self, low: Value, high: Value) -> Value {
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

    /// The low word of a join, or of an operation whose low word depends on low words only.
    pub(super) fn low_word(&self, value: Value) -> Option<Value> {
        let (a, b) = self.is2(value, Opcode::Ior)?;
        self.halves(a, b).or_else(|| self.halves(b, a)).map(|(low, _)| low)
    }

    /// The high word of a join.
    pub(super) fn high_word(&self, value: Value) -> Option<Value> {
        let (a, b) = self.is2(value, Opcode::Ior)?;
        self.halves(a, b).or_else(|| self.halves(b, a)).map(|(_, high)| high)
    }
}
