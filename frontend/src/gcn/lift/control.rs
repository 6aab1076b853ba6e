//! Lifts what changes the program counter, and sends every other instruction to the file of its topic.

use warpjit_ir::{BarrierSpec, Block, GuestFault, IntCC, LeaveKind, Scalar, Terminator, Value};

use super::analysis::effects::fork_condition;
use super::analysis::graph::{Node, fork_works};
use super::analysis::statics::address_behind;
use super::analysis::view::LANE;
use super::emit::Emit;
use super::lifter::Lifter;
use super::slots::{EXEC, VCC};
use crate::gcn::{Inst, Op};

/// A condition of a branch.
enum Test {
    Scc,
    /// Whether the mask in a pair has any lane.
    Any(u8),
}

/// Emits the instruction that ends a block, if it is one that does.
pub(super) fn terminator(l: &mut Lifter<'_, '_>, node: &Node, inst: &Inst) -> bool {
    let next = inst.next_pc() as u32;
    let target = inst.target_pc.map(|pc| pc as u32);
    match inst.op {
        Op::S_BRANCH => l.jump(target),
        Op::S_CBRANCH_SCC0 => branch(l, &Test::Scc, false, target, next),
        Op::S_CBRANCH_SCC1 => branch(l, &Test::Scc, true, target, next),
        Op::S_CBRANCH_VCCZ => branch(l, &Test::Any(VCC), false, target, next),
        Op::S_CBRANCH_VCCNZ => branch(l, &Test::Any(VCC), true, target, next),
        Op::S_CBRANCH_EXECZ => branch(l, &Test::Any(EXEC), false, target, next),
        Op::S_CBRANCH_EXECNZ => branch(l, &Test::Any(EXEC), true, target, next),
        Op::S_CALL_B64 => {
            set_return_address(l, inst);
            l.jump(target);
        }
        Op::S_SETPC_B64 => computed(l, node, inst, 0),
        Op::S_SWAPPC_B64 => {
            // The address is read first: both may be the same registers.
            let address = l.e.src64(inst, 0);
            set_return_address(l, inst);
            go_to(l, node, address);
        }
        Op::S_CBRANCH_G_FORK | Op::S_CBRANCH_I_FORK if fork_works(inst) => fork(l, node, inst),
        Op::S_CBRANCH_JOIN => join(l, inst),
        Op::S_BARRIER => {
            let spec = BarrierSpec { index: 0, arrive: true, wait: true, warps: None, from: None };
            let next = l.edge(next);
            l.e.end_block(Terminator::Barrier { spec, next });
        }
        Op::S_ENDPGM | Op::S_ENDPGM_SAVED | Op::S_ENDPGM_ORDERED_PS_DONE => end(l),
        Op::S_TRAP => l.e.end_block(Terminator::Fault(GuestFault::Trap)),
        Op::S_SETHALT if inst.simm16 & 1 != 0 => l.e.end_block(Terminator::Fault(GuestFault::Trap)),
        Op::S_CBRANCH_G_FORK | Op::S_CBRANCH_I_FORK | Op::S_RFE_B64 | Op::S_RFE_RESTORE_B64 | Op::EXP => {
            l.e.end_block(Terminator::Fault(GuestFault::Illegal))
        }
        _ => return false,
    }
    true
}

/// Instructions that have no effect here: waits for events that have already happened, and messages and hints that have no receiver.
pub(super) fn nothing(inst: &Inst) -> bool {
    use Op::*;
    matches!(
        inst.op,
        S_NOP
            | S_SETKILL
            | S_WAITCNT
            | S_SETHALT
            | S_SLEEP
            | S_SETPRIO
            | S_SENDMSG
            | S_SENDMSGHALT
            | S_ICACHE_INV
            | S_INCPERFLEVEL
            | S_DECPERFLEVEL
            | S_TTRACEDATA
            | S_CBRANCH_CDBGSYS
            | S_CBRANCH_CDBGUSER
            | S_CBRANCH_CDBGSYS_OR_USER
            | S_CBRANCH_CDBGSYS_AND_USER
            | S_WAKEUP
            | V_NOP
            | V_CLREXCP
    )
}

fn end(l: &mut Lifter<'_, '_>) {
    if l.e.own.options.observed {
        l.show_registers();
    }
    let pc = l.e.b.pc;
    // Nobody goes on there: all lanes have left.
    let next = l.e.b.func.add_block(pc);
    l.e.end_block(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next });
    l.e.start(next);
    l.e.end_block(Terminator::Fault(GuestFault::Illegal));
}

/// A branch on a condition that is the same for all lanes.
fn branch(l: &mut Lifter<'_, '_>, test: &Test, wanted: bool, target: Option<u32>, next: u32) {
    let Some(target) = target else { return l.e.end_block(Terminator::Fault(GuestFault::Illegal)) };
    if target == next {
        return l.jump(Some(next));
    }
    if let Test::Any(code) = *test
        && let Some(known) = l.e.known_any(code)
        && let Some(known) = l.e.b.func.as_const(known)
    {
        return l.jump(Some(if (known != 0) == wanted { target } else { next }));
    }
    let pairs = [l.edge(target), l.edge(next)];
    let [taken, other] = if wanted { pairs } else { [pairs[1], pairs[0]] };
    let cond = match *test {
        Test::Scc => l.e.scc(),
        Test::Any(code) => any(&mut l.e, code),
    };
    l.e.end_block(Terminator::Branch { cond, taken: taken.into(), next: other.into() });
}

/// Whether a pair is not zero. From the mask it is a cross-lane operation, which begins a block that only it and the
/// branch behind it stand in.
fn any(e: &mut Emit<'_>, code: u8) -> Value {
    if let Some(known) = e.known_any(code) {
        return known;
    }
    if e.own.views.get(code) & LANE == 0 {
        let (low, high) = (e.scalar(code), e.scalar(code | 1));
        let both = e.b.ior(low, high);
        let zero = e.b.i32(0);
        return e.b.icmp(IntCC::Ne, both, zero);
    }
    let mask = e.lanes(code);
    let kept = e.keep(mask, 0);
    e.split(|next| Terminator::Jump(next.into()));
    let mask = e.get(kept);
    e.b.vote_any(mask)
}

/// The guest address behind an instruction goes to its destination.
fn set_return_address(l: &mut Lifter<'_, '_>, inst: &Inst) {
    let next = address_behind(inst, l.e.own.code);
    let next = l.e.b.i64(next);
    l.e.set_dst64(inst, next);
}

fn computed(l: &mut Lifter<'_, '_>, node: &Node, inst: &Inst, source: usize) {
    match node.target() {
        Some(target) => l.jump(Some(target)),
        None => {
            let address = l.e.src64(inst, source);
            go_to(l, node, address);
        }
    }
}

/// Goes to a guest address, a uniform i64, which is one of the node's targets if it has any.
fn go_to(l: &mut Lifter<'_, '_>, node: &Node, address: Value) {
    let Some((&last, others)) = node.targets.split_last() else { return indirect(l, address) };
    if !others.is_empty() {
        let kept = l.e.keep(address, 0);
        for &target in others {
            let taken = l.edge(target);
            let next = l.e.b.pc;
            let next = l.e.b.func.add_block(next);
            let address = l.e.get(kept);
            let there = l.e.own.code.address(target);
            let there = l.e.b.i64(there);
            let cond = l.e.b.icmp(IntCC::Eq, address, there);
            l.e.end_block(Terminator::Branch { cond, taken: taken.into(), next: next.into() });
            l.e.start(next);
        }
    }
    l.jump(Some(last));
}

/// Bit of an address that is no position: it is set where the address would look like one.
pub(super) const NO_POSITION: u64 = 1 << 63;

/// Goes to a guest address, a uniform i64. One where no block begins is the `illegal` fault.
fn indirect(l: &mut Lifter<'_, '_>, address: Value) {
    let kept = l.e.keep(address, 0);
    l.ready_for_indirect();
    let e = &mut l.e;
    let address = e.get(kept);
    // No position is above 32 bits, and the fault tells the address.
    let (zero, high) = (e.b.i32(0), e.high(address));
    let low_address = e.b.icmp(IntCC::Eq, high, zero);
    let tag = e.b.i64(NO_POSITION);
    let tagged = e.b.ior(address, tag);
    let mut target = e.b.select(low_address, tagged, address);
    for (position, start, bytes) in e.own.code.ranges() {
        let (start, bytes) = (e.b.i64(start), e.b.i64(bytes.into()));
        let offset = e.b.isub(address, start);
        let inside = e.b.icmp(IntCC::Ult, offset, bytes);
        let first = e.b.i64(position.into());
        let there = e.b.iadd(offset, first);
        target = e.b.select(inside, there, target);
    }
    e.end_block(Terminator::BranchIndirect { address: target });
}

/// `s_cbranch_g_fork`, `s_cbranch_i_fork` (docs/hardware/gcn.md section 5): lanes that pass go to the target, the others on;
/// the smaller side first, while mask and address of the other one wait in SGPRs.
fn fork(l: &mut Lifter<'_, '_>, node: &Node, inst: &Inst) {
    let next = inst.next_pc();
    let target_constant = inst.target_pc.or(node.target().map(u64::from));
    let e = &mut l.e;
    let code = fork_condition(inst).operand.scalar_code().unwrap_or(0);
    let (exec, mask) = (e.exec(), e.lanes(code));
    let passes = e.b.iand(exec, mask);
    let kept_passes = e.keep(passes, 1);
    let not = e.b.inot(mask);
    let failures = e.b.iand(exec, not);
    let kept_failures = e.keep(failures, 2);
    let bits = e.cross(&[passes, failures], |e, args| args.iter().map(|&mask| e.b.ballot(mask)).collect());
    let (pass_bits, fail_bits) = (bits[0], bits[1]);
    let target = match target_constant {
        Some(target) => e.b.i64(e.own.code.address(target as u32)),
        None => e.src64(inst, 1),
    };
    let next_address = e.b.i64(address_behind(inst, e.own.code));
    let zero = e.b.i64(0);
    let no_failure = e.b.icmp(IntCC::Eq, fail_bits, zero);
    let some_failure = e.b.inot(no_failure);
    let some_pass = e.b.icmp(IntCC::Ne, pass_bits, zero);
    let both = e.b.iand(some_failure, some_pass);
    let (passing, failing) = (e.b.popcnt(pass_bits), e.b.popcnt(fail_bits));
    let not_more = e.b.icmp(IntCC::Ule, passing, failing);
    let pass_first = e.b.iand(some_pass, not_more);
    let taken = e.b.ior(no_failure, pass_first);
    let waiting_mask = e.b.select(taken, fail_bits, pass_bits);
    let waiting_pc = e.b.select(taken, next_address, target);
    let words = [e.low(waiting_mask), e.high(waiting_mask), e.low(waiting_pc), e.high(waiting_pc)];
    let mode = e.mode_bits();
    let csp = e.ushr_const(mode, 29);
    for entry in 0..8u8 {
        let number = e.b.i32(entry.into());
        let here = e.b.icmp(IntCC::Eq, csp, number);
        let here = e.b.iand(here, both);
        for (word, &value) in words.iter().enumerate() {
            let code = 4 * entry + word as u8;
            let old = e.scalar(code);
            let value = e.b.select(here, value, old);
            e.set_scalar(code, value);
        }
    }
    let one = e.bit(both);
    let one = e.shl_const(one, 29);
    let mode = e.b.iadd(mode, one);
    e.set_mode_bits(mode);
    // EXEC becomes the side that runs; where all agree that is all of it.
    let (passes, failures) = (e.get(kept_passes), e.get(kept_failures));
    let side = e.b.splat(taken);
    let exec = e.blend(side, passes, failures);
    e.set_exec(exec);
    let kept = e.keep(taken, 3);
    match target_constant {
        Some(target) => {
            let (taken_block, next_block) = (l.edge(target as u32), l.edge(next as u32));
            let cond = l.e.get(kept);
            l.e.end_block(Terminator::Branch { cond, taken: taken_block.into(), next: next_block.into() });
        }
        None => {
            let address = e.b.select(taken, target, next_address);
            indirect(l, address);
        }
    }
}

/// `s_cbranch_join`: on behind it when the control stack is as at the fork; else the side that waits.
fn join(l: &mut Lifter<'_, '_>, inst: &Inst) {
    let next = inst.next_pc() as u32;
    let e = &mut l.e;
    let saved = e.src32(inst, 0);
    let mode = e.mode_bits();
    let csp = e.ushr_const(mode, 29);
    let saved = e.and_const(saved, 7);
    let done = e.b.icmp(IntCC::Eq, csp, saved);
    let kept = e.keep(done, 4);
    let pop = e.b.func.add_block(e.b.pc);
    let next = l.edge(next);
    let cond = l.e.get(kept);
    l.e.end_block(Terminator::Branch { cond, taken: next.into(), next: pop.into() });
    pop_entry(l, pop);
}

fn pop_entry(l: &mut Lifter<'_, '_>, block: Block) {
    let e = &mut l.e;
    e.start(block);
    let mode = e.mode_bits();
    let step = e.b.i32(7 << 29);
    let mode = e.b.iadd(mode, step);
    e.set_mode_bits(mode);
    let csp = e.ushr_const(mode, 29);
    let words: Vec<Value> = (0..4u8)
        .map(|word| {
            let mut value = e.scalar(word);
            for entry in 1..8u8 {
                let number = e.b.i32(entry.into());
                let here = e.b.icmp(IntCC::Eq, csp, number);
                let other = e.scalar(4 * entry + word);
                value = e.b.select(here, other, value);
            }
            value
        })
        .collect();
    let mask = e.wide(words[0], words[1]);
    debug_assert_eq!(e.b.func.ty(mask).scalar, Scalar::I64);
    let mask = e.b.lane_bit(mask);
    e.set_exec(mask);
    let address = e.wide(words[2], words[3]);
    indirect(l, address);
}
