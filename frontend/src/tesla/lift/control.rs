//! Lifts control flow, and sends every other instruction to the file of its topic.

use warpjit_ir::{BarrierSpec, Block, GuestFault, LeaveKind, PushKind, Space, Terminator, Value};

use super::emit::Emit;
use super::emit::stage::keep_registers;
use super::topics::atomic;
use super::topics::convert;
use super::topics::float;
use super::topics::int;
use super::topics::memory;
use super::topics::special;
use super::topics::stage;
use super::topics::texture;
use crate::simt::Blocks;
use crate::tesla::{End, Inst, Op, Operand, Topic};

/// Emits one instruction, and what its modifiers do behind it.
pub(super) fn inst(e: &mut Emit<'_>, inst: &Inst, blocks: &Blocks) {
    // A predicate of `never` leaves the instruction out (compilers hang join and exit on such a nop).
    let never = inst.pred.is_some_and(|pred| pred.cond == 0);
    e.guard = match inst.pred {
        // vote takes its predicate as an input.
        Some(pred) if inst.op != Op::Vote && !never => Some(e.predicate(pred)),
        _ => None,
    };
    if !never || inst.op == Op::Vote {
        body(e, inst, blocks);
    } else if is_control(inst.op) {
        go_on(e, inst, blocks);
    }
    e.guard = None;
    if e.is_done() {
        return;
    }
    let next = || blocks.behind(inst.next_pc());
    match inst.end {
        End::None => {}
        End::Exit => {
            keep_registers(e);
            leave(e, LeaveKind::Exit, None, next());
        }
        End::Join => e.terminate(Terminator::Join { cond: None, next: next(), at_target: false }),
    }
}

fn is_control(op: Op) -> bool {
    matches!(op, Op::Bra | Op::Ret | Op::Break)
}

fn go_on(e: &mut Emit<'_>, inst: &Inst, blocks: &Blocks) {
    e.terminate(Terminator::Jump(blocks.behind(inst.next_pc()).into()));
}

fn leave(e: &mut Emit<'_>, kind: LeaveKind, cond: Option<Value>, next: Block) {
    e.terminate(Terminator::Leave { kind, cond, next });
}

fn body(e: &mut Emit<'_>, inst: &Inst, blocks: &Blocks) {
    match inst.op.topic() {
        Topic::Int => int::inst(e, inst),
        Topic::Float => float::inst(e, inst),
        Topic::Convert => convert::inst(e, inst),
        Topic::Memory => memory::inst(e, inst),
        Topic::Atomic => atomic::inst(e, inst),
        Topic::Special => special::inst(e, inst),
        Topic::Stage => stage::inst(e, inst),
        Topic::Texture => texture::inst(e, inst),
        Topic::Control => control(e, inst, blocks),
        Topic::Unknown => e.fault(GuestFault::Illegal),
    }
}

fn control(e: &mut Emit<'_>, inst: &Inst, blocks: &Blocks) {
    let target = inst.target_pc().and_then(|pc| blocks.at(pc));
    let next = || blocks.behind(inst.next_pc());
    let guard = e.guard;
    match inst.op {
        // A breakpoint stops only for a debugger, an event only counts.
        Op::Nop | Op::PmEvent | Op::Brkpt => {}
        Op::Bra => match (target, guard) {
            (Some(taken), Some(cond)) => {
                e.terminate(Terminator::Branch { cond, taken: taken.into(), next: next().into() });
            }
            (Some(taken), None) => e.terminate(Terminator::Jump(taken.into())),
            (None, _) => e.fault(GuestFault::Illegal),
        },
        Op::BraIndirect => indirect(e, inst),
        Op::Call => match target {
            Some(target) => e.terminate(Terminator::Call { target, ret: next() }),
            None => e.fault(GuestFault::Illegal),
        },
        Op::Ret => {
            // Outside of a function it ends the thread.
            keep_registers(e);
            leave(e, LeaveKind::Return, guard, next());
        }
        Op::Break => leave(e, LeaveKind::Break, guard, next()),
        Op::BreakAddr => push(e, PushKind::Break, target, next()),
        Op::JoinAt => push(e, PushKind::Join, target, next()),
        Op::PreRet => push(e, PushKind::Call, target, next()),
        Op::QuadOn => e.terminate(Terminator::QuadOn { next: next() }),
        Op::QuadPop => e.terminate(Terminator::QuadPop { next: next() }),
        Op::Bar => barrier(e, inst, next()),
        Op::Trap => e.fault(GuestFault::Trap),
        _ => e.fault(GuestFault::Illegal),
    }
}

fn push(e: &mut Emit<'_>, kind: PushKind, target: Option<Block>, next: Block) {
    match target {
        Some(target) => e.terminate(Terminator::Push { kind, target, next }),
        None => e.fault(GuestFault::Illegal),
    }
}

/// `bra c[$a + offset]`: the word there is a byte address.
fn indirect(e: &mut Emit<'_>, inst: &Inst) {
    let Some(Operand::Const { space, addr, .. }) = inst.src(0).map(|src| src.operand) else {
        return e.fault(GuestFault::Illegal);
    };
    let (mem, base) = e.address(Space::Const(space), addr, 4, false);
    let address = e.b.load(mem, base, None);
    e.terminate(Terminator::BranchIndirect { address });
}

/// `bar`: the count is of warps, all ones or the `all` form mean the whole block.
fn barrier(e: &mut Emit<'_>, inst: &Inst, next: Block) {
    let number = |n: usize| match inst.src(n).map(|src| src.operand) {
        Some(Operand::Imm(value)) => Some(value),
        _ => None,
    };
    let warps = number(1).filter(|&count| !inst.mods.all && count != 0xfff);
    let spec = BarrierSpec {
        index: number(0).unwrap_or(0) as u8 & 15,
        arrive: inst.mods.inc,
        wait: inst.mods.wait,
        warps,
        from: None,
    };
    if !spec.arrive && !spec.wait {
        return e.terminate(Terminator::Jump(next.into()));
    }
    e.terminate(Terminator::Barrier { spec, next });
}
