//! Encodes operands: from tokens of assembly text to the bits of operand fields.

use super::field::{Code, Count, Field, Mem, Number, Space};
use super::operand::{RegWidth, TRUE_PRED, ZERO_REG};
use crate::bits::Bits;
use crate::envydis::{Kind, LabelField, Memory, State, place_first, present, wrap};

/// Puts a token into a field.
pub(super) fn place(field: Field, kind: &Kind, state: State, token: usize) -> Option<State> {
    match (field, kind) {
        (Field::Reg(bits, width), Kind::Reg("r", num, suffix)) => {
            let fits = matches!(
                (width, suffix),
                (RegWidth::B32, None) | (RegWidth::B64, Some('d')) | (RegWidth::B128, Some('q'))
            );
            if fits { state.put(bits, u64::from(*num)) } else { None }
        }
        (Field::Reg(bits, RegWidth::B32), Kind::Number(0)) => state.put(bits, u64::from(ZERO_REG)),
        (Field::PredDst(bits, _) | Field::PredSrc(bits) | Field::Guard(bits), Kind::Reg("p", num, None)) => {
            state.put(bits, u64::from(*num))
        }
        (Field::PredDst(bits, _) | Field::PredSrc(bits) | Field::Guard(bits), Kind::Number(1)) => {
            state.put(bits, u64::from(TRUE_PRED))
        }
        (Field::CcOut | Field::CcIn | Field::CcTest, Kind::Named("c")) => Some(state),
        (Field::Flags, Kind::Named("flags")) => Some(state),
        (Field::Sreg(bits), Kind::Special(num)) => state.put(bits, u64::from(*num)),
        (Field::Number(bits, number), Kind::Number(value)) => match number {
            Number::Unsigned => state.put(bits, u64::try_from(*value).ok()?),
            Number::Wrapping => state.put(bits, wrap(*value, bits.len())?),
            Number::Signed => state.put_signed(bits, *value),
            Number::Top(shift) => {
                let size = bits.len() + shift;
                let value = if size == 64 { *value as u64 } else { u64::try_from(*value).ok()? };
                if value & ((1 << shift) - 1) != 0 {
                    return None;
                }
                state.put(bits, value >> shift)
            }
        },
        (Field::Number(bits, Number::Wrapping), Kind::Label(_)) => {
            state.wait(LabelField { bits, shift: 0, relative: false, token })
        }
        (Field::Part(bits) | Field::Shift(bits), Kind::Number(value)) => {
            state.put(bits, u64::try_from(*value).ok()?)
        }
        (Field::Code(code), Kind::Number(value)) => {
            u32::try_from(*value).ok()?;
            place_code(code, state, token)
        }
        (Field::Code(code), Kind::Label(_)) => place_code(code, state, token),
        (Field::Tex(bits), Kind::Reg("t", num, None))
        | (Field::Sampler(bits), Kind::Reg("s", num, None))
        | (Field::Surface(bits), Kind::Reg("g", num, None)) => state.put(bits, u64::from(*num)),
        (Field::Image(bits), Kind::Memory(memory)) => {
            if memory.space != "img" || memory.index.is_some() || memory.base.is_some() {
                return None;
            }
            state.put(bits, u64::try_from(memory.offset).ok()?)
        }
        (Field::ImageReg(bits), Kind::Memory(memory)) => {
            if memory.space != "img" || memory.index.is_some() || memory.offset != 0 {
                return None;
            }
            match memory.base {
                Some(("r", num, None)) => state.put(bits, u64::from(num)),
                None => state.put(bits, u64::from(ZERO_REG)),
                _ => None,
            }
        }
        (Field::Mem(mem), Kind::Memory(memory)) => place_memory(mem, memory, state),
        (Field::Vec(base, count), Kind::Vec(registers)) => {
            let present = present(registers);
            let all = present.count_ones() as usize == registers.len();
            let state = match count {
                Count::Fixed(count) if all && registers.len() == usize::from(count) => state,
                Count::PlusOne(bits) if all => state.put(bits, (registers.len() as u64).checked_sub(1)?)?,
                Count::Mask(bits) if registers.len() == 4 => state.put(bits, present)?,
                _ => return None,
            };
            place_first(registers, base, state)
        }
        // A vector of one component looks like a register.
        (Field::Vec(..), Kind::Reg("r", num, None)) => {
            place(field, &Kind::Vec(vec![Some(*num)]), state, token)
        }
        _ => None,
    }
}

fn place_code(code: Code, state: State, token: usize) -> Option<State> {
    state.wait(LabelField { bits: code.bits, shift: code.shift, relative: code.relative.is_some(), token })
}

fn place_memory(mem: Mem, memory: &Memory, state: State) -> Option<State> {
    if mem.space.name() != memory.space || memory.post.is_some() {
        return None;
    }
    let state = match (mem.space, memory.index) {
        (Space::Memory(_), None) => state,
        (Space::Const(bits), Some(index)) => state.put(bits, u64::from(index))?,
        (Space::FixedConst(space), Some(index)) if index == u32::from(space) => state,
        _ => return None,
    };
    let state = match (mem.base, memory.base) {
        (None, None) => state,
        (Some(bits), None) if !mem.wide => state.put(bits, u64::from(ZERO_REG))?,
        (Some(bits), Some(("r", num, None))) if !mem.wide => state.put(bits, u64::from(num))?,
        (Some(bits), Some(("r", num, Some('d')))) if mem.wide => state.put(bits, u64::from(num))?,
        _ => return None,
    };
    if memory.offset & ((1 << mem.shift) - 1) != 0 {
        return None;
    }
    let value = memory.offset >> mem.shift;
    if mem.offset.is_empty() {
        return (value == 0).then_some(state);
    }
    if mem.signed {
        state.put_signed(mem.offset, value)
    } else {
        state.put(mem.offset, u64::try_from(value).ok()?)
    }
}

/// What a field wants, for error messages.
pub(super) fn describe(field: Field) -> String {
    let range = |bits: Bits| (1_u64 << bits.len()) - 1;
    let signed = |bits: Bits, shift: u8| {
        let half = 1_u64 << (bits.len() - 1);
        format!("-{:#x} to {:#x}", half << shift, (half - 1) << shift)
    };
    match field {
        Field::Reg(_, RegWidth::B32) => "$r0-$r63 or 0x0".into(),
        Field::Reg(_, RegWidth::B64) => "a register pair ($r0d)".into(),
        Field::Reg(_, RegWidth::B128) => "a register quad ($r0q)".into(),
        Field::PredDst(..) | Field::PredSrc(_) | Field::Guard(_) => "$p0-$p6 or 0x1".into(),
        Field::CcOut | Field::CcIn | Field::CcTest => "$c".into(),
        Field::Flags => "$flags".into(),
        Field::Sreg(_) => "a special register".into(),
        Field::Number(bits, Number::Signed) => format!("a number from {}", signed(bits, 0)),
        Field::Number(bits, Number::Top(shift)) => {
            format!("a number of {} bits whose low {shift} bits are 0", bits.len() + shift)
        }
        Field::Number(bits, _) | Field::Part(bits) | Field::Shift(bits) => {
            format!("a number up to {:#x}", range(bits))
        }
        Field::Code(_) => "a label or a code address".into(),
        Field::Tex(bits) => format!("$t0-$t{}", range(bits)),
        Field::Sampler(bits) => format!("$s0-$s{}", range(bits)),
        Field::Surface(bits) => format!("$g0-$g{}", range(bits)),
        Field::Image(bits) => format!("img[] up to {:#x}", range(bits)),
        Field::ImageReg(_) => "img[$r0]".into(),
        Field::Mem(mem) => {
            let name = mem.space.name();
            let index = match mem.space {
                Space::Const(bits) => format!("0-c{}", range(bits)),
                Space::FixedConst(space) => space.to_string(),
                Space::Memory(_) => String::new(),
            };
            let reach = match (mem.offset.is_empty(), mem.signed) {
                (true, _) => String::new(),
                (_, true) => format!(" from {}", signed(mem.offset, mem.shift)),
                _ => format!(" up to {:#x}", range(mem.offset) << mem.shift),
            };
            let steps =
                if mem.shift == 0 { String::new() } else { format!(" in steps of {:#x}", 1 << mem.shift) };
            let base = match (mem.base, mem.wide) {
                (None, _) => "",
                (_, true) => "$r0d+..",
                _ => "$r0+..",
            };
            format!("{name}{index}[{base}]{reach}{steps}")
        }
        Field::Vec(..) => "a register vector ($r0:$r1:..)".into(),
        Field::Ignore(_) => String::new(),
    }
}
