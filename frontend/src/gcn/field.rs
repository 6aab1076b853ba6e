//! Reads the fields of an encoding into the decoded form ([`get`]) and writes them back ([`put`]). The two are inverse to each
//! other.

use super::field_memory::{get_memory, put_memory};
use super::inst::{DppCtrl, Format, Inst, Omod, Unused};
use super::layout::Field;
use super::operand::{Arg, Operand, Select, Type};
use super::rows::Property;
use super::table::{ArgSlot, Class, Row};
use super::{Generation, Op};

/// The source of an instruction that a source field belongs to: index in `srcs`, and its slot.
fn source(row: &Row, field: u8) -> Option<(usize, ArgSlot)> {
    let index = row.source(field.into())?;
    Some((row.arg(index), row.srcs[index]))
}

/// Type, dwords and class of a source slot.
fn slot_type(slot: ArgSlot) -> (Type, u8, Class) {
    match slot {
        ArgSlot::Reg(ty, words, class) => (ty, words, class),
        ArgSlot::Carry | ArgSlot::Implicit => (Type::B64, 2, Class::Scalar),
        ArgSlot::Mix => (Type::F32, 1, Class::Any),
        ArgSlot::K(ty) => (ty, 1, Class::Any),
        ArgSlot::DstField(ty) => (ty, (ty.bits() / 32).max(1) as u8, Class::Scalar),
        _ => (Type::B32, 1, Class::Any),
    }
}

/// An argument as a slot says, without an operand yet.
pub(super) fn blank(slot: ArgSlot) -> Arg {
    let (ty, words, _) = slot_type(slot);
    Arg::new(Operand::Off, ty, words)
}

/// An operand of a nine-bit field.
fn nine_bits(value: u64, slot: ArgSlot, generation: Generation) -> Option<Operand> {
    let (_, words, class) = slot_type(slot);
    match value {
        256.. if class == Class::Scalar => None,
        256.. => Operand::vector(value - 256, words),
        _ if class == Class::Vector => None,
        _ => Operand::scalar(value as u16, generation, words),
    }
}

/// Reads a field. `None`: the value means nothing in this instruction.
pub(super) fn get(field: Field, value: u64, row: &Row, inst: &mut Inst) -> Option<()> {
    let generation = inst.generation;
    let zero = (value == 0).then_some(());
    let set = |place: bool, to: &mut bool| {
        *to = value != 0;
        (place || value == 0).then_some(())
    };
    match field {
        Field::Op => {}
        Field::Src(n) | Field::Ssrc(n) | Field::Vsrc(n) => {
            let Some((index, slot)) = source(row, n) else { return zero };
            let vector = matches!(field, Field::Vsrc(_));
            let operand = match slot {
                ArgSlot::Index => {
                    inst.simm16 = value as u16;
                    Operand::Int((value & 15) as i8)
                }
                ArgSlot::Param => {
                    inst.srcs[index].operand = Operand::Int((value & 3) as i8);
                    return (value < 3).then_some(());
                }
                ArgSlot::Reg(_, _, Class::Vector) if value == 255 && !vector => return None,
                _ if value == 255 && !vector => Operand::Literal(inst.literal?),
                ArgSlot::Reg(_, words, Class::Scalar) if vector => {
                    Operand::scalar(value as u16, generation, words)?
                }
                _ if vector => Operand::vector(value, blank(slot).words)?,
                _ => nine_bits(value, slot, generation)?,
            };
            inst.srcs[index].operand = operand;
        }
        Field::Sdst => {
            let from_field = row.srcs.iter().position(|slot| matches!(slot, ArgSlot::DstField(_)));
            if let Some(index) = from_field {
                let arg = &mut inst.srcs[row.arg(index)];
                arg.operand = Operand::scalar(value as u16, generation, arg.words)?;
            } else if let Some(dst) = &mut inst.dst {
                dst.operand = Operand::scalar(value as u16, generation, dst.words)?;
            }
        }
        Field::Vdst => match (&mut inst.dst, row.dst) {
            (Some(dst), Some(ArgSlot::Carry | ArgSlot::Reg(_, _, Class::Scalar))) => {
                dst.operand = Operand::scalar(value as u16, generation, dst.words).filter(|_| value < 128)?;
            }
            (Some(dst), _) => dst.operand = Operand::vector(value, dst.words)?,
            (None, _) => return zero,
        },
        Field::CarryOut => inst.sdst.as_mut()?.operand = Operand::scalar(value as u16, generation, 2)?,
        Field::Simm => inst.simm16 = value as u16,
        Field::Constant => inst.literal = Some(value as u32),
        Field::Clamp => {
            return set(
                row.has_clamp() || inst.sdwa.is_some() || row.format == Format::Vop3p,
                &mut inst.clamp,
            );
        }
        Field::Omod => {
            inst.omod = [Omod::None, Omod::Mul2, Omod::Mul4, Omod::Div2][value as usize & 3];
            let writes = inst.dst.is_some_and(|dst| matches!(dst.ty, Type::F16 | Type::F32 | Type::F64));
            let allowed = if inst.sdwa.is_some() { writes } else { row.has_omod() };
            return (allowed || value == 0).then_some(());
        }
        Field::Abs | Field::Neg => {
            for n in 0..3 {
                let on = value >> n & 1 != 0;
                match row.source(n) {
                    Some(index) if row.has_neg(index) => {
                        let arg = &mut inst.srcs[row.arg(index)];
                        *(if field == Field::Abs { &mut arg.abs } else { &mut arg.neg }) = on;
                    }
                    // The integer sources of float operations have the bits, which mean nothing.
                    Some(index)
                        if row.has_neg(0)
                            && !row.has(Property::Class)
                            && row.srcs[index] != ArgSlot::Carry => {}
                    _ if on => return None,
                    _ => {}
                }
            }
        }
        Field::OpSel => {
            inst.op_sel = value as u8;
            // Bit 3 is the destination.
            return (row.srcs.len() > 2 || value & 4 == 0).then_some(());
        }
        Field::OpSelHi => inst.op_sel_hi |= value as u8,
        Field::OpSelHi2 => inst.op_sel_hi |= (value as u8) << 2,
        Field::NegLo | Field::NegHi => {
            let low = field == Field::NegLo;
            if row.srcs.contains(&ArgSlot::Mix) {
                for (n, arg) in inst.srcs.iter_mut().enumerate().take(3) {
                    *(if low { &mut arg.neg } else { &mut arg.abs }) = value >> n & 1 != 0;
                }
                return Some(());
            }
            *(if low { &mut inst.neg_lo } else { &mut inst.neg_hi }) = value as u8;
            // Packed integers have the bits for the first source only, their scalar products for all but the second.
            let packed = |slot: Option<&ArgSlot>| slot == Some(&ArgSlot::Reg(Type::Pk16, 1, Class::Any));
            let all = (1 << row.srcs.len()) - 1;
            let sources = match (packed(row.dst.as_ref()), packed(row.srcs.first())) {
                (true, _) => 1,
                (false, true) => all & !2,
                (false, false) => all,
            };
            return (value & !sources == 0).then_some(());
        }
        Field::SubSrc(n) => {
            let (index, slot) = source(row, n)?;
            inst.srcs[index].operand = Operand::vector(value, blank(slot).words)?;
        }
        Field::SubScalar(n) => {
            let (index, _) = source(row, n)?;
            if value != 0 {
                let number = inst.srcs[index].operand.vgpr()?;
                inst.srcs[index].operand = Operand::scalar(number.into(), generation, 1)?;
            }
        }
        Field::SrcSel(n) => inst.srcs[source(row, n)?.0].sel = Select::from_code(value as u32)?,
        Field::Sext(n) => {
            let index = row.source(n.into())?;
            return set(row.has_sext(index), &mut inst.srcs[row.arg(index)].sext);
        }
        Field::Neg1(n) | Field::Abs1(n) => {
            let index = row.source(n.into())?;
            // The bits mean nothing for the integer sources of float operations in DPP form.
            let float = matches!(row.srcs[index], ArgSlot::Reg(ty, ..) if ty.is_float());
            if inst.dpp.is_some() && !float && row.has_neg(0) {
                return Some(());
            }
            let arg = &mut inst.srcs[row.arg(index)];
            let place = if matches!(field, Field::Neg1(_)) { &mut arg.neg } else { &mut arg.abs };
            return set(float, place);
        }
        Field::DstSel => inst.sdwa.as_mut()?.dst_sel = Select::from_code(value as u32)?,
        Field::DstUnused => {
            inst.sdwa.as_mut()?.dst_unused =
                *[Unused::Pad, Unused::Sext, Unused::Preserve].get(value as usize)?;
        }
        Field::SubDst => {
            let dst = inst.dst.as_mut()?;
            dst.operand = match value {
                0x80.. => Operand::scalar(value as u16 & 0x7f, generation, 2)?,
                _ => Operand::Vcc(0),
            };
        }
        Field::DppCtrl => inst.dpp.as_mut()?.ctrl = DppCtrl::from_code(value as u32)?,
        Field::BoundCtrl => inst.dpp.as_mut()?.bound_ctrl = value != 0,
        Field::BankMask => inst.dpp.as_mut()?.bank_mask = value as u8,
        Field::RowMask => inst.dpp.as_mut()?.row_mask = value as u8,
        Field::Attr => inst.interp.get_or_insert_default().attr = value as u8,
        Field::Chan => inst.interp.get_or_insert_default().chan = value as u8,
        Field::High => {
            return set(is_interp16(row.op), &mut inst.interp.get_or_insert_default().high);
        }
        _ => return get_memory(field, value, row, inst),
    }
    Some(())
}

/// True for the interpolation that can take the high half of an attribute.
fn is_interp16(op: Op) -> bool {
    matches!(
        op,
        Op::V_INTERP_P1LL_F16 | Op::V_INTERP_P1LV_F16 | Op::V_INTERP_P2_F16 | Op::V_INTERP_P2_LEGACY_F16
    )
}

/// The value of a field. `None`: the field cannot say it.
pub(super) fn put(field: Field, code: u16, row: &Row, inst: &Inst) -> Option<u64> {
    let generation = inst.generation;
    let operand = |arg: &Arg| arg.operand.code(generation).map(u64::from);
    let seven = |arg: &Arg| operand(arg).filter(|&code| code < 128);
    let eight = |arg: &Arg| operand(arg).filter(|&code| code < 256);
    let vector = |arg: &Arg| arg.operand.vgpr().map(u64::from);
    let arg = |n: u8| source(row, n).and_then(|(index, _)| inst.srcs().get(index));
    Some(match field {
        Field::Op => code.into(),
        Field::Src(n) | Field::Ssrc(n) | Field::Vsrc(n) => {
            let Some((index, slot)) = source(row, n) else { return Some(0) };
            if let Some(exp) = inst.exp {
                // With `compr` a register stands in two places.
                let find = |index: usize| inst.srcs().get(index).and_then(|arg| arg.operand.vgpr());
                return Some(
                    match (exp.compr, index) {
                        (false, _) => find(index),
                        (true, 0 | 1) => find(2 * index).or(find(2 * index + 1)),
                        _ => None,
                    }
                    .unwrap_or(0)
                    .into(),
                );
            }
            let arg = inst.srcs().get(index)?;
            let (_, _, class) = slot_type(slot);
            match (slot, arg.operand) {
                (ArgSlot::Index, _) => inst.simm16.into(),
                (ArgSlot::Param, Operand::Int(value)) => value as u64,
                _ if matches!(field, Field::Ssrc(_)) => eight(arg)?,
                _ if matches!(field, Field::Vsrc(_)) && class == Class::Scalar => eight(arg)?,
                _ if matches!(field, Field::Vsrc(_)) => vector(arg)?,
                _ => operand(arg)?,
            }
        }
        Field::Sdst => {
            let from_field = row.srcs.iter().position(|slot| matches!(slot, ArgSlot::DstField(_)));
            match (from_field, &inst.dst) {
                (Some(index), _) => seven(inst.srcs().get(row.arg(index))?)?,
                (None, Some(dst)) => seven(dst)?,
                (None, None) => 0,
            }
        }
        Field::Vdst => match (&inst.dst, row.dst) {
            (Some(dst), Some(ArgSlot::Carry | ArgSlot::Reg(_, _, Class::Scalar))) => seven(dst)?,
            (Some(dst), _) => vector(dst)?,
            (None, _) => 0,
        },
        Field::CarryOut => seven(inst.sdst.as_ref()?)?,
        Field::Simm => inst.simm16.into(),
        Field::Constant => inst.literal?.into(),
        Field::Clamp => inst.clamp.into(),
        Field::Omod => inst.omod as u64,
        Field::Abs => (0..3).map(|n| u64::from(arg(n).is_some_and(|arg| arg.abs)) << n).sum(),
        Field::Neg => (0..3).map(|n| u64::from(arg(n).is_some_and(|arg| arg.neg)) << n).sum(),
        Field::OpSel => inst.op_sel.into(),
        Field::OpSelHi => (inst.op_sel_hi & 3).into(),
        Field::OpSelHi2 => (inst.op_sel_hi >> 2 & 1).into(),
        Field::NegLo if row.srcs.contains(&ArgSlot::Mix) => {
            (0..3).map(|n| u64::from(arg(n).is_some_and(|arg| arg.neg)) << n).sum()
        }
        Field::NegHi if row.srcs.contains(&ArgSlot::Mix) => {
            (0..3).map(|n| u64::from(arg(n).is_some_and(|arg| arg.abs)) << n).sum()
        }
        Field::NegLo => inst.neg_lo.into(),
        Field::NegHi => inst.neg_hi.into(),
        Field::SubSrc(n) => match arg(n)? {
            scalar if generation == Generation::Gfx9 && inst.sdwa.is_some() => match scalar.operand {
                Operand::Vgpr(n) => n.into(),
                _ => eight(scalar)?,
            },
            register => vector(register)?,
        },
        Field::SubScalar(n) => u64::from(arg(n)?.operand.vgpr().is_none()),
        Field::SrcSel(n) => arg(n)?.sel.code().into(),
        Field::Sext(n) => arg(n)?.sext.into(),
        Field::Neg1(n) => arg(n)?.neg.into(),
        Field::Abs1(n) => arg(n)?.abs.into(),
        Field::DstSel => inst.sdwa?.dst_sel.code().into(),
        Field::DstUnused => inst.sdwa?.dst_unused as u64,
        Field::SubDst => match inst.dst?.operand {
            Operand::Vcc(0) => 0,
            _ => 0x80 | seven(&inst.dst?)?,
        },
        Field::DppCtrl => inst.dpp?.ctrl.code().into(),
        Field::BoundCtrl => inst.dpp?.bound_ctrl.into(),
        Field::BankMask => inst.dpp?.bank_mask.into(),
        Field::RowMask => inst.dpp?.row_mask.into(),
        Field::Attr => inst.interp?.attr.into(),
        Field::Chan => inst.interp?.chan.into(),
        Field::High => inst.interp?.high.into(),
        _ => return put_memory(field, row, inst),
    })
}
