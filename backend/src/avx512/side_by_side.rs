//! Loads and stores of lanes that lie side by side: vectors.

use iced_x86::Code;
use regalloc2::RegClass;
use warpjit_ir::Space;

use super::asm::{Mem, R, Src, With};
use super::code::{Flags, Size};
use super::lower::Lower;
use super::memory::{Access, Address, Row};
use super::rows::Bounds;
use super::scalar::SHL;
use crate::error::Error;
use crate::operands::malformed;

/// What [`Lower::vectors`] access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Global,
    /// Memory whose bounds have been tested.
    Bounded,
    /// The same, by a store whose row is held behind ([`super::held`]).
    Held,
}

impl Lower<'_> {
    /// Lanes side by side in shared or const memory.
    pub fn contiguous_bounded(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let Address::Affine(addresses, _) = &x.address else { return Err(malformed(x.data)) };
        if self.bounds == Bounds::Outside {
            let loaded = self.partly_outside(x)?;
            return self.give(x, loaded);
        }
        let rows = self.each_group(addresses.len(), |l| l.row(x))?;
        let Some(rows) = rows.into_iter().collect::<Option<Vec<(Row, i32)>>>() else {
            return self.bounded_lanes(x);
        };
        if x.value.is_some() {
            self.make_values(x)?;
            self.guard(x.guard)?;
        }
        let places: Vec<Mem> = rows.iter().map(|(row, offset)| Mem::at(row.place, *offset)).collect();
        let always = |row: &Row| self.known_rows.contains(&row.inside);
        if self.bounds == Bounds::Inside && rows.iter().all(|(row, _)| always(row)) {
            if x.value.is_none()
                && let Some(loaded) = self.load_held(x, &rows[0].0)
            {
                return self.give(x, loaded);
            }
            let masks = if x.value.is_some() { Some(self.guard(x.guard)?) } else { None };
            if x.value.is_some() && self.is_loaded_again(x) {
                let stored = self.vectors(x, &places, masks.as_deref(), Kind::Held)?;
                return self.hold(x, stored);
            }
            let loaded = self.vectors(x, &places, masks.as_deref(), Kind::Bounded)?;
            return self.give(x, loaded);
        }
        let (quick, slow, end) = (self.a.block(), self.a.cold_block(), self.a.block());
        let mut inside = rows[0].0.inside;
        for (row, _) in rows.iter().filter(|(row, _)| row.inside != rows[0].0.inside) {
            inside = self.a.g2(false, super::scalar::AND, inside, row.inside);
        }
        self.a.test(false, inside, inside);
        self.a.branch(Flags::NotEqual, (quick, &[]), (slow, &[]));
        self.a.switch_to(quick);
        let masks = if x.value.is_some() { Some(self.guard(x.guard)?) } else { None };
        let loaded = self.aside(|l| l.vectors(x, &places, masks.as_deref(), Kind::Bounded))?;
        self.a.jump(end, &loaded);
        self.slow_way(x, slow, end)
    }

    /// Global memory of lanes side by side from a host address on for each sixteen.
    pub fn run(&mut self, x: &Access<'_>, places: &[Mem]) -> Result<Vec<R>, Error> {
        if let Some(bits) = self.bits_of_guard(x.guard) {
            return self.vectors_by_bits(x, places, bits);
        }
        let masks = self.guard(x.guard)?;
        self.vectors(x, places, Some(&masks), Kind::Global)
    }

    /// Vectors from a place on for each sixteen lanes: loads where the masks hold, or stores. Gives what is loaded, or what is there
    /// behind a store that is held.
    pub fn vectors(
        &mut self,
        x: &Access<'_>,
        places: &[Mem],
        masks: Option<&[R]>,
        kind: Kind,
    ) -> Result<Vec<R>, Error> {
        let mem = x.mem;
        let global = kind == Kind::Global;
        let guarded = if global { self.note_guard(x.guard)? } else { false };
        let narrow = masks.filter(|_| !self.takes_all(x.guard));
        let masks = match (narrow, mem.bytes) {
            (Some(m), 8) => Some(self.widen(m)),
            (Some(m), _) => Some(m.to_vec()),
            _ => None,
        };
        if let (true, Some(narrow)) = (global || x.value.is_some(), narrow) {
            self.make_values(x)?;
            // Stores under a mask are not forwarded to loads, and loads under one wait for the stores before (Zen 5:
            // saxpy takes three times as long): mostly all lanes take part.
            let all = narrow.iter().copied().reduce(|a, b| self.a.k3(Code::VEX_Kandw_kr_kr_kr, a, b));
            let all = all.ok_or_else(|| malformed(x.data))?;
            let (full, part, end) = (self.a.block(), self.a.cold_block(), self.a.block());
            self.a.kortest(all, all);
            self.a.branch(Flags::Below, (full, &[]), (part, &[]));
            let mut count = 0;
            for (block, masks) in [(full, None), (part, masks.as_deref())] {
                self.a.switch_to(block);
                let mut loaded = self.vectors_at(x, places, masks, global, guarded)?;
                if kind == Kind::Held {
                    loaded = self.stored(x, places, masks.is_some())?;
                }
                count = loaded.len();
                self.a.jump(end, &loaded);
            }
            let params = (0..count).map(|_| self.a.param(end, RegClass::Float)).collect();
            self.a.switch_to(end);
            return Ok(params);
        }
        let loaded = self.vectors_at(x, places, masks.as_deref(), global, guarded)?;
        if kind == Kind::Held { self.stored(x, places, masks.is_some()) } else { Ok(loaded) }
    }

    /// The accesses of [`Lower::vectors`], with masks for each vector.
    pub fn vectors_at(
        &mut self,
        x: &Access<'_>,
        places: &[Mem],
        masks: Option<&[R]>,
        global: bool,
        guarded: bool,
    ) -> Result<Vec<R>, Error> {
        let mem = x.mem;
        if !x.rest.is_empty() {
            return match masks {
                Some(masks) => self.each_masked(x, places, masks, global, guarded),
                None => {
                    // Of four bytes a lane there is one.
                    let each = |place: &Mem| {
                        (0..i32::from(x.step) / 4).map(|n| place.plus(64 * n)).collect::<Vec<_>>()
                    };
                    let places: Vec<Mem> = places.iter().flat_map(each).collect();
                    self.whole_vectors(x, &places, global, guarded)
                }
            };
        }
        let value = x.value.map(|v| self.regs(v)).transpose()?;
        let (load, store, size) = match (mem.bytes, mem.signed) {
            (8, _) => (Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512, Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm, 64),
            (4, _) => (Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, 64),
            (2, false) => (Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256, Code::EVEX_Vpmovdw_ymmm256_k1z_zmm, 32),
            (2, true) => (Code::EVEX_Vpmovsxwd_zmm_k1z_ymmm256, Code::EVEX_Vpmovdw_ymmm256_k1z_zmm, 32),
            (_, false) => (Code::EVEX_Vpmovzxbd_zmm_k1z_xmmm128, Code::EVEX_Vpmovdb_xmmm128_k1z_zmm, 16),
            (_, true) => (Code::EVEX_Vpmovsxbd_zmm_k1z_xmmm128, Code::EVEX_Vpmovdb_xmmm128_k1z_zmm, 16),
        };
        let (vectors, per) = if mem.bytes == 8 { (2, 8u8) } else { (1, 16) };
        let mut loaded = Vec::new();
        for (g, &place) in places.iter().enumerate() {
            if value.is_none() && masks.is_none() && g > 0 && place == places[g - 1] {
                loaded.extend_from_within(loaded.len() - vectors..);
                continue;
            }
            for v in 0..vectors {
                let n = vectors * g + v;
                let descending = x.step < 0;
                if !descending && x.step != mem.bytes as i8 {
                    let place = place.plus(i32::from(per) * i32::from(x.step) * v as i32);
                    let (value, mask) = (value.as_ref().map(|parts| parts[n]), masks.map(|m| m[n]));
                    loaded.extend(self.vector_apart(x, n, place, value, mask, (global, guarded))?);
                    continue;
                }
                let site = self.site_of_run(x, per * n as u8, per, (global, guarded));
                let mut mask = masks.map(|m| m[n]);
                let place = match descending {
                    true => place.plus(i32::from(mem.bytes) - size * (v as i32 + 1)),
                    false => place.plus(size * v as i32),
                };
                if descending {
                    mask = mask.map(|k| self.reversed_mask(k, per));
                }
                match &value {
                    Some(parts) => {
                        let with = With { mask, site, ..With::default() };
                        let part = if descending { self.reversed(parts[n], per) } else { parts[n] };
                        self.a.vstore(store, place, part, Size::Z, with);
                    }
                    None => {
                        if global {
                            self.fetch_ahead(place, x.step);
                        }
                        let with = With { mask, zeroing: mask.is_some(), site, ..With::default() };
                        let part = self.a.vload(load, place, with);
                        loaded.push(if descending { self.reversed(part, per) } else { part });
                    }
                }
            }
        }
        Ok(loaded)
    }

    /// Local memory at one address: a row of words, one a lane.
    pub fn local_row(&mut self, x: &Access<'_>) -> Result<(), Error> {
        let mem = x.mem;
        let Address::Uniform(addresses) = &x.address else { return Err(malformed(x.data)) };
        let &[s] = &addresses[..] else { return self.bounded_lanes(x) };
        let base = self.base(Space::Local);
        if let Some(address) = self.sure_local_address(x) {
            let loaded = self.row_of_words(x, Mem::at(base, (address * self.f.lanes) as i32))?;
            return self.give(x, loaded);
        }
        let size = self.space_bytes(Space::Local).ok_or_else(|| malformed(x.data))?;
        let index = self.a.add_imm(false, s, i64::from(mem.offset));
        let index = match mem.far {
            true => self.a.low32(index),
            false => self.a.g1(Code::Movzx_r32_rm16, index, Size::D, Size::W),
        };
        if let Some(v) = x.value {
            self.regs(v)?;
            self.guard(x.guard)?;
        }
        let (quick, slow, end) = (self.a.block(), self.a.cold_block(), self.a.block());
        let last = self.a.add_imm(true, index, mem.bytes.into());
        self.a.cmp(true, last, size);
        self.a.branch(Flags::BelowEqual, (quick, &[]), (slow, &[]));
        self.a.switch_to(quick);
        let row = self.a.shift(true, SHL, index, self.f.lanes.trailing_zeros() as u8);
        let loaded = self.aside(|l| l.row_of_words(x, Mem::indexed(base, row, 1, 0)))?;
        self.a.jump(end, &loaded);
        self.slow_way(x, slow, end)
    }

    /// The address of an access to local memory that is the same in all lanes, if it is known, and inside.
    fn sure_local_address(&self, x: &Access<'_>) -> Option<u32> {
        let address = self.f.as_const(*x.data.args.first()?)? as u32;
        let address = address.wrapping_add_signed(x.mem.offset);
        let address = if x.mem.far { address } else { address & 0xffff };
        let end = address.checked_add(x.mem.bytes.into())?;
        (end <= self.options.local_bytes).then_some(address)
    }

    /// A row of local memory that is inside; the place is that of lane 0.
    pub fn row_of_words(&mut self, x: &Access<'_>, mut place: Mem) -> Result<Vec<R>, Error> {
        let mem = x.mem;
        if let Some(lane) = self.lane {
            let more = self.a.lea(true, place);
            place = Mem::indexed(more, lane, 4, 0);
        }
        let words = i32::from(mem.bytes / 4);
        let next = 4 * self.f.lanes as i32;
        let mut loaded = Vec::new();
        match x.value {
            None => {
                for g in 0..self.groups as i32 {
                    let low = self.a.load64(place.plus(64 * g));
                    if words == 1 {
                        loaded.push(low);
                        continue;
                    }
                    let high = self.a.load64(place.plus(64 * g + next));
                    loaded.extend(self.interleave(low, high));
                }
            }
            Some(v) => {
                let masks = self.guard(x.guard)?;
                let parts = self.regs(v)?;
                for g in 0..self.groups {
                    let pieces = match words {
                        1 => vec![parts[g]],
                        _ => self.separate(parts[2 * g], parts[2 * g + 1]).to_vec(),
                    };
                    for (n, &piece) in pieces.iter().enumerate() {
                        // As in frames: what lanes of others hold is stored again.
                        let place = place.plus(64 * g as i32 + next * n as i32);
                        let old = self.a.load64(place);
                        let piece = self.blend(false, masks[g], Src::R(piece), old);
                        self.a.store64(place, piece);
                    }
                }
            }
        }
        Ok(loaded)
    }

    /// Low and high words of sixteen lanes as double words.
    pub fn interleave(&mut self, low: R, high: R) -> [R; 2] {
        [0u32, 8].map(|from| {
            let words = std::array::from_fn(|n| from + n as u32 / 2 + if n % 2 == 1 { 16 } else { 0 });
            let entry = self.a.words(&words);
            let index = self.a.vload_pool(entry);
            self.a.v4(Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, index, low, Src::R(high))
        })
    }

    /// Low and high words of sixteen double words.
    pub fn separate(&mut self, first: R, second: R) -> [R; 2] {
        [0u32, 1].map(|odd| {
            let words = std::array::from_fn(|n| 2 * n as u32 + odd);
            let entry = self.a.words(&words);
            let index = self.a.vload_pool(entry);
            self.a.v4(Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, index, first, Src::R(second))
        })
    }
}
