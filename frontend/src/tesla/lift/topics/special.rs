//! Lifts moves of `$c`, `$a` and special registers, and vote and quadop.

use warpjit_ir::{Builtin, GuestFault, Imm, Opcode, Type, Value};

use super::convert::creg_flags;
use super::float::{canonical, set_f32_flags};
use crate::isa::Stage;
use crate::tesla::lift::emit::Emit;
use crate::tesla::{Inst, Op, Operand, QuadLane};

/// Emits an instruction of this topic.
pub(in crate::tesla::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::MovFromCreg => {
            let creg = match inst.src(0).map(|src| src.operand) {
                Some(Operand::Creg(creg)) => creg,
                _ => 0,
            };
            let mut value = e.b.i32(0);
            for flag in 0..4 {
                let holds = e.flag(creg, flag);
                let bit = e.bit_at(holds, flag as u32);
                value = e.b.ior(value, bit);
            }
            e.write(inst, value);
        }
        Op::MovToCreg => {
            let value = e.src(inst, 0);
            let flags = creg_flags(e, value);
            e.set_flags(inst, flags);
        }
        Op::MovFromAreg => {
            let value = e.src(inst, 0);
            e.write(inst, value);
        }
        Op::ShlToAreg => {
            let value = e.src(inst, 0);
            let count = e.src(inst, 1);
            let shifted = e.b.ishl(value, count);
            set_areg(e, inst, shifted);
        }
        Op::AddAreg => {
            let value = e.src(inst, 0);
            let addend = e.src(inst, 1);
            let sum = e.b.iadd(value, addend);
            set_areg(e, inst, sum);
        }
        Op::MovFromSreg => special_register(e, inst),
        Op::Vote => vote(e, inst),
        Op::QuadOp => quadop(e, inst),
        _ => e.fault(GuestFault::Illegal),
    }
}

fn set_areg(e: &mut Emit<'_>, inst: &Inst, value: Value) {
    if let Some(Operand::Areg(number)) = inst.dst {
        e.set_areg(number, value);
    }
}

/// physid is lane and warp on multiprocessor 0; the vertex stride is the 32 it always seems to be; the counters and
/// the sample stay at 0.
fn special_register(e: &mut Emit<'_>, inst: &Inst) {
    let number = match inst.src(0).map(|src| src.operand) {
        Some(Operand::Sreg(number)) => number,
        _ => 2,
    };
    let value = match number {
        0 => {
            let lane = e.builtin(Builtin::LaneId);
            let warp = e.builtin(Builtin::WarpId);
            let warp = e.shl_const(warp, 8);
            e.b.ior(lane, warp)
        }
        1 => e.clock(),
        3 => e.b.i32(0x20),
        _ => e.b.i32(0),
    };
    e.write(inst, value);
}

/// The predicate is the input; `$c` becomes S or Z in every active lane.
fn vote(e: &mut Emit<'_>, inst: &Inst) {
    let holds = match inst.pred {
        Some(pred) => e.predicate(pred),
        None => e.b.bool(true),
    };
    let input = e.keep(holds, Type::MASK, 1);
    let op = if inst.mods.vote_all { Opcode::VoteAll } else { Opcode::VoteAny };
    let outcome = e.temp(Type::MASK, 2);
    e.isolated(|e| {
        let input = e.get(input);
        if let Some(value) = e.b.push(op, &[input], Imm::None, Some(Type::MASK)) {
            e.put_in_all_lanes(outcome, value);
        }
    });
    let outcome = e.get(outcome);
    let flags = e.test_flags(outcome);
    e.set_flags(inst, flags);
}

/// Adds or subtracts the value of one lane of the quad, or in fragment programs of a neighbour, and the own source 3. The neighbour forms
/// give 0 elsewhere.
fn quadop(e: &mut Emit<'_>, inst: &Inst) {
    let distance = match inst.mods.quad_lane {
        QuadLane::Lane(_) => None,
        QuadLane::Dx => Some(1),
        QuadLane::Dy => Some(2),
    };
    if distance.is_some() && inst.target.stage != Stage::Fragment {
        let zero = e.b.f32(0.0);
        e.write_f32(inst, zero);
        return set_f32_flags(e, inst, zero);
    }
    // The lane asked for may be inactive: what counts is its register, not a copy made by the active lanes.
    let register = match inst.src(0).map(|src| src.operand) {
        Some(Operand::Reg { num, .. }) => e.own.family.slots.registers.get(usize::from(num)).copied(),
        _ => None,
    };
    let taken = e.temp(Type::I32, 3);
    e.isolated(|e| {
        let value = match register {
            Some(slot) => e.get(slot),
            None => e.b.i32(0),
        };
        let other = match (inst.mods.quad_lane, distance) {
            (QuadLane::Lane(lane), _) => {
                e.b.push(Opcode::QuadLane, &[value], Imm::Bits(lane.into()), Some(Type::I32))
            }
            (_, distance) => {
                let own = e.builtin(Builtin::LaneId);
                let distance = e.b.i32(distance.unwrap_or(0));
                let neighbour = e.b.ixor(own, distance);
                Some(e.b.shuffle(value, neighbour))
            }
        };
        if let Some(other) = other {
            e.put_in_all_lanes(taken, other);
        }
    });
    let other = e.get(taken);
    let (left, right) = e.quad_operands(&inst.mods.quad, other, |e| e.src(inst, 1));
    let sum = e.b.float(Opcode::Fadd, &[left, right], true);
    let sum = canonical(e, sum);
    e.write_f32(inst, sum);
    set_f32_flags(e, inst, sum);
}
