//! The functions that stand behind the hooks: the C library's, or those of another preload library.

use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function by its name, looked up when it is first called.
pub struct Real {
    name: &'static CStr,
    found: AtomicPtr<libc::c_void>,
}

impl Real {
    /// The function with this name.
    pub const fn new(name: &'static CStr) -> Real {
        Real { name, found: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address. A C library without the function cannot have been linked with a program that calls it, so nothing is found only where
    /// something is badly wrong; then the process ends.
    pub fn get(&self) -> *mut libc::c_void {
        let found = self.found.load(Ordering::Acquire);
        if !found.is_null() {
            return found;
        }
        // SAFETY: the name ends with a zero; the handle is one that the call knows.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            std::process::abort();
        }
        self.found.store(found, Ordering::Release);
        found
    }
}

/// Calls the real function of a name with a type: `real!(open: fn(*const c_char, c_int, mode_t) -> c_int, path, flags, mode)`. It is unsafe as
/// the function is.
macro_rules! real {
    ($name:ident: fn($($type:ty),* $(,)?) -> $result:ty, $($argument:expr),* $(,)?) => {{
        static REAL: $crate::real::Real = $crate::real::Real::new(
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name without zeros"),
            },
        );
        let function: unsafe extern "C" fn($($type),*) -> $result = std::mem::transmute(REAL.get());
        function($($argument),*)
    }};
}
pub(crate) use real;
