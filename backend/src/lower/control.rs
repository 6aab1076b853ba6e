//! The chunk loop, blocks and terminators, slots, calls.

use cranelift_codegen::ir::SourceLoc;
use warpjit_ir::function::{BlockCall, Terminator};
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Function, Inst, InstData, PureFn, Value};

use super::{Kept, Lower, Parts, arg, result, wide};
use crate::affine::Form;
use crate::clif::{HostBlock, HostIntCC, I8, I32, I32X4, I64, V, element, vector};
use crate::code::FloatEnv;
use crate::context::{FAULT, FaultKind, at};
use crate::error::Error;
use crate::flow::{BranchOperands, Flow, HostBlocks};
use crate::helpers::OPERAND_BYTES;
use crate::listing;
use crate::operands::number;
use crate::options::Options;

/// Groups of lanes that a pure function is called for at once: what its buffer has room for.
const CALL_GROUPS: usize = 4;

impl Lower<'_, '_> {
    /// The whole function for a single warp.
    pub(super) fn function(&mut self) -> Result<(), Error> {
        let entry = self.e.block();
        self.context = self.e.param(entry, I64);
        self.frame = self.e.param(entry, I64);
        self.e.switch_to(entry);
        let zero = self.e.imm(I64, 0);
        self.e.store(zero, self.context, at::EXITED);
        self.e.store(zero, self.context, at::COND);
        self.preload();
        self.chunks(self.options.all_enter, None)
    }

    /// The region for each chunk with an active lane, `whole` where all lanes are; then back, or to where a warp of a row is done.
    pub(super) fn chunks(&mut self, whole: bool, warp_done: Option<HostBlock>) -> Result<(), Error> {
        self.all_enter = whole;
        if self.asks_once() {
            // Lanes that were split off a call that waits go on with its answers: lane 0 is not among them.
            let active = self.e.load(I64, self.context, at::ACTIVE);
            let active = self.e.ireduce(I32, active);
            let is_new = self.e.band_imm(active, 1);
            self.e.store(is_new, self.context, at::NEW_RUN);
        }
        let (next, done) = (self.e.block(), self.e.block());
        let exit = self.e.param(next, I64);
        let last_exit = self.e.param(done, I64);
        self.next_chunk = next;
        // Another call may take over the lanes that are left where a region waits: then each is asked for.
        let start = match self.options.single && !self.options.may_wait {
            true => self.lanes_by_bits(done, exit)?,
            false => Some(self.chunks_in_order(whole, done, exit)),
        };
        self.e.switch_to(done);
        match warp_done {
            Some(warp_done) => self.e.jump(warp_done, &[last_exit]),
            None => self.e.ret(last_exit),
        }
        let Some(start) = start else { return self.end_loops() };

        self.e.switch_to(start);
        let lane = self.e.ireduce(I32, self.lane);
        self.e.store(lane, self.context, at::CHUNK_LANE);
        let offset = self.e.shl(self.lane, 2);
        self.frame_lane = self.e.iadd(self.frame, offset);
        if self.options.single {
            self.bits = self.e.imm(I32, 1);
            self.first_active = self.e.imm(I32, 0);
            self.active = std::rc::Rc::new([self.e.imm(I8, 1)]);
        } else if whole {
            self.bits = self.e.imm(self.bits_type(), self.full_bits());
            self.first_active = self.e.imm(I32, 0);
            self.active = vec![self.e.imm(I32X4, u64::from(u32::MAX)); self.groups].into();
        } else {
            self.first_active = self.lowest_lane(self.bits);
            self.active = self.lanes_of_bits(self.bits);
        }
        self.body()
    }

    /// The loop over all chunks; gives the block where one starts.
    fn chunks_in_order(&mut self, whole: bool, done: HostBlock, exit: V) -> HostBlock {
        let (head, start, next) = (self.e.block(), self.e.block(), self.next_chunk);
        self.lane = self.e.param(head, I64);
        let so_far = self.e.param(head, I64);
        self.exit_so_far = so_far;
        let zero = self.e.imm(I64, 0);
        self.e.jump(head, &[zero, zero]);

        self.e.switch_to(head);
        if whole {
            self.e.jump(start, &[]);
        } else {
            let active = self.e.load(I64, self.context, at::ACTIVE);
            let shifted = self.e.ushr(active, self.lane);
            let bits = self.bits_of_long(shifted);
            self.bits = match self.bits_type() {
                I64 => bits,
                _ => self.e.band_imm(bits, self.full_bits()),
            };
            self.e.brif(self.bits, (start, &[]), (next, &[so_far]));
        }

        self.e.switch_to(next);
        if self.options.may_wait {
            let (rest, own) = (self.e.load(I32, self.context, at::SPLIT), self.e.block());
            self.e.brif(rest, (done, &[exit]), (own, &[]));
            self.e.switch_to(own);
        }
        let lane = self.e.iadd_imm(self.lane, self.lanes() as u64);
        let more = self.e.icmp_imm(HostIntCC::UnsignedLessThan, lane, u64::from(self.f.lanes));
        self.e.brif(more, (head, &[lane, exit]), (done, &[exit]));
        start
    }

    /// The loop over lanes of scalar code, by the bits of those that take part; gives the block where one starts, if there are any.
    fn lanes_by_bits(&mut self, done: HostBlock, exit: V) -> Result<Option<HostBlock>, Error> {
        let zero = self.e.imm(I64, 0);
        let (head, start, next) = (self.e.block(), self.e.block(), self.next_chunk);
        let rest = self.e.param(head, I64);
        self.exit_so_far = self.e.param(head, I64);
        self.walk = self.lane_walk();
        match self.walk.clone() {
            Some(walk) => {
                let Some((lanes, exit)) = self.rest_of_lanes(&walk, done)? else { return Ok(None) };
                self.e.jump(head, &[lanes, exit]);
            }
            None => {
                let lanes = self.lanes_that_enter();
                self.e.brif(lanes, (head, &[lanes, zero]), (done, &[zero]));
            }
        }
        self.e.switch_to(head);
        let left = self.next_lane(rest);
        self.left = Some(left);
        self.e.jump(start, &[]);

        self.e.switch_to(next);
        self.e.brif(left, (head, &[left, exit]), (done, &[exit]));
        Ok(Some(start))
    }

    /// Lanes of a mask at their places in the warp, i64.
    fn lanes_of_warp(&mut self, mask: Option<Value>) -> Result<V, Error> {
        let bits = self.guard_bits(mask)?;
        let bits = self.bits_as_long(bits);
        Ok(self.e.ishl(bits, self.lane))
    }

    /// Writes a slot of the only lane of a chunk, where its guard holds.
    fn slot_set_single(
        &mut self,
        x: Value,
        scalar: Scalar,
        offset: i32,
        guard: Option<Value>,
    ) -> Result<(), Error> {
        let mut s = self.scalar(x)?;
        let base = self.frame_base(scalar);
        if scalar == Scalar::I1 {
            let word = self.truth_word(s);
            s = self.e.ineg(word);
        }
        if let Some(guard) = guard.filter(|&g| !self.is_active_mask(g) && self.f.as_const(g) != Some(1)) {
            let holds = self.scalar(guard)?;
            let ty = self.e.ty(s);
            let old = self.e.load(ty, base, offset);
            s = self.e.select(holds, s, old);
        }
        self.e.store(s, base, offset);
        Ok(())
    }

    /// Address of the chunk's first element of slots of that width, to which the slot's offset is added.
    fn frame_base(&mut self, scalar: Scalar) -> V {
        if !wide(scalar) {
            return self.frame_lane;
        }
        let more = self.e.shl(self.lane, 2);
        self.e.iadd(self.frame_lane, more)
    }
}

impl<'a> Flow<'a> for Lower<'a, '_> {
    type Reg = V;
    type HostBlock = HostBlock;
    type Condition = V;

    fn region(&self) -> (&'a Function, &'a Options) {
        (self.f, self.options)
    }

    fn host_blocks(&mut self) -> &mut HostBlocks<HostBlock> {
        &mut self.blocks
    }

    fn new_block(&mut self) -> HostBlock {
        self.e.block()
    }

    fn new_cold_block(&mut self) -> HostBlock {
        self.e.cold_block()
    }

    fn new_fault_block(&mut self) -> HostBlock {
        let b = self.e.cold_block();
        // The address, and the lane within its chunk where there are several.
        self.e.param(b, I64);
        if self.lanes() > 1 {
            self.e.param(b, I32);
        }
        b
    }

    fn switch_to(&mut self, block: HostBlock) {
        self.e.switch_to(block);
    }

    fn jump(&mut self, to: HostBlock, args: &[V]) {
        self.e.jump(to, args);
    }

    fn branch(&mut self, condition: V, taken: (HostBlock, &[V]), next: (HostBlock, &[V])) {
        self.e.brif(condition, taken, next);
    }

    fn leave(&mut self, exit: u64) {
        let exit = self.of_chain.as_ref().map_or(exit, |chain| chain.exit(exit));
        let exit = self.e.imm(I64, exit);
        self.e.ret(exit);
    }

    fn next_chunk(&mut self, exit: u64) {
        let exit = if exit == 0 { self.exit_so_far } else { self.e.imm(I64, exit) };
        self.e.jump(self.next_chunk, &[exit]);
    }

    fn take_fuel(&mut self) -> V {
        let fuel = self.e.load(I64, self.context, at::FUEL);
        let fuel = self.e.iadd_imm(fuel, u64::MAX);
        self.e.store(fuel, self.context, at::FUEL);
        self.e.icmp_imm(HostIntCC::SignedLessThan, fuel, 0)
    }

    fn poll(&mut self) -> V {
        let sig = match self.sigs.poll {
            Some(sig) => sig,
            None => self.preserving_signature(&[I64]),
        };
        self.sigs.poll = Some(sig);
        let callee = self.e.load(I64, self.context, at::POLL_PRESERVING);
        self.e.call(sig, callee, &[self.context]);
        self.e.load(I32, self.context, at::STOP)
    }

    fn leave_lanes(&mut self, mask: Option<Value>, offset: i32, add: bool) -> Result<(), Error> {
        if add && self.of_row.as_ref().is_some_and(|row| !row.notes(offset)) {
            return Ok(());
        }
        let mut lanes = self.lanes_of_warp(mask)?;
        if add {
            let so_far = self.e.load(I64, self.context, offset);
            lanes = self.e.bor(so_far, lanes);
        }
        self.e.store(lanes, self.context, offset);
        Ok(())
    }

    fn end_loops(&mut self) -> Result<(), Error> {
        if let Some(last) = self.of_row.as_ref().map(|row| row.is_last_phase()) {
            self.end_phase();
            if last {
                self.end_row();
            }
        }
        self.end_link()
    }

    fn fault_code(&mut self) {
        let Some(b) = self.blocks.fault else { return };
        self.e.switch_to(b);
        let &[address, ref lane @ ..] = self.e.b.block_params(b) else { return };
        let (lane, first) = (lane.first().copied(), self.e.ireduce(I32, self.lane));
        let lane = lane.map_or(first, |lane| self.e.iadd(lane, first));
        let kind = self.e.imm(I32, FaultKind::Memory as u64);
        self.e.store(kind, self.context, at::FAULT_KIND);
        self.e.store(lane, self.context, at::FAULT_LANE);
        self.e.store(address, self.context, at::FAULT_ADDRESS);
        self.leave(FAULT);
    }

    fn count(&mut self, mask: Value, guest_insts: u32) -> Result<(), Error> {
        let bits = self.guard_bits(Some(mask))?;
        let lanes = self.e.popcnt(bits);
        let lanes = self.bits_as_long(lanes);
        let insts = self.e.imm(I64, u64::from(guest_insts));
        let more = self.e.imul(lanes, insts);
        let so_far = self.e.load(I64, self.context, at::THREAD_INSTS);
        let sum = self.e.iadd(so_far, more);
        self.e.store(sum, self.context, at::THREAD_INSTS);
        Ok(())
    }

    fn declare_params(&mut self, b: Block, host: HostBlock) {
        for &p in &self.f.block(b).params {
            let scalar = self.scalar_of(p);
            let kept = if self.bit_masks[p.index()] {
                Kept::Bits(self.e.param(host, self.bits_type()))
            } else if self.forms.of(p) == Form::Varying {
                let parts: Parts =
                    (0..self.part_count(scalar)).map(|_| self.e.param(host, vector(scalar))).collect();
                Kept::Parts(parts)
            } else {
                Kept::Scalar(self.e.param(host, element(scalar)))
            };
            self.values[p.index()] = Some(kept);
        }
    }

    fn start_block(&mut self, b: Block) -> Result<(), Error> {
        self.forget_block();
        let data = self.f.block(b);
        if self.list {
            self.location = listing::location(data.pc);
            self.e.b.set_srcloc(self.location);
        }
        for &p in &data.params {
            if let Some(kept @ (Kept::Scalar(_) | Kept::Bits(_))) = self.values[p.index()].clone() {
                self.define(p, kept);
            }
        }
        Ok(())
    }

    fn insts_from(&mut self, b: Block, start: usize, inst: Inst) -> Result<usize, Error> {
        if self.walk.as_ref().is_some_and(|walk| walk.spares(inst)) {
            return Ok(start + 1);
        }
        if let Some(end) = self.lane_rows_to(b, start) {
            self.lane_rows(b, start..end)?;
            return Ok(end);
        }
        match self.mad_versions_to(b, start) {
            Some(end) => {
                self.mad_versions(b, start..end)?;
                Ok(end)
            }
            None => {
                self.inst(inst)?;
                Ok(start + 1)
            }
        }
    }

    fn locate_terminator(&mut self, b: Block) {
        self.turn_to(FloatEnv::FlushAll);
        if self.list {
            let data = self.f.block(b);
            self.location = match &data.term {
                Some(Terminator::Return { .. }) => SourceLoc::default(),
                _ if data.term_pc == 0 => self.location,
                _ => listing::location(data.term_pc),
            };
            self.e.b.set_srcloc(self.location);
        }
    }

    fn edge_arg(&mut self, param: Value, arg: Value, list: &mut Vec<V>) -> Result<(), Error> {
        if self.bit_masks[param.index()] {
            list.push(self.mask_bits(arg)?);
        } else if self.forms.of(param) == Form::Varying {
            list.extend(self.parts(arg)?.iter());
        } else {
            list.push(self.scalar(arg)?);
        }
        Ok(())
    }

    fn branch_operands(
        &mut self,
        condition: Value,
        taken: &BlockCall,
        next: &BlockCall,
    ) -> Result<BranchOperands<V, V>, Error> {
        let condition = if self.is_uniform(condition) {
            self.scalar(condition)?
        } else if let Kept::Bits(bits) = self.kept(condition)? {
            bits
        } else {
            let parts = self.parts(condition)?;
            self.any(&parts)
        };
        Ok(BranchOperands { condition, taken: self.edge_args(taken)?, next: self.edge_args(next)? })
    }

    fn decided(&self, b: Block) -> Option<Block> {
        self.walked_to(b)
    }

    fn is_done(&self, b: Block) -> bool {
        self.walk.as_ref().is_some_and(|walk| walk.rest == b)
    }

    fn slot_get(&mut self, data: &InstData, slot: usize) -> Result<(), Error> {
        let r = result(data)?;
        let ty = self.f.slots[slot].ty;
        let offset = self.slot_offsets[slot] as i32;
        if let Some(s) = self.row_slot(r, slot) {
            self.define_scalar(r, s);
            return Ok(());
        }
        if self.forms.of(r) != Form::Varying {
            let base = match (ty.uniform, self.forms.of(r)) {
                (true, _) => self.frame,
                // Where all lanes must be as said.
                (false, Form::Affine { packed: true, .. }) => self.frame_base(ty.scalar),
                (false, _) if self.options.single || self.all_enter => self.frame_base(ty.scalar),
                // Only the active lanes need to agree.
                (false, _) => {
                    let place = self.frame_base(ty.scalar);
                    let lane = self.e.uextend(I64, self.first_active);
                    let bytes = self.e.shl(lane, ty.scalar.frame_bytes().trailing_zeros());
                    self.e.iadd(place, bytes)
                }
            };
            let mut s = if ty.scalar == Scalar::I1 {
                let word = self.e.load(I32, base, offset);
                self.e.icmp_imm(HostIntCC::NotEqual, word, 0)
            } else {
                self.e.load(element(ty.scalar), base, offset)
            };
            if let (Form::Affine { stride, packed: false }, false) = (self.forms.of(r), self.all_enter) {
                let stride = self.e.imm(I32, u64::from(stride as u32));
                let steps = self.e.imul(self.first_active, stride);
                s = self.e.isub(s, steps);
            }
            self.define_scalar(r, s);
            return Ok(());
        }
        let base = self.frame_base(ty.scalar);
        let parts: Parts = (0..self.part_count(ty.scalar))
            .map(|g| self.e.load(vector(ty.scalar), base, offset + 16 * g as i32))
            .collect();
        self.define(r, Kept::Parts(parts));
        Ok(())
    }

    fn slot_set(&mut self, data: &InstData, slot: usize) -> Result<(), Error> {
        let x = arg(data, 0)?;
        let ty = self.f.slots[slot].ty;
        let offset = self.slot_offsets[slot] as i32;
        if ty.uniform {
            let s = self.scalar(x)?;
            let s = if ty.scalar == Scalar::I1 {
                let word = self.truth_word(s);
                self.e.ineg(word)
            } else {
                s
            };
            // Each chunk reads what was there before: only the last one writes. The others write beside it, where nobody looks.
            let base = match self.known.uniform_base {
                Some(base) => base,
                // The only chunk.
                None if self.lanes() >= self.f.lanes as usize => self.frame,
                None => {
                    let later = match self.left {
                        Some(left) => left,
                        None => {
                            let active = self.e.load(I64, self.context, at::ACTIVE);
                            let shifted = self.e.ushr(active, self.lane);
                            self.e.shr(shifted, self.lanes() as u32)
                        }
                    };
                    let beside = self.e.iadd_imm(self.frame, 8);
                    self.e.select(later, beside, self.frame)
                }
            };
            if !self.aside {
                self.known.uniform_base = Some(base);
            }
            self.e.store(s, base, offset);
            return Ok(());
        }
        let guard = data.args.get(1).copied();
        if self.options.single {
            return self.slot_set_single(x, ty.scalar, offset, guard);
        }
        // In code for rows the lanes that enter are those that have threads, from first to last: what others hold matters to nobody.
        let is_free = (self.all_enter || self.of_row.as_ref().is_some_and(|row| !row.row.keeps_lanes))
            && guard.is_none_or(|m| self.is_active_mask(m));
        let ones = is_free || guard.is_some_and(|m| self.f.as_const(m) == Some(1));
        let parts = self.parts(x)?;
        let base = self.frame_base(ty.scalar);
        if ones {
            for (g, &p) in parts.iter().enumerate() {
                self.e.store(p, base, offset + 16 * g as i32);
            }
            return Ok(());
        }
        let masks = self.guard_parts(guard)?;
        let masks = if wide(ty.scalar) { self.widen_mask(&masks) } else { masks };
        for (g, (&p, &m)) in parts.iter().zip(masks.iter()).enumerate() {
            let at = offset + 16 * g as i32;
            let old = self.e.load(vector(ty.scalar), base, at);
            let new = self.e.sel(m, p, old);
            self.e.store(new, base, at);
        }
        Ok(())
    }

    /// Calls a pure function for up to sixteen of the chunk's active lanes at a time, operands and results in a buffer on the stack.
    fn call_pure(&mut self, data: &InstData, pure: &'static PureFn) -> Result<(), Error> {
        let r = result(data)?;
        let index = number(&mut self.pures, pure);
        let slot = match self.call_buffer {
            Some(slot) => slot,
            None => self.stack_slot(5 * OPERAND_BYTES),
        };
        self.call_buffer = Some(slot);
        let buffer = self.e.stack_addr(slot);
        let sig = match self.sigs.pure {
            Some(sig) => sig,
            None => self.signature(&[I64, I32, I32, I64], None),
        };
        self.sigs.pure = Some(sig);
        let callee = self.e.load(I64, self.context, at::CALL_PURE);
        let table = self.e.load(I64, self.context, at::PURES);
        let index = self.e.imm(I32, index as u64);
        let place = |k: usize| (k as u32 * OPERAND_BYTES) as i32;
        let out = place(4);
        if self.is_uniform(r) {
            for (k, &a) in data.args.iter().enumerate() {
                let s = self.scalar(a)?;
                let s = self.truth_word(s);
                self.e.store(s, buffer, place(k));
            }
            let one = self.e.imm(I32, 1);
            self.e.call(sig, callee, &[table, index, one, buffer]);
            let ty = element(pure.result);
            let s = self.e.load(if ty == I8 { I32 } else { ty }, buffer, out);
            let s = if ty == I8 { self.e.icmp_imm(HostIntCC::NotEqual, s, 0) } else { s };
            self.define_scalar(r, s);
            return Ok(());
        }
        let operands: Vec<Parts> = data.args.iter().map(|&a| self.parts(a)).collect::<Result<_, _>>()?;
        let mut parts = Vec::new();
        for first in (0..self.groups).step_by(CALL_GROUPS) {
            let groups = CALL_GROUPS.min(self.groups - first);
            for (k, operand) in operands.iter().enumerate() {
                // Vectors of double words are two for each group.
                let each = operand.len() / self.groups;
                for (n, &p) in operand[each * first..each * (first + groups)].iter().enumerate() {
                    self.e.store(p, buffer, place(k) + 16 * n as i32);
                }
            }
            let mut lanes = self.bits;
            if self.groups > CALL_GROUPS {
                lanes = self.e.shr(lanes, 4 * first as u32);
                lanes = if self.bits_type() == I64 { self.e.ireduce(I32, lanes) } else { lanes };
                lanes = self.e.band_imm(lanes, 0xffff);
            }
            self.e.call(sig, callee, &[table, index, lanes, buffer]);
            let vectors = groups * self.part_count(pure.result) / self.groups;
            parts.extend((0..vectors).map(|g| self.e.load(vector(pure.result), buffer, out + 16 * g as i32)));
        }
        self.define(r, Kept::Parts(parts.into()));
        Ok(())
    }
}
