//! Cuts a kernel into phases for grid-row code, and finds the lane patterns of slots at the start of each phase.
//!
//! A *phase* is a region that all warps of a block finish before any warp starts the next one. The patterns of slots that the
//! kernel never writes are assumed, as for single regions, and checked before a launch runs the code. The patterns of other slots
//! follow from the phases before, so that no check is needed between phases.

use std::sync::atomic::Ordering;

use crate::memory::window_access;
use warpjit_backend::{Shape, SlotShape, Successor, VECTOR_LANES, meet_shapes, slots_after};
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::regions::{Region, SlotFacts, full};
use warpjit_ir::{Block, Meter, Slot, Stopped, Terminator};

use super::assumptions::{Assumption, steering_slots};
use super::phases::{Phase, Phases, Shapes};
use super::{Jit, SampleBlock, lock, written_slots};
use crate::fork::Section;
use crate::{CancelToken, Error};

/// Most phases of a kernel.
const MOST_PHASES: usize = 48;
/// Most instructions of all phases.
const MOST_INSTS: usize = 6000;

impl Jit {
    /// Cuts the kernel that starts at a block into phases, if that is possible. Lane patterns are not known yet.
    pub(super) fn phases(&self, entry: Block, meter: &Meter) -> Result<Option<Phases>, Stopped> {
        let kernel = &*self.kernel;
        let none = SlotFacts::none(kernel.func.slots.len());
        let mut starts = vec![entry];
        let mut warps = None;
        let mut list: Vec<Phase> = Vec::new();
        let mut insts = 0;
        while let Some(&at) = starts.get(list.len()) {
            let Some(region) = kernel.region_within(at, &none, meter)? else { return Ok(None) };
            // A warp cannot be suspended within a phase.
            if region.may_wait
                || self.variant.windows.is_some_and(|kinds| !window_access::can(&region.mask, &kinds))
            {
                return Ok(None);
            }
            insts += region.mask.blocks.iter().map(|block| block.insts.len()).sum::<usize>();
            let mut number = |block: Block| match starts.iter().position(|&known| known == block) {
                Some(found) => found,
                None => {
                    starts.push(block);
                    starts.len() - 1
                }
            };
            let mut successors = Vec::new();
            for &exit in &region.exits {
                let Some(successor) = self.successor(exit, &mut warps, &mut number) else { return Ok(None) };
                successors.push(successor);
            }
            if starts.len() > MOST_PHASES || insts > MOST_INSTS {
                return Ok(None);
            }
            let chunk_groups = self.chunk_groups(&region);
            let by_firsts = vec![Vec::new(); successors.len()];
            let (shapes, checks, firsts) = (Vec::new(), Vec::new(), Vec::new());
            list.push(Phase { region, chunk_groups, successors, shapes, checks, firsts, by_firsts });
        }
        let list = in_order(list);
        let mut written = SlotSet::empty(kernel.func.slots.len());
        for phase in &list {
            written.union(&written_slots(&phase.region.mask));
        }
        Ok(Some(Phases { list, written, warps }))
    }

    /// The successor of an exit, if all warps take it.
    fn successor(
        &self,
        exit: ExitKind,
        warps: &mut Option<u32>,
        number: &mut impl FnMut(Block) -> usize,
    ) -> Option<Successor> {
        let block = match exit {
            ExitKind::Ended => return Some(Successor::Ended),
            ExitKind::Enter(block) => return Some(Successor::Next(number(block))),
            ExitKind::Terminator(block) => block,
        };
        match self.kernel.func.term(block) {
            Terminator::Jump(call) if call.args.is_empty() => Some(Successor::Next(number(call.block))),
            Terminator::Barrier { spec, next } => {
                let asks = spec.warps.is_none() || warps.is_none() || *warps == spec.warps;
                *warps = spec.warps.or(*warps);
                (spec.arrive && spec.wait && spec.from.is_none() && asks)
                    .then(|| Successor::Next(number(*next)))
            }
            // A mask decides there, of which each warp may have some lanes.
            _ if self.kernel.votes_at_exit(block) => None,
            Terminator::Branch { taken, next, .. } if taken.args.is_empty() && next.args.is_empty() => {
                Some(Successor::Branch { taken: number(taken.block), next: number(next.block) })
            }
            _ => None,
        }
    }

    /// Propagates lane patterns to the start of each phase, and cuts each phase's region for them. `sample` is a sample
    /// block, `of_block` are slots that hold the block's index. Returns the assumptions on the initial frames.
    pub(super) fn propagate_patterns(
        &self,
        phases: &mut Phases,
        sample: SampleBlock<'_>,
        of_block: &SlotSet,
        keeps_lanes: bool,
        meter: &Meter,
    ) -> Result<Option<Vec<Assumption>>, Stopped> {
        let kernel = &*self.kernel;
        let count = kernel.func.slots.len();
        let mut assumptions: Vec<Assumption> = Vec::new();
        for phase in &phases.list {
            let lanes = u32::from(phase.chunk_groups) * 4;
            for found in self.shapes(kernel, &phase.region, sample.frames, (lanes, true), meter)?.list {
                match assumptions.iter_mut().find(|known| known.slot == found.slot) {
                    // Keep the pattern that holds for both: the one over fewer lanes.
                    Some(known) if found.known != known.known => {
                        let Some(common) = known.known.meet(found.known) else { return Ok(None) };
                        *known = Assumption::new(found.slot, found.offset, common);
                    }
                    Some(_) => {}
                    None => assumptions.push(found),
                }
            }
        }
        let mut first: Shapes = vec![None; count];
        for a in &assumptions {
            first[a.slot.index()] = Some(a.known);
        }
        for slot in of_block.iter().filter(|slot| slot.index() < count) {
            first[slot.index()] = Some(SlotShape::new(Shape::Uniform, kernel.func.lanes));
        }
        assumptions.retain(|a| !of_block.contains(a.slot));
        let mut before: Vec<Option<Shapes>> = vec![None; phases.list.len()];
        before[0] = Some(first);
        let mut work = vec![0];
        // Patterns only ever become weaker, so this ends. The bound guards against bugs.
        let mut left = 64 * phases.list.len();
        while let Some(number) = work.pop() {
            let Some(less) = left.checked_sub(1) else { return Ok(None) };
            left = less;
            let Some(mut shapes) = before[number].clone() else { continue };
            let written = &phases.written;
            let phase = &mut phases.list[number];
            let entry = phase.region.entry;
            let lanes = u32::from(phase.chunk_groups) * 4;
            let known = facts(&shapes, lanes);
            let Some(mut region) = kernel.region_within(entry, &known, meter)? else { return Ok(None) };
            let mut checks = match sample.whole && number > 0 {
                true => self.checks(entry, written, &shapes, lanes.min(VECTOR_LANES)),
                false => Vec::new(),
            };
            if !checks.is_empty() {
                // A pattern may be known although nothing needs it, such as that of inactive lanes.
                let wanted = steering_slots(&region.ssa);
                checks.retain(|(slot, known)| known.shape == Shape::Ones || wanted.contains(*slot));
            }
            if !checks.is_empty() {
                for &(slot, known) in &checks {
                    shapes[slot.index()] = Some(known);
                }
                let known = facts(&shapes, lanes);
                let Some(better) = kernel.region_within(entry, &known, meter)? else { return Ok(None) };
                region = better;
            }
            if !self.locate_memory(&mut region) {
                return Ok(None);
            }
            if sample.whole {
                full::all_enter(&mut region.mask);
            }
            self.generator.optimize(&mut region, meter)?;
            let mut after = shapes.clone();
            for (slot, shape) in
                slots_after(&region.mask, &shapes, phase.chunk_groups, self.variant.has_devices())
            {
                after[slot.index()] = shape.filter(|_| !keeps_lanes);
            }
            (phase.region, phase.shapes, phase.checks) = (region, shapes, checks);
            for to in phase.next() {
                let changed = match &mut before[to] {
                    Some(known) => {
                        let met: Shapes = known
                            .iter()
                            .zip(&after)
                            .map(|(&known, &more)| meet_shapes(known, more))
                            .collect();
                        let changed = met != *known;
                        *known = met;
                        changed
                    }
                    none => {
                        *none = Some(after.clone());
                        true
                    }
                };
                if changed && !work.contains(&to) {
                    work.push(to);
                }
            }
        }
        for phase in &mut phases.list {
            self.generator.specialize(&mut phase.region, sample.whole, false);
        }
        if self.generator.has_compact_slots() {
            super::compact_slots::find(kernel, phases, self.variant.has_devices());
        }
        Ok(Some(assumptions))
    }

    /// As [`Jit::propagate_patterns`], but with chunks of a whole warp if that pays: the kernel is a single phase, all slots
    /// that addresses depend on are affine over a warp, and its values fit the registers. Then address computations are
    /// done once for a warp.
    pub(super) fn propagate_patterns_of_warps(
        &self,
        phases: &mut Phases,
        sample: SampleBlock<'_>,
        of_block: &SlotSet,
        keeps_lanes: bool,
        meter: &Meter,
    ) -> Result<Option<Vec<Assumption>>, Stopped> {
        let most = self.kernel.func.lanes.div_ceil(4) as u8;
        let Phase { region: first, chunk_groups: before, .. } = &phases.list[0];
        let before = *before;
        let tries = match self.variant.chunk_groups {
            None if !first.whole => {
                self.generator.larger_chunks(phases.list.iter().map(|phase| &phase.region.mask), most)
            }
            _ => &[],
        };
        for &groups in tries.iter().filter(|&&groups| groups > before && groups <= most) {
            let mut tried = phases.clone();
            tried.list.iter_mut().for_each(|phase| phase.chunk_groups = groups);
            let lanes = 4 * u32::from(groups);
            let Some(known) = self.propagate_patterns(&mut tried, sample, of_block, keeps_lanes, meter)?
            else {
                continue;
            };
            let even = known.iter().all(|a| a.known.shape == Shape::Ones || a.known.lanes >= lanes);
            let fits = |phase: &Phase| {
                let is_even =
                    |slot: Slot| phase.shapes[slot.index()].is_some_and(|known| known.is_whole(lanes));
                self.generator.fits(&phase.region.mask, groups, is_even)
            };
            if even && tried.list.iter().all(fits) {
                *phases = tried;
                return Ok(Some(known));
            }
        }
        self.propagate_patterns(phases, sample, of_block, keeps_lanes, meter)
    }

    /// Patterns that single regions at a block were compiled for and that are not known there. They are worth a check
    /// for each warp.
    fn checks(
        &self,
        at: Block,
        written: &SlotSet,
        known: &Shapes,
        fewest_lanes: u32,
    ) -> Vec<(Slot, SlotShape)> {
        let versions = lock(&self.versions[at.index()]);
        let Some((first, others)) = versions.list.split_first() else { return Vec::new() };
        let mut checks = Vec::new();
        let may = |a: &&Assumption| written.contains(a.slot) && a.known.lanes >= fewest_lanes;
        for a in first.facts.assumptions.iter().filter(may) {
            let all = others.iter().try_fold(a.known, |met, code| {
                let other = code.facts.assumptions.iter().find(|other| other.slot == a.slot);
                meet_shapes(Some(met), other.map(|other| other.known))
            });
            // A slot with a known pattern is not checked, because the check costs more than a stronger pattern saves.
            // Differences between vectors are dropped, because the next launch may have others.
            let all = all.map(|all| match all.apart {
                Some(_) => SlotShape::new(all.shape, VECTOR_LANES),
                None => all,
            });
            if let (Some(all), None) = (all, known[a.slot.index()]) {
                checks.push((a.slot, all));
            }
        }
        checks
    }

    /// Where the kernel's phases start; empty if it cannot be cut into phases.
    pub(super) fn phase_starts(&self, entry: Block, cancel: Option<&CancelToken>) -> &[Block] {
        let _section = Section::enter();
        if let Some(starts) = self.starts.get() {
            return starts;
        }
        let phases = match self.metered(entry, cancel, |meter| Ok(self.phases(entry, meter)?)) {
            Ok(phases) => phases,
            Err(Error::Cancelled) => return &[],
            Err(error) => {
                self.refuse(&error);
                None
            }
        };
        self.starts.get_or_init(|| {
            let Some(phases) = phases else { return Vec::new() };
            let starts = phases.list.iter().map(|phase| phase.region.entry).collect();
            *lock(&self.found) = Some(phases);
            starts
        })
    }

    /// Whether all regions reached so far have code of their own. [`Jit::checks`] takes the patterns from them.
    pub(super) fn phases_have_code(&self, entry: Block, cancel: Option<&CancelToken>) -> bool {
        self.phase_starts(entry, cancel).iter().skip(1).all(|&at| {
            let versions = lock(&self.versions[at.index()]);
            !versions.list.is_empty() || self.heat[at.index()].load(Ordering::Relaxed) == 0
        })
    }

    /// The chunk size of a region, in groups of four lanes.
    pub(super) fn chunk_groups(&self, region: &Region) -> u8 {
        let most = self.kernel.func.lanes.div_ceil(4) as u8;
        match self.variant.chunk_groups {
            _ if self.kernel.whole_warps() => most,
            _ if self.variant.single => 1,
            asked => self.generator.chunk_groups(&region.mask, region.whole, asked).min(most),
        }
    }
}

/// The facts that follow from patterns for chunks of `lanes` lanes, as cutting a region needs them.
fn facts(shapes: &Shapes, lanes: u32) -> SlotFacts {
    let mut known = SlotFacts::none(shapes.len());
    for (slot, shape) in shapes.iter().enumerate() {
        let slot = Slot::new(slot);
        match shape {
            Some(of) if of.shape == Shape::Uniform && of.is_whole(lanes) => known.uniform.insert(slot),
            Some(SlotShape { shape: Shape::Ones, .. }) => known.ones.insert(slot),
            _ => continue,
        };
    }
    known
}

/// Sorts phases into reverse postorder, so that only loops lead backwards.
fn in_order(list: Vec<Phase>) -> Vec<Phase> {
    let succs: Vec<Vec<usize>> = list.iter().map(Phase::next).collect();
    let order = warpjit_ir::graph::reverse_postorder(&succs, 0);
    let mut place = vec![usize::MAX; list.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
    let mut sorted: Vec<(usize, Phase)> =
        list.into_iter().enumerate().map(|(old, phase)| (place[old], phase)).collect();
    sorted.sort_by_key(|(new, _)| *new);
    let mut list: Vec<Phase> = sorted.into_iter().map(|(_, phase)| phase).collect();
    for successor in list.iter_mut().flat_map(|phase| &mut phase.successors) {
        *successor = match *successor {
            Successor::Ended => Successor::Ended,
            Successor::Next(to) => Successor::Next(place[to]),
            Successor::Branch { taken, next } => Successor::Branch { taken: place[taken], next: place[next] },
        };
    }
    list
}
