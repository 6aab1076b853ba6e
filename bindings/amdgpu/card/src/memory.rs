//! The card's memory: buffer objects, which are ranges of one file without a name, and what is mapped where for the card.
//!
//! The file is what a program has open as the render node, so a program maps a buffer object by `mmap` of the node. The card sees the same
//! pages: its address space maps the file, too.

use crate::fence::lock;
use crate::host_pages::{HostPages, PinnedPages};
use crate::uapi::User;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::Mutex;
use warpjit_runtime::{Access, CancelToken, Error, FileSharing, Memory, MemoryOptions, PAGE_BYTES};

/// Bytes of the file: more than is ever used. Ranges are not used again, because a program may still have them mapped.
const FILE_BYTES: u64 = 1 << 60;
/// Where buffer objects begin at least.
const ALIGNMENT: u64 = 1 << 16;

/// A buffer object.
#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    /// Bytes, in whole pages.
    pub bytes: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// AMDGPU_GEM_DOMAIN.
    pub domains: u64,
    /// AMDGPU_GEM_CREATE.
    pub flags: u64,
    /// What drivers keep with it.
    pub tiling: u64,
    /// The words of that.
    pub metadata: Vec<u8>,
}

/// What is mapped at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// The address behind it.
    pub end: u64,
    /// The buffer object, and where in the file; `None`: pages of a sparse buffer, which hold zeros.
    pub backing: Option<(u32, u64)>,
    /// What the card may do there.
    pub access: Access,
}

/// The buffer objects of a file.
#[derive(Debug)]
pub(crate) struct Buffers {
    file: OwnedFd,
    state: Mutex<BufferState>,
    limit: u64,
    /// Those that are memory of the program.
    pub host: HostPages,
}

#[derive(Debug, Default)]
struct BufferState {
    all: BTreeMap<u32, Buffer>,
    end: u64,
    bytes: u64,
}

impl Buffers {
    /// None, in a file of their own. `limit`: bytes of all.
    pub fn new(limit: u64) -> Result<Buffers, Errno> {
        let file = rustix::fs::memfd_create("warpjit-card", rustix::fs::MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&file, FILE_BYTES)?;
        let state = BufferState { end: ALIGNMENT, ..BufferState::default() };
        Ok(Buffers { file, state: Mutex::new(state), limit, host: HostPages::default() })
    }

    /// The file.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        lock(&self.state).all.is_empty()
    }

    /// Bytes of all.
    pub fn bytes(&self) -> u64 {
        lock(&self.state).bytes
    }

    /// A new one; its handle.
    pub fn create(&self, bytes: u64, alignment: u64, domains: u64, flags: u64) -> Result<u32, Errno> {
        // The memory of the graphics engine's own (GDS, GWS, OA) is not there.
        const CPU_GTT_VRAM: u64 = 7;
        let bytes = bytes.checked_next_multiple_of(PAGE_BYTES).ok_or(Errno::INVAL)?;
        if bytes == 0 || domains & !CPU_GTT_VRAM != 0 || alignment > 1 << 40 {
            return Err(Errno::INVAL);
        }
        let mut state = lock(&self.state);
        if bytes > self.limit.saturating_sub(state.bytes) {
            return Err(Errno::NOMEM);
        }
        let offset = state.end.next_multiple_of(alignment.max(1).next_power_of_two().max(ALIGNMENT));
        if offset.checked_add(bytes).is_none_or(|end| end > FILE_BYTES) {
            return Err(Errno::NOMEM);
        }
        state.end = offset + bytes;
        state.bytes += bytes;
        let handle = (1..).find(|handle| !state.all.contains_key(handle)).ok_or(Errno::NOMEM)?;
        state.all.insert(handle, Buffer { bytes, offset, domains, flags, tiling: 0, metadata: Vec::new() });
        Ok(handle)
    }

    /// A new one that is memory of the program: GEM_USERPTR.
    pub fn create_of_program(
        &self,
        user: &dyn User,
        address: u64,
        bytes: u64,
        flags: u32,
    ) -> Result<u32, Errno> {
        // Only read; only anonymous pages; look whether they are there; be told of changes, without which there is no writing.
        const READ_ONLY: u32 = 1;
        const KNOWN: u32 = 0xf;
        const VALIDATE: u32 = 4;
        const REGISTER: u32 = 8;
        const CPU: u64 = 1;
        let is_whole = address.is_multiple_of(PAGE_BYTES) && bytes.is_multiple_of(PAGE_BYTES);
        if flags & !KNOWN != 0 || !is_whole || address.checked_add(bytes).is_none() {
            return Err(Errno::INVAL);
        }
        if flags & (READ_ONLY | REGISTER) == 0 {
            return Err(Errno::ACCESS);
        }
        let handle = self.create(bytes, PAGE_BYTES, CPU, 0)?;
        let add = || {
            let offset = self.get(handle)?.offset;
            let place = PinnedPages { address, offset, bytes, is_read_only: flags & READ_ONLY != 0 };
            self.host.add(handle, || user.file(), place)?;
            if flags & VALIDATE != 0 { self.host.validate(handle) } else { Ok(()) }
        };
        let added = add();
        if let Err(error) = added {
            self.close(handle)?;
            return Err(error);
        }
        Ok(handle)
    }

    /// By handle.
    pub fn get(&self, handle: u32) -> Result<Buffer, Errno> {
        lock(&self.state).all.get(&handle).cloned().ok_or(Errno::NOENT)
    }

    /// Changes one.
    pub fn change(&self, handle: u32, change: impl FnOnce(&mut Buffer)) -> Result<(), Errno> {
        lock(&self.state).all.get_mut(&handle).map(change).ok_or(Errno::NOENT)
    }

    /// Removes one, and gives its memory back.
    pub fn close(&self, handle: u32) -> Result<(), Errno> {
        let buffer = {
            let mut state = lock(&self.state);
            let buffer = state.all.remove(&handle).ok_or(Errno::INVAL)?;
            // Before the handle can be another buffer object's.
            self.host.remove(handle);
            state.bytes -= buffer.bytes;
            buffer
        };
        let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&self.file, flags, buffer.offset, buffer.bytes)
    }
}

/// The card's addresses.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    memory: Memory,
    /// The same memory for programs with scratch on gfx9, whose addresses have ones in the upper bits (drivers expect the card's addresses
    /// in the upper half). Looking addresses up costs time, so other programs do without.
    sloppy: Option<Memory>,
    maps: Mutex<BTreeMap<u64, Mapping>>,
    /// Nobody has the file any more: what runs is to stop.
    ended: CancelToken,
}

/// AMDGPU_VM_PAGE_WRITEABLE.
const WRITEABLE: u32 = 1 << 2;

fn errno(error: &Error) -> Errno {
    match error {
        Error::Memory(_) => Errno::INVAL,
        _ => Errno::NOMEM,
    }
}

/// Bits 63:48.
const IGNORED_BITS: u32 = 16;

impl AddressSpace {
    /// Nothing is mapped. `sloppy`: there are programs whose addresses have ones in bits 63:48.
    pub fn new(sloppy: bool) -> Result<AddressSpace, Errno> {
        let options = MemoryOptions::new().address_bits(40);
        let make = |options: MemoryOptions| Memory::with(&options).map_err(|error| errno(&error));
        let sloppy = sloppy.then(|| make(MemoryOptions::new().ignore_high_bits(IGNORED_BITS))).transpose()?;
        Ok(AddressSpace { memory: make(options)?, sloppy, maps: Mutex::default(), ended: CancelToken::new() })
    }

    /// What stops dispatches, draws and waits when nobody has the file any more.
    pub fn ended(&self) -> &CancelToken {
        &self.ended
    }

    /// The memory as programs see it.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The memory as a program with scratch sees it.
    pub fn scratch_memory(&self) -> &Memory {
        self.sloppy.as_ref().unwrap_or(&self.memory)
    }

    /// How many of the highest bits of an address such a program's memory ignores.
    pub fn ignored_bits(&self) -> u32 {
        if self.sloppy.is_some() { IGNORED_BITS } else { 0 }
    }

    /// Words from an address on.
    pub fn words(&self, address: u64, count: u32) -> Result<Vec<u32>, Error> {
        let mut bytes = vec![0; count as usize * 4];
        self.memory.read(address, &mut bytes)?;
        Ok(bytes.chunks_exact(4).map(|word| crate::uapi::u32_at(word, 0)).collect())
    }

    /// All mappings by address.
    pub fn mappings(&self) -> Vec<(u64, Mapping)> {
        lock(&self.maps).iter().map(|(start, mapping)| (*start, *mapping)).collect()
    }

    fn each(&self) -> impl Iterator<Item = &Memory> {
        std::iter::once(&self.memory).chain(&self.sloppy)
    }

    fn put(&self, file: BorrowedFd<'_>, start: u64, mapping: Mapping) -> Result<(), Errno> {
        let bytes = mapping.end - start;
        for memory in self.each() {
            let (at, access) = (Some(start), mapping.access);
            let mapped = match mapping.backing {
                Some((_, offset)) => memory.map_file(at, file, offset, bytes, access, FileSharing::Shared),
                None => memory.map(at, bytes, Access::ReadWrite),
            };
            mapped.map_err(|error| errno(&error))?;
        }
        Ok(())
    }

    /// Maps part of a buffer object (or zeros); what was mapped there is gone if `replace`, else it is EINVAL.
    pub fn map(
        &self,
        file: BorrowedFd<'_>,
        (start, bytes): (u64, u64),
        backing: Option<(u32, u64)>,
        flags: u32,
        replace: bool,
    ) -> Result<(), Errno> {
        let end = start.checked_add(bytes).ok_or(Errno::INVAL)?;
        let access = if flags & WRITEABLE != 0 { Access::ReadWrite } else { Access::ReadOnly };
        let mut maps = lock(&self.maps);
        if overlap(&maps, start, end).next().is_some() {
            if !replace {
                return Err(Errno::INVAL);
            }
            self.remove(&mut maps, file, start, end)?;
        }
        let mapping = Mapping { end, backing, access };
        self.put(file, start, mapping)?;
        maps.insert(start, mapping);
        Ok(())
    }

    /// Unmaps a range, of which nothing need be mapped.
    pub fn clear(&self, file: BorrowedFd<'_>, start: u64, bytes: u64) -> Result<(), Errno> {
        let end = start.checked_add(bytes).ok_or(Errno::INVAL)?;
        self.remove(&mut lock(&self.maps), file, start, end)
    }

    /// Unmaps what begins at an address.
    pub fn unmap(&self, file: BorrowedFd<'_>, start: u64, bytes: u64) -> Result<(), Errno> {
        let mut maps = lock(&self.maps);
        let end = start.checked_add(bytes).ok_or(Errno::INVAL)?;
        if overlap(&maps, start, end).next().is_none() {
            return Err(Errno::NOENT);
        }
        self.remove(&mut maps, file, start, end)
    }

    /// Unmaps all of a buffer object.
    pub fn forget(&self, file: BorrowedFd<'_>, handle: u32) -> Result<(), Errno> {
        let mut maps = lock(&self.maps);
        let is_its = |mapping: &Mapping| mapping.backing.is_some_and(|(buffer, _)| buffer == handle);
        let its: Vec<_> =
            maps.iter().filter(|(_, mapping)| is_its(mapping)).map(|(at, map)| (*at, map.end)).collect();
        its.into_iter().try_for_each(|(start, end)| self.remove(&mut maps, file, start, end))
    }

    /// Unmaps a range. What is mapped on both sides of it is mapped anew.
    fn remove(
        &self,
        maps: &mut BTreeMap<u64, Mapping>,
        file: BorrowedFd<'_>,
        start: u64,
        end: u64,
    ) -> Result<(), Errno> {
        let found: Vec<(u64, Mapping)> = overlap(maps, start, end).collect();
        for (at, mapping) in found {
            for memory in self.each() {
                memory.unmap(at).map_err(|error| errno(&error))?;
            }
            maps.remove(&at);
            for (from, to) in [(at, start.max(at)), (end.min(mapping.end), mapping.end)] {
                if from < to {
                    let backing = mapping.backing.map(|(buffer, offset)| (buffer, offset + (from - at)));
                    let rest = Mapping { end: to, backing, ..mapping };
                    self.put(file, from, rest)?;
                    maps.insert(from, rest);
                }
            }
        }
        Ok(())
    }
}

/// What is mapped in a range, if only in part.
fn overlap(maps: &BTreeMap<u64, Mapping>, start: u64, end: u64) -> impl Iterator<Item = (u64, Mapping)> {
    let before = maps.range(..start).next_back().filter(|(_, mapping)| mapping.end > start);
    before.into_iter().chain(maps.range(start..end.max(start))).map(|(at, mapping)| (*at, *mapping))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_mappings() {
        let buffers = Buffers::new(1 << 30).unwrap();
        let space = AddressSpace::new(true).unwrap();
        let file = buffers.file();
        let handle = buffers.create(0x3000, 0, 4, 0).unwrap();
        let offset = buffers.get(handle).unwrap().offset;
        rustix::io::pwrite(file, &[1; 0x3000], offset).unwrap();
        space.map(file, (0x20_0000, 0x3000), Some((handle, offset)), 0xe, false).unwrap();
        assert_eq!(space.map(file, (0x20_1000, 0x1000), None, 0xe, false), Err(Errno::INVAL));
        space.map(file, (0x20_1000, 0x1000), None, 0xe, true).unwrap();
        let load = |at| space.memory().load(at, 1).ok();
        assert_eq!((load(0x20_0000), load(0x20_1000), load(0x20_2fff)), (Some(1), Some(0), Some(1)));
        assert_eq!(space.scratch_memory().load(0xffff_0000_0020_2000, 1).ok(), Some(1));
        space.unmap(file, 0x20_0000, 0x1000).unwrap();
        assert_eq!(space.unmap(file, 0x20_0000, 0x1000), Err(Errno::NOENT));
        assert_eq!((load(0x20_0000), load(0x20_2000)), (None, Some(1)));
        space.forget(file, handle).unwrap();
        assert_eq!((load(0x20_1000), load(0x20_2000)), (Some(0), None));
        space.clear(file, 0, 1 << 40).unwrap();
        assert!(space.mappings().is_empty());
    }

    #[test]
    fn limits() {
        let buffers = Buffers::new(1 << 20).unwrap();
        assert_eq!(buffers.create(0, 0, 4, 0), Err(Errno::INVAL));
        assert_eq!(buffers.create(1, 0, 8, 0), Err(Errno::INVAL));
        assert_eq!(buffers.create(u64::MAX, 0, 4, 0), Err(Errno::INVAL));
        assert_eq!(buffers.create((1 << 20) + 1, 0, 4, 0), Err(Errno::NOMEM));
        let handle = buffers.create(1 << 20, 0, 4, 0).unwrap();
        assert_eq!(buffers.create(1, 0, 4, 0), Err(Errno::NOMEM));
        buffers.close(handle).unwrap();
        assert_eq!(buffers.close(handle), Err(Errno::INVAL));
        assert_eq!(buffers.create(1, 0, 4, 0), Ok(handle));
    }
}
