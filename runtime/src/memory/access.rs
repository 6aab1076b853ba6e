//! Loads, stores and copies of guest memory that check page rights first. Other threads may access the memory at the same time.

use super::{Memory, PAGE_BYTES, PAGE_READ, PAGE_WRITE};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// An access that the page table does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} {address:#x} is {}", if *.store { "store to" } else { "load from" }, if *.mapped { "read-only" } else { "not mapped" })]
pub struct Denied {
    /// The first byte that may not be accessed.
    pub address: u64,
    /// Whether it was to be written.
    pub store: bool,
    /// Whether it is mapped (then it is read-only).
    pub mapped: bool,
}

impl Memory {
    /// Checks that every page of a range has the rights; returns the end of the range.
    pub(super) fn check(&self, address: u64, bytes: u64, rights: u8) -> Result<u64, Denied> {
        let denied =
            |at: u64, flags: u8| Denied { address: at, store: rights & PAGE_WRITE != 0, mapped: flags != 0 };
        let Some(end) = address.checked_add(bytes) else { return Err(denied(address, 0)) };
        let mut at = address;
        while at < end {
            let flags = self.page_flags(at);
            if flags & rights != rights {
                return Err(denied(at, flags));
            }
            at = (at / PAGE_BYTES + 1) * PAGE_BYTES;
        }
        Ok(end)
    }

    /// The host pointer for an access, after checking the page rights. `None` if it crosses two pieces of host memory.
    #[inline]
    fn pointer(&self, address: u64, bytes: u8, rights: u8) -> Result<Option<*mut u8>, Denied> {
        match self.space.window_page(address, bytes) {
            Some((flags, pointer)) if flags & rights == rights => Ok(Some(pointer)),
            _ => self.pointer_anywhere(address, bytes, rights),
        }
    }

    #[cold]
    fn pointer_anywhere(&self, address: u64, bytes: u8, rights: u8) -> Result<Option<*mut u8>, Denied> {
        self.check(address, bytes.into(), rights)?;
        Ok(self.whole(address, bytes))
    }

    /// The host pointer for an access whose rights have been checked; `None` if it crosses two pieces of host memory.
    fn whole(&self, address: u64, bytes: u8) -> Option<*mut u8> {
        let piece = self.space.place(address)?;
        (piece.bytes >= bytes.into()).then_some(piece.pointer)
    }

    /// The host address for an access of compiled code, of 1, 2, 4 or 8 bytes. `bounce` is an eight-byte buffer for
    /// this access. If the access crosses two pieces of host memory, a store is executed here, a load's value is copied
    /// to `bounce`, and the result is `bounce`.
    pub(crate) fn translate(
        &self,
        address: u64,
        bytes: u8,
        value: Option<u64>,
        bounce: &AtomicU64,
    ) -> Result<*mut u8, Denied> {
        let rights = if value.is_some() { PAGE_READ | PAGE_WRITE } else { PAGE_READ };
        if let Some(pointer) = self.pointer(address, bytes, rights)? {
            return Ok(pointer);
        }
        match value {
            Some(value) => self.store(address, bytes, value)?,
            None => bounce.store(self.load(address, bytes)?.to_le(), Relaxed),
        }
        Ok(bounce.as_ptr().cast())
    }

    /// The first byte of a range that the guest may not load (or store), if there is one.
    pub(crate) fn first_denied(&self, address: u64, bytes: u64, store: bool) -> Option<u64> {
        self.check(address, bytes, if store { PAGE_WRITE } else { PAGE_READ })
            .err()
            .map(|denied| denied.address)
    }

    /// Where the host finds a range that may be loaded and lies in one piece.
    pub(crate) fn readable(&self, address: u64, bytes: u64) -> Option<*const u8> {
        self.check(address, bytes, PAGE_READ).ok()?;
        let piece = self.space.place(address)?;
        (piece.bytes >= bytes).then_some(piece.pointer.cast_const())
    }

    /// Loads 1, 2, 4 or 8 bytes, zero-extended. Other sizes load nothing.
    #[inline]
    pub fn load(&self, address: u64, bytes: u8) -> Result<u64, Denied> {
        let aligned = address & (u64::from(bytes).wrapping_sub(1)) == 0;
        let Some(pointer) = self.pointer(address, bytes, PAGE_READ)? else {
            // The access crosses two pieces of host memory.
            let byte = |at: u8| Ok(self.load(address + u64::from(at), 1)? << (8 * at));
            return (0..bytes).try_fold(0, |value, at| Ok(value | byte(at)?));
        };
        // SAFETY: the range is mapped and readable (checked above), stays so while `self` is borrowed,
        // is aligned where a wide atomic is made, and all other accesses of this process to it are atomic.
        unsafe {
            Ok(match bytes {
                1 => u64::from(AtomicU8::from_ptr(pointer).load(Relaxed)),
                2 if aligned => u64::from(u16::from_le(AtomicU16::from_ptr(pointer.cast()).load(Relaxed))),
                4 if aligned => u64::from(u32::from_le(AtomicU32::from_ptr(pointer.cast()).load(Relaxed))),
                8 if aligned => u64::from_le(AtomicU64::from_ptr(pointer.cast()).load(Relaxed)),
                _ => {
                    let mut value = [0; 8];
                    for (at, byte) in value.iter_mut().enumerate().take(usize::from(bytes)) {
                        *byte = AtomicU8::from_ptr(pointer.wrapping_add(at)).load(Relaxed);
                    }
                    u64::from_le_bytes(value)
                }
            })
        }
    }

    /// Stores the low 1, 2, 4 or 8 bytes of a value.
    #[inline]
    pub fn store(&self, address: u64, bytes: u8, value: u64) -> Result<(), Denied> {
        let aligned = address & (u64::from(bytes).wrapping_sub(1)) == 0;
        let Some(pointer) = self.pointer(address, bytes, PAGE_READ | PAGE_WRITE)? else {
            return (0..bytes).try_for_each(|at| self.store(address + u64::from(at), 1, value >> (8 * at)));
        };
        // SAFETY: as in `load`, and the range is writable.
        unsafe {
            match bytes {
                1 => AtomicU8::from_ptr(pointer).store(value as u8, Relaxed),
                2 if aligned => AtomicU16::from_ptr(pointer.cast()).store((value as u16).to_le(), Relaxed),
                4 if aligned => AtomicU32::from_ptr(pointer.cast()).store((value as u32).to_le(), Relaxed),
                8 if aligned => AtomicU64::from_ptr(pointer.cast()).store(value.to_le(), Relaxed),
                _ => {
                    for (at, byte) in value.to_le_bytes().into_iter().enumerate().take(usize::from(bytes)) {
                        AtomicU8::from_ptr(pointer.wrapping_add(at)).store(byte, Relaxed);
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies mapped guest memory out.
    pub(super) fn load_bytes(&self, address: u64, out: &mut [u8]) -> Result<(), Denied> {
        self.check(address, out.len() as u64, PAGE_READ)?;
        self.each_piece(address, out.len() as u64, |pointer, at, bytes| {
            // SAFETY: mapped and readable (checked above) while `self` is borrowed.
            unsafe { load_all(pointer, &mut out[at..at + bytes]) }
        });
        Ok(())
    }

    /// Zeroes a range of whole 64-bit words that the guest may write.
    pub(crate) fn clear(&self, address: u64, bytes: u64) -> Result<(), Denied> {
        let (address, bytes) = (address & !7, bytes & !7);
        self.check(address, bytes, PAGE_READ | PAGE_WRITE)?;
        self.each_piece(address, bytes, |pointer, _, bytes| {
            for at in (0..bytes).step_by(8) {
                // SAFETY: as in `store`; pieces of memory begin and end at pages, so words are aligned.
                unsafe { AtomicU64::from_ptr(pointer.wrapping_add(at).cast()).store(0, Relaxed) };
            }
        });
        Ok(())
    }

    /// Copies into guest memory. Callers have made all of the range writable.
    pub(super) fn copy_in(&self, address: u64, data: &[u8]) {
        self.each_piece(address, data.len() as u64, |pointer, at, bytes| {
            // SAFETY: mapped and made writable by the caller (module-private: `write`, `fill_zero`), who holds `&mut Memory`.
            unsafe { store_all(pointer, &data[at..at + bytes]) }
        });
    }

    /// Calls `work` for each piece of host memory of a mapped range, with its pointer, its offset in the range, and its
    /// length.
    fn each_piece(&self, address: u64, bytes: u64, mut work: impl FnMut(*mut u8, usize, usize)) {
        let mut at = 0;
        while at < bytes {
            let Some(piece) = self.space.place(address + at) else { return };
            let part = piece.bytes.min(bytes - at);
            work(piece.pointer, at as usize, part as usize);
            at += part;
        }
    }

    /// The host pointer to an aligned word that the guest may write. It cannot cross two pieces of host memory.
    #[inline]
    pub(super) fn word_place(&self, address: u64, bytes: u8) -> Result<*mut u8, Denied> {
        let denied = Denied { address, store: true, mapped: false };
        self.pointer(address, bytes, PAGE_READ | PAGE_WRITE)?.ok_or(denied)
    }
}

/// Reads guest memory.
///
/// # Safety
/// The range is mapped and stays so, and all other accesses of this process to it are atomic.
unsafe fn load_all(pointer: *mut u8, out: &mut [u8]) {
    let lead = out.len().min(pointer.align_offset(8));
    let (head, rest) = out.split_at_mut(lead);
    let mut words = rest.chunks_exact_mut(8);
    let mut at = 0;
    // SAFETY: as the caller says; `lead` bytes bring the pointer to a multiple of eight.
    unsafe {
        for byte in head {
            *byte = AtomicU8::from_ptr(pointer.wrapping_add(at)).load(Relaxed);
            at += 1;
        }
        for word in &mut words {
            let value = AtomicU64::from_ptr(pointer.wrapping_add(at).cast()).load(Relaxed);
            word.copy_from_slice(&value.to_ne_bytes());
            at += 8;
        }
        for byte in words.into_remainder() {
            *byte = AtomicU8::from_ptr(pointer.wrapping_add(at)).load(Relaxed);
            at += 1;
        }
    }
}

/// Writes guest memory.
///
/// # Safety
/// As for [`load_all`], and the range is writable.
unsafe fn store_all(pointer: *mut u8, data: &[u8]) {
    let lead = data.len().min(pointer.align_offset(8));
    let (head, rest) = data.split_at(lead);
    let words = rest.chunks_exact(8);
    let tail = words.remainder();
    let mut at = 0;
    // SAFETY: as in `load_all`.
    unsafe {
        for &byte in head {
            AtomicU8::from_ptr(pointer.wrapping_add(at)).store(byte, Relaxed);
            at += 1;
        }
        for word in words {
            let mut value = [0; 8];
            value.copy_from_slice(word);
            AtomicU64::from_ptr(pointer.wrapping_add(at).cast()).store(u64::from_ne_bytes(value), Relaxed);
            at += 8;
        }
        for &byte in tail {
            AtomicU8::from_ptr(pointer.wrapping_add(at)).store(byte, Relaxed);
            at += 1;
        }
    }
}
