//! What a page may be used for: the flags of its entry in the page table, and the access that a buffer is mapped with.

use super::reservation::Rights;

/// Bytes that one entry of the page table stands for.
pub const PAGE_BYTES: u64 = 4096;
/// Page table: loads are allowed.
pub const PAGE_READ: u8 = 1;
/// Page table: stores are allowed.
pub const PAGE_WRITE: u8 = 2;
/// Page table: the page is not where its address says, or a device answers ([`super::special`]).
pub(super) const PAGE_SPECIAL: u8 = 4;
/// Page table: stores to the page are told to a [`super::WriteWatch`]. Then [`PAGE_WRITE`] is not set.
pub(super) const PAGE_WATCHED: u8 = 8;
/// Page table: the page has not been written since it was last looked at ([`super::dirty`]), and the host does not allow stores to it.
pub(super) const PAGE_CLEAN: u8 = 16;

/// The rights in a page's flags, whatever is being recorded about the page.
pub(super) fn rights_of(flags: u8) -> u8 {
    let watched = if flags & PAGE_WATCHED != 0 { PAGE_WRITE } else { 0 };
    flags & (PAGE_READ | PAGE_WRITE | PAGE_SPECIAL) | watched
}

/// What guest code may do with a buffer. The host may read and write it unless it is [`Access::None`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Loads and stores.
    ReadWrite,
    /// Loads only: a store is a `memory` fault.
    ReadOnly,
    /// Nothing: any access faults, as if nothing were mapped. The contents stay.
    None,
}

impl Access {
    pub(super) fn rights(self) -> Rights {
        match self {
            Access::ReadWrite => Rights::ReadWrite,
            Access::ReadOnly => Rights::Read,
            Access::None => Rights::None,
        }
    }

    pub(super) fn flags(self) -> u8 {
        match self {
            Access::ReadWrite => PAGE_READ | PAGE_WRITE,
            Access::ReadOnly => PAGE_READ,
            Access::None => 0,
        }
    }
}
