//! Lifts cross-lane operations: vote, shuffle, quad operations. Lanes whose guard fails take no part in a vote.

use warpjit_ir::{Builtin, GuestFault, Imm, IntCC, Opcode, Scalar, Slot, Type, Value};

use super::float::is_nearest;
use crate::fermi::lift::emit::Emit;
use crate::fermi::numeric::{self, pure};
use crate::fermi::{Inst, Op, Operand, QuadLane, ShflOp, VoteOp, ZERO_REG};

/// Emits a cross-lane instruction.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::Vote => vote(e, inst),
        Op::Shfl => shuffle(e, inst),
        Op::QuadOp => quadop(e, inst),
        _ => e.fault(GuestFault::Illegal),
    }
}

/// The register gets the ballot, the predicate the outcome.
fn vote(e: &mut Emit<'_>, inst: &Inst) {
    let holds = e.pred(inst.mods.pred);
    let (yes, no) = match e.guard {
        None => (holds, e.b.inot(holds)),
        Some(guard) => {
            let not = e.b.inot(holds);
            (e.b.iand(guard, holds), e.b.iand(guard, not))
        }
    };
    let (yes, no) = (e.b.splat(yes), e.b.splat(no));
    let (yes, no) = (e.keep(yes, Type::MASK, 1), e.keep(no, Type::MASK, 2));
    let ballot = inst.dst.is_some_and(|dst| dst.as_reg().is_some_and(|(num, _)| num != ZERO_REG));
    let bits = e.temp(Type::varying(Scalar::I64), 3);
    let [some, other] = [3, 4].map(|n| e.temp(Type::MASK, n));
    let vote = inst.mods.vote;
    let wanted = inst.pdst.is_some();
    e.isolated(|e| {
        let (yes, no) = (e.get(yes), e.get(no));
        if ballot {
            let value = e.b.ballot(yes);
            e.put_in_all_lanes(bits, value);
        }
        let any = |e: &mut Emit<'_>, mask: Value, slot: Slot| {
            if let Some(value) = e.b.push(Opcode::VoteAny, &[mask], Imm::None, Some(Type::MASK)) {
                e.put_in_all_lanes(slot, value);
            }
        };
        if wanted && vote != VoteOp::All {
            any(e, yes, some);
        }
        if wanted && vote != VoteOp::Any {
            any(e, no, other);
        }
    });
    if ballot {
        let value = e.get(bits);
        let value = e.b.convert(Opcode::Trunc, value, Scalar::I32);
        e.write(inst, value);
    }
    if wanted {
        let outcome = match vote {
            VoteOp::Any => e.get(some),
            VoteOp::All => {
                let other = e.get(other);
                e.b.inot(other)
            }
            VoteOp::Uni => {
                let (some, other) = (e.get(some), e.get(other));
                let both = e.b.iand(some, other);
                e.b.inot(both)
            }
        };
        e.set_pred(inst.pdst, outcome);
    }
}

/// The slot of source `n`, which other lanes read: what counts is the register, not a copy made by the active lanes.
fn register(e: &Emit<'_>, inst: &Inst, n: usize) -> Option<Slot> {
    match inst.src(n).map(|src| src.operand) {
        Some(Operand::Reg { num, .. }) => e.own.family.slots.registers.get(usize::from(num)).copied(),
        _ => None,
    }
}

/// A register in the lanes that `index` names; 0 of what is no register.
fn from_lanes(e: &mut Emit<'_>, register: Option<Slot>, index: Value) -> Value {
    let Some(register) = register else { return e.b.i32(0) };
    let index = e.b.splat(index);
    let index = e.keep(index, Type::I32, 1);
    let taken = e.temp(Type::I32, 3);
    e.isolated(|e| {
        let (value, index) = (e.get(register), e.get(index));
        let other = e.b.shuffle(value, index);
        e.put_in_all_lanes(taken, other);
    });
    e.get(taken)
}

/// `shfl` (PTX manual): `c` holds the clamp in bits 0-4 and the mask of segments in bits 8-12. A lane that would read
/// from beyond its segment reads its own value, and the predicate is false.
fn shuffle(e: &mut Emit<'_>, inst: &Inst) {
    let (b, c) = (e.src(inst, 1), e.src(inst, 2));
    let b = e.and_const(b, 31);
    let clamp = e.and_const(c, 31);
    let segment = e.ushr_const(c, 8);
    let segment = e.and_const(segment, 31);
    let lane = e.builtin(Builtin::LaneId);
    let first = e.b.iand(lane, segment);
    let rest = e.b.inot(segment);
    let bound = e.b.iand(clamp, rest);
    let bound = e.b.ior(first, bound);
    let from = match inst.mods.shfl {
        ShflOp::Up => e.b.isub(lane, b),
        ShflOp::Down => e.b.iadd(lane, b),
        ShflOp::Bfly => e.b.ixor(lane, b),
        ShflOp::Idx => {
            let inside = e.b.iand(b, rest);
            e.b.ior(first, inside)
        }
    };
    let cc = if inst.mods.shfl == ShflOp::Up { IntCC::Sge } else { IntCC::Sle };
    let there = e.b.icmp(cc, from, bound);
    let index = e.b.select(there, from, lane);
    let there = e.b.splat(there);
    let there = e.keep(there, Type::MASK, 2);
    let register = register(e, inst, 0);
    let value = from_lanes(e, register, index);
    let there = e.get(there);
    e.write(inst, value);
    e.set_pred(inst.pdst, there);
}

/// Adds or subtracts the value of one lane of the quad, or of a neighbour, and the own source 2.
fn quadop(e: &mut Emit<'_>, inst: &Inst) {
    let lane = e.builtin(Builtin::LaneId);
    let index = match inst.mods.quad_lane {
        QuadLane::Lane(n) => {
            let quad = e.and_const(lane, !3);
            let n = e.b.i32(n.into());
            e.b.ior(quad, n)
        }
        QuadLane::Dx | QuadLane::Dy => {
            let bit = e.b.i32(if inst.mods.quad_lane == QuadLane::Dx { 1 } else { 2 });
            e.b.ixor(lane, bit)
        }
    };
    let register = register(e, inst, 0);
    let other = from_lanes(e, register, index);
    let (left, right) = e.quad_operands(&inst.mods.quad, other, |e| e.src(inst, 1));
    let ftz = inst.mods.ftz;
    let sum = if is_nearest(inst) {
        let sum = e.b.float(Opcode::Fadd, &[left, right], ftz);
        e.b.fcanon(sum, numeric::NAN.into())
    } else {
        let rounding = inst.mods.rounding.unwrap_or_default();
        let flags = numeric::Flags { rounding, ftz, fmz: false, scale: 0 };
        let flags = e.b.i32(flags.encode());
        e.b.call_pure(&pure::ADD, &[flags, left, right])
    };
    e.write_f32(inst, sum);
    if inst.cc_out {
        let flags = e.float_flags(sum, ftz);
        e.set_flags(flags);
    }
}
