//! Lifts control flow, and sends every other instruction to the file of its topic (docs/hardware/fermi.md section 4,
//! docs/hardware/divergence.md).

use warpjit_ir::{Block, GuestFault, LeaveKind, Opcode, PushKind, Terminator, Type, Value};

use super::analysis::graph;
use super::emit::{Emit, constant, next_block};
use super::topics::atomic;
use super::topics::barrier;
use super::topics::convert;
use super::topics::double;
use super::topics::float;
use super::topics::int;
use super::topics::lanes;
use super::topics::memory;
use super::topics::special;
use super::topics::stage;
use super::topics::surface;
use super::topics::surface_address;
use super::topics::texture;
use super::topics::video;
use crate::fermi::abi::BANKS;
use crate::fermi::modifier::Breakpoint;
use crate::fermi::{Inst, Op, Operand, TRUE_PRED, Topic};

/// Emits one instruction, and what its modifiers do behind it.
pub(super) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    let never = inst.guard.is_some_and(|guard| guard.num == TRUE_PRED && guard.not);
    e.guard = None;
    if never {
        // The guard is never true, so no lane executes the instruction or its join.
        return go_on(e, inst);
    }
    e.guard = e.guard_of(inst);
    let no_space = |operand| matches!(operand, Operand::Const { space, .. } if u32::from(space) >= BANKS);
    if inst.srcs().iter().any(|src| no_space(src.operand)) {
        e.fault(GuestFault::Illegal);
    } else if stage::stores(inst)
        && let Some(alive) = e.own.family.program.plan.and_then(|plan| e.alive(plan))
    {
        // Helpers and discarded lanes store nothing.
        e.guard = Some(e.narrowed(alive));
        body(e, inst);
        if !e.is_done() {
            e.guard = e.guard_of(inst);
        }
    } else {
        body(e, inst);
    }
    if e.is_done() {
        return;
    }
    let cond = e.guard.take();
    if inst.join {
        let next = next_block(e, inst);
        e.terminate(Terminator::Join { cond, next, at_target: true });
    }
}

/// Continues after an instruction that no lane executes.
fn go_on(e: &mut Emit<'_>, inst: &Inst) {
    if let Some(next) = e.own.family.program.blocks.at(inst.next_pc()) {
        e.terminate(Terminator::Jump(next.into()));
    }
}

/// Where the guard and the `$c` condition hold.
fn both(e: &mut Emit<'_>, inst: &Inst) -> Option<Value> {
    let Some(code) = inst.cond else { return e.guard };
    let holds = e.condition(code);
    Some(e.narrowed(holds))
}

fn body(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op.topic() {
        Topic::Float => float::inst(e, inst),
        Topic::Double => double::inst(e, inst),
        Topic::Int => int::inst(e, inst),
        Topic::Convert => convert::inst(e, inst),
        Topic::Special => special::inst(e, inst),
        Topic::Lanes => lanes::inst(e, inst),
        Topic::Video => video::inst(e, inst),
        Topic::Memory => memory::inst(e, inst),
        Topic::Atomic => atomic::inst(e, inst),
        Topic::Barrier => barrier::inst(e, inst),
        Topic::Stage => stage::inst(e, inst),
        Topic::Texture => texture::inst(e, inst),
        Topic::Surface => surface::inst(e, inst),
        Topic::SurfaceAddress => surface_address::inst(e, inst),
        Topic::Control => control(e, inst),
        Topic::Unknown => e.fault(GuestFault::Illegal),
    }
}

fn control(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        // Order of memory is the host's, which is stronger; caches are not there; events only count.
        Op::Nop | Op::PmEvent | Op::Membar | Op::Cctl | Op::TexBar | Op::Sched => {}
        Op::Bra => branch(e, inst),
        Op::BraIndirect => {
            e.guard = both(e, inst);
            indirect(e, inst);
        }
        Op::Call => call(e, inst),
        Op::PreLongjmp => push(e, inst, PushKind::Long),
        Op::JoinAt => push(e, inst, PushKind::Join),
        Op::PreBrk => push(e, inst, PushKind::Break),
        Op::PreCont => push(e, inst, PushKind::Continue),
        Op::PreRet => push(e, inst, PushKind::Call),
        Op::Exit => leave(e, inst, LeaveKind::Exit),
        Op::Longjmp => leave(e, inst, LeaveKind::Long),
        Op::Ret => leave(e, inst, LeaveKind::Return),
        Op::Brk => leave(e, inst, LeaveKind::Break),
        Op::Cont => leave(e, inst, LeaveKind::Continue),
        Op::QuadOn => {
            let next = next_block(e, inst);
            e.terminate(Terminator::QuadOn { next });
        }
        Op::QuadPop => {
            let next = next_block(e, inst);
            e.terminate(Terminator::QuadPop { next });
        }
        Op::Bpt => {
            // The others stop only for a debugger.
            if inst.mods.has(Breakpoint::Trap) {
                e.fault(GuestFault::Trap);
            }
        }
        Op::Discard => discard(e, inst),
        _ => e.fault(GuestFault::Illegal),
    }
}

fn leave(e: &mut Emit<'_>, inst: &Inst, kind: LeaveKind) {
    let cond = both(e, inst);
    if matches!(kind, LeaveKind::Exit | LeaveKind::Return) {
        // A return outside of a function ends the thread.
        e.guard = cond;
        stage::keep_registers(e);
    }
    let next = next_block(e, inst);
    e.terminate(Terminator::Leave { kind, cond, next });
}

/// The fragments are not written; their lanes go on as helpers.
fn discard(e: &mut Emit<'_>, inst: &Inst) {
    let Some(plan) = e.own.family.program.plan else { return e.fault(GuestFault::Illegal) };
    let guard = e.guard;
    e.guard = both(e, inst);
    e.discard(plan);
    e.guard = guard;
}

fn target_block(e: &Emit<'_>, inst: &Inst) -> Option<Block> {
    inst.target_pc().and_then(|pc| e.own.family.program.blocks.at(pc))
}

/// Pushes an entry. Where its target stands in constant memory, the entry's is a block that goes there: nothing writes that memory
/// while a program runs, so it is the same then.
fn push(e: &mut Emit<'_>, inst: &Inst, kind: PushKind) {
    let next = next_block(e, inst);
    if let Some(target) = target_block(e, inst) {
        return e.terminate(Terminator::Push { kind, target, next });
    }
    let Some(computed) = computed(inst) else { return e.fault(GuestFault::Illegal) };
    let target = {
        let pc = e.b.pc;
        e.b.func.add_block(pc)
    };
    e.terminate(Terminator::Push { kind, target, next });
    e.start(target);
    let address = address(e, &computed);
    e.terminate(Terminator::BranchIndirect { address });
}

fn branch(e: &mut Emit<'_>, inst: &Inst) {
    let mut cond = both(e, inst);
    if inst.mods.allwarp
        && let Some(holds) = cond
    {
        if inst
            .target_pc()
            .is_some_and(|target| graph::skips_guarded(e.own.family.program.graph, inst, target))
        {
            return go_on(e, inst);
        }
        // All active lanes jump, or none does.
        let input = e.keep(holds, Type::MASK, 1);
        let outcome = e.temp(Type::MASK, 2);
        e.guard = None;
        e.isolated(|e| {
            let input = e.get(input);
            if let Some(all) = e.b.push(Opcode::VoteAll, &[input], warpjit_ir::Imm::None, Some(Type::MASK)) {
                e.put_in_all_lanes(outcome, all);
            }
        });
        cond = Some(e.get(outcome));
    }
    match (target_block(e, inst), cond) {
        (Some(taken), Some(cond)) => {
            let next = next_block(e, inst);
            e.terminate(Terminator::Branch { cond, taken: taken.into(), next: next.into() });
        }
        (Some(taken), None) => e.terminate(Terminator::Jump(taken.into())),
        (None, cond) => {
            e.guard = cond;
            indirect(e, inst);
        }
    }
}

/// How an address that is not in the instruction is found.
enum Computed {
    /// At this place in a constant space, plus a number.
    Memory { space: u8, base: u8, offset: i32, add: u32 },
    /// In a register, plus a number.
    Register { number: u8, add: u32 },
}

fn computed(inst: &Inst) -> Option<Computed> {
    let relative = if inst.mods.pcrel { inst.next_pc() } else { 0 };
    inst.srcs().iter().find_map(|src| match src.operand {
        Operand::Const { space, base, offset } => {
            Some(Computed::Memory { space, base, offset, add: relative })
        }
        Operand::Reg { num, .. } => {
            // The immediate is a code address: of a relative branch the decoder has added the pc.
            let add = inst.srcs().iter().find_map(|src| match src.operand {
                Operand::Imm(base) => Some(base as u32),
                _ => None,
            });
            Some(Computed::Register { number: num, add: add.unwrap_or(0) })
        }
        _ => None,
    })
}

fn address(e: &mut Emit<'_>, computed: &Computed) -> Value {
    let (value, add) = match *computed {
        Computed::Memory { space, base, offset, add } => {
            let base = e.group(base, 0);
            (e.b.load(constant(space, offset, 4, false), base, None), add)
        }
        Computed::Register { number, add } => (e.reg(number), add),
    };
    let add = e.b.i32(add);
    let sum = e.b.iadd(value, add);
    e.b.splat(sum)
}

/// Goes to a computed address under the guard.
fn indirect(e: &mut Emit<'_>, inst: &Inst) {
    let Some(computed) = computed(inst) else { return e.fault(GuestFault::Illegal) };
    let address = address(e, &computed);
    let Some(cond) = e.guard.take() else { return e.terminate(Terminator::BranchIndirect { address }) };
    let slot = e.keep(address, Type::I32, 4);
    let apart = {
        let pc = e.b.pc;
        e.b.func.add_block(pc)
    };
    let next = next_block(e, inst);
    e.terminate(Terminator::Branch { cond, taken: apart.into(), next: next.into() });
    e.start(apart);
    let address = e.get(slot);
    e.terminate(Terminator::BranchIndirect { address });
}

fn call(e: &mut Emit<'_>, inst: &Inst) {
    let next = next_block(e, inst);
    if let Some(target) = target_block(e, inst) {
        return e.terminate(Terminator::Call { target, ret: next });
    }
    let Some(computed) = computed(inst) else { return e.fault(GuestFault::Illegal) };
    let address = address(e, &computed);
    let slot = e.keep(address, Type::I32, 4);
    let apart = {
        let pc = e.b.pc;
        e.b.func.add_block(pc)
    };
    e.terminate(Terminator::Push { kind: PushKind::Call, target: next, next: apart });
    e.start(apart);
    let address = e.get(slot);
    e.terminate(Terminator::BranchIndirect { address });
}
