//! The decoded form of a Fermi instruction: it names everything that the instruction does.

use std::fmt;

use super::chip::Chip;
use super::op::Op;
use super::operand::{Mods, Operand, PredSrc, Src};
use super::table::Row;
use crate::envydis::Type;

/// A decoded instruction.
#[derive(Clone, Copy)]
pub struct Inst {
    /// Byte address.
    pub pc: u32,
    /// Length in bytes: 8, or 4 for the short forms.
    pub len: u8,
    /// The words: word 1 in the high half.
    pub raw: u64,
    /// What it was decoded for.
    pub chip: Chip,
    /// The table row.
    pub row: &'static Row,
    /// The operation.
    pub op: Op,
    /// Guard predicate; `None` is "always", `never` is `!p7`. Threads that fail do nothing, also no join. Ops that
    /// ignore it (`call`, `ssy` ...) have none.
    pub guard: Option<PredSrc>,
    /// `$c` condition that branches, `exit`, `nop` and their like also need; `None` is "always". Codes 0x00-0x0f:
    /// bits less, equal, greater, unordered; 0x10 no, 0x11 nc, 0x12 ns, 0x13 na, 0x14 a, 0x15 s, 0x16 c, 0x17 o.
    pub cond: Option<u8>,
    /// `.S`: pop the branch stack after the instruction, whatever `$c` says.
    pub join: bool,
    /// Destination: `Reg`, or `Vec` of textures and attributes.
    pub dst: Option<Operand>,
    /// Destination of the second load of [`Op::LdLdu`].
    pub dst2: Option<Operand>,
    /// Predicate destination; `None` where there is none, or it is [`TRUE_PRED`](super::TRUE_PRED).
    pub pdst: Option<u8>,
    /// Second predicate destination (of `set`: gets the combination with the negated comparison).
    pub pdst2: Option<u8>,
    /// `.CC`: `$c` gets the flags of the result.
    pub cc_out: bool,
    /// Number of lanes of a video instruction: 1, 2 or 4; 1 everywhere else.
    pub video_lanes: u8,
    /// Modifiers.
    pub mods: Mods,
    /// Set bits that the row does not know; the listing shows them, the hardware ignores them.
    pub unknown: u64,
    pub(super) srcs: [Src; MAX_SRCS],
    pub(super) src_count: u8,
}

/// The most sources a row has (`sched`).
pub const MAX_SRCS: usize = 7;

crate::envydis::inst_methods! {
    /// Source operands in text order, without the predicate in `mods.pred`.
}

impl Inst {
    /// Whether source `n` is signed; where it names no type, whether the operation is.
    pub fn is_signed(&self, n: usize) -> bool {
        self.src(n).and_then(|src| src.ty).or(self.mods.ty).is_some_and(Type::is_signed)
    }
}

impl fmt::Debug for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inst")
            .field("pc", &self.pc)
            .field("op", &self.op)
            .field("guard", &self.guard)
            .field("cond", &self.cond)
            .field("join", &self.join)
            .field("dst", &self.dst)
            .field("dst2", &self.dst2)
            .field("pdst", &self.pdst)
            .field("pdst2", &self.pdst2)
            .field("cc_out", &self.cc_out)
            .field("video_lanes", &self.video_lanes)
            .field("mods", &self.mods)
            .field("srcs", &self.srcs())
            .field("text", &self.to_string())
            .finish()
    }
}
