//! Lifts flat, global and scratch accesses (docs/hardware/gcn.md section 5, "Memory").
//!
//! The high dword of a flat address says, for each lane, whether the address is in LDS, scratch or global memory. The two ranges
//! of high dwords are the apertures. If the program cannot know the apertures ([`Options`](super::Options) has none), all flat
//! addresses are global.

use warpjit_ir::{IntCC, MemAccess, Opcode, Scalar, Space, Terminator, Value};

use super::atomic::{self, Rmw};
use super::scratch;
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::access::{self, GLOBAL, Shape, Unit, access};
use crate::gcn::{Generation, Inst, Segment};

/// Emits one flat, global or scratch access; false for what is not one.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    if let Some(rmw) = atomic::memory_atomic(inst.op) {
        update(e, inst, rmw);
        return true;
    }
    let Some(shape) = access::shape(inst.op) else { return false };
    if inst.mem.segment != Segment::Scratch && !has_apertures(e, inst) {
        let (address, offset) = global(e, inst);
        if shape.store {
            let values = access::stored(e, inst, shape, true);
            access::store_parts(e, GLOBAL, shape.unit, address, offset, &values, None);
        } else {
            let values = access::load_parts(e, GLOBAL, shape.unit, address, offset, None);
            finish_load(e, inst, shape, &values);
        }
        return true;
    }
    let split = match straddles(e, inst, shape.unit) {
        Straddles::Never => {
            all_accesses(e, inst, shape, false);
            return true;
        }
        Straddles::Always => {
            all_accesses(e, inst, shape, true);
            return true;
        }
        Straddles::In(lanes) => e.vote_any(lanes),
    };
    let [bytes, words, behind] = [(); 3].map(|()| e.b.func.add_block(e.b.pc));
    e.end_block(Terminator::Branch { cond: split, taken: bytes.into(), next: words.into() });
    for (block, bytewise) in [(bytes, true), (words, false)] {
        e.start(block);
        all_accesses(e, inst, shape, bytewise);
        e.end_block(Terminator::Jump(behind.into()));
    }
    e.start(behind);
    true
}

/// Which lanes access two dwords of scratch at a time. These do not lie side by side: bytes have to be accessed one by one.
enum Straddles {
    Never,
    /// All that are in scratch.
    Always,
    /// These, where they are active.
    In(Value),
}

/// Compilers make such accesses for 1.4 only, and only in programs that have its scratch instructions.
fn straddles(e: &mut Emit<'_>, inst: &Inst, unit: Unit) -> Straddles {
    let most = match unit {
        _ if e.own.generation != Generation::Gfx9 || !e.own.scratch_instructions => return Straddles::Never,
        Unit::Byte { .. } => return Straddles::Never,
        Unit::Short { .. } => 2,
        Unit::Words(_) => 0,
    };
    if inst.mem.segment == Segment::Scratch {
        let known = match inst.mem.saddr.or(inst.mem.addr) {
            None => Some(0),
            Some(arg) => arg.operand.scalar_code().and_then(|code| match e.own.statics.bits(code) {
                (known, value) if known & 3 == 3 => Some(value),
                _ => None,
            }),
        };
        if let Some(offset) = known {
            let over = offset.wrapping_add(inst.mem.offset as u32) & 3 > most;
            return if over { Straddles::Always } else { Straddles::Never };
        }
    }
    let Some((_, offset, lanes)) = flat_address(e, inst).scratch else { return Straddles::Never };
    let byte = e.and_const(offset, 3);
    let most = e.b.i32(most);
    let over = e.b.icmp(IntCC::Ugt, byte, most);
    let over = access::and(e, lanes, Some(over));
    Straddles::In(access::guard(e, over))
}

/// The whole access, in dwords or byte by byte. What other waves may look at meanwhile is accessed in pairs of dwords, as on the chip: a
/// pair is seen whole (a value with its flag). Compilers mark such loads by GLC; of stores they do not tell.
fn all_accesses(e: &mut Emit<'_>, inst: &Inst, shape: Shape, bytewise: bool) {
    let flat = flat_address(e, inst);
    let pairs = !bytewise && flat.address.is_some() && (shape.store || inst.mem.glc);
    let parts = shape.unit.parts(pairs);
    if shape.store {
        let values = access::stored(e, inst, shape, pairs);
        for ((at, bytes), value) in parts.into_iter().zip(values) {
            if !bytewise {
                flat.store(e, at, bytes, value);
                continue;
            }
            for byte in 0..u32::from(bytes) {
                let value = if byte == 0 { value } else { e.ushr_const(value, 8 * byte) };
                flat.store(e, at + byte, 1, value);
            }
        }
    } else {
        let signed = matches!(shape.unit, Unit::Byte { signed: true } | Unit::Short { signed: true });
        let mut values = Vec::new();
        for (at, bytes) in parts {
            if !bytewise {
                values.push(flat.load(e, at, bytes, signed));
                continue;
            }
            let last = u32::from(bytes) - 1;
            let mut value = flat.load(e, at + last, 1, signed);
            for byte in (0..last).rev() {
                let high = e.shl_const(value, 8);
                let low = flat.load(e, at + byte, 1, false);
                value = e.b.ior(high, low);
            }
            values.push(value);
        }
        finish_load(e, inst, shape, &values);
    }
}

fn flat_address(e: &mut Emit<'_>, inst: &Inst) -> FlatAddress {
    match inst.mem.segment {
        Segment::Scratch => in_scratch(e, inst),
        _ => anywhere(e, inst),
    }
}

fn finish_load(e: &mut Emit<'_>, inst: &Inst, shape: Shape, values: &[Value]) {
    if inst.mem.lds {
        super::lds::store_to_lds(e, inst, values);
    } else {
        access::write_loaded(e, inst, shape, values);
    }
}

/// Whether lanes may be in LDS or scratch.
fn has_apertures(e: &Emit<'_>, inst: &Inst) -> bool {
    let known = e.own.options.shared_aperture != 0 || e.own.options.private_aperture != 0;
    inst.mem.segment == Segment::Flat && known
}

/// Address and constant offset of an access that is global in all lanes.
fn global(e: &mut Emit<'_>, inst: &Inst) -> (Value, i32) {
    let mem = &inst.mem;
    let address = match (mem.saddr, mem.addr) {
        (Some(base), Some(addr)) => {
            let base = e.read64(base);
            let offset = e.read32(addr);
            let offset = e.b.convert(Opcode::Zext, offset, Scalar::I64);
            e.b.iadd(base, offset)
        }
        (Some(base), None) => e.read64(base),
        (None, Some(addr)) => e.read64(addr),
        (None, None) => e.b.i64(0),
    };
    (address, mem.offset)
}

/// Where the lanes access memory.
struct FlatAddress {
    /// Global address of each lane, unless the lane is elsewhere.
    address: Option<Value>,
    /// Offset in scratch, and which lanes are there (`None`: all).
    scratch: Option<(Value, Value, Option<Value>)>,
    /// Address in LDS, and which lanes are there.
    lds: Option<(Value, Value)>,
}

fn in_scratch(e: &mut Emit<'_>, inst: &Inst) -> FlatAddress {
    let offset = match inst.mem.saddr.or(inst.mem.addr) {
        Some(arg) => e.read32(arg),
        None => e.b.i32(0),
    };
    let offset = if inst.mem.offset == 0 { offset } else { e.add_const(offset, inst.mem.offset as u32) };
    let base = scratch::base(e);
    FlatAddress { address: None, scratch: Some((base, offset, None)), lds: None }
}

fn anywhere(e: &mut Emit<'_>, inst: &Inst) -> FlatAddress {
    let (address, offset) = global(e, inst);
    let offset = e.b.i64(i64::from(offset) as u64);
    let address = e.b.iadd(address, offset);
    let (low, high) = (e.low(address), e.high(address));
    let inside = |e: &mut Emit<'_>, aperture: u32| {
        (aperture != 0).then(|| {
            let aperture = e.b.i32(aperture);
            e.b.icmp(IntCC::Eq, high, aperture)
        })
    };
    let (shared, private) = (e.own.options.shared_aperture, e.own.options.private_aperture);
    let lds = inside(e, shared).map(|lanes| (low, lanes));
    let private = inside(e, private);
    let scratch = private.map(|lanes| (scratch::base(e), low, Some(lanes)));
    FlatAddress { address: Some(address), scratch, lds }
}

impl FlatAddress {
    /// The global address of the part at `at`.
    fn global_at(&self, e: &mut Emit<'_>, at: u32) -> Value {
        let plain = self.address.map(|address| {
            let at = e.b.i64(at.into());
            e.b.iadd(address, at)
        });
        let Some((base, offset, lanes)) = self.scratch else {
            return plain.unwrap_or_else(|| e.b.i64(0));
        };
        let offset = if at == 0 { offset } else { e.add_const(offset, at) };
        let in_scratch = scratch::address(e, base, offset);
        match (lanes, plain) {
            (Some(lanes), Some(plain)) => e.b.select(lanes, in_scratch, plain),
            _ => in_scratch,
        }
    }

    /// The lanes that are not in LDS.
    fn outside(&self, e: &mut Emit<'_>) -> Option<Value> {
        self.lds.map(|(_, lanes)| e.b.inot(lanes))
    }

    /// The lanes in LDS, and their addresses there, for a part.
    fn inside(&self, e: &mut Emit<'_>, at: u32) -> Option<(Value, Value)> {
        let (address, lanes) = self.lds?;
        let address = if at == 0 { address } else { e.add_const(address, at) };
        Some((address, lanes))
    }

    fn load(&self, e: &mut Emit<'_>, at: u32, bytes: u8, signed: bool) -> Value {
        if bytes == 8 {
            return self.load_pair(e, at);
        }
        let address = self.global_at(e, at);
        let outside = self.outside(e);
        let guard = access::guard(e, outside);
        let value = e.b.load(access(GLOBAL, bytes, signed, 0), address, Some(guard));
        let Some((address, _)) = self.inside(e, at) else { return value };
        let shared = e.b.load(access(Space::Shared, bytes, signed, 0), address, None);
        match outside {
            Some(outside) => e.b.select(outside, value, shared),
            None => value,
        }
    }

    /// Where lanes are neither in LDS nor in scratch, whose dwords do not lie side by side.
    fn global_pair(&self, e: &mut Emit<'_>, at: u32) -> (Value, Option<Value>) {
        let at = e.b.i64(at.into());
        let address = self.address.map_or(at, |address| e.b.iadd(address, at));
        let scratch = self.scratch.and_then(|(.., lanes)| lanes).map(|lanes| e.b.inot(lanes));
        let outside = self.outside(e);
        (address, access::and(e, outside, scratch))
    }

    /// The lanes in scratch, and the addresses of both dwords.
    fn scratch_pair(&self, e: &mut Emit<'_>, at: u32) -> Option<([Value; 2], Value)> {
        let (base, offset, lanes) = self.scratch?;
        let addresses = [at, at + 4].map(|at| {
            let offset = e.add_const(offset, at);
            scratch::address(e, base, offset)
        });
        Some((addresses, lanes?))
    }

    fn load_pair(&self, e: &mut Emit<'_>, at: u32) -> Value {
        let (address, there) = self.global_pair(e, at);
        let guard = access::guard(e, there);
        let mut value = e.b.load(access(GLOBAL, 8, false, 0), address, Some(guard));
        if let Some((addresses, there)) = self.scratch_pair(e, at) {
            let guard = access::guard(e, Some(there));
            let [low, high] = addresses.map(|at| e.b.load(access(GLOBAL, 4, false, 0), at, Some(guard)));
            let both = e.wide(low, high);
            value = e.b.select(there, both, value);
        }
        if let Some((address, there)) = self.inside(e, at) {
            let shared = e.b.load(access(Space::Shared, 8, false, 0), address, None);
            value = e.b.select(there, shared, value);
        }
        value
    }

    fn store_pair(&self, e: &mut Emit<'_>, at: u32, value: Value) {
        let (address, there) = self.global_pair(e, at);
        let guard = e.store_guard(there);
        e.b.store(access(GLOBAL, 8, false, 0), address, value, Some(guard));
        if let Some((addresses, there)) = self.scratch_pair(e, at) {
            let guard = e.store_guard(Some(there));
            let halves = [e.low(value), e.high(value)];
            for (address, half) in addresses.into_iter().zip(halves) {
                e.b.store(access(GLOBAL, 4, false, 0), address, half, Some(guard));
            }
        }
        if let Some((address, there)) = self.inside(e, at) {
            let guard = access::guard(e, Some(there));
            e.b.store(access(Space::Shared, 8, false, 0), address, value, Some(guard));
        }
    }

    fn store(&self, e: &mut Emit<'_>, at: u32, bytes: u8, value: Value) {
        if bytes == 8 {
            return self.store_pair(e, at, value);
        }
        let address = self.global_at(e, at);
        let outside = self.outside(e);
        let guard = e.store_guard(outside);
        e.b.store(access(GLOBAL, bytes, false, 0), address, value, Some(guard));
        if let Some((address, there)) = self.inside(e, at) {
            let guard = access::guard(e, Some(there));
            e.b.store(access(Space::Shared, bytes, false, 0), address, value, Some(guard));
        }
    }
}

fn update(e: &mut Emit<'_>, inst: &Inst, rmw: Rmw) {
    let bytes = rmw.bytes();
    let mem = MemAccess { align: bytes, ..access(GLOBAL, bytes, false, 0) };
    if !has_apertures(e, inst) {
        let (address, offset) = global(e, inst);
        let operands = atomic::memory_operands(e, inst, rmw);
        let old = atomic::emit(e, inst, MemAccess { offset, ..mem }, rmw, address, operands, None);
        return atomic::write_old(e, inst, old);
    }
    // An atomic in scratch is one as any other: 64-bit ones would need dwords side by side, and are not there.
    let flat = anywhere(e, inst);
    let address = flat.global_at(e, 0);
    let outside = flat.outside(e);
    let operands = atomic::memory_operands(e, inst, rmw);
    let old = atomic::emit(e, inst, mem, rmw, address, operands, outside);
    let old = access::save(e, old, 0);
    let flat = anywhere(e, inst);
    if let Some((address, there)) = flat.inside(e, 0) {
        let operands = atomic::memory_operands(e, inst, rmw);
        let mem = access(Space::Shared, bytes, false, 0);
        let address = e.and_const(address, !(u32::from(bytes) - 1));
        let shared = atomic::emit(e, inst, mem, rmw, address, operands, Some(there));
        let flat = anywhere(e, inst);
        let global = e.get(old);
        let both = match flat.outside(e) {
            Some(outside) => e.b.select(outside, global, shared),
            None => global,
        };
        return atomic::write_old(e, inst, both);
    }
    let old = e.get(old);
    atomic::write_old(e, inst, old);
}
