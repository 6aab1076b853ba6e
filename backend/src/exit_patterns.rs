//! Derives lane patterns of slots at a region's exits from those at its entry.
//!
//! A *lane pattern* says how a slot's value depends on the lane: uniform, affine, packed coordinates ([`Shape`]). The runtime
//! carries patterns from one phase of a kernel to the next with this, so that the next phase need not check them.

use warpjit_ir::regions::promote::FAULT_EXIT;
use warpjit_ir::{Block, Function, Imm, InstData, Opcode, Scalar, Slot, Terminator, Value};

use crate::affine::{Form, Forms};
use crate::flow::Order;
use crate::shape::{Shape, SlotShape, VECTOR_LANES};
use crate::vector_stride::vector_strides;

/// Returns the slots that a region (in mask form) writes, each with a lane pattern that it has in all lanes at every
/// exit; `None` if no pattern is known. `before` are the patterns at entry.
///
/// The result holds if all lanes of a chunk (of `groups` times four lanes) are active, or may be written as if they
/// were. `devices`: [`crate::Options::has_devices`] of the region.
pub fn slots_after(
    func: &Function,
    before: &[Option<SlotShape>],
    groups: u8,
    devices: bool,
) -> Vec<(Slot, Option<SlotShape>)> {
    let order = Order::new(func);
    let shapes: Vec<Option<Shape>> = before.iter().map(|known| known.map(|known| known.shape)).collect();
    let forms = Forms::new(func, &order.blocks, &shapes, devices);
    let chunk_lanes = u32::from(groups) * 4;
    let of_slots: Vec<Option<i32>> =
        before.iter().map(|known| known.and_then(|known| known.apart_in(chunk_lanes))).collect();
    let apart = match usize::from(groups) / 4 {
        // A chunk of fewer than 16 lanes has no two 16-lane vectors.
        0 => vec![None; func.values.len()],
        vectors => vector_strides(func, &order.blocks, &forms, vectors, &of_slots),
    };
    let shape_of = |v: Value| {
        let shape = match forms.of(v) {
            _ if func.ty(v).scalar == Scalar::I1 && func.as_const(v) == Some(1) => {
                return Some(SlotShape::new(Shape::Ones, chunk_lanes));
            }
            Form::Uniform => Shape::Uniform,
            Form::Affine { stride, packed: false } => Shape::Affine(stride),
            Form::Affine { stride, packed: true } => Shape::Packed(stride),
            _ => return None,
        };
        Some(match apart[v.index()] {
            Some(apart) => SlotShape::apart(shape, chunk_lanes, apart),
            None => SlotShape::new(shape, chunk_lanes.min(VECTOR_LANES)),
        })
    };
    let mut list: Vec<(Slot, Option<SlotShape>)> = Vec::new();
    for &block in &order.blocks {
        for &inst in &func.block(block).insts {
            let data = func.inst(inst);
            let (Opcode::SlotSet, Imm::Slot(slot)) = (data.op, data.imm) else { continue };
            let shape = data.args.first().filter(|_| is_whole_write(func, data)).and_then(|&v| shape_of(v));
            match list.iter_mut().find(|(known, _)| *known == slot) {
                Some((_, known)) => *known = meet(*known, shape),
                None => list.push((slot, shape)),
            }
        }
    }
    for (slot, shape) in &mut list {
        if !is_written_everywhere(func, &order.blocks, *slot) {
            *shape = meet(*shape, before.get(slot.index()).copied().flatten());
        }
    }
    list
}

/// How a region uses 32-bit slots, to decide which of them may be compact: of each 16 lanes only lane 0 in the frame.
#[derive(Clone, Debug, Default)]
pub struct SlotUses {
    /// For each block that ends the region: the exit, and the slots that all lanes write, each with whether lane 0 of
    /// each 16 determines the other lanes.
    pub written: Vec<(u32, Vec<(Slot, bool)>)>,
    /// Slots that only some lanes write, or that are written elsewhere than in blocks that end the region.
    pub mixed: Vec<Slot>,
    /// Slots whose lanes it reads individually.
    pub read_whole: Vec<Slot>,
}

/// Finds how a region (in mask form) uses slots. `before` are the lane patterns at entry; `devices` as in [`slots_after`].
pub fn slot_uses(func: &Function, before: &[Option<SlotShape>], devices: bool) -> SlotUses {
    let order = Order::new(func);
    let shapes: Vec<Option<Shape>> = before.iter().map(|known| known.map(|known| known.shape)).collect();
    let forms = Forms::new(func, &order.blocks, &shapes, devices);
    let even = |v: Value| matches!(forms.of(v), Form::Uniform | Form::Affine { .. });
    let mut uses = SlotUses::default();
    for &block in &order.blocks {
        let exit = match func.term(block) {
            Terminator::Return { exit, .. } if *exit < FAULT_EXIT => Some(*exit),
            _ => None,
        };
        let mut written: Vec<(Slot, bool)> = Vec::new();
        for data in func.block(block).insts.iter().map(|&inst| func.inst(inst)) {
            let Imm::Slot(slot) = data.imm else { continue };
            match data.op {
                Opcode::SlotGet if !data.result.is_some_and(even) => uses.read_whole.push(slot),
                Opcode::SlotSet => match data.args.first() {
                    Some(&v) if exit.is_some() && is_whole_write(func, data) => {
                        let told = even(v) && func.ty(v).scalar == Scalar::I32;
                        match written.iter_mut().find(|(known, _)| *known == slot) {
                            Some((_, all)) => *all &= told,
                            None => written.push((slot, told)),
                        }
                    }
                    _ => uses.mixed.push(slot),
                },
                _ => {}
            }
        }
        uses.written.extend(exit.map(|exit| (exit, written)));
    }
    uses
}

/// Whether a slot write is done by all lanes that entered the region.
fn is_whole_write(func: &Function, data: &InstData) -> bool {
    data.args.get(1).is_none_or(|&m| {
        func.as_const(m) == Some(1) || func.def_inst(m).is_some_and(|d| d.op == Opcode::ActiveMask)
    })
}

/// The strongest lane pattern that both imply.
pub fn meet(a: Option<SlotShape>, b: Option<SlotShape>) -> Option<SlotShape> {
    a?.meet(b?)
}

/// Whether every block that ends the region writes a slot.
fn is_written_everywhere(func: &Function, order: &[Block], slot: Slot) -> bool {
    order.iter().all(|&block| match func.term(block) {
        Terminator::Return { exit, .. } if *exit < FAULT_EXIT => {
            let mut insts = func.block(block).insts.iter().map(|&inst| func.inst(inst));
            insts.any(|data| data.op == Opcode::SlotSet && matches!(data.imm, Imm::Slot(s) if s == slot))
        }
        _ => true,
    })
}
