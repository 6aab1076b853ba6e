//! Chooses what a region may assume of the slots at its entry, and checks these assumptions for a warp.
//!
//! Worth assuming are lane patterns of *steering slots*, from which addresses or branch conditions are computed.

use std::collections::HashMap;

use warpjit_backend::{Shape, SlotShape, VECTOR_LANES};
use warpjit_ir::interp::Warp;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::regions::{Kernel, Region, SlotFacts};
use warpjit_ir::{
    Block, BlockCall, Builtin, Function, Group, Imm, Meter, Opcode, Scalar, Slot, SlotInit, Stopped,
    Terminator, Value,
};

use super::{Compiled, Jit};

/// Most lanes of a chunk.
pub(super) const MOST_LANES: usize = 64;

/// What a region assumes of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Assumption {
    pub slot: Slot,
    /// Byte offset in the frame.
    pub offset: u32,
    /// The lane pattern, of whole chunks or of parts of them.
    pub known: SlotShape,
    /// For each lane of a chunk: its value minus the first lane's.
    steps: [u32; MOST_LANES],
    /// For a 2-D affine pattern: lanes of a row. 0 for one stride over all lanes.
    line: u32,
    /// Whether the low 16 bits must not carry into the high ones.
    packed: bool,
}

impl Assumption {
    pub fn new(slot: Slot, offset: u32, known: SlotShape) -> Self {
        let (step, packed) = match known.shape {
            Shape::Uniform | Shape::Ones => (0, false),
            Shape::Affine(step) => (step as u32, false),
            Shape::Packed(step) => (step as u32, true),
            Shape::Lines { step, packed, .. } => (step as u32, packed),
        };
        let line = match (known.shape, known.apart) {
            (Shape::Lines { lanes, apart, .. }, _) => Some((u32::from(lanes), apart)),
            (_, apart) => apart.map(|apart| (VECTOR_LANES, apart)),
        };
        let steps = std::array::from_fn(|lane| match line {
            Some((lanes, apart)) => {
                let (line, lane) = (lane as u32 / lanes, lane as u32 % lanes);
                step.wrapping_mul(lane).wrapping_add((apart as u32).wrapping_mul(line))
            }
            None => step.wrapping_mul(lane as u32),
        });
        Assumption { slot, offset, known, steps, line: line.map_or(0, |(lanes, _)| lanes), packed }
    }

    /// Whether every chunk with an active lane has the pattern.
    #[inline]
    pub fn holds(&self, words: &[u32], active: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has the feature.
            return unsafe { self.holds_avx2(words, active) };
        }
        self.holds_anywhere(words, active)
    }

    /// The same, compiled for AVX2, because it runs before every entry of a region.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn holds_avx2(&self, words: &[u32], active: u64) -> bool {
        self.holds_anywhere(words, active)
    }

    #[inline(always)]
    fn holds_anywhere(&self, words: &[u32], active: u64) -> bool {
        if self.known.shape == Shape::Ones {
            return words[..self.known.lanes as usize].iter().fold(u32::MAX, |all, word| all & word)
                == u32::MAX;
        }
        match self.known.lanes {
            4 => self.holds_in::<4>(words, active),
            8 => self.holds_in::<8>(words, active),
            16 => self.holds_in::<16>(words, active),
            32 => self.holds_in::<32>(words, active),
            _ => self.holds_in::<64>(words, active),
        }
    }

    #[inline(always)]
    fn holds_in<const LANES: usize>(&self, words: &[u32], active: u64) -> bool {
        let (chunks, _) = words.as_chunks::<LANES>();
        let steps: &[u32; LANES] = self.steps.first_chunk().unwrap_or(&[0; LANES]);
        // For each lane of a chunk, the accumulated differences from the pattern over all chunks. The compiler
        // vectorises this.
        let mut odd = [0; LANES];
        let mut carries = 0;
        for (number, chunk) in chunks.iter().enumerate() {
            if active >> (number * LANES) & (u64::MAX >> (64 - LANES)) == 0 {
                continue;
            }
            let first = chunk[0];
            for lane in 0..LANES {
                odd[lane] |= chunk[lane].wrapping_sub(steps[lane]) ^ first;
            }
            carries |= match self.line {
                0 => (u64::from(first & 0xffff) + u64::from(steps[LANES - 1])) >> 16,
                // In the last row, the high half must not carry out either.
                lanes => {
                    let own = steps[LANES.min(lanes as usize) - 1];
                    (u64::from(first & 0xffff) + u64::from(own)) >> 16
                        | (u64::from(first) + u64::from(steps[LANES - 1])) >> 32
                }
            };
        }
        odd.iter().fold(0, |all, lane| all | lane) == 0 && (carries == 0 || !self.packed)
    }
}

/// What can be assumed of the frames of some warps.
pub(super) struct Shapes {
    pub list: Vec<Assumption>,
    /// Slots that have a pattern or were examined for one.
    pub looked_at: Vec<Slot>,
}

/// The lane patterns that a version of a start region was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StartShapes {
    /// Slots that were examined for a pattern.
    pub slots: Vec<Slot>,
    /// Lanes of its chunks.
    pub chunk_lanes: u32,
    /// Whether more could be assumed of other warps that it fits.
    pub little: bool,
}

impl StartShapes {
    pub fn new(slots: Vec<Slot>, chunk_lanes: u32, assumptions: &[Assumption]) -> Self {
        let most = |known: SlotShape| {
            known.is_whole(chunk_lanes) && matches!(known.shape, Shape::Uniform | Shape::Packed(_))
        };
        let little = !slots.iter().all(|&slot| shape_in(assumptions, slot).is_some_and(most));
        StartShapes { slots, chunk_lanes, little }
    }
}

fn shape_in(assumptions: &[Assumption], slot: Slot) -> Option<SlotShape> {
    assumptions.iter().find(|a| a.slot == slot).map(|a| a.known)
}

impl Jit {
    /// Whether warps start at a block, or at the one after it.
    pub(super) fn is_start(&self, at: Block) -> bool {
        let func = &self.kernel.func;
        let behind = |term: &Terminator| matches!(term, Terminator::Jump(call) if call.block == at);
        at == func.entry || func.block(func.entry).term.as_ref().is_some_and(behind)
    }

    /// The assumptions on a region's steering slots that the frames of some warps allow, for chunks of `chunk_lanes`
    /// lanes.
    ///
    /// With `at_start` this includes the difference between consecutive 16-lane vectors. At the start it comes from the
    /// threads' coordinates. Later it may be any number, such as a matrix width, and each number would need code of its
    /// own.
    pub(super) fn shapes(
        &self,
        kernel: &Kernel,
        region: &Region,
        frames: &[&[u32]],
        (chunk_lanes, at_start): (u32, bool),
        meter: &Meter,
    ) -> Result<Shapes, Stopped> {
        let mut list = self.ones(kernel, region, frames);
        let mut looked_at = Vec::new();
        // If all lanes are active, the old values of masked writes steer nothing.
        let mut known = SlotFacts::none(kernel.func.slots.len());
        list.iter().for_each(|a| {
            known.ones.insert(a.slot);
        });
        let special = match list.is_empty() {
            true => None,
            false => kernel.region_within(region.entry, &known, meter)?,
        };
        for slot in steering_slots(&special.as_ref().unwrap_or(region).ssa).iter() {
            let Some(data) = kernel.func.slots.get(slot.index()) else { continue };
            if data.ty.uniform || data.ty.scalar != Scalar::I32 {
                continue;
            }
            list.extend(self.shape_of(slot, frames, (chunk_lanes, at_start)));
            looked_at.push(slot);
        }
        Ok(Shapes { list, looked_at })
    }

    /// Whether code that fits a warp also assumes everything that can be assumed of it. Only examined for regions at
    /// which warps start.
    pub(super) fn suits(&self, code: &Compiled, warp: &Warp) -> bool {
        let Some(start) = code.facts.start.as_ref().filter(|start| start.little) else { return true };
        start.slots.iter().all(|&slot| {
            let best = self.shape_of(slot, &[warp.frame.words()], (start.chunk_lanes, true));
            best.map(|best| best.known) == shape_in(&code.facts.assumptions, slot)
        })
    }

    /// The strongest lane pattern of a 32-bit slot that all of the frames have; parameters as for [`Jit::shapes`].
    pub(super) fn shape_of(
        &self,
        slot: Slot,
        frames: &[&[u32]],
        (chunk_lanes, at_start): (u32, bool),
    ) -> Option<Assumption> {
        let offset = self.offsets[slot.index()];
        let words_of = |frame: &&'_ [u32]| -> Vec<u32> {
            frame[offset as usize / 4..][..self.kernel.func.lanes as usize].to_vec()
        };
        let all: Vec<Vec<u32>> = frames.iter().map(words_of).collect();
        let words = all.first()?;
        let step = words[1].wrapping_sub(words[0]) as i32;
        // Patterns are tried from the strongest down (packed coordinates are affine too). With 16-lane vectors, a
        // pattern within each vector is also useful.
        let parts = if self.generator.knows_vectors() { chunk_lanes.min(VECTOR_LANES) } else { chunk_lanes };
        let whole = |shape| Some(SlotShape::new(shape, chunk_lanes));
        let of_parts = |shape| Some(SlotShape::new(shape, parts));
        // The difference between consecutive vectors.
        let far = words.get(VECTOR_LANES as usize).map(|next| next.wrapping_sub(words[0]) as i32);
        let far = far.filter(|_| at_start && parts < chunk_lanes);
        let apart = |shape| far.map(|far| SlotShape::apart(shape, chunk_lanes, far));
        let halves_apart = far.filter(|far| far & 0xffff == 0);
        // Or 2-D affine, with shorter rows.
        let lines = |lanes: u8| {
            let next = words
                .get(usize::from(lanes))
                .filter(|_| at_start && self.generator.knows_vectors() && parts == VECTOR_LANES)?;
            let apart = next.wrapping_sub(words[0]) as i32;
            let packed = step > 0 && step & !0xffff == 0 && apart > 0 && apart & 0xffff == 0;
            Some(SlotShape::new(Shape::Lines { lanes, step, apart, packed }, chunk_lanes))
        };
        let shapes = [
            whole(Shape::Uniform),
            apart(Shape::Uniform),
            of_parts(Shape::Uniform),
            whole(Shape::Packed(step)),
            whole(Shape::Affine(step)),
            halves_apart.and_then(|_| apart(Shape::Packed(step))),
            apart(Shape::Affine(step)),
            of_parts(Shape::Packed(step)),
            of_parts(Shape::Affine(step)),
            lines(8),
            lines(4),
        ];
        shapes
            .into_iter()
            .flatten()
            .map(|known| Assumption::new(slot, offset, known))
            .find(|assumption| all.iter().all(|words| assumption.holds(words, u64::MAX)))
    }
}

impl Jit {
    /// The lane-mask slots that a region reads and that have all lanes set in the frames of some warps. Then the region
    /// needs no masks for them.
    fn ones(&self, kernel: &Kernel, region: &Region, frames: &[&[u32]]) -> Vec<Assumption> {
        let gets = region.ssa.block(region.ssa.entry).insts.iter().map(|&inst| region.ssa.inst(inst));
        let slots = gets.filter_map(|data| match (data.op, data.imm) {
            (Opcode::SlotGet, Imm::Slot(slot)) => Some(slot),
            _ => None,
        });
        slots
            .filter_map(|slot| {
                let data = kernel.func.slots.get(slot.index())?;
                let lanes = match (data.ty.uniform, data.ty.scalar) {
                    (true, Scalar::I32) if matches!(data.init, SlotInit::Builtin(Builtin::Launched(_))) => 1,
                    (false, Scalar::I1) if kernel.func.lane_mask == Some(slot) => kernel.func.lanes,
                    _ => return None,
                };
                let offset = self.offsets[slot.index()];
                let assumption = Assumption::new(slot, offset, SlotShape::new(Shape::Ones, lanes));
                let words = |frame: &[u32]| assumption.holds(&frame[offset as usize / 4..], u64::MAX);
                frames.iter().all(|frame| words(frame)).then_some(assumption)
            })
            .collect()
    }
}

/// Steering slots: those from which addresses or branch conditions are computed by integer operations. Their pattern is
/// worth a check at each entry.
pub(super) fn steering_slots(ssa: &Function) -> SlotSet {
    let mut slots = SlotSet::empty(ssa.slots.len());
    let mut seen = vec![false; ssa.values.len()];
    let mut work: Vec<Value> = Vec::new();
    // Arguments by parameter.
    let mut arguments: HashMap<Value, Vec<Value>> = HashMap::new();
    for block in ssa.block_ids() {
        for &inst in &ssa.block(block).insts {
            let data = ssa.inst(inst);
            if ssa.mem_access(inst).is_some() {
                work.extend(data.args.first());
            }
        }
        let mut edge = |call: &BlockCall| {
            for (&param, &arg) in ssa.block(call.block).params.iter().zip(&call.args) {
                arguments.entry(param).or_default().push(arg);
            }
        };
        match &ssa.block(block).term {
            Some(Terminator::Jump(call)) => edge(call),
            Some(Terminator::Branch { cond, taken, next }) => {
                work.push(*cond);
                edge(taken);
                edge(next);
            }
            _ => {}
        }
    }
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut seen[value.index()], true) {
            continue;
        }
        let Some(inst) = ssa.def_inst(value) else {
            work.extend(arguments.get(&value).into_iter().flatten());
            continue;
        };
        match (inst.op, inst.imm) {
            (Opcode::SlotGet, Imm::Slot(slot)) => {
                slots.insert(slot);
            }
            (Opcode::Fcmp | Opcode::Fsignals | Opcode::CallPure, _) => {}
            // A select by a mask in a register is never affine.
            (Opcode::Select, _) if is_register(ssa, inst.args[0]) => {}
            (op, _) if op.is_pure() && op.group() != Group::Float => work.extend(&inst.args),
            _ => {}
        }
    }
    slots
}

/// Whether a value was read from a varying slot.
fn is_register(ssa: &Function, value: Value) -> bool {
    !ssa.ty(value).uniform && ssa.def_inst(value).is_some_and(|inst| inst.op == Opcode::SlotGet)
}
