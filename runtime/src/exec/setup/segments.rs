//! Memory segments that a launch provides in the guest's address space ([`KernelAbi::segments`]). They are mapped while the
//! launch runs.
//!
//! A segment with a size for each warp has room for as many blocks as can exist at a time. A block takes a [`SegmentPart`] in it when
//! it is made and keeps it when its storage is reused for another block of the grid. The part is zeroed at the start of each
//! block.
//!
//! A ring ([`SegmentSize::Ring`]) is memory that the guest itself has mapped, and that is divided among warps in the same way.
//! The launch says how many warps it has room for. No more blocks exist at a time than fit ([`Segments::are_limited`]).

use super::Needs;
use crate::digest::{BYTES, Digest};
use crate::memory::{Lease, Leased};
use crate::{Access, Error, LaunchError, Memory};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use warpjit_ir::{Function, SegmentSize, Slot, SlotInit, WarpRing};

/// All segments of a launch.
#[derive(Debug, Default)]
pub struct Segments {
    list: Vec<Segment>,
    /// Slots that receive the offset of the warp's part of a segment.
    slots: Vec<(Slot, u8)>,
    /// The number of blocks for which the smallest ring has room, if there is a ring.
    ring_blocks: Option<u32>,
    free: Arc<Mutex<Vec<u32>>>,
    /// What is mapped.
    leased: Option<Leased>,
    /// A digest of all contents, if they have been noted.
    noted: Option<[u8; BYTES]>,
}

#[derive(Debug, Clone)]
struct Segment {
    name: &'static str,
    address: u64,
    writable: bool,
    contents: Vec<u8>,
    /// Bytes of the contents, if they have been noted.
    bytes: u64,
    /// Bytes for each warp, if the segment is divided among warps.
    stride: Option<u32>,
    /// The memory is the guest's own.
    ring: bool,
}

/// A block's part in the segments that are divided among warps. Freed when dropped.
#[derive(Debug)]
pub struct SegmentPart {
    number: u32,
    free: Arc<Mutex<Vec<u32>>>,
}

impl SegmentPart {
    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for SegmentPart {
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

impl Segments {
    /// The segments of a kernel with their contents, not mapped yet, for blocks of `warps` warps. `ring` overrides the
    /// kernel's division of a ring.
    pub fn new(
        needs: &Needs<'_>,
        function: &Function,
        warps: u32,
        ring: Option<WarpRing>,
    ) -> Result<Self, Error> {
        let mut list: Vec<Segment> = Vec::new();
        let mut ring_blocks: Option<u32> = None;
        for segment in &needs.abi.segments {
            let (bytes, stride) = match segment.size {
                SegmentSize::Bytes(bytes) => (bytes, None),
                SegmentSize::PerWarp(bytes) => (0, Some(bytes)),
                SegmentSize::Ring(own) => {
                    let ring = choose_ring(needs.name, own, ring)?;
                    let blocks = ring.warps / warps;
                    if blocks == 0 {
                        let (segment, found) = (segment.name, ring.warps);
                        return Err(LaunchError::RingWarps { segment, found, wanted: warps }.into());
                    }
                    ring_blocks = Some(ring_blocks.unwrap_or(u32::MAX).min(blocks));
                    (0, Some(ring.warp_bytes))
                }
            };
            list.push(Segment {
                name: segment.name,
                address: segment.address,
                writable: segment.writable,
                contents: vec![0; bytes as usize],
                bytes: 0,
                stride,
                ring: matches!(segment.size, SegmentSize::Ring(_)),
            });
            for (offset, bytes) in &segment.contents {
                let number = list.len() - 1;
                put(&mut list, number, *offset as usize, bytes);
            }
        }
        let slots = function.slots.iter().enumerate().filter_map(|(number, slot)| match slot.init {
            SlotInit::WarpOffset(segment) => Some((Slot::new(number), segment)),
            _ => None,
        });
        Ok(Segments { list, slots: slots.collect(), ring_blocks, ..Segments::default() })
    }

    /// The same segments, not mapped.
    pub fn again(&self) -> Segments {
        let (list, slots) = (self.list.clone(), self.slots.clone());
        Segments { list, slots, ring_blocks: self.ring_blocks, ..Segments::default() }
    }

    /// Puts bytes into a segment, which grows as needed. Not for segments that are divided among warps.
    pub fn put(&mut self, segment: u8, offset: usize, bytes: &[u8]) {
        put(&mut self.list, usize::from(segment), offset, bytes);
    }

    /// What a segment contains at the start.
    pub fn initial(&self, segment: u8) -> Option<&[u8]> {
        self.list.get(usize::from(segment)).map(|segment| segment.contents.as_slice())
    }

    /// Whether any segment is divided among warps.
    pub fn have_parts(&self) -> bool {
        self.list.iter().any(|segment| segment.stride.is_some())
    }

    /// Whether a ring limits the number of parts.
    pub fn are_limited(&self) -> bool {
        self.ring_blocks.is_some()
    }

    /// Bytes of one warp in all mapped segments that are divided among warps.
    pub fn warp_bytes(&self) -> usize {
        self.list
            .iter()
            .filter(|segment| !segment.ring)
            .filter_map(|segment| segment.stride)
            .map(|stride| stride as usize)
            .sum()
    }

    /// Maps all segments, for at most `parts` blocks of `warps` warps at a time. `false`: `give_up` said so while the addresses
    /// were another launch's.
    pub fn map(
        &mut self,
        memory: &Memory,
        warps: u32,
        parts: u32,
        give_up: &dyn Fn() -> bool,
    ) -> Result<bool, Error> {
        let parts = parts.min(self.ring_blocks.unwrap_or(u32::MAX));
        let mapped = self.list.iter().filter(|segment| !segment.ring);
        let wanted = mapped.map(|segment| {
            let bytes = match segment.stride {
                None => segment.contents.len() as u64,
                Some(stride) => u64::from(stride) * u64::from(warps) * u64::from(parts),
            };
            let access = if segment.writable { Access::ReadWrite } else { Access::ReadOnly };
            // The launch may be run again.
            let contents = segment.contents.clone();
            Lease { name: segment.name, address: segment.address, bytes: bytes.max(1), access, contents }
        });
        self.leased = memory.lease(wanted.collect(), give_up)?;
        if self.have_parts() {
            // Reversed, so that the lowest number is taken first.
            *self.free.lock().unwrap_or_else(PoisonError::into_inner) = (0..parts).rev().collect();
        }
        Ok(self.leased.is_some())
    }

    /// Unmaps all segments. `memory` may retain them for the next launch.
    pub fn unmap(&mut self, memory: &Memory) {
        if let Some(leased) = self.leased.take() {
            memory.end_lease(leased);
        }
    }

    /// Whether there is a part for another block.
    pub fn have_room(&self) -> bool {
        !self.free.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Takes a part for a block, if any segment is divided among warps. `None` if all are taken: parts are limited,
    /// or there are more blocks than [`Segments::map`] was told.
    pub fn take_part(&self) -> Option<SegmentPart> {
        let number = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        Some(SegmentPart { number, free: self.free.clone() })
    }

    /// Takes this part, if it is free: that of a block that has been saved.
    pub fn take_numbered_part(&self, number: u32) -> Option<SegmentPart> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let at = free.iter().position(|&other| other == number)?;
        free.remove(at);
        Some(SegmentPart { number, free: self.free.clone() })
    }

    /// Notes what they contain, before it is mapped, for a launch that is to be saved or was.
    pub fn note(&mut self) {
        let mut digest = Digest::new();
        for segment in &mut self.list {
            segment.bytes = segment.contents.len() as u64;
            segment.contents.hash(&mut digest);
        }
        self.noted = Some(digest.value());
    }

    /// Adds the segments, whose contents have been noted, to a digest.
    pub fn digest(&self, into: &mut impl Hasher) {
        for segment in &self.list {
            (segment.address, segment.writable, segment.bytes, segment.stride, segment.ring).hash(into);
        }
        (self.ring_blocks, self.noted).hash(into);
    }

    /// The segments whose contents belong to a saved launch, each with its address and bytes: those that the guest may have
    /// changed. With a part, the block's parts of those that are divided among warps; without one, all others.
    fn kept(&self, part: Option<&SegmentPart>, warps: u32) -> impl Iterator<Item = (u64, u64)> {
        let mapped = self.list.iter().filter(|segment| segment.writable && !segment.ring);
        mapped.filter_map(move |segment| match (segment.stride, part) {
            (None, None) => Some((segment.address, segment.bytes)),
            (Some(stride), Some(part)) => {
                let bytes = u64::from(stride) * u64::from(warps);
                Some((segment.address + bytes * u64::from(part.number), bytes))
            }
            _ => None,
        })
    }

    /// Bytes of [`Segments::contents`].
    pub fn kept_bytes(&self, part: Option<&SegmentPart>, warps: u32) -> u64 {
        self.kept(part, warps).map(|(_, bytes)| bytes).sum()
    }

    /// What the guest has in the segments: in a block's part in those that are divided among warps, or in all others.
    pub fn contents(&self, memory: &Memory, part: Option<&SegmentPart>, warps: u32) -> Vec<u8> {
        let mut all = Vec::new();
        for (address, bytes) in self.kept(part, warps) {
            let start = all.len();
            all.resize(start + bytes as usize, 0);
            // Cannot fail: the segment is mapped.
            let _ = memory.read(address, &mut all[start..]);
        }
        all
    }

    /// Puts back what [`Segments::contents`] has given, which must have [`Segments::kept_bytes`].
    pub fn put_back(&self, memory: &Memory, part: Option<&SegmentPart>, warps: u32, mut contents: &[u8]) {
        for (address, bytes) in self.kept(part, warps) {
            let (own, rest) = contents.split_at((bytes as usize).min(contents.len()));
            contents = rest;
            for (at, part) in (address..).step_by(8).zip(own.chunks(8)) {
                let mut word = [0; 8];
                word[..part.len()].copy_from_slice(part);
                let value = u64::from_le_bytes(word);
                // Cannot fail: the segment is mapped and writable.
                let _ = match part.len() {
                    8 => memory.store(at, 8, value),
                    count => (0..count as u64).try_for_each(|n| memory.store(at + n, 1, value >> (8 * n))),
                };
            }
        }
    }

    /// Zeroes the memory of a part.
    pub fn clear(&self, memory: &Memory, part: &SegmentPart, warps: u32) {
        for segment in self.list.iter().filter(|segment| !segment.ring) {
            if let Some(stride) = segment.stride {
                let bytes = u64::from(stride) * u64::from(warps);
                // Cannot fail: the segment is mapped and writable.
                let _ = memory.clear(segment.address + bytes * u64::from(part.number), bytes);
            }
        }
    }

    /// The slots that receive an offset in a segment, with their values for a warp of a block.
    pub fn slots(
        &self,
        part: Option<&SegmentPart>,
        warps: u32,
        warp: u32,
    ) -> impl Iterator<Item = (Slot, u64)> + '_ {
        let index = part.map_or(0, |part| u64::from(part.number)) * u64::from(warps) + u64::from(warp);
        self.slots.iter().map(move |&(slot, segment)| {
            let stride = self.list.get(usize::from(segment)).and_then(|segment| segment.stride);
            (slot, u64::from(stride.unwrap_or(0)) * index)
        })
    }
}

/// How a ring is divided: as the launch says, or else as the kernel does.
fn choose_ring(name: &str, own: Option<WarpRing>, given: Option<WarpRing>) -> Result<WarpRing, Error> {
    match (own, given) {
        (Some(own), Some(given)) if own.warp_bytes > given.warp_bytes => {
            let (name, wanted, found) = (name.to_owned(), own.warp_bytes, given.warp_bytes);
            Err(LaunchError::RingBytes { name, wanted, found }.into())
        }
        (_, Some(given)) => Ok(given),
        (Some(own), None) => Ok(own),
        (None, None) => Err(LaunchError::NoRing { name: name.to_owned() }.into()),
    }
}

fn put(list: &mut [Segment], segment: usize, offset: usize, bytes: &[u8]) {
    if let Some(segment) = list.get_mut(segment).filter(|segment| segment.stride.is_none()) {
        let end = offset + bytes.len();
        segment.contents.resize(segment.contents.len().max(end), 0);
        segment.contents[offset..end].copy_from_slice(bytes);
    }
}
