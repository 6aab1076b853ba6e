//! The blocks that a thread has taken of a launch and not started yet.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Most blocks that a thread takes at first.
const MOST_AT_FIRST: u64 = 64;
/// Most blocks that it takes where they are done in no time.
const MOST: u64 = 4096;
/// Where a stock lasts shorter than this, the next one is larger: a thread that goes on where it was finds memory in its caches that the host
/// has fetched in advance (saxpy, blocks of 50 ns: 0.77 to 0.80 ms with stocks of 1024, 0.82 to 0.90 with those of 64; Fermi's 0.65 to 0.77 and 0.75 to 0.82: `table`).
const SHORT: Duration = Duration::from_micros(50);

/// Blocks for a thread alone, in the order of their indices.
#[derive(Debug)]
pub struct Stock {
    /// Those left.
    pub blocks: Range<u64>,
    most: u64,
    taken: Option<Instant>,
}

impl Stock {
    /// Nothing yet.
    pub fn new() -> Self {
        Stock { blocks: 0..0, most: MOST_AT_FIRST, taken: None }
    }

    /// Takes blocks that have not started yet, if there are none here: `next` is the first of them for all of so many threads, `end` that of the
    /// launch.
    pub fn fill(&mut self, next: &AtomicU64, end: u64, threads: usize) {
        if !self.blocks.is_empty() {
            return;
        }
        let now = Instant::now();
        if self.taken.replace(now).is_some_and(|taken| now - taken < SHORT) {
            self.most = (2 * self.most).min(MOST);
        }
        let left = end.saturating_sub(next.load(Ordering::Relaxed));
        // Large stocks while there is much to do, single blocks towards the end.
        let share = (left / (threads as u64 * 8)).clamp(1, self.most);
        self.take(next, end, share);
    }

    /// Takes the next block alone: blocks then start in the order of their indices.
    pub fn take_one(&mut self, next: &AtomicU64, end: u64) {
        self.take(next, end, 1);
    }

    fn take(&mut self, next: &AtomicU64, end: u64, count: u64) {
        // Not beyond the end, which may be the last number that there is.
        let taken = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |start| {
            (start < end).then(|| start.saturating_add(count).min(end))
        });
        let start = taken.unwrap_or(end);
        self.blocks = start..start.saturating_add(count).min(end);
    }
}
