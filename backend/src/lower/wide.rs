//! Loads and stores at 64-bit addresses of global memory. Where lanes lie on a line ([`crate::even_address`]), the first lane's address
//! tells all: lanes side by side are vectors, others are accessed at constant distances from it. Of other addresses it is tested as the
//! code runs whether lanes lie side by side. All else is an access a lane, at an address of its own.

use warpjit_ir::types::Scalar;
use warpjit_ir::{InstData, MemAccess, Space, Value};

use super::memory::{Access, Address};
use super::permit::Asked;
use super::{Kept, Lower, Parts, result, wide};
use crate::clif::{HostIntCC, I8X16, I16X8, I32, I32X4, I64, I64X2, V, element, vector};
use crate::context::{FAULT_AT_PLACE, FAULT_OF_PAGE, at};
use crate::error::Error;
use crate::even_address::{EvenAddress, affine_step, bytes_together, is_tried_as_line};
use crate::operands::MemoryOperands;
use crate::trap::TrapLane;

impl<'a> Lower<'a, '_> {
    /// A load or store whose address is an i64.
    pub(super) fn wide_memory(&mut self, data: &InstData, operands: MemoryOperands) -> Result<(), Error> {
        let mut asked = self.asked.take();
        let MemoryOperands { mem, address: a, value, guard } = operands;
        // The access as the shared parts want it; the address is dealt with here.
        let zero = self.e.imm(I32, 0);
        let x = Access { data, mem, value, guard, address: Address::Uniform(zero), offset: 0 };
        let offset = i64::from(mem.offset) as u64;
        if self.is_uniform(a) {
            self.ask_now(&mut asked)?;
            let s = self.scalar(a)?;
            let s = self.e.iadd_imm(s, offset);
            if value.is_none_or(|v| self.is_uniform(v)) {
                if let Some(v) = self.wide_uniform(&x, s)? {
                    let r = result(data)?;
                    let v = self.e.cast(v, element(self.scalar_of(r)));
                    self.define_scalar(r, v);
                }
                return Ok(());
            }
            let splat = self.e.splat(I64X2, s);
            let parts: Parts = (0..2 * self.groups).map(|_| splat).collect();
            self.wide_lanes(&x, &parts)?;
            return Ok(());
        }
        let lanes = |l: &mut Self| l.lanes_of_line(&x, (a, offset), None);
        // Of lanes side by side only the first's alignment is looked at, so it must be all others', too.
        let by_vectors = mem.bytes >= 4 && mem.align <= mem.bytes;
        let loaded = match affine_step(self.f, &self.forms, a, mem) {
            Some(step) => {
                let span = self.span(a)?;
                let first = self.e.iadd_imm(span.first, offset);
                self.affine_access(&x, (first, step), span.wraps, asked.take(), lanes)?
            }
            None if is_tried_as_line(self.f, &self.forms, a, mem) => {
                let (first, odd) = self.tried_line(a, mem)?;
                let first = self.e.iadd_imm(first, offset);
                self.affine_access(&x, (first, mem.bytes.into()), Some(odd), asked.take(), lanes)?
            }
            None => {
                let parts = self.lane_parts(a, offset)?;
                if by_vectors {
                    let step = self.bytes_together(data).max(mem.bytes);
                    let (first, odd) = self.evenness(&parts, step);
                    let lanes = |l: &mut Self| l.wide_lanes(&x, &parts);
                    self.affine_access(&x, (first, step.into()), Some(odd), asked.take(), lanes)?
                } else {
                    self.ask_now(&mut asked)?;
                    self.wide_lanes(&x, &parts)?
                }
            }
        };
        self.define_loaded(data, loaded)
    }

    /// The first lane's address of a line whose stride is computed, and whether lanes do not lie side by side (i8).
    pub(super) fn tried_line(&mut self, address: Value, mem: MemAccess) -> Result<(V, V), Error> {
        let span = self.span(address)?;
        let step = self.step(address)?;
        let differs = self.e.icmp_imm(HostIntCC::NotEqual, step, mem.bytes.into());
        Ok((span.first, span.wraps.map_or(differs, |wraps| self.e.bor(wraps, differs))))
    }

    /// Asks before an access that does not ask by itself.
    fn ask_now(&mut self, asked: &mut Option<Asked<'a>>) -> Result<(), Error> {
        asked.take().map_or(Ok(()), |asked| self.ask(&asked))
    }

    /// Whether all lanes of the chunk take part, wherever this code runs.
    fn takes_all(&self, guard: Option<Value>) -> bool {
        let is_all = |guard| self.is_active_mask(guard) || self.f.as_const(guard) == Some(1);
        self.all_enter && guard.is_none_or(is_all)
    }

    /// Whether addresses of a space are the host's: those that permits are asked for.
    pub(super) fn is_of_host(&self, space: Space) -> bool {
        self.options.permits && matches!(space, Space::Global(_))
    }

    /// The host's address of an address of a space.
    pub(super) fn host_address(&mut self, space: Space, address: V) -> V {
        if self.is_of_host(space) {
            return address;
        }
        let base = self.base(space);
        self.e.iadd(base, address)
    }

    /// Defines what a load gives.
    pub(super) fn define_loaded(&mut self, data: &InstData, loaded: Option<Parts>) -> Result<(), Error> {
        if let Some(parts) = loaded {
            let r = result(data)?;
            let ty = vector(self.scalar_of(r));
            let parts = parts.iter().map(|&p| self.e.cast(p, ty)).collect();
            self.define(r, Kept::Parts(parts));
        }
        Ok(())
    }

    /// Whether code looks into the table of page rights for a 64-bit address. A translated address has been checked.
    fn checks_pages(&self) -> bool {
        self.options.checked_memory && !self.options.translated
    }

    /// Bits of an address (scalar or vector of i64) that must not be set: beyond the address space, or misaligned. `None`: there are none.
    pub(super) fn bad_bits(&mut self, address: V, mem: MemAccess) -> Option<V> {
        let ty = self.e.ty(address);
        // What has been permitted is inside, and what is translated looks for itself.
        let beyond = match self.options.permits || self.options.translated {
            true => None,
            false => {
                let high = self.e.load(I64, self.context, at::GLOBAL_HIGH);
                let high = if ty == I64 { high } else { self.e.splat(ty, high) };
                Some(self.e.band(address, high))
            }
        };
        if mem.align <= 1 {
            return beyond;
        }
        let whole = self.e.iadd_imm(address, 0u64.wrapping_sub(mem.align_offset.into()));
        let low = self.e.band_imm(whole, u64::from(mem.align - 1));
        Some(beyond.map_or(low, |beyond| self.e.bor(beyond, low)))
    }

    /// One access for all lanes.
    pub(super) fn wide_uniform(&mut self, x: &Access<'_>, address: V) -> Result<Option<V>, Error> {
        let mem = x.mem;
        let ty = if mem.bytes == 8 { I64 } else { I32 };
        let active = x.guard.is_none_or(|g| self.is_active_mask(g));
        if !self.is_of_host(mem.space) {
            // Made here, so that it is good behind.
            self.base(mem.space);
        }
        let value = match x.value {
            Some(v) => {
                let s = self.scalar(v)?;
                Some(self.e.cast(s, ty))
            }
            None => None,
        };
        let bits = self.guard_bits(x.guard)?;
        // Where to go on if no lane takes part.
        let end = (!active).then(|| self.e.block());
        let loaded = end.filter(|_| !x.store()).map(|end| self.e.param(end, ty));
        if let Some(end) = end {
            let go = self.e.block();
            let zero = self.e.imm(ty, 0);
            let skip: &[V] = if x.store() { &[] } else { &[zero] };
            self.e.brif(bits, (go, &[]), (end, skip));
            self.e.switch_to(go);
        }
        // Some lane takes part from here on: no chunk runs without any.
        if let Some(bad) = self.bad_bits(address, mem) {
            self.fault_if(x.data, mem, (bad, bits), |l, _| {
                l.note_fault(FAULT_AT_PLACE);
                address
            });
        }
        if self.checks_pages() {
            let ok = self.page_ok(address, mem, mem.bytes.into(), x.store());
            let bad = self.e.bxor_imm(ok, 1);
            self.fault_if(x.data, mem, (bad, bits), |l, _| {
                l.note_fault(FAULT_OF_PAGE);
                address
            });
        }
        if !active {
            self.note_guard(bits);
        }
        let place = self.host_address(mem.space, address);
        self.site(x.data, TrapLane::First { guarded: !active });
        let own = match value {
            Some(v) => {
                self.store_scalar(mem.bytes, v, place, 0);
                None
            }
            None => Some(self.load_scalar(mem, place, 0)),
        };
        self.at_site(None);
        // A block of its own keeps the load from becoming an operand of what uses it, which is no site of a trap.
        let next = end.unwrap_or_else(|| self.e.block());
        let args = own.filter(|_| end.is_some());
        self.e.jump(next, args.as_slice());
        self.e.switch_to(next);
        Ok(loaded.or(own))
    }

    /// Bytes of a lane that are accessed together with those of an access: lanes are mostly as far from each other.
    fn bytes_together(&self, data: &InstData) -> u8 {
        let insts = &self.f.block(self.blocks.current).insts;
        let at = insts.iter().position(|&inst| std::ptr::eq(self.f.inst(inst), data));
        at.map_or(0, |at| bytes_together(self.f, insts, at))
    }

    /// The first lane's address, and whether the others do not follow it at steps of so many bytes (i8).
    pub(super) fn evenness(&mut self, addresses: &Parts, bytes: u8) -> (V, V) {
        let first = self.e.extract(addresses[0], 0);
        let splat = self.e.splat(I64X2, first);
        let step = u64::from(bytes);
        let differs: Vec<V> = addresses
            .iter()
            .enumerate()
            .map(|(p, &a)| {
                let lane = 2 * p as u64;
                let ramp = self.e.lanes(I64X2, &[lane * step, (lane + 1) * step]);
                let want = self.e.iadd(splat, ramp);
                self.e.bxor(a, want)
            })
            .collect();
        (first, self.any(&differs))
    }

    /// Vectors, or one access after the other from one address, where all lanes take part and lie `step` bytes from each other from `first`
    /// on, which they do unless `odd`; else `lanes` makes the access lane by lane.
    pub(super) fn affine_access(
        &mut self,
        x: &Access<'_>,
        (first, step): (V, i64),
        odd: Option<V>,
        asked: Option<Asked<'a>>,
        lanes: impl FnOnce(&mut Self) -> Result<Option<Parts>, Error>,
    ) -> Result<Option<Parts>, Error> {
        let mem = x.mem;
        let scalar = if mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 };
        let value = x.value.map(|v| self.parts(v)).transpose()?;
        let slow_way = self.leaves_line(x, (first, step), odd)?;
        let (quick, slow, end) = (self.e.block(), self.e.cold_block(), self.e.block());
        self.e.brif(slow_way, (slow, &[]), (quick, &[]));

        self.e.switch_to(quick);
        let asked = match asked {
            Some(asked) => Some(self.ask_of_first(asked, first, (mem.offset.into(), step))?),
            None => None,
        };
        let place = self.host_address(mem.space, first);
        let loaded = match step == i64::from(mem.bytes) {
            true => self.vectors_from(x, place, value.as_ref()),
            false => self.lanes_from(x, (place, step), value.as_ref()),
        };
        self.e.jump(end, &loaded);

        self.e.switch_to(slow);
        let aside = std::mem::replace(&mut self.aside, true);
        if let Some(asked) = asked {
            self.ask_slowly(asked)?;
        }
        let lanes = lanes(self)?;
        self.aside = aside;
        self.finish(end, lanes, scalar)
    }

    /// Whether lanes that lie `step` bytes from each other from `first` on, unless `odd`, are not accessed at once: some take no part, or they
    /// are beyond the address space, or may not.
    pub(super) fn leaves_line(
        &mut self,
        x: &Access<'_>,
        (first, step): (V, i64),
        odd: Option<V>,
    ) -> Result<V, Error> {
        let mem = x.mem;
        if !self.is_of_host(mem.space) {
            // Made here, so that it is good behind.
            self.base(mem.space);
        }
        let bits = self.guard_bits(x.guard)?;
        // Elsewhere this costs nothing that was measured, and without it registers were chosen less well.
        let is_known = self.is_of_host(mem.space) && self.takes_all(x.guard);
        let missing = if is_known { None } else { Some(self.e.bxor_imm(bits, self.full_bits())) };
        let bad = self.bad_bits(first, mem);
        let [bad, missing] =
            [bad, missing].map(|word| word.map(|word| self.e.icmp_imm(HostIntCC::NotEqual, word, 0)));
        let tests = [bad, missing, odd].into_iter().flatten();
        let mut slow_way = match tests.reduce(|a, b| self.e.bor(a, b)) {
            Some(any) => any,
            None => self.e.imm(I32, 0),
        };
        if self.checks_pages() {
            // Beyond the address space there is no entry to look at.
            let high = self.e.load(I64, self.context, at::GLOBAL_HIGH);
            let (low, bytes) = self.reach_of_lanes(mem, step);
            let lowest = self.e.iadd_imm(first, low as u64);
            let inside = self.e.band_not(lowest, high);
            let ok = self.page_ok(inside, mem, bytes, x.store());
            let mut denied = self.e.bxor_imm(ok, 1);
            if low != 0 {
                let beyond = self.e.band(lowest, high);
                let beyond = self.e.icmp_imm(HostIntCC::NotEqual, beyond, 0);
                denied = self.e.bor(denied, beyond);
            }
            slow_way = self.e.bor(slow_way, denied);
        }
        Ok(slow_way)
    }

    /// Where the accesses of lanes on a line begin, from the first lane's address on, and how many bytes there are to the last one's end.
    pub(super) fn reach_of_lanes(&self, mem: MemAccess, step: i64) -> (i64, u64) {
        let far = step * (self.lanes() as i64 - 1);
        (far.min(0), far.unsigned_abs() + u64::from(mem.bytes))
    }

    /// All lanes side by side from a host address on: gives what is loaded.
    fn vectors_from(&mut self, x: &Access<'_>, place: V, value: Option<&Parts>) -> Vec<V> {
        let mem = x.mem;
        self.e.store(place, self.context, at::VECTOR_BASE);
        let mut loaded = Vec::new();
        if mem.bytes < 4 {
            let bytes = 4 * i32::from(mem.bytes);
            for g in 0..self.groups {
                self.site(x.data, TrapLane::Vector { first: (4 * g) as u8 });
                match value {
                    Some(v) => self.store_four(v[g], mem.bytes, place, bytes * g as i32),
                    None => {
                        let four = self.load_four(mem, place, bytes * g as i32);
                        loaded.push(four);
                    }
                }
                self.at_site(None);
            }
            return loaded;
        }
        let scalar = if mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 };
        let per = if wide(scalar) { 2 } else { 4 };
        for g in 0..self.part_count(scalar) {
            self.site(x.data, TrapLane::Vector { first: (per * g) as u8 });
            match value {
                Some(v) => self.e.store_guest(v[g], place, 16 * g as i32),
                None => loaded.push(self.e.load_guest(vector(scalar), place, 16 * g as i32)),
            }
            self.at_site(None);
        }
        loaded
    }

    /// Loads four bytes, or words of two bytes, side by side.
    fn load_four(&mut self, mem: MemAccess, place: V, offset: i32) -> V {
        let (ty, vector) = if mem.bytes == 1 { (I32, I32X4) } else { (I64, I64X2) };
        let all = self.e.load_guest(ty, place, offset);
        let all = self.e.scalar_to_vector(vector, all);
        let mut all = self.e.cast(all, if mem.bytes == 1 { I8X16 } else { I16X8 });
        for _ in 0..if mem.bytes == 1 { 2 } else { 1 } {
            all = if mem.signed { self.e.swiden_low(all) } else { self.e.uwiden_low(all) };
        }
        all
    }

    /// Stores the low bytes of four words, one or two of each, side by side.
    fn store_four(&mut self, words: V, bytes: u8, place: V, offset: i32) {
        let low = self.e.band_imm(words, if bytes == 1 { 0xff } else { 0xffff });
        let mut all = self.e.unarrow(low, low);
        let mut types = (I64, I64X2);
        if bytes == 1 {
            all = self.e.unarrow(all, all);
            types = (I32, I32X4);
        }
        let all = self.e.cast(all, types.1);
        let all = self.e.extract(all, 0);
        debug_assert_eq!(self.e.ty(all), types.0);
        self.e.store_guest(all, place, offset);
    }

    /// All lanes, so many bytes from each other from a host address on, one after the other: gives what is loaded.
    fn lanes_from(&mut self, x: &Access<'_>, (place, step): (V, i64), value: Option<&Parts>) -> Vec<V> {
        let offsets = (0..self.lanes() as i64).map(|lane| lane * step);
        match value {
            Some(value) => {
                self.scatter_at(x.data, x.mem, place, offsets, value);
                Vec::new()
            }
            None => {
                let ty = if x.mem.bytes == 8 { I64X2 } else { I32X4 };
                let parts = self.gather_at(x.data, x.mem, place, offsets);
                parts.into_iter().map(|part| self.e.cast(part, ty)).collect()
            }
        }
    }

    /// An access for each lane.
    pub(super) fn wide_lanes(&mut self, x: &Access<'_>, addresses: &Parts) -> Result<Option<Parts>, Error> {
        let (mem, data) = (x.mem, x.data);
        let base = self.base(mem.space);
        let bits = self.guard_bits(x.guard)?;
        let wrong: Option<Vec<V>> = addresses
            .iter()
            .map(|&a| {
                let bad = self.bad_bits(a, mem)?;
                Some(self.e.icmp_imm(HostIntCC::NotEqual, bad, 0))
            })
            .collect();
        if let Some(wrong) = wrong {
            let wrong = self.narrow_mask(&wrong);
            let wrong = self.bits_of(&wrong);
            let wrong = self.e.band(wrong, bits);
            self.fault_lanes(data, mem, wrong, |l, lane| {
                l.note_lanes(mem, bits, addresses);
                l.dynamic_lane(addresses, lane)
            });
        }
        let offsets: Vec<V> =
            addresses.iter().flat_map(|&p| [0, 1].map(|half| self.e.extract(p, half))).collect();
        if self.checks_pages() {
            let high = self.e.load(I64, self.context, at::GLOBAL_HIGH);
            for (lane, &offset) in offsets.iter().enumerate() {
                // A lane that takes no part may have any address.
                let inside = self.e.band_not(offset, high);
                let ok = self.page_ok(inside, mem, mem.bytes.into(), x.store());
                let own = self.e.band_imm(bits, 1 << lane);
                let zero = self.e.imm(self.bits_type(), 0);
                let bad = self.e.select(ok, zero, own);
                self.fault_page(data, mem, bad, offset);
            }
        }
        match x.value {
            Some(v) => {
                let value = self.parts(v)?;
                self.scatter(data, mem, base, &offsets, &value, Some(bits));
                Ok(None)
            }
            None => Ok(Some(self.gather(data, mem, (base, 0), &offsets, Some(bits)))),
        }
    }
}
