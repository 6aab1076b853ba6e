//! Changes of what is mapped, while no other thread changes it.

use super::parked::Parked;
use super::reservation::{Backing, HUGE_BYTES, Rights};
use super::room::Room;
use super::space::{ADDRESS_BITS, Space};
use super::special::{HostPointer, OfPager, Pager, Piece, Special, WriteWatch};
use super::{
    Access, FEW_BORDERS, FIRST_ADDRESS, MOST_BORDERS, Memory, PAGE_READ, PAGE_SPECIAL, PAGE_WATCHED,
    PAGE_WRITE, WINDOW_BYTES,
};
use crate::Error;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Buffer {
    pub bytes: u64,
    pub access: Access,
    pub kind: Kind,
}

/// Whose memory a buffer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Pages of this space alone.
    Own,
    /// Pages that other mappings of the process show too.
    Shared,
    /// Special pages.
    Special,
    /// In a space whose addresses are the host's: pages of the embedder.
    Registered,
}

impl Kind {
    /// Whether the space has mapped its pages.
    pub fn is_ours(self) -> bool {
        matches!(self, Kind::Own | Kind::Shared)
    }
}

/// What is mapped.
#[derive(Debug)]
pub(super) struct State {
    pub buffers: BTreeMap<u64, Buffer>,
    pub parked: Parked,
    /// Which host pages below 4 GiB are taken by buffers; each buffer has one more page after it.
    pub room: Room,
    /// Number of places where a host page has other rights than the page before it.
    pub borders: usize,
    /// Whether there are too many of these, so that only the page table says what is mapped.
    pub coarse: bool,
    /// If coarse: whether all buffers are in the large mappings.
    pub merged: bool,
    /// In a space whose addresses are the host's: pages (first address, bytes) without rights that were unmapped while somebody used the
    /// space. An access may still be on its way there, so nothing else of the process may come there.
    pub left: Vec<(u64, u64)>,
}

impl State {
    /// Nothing is mapped.
    pub fn new(host_page: u64) -> State {
        let mut room = Room::new((1 << 32) / host_page);
        room.set(0, FIRST_ADDRESS.div_ceil(host_page), true);
        State {
            buffers: BTreeMap::new(),
            parked: Parked::default(),
            room,
            borders: 0,
            coarse: false,
            merged: false,
            left: Vec::new(),
        }
    }
}

/// The state of a space while it is locked.
pub(super) struct Edit<'a> {
    pub memory: &'a Memory,
    pub state: &'a mut State,
}

/// The rights in a page's flags, whatever is being recorded about the page.
pub(super) fn rights_of(flags: u8) -> u8 {
    let watched = if flags & PAGE_WATCHED != 0 { PAGE_WRITE } else { 0 };
    flags & (PAGE_READ | PAGE_WRITE | PAGE_SPECIAL) | watched
}

impl Edit<'_> {
    pub fn space(&self) -> &Space {
        &self.memory.0.space
    }

    pub fn host_page(&self) -> u64 {
        self.memory.0.host_page
    }

    /// Checks where a new buffer shall be; its end.
    pub fn place_for(&self, address: u64, bytes: u64) -> Result<u64, Error> {
        let form = &self.memory.0.form;
        let (limit, what) = match form.limit {
            Some(limit) => (limit, format!("addresses below {limit:#x}")),
            None if form.is_identity => (1 << 47, "addresses of the host".into()),
            None => (
                u64::MAX,
                format!(
                    "sign-extended addresses of {ADDRESS_BITS} bits (the last 64 KiB of these cannot be mapped)"
                ),
            ),
        };
        let fits = |&end: &u64| end <= limit && self.space().exists(address, end);
        let end = address.checked_add(bytes).filter(fits).ok_or_else(|| {
            Error::Memory(format!("buffer of {bytes:#x} bytes at {address:#x} does not lie in {what}"))
        })?;
        if bytes > WINDOW_BYTES {
            return Err(Error::Memory(format!(
                "buffer of {bytes:#x} bytes at {address:#x} is too large: {WINDOW_BYTES:#x} is the most"
            )));
        }
        if let Some((&other, buffer)) = self.state.buffers.range(..end).next_back()
            && other + buffer.bytes > address
        {
            return Err(Error::Memory(format!(
                "buffer at {address:#x}..{end:#x} overlaps the one at {other:#x}..{:#x}",
                other + buffer.bytes
            )));
        }
        Ok(end)
    }

    /// See [`super::Memory::map`].
    pub fn map(&mut self, address: Option<u64>, bytes: u64, access: Access) -> Result<u64, Error> {
        if bytes == 0 {
            return Err(Error::Memory("a buffer needs at least one byte".into()));
        }
        if self.memory.0.form.is_identity {
            return self.map_identity(address, bytes, access);
        }
        let address = match address {
            Some(address) => address,
            None => self.find_room(bytes)?,
        };
        let end = self.place_for(address, bytes)?;
        // The pages at both ends may already belong to a neighbour. Those in between are all new.
        let (first, last) = self.covering(address, end);
        for (other, buffer) in self.neighbours(address, first, last) {
            if buffer.access != access || buffer.kind != Kind::Own {
                let why = if buffer.kind == Kind::Own { "other access" } else { "pages of its own" };
                return Err(Error::Memory(format!(
                    "buffer at {address:#x} shares a page with the one at {other:#x}, which has {why}"
                )));
            }
        }
        // The rights of a neighbour's pages may have been changed since.
        for page in [first, last - self.host_page()] {
            let is_other = rights_of(self.page_flags(page)) != access.flags();
            if is_other && self.shared_page(address, page, page + self.host_page()) {
                return Err(Error::Memory(format!(
                    "buffer at {address:#x} shares the page at {page:#x} with another one, and that page has other access"
                )));
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

    /// Notes a new buffer.
    fn add(&mut self, address: u64, buffer: Buffer, first: u64, last: u64) {
        self.state.buffers.insert(address, buffer);
        let page = self.host_page();
        self.state.room.set(first / page, last / page + 1, true);
    }

    /// Whether numbers are multiples of the host's page size.
    pub fn aligned(&self, what: &str, numbers: &[u64]) -> Result<(), Error> {
        let page = self.host_page();
        match numbers.iter().find(|number| !number.is_multiple_of(page)) {
            Some(number) => Err(Error::Memory(format!("{what}: {number:#x} is not a multiple of {page:#x}"))),
            None => Ok(()),
        }
    }

    /// The address of a buffer that has whole pages for itself.
    fn whole_pages(&mut self, address: Option<u64>, bytes: u64) -> Result<u64, Error> {
        if bytes == 0 {
            return Err(Error::Memory("a buffer needs at least one byte".into()));
        }
        self.aligned("address and size of a mapping", &[address.unwrap_or(0), bytes])?;
        let address = match address {
            Some(address) => address,
            None if self.memory.0.form.is_identity => {
                return Err(Error::Memory("a mapping in the host's own addresses needs an address".into()));
            }
            None => self.find_room(bytes)?,
        };
        let end = self.place_for(address, bytes)?;
        if let Some((other, _)) = self.neighbours(address, address, end).next() {
            return Err(Error::Memory(format!(
                "mapping at {address:#x} shares a page with the buffer at {other:#x}"
            )));
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
        if self.memory.0.form.is_identity {
            return self.map_backing_identity(address, bytes, access, backing);
        }
        if let Backing::File { offset, .. } = *backing {
            self.aligned("offset in a file", &[offset])?;
        }
        if self.state.coarse {
            return Err(Error::Memory("the space has too many mappings for one of other memory".into()));
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

    /// See [`super::Memory::map_host`].
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
            if address.is_some_and(|address| address != own) {
                return Err(Error::Memory("in this space host memory is at its own address".into()));
            }
            let own = self.whole_pages(Some(own), bytes)?;
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

    /// See [`super::Memory::map_alias`].
    pub fn map_alias(
        &mut self,
        address: Option<u64>,
        of: u64,
        bytes: u64,
        access: Access,
    ) -> Result<u64, Error> {
        self.aligned("an alias", &[of, bytes])?;
        let none = || Error::Memory(format!("no buffer has {bytes:#x} bytes at {of:#x} to be an alias of"));
        let (&start, &buffer) = self.state.buffers.range(..=of).next_back().ok_or_else(none)?;
        let end = of.checked_add(bytes).ok_or_else(none)?;
        if end > (start + buffer.bytes).next_multiple_of(self.host_page()) {
            return Err(none());
        }
        if let Some(piece) = self.space().special_at(of) {
            // An alias of an alias shows the same memory.
            let source = piece.source.map_or(of, |source| source + (of - piece.start));
            let what = match &piece.what {
                Special::Host(_) => Special::Host(HostPointer(piece.pointer(of))),
                Special::Device(_) => {
                    return Err(Error::Memory(format!("there is a device at {of:#x}: map it twice")));
                }
            };
            return self.map_special(address, bytes, access, what, Some(source));
        }
        if buffer.kind == Kind::Special {
            return Err(Error::Memory(format!("the memory that the alias at {of:#x} shows is unmapped")));
        }
        let place = self.space().place(of).ok_or_else(none)?;
        if place.bytes < bytes {
            return Err(Error::Memory(format!(
                "{bytes:#x} bytes at {of:#x} lie in two pieces of host memory"
            )));
        }
        // The system makes no second mapping of what is private, such as a private mapping of a file.
        if buffer.kind == Kind::Shared
            && !self.memory.0.form.is_identity
            && !self.state.coarse
            && let Ok(address) = self.map_backing(address, bytes, access, &Backing::Host(place.pointer))
        {
            return Ok(address);
        }
        self.map_special(address, bytes, access, Special::Host(HostPointer(place.pointer)), Some(of))
    }

    /// Maps pages that the runtime is asked for. `source`: see [`Piece::source`].
    pub fn map_special(
        &mut self,
        address: Option<u64>,
        bytes: u64,
        access: Access,
        what: Special,
        source: Option<u64>,
    ) -> Result<u64, Error> {
        let start = self.whole_pages(address, bytes)?;
        let end = start + bytes;
        self.space().reserve(start, end)?;
        self.space().add_special(Piece { start, bytes, access, what, source });
        self.set_pages(start, end, PAGE_SPECIAL);
        self.add(start, Buffer { bytes, access, kind: Kind::Special }, start, end);
        self.become_careful();
        Ok(start)
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

    fn become_careful(&mut self) {
        self.memory.0.careful.store(true, Ordering::SeqCst);
    }

    /// See [`super::Memory::set_pager`].
    pub fn set_pager(&mut self, pager: Option<Arc<dyn Pager>>) {
        let any = pager.is_some();
        self.space().set_pager(pager.map(OfPager));
        if any {
            self.become_careful();
        }
    }

    /// The pages of a range, if all of them belong to buffers.
    fn mapped_pages(&self, what: &str, range: &Range<u64>) -> Result<(u64, u64), Error> {
        let (start, end) = (range.start, range.end);
        self.aligned(what, &[start, end])?;
        let mut at = start;
        for (&first, buffer) in self.state.buffers.range(..end) {
            let (first, last) = self.covering(first, first + buffer.bytes);
            if first <= at && last > at {
                at = last;
            }
        }
        if start >= end || at < end {
            return Err(Error::Memory(format!("{what}: not all of {start:#x}..{end:#x} is mapped")));
        }
        Ok((start, end))
    }

    /// See [`super::Memory::watch_writes`].
    pub fn watch(&mut self, range: Range<u64>, watch: Option<Arc<dyn WriteWatch>>) -> Result<(), Error> {
        let (start, end) = self.mapped_pages("watched pages", &range)?;
        let set = watch.is_some();
        self.space().watch(start, end, watch);
        self.space().change_pages(start, end, |flags| {
            let _ = flags.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| match set {
                true if now & PAGE_WRITE != 0 => Some(now & !PAGE_WRITE | PAGE_WATCHED),
                false if now & PAGE_WATCHED != 0 => Some(now & !PAGE_WATCHED | PAGE_WRITE),
                _ => None,
            });
        });
        if set {
            self.become_careful();
        }
        Ok(())
    }

    /// See [`super::Memory::protect`].
    pub fn protect(&mut self, range: Range<u64>, access: Access) -> Result<(), Error> {
        let (start, end) = self.mapped_pages("protected pages", &range)?;
        let buffers: Vec<_> = self.neighbours(u64::MAX, start, end).collect();
        if let Some((at, _)) = buffers.iter().find(|(_, buffer)| buffer.kind == Kind::Special) {
            return Err(Error::Memory(format!(
                "protected pages: those at {at:#x} are a device, or host memory at another address"
            )));
        }
        // What accesses find is never more than what the host allows. (A store must not make a page writable meanwhile.)
        self.lower_pages(start, end, access.flags() & PAGE_READ);
        let done = self.expect_faults().and_then(|()| {
            buffers.iter().try_for_each(|&(at, buffer)| self.protect_part(at, buffer, (start, end), access))
        });
        if let Err(error) = done {
            // Some of several buffers may have been protected.
            for (at, buffer) in buffers {
                let is_as_before = self.protect_part(at, buffer, (start, end), buffer.access).is_ok();
                let (first, last) = self.covering(at, at + buffer.bytes);
                let flags = if is_as_before { buffer.access.flags() } else { 0 };
                self.set_pages(first.max(start), last.min(end), flags);
            }
            return Err(error);
        }
        self.set_pages(start, end, access.flags());
        for (at, buffer) in self.state.buffers.range_mut(start..end) {
            if at + buffer.bytes <= end {
                buffer.access = access;
            }
        }
        Ok(())
    }

    /// Gives those pages of a buffer that are in a range other rights on the host.
    pub(super) fn protect_part(
        &mut self,
        at: u64,
        buffer: Buffer,
        (start, end): (u64, u64),
        access: Access,
    ) -> Result<(), Error> {
        match buffer.kind {
            Kind::Own | Kind::Shared if !self.state.coarse => {
                let (first, last) = self.covering(at, at + buffer.bytes);
                let (first, last) = (first.max(start), last.min(end));
                self.space().protect(first, last - first, access.rights())
            }
            _ => Ok(()),
        }
    }

    /// Takes flags away from pages; `keep` stay where they are.
    fn lower_pages(&mut self, first: u64, last: u64, keep: u8) {
        self.state.borders -= self.borders_within(first, last);
        self.space().change_pages(first, last, |flags| {
            flags.fetch_and(keep, Ordering::SeqCst);
        });
        self.state.borders += self.borders_within(first, last);
    }

    /// Installs signal handlers if others are using the space, whose accesses may find less than they have looked up. Pages that are
    /// about to go have lost their flags before: who begins later finds that.
    fn expect_faults(&self) -> Result<(), Error> {
        fence(Ordering::SeqCst);
        if self.memory.0.space.is_idle() { Ok(()) } else { crate::vm::ensure_for_memory() }
    }

    /// Gets host memory for the pages of a buffer at `address`. If that fails, pages that were free stay inaccessible;
    /// address reservations made for them remain.
    fn claim(&mut self, address: u64, first: u64, last: u64, access: Access) -> Result<(), Error> {
        let (first, last) = self.own_pages(address, first, last);
        if first >= last {
            return Ok(());
        }
        if !self.state.coarse && self.state.borders > MOST_BORDERS {
            self.become_coarse()?;
        }
        self.space().reserve(first, last)?;
        if !self.state.coarse {
            let Err(error) = self.space().map(first, last - first, access.rights()) else { return Ok(()) };
            // The process may have too many mappings, or the system may allow fewer than usual.
            let has_many = self.state.borders > FEW_BORDERS;
            if !has_many || self.become_coarse().is_err() {
                // Some of several pieces may have been mapped.
                let _ = self.close_pages(first, last);
                return Err(error);
            }
            // Nothing is retained any more, and its reservations have been released.
            self.space().reserve(first, last)?;
        }
        self.open(first, last)
    }

    /// The pages of a buffer that it shares with no other buffer. Only the pages at its ends can be shared. The range
    /// may be empty (`first >= last`).
    fn own_pages(&self, address: u64, first: u64, last: u64) -> (u64, u64) {
        let page = self.host_page();
        let from = if self.shared_page(address, first, first + page) { first + page } else { first };
        let to = if self.shared_page(address, last - page, last) { last - page } else { last };
        (from, to)
    }

    /// Discards the contents of pages and, unless memory is coarse, all rights to them. Does not change the page table.
    fn close_pages(&mut self, first: u64, last: u64) -> Result<(), Error> {
        // If the system has no mappings left, make memory coarse, so that all pages have the same rights.
        if !self.state.coarse {
            let Err(error) = self.space().map(first, last - first, Rights::None) else { return Ok(()) };
            self.become_coarse().map_err(|_| error)?;
        }
        self.space().forget(first, last - first)
    }

    /// See [`super::Memory::unmap`].
    pub fn unmap(&mut self, address: u64) -> Result<(), Error> {
        let Some(&buffer) = self.state.buffers.get(&address) else {
            return Err(Error::Memory(format!("no buffer begins at {address:#x}")));
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
                // Some of several pieces may have been unmapped. The host must not access pages that may have no
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
        self.leave_room(first, last);
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
            Kind::Own | Kind::Shared if self.memory.0.form.is_identity => {
                super::reservation::hide_anywhere(first, last - first)
            }
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
        Ok(())
    }

    /// Releases reservations outside the window for a range, if nothing in them is mapped or retained.
    pub fn release(&mut self, first: u64, last: u64) {
        let State { buffers, parked, .. } = &*self.state;
        self.memory.0.space.release(first, last, |start, end| {
            let before = buffers.range(..=end).next_back();
            before.is_some_and(|(&at, buffer)| at + buffer.bytes > start) || parked.has_any(start, end)
        });
    }

    /// Marks a buffer's former pages as free, unless other buffers touch them or the pages before them.
    pub fn leave_room(&mut self, first: u64, last: u64) {
        if first >> 32 != 0 {
            return;
        }
        let page = self.host_page();
        // No other buffer can touch those in between.
        let inside = ((first / page + 2).max(FIRST_ADDRESS.div_ceil(page)), (last / page).saturating_sub(1));
        if inside.0 < inside.1 {
            self.state.room.set(inside.0, inside.1, false);
        }
        let ends = [first, first + page, last.saturating_sub(page), last];
        for at in ends.into_iter().filter(|&at| at >= first && at <= last) {
            let touched = self.neighbours(u64::MAX, at.saturating_sub(page), at + page).next().is_some();
            let never = at < FIRST_ADDRESS;
            self.state.room.set(at / page, at / page + 1, touched || never);
        }
    }

    /// Sets mapped guest memory to zero, whether guest code may write there or not.
    fn fill_zero(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        let done =
            self.unprotected(address, address + bytes, |edit| edit.memory.fill_zeros(address, bytes))?;
        done.map_err(|denied| Error::Memory(denied.to_string()))
    }

    /// Runs `work` while the read-only pages of a mapped range can be written.
    pub fn unprotected<T>(
        &mut self,
        start: u64,
        end: u64,
        work: impl FnOnce(&Self) -> T,
    ) -> Result<T, Error> {
        if self.state.coarse {
            return Ok(work(self));
        }
        let (first, last) = self.covering(start, end);
        let locked: Vec<u64> = (first..last)
            .step_by(self.host_page() as usize)
            .filter(|&page| self.page_flags(page) == PAGE_READ && !self.is_registered(page))
            .collect();
        // Change runs of neighbouring pages with one system call.
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for page in locked {
            match runs.last_mut() {
                Some((from, bytes)) if *from + *bytes == page => *bytes += self.host_page(),
                _ => runs.push((page, self.host_page())),
            }
        }
        let change = |edit: &Self, rights: Rights| {
            runs.iter().try_for_each(|&(page, bytes)| edit.space().protect(page, bytes, rights))
        };
        // This may also need more mappings than the system allows.
        if let Err(error) = change(self, Rights::ReadWrite)
            && self.become_coarse().is_err()
        {
            let _ = change(self, Rights::Read);
            return Err(error);
        }
        let done = work(self);
        if !self.state.coarse && change(self, Rights::Read).is_err() {
            self.become_coarse()?;
        }
        Ok(done)
    }

    /// Whether a page is the embedder's, who says what the host may do with it.
    fn is_registered(&self, page: u64) -> bool {
        let last = self.state.buffers.range(..=page).next_back();
        last.is_some_and(|(_, buffer)| buffer.kind == Kind::Registered)
    }

    pub fn page_flags(&self, address: u64) -> u8 {
        self.space().page_flags(address)
    }

    pub fn set_pages(&mut self, first: u64, last: u64, flags: u8) {
        self.state.borders -= self.borders_within(first, last);
        self.space().set_pages(first, last, flags);
        self.state.borders += self.borders_within(first, last);
    }

    /// Number of places from `first` to `last` where a page has other rights than the page before it.
    fn borders_within(&self, first: u64, last: u64) -> usize {
        let page = self.host_page();
        let rights = |at: u64| rights_of(self.page_flags(at));
        let mut before = first.checked_sub(page).map_or(0, rights);
        (first..=last)
            .step_by(page as usize)
            .filter(|&at| {
                let now = rights(at);
                std::mem::replace(&mut before, now) != now
            })
            .count()
    }

    /// The host pages that a range touches.
    pub fn covering(&self, start: u64, end: u64) -> (u64, u64) {
        (start / self.host_page() * self.host_page(), end.next_multiple_of(self.host_page()))
    }

    /// Buffers other than the one at `address` that touch a range of whole pages.
    pub fn neighbours(
        &self,
        address: u64,
        first: u64,
        last: u64,
    ) -> impl Iterator<Item = (u64, Buffer)> + '_ {
        self.state
            .buffers
            .range(..last)
            .rev()
            .take_while(move |(at, buffer)| *at + buffer.bytes > first || **at == address)
            .filter(move |(at, _)| **at != address)
            .map(|(&at, &buffer)| (at, buffer))
    }

    pub fn shared_page(&self, address: u64, first: u64, last: u64) -> bool {
        self.neighbours(address, first, last).next().is_some()
    }

    /// First fit, with one page without rights after each buffer.
    pub fn find_room(&self, bytes: u64) -> Result<u64, Error> {
        let need = bytes
            .checked_next_multiple_of(self.host_page())
            .and_then(|whole| whole.checked_add(self.host_page()))
            .unwrap_or(u64::MAX);
        // Large buffers start where a huge page may start, if there is room.
        let huge = (bytes >= HUGE_BYTES as u64).then(|| self.room_for(need, HUGE_BYTES as u64)).flatten();
        huge.or_else(|| self.room_for(need, self.host_page())).ok_or_else(|| {
            Error::Memory(format!("no room for a buffer of {bytes:#x} bytes in 32-bit addresses"))
        })
    }

    /// The first free range of `need` bytes below 4 GiB that starts at a multiple of `align`, which is a multiple of
    /// the host's page size.
    fn room_for(&self, need: u64, align: u64) -> Option<u64> {
        let page = self.host_page();
        let found = self.state.room.find(need / page, align / page)?;
        Some(found * page)
    }

    /// Whether a buffer has pages of something else, or is at another place: such memory cannot become coarse.
    pub fn has_others(&self) -> bool {
        self.state.buffers.values().any(|buffer| buffer.kind != Kind::Own)
            || self.memory.0.form.is_identity
            || self.memory.0.space.tracks_writes()
    }
}
