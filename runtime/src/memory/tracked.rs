//! The host addresses in which stores are recorded, and what the signal handler does with a store to a clean page
//! ([`write_to_clean`]): it finds the page, makes it writable, and the store goes on. [`super::dirty`] makes pages clean.
//!
//! The handler may run at any store, on any thread, so it takes no lock that a thread could hold at a store. It finds spaces in a
//! list whose entries are never freed ([`Tracked`]).

use super::pages::{PAGE_BYTES, PAGE_CLEAN, PAGE_WRITE, rights_of};
use crate::fork;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// Host addresses in which stores are recorded. Entries of a list that the signal handler reads; used again, never freed.
#[derive(Debug)]
pub(super) struct Tracked {
    /// Odd while somebody has it. Changes whenever the next three do, so that a reader knows that they belong together.
    sequence: AtomicU64,
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
            let sequence = entry.sequence.load(Ordering::Relaxed);
            let free = sequence.is_multiple_of(2);
            let next = sequence.wrapping_add(1);
            free && entry
                .sequence
                .compare_exchange(sequence, next, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
        });
        let entry = free.unwrap_or_else(|| {
            let entry: &'static Tracked = Box::leak(Box::new(Tracked {
                sequence: AtomicU64::new(1),
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
        self.sequence.fetch_add(1, Ordering::SeqCst);
    }

    /// What it says, unless that changes now.
    fn span(&self) -> Option<Span> {
        let sequence = self.sequence.load(Ordering::SeqCst);
        // The end is written last and read first: where it is there, so is the rest.
        let end = self.end.load(Ordering::SeqCst);
        let start = self.start.load(Ordering::SeqCst);
        let pages = self.pages.load(Ordering::SeqCst).cast_const();
        let is_whole = sequence % 2 == 1 && self.sequence.load(Ordering::SeqCst) == sequence;
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
pub(super) fn make_writable(start: usize, bytes: usize) -> bool {
    let flags = rustix::mm::MprotectFlags::READ | rustix::mm::MprotectFlags::WRITE;
    #[cfg(test)]
    if super::reservation::refusals::check("protect guest memory").is_err() {
        return false;
    }
    // SAFETY: pages of guest memory that were writable before they became clean; contents stay.
    unsafe { rustix::mm::mprotect(ptr::without_provenance_mut(start), bytes, flags).is_ok() }
}

/// Takes stores away from the host; a store is made good by the handler.
pub(super) fn make_clean(at: *mut u8, bytes: usize) -> bool {
    #[cfg(test)]
    if super::reservation::refusals::check("protect guest memory").is_err() {
        return false;
    }
    // SAFETY: pages of guest memory; contents stay.
    unsafe { rustix::mm::mprotect(at.cast(), bytes, rustix::mm::MprotectFlags::READ).is_ok() }
}
