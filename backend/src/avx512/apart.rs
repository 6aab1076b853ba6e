//! Loads and stores of lanes that lie evenly apart, as one component of vectors of two or four does: whole vectors of memory, of which
//! the words between are masked off, so that nothing traps for them, and the words of lanes put together or apart.

use iced_x86::Code;
use warpjit_ir::{Inst, InstData, MemAccess, Value};

use super::asm::{A, Mem, R, Src, With};
use super::code::Size;
use super::lower::Lower;
use super::memory::Access;
use crate::affine::Form;
use crate::error::Error;
use crate::operands::MemoryOperands;
use crate::trap::{HostPlace, TrapLane};

const PERMUTE: Code = Code::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32;
const PERMUTE_TWO: Code = Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32;
const DEPOSIT: Code = Code::VEX_Pdep_r32_r32_rm32;
const SHIFT_RIGHT: (Code, Code) = super::scalar::SHR;

/// How the words of one vector's lanes lie in memory.
#[derive(Clone, Copy)]
struct Apart {
    /// Words of four bytes that a lane accesses: one or two.
    words: usize,
    /// Words from lane to lane.
    step: usize,
}

impl Apart {
    fn of(x: &Access<'_>) -> Apart {
        Apart { words: usize::from(x.mem.bytes / 4), step: usize::from(x.step.unsigned_abs() / 4) }
    }

    /// Vectors of memory in which the lanes of one vector lie.
    fn chunks(self) -> usize {
        self.step / self.words
    }

    /// Lanes in one of them.
    fn lanes(self) -> usize {
        16 / self.step
    }

    /// Those elements of a vector of memory that are some lane's, a bit each.
    fn elements(self) -> u64 {
        (0..self.lanes()).fold(0, |bits, lane| bits | 1 << (lane * self.chunks()))
    }
}

impl Lower<'_> {
    /// The results of loads, or the values of stores, that follow one in the program and fill what is between its lanes: with it they are
    /// whole vectors, which no mask delays. Nothing may fault for one of them but not for the first, so lanes must lie at multiples of
    /// their distance: either the guest wants that, or it is tested.
    pub fn accessed_behind(&mut self, x: &Access<'_>, tested: bool) -> Vec<Value> {
        let (mem, f) = (x.mem, self.f);
        let count = usize::try_from(x.step).unwrap_or(0) / usize::from(mem.bytes);
        let insts = &f.block(self.blocks.current).insts;
        let place = insts.iter().position(|&i| std::ptr::eq(f.inst(i), x.data));
        let first = (mem.bytes == 4 || mem.bytes == 8 && count == 2)
            && (tested || mem.align >= x.step.unsigned_abs())
            && mem.align_offset == 0;
        let (Some(place), true) = (place, first && count > 1) else { return Vec::new() };
        // Translations that are done with their access stand between.
        let others = insts[place + 1..].iter().filter(|&&i| self.translated.get(i.index()) != Some(&true));
        let behind: Vec<Inst> = others.take(count - 1).copied().collect();
        let Some((address, first)) = self.guest_place(x.data) else { return Vec::new() };
        let other = |(n, &inst): (usize, &Inst)| {
            let data = f.inst(inst);
            let next = MemoryOperands::of(data).ok().filter(|_| data.op == x.data.op)?;
            let offset = first.checked_add(i32::from(mem.bytes) * (n as i32 + 1))?;
            let same = next.mem.space == mem.space && (next.mem.bytes, data.pc) == (mem.bytes, x.data.pc);
            let own = self.guest_place(data)? == (address, offset) && next.guard == x.guard;
            let varying = |&r: &Value| self.forms.of(r) == Form::Varying && !self.address_only[r.index()];
            next.value.or(data.result.filter(varying)).filter(|_| same && own)
        };
        let values: Vec<Value> = behind.iter().enumerate().map_while(other).collect();
        if values.len() + 1 < count {
            return Vec::new();
        }
        self.accessed.extend(behind);
        values
    }

    /// The guest's address of an access, and the offset from it.
    fn guest_place(&self, data: &InstData) -> Option<(Value, i32)> {
        let named = self.translation_of(data).unwrap_or(data);
        let operands = MemoryOperands::of(named).ok()?;
        Some((operands.address, operands.mem.offset))
    }

    /// Makes the vectors of what is stored, so that they are good in all ways that follow.
    pub fn make_values(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let stored: Vec<Value> =
            x.value.iter().flat_map(|v| [v].into_iter().chain(&x.rest)).copied().collect();
        stored.into_iter().try_for_each(|v| self.regs(v).map(|_| ()))
    }

    /// An access and those of [`Lower::accessed_behind`], each by itself.
    pub fn each_of<'x>(&self, x: &Access<'x>) -> Vec<Access<'x>> {
        let values = x.value.iter().chain(&x.rest);
        let values: Vec<Option<Value>> = match x.value {
            Some(_) => values.map(|&v| Some(v)).collect(),
            None => vec![None; 1 + x.rest.len()],
        };
        let each = values.into_iter().enumerate().map(|(n, value)| {
            let align_offset = x.mem.align_offset + n as u8 * x.mem.bytes;
            let offset = x.mem.offset.wrapping_add(i32::from(x.mem.bytes) * n as i32);
            let mem = MemAccess { align_offset, offset, ..x.mem };
            Access { value, rest: Vec::new(), mem, ..x.clone() }
        });
        each.collect()
    }

    /// What `access` loads for an access and those of [`Lower::accessed_behind`], one after the other.
    pub fn one_after_another<'x>(
        &mut self,
        x: &Access<'x>,
        access: impl Fn(&mut Self, &Access<'x>) -> Result<Vec<R>, Error>,
    ) -> Result<Vec<R>, Error> {
        let each = self.each_of(x).into_iter().map(|one| access(self, &one));
        each.collect::<Result<Vec<_>, Error>>().map(|loaded| loaded.concat())
    }

    /// Where a vector of so many lanes traps, if it may: which register its place is in, is known later.
    pub fn site_of_run(
        &mut self,
        x: &Access<'_>,
        first: u8,
        lanes: u8,
        (global, guarded): (bool, bool),
    ) -> Option<u32> {
        let run = TrapLane::Run { first, lanes, step: x.step, guarded, place: HostPlace::default() };
        if global { self.site(x.data, run) } else { None }
    }

    /// The accesses of [`Lower::accessed_behind`] one after the other, where the masks hold.
    pub fn each_masked(
        &mut self,
        x: &Access<'_>,
        places: &[Mem],
        masks: &[R],
        global: bool,
        guarded: bool,
    ) -> Result<Vec<R>, Error> {
        let mut loaded = Vec::new();
        for one in self.each_of(x) {
            let more = one.mem.offset.wrapping_sub(x.mem.offset);
            let places: Vec<Mem> = places.iter().map(|place| place.plus(more)).collect();
            loaded.extend(self.vectors_at(&one, &places, Some(masks), global, guarded)?);
        }
        Ok(loaded)
    }

    /// The accesses of [`Lower::accessed_behind`] at once, of all lanes, whose vectors of memory are at `places`; one's
    /// vectors behind another's.
    pub fn whole_vectors(
        &mut self,
        x: &Access<'_>,
        places: &[Mem],
        global: bool,
        guarded: bool,
    ) -> Result<Vec<R>, Error> {
        let values: Vec<Value> = x.value.iter().chain(&x.rest).copied().collect();
        let apart = Apart::of(x);
        let lanes = apart.lanes();
        let mut stored = Vec::new();
        if x.value.is_some() {
            stored = values.iter().map(|&v| self.regs(v)).collect::<Result<Vec<_>, Error>>()?;
        }
        let mut loaded = vec![Vec::new(); 1 + x.rest.len()];
        for (group, places) in places.chunks(16 / lanes).enumerate() {
            let mut chunks = Vec::new();
            for (chunk, &place) in places.iter().enumerate() {
                let first = (16 * group + chunk * lanes) as u8;
                let site = self.site_of_run(x, first, lanes as u8, (global, guarded));
                let with = With { site, ..With::default() };
                if stored.is_empty() {
                    if global {
                        self.fetch_ahead(place, x.step);
                    }
                    chunks.push(self.a.vload(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, place, with));
                } else {
                    let (part, from) = (chunk / apart.chunks(), chunk % apart.chunks() * lanes);
                    let part = apart.words * group + part;
                    let words: Vec<R> = stored.iter().map(|parts| parts[part]).collect();
                    let whole = self.words_of_lanes(&words, from, apart.words);
                    self.a.vstore(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, place, whole, Size::Z, with);
                }
            }
            for (n, loaded) in loaded.iter_mut().enumerate() {
                for chunks in chunks.chunks(apart.chunks()) {
                    loaded.push(self.collected_words(apart, chunks, n * apart.words));
                }
            }
        }
        Ok(loaded.concat())
    }

    /// The elements of lanes from one on, all of a lane side by side: of two vectors, or of four with elements of one word.
    fn words_of_lanes(&mut self, words: &[R], from: usize, per: usize) -> R {
        let count = words.len();
        let order = std::array::from_fn(|n| {
            let (element, lane) = (n / per, n / per / count);
            (16 * (element % 2) + (from + lane) * per + n % per) as u32
        });
        let entry = self.a.words(&order);
        let pairs: Vec<R> = words
            .chunks_exact(2)
            .map(|pair| {
                let index = self.a.vload_pool(entry);
                self.a.v4(PERMUTE_TWO, index, pair[0], Src::R(pair[1]))
            })
            .collect();
        match pairs[..] {
            [low, high] => {
                let third_and_fourth = self.a.imm(false, 0xcccc);
                let mask = self.a.k_of(third_and_fourth);
                self.blend(false, mask, Src::R(high), low)
            }
            _ => pairs[0],
        }
    }

    /// One vector of lanes, the `part`th of the access: loaded from a place on, or, with `value`, stored.
    pub fn vector_apart(
        &mut self,
        x: &Access<'_>,
        part: usize,
        place: Mem,
        value: Option<R>,
        mask: Option<R>,
        (global, guarded): (bool, bool),
    ) -> Result<Option<R>, Error> {
        let apart = Apart::of(x);
        let per = 16 / apart.words;
        let bits = mask.map(|k| self.a.bits_of(k));
        let elements = self.a.imm(false, apart.elements());
        let all = self.a.k_of(elements);
        let mut chunks = Vec::new();
        for chunk in 0..apart.chunks() {
            let first = (part * per + chunk * apart.lanes()) as u8;
            let site = self.site_of_run(x, first, apart.lanes() as u8, (global, guarded));
            let mask = Some(match bits {
                Some(bits) => self.elements_of(apart, elements, bits, chunk),
                None => all,
            });
            let place = place.plus(64 * chunk as i32);
            match value {
                Some(v) => {
                    let spread = self.spread_words(apart, v, chunk);
                    let code = match apart.words {
                        1 => Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm,
                        _ => Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm,
                    };
                    self.a.vstore(code, place, spread, Size::Z, With { mask, site, ..With::default() });
                }
                None => {
                    if global {
                        self.fetch_ahead(place, x.step);
                    }
                    let code = match apart.words {
                        1 => Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
                        _ => Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
                    };
                    let with = With { mask, zeroing: true, site, ..With::default() };
                    chunks.push(self.a.vload(code, place, with));
                }
            }
        }
        Ok(value.is_none().then(|| self.collected_words(apart, &chunks, 0)))
    }

    /// The mask of a vector of memory: those `elements` whose lanes take part.
    fn elements_of(&mut self, apart: Apart, elements: R, bits: R, chunk: usize) -> R {
        let own = match chunk * apart.lanes() {
            0 => bits,
            by => self.a.shift(false, SHIFT_RIGHT, bits, by as u8),
        };
        let d = self.a.gpr();
        let args = [A::Def(d, Size::D), A::Use(own, Size::D), A::Use(elements, Size::D)];
        self.a.put(DEPOSIT, &args, With::default());
        self.a.k_of(d)
    }

    /// The words of a vector's lanes, `from` the first on, of vectors of memory.
    fn collected_words(&mut self, apart: Apart, chunks: &[R], from: usize) -> R {
        let of_two = 2 * apart.lanes() * apart.words;
        let words = std::array::from_fn(|n| {
            let (lane, word) = (n % of_two / apart.words, n % apart.words);
            (lane / apart.lanes() * 16 + lane % apart.lanes() * apart.step + from + word) as u32
        });
        let entry = self.a.words(&words);
        let pairs = chunks.chunks_exact(2).map(|pair| {
            let index = self.a.vload_pool(entry);
            self.a.v4(PERMUTE_TWO, index, pair[0], Src::R(pair[1]))
        });
        let pairs: Vec<R> = pairs.collect();
        match pairs[..] {
            [low, high] => self.a.join_halves(low, high),
            _ => pairs[0],
        }
    }

    /// A vector of memory with the words of lanes where they belong.
    fn spread_words(&mut self, apart: Apart, value: R, chunk: usize) -> R {
        let words = std::array::from_fn(|n| {
            let lane = chunk * apart.lanes() + n / apart.step;
            (lane * apart.words + n % apart.words) as u32
        });
        let entry = self.a.words(&words);
        let index = self.a.vload_pool(entry);
        self.a.v3(PERMUTE, index, Src::R(value))
    }
}
