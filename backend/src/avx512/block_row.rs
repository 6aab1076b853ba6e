//! What code for rows of blocks makes use of: slots and memory that are the same for all warps, or for all warps of a block, are looked
//! at once for a row or a block ([`super::hoist`]). The loops are those of [`super::phases`].

use iced_x86::Code;
use regalloc2::Block as HostBlock;
use warpjit_ir::{InstData, MemAccess, Opcode, Value};

use super::asm::{A, Mem, R, With};
use super::code::{NEVER, Size};
use super::lower::Lower;
use crate::operands::wide;
use crate::options::{BlockRow, RowSlot};

/// What code for rows knows while it is written.
pub(super) struct InRow<'a> {
    pub row: &'a BlockRow,
    /// The first warp of a block, and its frame.
    pub warps: R,
    pub first_frame: R,
    /// The block that runs, along the row and in the grid.
    pub block: R,
    pub linear: R,
    /// Whether a phase stores to shared memory.
    pub writes_shared: bool,
    /// Bytes of shared memory that are read without a test.
    pub shared_reach: u32,
    /// Where blocks start, and where they have ended.
    pub block_head: HostBlock,
    pub block_done: HostBlock,
    /// Where phases start.
    pub heads: Vec<HostBlock>,
    /// The phase that is written.
    pub phase: super::phases::OfPhase,
}

/// Offsets that constants name directly: the memory behind is there wherever a launch has so much.
const MOST_REACH: u32 = 1 << 15;

impl<'a> Lower<'a> {
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
            _ if row.writes_shared => NEVER,
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
