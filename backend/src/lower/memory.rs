//! Loads and stores. What an address looks like over the lanes decides: one scalar access where it is uniform, vectors
//! where it grows by the size of the access, else an access a lane. Lanes that do not take part are sent to
//! [`crate::Context::scratch`], never to guest memory.

use warpjit_ir::types::Scalar;
use warpjit_ir::{Imm, InstData, MemAccess, Opcode, Space, Value};

use super::{Kept, Lower, Parts, arg, malformed, result, wide};
use crate::Error;
use crate::affine::Form;
use crate::clif::{F32, F32X4, F64, F64X2, HostBlock, HostIntCC, I32, I32X4, I64, I64X2, V, element, vector};
use crate::compile::TrapLane;
use crate::context::{at, encode_space};

/// The addresses of a chunk's lanes, offset included.
#[derive(Clone)]
enum Address {
    /// The same in all lanes, i32.
    Uniform(V),
    /// The first lane's, i32, and the step.
    Affine(V, i32),
    /// Vectors of i32.
    Lanes(Parts),
}

/// A load or store on its way.
#[derive(Clone)]
struct Access<'a> {
    data: &'a InstData,
    mem: MemAccess,
    /// Of a store.
    value: Option<Value>,
    guard: Option<Value>,
    address: Address,
}

impl Access<'_> {
    fn store(&self) -> bool {
        self.value.is_some()
    }
}

impl Lower<'_, '_> {
    pub(super) fn memory(&mut self, data: &InstData) -> Result<(), Error> {
        let Imm::Mem(mem) = data.imm else { return Err(malformed(data)) };
        if !matches!(mem.bytes, 1 | 2 | 4 | 8) || !mem.align.is_power_of_two() {
            return Err(malformed(data));
        }
        let store = data.op == Opcode::Store;
        let (value, guard) =
            if store { (Some(arg(data, 1)?), data.args.get(2)) } else { (None, data.args.get(1)) };
        let address = self.address(arg(data, 0)?, mem, data, guard.copied())?;
        let access = Access { data, mem, value, guard: guard.copied(), address };
        self.check_alignment(&access)?;
        let parts = match (&access.address, mem.space) {
            (Address::Uniform(a), Space::Local) if mem.bytes >= 4 && mem.align >= 4 => {
                self.local_row(&access, *a)?
            }
            (Address::Uniform(a), space) if space != Space::Local => {
                let one_value = value.is_none_or(|v| self.is_uniform(v));
                if one_value {
                    return self.uniform_access(&access, *a);
                }
                self.by_lane(&access)?
            }
            (Address::Affine(a, stride), space)
                if *stride == i32::from(mem.bytes) && mem.bytes >= 4 && space != Space::Local =>
            {
                self.contiguous(&access, *a)?
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

    /// The addresses with the offset added, and as i32: 64-bit ones above 4 GiB fault.
    fn address(
        &mut self,
        a: Value,
        mem: MemAccess,
        data: &InstData,
        guard: Option<Value>,
    ) -> Result<Address, Error> {
        let offset = mem.offset as u32;
        if wide(self.scalar_of(a)) {
            return self.wide_address(a, mem, data, guard);
        }
        let low16 = !matches!(mem.space, Space::Global(_));
        Ok(match self.forms.of(a) {
            Form::Uniform => {
                let s = match self.kept(a)? {
                    Kept::Const(bits) => self.e.imm(I32, u64::from((bits as u32).wrapping_add(offset))),
                    _ => {
                        let s = self.scalar(a)?;
                        self.e.iadd_imm(s, u64::from(offset))
                    }
                };
                Address::Uniform(s)
            }
            Form::Affine { stride, .. } => {
                let s = self.scalar(a)?;
                Address::Affine(self.e.iadd_imm(s, u64::from(offset)), stride)
            }
            Form::Affine16 { stride } if low16 => {
                let s = self.scalar(a)?;
                Address::Affine(self.e.iadd_imm(s, u64::from(offset)), stride)
            }
            _ => {
                let parts = self.parts(a)?;
                Address::Lanes(parts.iter().map(|&p| self.e.iadd_imm(p, u64::from(offset))).collect())
            }
        })
    }

    fn wide_address(
        &mut self,
        a: Value,
        mem: MemAccess,
        data: &InstData,
        guard: Option<Value>,
    ) -> Result<Address, Error> {
        let offset = i64::from(mem.offset) as u64;
        if self.is_uniform(a) {
            let s = self.scalar(a)?;
            let s = self.e.iadd_imm(s, offset);
            let low = self.e.ireduce(I32, s);
            let high = self.e.shr(s, 32);
            let bad = self.e.icmp_imm(HostIntCC::NotEqual, high, 0);
            let zero = self.e.imm(I32, 0);
            let bits = self.guard_bits(guard)?;
            let bad = self.e.select(bad, bits, zero);
            self.fault_lanes(data, mem, bad, |l, _| l.e.iadd_imm(s, 0));
            return Ok(Address::Uniform(low));
        }
        let parts = self.parts(a)?;
        let sums: Vec<V> = parts.iter().map(|&p| self.e.iadd_imm(p, offset)).collect();
        let low: Parts =
            sums.chunks(2).map(|p| self.e.shuffle_words(I32X4, p[0], p[1], [0, 2, 4, 6])).collect();
        let far: Vec<V> = sums
            .chunks(2)
            .map(|p| {
                let high = self.e.shuffle_words(I32X4, p[0], p[1], [1, 3, 5, 7]);
                self.e.icmp_imm(HostIntCC::NotEqual, high, 0)
            })
            .collect();
        let bad = self.bits_of(&far);
        let bits = self.guard_bits(guard)?;
        let bad = self.e.band(bad, bits);
        self.fault_lanes(data, mem, bad, |l, lane| l.dynamic_lane(&sums, lane));
        Ok(Address::Lanes(low))
    }

    /// Element `lane` (i32) of vectors, through memory: for faults only.
    fn dynamic_lane(&mut self, parts: &[V], lane: V) -> V {
        let slot = match self.lane_buffer {
            Some(slot) => slot,
            None => self.stack_slot(128),
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

    /// Faults if any lane of `bad` (i32, a bit a lane) is set; `address` gives the guest address of a lane (i32), as i64.
    fn fault_lanes(
        &mut self,
        data: &InstData,
        mem: MemAccess,
        bad: V,
        address: impl FnOnce(&mut Self, V) -> V,
    ) {
        let (cold, go_on) = (self.e.cold_block(), self.e.block());
        self.e.brif(bad, (cold, &[]), (go_on, &[]));
        self.e.switch_to(cold);
        let lane = self.e.ctz(bad);
        let address = address(self, lane);
        self.jump_to_fault(data, mem, lane, address);
        self.e.switch_to(go_on);
    }

    fn jump_to_fault(&mut self, data: &InstData, mem: MemAccess, lane: V, address: V) {
        let target = self.fault_target();
        let e = &mut self.e;
        let store = u64::from(data.op == Opcode::Store);
        let args = [
            e.imm(I32, u64::from(data.pc)),
            e.imm(I32, u64::from(encode_space(mem.space))),
            e.imm(I32, store),
            e.imm(I32, u64::from(mem.bytes)),
            lane,
            address,
        ];
        e.jump(target, &args);
    }

    /// Guest address of a lane (i32) as i64.
    fn lane_address(&mut self, address: &Address, lane: V, space: Space) -> V {
        let a = match address {
            Address::Uniform(a) => self.e.uextend(I64, *a),
            Address::Affine(a, stride) => {
                let stride = self.e.imm(I32, *stride as u32 as u64);
                let step = self.e.imul(lane, stride);
                let sum = self.e.iadd(*a, step);
                self.e.uextend(I64, sum)
            }
            Address::Lanes(parts) => self.dynamic_lane(parts, lane),
        };
        if matches!(space, Space::Global(_)) { a } else { self.e.band_imm(a, 0xffff) }
    }

    /// Low bits of a value that are zero in every lane.
    fn zero_bits(&self, v: Value, depth: u32) -> u32 {
        let Some(data) = self.f.def_inst(v) else { return 0 };
        if depth == 0 {
            return 0;
        }
        let arg = |k: usize| self.zero_bits(data.args[k], depth - 1);
        match (data.op, data.imm) {
            (Opcode::Const, Imm::Bits(bits)) => bits.trailing_zeros(),
            (Opcode::Iadd | Opcode::Isub | Opcode::Ior, _) => arg(0).min(arg(1)),
            (Opcode::Iand, _) => arg(0).max(arg(1)),
            (Opcode::Imul, _) => arg(0) + arg(1),
            (Opcode::Ishl, _) => match self.f.as_const(data.args[1]) {
                Some(c) => arg(0) + (c as u32 & (self.scalar_of(v).bits() - 1)),
                None => arg(0),
            },
            (Opcode::Splat, _) => arg(0),
            _ => 0,
        }
    }

    fn check_alignment(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let (mem, data) = (x.mem, x.data);
        if mem.align <= 1 {
            return Ok(());
        }
        let a = arg(data, 0)?;
        let place = (mem.offset as u32).wrapping_sub(u32::from(mem.align_offset));
        let low = u64::from(mem.align - 1);
        if self.zero_bits(a, 8) >= mem.align.trailing_zeros() && u64::from(place) & low == 0 {
            return Ok(());
        }
        let key = (a, x.guard, place & low as u32, mem.align);
        if self.aligned.contains(&key) {
            return Ok(());
        }
        let back = 0u64.wrapping_sub(u64::from(mem.align_offset)) & 0xffff_ffff;
        let space = mem.space;
        match &x.address {
            // A stride that keeps the alignment: the first lane's address tells of all.
            Address::Uniform(s) | Address::Affine(s, _) if !matches!(&x.address, Address::Affine(_, stride) if *stride as u64 & low != 0) =>
            {
                let s = self.e.iadd_imm(*s, back);
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
                let lane = self.e.ctz(bits);
                let address = self.lane_address(&x.address, lane, space);
                self.jump_to_fault(data, mem, lane, address);
                self.e.switch_to(go_on);
            }
            _ => {
                let parts = self.address_parts(&x.address);
                let zero = self.e.imm(I32X4, 0);
                let guard = self.guard_parts(x.guard)?;
                let mut wrong = Vec::new();
                for (&p, &m) in parts.iter().zip(guard.iter()) {
                    let p = self.e.iadd_imm(p, back);
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
                let lane = self.e.ctz(lanes);
                let address = self.lane_address(&x.address, lane, space);
                self.jump_to_fault(data, mem, lane, address);
                self.e.switch_to(go_on);
            }
        }
        if !self.aside {
            self.aligned.push(key);
        }
        Ok(())
    }

    /// The addresses as vectors.
    fn address_parts(&mut self, address: &Address) -> Parts {
        let (s, stride) = match address {
            Address::Lanes(parts) => return parts.clone(),
            Address::Uniform(s) => (*s, 0),
            Address::Affine(s, stride) => (*s, *stride),
        };
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
    fn base(&mut self, space: Space) -> V {
        if let Some(&(_, v)) = self.bases.iter().find(|(s, _)| *s == space) {
            return v;
        }
        let offset = match space {
            Space::Global(_) => at::GLOBAL_BASE,
            Space::Shared => at::SHARED_BASE,
            Space::Local => at::LOCAL_BASE,
            Space::Const(n) => at::CONST_BANKS + 8 * i32::from(n & 15),
        };
        let v = self.e.load(I64, self.context, offset);
        if !self.aside {
            self.bases.push((space, v));
        }
        v
    }

    /// Bytes of a bounded space, i32; none for those that are always there.
    fn space_bytes(&mut self, space: Space) -> Option<V> {
        match space {
            Space::Shared => Some(self.e.load(I32, self.context, at::SHARED_BYTES)),
            Space::Local => Some(self.e.load(I32, self.context, at::LOCAL_BYTES)),
            _ => None,
        }
    }

    /// Loads a scalar as the element of an i32 or i64 value.
    fn load_scalar(&mut self, mem: MemAccess, place: V, offset: i32) -> V {
        match mem.bytes {
            8 => self.e.load_guest(I64, place, offset),
            4 => self.e.load_guest(I32, place, offset),
            n => self.e.load_narrow(n, mem.signed, place, offset),
        }
    }

    fn store_scalar(&mut self, bytes: u8, v: V, place: V, offset: i32) {
        match bytes {
            1 | 2 => self.e.store_narrow(bytes, v, place, offset),
            _ => self.e.store_guest(v, place, offset),
        }
    }

    /// One scalar access for all lanes.
    fn uniform_access(&mut self, x: &Access<'_>, a: V) -> Result<(), Error> {
        let (mem, data) = (x.mem, x.data);
        let ty = if mem.bytes == 8 { I64 } else { I32 };
        let global = matches!(mem.space, Space::Global(_));
        let active = x.guard.is_none_or(|g| self.is_active_mask(g));
        let index = if global { a } else { self.e.band_imm(a, 0xffff) };
        let wide_index = self.e.uextend(I64, index);
        let base = self.base(mem.space);
        let place = self.e.iadd(base, wide_index);
        // Where nothing may be accessed: no lane takes part, or out of bounds.
        let mut allowed = None;
        if !active && (global || x.store()) {
            allowed = Some(self.guard_bits(x.guard)?);
        }
        if let Some(size) = self.space_bytes(mem.space) {
            let end = self.e.iadd_imm(index, u64::from(mem.bytes));
            let inside = self.e.icmp(HostIntCC::UnsignedLessThanOrEqual, end, size);
            let zero = self.e.imm(I32, 0);
            let one = match allowed {
                Some(bits) => bits,
                None => self.e.imm(I32, 1),
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
            let zero = self.e.imm(I32, 0);
            self.aside = true;
            let bits = self.guard_bits(x.guard)?;
            self.aside = false;
            let bad = self.e.select(bad, bits, zero);
            self.fault_lanes(data, mem, bad, |l, _| l.e.iadd_imm(wide_index, 0));
        }
        if global && !active {
            self.aside = true;
            let bits = self.guard_bits(x.guard)?;
            self.aside = false;
            self.e.store(bits, self.context, at::GUARD_BITS);
        }
        self.site(data, TrapLane::Lowest { guarded: !active });
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
        if let Some(v) = loaded {
            let r = result(data)?;
            let v = self.e.cast(v, element(self.scalar_of(r)));
            self.define_scalar(r, v);
        }
        Ok(())
    }

    /// Checked memory: whether `bytes` from the guest address (i64) on may be accessed, i8.
    fn page_ok(&mut self, address: V, mem: MemAccess, bytes: u64, store: bool) -> V {
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

    /// Lanes side by side: vectors, if all lanes take part and all is in bounds; else lane by lane.
    fn contiguous(&mut self, x: &Access<'_>, a: V) -> Result<Option<Parts>, Error> {
        let (mem, data) = (x.mem, x.data);
        let global = matches!(mem.space, Space::Global(_));
        let scalar = if mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 };
        let length = self.lanes() as u64 * u64::from(mem.bytes);
        let index = if global { a } else { self.e.band_imm(a, 0xffff) };
        let wide_index = self.e.uextend(I64, index);
        let mut fast = None;
        if global || x.store() {
            let bits = self.guard_bits(x.guard)?;
            let all = self.full_bits();
            fast = Some(self.e.icmp_imm(HostIntCC::Equal, bits, all));
        }
        let inside = match (mem.space, self.space_bytes(mem.space)) {
            (Space::Global(_), _) if self.options.checked_memory => {
                Some(self.page_ok(wide_index, mem, length, x.store()))
            }
            (Space::Global(_), _) => None,
            (_, Some(size)) => {
                let end = self.e.iadd_imm(index, length);
                Some(self.e.icmp(HostIntCC::UnsignedLessThanOrEqual, end, size))
            }
            _ => Some(self.e.icmp_imm(HostIntCC::UnsignedLessThanOrEqual, index, 0x1_0000 - length)),
        };
        let fast = match (fast, inside) {
            (Some(a), Some(b)) => self.e.band(a, b),
            (Some(c), None) | (None, Some(c)) => c,
            (None, None) => return Err(malformed(data)),
        };
        let base = self.base(mem.space);
        let place = self.e.iadd(base, wide_index);
        let value = x.value.map(|v| self.parts(v)).transpose()?;
        let (quick, slow, end) = (self.e.block(), self.e.cold_block(), self.e.block());
        self.e.brif(fast, (quick, &[]), (slow, &[]));

        self.e.switch_to(quick);
        if global {
            self.e.store(place, self.context, at::VECTOR_BASE);
        }
        let count = self.part_count(scalar);
        let per = if wide(scalar) { 2 } else { 4 };
        let mut loaded = Vec::new();
        for g in 0..count {
            self.site(data, TrapLane::Vector { first: (per * g) as u8 });
            let offset = 16 * g as i32;
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

    /// Ends the second of two ways to the parts of a load (or of nothing).
    fn finish(
        &mut self,
        end: HostBlock,
        parts: Option<Parts>,
        scalar: Scalar,
    ) -> Result<Option<Parts>, Error> {
        match parts {
            None => {
                self.e.jump(end, &[]);
                self.e.switch_to(end);
                Ok(None)
            }
            Some(parts) => {
                let args: Vec<V> = parts.iter().map(|&p| self.e.cast(p, vector(scalar))).collect();
                self.e.jump(end, &args);
                let params = args.iter().map(|_| self.e.param(end, vector(scalar))).collect();
                self.e.switch_to(end);
                Ok(Some(params))
            }
        }
    }

    /// Local memory at one address: the lanes' words lie side by side.
    fn local_row(&mut self, x: &Access<'_>, a: V) -> Result<Option<Parts>, Error> {
        let mem = x.mem;
        let scalar = if mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 };
        let index = self.e.band_imm(a, 0xffff);
        let end_index = self.e.iadd_imm(index, u64::from(mem.bytes));
        let size = self.e.load(I32, self.context, at::LOCAL_BYTES);
        let mut fast = self.e.icmp(HostIntCC::UnsignedLessThanOrEqual, end_index, size);
        if x.store() {
            let bits = self.guard_bits(x.guard)?;
            let all = self.full_bits();
            let all = self.e.icmp_imm(HostIntCC::Equal, bits, all);
            fast = self.e.band(fast, all);
        }
        let base = self.base(Space::Local);
        let value = x.value.map(|v| self.parts(v)).transpose()?;
        let (quick, slow, end) = (self.e.block(), self.e.cold_block(), self.e.block());
        self.e.brif(fast, (quick, &[]), (slow, &[]));

        self.e.switch_to(quick);
        let row = self.e.uextend(I64, index);
        let row = self.e.shl(row, self.f.lanes.trailing_zeros());
        let lane = self.e.shl(self.lane, 2);
        let row = self.e.iadd(row, lane);
        let place = self.e.iadd(base, row);
        let next_word = 4 * self.f.lanes as i32;
        let mut loaded = Vec::new();
        for g in 0..self.groups {
            let offset = 16 * g as i32;
            match (&value, mem.bytes) {
                (Some(v), 4) => self.e.store(v[g], place, offset),
                (Some(v), _) => {
                    let low = self.e.shuffle_words(I32X4, v[2 * g], v[2 * g + 1], [0, 2, 4, 6]);
                    let high = self.e.shuffle_words(I32X4, v[2 * g], v[2 * g + 1], [1, 3, 5, 7]);
                    self.e.store(low, place, offset);
                    self.e.store(high, place, offset + next_word);
                }
                (None, 4) => loaded.push(self.e.load(I32X4, place, offset)),
                (None, _) => {
                    let low = self.e.load(I32X4, place, offset);
                    let high = self.e.load(I32X4, place, offset + next_word);
                    loaded.push(self.e.shuffle_words(I64X2, low, high, [0, 4, 1, 5]));
                    loaded.push(self.e.shuffle_words(I64X2, low, high, [2, 6, 3, 7]));
                }
            }
        }
        self.e.jump(end, &loaded);

        self.e.switch_to(slow);
        self.aside = true;
        let lanes = self.by_lane(x)?;
        self.aside = false;
        self.finish(end, lanes, scalar)
    }

    /// An access for each lane.
    fn by_lane(&mut self, x: &Access<'_>) -> Result<Option<Parts>, Error> {
        let mem = x.mem;
        if matches!(mem.space, Space::Global(_)) {
            return self.global_by_lane(x);
        }
        let addresses = self.address_parts(&x.address);
        let indices: Parts = addresses.iter().map(|&p| self.e.band_imm(p, 0xffff)).collect();
        // Lanes in bounds; the others read zero (from index 0, which is always there) and write nothing.
        let inside = self.space_bytes(mem.space).map(|size| {
            let last = self.e.iadd_imm(size, 0u64.wrapping_sub(u64::from(mem.bytes)) & 0xffff_ffff);
            let last = self.e.splat(I32X4, last);
            indices.iter().map(|&i| self.e.icmp(HostIntCC::SignedLessThanOrEqual, i, last)).collect::<Parts>()
        });
        let base = self.base(mem.space);
        // Pieces that lie together in memory: place of each and bytes.
        let local = mem.space == Space::Local;
        let piece_bytes = match (local, mem.bytes) {
            (true, 2..) if mem.align < mem.bytes.min(4) => 1,
            (true, 8) => 4,
            (_, n) => n,
        };
        let bits = match (x.store(), &inside) {
            (false, _) => None,
            (true, None) => Some(self.guard_bits(x.guard)?),
            (true, Some(inside)) => {
                let inside = self.bits_of(inside);
                let bits = self.guard_bits(x.guard)?;
                Some(self.e.band(inside, bits))
            }
        };
        let value = x.value.map(|v| self.parts(v)).transpose()?;
        let mut loaded: Vec<Parts> = Vec::new();
        for piece in 0..mem.bytes / piece_bytes {
            let offset = u64::from(piece * piece_bytes);
            let places: Parts = if local { self.local_places(&indices, offset) } else { indices.clone() };
            let part =
                MemAccess { bytes: piece_bytes, signed: mem.signed && piece_bytes == mem.bytes, ..mem };
            match (&value, bits) {
                (Some(v), Some(bits)) => {
                    let v = self.piece_of(v, mem.bytes, piece, piece_bytes);
                    let offsets = self.lane_offsets(&places);
                    self.scatter(x.data, part, base, &offsets, &v, bits);
                }
                _ => {
                    let places: Parts = match &inside {
                        Some(inside) => {
                            places.iter().zip(inside.iter()).map(|(&p, &m)| self.e.band(p, m)).collect()
                        }
                        None => places,
                    };
                    let offsets = self.lane_offsets(&places);
                    loaded.push(self.gather(x.data, part, base, &offsets, None));
                }
            }
        }
        if x.store() {
            return Ok(None);
        }
        let mut parts = self.join_pieces(&loaded, mem, piece_bytes);
        if let Some(inside) = inside {
            let inside = if mem.bytes == 8 { self.widen_mask(&inside) } else { inside };
            parts = parts
                .iter()
                .zip(inside.iter())
                .map(|(&p, &m)| {
                    let ty = self.e.ty(m);
                    let p = self.e.cast(p, ty);
                    self.e.band(p, m)
                })
                .collect();
        }
        Ok(Some(parts))
    }

    /// Places in the warp's local memory of byte `offset` of an access at `indices`.
    fn local_places(&mut self, indices: &[V], offset: u64) -> Parts {
        let lane = self.e.ireduce(I32, self.lane);
        let lane = self.e.shl(lane, 2);
        let lane = self.e.splat(I32X4, lane);
        indices
            .iter()
            .enumerate()
            .map(|(g, &i)| {
                let i = self.e.iadd_imm(i, offset);
                let word = self.e.band_imm(i, 0xffff_fffc);
                let row = self.e.shl(word, self.f.lanes.trailing_zeros());
                let byte = self.e.band_imm(i, 3);
                let ramp = self.e.lanes(I32X4, &std::array::from_fn::<u64, 4, _>(|l| 4 * (4 * g + l) as u64));
                let column = self.e.iadd(lane, ramp);
                let column = self.e.iadd(column, byte);
                self.e.iadd(row, column)
            })
            .collect()
    }

    /// What a piece of a store stores, as words (or the whole value).
    fn piece_of(&mut self, value: &[V], bytes: u8, piece: u8, piece_bytes: u8) -> Parts {
        if bytes == piece_bytes {
            return value.iter().copied().collect();
        }
        let mut words: Vec<V> = value.to_vec();
        let mut byte = u32::from(piece * piece_bytes);
        if bytes == 8 {
            let pick = if byte < 4 { [0, 2, 4, 6] } else { [1, 3, 5, 7] };
            words = value.chunks(2).map(|p| self.e.shuffle_words(I32X4, p[0], p[1], pick)).collect();
            byte %= 4;
        }
        words.iter().map(|&w| if byte == 0 { w } else { self.e.shr(w, 8 * byte) }).collect()
    }

    /// The value of a load from its pieces.
    fn join_pieces(&mut self, pieces: &[Parts], mem: MemAccess, piece_bytes: u8) -> Parts {
        if pieces.len() == 1 {
            return pieces[0].clone();
        }
        let per_word = 4 / piece_bytes.min(4);
        let mut words: Vec<Parts> = Vec::new();
        for word in pieces.chunks(usize::from(per_word)) {
            let joined = (0..self.groups)
                .map(|g| {
                    let mut all = self.e.cast(word[0][g], I32X4);
                    for (k, piece) in word.iter().enumerate().skip(1) {
                        let piece = self.e.cast(piece[g], I32X4);
                        let moved = self.e.shl(piece, 8 * k as u32 * u32::from(piece_bytes));
                        all = self.e.bor(all, moved);
                    }
                    all
                })
                .collect();
            words.push(joined);
        }
        match words.len() {
            1 if mem.bytes == 2 && mem.signed => words[0]
                .iter()
                .map(|&w| {
                    let up = self.e.shl(w, 16);
                    self.e.sar(up, 16)
                })
                .collect(),
            1 => words[0].clone(),
            _ => (0..self.groups)
                .flat_map(|g| {
                    let (low, high) = (words[0][g], words[1][g]);
                    [[0, 4, 1, 5], [2, 6, 3, 7]].map(|pick| self.e.shuffle_words(I64X2, low, high, pick))
                })
                .collect(),
        }
    }

    /// Each lane's word, zero-extended: two lanes a transfer.
    fn lane_offsets(&mut self, parts: &[V]) -> Vec<V> {
        let mut offsets = Vec::new();
        for &p in parts {
            let pairs = self.e.cast(p, I64X2);
            for half in 0..2 {
                let pair = self.e.extract(pairs, half);
                let low = self.e.ireduce(I32, pair);
                offsets.push(self.e.uextend(I64, low));
                offsets.push(self.e.shr(pair, 32));
            }
        }
        offsets
    }

    fn global_by_lane(&mut self, x: &Access<'_>) -> Result<Option<Parts>, Error> {
        let (mem, data) = (x.mem, x.data);
        let offsets = match &x.address {
            Address::Lanes(parts) => self.lane_offsets(parts),
            Address::Uniform(a) => {
                let a = self.e.uextend(I64, *a);
                vec![a; self.lanes()]
            }
            Address::Affine(a, stride) => (0..self.lanes())
                .map(|l| {
                    let step = (*stride as u32).wrapping_mul(l as u32);
                    let sum = self.e.iadd_imm(*a, u64::from(step));
                    self.e.uextend(I64, sum)
                })
                .collect(),
        };
        let bits = self.guard_bits(x.guard)?;
        let base = self.base(mem.space);
        if self.options.checked_memory {
            for (lane, &offset) in offsets.iter().enumerate() {
                let ok = self.page_ok(offset, mem, mem.bytes.into(), x.store());
                let own = self.e.band_imm(bits, 1 << lane);
                let zero = self.e.imm(I32, 0);
                let bad = self.e.select(ok, zero, own);
                self.fault_lanes(data, mem, bad, |l, _| l.e.iadd_imm(offset, 0));
            }
        }
        match x.value {
            Some(v) => {
                let value = self.parts(v)?;
                self.scatter(data, mem, base, &offsets, &value, bits);
                Ok(None)
            }
            None => Ok(Some(self.gather(data, mem, base, &offsets, Some(bits)))),
        }
    }

    /// Where a lane accesses: its place, or the scratch word if its bit is not set.
    fn guarded_place(&mut self, base: V, offset: V, lane: usize, bits: V, scratch: V) -> V {
        let place = self.e.iadd(base, offset);
        let own = self.e.band_imm(bits, 1 << lane);
        self.e.select(own, place, scratch)
    }

    fn gather(&mut self, data: &InstData, mem: MemAccess, base: V, offsets: &[V], bits: Option<V>) -> Parts {
        // Loads typed as floats need no detour through a general register.
        let (ty, vector_ty, per) = match mem.bytes {
            8 => (F64, F64X2, 2),
            4 => (F32, F32X4, 4),
            _ => (I32, I32X4, 4),
        };
        let scratch = bits.map(|_| self.e.iadd_imm(self.context, at::SCRATCH as u64));
        let mut parts = Vec::new();
        for (lane, &offset) in offsets.iter().enumerate() {
            let place = match (bits, scratch) {
                (Some(bits), Some(scratch)) => self.guarded_place(base, offset, lane, bits, scratch),
                _ => self.e.iadd(base, offset),
            };
            // The load may become an operand of the instruction that inserts its result: both are the site.
            self.site(data, TrapLane::Lane(lane as u8));
            let v = match mem.bytes {
                4 | 8 => self.e.load_guest(ty, place, 0),
                n => self.e.load_narrow(n, mem.signed, place, 0),
            };
            if lane % per == 0 {
                parts.push(self.e.scalar_to_vector(vector_ty, v));
            } else if let Some(part) = parts.last_mut() {
                *part = self.e.insert(*part, v, lane % per);
            }
            self.at_site(None);
        }
        parts.into()
    }

    fn scatter(&mut self, data: &InstData, mem: MemAccess, base: V, offsets: &[V], value: &[V], bits: V) {
        let scratch = self.e.iadd_imm(self.context, at::SCRATCH as u64);
        let per = if mem.bytes == 8 { 2 } else { 4 };
        let int = if mem.bytes == 8 { I64X2 } else { I32X4 };
        for (lane, &offset) in offsets.iter().enumerate() {
            let place = self.guarded_place(base, offset, lane, bits, scratch);
            let part = self.e.cast(value[lane / per], int);
            let v = self.e.extract(part, lane % per);
            self.site(data, TrapLane::Lane(lane as u8));
            self.store_scalar(mem.bytes, v, place, 0);
            self.at_site(None);
        }
    }
}
