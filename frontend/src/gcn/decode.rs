//! Decodes bytes to [`Inst`].

use super::field::{self, blank};
use super::inst::{Dpp, DppCtrl, Exp, Format, Inst, Sdwa, Unused};
use super::layout::{Form, Layout, layout};
use super::operand::{Arg, Operand, Select, Type};
use super::rows::Property;
use super::table::{ArgSlot, Row, table};
use super::{Chip, Generation};

/// Why there is no instruction at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The code ends within the instruction.
    #[error("code ends within the instruction at {pc:#x}")]
    Truncated {
        /// Byte address.
        pc: u64,
    },
    /// The address is not a multiple of four.
    #[error("code address {pc:#x} is not a multiple of four")]
    Misaligned {
        /// Byte address.
        pc: u64,
    },
    /// The generation has no such encoding.
    #[error("undefined instruction {word:#010x} at {pc:#x}")]
    Undefined {
        /// Byte address.
        pc: u64,
        /// The first dword.
        word: u32,
    },
}

impl DecodeError {
    /// The address of the fault.
    pub fn pc(self) -> u64 {
        match self {
            DecodeError::Truncated { pc }
            | DecodeError::Misaligned { pc }
            | DecodeError::Undefined { pc, .. } => pc,
        }
    }
}

/// Decodes the instruction that `bytes` begin with and that stands at address `pc`.
///
/// # Errors
///
/// The chip has no such encoding, the bytes end within it, or `pc` is misaligned.
pub fn decode(bytes: &[u8], pc: u64, chip: impl Into<Chip>) -> Result<Inst, DecodeError> {
    let chip = chip.into();
    let generation = chip.generation();
    if !pc.is_multiple_of(4) {
        return Err(DecodeError::Misaligned { pc });
    }
    let dword = |at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let word = dword(0).ok_or(DecodeError::Truncated { pc })?;
    let undefined = DecodeError::Undefined { pc, word };
    let (row, format, form) = find(word, chip).ok_or(undefined)?;
    let layout = layout(format, form, generation).ok_or(undefined)?;
    let literal = layout.len == 4 && has_literal(word, row, format, generation);
    let len = if literal { 8 } else { layout.len };
    let high = if len == 8 { dword(4).ok_or(DecodeError::Truncated { pc })? } else { 0 };
    let raw = u64::from(high) << 32 | u64::from(word);
    let mut inst = skeleton(row, format, form, generation);
    inst.pc = pc;
    inst.len = len;
    inst.raw = raw;
    inst.literal = literal.then_some(high);
    fill(&mut inst, row, layout).ok_or(undefined)?;
    Ok(inst)
}

/// Format, row and form by the first dword (docs/hardware/gcn.md section 1).
fn find(word: u32, chip: Chip) -> Option<(&'static Row, Format, Form)> {
    let generation = chip.generation();
    let (old, nine) = (generation.is_old(), generation == Generation::Gfx9);
    let bits = |low: u32, count: u32| (word >> low & ((1 << count) - 1)) as u16;
    let row = |format: Format, code: u16| table().find(chip, format, code);
    let plain = |format: Format, code: u16| Some((row(format, code)?, format, Form::Plain));
    if word >> 31 == 0 {
        let (format, code) = match bits(25, 6) {
            62 => (Format::Vopc, bits(17, 8)),
            63 => (Format::Vop1, bits(9, 8)),
            code => (Format::Vop2, code),
        };
        let row = row(format, code)?;
        let form = match bits(0, 9) {
            _ if row.srcs.iter().any(|slot| matches!(slot, ArgSlot::K(_))) => Form::Constant,
            0xf9 if row.has_sdwa(generation) => Form::Sdwa,
            0xfa if row.has_dpp(generation) => Form::Dpp,
            _ => Form::Plain,
        };
        return Some((row, format, form));
    }
    if word >> 30 == 2 {
        return match bits(23, 9) {
            0x17d => plain(Format::Sop1, bits(8, 8)),
            0x17e => plain(Format::Sopc, bits(16, 7)),
            0x17f => plain(Format::Sopp, bits(16, 7)),
            0x160.. => {
                let row = row(Format::Sopk, bits(23, 5))?;
                let form = if row.srcs.contains(&ArgSlot::Imm32) { Form::Constant } else { Form::Plain };
                Some((row, Format::Sopk, form))
            }
            _ => plain(Format::Sop2, bits(23, 7)),
        };
    }
    match bits(26, 6) {
        0x30 | 0x31 if old => plain(Format::Smem, bits(22, 5)),
        0x30 => plain(Format::Smem, bits(18, 8)),
        0x31 => plain(Format::Exp, 0),
        0x32 if old => plain(Format::Vintrp, bits(16, 2)),
        0x35 if !old => plain(Format::Vintrp, bits(16, 2)),
        0x34 if nine && bits(23, 3) == 7 => plain(Format::Vop3p, bits(16, 7)),
        0x34 => {
            let row = row(Format::Vop3, if old { bits(17, 9) } else { bits(16, 10) })?;
            Some((row, Format::Vop3, long_form(row)))
        }
        0x36 => plain(Format::Ds, if old { bits(18, 8) } else { bits(17, 8) }),
        0x37 if generation != Generation::Gfx6 => plain(Format::Flat, bits(18, 7)),
        0x38 => plain(Format::Mubuf, bits(18, 7)),
        0x3a => plain(Format::Mtbuf, if old { bits(16, 3) } else { bits(15, 4) }),
        0x3c => plain(Format::Mimg, bits(18, 7)),
        0x3e if old => plain(Format::Exp, 0),
        _ => None,
    }
}

/// Which form of VOP3 a row has.
pub(super) fn long_form(row: &Row) -> Form {
    if row.srcs.contains(&ArgSlot::Attr) {
        Form::Interp
    } else if row.carry_out {
        Form::CarryOut
    } else if row.has(Property::OpSel) {
        Form::OpSel
    } else {
        Form::Plain
    }
}

/// True if a literal follows a four-byte instruction.
fn has_literal(word: u32, row: &Row, format: Format, generation: Generation) -> bool {
    let source = |field: usize| row.source(field).is_some();
    match format {
        Format::Sop2 => word & 0xff == 255 || word >> 8 & 0xff == 255,
        Format::Sopc => {
            let index = row.srcs.contains(&ArgSlot::Index);
            word & 0xff == 255 || !index && word >> 8 & 0xff == 255
        }
        Format::Sop1 => source(0) && word & 0xff == 255,
        Format::Vop1 | Format::Vop2 | Format::Vopc => source(0) && word & 0x1ff == 255,
        Format::Smem => generation == Generation::Gfx7 && word & 0x1ff == 255,
        _ => false,
    }
}

/// An instruction with everything the row says and nothing the bits say.
pub(super) fn skeleton(row: &Row, format: Format, form: Form, generation: Generation) -> Inst {
    let vcc = Arg::new(Operand::Vcc(0), Type::B64, 2);
    let mut inst = Inst::bare(row.op, format, generation);
    inst.sdst = row.carry_out.then_some(vcc);
    if form == Form::Sdwa {
        inst.sdwa = Some(Sdwa { dst_sel: Select::Dword, dst_unused: Unused::Pad });
    }
    if form == Form::Dpp {
        let ctrl = DppCtrl::QuadPerm([0, 1, 2, 3]);
        inst.dpp = Some(Dpp { ctrl, row_mask: 15, bank_mask: 15, bound_ctrl: false });
    }
    if format == Format::Exp {
        inst.exp = Some(Exp::default());
    }
    if is_memory(format) {
        return inst;
    }
    inst.dst = match row.dst {
        Some(ArgSlot::Carry) => Some(vcc),
        slot => slot.map(blank),
    };
    for slot in row.srcs.iter().copied().filter(|slot| slot.is_arg()) {
        let mut arg = blank(slot);
        if matches!(slot, ArgSlot::Carry | ArgSlot::Implicit) {
            arg = vcc;
        }
        if let Some(place) = inst.srcs.get_mut(usize::from(inst.src_count)) {
            *place = arg;
            inst.src_count += 1;
        }
    }
    inst
}

/// True for formats whose operands are in [`Mem`].
pub(super) fn is_memory(format: Format) -> bool {
    matches!(format, Format::Smem | Format::Ds | Format::Flat | Format::Mubuf | Format::Mtbuf | Format::Mimg)
}

/// Reads the fields of an instruction whose row, length and bits are known.
fn fill(inst: &mut Inst, row: &Row, layout: &Layout) -> Option<()> {
    let low = if layout.len == 8 { u64::MAX } else { 0xffff_ffff };
    let mut known = layout.mask | layout.ignored;
    for (bits, field) in layout.fields {
        known |= bits.mask();
        field::get(*field, bits.get(inst.raw), row, inst)?;
    }
    if inst.raw & low & !known != 0 || inst.raw & layout.mask != layout.value {
        return None;
    }
    finish(inst, row);
    Some(())
}

/// Sets what follows from the fields.
pub(super) fn finish(inst: &mut Inst, row: &Row) {
    let dst = inst.dst;
    let slots = row.srcs.iter().filter(|slot| slot.is_arg());
    for (arg, slot) in inst.srcs.iter_mut().zip(slots) {
        match (slot, dst) {
            (ArgSlot::Tied, Some(dst)) => *arg = dst,
            (ArgSlot::K(_) | ArgSlot::Imm32, _) => arg.operand = Operand::Literal(inst.literal.unwrap_or(0)),
            _ => {}
        }
    }
    if is_memory(inst.format) {
        return;
    }
    if row.srcs.contains(&ArgSlot::Target) {
        let offset = i64::from(inst.simm16 as i16) * 4;
        inst.target_pc = Some(inst.pc.wrapping_add(4).wrapping_add_signed(offset));
    }
    if let Some(exp) = inst.exp {
        let registers = inst.srcs.map(|arg| arg.operand);
        for (index, arg) in inst.srcs.iter_mut().enumerate() {
            // With `compr` each of two registers has two components.
            let register = registers[if exp.compr { index / 2 } else { index }];
            arg.operand = if exp.enable >> index & 1 != 0 { register } else { Operand::Off };
        }
    }
}
