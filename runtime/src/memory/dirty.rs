//! Which pages have been written since somebody last looked.
//!
//! A page that has been looked at becomes *clean*: its entry in the page table says so ([`PAGE_CLEAN`]), and the host allows no
//! store to it, though the guest may store. The first store raises a signal. The handler finds the page, makes it writable, and
//! the store goes on ([`write_to_clean`]). So every store is seen, of all tiers and of the host, and only the first one to each
//! page costs anything. Only pages that the space itself has mapped become clean (`Region::recordable`): others may have an owner who
//! protects them, too.
//!
//! The handler may run at any store, on any thread, so it takes no lock that a thread could hold at a store. It finds spaces in a
//! list whose entries are never freed ([`Tracked`]).

use super::edit::{Edit, rights_of};
use super::{Memory, PAGE_BYTES, PAGE_CLEAN, PAGE_SPECIAL, PAGE_WRITE};
use crate::{Error, MemoryError, fork};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// Host addresses in which stores are recorded. Entries of a list that the signal handler reads; used again, never freed.
#[derive(Debug)]
pub(super) struct Tracked {
    /// Odd while somebody has it. Changes whenever the next three do, so that a reader knows that they belong together.
    version: AtomicU64,
    /// The addresses.
    start: AtomicUsize,
    end: AtomicUsize,
    /// The entries of their pages.
    pages: AtomicPtr<AtomicU8>,
    /// Held while flags and rights of pages are changed together: 0, or a number of this process ([`fork::generation`]).
    held: AtomicU64,
    next: AtomicPtr<Tracked>,
}

/// What an entry says.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    pages: *const AtomicU8,
}

/// The newest entry.
static LIST: AtomicPtr<Tracked> = AtomicPtr::new(ptr::null_mut());

impl Tracked {
    /// An entry for host addresses with the flags of their pages, which live until [`Tracked::end`].
    pub fn new(start: usize, end: usize, pages: &[AtomicU8]) -> &'static Tracked {
        crate::vm::mend_stores_with(write_to_clean);
        // One that has ended is used again, or a new one is added.
        let free = entries().find(|entry| {
            let version = entry.version.load(Ordering::Relaxed);
            let free = version.is_multiple_of(2);
            let next = version.wrapping_add(1);
            free && entry.version.compare_exchange(version, next, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        });
        let entry = free.unwrap_or_else(|| {
            let entry: &'static Tracked = Box::leak(Box::new(Tracked {
                version: AtomicU64::new(1),
                start: AtomicUsize::new(0),
                end: AtomicUsize::new(0),
                pages: AtomicPtr::new(ptr::null_mut()),
                held: AtomicU64::new(0),
                next: AtomicPtr::new(ptr::null_mut()),
            }));
            let mut first = LIST.load(Ordering::Acquire);
            loop {
                entry.next.store(first, Ordering::Release);
                let new = ptr::from_ref(entry).cast_mut();
                match LIST.compare_exchange(first, new, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => break entry,
                    Err(now) => first = now,
                }
            }
        });
        // Until its end is known, it holds no address.
        entry.pages.store(pages.as_ptr().cast_mut(), Ordering::SeqCst);
        entry.start.store(start, Ordering::SeqCst);
        entry.end.store(end, Ordering::SeqCst);
        entry
    }

    /// Frees the entry.
    pub fn end(&self) {
        self.end.store(0, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// What it says, unless that changes now.
    fn span(&self) -> Option<Span> {
        let version = self.version.load(Ordering::SeqCst);
        // The end is written last and read first: where it is there, so is the rest.
        let end = self.end.load(Ordering::SeqCst);
        let start = self.start.load(Ordering::SeqCst);
        let pages = self.pages.load(Ordering::SeqCst).cast_const();
        let is_whole = version % 2 == 1 && self.version.load(Ordering::SeqCst) == version;
        is_whole.then_some(Span { start, end, pages })
    }

    /// Runs `work` while no other thread of this process changes pages of it. Async-signal-safe if `work` is. A child of `fork`
    /// does not wait for threads that it does not have.
    pub fn locked<T>(&self, work: impl FnOnce() -> T) -> T {
        let own = fork::generation() + 1;
        loop {
            let now = self.held.load(Ordering::Relaxed);
            if now != own
                && self.held.compare_exchange(now, own, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                break;
            }
            std::hint::spin_loop();
        }
        let result = work();
        self.held.store(0, Ordering::Release);
        result
    }
}

/// All entries.
fn entries() -> impl Iterator<Item = &'static Tracked> {
    let mut at = LIST.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: null or an entry, which lives for ever.
        let entry = unsafe { at.as_ref() }?;
        at = entry.next.load(Ordering::Acquire);
        Some(entry)
    })
}

/// Called by the signal handler for a fault at a host address: `true` if it was a store to a clean page, which can be
/// written now, so the instruction shall be executed again. Async-signal-safe.
pub(super) fn write_to_clean(address: usize) -> bool {
    // A span that holds the address does not end while the thread accesses it.
    let holds = |entry: &'static Tracked| {
        let span = entry.span().filter(|span| (span.start..span.end).contains(&address))?;
        Some((entry, span))
    };
    let Some((entry, Span { start, end, pages })) = entries().find_map(holds) else { return false };
    let host_page = rustix::param::page_size();
    let page = (address - start) / host_page * host_page;
    let entry_of = |at: usize| {
        // SAFETY: the thread accesses the range, so the space exists, and with it the table, which has an entry for each page.
        unsafe { &*pages.wrapping_add(at / PAGE_BYTES as usize) }
    };
    // What is watched can be written by the host, and by launches that do not know of the watch.
    let may_be_written = |at: usize| rights_of(entry_of(at).load(Ordering::SeqCst)) & PAGE_WRITE != 0;
    let write = |first: usize, last: usize| {
        for at in (first..last).step_by(PAGE_BYTES as usize) {
            entry_of(at).fetch_and(!PAGE_CLEAN, Ordering::SeqCst);
        }
        // If another thread has been here, and a page is writable already, this changes nothing.
        make_writable(start + first, last - first)
    };
    entry.locked(|| {
        if !may_be_written(page) {
            return false;
        }
        if write(page, page + host_page) {
            return true;
        }
        // The system has no room for another mapping. All pages round this one that may be written become one mapping, so that fewer
        // are needed; they count as written.
        let (mut first, mut last) = (page, page + host_page);
        while first > 0 && may_be_written(first - host_page) {
            first -= host_page;
        }
        while start + last < end && may_be_written(last) {
            last += host_page;
        }
        write(first, last)
    })
}

/// Lets the host store to pages again.
fn make_writable(start: usize, bytes: usize) -> bool {
    let flags = rustix::mm::MprotectFlags::READ | rustix::mm::MprotectFlags::WRITE;
    #[cfg(test)]
    if super::reservation::refusals::check("protect guest memory").is_err() {
        return false;
    }
    // SAFETY: pages of guest memory that were writable before they became clean; contents stay.
    unsafe { rustix::mm::mprotect(ptr::without_provenance_mut(start), bytes, flags).is_ok() }
}

/// Takes stores away from the host; a store is made good by the handler.
fn make_clean(place: *mut u8, bytes: usize) -> bool {
    #[cfg(test)]
    if super::reservation::refusals::check("protect guest memory").is_err() {
        return false;
    }
    // SAFETY: pages of guest memory; contents stay.
    unsafe { rustix::mm::mprotect(place.cast(), bytes, rustix::mm::MprotectFlags::READ).is_ok() }
}

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
                    && space.special_at(at).is_some_and(|piece| piece.is_writable_memory())
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
