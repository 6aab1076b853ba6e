//! Code for rows of blocks: a loop over the blocks, in it the kernel's phases, and in each phase a loop over the warps of the block round
//! the loop over chunks.
//!
//! All warps run a phase, one after the other, before any of them goes on: so a barrier on which all meet is nothing but the end of
//! a phase, and a branch on which all agree is one of the whole block. Where warps come out of a phase at different places, the function
//! returns and the runtime goes on with the block, warp by warp; what warps keep from phase to phase is in their frames.

use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::{Function, Imm, Opcode, Slot, Space};

use iced_x86::Code;

use super::asm::{Mem, R, Src, With};
use super::block_row::InRow;
use super::code::Flags;
use super::emit::preg;
use super::int::{CMPU, SUB};
use super::lower::Lower;
use crate::context::{PARTED, SUSPENDED, UNFIT, at};
use crate::error::Error;
use crate::flow::Flow;
use crate::options::{BlockRow, Phase, Successor};
use crate::phase_exits::{NO_EXIT, PATIENCE, PhaseExits, WARP_BYTES, number};
use crate::shape::{Shape, SlotShape};

/// Of comparisons of vectors.
const NOT_EQUAL: u8 = 4;

/// A phase while it is written.
pub(super) struct OfPhase {
    number: usize,
    pub exits: PhaseExits,
    /// By exit, slots of which only first lanes are stored.
    by_firsts: Vec<Vec<Slot>>,
    /// The loop over warps.
    warp_head: HostBlock,
    warp: R,
    common_exit: Option<R>,
    lanes: R,
    /// Where a warp that is done goes, with its exit.
    pub warp_done: HostBlock,
}

impl OfPhase {
    /// Whether only the first lane of each sixteen of a slot is stored at an exit.
    pub fn is_by_firsts(&self, exit: u32, slot: usize) -> bool {
        self.by_firsts.get(exit as usize).is_some_and(|slots| slots.iter().any(|known| known.index() == slot))
    }
}

/// Whether a function stores to shared memory.
pub(super) fn writes_shared(f: &Function) -> bool {
    let mut all = f.blocks.iter().flat_map(|b| &b.insts).map(|&i| f.inst(i));
    all.any(|inst| match inst.imm {
        Imm::Mem(m) | Imm::Atomic(m, _) => inst.op != Opcode::Load && m.space == Space::Shared,
        _ => false,
    })
}

impl<'a> Lower<'a> {
    fn of_context(&self, offset: i32) -> Mem {
        Mem::at(self.context, offset)
    }

    /// Begins the function and the loop over blocks, of as many phases.
    pub fn begin_row(&mut self, row: &'a BlockRow, phases: usize, writes_shared: bool) {
        let params = self.a.entry(&[preg(RegClass::Int, 7), preg(RegClass::Int, 6)]);
        let (context, warps, lanes) = (params[0], params[1], self.f.lanes);
        self.context = context;
        let a = &mut self.a;
        let at_context = |offset: i32| Mem::at(context, offset);
        let zero = a.imm(false, 0);
        a.store64g(at_context(at::EXITED), zero);
        a.store64g(at_context(at::COND), zero);
        if row.whole {
            let lanes = a.imm(true, u64::MAX >> (64 - lanes));
            a.store64g(at_context(at::ACTIVE), lanes);
        }
        let first_frame = a.load_fixed(true, Mem::at(warps, 0));
        let start = a.load32(at_context(at::BLOCK_X));
        let (block_head, block_done) = (a.block(), a.block());
        let block = a.param(block_head, RegClass::Int);
        let heads: Vec<HostBlock> = (0..phases).map(|_| a.block()).collect();
        a.jump(block_head, &[start]);

        a.switch_to(block_head);
        a.store32(at_context(at::BLOCK_X), block);
        let more = a.load_fixed(false, at_context(at::LINEAR_MORE));
        let linear = a.add(false, block, more);
        if row.copies_shared {
            self.copy_shared();
        }
        for field in &row.fields {
            let base = self.a.load_fixed(true, at_context(at::SHARED_BASE));
            let value = if field.linear { linear } else { block };
            let (code, size) = Self::store_code(field.bytes);
            self.a.gstore(code, Mem::at(base, field.offset as i32), value, size, None);
        }
        if !row.restored.is_empty() || !row.indexed.is_empty() {
            self.restore_frames(row, warps, [block, linear]);
        }
        self.a.jump(heads[0], &[]);
        // There are no loops yet: the first phase makes them.
        let phase = OfPhase {
            number: 0,
            exits: PhaseExits::default(),
            by_firsts: Vec::new(),
            warp_head: block_head,
            warp: warps,
            common_exit: None,
            lanes: warps,
            warp_done: block_done,
        };
        self.in_row = Some(InRow {
            row,
            warps,
            first_frame,
            block,
            linear,
            writes_shared,
            shared_reach: 0,
            block_head,
            block_done,
            heads,
            phase,
        });
    }

    /// Puts into shared memory what a block finds there.
    fn copy_shared(&mut self) {
        let base = self.a.load_fixed(true, self.of_context(at::SHARED_BASE));
        let first = self.a.load_fixed(true, self.of_context(at::SHARED_FIRST));
        let bytes = self.a.load_fixed(false, self.of_context(at::SHARED_BYTES));
        let mut offset = self.a.imm(false, 0);
        for vectors in [4, 1] {
            let step = 64 * vectors;
            let (head, copy, done) = (self.a.block(), self.a.block(), self.a.block());
            let at = self.a.param(head, RegClass::Int);
            self.a.jump(head, &[offset]);
            self.a.switch_to(head);
            // The last vector may reach beyond the end: there is room.
            let last = self.a.add_imm(true, at, step - 64);
            self.a.cmp(true, last, bytes);
            self.a.branch(Flags::Below, (copy, &[]), (done, &[]));
            self.a.switch_to(copy);
            let next = self.a.add_imm(true, at, step);
            for disp in (0..step as i32).step_by(64) {
                let v = self.a.load64(Mem::indexed(first, at, 1, disp));
                self.a.store64(Mem::indexed(base, at, 1, disp), v);
            }
            self.a.jump(head, &[next]);
            self.a.switch_to(done);
            offset = at;
        }
    }

    /// Puts into the frames what a block finds there.
    fn restore_frames(&mut self, row: &BlockRow, warps: R, index: [R; 2]) {
        let (head, done) = (self.a.block(), self.a.block());
        let warp = self.a.param(head, RegClass::Int);
        self.a.jump(head, &[warps]);
        self.a.switch_to(head);
        let frame = self.a.load64g(Mem::at(warp, 0));
        let first = self.a.load64g(Mem::at(warp, 16));
        let words = |range: &std::ops::Range<u32>| {
            let mut list = Vec::new();
            let mut offset = range.start;
            while offset < range.end {
                let bytes = if offset + 64 <= range.end { 64 } else { 4 };
                list.push((offset as i32, bytes));
                offset += bytes;
            }
            list
        };
        for (offset, bytes) in row.restored.iter().flat_map(words) {
            if bytes == 64 {
                let v = self.a.load64(Mem::at(first, offset));
                self.a.store64(Mem::at(frame, offset), v);
            } else {
                let word = self.a.load32(Mem::at(first, offset));
                self.a.store32(Mem::at(frame, offset), word);
            }
        }
        for (range, linear) in &row.indexed {
            let value = index[usize::from(*linear)];
            for (offset, bytes) in words(range) {
                if bytes == 64 {
                    let v = self.a.splat(false, value);
                    self.a.store64(Mem::at(frame, offset), v);
                } else {
                    self.a.store32(Mem::at(frame, offset), value);
                }
            }
        }
        let next = self.a.add_imm(true, warp, WARP_BYTES);
        let end = self.a.load_fixed(true, self.of_context(at::WARPS_END));
        self.a.cmp(true, next, end);
        self.a.branch(Flags::Below, (head, &[next]), (done, &[]));
        self.a.switch_to(done);
    }

    /// Begins a phase: the loop over warps. Gives the lanes of the warp, unless all take part.
    pub fn begin_phase(&mut self, number: usize, phase: &Phase<'_>) -> Result<Option<R>, Error> {
        let f = self.f;
        let Some(InRow { heads, warps, row, .. }) = &self.in_row else {
            return Err(Error::Malformed("a phase of no row".into()));
        };
        let (own, warps, whole) = (heads[number], *warps, row.whole);
        let exits = PhaseExits::new(f, &self.blocks.order.blocks, phase, heads.len() == 1)?;
        let one_chunk = self.lanes() >= f.lanes as usize;
        let a = &mut self.a;
        let (warp_head, warp_done) = (a.block(), a.block());
        let warp = a.param(warp_head, RegClass::Int);
        let mut of_phase = OfPhase {
            number,
            exits,
            by_firsts: phase.by_firsts.clone(),
            warp_head,
            warp,
            common_exit: None,
            lanes: warp,
            warp_done,
        };
        a.switch_to(own);
        if one_chunk {
            a.store_imm32(Mem::at(self.context, at::CHUNK_LANE), 0);
        }
        if !of_phase.exits.are_plain() {
            a.store_imm32(Mem::at(self.context, at::PHASE), number as i32);
            if let Some(only) = of_phase.exits.only() {
                a.store_imm32(Mem::at(self.context, at::COMMON_EXIT), only as i32);
            }
        }
        if of_phase.exits.count() > 1 {
            let common_exit = a.param(warp_head, RegClass::Int);
            of_phase.common_exit = Some(common_exit);
            let none = a.imm(false, NO_EXIT);
            a.jump(warp_head, &[warps, none]);
        } else {
            a.jump(warp_head, &[warps]);
        }
        a.switch_to(warp_head);
        a.store64g(Mem::at(self.context, at::WARP), warp);
        self.frame = a.load64g(Mem::at(warp, 0));
        of_phase.lanes = match whole {
            true => a.imm(true, u64::MAX >> (64 - f.lanes)),
            false => {
                let lanes = a.load64g(Mem::at(warp, 8));
                a.store64g(Mem::at(self.context, at::ACTIVE), lanes);
                lanes
            }
        };
        let lanes = (!whole).then_some(of_phase.lanes);
        for offset in [at::COND, at::EXITED] {
            if of_phase.exits.notes(offset) {
                let zero = a.imm(false, 0);
                a.store64g(Mem::at(self.context, offset), zero);
            }
        }
        a.param(warp_done, RegClass::Int);
        if let Some(row) = &mut self.in_row {
            row.phase = of_phase;
        }
        self.check_slots(&phase.checks);
        Ok(lanes)
    }

    /// Leaves if a slot of the warp has not the shape it should.
    fn check_slots(&mut self, checks: &[(Slot, SlotShape)]) {
        let mut odd: Option<R> = None;
        for &(slot, SlotShape { shape, lanes, .. }) in checks {
            let step = match shape {
                Shape::Uniform | Shape::Ones => 0,
                Shape::Affine(step) | Shape::Packed(step) => step,
                // Of warps as they start only.
                Shape::Lines { .. } => continue,
            };
            // Vectors of a part that has the shape as a whole.
            let vectors = lanes / 16;
            let place = Mem::at(self.frame, self.slot_offsets[slot.index()] as i32);
            for group in 0..self.f.lanes / 16 {
                let mut v = self.a.load64(place.plus(64 * group as i32));
                if step != 0 {
                    let before = 16 * (group % vectors) as i32;
                    let steps = std::array::from_fn(|lane| step.wrapping_mul(before + lane as i32) as u32);
                    let steps = self.a.words(&steps);
                    v = self.a.v3(SUB[0], v, Src::Pool(steps));
                }
                let first = match shape {
                    Shape::Ones => self.a.constant(false, u64::from(u32::MAX)),
                    _ => {
                        let first = place.plus(64 * (group / vectors * vectors) as i32);
                        self.a.vload(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, first, With::default())
                    }
                };
                let differ = self.a.vcmp(CMPU[0], v, Src::R(first), NOT_EQUAL);
                odd = Some(match odd {
                    Some(all) => self.a.k3(Code::VEX_Korw_kr_kr_kr, all, differ),
                    None => differ,
                });
            }
            if let Shape::Packed(step) = shape {
                // The low half may not carry into the high one.
                for group in (0..self.f.lanes / 16).step_by(vectors as usize) {
                    let first = self.a.load32(place.plus(64 * group as i32));
                    let low = self.a.g2i(false, super::scalar::AND_IMM, first, 0xffff);
                    let last = self.a.add_imm(false, low, i64::from(lanes - 1) * i64::from(step));
                    let (fits, carries) = (self.a.block(), self.a.cold_block());
                    self.a.cmp_imm(false, last, 0xffff);
                    self.a.branch(Flags::Above, (carries, &[]), (fits, &[]));
                    self.a.switch_to(carries);
                    self.leave(UNFIT);
                    self.a.switch_to(fits);
                }
            }
        }
        let Some(odd) = odd else { return };
        let (fits, unfit) = (self.a.block(), self.a.cold_block());
        self.a.kortest(odd, odd);
        self.a.branch(Flags::Equal, (fits, &[]), (unfit, &[]));
        self.a.switch_to(unfit);
        self.leave(UNFIT);
        self.a.switch_to(fits);
    }

    /// Ends a phase: looks where the warp has come out, goes to the next warp, and behind the last to where all go.
    pub fn end_phase(&mut self) {
        let Some(row) = &mut self.in_row else { return };
        let (warps, heads, block_done) = (row.warps, row.heads.clone(), row.block_done);
        let OfPhase {
            number: own, ref exits, warp_head, warp, common_exit: so_far, lanes, warp_done, ..
        } = row.phase;
        let PhaseExits { insts, list: exits, some_end } = exits.clone();
        let exit = self.a.blocks[warp_done.index()].params[0];
        let parted = self.a.cold_block();
        // The phase is done by this warp, and by all of them.
        let (next_warp, done) = (self.a.block(), self.a.block());
        let common_exit = so_far.map(|_| self.a.param(next_warp, RegClass::Int));
        let done_exit = so_far.map(|_| self.a.param(done, RegClass::Int));

        self.a.switch_to(warp_done);
        let mut places: Vec<(u32, Successor, HostBlock)> = Vec::new();
        for &(e, to) in &exits {
            let place = self.a.block();
            places.push((e, to, place));
        }
        match places.split_last() {
            None => self.a.jump(parted, &[]),
            Some((last, others)) => {
                for (e, _, place) in others {
                    let other = self.a.block();
                    self.a.cmp_imm(false, exit, *e as i32);
                    self.a.branch(Flags::Equal, (*place, &[]), (other, &[]));
                    self.a.switch_to(other);
                }
                self.a.jump(last.2, &[]);
            }
        }
        let mut targets = Vec::new();
        for (e, to, place) in places {
            self.a.switch_to(place);
            if some_end && to != Successor::Ended {
                let ended = self.a.load64g(self.of_context(at::EXITED));
                let none = self.a.block();
                self.a.test(true, ended, ended);
                self.a.branch(Flags::Equal, (none, &[]), (parted, &[]));
                self.a.switch_to(none);
            }
            match to {
                Successor::Ended => {
                    targets.push((number(e, 0), None));
                    self.take_exit(number(e, 0), so_far, next_warp, parted, warp, warps);
                }
                Successor::Next(phase) => {
                    targets.push((number(e, 0), Some(phase)));
                    self.take_exit(number(e, 0), so_far, next_warp, parted, warp, warps);
                }
                Successor::Branch { taken, next } => {
                    let (all, some, not) = (self.a.block(), self.a.block(), self.a.block());
                    let condition = self.a.load64g(self.of_context(at::COND));
                    self.a.cmp(true, condition, lanes);
                    self.a.branch(Flags::Equal, (all, &[]), (some, &[]));
                    self.a.switch_to(some);
                    self.a.test(true, condition, condition);
                    self.a.branch(Flags::Equal, (not, &[]), (parted, &[]));
                    for (met, block, to) in [(1, all, taken), (2, not, next)] {
                        self.a.switch_to(block);
                        targets.push((number(e, met), Some(to)));
                        self.take_exit(number(e, met), so_far, next_warp, parted, warp, warps);
                    }
                }
            }
        }

        self.a.switch_to(next_warp);
        if let Some(common_exit) = common_exit {
            self.a.store32(self.of_context(at::COMMON_EXIT), common_exit);
        }
        let next = self.a.add_imm(true, warp, WARP_BYTES);
        let end = self.a.load_fixed(true, self.of_context(at::WARPS_END));
        self.a.cmp(true, next, end);
        match common_exit {
            Some(common_exit) => {
                self.a.branch(Flags::Below, (warp_head, &[next, common_exit]), (done, &[common_exit]))
            }
            None => self.a.branch(Flags::Below, (warp_head, &[next]), (done, &[])),
        }

        self.a.switch_to(done);
        if let Some(insts) = insts {
            let so_far = self.a.load64g(self.of_context(at::INSTS));
            let sum = self.a.add_imm(true, so_far, i64::from(insts));
            self.a.store64g(self.of_context(at::INSTS), sum);
        }
        let Some((&(_, last), others)) = targets.split_last() else {
            self.a.jump(block_done, &[]);
            return self.write_parted(parted, exit, some_end);
        };
        for &(number, to) in others {
            let (this, other) = (self.a.block(), self.a.block());
            if let Some(common_exit) = done_exit {
                self.a.cmp_imm(false, common_exit, number as i32);
            }
            self.a.branch(Flags::Equal, (this, &[]), (other, &[]));
            self.a.switch_to(this);
            self.go_to(own, to, &heads, block_done);
            self.a.switch_to(other);
        }
        self.go_to(own, last, &heads, block_done);
        self.write_parted(parted, exit, some_end);
    }

    /// The warp has left by an exit: the next one follows if those before left by the same.
    fn take_exit(
        &mut self,
        number: u64,
        so_far: Option<R>,
        next_warp: HostBlock,
        parted: HostBlock,
        warp: R,
        warps: R,
    ) {
        let Some(so_far) = so_far else { return self.a.jump(next_warp, &[]) };
        let own = self.a.imm(false, number);
        let odd = self.a.cold_block();
        self.a.cmp_imm(false, so_far, number as i32);
        self.a.branch(Flags::Equal, (next_warp, &[own]), (odd, &[]));
        self.a.switch_to(odd);
        self.a.cmp(true, warp, warps);
        self.a.branch(Flags::Equal, (next_warp, &[own]), (parted, &[]));
    }

    /// Goes to a phase, or to the end of the block.
    fn go_to(&mut self, own: usize, to: Option<usize>, heads: &[HostBlock], block_done: HostBlock) {
        let Some(to) = to else { return self.a.jump(block_done, &[]) };
        if to > own {
            return self.a.jump(heads[to], &[]);
        }
        let (enough, more) = (self.a.cold_block(), self.a.block());
        let insts = self.a.load64g(self.of_context(at::INSTS));
        self.a.cmp_imm(true, insts, PATIENCE);
        self.a.branch(Flags::Above, (enough, &[]), (more, &[]));
        self.a.switch_to(enough);
        self.a.store_imm32(self.of_context(at::PHASE), to as i32);
        self.leave(SUSPENDED);
        self.a.switch_to(more);
        self.go_back(heads[to], &[]);
    }

    fn write_parted(&mut self, parted: HostBlock, exit: R, some_end: bool) {
        self.a.switch_to(parted);
        if !some_end {
            // What another phase has noted.
            let none = self.a.imm(false, 0);
            self.a.store64g(self.of_context(at::EXITED), none);
        }
        self.a.store64g(self.of_context(at::EXIT), exit);
        self.leave(PARTED);
    }

    /// Ends the loop over blocks; what the last phase was is written.
    pub fn end_row(&mut self) {
        let Some(row) = &self.in_row else { return };
        let (block, block_head, block_done) = (row.block, row.block_head, row.block_done);
        let counts = !row.phase.exits.are_plain();
        self.a.switch_to(block_done);
        if counts {
            let insts = self.a.load64g(self.of_context(at::INSTS));
            let so_far = self.a.load64g(self.of_context(at::ROW_INSTS));
            let sum = self.a.add(true, so_far, insts);
            self.a.store64g(self.of_context(at::ROW_INSTS), sum);
            let zero = self.a.imm(false, 0);
            self.a.store64g(self.of_context(at::INSTS), zero);
        }
        let next = self.a.add_imm(false, block, 1);
        let end = self.a.load_fixed(false, self.of_context(at::BLOCK_END));
        let (again, done) = (self.a.block(), self.a.block());
        self.a.cmp(false, next, end);
        self.a.branch(Flags::Below, (again, &[]), (done, &[]));
        self.a.switch_to(again);
        self.go_back(block_head, &[next]);
        self.a.switch_to(done);
        self.leave(0);
    }
}
