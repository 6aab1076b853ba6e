//! What keeps a broken file from taking absurd amounts of memory or time: limits of the hardware, and checks of how much the parts
//! of a file share.

use bytes::Bytes;

use crate::error::ContainerError;

/// General registers of a thread.
pub(in crate::container) const REGISTERS: u32 = 128;
/// Shared memory of a block.
pub(in crate::container) const SHARED: u32 = 0x4000;
/// Local memory of a thread.
pub(in crate::container) const LOCAL: u32 = 0x10000;
/// A constant bank.
pub(in crate::container) const BANK: u32 = 0x10000;
/// Constant banks.
pub(in crate::container) const BANKS: u32 = 16;
/// Barriers of a block.
pub(in crate::container) const BARRIERS: u32 = 16;
/// Code space.
pub(in crate::container) const CODE: u32 = 1 << 24;
/// GCN: LDS of a block.
pub(in crate::container) const LDS: u32 = 0x1_0000;
/// GCN: scratch of a lane, what 13 bits of 256 words a wave come to.
pub(in crate::container) const SCRATCH: u32 = 0x1_fff0;
pub(in crate::container) use crate::gcn::map::KERNARG_BYTES as KERNARG;
/// GCN: scalar registers that can be set up before the workgroup ids.
pub(in crate::container) const USER_SGPRS: u32 = 16;

/// Zeros, for what a file gives no contents for: they take no memory however often they are there.
pub(in crate::container) fn zeros(count: usize) -> Bytes {
    static ZEROS: [u8; BANK as usize] = [0; BANK as usize];
    match ZEROS.get(..count) {
        Some(zeros) => Bytes::from_static(zeros),
        None => vec![0; count].into(),
    }
}

/// Refuses a file whose segments, or whose sections, have `total` bytes of contents together and so lie over each other often: each takes
/// time and memory by its length. Those of compilers lie over each other twice or so (notes and what is read-only later).
pub(in crate::container) fn check_overlaps(
    total: u64,
    file: &[u8],
    offset: u64,
) -> Result<(), ContainerError> {
    if total <= 8 * file.len() as u64 {
        return Ok(());
    }
    Err(ContainerError::Elf { offset, reason: "parts of the file lie over each other too often".into() })
}

/// Lengths of the names that symbols, sections and relocations of a file have. A string may be the name of many, or
/// many names may end in one string; what is done with each takes time by its length. Compilers share strings now and
/// then: the sum is no more than a few times the file.
pub(in crate::container) struct NameLengths {
    left: u64,
}

impl NameLengths {
    pub(in crate::container) fn new(file: &[u8]) -> NameLengths {
        NameLengths { left: 16 * file.len() as u64 + (1 << 16) }
    }

    /// Counts a name.
    pub(in crate::container) fn count(&mut self, name: &[u8], offset: u64) -> Result<(), ContainerError> {
        let left = self.left.checked_sub(name.len() as u64);
        self.left = left
            .ok_or_else(|| ContainerError::Elf { offset, reason: "names share strings too often".into() })?;
        Ok(())
    }
}
