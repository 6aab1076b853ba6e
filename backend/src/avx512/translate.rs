//! Translations of guest addresses: those inside the window stay as they are, those of the upper window get a constant
//! more, and for the others cold code asks the runtime.
//!
//! An access is inside a window if its last byte is: what lies below a window is never mapped as far as an access is wide, and
//! traps or is asked for.

use iced_x86::Code;
use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::{InstData, Opcode, Value};

use super::asm::{Mem, R, Src};
use super::code::{Flags, Size};
use super::int::TEST;
use super::lower::Lower;
use super::memory::{Access, Address};
use super::permit::lanes_reach;
use super::places::MOST_OFFSET;
use super::scalar::{AND, OR, SAR, SUB, XOR};
use crate::affine::Form;
use crate::context::at;
use crate::error::Error;
use crate::even_address::{EvenAddress, is_tried_as_line, step_of};
use crate::operands::{MemoryOperands, malformed, result, wide};
use crate::translate::{self, describe};

impl<'a> Lower<'a> {
    /// A translation of the address of a load or store.
    pub fn translate(&mut self, data: &InstData) -> Result<(), Error> {
        let MemoryOperands { mem, address, value, guard } = MemoryOperands::of(data)?;
        if !wide(self.scalar_of(address)) {
            return Err(malformed(data));
        }
        let r = result(data)?;
        let offset = i64::from(mem.offset);
        if let Some(v) = value {
            // Made here, so that it is good behind.
            self.regs(v)?;
        }
        let bits = self.guard_bits(guard)?;
        if self.forms.of(address) == Form::Uniform {
            let places = self.each_group(self.spans(address), |l| {
                let one = l.general(address)?;
                let one = l.a.add_imm(true, one, offset);
                l.translate_one(data, (one, value), bits)
            })?;
            if self.forms.of(r) == Form::Uniform {
                self.define_general(r, places);
                return Ok(());
            }
            let splats: Vec<R> = places.iter().map(|&place| self.a.splat(true, place)).collect();
            let parts = super::lower::spread(&splats, 2 * self.groups);
            self.define_parts(r, parts.to_vec());
            return Ok(());
        }
        let parts = self.address_parts_of(address)?;
        let parts = self.moved(&parts, offset);
        let places = self.translated_lanes(data, &parts)?;
        self.define_vectors(r, places);
        Ok(())
    }

    /// Where the lanes of an access find their memory. The addresses have the access's offset.
    fn translated_lanes(&mut self, data: &InstData, parts: &[R]) -> Result<Vec<R>, Error> {
        let MemoryOperands { mem, value, guard, .. } = MemoryOperands::of(data)?;
        let bits = self.guard_bits(guard)?;
        let masks = self.guard(guard)?;
        let masks = self.widen(&masks);
        let [high, start, more] = [at::WINDOW_HIGH, at::UPPER_START, at::UPPER_MORE].map(|place| {
            let word = self.a.load_fixed(true, Mem::at(self.context, place));
            self.a.splat(true, word)
        });
        let mut beyond = Vec::new();
        let mut found = Vec::new();
        for (&p, &k) in parts.iter().zip(&masks) {
            let sign = self.a.v2i(Code::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8, p, 63);
            let own = self.a.v3(Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64, sign, Src::R(start));
            let inside = self.a.v3(Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64, p, Src::R(own));
            let last = self.moved(&[inside], i64::from(mem.bytes) - 1)[0];
            beyond.push(self.a.vtestm(TEST[1], k, last, Src::R(high)));
            let more = self.a.v3(Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64, sign, Src::R(more));
            found.push(self.a.v3(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, p, Src::R(more)));
        }
        let beyond = beyond.into_iter().reduce(|a, b| self.a.k3(Code::VEX_Korw_kr_kr_kr, a, b));
        self.test_any(&[beyond.ok_or_else(|| malformed(data))?]);
        let (cold, end) = (self.a.cold_block(), self.a.block());
        self.a.branch(Flags::NotEqual, (cold, &[]), (end, &found));
        self.a.switch_to(cold);
        self.aside(|l| l.ask_translation(data, parts, value, bits))?;
        let asked: Vec<R> = (0..parts.len())
            .map(|n| self.a.load64(Mem::at(self.context, at::LANE_ADDRESSES + 64 * n as i32)))
            .collect();
        self.a.jump(end, &asked);
        let places = parts.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        Ok(places)
    }

    /// A load or store, done with its translation.
    pub fn load_or_store(&mut self, data: &InstData) -> Result<(), Error> {
        match self.translation_of(data) {
            Some(translation) => self.translated_memory(data, translation),
            None => self.memory(data),
        }
    }

    /// The translation that is done with an access.
    pub fn translation_of(&self, data: &InstData) -> Option<&'a InstData> {
        translate::translation_of(self.f, &self.translated, data)
    }

    /// A load or store of lanes on a line together with its translation: what lies side by side inside a window is looked up as a whole.
    fn translated_memory(&mut self, data: &InstData, translation: &'a InstData) -> Result<(), Error> {
        let MemoryOperands { mem, value, guard, .. } = MemoryOperands::of(data)?;
        let MemoryOperands { mem: asked, address: a, .. } = MemoryOperands::of(translation)?;
        let offset = i64::from(asked.offset);
        let tried = is_tried_as_line(self.f, &self.forms, a, asked);
        let step = match step_of(self.f, &self.forms, a) {
            Some(step) => step,
            None if tried => asked.bytes.into(),
            None => return Err(malformed(data)),
        };
        let mut x = Access::new(data, mem, value, guard, Address::Lanes(Vec::new()));
        x.step = step as i8;
        x.rest = self.accessed_behind(&x, true);
        self.make_values(&x)?;
        self.make_guard(guard)?;
        self.guard_bits(guard)?;
        let (root, more) = self.without_constants(a);
        let (root, more) =
            if !tried && (offset + more).abs() < MOST_OFFSET { (root, offset + more) } else { (a, offset) };
        let start = match tried {
            true => self.tried_start(a, mem)?,
            false => self.start_of(root, mem.space)?,
        };
        let (mut bad, firsts, far) = start.parts(self.groups);
        // From the first byte to the last.
        let (lowest, highest) = lanes_reach(step, far);
        let last = highest + i64::from(mem.bytes) * (1 + x.rest.len() as i64) - 1;
        let [high, upper, further] = [at::WINDOW_HIGH, at::UPPER_START, at::UPPER_MORE]
            .map(|place| self.a.load_fixed(true, Mem::at(self.context, place)));
        let mut moved = Vec::new();
        for &first in &firsts {
            let sign = self.a.shift(true, SAR, first, 63);
            let own = self.a.g2(true, AND, sign, upper);
            for end in [lowest, last] {
                let end = self.a.add_imm(true, first, more + end);
                let inside = self.a.g2(true, XOR, end, own);
                let beyond = self.a.g2(true, AND, inside, high);
                bad = Some(bad.map_or(beyond, |bad| self.a.g2(true, OR, bad, beyond)));
            }
            moved.push(self.a.g2(true, AND, sign, further));
        }
        let start = self.moved_start(&start, &moved);
        let (places, odd) = self.side_by_side_at(&x, &start, more, bad);
        let bad = odd.ok_or_else(|| malformed(data))?;
        let (quick, slow, end) = (self.a.block(), self.a.cold_block(), self.a.block());
        self.a.test(true, bad, bad);
        self.a.branch(Flags::NotEqual, (slow, &[]), (quick, &[]));
        self.a.switch_to(quick);
        let loaded = self.aside(|l| l.run(&x, &places))?;
        self.a.jump(end, &loaded);
        self.a.switch_to(slow);
        let translations = self.translations_from(&x, translation);
        let lanes = self.aside(|l| {
            let parts = l.address_parts_of(a)?;
            let mut lanes = Vec::new();
            for (one, translation) in l.each_of(&x).into_iter().zip(translations) {
                let offset = MemoryOperands::of(translation)?.mem.offset;
                let parts = l.moved(&parts, offset.into());
                let places = l.translated_lanes(translation, &parts)?;
                lanes.extend(l.wide_lanes(&one, &places)?);
            }
            Ok::<_, Error>(lanes)
        })?;
        self.a.jump(end, &lanes);
        let params = lanes.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        self.give(&x, params)
    }

    /// The translations of an access and of those that are written with it ([`Lower::accessed_behind`]).
    fn translations_from(&self, x: &Access<'_>, first: &'a InstData) -> Vec<&'a InstData> {
        let f = self.f;
        let insts = f.block(self.blocks.current).insts.iter();
        let from = insts.skip_while(|&&inst| !std::ptr::eq(f.inst(inst), first));
        let all = from.filter(|inst| self.translated[inst.index()]).map(|&inst| f.inst(inst));
        all.take(1 + x.rest.len()).collect()
    }

    /// A translation of the one address of all lanes, or of the current sixteen, that take part.
    fn translate_one(
        &mut self,
        data: &InstData,
        (address, value): (R, Option<Value>),
        bits: R,
    ) -> Result<R, Error> {
        let (cold, ask, end) = (self.a.cold_block(), self.a.cold_block(), self.a.block());
        let [high, start, more] = [at::WINDOW_HIGH, at::UPPER_START, at::UPPER_MORE]
            .map(|place| self.a.load_fixed(true, Mem::at(self.context, place)));
        let sign = self.a.shift(true, SAR, address, 63);
        let own = self.a.g2(true, AND, sign, start);
        let inside = self.a.g2(true, XOR, address, own);
        let last = self.a.add_imm(true, inside, i64::from(MemoryOperands::of(data)?.mem.bytes) - 1);
        let more = self.a.g2(true, AND, sign, more);
        let place = self.a.add(true, address, more);
        self.a.test(true, last, high);
        self.a.branch(Flags::NotEqual, (cold, &[]), (end, &[place]));
        self.a.switch_to(cold);
        if translate::looks_at_last_page(data, self.options.has_devices()) {
            self.look_at_last_page(address, end);
        }
        let found = self.aside(|l| {
            let own = match l.groups {
                1 => bits,
                _ if l.spans(data.args[0]) == 1 => bits,
                _ => {
                    let own = l.bits_of_group(bits, l.group);
                    l.a.shift(true, super::scalar::SHL, own, 16 * l.group as u8)
                }
            };
            l.a.test(true, own, own);
            l.a.branch(Flags::NotEqual, (ask, &[]), (end, &[address]));
            l.a.switch_to(ask);
            // All have the same address, so the lowest one's answer is everybody's. No other need ask before a load of memory.
            let own = match data.op == Opcode::TranslateLoad && !l.options.has_devices() {
                true => {
                    let less = l.a.g1r(true, (Code::Neg_rm32, Code::Neg_rm64), own);
                    l.a.g2(true, AND, own, less)
                }
                false => own,
            };
            let lane = l.a.g1(Code::Tzcnt_r64_rm64, own, Size::Q, Size::Q);
            let splat = l.a.splat(true, address);
            let parts = vec![splat; 2 * l.groups];
            l.ask_translation(data, &parts, value, own)?;
            Ok::<_, Error>(l.a.load64g(Mem::indexed(l.context, lane, 8, at::LANE_ADDRESSES)))
        })?;
        self.a.jump(end, &[found]);
        let place = self.a.param(end, RegClass::Int);
        self.a.switch_to(end);
        Ok(place)
    }

    /// Goes on with where memory is, if an address is in the page of the answer before ([`crate::LastPage`]).
    fn look_at_last_page(&mut self, address: R, end: HostBlock) {
        let (same, inside, ask) = (self.a.cold_block(), self.a.cold_block(), self.a.cold_block());
        let place = self.a.load_fixed(true, Mem::at(self.context, at::GENERATION));
        let now = self.a.load64g(Mem::at(place, 0));
        let [then, start, more] = [at::LAST_PAGE_GENERATION, at::LAST_PAGE_START, at::LAST_PAGE_MORE]
            .map(|place| self.a.load64g(Mem::at(self.context, place)));
        self.a.cmp(true, now, then);
        self.a.branch(Flags::Equal, (same, &[]), (ask, &[]));
        self.a.switch_to(same);
        let far = self.a.g2(true, SUB, address, start);
        self.a.cmp_imm(true, far, translate::LAST_IN_PAGE as i32);
        self.a.branch(Flags::BelowEqual, (inside, &[]), (ask, &[]));
        self.a.switch_to(inside);
        let found = self.a.add(true, address, more);
        self.a.jump(end, &[found]);
        self.a.switch_to(ask);
    }

    /// Asks the runtime to translate the addresses of the lanes of `bits`, and faults if it may not. The answers are in the context.
    fn ask_translation(
        &mut self,
        data: &InstData,
        addresses: &[R],
        value: Option<Value>,
        bits: R,
    ) -> Result<(), Error> {
        let mem = MemoryOperands::of(data)?.mem;
        self.note_addresses(addresses);
        self.a.store64g(Mem::at(self.context, at::GUARD_LANES), bits);
        if let Some(v) = value {
            for (n, &p) in self.regs(v)?.iter().enumerate() {
                self.a.store64(Mem::at(self.context, at::LANE_VALUES + 64 * n as i32), p);
            }
        }
        let (access, alignment) = describe(mem, data.op == Opcode::TranslateStore, self.f.lanes);
        self.a.store_imm32(Mem::at(self.context, at::ACCESS), access as i32);
        self.a.store_imm32(Mem::at(self.context, at::ATOMIC), alignment as i32);
        self.call_preserving(at::TRANSLATE_WIDE);
        self.fault_if_odd(data, mem);
        Ok(())
    }
}
