//! The batch of blocks that a thread has claimed from a launch and not started yet.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Most blocks in a thread's first batch.
const MOST_AT_FIRST: u64 = 64;
/// Most blocks in any batch.
const MOST: u64 = 4096;
/// If a batch lasts for less than this, the next one is larger. Consecutive blocks mostly access consecutive memory,
/// which the host has then prefetched into the thread's caches.
const SHORT: Duration = Duration::from_micros(50);

/// A batch of consecutive blocks that only one thread runs.
#[derive(Debug)]
pub struct BlockBatch {
    /// The blocks left.
    pub blocks: Range<u64>,
    most: u64,
    taken: Option<Instant>,
}

impl BlockBatch {
    /// An empty batch.
    pub fn new() -> Self {
        BlockBatch { blocks: 0..0, most: MOST_AT_FIRST, taken: None }
    }

    /// Claims blocks if the batch is empty. `next` is the first unclaimed block, shared by `threads` threads; `end` is
    /// the end of the launch.
    pub fn fill(&mut self, next: &AtomicU64, end: u64, threads: usize) {
        if !self.blocks.is_empty() {
            return;
        }
        let now = Instant::now();
        if self.taken.replace(now).is_some_and(|taken| now - taken < SHORT) {
            self.most = (2 * self.most).min(MOST);
        }
        let left = end.saturating_sub(next.load(Ordering::Relaxed));
        // Large batches while much is left, single blocks towards the end.
        let share = (left / (threads as u64 * 8)).clamp(1, self.most);
        self.take(next, end, share);
    }

    /// Claims a single block, so that blocks start in the order of their indices.
    pub fn take_one(&mut self, next: &AtomicU64, end: u64) {
        self.take(next, end, 1);
    }

    fn take(&mut self, next: &AtomicU64, end: u64, count: u64) {
        // Do not go beyond the end, which may be the largest `u64`.
        let taken = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |start| {
            (start < end).then(|| start.saturating_add(count).min(end))
        });
        let start = taken.unwrap_or(end);
        self.blocks = start..start.saturating_add(count).min(end);
    }
}
