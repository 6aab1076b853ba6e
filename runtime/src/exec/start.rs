//! What a warp starts with, and what must be restored of it for the next block.
//!
//! Blocks of a launch differ in little: most slots that a warp reads before it writes them hold the same in every
//! block, and those that the kernel never writes still hold it when the next block uses the warp's frame. So the state at
//! the first instruction is computed once a warp and kept; a new block copies back the few slots that are both
//! read and written.

use std::ops::Range;

use warpjit_ir::lines::LINE_BYTES;
use warpjit_ir::regions::liveness::SlotLiveness;
use warpjit_ir::{Block, Builtin, Function, Imm, Meter, Opcode, Slot, SlotInit, Space, Stopped, Terminator};

/// How warps of a kernel start.
#[derive(Debug)]
pub struct Start {
    /// The first block that does guest work; those before it have run already.
    pub block: Block,
    /// The block that runs once a warp, if there is one before.
    pub prologue: Option<Block>,
    /// Words of the frame to restore for a new block of the grid.
    pub restored: Vec<Range<usize>>,
    /// Slots that differ from block to block of the grid: words and value.
    pub by_block: Vec<(Slot, Range<usize>, Builtin)>,
    /// Whether the kernel has anything in local memory.
    pub uses_local: bool,
    /// The byte of shared memory that should start a line of the host's cache, below [`LINE_BYTES`].
    pub shared_line: usize,
}

fn depends_on_block(init: SlotInit) -> bool {
    matches!(init, SlotInit::Builtin(Builtin::Ctaid(_) | Builtin::LinearCtaid))
}

impl Start {
    /// Looks at a kernel in SPMD form; `keep` is whether registers are wanted at the end.
    pub fn new(func: &Function, keep: bool, meter: &Meter) -> Result<Self, Stopped> {
        let prologue = prologue(func);
        let block = prologue.unwrap_or(func.entry);
        let live = SlotLiveness::compute(func, keep, meter)?;
        let live = live.live_in(block);
        let mut written = vec![false; func.slots.len()];
        for inst in func.insts.iter().filter(|inst| inst.op == Opcode::SlotSet) {
            if let Imm::Slot(slot) = inst.imm {
                written[slot.index()] = true;
            }
        }
        // These look at lanes that may not have written a slot in this block: all must be as at first.
        let looks_around =
            func.insts.iter().any(|inst| matches!(inst.op, Opcode::QuadLane | Opcode::Shuffle));
        let (offsets, _) = func.frame_layout();
        let mut restored: Vec<Range<usize>> = Vec::new();
        let mut by_block = Vec::new();
        for (number, (data, &offset)) in func.slots.iter().zip(&offsets).enumerate() {
            let slot = Slot::new(number);
            let start = offset as usize / 4;
            // A uniform slot's value is its first element.
            let lanes = if data.ty.uniform { 1 } else { func.lanes as usize };
            let words = start..start + data.ty.scalar.frame_bytes() / 4 * lanes;
            if depends_on_block(data.init) {
                if let SlotInit::Builtin(value) = data.init {
                    by_block.push((slot, words, value));
                }
            } else if written[number] && (looks_around || live.contains(slot)) {
                match restored.last_mut() {
                    Some(last) if last.end == words.start => last.end = words.end,
                    _ => restored.push(words),
                }
            }
        }
        let uses_local = func.uses_space(Space::Local);
        let shared_line = shared_line(func);
        let prologue = prologue.map(|_| func.entry);
        Ok(Start { block, prologue, restored, by_block, uses_local, shared_line })
    }
}

/// Where in a line most accesses of shared memory start, as their offsets tell: arrays lie behind parameters, say.
fn shared_line(func: &Function) -> usize {
    let mut starts = [0; LINE_BYTES];
    for &inst in func.blocks.iter().flat_map(|block| &block.insts) {
        let data = func.inst(inst);
        if let (Imm::Mem(mem), Some(&address)) = (data.imm, data.args.first())
            && mem.space == Space::Shared
            && func.as_const(address).is_none()
        {
            starts[mem.offset as usize % LINE_BYTES] += 1;
        }
    }
    let most = starts.iter().max().copied().unwrap_or(0);
    starts.iter().position(|&count| count == most).unwrap_or(0)
}

/// The block behind the entry, if the entry executes no guest instruction and gives the same in every block of the grid.
fn prologue(func: &Function) -> Option<Block> {
    let entry = func.block(func.entry);
    let Some(Terminator::Jump(next)) = &entry.term else { return None };
    let same = entry.insts.iter().map(|&inst| func.inst(inst)).all(|inst| match (inst.op, inst.imm) {
        (Opcode::SlotGet, Imm::Slot(slot)) => !depends_on_block(func.slots[slot.index()].init),
        (Opcode::SlotSet, _) => true,
        (op, _) => op.is_pure(),
    });
    (entry.guest_insts == 0 && next.args.is_empty() && same).then_some(next.block)
}
