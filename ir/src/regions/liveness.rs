//! Which slots a lane may still read, at the start of each block of a kernel in SPMD form.
//!
//! Where the guest keeps the lanes that instructions are for in a register, a write leaves the others' values as they are. Is such a slot live? For
//! the lanes in the register ("own") the write ends what was before, for the others it does not; and as long as the register stays
//! the same, reads whose results go into such writes only are the own lanes' (`lanes.rs`).

use super::EXEC_SLOT;
use super::lanes::{self, Event, ReadBy};
use super::steps;
use crate::entities::{Block, Slot};
use crate::function::{BarrierSpec, Function, Imm, Terminator};
use crate::lane_counts::{LANES_SLOT, MASKED_SLOT};
use crate::opcodes::Opcode;

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
    live_in: Vec<SlotSet>,
    succs: Vec<Vec<Block>>,
    slots: usize,
    keep_all: bool,
    /// Someone may look at the registers at any place.
    everywhere: bool,
    /// The slot of lanes that instructions are for, if there is one.
    exec: Option<Slot>,
    /// `live_in`, of the lanes in that slot and of the others.
    own_in: Vec<SlotSet>,
    others_in: Vec<SlotSet>,
    /// Slots that count even in lanes that are not active: those that a cross-lane read takes, and all that are ever
    /// read if there is a `quadon`, which wakes lanes wherever they are.
    pinned: SlotSet,
}

/// Slots whose values count in lanes that are elsewhere.
fn pinned(func: &Function) -> SlotSet {
    let wakes = func.block_ids().any(|b| matches!(func.term(b), Terminator::QuadOn { .. }));
    let mut pinned = SlotSet::empty(func.slots.len());
    for (n, slot) in func.slots.iter().enumerate() {
        // Who counts looks at these wherever a region comes out.
        if slot.name == LANES_SLOT || slot.name == MASKED_SLOT {
            pinned.insert(Slot::new(n));
        }
    }
    for b in func.block_ids() {
        let insts = || func.block(b).insts.iter().map(|&inst| func.inst(inst));
        if wakes || insts().any(|data| matches!(data.op, Opcode::QuadLane | Opcode::Shuffle)) {
            for data in insts() {
                if let (Opcode::SlotGet, Imm::Slot(s)) = (data.op, data.imm) {
                    pinned.insert(s);
                }
            }
        }
    }
    pinned
}

impl SlotLiveness {
    /// Computes liveness. The stack may be anything: a leave goes to every target pushed for its kind, and lanes that
    /// wait at a join may resume at every join target. With `keep_all` every slot is live at the end of a thread
    /// (someone wants to look at the registers).
    pub fn compute(func: &Function, keep_all: bool) -> SlotLiveness {
        let slots = func.slots.len();
        let mut this = SlotLiveness {
            live_in: vec![SlotSet::empty(slots); func.blocks.len()],
            succs: steps::successors(func),
            slots,
            keep_all,
            everywhere: false,
            exec: func.slots.iter().position(|slot| slot.name == EXEC_SLOT).map(Slot::new),
            own_in: vec![SlotSet::empty(slots); func.blocks.len()],
            others_in: vec![SlotSet::empty(slots); func.blocks.len()],
            pinned: pinned(func),
        };
        this.solve(func);
        this
    }

    /// Liveness where someone may look at all registers at any place, as where `max_steps` ends a warp.
    pub fn keep_everywhere(mut self) -> SlotLiveness {
        (self.keep_all, self.everywhere) = (true, true);
        let all = SlotSet::full(self.slots);
        for sets in [&mut self.live_in, &mut self.own_in, &mut self.others_in] {
            sets.fill(all.clone());
        }
        self
    }

    fn solve(&mut self, func: &Function) {
        let events: Vec<Vec<Event>> = func.block_ids().map(|b| lanes::events(func, b, self.exec)).collect();
        let mut preds = vec![Vec::new(); func.blocks.len()];
        for (b, succs) in self.succs.iter().enumerate() {
            succs.iter().for_each(|s| preds[s.index()].push(b));
        }
        // Later blocks first: most edges go forward.
        let mut waiting = vec![true; func.blocks.len()];
        let mut work: Vec<usize> = (0..func.blocks.len()).collect();
        while let Some(b) = work.pop() {
            waiting[b] = false;
            let mut own = self.live_behind(func, Block::new(b), &self.own_in);
            let mut others = self.live_behind(func, Block::new(b), &self.others_in);
            for event in events[b].iter().rev() {
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
            if self.own_in[b].union(&own) | self.others_in[b].union(&others) {
                self.live_in[b].union(&own);
                self.live_in[b].union(&others);
                for &p in &preds[b] {
                    if !std::mem::replace(&mut waiting[p], true) {
                        work.push(p);
                    }
                }
            }
        }
    }

    /// Slots live where `block` starts.
    pub fn live_in(&self, block: Block) -> &SlotSet {
        &self.live_in[block.index()]
    }

    /// Slots live where `block` starts, if the slot of [`SlotLiveness::exec`] has all lanes there.
    pub fn live_in_full(&self, block: Block) -> &SlotSet {
        &self.own_in[block.index()]
    }

    /// The slot of lanes that instructions are for ([`EXEC_SLOT`]), if there is one.
    pub fn exec(&self) -> Option<Slot> {
        self.exec
    }

    /// Slots live behind the body of `block`, before its terminator.
    pub fn live_out(&self, func: &Function, block: Block) -> SlotSet {
        self.live_behind(func, block, &self.live_in)
    }

    /// The same, if the slot of [`SlotLiveness::exec`] has all lanes there.
    pub fn live_out_full(&self, func: &Function, block: Block) -> SlotSet {
        self.live_behind(func, block, &self.own_in)
    }

    fn live_behind(&self, func: &Function, block: Block, live_in: &[SlotSet]) -> SlotSet {
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
        for s in &self.succs[block.index()] {
            live.union(&live_in[s.index()]);
        }
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
