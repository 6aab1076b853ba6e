//! What guests may do with mapped pages: rights, write watches, pagers.

use super::Edit;
use crate::memory::buffer::{Buffer, Kind};
use crate::memory::special::{OfPager, Pager, WriteWatch};
use crate::memory::{Access, PAGE_READ, PAGE_WATCHED, PAGE_WRITE};
use crate::{Error, MemoryError};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Edit<'_> {
    /// See [`crate::memory::Memory::set_pager`].
    pub fn set_pager(&mut self, pager: Option<Arc<dyn Pager>>) {
        let any = pager.is_some();
        self.space().set_pager(pager.map(OfPager));
        if any {
            self.become_careful();
        }
    }

    /// The pages of a range, if all of them belong to buffers.
    fn mapped_pages(&self, what: &'static str, range: &Range<u64>) -> Result<(u64, u64), Error> {
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
            return Err(MemoryError::NotMapped { what, start, end }.into());
        }
        Ok((start, end))
    }

    /// See [`crate::memory::Memory::watch_writes`].
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

    /// See [`crate::memory::Memory::protect`].
    pub fn protect(&mut self, range: Range<u64>, access: Access) -> Result<(), Error> {
        let (start, end) = self.mapped_pages("protected pages", &range)?;
        let buffers: Vec<_> = self.neighbours(u64::MAX, start, end).collect();
        if let Some(&(address, _)) = buffers.iter().find(|(_, buffer)| buffer.kind == Kind::Special) {
            return Err(MemoryError::NotProtectable { address }.into());
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
    pub(in crate::memory) fn protect_part(
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
}
