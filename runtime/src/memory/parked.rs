//! Retains the memory segments that a launch has mapped, for the next launch.
//!
//! Small launches follow one another by the thousands, and each maps the same few pages: the kernel's code, its arguments.
//! Mapping, filling and protecting them takes longer than such a launch. So after a launch these pages stay mapped in the host,
//! but the page table says that nothing is there, for the guest and the user. Before the next launch starts, pages that it does
//! not reuse are unmapped, so that accesses to them fault in compiled code too.

use super::reservation::Rights;
use super::{Access, Buffer, Memory};
use crate::Error;
use std::collections::BTreeMap;

/// Most bytes that are retained.
const MOST_BYTES: u64 = 4 << 20;

/// Retained memory, by address.
#[derive(Debug, Default)]
pub(super) struct Parked {
    by_address: BTreeMap<u64, Pages>,
    bytes: u64,
}

#[derive(Debug)]
struct Pages {
    buffer: Buffer,
    /// The initial contents. Guest code may have changed them if the memory is writable.
    contents: Vec<u8>,
}

impl Parked {
    fn take(&mut self, address: u64) -> Option<Pages> {
        let pages = self.by_address.remove(&address)?;
        self.bytes -= pages.buffer.bytes;
        Some(pages)
    }

    /// Whether anything is retained from `start` to `end` (inclusive).
    pub(super) fn has_any(&self, start: u64, end: u64) -> bool {
        let before = self.by_address.range(..=end).next_back();
        before.is_some_and(|(&at, pages)| at + pages.buffer.bytes > start)
    }

    fn put(&mut self, address: u64, pages: Pages) {
        self.bytes += pages.buffer.bytes;
        self.by_address.insert(address, pages);
    }
}

impl Memory {
    /// Maps memory that begins with `contents`, as [`Memory::map`] and [`Memory::write`] do, but reuses retained memory
    /// with the same contents. Then the bytes after `contents` are as the last launch left them.
    pub(crate) fn map_parked(
        &mut self,
        address: u64,
        bytes: u64,
        access: Access,
        contents: &[u8],
    ) -> Result<(), Error> {
        let wanted = Buffer { bytes, access };
        let is_there = self.parked.by_address.get(&address).is_some_and(|parked| parked.buffer == wanted);
        let Some(parked) = is_there.then(|| self.parked.take(address)).flatten() else {
            self.give_back_at(address)?;
            self.map(Some(address), bytes, access)?;
            return self.write_first(address, contents);
        };
        let (first, last) = self.covering(address, address + bytes);
        self.set_pages(first, last, access.flags());
        self.buffers.insert(address, wanted);
        self.room.set(first / self.host_page, last / self.host_page + 1, true);
        if access == Access::ReadOnly && parked.contents == contents {
            return Ok(());
        }
        self.write_first(address, contents)
    }

    /// Writes the contents of a new mapping; if that fails, unmaps it again.
    fn write_first(&mut self, address: u64, contents: &[u8]) -> Result<(), Error> {
        self.write(address, contents).inspect_err(|_| {
            let _ = self.unmap(address);
        })
    }

    /// Unmaps a buffer that was mapped with `contents`, and retains it for [`Memory::map_parked`] if it is small.
    pub(crate) fn park(&mut self, address: u64, contents: Vec<u8>) -> Result<(), Error> {
        let Some(&buffer) = self.buffers.get(&address) else { return self.unmap(address) };
        let (first, last) = self.covering(address, address + buffer.bytes);
        if self.shared_page(address, first, last) || self.parked.bytes + buffer.bytes > MOST_BYTES {
            return self.unmap(address);
        }
        self.buffers.remove(&address);
        self.leave_room(first, last);
        self.set_pages(first, last, 0);
        self.parked.put(address, Pages { buffer, contents });
        Ok(())
    }

    /// Releases all retained memory that does not begin at one of the addresses in `wanted`.
    pub(crate) fn give_back_others(&mut self, wanted: &[u64]) -> Result<(), Error> {
        let others = self.parked.by_address.keys().copied().filter(|address| !wanted.contains(address));
        for address in others.collect::<Vec<u64>>() {
            self.give_back_at(address)?;
        }
        Ok(())
    }

    /// Releases retained memory in the pages from `first` to `last`, before they get another use.
    pub(super) fn give_back_within(&mut self, first: u64, last: u64) -> Result<(), Error> {
        let touches = |(&at, pages): (&u64, &Pages)| {
            let (start, end) = self.covering(at, at + pages.buffer.bytes);
            (start < last && first < end).then_some(at)
        };
        for address in self.parked.by_address.iter().filter_map(touches).collect::<Vec<u64>>() {
            self.give_back_at(address)?;
        }
        Ok(())
    }

    fn give_back_at(&mut self, address: u64) -> Result<(), Error> {
        let Some(&Pages { buffer, .. }) = self.parked.by_address.get(&address) else { return Ok(()) };
        let (first, last) = self.covering(address, address + buffer.bytes);
        if self.coarse {
            self.space.forget(first, last - first)?;
        } else if self.space.map(first, last - first, Rights::None).is_err() {
            // This releases all retained memory.
            return self.become_coarse();
        }
        self.parked.take(address);
        self.release(first, last);
        Ok(())
    }

    /// The retained page ranges with their rights.
    pub(super) fn parked_pages(&self) -> impl Iterator<Item = ((u64, u64), Access)> + '_ {
        let parked = self.parked.by_address.iter();
        parked.map(|(&at, Pages { buffer, .. })| (self.covering(at, at + buffer.bytes), buffer.access))
    }
}

#[cfg(test)]
mod tests {
    use super::super::reservation::Reservation;
    use super::*;

    const AT: u64 = 0x7000_0000;

    fn host_reads(memory: &Memory, at: u64, bytes: usize) -> Option<Vec<u8>> {
        let mut out = vec![0; bytes];
        memory.read(at, &mut out).ok().map(|()| out)
    }

    #[test]
    fn parked_memory_is_not_mapped_and_comes_back() {
        let mut memory = Memory::new().unwrap();
        for access in [Access::ReadOnly, Access::ReadWrite] {
            for contents in [[1, 2], [1, 2], [3, 4]] {
                memory.map_parked(AT, 5000, access, &contents).unwrap();
                assert_eq!(host_reads(&memory, AT, 2).unwrap(), contents);
                assert!(memory.map(Some(AT + 4096), 1, access).is_err(), "taken");
                assert_eq!(memory.store(AT, 1, 9).is_ok(), access == Access::ReadWrite);
                memory.park(AT, contents.to_vec()).unwrap();
                assert_eq!(memory.buffers().count(), 0);
                assert!(host_reads(&memory, AT, 1).is_none() && memory.load(AT + 4096, 1).is_err());
            }
        }
    }

    #[test]
    fn others_get_zeroed_pages_where_something_was_parked() {
        let mut memory = Memory::new().unwrap();
        for at in [AT, AT + 4096] {
            memory.map_parked(AT, 8192, Access::ReadWrite, &[7; 8192]).unwrap();
            memory.park(AT, vec![7; 8192]).unwrap();
            memory.map(Some(at), 1, Access::ReadWrite).unwrap();
            assert_eq!(host_reads(&memory, at, 1).unwrap(), [0]);
            assert!(memory.parked.by_address.is_empty() && memory.parked.bytes == 0);
            memory.unmap(at).unwrap();
        }
        // Of another size, with other rights.
        for (bytes, access) in
            [(8192, Access::ReadWrite), (4096, Access::ReadWrite), (4096, Access::ReadOnly)]
        {
            memory.map_parked(AT, bytes, access, &[7; 16]).unwrap();
            assert_eq!(host_reads(&memory, AT, 17).unwrap()[15..], [7, 0]);
            assert_eq!(host_reads(&memory, AT + 4096, 1).is_some(), bytes > 4096);
            memory.park(AT, vec![7; 16]).unwrap();
        }
        memory.give_back_others(&[AT]).unwrap();
        assert_eq!(memory.parked.bytes, 4096);
        memory.give_back_others(&[]).unwrap();
        assert_eq!(memory.parked.bytes, 0);
    }

    #[test]
    fn what_is_parked_outside_the_window_stays_there() {
        // Both at an upper window and in a slab.
        for at in [0x9_7000_0000, 0xffff_8000_7000_0000] {
            let mut memory = Memory::with_window(Reservation::near(1 << 32).unwrap());
            for _ in 0..2 {
                memory.map_parked(at, 5000, Access::ReadOnly, &[1, 2]).unwrap();
                memory.map(Some(at + 0x10_0000), 16, Access::ReadWrite).unwrap();
                memory.park(at, vec![1, 2]).unwrap();
                memory.unmap(at + 0x10_0000).unwrap();
                memory.map_parked(at, 5000, Access::ReadOnly, &[1, 2]).unwrap();
                assert_eq!(host_reads(&memory, at, 3).unwrap(), [1, 2, 0]);
                memory.park(at, vec![1, 2]).unwrap();
                assert!(memory.space.exceeds_window());
                // Given back for another one, and with nothing instead.
                memory.map_parked(at, 6000, Access::ReadWrite, &[3]).unwrap();
                assert_eq!(host_reads(&memory, at, 3).unwrap(), [3, 0, 0]);
                memory.park(at, vec![3]).unwrap();
                memory.give_back_others(&[]).unwrap();
                assert!(!memory.space.exceeds_window());
            }
        }
    }

    #[test]
    fn what_is_large_or_shares_a_page_is_unmapped() {
        let mut memory = Memory::new().unwrap();
        memory.map_parked(AT, MOST_BYTES + 1, Access::ReadWrite, &[]).unwrap();
        memory.park(AT, Vec::new()).unwrap();
        memory.map_parked(AT, 16, Access::ReadWrite, &[1]).unwrap();
        memory.map(Some(AT + 16), 16, Access::ReadWrite).unwrap();
        memory.park(AT, vec![1]).unwrap();
        assert!(memory.parked.by_address.is_empty());
        assert_eq!(memory.buffers().count(), 1);
        assert!(memory.park(AT, Vec::new()).is_err(), "nothing begins there");
    }
}
