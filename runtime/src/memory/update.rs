//! Atomic operations on guest memory, atomic with respect to all host threads.

use super::Memory;
use super::access::Denied;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use warpjit_ir::AtomicOp;
use warpjit_ir::interp::atomic_result;

/// Executes an atomic on a host word, with the host's own instruction if there is one.
macro_rules! update {
    ($word:expr, $ty:ty, $op:expr, $bytes:expr, $value:expr, $new:expr) => {{
        use AtomicOp::*;
        let (word, value, new) = ($word, $value as $ty, $new as $ty);
        // Sums carry between bytes, so this needs the guest's byte order.
        let op = if cfg!(target_endian = "little") { Some($op) } else { None };
        let old = match op {
            Some(Add) => word.fetch_add(value, SeqCst),
            Some(And) => word.fetch_and(value, SeqCst),
            Some(Or) => word.fetch_or(value, SeqCst),
            Some(Xor) => word.fetch_xor(value, SeqCst),
            Some(Exch) => word.swap(value, SeqCst),
            Some(Cas) => word.compare_exchange(value, new, SeqCst, SeqCst).unwrap_or_else(|old| old),
            _ => {
                // A minimum or maximum mostly changes nothing. Then nothing is written.
                let settles = matches!($op, Umax | Umin | Smax | Smin | Fmax | Fmin);
                let step = |old: $ty| {
                    let before = <$ty>::from_le(old);
                    let after = atomic_result($op, $bytes, before.into(), value.into(), new.into()) as $ty;
                    (!settles || after != before).then_some(after.to_le())
                };
                word.fetch_update(SeqCst, SeqCst, step).unwrap_or_else(|old| old)
            }
        };
        u64::from(<$ty>::from_le(old))
    }};
}

impl Memory {
    /// Executes an atomic operation on a word of 4 or 8 bytes and returns the old value. A misaligned address is
    /// rounded down, because the hardware ignores the low bits.
    #[inline]
    pub fn atomic(&self, address: u64, bytes: u8, op: AtomicOp, value: u64, new: u64) -> Result<u64, Denied> {
        if bytes == 8 {
            let word = self.word64(address)?;
            return Ok(update!(word, u64, op, 8, value, new));
        }
        let word = self.word32(address)?;
        Ok(update!(word, u32, op, 4, value, new))
    }

    /// Atomically replaces the 32-bit word at an address by `update` of it, and returns the old value. A misaligned
    /// address is rounded down.
    #[inline]
    pub fn update32(&self, address: u64, mut update: impl FnMut(u32) -> u32) -> Result<u32, Denied> {
        let step = |old: u32| Some(update(u32::from_le(old)).to_le());
        let old = self.word32(address)?.fetch_update(SeqCst, SeqCst, step).unwrap_or_else(|old| old);
        Ok(u32::from_le(old))
    }

    /// Atomically replaces the word of 4 or 8 bytes at an address by `update` of it, and returns the old value. A misaligned address is
    /// rounded down.
    pub fn update_word(&self, address: u64, bytes: u8, update: &dyn Fn(u64) -> u64) -> Result<u64, Denied> {
        if bytes != 8 {
            return self.update32(address, |old| update(old.into()) as u32).map(u64::from);
        }
        let step = |old: u64| Some(update(u64::from_le(old)).to_le());
        let old = self.word64(address)?.fetch_update(SeqCst, SeqCst, step).unwrap_or_else(|old| old);
        Ok(u64::from_le(old))
    }

    /// The word at an aligned address, which the guest may write.
    #[inline]
    fn word32(&self, address: u64) -> Result<&AtomicU32, Denied> {
        let address = address & !3;
        let place = self.word_place(address, 4)?;
        // SAFETY: the range is mapped and writable (checked above), stays so while `self` is borrowed, is aligned, and all other accesses
        // of this process to it are atomic.
        Ok(unsafe { AtomicU32::from_ptr(place.cast()) })
    }

    /// As `word32`, of 64 bits.
    #[inline]
    fn word64(&self, address: u64) -> Result<&AtomicU64, Denied> {
        let address = address & !7;
        let place = self.word_place(address, 8)?;
        // SAFETY: as above.
        Ok(unsafe { AtomicU64::from_ptr(place.cast()) })
    }
}
