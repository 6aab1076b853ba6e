//! Which pages have been written since somebody last asked ([`Memory::take_dirty`]).
//!
//! A page that has been asked for becomes *clean*: its entry in the page table says so ([`PAGE_CLEAN`]), and the host allows no
//! store to it, though the guest may store. The first store raises a signal, whose handler makes the page writable again
//! ([`super::tracked`]). So every store is seen, of all tiers and of the host, and only the first one to each page costs anything.
//! Only pages that the space itself has mapped become clean (`ReservedRange::recordable`): others may have an owner who protects them, too.

use super::Memory;
use super::edit::Edit;
use super::pages::{PAGE_BYTES, PAGE_CLEAN, PAGE_SPECIAL, PAGE_WRITE, rights_of};
use super::tracked::{Tracked, make_clean, make_writable};
use crate::{Error, MemoryError};
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

impl Memory {
    /// The pages of a range that have been written since the last call for them, as ranges of addresses in order. The first
    /// call gives all that are mapped and that guests may store to: pages that they may only read never count, though
    /// [`Memory::write`] may store to them. From then on each first store to a page costs a signal (a few microseconds).
    ///
    /// Stores by guests in all tiers, by texture units, by the host through [`Memory::write`], and by the embedder's code through a pointer
    /// into the space are seen. Not seen are stores through another mapping of the same bytes (an alias, the file, the embedder's own
    /// pointer). System calls do not store to a page that has been looked at: they fail with `EFAULT`, unless [`Memory::mark_dirty`] is
    /// called first.
    ///
    /// Memory that cannot be tracked counts as written in each call: private host memory and its aliases; in a space of
    /// [`crate::MemoryOptions::identity`] all that the space has not handed out, which is host memory and what is mapped at an address that
    /// the embedder chose. Devices never count. Where the system has no room for the mappings that tracking takes, pages count as written
    /// although they were not.
    ///
    /// # Errors
    /// [`Error::Memory`] if the ends are not at pages of the host, or the embedder maps the memory.
    pub fn take_dirty(&self, range: Range<u64>) -> Result<Vec<Range<u64>>, Error> {
        // Tracking relies on the handler in all tiers.
        crate::vm::ensure_for_memory()?;
        self.edit(|edit| {
            let host_page = edit.host_page();
            if !range.start.is_multiple_of(host_page) || !range.end.is_multiple_of(host_page) {
                let Range { start, end } = range;
                return Err(MemoryError::UnalignedRange { start, end, align: host_page }.into());
            }
            let mut found: Vec<Range<u64>> = Vec::new();
            let mut add = |start: u64, end: u64| match found.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => found.push(start..end),
            };
            let pages = edit.mapped_within(range);
            let space = edit.space();
            if edit.state.coarse {
                // Whatever is mapped may have been written.
                pages.iter().for_each(|&(first, last)| add(first, last));
                return Ok(found);
            }
            let is_host = |at: u64, flags: u8| {
                flags & PAGE_SPECIAL != 0
                    && space.special_at(at).is_some_and(|special| special.is_writable_memory())
            };
            let mut work =
                |first: u64, host: *mut u8, pages: &[AtomicU8], tracked: Option<&'static Tracked>| {
                    let step = (host_page / PAGE_BYTES) as usize;
                    let Some(tracked) = tracked else {
                        // Not the space's own pages: nobody may take stores to them away.
                        for (at, entries) in (first..).step_by(host_page as usize).zip(pages.chunks(step)) {
                            let flags = entries[0].load(Ordering::SeqCst);
                            if rights_of(flags) & PAGE_WRITE != 0 || is_host(at, flags) {
                                add(at, at + host_page);
                            }
                        }
                        return;
                    };
                    // Runs of pages that become clean are protected with one call.
                    let mut run: Option<(u64, u64)> = None;
                    let protect = |run: Option<(u64, u64)>| {
                        let Some((start, end)) = run else { return };
                        let at = host.wrapping_add((start - first) as usize);
                        if !make_clean(at, (end - start) as usize) {
                            // Some of it may have been done. They count as written in the next call, too.
                            let index = |at: u64| ((at - first) / PAGE_BYTES) as usize;
                            for page in &pages[index(start)..index(end)] {
                                page.fetch_and(!PAGE_CLEAN, Ordering::SeqCst);
                            }
                            make_writable(at.addr(), (end - start) as usize);
                        }
                    };
                    tracked.locked(|| {
                        for (at, entries) in (first..).step_by(host_page as usize).zip(pages.chunks(step)) {
                            let flags = entries[0].load(Ordering::SeqCst);
                            if is_host(at, flags) {
                                add(at, at + host_page);
                            }
                            if rights_of(flags) & PAGE_WRITE == 0 || flags & PAGE_CLEAN != 0 {
                                protect(run.take());
                                continue;
                            }
                            add(at, at + host_page);
                            for entry in entries {
                                entry.fetch_or(PAGE_CLEAN, Ordering::SeqCst);
                            }
                            run = match run {
                                Some((start, end)) if end == at => Some((start, at + host_page)),
                                other => {
                                    protect(other);
                                    Some((at, at + host_page))
                                }
                            };
                        }
                        protect(run.take());
                    });
                };
            for (first, last) in pages {
                space.each_tracked(first, last, &mut work);
            }
            Ok(found)
        })
    }

    /// Counts the mapped pages that a range touches as written: the next [`Memory::take_dirty`] gives those that the guest may store to.
    /// Until then stores to them cost no signal, and system calls may store to them through a pointer (`read` of a file). One call for many
    /// pages costs less than a signal for each.
    ///
    /// # Errors
    /// [`Error::Memory`] if the embedder maps the memory; [`Error::Os`] if the system has no room for the mappings.
    pub fn mark_dirty(&self, range: Range<u64>) -> Result<(), Error> {
        self.edit(|edit| {
            if !edit.space().tracks_writes() {
                return Ok(());
            }
            let page = edit.host_page();
            let end = range.end.checked_next_multiple_of(page).unwrap_or(!(page - 1));
            for (first, last) in edit.mapped_within(range.start / page * page..end) {
                let mut done = Ok(());
                edit.space().each_tracked(first, last, |_, host, pages, tracked| {
                    if let (Some(tracked), Ok(())) = (tracked, &done) {
                        done = tracked.locked(|| make_dirty(host, pages));
                    }
                });
                done?;
            }
            Ok(())
        })
    }
}

/// Makes those pages writable that are clean.
fn make_dirty(host: *mut u8, pages: &[AtomicU8]) -> Result<(), Error> {
    let is_clean = |page: &AtomicU8| page.load(Ordering::SeqCst) & PAGE_CLEAN != 0;
    let mut at = 0;
    // All entries of a page of the host have the same flags.
    for run in pages.chunk_by(|one, next| is_clean(one) == is_clean(next)) {
        let bytes = run.len() * PAGE_BYTES as usize;
        if is_clean(&run[0]) {
            for page in run {
                page.fetch_and(!PAGE_CLEAN, Ordering::SeqCst);
            }
            if !make_writable(host.wrapping_add(at).addr(), bytes) {
                return Err(Error::os("protect guest memory", "no room for more mappings"));
            }
        }
        at += bytes;
    }
    Ok(())
}

impl Edit<'_> {
    /// The mapped pages of a range that is aligned to pages: where each buffer's part begins and ends, in order.
    fn mapped_within(&self, range: Range<u64>) -> Vec<(u64, u64)> {
        if range.is_empty() {
            return Vec::new();
        }
        // Only what is mapped is looked at: a range may be all of the space.
        let before = self.state.buffers.range(..range.start).next_back();
        let buffers = before.into_iter().chain(self.state.buffers.range(range.clone()));
        let mut end = range.start;
        buffers
            .map(|(&at, buffer)| {
                let (first, last) = self.covering(at, at + buffer.bytes);
                // Two buffers may share a page.
                let (first, last) = (first.max(end), last.min(range.end));
                end = end.max(last);
                (first, last)
            })
            .filter(|(first, last)| first < last)
            .collect()
    }
}
