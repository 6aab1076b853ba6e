//! Operands that only graphics stages have: a[], p[] and o[].
//!
//! In a geometry program a pointer into p[] is 4 times the number of its vertex, and the words of a vertex are 0x20 bytes apart, as `$sr3`
//! says. So an address in p[] has the number of the vertex in bits 2 to 4, that of the word above.

use warpjit_ir::{IntCC, Value};

use super::Emit;
use crate::isa::Stage;
use crate::simt::stage::{At, InputSpace, Read};
use crate::tesla::{Address, Type};

/// End of a vertex's words in a[], p[] and o[].
pub(in crate::tesla::lift) const VERTEX_END: u32 = 0x200;
/// End of a[] in a geometry program.
pub(in crate::tesla::lift) const GEOMETRY_END: u32 = 0x1c;
/// The number of the primitive there, behind pointers to six vertices.
pub(in crate::tesla::lift) const PRIMITIVE: u32 = 0x18;
/// End of v[].
pub(in crate::tesla::lift) const VARYING_END: u32 = 0x400;
/// Bytes from word to word in p[], and of a pointer.
pub(in crate::tesla::lift) const VERTEX_STRIDE: u32 = 0x20;

/// The address of an operand, checked against the end of its space. `scale`: what the literal is multiplied by.
pub(in crate::tesla::lift) fn stage_address(
    e: &mut Emit<'_>,
    addr: Address,
    scale: u32,
    end: u32,
    store: bool,
) -> At {
    let offset = addr.offset_bytes.wrapping_mul(scale);
    if addr.areg == 0 {
        if offset >= end {
            let address = e.b.i32(offset);
            e.check_end(address, end, store);
        }
        return At::Known(offset);
    }
    let base = e.areg(addr.areg);
    let offset = e.b.i32(offset);
    let address = e.b.iadd(base, offset);
    e.check_end(address, end, store);
    At::Computed(address)
}

/// A word of a[].
pub(in crate::tesla::lift) fn attribute(e: &mut Emit<'_>, addr: Address) -> Value {
    let Some(plan) = e.own.family.plan else { return e.b.i32(0) };
    let read = |at| Read { space: InputSpace::Attribute, at, vertex: None };
    if plan.interface.stage != Stage::Geometry {
        let at = stage_address(e, addr, 1, VERTEX_END, false);
        return e.input(plan, read(at));
    }
    match stage_address(e, addr, 1, GEOMETRY_END, false) {
        At::Known(at) if at < PRIMITIVE => e.b.i32(at & !3),
        At::Known(at) => e.input(plan, read(At::Known(at))),
        At::Computed(address) => {
            let number = e.input(plan, read(At::Known(PRIMITIVE)));
            let first = e.b.i32(PRIMITIVE);
            let is_pointer = e.b.icmp(IntCC::Ult, address, first);
            let pointer = e.and_const(address, !3);
            e.b.select(is_pointer, pointer, number)
        }
    }
}

/// A word of p[].
pub(in crate::tesla::lift) fn vertex_word(e: &mut Emit<'_>, addr: Address) -> Value {
    let Some(plan) = e.own.family.plan else { return e.b.i32(0) };
    let scale = VERTEX_STRIDE / 4;
    let at = stage_address(e, addr, scale, VERTEX_END * scale, false);
    let (at, vertex) = match at {
        At::Known(address) => {
            let vertex = e.b.i32(address % VERTEX_STRIDE / 4);
            (At::Known(address / VERTEX_STRIDE * 4), vertex)
        }
        At::Computed(address) => {
            let word = e.ushr_const(address, scale.trailing_zeros());
            let word = e.and_const(word, !3);
            let vertex = e.ushr_const(address, 2);
            (At::Computed(word), e.and_const(vertex, 7))
        }
    };
    e.input(plan, Read { space: InputSpace::Vertex, at, vertex: Some(vertex) })
}

/// Writes an output.
pub(in crate::tesla::lift) fn set_output(e: &mut Emit<'_>, addr: Address, ty: Type, value: Value) {
    let Some(plan) = e.own.family.plan else { return };
    let at = stage_address(e, addr, 1, VERTEX_END, true);
    e.set_output(plan, at, ty.bytes().min(4) as u8, value);
}

/// Keeps the outputs that are registers, before a thread ends.
pub(in crate::tesla::lift) fn keep_registers(e: &mut Emit<'_>) {
    if let Some(plan) = e.own.family.plan {
        e.keep_registers(plan, |e, number| e.reg(number));
    }
}
