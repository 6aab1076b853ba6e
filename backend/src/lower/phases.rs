//! Code for rows of blocks: a loop over the blocks, in it the kernel's phases, and in each phase a loop over the warps of the block round
//! the loop over chunks. What it does is said with [`crate::BlockRow`]; the code for vectors of 512 bits is made alike
//! (`avx512/phases.rs`).

use std::ops::Range;

use cranelift_codegen::ir::SourceLoc;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Slot, Value};

use super::Lower;
use crate::affine::Form;
use crate::clif::{HostBlock, HostIntCC, HostType, I32, I32X4, I64, V, element};
use crate::context::{PARTED, SUSPENDED, UNFIT, at};
use crate::error::Error;
use crate::flow::Flow;
use crate::options::{BlockRow, Phase, RowSlot, Successor};
use crate::phase_exits::{NO_EXIT, PATIENCE, PhaseExits, WARP_BYTES, number};
use crate::shape::SlotShape;

/// Bytes from which on memory is copied in a loop.
const LONG: u32 = 64;

/// Where the host's function is in a row.
pub(super) struct OfRow<'a> {
    pub row: &'a BlockRow,
    /// The first warp of a block, and its frame.
    warps: V,
    first_frame: V,
    /// The block that runs, along the row and in the grid, i32.
    block: V,
    linear: V,
    /// Where blocks start, and where they have ended.
    block_head: HostBlock,
    block_done: HostBlock,
    /// Where phases start.
    heads: Vec<HostBlock>,
    /// The phase that is written.
    phase: OfPhase,
}

/// A phase while it is written.
struct OfPhase {
    number: usize,
    exits: PhaseExits,
    /// The loop over warps.
    warp_head: HostBlock,
    warp: V,
    common_exit: Option<V>,
    lanes: V,
    /// Where a warp that is done goes, and its exit there.
    warp_done: HostBlock,
    exit: V,
}

impl OfRow<'_> {
    /// Whether the exits' conditions, or threads that have ended, are to be noted.
    pub fn notes(&self, offset: i32) -> bool {
        self.phase.exits.notes(offset)
    }

    pub fn is_last_phase(&self) -> bool {
        self.phase.number + 1 == self.heads.len()
    }
}

impl<'a> Lower<'a, '_> {
    fn store_word(&mut self, offset: i32, value: u64) {
        let value = self.e.imm(I32, value);
        self.e.store(value, self.context, offset);
    }

    /// Begins the function and the loop over blocks, of as many phases.
    pub(super) fn begin_row(&mut self, row: &'a BlockRow, phases: usize) {
        let entry = self.e.block();
        self.context = self.e.param(entry, I64);
        let warps = self.e.param(entry, I64);
        let (block_head, block_done) = (self.e.block(), self.e.block());
        let block = self.e.param(block_head, I32);
        let heads: Vec<HostBlock> = (0..phases).map(|_| self.e.block()).collect();

        self.e.switch_to(entry);
        let zero = self.e.imm(I64, 0);
        self.e.store(zero, self.context, at::EXITED);
        self.e.store(zero, self.context, at::COND);
        if row.whole {
            let lanes = self.e.imm(I64, u64::MAX >> (64 - self.f.lanes));
            self.e.store(lanes, self.context, at::ACTIVE);
        }
        let first_frame = self.e.load(I64, warps, 0);
        let start = self.e.load(I32, self.context, at::BLOCK_X);
        self.e.jump(block_head, &[start]);

        self.e.switch_to(block_head);
        self.e.store(block, self.context, at::BLOCK_X);
        let more = self.e.load(I32, self.context, at::LINEAR_MORE);
        let linear = self.e.iadd(block, more);
        if row.copies_shared {
            self.copy_shared();
        }
        for field in &row.fields {
            let base = self.e.load(I64, self.context, at::SHARED_BASE);
            let value = if field.linear { linear } else { block };
            match field.bytes {
                1 | 2 => self.e.store_narrow(field.bytes, value, base, field.offset as i32, false),
                _ => self.e.store(value, base, field.offset as i32),
            }
        }
        if !row.restored.is_empty() || !row.indexed.is_empty() {
            self.restore_frames(row, warps, [block, linear]);
        }
        self.e.jump(heads[0], &[]);
        // There are no loops yet: the first phase makes them.
        let phase = OfPhase {
            number: 0,
            exits: PhaseExits::default(),
            warp_head: block_head,
            warp: warps,
            common_exit: None,
            lanes: warps,
            warp_done: block_done,
            exit: warps,
        };
        self.of_row =
            Some(OfRow { row, warps, first_frame, block, linear, block_head, block_done, heads, phase });
    }

    /// Writes a loop from `start` (i64) while it is below `end`, by `step`; `write` is told where it is.
    fn count_up(&mut self, start: V, end: V, step: u64, write: impl FnOnce(&mut Self, V)) {
        let (head, turn, done) = (self.e.block(), self.e.block(), self.e.block());
        let now = self.e.param(head, I64);
        self.e.jump(head, &[start]);
        self.e.switch_to(head);
        let more = self.e.icmp(HostIntCC::UnsignedLessThan, now, end);
        self.e.brif(more, (turn, &[]), (done, &[]));
        self.e.switch_to(turn);
        write(self, now);
        let next = self.e.iadd_imm(now, step);
        self.e.jump(head, &[next]);
        self.e.switch_to(done);
    }

    /// Puts into shared memory what a block finds there.
    fn copy_shared(&mut self) {
        let base = self.e.load(I64, self.context, at::SHARED_BASE);
        let first = self.e.load(I64, self.context, at::SHARED_FIRST);
        let bytes = self.e.load(I32, self.context, at::SHARED_BYTES);
        let (start, bytes) = (self.e.imm(I64, 0), self.e.uextend(I64, bytes));
        // The last turn may reach beyond the end: there is room.
        self.count_up(start, bytes, 64, |l, at| {
            let (from, to) = (l.e.iadd(first, at), l.e.iadd(base, at));
            for offset in (0..64).step_by(16) {
                let v = l.e.load(I32X4, from, offset);
                l.e.store(v, to, offset);
            }
        });
    }

    /// Writes something at each offset of a range, of whole words: vectors as long as there are any.
    fn each_offset(
        &mut self,
        range: &Range<u32>,
        frame: V,
        mut write: impl FnMut(&mut Self, V, i32, HostType),
    ) {
        let mut start = range.start;
        let long = (range.end - range.start) / LONG * LONG;
        if long > LONG {
            let (from, to) = (self.e.imm(I64, 0), self.e.imm(I64, u64::from(long)));
            self.count_up(from, to, u64::from(LONG), |l, at| {
                let place = l.e.iadd(frame, at);
                for offset in (0..LONG).step_by(16) {
                    write(l, place, (start + offset) as i32, I32X4);
                }
            });
            start += long;
        }
        while start < range.end {
            let (bytes, ty) = if start + 16 <= range.end { (16, I32X4) } else { (4, I32) };
            write(self, frame, start as i32, ty);
            start += bytes;
        }
    }

    /// Puts into the frames what a block finds there.
    fn restore_frames(&mut self, row: &BlockRow, warps: V, index: [V; 2]) {
        let end = self.e.load(I64, self.context, at::WARPS_END);
        self.count_up(warps, end, WARP_BYTES as u64, |l, warp| {
            let frame = l.e.load(I64, warp, 0);
            let first = l.e.load(I64, warp, 16);
            let apart = l.e.isub(first, frame);
            for range in together(&row.restored) {
                l.each_offset(&range, frame, |l, place, offset, ty| {
                    let from = l.e.iadd(place, apart);
                    let v = l.e.load(ty, from, offset);
                    l.e.store(v, place, offset);
                });
            }
            for (range, linear) in &row.indexed {
                let value = index[usize::from(*linear)];
                let all = l.e.splat(I32X4, value);
                l.each_offset(range, frame, |l, place, offset, ty| {
                    l.e.store(if ty == I32 { value } else { all }, place, offset);
                });
            }
        });
    }

    /// A phase.
    pub(super) fn phase(&mut self, number: usize, phase: &Phase<'_>) -> Result<(), Error> {
        self.e.b.set_srcloc(SourceLoc::default());
        let Some(OfRow { heads, warps, row, .. }) = &self.of_row else {
            return Err(Error::Malformed("a phase of no row".into()));
        };
        let (own, warps, whole) = (heads[number], *warps, row.whole);
        let exits = PhaseExits::new(self.f, &self.blocks.order.blocks, phase, heads.len() == 1)?;
        let (warp_head, warp_done) = (self.e.block(), self.e.block());
        let warp = self.e.param(warp_head, I64);
        let exit = self.e.param(warp_done, I64);
        self.e.switch_to(own);
        if !exits.are_plain() {
            self.store_word(at::PHASE, number as u64);
            if let Some(only) = exits.only() {
                self.store_word(at::COMMON_EXIT, only);
            }
        }
        self.preload();
        let mut so_far = None;
        if exits.count() > 1 {
            so_far = Some(self.e.param(warp_head, I32));
            let none = self.e.imm(I32, NO_EXIT);
            self.e.jump(warp_head, &[warps, none]);
        } else {
            self.e.jump(warp_head, &[warps]);
        }

        self.e.switch_to(warp_head);
        self.e.store(warp, self.context, at::WARP);
        self.frame = self.e.load(I64, warp, 0);
        let lanes = if whole {
            self.e.imm(I64, u64::MAX >> (64 - self.f.lanes))
        } else {
            let lanes = self.e.load(I64, warp, 8);
            self.e.store(lanes, self.context, at::ACTIVE);
            lanes
        };
        for offset in [at::COND, at::EXITED] {
            if exits.notes(offset) {
                let zero = self.e.imm(I64, 0);
                self.e.store(zero, self.context, offset);
            }
        }
        if let Some(row) = &mut self.of_row {
            row.phase =
                OfPhase { number, exits, warp_head, warp, common_exit: so_far, lanes, warp_done, exit };
        }
        self.check_slots(&phase.checks);
        self.chunks(whole, Some(warp_done))
    }

    /// Leaves if a slot of the warp has not the shape it should.
    fn check_slots(&mut self, checks: &[(Slot, SlotShape)]) {
        let Some(unfit) = self.mismatch(checks, self.frame) else { return };
        let (fits, leaves) = (self.e.block(), self.e.cold_block());
        self.e.brif(unfit, (leaves, &[]), (fits, &[]));
        self.e.switch_to(leaves);
        self.leave(UNFIT);
        self.e.switch_to(fits);
    }

    /// What a slot of words holds that is the same in all lanes of a block of the row.
    pub(super) fn row_slot(&mut self, r: Value, slot: usize) -> Option<V> {
        let row = self.of_row.as_ref()?;
        if let Some(&known) = self.preloaded.get(&r) {
            return Some(known);
        }
        match row.row.slots.get(slot).copied().unwrap_or_default() {
            RowSlot::OfWarp | RowSlot::Same => None,
            RowSlot::Block => Some(row.block),
            RowSlot::LinearBlock => Some(row.linear),
        }
    }

    /// Loads a slot that holds the same in all warps of the row, if it is one.
    pub(super) fn same_slot(&mut self, r: Value, slot: usize) -> Option<V> {
        let row = self.of_row.as_ref()?;
        let is_same = row.row.slots.get(slot).copied() == Some(RowSlot::Same);
        let (frame, scalar) = (row.first_frame, self.scalar_of(r));
        if !is_same || self.forms.of(r) != Form::Uniform || scalar == Scalar::I1 {
            return None;
        }
        Some(self.e.load(element(scalar), frame, self.slot_offsets[slot] as i32))
    }

    /// Ends a phase: looks where the warp has come out, goes to the next warp, and behind the last to where all go.
    pub(super) fn end_phase(&mut self) {
        let Some(row) = &self.of_row else { return };
        let (warps, heads, block_done) = (row.warps, row.heads.clone(), row.block_done);
        let OfPhase { number: own, warp_head, warp, common_exit: so_far, lanes, warp_done, exit, .. } =
            row.phase;
        let PhaseExits { insts, list: exits, some_end } = row.phase.exits.clone();
        let parted = self.e.cold_block();
        // The phase is done by this warp, and by all of them.
        let (next_warp, done) = (self.e.block(), self.e.block());
        let common_exit = so_far.map(|_| self.e.param(next_warp, I32));
        let done_exit = so_far.map(|_| self.e.param(done, I32));

        self.e.switch_to(warp_done);
        let places: Vec<(u32, Successor, HostBlock)> =
            exits.iter().map(|&(e, to)| (e, to, self.e.block())).collect();
        match places.split_last() {
            None => self.e.jump(parted, &[]),
            Some((last, others)) => {
                for (e, _, place) in others {
                    let other = self.e.block();
                    let is_it = self.e.icmp_imm(HostIntCC::Equal, exit, u64::from(*e));
                    self.e.brif(is_it, (*place, &[]), (other, &[]));
                    self.e.switch_to(other);
                }
                self.e.jump(last.2, &[]);
            }
        }
        let mut targets = Vec::new();
        for (e, to, place) in places {
            self.e.switch_to(place);
            if some_end && to != Successor::Ended {
                let ended = self.e.load(I64, self.context, at::EXITED);
                let none = self.e.block();
                self.e.brif(ended, (parted, &[]), (none, &[]));
                self.e.switch_to(none);
            }
            let mut take = |l: &mut Self, condition: u32, to: Option<usize>| {
                targets.push((number(e, condition), to));
                l.take_exit(number(e, condition), so_far, (next_warp, parted), (warp, warps));
            };
            match to {
                Successor::Ended => take(self, 0, None),
                Successor::Next(phase) => take(self, 0, Some(phase)),
                Successor::Branch { taken, next } => {
                    let (all, some, not) = (self.e.block(), self.e.block(), self.e.block());
                    let condition = self.e.load(I64, self.context, at::COND);
                    let whole = self.e.icmp(HostIntCC::Equal, condition, lanes);
                    self.e.brif(whole, (all, &[]), (some, &[]));
                    self.e.switch_to(some);
                    self.e.brif(condition, (parted, &[]), (not, &[]));
                    for (met, block, to) in [(1, all, taken), (2, not, next)] {
                        self.e.switch_to(block);
                        take(self, met, Some(to));
                    }
                }
            }
        }

        self.e.switch_to(next_warp);
        if let Some(common_exit) = common_exit {
            self.e.store(common_exit, self.context, at::COMMON_EXIT);
        }
        let next = self.e.iadd_imm(warp, WARP_BYTES as u64);
        let end = self.e.load(I64, self.context, at::WARPS_END);
        let more = self.e.icmp(HostIntCC::UnsignedLessThan, next, end);
        match common_exit {
            Some(common_exit) => self.e.brif(more, (warp_head, &[next, common_exit]), (done, &[common_exit])),
            None => self.e.brif(more, (warp_head, &[next]), (done, &[])),
        }

        self.e.switch_to(done);
        if let Some(insts) = insts {
            let so_far = self.e.load(I64, self.context, at::INSTS);
            let sum = self.e.iadd_imm(so_far, u64::from(insts));
            self.e.store(sum, self.context, at::INSTS);
        }
        if let Some((&(_, last), others)) = targets.split_last() {
            for &(number, to) in others {
                if let Some(common_exit) = done_exit {
                    let (this, other) = (self.e.block(), self.e.block());
                    let is_it = self.e.icmp_imm(HostIntCC::Equal, common_exit, number);
                    self.e.brif(is_it, (this, &[]), (other, &[]));
                    self.e.switch_to(this);
                    self.go_to(own, to, &heads, block_done);
                    self.e.switch_to(other);
                }
            }
            self.go_to(own, last, &heads, block_done);
        } else {
            self.e.jump(block_done, &[]);
        }

        self.e.switch_to(parted);
        if !some_end {
            // What another phase has noted.
            let none = self.e.imm(I64, 0);
            self.e.store(none, self.context, at::EXITED);
        }
        self.e.store(exit, self.context, at::EXIT);
        self.leave(PARTED);
    }

    /// The warp has left by an exit: the next one follows if those before left by the same.
    fn take_exit(
        &mut self,
        number: u64,
        so_far: Option<V>,
        (next_warp, parted): (HostBlock, HostBlock),
        (warp, warps): (V, V),
    ) {
        let Some(so_far) = so_far else { return self.e.jump(next_warp, &[]) };
        let own = self.e.imm(I32, number);
        let odd = self.e.cold_block();
        let same = self.e.icmp(HostIntCC::Equal, so_far, own);
        self.e.brif(same, (next_warp, &[own]), (odd, &[]));
        self.e.switch_to(odd);
        let is_first = self.e.icmp(HostIntCC::Equal, warp, warps);
        self.e.brif(is_first, (next_warp, &[own]), (parted, &[]));
    }

    /// Goes to a phase, or to the end of the block.
    fn go_to(&mut self, own: usize, to: Option<usize>, heads: &[HostBlock], block_done: HostBlock) {
        let Some(to) = to else { return self.e.jump(block_done, &[]) };
        if to > own {
            return self.e.jump(heads[to], &[]);
        }
        let (enough, more) = (self.e.cold_block(), self.e.block());
        let insts = self.e.load(I64, self.context, at::INSTS);
        let is_long = self.e.icmp_imm(HostIntCC::UnsignedGreaterThan, insts, PATIENCE as u64);
        self.e.brif(is_long, (enough, &[]), (more, &[]));
        self.e.switch_to(enough);
        self.store_word(at::PHASE, to as u64);
        self.leave(SUSPENDED);
        self.e.switch_to(more);
        self.go_back(heads[to], &[]);
    }

    /// Ends the loop over blocks; what the last phase was is written.
    pub(super) fn end_row(&mut self) {
        let Some(row) = &self.of_row else { return };
        let (block, block_head, block_done) = (row.block, row.block_head, row.block_done);
        let plain = row.phase.exits.are_plain();
        self.e.switch_to(block_done);
        if !plain {
            let insts = self.e.load(I64, self.context, at::INSTS);
            let so_far = self.e.load(I64, self.context, at::ROW_INSTS);
            let sum = self.e.iadd(so_far, insts);
            self.e.store(sum, self.context, at::ROW_INSTS);
            let zero = self.e.imm(I64, 0);
            self.e.store(zero, self.context, at::INSTS);
        }
        let next = self.e.iadd_imm(block, 1);
        let end = self.e.load(I32, self.context, at::BLOCK_END);
        let (again, done) = (self.e.block(), self.e.block());
        let more = self.e.icmp(HostIntCC::UnsignedLessThan, next, end);
        self.e.brif(more, (again, &[]), (done, &[]));
        self.e.switch_to(again);
        self.go_back(block_head, &[next]);
        self.e.switch_to(done);
        self.leave(0);
    }
}

/// Ranges, those that meet as one.
fn together(ranges: &[Range<u32>]) -> Vec<Range<u32>> {
    let mut sorted = ranges.to_vec();
    sorted.sort_by_key(|range| range.start);
    let mut list: Vec<Range<u32>> = Vec::new();
    for range in sorted {
        match list.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => list.push(range),
        }
    }
    list
}
