//! What all loads and stores share: the width of an operation, the layout of its data in registers, and the accesses themselves,
//! one dword at a time.
//!
//! Alignment is our choice: plain accesses accept any address, as 1.1 and later do in the mode in which compute programs run.
//! Earlier chips, and LDS before 1.4, drop the low bits, but no compiler relies on that. The files of atomics state their own
//! rules.

use warpjit_ir::{Imm, MemAccess, Opcode, Scalar, Slot, Space, Type, Value};

use crate::gcn::lift::emit::Emit;
use crate::gcn::{Inst, Op};

/// How wide an access is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) enum Unit {
    /// A byte, extended by zero or by its sign.
    Byte {
        /// By its sign.
        signed: bool,
    },
    /// Two bytes.
    Short {
        /// By its sign.
        signed: bool,
    },
    /// So many dwords.
    Words(u8),
}

impl Unit {
    /// Bytes accessed.
    pub(in crate::gcn::lift) fn bytes(self) -> u32 {
        match self {
            Unit::Byte { .. } => 1,
            Unit::Short { .. } => 2,
            Unit::Words(n) => 4 * u32::from(n),
        }
    }

    /// The separate parts of it: first byte, bytes. Four bytes at most, or eight if `pairs`.
    pub(in crate::gcn::lift) fn parts(self, pairs: bool) -> Vec<(u32, u8)> {
        let Unit::Words(words) = self else { return vec![(0, self.bytes() as u8)] };
        let (mut at, mut parts) = (0, Vec::new());
        while at < u32::from(words) {
            let wide = pairs && u32::from(words) - at >= 2;
            parts.push((4 * at, if wide { 8 } else { 4 }));
            at += if wide { 2 } else { 1 };
        }
        parts
    }
}

/// Which part of a register a narrow access has to do with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) enum Half {
    /// All of it: loads extend to 32 bits.
    Whole,
    /// Loads write the low half and leave the other.
    Low,
    /// Loads write the high half, stores take what they store from there.
    High,
}

/// A load or store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) struct Shape {
    pub(in crate::gcn::lift) store: bool,
    pub(in crate::gcn::lift) unit: Unit,
    pub(in crate::gcn::lift) half: Half,
}

const U8: Unit = Unit::Byte { signed: false };
const I8: Unit = Unit::Byte { signed: true };
const U16: Unit = Unit::Short { signed: false };
const I16: Unit = Unit::Short { signed: true };
const B32: Unit = Unit::Words(1);
const B64: Unit = Unit::Words(2);
const B96: Unit = Unit::Words(3);
const B128: Unit = Unit::Words(4);

/// Loads and stores by width: of LDS, flat and global memory, buffers.
type ShapeRow = (bool, Unit, Half, &'static [Op]);

const SHAPES: &[ShapeRow] = {
    use Half::{High, Low, Whole};
    use Op::*;
    &[
        (false, U8, Whole, &[DS_READ_U8, FLAT_LOAD_UBYTE, BUFFER_LOAD_UBYTE]),
        (false, I8, Whole, &[DS_READ_I8, FLAT_LOAD_SBYTE, BUFFER_LOAD_SBYTE]),
        (false, U16, Whole, &[DS_READ_U16, FLAT_LOAD_USHORT, BUFFER_LOAD_USHORT]),
        (false, I16, Whole, &[DS_READ_I16, FLAT_LOAD_SSHORT, BUFFER_LOAD_SSHORT]),
        (false, B32, Whole, &[DS_READ_B32, FLAT_LOAD_DWORD, BUFFER_LOAD_DWORD]),
        (false, B64, Whole, &[DS_READ_B64, FLAT_LOAD_DWORDX2, BUFFER_LOAD_DWORDX2]),
        (false, B96, Whole, &[DS_READ_B96, FLAT_LOAD_DWORDX3, BUFFER_LOAD_DWORDX3]),
        (false, B128, Whole, &[DS_READ_B128, FLAT_LOAD_DWORDX4, BUFFER_LOAD_DWORDX4]),
        (false, U8, Low, &[DS_READ_U8_D16, FLAT_LOAD_UBYTE_D16, BUFFER_LOAD_UBYTE_D16]),
        (false, U8, High, &[DS_READ_U8_D16_HI, FLAT_LOAD_UBYTE_D16_HI, BUFFER_LOAD_UBYTE_D16_HI]),
        (false, I8, Low, &[DS_READ_I8_D16, FLAT_LOAD_SBYTE_D16, BUFFER_LOAD_SBYTE_D16]),
        (false, I8, High, &[DS_READ_I8_D16_HI, FLAT_LOAD_SBYTE_D16_HI, BUFFER_LOAD_SBYTE_D16_HI]),
        (false, U16, Low, &[DS_READ_U16_D16, FLAT_LOAD_SHORT_D16, BUFFER_LOAD_SHORT_D16]),
        (false, U16, High, &[DS_READ_U16_D16_HI, FLAT_LOAD_SHORT_D16_HI, BUFFER_LOAD_SHORT_D16_HI]),
        (true, U8, Whole, &[DS_WRITE_B8, FLAT_STORE_BYTE, BUFFER_STORE_BYTE]),
        (true, U16, Whole, &[DS_WRITE_B16, FLAT_STORE_SHORT, BUFFER_STORE_SHORT]),
        (true, U8, High, &[DS_WRITE_B8_D16_HI, FLAT_STORE_BYTE_D16_HI, BUFFER_STORE_BYTE_D16_HI]),
        (true, U16, High, &[DS_WRITE_B16_D16_HI, FLAT_STORE_SHORT_D16_HI, BUFFER_STORE_SHORT_D16_HI]),
        (true, B32, Whole, &[DS_WRITE_B32, FLAT_STORE_DWORD, BUFFER_STORE_DWORD]),
        (true, B64, Whole, &[DS_WRITE_B64, FLAT_STORE_DWORDX2, BUFFER_STORE_DWORDX2]),
        (true, B96, Whole, &[DS_WRITE_B96, FLAT_STORE_DWORDX3, BUFFER_STORE_DWORDX3]),
        (true, B128, Whole, &[DS_WRITE_B128, FLAT_STORE_DWORDX4, BUFFER_STORE_DWORDX4]),
    ]
};

/// The shape of an operation that only loads or stores.
pub(in crate::gcn::lift) fn shape(op: Op) -> Option<Shape> {
    SHAPES.iter().find(|(.., ops)| ops.contains(&op)).map(|&(store, unit, half, _)| Shape {
        store,
        unit,
        half,
    })
}

/// An access of `bytes` at an offset. Any address will do, but in local memory, where a stage and devices have words that they use whole.
pub(in crate::gcn::lift) fn access(space: Space, bytes: u8, signed: bool, offset: i32) -> MemAccess {
    let align = if space == Space::Local { bytes } else { 1 };
    MemAccess { space, bytes, signed, offset, far: space == Space::Shared, align, align_offset: 0 }
}

/// An access of `bytes` to global memory.
pub(in crate::gcn::lift) const GLOBAL: Space = Space::Global(0);

/// The values that a store of this shape stores, a dword or an i64 for each of [`Unit::parts`].
pub(in crate::gcn::lift) fn stored(e: &mut Emit<'_>, inst: &Inst, shape: Shape, pairs: bool) -> Vec<Value> {
    let Some(data) = inst.mem.data else { return Vec::new() };
    let words = e.src_words(data, shape.unit.bytes().div_ceil(4) as usize);
    if shape.half == Half::High {
        return vec![e.ushr_const(words[0], 16)];
    }
    join(e, &words, &shape.unit.parts(pairs))
}

/// Dwords put together as parts say.
pub(in crate::gcn::lift) fn join(e: &mut Emit<'_>, words: &[Value], parts: &[(u32, u8)]) -> Vec<Value> {
    let mut values = Vec::new();
    for &(at, bytes) in parts {
        let word = at as usize / 4;
        values.push(match bytes {
            8 => e.wide(words[word], words[word + 1]),
            _ => words[word],
        });
    }
    values
}

/// Loaded parts as dwords.
pub(in crate::gcn::lift) fn dwords(e: &mut Emit<'_>, values: &[Value]) -> Vec<Value> {
    let mut words = Vec::new();
    for &value in values {
        if e.b.func.ty(value).scalar == Scalar::I64 {
            words.push(e.low(value));
            words.push(e.high(value));
        } else {
            words.push(value);
        }
    }
    words
}

/// Writes what a load of this shape loaded to its destination; with `tfe` the word that follows becomes 0: nothing failed.
pub(in crate::gcn::lift) fn write_loaded(e: &mut Emit<'_>, inst: &Inst, shape: Shape, values: &[Value]) {
    let mut words = dwords(e, values);
    match shape.half {
        Half::Whole => {
            if inst.mem.tfe {
                words.push(e.b.i32(0));
            }
            e.set_dst_words(inst, &words);
        }
        half => e.set_dst_half(inst, words[0], half == Half::High),
    }
}

/// The loads of all parts of a unit from consecutive addresses. Where `ok` is there and does not hold, they give 0.
pub(in crate::gcn::lift) fn load_parts(
    e: &mut Emit<'_>,
    space: Space,
    unit: Unit,
    address: Value,
    offset: i32,
    ok: Option<Value>,
) -> Vec<Value> {
    let guard = guard(e, ok);
    // LDS cannot fault: what is not wanted is read and thrown away.
    let guard = if space == Space::Shared { None } else { Some(guard) };
    let signed = matches!(unit, Unit::Byte { signed: true } | Unit::Short { signed: true });
    let parts = unit.parts(true);
    let mut values = Vec::new();
    for (at, bytes) in parts {
        let value = e.b.load(access(space, bytes, signed, offset.wrapping_add(at as i32)), address, guard);
        values.push(or_zero(e, ok, value));
    }
    values
}

/// The stores of all parts of a unit to consecutive addresses.
pub(in crate::gcn::lift) fn store_parts(
    e: &mut Emit<'_>,
    space: Space,
    unit: Unit,
    address: Value,
    offset: i32,
    values: &[Value],
    ok: Option<Value>,
) {
    let guard = store_guard(e, space, ok);
    for ((at, bytes), &value) in unit.parts(true).into_iter().zip(values) {
        let mem = access(space, bytes, false, offset.wrapping_add(at as i32));
        e.b.store(mem, address, value, Some(guard));
    }
}

/// EXEC and what else has to hold.
pub(in crate::gcn::lift) fn guard(e: &mut Emit<'_>, ok: Option<Value>) -> Value {
    let exec = e.exec();
    and(e, Some(exec), ok).unwrap_or(exec)
}

/// The same for what changes memory: helpers of a fragment do not, except LDS.
pub(in crate::gcn::lift) fn store_guard(e: &mut Emit<'_>, space: Space, ok: Option<Value>) -> Value {
    if space == Space::Shared { guard(e, ok) } else { e.store_guard(ok) }
}

/// Both conditions.
pub(in crate::gcn::lift) fn and(e: &mut Emit<'_>, a: Option<Value>, b: Option<Value>) -> Option<Value> {
    match (a, b) {
        (Some(a), Some(b)) => Some(e.b.iand(a, b)),
        (one, None) | (None, one) => one,
    }
}

/// `value` where `ok` holds, else 0.
pub(in crate::gcn::lift) fn or_zero(e: &mut Emit<'_>, ok: Option<Value>, value: Value) -> Value {
    let Some(ok) = ok else { return value };
    let zero = e.b.constant(e.b.func.ty(value).scalar, 0);
    e.b.select(ok, value, zero)
}

/// A load whose address is the same in all lanes, uniform.
pub(in crate::gcn::lift) fn load_uniform(
    e: &mut Emit<'_>,
    mem: MemAccess,
    address: Value,
    ok: Option<Value>,
) -> Value {
    let scalar = if mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 };
    let mut args = vec![address];
    args.extend(ok);
    let value = e.b.push(Opcode::Load, &args, Imm::Mem(mem), Some(Type::uniform(scalar))).unwrap_or(address);
    or_zero(e, ok, value)
}

/// Keeps a value in a slot of its own, so that it can be had behind blocks to come.
pub(in crate::gcn::lift) fn save(e: &mut Emit<'_>, value: Value, number: usize) -> Slot {
    let ty = e.b.func.ty(value);
    let slot = e.temp(ty, 48 + number);
    e.put(slot, value);
    slot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_parts() {
        assert_eq!(Unit::Words(3).parts(true), [(0, 8), (8, 4)]);
        assert_eq!(Unit::Words(3).parts(false), [(0, 4), (4, 4), (8, 4)]);
        assert_eq!(Unit::Words(4).parts(true), [(0, 8), (8, 8)]);
        assert_eq!(U16.parts(true), [(0, 2)]);
    }

    #[test]
    fn every_plain_access_has_one_shape() {
        for op in Op::ALL {
            let name = op.name();
            let plain =
                ["DS_READ_", "DS_WRITE_", "FLAT_LOAD_", "FLAT_STORE_", "BUFFER_LOAD_", "BUFFER_STORE_"];
            let special = ["FORMAT", "LDS", "ADDTID", "SRC2"];
            let wanted =
                plain.iter().any(|p| name.starts_with(p)) && !special.iter().any(|s| name.contains(s));
            assert_eq!(shape(*op).is_some(), wanted, "{name}");
            let rows = SHAPES.iter().filter(|(.., ops)| ops.contains(op)).count();
            assert!(rows <= 1, "{name}");
            if let Some(shape) = shape(*op) {
                assert_eq!(shape.store, name.contains("STORE") || name.contains("WRITE"), "{name}");
                assert_eq!(shape.half == Half::High, name.ends_with("_HI"), "{name}");
            }
        }
    }
}
