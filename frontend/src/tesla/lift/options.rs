//! What the lifter is told of a program besides its code, and what it finds that the program needs.

use crate::simt::stage::{Plan, Uses};
use crate::tesla::Target;

/// What the lifter has to know about a program besides its code.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Name of the resulting function.
    pub name: &'a str,
    /// Chip and program type.
    pub target: Target,
    /// Address of the code's first byte.
    pub base: u32,
    /// Address of the first instruction.
    pub entry: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Const banks whose contents are fixed, as `(bank, bytes)`: the only targets of a `bra c[]` through them are
    /// the words they hold. A `bra c[]` through any other bank may go to every instruction.
    pub const_banks: &'a [(u8, &'a [u8])],
    /// Inputs and outputs of a graphics stage.
    pub(crate) plan: Option<&'a Plan>,
    /// Where texture instructions have their arguments in local memory.
    pub(crate) mailbox: u32,
}

impl<'a> Options<'a> {
    /// A compute program at address 0 that needs nothing.
    pub fn compute(name: &'a str, target: Target, registers: u32) -> Options<'a> {
        Options { name, target, base: 0, entry: 0, registers, const_banks: &[], plan: None, mailbox: 0 }
    }
}

/// What a program needs of its launch.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Bytes of local memory that accesses reach at known addresses; `None`: there is no access.
    pub(crate) local: Option<u32>,
    /// It has texture instructions.
    pub(crate) textures: bool,
    /// What it uses of its stage.
    pub(crate) uses: Uses,
}
