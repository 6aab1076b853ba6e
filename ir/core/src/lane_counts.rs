//! Counts, for statistics, in how many lanes each guest instruction takes effect, if the guest keeps its lane mask in a register
//! (GCN's EXEC).
//!
//! To this IR all lanes of such a warp are active, so the number of active lanes says nothing. A lifter therefore attaches notes
//! to each block: which guest instructions run under which mask ([`LaneCounts`]). Notes cost nothing until somebody counts. Then
//! [`insert`] turns them into `count_lanes` operations, which the interpreter executes. For compiled code, [`expand`] turns these
//! into sums in two slots.

use crate::builder::Builder;
use crate::entities::{Slot, Value};
use crate::function::{Function, Imm, SlotInit};
use crate::opcodes::Opcode;
use crate::types::{Scalar, Type};

/// Guest instructions of a block that run for one set of lanes.
#[derive(Clone, Debug)]
pub struct LaneCount {
    /// All of them have run after this many operations of the block.
    pub at: usize,
    /// The mask of their lanes; `None`: the guest's lane mask at the start of the block.
    pub lanes: Option<Value>,
    /// Addresses of the instructions.
    pub pcs: Vec<u32>,
}

/// The notes of a block, in order. They only serve statistics. They are not part of a function's identity or text, so
/// all are equal.
#[derive(Clone, Debug, Default)]
pub struct LaneCounts(pub Vec<LaneCount>);

impl PartialEq for LaneCounts {
    fn eq(&self, _: &LaneCounts) -> bool {
        true
    }
}

impl std::hash::Hash for LaneCounts {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// Name of the slot in which compiled code counts, for each lane, the instructions that took effect in it.
pub const LANES_SLOT: &str = "#lanes";

/// Name of the slot in which compiled code counts the instructions that run under a lane mask.
pub const MASKED_SLOT: &str = "#masked";

/// Turns the notes of all blocks into `count_lanes` operations. Call it before any pass, because passes do not preserve
/// the notes.
pub fn insert(func: &mut Function) {
    let Some(register) = func.lane_mask else { return };
    for block in func.block_ids() {
        let notes = std::mem::take(&mut func.block_mut(block).lane_counts.0);
        if notes.is_empty() {
            continue;
        }
        let insts = std::mem::take(&mut func.block_mut(block).insts);
        let mut b = Builder::new(func, block);
        let first = notes.iter().any(|note| note.lanes.is_none()).then(|| b.get(register));
        let mut done = 0;
        for note in notes {
            let at = note.at.min(insts.len()).max(done);
            b.func.block_mut(block).insts.extend(&insts[done..at]);
            done = at;
            let Some(lanes) = note.lanes.or(first) else { continue };
            b.pc = note.pcs.last().copied().unwrap_or_default();
            b.func.counted_lanes.push(note.pcs);
            let number = b.func.counted_lanes.len() as u64 - 1;
            b.push(Opcode::CountLanes, &[lanes], Imm::Bits(number), None);
        }
        func.block_mut(block).insts.extend(&insts[done..]);
    }
}

/// Adds the two slots for [`expand`]: the one for lanes and the one for the warp.
pub fn add_slots(func: &mut Function) -> [Slot; 2] {
    [
        func.add_slot(LANES_SLOT, Type::I32, SlotInit::Zero),
        func.add_slot(MASKED_SLOT, Type::uniform(Scalar::I32), SlotInit::Zero),
    ]
}

/// Replaces every `count_lanes` by sums in the two slots.
pub fn expand(func: &mut Function, [lanes_slot, masked_slot]: [Slot; 2]) {
    for block in func.block_ids() {
        if !func.block(block).insts.iter().any(|&i| func.inst(i).op == Opcode::CountLanes) {
            continue;
        }
        for inst in std::mem::take(&mut func.block_mut(block).insts) {
            let data = func.inst(inst);
            let (Opcode::CountLanes, Imm::Bits(number)) = (data.op, data.imm) else {
                func.block_mut(block).insts.push(inst);
                continue;
            };
            let (lanes, pc) = (data.args[0], data.pc);
            let count = func.counted_lanes.get(number as usize).map_or(0, Vec::len) as u32;
            let mut b = Builder::new(func, block);
            b.pc = pc;
            let (more, none) = (b.i32(count), b.i32(0));
            let (before, own) = (b.get(lanes_slot), b.select(lanes, more, none));
            let sum = b.iadd(before, own);
            b.set(lanes_slot, sum);
            let before = b.get(masked_slot);
            let sum = b.iadd(before, more);
            b.set(masked_slot, sum);
        }
    }
}
