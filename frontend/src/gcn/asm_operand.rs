//! Parses the operands and modifiers of a source line.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::Half;

use super::Generation;
use super::operand::{Arg, InlineFloat, Operand, Type};
use super::syntax::{self, GS_OPS, INDEX_MODES, SYS_OPS, WAIT_COUNTS};
use super::table::ArgSlot;

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
pub(super) fn call<'a>(text: &'a str, name: &str) -> Option<&'a str> {
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
pub(super) fn simm_slot(slot: ArgSlot, text: &str, generation: Generation) -> Option<u16> {
    if let Some(value) = simm(text) {
        return Some(value);
    }
    match slot {
        ArgSlot::Hwreg => {
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
        ArgSlot::Wait => wait(text, generation),
        ArgSlot::Message => {
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
        ArgSlot::Index | ArgSlot::GprIndex => {
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
pub(super) fn list(text: &str) -> Option<Vec<i64>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    inside.split(',').map(|part| number(part.trim())).collect()
}
