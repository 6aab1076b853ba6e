//! Lifts GDS and GWS instructions. GDS is 64 KiB of memory that all workgroups of a launch share; GWS is the 64 barriers and
//! semaphores beside it.
//!
//! The launch provides GDS as a segment at [`GDS_ADDRESS`] that starts as zeros. M0 holds where the program's part of it begins
//! (31:16) and its number of bytes (15:0). Accesses beyond that part read 0 and do not write. Loads, stores and atomics do what
//! those of LDS do (`lds.rs`).
//!
//! A GWS resource is chosen by M0\[21:16\] plus the offset, modulo 64. A GWS operation is the wave's, whatever EXEC is; its
//! operand is that of the first active lane:
//!
//! - `init` sets the count. `barrier` waits until one wave more than the count has arrived; the last one to arrive sets the count
//!   to its operand, for the next use of the barrier.
//! - `sema_v` adds one to the count, `sema_br` adds its operand. `sema_p` waits until the count is not 0, then subtracts one.
//!   `sema_release_all` releases all waves that wait there.
//!
//! A waiting wave polls, as one that waits for global memory does. The ordered count is `illegal`: it needs a dispatch that
//! numbers its waves, which a compute launch does not do.

use warpjit_ir::{AtomicOp, Function, Imm, IntCC, MemAccess, Opcode, Scalar, Slot, Terminator, Value};

use super::atomic::Rmw;
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::access::{self, GLOBAL, access};
use crate::gcn::map::{GDS_ADDRESS, GDS_BYTES};
use crate::gcn::{Inst, Op};

/// Where a resource has its count, and the number of times that its barrier has opened or its waiters were released.
const COUNT: u32 = 0;
const ROUND: u32 = 4;
/// Instructions that a look of a waiting wave counts for: it takes long, and others should have their turn soon.
const LOOK: u32 = 256;
/// Logarithm of the bytes of a resource.
const RESOURCE_SHIFT: u32 = 3;

/// The global address (i64) of `bytes` at a lane's address plus an offset, and whether the program's part of GDS holds them.
pub(in crate::gcn::lift) fn gds_address(
    e: &mut Emit<'_>,
    base: Value,
    offset: u32,
    bytes: u32,
) -> (Value, Value) {
    let m0 = e.m0();
    let (start, size) = (e.ushr_const(m0, 16), e.and_const(m0, 0xffff));
    let at = e.add_const(base, offset);
    let (spare, zero) = (e.b.i32(bytes - 1), e.b.i32(0));
    let fits = e.b.icmp(IntCC::Ugt, size, spare);
    let below = e.b.isub(size, spare);
    let below = e.b.select(fits, below, zero);
    let inside = e.b.icmp(IntCC::Ult, at, below);
    let byte = e.b.iadd(start, at);
    let end = e.b.i32(GDS_BYTES - bytes);
    let there = e.b.icmp(IntCC::Ule, byte, end);
    let ok = e.b.iand(inside, there);
    (address(e, byte), ok)
}

/// Whether a function that was lifted from a program uses GDS or what is beside it: then it has its address.
pub fn is_used(func: &Function) -> bool {
    let address = Imm::Bits(GDS_ADDRESS);
    func.insts.iter().any(|inst| inst.op == Opcode::Const && inst.imm == address)
}

/// The global address of a byte of GDS, or of what is behind it.
fn address(e: &mut Emit<'_>, byte: Value) -> Value {
    let byte = e.b.convert(Opcode::Zext, byte, Scalar::I64);
    let base = e.b.i64(GDS_ADDRESS);
    e.b.iadd(base, byte)
}

/// `ds_append` and `ds_consume`: as those of LDS, but of all waves of the launch.
pub(in crate::gcn::lift) fn count(e: &mut Emit<'_>, inst: &Inst, down: bool) {
    let (exec, m0) = (e.store_guard(None), e.m0());
    let offset = inst.mem.offset as u32;
    let lanes = e.cross1(&[exec, m0], |e, args| {
        let lanes = e.b.ballot(args[0]);
        let lanes = e.b.popcnt(lanes);
        e.low(lanes)
    });
    let m0 = e.m0();
    let base = e.and_const(m0, 0xffff);
    let byte = e.add_const(base, offset);
    let byte = e.and_const(byte, 0xfffc);
    let counter = address(e, byte);
    let add = Rmw { op: AtomicOp::Add, negate: down, wide: false };
    let old = once(e, add, counter, lanes, None);
    e.set_dst_words(inst, &[old]);
}

/// An atomic of the whole wave; the old value is uniform. Values made before are lost.
fn once(e: &mut Emit<'_>, rmw: Rmw, counter: Value, value: Value, new: Option<Value>) -> Value {
    let value = if rmw.negate { e.b.ineg(value) } else { value };
    let (lane, zero) = (e.lane_id(), e.b.i32(0));
    let first = e.b.icmp(IntCC::Eq, lane, zero);
    let mut args = vec![counter, first, value];
    args.extend(new);
    let mem = MemAccess { align: 4, ..access(GLOBAL, 4, false, 0) };
    let old = e.cross1(&args, |e, args| {
        let value = e.b.splat(args[2]);
        let new = args.get(3).copied();
        e.b.atomic(mem, rmw.op, args[0], value, new, Some(args[1]))
    });
    let zero = e.b.i32(0);
    e.read_lane(old, zero)
}

/// The address of a word of the resource that an instruction names, uniform.
fn resource(e: &mut Emit<'_>, inst: &Inst, word: u32) -> Value {
    let m0 = e.m0();
    let number = e.ushr_const(m0, 16);
    let number = e.add_const(number, inst.mem.offset as u32);
    let number = e.and_const(number, 63);
    let byte = e.shl_const(number, RESOURCE_SHIFT);
    let byte = e.add_const(byte, GDS_BYTES + word);
    address(e, byte)
}

/// Which round it is. An atomic that changes nothing: a load would be done for each chunk of lanes anew, and these could
/// see different rounds.
fn round_now(e: &mut Emit<'_>, inst: &Inst) -> Value {
    let (counter, zero) = (resource(e, inst, ROUND), e.b.i32(0));
    once(e, Rmw { op: AtomicOp::Nop, negate: false, wide: false }, counter, zero, None)
}

/// Emits an operation on a barrier or semaphore; false for what is none.
pub(in crate::gcn::lift) fn sync(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let rmw = |op| Rmw { op, negate: false, wide: false };
    let operand = |e: &mut Emit<'_>| match inst.mem.data {
        Some(data) => {
            let value = e.read32(data);
            e.read_first_lane(value)
        }
        None => e.b.i32(0),
    };
    match inst.op {
        Op::DS_GWS_INIT => {
            let value = operand(e);
            let counter = resource(e, inst, COUNT);
            once(e, rmw(AtomicOp::Exch), counter, value, None);
        }
        Op::DS_GWS_SEMA_BR => {
            let value = operand(e);
            let counter = resource(e, inst, COUNT);
            once(e, rmw(AtomicOp::Add), counter, value, None);
        }
        Op::DS_GWS_SEMA_V => add_one(e, inst, COUNT),
        Op::DS_GWS_SEMA_RELEASE_ALL => add_one(e, inst, ROUND),
        Op::DS_GWS_BARRIER => barrier(e, inst, operand),
        Op::DS_GWS_SEMA_P => acquire(e, inst),
        _ => return false,
    }
    true
}

fn add_one(e: &mut Emit<'_>, inst: &Inst, word: u32) {
    let (counter, one) = (resource(e, inst, word), e.b.i32(1));
    once(e, Rmw { op: AtomicOp::Add, negate: false, wide: false }, counter, one, None);
}

fn barrier(e: &mut Emit<'_>, inst: &Inst, operand: impl Fn(&mut Emit<'_>) -> Value) {
    let round = begin_wait(e, inst);
    let value = operand(e);
    let counter = resource(e, inst, COUNT);
    // One less, or at 0 the operand: this is the last wave then.
    let old = once(e, Rmw { op: AtomicOp::Dec, negate: false, wide: false }, counter, value, None);
    let zero = e.b.i32(0);
    let last = e.b.icmp(IntCC::Eq, old, zero);
    let [open, look, behind] = [(); 3].map(|()| e.b.func.add_block(e.b.pc));
    e.end_block(Terminator::Branch { cond: last, taken: open.into(), next: look.into() });
    e.start(open);
    add_one(e, inst, ROUND);
    e.end_block(Terminator::Jump(behind.into()));
    e.start(look);
    let over = is_over(e, inst, round);
    e.end_block(Terminator::Branch { cond: over, taken: behind.into(), next: look.into() });
    e.start(behind);
}

fn acquire(e: &mut Emit<'_>, inst: &Inst) {
    let round = begin_wait(e, inst);
    let [look, behind] = [(); 2].map(|()| e.b.func.add_block(e.b.pc));
    e.end_block(Terminator::Jump(look.into()));
    e.start(look);
    // One less if it is at least one.
    let counter = resource(e, inst, COUNT);
    let (one, zero) = (e.b.i32(1), e.b.i32(0));
    let zero = e.b.splat(zero);
    let old = once(e, Rmw { op: AtomicOp::Wrap, negate: false, wide: false }, counter, one, Some(zero));
    let zero = e.b.i32(0);
    let taken = e.b.icmp(IntCC::Ne, old, zero);
    let taken = access::save(e, taken, 1);
    let over = is_over(e, inst, round);
    let taken = e.get(taken);
    let over = e.b.ior(taken, over);
    e.end_block(Terminator::Branch { cond: over, taken: behind.into(), next: look.into() });
    e.start(behind);
}

/// Keeps the round that a wave begins to wait in.
fn begin_wait(e: &mut Emit<'_>, inst: &Inst) -> Slot {
    let round = round_now(e, inst);
    access::save(e, round, 0)
}

/// Whether another round has begun.
fn is_over(e: &mut Emit<'_>, inst: &Inst, round: Slot) -> Value {
    (0..LOOK).for_each(|_| e.count());
    let now = round_now(e, inst);
    let was = e.get(round);
    e.b.icmp(IntCC::Ne, now, was)
}
