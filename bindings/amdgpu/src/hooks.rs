//! The functions that take the place of the C library's.
//!
//! `open` and `ioctl` of C take any number of arguments. On the hosts that warpjit runs on (x86-64 and AArch64 with Linux), a function with
//! fixed ones finds them in the same registers; where the caller gave none, it gets a value that nobody uses.

use crate::node;
use crate::real::real;
use crate::tree;
use libc::{DIR, FILE, c_char, c_int, c_ulong, c_void, mode_t, size_t, ssize_t};
use std::ffi::{CStr, CString};

/// Where a path leads: `None` to what it says.
///
/// # Safety
/// The path is null or ends with a zero.
unsafe fn redirected(path: *const c_char) -> Option<CString> {
    if path.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    let path = unsafe { CStr::from_ptr(path) };
    if tree::is_pretended(path) { Some(node::tree()?.real_path(path)) } else { None }
}

/// The minor number of the node that a path names.
///
/// # Safety
/// As [`redirected`].
unsafe fn node_of(path: *const c_char) -> Option<u32> {
    // SAFETY: as the caller promises.
    if path.is_null() { None } else { tree::node(unsafe { CStr::from_ptr(path) }) }
}

fn set_errno(error: rustix::io::Errno) {
    // SAFETY: the variable is the thread's own.
    unsafe { *libc::__errno_location() = error.raw_os_error() };
}

/// Opens a node, if the path names one and there is a card.
///
/// # Safety
/// As [`redirected`].
unsafe fn open_node(path: *const c_char, flags: c_int) -> Option<c_int> {
    // SAFETY: as the caller promises.
    unsafe { node_of(path)? };
    node::tree()?;
    Some(node::open(flags).unwrap_or_else(|error| {
        set_errno(error);
        -1
    }))
}

/// Hooks that open a file: `name(path, flags, mode)`.
macro_rules! opens {
    ($($name:ident)*) => {$(
        /// As the C library's function.
        ///
        /// # Safety
        /// As the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            // SAFETY: the caller gives what the function behind this one wants; another path is one as well.
            unsafe {
                if let Some(opened) = open_node(path, flags) {
                    return opened;
                }
                let real = redirected(path);
                let path = real.as_ref().map_or(path, |real| real.as_ptr());
                real!($name: fn(*const c_char, c_int, mode_t) -> c_int, path, flags, mode)
            }
        }
    )*};
}
opens!(open open64);

/// The same with a folder that relative paths begin in.
macro_rules! opens_at {
    ($($name:ident)*) => {$(
        /// As the C library's function.
        ///
        /// # Safety
        /// As the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            // SAFETY: as in `open`.
            unsafe {
                if let Some(opened) = open_node(path, flags) {
                    return opened;
                }
                let real = redirected(path);
                let path = real.as_ref().map_or(path, |real| real.as_ptr());
                real!($name: fn(c_int, *const c_char, c_int, mode_t) -> c_int, folder, path, flags, mode)
            }
        }
    )*};
}
opens_at!(openat openat64);

/// What programs call that were compiled with checks: `open` without a mode.
macro_rules! checked_opens {
    ($($name:ident)*) => {$(
        /// As the C library's function.
        ///
        /// # Safety
        /// As the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, flags: c_int) -> c_int {
            // SAFETY: as in `open`.
            unsafe {
                if let Some(opened) = open_node(path, flags) {
                    return opened;
                }
                let real = redirected(path);
                let path = real.as_ref().map_or(path, |real| real.as_ptr());
                real!($name: fn(*const c_char, c_int) -> c_int, path, flags)
            }
        }
    )*};
}
checked_opens!(__open_2 __open64_2);

/// Makes what the system says of the node's stand-in what it would say of a node.
macro_rules! dress {
    ($state:expr, $minor:expr) => {{
        $state.st_mode = libc::S_IFCHR | 0o666;
        $state.st_rdev = libc::makedev(tree::MAJOR, $minor);
        $state.st_size = 0;
    }};
}

/// Hooks that tell about the file at a path.
macro_rules! stats {
    ($($name:ident $type:ty;)*) => {$(
        /// As the C library's function.
        ///
        /// # Safety
        /// As the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, state: *mut $type) -> c_int {
            // SAFETY: as in `open`; the function behind has filled the structure.
            unsafe {
                let real = redirected(path);
                let to = real.as_ref().map_or(path, |real| real.as_ptr());
                let result = real!($name: fn(*const c_char, *mut $type) -> c_int, to, state);
                if let (0, Some(_), Some(minor)) = (result, real, node_of(path)) {
                    dress!((*state), minor);
                }
                result
            }
        }
    )*};
}
stats! { stat libc::stat; stat64 libc::stat64; lstat libc::stat; lstat64 libc::stat64; }

/// Hooks that tell about an open file.
macro_rules! descriptor_stats {
    ($($name:ident $type:ty;)*) => {$(
        /// As the C library's function.
        ///
        /// # Safety
        /// As the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(descriptor: c_int, state: *mut $type) -> c_int {
            // SAFETY: as in `stat`.
            unsafe {
                let result = real!($name: fn(c_int, *mut $type) -> c_int, descriptor, state);
                if result == 0 && node::file(descriptor).is_some() {
                    dress!((*state), tree::RENDER);
                }
                result
            }
        }
    )*};
}
descriptor_stats! { fstat libc::stat; fstat64 libc::stat64; }

/// Hooks of which only the path is of interest.
macro_rules! paths {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        /// As the C library's function.
        ///
        /// # Safety
        /// As the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, $($argument: $type),*) -> $result {
            // SAFETY: as in `open`.
            unsafe {
                let real = redirected(path);
                let path = real.as_ref().map_or(path, |real| real.as_ptr());
                real!($name: fn(*const c_char, $($type),*) -> $result, path, $($argument),*)
            }
        }
    )*};
}
paths! {
    access(mode: c_int) -> c_int;
    opendir() -> *mut DIR;
    readlink(out: *mut c_char, bytes: size_t) -> ssize_t;
    realpath(out: *mut c_char) -> *mut c_char;
    __realpath_chk(out: *mut c_char, bytes: size_t) -> *mut c_char;
    fopen(mode: *const c_char) -> *mut FILE;
    fopen64(mode: *const c_char) -> *mut FILE;
}

/// As the C library's function.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(descriptor: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    /// The type of the kernel's DRM ioctls.
    const DRM: c_ulong = b'd' as c_ulong;
    if request >> 8 & 0xff == DRM
        && let Some(file) = node::file(descriptor)
    {
        return match node::ioctl(&file, request as u32, argument as u64) {
            Ok(()) => 0,
            Err(error) => {
                set_errno(error);
                -1
            }
        };
    }
    // SAFETY: the caller gives what the function behind this one wants.
    unsafe { real!(ioctl: fn(c_int, c_ulong, *mut c_void) -> c_int, descriptor, request, argument) }
}
