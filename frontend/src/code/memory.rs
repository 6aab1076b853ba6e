//! Code that is read from guest memory while it is followed.

use super::map::{CodeMap, CodePiece, PositionRange};
use super::{CodeSource, LONGEST};
use crate::error::CodeError;
use std::collections::BTreeMap;

/// Bytes that are read at a time.
const PAGE: u64 = 4096;
/// Bytes of a range's positions, and as many between the beginnings of ranges.
const RANGE: u32 = 1 << 26;
/// Position of the entry.
pub(super) const ENTRY: u32 = RANGE / 2;
/// Positions at the end of a range that have no address of their own. Nothing is decoded there.
const GAP: u32 = 64;
/// Most ranges.
const MOST_RANGES: usize = 63;

/// A page as it was when it was first read. All that is lifted is from the same reading.
struct Page {
    bytes: Box<[u8; PAGE as usize]>,
    count: usize,
}

/// Guest memory that a program is read from.
pub(super) struct InMemory {
    pages: BTreeMap<u64, Page>,
    ranges: Vec<PositionRange>,
    /// Whether there can be more ranges.
    grows: bool,
    /// What the program depends on: position and end.
    depends: BTreeMap<u32, u32>,
    /// Whether a position was asked for or run into that there is not.
    pub(super) spread: bool,
    /// Whether an address was asked for.
    pub(super) bound: bool,
}

impl InMemory {
    /// The entry is in the middle of the first range, so that its position is the same whatever its address.
    pub(super) fn scattered(entry: u64) -> Self {
        let half = u64::from(RANGE / 2);
        InMemory { grows: true, ..InMemory::within(entry.wrapping_sub(half), RANGE - GAP) }
    }

    pub(super) fn segment(address: u64) -> Self {
        InMemory::within(address, u32::MAX - GAP)
    }

    fn within(address: u64, bytes: u32) -> Self {
        InMemory {
            pages: BTreeMap::new(),
            ranges: vec![PositionRange { position: 0, address, bytes }],
            grows: false,
            depends: BTreeMap::new(),
            spread: false,
            bound: false,
        }
    }

    pub(super) fn ranges(&self) -> &[PositionRange] {
        &self.ranges
    }

    fn range(&self, position: u32) -> PositionRange {
        let behind = self.ranges.partition_point(|range| range.position <= position);
        self.ranges[behind.max(1) - 1]
    }

    pub(super) fn address(&self, position: u32) -> u64 {
        let range = self.range(position);
        range.address.wrapping_add(u64::from(position - range.position))
    }

    /// Copies bytes of one range; returns how many there are.
    pub(super) fn read(&mut self, source: &dyn CodeSource, position: u32, out: &mut [u8]) -> usize {
        let range = self.range(position);
        let offset = position - range.position;
        let Some(rest) = range.bytes.checked_sub(offset).filter(|&rest| rest >= LONGEST as u32) else {
            // Execution has run out of the range.
            self.spread = true;
            return 0;
        };
        let wanted = out.len().min(rest as usize);
        self.fetch(source, range.address.wrapping_add(offset.into()), &mut out[..wanted])
    }

    fn fetch(&mut self, source: &dyn CodeSource, address: u64, out: &mut [u8]) -> usize {
        let mut done = 0;
        while done < out.len() {
            let Some(at) = address.checked_add(done as u64) else { break };
            let (start, offset) = (at & !(PAGE - 1), (at % PAGE) as usize);
            let page = self.pages.entry(start).or_insert_with(|| {
                let mut bytes = Box::new([0; PAGE as usize]);
                let count = source.read(start, &mut bytes[..]).min(PAGE as usize);
                Page { bytes, count }
            });
            if page.count <= offset && page.count < PAGE as usize {
                // Memory may go on behind a gap in the page: what stands there is filled in, and the gap is never looked at.
                let count = source.read(at, &mut page.bytes[offset..]).min(PAGE as usize - offset);
                if count == 0 {
                    break;
                }
                let count = count.min(out.len() - done);
                out[done..done + count].copy_from_slice(&page.bytes[offset..offset + count]);
                done += count;
                continue;
            }
            let count = (page.count - offset).min(out.len() - done);
            out[done..done + count].copy_from_slice(&page.bytes[offset..offset + count]);
            done += count;
        }
        done
    }

    pub(super) fn depend(&mut self, position: u32, bytes: usize) {
        let end = position.saturating_add(bytes as u32);
        let known = self.depends.entry(position).or_insert(end);
        *known = end.max(*known);
    }

    fn find(&self, address: u64) -> Option<u32> {
        self.ranges.iter().find_map(|range| {
            let offset = address.wrapping_sub(range.address);
            (offset < range.bytes.into()).then(|| range.position + offset as u32)
        })
    }

    /// The position of an address, in a new range if it is in none.
    pub(super) fn lead(&mut self, address: u64) -> Option<u32> {
        if let Some(position) = self.find(address) {
            return Some(position);
        }
        if !self.grows {
            return None;
        }
        if self.ranges.len() == MOST_RANGES {
            self.spread = true;
            return None;
        }
        let half = u64::from(RANGE / 2);
        // As far as no other range reaches, on either side.
        let (mut before, mut behind) = (half, half - u64::from(GAP));
        for range in &self.ranges {
            let end = range.address.wrapping_add(range.bytes.into());
            before = before.min(address.wrapping_sub(end));
            behind = behind.min(range.address.wrapping_sub(address));
        }
        let position = self.ranges.len() as u32 * RANGE;
        let range = PositionRange {
            position,
            address: address.wrapping_sub(before),
            bytes: (before + behind) as u32,
        };
        self.ranges.push(range);
        Some(position + before as u32)
    }

    pub(super) fn branch(&mut self, position: u32, target: u64) -> Option<u32> {
        let range = self.range(position);
        let offset = target.wrapping_sub(range.position.into());
        if offset < range.bytes.into() {
            return Some(target as u32);
        }
        self.bound = true;
        self.lead(range.address.wrapping_add(offset))
    }

    pub(super) fn known(&mut self, source: &dyn CodeSource, address: u64) -> Option<u32> {
        let position = self.find(address)?;
        (self.fetch(source, address, &mut [0; 4]) == 4).then_some(position)
    }

    pub(super) fn into_map(mut self, source: &dyn CodeSource) -> Result<CodeMap, CodeError> {
        if self.spread {
            return Err(CodeError::CodeRanges { limit: MOST_RANGES });
        }
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (&start, &end) in &self.depends {
            match runs.last_mut() {
                Some(last) if start <= last.1 && self.range(start) == self.range(last.0) => {
                    last.1 = last.1.max(end);
                }
                _ => runs.push((start, end)),
            }
        }
        let mut pieces = Vec::new();
        for (position, end) in runs {
            let wanted = (end - position) as usize;
            let address = self.address(position);
            let mut bytes = vec![0; wanted];
            let count = self.fetch(source, address, &mut bytes);
            bytes.truncate(count);
            pieces.push(CodePiece { position, address, bytes, wanted });
        }
        Ok(CodeMap::of_memory(pieces, self.ranges, self.bound))
    }
}
