//! Pages for code: first written, then made executable, never both at a time.

use super::arch;
use crate::Error;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};

/// A mapping of which each page is either writable (free) or executable (it holds code); unmapped when dropped.
///
/// The mapping is private: a child of `fork` has a copy of its own.
#[derive(Debug)]
pub struct Pages {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value; free pages are touched through `&mut self` only.
unsafe impl Send for Pages {}

/// Bytes of a page of the host.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

impl Pages {
    /// Maps at least `bytes` bytes, all free. Memory is committed page by page when written; or with `whole`, if all of
    /// it will be written, at once, which is faster than a page fault for each page.
    pub fn new(bytes: usize, whole: bool) -> Result<Self, Error> {
        let bytes = bytes.next_multiple_of(page_bytes());
        // Memory of no file: only such mappings does perf look up in /tmp/perf-PID.map.
        // SAFETY: a new mapping where the kernel likes touches nothing that exists.
        let start = unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let flags = if whole { MapFlags::PRIVATE | MapFlags::POPULATE } else { MapFlags::PRIVATE };
            mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags)
        };
        let start = start.map_err(|error| Error::os("code memory", error))?;
        Ok(Pages { start: start.cast(), bytes })
    }

    /// Size of the mapping.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts pieces of code into free pages, the first `lead` bytes behind their start, each at a multiple of `align`
    /// from there, and makes them executable; the rest of them is filled with traps. Gives where the first one runs.
    /// `offset` and `room` are multiples of a page, and the pages are free.
    pub fn fill(
        &mut self,
        offset: usize,
        room: usize,
        lead: usize,
        codes: &[&[u8]],
        align: usize,
    ) -> Result<*const u8, Error> {
        self.check(offset, room);
        // SAFETY: the range is inside the mapping (checked above); it is free, so it is writable, nothing runs there, and nothing but
        // `self` names it.
        let target = unsafe { std::slice::from_raw_parts_mut(self.start.add(offset), room) };
        let (before, mut rest) = target.split_at_mut(lead);
        trap(before);
        for code in codes {
            let (place, behind) = rest.split_at_mut(code.len().next_multiple_of(align));
            let (text, gap) = place.split_at_mut(code.len());
            text.copy_from_slice(code);
            trap(gap);
            rest = behind;
        }
        trap(rest);
        self.protect(offset, room, MprotectFlags::READ | MprotectFlags::EXEC)?;
        let start = self.start.wrapping_add(offset + lead).cast_const();
        arch::publish(start, room - lead);
        Ok(start)
    }

    /// Makes pages with code free and writable again. No thread may be running that code.
    pub fn clear(&mut self, offset: usize, room: usize) -> Result<(), Error> {
        self.check(offset, room);
        self.protect(offset, room, MprotectFlags::READ | MprotectFlags::WRITE)?;
        // SAFETY: the range is inside the mapping, and what it holds is no longer wanted. Where that fails it stays.
        let _ = unsafe { madvise(self.start.add(offset).cast(), room, Advice::LinuxDontNeed) };
        Ok(())
    }

    fn check(&self, offset: usize, room: usize) {
        assert!(offset.is_multiple_of(page_bytes()) && room.is_multiple_of(page_bytes()));
        assert!(offset.checked_add(room).is_some_and(|end| end <= self.bytes));
    }

    fn protect(&mut self, offset: usize, room: usize, rights: MprotectFlags) -> Result<(), Error> {
        // SAFETY: the range is inside the mapping; rights that are taken away nobody uses (the callers' promises).
        unsafe { mprotect(self.start.add(offset).cast(), room, rights) }
            .map_err(|error| Error::os("code memory", error))
    }

    /// The offset of an address in the mapping.
    pub fn offset_of(&self, address: *const u8) -> Option<usize> {
        (address as usize).checked_sub(self.start as usize).filter(|&offset| offset < self.bytes)
    }
}

/// Fills bytes with instructions that trap.
fn trap(bytes: &mut [u8]) {
    match arch::TRAP {
        [trap] => bytes.fill(*trap),
        trap => bytes.iter_mut().zip(trap.iter().cycle()).for_each(|(byte, trap)| *byte = *trap),
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: our mapping; `CodeMemory` drops a segment only when no code is left in it. Failure would only leak.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}
