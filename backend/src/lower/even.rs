//! What even addresses of 64 bits are made of here ([`EvenAddress`]).

use warpjit_ir::{Function, Opcode, Value};

use super::{Lower, Parts};
use crate::affine::Forms;
use crate::clif::{HostIntCC, I32, I32X4, I64, I64X2, V};
use crate::error::Error;
use crate::even_address::EvenAddress;

impl<'a> EvenAddress<'a> for Lower<'a, '_> {
    type Reg = V;
    type Parts = Parts;

    fn func(&self) -> &'a Function {
        self.f
    }

    fn forms(&self) -> &Forms {
        &self.forms
    }

    fn left_out(&self, v: Value) -> bool {
        self.address_only[v.index()]
    }

    fn first_lane(&mut self, v: Value) -> Result<V, Error> {
        self.scalar(v)
    }

    fn extend(&mut self, op: Opcode, word: V) -> V {
        if op == Opcode::Zext { self.e.uextend(I64, word) } else { self.e.sextend(I64, word) }
    }

    fn reach32(&self, _: Value, stride: i64) -> i64 {
        stride * (self.lanes() as i64 - 1)
    }

    fn wraps(&mut self, op: Opcode, first: V, more: i64) -> V {
        let last = self.e.iadd_imm(first, more as u64);
        let low = self.e.ireduce(I32, last);
        let want = self.extend(op, low);
        self.e.icmp(HostIntCC::NotEqual, last, want)
    }

    fn either(&mut self, a: V, b: V) -> V {
        self.e.bor(a, b)
    }

    fn sum(&mut self, op: Opcode, a: V, b: V) -> V {
        if op == Opcode::Iadd { self.e.iadd(a, b) } else { self.e.isub(a, b) }
    }

    fn shift_left(&mut self, a: V, count: u8) -> V {
        self.e.shl(a, u32::from(count))
    }

    fn product(&mut self, a: V, b: V) -> V {
        self.e.imul(a, b)
    }

    fn number(&mut self, n: i64) -> V {
        self.e.imm(I64, n as u64)
    }

    fn last_lane(&self) -> i64 {
        self.lanes() as i64 - 1
    }

    fn drop_ignored(&mut self, a: V, count: u8) -> V {
        let up = self.e.shl(a, count.into());
        self.e.sar(up, count.into())
    }

    fn reach64(&self, _: Value, stride: i64) -> i64 {
        stride.wrapping_mul(self.lanes() as i64 - 1)
    }

    fn further(&mut self, a: V, more: i64) -> V {
        self.e.iadd_imm(a, more as u64)
    }

    fn negative(&mut self, a: V) -> V {
        self.e.icmp_imm(HostIntCC::SignedLessThan, a, 0)
    }

    fn differ(&mut self, a: V, b: V) -> V {
        self.e.icmp(HostIntCC::NotEqual, a, b)
    }

    fn vectors_of_value(&mut self, v: Value) -> Result<Parts, Error> {
        self.parts(v)
    }

    fn extend_vectors(&mut self, op: Opcode, words: &Parts) -> Parts {
        let halves = |&w: &V| {
            if op == Opcode::Sext {
                return [self.e.swiden_low(w), self.e.swiden_high(w)];
            }
            let zero = self.e.imm(I32X4, 0);
            [[0, 4, 1, 5], [2, 6, 3, 7]].map(|pick| self.e.shuffle_words(I64X2, w, zero, pick))
        };
        words.iter().flat_map(halves).collect()
    }

    fn sum_vectors(&mut self, op: Opcode, a: &Parts, b: &Parts) -> Parts {
        a.iter().zip(b.iter()).map(|(&a, &b)| self.sum(op, a, b)).collect()
    }

    fn shift_vectors_left(&mut self, a: &Parts, count: u8) -> Parts {
        a.iter().map(|&a| self.shift_left(a, count)).collect()
    }

    fn product_of_vectors(&mut self, a: &Parts, b: &Parts) -> Parts {
        a.iter().zip(b.iter()).map(|(&a, &b)| self.e.imul(a, b)).collect()
    }

    fn drop_ignored_vectors(&mut self, a: &Parts, count: u8) -> Parts {
        a.iter().map(|&a| self.drop_ignored(a, count)).collect()
    }
}
