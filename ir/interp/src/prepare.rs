//! Makes the interpreter's code of a function ([`Code::new`](super::Code::new)).

use std::collections::{HashMap, HashSet};

use super::code::{Access, BlockCode, Code, EdgeCopies, InvalidCode, Kind, LanesCounted, Op, SlotLayout};
use super::stats::Stats;
use warpjit_ir_core::entities::{Block, Inst, Slot, Value};
use warpjit_ir_core::eval;
use warpjit_ir_core::exit::terminator_cond;
use warpjit_ir_core::function::{Begun, BlockCall, Function, Imm, InstData, SlotInit, Terminator, ValueDef};
use warpjit_ir_core::opcodes::{Group, MemAccess, Opcode};
use warpjit_ir_core::types::Scalar;

impl Code {
    /// Prepares a function.
    pub fn new(func: &Function) -> Result<Code, InvalidCode> {
        let (offsets, frame_bytes) = func.frame_layout();
        let slots = func.slots.iter().zip(&offsets).map(|(slot, &offset)| {
            let layout = SlotLayout { word: offset / 4, scalar: slot.ty.scalar, uniform: slot.ty.uniform };
            (layout, slot.init)
        });
        let mut prepare = Prepare {
            func,
            lanes: func.lanes,
            slots: slots.collect(),
            constants: HashMap::new(),
            order: vec![0],
            cross: find_cross(func),
            tallies: HashMap::new(),
            counted: func.blocks.iter().flat_map(|block| &block.counted.0).copied().collect(),
        };
        prepare.collect_constants();
        for data in func.blocks.iter().flat_map(|block| &block.insts).map(|&inst| func.inst(inst)) {
            prepare.tallies.entry(data.pc).or_default().add(data);
        }
        let mut blocks = Vec::with_capacity(func.blocks.len());
        let mut scratch_lines = prepare.order.len();
        let mut offsets = ValueOffsets { of: vec![(0, 0); func.values.len()] };
        for block in func.block_ids() {
            let (code, lines) = prepare.block(block, &mut offsets)?;
            scratch_lines = scratch_lines.max(lines);
            blocks.push(code);
        }
        let joins_at_target =
            blocks.iter().any(|b| matches!(b.term, Terminator::Join { at_target: true, .. }));
        Ok(Code {
            lanes: func.lanes as usize,
            form: func.form,
            blocks,
            block_at: func.block_at.clone(),
            joins_at_target,
            has_lane_register: func.lane_mask.is_some(),
            constants: prepare.order,
            scratch_lines,
            entry: func.entry,
            slots: prepare.slots,
            frame_bytes: frame_bytes as usize,
            line_bytes: size_of::<u32>(),
            cross_lines: prepare.cross.count as usize,
        })
    }
}

/// The row of each value; most have none.
#[derive(Clone, Debug)]
struct Lines {
    of: Vec<u32>,
    count: u32,
}

impl Lines {
    const NONE: u32 = u32::MAX;

    fn get(&self, value: Value) -> Option<u32> {
        self.of.get(value.index()).copied().filter(|&line| line != Self::NONE)
    }
}

/// Assigns rows in the warp to block parameters and to values used outside their block, except constants.
fn find_cross(func: &Function) -> Lines {
    let mut lines = Lines { of: vec![Lines::NONE; func.values.len()], count: 0 };
    let mut add = |value: Value| {
        if let Some(line @ &mut Lines::NONE) = lines.of.get_mut(value.index()) {
            *line = lines.count;
            lines.count += 1;
        }
    };
    // For each instruction: one plus the block in which it was last seen.
    let mut home = vec![0; func.insts.len()];
    for block in func.block_ids() {
        let data = func.block(block);
        let here = block.index() + 1;
        data.params.iter().copied().for_each(&mut add);
        for inst in &data.insts {
            home[inst.index()] = here;
        }
        let mut outside = |value: Value| match func.values[value.index()].def {
            ValueDef::Inst(inst) if home[inst.index()] == here || func.inst(inst).op == Opcode::Const => {}
            _ => add(value),
        };
        for &inst in &data.insts {
            func.inst(inst).args.iter().copied().for_each(&mut outside);
        }
        if let Some(term) = &data.term {
            term.for_each_use(&mut outside);
        }
    }
    lines
}

struct Prepare<'a> {
    func: &'a Function,
    lanes: u32,
    slots: Vec<(SlotLayout, SlotInit)>,
    /// The row of each constant, by its bits; `order` has the bits of each row. Row 0 is zero and stands for absent
    /// operands.
    constants: HashMap<u64, u32>,
    order: Vec<u64>,
    cross: Lines,
    /// The kinds of operations of each guest instruction, by address. They may be in several blocks.
    tallies: HashMap<u32, Tally>,
    /// Addresses of the guest instructions that any block counts.
    counted: HashSet<u32>,
}

/// Where values are in the block being translated.
#[derive(Default)]
struct ValueOffsets {
    /// For each value: one plus the block in which it is known, and its offset.
    of: Vec<(u32, u32)>,
}

impl ValueOffsets {
    fn get(&self, block: Block, value: Value) -> Option<u32> {
        self.of
            .get(value.index())
            .filter(|(known, _)| *known == block.index() as u32 + 1)
            .map(|found| found.1)
    }

    fn insert(&mut self, block: Block, value: Value, offset: u32) {
        if let Some(entry) = self.of.get_mut(value.index()) {
            *entry = (block.index() as u32 + 1, offset);
        }
    }
}

/// The kinds of operations of one guest instruction, for statistics.
#[derive(Clone, Copy, Default)]
struct Tally {
    /// Rank and group of the most characteristic operation.
    most: Option<(u8, Group)>,
    sets_slot: bool,
}

impl Tally {
    fn add(&mut self, inst: &InstData) {
        let (rank, group) = match (inst.op, &inst.imm) {
            (Opcode::Const | Opcode::SlotGet | Opcode::Splat | Opcode::Bitcast | Opcode::ChunkSpread, _) => {
                return;
            }
            (Opcode::SlotSet, _) => {
                self.sets_slot = true;
                return;
            }
            // Bookkeeping of guards and flags.
            (Opcode::Select | Opcode::ActiveMask | Opcode::Any, _) => (1, Group::Mask),
            (Opcode::Zext | Opcode::Sext | Opcode::Trunc | Opcode::Bmask, _) => (2, Group::Int),
            (Opcode::CallPure, Imm::Pure(callee)) => {
                let float = callee.result.is_float() || callee.params.iter().any(|p| p.is_float());
                if float { (3, Group::Float) } else { (2, Group::Int) }
            }
            (op, _) => match op.group() {
                Group::Int => (2, Group::Int),
                Group::Float => (3, Group::Float),
                Group::Convert => (4, Group::Convert),
                group => (5, group),
            },
        };
        if self.most.is_none_or(|(before, _)| rank > before) {
            self.most = Some((rank, group));
        }
    }

    /// The instruction's group; `in_control`: the block's terminator is the same instruction.
    fn group(&self, in_control: bool) -> Group {
        match self.most {
            // Operations of a branch compute its condition, so it counts as control. (An exit may be part of an
            // instruction with a result.)
            Some((0..=2, _)) if in_control && !self.sets_slot => Group::Control,
            Some((_, group)) => group,
            None if self.sets_slot => Group::Int,
            None => Group::Control,
        }
    }
}

/// A block while it is translated.
struct Draft {
    block: Block,
    ops: Vec<Op>,
    offsets: ValueOffsets,
    next_line: u32,
    step: u32,
    pc: u32,
    lane_counts: Vec<LanesCounted>,
}

impl Prepare<'_> {
    fn collect_constants(&mut self) {
        self.constants.insert(0, 0);
        for inst in self.func.blocks.iter().flat_map(|b| &b.insts) {
            if let InstData { op: Opcode::Const, imm: Imm::Bits(bits), .. } = self.func.inst(*inst) {
                self.constants.entry(*bits).or_insert_with(|| {
                    self.order.push(*bits);
                    self.order.len() as u32 - 1
                });
            }
        }
    }

    /// The offset of `value` for a use in `draft`'s block.
    fn offset_of(&self, draft: &mut Draft, value: Value) -> Result<u32, InvalidCode> {
        if let Some(offset) = draft.offsets.get(draft.block, value) {
            return Ok(offset);
        }
        let offset = match self.func.as_const(value) {
            Some(bits) => self.constants.get(&bits).map(|line| line * self.lanes),
            None => self.cross.get(value).map(|line| draft.emit(self.lanes, Kind::CrossGet(line), [0; 4])),
        };
        let offset = offset.ok_or(InvalidCode::Undefined { value, block: draft.block })?;
        draft.offsets.insert(draft.block, value, offset);
        Ok(offset)
    }

    fn block(&self, block: Block, offsets: &mut ValueOffsets) -> Result<(BlockCode, usize), InvalidCode> {
        let func = self.func;
        let data = func.block(block);
        let mut draft = Draft {
            block,
            ops: Vec::new(),
            offsets: std::mem::take(offsets),
            next_line: self.order.len() as u32,
            step: 0,
            pc: data.pc,
            lane_counts: Vec::new(),
        };
        let counted = func.counted_addresses(block);
        let mut begun = Begun::new(&counted);
        let mut cross_lane = false;
        for &inst in &data.insts {
            let data = func.inst(inst);
            // Steps must not decrease along the block, so that stopping at a step stops before all later ones. So an
            // operation of no counted instruction, or of an earlier one (a pass may have moved it), gets the step of
            // the operation before it.
            draft.step = begun.with(data.pc) as u32;
            draft.pc = data.pc;
            cross_lane |= data.op.is_cross_lane();
            self.inst(&mut draft, inst)?;
        }
        let in_control = !matches!(data.term, Some(Terminator::Jump(_) | Terminator::Join { .. }) | None);
        let mut groups = [0; Stats::GROUPS.len()];
        let mut step_groups = Vec::new();
        for pc in &counted {
            let tally = self.tallies.get(pc).copied().unwrap_or_default();
            let group = Stats::group_index(tally.group(in_control && *pc == data.term_pc));
            groups[group] += 1;
            step_groups.push(group as u8);
        }
        // Guest instructions without any operation.
        groups[Stats::group_index(Group::Control)] += data.guest_insts.saturating_sub(counted.len() as u32);

        let term = data.term.clone().ok_or(InvalidCode::BadTerminator { block })?;
        draft.step = data.guest_insts;
        draft.pc = data.term_pc;
        let term_goes_on = data.guest_insts == 0 && self.counted.contains(&data.term_pc);
        let (term_args, edges) = self.terminator(&mut draft, &term)?;
        let same_cond = terminator_cond(&term).is_some_and(|cond| self.func.ty(cond).uniform);
        let code = BlockCode {
            ops: draft.ops,
            term,
            term_args,
            same_cond,
            edges,
            pc: data.pc,
            term_pc: data.term_pc,
            guest_insts: data.guest_insts,
            term_goes_on,
            cross_lane,
            groups,
            counted,
            step_groups,
            lane_counts: draft.lane_counts,
        };
        *offsets = draft.offsets;
        Ok((code, draft.next_line as usize))
    }

    fn terminator(
        &self,
        draft: &mut Draft,
        term: &Terminator,
    ) -> Result<([Option<u32>; 2], [EdgeCopies; 2]), InvalidCode> {
        let mut args = [None; 2];
        let mut edges = [Vec::new(), Vec::new()];
        let offset = |draft: &mut Draft, v: &Value| self.offset_of(draft, *v);
        match term {
            Terminator::Jump(to) => edges[0] = self.edge(draft, to)?,
            Terminator::Branch { cond: m, taken, next }
            | Terminator::BrAny { mask: m, taken, next }
            | Terminator::BrIf { cond: m, taken, next } => {
                args[0] = Some(offset(draft, m)?);
                edges = [self.edge(draft, taken)?, self.edge(draft, next)?];
            }
            Terminator::Leave { cond: Some(m), .. } | Terminator::Join { cond: Some(m), .. } => {
                args[0] = Some(offset(draft, m)?);
            }
            Terminator::BranchIndirect { address } => args[0] = Some(offset(draft, address)?),
            Terminator::Return { exited, cond, .. } => {
                args[0] = cond.as_ref().map(|m| offset(draft, m)).transpose()?;
                args[1] = exited.as_ref().map(|m| offset(draft, m)).transpose()?;
            }
            _ => {}
        }
        let mut known = true;
        term.for_each_successor(|b| known &= b.index() < self.func.blocks.len());
        if !known {
            return Err(InvalidCode::BadTerminator { block: draft.block });
        }
        Ok((args, edges))
    }

    fn edge(&self, draft: &mut Draft, to: &BlockCall) -> Result<EdgeCopies, InvalidCode> {
        let bad = InvalidCode::BadTerminator { block: draft.block };
        let Some(target) = self.func.blocks.get(to.block.index()) else { return Err(bad) };
        if target.params.len() != to.args.len() {
            return Err(bad);
        }
        let pairs = to.args.iter().zip(&target.params);
        pairs
            .map(|(&arg, param)| {
                Ok((self.offset_of(draft, arg)?, self.cross.get(*param).ok_or(bad.clone())?))
            })
            .collect()
    }

    fn inst(&self, draft: &mut Draft, inst: Inst) -> Result<(), InvalidCode> {
        let data = self.func.inst(inst);
        let bad = || InvalidCode::IllTyped { inst, op: data.op.name() };
        if data.op == Opcode::Const {
            // `Prepare::offset_of` finds it.
            return if matches!(data.imm, Imm::Bits(_)) { Ok(()) } else { Err(bad()) };
        }
        if data.args.len() > 4 {
            return Err(bad());
        }
        let mut args = [0; 4];
        for (offset, &value) in args.iter_mut().zip(&data.args) {
            *offset = self.offset_of(draft, value)?;
        }
        if let (Opcode::CountLanes, Imm::Bits(number)) = (data.op, data.imm) {
            let pcs = self.func.counted_lanes.get(number as usize).cloned().unwrap_or_default();
            draft.lane_counts.push(LanesCounted { lanes: args[0], pcs });
            return Ok(());
        }
        if data.op.is_permit() || data.op == Opcode::Prefetch {
            // Accesses ask by themselves, and hints are nothing to do.
            return Ok(());
        }
        let scalar = |i: usize| data.args.get(i).map(|&v| self.func.ty(v).scalar);
        let result = data.result.map(|v| self.func.ty(v).scalar);
        let offset = match data.op {
            // The bits in the scratch array do not change, so no operation is needed.
            Opcode::Splat | Opcode::ChunkSpread | Opcode::Zext | Opcode::Bitcast if data.args.len() == 1 => {
                args[0]
            }
            _ => {
                let kind = self.kind(data, &scalar, result).ok_or_else(bad)?;
                if matches!(
                    kind,
                    Kind::Set(..)
                        | Kind::Store(..)
                        | Kind::UnlockStore(..)
                        | Kind::Deny(..)
                        | Kind::Device(..)
                ) {
                    if data.result.is_some() {
                        return Err(bad());
                    }
                    draft.effect(kind, args);
                    0
                } else {
                    let own = draft.emit(self.lanes, kind, args);
                    let uniform = data.result.is_some_and(|v| self.func.ty(v).uniform);
                    if uniform && matches!(kind, Kind::Get(_) | Kind::Load(..)) {
                        let guarded = matches!(kind, Kind::Load(_, true));
                        draft.emit(self.lanes, Kind::Share(guarded), [own, args[1], 0, 0])
                    } else {
                        own
                    }
                }
            }
        };
        if let Some(value) = data.result {
            draft.offsets.insert(draft.block, value, offset);
            if let Some(line) = self.cross.get(value) {
                draft.effect(Kind::CrossSet(line), [offset, 0, 0, 0]);
            }
        }
        Ok(())
    }

    fn slot(&self, slot: Slot) -> Option<SlotLayout> {
        self.slots.get(slot.index()).map(|(layout, _)| *layout)
    }

    /// The kind of an instruction; `None` if it is ill-formed.
    fn kind(
        &self,
        data: &InstData,
        scalar: &dyn Fn(usize) -> Option<Scalar>,
        result: Option<Scalar>,
    ) -> Option<Kind> {
        let count = data.args.len();
        let wide_address = scalar(0) == Some(Scalar::I64);
        let once = self.func.accesses_once(data);
        let access = |mem: &MemAccess| Access { mem: *mem, wide_address, once };
        // Whether there is one more operand than `plain`, which is then the guard.
        let guarded = |plain: usize| match count.checked_sub(plain) {
            Some(0) => Some(false),
            Some(1) if scalar(plain) == Some(Scalar::I1) => Some(true),
            _ => None,
        };
        let operands = |n: usize| (count == n).then_some(());
        Some(match (data.op, &data.imm) {
            (Opcode::SlotGet, Imm::Slot(slot)) => Kind::Get(self.slot(*slot)?),
            (Opcode::SlotSet, Imm::Slot(slot)) => Kind::Set(self.slot(*slot)?, guarded(1)?),
            (Opcode::Load, Imm::Mem(mem)) => Kind::Load(access(mem), guarded(1)?),
            (Opcode::Store, Imm::Mem(mem)) => Kind::Store(access(mem), guarded(2)?),
            (Opcode::Atomic, Imm::Atomic(mem, op)) => {
                let plain = if op.takes_two() { 3 } else { 2 };
                Kind::Atomic(access(mem), *op, guarded(plain)?)
            }
            (Opcode::Lock, Imm::Mem(mem)) => Kind::Lock(access(mem), guarded(1)?),
            (Opcode::UnlockStore, Imm::Mem(mem)) => Kind::UnlockStore(access(mem), guarded(2)?),
            (Opcode::DenyLoad | Opcode::DenyStore, Imm::Mem(mem)) => {
                Kind::Deny(access(mem), data.op == Opcode::DenyStore, guarded(2)?)
            }
            (Opcode::TranslateLoad, Imm::Mem(mem)) => {
                guarded(1)?;
                Kind::Translated(mem.offset)
            }
            (Opcode::TranslateStore, Imm::Mem(mem)) => {
                guarded(2)?;
                Kind::Translated(mem.offset)
            }
            (Opcode::CallPure, Imm::Pure(callee)) => {
                let types = callee.params.iter().enumerate().all(|(i, &t)| scalar(i) == Some(t));
                operands(callee.params.len())?;
                types.then_some(Kind::Pure(callee, count as u8))?
            }
            (Opcode::CallDevice, Imm::Device(site)) => Kind::Device(*site, guarded(0)?),
            (Opcode::Lookup, Imm::Table(table)) => {
                operands(1)?;
                Kind::Lookup(table)
            }
            (Opcode::Any, _) => Kind::Any,
            (Opcode::VoteAny, _) => Kind::VoteAny,
            (Opcode::VoteAll, _) => Kind::VoteAll,
            (Opcode::Ballot | Opcode::ChunkBallot, _) => Kind::Ballot,
            (Opcode::QuadLane, Imm::Bits(lane)) if *lane < 4 => Kind::QuadLane(*lane as u8),
            (Opcode::Shuffle | Opcode::ChunkValue, _) => Kind::Shuffle,
            (Opcode::ActiveMask, _) => Kind::ActiveMask,
            (Opcode::LaneBit | Opcode::ChunkMask, _) => Kind::LaneBit,
            (Opcode::Clock, _) => Kind::Clock,
            (op, imm) => {
                let (kernel, bits) = eval::kernel(op, imm, scalar(count.checked_sub(1)?)?, result?)?;
                Kind::Lanes(kernel, bits)
            }
        })
    }
}

impl Draft {
    /// Appends an operation with a result; returns the result's offset.
    fn emit(&mut self, lanes: u32, kind: Kind, args: [u32; 4]) -> u32 {
        let dst = self.next_line * lanes;
        self.next_line += 1;
        self.ops.push(Op { kind, dst, args, step: self.step, pc: self.pc });
        dst
    }

    /// Appends an operation without a result.
    fn effect(&mut self, kind: Kind, args: [u32; 4]) {
        self.ops.push(Op { kind, dst: 0, args, step: self.step, pc: self.pc });
    }
}
