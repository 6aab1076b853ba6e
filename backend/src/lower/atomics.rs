//! Atomics and device calls. The lanes that take part do theirs one after the other, the lowest first: atomics for which the host has
//! instructions in a loop over the lanes, from the first lane on whose address is none for them, and all others, in a function.

use warpjit_ir::{AtomicOp, Imm, InstData, MemAccess, Space};

use super::{Kept, Lower, Parts, arg, malformed, wide};
use crate::alignment::AlignmentTest;
use crate::atomics::{DEVICE_ACCESS, describe, device_access, is_possible, may_fault};
use crate::clif::{HostBlock, HostIntCC, I32, I64, V};
use crate::code::FloatEnv;
use crate::context::at;
use crate::error::Error;
use crate::permits;
use crate::trap::{TrapLane, TrapSite};

/// An atomic that the host has instructions for.
#[derive(Clone, Copy)]
struct Quick<'d> {
    data: &'d InstData,
    mem: MemAccess,
    op: AtomicOp,
    wide_address: bool,
    /// Whether anything looks at the old value.
    wanted: bool,
    /// Bits that must be zero in an address.
    low: u64,
    /// Where the space begins.
    base: V,
    /// Of global memory, with 64-bit addresses: bits that no address in the window has. Of shared memory: its size.
    limit: Option<V>,
    /// The window that addresses must be inside, in code with permits.
    site: Option<u32>,
}

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
        let quick = self.quick_atomic(data, mem, op, is_wide, wanted.is_some())?;
        self.e.brif(bits, (go, &[]), (end, &none));
        self.e.switch_to(go);
        if let (Some(quick), true) = (&quick, self.options.single) {
            let slow = self.e.cold_block();
            let other = others.as_ref().map(|others| others[0]);
            let old = self.one_atomic(quick, (addresses[0], values[0], other), (slow, &[]));
            let old = old.zip(ty).map(|(old, ty)| self.e.cast(old, ty));
            self.e.jump(end, &old.into_iter().collect::<Vec<_>>());
            self.e.switch_to(slow);
        }
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
        let mut loaded_at = None;
        if let (Some(quick), false) = (&quick, self.options.single) {
            let (all, slow) = (self.e.block(), self.e.cold_block());
            self.each_atomic(quick, bits, all, slow);
            self.e.switch_to(slow);
            loaded_at = Some(all);
        }
        if self.options.permits {
            self.note_site(quick.and_then(|quick| quick.site));
        }
        let (access, atomic) = describe(mem, op, is_wide, self.f.lanes);
        for (word, place) in [(access, at::ACCESS), (atomic, at::ATOMIC)] {
            let word = self.e.imm(I32, word.into());
            self.e.store(word, self.context, place);
        }
        self.call_lanes();
        if may_fault(mem) {
            self.fault_if_odd(data, mem);
        }
        if let Some(all) = loaded_at {
            self.e.jump(all, &[]);
            self.e.switch_to(all);
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

    /// How the host does an atomic, if it has instructions for it. Asks for what is loaded once for all lanes.
    fn quick_atomic<'d>(
        &mut self,
        data: &'d InstData,
        mem: MemAccess,
        op: AtomicOp,
        wide_address: bool,
        wanted: bool,
    ) -> Result<Option<Quick<'d>>, Error> {
        use AtomicOp::{Add, And, Cas, Exch, Or, Smax, Smin, Umax, Umin, Xor};
        let global = matches!(mem.space, Space::Global(_));
        let possible = match mem.space {
            _ if mem.align_offset != 0 => false,
            // Across a line of the cache, instructions that lock are very slow.
            Space::Global(_) => {
                self.e.host.x86
                    && !self.options.checked_memory
                    && mem.align >= mem.bytes
                    && matches!(op, Add | Exch | Cas)
            }
            Space::Shared => matches!(op, Add | Exch | Cas | And | Or | Xor | Umax | Umin | Smax | Smin),
            Space::Local | Space::Const(_) => false,
        };
        if !possible {
            return Ok(None);
        }
        let guard = data.args.get(data.atomic_operands()).copied();
        let tests_low = AlignmentTest::of(self.f, data, mem, guard)?.is_some();
        let base = self.base(mem.space);
        let asks = global && self.options.permits;
        let site = if asks { permits::next_site(&mut self.next_site, mem.bytes.into(), true) } else { None };
        let limit = match global {
            true if self.options.permits => None,
            true if wide_address => Some(self.e.load(I64, self.context, at::WINDOW_HIGH)),
            true => None,
            false => {
                let size = self.e.load(I32, self.context, at::SHARED_BYTES);
                Some(self.e.uextend(I64, size))
            }
        };
        let low = if tests_low { u64::from(mem.align - 1) } else { 0 };
        Ok(Some(Quick { data, mem, op, wide_address, wanted, low, base, limit, site }))
    }

    /// The atomic of one lane, by the host: the old value, if it is wanted or there anyway. Goes to `slow` before it where the address is
    /// none for it.
    fn one_atomic(
        &mut self,
        quick: &Quick<'_>,
        (address, value, other): (V, V, Option<V>),
        slow: (HostBlock, &[V]),
    ) -> Option<V> {
        use AtomicOp::{Add, And, Cas, Exch, Or, Smax, Smin, Umax, Umin};
        let Quick { data, mem, op, wide_address, low, base, limit, site, .. } = *quick;
        let global = matches!(mem.space, Space::Global(_));
        let mut address = if wide_address { address } else { self.e.uextend(I64, address) };
        if !global && !mem.far {
            address = self.e.band_imm(address, 0xffff);
        }
        let mut tests = Vec::new();
        if low != 0 {
            tests.push(self.e.band_imm(address, low));
        }
        if let Some(site) = site {
            let outside = self.is_outside(address, site);
            tests.push(self.e.uextend(I64, outside));
        }
        match limit {
            Some(high) if global => tests.push(self.e.band(address, high)),
            Some(size) => {
                let end = self.e.iadd_imm(address, mem.bytes.into());
                // Of numbers below 2^33: the difference is negative.
                let left = self.e.isub(size, end);
                tests.push(self.e.shr(left, 63));
            }
            None => {}
        }
        if let Some(bad) = tests.into_iter().reduce(|a, b| self.e.bor(a, b)) {
            let good = self.e.block();
            self.e.brif(bad, slow, (good, &[]));
            self.e.switch_to(good);
        }
        let place = self.e.iadd(base, address);
        let ty = if mem.bytes == 8 { I64 } else { I32 };
        let value = self.e.cast(value, ty);
        let other = other.map(|other| self.e.cast(other, ty));
        if global {
            let lane = match self.options.single {
                true => TrapLane::Lane(0),
                // The page tells the lane: a lower one of the same page would have trapped before.
                false => TrapLane::Gather { first: 0, wide: wide_address, guarded: true },
            };
            let site = TrapSite { pc: data.pc, lane, space: mem.space, store: true, bytes: mem.bytes };
            self.at_site(Some(site));
            let old = match (op, other) {
                (Cas, Some(new)) => self.e.compare_and_swap(place, value, new),
                (Add, _) => self.e.fetch_and_add(place, value),
                _ => self.e.swap(place, value),
            };
            self.at_site(None);
            return Some(old);
        }
        let old = self.e.load(ty, place, 0);
        let result = match (op, other) {
            (Cas, Some(new)) => {
                let same = self.e.icmp(HostIntCC::Equal, old, value);
                self.e.select(same, new, old)
            }
            (Exch, _) => value,
            (Add, _) => self.e.iadd(old, value),
            (And, _) => self.e.band(old, value),
            (Or, _) => self.e.bor(old, value),
            (Umax, _) => self.e.umax(old, value),
            (Umin, _) => self.e.umin(old, value),
            (Smax, _) => self.e.smax(old, value),
            (Smin, _) => self.e.smin(old, value),
            _ => self.e.bxor(old, value),
        };
        self.e.store(result, place, 0);
        Some(old)
    }

    /// The loop over the lanes that take part, whose addresses and operands are in the context. Goes to `all` when they are done, and to
    /// `slow` with those in [`crate::Context::guard_lanes`] that are left.
    fn each_atomic(&mut self, quick: &Quick<'_>, bits: V, all: HostBlock, slow: HostBlock) {
        let mem = quick.mem;
        let shift = if mem.bytes == 8 { 3 } else { 2 };
        let (head, stop) = (self.e.block(), self.e.cold_block());
        let left = self.e.param(head, I64);
        let stopped = self.e.param(stop, I64);
        let bits = self.bits_as_long(bits);
        self.e.jump(head, &[bits]);

        self.e.switch_to(head);
        let lane = self.e.ctz(left);
        let in_bytes = self.e.shl(lane, shift);
        let own = self.e.iadd(self.context, in_bytes);
        let (address_ty, address_shift) = if quick.wide_address { (I64, 3) } else { (I32, 2) };
        let place = match address_shift == shift {
            true => own,
            false => {
                let in_bytes = self.e.shl(lane, address_shift);
                self.e.iadd(self.context, in_bytes)
            }
        };
        let ty = if mem.bytes == 8 { I64 } else { I32 };
        let address = self.e.load(address_ty, place, at::LANE_ADDRESSES);
        let value = self.e.load(ty, own, at::LANE_VALUES);
        let other = quick.op.takes_two().then(|| self.e.load(ty, own, at::LANE_OTHERS));
        let old = self.one_atomic(quick, (address, value, other), (stop, &[left]));
        if let (Some(old), true) = (old, quick.wanted) {
            self.e.store(old, own, at::LANE_VALUES);
        }
        let less = self.e.iadd_imm(left, u64::MAX);
        let rest = self.e.band(left, less);
        self.e.brif(rest, (head, &[rest]), (all, &[]));

        self.e.switch_to(stop);
        self.e.store(stopped, self.context, at::GUARD_LANES);
        self.e.jump(slow, &[]);
    }

    /// A device call: the runtime serves the lanes that take part.
    pub(super) fn call_device(&mut self, data: &InstData) -> Result<(), Error> {
        let Imm::Device(site) = data.imm else { return Err(malformed(data)) };
        // Device calls find the environment that code begins in.
        self.turn_to(FloatEnv::FlushAll);
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
