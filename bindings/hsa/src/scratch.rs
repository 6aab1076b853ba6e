//! Scratch memory of a queue: what lanes have for themselves. It is shared out among the waves that exist at a time.

use crate::chip::Device;
use crate::status::{Result, Status};
use std::sync::Mutex;
use std::sync::PoisonError;
use warpjit_frontend::gcn::abi::SCRATCH_ADDRESS;
use warpjit_runtime::{Access, Memory, WarpRing};

/// Lanes of a wave; a wave's part is a multiple of so many bytes.
const LANES: u64 = 64;
const GRANULE: u64 = 1024;
/// Waves that have scratch at a time: all that a large chip has would take 2560, or as many as fit.
const MOST_WAVES: u64 = 2048;
/// Bytes of a queue's scratch at most, unless fewer waves than a workgroup can have would fit.
const MOST_BYTES: u64 = 4 << 30;
/// The same before gfx9, where all scratch of the process lies within 4 GiB.
const MOST_BYTES_OLD: u64 = 512 << 20;
/// Waves of the largest workgroup.
const LEAST_WAVES: u64 = 16;

/// The scratch of a queue, as large as its kernels needed so far.
#[derive(Default)]
pub(crate) struct Scratch {
    now: Option<Ring>,
    memory: Option<Memory>,
}

/// Memory, and how it is shared out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ring {
    pub address: u64,
    pub bytes: u64,
    pub ring: WarpRing,
}

/// Before gfx9: how far scratch has been given out. Programs count from a base that they cannot see.
static OLD: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

impl Scratch {
    /// Scratch for a kernel whose lanes have so many bytes each; whether it is new.
    pub fn get(&mut self, memory: &Memory, device: &Device, lane_bytes: u32) -> Result<(Ring, bool)> {
        let wave = (u64::from(lane_bytes).max(4) * LANES).next_multiple_of(GRANULE);
        if let Some(ring) = self.now.filter(|ring| u64::from(ring.ring.warp_bytes) >= wave) {
            return Ok((ring, false));
        }
        let warp_bytes = u32::try_from(wave).map_err(|_| Status::OUT_OF_RESOURCES)?;
        self.drop_ring();
        let most = if device.is_gfx9() { MOST_BYTES } else { MOST_BYTES_OLD };
        let mut waves = (most / wave).clamp(LEAST_WAVES, MOST_WAVES);
        loop {
            let bytes = wave * waves;
            let mapped = if device.is_gfx9() {
                memory.map(None, bytes, Access::ReadWrite).ok()
            } else {
                map_old(memory, bytes)
            };
            if let Some(address) = mapped {
                let ring = Ring { address, bytes, ring: WarpRing { warps: waves as u32, warp_bytes } };
                self.now = Some(ring);
                self.memory = Some(memory.clone());
                return Ok((ring, true));
            }
            if waves == LEAST_WAVES {
                return Err(Status::OUT_OF_RESOURCES);
            }
            waves = (waves / 2).max(LEAST_WAVES);
        }
    }

    /// Where it begins, if there is any.
    pub fn address(&self) -> Option<u64> {
        self.now.map(|ring| ring.address)
    }

    fn drop_ring(&mut self) {
        if let (Some(ring), Some(memory)) = (self.now.take(), &self.memory) {
            let _ = memory.unmap(ring.address);
            OLD.lock().unwrap_or_else(PoisonError::into_inner).retain(|(start, _)| *start != ring.address);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.drop_ring();
    }
}

/// Maps scratch where programs before gfx9 find it.
fn map_old(memory: &Memory, bytes: u64) -> Option<u64> {
    const END: u64 = SCRATCH_ADDRESS + (1 << 32);
    let mut taken = OLD.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = bytes.next_multiple_of(1 << 16);
    let mut at = SCRATCH_ADDRESS;
    for (start, end) in taken.iter().copied() {
        if at + bytes <= start {
            break;
        }
        at = at.max(end);
    }
    if at + bytes > END {
        return None;
    }
    let address = memory.map(Some(at), bytes, Access::ReadWrite).ok()?;
    taken.push((at, at + bytes));
    taken.sort_unstable();
    Some(address)
}

/// The buffer resource of scratch: elements of 4 bytes, 64 of them side by side, the lane is the index.
pub(crate) fn descriptor(address: u64) -> [u32; 4] {
    const SWIZZLE: u32 = 1 << 31;
    const LAYOUT: u32 = 1 << 19 | 3 << 21 | 1 << 23;
    [address as u32, (address >> 32) as u32 & 0xffff | SWIZZLE, u32::MAX, LAYOUT]
}
