//! What a program consists of: its pieces of code, and which guest addresses its positions are.

use super::CodeSource;
use std::ops::Range;

/// A run of code that a program depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePiece {
    /// Position of its first byte.
    pub position: u32,
    /// Guest address of its first byte.
    pub address: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many bytes were asked for: more than there are if memory ended.
    pub wanted: usize,
}

impl CodePiece {
    /// Whether the same bytes are there, `shift` bytes behind where they were read, and as many.
    fn is_at(&self, source: &dyn CodeSource, shift: u64) -> bool {
        let mut address = self.address.wrapping_add(shift);
        let mut buffer = [0; 256];
        let mut left = self.wanted;
        let mut known = self.bytes.as_slice();
        while left > 0 {
            let wanted = left.min(buffer.len());
            let count = source.read(address, &mut buffer[..wanted]).min(wanted);
            let expected = wanted.min(known.len());
            if count != expected || buffer[..count] != known[..expected] {
                return false;
            }
            if count < wanted {
                break;
            }
            (left, known, address) = (left - count, &known[count..], address.wrapping_add(count as u64));
        }
        true
    }
}

/// A range of positions and the guest addresses that they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PositionRange {
    pub(super) position: u32,
    pub(super) address: u64,
    pub(super) bytes: u32,
}

/// A program's code: turns the 32-bit positions of the IR into guest addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeMap {
    /// By position.
    pieces: Vec<CodePiece>,
    /// By position; what is before or behind one continues it.
    ranges: Vec<PositionRange>,
    /// Whether it was read from guest memory.
    in_memory: bool,
    /// Whether what was lifted holds addresses, so that it is good for the place only where it was read.
    bound: bool,
}

impl CodeMap {
    /// A file's bytes, the first of which is at guest address `base`; positions are addresses.
    pub fn of_file(bytes: &[u8], base: u32) -> Self {
        let (address, wanted) = (base.into(), bytes.len());
        CodeMap {
            pieces: vec![CodePiece { position: base, address, bytes: bytes.to_vec(), wanted }],
            ranges: vec![PositionRange { position: 0, address: 0, bytes: u32::MAX }],
            in_memory: false,
            bound: false,
        }
    }

    pub(super) fn of_memory(pieces: Vec<CodePiece>, ranges: Vec<PositionRange>, bound: bool) -> Self {
        CodeMap { pieces, ranges, in_memory: true, bound }
    }

    /// The guest address of a position.
    pub fn address_of(&self, position: u32) -> u64 {
        let behind = self.ranges.partition_point(|range| range.position <= position);
        let range = self.ranges.get(behind.saturating_sub(1));
        range.map_or(position.into(), |w| w.address.wrapping_add(u64::from(position - w.position)))
    }

    /// The code by pieces, in the order of their positions. Of code in a file it is one.
    pub fn pieces(&self) -> &[CodePiece] {
        &self.pieces
    }

    /// The bytes from a position to the end of its piece; none if they are not code.
    pub fn bytes_at(&self, position: u32) -> &[u8] {
        let behind = self.pieces.partition_point(|piece| piece.position <= position);
        let piece = behind.checked_sub(1).map(|at| &self.pieces[at]);
        piece.and_then(|piece| piece.bytes.get((position - piece.position) as usize..)).unwrap_or(&[])
    }

    /// The bytes of a file, and the address of the first.
    pub fn file(&self) -> Option<(&[u8], u32)> {
        let piece = self.pieces.first().filter(|_| !self.in_memory)?;
        Some((&piece.bytes, piece.position))
    }

    /// The guest addresses that were read, in order. Empty if the code is not from guest memory.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        let pieces = self.pieces.iter().filter(|_| self.in_memory);
        let mut ranges: Vec<_> =
            pieces.map(|piece| piece.address..piece.address.wrapping_add(piece.wanted as u64)).collect();
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    /// Whether it holds no guest address, so that the same code `shift` bytes further on is the same program.
    pub fn is_movable(&self) -> bool {
        self.in_memory && !self.bound
    }

    /// Whether guest memory holds the same bytes now, `shift` bytes behind where they were read. True of code that is not from guest
    /// memory.
    pub fn is_current(&self, source: &dyn CodeSource, shift: u64) -> bool {
        !self.in_memory || self.pieces.iter().all(|piece| piece.is_at(source, shift))
    }

    /// Whether another program consists of the same code, `shift` bytes further on.
    pub fn is_same(&self, other: &CodeMap, shift: u64) -> bool {
        let same = |(own, other): (&CodePiece, &CodePiece)| {
            own.address.wrapping_add(shift) == other.address
                && (own.wanted, &own.bytes) == (other.wanted, &other.bytes)
        };
        self.in_memory
            && other.in_memory
            && self.pieces.len() == other.pieces.len()
            && self.pieces.iter().zip(&other.pieces).all(same)
    }

    /// Bytes of host memory that it takes.
    pub fn bytes_used(&self) -> usize {
        let pieces = self.pieces.iter().map(|piece| size_of::<CodePiece>() + piece.bytes.len());
        pieces.sum::<usize>() + self.ranges.len() * size_of::<PositionRange>()
    }
}
