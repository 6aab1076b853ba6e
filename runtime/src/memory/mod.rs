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
use reservation::{HUGE_BYTES, Rights};
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
}

impl Memory {
    /// Makes an empty address space.
    pub fn new() -> Result<Self, Error> {
        let host_page = (rustix::param::page_size() as u64).max(PAGE_BYTES);
        Ok(Memory {
            space: Space::new()?,
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
        })
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
        self.space.reserve(first, last)?;
        self.map_pages(first, last, access)?;
        self.set_pages(first, last, access.flags());
        self.buffers.insert(address, Buffer { bytes, access });
        self.room.set(first / self.host_page, last / self.host_page + 1, true);
        // A neighbour's guest may have written into the rest of its page. Pages that are new are zero.
        for page in [first, last - self.host_page] {
            let behind = page + self.host_page;
            if self.shared_page(address, page, behind) {
                let start = address.max(page);
                self.fill_zero(start, end.min(behind) - start)?;
            }
        }
        Ok(address)
    }

    /// Maps those of some pages that no neighbour has mapped yet.
    fn map_pages(&mut self, first: u64, last: u64, access: Access) -> Result<(), Error> {
        if !self.coarse && self.borders > MOST_BORDERS {
            self.become_coarse()?;
        }
        if self.coarse {
            return self.space.open(first, last);
        }
        match self.map_each(first, last, access) {
            // Too many mappings: of the process, or because the system allows fewer.
            Err(_) if self.borders > FEW_BORDERS => {
                self.become_coarse()?;
                self.space.open(first, last)
            }
            result => result,
        }
    }

    /// The same page after page, with the rights.
    fn map_each(&mut self, first: u64, last: u64, access: Access) -> Result<(), Error> {
        let mut page = first;
        let mut fresh = first;
        while page <= last {
            let taken = page < last && self.page_flags(page) != 0;
            if taken || page == last {
                if page > fresh {
                    self.space.map(fresh, page - fresh, access.rights())?;
                }
                fresh = page + self.host_page;
            }
            page += self.host_page;
        }
        Ok(())
    }

    /// Takes pages that no buffer touches from the guest.
    fn unmap_pages(&mut self, first: u64, last: u64) -> Result<(), Error> {
        match self.coarse {
            true => self.space.forget(first, last - first)?,
            false => self.space.map(first, last - first, Rights::None)?,
        }
        self.set_pages(first, last, 0);
        Ok(())
    }

    /// Unmaps the buffer that begins at `address`; its pages fault from then on.
    pub fn unmap(&mut self, address: u64) -> Result<(), Error> {
        let Some(buffer) = self.buffers.remove(&address) else {
            return Err(Error::Memory(format!("no buffer begins at {address:#x}")));
        };
        let (first, last) = self.covering(address, address + buffer.bytes);
        self.leave_room(first, last);
        let mut page = first;
        while page < last {
            let shared = self.neighbours(address, page, page + self.host_page).next().is_some();
            // Whole runs of pages at once; only the two at the ends can be shared.
            let mut end = page + self.host_page;
            if !shared {
                while end < last && self.neighbours(address, end, end + self.host_page).next().is_none() {
                    end += self.host_page;
                }
                self.unmap_pages(page, end)?;
            }
            page = end;
        }
        let Memory { space, buffers, .. } = self;
        space.release(first, last, |start, end| {
            buffers.range(..=end).next_back().is_some_and(|(&at, buffer)| at + buffer.bytes > start)
        });
        if self.buffers.is_empty() {
            self.become_fine()?;
        }
        Ok(())
    }

    /// Pages that a buffer had are free, unless others touch them or the ones before.
    fn leave_room(&mut self, first: u64, last: u64) {
        if first >> 32 != 0 {
            return;
        }
        let page = self.host_page;
        // Nothing else can touch those in between.
        let inside = (first / page + 2, (last / page).saturating_sub(1));
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
        for &(page, bytes) in &runs {
            self.space.protect(page, bytes, Rights::ReadWrite)?;
        }
        work(self);
        for &(page, bytes) in &runs {
            self.space.protect(page, bytes, Rights::Read)?;
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
mod tests;
