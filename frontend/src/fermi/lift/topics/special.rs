//! Lifts instructions that move values between kinds of registers: from general registers to flags (`$c`) and predicates (`$p`) and back,
//! and from special registers, such as the thread's index, to general ones.

use warpjit_ir::{Builtin, GuestFault, Slot, Value};

use super::stage;
use crate::fermi::lift::emit::Emit;
use crate::fermi::{Chip, Family, Inst, LogicOp, Op, Operand, PredSrc, Type, abi};

/// Emits an instruction of this topic.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::CSet | Op::CSetP => {
            let holds = e.condition(inst.mods.compare);
            write_test(e, inst, holds);
        }
        Op::PSet | Op::PSetP => {
            let [a, b] = [0, 1].map(|n| match inst.src(n).map(|src| (src.operand, src.not)) {
                Some((Operand::Pred(num), not)) => e.pred(PredSrc { num, not }),
                _ => e.b.bool(true),
            });
            let holds = combine(e, inst.mods.logic, a, b);
            write_test(e, inst, holds);
        }
        Op::Selp => {
            let (a, b) = (e.src(inst, 0), e.src(inst, 1));
            let holds = e.pred(inst.mods.pred);
            let result = e.b.select(holds, a, b);
            e.write(inst, result);
        }
        Op::Mov => mov(e, inst),
        Op::MovFromSreg => special_register(e, inst),
        Op::MovFromFlags => from_flags(e, inst),
        Op::MovToFlags => to_flags(e, inst),
        Op::Lepc => {
            let pc = e.b.i32(inst.pc);
            e.write(inst, pc);
        }
        _ => e.fault(GuestFault::Illegal),
    }
}

fn combine(e: &mut Emit<'_>, op: LogicOp, a: Value, b: Value) -> Value {
    match op {
        LogicOp::And => e.b.iand(a, b),
        LogicOp::Or => e.b.ior(a, b),
        LogicOp::Xor => e.b.ixor(a, b),
        LogicOp::Mov2 => b,
    }
}

/// Whether combining with the instruction's predicate changes nothing.
fn is_plain(inst: &Inst) -> bool {
    inst.mods.set_logic == LogicOp::And && inst.mods.pred == PredSrc::TRUE
}

/// What `set` does with the outcome of a test: combined with a predicate it goes to a register or, with the combination of
/// its opposite, to two predicates.
pub(in crate::fermi::lift) fn write_test(e: &mut Emit<'_>, inst: &Inst, holds: Value) {
    let plain = is_plain(inst);
    let other = if plain { None } else { Some(e.pred(inst.mods.pred)) };
    let result = match other {
        None => holds,
        Some(other) => combine(e, inst.mods.set_logic, holds, other),
    };
    if matches!(inst.op, Op::FSetP | Op::DSetP | Op::ISetP | Op::CSetP | Op::PSetP | Op::VSetP) {
        let second = inst.pdst2.is_some().then(|| {
            let not = e.b.inot(holds);
            match other {
                None => not,
                Some(other) => combine(e, inst.mods.set_logic, not, other),
            }
        });
        e.set_pred(inst.pdst, result);
        if let Some(second) = second {
            e.set_pred(inst.pdst2, second);
        }
        return;
    }
    let yes = if inst.mods.ty == Some(Type::F32) { 1.0f32.to_bits() } else { u32::MAX };
    let (yes, no) = (e.b.i32(yes), e.b.i32(0));
    let value = e.b.select(result, yes, no);
    e.finish(inst, value);
}

fn mov(e: &mut Emit<'_>, inst: &Inst) {
    let value = e.src(inst, 0);
    e.in_quad_lanes(inst.mods.lanes, |e| e.write(inst, value));
}

/// Places of the flags in `$flags`: predicates from bit 0, `$c` from bit 12.
const CARRY_FIELD: u32 = 12;

/// Where `$flags` stands in the register: the lower half, or the upper one with `high` (chosen).
fn flags_shift(inst: &Inst) -> u32 {
    if inst.mods.high { 16 } else { 0 }
}

/// The flags, each with its bit in `$flags`.
fn flag_bits(e: &Emit<'_>) -> impl Iterator<Item = (Slot, u32)> + use<> {
    let slots = &e.own.family.slots;
    let predicates = slots.predicates.into_iter().zip(0..);
    predicates.chain(slots.flags.into_iter().zip(CARRY_FIELD..))
}

fn from_flags(e: &mut Emit<'_>, inst: &Inst) {
    let mut value = e.b.i32(0);
    for (slot, place) in flag_bits(e) {
        let holds = e.get(slot);
        let bit = e.bit_at(holds, place);
        value = e.b.ior(value, bit);
    }
    let last = inst.srcs().len().saturating_sub(1);
    let mask = e.src(inst, last);
    if inst.mods.high {
        value = e.shl_const(value, flags_shift(inst));
    }
    let mut value = e.b.iand(value, mask);
    if last > 0 {
        let rest = e.src(inst, 0);
        value = e.b.ior(value, rest);
    }
    e.write(inst, value);
}

fn to_flags(e: &mut Emit<'_>, inst: &Inst) {
    let (value, mask) = (e.src(inst, 0), e.src(inst, 1));
    let shift = flags_shift(inst);
    for (slot, place) in flag_bits(e) {
        let bit = 1 << (place + shift);
        let (new, wanted) = (e.test(value, bit), e.test(mask, bit));
        e.under(wanted, |e| e.put_guarded(slot, new));
    }
}

/// Warps of a multiprocessor, as `nphysid` tells (CUDA programming guide, compute capabilities 2.x and 3.0).
fn warps(chip: Chip) -> u32 {
    match chip.family() {
        Family::Gf100 => 48,
        Family::Gk104 => 64,
    }
}

/// Banks of shared memory.
const SHARED_BANKS: u32 = 32;

/// Special registers (docs/hardware/fermi.md section 6): what a launch defines; performance counters, what is of graphics and what only
/// trap handlers see are 0. All warps are on multiprocessor 0.
fn special_register(e: &mut Emit<'_>, inst: &Inst) {
    let number = match inst.src(0).map(|src| src.operand) {
        Some(Operand::Sreg(number)) => number,
        _ => u8::MAX,
    };
    let axis = |first: u8| number - first;
    let value = match number {
        0 => e.builtin(Builtin::LaneId),
        2 => e.b.i32(warps(inst.chip) << 8 | 1 << 20),
        3 => {
            let warp = e.builtin(Builtin::WarpId);
            e.shl_const(warp, 8)
        }
        16..=19 => stage::special_register(e, number),
        32 => e.packed(Builtin::Tid),
        33..=35 => e.builtin(Builtin::Tid(axis(33))),
        37..=39 => e.builtin(Builtin::Ctaid(axis(37))),
        40 => e.packed(Builtin::Ntid),
        41..=43 => e.builtin(Builtin::Ntid(axis(41))),
        45..=47 => e.builtin(Builtin::Nctaid(axis(45))),
        48 => e.b.i32(abi::SHARED_WINDOW),
        49 | 53 => e.b.i32(abi::WINDOW_BYTES),
        50 => e.builtin(Builtin::SharedBytes),
        51 => e.b.i32(SHARED_BANKS),
        52 => e.b.i32(abi::LOCAL_WINDOW),
        54 => {
            let bytes = e.own.family.program.local_bytes;
            e.b.i32(bytes)
        }
        56..=60 => lane_mask(e, number),
        80 => e.clock(),
        _ => e.b.i32(0),
    };
    e.write(inst, value);
}

/// Lanes equal to, below, not above, above, not below the own one.
fn lane_mask(e: &mut Emit<'_>, number: u8) -> Value {
    let lane = e.builtin(Builtin::LaneId);
    let one = e.b.i32(1);
    let own = e.b.ishl(one, lane);
    let below = e.b.isub(own, one);
    match number {
        56 => own,
        57 => below,
        58 => e.b.ior(own, below),
        59 => {
            let up_to = e.b.ior(own, below);
            e.b.inot(up_to)
        }
        _ => e.b.inot(below),
    }
}
