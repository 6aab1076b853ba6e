//! Callbacks of C with their user pointers.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::status::{CallbackFailed, WARPJIT_OK, text_of, warpjit_status};

/// Called when an object does not need its user pointer any more: once, on any thread, after the last callback with it has returned. May be
/// NULL.
pub type warpjit_drop = Option<unsafe extern "C-unwind" fn(user: *mut c_void)>;

/// A user pointer, and what is to be called when nobody needs it any more.
pub(crate) struct User {
    pointer: *mut c_void,
    drop: warpjit_drop,
}

// SAFETY: who gave the pointer has promised that callbacks may get it on any thread (the header's rules).
unsafe impl Send for User {}
// SAFETY: as above; here it is not followed.
unsafe impl Sync for User {}

impl User {
    pub fn new(pointer: *mut c_void, drop: warpjit_drop) -> Self {
        User { pointer, drop }
    }

    /// Calls a callback with the pointer. A panic in it goes on from here to the call of the library that waits for the guest.
    pub fn call<R>(&self, what: &str, callback: impl FnOnce(*mut c_void) -> R) -> R {
        match catch_unwind(AssertUnwindSafe(|| callback(self.pointer))) {
            Ok(result) => result,
            Err(payload) => {
                let text = format!("{what} has panicked: {}", text_of(&*payload));
                let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
                fail(text)
            }
        }
    }

    /// The same of a callback that says whether it failed.
    pub fn call_checked(&self, what: &str, callback: impl FnOnce(*mut c_void) -> warpjit_status) {
        let status = self.call(what, callback);
        if status != WARPJIT_OK {
            fail(format!("{what} has returned {status}"));
        }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            // It has nobody to tell. SAFETY: the caller gave both together.
            let _ = catch_unwind(AssertUnwindSafe(|| unsafe { drop(self.pointer) }));
        }
    }
}

/// Ends what runs with an error of a callback. Nothing is printed.
fn fail(text: String) -> ! {
    resume_unwind(Box::new(CallbackFailed(text)))
}
