//! Permits: whether lanes lie inside the window of their site ([`crate::permits`]). Where they are on a line that is known the first and the
//! last tell; else each is compared. Where one is not inside, cold code asks the runtime about those that take part.

use warpjit_ir::{Inst, InstData, Value};

use super::{Lower, Parts, malformed, wide};
use crate::clif::{HostBlock, HostIntCC, I32, I64, I64X2, V};
use crate::context::at;
use crate::error::Error;
use crate::even_address::{EvenAddress, step_of};
use crate::operands::{MemoryOperands, is_load};
use crate::permits::{self, LIMIT, MORE, MOST_STEP, PERMIT};
use crate::translate::describe;

impl Lower<'_, '_> {
    /// A permit of an access. Those that stand together are one: it is asked where the first stands.
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
        let (cold, ask, end) = (self.e.cold_block(), self.e.cold_block(), self.e.block());
        let site = self.unless_inside(data, address, reach, cold)?;
        self.e.jump(end, &[]);
        self.e.switch_to(cold);
        self.e.brif(bits, (ask, &[]), (end, &[]));
        self.e.switch_to(ask);
        let aside = std::mem::replace(&mut self.aside, true);
        let parts: Parts = match self.is_uniform(address) {
            true => {
                let one = self.scalar(address)?;
                match self.options.single {
                    true => [one].into(),
                    false => {
                        let splat = self.e.splat(I64X2, one);
                        (0..2 * self.groups).map(|_| splat).collect()
                    }
                }
            }
            false => self.address_parts_of(address)?,
        };
        for (n, &data) in all.iter().enumerate() {
            self.ask_permit(data, &parts, bits, (site, n + 1 < all.len()))?;
        }
        self.aside = aside;
        self.e.jump(end, &[]);
        self.e.switch_to(end);
        Ok(())
    }

    /// The number of the window for so many bytes, of a load or a store.
    pub(super) fn site_for(&mut self, bytes: u64, stores: bool) -> Option<u32> {
        let site = permits::site(self.next_site, bytes, stores)?;
        self.next_site += 1;
        Some(site)
    }

    /// Goes to `cold` where a lane is not inside the window, of which it gives the number; `from` and `to`: where an access begins and
    /// ends, from the address on.
    fn unless_inside(
        &mut self,
        data: &InstData,
        address: Value,
        (from, to): (i64, i64),
        cold: HostBlock,
    ) -> Result<u32, Error> {
        let MemoryOperands { guard, .. } = MemoryOperands::of(data)?;
        let stores = !is_load(data.op);
        let own_site = |l: &mut Self| l.site_for((to - from) as u64, stores).ok_or_else(|| malformed(data));
        if self.is_uniform(address) {
            let site = own_site(self)?;
            let first = self.scalar(address)?;
            let first = self.e.iadd_imm(first, from as u64);
            let outside = self.is_outside(first, site);
            self.go_on_unless(outside, cold);
            return Ok(site);
        }
        if let Some(step) =
            step_of(self.f, &self.forms, address).filter(|step| step.unsigned_abs() <= MOST_STEP)
        {
            let far = step * (self.lanes() as i64 - 1);
            let (low, high) = (from + far.min(0), to + far.max(0));
            if let Some(site) = self.site_for((high - low) as u64, stores) {
                let span = self.span(address)?;
                let first = self.e.iadd_imm(span.first, low as u64);
                let outside = self.is_outside(first, site);
                let odd = span.wraps.map_or(outside, |wraps| self.e.bor(wraps, outside));
                self.go_on_unless(odd, cold);
                return Ok(site);
            }
        }
        let site = own_site(self)?;
        let parts = self.address_parts_of(address)?;
        let (start, limit) = self.window(site);
        let start = self.e.iadd_imm(start, from.wrapping_neg() as u64);
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
        let bits = self.guard_bits(guard)?;
        let outside = self.e.band(outside, bits);
        self.go_on_unless(outside, cold);
        Ok(site)
    }

    /// Goes to `cold` where something is not 0.
    fn go_on_unless(&mut self, bad: V, cold: HostBlock) {
        let inside = self.e.block();
        self.e.brif(bad, (cold, &[]), (inside, &[]));
        self.e.switch_to(inside);
    }

    /// The start and the limit of a window.
    fn window(&mut self, site: u32) -> (V, V) {
        let windows = self.e.load(I64, self.context, at::WINDOWS);
        let place = permits::place(site);
        (self.e.load(I64, windows, place), self.e.load(I64, windows, place + LIMIT))
    }

    /// Whether an address is not inside a window (i8).
    pub(super) fn is_outside(&mut self, address: V, site: u32) -> V {
        let (start, limit) = self.window(site);
        let behind = self.e.isub(address, start);
        self.e.icmp(HostIntCC::SignedGreaterThanOrEqual, behind, limit)
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
        bits: V,
        (site, more): (u32, bool),
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
        self.note_site(Some(site));
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
