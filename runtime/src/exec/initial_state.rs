//! The initial state of a warp, and which part of it must be restored for the next block.
//!
//! Blocks of a launch differ little: most slots that a warp reads before it writes them hold the same value in every block, and
//! slots that the kernel never writes still hold it when the next block reuses the warp's frame. So the initial state is computed
//! once for each warp and kept. A new block restores only the slots that are both read and written.

use std::ops::Range;

use warpjit_backend::LINE_BYTES;
use warpjit_ir::regions::liveness::SlotLiveness;
use warpjit_ir::{Block, Builtin, Function, Imm, Meter, Opcode, Slot, SlotInit, Space, Stopped, Terminator};

/// How warps of a kernel start.
#[derive(Debug)]
pub struct InitialState {
    /// The first block after the prologue.
    pub block: Block,
    /// The block before it that is run once for each warp, if there is one.
    pub prologue: Option<Block>,
    /// Frame words to restore for a new block of the grid.
    pub restored: Vec<Range<usize>>,
    /// Slots whose initial values differ between blocks of the grid: frame words and launch value.
    pub by_block: Vec<(Slot, Range<usize>, Builtin)>,
    /// Whether the kernel uses local memory.
    pub uses_local: bool,
    /// The byte of shared memory, below [`LINE_BYTES`], that should start a cache line of the host.
    pub shared_line: usize,
}

fn depends_on_block(init: SlotInit) -> bool {
    matches!(init, SlotInit::Builtin(Builtin::Ctaid(_) | Builtin::LinearCtaid))
}

impl InitialState {
    /// Analyses a kernel in SPMD form. `keep`: registers are captured at the end.
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
        // These operations read lanes that may not have written a slot in this block, so all slots must be restored.
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
        Ok(InitialState { block, prologue, restored, by_block, uses_local, shared_line })
    }
}

/// The offset within a cache line at which most accesses to shared memory start. Example: arrays that follow the
/// parameters.
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

/// The block after the entry, if the entry executes no guest instruction and computes the same in every block of the
/// grid.
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
