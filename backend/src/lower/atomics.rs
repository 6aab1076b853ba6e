//! Atomics and device calls: a function does them for the lanes that take part, the lowest first.

use warpjit_ir::{Imm, InstData, MemAccess};

use super::{Kept, Lower, Parts, arg, malformed, wide};
use crate::atomics::{DEVICE_ACCESS, describe, device_access, is_possible, may_fault};
use crate::clif::{I32, I64};
use crate::context::at;
use crate::error::Error;

impl Lower<'_, '_> {
    /// An atomic of any memory.
    pub(super) fn atomic(&mut self, data: &InstData) -> Result<(), Error> {
        let Imm::Atomic(mem, op) = data.imm else { return Err(malformed(data)) };
        let (a, value) = (arg(data, 0)?, arg(data, 1)?);
        let is_wide = wide(self.scalar_of(a));
        if !is_possible(data, mem, is_wide) {
            return Err(Error::CrossLane(data.op));
        }
        let new = if op.takes_two() { Some(arg(data, 2)?) } else { None };
        let guard = data.args.get(data.atomic_operands()).copied();
        let offset = if is_wide { i64::from(mem.offset) as u64 } else { u64::from(mem.offset as u32) };
        let addresses = self.parts(a)?;
        let addresses: Parts = addresses.iter().map(|&p| self.e.iadd_imm(p, offset)).collect();
        let values = self.parts(value)?;
        let others = new.map(|new| self.parts(new)).transpose()?;
        let bits = self.guard_bits(guard)?;
        let (go, end) = (self.e.block(), self.e.block());
        let wanted = data.result.filter(|&r| self.used.count(r) > 0);
        let ty = wanted.map(|r| self.part_type(self.scalar_of(r)));
        let (mut none, mut old) = (Vec::new(), Vec::new());
        if let Some(ty) = ty {
            none = vec![self.e.imm(ty, 0); values.len()];
            old = values.iter().map(|_| self.e.param(end, ty)).collect();
        }
        self.e.brif(bits, (go, &[]), (end, &none));
        self.e.switch_to(go);
        let lists = [
            (at::LANE_ADDRESSES, Some(addresses)),
            (at::LANE_VALUES, Some(values)),
            (at::LANE_OTHERS, others),
        ];
        for (place, parts) in lists {
            for (n, &p) in parts.iter().flat_map(|parts| parts.iter()).enumerate() {
                self.e.store(p, self.context, place + 16 * n as i32);
            }
        }
        self.note_guard(bits);
        let (access, atomic) = describe(mem, op, is_wide, self.f.lanes);
        for (word, place) in [(access, at::ACCESS), (atomic, at::ATOMIC)] {
            let word = self.e.imm(I32, word.into());
            self.e.store(word, self.context, place);
        }
        self.call_lanes();
        if may_fault(mem) {
            self.fault_if_odd(data, mem);
        }
        let loaded: Vec<_> = match ty {
            Some(ty) => (0..none.len())
                .map(|n| self.e.load(ty, self.context, at::LANE_VALUES + 16 * n as i32))
                .collect(),
            None => Vec::new(),
        };
        self.e.jump(end, &loaded);
        self.e.switch_to(end);
        if let Some(r) = wanted {
            let kept = match old[..] {
                [old] if self.options.single => Kept::Scalar(old),
                _ => Kept::Parts(old.into()),
            };
            self.define(r, kept);
        }
        Ok(())
    }

    /// A device call: the runtime serves the lanes that take part.
    pub(super) fn call_device(&mut self, data: &InstData) -> Result<(), Error> {
        let Imm::Device(site) = data.imm else { return Err(malformed(data)) };
        let bits = self.guard_bits(data.args.first().copied())?;
        let (go, end) = (self.e.block(), self.e.block());
        self.e.brif(bits, (go, &[]), (end, &[]));
        self.e.switch_to(go);
        self.note_guard(bits);
        let access = self.e.imm(I32, device_access(&mut self.devices, site).into());
        self.e.store(access, self.context, at::ACCESS);
        self.call_lanes();
        self.fault_if_odd(data, DEVICE_ACCESS);
        self.e.jump(end, &[]);
        self.e.switch_to(end);
        Ok(())
    }

    /// Calls the function that does what [`crate::Context::access`] describes for the lanes noted.
    fn call_lanes(&mut self) {
        let sig = match self.sigs.atomic {
            Some(sig) => sig,
            None => self.signature(&[I64], None),
        };
        self.sigs.atomic = Some(sig);
        let callee = self.e.load(I64, self.context, at::ATOMIC_LANES);
        self.e.call(sig, callee, &[self.context]);
    }

    /// Faults with the lane that a function of the runtime has named in the context, if it has named one.
    pub(super) fn fault_if_odd(&mut self, data: &InstData, mem: MemAccess) {
        let odd = self.e.load(I32, self.context, at::ODD_LANE);
        let (cold, go_on) = (self.e.cold_block(), self.e.block());
        self.e.brif(odd, (cold, &[]), (go_on, &[]));
        self.e.switch_to(cold);
        let lane = self.e.iadd_imm(odd, u64::MAX);
        let address = self.e.load(I64, self.context, at::FAULT_ADDRESS);
        self.jump_to_fault(data, mem, lane, address);
        self.e.switch_to(go_on);
    }
}
