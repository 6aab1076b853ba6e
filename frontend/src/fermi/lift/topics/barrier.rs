//! Lifts `bar` (docs/hardware/fermi.md section 2).
//!
//! `popc`, `and` and `or` return a result: all threads of the block are counted in memory that the launch provides. Each lane
//! adds to a counter before the barrier and reads it after the barrier. The memory is a segment for each warp, of which a block
//! uses only its first warp's. Each barrier has three counters, used in turn: while the warps count in one, the previous one may
//! still be read, and each warp clears the previous one when all warps have arrived at the next barrier.

use warpjit_ir::{
    AtomicOp, BarrierSpec, Block, Builder, Builtin, GuestFault, Imm, IntCC, MemAccess, Opcode, Slot,
    SlotInit, Space, Terminator, Type, Value,
};

use crate::fermi::abi::{COUNTERS_ADDRESS, COUNTERS_BYTES};
use crate::fermi::lift::emit::{Emit, next_block};
use crate::fermi::{BarOp, Inst, Op, ZERO_REG};

/// Threads of a warp; counts of threads are multiples of it.
const LANES: u32 = 32;
/// Bytes of the counters of a barrier, a power of two.
const COUNTERS: u32 = COUNTERS_BYTES / 16;

/// Whether lanes are counted.
pub(in crate::fermi::lift) fn counts(inst: &Inst) -> bool {
    let register = inst.dst.and_then(|dst| dst.as_reg()).is_some_and(|(number, _)| number != ZERO_REG);
    inst.op == Op::Bar
        && matches!(inst.mods.bar, BarOp::Popc | BarOp::And | BarOp::Or)
        && (register || inst.pdst.is_some())
}

/// Emits a barrier. Where a register says which or how many threads, that of the warp's lowest active lane counts.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    if !matches!(inst.op, Op::Bar) {
        return e.fault(GuestFault::Illegal);
    }
    let mut spec =
        BarrierSpec { index: 0, arrive: true, wait: inst.mods.bar != BarOp::Arrive, warps: None, from: None };
    let threads = if inst.srcs().len() > 1 { e.immediate(inst, 1) } else { Some(0) };
    let mut known = e.immediate(inst, 0).zip(threads);
    if e.own.family.program.plan.is_some() {
        // In a graphics stage it opens when the warp's lanes are there; other warps have nothing to do with it.
        known = Some((e.immediate(inst, 0).unwrap_or(0), 0));
    }
    if let Some((number, threads)) = known {
        spec.index = number as u8 & 15;
        spec.warps = (threads != 0).then(|| threads.div_ceil(LANES));
    }
    let behind = next_block(e, inst);
    if e.guard.is_some() {
        only_if_anybody(e, behind);
    }
    if known.is_none() {
        spec.from = Some(named_by_registers(e, inst));
    }
    let next = if inst.join { joining(e, behind) } else { behind };
    if !counts(inst) {
        return e.terminate(Terminator::Barrier { spec, next });
    }
    let counter = count_lanes(e, inst, spec);
    let guard = e.guard.map(|guard| e.keep(guard, Type::MASK, 5));
    let behind = {
        let pc = e.b.pc;
        e.b.func.add_block(pc)
    };
    e.terminate(Terminator::Barrier { spec, next: behind });
    e.start(behind);
    e.guard = guard.map(|slot| e.get(slot));
    take_result(e, inst, counter);
    e.guard = None;
    e.terminate(Terminator::Jump(next.into()));
}

/// A slot with the number of the barrier and the count of warps ([`BarrierSpec::from`]).
fn named_by_registers(e: &mut Emit<'_>, inst: &Inst) -> Slot {
    let number = e.src(inst, 0);
    let number = e.and_const(number, 15);
    let value = if inst.srcs().len() > 1 {
        // Counts have twelve bits.
        let threads = e.src(inst, 1);
        let threads = e.and_const(threads, 0xfff);
        let more = e.b.i32(LANES - 1);
        let up = e.b.iadd(threads, more);
        let warps = e.ushr_const(up, LANES.trailing_zeros());
        let warps = e.shl_const(warps, 4);
        e.b.ior(warps, number)
    } else {
        number
    };
    let slot = e.temp(Type::I32, 7);
    e.put_in_all_lanes(slot, value);
    slot
}

/// A warp none of whose lanes passes the guard does not come to the barrier.
fn only_if_anybody(e: &mut Emit<'_>, next: Block) {
    let Some(guard) = e.guard.take() else { return };
    let guard = e.keep(guard, Type::MASK, 1);
    let outcome = e.temp(Type::MASK, 2);
    e.isolated(|e| {
        let guard = e.get(guard);
        if let Some(any) = e.b.push(Opcode::VoteAny, &[guard], Imm::None, Some(Type::MASK)) {
            e.put_in_all_lanes(outcome, any);
        }
    });
    let cond = e.get(outcome);
    let pc = e.b.pc;
    e.split(pc, |here| Terminator::Branch { cond, taken: here.into(), next: next.into() });
    e.guard = Some(e.get(guard));
}

/// A block that joins behind the barrier, for the lanes of the guard.
fn joining(e: &mut Emit<'_>, next: Block) -> Block {
    let guard = e.guard.map(|guard| e.keep(guard, Type::MASK, 6));
    let pc = e.b.pc;
    let block = e.b.func.add_block(pc);
    let mut builder = Builder::new(e.b.func, block);
    let cond = guard.map(|slot| builder.get(slot));
    builder.terminate(Terminator::Join { cond, next, at_target: true });
    block
}

/// Where a barrier's counters are: that in use and that used before.
struct Counter {
    now: Slot,
    before: Slot,
}

fn word() -> MemAccess {
    MemAccess {
        space: Space::Global(0),
        bytes: 4,
        signed: false,
        offset: 0,
        far: false,
        align: 4,
        align_offset: 0,
    }
}

/// A slot of that name.
fn named(e: &mut Emit<'_>, name: &str, init: SlotInit) -> Slot {
    match e.b.func.slots.iter().position(|slot| slot.name == name) {
        Some(number) => Slot::new(number),
        None => e.b.func.add_slot(name, Type::I32, init),
    }
}

/// Adds the lanes that decide: those whose predicate holds, of `and` those whose does not.
fn count_lanes(e: &mut Emit<'_>, inst: &Inst, spec: BarrierSpec) -> Counter {
    let part = named(e, "#counters", SlotInit::WarpOffset(e.own.family.program.counters));
    // Two bits for each barrier.
    let turns = named(e, "#turns", SlotInit::Zero);
    let index = match spec.from {
        None => e.b.i32(spec.index.into()),
        Some(slot) => {
            let value = e.get(slot);
            e.and_const(value, 15)
        }
    };
    // The first warp's part.
    let (part, warp) = (e.get(part), e.builtin(Builtin::WarpId));
    let stride = e.b.i32(COUNTERS_BYTES);
    let back = e.b.imul(warp, stride);
    let first = e.b.isub(part, back);
    let counters = e.b.i32(COUNTERS_ADDRESS as u32);
    let first = e.b.iadd(first, counters);
    let place = e.shl_const(index, COUNTERS.trailing_zeros());
    let base = e.b.iadd(first, place);
    let (all, shift) = (e.get(turns), e.shl_const(index, 1));
    let at = e.b.ushr(all, shift);
    let at = e.and_const(at, 3);
    let (none, one, two) = (e.b.i32(0), e.b.i32(1), e.b.i32(2));
    let is_first = e.b.icmp(IntCC::Eq, at, none);
    let is_last = e.b.icmp(IntCC::Eq, at, two);
    let (less, more) = (e.b.isub(at, one), e.b.iadd(at, one));
    let last = e.b.select(is_first, two, less);
    let following = e.b.select(is_last, none, more);
    let changed = e.b.ixor(at, following);
    let changed = e.b.ishl(changed, shift);
    let turned = e.b.ixor(all, changed);
    e.put_in_all_lanes(turns, turned);
    let address = |e: &mut Emit<'_>, turn: Value, number: usize| {
        let offset = e.shl_const(turn, 2);
        let address = e.b.iadd(base, offset);
        let slot = e.temp(Type::I32, number);
        e.put_in_all_lanes(slot, address);
        slot
    };
    let (now, before) = (address(e, at, 5), address(e, last, 6));
    let holds = e.pred(inst.mods.pred);
    let counted = if inst.mods.bar == BarOp::And { e.b.inot(holds) } else { holds };
    let counted = match e.guard {
        Some(guard) => e.b.iand(guard, counted),
        None => counted,
    };
    let counted = e.b.splat(counted);
    let counted = e.keep(counted, Type::MASK, 1);
    e.isolated(|e| {
        let (address, counted) = (e.get(now), e.get(counted));
        let one = e.b.i32(1);
        e.b.atomic(word(), AtomicOp::Add, address, one, None, Some(counted));
    });
    Counter { now, before }
}

/// Emits what follows the barrier. The register gets the count; the predicate says whether the condition holds in all threads (`and`)
/// or in any. The previous counter is cleared, because no thread reads it any more.
fn take_result(e: &mut Emit<'_>, inst: &Inst, counter: Counter) {
    let (now, before) = (e.get(counter.now), e.get(counter.before));
    let count = e.b.load(word(), now, None);
    let none = e.b.i32(0);
    e.b.store(word(), before, none, None);
    let cc = if inst.mods.bar == BarOp::And { IntCC::Eq } else { IntCC::Ne };
    let holds = e.b.icmp(cc, count, none);
    if inst.mods.bar == BarOp::Popc {
        e.write(inst, count);
    } else {
        // The register of the others is not known to mean more than the predicate.
        let bit = e.bit(holds);
        e.write(inst, bit);
    }
    e.set_pred(inst.pdst, holds);
}
