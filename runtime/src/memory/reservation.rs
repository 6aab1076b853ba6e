//! A range of reserved host addresses that stands for a range of guest addresses, between guards without access rights.
//!
//! To [`Reservation::base`], compiled code adds either a zero-extended 32-bit guest address and a signed 32-bit displacement, or
//! a 64-bit guest address that it has tested to be below [`Reservation::bytes`]. Unless [`Reservation::has_near_guards`] holds,
//! it may also add a 32-bit index to such an address, which makes up to 16 GiB. It accesses at most 64 bytes there. The guards on
//! both sides are larger than that, so such an access reaches guest memory or a page without rights, never other memory of the
//! host.

use crate::Error;
use rustix::mm::{
    Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect,
    mremap_fixed, munmap,
};
use std::ffi::c_void;
use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU8;

/// Largest size of the window: 40-bit addresses, as most GPUs of the time had.
pub const WINDOW_BYTES: u64 = 1 << 40;
/// Sizes of the window to try, all powers of two. The first one that the host has room for is taken, with far guards if
/// they fit.
const SIZES: [u64; 4] = [WINDOW_BYTES, 1 << 38, 1 << 36, 1 << 32];
/// Smallest guard on each side: the displacement and the widest access, rounded up to any host page and to a huge page.
const NEAR_BYTES: usize = (1 << 31) + (1 << 22);
/// What must be inaccessible on both sides of an embedder's range.
pub const GUARD_BYTES: u64 = NEAR_BYTES as u64;
/// All addresses that a process can have on today's hosts.
pub const IDENTITY_BYTES: u64 = 1 << 47;
/// Guard on each side that also has room for a 32-bit index.
const FAR_BYTES: usize = (1 << 34) + NEAR_BYTES;

/// Guard on each side of a slab, so that its start can be aligned to a huge page.
const SLAB_GUARD_BYTES: usize = 1 << 22;

/// Size of a huge page of the host. It takes one TLB entry instead of hundreds, which matters for streaming loads.
pub(super) const HUGE_BYTES: usize = 1 << 21;

/// Asks for huge pages where they fit into a range of mapped pages.
fn ask_for_huge_pages(address: *mut c_void, bytes: usize) {
    // SAFETY: the advice changes how pages are kept, not what they hold; the caller has mapped the range.
    #[cfg(target_os = "linux")]
    let _ = unsafe { rustix::mm::madvise(address, bytes, rustix::mm::Advice::LinuxHugepage) };
    #[cfg(not(target_os = "linux"))]
    let _ = (address, bytes);
}

/// What a host page may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Nothing: an access is a fault.
    None,
    /// Loads.
    Read,
    /// Loads and stores.
    ReadWrite,
}

impl Rights {
    fn protect(self) -> MprotectFlags {
        match self {
            Rights::None => MprotectFlags::empty(),
            Rights::Read => MprotectFlags::READ,
            Rights::ReadWrite => MprotectFlags::READ | MprotectFlags::WRITE,
        }
    }

    pub fn prot(self) -> ProtFlags {
        match self {
            Rights::None => ProtFlags::empty(),
            Rights::Read => ProtFlags::READ,
            Rights::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        }
    }
}

/// What pages of guest memory show, if not fresh memory of their own.
#[derive(Debug, Clone, Copy)]
pub enum Backing<'a> {
    /// Fresh memory that other mappings can show too.
    Shared,
    /// A file from a byte on, a multiple of the host's page size.
    File {
        /// The file.
        file: BorrowedFd<'a>,
        /// The byte.
        offset: u64,
        /// Whether stores stay in this mapping and do not change the file.
        private: bool,
    },
    /// The same pages as at this host address, a multiple of the page size, which are shared mappings of the process.
    Host(*mut u8),
}

impl Backing<'_> {
    /// The same, so many bytes further.
    pub fn from(&self, bytes: u64) -> Self {
        match *self {
            Backing::Shared => Backing::Shared,
            Backing::File { file, offset, private } => {
                Backing::File { file, offset: offset + bytes, private }
            }
            Backing::Host(pointer) => Backing::Host(pointer.wrapping_add(bytes as usize)),
        }
    }
}

/// Reserved host addresses between two guards; freed when dropped.
#[derive(Debug)]
pub struct Reservation {
    /// `None`: the addresses are the embedder's, or all of the process.
    start: Option<*mut u8>,
    /// Host address of guest address 0 of the range.
    base: *mut u8,
    space: u64,
    /// Bytes of each guard.
    guard: usize,
    length: usize,
}

// SAFETY: the addresses belong to this value alone until it is dropped; what is done with them
// through `&self` is either a system call or an atomic access by the caller.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves the addresses; nothing is accessible yet.
    pub fn new() -> Result<Self, Error> {
        let ways = SIZES.map(|size| [(size, FAR_BYTES), (size, NEAR_BYTES)]);
        let first = Self::of_size(WINDOW_BYTES, FAR_BYTES);
        let others = ways.as_flattened().iter().skip(1);
        others.fold(first, |made, &(size, guard)| made.or_else(|_| Self::of_size(size, guard)))
    }

    /// Whether a range may begin there, with its guard before it.
    pub fn may_begin_at(start: u64) -> bool {
        let allowed = 20 << 30..IDENTITY_BYTES - 2 * WINDOW_BYTES;
        start.is_multiple_of(HUGE_BYTES as u64) && allowed.contains(&start)
    }

    /// Reserves addresses from `start` on, if they are free; else anywhere. See [`Self::may_begin_at`].
    pub fn from_start(start: u64) -> Result<Self, Error> {
        let from = std::ptr::without_provenance_mut::<c_void>(start as usize - FAR_BYTES);
        let length = WINDOW_BYTES as usize + 2 * FAR_BYTES;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        #[cfg(target_os = "linux")]
        let flags = flags | MapFlags::FIXED_NOREPLACE;
        // SAFETY: a new anonymous mapping that replaces nothing.
        let made = unsafe { mmap_anonymous(from, length, ProtFlags::empty(), flags) };
        match made {
            Ok(found) if found == from => {
                let found = found.cast::<u8>();
                let base = found.wrapping_add(FAR_BYTES);
                Ok(Reservation { start: Some(found), base, space: WINDOW_BYTES, guard: FAR_BYTES, length })
            }
            Ok(elsewhere) => {
                // SAFETY: it was mapped just now (other systems, and Linux before 4.17, take the address as a wish), and nobody knows of it.
                let _ = unsafe { munmap(elsewhere, length) };
                Self::new()
            }
            Err(_) => Self::new(),
        }
    }

    /// Reserves as many addresses as another one has, with the same guards.
    pub fn like(other: &Reservation) -> Result<Self, Error> {
        Self::of_size(other.space, other.guard)
    }

    /// Reserves addresses that are only accessed after a check that they are mapped.
    pub fn slab(bytes: u64) -> Result<Self, Error> {
        Self::of_size(bytes, SLAB_GUARD_BYTES)
    }

    /// Reserves so many addresses, with far guards if they fit.
    pub fn of_bytes(bytes: u64) -> Result<Self, Error> {
        Self::of_size(bytes, FAR_BYTES).or_else(|_| Self::of_size(bytes, NEAR_BYTES))
    }

    /// Reserves addresses without guards, for code that checks each of its addresses. `bytes` is a multiple of the page size.
    pub fn bare(bytes: u64) -> Result<Self, Error> {
        Self::of_size(bytes, 0)
    }

    /// Takes addresses that the embedder has reserved, from `base` on. They are not freed.
    ///
    /// # Safety
    /// `bytes` bytes from there, a power of two of at least 4 GiB, and [`GUARD_BYTES`] on both sides belong to the embedder, who
    /// keeps nothing there but guest memory and inaccessible pages, until the value is dropped.
    pub unsafe fn of_embedder(base: *mut u8, bytes: u64) -> Self {
        Reservation { start: None, base, space: bytes, guard: NEAR_BYTES, length: 0 }
    }

    /// All addresses of the process: what is at an address is at that very address of the host.
    pub fn identity() -> Self {
        let base = std::ptr::null_mut();
        Reservation { start: None, base, space: IDENTITY_BYTES, guard: NEAR_BYTES, length: 0 }
    }

    /// Reserves so many addresses, with near guards.
    #[cfg(test)]
    pub fn near(space: u64) -> Result<Self, Error> {
        Self::of_size(space, NEAR_BYTES)
    }

    fn of_size(space: u64, guard: usize) -> Result<Self, Error> {
        #[cfg(test)]
        refusals::check("reserve guest address space")?;
        let length = usize::try_from(space)
            .ok()
            .and_then(|space| space.checked_add(2 * guard))
            .ok_or_else(|| Error::os("reserve guest address space", "needs a 64-bit host"))?;
        // SAFETY: a new anonymous mapping at an address the kernel chooses touches nothing that exists.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(|error| Error::os("reserve guest address space", error))?;
        let start = start.cast::<u8>();
        // Align down to a huge page; the guard has room for that.
        let base = start.wrapping_add(guard);
        let base = if guard > 0 { base.wrapping_sub(base.addr() % HUGE_BYTES) } else { base };
        Ok(Reservation { start: Some(start), base, space, guard, length })
    }

    /// Size of the range: a power of two of at least 4 GiB, or less if there are no guards.
    pub fn bytes(&self) -> u64 {
        self.space
    }

    /// Whether the guards have no room for a 32-bit index, because the host had too few addresses.
    pub fn has_near_guards(&self) -> bool {
        self.guard < FAR_BYTES
    }

    /// The host address of guest address 0.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    fn at(&self, offset: u64, bytes: u64) -> (*mut c_void, usize) {
        assert!(
            offset.checked_add(bytes).is_some_and(|end| end <= self.space),
            "range inside the reservation"
        );
        (self.base().wrapping_add(offset as usize).cast(), bytes as usize)
    }

    /// Maps fresh zeroed pages with `rights` at a range that is aligned to host pages. `Rights::None` returns the pages
    /// to the system.
    pub fn map(&self, offset: u64, bytes: u64, rights: Rights) -> Result<(), Error> {
        #[cfg(test)]
        refusals::check("map guest memory")?;
        let (address, bytes) = self.at(offset, bytes);
        let mut flags = MapFlags::PRIVATE | MapFlags::FIXED;
        // Read-only pages need no memory to be committed. Otherwise, pages that the host makes writable for a moment
        // would stay separate mappings, because the system does not merge committed and uncommitted ones.
        if rights != Rights::ReadWrite {
            flags |= MapFlags::NORESERVE;
        }
        // SAFETY: the range lies in this reservation (checked by `at`), so MAP_FIXED replaces only
        // our own pages, and no Rust reference to guest memory is ever made.
        unsafe { mmap_anonymous(address, bytes, rights.prot(), flags) }
            .map_err(|error| Error::os("map guest memory", error))?;
        if rights != Rights::None && bytes >= HUGE_BYTES {
            ask_for_huge_pages(address, bytes);
        }
        Ok(())
    }

    /// Maps pages of something else with `rights` at a range that is aligned to host pages.
    pub fn map_backing(
        &self,
        offset: u64,
        bytes: u64,
        rights: Rights,
        backing: &Backing<'_>,
    ) -> Result<(), Error> {
        #[cfg(test)]
        refusals::check("map guest memory")?;
        let (address, bytes) = self.at(offset, bytes);
        let (fixed, prot) = (MapFlags::FIXED, rights.prot());
        // SAFETY: the range lies in this reservation (checked by `at`), so what is replaced are our own pages, and no Rust
        // reference to guest memory is ever made.
        let mapped = unsafe {
            match *backing {
                Backing::Shared => mmap_anonymous(address, bytes, prot, MapFlags::SHARED | fixed),
                Backing::File { file, offset, private } => {
                    let kind = if private { MapFlags::PRIVATE } else { MapFlags::SHARED };
                    mmap(address, bytes, prot, kind | fixed, file, offset)
                }
                Backing::Host(pointer) => show_again(pointer, bytes, address)
                    .and_then(|()| mprotect(address, bytes, rights.protect()).map(|()| address)),
            }
        };
        mapped.map(|_| ()).map_err(|error| Error::os("map guest memory", error))
    }

    /// Maps fresh zeroed pages, readable and writable, at a range that is aligned to host pages. They take memory only
    /// when written, because the range may be much larger than all buffers in it.
    pub fn open(&self, offset: u64, bytes: u64) -> Result<(), Error> {
        #[cfg(test)]
        refusals::check("map guest memory")?;
        let (address, bytes) = self.at(offset, bytes);
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        // SAFETY: as in `map`.
        unsafe { mmap_anonymous(address, bytes, Rights::ReadWrite.prot(), flags) }
            .map(|_| ())
            .map_err(|error| Error::os("map guest memory", error))
    }

    /// Discards the contents of mapped pages, which are zero from then on.
    pub fn forget(&self, offset: u64, bytes: u64) -> Result<(), Error> {
        #[cfg(test)]
        refusals::check("give guest memory back")?;
        let (address, bytes) = self.at(offset, bytes);
        // SAFETY: the range lies in this reservation, all of whose pages are private and of no file; nobody else has references to them.
        unsafe { madvise(address, bytes, Advice::LinuxDontNeed) }
            .map_err(|error| Error::os("give guest memory back", error))
    }

    /// Changes the rights of mapped pages.
    pub fn protect(&self, offset: u64, bytes: u64, rights: Rights) -> Result<(), Error> {
        #[cfg(test)]
        refusals::check("protect guest memory")?;
        let (address, bytes) = self.at(offset, bytes);
        // SAFETY: as in `map`; contents stay.
        unsafe { mprotect(address, bytes, rights.protect()) }
            .map_err(|error| Error::os("protect guest memory", error))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // A failure would leak addresses, which harms nobody.
        if let Some(start) = self.start {
            // SAFETY: the mapping is ours and nobody can name it any more.
            let _ = unsafe { munmap(start.cast(), self.length) };
        }
    }
}

/// The rights of pages, a byte each. They take memory only where they are written.
#[derive(Debug)]
pub struct PageTable {
    start: *mut AtomicU8,
    count: usize,
}

// SAFETY: the memory is the table's own; its entries are atomics.
unsafe impl Send for PageTable {}
// SAFETY: as above.
unsafe impl Sync for PageTable {}

impl PageTable {
    /// So many entries without rights.
    pub fn new(count: usize) -> Result<Self, Error> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), count, Rights::ReadWrite.prot(), flags) };
        let start = start.map_err(|error| Error::os("reserve guest address space", error))?;
        Ok(PageTable { start: start.cast(), count })
    }
}

impl Deref for PageTable {
    type Target = [AtomicU8];

    #[inline]
    fn deref(&self) -> &[AtomicU8] {
        // SAFETY: so many zeroed bytes that belong to the table; zero is a valid atomic.
        unsafe { std::slice::from_raw_parts(self.start, self.count) }
    }
}

impl Drop for PageTable {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nobody can name it any more.
        let _ = unsafe { munmap(self.start.cast(), self.count) };
    }
}

/// Makes second mappings of shared pages of the process, in place of others.
///
/// # Safety
/// `to` and so many bytes behind it are pages that may be replaced.
unsafe fn show_again(from: *mut u8, bytes: usize, to: *mut c_void) -> rustix::io::Result<()> {
    // One call shows what one mapping shows, and goes on in its file behind its end, whatever comes next in the process.
    let parts = shared_parts(from.addr(), bytes).ok_or(rustix::io::Errno::INVAL)?;
    let mut done = 0;
    for part in parts {
        // With an old size of 0 the system makes a second mapping of shared pages. It refuses private ones.
        // SAFETY: as the caller promises.
        unsafe {
            mremap_fixed(
                from.wrapping_add(done).cast(),
                0,
                part,
                MremapFlags::MAYMOVE,
                to.wrapping_byte_add(done),
            )
        }?;
        done += part;
    }
    Ok(())
}

/// The process's mappings that a range of its addresses lies in, one after the other: how many bytes of the range are in each. `None`: some
/// is not mapped, or not shared, or the system does not say.
fn shared_parts(start: usize, bytes: usize) -> Option<Vec<usize>> {
    let end = start.checked_add(bytes)?;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut parts = Vec::new();
    let mut at = start;
    for line in maps.lines() {
        // For instance: `7f1200000000-7f1200200000 rw-s 00001000 00:01 2048 /memfd:ram (deleted)`.
        let (range, rest) = line.split_once(' ')?;
        let (first, last) = range.split_once('-')?;
        let [first, last] = [first, last].map(|number| usize::from_str_radix(number, 16).ok());
        let (first, last) = (first?, last?);
        if last <= at {
            continue;
        }
        if first > at || rest.as_bytes().get(3) != Some(&b's') {
            return None;
        }
        parts.push(last.min(end) - at);
        at = last;
        if at >= end {
            return Some(parts);
        }
    }
    None
}

/// System calls that a test can make fail.
#[cfg(test)]
pub(super) mod refusals {
    use crate::Error;
    use std::cell::Cell;
    use std::ops::Range;

    thread_local! {
        static NEXT: Cell<u32> = const { Cell::new(0) };
        static REFUSED: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    }

    /// Runs `work`, in which these of this thread's calls fail, counted from 0. Gives how many there were, too.
    pub fn during<T>(refused: Range<u32>, work: impl FnOnce() -> T) -> (T, u32) {
        NEXT.set(0);
        REFUSED.set((refused.start, refused.end));
        let result = work();
        REFUSED.set((0, 0));
        (result, NEXT.get())
    }

    /// Fails if the test says so.
    pub fn check(what: &'static str) -> Result<(), Error> {
        let (number, (start, end)) = (NEXT.get(), REFUSED.get());
        NEXT.set(number + 1);
        match (start..end).contains(&number) {
            true => Err(Error::os(what, "a test refuses it")),
            false => Ok(()),
        }
    }
}
