//! Words that the library, the program and the device share: signals, queues, rings of packets. All of them access these words at the same
//! time, so each access here is atomic.

use crate::status::{Result, Status};
use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64};
use warpjit_runtime::{Access, Memory};

/// Memory of the library's own, which the device sees at the same addresses. It goes when the value is dropped.
#[derive(Debug)]
pub(crate) struct Cells {
    memory: Memory,
    base: u64,
    bytes: usize,
}

macro_rules! words {
    ($($name:ident: $type:ty),*) => {$(
        /// The word at a byte offset.
        ///
        /// # Panics
        /// The offset is not in the memory, or not a multiple of the word's size.
        #[inline]
        pub fn $name(&self, offset: usize) -> &$type {
            let size = size_of::<$type>();
            assert!(offset.is_multiple_of(size) && offset <= self.bytes - size);
            // SAFETY: the word lies in memory that was mapped for this value, begins at a page there, and stays until it is dropped. Rust
            // accesses it by atomics only; compiled code and the program are outside of Rust's memory model, as guest memory always is.
            unsafe { &*(std::ptr::with_exposed_provenance::<$type>(self.base as usize + offset)) }
        }
    )*};
}

impl Cells {
    /// New memory, all zeros.
    ///
    /// # Errors
    /// OUT_OF_RESOURCES.
    pub fn new(memory: &Memory, bytes: usize) -> Result<Cells> {
        let base = memory.map(None, bytes as u64, Access::ReadWrite).map_err(|_| Status::OUT_OF_RESOURCES)?;
        Ok(Cells { memory: memory.clone(), base, bytes })
    }

    /// Where it begins, for program and device.
    pub fn address(&self) -> u64 {
        self.base
    }

    words!(i64: AtomicI64, u64: AtomicU64, u32: AtomicU32, u16: AtomicU16);
}

impl Drop for Cells {
    fn drop(&mut self) {
        // What cannot be unmapped stays until the process ends.
        let _ = self.memory.unmap(self.base);
    }
}
