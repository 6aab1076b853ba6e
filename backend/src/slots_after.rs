//! What is known of slots behind a region, from what is known of them before it.

use warpjit_ir::regions::promote::FAULT_EXIT;
use warpjit_ir::{Block, Function, Imm, Opcode, Scalar, Slot, Terminator, Value};

use crate::affine::{Form, Forms};
use crate::avx512;
use crate::flow::Order;
use crate::options::Shape;

/// Lanes of a vector, each of which has the shape if nothing more is said.
const VECTOR_LANES: u32 = 16;

/// The shapes that the slots have which a region (in mask form) writes, at whichever exit and in all lanes, each with the lanes of
/// the parts of a warp of which each has it; `None` for those of which nothing is known. `before` are the shapes at its entry.
///
/// This is so where all lanes of a chunk of `groups` vectors of four lanes are active, or may be written as if they were.
pub fn slots_after(
    func: &Function,
    before: &[Option<(Shape, u32)>],
    groups: u8,
) -> Vec<(Slot, Option<(Shape, u32)>)> {
    let order = Order::new(func);
    let shapes: Vec<Option<Shape>> = before.iter().map(|known| known.map(|(shape, _)| shape)).collect();
    let forms = Forms::new(func, &order.blocks, &shapes);
    let chunk_lanes = u32::from(groups) * 4;
    let whole: Vec<bool> =
        before.iter().map(|known| known.is_some_and(|(_, lanes)| lanes >= chunk_lanes)).collect();
    let many = avx512::values_by_sixteen(func, &order.blocks, &forms, usize::from(groups) / 4, &whole);
    let lanes_of = |v: Value| if many[v.index()] { VECTOR_LANES } else { chunk_lanes };
    let shape_of = |v: Value| match forms.of(v) {
        _ if func.ty(v).scalar == Scalar::I1 && func.as_const(v) == Some(1) => {
            Some((Shape::Ones, chunk_lanes))
        }
        Form::Uniform => Some((Shape::Uniform, lanes_of(v))),
        Form::Affine { stride, packed: false } => Some((Shape::Affine(stride), lanes_of(v))),
        Form::Affine { stride, packed: true } => Some((Shape::Packed(stride), lanes_of(v))),
        _ => None,
    };
    let mut list: Vec<(Slot, Option<(Shape, u32)>)> = Vec::new();
    for &block in &order.blocks {
        for &inst in &func.block(block).insts {
            let data = func.inst(inst);
            let (Opcode::SlotSet, Imm::Slot(slot)) = (data.op, data.imm) else { continue };
            let whole = data.args.get(1).is_none_or(|&m| {
                func.as_const(m) == Some(1) || func.def_inst(m).is_some_and(|d| d.op == Opcode::ActiveMask)
            });
            let shape = data.args.first().filter(|_| whole).and_then(|&v| shape_of(v));
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

/// What two shapes have in common.
pub fn meet(a: Option<(Shape, u32)>, b: Option<(Shape, u32)>) -> Option<(Shape, u32)> {
    let ((a, a_lanes), (b, b_lanes)) = (a?, b?);
    let shape = match (a, b) {
        (a, b) if a == b => a,
        (Shape::Affine(a) | Shape::Packed(a), Shape::Affine(b) | Shape::Packed(b)) if a == b => {
            Shape::Affine(a)
        }
        _ => return None,
    };
    Some((shape, a_lanes.min(b_lanes)))
}

/// Whether each block that leaves the region writes a slot.
fn is_written_everywhere(func: &Function, order: &[Block], slot: Slot) -> bool {
    order.iter().all(|&block| match func.term(block) {
        Terminator::Return { exit, .. } if *exit < FAULT_EXIT => {
            let mut insts = func.block(block).insts.iter().map(|&inst| func.inst(inst));
            insts.any(|data| data.op == Opcode::SlotSet && matches!(data.imm, Imm::Slot(s) if s == slot))
        }
        _ => true,
    })
}
