//! Loads and stores of which each eight lanes lie side by side, or each four: threads of blocks that are eight wide, or a multiple of four.

use iced_x86::Code;
use regalloc2::RegClass;

use super::asm::{A, Asm, Mem, R, Src, With};
use super::code::{Flags, Size};
use super::int::NOT_EQUAL;
use super::lower::Lower;
use super::memory::Access;
use crate::error::Error;
use crate::trap::{HostPlace, TrapLane};

/// Lanes of a vector of addresses.
const LANES: u8 = 8;

/// Lanes of a run, the longer ones being looked for first.
const RUNS: [u8; 2] = [LANES, 4];

impl Lower<'_> {
    /// An access at the 64-bit addresses of eight lanes each, whose sixteens do not lie side by side: vectors of eight
    /// lanes where these do, or of four, else each lane by itself.
    pub fn runs_or_lanes(&mut self, x: &Access<'_>, parts: &[R]) -> Result<Vec<R>, Error> {
        if !self.one_by_one || !matches!(x.mem.bytes, 4 | 8) || x.step != x.mem.bytes as i8 {
            return self.each_by_lanes(x, parts);
        }
        let guard = self.guard(x.guard)?;
        let masks = self.widen(&guard);
        self.in_runs(x, parts, &masks, &RUNS)
    }

    /// The same in runs of the first of some lengths, else of the others.
    fn in_runs(&mut self, x: &Access<'_>, parts: &[R], masks: &[R], lengths: &[u8]) -> Result<Vec<R>, Error> {
        let Some((&run, shorter)) = lengths.split_first() else { return self.wide_lanes(x, parts) };
        let block = |l: &mut Self| if run == LANES { l.a.block() } else { l.a.cold_block() };
        let [others, quick, end] = [0; 3].map(|_| block(self));
        let slow = self.a.cold_block();
        // The first sixteen tell mostly.
        let [first, rest] = [0..2, 2..parts.len()].map(|range| (&parts[range.clone()], &masks[range]));
        for ((parts, masks), next) in [(first, others), (rest, quick)] {
            let mut bad: Option<R> = None;
            for (&part, &mask) in parts.iter().zip(masks) {
                let odd = self.odd_of_runs(x, part, mask, run);
                bad = Some(bad.map_or(odd, |bad| self.a.k3(Code::VEX_Korw_kr_kr_kr, bad, odd)));
            }
            if let Some(bad) = bad {
                self.a.kortest(bad, bad);
                self.a.branch(Flags::NotEqual, (slow, &[]), (next, &[]));
            } else {
                self.a.jump(next, &[]);
            }
            self.a.switch_to(next);
        }
        let loaded = self.aside(|l| l.vectors_of_runs(x, parts, masks, run))?;
        self.a.jump(end, &loaded);
        self.a.switch_to(slow);
        let lanes = self.aside(|l| l.in_runs(x, parts, masks, shorter))?;
        self.a.jump(end, &lanes);
        let params = lanes.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        Ok(params)
    }

    /// Those of eight lanes that take part and do not follow the first of their run side by side, or whose run begins
    /// where there is no memory of the guest's. A run of which no lane takes part may begin anywhere: a vector without
    /// lanes makes no exception, whatever its address (Intel's manual, volume 2, "Exceptions Type E4").
    fn odd_of_runs(&mut self, x: &Access<'_>, part: R, mask: R, run: u8) -> R {
        let steps = std::array::from_fn(|lane| lane as u64 % u64::from(run) * u64::from(x.mem.bytes));
        let steps = self.a.doubles(&steps);
        let firsts = match run {
            LANES => self.a.v2(Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, Src::R(part), Size::Z, Size::X),
            _ => self.a.v2i(Code::EVEX_Vpermq_zmm_k1z_zmmm512b64_imm8, part, 0),
        };
        let wanted = self.a.v3(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, firsts, Src::Pool(steps));
        let code = Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8;
        let odd = self.a.vcmpm(code, mask, part, Src::R(wanted), NOT_EQUAL);
        let beyond = self.places_beyond(x.mem, &[firsts], &[mask])[0];
        self.a.k3(Code::VEX_Korw_kr_kr_kr, odd, beyond)
    }

    fn vectors_of_runs(
        &mut self,
        x: &Access<'_>,
        parts: &[R],
        masks: &[R],
        run: u8,
    ) -> Result<Vec<R>, Error> {
        let base = self.base(x.mem.space);
        let guarded = self.note_guard(x.guard)?;
        let all = self.takes_all(x.guard);
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        let (load, store, size) = match (x.mem.bytes, run) {
            (8, LANES) => {
                (Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512, Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm, Size::Z)
            }
            (8, _) => (Code::EVEX_Vmovdqu64_ymm_k1z_ymmm256, Code::EVEX_Vmovdqu64_ymmm256_k1z_ymm, Size::Y),
            (_, LANES) => {
                (Code::EVEX_Vmovdqu32_ymm_k1z_ymmm256, Code::EVEX_Vmovdqu32_ymmm256_k1z_ymm, Size::Y)
            }
            _ => (Code::EVEX_Vmovdqu32_xmm_k1z_xmmm128, Code::EVEX_Vmovdqu32_xmmm128_k1z_xmm, Size::X),
        };
        // Of one register of values.
        let runs = 64 / (usize::from(run) * usize::from(x.mem.bytes));
        let mut loaded = Vec::new();
        for n in 0..parts.len() * usize::from(LANES / run) {
            let lane = n as u8 * run;
            let (mut first, mut mask) = (parts[usize::from(lane / LANES)], masks[usize::from(lane / LANES)]);
            if !lane.is_multiple_of(LANES) {
                (first, mask) = (self.a.high_half(first), self.a.kshr(mask, lane % LANES));
            }
            let first = self.a.first64(first);
            let place = Mem::at(self.a.add(true, base, first), 0);
            let lanes =
                TrapLane::Run { first: lane, lanes: run, step: x.step, guarded, place: HostPlace::default() };
            let site = self.site(x.data, lanes);
            let mask = (!all).then_some(mask);
            match &value {
                Some(values) => {
                    let own = self.a.portion(values[n / runs], size, n % runs);
                    self.a.vstore(store, place, own, size, With { mask, site, ..With::default() });
                }
                None => {
                    let with = With { mask, zeroing: mask.is_some(), site, ..With::default() };
                    loaded.push(self.a.vload_of(load, size, place, with));
                }
            }
        }
        Ok(loaded.chunks(runs).map(|portions| self.a.join(portions)).collect())
    }
}

impl Asm {
    /// The `n`th portion of a vector, of such a size; what stands above it does not matter.
    fn portion(&mut self, a: R, size: Size, n: usize) -> R {
        match (size, n) {
            (_, 0) => a,
            (Size::Y, _) => self.high_half(a),
            _ => {
                let d = self.zmm();
                let args = [A::Def(d, Size::X), A::Use(a, Size::Z), A::I8(n as u8)];
                self.put(Code::EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8, &args, With::default());
                d
            }
        }
    }

    /// One vector of its portions: itself, two halves or four quarters.
    fn join(&mut self, portions: &[R]) -> R {
        match *portions {
            [low, high] => self.join_halves(low, high),
            [a, b, c, d] => {
                let [low, high] = [(a, b), (c, d)].map(|(low, high)| {
                    let both = self.zmm();
                    let args = [A::Def(both, Size::Y), A::Use(low, Size::Y), A::Use(high, Size::X), A::I8(1)];
                    self.put(Code::EVEX_Vinserti32x4_ymm_k1z_ymm_xmmm128_imm8, &args, With::default());
                    both
                });
                self.join_halves(low, high)
            }
            _ => portions[0],
        }
    }
}
