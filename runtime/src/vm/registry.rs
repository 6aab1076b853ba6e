//! Which host addresses hold compiled code. The signal handler can look it up.
//!
//! It is a tree over address bits, like a processor's page tables: three look-ups lead from a pc to the piece of code in its
//! page. A page belongs to one piece of code, or to pieces that were added together (`CodeMemory`), so writers never touch the
//! same entry and need no lock. A signal handler that has interrupted compiled code finds the entry of that page stable, because
//! whoever runs the code keeps it alive. Nodes are never freed, because a reader may be anywhere. There are few nodes: each
//! covers 2 MiB or 16 GiB of addresses.

use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Bytes that an entry stands for: no host has smaller pages.
const UNIT_BITS: u32 = 12;
const LEAF_BITS: u32 = 9;
const MIDDLE_BITS: u32 = 13;
const ROOT_BITS: u32 = 14;
/// Bits of an address that a process may have.
const ADDRESS_BITS: u32 = UNIT_BITS + LEAF_BITS + MIDDLE_BITS + ROOT_BITS;

/// The code in a page: the range of all of it; an end of 0 where there is none.
struct Entry {
    start: AtomicUsize,
    end: AtomicUsize,
}

type Leaf = [Entry; 1 << LEAF_BITS];
type Middle = [AtomicPtr<Leaf>; 1 << MIDDLE_BITS];
type Root = [AtomicPtr<Middle>; 1 << ROOT_BITS];

static ROOT: Root = [const { AtomicPtr::new(std::ptr::null_mut()) }; 1 << ROOT_BITS];

/// A type of which all bytes zero are a value.
///
/// # Safety
///
/// They are.
unsafe trait Zero {}
// SAFETY: integers.
unsafe impl Zero for Leaf {}
// SAFETY: null pointers.
unsafe impl Zero for Middle {}

/// The number at a level of the tree.
fn index(at: usize, shift: u32, bits: u32) -> usize {
    (at >> shift) & ((1 << bits) - 1)
}

/// The node that a pointer names, made if there is none.
fn node<T: Zero>(place: &AtomicPtr<T>) -> &'static T {
    let found = place.load(Ordering::Acquire);
    // SAFETY: null or a node, which lives for ever.
    if let Some(found) = unsafe { found.as_ref() } {
        return found;
    }
    // SAFETY: zeros are a value (`Zero`).
    let new = Box::into_raw(unsafe { Box::<T>::new_zeroed().assume_init() });
    match place.compare_exchange(std::ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: the node just made, which nobody frees.
        Ok(_) => unsafe { &*new },
        Err(other) => {
            // SAFETY: nobody has seen the new one; the other is a node, as above.
            unsafe {
                drop(Box::from_raw(new));
                &*other
            }
        }
    }
}

/// The entries of all pages of a range.
fn entries(range: &Range<usize>) -> impl Iterator<Item = &'static Entry> {
    let units = range.start >> UNIT_BITS..range.end.div_ceil(1 << UNIT_BITS);
    units.map(|unit| {
        let at = unit << UNIT_BITS;
        assert!(at >> ADDRESS_BITS == 0, "no address of a process");
        let middle = node(&ROOT[index(at, UNIT_BITS + LEAF_BITS + MIDDLE_BITS, ROOT_BITS)]);
        let leaf = node(&middle[index(at, UNIT_BITS + LEAF_BITS, MIDDLE_BITS)]);
        &leaf[index(at, UNIT_BITS, LEAF_BITS)]
    })
}

/// Announces a range of code, the only one in its pages. It must not be executed before.
pub(super) fn insert(range: Range<usize>) {
    for entry in entries(&range) {
        entry.start.store(range.start, Ordering::Relaxed);
        entry.end.store(range.end, Ordering::Release);
    }
}

/// Forgets a range that [`insert`] announced. It must not be executed any more.
pub(super) fn remove(range: Range<usize>) {
    for entry in entries(&range) {
        entry.end.store(0, Ordering::Release);
    }
}

/// The range of the compiled code that holds `pc`: a piece of code, or pieces that were added together. Async-signal-safe.
pub fn lookup(pc: usize) -> Option<Range<usize>> {
    if pc >> ADDRESS_BITS != 0 {
        return None;
    }
    let middle = ROOT[index(pc, UNIT_BITS + LEAF_BITS + MIDDLE_BITS, ROOT_BITS)].load(Ordering::Acquire);
    // SAFETY: null or a node, which lives for ever.
    let middle = unsafe { middle.as_ref() }?;
    let leaf = middle[index(pc, UNIT_BITS + LEAF_BITS, MIDDLE_BITS)].load(Ordering::Acquire);
    // SAFETY: as above.
    let entry = &unsafe { leaf.as_ref() }?[index(pc, UNIT_BITS, LEAF_BITS)];
    let end = entry.end.load(Ordering::Acquire);
    let range = entry.start.load(Ordering::Relaxed)..end;
    range.contains(&pc).then_some(range)
}
