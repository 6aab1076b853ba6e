//! Lifts what only graphics stages have: inputs, interpolation, outputs, emitted vertices, discarded fragments.

use warpjit_ir::{GuestFault, Opcode, Scalar};

use super::float::{canonical, source};
use crate::isa::Stage;
use crate::simt::stage::{InputSpace, Plan, Read};
use crate::tesla::lift::emit::Emit;
use crate::tesla::lift::emit::stage::{PRIMITIVE, VARYING_END, set_output, stage_address};
use crate::tesla::lift::options::Needs;
use crate::tesla::numeric::f32;
use crate::tesla::{Inst, Op, Operand};

/// Notes what an instruction uses of its stage and of the memory that lanes have.
pub(in crate::tesla::lift) fn note(inst: &Inst, needs: &mut Needs) {
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
pub(in crate::tesla::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    let Some(plan) = e.own.family.plan else { return e.fault(GuestFault::Illegal) };
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
        Op::Emit => e.emit_vertex(plan, None),
        Op::Restart => e.cut_strip(plan, None),
        Op::Discard => e.discard(plan),
        _ => e.fault(GuestFault::Illegal),
    }
}

/// `interp`: flat, the word's bits; else the plane at the pixel's centre (which with one sample is the centroid, too), perhaps times
/// source 1.
fn interpolate(e: &mut Emit<'_>, inst: &Inst, plan: &Plan) {
    let Some(Operand::Varying { addr }) = inst.src(0).map(|src| src.operand) else { return };
    let at = stage_address(e, addr, 1, VARYING_END, false);
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
