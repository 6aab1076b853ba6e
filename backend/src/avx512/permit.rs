//! Permits: whether lanes lie inside the window of their site ([`crate::permits`]).
//!
//! A scalar is compared with the window's bounds. It tells all lanes where they have one address, or lie on a line that is known or has
//! been tested: then the window must hold all from the first lane's access to the last's. Elsewhere each lane is compared. Where one is not
//! inside, cold code asks the runtime about those that take part.
//!
//! An access that has a quick and a slow way asks by itself ([`Asked`]): the quick way of the scalar, the slow way of each lane. What is
//! not inside for the quick way is asked for and goes on in the slow way, behind its own question.

use iced_x86::Code;
use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::{Inst, InstData};

use super::asm::{A, Mem, R, Src, With};
use super::code::{Flags, Size};
use super::lower::Lower;
use super::places::MOST_OFFSET;
use crate::affine::Form;
use crate::context::at;
use crate::error::Error;
use crate::even_address::{EvenAddress, step_of};
use crate::operands::{MemoryOperands, is_load, malformed, wide};
use crate::permits::{self, FROM, LIMIT, MORE, MOST_STEP, PAST, PERMIT};
use crate::translate::describe;

/// Not less.
const NOT_LESS: u8 = 5;

/// What is asked before an access.
pub(super) type Asked<'a> = permits::Asked<'a, R>;

/// What is asked on the slow way of an access: of each lane, whatever the quick way has asked.
pub(super) struct Slow<'a> {
    asked: Asked<'a>,
    /// Where the quick way goes with lanes that are not inside its window, and the window's number; `None`: it asks of all lanes by itself.
    quick: Option<(HostBlock, u32)>,
}

/// How far before and behind the first lane others are: sixteen lanes `step` bytes from each other, the last sixteen `far` from the first.
pub(super) fn lanes_reach(step: i64, far: i64) -> (i64, i64) {
    ((15 * step).min(0) + far.min(0), (15 * step).max(0) + far.max(0))
}

impl<'a> Lower<'a> {
    /// A permit of an access. Those that stand together are one: it is asked where the first stands, or by the access behind them.
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
        let access = permits::access_behind(self.f, self.blocks.current, inst, &all);
        let asked = Asked { all, address, guard, bits, reach, access };
        if access.is_some() {
            self.asked = Some(asked);
            return Ok(());
        }
        self.ask(&asked)
    }

    /// Asks before an access that does not ask by itself.
    pub fn ask(&mut self, asked: &Asked<'a>) -> Result<(), Error> {
        let (cold, end) = (self.a.cold_block(), self.a.block());
        let site = self.unless_inside(asked, cold)?;
        self.a.jump(end, &[]);
        self.a.switch_to(cold);
        let site = self.a.imm(false, u64::from(site) + 1);
        self.ask_runtime(asked, site, end)?;
        self.a.switch_to(end);
        Ok(())
    }

    /// Asks for an access whose lanes are known to lie `step` bytes from each other. `firsts` tells the address of the first of each
    /// sixteen, plus `more`; or of the first sixteen's alone, from which the last's is `far`. Gives what is to be asked on the slow way.
    /// Asks of all lanes, on both ways, where no window is for so many bytes.
    pub fn ask_of_firsts(
        &mut self,
        asked: Asked<'a>,
        firsts: &[R],
        (more, step, far): (i64, i64, i64),
    ) -> Result<Slow<'a>, Error> {
        let (lowest, highest) = lanes_reach(step, far);
        let span = (lowest - more, highest - more);
        let Some((site, low)) = asked.next_site_of(&mut self.next_site, span) else {
            self.aside(|l| l.ask(&asked))?;
            return Ok(Slow { asked, quick: None });
        };
        let outside = self.a.cold_block();
        firsts.iter().for_each(|&first| self.unless_one_inside(first, low, site, outside));
        Ok(Slow { asked, quick: Some((outside, site)) })
    }

    /// Asks of each lane, on the slow way of an access. Goes on behind that also from where the quick way has led elsewhere.
    pub fn ask_slowly(&mut self, slow: Slow<'a>) -> Result<(), Error> {
        let Slow { asked, quick } = slow;
        let (ask, cold, end) = (self.a.cold_block(), self.a.cold_block(), self.a.cold_block());
        let own = self.unless_lanes_inside(&asked, cold)?;
        self.a.jump(end, &[]);
        for (block, site) in quick.into_iter().chain([(cold, own)]) {
            self.a.switch_to(block);
            let site = self.a.imm(false, u64::from(site) + 1);
            self.a.jump(ask, &[site]);
        }
        let site = self.a.param(ask, RegClass::Int);
        self.a.switch_to(ask);
        self.ask_runtime(&asked, site, end)?;
        self.a.switch_to(end);
        Ok(())
    }

    /// Asks the runtime about the lanes that take part, and goes on elsewhere. `site`: which window it is to open, by its number plus 1.
    fn ask_runtime(&mut self, asked: &Asked<'a>, site: R, end: HostBlock) -> Result<(), Error> {
        let ask = self.a.cold_block();
        self.a.test(true, asked.bits, asked.bits);
        self.a.branch(Flags::NotEqual, (ask, &[]), (end, &[]));
        self.a.switch_to(ask);
        self.aside(|l| {
            let parts = l.address_parts_of(asked.address)?;
            for (n, &data) in asked.all.iter().enumerate() {
                l.ask_permit(data, &parts, (asked.bits, site), n + 1 < asked.all.len())?;
            }
            Ok::<_, Error>(())
        })?;
        self.a.jump(end, &[]);
        Ok(())
    }

    /// Goes to `cold` where a lane is not inside the window, of which it gives the number.
    fn unless_inside(&mut self, asked: &Asked<'a>, cold: HostBlock) -> Result<u32, Error> {
        let &Asked { address, reach: (from, _), .. } = asked;
        if self.forms.of(address) == Form::Uniform {
            let site = asked.next_site(&mut self.next_site)?;
            let firsts = self.each_group(self.spans(address), |l| l.general(address))?;
            firsts.iter().for_each(|&first| self.unless_one_inside(first, from, site, cold));
            return Ok(site);
        }
        if let Some(step) =
            step_of(self.f, &self.forms, address).filter(|step| step.unsigned_abs() <= MOST_STEP)
        {
            let (root, more) = self.without_constants(address);
            let (root, more) = if more.abs() < MOST_OFFSET { (root, more) } else { (address, 0) };
            let start = self.start_of(root, warpjit_ir::Space::Global(0))?;
            let (bad, firsts, far) = start.parts(self.groups);
            if let Some((site, low)) = asked.next_site_of(&mut self.next_site, lanes_reach(step, far)) {
                if let Some(bad) = bad {
                    let good = self.a.block();
                    self.a.test(true, bad, bad);
                    self.a.branch(Flags::NotEqual, (cold, &[]), (good, &[]));
                    self.a.switch_to(good);
                }
                firsts.iter().for_each(|&first| self.unless_one_inside(first, more + low, site, cold));
                return Ok(site);
            }
        }
        self.unless_lanes_inside(asked, cold)
    }

    /// The same, where nothing is known of how lanes lie.
    fn unless_lanes_inside(&mut self, asked: &Asked<'a>, cold: HostBlock) -> Result<u32, Error> {
        let site = asked.next_site(&mut self.next_site)?;
        let parts = self.address_parts_of(asked.address)?;
        let masks = self.guard(asked.guard)?;
        let masks = self.widen(&masks);
        let outside = self.lanes_outside(site, asked.reach.0, &parts, &masks);
        self.test_any(&outside);
        let inside = self.a.block();
        self.a.branch(Flags::NotEqual, (cold, &[]), (inside, &[]));
        self.a.switch_to(inside);
        Ok(site)
    }

    /// Those of some lanes, by eights, that are not inside a window with what begins so far from their addresses.
    fn lanes_outside(&mut self, site: u32, from: i64, parts: &[R], masks: &[R]) -> Vec<R> {
        let windows = self.windows_place();
        let place = permits::place(site);
        let start = self.a.load64g(Mem::at(windows, place));
        let start = self.a.add_imm(true, start, -from);
        let start = self.a.splat(true, start);
        let limit = self.a.load64g(Mem::at(windows, place + LIMIT));
        let limit = self.a.splat(true, limit);
        let outside = |(&part, &mask): (&R, &R)| {
            let behind = self.a.v3(Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64, part, Src::R(start));
            let code = Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8;
            self.a.vcmpm(code, mask, behind, Src::R(limit), NOT_LESS)
        };
        parts.iter().zip(masks).map(outside).collect()
    }

    /// Where the windows are.
    fn windows_place(&mut self) -> R {
        self.a.load_fixed(true, Mem::at(self.context, at::WINDOWS))
    }

    /// Goes to `cold` unless what lies so far from an address begins inside a window.
    fn unless_one_inside(&mut self, address: R, more: i64, site: u32, cold: HostBlock) {
        let windows = self.windows_place();
        let first = self.a.add_imm(true, address, more);
        for (bound, outside) in [(FROM, Flags::Below), (PAST, Flags::AboveEqual)] {
            let bound = A::Mem(Mem::at(windows, permits::place(site) + bound));
            self.a.put(Code::Cmp_r64_rm64, &[A::Use(first, Size::Q), bound], With::default());
            let inside = self.a.block();
            self.a.branch(outside, (cold, &[]), (inside, &[]));
            self.a.switch_to(inside);
        }
    }

    /// Asks the runtime about the lanes of `bits`, and faults if one may not make the access. `more`: others stand behind.
    fn ask_permit(
        &mut self,
        data: &InstData,
        parts: &[R],
        (bits, site): (R, R),
        more: bool,
    ) -> Result<(), Error> {
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
        self.a.store32(Mem::at(self.context, at::PERMIT_SITE), site);
        self.call_preserving(at::TRANSLATE_WIDE);
        self.fault_if_odd(data, mem);
        Ok(())
    }

    /// The lanes of an atomic that are not inside its window, by eights, of `masks`.
    pub fn atomics_outside(&mut self, addresses: &[R], masks: &[R], bytes: u8) -> Result<Vec<R>, Error> {
        let site = permits::next_site(&mut self.next_site, bytes.into(), true);
        let site = site.ok_or_else(|| Error::Malformed("a large atomic".into()))?;
        self.own_site = site;
        Ok(self.lanes_outside(site, 0, addresses, masks))
    }
}
