//! Lifts what only graphics stages have: inputs, interpolation, outputs, emitted vertices, discarded fragments.
//!
//! The handle of an input vertex is its number. The address of an emitted vertex is whatever the program passes on:
//! outputs go to the vertex under construction.

use warpjit_ir::{FloatCC, GuestFault, IntCC, Opcode, Scalar, Value};

use crate::fermi::lift::emit::Emit;
use crate::fermi::lift::options::Needs;
use crate::fermi::modifier::{AttrSpace, Emission, InterpMode, InterpSample, PixelInfo};
use crate::fermi::numeric;
use crate::fermi::{Inst, MemSpace, Op, Operand, ZERO_REG};
use crate::isa::Stage;
use crate::simt::stage::{At, InputSpace, Plan, Read};
use crate::stage::LaneWord;

/// End of attribute and patch spaces.
const SPACE_END: u32 = 0x400;
/// `$invoc`
const INVOCATION: u8 = 17;

/// Where the words of a load are.
#[derive(Clone, Copy)]
enum Words {
    Input(InputSpace),
    /// Outputs of tessellation control; `patch`: of patch space.
    Output {
        patch: bool,
    },
    /// A geometry program cannot read its outputs.
    Nowhere,
}

fn words_of(inst: &Inst, stage: Stage) -> Words {
    let [out, patch] = [AttrSpace::Out, AttrSpace::Patch].map(|space| inst.mods.has(space));
    match stage {
        Stage::TessControl if out || patch => Words::Output { patch },
        Stage::TessEval if patch => Words::Input(InputSpace::Patch),
        Stage::TessEval if out => Words::Input(InputSpace::Point),
        _ if out => Words::Nowhere,
        _ => Words::Input(InputSpace::Attribute),
    }
}

/// The address of the attribute that an instruction names: its register, and the rest.
fn attribute(inst: &Inst) -> Option<(u8, u32)> {
    inst.srcs().iter().find_map(|src| match src.operand {
        Operand::Mem { space: MemSpace::Attr, base, offset, .. } => Some((base, offset as u32)),
        _ => None,
    })
}

/// Registers of a vector.
fn vector(operand: Option<Operand>) -> (u8, u8) {
    match operand {
        Some(Operand::Vec { base, count, .. }) => (base, count),
        Some(Operand::Reg { num, .. }) => (num, 1),
        _ => (ZERO_REG, 0),
    }
}

/// Notes what an instruction uses of its stage.
pub(in crate::fermi::lift) fn note(inst: &Inst, stage: Stage, needs: &mut Needs) {
    let uses = &mut needs.uses;
    uses.discards |= inst.op == Op::Discard;
    uses.planes |= inst.op == Op::Interp && !inst.mods.has(InterpMode::Flat);
    uses.invocation |=
        inst.op == Op::MovFromSreg && inst.srcs().iter().any(|src| src.operand == Operand::Sreg(INVOCATION));
    let Some((base, offset)) = attribute(inst) else { return };
    let address = (base == ZERO_REG).then_some(offset);
    match inst.op {
        Op::Interp => uses.reads(InputSpace::Attribute, address, 1),
        Op::LdAttr => {
            let count = vector(inst.dst).1.into();
            match words_of(inst, stage) {
                Words::Input(space) => uses.reads(space, address, count),
                Words::Output { patch } => uses.reads_output(patch, address, count),
                Words::Nowhere => {}
            }
        }
        _ => {}
    }
}

/// Emits an instruction of this topic.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    let Some(plan) = e.own.family.program.plan else { return e.fault(GuestFault::Illegal) };
    match inst.op {
        Op::Interp => interpolate(e, inst, plan),
        Op::LdVertex => {
            let Some(Operand::Mem { base, offset, .. }) = inst.src(0).map(|src| src.operand) else { return };
            let index = e.group(base, 0);
            let offset = e.b.i32(offset as u32);
            let handle = e.b.iadd(index, offset);
            e.write(inst, handle);
        }
        Op::Al2p => {
            let (base, offset) = (e.src(inst, 0), e.src(inst, 1));
            let address = e.b.iadd(base, offset);
            e.write(inst, address);
        }
        Op::LdAttr => load(e, inst, plan),
        Op::StAttr => store(e, inst, plan),
        Op::PixInfo => pixel_information(e, inst, plan),
        Op::Out => emit_vertex(e, inst, plan),
        _ => e.fault(GuestFault::Illegal),
    }
}

/// The address of word `n` of an attribute, checked against the end of its space.
fn attribute_address(e: &mut Emit<'_>, (base, offset): (u8, u32), n: u32, store: bool) -> At {
    let offset = offset.wrapping_add(4 * n);
    if base == ZERO_REG {
        if offset >= SPACE_END {
            let address = e.b.i32(offset);
            e.check_end(address, SPACE_END, store);
        }
        return At::Known(offset);
    }
    let base = e.group(base, 0);
    let offset = e.b.i32(offset);
    let address = e.b.iadd(base, offset);
    e.check_end(address, SPACE_END, store);
    At::Computed(address)
}

fn load(e: &mut Emit<'_>, inst: &Inst, plan: &Plan) {
    let Some(address) = attribute(inst) else { return };
    let (first, count) = vector(inst.dst);
    let vertex = e.src(inst, 1);
    let words = words_of(inst, plan.interface.stage);
    let values: Vec<Value> = (0..count)
        .map(|n| {
            let at = attribute_address(e, address, n.into(), false);
            match words {
                Words::Input(space) => e.input(plan, Read { space, at, vertex: Some(vertex) }),
                Words::Output { patch } => e.shared_output(plan, patch, at, vertex),
                Words::Nowhere => e.b.i32(0),
            }
        })
        .collect();
    for (n, value) in (0..).zip(values) {
        e.set_group(first, n, value);
    }
}

fn store(e: &mut Emit<'_>, inst: &Inst, plan: &Plan) {
    let Some(address) = attribute(inst) else { return };
    let (first, count) = vector(inst.src(1).map(|src| src.operand));
    for n in 0..count {
        let value = e.group(first, n);
        let at = attribute_address(e, address, n.into(), true);
        match plan.interface.stage {
            Stage::TessControl => e.set_shared_output(plan, inst.mods.has(AttrSpace::Patch), at, value),
            _ => e.set_output(plan, at, 4, value),
        }
    }
}

/// `interp`: `flat` gives the word's bits; `pass` the plane at a position; `mul` and `sc` that times a register.
fn interpolate(e: &mut Emit<'_>, inst: &Inst, plan: &Plan) {
    let Some(address) = attribute(inst) else { return };
    let at = attribute_address(e, address, 0, false);
    let read = Read { space: InputSpace::Attribute, at, vertex: None };
    if inst.mods.has(InterpMode::Flat) {
        let bits = e.input(plan, read);
        return e.write(inst, bits);
    }
    let position = inst.mods.has(InterpSample::Offset).then(|| moved(e, inst, plan));
    let mut value = e.interpolated(plan, read, position, numeric::NAN.into());
    if inst.mods.has(InterpMode::Mul) || inst.mods.has(InterpMode::Colour) {
        let factor = e.src(inst, 1);
        let factor = e.b.bitcast(factor, Scalar::F32);
        value = e.b.float(Opcode::Fmul, &[value, factor], true);
        value = e.b.fcanon(value, numeric::NAN.into());
    }
    if inst.mods.sat {
        // A NaN becomes 0: neither comparison of it holds.
        let (none, one) = (e.b.f32(0.0), e.b.f32(1.0));
        let above = e.b.fcmp(FloatCC::Gt, value, none, true);
        let low = e.b.select(above, value, none);
        let beyond = e.b.fcmp(FloatCC::Gt, low, one, true);
        value = e.b.select(beyond, one, low);
    }
    e.write_f32(inst, value);
}

/// The pixel's centre moved by source 2: two signed numbers of 16 bits, 12 of which are a fraction.
fn moved(e: &mut Emit<'_>, inst: &Inst, plan: &Plan) -> [Value; 2] {
    let offset = e.src(inst, 2);
    let parts = [e.sext(offset, 16), e.sshr_const(offset, 16)];
    let centre = e.pixel(plan);
    let unit = e.b.f32(1.0 / 4096.0);
    [0, 1].map(|axis| {
        let part = e.b.convert(Opcode::FcvtFromSint, parts[axis], Scalar::F32);
        e.b.float(Opcode::Fma, &[part, unit, centre[axis]], true)
    })
}

/// `pixinfo`, with one sample.
fn pixel_information(e: &mut Emit<'_>, inst: &Inst, plan: &Plan) {
    let covered = e.lane_word(plan, LaneWord::Covered);
    let none = e.b.i32(0);
    let covered = e.b.icmp(IntCC::Ne, covered, none);
    let value = match inst.mods.get() {
        Some(PixelInfo::SampleCount) => e.b.i32(1),
        Some(PixelInfo::CoverageMask | PixelInfo::Covered) => e.bit(covered),
        Some(PixelInfo::Offset | PixelInfo::CentroidOffset | PixelInfo::SampleId) | None => none,
    };
    e.write(inst, value);
    e.set_pred(inst.pdst, covered);
}

/// `out`: of the streams that the interface has.
fn emit_vertex(e: &mut Emit<'_>, inst: &Inst, plan: &Plan) {
    let address = e.src(inst, 0);
    let stream = e.src(inst, 1);
    let streams = e.b.i32(plan.interface.streams.max(1));
    let counts = e.b.icmp(IntCC::Ult, stream, streams);
    let [emits, cuts] = [Emission::Emit, Emission::Restart].map(|what| inst.mods.has(what));
    e.under(counts, |e| {
        if emits {
            e.emit_vertex(plan, Some(stream));
        }
        if cuts {
            e.cut_strip(plan, Some(stream));
        }
    });
    e.write(inst, address);
}

/// Keeps the outputs that are registers, before a thread ends.
pub(in crate::fermi::lift) fn keep_registers(e: &mut Emit<'_>) {
    if let Some(plan) = e.own.family.program.plan {
        e.keep_registers(plan, |e, number| e.reg(number.min(ZERO_REG.into()) as u8));
    }
}

/// The special registers of graphics: vertices of a primitive, number of the thread, direction of the framebuffer, whether the lane is a
/// helper.
pub(in crate::fermi::lift) fn special_register(e: &mut Emit<'_>, number: u8) -> Value {
    let Some(plan) = e.own.family.program.plan else { return e.b.i32(0) };
    match number {
        16 => {
            let vertices = plan.interface.vertices;
            e.b.i32(vertices << 8)
        }
        INVOCATION => e.lane_word(plan, LaneWord::Invocation),
        18 => e.b.i32(1.0f32.to_bits()),
        _ => {
            let Some(alive) = e.alive(plan) else { return e.b.i32(0) };
            let (none, all) = (e.b.i32(0), e.b.i32(u32::MAX));
            e.b.select(alive, none, all)
        }
    }
}

/// Whether an instruction writes memory that helpers must not write.
pub(in crate::fermi::lift) fn stores(inst: &Inst) -> bool {
    let global = |operand| matches!(operand, Operand::Mem { space: MemSpace::Global, .. });
    match inst.op {
        Op::St | Op::Red | Op::Atom | Op::StUnlock => inst.srcs().iter().any(|src| global(src.operand)),
        Op::SuStB | Op::SuStP | Op::SuRedP | Op::SuStGB | Op::SuStGP => true,
        _ => false,
    }
}
