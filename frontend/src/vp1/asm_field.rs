//! Encodes operands: from tokens of assembly text to the bits of operand fields.

use super::field::{Field, Kind as FieldKind, NAMED};
use crate::envydis::{Kind, LabelField, State, Token};

/// All `$vc` registers.
const ALL_FLAGS: &str = "vc";
/// A 0 that may be a number or `$r31`.
const ZERO: &str = "r31 as 0";

/// The token of a register that has a name of its own.
pub(super) fn named(name: &str) -> Option<Kind> {
    if name == ALL_FLAGS {
        return Some(Kind::Named(ALL_FLAGS));
    }
    NAMED.iter().find(|(_, _, known)| *known == name).map(|&(class, number, _)| match class {
        "sr" => Kind::Special(number as u8),
        _ => Kind::Reg(class, number, None),
    })
}

/// The tokens with each 0 as [`ZERO`], if there is any.
pub(super) fn zeros_as_registers(tokens: &[Token]) -> Option<Vec<Token>> {
    let is_zero = |token: &Token| token.kind == Kind::Number(0);
    tokens.iter().any(is_zero).then(|| {
        let respell = |token: &Token| match is_zero(token) {
            true => Token { kind: Kind::Named(ZERO), ..*token },
            false => token.clone(),
        };
        tokens.iter().map(respell).collect()
    })
}

/// Puts an operand into its field.
pub(super) fn place(field: Field, kind: &Kind, state: State, token: usize) -> Option<State> {
    let bits = field.bits;
    let number = match kind {
        Kind::Number(value) => Some(*value),
        Kind::Named(ZERO) => Some(0),
        _ => None,
    };
    match (field.kind, kind) {
        (FieldKind::Register("sr", _), Kind::Special(number)) => state.put(bits, u64::from(*number)),
        (FieldKind::Register("r", _), Kind::Named(ZERO)) => state.put(bits, 31),
        (FieldKind::Register(class, suffix), Kind::Reg(of, number, given)) => {
            // The suffix may be left out.
            let fits = *of == class && given.is_none_or(|given| suffix.starts_with(given));
            if fits { state.put(bits, u64::from(*number)) } else { None }
        }
        (FieldKind::Unsigned(shift), _) => {
            let value = u64::try_from(number?).ok()?;
            if value & ((1 << shift) - 1) == 0 { state.put(bits, value >> shift) } else { None }
        }
        (FieldKind::Signed, _) => state.put_signed(bits, number?),
        (FieldKind::Relative | FieldKind::Absolute, Kind::Number(value))
            if u32::try_from(*value).is_err() =>
        {
            None
        }
        (FieldKind::Relative | FieldKind::Absolute, Kind::Number(_) | Kind::Label(_)) => {
            let relative = field.kind == FieldKind::Relative;
            state.wait(LabelField { bits, shift: 2, relative, token })
        }
        (FieldKind::Discard, Kind::Discard) | (FieldKind::AllFlags, Kind::Named(ALL_FLAGS)) => Some(state),
        _ => None,
    }
}

/// What a field wants, for error messages.
pub(super) fn describe(field: Field) -> String {
    let last = (1_u64 << field.bits.len()) - 1;
    match field.kind {
        FieldKind::Register(class, suffix) => format!("${class}0{suffix}-${class}{last}{suffix}"),
        FieldKind::Unsigned(0) => format!("a number up to {last:#x}"),
        FieldKind::Unsigned(shift) => {
            format!("a number up to {:#x} in steps of {:#x}", last << shift, 1 << shift)
        }
        FieldKind::Signed => format!("a number from -{:#x} to {:#x}", last / 2 + 1, last / 2),
        FieldKind::Relative | FieldKind::Absolute => "a label or a word address (a multiple of 4)".into(),
        FieldKind::Discard => "`#`".into(),
        FieldKind::AllFlags => "`$vc`".into(),
        FieldKind::Ignored(_) => String::new(),
    }
}
