//! What the lifter has to know about a program besides its code: initial registers, apertures, limits.

use warpjit_ir::{Builtin, SlotInit};

use crate::gcn::{Chip, Inst};
use crate::stage::StageInterface;

/// A register that holds something when a wave starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Register {
    /// A scalar register, by [`Operand::scalar_code`](crate::gcn::Operand::scalar_code).
    Scalar(u8),
    /// A vector register.
    Vgpr(u8),
}

/// What a register holds when a wave starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A launch value. One that differs between lanes goes with a vector register only.
    Builtin(Builtin),
    /// A constant.
    Const(u32),
    /// Bytes from the start of a segment of the launch to the wave's part of it ([`SlotInit::WarpOffset`]).
    WarpOffset(u8),
    /// The workgroup's info: its waves in 5:0, the wave's number in it in 16:6, whether that is 0 in bit 31. (LLVM names the second
    /// field `ordered_append_term`, which counts waves of the whole grid in dispatches that ask for it; in others it is the wave's number,
    /// from which Mesa's compilers take the subgroup's.)
    GroupInfo,
}

impl Entry {
    pub(super) fn init(self) -> SlotInit {
        match self {
            Entry::Builtin(builtin) => SlotInit::Builtin(builtin),
            Entry::Const(_) | Entry::GroupInfo => SlotInit::Zero,
            Entry::WarpOffset(segment) => SlotInit::WarpOffset(segment),
        }
    }
}

/// What the lifter has to know about a program besides its code. Addresses within the code are positions
/// ([`crate::code`]); so are the `pc`s of the function.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Name of the resulting function.
    pub name: &'a str,
    /// Decodes the instruction that begins with some bytes, at a position of the code.
    pub decode: fn(&[u8], u32, Chip) -> Option<Inst>,
    /// The chip that the code is for.
    pub chip: Chip,
    /// Position of the first instruction.
    pub entry: u32,
    /// Vector registers of a lane. One that is beyond reads as `v0`, a write to it is dropped.
    pub vgprs: u32,
    /// Scalar registers of a wave, for HW_REG_GPR_ALLOC only: all that can be named exist.
    pub sgprs: u32,
    /// MODE when a wave starts (docs/hardware/gcn.md sections 4 and 6.1).
    pub mode: u32,
    /// LDS bytes of a workgroup, dynamic ones excluded.
    pub lds_bytes: u32,
    /// Scratch bytes of a lane.
    pub scratch_bytes: u32,
    /// High dword of addresses in the LDS aperture.
    pub shared_aperture: u32,
    /// High dword of addresses in the scratch aperture.
    pub private_aperture: u32,
    /// What registers hold when a wave starts; all others are zero. EXEC needs no entry: it is the lanes with
    /// threads.
    pub preload: &'a [(Register, Entry)],
    /// Whether registers can be looked at after the program (raw code): all of `s0` up to `sgprs` and `v0` up to
    /// `vgprs` have slots then, and these hold what they should when a wave ends.
    pub observed: bool,
    /// Guest addresses to which jumps to addresses that are not known may lead, besides those that the code itself tells.
    pub jump_targets: &'a [u64],
    /// Inputs and outputs, if it is a program of a graphics stage.
    pub stage: Option<&'a StageInterface>,
}
