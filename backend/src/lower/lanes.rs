//! Accesses lane by lane.

use warpjit_ir::{InstData, MemAccess, Space};

use super::memory::{Access, Address};
use super::{Lower, Parts};
use crate::clif::{F32, F32X4, F64, F64X2, HostIntCC, I32, I32X4, I64, I64X2, V};
use crate::context::at;
use crate::error::Error;
use crate::trap::TrapLane;

impl Lower<'_, '_> {
    /// An access for each lane.
    pub(super) fn by_lane(&mut self, x: &Access<'_>) -> Result<Option<Parts>, Error> {
        let mem = x.mem;
        if matches!(mem.space, Space::Global(_)) {
            return self.global_by_lane(x);
        }
        if let Some(parts) = self.small_table(x) {
            return Ok(Some(parts));
        }
        let addresses = self.address_parts(x);
        let indices: Parts = match mem.far {
            true => addresses,
            false => addresses.iter().map(|&p| self.e.band_imm(p, 0xffff)).collect(),
        };
        // Lanes in bounds; the others read zero (from index 0, which is always there) and write nothing.
        let inside = self.space_bytes(mem.space).map(|size| {
            let last = self.e.iadd_imm(size, 0u64.wrapping_sub(u64::from(mem.bytes)) & 0xffff_ffff);
            let last = self.e.splat(I32X4, last);
            let zero = self.e.imm(I32X4, 0);
            let inside = indices.iter().map(|&i| {
                let below = self.e.icmp(HostIntCC::SignedLessThanOrEqual, i, last);
                // Far indices have all bits: those of 2^31 and more are negative here.
                match mem.far {
                    true => {
                        let above = self.e.icmp(HostIntCC::SignedGreaterThanOrEqual, i, zero);
                        self.e.band(below, above)
                    }
                    false => below,
                }
            });
            inside.collect::<Parts>()
        });
        let base = self.base(mem.space);
        // Pieces that lie together in memory: place of each and bytes.
        let local = mem.space == Space::Local;
        let piece_bytes = match (local, mem.bytes) {
            (true, 2..) if mem.align < mem.bytes.min(4) => 1,
            (true, 8) => 4,
            (_, n) => n,
        };
        let bits = match (x.store(), &inside) {
            (false, _) => None,
            (true, None) => Some(self.guard_bits(x.guard)?),
            (true, Some(inside)) => {
                let inside = self.bits_of(inside);
                let bits = self.guard_bits(x.guard)?;
                Some(self.e.band(inside, bits))
            }
        };
        let value = x.value.map(|v| self.parts(v)).transpose()?;
        let mut loaded: Vec<Parts> = Vec::new();
        for piece in 0..mem.bytes / piece_bytes {
            let offset = u64::from(piece * piece_bytes);
            let places: Parts = if local { self.local_places(&indices, offset) } else { indices.clone() };
            let part =
                MemAccess { bytes: piece_bytes, signed: mem.signed && piece_bytes == mem.bytes, ..mem };
            match (&value, bits) {
                (Some(v), Some(bits)) => {
                    let v = self.piece_of(v, mem.bytes, piece, piece_bytes);
                    let offsets = self.lane_offsets(&places);
                    self.scatter(x.data, part, base, &offsets, &v, Some(bits));
                }
                _ => {
                    let places: Parts = match &inside {
                        Some(inside) => {
                            places.iter().zip(inside.iter()).map(|(&p, &m)| self.e.band(p, m)).collect()
                        }
                        None => places,
                    };
                    let offsets = self.lane_offsets(&places);
                    loaded.push(self.gather(x.data, part, (base, 0), &offsets, None));
                }
            }
        }
        if x.store() {
            return Ok(None);
        }
        let mut parts = self.join_pieces(&loaded, mem, piece_bytes);
        if let Some(inside) = inside {
            let inside = if mem.bytes == 8 { self.widen_mask(&inside) } else { inside };
            parts = parts
                .iter()
                .zip(inside.iter())
                .map(|(&p, &m)| {
                    let ty = self.e.ty(m);
                    let p = self.e.cast(p, ty);
                    self.e.band(p, m)
                })
                .collect();
        }
        Ok(Some(parts))
    }

    /// An access of the only lane of a chunk to its local memory; gives what it loaded.
    pub(super) fn local_single(&mut self, x: &Access<'_>) -> Result<Option<V>, Error> {
        let mem = x.mem;
        let address = self.first_address(x);
        let index = if mem.far { address } else { self.e.band_imm(address, 0xffff) };
        let first = self.e.uextend(I64, index);
        let end = self.e.iadd_imm(first, mem.bytes.into());
        let size = self.e.load(I32, self.context, at::LOCAL_BYTES);
        let size = self.e.uextend(I64, size);
        let mut allowed = self.e.icmp(HostIntCC::UnsignedLessThanOrEqual, end, size);
        if x.store() {
            let bits = self.guard_bits(x.guard)?;
            let none = self.e.imm(I32, 0);
            allowed = self.e.select(allowed, bits, none);
        }
        let ty = if mem.bytes == 8 { I64 } else { I32 };
        let value = match x.value {
            Some(v) => {
                let v = self.scalar(v)?;
                Some(self.e.cast(v, ty))
            }
            None => None,
        };
        let base = self.base(mem.space);
        let (go, done) = (self.e.block(), self.e.block());
        let loaded = if x.store() { None } else { Some(self.e.param(done, ty)) };
        let zero = self.e.imm(ty, 0);
        let skip: &[V] = if x.store() { &[] } else { &[zero] };
        self.e.brif(allowed, (go, &[]), (done, skip));
        self.e.switch_to(go);
        // Pieces that lie together in memory.
        let piece_bytes = match mem.bytes {
            2.. if mem.align < mem.bytes.min(4) => 1,
            8 => 4,
            n => n,
        };
        let lane = self.e.shl(self.lane, 2);
        let mut all: Option<V> = None;
        for piece in 0..mem.bytes / piece_bytes {
            let byte = piece * piece_bytes;
            let at = self.e.iadd_imm(first, byte.into());
            let word = self.e.band_imm(at, !3);
            let row = self.e.shl(word, self.f.lanes.trailing_zeros());
            let low = self.e.band_imm(at, 3);
            let column = self.e.iadd(lane, low);
            let offset = self.e.iadd(row, column);
            let place = self.e.iadd(base, offset);
            match value {
                Some(v) => {
                    let v = if byte == 0 { v } else { self.e.shr(v, 8 * u32::from(byte)) };
                    let v = if ty == I64 { self.e.ireduce(I32, v) } else { v };
                    match piece_bytes {
                        4 => self.e.store(v, place, 0),
                        n => self.e.store_narrow(n, v, place, 0, false),
                    }
                }
                None => {
                    let v = match piece_bytes {
                        4 => self.e.load(I32, place, 0),
                        n => self.e.load_narrow(n, mem.signed && n == mem.bytes, place, 0, false),
                    };
                    let v = if ty == I64 { self.e.uextend(I64, v) } else { v };
                    let v = if byte == 0 { v } else { self.e.shl(v, 8 * u32::from(byte)) };
                    all = Some(all.map_or(v, |all| self.e.bor(all, v)));
                }
            }
        }
        let mut result: Vec<V> = all.into_iter().collect();
        if let ([v], true) = (&mut result[..], mem.signed && piece_bytes < mem.bytes && mem.bytes < 4) {
            let unused = 32 - 8 * u32::from(mem.bytes);
            let high = self.e.shl(*v, unused);
            *v = self.e.sar(high, unused);
        }
        self.e.jump(done, &result);
        self.e.switch_to(done);
        Ok(loaded)
    }

    /// A look-up in a const bank whose index is known not to leave it: nothing wraps, and the offset goes into the loads.
    fn small_table(&mut self, x: &Access<'_>) -> Option<Parts> {
        let (Space::Const(_), Address::Lanes(parts), false) = (x.mem.space, &x.address, x.store()) else {
            return None;
        };
        let most = self.known().get(*x.data.args.first()?).possible();
        if most.checked_add(u64::from(x.offset))? > 0xffff {
            return None;
        }
        let parts = parts.clone();
        let base = self.base(x.mem.space);
        let offsets = self.lane_offsets(&parts);
        Some(self.gather(x.data, x.mem, (base, x.offset as i32), &offsets, None))
    }

    /// Places in the warp's local memory of byte `offset` of an access at `indices`.
    fn local_places(&mut self, indices: &[V], offset: u64) -> Parts {
        let lane = self.e.ireduce(I32, self.lane);
        let lane = self.e.shl(lane, 2);
        let lane = self.e.splat(I32X4, lane);
        indices
            .iter()
            .enumerate()
            .map(|(g, &i)| {
                let i = self.e.iadd_imm(i, offset);
                let word = self.e.band_imm(i, 0xffff_fffc);
                let row = self.e.shl(word, self.f.lanes.trailing_zeros());
                let byte = self.e.band_imm(i, 3);
                let ramp = self.e.lanes(I32X4, &std::array::from_fn::<u64, 4, _>(|l| 4 * (4 * g + l) as u64));
                let column = self.e.iadd(lane, ramp);
                let column = self.e.iadd(column, byte);
                self.e.iadd(row, column)
            })
            .collect()
    }

    /// What a piece of a store stores, as words (or the whole value).
    fn piece_of(&mut self, value: &[V], bytes: u8, piece: u8, piece_bytes: u8) -> Parts {
        if bytes == piece_bytes {
            return value.iter().copied().collect();
        }
        let mut words: Vec<V> = value.to_vec();
        let mut byte = u32::from(piece * piece_bytes);
        if bytes == 8 {
            let pick = if byte < 4 { [0, 2, 4, 6] } else { [1, 3, 5, 7] };
            words = value.chunks(2).map(|p| self.e.shuffle_words(I32X4, p[0], p[1], pick)).collect();
            byte %= 4;
        }
        words.iter().map(|&w| if byte == 0 { w } else { self.e.shr(w, 8 * byte) }).collect()
    }

    /// The value of a load from its pieces.
    fn join_pieces(&mut self, pieces: &[Parts], mem: MemAccess, piece_bytes: u8) -> Parts {
        if pieces.len() == 1 {
            return pieces[0].clone();
        }
        let per_word = 4 / piece_bytes.min(4);
        let mut words: Vec<Parts> = Vec::new();
        for word in pieces.chunks(usize::from(per_word)) {
            let joined = (0..self.groups)
                .map(|g| {
                    let mut all = self.e.cast(word[0][g], I32X4);
                    for (k, piece) in word.iter().enumerate().skip(1) {
                        let piece = self.e.cast(piece[g], I32X4);
                        let moved = self.e.shl(piece, 8 * k as u32 * u32::from(piece_bytes));
                        all = self.e.bor(all, moved);
                    }
                    all
                })
                .collect();
            words.push(joined);
        }
        match words.len() {
            1 if mem.bytes == 2 && mem.signed => words[0]
                .iter()
                .map(|&w| {
                    let up = self.e.shl(w, 16);
                    self.e.sar(up, 16)
                })
                .collect(),
            1 => words[0].clone(),
            _ => (0..self.groups)
                .flat_map(|g| {
                    let (low, high) = (words[0][g], words[1][g]);
                    [[0, 4, 1, 5], [2, 6, 3, 7]].map(|pick| self.e.shuffle_words(I64X2, low, high, pick))
                })
                .collect(),
        }
    }

    /// Each lane's word, zero-extended: two lanes a transfer.
    pub(super) fn lane_offsets(&mut self, parts: &[V]) -> Vec<V> {
        let mut offsets = Vec::new();
        for &p in parts {
            let pairs = self.e.cast(p, I64X2);
            for half in 0..2 {
                let pair = match half {
                    // A plain move; extracting an integer is not, even the first.
                    0 => {
                        let doubles = self.e.cast(p, F64X2);
                        let first = self.e.extract(doubles, 0);
                        self.e.cast(first, I64)
                    }
                    _ => self.e.extract(pairs, half),
                };
                let low = self.e.ireduce(I32, pair);
                offsets.push(self.e.uextend(I64, low));
                offsets.push(self.e.shr(pair, 32));
            }
        }
        offsets
    }

    fn global_by_lane(&mut self, x: &Access<'_>) -> Result<Option<Parts>, Error> {
        let (mem, data) = (x.mem, x.data);
        let offsets = match &x.address {
            Address::Lanes(_) => {
                let parts = self.address_parts(x);
                self.lane_offsets(&parts)
            }
            Address::Uniform(_) => {
                let a = self.first_address(x);
                let a = self.e.uextend(I64, a);
                vec![a; self.lanes()]
            }
            Address::Affine(a, stride) => (0..self.lanes())
                .map(|l| {
                    let step = (*stride as u32).wrapping_mul(l as u32).wrapping_add(x.offset);
                    let sum = self.e.iadd_imm(*a, u64::from(step));
                    self.e.uextend(I64, sum)
                })
                .collect(),
        };
        if self.options.open_loads && x.value.is_none() {
            let base = self.base(mem.space);
            return Ok(Some(self.gather(data, mem, (base, 0), &offsets, None)));
        }
        let bits = self.guard_bits(x.guard)?;
        let base = self.base(mem.space);
        if self.options.checked_memory {
            for (lane, &offset) in offsets.iter().enumerate() {
                let ok = self.page_ok(offset, mem, mem.bytes.into(), x.store());
                let own = self.e.band_imm(bits, 1 << lane);
                let zero = self.e.imm(self.bits_type(), 0);
                let bad = self.e.select(ok, zero, own);
                self.fault_page(data, mem, bad, offset);
            }
        }
        let value = x.value.map(|v| self.parts(v)).transpose()?;
        let access = |l: &mut Self, bits: Option<V>| match &value {
            Some(value) => {
                l.scatter(data, mem, base, &offsets, value, bits);
                Vec::new()
            }
            None => l.gather(data, mem, (base, 0), &offsets, bits).to_vec(),
        };
        let loaded = if self.aside {
            access(self, Some(bits))
        } else {
            // Mostly all lanes take part, and need not be looked at one by one.
            let all = self.full_bits();
            let all = self.e.icmp_imm(HostIntCC::Equal, bits, all);
            let (quick, slow, end) = (self.e.block(), self.e.cold_block(), self.e.block());
            self.e.brif(all, (quick, &[]), (slow, &[]));
            self.e.switch_to(quick);
            let loaded = access(self, None);
            self.e.jump(end, &loaded);
            self.e.switch_to(slow);
            let guarded = access(self, Some(bits));
            self.e.jump(end, &guarded);
            let types: Vec<_> = loaded.iter().map(|&v| self.e.ty(v)).collect();
            let params = types.into_iter().map(|ty| self.e.param(end, ty)).collect();
            self.e.switch_to(end);
            params
        };
        Ok((!x.store()).then(|| loaded.into()))
    }

    /// Where a lane accesses: its place, or the scratch word if its bit is not set.
    fn guarded_place(&mut self, base: V, offset: V, lane: usize, bits: V, scratch: V) -> V {
        let place = self.e.iadd(base, offset);
        let own = self.e.band_imm(bits, 1 << lane);
        self.e.select(own, place, scratch)
    }

    /// Loads of all lanes at constant offsets from a place.
    pub(super) fn gather_at(
        &mut self,
        data: &InstData,
        mem: MemAccess,
        place: V,
        offsets: impl Iterator<Item = i64>,
    ) -> Vec<V> {
        let mut parts = Vec::new();
        for (lane, offset) in offsets.enumerate() {
            self.load_lane(data, mem, (place, offset as i32), lane, &mut parts);
        }
        parts
    }

    /// Stores of all lanes at constant offsets from a place.
    pub(super) fn scatter_at(
        &mut self,
        data: &InstData,
        mem: MemAccess,
        place: V,
        offsets: impl Iterator<Item = i64>,
        value: &[V],
    ) {
        for (lane, offset) in offsets.enumerate() {
            self.store_lane(data, mem, (place, offset as i32), lane, value);
        }
    }

    /// Loads what a lane loads, and puts it to what the lanes before it have.
    fn load_lane(
        &mut self,
        data: &InstData,
        mem: MemAccess,
        (place, offset): (V, i32),
        lane: usize,
        parts: &mut Vec<V>,
    ) {
        // Loads typed as floats need no detour through a general register.
        let (ty, vector_ty, per) = match mem.bytes {
            8 => (F64, F64X2, 2),
            4 => (F32, F32X4, 4),
            _ => (I32, I32X4, 4),
        };
        // The load may become an operand of the instruction that inserts its result: both are the site.
        self.site(data, TrapLane::Lane(lane as u8));
        let v = match mem.bytes {
            4 | 8 => self.e.load_guest(ty, place, offset),
            n => self.e.load_narrow(n, mem.signed, place, offset, true),
        };
        if lane.is_multiple_of(per) && per == 4 && ty == F32 {
            // One instruction; clearing the other lanes would take two.
            parts.push(self.e.splat(vector_ty, v));
        } else if lane.is_multiple_of(per) {
            parts.push(self.e.scalar_to_vector(vector_ty, v));
        } else if let Some(part) = parts.last_mut() {
            *part = self.e.insert(*part, v, lane % per);
        }
        self.at_site(None);
    }

    fn store_lane(
        &mut self,
        data: &InstData,
        mem: MemAccess,
        (place, offset): (V, i32),
        lane: usize,
        value: &[V],
    ) {
        let (per, int) = if mem.bytes == 8 { (2, I64X2) } else { (4, I32X4) };
        let part = self.e.cast(value[lane / per], int);
        let v = self.e.extract(part, lane % per);
        self.site(data, TrapLane::Lane(lane as u8));
        self.store_scalar(mem.bytes, v, place, offset);
        self.at_site(None);
    }

    /// Loads by lane, from base, displacement and offset; where `bits` are given, only for their lanes.
    pub(super) fn gather(
        &mut self,
        data: &InstData,
        mem: MemAccess,
        (base, displacement): (V, i32),
        offsets: &[V],
        bits: Option<V>,
    ) -> Parts {
        let scratch = bits.map(|_| self.e.iadd_imm(self.context, at::SCRATCH as u64));
        let mut parts = Vec::new();
        for (lane, &offset) in offsets.iter().enumerate() {
            let place = match (bits, scratch) {
                (Some(bits), Some(scratch)) => self.guarded_place(base, offset, lane, bits, scratch),
                _ => self.e.iadd(base, offset),
            };
            self.load_lane(data, mem, (place, displacement), lane, &mut parts);
        }
        parts.into()
    }

    pub(super) fn scatter(
        &mut self,
        data: &InstData,
        mem: MemAccess,
        base: V,
        offsets: &[V],
        value: &[V],
        bits: Option<V>,
    ) {
        let scratch = bits.map(|_| self.e.iadd_imm(self.context, at::SCRATCH as u64));
        for (lane, &offset) in offsets.iter().enumerate() {
            let place = match (bits, scratch) {
                (Some(bits), Some(scratch)) => self.guarded_place(base, offset, lane, bits, scratch),
                _ => self.e.iadd(base, offset),
            };
            self.store_lane(data, mem, (place, 0), lane, value);
        }
    }
}
