//! The chunk loop, blocks and terminators, slots, calls.

use std::rc::Rc;

use cranelift_codegen::ir::SourceLoc;
use warpjit_ir::function::{BlockCall, Terminator};
use warpjit_ir::regions::promote::FAULT_EXIT;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Imm, InstData, Opcode, PureFn, Value};

use super::{Kept, Lower, Parts, arg, malformed, result, wide};
use crate::Error;
use crate::affine::Form;
use crate::clif::{HostBlock, HostIntCC, I8, I32, I64, V, element, vector};
use crate::context::{FAULT, FaultKind, STOPPED, at};
use crate::helpers::OPERAND_BYTES;
use crate::listing;

impl Lower<'_, '_> {
    /// The whole function: for each chunk with an active lane, the region.
    pub(super) fn function(&mut self) -> Result<(), Error> {
        let entry = self.e.block();
        self.context = self.e.param(entry, I64);
        self.frame = self.e.param(entry, I64);
        let head = self.e.block();
        self.lane = self.e.param(head, I64);
        let so_far = self.e.param(head, I64);
        self.exit_so_far = so_far;
        let start = self.e.block();
        let next = self.e.block();
        let exit = self.e.param(next, I64);
        let done = self.e.block();
        let last_exit = self.e.param(done, I64);
        self.next_chunk = next;

        self.e.switch_to(entry);
        let zero = self.e.imm(I64, 0);
        self.e.store(zero, self.context, at::EXITED);
        self.e.store(zero, self.context, at::COND);
        self.preload()?;
        self.e.jump(head, &[zero, zero]);

        self.e.switch_to(head);
        let active = self.e.load(I64, self.context, at::ACTIVE);
        let shifted = self.e.ushr(active, self.lane);
        let bits = self.e.ireduce(I32, shifted);
        self.bits = self.e.band_imm(bits, self.full_bits());
        self.e.brif(self.bits, (start, &[]), (next, &[so_far]));

        self.e.switch_to(next);
        let lane = self.e.iadd_imm(self.lane, self.lanes() as u64);
        let more = self.e.icmp_imm(HostIntCC::UnsignedLessThan, lane, u64::from(self.f.lanes));
        self.e.brif(more, (head, &[lane, exit]), (done, &[exit]));
        self.e.switch_to(done);
        self.e.ret(last_exit);

        self.e.switch_to(start);
        let lane = self.e.ireduce(I32, self.lane);
        self.e.store(lane, self.context, at::CHUNK_LANE);
        let offset = self.e.shl(self.lane, 2);
        self.frame_lane = self.e.iadd(self.frame, offset);
        self.first_active = self.e.ctz(self.bits);
        self.active = self.lanes_of_bits(self.bits);
        for &b in &self.order.clone() {
            self.declare_block(b);
        }
        let first = self.host_block(self.f.entry)?;
        if !self.f.block(self.f.entry).params.is_empty() {
            return Err(Error::Malformed("the entry block has parameters".into()));
        }
        self.e.jump(first, &[]);
        for &b in &self.order.clone() {
            self.block(b)?;
        }
        self.fault_code();
        if let Some(stop) = self.stop_block {
            self.e.switch_to(stop);
            let code = self.e.imm(I64, STOPPED);
            self.e.ret(code);
        }
        Ok(())
    }

    fn host_block(&self, b: Block) -> Result<HostBlock, Error> {
        self.blocks
            .get(b.index())
            .copied()
            .flatten()
            .ok_or_else(|| Error::Malformed(format!("jump to unknown {b}")))
    }

    /// Makes the host block and its parameters.
    fn declare_block(&mut self, b: Block) {
        let block = self.e.block();
        self.blocks[b.index()] = Some(block);
        for &p in &self.f.block(b).params {
            let scalar = self.scalar_of(p);
            let kept = if self.forms.of(p) == Form::Varying {
                let parts: Parts =
                    (0..self.part_count(scalar)).map(|_| self.e.param(block, vector(scalar))).collect();
                Kept::Parts(parts)
            } else {
                Kept::Scalar(self.e.param(block, element(scalar)))
            };
            self.values[p.index()] = Some(kept);
        }
    }

    fn block(&mut self, b: Block) -> Result<(), Error> {
        let block = self.host_block(b)?;
        self.e.switch_to(block);
        self.start_block();
        self.current = b;
        let data = self.f.block(b);
        if self.list {
            self.location = listing::location(data.pc);
            self.e.b.set_srcloc(self.location);
        }
        for &p in &data.params {
            if let Some(kept @ Kept::Scalar(_)) = self.values[p.index()].clone() {
                self.define(p, kept);
            }
        }
        let mut next = 0;
        while let Some(&inst) = data.insts.get(next) {
            match self.two_versions_to(b, next) {
                Some(end) => {
                    self.two_versions(b, next..end)?;
                    next = end;
                }
                None => {
                    self.inst(inst)?;
                    next += 1;
                }
            }
        }
        let mask = self.options.block_masks.get(b.index()).copied().flatten();
        if let (true, Some(mask)) = (self.options.count && data.guest_insts != 0, mask) {
            self.count(mask, data.guest_insts)?;
        }
        if self.list {
            self.location = match &data.term {
                Some(Terminator::Return { .. }) => SourceLoc::default(),
                _ if data.term_pc == 0 => self.location,
                _ => listing::location(data.term_pc),
            };
            self.e.b.set_srcloc(self.location);
        }
        self.terminator(b)
    }

    fn count(&mut self, mask: Value, guest_insts: u32) -> Result<(), Error> {
        let bits = self.guard_bits(Some(mask))?;
        let lanes = self.e.popcnt(bits);
        let lanes = self.e.uextend(I64, lanes);
        let insts = self.e.imm(I64, u64::from(guest_insts));
        let more = self.e.imul(lanes, insts);
        let so_far = self.e.load(I64, self.context, at::THREAD_INSTS);
        let sum = self.e.iadd(so_far, more);
        self.e.store(sum, self.context, at::THREAD_INSTS);
        Ok(())
    }

    fn terminator(&mut self, b: Block) -> Result<(), Error> {
        match self.f.term(b) {
            Terminator::Jump(call) => {
                let args = self.edge_args(call)?;
                self.go(b, call.block, &args)
            }
            Terminator::BrIf { cond: c, taken, next } | Terminator::BrAny { mask: c, taken, next } => {
                let c = if self.is_uniform(*c) {
                    self.scalar(*c)?
                } else {
                    let parts = self.parts(*c)?;
                    self.any(&parts)
                };
                let (taken_args, next_args) = (self.edge_args(taken)?, self.edge_args(next)?);
                let (taken_block, taken_edge) = self.edge_block(b, taken.block)?;
                let (next_block, next_edge) = self.edge_block(b, next.block)?;
                let list = |edge: bool, args: &[V]| if edge { Vec::new() } else { args.to_vec() };
                self.e.brif(
                    c,
                    (taken_block, &list(taken_edge, &taken_args)),
                    (next_block, &list(next_edge, &next_args)),
                );
                for (block, edge, to, args) in [
                    (taken_block, taken_edge, taken.block, taken_args),
                    (next_block, next_edge, next.block, next_args),
                ] {
                    if edge {
                        self.e.switch_to(block);
                        self.go(b, to, &args)?;
                    }
                }
                Ok(())
            }
            Terminator::Return { exit, exited, cond } if *exit >= FAULT_EXIT => {
                // A guest fault ends all; the lanes concerned are in `exited`.
                let _ = cond;
                let bits = self.guard_bits(*exited)?;
                let bits = self.e.uextend(I64, bits);
                let bits = self.e.ishl(bits, self.lane);
                self.e.store(bits, self.context, at::EXITED);
                let exit = self.e.imm(I64, u64::from(*exit));
                self.e.ret(exit);
                Ok(())
            }
            Terminator::Return { exit, exited, cond } => {
                for (mask, offset) in [(exited, at::EXITED), (cond, at::COND)] {
                    if let Some(mask) = *mask {
                        let bits = self.guard_bits(Some(mask))?;
                        let bits = self.e.uextend(I64, bits);
                        let bits = self.e.ishl(bits, self.lane);
                        let so_far = self.e.load(I64, self.context, offset);
                        let all = self.e.bor(so_far, bits);
                        self.e.store(all, self.context, offset);
                    }
                }
                // Chunks whose threads have all ended come out at 0; the others agree.
                let exit = if *exit == 0 { self.exit_so_far } else { self.e.imm(I64, u64::from(*exit)) };
                self.e.jump(self.next_chunk, &[exit]);
                Ok(())
            }
            _ => Err(Error::Malformed(format!("{b} does not end in mask form"))),
        }
    }

    /// Arguments of an edge in the forms of the target's parameters.
    fn edge_args(&mut self, call: &BlockCall) -> Result<Vec<V>, Error> {
        let params = &self.f.block(call.block).params;
        if params.len() != call.args.len() {
            return Err(Error::Malformed(format!("{} takes {} arguments", call.block, params.len())));
        }
        let mut list = Vec::new();
        for (&p, &a) in params.iter().zip(&call.args) {
            if self.forms.of(p) == Form::Varying {
                list.extend(self.parts(a)?.iter());
            } else {
                list.push(self.scalar(a)?);
            }
        }
        Ok(list)
    }

    fn is_back_edge(&self, from: Block, to: Block) -> bool {
        self.position[to.index()] <= self.position[from.index()]
    }

    /// Where a branch goes: the target, or a block of its own for a back edge (true).
    fn edge_block(&mut self, from: Block, to: Block) -> Result<(HostBlock, bool), Error> {
        if self.is_back_edge(from, to) {
            Ok((self.e.block(), true))
        } else {
            Ok((self.host_block(to)?, false))
        }
    }

    /// Jumps; back edges take fuel.
    fn go(&mut self, from: Block, to: Block, args: &[V]) -> Result<(), Error> {
        let target = self.host_block(to)?;
        if !self.is_back_edge(from, to) {
            self.e.jump(target, args);
            return Ok(());
        }
        let fuel = self.e.load(I64, self.context, at::FUEL);
        let fuel = self.e.iadd_imm(fuel, u64::MAX);
        self.e.store(fuel, self.context, at::FUEL);
        let spent = self.e.icmp_imm(HostIntCC::SignedLessThan, fuel, 0);
        let poll = self.e.cold_block();
        self.e.brif(spent, (poll, &[]), (target, args));
        self.e.switch_to(poll);
        let sig = match self.poll_sig {
            Some(sig) => sig,
            None => self.preserving_signature(&[I64]),
        };
        self.poll_sig = Some(sig);
        let callee = self.e.load(I64, self.context, at::POLL_PRESERVING);
        self.e.call(sig, callee, &[self.context]);
        let stop = self.e.load(I32, self.context, at::STOP);
        let stop_block = match self.stop_block {
            Some(b) => b,
            None => self.e.cold_block(),
        };
        self.stop_block = Some(stop_block);
        self.e.brif(stop, (stop_block, &[]), (target, args));
        Ok(())
    }

    /// The block that records a fault: pc, space, store, bytes, lane of the chunk, address.
    pub(super) fn fault_target(&mut self) -> HostBlock {
        if let Some(b) = self.fault_block {
            return b;
        }
        let b = self.e.cold_block();
        for ty in [I32, I32, I32, I32, I32, I64] {
            self.e.param(b, ty);
        }
        self.fault_block = Some(b);
        b
    }

    fn fault_code(&mut self) {
        let Some(b) = self.fault_block else { return };
        self.e.switch_to(b);
        let params = self.e.b.block_params(b).to_vec();
        let first = self.e.ireduce(I32, self.lane);
        let lane = self.e.iadd(params[4], first);
        let kind = self.e.imm(I32, FaultKind::Memory as u64);
        for (value, offset) in [
            (kind, at::FAULT_KIND),
            (params[0], at::FAULT_PC),
            (params[1], at::FAULT_SPACE),
            (params[2], at::FAULT_STORE),
            (params[3], at::FAULT_BYTES),
            (lane, at::FAULT_LANE),
            (params[5], at::FAULT_ADDRESS),
        ] {
            self.e.store(value, self.context, offset);
        }
        let code = self.e.imm(I64, FAULT);
        self.e.ret(code);
    }

    pub(super) fn control(&mut self, data: &InstData) -> Result<(), Error> {
        match (data.op, data.imm) {
            (Opcode::SlotGet, Imm::Slot(slot)) if slot.index() < self.slot_offsets.len() => {
                self.slot_get(data, slot.index())
            }
            (Opcode::SlotSet, Imm::Slot(slot)) if slot.index() < self.slot_offsets.len() => {
                self.slot_set(data, slot.index())
            }
            (Opcode::CallPure, Imm::Pure(pure)) => self.call_pure(data, pure),
            _ => Err(malformed(data)),
        }
    }

    /// Address of the chunk's first element of slots of that width, to which the slot's offset is added.
    fn frame_base(&mut self, scalar: Scalar) -> V {
        if !wide(scalar) {
            return self.frame_lane;
        }
        let more = self.e.shl(self.lane, 2);
        self.e.iadd(self.frame_lane, more)
    }

    fn slot_get(&mut self, data: &InstData, slot: usize) -> Result<(), Error> {
        let r = result(data)?;
        let ty = self.f.slots[slot].ty;
        let offset = self.slot_offsets[slot] as i32;
        if self.forms.of(r) != Form::Varying {
            let base = match (ty.uniform, self.forms.of(r)) {
                (true, _) => self.frame,
                // Where all lanes must be as said.
                (false, Form::Affine { packed: true, .. }) => self.frame_base(ty.scalar),
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
            if let Form::Affine { stride, packed: false } = self.forms.of(r) {
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
            let base = match self.uniform_base {
                Some(base) => base,
                None => {
                    let active = self.e.load(I64, self.context, at::ACTIVE);
                    let shifted = self.e.ushr(active, self.lane);
                    let later = self.e.shr(shifted, self.lanes() as u32);
                    let beside = self.e.iadd_imm(self.frame, 8);
                    self.e.select(later, beside, self.frame)
                }
            };
            if !self.aside {
                self.uniform_base = Some(base);
            }
            self.e.store(s, base, offset);
            return Ok(());
        }
        let masks = self.guard_parts(data.args.get(1).copied())?;
        let masks = if wide(ty.scalar) { self.widen_mask(&masks) } else { masks };
        let parts = self.parts(x)?;
        let base = self.frame_base(ty.scalar);
        let ones = data.args.get(1).is_some_and(|&m| self.f.as_const(m) == Some(1));
        for (g, (&p, &m)) in parts.iter().zip(masks.iter()).enumerate() {
            let at = offset + 16 * g as i32;
            let new = if ones {
                p
            } else {
                let old = self.e.load(vector(ty.scalar), base, at);
                self.e.sel(m, p, old)
            };
            self.e.store(new, base, at);
        }
        Ok(())
    }

    /// Calls a pure function once for the chunk's active lanes, operands and results in a buffer on the stack.
    fn call_pure(&mut self, data: &InstData, pure: &'static PureFn) -> Result<(), Error> {
        let r = result(data)?;
        if data.args.len() != pure.params.len() || data.args.len() > 4 {
            return Err(malformed(data));
        }
        let index = self.pures.iter().position(|p| std::ptr::eq(*p, pure)).unwrap_or_else(|| {
            self.pures.push(pure);
            self.pures.len() - 1
        });
        let slot = match self.call_buffer {
            Some(slot) => slot,
            None => self.stack_slot(5 * OPERAND_BYTES),
        };
        self.call_buffer = Some(slot);
        let buffer = self.e.stack_addr(slot);
        let once = self.is_uniform(r);
        for (k, &a) in data.args.iter().enumerate() {
            let offset = (k as u32 * OPERAND_BYTES) as i32;
            if once {
                let s = self.scalar(a)?;
                let s = self.truth_word(s);
                self.e.store(s, buffer, offset);
            } else {
                for (g, &p) in self.parts(a)?.iter().enumerate() {
                    self.e.store(p, buffer, offset + 16 * g as i32);
                }
            }
        }
        let sig = match self.pure_sig {
            Some(sig) => sig,
            None => self.signature(&[I64, I32, I32, I64], None),
        };
        self.pure_sig = Some(sig);
        let callee = self.e.load(I64, self.context, at::CALL_PURE);
        let table = self.e.load(I64, self.context, at::PURES);
        let index = self.e.imm(I32, index as u64);
        let lanes = if once { self.e.imm(I32, 1) } else { self.bits };
        self.e.call(sig, callee, &[table, index, lanes, buffer]);
        let out = 4 * OPERAND_BYTES as i32;
        if once {
            let ty = element(pure.result);
            let s = self.e.load(if ty == I8 { I32 } else { ty }, buffer, out);
            let s = if ty == I8 { self.e.icmp_imm(HostIntCC::NotEqual, s, 0) } else { s };
            self.define_scalar(r, s);
        } else {
            let parts: Rc<[V]> = (0..self.part_count(pure.result))
                .map(|g| self.e.load(vector(pure.result), buffer, out + 16 * g as i32))
                .collect();
            self.define(r, Kept::Parts(parts));
        }
        Ok(())
    }
}
