//! Guest memory: one address space, and the buffers mapped in it.
//!
//! Guest addresses have 48 bits and are sign-extended. The addresses from 0 to [`Memory::window_bytes`] are the *window*.
//! Compiled code accesses it through [`Memory::base`] without a check, and an access to an unmapped page raises a signal. Code
//! for an address space with memory outside the window translates its addresses (`space`). Everything else uses accessors that
//! check the page table first and return [`Denied`]. Both see the same pages, so both tiers fault at the same accesses.
//!
//! Guest threads may race, so no Rust reference to guest memory exists: every access here is a relaxed atomic access of at most
//! eight bytes.
//!
//! An operating system limits the number of mappings of a process, and each run of pages with equal rights is one. Beyond
//! [`MOST_BORDERS`] such runs, memory becomes *coarse* (`coarse`): it has a few large mappings that can be read and written, and
//! only the page table knows which pages exist. Then compiled code must check the page table too ([`Memory::is_coarse`]).

mod access;
mod coarse;
mod parked;
mod reservation;
mod room;
mod space;
mod update;
pub(crate) mod window;

pub use access::Denied;
pub use reservation::WINDOW_BYTES;
pub use space::ADDRESS_BITS;

use crate::Error;
use reservation::{HUGE_BYTES, Reservation, Rights};
use room::Room;
use space::Space;
use std::collections::BTreeMap;

/// Bytes that one entry of the page table stands for.
pub const PAGE_BYTES: u64 = 4096;
/// Page table: loads are allowed.
pub const PAGE_READ: u8 = 1;
/// Page table: stores are allowed.
pub const PAGE_WRITE: u8 = 2;

/// Addresses below are never handed out, so that a null pointer with a small offset faults.
const FIRST_ADDRESS: u64 = 0x1_0000;

/// Most places where a page has other rights than the page before it. Each is about one mapping of the operating
/// system. Linux allows 65,530 by default, for the whole process.
const MOST_BORDERS: usize = 1 << 15;

/// With so few, their number cannot be the reason why the system refuses a mapping.
const FEW_BORDERS: usize = 1 << 10;

/// What guest code may do with a buffer. The host may always do both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Loads and stores.
    ReadWrite,
    /// Loads only: a store is a `memory` fault.
    ReadOnly,
}

impl Access {
    fn rights(self) -> Rights {
        match self {
            Access::ReadWrite => Rights::ReadWrite,
            Access::ReadOnly => Rights::Read,
        }
    }

    fn flags(self) -> u8 {
        match self {
            Access::ReadWrite => PAGE_READ | PAGE_WRITE,
            Access::ReadOnly => PAGE_READ,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Buffer {
    bytes: u64,
    access: Access,
}

/// One guest address space.
#[derive(Debug)]
pub struct Memory {
    space: Space,
    buffers: BTreeMap<u64, Buffer>,
    parked: parked::Parked,
    /// Unit of the host's own protection, at least [`PAGE_BYTES`].
    host_page: u64,
    /// Which host pages below 4 GiB are taken by buffers; each buffer has one more page after it.
    room: Room,
    /// Number of places where a host page has other rights than the page before it.
    borders: usize,
    /// Whether there are too many of these, so that only the page table says what is mapped.
    coarse: bool,
    /// If coarse: whether all buffers are in the large mappings.
    merged: bool,
}

impl Memory {
    /// Makes an empty address space.
    pub fn new() -> Result<Self, Error> {
        Ok(Self::with_window(Reservation::new()?))
    }

    /// The same with this window.
    fn with_window(window: Reservation) -> Self {
        let host_page = (rustix::param::page_size() as u64).max(PAGE_BYTES);
        Memory {
            space: Space::new(window),
            buffers: BTreeMap::new(),
            parked: parked::Parked::default(),
            host_page,
            room: {
                let mut room = Room::new((1 << 32) / host_page);
                room.set(0, FIRST_ADDRESS.div_ceil(host_page), true);
                room
            },
            borders: 0,
            coarse: false,
            merged: false,
        }
    }

    /// Maps `bytes` zeroed bytes at `address`, or at a page-aligned address that the runtime chooses. A chosen address
    /// is never in the first 64 KiB, a page without rights follows the buffer, and a buffer of 2 MiB or more starts
    /// where a huge page of the host may start.
    ///
    /// An explicit address need not be page-aligned. Then whole pages become accessible, so that accesses a little
    /// outside the buffer do not fault. Buffers may share a page if they have the same access; they may not overlap.
    pub fn map(&mut self, address: Option<u64>, bytes: u64, access: Access) -> Result<u64, Error> {
        if bytes == 0 {
            return Err(Error::Memory("a buffer needs at least one byte".into()));
        }
        let address = match address {
            Some(address) => address,
            None => self.find_room(bytes)?,
        };
        let end = address.checked_add(bytes).filter(|&end| self.space.exists(address, end)).ok_or_else(|| {
            Error::Memory(format!(
                "buffer of {bytes:#x} bytes at {address:#x} does not lie in sign-extended addresses of {ADDRESS_BITS} bits \
                 (the last 64 KiB of these cannot be mapped)"
            ))
        })?;
        if bytes > WINDOW_BYTES {
            return Err(Error::Memory(format!(
                "buffer of {bytes:#x} bytes at {address:#x} is too large: {WINDOW_BYTES:#x} is the most"
            )));
        }
        if let Some((&other, buffer)) = self.buffers.range(..end).next_back()
            && other + buffer.bytes > address
        {
            return Err(Error::Memory(format!(
                "buffer at {address:#x}..{end:#x} overlaps the one at {other:#x}..{:#x}",
                other + buffer.bytes
            )));
        }
        // The pages at both ends may already belong to a neighbour. Those in between are all new.
        let (first, last) = self.covering(address, end);
        for (other, buffer) in self.neighbours(address, first, last) {
            if buffer.access != access {
                return Err(Error::Memory(format!(
                    "buffer at {address:#x} shares a page with the one at {other:#x}, which has other access"
                )));
            }
        }
        self.give_back_within(first, last)?;
        // The guest may have written to the rest of a neighbour's page. New pages are zero.
        for page in [first, last - self.host_page] {
            let behind = page + self.host_page;
            if self.shared_page(address, page, behind) {
                let start = address.max(page);
                self.fill_zero(start, end.min(behind) - start)?;
            }
        }
        self.claim(address, first, last, access).inspect_err(|_| self.release(first, last))?;
        self.set_pages(first, last, access.flags());
        self.buffers.insert(address, Buffer { bytes, access });
        self.room.set(first / self.host_page, last / self.host_page + 1, true);
        Ok(address)
    }

    /// Gets host memory for the pages of a buffer at `address`. If that fails, pages that were free stay inaccessible;
    /// address reservations made for them remain.
    fn claim(&mut self, address: u64, first: u64, last: u64, access: Access) -> Result<(), Error> {
        let (first, last) = self.own_pages(address, first, last);
        if first >= last {
            return Ok(());
        }
        if !self.coarse && self.borders > MOST_BORDERS {
            self.become_coarse()?;
        }
        self.space.reserve(first, last)?;
        if !self.coarse {
            let Err(error) = self.space.map(first, last - first, access.rights()) else { return Ok(()) };
            // The process may have too many mappings, or the system may allow fewer than usual.
            let has_many = self.borders > FEW_BORDERS;
            if !has_many || self.become_coarse().is_err() {
                // Some of several pieces may have been mapped.
                let _ = self.close_pages(first, last);
                return Err(error);
            }
            // Nothing is retained any more, and its reservations have been released.
            self.space.reserve(first, last)?;
        }
        self.open(first, last)
    }

    /// The pages of a buffer that it shares with no other buffer. Only the pages at its ends can be shared. The range
    /// may be empty (`first >= last`).
    fn own_pages(&self, address: u64, first: u64, last: u64) -> (u64, u64) {
        let page = self.host_page;
        let from = if self.shared_page(address, first, first + page) { first + page } else { first };
        let to = if self.shared_page(address, last - page, last) { last - page } else { last };
        (from, to)
    }

    /// Discards the contents of pages and, unless memory is coarse, all rights to them. Does not change the page table.
    fn close_pages(&mut self, first: u64, last: u64) -> Result<(), Error> {
        // If the system has no mappings left, make memory coarse, so that all pages have the same rights.
        if !self.coarse && self.space.map(first, last - first, Rights::None).is_err() {
            self.become_coarse()?;
        }
        if self.coarse { self.space.forget(first, last - first) } else { Ok(()) }
    }

    /// Unmaps the buffer that begins at `address`; its pages fault from then on.
    ///
    /// # Errors
    /// If no buffer begins there, or the system refuses it. Then the buffer is still mapped.
    pub fn unmap(&mut self, address: u64) -> Result<(), Error> {
        let Some(&buffer) = self.buffers.get(&address) else {
            return Err(Error::Memory(format!("no buffer begins at {address:#x}")));
        };
        let (first, last) = self.covering(address, address + buffer.bytes);
        let (from, to) = self.own_pages(address, first, last);
        if from < to {
            if let Err(error) = self.close_pages(from, to) {
                // Some of several pieces may have been unmapped. The host must not access pages that may have no
                // rights.
                if self.space.protect(from, to - from, buffer.access.rights()).is_err() {
                    self.set_pages(from, to, 0);
                }
                return Err(error);
            }
            self.set_pages(from, to, 0);
        }
        self.buffers.remove(&address);
        self.leave_room(first, last);
        self.release(first, last);
        if self.buffers.is_empty() {
            // If that fails, memory stays coarse, which is also correct.
            let _ = self.become_fine();
        }
        Ok(())
    }

    /// Releases reservations outside the window for a range, if nothing in them is mapped or retained.
    fn release(&mut self, first: u64, last: u64) {
        let Memory { space, buffers, parked, .. } = self;
        space.release(first, last, |start, end| {
            let before = buffers.range(..=end).next_back();
            before.is_some_and(|(&at, buffer)| at + buffer.bytes > start) || parked.has_any(start, end)
        });
    }

    /// Marks a buffer's former pages as free, unless other buffers touch them or the pages before them.
    fn leave_room(&mut self, first: u64, last: u64) {
        if first >> 32 != 0 {
            return;
        }
        let page = self.host_page;
        // No other buffer can touch those in between.
        let inside = ((first / page + 2).max(FIRST_ADDRESS.div_ceil(page)), (last / page).saturating_sub(1));
        if inside.0 < inside.1 {
            self.room.set(inside.0, inside.1, false);
        }
        let ends = [first, first + page, last.saturating_sub(page), last];
        for at in ends.into_iter().filter(|&at| at >= first && at <= last) {
            let touched = self.neighbours(u64::MAX, at.saturating_sub(page), at + page).next().is_some();
            let never = at < FIRST_ADDRESS;
            self.room.set(at / page, at / page + 1, touched || never);
        }
    }

    /// Whether only the page table says what is mapped, so that compiled code must check it.
    pub fn is_coarse(&self) -> bool {
        self.coarse
    }

    /// The mapped buffers in order of address: (address, bytes, access).
    pub fn buffers(&self) -> impl Iterator<Item = (u64, u64, Access)> + '_ {
        self.buffers.iter().map(|(&address, buffer)| (address, buffer.bytes, buffer.access))
    }

    /// Copies guest memory to the host. All of it must be mapped.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Error> {
        self.load_bytes(address, out)
            .map_err(|denied| Error::Memory(format!("read of {} bytes at {address:#x}: {denied}", out.len())))
    }

    /// Copies from the host to guest memory, whether guest code may write there or not.
    /// All of it must be mapped.
    pub fn write(&mut self, address: u64, data: &[u8]) -> Result<(), Error> {
        let end = self.check(address, data.len() as u64, PAGE_READ).map_err(|denied| {
            Error::Memory(format!("write of {} bytes at {address:#x}: {denied}", data.len()))
        })?;
        self.unprotected(address, end, |memory| memory.copy_in(address, data))
    }

    /// Sets mapped guest memory to zero, whether guest code may write there or not.
    fn fill_zero(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        self.unprotected(address, address + bytes, |memory| {
            let zeros = [0; PAGE_BYTES as usize];
            for at in (address..address + bytes).step_by(zeros.len()) {
                memory.copy_in(at, &zeros[..(address + bytes - at).min(PAGE_BYTES) as usize]);
            }
        })
    }

    /// Runs `work` while the read-only pages of a mapped range can be written.
    /// `&mut self` keeps guest code from running meanwhile.
    fn unprotected(&mut self, start: u64, end: u64, work: impl FnOnce(&Self)) -> Result<(), Error> {
        if self.coarse {
            work(self);
            return Ok(());
        }
        let (first, last) = self.covering(start, end);
        let locked: Vec<u64> = (first..last)
            .step_by(self.host_page as usize)
            .filter(|&page| self.page_flags(page) == PAGE_READ)
            .collect();
        // Change runs of neighbouring pages with one system call.
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for page in locked {
            match runs.last_mut() {
                Some((from, bytes)) if *from + *bytes == page => *bytes += self.host_page,
                _ => runs.push((page, self.host_page)),
            }
        }
        let change = |memory: &Memory, rights: Rights| {
            runs.iter().try_for_each(|&(page, bytes)| memory.space.protect(page, bytes, rights))
        };
        // This may also need more mappings than the system allows.
        if let Err(error) = change(self, Rights::ReadWrite)
            && self.become_coarse().is_err()
        {
            let _ = change(self, Rights::Read);
            return Err(error);
        }
        work(self);
        if !self.coarse && change(self, Rights::Read).is_err() {
            self.become_coarse()?;
        }
        Ok(())
    }

    /// Size of the window: [`WINDOW_BYTES`], or a smaller power of two if the host has no room for it.
    pub fn window_bytes(&self) -> u64 {
        self.space.window().bytes()
    }

    /// Whether compiled code must translate 64-bit addresses, because there is memory outside the window, or may be
    /// during a launch.
    pub(crate) fn needs_translation(&self) -> bool {
        self.space.exceeds_window() || self.window_bytes() < WINDOW_BYTES
    }

    /// The host address of the upper window's start, if there is an upper window.
    pub(crate) fn upper_base(&self) -> Option<*mut u8> {
        self.space.upper().map(|upper| upper.base())
    }

    /// Whether a guest address plus a 32-bit index may reach other memory of the host.
    pub fn has_near_guards(&self) -> bool {
        self.space.window().has_near_guards()
    }

    /// The host address of guest address 0, for compiled code.
    pub fn base(&self) -> *mut u8 {
        self.space.window().base()
    }

    /// The window's page table, for compiled code that checks addresses: one byte ([`PAGE_READ`], [`PAGE_WRITE`]) for
    /// each [`PAGE_BYTES`], then two more without rights.
    pub fn page_table(&self) -> *const u8 {
        self.space.window_pages().as_ptr().cast()
    }

    #[inline]
    fn page_flags(&self, address: u64) -> u8 {
        self.space.page_flags(address)
    }

    fn set_pages(&mut self, first: u64, last: u64, flags: u8) {
        self.borders -= self.borders_within(first, last);
        self.space.set_pages(first, last, flags);
        self.borders += self.borders_within(first, last);
    }

    /// Number of places from `first` to `last` where a page has other rights than the page before it. All pages of the
    /// range except the first and the last have the same rights, so only one of them is looked at.
    fn borders_within(&self, first: u64, last: u64) -> usize {
        let page = self.host_page;
        let end = last - page;
        let places = [first, (first + page).min(end), end, last].map(|at| self.page_flags(at));
        let mut before = first.checked_sub(page).map_or(0, |page| self.page_flags(page));
        places.into_iter().filter(|&flags| std::mem::replace(&mut before, flags) != flags).count()
    }

    /// The host pages that a range touches.
    fn covering(&self, start: u64, end: u64) -> (u64, u64) {
        (start / self.host_page * self.host_page, end.next_multiple_of(self.host_page))
    }

    /// Buffers other than the one at `address` that touch a range of whole pages.
    fn neighbours(&self, address: u64, first: u64, last: u64) -> impl Iterator<Item = (u64, Buffer)> + '_ {
        self.buffers
            .range(..last)
            .rev()
            .take_while(move |(at, buffer)| *at + buffer.bytes > first || **at == address)
            .filter(move |(at, _)| **at != address)
            .map(|(&at, &buffer)| (at, buffer))
    }

    fn shared_page(&self, address: u64, first: u64, last: u64) -> bool {
        self.neighbours(address, first, last).next().is_some()
    }

    /// First fit, with one page without rights after each buffer.
    fn find_room(&self, bytes: u64) -> Result<u64, Error> {
        let need = bytes
            .checked_next_multiple_of(self.host_page)
            .and_then(|whole| whole.checked_add(self.host_page))
            .unwrap_or(u64::MAX);
        // Large buffers start where a huge page may start, if there is room.
        let huge = (bytes >= HUGE_BYTES as u64).then(|| self.room_for(need, HUGE_BYTES as u64)).flatten();
        huge.or_else(|| self.room_for(need, self.host_page)).ok_or_else(|| {
            Error::Memory(format!("no room for a buffer of {bytes:#x} bytes in 32-bit addresses"))
        })
    }

    /// The first free range of `need` bytes below 4 GiB that starts at a multiple of `align`, which is a multiple of
    /// the host's page size.
    fn room_for(&self, need: u64, align: u64) -> Option<u64> {
        let found = self.room.find(need / self.host_page, align / self.host_page)?;
        Some(found * self.host_page)
    }
}

#[cfg(test)]
mod refused;
#[cfg(test)]
mod tests;
