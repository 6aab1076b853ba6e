//! Code for rows of blocks: loops over the blocks of a row and the warps of a block round the loop over chunks.
//!
//! What is the same for all warps, or for all warps of a block, is then computed once for a row or a block ([`super::hoist`]), and
//! nothing is set up for a warp but its chunks.

use iced_x86::Code;
use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::{InstData, MemAccess, Opcode, Space, Value};

use super::asm::{A, Mem, R, With};
use super::code::{Flags, Size};
use super::lower::Lower;
use crate::Error;
use crate::context::{RowWarp, at};
use crate::flow::Flow;
use crate::operands::wide;
use crate::options::{BlockRow, RowSlot};

/// What code for rows knows while it is written.
pub(super) struct InRow<'a> {
    row: &'a BlockRow,
    /// Frame of the first warp.
    first_frame: R,
    /// The block that runs, along the row and in the grid.
    block: R,
    linear: R,
    /// Whether the region stores to shared memory.
    writes_shared: bool,
    /// Bytes of shared memory that are read without a test.
    pub shared_reach: u32,
    /// Where a warp that is done goes, with its exit.
    pub warp_done: HostBlock,
    warp: R,
    block_done: HostBlock,
    heads: [HostBlock; 2],
}

/// Offsets that constants name directly: the memory behind is there wherever a launch has so much.
const MOST_REACH: u32 = 1 << 15;

const WARP_BYTES: i64 = size_of::<RowWarp>() as i64;

impl<'a> Lower<'a> {
    /// Begins the loops; the function's second parameter is the first warp of a block. Gives the lanes of the warp, unless all
    /// take part.
    pub fn begin_row(&mut self, row: &'a BlockRow, warps: R) -> Result<Option<R>, Error> {
        let f = self.f;
        let all = || self.blocks.order.blocks.iter().flat_map(|&b| &f.block(b).insts).map(|&i| f.inst(i));
        if all().any(|i| i.op == Opcode::SlotSet) {
            return Err(Error::Malformed("code for rows that writes slots".into()));
        }
        let is_shared = |i: &InstData| match i.imm {
            warpjit_ir::Imm::Mem(m) | warpjit_ir::Imm::Atomic(m, _) => m.space == Space::Shared,
            _ => false,
        };
        let writes_shared = all().any(|i| i.op != Opcode::Load && is_shared(i));
        let a = &mut self.a;
        let at_context = |offset: i32| Mem::at(self.context, offset);
        let first_frame = a.load_fixed(true, Mem::at(warps, 0));
        let start = a.load32(at_context(at::BLOCK_X));
        if row.whole {
            let lanes = a.imm(true, u64::MAX >> (64 - f.lanes));
            a.store64g(at_context(at::ACTIVE), lanes);
        }
        let (block_head, warp_head) = (a.block(), a.block());
        let (block_done, warp_done) = (a.block(), a.block());
        let block = a.param(block_head, RegClass::Int);
        let warp = a.param(warp_head, RegClass::Int);
        a.param(warp_done, RegClass::Int);
        a.jump(block_head, &[start]);

        a.switch_to(block_head);
        a.store32(at_context(at::BLOCK_X), block);
        let more = a.load_fixed(false, at_context(at::LINEAR_MORE));
        let linear = a.add(false, block, more);
        for field in &row.fields {
            let base = a.load_fixed(true, at_context(at::SHARED_BASE));
            let value = if field.linear { linear } else { block };
            let (code, size) = Self::store_code(field.bytes);
            a.gstore(code, Mem::at(base, field.offset as i32), value, size, None);
        }
        a.jump(warp_head, &[warps]);

        a.switch_to(warp_head);
        a.store64g(at_context(at::WARP), warp);
        self.frame = a.load64g(Mem::at(warp, 0));
        let lanes = (!row.whole).then(|| a.load64g(Mem::at(warp, 8)));
        if let Some(lanes) = lanes {
            a.store64g(at_context(at::ACTIVE), lanes);
        }
        self.in_row = Some(InRow {
            row,
            first_frame,
            block,
            linear,
            writes_shared,
            shared_reach: 0,
            warp_done,
            warp,
            block_done,
            heads: [block_head, warp_head],
        });
        Ok(lanes)
    }

    /// Writes the ends of the loops.
    pub fn end_row(&mut self) {
        let Some(row) = &self.in_row else { return };
        let (block, warp, warp_done, block_done) = (row.block, row.warp, row.warp_done, row.block_done);
        let [block_head, warp_head] = row.heads;
        self.a.switch_to(warp_done);
        let next = self.a.add_imm(true, warp, WARP_BYTES);
        let end = self.a.load_fixed(true, Mem::at(self.context, at::WARPS_END));
        self.a.cmp(true, next, end);
        self.a.branch(Flags::Below, (warp_head, &[next]), (block_done, &[]));
        self.a.switch_to(block_done);
        let next = self.a.add_imm(false, block, 1);
        let end = self.a.load_fixed(false, Mem::at(self.context, at::BLOCK_END));
        let (again, done) = (self.a.block(), self.a.block());
        self.a.cmp(false, next, end);
        self.a.branch(Flags::Below, (again, &[]), (done, &[]));
        self.a.switch_to(again);
        self.go_back(block_head, &[next]);
        self.a.switch_to(done);
        self.leave(0);
    }

    /// What a slot holds, where code for rows need not ask the warp's frame: a register, or a place.
    pub fn row_slot(&mut self, slot: usize) -> Option<FromRow> {
        let row = self.in_row.as_ref()?;
        match row.row.slots.get(slot).copied().unwrap_or_default() {
            RowSlot::OfWarp => None,
            RowSlot::Same => Some(FromRow::Place(Mem::at(row.first_frame, self.slot_offsets[slot] as i32))),
            RowSlot::Block => Some(FromRow::Register(row.block)),
            RowSlot::LinearBlock => Some(FromRow::Register(row.linear)),
        }
    }

    /// Whether a load of 64-bit addresses is of memory that nobody writes, at a place known now.
    pub fn is_fixed(&self, data: &InstData, mem: MemAccess, address: Value, guard: Option<Value>) -> bool {
        let Some(row) = &self.in_row else { return false };
        let guarded = !self.is_entry(guard);
        let Some(start) = self.f.as_const(address) else { return false };
        if data.op != Opcode::Load || guarded || !wide(self.scalar_of(address)) {
            return false;
        }
        let start = start.wrapping_add(mem.offset as i64 as u64);
        let aligned =
            start.wrapping_sub(u64::from(mem.align_offset)) & u64::from(mem.align.saturating_sub(1)) == 0;
        let end = start.checked_add(mem.bytes.into());
        let inside = |r: &std::ops::Range<u64>| start >= r.start && end.is_some_and(|end| end <= r.end);
        aligned && row.row.fixed.iter().any(inside)
    }

    /// How many of the outermost loops change the shared memory that a load at a constant offset reads, in code for rows:
    /// the load needs no test then. `None` where it does.
    pub fn steady_shared(&mut self, offset: u32, bytes: u8) -> Option<u8> {
        let row = self.in_row.as_mut()?;
        let end = offset + u32::from(bytes);
        if end > MOST_REACH {
            return None;
        }
        row.shared_reach = row.shared_reach.max(end);
        let overlaps =
            |f: &crate::options::RowField| f.offset < end && offset < f.offset + u32::from(f.bytes);
        Some(match row.row.fields.iter().any(overlaps) {
            _ if row.writes_shared => super::code::NEVER,
            true => 1,
            false => 0,
        })
    }

    /// Loads a scalar slot from a place that holds the same for all warps.
    pub fn load_same(&mut self, is_wide: bool, float: bool, place: Mem) -> R {
        let with = With { steady: Some(0), ..With::default() };
        if !float {
            return self.a.load_fixed(is_wide, place);
        }
        let code = match is_wide {
            true => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
            false => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
        };
        let d = self.a.zmm();
        self.a.put(code, &[A::Def(d, Size::Z), A::Mem(place)], with);
        d
    }
}

/// See [`Lower::row_slot`].
pub(super) enum FromRow {
    Register(R),
    Place(Mem),
}
