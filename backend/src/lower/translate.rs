//! Translations of guest addresses: those inside the window stay as they are, those of the upper window get a constant
//! more, and for the others cold code asks the runtime.

use warpjit_ir::{InstData, MemAccess, Opcode, Value};

use super::{Kept, Lower, Parts, malformed, result, wide};
use crate::affine::Form;
use crate::clif::{HostIntCC, I32, I64, I64X2, V};
use crate::context::at;
use crate::error::Error;
use crate::even_address::EvenAddress;
use crate::operands::MemoryOperands;
use crate::translate::describe;

impl Lower<'_, '_> {
    /// A translation of the address of a load or store.
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
        let bits = self.guard_bits(guard)?;
        let (cold, ask, end) = (self.e.cold_block(), self.e.cold_block(), self.e.block());
        if self.is_uniform(address) {
            let one = self.scalar(address)?;
            let one = self.e.iadd_imm(one, offset);
            let place = self.e.param(end, I64);
            let (beyond, found) = match self.options.checked_memory {
                true => (self.beyond_pages(one, mem, value.is_some(), bits), one),
                false => self.window_place(one, mem.bytes),
            };
            self.e.brif(beyond, (cold, &[]), (end, &[found]));
            self.e.switch_to(cold);
            self.e.brif(bits, (ask, &[]), (end, &[one]));
            self.e.switch_to(ask);
            let parts: Parts = if self.options.single {
                [one].into()
            } else {
                let splat = self.e.splat(I64X2, one);
                (0..2 * self.groups).map(|_| splat).collect()
            };
            // All have the same address, so the lowest one's answer is everybody's.
            let lane = self.lowest_lane(bits);
            self.ask_translation(data, &parts, value, bits)?;
            let lane = self.e.uextend(I64, lane);
            let at = self.e.shl(lane, 3);
            let at = self.e.iadd(self.context, at);
            let found = self.e.load(I64, at, at::LANE_ADDRESSES);
            self.e.jump(end, &[found]);
            self.e.switch_to(end);
            if self.forms.of(r) == Form::Varying {
                let splat = self.e.splat(I64X2, place);
                self.define(r, Kept::Parts((0..2 * self.groups).map(|_| splat).collect()));
            } else {
                self.define_scalar(r, place);
            }
            return Ok(());
        }
        let parts = self.address_parts_of(address)?;
        let parts: Parts = parts.iter().map(|&p| self.e.iadd_imm(p, offset)).collect();
        let places: Parts = parts.iter().map(|_| self.e.param(end, I64X2)).collect();
        if self.options.checked_memory {
            let several = self.several_pages(&parts, mem, value.is_some());
            self.e.brif(several, (cold, &[]), (end, &parts));
            self.e.switch_to(cold);
            let mut beyond = self.e.imm(self.bits_type(), 0);
            for lane in 0..self.lanes() {
                let address = self.e.extract(parts[lane / 2], lane % 2);
                let own = self.e.band_imm(bits, 1 << lane);
                let own = self.beyond_pages(address, mem, value.is_some(), own);
                beyond = self.e.bor(beyond, own);
            }
            self.e.brif(beyond, (ask, &[]), (end, &parts));
        } else {
            let mut beyond = Vec::new();
            let mut inside = Vec::new();
            for &p in parts.iter() {
                let (bits, place) = self.window_place(p, mem.bytes);
                beyond.push(self.e.icmp_imm(HostIntCC::NotEqual, bits, 0));
                inside.push(place);
            }
            let beyond = self.narrow_mask(&beyond);
            let beyond = self.bits_of(&beyond);
            let beyond = self.e.band(beyond, bits);
            self.e.brif(beyond, (ask, &[]), (end, &inside));
        }
        self.e.switch_to(ask);
        self.ask_translation(data, &parts, value, bits)?;
        let found: Vec<V> = (0..parts.len())
            .map(|n| self.e.load(I64X2, self.context, at::LANE_ADDRESSES + 16 * n as i32))
            .collect();
        self.e.jump(end, &found);
        self.e.switch_to(end);
        self.define(r, Kept::Parts(places));
        Ok(())
    }

    /// `bits` if the table of page rights does not allow an access at an address of the window, or the address is outside; else 0.
    fn beyond_pages(&mut self, address: V, mem: MemAccess, store: bool, bits: V) -> V {
        let high = self.e.load(I64, self.context, at::WINDOW_HIGH);
        let last = self.e.iadd_imm(address, u64::from(mem.bytes) - 1);
        let outside = self.e.band(last, high);
        let outside = self.e.icmp_imm(HostIntCC::NotEqual, outside, 0);
        // The table has an entry for any address without those bits.
        let inside = self.e.band_not(address, high);
        let ok = self.page_ok(inside, mem, mem.bytes.into(), store);
        let denied = self.e.bxor_imm(ok, 1);
        let beyond = self.e.bor(outside, denied);
        let zero = self.e.imm(self.bits_type(), 0);
        self.e.select(beyond, bits, zero)
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
    fn window_place(&mut self, address: V, bytes: u8) -> (V, V) {
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
        let last = self.e.iadd_imm(inside, u64::from(bytes) - 1);
        let more = self.e.band(sign, more);
        (self.e.band(last, high), self.e.iadd(address, more))
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
        let values = value.map(|v| self.parts(v)).transpose()?;
        for (place, parts) in [(at::LANE_ADDRESSES, Some(addresses.clone())), (at::LANE_VALUES, values)] {
            for (n, &p) in parts.iter().flat_map(|parts| parts.iter()).enumerate() {
                self.e.store(p, self.context, place + 16 * n as i32);
            }
        }
        self.note_guard(bits);
        let (access, alignment) = describe(mem, data.op == Opcode::TranslateStore, self.f.lanes);
        for (word, place) in [(access, at::ACCESS), (alignment, at::ATOMIC)] {
            let word = self.e.imm(I32, word.into());
            self.e.store(word, self.context, place);
        }
        let sig = match self.sigs.translate {
            Some(sig) => sig,
            None => self.preserving_signature(&[I64]),
        };
        self.sigs.translate = Some(sig);
        let callee = self.e.load(I64, self.context, at::TRANSLATE_PRESERVING);
        self.e.call(sig, callee, &[self.context]);
        self.fault_if_odd(data, mem);
        Ok(())
    }
}
