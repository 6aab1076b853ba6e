//! Guest memory: one address space, and the buffers mapped in it.
//!
//! Guest addresses have 48 bits and are sign-extended. Those from 0 on, up to [`Memory::window_bytes`], are the *window*: compiled code
//! reaches them through [`Memory::base`] without a check, and pages that are not mapped fault. Code for a space with memory
//! elsewhere looks its addresses up (`space`). Everything else goes through accessors that look into a table of page rights
//! first and give a [`Denied`] instead of a signal. Both see the same pages, so both tiers fault
//! at the same accesses.
//!
//! Guest threads race as they please, so no Rust reference to guest memory exists: every access
//! here is a relaxed atomic one of at most eight bytes.
//!
//! A system allows a process some ten thousand mappings, and pages with other rights than their neighbours are mappings of their own. Beyond
//! [`MOST_BORDERS`] memory is *coarse* (`coarse`): few large mappings that can be read and written, and only the table tells which pages there
//! are. Compiled code must look into the table then, too ([`Memory::is_coarse`]).

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

/// Most places where a page has other rights than the one before it: about as many mappings of the system's. Linux allows 65,530 unless told
/// otherwise, for all of the process.
const MOST_BORDERS: usize = 1 << 15;

/// As few cannot be the reason why the system refuses a mapping.
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
    /// Which host pages buffers take where 32-bit guests reach them, with one behind each.
    room: Room,
    /// Places where a host page has other rights than the one before it.
    borders: usize,
    /// There are too many of these: only the table says what is mapped.
    coarse: bool,
    /// Then: all buffers lie in the large mappings.
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

    /// Maps `bytes` zeroed bytes at `address`, or at a page-aligned address of the runtime's choice
    /// (never in the first 64 KiB, with a page without rights behind the buffer, and from 2 MiB on where a huge page of the host may
    /// begin).
    ///
    /// An explicit address need not be page-aligned: then all of the pages that the buffer touches
    /// become accessible, so that accesses a little outside it do not fault. Buffers may share a
    /// page if they have the same access; they may not overlap.
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
        // Pages at both ends may belong to a neighbour already; those in between are all new.
        let (first, last) = self.covering(address, end);
        for (other, buffer) in self.neighbours(address, first, last) {
            if buffer.access != access {
                return Err(Error::Memory(format!(
                    "buffer at {address:#x} shares a page with the one at {other:#x}, which has other access"
                )));
            }
        }
        self.give_back_within(first, last)?;
        // A neighbour's guest may have written into the rest of its page. Pages that are new are zero.
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

    /// Gets host memory for the pages of a buffer that is to begin at `address`. If that fails, none of the pages that were free can be
    /// accessed; what has been reserved for them is left.
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
            // Too many mappings: of the process, or because the system allows fewer.
            let has_many = self.borders > FEW_BORDERS;
            if !has_many || self.become_coarse().is_err() {
                // Of several pieces some may have been mapped.
                let _ = self.close_pages(first, last);
                return Err(error);
            }
            // Nothing is parked any more, and what was reserved for that has been given back.
            self.space.reserve(first, last)?;
        }
        self.open(first, last)
    }

    /// Those of a buffer's pages that it shares with no other: only the two at the ends can be shared. They may be none (`first >= last`).
    fn own_pages(&self, address: u64, first: u64, last: u64) -> (u64, u64) {
        let page = self.host_page;
        let from = if self.shared_page(address, first, first + page) { first + page } else { first };
        let to = if self.shared_page(address, last - page, last) { last - page } else { last };
        (from, to)
    }

    /// Takes the contents of pages and all rights to them, as far as there are rights of pages. The table of pages is left as it is.
    fn close_pages(&mut self, first: u64, last: u64) -> Result<(), Error> {
        // Where the system has no mapping left for pages with other rights than their neighbours, all get the same.
        if !self.coarse && self.space.map(first, last - first, Rights::None).is_err() {
            self.become_coarse()?;
        }
        if self.coarse { self.space.forget(first, last - first) } else { Ok(()) }
    }

    /// Unmaps the buffer that begins at `address`; its pages fault from then on.
    ///
    /// # Errors
    /// If none begins there, or the system refuses it: then the buffer is still there.
    pub fn unmap(&mut self, address: u64) -> Result<(), Error> {
        let Some(&buffer) = self.buffers.get(&address) else {
            return Err(Error::Memory(format!("no buffer begins at {address:#x}")));
        };
        let (first, last) = self.covering(address, address + buffer.bytes);
        let (from, to) = self.own_pages(address, first, last);
        if from < to {
            if let Err(error) = self.close_pages(from, to) {
                // Of several pieces some may have been taken. The host must not look where there may be no rights.
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
            // Coarse is right as well if that fails.
            let _ = self.become_fine();
        }
        Ok(())
    }

    /// Gives back what was reserved outside the window for a range, as far as nothing mapped or parked is left in it.
    fn release(&mut self, first: u64, last: u64) {
        let Memory { space, buffers, parked, .. } = self;
        space.release(first, last, |start, end| {
            let before = buffers.range(..=end).next_back();
            before.is_some_and(|(&at, buffer)| at + buffer.bytes > start) || parked.has_any(start, end)
        });
    }

    /// Pages that a buffer had are free, unless others touch them or the ones before.
    fn leave_room(&mut self, first: u64, last: u64) {
        if first >> 32 != 0 {
            return;
        }
        let page = self.host_page;
        // Nothing else can touch those in between.
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

    /// Whether only the table of pages tells what is mapped: compiled code has to look into it.
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
        // Neighbouring pages in one system call.
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
        // Pages with other rights than their neighbours may be too many for the system, here as well.
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

    /// Guest addresses of the window: [`WINDOW_BYTES`], or a smaller power of two where the host has no room for that many.
    pub fn window_bytes(&self) -> u64 {
        self.space.window().bytes()
    }

    /// Whether compiled code must look 64-bit addresses up: there is memory outside the window, or may be during a launch.
    pub(crate) fn needs_translation(&self) -> bool {
        self.space.exceeds_window() || self.window_bytes() < WINDOW_BYTES
    }

    /// The host address of the first guest address of the upper half, where compiled code can reach that.
    pub(crate) fn upper_base(&self) -> Option<*mut u8> {
        self.space.upper().map(|upper| upper.base())
    }

    /// Whether an index of 32 bits may lead from a guest address to memory of the host.
    pub fn has_near_guards(&self) -> bool {
        self.space.window().has_near_guards()
    }

    /// The host address of guest address 0, for compiled code.
    pub fn base(&self) -> *mut u8 {
        self.space.window().base()
    }

    /// The table of page rights ([`PAGE_READ`], [`PAGE_WRITE`]) of the window, one byte a page of [`PAGE_BYTES`] and two more
    /// pages without rights at the end, for compiled code that checks.
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

    /// Places from `first` to `last` where a page has other rights than the one before it. Pages between the first and the last one of the
    /// range have all the same rights: one stands for all.
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
        // Large buffers begin where huge pages may, as long as there is room.
        let huge = (bytes >= HUGE_BYTES as u64).then(|| self.room_for(need, HUGE_BYTES as u64)).flatten();
        huge.or_else(|| self.room_for(need, self.host_page)).ok_or_else(|| {
            Error::Memory(format!("no room for a buffer of {bytes:#x} bytes in 32-bit addresses"))
        })
    }

    /// The first multiple of `align`, itself one of the host's pages, behind which so many bytes are free, where 32-bit guests reach it.
    fn room_for(&self, need: u64, align: u64) -> Option<u64> {
        let found = self.room.find(need / self.host_page, align / self.host_page)?;
        Some(found * self.host_page)
    }
}

#[cfg(test)]
mod refused;
#[cfg(test)]
mod tests;
