//! Memory for compiled code.
//!
//! It consists of mappings. Each page of a mapping is either free and writable, or holds code and is
//! executable ([`super::sys`]), so no address is ever both. Pieces of code do not share pages, so code can be added while other
//! threads run code of the same mapping. Mappings are private to the process, so a child of `fork` goes on with a copy.

use super::{registry, sys};
use crate::Error;
use crate::fork::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// Alignment of a piece of code: a cache line.
const ALIGN: usize = 64;
/// Size of the first mapping unless a piece of code needs more. Further mappings double in size, [`DOUBLINGS`] times at
/// most. Pages take memory only when code is written to them.
const FIRST_MAPPING_BYTES: usize = 256 << 10;
/// How often the size of mappings doubles.
const DOUBLINGS: usize = 4;

/// An arena for compiled code. Cloning shares it.
#[derive(Debug, Clone, Default)]
pub struct CodeMemory {
    inner: Arc<Mutex<Arena>>,
}

#[derive(Debug, Default)]
struct Arena {
    mappings: Vec<CodeMapping>,
    /// Number of pieces added so far.
    added: usize,
}

#[derive(Debug)]
struct CodeMapping {
    pages: sys::Pages,
    /// Free ranges (offset, bytes), sorted, no two adjacent.
    free: Vec<(usize, usize)>,
}

impl CodeMapping {
    fn new(bytes: usize, whole: bool) -> Result<Self, Error> {
        let pages = sys::Pages::new(bytes, whole)?;
        Ok(CodeMapping { free: vec![(0, pages.bytes())], pages })
    }

    fn take(&mut self, bytes: usize) -> Option<usize> {
        let at = self.free.iter().position(|&(_, room)| room >= bytes)?;
        let (offset, room) = self.free[at];
        if room == bytes {
            self.free.remove(at);
        } else {
            self.free[at] = (offset + bytes, room - bytes);
        }
        Some(offset)
    }

    /// Takes a range that is free.
    fn take_at(&mut self, offset: usize, bytes: usize) -> bool {
        let Some(at) =
            self.free.iter().position(|&(start, room)| start <= offset && offset + bytes <= start + room)
        else {
            return false;
        };
        let (start, room) = self.free.remove(at);
        let parts = [(start, offset - start), (offset + bytes, start + room - offset - bytes)];
        for part in parts.into_iter().filter(|&(_, bytes)| bytes > 0).rev() {
            self.free.insert(at, part);
        }
        true
    }

    fn give(&mut self, offset: usize, bytes: usize) {
        let at = self.free.partition_point(|&(other, _)| other < offset);
        self.free.insert(at, (offset, bytes));
        for at in [at, at.wrapping_sub(1)] {
            if let (Some(&(a, length)), Some(&(b, more))) =
                (self.free.get(at), self.free.get(at.wrapping_add(1)))
                && a + length == b
            {
                self.free[at].1 += more;
                self.free.remove(at + 1);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.free == [(0, self.pages.bytes())]
    }
}

impl CodeMemory {
    /// An empty arena, without a mapping.
    pub fn new() -> Self {
        Self::default()
    }

    /// Copies position-independent code in and makes it executable.
    pub fn add(&self, code: &[u8]) -> Result<Code, Error> {
        self.add_all(&[code])?.pop().ok_or_else(|| Error::os("code memory", "no code"))
    }

    /// Adds several pieces of code at once, which is faster than one after another. Their memory is freed when all of
    /// them have been dropped.
    pub fn add_all(&self, codes: &[&[u8]]) -> Result<Vec<Code>, Error> {
        if codes.is_empty() {
            return Ok(Vec::new());
        }
        let bytes: usize = codes.iter().map(|code| code.len().next_multiple_of(ALIGN)).sum();
        let room = bytes.max(1).next_multiple_of(sys::page_bytes());
        let mut arena = self.inner.lock();
        // Pieces start at different offsets in their pages. Otherwise their first cache lines would compete for a few
        // sets of the host's cache.
        let lead = arena.added.wrapping_mul(LINES_BETWEEN) % ((room - bytes) / ALIGN + 1) * ALIGN;
        arena.added += 1;
        let found =
            arena.mappings.iter_mut().find_map(|mapping| mapping.take(room).map(|offset| (mapping, offset)));
        let (mapping, offset) = match found {
            Some(found) => found,
            None => {
                let mut mapping = match arena.mappings.len() {
                    // Several pieces at once are a whole program from the cache.
                    0 if codes.len() > 1 => CodeMapping::new(room, true)?,
                    count => CodeMapping::new(room.max(FIRST_MAPPING_BYTES << count.min(DOUBLINGS)), false)?,
                };
                let offset = mapping.take(room).unwrap_or(0);
                arena.mappings.push(mapping);
                (arena.mappings.last_mut().ok_or_else(|| Error::os("code memory", "no mapping"))?, offset)
            }
        };
        let first = match mapping.pages.fill(offset, room, lead, codes, ALIGN) {
            Ok(first) => first,
            Err(error) => {
                mapping.give(offset, room);
                return Err(error);
            }
        };
        // Up to the end of the last one.
        let last = codes.last().map_or(0, |last| last.len());
        let end = first as usize + bytes - last.next_multiple_of(ALIGN) + last;
        let range = first as usize..end.max(first as usize + 1);
        registry::insert(range.clone());
        let room =
            Arc::new(CodePages { start: first.wrapping_sub(lead), bytes: room, range, home: self.clone() });
        let mut start = first;
        let code = |code: &&[u8]| {
            let own = start;
            start = start.wrapping_add(code.len().next_multiple_of(ALIGN));
            Code { start: own, length: code.len(), _room: room.clone() }
        };
        Ok(codes.iter().map(code).collect())
    }

    /// Bytes that code occupies now.
    pub fn used_bytes(&self) -> usize {
        let arena = self.inner.lock();
        let free = |mapping: &CodeMapping| mapping.free.iter().map(|&(_, bytes)| bytes).sum::<usize>();
        arena.mappings.iter().map(|mapping| mapping.pages.bytes() - free(mapping)).sum()
    }
}

/// Distance in cache lines between the start offsets of consecutive pieces within their pages, as far as there is room.
/// Odd, so that all offsets are used, and larger than a small piece of code.
const LINES_BETWEEN: usize = 13;

/// A piece of executable code. Its memory is freed when it and all pieces that were added with it have been dropped.
/// Whoever enters it must keep it alive until it has returned.
#[derive(Debug)]
pub struct Code {
    start: *const u8,
    length: usize,
    /// Keeps its pages.
    _room: Arc<CodePages>,
}

/// Pages that hold code.
#[derive(Debug)]
struct CodePages {
    start: *const u8,
    bytes: usize,
    /// The address range that is registered.
    range: Range<usize>,
    home: CodeMemory,
}

// SAFETY: the pointer names memory that is the room's.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}
// SAFETY: the pointer names memory that only this value frees and nothing writes.
unsafe impl Send for CodePages {}
// SAFETY: as above.
unsafe impl Sync for CodePages {}

impl Code {
    /// The first instruction.
    pub fn start(&self) -> *const u8 {
        self.start
    }

    /// Bytes of code.
    pub fn len(&self) -> usize {
        self.length
    }

    /// The code.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: readable memory of this value's, which nobody writes while it lives.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    /// The offset of a host address in this code.
    pub fn offset_of(&self, pc: usize) -> Option<u32> {
        let offset = pc.checked_sub(self.start as usize)?;
        if offset < self.length { u32::try_from(offset).ok() } else { None }
    }
}

impl Drop for CodePages {
    fn drop(&mut self) {
        let mut arena = self.home.inner.lock();
        registry::remove(self.range.clone());
        let place = |(at, mapping): (usize, &CodeMapping)| Some((at, mapping.pages.offset_of(self.start)?));
        let Some((at, offset)) = arena.mappings.iter().enumerate().find_map(place) else { return };
        let mapping = &mut arena.mappings[at];
        mapping.give(offset, self.bytes);
        if mapping.is_empty() {
            arena.mappings.remove(at);
        } else if mapping.pages.clear(offset, self.bytes).is_err() {
            // Pages that cannot be made writable again are never reused.
            let taken = mapping.take_at(offset, self.bytes);
            debug_assert!(taken);
        }
    }
}
