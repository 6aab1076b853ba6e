//! Panics of the embedder's functions that compiled code has called: devices, pagers, watches.
//!
//! A panic cannot pass through compiled code, which has no unwinding tables. So the call that compiled code makes catches it and
//! answers with a fault, and the thread throws it again when that code has returned.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    static CAUGHT: RefCell<Option<Box<dyn Any + Send>>> = const { RefCell::new(None) };
}

/// Does what compiled code has asked for; `None` if it panicked.
#[inline]
pub fn catch<T>(work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => Some(done),
        Err(panic) => {
            CAUGHT.with_borrow_mut(|caught| {
                caught.get_or_insert(panic);
            });
            None
        }
    }
}

/// Throws what has been caught on this thread, if anything. Called when compiled code has returned with a fault.
#[cold]
pub fn throw_again() {
    if let Some(panic) = CAUGHT.take() {
        resume_unwind(panic);
    }
}
