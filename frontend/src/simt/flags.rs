//! The four flags of a condition register `$c`, and the conditions that code can test on them. The formulas are those of the ISA
//! documents.

use warpjit_ir::{Builder, FloatCC, Value};

/// The four flags of a `$c`, as masks.
#[derive(Clone, Copy)]
pub(crate) struct Flags {
    pub(crate) zero: Value,
    pub(crate) sign: Value,
    pub(crate) carry: Value,
    pub(crate) overflow: Value,
}

/// Where one of the conditions 0x00 to 0x0f holds: bits less, equal, greater, unordered.
pub(crate) fn condition(b: &mut Builder<'_>, code: u8, flags: Flags) -> Value {
    let Flags { zero: z, sign: s, overflow: o, .. } = flags;
    match code & 15 {
        0x00 => b.bool(false),
        0x01 => {
            // l: (S & ~Z) ^ O
            let not_z = b.inot(z);
            let t = b.iand(s, not_z);
            b.ixor(t, o)
        }
        0x02 => {
            // e: Z & ~S
            let not_s = b.inot(s);
            b.iand(z, not_s)
        }
        0x03 => {
            // le: S ^ (Z | O)
            let t = b.ior(z, o);
            b.ixor(s, t)
        }
        0x04 => {
            // g: ~Z & ~(S ^ O)
            let t = b.ixor(s, o);
            let t = b.ior(z, t);
            b.inot(t)
        }
        // lg: ~Z
        0x05 => b.inot(z),
        0x06 => {
            // ge: ~(S ^ O)
            let t = b.ixor(s, o);
            b.inot(t)
        }
        0x07 => {
            // lge: ~Z | ~S
            let t = b.iand(z, s);
            b.inot(t)
        }
        // u: Z & S
        0x08 => b.iand(z, s),
        // lu: S ^ O
        0x09 => b.ixor(s, o),
        0x0a => z,
        0x0b => {
            // leu: Z | (S ^ O)
            let t = b.ixor(s, o);
            b.ior(z, t)
        }
        0x0c => {
            // gu: ~S ^ (Z | O)
            let t = b.ior(z, o);
            let t = b.ixor(s, t);
            b.inot(t)
        }
        0x0d => {
            // lgu: ~Z | S
            let not_z = b.inot(z);
            b.ior(not_z, s)
        }
        0x0e => {
            // geu: (~S | Z) ^ O
            let not_s = b.inot(s);
            let t = b.ior(not_s, z);
            b.ixor(t, o)
        }
        _ => b.bool(true),
    }
}

/// Condition `a`, above: ~Z & C.
pub(crate) fn above(b: &mut Builder<'_>, flags: Flags) -> Value {
    let not_z = b.inot(flags.zero);
    b.iand(not_z, flags.carry)
}

/// A float comparison with condition bits less, equal, greater, unordered.
pub(crate) fn float_compare(b: &mut Builder<'_>, condition: u8, x: Value, y: Value, ftz: bool) -> Value {
    let cc = match condition & 15 {
        1 => FloatCC::Lt,
        2 => FloatCC::Eq,
        3 => FloatCC::Le,
        4 => FloatCC::Gt,
        5 => FloatCC::One,
        6 => FloatCC::Ge,
        7 => FloatCC::Ord,
        8 => FloatCC::Uno,
        9 => FloatCC::Ult,
        10 => FloatCC::Ueq,
        11 => FloatCC::Ule,
        12 => FloatCC::Ugt,
        13 => FloatCC::Ne,
        14 => FloatCC::Uge,
        never_or_always => return b.bool(never_or_always != 0),
    };
    b.fcmp(cc, x, y, ftz)
}
