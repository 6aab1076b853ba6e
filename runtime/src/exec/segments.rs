//! Segments: memory that a launch provides in the guest's address space ([`KernelAbi::segments`]), mapped while it runs.
//!
//! A segment for each warp is a row of places, as many as blocks can be started at a time. A block takes a
//! [`Place`] when it is made and keeps it while it is used again for others of the grid; the memory is zero when one
//! starts, whatever ran there before.

use crate::{Access, Error, Memory};
use std::sync::{Arc, Mutex, PoisonError};
use warpjit_ir::{Function, KernelAbi, SegmentSize, Slot, SlotInit};

/// All segments of a launch.
#[derive(Debug, Default)]
pub struct Segments {
    list: Vec<Segment>,
    /// Slots that get the offset of the warp's part of a segment.
    slots: Vec<(Slot, u8)>,
    free: Arc<Mutex<Vec<u32>>>,
}

#[derive(Debug)]
struct Segment {
    name: &'static str,
    address: u64,
    writable: bool,
    contents: Vec<u8>,
    /// Bytes a warp, of those that each warp has for itself.
    stride: Option<u32>,
}

/// A block's place in the segments that each warp has for itself; free again when dropped.
#[derive(Debug)]
pub struct Place {
    number: u32,
    free: Arc<Mutex<Vec<u32>>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

impl Segments {
    /// Those of an interface with their contents, not mapped yet.
    pub fn new(abi: &KernelAbi, function: &Function) -> Self {
        let mut list: Vec<Segment> = Vec::new();
        for segment in &abi.segments {
            let (bytes, stride) = match segment.size {
                SegmentSize::Bytes(bytes) => (bytes, None),
                SegmentSize::PerWarp(bytes) => (0, Some(bytes)),
            };
            list.push(Segment {
                name: segment.name,
                address: segment.address,
                writable: segment.writable,
                contents: vec![0; bytes as usize],
                stride,
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
        Segments { list, slots: slots.collect(), free: Arc::default() }
    }

    /// Puts bytes into a segment, which grows as needed; there is no such thing in those for each warp.
    pub fn put(&mut self, segment: u8, offset: usize, bytes: &[u8]) {
        put(&mut self.list, usize::from(segment), offset, bytes);
    }

    /// Whether warps have memory of their own.
    pub fn have_places(&self) -> bool {
        self.list.iter().any(|segment| segment.stride.is_some())
    }

    /// Bytes of a warp in the segments that each warp has for itself.
    pub fn warp_bytes(&self) -> usize {
        self.list.iter().filter_map(|segment| segment.stride).map(|stride| stride as usize).sum()
    }

    /// Maps all of them, for blocks of `warps` warps of which at most `places` are there at a time.
    pub fn map(&mut self, memory: &mut Memory, warps: u32, places: u32) -> Result<(), Error> {
        let addresses: Vec<u64> = self.list.iter().map(|segment| segment.address).collect();
        memory.give_back_others(&addresses)?;
        for number in 0..self.list.len() {
            let segment = &self.list[number];
            let bytes = match segment.stride {
                None => segment.contents.len() as u64,
                Some(stride) => u64::from(stride) * u64::from(warps) * u64::from(places),
            };
            let access = if segment.writable { Access::ReadWrite } else { Access::ReadOnly };
            let name = segment.name;
            if let Err(error) = memory.map_parked(segment.address, bytes.max(1), access, &segment.contents) {
                self.list.truncate(number);
                self.unmap(memory);
                return Err(Error::Launch(format!("no room for the {name}: {error}")));
            }
        }
        if self.have_places() {
            // The lowest number is taken first.
            *self.free.lock().unwrap_or_else(PoisonError::into_inner) = (0..places).rev().collect();
        }
        Ok(())
    }

    /// Takes all of them out of memory again; it may keep them for the next launch.
    pub fn unmap(&mut self, memory: &mut Memory) {
        for segment in self.list.drain(..) {
            // It was mapped by `map`, and nobody but the owner of both can have unmapped it since.
            let _ = memory.park(segment.address, segment.contents);
        }
    }

    /// A place for a block, if warps have memory of their own. None are left only if there are more blocks than
    /// was said to [`Segments::map`].
    pub fn take_place(&self) -> Option<Place> {
        let number = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        Some(Place { number, free: self.free.clone() })
    }

    /// Makes the memory of a place zero.
    pub fn clear(&self, memory: &Memory, place: &Place, warps: u32) {
        for segment in &self.list {
            if let Some(stride) = segment.stride {
                let bytes = u64::from(stride) * u64::from(warps);
                // Mapped and writable; a segment that is neither holds nothing to clear.
                let _ = memory.clear(segment.address + bytes * u64::from(place.number), bytes);
            }
        }
    }

    /// What slots hold that get an offset in a segment, for a warp of a block.
    pub fn slots(
        &self,
        place: Option<&Place>,
        warps: u32,
        warp: u32,
    ) -> impl Iterator<Item = (Slot, u64)> + '_ {
        let index = place.map_or(0, |place| u64::from(place.number)) * u64::from(warps) + u64::from(warp);
        self.slots.iter().map(move |&(slot, segment)| {
            let stride = self.list.get(usize::from(segment)).and_then(|segment| segment.stride);
            (slot, u64::from(stride.unwrap_or(0)) * index)
        })
    }
}

fn put(list: &mut [Segment], segment: usize, offset: usize, bytes: &[u8]) {
    if let Some(segment) = list.get_mut(segment).filter(|segment| segment.stride.is_none()) {
        let end = offset + bytes.len();
        segment.contents.resize(segment.contents.len().max(end), 0);
        segment.contents[offset..end].copy_from_slice(bytes);
    }
}
