//! Translations of guest addresses: those inside the window stay as they are, those of the upper window get a constant
//! more, and for the others cold code asks the runtime.
//!
//! An access is inside a window if its last byte is: what lies below a window is never mapped as far as an access is wide, and
//! traps or is asked for.

use iced_x86::Code;
use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::{InstData, MemAccess, Opcode, Value};

use super::asm::{Mem, R, Src};
use super::code::{Flags, Size};
use super::int::{SHR_BY, TEST, UMIN};
use super::lower::Lower;
use super::scalar::{AND, SAR, SHR, XOR};
use crate::affine::Form;
use crate::context::at;
use crate::error::Error;
use crate::even_address::EvenAddress;
use crate::operands::{MemoryOperands, malformed, result, wide};
use crate::translate::{HOST_ADDRESS_BITS, NO_PAGE, PAGE_BITS, PAGE_READ, PAGE_WRITE, describe};

/// Which bytes of an access tell its pages: the first one, and the last one (`true`) where that may be in another page.
fn ends_of(mem: MemAccess) -> &'static [bool] {
    if mem.bytes > mem.align { &[false, true] } else { &[false] }
}

/// What the entry of a page must have for an access.
fn page_right(data: &InstData) -> u32 {
    if data.op == Opcode::TranslateStore { PAGE_WRITE } else { PAGE_READ }
}

impl Lower<'_> {
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
        let masks = self.guard(guard)?;
        let masks = self.widen(&masks);
        let [high, start, more] = [at::WINDOW_HIGH, at::UPPER_START, at::UPPER_MORE].map(|place| {
            let word = self.a.load_fixed(true, Mem::at(self.context, place));
            self.a.splat(true, word)
        });
        let mut outside = Vec::new();
        let mut found = Vec::new();
        for (&p, &k) in parts.iter().zip(&masks) {
            let sign = self.a.v2i(Code::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8, p, 63);
            let own = self.a.v3(Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64, sign, Src::R(start));
            let inside = self.a.v3(Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64, p, Src::R(own));
            let last = self.moved(&[inside], i64::from(mem.bytes) - 1)[0];
            outside.push(self.a.vtestm(TEST[1], k, last, Src::R(high)));
            let more = self.a.v3(Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64, sign, Src::R(more));
            found.push(self.a.v3(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, p, Src::R(more)));
        }
        let beyond = outside.iter().copied().reduce(|a, b| self.a.k3(Code::VEX_Korw_kr_kr_kr, a, b));
        self.test_any(&[beyond.ok_or_else(|| malformed(data))?]);
        let (cold, end) = (self.a.cold_block(), self.a.block());
        self.a.branch(Flags::NotEqual, (cold, &[]), (end, &found));
        self.a.switch_to(cold);
        self.aside(|l| {
            if l.options.elsewhere {
                l.look_up(data, &parts, &outside, (end, &found))?;
            }
            l.ask_translation(data, &parts, value, bits)
        })?;
        let asked: Vec<R> = (0..parts.len())
            .map(|n| self.a.load64(Mem::at(self.context, at::LANE_ADDRESSES + 64 * n as i32)))
            .collect();
        self.a.jump(end, &asked);
        let places = parts.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        self.define_vectors(r, places);
        Ok(())
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
        let found = self.aside(|l| {
            if l.options.elsewhere {
                l.look_up_one(data, address, end)?;
            }
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
            // All have the same address, so the lowest one's answer is everybody's.
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

    /// Goes on at `end` if the table of page rights allows the accesses of all lanes of some masks of eight; else here.
    fn look_up(
        &mut self,
        data: &InstData,
        parts: &[R],
        masks: &[R],
        end: (HostBlock, &[R]),
    ) -> Result<(), Error> {
        let mem = MemoryOperands::of(data)?.mem;
        let need = page_right(data);
        let [table, start] =
            [at::PAGE_TABLE, at::REBASE].map(|place| self.a.load_fixed(true, Mem::at(self.context, place)));
        let start = self.a.splat(true, start);
        let mut denied = Vec::new();
        for (&p, &k) in parts.iter().zip(masks) {
            let first = self.a.v3(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, p, Src::R(start));
            for &more in ends_of(mem) {
                let more = if more { i64::from(mem.bytes) - 1 } else { 0 };
                let address = self.moved(&[first], more)[0];
                let page = self.a.v2i(SHR_BY[1], address, PAGE_BITS as u8);
                // Addresses that no process has find an entry that allows nothing.
                let page = self.a.v3(UMIN[1], page, Src::C64(NO_PAGE));
                let code = Code::EVEX_Vpgatherqd_ymm_k1_vm64z;
                let rights = self.gather_at(code, Size::Y, table, page, k, None);
                let allowed = self.a.vtestm(TEST[0], k, rights, Src::C32(need));
                denied.push(self.a.k3(Code::VEX_Kandnw_kr_kr_kr, allowed, k));
            }
        }
        let denied = denied.into_iter().reduce(|a, b| self.a.k3(Code::VEX_Korw_kr_kr_kr, a, b));
        self.test_any(&[denied.ok_or_else(|| malformed(data))?]);
        let here = self.a.cold_block();
        self.a.branch(Flags::NotEqual, (here, &[]), end);
        self.a.switch_to(here);
        Ok(())
    }

    /// The same for one address.
    fn look_up_one(&mut self, data: &InstData, address: R, end: HostBlock) -> Result<(), Error> {
        let mem = MemoryOperands::of(data)?.mem;
        let [table, start] =
            [at::PAGE_TABLE, at::REBASE].map(|place| self.a.load_fixed(true, Mem::at(self.context, place)));
        let first = self.a.add(true, address, start);
        let (inside, here) = (self.a.cold_block(), self.a.cold_block());
        let high = self.a.shift(true, SHR, first, HOST_ADDRESS_BITS as u8);
        self.a.test(true, high, high);
        self.a.branch(Flags::NotEqual, (here, &[]), (inside, &[]));
        self.a.switch_to(inside);
        let mut rights = None;
        for &more in ends_of(mem) {
            let at = if more { self.a.add_imm(true, first, i64::from(mem.bytes) - 1) } else { first };
            let page = self.a.shift(true, SHR, at, PAGE_BITS as u8);
            let entry = Mem::indexed(table, page, 1, 0);
            let one = self.a.gload(Code::Movzx_r32_rm8, entry, Size::D, None);
            rights = Some(match rights {
                Some(other) => self.a.g2(false, AND, one, other),
                None => one,
            });
        }
        self.a.test_imm(rights.ok_or_else(|| malformed(data))?, page_right(data) as i32);
        self.a.branch(Flags::NotEqual, (end, &[address]), (here, &[]));
        self.a.switch_to(here);
        Ok(())
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
