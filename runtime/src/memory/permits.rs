//! Permits of memory in a space whose addresses are the host's ([`warpjit_backend::Permits`]): what a thread's code may access without
//! asking, and how it hears of changes.
//!
//! Code asks about an access that its window does not hold. The page table answers, and the range of pages around with the same right is
//! the new window. What has been found out of the table is kept by the thread ([`warpjit_backend::Permits::known`]): ranges that touch
//! become one, so that accesses anywhere in a large buffer have one window in the end.
//!
//! # Changes
//! Each change of the page table gives the space another *generation*, a number that no space has had before, and then closes the
//! windows of all contexts that run in it ([`Changes::note`]). A context asks the table, opens a window, and looks at the generation
//! again. So either it sees the change, and closes the window itself, or the window is closed after it was opened. A context that does
//! not run has windows that nobody closes; when it runs again, it begins with closed ones unless the generation is the same
//! ([`Memory::begin_permits`]).
//!
//! So when a call that unmaps memory returns, no code will find its window open. As with code that looks each page up, an access that has
//! looked before may be on its way.

use super::{Memory, PAGE_BYTES, PAGE_READ, PAGE_SPECIAL, PAGE_WRITE};
use crate::fork::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use warpjit_backend::{Context, Permits, Windows};

/// Pages that are looked at before and behind an access. More would take long where a buffer is large and little of it is used.
const MOST_PAGES: u64 = 1 << 12;

/// Ranges that a thread keeps: beyond that it begins again.
const MOST_RANGES: usize = 64;

/// Changes of a space, and who must hear of them.
#[derive(Debug)]
pub(super) struct Changes {
    generation: AtomicU64,
    running: Mutex<Vec<Arc<Windows>>>,
}

/// A generation that nothing has had before.
fn new_generation() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl Changes {
    pub fn new() -> Changes {
        Changes { generation: AtomicU64::new(new_generation()), running: Mutex::new(Vec::new()) }
    }

    /// The page table has changed.
    pub fn note(&self) {
        self.generation.store(new_generation(), Ordering::SeqCst);
        fence(Ordering::SeqCst);
        self.running.lock().iter().for_each(|windows| windows.close());
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }
}

/// A context that code with permits runs in. Until it is dropped, the context's windows are closed when the space changes.
#[derive(Debug)]
pub(crate) struct Permitted {
    memory: Memory,
    windows: Arc<Windows>,
}

impl Drop for Permitted {
    fn drop(&mut self) {
        let mut running = self.memory.0.changes.running.lock();
        if let Some(at) = running.iter().position(|other| Arc::ptr_eq(other, &self.windows)) {
            running.swap_remove(at);
        }
    }
}

impl Memory {
    /// Where the number is that says in which state the page table is: another one after each change.
    pub(crate) fn generation(&self) -> &AtomicU64 {
        &self.0.changes.generation
    }

    /// Whether compiled code asks for permits: memory elsewhere than in the range that the space hands out, and nothing that needs more.
    pub(crate) fn needs_permits(&self) -> bool {
        self.has_much_elsewhere() && !self.needs_checks()
    }

    /// Lets code with permits run in a context, until the result is dropped.
    pub(crate) fn begin_permits(&self, context: &mut Context) -> Permitted {
        let changes = &self.0.changes;
        let windows = context.begin_permits();
        let mut running = changes.running.lock();
        running.push(windows.clone());
        // Who changes the space from now on closes these windows.
        let generation = changes.generation();
        if context.permits.generation != generation {
            context.permits.renew(generation);
        }
        drop(running);
        Permitted { memory: self.clone(), windows }
    }

    /// The range of memory around an access that a lane of code with permits may make: all of its pages are where their address says.
    pub(crate) fn permitted_range(
        &self,
        permits: &mut Permits,
        address: u64,
        bytes: u8,
        stores: bool,
    ) -> Option<(u64, u64)> {
        let changes = &self.0.changes;
        let address = self.seen(address);
        let end = address.checked_add(bytes.into())?;
        for mends in [false, true] {
            // What the table says from here on is not older than this.
            let generation = changes.generation();
            if permits.generation != generation {
                permits.renew(generation);
            }
            let known = &mut permits.known[usize::from(stores)];
            if let Some(&range) = known.iter().find(|(from, to)| *from <= address && end <= *to) {
                return Some(range);
            }
            if let Some(range) = self.range_around(address, end, rights(stores)) {
                return Some(join(known, range));
            }
            // Pagers and watches may have come while the launch was running.
            if mends || self.first_denied_after_mending(address, bytes.into(), stores).is_some() {
                return None;
            }
        }
        None
    }

    /// Whether a page has rights and is not special.
    fn is_plain(&self, address: u64, rights: u8) -> bool {
        self.0.space.page_flags(address) & (rights | PAGE_SPECIAL) == rights
    }

    /// Opens the window of a site for a range that was found just before.
    pub(crate) fn open_window(&self, permits: &Permits, site: u32, range: (u64, u64)) {
        permits.open(site, range, || self.0.changes.generation() == permits.generation);
    }

    /// The range of pages around an access that have rights, as far as one looks.
    fn range_around(&self, address: u64, end: u64, rights: u8) -> Option<(u64, u64)> {
        let (first, last) = (address / PAGE_BYTES, (end - 1) / PAGE_BYTES);
        let has = |page: &u64| self.is_plain(page * PAGE_BYTES, rights);
        if !(first..=last).all(|page| has(&page)) {
            return None;
        }
        let before = (first.saturating_sub(MOST_PAGES)..first).rev().take_while(has).count() as u64;
        let behind = (last + 1..=last + MOST_PAGES).take_while(has).count() as u64;
        Some(((first - before) * PAGE_BYTES, (last + 1 + behind) * PAGE_BYTES))
    }
}

/// What an access needs.
fn rights(stores: bool) -> u8 {
    if stores { PAGE_READ | PAGE_WRITE } else { PAGE_READ }
}

/// Adds a range to others, and joins those that touch it; gives what it has become.
fn join(known: &mut Vec<(u64, u64)>, (mut from, mut to): (u64, u64)) -> (u64, u64) {
    known.retain(|&(start, end)| {
        let touches = start <= to && from <= end;
        if touches {
            (from, to) = (from.min(start), to.max(end));
        }
        !touches
    });
    if known.len() >= MOST_RANGES {
        known.clear();
    }
    known.push((from, to));
    (from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut known = Vec::new();
        assert_eq!(join(&mut known, (10, 20)), (10, 20));
        assert_eq!(join(&mut known, (30, 40)), (30, 40));
        assert_eq!(join(&mut known, (50, 60)), (50, 60));
        assert_eq!(join(&mut known, (20, 30)), (10, 40));
        assert_eq!(join(&mut known, (35, 45)), (10, 45));
        known.sort_unstable();
        assert_eq!(known, [(10, 45), (50, 60)]);
        for n in 0..1000 {
            join(&mut known, (100 + 2 * n, 101 + 2 * n));
            assert!(known.len() <= MOST_RANGES);
        }
    }
}
