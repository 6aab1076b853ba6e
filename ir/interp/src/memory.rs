//! [`WarpMemory`]: the memory operations that the interpreter needs from its caller.

use warpjit_ir_core::device::{DeviceFault, DeviceSite};
use warpjit_ir_core::eval::atomic_result;
use warpjit_ir_core::opcodes::{AtomicOp, Space};

/// An access that memory refuses: nothing mapped there, or a store to read-only memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Denied;

/// The address spaces as one warp sees them.
///
/// Addresses are final (offset added, wrapped), and the interpreter has checked their alignment. A read beyond the end
/// of shared, local or const memory gives zero, and a write beyond the end of shared or local memory is dropped;
/// neither is denied. Values are in the low `bytes` bytes, and higher bytes are zero; `bytes` is 1, 2, 4 or 8.
pub trait WarpMemory {
    /// Loads, zero-extended. `lane` matters for local memory.
    fn load(&mut self, space: Space, lane: u32, address: u64, bytes: u8) -> Result<u64, Denied>;

    /// Stores.
    fn store(&mut self, space: Space, lane: u32, address: u64, bytes: u8, value: u64) -> Result<(), Denied>;

    /// Atomically replaces a word by [`atomic_result`] of it, and returns the old value. The default is
    /// for memory that no other thread accesses.
    #[expect(clippy::too_many_arguments)]
    fn atomic(
        &mut self,
        space: Space,
        lane: u32,
        address: u64,
        bytes: u8,
        op: AtomicOp,
        value: u64,
        new: u64,
    ) -> Result<u64, Denied> {
        let old = self.load(space, lane, address, bytes)?;
        self.store(space, lane, address, bytes, atomic_result(op, bytes, old, value, new))?;
        Ok(old)
    }

    /// The first byte of an access that may not be accessed, if there is one. The default returns `None`.
    fn first_denied(&self, space: Space, address: u64, bytes: u8, store: bool) -> Option<u64> {
        let _ = (space, address, bytes, store);
        None
    }

    /// Tries to take the lock of the shared word at `address` for the lane. The default, for memory without locks,
    /// always fails.
    fn lock(&mut self, lane: u32, address: u64) -> bool {
        let _ = (lane, address);
        false
    }

    /// Stores to the shared word at `address` and frees its lock.
    fn unlock_store(&mut self, lane: u32, address: u64, value: u32) {
        // Shared memory denies nothing.
        let _ = self.store(Space::Shared, lane, address, 4, value.into());
    }

    /// Tries to take the lock of the word of global memory at `address` for the lane. The default, for memory without
    /// locks, denies the access.
    fn lock_global(&mut self, window: u8, lane: u32, address: u64) -> Result<bool, Denied> {
        let _ = (window, lane, address);
        Err(Denied)
    }

    /// Stores to the word of global memory at `address` and frees its lock.
    fn unlock_store_global(&mut self, window: u8, lane: u32, address: u64, value: u32) -> Result<(), Denied> {
        let _ = (window, lane, address, value);
        Err(Denied)
    }

    /// Calls a device for the lanes of a set. The default, for memory without devices, refuses.
    ///
    /// # Errors
    ///
    /// A fault of the lowest lane that has one.
    fn call_device(&mut self, site: &DeviceSite, lanes: u64) -> Result<(), DeviceFault> {
        let _ = site;
        let lane = lanes.trailing_zeros() % 64;
        Err(DeviceFault::Texture { lane, slot: None, reason: "there are no devices", address: None })
    }

    /// Loads for the lanes of a set, lowest first; `addresses` and `out` have one element a lane of the warp.
    /// `Err` is the first lane denied.
    fn load_lanes(
        &mut self,
        space: Space,
        lanes: u64,
        addresses: &[u64],
        bytes: u8,
        out: &mut [u64],
    ) -> Result<(), u32> {
        each_lane(lanes, |lane| {
            let i = lane as usize;
            out[i] = self.load(space, lane, addresses[i], bytes).map_err(|Denied| lane)?;
            Ok(())
        })
    }

    /// Stores for the lanes of a set, lowest first, so that the highest of those with one address wins.
    /// `Err` is the first lane denied; those below have stored.
    fn store_lanes(
        &mut self,
        space: Space,
        lanes: u64,
        addresses: &[u64],
        bytes: u8,
        values: &[u64],
    ) -> Result<(), u32> {
        let mask = byte_mask(bytes);
        each_lane(lanes, |lane| {
            let i = lane as usize;
            self.store(space, lane, addresses[i], bytes, values[i] & mask).map_err(|Denied| lane)
        })
    }
}

/// The bits of the low `bytes` bytes.
#[inline]
pub(super) fn byte_mask(bytes: u8) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 }
}

/// Calls `f` for the lanes of a set, lowest first, until it fails.
#[inline]
pub(super) fn each_lane<E>(mut lanes: u64, mut f: impl FnMut(u32) -> Result<(), E>) -> Result<(), E> {
    while lanes != 0 {
        f(lanes.trailing_zeros())?;
        lanes &= lanes - 1;
    }
    Ok(())
}
