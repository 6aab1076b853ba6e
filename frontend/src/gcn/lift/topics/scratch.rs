//! Lifts scratch accesses. Scratch is each lane's private memory; it is part of global memory, with the dwords of a wave's lanes
//! interleaved (docs/hardware/gcn.md section 6.4).
//!
//! FLAT_SCRATCH says where a wave's scratch begins. On 1.4 it holds the address. On 1.1 and 1.2 its high dword holds the offset,
//! in units of 256 bytes, from a base that programs cannot see ([`SCRATCH_ADDRESS`]).

use warpjit_ir::{Opcode, Scalar, Value};

use crate::gcn::lift::emit::Emit;
use crate::gcn::map::SCRATCH_ADDRESS;
use crate::gcn::{Generation, Operand};

/// Where the wave's scratch begins, uniform i64.
pub(in crate::gcn::lift) fn base(e: &mut Emit<'_>) -> Value {
    let code = Operand::FlatScratch(0).scalar_code().unwrap_or_default();
    if e.own.generation == Generation::Gfx9 {
        return e.scalar64(code);
    }
    let high = e.scalar(code + 1);
    let high = e.b.convert(Opcode::Zext, high, Scalar::I64);
    let shift = e.b.i64(8);
    let offset = e.b.ishl(high, shift);
    let base = e.b.i64(SCRATCH_ADDRESS);
    e.b.iadd(base, offset)
}

/// The global address (i64) of the byte at `offset` (i32) of each lane's scratch.
pub(in crate::gcn::lift) fn address(e: &mut Emit<'_>, base: Value, offset: Value) -> Value {
    let word = e.and_const(offset, !3);
    let word = e.b.convert(Opcode::Zext, word, Scalar::I64);
    let shift = e.b.i64(6);
    let row = e.b.ishl(word, shift);
    let row = e.b.iadd(base, row);
    let lane = e.lane_id();
    let lane = e.shl_const(lane, 2);
    let byte = e.and_const(offset, 3);
    let offset = e.b.ior(lane, byte);
    let offset = e.b.convert(Opcode::Zext, offset, Scalar::I64);
    e.b.iadd(row, offset)
}
