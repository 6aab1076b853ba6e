//! Lifts scalar memory instructions: loads, stores and atomics that a wave does once, not once per lane.
//!
//! The address is a 64-bit base or the base of a buffer, plus byte offsets, with the low two bits dropped. Accesses to a buffer
//! are checked dword by dword against its size; its swizzling and lane number have no effect (docs/hardware/gcn.md section 5, "Scalar").

use warpjit_ir::{IntCC, Opcode, Scalar, Value};

use super::atomic;
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::access::{self, GLOBAL, access};
use crate::gcn::rows::Property;
use crate::gcn::table::meaning;
use crate::gcn::{Generation, Inst, Op, Operand};

/// What a scalar memory instruction does.
enum Kind {
    Load(usize),
    Store(usize),
    /// Only the cache is concerned.
    Nothing,
}

fn kind(op: Op) -> Option<Kind> {
    use Op::*;
    Some(match op {
        S_LOAD_DWORD | S_BUFFER_LOAD_DWORD | S_SCRATCH_LOAD_DWORD => Kind::Load(1),
        S_LOAD_DWORDX2 | S_BUFFER_LOAD_DWORDX2 | S_SCRATCH_LOAD_DWORDX2 => Kind::Load(2),
        S_LOAD_DWORDX4 | S_BUFFER_LOAD_DWORDX4 | S_SCRATCH_LOAD_DWORDX4 => Kind::Load(4),
        S_LOAD_DWORDX8 | S_BUFFER_LOAD_DWORDX8 => Kind::Load(8),
        S_LOAD_DWORDX16 | S_BUFFER_LOAD_DWORDX16 => Kind::Load(16),
        S_STORE_DWORD | S_BUFFER_STORE_DWORD | S_SCRATCH_STORE_DWORD => Kind::Store(1),
        S_STORE_DWORDX2 | S_BUFFER_STORE_DWORDX2 | S_SCRATCH_STORE_DWORDX2 => Kind::Store(2),
        S_STORE_DWORDX4 | S_BUFFER_STORE_DWORDX4 | S_SCRATCH_STORE_DWORDX4 => Kind::Store(4),
        S_DCACHE_INV | S_DCACHE_INV_VOL | S_DCACHE_WB | S_DCACHE_WB_VOL | S_DCACHE_DISCARD
        | S_DCACHE_DISCARD_X2 | S_ATC_PROBE | S_ATC_PROBE_BUFFER => Kind::Nothing,
        _ => return None,
    })
}

/// Emits one scalar memory instruction; false for what is not one, or has to do with time.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    if let Some(rmw) = atomic::memory_atomic(inst.op) {
        update(e, inst, rmw);
        return true;
    }
    match kind(inst.op) {
        None => return false,
        Some(Kind::Nothing) => {}
        Some(Kind::Load(words)) => {
            let scalar = scalar_address(e, inst);
            let mut values = Vec::new();
            for (at, bytes) in access::Unit::Words(words as u8).parts(scalar.offset.is_none()) {
                let ok = scalar.holds(e, at);
                let mem = access(GLOBAL, bytes, false, at as i32);
                values.push(access::load_uniform(e, mem, scalar.address, ok));
            }
            let values = access::dwords(e, &values);
            e.set_dst_words(inst, &values);
        }
        Some(Kind::Store(words)) => {
            let Some(data) = inst.mem.data.or(inst.dst) else { return true };
            let scalar = scalar_address(e, inst);
            let values = e.src_words(data, words);
            for (n, value) in values.into_iter().enumerate() {
                let at = 4 * n as u32;
                let ok = scalar.holds(e, at);
                e.b.store(access(GLOBAL, 4, false, at as i32), scalar.address, value, ok);
            }
        }
    }
    true
}

/// Where an access begins, all uniform.
struct ScalarAddress {
    address: Value,
    /// For a buffer: the access's offset from the buffer's start (i64), and the buffer's size in whole dwords.
    offset: Option<(Value, Value)>,
}

impl ScalarAddress {
    /// Whether the dword at `at` behind the begin is in the buffer.
    fn holds(&self, e: &mut Emit<'_>, at: u32) -> Option<Value> {
        let (offset, size) = self.offset?;
        let at = e.b.i64(at.into());
        let offset = e.b.iadd(offset, at);
        Some(e.b.icmp(IntCC::Ult, offset, size))
    }
}

fn scalar_address(e: &mut Emit<'_>, inst: &Inst) -> ScalarAddress {
    let mut offset = e.b.i64(i64::from(inst.mem.offset) as u64);
    if let Some(soffset) = inst.mem.soffset {
        let mut value = e.read32(soffset);
        // 1.1 counts literals in dwords.
        if matches!(soffset.operand, Operand::Literal(_)) {
            value = e.shl_const(value, 2);
        }
        let mut value = e.b.convert(Opcode::Zext, value, Scalar::I64);
        if meaning(inst.op).has(Property::Scratch) {
            // Scratch of a whole wave: 64 lanes to a dword.
            let scale = e.b.i64(6);
            value = drop_low(e, value);
            value = e.b.ishl(value, scale);
        }
        offset = if inst.mem.offset == 0 { value } else { e.b.iadd(offset, value) };
    }
    let Some(base) = inst.mem.base else {
        return ScalarAddress { address: offset, offset: None };
    };
    if base.words != 4 {
        let base = e.read64(base);
        let address = e.b.iadd(base, offset);
        return ScalarAddress { address: drop_low(e, address), offset: None };
    }
    let words = e.src_words(base, 4);
    // A base has 48 bits and is extended by its sign, as all addresses are.
    let high = e.extend(words[1], 16, true);
    let base = e.wide(words[0], high);
    let records = e.b.convert(Opcode::Zext, words[2], Scalar::I64);
    let size = if inst.generation == Generation::Gfx8 {
        records
    } else {
        // In bytes without a stride, else in elements.
        let stride = e.ushr_const(words[1], 16);
        let stride = e.and_const(stride, 0x3fff);
        let none = e.b.i32(0);
        let raw = e.b.icmp(IntCC::Eq, stride, none);
        let stride = e.b.convert(Opcode::Zext, stride, Scalar::I64);
        let bytes = e.b.imul(records, stride);
        e.b.select(raw, records, bytes)
    };
    let (offset, size, base) = (drop_low(e, offset), drop_low(e, size), drop_low(e, base));
    ScalarAddress { address: e.b.iadd(base, offset), offset: Some((offset, size)) }
}

/// An i64 without its low two bits.
fn drop_low(e: &mut Emit<'_>, value: Value) -> Value {
    let mask = e.b.i64(!3);
    e.b.iand(value, mask)
}

/// An atomic of the wave: one lane does it.
fn update(e: &mut Emit<'_>, inst: &Inst, rmw: atomic::Rmw) {
    let scalar = scalar_address(e, inst);
    let (value, new) = atomic::memory_operands(e, inst, rmw);
    let value = if rmw.negate { e.b.ineg(value) } else { value };
    let ok = scalar.holds(e, if rmw.wide { 4 } else { 0 });
    let ok = ok.unwrap_or_else(|| e.b.bool(true));
    let mut args = vec![scalar.address, ok, value];
    args.extend(new);
    let bytes = rmw.bytes();
    let mem = warpjit_ir::MemAccess { align: bytes, ..access(GLOBAL, bytes, false, 0) };
    let old = e.cross1(&args, |e, args| {
        let (lane, zero) = (e.lane_id(), e.b.i32(0));
        let first = e.b.icmp(IntCC::Eq, lane, zero);
        let guard = e.b.iand(first, args[1]);
        let new = args.get(3).copied();
        let old = e.b.atomic(mem, rmw.op, args[0], args[2], new, Some(guard));
        let old = access::or_zero(e, Some(guard), old);
        e.b.read_lane(old, zero)
    });
    atomic::write_old(e, inst, old);
}
