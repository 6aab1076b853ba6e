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
use crate::regions::EXEC_SLOT;
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

/// The slot of the guest's lane mask, if the function has one.
fn lane_register(func: &Function) -> Option<Slot> {
    func.slots.iter().position(|slot| slot.name == EXEC_SLOT && slot.ty == Type::MASK).map(Slot::new)
}

/// Whether the guest keeps its lane mask in a register.
pub fn has_lane_register(func: &Function) -> bool {
    lane_register(func).is_some()
}

/// Turns the notes of all blocks into `count_lanes` operations. Call it before any pass, because passes do not preserve
/// the notes.
pub fn insert(func: &mut Function) {
    let Some(register) = lane_register(func) else { return };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{Form, LeaveKind, Terminator};
    use crate::interp;
    use crate::interp::{Code, Flow, Scratch, Stats, Warp, WarpMemory};
    use crate::text::parse_function;

    /// No instruction here accesses memory.
    struct Nothing;

    impl WarpMemory for Nothing {
        fn load(&mut self, _: crate::Space, _: u32, _: u64, _: u8) -> Result<u64, interp::Denied> {
            Err(interp::Denied)
        }

        fn store(&mut self, _: crate::Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), interp::Denied> {
            Err(interp::Denied)
        }

        fn lock(&mut self, _: u32, _: u64) -> bool {
            false
        }

        fn unlock_store(&mut self, _: u32, _: u64, _: u32) {}
    }

    /// Five instructions, two of them for the lanes in EXEC at first, one for the lower half, two for none; all lanes are active.
    fn function() -> Function {
        let mut func = Function::new("test", Form::Spmd, 64);
        let exec = func.add_slot(EXEC_SLOT, Type::MASK, SlotInit::Zero);
        let own = func.add_slot("lane", Type::I32, SlotInit::Builtin(crate::Builtin::LaneId));
        let block = func.add_block(0);
        let mut b = Builder::new(&mut func, block);
        let (lane, half) = (b.get(own), b.i32(32));
        b.pc = 16;
        let lower = b.icmp(crate::IntCC::Ult, lane, half);
        b.set(exec, lower);
        b.pc = 32;
        b.terminate(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next: block });
        let data = func.block_mut(block);
        data.guest_insts = 5;
        let at = data.insts.len();
        data.lane_counts = LaneCounts(vec![
            LaneCount { at: 2, lanes: None, pcs: vec![0, 8] },
            LaneCount { at, lanes: Some(lower), pcs: vec![24] },
        ]);
        func
    }

    fn run(func: &Function, exec: u64) -> (Code, Warp) {
        let code = Code::new(func).expect("valid");
        let mut warp = Warp::new(&code, u64::MAX, |builtin, lane| match builtin {
            crate::Builtin::LaneId => lane,
            _ => 0,
        });
        let place = func.frame_layout().0[0];
        (0..64).for_each(|lane| warp.frame.write(place, Scalar::I1, lane, exec >> lane & 1));
        let mut scratch = Scratch::new(&code);
        scratch.stats = Some(Box::<Stats>::default());
        assert_eq!(code.run_block(&mut scratch, &mut warp, &mut Nothing), Flow::Ended);
        (code, warp)
    }

    #[test]
    fn notes_are_counted_by_the_interpreter_and_as_sums_in_slots() {
        let plain = function();
        let mut noted = plain.clone();
        insert(&mut noted);
        let printed = noted.to_string();
        assert_eq!(printed.matches("count_lanes").count(), 2, "{printed}");
        assert_eq!(parse_function(&printed, &[]).map(|func| func.to_string()).as_deref(), Ok(&*printed));
        for exec in [0, 1, 0xff00_0000_0000_00ff, u64::MAX] {
            let lanes = 2 * u64::from(exec.count_ones()) + 32;
            let (_, mut warp) = run(&noted, exec);
            assert_eq!(warp.take_lanes(), (lanes, 3 * 64), "{exec:x}");
            let mut summed = noted.clone();
            let slots = add_slots(&mut summed);
            expand(&mut summed, slots);
            let (_, warp) = run(&summed, exec);
            let [own, all] = slots.map(|slot| summed.frame_layout().0[slot.index()]);
            let sum: u64 = (0..64).map(|lane| warp.frame.read(own, Scalar::I32, lane)).sum();
            assert_eq!((sum, warp.frame.read(all, Scalar::I32, 0)), (lanes, 3), "{exec:x}");
        }
    }

    /// Whether somebody notes is no part of what a function is.
    #[test]
    fn notes_change_nothing() {
        let mut other = function();
        other.block_mut(crate::Block::new(0)).lane_counts.0.clear();
        assert_eq!(function(), other);
        assert_eq!(function().to_string(), other.to_string());
    }
}
