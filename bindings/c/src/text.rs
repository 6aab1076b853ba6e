//! Bytes and texts that calls return.

use std::ffi::c_char;

use crate::pointers::put;
use crate::status::warpjit_status;
use crate::{entry, handle, object};

/// Bytes or a text that a call has returned.
pub struct warpjit_bytes {
    _private: [u8; 0],
}

/// The bytes, with a zero byte behind them.
pub(crate) struct Bytes(Vec<u8>);

object!(Bytes, 1, "warpjit_bytes", warpjit_bytes);

impl Bytes {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let mut bytes = bytes.into();
        bytes.push(0);
        Bytes(bytes)
    }
}

/// Where the bytes are and how many. A zero byte follows that is not counted, so a text can be used as a C string. `size` may be NULL.
/// The bytes stay there until the handle is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_bytes_get(
    bytes: *const warpjit_bytes,
    data: *mut *const c_char,
    size: *mut usize,
) -> warpjit_status {
    entry!({
        let bytes = handle::get::<Bytes>(bytes)?;
        put(data, bytes.0.as_ptr().cast())?;
        crate::pointers::put_if(size, bytes.0.len() - 1);
    })
}
