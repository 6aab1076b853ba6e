//! Lifts what only graphics stages have: inputs, interpolation, outputs, emitted vertices, discarded fragments.
//!
//! In a geometry program a pointer into p[] is 4 times the number of its vertex, and the words of a vertex are 0x20 bytes apart, as `$sr3`
//! says. So an address in p[] has the number of the vertex in bits 2 to 4, that of the word above.

use warpjit_ir::{GuestFault, IntCC, Opcode, Scalar, Value};

use super::Needs;
use super::emit::Emit;
use super::float::{canonical, source};
use crate::isa::Stage;
use crate::simt::stage::{At, InputSpace, Plan, Read};
use crate::tesla::numeric::f32;
use crate::tesla::{Address, Inst, Op, Operand, Type};

/// End of a vertex's words in a[], p[] and o[].
const VERTEX_END: u32 = 0x200;
/// End of a[] in a geometry program.
const GEOMETRY_END: u32 = 0x1c;
/// The number of the primitive there, behind pointers to six vertices.
const PRIMITIVE: u32 = 0x18;
/// End of v[].
const VARYING_END: u32 = 0x400;
/// Bytes from word to word in p[], and of a pointer.
const VERTEX_STRIDE: u32 = 0x20;

/// Notes what an instruction uses of its stage and of the memory that lanes have.
pub(super) fn note(inst: &Inst, needs: &mut Needs) {
    let stage = inst.target.stage;
    let uses = &mut needs.uses;
    uses.planes |= inst.op == Op::Interp && !inst.mods.flat;
    uses.discards |= inst.op == Op::Discard;
    needs.textures |= matches!(
        inst.op,
        Op::TexAuto
            | Op::TexFetch
            | Op::TexBias
            | Op::TexLod
            | Op::TexSize
            | Op::TexPrep
            | Op::TexQueryLod
            | Op::TexGather
    );
    for operand in inst.srcs().iter().map(|src| src.operand).chain(inst.dst) {
        match operand {
            Operand::Attr { addr } => {
                let address = (addr.areg == 0).then_some(addr.offset_bytes);
                if stage != Stage::Geometry || address.is_none_or(|address| address >= PRIMITIVE) {
                    uses.reads(
                        InputSpace::Attribute,
                        address.or(Some(PRIMITIVE).filter(|_| stage == Stage::Geometry)),
                        1,
                    );
                }
            }
            Operand::Prim { addr } => {
                // Mostly `$a` is a pointer as a[] gives it.
                uses.reads(InputSpace::Vertex, Some(addr.offset_bytes), 1);
                if addr.areg != 0 {
                    uses.reads(InputSpace::Vertex, None, 1);
                }
            }
            Operand::Varying { addr } => {
                uses.reads(InputSpace::Attribute, (addr.areg == 0).then_some(addr.offset_bytes), 1);
            }
            Operand::Local { addr } => {
                let end = if addr.areg == 0 { addr.offset_bytes.saturating_add(16) } else { 0 };
                needs.local = Some(needs.local.unwrap_or(0).max(end));
            }
            _ => {}
        }
    }
}

/// Emits an instruction of this topic.
pub(super) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    let Some(plan) = e.own.plan else { return e.fault(GuestFault::Illegal) };
    match inst.op {
        Op::LdAttr => {
            let value = e.src(inst, 0);
            e.in_quad_lanes(inst.mods.lanes, |e| e.write(inst, value));
        }
        Op::StOut => {
            let value = e.src(inst, 1);
            if let Some(Operand::Out { ty, addr }) = inst.src(0).map(|src| src.operand) {
                set_output(e, addr, ty, value);
            }
        }
        Op::Interp => interpolate(e, inst, plan),
        Op::Emit => e.emit_vertex(plan),
        Op::Restart => e.cut_strip(plan),
        _ => e.discard(plan),
    }
}

/// The address of an operand, checked against the end of its space. `scale`: what the literal is multiplied by.
fn place(e: &mut Emit<'_>, addr: Address, scale: u32, end: u32, store: bool) -> At {
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
pub(super) fn attribute(e: &mut Emit<'_>, addr: Address) -> Value {
    let Some(plan) = e.own.plan else { return e.b.i32(0) };
    let read = |at| Read { space: InputSpace::Attribute, at, vertex: None };
    if plan.interface.stage != Stage::Geometry {
        let at = place(e, addr, 1, VERTEX_END, false);
        return e.input(plan, read(at));
    }
    match place(e, addr, 1, GEOMETRY_END, false) {
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
pub(super) fn vertex_word(e: &mut Emit<'_>, addr: Address) -> Value {
    let Some(plan) = e.own.plan else { return e.b.i32(0) };
    let scale = VERTEX_STRIDE / 4;
    let at = place(e, addr, scale, VERTEX_END * scale, false);
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
pub(super) fn set_output(e: &mut Emit<'_>, addr: Address, ty: Type, value: Value) {
    let Some(plan) = e.own.plan else { return };
    let at = place(e, addr, 1, VERTEX_END, true);
    e.set_output(plan, at, ty.bytes().min(4) as u8, value);
}

/// Keeps the outputs that are registers, before a thread ends.
pub(super) fn keep_registers(e: &mut Emit<'_>) {
    if let Some(plan) = e.own.plan {
        e.keep_registers(plan, |e, number| e.reg(number));
    }
}

/// `interp`: flat, the word's bits; else the plane at the pixel's centre (which with one sample is the centroid, too), perhaps times
/// source 1.
fn interpolate(e: &mut Emit<'_>, inst: &Inst, plan: &Plan) {
    let Some(Operand::Varying { addr }) = inst.src(0).map(|src| src.operand) else { return };
    let at = place(e, addr, 1, VARYING_END, false);
    let read = Read { space: InputSpace::Attribute, at, vertex: None };
    if inst.mods.flat {
        let bits = e.input(plan, read);
        return e.write(inst, bits);
    }
    let mut value = e.interpolated(plan, read, None, f32::NAN.into());
    if inst.src(1).is_some() {
        let factor = source(e, inst, 1);
        value = e.b.float(Opcode::Fmul, &[value, factor], true);
        value = canonical(e, value);
    }
    let bits = e.b.bitcast(value, Scalar::I32);
    e.write(inst, bits);
}
