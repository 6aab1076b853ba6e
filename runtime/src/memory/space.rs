//! The host memory of a guest address space: the window, and what lies outside it.
//!
//! The *window* is one large [`Reservation`] for the guest addresses from 0 on; compiled code reaches it by adding a constant.
//! Guest addresses have 48 bits, more than a host can reserve. So memory outside the window is reserved when a buffer is mapped
//! there:
//!
//! - the *upper window* is as large as the window and stands for the addresses from `0xffff800000000000` on, where drivers of GCN
//!   1.4 have their memory. Code for such a space ([`warpjit_ir::passes::translate`]) reaches it by adding another constant;
//! - anywhere else a *slab* of 4 GiB stands for the 4 GiB of guest addresses around the buffer. Compiled code asks the runtime
//!   where it is.

use super::PAGE_BYTES;
use super::reservation::{Reservation, Rights};
use crate::Error;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};

/// Bits of a guest address. Higher bits repeat the highest one.
pub const ADDRESS_BITS: u32 = 48;
/// Where the upper half of the guest addresses begins.
pub const UPPER: u64 = 0xffff_8000_0000_0000;
/// Guest addresses of a slab.
const SLAB_BYTES: u64 = 1 << 32;

/// Whether an address is correctly sign-extended from [`ADDRESS_BITS`].
fn is_canonical(address: u64) -> bool {
    let unused = 64 - ADDRESS_BITS;
    ((address << unused) as i64 >> unused) as u64 == address
}

/// Host memory for a range of guest addresses, with the rights of its pages.
#[derive(Debug)]
struct Region {
    /// The first guest address.
    start: u64,
    reservation: Reservation,
    /// Rights of each page of [`PAGE_BYTES`].
    pages: Box<[AtomicU8]>,
    /// The offsets (first, end) that form one readable and writable mapping ([`Space::open`]).
    opened: Option<(u64, u64)>,
}

impl Region {
    fn new(start: u64, reservation: Reservation) -> Region {
        // Two more for checked accesses of compiled code that cross the end.
        let count = (reservation.bytes() / PAGE_BYTES) as usize + 2;
        let pages = Box::<[AtomicU8]>::new_zeroed_slice(count);
        // SAFETY: all bytes zero are a valid atomic. (The system gives them when they are touched.)
        Region { start, reservation, pages: unsafe { pages.assume_init() }, opened: None }
    }

    fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.reservation.bytes()
    }

    /// Extends the readable and writable mapping to the given offsets, keeping its contents.
    fn open(&mut self, first: u64, last: u64) -> Result<(), Error> {
        let (start, end) = self.opened.unwrap_or((first, first));
        if first < start {
            self.reservation.open(first, start - first)?;
        }
        if last > end {
            self.reservation.open(end, last - end)?;
        }
        self.opened = Some((start.min(first), end.max(last)));
        Ok(())
    }

    /// Counts mapped, writable pages and the gap before them as opened. They stay a mapping of their own.
    fn adopt(&mut self, first: u64, last: u64) -> Result<(), Error> {
        let (start, end) = self.opened.unwrap_or((first, first));
        if first > end {
            self.reservation.open(end, first - end)?;
        }
        self.opened = Some((start.min(first), end.max(last)));
        Ok(())
    }

    /// Returns all pages to the system, even those that failed to open.
    fn close(&mut self) -> Result<(), Error> {
        self.reservation.map(0, self.reservation.bytes(), Rights::None)?;
        self.opened = None;
        Ok(())
    }

    /// Guest addresses from `address` to the region's end.
    fn rest(&self, address: u64) -> u64 {
        self.reservation.bytes() - (address - self.start)
    }

    /// The entry of a page; the region holds the address.
    fn page(&self, address: u64) -> &AtomicU8 {
        &self.pages[((address - self.start) / PAGE_BYTES) as usize]
    }

    fn pointer(&self, address: u64) -> *mut u8 {
        self.reservation.base().wrapping_add((address - self.start) as usize)
    }
}

/// A range of guest addresses that lies in one piece of host memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// Where the host finds it.
    pub pointer: *mut u8,
    /// Its size.
    pub bytes: u64,
}

fn nothing_at(address: u64) -> Error {
    Error::Memory(format!("no guest memory can be at {address:#x}"))
}

/// All host memory of a guest address space.
#[derive(Debug)]
pub(super) struct Space {
    window: Region,
    upper: Option<Region>,
    /// Slabs by their first guest address. None is empty.
    slabs: BTreeMap<u64, Region>,
}

impl Space {
    /// A space with this window, and no slabs.
    pub fn new(window: Reservation) -> Space {
        Space { window: Region::new(0, window), upper: None, slabs: BTreeMap::new() }
    }

    /// The window.
    pub fn window(&self) -> &Reservation {
        &self.window.reservation
    }

    /// Rights of the window's pages.
    pub fn window_pages(&self) -> &[AtomicU8] {
        &self.window.pages
    }

    /// The upper window, while there is memory in it.
    pub fn upper(&self) -> Option<&Reservation> {
        self.upper.as_ref().map(|region| &region.reservation)
    }

    /// Whether there is memory outside the window.
    pub fn exceeds_window(&self) -> bool {
        self.upper.is_some() || !self.slabs.is_empty()
    }

    /// Whether all addresses of a range are valid guest addresses. The last 64 KiB are excluded, so that the page after
    /// a range always has an address, for any host page size.
    pub fn exists(&self, start: u64, end: u64) -> bool {
        const LEFT_OUT: u64 = 0x1_0000;
        if start >= end || end > u64::MAX - LEFT_OUT + 1 {
            return false;
        }
        let last = end - 1;
        is_canonical(start) && is_canonical(last) && (start ^ last) >> 63 == 0
    }

    /// Fast path for an access within one page of the window: the page's rights and the host pointer.
    #[inline]
    pub fn window_page(&self, address: u64, bytes: u8) -> Option<(u8, *mut u8)> {
        let page = self.window.pages.get((address / PAGE_BYTES) as usize)?;
        if address % PAGE_BYTES + u64::from(bytes) > PAGE_BYTES {
            return None;
        }
        // The window begins at address 0.
        Some((page.load(Ordering::Relaxed), self.window.reservation.base().wrapping_add(address as usize)))
    }

    #[inline]
    fn region(&self, address: u64) -> Option<&Region> {
        if self.window.holds(address) {
            return Some(&self.window);
        }
        if let Some(upper) = self.upper.as_ref().filter(|upper| upper.holds(address)) {
            return Some(upper);
        }
        self.slabs.get(&(address & !(SLAB_BYTES - 1)))
    }

    /// The host pointer for a guest address, and the bytes from there to the end of its piece of host memory. `None` if
    /// nothing is reserved there.
    #[inline]
    pub fn place(&self, address: u64) -> Option<Piece> {
        let region = self.region(address)?;
        Some(Piece { pointer: region.pointer(address), bytes: region.rest(address) })
    }

    /// The rights of the page at an address.
    #[inline]
    pub fn page_flags(&self, address: u64) -> u8 {
        self.region(address).map_or(0, |region| region.page(address).load(Ordering::Relaxed))
    }

    #[inline]
    fn region_mut(&mut self, address: u64) -> Option<&mut Region> {
        if self.window.holds(address) {
            return Some(&mut self.window);
        }
        if let Some(upper) = self.upper.as_mut().filter(|upper| upper.holds(address)) {
            return Some(upper);
        }
        self.slabs.get_mut(&(address & !(SLAB_BYTES - 1)))
    }

    /// Sets the rights of the pages of a range that is aligned to pages and reserved.
    pub fn set_pages(&self, first: u64, last: u64, flags: u8) {
        let mut at = first;
        while at < last {
            let Some(region) = self.region(at) else {
                debug_assert!(false, "pages at {at:#x} that nothing is reserved for");
                return;
            };
            let end = at + region.rest(at).min(last - at);
            for page in (at..end).step_by(PAGE_BYTES as usize) {
                region.page(page).store(flags, Ordering::Relaxed);
            }
            at = end;
        }
    }

    /// Reserves the host memory that a range of valid addresses needs outside the window.
    pub fn reserve(&mut self, first: u64, last: u64) -> Result<(), Error> {
        let mut at = first;
        while at < last {
            if self.region(at).is_none() {
                self.reserve_around(at)?;
            }
            at = at.saturating_add(self.place(at).map_or(PAGE_BYTES, |piece| piece.bytes));
        }
        Ok(())
    }

    fn reserve_around(&mut self, address: u64) -> Result<(), Error> {
        // If the host has no room for an upper window, slabs are used.
        let bytes = self.window.reservation.bytes();
        if address.wrapping_sub(UPPER) < bytes
            && !self.slabs.range(UPPER..=UPPER + (bytes - 1)).any(|_| true)
            && let Ok(reservation) = Reservation::like(&self.window.reservation)
        {
            self.upper = Some(Region::new(UPPER, reservation));
            return Ok(());
        }
        let start = address & !(SLAB_BYTES - 1);
        self.slabs.insert(start, Region::new(start, Reservation::slab(SLAB_BYTES)?));
        Ok(())
    }

    /// Releases reservations outside the window that overlap a range and in which `is_used` finds nothing.
    pub fn release(&mut self, first: u64, last: u64, is_used: impl Fn(u64, u64) -> bool) {
        let touched = first & !(SLAB_BYTES - 1)..last;
        let empty: Vec<u64> = self
            .slabs
            .range(touched)
            .map(|(&start, _)| start)
            .filter(|&start| !is_used(start, start + (SLAB_BYTES - 1)))
            .collect();
        for start in empty {
            self.slabs.remove(&start);
        }
        if self.upper.as_ref().is_some_and(|upper| !is_used(UPPER, UPPER + (upper.reservation.bytes() - 1))) {
            self.upper = None;
        }
    }

    /// Calls a function for each piece of a reserved range, with its reservation and the offset and bytes in it.
    fn each(
        &self,
        start: u64,
        bytes: u64,
        mut work: impl FnMut(&Reservation, u64, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut at = start;
        while at < start + bytes {
            let region = self.region(at).ok_or_else(|| nothing_at(at))?;
            let part = region.rest(at).min(start + bytes - at);
            work(&region.reservation, at - region.start, part)?;
            at += part;
        }
        Ok(())
    }

    /// Maps fresh zeroed pages with `rights` at a reserved range that is aligned to host pages. `Rights::None` returns
    /// the pages to the system.
    pub fn map(&self, start: u64, bytes: u64, rights: Rights) -> Result<(), Error> {
        self.each(start, bytes, |reservation, offset, bytes| reservation.map(offset, bytes, rights))
    }

    /// Adds a reserved range that is aligned to host pages to the large mappings, one in each piece of host memory. New
    /// pages are zero, readable and writable, and take memory only when written. Pages that a mapping has already keep
    /// their contents.
    pub fn open(&mut self, first: u64, last: u64) -> Result<(), Error> {
        let mut at = first;
        while at < last {
            let region = self.region_mut(at).ok_or_else(|| nothing_at(at))?;
            let part = region.rest(at).min(last - at);
            let offset = at - region.start;
            region.open(offset, offset + part)?;
            at += part;
        }
        Ok(())
    }

    /// Looks at the part of a range that is in the same piece of host memory as its start. Returns where that part is
    /// not opened yet, and its end.
    pub fn unopened(&self, first: u64, last: u64) -> (u64, u64) {
        let Some(region) = self.region(first) else { return (last, last) };
        let end = first + region.rest(first).min(last - first);
        let opened = region.opened.map_or(0, |(_, opened)| opened);
        (first.max(region.start + opened).min(end), end)
    }

    /// Counts mapped pages in one piece of host memory as opened, where [`Space::open`] would map fresh ones. They must
    /// be readable and writable.
    pub fn adopt(&mut self, first: u64, last: u64) -> Result<(), Error> {
        let region = self.region_mut(first).ok_or_else(|| nothing_at(first))?;
        let offset = first - region.start;
        region.adopt(offset, offset + (last - first))
    }

    /// Returns all pages to the system.
    pub fn close(&mut self) -> Result<(), Error> {
        let others = self.upper.iter_mut().chain(self.slabs.values_mut());
        std::iter::once(&mut self.window).chain(others).try_for_each(Region::close)
    }

    /// Discards the contents of opened pages, which are zero from then on.
    pub fn forget(&self, start: u64, bytes: u64) -> Result<(), Error> {
        self.each(start, bytes, Reservation::forget)
    }

    /// Changes the rights of mapped pages.
    pub fn protect(&self, start: u64, bytes: u64, rights: Rights) -> Result<(), Error> {
        self.each(start, bytes, |reservation, offset, bytes| reservation.protect(offset, bytes, rights))
    }
}
