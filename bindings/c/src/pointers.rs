//! Checks of what comes from C, and of where results go.

use std::ffi::{CStr, c_char};

use crate::handle::{Object, make};
use crate::status::Failure;

/// Writes a result.
///
/// # Safety
/// `out` is null or can be written.
pub(crate) unsafe fn put<T>(out: *mut T, value: T) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Failure::argument("the pointer for the result is NULL"));
    }
    // SAFETY: not null, and the caller's promise.
    unsafe { out.write(value) };
    Ok(())
}

/// Writes a result if it is wanted.
///
/// # Safety
/// As [`put`].
pub(crate) unsafe fn put_if<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: as above.
        unsafe { out.write(value) };
    }
}

/// Makes a handle of an object. If it fails, the result is NULL.
///
/// # Safety
/// As [`put`].
pub(crate) unsafe fn put_handle<T: Object>(out: *mut *mut T::Handle, object: T) -> Result<(), Failure> {
    // SAFETY: the caller's promise. Nothing is made if there is no place for it.
    unsafe {
        put(out, std::ptr::null_mut())?;
        put(out, make(object)?)
    }
}

/// A text.
///
/// # Safety
/// `text` is null or ends with a zero byte, and stays as it is while the result lives.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    // SAFETY: not null, and the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// An array. It may be null if it has no items.
///
/// # Safety
/// `items` is null or an array of so many items, which nobody changes while the result lives.
pub(crate) unsafe fn array<'a, T>(items: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    check(items, count, what)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: checked, and the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(items, count) })
}

/// The same, to be written.
///
/// # Safety
/// `items` is null or an array of so many items, which nobody else uses while the result lives.
pub(crate) unsafe fn array_mut<'a, T>(
    items: *mut T,
    count: usize,
    what: &str,
) -> Result<&'a mut [T], Failure> {
    check(items, count, what)?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: checked, and the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(items, count) })
}

fn check<T>(items: *const T, count: usize, what: &str) -> Result<(), Failure> {
    if count != 0 && items.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    if !items.is_aligned() {
        return Err(Failure::argument(format!("{what} is not aligned")));
    }
    if count.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Failure::argument(format!("{what} has {count:#x} items, more than memory")));
    }
    Ok(())
}

/// Copies the first `size` bytes of a structure, so that a program that was compiled with an older header gets what it knows of it.
///
/// # Safety
/// `out` is null or has `size` bytes.
pub(crate) unsafe fn put_sized<T: Copy>(out: *mut T, size: usize, value: &T) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Failure::argument("the pointer for the result is NULL"));
    }
    let bytes = size.min(size_of::<T>());
    // SAFETY: both have so many bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(std::ptr::from_ref(value).cast::<u8>(), out.cast::<u8>(), bytes);
        out.cast::<u8>().add(bytes).write_bytes(0, size - bytes);
    }
    Ok(())
}

/// A chip by its name.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn chip(name: *const c_char) -> Result<warpjit_frontend::Chip, Failure> {
    // SAFETY: the caller's promise.
    Ok(unsafe { text(name, "the name of the chip") }?.parse()?)
}
