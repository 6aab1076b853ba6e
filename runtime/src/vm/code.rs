//! Memory for compiled code.
//!
//! A segment is one piece of shared memory mapped twice: where code is written and where it runs. So no address
//! is ever writable and executable, and code can be added while other threads run in the segment.
//! Segments are cut into blocks of [`ALIGN`] bytes, first fit; a freed block is filled with trapping
//! bytes first.

use super::{registry, sys};
use crate::Error;
use std::sync::{Arc, Mutex, PoisonError};

/// Alignment of a piece of code: a cache line.
const ALIGN: usize = 64;
/// Size of the first segment unless a piece of code needs more: small, since all of it is filled with traps, which takes a
/// good part of the time in which a program with little code can start. Each further one is twice as large.
const FIRST_SEGMENT_BYTES: usize = 64 << 10;
/// How often segments double.
const DOUBLINGS: usize = 4;

/// An arena for compiled code. Cloning shares it.
#[derive(Debug, Clone, Default)]
pub struct CodeMemory {
    segments: Arc<Mutex<Vec<Segment>>>,
}

#[derive(Debug)]
struct Segment {
    views: sys::Views,
    /// Free ranges (offset, bytes), sorted, no two adjacent.
    free: Vec<(usize, usize)>,
}

impl Segment {
    fn new(bytes: usize) -> Result<Self, Error> {
        let views = sys::Views::new(bytes)?;
        Ok(Segment { free: vec![(0, views.bytes())], views })
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
        self.free == [(0, self.views.bytes())]
    }
}

impl CodeMemory {
    /// An empty arena; memory is taken as code comes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes memory for pieces of code of these lengths at once, if there is none yet.
    pub fn reserve(&self, lengths: impl Iterator<Item = usize>) -> Result<(), Error> {
        let bytes = lengths.map(|length| length.max(1).next_multiple_of(ALIGN)).sum();
        let mut segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        if segments.is_empty() && bytes > 0 {
            segments.push(Segment::new(bytes)?);
        }
        Ok(())
    }

    /// Copies position-independent code in and makes it executable.
    pub fn add(&self, code: &[u8]) -> Result<Code, Error> {
        let bytes = code.len().max(1).next_multiple_of(ALIGN);
        let mut segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        let found =
            segments.iter_mut().find_map(|segment| segment.take(bytes).map(|offset| (segment, offset)));
        let (segment, offset) = match found {
            Some(found) => found,
            None => {
                let usual = FIRST_SEGMENT_BYTES << segments.len().min(DOUBLINGS);
                let mut segment = Segment::new(bytes.max(usual))?;
                let offset = segment.take(bytes).unwrap_or(0);
                segments.push(segment);
                (segments.last_mut().ok_or_else(|| Error::os("code memory", "no segment"))?, offset)
            }
        };
        segment.views.write(offset, code, bytes);
        let start = segment.views.executable(offset);
        registry::insert(start as usize, start as usize + bytes);
        Ok(Code { start, bytes, length: code.len(), home: self.clone() })
    }

    /// Bytes that code occupies now.
    pub fn used_bytes(&self) -> usize {
        let segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        let free = |segment: &Segment| segment.free.iter().map(|&(_, bytes)| bytes).sum::<usize>();
        segments.iter().map(|segment| segment.views.bytes() - free(segment)).sum()
    }
}

/// A piece of executable code; its memory is free again when it is dropped.
/// Whoever enters it must keep it alive until it has returned.
#[derive(Debug)]
pub struct Code {
    start: *const u8,
    bytes: usize,
    length: usize,
    home: CodeMemory,
}

// SAFETY: the pointer names memory that only this value frees and nobody writes.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

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

    /// Whether there is no code at all.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The offset of a host address in this code.
    pub fn offset_of(&self, pc: usize) -> Option<u32> {
        let offset = pc.checked_sub(self.start as usize)?;
        if offset < self.length { u32::try_from(offset).ok() } else { None }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        registry::remove(self.start as usize);
        let mut segments = self.home.segments.lock().unwrap_or_else(PoisonError::into_inner);
        let home = segments.iter_mut().position(|segment| segment.views.offset_of(self.start).is_some());
        if let Some(at) = home
            && let Some(offset) = segments[at].views.offset_of(self.start)
        {
            segments[at].views.write(offset, &[], self.bytes);
            segments[at].give(offset, self.bytes);
            if segments[at].is_empty() {
                segments.remove(at);
            }
        }
    }
}
