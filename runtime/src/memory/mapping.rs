//! Calls that change what is mapped.

use super::reservation::Backing;
use super::special::Special;
use super::{Access, Device, FileSharing, Memory, Pager, WriteWatch};
use crate::Error;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

impl Memory {
    /// Maps `bytes` zeroed bytes at `address`, or at a page-aligned address that the runtime chooses. A chosen address
    /// is never in the first 64 KiB, a page without rights follows the buffer, and a buffer of 2 MiB or more starts
    /// where a huge page of the host may start.
    ///
    /// An explicit address need not be page-aligned. Then whole pages become accessible, so that accesses a little
    /// outside the buffer do not fault. Buffers may share a page if they have the same access; they may not overlap.
    ///
    /// # Errors
    /// [`Error::Memory`] if the buffer is empty, overlaps another one, or lies outside the space; [`Error::Os`] if the host
    /// has no room.
    pub fn map(&self, address: Option<u64>, bytes: u64, access: Access) -> Result<u64, Error> {
        self.edit(|edit| edit.map(address, bytes, access))
    }

    /// As [`Memory::map`], but memory that [`Memory::map_alias`] can show at other addresses without any cost. Address and
    /// size are multiples of the host's page size. A child of `fork` shares it with its parent.
    ///
    /// # Errors
    /// As [`Memory::map`].
    pub fn map_shared(&self, address: Option<u64>, bytes: u64, access: Access) -> Result<u64, Error> {
        self.edit(|edit| edit.map_backing(address, bytes, access, &Backing::Shared))
    }

    /// Maps `bytes` bytes of a file from byte `offset` on, which is copied nowhere. All are multiples of the host's page
    /// size. The descriptor may be closed afterwards. Reading beyond the end of the file is a `memory` fault.
    ///
    /// # Errors
    /// As [`Memory::map`]; also if the system cannot map the file in that way.
    pub fn map_file(
        &self,
        address: Option<u64>,
        file: BorrowedFd<'_>,
        offset: u64,
        bytes: u64,
        access: Access,
        sharing: FileSharing,
    ) -> Result<u64, Error> {
        // The file may become shorter.
        crate::vm::ensure_for_memory()?;
        let backing = Backing::File { file, offset, private: sharing == FileSharing::Private };
        self.edit(|edit| edit.map_backing(address, bytes, access, &backing))
    }

    /// Maps host memory: guest and host see the same bytes at once. `pointer`, address and size are multiples of the host's
    /// page size.
    ///
    /// Shared mappings of the process (of a file, of a memfd, `MAP_SHARED | MAP_ANONYMOUS`) get a second mapping and are as
    /// fast as other memory. Anything else (a heap) stays where it is; then launches that start later use code which looks
    /// each page up ([`Memory::is_careful`]). In a space of [`crate::MemoryOptions::identity`] the address is the pointer.
    ///
    /// # Safety
    /// Until it is unmapped, and until launches that ran then have ended, the memory stays mapped for reading, and for
    /// writing if `access` says so, and is accessed by others only in ways that allow races (atomics, other processes,
    /// volatile). If it vanishes all the same, accesses of guests are faults, as long as nothing else takes its place.
    ///
    /// # Errors
    /// As [`Memory::map`].
    pub unsafe fn map_host(
        &self,
        address: Option<u64>,
        pointer: *mut u8,
        bytes: u64,
        access: Access,
    ) -> Result<u64, Error> {
        // It may vanish.
        crate::vm::ensure_for_memory()?;
        self.edit(|edit| edit.map_host(address, pointer, bytes, access))
    }

    /// Maps the bytes of mapped memory at a second address: stores through one are seen through the other. Both addresses and the
    /// size are multiples of the host's page size, and the memory lies in one buffer.
    ///
    /// Of memory of [`Memory::map_shared`], [`Memory::map_file`] (shared) and shared host memory, an alias is as fast
    /// as other memory. An alias of anything else makes the space careful ([`Memory::is_careful`]). Unmapping the
    /// memory does not unmap its aliases; those that are no mappings of their own fault from then on.
    ///
    /// # Errors
    /// As [`Memory::map`]; also if `of` is not mapped.
    pub fn map_alias(&self, address: Option<u64>, of: u64, bytes: u64, access: Access) -> Result<u64, Error> {
        self.edit(|edit| edit.map_alias(address, of, bytes, access))
    }

    /// Lets a device answer accesses to a range: each load and store of a guest calls it, with the offset in the range. Address and
    /// size are multiples of the host's page size. The space is careful from then on ([`Memory::is_careful`]).
    ///
    /// # Errors
    /// As [`Memory::map`].
    pub fn map_device(
        &self,
        address: Option<u64>,
        bytes: u64,
        device: Arc<dyn Device>,
    ) -> Result<u64, Error> {
        // If it fails, the device is dropped here, where no lock is held.
        let what = Special::Device(device.clone());
        self.edit(|edit| edit.map_special(address, bytes, Access::ReadWrite, what, None))
    }

    /// Lets a function mend accesses of guests to pages that are not mapped, or that may not be written: it is called before the
    /// access becomes a fault, and may map or protect pages. `None`: nobody mends them. The space is careful from then
    /// on ([`Memory::is_careful`]).
    ///
    /// # Errors
    /// [`Error::Memory`] if the embedder maps the memory by itself ([`Memory::over`]).
    pub fn set_pager(&self, pager: Option<Arc<dyn Pager>>) -> Result<(), Error> {
        // If it fails, the pager is dropped here, where no lock is held.
        let kept = pager.clone();
        let result = self.edit(|edit| {
            edit.set_pager(pager);
            Ok(())
        });
        drop(kept);
        result
    }

    /// Calls a function before the first store of a guest to each page of a mapped range; from then on the page can be
    /// written without a call. The space is careful from then on ([`Memory::is_careful`]). A later call for the same range
    /// watches all of its pages anew. `None`: they are not watched any more.
    ///
    /// # Errors
    /// [`Error::Memory`] if not all of the range is mapped, or its ends are not at pages.
    pub fn watch_writes(&self, range: Range<u64>, watch: Option<Arc<dyn WriteWatch>>) -> Result<(), Error> {
        // If it fails, the watch is dropped here, where no lock is held.
        let kept = watch.clone();
        let result = self.edit(|edit| edit.watch(range, watch));
        drop(kept);
        result
    }

    /// Changes what the guest may do with pages of buffers. Both ends are at pages of the host.
    ///
    /// # Errors
    /// [`Error::Memory`] if not all of the range belongs to buffers, or to a device; [`Error::Os`] if the host refuses it.
    pub fn protect(&self, range: Range<u64>, access: Access) -> Result<(), Error> {
        self.edit(|edit| edit.protect(range, access))
    }

    /// Unmaps the buffer that begins at `address`; its pages fault from then on.
    ///
    /// # Errors
    /// If no buffer begins there, or the system refuses it. Then the buffer is still mapped.
    pub fn unmap(&self, address: u64) -> Result<(), Error> {
        self.edit(|edit| edit.unmap(address))
    }
}
