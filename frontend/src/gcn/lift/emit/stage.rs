//! What a wave of a graphics stage begins with, and its inputs and outputs in local memory.
//!
//! A vector register that a launch fills is loaded before the first instruction, in all lanes: helpers have theirs too. EXEC starts as the
//! lanes that are there, of a fragment those that are covered. Helpers run as other lanes do, but stores and atomics on global memory,
//! and exports, are for covered lanes only ([`Emit::store_guard`]).

use warpjit_ir::{IntCC, Space, Value};

use super::Emit;
use super::access::{access, and};
use crate::gcn::lift::analysis::stage::{StageMemory, WORD};
use crate::isa::Stage;

impl Emit<'_> {
    /// A word of local memory at a constant address.
    pub(in crate::gcn::lift) fn local(&mut self, address: u32) -> Value {
        let zero = self.b.i32(0);
        self.b.load(access(Space::Local, 4, false, address as i32), zero, None)
    }

    /// Replaces it in the lanes of a mask (`None`: in all).
    pub(in crate::gcn::lift) fn set_local(&mut self, address: u32, value: Value, lanes: Option<Value>) {
        let zero = self.b.i32(0);
        self.b.store(access(Space::Local, 4, false, address as i32), zero, value, lanes);
    }

    /// The words of an attribute's component; `None` if the launch gives none.
    pub(in crate::gcn::lift) fn attribute(&mut self, attr: u8, chan: u8) -> Option<[Value; 3]> {
        let address = *self.own.stage_memory?.attributes.get(&(attr, chan))?;
        Some([0, 1, 2].map(|word| self.local(address + word * WORD)))
    }

    /// The lanes that may change memory: EXEC, what else has to hold, and of a fragment those that are covered.
    pub(in crate::gcn::lift) fn store_guard(&mut self, ok: Option<Value>) -> Value {
        let exec = self.exec();
        let covered = self.covered();
        let lanes = and(self, Some(exec), covered);
        and(self, lanes, ok).unwrap_or(exec)
    }

    /// The lanes of a fragment that are no helpers.
    pub(in crate::gcn::lift) fn covered(&mut self) -> Option<Value> {
        self.own.stage_memory.filter(|stage_memory| stage_memory.stage == Stage::Fragment)?;
        let slot = self.own.slots.covered(self.b.func);
        Some(self.get(slot))
    }

    /// Fills vector registers and EXEC.
    pub(in crate::gcn::lift) fn enter_stage(&mut self, stage_memory: &StageMemory) {
        let word = self.local(stage_memory.live);
        let zero = self.b.i32(0);
        let live = self.b.icmp(IntCC::Ne, word, zero);
        if stage_memory.stage == Stage::Fragment {
            let slot = self.own.slots.covered(self.b.func);
            self.put(slot, live);
        }
        for loaded in &stage_memory.loaded {
            let value = match (loaded.by_invocation, stage_memory.invocation) {
                (Some((vertices, stride)), Some(invocation)) => {
                    let (number, last) = (self.local(invocation), self.b.i32(vertices - 1));
                    let number = self.b.umin(number, last);
                    let stride = self.b.i32(stride);
                    let at = self.b.imul(number, stride);
                    self.b.load(access(Space::Local, 4, false, loaded.start as i32), at, None)
                }
                _ => self.local(loaded.start),
            };
            let slot = self.own.slots.vgpr(self.b.func, loaded.register);
            self.put(slot, value);
        }
        self.set_exec(live);
    }
}
