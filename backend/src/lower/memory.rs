//! Loads and stores. What an address looks like over the lanes decides: one scalar access where it is uniform, vectors
//! where it grows by the size of the access, else an access a lane. Lanes that do not take part are sent to
//! [`crate::Context::scratch`], never to guest memory.

use warpjit_ir::types::Scalar;
use warpjit_ir::{InstData, MemAccess, Space, Value};

use super::{Kept, LANES_BYTES, Lower, Parts, arg, malformed, result, wide};
use crate::affine::Form;
use crate::alignment::AlignmentTest;
use crate::clif::{HostIntCC, I8X16, I32, I32X4, I64, I64X2, V, element, vector};
use crate::context::{CONST_BANKS, FAULT_AT_DOUBLE_WORDS, FAULT_AT_WORDS, FAULT_OF_PAGE, at};
use crate::error::Error;
use crate::flow::Flow;
use crate::operands::{MemoryOperands, known_of_fault};
use crate::trap::TrapLane;

/// The addresses of a chunk's lanes, without the access's offset.
#[derive(Clone)]
pub(super) enum Address {
    /// The same in all lanes, i32.
    Uniform(V),
    /// The first lane's, i32, and the step.
    Affine(V, i32),
    /// Vectors of i32.
    Lanes(Parts),
}

/// A load or store on its way.
#[derive(Clone)]
pub(super) struct Access<'a> {
    pub data: &'a InstData,
    pub mem: MemAccess,
    /// Of a store.
    pub value: Option<Value>,
    pub guard: Option<Value>,
    pub address: Address,
    /// To be added to the address.
    pub offset: u32,
}

impl Access<'_> {
    pub fn store(&self) -> bool {
        self.value.is_some()
    }

    pub fn global(&self) -> bool {
        matches!(self.mem.space, Space::Global(_))
    }
}

impl Lower<'_, '_> {
    pub(super) fn memory(&mut self, data: &InstData) -> Result<(), Error> {
        let operands = MemoryOperands::of(data)?;
        if wide(self.scalar_of(operands.address)) {
            return self.wide_memory(data, operands);
        }
        let MemoryOperands { mem, address, value, guard } = operands;
        if let Some(r) = data.result
            && let Some(&v) = self.preloaded.get(&r)
        {
            let v = self.e.cast(v, element(self.scalar_of(r)));
            self.define_scalar(r, v);
            return Ok(());
        }
        let (address, offset) = self.address(address, mem)?;
        let access = Access { data, mem, value, guard, address, offset };
        self.check_alignment(&access)?;
        let parts = match (&access.address, mem.space) {
            (_, Space::Local) if self.options.single => {
                if let (Some(v), Some(r)) = (self.local_single(&access)?, data.result) {
                    let v = self.e.cast(v, element(self.scalar_of(r)));
                    self.define_scalar(r, v);
                }
                return Ok(());
            }
            (Address::Uniform(_), Space::Local) if mem.bytes >= 4 && mem.align >= 4 => {
                self.local_row(&access)?
            }
            (Address::Uniform(_), space) if space != Space::Local => {
                let one_value = value.is_none_or(|v| self.is_uniform(v));
                if one_value {
                    let loaded = self.uniform_access(&access)?;
                    if let Some(v) = loaded {
                        let r = result(data)?;
                        let v = self.e.cast(v, element(self.scalar_of(r)));
                        self.define_scalar(r, v);
                    }
                    return Ok(());
                }
                self.by_lane(&access)?
            }
            (Address::Affine(_, stride), _) if self.is_contiguous(mem, *stride) => {
                self.contiguous(&access)?
            }
            _ => self.by_lane(&access)?,
        };
        if let Some(parts) = parts {
            let r = result(data)?;
            let ty = vector(self.scalar_of(r));
            let parts = parts.iter().map(|&p| self.e.cast(p, ty)).collect();
            self.define(r, Kept::Parts(parts));
        }
        Ok(())
    }

    /// The addresses and the offset still to be added.
    fn address(&mut self, a: Value, mem: MemAccess) -> Result<(Address, u32), Error> {
        let low16 = !matches!(mem.space, Space::Global(_)) && !mem.far;
        let address = match self.forms.of(a) {
            Form::Uniform => Address::Uniform(self.scalar(a)?),
            Form::Affine { stride, .. } => Address::Affine(self.scalar(a)?, stride),
            Form::Affine16 { stride } if low16 => Address::Affine(self.scalar(a)?, stride),
            _ => Address::Lanes(self.parts(a)?),
        };
        Ok((address, mem.offset as u32))
    }

    /// The address of a uniform access, of the first lane of an affine one, i32.
    pub(super) fn first_address(&mut self, x: &Access<'_>) -> V {
        match x.address {
            Address::Uniform(s) | Address::Affine(s, _) => self.e.iadd_imm(s, u64::from(x.offset)),
            Address::Lanes(ref parts) => {
                let first = self.e.extract(parts[0], 0);
                self.e.iadd_imm(first, u64::from(x.offset))
            }
        }
    }

    /// Element `lane` (i32) of vectors, through memory: for faults only.
    pub(super) fn dynamic_lane(&mut self, parts: &[V], lane: V) -> V {
        let slot = match self.lane_buffer {
            Some(slot) => slot,
            None => self.stack_slot(LANES_BYTES),
        };
        self.lane_buffer = Some(slot);
        let buffer = self.e.stack_addr(slot);
        for (g, &p) in parts.iter().enumerate() {
            self.e.store(p, buffer, 16 * g as i32);
        }
        let doubles = self.e.ty(parts[0]) == I64X2;
        let lane = self.e.uextend(I64, lane);
        let offset = self.e.shl(lane, if doubles { 3 } else { 2 });
        let place = self.e.iadd(buffer, offset);
        if doubles {
            return self.e.load(I64, place, 0);
        }
        let word = self.e.load(I32, place, 0);
        self.e.uextend(I64, word)
    }

    /// Faults where an access is denied to a lane that takes part: with the lowest of these, or one below that is not aligned.
    pub(super) fn deny(&mut self, data: &InstData) -> Result<(), Error> {
        let MemoryOperands { mem, address, value, guard } = MemoryOperands::of(data)?;
        if wide(self.f.ty(address).scalar) || mem.offset != 0 {
            return Err(malformed(data));
        }
        let lanes = self.guard_bits(guard)?;
        let denied = self.guard_bits(value)?;
        let denied = self.e.band(denied, lanes);
        if self.options.single {
            let address = self.scalar(address)?;
            self.fault_lanes(data, mem, denied, |l, _| l.e.uextend(I64, address));
            return Ok(());
        }
        let (cold, go_on) = (self.e.cold_block(), self.e.block());
        let parts = self.parts(address)?;
        self.e.brif(denied, (cold, &[]), (go_on, &[]));
        self.e.switch_to(cold);
        let low = u64::from(mem.align.max(1)) - 1;
        let zero = self.e.imm(I32X4, 0);
        let odd = parts.iter().map(|&p| {
            let p = self.e.iadd_imm(p, u64::from(mem.align_offset).wrapping_neg() & low);
            let p = self.e.band_imm(p, low);
            self.e.icmp(HostIntCC::NotEqual, p, zero)
        });
        let odd: Vec<V> = odd.collect();
        let odd = self.bits_of(&odd);
        let odd = self.e.band(odd, lanes);
        let bad = self.e.bor(odd, denied);
        let lane = self.lowest_lane(bad);
        let address = self.dynamic_lane(&parts, lane);
        self.note_lanes(mem, lanes, &parts);
        self.jump_to_fault(data, mem, lane, address);
        self.e.switch_to(go_on);
        Ok(())
    }

    /// Tells the faults of an access which lanes take part.
    pub(super) fn note_guard(&mut self, bits: V) {
        let bits = self.bits_as_long(bits);
        self.e.store(bits, self.context, at::GUARD_LANES);
    }

    /// Before a fault of a lane whose address was tested before the access: stores the lanes that take part (a bit
    /// each) and their addresses, vectors of i32 or of i64, where [`Context::lowest_fault`] finds them.
    ///
    /// [`Context::lowest_fault`]: crate::Context::lowest_fault
    pub(super) fn note_lanes(&mut self, mem: MemAccess, lanes: V, addresses: &[V]) {
        if !matches!(mem.space, Space::Global(_)) {
            return;
        }
        self.note_guard(lanes);
        for (n, &part) in addresses.iter().enumerate() {
            self.e.store(part, self.context, at::LANE_ADDRESSES + 16 * n as i32);
        }
        let wide = addresses.first().is_some_and(|&part| matches!(self.e.ty(part), I64 | I64X2));
        self.note_fault(if wide { FAULT_AT_DOUBLE_WORDS } else { FAULT_AT_WORDS });
    }

    /// Says before a fault what [`Context::lowest_fault`] has to do.
    ///
    /// [`Context::lowest_fault`]: crate::Context::lowest_fault
    pub(super) fn note_fault(&mut self, what: u32) {
        let what = self.e.imm(I32, what.into());
        self.e.store(what, self.context, at::FAULT_LANES);
    }

    /// As [`Lower::fault_lanes`], of lanes that the table of page rights does not have.
    pub(super) fn fault_page(&mut self, data: &InstData, mem: MemAccess, bad: V, address: V) {
        self.fault_lanes(data, mem, bad, |l, _| {
            l.note_fault(FAULT_OF_PAGE);
            l.e.iadd_imm(address, 0)
        });
    }

    /// Faults if any lane of `bad` (a bit a lane) is set; `address` gives the guest address of a lane (i32), as i64.
    pub(super) fn fault_lanes(
        &mut self,
        data: &InstData,
        mem: MemAccess,
        bad: V,
        address: impl FnOnce(&mut Self, V) -> V,
    ) {
        self.fault_if(data, mem, (bad, bad), address);
    }

    /// Faults if something is not 0, with the lowest of some lanes (a bit each, at least one); `address` gives its address as i64.
    pub(super) fn fault_if(
        &mut self,
        data: &InstData,
        mem: MemAccess,
        (bad, lanes): (V, V),
        address: impl FnOnce(&mut Self, V) -> V,
    ) {
        let (cold, go_on) = (self.e.cold_block(), self.e.block());
        self.e.brif(bad, (cold, &[]), (go_on, &[]));
        self.e.switch_to(cold);
        let lane = self.lowest_lane(lanes);
        let address = address(self, lane);
        self.jump_to_fault(data, mem, lane, address);
        self.e.switch_to(go_on);
    }

    pub(super) fn jump_to_fault(&mut self, data: &InstData, mem: MemAccess, lane: V, address: V) {
        let target = self.fault_target();
        for (place, word) in known_of_fault(data, mem) {
            let word = self.e.imm(I32, word.into());
            self.e.store(word, self.context, place);
        }
        let operands = [address, lane];
        self.e.jump(target, if self.lanes() > 1 { &operands } else { &operands[..1] });
    }

    /// Guest address of a lane (i32) as i64.
    fn lane_address(&mut self, x: &Access<'_>, lane: V) -> V {
        let a = match &x.address {
            Address::Uniform(_) => {
                let a = self.first_address(x);
                self.e.uextend(I64, a)
            }
            Address::Affine(_, stride) => {
                let first = self.first_address(x);
                let stride = self.e.imm(I32, u64::from(*stride as u32));
                let step = self.e.imul(lane, stride);
                let sum = self.e.iadd(first, step);
                self.e.uextend(I64, sum)
            }
            Address::Lanes(_) => {
                let parts = self.address_parts(x);
                self.dynamic_lane(&parts, lane)
            }
        };
        if x.global() || x.mem.far { a } else { self.e.band_imm(a, 0xffff) }
    }

    fn check_alignment(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let (mem, data) = (x.mem, x.data);
        let Some(test) = AlignmentTest::of(self.f, data, mem, x.guard)? else { return Ok(()) };
        if self.known.aligned.contains(&test) {
            return Ok(());
        }
        let (place, low) = (u64::from(test.place), u64::from(test.low()));
        match &x.address {
            // A stride that keeps the alignment: the first lane's address tells of all.
            Address::Uniform(s) | Address::Affine(s, _) if !matches!(&x.address, Address::Affine(_, stride) if *stride as u64 & low != 0) =>
            {
                let s = self.e.iadd_imm(*s, place);
                let bad = self.e.band_imm(s, low);
                let (cold, go_on) = (self.e.cold_block(), self.e.block());
                self.e.brif(bad, (cold, &[]), (go_on, &[]));
                self.e.switch_to(cold);
                self.aside = true;
                let bits = self.guard_bits(x.guard)?;
                self.aside = false;
                let faulting = self.e.cold_block();
                self.e.brif(bits, (faulting, &[]), (go_on, &[]));
                self.e.switch_to(faulting);
                let lane = self.lowest_lane(bits);
                let address = self.lane_address(x, lane);
                self.jump_to_fault(data, mem, lane, address);
                self.e.switch_to(go_on);
            }
            _ => {
                let parts = match &x.address {
                    Address::Lanes(parts) => parts.clone(),
                    _ => self.address_parts(&Access { offset: 0, ..x.clone() }),
                };
                let zero = self.e.imm(I32X4, 0);
                let guard = self.guard_parts(x.guard)?;
                let mut wrong = Vec::new();
                for (&p, &m) in parts.iter().zip(guard.iter()) {
                    let p = self.e.iadd_imm(p, place);
                    let p = self.e.band_imm(p, low);
                    wrong.push(self.e.band(p, m));
                }
                let bad = self.any(&wrong);
                let (cold, go_on) = (self.e.cold_block(), self.e.block());
                self.e.brif(bad, (cold, &[]), (go_on, &[]));
                self.e.switch_to(cold);
                let lanes: Vec<V> =
                    wrong.iter().map(|&w| self.e.icmp(HostIntCC::NotEqual, w, zero)).collect();
                let lanes = self.bits_of(&lanes);
                let lanes = self.e.band(lanes, self.bits);
                let faulting = self.e.cold_block();
                self.e.brif(lanes, (faulting, &[]), (go_on, &[]));
                self.e.switch_to(faulting);
                let lane = self.lowest_lane(lanes);
                let address = self.lane_address(x, lane);
                self.aside = true;
                let (guard, parts) = (self.guard_bits(x.guard)?, self.address_parts(x));
                self.aside = false;
                self.note_lanes(mem, guard, &parts);
                self.jump_to_fault(data, mem, lane, address);
                self.e.switch_to(go_on);
            }
        }
        if !self.aside {
            self.known.aligned.push(test);
        }
        Ok(())
    }

    /// The addresses as vectors.
    pub(super) fn address_parts(&mut self, x: &Access<'_>) -> Parts {
        let offset = u64::from(x.offset);
        let (s, stride) = match &x.address {
            Address::Lanes(parts) => return parts.iter().map(|&p| self.e.iadd_imm(p, offset)).collect(),
            Address::Uniform(s) => (*s, 0),
            Address::Affine(s, stride) => (*s, *stride),
        };
        let s = self.e.iadd_imm(s, offset);
        let splat = self.e.splat(I32X4, s);
        (0..self.groups)
            .map(|g| {
                if stride == 0 {
                    return splat;
                }
                let ramp: [u64; 4] =
                    std::array::from_fn(|l| (stride as i64 as u64).wrapping_mul((4 * g + l) as u64));
                let ramp = self.e.lanes(I32X4, &ramp);
                self.e.iadd(splat, ramp)
            })
            .collect()
    }

    /// Host address of a space's byte 0.
    pub(super) fn base(&mut self, space: Space) -> V {
        // All windows are to one address space.
        let space = if matches!(space, Space::Global(_)) { Space::Global(0) } else { space };
        if let Some(&(_, v)) = self.known.bases.iter().find(|(s, _)| *s == space) {
            return v;
        }
        let offset = match space {
            Space::Global(_) => at::GLOBAL_BASE,
            Space::Shared => at::SHARED_BASE,
            Space::Local => at::LOCAL_BASE,
            Space::Const(n) => at::CONST_BANKS + 8 * (i32::from(n) % CONST_BANKS as i32),
        };
        let v = self.e.load(I64, self.context, offset);
        if !self.aside {
            self.known.bases.push((space, v));
        }
        v
    }

    /// Bytes of a bounded space, i32; none for those that are always there.
    pub(super) fn space_bytes(&mut self, space: Space) -> Option<V> {
        match space {
            Space::Shared => Some(self.e.load(I32, self.context, at::SHARED_BYTES)),
            Space::Local => Some(self.e.load(I32, self.context, at::LOCAL_BYTES)),
            _ => None,
        }
    }

    /// Loads a scalar as the element of an i32 or i64 value.
    pub(super) fn load_scalar(&mut self, mem: MemAccess, place: V, offset: i32) -> V {
        match mem.bytes {
            8 => self.e.load_guest(I64, place, offset),
            4 => self.e.load_guest(I32, place, offset),
            n => self.e.load_narrow(n, mem.signed, place, offset, true),
        }
    }

    pub(super) fn store_scalar(&mut self, bytes: u8, v: V, place: V, offset: i32) {
        match bytes {
            1 | 2 => self.e.store_narrow(bytes, v, place, offset, true),
            _ => self.e.store_guest(v, place, offset),
        }
    }

    /// Checked memory: whether `bytes` from the guest address (i64) on may be accessed, i8.
    pub(super) fn page_ok(&mut self, address: V, mem: MemAccess, bytes: u64, store: bool) -> V {
        let table = self.e.load(I64, self.context, at::PAGE_TABLE);
        let page = self.e.shr(address, 12);
        let entry = self.e.iadd(table, page);
        let mut flags = self.e.load_table(entry);
        if bytes > u64::from(mem.align) {
            let last = self.e.iadd_imm(address, bytes - 1);
            let page = self.e.shr(last, 12);
            let entry = self.e.iadd(table, page);
            let other = self.e.load_table(entry);
            flags = self.e.band(flags, other);
        }
        let need = self.e.band_imm(flags, if store { 2 } else { 1 });
        self.e.icmp_imm(HostIntCC::NotEqual, need, 0)
    }

    /// One scalar access for all lanes; gives what it loaded.
    fn uniform_access(&mut self, x: &Access<'_>) -> Result<Option<V>, Error> {
        let (mem, data) = (x.mem, x.data);
        let Some(row) = (if x.global() { None } else { self.in_row(arg(data, 0)?, mem)? }) else {
            return self.uniform_exact(x);
        };
        let mut fast = row.inside;
        if x.store() {
            let bits = self.guard_bits(x.guard)?;
            let none = self.e.imm(self.bits_type(), 0);
            fast = self.e.select(fast, bits, none);
        }
        let ty = if mem.bytes == 8 { I64 } else { I32 };
        let value = match x.value {
            Some(v) => {
                let s = self.scalar(v)?;
                Some(self.e.cast(s, ty))
            }
            None => None,
        };
        if let (None, true) = (value, row.always || self.inside.contains(&row.inside)) {
            // The memory is there, so the load may become an operand of what uses it.
            return Ok(Some(match mem.bytes {
                4 | 8 => self.e.load(ty, row.place, row.offset),
                n => self.e.load_narrow(n, mem.signed, row.place, row.offset, false),
            }));
        }
        let (quick, slow, end) = (self.e.block(), self.e.cold_block(), self.e.block());
        self.e.brif(fast, (quick, &[]), (slow, &[]));
        self.e.switch_to(quick);
        self.site(data, TrapLane::First { guarded: false });
        let quick_value: Vec<V> = match value {
            Some(v) => {
                self.store_scalar(mem.bytes, v, row.place, row.offset);
                Vec::new()
            }
            None => vec![self.load_scalar(mem, row.place, row.offset)],
        };
        self.at_site(None);
        self.e.jump(end, &quick_value);
        self.e.switch_to(slow);
        self.aside = true;
        let slow_value: Vec<V> = self.uniform_exact(x)?.into_iter().collect();
        self.aside = false;
        self.e.jump(end, &slow_value);
        let loaded = slow_value.first().map(|_| self.e.param(end, ty));
        self.e.switch_to(end);
        Ok(loaded)
    }

    /// One scalar access for all lanes, every test included.
    fn uniform_exact(&mut self, x: &Access<'_>) -> Result<Option<V>, Error> {
        let (mem, data) = (x.mem, x.data);
        let ty = if mem.bytes == 8 { I64 } else { I32 };
        let global = x.global();
        let a = self.first_address(x);
        let active = x.guard.is_none_or(|g| self.is_active_mask(g));
        let index = if global || mem.far { a } else { self.e.band_imm(a, 0xffff) };
        let wide_index = self.e.uextend(I64, index);
        let base = self.base(mem.space);
        let place = self.e.iadd(base, wide_index);
        // Where nothing may be accessed: no lane takes part, or out of bounds.
        let mut allowed = None;
        if !active && (global || x.store()) {
            allowed = Some(self.guard_bits(x.guard)?);
        }
        if let Some(size) = self.space_bytes(mem.space) {
            let end = self.e.iadd_imm(wide_index, u64::from(mem.bytes));
            let size = self.e.uextend(I64, size);
            let inside = self.e.icmp(HostIntCC::UnsignedLessThanOrEqual, end, size);
            let zero = self.e.imm(self.bits_type(), 0);
            let one = match allowed {
                Some(bits) => bits,
                None => self.e.imm(self.bits_type(), 1),
            };
            allowed = Some(self.e.select(inside, one, zero));
        }
        let value = match x.value {
            Some(v) => {
                let s = self.scalar(v)?;
                Some(self.e.cast(s, ty))
            }
            None => None,
        };
        let end = self.e.block();
        let loaded = if x.store() { None } else { Some(self.e.param(end, ty)) };
        if let Some(allowed) = allowed {
            let go = self.e.block();
            let zero = self.e.imm(ty, 0);
            let skip: &[V] = if x.store() { &[] } else { &[zero] };
            self.e.brif(allowed, (go, &[]), (end, skip));
            self.e.switch_to(go);
        }
        if global && self.options.checked_memory {
            let ok = self.page_ok(wide_index, mem, mem.bytes.into(), x.store());
            let bad = self.e.bxor_imm(ok, 1);
            let zero = self.e.imm(self.bits_type(), 0);
            let aside = std::mem::replace(&mut self.aside, true);
            let bits = self.guard_bits(x.guard)?;
            self.aside = aside;
            let bad = self.e.select(bad, bits, zero);
            self.fault_page(data, mem, bad, wide_index);
        }
        if global && !active {
            let aside = std::mem::replace(&mut self.aside, true);
            let bits = self.guard_bits(x.guard)?;
            self.aside = aside;
            self.note_guard(bits);
        }
        self.site(data, TrapLane::First { guarded: !active });
        match value {
            Some(v) => {
                self.store_scalar(mem.bytes, v, place, 0);
                self.at_site(None);
                self.e.jump(end, &[]);
            }
            None => {
                let v = self.load_scalar(mem, place, 0);
                self.at_site(None);
                self.e.jump(end, &[v]);
            }
        }
        self.e.switch_to(end);
        Ok(loaded)
    }

    /// Lanes side by side: vectors, if all lanes take part and all is in bounds; else lane by lane.
    fn contiguous(&mut self, x: &Access<'_>) -> Result<Option<Parts>, Error> {
        let (mem, data) = (x.mem, x.data);
        let scalar = if mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 };
        let length = self.lanes() as u64 * u64::from(mem.bytes);
        let mut fast = None;
        if x.global() || x.store() {
            let bits = self.guard_bits(x.guard)?;
            let all = self.full_bits();
            fast = Some(self.e.icmp_imm(HostIntCC::Equal, bits, all));
        }
        let row = if x.global() { None } else { self.in_row(arg(data, 0)?, mem)? };
        let (place, offset, inside) = match row {
            Some(row) => (row.place, row.offset, Some(row.inside)),
            None => {
                let first = self.first_address(x);
                // Behind the last 32-bit address comes 0.
                let most = u64::from((length as u32).wrapping_neg());
                let mut ok = self.e.icmp_imm(HostIntCC::UnsignedLessThanOrEqual, first, most);
                let first = self.e.uextend(I64, first);
                if self.options.checked_memory {
                    let there = self.page_ok(first, mem, length, x.store());
                    ok = self.e.band(ok, there);
                }
                let base = self.base(mem.space);
                (self.e.iadd(base, first), 0, Some(ok))
            }
        };
        let fast = match (fast, inside) {
            (Some(a), Some(b)) => self.e.band(a, b),
            (Some(c), None) | (None, Some(c)) => c,
            (None, None) => return Err(malformed(data)),
        };
        let value = x.value.map(|v| self.parts(v)).transpose()?;
        let tested = !x.store() && inside.is_some_and(|inside| self.inside.contains(&inside));
        if tested {
            let vectors = 0..self.part_count(scalar) as i32;
            let ty = vector(scalar);
            return Ok(Some(vectors.map(|g| self.e.load(ty, place, offset + 16 * g)).collect()));
        }
        let (quick, slow, end) = (self.e.block(), self.e.cold_block(), self.e.block());
        self.e.brif(fast, (quick, &[]), (slow, &[]));

        self.e.switch_to(quick);
        if x.global() {
            self.e.store(place, self.context, at::VECTOR_BASE);
        }
        let count = self.part_count(scalar);
        let per = if wide(scalar) { 2 } else { 4 };
        let mut loaded = Vec::new();
        if mem.bytes == 1 {
            // All lanes in one vector.
            self.site(data, TrapLane::Vector { first: 0 });
            match &value {
                Some(v) => {
                    let low: Vec<V> = v.iter().map(|&v| self.e.band_imm(v, 0xff)).collect();
                    let bytes = self.bytes_of(&low);
                    self.e.store_guest(bytes, place, offset);
                }
                None => {
                    let bytes = self.e.load_guest(I8X16, place, offset);
                    loaded = self.words_of_bytes(bytes, mem.signed);
                }
            }
            self.at_site(None);
        }
        for g in (0..count).filter(|_| mem.bytes != 1) {
            self.site(data, TrapLane::Vector { first: (per * g) as u8 });
            let offset = offset + 16 * g as i32;
            match &value {
                Some(v) => self.e.store_guest(v[g], place, offset),
                None => loaded.push(self.e.load_guest(vector(scalar), place, offset)),
            }
            self.at_site(None);
        }
        self.e.jump(end, &loaded);

        self.e.switch_to(slow);
        self.aside = true;
        let lanes = self.by_lane(x)?;
        self.aside = false;
        self.finish(end, lanes, scalar)
    }
}
