//! One piece of memory seen at two addresses: to write code and to run it.

use super::arch;
use crate::Error;
use rustix::mm::{MapFlags, MprotectFlags, MremapFlags, ProtFlags, mmap_anonymous, mprotect, mremap, munmap};

/// Both mappings; unmapped when dropped.
#[derive(Debug)]
pub struct Views {
    writable: *mut u8,
    executable: *mut u8,
    bytes: usize,
}

// SAFETY: the mappings belong to this value; the writable one is only used through `&mut self`.
unsafe impl Send for Views {}

impl Views {
    /// Makes at least `bytes` bytes of code memory, filled with traps.
    pub fn new(bytes: usize) -> Result<Self, Error> {
        let bytes = bytes.next_multiple_of(rustix::param::page_size());
        let failed = |error| Error::os("code memory", error);
        // Shared memory of no file: only such mappings does perf look up in /tmp/perf-PID.map.
        // SAFETY: a new mapping where the kernel likes touches nothing that exists.
        let writable = unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            // All of it is written at once: better one call than a fault for each page.
            let flags = MapFlags::SHARED | MapFlags::POPULATE;
            mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags)
        };
        let writable = writable.map_err(failed)?.cast::<u8>();
        // SAFETY: an old size of 0 maps the same shared memory a second time and leaves the first mapping as it is.
        let second = unsafe { mremap(writable.cast(), 0, bytes, MremapFlags::MAYMOVE) };
        let protected = second.and_then(|second| {
            let protection = MprotectFlags::READ | MprotectFlags::EXEC;
            // SAFETY: the mapping just made, which nobody uses yet; it goes if its rights cannot be changed.
            unsafe {
                mprotect(second, bytes, protection).inspect_err(|_| {
                    let _ = munmap(second, bytes);
                })?;
            }
            Ok(second.cast::<u8>())
        });
        let executable = match protected {
            Ok(executable) => executable,
            Err(error) => {
                // SAFETY: mapped above, named nowhere else.
                let _ = unsafe { munmap(writable.cast(), bytes) };
                return Err(failed(error));
            }
        };
        let mut views = Views { writable, executable, bytes };
        views.write(0, &[], bytes);
        Ok(views)
    }

    /// Size of the memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes code and fills the rest of `room` bytes with traps. Nobody may be executing there.
    pub fn write(&mut self, offset: usize, code: &[u8], room: usize) {
        assert!(code.len() <= room && offset.checked_add(room).is_some_and(|end| end <= self.bytes));
        // SAFETY: the range is inside the writable view (checked above), which nothing else refers to:
        // `&mut self`, and code that runs in the other view is not in this range (the caller's promise,
        // kept by `CodeMemory`, which hands out a range once).
        let target = unsafe { std::slice::from_raw_parts_mut(self.writable.add(offset), room) };
        let (text, rest) = target.split_at_mut(code.len());
        text.copy_from_slice(code);
        match arch::TRAP {
            [trap] => rest.fill(*trap),
            trap => rest.iter_mut().zip(trap.iter().cycle()).for_each(|(byte, trap)| *byte = *trap),
        }
        arch::publish(target.as_ptr(), self.executable(offset), room);
    }

    /// The address where the byte at `offset` runs.
    pub fn executable(&self, offset: usize) -> *const u8 {
        self.executable.wrapping_add(offset)
    }

    /// The offset of an executable address.
    pub fn offset_of(&self, address: *const u8) -> Option<usize> {
        (address as usize).checked_sub(self.executable as usize).filter(|&offset| offset < self.bytes)
    }
}

impl Drop for Views {
    fn drop(&mut self) {
        // SAFETY: our mappings; `CodeMemory` drops a segment only when no code is left in it.
        // Failure would only leak.
        unsafe {
            let _ = munmap(self.writable.cast(), self.bytes);
            let _ = munmap(self.executable.cast(), self.bytes);
        }
    }
}
