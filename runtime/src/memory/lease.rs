//! The memory segments that launches map for themselves, and those that are retained for the next launch.
//!
//! Launches that run at the same time share a segment that is the same for both and that no guest writes (code). Otherwise a
//! launch waits until the other one has ended ([`Memory::lease`]).
//!
//! Small launches follow one another by the thousands, and each maps the same few pages: the kernel's code, its arguments.
//! Mapping, filling and protecting them takes longer than such a launch. So after a launch these pages stay mapped in the host,
//! but the page table says that nothing is there, for the guest and the user. Before the next launch starts, pages that it does
//! not reuse are unmapped, so that accesses to them fault in compiled code too.

use super::Memory;
use super::buffer::{Buffer, Kind};
use super::edit::Edit;
use super::pages::Access;
use super::reservation::Rights;
use super::retained::{Lease, RetainedPages};
use crate::{Error, LaunchError, MemoryError};
use std::time::Duration;

/// A launch's segments, as long as it runs.
#[derive(Debug)]
pub(crate) struct Leased(Vec<u64>);

/// Whether segments could be mapped.
enum Mapped {
    Yes(Leased),
    /// Another launch uses an address for something else.
    Later(Vec<Lease>),
}

/// Most bytes that are retained.
const MOST_BYTES: u64 = 4 << 20;

impl Memory {
    /// Maps the segments of a launch; waits while another launch uses their addresses for something else. `None`: `give_up`
    /// said so meanwhile.
    pub(crate) fn lease(
        &self,
        mut wanted: Vec<Lease>,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Option<Leased>, Error> {
        if self.needs_signals() {
            return match wanted.first() {
                None => Ok(Some(Leased(Vec::new()))),
                Some(segment) => Err(LaunchError::SegmentOfEmbedder { segment: segment.name }.into()),
            };
        }
        let mut pause = Duration::from_micros(5);
        loop {
            match self.edit(|edit| edit.lease(wanted))? {
                Mapped::Yes(leased) => return Ok(Some(leased)),
                Mapped::Later(list) => wanted = list,
            }
            if give_up() {
                return Ok(None);
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(1));
        }
    }

    /// Ends the use of a launch's segments. Retains them for the next launch, if no other launch runs.
    pub(crate) fn end_lease(&self, leased: Leased) {
        if !self.needs_signals() {
            let _ = self.edit(|edit| {
                edit.end_lease(&leased);
                Ok(())
            });
        }
    }
}

impl Edit<'_> {
    fn lease(&mut self, wanted: Vec<Lease>) -> Result<Mapped, Error> {
        let retained = &mut self.state.retained;
        let differs = |segment: &Lease| {
            let known = retained.leases.iter().find(|(known, _)| known.address == segment.address);
            known.is_some_and(|(known, _)| !known.can_be_shared(segment))
        };
        if wanted.iter().any(differs) {
            return Ok(Mapped::Later(wanted));
        }
        let addresses: Vec<u64> = wanted.iter().map(|segment| segment.address).collect();
        self.give_back_others(&addresses)?;
        let mut leased = Leased(Vec::new());
        self.state.retained.launches += 1;
        for segment in wanted {
            let Lease { name, address, bytes, access, .. } = segment;
            let leases = &mut self.state.retained.leases;
            if let Some((_, users)) = leases.iter_mut().find(|(known, _)| known.address == address) {
                *users += 1;
            } else if let Err(error) = self.map_retained(address, bytes, access, &segment.contents) {
                self.end_lease(&leased);
                return Err(LaunchError::Segment { segment: name, source: Box::new(error) }.into());
            } else {
                self.state.retained.leases.push((segment, 1));
            }
            leased.0.push(address);
        }
        Ok(Mapped::Yes(leased))
    }

    fn end_lease(&mut self, leased: &Leased) {
        self.state.retained.launches -= 1;
        for &address in &leased.0 {
            let leases = &mut self.state.retained.leases;
            let Some(at) = leases.iter().position(|(known, _)| known.address == address) else { continue };
            leases[at].1 -= 1;
            if leases[at].1 > 0 {
                continue;
            }
            let (segment, _) = leases.swap_remove(at);
            // Cannot fail: it has been mapped, and nobody else knows of it. (The embedder may have unmapped it.)
            let _ = match self.state.retained.launches {
                0 => self.retain(address, segment.contents),
                // The others would find it where nothing is mapped.
                _ => self.unmap(address),
            };
        }
    }

    /// Maps memory that begins with `contents`, as `map` and `write` do, but reuses retained memory
    /// with the same contents. Then the bytes after `contents` are as the last launch left them.
    pub(super) fn map_retained(
        &mut self,
        address: u64,
        bytes: u64,
        access: Access,
        contents: &[u8],
    ) -> Result<(), Error> {
        let wanted = Buffer { bytes, access, kind: Kind::Own };
        let is_there =
            self.state.retained.by_address.get(&address).is_some_and(|pages| pages.buffer == wanted);
        let Some(retained) = is_there.then(|| self.state.retained.take(address)).flatten() else {
            self.give_back_at(address)?;
            self.map(Some(address), bytes, access)?;
            return self.write_first(address, contents);
        };
        let (first, last) = self.covering(address, address + bytes);
        self.set_pages(first, last, access.flags());
        self.state.buffers.insert(address, wanted);
        self.state.free.set(first / self.host_page(), last / self.host_page() + 1, true);
        if access == Access::ReadOnly && retained.contents == contents {
            return Ok(());
        }
        self.write_first(address, contents)
    }

    /// Writes the contents of a new mapping; if that fails, unmaps it again.
    fn write_first(&mut self, address: u64, contents: &[u8]) -> Result<(), Error> {
        let end = address + contents.len() as u64;
        let written = self.unprotected(address, end, |edit| edit.memory.copy_in(address, contents));
        let written = written.and_then(|done| done.map_err(|source| MemoryError::Gone { source }.into()));
        written.inspect_err(|_| {
            let _ = self.unmap(address);
        })
    }

    /// Unmaps a buffer that was mapped with `contents`, and retains it for [`Edit::map_retained`] if it is small.
    pub(super) fn retain(&mut self, address: u64, contents: Vec<u8>) -> Result<(), Error> {
        let Some(&buffer) = self.state.buffers.get(&address) else { return self.unmap(address) };
        let (first, last) = self.covering(address, address + buffer.bytes);
        let is_identity = self.memory.0.form.is_identity;
        if is_identity
            || self.shared_page(address, first, last)
            || self.state.retained.bytes + buffer.bytes > MOST_BYTES
        {
            return self.unmap(address);
        }
        let aliases = self.close_aliases(first, last);
        self.end_aliases(aliases);
        self.set_pages(first, last, 0);
        // Pages whose stores are recorded may be read-only on the host.
        if self.space().tracks_writes()
            && self.protect_part(address, buffer, (first, last), buffer.access).is_err()
        {
            return self.unmap(address);
        }
        self.state.buffers.remove(&address);
        self.mark_free(first, last);
        self.state.retained.put(address, RetainedPages { buffer, contents });
        Ok(())
    }

    /// Releases all retained memory that does not begin at one of the addresses in `wanted`.
    pub(super) fn give_back_others(&mut self, wanted: &[u64]) -> Result<(), Error> {
        let others =
            self.state.retained.by_address.keys().copied().filter(|address| !wanted.contains(address));
        for address in others.collect::<Vec<u64>>() {
            self.give_back_at(address)?;
        }
        Ok(())
    }

    /// Releases retained memory in the pages from `first` to `last`, before they get another use.
    pub(super) fn give_back_within(&mut self, first: u64, last: u64) -> Result<(), Error> {
        let touches = |(&at, pages): (&u64, &RetainedPages)| {
            let (start, end) = self.covering(at, at + pages.buffer.bytes);
            (start < last && first < end).then_some(at)
        };
        for address in self.state.retained.by_address.iter().filter_map(touches).collect::<Vec<u64>>() {
            self.give_back_at(address)?;
        }
        Ok(())
    }

    fn give_back_at(&mut self, address: u64) -> Result<(), Error> {
        let Some(&RetainedPages { buffer, .. }) = self.state.retained.by_address.get(&address) else {
            return Ok(());
        };
        let (first, last) = self.covering(address, address + buffer.bytes);
        if self.state.coarse {
            self.space().forget(first, last - first)?;
        } else if self.space().map(first, last - first, Rights::None).is_err() {
            // This releases all retained memory.
            return self.become_coarse();
        }
        self.state.retained.take(address);
        self.release(first, last);
        Ok(())
    }

    /// The retained page ranges with their rights.
    pub(super) fn retained_pages(&self) -> impl Iterator<Item = ((u64, u64), Access)> + '_ {
        let pages = self.state.retained.by_address.iter();
        pages.map(|(&at, RetainedPages { buffer, .. })| (self.covering(at, at + buffer.bytes), buffer.access))
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::Form;
    use super::super::reservation::Reservation;
    use super::*;

    const AT: u64 = 0x7000_0000;

    fn host_reads(memory: &Memory, at: u64, bytes: usize) -> Option<Vec<u8>> {
        let mut out = vec![0; bytes];
        memory.read(at, &mut out).ok().map(|()| out)
    }

    #[test]
    fn retained_memory_is_not_mapped_and_comes_back() {
        let memory = Memory::new().unwrap();
        for access in [Access::ReadOnly, Access::ReadWrite] {
            for contents in [[1, 2], [1, 2], [3, 4]] {
                memory.edit(|edit| edit.map_retained(AT, 5000, access, &contents)).unwrap();
                assert_eq!(host_reads(&memory, AT, 2).unwrap(), contents);
                assert!(memory.map(Some(AT + 4096), 1, access).is_err(), "taken");
                assert_eq!(memory.store(AT, 1, 9).is_ok(), access == Access::ReadWrite);
                memory.edit(|edit| edit.retain(AT, contents.to_vec())).unwrap();
                assert_eq!(memory.buffers().count(), 0);
                assert!(host_reads(&memory, AT, 1).is_none() && memory.load(AT + 4096, 1).is_err());
            }
        }
    }

    #[test]
    fn others_get_zeroed_pages_where_something_was_retained() {
        let memory = Memory::new().unwrap();
        for at in [AT, AT + 4096] {
            memory.edit(|edit| edit.map_retained(AT, 8192, Access::ReadWrite, &[7; 8192])).unwrap();
            memory.edit(|edit| edit.retain(AT, vec![7; 8192])).unwrap();
            memory.map(Some(at), 1, Access::ReadWrite).unwrap();
            assert_eq!(host_reads(&memory, at, 1).unwrap(), [0]);
            assert!(memory.retained_bytes() == 0);
            memory.unmap(at).unwrap();
        }
        // Of another size, with other rights.
        for (bytes, access) in
            [(8192, Access::ReadWrite), (4096, Access::ReadWrite), (4096, Access::ReadOnly)]
        {
            memory.edit(|edit| edit.map_retained(AT, bytes, access, &[7; 16])).unwrap();
            assert_eq!(host_reads(&memory, AT, 17).unwrap()[15..], [7, 0]);
            assert_eq!(host_reads(&memory, AT + 4096, 1).is_some(), bytes > 4096);
            memory.edit(|edit| edit.retain(AT, vec![7; 16])).unwrap();
        }
        memory.edit(|edit| edit.give_back_others(&[AT])).unwrap();
        assert_eq!(memory.retained_bytes(), 4096);
        memory.edit(|edit| edit.give_back_others(&[])).unwrap();
        assert_eq!(memory.retained_bytes(), 0);
    }

    #[test]
    fn what_is_retained_outside_the_window_stays_there() {
        // Both at an upper window and in a slab.
        for at in [0x9_7000_0000, 0xffff_8000_7000_0000] {
            let memory = Memory::with_window(Reservation::near(1 << 32).unwrap(), Form::default()).unwrap();
            for _ in 0..2 {
                memory.edit(|edit| edit.map_retained(at, 5000, Access::ReadOnly, &[1, 2])).unwrap();
                memory.map(Some(at + 0x10_0000), 16, Access::ReadWrite).unwrap();
                memory.edit(|edit| edit.retain(at, vec![1, 2])).unwrap();
                memory.unmap(at + 0x10_0000).unwrap();
                memory.edit(|edit| edit.map_retained(at, 5000, Access::ReadOnly, &[1, 2])).unwrap();
                assert_eq!(host_reads(&memory, at, 3).unwrap(), [1, 2, 0]);
                memory.edit(|edit| edit.retain(at, vec![1, 2])).unwrap();
                assert!(memory.0.space.exceeds_window());
                // Given back for another one, and with nothing instead.
                memory.edit(|edit| edit.map_retained(at, 6000, Access::ReadWrite, &[3])).unwrap();
                assert_eq!(host_reads(&memory, at, 3).unwrap(), [3, 0, 0]);
                memory.edit(|edit| edit.retain(at, vec![3])).unwrap();
                memory.edit(|edit| edit.give_back_others(&[])).unwrap();
                assert!(!memory.0.space.exceeds_window());
            }
        }
    }

    #[test]
    fn what_is_large_or_shares_a_page_is_unmapped() {
        let memory = Memory::new().unwrap();
        memory.edit(|edit| edit.map_retained(AT, MOST_BYTES + 1, Access::ReadWrite, &[])).unwrap();
        memory.edit(|edit| edit.retain(AT, Vec::new())).unwrap();
        memory.edit(|edit| edit.map_retained(AT, 16, Access::ReadWrite, &[1])).unwrap();
        memory.map(Some(AT + 16), 16, Access::ReadWrite).unwrap();
        memory.edit(|edit| edit.retain(AT, vec![1])).unwrap();
        assert!(memory.retained_bytes() == 0);
        assert_eq!(memory.buffers().count(), 1);
        assert!(memory.edit(|edit| edit.retain(AT, Vec::new())).is_err(), "nothing begins there");
    }
}
