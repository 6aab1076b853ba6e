//! Accesses of a block to a bounded space at one base: one test of bounds for all of them.

use warpjit_ir::types::Scalar;
use warpjit_ir::{Imm, MemAccess, Opcode, Space, Value};

use super::memory::Access;
use super::{Kept, Lower, Parts, arg};
use crate::affine::Form;
use crate::clif::{HostBlock, HostIntCC, I32, I32X4, I64, I64X2, V, vector};
use crate::context::at;
use crate::error::Error;

/// Offsets further apart than this do not share a test: one access out of bounds makes all of a row slow.
const ROW_BYTES: i64 = 2048;

/// Base of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Base {
    /// The space's start; offsets are addresses.
    Start,
    /// A uniform or affine value.
    Value(Value),
}

/// A stretch of a space and whether all of it is in bounds.
#[derive(Clone, Debug)]
pub(super) struct Row {
    space: Space,
    base: Base,
    /// Offset of its first byte from the base.
    first: i64,
    bytes: i64,
    /// Host address of its first byte (local memory: of the chunk's first lane).
    place: V,
    /// i8.
    inside: V,
}

/// An access within a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct InRow {
    /// Host address, to which `offset` is added.
    pub place: V,
    /// Constant part of the address.
    pub offset: i32,
    /// Whether it is in bounds for sure, i8.
    pub inside: V,
    /// That is known without a test.
    pub always: bool,
}

impl Lower<'_, '_> {
    /// Whether an access whose address grows by `stride` from lane to lane is one of vectors: of words and longer, or of
    /// bytes that fill one vector.
    pub(super) fn is_contiguous(&self, mem: MemAccess, stride: i32) -> bool {
        let fills = mem.bytes == 1 && self.lanes() == 16 && mem.space == Space::Shared;
        stride == i32::from(mem.bytes) && (mem.bytes >= 4 || fills) && mem.space != Space::Local
    }

    /// Base, offset and length of an access that is one scalar or contiguous over the chunk.
    fn stretch(&self, address: Value, mem: MemAccess) -> Option<(Base, i64, i64)> {
        let lanes = self.lanes() as i64;
        let bytes = i64::from(mem.bytes);
        let length = match self.forms.of(address) {
            Form::Uniform => bytes,
            Form::Affine { stride, .. } | Form::Affine16 { stride } if self.is_contiguous(mem, stride) => {
                lanes * bytes
            }
            _ => return None,
        };
        if mem.space == Space::Local && (mem.bytes < 4 || mem.align < 4) {
            return None;
        }
        Some(match self.values[address.index()] {
            Some(Kept::Const(bits)) => {
                let place = (bits as u32).wrapping_add(mem.offset as u32);
                let place = if mem.far { place } else { place & 0xffff };
                (Base::Start, i64::from(place), length)
            }
            _ => (Base::Value(address), i64::from(mem.offset), length),
        })
    }

    /// The row that an access to shared, local or const memory is in.
    pub(super) fn in_row(&mut self, address: Value, mem: MemAccess) -> Result<Option<InRow>, Error> {
        let Some((base, offset, length)) = self.stretch(address, mem) else { return Ok(None) };
        let holds = |r: &Row| {
            r.space == mem.space
                && r.base == base
                && r.first <= offset
                && offset + length <= r.first + r.bytes
        };
        let row = match self.known.rows.iter().find(|r| holds(r)) {
            Some(row) => row.clone(),
            None => {
                let row = self.make_row(mem.space, base, offset, length)?;
                if !self.aside {
                    self.known.rows.push(row.clone());
                }
                row
            }
        };
        let scale = if mem.space == Space::Local { i64::from(self.f.lanes) } else { 1 };
        let offset = (offset - row.first) * scale;
        let sure = match row.space {
            // Banks have 64 KiB and some slack.
            Space::Const(_) => 0x1_0000,
            Space::Local => i64::from(self.options.local_bytes),
            _ => 0,
        };
        let always = row.base == Base::Start && row.first + row.bytes <= sure;
        Ok(Some(InRow { place: row.place, offset: offset as i32, inside: row.inside, always }))
    }

    /// A row that holds as many of the block's accesses at the base as are near.
    fn make_row(&mut self, space: Space, base: Base, offset: i64, length: i64) -> Result<Row, Error> {
        let (mut first, mut end) = (offset, offset + length);
        for &inst in &self.f.block(self.blocks.current).insts {
            let data = self.f.inst(inst);
            let (Opcode::Load | Opcode::Store, Imm::Mem(mem), Some(&address)) =
                (data.op, data.imm, data.args.first())
            else {
                continue;
            };
            if mem.space != space {
                continue;
            }
            let Some((b, o, l)) = self.stretch(address, mem) else { continue };
            // Local memory is interleaved by words.
            let near = (o - offset).abs() < ROW_BYTES && (space != Space::Local || (o - offset) % 4 == 0);
            if b == base && near {
                first = first.min(o);
                end = end.max(o + l);
            }
        }
        let bytes = end - first;
        // In 64 bits nothing wraps; an address of 2^16 and more is not inside, and wraps in the slow way.
        let (start, end) = match base {
            Base::Start => (self.e.imm(I64, first as u64), self.e.imm(I64, (first + bytes) as u64)),
            Base::Value(v) => {
                let s = self.scalar(v)?;
                let s = self.e.iadd_imm(s, first as u64 & 0xffff_ffff);
                let start = self.e.uextend(I64, s);
                (start, self.e.iadd_imm(start, bytes as u64))
            }
        };
        let size = match space {
            Space::Shared => Some(at::SHARED_BYTES),
            Space::Local => Some(at::LOCAL_BYTES),
            _ => None,
        };
        let size = match size {
            Some(offset) => {
                let size = self.e.load(I32, self.context, offset);
                self.e.uextend(I64, size)
            }
            None => self.e.imm(I64, 0x1_0000),
        };
        let inside = self.e.icmp(HostIntCC::UnsignedLessThanOrEqual, end, size);
        let memory = self.base(space);
        let place = if space == Space::Local {
            let row = self.e.shl(start, self.f.lanes.trailing_zeros());
            let lane = self.e.shl(self.lane, 2);
            let row = self.e.iadd(row, lane);
            self.e.iadd(memory, row)
        } else {
            self.e.iadd(memory, start)
        };
        Ok(Row { space, base, first, bytes, place, inside })
    }

    /// Local memory at one address: the lanes' words lie side by side.
    pub(super) fn local_row(&mut self, x: &Access<'_>) -> Result<Option<Parts>, Error> {
        let mem = x.mem;
        let scalar = if mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 };
        let Some(row) = self.in_row(arg(x.data, 0)?, mem)? else { return self.by_lane(x) };
        let mut fast = (!row.always).then_some(row.inside);
        if x.store() {
            let bits = self.guard_bits(x.guard)?;
            let all = self.full_bits();
            let all = self.e.icmp_imm(HostIntCC::Equal, bits, all);
            fast = Some(match fast {
                Some(inside) => self.e.band(inside, all),
                None => all,
            });
        }
        let value = x.value.map(|v| self.parts(v)).transpose()?;
        let ways = fast.map(|fast| {
            let (quick, slow, end) = (self.e.block(), self.e.cold_block(), self.e.block());
            self.e.brif(fast, (quick, &[]), (slow, &[]));
            self.e.switch_to(quick);
            (slow, end)
        });
        let place = row.place;
        let next_word = 4 * self.f.lanes as i32;
        let mut loaded = Vec::new();
        for g in 0..self.groups {
            let offset = row.offset + 16 * g as i32;
            match (&value, mem.bytes) {
                (Some(v), 4) => self.e.store(v[g], place, offset),
                (Some(v), _) => {
                    let low = self.e.shuffle_words(I32X4, v[2 * g], v[2 * g + 1], [0, 2, 4, 6]);
                    let high = self.e.shuffle_words(I32X4, v[2 * g], v[2 * g + 1], [1, 3, 5, 7]);
                    self.e.store(low, place, offset);
                    self.e.store(high, place, offset + next_word);
                }
                (None, 4) => loaded.push(self.e.load(I32X4, place, offset)),
                (None, _) => {
                    let low = self.e.load(I32X4, place, offset);
                    let high = self.e.load(I32X4, place, offset + next_word);
                    loaded.push(self.e.shuffle_words(I64X2, low, high, [0, 4, 1, 5]));
                    loaded.push(self.e.shuffle_words(I64X2, low, high, [2, 6, 3, 7]));
                }
            }
        }
        let Some((slow, end)) = ways else { return Ok((!x.store()).then(|| loaded.into())) };
        self.e.jump(end, &loaded);

        self.e.switch_to(slow);
        self.aside = true;
        let lanes = self.by_lane(x)?;
        self.aside = false;
        self.finish(end, lanes, scalar)
    }

    /// Ends the second of two ways to the parts of a load (or of nothing).
    pub(super) fn finish(
        &mut self,
        end: HostBlock,
        parts: Option<Parts>,
        scalar: Scalar,
    ) -> Result<Option<Parts>, Error> {
        match parts {
            None => {
                self.e.jump(end, &[]);
                self.e.switch_to(end);
                Ok(None)
            }
            Some(parts) => {
                let args: Vec<V> = parts.iter().map(|&p| self.e.cast(p, vector(scalar))).collect();
                self.e.jump(end, &args);
                let params = args.iter().map(|_| self.e.param(end, vector(scalar))).collect();
                self.e.switch_to(end);
                Ok(Some(params))
            }
        }
    }
}
