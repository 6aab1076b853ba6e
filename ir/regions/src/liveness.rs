//! Slot liveness: which slots a lane may still read, at the start of each block of a kernel in SPMD form.
//!
//! If the guest keeps its lane mask in a register (GCN's EXEC), a slot write changes only the lanes in that mask. Then there are
//! two sets, slots live in the lanes of the mask ("own") and slots live in the others. A write ends the live range for the own
//! lanes only. A read whose result is only written or stored under the same mask makes the slot live for the own lanes only
//! (`lanes.rs`). Where the mask changes, a slot live in either is live in both.

use std::collections::BinaryHeap;

use super::flow::{Flow, Predecessors};
use super::lanes::{self, Event, ReadBy};
use warpjit_ir_core::entities::{Block, Slot};
use warpjit_ir_core::function::{BarrierSpec, Function, Imm, InstData, Terminator};
use warpjit_ir_core::lane_counts::{LANES_SLOT, MASKED_SLOT};
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::traffic;

/// A set of slots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotSet(Vec<u64>);

impl SlotSet {
    /// No slot of `slots`.
    pub fn empty(slots: usize) -> SlotSet {
        SlotSet(vec![0; slots.div_ceil(64)])
    }

    /// All of `slots`.
    pub fn full(slots: usize) -> SlotSet {
        let mut set = SlotSet::empty(slots);
        (0..slots).for_each(|s| {
            set.insert(Slot::new(s));
        });
        set
    }

    /// Bytes that a set of `slots` takes.
    pub fn bytes_of(slots: usize) -> usize {
        size_of::<SlotSet>() + 8 * slots.div_ceil(64)
    }

    /// Whether `slot` is in it.
    pub fn contains(&self, slot: Slot) -> bool {
        self.0[slot.index() / 64] >> (slot.index() % 64) & 1 != 0
    }

    /// Adds `slot`; whether it was new.
    pub fn insert(&mut self, slot: Slot) -> bool {
        let new = !self.contains(slot);
        self.0[slot.index() / 64] |= 1 << (slot.index() % 64);
        new
    }

    /// Takes `slot` out.
    pub fn remove(&mut self, slot: Slot) {
        self.0[slot.index() / 64] &= !(1 << (slot.index() % 64));
    }

    /// Adds all of `other`; whether anything was new.
    pub fn union(&mut self, other: &SlotSet) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= b & !*a != 0;
            *a |= b;
        }
        changed
    }

    /// Takes all of `other` out; whether anything was in it.
    pub fn subtract(&mut self, other: &SlotSet) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= *a & b != 0;
            *a &= !b;
        }
        changed
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        (0..self.0.len() * 64).map(Slot::new).filter(|s| self.contains(*s))
    }
}

/// Slots live at the start of each block.
#[derive(Clone, Debug)]
pub struct SlotLiveness {
    flow: Flow,
    /// For each node: the live slots. If the guest has a lane mask, only those that are live in its lanes.
    own_in: Vec<SlotSet>,
    /// If the guest has a lane mask: the slots live in other lanes, and in any lane.
    split: Option<Split>,
    slots: usize,
    keep_all: bool,
    /// All registers may be read at any point.
    everywhere: bool,
    /// Slots that matter even in inactive lanes: those that cross-lane operations read, and every slot that is ever
    /// read if there is a `quadon`, which activates lanes wherever they are.
    pinned: SlotSet,
}

/// Liveness for guests with a lane mask.
#[derive(Clone, Debug)]
struct Split {
    /// The slot of the lane mask.
    exec: Slot,
    others_in: Vec<SlotSet>,
    live_in: Vec<SlotSet>,
}

/// Slots whose values matter in inactive lanes. Of a wave all lanes are active: what its cross-lane operations read is read in all lanes
/// ([`lanes::events`]).
fn pinned(func: &Function) -> SlotSet {
    let wakes = func.block_ids().any(|b| matches!(func.term(b), Terminator::QuadOn { .. }));
    let mut pinned = SlotSet::empty(func.slots.len());
    for (n, slot) in func.slots.iter().enumerate() {
        // The counting slots are read at every exit of a region.
        if slot.name == LANES_SLOT || slot.name == MASKED_SLOT || traffic::is_counter(&slot.name) {
            pinned.insert(Slot::new(n));
        }
    }
    for b in func.block_ids() {
        let insts = || func.block(b).insts.iter().map(|&inst| func.inst(inst));
        let looks = |data: &InstData| matches!(data.op, Opcode::QuadLane | Opcode::Shuffle);
        if wakes || func.lane_mask.is_none() && insts().any(looks) {
            for data in insts() {
                if let (Opcode::SlotGet, Imm::Slot(s)) = (data.op, data.imm) {
                    pinned.insert(s);
                }
            }
        }
    }
    pinned
}

/// The worklist. Blocks are taken from the last to the first, because most edges lead forward. Hubs are taken when no
/// block is left, because a change of a hub concerns many blocks.
struct Work {
    blocks: BinaryHeap<u32>,
    hubs: Vec<u32>,
    waiting: Vec<bool>,
    first_hub: usize,
}

impl Work {
    /// All nodes.
    fn all(flow: &Flow) -> Work {
        let (blocks, nodes) = (flow.blocks() as u32, flow.nodes() as u32);
        Work {
            blocks: (0..blocks).collect(),
            hubs: (blocks..nodes).collect(),
            waiting: vec![true; flow.nodes()],
            first_hub: flow.blocks(),
        }
    }

    fn add(&mut self, node: u32) {
        if std::mem::replace(&mut self.waiting[node as usize], true) {
            return;
        }
        if (node as usize) < self.first_hub { self.blocks.push(node) } else { self.hubs.push(node) }
    }

    fn next(&mut self) -> Option<usize> {
        let node = self.blocks.pop().or_else(|| self.hubs.pop())? as usize;
        self.waiting[node] = false;
        Some(node)
    }
}

impl SlotLiveness {
    /// Computes liveness for any content of the divergence stack ([`Flow`]). With `keep_all` every slot is live at the
    /// end of a thread, because the registers are captured.
    pub fn compute(func: &Function, keep_all: bool, meter: &Meter) -> Result<SlotLiveness, Stopped> {
        meter.stage("slot liveness")?;
        let slots = func.slots.len();
        let flow = Flow::new(func);
        let empty = || vec![SlotSet::empty(slots); flow.nodes()];
        let exec = func.lane_mask;
        let sets = if exec.is_some() { 3 } else { 1 };
        meter.hold(flow.bytes() + sets * flow.nodes() * SlotSet::bytes_of(slots))?;
        let mut this = SlotLiveness {
            own_in: empty(),
            split: exec.map(|exec| Split { exec, others_in: empty(), live_in: empty() }),
            flow,
            slots,
            keep_all,
            everywhere: false,
            pinned: pinned(func),
        };
        this.solve(func, meter)?;
        Ok(this)
    }

    /// Makes all slots live everywhere, because registers may be captured at any point, for example where `max_steps`
    /// ends a warp.
    pub fn keep_everywhere(mut self) -> SlotLiveness {
        (self.keep_all, self.everywhere) = (true, true);
        let all = SlotSet::full(self.slots);
        self.own_in.fill(all.clone());
        if let Some(Split { others_in, live_in, .. }) = &mut self.split {
            others_in.fill(all.clone());
            live_in.fill(all);
        }
        self
    }

    fn solve(&mut self, func: &Function, meter: &Meter) -> Result<(), Stopped> {
        let preds = self.flow.predecessors();
        let mut work = Work::all(&self.flow);
        match self.split.take() {
            None => self.solve_plain(func, &preds, &mut work, meter),
            Some(mut split) => {
                self.solve_split(func, &preds, &mut work, &mut split, meter)?;
                for ((live, own), others) in split.live_in.iter_mut().zip(&self.own_in).zip(&split.others_in)
                {
                    live.union(own);
                    live.union(others);
                }
                self.split = Some(split);
                Ok(())
            }
        }
    }

    /// Solves without a lane mask. A block's live-ins are the slots that it reads before it writes them, and its
    /// live-outs that it does not write.
    fn solve_plain(
        &mut self,
        func: &Function,
        preds: &Predecessors,
        work: &mut Work,
        meter: &Meter,
    ) -> Result<(), Stopped> {
        let mut written = vec![SlotSet::empty(self.slots); func.blocks.len()];
        let mut behind = Vec::with_capacity(func.blocks.len());
        meter.hold(2 * func.blocks.len() * SlotSet::bytes_of(self.slots))?;
        for b in func.block_ids() {
            meter.step(1 + func.block(b).insts.len() / 16)?;
            let (written, read) = (&mut written[b.index()], &mut self.own_in[b.index()]);
            for event in lanes::events(func, b, None) {
                match event {
                    Event::Read(s, _) if !written.contains(s) => _ = read.insert(s),
                    Event::WriteAll(s) => _ = written.insert(s),
                    _ => {}
                }
            }
            behind.push(self.always_behind(func, b));
        }
        while let Some(node) = work.next() {
            meter.step(1)?;
            let mut live = behind.get(node).cloned().unwrap_or_else(|| SlotSet::empty(self.slots));
            for &s in self.flow.successors(node) {
                live.union(&self.own_in[s as usize]);
            }
            if let Some(written) = written.get(node) {
                live.subtract(written);
            }
            if self.own_in[node].union(&live) {
                preds.of(node).iter().for_each(|&p| work.add(p));
            }
        }
        meter.release(2 * func.blocks.len() * SlotSet::bytes_of(self.slots));
        Ok(())
    }

    fn solve_split(
        &mut self,
        func: &Function,
        preds: &Predecessors,
        work: &mut Work,
        split: &mut Split,
        meter: &Meter,
    ) -> Result<(), Stopped> {
        let mut events: Vec<Vec<Event>> = Vec::with_capacity(func.blocks.len());
        let mut held = 0;
        for b in func.block_ids() {
            meter.step(1 + func.block(b).insts.len() / 4)?;
            let own = lanes::events(func, b, Some(split.exec));
            held += own.len() * size_of::<Event>();
            events.push(own);
        }
        meter.hold(held)?;
        while let Some(node) = work.next() {
            let events = events.get(node).map_or(&[][..], |events| events);
            meter.step(1 + events.len() / 16)?;
            let mut own = self.behind(func, node, &self.own_in);
            let mut others = self.behind(func, node, &split.others_in);
            for event in events.iter().rev() {
                match *event {
                    Event::Read(s, ReadBy::Own) => {
                        own.insert(s);
                    }
                    Event::Read(s, ReadBy::All) => {
                        own.insert(s);
                        others.insert(s);
                    }
                    Event::WriteOwn(s) => own.remove(s),
                    Event::WriteAll(s) => {
                        own.remove(s);
                        others.remove(s);
                    }
                    Event::Lanes => {
                        own.union(&others);
                        others.clone_from(&own);
                    }
                }
            }
            if self.own_in[node].union(&own) | split.others_in[node].union(&others) {
                preds.of(node).iter().for_each(|&p| work.add(p));
            }
        }
        meter.release(held);
        Ok(())
    }

    /// Slots live where `block` starts.
    pub fn live_in(&self, block: Block) -> &SlotSet {
        let all = self.split.as_ref().map_or(&self.own_in, |split| &split.live_in);
        &all[block.index()]
    }

    /// Slots live where `block` starts, if the lane mask ([`SlotLiveness::exec`]) has all lanes there.
    pub fn live_in_full(&self, block: Block) -> &SlotSet {
        &self.own_in[block.index()]
    }

    /// The slot of the guest's lane mask ([`Function::lane_mask`]), if there is one.
    pub fn exec(&self) -> Option<Slot> {
        self.split.as_ref().map(|split| split.exec)
    }

    /// Slots live after the body of `block`, before its terminator.
    pub fn live_out(&self, func: &Function, block: Block) -> SlotSet {
        let all = self.split.as_ref().map_or(&self.own_in, |split| &split.live_in);
        self.behind(func, block.index(), all)
    }

    /// The same, if the lane mask ([`SlotLiveness::exec`]) has all lanes there.
    pub fn live_out_full(&self, func: &Function, block: Block) -> SlotSet {
        self.behind(func, block.index(), &self.own_in)
    }

    /// What is live after a node: the union of `live_in` over its successors, and what is live there in any case.
    fn behind(&self, func: &Function, node: usize, live_in: &[SlotSet]) -> SlotSet {
        let is_block = node < self.flow.blocks();
        let mut live =
            if is_block { self.always_behind(func, Block::new(node)) } else { SlotSet::empty(self.slots) };
        for &s in self.flow.successors(node) {
            live.union(&live_in[s as usize]);
        }
        live
    }

    /// Slots that are live after a block whatever its successors are.
    fn always_behind(&self, func: &Function, block: Block) -> SlotSet {
        let ends = matches!(
            func.term(block),
            Terminator::Leave { .. }
                | Terminator::Join { .. }
                | Terminator::Fault(_)
                | Terminator::BranchIndirect { .. }
        );
        let mut live = if self.keep_all && (ends || self.everywhere) {
            SlotSet::full(self.slots)
        } else {
            self.pinned.clone()
        };
        if let Terminator::Barrier { spec: BarrierSpec { from: Some(slot), .. }, .. } = func.term(block) {
            live.insert(*slot);
        }
        live
    }

    /// Slots live where a thread ends.
    pub fn live_at_end(&self) -> SlotSet {
        if self.keep_all { SlotSet::full(self.slots) } else { self.pinned.clone() }
    }
}
