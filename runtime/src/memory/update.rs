//! Atomic operations on guest memory, atomic with respect to all host threads.

use super::Memory;
use super::access::{Denied, low_bytes};
use super::special::AccessTarget;
use crate::vm::guarded;
use warpjit_ir::AtomicOp;
use warpjit_ir::interp::atomic_result;

/// A value of 4 or 8 bytes between the guest's byte order and the host's.
fn little_endian(value: u64, bytes: u8) -> u64 {
    if bytes == 8 { value.to_le() } else { u64::from((value as u32).to_le()) }
}

impl Memory {
    /// Executes an atomic operation on a word of 4 or 8 bytes and returns the old value. A misaligned address is
    /// rounded down, because the hardware ignores the low bits.
    ///
    /// # Errors
    /// Where the guest may not store.
    pub fn atomic(&self, address: u64, bytes: u8, op: AtomicOp, value: u64, new: u64) -> Result<u64, Denied> {
        let _used = self.use_it();
        self.guest_atomic(address, bytes, op, value, new)
    }

    /// Atomically replaces the 32-bit word at an address by `update` of it, and returns the old value. A misaligned
    /// address is rounded down.
    ///
    /// # Errors
    /// Where the guest may not store.
    pub fn update32(&self, address: u64, mut update: impl FnMut(u32) -> u32) -> Result<u32, Denied> {
        let _used = self.use_it();
        self.guest_update(address, 4, &mut |old| update(old as u32).into()).map(|old| old as u32)
    }

    /// As [`Memory::atomic`], for a launch.
    #[inline]
    pub(crate) fn guest_atomic(
        &self,
        address: u64,
        bytes: u8,
        op: AtomicOp,
        value: u64,
        new: u64,
    ) -> Result<u64, Denied> {
        let bytes = if bytes == 8 { 8 } else { 4 };
        let address = address & !(u64::from(bytes) - 1);
        // Sums carry between bytes, so the host's own instruction needs the guest's byte order.
        if cfg!(target_endian = "little")
            && matches!(op, AtomicOp::Add | AtomicOp::Exch | AtomicOp::Cas)
            && let AccessTarget::Memory(word) = self.word_target(address, bytes)?
        {
            let value = if bytes == 8 { value } else { value & 0xffff_ffff };
            // SAFETY: guest memory, aligned; where it has vanished meanwhile, the access fails.
            let old = unsafe {
                match op {
                    AtomicOp::Add => guarded::add(word, bytes, value),
                    AtomicOp::Exch => guarded::swap(word, bytes, value),
                    _ => guarded::compare_and_swap(word, bytes, value, new),
                }
            };
            return old.ok_or_else(|| self.word_gone(address, bytes));
        }
        let mut update = |old| atomic_result(op, bytes, old, value, new);
        // A minimum or maximum mostly changes nothing. Then nothing is written.
        use AtomicOp::*;
        let settles = matches!(op, Umax | Umin | Smax | Smin | Fmax | Fmin);
        self.replace(address, bytes, settles, &mut update)
    }

    /// Atomically replaces the word of 4 or 8 bytes at an address by `update` of it, and returns the old value. A misaligned address is
    /// rounded down. For a launch.
    pub(crate) fn guest_update(
        &self,
        address: u64,
        bytes: u8,
        update: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Denied> {
        let bytes = if bytes == 8 { 8 } else { 4 };
        self.replace(address & !(u64::from(bytes) - 1), bytes, false, update)
    }

    /// The same at an aligned address. `settles`: where `update` changes nothing, nothing is written.
    fn replace(
        &self,
        address: u64,
        bytes: u8,
        settles: bool,
        update: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Denied> {
        let word = match self.word_target(address, bytes)? {
            AccessTarget::Memory(word) => word,
            AccessTarget::Device(device, offset) => {
                // What a device gives beyond the bytes of the word does not count.
                let mask = low_bytes(bytes);
                let old = device.update(offset, bytes, &mut |old| update(old & mask) & mask);
                return Ok(old & mask);
            }
            AccessTarget::Split => return Err(self.word_gone(address, bytes)),
        };
        let gone = || self.word_gone(address, bytes);
        // SAFETY: as in `guest_atomic`.
        let mut seen = unsafe { guarded::load(word, bytes) }.ok_or_else(gone)?;
        loop {
            let old = little_endian(seen, bytes);
            let after = update(old);
            let after = if bytes == 8 { after } else { after & 0xffff_ffff };
            if settles && after == old {
                return Ok(old);
            }
            let after = little_endian(after, bytes);
            // SAFETY: as above.
            let now = unsafe { guarded::compare_and_swap(word, bytes, seen, after) }.ok_or_else(gone)?;
            if now == seen {
                return Ok(old);
            }
            seen = now;
        }
    }
}
