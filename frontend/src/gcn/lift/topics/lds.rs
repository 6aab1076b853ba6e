//! Lifts loads, stores and atomics of LDS, in the `DS` format.
//!
//! An address is the lane's address plus the constant offset, modulo 2^32. (On 1.0 a lane's address that is beyond LDS stays
//! beyond it.) Accesses beyond the block's LDS or, on 1.0 to 1.2, beyond M0 read 0 and do not write (docs/hardware/gcn.md section 5,
//! "LDS"). The same operations on GDS differ only in their addresses ([`gds`](super::gds)).

use warpjit_ir::{AtomicOp, Imm, IntCC, MemAccess, Opcode, Scalar, Space, Value};

use super::atomic::{self, Rmw};
use super::gds;
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::access::{self, Unit, access};
use crate::gcn::lift::slots::M0;
use crate::gcn::{Generation, Inst, Op};

/// Bytes that an LDS address can reach.
const LDS_BYTES: u32 = 0x1_0000;

/// Emits one DS instruction; false for what is not one or cannot be.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    if let Some(shape) = access::shape(inst.op) {
        let base = address(e, inst);
        let lds = lds_address(e, inst, base, inst.mem.offset as u32, shape.unit.bytes());
        if shape.store {
            let values = access::stored(e, inst, shape, true);
            lds.store(e, shape.unit, &values);
        } else {
            let values = lds.load(e, shape.unit);
            access::write_loaded(e, inst, shape, &values);
        }
        return true;
    }
    use Op::*;
    match inst.op {
        DS_READ_ADDTID_B32 | DS_WRITE_ADDTID_B32 if inst.mem.gds => return false,
        DS_APPEND | DS_CONSUME if inst.mem.gds => gds::count(e, inst, inst.op == DS_CONSUME),
        DS_READ2_B32 => read2(e, inst, 1, 4),
        DS_READ2ST64_B32 => read2(e, inst, 1, 256),
        DS_READ2_B64 => read2(e, inst, 2, 8),
        DS_READ2ST64_B64 => read2(e, inst, 2, 512),
        DS_WRITE2_B32 => write2(e, inst, 1, 4),
        DS_WRITE2ST64_B32 => write2(e, inst, 1, 256),
        DS_WRITE2_B64 => write2(e, inst, 2, 8),
        DS_WRITE2ST64_B64 => write2(e, inst, 2, 512),
        DS_WRXCHG2_RTN_B32 => exchange2(e, inst, 1, 4),
        DS_WRXCHG2ST64_RTN_B32 => exchange2(e, inst, 1, 256),
        DS_WRXCHG2_RTN_B64 => exchange2(e, inst, 2, 8),
        DS_WRXCHG2ST64_RTN_B64 => exchange2(e, inst, 2, 512),
        DS_CONDXCHG32_RTN_B64 => conditional_exchange(e, inst, 2),
        DS_CONDXCHG32_RTN_B128 => conditional_exchange(e, inst, 4),
        DS_READ_ADDTID_B32 | DS_WRITE_ADDTID_B32 => by_lane(e, inst),
        DS_APPEND => count(e, inst, false),
        DS_CONSUME => count(e, inst, true),
        DS_WRITE_SRC2_B32 => source2(e, inst, Rmw { op: AtomicOp::Exch, negate: false, wide: false }),
        DS_WRITE_SRC2_B64 => source2(e, inst, Rmw { op: AtomicOp::Exch, negate: false, wide: true }),
        DS_SWIZZLE_B32 => swizzle(e, inst),
        DS_BPERMUTE_B32 => pull(e, inst),
        DS_PERMUTE_B32 => push(e, inst),
        DS_NOP => {}
        op => match atomic::lds_atomic(op) {
            Some(rmw) if op.name().contains("_SRC2_") => source2(e, inst, rmw),
            Some(rmw) => {
                let base = address(e, inst);
                let operands = atomic::lds_operands(e, inst, rmw);
                let old = update(e, inst, rmw, base, inst.mem.offset as u32, operands);
                atomic::write_old(e, inst, old);
            }
            None => return gds::sync(e, inst),
        },
    }
    true
}

/// The address register.
fn address(e: &mut Emit<'_>, inst: &Inst) -> Value {
    match inst.mem.addr {
        Some(addr) => e.read32(addr),
        None => e.b.i32(0),
    }
}

/// Where an access is, and whether it is allowed (`None`: it is).
struct LdsAddress {
    space: Space,
    address: Value,
    offset: i32,
    ok: Option<Value>,
}

fn lds_address(e: &mut Emit<'_>, inst: &Inst, base: Value, offset: u32, bytes: u32) -> LdsAddress {
    if inst.mem.gds {
        let (address, ok) = gds::gds_address(e, base, offset, bytes);
        return LdsAddress { space: access::GLOBAL, address, offset: 0, ok: Some(ok) };
    }
    let ok = in_range(e, base, offset, bytes);
    LdsAddress { space: Space::Shared, address: base, offset: offset as i32, ok }
}

impl LdsAddress {
    fn load(&self, e: &mut Emit<'_>, unit: Unit) -> Vec<Value> {
        access::load_parts(e, self.space, unit, self.address, self.offset, self.ok)
    }

    fn store(&self, e: &mut Emit<'_>, unit: Unit, values: &[Value]) {
        access::store_parts(e, self.space, unit, self.address, self.offset, values, self.ok);
    }
}

/// Whether M0 allows an access (on 1.0, and the lane's address does); `None` where that is sure.
fn in_range(e: &mut Emit<'_>, base: Value, offset: u32, bytes: u32) -> Option<Value> {
    let largest = bound(e, base, 8);
    // 1.0 looks at the lane's address alone, too: an offset does not bring a negative one back.
    let ok =
        (e.own.generation == Generation::Gfx6 && offset != 0 && largest >= LDS_BYTES.into()).then(|| {
            let end = e.b.i32(LDS_BYTES);
            e.b.icmp(IntCC::Ult, base, end)
        });
    let limit = match e.own.generation {
        Generation::Gfx9 => None,
        _ => limit(e, bytes, largest.saturating_add(offset.into())),
    };
    let Some(limit) = limit else { return ok };
    let sum = e.add_const(base, offset);
    let below = e.b.icmp(IntCC::Ult, sum, limit);
    access::and(e, ok, Some(below))
}

/// What an address must be below because of M0 for `bytes` to be there; `None` where that is no limit for addresses up to
/// `largest`. The end of LDS needs no test: accesses know it.
fn limit(e: &mut Emit<'_>, bytes: u32, largest: u64) -> Option<Value> {
    let m0 = e.m0();
    let known = e.own.statics.constant(M0).or(e.b.func.as_const(m0).map(|m0| m0 as u32));
    if let Some(m0) = known {
        let below = (m0.min(LDS_BYTES) + 1).saturating_sub(bytes);
        return (m0 < LDS_BYTES && largest >= below.into()).then(|| e.b.i32(below));
    }
    let most = e.b.i32(LDS_BYTES);
    let limit = e.b.umin(m0, most);
    let size = e.b.i32(bytes - 1);
    let fits = e.b.icmp(IntCC::Ugt, limit, size);
    let below = e.b.isub(limit, size);
    let none = e.b.i32(0);
    Some(e.b.select(fits, below, none))
}

/// The largest value an i32 can have in an active lane, from what the block itself says of it.
fn bound(e: &mut Emit<'_>, value: Value, depth: u32) -> u64 {
    const ANY: u64 = u32::MAX as u64;
    if let Some(bits) = e.b.func.as_const(value) {
        return bits;
    }
    let Some(data) = e.b.func.def_inst(value).cloned() else { return ANY };
    if depth == 0 {
        return ANY;
    }
    let arg = |e: &mut Emit<'_>, n: usize| data.args.get(n).map_or(ANY, |&v| bound(e, v, depth - 1));
    let count = data.args.get(1).and_then(|&count| e.b.func.as_const(count)).filter(|&count| count < 32);
    match (data.op, count) {
        (Opcode::SlotGet, _) => match data.imm {
            Imm::Slot(slot) => e.b.func.slots[slot.index()].umax.map_or(ANY, u64::from),
            _ => ANY,
        },
        (Opcode::Splat, _) => arg(e, 0),
        (Opcode::Iand | Opcode::Umin, _) => arg(e, 0).min(arg(e, 1)),
        (Opcode::Ushr, Some(count)) => arg(e, 0) >> count,
        (Opcode::Ishl, Some(count)) => Some(arg(e, 0) << count).filter(|&v| v <= ANY).unwrap_or(ANY),
        (Opcode::Iadd, _) => Some(arg(e, 0) + arg(e, 1)).filter(|&v| v <= ANY).unwrap_or(ANY),
        (Opcode::Imul, _) => arg(e, 0).checked_mul(arg(e, 1)).filter(|&v| v <= ANY).unwrap_or(ANY),
        // What inactive lanes hold does not matter.
        (Opcode::Select, _) if data.args.first() == Some(&e.exec()) => arg(e, 1),
        (Opcode::Select, _) => arg(e, 1).max(arg(e, 2)),
        _ => ANY,
    }
}

/// An atomic on LDS or GDS; gives the old value. Values made before are lost.
fn update(
    e: &mut Emit<'_>,
    inst: &Inst,
    rmw: Rmw,
    base: Value,
    offset: u32,
    operands: (Value, Option<Value>),
) -> Value {
    let bytes = rmw.bytes();
    let sum = e.add_const(base, offset);
    let aligned = e.and_const(sum, !(u32::from(bytes) - 1));
    let lds = lds_address(e, inst, aligned, 0, bytes.into());
    let mut address = lds.address;
    let mut mem = access(lds.space, bytes, false, 0);
    if inst.mem.gds {
        // The program's part need not begin at a multiple of the word.
        let mask = e.b.i64(!(u64::from(bytes) - 1));
        address = e.b.iand(address, mask);
        mem.align = bytes;
    }
    atomic::emit(e, inst, mem, rmw, address, operands, lds.ok)
}

fn unit(words: u8) -> Unit {
    Unit::Words(words)
}

fn read2(e: &mut Emit<'_>, inst: &Inst, words: u8, scale: u32) {
    let base = address(e, inst);
    let mut values = Vec::new();
    for offset in inst.mem.offsets {
        let offset = u32::from(offset) * scale;
        let lds = lds_address(e, inst, base, offset, unit(words).bytes());
        values.extend(lds.load(e, unit(words)));
    }
    let values = access::dwords(e, &values);
    e.set_dst_words(inst, &values);
}

fn write2(e: &mut Emit<'_>, inst: &Inst, words: u8, scale: u32) {
    let base = address(e, inst);
    let parts = unit(words).parts(true);
    for (offset, data) in inst.mem.offsets.into_iter().zip([inst.mem.data, inst.mem.data1]) {
        let Some(data) = data else { continue };
        let data = e.src_words(data, words.into());
        let values = access::join(e, &data, &parts);
        let offset = u32::from(offset) * scale;
        let lds = lds_address(e, inst, base, offset, unit(words).bytes());
        lds.store(e, unit(words), &values);
    }
}

/// Two exchanges; the second sees what the first has done.
fn exchange2(e: &mut Emit<'_>, inst: &Inst, words: u8, scale: u32) {
    let rmw = Rmw { op: AtomicOp::Exch, negate: false, wide: words == 2 };
    let mut kept = Vec::new();
    for (n, offset) in inst.mem.offsets.into_iter().enumerate() {
        let base = address(e, inst);
        let data = if n == 0 { inst.mem.data } else { inst.mem.data1 };
        let Some(data) = data else { return };
        let data = e.src_words(data, words.into());
        let value = access::join(e, &data, &unit(words).parts(true))[0];
        let old = update(e, inst, rmw, base, u32::from(offset) * scale, (value, None));
        kept.push(access::save(e, old, n));
    }
    let values: Vec<Value> = kept.into_iter().map(|slot| e.get(slot)).collect();
    let values = access::dwords(e, &values);
    e.set_dst_words(inst, &values);
}

/// Each dword of the data replaces the one in LDS if its highest bit is set, and is stored without that bit.
fn conditional_exchange(e: &mut Emit<'_>, inst: &Inst, words: u8) {
    let rmw = Rmw { op: AtomicOp::CondExch, negate: false, wide: false };
    let mut kept = Vec::new();
    for n in 0..usize::from(words) {
        let base = address(e, inst);
        let base = e.add_const(base, inst.mem.offset as u32);
        let base = e.and_const(base, !(4 * u32::from(words) - 1));
        let Some(data) = inst.mem.data else { return };
        let value = e.src_words(data, n + 1)[n];
        let old = update(e, inst, rmw, base, 4 * n as u32, (value, None));
        kept.push(access::save(e, old, n));
    }
    let values: Vec<Value> = kept.into_iter().map(|slot| e.get(slot)).collect();
    e.set_dst_words(inst, &values);
}

/// The address of a dword of each lane: M0\[15:0\], the offset, the lane's number times 4.
pub(in crate::gcn::lift) fn lane_address(e: &mut Emit<'_>, offset: u32) -> Value {
    let m0 = e.m0();
    let base = e.and_const(m0, 0xffff);
    let base = e.add_const(base, offset);
    let lane = e.lane_id();
    let lane = e.shl_const(lane, 2);
    e.b.iadd(base, lane)
}

fn by_lane(e: &mut Emit<'_>, inst: &Inst) {
    let address = lane_address(e, inst.mem.offset as u32);
    if inst.op == Op::DS_READ_ADDTID_B32 {
        let values = access::load_parts(e, Space::Shared, unit(1), address, 0, None);
        e.set_dst_words(inst, &values);
    } else if let Some(data) = inst.mem.data {
        let values = e.src_words(data, 1);
        access::store_parts(e, Space::Shared, unit(1), address, 0, &values, None);
    }
}

/// `ds_append` and `ds_consume`: one word, M0\[15:0\] and the offset its address, changes by the number of active lanes, which
/// all get the old value.
fn count(e: &mut Emit<'_>, inst: &Inst, down: bool) {
    let (exec, m0) = (e.exec(), e.m0());
    let offset = inst.mem.offset as u32;
    let old = e.cross1(&[exec, m0], |e, args| {
        let lanes = e.b.ballot(args[0]);
        let lanes = e.b.popcnt(lanes);
        let lanes = e.low(lanes);
        let base = e.and_const(args[1], 0xffff);
        let address = e.add_const(base, offset);
        let address = e.and_const(address, !3);
        let mem: MemAccess = access(Space::Shared, 4, false, 0);
        let old = access::load_uniform(e, mem, address, None);
        let new = if down { e.b.isub(old, lanes) } else { e.b.iadd(old, lanes) };
        e.b.store(mem, address, new, None);
        old
    });
    e.set_dst_words(inst, &[old]);
}

/// `ds_swizzle`: each lane reads a lane that the offset field says; inactive ones give 0.
fn swizzle(e: &mut Emit<'_>, inst: &Inst) {
    let pattern = inst.mem.offset as u32;
    let (value, lane) = (address(e, inst), e.lane_id());
    let from = if pattern & 0x8000 != 0 {
        // Within quads: two bits for each lane.
        let quad_lane = e.and_const(lane, 3);
        let shift = e.shl_const(quad_lane, 1);
        let table = e.b.i32(pattern & 0xff);
        let from = e.b.ushr(table, shift);
        let (from, quad) = (e.and_const(from, 3), e.and_const(lane, !3));
        e.b.ior(quad, from)
    } else {
        // Within halves of the wave: and, or, exclusive or.
        let from = e.and_const(lane, pattern & 31);
        let (set, flip) = (e.b.i32(pattern >> 5 & 31), e.b.i32(pattern >> 10 & 31));
        let from = e.b.ior(from, set);
        let from = e.b.ixor(from, flip);
        let half = e.and_const(lane, 32);
        e.b.ior(half, from)
    };
    let result = e.shuffle_active(value, from);
    e.set_dst_words(inst, &[result]);
}

/// The lane that the address register and the offset of a permutation name.
fn named_lane(e: &mut Emit<'_>, inst: &Inst) -> Value {
    let base = address(e, inst);
    let sum = e.add_const(base, inst.mem.offset as u32);
    let lane = e.ushr_const(sum, 2);
    e.and_const(lane, 63)
}

/// `ds_bpermute`: each lane reads the lane it names.
fn pull(e: &mut Emit<'_>, inst: &Inst) {
    let from = named_lane(e, inst);
    let Some(data) = inst.mem.data else { return };
    let value = e.read32(data);
    let result = e.shuffle_active(value, from);
    e.set_dst_words(inst, &[result]);
}

/// `ds_permute`: each lane writes to the lane it names; the highest wins, and who gets nothing gets 0.
fn push(e: &mut Emit<'_>, inst: &Inst) {
    let to = named_lane(e, inst);
    let Some(data) = inst.mem.data else { return };
    let value = e.read32(data);
    let exec = e.exec();
    let args = [exec, to, value].map(|arg| e.b.splat(arg));
    let result = e.cross1(&args, |e, args| {
        let lane = e.lane_id();
        let zero = e.b.i32(0);
        // The lanes that write to this one: those that agree with its number in all six bits.
        let mut writers = e.b.ballot(args[0]);
        for bit in 0..6 {
            let theirs = e.and_const(args[1], 1 << bit);
            let theirs = e.b.icmp(IntCC::Ne, theirs, zero);
            let set = e.b.ballot(theirs);
            let own = e.and_const(lane, 1 << bit);
            let own = e.b.icmp(IntCC::Ne, own, zero);
            let clear = e.b.inot(set);
            let agree = e.b.select(own, set, clear);
            writers = e.b.iand(writers, agree);
        }
        let leading = e.b.clz(writers);
        let leading = e.low(leading);
        let top = e.b.i32(63);
        let last = e.b.isub(top, leading);
        let moved = e.b.shuffle(args[2], last);
        let none = e.b.i64(0);
        let some = e.b.icmp(IntCC::Ne, writers, none);
        e.b.select(some, moved, zero)
    });
    e.set_dst_words(inst, &[result]);
}

/// Both operands in LDS. The second one's address is that of the first plus a signed number of dwords: the offset field, or,
/// where its highest bit is set, the high bits of the address register.
fn source2(e: &mut Emit<'_>, inst: &Inst, rmw: Rmw) {
    let offset = inst.mem.offset as u32;
    let (align, base) = (!(u32::from(rmw.bytes()) - 1), address(e, inst));
    let (first, distance) = if offset & 0x8000 != 0 {
        let distance = e.sshr_const(base, 17);
        (e.and_const(base, 0x1_ffff & align), e.shl_const(distance, 2))
    } else {
        let distance = ((offset << 17) as i32 >> 17) << 2;
        (e.and_const(base, align), e.b.i32(distance as u32))
    };
    let second = e.b.iadd(first, distance);
    let second = e.and_const(second, align);
    let lds = lds_address(e, inst, second, 0, rmw.bytes().into());
    let value = lds.load(e, unit(rmw.words() as u8))[0];
    let old = update(e, inst, rmw, first, 0, (value, None));
    atomic::write_old(e, inst, old);
}

/// Puts the dword that a load gives into LDS, each lane's at M0\[15:0\] plus the instruction's offset plus 4 times its number.
pub(in crate::gcn::lift) fn store_to_lds(e: &mut Emit<'_>, inst: &Inst, values: &[Value]) {
    let Some(&value) = values.first() else { return };
    let address = lane_address(e, inst.mem.offset as u32);
    let guard = access::guard(e, None);
    let value = if e.b.func.ty(value).scalar == Scalar::I64 { e.low(value) } else { value };
    e.b.store(access(Space::Shared, 4, false, 0), address, value, Some(guard));
}
