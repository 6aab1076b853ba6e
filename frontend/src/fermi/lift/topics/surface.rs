//! Lifts surface instructions: loads and stores by slot (GF100) and by address (GK104); docs/hardware/textures-nv.md sections 11 to 13.

use warpjit_ir::{AtomicOp, GuestFault, Value};

use crate::fermi::lift::emit::Emit;
use crate::fermi::modifier::{SurfaceOutside, SurfaceShape};
use crate::fermi::surface::{
    COORDINATES, FORMAT, OUTSIDE, Operation, Outside, REDUCTIONS, Request, SLOT, SURFACE, VALUES, WAS_OUTSIDE,
};
use crate::fermi::{AtomOp, Inst, Op, Operand, TRUE_PRED, Type, ZERO_REG};

/// Whether an instruction accesses a surface.
pub(in crate::fermi::lift) fn is_surface(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::SuLdB | Op::SuStB | Op::SuStP | Op::SuLea | Op::SuRedP | Op::SuLdGB | Op::SuStGB | Op::SuStGP
    )
}

fn request(inst: &Inst) -> Request {
    let shape = inst.mods.get();
    let ty = inst.mods.ty.unwrap_or(Type::B32);
    let axes = match inst.op {
        Op::SuLdGB | Op::SuStGB | Op::SuStGP => 2,
        _ if shape == Some(SurfaceShape::D1) => 1,
        _ if matches!(shape, Some(SurfaceShape::D3 | SurfaceShape::Array2)) => 3,
        Op::SuRedP => addresses(inst).1,
        _ => 2,
    };
    let atomic = match inst.mods.atom {
        AtomOp::Min if ty.is_signed() => AtomicOp::Smin,
        AtomOp::Min => AtomicOp::Umin,
        AtomOp::Max if ty.is_signed() => AtomicOp::Smax,
        AtomOp::Max => AtomicOp::Umax,
        AtomOp::Inc => AtomicOp::Inc,
        AtomOp::Dec => AtomicOp::Dec,
        AtomOp::And => AtomicOp::And,
        AtomOp::Or => AtomicOp::Or,
        AtomOp::Xor => AtomicOp::Xor,
        _ => AtomicOp::Add,
    };
    Request {
        operation: match inst.op {
            Op::SuLdB | Op::SuLdGB => Operation::Load,
            Op::SuStB | Op::SuStGB => Operation::Store,
            Op::SuStP | Op::SuStGP => Operation::StoreConverted,
            Op::SuLea => Operation::Address,
            _ => Operation::Reduce,
        },
        outside: match inst.mods.get() {
            Some(SurfaceOutside::Trap) => Outside::Fault,
            Some(SurfaceOutside::Clamp | SurfaceOutside::Surface) => Outside::Clamp,
            Some(SurfaceOutside::Zero | SurfaceOutside::Ignore) | None => Outside::Nothing,
        },
        by_address: matches!(inst.op, Op::SuLdGB | Op::SuStGB | Op::SuStGP),
        wide_low: inst.src(0).and_then(|src| src.ty).is_some_and(|ty| ty.bytes() == 4),
        size: ty.bytes().ilog2() as u8,
        signed: ty.is_signed(),
        axes,
        mask: match stored(inst) {
            Some(Operand::Vec { mask, .. }) => mask,
            _ => 0,
        },
        atomic: REDUCTIONS.iter().position(|&op| op == atomic).unwrap_or(0) as u8,
    }
}

/// First register of the coordinates, and how many.
fn addresses(inst: &Inst) -> (u8, u8) {
    let found = inst.srcs().iter().find_map(|src| match src.operand {
        Operand::Vec { base, count, .. } => Some((base, count)),
        Operand::Mem { base, .. } => Some((base, 2)),
        _ => None,
    });
    found.unwrap_or((ZERO_REG, 0))
}

/// What a store takes: the last operand.
fn stored(inst: &Inst) -> Option<Operand> {
    inst.srcs().last().map(|src| src.operand)
}

/// Emits a surface instruction.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    if !matches!(
        inst.op,
        Op::SuLdB | Op::SuStB | Op::SuStP | Op::SuLea | Op::SuRedP | Op::SuLdGB | Op::SuStGB | Op::SuStGP
    ) {
        return e.fault(GuestFault::Illegal);
    }
    let request = request(inst);
    let mailbox = e.own.family.program.mailbox;
    let put = |e: &mut Emit<'_>, word: u32, value: Value| {
        let value = e.b.splat(value);
        e.set_lane_memory(mailbox + 4 * word, value);
    };
    let (first, _) = addresses(inst);
    for n in 0..request.axes {
        let value = e.group(first, n);
        put(e, COORDINATES + u32::from(n), value);
    }
    if request.by_address {
        // Loads: address, format. Stores: address, format, value.
        let format = e.src(inst, 1);
        put(e, FORMAT, format);
        let pred = inst.mods.pred;
        // `$p7` is no predicate at all.
        let outside = if pred.num == TRUE_PRED { e.b.bool(false) } else { e.pred(pred) };
        let outside = e.bit(outside);
        put(e, OUTSIDE, outside);
    } else {
        let slot = inst.srcs().iter().find_map(|src| match src.operand {
            Operand::Image(number) | Operand::Surface(number) => Some((number, false)),
            Operand::ImageReg(number) => Some((number, true)),
            _ => None,
        });
        let slot = match slot {
            Some((register, true)) => e.group(register, 0),
            Some((number, false)) => e.b.i32(number.into()),
            None => e.b.i32(0),
        };
        put(e, SLOT, slot);
    }
    let values = match (request.operation, stored(inst)) {
        (Operation::Load | Operation::Address, _) => None,
        (Operation::StoreConverted, Some(Operand::Vec { base, mask, .. })) => Some((base, mask.count_ones())),
        (_, Some(Operand::Reg { num, .. })) => Some((num, request_words(&request))),
        _ => None,
    };
    if let Some((base, count)) = values {
        for n in 0..count.min(4) {
            let value = e.group(base, n as u8);
            put(e, VALUES + n, value);
        }
    }
    e.call_device(&SURFACE, request.encode(), mailbox);
    let words = match request.operation {
        Operation::Load => request_words(&request),
        Operation::Address => 2,
        _ => 0,
    };
    if let (Some(Operand::Reg { num, .. }), true) = (inst.dst, words > 0) {
        for n in 0..words {
            let value = e.mailbox_word(mailbox, n);
            e.set_group(num, n as u8, value);
        }
    }
    if request.operation == Operation::Address {
        let outside = e.mailbox_word(mailbox, WAS_OUTSIDE);
        let outside = e.test(outside, 1);
        e.set_pred(inst.pdst, outside);
    }
}

/// Registers of a value.
fn request_words(request: &Request) -> u32 {
    1 << request.size.saturating_sub(2)
}
