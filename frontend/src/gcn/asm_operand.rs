//! Parses the operands and modifiers of a source line.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::Half;

use super::inst::{DppCtrl, Inst, Omod, Unused};
use super::layout::Flag;
use super::operand::{Arg, InlineFloat, Operand, Select, Type};
use super::row_words::Property;
use super::syntax::{self, GS_OPS, INDEX_MODES, SYS_OPS, WAIT_COUNTS};
use super::table::{Row, Slot};
use super::{Generation, field_memory};

/// A number: digits, `0x`, `0b`, `0o`, with a sign.
pub(super) fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let magnitude = if let Some(hex) = lower.strip_prefix("0x") {
        u64::from_str_radix(hex, 16).ok()?
    } else if let Some(binary) = lower.strip_prefix("0b") {
        u64::from_str_radix(binary, 2).ok()?
    } else if let Some(octal) = lower.strip_prefix("0o") {
        u64::from_str_radix(octal, 8).ok()?
    } else if lower.starts_with(|c: char| c.is_ascii_digit()) {
        lower.parse().ok()?
    } else {
        return None;
    };
    Some(if negative { (magnitude as i64).wrapping_neg() } else { magnitude as i64 })
}

/// `name(inside)` gives the inside.
fn call<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    Some(text.strip_prefix(name)?.trim_start().strip_prefix('(')?.strip_suffix(')')?.trim())
}

/// A register, by its name: operand and number of dwords.
fn register(text: &str) -> Option<(Operand, u8)> {
    type Part = fn(u8) -> Operand;
    for (prefix, make) in [("ttmp", Operand::Ttmp as Part), ("s", Operand::Sgpr), ("v", Operand::Vgpr)] {
        let Some(rest) = text.strip_prefix(prefix) else { continue };
        if let Some(range) = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let (first, last) = range.split_once(':').unwrap_or((range, range));
            let (first, last) = (number(first.trim())?, number(last.trim())?);
            let words = last.checked_sub(first)?.checked_add(1)?;
            if !(0..256).contains(&first) || !(1..=32).contains(&words) || first + words > 256 {
                return None;
            }
            return Some((make(first as u8), words as u8));
        }
        if !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some((make(rest.parse().ok()?), 1));
        }
    }
    let pairs: [(&str, Part); 6] = [
        ("vcc", Operand::Vcc),
        ("exec", Operand::Exec),
        ("flat_scratch", Operand::FlatScratch),
        ("xnack_mask", Operand::XnackMask),
        ("tba", Operand::Tba),
        ("tma", Operand::Tma),
    ];
    for (name, make) in pairs {
        match text.strip_prefix(name) {
            Some("") => return Some((make(0), 2)),
            Some("_lo") => return Some((make(0), 1)),
            Some("_hi") => return Some((make(1), 1)),
            _ => {}
        }
    }
    let single = match text.strip_prefix("src_").unwrap_or(text) {
        "m0" => Operand::M0,
        "scc" => Operand::Scc,
        "vccz" => Operand::Vccz,
        "execz" => Operand::Execz,
        "lds_direct" => Operand::LdsDirect,
        "shared_base" => Operand::SharedBase,
        "shared_limit" => Operand::SharedLimit,
        "private_base" => Operand::PrivateBase,
        "private_limit" => Operand::PrivateLimit,
        "pops_exiting_wave_id" => Operand::PopsExitingWaveId,
        _ => return None,
    };
    // Of any width.
    Some((single, 0))
}

/// True for the name of a register.
pub(super) fn is_register(text: &str) -> bool {
    register(text).is_some()
}

/// The inline constant with those bits, or the literal.
fn constant(bits: u64, integer: Option<i64>, ty: Type, generation: Generation) -> Option<Operand> {
    let floats = if generation.is_old() { 8 } else { 9 };
    let inline = |found: &dyn Fn(InlineFloat) -> bool| {
        InlineFloat::ALL[..floats].iter().copied().find(|float| found(*float)).map(Operand::Float)
    };
    if let Some(value) = integer.filter(|value| (-16..=64).contains(value)) {
        return Some(Operand::Int(value as i8));
    }
    let small = |value: i64| (-16..=64).contains(&value).then_some(Operand::Int(value as i8));
    match ty.bits() {
        64 => {
            if let Some(found) = inline(&|float| float.bits64() == bits) {
                return Some(found);
            }
            match integer {
                Some(value) if ty != Type::F64 => {
                    let fits = u32::try_from(value).is_ok() || i32::try_from(value).is_ok();
                    fits.then_some(Operand::Literal(bits as u32))
                }
                // An integer is the dword that is encoded.
                Some(value) => u32::try_from(value).ok().map(Operand::Literal),
                None => Some(Operand::Literal((bits >> 32) as u32)),
            }
        }
        16 => {
            let bits = (bits & 0xffff) as u16;
            let float = ty == Type::F16;
            let found = if float { inline(&|float| float.bits16() == bits) } else { None };
            Some(small(i64::from(bits as i16)).or(found).unwrap_or(Operand::Literal(bits.into())))
        }
        _ => {
            let bits = bits as u32;
            let found = match ty {
                Type::Pk16 => None,
                Type::PkF16 => inline(&|float| u32::from(float.bits16()) == bits),
                _ => inline(&|float| float.bits32() == bits),
            };
            Some(small(i64::from(bits as i32)).or(found).unwrap_or(Operand::Literal(bits)))
        }
    }
}

/// A number as a constant of that type; integers stand for bits.
fn immediate(text: &str, ty: Type, generation: Generation) -> Option<Operand> {
    if let Some(value) = number(text) {
        let fits = ty.bits() == 64 || u32::try_from(value).is_ok() || i32::try_from(value).is_ok();
        return if fits { constant(value as u64, Some(value), ty, generation) } else { None };
    }
    if !text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    let bits = match ty.bits() {
        64 => value.to_bits(),
        16 => half_bits(text)?,
        _ if matches!(ty, Type::PkF16 | Type::Pk16) => half_bits(text)?,
        _ => u64::from((value as f32).to_bits()),
    };
    if ty == Type::PkF16 || ty == Type::Pk16 || matches!(ty, Type::B16 | Type::U16 | Type::I16) {
        // Packed and 16-bit integer operands take only the inline ones.
        let found = InlineFloat::ALL.iter().find(|float| u64::from(float.bits16()) == bits);
        return found.map(|float| Operand::Float(*float));
    }
    constant(bits, None, ty, generation)
}

fn half_bits(text: &str) -> Option<u64> {
    Some(text.parse::<Half>().ok()?.to_bits() as u64)
}

/// Writes an operand into an argument that knows type and width. False: it does not fit.
pub(super) fn plain(text: &str, arg: &mut Arg, generation: Generation, constants: bool) -> bool {
    if text == "off" {
        arg.operand = Operand::Off;
        return true;
    }
    if let Some((operand, words)) = register(text) {
        arg.operand = operand;
        return words == arg.words || words == 0;
    }
    match immediate(text, arg.ty, generation) {
        Some(operand) if constants => arg.operand = operand,
        _ => return false,
    }
    true
}

/// A source with its modifiers.
pub(super) fn source(text: &str, arg: &mut Arg, generation: Generation) -> bool {
    let mut text = text.trim();
    if let Some(inside) = call(text, "sext") {
        arg.sext = true;
        text = inside;
    }
    if let Some(inside) = call(text, "neg") {
        arg.neg = true;
        text = inside;
    } else if let Some(rest) = text.strip_prefix('-')
        && number(text).is_none()
        && !rest.starts_with(|c: char| c.is_ascii_digit())
    {
        arg.neg = true;
        text = rest.trim_start();
    }
    if let Some(inside) = call(text, "abs") {
        arg.abs = true;
        text = inside;
    } else if let Some(inside) = text.strip_prefix('|').and_then(|rest| rest.strip_suffix('|')) {
        arg.abs = true;
        text = inside.trim();
    }
    plain(text, arg, generation, true)
}

fn simm(text: &str) -> Option<u16> {
    let value = number(text)?;
    (-0x8000..0x1_0000).contains(&value).then_some(value as u16)
}

/// What a slot says of `simm16`. `None`: it does not.
pub(super) fn simm_slot(slot: Slot, text: &str, generation: Generation) -> Option<u16> {
    if let Some(value) = simm(text) {
        return Some(value);
    }
    match slot {
        Slot::Hwreg => {
            let mut parts = call(text, "hwreg")?.split(',').map(str::trim);
            let name = parts.next()?;
            let named = (0..64).find(|id| syntax::hwreg_name(*id, generation) == Some(name));
            let id = named.or_else(|| number(name)?.try_into().ok())?;
            let (offset, size) = match parts.next() {
                Some(offset) => (number(offset)?, number(parts.next()?)?),
                None => (0, 32),
            };
            let fits = id < 64 && (0..32).contains(&offset) && (1..=32).contains(&size);
            fits.then_some(id | (offset as u16) << 6 | (size as u16 - 1) << 11)
        }
        Slot::Wait => wait(text, generation),
        Slot::Message => {
            let mut parts = call(text, "sendmsg")?.split(',').map(str::trim);
            let name = parts.next()?;
            let named = (0..16).find(|id| syntax::message_name(*id, generation) == Some(name));
            let id = named.or_else(|| number(name)?.try_into().ok())?;
            let op = match parts.next() {
                None => 0,
                Some(op) => {
                    let gs = GS_OPS.iter().position(|name| *name == op);
                    let system = SYS_OPS.iter().position(|name| *name == op).map(|index| index + 1);
                    gs.or(system).map(|index| index as i64).or_else(|| number(op))?
                }
            };
            let stream = parts.next().map_or(Some(0), number)?;
            let fits = id < 16 && (0..8).contains(&op) && (0..4).contains(&stream);
            fits.then_some(id | (op as u16) << 4 | (stream as u16) << 8)
        }
        Slot::Index | Slot::GprIndex => {
            let mut bits = 0;
            for name in call(text, "gpr_idx")?.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                bits |= 1 << INDEX_MODES.iter().position(|mode| *mode == name)?;
            }
            Some(bits)
        }
        _ => None,
    }
}

fn wait(text: &str, generation: Generation) -> Option<u16> {
    let mut value = if generation == Generation::Gfx9 { 0xcf7f } else { 0x0f7f };
    for part in text.split([' ', '&', ',']).filter(|part| !part.is_empty()) {
        let index = WAIT_COUNTS.iter().position(|(name, _, _)| part.starts_with(name))?;
        let (name, position, width) = WAIT_COUNTS[index];
        let (saturate, inside) = match call(part, &format!("{name}_sat")) {
            Some(inside) => (true, inside),
            None => (false, call(part, name)?),
        };
        let high = index == 0 && generation == Generation::Gfx9;
        let most = (1 << (width + if high { 2 } else { 0 })) - 1;
        let count = u16::try_from(number(inside)?).ok()?;
        if count > most && !saturate {
            return None;
        }
        let count = count.min(most);
        let ones = (1 << width) - 1;
        value = value & !(ones << position) | (count & ones) << position;
        if high {
            value = value & 0x3fff | (count >> 4) << 14;
        }
    }
    Some(value)
}

/// `[a,b,c]`
fn list(text: &str) -> Option<Vec<i64>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    inside.split(',').map(|part| number(part.trim())).collect()
}

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
            let sources = row.srcs.iter().filter(|slot| matches!(slot, Slot::Reg(..) | Slot::Mix)).count();
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
