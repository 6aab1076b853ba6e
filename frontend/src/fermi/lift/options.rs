//! What the lifter is told of a program besides its code, and what it finds that the program needs.

use crate::fermi::Chip;
use crate::isa::Stage;
use crate::simt::stage::{Plan, Uses};

/// What the lifter has to know about a program besides its code.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Name of the resulting function.
    pub name: &'a str,
    /// The chip.
    pub chip: Chip,
    /// Address of the code's first byte.
    pub base: u32,
    /// Address of the first instruction.
    pub entry: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// The segment that barriers count lanes in, if they do (`Needs::counters`).
    pub counters: u8,
    /// Stage of the program.
    pub stage: Stage,
    /// Inputs and outputs of a graphics stage.
    pub(crate) plan: Option<&'a Plan>,
    /// Where texture and surface instructions have their arguments in local memory.
    pub(crate) mailbox: u32,
    /// GK104: the const bank whose words are texture handles.
    pub texture_handles: u8,
}

impl<'a> Options<'a> {
    /// A compute program at address 0 that needs nothing.
    pub fn compute(name: &'a str, chip: Chip, registers: u32) -> Options<'a> {
        Options {
            name,
            chip,
            base: 0,
            entry: 0,
            registers,
            local_bytes: 0,
            counters: 0,
            stage: Stage::Compute,
            plan: None,
            mailbox: 0,
            texture_handles: 15,
        }
    }
}

/// What a program needs of its launch.
#[derive(Debug)]
pub(crate) struct Needs {
    /// Local memory.
    pub(crate) local: bool,
    /// Bytes of it that accesses reach at known addresses.
    pub(crate) local_end: u32,
    /// Memory in which barriers count lanes.
    pub(crate) counters: bool,
    /// It has texture or surface instructions.
    pub(crate) textures: bool,
    /// What it uses of its stage.
    pub(crate) uses: Uses,
}
