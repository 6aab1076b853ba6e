//! The state of a launch between regions: what is saved of it, and what it goes on from.

use super::block::BlockState;
use std::ops::Range;

/// The state of a launch between regions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchState {
    /// The blocks that have started and not ended. Those that have waited longest come first.
    pub blocks: Vec<BlockState>,
    /// The indices of those that have not started, in order.
    pub unstarted: Vec<Range<u64>>,
    /// Words of global memory that are locked.
    pub locks: Vec<u64>,
    /// Contents of the segments that the launch provides for all blocks.
    pub segments: Vec<u8>,
}

impl LaunchState {
    /// Blocks that have not ended.
    pub fn blocks_left(&self) -> u64 {
        let unstarted = self.unstarted.iter().map(|range| range.end.saturating_sub(range.start));
        unstarted.fold(self.blocks.len() as u64, u64::saturating_add)
    }

    /// The number of parts of segments that the blocks need at least.
    pub fn parts(&self) -> u32 {
        self.blocks
            .iter()
            .filter_map(|block| block.part)
            .map(|part| part.saturating_add(1))
            .max()
            .unwrap_or(0)
    }

    /// Whether each block of the launch is here at most once, and no others.
    pub(super) fn is_sound(&self, all: &Range<u64>) -> bool {
        let mut ranges = self.unstarted.clone();
        ranges.extend(self.blocks.iter().map(|block| block.index..block.index.saturating_add(1)));
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.iter().all(|range| all.start <= range.start && range.start < range.end && range.end <= all.end)
            && ranges.windows(2).all(|pair| pair[0].end <= pair[1].start)
            && self.unstarted.is_sorted_by_key(|range| range.start)
    }
}
