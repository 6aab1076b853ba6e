//! What Tesla and Fermi have in common in their texts and documents: the meaning of words such as `rn`, register vectors, and the
//! generated table of supported instructions.

use std::fmt::{self, Write as _};

use super::{AtomOp, Dialect, LogicOp, QuadLane, QuadOp, Row};
use crate::bits::Bits;
use crate::soft::Rounding;

use super::State;

/// The code of a name: its index in the list.
pub(crate) fn code(names: &[&str], name: &str) -> Option<u8> {
    names.iter().position(|known| *known == name).map(|code| code as u8)
}

/// The lane mask of `l013`, `lnone`.
pub(crate) fn lane_mask(name: &str) -> Option<u8> {
    let lanes = name.strip_prefix('l')?;
    if lanes == "none" {
        return Some(0);
    }
    if lanes.is_empty() {
        return None;
    }
    lanes.bytes().try_fold(0, |mask, lane| (b'0'..b'4').contains(&lane).then(|| mask | 1 << (lane - b'0')))
}

/// What `rn` and `rni` say: the direction, and whether to an integer.
pub(crate) fn rounding(name: &str) -> Option<(Rounding, bool)> {
    let direction = match name.strip_suffix('i').unwrap_or(name) {
        "rn" => Rounding::Nearest,
        "rm" => Rounding::Down,
        "rp" => Rounding::Up,
        "rz" => Rounding::Zero,
        _ => return None,
    };
    Some((direction, name.ends_with('i')))
}

impl LogicOp {
    /// The operation of that name.
    pub(crate) fn parse(name: &str) -> Option<LogicOp> {
        Some(match name {
            "and" => LogicOp::And,
            "or" => LogicOp::Or,
            "xor" => LogicOp::Xor,
            "mov2" => LogicOp::Mov2,
            _ => return None,
        })
    }
}

impl AtomOp {
    /// The operation of that name.
    pub(crate) fn parse(name: &str) -> Option<AtomOp> {
        Some(match name {
            "add" => AtomOp::Add,
            "exch" => AtomOp::Exch,
            "cas" => AtomOp::Cas,
            "inc" => AtomOp::Inc,
            "dec" => AtomOp::Dec,
            "max" => AtomOp::Max,
            "min" => AtomOp::Min,
            "and" => AtomOp::And,
            "or" => AtomOp::Or,
            "xor" => AtomOp::Xor,
            _ => return None,
        })
    }
}

/// A word of `quadop`, of which `seen` said what a lane does.
pub(crate) fn quad_word(name: &str, quad: &mut [QuadOp; 4], lane: &mut QuadLane, seen: &mut usize) -> bool {
    let op = match name {
        "add" => QuadOp::Add,
        "subr" => QuadOp::Subr,
        "sub" => QuadOp::Sub,
        "mov2" => QuadOp::Mov2,
        _ => {
            *lane = match name {
                "dx" => QuadLane::Dx,
                "dy" => QuadLane::Dy,
                "l0" => QuadLane::Lane(0),
                "l1" => QuadLane::Lane(1),
                "l2" => QuadLane::Lane(2),
                "l3" => QuadLane::Lane(3),
                _ => return false,
            };
            return true;
        }
    };
    if let Some(slot) = quad.get_mut(*seen) {
        *slot = op;
    }
    *seen += 1;
    true
}

/// What was said of the operand that follows.
#[derive(Default)]
pub(crate) struct Signs {
    pub(crate) neg: bool,
    pub(crate) abs: bool,
    pub(crate) not: bool,
}

impl Signs {
    /// Takes a word, if it is one of these.
    pub(crate) fn word(&mut self, name: &str) -> bool {
        match name {
            "neg" => self.neg = true,
            "abs" => self.abs = true,
            "not" => self.not = true,
            _ => return false,
        }
        true
    }
}

/// Prints a vector of registers; components beside `mask` have none.
pub(crate) fn fmt_vector(base: u8, count: u8, mask: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut register = u32::from(base);
    for component in 0..count {
        if component != 0 {
            f.write_str(":")?;
        }
        if mask >> component & 1 != 0 {
            write!(f, "$r{register}")?;
            register += 1;
        } else {
            f.write_str("#")?;
        }
    }
    Ok(())
}

/// The components of a vector in a source that have a register, as a mask.
pub(crate) fn present(registers: &[Option<u32>]) -> u64 {
    let present = registers.iter().enumerate().filter(|(_, register)| register.is_some());
    present.fold(0, |mask, (k, _)| mask | 1 << k.min(63))
}

/// Places the first register of a vector, whose registers must be in order. Where no register is named any one will do: where another
/// vector begins at the same one, that one decides.
pub(crate) fn place_first(registers: &[Option<u32>], base: Bits, state: State) -> Option<State> {
    let mut named = registers.iter().flatten();
    let Some(&first) = named.next() else { return Some(state) };
    let in_order = named.zip(1..).all(|(&num, k)| num == first.wrapping_add(k));
    if in_order { state.put(base, u64::from(first)) } else { None }
}

/// A section of a table of what is supported: rows, and what `more` says of each in further columns.
pub(crate) fn support_section<D: Dialect>(
    out: &mut String,
    title: &str,
    rows: &[&Row<D>],
    columns: &[&str],
    more: impl Fn(&Row<D>) -> Vec<String>,
) {
    let ends = |of: &dyn Fn(&str) -> String| columns.iter().map(|column| of(column)).collect::<String>();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "\n## {title}: {} rows\n\n| instruction | operation | value | mask |{}\n|---|---|---|---|{}\n",
        rows.len(),
        ends(&|column| format!(" {column} |")),
        ends(&|_| "---|".into()),
    );
    for row in rows {
        let width = 2 * usize::from(row.len_bytes());
        let Row { text, op, value, mask, .. } = row;
        let more = more(row).join(" | ");
        let _ = writeln!(out, "| `{text}` | {op:?} | `{value:0width$x}` | `{mask:0width$x}` | {more} |");
    }
}

/// Gives an ISA's `Inst` what every decoded instruction can say. `srcs` is documented there.
macro_rules! inst_methods {
    ($(#[$srcs:meta])*) => {
        impl Inst {
            $(#[$srcs])*
            pub fn srcs(&self) -> &[Src] {
                &self.srcs[..self.src_count as usize]
            }

            /// The source of that number.
            pub fn src(&self, index: usize) -> Option<Src> {
                self.srcs().get(index).copied()
            }

            /// The address of the following instruction.
            pub fn next_pc(&self) -> u32 {
                self.pc.wrapping_add(u32::from(self.len))
            }

            /// The code address the instruction names (branches, calls, pushed targets).
            pub fn target_pc(&self) -> Option<u32> {
                self.srcs().iter().find_map(|src| match src.operand {
                    Operand::Target(pc) => Some(pc),
                    _ => None,
                })
            }
        }
    };
}

pub(crate) use inst_methods;
