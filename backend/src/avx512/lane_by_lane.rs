//! Accesses one lane after the other: what has no instruction of its own, what is out of bounds.

use iced_x86::Code;
use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::Space;

use super::asm::{A, Mem, R, Src, With};
use super::code::{Flags, Size};
use super::int::{CMPU, LESS};
use super::lower::Lower;
use super::memory::{Access, Address};
use crate::context::{at, encode_space};
use crate::error::Error;
use crate::operands::malformed;
use crate::trap::TrapLane;

impl Lower<'_> {
    /// Puts what an access is where the helper finds it.
    pub fn describe(&mut self, x: &Access<'_>) {
        let word = crate::wide_helpers::describe_access(
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
    pub fn by_helper(&mut self, x: &Access<'_>) -> Result<Vec<R>, Error> {
        if !x.rest.is_empty() {
            return self.one_after_another(x, Self::by_helper);
        }
        if !self.is_guarded(x) {
            return self.call_helper(x);
        }
        // Warps of which no lane takes part are often those whose addresses are out of bounds.
        let bits = self.guard_bits(x.guard)?;
        if let Some(v) = x.value {
            // Made here, so that it is good behind.
            self.regs(v)?;
        }
        let count = match (x.value, x.mem.bytes) {
            (Some(_), _) => 0,
            (None, 8) => 2 * self.groups,
            (None, _) => self.groups,
        };
        let zero = self.a.constant(false, 0);
        let (go, end) = (self.a.block(), self.a.block());
        self.a.test(true, bits, bits);
        self.a.branch(Flags::NotEqual, (go, &[]), (end, &vec![zero; count]));
        self.a.switch_to(go);
        let loaded = self.aside(|l| l.call_helper(x))?;
        self.a.jump(end, &loaded);
        let params = loaded.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        Ok(params)
    }

    fn call_helper(&mut self, x: &Access<'_>) -> Result<Vec<R>, Error> {
        self.note_access(x)?;
        self.call_preserving(at::ACCESS_WIDE);
        if x.value.is_some() {
            return Ok(Vec::new());
        }
        Ok(self.lane_values(x.mem.bytes))
    }

    /// Puts an access into the context: addresses, lanes, values, what it is.
    pub fn note_access(&mut self, x: &Access<'_>) -> Result<(), Error> {
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

    /// An access of lanes side by side of which some may be out of bounds. For loads of words that is not rare: a round of a reduction
    /// looks at `l + s` for all lanes, and what those that are done get is not used.
    pub fn partly_outside(&mut self, x: &Access<'_>) -> Result<Vec<R>, Error> {
        let side_by_side = matches!(x.address, Address::Affine(_, 4)) && x.rest.is_empty();
        let loads_words = x.value.is_none() && x.mem.bytes == 4;
        if !side_by_side || !loads_words || !x.mem.far || x.mem.space != Space::Shared {
            return self.by_helper(x);
        }
        let Some(limit) = self.limit(x.mem.space, x.mem.bytes) else { return Err(malformed(x.data)) };
        let base = self.base(x.mem.space);
        let limit = self.a.splat(false, limit);
        let loaded = self.address_parts(x).into_iter().map(|index| {
            let inside = self.a.vcmp(CMPU[0], index, Src::R(limit), LESS);
            // Below zero where the first lanes are out of bounds on that side.
            let first = self.a.first32(index);
            let first = self.a.g1(Code::Movsxd_r64_rm32, first, Size::Q, Size::D);
            let with = With { mask: Some(inside), zeroing: true, ..With::default() };
            self.a.vload(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, Mem::indexed(base, first, 1, 0), with)
        });
        Ok(loaded.collect())
    }

    /// The slow way of an access in its own block, then what follows: defines the result as what either way has loaded.
    pub fn slow_way(&mut self, x: &Access<'_>, slow: HostBlock, end: HostBlock) -> Result<(), Error> {
        self.a.switch_to(slow);
        let loaded = self.aside(|l| l.partly_outside(x))?;
        self.a.jump(end, &loaded);
        let params: Vec<R> = loaded.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        self.give(x, params)
    }

    /// One access after the other, the addresses being in the context.
    pub fn lane_loop(
        &mut self,
        x: &Access<'_>,
        base: R,
        is_wide: bool,
        guarded: bool,
    ) -> Result<Vec<R>, Error> {
        let bits = self.guard_bits(x.guard)?;
        let site = self.site(x.data, TrapLane::Gather { first: 0, wide: is_wide, guarded });
        self.loop_over(x, base, is_wide, bits, site)
    }

    /// Stores of less than a word in the lanes of `masks`, which are all inside: there are no scatters of those.
    pub fn narrow_stores(
        &mut self,
        x: &Access<'_>,
        base: R,
        indices: &[R],
        masks: &[R],
    ) -> Result<Vec<R>, Error> {
        self.note_addresses(indices);
        let bits = self.bits_of_masks(masks);
        self.loop_over(x, base, false, bits, None)
    }

    /// One access after the other, in the lanes of `bits`, the addresses being in the context.
    fn loop_over(
        &mut self,
        x: &Access<'_>,
        base: R,
        is_wide: bool,
        bits: R,
        site: Option<u32>,
    ) -> Result<Vec<R>, Error> {
        let mem = x.mem;
        if let Some(v) = x.value {
            for (n, &p) in self.regs(v)?.iter().enumerate() {
                self.a.store64(Mem::at(self.context, at::LANE_VALUES + 64 * n as i32), p);
            }
        }
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

    /// What the lanes' values in the context are.
    pub fn lane_values(&mut self, bytes: u8) -> Vec<R> {
        let count = if bytes == 8 { 2 * self.groups } else { self.groups };
        (0..count).map(|n| self.a.load64(Mem::at(self.context, at::LANE_VALUES + 64 * n as i32))).collect()
    }
}
