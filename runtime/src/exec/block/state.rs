//! Takes the state of a block that is between regions, and puts it into another block of the same launch.
//!
//! The state is the same for every tier and kind of host. What compiling adds to a kernel, such as slots for the parts of blocks
//! that it cuts, is not in it: warps go on to the end of such a block first ([`RunningBlock::come_to_rest`]). Slots that the
//! kernel never writes are not in it either. A new block has their values, which only depend on the launch.

use super::{BlockFault, RunningBlock};
use crate::Memory;
use crate::exec::barrier::Barrier;
use crate::exec::memory::View;
use crate::exec::setup::Plan;
use crate::exec::tiers::{Step, Stepper, StopPoll, Tiers};
use warpjit_ir::interp::WarpState;
use warpjit_ir::{Block, Function, Imm, Opcode, Scalar, Slot, Type};

/// What of a kernel is the same in all tiers: the kernel as it was lifted.
#[derive(Debug)]
pub struct Portable {
    /// Its blocks; those that cutting adds have higher numbers.
    blocks: usize,
    /// The slots that it writes, with their types.
    slots: Vec<(Slot, Type)>,
    lanes: u32,
}

/// What is wrong with a state.
pub type BadState = &'static str;

/// A warp, its slots and its local memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarpWords {
    /// Masks, program counter, stack and counts.
    pub state: WarpState,
    /// The barrier that it waits at, and the guest address of the barrier instruction.
    pub waits: Option<(u8, u32)>,
    /// The slots that the kernel writes, one after another: a mask as 64 bits, others as numbers of their size for each lane.
    pub slots: Vec<u8>,
    /// Words of local memory, those of all lanes at one address together.
    pub local: Vec<u8>,
}

/// The state of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockState {
    /// Linear index in the grid.
    pub index: u64,
    /// Its part of memory that is divided among warps.
    pub part: Option<u32>,
    /// Its warps.
    pub warps: Vec<WarpWords>,
    /// Shared memory.
    pub shared: Vec<u8>,
    /// Locks of its words, a bit each.
    pub locks: Vec<u64>,
    /// Its barriers by number.
    pub barriers: Vec<Barrier>,
    /// Contents of its part, as far as the launch provides the memory.
    pub scratch: Vec<u8>,
}

impl Portable {
    /// Looks at a kernel as it was lifted.
    pub fn new(function: &Function) -> Portable {
        let mut written = vec![false; function.slots.len()];
        for inst in function.insts.iter().filter(|inst| inst.op == Opcode::SlotSet) {
            if let Imm::Slot(slot) = inst.imm {
                written[slot.index()] = true;
            }
        }
        let slots = function.slots.iter().enumerate().filter(|(number, _)| written[*number]);
        let slots = slots.map(|(number, slot)| (Slot::new(number), slot.ty)).collect();
        Portable { blocks: function.blocks.len(), slots, lanes: function.lanes }
    }

    /// Lanes of a slot's value that are kept.
    fn lanes_of(&self, ty: Type) -> u32 {
        if ty.uniform { 1 } else { self.lanes }
    }

    /// Bytes that a slot takes.
    fn bytes_of(&self, ty: Type) -> usize {
        match ty.scalar {
            Scalar::I1 => 8,
            scalar => scalar.frame_bytes() * self.lanes_of(ty) as usize,
        }
    }

    /// Bytes of [`WarpWords::slots`].
    fn slot_bytes(&self) -> usize {
        self.slots.iter().map(|(_, ty)| self.bytes_of(*ty)).sum()
    }
}

/// The lanes below a number.
fn lanes_below(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - count.clamp(1, 64)).unwrap_or(u64::MAX)
}

impl RunningBlock {
    /// Brings all warps to the start of a block of the kernel as it was lifted, or to their end.
    ///
    /// # Errors
    /// A warp has faulted on the way.
    pub fn come_to_rest(
        &mut self,
        (plan, tiers, memory): (&Plan, &Tiers, &Memory),
        portable: &Portable,
        stepper: &mut Stepper<'_>,
        stop_poll: &dyn StopPoll,
    ) -> Result<(), BlockFault> {
        if self.fresh {
            self.restart(plan, tiers);
        }
        for number in 0..self.warps.len() {
            loop {
                let resident = &mut self.warps[number];
                let between = resident.midway.is_none();
                if resident.warp.ended || between && resident.warp.block.index() < portable.blocks {
                    break;
                }
                let mut view = View { plan, memory, shared: &mut self.shared, local: &mut resident.local };
                let step = match between {
                    true => Step::Flow(stepper.interpret(&mut resident.warp, &mut view)),
                    false => stepper.step(
                        &mut resident.warp,
                        &mut resident.midway,
                        &mut view,
                        &mut resident.hint,
                        stop_poll,
                        None,
                    ),
                };
                match step {
                    Step::Flow(flow) => _ = self.settle(number, flow, stepper)?,
                    Step::Suspended => {}
                    Step::Stopped => break,
                }
            }
        }
        Ok(())
    }

    /// The state of a block whose warps have come to rest.
    pub fn state(&mut self, plan: &Plan, tiers: &Tiers, memory: &Memory, portable: &Portable) -> BlockState {
        let warps = self.warps.iter_mut().map(|resident| {
            let mut slots = Vec::with_capacity(portable.slot_bytes());
            for &(slot, ty) in &portable.slots {
                let offset = tiers.slot_offset(slot);
                let lanes =
                    (0..portable.lanes_of(ty)).map(|lane| resident.warp.frame.read(offset, ty.scalar, lane));
                match ty.scalar {
                    Scalar::I1 => {
                        let mask = lanes.enumerate().fold(0u64, |mask, (lane, bit)| mask | bit << lane);
                        slots.extend(mask.to_le_bytes());
                    }
                    scalar => {
                        lanes.for_each(|bits| slots.extend(&bits.to_le_bytes()[..scalar.frame_bytes()]))
                    }
                }
            }
            let (mut state, local) = (resident.warp.state(), resident.local.contents().to_vec());
            if state.ended {
                // Where it has ended means nothing, and may be in a part of a block.
                state.block = Block(0);
                state.stack.clear();
            }
            WarpWords { state, waits: resident.waits, slots, local }
        });
        let warps = warps.collect();
        let part = self.part.as_ref();
        BlockState {
            index: self.index,
            part: part.map(|part| part.number()),
            warps,
            shared: self.shared.bytes().to_vec(),
            locks: self.shared.locks().to_vec(),
            barriers: self.barriers.list().to_vec(),
            scratch: part
                .map_or_else(Vec::new, |part| plan.segments.contents(memory, Some(part), plan.warps)),
        }
    }

    /// A block of a launch in a state that was saved. Nothing of it is trusted: what is wrong is an error, and what is
    /// allocated has the size of the state.
    pub fn with_state(
        (plan, tiers, memory): (&Plan, &Tiers, &Memory),
        portable: &Portable,
        stepper: &mut Stepper<'_>,
        state: &BlockState,
    ) -> Result<Box<RunningBlock>, BadState> {
        if state.part.is_some() != plan.segments.have_parts() {
            return Err("a block has a part where there are none, or none where there are");
        }
        let part = match state.part {
            None => None,
            Some(number) => Some(
                plan.segments
                    .take_numbered_part(number)
                    .ok_or("a block's part does not exist or is taken")?,
            ),
        };
        let scratch = part.as_ref().map_or(0, |part| plan.segments.kept_bytes(Some(part), plan.warps));
        let uses_local = tiers.start().uses_local;
        let local =
            if uses_local { plan.local_bytes.next_multiple_of(4) as usize * plan.lanes as usize } else { 0 };
        let sizes = state
            .warps
            .iter()
            .all(|warp| warp.slots.len() == portable.slot_bytes() && warp.local.len() == local);
        if !sizes
            || state.warps.len() != plan.warps as usize
            || state.shared.len() != plan.shared.len()
            || state.locks.len() != plan.shared.len().div_ceil(256)
            || state.scratch.len() as u64 != scratch
        {
            return Err("a block has another size");
        }
        let most = usize::from(u8::MAX) + 1;
        let warps = plan.warps as usize;
        if state.barriers.len() > most || !state.barriers.iter().all(|barrier| barrier.is_sound(warps)) {
            return Err("a barrier cannot be in such a state");
        }
        for warp in &state.warps {
            warp.state.check(portable.blocks, lanes_below(plan.lanes))?;
            if warp.waits.is_some() && warp.state.ended {
                return Err("a warp that has ended waits");
            }
        }
        let mut block = Box::new(RunningBlock::new(plan, tiers, memory, stepper, state.index, part));
        for (resident, words) in block.warps.iter_mut().zip(&state.warps) {
            let mut rest = words.slots.as_slice();
            for &(slot, ty) in &portable.slots {
                let own;
                (own, rest) = rest.split_at(portable.bytes_of(ty));
                let (offset, most) = (tiers.slot_offset(slot), tiers.function().slots[slot.index()].umax);
                let lanes = portable.lanes_of(ty);
                let bits_at = |lane: u32, bytes: usize| {
                    let mut value = [0; 8];
                    value[..bytes].copy_from_slice(&own[lane as usize * bytes..][..bytes]);
                    u64::from_le_bytes(value)
                };
                if ty.scalar == Scalar::I1 && bits_at(0, 8) & !lanes_below(lanes) != 0 {
                    return Err("a mask has lanes that do not exist");
                }
                for lane in 0..lanes {
                    let bits = match ty.scalar {
                        Scalar::I1 => bits_at(0, 8) >> lane & 1,
                        scalar => bits_at(lane, scalar.frame_bytes()),
                    };
                    // Compiled code leaves out tests because of these bounds.
                    if most.is_some_and(|most| bits > most.into()) {
                        return Err("a register is beyond its bound");
                    }
                    resident.warp.frame.write(offset, ty.scalar, lane, bits);
                }
            }
            resident.warp.set_state(&words.state);
            resident.waits = words.waits;
            resident.local.contents().copy_from_slice(&words.local);
            // It is not in its initial state, so nothing is known of its slots.
            resident.hint.run();
        }
        block.living = state.warps.iter().map(|warp| u32::from(!warp.state.ended)).sum();
        block.shared.contents().copy_from_slice(&state.shared);
        block.shared.locks().copy_from_slice(&state.locks);
        block.barriers.set(&state.barriers);
        if let Some(part) = &block.part {
            plan.segments.put_back(memory, Some(part), plan.warps, &state.scratch);
        }
        Ok(block)
    }
}
