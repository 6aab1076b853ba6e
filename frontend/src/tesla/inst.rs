//! The decoded form of a Tesla instruction: it names everything that the instruction does.

use std::fmt;

use super::chip::Target;
use super::op::{End, Form, Op, Predicate};
use super::operand::{Mods, Operand, Src};
use super::table::Row;

/// A decoded instruction.
#[derive(Clone, Copy)]
pub struct Inst {
    /// Byte address.
    pub pc: u32,
    /// Length in bytes, 4 or 8.
    pub len: u8,
    /// Word 0, and word 1 in the high half.
    pub raw: u64,
    /// What it was decoded for.
    pub target: Target,
    /// The table row.
    pub row: &'static Row,
    /// The operation.
    pub op: Op,
    /// The word class.
    pub form: Form,
    /// Exit or join after the instruction.
    pub end: End,
    /// Predicate; `None` is "always".
    pub pred: Option<Predicate>,
    /// `$c` that gets the flags of the result (or the result itself).
    pub cdst: Option<u8>,
    /// Destination: `Reg`, `Out`, `Discard`, `Areg` or (textures) `Vec`.
    pub dst: Option<Operand>,
    /// Modifiers.
    pub mods: Mods,
    /// Set bits that the row does not know; the listing shows them, the hardware ignores them.
    pub unknown: u64,
    pub(super) srcs: [Src; MAX_SRCS],
    pub(super) src_count: u8,
}

/// The most sources a row has (textures).
pub const MAX_SRCS: usize = 6;

crate::envydis::inst_methods! {
    /// Source operands in text order. A carry read by `addc` is `mods.carry` and no source.
}

impl fmt::Debug for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inst")
            .field("pc", &self.pc)
            .field("op", &self.op)
            .field("form", &self.form)
            .field("end", &self.end)
            .field("pred", &self.pred)
            .field("cdst", &self.cdst)
            .field("dst", &self.dst)
            .field("mods", &self.mods)
            .field("srcs", &self.srcs())
            .field("text", &self.to_string())
            .finish()
    }
}
