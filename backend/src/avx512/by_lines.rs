//! Emits loads and stores whose addresses are 2-D affine ([`super::lines`]): the lanes of a *line* (8 or 4 threads with the same row of
//! the block) access memory side by side, and each line is at the same distance from the one before.
//!
//! Each line is one vector access. The first lane's address and the distance between two lines tell where all are, so one test for the
//! first and the last line is enough. Example: in a block 8 wide, the 16 lanes of a vector are two lines of eight words.

use iced_x86::Code;
use regalloc2::RegClass;
use warpjit_ir::{Space, Value};

use super::asm::{A, Mem, R, With};
use super::code::{Flags, Size};
use super::lower::Lower;
use super::memory::Access;
use super::places::{MOST_APART, MOST_OFFSET, as_whole};
use super::scalar::{MUL, OR, SUB, XOR};
use crate::context::at;
use crate::error::Error;
use crate::even_address::{AddressWord, EvenAddress, is_even, word_of};
use crate::operands::malformed;

/// Bytes of a vector.
const VECTOR: i32 = 64;

/// How far a line is from the one before.
#[derive(Clone, Copy)]
enum Apart {
    Bytes(i32),
    Unknown(R),
}

/// What tells the second line's first word.
#[derive(Clone, Copy)]
enum Next {
    Word(R),
    /// The vector that it is in.
    Within(R),
}

/// Where the lines of an address are.
#[derive(Clone, Copy)]
pub(super) struct LineStart {
    root: Value,
    space: Space,
    /// The guest's address of the first lane.
    first: R,
    /// The same for the host.
    place: R,
    apart: Apart,
    /// Not 0 where some are beyond the space, or the word in it wraps.
    bad: R,
}

impl Lower<'_> {
    /// An access at an address along lines, as it is done by them: of words, or double words, side by side in each, or
    /// one that all lanes of a line load. `step` is what the word that the address is made of has more from lane to
    /// lane where they lie side by side.
    pub fn along_lines<'x>(&self, x: &Access<'x>, word: Value, step: u32) -> Option<Access<'x>> {
        let line = self.lines.of(word).filter(|_| self.lines.lanes < 16)?;
        let whole = i32::from(x.step) * i32::from(self.lines.lanes) % VECTOR == 0;
        let step = match line.step as u32 {
            own if own == step && !x.rest.is_empty() && whole => x.step,
            _ if !x.rest.is_empty() => return None,
            0 if x.value.is_none() => 0,
            own if own == step && x.step == x.mem.bytes as i8 => x.step,
            _ => return None,
        };
        matches!(x.mem.bytes, 4 | 8).then(|| Access { step, ..x.clone() })
    }

    /// Whether the sixteens of an even 64-bit address lie at a distance that is the same from each to the next, but not known.
    pub fn along_sixteens(&self, address: Value) -> bool {
        let word = word_of(self.f, &self.forms, address).filter(|_| self.lines.lanes == 16);
        word.and_then(|word| self.lines.of(word.word)).is_some_and(|line| line.apart.is_none())
    }

    /// The same of a 32-bit address, of which each lane may access a vector.
    pub fn along_lines_at<'x>(&mut self, x: &Access<'x>, address: Value) -> Option<Access<'x>> {
        // As for 64-bit addresses: where lanes go on alone, most lack.
        let step = self.lines.of(address).filter(|_| self.lines.lanes < 16 && !self.lanes_part())?.step;
        let mut x = x.clone();
        if step > i32::from(x.mem.bytes) && is_even(x.mem.bytes, step.into()) {
            x.step = step as i8;
            if step * i32::from(self.lines.lanes) % VECTOR != 0 {
                return None;
            }
            // Where the bounds of shared memory are tested nothing faults.
            x.rest = self.accessed_behind(&x, x.mem.space == Space::Shared);
        }
        self.along_lines(&x, address, x.step as u32)
    }

    /// Such an access of global memory at 32-bit addresses.
    pub fn narrow_by_lines(&mut self, x: &Access<'_>, address: Value) -> Result<Vec<R>, Error> {
        let line = self.lines.of(address).ok_or_else(|| malformed(x.data))?;
        let (count, lanes) = self.line_count();
        let base = self.base(x.mem.space);
        let (first, next) = self.first_words(address)?;
        let apart = match line.apart {
            Some(apart) => Apart::Bytes(apart),
            None => Apart::Unknown(self.next_line(first, next)),
        };
        let mut place = self.a.add_imm(false, first, i64::from(x.mem.offset));
        let mut starts = Vec::new();
        for line in 0..count as i32 {
            let own = match apart {
                Apart::Bytes(apart) => self.a.add_imm(false, place, i64::from(apart.wrapping_mul(line))),
                Apart::Unknown(apart) => {
                    if line > 0 {
                        place = self.a.add(false, place, apart);
                    }
                    place
                }
            };
            starts.push(self.a.low32(own));
        }
        let places: Vec<Mem> = starts.iter().map(|&start| Mem::indexed(base, start, 1, 0)).collect();
        // Lines begin anywhere in 32 bits, but none goes on at 0.
        let bytes = u64::from(x.mem.bytes) * (1 + x.rest.len() as u64);
        let end = x.step as u64 * (lanes as u64 - 1) + bytes;
        let ends: Vec<(R, u64)> = starts.iter().map(|&start| (start, end)).collect();
        if self.takes_all(x.guard) {
            return self.unless_wrapping(x, &ends, |l| l.each_line(x, &places, true));
        }
        // Made here, so that they are good behind.
        self.make_values(x)?;
        let lacking = self.lacking(x)?;
        let lines = |l: &mut Self| l.unless_wrapping(x, &ends, |l| l.each_line(x, &places, true));
        self.either_way(lacking, lines, |l| l.global_lanes(x))
    }

    /// Such an access, at an offset from a 64-bit address; lane by lane, with the addresses that `parts` makes, where
    /// there is something wrong with that or not all lanes take part.
    pub fn by_lines(
        &mut self,
        x: &Access<'_>,
        address: Value,
        offset: i64,
        parts: impl FnOnce(&mut Self) -> Result<Vec<R>, Error>,
    ) -> Result<Vec<R>, Error> {
        let (root, more) = self.without_constants(address);
        let (root, more) = match offset + more {
            sum if sum.abs() < MOST_OFFSET => (root, sum),
            _ => (address, offset),
        };
        let start = self.line_start(x, root)?;
        let mut bad = start.bad;
        let mem = as_whole(x);
        if mem.align > 1 {
            let whole = self.a.add_imm(true, start.first, more - i64::from(mem.align_offset));
            let either = match start.apart {
                Apart::Bytes(bytes) if bytes % i32::from(mem.align) == 0 => whole,
                Apart::Bytes(_) => self.a.imm(true, u64::MAX),
                Apart::Unknown(apart) => self.a.g2(true, OR, whole, apart),
            };
            let low = self.a.g2i(false, super::scalar::AND_IMM, either, i32::from(mem.align - 1));
            bad = self.a.g2(true, OR, low, bad);
        }
        let sixteens = self.lines.lanes == 16;
        if !sixteens && !self.takes_all(x.guard) {
            let lacking = self.lacking(x)?;
            bad = self.a.g2(true, OR, lacking, bad);
        }
        let lines = |l: &mut Self| {
            let places = l.places_of_lines(start.place, start.apart, more as i32);
            if sixteens { l.run(x, &places) } else { l.each_line(x, &places, true) }
        };
        let lanes = |l: &mut Self| {
            let parts = parts(l)?;
            if l.lines.lanes == 8 { l.runs_or_lanes(x, &parts) } else { l.each_by_lanes(x, &parts) }
        };
        self.either_way(bad, lines, lanes)
    }

    /// Lines, or lanes where `bad` is not 0.
    fn either_way(
        &mut self,
        bad: R,
        lines: impl FnOnce(&mut Self) -> Result<Vec<R>, Error>,
        lanes: impl FnOnce(&mut Self) -> Result<Vec<R>, Error>,
    ) -> Result<Vec<R>, Error> {
        let (quick, slow, end) = (self.a.block(), self.a.cold_block(), self.a.block());
        self.a.test(true, bad, bad);
        self.a.branch(Flags::NotEqual, (slow, &[]), (quick, &[]));
        self.a.switch_to(quick);
        let loaded = self.aside(lines)?;
        self.a.jump(end, &loaded);
        self.a.switch_to(slow);
        let lanes = self.aside(lanes)?;
        self.a.jump(end, &lanes);
        let params = lanes.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        Ok(params)
    }

    /// Lanes of the chunk that take no part in an access.
    fn lacking(&mut self, x: &Access<'_>) -> Result<R, Error> {
        let bits = self.guard_bits(x.guard)?;
        let all = self.a.imm(true, u64::MAX >> (64 - 16 * self.groups));
        Ok(self.a.g2(true, XOR, bits, all))
    }

    /// How far the last of some lines is from the first.
    fn far(&mut self, apart: R, count: usize) -> R {
        let times = self.a.imm(true, count as u64 - 1);
        self.a.g2(true, MUL, apart, times)
    }

    /// The first lane's word, and what tells that of the second line: its vector, or that of the second sixteen.
    fn first_words(&mut self, word: Value) -> Result<(R, Next), Error> {
        if self.lines.lanes == 16 {
            let words = self.each_group(2, |l| l.general(word))?;
            return Ok((words[0], Next::Word(words[1])));
        }
        let words = self.regs(word)?;
        Ok((self.a.first32(words[0]), Next::Within(words[0])))
    }

    /// What the first lane of the second line has more than that of the first.
    fn next_line(&mut self, first: R, next: Next) -> R {
        let next = match next {
            Next::Word(next) => next,
            Next::Within(words) => {
                let next = self.a.zmm();
                let lanes = A::I8(self.lines.lanes);
                let args = [A::Def(next, Size::Z), A::Use(words, Size::Z), A::Use(words, Size::Z), lanes];
                self.a.put(Code::EVEX_Valignd_zmm_k1z_zmm_zmmm512b32_imm8, &args, With::default());
                self.a.first32(next)
            }
        };
        self.a.g2(false, SUB, next, first)
    }

    /// The places of lines from a host address on.
    fn places_of_lines(&mut self, first: R, apart: Apart, offset: i32) -> Vec<Mem> {
        let (mut place, (count, _)) = (first, self.line_count());
        (0..count as i32)
            .map(|line| match apart {
                Apart::Bytes(apart) => Mem::at(place, offset + line * apart),
                Apart::Unknown(apart) => {
                    if line > 0 {
                        place = self.a.add(true, place, apart);
                    }
                    Mem::at(place, offset)
                }
            })
            .collect()
    }

    /// An access along lines of memory that has bounds, at a 32-bit address, or one of 16 bits; as lanes that lie anywhere where a line is
    /// not inside.
    pub fn bounded_by_lines(&mut self, x: &Access<'_>, address: Value) -> Result<(), Error> {
        let line = self.lines.of(address).ok_or_else(|| malformed(x.data))?;
        let (count, lanes) = self.line_count();
        let (base, size) = (self.base(x.mem.space), self.space_bytes(x.mem.space));
        let size = size.ok_or_else(|| malformed(x.data))?;
        let (first, next) = self.first_words(address)?;
        let index = self.a.add_imm(false, first, i64::from(x.mem.offset));
        let index = match x.mem.far {
            true => self.a.low32(index),
            false => self.a.g1(Code::Movzx_r32_rm16, index, Size::D, Size::W),
        };
        let bytes = i64::from(x.mem.bytes) * (1 + x.rest.len() as i64);
        let end = i64::from(line.step) * (lanes as i64 - 1) + bytes;
        let near = |apart: &i32| apart.unsigned_abs() < 1 << 16;
        let (apart, last) = match line.apart.filter(near) {
            Some(apart) => {
                let last = self.a.add_imm(true, index, i64::from(apart) * (count as i64 - 1));
                (Apart::Bytes(apart), last)
            }
            None => {
                let apart = self.next_line(first, next);
                let apart = self.a.g1(Code::Movsxd_r64_rm32, apart, Size::Q, Size::D);
                let far = self.far(apart, count);
                (Apart::Unknown(apart), self.a.add(true, index, far))
            }
        };
        // Where lines may begin; all others are between the first and the last.
        let room = self.a.add_imm(true, size, -end);
        let left = self.a.g2(true, SUB, room, last);
        let mut bad = self.a.g2(true, OR, left, last);
        if line.apart.is_none_or(|apart| apart < 0) {
            let left = self.a.g2(true, SUB, room, index);
            bad = self.a.g2(true, OR, left, bad);
        }
        let mut bad = self.a.shift(true, super::scalar::SHR, bad, 63);
        // Made here, so that they are good behind.
        self.make_values(x)?;
        self.guard(x.guard)?;
        if x.value.is_some() && !self.takes_all(x.guard) {
            let lacking = self.lacking(x)?;
            bad = self.a.g2(true, OR, lacking, bad);
        }
        let lines = |l: &mut Self| {
            let first = l.a.add(true, base, index);
            let places = l.places_of_lines(first, apart, 0);
            l.each_line(x, &places, false)
        };
        let loaded = self.either_way(bad, lines, |l| l.lanes_anywhere(x))?;
        self.give(x, loaded)
    }

    /// How many lines there are in a chunk, and lanes in each.
    fn line_count(&self) -> (usize, usize) {
        let lanes = usize::from(self.lines.lanes);
        (16 * self.groups / lanes, lanes)
    }

    /// Where the lines of an address are: found once for all accesses of a block at some offset from it.
    fn line_start(&mut self, x: &Access<'_>, root: Value) -> Result<LineStart, Error> {
        let space = x.mem.space;
        let known = self.known.lines.iter().find(|start| start.root == root && start.space == space);
        if let Some(start) = known {
            return Ok(*start);
        }
        let f = self.f;
        let AddressWord { word, extension, by } =
            word_of(f, &self.forms, root).ok_or_else(|| malformed(x.data))?;
        let line = self.lines.of(word).ok_or_else(|| malformed(x.data))?;
        let (count, lanes) = self.line_count();
        let (first, next) = self.first_words(word)?;
        let wide = self.extend(extension, first);
        let within = i64::from(line.step) * (lanes as i64 - 1);
        let far = |apart: i32| i64::from(apart) * (count as i64 - 1);
        let near = |apart: &i32| far(*apart).abs() << by < MOST_APART;
        let (apart, reach, odd) = match line.apart.filter(near) {
            Some(apart) => {
                let (low, high) = (far(apart).min(0), far(apart).max(0) + within);
                let mut odd = self.wraps(extension, wide, high);
                if low < 0 {
                    let below = self.wraps(extension, wide, low);
                    odd = self.a.g2(true, OR, odd, below);
                }
                (Apart::Bytes(apart << by), None, odd)
            }
            None => {
                let apart = self.next_line(first, next);
                let apart = self.a.g1(Code::Movsxd_r64_rm32, apart, Size::Q, Size::D);
                let far = self.far(apart, count);
                let last = self.a.add(true, wide, far);
                let odd = [(wide, within), (last, 0), (last, within)]
                    .map(|(x, more)| self.wraps(extension, x, more));
                let odd = odd.into_iter().reduce(|a, b| self.a.g2(true, OR, a, b));
                let [apart, far] = [apart, far].map(|x| self.shift_left(x, by));
                (Apart::Unknown(apart), Some(far), odd.ok_or_else(|| malformed(x.data))?)
            }
        };
        let first = self.made_with(root, &mut |_, _| Some(wide))?.ok_or_else(|| malformed(x.data))?;
        let mut bad = odd;
        // What has been permitted is inside.
        if !self.options.permits {
            let high = self.a.load_fixed(true, Mem::at(self.context, at::GLOBAL_HIGH));
            let either = match reach {
                Some(far) => {
                    let last = self.a.add(true, first, far);
                    self.a.g2(true, OR, first, last)
                }
                None => first,
            };
            let beyond = self.a.g2(true, super::scalar::AND, high, either);
            bad = self.a.g2(true, OR, odd, beyond);
        }
        let place = self.host_address(space, first);
        let start = LineStart { root, space, first, place, apart, bad };
        if !self.aside {
            self.known.lines.push(start);
        }
        Ok(start)
    }

    /// A vector for each line from its place on, all lanes taking part; or, where all of a line load one element, that.
    /// `global`: it may trap.
    fn each_line(&mut self, x: &Access<'_>, places: &[Mem], global: bool) -> Result<Vec<R>, Error> {
        let guarded = global && self.note_guard(x.guard)?;
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        let (_, lanes) = self.line_count();
        if !x.rest.is_empty() {
            let vectors = lanes as i32 * i32::from(x.step) / VECTOR;
            let each = |place: &Mem| (0..vectors).map(|n| place.plus(VECTOR * n)).collect::<Vec<_>>();
            let places: Vec<Mem> = places.iter().flat_map(each).collect();
            return self.whole_vectors(x, &places, global, guarded);
        }
        let bytes = i32::from(x.mem.bytes);
        // Of a line, or of a vector where that is less.
        let taken = (lanes as i32 * bytes).min(VECTOR);
        let mut loaded: Vec<R> = Vec::new();
        for (line, &at) in (0..).zip(places) {
            for part in 0..lanes as i32 * bytes / taken {
                let before = line * lanes as i32 * bytes + part * taken;
                let first = (before / bytes) as u8;
                let site = self.site_of_run(x, first, (taken / bytes) as u8, (global, guarded));
                let (vector, within) = ((before / VECTOR) as usize, before % VECTOR / taken);
                let before = (value.is_none() && within > 0).then(|| loaded.pop()).flatten();
                match &value {
                    Some(parts) => {
                        self.store_part(at.plus(part * taken), parts[vector], (within, taken), site);
                    }
                    None if x.step == 0 => loaded.push(self.same_part(x, at, before, (within, taken), site)),
                    None => {
                        loaded.push(self.load_part(at.plus(part * taken), before, (within, taken), site));
                    }
                }
            }
        }
        Ok(loaded)
    }

    /// One element in all lanes of a part of a vector, with what those before have.
    fn same_part(
        &mut self,
        x: &Access<'_>,
        at: Mem,
        before: Option<R>,
        (part, taken): (i32, i32),
        site: Option<u32>,
    ) -> R {
        let with = With { site, ..With::default() };
        let code = match x.mem.bytes {
            8 => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
            _ => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
        };
        let Some(before) = before else { return self.a.vload(code, at, with) };
        let lanes = taken / i32::from(x.mem.bytes);
        let bits = self.a.imm(false, (u64::MAX << (part * lanes)) & 0xffff);
        let mask = Some(self.a.k_of(bits));
        let both = self.a.zmm();
        self.a.put(code, &[A::Reuse(both, before, Size::Z), A::Mem(at)], With { mask, ..with });
        both
    }

    /// The part of a vector that is `taken` bytes long, with those before it.
    fn load_part(&mut self, at: Mem, before: Option<R>, (part, taken): (i32, i32), site: Option<u32>) -> R {
        let with = With { site, ..With::default() };
        let Some(before) = before else {
            let (code, size) = match taken {
                16 => (Code::EVEX_Vmovdqu32_xmm_k1z_xmmm128, Size::X),
                32 => (Code::EVEX_Vmovdqu32_ymm_k1z_ymmm256, Size::Y),
                _ => (Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, Size::Z),
            };
            return self.a.vload_of(code, size, at, with);
        };
        let code = match taken {
            16 => Code::EVEX_Vinserti32x4_zmm_k1z_zmm_xmmm128_imm8,
            _ => Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8,
        };
        let both = self.a.zmm();
        self.a.put(
            code,
            &[A::Def(both, Size::Z), A::Use(before, Size::Z), A::Mem(at), A::I8(part as u8)],
            with,
        );
        both
    }

    fn store_part(&mut self, at: Mem, value: R, (part, taken): (i32, i32), site: Option<u32>) {
        let with = With { site, ..With::default() };
        let (store, size) = match taken {
            16 => (Code::EVEX_Vmovdqu32_xmmm128_k1z_xmm, Size::X),
            32 => (Code::EVEX_Vmovdqu32_ymmm256_k1z_ymm, Size::Y),
            _ => (Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, Size::Z),
        };
        if part == 0 {
            return self.a.vstore(store, at, value, size, with);
        }
        let code = match taken {
            16 => Code::EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8,
            _ => Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8,
        };
        self.a.put(code, &[A::Mem(at), A::Use(value, Size::Z), A::I8(part as u8)], with);
    }
}
