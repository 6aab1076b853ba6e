//! Words of an instruction that lie side by side in each lane, 16 bytes a lane, and lanes side by side: one vector a lane, a *lane row*.
//! Values are vectors of one word of several lanes, so rows are transposed behind a load and in front of a store. What is stored as it was
//! loaded keeps its rows.

use std::ops::Range;
use std::rc::Rc;

use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Imm, InstData, MemAccess, Opcode, Space, Value};

use super::memory::{Access, Address};
use super::{Kept, Lower, Parts, result, wide};
use crate::clif::{I32, I32X4, I64X2, V, vector};
use crate::error::Error;
use crate::even_address::{EvenAddress, affine_step};
use crate::operands::MemoryOperands;
use crate::trap::TrapLane;

/// Bytes of a row.
const ROW: i64 = 16;

/// What was loaded as rows: the values, by their places in a row, and the rows.
pub(super) type LaneRows = (Vec<Value>, Parts);

impl<'a> Lower<'a, '_> {
    /// Where the accesses of rows end that begin at a place of a block, with their translations, if some do.
    pub(super) fn lane_rows_to(&self, block: Block, start: usize) -> Option<usize> {
        let insts = &self.f.block(block).insts;
        let at = |n: usize| insts.get(n).map(|&inst| self.f.inst(inst));
        let first = at(start)?;
        let is_fused = first.op.is_translation() && self.fused.get(insts[start].index()) == Some(&true);
        let is_access = matches!(first.op, Opcode::Load | Opcode::Store);
        let Imm::Mem(mem) = first.imm else { return None };
        if self.options.single
            || !(is_access || is_fused)
            || self.options.checked_memory
            || !matches!((mem.space, mem.bytes), (Space::Global(_), 4 | 8))
        {
            return None;
        }
        let steps = if is_fused { 2 } else { 1 };
        let end = start + steps * ROW as usize / usize::from(mem.bytes);
        let guard_at = if matches!(first.op, Opcode::Load | Opcode::TranslateLoad) { 1 } else { 2 };
        let goes_on = |(n, place): (usize, usize)| {
            let data = at(place)?;
            let Imm::Mem(next) = data.imm else { return None };
            let more = n as i32 * i32::from(mem.bytes);
            let part = if mem.align > 1 { mem.align_offset + more as u8 } else { next.align_offset };
            let is_part = (data.op, data.pc, data.args[0], data.args.get(guard_at))
                == (first.op, first.pc, first.args[0], first.args.get(guard_at))
                && (next.space, next.bytes, next.align, next.align_offset)
                    == (mem.space, mem.bytes, mem.align, part)
                && mem.offset.checked_add(more) == Some(next.offset);
            let access = at(place + steps - 1)?;
            let is_own = match self.translation_of(access) {
                Some(translation) => is_fused && std::ptr::eq(translation, data),
                None => is_access,
            };
            (is_part && is_own && matches!(access.op, Opcode::Load | Opcode::Store)).then_some(())
        };
        let is_row = (start..end).step_by(steps).enumerate().all(|part| goes_on(part).is_some())
            && wide(self.scalar_of(first.args[0]))
            && affine_step(self.f, &self.forms, first.args[0], mem) == Some(ROW);
        is_row.then_some(end)
    }

    /// Accesses of rows.
    pub(super) fn lane_rows(&mut self, block: Block, range: Range<usize>) -> Result<(), Error> {
        let f = self.f;
        let of_range = f.block(block).insts[range].iter().map(|&inst| f.inst(inst));
        let all: Vec<&'a InstData> = of_range.filter(|data| !data.op.is_translation()).collect();
        let Some(&data) = all.first() else { return Ok(()) };
        if self.list {
            self.locate(data);
        }
        let asked = self.asked.take();
        if asked.as_ref().is_some_and(|asked| !asked.is_of(data)) {
            return Err(Error::Malformed("a permit without its access".into()));
        }
        let translations: Vec<Option<&'a InstData>> =
            all.iter().map(|data| self.translation_of(data)).collect();
        let MemoryOperands { mem, address, guard, .. } = MemoryOperands::of(translations[0].unwrap_or(data))?;
        let zero = self.e.imm(I32, 0);
        let access = |&data: &&'a InstData| -> Result<Access<'a>, Error> {
            let MemoryOperands { mem, value, .. } = MemoryOperands::of(data)?;
            Ok(Access { data, mem, value, guard, address: Address::Uniform(zero), offset: 0 })
        };
        let accesses = all.iter().map(access).collect::<Result<Vec<_>, _>>()?;
        let values: Vec<Value> = accesses.iter().filter_map(|x| x.value).collect();
        let span = self.span(address)?;
        let first = self.e.iadd_imm(span.first, i64::from(mem.offset) as u64);
        let kept =
            self.known.lane_rows.iter().find(|(loaded, _)| *loaded == values).map(|(_, rows)| rows.clone());
        let rows = match (&kept, values.is_empty()) {
            (Some(rows), _) => Some(rows.clone()),
            (None, true) => None,
            (None, false) => Some(self.rows_of(&values)?),
        };
        let (first, odd) = match translations[0] {
            Some(_) => {
                let whole = MemAccess { bytes: ROW as u8, ..mem };
                let whole = Access { mem: whole, ..accesses[0].clone() };
                let (beyond, place) = self.affine_place(&whole, first, ROW);
                (place, Some(span.wraps.map_or(beyond, |wraps| self.e.bor(wraps, beyond))))
            }
            None => (first, span.wraps),
        };
        let slow_way = self.leaves_line(&accesses[0], (first, ROW), odd)?;
        let (quick, slow, end) = (self.e.block(), self.e.cold_block(), self.e.block());
        self.e.brif(slow_way, (slow, &[]), (quick, &[]));

        self.e.switch_to(quick);
        let asked = match asked {
            Some(asked) => Some(self.ask_of_first(asked, first, (mem.offset.into(), ROW))?),
            None => None,
        };
        let place = self.host_address(mem.space, first);
        let mut loaded = Vec::new();
        for lane in 0..self.lanes() {
            self.site(data, TrapLane::Lane(lane as u8));
            let offset = ROW as i32 * lane as i32;
            match &rows {
                Some(rows) => self.e.store_guest(rows[lane], place, offset),
                None => loaded.push(self.e.load_guest(I32X4, place, offset)),
            }
            self.at_site(None);
        }
        self.e.jump(end, &loaded);

        self.e.switch_to(slow);
        let aside = std::mem::replace(&mut self.aside, true);
        if let Some(asked) = asked {
            self.ask_slowly(asked)?;
        }
        let loaded = self.rows_by_words(&accesses, &translations, address, kept.as_ref())?;
        self.aside = aside;
        self.e.jump(end, &loaded);
        let rows: Parts = loaded.iter().map(|_| self.e.param(end, I32X4)).collect();
        self.e.switch_to(end);
        if values.is_empty() {
            let words = self.words_of_rows(&rows, mem.bytes);
            let results = all.iter().map(|data| result(data)).collect::<Result<Vec<_>, _>>()?;
            for (data, words) in all.into_iter().zip(words) {
                self.define_loaded(data, Some(words))?;
            }
            if !self.aside {
                self.known.lane_rows.push((results, rows));
            }
        }
        Ok(())
    }

    /// The accesses word by word and lane by lane. Gives the rows that are loaded. `kept`: the rows that are stored, if they were loaded as
    /// rows.
    fn rows_by_words(
        &mut self,
        accesses: &[Access<'a>],
        translations: &[Option<&'a InstData>],
        address: Value,
        kept: Option<&Parts>,
    ) -> Result<Vec<V>, Error> {
        let bytes = accesses[0].mem.bytes;
        let addresses = self.address_parts_of(address)?;
        // Here, so that the quick way has no use for them.
        let stored = kept.map(|rows| self.words_of_rows(rows, bytes));
        let mut words = Vec::new();
        for (n, x) in accesses.iter().enumerate() {
            let asked = match translations[n] {
                Some(translation) => MemoryOperands::of(translation)?.mem,
                None => x.mem,
            };
            let offset = i64::from(asked.offset) as u64;
            let own: Parts = addresses.iter().map(|&part| self.e.iadd_imm(part, offset)).collect();
            let before = x.value.zip(stored.as_ref()).map(|(value, stored)| {
                let ty = vector(self.scalar_of(value));
                let parts = stored[n].iter().map(|&part| self.e.cast(part, ty)).collect();
                (value, self.values[value.index()].replace(Kept::Parts(parts)))
            });
            let own = match translations[n] {
                Some(translation) => self.translated_lanes(translation, &own)?,
                None => own,
            };
            words.extend(self.wide_lanes(x, &own)?);
            if let Some((value, before)) = before {
                self.values[value.index()] = before;
            }
        }
        Ok(if words.is_empty() { Vec::new() } else { self.rows_of_words(&words, bytes) })
    }

    /// The rows of values, one a lane.
    fn rows_of(&mut self, values: &[Value]) -> Result<Parts, Error> {
        let bytes = ROW as usize / values.len();
        if values.iter().all(|&v| self.is_uniform(v)) {
            let (int, ty) = if bytes == 8 { (crate::clif::I64, I64X2) } else { (I32, I32X4) };
            let mut row = None;
            for (n, &v) in values.iter().enumerate() {
                let word = self.scalar(v)?;
                let word = self.e.cast(word, int);
                row = Some(match row {
                    None => self.e.scalar_to_vector(ty, word),
                    Some(row) => self.e.insert(row, word, n),
                });
            }
            let row = row.ok_or_else(|| Error::Malformed("a row of nothing".into()))?;
            let row = self.e.cast(row, I32X4);
            return Ok(vec![row; self.lanes()].into());
        }
        let words = values.iter().map(|&v| self.parts(v)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.rows_of_words(&words, bytes as u8).into())
    }

    /// The rows of words, which are vectors over lanes. `bytes` of a word.
    fn rows_of_words(&mut self, words: &[Parts], bytes: u8) -> Vec<V> {
        let per = if bytes == 8 { 2 } else { 4 };
        let groups = self.lanes() / per;
        (0..groups).flat_map(|g| self.transposed(words.iter().map(|word| word[g]).collect())).collect()
    }

    /// The words of rows.
    fn words_of_rows(&mut self, rows: &Parts, bytes: u8) -> Vec<Parts> {
        let per = if bytes == 8 { 2 } else { 4 };
        let ty = vector(if bytes == 8 { Scalar::I64 } else { Scalar::I32 });
        let groups: Vec<Vec<V>> = rows.chunks(per).map(|rows| self.transposed(rows.to_vec())).collect();
        (0..per)
            .map(|word| groups.iter().map(|group| self.e.cast(group[word], ty)).collect::<Rc<[V]>>())
            .collect()
    }

    /// Two vectors of two, or four of four elements: the first elements, the second ones, and so on.
    fn transposed(&mut self, vectors: Vec<V>) -> Vec<V> {
        let vectors: Vec<V> = vectors.into_iter().map(|v| self.e.cast(v, I32X4)).collect();
        let mut pairs = |a: V, b: V, low: [u8; 4], high: [u8; 4]| {
            [low, high].map(|pick| self.e.shuffle_words(I32X4, a, b, pick))
        };
        let (low, high) = ([0, 1, 4, 5], [2, 3, 6, 7]);
        match vectors[..] {
            [a, b] => pairs(a, b, low, high).to_vec(),
            [a, b, c, d] => {
                let [ab, ab_high] = pairs(a, b, [0, 4, 1, 5], [2, 6, 3, 7]);
                let [cd, cd_high] = pairs(c, d, [0, 4, 1, 5], [2, 6, 3, 7]);
                [pairs(ab, cd, low, high), pairs(ab_high, cd_high, low, high)].concat()
            }
            _ => vectors,
        }
    }
}
