//! Loads and stores at 32-bit addresses. What an address looks like over the lanes decides: one scalar access where it is
//! uniform, vectors where it grows by the size of the access, else gathers and scatters. Lanes that do not take part are masked
//! off by the host.
//!
//! Shared, local and const memory have bounds: where a test fails, [`crate::helpers::access_wide`] does the access lane by lane.

use iced_x86::Code;
use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::{Imm, InstData, MemAccess, Opcode, Space, Value};

use super::asm::{A, Mem, R, Src, With};
use super::code::{Flags, Size};
use super::int::{AND, TEST};
use super::lower::{Kept, Lower, spread, wide};
use super::rows::Bounds;
use super::scalar::{AND_IMM, SHL};
use crate::Error;
use crate::affine::Form;
use crate::compile::TrapLane;
use crate::context::{CONST_BANKS, at, encode_space};
use crate::lower::{arg, malformed, result, zero_bits};

/// The addresses of a chunk's lanes, without the access's offset.
#[derive(Clone)]
pub(super) enum Address {
    /// The same in all lanes, or in each sixteen.
    Uniform(Vec<R>),
    /// The first lane's of each sixteen, and the step.
    Affine(Vec<R>, i32),
    /// Vectors of i32.
    Lanes(Vec<R>),
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
}

impl Access<'_> {
    pub fn offset(&self) -> u32 {
        self.mem.offset as u32
    }
}

/// Stretches of shared memory that are tested at once, in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The address, unless it is a constant.
    address: Option<Value>,
    /// The sixteen lanes, where the address has a scalar for each.
    group: usize,
    far: bool,
    /// Host address of the address's place.
    place: R,
    /// Whether all is inside (0 or 1).
    pub inside: R,
    /// How far was tested, from the address on.
    reach: u64,
}

impl Lower<'_> {
    pub fn memory(&mut self, data: &InstData) -> Result<(), Error> {
        let Imm::Mem(mem) = data.imm else { return Err(malformed(data)) };
        if !matches!(mem.bytes, 1 | 2 | 4 | 8) || !mem.align.is_power_of_two() {
            return Err(malformed(data));
        }
        let store = data.op == Opcode::Store;
        let (value, guard) =
            if store { (Some(arg(data, 1)?), data.args.get(2)) } else { (None, data.args.get(1)) };
        let a = arg(data, 0)?;
        if wide(self.scalar_of(a)) {
            return self.wide_memory(data, mem, value, guard.copied());
        }
        let low16 = !matches!(mem.space, Space::Global(_)) && !mem.far;
        let scalars = |l: &mut Self| {
            let count = l.scalars(a);
            l.each_group(count, |l| l.general(a))
        };
        let address = match self.forms.of(a) {
            Form::Uniform => Address::Uniform(scalars(self)?),
            Form::Affine { stride, .. } => Address::Affine(scalars(self)?, stride),
            Form::Affine16 { stride } if low16 => Address::Affine(scalars(self)?, stride),
            _ => Address::Lanes(self.regs(a)?.to_vec()),
        };
        let x = Access { data, mem, value, guard: guard.copied(), address };
        self.check_alignment(&x)?;
        let global = matches!(mem.space, Space::Global(_));
        let uniform_value = value.is_none_or(|v| self.forms.of(v) == Form::Uniform);
        match &x.address {
            Address::Uniform(s) if mem.space != Space::Local && uniform_value => match global {
                true => {
                    let places = self.global_places(s, mem);
                    self.uniform_global(&x, &places)
                }
                false => self.uniform_bounded(&x),
            },
            Address::Uniform(_) if mem.space == Space::Local && mem.bytes >= 4 && mem.align >= 4 => {
                self.local_row(&x)
            }
            Address::Affine(s, stride) if mem.space != Space::Local && *stride == i32::from(mem.bytes) => {
                match global {
                    true => {
                        let base = self.base(mem.space);
                        let places = self.global_places(s, mem);
                        let places: Vec<R> = places.iter().map(|&p| self.a.add(true, base, p)).collect();
                        let loaded = self.run(&x, &places)?;
                        self.give(&x, loaded)
                    }
                    false => self.contiguous_bounded(&x),
                }
            }
            _ if global => self.global_lanes(&x),
            _ => self.bounded_lanes(&x),
        }
    }

    /// 32-bit addresses with the offset, zero-extended.
    fn global_places(&mut self, scalars: &[R], mem: MemAccess) -> Vec<R> {
        scalars
            .iter()
            .map(|&s| {
                let first = self.a.add_imm(false, s, i64::from(mem.offset));
                self.a.low32(first)
            })
            .collect()
    }

    /// Defines a load's result by vectors.
    pub fn give(&mut self, x: &Access<'_>, parts: Vec<R>) -> Result<(), Error> {
        if x.value.is_none() {
            self.define_vectors(result(x.data)?, parts);
        }
        Ok(())
    }

    /// Host address of a space's byte 0.
    pub fn base(&mut self, space: Space) -> R {
        if let Some(&(_, v)) = self.bases.iter().find(|(s, _)| *s == space) {
            return v;
        }
        let offset = match space {
            Space::Global(_) => at::GLOBAL_BASE,
            Space::Shared => at::SHARED_BASE,
            Space::Local => at::LOCAL_BASE,
            Space::Const(n) => at::CONST_BANKS + 8 * (i32::from(n) % CONST_BANKS as i32),
        };
        let v = self.a.load64g(Mem::at(self.context, offset));
        if !self.aside {
            self.bases.push((space, v));
        }
        v
    }

    /// Bytes of a bounded space, zero-extended.
    fn space_bytes(&mut self, space: Space) -> Option<R> {
        let offset = match space {
            Space::Shared => at::SHARED_BYTES,
            Space::Local => at::LOCAL_BYTES,
            _ => return None,
        };
        Some(self.a.load32(Mem::at(self.context, offset)))
    }

    /// The first offset at which an access of so many bytes is not inside any more; none where all is.
    fn limit(&mut self, space: Space, bytes: u8) -> Option<R> {
        if let Some(&(.., r)) = self.limits.iter().find(|l| (l.0, l.1) == (space, bytes)) {
            return Some(r);
        }
        let size = self.space_bytes(space)?;
        let zero = self.a.imm(false, 0);
        let less =
            self.a.g2i(false, (Code::Sub_rm32_imm32, Code::Sub_rm64_imm32), size, i32::from(bytes) - 1);
        // Flags of the difference: below where the space is smaller than the access.
        let limit = self.a.pick_if(Code::Cmovb_r64_rm64, zero, less);
        if !self.aside {
            self.limits.push((space, bytes, limit));
        }
        Some(limit)
    }

    // Faults.

    /// Stores the addresses of lanes where a trap or a fault finds them.
    pub fn note_addresses(&mut self, parts: &[R]) {
        for (g, &p) in parts.iter().enumerate() {
            self.a.store64(Mem::at(self.context, at::LANE_ADDRESSES + 64 * g as i32), p);
        }
    }

    /// Stores the lanes of a guard where a trap finds them; `false` where it is that of the chunk.
    pub fn note_guard(&mut self, guard: Option<Value>) -> Result<bool, Error> {
        let active = guard.is_none_or(|g| self.is_active_mask(g) || self.f.as_const(g) == Some(1));
        if !active {
            let bits = self.guard_bits(guard)?;
            self.a.store64g(Mem::at(self.context, at::GUARD_LANES), bits);
        }
        Ok(!active)
    }

    /// Jumps to where a fault of a lane (of the chunk) at an address is recorded.
    pub fn jump_to_fault(&mut self, data: &InstData, mem: MemAccess, lane: R, address: R) {
        let target = self.fault_target();
        let store = data.op != Opcode::Load;
        let pc = self.a.imm(false, u64::from(data.pc));
        let space = self.a.imm(false, u64::from(encode_space(mem.space)));
        let store = self.a.imm(false, u64::from(store));
        let bytes = self.a.imm(false, u64::from(mem.bytes));
        self.a.jump(target, &[pc, space, store, bytes, lane, address]);
    }

    /// Faults if any lane of `bad` holds; the addresses are vectors of i32 or of i64.
    pub fn fault_lanes(&mut self, data: &InstData, mem: MemAccess, bad: &[R], parts: &[R], is_wide: bool) {
        self.test_any(bad);
        let (cold, go_on) = (self.a.cold_block(), self.a.block());
        self.a.branch(Flags::NotEqual, (cold, &[]), (go_on, &[]));
        self.a.switch_to(cold);
        let bits = self.bits_of_masks(bad);
        let lane = self.a.g1(Code::Tzcnt_r64_rm64, bits, Size::Q, Size::Q);
        self.note_addresses(parts);
        let scale = if is_wide { 8 } else { 4 };
        let place = Mem::indexed(self.context, lane, scale, at::LANE_ADDRESSES);
        let mut address = if is_wide { self.a.load64g(place) } else { self.a.load32(place) };
        if !is_wide && !matches!(mem.space, Space::Global(_)) && !mem.far {
            address = self.a.g2i(false, AND_IMM, address, 0xffff);
        }
        self.jump_to_fault(data, mem, lane, address);
        self.a.switch_to(go_on);
    }

    fn check_alignment(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let (mem, data) = (x.mem, x.data);
        if mem.align <= 1 {
            return Ok(());
        }
        let a = arg(data, 0)?;
        let place = x.offset().wrapping_sub(u32::from(mem.align_offset));
        let low = u32::from(mem.align - 1);
        if zero_bits(self.f, a, 8) >= mem.align.trailing_zeros() && place & low == 0 {
            return Ok(());
        }
        let key = (a, x.guard, place & low, mem.align);
        if self.aligned.contains(&key) {
            return Ok(());
        }
        match &x.address {
            // A stride that keeps the alignment: the first lane's address tells of all.
            Address::Uniform(s) | Address::Affine(s, _)
                if s.len() == 1
                    && !matches!(&x.address, Address::Affine(_, stride) if *stride as u32 & low != 0) =>
            {
                let s = match place & low {
                    0 => s[0],
                    n => self.a.add_imm(false, s[0], n.into()),
                };
                self.a.test_imm(s, low as i32);
                let (cold, go_on) = (self.a.cold_block(), self.a.block());
                self.a.branch(Flags::NotEqual, (cold, &[]), (go_on, &[]));
                self.a.switch_to(cold);
                let bits = self.aside(|l| l.guard_bits(x.guard))?;
                self.a.test(true, bits, bits);
                let faulting = self.a.cold_block();
                self.a.branch(Flags::NotEqual, (faulting, &[]), (go_on, &[]));
                self.a.switch_to(faulting);
                let parts = self.aside(|l| l.address_parts(x));
                let lane = self.a.g1(Code::Tzcnt_r64_rm64, bits, Size::Q, Size::Q);
                self.note_addresses(&parts);
                let mut address = self.a.load32(Mem::indexed(self.context, lane, 4, at::LANE_ADDRESSES));
                if !matches!(mem.space, Space::Global(_)) && !mem.far {
                    address = self.a.g2i(false, AND_IMM, address, 0xffff);
                }
                self.jump_to_fault(data, mem, lane, address);
                self.a.switch_to(go_on);
            }
            _ => {
                let parts = self.address_parts(x);
                let guard = self.guard(x.guard)?;
                let back = u32::from(mem.align_offset) & low;
                let bad: Vec<R> = parts
                    .iter()
                    .zip(guard.iter())
                    .map(|(&p, &k)| {
                        let p = match back {
                            0 => p,
                            n => self.a.v3(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, p, Src::C32(n)),
                        };
                        self.a.vtestm(TEST[0], k, p, Src::C32(low))
                    })
                    .collect();
                self.fault_lanes(data, mem, &bad, &parts, false);
            }
        }
        if !self.aside {
            self.aligned.push(key);
        }
        Ok(())
    }

    /// The addresses as vectors, with the offset.
    pub fn address_parts(&mut self, x: &Access<'_>) -> Vec<R> {
        let offset = x.offset();
        let (scalars, stride) = match &x.address {
            Address::Lanes(parts) => {
                if offset == 0 {
                    return parts.clone();
                }
                return parts
                    .iter()
                    .map(|&p| self.a.v3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, p, Src::C32(offset)))
                    .collect();
            }
            Address::Uniform(s) => (s.clone(), 0),
            Address::Affine(s, stride) => (s.clone(), *stride),
        };
        let parts: Vec<R> = scalars
            .iter()
            .map(|&s| {
                let splat = self.a.splat(false, s);
                self.ramp(splat, stride, offset)
            })
            .collect();
        spread(&parts, self.groups).to_vec()
    }

    // One access for all lanes.

    /// The instruction that loads into a general register, with zero or sign extension.
    fn load_code(mem: MemAccess) -> (Code, Size) {
        match (mem.bytes, mem.signed) {
            (8, _) => (Code::Mov_r64_rm64, Size::Q),
            (2, false) => (Code::Movzx_r32_rm16, Size::D),
            (2, true) => (Code::Movsx_r32_rm16, Size::D),
            (1, false) => (Code::Movzx_r32_rm8, Size::D),
            (1, true) => (Code::Movsx_r32_rm8, Size::D),
            _ => (Code::Mov_r32_rm32, Size::D),
        }
    }

    fn store_code(bytes: u8) -> (Code, Size) {
        match bytes {
            8 => (Code::Mov_rm64_r64, Size::Q),
            2 => (Code::Mov_rm16_r16, Size::W),
            1 => (Code::Mov_rm8_r8, Size::B),
            _ => (Code::Mov_rm32_r32, Size::D),
        }
    }

    /// Whether what a uniform access loads is wanted in a vector.
    fn as_splat(&self, x: &Access<'_>) -> bool {
        let wanted = |r: Value| Self::is_float(self.scalar_of(r)) || self.as_vector[r.index()];
        x.data.result.is_some_and(wanted) && x.mem.bytes >= 4
    }

    /// Loads for all lanes: into a general register, or a float into a vector.
    fn load_one(&mut self, x: &Access<'_>, place: Mem, site: Option<u32>) -> R {
        if self.as_splat(x) {
            let code = match x.mem.bytes {
                8 => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
                _ => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
            };
            return self.a.vload(code, place, With { site, ..With::default() });
        }
        let (code, size) = Self::load_code(x.mem);
        self.a.gload(code, place, size, site)
    }

    fn store_one(&mut self, x: &Access<'_>, value: R, place: Mem, site: Option<u32>) {
        let (code, size) = Self::store_code(x.mem.bytes);
        self.a.gstore(code, place, value, size, site);
    }

    /// Defines what a load for all lanes, or for each sixteen, has given.
    fn define_one(&mut self, x: &Access<'_>, loaded: Vec<R>) -> Result<(), Error> {
        let r = result(x.data)?;
        let float = loaded.first().is_some_and(|v| v.class() == RegClass::Float);
        if self.forms.of(r) == Form::Varying {
            let count = self.part_count(self.scalar_of(r));
            let splats: Vec<R> = match float {
                true => loaded,
                false => loaded.into_iter().map(|v| self.a.splat(x.mem.bytes == 8, v)).collect(),
            };
            self.define_parts(r, spread(&splats, count).to_vec());
        } else if float {
            self.define(r, Kept::Splat(loaded.into()));
        } else {
            self.define_general(r, loaded);
        }
        Ok(())
    }

    /// A zero of the class of what [`Lower::load_one`] gives.
    fn zero_one(&mut self, x: &Access<'_>) -> R {
        if self.as_splat(x) { self.a.constant(false, 0) } else { self.a.imm(false, 0) }
    }

    fn one_class(&self, x: &Access<'_>) -> RegClass {
        if self.as_splat(x) { RegClass::Float } else { RegClass::Int }
    }

    /// Whether an access has a guard of its own.
    fn is_guarded(&self, x: &Access<'_>) -> bool {
        x.guard.is_some_and(|g| !self.is_active_mask(g) && self.f.as_const(g) != Some(1))
    }

    /// Global memory at addresses in general registers, 64 bits of them, which are known to be the guest's: for all lanes, or for each
    /// sixteen.
    pub fn uniform_global(&mut self, x: &Access<'_>, addresses: &[R]) -> Result<(), Error> {
        let base = self.base(x.mem.space);
        let count = addresses.len().max(x.value.map_or(1, |v| self.scalars(v)));
        let all = count == 1 && !self.is_guarded(x);
        let bits = self.guard_bits(x.guard)?;
        let loaded = self.each_group(count, |l| {
            let value = x.value.map(|v| l.general(v)).transpose()?;
            let end = l.a.block();
            if !all {
                let own = if count == 1 {
                    bits
                } else {
                    let own = l.bits_of_group(bits, l.group);
                    l.a.shift(true, SHL, own, 16 * l.group as u8)
                };
                let go = l.a.block();
                let zero: Vec<R> = if value.is_some() { Vec::new() } else { vec![l.zero_one(x)] };
                l.a.test(true, own, own);
                l.a.branch(Flags::NotEqual, (go, &[]), (end, &zero));
                l.a.switch_to(go);
                l.a.store64g(Mem::at(l.context, at::GUARD_LANES), own);
            }
            let site = l.site(x.data, TrapLane::First { guarded: !all });
            let place = Mem::indexed(base, addresses[l.group.min(addresses.len() - 1)], 1, 0);
            Ok(match value {
                Some(v) => {
                    l.store_one(x, v, place, site);
                    l.a.jump(end, &[]);
                    l.a.switch_to(end);
                    None
                }
                None => {
                    let v = l.load_one(x, place, site);
                    let class = l.one_class(x);
                    let p = l.a.param(end, class);
                    l.a.jump(end, &[v]);
                    l.a.switch_to(end);
                    Some(p)
                }
            })
        })?;
        match loaded.into_iter().collect::<Option<Vec<R>>>() {
            Some(loaded) => self.define_one(x, loaded),
            None => Ok(()),
        }
    }

    /// The rows that an access lies in: one, or one for each sixteen lanes.
    pub fn rows_of(&mut self, data: &InstData) -> Result<Vec<Row>, Error> {
        let Imm::Mem(mem) = data.imm else { return Err(malformed(data)) };
        let a = arg(data, 0)?;
        let count = self.scalars(a);
        let scalars = self.each_group(count, |l| l.general(a))?;
        let address = match self.forms.of(a) {
            Form::Uniform => Address::Uniform(scalars),
            Form::Affine { stride, .. } | Form::Affine16 { stride } => Address::Affine(scalars, stride),
            _ => return Err(malformed(data)),
        };
        let x = Access { data, mem, value: None, guard: None, address };
        let rows = self.each_group(count, |l| l.row(&x))?;
        Ok(rows.into_iter().flatten().map(|(row, _)| row).collect())
    }

    /// The stretch of bounded memory that an access lies in, tested for all accesses of the block at that address.
    fn row(&mut self, x: &Access<'_>) -> Result<Option<(Row, i32)>, Error> {
        let a = arg(x.data, 0)?;
        let constant = self.f.as_const(a).map(|bits| bits as u32);
        let key = if constant.is_some() { None } else { Some(a) };
        let span = match x.address {
            Address::Affine(..) => 16 * u64::from(x.mem.bytes),
            _ => u64::from(x.mem.bytes),
        };
        let from = |mem: &MemAccess, constant: Option<u32>| -> Option<u64> {
            let start = match constant {
                Some(c) if mem.far => c.wrapping_add(mem.offset as u32),
                Some(c) => c.wrapping_add(mem.offset as u32) & 0xffff,
                None => u32::try_from(mem.offset).ok()?,
            };
            (start < 1 << 24).then_some(u64::from(start))
        };
        let group = match &x.address {
            Address::Uniform(s) | Address::Affine(s, _) => self.group.min(s.len() - 1),
            Address::Lanes(_) => return Ok(None),
        };
        let Some(start) = from(&x.mem, constant) else { return Ok(None) };
        let found = self
            .rows
            .iter()
            .find(|r| r.address == key && r.group == group && r.far == x.mem.far && start + span <= r.reach)
            .copied();
        if let Some(row) = found {
            return Ok(Some((row, start as i32)));
        }
        // As far as the block's other accesses go.
        let mut reach = start + span;
        for &inst in &self.f.block(self.current).insts {
            let data = self.f.inst(inst);
            let (Opcode::Load | Opcode::Store, Imm::Mem(mem)) = (data.op, data.imm) else { continue };
            let Some(&other) = data.args.first() else { continue };
            let other_constant = self.f.as_const(other).map(|bits| bits as u32);
            let same = if constant.is_some() { other_constant.is_some() } else { other == a };
            if mem.space == x.mem.space && mem.far == x.mem.far && same {
                let bytes = match x.address {
                    Address::Affine(..) => 16 * u64::from(mem.bytes),
                    _ => u64::from(mem.bytes),
                };
                reach = from(&mem, other_constant).map_or(reach, |start| reach.max(start + bytes));
            }
        }
        let base = self.base(x.mem.space);
        let Some(size) = self.space_bytes(x.mem.space) else { return Ok(None) };
        let (place, end) = match (&x.address, constant) {
            (_, Some(_)) => (base, self.a.imm(true, reach)),
            (Address::Uniform(s) | Address::Affine(s, _), _) => {
                let s = s[group];
                let index = match x.mem.far {
                    true => self.a.low32(s),
                    false => self.a.g1(Code::Movzx_r32_rm16, s, Size::D, Size::W),
                };
                (self.a.add(true, base, index), self.a.add_imm(true, index, reach as i64))
            }
            _ => return Ok(None),
        };
        self.a.cmp(true, end, size);
        let inside = self.a.set_if(Code::Setbe_rm8);
        let row = Row { address: key, group, far: x.mem.far, place, inside, reach };
        if !self.aside {
            self.rows.push(row);
        }
        Ok(Some((row, start as i32)))
    }

    /// Shared or const memory at one address, or one for each sixteen lanes.
    fn uniform_bounded(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let Address::Uniform(addresses) = &x.address else { return Err(malformed(x.data)) };
        let count = addresses.len().max(x.value.map_or(1, |v| self.scalars(v)));
        if x.value.is_some() {
            // Made here, so that it is good behind.
            self.guard_bits(x.guard)?;
        }
        let loaded = self.each_group(count, |l| l.one_bounded(x, addresses, count))?;
        match loaded.into_iter().collect::<Option<Vec<R>>>() {
            Some(loaded) => self.define_one(x, loaded),
            None => Ok(()),
        }
    }

    /// One access of [`Lower::uniform_bounded`]; gives what was loaded.
    fn one_bounded(&mut self, x: &Access<'_>, addresses: &[R], count: usize) -> Result<Option<R>, Error> {
        let mem = x.mem;
        let s = addresses[self.group.min(addresses.len() - 1)];
        if let (Space::Const(_), None) = (mem.space, x.value) {
            let base = self.base(mem.space);
            let constant = self.f.as_const(arg(x.data, 0)?).map(|bits| bits as u32);
            let place = match constant {
                Some(c) => Mem::at(base, (c.wrapping_add(x.offset()) & 0xffff) as i32),
                None => {
                    let index = self.a.add_imm(false, s, i64::from(mem.offset));
                    let index = self.a.g1(Code::Movzx_r32_rm16, index, Size::D, Size::W);
                    Mem::indexed(base, index, 1, 0)
                }
            };
            return Ok(Some(self.load_one(x, place, None)));
        }
        let value = x.value.map(|v| self.general(v)).transpose()?;
        let row = match self.bounds {
            Bounds::Outside => None,
            _ => self.row(x)?,
        };
        let is_store = value.is_some() && (count > 1 || self.is_guarded(x));
        if let (Bounds::Inside, Some((row, offset)), false, None) = (self.bounds, row, is_store, value)
            && self.known_rows.contains(&row.inside)
        {
            return Ok(Some(self.load_one(x, Mem::at(row.place, offset), None)));
        }
        let end = self.a.block();
        if value.is_some() && (count > 1 || self.is_guarded(x)) {
            let mut bits = self.guard_bits(x.guard)?;
            if count > 1 {
                bits = self.bits_of_group(bits, self.group);
            }
            let go = self.a.block();
            self.a.test(true, bits, bits);
            self.a.branch(Flags::NotEqual, (go, &[]), (end, &[]));
            self.a.switch_to(go);
        }
        let slow = self.a.cold_block();
        let mut always = false;
        if let Some((row, offset)) = row {
            always = self.bounds == Bounds::Inside && self.known_rows.contains(&row.inside);
            if !always {
                let quick = self.a.block();
                self.a.test(false, row.inside, row.inside);
                self.a.branch(Flags::NotEqual, (quick, &[]), (slow, &[]));
                self.a.switch_to(quick);
            }
            let place = Mem::at(row.place, offset);
            match value {
                Some(v) => {
                    self.store_one(x, v, place, None);
                    self.a.jump(end, &[]);
                }
                None => {
                    let v = self.load_one(x, place, None);
                    self.a.jump(end, &[v]);
                }
            }
        } else {
            self.a.jump(slow, &[]);
        }
        if always {
            self.a.switch_to(end);
            return Ok(None);
        }
        self.a.switch_to(slow);
        // As an access of the first lane alone.
        let index = self.a.add_imm(false, s, i64::from(mem.offset));
        self.a.store32(Mem::at(self.context, at::LANE_ADDRESSES), index);
        let one = self.a.imm(false, 1);
        self.a.store64g(Mem::at(self.context, at::GUARD_LANES), one);
        let values = Mem::at(self.context, at::LANE_VALUES);
        match (value, mem.bytes) {
            (Some(v), 8) => self.a.store64g(values, v),
            (Some(v), _) => self.a.store32(values, v),
            _ => {}
        }
        self.describe(x);
        self.call_preserving(at::ACCESS_WIDE);
        if value.is_some() {
            self.a.jump(end, &[]);
            self.a.switch_to(end);
            return Ok(None);
        }
        let v = match (self.as_splat(x), mem.bytes) {
            (true, 8) => self.a.vload(Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, values, With::default()),
            (true, _) => self.a.vload(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, values, With::default()),
            (false, 8) => self.a.load64g(values),
            _ => self.a.load32(values),
        };
        self.a.jump(end, &[v]);
        let loaded = self.a.param(end, self.one_class(x));
        self.a.switch_to(end);
        Ok(Some(loaded))
    }

    /// Puts what an access is where the helper finds it.
    fn describe(&mut self, x: &Access<'_>) {
        let word = crate::helpers::describe_access(
            encode_space(x.mem.space),
            x.mem.bytes,
            x.mem.signed,
            x.value.is_some(),
            x.mem.far,
            self.f.lanes,
        );
        self.a.store_imm32(Mem::at(self.context, at::ACCESS), word as i32);
    }

    /// An access lane by lane through the helper; gives what was loaded.
    fn by_helper(&mut self, x: &Access<'_>) -> Result<Vec<R>, Error> {
        self.note_access(x)?;
        self.call_preserving(at::ACCESS_WIDE);
        if x.value.is_some() {
            return Ok(Vec::new());
        }
        Ok(self.lane_values(x.mem.bytes))
    }

    /// Puts an access into the context: addresses, lanes, values, what it is.
    fn note_access(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let parts = self.address_parts(x);
        self.note_addresses(&parts);
        let bits = self.guard_bits(x.guard)?;
        self.a.store64g(Mem::at(self.context, at::GUARD_LANES), bits);
        if let Some(v) = x.value {
            for (n, &p) in self.regs(v)?.iter().enumerate() {
                self.a.store64(Mem::at(self.context, at::LANE_VALUES + 64 * n as i32), p);
            }
        }
        self.describe(x);
        Ok(())
    }

    /// The slow way of an access in its own block, then what follows: defines the result as what either way has loaded.
    fn slow_way(&mut self, x: &Access<'_>, slow: HostBlock, end: HostBlock) -> Result<(), Error> {
        self.a.switch_to(slow);
        let loaded = self.aside(|l| l.by_helper(x))?;
        self.a.jump(end, &loaded);
        let params: Vec<R> = loaded.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        self.give(x, params)
    }

    /// Lanes side by side in shared or const memory.
    fn contiguous_bounded(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let Address::Affine(addresses, _) = &x.address else { return Err(malformed(x.data)) };
        if self.bounds == Bounds::Outside {
            let loaded = self.by_helper(x)?;
            return self.give(x, loaded);
        }
        let rows = self.each_group(addresses.len(), |l| l.row(x))?;
        let Some(rows) = rows.into_iter().collect::<Option<Vec<(Row, i32)>>>() else {
            return self.bounded_lanes(x);
        };
        if let Some(v) = x.value {
            // Made here, so that it is good behind.
            self.regs(v)?;
            self.guard(x.guard)?;
        }
        let places: Vec<Mem> = rows.iter().map(|(row, offset)| Mem::at(row.place, *offset)).collect();
        let always = |row: &Row| self.known_rows.contains(&row.inside);
        if self.bounds == Bounds::Inside && rows.iter().all(|(row, _)| always(row)) {
            let masks = if x.value.is_some() { Some(self.guard(x.guard)?) } else { None };
            let loaded = self.vectors(x, &places, masks.as_deref(), false)?;
            return self.give(x, loaded);
        }
        let (quick, slow, end) = (self.a.block(), self.a.cold_block(), self.a.block());
        let mut inside = rows[0].0.inside;
        for (row, _) in &rows[1..] {
            inside = self.a.g2(false, super::scalar::AND, inside, row.inside);
        }
        self.a.test(false, inside, inside);
        self.a.branch(Flags::NotEqual, (quick, &[]), (slow, &[]));
        self.a.switch_to(quick);
        let masks = if x.value.is_some() { Some(self.guard(x.guard)?) } else { None };
        let loaded = self.aside(|l| l.vectors(x, &places, masks.as_deref(), false))?;
        self.a.jump(end, &loaded);
        self.slow_way(x, slow, end)
    }

    /// Global memory of lanes side by side from a host address on for each sixteen.
    pub fn run(&mut self, x: &Access<'_>, places: &[R]) -> Result<Vec<R>, Error> {
        let masks = self.guard(x.guard)?;
        let places: Vec<Mem> = places.iter().map(|&p| Mem::at(p, 0)).collect();
        self.vectors(x, &places, Some(&masks), true)
    }

    /// Vectors from a place on for each sixteen lanes: loads where the masks hold, or stores.
    fn vectors(
        &mut self,
        x: &Access<'_>,
        places: &[Mem],
        masks: Option<&[R]>,
        global: bool,
    ) -> Result<Vec<R>, Error> {
        let mem = x.mem;
        let guarded = if global { self.note_guard(x.guard)? } else { false };
        let narrow = masks;
        let masks = match (masks, mem.bytes) {
            (Some(m), 8) => Some(self.widen(m)),
            (Some(m), _) => Some(m.to_vec()),
            _ => None,
        };
        if let (Some(_), Some(narrow)) = (x.value, narrow) {
            if let Some(v) = x.value {
                // Made here, so that it is good in both ways.
                self.regs(v)?;
            }
            // Stores under a mask are slow and are not forwarded to loads: mostly all lanes take part.
            let all = narrow.iter().copied().reduce(|a, b| self.a.k3(Code::VEX_Kandw_kr_kr_kr, a, b));
            let all = all.ok_or_else(|| malformed(x.data))?;
            let (full, part, end) = (self.a.block(), self.a.cold_block(), self.a.block());
            self.a.kortest(all, all);
            self.a.branch(Flags::Below, (full, &[]), (part, &[]));
            for (block, masks) in [(full, None), (part, masks.as_deref())] {
                self.a.switch_to(block);
                self.vectors_at(x, places, masks, global, guarded)?;
                self.a.jump(end, &[]);
            }
            self.a.switch_to(end);
            return Ok(Vec::new());
        }
        self.vectors_at(x, places, masks.as_deref(), global, guarded)
    }

    /// The accesses of [`Lower::vectors`], with masks for each vector.
    fn vectors_at(
        &mut self,
        x: &Access<'_>,
        places: &[Mem],
        masks: Option<&[R]>,
        global: bool,
        guarded: bool,
    ) -> Result<Vec<R>, Error> {
        let mem = x.mem;
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        let (load, store, size) = match (mem.bytes, mem.signed) {
            (8, _) => (Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512, Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm, 64),
            (4, _) => (Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, 64),
            (2, false) => (Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256, Code::EVEX_Vpmovdw_ymmm256_k1z_zmm, 32),
            (2, true) => (Code::EVEX_Vpmovsxwd_zmm_k1z_ymmm256, Code::EVEX_Vpmovdw_ymmm256_k1z_zmm, 32),
            (_, false) => (Code::EVEX_Vpmovzxbd_zmm_k1z_xmmm128, Code::EVEX_Vpmovdb_xmmm128_k1z_zmm, 16),
            (_, true) => (Code::EVEX_Vpmovsxbd_zmm_k1z_xmmm128, Code::EVEX_Vpmovdb_xmmm128_k1z_zmm, 16),
        };
        let (vectors, per) = if mem.bytes == 8 { (2, 8u8) } else { (1, 16) };
        let mut loaded = Vec::new();
        for (g, &place) in places.iter().enumerate() {
            if let (true, super::asm::Base::Reg(start)) = (global, place.base) {
                // As if the chunk's lanes before lay in front.
                let start = self.a.add_imm(true, start, -(16 * g as i64 * i64::from(mem.bytes)));
                self.a.store64g(Mem::at(self.context, at::VECTOR_BASE), start);
            }
            for v in 0..vectors {
                let n = vectors * g + v;
                let site = match global {
                    true => self.site(x.data, TrapLane::Run { first: per * n as u8, lanes: per, guarded }),
                    false => None,
                };
                let mask = masks.map(|m| m[n]);
                let place = place.plus(size * v as i32);
                match &value {
                    Some(parts) => {
                        let with = With { mask, site, ..With::default() };
                        self.a.vstore(store, place, parts[n], Size::Z, with);
                    }
                    None => {
                        let with = With { mask, zeroing: mask.is_some(), site, ..With::default() };
                        loaded.push(self.a.vload(load, place, with));
                    }
                }
            }
        }
        Ok(loaded)
    }

    /// Local memory at one address: a row of words, one a lane.
    fn local_row(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let mem = x.mem;
        let Address::Uniform(addresses) = &x.address else { return Err(malformed(x.data)) };
        let &[s] = &addresses[..] else { return self.bounded_lanes(x) };
        let base = self.base(Space::Local);
        let size = self.space_bytes(Space::Local).ok_or_else(|| malformed(x.data))?;
        let index = self.a.add_imm(false, s, i64::from(mem.offset));
        let index = match mem.far {
            true => self.a.low32(index),
            false => self.a.g1(Code::Movzx_r32_rm16, index, Size::D, Size::W),
        };
        if let Some(v) = x.value {
            self.regs(v)?;
            self.guard(x.guard)?;
        }
        let (quick, slow, end) = (self.a.block(), self.a.cold_block(), self.a.block());
        let last = self.a.add_imm(true, index, mem.bytes.into());
        self.a.cmp(true, last, size);
        self.a.branch(Flags::BelowEqual, (quick, &[]), (slow, &[]));
        self.a.switch_to(quick);
        let loaded = self.aside(|l| l.row_of_words(x, base, index))?;
        self.a.jump(end, &loaded);
        self.slow_way(x, slow, end)
    }

    /// A row of local memory that is inside.
    fn row_of_words(&mut self, x: &Access<'_>, base: R, index: R) -> Result<Vec<R>, Error> {
        let mem = x.mem;
        let row = self.a.shift(true, SHL, index, self.f.lanes.trailing_zeros() as u8);
        let mut place = Mem::indexed(base, row, 1, 0);
        if let Some(lane) = self.lane {
            let more = self.a.lea(true, place);
            place = Mem::indexed(more, lane, 4, 0);
        }
        let words = i32::from(mem.bytes / 4);
        let next = 4 * self.f.lanes as i32;
        let mut loaded = Vec::new();
        match x.value {
            None => {
                for g in 0..self.groups as i32 {
                    let low = self.a.load64(place.plus(64 * g));
                    if words == 1 {
                        loaded.push(low);
                        continue;
                    }
                    let high = self.a.load64(place.plus(64 * g + next));
                    loaded.extend(self.interleave(low, high));
                }
            }
            Some(v) => {
                let masks = self.guard(x.guard)?;
                let parts = self.regs(v)?;
                for g in 0..self.groups {
                    let with = With { mask: Some(masks[g]), ..With::default() };
                    let code = Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm;
                    let pieces = match words {
                        1 => vec![parts[g]],
                        _ => self.separate(parts[2 * g], parts[2 * g + 1]).to_vec(),
                    };
                    for (n, &piece) in pieces.iter().enumerate() {
                        self.a.vstore(
                            code,
                            place.plus(64 * g as i32 + next * n as i32),
                            piece,
                            Size::Z,
                            with,
                        );
                    }
                }
            }
        }
        Ok(loaded)
    }

    /// Low and high words of sixteen lanes as double words.
    pub fn interleave(&mut self, low: R, high: R) -> [R; 2] {
        [0u32, 8].map(|from| {
            let words = std::array::from_fn(|n| from + n as u32 / 2 + if n % 2 == 1 { 16 } else { 0 });
            let entry = self.a.words(&words);
            let index = self.a.vload_pool(entry);
            self.a.v4(Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, index, low, Src::R(high))
        })
    }

    /// Low and high words of sixteen double words.
    pub fn separate(&mut self, first: R, second: R) -> [R; 2] {
        [0u32, 1].map(|odd| {
            let words = std::array::from_fn(|n| 2 * n as u32 + odd);
            let entry = self.a.words(&words);
            let index = self.a.vload_pool(entry);
            self.a.v4(Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, index, first, Src::R(second))
        })
    }

    // Lanes anywhere.

    /// Shared, const or local memory, each lane at its own place.
    fn bounded_lanes(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let mem = x.mem;
        let local = mem.space == Space::Local;
        let straddles = local && mem.align < mem.bytes.min(4);
        if straddles || x.value.is_some() && mem.bytes < 4 {
            let loaded = self.by_helper(x)?;
            return self.give(x, loaded);
        }
        let mut indices = self.address_parts(x);
        if !mem.far {
            let small = match (&x.address, mem.space) {
                (Address::Lanes(_), Space::Const(_)) => {
                    let most = self.known().get(arg(x.data, 0)?).possible();
                    most.saturating_add(u64::from(x.offset())) <= 0xffff
                }
                _ => false,
            };
            if !small {
                indices = indices.iter().map(|&i| self.a.v3(AND[0], i, Src::C32(0xffff))).collect();
            }
        }
        let mut guard = self.guard(x.guard)?;
        let base = self.base(mem.space);
        if let Some(limit) = self.limit(mem.space, mem.bytes) {
            // What is outside reads as zero and is not written.
            let splat = self.a.splat(false, limit);
            guard = indices
                .iter()
                .zip(guard.iter())
                .map(|(&i, &k)| {
                    self.a.vcmpm(Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, k, i, Src::R(splat), 1)
                })
                .collect();
        }
        let places = if local { self.local_places(&indices) } else { indices };
        let loaded = self.bounded_accesses(x, base, &places, &guard)?;
        self.give(x, loaded)
    }

    /// The accesses of the lanes of a guard, which are all inside.
    fn bounded_accesses(
        &mut self,
        x: &Access<'_>,
        base: R,
        places: &[R],
        guard: &[R],
    ) -> Result<Vec<R>, Error> {
        let mem = x.mem;
        let local = mem.space == Space::Local;
        let mut loaded = Vec::new();
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        for g in 0..self.groups {
            let (i, k) = (places[g], guard[g]);
            match (&value, mem.bytes) {
                (None, 8) if local => {
                    let low = self.gather32(base, i, k, 0, None);
                    let high = self.gather32(base, i, k, 4 * self.f.lanes as i32, None);
                    loaded.extend(self.interleave(low, high));
                }
                (None, 8) => loaded.extend(self.gather64(base, i, k, None)),
                (None, n) => {
                    let words = self.gather32(base, i, k, 0, None);
                    loaded.push(self.narrow_load(words, n, mem.signed));
                }
                (Some(v), 8) if local => {
                    let [low, high] = self.separate(v[2 * g], v[2 * g + 1]);
                    self.scatter32(base, i, k, low, 0, None);
                    self.scatter32(base, i, k, high, 4 * self.f.lanes as i32, None);
                }
                (Some(v), 8) => self.scatter64(base, i, k, [v[2 * g], v[2 * g + 1]], None),
                (Some(v), _) => self.scatter32(base, i, k, v[g], 0, None),
            }
        }
        Ok(loaded)
    }

    /// Places in the warp's local memory.
    fn local_places(&mut self, indices: &[R]) -> Vec<R> {
        let lane = self.lane.map(|lane| {
            let first = self.a.shift(false, SHL, lane, 2);
            self.a.splat(false, first)
        });
        let by = self.f.lanes.trailing_zeros() as u8;
        indices
            .iter()
            .enumerate()
            .map(|(g, &i)| {
                let word = self.a.v3(AND[0], i, Src::C32(!3));
                let row = self.a.v2i(Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, word, by);
                let byte = self.a.v3(AND[0], i, Src::C32(3));
                let place = self.a.v3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, row, Src::R(byte));
                let place = self.lane_ramp(place, g);
                match lane {
                    Some(lane) => self.a.v3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, place, Src::R(lane)),
                    None => place,
                }
            })
            .collect()
    }

    /// Four bytes more for each lane of the chunk.
    fn lane_ramp(&mut self, place: R, group: usize) -> R {
        self.ramp(place, 4, 64 * group as u32)
    }

    /// The bytes of a narrow load from words that start with them.
    pub fn narrow_load(&mut self, words: R, bytes: u8, signed: bool) -> R {
        let by = 32 - 8 * bytes;
        match (bytes, signed) {
            (4.., _) => words,
            (_, false) => self.a.v3(AND[0], words, Src::C32((1 << (8 * u32::from(bytes))) - 1)),
            _ => {
                let up = self.a.v2i(Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, words, by);
                self.a.v2i(Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, up, by)
            }
        }
    }

    /// Sixteen words at signed 32-bit distances from `base`.
    pub fn gather32(&mut self, base: R, index: R, mask: R, disp: i32, site: Option<u32>) -> R {
        let (d, old, left) = (self.a.zmm(), self.a.constant(false, 0), self.a.k());
        let args = [A::Reuse(d, old, Size::Z), A::Vsib(base, index, Size::Z, 1, disp)];
        let with = With { mask: Some(mask), mask_left: Some(left), site, ..With::default() };
        self.a.put(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, &args, with);
        d
    }

    /// Sixteen double words at signed 32-bit distances from `base`.
    pub fn gather64(&mut self, base: R, index: R, mask: R, site: Option<u32>) -> [R; 2] {
        let (high, upper) = (self.a.high_half(index), self.upper(mask));
        [(index, mask), (high, upper)].map(|(i, k)| {
            let (d, old, left) = (self.a.zmm(), self.a.constant(false, 0), self.a.k());
            let args = [A::Reuse(d, old, Size::Z), A::Vsib(base, i, Size::Y, 1, 0)];
            let with = With { mask: Some(k), mask_left: Some(left), site, ..With::default() };
            self.a.put(Code::EVEX_Vpgatherdq_zmm_k1_vm32y, &args, with);
            d
        })
    }

    pub fn scatter32(&mut self, base: R, index: R, mask: R, value: R, disp: i32, site: Option<u32>) {
        let left = self.a.k();
        let args = [A::Vsib(base, index, Size::Z, 1, disp), A::Use(value, Size::Z)];
        let with = With { mask: Some(mask), mask_left: Some(left), site, ..With::default() };
        self.a.put(Code::EVEX_Vpscatterdd_vm32z_k1_zmm, &args, with);
    }

    pub fn scatter64(&mut self, base: R, index: R, mask: R, value: [R; 2], site: Option<u32>) {
        let (high, upper) = (self.a.high_half(index), self.upper(mask));
        for (n, (i, k)) in [(index, mask), (high, upper)].into_iter().enumerate() {
            let left = self.a.k();
            let args = [A::Vsib(base, i, Size::Y, 1, 0), A::Use(value[n], Size::Z)];
            let with = With { mask: Some(k), mask_left: Some(left), site, ..With::default() };
            self.a.put(Code::EVEX_Vpscatterdq_vm32y_k1_zmm, &args, with);
        }
    }

    /// Global memory, each lane at its own 32-bit address.
    fn global_lanes(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let mem = x.mem;
        let parts = self.address_parts(x);
        let guard = self.guard(x.guard)?;
        self.note_addresses(&parts);
        let guarded = self.note_guard(x.guard)?;
        let base = self.base(mem.space);
        let whole_words = mem.bytes >= 4 || x.value.is_none() && (mem.bytes == 1 || mem.align >= 2);
        if !whole_words {
            let loaded = self.lane_loop(x, base, false, guarded)?;
            return self.give(x, loaded);
        }
        // Indices are signed: the middle of the space is their zero.
        let half = self.a.imm(true, 1 << 31);
        let middle = self.a.add(true, base, half);
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        let mut loaded = Vec::new();
        for g in 0..self.groups {
            let first = 16 * g as u8;
            let site = self.site(x.data, TrapLane::Gather { first, wide: false, guarded });
            let (i, k) = (parts[g], guard[g]);
            let moved = match (&value, mem.bytes) {
                (None, 1 | 2) => self.a.ternary_words(i, 0xffff_fffc, 0x8000_0000),
                _ => self.a.v3(super::int::XOR[0], i, Src::C32(0x8000_0000)),
            };
            match (&value, mem.bytes) {
                (None, 8) => loaded.extend(self.gather64(middle, moved, k, site)),
                (None, 4) => loaded.push(self.gather32(middle, moved, k, 0, site)),
                (None, n) => {
                    let words = self.gather32(middle, moved, k, 0, site);
                    let words = self.move_down(words, i);
                    loaded.push(self.narrow_load(words, n, mem.signed));
                }
                (Some(v), 8) => self.scatter64(middle, moved, k, [v[2 * g], v[2 * g + 1]], site),
                (Some(v), _) => self.scatter32(middle, moved, k, v[g], 0, site),
            }
        }
        self.give(x, loaded)
    }

    /// Words moved down by as many bytes as the low two bits of addresses say.
    pub fn move_down(&mut self, words: R, address: R) -> R {
        let byte = self.a.v3(AND[0], address, Src::C32(3));
        let bits = self.a.v2i(Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, byte, 3);
        self.a.v3(Code::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, words, Src::R(bits))
    }

    /// One access after the other, the addresses being in the context.
    pub fn lane_loop(
        &mut self,
        x: &Access<'_>,
        base: R,
        is_wide: bool,
        guarded: bool,
    ) -> Result<Vec<R>, Error> {
        let mem = x.mem;
        if let Some(v) = x.value {
            for (n, &p) in self.regs(v)?.iter().enumerate() {
                self.a.store64(Mem::at(self.context, at::LANE_VALUES + 64 * n as i32), p);
            }
        }
        let bits = self.guard_bits(x.guard)?;
        let (head, body, end) = (self.a.block(), self.a.block(), self.a.block());
        let left = self.a.param(head, RegClass::Int);
        self.a.jump(head, &[bits]);
        self.a.switch_to(head);
        self.a.test(true, left, left);
        self.a.branch(Flags::NotEqual, (body, &[]), (end, &[]));
        self.a.switch_to(body);
        let lane = self.a.g1(Code::Tzcnt_r64_rm64, left, Size::Q, Size::Q);
        let scale = if is_wide { 8 } else { 4 };
        let place = Mem::indexed(self.context, lane, scale, at::LANE_ADDRESSES);
        let address = if is_wide { self.a.load64g(place) } else { self.a.load32(place) };
        let site = self.site(x.data, TrapLane::Gather { first: 0, wide: is_wide, guarded });
        let value_scale = if mem.bytes == 8 { 8 } else { 4 };
        let own = Mem::indexed(self.context, lane, value_scale, at::LANE_VALUES);
        let there = Mem::indexed(base, address, 1, 0);
        match (x.value, mem.bytes) {
            (Some(_), n) => {
                let v = if n == 8 { self.a.load64g(own) } else { self.a.load32(own) };
                self.store_one(x, v, there, site);
            }
            (None, n) => {
                let (code, size) = Self::load_code(mem);
                let v = self.a.gload(code, there, size, site);
                if n == 8 { self.a.store64g(own, v) } else { self.a.store32(own, v) }
            }
        }
        let rest = self.a.gpr();
        self.a.put(Code::VEX_Blsr_r64_rm64, &[A::Def(rest, Size::Q), A::Use(left, Size::Q)], With::default());
        self.a.jump(head, &[rest]);
        self.a.switch_to(end);
        Ok(if x.value.is_some() { Vec::new() } else { self.lane_values(mem.bytes) })
    }

    /// An atomic of shared memory, lane by lane.
    pub fn atomic(&mut self, data: &InstData) -> Result<(), Error> {
        let Imm::Atomic(mem, op) = data.imm else { return Err(malformed(data)) };
        let (a, value) = (arg(data, 0)?, arg(data, 1)?);
        if mem.space != Space::Shared || !matches!(mem.bytes, 4 | 8) || wide(self.scalar_of(a)) {
            return Err(Error::CrossLane(data.op));
        }
        let (new, guard) = match op.takes_two() {
            true => (Some(arg(data, 2)?), data.args.get(3)),
            false => (None, data.args.get(2)),
        };
        let address = Address::Lanes(self.regs(a)?.to_vec());
        let x = Access { data, mem, value: Some(value), guard: guard.copied(), address };
        self.check_alignment(&x)?;
        if let Some(new) = new {
            for (n, &p) in self.regs(new)?.iter().enumerate() {
                self.a.store64(Mem::at(self.context, at::LANE_OTHERS + 64 * n as i32), p);
            }
        }
        self.note_access(&x)?;
        self.a.store_imm32(Mem::at(self.context, at::ATOMIC), crate::helpers::atomic_number(op) as i32);
        self.call_preserving(at::ATOMIC_WIDE);
        if let Some(r) = data.result {
            let old = self.lane_values(mem.bytes);
            self.define_vectors(r, old);
        }
        Ok(())
    }

    /// What the lanes' values in the context are.
    fn lane_values(&mut self, bytes: u8) -> Vec<R> {
        let count = if bytes == 8 { 2 * self.groups } else { self.groups };
        (0..count).map(|n| self.a.load64(Mem::at(self.context, at::LANE_VALUES + 64 * n as i32))).collect()
    }
}
