//! Permits: whether lanes lie inside the window of their site ([`crate::permits`]). A scalar tells all lanes where they have one address, or
//! lie on a line that is known or has been tested; else each is compared. Where one is not inside, cold code asks the runtime about those
//! that take part. An access with a quick and a slow way asks by itself, as the AVX-512 generator's do (`avx512/permit.rs`).

use warpjit_ir::{Inst, InstData};

use super::{Lower, Parts, malformed, wide};
use crate::clif::{HostBlock, HostIntCC, I32, I64, I64X2, V};
use crate::context::at;
use crate::error::Error;
use crate::even_address::{EvenAddress, step_of};
use crate::operands::{MemoryOperands, is_load};
use crate::permits::{self, FROM, LIMIT, MORE, MOST_STEP, PAST, PERMIT};
use crate::translate::describe;

/// What is asked before an access.
pub(super) type Asked<'a> = permits::Asked<'a, V>;

/// What is asked on the slow way of an access: of each lane, whatever the quick way has asked.
pub(super) struct Slow<'a> {
    asked: Asked<'a>,
    /// Where the quick way goes with lanes that are not inside its window, and the window's number; `None`: it asks of all lanes by itself.
    quick: Option<(HostBlock, u32)>,
}

impl<'a> Lower<'a, '_> {
    /// A permit of an access. Those that stand together are one: it is asked where the first stands, or by the access behind them.
    pub(super) fn permit(&mut self, inst: Inst) -> Result<(), Error> {
        let all = permits::together(self.f, self.blocks.current, inst)?;
        let Some(&data) = all.first() else { return Ok(()) };
        let MemoryOperands { address, guard, .. } = MemoryOperands::of(data)?;
        if !wide(self.scalar_of(address)) {
            return Err(malformed(data));
        }
        // Made here, so that they are good behind.
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
    pub(super) fn ask(&mut self, asked: &Asked<'a>) -> Result<(), Error> {
        let (cold, end) = (self.e.cold_block(), self.e.block());
        let site = self.unless_inside(asked, cold)?;
        self.e.jump(end, &[]);
        self.e.switch_to(cold);
        let site = self.e.imm(I32, u64::from(site) + 1);
        self.ask_runtime(asked, site, end)?;
        self.e.switch_to(end);
        Ok(())
    }

    /// Asks for an access whose lanes are known to lie side by side from `first` on, the first lane's address plus `more`. Gives what is to
    /// be asked on the slow way. Asks of all lanes, on both ways, where no window is for so many bytes.
    pub(super) fn ask_of_first(
        &mut self,
        asked: Asked<'a>,
        first: V,
        (more, step): (i64, i64),
    ) -> Result<Slow<'a>, Error> {
        let far = step * (self.lanes() as i64 - 1);
        let span = (far.min(0) - more, far.max(0) - more);
        let Some((site, low)) = asked.next_site_of(&mut self.next_site, span) else {
            let aside = std::mem::replace(&mut self.aside, true);
            self.ask(&asked)?;
            self.aside = aside;
            return Ok(Slow { asked, quick: None });
        };
        let outside = self.e.cold_block();
        self.unless_one_inside(first, low, site, outside);
        Ok(Slow { asked, quick: Some((outside, site)) })
    }

    /// Asks of each lane, on the slow way of an access. Goes on behind that also from where the quick way has led elsewhere.
    pub(super) fn ask_slowly(&mut self, slow: Slow<'a>) -> Result<(), Error> {
        let Slow { asked, quick } = slow;
        let (ask, cold, end) = (self.e.cold_block(), self.e.cold_block(), self.e.cold_block());
        let own = self.unless_lanes_inside(&asked, cold)?;
        self.e.jump(end, &[]);
        for (block, site) in quick.into_iter().chain([(cold, own)]) {
            self.e.switch_to(block);
            let site = self.e.imm(I32, u64::from(site) + 1);
            self.e.jump(ask, &[site]);
        }
        let site = self.e.param(ask, I32);
        self.e.switch_to(ask);
        self.ask_runtime(&asked, site, end)?;
        self.e.switch_to(end);
        Ok(())
    }

    /// Asks the runtime about the lanes that take part, and goes on elsewhere. `site`: which window it is to open, by its number plus 1.
    fn ask_runtime(&mut self, asked: &Asked<'a>, site: V, end: HostBlock) -> Result<(), Error> {
        let ask = self.e.cold_block();
        self.e.brif(asked.bits, (ask, &[]), (end, &[]));
        self.e.switch_to(ask);
        let aside = std::mem::replace(&mut self.aside, true);
        let parts: Parts = match self.is_uniform(asked.address) {
            true => {
                let one = self.scalar(asked.address)?;
                match self.options.single {
                    true => [one].into(),
                    false => {
                        let splat = self.e.splat(I64X2, one);
                        (0..2 * self.groups).map(|_| splat).collect()
                    }
                }
            }
            false => self.address_parts_of(asked.address)?,
        };
        for (n, &data) in asked.all.iter().enumerate() {
            self.ask_permit(data, &parts, (asked.bits, site), n + 1 < asked.all.len())?;
        }
        self.aside = aside;
        self.e.jump(end, &[]);
        Ok(())
    }

    /// Goes to `cold` where a lane is not inside the window, of which it gives the number.
    fn unless_inside(&mut self, asked: &Asked<'a>, cold: HostBlock) -> Result<u32, Error> {
        let &Asked { address, reach: (from, _), .. } = asked;
        if self.is_uniform(address) {
            let site = asked.next_site(&mut self.next_site)?;
            let first = self.scalar(address)?;
            self.unless_one_inside(first, from, site, cold);
            return Ok(site);
        }
        if let Some(step) =
            step_of(self.f, &self.forms, address).filter(|step| step.unsigned_abs() <= MOST_STEP)
        {
            let far = step * (self.lanes() as i64 - 1);
            if let Some((site, low)) = asked.next_site_of(&mut self.next_site, (far.min(0), far.max(0))) {
                let span = self.span(address)?;
                if let Some(wraps) = span.wraps {
                    self.go_on_unless(wraps, cold);
                }
                self.unless_one_inside(span.first, low, site, cold);
                return Ok(site);
            }
        }
        self.unless_lanes_inside(asked, cold)
    }

    /// The same, where nothing is known of how lanes lie.
    fn unless_lanes_inside(&mut self, asked: &Asked<'a>, cold: HostBlock) -> Result<u32, Error> {
        let site = asked.next_site(&mut self.next_site)?;
        let parts = self.address_parts_of(asked.address)?;
        let windows = self.e.load(I64, self.context, at::WINDOWS);
        let place = permits::place(site);
        let start = self.e.load(I64, windows, place);
        let start = self.e.iadd_imm(start, asked.reach.0.wrapping_neg() as u64);
        let limit = self.e.load(I64, windows, place + LIMIT);
        let [start, limit] = [start, limit].map(|word| self.e.splat(I64X2, word));
        let outside: Vec<V> = parts
            .iter()
            .map(|&part| {
                let behind = self.e.isub(part, start);
                self.e.icmp(HostIntCC::SignedGreaterThanOrEqual, behind, limit)
            })
            .collect();
        let outside = self.narrow_mask(&outside);
        let outside = self.bits_of(&outside);
        let outside = self.e.band(outside, asked.bits);
        self.go_on_unless(outside, cold);
        Ok(site)
    }

    /// Goes to `cold` where something is not 0.
    fn go_on_unless(&mut self, bad: V, cold: HostBlock) {
        let inside = self.e.block();
        self.e.brif(bad, (cold, &[]), (inside, &[]));
        self.e.switch_to(inside);
    }

    /// Goes to `cold` unless what lies so far from an address begins inside a window.
    fn unless_one_inside(&mut self, address: V, more: i64, site: u32, cold: HostBlock) {
        let first = self.e.iadd_imm(address, more as u64);
        let windows = self.e.load(I64, self.context, at::WINDOWS);
        for (bound, condition) in
            [(FROM, HostIntCC::UnsignedLessThan), (PAST, HostIntCC::UnsignedGreaterThanOrEqual)]
        {
            let bound = self.e.load(I64, windows, permits::place(site) + bound);
            let outside = self.e.icmp(condition, first, bound);
            self.go_on_unless(outside, cold);
        }
    }

    /// Whether an address is not inside a window (i8).
    pub(super) fn is_outside(&mut self, address: V, site: u32) -> V {
        let windows = self.e.load(I64, self.context, at::WINDOWS);
        let bound = |l: &mut Self, bound: i32| l.e.load(I64, windows, permits::place(site) + bound);
        let from = bound(self, FROM);
        let before = self.e.icmp(HostIntCC::UnsignedLessThan, address, from);
        let past = bound(self, PAST);
        let behind = self.e.icmp(HostIntCC::UnsignedGreaterThanOrEqual, address, past);
        self.e.bor(before, behind)
    }

    /// Says which window the runtime is to open.
    pub(super) fn note_site(&mut self, site: Option<u32>) {
        let site = self.e.imm(I32, site.map_or(0, |site| site + 1).into());
        self.e.store(site, self.context, at::PERMIT_SITE);
    }

    /// Asks the runtime about the lanes of `bits`, and faults if one may not make the access. `more`: others stand behind.
    fn ask_permit(
        &mut self,
        data: &InstData,
        parts: &Parts,
        (bits, site): (V, V),
        more: bool,
    ) -> Result<(), Error> {
        let MemoryOperands { mem, value, .. } = MemoryOperands::of(data)?;
        let values = value.map(|v| self.parts(v)).transpose()?;
        for (n, &part) in parts.iter().enumerate() {
            let part = self.e.iadd_imm(part, i64::from(mem.offset) as u64);
            self.e.store(part, self.context, at::LANE_ADDRESSES + 16 * n as i32);
        }
        for (n, &part) in values.iter().flat_map(|parts| parts.iter()).enumerate() {
            self.e.store(part, self.context, at::LANE_VALUES + 16 * n as i32);
        }
        self.note_guard(bits);
        self.e.store(site, self.context, at::PERMIT_SITE);
        let (access, alignment) = describe(mem, !is_load(data.op), self.f.lanes);
        let request = alignment | PERMIT | if more { MORE } else { 0 };
        for (word, place) in [(access, at::ACCESS), (request, at::ATOMIC)] {
            let word = self.e.imm(I32, word.into());
            self.e.store(word, self.context, place);
        }
        self.call_translate();
        self.fault_if_odd(data, mem);
        Ok(())
    }
}
