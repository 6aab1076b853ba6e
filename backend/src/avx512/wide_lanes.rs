//! Loads and stores at 64-bit addresses of global memory, each lane at its own place.

use iced_x86::Code;
use warpjit_ir::MemAccess;

use super::asm::{A, Mem, R, Src, With};
use super::code::Size;
use super::int::{AND, TEST};
use super::lower::Lower;
use super::memory::Access;
use crate::context::at;
use crate::error::Error;
use crate::trap::TrapLane;

impl Lower<'_> {
    /// Each lane at its own place.
    pub fn wide_lanes(&mut self, x: &Access<'_>, addresses: &[R]) -> Result<Vec<R>, Error> {
        let (mem, data) = (x.mem, x.data);
        let base = self.base(mem.space);
        let guard = self.guard(x.guard)?;
        let masks = self.widen(&guard);
        // What has been permitted is inside.
        if !self.options.permits || mem.align > 1 {
            let bad = self.places_beyond(mem, addresses, &masks);
            let bad = self.narrow(&bad);
            self.fault_lanes(data, mem, &bad, &guard, (addresses, true));
        }
        self.note_addresses(addresses);
        let guarded = self.note_guard(x.guard)?;
        let whole_words = mem.bytes >= 4 || x.value.is_none() && (mem.bytes == 1 || mem.align >= 2);
        if !whole_words {
            return self.lane_loop(x, base, true, guarded);
        }
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        let mut loaded = Vec::new();
        for g in 0..self.groups {
            let pair = [0, 1].map(|h| {
                let n = 2 * g + h;
                let site = self.site(data, TrapLane::Gather { first: 8 * n as u8, wide: true, guarded });
                (addresses[n], masks[n], site)
            });
            match (&value, mem.bytes) {
                (Some(v), 8) => {
                    for (h, (i, k, site)) in pair.into_iter().enumerate() {
                        let left = self.a.k();
                        let args = [A::Vsib(base, i, Size::Z, 1, 0), A::Use(v[2 * g + h], Size::Z)];
                        let with = With { mask: Some(k), mask_left: Some(left), site, ..With::default() };
                        self.a.put(Code::EVEX_Vpscatterqq_vm64z_k1_zmm, &args, with);
                    }
                }
                (Some(v), _) => {
                    let high = self.a.high_half(v[g]);
                    for ((i, k, site), v) in pair.into_iter().zip([v[g], high]) {
                        let left = self.a.k();
                        let args = [A::Vsib(base, i, Size::Z, 1, 0), A::Use(v, Size::Y)];
                        let with = With { mask: Some(k), mask_left: Some(left), site, ..With::default() };
                        self.a.put(Code::EVEX_Vpscatterqd_vm64z_k1_ymm, &args, with);
                    }
                }
                (None, 8) => {
                    for (i, k, site) in pair {
                        loaded.push(self.gather_at(
                            Code::EVEX_Vpgatherqq_zmm_k1_vm64z,
                            Size::Z,
                            base,
                            i,
                            k,
                            site,
                        ));
                    }
                }
                (None, 4) => {
                    let mut index = [addresses[2 * g], addresses[2 * g + 1]];
                    if self.one_by_one && !self.single.is_empty() {
                        // Most lanes take part: the others load a word that is sure to be there.
                        let elsewhere = self.a.g2(true, super::scalar::SUB, self.context, base);
                        let elsewhere = self.a.splat(true, elsewhere);
                        for (index, (.., mask, _)) in index.iter_mut().zip(pair) {
                            *index = self.blend(true, mask, Src::R(*index), elsewhere);
                        }
                        loaded.push(self.loads64(base, index, pair.map(|(.., site)| site)));
                        continue;
                    }
                    loaded.push(self.if_all(
                        guard[g],
                        |l| l.loads64(base, index, pair.map(|(.., site)| site)),
                        |l| {
                            let code = Code::EVEX_Vpgatherqd_ymm_k1_vm64z;
                            let halves =
                                pair.map(|(i, k, site)| l.gather_at(code, Size::Y, base, i, k, site));
                            l.a.join_halves(halves[0], halves[1])
                        },
                    ));
                }
                (None, n) => {
                    let halves = pair.map(|(i, k, site)| {
                        let i = self.a.v3(AND[1], i, Src::C64(!3));
                        self.gather_at(Code::EVEX_Vpgatherqd_ymm_k1_vm64z, Size::Y, base, i, k, site)
                    });
                    let words = self.a.join_halves(halves[0], halves[1]);
                    let low = pair.map(|(i, ..)| {
                        let d = self.a.zmm();
                        let args = [A::Def(d, Size::Y), A::Use(i, Size::Z)];
                        self.a.put(Code::EVEX_Vpmovqd_ymmm256_k1z_zmm, &args, With::default());
                        d
                    });
                    let low = self.a.join_halves(low[0], low[1]);
                    let words = self.move_down(words, low);
                    loaded.push(self.narrow_load(words, n, mem.signed));
                }
            }
        }
        Ok(loaded)
    }

    /// Those of eight lanes each whose addresses are beyond the address space, or not aligned.
    pub fn places_beyond(&mut self, mem: MemAccess, addresses: &[R], masks: &[R]) -> Vec<R> {
        let high = self.a.load_fixed(true, Mem::at(self.context, at::GLOBAL_HIGH));
        let high = self.a.splat(true, high);
        let low = u64::from(mem.align.max(1) - 1);
        let bad = |(&a, &k): (&R, &R)| {
            let beyond = self.a.vtestm(TEST[1], k, a, Src::R(high));
            if low == 0 {
                return beyond;
            }
            let back = 0u64.wrapping_sub(mem.align_offset.into());
            let whole = match back {
                0 => a,
                _ => self.a.v3(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, a, Src::C64(back)),
            };
            let odd = self.a.vtestm(TEST[1], k, whole, Src::C64(low));
            self.a.k3(Code::VEX_Korw_kr_kr_kr, beyond, odd)
        };
        addresses.iter().zip(masks).map(bad).collect()
    }

    fn gather_at(&mut self, code: Code, size: Size, base: R, index: R, mask: R, site: Option<u32>) -> R {
        let (d, old, left) = (self.a.zmm(), self.a.constant(false, 0), self.a.k());
        let args = [A::Reuse(d, old, size), A::Vsib(base, index, Size::Z, 1, 0)];
        let with = With { mask: Some(mask), mask_left: Some(left), site, ..With::default() };
        self.a.put(code, &args, with);
        d
    }
}
