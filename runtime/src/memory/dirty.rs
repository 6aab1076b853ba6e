//! Which pages have been written since somebody last looked.
//!
//! A page that has been looked at becomes *clean*: its entry in the page table says so ([`PAGE_CLEAN`]), and the host allows no
//! store to it, though the guest may store. The first store raises a signal. The handler finds the page, makes it writable, and
//! the store goes on ([`write_to_clean`]). So every store is seen, of all tiers and of the host, and only the first one to each
//! page costs anything.
//!
//! The handler may run at any store, on any thread, so it takes no lock that a thread could hold at a store. It finds spaces in a
//! list whose entries are never freed ([`Tracked`]).

use super::edit::rights_of;
use super::{Memory, PAGE_BYTES, PAGE_CLEAN, PAGE_SPECIAL, PAGE_WRITE};
use crate::{Error, MemoryError, fork};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// Host addresses in which stores are recorded. Entries of a list that the signal handler reads; used again, never freed.
#[derive(Debug)]
pub(super) struct Tracked {
    /// The addresses; `start` is 0 while the entry is free.
    start: AtomicUsize,
    end: AtomicUsize,
    /// The entries of their pages.
    pages: AtomicPtr<AtomicU8>,
    /// Held while flags and rights of pages are changed together: 0, or a number of this process ([`fork::generation`]).
    held: AtomicU64,
    next: AtomicPtr<Tracked>,
}

/// The newest entry.
static LIST: AtomicPtr<Tracked> = AtomicPtr::new(ptr::null_mut());

impl Tracked {
    /// An entry for host addresses with the flags of their pages, which live until [`Tracked::end`].
    pub fn new(start: usize, end: usize, pages: &[AtomicU8]) -> &'static Tracked {
        crate::vm::mend_stores_with(write_to_clean);
        // One that has ended is used again, or a new one is added.
        let free = entries()
            .find(|entry| entry.start.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok());
        let entry = free.unwrap_or_else(|| {
            let entry: &'static Tracked = Box::leak(Box::new(Tracked {
                start: AtomicUsize::new(1),
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
        entry.pages.store(pages.as_ptr().cast_mut(), Ordering::Release);
        entry.end.store(end, Ordering::Release);
        // Addresses start above 1, so 1 has matched nothing.
        entry.start.store(start, Ordering::Release);
        entry
    }

    /// Frees the entry.
    pub fn end(&self) {
        self.end.store(0, Ordering::Release);
        self.start.store(0, Ordering::Release);
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
    let holds = |entry: &&Tracked| {
        let start = entry.start.load(Ordering::Acquire);
        start > 1 && address >= start && address < entry.end.load(Ordering::Acquire)
    };
    let Some(entry) = entries().find(holds) else { return false };
    let start = entry.start.load(Ordering::Acquire);
    let host_page = rustix::param::page_size();
    let page = (address - start) / host_page * host_page;
    let entry_of = |at: usize| {
        // SAFETY: the thread accesses the range, so the space exists, and with it the table, which has an entry for each page.
        unsafe { &*entry.pages.load(Ordering::Acquire).wrapping_add(at / PAGE_BYTES as usize) }
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
        while start + last < entry.end.load(Ordering::Acquire) && may_be_written(last) {
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
    /// call gives all that are mapped. From then on each first store to a page costs a signal (a few microseconds).
    ///
    /// Stores by guests in all tiers, by texture units, and by the host through [`Memory::write`] are seen. Not seen are stores
    /// through another mapping of the same bytes (an alias, the file, the embedder's own pointer). Pages that cannot be
    /// tracked (private host memory) count as written in each call, devices never. Where the system has no room for the mappings that
    /// this takes, pages count as written although they were not.
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
            if range.is_empty() {
                return Ok(found);
            }
            // Only what is mapped is looked at: a range may be all of the space.
            let before = edit.state.buffers.range(..range.start).next_back();
            let buffers = before.into_iter().chain(edit.state.buffers.range(range.clone()));
            let mut end = range.start;
            let pages: Vec<(u64, u64)> = buffers
                .map(|(&at, buffer)| {
                    let (first, last) = edit.covering(at, at + buffer.bytes);
                    // Two buffers may share a page.
                    let (first, last) = (first.max(end), last.min(range.end));
                    end = end.max(last);
                    (first, last)
                })
                .filter(|(first, last)| first < last)
                .collect();
            let space = edit.space();
            if edit.state.coarse || edit.memory.0.form.is_identity {
                // Whatever is mapped may have been written.
                pages.iter().for_each(|&(first, last)| add(first, last));
                return Ok(found);
            }
            let mut work = |first: u64, host: *mut u8, pages: &[AtomicU8], tracked: &'static Tracked| {
                let step = (host_page / PAGE_BYTES) as usize;
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
                    for (number, entries) in pages.chunks(step).enumerate() {
                        let at = first + number as u64 * host_page;
                        let flags = entries[0].load(Ordering::SeqCst);
                        let is_host = flags & PAGE_SPECIAL != 0
                            && space.special_at(at).is_some_and(|piece| piece.is_writable_memory());
                        if is_host {
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
}
