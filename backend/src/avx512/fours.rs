//! Loads and stores of which each four lanes lie side by side: threads of blocks whose width is a multiple of four, but of nothing more.

use iced_x86::Code;
use regalloc2::RegClass;

use super::asm::{A, Mem, R, With};
use super::code::{Flags, Size};
use super::lower::Lower;
use super::memory::Access;
use crate::Error;
use crate::compile::{HostPlace, TrapLane};
use crate::operands::malformed;

const LANES: u8 = 4;

impl Lower<'_> {
    /// An access at the 64-bit addresses of eight lanes each, of words or double words: vectors of four lanes where these lie side by side,
    /// else each lane by itself. `masks` are the guard's, of eight lanes each.
    pub fn fours_or_lanes(&mut self, x: &Access<'_>, parts: &[R], masks: &[R]) -> Result<Vec<R>, Error> {
        let [others, quick, slow, end] = [0; 4].map(|_| self.a.cold_block());
        // The first eight tell mostly.
        let odd = self.odd_of_runs(x, (parts[0], masks[0]), LANES);
        self.a.kortest(odd, odd);
        self.a.branch(Flags::NotEqual, (slow, &[]), (others, &[]));
        self.a.switch_to(others);
        let bad = self.any_odd(&mut parts.iter().zip(masks), |l, (part, mask)| {
            let beyond = l.places_beyond(x.mem, &[part], &[mask])[0];
            if part == parts[0] {
                return beyond;
            }
            let odd = l.odd_of_runs(x, (part, mask), LANES);
            l.a.k3(Code::VEX_Korw_kr_kr_kr, beyond, odd)
        });
        let bad = bad.ok_or_else(|| malformed(x.data))?;
        self.a.kortest(bad, bad);
        self.a.branch(Flags::NotEqual, (slow, &[]), (quick, &[]));
        self.a.switch_to(quick);
        let loaded = self.aside(|l| l.vectors_of_four(x, parts, masks))?;
        self.a.jump(end, &loaded);
        self.a.switch_to(slow);
        let lanes = self.aside(|l| l.wide_lanes(x, parts))?;
        self.a.jump(end, &lanes);
        let params = lanes.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        Ok(params)
    }

    fn vectors_of_four(&mut self, x: &Access<'_>, parts: &[R], masks: &[R]) -> Result<Vec<R>, Error> {
        let base = self.base(x.mem.space);
        let guarded = self.note_guard(x.guard)?;
        let all = self.takes_all(x.guard);
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        let (load, store, size) = match x.mem.bytes {
            8 => (Code::EVEX_Vmovdqu64_ymm_k1z_ymmm256, Code::EVEX_Vmovdqu64_ymmm256_k1z_ymm, Size::Y),
            _ => (Code::EVEX_Vmovdqu32_xmm_k1z_xmmm128, Code::EVEX_Vmovdqu32_xmmm128_k1z_xmm, Size::X),
        };
        let mut loaded = Vec::new();
        for (n, (&part, &mask)) in parts.iter().zip(masks).enumerate() {
            for half in 0..2 {
                let four = 2 * n + half;
                let (first, mask) = match half {
                    0 => (part, mask),
                    _ => (self.a.high_half(part), self.a.kshr(mask, LANES)),
                };
                let first = self.a.first64(first);
                let place = Mem::at(self.a.add(true, base, first), 0);
                let run = TrapLane::Run {
                    first: LANES * four as u8,
                    lanes: LANES,
                    step: x.step,
                    guarded,
                    place: HostPlace::default(),
                };
                let site = self.site(x.data, run);
                let mask = (!all).then_some(mask);
                let Some(values) = &value else {
                    let with = With { mask, zeroing: mask.is_some(), site, ..With::default() };
                    loaded.push(self.a.vload_of(load, size, place, with));
                    continue;
                };
                let own = match (x.mem.bytes, half, four % 4) {
                    (8, 0, _) => values[n],
                    (8, ..) => self.a.high_half(values[n]),
                    (_, _, 0) => values[n / 2],
                    (.., quarter) => self.a.quarter(values[n / 2], quarter as u8),
                };
                self.a.vstore(store, place, own, size, With { mask, site, ..With::default() });
            }
        }
        if x.mem.bytes != 8 {
            loaded = loaded.chunks(2).map(|pair| self.a.join_quarters(pair[0], pair[1])).collect();
        }
        Ok(loaded.chunks(2).map(|pair| self.a.join_halves(pair[0], pair[1])).collect())
    }
}

impl super::asm::Asm {
    /// The four words of a vector from `4 * n` on.
    fn quarter(&mut self, a: R, n: u8) -> R {
        let d = self.zmm();
        let args = [A::Def(d, Size::X), A::Use(a, Size::Z), A::I8(n)];
        self.put(Code::EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8, &args, With::default());
        d
    }

    /// Two vectors of four words as one of eight.
    fn join_quarters(&mut self, low: R, high: R) -> R {
        let d = self.zmm();
        let args = [A::Def(d, Size::Y), A::Use(low, Size::Y), A::Use(high, Size::X), A::I8(1)];
        self.put(Code::EVEX_Vinserti32x4_ymm_k1z_ymm_xmmm128_imm8, &args, With::default());
        d
    }
}
