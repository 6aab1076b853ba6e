//! Encodes operands: from tokens of assembly text to the bits of operand fields.

use super::field::{Field, Mem, Shape};
use crate::bits::Bits;
use crate::envydis::{Kind, LabelField, Memory, State, place_first, present, wrap};

/// Puts an operand into its field.
pub(super) fn place(field: Field, kind: &Kind, state: State, token: usize) -> Option<State> {
    match (field, kind) {
        (Field::Reg(bits, shape), Kind::Reg("r", num, suffix)) => {
            let num = u64::from(*num);
            let value = match (shape, suffix) {
                (Shape::Full, None) | (Shape::Double, Some('d')) | (Shape::Quad, Some('q')) => num,
                (Shape::Half, Some('l')) => num << 1,
                (Shape::Half, Some('h')) => num << 1 | 1,
                _ => return None,
            };
            state.put(bits, value)
        }
        (Field::Areg(bits), Kind::Number(0)) => state.put(bits, 0),
        (Field::Areg(bits), Kind::Reg("a", num, None)) | (Field::Creg(bits), Kind::Reg("c", num, None)) => {
            state.put(bits, u64::from(*num))
        }
        (Field::Tex(bits), Kind::Reg("t", num, None)) | (Field::Sampler(bits), Kind::Reg("s", num, None)) => {
            state.put(bits, u64::from(*num))
        }
        (Field::Sreg(bits), Kind::Special(num)) => state.put(bits, u64::from(*num)),
        (Field::Imm(bits), Kind::Number(value)) => state.put(bits, u64::try_from(*value).ok()?),
        (Field::WrapImm(bits), Kind::Number(value)) => state.put(bits, wrap(*value, bits.len())?),
        (Field::SignedImm(bits), Kind::Number(value)) => state.put_signed(bits, *value),
        (Field::Target(bits), Kind::Number(value)) => {
            let value = u64::try_from(*value).ok()?;
            if value % 4 != 0 {
                return None;
            }
            state.put(bits, value >> 2)
        }
        (Field::Target(bits), Kind::Label(_)) => {
            state.wait(LabelField { bits, shift: 2, relative: false, token })
        }
        (Field::WrapImm(bits), Kind::Label(_)) => {
            state.wait(LabelField { bits, shift: 0, relative: false, token })
        }
        (Field::Global { index, reg }, Kind::Memory(memory)) => {
            if memory.space != "g" || memory.offset != 0 || memory.post.is_some() {
                return None;
            }
            let ("r", num, None) = memory.base? else { return None };
            state.put(index, u64::from(memory.index?))?.put(reg, u64::from(num))
        }
        (Field::Mem(mem), Kind::Memory(memory)) => place_memory(mem, memory, state),
        (Field::Vec(base, count, mask), Kind::Vec(registers)) => {
            let present = present(registers);
            let state = match count {
                Some(bits) => state.put(bits, (registers.len() as u64).checked_sub(1)?)?,
                None if registers.len() == 4 => state,
                None => return None,
            };
            let state = match mask {
                Some(bits) => state.put(bits, present)?,
                None if present.count_ones() as usize == registers.len() => state,
                None => return None,
            };
            place_first(registers, base, state)
        }
        // A vector of one component looks like a register.
        (Field::Vec(..), Kind::Reg("r", num, None)) => {
            place(field, &Kind::Vec(vec![Some(*num)]), state, token)
        }
        (Field::Discard, Kind::Discard) => Some(state),
        _ => None,
    }
}

fn place_memory(mem: Mem, memory: &Memory, state: State) -> Option<State> {
    if mem.space.letter() != memory.space || mem.post != memory.post.is_some() {
        return None;
    }
    let state = match memory.index {
        Some(index) if !mem.index.is_empty() => state.put(mem.index, u64::from(index))?,
        None if mem.index.is_empty() => state,
        _ => return None,
    };
    let state = match memory.base {
        None => state.put(mem.areg, 0)?,
        // `$a0` is written as nothing.
        Some(("a", num, None)) if num != 0 => state.put(mem.areg, u64::from(num))?,
        _ => return None,
    };
    let offset = memory.post.unwrap_or(memory.offset);
    if offset & ((1 << mem.shift) - 1) != 0 {
        return None;
    }
    let value = if mem.signed {
        mem.offset.place_signed(offset >> mem.shift)?
    } else if mem.wraps {
        mem.offset.place(wrap(offset, mem.offset.len() + mem.shift)? >> mem.shift)?
    } else {
        mem.offset.place(u64::try_from(offset).ok()? >> mem.shift)?
    };
    state.set(mem.offset.mask(), value)
}

/// What a field wants, for error messages.
pub(super) fn describe(field: Field) -> String {
    let range = |bits: Bits| (1_u64 << bits.len()) - 1;
    match field {
        Field::Reg(bits, Shape::Full) => format!("$r0-$r{}", range(bits)),
        Field::Reg(bits, Shape::Half) => format!("$r0l-$r{}h", range(bits) >> 1),
        Field::Reg(_, Shape::Double) => "a register pair ($r0d)".into(),
        Field::Reg(_, Shape::Quad) => "a register quad ($r0q)".into(),
        Field::Areg(_) => "an address register or 0x0".into(),
        Field::Creg(bits) if bits.is_empty() => "$c0".into(),
        Field::Creg(_) => "$c0-$c3".into(),
        Field::Sreg(_) => "a special register".into(),
        Field::Imm(bits) | Field::WrapImm(bits) => format!("a number up to {:#x}", range(bits)),
        Field::SignedImm(_) => "a number from -0x8 to 0x7".into(),
        Field::Target(_) => "a label or a code address (a multiple of 4)".into(),
        Field::Tex(bits) => format!("$t0-$t{}", range(bits)),
        Field::Sampler(bits) => format!("$s0-$s{}", range(bits)),
        Field::Global { .. } => "g0[$r0]".into(),
        Field::Mem(mem) => {
            let letter = mem.space.letter();
            let index = match mem.index.len() {
                0 => String::new(),
                _ => format!("0-{letter}{}", range(mem.index)),
            };
            let reach = range(mem.offset) << mem.shift;
            format!("{letter}{index}[] up to {reach:#x} in steps of {:#x}", 1 << mem.shift)
        }
        Field::Vec(..) => "a register vector ($r0:$r1:..)".into(),
        Field::Discard => "`#`".into(),
        Field::Ignore(_) => String::new(),
    }
}
