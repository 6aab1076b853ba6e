//! Loads and stores at 32-bit addresses. What an address looks like over the lanes decides: one scalar access where it is
//! uniform, vectors where it grows by the size of the access, else gathers and scatters. Lanes that do not take part are masked
//! off by the host.
//!
//! Shared, local and const memory have bounds: where a test fails, [`crate::wide_helpers::access_wide`] does the access lane by lane.

use iced_x86::Code;
use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::{InstData, MemAccess, Space, Value};

use super::asm::{Mem, R, Src};
use super::code::{Flags, Size};
use super::int::TEST;
use super::lower::{Lower, spread};
use super::scalar::{AND_IMM, OR, SHR};
use crate::affine::Form;
use crate::alignment::AlignmentTest;
use crate::context::{CONST_BANKS, FAULT_AT_DOUBLE_WORDS, FAULT_AT_WORDS, at};
use crate::error::Error;
use crate::even_address::{is_descending, is_even};
use crate::flow::Flow;
use crate::operands::{MemoryOperands, arg, known_of_fault, malformed, result, wide};

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
    /// Bytes from lane to lane where lanes lie side by side or evenly apart; below zero where they lie side by side from the last to the
    /// first.
    pub step: i8,
    /// What is loaded or stored right behind, up to the next lane's: see [`Lower::accessed_behind`].
    pub rest: Vec<Value>,
}

impl<'a> Access<'a> {
    /// An access of its own, of lanes side by side if anything.
    pub fn new(
        data: &'a InstData,
        mem: MemAccess,
        value: Option<Value>,
        guard: Option<Value>,
        address: Address,
    ) -> Self {
        Access { data, mem, value, guard, address, step: mem.bytes as i8, rest: Vec::new() }
    }

    pub fn offset(&self) -> u32 {
        self.mem.offset as u32
    }
}

/// Stretches of shared memory that are tested at once, in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub space: Space,
    /// The address, unless it is a constant.
    pub address: Option<Value>,
    /// The sixteen lanes, where the address has a scalar for each.
    pub group: usize,
    pub far: bool,
    /// Host address of the address's place.
    pub place: R,
    /// Whether all is inside (0 or 1).
    pub inside: R,
    /// How far was tested, from the address on.
    pub reach: u64,
}

/// Bytes from the first of sixteen lanes in ascending order to behind the last one's, with what is accessed right behind.
fn reach(x: &Access<'_>) -> u64 {
    15 * u64::from(x.step.unsigned_abs()) + u64::from(x.mem.bytes) * (1 + x.rest.len() as u64)
}

impl Lower<'_> {
    pub fn memory(&mut self, data: &InstData) -> Result<(), Error> {
        let operands = MemoryOperands::of(data)?;
        if wide(self.scalar_of(operands.address)) {
            return self.wide_memory(data, operands);
        }
        let MemoryOperands { mem, address: a, value, guard } = operands;
        let low16 = !matches!(mem.space, Space::Global(_)) && !mem.far;
        let scalars = |l: &mut Self, count| l.each_group(count, |l| l.general(a));
        let address = match self.forms.of(a) {
            Form::Uniform => Address::Uniform(scalars(self, self.spans(a))?),
            Form::Affine { stride, .. } => Address::Affine(scalars(self, self.groups)?, stride),
            Form::Affine16 { stride } if low16 => Address::Affine(scalars(self, self.groups)?, stride),
            _ => Address::Lanes(self.regs(a)?.to_vec()),
        };
        let mut x = Access::new(data, mem, value, guard, address);
        self.check_alignment(&x)?;
        let global = matches!(mem.space, Space::Global(_));
        let shared = mem.space == Space::Shared;
        let mut even = false;
        if let (true, &Address::Affine(_, stride)) = (global || shared, &x.address) {
            even = is_even(mem.bytes, i64::from(stride));
            x.step = if even { stride as i8 } else { mem.bytes as i8 };
            // Where the bounds of shared memory are tested nothing faults.
            x.rest = self.accessed_behind(&x, shared);
        }
        let lanes = (global || shared) && matches!(x.address, Address::Lanes(_));
        let lines = lanes.then(|| self.along_lines_at(&x, a)).flatten();
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
            Address::Affine(s, stride)
                if even || mem.space != Space::Local && *stride == i32::from(mem.bytes) =>
            {
                match global {
                    true => {
                        let loaded = self.contiguous_global(&x, s, self.apart[a.index()])?;
                        self.give(&x, loaded)
                    }
                    false => self.contiguous_bounded(&x),
                }
            }
            Address::Affine(s, stride)
                if (global || shared) && is_descending(mem.bytes, i64::from(*stride)) =>
            {
                x.step = *stride as i8;
                let firsts = s.clone();
                self.descending(&x, &firsts)
            }
            _ if let Some(x) = lines => match global {
                true => {
                    let loaded = self.narrow_by_lines(&x, a)?;
                    self.give(&x, loaded)
                }
                false => self.bounded_by_lines(&x, a),
            },
            _ if global => {
                let loaded = self.global_lanes(&x)?;
                self.give(&x, loaded)
            }
            _ => self.bounded_lanes(&x),
        }
    }

    /// 32-bit addresses with the offset, zero-extended.
    pub fn global_places(&mut self, scalars: &[R], mem: MemAccess) -> Vec<R> {
        scalars
            .iter()
            .map(|&s| {
                let first = self.a.add_imm(false, s, i64::from(mem.offset));
                self.a.low32(first)
            })
            .collect()
    }

    /// Global memory at 32-bit addresses in ascending order, `firsts` being the first lane's of each sixteen, `apart` bytes one behind the
    /// other if that is known.
    fn contiguous_global(
        &mut self,
        x: &Access<'_>,
        firsts: &[R],
        apart: Option<i32>,
    ) -> Result<Vec<R>, Error> {
        let base = self.base(x.mem.space);
        let different = if apart == Some(0) { 1 } else { firsts.len() };
        let places = self.global_places(&firsts[..different], x.mem);
        let end = reach(x);
        // What the first place tells of all.
        let further = apart.and_then(|apart| u64::try_from(apart).ok()).map(|n| n * (different as u64 - 1));
        let ends = match further.map(|n| n + end).filter(|&end| end < 1 << 31) {
            Some(end) => vec![(places[0], end)],
            None => places.iter().map(|&place| (place, end)).collect(),
        };
        let run = |l: &mut Self| {
            let places = places.iter().map(|&p| Mem::at(l.a.add(true, base, p), 0));
            let places: Vec<Mem> = places.collect();
            let places: Vec<Mem> = (0..l.groups).map(|g| places[g.min(different - 1)]).collect();
            l.run(x, &places)
        };
        self.unless_wrapping(x, &ends, run)
    }

    /// Either `run`, or lanes at their own addresses where one of these passes the end of 32 bits: it begins again at
    /// 0. `ends`: places, zero-extended, and how many bytes from there on are accessed.
    pub fn unless_wrapping(
        &mut self,
        x: &Access<'_>,
        ends: &[(R, u64)],
        run: impl FnOnce(&mut Self) -> Result<Vec<R>, Error>,
    ) -> Result<Vec<R>, Error> {
        // Made here, so that they are good behind.
        self.make_values(x)?;
        self.guard(x.guard)?;
        let (quick, slow, end) = (self.a.block(), self.a.cold_block(), self.a.block());
        match ends {
            &[(place, bytes)] => {
                // The last place from which so many bytes are below 2^32.
                self.a.cmp_imm(false, place, (bytes as u32).wrapping_neg() as i32);
                self.a.branch(Flags::Above, (slow, &[]), (quick, &[]));
            }
            _ => {
                let lasts = ends.iter().map(|&(place, bytes)| self.a.add_imm(true, place, bytes as i64 - 1));
                let lasts: Vec<R> = lasts.collect();
                let any = lasts.into_iter().reduce(|a, b| self.a.g2(true, OR, a, b));
                let beyond = self.a.shift(true, SHR, any.ok_or_else(|| malformed(x.data))?, 32);
                self.a.test(true, beyond, beyond);
                self.a.branch(Flags::NotEqual, (slow, &[]), (quick, &[]));
            }
        }
        self.a.switch_to(quick);
        let loaded = self.aside(run)?;
        self.a.jump(end, &loaded);
        self.a.switch_to(slow);
        let lanes = self.aside(|l| l.global_lanes(x))?;
        self.a.jump(end, &lanes);
        let params = lanes.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        Ok(params)
    }

    /// Defines a load's result by vectors.
    pub fn give(&mut self, x: &Access<'_>, parts: Vec<R>) -> Result<(), Error> {
        if x.value.is_none() {
            let count = parts.len() / (1 + x.rest.len());
            let results = std::iter::once(result(x.data)?).chain(x.rest.iter().copied());
            results.zip(parts.chunks(count)).for_each(|(r, parts)| self.define_vectors(r, parts.to_vec()));
        }
        Ok(())
    }

    /// Host address of a space's byte 0.
    pub fn base(&mut self, space: Space) -> R {
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
        let v = self.a.load_fixed(true, Mem::at(self.context, offset));
        if !self.aside {
            self.known.bases.push((space, v));
        }
        v
    }

    /// Bytes of a bounded space, zero-extended.
    pub fn space_bytes(&mut self, space: Space) -> Option<R> {
        let offset = match space {
            Space::Shared => at::SHARED_BYTES,
            Space::Local => at::LOCAL_BYTES,
            _ => return None,
        };
        Some(self.a.load_fixed(false, Mem::at(self.context, offset)))
    }

    /// The first offset at which an access of so many bytes is not inside any more; none where all is.
    pub fn limit(&mut self, space: Space, bytes: u8) -> Option<R> {
        if let Some(&(.., r)) = self.known.limits.iter().find(|l| (l.0, l.1) == (space, bytes)) {
            return Some(r);
        }
        let size = self.space_bytes(space)?;
        let zero = self.a.imm(false, 0);
        let less = self.a.add_imm(false, size, 1 - i64::from(bytes));
        // Below where the space is smaller than the access.
        self.a.cmp_imm(false, size, i32::from(bytes) - 1);
        let limit = self.a.pick_if(Code::Cmovb_r64_rm64, zero, less);
        if !self.aside {
            self.known.limits.push((space, bytes, limit));
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
        let guarded = !self.is_entry(guard);
        if guarded {
            let bits = self.guard_bits(guard)?;
            self.a.store64g(Mem::at(self.context, at::GUARD_LANES), bits);
        }
        Ok(guarded)
    }

    /// Jumps to where a fault of a lane (of the chunk) at an address is recorded.
    pub fn jump_to_fault(&mut self, data: &InstData, mem: MemAccess, lane: R, address: R) {
        let target = self.fault_target();
        for (place, word) in known_of_fault(data, mem) {
            self.a.store_imm32(Mem::at(self.context, place), word as i32);
        }
        self.a.jump(target, &[lane, address]);
    }

    /// Faults where an access is denied to a lane that takes part: with the lowest of these, or one below that is not aligned.
    pub fn deny(&mut self, data: &InstData) -> Result<(), Error> {
        let MemoryOperands { mem, address, value, guard } = MemoryOperands::of(data)?;
        let is_wide = wide(self.scalar_of(address));
        if is_wide || mem.offset != 0 {
            return Err(malformed(data));
        }
        let lanes = self.guard(guard)?;
        let denied = self.guard(value)?;
        let both = |l: &mut Self, code, a: &[R], b: &[R]| -> Vec<R> {
            a.iter().zip(b).map(|(&a, &b)| l.a.k3(code, a, b)).collect()
        };
        let denied = both(self, Code::VEX_Kandw_kr_kr_kr, &denied, &lanes);
        let go_on = self.if_any(&denied);
        let parts = self.aside(|l| Ok::<_, Error>(l.regs(address)?.to_vec()))?;
        let odd = self.misaligned(mem, &parts, &lanes);
        let bad = both(self, Code::VEX_Korw_kr_kr_kr, &denied, &odd);
        self.fault_lowest(data, mem, &bad, &lanes, (&parts, false));
        self.a.switch_to(go_on);
        Ok(())
    }

    /// Faults if any lane of `bad`, among those of `guard`, holds; the addresses are vectors of i32 or (`is_wide`) of i64.
    pub fn fault_lanes(
        &mut self,
        data: &InstData,
        mem: MemAccess,
        bad: &[R],
        guard: &[R],
        addresses: (&[R], bool),
    ) {
        let go_on = self.if_any(bad);
        self.fault_lowest(data, mem, bad, guard, addresses);
        self.a.switch_to(go_on);
    }

    /// Goes on in cold code for where any lane of a mask holds; gives the block for where none does.
    fn if_any(&mut self, mask: &[R]) -> HostBlock {
        self.test_any(mask);
        let (cold, go_on) = (self.a.cold_block(), self.a.block());
        self.a.branch(Flags::NotEqual, (cold, &[]), (go_on, &[]));
        self.a.switch_to(cold);
        go_on
    }

    /// Faults with the lowest lane of `bad`, or of `guard` one below that lies where nothing is mapped ([`Context::lowest_fault`]).
    ///
    /// [`Context::lowest_fault`]: crate::Context::lowest_fault
    fn fault_lowest(
        &mut self,
        data: &InstData,
        mem: MemAccess,
        bad: &[R],
        guard: &[R],
        (parts, is_wide): (&[R], bool),
    ) {
        let bits = self.bits_of_masks(bad);
        let lane = self.a.g1(Code::Tzcnt_r64_rm64, bits, Size::Q, Size::Q);
        self.note_addresses(parts);
        if matches!(mem.space, Space::Global(_)) {
            let bits = self.bits_of_masks(guard);
            self.a.store64g(Mem::at(self.context, at::GUARD_LANES), bits);
            let width = if is_wide { FAULT_AT_DOUBLE_WORDS } else { FAULT_AT_WORDS };
            let width = self.a.imm(false, width.into());
            self.a.store32(Mem::at(self.context, at::FAULT_LANES), width);
        }
        let scale = if is_wide { 8 } else { 4 };
        let place = Mem::indexed(self.context, lane, scale, at::LANE_ADDRESSES);
        let mut address = if is_wide { self.a.load64g(place) } else { self.a.load32(place) };
        if !is_wide && !matches!(mem.space, Space::Global(_)) && !mem.far {
            address = self.a.g2i(false, AND_IMM, address, 0xffff);
        }
        self.jump_to_fault(data, mem, lane, address);
    }

    pub fn check_alignment(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let (mem, data) = (x.mem, x.data);
        let Some(test) = AlignmentTest::of(self.f, data, mem, x.guard)? else { return Ok(()) };
        if self.known.aligned.contains(&test) {
            return Ok(());
        }
        let low = test.low();
        match &x.address {
            // A stride that keeps the alignment: what the scalars say holds for all their lanes.
            Address::Uniform(s) | Address::Affine(s, _) if !matches!(&x.address, Address::Affine(_, stride) if *stride as u32 & low != 0) =>
            {
                let a = arg(data, 0)?;
                // Where the first sixteen's tells all, and is as well aligned.
                let one = self.scalars(a) == 1 && self.further(a, 1) as u32 & low == 0;
                let count = if one { 1 } else { s.len() };
                let places = s[..count].iter().map(|&s| match test.place {
                    0 => s,
                    n => self.a.add_imm(false, s, n.into()),
                });
                let places: Vec<R> = places.collect();
                let bits = places.into_iter().reduce(|a, b| self.a.g2(false, OR, a, b));
                self.a.test_imm(bits.ok_or_else(|| malformed(data))?, low as i32);
                let (cold, go_on) = (self.a.cold_block(), self.a.block());
                self.a.branch(Flags::NotEqual, (cold, &[]), (go_on, &[]));
                self.a.switch_to(cold);
                self.aside(|l| l.check_alignment_of_lanes(x))?;
                self.a.jump(go_on, &[]);
                self.a.switch_to(go_on);
            }
            _ => self.check_alignment_of_lanes(x)?,
        }
        if !self.aside {
            self.known.aligned.push(test);
        }
        Ok(())
    }

    /// Tests the alignment of each lane that takes part.
    fn check_alignment_of_lanes(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let parts = self.address_parts(x);
        let guard = self.guard(x.guard)?;
        let bad = self.misaligned(x.mem, &parts, &guard);
        self.fault_lanes(x.data, x.mem, &bad, &guard, (&parts, false));
        Ok(())
    }

    /// Those lanes of a guard whose addresses, of words, are not aligned.
    fn misaligned(&mut self, mem: MemAccess, parts: &[R], guard: &[R]) -> Vec<R> {
        let low = u32::from(mem.align.max(1)) - 1;
        let back = u32::from(mem.align_offset) & low;
        let odd = |(&p, &k): (&R, &R)| {
            let p = match back {
                0 => p,
                n => self.a.v3(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, p, Src::C32(n)),
            };
            self.a.vtestm(TEST[0], k, p, Src::C32(low))
        };
        parts.iter().zip(guard).map(odd).collect()
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
}
