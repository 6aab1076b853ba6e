//! Quad operations, packed thread coordinates and the clock, as Tesla's and Fermi's instructions use them.

use warpjit_ir::{Builtin, Imm, IntCC, Opcode, Scalar, Type, Value};

use super::Emitter;
use crate::envydis::QuadOp;

impl<O> Emitter<'_, O> {
    /// The own lane's number in its quad.
    fn quad_lane(&mut self) -> Value {
        let lane = self.builtin(Builtin::LaneId);
        self.and_const(lane, 3)
    }

    /// Runs `body` for those lanes of each quad that `lanes` has a bit for, 0xf being all.
    pub(crate) fn in_quad_lanes(&mut self, lanes: u8, body: impl FnOnce(&mut Self)) {
        if lanes & 15 == 15 {
            return body(self);
        }
        let quad_lane = self.quad_lane();
        let mask = self.b.i32((lanes & 15).into());
        let bit = self.b.ushr(mask, quad_lane);
        let among = self.test(bit, 1);
        self.under(among, body);
    }

    /// The two operands of a quad operation's sum, of bits: each lane of the quad has its own signs; `mov2` adds +0.
    pub(crate) fn quad_operands(
        &mut self,
        ops: &[QuadOp],
        other: Value,
        own: impl FnOnce(&mut Self) -> Value,
    ) -> (Value, Value) {
        let other = self.b.bitcast(other, Scalar::F32);
        let own = own(self);
        let own = self.b.bitcast(own, Scalar::F32);
        let quad_lane = self.quad_lane();
        let b = &mut self.b;
        let (minus_other, minus_own, zero) = (b.fneg(other), b.fneg(own), b.f32(0.0));
        let (mut left, mut right) = (other, own);
        for (n, op) in ops.iter().enumerate() {
            let n = b.i32(n as u32);
            let here = b.icmp(IntCC::Eq, quad_lane, n);
            match op {
                QuadOp::Add => {}
                QuadOp::Subr => left = b.select(here, minus_other, left),
                QuadOp::Sub => right = b.select(here, minus_own, right),
                QuadOp::Mov2 => left = b.select(here, zero, left),
            }
        }
        (left, right)
    }

    /// Three axes in one register: 16, 10 and 6 bits.
    pub(crate) fn packed(&mut self, of: impl Fn(u8) -> Builtin) -> Value {
        let [x, y, z] = [0, 1, 2].map(|axis| self.builtin(of(axis)));
        let y = self.shl_const(y, 16);
        let z = self.shl_const(z, 26);
        let yz = self.b.ior(y, z);
        self.b.ior(x, yz)
    }

    /// The clock, read in a block of its own.
    pub(crate) fn clock(&mut self) -> Value {
        let clock = self.temp(Type::I32, 3);
        self.isolated(|e| {
            let ticks = e.b.push(Opcode::Clock, &[], Imm::None, Some(Type::varying(Scalar::I32)));
            if let Some(ticks) = ticks {
                e.put_in_all_lanes(clock, ticks);
            }
        });
        self.get(clock)
    }
}
