//! Adds mappings to a memory: zeroed pages of its own, a file's or the embedder's pages, a second address of pages that are mapped
//! already (an alias), and ranges that a device answers.
//!
//! Each function checks the request, makes the host's mapping, and records the buffer and the rights of its pages.

use super::Edit;
use crate::memory::buffer::{Buffer, Kind};
use crate::memory::pages::rights_of;
use crate::memory::reservation::{Backing, Rights};
use crate::memory::special::{HostPointer, Special, SpecialRange};
use crate::memory::{Access, PAGE_SPECIAL};
use crate::{Error, MemoryError};

impl Edit<'_> {
    /// See [`crate::memory::Memory::map`].
    pub fn map(&mut self, address: Option<u64>, bytes: u64, access: Access) -> Result<u64, Error> {
        if bytes == 0 {
            return Err(MemoryError::Empty.into());
        }
        if self.memory.0.form.is_identity {
            return self.map_identity(address, bytes, access);
        }
        let address = match address {
            Some(address) => address,
            None => self.find_free(bytes)?,
        };
        let end = self.end_of_new(address, bytes)?;
        // The pages at both ends may already belong to a neighbour. Those in between are all new.
        let (first, last) = self.covering(address, end);
        for (other, buffer) in self.neighbours(address, first, last) {
            if buffer.access != access || buffer.kind != Kind::Own {
                let own_pages = buffer.kind != Kind::Own;
                return Err(MemoryError::SharedPage { address, other, own_pages }.into());
            }
        }
        // The rights of a neighbour's pages may have been changed since.
        for page in [first, last - self.host_page()] {
            let is_other = rights_of(self.page_flags(page)) != access.flags();
            if is_other && self.shared_page(address, page, page + self.host_page()) {
                return Err(MemoryError::SharedRights { address, page }.into());
            }
        }
        self.give_back_within(first, last)?;
        // The guest may have written to the rest of a neighbour's page. New pages are zero.
        for page in [first, last - self.host_page()] {
            let behind = page + self.host_page();
            if self.shared_page(address, page, behind) {
                let start = address.max(page);
                self.fill_zero(start, end.min(behind) - start)?;
            }
        }
        self.claim(address, first, last, access).inspect_err(|_| self.release(first, last))?;
        // What is recorded about a neighbour's page stays.
        let (from, to) = self.own_pages(address, first, last);
        if from < to {
            self.set_pages(from, to, access.flags());
        }
        self.add(address, Buffer { bytes, access, kind: Kind::Own }, first, last);
        Ok(address)
    }

    /// The address of a buffer that has whole pages for itself.
    pub(super) fn whole_pages(&mut self, address: Option<u64>, bytes: u64) -> Result<u64, Error> {
        if bytes == 0 {
            return Err(MemoryError::Empty.into());
        }
        self.aligned("address and size of a mapping", &[address.unwrap_or(0), bytes])?;
        let address = match address {
            Some(address) => address,
            None if self.memory.0.form.is_identity => {
                return Err(MemoryError::NeedsAddress.into());
            }
            None => self.find_free(bytes)?,
        };
        let end = self.end_of_new(address, bytes)?;
        if let Some((other, _)) = self.neighbours(address, address, end).next() {
            return Err(MemoryError::PartOfPage { address, other }.into());
        }
        self.give_back_within(address, end)?;
        Ok(address)
    }

    /// Maps pages of something else.
    pub fn map_backing(
        &mut self,
        address: Option<u64>,
        bytes: u64,
        access: Access,
        backing: &Backing<'_>,
    ) -> Result<u64, Error> {
        if let Backing::File { offset, .. } = *backing {
            self.aligned("offset in a file", &[offset])?;
        }
        if self.memory.0.form.is_identity {
            if bytes == 0 {
                return Err(MemoryError::Empty.into());
            }
            self.aligned("address and size of a mapping", &[address.unwrap_or(0), bytes])?;
            return self.map_backing_identity(address, bytes, access, backing);
        }
        if self.state.coarse {
            return Err(MemoryError::TooManyMappings.into());
        }
        let address = self.whole_pages(address, bytes)?;
        let end = address + bytes;
        self.space().reserve(address, end)?;
        if let Err(error) = self.space().map_backing(address, bytes, access.rights(), backing) {
            let _ = self.space().map(address, bytes, Rights::None);
            self.release(address, end);
            return Err(error);
        }
        self.set_pages(address, end, access.flags());
        self.add(address, Buffer { bytes, access, kind: Kind::Shared }, address, end);
        Ok(address)
    }

    /// See [`crate::memory::Memory::map_host`].
    pub fn map_host(
        &mut self,
        address: Option<u64>,
        pointer: *mut u8,
        bytes: u64,
        access: Access,
    ) -> Result<u64, Error> {
        self.aligned("host memory", &[pointer.addr() as u64, bytes])?;
        if self.memory.0.form.is_identity {
            let own = pointer.addr() as u64;
            if let Some(address) = address.filter(|&address| address != own) {
                return Err(MemoryError::OtherThanPointer { address, pointer: own }.into());
            }
            self.outside_own(own, bytes)?;
            let own = self.whole_pages(Some(own), bytes)?;
            self.count_elsewhere(bytes, true);
            self.set_pages(own, own + bytes, access.flags());
            self.state.buffers.insert(own, Buffer { bytes, access, kind: Kind::Registered });
            return Ok(own);
        }
        if !self.state.coarse
            && !self.memory.0.form.careful
            && let Ok(address) = self.map_backing(address, bytes, access, &Backing::Host(pointer))
        {
            return Ok(address);
        }
        self.map_special(address, bytes, access, Special::Host(HostPointer(pointer)), None)
    }

    /// See [`crate::memory::Memory::map_alias`].
    pub fn map_alias(
        &mut self,
        address: Option<u64>,
        of: u64,
        bytes: u64,
        access: Access,
    ) -> Result<u64, Error> {
        self.aligned("an alias", &[of, bytes])?;
        let none = || MemoryError::NothingToShow { address: of, bytes };
        let (&start, &buffer) = self.state.buffers.range(..=of).next_back().ok_or_else(none)?;
        let end = of.checked_add(bytes).ok_or_else(none)?;
        if end > (start + buffer.bytes).next_multiple_of(self.host_page()) {
            return Err(none().into());
        }
        if let Some(special) = self.space().special_at(of) {
            // An alias of an alias shows the same memory.
            let source = special.source.map_or(of, |source| source + (of - special.start));
            let what = match &special.what {
                Special::Host(_) => Special::Host(HostPointer(special.pointer(of))),
                Special::Device(_) => {
                    return Err(MemoryError::AliasOfDevice { address: of }.into());
                }
            };
            return self.map_special(address, bytes, access, what, Some(source));
        }
        if buffer.kind == Kind::Special {
            return Err(MemoryError::AliasOfNothing { address: of }.into());
        }
        let host = self.space().host_range(of).ok_or_else(none)?;
        if host.bytes < bytes {
            return Err(MemoryError::TwoPieces { address: of, bytes }.into());
        }
        // The system makes no second mapping of what is private, such as a private mapping of a file.
        if buffer.kind == Kind::Shared
            && !self.memory.0.form.is_identity
            && !self.state.coarse
            && let Ok(address) = self.map_backing(address, bytes, access, &Backing::Host(host.pointer))
        {
            return Ok(address);
        }
        self.map_special(address, bytes, access, Special::Host(HostPointer(host.pointer)), Some(of))
    }

    /// Maps pages that the runtime is asked for. `source`: see [`SpecialRange::source`].
    pub fn map_special(
        &mut self,
        address: Option<u64>,
        bytes: u64,
        access: Access,
        what: Special,
        source: Option<u64>,
    ) -> Result<u64, Error> {
        self.outside_own(address.unwrap_or(0), bytes)?;
        let start = self.whole_pages(address, bytes)?;
        let end = start + bytes;
        self.space().reserve(start, end)?;
        self.space().add_special(SpecialRange { start, bytes, access, what, source });
        self.set_pages(start, end, PAGE_SPECIAL);
        self.add(start, Buffer { bytes, access, kind: Kind::Special }, start, end);
        self.become_careful();
        Ok(start)
    }
}
