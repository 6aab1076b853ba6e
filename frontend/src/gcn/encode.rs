//! The encoder: makes the bytes of a decoded instruction ([`Inst`]), as [`super::layout`] lists the fields of its format.

use super::decode::long_form;
use super::field;
use super::inst::{Format, Inst};
use super::layout::{Form, layout};
use super::operand::Operand;
use super::table::{ArgSlot, Row, table};

/// The bits of an instruction and its length in bytes; `None` where no encoding says what the decoded form says.
/// Bits that mean nothing are zero. `pc`, `raw`, `len` and `target_pc` of the decoded form do not count.
pub fn encode(inst: &Inst) -> Option<(u64, u8)> {
    table().of_op(inst.op).find_map(|row| encode_row(inst, row))
}

/// Encodes with that row, in the format that the instruction says.
pub(super) fn encode_row(inst: &Inst, row: &Row) -> Option<(u64, u8)> {
    let code = match inst.format {
        Format::Vop3 => row.long_code(inst.generation)?,
        format if format == row.format => row.code(inst.generation)?,
        _ => return None,
    };
    let form = match inst.format {
        Format::Vop3 => long_form(row),
        _ if inst.sdwa.is_some() => Form::Sdwa,
        _ if inst.dpp.is_some() => Form::Dpp,
        _ if row.srcs.iter().any(|slot| matches!(slot, ArgSlot::K(_) | ArgSlot::Imm32)) => Form::Constant,
        _ => Form::Plain,
    };
    let layout = layout(inst.format, form, inst.generation)?;
    let mut word = layout.value;
    for (bits, field) in layout.fields {
        word |= bits.place(field::put(*field, code, row, inst)?)?;
    }
    let mut len = layout.len;
    let literal = inst.srcs().iter().chain(&inst.mem.soffset).find_map(|arg| match arg.operand {
        Operand::Literal(word) => Some(word),
        _ => None,
    });
    if let (4, Some(literal)) = (len, literal) {
        word |= u64::from(literal) << 32;
        len = 8;
    }
    if inst.format == Format::Vop3 && literal.is_some() {
        return None;
    }
    Some((word, len))
}
