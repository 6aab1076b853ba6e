//! Lifts a program block by block. For each instruction it emits what has to come before it (conversions of views, DPP sources),
//! then the instruction, and at a block's end the edges to the next blocks.

use std::collections::BTreeMap;

use warpjit_ir::{Block, Builtin, Function, GuestFault, IntCC, Meter, Stopped, Terminator, Value};

use super::analysis::effects::{self, Effects, has_varying_scalar};
use super::analysis::graph::{Graph, Node, ends_block};
use super::analysis::hwreg;
use super::analysis::ordered;
use super::analysis::stage::StageMemory;
use super::analysis::statics::MODE_SKIP;
use super::analysis::view::{HI, LANE, LO, Views};
use super::analysis::views::Analysis;
use super::control;
use super::emit::{Emit, Own};
use super::options::{Entry, Options, Register};
use super::slots::{EXEC, SGPRS, Slots, VCC};
use crate::code::Code;
use crate::gcn::{Format, Inst, Operand, Topic};

/// Everything about the program being lifted.
pub(super) struct Lifter<'f, 'g> {
    pub(super) e: Emit<'f>,
    graph: &'g Graph,
    analysis: &'g Analysis,
    blocks: &'g BTreeMap<u32, Block>,
}

/// Makes the function of a program.
pub(super) fn lift(
    func: &mut Function,
    code: &Code<'_>,
    graph: &Graph,
    analysis: &Analysis,
    options: &Options<'_>,
    stage_memory: Option<&StageMemory>,
    meter: &Meter,
) -> Result<(), Stopped> {
    meter.stage("lifting")?;
    let mut slots = Slots::default();
    for &(register, entry) in options.preload {
        match register {
            Register::Scalar(code) => slots.preload_scalar(func, code, entry.init()),
            Register::Vgpr(number) => slots.preload_vgpr(func, number, entry.init()),
        }
    }
    if options.observed {
        (0..options.sgprs.min(SGPRS.into())).for_each(|n| _ = slots.scalar(func, n as u8));
        [VCC, VCC + 1, EXEC, EXEC + 1, super::slots::M0]
            .iter()
            .for_each(|&code| _ = slots.scalar(func, code));
        (0..options.vgprs.min(256)).for_each(|n| _ = slots.vgpr(func, n as u8));
    }
    // The prologue stands before everything, so that a branch to the entry does not run it again.
    let prologue = func.add_block(options.entry);
    func.entry = prologue;
    let blocks: BTreeMap<u32, Block> = graph.nodes().map(|(pc, _)| (pc, func.add_block(pc))).collect();
    func.block_at.clone_from(&blocks);
    if graph.nodes().any(|(_, node)| node.indirect) {
        // Views are settled only where an indirect jump is known to go.
        func.block_at.retain(|&pc, _| graph.is_indirect_target(pc));
    }
    let own = Own::new(&mut slots, code, options);
    let mut lifter = Lifter { e: Emit::new(func, prologue, own), graph, analysis, blocks: &blocks };
    lifter.e.own.scratch_instructions = graph.scratch_instructions;
    lifter.e.own.stage_memory = stage_memory;
    lifter.e.own.behind_stores = ordered::behind_stores(graph);
    lifter.prologue(options);
    let mut held = 0;
    for (start, node) in graph.nodes() {
        meter.step(1 + node.insts.len())?;
        lifter.block(start, node);
        let bytes = lifter.e.b.func.bytes();
        meter.hold(bytes - held)?;
        held = bytes;
    }
    Ok(())
}

/// The value of [`Entry::GroupInfo`].
fn group_info(e: &mut Emit<'_>) -> Value {
    let (waves, wave) = (e.builtin(Builtin::NumWarps), e.builtin(Builtin::WarpId));
    let number = e.shl_const(wave, 6);
    let zero = e.b.i32(0);
    let first = e.b.icmp(IntCC::Eq, wave, zero);
    let first = e.bit(first);
    let first = e.shl_const(first, 31);
    let low = e.b.ior(waves, number);
    e.b.ior(low, first)
}

/// Emits an instruction, and records in which lanes its results matter. Returns `false` if the instruction is unknown.
fn topic(e: &mut Emit<'_>, inst: &Inst) -> bool {
    use Format::{Ds, Flat, Mimg, Mtbuf, Mubuf};
    if !effects::is_vector(inst) {
        return by_topic(e, inst);
    }
    // One that may fault counts when it has not, and all before it do in any case. Others may set EXEC.
    let may_fault = matches!(inst.format, Ds | Flat | Mimg | Mtbuf | Mubuf);
    if may_fault {
        e.note_lanes();
    } else {
        e.count_lanes();
    }
    let known = by_topic(e, inst);
    let legal = known || control::nothing(inst);
    if may_fault && legal && !e.is_done() {
        e.count_lanes();
    } else if !may_fault && !legal {
        e.uncount_lanes();
    }
    known
}

/// Emits an instruction that does not change the program counter, in the file of its topic. False if it is none of these, or illegal.
fn by_topic(e: &mut Emit<'_>, inst: &Inst) -> bool {
    use super::topics::*;
    match inst.op.topic() {
        Topic::Scalar => scalar::inst(e, inst),
        Topic::ScalarBits => scalar_bits::inst(e, inst),
        Topic::Logic => mask::inst(e, inst),
        Topic::HardwareRegister => hwreg::inst(e, inst),
        Topic::Control => false,
        Topic::Message => stage::inst(e, inst),
        Topic::ScalarMemory => smem::inst(e, inst),
        Topic::Int => int::inst(e, inst) || int16::inst(e, inst) || bytes::inst(e, inst),
        Topic::Float => float::inst(e, inst),
        Topic::Double => double::inst(e, inst),
        Topic::Half => half::inst(e, inst),
        Topic::Packed => packed::inst(e, inst),
        Topic::Convert => convert::inst(e, inst),
        Topic::Special => special::inst(e, inst),
        Topic::Compare => compare::inst(e, inst),
        Topic::Index => index::inst(e, inst),
        Topic::Lanes => lanes::inst(e, inst),
        Topic::Interpolation => interp::inst(e, inst),
        Topic::Export => export::inst(e, inst),
        Topic::Lds => lds::inst(e, inst),
        Topic::Flat => flat::inst(e, inst),
        Topic::Buffer => buffer::inst(e, inst),
        Topic::Image => image::inst(e, inst),
    }
}

impl Lifter<'_, '_> {
    fn prologue(&mut self, options: &Options<'_>) {
        let e = &mut self.e;
        for &(register, entry) in options.preload {
            let value = match entry {
                Entry::Const(value) => e.b.i32(value),
                Entry::GroupInfo => group_info(e),
                Entry::Builtin(_) | Entry::WarpOffset(_) => continue,
            };
            let slot = match register {
                Register::Scalar(code) => e.own.slots.scalar(e.b.func, code),
                Register::Vgpr(number) => e.own.slots.vgpr(e.b.func, number),
            };
            e.put(slot, value);
        }
        let mode = e.b.i32(options.mode);
        e.set_mode_bits(mode);
        match e.own.stage_memory {
            Some(stage_memory) => e.enter_stage(stage_memory),
            None => {
                let (low, high) = (e.builtin(Builtin::Launched(0)), e.builtin(Builtin::Launched(1)));
                let lanes = e.wide(low, high);
                let exec = e.b.lane_bit(lanes);
                e.set_exec(exec);
            }
        }
        let entry = self.edge(options.entry);
        self.e.end_block(Terminator::Jump(entry.into()));
    }

    fn block(&mut self, start: u32, node: &Node) {
        let Some(&block) = self.blocks.get(&start) else { return };
        self.e.start(block);
        self.e.own.views = self.analysis.entry(start);
        if let Some(statics) = self.graph.statics(start) {
            self.e.own.statics = statics.clone();
        }
        let live = self.analysis.live_behind(node);
        let mut pc = start;
        for (inst, live) in node.insts.iter().zip(live) {
            pc = inst.pc as u32;
            self.e.at(pc);
            self.e.count();
            self.e.own.live_after = live.views;
            self.e.own.scc_live = live.scc;
            self.e.own.in_lanes = self.analysis.in_lanes(inst);
            if self.analysis.plain {
                self.e.own.statics.forget_masks();
            }
            self.inst(node, inst);
            if self.e.is_done() {
                return;
            }
            self.e.own.statics.step(inst, self.e.own.code);
            pc = inst.next_pc() as u32;
        }
        self.e.at(pc);
        if node.insts.is_empty() {
            self.e.count();
            return self.e.end_block(Terminator::Fault(GuestFault::Illegal));
        }
        self.jump(Some(pc));
    }

    fn inst(&mut self, node: &Node, inst: &Inst) {
        if has_varying_scalar(inst) {
            return self.e.end_block(Terminator::Fault(GuestFault::Illegal));
        }
        self.prepare(inst);
        let skipped = hwreg::is_skipped(inst);
        match self.e.own.statics.mode_bit(MODE_SKIP) {
            Some(false) => {}
            Some(true) if skipped => return self.e.own.dpp = None,
            None if skipped => return self.maybe_skipped(inst),
            _ => {}
        }
        if ends_block(inst) || !topic(&mut self.e, inst) {
            let done = control::terminator(self, node, inst);
            if !done && !control::nothing(inst) {
                self.e.end_block(Terminator::Fault(GuestFault::Illegal));
            }
        }
        self.e.own.dpp = None;
    }

    /// Emits a vector instruction where only MODE, at run time, says whether vector instructions are skipped.
    fn maybe_skipped(&mut self, inst: &Inst) {
        let e = &mut self.e;
        let pc = e.b.pc;
        let (run, behind) = (e.b.func.add_block(pc), e.b.func.add_block(pc));
        let mode = e.mode_bits();
        let skip = e.and_const(mode, MODE_SKIP);
        let zero = e.b.i32(0);
        let cond = e.b.icmp(IntCC::Ne, skip, zero);
        e.end_block(Terminator::Branch { cond, taken: behind.into(), next: run.into() });
        e.start(run);
        // Both ways have to leave the same views.
        let views = e.own.views;
        if !topic(e, inst) && !control::nothing(inst) {
            e.end_block(Terminator::Fault(GuestFault::Illegal));
        } else {
            for (code, view) in views.iter() {
                self.convert(code, view);
            }
            self.e.end_block(Terminator::Jump(behind.into()));
        }
        let e = &mut self.e;
        e.own.views = views;
        e.own.dpp = None;
        e.start(behind);
    }

    /// Does before an instruction what needs other lanes.
    fn prepare(&mut self, inst: &Inst) {
        let fx = Effects::of(inst, self.e.own.in_lanes);
        let reads_flag = |flag: Operand| {
            inst.srcs().iter().any(|src| src.operand == flag)
                || super::analysis::hwreg::reads_flag(inst, flag)
        };
        self.e.own.zero_flags = [None; 2];
        for (which, code, flag) in [(0, VCC, Operand::Vccz), (1, EXEC, Operand::Execz)] {
            if reads_flag(flag) {
                let mask = self.e.lanes(code);
                let any = self.e.vote_any(mask);
                let none = self.e.b.inot(any);
                let slot = self.e.temp(self.e.b.func.ty(none), 9 + which);
                self.e.put(slot, none);
                self.e.own.zero_flags[which] = Some(slot);
            }
        }
        for &(pair, view) in &fx.reads {
            for (half, code) in [(LO, pair), (HI, pair + 1)] {
                if view & half != 0 {
                    self.e.need_scalar(code);
                }
            }
        }
        // A half that is written leaves the other one, which may be in the lane view only.
        for &(pair, view) in &fx.writes {
            let other = match view {
                LO => HI,
                HI => LO,
                _ => continue,
            };
            if self.e.own.live_after.get(pair) & (other | LANE) != 0 || pair == EXEC {
                self.e.need_scalar(if other == LO { pair } else { pair + 1 });
            }
        }
        if inst.dpp.is_some() {
            super::topics::lanes::prepare_dpp(&mut self.e, inst);
        }
    }

    /// The block to jump to in order to reach the block at `target` with the views that it begins with. If views have to be converted,
    /// this is a new block that converts them and then jumps there.
    pub(super) fn edge(&mut self, target: u32) -> Block {
        let Some(&block) = self.blocks.get(&target) else {
            return self.illegal(target);
        };
        let wanted = self.analysis.entry(target);
        if self.missing(&wanted).next().is_none() {
            return block;
        }
        let edge = self.e.b.func.add_block(target);
        self.detour(edge, &wanted, block);
        edge
    }

    fn illegal(&mut self, target: u32) -> Block {
        let block = self.e.b.func.add_block(target);
        self.aside(block, |l| l.e.end_block(Terminator::Fault(GuestFault::Illegal)));
        block
    }

    fn missing(&self, wanted: &Views) -> impl Iterator<Item = (u8, u8)> + use<> {
        let views = self.e.own.views;
        wanted
            .iter()
            .filter(move |&(code, wanted)| {
                let missing = wanted & !views.get(code);
                let scalar = views.get(code) & (LO | HI) == LO | HI;
                missing & (LO | HI) != 0 && views.get(code) & LANE != 0 || missing & LANE != 0 && scalar
            })
            .collect::<Vec<_>>()
            .into_iter()
    }

    fn detour(&mut self, edge: Block, wanted: &Views, block: Block) {
        self.aside(edge, |l| {
            let missing: Vec<_> = l.missing(wanted).collect();
            for (code, view) in missing {
                l.convert(code, view);
            }
            l.e.end_block(Terminator::Jump(block.into()));
        });
    }

    /// Emits `body` into `block`, then restores the state and continues in the current block.
    fn aside(&mut self, block: Block, body: impl FnOnce(&mut Self)) {
        let (here, views) = (self.e.b.block, self.e.own.views);
        let lanes = self.e.take_lanes();
        let state = self.e.suspend();
        self.e.start(block);
        body(self);
        self.e.resume(here, state);
        self.e.give_lanes(lanes);
        self.e.own.views = views;
    }

    /// Converts a pair to the views `view`, if its valid views allow it.
    fn convert(&mut self, code: u8, view: u8) {
        for (half, code) in [(LO, code), (HI, code + 1)] {
            if view & half != 0 {
                self.e.need_scalar(code);
            }
        }
        if view & LANE != 0 && self.e.own.views.get(code) & (LO | HI) == LO | HI {
            self.e.lanes(code);
        }
    }

    /// Jumps to the block at `target`. If there is no such block, the jump is `illegal`.
    pub(super) fn jump(&mut self, target: Option<u32>) {
        match target.and_then(|target| Some((target, *self.blocks.get(&target)?))) {
            Some((target, block)) => {
                let wanted = self.analysis.entry(target);
                let missing: Vec<_> = self.missing(&wanted).collect();
                for (code, view) in missing {
                    self.convert(code, view);
                }
                self.e.end_block(Terminator::Jump(block.into()));
            }
            None => self.e.end_block(Terminator::Fault(GuestFault::Illegal)),
        }
    }

    /// Makes numbers of all masks that may be read where an indirect jump goes.
    pub(super) fn ready_for_indirect(&mut self) {
        let live = self.analysis.indirect_live.views;
        for (code, live) in live.iter() {
            if live != 0 && code != EXEC {
                self.convert(code, LO | HI);
            }
        }
    }

    /// Makes numbers of all masks that can be looked at when the wave ends.
    pub(super) fn show_registers(&mut self) {
        let live = self.e.own.live_after;
        for (code, live) in live.iter() {
            self.convert(code, live & (LO | HI));
        }
    }
}
