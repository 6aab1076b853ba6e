//! Lifts buffer accesses: MUBUF and MTBUF.
//!
//! The buffer's resource is in four scalar registers, read at run time. Its swizzling and bounds become uniform operations, which
//! constant folding removes if the registers hold constants. An address is a uniform base plus a 32-bit offset (docs/hardware/gcn.md
//! section 5, "Memory").
//!
//! Our choices:
//!
//! - A raw resource of 2^32-1 bytes, such as scratch has, has no bound, although its last three bytes would be out of bounds.
//! - Documents disagree on partly bad accesses. Here a plain wide access is checked dword by dword; a typed access or an atomic
//!   is done wholly or not at all.

use warpjit_ir::{Imm, IntCC, MemAccess, Opcode, Scalar, Space, Value};

use super::atomic;
use super::format::{TexelFormat, field};
use super::lds;
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::access::{self, GLOBAL, Unit, access};
use crate::gcn::{Arg, Format, Generation, Inst, Op};
use crate::isa::Stage;

/// Emits one buffer access; false for what is not one.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    if matches!(inst.op, Op::BUFFER_WBINVL1 | Op::BUFFER_WBINVL1_VOL) {
        return true;
    }
    let Some(resource) = inst.mem.base else { return false };
    let words = resource_words(e, resource, 4);
    let words = [words[0], words[1], words[2], words[3]];
    if let Some(rmw) = atomic::memory_atomic(inst.op) {
        let buffer = Buffer::new(e, inst, words);
        let bytes = rmw.bytes();
        let bytes_value = e.b.i32(bytes.into());
        let ok = buffer.holds(e, 0, bytes_value);
        let (address, offset) = buffer.address_at(e, 0);
        let operands = atomic::memory_operands(e, inst, rmw);
        let mem = MemAccess { align: bytes, ..access(GLOBAL, bytes, false, offset) };
        let old = atomic::emit(e, inst, mem, rmw, address, operands, ok);
        atomic::write_old(e, inst, old);
    } else if let Some(shape) = access::shape(inst.op) {
        let buffer = Buffer::new(e, inst, words);
        let pairs = buffer.is_plain();
        if shape.store {
            let values = access::stored(e, inst, shape, pairs);
            for ((at, bytes), value) in shape.unit.parts(pairs).into_iter().zip(values) {
                let size = e.b.i32(bytes.into());
                let ok = buffer.holds(e, at, size);
                buffer.write(e, at, bytes, value, ok);
            }
        } else {
            let signed = matches!(shape.unit, Unit::Byte { signed: true } | Unit::Short { signed: true });
            let mut values = Vec::new();
            for (at, bytes) in shape.unit.parts(pairs) {
                let size = e.b.i32(bytes.into());
                let ok = buffer.holds(e, at, size);
                values.push(buffer.read(e, at, bytes, signed, ok));
            }
            if inst.mem.lds {
                lds::store_to_lds(e, inst, &values);
            } else {
                access::write_loaded(e, inst, shape, &values);
            }
        }
    } else if inst.op == Op::BUFFER_STORE_LDS_DWORD {
        let address = lds::lane_address(e, inst.mem.offset as u32);
        let value = e.b.load(access(Space::Shared, 4, false, 0), address, None);
        let buffer = Buffer::new(e, inst, words);
        let size = e.b.i32(4);
        let ok = buffer.holds(e, 0, size);
        buffer.write(e, 0, 4, value, ok);
    } else {
        return typed(e, inst, words);
    }
    true
}

/// The registers of a resource, with what is known of their bits.
pub(in crate::gcn::lift) fn resource_words(e: &mut Emit<'_>, resource: Arg, count: usize) -> Vec<Value> {
    let mut words = e.src_words(resource, count);
    if let Some(first) = resource.operand.scalar_code() {
        for (word, code) in words.iter_mut().zip(first..) {
            match e.own.statics.bits(code) {
                (0, _) => {}
                (u32::MAX, value) => *word = e.b.i32(value),
                (known, value) => {
                    let rest = e.and_const(*word, !known);
                    let value = e.b.i32(value);
                    *word = e.b.ior(rest, value);
                }
            }
        }
    }
    words
}

/// Typed accesses: one to four components, in 16 bits each with `D16`.
fn typed(e: &mut Emit<'_>, inst: &Inst, words: [Value; 4]) -> bool {
    let name = inst.op.name();
    let Some((_, rest)) = name.split_once("_FORMAT_") else { return false };
    let count = rest.rsplit('_').next().map_or(0, str::len).min(4);
    let (d16, high) = (rest.starts_with("D16_"), rest.starts_with("D16_HI_"));
    let format = match inst.format {
        Format::Mtbuf => TexelFormat::of_instruction(inst),
        _ => TexelFormat::of_buffer(e, words[3]),
    };
    let buffer = Buffer::new(e, inst, words);
    let bytes = format.bytes(e);
    let ok = buffer.holds(e, 0, bytes);
    if name.contains("_STORE_") {
        let Some(data) = inst.mem.data else { return true };
        let components = if d16 { halves(e, inst, count, high) } else { e.src_words(data, count) };
        format.store(e, &components, d16, |e, at, bytes, value, cond| {
            let ok = access::and(e, ok, cond);
            buffer.write(e, at, bytes, value, ok);
        });
        return true;
    }
    // Out of range the texel is 0, but selectors may still say 1.
    // Of vertex programs: drivers' code counts on it there.
    let of_vertex = e.own.options.stage.is_some_and(|interface| interface.stage == Stage::Vertex);
    let plain_alpha = of_vertex && inst.generation != Generation::Gfx9;
    let mut values = format.load(e, count, d16, plain_alpha, |e, at, bytes, cond| {
        let ok = access::and(e, ok, cond);
        buffer.read(e, at, bytes, false, ok)
    });
    if inst.mem.lds {
        lds::store_to_lds(e, inst, &values);
        return true;
    }
    if d16 && packs(inst) {
        if count == 1 {
            e.set_dst_half(inst, values[0], high);
            return true;
        }
        values = pack_halves(e, &values);
    }
    if inst.mem.tfe {
        values.push(e.b.i32(0));
    }
    e.set_dst_words(inst, &values);
    true
}

/// Whether 16-bit components share registers: on 1.4. On 1.2 each has its own.
pub(in crate::gcn::lift) fn packs(inst: &Inst) -> bool {
    inst.generation == Generation::Gfx9
}

/// 16-bit components, two a dword.
pub(in crate::gcn::lift) fn pack_halves(e: &mut Emit<'_>, values: &[Value]) -> Vec<Value> {
    let mut words = Vec::new();
    for pair in values.chunks(2) {
        words.push(match *pair {
            [low, high] => {
                let high = e.shl_const(high, 16);
                e.b.ior(low, high)
            }
            [low] => low,
            _ => continue,
        });
    }
    words
}

/// The 16-bit components that a store takes from its registers.
pub(in crate::gcn::lift) fn halves(e: &mut Emit<'_>, inst: &Inst, count: usize, high: bool) -> Vec<Value> {
    let Some(data) = inst.mem.data else { return Vec::new() };
    if !packs(inst) {
        let words = e.src_words(data, count);
        return words.into_iter().map(|word| e.and_const(word, 0xffff)).collect();
    }
    let words = e.src_words(data, count.div_ceil(2));
    let mut values = Vec::new();
    for component in 0..count {
        let word = words[component / 2];
        let up = high || component % 2 == 1;
        values.push(if up { e.ushr_const(word, 16) } else { e.and_const(word, 0xffff) });
    }
    values
}

/// What a resource and an instruction make of the lanes' addresses.
struct Buffer {
    /// Base and scalar offset, uniform i64.
    base: Value,
    lanes: Lanes,
    bounds: Option<Bounds>,
}

/// Where the lanes are, from the base.
enum Lanes {
    /// 64-bit addresses.
    Wide(Value, i32),
    /// Consecutive bytes from an offset (i32) or, without one, from a constant on.
    Linear(Option<Value>, i32),
    /// As the resource says.
    Swizzled(Swizzle),
}

/// Parameters of the swizzled address; uniform ones are such that without swizzling the address is linear.
struct Swizzle {
    offset: Value,
    index: Option<Value>,
    stride: Value,
    /// Logarithm of the index stride, and the element's.
    index_shift: Value,
    element_shift: Value,
    index_mask: Value,
    element_mask: Value,
}

/// What is compared with what.
struct Bounds {
    /// Offset of a lane's first byte, where bytes are counted.
    offset: Value,
    /// Bytes there are.
    bytes: Value,
    /// Index of a lane and number of records, and whether these count (`None`: never).
    records: Option<(Value, Value, Value)>,
    /// Whether the resource is valid (`None`: it is).
    valid: Option<Value>,
}

impl Buffer {
    fn new(e: &mut Emit<'_>, inst: &Inst, words: [Value; 4]) -> Buffer {
        let mem = &inst.mem;
        let soffset = match mem.soffset {
            Some(arg) => e.read32(arg),
            None => e.b.i32(0),
        };
        let base = base(e, words, soffset);
        let registers = match mem.addr {
            Some(addr) => {
                let wide = mem.addr64 || mem.idxen && mem.offen;
                e.src_words(addr, if wide { 2 } else { 1 })
            }
            None => Vec::new(),
        };
        if let (true, [low, high]) = (mem.addr64, registers.as_slice()) {
            let address = e.wide(*low, *high);
            let address = e.b.iadd(base, address);
            return Buffer { base, lanes: Lanes::Wide(address, mem.offset), bounds: None };
        }
        let swizzled = known_bit(e, words[1], 31);
        let counts_lanes = known_bit(e, words[3], 23);
        let zero = e.b.i32(0);
        let constant = e.b.i32(mem.offset as u32);
        let offset = match registers.last() {
            Some(&register) if mem.offen && mem.offset == 0 => register,
            Some(&register) if mem.offen => e.b.iadd(register, constant),
            _ => constant,
        };
        let mut index = registers.first().copied().filter(|_| mem.idxen);
        if counts_lanes != Some(false) {
            let lane = e.lane_id();
            let mut lane = lane;
            if counts_lanes.is_none() {
                let counts = flag(e, words[3], 23);
                lane = e.b.select(counts, lane, zero);
            }
            index = Some(index.map_or(lane, |index| e.b.iadd(index, lane)));
        }
        let mut stride = field(e, words[1], 16, 14);
        if e.own.generation >= Generation::Gfx8 && counts_lanes != Some(false) {
            // The data format is part of the stride then.
            let high = field(e, words[3], 15, 4);
            let high = e.shl_const(high, 14);
            let counts = flag(e, words[3], 23);
            let high = e.b.select(counts, high, zero);
            stride = e.b.ior(stride, high);
        }
        let bounds = Bounds::new(e, inst, words, offset, index, stride, soffset);
        let endless = e.b.func.as_const(words[2]) == Some(u32::MAX.into())
            && bounds.records.is_none()
            && bounds.valid.is_none();
        let lanes = match (swizzled, index, mem.offen) {
            (Some(false), None, false) => Lanes::Linear(None, mem.offset),
            (Some(false), None, true) => Lanes::Linear(Some(offset), 0),
            (Some(false), Some(index), _) => {
                let record = e.b.imul(index, stride);
                Lanes::Linear(Some(e.b.iadd(record, offset)), 0)
            }
            _ => Lanes::Swizzled(Swizzle::new(e, words, offset, index, stride)),
        };
        Buffer { base, lanes, bounds: (!endless).then_some(bounds) }
    }

    /// Whether accesses are not checked and consecutive.
    fn is_plain(&self) -> bool {
        self.bounds.is_none() && !matches!(self.lanes, Lanes::Swizzled(_))
    }

    /// Address and constant offset of the byte `at` behind the first one.
    fn address_at(&self, e: &mut Emit<'_>, at: u32) -> (Value, i32) {
        let (offset, constant) = match &self.lanes {
            Lanes::Wide(address, offset) => return (*address, offset + at as i32),
            Lanes::Linear(None, constant) => return (self.base, constant + at as i32),
            Lanes::Linear(Some(offset), constant) => (*offset, constant + at as i32),
            Lanes::Swizzled(swizzle) => (swizzle.offset(e, at), 0),
        };
        let offset = e.b.convert(Opcode::Zext, offset, Scalar::I64);
        (e.b.iadd(self.base, offset), constant)
    }

    /// Whether `bytes` (uniform i32) at `at` are in the buffer; `None` if that does not matter.
    fn holds(&self, e: &mut Emit<'_>, at: u32, bytes: Value) -> Option<Value> {
        Some(self.bounds.as_ref()?.hold(e, at, bytes))
    }

    fn read(&self, e: &mut Emit<'_>, at: u32, bytes: u8, signed: bool, ok: Option<Value>) -> Value {
        let (address, offset) = self.address_at(e, at);
        let guard = access::guard(e, ok);
        let value = e.b.load(access(GLOBAL, bytes, signed, offset), address, Some(guard));
        access::or_zero(e, ok, value)
    }

    fn write(&self, e: &mut Emit<'_>, at: u32, bytes: u8, value: Value, ok: Option<Value>) {
        let (address, offset) = self.address_at(e, at);
        let guard = e.store_guard(ok);
        e.b.store(access(GLOBAL, bytes, false, offset), address, value, Some(guard));
    }
}

/// The base address and the scalar offset. Addresses wrap at 48 bits: the base is extended by its sign, so that one near
/// the end is a small negative number.
fn base(e: &mut Emit<'_>, words: [Value; 4], soffset: Value) -> Value {
    let high = e.extend(words[1], 16, true);
    let base = e.wide(words[0], high);
    if e.b.func.as_const(soffset) == Some(0) {
        return base;
    }
    let soffset = e.b.convert(Opcode::Zext, soffset, Scalar::I64);
    e.b.iadd(base, soffset)
}

impl Swizzle {
    fn new(
        e: &mut Emit<'_>,
        words: [Value; 4],
        offset: Value,
        index: Option<Value>,
        stride: Value,
    ) -> Swizzle {
        let swizzled = flag(e, words[1], 31);
        let (zero, one) = (e.b.i32(0), e.b.i32(1));
        // 1.4 has other bits there, and elements of four bytes always (docs/hardware/graphics-gcn.md section 1).
        let element = if e.own.generation == Generation::Gfx9 { one } else { field(e, words[3], 19, 2) };
        let element_shift = e.b.iadd(element, one);
        let group = field(e, words[3], 21, 2);
        let group = e.add_const(group, 3);
        let mask = |e: &mut Emit<'_>, shift: Value| {
            let size = e.b.ishl(one, shift);
            let mask = e.b.isub(size, one);
            e.b.select(swizzled, mask, zero)
        };
        Swizzle {
            offset,
            index,
            stride,
            index_mask: mask(e, group),
            element_mask: mask(e, element_shift),
            index_shift: e.b.select(swizzled, group, zero),
            element_shift,
        }
    }

    /// The offset of the byte `at` behind the first one.
    fn offset(&self, e: &mut Emit<'_>, at: u32) -> Value {
        let offset = if at == 0 { self.offset } else { e.add_const(self.offset, at) };
        let outside = e.b.inot(self.element_mask);
        let elements = e.b.iand(offset, outside);
        let elements = e.b.ishl(elements, self.index_shift);
        let byte = e.b.iand(offset, self.element_mask);
        let mut offset = e.b.iadd(elements, byte);
        if let Some(index) = self.index {
            let group = e.b.ushr(index, self.index_shift);
            let record = e.b.imul(group, self.stride);
            let record = e.b.ishl(record, self.index_shift);
            let member = e.b.iand(index, self.index_mask);
            let member = e.b.ishl(member, self.element_shift);
            let records = e.b.iadd(record, member);
            offset = e.b.iadd(offset, records);
        }
        offset
    }
}

impl Bounds {
    fn new(
        e: &mut Emit<'_>,
        inst: &Inst,
        words: [Value; 4],
        offset: Value,
        index: Option<Value>,
        stride: Value,
        soffset: Value,
    ) -> Bounds {
        let zero = e.b.i32(0);
        let generation = inst.generation;
        // 1.4 counts the scalar offset.
        let mut bytes = words[2];
        if generation == Generation::Gfx9 && e.b.func.as_const(soffset) != Some(0) {
            let some = e.b.icmp(IntCC::Ugt, bytes, soffset);
            let rest = e.b.isub(bytes, soffset);
            bytes = e.b.select(some, rest, zero);
        }
        // 1.2 counts bytes of unswizzled buffers whatever the stride, 1.4 where no lane has an index.
        let by_record = match generation {
            Generation::Gfx9 if !inst.mem.idxen && index.is_none() => None,
            _ if has_no_stride(e, words) => None,
            _ => {
                let mut structured = e.b.icmp(IntCC::Ne, stride, zero);
                let mut and = |e: &mut Emit<'_>, cond: Value| structured = e.b.iand(structured, cond);
                if generation == Generation::Gfx8 {
                    let swizzled = flag(e, words[1], 31);
                    and(e, swizzled);
                }
                if generation == Generation::Gfx9 && !inst.mem.idxen {
                    let counts = flag(e, words[3], 23);
                    and(e, counts);
                }
                Some(structured)
            }
        };
        let mut counted = offset;
        if generation == Generation::Gfx8
            && let (Some(index), Some(_)) = (index, by_record)
        {
            let record = e.b.imul(index, stride);
            counted = e.b.iadd(record, offset);
        }
        let records = by_record.map(|structured| (index.unwrap_or(zero), words[2], structured));
        let valid = (inst.format == Format::Mubuf).then(|| valid(e, words[3])).flatten();
        Bounds { offset: counted, bytes, records, valid }
    }

    fn hold(&self, e: &mut Emit<'_>, at: u32, bytes: Value) -> Value {
        // All of it is inside if the first byte is below this.
        let (zero, one) = (e.b.i32(0), e.b.i32(1));
        let length = e.add_const(bytes, at);
        let fits = e.b.icmp(IntCC::Uge, self.bytes, length);
        let spare = e.b.isub(self.bytes, length);
        let below = e.b.iadd(spare, one);
        let mut below = e.b.select(fits, below, zero);
        let mut value = self.offset;
        if let Some((index, records, structured)) = self.records {
            below = e.b.select(structured, records, below);
            value = e.b.select(structured, index, value);
        }
        if let Some(valid) = self.valid {
            below = e.b.select(valid, below, zero);
        }
        e.b.icmp(IntCC::Ult, value, below)
    }
}

/// Whether a resource has a data format: without one every access is out of range. From 1.2 on the field is part of the
/// stride where lanes are counted. `None`: it has.
fn valid(e: &mut Emit<'_>, word: Value) -> Option<Value> {
    let known = e.b.func.as_const(word).map(|word| word as u32);
    let lanes_count = e.own.generation >= Generation::Gfx8;
    if known.is_some_and(|word| word & 0xf << 15 != 0 || lanes_count && word & 1 << 23 != 0) {
        return None;
    }
    let mask = 0xf << 15 | if lanes_count { 1 << 23 } else { 0 };
    let bits = e.and_const(word, mask);
    let zero = e.b.i32(0);
    Some(e.b.icmp(IntCC::Ne, bits, zero))
}

/// A bit of a uniform word as a truth value.
fn flag(e: &mut Emit<'_>, word: Value, bit: u32) -> Value {
    let bit = e.and_const(word, 1 << bit);
    let zero = e.b.i32(0);
    e.b.icmp(IntCC::Ne, bit, zero)
}

/// A bit of `word`, if it is known at compile time from the code of this block.
fn known_bit(e: &Emit<'_>, word: Value, bit: u32) -> Option<bool> {
    let (zeros, ones) = known_bits(e, word, 6);
    let mask = 1 << bit;
    (zeros & mask != 0).then_some(false).or((ones & mask != 0).then_some(true))
}

/// Whether the stride is 0 for sure.
fn has_no_stride(e: &Emit<'_>, words: [Value; 4]) -> bool {
    let zero = |word: Value, mask: u32| known_bits(e, word, 6).0 & mask == mask;
    zero(words[1], 0x3fff_0000)
        && (e.own.generation < Generation::Gfx8 || zero(words[3], 1 << 23) || zero(words[3], 0xf << 15))
}

/// The bits that are 0 and those that are 1 for sure.
fn known_bits(e: &Emit<'_>, word: Value, depth: u32) -> (u32, u32) {
    if let Some(bits) = e.b.func.as_const(word) {
        return (!(bits as u32), bits as u32);
    }
    let Some(data) = e.b.func.def_inst(word) else { return (0, 0) };
    if depth == 0 {
        return (0, 0);
    }
    let arg = |n: usize| data.args.get(n).map_or((0, 0), |&v| known_bits(e, v, depth - 1));
    match (data.op, data.imm) {
        (Opcode::Iand, _) => (arg(0).0 | arg(1).0, arg(0).1 & arg(1).1),
        (Opcode::Ior, _) => (arg(0).0 & arg(1).0, arg(0).1 | arg(1).1),
        (Opcode::SlotGet, Imm::Slot(slot)) => {
            let most = e.b.func.slots[slot.index()].umax.unwrap_or(u32::MAX);
            (!(u32::MAX >> most.leading_zeros().min(31)), 0)
        }
        _ => (0, 0),
    }
}
