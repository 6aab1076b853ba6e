//! The version of the library.

use std::ffi::c_char;

/// The version of the library that runs, as WARPJIT_VERSION: major * 1000000 + minor * 1000 + patch.
#[unsafe(no_mangle)]
pub extern "C" fn warpjit_version() -> u32 {
    let part = |text: &str| text.parse::<u32>().unwrap_or(0);
    part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + part(env!("CARGO_PKG_VERSION_MINOR")) * 1000
        + part(env!("CARGO_PKG_VERSION_PATCH"))
}

/// The same as text, as WARPJIT_VERSION_STRING. It is valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn warpjit_version_string() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
