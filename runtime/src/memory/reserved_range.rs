//! Guest addresses for which host addresses are reserved: the window, the upper window, or a slab.

use super::pages::PAGE_BYTES;
use super::reservation::{PageTable, Reservation, Rights};
use super::tracked::Tracked;
use crate::Error;
use std::ops::Range;
use std::sync::atomic::AtomicU8;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Bytes of guest addresses that the smallest table of page rights stands for.
pub(super) const LEAST_TABLE_BYTES: u64 = 1 << 32;

/// A range of guest addresses with its reservation on the host and the rights of its pages.
#[derive(Debug)]
pub(super) struct ReservedRange {
    /// The first guest address.
    pub start: u64,
    pub reservation: Reservation,
    /// Rights of each page of [`PAGE_BYTES`].
    pub pages: PageTable,
    /// What records stores to its pages, once asked for.
    pub tracked: OnceLock<&'static Tracked>,
    /// The offsets in which stores may be recorded: where all pages are the space's own.
    pub recordable: Range<u64>,
    /// The offsets (first, end) that form one readable and writable mapping ([`Space::open`]).
    pub opened: Mutex<Option<(u64, u64)>>,
}

impl Drop for ReservedRange {
    fn drop(&mut self) {
        if let Some(tracked) = self.tracked.get() {
            tracked.end();
        }
    }
}

impl ReservedRange {
    pub fn new(start: u64, reservation: Reservation) -> Result<ReservedRange, Error> {
        // A small window has a table for 32-bit addresses all the same, because checked code looks there. Two more for
        // checked accesses of compiled code that cross the end.
        let count = (reservation.bytes().max(LEAST_TABLE_BYTES) / PAGE_BYTES) as usize + 2;
        let pages = PageTable::new(count)?;
        let (tracked, opened) = (OnceLock::new(), Mutex::default());
        let recordable = 0..reservation.bytes();
        Ok(ReservedRange { start, reservation, pages, tracked, recordable, opened })
    }

    /// What records stores to its pages from now on.
    pub fn record(&self) -> &'static Tracked {
        self.tracked.get_or_init(|| {
            let base = self.reservation.base().addr();
            let Range { start, end } = self.recordable;
            let pages = &self.pages[(start / PAGE_BYTES) as usize..];
            Tracked::new(base + start as usize, base + end as usize, pages)
        })
    }

    pub fn opened(&self) -> MutexGuard<'_, Option<(u64, u64)>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.reservation.bytes()
    }

    /// Extends the readable and writable mapping to the given offsets, keeping its contents.
    pub fn open(&self, first: u64, last: u64) -> Result<(), Error> {
        let mut opened = self.opened();
        let (start, end) = opened.unwrap_or((first, first));
        if first < start {
            self.reservation.open(first, start - first)?;
        }
        if last > end {
            self.reservation.open(end, last - end)?;
        }
        *opened = Some((start.min(first), end.max(last)));
        Ok(())
    }

    /// Counts mapped, writable pages and the gap before them as opened. They stay a mapping of their own.
    pub fn adopt(&self, first: u64, last: u64) -> Result<(), Error> {
        let mut opened = self.opened();
        let (start, end) = opened.unwrap_or((first, first));
        if first > end {
            self.reservation.open(end, first - end)?;
        }
        *opened = Some((start.min(first), end.max(last)));
        Ok(())
    }

    /// Returns all pages to the system, even those that failed to open.
    pub fn close(&self) -> Result<(), Error> {
        self.reservation.map(0, self.reservation.bytes(), Rights::None)?;
        *self.opened() = None;
        Ok(())
    }

    /// Guest addresses from `address` to the end of the range.
    pub fn rest(&self, address: u64) -> u64 {
        self.reservation.bytes() - (address - self.start)
    }

    /// The entry of a page; the range holds the address.
    pub fn page(&self, address: u64) -> &AtomicU8 {
        &self.pages[((address - self.start) / PAGE_BYTES) as usize]
    }

    pub fn pointer(&self, address: u64) -> *mut u8 {
        self.reservation.base().wrapping_add((address - self.start) as usize)
    }
}
