//! Lifts texture instructions (docs/hardware/textures-nv.md section 5): the texture unit finds out from header and sampler what each
//! source is.

use warpjit_ir::{GuestFault, Slot, Value};

use crate::isa::Stage;
use crate::simt::texture::{Arguments, Family, Level, Operation, RESULTS, Request, TESLA};
use crate::tesla::lift::emit::Emit;
use crate::tesla::{Chip, Inst, Op, Operand};

/// The most coordinates.
const COORDINATES: u32 = 3;

/// Emits a texture instruction.
pub(in crate::tesla::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    let (operation, mut level) = match inst.op {
        Op::TexFetch => (Operation::Fetch, Level::Given),
        Op::TexGather => (Operation::Gather, Level::Lowest),
        Op::TexSize => (Operation::QuerySize, Level::Lowest),
        Op::TexPrep => (Operation::CubeFace, Level::Lowest),
        Op::TexQueryLod => (Operation::QueryLevel, Level::Changes),
        Op::TexLod => (Operation::Sample, Level::Given),
        Op::TexAuto | Op::TexBias => (Operation::Sample, Level::Changes),
        _ => return e.fault(GuestFault::Illegal),
    };
    // Without an order to do so, only fragment programs look at the quad.
    if level == Level::Changes && inst.target.stage != Stage::Fragment && !inst.mods.deriv {
        level = Level::Lowest;
    }
    let family = if inst.target.chip == Chip::G80 { Family::G80 } else { Family::Tesla };
    let mut request = Request { level, bias: inst.op == Op::TexBias, ..Request::new(family, operation) };
    request.cube = inst.mods.cube;
    let mut registers = Vec::new();
    let mut offsets = request.offset.iter_mut();
    for src in inst.srcs() {
        match src.operand {
            Operand::Tex(number) => request.texture = number,
            Operand::Sampler(number) => request.sampler = number,
            Operand::Vec { base, count, .. } => {
                registers = (0..count).map(|n| u32::from(base) + u32::from(n)).collect()
            }
            Operand::Reg { num, .. } => registers = vec![num.into()],
            Operand::TexOffset(offset) => {
                if let Some(place) = offsets.next() {
                    *place = offset;
                }
            }
            _ => {}
        }
    }
    request.sources = registers.len() as u8;
    let coordinates: Vec<Value> = registers.iter().map(|&number| e.reg(number)).collect();
    let slot = |number: u32| -> Option<Slot> { e.own.family.slots.registers.get(number as usize).copied() };
    let quad = match level {
        Level::Changes => registers.iter().take(COORDINATES as usize).map(|&number| slot(number)).collect(),
        _ => Vec::new(),
    };
    let mailbox = e.own.family.mailbox;
    let arguments = Arguments { coordinates, quad, ..Arguments::default() };
    e.call_texture(&TESLA, request.encode(), mailbox, &arguments);
    let Some(Operand::Vec { base, mask, .. }) = inst.dst else { return };
    let wanted = (0..4).filter(|component| mask >> component & 1 != 0);
    for (register, component) in (u32::from(base)..).zip(wanted) {
        let value = e.mailbox_word(mailbox, RESULTS + component);
        e.set_reg(register, value);
    }
}
