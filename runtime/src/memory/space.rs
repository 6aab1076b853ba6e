//! Host memory behind guest addresses: windows, and slabs for what lies outside them.
//!
//! The *window* is one large [`Reservation`] for the guest addresses from 0 on. Compiled code reaches it by adding a constant.
//! Guest addresses have 48 bits and are sign-extended, and a host cannot reserve that many. Memory outside the window is
//! reserved when it is mapped:
//!
//! - the *upper window* is as large, for the addresses from `0xffff800000000000` on, where drivers of GCN 1.4 have their memory. Code for such
//!   a space ([`warpjit_ir::passes::translate`]) reaches it by adding another constant;
//! - elsewhere a *slab* of 4 GiB stands for the 4 GiB of guest addresses around the memory. Code asks the runtime where it is.

use super::PAGE_BYTES;
use super::reservation::{Reservation, Rights};
use crate::Error;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};

/// Bits of a guest address; the highest is repeated in all bits above.
pub const ADDRESS_BITS: u32 = 48;
/// Where the upper half of the guest addresses begins.
pub const UPPER: u64 = 0xffff_8000_0000_0000;
/// Guest addresses of a slab.
const SLAB_BYTES: u64 = 1 << 32;

/// Whether all bits above the highest of [`ADDRESS_BITS`] repeat it.
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
    /// Offsets that are one mapping, which can be read and written: from the first to before the second ([`Space::open`]).
    opened: Option<(u64, u64)>,
}

impl Region {
    fn new(start: u64, reservation: Reservation) -> Region {
        // Two more for checked accesses of compiled code that reach across the end.
        let count = (reservation.bytes() / PAGE_BYTES) as usize + 2;
        let pages = Box::<[AtomicU8]>::new_zeroed_slice(count);
        // SAFETY: all bytes zero are a valid atomic. (The system gives them when they are touched.)
        Region { start, reservation, pages: unsafe { pages.assume_init() }, opened: None }
    }

    fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.reservation.bytes()
    }

    /// Makes the mapping that can be read and written reach from one offset to another, with all that it has already.
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

    /// Makes mapped pages, which can be read and written, part of what has been opened, with the gap before them. They stay a mapping of their own.
    fn adopt(&mut self, first: u64, last: u64) -> Result<(), Error> {
        let (start, end) = self.opened.unwrap_or((first, first));
        if first > end {
            self.reservation.open(end, first - end)?;
        }
        self.opened = Some((start.min(first), end.max(last)));
        Ok(())
    }

    /// Gives all pages back, those as well that something failed to open.
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
    /// By the first guest address. None is empty.
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

    /// Whether a range consists of guest addresses that exist. The last 64 KiB of the space are left out: whatever size the
    /// host's pages have, the page behind the range has an address.
    pub fn exists(&self, start: u64, end: u64) -> bool {
        const LEFT_OUT: u64 = 0x1_0000;
        if start >= end || end > u64::MAX - LEFT_OUT + 1 {
            return false;
        }
        let last = end - 1;
        is_canonical(start) && is_canonical(last) && (start ^ last) >> 63 == 0
    }

    /// For an access within a page of the window, by far the most frequent: the page's rights, and the host's pointer.
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

    /// The host's pointer to a guest address and how many bytes from there on lie in one piece; `None` where nothing can be mapped.
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

    /// Reserves what a range of existing addresses needs outside the window.
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
        // A host without room for an upper window has some for slabs.
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

    /// Gives back what was reserved outside the window around a range, and in which `is_used` finds nothing.
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

    /// Does something with each region of a range that has been reserved: the reservation, offset and bytes in it.
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

    /// Puts fresh zeroed pages with `rights` at a range that is aligned to host pages and reserved. `Rights::None` gives the
    /// pages back to the system.
    pub fn map(&self, start: u64, bytes: u64, rights: Rights) -> Result<(), Error> {
        self.each(start, bytes, |reservation, offset, bytes| reservation.map(offset, bytes, rights))
    }

    /// Makes a range that is aligned to host pages and reserved part of large mappings, one for each piece of host memory: with fresh zeroed
    /// pages that can be read and written, and take memory only where they are written. What a mapping has already keeps its contents.
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

    /// Of the part of a range that lies in one piece of host memory with its begin: what lies behind all that has been opened there, and
    /// where the part ends.
    pub fn unopened(&self, first: u64, last: u64) -> (u64, u64) {
        let Some(region) = self.region(first) else { return (last, last) };
        let end = first + region.rest(first).min(last - first);
        let opened = region.opened.map_or(0, |(_, opened)| opened);
        (first.max(region.start + opened).min(end), end)
    }

    /// Makes mapped pages in one piece of host memory part of what has been opened, where [`Space::open`] would put fresh ones. They can be
    /// read and written already.
    pub fn adopt(&mut self, first: u64, last: u64) -> Result<(), Error> {
        let region = self.region_mut(first).ok_or_else(|| nothing_at(first))?;
        let offset = first - region.start;
        region.adopt(offset, offset + (last - first))
    }

    /// Gives all pages back to the system.
    pub fn close(&mut self) -> Result<(), Error> {
        let others = self.upper.iter_mut().chain(self.slabs.values_mut());
        std::iter::once(&mut self.window).chain(others).try_for_each(Region::close)
    }

    /// Gives the contents of opened pages back to the system: they are zero from then on.
    pub fn forget(&self, start: u64, bytes: u64) -> Result<(), Error> {
        self.each(start, bytes, Reservation::forget)
    }

    /// Changes the rights of mapped pages.
    pub fn protect(&self, start: u64, bytes: u64, rights: Rights) -> Result<(), Error> {
        self.each(start, bytes, |reservation, offset, bytes| reservation.protect(offset, bytes, rights))
    }
}
