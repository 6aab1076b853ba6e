//! The functions that programs call, by the names and types that `hsa.h` and its companions give them.
//!
//! Each of them checks what it gets: null where a pointer is needed, handles of nothing, enumerations without such a number. What else C
//! must keep is what HSA's specification says of the function. A panic becomes the status ERROR.

mod agents;
mod code;
mod images;
mod loader;
mod memory;
mod queues;
mod signals;
mod start;

pub use agents::*;
pub use code::*;

pub use images::*;
pub use loader::*;
pub use memory::*;
pub use queues::*;
pub use signals::*;
pub use start::*;

use crate::status::{Result, Status};
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a function; what it panics with has been said where it happened.
pub(crate) fn guard(body: impl FnOnce() -> Result<()>) -> Status {
    catch_unwind(AssertUnwindSafe(|| Status::from(body()))).unwrap_or(Status::ERROR)
}

/// Writes a value where the program wants it.
///
/// # Safety
/// The place is null, or one for a value of the type that may be written.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) -> Result<()> {
    if place.is_null() || !place.is_aligned() {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: as the caller promises.
    unsafe { place.write(value) };
    Ok(())
}

/// Writes the bytes of an answer.
///
/// # Safety
/// The place is null, or has room for the answer to what was asked for.
pub(crate) unsafe fn answer(place: *mut c_void, answer: &[u8]) -> Result<()> {
    if place.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: as the caller promises.
    unsafe { place.cast::<u8>().copy_from_nonoverlapping(answer.as_ptr(), answer.len()) };
    Ok(())
}

/// A text of the program.
///
/// # Safety
/// The pointer is null, or leads to a text that ends with a zero and stays for as long as the result is used.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Result<&'a str> {
    if text.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Status::INVALID_ARGUMENT)
}

/// A list of the program.
///
/// # Safety
/// The pointer is null, or leads to so many values, which stay for as long as the result is used.
pub(crate) unsafe fn list<'a, T>(start: *const T, count: usize) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() || !start.is_aligned() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}

/// A pointer of the program that callbacks on other threads get back.
#[derive(Clone, Copy)]
pub(crate) struct Given(pub *mut c_void);

// SAFETY: it is a number for this library; what may be done with it on other threads is the program's business.
unsafe impl Send for Given {}
// SAFETY: as above.
unsafe impl Sync for Given {}

impl Given {
    /// The pointer.
    pub fn get(self) -> *mut c_void {
        self.0
    }
}

/// Exports functions that return a status: the body gives a result.
macro_rules! exports {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $crate::status::Status {
            $crate::exports::guard(|| $body)
        }
    )*};
}
pub(crate) use exports;
