//! The extension that tells debuggers and profilers what is loaded where. Its functions are reached by the table of the extension only.

use super::code::{each_executable, read_file};
use super::{answer, guard, put};
use crate::executable::{Executable, Loaded};
use crate::info::Agent;
use crate::status::{Result, Status};
use crate::system::system;
use std::ffi::c_void;
use std::sync::Arc;

/// Bits of a loaded code object's handle for its number in the executable.
const BITS: u32 = 16;

/// The handle of a loaded code object.
pub(super) fn handle(executable: &Executable, number: usize) -> u64 {
    executable.number << BITS | number as u64
}

/// The code object with a handle.
fn find(handle: u64) -> Result<(Arc<Executable>, Arc<Loaded>)> {
    let executable = system()?.executables.get(handle >> BITS).map_err(|_| Status::INVALID_CODE_OBJECT)?;
    let number = (handle & ((1 << BITS) - 1)) as usize;
    let loaded = executable.loaded().get(number).cloned().ok_or(Status::INVALID_CODE_OBJECT)?;
    Ok((executable, loaded))
}

/// The code object that an address is in.
fn at(address: u64) -> Result<(Arc<Executable>, Arc<Loaded>)> {
    for executable in system()?.executables.all() {
        for loaded in executable.loaded() {
            if address.wrapping_sub(loaded.base) < loaded.bytes {
                return Ok((executable, loaded));
            }
        }
    }
    Err(Status::INVALID_ARGUMENT)
}

/// `hsa_ven_amd_loader_segment_descriptor_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Segment {
    agent: u64,
    executable: u64,
    storage: u32,
    storage_base: u64,
    storage_bytes: usize,
    storage_offset: usize,
    base: u64,
    bytes: usize,
}

/// HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY.
const IN_MEMORY: u32 = 2;

unsafe extern "C" fn query_host_address(device: *const c_void, host: *mut *const c_void) -> Status {
    guard(|| {
        at(device.addr() as u64)?;
        // All memory is the host's.
        // SAFETY: HSA's rules for the place.
        unsafe { put(host, device) }
    })
}

unsafe extern "C" fn query_segment_descriptors(segments: *mut Segment, count: *mut usize) -> Status {
    guard(|| {
        if count.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let mut all = Vec::new();
        for executable in system()?.executables.all() {
            all.extend(executable.loaded().iter().map(|loaded| Segment {
                agent: Agent::Device.handle(),
                executable: executable.number,
                storage: IN_MEMORY,
                storage_base: loaded.source.0,
                storage_bytes: loaded.source.1 as usize,
                storage_offset: 0,
                base: loaded.base,
                bytes: loaded.bytes as usize,
            }));
        }
        // SAFETY: HSA's rules for the list and its length.
        unsafe {
            if segments.is_null() {
                if *count != 0 {
                    return Err(Status::INVALID_ARGUMENT);
                }
                return put(count, all.len());
            }
            if *count != all.len() {
                return Err(Status::INCOMPATIBLE_ARGUMENTS);
            }
            for (number, segment) in all.into_iter().enumerate() {
                put(segments.add(number), segment)?;
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn query_executable(device: *const c_void, executable: *mut u64) -> Status {
    guard(|| {
        let (found, _) = at(device.addr() as u64)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(executable, found.number) }
    })
}

unsafe extern "C" fn iterate_loaded_code_objects(
    executable: u64,
    function: Option<unsafe extern "C" fn(u64, u64, *mut c_void) -> Status>,
    data: *mut c_void,
) -> Status {
    guard(|| {
        let found = system()?.executables.get(executable)?;
        let function = function.ok_or(Status::INVALID_ARGUMENT)?;
        for number in 0..found.loaded().len() {
            // SAFETY: HSA's rules for the function.
            match unsafe { function(executable, handle(&found, number), data) } {
                Status::SUCCESS => {}
                other => return Err(other),
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn loaded_code_object_get_info(object: u64, attribute: u32, value: *mut c_void) -> Status {
    guard(|| {
        let (executable, loaded) = find(object)?;
        let uri = || {
            let (start, bytes) = loaded.source;
            format!("memory://{}#offset={start:#x}&size={bytes}", std::process::id())
        };
        let long = |value: u64| value.to_le_bytes().to_vec();
        let word = |value: u32| value.to_le_bytes().to_vec();
        /// HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT.
        const OF_AGENT: u32 = 2;
        let bytes = match attribute {
            1 => long(executable.number),
            2 => word(OF_AGENT),
            3 => long(Agent::Device.handle()),
            4 => word(IN_MEMORY),
            5 => long(loaded.source.0),
            6 => long(loaded.source.1),
            8 => long(loaded.delta),
            9 => long(loaded.base),
            10 => long(loaded.bytes),
            11 => word(uri().len() as u32),
            12 => uri().into_bytes(),
            _ => return Err(Status::INVALID_ARGUMENT),
        };
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    })
}

unsafe extern "C" fn code_object_reader_create_from_file_with_offset_size(
    file: i32,
    offset: usize,
    bytes: usize,
    reader: *mut u64,
) -> Status {
    guard(|| {
        system()?;
        if bytes == 0 || reader.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let handle = read_file(file, offset as u64, Some(bytes))?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(reader, handle) }
    })
}

unsafe extern "C" fn iterate_executables(
    function: Option<unsafe extern "C" fn(u64, *mut c_void) -> Status>,
    data: *mut c_void,
) -> Status {
    // SAFETY: HSA's rules for the function.
    guard(|| unsafe { each_executable(function, data) })
}

/// The functions of the extension's table.
pub(super) fn functions() -> [*const c_void; 7] {
    [
        query_host_address as *const c_void,
        query_segment_descriptors as *const c_void,
        query_executable as *const c_void,
        iterate_loaded_code_objects as *const c_void,
        loaded_code_object_get_info as *const c_void,
        code_object_reader_create_from_file_with_offset_size as *const c_void,
        iterate_executables as *const c_void,
    ]
}
