//! Loads and stores of lanes that lie anywhere: gathers and scatters.

use iced_x86::Code;
use warpjit_ir::Space;

use super::asm::{A, R, Src, With};
use super::code::Size;
use super::int::AND;
use super::lower::Lower;
use super::memory::{Access, Address};
use super::scalar::SHL;
use crate::Error;
use crate::compile::TrapLane;
use crate::operands::arg;

impl Lower<'_> {
    /// Shared, const or local memory, each lane at its own place.
    pub fn bounded_lanes(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let mem = x.mem;
        let local = mem.space == Space::Local;
        let straddles = local && mem.align < mem.bytes.min(4);
        if straddles || x.value.is_some() && mem.bytes < 4 {
            let loaded = self.by_helper(x)?;
            return self.give(x, loaded);
        }
        let mut indices = self.address_parts(x);
        if !mem.far {
            let small = match (&x.address, mem.space) {
                (Address::Lanes(_), Space::Const(_)) => {
                    let most = self.known().get(arg(x.data, 0)?).possible();
                    most.saturating_add(u64::from(x.offset())) <= 0xffff
                }
                _ => false,
            };
            if !small {
                indices = indices.iter().map(|&i| self.a.v3(AND[0], i, Src::C32(0xffff))).collect();
            }
        }
        let mut guard = self.guard(x.guard)?;
        let base = self.base(mem.space);
        if let Some(limit) = self.limit(mem.space, mem.bytes) {
            // What is outside reads as zero and is not written.
            let splat = self.a.splat(false, limit);
            guard = indices
                .iter()
                .zip(guard.iter())
                .map(|(&i, &k)| {
                    self.a.vcmpm(Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, k, i, Src::R(splat), 1)
                })
                .collect();
        }
        let places = if local { self.local_places(&indices) } else { indices };
        let loaded = self.bounded_accesses(x, base, &places, &guard)?;
        self.give(x, loaded)
    }

    /// The accesses of the lanes of a guard, which are all inside.
    pub fn bounded_accesses(
        &mut self,
        x: &Access<'_>,
        base: R,
        places: &[R],
        guard: &[R],
    ) -> Result<Vec<R>, Error> {
        let mem = x.mem;
        let local = mem.space == Space::Local;
        let mut loaded = Vec::new();
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        for g in 0..self.groups {
            let (i, k) = (places[g], guard[g]);
            match (&value, mem.bytes) {
                (None, 8) if local => {
                    let low = self.gather32(base, i, k, 0, None);
                    let high = self.gather32(base, i, k, 4 * self.f.lanes as i32, None);
                    loaded.extend(self.interleave(low, high));
                }
                (None, 8) => loaded.extend(self.gather64(base, i, k, None)),
                (None, n) => {
                    let words = self.gather32(base, i, k, 0, None);
                    loaded.push(self.narrow_load(words, n, mem.signed));
                }
                (Some(v), 8) if local => {
                    let [low, high] = self.separate(v[2 * g], v[2 * g + 1]);
                    self.scatter32(base, i, k, low, 0, None);
                    self.scatter32(base, i, k, high, 4 * self.f.lanes as i32, None);
                }
                (Some(v), 8) => self.scatter64(base, i, k, [v[2 * g], v[2 * g + 1]], None),
                (Some(v), _) => self.scatter32(base, i, k, v[g], 0, None),
            }
        }
        Ok(loaded)
    }

    /// Places in the warp's local memory.
    pub fn local_places(&mut self, indices: &[R]) -> Vec<R> {
        let lane = self.lane.map(|lane| {
            let first = self.a.shift(false, SHL, lane, 2);
            self.a.splat(false, first)
        });
        let by = self.f.lanes.trailing_zeros() as u8;
        indices
            .iter()
            .enumerate()
            .map(|(g, &i)| {
                let word = self.a.v3(AND[0], i, Src::C32(!3));
                let row = self.a.v2i(Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, word, by);
                let byte = self.a.v3(AND[0], i, Src::C32(3));
                let place = self.a.v3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, row, Src::R(byte));
                let place = self.lane_ramp(place, g);
                match lane {
                    Some(lane) => self.a.v3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, place, Src::R(lane)),
                    None => place,
                }
            })
            .collect()
    }

    /// Four bytes more for each lane of the chunk.
    pub fn lane_ramp(&mut self, place: R, group: usize) -> R {
        self.ramp(place, 4, 64 * group as u32)
    }

    /// The bytes of a narrow load from words that start with them.
    pub fn narrow_load(&mut self, words: R, bytes: u8, signed: bool) -> R {
        let by = 32 - 8 * bytes;
        match (bytes, signed) {
            (4.., _) => words,
            (_, false) => self.a.v3(AND[0], words, Src::C32((1 << (8 * u32::from(bytes))) - 1)),
            _ => {
                let up = self.a.v2i(Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, words, by);
                self.a.v2i(Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, up, by)
            }
        }
    }

    /// Sixteen words at signed 32-bit distances from `base`.
    pub fn gather32(&mut self, base: R, index: R, mask: R, disp: i32, site: Option<u32>) -> R {
        let (d, old, left) = (self.a.zmm(), self.a.constant(false, 0), self.a.k());
        let args = [A::Reuse(d, old, Size::Z), A::Vsib(base, index, Size::Z, 1, disp)];
        let with = With { mask: Some(mask), mask_left: Some(left), site, ..With::default() };
        self.a.put(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, &args, with);
        d
    }

    /// Sixteen double words at signed 32-bit distances from `base`.
    pub fn gather64(&mut self, base: R, index: R, mask: R, site: Option<u32>) -> [R; 2] {
        let (high, upper) = (self.a.high_half(index), self.upper(mask));
        [(index, mask), (high, upper)].map(|(i, k)| {
            let (d, old, left) = (self.a.zmm(), self.a.constant(false, 0), self.a.k());
            let args = [A::Reuse(d, old, Size::Z), A::Vsib(base, i, Size::Y, 1, 0)];
            let with = With { mask: Some(k), mask_left: Some(left), site, ..With::default() };
            self.a.put(Code::EVEX_Vpgatherdq_zmm_k1_vm32y, &args, with);
            d
        })
    }

    pub fn scatter32(&mut self, base: R, index: R, mask: R, value: R, disp: i32, site: Option<u32>) {
        let left = self.a.k();
        let args = [A::Vsib(base, index, Size::Z, 1, disp), A::Use(value, Size::Z)];
        let with = With { mask: Some(mask), mask_left: Some(left), site, ..With::default() };
        self.a.put(Code::EVEX_Vpscatterdd_vm32z_k1_zmm, &args, with);
    }

    pub fn scatter64(&mut self, base: R, index: R, mask: R, value: [R; 2], site: Option<u32>) {
        let (high, upper) = (self.a.high_half(index), self.upper(mask));
        for (n, (i, k)) in [(index, mask), (high, upper)].into_iter().enumerate() {
            let left = self.a.k();
            let args = [A::Vsib(base, i, Size::Y, 1, 0), A::Use(value[n], Size::Z)];
            let with = With { mask: Some(k), mask_left: Some(left), site, ..With::default() };
            self.a.put(Code::EVEX_Vpscatterdq_vm32y_k1_zmm, &args, with);
        }
    }

    /// Global memory, each lane at its own 32-bit address.
    pub fn global_lanes(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let mem = x.mem;
        let parts = self.address_parts(x);
        let guard = self.guard(x.guard)?;
        self.note_addresses(&parts);
        let guarded = self.note_guard(x.guard)?;
        let base = self.base(mem.space);
        let whole_words = mem.bytes >= 4 || x.value.is_none() && (mem.bytes == 1 || mem.align >= 2);
        if !whole_words {
            let loaded = self.lane_loop(x, base, false, guarded)?;
            return self.give(x, loaded);
        }
        // Indices are signed: the middle of the space is their zero.
        let half = self.a.imm(true, 1 << 31);
        let middle = self.a.add(true, base, half);
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        let mut loaded = Vec::new();
        for g in 0..self.groups {
            let first = 16 * g as u8;
            let site = self.site(x.data, TrapLane::Gather { first, wide: false, guarded });
            let (i, k) = (parts[g], guard[g]);
            let moved = match (&value, mem.bytes) {
                (None, 1 | 2) => self.a.ternary_words(i, 0xffff_fffc, 0x8000_0000),
                _ => self.a.v3(super::int::XOR[0], i, Src::C32(0x8000_0000)),
            };
            match (&value, mem.bytes) {
                (None, 8) => loaded.extend(self.gather64(middle, moved, k, site)),
                (None, 4) => loaded.push(self.gather32(middle, moved, k, 0, site)),
                (None, n) => {
                    let words = self.gather32(middle, moved, k, 0, site);
                    let words = self.move_down(words, i);
                    loaded.push(self.narrow_load(words, n, mem.signed));
                }
                (Some(v), 8) => self.scatter64(middle, moved, k, [v[2 * g], v[2 * g + 1]], site),
                (Some(v), _) => self.scatter32(middle, moved, k, v[g], 0, site),
            }
        }
        self.give(x, loaded)
    }

    /// Words moved down by as many bytes as the low two bits of addresses say.
    pub fn move_down(&mut self, words: R, address: R) -> R {
        let byte = self.a.v3(AND[0], address, Src::C32(3));
        let bits = self.a.v2i(Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, byte, 3);
        self.a.v3(Code::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, words, Src::R(bits))
    }
}
