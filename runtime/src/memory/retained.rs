//! The memory that is retained from one launch for the next, and the segments of the launches that run ([`super::lease`]).

use super::buffer::Buffer;
use super::pages::Access;
use std::collections::BTreeMap;

/// A segment that a launch maps.
#[derive(Debug)]
pub(crate) struct Lease {
    /// Name for messages.
    pub name: &'static str,
    /// Its address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// What the guest may do with it.
    pub access: Access,
    /// Its initial contents; what follows is zero, or what the last launch left there.
    pub contents: Vec<u8>,
}

impl Lease {
    /// Whether two launches can use it at the same time.
    pub(super) fn can_be_shared(&self, other: &Lease) -> bool {
        self.access == Access::ReadOnly
            && (self.bytes, self.access) == (other.bytes, other.access)
            && self.contents == other.contents
    }
}

/// Retained memory, by address.
#[derive(Debug, Default)]
pub(super) struct Retained {
    pub by_address: BTreeMap<u64, RetainedPages>,
    /// Their bytes.
    pub bytes: u64,
    /// Launches that run.
    pub launches: u32,
    /// Their segments, with the number of launches that use each.
    pub leases: Vec<(Lease, u32)>,
}

/// A retained buffer.
#[derive(Debug)]
pub(super) struct RetainedPages {
    pub buffer: Buffer,
    /// The initial contents. Guest code may have changed them if the memory is writable.
    pub contents: Vec<u8>,
}

impl Retained {
    /// Removes what begins at an address.
    pub fn take(&mut self, address: u64) -> Option<RetainedPages> {
        let pages = self.by_address.remove(&address)?;
        self.bytes -= pages.buffer.bytes;
        Some(pages)
    }

    /// Bytes that are retained.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether anything is retained from `start` to `end` (inclusive).
    pub fn has_any(&self, start: u64, end: u64) -> bool {
        let before = self.by_address.range(..=end).next_back();
        before.is_some_and(|(&at, pages)| at + pages.buffer.bytes > start)
    }

    /// Adds a buffer.
    pub fn put(&mut self, address: u64, pages: RetainedPages) {
        self.bytes += pages.buffer.bytes;
        self.by_address.insert(address, pages);
    }
}
