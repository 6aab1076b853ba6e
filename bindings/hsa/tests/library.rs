//! The library as programs have it: loaded by name, with versions of its symbols.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::PathBuf;

/// The library, which Cargo builds beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("where the test is");
    test.with_file_name("libwarpjit_hsa.so")
}

/// A function of the library, with the version that AMD's has.
fn function(handle: *mut c_void, name: &str) -> *mut c_void {
    let name = CString::new(name).unwrap();
    // SAFETY: the handle is of a library that stays; the texts end with zeros.
    unsafe { libc::dlvsym(handle, name.as_ptr(), c"ROCR_1".as_ptr()) }
}

/// All functions that AMD's library of 5.2.3 exports.
const NAMES: &str = include_str!("names.txt");

#[test]
fn symbols_have_versions() {
    let path = CString::new(library().into_os_string().into_encoded_bytes()).unwrap();
    // SAFETY: a library of this project, which is not unloaded.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null(), "{path:?} cannot be loaded");
    let missing: Vec<&str> =
        NAMES.split_whitespace().filter(|name| function(handle, name).is_null()).collect();
    assert!(missing.is_empty(), "{missing:?}");

    // Its name is AMD's, so a second library with that name is not looked for.
    // SAFETY: as above.
    let again =
        unsafe { libc::dlopen(c"libhsa-runtime64.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    assert_eq!(again, handle);

    // SAFETY: the function's type in hsa.h.
    let text = unsafe {
        let status_string: unsafe extern "C" fn(u32, *mut *const c_char) -> u32 =
            std::mem::transmute(function(handle, "hsa_status_string"));
        let mut text = std::ptr::null();
        assert_eq!(status_string(0x1007, &raw mut text), 0);
        CStr::from_ptr(text).to_str().unwrap()
    };
    assert!(text.starts_with("HSA_STATUS_ERROR_INVALID_QUEUE"), "{text}");
}
