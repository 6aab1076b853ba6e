//! Compiles grid-row code, and says what it needs of a launch; [`super::run_row`] runs it. Grid-row code is one function with the loops
//! over the blocks of a grid row and over the warps of a block ([`BlockRow`]).
//!
//! The function consists of phases, which mostly end at barriers ([`super::phases`]). It is for kernels whose warps mostly take the same
//! path. If the warps of a block diverge, it returns, and that block continues warp by warp.
//!
//! - Shapes that a phase cannot know from the phases before are those that the single region at its start was compiled for. So with
//!   several phases one block runs by itself first, before grid-row code is compiled.
//! - Parameters and read-only launch memory are loaded once a row. If blocks are whole warps, the entry mask is a constant; launches of
//!   other blocks do not get that code.
//! - There is none for kernels of which a launch counts or limits instructions, captures registers or shared memory or sets registers,
//!   that have local memory or per-wave segments, or barriers that only arrive or whose number of warps is not constant.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use warpjit_backend::{self as backend, BlockRow, Phase, RowField, RowSlot, Shape, VECTOR_LANES};
use warpjit_ir::regions::Region;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::liveness::{SlotLiveness, SlotSet};
use warpjit_ir::regions::promote::RegionFault;
use warpjit_ir::{Block, Builtin, Function, KernelAbi, Meter, Opcode, Slot, SlotInit, Space, Terminator};

use super::sample_block::{BlockSize, SampleBlock};
use super::{Compiled, Jit, Versions, lock};
use crate::exec::compiler_threads::Background;
use crate::vm;
use crate::{CancelToken, CompileError, Error};

/// Most versions of grid-row code, one for each block class.
pub(super) const MOST_ROW_VERSIONS: usize = 8;

/// What grid-row code uses of a chip's launch interface.
#[derive(Debug, Clone, Default)]
pub struct RowFacts {
    fields: Vec<RowField>,
    fixed: Vec<Range<u64>>,
    /// Bytes of local memory of each lane.
    pub local_bytes: u32,
    /// Whether all lanes of a warp are active at its start ([`KernelAbi::full_warps`]).
    pub full_warps: bool,
}

impl RowFacts {
    /// Takes the facts from an interface; `local_bytes`: what each lane has of local memory.
    pub fn new(abi: &KernelAbi, local_bytes: u32) -> RowFacts {
        let fields = abi.header.iter().filter(|field| field.space == Space::Shared).filter_map(|field| {
            let linear = match field.value {
                Builtin::Ctaid(0) => false,
                Builtin::LinearCtaid => true,
                _ => return None,
            };
            let bytes = field.bytes.min(4);
            Some(RowField { offset: field.offset, bytes, linear })
        });
        RowFacts { fields: fields.collect(), fixed: abi.read_only(), local_bytes, full_warps: abi.full_warps }
    }

    /// Ranges of global memory that nothing stores to while a launch runs.
    pub fn read_only(&self) -> &[Range<u64>] {
        &self.fixed
    }
}

impl Hash for RowFacts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fields.len().hash(state);
        self.fields.iter().for_each(|f| (f.offset, f.bytes, f.linear).hash(state));
        self.fixed.hash(state);
        (self.local_bytes, self.full_warps).hash(state);
    }
}

/// What grid-row code needs of a launch, besides its assumptions on slots, and the exits of its phases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowNeeds {
    /// The block class that it was made for ([`Jit::class_of`]), and the size of one such block.
    pub kind: u64,
    pub size: BlockSize,
    /// Slots that must hold one value in all warps.
    pub same: Vec<Slot>,
    /// Bytes of shared memory.
    pub shared: u32,
    /// Whether all lanes of every warp must be active.
    pub whole: bool,
    /// Whether the code copies initial shared memory for each block.
    pub copies_shared: bool,
    /// Warps that the barriers require, if it is not all.
    pub warps: Option<u32>,
    /// The phases.
    pub phases: Vec<PhaseExits>,
}

impl RowNeeds {
    /// Whether there is a single phase and all threads end with it. Then the code does not report the exits taken.
    pub fn is_plain(&self) -> bool {
        self.phases.len() == 1 && self.phases[0].exits.iter().all(|exit| matches!(exit, ExitKind::Ended))
    }
}

/// A compact slot: the frame has only lane 0 of each 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Firsts {
    pub slot: Slot,
    /// Its first word in the frame.
    pub word: usize,
    /// Its stride.
    pub step: i32,
}

impl Firsts {
    /// Fills in the other lanes in a frame.
    pub fn spread(self, frame: &mut [u32], lanes: usize) {
        let Some(words) = frame.get_mut(self.word..self.word + lanes) else { return };
        for sixteen in words.chunks_mut(VECTOR_LANES as usize) {
            let first = sixteen[0];
            let steps = (0u32..).map(|lane| (self.step as u32).wrapping_mul(lane));
            sixteen.iter_mut().zip(steps).for_each(|(word, more)| *word = first.wrapping_add(more));
        }
    }
}

/// Where a phase starts, and its exits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PhaseExits {
    pub at: Block,
    pub exits: Vec<ExitKind>,
    pub faults: Vec<RegionFault>,
    /// Compact slots at the start of the phase.
    pub firsts: Vec<Firsts>,
    /// For each exit: the phases that may follow.
    pub next: Vec<Vec<u32>>,
}

/// When grid-row code is to be compiled.
#[derive(Clone, Copy)]
pub enum Make<'a> {
    /// At once.
    Now,
    /// In the background.
    Behind(&'a Background),
    /// Not at all; existing code may be used.
    Never,
}

impl Jit {
    /// The frame words of a slot that must be equal for [`RowSlot::Same`]: those of all lanes, or the one of a uniform
    /// slot.
    fn words_of_slot(&self, slot: Slot) -> Range<usize> {
        let func = &self.kernel.func;
        let ty = func.slots[slot.index()].ty;
        let start = self.offsets[slot.index()] as usize / 4;
        let lanes = if ty.uniform { 1 } else { func.lanes as usize };
        start..start + ty.scalar.frame_bytes() / 4 * lanes
    }

    /// Whether a slot holds one value in all lanes of all warps.
    pub(super) fn is_same(&self, slot: Slot, frames: &[&[u32]]) -> bool {
        let Some((first, others)) = frames.split_first() else { return false };
        let range = self.words_of_slot(slot);
        let unit = self.kernel.func.slots[slot.index()].ty.scalar.frame_bytes() / 4;
        let words = &first[range.clone()];
        let even = words.chunks(unit).all(|lane| *lane == words[..unit]);
        even && others.iter().all(|frame| frame[range.clone()] == *words)
    }

    /// Compiles grid-row code for blocks like `sample`. `None` if the kernel cannot have any.
    pub(super) fn make_rows(
        &self,
        entry: Block,
        sample: SampleBlock<'_>,
        meter: &Meter,
    ) -> Result<Option<Compiled>, Error> {
        let func = &self.kernel.func;
        let frames = sample.frames;
        if self.variant.keep_registers || self.variant.count || self.variant.single || frames.is_empty() {
            return Ok(None);
        }
        let found = { lock(&self.found).take() };
        let found = if found.is_some() { found } else { self.phases(entry, meter)? };
        let Some(mut phases) = found else { return Ok(None) };
        // These operations read lanes without a thread, or activate them.
        let looks = func.insts.iter().any(|inst| matches!(inst.op, Opcode::QuadLane | Opcode::Shuffle));
        let wakes = func.blocks.iter().any(|b| matches!(b.term, Some(Terminator::QuadOn { .. })));
        let keeps_lanes = looks || wakes;
        let live = SlotLiveness::compute(func, false, meter)?;
        let live = live.live_in(entry);
        let mut row = BlockRow {
            slots: vec![RowSlot::OfWarp; func.slots.len()],
            fields: self.facts.fields.clone(),
            fixed: self.facts.fixed.clone(),
            restored: Vec::new(),
            indexed: Vec::new(),
            copies_shared: phases.list.iter().any(|phase| writes_shared(&phase.region)),
            keeps_lanes,
            whole: sample.whole,
        };
        let mut of_block = SlotSet::empty(func.slots.len());
        let (mut same, mut candidates) = (Vec::new(), Vec::new());
        for (number, data) in func.slots.iter().enumerate() {
            let slot = Slot::new(number);
            let words = self.words_of_slot(slot);
            let bytes = 4 * words.start as u32..4 * words.end as u32;
            let written = phases.written.contains(slot);
            let matters = written && (keeps_lanes || live.contains(slot));
            row.slots[number] = match data.init {
                SlotInit::Builtin(which @ (Builtin::Ctaid(0) | Builtin::LinearCtaid)) => {
                    of_block.insert(slot);
                    let linear = which == Builtin::LinearCtaid;
                    match (written, linear) {
                        (true, _) => {
                            if matters {
                                row.indexed.push((bytes, linear));
                            }
                            RowSlot::OfWarp
                        }
                        (false, false) => RowSlot::Block,
                        (false, true) => RowSlot::LinearBlock,
                    }
                }
                _ if written => {
                    if matters {
                        row.restored.push(bytes);
                    }
                    RowSlot::OfWarp
                }
                _ if !self.is_same(slot, frames) => RowSlot::OfWarp,
                _ if data.ty.uniform => {
                    same.push(slot);
                    RowSlot::Same
                }
                _ => {
                    candidates.push(slot);
                    RowSlot::OfWarp
                }
            };
        }
        let found = self.propagate_patterns_of_warps(&mut phases, sample, &of_block, keeps_lanes, meter)?;
        let Some(assumptions) = found else { return Ok(None) };
        for a in assumptions.iter().filter(|a| a.known.shape == Shape::Uniform) {
            if candidates.contains(&a.slot) {
                row.slots[a.slot.index()] = RowSlot::Same;
                same.push(a.slot);
            }
        }
        let options = self.settings();
        let list: Vec<Phase<'_>> = phases
            .list
            .iter()
            .map(|phase| Phase {
                func: &phase.region.mask,
                chunk_groups: phase.chunk_groups,
                slot_shapes: phase.shapes.iter().map(|known| known.map(|known| known.shape)).collect(),
                apart: phase.vector_strides(),
                by_firsts: phase.by_firsts.clone(),
                insts: guest_insts(func, &phase.region),
                successors: phase.successors.clone(),
                checks: phase.checks.clone(),
            })
            .collect();
        meter.stage("generating its code")?;
        let mut made = backend::compile_phases(&list, &row, &options).map_err(CompileError::from)?;
        meter.hold(made.code.len())?;
        let listing = options.list.then(|| self.list_rows(&phases, &row, &assumptions, &mut made));
        let exits = |phase: super::phases::Phase| PhaseExits {
            at: phase.region.entry,
            exits: phase.region.exits,
            faults: phase.region.faults,
            firsts: phase.firsts.iter().map(|&(slot, step)| self.firsts_of(slot, step)).collect(),
            next: phase
                .successors
                .iter()
                .map(|successor| successor.phases().map(|to| to as u32).collect())
                .collect(),
        };
        let needs = RowNeeds {
            kind: self.class_of(sample),
            size: sample.size(),
            same,
            shared: made.shared_reach,
            whole: sample.whole,
            copies_shared: row.copies_shared,
            warps: phases.warps,
            phases: phases.list.into_iter().map(exits).collect(),
        };
        let mut code = self.compiled(made, entry)?;
        (code.facts.assumptions, code.facts.written, code.facts.row) =
            (assumptions, phases.written, Some(needs));
        code.listing = listing;
        Ok(Some(code))
    }

    /// Whether there is grid-row code, or `wanted` allows making it.
    pub fn rows_are_near(&self, wanted: bool) -> bool {
        let versions = lock(&self.rows);
        let may_come = wanted && !versions.impossible && !versions.is_queued();
        may_come || !versions.list.is_empty()
    }

    /// Whether a block of this size must first run warp by warp. That shows the lane patterns between phases, from
    /// which grid-row code for its class is made.
    pub fn rows_need_a_run(&self, size: BlockSize, cancel: Option<&CancelToken>) -> bool {
        if self.variant.single {
            // It has no grid-row code, and finding the phases takes as long as a third of its compilation.
            return false;
        }
        let kind = self.known_class(size);
        let is_own =
            |code: &Arc<Compiled>| code.facts.row.as_ref().is_some_and(|needs| Some(needs.kind) == kind);
        let made = { lock(&self.rows).list.iter().any(is_own) };
        let func = &self.kernel.func;
        // A kernel with a barrier has several phases. Testing that is cheaper than finding them, which would take
        // longer than a start from the cache.
        let waits = || func.blocks.iter().any(|b| matches!(b.term, Some(Terminator::Barrier { .. })));
        !made && (waits() || self.phase_starts(func.entry, cancel).len() > 1)
    }

    /// Whether there may be grid-row code.
    pub fn rows_are_possible(&self) -> bool {
        !lock(&self.rows).impossible
    }

    pub(super) fn firsts_of(&self, slot: Slot, step: i32) -> Firsts {
        Firsts { slot, word: self.offsets[slot.index()] as usize / 4, step }
    }

    /// Whether grid-row code fits the warps of a block.
    fn row_fits(&self, code: &Compiled, sample: SampleBlock<'_>) -> bool {
        let Some(needs) = &code.facts.row else { return false };
        let SampleBlock { frames, shared, whole, .. } = sample;
        let assumed = code.facts.assumptions.iter().all(|a| {
            let start = a.offset as usize / 4;
            frames.iter().all(|frame| a.holds(&frame[start..start + code.lanes], u64::MAX))
        });
        let same = needs.same.iter().all(|&slot| self.is_same(slot, frames));
        let waits = needs.warps.is_none_or(|warps| warps as usize == frames.len());
        assumed && same && waits && shared >= needs.shared as usize && (whole || !needs.whole)
    }

    /// Number of versions of grid-row code.
    pub fn row_versions(&self) -> usize {
        lock(&self.rows).list.len()
    }

    /// Grid-row code that fits a block, and whether it was made for the block's class. `None` if there is none.
    pub fn rows(
        self: &Arc<Self>,
        at: Block,
        sample: SampleBlock<'_>,
        make: Make<'_>,
        cancel: Option<&CancelToken>,
    ) -> Option<(Arc<Compiled>, bool)> {
        let mut versions = lock(&self.rows);
        if versions.list.is_empty() && (versions.impossible || versions.is_queued()) {
            return None;
        }
        let kind = self.class_of(sample);
        let is_own = |code: &Compiled| code.facts.row.as_ref().is_some_and(|needs| needs.kind == kind);
        let mut fitting = versions.list.iter().filter(|code| self.row_fits(code, sample));
        let found = fitting.clone().find(|code| is_own(code)).or_else(|| fitting.next()).cloned();
        let found = found.map(|code| (is_own(&code), code)).map(|(own, code)| (code, own));
        if matches!(found, Some((_, true))) {
            return found;
        }
        let may = !versions.impossible
            && !versions.is_queued()
            && versions.list.len() < MOST_ROW_VERSIONS
            && lock(&self.kinds).may_try(kind);
        match make {
            Make::Now if may => {}
            Make::Behind(background) if may && self.phases_have_code(at, cancel) => {
                let queued = self.compile_rows_behind(at, sample, background);
                versions.set_queued(queued);
                if queued {
                    return found;
                }
                // The queue is as long as it may be: this thread does it.
            }
            _ => return found,
        }
        self.unsaved.store(true, Ordering::Relaxed);
        lock(&self.compiling).begin();
        let made =
            vm::on_stack_for_compiler(|| self.metered(at, cancel, |meter| self.make_rows(at, sample, meter)));
        lock(&self.compiling).end();
        if matches!(made, Err(Error::Cancelled)) {
            return found;
        }
        let added = self.add_rows(&mut versions, made, sample).filter(|code| self.row_fits(code, sample));
        added.map(|code| (code, true)).or(found)
    }

    /// Records the result of compiling grid-row code for such blocks.
    pub(super) fn add_rows(
        &self,
        versions: &mut Versions,
        made: Result<Option<Compiled>, Error>,
        sample: SampleBlock<'_>,
    ) -> Option<Arc<Compiled>> {
        let kind = self.class_of(sample);
        lock(&self.kinds).has_tried(kind);
        let added = versions.add(made, false, |code| self.announce(code.at, code));
        added.unwrap_or_else(|error| {
            self.refuse(&error);
            None
        })
    }
}

/// Guest instructions that one run of a region is counted as: those of its first block, or of the block after the
/// prologue.
fn guest_insts(func: &Function, region: &Region) -> u32 {
    let first = func.block(region.entry).guest_insts;
    let behind = region.blocks.get(1).filter(|_| first == 0 && region.entry == func.entry);
    behind.map_or(first, |&block| func.block(block).guest_insts)
}

/// Whether a region writes shared memory, so that each block needs its initial contents again.
fn writes_shared(region: &Region) -> bool {
    let func = &region.mask;
    let insts = func.blocks.iter().flat_map(|b| &b.insts).map(|&i| func.inst(i));
    let mut writes = insts.filter(|i| i.op != warpjit_ir::Opcode::Load);
    writes.any(|inst| match inst.imm {
        warpjit_ir::Imm::Mem(m) | warpjit_ir::Imm::Atomic(m, _) => m.space == Space::Shared,
        _ => false,
    })
}
