//! Emits bitwise operations (and, or, xor, with one side or the result negated) on numbers and on lane masks.
//!
//! Where the analysis has found that a mask has one truth value for all lanes ([`truth`](super::super::analysis::truth)), that value is
//! computed too and kept in a slot beside the mask, so that a branch on the mask needs no vote.

use warpjit_ir::Value;

use super::Emit;
use crate::gcn::Inst;
use crate::gcn::lift::analysis::logic::Logic;
use crate::gcn::lift::analysis::truth::{Combine, Derived, Leaf, kept};

/// `a op b`, of numbers or masks.
pub(in crate::gcn::lift) fn logic(e: &mut Emit<'_>, op: Logic, a: Value, b: Value) -> Value {
    let (not_a, not_b) = (matches!(op, Logic::Andn1 | Logic::Orn1), matches!(op, Logic::Andn2 | Logic::Orn2));
    let a = if not_a { e.b.inot(a) } else { a };
    let b = if not_b { e.b.inot(b) } else { b };
    match op {
        Logic::And | Logic::Andn1 | Logic::Andn2 => e.b.iand(a, b),
        Logic::Or | Logic::Orn1 | Logic::Orn2 => e.b.ior(a, b),
        Logic::Xor => e.b.ixor(a, b),
        Logic::Nand => {
            let and = e.b.iand(a, b);
            e.b.inot(and)
        }
        Logic::Nor => {
            let or = e.b.ior(a, b);
            e.b.inot(or)
        }
        Logic::Xnor => {
            let xor = e.b.ixor(a, b);
            e.b.inot(xor)
        }
    }
}

impl Emit<'_> {
    /// Computes the truth values of what a 64-bit instruction writes: pairs, and the value of the last one (its result).
    pub(in crate::gcn::lift) fn truths_of(&mut self, inst: &Inst) -> (Vec<(u8, Value)>, Option<Value>) {
        let results = self.own.statics.truths().results(inst);
        let mut kept_values = Vec::new();
        let mut last = None;
        for (code, known) in results {
            let value = match known.truth {
                _ if known.nonempty && kept(known).is_none() => Some(self.b.bool(true)),
                Some(derived) => Some(self.derived(derived)),
                None => None,
            };
            if let (Some(value), Some(_)) = (value, kept(known)) {
                kept_values.push((code, value));
            }
            last = value;
        }
        (kept_values, last)
    }

    /// Writes truth values beside their masks.
    pub(in crate::gcn::lift) fn set_truths(&mut self, truths: Vec<(u8, Value)>) {
        for (code, value) in truths {
            let slot = self.own.slots.truth(self.b.func, code);
            self.put(slot, value);
        }
    }

    /// Whether any lane is in the mask of a pair, if that is known without looking at lanes.
    pub(in crate::gcn::lift) fn known_any(&mut self, code: u8) -> Option<Value> {
        let (_, leaf) = self.own.statics.truths().pair(code).truth?;
        Some(self.leaf(leaf))
    }

    fn leaf(&mut self, leaf: Leaf) -> Value {
        match leaf {
            Leaf::Const(value) => self.b.bool(value),
            Leaf::Pair(code) => {
                let slot = self.own.slots.truth(self.b.func, code);
                self.get(slot)
            }
        }
    }

    fn derived(&mut self, derived: Derived) -> Value {
        let (a, b) = (self.leaf(derived.a), self.leaf(derived.b));
        match derived.how {
            Combine::Copy => a,
            Combine::Not => self.b.inot(a),
            Combine::Logic(op) => logic(self, op, a, b),
            Combine::Select => {
                let scc = self.scc();
                self.blend(scc, a, b)
            }
        }
    }
}
