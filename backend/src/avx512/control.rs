//! Emits what is around the instructions of a region: the loop over the chunks of a warp, blocks and their terminators, edges with
//! arguments, the reads and writes of slots, and calls of functions in Rust. Order of blocks, fuel and exits are decided in
//! [`crate::flow`], for both code generators; here are the host's instructions for that ([`Flow`]).

use iced_x86::Code;
use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::function::{BlockCall, Terminator};
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Function, Inst, InstData, Opcode, PureFn, Value};

use super::asm::{A, Mem, R, Src, With};
use super::block_row::FromRow;
use super::code::{Flags, Size};
use super::emit::preg;
use super::int::TEST;
use super::lower::{Kept, Lower};
use super::scalar::by_condition;
use crate::affine::Form;
use crate::context::{FAULT, FaultKind, at};
use crate::error::Error;
use crate::flow::{BranchOperands, Flow, HostBlocks};
use crate::helpers::OPERAND_BYTES;
use crate::operands::{arg, number, result, wide};
use crate::options::{Options, Phase};

/// Operands and the result of a call of a pure function.
pub(super) const CALL_BYTES: u32 = 5 * OPERAND_BYTES;

const RAX: u8 = 0;
const RCX: u8 = 1;
const RDX: u8 = 2;
const RSI: u8 = 6;
const RDI: u8 = 7;

fn general(n: u8) -> regalloc2::PReg {
    preg(RegClass::Int, n)
}

impl Lower<'_> {
    fn ctx(&self, offset: i32) -> Mem {
        Mem::at(self.context, offset)
    }

    /// The whole function for a single warp.
    pub fn function(&mut self) -> Result<(), Error> {
        let params = self.a.entry(&[general(RDI), general(RSI)]);
        (self.context, self.frame) = (params[0], params[1]);
        let zero = self.a.imm(false, 0);
        self.a.store64g(self.ctx(at::EXITED), zero);
        self.a.store64g(self.ctx(at::COND), zero);
        if self.lanes() >= self.f.lanes as usize {
            self.a.store_imm32(self.ctx(at::CHUNK_LANE), 0);
        }
        let all = (!self.options.all_enter).then(|| self.a.load64g(self.ctx(at::ACTIVE)));
        self.chunks(all, None)
    }

    /// A phase of a kernel for rows of blocks.
    pub fn phase(&mut self, number: usize, phase: &Phase<'_>, last: bool) -> Result<(), Error> {
        let lanes = self.begin_phase(number, phase)?;
        self.last_phase = last;
        let warp_done = self.in_row.as_ref().map(|row| row.phase.warp_done);
        self.chunks(lanes, warp_done)
    }

    /// The region for each chunk with an active lane, `all` being the warp's, or none where all take part; then back, or to where a warp
    /// of a row is done.
    fn chunks(&mut self, all: Option<R>, warp_done: Option<HostBlock>) -> Result<(), Error> {
        let lanes = self.lanes();
        if lanes < self.f.lanes as usize {
            let (head, start, next, done) = (self.a.block(), self.a.block(), self.a.block(), self.a.block());
            let lane = self.a.param(head, RegClass::Int);
            let so_far = self.a.param(head, RegClass::Int);
            let exit = self.a.param(next, RegClass::Int);
            let last_exit = self.a.param(done, RegClass::Int);
            self.lane = Some(lane);
            self.exit_so_far = so_far;
            self.next_chunk = Some(next);
            let zero = self.a.imm(false, 0);
            self.a.jump(head, &[zero, zero]);

            self.a.switch_to(head);
            match all {
                Some(all) => {
                    let shifted = self.shift_right(all, lane);
                    self.bits = match lanes {
                        32 => self.a.low32(shifted),
                        _ => self.a.g2i(false, super::scalar::AND_IMM, shifted, (1 << lanes) - 1),
                    };
                    self.a.test(false, self.bits, self.bits);
                    self.a.branch(Flags::NotEqual, (start, &[]), (next, &[so_far]));
                }
                None => self.a.jump(start, &[]),
            }

            self.a.switch_to(next);
            if self.options.may_wait {
                let (rest, own) = (self.a.load32(self.ctx(at::SPLIT)), self.a.block());
                self.a.test(false, rest, rest);
                self.a.branch(Flags::NotEqual, (done, &[exit]), (own, &[]));
                self.a.switch_to(own);
            }
            let following = self.a.add_imm(false, lane, lanes as i64);
            self.a.cmp_imm(false, following, self.f.lanes as i32);
            self.a.branch(Flags::Below, (head, &[following, exit]), (done, &[exit]));
            self.a.switch_to(done);
            match warp_done {
                Some(warp_done) => self.a.jump(warp_done, &[last_exit]),
                None => self.a.ret(last_exit, general(RAX)),
            }

            self.a.switch_to(start);
            self.a.store32(self.ctx(at::CHUNK_LANE), lane);
            self.frame_lane = self.a.lea(true, Mem::indexed(self.frame, lane, 4, 0));
            self.frame_wide = self.a.lea(true, Mem::indexed(self.frame, lane, 8, 0));
        } else {
            self.exit_so_far = self.a.imm(false, 0);
            self.next_chunk = warp_done;
            self.bits = all.unwrap_or(self.exit_so_far);
            self.frame_lane = self.frame;
            self.frame_wide = self.frame;
        }
        self.active = match all {
            Some(_) => self.masks_of_bits(self.bits),
            None => {
                self.bits = self.a.imm(true, u64::MAX >> (64 - lanes));
                vec![self.a.k_const(true); self.groups].into()
            }
        };
        self.body()
    }

    /// Sets the flags by a condition, and says which of them tells.
    fn set_flags(&mut self, c: Value) -> Result<Flags, Error> {
        if self.is_fused_complement(c)
            && let Some(data) = self.f.def_inst(c)
        {
            // Some lack it: not all have it.
            let lanes = arg(data, 0)?;
            if matches!(self.kept(lanes)?, Kept::Bits(_)) {
                let bits = self.mask_bits(lanes)?;
                self.compare_full(bits);
                return Ok(Flags::NotEqual);
            }
            let masks = self.masks(lanes)?;
            let all = masks.iter().copied().reduce(|a, b| self.a.k3(Code::VEX_Kandw_kr_kr_kr, a, b));
            let all = all.ok_or_else(|| Error::Malformed("a chunk without lanes".into()))?;
            self.a.kortest(all, all);
            return Ok(Flags::AboveEqual);
        }
        if matches!(self.kept(c), Ok(Kept::Bits(_))) {
            let bits = self.mask_bits(c)?;
            self.a.test(true, bits, bits);
            return Ok(Flags::NotEqual);
        }
        if !self.is_one(c) {
            let masks = self.masks(c)?;
            self.test_any(&masks);
            return Ok(Flags::NotEqual);
        }
        if self.fused[c.index()]
            && let Some(data) = self.f.def_inst(c).filter(|data| data.op == Opcode::Icmp)
        {
            let cc = self.compare_general(data)?;
            return Ok(by_condition(cc).2);
        }
        let r = self.general(c)?;
        self.a.test(false, r, r);
        Ok(Flags::NotEqual)
    }

    /// Calls a function of the context that preserves every register.
    pub fn call_preserving(&mut self, offset: i32) {
        self.a.call(self.context, offset, &[(self.context, general(RDI))], false);
    }

    /// Calls an ordinary function of the context, where code mostly comes by: what is wanted behind it costs less than all registers.
    pub fn call_often(&mut self, offset: i32) {
        self.a.call(self.context, offset, &[(self.context, general(RDI))], true);
    }

    /// The chunk's first element of a slot.
    fn slot_place(&self, slot: usize) -> Mem {
        let base = if wide(self.f.slots[slot].ty.scalar) { self.frame_wide } else { self.frame_lane };
        Mem::at(base, self.slot_offsets[slot] as i32)
    }

    /// A slot that is the same in all lanes of a block of the row.
    fn row_slot_get(&mut self, r: Value, from: FromRow, count: usize) {
        let scalar = self.scalar_of(r);
        let (is_wide, float) = (wide(scalar), Self::is_float(scalar));
        let one = match from {
            FromRow::Register(one) => one,
            FromRow::Place(place) => self.load_same(is_wide, float, place),
        };
        let one = match scalar {
            Scalar::I1 => self.a.g2i(false, super::scalar::AND_IMM, one, 1),
            _ => one,
        };
        let all = vec![one; count].into();
        self.define(r, if float { Kept::Splat(all) } else { Kept::General(all) });
    }

    /// Whether only the first lane of each sixteen of a slot is stored where the current block leaves a phase
    /// ([`crate::Phase::by_firsts`]).
    fn is_by_firsts(&self, slot: usize) -> bool {
        let Some(row) = &self.in_row else { return false };
        match self.f.term(self.blocks.current) {
            Terminator::Return { exit, .. } => row.phase.is_by_firsts(*exit, slot),
            _ => false,
        }
    }

    fn store_firsts(&mut self, x: Value, slot: usize) -> Result<(), Error> {
        if self.forms.of(x) == Form::Varying || self.scalar_of(x) != Scalar::I32 {
            return Err(Error::Malformed(format!("{x} is more than its first lanes")));
        }
        let place = self.slot_place(slot);
        let firsts = self.each_group(self.groups, |l| l.general(x))?;
        for (group, &first) in firsts.iter().enumerate() {
            self.a.store32(place.plus(64 * group as i32), first);
        }
        Ok(())
    }

    fn uniform_slot_set(&mut self, x: Value, slot: usize) -> Result<(), Error> {
        let ty = self.f.slots[slot].ty;
        let mut s = self.general(x)?;
        if ty.scalar == Scalar::I1 {
            s = self.a.g1r(false, (Code::Neg_rm32, Code::Neg_rm64), s);
        }
        // Each chunk reads what was there before: only the last one writes. The others write beside it, where nobody looks.
        let base = match (self.known.uniform_base, self.lane) {
            (Some(base), _) => base,
            (None, None) => self.frame,
            (None, Some(lane)) => {
                let active = self.a.load64g(self.ctx(at::ACTIVE));
                let shifted = self.shift_right(active, lane);
                let later = self.a.shift(true, super::scalar::SHR, shifted, self.lanes() as u8);
                let beside = self.a.add_imm(true, self.frame, 8);
                self.a.test(true, later, later);
                self.a.pick_if(Code::Cmovne_r64_rm64, beside, self.frame)
            }
        };
        if !self.aside {
            self.known.uniform_base = Some(base);
        }
        let place = Mem::at(base, self.slot_offsets[slot] as i32);
        match wide(ty.scalar) {
            true => self.a.store64g(place, s),
            false => self.a.store32(place, s),
        }
        Ok(())
    }
}

impl<'a> Flow<'a> for Lower<'a> {
    type Reg = R;
    type HostBlock = HostBlock;
    type Condition = Flags;

    fn region(&self) -> (&'a Function, &'a Options) {
        (self.f, self.options)
    }

    fn host_blocks(&mut self) -> &mut HostBlocks<HostBlock> {
        &mut self.blocks
    }

    fn new_block(&mut self) -> HostBlock {
        self.a.block()
    }

    fn new_block_of(&mut self, b: Block) -> HostBlock {
        self.expect_walks(b);
        self.expect_indices(b);
        // Mostly all lanes take part.
        if self.some_lack[b.index()] { self.a.cold_block() } else { self.a.block() }
    }

    fn new_cold_block(&mut self) -> HostBlock {
        self.a.cold_block()
    }

    fn new_fault_block(&mut self) -> HostBlock {
        let b = self.a.cold_block();
        // The lane within its chunk, and the address.
        self.a.param(b, RegClass::Int);
        self.a.param(b, RegClass::Int);
        b
    }

    fn switch_to(&mut self, block: HostBlock) {
        self.a.switch_to(block);
    }

    fn jump(&mut self, to: HostBlock, args: &[R]) {
        self.a.jump(to, args);
    }

    fn branch(&mut self, condition: Flags, taken: (HostBlock, &[R]), next: (HostBlock, &[R])) {
        self.a.branch(condition, taken, next);
    }

    fn leave(&mut self, exit: u64) {
        let exit = self.a.imm(true, exit);
        self.a.ret(exit, general(RAX));
    }

    fn next_chunk(&mut self, exit: u64) {
        let exit = if exit == 0 { self.exit_so_far } else { self.a.imm(true, exit) };
        match self.next_chunk {
            Some(next) => self.a.jump(next, &[exit]),
            None => self.a.ret(exit, general(RAX)),
        }
    }

    fn take_fuel(&mut self) -> Flags {
        self.a.put(Code::Dec_rm64, &[A::Mem(self.ctx(at::FUEL))], With::default());
        Flags::Negative
    }

    fn poll(&mut self) -> Flags {
        self.call_preserving(at::POLL_WIDE);
        let stop = self.a.load32(self.ctx(at::STOP));
        self.a.test(false, stop, stop);
        Flags::NotEqual
    }

    fn end_loops(&mut self) -> Result<(), Error> {
        self.end_phase();
        if self.last_phase {
            self.end_row();
        }
        Ok(())
    }

    fn fault_code(&mut self) {
        let Some(b) = self.blocks.fault else { return };
        self.a.switch_to(b);
        let [lane, address] = self.a.blocks[b.index()].params[..] else { return };
        let lane = self.lane.map_or(lane, |first| self.a.add(false, lane, first));
        self.a.store_imm32(self.ctx(at::FAULT_KIND), FaultKind::Memory as i32);
        self.a.store32(self.ctx(at::FAULT_LANE), lane);
        self.a.store64g(self.ctx(at::FAULT_ADDRESS), address);
        self.leave(FAULT);
    }

    fn count(&mut self, mask: Value, guest_insts: u32) -> Result<(), Error> {
        let bits = self.guard_bits(Some(mask))?;
        let lanes = self.a.g1(Code::Popcnt_r64_rm64, bits, Size::Q, Size::Q);
        let insts = self.a.imm(true, u64::from(guest_insts));
        let more = self.a.g2(true, (Code::Imul_r32_rm32, Code::Imul_r64_rm64), lanes, insts);
        let so_far = self.a.load64g(self.ctx(at::THREAD_INSTS));
        let sum = self.a.add(true, so_far, more);
        self.a.store64g(self.ctx(at::THREAD_INSTS), sum);
        Ok(())
    }

    fn leave_lanes(&mut self, mask: Option<Value>, offset: i32, add: bool) -> Result<(), Error> {
        if add && self.in_row.as_ref().is_some_and(|row| !row.phase.exits.notes(offset)) {
            return Ok(());
        }
        let mut bits = self.guard_bits(mask)?;
        if let Some(lane) = self.lane {
            let d = self.a.gpr();
            let args = [A::Def(d, Size::Q), A::Use(bits, Size::Q), A::Use(lane, Size::Q)];
            self.a.put(Code::VEX_Shlx_r64_rm64_r64, &args, With::default());
            bits = d;
        }
        match add && self.lane.is_some() {
            true => self.a.put(
                Code::Or_rm64_r64,
                &[A::Mem(self.ctx(offset)), A::Use(bits, Size::Q)],
                With::default(),
            ),
            false => self.a.store64g(self.ctx(offset), bits),
        }
        Ok(())
    }

    /// Makes the parameters.
    fn declare_params(&mut self, b: Block, host: HostBlock) {
        for &p in &self.f.block(b).params {
            if self.single.is_led(p) {
                continue;
            }
            let scalar = self.scalar_of(p);
            let kept = if self.bit_masks[p.index()] {
                Kept::Bits(self.a.param(host, RegClass::Int))
            } else if self.forms.of(p) == Form::Varying {
                let class = Self::class_of(scalar);
                Kept::Parts((0..self.part_count(scalar)).map(|_| self.a.param(host, class)).collect())
            } else if Self::is_float(scalar) {
                Kept::Splat((0..self.scalars(p)).map(|_| self.a.param(host, RegClass::Float)).collect())
            } else {
                Kept::General((0..self.scalars(p)).map(|_| self.a.param(host, RegClass::Int)).collect())
            };
            self.set_param(p, kept);
        }
        self.declare_fuel(b, host);
    }

    fn start_block(&mut self, b: Block) -> Result<(), Error> {
        self.forget_block();
        self.leave_fuel(b);
        self.begin_walks(b)?;
        self.begin_indices(b)?;
        for &p in &self.f.block(b).params {
            let kept = self.kept(p)?;
            if matches!(kept, Kept::General(_)) {
                self.define(p, kept);
            }
        }
        Ok(())
    }

    fn insts_from(&mut self, b: Block, start: usize, _: Inst) -> Result<usize, Error> {
        let indexed = self.indexed.get(&b).map(|(indexed, _)| indexed.clone());
        if let Some(indexed) = indexed.filter(|indexed| indexed.range.start == start) {
            self.indexed_versions(b, &indexed)?;
            return Ok(indexed.range.end);
        }
        match self.row_stretch(b, start) {
            Some(range) => {
                let end = range.end;
                self.row_versions(b, range)?;
                Ok(end)
            }
            None => self.mads_or_inst(b, start, self.f.block(b).insts.len()),
        }
    }

    fn locate_terminator(&mut self, b: Block) {
        let data = self.f.block(b);
        self.a.pc = match &data.term {
            Some(Terminator::Return { .. }) => crate::NO_PC,
            _ if data.term_pc == 0 => self.a.pc,
            _ => data.term_pc,
        };
    }

    fn more_args(&mut self, to: Block, list: &mut Vec<R>) {
        self.pass_fuel(to, list);
    }

    fn own_way_back(&mut self, from: Block, to: Block, target: HostBlock, args: &[R]) -> bool {
        self.single_back(from, to, target, args)
    }

    fn edge_arg(&mut self, param: Value, arg: Value, list: &mut Vec<R>) -> Result<(), Error> {
        if self.single.is_led(param) {
            return Ok(());
        }
        let scalar = self.scalar_of(param);
        if self.bit_masks[param.index()] {
            list.push(self.mask_bits(arg)?);
        } else if self.forms.of(param) == Form::Varying {
            let parts = if scalar == Scalar::I1 { self.masks(arg)? } else { self.regs(arg)? };
            list.extend(parts.iter());
        } else if Self::is_float(scalar) {
            let step = if wide(scalar) { 2 } else { 1 };
            let parts = self.regs(arg)?;
            list.extend(parts.iter().step_by(step).take(self.scalars(param)));
        } else {
            let count = self.scalars(param);
            list.extend(self.each_group(count, |l| l.general(arg))?);
        }
        Ok(())
    }

    fn branch_operands(
        &mut self,
        condition: Value,
        taken: &BlockCall,
        next: &BlockCall,
    ) -> Result<BranchOperands<Flags, R>, Error> {
        let (taken, next) = (self.edge_args(taken)?, self.edge_args(next)?);
        // Last: nothing may change the flags before the branch.
        let condition = self.set_flags(condition)?;
        Ok(BranchOperands { condition, taken, next })
    }

    fn slot_get(&mut self, data: &InstData, slot: usize) -> Result<(), Error> {
        let r = result(data)?;
        let ty = self.f.slots[slot].ty;
        let is_wide = wide(ty.scalar);
        if self.forms.of(r) != Form::Varying {
            // All lanes of a group with an active one are as said, so the first one tells.
            let count = self.scalars(r);
            if let Some(from) = self.row_slot(slot) {
                self.row_slot_get(r, from, count);
                return Ok(());
            }
            let place = match ty.uniform {
                true => Mem::at(self.frame, self.slot_offsets[slot] as i32),
                false => self.slot_place(slot),
            };
            let step = 16 * ty.scalar.frame_bytes() as i32;
            if Self::is_float(ty.scalar) {
                let code = match is_wide {
                    true => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
                    false => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
                };
                let splats =
                    (0..count as i32).map(|g| self.a.vload(code, place.plus(step * g), With::default()));
                let splats = splats.collect();
                self.define(r, Kept::Splat(splats));
                return Ok(());
            }
            let scalars = (0..count as i32)
                .map(|g| {
                    let place = place.plus(step * g);
                    let s = if is_wide { self.a.load64g(place) } else { self.a.load32(place) };
                    match ty.scalar {
                        Scalar::I1 => self.a.g2i(false, super::scalar::AND_IMM, s, 1),
                        _ => s,
                    }
                })
                .collect();
            self.define(r, Kept::General(scalars));
            return Ok(());
        }
        let place = self.slot_place(slot);
        let parts = (0..self.part_count(ty.scalar))
            .map(|g| {
                let v = self.a.load64(place.plus(64 * g as i32));
                if ty.scalar == Scalar::I1 { self.a.vtest(TEST[0], v, Src::R(v)) } else { v }
            })
            .collect();
        self.define_parts(r, parts);
        Ok(())
    }

    fn slot_set(&mut self, data: &InstData, slot: usize) -> Result<(), Error> {
        let x = arg(data, 0)?;
        let ty = self.f.slots[slot].ty;
        let is_wide = wide(ty.scalar);
        if ty.uniform {
            return self.uniform_slot_set(x, slot);
        }
        if self.is_by_firsts(slot) {
            return self.store_firsts(x, slot);
        }
        let guard = data.args.get(1).copied();
        // In code for rows the lanes that enter are those that have threads, from first to last: what others hold matters to nobody.
        let is_free = self.in_row.as_ref().is_some_and(|row| !row.row.keeps_lanes) && self.is_entry(guard);
        let ones = is_free || guard.is_some_and(|m| self.f.as_const(m) == Some(1));
        let masks = if ones { None } else { Some(self.guard(guard)?) };
        let masks = match masks {
            Some(m) if is_wide => Some(self.widen(&m)),
            Some(m) => Some(m.to_vec()),
            None => None,
        };
        let parts: Vec<R> = if ty.scalar == Scalar::I1 {
            let k = self.masks(x)?;
            k.iter().map(|&k| self.lanes_of_mask(Code::EVEX_Vpmovm2d_zmm_kr, k)).collect()
        } else {
            self.regs(x)?.to_vec()
        };
        let place = self.slot_place(slot);
        let code = match is_wide {
            true => Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm,
            false => Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm,
        };
        for (g, &p) in parts.iter().enumerate() {
            let place = place.plus(64 * g as i32);
            // What is stored under a mask cannot be forwarded to the next region's load, and loads under a mask wait for all stores
            // before (Zen 5): other lanes are stored as they were.
            let p = match &masks {
                Some(m) => {
                    let old = self.a.load64(place);
                    self.blend(is_wide, m[g], Src::R(p), old)
                }
                None => p,
            };
            self.a.vstore(code, place, p, Size::Z, With::default());
        }
        Ok(())
    }

    /// Calls a pure function for sixteen lanes at a time, operands and results in a buffer on the stack.
    fn call_pure(&mut self, data: &InstData, pure: &'static PureFn) -> Result<(), Error> {
        if pure.special.is_some() {
            return self.pure(data);
        }
        let r = result(data)?;
        let index = number(&mut self.pures, pure);
        self.buffer_bytes = self.buffer_bytes.max(CALL_BYTES);
        let once = self.is_one(r);
        let groups = if once { 1 } else { self.groups };
        let out = 4 * OPERAND_BYTES as i32;
        let mut parts = Vec::new();
        // Operands first: nothing of them is in registers behind a call.
        let mut operands: Vec<Vec<R>> = Vec::new();
        for &a in &data.args {
            let scalar = self.scalar_of(a);
            operands.push(match (once, scalar) {
                (true, _) => vec![self.general(a)?],
                (false, Scalar::I1) => {
                    let masks = self.masks(a)?;
                    masks.iter().map(|&k| self.lanes_of_mask(Code::EVEX_Vpmovm2d_zmm_kr, k)).collect()
                }
                _ => self.regs(a)?.to_vec(),
            });
        }
        for g in 0..groups {
            for (k, (&a, parts)) in data.args.iter().zip(&operands).enumerate() {
                let place = Mem::stack((k as u32 * OPERAND_BYTES) as i32);
                let is_wide = wide(self.scalar_of(a));
                match (once, is_wide) {
                    (true, true) => self.a.store64g(place, parts[0]),
                    (true, false) => self.a.store32(place, parts[0]),
                    (false, true) => {
                        self.a.store64(place, parts[2 * g]);
                        self.a.store64(place.plus(64), parts[2 * g + 1]);
                    }
                    (false, false) => self.a.store64(place, parts[g]),
                }
            }
            let lanes = match (once, g) {
                (true, _) => self.a.imm(false, 1),
                (false, 0) if self.groups == 1 => self.bits,
                _ => self.bits_of_group(self.bits, g),
            };
            let table = self.a.load64g(self.ctx(at::PURES));
            let number = self.a.imm(false, index as u64);
            let buffer = self.a.lea(true, Mem::stack(0));
            let args = [
                (table, general(RDI)),
                (number, general(RSI)),
                (lanes, general(RDX)),
                (buffer, general(RCX)),
            ];
            self.a.call(self.context, at::CALL_PURE, &args, true);
            if once {
                continue;
            }
            let vectors = if wide(pure.result) { 2 } else { 1 };
            for n in 0..vectors {
                let v = self.a.load64(Mem::stack(out + 64 * n));
                parts.push(if pure.result == Scalar::I1 { self.a.vtest(TEST[0], v, Src::R(v)) } else { v });
            }
        }
        if once {
            let place = Mem::stack(out);
            let s = if wide(pure.result) { self.a.load64g(place) } else { self.a.load32(place) };
            let s = match pure.result {
                Scalar::I1 => self.a.g2i(false, super::scalar::AND_IMM, s, 1),
                _ => s,
            };
            self.define_general(r, vec![s]);
        } else {
            self.define_vectors(r, parts);
        }
        Ok(())
    }
}
