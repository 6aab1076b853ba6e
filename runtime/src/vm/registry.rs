//! Which host addresses hold compiled code, readable in a signal handler.
//!
//! A slot is guarded by a sequence number (odd while it changes). A reader that is interrupted in
//! compiled code finds the slot of that code stable, because whoever runs code keeps it alive; other
//! slots may change under it and are then skipped.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

const SLOTS: usize = 256;

struct Slot {
    sequence: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
}

struct Page {
    slots: [Slot; SLOTS],
    /// Later pages; a page is never freed, so readers need no protection.
    next: AtomicPtr<Page>,
}

impl Page {
    const fn new() -> Self {
        Page {
            slots: [const {
                Slot { sequence: AtomicUsize::new(0), start: AtomicUsize::new(0), end: AtomicUsize::new(0) }
            }; SLOTS],
            next: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

static FIRST: Page = Page::new();
/// Writers one at a time.
static WRITER: Mutex<()> = Mutex::new(());

fn pages() -> impl Iterator<Item = &'static Page> {
    std::iter::successors(Some(&FIRST), |page| {
        let next = page.next.load(Ordering::Acquire);
        // SAFETY: null or a page leaked by `insert`, which lives for ever.
        unsafe { next.as_ref() }
    })
}

fn set(slot: &Slot, start: usize, end: usize) {
    slot.sequence.fetch_add(1, Ordering::Relaxed);
    fence(Ordering::Release);
    slot.start.store(start, Ordering::Relaxed);
    slot.end.store(end, Ordering::Relaxed);
    slot.sequence.fetch_add(1, Ordering::Release);
}

/// Announces a range of code. It must not be executed before.
pub(super) fn insert(start: usize, end: usize) {
    let _writer = WRITER.lock().unwrap_or_else(PoisonError::into_inner);
    let mut last = &FIRST;
    for page in pages() {
        last = page;
        if let Some(slot) = page.slots.iter().find(|slot| slot.end.load(Ordering::Relaxed) == 0) {
            set(slot, start, end);
            return;
        }
    }
    let page: &'static Page = Box::leak(Box::new(Page::new()));
    set(&page.slots[0], start, end);
    last.next.store(std::ptr::from_ref(page).cast_mut(), Ordering::Release);
}

/// Forgets a range that [`insert`] announced. It must not be executed any more.
pub(super) fn remove(start: usize) {
    let _writer = WRITER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(slot) = pages()
        .flat_map(|page| &page.slots)
        .find(|slot| slot.start.load(Ordering::Relaxed) == start && slot.end.load(Ordering::Relaxed) != 0)
    {
        set(slot, 0, 0);
    }
}

/// The range of the compiled code that holds `pc`. Async-signal-safe.
pub fn lookup(pc: usize) -> Option<std::ops::Range<usize>> {
    pages().flat_map(|page| &page.slots).find_map(|slot| {
        let before = slot.sequence.load(Ordering::Acquire);
        let range = slot.start.load(Ordering::Relaxed)..slot.end.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let stable = before & 1 == 0 && slot.sequence.load(Ordering::Relaxed) == before;
        (stable && range.contains(&pc)).then_some(range)
    })
}
