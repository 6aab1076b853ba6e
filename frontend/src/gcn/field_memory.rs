//! Reads the fields of memory instructions and exports into the decoded form ([`get_memory`]) and writes them back
//! ([`put_memory`]). The two are inverse to each other.

use super::inst::{Format, Inst, Segment};
use super::layout::{Field, Flag};
use super::operand::{Arg, Operand, Type};
use super::rows::Property;
use super::table::{ArgSlot, Row};
use super::{Generation, Op};

/// Dwords of 16-bit values: 1.2 has one in each dword, 1.4 two.
fn halves(count: u8, generation: Generation) -> u8 {
    if generation == Generation::Gfx9 { count.div_ceil(2) } else { count }
}

/// Type and dwords of the data of a memory row's slot. MIMG data depends on `dmask`.
pub(super) fn data_type(slot: ArgSlot, inst: &Inst) -> (Type, u8) {
    match slot {
        ArgSlot::Reg(ty, words, _) if inst.format == Format::Mimg => {
            if data_is_atomic(inst) {
                // Atomics come in two sizes; `dmask` tells which.
                let count = (inst.mem.dmask.count_ones() as u8).max(1) + u8::from(inst.mem.tfe);
                return (ty, if count == 2 * words { count } else { words });
            }
            let words = if inst.mem.d16 { halves(words, inst.generation) } else { words };
            (ty, words + u8::from(inst.mem.tfe))
        }
        ArgSlot::Reg(ty, words, _) => (ty, words),
        ArgSlot::Halves(count) => (Type::Words, halves(count, inst.generation)),
        ArgSlot::Image => {
            let count = (inst.mem.dmask.count_ones() as u8).max(1);
            let words = if inst.mem.d16 { halves(count, inst.generation) } else { count };
            (Type::Words, words + u8::from(inst.mem.tfe))
        }
        ArgSlot::Returned(words) if inst.format == Format::Mimg => {
            let wide = inst.mem.data.is_some_and(|data| {
                data.words == 4 || data.words == 2 && inst.op != Op::IMAGE_ATOMIC_CMPSWAP
            });
            if wide { (Type::B64, 2 * words) } else { (Type::B32, words) }
        }
        ArgSlot::Returned(words) => (if words == 2 { Type::B64 } else { Type::B32 }, words),
        _ => (Type::B32, 1),
    }
}

fn data_is_atomic(inst: &Inst) -> bool {
    (Op::IMAGE_ATOMIC_SWAP..=Op::IMAGE_ATOMIC_FMAX).contains(&inst.op)
}

/// The slot of vector or scalar data in a memory row: the `index`th source that is data.
pub(super) fn data_slot(row: &Row, index: usize) -> Option<ArgSlot> {
    let data = |slot: &ArgSlot| matches!(slot, ArgSlot::Reg(..) | ArgSlot::Halves(_) | ArgSlot::Image);
    row.srcs.iter().copied().filter(data).nth(index)
}

/// Number of dwords of the vector address.
pub(super) fn addr_words(row: &Row, inst: &Inst) -> u8 {
    let mem = &inst.mem;
    match inst.format {
        Format::Flat => match mem.segment {
            Segment::Flat => 2,
            Segment::Scratch => 1,
            // The 64-bit address, or the 32-bit offset that is added to a scalar address.
            Segment::Global => 2 - u8::from(mem.saddr.is_some()),
        },
        Format::Mubuf | Format::Mtbuf => {
            if mem.addr64 {
                2
            } else {
                u8::from(mem.offen) + u8::from(mem.idxen)
            }
        }
        Format::Mimg => row
            .srcs
            .iter()
            .find_map(|slot| if let ArgSlot::Addr(n) = slot { Some(*n) } else { None })
            .unwrap_or(1),
        _ => 1,
    }
}

fn has_addr(row: &Row) -> bool {
    row.srcs.iter().any(|slot| matches!(slot, ArgSlot::Addr(_)))
}

/// As [`get`](super::field::get), for the fields of memory instructions and exports.
pub(super) fn get_memory(field: Field, value: u64, row: &Row, inst: &mut Inst) -> Option<()> {
    let generation = inst.generation;
    let zero = (value == 0).then_some(());
    match field {
        Field::Sdata => {
            if row.srcs.contains(&ArgSlot::Imm7) {
                inst.simm16 = value as u16;
                return Some(());
            }
            let data = data_slot(row, 0).map(|slot| data_type(slot, inst));
            let dst = row.dst.map(|slot| data_type(slot, inst));
            let read = |words| Operand::scalar(value as u16, generation, words);
            match (row.dst, data) {
                (Some(ArgSlot::Returned(_)), Some((ty, words))) => {
                    inst.mem.data = Some(Arg::new(read(words)?, ty, words));
                    let (ty, words) = dst?;
                    inst.dst = inst.mem.glc.then_some(Arg::new(inst.mem.data?.operand, ty, words));
                }
                (_, Some((ty, words))) => inst.mem.data = Some(Arg::new(read(words)?, ty, words)),
                (Some(_), None) => {
                    let (ty, words) = dst?;
                    inst.dst = Some(Arg::new(read(words)?, ty, words));
                }
                (None, None) => return zero,
            }
        }
        Field::Base2 | Field::Base4 => {
            let Some(words) = base_words(row, inst.format) else { return zero };
            let unit = if field == Field::Base2 { 2 } else { 4 };
            let operand = Operand::scalar(value as u16 * unit, generation, words)?;
            inst.mem.base = Some(Arg::new(operand, Type::Words, words));
        }
        Field::Sampler => {
            if !row.srcs.contains(&ArgSlot::Sampler) {
                return Some(());
            }
            inst.mem.sampler =
                Some(Arg::new(Operand::scalar(value as u16 * 4, generation, 4)?, Type::Words, 4));
        }
        Field::SmrdOffset => {
            let code = (value & 0xff) as u16;
            if base_words(row, inst.format).is_none() {
                return zero;
            }
            if value >> 8 != 0 {
                inst.mem.offset = i32::from(code) * 4;
            } else {
                let operand = match code {
                    255 => Operand::Literal(inst.literal?),
                    _ => Operand::scalar(code, generation, 1).filter(|_| code < 128)?,
                };
                inst.mem.soffset = Some(Arg::new(operand, Type::U32, 1));
            }
        }
        // What the offset fields hold depends on two flags: `SmemOffset` looks at all of them.
        Field::SmemImm | Field::SmemSoffsetEn | Field::SmemSoffset => {
            return (has_offset(row) || value == 0).then_some(());
        }
        Field::SmemOffset => return get_smem_offset(value, row, inst),
        Field::Addr => {
            let words = addr_words(row, inst);
            if row.srcs.contains(&ArgSlot::Gws) {
                inst.mem.data = Some(Arg::new(Operand::vector(value, 1)?, Type::B32, 1));
                return Some(());
            }
            if !has_addr(row) {
                return (value == 0 || row.srcs.contains(&ArgSlot::LdsOnly)).then_some(());
            }
            if words == 0 || inst.mem.segment == Segment::Scratch && inst.mem.saddr.is_some() {
                return Some(());
            }
            let ty = if words == 2 { Type::B64 } else { Type::U32 };
            let ty = if inst.format == Format::Mimg { Type::Words } else { ty };
            inst.mem.addr = Some(Arg::new(Operand::vector(value, words)?, ty, words));
        }
        Field::Data => {
            let stored = data_slot(row, 0).map(|slot| data_type(slot, inst));
            let loaded = row.dst.map(|slot| data_type(slot, inst));
            match (row.dst, stored) {
                (Some(slot @ ArgSlot::Returned(_)), Some((ty, words))) => {
                    let operand = Operand::vector(value, words)?;
                    inst.mem.data = Some(Arg::new(operand, ty, words));
                    let (ty, words) = data_type(slot, inst);
                    inst.dst = inst.mem.glc.then_some(Arg::new(operand, ty, words));
                }
                (_, Some((ty, words))) => {
                    inst.mem.data = Some(Arg::new(Operand::vector(value, words)?, ty, words))
                }
                (Some(_), None) => {
                    let (ty, words) = loaded?;
                    inst.dst = Some(Arg::new(Operand::vector(value, words)?, ty, words));
                }
                (None, None) => return (value == 0 || row.srcs.contains(&ArgSlot::LdsOnly)).then_some(()),
            }
        }
        Field::Data0 | Field::Data1 => {
            let Some(slot) = data_slot(row, usize::from(field == Field::Data1)) else {
                return (value == 0 || inst.format == Format::Flat).then_some(());
            };
            let (ty, words) = data_type(slot, inst);
            let arg = Some(Arg::new(Operand::vector(value, words)?, ty, words));
            *(if field == Field::Data0 { &mut inst.mem.data } else { &mut inst.mem.data1 }) = arg;
        }
        Field::MemDst => match row.dst {
            // Nothing is returned: the field means nothing.
            Some(ArgSlot::Returned(_)) if !inst.mem.glc => {}
            Some(slot) => {
                let (ty, words) = data_type(slot, inst);
                inst.dst = Some(Arg::new(Operand::vector(value, words)?, ty, words));
            }
            None => return (value == 0 || inst.format == Format::Flat).then_some(()),
        },
        Field::DsOffset => {
            if row.op == Op::DS_NOP {
                return zero;
            }
            if row.has(Property::Two) {
                inst.mem.offsets = [value as u8, (value >> 8) as u8];
            } else {
                inst.mem.offset = value as i32;
            }
        }
        Field::Soffset => {
            if !has_base(row) {
                return zero;
            }
            let operand = Operand::scalar(value as u16, generation, 1)?;
            inst.mem.soffset = Some(Arg::new(operand, Type::U32, 1));
        }
        Field::Offset => {
            inst.mem.offset = value as i32;
            return (has_base(row) || value == 0).then_some(());
        }
        Field::FlatOffset => {
            // Flat offsets have 12 bits and no sign.
            inst.mem.offset = match inst.mem.segment {
                Segment::Flat => value as i32 & 0xfff,
                _ => (value as i32) << 19 >> 19,
            };
            return (inst.mem.segment != Segment::Flat || value < 0x1000).then_some(());
        }
        Field::Segment => {
            inst.mem.segment = *[Segment::Flat, Segment::Scratch, Segment::Global].get(value as usize)?;
            let atomic = matches!(row.dst, Some(ArgSlot::Returned(_)));
            return (inst.mem.segment != Segment::Scratch || !atomic).then_some(());
        }
        Field::Saddr => match (value, inst.mem.segment) {
            (0x7f, _) => {}
            (_, Segment::Flat) => return zero,
            (_, segment) => {
                let (ty, words) = if segment == Segment::Global { (Type::U64, 2) } else { (Type::U32, 1) };
                inst.mem.saddr = Some(Arg::new(Operand::scalar(value as u16, generation, words)?, ty, words));
            }
        },
        Field::Flag(flag) => return get_flag(flag, value != 0, row, inst),
        Field::Dfmt => inst.mem.dfmt = value as u8,
        Field::Nfmt => inst.mem.nfmt = value as u8,
        Field::Dmask => inst.mem.dmask = value as u8,
        Field::Target => inst.exp.get_or_insert_default().target = value as u8,
        Field::Enable => inst.exp.get_or_insert_default().enable = value as u8,
        _ => return None,
    }
    Some(())
}

/// Dwords of the scalar base.
pub(super) fn base_words(row: &Row, format: Format) -> Option<u8> {
    match format {
        Format::Smem => {
            row.srcs.iter().find_map(|slot| if let ArgSlot::Base(n) = slot { Some(*n) } else { None })
        }
        Format::Mimg => Some(8),
        _ => has_base(row).then_some(4),
    }
}

/// True for buffer operations that access memory.
fn has_base(row: &Row) -> bool {
    !row.srcs.is_empty() || row.dst.is_some()
}

/// True for SMEM operations with an address.
fn has_offset(row: &Row) -> bool {
    base_words(row, row.format).is_some()
}

/// The offset of SMEM: a constant, a scalar register in the same field, or (1.4) a register in its own field or both.
fn get_smem_offset(value: u64, row: &Row, inst: &mut Inst) -> Option<()> {
    if !has_offset(row) {
        return (value == 0).then_some(());
    }
    let nine = inst.generation == Generation::Gfx9;
    let (imm, own) = (inst.raw >> 17 & 1 != 0, nine && inst.raw >> 14 & 1 != 0);
    let own_code = if nine { inst.raw >> 57 } else { 0 };
    if imm {
        inst.mem.offset = if nine { (value as i32) << 11 >> 11 } else { value as i32 };
    }
    let register = match (imm, own) {
        (_, true) => Some(own_code),
        (true, false) => None,
        (false, false) => Some(value & 0x7f),
    };
    if let Some(code) = register {
        let operand = Operand::scalar(code as u16, inst.generation, 1)?;
        inst.mem.soffset = Some(Arg::new(operand, Type::U32, 1));
    }
    Some(())
}

fn get_flag(flag: Flag, value: bool, row: &Row, inst: &mut Inst) -> Option<()> {
    let format = inst.format;
    let buffer = matches!(format, Format::Mubuf | Format::Mtbuf);
    let used = match flag {
        Flag::Gds if row.has(Property::Gds) => {
            inst.mem.gds = value;
            return value.then_some(());
        }
        Flag::Gds => row.op != Op::DS_NOP && !row.has(Property::NoGds),
        // Cache operations have no data.
        Flag::Glc if format == Format::Smem && data_slot(row, 0).is_none() && row.dst.is_none() => {
            return (has_offset(row) || !value).then_some(());
        }
        Flag::Glc if format == Format::Smem => has_offset(row),
        Flag::Tfe if buffer && (inst.mem.lds || matches!(row.dst, Some(ArgSlot::Returned(_)))) => {
            return Some(());
        }
        Flag::Offen | Flag::Idxen | Flag::Tfe if row.srcs.contains(&ArgSlot::LdsOnly) => return Some(()),
        Flag::Lds if row.srcs.contains(&ArgSlot::LdsOnly) => {
            inst.mem.lds = value;
            return value.then_some(());
        }
        // Only some loads can go to LDS.
        Flag::Lds => {
            matches!(row.dst, Some(ArgSlot::Reg(..))) && !row.has(Property::NoLds)
                || row.srcs.contains(&ArgSlot::LdsOnly)
        }
        Flag::D16 => !data_is_atomic(inst) && !row.has(Property::NoD16),
        _ if buffer => has_base(row),
        _ => true,
    };
    *flag_place(flag, inst) = value;
    (used || !value).then_some(())
}

/// Where a flag is in the decoded form.
pub(super) fn flag_place(flag: Flag, inst: &mut Inst) -> &mut bool {
    let mem = &mut inst.mem;
    match flag {
        Flag::Gds => &mut mem.gds,
        Flag::Glc => &mut mem.glc,
        Flag::Slc => &mut mem.slc,
        Flag::Lds => &mut mem.lds,
        Flag::Tfe => &mut mem.tfe,
        Flag::Offen => &mut mem.offen,
        Flag::Idxen => &mut mem.idxen,
        Flag::Addr64 => &mut mem.addr64,
        Flag::Unorm => &mut mem.unorm,
        Flag::Da => &mut mem.da,
        Flag::R128 => &mut mem.r128,
        Flag::Lwe => &mut mem.lwe,
        Flag::D16 => &mut mem.d16,
        Flag::Compr => &mut inst.exp.get_or_insert_default().compr,
        Flag::Done => &mut inst.exp.get_or_insert_default().done,
        Flag::Vm => &mut inst.exp.get_or_insert_default().vm,
    }
}

/// As [`put`](super::field::put), for the fields of memory instructions and exports.
pub(super) fn put_memory(field: Field, row: &Row, inst: &Inst) -> Option<u64> {
    let generation = inst.generation;
    let operand = |arg: &Arg| arg.operand.code(generation).map(u64::from);
    let seven = |arg: &Arg| operand(arg).filter(|&code| code < 128);
    let eight = |arg: &Arg| operand(arg).filter(|&code| code < 256);
    let vector = |arg: &Arg| arg.operand.vgpr().map(u64::from);
    let mem = &inst.mem;
    Some(match field {
        Field::Sdata if row.srcs.contains(&ArgSlot::Imm7) => (inst.simm16 & 0x7f).into(),
        Field::Sdata => mem.data.as_ref().or(inst.dst.as_ref()).map_or(Some(0), seven)?,
        Field::Base2 => mem.base.as_ref().map_or(Some(0), seven)? >> 1,
        Field::Base4 => mem.base.as_ref().map_or(Some(0), seven)? >> 2,
        Field::Sampler => mem.sampler.as_ref().map_or(Some(0), seven)? >> 2,
        Field::SmrdOffset => match &mem.soffset {
            Some(Arg { operand: Operand::Literal(_), .. }) => 255,
            Some(register) => seven(register)?,
            None if !has_offset(row) => 0,
            None => {
                0x100 + u64::try_from(mem.offset).ok().filter(|bytes| bytes % 4 == 0 && *bytes < 1024)? / 4
            }
        },
        Field::SmemImm => u64::from(has_offset(row) && (mem.soffset.is_none() || mem.offset != 0)),
        Field::SmemSoffsetEn => u64::from(mem.soffset.is_some() && mem.offset != 0),
        Field::SmemSoffset if mem.offset == 0 => 0,
        Field::SmemSoffset => mem.soffset.as_ref().map_or(Some(0), seven)?,
        Field::SmemOffset => match &mem.soffset {
            Some(register) if mem.offset == 0 => seven(register)?,
            _ if generation == Generation::Gfx9 => (mem.offset & 0x1f_ffff) as u64,
            _ => u64::try_from(mem.offset).ok()?,
        },
        Field::Addr if row.srcs.contains(&ArgSlot::Gws) => mem.data.as_ref().map_or(Some(0), vector)?,
        Field::Addr => mem.addr.as_ref().map_or(Some(0), vector)?,
        Field::Data0 if row.srcs.contains(&ArgSlot::Gws) => 0,
        Field::Data => mem.data.as_ref().or(inst.dst.as_ref()).map_or(Some(0), vector)?,
        Field::Data0 => mem.data.as_ref().map_or(Some(0), vector)?,
        Field::Data1 => mem.data1.as_ref().map_or(Some(0), vector)?,
        Field::MemDst => inst.dst.as_ref().map_or(Some(0), vector)?,
        Field::DsOffset if row.has(Property::Two) => {
            u64::from(mem.offsets[0]) | u64::from(mem.offsets[1]) << 8
        }
        Field::DsOffset | Field::Offset => u64::try_from(mem.offset).ok()?,
        Field::Soffset => mem.soffset.as_ref().map_or(Some(0), eight)?,
        Field::FlatOffset if mem.segment == Segment::Flat => {
            u64::try_from(mem.offset).ok().filter(|offset| *offset < 0x1000)?
        }
        Field::FlatOffset if !(-0x1000..0x1000).contains(&mem.offset) => return None,
        Field::FlatOffset => (mem.offset & 0x1fff) as u64,
        Field::Segment => mem.segment as u64,
        Field::Saddr if mem.segment == Segment::Flat => 0,
        Field::Saddr => mem.saddr.as_ref().map_or(Some(0x7f), seven)?,
        Field::Flag(flag) => u64::from(*flag_place(flag, &mut inst.clone())),
        Field::Dfmt => mem.dfmt.into(),
        Field::Nfmt => mem.nfmt.into(),
        Field::Dmask => mem.dmask.into(),
        Field::Target => inst.exp?.target.into(),
        Field::Enable => inst.exp?.enable.into(),
        _ => return None,
    })
}
