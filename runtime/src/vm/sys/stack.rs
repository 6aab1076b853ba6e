//! Ensures that a launch has enough stack.
//!
//! Compiled code does not probe its stack; its frames are limited instead ([`warpjit_backend::MOST_STACK_BYTES`]). So a launch
//! starts only if that much and more is left. A thread with a small stack, or one that runs a fiber on a stack that the system
//! does not know, switches to a stack of ours for the launch. That stack has a guard page at its end.

use std::cell::Cell;
use std::ops::Range;

/// Bytes of stack that must be left when a launch starts: the largest frame of compiled code, and as much again for its
/// callers and callees.
const ENOUGH_BYTES: usize = 2 * warpjit_backend::MOST_STACK_BYTES as usize;
/// Bytes of stack that must be left when a region is compiled.
const ENOUGH_TO_COMPILE: usize = 1 << 20;
/// Size of each stack of our own.
const OWN_BYTES: usize = 4 << 20;

thread_local! {
    /// The stack that the system made for this thread; empty if unknown.
    static BOUNDS: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

/// Asks the system for this thread's stack; empty if unknown.
fn bounds() -> Range<usize> {
    if let Some((start, end)) = BOUNDS.get() {
        return start..end;
    }
    // SAFETY: a zeroed attribute is filled in by the first call and given back by the last; pointers are to locals.
    let (start, end) = unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        let (mut start, mut bytes) = (std::ptr::null_mut(), 0);
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            (0, 0)
        } else {
            let status = libc::pthread_attr_getstack(&attributes, &mut start, &mut bytes);
            libc::pthread_attr_destroy(&mut attributes);
            if status == 0 { (start as usize, start as usize + bytes) } else { (0, 0) }
        }
    };
    BOUNDS.set(Some((start, end)));
    start..end
}

/// Whether at least so many bytes are left of the current stack, as far as the system knows it.
fn has_left(bytes: usize) -> bool {
    let here = 0u8;
    let here = (&raw const here) as usize;
    let bounds = bounds();
    bounds.contains(&here) && here - bounds.start >= bytes
}

/// Calls `work` with enough stack for a launch: on the caller's stack, or on one of ours.
pub fn on_enough_stack<T>(work: impl FnOnce() -> T) -> T {
    // Not inlined, so that the frame of `work` is not part of the frame that checks the stack.
    #[inline(never)]
    fn call<T>(work: impl FnOnce() -> T) -> T {
        work()
    }
    if has_left(ENOUGH_BYTES) { call(work) } else { stacker::grow(OWN_BYTES, || call(work)) }
}

/// The same for the code generators, which need more.
pub fn on_stack_for_compiler<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ENOUGH_TO_COMPILE, OWN_BYTES, work)
}

/// The same, called from a function that compiled code has called: on whatever stack that runs, it gets another one.
pub fn on_new_stack_for_compiler<T>(work: impl FnOnce() -> T) -> T {
    stacker::grow(OWN_BYTES, work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_stacks_are_not_enough() {
        let left = |bytes| {
            let thread = std::thread::Builder::new().stack_size(bytes);
            thread.spawn(|| has_left(ENOUGH_BYTES)).unwrap().join().unwrap()
        };
        assert!(!left(64 << 10) && !left(ENOUGH_BYTES / 2));
        assert!(left(ENOUGH_BYTES + (256 << 10)));
        let deep = std::thread::Builder::new().stack_size(64 << 10).spawn(|| {
            // More than the thread has.
            on_enough_stack(|| {
                let room = [1u8; ENOUGH_BYTES];
                std::hint::black_box(&room).iter().map(|&byte| usize::from(byte)).sum::<usize>()
            })
        });
        assert_eq!(deep.unwrap().join().unwrap(), ENOUGH_BYTES);
    }

    #[test]
    fn a_stack_that_the_system_does_not_know_of_is_not_enough() {
        // A fiber's, with plenty of room.
        assert!(stacker::grow(8 << 20, || !has_left(0)));
    }
}
