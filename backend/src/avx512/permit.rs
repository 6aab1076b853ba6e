//! Permits: whether lanes lie inside the window of their site ([`crate::permits`]). Where they are on a line that is known the first and the
//! last tell; else each is compared. Where one is not inside, cold code asks the runtime about those that take part.

use iced_x86::Code;
use regalloc2::Block as HostBlock;
use warpjit_ir::{Inst, InstData, Value};

use super::asm::{A, Mem, R, Src, With};
use super::code::{Flags, Size};
use super::lower::Lower;
use super::places::MOST_OFFSET;
use crate::affine::Form;
use crate::context::at;
use crate::error::Error;
use crate::even_address::{EvenAddress, step_of};
use crate::operands::{MemoryOperands, is_load, malformed, wide};
use crate::permits::{self, LIMIT, MORE, MOST_STEP, PERMIT};
use crate::translate::describe;

/// Not less.
const NOT_LESS: u8 = 5;

impl Lower<'_> {
    /// A permit of an access. Those that stand together are one: it is asked where the first stands.
    pub fn permit(&mut self, inst: Inst) -> Result<(), Error> {
        let all = permits::together(self.f, self.blocks.current, inst)?;
        let Some(&data) = all.first() else { return Ok(()) };
        let MemoryOperands { address, guard, .. } = MemoryOperands::of(data)?;
        if !wide(self.scalar_of(address)) {
            return Err(malformed(data));
        }
        // Made here, so that they are good behind.
        self.guard(guard)?;
        let bits = self.guard_bits(guard)?;
        let reach = permits::reach(&all)?;
        let (cold, end) = (self.a.cold_block(), self.a.block());
        self.unless_inside(data, address, reach, cold)?;
        self.a.jump(end, &[]);
        self.a.switch_to(cold);
        let ask = self.a.cold_block();
        self.a.test(true, bits, bits);
        self.a.branch(Flags::NotEqual, (ask, &[]), (end, &[]));
        self.a.switch_to(ask);
        self.aside(|l| {
            let parts = l.address_parts_of(address)?;
            for (n, &data) in all.iter().enumerate() {
                l.ask_permit(data, &parts, bits, n + 1 < all.len())?;
            }
            Ok::<_, Error>(())
        })?;
        self.a.jump(end, &[]);
        self.a.switch_to(end);
        Ok(())
    }

    /// The number of the window for so many bytes, of a load or a store.
    fn site_for(&mut self, bytes: u64, stores: bool) -> Option<u32> {
        let site = permits::site(self.next_site, bytes, stores)?;
        self.next_site += 1;
        Some(site)
    }

    /// Goes to `cold` where a lane is not inside the window; `from` and `to`: where an access begins and ends, from the address on.
    fn unless_inside(
        &mut self,
        data: &InstData,
        address: Value,
        (from, to): (i64, i64),
        cold: HostBlock,
    ) -> Result<(), Error> {
        let MemoryOperands { mem, guard, .. } = MemoryOperands::of(data)?;
        let stores = !is_load(data.op);
        if self.forms.of(address) == Form::Uniform {
            let site = self.site_for((to - from) as u64, stores).ok_or_else(|| malformed(data))?;
            self.own_site = site;
            let firsts = self.each_group(self.spans(address), |l| l.general(address))?;
            firsts.iter().for_each(|&first| self.unless_one_inside(first, from, site, cold));
            return Ok(());
        }
        if let Some(step) =
            step_of(self.f, &self.forms, address).filter(|step| step.unsigned_abs() <= MOST_STEP)
        {
            let (root, more) = self.without_constants(address);
            let (root, more) = if more.abs() < MOST_OFFSET { (root, more) } else { (address, 0) };
            let start = self.start_of(root, mem.space)?;
            let (bad, firsts, apart) = start.parts();
            let far = apart.map_or(0, |apart| i64::from(apart) * (self.groups as i64 - 1));
            let low = from + (15 * step).min(0) + far.min(0);
            let high = to + (15 * step).max(0) + far.max(0);
            if let Some(site) = self.site_for((high - low) as u64, stores) {
                self.own_site = site;
                if let Some(bad) = bad {
                    let good = self.a.block();
                    self.a.test(true, bad, bad);
                    self.a.branch(Flags::NotEqual, (cold, &[]), (good, &[]));
                    self.a.switch_to(good);
                }
                firsts.iter().for_each(|&first| self.unless_one_inside(first, more + low, site, cold));
                return Ok(());
            }
        }
        let site = self.site_for((to - from) as u64, stores).ok_or_else(|| malformed(data))?;
        self.own_site = site;
        let parts = self.address_parts_of(address)?;
        let masks = self.guard(guard)?;
        let masks = self.widen(&masks);
        let (start, limit) = self.window(site);
        let start = self.a.load64g(start);
        // Where the first byte of what begins before the address must be.
        let start = self.a.add_imm(true, start, -from);
        let start = self.a.splat(true, start);
        let limit = self.a.load64g(limit);
        let limit = self.a.splat(true, limit);
        let mut outside = Vec::new();
        for (&part, &mask) in parts.iter().zip(&masks) {
            let behind = self.a.v3(Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64, part, Src::R(start));
            let code = Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8;
            outside.push(self.a.vcmpm(code, mask, behind, Src::R(limit), NOT_LESS));
        }
        self.test_any(&outside);
        let inside = self.a.block();
        self.a.branch(Flags::NotEqual, (cold, &[]), (inside, &[]));
        self.a.switch_to(inside);
        Ok(())
    }

    /// Where the start and the limit of a window are.
    fn window(&mut self, site: u32) -> (Mem, Mem) {
        let windows = self.a.load_fixed(true, Mem::at(self.context, at::WINDOWS));
        let place = permits::place(site);
        (Mem::at(windows, place), Mem::at(windows, place + LIMIT))
    }

    /// Goes to `cold` unless what lies so far from an address begins inside a window.
    fn unless_one_inside(&mut self, address: R, more: i64, site: u32, cold: HostBlock) {
        let (start, limit) = self.window(site);
        let first = self.a.add_imm(true, address, more);
        let behind = self.a.gpr();
        let args = [A::Reuse(behind, first, Size::Q), A::Mem(start)];
        self.a.put(Code::Sub_r64_rm64, &args, With::default());
        self.a.put(Code::Cmp_r64_rm64, &[A::Use(behind, Size::Q), A::Mem(limit)], With::default());
        let inside = self.a.block();
        self.a.branch(Flags::GreaterEqual, (cold, &[]), (inside, &[]));
        self.a.switch_to(inside);
    }

    /// Asks the runtime about the lanes of `bits`, and faults if one may not make the access. `more`: others stand behind.
    fn ask_permit(&mut self, data: &InstData, parts: &[R], bits: R, more: bool) -> Result<(), Error> {
        let MemoryOperands { mem, value, .. } = MemoryOperands::of(data)?;
        let parts = self.moved(parts, mem.offset.into());
        self.note_addresses(&parts);
        self.a.store64g(Mem::at(self.context, at::GUARD_LANES), bits);
        if let Some(v) = value {
            for (n, &p) in self.regs(v)?.iter().enumerate() {
                self.a.store64(Mem::at(self.context, at::LANE_VALUES + 64 * n as i32), p);
            }
        }
        let (access, alignment) = describe(mem, !is_load(data.op), self.f.lanes);
        let request = alignment | PERMIT | if more { MORE } else { 0 };
        self.a.store_imm32(Mem::at(self.context, at::ACCESS), access as i32);
        self.a.store_imm32(Mem::at(self.context, at::ATOMIC), request as i32);
        self.a.store_imm32(Mem::at(self.context, at::PERMIT_SITE), self.own_site as i32 + 1);
        self.call_preserving(at::TRANSLATE_WIDE);
        self.fault_if_odd(data, mem);
        Ok(())
    }

    /// The lanes of an atomic that are not inside its window, by eights, of `masks`.
    pub fn atomics_outside(&mut self, addresses: &[R], masks: &[R], bytes: u8) -> Result<Vec<R>, Error> {
        let site =
            self.site_for(bytes.into(), true).ok_or_else(|| Error::Malformed("a large atomic".into()))?;
        self.own_site = site;
        let (start, limit) = self.window(site);
        let [start, limit] = [start, limit].map(|place| {
            let word = self.a.load64g(place);
            self.a.splat(true, word)
        });
        let outside = addresses.iter().zip(masks).map(|(&part, &mask)| {
            let behind = self.a.v3(Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64, part, Src::R(start));
            let code = Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8;
            self.a.vcmpm(code, mask, behind, Src::R(limit), NOT_LESS)
        });
        Ok(outside.collect())
    }
}
