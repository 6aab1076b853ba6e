//! Code for rows of blocks: kernels that are one region, whose warps need nothing from each other.
//!
//! Such a kernel is compiled with the loops over warps and blocks in the code itself ([`BlockRow`]), and run for as many blocks at a time
//! as differ along the first axis only.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use warpjit_backend::{BlockRow, Context, RowField, RowSlot, RowWarp, Shape};
use warpjit_ir::regions::Region;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::{Block, Builtin, KernelAbi, SegmentSize, Slot, SlotInit, Space};

use super::shapes::Assumption;
use super::{Compiled, Jit, RegionFlow, lock, written_slots};
use crate::exec::background::Background;
use crate::vm;

/// Versions of code for rows.
pub(super) const MOST_ROW_VERSIONS: usize = 2;

/// Bytes of a page: as much of a segment can be read, whatever it holds.
const PAGE: u64 = 4096;

/// What a chip's interface says that code for rows makes use of.
#[derive(Debug, Clone, Default)]
pub struct RowFacts {
    fields: Vec<RowField>,
    fixed: Vec<Range<u64>>,
}

impl RowFacts {
    /// Of an interface.
    pub fn new(abi: &KernelAbi) -> RowFacts {
        let fields = abi.header.iter().filter(|field| field.space == Space::Shared).filter_map(|field| {
            let linear = match field.value {
                Builtin::Ctaid(0) => false,
                Builtin::LinearCtaid => true,
                _ => return None,
            };
            let bytes = field.bytes.min(4);
            Some(RowField { offset: field.offset, bytes, linear })
        });
        let fixed = abi.segments.iter().filter(|s| !s.writable && matches!(s.size, SegmentSize::Bytes(_)));
        RowFacts {
            fields: fields.collect(),
            fixed: fixed.map(|segment| segment.address..segment.address + PAGE).collect(),
        }
    }
}

impl Hash for RowFacts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fields.iter().for_each(|f| (f.offset, f.bytes, f.linear).hash(state));
        self.fixed.hash(state);
    }
}

/// What code for rows needs of a launch, besides what it assumes of slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowNeeds {
    /// Slots that must be the same in all warps.
    pub same: Vec<Slot>,
    /// Bytes of shared memory.
    pub shared: u32,
    /// All lanes of every warp must take part.
    pub whole: bool,
}

/// What the blocks of a launch are like, as one of them says.
#[derive(Clone, Copy)]
pub struct BlockLook<'a> {
    /// Frames of its warps.
    pub frames: &'a [&'a [u32]],
    /// Bytes of shared memory.
    pub shared: usize,
    /// All lanes of every warp take part.
    pub whole: bool,
}

/// When code for rows is to be compiled.
#[derive(Clone, Copy)]
pub enum Make<'a> {
    /// At once.
    Now,
    /// Behind the back of the launch.
    Behind(&'a Background),
    /// Not for this; what there is may be used.
    Never,
}

/// A kernel as a row, on its way to be compiled.
pub(super) struct AsRow {
    pub code: BlockRow,
    pub same: Vec<Slot>,
    /// Slots of lanes that are the same in all lanes if they are so in each chunk.
    candidates: Vec<Slot>,
}

impl AsRow {
    /// Tells slots that hold a block's index apart from those of warps, and adds to those that are the same in all warps.
    pub fn assume(&mut self, assumptions: &mut Vec<Assumption>, shapes: &mut [Option<Shape>]) {
        let by_block =
            |slot: Slot| matches!(self.code.slots[slot.index()], RowSlot::Block | RowSlot::LinearBlock);
        assumptions.retain(|a| !by_block(a.slot));
        for (slot, shape) in self.code.slots.iter().zip(shapes) {
            if matches!(slot, RowSlot::Block | RowSlot::LinearBlock) {
                *shape = Some(Shape::Uniform);
            }
        }
        for a in assumptions.iter().filter(|a| a.shape == Shape::Uniform) {
            if self.candidates.contains(&a.slot) {
                self.code.slots[a.slot.index()] = RowSlot::Same;
                self.same.push(a.slot);
            }
        }
    }
}

impl Jit {
    /// Words of a slot that must be the same for [`RowSlot::Same`]: all lanes', or the uniform one.
    fn words_of_slot(&self, slot: Slot) -> Range<usize> {
        let func = &self.kernel.func;
        let ty = func.slots[slot.index()].ty;
        let start = self.offsets[slot.index()] as usize / 4;
        let lanes = if ty.uniform { 1 } else { func.lanes as usize };
        start..start + ty.scalar.frame_bytes() / 4 * lanes
    }

    /// Whether a slot holds the same in all lanes of all warps.
    fn is_same(&self, slot: Slot, frames: &[&[u32]]) -> bool {
        let Some((first, others)) = frames.split_first() else { return false };
        let range = self.words_of_slot(slot);
        let unit = self.kernel.func.slots[slot.index()].ty.scalar.frame_bytes() / 4;
        let words = &first[range.clone()];
        let even = words.chunks(unit).all(|lane| *lane == words[..unit]);
        even && others.iter().all(|frame| frame[range.clone()] == *words)
    }

    /// A region as a row, if it can be one.
    pub(super) fn row_of(&self, region: &Region, frames: &[&[u32]], whole: bool) -> Option<AsRow> {
        let ends = region.exits.iter().all(|exit| matches!(exit, ExitKind::Ended));
        if !ends || written_slots(&region.mask).iter().next().is_some() || writes_shared(region) {
            return None;
        }
        let mut row = AsRow {
            code: BlockRow {
                slots: vec![RowSlot::OfWarp; region.mask.slots.len()],
                fields: self.facts.fields.clone(),
                fixed: self.facts.fixed.clone(),
                whole,
            },
            same: Vec::new(),
            candidates: Vec::new(),
        };
        for (number, data) in self.kernel.func.slots.iter().enumerate() {
            let slot = Slot::new(number);
            row.code.slots[number] = match data.init {
                SlotInit::Builtin(Builtin::Ctaid(0)) => RowSlot::Block,
                SlotInit::Builtin(Builtin::LinearCtaid) => RowSlot::LinearBlock,
                _ if !self.is_same(slot, frames) => RowSlot::OfWarp,
                _ if data.ty.uniform => {
                    row.same.push(slot);
                    RowSlot::Same
                }
                _ => {
                    row.candidates.push(slot);
                    RowSlot::OfWarp
                }
            };
        }
        Some(row)
    }

    /// Whether there is code for rows, or `wanted` would have it made.
    pub fn rows_are_near(&self, wanted: bool) -> bool {
        let versions = lock(&self.rows);
        self.wide && !versions.impossible && !versions.queued && (wanted || !versions.list.is_empty())
    }

    /// Whether there may be code for rows.
    pub fn rows_are_possible(&self) -> bool {
        !lock(&self.rows).impossible
    }

    /// Whether code for rows fits the warps of a block.
    fn row_fits(&self, code: &Compiled, look: BlockLook<'_>) -> bool {
        let Some(needs) = &code.row else { return false };
        let BlockLook { frames, shared, whole } = look;
        let assumed = code.assumptions.iter().all(|a| {
            let start = a.offset as usize / 4;
            frames.iter().all(|frame| a.holds(&frame[start..start + code.lanes], u64::MAX))
        });
        let same = needs.same.iter().all(|&slot| self.is_same(slot, frames));
        assumed && same && shared >= needs.shared as usize && (whole || !needs.whole)
    }

    /// Code for rows of blocks that fits one. `None` where there is none, now or ever.
    pub fn rows(self: &Arc<Self>, at: Block, look: BlockLook<'_>, make: Make<'_>) -> Option<Arc<Compiled>> {
        let mut versions = lock(&self.rows);
        versions.impossible |= !self.wide;
        if versions.impossible || versions.queued {
            return None;
        }
        if let Some(found) = versions.list.iter().find(|code| self.row_fits(code, look)) {
            return Some(found.clone());
        }
        if versions.list.len() >= MOST_ROW_VERSIONS {
            return None;
        }
        match make {
            Make::Now => {}
            Make::Behind(background) => {
                versions.queued = self.compile_rows_behind(at, look, background);
                return None;
            }
            Make::Never => return None,
        }
        self.unsaved.store(true, Ordering::Relaxed);
        lock(&self.compiling).begin();
        let made = self.make(at, look.frames, Some(look.whole));
        lock(&self.compiling).end();
        let added = versions.add(made, |code| self.announce(at, code));
        let code = added.unwrap_or_else(|error| {
            self.refuse(&error);
            None
        })?;
        drop(versions);
        self.row_fits(&code, look).then_some(code)
    }
}

/// Whether a region changes shared memory: each block must find it as the launch says.
fn writes_shared(region: &Region) -> bool {
    let func = &region.mask;
    let insts = func.blocks.iter().flat_map(|b| &b.insts).map(|&i| func.inst(i));
    let mut writes = insts.filter(|i| i.op != warpjit_ir::Opcode::Load);
    writes.any(|inst| match inst.imm {
        warpjit_ir::Imm::Mem(m) | warpjit_ir::Imm::Atomic(m, _) => m.space == Space::Shared,
        _ => false,
    })
}

impl Compiled {
    /// Whether it is code for rows of blocks.
    pub fn is_for_rows(&self) -> bool {
        self.row.is_some()
    }

    /// Runs a row of blocks, of which the context says all but the warps. The context's memory must be the launch's.
    pub fn run_row(&self, context: &mut Context, warps: &mut [RowWarp]) -> RegionFlow {
        let range = warps.as_mut_ptr_range();
        context.exited = 0;
        context.cond = 0;
        context.pures = self.pures.as_ptr();
        context.tables = self.tables.as_ptr();
        context.warp = range.start;
        context.warps_end = range.end;
        if warps.is_empty() || !self.is_for_rows() {
            // There is no block without warps; code for one warp would take their list for its frame.
            return RegionFlow::Stopped;
        }
        // SAFETY: the code was made by the backend for rows of this kernel's blocks; the context's pointers are to memory that lives
        // through the call, `warps` among it, which names frames of this kernel; what it calls does not unwind.
        let result = unsafe {
            vm::enter(self.code.start(), (&raw mut *context).cast(), range.start.cast(), self.mode)
        };
        match result {
            Ok(result) => self.outcome(result, context),
            Err(raw) => self.signal(raw, context),
        }
    }
}
