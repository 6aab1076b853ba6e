//! Parses modifiers: words behind the operands, such as `offset:16`, `glc` or `row_shl:1`.

use super::asm_operand::{call, list, number};
use super::inst::{DppCtrl, Inst, Omod, Unused};
use super::layout::Flag;
use super::operand::Select;
use super::rows::Property;
use super::syntax;
use super::table::{ArgSlot, Row};
use super::{Generation, field_memory};

fn select(text: &str) -> Option<Select> {
    Some(match text {
        "DWORD" => Select::Dword,
        "WORD_0" => Select::Word(0),
        "WORD_1" => Select::Word(1),
        "BYTE_0" => Select::Byte(0),
        "BYTE_1" => Select::Byte(1),
        "BYTE_2" => Select::Byte(2),
        "BYTE_3" => Select::Byte(3),
        _ => return None,
    })
}

const FLAGS: [Flag; 17] = [
    Flag::Gds,
    Flag::Glc,
    Flag::Slc,
    Flag::Lds,
    Flag::Tfe,
    Flag::Offen,
    Flag::Idxen,
    Flag::Addr64,
    Flag::Unorm,
    Flag::Da,
    Flag::R128,
    Flag::Lwe,
    Flag::D16,
    Flag::Compr,
    Flag::Done,
    Flag::Vm,
    Flag::R128,
];

/// Names before the colon of modifiers.
const KEYS: [&str; 33] = [
    "offset",
    "offset0",
    "offset1",
    "dmask",
    "format",
    "dfmt",
    "nfmt",
    "op_sel",
    "op_sel_hi",
    "neg_lo",
    "neg_hi",
    "mul",
    "div",
    "dst_sel",
    "dst_unused",
    "src0_sel",
    "src1_sel",
    "quad_perm",
    "row_shl",
    "row_shr",
    "row_ror",
    "wave_shl",
    "wave_rol",
    "wave_shr",
    "wave_ror",
    "row_bcast",
    "row_mask",
    "bank_mask",
    "bound_ctrl",
    "clamp",
    "high",
    "row_mirror",
    "row_half_mirror",
];

/// True for words that are modifiers and no operands.
pub(super) fn is_modifier(text: &str) -> bool {
    let name = text.split(':').next().unwrap_or(text);
    let flag = |generation| FLAGS.iter().any(|flag| flag.name(generation) == text);
    KEYS.contains(&name) || flag(Generation::Gfx9) || flag(Generation::Gfx8)
}

/// Applies a modifier. `None`: it means nothing.
pub(super) fn modifier(text: &str, row: &Row, inst: &mut Inst) -> Option<()> {
    let generation = inst.generation;
    if let Some(flag) = FLAGS.iter().find(|flag| flag.name(generation) == text) {
        *field_memory::flag_place(*flag, inst) = true;
        return Some(());
    }
    let dpp = |inst: &mut Inst, ctrl: DppCtrl| inst.dpp.as_mut().map(|dpp| dpp.ctrl = ctrl);
    match text {
        "clamp" => {
            inst.clamp = true;
            return Some(());
        }
        "high" => {
            inst.interp.get_or_insert_default().high = true;
            return Some(());
        }
        "row_mirror" => return dpp(inst, DppCtrl::RowMirror),
        "row_half_mirror" => return dpp(inst, DppCtrl::RowHalfMirror),
        _ => {}
    }
    let (name, value) = text.split_once(':')?;
    let value = value.trim();
    let lane = |value: &str| number(value).filter(|n| (1..16).contains(n)).map(|n| n as u8);
    let one = |value: &str, ctrl: DppCtrl| (number(value) == Some(1)).then_some(ctrl);
    let small = |value: &str, most: i64| number(value).filter(|n| (0..=most).contains(n)).map(|n| n as u8);
    let bits = |value: &str| -> Option<(u8, usize)> {
        let all = list(value)?;
        let fine = all.len() <= 4 && all.iter().all(|bit| matches!(bit, 0 | 1));
        fine.then(|| (all.iter().enumerate().map(|(index, bit)| (*bit as u8) << index).sum(), all.len()))
    };
    match name {
        "offset" if value.starts_with("swizzle") => inst.mem.offset = swizzle(value)?.into(),
        "offset" => inst.mem.offset = i32::try_from(number(value)?).ok()?,
        "offset0" => inst.mem.offsets[0] = small(value, 255)?,
        "offset1" => inst.mem.offsets[1] = small(value, 255)?,
        "dmask" => inst.mem.dmask = small(value, 15)?,
        "dfmt" => inst.mem.dfmt = small(value, 15)?,
        "nfmt" => inst.mem.nfmt = small(value, 7)?,
        "format" => (inst.mem.dfmt, inst.mem.nfmt) = buffer_format(value, generation)?,
        "op_sel" => {
            let (all, count) = bits(value)?;
            let sources =
                row.srcs.iter().filter(|slot| matches!(slot, ArgSlot::Reg(..) | ArgSlot::Mix)).count();
            inst.op_sel = all;
            if row.has(Property::OpSel) {
                // The last one is the destination.
                let mask = (1u8 << sources.min(3)) - 1;
                let dst = if count > sources { all >> sources & 1 } else { 0 };
                inst.op_sel = all & mask | dst << 3;
            }
        }
        "op_sel_hi" => {
            // The bits of sources that are not there stay.
            let (all, count) = bits(value)?;
            inst.op_sel_hi = inst.op_sel_hi >> count << count | all;
        }
        "neg_lo" => inst.neg_lo = bits(value)?.0,
        "neg_hi" => inst.neg_hi = bits(value)?.0,
        "mul" => {
            inst.omod = [(2, Omod::Mul2), (4, Omod::Mul4), (1, Omod::None)]
                .into_iter()
                .find_map(|(factor, omod)| (number(value) == Some(factor)).then_some(omod))?
        }
        "div" => {
            inst.omod = [(2, Omod::Div2), (1, Omod::None)]
                .into_iter()
                .find_map(|(factor, omod)| (number(value) == Some(factor)).then_some(omod))?
        }
        "dst_sel" => inst.sdwa.as_mut()?.dst_sel = select(value)?,
        "dst_unused" => {
            inst.sdwa.as_mut()?.dst_unused = match value {
                "UNUSED_PAD" => Unused::Pad,
                "UNUSED_SEXT" => Unused::Sext,
                "UNUSED_PRESERVE" => Unused::Preserve,
                _ => return None,
            };
        }
        "src0_sel" | "src1_sel" => {
            inst.sdwa?;
            let index = row.source(usize::from(name == "src1_sel"))?;
            inst.srcs[row.arg(index)].sel = select(value)?;
        }
        "quad_perm" => {
            let lanes = list(value)?;
            let lanes: [i64; 4] = lanes.try_into().ok()?;
            if lanes.iter().any(|lane| !(0..4).contains(lane)) {
                return None;
            }
            dpp(inst, DppCtrl::QuadPerm(lanes.map(|lane| lane as u8)))?;
        }
        "row_shl" => dpp(inst, DppCtrl::RowShl(lane(value)?))?,
        "row_shr" => dpp(inst, DppCtrl::RowShr(lane(value)?))?,
        "row_ror" => dpp(inst, DppCtrl::RowRor(lane(value)?))?,
        "wave_shl" => dpp(inst, one(value, DppCtrl::WaveShl1)?)?,
        "wave_rol" => dpp(inst, one(value, DppCtrl::WaveRol1)?)?,
        "wave_shr" => dpp(inst, one(value, DppCtrl::WaveShr1)?)?,
        "wave_ror" => dpp(inst, one(value, DppCtrl::WaveRor1)?)?,
        "row_bcast" => match number(value)? {
            15 => dpp(inst, DppCtrl::RowBcast15)?,
            31 => dpp(inst, DppCtrl::RowBcast31)?,
            _ => return None,
        },
        "row_mask" => inst.dpp.as_mut()?.row_mask = small(value, 15)?,
        "bank_mask" => inst.dpp.as_mut()?.bank_mask = small(value, 15)?,
        // Both spellings set the bit.
        "bound_ctrl" => inst.dpp.as_mut()?.bound_ctrl = small(value, 1).is_some_and(|_| true),
        _ => return None,
    }
    Some(())
}

/// `[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_UINT]`, either one alone, or the two numbers in one.
fn buffer_format(text: &str, generation: Generation) -> Option<(u8, u8)> {
    if let Some(value) = number(text) {
        return (0..128).contains(&value).then_some(((value & 15) as u8, (value >> 4) as u8));
    }
    let (mut data, mut numbers) = (1, 0);
    for name in text.strip_prefix('[')?.strip_suffix(']')?.split(',').map(str::trim) {
        if let Some(name) = name.strip_prefix("BUF_DATA_FORMAT_") {
            data = syntax::DATA_FORMATS.iter().position(|format| *format == name)? as u8;
        } else {
            let name = name.strip_prefix("BUF_NUM_FORMAT_")?;
            numbers = (0..8).find(|code| syntax::number_format(*code, generation) == name)?;
        }
    }
    Some((data, numbers))
}

/// `swizzle(MODE, ...)` of ds_swizzle.
fn swizzle(text: &str) -> Option<u16> {
    let mut parts = call(text, "swizzle")?.split(',').map(str::trim);
    let mode = parts.next()?;
    let mut value = |most: i64| number(parts.next()?).filter(|n| (0..=most).contains(n)).map(|n| n as u16);
    match mode {
        "QUAD_PERM" => {
            let mut bits = 0x8000;
            for lane in 0..4 {
                bits |= value(3)? << (2 * lane);
            }
            Some(bits)
        }
        "SWAP" => Some(31 | value(31)? << 10),
        "REVERSE" => Some(31 | value(32)?.checked_sub(1)? << 10),
        "BROADCAST" => {
            let (group, lane) = (value(32)?, value(31)?);
            Some(32u16.checked_sub(group)? | lane << 5)
        }
        "BITMASK_PERM" => {
            let pattern = parts.next()?.strip_prefix('"')?.strip_suffix('"')?;
            if pattern.len() != 5 {
                return None;
            }
            let (mut and, mut or, mut xor) = (0, 0, 0);
            for (place, c) in pattern.chars().enumerate() {
                let bit = 16u16 >> place;
                match c {
                    '0' => {}
                    '1' => or |= bit,
                    'p' => and |= bit,
                    'i' => {
                        and |= bit;
                        xor |= bit;
                    }
                    _ => return None,
                }
            }
            Some(and | or << 5 | xor << 10)
        }
        _ => None,
    }
}
