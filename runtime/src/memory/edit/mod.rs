//! Changes of what is mapped, while no other thread changes it.

mod maps;
mod rights;
mod unmaps;

use crate::memory::buffer::{Buffer, Kind};
use crate::memory::free_pages::FreePages;
use crate::memory::pages::rights_of;
use crate::memory::reservation::{HUGE_BYTES, Rights};
use crate::memory::retained::Retained;
use crate::memory::space::Space;
use crate::memory::{Access, FEW_BORDERS, FIRST_ADDRESS, MOST_BORDERS, Memory, PAGE_READ, WINDOW_BYTES};
use crate::{Addresses, Error, MemoryError};
use std::collections::BTreeMap;
use std::sync::atomic::{Ordering, fence};

/// What is mapped.
#[derive(Debug)]
pub(in crate::memory) struct State {
    pub buffers: BTreeMap<u64, Buffer>,
    pub retained: Retained,
    /// Which host pages below 4 GiB are taken by buffers; each buffer has one more page after it.
    pub free: FreePages,
    /// Number of places where a host page has other rights than the page before it.
    pub borders: usize,
    /// Whether there are too many of these, so that only the page table says what is mapped.
    pub coarse: bool,
    /// If coarse: whether all buffers are in the large mappings.
    pub merged: bool,
    /// In a space whose addresses are the host's: pages (first address, bytes) without rights that were unmapped while somebody used the
    /// space. An access may still be on its way there, so nothing else of the process may come there.
    pub left: Vec<(u64, u64)>,
    /// There: what is free of the range that the space hands out; where each part begins, and its bytes.
    pub own_free: BTreeMap<u64, u64>,
}

impl State {
    /// Nothing is mapped.
    pub fn new(host_page: u64) -> State {
        let mut free = FreePages::new((1 << 32) / host_page);
        free.set(0, FIRST_ADDRESS.div_ceil(host_page), true);
        State {
            buffers: BTreeMap::new(),
            retained: Retained::default(),
            free,
            borders: 0,
            coarse: false,
            merged: false,
            left: Vec::new(),
            own_free: BTreeMap::new(),
        }
    }
}

/// The state of a space while it is locked.
pub(in crate::memory) struct Edit<'a> {
    pub memory: &'a Memory,
    pub state: &'a mut State,
}

impl Edit<'_> {
    pub fn space(&self) -> &Space {
        &self.memory.0.space
    }

    pub fn host_page(&self) -> u64 {
        self.memory.0.host_page
    }

    /// Checks where a new buffer shall be; its end.
    pub fn end_of_new(&self, address: u64, bytes: u64) -> Result<u64, Error> {
        let form = &self.memory.0.form;
        let (limit, addresses) = match form.limit {
            Some(limit) => (limit, Addresses::Below(limit)),
            None if form.is_identity => (1 << 47, Addresses::OfHost),
            None => (u64::MAX, Addresses::SignExtended),
        };
        let fits = |&end: &u64| end <= limit && self.space().exists(address, end);
        let end = address.checked_add(bytes).filter(fits);
        let end = end.ok_or(MemoryError::Outside { address, bytes, addresses })?;
        // The host's null pointer is the guest's, too.
        if form.is_identity && address == 0 {
            return Err(MemoryError::NoAddress { address }.into());
        }
        if bytes > WINDOW_BYTES {
            return Err(MemoryError::TooLarge { address: Some(address), bytes, limit: WINDOW_BYTES }.into());
        }
        if let Some((&other, buffer)) = self.state.buffers.range(..end).next_back()
            && other + buffer.bytes > address
        {
            let other_end = other + buffer.bytes;
            return Err(MemoryError::Overlap { address, end, other, other_end }.into());
        }
        Ok(end)
    }

    /// Notes a new buffer.
    pub(super) fn add(&mut self, address: u64, buffer: Buffer, first: u64, last: u64) {
        self.state.buffers.insert(address, buffer);
        let page = self.host_page();
        self.state.free.set(first / page, last / page + 1, true);
    }

    /// Whether numbers are multiples of the host's page size.
    pub fn aligned(&self, what: &'static str, numbers: &[u64]) -> Result<(), Error> {
        let align = self.host_page();
        match numbers.iter().find(|number| !number.is_multiple_of(align)) {
            Some(&found) => Err(MemoryError::Unaligned { what, found, align }.into()),
            None => Ok(()),
        }
    }

    pub(in crate::memory) fn become_careful(&mut self) {
        self.memory.0.careful.store(true, Ordering::SeqCst);
    }

    /// Installs signal handlers if others are using the space, whose accesses may find less than they have looked up. Pages that are
    /// about to go have lost their flags before: who begins later finds that.
    pub(in crate::memory) fn expect_faults(&self) -> Result<(), Error> {
        fence(Ordering::SeqCst);
        if self.memory.0.space.is_idle() { Ok(()) } else { crate::vm::ensure_for_memory() }
    }

    /// Gets host memory for the pages of a buffer at `address`. If that fails, pages that were free stay inaccessible;
    /// address reservations made for them remain.
    pub(in crate::memory) fn claim(
        &mut self,
        address: u64,
        first: u64,
        last: u64,
        access: Access,
    ) -> Result<(), Error> {
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
                // Some of several reserved ranges may have been mapped.
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
    pub(in crate::memory) fn own_pages(&self, address: u64, first: u64, last: u64) -> (u64, u64) {
        let page = self.host_page();
        let from = if self.shared_page(address, first, first + page) { first + page } else { first };
        let to = if self.shared_page(address, last - page, last) { last - page } else { last };
        (from, to)
    }

    /// Releases reservations outside the window for a range, if nothing in them is mapped or retained.
    pub fn release(&mut self, first: u64, last: u64) {
        let State { buffers, retained, .. } = &*self.state;
        self.memory.0.space.release(first, last, |start, end| {
            let before = buffers.range(..=end).next_back();
            before.is_some_and(|(&at, buffer)| at + buffer.bytes > start) || retained.has_any(start, end)
        });
    }

    /// Marks a buffer's former pages as free, unless other buffers touch them or the pages before them.
    pub fn mark_free(&mut self, first: u64, last: u64) {
        if first >> 32 != 0 {
            return;
        }
        let page = self.host_page();
        // No other buffer can touch those in between.
        let inside = ((first / page + 2).max(FIRST_ADDRESS.div_ceil(page)), (last / page).saturating_sub(1));
        if inside.0 < inside.1 {
            self.state.free.set(inside.0, inside.1, false);
        }
        let ends = [first, first + page, last.saturating_sub(page), last];
        for at in ends.into_iter().filter(|&at| at >= first && at <= last) {
            let touched = self.neighbours(u64::MAX, at.saturating_sub(page), at + page).next().is_some();
            let never = at < FIRST_ADDRESS;
            self.state.free.set(at / page, at / page + 1, touched || never);
        }
    }

    /// Sets mapped guest memory to zero, whether guest code may write there or not.
    pub(in crate::memory) fn fill_zero(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        let done =
            self.unprotected(address, address + bytes, |edit| edit.memory.fill_zeros(address, bytes))?;
        done.map_err(|source| MemoryError::Gone { source }.into())
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
    pub fn find_free(&self, bytes: u64) -> Result<u64, Error> {
        let need = bytes
            .checked_next_multiple_of(self.host_page())
            .and_then(|whole| whole.checked_add(self.host_page()))
            .unwrap_or(u64::MAX);
        // Large buffers start where a huge page may start, if there is room.
        let huge = (bytes >= HUGE_BYTES as u64).then(|| self.aligned_free(need, HUGE_BYTES as u64)).flatten();
        huge.or_else(|| self.aligned_free(need, self.host_page()))
            .ok_or_else(|| MemoryError::NoRoom { bytes }.into())
    }

    /// The first free range of `need` bytes below 4 GiB that starts at a multiple of `align`, which is a multiple of
    /// the host's page size.
    fn aligned_free(&self, need: u64, align: u64) -> Option<u64> {
        let page = self.host_page();
        let found = self.state.free.find(need / page, align / page)?;
        Some(found * page)
    }

    /// Whether a buffer has pages of something else, or is at another host address: such memory cannot become coarse.
    pub fn has_others(&self) -> bool {
        self.state.buffers.values().any(|buffer| buffer.kind != Kind::Own)
            || self.memory.0.form.is_identity
            || self.memory.0.space.tracks_writes()
    }
}
