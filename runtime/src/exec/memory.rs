//! The guest's address spaces as one warp sees them. Implements the interpreter's [`WarpMemory`].

use super::setup::{CONST_BYTES, Plan, SLACK_BYTES};
use crate::Memory;
use crate::memory::window_access;
use crate::stage::Filled;
use std::any::Any;
use warpjit_backend::LINE_BYTES;
use warpjit_ir::device::ServeAt;
use warpjit_ir::interp::CacheAligned;
use warpjit_ir::interp::{Denied, WarpMemory, atomic_result};
use warpjit_ir::{AtomicOp, DeviceAccess, DeviceCall, DeviceFault, DeviceSite, Space, TextureTables};

/// Shared memory of a block with its locks (G200: one lock a word).
#[derive(Debug)]
pub struct Shared {
    /// Contents, then at least [`SLACK_BYTES`] up to a multiple of [`LINE_BYTES`]. Grid-row code copies initial
    /// contents in units of [`LINE_BYTES`].
    bytes: CacheAligned<u8>,
    size: usize,
    /// One bit for each 32-bit word.
    locks: Vec<u64>,
}

impl Shared {
    /// Zeroed memory of the plan's size. Byte `line` starts a cache line of the host.
    pub fn new(plan: &Plan, line: usize) -> Self {
        let size = plan.shared.len();
        let bytes = (size + SLACK_BYTES).next_multiple_of(LINE_BYTES);
        Shared { bytes: CacheAligned::new(bytes, line, LINE_BYTES), size, locks: vec![0; size.div_ceil(256)] }
    }

    /// Restores the initial contents for a block and frees all locks.
    pub fn reset(&mut self, plan: &Plan, block: u64) {
        if self.size == 0 {
            return;
        }
        plan.init_shared(block, &mut self.bytes);
        self.locks.fill(0);
    }

    /// For compiled code: start and size. The slack after the end is accessible too.
    pub fn raw(&mut self) -> (*mut u8, u32) {
        (self.bytes.as_mut_ptr(), self.size as u32)
    }

    /// Contents and slack.
    pub fn with_slack(&self) -> &[u8] {
        &self.bytes
    }

    /// Contents.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }

    /// Contents.
    pub fn contents(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.size]
    }

    /// The locks, one bit for each 32-bit word.
    pub fn locks(&mut self) -> &mut [u64] {
        &mut self.locks
    }

    fn lock_bit(&mut self, address: u64) -> Option<(&mut u64, u64)> {
        let word = address / 4;
        let place = self.locks.get_mut(usize::try_from(word / 64).ok()?)?;
        Some((place, 1 << (word % 64)))
    }
}

/// A word of guest memory, little endian.
pub type Word = [u8; 4];

/// Local memory of the lanes of a warp, interleaved by 32-bit words. Byte `a` of lane `l` is at
/// `a / 4 * 4 * lanes + l * 4 + a % 4`. So lanes that access the same address access one cache line.
#[derive(Debug)]
pub struct Local {
    bytes: CacheAligned<u8>,
    lanes: usize,
    size: usize,
    /// What a graphics stage knows of its contents.
    stage: Filled,
}

impl Local {
    /// Zeroed memory; none if the kernel does not use it.
    pub fn new(plan: &Plan, used: bool) -> Self {
        let size = if used { plan.local_bytes as usize } else { 0 };
        let lanes = plan.lanes as usize;
        let bytes = size.next_multiple_of(4) * lanes + SLACK_BYTES;
        Local { bytes: CacheAligned::new(bytes, 0, LINE_BYTES), lanes, size, stage: Filled::default() }
    }

    /// Makes all of it zero.
    pub fn reset(&mut self) {
        self.bytes.fill(0);
    }

    /// All words, and what a graphics stage knows of them: word `n` of lane `l` is at `n * lanes + l`. Some words of slack follow.
    pub fn words(&self) -> (&[Word], &Filled) {
        (self.bytes.as_chunks().0, &self.stage)
    }

    /// The same, to write them.
    pub fn words_mut(&mut self) -> (&mut [Word], &mut Filled) {
        (self.bytes.as_chunks_mut().0, &mut self.stage)
    }

    /// All words as bytes, without the slack.
    pub fn contents(&mut self) -> &mut [u8] {
        let bytes = self.size.next_multiple_of(4) * self.lanes;
        &mut self.bytes[..bytes]
    }

    /// For compiled code: start, and bytes of a lane. The slack after the end is accessible too.
    pub fn raw(&mut self) -> (*mut u8, u32) {
        (self.bytes.as_mut_ptr(), self.size as u32)
    }

    /// Whether all of an access is inside.
    fn holds(&self, address: u64, bytes: u8) -> bool {
        address.saturating_add(bytes.into()) <= self.size as u64
    }

    fn byte(&mut self, lane: u32, address: u64) -> Option<&mut u8> {
        let address = usize::try_from(address).ok().filter(|&address| address < self.size)?;
        self.bytes.get_mut(address / 4 * 4 * self.lanes + lane as usize * 4 + address % 4)
    }

    /// The storage of an access that lies within one word and inside the space; `None` for any other access.
    fn word_part(&mut self, lane: u32, address: u64, bytes: u8) -> Option<&mut [u8]> {
        let (start, count) = (usize::try_from(address).ok()?, usize::from(bytes));
        if start % 4 + count > 4 || start.checked_add(count)? > self.size {
            return None;
        }
        let at = start / 4 * 4 * self.lanes + lane as usize * 4 + start % 4;
        self.bytes.get_mut(at..at + count)
    }
}

/// All address spaces of one warp.
#[derive(Debug)]
pub struct View<'a> {
    /// The launch.
    pub plan: &'a Plan,
    /// Global memory.
    pub memory: &'a Memory,
    /// Of the block.
    pub shared: &'a mut Shared,
    /// Of the warp.
    pub local: &'a mut Local,
}

/// A little-endian number; zero if not all of it is inside the space, as in compiled code.
#[inline]
fn read(space: &[u8], address: u64, bytes: u8) -> u64 {
    let mut value = [0; 8];
    let start = usize::try_from(address).unwrap_or(usize::MAX);
    if let Some(part) = space.get(start..start.saturating_add(usize::from(bytes))) {
        value[..part.len()].copy_from_slice(part);
    }
    u64::from_le_bytes(value)
}

/// Writes a number if all of it is inside the space.
#[inline]
fn write(space: &mut [u8], address: u64, bytes: u8, value: u64) {
    let start = usize::try_from(address).unwrap_or(usize::MAX);
    if let Some(part) = space.get_mut(start..start.saturating_add(usize::from(bytes))) {
        part.copy_from_slice(&value.to_le_bytes()[..usize::from(bytes)]);
    }
}

/// What the guest may access in global memory.
#[derive(Debug, Clone, Copy)]
pub struct Rights<'a> {
    /// The launch, for its windows.
    pub plan: &'a Plan,
    /// Global memory.
    pub memory: &'a Memory,
}

impl Rights<'_> {
    /// The first byte of an access that the guest may not access, if there is one. The access is through a window, or
    /// in the address space behind a window, as compiled code makes it.
    pub fn first_denied(&self, space: Space, address: u64, bytes: u8, store: bool) -> Option<u64> {
        let place = match space {
            Space::Global(_) if window_access::through(space).is_some() => address,
            Space::Global(window) => match self.plan.windows.translate(window, address, bytes) {
                Some(place) => place,
                None => return Some(address),
            },
            _ => return None,
        };
        let denied = self.memory.first_denied(place, bytes.into(), store)?;
        Some(address.wrapping_add(denied.wrapping_sub(place)))
    }
}

impl View<'_> {
    #[inline]
    fn global(&self, window: u8, address: u64, bytes: u8) -> Result<u64, Denied> {
        self.plan.windows.translate(window, address, bytes).ok_or(Denied)
    }
}

impl WarpMemory for View<'_> {
    #[inline]
    fn load(&mut self, space: Space, lane: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        match space {
            Space::Global(window) => {
                let address = self.global(window, address, bytes)?;
                self.memory.guest_load(address, bytes).map_err(|_| Denied)
            }
            Space::Shared => Ok(read(self.shared.contents(), address, bytes)),
            Space::Local => {
                if let Some(part) = self.local.word_part(lane, address, bytes) {
                    return Ok(read(part, 0, bytes));
                }
                let mut value = [0; 8];
                if !self.local.holds(address, bytes) {
                    return Ok(0);
                }
                for (at, byte) in (address..).zip(value.iter_mut().take(usize::from(bytes))) {
                    *byte = self.local.byte(lane, at).map_or(0, |byte| *byte);
                }
                Ok(u64::from_le_bytes(value))
            }
            Space::Const(bank) => {
                let bank = self.plan.consts.get(usize::from(bank));
                Ok(bank.map_or(0, |bank| read(&bank.bytes()[..CONST_BYTES], address, bytes)))
            }
        }
    }

    #[inline]
    fn store(&mut self, space: Space, lane: u32, address: u64, bytes: u8, value: u64) -> Result<(), Denied> {
        match space {
            Space::Global(window) => {
                let address = self.global(window, address, bytes)?;
                self.memory.guest_store(address, bytes, value).map_err(|_| Denied)
            }
            Space::Shared => {
                write(self.shared.contents(), address, bytes, value);
                Ok(())
            }
            Space::Local => {
                if !self.local.holds(address, bytes) {
                    return Ok(());
                }
                for (at, byte) in (address..).zip(value.to_le_bytes().into_iter().take(usize::from(bytes))) {
                    if let Some(place) = self.local.byte(lane, at) {
                        *place = byte;
                    }
                }
                Ok(())
            }
            // Const banks cannot be written by the guest.
            Space::Const(_) => Err(Denied),
        }
    }

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
        let Space::Global(window) = space else {
            // All lanes of a block run on one thread, so this cannot be interrupted.
            let old = self.load(space, lane, address, bytes)?;
            self.store(space, lane, address, bytes, atomic_result(op, bytes, old, value, new))?;
            return Ok(old);
        };
        let address = self.global(window, address, bytes)?;
        match bytes {
            4 | 8 => self.memory.guest_atomic(address, bytes, op, value, new),
            // No guest has narrower atomics. Replace the bytes within their word.
            _ => {
                let shift = 8 * (address % 4);
                let mask = ((1_u64 << (8 * bytes)) - 1) << shift;
                self.memory
                    .guest_update(address, 4, &mut |old| {
                        let part = (old & mask) >> shift;
                        let part = atomic_result(op, bytes, part, value, new) << shift & mask;
                        old & !mask | part
                    })
                    .map(|old| (old & mask) >> shift)
            }
        }
        .map_err(|_| Denied)
    }

    fn first_denied(&self, space: Space, address: u64, bytes: u8, store: bool) -> Option<u64> {
        Rights { plan: self.plan, memory: self.memory }.first_denied(space, address, bytes, store)
    }

    fn lock(&mut self, _lane: u32, address: u64) -> bool {
        // A word beyond the end has no lock, so taking it succeeds.
        self.shared.lock_bit(address).is_none_or(|(locks, bit)| {
            let free = *locks & bit == 0;
            *locks |= bit;
            free
        })
    }

    fn unlock_store(&mut self, _lane: u32, address: u64, value: u32) {
        write(self.shared.contents(), address, 4, value.into());
        if let Some((locks, bit)) = self.shared.lock_bit(address) {
            *locks &= !bit;
        }
    }

    fn lock_global(&mut self, window: u8, _lane: u32, address: u64) -> Result<bool, Denied> {
        let address = self.global(window, address, 4)?;
        self.memory.guest_load(address, 4).map_err(|_| Denied)?;
        Ok(self.plan.locks.take(address))
    }

    fn unlock_store_global(
        &mut self,
        window: u8,
        _lane: u32,
        address: u64,
        value: u32,
    ) -> Result<(), Denied> {
        let address = self.global(window, address, 4)?;
        let store = || self.memory.guest_store(address, 4, value.into());
        self.plan.locks.free(address, store).map_err(|_| Denied)
    }
    fn call_device(&mut self, site: &DeviceSite, lanes: u64) -> Result<(), DeviceFault> {
        let (params, mailbox) = (site.params, site.mailbox);
        let mut access = Device {
            plan: self.plan,
            memory: self.memory,
            lanes: self.local.lanes,
            local: &mut self.local.bytes,
            site: None,
        };
        (site.callee.run)(&mut DeviceCall { params, mailbox, lanes, access: &mut access })
    }
}

/// What a device call of a warp may access.
#[derive(Debug)]
pub struct Device<'a> {
    /// The launch.
    pub plan: &'a Plan,
    /// Global memory.
    pub memory: &'a Memory,
    /// Local memory of the warp, interleaved as [`Local`] says.
    pub local: &'a mut [u8],
    /// Lanes of the warp.
    pub lanes: usize,
    /// What compiled code calls; `None`: the interpreter calls. Code may serve the former.
    pub site: Option<&'a DeviceSite>,
}

impl DeviceAccess for Device<'_> {
    fn lanes(&self) -> u32 {
        self.lanes as u32
    }

    fn local(&self, lane: u32, address: u32) -> u32 {
        let at = address as usize / 4 * 4 * self.lanes + lane as usize * 4;
        let word = self.local.get(at..at + 4);
        word.and_then(|word| word.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    fn locals(&self, lane: u32, address: u32, words: &mut [u32]) {
        let first = address as usize / 4 * self.lanes + lane as usize;
        let places = (first..).step_by(self.lanes.max(1));
        let local = self.local.as_chunks::<4>().0;
        for (word, at) in words.iter_mut().zip(places) {
            *word = local.get(at).map_or(0, |bytes| u32::from_le_bytes(*bytes));
        }
    }

    fn set_local(&mut self, lane: u32, address: u32, value: u32) {
        let at = address as usize / 4 * 4 * self.lanes + lane as usize * 4;
        if let Some(word) = self.local.get_mut(at..at + 4) {
            word.copy_from_slice(&value.to_le_bytes());
        }
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), u64> {
        match self.memory.first_denied_after_mending(address, bytes.len() as u64, false) {
            Some(denied) => Err(denied),
            None => self.memory.read(address, bytes).map_err(|_| address),
        }
    }

    fn word(&mut self, address: u64) -> Result<u32, u64> {
        let word = self.memory.guest_load(address, 4).map(|word| word as u32);
        word.map_err(|_| self.memory.first_denied(address, 4, false).unwrap_or(address))
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), u64> {
        if let Some(denied) = self.memory.first_denied_after_mending(address, bytes.len() as u64, true) {
            return Err(denied);
        }
        let mut at = address;
        let mut rest = bytes;
        while !rest.is_empty() {
            // Naturally aligned parts, so that each is one store of the host.
            let size = [8, 4, 2, 1]
                .into_iter()
                .find(|&n| rest.len() >= n && at.is_multiple_of(n as u64))
                .unwrap_or(1);
            let mut value = [0; 8];
            value[..size].copy_from_slice(&rest[..size]);
            self.memory.guest_store(at, size as u8, u64::from_le_bytes(value)).map_err(|_| at)?;
            at = at.wrapping_add(size as u64);
            rest = &rest[size..];
        }
        Ok(())
    }

    fn update(&mut self, address: u64, bytes: u8, update: &dyn Fn(u64) -> u64) -> Result<u64, u64> {
        self.memory.guest_update(address, bytes, &mut |old| update(old)).map_err(|_| address)
    }

    fn textures(&self) -> &TextureTables {
        &self.plan.textures
    }

    fn serve(
        &mut self,
        at: ServeAt,
        words: &[u32],
        describe: &mut dyn FnMut(&TextureTables) -> Option<Box<dyn Any>>,
    ) -> bool {
        let Some(site) = self.site else { return false };
        let Device { plan, memory, ref mut local, lanes, .. } = *self;
        plan.samplers.serve(site, memory, local, lanes, at, words, &mut || describe(&plan.textures))
    }
}
