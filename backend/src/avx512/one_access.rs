//! Loads and stores of memory at one address, for all lanes of a chunk or for each sixteen.

use iced_x86::Code;
use regalloc2::RegClass;
use warpjit_ir::{Imm, InstData, MemAccess, Opcode, Space, Value};

use super::asm::{A, Mem, R, With};
use super::code::{Flags, Size};
use super::lower::{Kept, Lower, spread};
use super::memory::{Access, Address, Row};
use super::rows::Bounds;
use super::scalar::SHL;
use crate::affine::Form;
use crate::context::at;
use crate::error::Error;
use crate::operands::{arg, malformed, result};
use crate::trap::TrapLane;

/// Farthest that one sixteen lanes may be from the ones before for both to lie in one stretch.
const MOST_APART: i32 = 1 << 16;

impl Lower<'_> {
    /// The instruction that loads into a general register, with zero or sign extension.
    pub fn load_code(mem: MemAccess) -> (Code, Size) {
        match (mem.bytes, mem.signed) {
            (8, _) => (Code::Mov_r64_rm64, Size::Q),
            (2, false) => (Code::Movzx_r32_rm16, Size::D),
            (2, true) => (Code::Movsx_r32_rm16, Size::D),
            (1, false) => (Code::Movzx_r32_rm8, Size::D),
            (1, true) => (Code::Movsx_r32_rm8, Size::D),
            _ => (Code::Mov_r32_rm32, Size::D),
        }
    }

    pub fn store_code(bytes: u8) -> (Code, Size) {
        match bytes {
            8 => (Code::Mov_rm64_r64, Size::Q),
            2 => (Code::Mov_rm16_r16, Size::W),
            1 => (Code::Mov_rm8_r8, Size::B),
            _ => (Code::Mov_rm32_r32, Size::D),
        }
    }

    /// Whether what a uniform access loads is wanted in a vector.
    pub fn as_splat(&self, x: &Access<'_>) -> bool {
        let wanted = |r: Value| Self::is_float(self.scalar_of(r)) || self.as_vector[r.index()];
        x.data.result.is_some_and(wanted) && x.mem.bytes >= 4
    }

    /// Loads for all lanes: into a general register, or a float into a vector.
    pub fn load_one(&mut self, x: &Access<'_>, place: Mem, site: Option<u32>) -> R {
        self.load_one_with(x, place, With { site, ..With::default() })
    }

    /// As [`Lower::load_one`], of memory that does not change but in so many of the outermost loops, where the access cannot trap.
    pub fn load_steady(&mut self, x: &Access<'_>, place: Mem, loops: u8) -> R {
        self.load_one_with(x, place, With { steady: Some(loops), ..With::default() })
    }

    fn load_one_with(&mut self, x: &Access<'_>, place: Mem, with: With) -> R {
        if self.as_splat(x) {
            let code = match x.mem.bytes {
                8 => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
                _ => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
            };
            return self.a.vload(code, place, with);
        }
        let extended = x.data.result.is_some_and(|r| self.extended[r.index()]);
        let (code, size) = match extended {
            true => (Code::Movsxd_r64_rm32, Size::Q),
            false => Self::load_code(x.mem),
        };
        let d = self.a.gpr();
        self.a.put(code, &[A::Def(d, size), A::Mem(place)], with);
        d
    }

    pub fn store_one(&mut self, x: &Access<'_>, value: R, place: Mem, site: Option<u32>) {
        let (code, size) = Self::store_code(x.mem.bytes);
        self.a.gstore(code, place, value, size, site);
    }

    /// Defines what a load for all lanes, or for each sixteen, has given.
    pub fn define_one(&mut self, x: &Access<'_>, loaded: Vec<R>) -> Result<(), Error> {
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
    pub fn zero_one(&mut self, x: &Access<'_>) -> R {
        if self.as_splat(x) { self.a.constant(false, 0) } else { self.a.imm(false, 0) }
    }

    pub fn one_class(&self, x: &Access<'_>) -> RegClass {
        if self.as_splat(x) { RegClass::Float } else { RegClass::Int }
    }

    /// Whether an access has a guard of its own.
    pub fn is_guarded(&self, x: &Access<'_>) -> bool {
        !self.is_entry(x.guard)
    }

    /// Global memory at addresses in general registers, 64 bits of them, which are known to be the guest's: for all lanes, or for each
    /// sixteen.
    pub fn uniform_global(&mut self, x: &Access<'_>, addresses: &[R]) -> Result<(), Error> {
        let places: Vec<Mem> = match self.is_of_host(x.mem.space) {
            true => addresses.iter().map(|&a| Mem::at(a, 0)).collect(),
            false => {
                let base = self.base(x.mem.space);
                addresses.iter().map(|&a| Mem::indexed(base, a, 1, 0)).collect()
            }
        };
        self.uniform_at(x, &places)
    }

    /// As [`Lower::uniform_global`], at places of the host.
    pub fn uniform_at(&mut self, x: &Access<'_>, places: &[Mem]) -> Result<(), Error> {
        let count = places.len().max(x.value.map_or(1, |v| self.spans(v)));
        let single = self.is_single(x.guard);
        let all = count == 1 && (single || !self.is_guarded(x));
        let bits = if all { self.bits } else { self.guard_bits(x.guard)? };
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
            let lane = if all && single { TrapLane::Single } else { TrapLane::First { guarded: !all } };
            let site = l.site(x.data, lane);
            let place = places[l.group.min(places.len() - 1)];
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
        let count = if self.stride_of(a) == 0 { self.spans(a) } else { self.groups };
        let scalars = self.each_group(count, |l| l.general(a))?;
        let address = match self.forms.of(a) {
            Form::Uniform => Address::Uniform(scalars),
            Form::Affine { stride, .. } | Form::Affine16 { stride } => Address::Affine(scalars, stride),
            _ => return Err(malformed(data)),
        };
        let x = Access::new(data, mem, None, None, address);
        let rows = self.each_group(count, |l| l.row(&x))?;
        Ok(rows.into_iter().flatten().map(|(row, _)| row).collect())
    }

    /// The stretch of bounded memory that an access lies in, tested for all accesses of the block at that address, and the distance of
    /// the current sixteen lanes' part from its start.
    pub fn row(&mut self, x: &Access<'_>) -> Result<Option<(Row, i32)>, Error> {
        let a = arg(x.data, 0)?;
        let constant = self.f.as_const(a).map(|bits| bits as u32);
        let key = if constant.is_some() { None } else { Some(a) };
        // Where it is known how far the sixteens are from each other they lie in one stretch.
        let apart =
            self.apart[a.index()].filter(|&apart| (0..MOST_APART).contains(&apart) && constant.is_none());
        let last = apart.map_or(0, |apart| (self.groups - 1) as u64 * apart as u64);
        let stride = self.stride_of(a);
        let bytes_of = |mem: &MemAccess| last + 15 * u64::from(stride.unsigned_abs()) + u64::from(mem.bytes);
        let span = bytes_of(&x.mem) + x.rest.len() as u64 * u64::from(x.mem.bytes);
        let from = |mem: &MemAccess, constant: Option<u32>| -> Option<u64> {
            let start = match constant {
                Some(c) if mem.far => c.wrapping_add(mem.offset as u32),
                Some(c) => c.wrapping_add(mem.offset as u32) & 0xffff,
                None => u32::try_from(mem.offset).ok()?,
            };
            (start < 1 << 24).then_some(u64::from(start))
        };
        let group = match &x.address {
            _ if apart.is_some() => 0,
            Address::Uniform(s) | Address::Affine(s, _) => self.group.min(s.len() - 1),
            Address::Lanes(_) => return Ok(None),
        };
        let Some(start) = from(&x.mem, constant) else { return Ok(None) };
        let own = apart.map_or(0, |apart| self.group as i32 * apart);
        let found = self
            .known
            .rows
            .iter()
            .find(|r| {
                let own =
                    (r.space, r.far) == (x.mem.space, x.mem.far) && r.address == key && r.group == group;
                own && start + span <= r.reach
            })
            .copied();
        if let Some(row) = found {
            return Ok(Some((row, start as i32 + own)));
        }
        // As far as the block's other accesses go.
        let mut reach = start + span;
        for &inst in &self.f.block(self.blocks.current).insts {
            let data = self.f.inst(inst);
            let (Opcode::Load | Opcode::Store, Imm::Mem(mem)) = (data.op, data.imm) else { continue };
            let Some(&other) = data.args.first() else { continue };
            let other_constant = self.f.as_const(other).map(|bits| bits as u32);
            let same = if constant.is_some() { other_constant.is_some() } else { other == a };
            if mem.space == x.mem.space && mem.far == x.mem.far && same {
                reach = from(&mem, other_constant).map_or(reach, |start| reach.max(start + bytes_of(&mem)));
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
        let row = Row { space: x.mem.space, address: key, group, far: x.mem.far, place, inside, reach };
        if !self.aside {
            self.known.rows.push(row);
        }
        Ok(Some((row, start as i32 + own)))
    }

    /// Shared or const memory at one address, or one for each sixteen lanes.
    pub fn uniform_bounded(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let Address::Uniform(addresses) = &x.address else { return Err(malformed(x.data)) };
        let count = addresses.len().max(x.value.map_or(1, |v| self.spans(v)));
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
    pub fn one_bounded(&mut self, x: &Access<'_>, addresses: &[R], count: usize) -> Result<Option<R>, Error> {
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
            return Ok(Some(self.load_steady(x, place, 0)));
        }
        if let (Space::Shared, None) = (mem.space, x.value)
            && let Some(c) = self.f.as_const(arg(x.data, 0)?).map(|bits| bits as u32)
        {
            let start = c.wrapping_add(x.offset());
            let start = if mem.far { start } else { start & 0xffff };
            if let Some(loops) = self.steady_shared(start, mem.bytes) {
                let place = Mem::at(self.base(mem.space), start as i32);
                return Ok(Some(self.load_steady(x, place, loops)));
            }
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
}
