//! A block that runs: its warps take turns on one thread, each up to a barrier or the end of its time slice.
//!
//! A warp's slice ends at a barrier, after [`WARP_SLICE`] instructions, or at once where it waits: in a loop that surely does, or if it
//! comes back to a block of code with all slots as they were there before (`repeats.rs`). When the block has used [`BLOCK_SLICE`], or all
//! its warps wait, it is suspended.

use super::barrier::Barriers;
use super::jit::Compiled;
use super::memory::{Local, Shared, View};
use super::repeats::{FirstLook, Repeats};
use super::setup::SegmentPart;
use super::setup::{Plan, frame_bits};
use super::strategy::Strategy;
use super::tiers::{Hint, Midway, Step, Stepper, StopPoll, Tiers, Until};
use crate::Memory;
use std::time::Instant;
use warpjit_backend::RowWarp;
use warpjit_ir::Slot;
use warpjit_ir::interp::{self, Flow, Frame, Warp};

mod again;
mod convergent;
mod state;

pub use convergent::InLaunch;
pub use state::{BlockState, Portable, WarpWords};

/// Length of a warp's time slice, in warp instructions.
const WARP_SLICE: u64 = 4096;
/// The step of a time slice at which it is first looked whether warps wait that run together. A look costs as much as some steps.
const FIRST_LOOK: u32 = 256;
/// Length of a block's time slice, in warp instructions.
const BLOCK_SLICE: u64 = 1 << 16;

/// A warp and its own memory and scheduling state.
#[derive(Debug)]
struct Resident {
    warp: Warp,
    local: Local,
    /// The barrier that it waits at, and the guest address of the barrier instruction.
    waits: Option<(u8, u32)>,
    /// Initial contents of the frame words in [`super::initial_state::InitialState::restored`].
    first: Vec<u32>,
    hint: Hint,
    /// The suspended region call that it will resume, if there is one.
    midway: Option<Box<Midway>>,
    /// When it is first looked whether it waits, in its next time slice.
    first_look: FirstLook,
}

/// Writes the registers that the launch sets.
fn name_registers(warp: &mut Warp, plan: &Plan, tiers: &Tiers) {
    for (slot, values) in &plan.slots {
        write_slot(warp, plan, tiers, *slot, |lane| {
            values.get(lane as usize).or(values.first()).copied().unwrap_or(0)
        });
    }
}

/// Writes all lanes of a slot.
fn write_slot(warp: &mut Warp, plan: &Plan, tiers: &Tiers, slot: Slot, value: impl Fn(u32) -> u64) {
    let offset = tiers.slot_offset(slot);
    let Some(data) = tiers.function().slots.get(slot.index()) else { return };
    for lane in 0..plan.lanes {
        warp.frame.write(offset, data.ty.scalar, lane, frame_bits(data.ty.scalar, value(lane)));
    }
}

/// Writes a slot's words of the frame, for a value that differs between blocks.
fn write_by_block(words: &mut [u32], value: u32) {
    // In small chunks, because `fill` may call `memset`, which has a higher fixed cost.
    for words in words.chunks_mut(16) {
        match words.as_chunks_mut::<16>().0 {
            [all] => *all = [value; 16],
            _ => words.iter_mut().for_each(|word| *word = value),
        }
    }
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
    /// Slices that it has had since a higher block faulted.
    pub late_turns: u32,
    /// When the first of them ended.
    pub late_since: Option<Instant>,
    /// Whether no warp has run yet. Then only the frames are set up; the rest of the warps' state is still that of the
    /// previous block.
    fresh: bool,
    /// The version of the code at the start that fits all warps, once known.
    version: Option<u32>,
    /// Instructions executed by warps that ended together; their own state does not count them.
    ended_steps: (u64, u64),
    /// Its part of the segments that the launch provides for each warp.
    part: Option<SegmentPart>,
    /// It was made by [`RunningBlock::new`].
    was_prepared: bool,
    /// The strategy with which it runs. Its frames have the layout of that strategy.
    pub strategy: Strategy,
}

/// A fault, and the warp that it happened to.
#[derive(Debug, Clone, Copy)]
pub struct BlockFault {
    /// The interpreter's fault; `None` for a barrier that can never open.
    pub fault: Option<interp::Fault>,
    /// Guest address.
    pub pc: u32,
    /// The warp.
    pub warp: u32,
    /// The lane.
    pub lane: u32,
}

/// How a time slice of a warp went.
#[derive(Debug, Clone, Copy)]
struct Slice {
    /// Instructions executed.
    steps: u64,
    /// It ended as the warp waits for what others do.
    waits: bool,
}

/// How a time slice of a block ended.
#[derive(Debug)]
pub enum Turn {
    /// All warps have ended.
    Done,
    /// The slice is over; nothing is wrong.
    Suspended,
    /// Somebody asked to stop.
    Stopped,
    /// The guest faulted.
    Faulted(BlockFault),
}

impl RunningBlock {
    /// Makes a block ready to run. `part` is its part of the segments that the launch provides for each warp.
    pub fn new(
        plan: &Plan,
        tiers: &Tiers,
        memory: &Memory,
        stepper: &mut Stepper<'_>,
        index: u64,
        part: Option<SegmentPart>,
    ) -> Self {
        let start = tiers.start();
        let mut block = RunningBlock { part, ..RunningBlock::unprepared(plan, tiers, index) };
        if let Some(part) = &block.part {
            plan.segments.clear(memory, part, plan.warps);
        }
        if let (Some(stage), Some(resident)) = (&plan.stage, block.warps.first_mut()) {
            stage.fill(&mut resident.local, index, true);
            stage.fill_shared(block.shared.contents(), index);
        }
        for (number, resident) in (0..plan.warps).zip(&mut block.warps) {
            for (slot, value) in plan.segments.slots(block.part.as_ref(), plan.warps, number) {
                write_slot(&mut resident.warp, plan, tiers, slot, |_| value);
            }
            if start.prologue.is_some() {
                // The prologue only sets registers and continues.
                let mut view = View { plan, memory, shared: &mut block.shared, local: &mut resident.local };
                let _ = stepper.interpret(&mut resident.warp, &mut view);
            }
            // A register set by the launch overrides the prologue's value.
            name_registers(&mut resident.warp, plan, tiers);
            let words = resident.warp.frame.words();
            resident.first = start.restored.iter().flat_map(|range| &words[range.clone()]).copied().collect();
        }
        block.was_prepared = true;
        block
    }

    /// A block whose warps are at the kernel's entry, before the prologue.
    pub fn unprepared(plan: &Plan, tiers: &Tiers, index: u64) -> Self {
        let start = tiers.start();
        let warps = (0..plan.warps)
            .map(|number| Resident {
                warp: Warp::new(tiers.code(), plan.lane_mask(number), |value, lane| {
                    plan.builtin(value, index, number, lane)
                }),
                local: Local::new(plan, start.uses_local || plan.stage.is_some()),
                waits: None,
                first: Vec::new(),
                hint: Hint::default(),
                midway: None,
                first_look: FirstLook::default(),
            })
            .collect();
        let mut block = RunningBlock {
            index,
            warps,
            shared: Shared::new(plan, start.shared_line),
            barriers: Barriers::new(plan.warps as usize),
            living: plan.warps,
            late_turns: 0,
            late_since: None,
            fresh: false,
            version: None,
            ended_steps: (0, 0),
            part: None,
            was_prepared: false,
            strategy: Strategy::default(),
        };
        block.shared.reset(plan, index);
        block
    }

    /// Turns a finished block into another one that is ready to run, reusing its storage.
    pub fn reset(&mut self, plan: &Plan, tiers: &Tiers, memory: &Memory, index: u64) {
        self.index = index;
        let start = tiers.start();
        self.abandon();
        for resident in self.warps.iter_mut().take(plan.warps as usize) {
            let words = resident.warp.frame.words_mut();
            let mut first = resident.first.as_slice();
            for range in &start.restored {
                let (part, rest) = first.split_at(range.len());
                words[range.clone()].copy_from_slice(part);
                first = rest;
            }
            if let Some(stage) = &plan.stage {
                stage.fill(&mut resident.local, index, false);
            } else if start.uses_local {
                resident.local.reset();
            }
        }
        self.set_by_block(plan, tiers, index, |_| true);
        if !start.by_block.is_empty() && !plan.slots.is_empty() {
            for resident in self.warps.iter_mut().take(plan.warps as usize) {
                name_registers(&mut resident.warp, plan, tiers);
            }
        }
        self.fresh = true;
        (self.late_turns, self.late_since) = (0, None);
        self.ended_steps = (0, 0);
        self.shared.reset(plan, index);
        if let Some(stage) = &plan.stage {
            stage.fill_shared(self.shared.contents(), index);
        }
        if let Some(part) = &self.part {
            plan.segments.clear(memory, part, plan.warps);
        }
    }

    /// Drops suspended region calls of its warps. The block must not run any more.
    pub fn abandon(&mut self) {
        self.warps.iter_mut().for_each(|resident| resident.midway = None);
    }

    /// Writes those slots whose values differ between blocks, if `which` selects them.
    fn set_by_block(&mut self, plan: &Plan, tiers: &Tiers, index: u64, which: impl Fn(Slot) -> bool) {
        for (_, range, value) in tiers.start().by_block.iter().filter(|(slot, ..)| which(*slot)) {
            // The same for all warps of the block.
            let value = plan.builtin(*value, index, 0, 0);
            for resident in self.warps.iter_mut().take(plan.warps as usize) {
                write_by_block(&mut resident.warp.frame.words_mut()[range.clone()], value);
            }
        }
    }

    /// Turns a block whose warps are in their initial state into another block. `firsts` are their initial frames.
    pub fn stand_for(&mut self, plan: &Plan, tiers: &Tiers, index: u64, firsts: &mut [Frame]) {
        self.index = index;
        self.set_by_block(plan, tiers, index, |_| true);
        for (_, range, value) in &tiers.start().by_block {
            let value = plan.builtin(*value, index, 0, 0);
            firsts.iter_mut().for_each(|frame| write_by_block(&mut frame.words_mut()[range.clone()], value));
        }
        self.shared.reset(plan, index);
    }

    /// Becomes the later block of the grid row at which grid-row code returned. That code has left the block's memory
    /// and slots in place, apart from slots with the block's index, which it only reads.
    pub fn become_later(&mut self, plan: &Plan, tiers: &Tiers, index: u64, code: &Compiled) {
        self.index = index;
        self.set_by_block(plan, tiers, index, |slot| !code.writes(slot));
    }

    /// Sets the part of the warps' initial state that [`RunningBlock::reset`] has not set.
    fn restart(&mut self, plan: &Plan, tiers: &Tiers) {
        self.fresh = false;
        for (number, resident) in (0..plan.warps).zip(&mut self.warps) {
            resident.warp.restart(tiers.start().block, plan.lane_mask(number));
            resident.waits = None;
            resident.hint.reset();
        }
        self.barriers.reset();
        self.living = plan.warps;
    }

    /// Updates a warp's scheduling state after a block or region. Returns whether the warp can continue at once.
    #[inline]
    fn settle(&mut self, number: usize, flow: Flow, stepper: &Stepper<'_>) -> Result<bool, BlockFault> {
        match flow {
            Flow::Next => Ok(true),
            Flow::Barrier(spec) => {
                let waits = self.barriers.execute(number, &spec, self.living);
                if waits {
                    self.warps[number].waits = Some((spec.index, stepper.last_pc()));
                }
                // A warp that opens the barrier runs after those that waited, as when all warps run together.
                Ok(!spec.wait)
            }
            Flow::Ended => {
                self.living -= 1;
                self.barriers.warp_ended(number, self.living);
                Ok(false)
            }
            Flow::Fault(fault) => {
                let (pc, lane) = (fault.pc, fault.lane);
                Err(BlockFault { fault: Some(fault), pc, warp: number as u32, lane })
            }
        }
    }

    /// Approximate size in bytes of a block of this plan.
    pub fn bytes(plan: &Plan, tiers: &Tiers) -> usize {
        let local = plan.local_bytes as usize * plan.lanes as usize + plan.segments.warp_bytes();
        plan.shared.len() + plan.warps as usize * (tiers.frame_bytes() + local + 512)
    }

    /// Runs the block for a slice. `stop_poll` is polled now and then.
    pub fn turn(
        &mut self,
        plan: &Plan,
        tiers: &Tiers,
        memory: &Memory,
        stepper: &mut Stepper<'_>,
        stop_poll: &dyn StopPoll,
    ) -> Turn {
        let mut spent = 0;
        loop {
            let launch = InLaunch { plan, tiers, memory, stop_poll };
            if let Some(turn) = self.run_convergent(&launch, stepper, &mut spent) {
                return turn;
            }
            let (mut ran, mut all_wait) = (false, true);
            for number in 0..self.warps.len() {
                let resident = &mut self.warps[number];
                if resident.warp.ended {
                    continue;
                }
                if let Some((index, _)) = resident.waits {
                    if !self.barriers.passes(number, index) {
                        continue;
                    }
                    resident.waits = None;
                }
                ran = true;
                match self.warp_slice(number, plan, memory, stepper, stop_poll) {
                    Ok(Some(slice)) => {
                        spent += slice.steps;
                        all_wait &= slice.waits;
                    }
                    Ok(None) => return Turn::Stopped,
                    Err(fault) => return Turn::Faulted(fault),
                }
                if plan.may_pause && self.living > 0 && stop_poll.is_paused() {
                    return Turn::Suspended;
                }
            }
            if self.living == 0 {
                return Turn::Done;
            }
            if !ran {
                return Turn::Faulted(self.deadlock());
            }
            if stop_poll.stop() {
                return Turn::Stopped;
            }
            // Where all wait, only another block can help, or the host: the rest of the slice would be looks in vain.
            if all_wait || spent >= BLOCK_SLICE {
                return Turn::Suspended;
            }
        }
    }

    /// Runs a warp to a barrier, its end, or the end of its slice. `None`: it was stopped.
    fn warp_slice(
        &mut self,
        number: usize,
        plan: &Plan,
        memory: &Memory,
        stepper: &mut Stepper<'_>,
        stop_poll: &dyn StopPoll,
    ) -> Result<Option<Slice>, BlockFault> {
        let start = self.warps[number].warp.steps;
        // The head of a loop that certainly waits, if the warp has reached one.
        let mut waited = None;
        let mut repeats = Repeats::new(self.warps[number].first_look.step());
        loop {
            let resident = &mut self.warps[number];
            let mut view = View { plan, memory, shared: &mut self.shared, local: &mut resident.local };
            let until = Until { steps: start.saturating_add(WARP_SLICE), repeats: &mut repeats };
            let step = stepper.step(
                &mut resident.warp,
                &mut resident.midway,
                &mut view,
                &mut resident.hint,
                stop_poll,
                Some(until),
            );
            let steps = resident.warp.steps.saturating_sub(start);
            let flow = match step {
                Step::Flow(flow) => flow,
                // Ends the slice even if loops do not count their instructions. Most of such loops only look as if they waited.
                Step::Suspended => return Ok(Some(Slice { steps: steps.max(WARP_SLICE), waits: false })),
                Step::Stopped => return Ok(None),
            };
            let goes_on = self.settle(number, flow, stepper)?;
            let pauses = plan.may_pause && stop_poll.pause();
            if !goes_on || pauses || steps >= WARP_SLICE {
                self.warps[number].first_look.after(&repeats);
                return Ok(Some(Slice { steps, waits: false }));
            }
            let warp = &self.warps[number].warp;
            let at = warp.block;
            let waits = stepper.surely_waits(at) && waited.replace(at) == Some(at);
            if waits || repeats.step(at, || std::iter::once(warp)) {
                // The loop has checked its condition twice. Let other warps run.
                self.warps[number].first_look = FirstLook::default();
                return Ok(Some(Slice { steps: WARP_SLICE, waits: true }));
            }
        }
    }

    /// The fault if all living warps wait: it belongs to the first of them.
    fn deadlock(&self) -> BlockFault {
        let found = self.warps.iter().enumerate().find_map(|(number, resident)| {
            let (_, pc) = resident.waits?;
            (!resident.warp.ended).then(|| (number as u32, pc, resident.warp.first_lane()))
        });
        let (warp, pc, lane) = found.unwrap_or_default();
        BlockFault { fault: None, pc, warp, lane }
    }

    /// Writes the outputs of a block of a graphics stage that has ended.
    pub fn collect(&self, plan: &Plan) {
        if let (Some(stage), Some(resident)) = (&plan.stage, self.warps.first()) {
            stage.collect(&resident.local, self.shared.bytes(), self.index);
        }
    }

    /// Whether [`RunningBlock::reset`] can reuse it, which needs its warps' initial state.
    pub fn may_be_reset(&self) -> bool {
        self.was_prepared
    }

    /// The frames of all warps.
    pub fn frames(&self) -> Vec<&Frame> {
        self.warps.iter().map(|resident| &resident.warp.frame).collect()
    }

    /// The warps for grid-row code ([`super::block_row`]). `firsts` are their initial frames.
    pub fn row_warps(&mut self, plan: &Plan, firsts: &[Frame]) -> Vec<RowWarp> {
        let warps = (0..plan.warps).zip(&mut self.warps).zip(firsts);
        warps
            .map(|((number, resident), first)| RowWarp {
                frame: resident.warp.frame.as_mut_ptr().cast(),
                lanes: plan.lane_mask(number),
                first: first.words().as_ptr().cast(),
            })
            .collect()
    }

    /// The current shared memory, with the slack after its end.
    pub fn shared_with_slack(&self) -> &[u8] {
        self.shared.with_slack()
    }

    /// Memory as the first warp sees it.
    pub fn view<'a>(&'a mut self, plan: &'a Plan, memory: &'a Memory) -> Option<View<'a>> {
        let local = &mut self.warps.first_mut()?.local;
        Some(View { plan, memory, shared: &mut self.shared, local })
    }

    /// Instructions executed so far: (by warps, by threads).
    pub fn steps(&self) -> (u64, u64) {
        if self.fresh {
            return self.ended_steps;
        }
        self.warps.iter().fold(self.ended_steps, |(warps, threads), resident| {
            (warps + resident.warp.steps, threads + resident.warp.thread_steps)
        })
    }

    /// Shared memory.
    pub fn shared(&self) -> &[u8] {
        self.shared.bytes()
    }

    /// The first warp.
    pub fn first_warp(&self) -> Option<&Warp> {
        self.warps.first().map(|resident| &resident.warp)
    }
}
