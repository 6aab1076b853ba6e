//! Memory of the program: what it hands over by pointers, whose meaning C's rules say.

use crate::memory::without_tag;
use crate::status::{Result, Status};
use warpjit_runtime::{Access, Memory};

/// Below this address nothing is ever mapped (mmap_min_addr).
const FIRST_ADDRESS: u64 = 0x1000;

/// Lets the device access whole pages of the program at their own addresses.
pub(crate) fn map(memory: &Memory, address: u64, bytes: u64) -> Result<()> {
    let pointer = std::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: the program locks memory that it has, and unlocks it before it goes (HSA's rule for locked memory). Accesses of the device to
    // pages that are gone are faults of the guest.
    let done = unsafe { memory.map_host(Some(address), pointer, bytes, Access::ReadWrite) };
    done.map(|_| ()).map_err(|error| Status::from(&error))
}

/// Copies bytes between memory that the program names.
///
/// # Errors
/// INVALID_ARGUMENT for null and addresses that can never be mapped. Other wild addresses end the program, as if it had used them itself.
pub(crate) fn copy(to: u64, from: u64, bytes: u64) -> Result<()> {
    let (to, from) = (without_tag(to), without_tag(from));
    if bytes == 0 {
        return Ok(());
    }
    let ends = [to, from].map(|start| start.checked_add(bytes));
    if to < FIRST_ADDRESS
        || from < FIRST_ADDRESS
        || ends.iter().any(|end| end.is_none_or(|end| end >> 47 != 0))
    {
        return Err(Status::INVALID_ARGUMENT);
    }
    let source = std::ptr::with_exposed_provenance::<u8>(from as usize);
    let target = std::ptr::with_exposed_provenance_mut::<u8>(to as usize);
    // SAFETY: the caller of HSA's copies promises that both ranges are mapped; they may lie over each other. What runs at the same time are
    // kernels, whose accesses are outside of Rust's memory model, and the program, which orders its accesses by signals.
    unsafe { std::ptr::copy(source, target, bytes as usize) };
    Ok(())
}

/// Stores a word so many times.
///
/// # Errors
/// As [`copy`]; also where the address is not one of words.
pub(crate) fn fill(to: u64, value: u32, count: u64) -> Result<()> {
    let to = without_tag(to);
    let end = count.checked_mul(4).and_then(|bytes| to.checked_add(bytes));
    if to < FIRST_ADDRESS || !to.is_multiple_of(4) || end.is_none_or(|end| end >> 47 != 0) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let target = std::ptr::with_exposed_provenance_mut::<u32>(to as usize);
    // SAFETY: as in `copy`, for the memory to be filled.
    let words = unsafe { std::slice::from_raw_parts_mut(target, count as usize) };
    words.fill(value);
    Ok(())
}
