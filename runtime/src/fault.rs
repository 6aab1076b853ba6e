//! Faults of the guest, as a report has them: what happened, in which instruction, block, warp and lane.

use std::fmt;

/// A fault of the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Guest address of the instruction. Of code that was not loaded from guest memory it counts from the code's first byte (or from
    /// [`crate::ProgramOptions::base`]).
    pub pc: u64,
    /// The block, by its coordinates in the grid, from [`crate::Launch::grid_start`] on.
    pub block: [u32; 3],
    /// The warp in the block.
    pub warp: u32,
    /// The lowest lane of the warp that faulted.
    pub lane: u32,
    /// Memory: the guest address. Illegal: where a computed jump leads.
    pub address: Option<u64>,
    /// Memory: the address space.
    pub space: Option<String>,
    /// Memory: whether it was a store (atomics count as stores).
    pub store: bool,
    /// Illegal: the instruction's bytes, as far as they are in the code.
    pub bytes: Vec<u8>,
    /// Texture: the slot of the texture, sampler or surface that the instruction names, if it names one.
    pub slot: Option<u32>,
    /// Texture: what is wrong.
    pub reason: Option<&'static str>,
}

impl std::error::Error for Fault {}

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// An address that is not mapped, not writable or not aligned.
    Memory,
    /// An instruction that does not exist, or that this program may not execute.
    Illegal,
    /// The guest's trap instruction.
    Trap,
    /// All living warps of a block wait and no barrier can open.
    Barrier,
    /// The divergence stack overflowed, or had no matching entry.
    Stack,
    /// [`crate::Launch::max_steps`] was reached.
    Timeout,
    /// What a texture instruction needs is missing or undefined ([`Fault::reason`]).
    Texture,
}

impl FaultKind {
    /// The name in launch files and reports.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Memory => "memory",
            FaultKind::Illegal => "illegal",
            FaultKind::Trap => "trap",
            FaultKind::Barrier => "barrier",
            FaultKind::Stack => "stack",
            FaultKind::Timeout => "timeout",
            FaultKind::Texture => "texture",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        write!(
            f,
            "{} fault at pc {:#x}, block ({x}, {y}, {z}), warp {}, lane {}",
            self.kind, self.pc, self.warp, self.lane
        )?;
        if let Some(slot) = self.slot {
            write!(f, ": slot {slot}")?;
        }
        if let Some(reason) = self.reason {
            write!(f, ": {reason}")?;
            return self.address.map_or(Ok(()), |address| write!(f, " at {address:#x}"));
        }
        if let Some(address) = self.address {
            let what = if self.store { "store to" } else { "load from" };
            write!(f, ": {what} {} {address:#x}", self.space.as_deref().unwrap_or("memory"))?;
        }
        if !self.bytes.is_empty() {
            f.write_str(":")?;
            for byte in &self.bytes {
                write!(f, " {byte:02x}")?;
            }
        }
        Ok(())
    }
}
