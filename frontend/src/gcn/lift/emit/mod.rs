//! Emits the IR of a program, block by block: caches slots, splits blocks, reads and writes registers.
//!
//! # How a topic file uses it
//!
//! A topic file has a function `inst(e: &mut Emit<'_>, inst: &Inst) -> bool`, which gives false for what it does not know. It works in
//! three steps:
//!
//! - It reads operands ([`operand`](self::operand)): `src32`, `src64`, `src16`, `src_f32`, `src_f64`, `src_f16`, `src_words`,
//!   `mask_src`.
//! - It computes with `e.b`.
//! - It writes results ([`result`](self::result)): `set_dst32`, `set_dst64`, `set_dst16`, `set_dst_words`, `finish_f32`,
//!   `finish_f64`, `finish_f16`, `set_mask_result`, `set_scalar`, `set_scc`.
//!
//! None of these functions ends the block. Work that needs other lanes (the scalar view of a mask, a DPP source) is done before
//! the topic file gets the instruction.
//!
//! Cross-lane operations, atomics and `clock` are in blocks of their own: [`Emit::cross`]. A value computed before such a block
//! must not be used after it, unless it is passed through [`Emit::cross`].
//!
//! The value of an operand is uniform (scalar registers, constants) or varying (vector registers). The builder's operations take
//! any mixture.

pub(super) mod access;
pub(super) mod index;
mod int;
pub(super) mod logic;
pub(super) mod modes;
pub(super) mod operand;
pub(super) mod result;
mod stage;

use std::collections::BTreeSet;

use warpjit_ir::lane_counts::LaneCount;
use warpjit_ir::{Block, Builtin, Slot, Terminator, Type, Value};

use super::analysis::stage::StageMemory;
use super::analysis::statics::Statics;
use super::analysis::view::{HI, LANE, LO, View, Views};
use super::options::Options;
use crate::code::Code;
use crate::emission::Emission;
use crate::gcn::Generation;
use crate::gcn::lift::slots::{EXEC, M0, Slots};

/// What DPP does with the instruction being emitted.
#[derive(Clone, Copy)]
pub(in crate::gcn::lift) struct DppState {
    /// Holds the first source, moved.
    pub(in crate::gcn::lift) source: Slot,
    /// Holds the mask of lanes that are written.
    pub(in crate::gcn::lift) written: Slot,
}

/// Emits into one block after the other.
pub(in crate::gcn::lift) type Emit<'f> = Emission<'f, Own<'f>>;

/// What GCN's lifter knows of the program and of where it is.
pub(in crate::gcn::lift) struct Own<'f> {
    /// The program's code.
    pub(in crate::gcn::lift) code: &'f Code<'f>,
    /// What is known of the program.
    pub(in crate::gcn::lift) options: &'f Options<'f>,
    /// The generation of the code.
    pub(in crate::gcn::lift) generation: Generation,
    /// What is known statically before the current instruction: MODE and register indexing.
    pub(in crate::gcn::lift) statics: Statics,
    /// Whether anything reads the SCC that the current instruction leaves.
    pub(in crate::gcn::lift) scc_live: bool,
    /// Whether the current instruction works on lane views (of those that can do either).
    pub(in crate::gcn::lift) in_lanes: bool,
    /// What is read behind the current instruction.
    pub(in crate::gcn::lift) live_after: Views,
    /// Which views of scalar pairs hold now.
    pub(in crate::gcn::lift) views: Views,
    /// Whether the program has scratch instructions, as those of 1.4 that know no buffer for it.
    pub(in crate::gcn::lift) scratch_instructions: bool,
    /// Addresses of image instructions that may come behind a store.
    pub(in crate::gcn::lift) behind_stores: BTreeSet<u32>,
    /// Inputs and outputs, of a graphics stage.
    pub(in crate::gcn::lift) stage_memory: Option<&'f StageMemory>,
    /// DPP of the current instruction.
    pub(in crate::gcn::lift) dpp: Option<DppState>,
    /// What VCCZ and EXECZ are for the current instruction, if it reads them.
    pub(in crate::gcn::lift) zero_flags: [Option<Slot>; 2],
    pub(in crate::gcn::lift) slots: &'f mut Slots,
    /// Vector instructions of the current block since EXEC was set, not noted yet, and EXEC as this block has it, if it has read or set it
    /// before them.
    for_lanes: (Vec<u32>, Option<Value>),
}

impl<'f> Own<'f> {
    pub(in crate::gcn::lift) fn new(
        slots: &'f mut Slots,
        code: &'f Code<'f>,
        options: &'f Options<'f>,
    ) -> Self {
        Own {
            code,
            options,
            generation: options.chip.generation(),
            statics: Statics::entry(options),
            scc_live: true,
            in_lanes: false,
            live_after: Views::all_scalar(),
            views: Views::all_scalar(),
            scratch_instructions: true,
            behind_stores: BTreeSet::new(),
            stage_memory: None,
            dpp: None,
            zero_flags: [None; 2],
            slots,
            for_lanes: (Vec::new(), None),
        }
    }
}

impl Emit<'_> {
    // Blocks.

    /// Ends the block, and notes its instructions for lanes.
    pub(in crate::gcn::lift) fn end_block(&mut self, term: Terminator) {
        self.note_lanes();
        self.terminate(term);
    }

    /// Ends the block with a terminator that names a new block, and goes on in that one. No value made before may
    /// be used behind.
    pub(in crate::gcn::lift) fn split(&mut self, term: impl FnOnce(Block) -> Terminator) {
        let pc = self.b.pc;
        let next = self.b.func.add_block(pc);
        self.end_block(term(next));
        self.start(next);
    }

    /// Runs `body` in a block of its own, as operations need it that look at other lanes or have an order between
    /// lanes. `args` go through slots and reach `body` as new values; so do the values that `body` gives, which are
    /// returned. Of all values made before, only those are of use behind this that were passed and returned.
    pub(in crate::gcn::lift) fn cross(
        &mut self,
        args: &[Value],
        body: impl FnOnce(&mut Self, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let kept: Vec<Slot> = args.iter().enumerate().map(|(n, &arg)| self.keep(arg, n)).collect();
        if !self.is_empty() || self.is_dirty() {
            self.split(|next| Terminator::Jump(next.into()));
        }
        let args: Vec<Value> = kept.into_iter().map(|slot| self.get(slot)).collect();
        let results = body(self, &args);
        // Numbers apart from those of the arguments, which may still be in use.
        let kept: Vec<Slot> =
            results.iter().enumerate().map(|(n, &value)| self.keep(value, 16 + n)).collect();
        self.split(|next| Terminator::Jump(next.into()));
        kept.into_iter().map(|slot| self.get(slot)).collect()
    }

    /// [`Emit::cross`] with one result.
    pub(in crate::gcn::lift) fn cross1(
        &mut self,
        args: &[Value],
        body: impl FnOnce(&mut Self, &[Value]) -> Value,
    ) -> Value {
        let results = self.cross(args, |e, args| vec![body(e, args)]);
        results[0]
    }

    /// Whether `mask` holds in any lane, uniform. Values made before are lost.
    pub(in crate::gcn::lift) fn vote_any(&mut self, mask: Value) -> Value {
        self.cross1(&[mask], |e, args| e.b.vote_any(args[0]))
    }

    /// A bit for each lane where `mask` holds, uniform i64. Values made before are lost.
    pub(in crate::gcn::lift) fn ballot(&mut self, mask: Value) -> Value {
        self.cross1(&[mask], |e, args| e.b.ballot(args[0]))
    }

    // Slots.

    /// Gives a slot a new value, in all lanes.
    pub(in crate::gcn::lift) fn put(&mut self, slot: Slot, value: Value) {
        if slot == self.own.slots.mask(self.b.func, EXEC) {
            self.note_lanes();
        }
        let uniform = self.b.func.slots[slot.index()].ty.uniform;
        let value = if uniform { value } else { self.b.splat(value) };
        self.replace(slot, value);
    }

    /// A slot that holds `value` for the next block: a register that happens to, or the given temporary.
    pub(in crate::gcn::lift) fn keep(&mut self, value: Value, number: usize) -> Slot {
        if let Some(slot) = self.holder(value) {
            return slot;
        }
        let ty = self.b.func.ty(value);
        let slot = self.temp(ty, number);
        self.put(slot, value);
        slot
    }

    /// A slot that carries a value of type `ty` from one block to the next one. Numbers below 32 are taken.
    pub(in crate::gcn::lift) fn temp(&mut self, ty: Type, number: usize) -> Slot {
        self.own.slots.temp(self.b.func, ty, number)
    }

    /// A launch value.
    pub(in crate::gcn::lift) fn builtin(&mut self, builtin: Builtin) -> Value {
        let slot = self.own.slots.builtin(self.b.func, builtin);
        self.get(slot)
    }

    /// The number of the lane, varying.
    pub(in crate::gcn::lift) fn lane_id(&mut self) -> Value {
        self.builtin(Builtin::LaneId)
    }

    // Lanes that instructions are for.

    /// Notes that the current instruction is a vector instruction, for the lanes that EXEC has now.
    pub(in crate::gcn::lift) fn count_lanes(&mut self) {
        if self.own.for_lanes.0.is_empty() {
            let exec = self.own.slots.mask(self.b.func, EXEC);
            self.own.for_lanes.1 = self.value_in(exec);
        }
        self.own.for_lanes.0.push(self.b.pc);
    }

    /// Takes that back.
    pub(in crate::gcn::lift) fn uncount_lanes(&mut self) {
        let pc = self.b.pc;
        self.own.for_lanes.0.pop_if(|last| *last == pc);
    }

    /// Behind these vector instructions EXEC changes, or something else ends them.
    pub(in crate::gcn::lift) fn note_lanes(&mut self) {
        let (pcs, lanes) = (std::mem::take(&mut self.own.for_lanes.0), self.own.for_lanes.1.take());
        if !pcs.is_empty() {
            let block = self.b.block;
            let data = self.b.func.block_mut(block);
            data.lane_counts.0.push(LaneCount { at: data.insts.len(), lanes, pcs });
        }
    }

    /// Puts the notes of the current block aside while another one is emitted.
    pub(in crate::gcn::lift) fn take_lanes(&mut self) -> (Vec<u32>, Option<Value>) {
        std::mem::take(&mut self.own.for_lanes)
    }

    /// Goes on with those.
    pub(in crate::gcn::lift) fn give_lanes(&mut self, lanes: (Vec<u32>, Option<Value>)) {
        self.own.for_lanes = lanes;
    }

    // Vector registers.

    /// A vector register.
    pub(in crate::gcn::lift) fn vgpr(&mut self, number: u32) -> Value {
        let number = if number < self.own.options.vgprs.min(256) { number as u8 } else { 0 };
        let slot = self.own.slots.vgpr(self.b.func, number);
        self.get(slot)
    }

    /// Writes a vector register in the lanes of `mask`; of no use where the program does not have it.
    pub(in crate::gcn::lift) fn set_vgpr_where(&mut self, mask: Value, number: u32, value: Value) {
        if number >= self.own.options.vgprs.min(256) {
            return;
        }
        let slot = self.own.slots.vgpr(self.b.func, number as u8);
        let old = self.get(slot);
        let value = self.blend(mask, value, old);
        self.put(slot, value);
    }

    /// Writes a vector register in the active lanes.
    pub(in crate::gcn::lift) fn set_vgpr(&mut self, number: u32, value: Value) {
        let mask = self.write_mask();
        self.set_vgpr_where(mask, number, value);
    }

    // EXEC, SCC, M0, MODE.

    /// EXEC as a mask: the guard of loads, stores and atomics.
    pub(in crate::gcn::lift) fn exec(&mut self) -> Value {
        let slot = self.own.slots.mask(self.b.func, EXEC);
        self.get(slot)
    }

    /// Sets EXEC.
    pub(in crate::gcn::lift) fn set_exec(&mut self, mask: Value) {
        self.set_lanes(EXEC, mask);
    }

    /// The lanes that a vector instruction writes: EXEC and, with DPP, those that DPP lets be written.
    pub(in crate::gcn::lift) fn write_mask(&mut self) -> Value {
        let exec = self.exec();
        match self.own.dpp {
            None => exec,
            Some(dpp) => {
                let written = self.get(dpp.written);
                self.b.iand(exec, written)
            }
        }
    }

    /// SCC, a uniform truth value.
    pub(in crate::gcn::lift) fn scc(&mut self) -> Value {
        let slot = self.own.slots.scc(self.b.func);
        self.get(slot)
    }

    /// Sets SCC from a uniform truth value.
    pub(in crate::gcn::lift) fn set_scc(&mut self, value: Value) {
        if self.own.scc_live {
            let slot = self.own.slots.scc(self.b.func);
            self.put(slot, value);
        }
    }

    /// Sets SCC to whether any bit of a scalar result is set.
    pub(in crate::gcn::lift) fn set_scc_nonzero(&mut self, value: Value) {
        if self.own.scc_live {
            let zero = self.b.constant(self.b.func.ty(value).scalar, 0);
            let scc = self.b.icmp(warpjit_ir::IntCC::Ne, value, zero);
            self.set_scc(scc);
        }
    }

    /// M0, uniform.
    pub(in crate::gcn::lift) fn m0(&mut self) -> Value {
        self.scalar(M0)
    }

    /// The whole MODE register, uniform i32: what pure functions get where [`Emit::mode`] is not known.
    pub(in crate::gcn::lift) fn mode_bits(&mut self) -> Value {
        let slot = self.own.slots.mode(self.b.func);
        self.get(slot)
    }

    /// Sets MODE.
    pub(in crate::gcn::lift) fn set_mode_bits(&mut self, value: Value) {
        let slot = self.own.slots.mode(self.b.func);
        self.put(slot, value);
    }

    // Scalar registers and their two views.

    /// A scalar register, uniform i32, by [`Operand::scalar_code`](crate::gcn::Operand::scalar_code).
    pub(in crate::gcn::lift) fn scalar(&mut self, code: u8) -> Value {
        self.need_scalar(code);
        let slot = self.own.slots.scalar(self.b.func, code);
        self.get(slot)
    }

    /// Two scalar registers, uniform i64; the low bit of the number does not count.
    pub(in crate::gcn::lift) fn scalar64(&mut self, code: u8) -> Value {
        let (low, high) = (self.scalar(code & !1), self.scalar(code | 1));
        self.wide(low, high)
    }

    /// Writes a scalar register; `value` is uniform.
    pub(in crate::gcn::lift) fn set_scalar(&mut self, code: u8, value: Value) {
        let half = if code & 1 == 0 { LO } else { HI };
        let view = self.own.views.get(code);
        // The other half lives on in the lane view only: it has to be taken from there.
        let other = (LO | HI) & !half;
        if view & LANE != 0
            && view & other == 0
            && (self.own.live_after.get(code) & (other | LANE) != 0 || code & !1 == EXEC)
        {
            let kept = self.keep(value, 8);
            self.need_scalar(code ^ 1);
            let value = self.get(kept);
            return self.set_scalar(code, value);
        }
        let slot = self.own.slots.scalar(self.b.func, code);
        self.put(slot, value);
        let view = (self.own.views.get(code) & !LANE) | half;
        self.own.views.set(code, view);
        if code & !1 == EXEC {
            self.lanes(EXEC);
        }
    }

    /// Writes two scalar registers; `value` is a uniform i64.
    pub(in crate::gcn::lift) fn set_scalar64(&mut self, code: u8, value: Value) {
        let (low, high) = (self.low(value), self.high(value));
        self.set_scalar_pair(code, low, high);
    }

    /// Writes two scalar registers.
    pub(in crate::gcn::lift) fn set_scalar_pair(&mut self, code: u8, low: Value, high: Value) {
        let code = code & !1;
        for (code, value) in [(code, low), (code | 1, high)] {
            let slot = self.own.slots.scalar(self.b.func, code);
            self.put(slot, value);
        }
        self.own.views.set(code, LO | HI);
        if code == EXEC {
            self.lanes(EXEC);
        }
    }

    /// A pair as a mask.
    pub(in crate::gcn::lift) fn lanes(&mut self, code: u8) -> Value {
        let code = code & !1;
        let slot = self.own.slots.mask(self.b.func, code);
        if self.own.views.get(code) & LANE == 0 {
            let bits = self.scalar64(code);
            let mask = self.b.lane_bit(bits);
            self.put(slot, mask);
            self.own.views.set(code, self.own.views.get(code) | LANE);
        }
        self.get(slot)
    }

    /// Writes a pair as a mask. Emits nothing if the pair is not read afterwards.
    pub(in crate::gcn::lift) fn set_lanes(&mut self, code: u8, mask: Value) {
        if self.own.live_after.get(code) == 0 && code & !1 != EXEC {
            return self.own.views.set(code, 0);
        }
        let slot = self.own.slots.mask(self.b.func, code & !1);
        self.put(slot, mask);
        self.own.views.set(code, LANE);
    }

    /// Makes the scalar view of a register hold. Where only the lane view does, that is a cross-lane operation,
    /// and values made before are lost; the lifter does it before a topic file sees the instruction.
    pub(in crate::gcn::lift) fn need_scalar(&mut self, code: u8) {
        let half = if code & 1 == 0 { LO } else { HI };
        let view: View = self.own.views.get(code);
        if view & half != 0 || view & LANE == 0 {
            return;
        }
        let code = code & !1;
        let slot = self.own.slots.mask(self.b.func, code);
        let mask = self.get(slot);
        let bits = self.ballot(mask);
        let halves = [self.low(bits), self.high(bits)];
        for (n, value) in halves.into_iter().enumerate() {
            let slot = self.own.slots.scalar(self.b.func, code + n as u8);
            self.put(slot, value);
        }
        self.own.views.set(code, LO | HI | LANE);
    }

    // Small things.

    /// `value + constant`.
    pub(in crate::gcn::lift) fn add_const(&mut self, value: Value, constant: u32) -> Value {
        let constant = self.b.i32(constant);
        self.b.iadd(value, constant)
    }

    /// The low `bits` bits of an i32, extended by their sign or by zero.
    pub(in crate::gcn::lift) fn extend(&mut self, value: Value, bits: u32, signed: bool) -> Value {
        match (bits, signed) {
            (32.., _) => value,
            (_, false) => self.and_const(value, (1 << bits) - 1),
            (_, true) => {
                let value = self.shl_const(value, 32 - bits);
                self.sshr_const(value, 32 - bits)
            }
        }
    }
}
