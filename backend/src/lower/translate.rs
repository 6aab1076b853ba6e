//! Translations of guest addresses: those inside the window stay as they are, those of the upper window get a constant
//! more, and for the others cold code asks the runtime.

use warpjit_ir::types::Scalar;
use warpjit_ir::{InstData, MemAccess, Opcode, Value};

use super::memory::{Access, Address};
use super::{Kept, Lower, Parts, malformed, result, wide};
use crate::affine::Form;
use crate::clif::{HostBlock, HostIntCC, I32, I64, I64X2, V, element, vector};
use crate::context::at;
use crate::error::Error;
use crate::even_address::{EvenAddress, affine_step, is_tried_as_line};
use crate::operands::MemoryOperands;
use crate::translate::{self, LAST_IN_PAGE, ONCE, describe, looks_at_last_page};

/// In so many bytes below a window it is taken for granted that nothing is mapped; farther down code asks.
const MOST_BELOW: u64 = 512;

impl<'a> Lower<'a, '_> {
    /// The translation that is done with an access.
    pub(super) fn translation_of(&self, data: &InstData) -> Option<&'a InstData> {
        translate::translation_of(self.f, &self.fused, data)
    }

    /// A load or store together with its translation. Lanes side by side are looked up as a whole, and lanes at one address, too.
    pub(super) fn translated_memory(&mut self, data: &InstData, translation: &InstData) -> Result<(), Error> {
        let MemoryOperands { mem, value, guard, .. } = MemoryOperands::of(data)?;
        let MemoryOperands { mem: asked, address: a, .. } = MemoryOperands::of(translation)?;
        if !wide(self.scalar_of(a)) {
            return Err(malformed(data));
        }
        let zero = self.e.imm(I32, 0);
        let x = Access { data, mem, value, guard, address: Address::Uniform(zero), offset: 0 };
        let offset = i64::from(asked.offset) as u64;
        if let Some(v) = value {
            // Made here, so that it is good behind.
            self.parts(v)?;
        }
        if self.is_uniform(a) {
            return self.translated_at_one(&x, translation, offset);
        }
        let lanes = |l: &mut Self| l.lanes_of_line(&x, (a, offset), Some(translation));
        // As without a translation.
        let by_vectors = mem.bytes >= 4 && mem.align <= mem.bytes;
        let loaded = if let Some(step) = affine_step(self.f, &self.forms, a, mem) {
            let span = self.span(a)?;
            let first = self.e.iadd_imm(span.first, offset);
            let (beyond, place) = self.affine_place(&x, first, step);
            let odd = span.wraps.map_or(beyond, |wraps| self.e.bor(wraps, beyond));
            self.affine_access(&x, (place, step), Some(odd), None, lanes)?
        } else if is_tried_as_line(self.f, &self.forms, a, mem) {
            let (first, odd) = self.tried_line(a, mem)?;
            let first = self.e.iadd_imm(first, offset);
            let (beyond, place) = self.affine_place(&x, first, mem.bytes.into());
            let odd = self.e.bor(odd, beyond);
            self.affine_access(&x, (place, mem.bytes.into()), Some(odd), None, lanes)?
        } else {
            let parts = self.lane_parts(a, offset)?;
            if by_vectors {
                let step = mem.bytes.into();
                let (first, odd) = self.evenness(&parts, mem.bytes);
                let (beyond, place) = self.affine_place(&x, first, step);
                let odd = self.e.bor(odd, beyond);
                self.affine_access(&x, (place, step), Some(odd), None, |l| {
                    let places = l.translated_lanes(translation, &parts)?;
                    l.wide_lanes(&x, &places)
                })?
            } else {
                let places = self.translated_lanes(translation, &parts)?;
                self.wide_lanes(&x, &places)?
            }
        };
        self.define_loaded(data, loaded)
    }

    /// Whether accesses of all lanes on a line from an address on need more than the table of page rights or the windows say (i8); and
    /// where the first is found if not.
    pub(super) fn affine_place(&mut self, x: &Access<'_>, first: V, step: i64) -> (V, V) {
        let (low, bytes) = self.reach_of_lanes(x.mem, step);
        let lowest = self.e.iadd_imm(first, low as u64);
        let (mut beyond, place) = self.one_place(x, lowest, bytes);
        if bytes > MOST_BELOW && !self.options.checked_memory {
            let (before, _) = self.one_place(x, lowest, 1);
            beyond = self.e.bor(beyond, before);
        }
        (beyond, self.e.iadd_imm(place, low.unsigned_abs()))
    }

    /// The same for so many bytes from an address on.
    fn one_place(&mut self, x: &Access<'_>, address: V, bytes: u64) -> (V, V) {
        if self.options.checked_memory {
            return (self.denied(address, x.mem, bytes, x.store()), address);
        }
        let (beyond, place) = self.window_place(address, bytes);
        (self.e.icmp_imm(HostIntCC::NotEqual, beyond, 0), place)
    }

    /// An access of all lanes at one address. What the runtime answers for a lane is that lane's: a device may tell each something else.
    fn translated_at_one(
        &mut self,
        x: &Access<'_>,
        translation: &InstData,
        offset: u64,
    ) -> Result<(), Error> {
        let mem = x.mem;
        let scalar = if mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 };
        let one = self.scalar(MemoryOperands::of(translation)?.address)?;
        let one = self.e.iadd_imm(one, offset);
        let bits = self.guard_bits(x.guard)?;
        let (beyond, place) = self.one_place(x, one, mem.bytes.into());
        let zero = self.e.imm(self.bits_type(), 0);
        let beyond = self.e.select(beyond, bits, zero);
        let (quick, mut ask, end) = (self.e.block(), self.e.cold_block(), self.e.block());
        let by_lanes = match (x.data.result, x.value) {
            (Some(r), _) => self.forms.of(r) == Form::Varying,
            (None, value) => value.is_some_and(|v| !self.is_uniform(v)),
        };
        let looks = !by_lanes && looks_at_last_page(translation, self.options.has_devices());
        let place = if looks {
            let param = self.e.param(quick, I64);
            self.e.brif(beyond, (ask, &[]), (quick, &[place]));
            self.e.switch_to(ask);
            ask = self.look_at_last_page(one, quick);
            param
        } else {
            self.e.brif(beyond, (ask, &[]), (quick, &[]));
            place
        };
        self.e.switch_to(quick);
        let aside = std::mem::replace(&mut self.aside, true);
        let parts = match x.value {
            Some(_) if by_lanes => {
                let splat = self.e.splat(I64X2, place);
                let places: Parts = (0..2 * self.groups).map(|_| splat).collect();
                self.wide_lanes(x, &places)?
            }
            _ => self.wide_uniform(x, place)?.map(|v| match by_lanes {
                true => {
                    let splat = self.e.splat(vector(scalar), v);
                    vec![splat; self.part_count(scalar)].into()
                }
                false => Parts::from([v]),
            }),
        };
        self.e.jump(end, parts.as_deref().unwrap_or(&[]));
        self.e.switch_to(ask);
        let splat = self.e.splat(I64X2, one);
        let parts: Parts = (0..2 * self.groups).map(|_| splat).collect();
        let asks_of_one = !by_lanes && self.asks_of_one(translation);
        let asked_bits = if asks_of_one { self.lowest_bit(bits) } else { bits };
        self.ask_translation(translation, &parts, x.value, asked_bits)?;
        let asked = match by_lanes {
            true => {
                let places = self.answers();
                self.wide_lanes(x, &places)?
            }
            false => {
                let place = self.answer_of_lowest(asked_bits);
                self.wide_uniform(x, place)?.map(|v| Parts::from([v]))
            }
        };
        self.aside = aside;
        let ty = if by_lanes { vector(scalar) } else { element(scalar) };
        let asked: Vec<V> =
            asked.iter().flat_map(|parts| parts.iter()).map(|&p| self.e.cast(p, ty)).collect();
        self.e.jump(end, &asked);
        let loaded: Parts = asked.iter().map(|_| self.e.param(end, ty)).collect();
        self.e.switch_to(end);
        if by_lanes {
            return self.define_loaded(x.data, x.data.result.map(|_| loaded));
        }
        if let Some(r) = x.data.result {
            let v = self.e.cast(loaded[0], element(self.scalar_of(r)));
            self.define_scalar(r, v);
        }
        Ok(())
    }

    /// Goes on with where memory is, if an address is in the page of the answer before ([`crate::LastPage`]). Gives the
    /// block that it is asked for in, which is the current one.
    fn look_at_last_page(&mut self, address: V, found: HostBlock) -> HostBlock {
        let (same, ask) = (self.e.cold_block(), self.e.cold_block());
        let place = self.e.load(I64, self.context, at::GENERATION);
        let now = self.e.load_shared(I64, place);
        let [then, start, more] = [at::LAST_PAGE_GENERATION, at::LAST_PAGE_START, at::LAST_PAGE_MORE]
            .map(|place| self.e.load(I64, self.context, place));
        let is_same = self.e.icmp(HostIntCC::Equal, now, then);
        self.e.brif(is_same, (same, &[]), (ask, &[]));
        self.e.switch_to(same);
        let far = self.e.isub(address, start);
        let is_inside = self.e.icmp_imm(HostIntCC::UnsignedLessThanOrEqual, far, LAST_IN_PAGE);
        let place = self.e.iadd(address, more);
        self.e.brif(is_inside, (found, &[place]), (ask, &[]));
        self.e.switch_to(ask);
        ask
    }

    /// The runtime's answers for all lanes.
    fn answers(&mut self) -> Parts {
        (0..2 * self.groups)
            .map(|n| self.e.load(I64X2, self.context, at::LANE_ADDRESSES + 16 * n as i32))
            .collect()
    }

    /// The runtime's answer for the lowest of some lanes.
    fn answer_of_lowest(&mut self, bits: V) -> V {
        let lane = self.lowest_lane(bits);
        let lane = self.e.uextend(I64, lane);
        let at = self.e.shl(lane, 3);
        let at = self.e.iadd(self.context, at);
        self.e.load(I64, at, at::LANE_ADDRESSES)
    }

    /// A translation of the address of a load or store, where the access does not do it.
    pub(super) fn translate(&mut self, data: &InstData) -> Result<(), Error> {
        let MemoryOperands { mem, address, value, guard } = MemoryOperands::of(data)?;
        if !wide(self.scalar_of(address)) {
            return Err(malformed(data));
        }
        let r = result(data)?;
        let offset = i64::from(mem.offset) as u64;
        if let Some(v) = value {
            // Made here, so that it is good behind.
            self.parts(v)?;
        }
        if !(self.is_uniform(address) && self.is_uniform(r)) {
            let parts = self.address_parts_of(address)?;
            let parts: Parts = parts.iter().map(|&p| self.e.iadd_imm(p, offset)).collect();
            let places = self.translated_lanes(data, &parts)?;
            self.define(r, Kept::Parts(places));
            return Ok(());
        }
        let bits = self.guard_bits(guard)?;
        let (cold, ask, end) = (self.e.cold_block(), self.e.cold_block(), self.e.block());
        let one = self.scalar(address)?;
        let one = self.e.iadd_imm(one, offset);
        let place = self.e.param(end, I64);
        let (beyond, found) = match self.options.checked_memory {
            true => (self.beyond_pages(one, mem, value.is_some(), bits), one),
            false => self.window_place(one, mem.bytes.into()),
        };
        self.e.brif(beyond, (cold, &[]), (end, &[found]));
        self.e.switch_to(cold);
        if looks_at_last_page(data, self.options.has_devices()) {
            self.look_at_last_page(one, end);
        }
        self.e.brif(bits, (ask, &[]), (end, &[one]));
        self.e.switch_to(ask);
        let parts: Parts = if self.options.single {
            [one].into()
        } else {
            let splat = self.e.splat(I64X2, one);
            (0..2 * self.groups).map(|_| splat).collect()
        };
        // There is no device, or only one value is wanted: the lowest one's answer is everybody's.
        let bits = if self.asks_of_one(data) { self.lowest_bit(bits) } else { bits };
        self.ask_translation(data, &parts, value, bits)?;
        let found = self.answer_of_lowest(bits);
        self.e.jump(end, &[found]);
        self.e.switch_to(end);
        self.define_scalar(r, place);
        Ok(())
    }

    /// Where the lanes of an access find their memory. The addresses have the access's offset.
    pub(super) fn translated_lanes(&mut self, data: &InstData, parts: &Parts) -> Result<Parts, Error> {
        let MemoryOperands { mem, value, guard, .. } = MemoryOperands::of(data)?;
        let bits = self.guard_bits(guard)?;
        let (cold, ask, end) = (self.e.cold_block(), self.e.cold_block(), self.e.block());
        let places: Parts = parts.iter().map(|_| self.e.param(end, I64X2)).collect();
        if self.options.checked_memory {
            let several = self.several_pages(parts, mem, value.is_some());
            self.e.brif(several, (cold, &[]), (end, parts));
            self.e.switch_to(cold);
            let mut beyond = self.e.imm(self.bits_type(), 0);
            for lane in 0..self.lanes() {
                let address = self.e.extract(parts[lane / 2], lane % 2);
                let own = self.e.band_imm(bits, 1 << lane);
                let own = self.beyond_pages(address, mem, value.is_some(), own);
                beyond = self.e.bor(beyond, own);
            }
            self.e.brif(beyond, (ask, &[]), (end, parts));
        } else {
            let mut beyond = Vec::new();
            let mut inside = Vec::new();
            for &p in parts.iter() {
                let (bits, place) = self.window_place(p, mem.bytes.into());
                beyond.push(self.e.icmp_imm(HostIntCC::NotEqual, bits, 0));
                inside.push(place);
            }
            let beyond = self.narrow_mask(&beyond);
            let beyond = self.bits_of(&beyond);
            let beyond = self.e.band(beyond, bits);
            self.e.brif(beyond, (ask, &[]), (end, &inside));
        }
        self.e.switch_to(ask);
        self.ask_translation(data, parts, value, bits)?;
        let found = self.answers();
        self.e.jump(end, &found);
        self.e.switch_to(end);
        Ok(places)
    }

    /// `bits` if the table of page rights does not allow an access at an address of the window, or the address is outside; else 0.
    fn beyond_pages(&mut self, address: V, mem: MemAccess, store: bool, bits: V) -> V {
        let beyond = self.denied(address, mem, mem.bytes.into(), store);
        let zero = self.e.imm(self.bits_type(), 0);
        self.e.select(beyond, bits, zero)
    }

    /// Whether the table of page rights does not allow an access to so many bytes, less than a page, at an address of the window, or some
    /// are outside (i8).
    fn denied(&mut self, address: V, mem: MemAccess, bytes: u64, store: bool) -> V {
        let high = self.e.load(I64, self.context, at::WINDOW_HIGH);
        let last = self.e.iadd_imm(address, bytes - 1);
        let outside = self.e.band(last, high);
        let outside = self.e.icmp_imm(HostIntCC::NotEqual, outside, 0);
        // The table has an entry for any address without those bits, and two more.
        let inside = self.e.band_not(address, high);
        let ok = self.page_ok(inside, mem, bytes, store);
        let denied = self.e.bxor_imm(ok, 1);
        self.e.bor(outside, denied)
    }

    /// Not 0 unless the accesses of all lanes are in the page of the first lane's address, and the table of page rights allows them.
    fn several_pages(&mut self, addresses: &Parts, mem: MemAccess, store: bool) -> V {
        let first = self.e.extract(addresses[0], 0);
        let splat = self.e.splat(I64X2, first);
        let others: Vec<V> = addresses
            .iter()
            .map(|&address| {
                let last = self.e.iadd_imm(address, u64::from(mem.bytes) - 1);
                let (from, to) = (self.e.bxor(address, splat), self.e.bxor(last, splat));
                let both = self.e.bor(from, to);
                self.e.shr(both, 12)
            })
            .collect();
        let others = self.any(&others);
        let one = self.e.imm(self.bits_type(), 1);
        let denied = self.beyond_pages(first, mem, store, one);
        let denied = self.e.icmp_imm(HostIntCC::NotEqual, denied, 0);
        self.e.bor(others, denied)
    }

    /// Bits that are not 0 where an access is inside neither window; and where it is found if it is inside one. Its
    /// last byte tells: what lies below a window is never mapped as far as an access is wide, and traps or is asked
    /// for.
    pub(super) fn window_place(&mut self, address: V, bytes: u64) -> (V, V) {
        let ty = self.e.ty(address);
        let [high, start, more] = [at::WINDOW_HIGH, at::UPPER_START, at::UPPER_MORE].map(|place| {
            let word = self.e.load(I64, self.context, place);
            if ty == I64 { word } else { self.e.splat(ty, word) }
        });
        let sign = match ty {
            I64 => self.e.sar(address, 63),
            _ => {
                let zero = self.e.imm(ty, 0);
                self.e.icmp(HostIntCC::SignedLessThan, address, zero)
            }
        };
        let own = self.e.band(sign, start);
        let inside = self.e.bxor(address, own);
        let last = self.e.iadd_imm(inside, bytes - 1);
        let more = self.e.band(sign, more);
        (self.e.band(last, high), self.e.iadd(address, more))
    }

    /// Whether a translation is of a load that the warp makes once: a device must not be asked for each lane, nor for each chunk.
    fn is_asked_once(&self, data: &InstData) -> bool {
        let is_uniform = data.result.is_some_and(|place| self.f.ty(place).uniform);
        data.op == Opcode::TranslateLoad && is_uniform && self.options.has_devices()
    }

    /// Whether one lane may ask for all that load from one address: no device answers.
    fn asks_of_one(&self, data: &InstData) -> bool {
        data.op == Opcode::TranslateLoad && !self.options.has_devices()
    }

    /// Whether there are loads of which the warp asks once.
    pub(super) fn asks_once(&self) -> bool {
        let mut insts = self.f.block_ids().flat_map(|block| &self.f.block(block).insts);
        insts.any(|&inst| self.is_asked_once(self.f.inst(inst)))
    }

    /// The lowest of some bits.
    fn lowest_bit(&mut self, bits: V) -> V {
        let less = self.e.ineg(bits);
        self.e.band(bits, less)
    }

    /// Asks the runtime to translate the addresses of the lanes of `bits`, and faults if it may not. The answers are in the context.
    fn ask_translation(
        &mut self,
        data: &InstData,
        addresses: &Parts,
        value: Option<Value>,
        bits: V,
    ) -> Result<(), Error> {
        let mem = MemoryOperands::of(data)?.mem;
        let once = self.is_asked_once(data);
        let bits = if once { self.lowest_bit(bits) } else { bits };
        let values = value.map(|v| self.parts(v)).transpose()?;
        for (place, parts) in [(at::LANE_ADDRESSES, Some(addresses.clone())), (at::LANE_VALUES, values)] {
            for (n, &p) in parts.iter().flat_map(|parts| parts.iter()).enumerate() {
                self.e.store(p, self.context, place + 16 * n as i32);
            }
        }
        self.note_guard(bits);
        let (access, alignment) = describe(mem, data.op == Opcode::TranslateStore, self.f.lanes);
        // A chunk that is the whole warp has no other to share an answer with.
        let shares = once && (self.lanes() as u32) < self.f.lanes;
        let alignment = alignment | if shares { ONCE } else { 0 };
        for (word, place) in [(access, at::ACCESS), (alignment, at::ATOMIC)] {
            let word = self.e.imm(I32, word.into());
            self.e.store(word, self.context, place);
        }
        self.call_translate();
        self.fault_if_odd(data, mem);
        Ok(())
    }

    /// Calls the runtime for what the context describes.
    pub(super) fn call_translate(&mut self) {
        let sig = match self.sigs.translate {
            Some(sig) => sig,
            None => self.preserving_signature(&[I64]),
        };
        self.sigs.translate = Some(sig);
        let callee = self.e.load(I64, self.context, at::TRANSLATE_PRESERVING);
        self.e.call(sig, callee, &[self.context]);
    }
}
