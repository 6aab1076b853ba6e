//! Integer operations that the files of several topics need: they pack two halves into a word, limit a value to 16 bits, and take 32 bits
//! out of 64.

use warpjit_ir::Value;

use super::Emit;

impl Emit<'_> {
    /// Two halves as one word; the low one has no other bits.
    pub(in crate::gcn::lift) fn pack(&mut self, low: Value, high: Value) -> Value {
        let high = self.shl_const(high, 16);
        self.b.ior(low, high)
    }

    /// Limits a signed value to 16 bits.
    pub(in crate::gcn::lift) fn clamp_i16(&mut self, a: Value) -> Value {
        let (low, high) = (self.b.i32(-0x8000i32 as u32), self.b.i32(0x7fff));
        let a = self.b.smax(a, low);
        self.b.smin(a, high)
    }

    /// 32 bits of `high:low` from bit `count` on; 5 bits count.
    pub(in crate::gcn::lift) fn align(&mut self, high: Value, low: Value, count: Value) -> Value {
        if high == low {
            let count = self.b.ineg(count);
            return self.b.rotl(low, count);
        }
        // Two steps to the left, for a count of 0.
        let low = self.b.ushr(low, count);
        let high = self.shl_const(high, 1);
        let ones = self.b.i32(31);
        let back = self.b.ixor(count, ones);
        let high = self.b.ishl(high, back);
        self.b.ior(low, high)
    }
}
