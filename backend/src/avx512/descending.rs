//! Loads and stores of lanes that lie side by side from the last to the first: vectors whose elements change places.

use iced_x86::Code;
use regalloc2::RegClass;
use warpjit_ir::Space;

use super::asm::{Mem, R, Src};
use super::code::{Flags, Size};
use super::int::TEST;
use super::lower::Lower;
use super::memory::Access;
use super::scalar::{OR, SHR};
use super::side_by_side::Kind;
use crate::error::Error;
use crate::operands::malformed;

impl Lower<'_> {
    /// A vector's elements, eight or sixteen, from the last to the first.
    pub fn reversed(&mut self, v: R, elements: u8) -> R {
        if elements == 8 {
            let entry = self.a.doubles(&std::array::from_fn(|n| 7 - n as u64));
            let index = self.a.vload_pool(entry);
            return self.a.v3(Code::EVEX_Vpermq_zmm_k1z_zmm_zmmm512b64, index, Src::R(v));
        }
        let entry = self.a.words(&std::array::from_fn(|n| 15 - n as u32));
        let index = self.a.vload_pool(entry);
        self.a.v3(Code::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32, index, Src::R(v))
    }

    /// The mask of such a vector's elements.
    pub fn reversed_mask(&mut self, k: R, elements: u8) -> R {
        let (code, test) = match elements {
            8 => (Code::EVEX_Vpmovm2q_zmm_kr, TEST[1]),
            _ => (Code::EVEX_Vpmovm2d_zmm_kr, TEST[0]),
        };
        let lanes = self.lanes_of_mask(code, k);
        let lanes = self.reversed(lanes, elements);
        self.a.vtest(test, lanes, Src::R(lanes))
    }

    /// Lanes in descending order at 32-bit addresses of global or shared memory, `firsts` being the first lane's of
    /// each sixteen. Where one of them may be beyond the beginning of memory, they are accessed one by one.
    pub fn descending(&mut self, x: &Access<'_>, firsts: &[R]) -> Result<(), Error> {
        self.make_values(x)?;
        let masks = self.guard(x.guard)?;
        let global = matches!(x.mem.space, Space::Global(_));
        let base = self.base(x.mem.space);
        let back = 15 * i32::from(x.mem.bytes);
        let (quick, slow, end) = (self.a.block(), self.a.cold_block(), self.a.block());
        // The last lane's of each sixteen.
        let (lasts, outside) = match global {
            true => self.global_lasts(x, firsts, back)?,
            false => self.bounded_lasts(x, firsts, back)?,
        };
        self.a.test(true, outside, outside);
        self.a.branch(Flags::NotEqual, (slow, &[]), (quick, &[]));
        self.a.switch_to(quick);
        let places: Vec<Mem> = (0..self.groups)
            .map(|g| {
                let last = lasts[g.min(lasts.len() - 1)];
                Mem::at(self.a.add(true, base, last), back)
            })
            .collect();
        let kind = if global { Kind::Global } else { Kind::Bounded };
        let masks = (global || x.value.is_some()).then_some(&masks[..]);
        let loaded = self.aside(|l| l.vectors(x, &places, masks, kind))?;
        self.a.jump(end, &loaded);
        self.a.switch_to(slow);
        let lanes = self.aside(|l| match global {
            true => l.global_lanes(x),
            false => l.lanes_anywhere(x),
        })?;
        self.a.jump(end, &lanes);
        let params = lanes.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        self.give(x, params)
    }

    /// Addresses of global memory so far back, and whether one of them wraps round (0 or not).
    fn global_lasts(&mut self, x: &Access<'_>, firsts: &[R], back: i32) -> Result<(Vec<R>, R), Error> {
        let firsts = self.global_places(firsts, x.mem);
        let lasts: Vec<R> =
            firsts.iter().map(|&first| self.a.add_imm(true, first, -i64::from(back))).collect();
        let any = lasts.iter().copied().reduce(|a, b| self.a.g2(true, OR, a, b));
        let any = any.ok_or_else(|| malformed(x.data))?;
        let below = self.a.shift(true, SHR, any, 63);
        Ok((lasts, below))
    }

    /// Addresses of shared memory so far back, and whether a lane is outside (0 or not).
    fn bounded_lasts(&mut self, x: &Access<'_>, firsts: &[R], back: i32) -> Result<(Vec<R>, R), Error> {
        let size = self.space_bytes(x.mem.space).ok_or_else(|| malformed(x.data))?;
        let (mut lasts, mut outside) = (Vec::new(), Vec::new());
        for &first in firsts {
            let last = self.a.add_imm(false, first, i64::from(x.mem.offset) - i64::from(back));
            let last = match x.mem.far {
                true => self.a.low32(last),
                false => self.a.g1(Code::Movzx_r32_rm16, last, Size::D, Size::W),
            };
            // Where a lane's address wraps round, this is beyond any size.
            let end = self.a.add_imm(true, last, i64::from(back) + i64::from(x.mem.bytes));
            self.a.cmp(true, end, size);
            outside.push(self.a.set_if(Code::Seta_rm8));
            lasts.push(last);
        }
        let outside = outside.into_iter().reduce(|a, b| self.a.g2(false, OR, a, b));
        Ok((lasts, outside.ok_or_else(|| malformed(x.data))?))
    }
}
