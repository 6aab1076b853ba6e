//! The end of mappings: what is unmapped, and the aliases that showed it.

use super::Edit;
use crate::memory::PAGE_SPECIAL;
use crate::memory::anywhere;
use crate::memory::buffer::{Buffer, Kind};
use crate::memory::reservation::Rights;
use crate::{Error, MemoryError};

impl Edit<'_> {
    /// See [`crate::memory::Memory::unmap`].
    pub fn unmap(&mut self, address: u64) -> Result<(), Error> {
        let Some(&buffer) = self.state.buffers.get(&address) else {
            return Err(MemoryError::NoBuffer { address }.into());
        };
        let (first, last) = self.covering(address, address + buffer.bytes);
        if self.memory.0.form.is_identity || buffer.kind != Kind::Own {
            return self.unmap_whole(address, buffer, first, last);
        }
        let (from, to) = self.own_pages(address, first, last);
        if from < to {
            let aliases = self.close_aliases(from, to);
            // Before the pages go: accesses find nothing, and no store makes one of them writable.
            self.set_pages(from, to, 0);
            if let Err(error) = self.expect_faults().and_then(|()| self.close_pages(from, to)) {
                // Some of several reserved ranges may have been unmapped. The host must not access pages that may have no
                // rights.
                let is_there = self.space().protect(from, to - from, buffer.access.rights()).is_ok();
                self.set_pages(from, to, if is_there { buffer.access.flags() } else { 0 });
                self.reopen_aliases(aliases);
                return Err(error);
            }
            self.end_aliases(aliases);
        }
        self.forget_buffer(address, first, last);
        if self.state.buffers.is_empty() {
            // If that fails, memory stays coarse, which is also correct.
            let _ = self.become_fine();
        }
        Ok(())
    }

    fn forget_buffer(&mut self, address: u64, first: u64, last: u64) {
        self.state.buffers.remove(&address);
        let (from, to) = self.own_pages(address, first, last);
        if from < to {
            self.space().watch(from, to, None);
        }
        self.mark_free(first, last);
        self.release(first, last);
    }

    /// Unmaps a buffer that has whole pages for itself.
    fn unmap_whole(&mut self, address: u64, buffer: Buffer, first: u64, last: u64) -> Result<(), Error> {
        // Accesses find nothing before the pages go.
        self.set_pages(first, last, 0);
        let aliases = self.close_aliases(first, last);
        let done = self.expect_faults().and_then(|()| match buffer.kind {
            Kind::Registered => Ok(()),
            Kind::Special => {
                self.space().remove_special(address);
                Ok(())
            }
            // An access that has looked the page up before may still be on its way. What the system would put there next may be
            // anybody's.
            Kind::Own | Kind::Shared if self.memory.0.form.is_identity => anywhere::hide(first, last - first),
            Kind::Own | Kind::Shared => self.space().map(first, last - first, Rights::None),
        });
        if let Err(error) = done {
            self.set_pages(first, last, buffer.access.flags());
            self.reopen_aliases(aliases);
            return Err(error);
        }
        self.end_aliases(aliases);
        if self.memory.0.form.is_identity && buffer.kind.is_ours() {
            self.state.left.push((first, last - first));
        }
        self.forget_buffer(address, first, last);
        if self.is_elsewhere(first, last, buffer.kind) {
            self.count_elsewhere(last - first, false);
        }
        Ok(())
    }

    /// Discards the contents of pages and, unless memory is coarse, all rights to them. Does not change the page table.
    pub(super) fn close_pages(&mut self, first: u64, last: u64) -> Result<(), Error> {
        // If the system has no mappings left, make memory coarse, so that all pages have the same rights.
        if !self.state.coarse {
            let Err(error) = self.space().map(first, last - first, Rights::None) else { return Ok(()) };
            self.become_coarse().map_err(|_| error)?;
        }
        self.space().forget(first, last - first)
    }

    /// Accesses to aliases of memory that is about to go find nothing from now on. Their buffers stay. Gives what
    /// [`Edit::end_aliases`] removes, or [`Edit::reopen_aliases`] shows again.
    pub fn close_aliases(&mut self, first: u64, last: u64) -> Vec<(u64, u64)> {
        let aliases = self.space().aliases_of(first, last);
        for &(start, end) in &aliases {
            self.set_pages(start, end, 0);
        }
        aliases
    }

    /// The memory of aliases is gone.
    pub fn end_aliases(&mut self, aliases: Vec<(u64, u64)>) {
        for (start, _) in aliases {
            self.space().remove_special(start);
        }
    }

    /// The memory of aliases could not be unmapped.
    fn reopen_aliases(&mut self, aliases: Vec<(u64, u64)>) {
        for (start, end) in aliases {
            self.set_pages(start, end, PAGE_SPECIAL);
        }
    }
}
