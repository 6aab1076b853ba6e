//! Loads and stores of lanes that lie anywhere: gathers and scatters.

use iced_x86::Code;
use regalloc2::RegClass;
use warpjit_ir::{Block, Function, InstData, MemAccess, Opcode, Space, Value};

use super::asm::{A, Mem, R, Src, With};
use super::code::{Flags, Size};
use super::int::{AND, CMPU, LESS};
use super::lower::Lower;
use super::memory::{Access, Address};
use super::scalar::{SHL, SHR};
use crate::affine::{Form, Forms};
use crate::error::Error;
use crate::operands::arg;
use crate::trap::TrapLane;

/// Most vectors of words in a function that are loaded one by one: that takes half the time of a gather (Zen 5: 2.8 and 5.3 ns), but
/// fifteen times the code, and code that does not fit into caches costs more (576 of them in a row: 150 ms instead of 112).
const MOST_ONE_BY_ONE: usize = 96;

/// Whether so few words are loaded from places anywhere that one load after the other is faster than gathers.
pub(super) fn worth_many_loads(f: &Function, order: &[Block], forms: &Forms, groups: usize) -> bool {
    let anywhere = |inst: &warpjit_ir::Inst| {
        let data = f.inst(*inst);
        data.op == Opcode::Load && data.args.first().is_some_and(|&a| forms.of(a) == Form::Varying)
    };
    let loads = order.iter().flat_map(|&b| &f.block(b).insts).filter(|&inst| anywhere(inst)).count();
    loads * groups <= MOST_ONE_BY_ONE
}

impl Lower<'_> {
    /// Shared, const or local memory, each lane at its own place.
    pub fn bounded_lanes(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let loaded = match self.alike(x)? {
            Some(alike) => {
                // Made here, so that it is good behind.
                self.guard(x.guard)?;
                self.load_alike(x, &alike, |l| l.lanes_anywhere(x))?
            }
            None => self.lanes_anywhere(x)?,
        };
        self.give(x, loaded)
    }

    /// An access of bounded memory, and those behind it, whose lanes lie anywhere.
    pub fn lanes_anywhere(&mut self, x: &Access<'_>) -> Result<Vec<R>, Error> {
        if !x.rest.is_empty() {
            return self.one_after_another(x, Self::lanes_anywhere);
        }
        let mem = x.mem;
        let local = mem.space == Space::Local;
        let straddles = local && mem.align < mem.bytes.min(4);
        let narrow = x.value.is_some() && mem.bytes < 4;
        if straddles || narrow && mem.space != Space::Shared {
            return self.by_helper(x);
        }
        let mut indices = self.address_parts(x);
        if !mem.far {
            let small = match (&x.address, mem.space) {
                (Address::Lanes(_), Space::Const(_)) => self.is_in_bank(arg(x.data, 0)?, x.offset()),
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
                .map(|(&i, &k)| self.a.vcmpm(CMPU[0], k, i, Src::R(splat), LESS))
                .collect();
        }
        if narrow {
            return self.narrow_stores(x, base, &indices, &guard);
        }
        let places = if local { self.local_places(&indices) } else { indices };
        self.bounded_accesses(x, base, &places, &guard)
    }

    /// Whether an address and an offset do not wrap in a bank of constants.
    pub fn is_in_bank(&mut self, address: Value, offset: u32) -> bool {
        self.known().get(address).possible().saturating_add(offset.into()) <= 0xffff
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
        let all = self.takes_all(x.guard);
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        for g in 0..self.groups {
            let (i, k) = (places[g], guard[g]);
            let results = match (&value, mem.bytes) {
                (Some(_), _) => 0,
                (None, 8) => 2,
                (None, _) => 1,
            };
            let access = |l: &mut Self| match (&value, mem.bytes) {
                (None, 8) if local => {
                    let low = l.gather32(base, i, k, 0, None);
                    let high = l.gather32(base, i, k, 4 * l.f.lanes as i32, None);
                    l.interleave(low, high).to_vec()
                }
                (None, 8) => l.gather64(base, i, k, None).to_vec(),
                (None, n) => {
                    let words = match l.one_by_one {
                        // All lanes take part, and all are inside.
                        true if all && k == l.active[g] => l.loads32(base, i, None),
                        true => l.words_within(base, i, k),
                        false => l.gather32(base, i, k, 0, None),
                    };
                    vec![l.narrow_load(words, n, mem.signed)]
                }
                (Some(v), 8) if local => {
                    let [low, high] = l.separate(v[2 * g], v[2 * g + 1]);
                    l.scatter32(base, i, k, low, 0, None);
                    l.scatter32(base, i, k, high, 4 * l.f.lanes as i32, None);
                    Vec::new()
                }
                (Some(v), 8) => {
                    l.scatter64(base, i, k, [v[2 * g], v[2 * g + 1]], None);
                    Vec::new()
                }
                (Some(v), _) => {
                    l.scatter32(base, i, k, v[g], 0, None);
                    Vec::new()
                }
            };
            loaded.extend(match mem.space {
                // In shared memory often a part of the lanes works, and what the others have is outside.
                Space::Shared if self.one_by_one => self.where_any(k, results, access),
                _ => access(self),
            });
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

    /// What an access of sixteen lanes gives, if any takes part; else zeros.
    fn where_any(&mut self, mask: R, results: usize, access: impl FnOnce(&mut Self) -> Vec<R>) -> Vec<R> {
        let zeros: Vec<R> = (0..results).map(|_| self.a.constant(false, 0)).collect();
        let (go, end) = (self.a.block(), self.a.block());
        self.a.kortest(mask, mask);
        self.a.branch(Flags::Equal, (end, &zeros), (go, &[]));
        self.a.switch_to(go);
        let loaded = self.aside(access);
        self.a.jump(end, &loaded);
        let params = zeros.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        params
    }

    /// Sixteen words at unsigned distances from `base`, zero where the mask does not hold. A word at `base` is
    /// readable even where the space is empty ([`crate::Context`]).
    fn words_within(&mut self, base: R, index: R, mask: R) -> R {
        let with = With { mask: Some(mask), zeroing: true, ..With::default() };
        let code = Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
        let index = self.a.v2w(code, Src::R(index), Size::Z, Size::Z, with);
        let words = self.loads32(base, index, None);
        self.a.v2w(code, Src::R(words), Size::Z, Size::Z, with)
    }

    /// Sixteen words at unsigned 32-bit distances from `base`, one load after the other.
    pub fn loads32(&mut self, base: R, index: R, site: Option<u32>) -> R {
        let quarters = [0u8, 1, 2, 3].map(|quarter| {
            let places = self.four_places(index, quarter);
            self.four_words(base, &places, site)
        });
        self.quarters_as_one(quarters)
    }

    /// The words of a quarter of a vector in general registers, zero-extended.
    pub fn four_places(&mut self, index: R, quarter: u8) -> [R; 4] {
        let [a, b] = self.two_of(index, quarter).map(|pair| {
            // In this order the pair's register becomes the upper place.
            let low = self.a.low32(pair);
            [low, self.a.shift(true, SHR, pair, 32)]
        });
        [a[0], a[1], b[0], b[1]]
    }

    /// Sixteen words at the 64-bit distances of two vectors from `base`, one load after the other.
    pub fn loads64(&mut self, base: R, index: [R; 2], sites: [Option<u32>; 2]) -> R {
        let quarters = [0u8, 1, 2, 3].map(|quarter| {
            let half = usize::from(quarter / 2);
            let places = [0, 1].map(|n| self.two_of(index[half], 2 * (quarter % 2) + n));
            self.four_words(base, places.as_flattened(), sites[half])
        });
        self.quarters_as_one(quarters)
    }

    /// The double words of a quarter of a vector.
    pub fn two_of(&mut self, a: R, quarter: u8) -> [R; 2] {
        let own = match quarter {
            0 => a,
            n => {
                let d = self.a.zmm();
                let args = [A::Def(d, Size::X), A::Use(a, Size::Z), A::I8(n)];
                self.a.put(Code::EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8, &args, With::default());
                d
            }
        };
        let second = self.a.gpr();
        let args = [A::Def(second, Size::Q), A::Use(own, Size::X), A::I8(1)];
        self.a.put(Code::EVEX_Vpextrq_rm64_xmm_imm8, &args, With::default());
        [self.a.first64(own), second]
    }

    /// Asks for what is at unsigned 32-bit offsets in global memory, of the first and the last of each four lanes.
    pub fn prefetch(&mut self, data: &InstData) -> Result<(), Error> {
        let offsets = self.regs(arg(data, 0)?)?;
        let base = self.base(Space::Global(0));
        for &index in offsets.iter() {
            for quarter in 0..4 {
                let [first, last] = self.two_of(index, quarter);
                for place in [self.a.low32(first), self.a.shift(true, SHR, last, 32)] {
                    let place = A::Mem(Mem::indexed(base, place, 1, 0));
                    self.a.put(Code::Prefetcht0_m8, &[place], With::default());
                }
            }
        }
        Ok(())
    }

    fn four_words(&mut self, base: R, places: &[R], site: Option<u32>) -> R {
        let first = self.first_word(Mem::indexed(base, places[0], 1, 0), site);
        (1..)
            .zip(&places[1..])
            .fold(first, |words, (n, &place)| self.next_word(words, n, Mem::indexed(base, place, 1, 0), site))
    }

    /// The first word of four, loaded.
    pub fn first_word(&mut self, place: Mem, site: Option<u32>) -> R {
        let d = self.a.zmm();
        let with = With { site, ..With::default() };
        self.a.put(Code::EVEX_Vmovd_xmm_rm32, &[A::Def(d, Size::X), A::Mem(place)], with);
        d
    }

    /// Four words of which the `n`th is loaded.
    pub fn next_word(&mut self, words: R, n: u8, place: Mem, site: Option<u32>) -> R {
        let d = self.a.zmm();
        let args = [A::Def(d, Size::X), A::Use(words, Size::X), A::Mem(place), A::I8(n)];
        self.a.put(Code::EVEX_Vpinsrd_xmm_xmm_rm32_imm8, &args, With { site, ..With::default() });
        d
    }

    pub fn quarters_as_one(&mut self, quarters: [R; 4]) -> R {
        let [low, high] = [0, 2].map(|n| {
            let d = self.a.zmm();
            let args = [
                A::Def(d, Size::Y),
                A::Use(quarters[n], Size::Y),
                A::Use(quarters[n + 1], Size::X),
                A::I8(1),
            ];
            self.a.put(Code::EVEX_Vinserti32x4_ymm_k1z_ymm_xmmm128_imm8, &args, With::default());
            d
        });
        self.a.join_halves(low, high)
    }

    /// What sixteen lanes load: one by one where all take part and that pays, else gathered.
    pub fn if_all(
        &mut self,
        mask: R,
        one_by_one: impl FnOnce(&mut Self) -> R,
        gathered: impl FnOnce(&mut Self) -> R,
    ) -> R {
        if !self.one_by_one {
            return gathered(self);
        }
        let (full, part, end) = (self.a.block(), self.a.cold_block(), self.a.block());
        self.a.kortest(mask, mask);
        self.a.branch(Flags::Below, (full, &[]), (part, &[]));
        self.a.switch_to(full);
        let words = self.aside(one_by_one);
        self.a.jump(end, &[words]);
        self.a.switch_to(part);
        let words = self.aside(gathered);
        self.a.jump(end, &[words]);
        let param = self.a.param(end, RegClass::Float);
        self.a.switch_to(end);
        param
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
    pub fn global_lanes(&mut self, x: &Access<'_>) -> Result<Vec<R>, Error> {
        if !x.rest.is_empty() {
            return self.one_after_another(x, Self::global_lanes);
        }
        let mem = x.mem;
        let parts = self.address_parts(x);
        if self.options.open_loads && x.value.is_none() {
            return Ok(self.open_lanes(x, &parts));
        }
        let guard = self.guard(x.guard)?;
        self.note_addresses(&parts);
        let guarded = self.note_guard(x.guard)?;
        let base = self.base(mem.space);
        let whole_words = mem.bytes >= 4 || x.value.is_none() && (mem.bytes == 1 || mem.align >= 2);
        if !whole_words {
            return self.lane_loop(x, base, false, guarded);
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
                (None, 4) => loaded.push(self.if_all(
                    k,
                    |l| l.loads32(base, i, site),
                    |l| l.gather32(middle, moved, k, 0, site),
                )),
                (None, n) => {
                    let words = self.gather32(middle, moved, k, 0, site);
                    let words = self.move_down(words, i);
                    loaded.push(self.narrow_load(words, n, mem.signed));
                }
                (Some(v), 8) => self.scatter64(middle, moved, k, [v[2 * g], v[2 * g + 1]], site),
                (Some(v), _) => self.scatter32(middle, moved, k, v[g], 0, site),
            }
        }
        Ok(loaded)
    }

    /// Loads of all lanes, whose addresses are all good ([`crate::Options::open_loads`]): no lane is left out, and none is noted.
    fn open_lanes(&mut self, x: &Access<'_>, parts: &[R]) -> Vec<R> {
        let mem = x.mem;
        let base = self.base(mem.space);
        let all = self.a.k_const(true);
        let mut loaded = Vec::new();
        for (g, &index) in parts.iter().enumerate().take(self.groups) {
            let site =
                self.site(x.data, TrapLane::Gather { first: 16 * g as u8, wide: false, guarded: false });
            match mem.bytes {
                8 => loaded.extend(self.double_words(base, index, site)),
                4 if self.one_by_one => loaded.push(self.loads32(base, index, site)),
                // Addresses are below 2^31.
                4 => loaded.push(self.gather32(base, index, all, 0, site)),
                _ => loaded.push(self.parts_of_words(base, index, mem, site)),
            }
        }
        loaded
    }

    /// Sixteen double words at unsigned 32-bit distances from `base`, one load after the other.
    fn double_words(&mut self, base: R, index: R, site: Option<u32>) -> [R; 2] {
        [0u8, 2].map(|half| {
            let pairs = [half, half + 1].map(|quarter| {
                let places = self.four_places(index, quarter);
                [0, 2].map(|n| {
                    let with = With { site, ..With::default() };
                    let first = self.a.zmm();
                    let place = A::Mem(Mem::indexed(base, places[n], 1, 0));
                    self.a.put(Code::EVEX_Vmovq_xmm_rm64, &[A::Def(first, Size::X), place], with);
                    let d = self.a.zmm();
                    let place = A::Mem(Mem::indexed(base, places[n + 1], 1, 0));
                    let args = [A::Def(d, Size::X), A::Use(first, Size::X), place, A::I8(1)];
                    self.a.put(Code::EVEX_Vpinsrq_xmm_xmm_rm64_imm8, &args, with);
                    d
                })
            });
            self.quarters_as_one([pairs[0][0], pairs[0][1], pairs[1][0], pairs[1][1]])
        })
    }

    /// Sixteen bytes or halves of words at unsigned 32-bit distances from `base`, extended, one load after the other.
    fn parts_of_words(&mut self, base: R, index: R, mem: MemAccess, site: Option<u32>) -> R {
        let (code, size) = Self::load_code(mem);
        let quarters = [0u8, 1, 2, 3].map(|quarter| {
            let places = self.four_places(index, quarter);
            let [a, b, c, d] =
                places.map(|place| self.a.gload(code, Mem::indexed(base, place, 1, 0), size, site));
            let mut words = self.a.zmm();
            self.a.put(
                Code::EVEX_Vmovd_xmm_rm32,
                &[A::Def(words, Size::X), A::Use(a, Size::D)],
                With::default(),
            );
            for (n, word) in (1..).zip([b, c, d]) {
                let next = self.a.zmm();
                let args = [A::Def(next, Size::X), A::Use(words, Size::X), A::Use(word, Size::D), A::I8(n)];
                self.a.put(Code::EVEX_Vpinsrd_xmm_xmm_rm32_imm8, &args, With::default());
                words = next;
            }
            words
        });
        self.quarters_as_one(quarters)
    }

    /// Words moved down by as many bytes as the low two bits of addresses say.
    pub fn move_down(&mut self, words: R, address: R) -> R {
        let byte = self.a.v3(AND[0], address, Src::C32(3));
        let bits = self.a.v2i(Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, byte, 3);
        self.a.v3(Code::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, words, Src::R(bits))
    }
}
