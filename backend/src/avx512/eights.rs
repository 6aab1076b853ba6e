//! Loads and stores of which each eight lanes lie side by side: threads of blocks that are eight wide.

use iced_x86::Code;
use regalloc2::RegClass;

use super::asm::{Mem, R, Src, With};
use super::code::{Flags, Size};
use super::int::NOT_EQUAL;
use super::lower::Lower;
use super::memory::Access;
use crate::Error;
use crate::compile::{HostPlace, TrapLane};
use crate::operands::malformed;

const LANES: u8 = 8;

impl Lower<'_> {
    /// An access at the 64-bit addresses of eight lanes each, whose sixteens do not lie side by side: vectors of eight where these do, or
    /// of four, else each lane by itself.
    pub fn eights_or_lanes(&mut self, x: &Access<'_>, parts: &[R]) -> Result<Vec<R>, Error> {
        if !self.one_by_one || !matches!(x.mem.bytes, 4 | 8) || x.step != x.mem.bytes as i8 {
            return self.each_by_lanes(x, parts);
        }
        let guard = self.guard(x.guard)?;
        let masks = self.widen(&guard);
        let (others, quick, slow, end) =
            (self.a.block(), self.a.block(), self.a.cold_block(), self.a.block());
        // The first sixteen tell mostly.
        let (first, rest) = parts.split_at(2);
        let odd = self.any_odd(&mut first.iter().zip(&masks), |l, of| l.odd_of_runs(x, of, LANES));
        let odd = odd.ok_or_else(|| malformed(x.data))?;
        self.a.kortest(odd, odd);
        self.a.branch(Flags::NotEqual, (slow, &[]), (others, &[]));
        self.a.switch_to(others);
        let bad = self
            .any_odd(&mut rest.iter().zip(&masks[2..]), |l, of| l.odd_of_runs(x, of, LANES))
            .map(|odd| self.a.bits_of(odd));
        let firsts: Vec<R> = parts.iter().map(|&part| self.a.first64(part)).collect();
        let bad = self.bad_firsts(x, &firsts, bad);
        self.a.test(true, bad, bad);
        self.a.branch(Flags::NotEqual, (slow, &[]), (quick, &[]));
        self.a.switch_to(quick);
        let loaded = self.aside(|l| l.vectors_of_eight(x, &firsts, &masks))?;
        self.a.jump(end, &loaded);
        self.a.switch_to(slow);
        let lanes = self.aside(|l| l.fours_or_lanes(x, parts, &masks))?;
        self.a.jump(end, &lanes);
        let params = lanes.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        Ok(params)
    }

    /// Any of the lanes that `odd` tells of some addresses and masks; one after the other, since masks have few registers.
    pub fn any_odd(
        &mut self,
        parts: &mut dyn Iterator<Item = (&R, &R)>,
        mut odd: impl FnMut(&mut Self, (R, R)) -> R,
    ) -> Option<R> {
        let mut all = None;
        for (&part, &mask) in parts {
            let own = odd(self, (part, mask));
            all = Some(match all {
                Some(all) => self.a.k3(Code::VEX_Korw_kr_kr_kr, all, own),
                None => own,
            });
        }
        all
    }

    /// Those of eight lanes that take part and do not follow the first of their run, of eight or four, side by side.
    pub fn odd_of_runs(&mut self, x: &Access<'_>, (part, mask): (R, R), run: u8) -> R {
        let steps = std::array::from_fn(|lane| lane as u64 % u64::from(run) * u64::from(x.mem.bytes));
        let steps = self.a.doubles(&steps);
        let firsts = match run {
            LANES => self.a.v2(Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, Src::R(part), Size::Z, Size::X),
            _ => self.a.v2i(Code::EVEX_Vpermq_zmm_k1z_zmmm512b64_imm8, part, 0),
        };
        let wanted = self.a.v3(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, firsts, Src::Pool(steps));
        let code = Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8;
        self.a.vcmpm(code, mask, part, Src::R(wanted), NOT_EQUAL)
    }

    fn vectors_of_eight(&mut self, x: &Access<'_>, firsts: &[R], masks: &[R]) -> Result<Vec<R>, Error> {
        let base = self.base(x.mem.space);
        let guarded = self.note_guard(x.guard)?;
        let all = self.takes_all(x.guard);
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        let (load, store, size) = match x.mem.bytes {
            8 => (Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512, Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm, Size::Z),
            _ => (Code::EVEX_Vmovdqu32_ymm_k1z_ymmm256, Code::EVEX_Vmovdqu32_ymmm256_k1z_ymm, Size::Y),
        };
        let mut loaded = Vec::new();
        for (n, (&first, &mask)) in firsts.iter().zip(masks).enumerate() {
            let run = TrapLane::Run {
                first: LANES * n as u8,
                lanes: LANES,
                step: x.step,
                guarded,
                place: HostPlace::default(),
            };
            let site = self.site(x.data, run);
            let mask = (!all).then_some(mask);
            let place = Mem::at(self.a.add(true, base, first), 0);
            match &value {
                Some(parts) => {
                    let own = match (x.mem.bytes, n % 2) {
                        (8, _) => parts[n],
                        (_, 0) => parts[n / 2],
                        _ => self.a.high_half(parts[n / 2]),
                    };
                    self.a.vstore(store, place, own, size, With { mask, site, ..With::default() });
                }
                None => {
                    let with = With { mask, zeroing: mask.is_some(), site, ..With::default() };
                    loaded.push(self.a.vload_of(load, size, place, with));
                }
            }
        }
        if x.mem.bytes == 8 {
            return Ok(loaded);
        }
        Ok(loaded.chunks(2).map(|pair| self.a.join_halves(pair[0], pair[1])).collect())
    }
}
