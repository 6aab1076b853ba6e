//! Describes compiled code as text: which blocks it covers, what it assumes, and its instructions.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use warpjit_backend::{BlockRow, Options, RegionCode, RowSlot, SlotShape, Successor};
use warpjit_ir::regions::Region;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::{Block, BlockCall, Function, Imm, Opcode, Slot, Terminator};

use super::assumptions::Assumption;
use super::phases::{Phase, Phases};
use super::{Jit, lock};
use crate::{CodeKind, CodeListing, CodePart, KnownSlot, Listings};

impl Jit {
    /// What has been compiled so far, if it is kept as text.
    pub fn listings(&self) -> Listings {
        let refused = |block: &Block| {
            let versions = lock(&self.versions[block.index()]);
            versions.impossible && versions.list.is_empty()
        };
        let func = &self.kernel.func;
        let interpreted: BTreeSet<u64> =
            func.block_ids().filter(refused).map(|block| func.block(block).pc.into()).collect();
        Listings {
            functions: lock(&self.listings).iter().map(Arc::clone).collect(),
            interpreted: interpreted.into_iter().collect(),
        }
    }

    /// A region; it has no name yet.
    pub(super) fn list_region(
        &self,
        region: &Region,
        assumptions: &[Assumption],
        lanes: u32,
        made: &mut RegionCode,
    ) -> Box<CodeListing> {
        let assumed = assumptions.iter().map(|a| self.known(a.slot, a.known)).collect();
        self.list(CodeKind::Region, vec![self.part(region, lanes)], assumed, made)
    }

    /// Regions that are joined, with what each assumes; it has no name yet.
    pub(super) fn list_chain<'a>(
        &self,
        regions: impl Iterator<Item = (&'a Region, &'a [Assumption], &'a Options)>,
        made: &mut RegionCode,
    ) -> Box<CodeListing> {
        let parts = regions.map(|(region, assumptions, options)| {
            let lanes = if options.single { 1 } else { 4 * u32::from(options.chunk_groups) };
            let mut part = self.part(region, lanes);
            part.looked_at = assumptions.iter().map(|a| self.known(a.slot, a.known)).collect();
            part
        });
        self.list(CodeKind::Chain, parts.collect(), Vec::new(), made)
    }

    /// Code for rows of blocks; it has no name yet.
    pub(super) fn list_rows(
        &self,
        phases: &Phases,
        row: &BlockRow,
        assumptions: &[Assumption],
        made: &mut RegionCode,
    ) -> Box<CodeListing> {
        let slots = self.kernel.func.slots.len();
        let mut read = SlotSet::empty(slots);
        let mut parts = Vec::new();
        for phase in &phases.list {
            let of_phase = read_slots(&phase.region.mask);
            parts.push(self.phase(phase, &of_phase));
            read.union(&of_phase);
        }
        let mut assumed: Vec<KnownSlot> = assumptions.iter().map(|a| self.known(a.slot, a.known)).collect();
        for slot in read.iter().filter(|slot| slot.index() < slots) {
            let what = match row.slots.get(slot.index()) {
                Some(RowSlot::Same) => "the same in all warps",
                Some(RowSlot::Block) => "the block's index along the row",
                Some(RowSlot::LinearBlock) => "the block's linear index",
                Some(RowSlot::OfWarp) | None => continue,
            };
            assumed.push(KnownSlot { slot: self.name_of(slot), what: what.to_owned() });
        }
        self.list(CodeKind::Rows { whole: row.whole }, parts, assumed, made)
    }

    fn list(
        &self,
        kind: CodeKind,
        parts: Vec<CodePart>,
        assumed: Vec<KnownSlot>,
        made: &mut RegionCode,
    ) -> Box<CodeListing> {
        let text = std::mem::take(&mut made.listing);
        let bytes = made.code.len();
        let (clif, host) = (text.clif, text.assembly);
        Box::new(CodeListing { name: String::new(), kind, parts, assumed, bytes, clif, host })
    }

    fn phase(&self, phase: &Phase, read: &SlotSet) -> CodePart {
        let mut part = self.part(&phase.region, u32::from(phase.chunk_groups) * 4);
        for (text, successor) in part.exits.iter_mut().zip(&phase.successors) {
            *text += &match successor {
                Successor::Ended => String::new(),
                Successor::Next(to) => format!(": phase {to}"),
                Successor::Branch { taken, next } => {
                    format!(": phase {taken} if its condition is true in all lanes, phase {next} if in none")
                }
            };
        }
        let checked = |slot: Slot| phase.checks.iter().any(|(of, ..)| *of == slot);
        for slot in read.iter().filter(|&slot| !checked(slot)) {
            if let Some(&Some(known)) = phase.shapes.get(slot.index()) {
                let mut known = self.known(slot, known);
                if phase.firsts.iter().any(|(of, _)| *of == slot) {
                    known.what += ", of each 16 lanes only the first is stored";
                }
                part.known.push(known);
            }
        }
        part.looked_at = phase.checks.iter().map(|&(slot, known)| self.known(slot, known)).collect();
        part
    }

    fn part(&self, region: &Region, lanes: u32) -> CodePart {
        let func = &self.kernel.func;
        let blocks: BTreeSet<_> = region.blocks.iter().copied().collect();
        CodePart {
            outline: region.outline(func),
            spans: blocks
                .into_iter()
                .map(|block| span(func, block))
                .map(|span| span.start.into()..span.end.into())
                .collect(),
            exits: region.outline_of_exits(func),
            lanes,
            known: Vec::new(),
            looked_at: Vec::new(),
            regions: region.ssa.to_string(),
            mask: region.mask.to_string(),
        }
    }

    fn name_of(&self, slot: Slot) -> String {
        self.kernel.func.slots[slot.index()].name.clone()
    }

    fn known(&self, slot: Slot, known: SlotShape) -> KnownSlot {
        KnownSlot { slot: self.name_of(slot), what: known.to_string() }
    }
}

/// Where the instructions of a block lie.
fn span(func: &Function, block: Block) -> Range<u32> {
    let data = func.block(block);
    // Prologues, and blocks that were cut in two, end where others begin.
    let goes_on = |next: &BlockCall| next.block != block && func.block(next.block).pc == data.term_pc;
    match &data.term {
        Some(Terminator::Jump(next)) if goes_on(next) => data.pc..data.term_pc,
        _ => data.pc..data.term_pc.saturating_add(1),
    }
}

/// Slots that a function reads.
fn read_slots(func: &Function) -> SlotSet {
    let mut slots = SlotSet::empty(func.slots.len());
    for &inst in func.blocks.iter().flat_map(|block| &block.insts) {
        let inst = func.inst(inst);
        if let (Opcode::SlotGet, Imm::Slot(slot)) = (inst.op, inst.imm) {
            slots.insert(slot);
        }
    }
    slots
}
