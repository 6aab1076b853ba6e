//! Loads, stores and copies of guest memory that check page rights first. Other threads may access the memory, and change what is
//! mapped, at the same time.
//!
//! An access looks its page up in the page table. Most pages are where their address says. The others (`special`), accesses
//! that cross pages, and accesses that the table does not allow take the cold way: it asks devices, pagers and write watches, and
//! divides what crosses reserved ranges into bytes.
//!
//! Functions named `guest_*` are for launches, which use the space as long as they run ([`Memory::use_it`]). The public ones are
//! for the host.

use super::ranges::Ranged;
use super::special::{AccessTarget, Special};
use super::{Memory, PAGE_BYTES, PAGE_READ, PAGE_SPECIAL, PAGE_WRITE};
use crate::vm::guarded;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

/// How often one access may be mended before it is a fault: a pager that says it has mended a page, and has not, must not hang.
const MOST_MENDS: u32 = 64;

/// Bytes that the low bits of an aligned word's address select.
fn is_aligned(address: u64, bytes: u8) -> bool {
    address & u64::from(bytes).wrapping_sub(1) == 0
}

impl Memory {
    /// The address as the device sees it: without the bits that it ignores.
    #[inline]
    pub(super) fn seen(&self, address: u64) -> u64 {
        let ignored = self.0.form.ignored_bits;
        if ignored == 0 { address } else { ((address << ignored) as i64 >> ignored) as u64 }
    }

    /// What the guest may do with the byte at an address: flags of the page table, also of special pages.
    fn flags_at(&self, address: u64) -> u8 {
        let flags = self.0.space.page_flags(address);
        match flags & PAGE_SPECIAL {
            0 if self.0.form.is_embedders => self.probe(address),
            0 => flags,
            _ => self.0.space.special_at(address).map_or(0, |special| special.access.flags()),
        }
    }

    /// The same for a page that only the system knows: tries it.
    fn probe(&self, address: u64) -> u8 {
        let Some(host) = self.0.space.host_range(address) else { return 0 };
        // SAFETY: guest memory, or nothing; adding 0 to a byte's word changes nothing.
        unsafe {
            if guarded::load(host.pointer, 1).is_none() {
                return 0;
            }
            let word = host.pointer.wrapping_sub(host.pointer.addr() % 4);
            guarded::add(word, 4, 0).map_or(PAGE_READ, |_| PAGE_READ | PAGE_WRITE)
        }
    }

    /// Checks that every page of a range has the rights; returns the end of the range.
    pub(super) fn check(&self, address: u64, bytes: u64, rights: u8) -> Result<u64, Denied> {
        let address = self.seen(address);
        let denied =
            |at: u64, flags: u8| Denied { address: at, store: rights & PAGE_WRITE != 0, mapped: flags != 0 };
        let Some(end) = address.checked_add(bytes) else { return Err(denied(address, 0)) };
        let mut at = address;
        while at < end {
            let flags = self.flags_at(at);
            if flags & rights != rights {
                return Err(denied(at, flags));
            }
            at = (at / PAGE_BYTES + 1) * PAGE_BYTES;
        }
        Ok(end)
    }

    /// The same, but asks pagers and write watches before it gives up.
    fn check_or_mend(&self, address: u64, bytes: u64, rights: u8) -> Result<u64, Denied> {
        let mut mends = 0;
        loop {
            match self.check(address, bytes, rights) {
                Err(denied) if mends < MOST_MENDS && self.mend(denied) => mends += 1,
                result => return result,
            }
        }
    }

    /// Where an access goes, after checking the page rights.
    #[inline]
    fn find(&self, address: u64, bytes: u8, rights: u8) -> Result<AccessTarget<'_>, Denied> {
        let address = self.seen(address);
        match self.0.space.window_page(address, bytes) {
            Some((flags, pointer)) if flags & rights == rights => Ok(AccessTarget::Memory(pointer)),
            _ => self.find_anywhere(address, bytes, rights),
        }
    }

    #[cold]
    fn find_anywhere(&self, address: u64, bytes: u8, rights: u8) -> Result<AccessTarget<'_>, Denied> {
        self.check_or_mend(address, bytes.into(), rights)?;
        let address = self.seen(address);
        if self.0.space.page_flags(address) & PAGE_SPECIAL != 0 {
            let denied = Denied { address, store: rights & PAGE_WRITE != 0, mapped: false };
            let special = self.0.space.special_at(address).ok_or(denied)?;
            return Ok(special.target(address, bytes));
        }
        let Some(host) = self.0.space.host_range(address) else { return Ok(AccessTarget::Split) };
        let last = address + u64::from(bytes.max(1)) - 1;
        let is_whole = host.bytes >= bytes.into() && self.0.space.page_flags(last) & PAGE_SPECIAL == 0;
        Ok(if is_whole { AccessTarget::Memory(host.pointer) } else { AccessTarget::Split })
    }

    /// What is wrong with an access that the system refused although the table allowed it: the page has gone meanwhile.
    #[cold]
    fn gone(&self, address: u64, bytes: u8, store: bool) -> Denied {
        let rights = if store { PAGE_READ | PAGE_WRITE } else { PAGE_READ };
        let now = self.check(address, bytes.into(), rights).err();
        now.unwrap_or(Denied { address: self.seen(address), store, mapped: false })
    }

    /// The host address for an access of compiled code, of 1, 2, 4 or 8 bytes; `None` if it crosses two reserved ranges, or a device
    /// answers it: then [`Memory::answer`] makes it.
    pub(crate) fn host_address(
        &self,
        address: u64,
        bytes: u8,
        stores: bool,
    ) -> Result<Option<*mut u8>, Denied> {
        let rights = if stores { PAGE_READ | PAGE_WRITE } else { PAGE_READ };
        match self.find(address, bytes, rights)? {
            AccessTarget::Memory(pointer) => Ok(Some(pointer)),
            _ => Ok(None),
        }
    }

    /// Makes an access that has no host address: stores `value`, or puts what is loaded into `bounce`.
    pub(crate) fn answer(
        &self,
        address: u64,
        bytes: u8,
        value: Option<u64>,
        bounce: &AtomicU64,
    ) -> Result<(), Denied> {
        match value {
            Some(value) => self.guest_store(address, bytes, value),
            None => {
                bounce.store(self.guest_load(address, bytes)?.to_le(), Relaxed);
                Ok(())
            }
        }
    }

    /// The first byte of a range that the guest may not load (or store), if there is one.
    pub(crate) fn first_denied(&self, address: u64, bytes: u64, store: bool) -> Option<u64> {
        self.check(address, bytes, if store { PAGE_WRITE } else { PAGE_READ })
            .err()
            .map(|denied| denied.address)
    }

    /// The same after pagers and write watches have been asked.
    pub(crate) fn first_denied_after_mending(&self, address: u64, bytes: u64, store: bool) -> Option<u64> {
        self.check_or_mend(address, bytes, if store { PAGE_WRITE } else { PAGE_READ })
            .err()
            .map(|denied| denied.address)
    }

    /// Where the host finds a range that the guest may load now, all of it contiguous on the host, where its addresses say; `None`: it may
    /// not, or some of it is elsewhere. Pages may vanish afterwards.
    pub(crate) fn readable(&self, address: u64, bytes: u64) -> Option<*const u8> {
        let address = self.seen(address);
        let mut pages = address / PAGE_BYTES..address.checked_add(bytes)?.div_ceil(PAGE_BYTES);
        let is_plain =
            |page: u64| self.0.space.page_flags(page * PAGE_BYTES) & (PAGE_READ | PAGE_SPECIAL) == PAGE_READ;
        let host = self.0.space.host_range(address)?;
        (host.bytes >= bytes && pages.all(is_plain)).then_some(host.pointer.cast_const())
    }

    /// Loads 1, 2, 4 or 8 bytes as the guest would, zero-extended. Other sizes load nothing.
    ///
    /// # Errors
    /// Where the guest's load would be a fault.
    pub fn load(&self, address: u64, bytes: u8) -> Result<u64, Denied> {
        let _used = self.use_it();
        self.guest_load(address, bytes)
    }

    /// Stores the low 1, 2, 4 or 8 bytes of a value as the guest would. Other sizes store nothing.
    ///
    /// # Errors
    /// Where the guest's store would be a fault.
    pub fn store(&self, address: u64, bytes: u8, value: u64) -> Result<(), Denied> {
        let _used = self.use_it();
        self.guest_store(address, bytes, value)
    }

    /// Loads 1, 2, 4 or 8 bytes, zero-extended. Other sizes load nothing.
    #[inline]
    pub(crate) fn guest_load(&self, address: u64, bytes: u8) -> Result<u64, Denied> {
        let pointer = match self.find(address, bytes, PAGE_READ)? {
            AccessTarget::Memory(pointer) => pointer,
            target => return self.load_elsewhere(address, bytes, target),
        };
        if !is_aligned(address, bytes) {
            return self.load_odd(address, bytes, pointer);
        }
        // SAFETY: guest memory; where it has vanished meanwhile, the load fails.
        let value = unsafe { guarded::load(pointer, bytes) };
        let value = value.ok_or_else(|| self.gone(address, bytes, false))?;
        Ok(little_endian(value, bytes))
    }

    /// A load that is not of an aligned word: byte by byte, as all accesses of this process to guest memory are atomic.
    #[cold]
    fn load_odd(&self, address: u64, bytes: u8, pointer: *mut u8) -> Result<u64, Denied> {
        let mut value = 0;
        for at in 0..bytes.min(8) {
            // SAFETY: as in `guest_load`.
            let byte = unsafe { guarded::load(pointer.wrapping_add(at.into()), 1) };
            value |= byte.ok_or_else(|| self.gone(address, bytes, false))? << (8 * at);
        }
        Ok(value)
    }

    /// A load from a device, or across reserved ranges. What a device gives beyond the bytes of the access does not count.
    #[cold]
    fn load_elsewhere(&self, address: u64, bytes: u8, target: AccessTarget<'_>) -> Result<u64, Denied> {
        if let AccessTarget::Device(device, offset) = target {
            return Ok(device.load(offset, bytes) & low_bytes(bytes));
        }
        let byte = |at: u8| Ok(self.guest_load(self.seen(address).wrapping_add(at.into()), 1)? << (8 * at));
        (0..bytes.min(8)).try_fold(0, |value, at| Ok(value | byte(at)?))
    }

    /// Stores the low 1, 2, 4 or 8 bytes of a value. Other sizes store nothing.
    #[inline]
    pub(crate) fn guest_store(&self, address: u64, bytes: u8, value: u64) -> Result<(), Denied> {
        let pointer = match self.find(address, bytes, PAGE_READ | PAGE_WRITE)? {
            AccessTarget::Memory(pointer) => pointer,
            target => return self.store_elsewhere(address, bytes, value, target),
        };
        if !is_aligned(address, bytes) {
            return self.store_odd(address, bytes, value, pointer);
        }
        // SAFETY: as in `guest_load`.
        let stored = unsafe { guarded::store(pointer, bytes, little_endian(value, bytes)) };
        stored.ok_or_else(|| self.gone(address, bytes, true))
    }

    #[cold]
    fn store_odd(&self, address: u64, bytes: u8, value: u64, pointer: *mut u8) -> Result<(), Denied> {
        for at in 0..bytes.min(8) {
            // SAFETY: as in `guest_load`.
            let stored = unsafe { guarded::store(pointer.wrapping_add(at.into()), 1, value >> (8 * at)) };
            stored.ok_or_else(|| self.gone(address, bytes, true))?;
        }
        Ok(())
    }

    /// A store to a device, or across reserved ranges.
    #[cold]
    fn store_elsewhere(
        &self,
        address: u64,
        bytes: u8,
        value: u64,
        target: AccessTarget<'_>,
    ) -> Result<(), Denied> {
        if let AccessTarget::Device(device, offset) = target {
            device.store(offset, bytes, value);
            return Ok(());
        }
        let byte = |at: u8| self.seen(address).wrapping_add(at.into());
        (0..bytes.min(8)).try_for_each(|at| self.guest_store(byte(at), 1, value >> (8 * at)))
    }

    /// Copies mapped guest memory out.
    pub(super) fn load_bytes(&self, address: u64, out: &mut [u8]) -> Result<(), Denied> {
        self.check(address, out.len() as u64, PAGE_READ)?;
        self.each_part(address, out.len() as u64, false, |target, at, bytes| {
            let out = &mut out[at..at + bytes];
            match target {
                // One load, so that a word is read as a whole.
                Part::Memory(pointer) if matches!(bytes, 4 | 8) && pointer.addr().is_multiple_of(bytes) => {
                    // SAFETY: as in `guest_load`.
                    let value = unsafe { guarded::load(pointer, bytes as u8) }?;
                    out.copy_from_slice(&value.to_ne_bytes()[..bytes]);
                    Some(())
                }
                // SAFETY: as in `guest_load`; the slice is valid.
                Part::Memory(pointer) => unsafe { guarded::copy(out.as_mut_ptr(), pointer, bytes) },
                Part::Device(special, offset) => {
                    for (at, byte) in (offset..).zip(out) {
                        *byte = special.load(at, 1) as u8;
                    }
                    Some(())
                }
            }
        })
    }

    /// Copies into guest memory where the guest may store.
    pub(super) fn store_bytes(&self, address: u64, data: &[u8]) -> Result<(), Denied> {
        self.check(address, data.len() as u64, PAGE_READ | PAGE_WRITE)?;
        self.copy_in(address, data)
    }

    /// Zeroes a range of whole 64-bit words that the guest may write.
    pub(crate) fn clear(&self, address: u64, bytes: u64) -> Result<(), Denied> {
        let (address, bytes) = (address & !7, bytes & !7);
        self.check(address, bytes, PAGE_READ | PAGE_WRITE)?;
        self.fill_zeros(address, bytes)
    }

    /// Zeroes guest memory. Callers have made all of the range writable.
    pub(super) fn fill_zeros(&self, address: u64, bytes: u64) -> Result<(), Denied> {
        self.each_part(address, bytes, true, |target, _, bytes| match target {
            // SAFETY: as in `guest_load`.
            Part::Memory(pointer) => unsafe { guarded::zero(pointer, bytes) },
            Part::Device(device, offset) => {
                (0..bytes as u64).for_each(|at| device.store(offset + at, 1, 0));
                Some(())
            }
        })
    }

    /// Copies into guest memory. Callers have made all of the range writable.
    pub(super) fn copy_in(&self, address: u64, data: &[u8]) -> Result<(), Denied> {
        self.each_part(address, data.len() as u64, true, |target, at, bytes| {
            let data = &data[at..at + bytes];
            match target {
                Part::Memory(pointer) if matches!(bytes, 4 | 8) && pointer.addr().is_multiple_of(bytes) => {
                    let mut word = [0; 8];
                    word[..bytes].copy_from_slice(data);
                    // SAFETY: as in `guest_load`.
                    unsafe { guarded::store(pointer, bytes as u8, u64::from_ne_bytes(word)) }
                }
                // SAFETY: as in `guest_load`; the slice is valid.
                Part::Memory(pointer) => unsafe { guarded::copy(pointer, data.as_ptr(), bytes) },
                Part::Device(device, offset) => {
                    for (at, byte) in (offset..).zip(data) {
                        device.store(at, 1, (*byte).into());
                    }
                    Some(())
                }
            }
        })
    }

    /// Calls `work` for each contiguous part of host memory of a mapped range, with where it is, its offset in the range, and its
    /// length. `None` from it: the system refused the access.
    fn each_part(
        &self,
        address: u64,
        bytes: u64,
        store: bool,
        mut work: impl FnMut(Part<'_>, usize, usize) -> Option<()>,
    ) -> Result<(), Denied> {
        let address = self.seen(address);
        let has_special = self.is_careful();
        let mut at = 0;
        while at < bytes {
            let here = address + at;
            let denied = Denied { address: here, store, mapped: false };
            let mut part = bytes - at;
            let target = if has_special && self.0.space.page_flags(here) & PAGE_SPECIAL != 0 {
                let special = self.0.space.special_at(here).ok_or(denied)?;
                part = part.min(special.end() - here);
                match &special.what {
                    Special::Host(_) => Part::Memory(special.pointer(here)),
                    Special::Device(device) => Part::Device(&**device, here - special.start),
                }
            } else {
                let host = self.0.space.host_range(here).ok_or(denied)?;
                part = part.min(host.bytes);
                if has_special {
                    part = part.min(PAGE_BYTES - here % PAGE_BYTES);
                }
                Part::Memory(host.pointer)
            };
            work(target, at as usize, part as usize).ok_or_else(|| {
                let rights = if store { PAGE_READ | PAGE_WRITE } else { PAGE_READ };
                self.check(here, part, rights).err().unwrap_or(denied)
            })?;
            at += part;
        }
        Ok(())
    }

    /// Where an aligned word is that the guest may write. It cannot cross two reserved ranges.
    #[inline]
    pub(super) fn word_target(&self, address: u64, bytes: u8) -> Result<AccessTarget<'_>, Denied> {
        self.find(address, bytes, PAGE_READ | PAGE_WRITE)
    }

    /// See `gone`, of an atomic.
    pub(super) fn word_gone(&self, address: u64, bytes: u8) -> Denied {
        self.gone(address, bytes, true)
    }
}

/// Where a part of a range is.
enum Part<'a> {
    Memory(*mut u8),
    Device(&'a dyn super::Device, u64),
}

/// The bits of so many bytes.
pub(super) fn low_bytes(bytes: u8) -> u64 {
    if bytes < 8 { (1 << (8 * bytes)) - 1 } else { u64::MAX }
}

/// A value between the guest's byte order and the host's.
fn little_endian(value: u64, bytes: u8) -> u64 {
    match bytes {
        2 => u64::from((value as u16).to_le()),
        4 => u64::from((value as u32).to_le()),
        8 => value.to_le(),
        _ => value,
    }
}

impl super::special::SpecialRange {
    /// Where an access that begins in the range goes.
    fn target(&self, address: u64, bytes: u8) -> AccessTarget<'_> {
        if address + u64::from(bytes) > self.end() {
            return AccessTarget::Split;
        }
        match &self.what {
            Special::Host(_) => AccessTarget::Memory(self.pointer(address)),
            Special::Device(device) => AccessTarget::Device(&**device, address - self.start),
        }
    }
}
