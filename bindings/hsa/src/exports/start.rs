//! Starting and ending, statuses, the system.

use super::{Given, answer, exports, put};
use crate::events;
use crate::info::{self, extension};
use crate::status::Status;
use crate::system::{self, system};
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Once;

/// What extension tables begin with: functions in the order of the header.
type Function = *const c_void;

fn functions(number: u16) -> Option<Vec<Function>> {
    match number {
        extension::IMAGES => Some(super::images::functions().to_vec()),
        extension::LOADER => Some(super::loader::functions().to_vec()),
        _ => None,
    }
}

/// At the end of the process.
extern "C" fn finish() {
    // What goes wrong at the end has nobody to be told.
    let _ = std::panic::catch_unwind(system::finish);
}

static AT_END: Once = Once::new();

/// The latest minor version of an extension's table.
fn minor(number: u16) -> u16 {
    if number == extension::LOADER { 3 } else { 0 }
}

fn supported(number: u16, major: u16) -> bool {
    functions(number).is_some() && major == 1
}

exports! {
    fn hsa_init() {
        system::init(|name| std::env::var(name).ok())?;
        // SAFETY: the function stays: the library is not unloaded, as its threads run.
        AT_END.call_once(|| _ = unsafe { libc::atexit(finish) });
        Ok(())
    }

    fn hsa_shut_down() { system::shut_down() }

    fn hsa_status_string(status: Status, text: *mut *const c_char) {
        let found = status.text().ok_or(Status::INVALID_ARGUMENT)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(text, found.as_ptr()) }
    }

    fn hsa_system_get_info(attribute: u32, value: *mut c_void) {
        const BUILD_VERSION: u32 = 0x200;
        let system = system()?;
        if attribute == BUILD_VERSION {
            // SAFETY: HSA's rules for the place.
            return unsafe { put(value.cast::<*const c_char>(), c"1.1.5-warpjit".as_ptr()) };
        }
        let bytes = info::system(system, attribute)?;
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_extension_get_name(number: u16, name: *mut *const c_char) {
        let text = match number {
            0 => c"HSA_EXTENSION_FINALIZER",
            1 => c"HSA_EXTENSION_IMAGES",
            2 => c"HSA_EXTENSION_PERFORMANCE_COUNTERS",
            3 => c"HSA_EXTENSION_PROFILING_EVENTS",
            0x200 => c"HSA_EXTENSION_AMD_PROFILER",
            0x201 => c"HSA_EXTENSION_AMD_LOADER",
            0x202 => c"HSA_EXTENSION_AMD_AQLPROFILE",
            _ => return Err(Status::INVALID_ARGUMENT),
        };
        // SAFETY: HSA's rules for the place.
        unsafe { put(name, text.as_ptr()) }
    }

    fn hsa_system_extension_supported(number: u16, major: u16, minor_wanted: u16, result: *mut bool) {
        system()?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(result, supported(number, major) && minor_wanted <= minor(number)) }
    }

    fn hsa_system_major_extension_supported(number: u16, major: u16, minor_found: *mut u16, result: *mut bool) {
        system()?;
        let is = supported(number, major);
        // SAFETY: HSA's rules for both places.
        unsafe {
            put(minor_found, if is { minor(number) } else { 0 })?;
            put(result, is)
        }
    }

    fn hsa_system_get_extension_table(number: u16, major: u16, minor_wanted: u16, table: *mut c_void) {
        system()?;
        if minor_wanted > minor(number) {
            return Err(Status::ERROR);
        }
        let count = match (number, minor_wanted) {
            (extension::IMAGES, _) => 10,
            (_, 0) => 3,
            (_, 1) => 5,
            (_, 2) => 6,
            _ => usize::MAX,
        };
        // SAFETY: the table is that of this version.
        unsafe { put_table(number, major, count, table) }
    }

    fn hsa_system_get_major_extension_table(number: u16, major: u16, bytes: usize, table: *mut c_void) {
        system()?;
        // SAFETY: the table has so many bytes.
        unsafe { put_table(number, major, bytes / size_of::<Function>(), table) }
    }

    fn hsa_amd_async_function(function: Option<unsafe extern "C" fn(*mut c_void)>, argument: *mut c_void) {
        system()?;
        let function = function.ok_or(Status::INVALID_ARGUMENT)?;
        let argument = Given(argument);
        // SAFETY: HSA's rule for the function: it may be called with the argument on any thread.
        events::call(Box::new(move || unsafe { function(argument.get()) }));
        Ok(())
    }

    fn hsa_amd_register_system_event_handler(
        handler: Option<unsafe extern "C" fn(*const c_void, *mut c_void) -> Status>,
        _argument: *mut c_void,
    ) {
        // Faults are reported to the queue's callback, which is where HSA's specification has them.
        system()?;
        handler.map(|_| ()).ok_or(Status::INVALID_ARGUMENT)
    }
}

/// Writes the first functions of an extension.
///
/// # Safety
/// The table is null, or has room for so many functions.
unsafe fn put_table(number: u16, major: u16, count: usize, table: *mut c_void) -> crate::status::Result<()> {
    let functions = functions(number).filter(|_| major == 1).ok_or(Status::ERROR)?;
    if table.is_null() || count == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let count = count.min(functions.len());
    // SAFETY: as the caller promises.
    unsafe { ptr::copy_nonoverlapping(functions.as_ptr(), table.cast::<Function>(), count) };
    Ok(())
}
