//! Pages that are not where their address says: private memory of the host, and devices; and what may mend an access before it is
//! a fault: pagers and write watches.
//!
//! Their entries in the page table have [`PAGE_SPECIAL`](super::PAGE_SPECIAL) and no rights, so compiled code asks the runtime for
//! each access to them. Functions of the embedder are called on the thread that makes the access, without any lock held.

use super::ranges::Ranged;
use super::{Access, Denied, Memory, PAGE_WATCHED, PAGE_WRITE};
use std::fmt;
use std::sync::Arc;

/// A device in a guest's address space ([`Memory::map_device`]): registers, queues, doorbells.
///
/// It is called by any thread that makes an access, by several at the same time, in any tier. A lane's access is one call; lanes
/// of a warp come in order of their numbers, but for loads of which compiled code runs a few lanes after the others. A scalar load or
/// store of GCN is one call for the wave. Wide accesses of the guest come as words of 4 or 8 bytes. A panic comes out of the call
/// that runs the launch.
pub trait Device: Send + Sync {
    /// Loads `bytes` (1, 2, 4 or 8) at an offset in the device. What is beyond so many bytes of the result is ignored.
    fn load(&self, offset: u64, bytes: u8) -> u64;

    /// Stores the low `bytes` (1, 2, 4 or 8) of a value.
    fn store(&self, offset: u64, bytes: u8, value: u64);

    /// Executes an atomic on an aligned word of 4 or 8 bytes: replaces it by `update` of it, and gives what it was. Unless the
    /// device does better, a load and a store.
    fn update(&self, offset: u64, bytes: u8, update: &mut dyn FnMut(u64) -> u64) -> u64 {
        let old = self.load(offset, bytes);
        self.store(offset, bytes, update(old));
        old
    }
}

/// An access of the guest that the page table does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageFault {
    /// The first byte that may not be accessed.
    pub address: u64,
    /// Whether it is a store, or an atomic.
    pub store: bool,
    /// Whether the page is mapped, and only the store is not allowed.
    pub is_mapped: bool,
}

/// Mends accesses to pages that are not mapped ([`Memory::set_pager`]).
pub trait Pager: Send + Sync {
    /// Called before an access becomes a fault. `true`: the page has been mapped or unprotected, and the access is tried
    /// again; `false`: it is a fault. Several threads may call it for the same page.
    fn page_fault(&self, memory: &Memory, fault: &PageFault) -> bool;
}

/// Hears of the first store to a page ([`Memory::watch_writes`]).
pub trait WriteWatch: Send + Sync {
    /// Called before a guest stores to a page for the first time. `page` is the address of its first byte. The store is
    /// done after it has returned; another thread's store to the same page may come before that.
    fn before_write(&self, page: u64);
}

/// Who sees stores to a mapped file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileSharing {
    /// The file, and everybody who maps it.
    Shared,
    /// Only this mapping.
    Private,
}

/// What an access reaches.
pub(super) enum AccessTarget<'a> {
    /// To host memory.
    Memory(*mut u8),
    /// To a device, at an offset.
    Device(&'a dyn Device, u64),
    /// To several ranges: byte by byte.
    Split,
}

/// What is special about a range.
#[derive(Clone)]
pub(super) enum Special {
    /// Memory of the host at another address.
    Host(HostPointer),
    /// A device answers.
    Device(Arc<dyn Device>),
}

impl fmt::Debug for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Special::Host(_) => "Host",
            Special::Device(_) => "Device",
        })
    }
}

/// A pointer to host memory that guests may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostPointer(pub *mut u8);

// SAFETY: who gave it has promised that any thread may access what it names ([`Memory::map_host`]).
unsafe impl Send for HostPointer {}
// SAFETY: as above.
unsafe impl Sync for HostPointer {}

/// A special range.
#[derive(Debug, Clone)]
pub(super) struct SpecialRange {
    pub start: u64,
    pub bytes: u64,
    pub access: Access,
    pub what: Special,
    /// Of an alias: the first address of the memory that it shows.
    pub source: Option<u64>,
}

impl SpecialRange {
    /// Whether it is an alias of something in a range.
    pub fn shows(&self, first: u64, last: u64) -> bool {
        self.source.is_some_and(|source| source < last && first < source + self.bytes)
    }

    /// The guest address at which it shows an address of the host.
    pub fn shown_at(&self, host: usize) -> Option<u64> {
        let Special::Host(pointer) = &self.what else { return None };
        let inside = host.wrapping_sub(pointer.0.addr()) as u64;
        (inside < self.bytes).then(|| self.start + inside)
    }

    /// Whether a device answers.
    pub fn is_device(&self) -> bool {
        matches!(self.what, Special::Device(_))
    }

    /// Whether it is host memory that the guest may write.
    pub fn is_writable_memory(&self) -> bool {
        matches!(self.what, Special::Host(_)) && self.access == Access::ReadWrite
    }

    /// The host address of an address in it, if it is memory.
    pub fn pointer(&self, address: u64) -> *mut u8 {
        match &self.what {
            Special::Host(pointer) => pointer.0.wrapping_add((address - self.start) as usize),
            Special::Device(_) => std::ptr::null_mut(),
        }
    }
}

impl Ranged for SpecialRange {
    fn start(&self) -> u64 {
        self.start
    }

    fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

/// A watched range.
#[derive(Clone)]
pub(super) struct Watched {
    pub start: u64,
    pub end: u64,
    pub watch: Arc<dyn WriteWatch>,
}

impl Ranged for Watched {
    fn start(&self) -> u64 {
        self.start
    }

    fn end(&self) -> u64 {
        self.end
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watched({:#x}..{:#x})", self.start, self.end)
    }
}

/// A pager that can be shown.
#[derive(Clone)]
pub(super) struct OfPager(pub Arc<dyn Pager>);

impl fmt::Debug for OfPager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pager")
    }
}

impl Memory {
    /// Lets a write watch or the pager mend an access. Whether the access should be tried again.
    #[cold]
    pub(super) fn mend(&self, denied: Denied) -> bool {
        if !self.is_careful() {
            return false;
        }
        let space = &self.0.space;
        if denied.store && space.page_flags(denied.address) & PAGE_WATCHED != 0 {
            let page = denied.address & !(self.0.host_page - 1);
            if let Some(watched) = space.watched_at(page) {
                watched.watch.before_write(page);
            }
            space.change_pages(page, page + self.0.host_page, |flags| {
                // Unless it has been unmapped, or is watched no more.
                let _ = flags.fetch_update(
                    std::sync::atomic::Ordering::SeqCst,
                    std::sync::atomic::Ordering::SeqCst,
                    |now| (now & PAGE_WATCHED != 0).then_some(now & !PAGE_WATCHED | PAGE_WRITE),
                );
            });
            return true;
        }
        let fault = PageFault { address: denied.address, store: denied.store, is_mapped: denied.mapped };
        space.pager().is_some_and(|pager| pager.0.page_fault(self, &fault))
    }
}
