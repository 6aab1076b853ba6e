//! Folding rule for sums of 64-bit values that a guest computes word by word, where what was summed first is not what belongs together.
//!
//! A guest adds the halves of an index to those of a pointer. If other rules or the guest itself have summed the high words in another order,
//! the index's low word is one term of a 64-bit sum, and its high word, or a carry, is somewhere in the high word of another term. Example:
//! `(p + high(x) : l) + zext low(x)` becomes `(p : l) + x`.

use super::{Act, Folder};
use crate::entities::Value;
use crate::function::Imm;
use crate::opcodes::Opcode;
use crate::types::Scalar;
use smallvec::smallvec;

/// Most terms of a sum that are examined.
const MOST_TERMS: usize = 6;

impl Folder<'_> {
    /// A sum of 64-bit values of which one has, in its high word, the high word or the carry of another.
    pub(super) fn scattered(&mut self, a: Value, b: Value) -> Option<Act> {
        let terms = self.nested(vec![a, b], MOST_TERMS);
        for (at, &joined) in terms.iter().enumerate() {
            let (Some(low), Some(high)) = (self.low_word(joined), self.high_word(joined)) else { continue };
            let words = self.terms(high);
            for (other, &extended) in terms.iter().enumerate() {
                let Some(&[word]) = self.is(extended, Opcode::Zext) else { continue };
                let Some((with, parts)) = self.parts_of(word, &words) else { continue };
                let mut rest = words;
                rest.remove(with);
                let joined = self.with_terms(low, &rest);
                let kept = (0..terms.len()).filter(|&n| n != at && n != other).map(|n| terms[n]);
                let list: Vec<Value> = kept.chain([joined]).chain(parts).collect();
                return self.wide_sum(list);
            }
        }
        None
    }

    /// Which of some words is the high half of the value whose low half `word` is, or the carry of the sum that it is, and the 64-bit values
    /// that the two are the sum of.
    fn parts_of(&mut self, word: Value, words: &[Value]) -> Option<(usize, Vec<Value>)> {
        if let Some(with) = words.iter().position(|&high| self.belong(word, high)) {
            return Some((with, vec![self.join(word, words[with])]));
        }
        let (x, y) = self.is2(word, Opcode::Iadd)?;
        let with = words.iter().position(|&carry| self.is_carry(carry, word, x, y))?;
        Some((with, vec![self.zext(x), self.zext(y)]))
    }

    /// The sum of two or more values, uniform ones first.
    fn wide_sum(&mut self, mut terms: Vec<Value>) -> Option<Act> {
        terms.sort_by_key(|&term| !self.func.ty(term).uniform);
        let last = terms.pop()?;
        let first = terms
            .into_iter()
            .reduce(|sum, term| self.make(Opcode::Iadd, &[sum, term], Imm::None, Scalar::I64))?;
        Some(Act::Now(Opcode::Iadd, smallvec![first, last], Imm::None))
    }
}
