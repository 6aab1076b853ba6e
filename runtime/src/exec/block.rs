//! A block: its warps in turn, up to barriers, for a slice of time.

use super::barrier::Barriers;
use super::memory::{Local, Shared, View};
use super::setup::{Plan, frame_bits};
use super::tiers::{Stepper, Tiers};
use crate::Memory;
use warpjit_ir::interp::{self, Flow, Warp};
use warpjit_ir::{Imm, Opcode, Slot};

/// Warp instructions after which the next warp of the block has its turn.
const WARP_SLICE: u64 = 4096;
/// Warp instructions after which another block has its turn.
const BLOCK_SLICE: u64 = 1 << 16;

/// A warp with what belongs to it alone.
#[derive(Debug)]
struct Resident {
    warp: Warp,
    local: Local,
    /// Index of the barrier it waits for, and where.
    waits: Option<(u8, u32)>,
}

/// A block that has been started.
#[derive(Debug)]
pub struct RunningBlock {
    /// Linear index in the grid.
    pub index: u64,
    warps: Vec<Resident>,
    shared: Shared,
    barriers: Barriers,
    living: u32,
    /// Turns it has had since a higher block faulted.
    pub late_turns: u32,
}

/// A fault, and the warp that it happened to.
#[derive(Debug, Clone, Copy)]
pub struct BlockFault {
    /// What the interpreter says; `None` for a barrier that cannot open.
    pub fault: Option<interp::Fault>,
    /// Guest address.
    pub pc: u32,
    /// The warp.
    pub warp: u32,
    /// The lane.
    pub lane: u32,
}

/// How a turn of a block ended.
#[derive(Debug)]
pub enum Turn {
    /// All warps have ended.
    Done,
    /// Time is up; nothing is wrong.
    Suspended,
    /// Somebody asked to stop.
    Stopped,
    /// The guest faulted.
    Faulted(BlockFault),
}

impl RunningBlock {
    /// Makes a block ready to run.
    pub fn new(plan: &Plan, tiers: &Tiers, index: u64) -> Self {
        let warps = (0..plan.warps)
            .map(|number| Resident {
                warp: Warp::new(tiers.code(), plan.lane_mask(number), |value, lane| {
                    plan.builtin(value, index, number, lane)
                }),
                local: Local::new(plan),
                waits: None,
            })
            .collect();
        let mut block = RunningBlock {
            index,
            warps,
            shared: Shared::new(plan),
            barriers: Barriers::new(plan.warps as usize),
            living: plan.warps,
            late_turns: 0,
        };
        block.finish_reset(plan, tiers);
        block
    }

    /// Makes a used block another one, ready to run, keeping its storage.
    pub fn reset(&mut self, plan: &Plan, tiers: &Tiers, index: u64) {
        self.index = index;
        for (number, resident) in (0..plan.warps).zip(&mut self.warps) {
            resident.warp.reset(tiers.code(), plan.lane_mask(number), |value, lane| {
                plan.builtin(value, index, number, lane)
            });
            resident.local.reset();
            resident.waits = None;
        }
        self.barriers = Barriers::new(plan.warps as usize);
        self.living = plan.warps;
        self.late_turns = 0;
        self.finish_reset(plan, tiers);
    }

    fn finish_reset(&mut self, plan: &Plan, tiers: &Tiers) {
        self.shared.reset(plan, self.index);
        let function = tiers.function();
        // The entry block sets up what the hardware passes in registers; a register named by the launch stands
        // against it.
        let prologue = function.block(function.entry);
        let sets = |slot: Slot| {
            prologue.insts.iter().any(|&inst| {
                let inst = function.inst(inst);
                inst.op == Opcode::SlotSet && inst.imm == Imm::Slot(slot)
            })
        };
        if prologue.guest_insts == 0
            && plan.slots.iter().any(|(slot, _)| sets(*slot))
            && let Some(&start) = function.block_at.get(&prologue.pc)
        {
            self.warps.iter_mut().for_each(|resident| resident.warp.block = start);
        }
        for (slot, values) in &plan.slots {
            let offset = tiers.slot_offset(*slot);
            let Some(data) = function.slots.get(slot.index()) else { continue };
            for resident in &mut self.warps {
                for lane in 0..plan.lanes {
                    let value = values.get(lane as usize).or(values.first()).copied().unwrap_or(0);
                    let bits = frame_bits(data.ty.scalar, value);
                    resident.warp.frame.write(offset, data.ty.scalar, lane, bits);
                }
            }
        }
    }

    /// Bytes that a block of this plan keeps, roughly.
    pub fn bytes(plan: &Plan, tiers: &Tiers) -> usize {
        let local = plan.local_bytes as usize * plan.lanes as usize;
        plan.shared.len() + plan.warps as usize * (tiers.frame_bytes() + local + 512)
    }

    /// Runs the block for a slice. `stop` is asked now and then.
    pub fn turn(
        &mut self,
        plan: &Plan,
        memory: &Memory,
        stepper: &mut Stepper<'_>,
        stop: impl Fn() -> bool,
    ) -> Turn {
        let mut spent = 0;
        loop {
            let mut ran = false;
            for number in 0..self.warps.len() {
                if self.warps[number].warp.ended {
                    continue;
                }
                if let Some((index, _)) = self.warps[number].waits {
                    if !self.barriers.passes(number, index) {
                        continue;
                    }
                    self.warps[number].waits = None;
                }
                ran = true;
                match self.warp_slice(number, plan, memory, stepper, &stop) {
                    Ok(steps) => spent += steps,
                    Err(fault) => return Turn::Faulted(fault),
                }
                if stop() {
                    return Turn::Stopped;
                }
            }
            if self.living == 0 {
                return Turn::Done;
            }
            if !ran {
                return Turn::Faulted(self.deadlock());
            }
            if spent >= BLOCK_SLICE {
                return Turn::Suspended;
            }
        }
    }

    /// Runs a warp to a barrier, its end, or the end of its slice; gives the instructions executed.
    fn warp_slice(
        &mut self,
        number: usize,
        plan: &Plan,
        memory: &Memory,
        stepper: &mut Stepper<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<u64, BlockFault> {
        let resident = &mut self.warps[number];
        let start = resident.warp.steps;
        loop {
            let mut view = View { plan, memory, shared: &mut self.shared, local: &mut resident.local };
            let flow = stepper.step(&mut resident.warp, &mut view, stop);
            match flow {
                Flow::Next => {
                    if resident.warp.steps - start >= WARP_SLICE || stepper.stopped {
                        break;
                    }
                }
                Flow::Barrier(spec) => {
                    if self.barriers.execute(number, &spec, self.living) {
                        let pc = stepper.term_pc();
                        resident.waits = Some((spec.index, pc));
                        break;
                    }
                }
                Flow::Ended => {
                    self.living -= 1;
                    self.barriers.warp_ended(number, self.living);
                    break;
                }
                Flow::Fault(fault) => {
                    let (pc, lane) = (fault.pc, fault.lane);
                    return Err(BlockFault { fault: Some(fault), pc, warp: number as u32, lane });
                }
            }
        }
        Ok(resident.warp.steps - start)
    }

    /// All living warps wait: the first of them has the fault.
    fn deadlock(&self) -> BlockFault {
        let found = self.warps.iter().enumerate().find_map(|(number, resident)| {
            let (_, pc) = resident.waits?;
            (!resident.warp.ended).then(|| (number as u32, pc, resident.warp.first_lane()))
        });
        let (warp, pc, lane) = found.unwrap_or_default();
        BlockFault { fault: None, pc, warp, lane }
    }

    /// Instructions executed so far: (by warps, by threads).
    pub fn steps(&self) -> (u64, u64) {
        self.warps.iter().fold((0, 0), |(warps, threads), resident| {
            (warps + resident.warp.steps, threads + resident.warp.thread_steps)
        })
    }

    /// The first warp.
    pub fn first_warp(&self) -> Option<&Warp> {
        self.warps.first().map(|resident| &resident.warp)
    }
}
