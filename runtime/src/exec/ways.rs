//! Chooses how a kernel's blocks run: lanes in vectors, or one lane after another in scalar code. Both give the same results.
//!
//! Vectors are faster while lanes stay convergent, scalar code when they diverge for good. That depends on the data, so it is
//! measured. A kernel starts with vectors. Once it has run for some time, a few blocks are timed each way, and the faster way
//! continues. The measurement is repeated now and then, less often each time it confirms the choice.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use crate::fork::Mutex;

/// A way to run blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Way {
    /// Lanes in vectors.
    #[default]
    Vectors,
    /// One lane after another.
    Lanes,
}

/// Each way is timed for at least this long and at least this many blocks.
const SAMPLE: Duration = Duration::from_micros(1500);
const FEW_BLOCKS: u64 = 4;

/// One block that takes at least this long is enough.
const LONG_BLOCK: Duration = Duration::from_millis(20);

/// Lane by lane is chosen if it takes less than this percentage of the vectors' time.
const WORTH_IT: u32 = 95;

/// Timing a way ends early if it takes this many times as long as the other.
const HOPELESS: u32 = 4;

/// Pause between two measurements, as a multiple of the blocks that were timed: the first pause and the longest.
const FIRST_PAUSE: u64 = 64;
const LONGEST_PAUSE: u64 = 4096;

/// Blocks timed one way.
#[derive(Clone, Copy, Default, Debug)]
struct Sample {
    blocks: u64,
    time: Duration,
}

impl Sample {
    fn add(&mut self, blocks: u64, time: Duration) {
        self.blocks += blocks;
        self.time += time;
    }

    fn is_enough(self) -> bool {
        self.blocks >= FEW_BLOCKS && self.time >= SAMPLE || self.blocks > 0 && self.time >= LONG_BLOCK
    }

    /// Whether its blocks take less than `percent` of another's.
    fn takes_less(self, other: Sample, percent: u32) -> bool {
        let of = |time: Duration, blocks: u64| time.as_nanos() * u128::from(blocks);
        of(self.time, other.blocks) * 100 < of(other.time, self.blocks) * u128::from(percent)
    }
}

#[derive(Debug, Default)]
struct State {
    /// Time spent with vectors before the first measurement.
    before: Duration,
    vectors: Sample,
    lanes: Sample,
    /// The result of the last measurement.
    found: Way,
    /// Length of the pause after the next measurement, as a multiple of the blocks timed.
    pause: u64,
}

/// The current activity.
const RUN_VECTORS: u8 = 0;
const RUN_LANES: u8 = 1;
const MEASURE_VECTORS: u8 = 2;
const MEASURE_LANES: u8 = 3;
const WARM_UP: u8 = 4;

/// The choice for a kernel, shared by all threads and launches.
#[derive(Debug)]
pub struct Choice {
    now: AtomicU8,
    /// Blocks to run before the next measurement.
    left: AtomicU64,
    state: Mutex<State>,
    /// How long the kernel runs with vectors before the first measurement.
    patience: Duration,
}

impl Choice {
    /// A choice without measurements; the first one comes after `patience`.
    pub fn new(patience: Duration) -> Choice {
        Choice { now: AtomicU8::new(WARM_UP), left: AtomicU64::new(0), state: Mutex::default(), patience }
    }

    /// The way to run the next block.
    #[inline]
    pub fn way(&self) -> Way {
        match self.now.load(Ordering::Relaxed) {
            RUN_LANES | MEASURE_LANES => Way::Lanes,
            _ => Way::Vectors,
        }
    }

    /// Whether blocks are to be timed.
    #[inline]
    pub fn is_measuring(&self) -> bool {
        self.now.load(Ordering::Relaxed) >= MEASURE_VECTORS
    }

    /// Records that there is no code for the other way.
    pub fn give_up(&self) {
        self.left.store(u64::MAX, Ordering::Relaxed);
        self.now.store(RUN_VECTORS, Ordering::Relaxed);
    }

    /// Records blocks that have run without being timed.
    #[inline]
    pub fn ran(&self, blocks: u64) {
        let left = self.left.load(Ordering::Relaxed);
        if left == u64::MAX || self.is_measuring() {
            return;
        }
        // Threads may overwrite each other's count, which is only a hint.
        self.left.store(left.saturating_sub(blocks), Ordering::Relaxed);
        if left <= blocks {
            let mut state = self.state.lock();
            (state.vectors, state.lanes) = (Sample::default(), Sample::default());
            self.now.store(MEASURE_VECTORS, Ordering::Relaxed);
        }
    }

    /// Records the time that blocks have taken; with 0 blocks, the time of a part of one.
    pub fn took(&self, way: Way, blocks: u64, time: Duration) {
        let mut state = self.state.lock();
        match (self.now.load(Ordering::Relaxed), way) {
            (WARM_UP, Way::Vectors) => {
                state.before += time;
                if state.before >= self.patience {
                    self.now.store(MEASURE_VECTORS, Ordering::Relaxed);
                }
            }
            (MEASURE_VECTORS, Way::Vectors) => {
                state.vectors.add(blocks, time);
                if state.vectors.is_enough() {
                    self.now.store(MEASURE_LANES, Ordering::Relaxed);
                }
            }
            (MEASURE_LANES, Way::Lanes) => {
                state.lanes.add(blocks, time);
                let State { vectors, lanes, .. } = *state;
                let hopeless = lanes.time > LONG_BLOCK / 4 && !lanes.takes_less(vectors, 100 * HOPELESS);
                if lanes.is_enough() || hopeless {
                    self.decide(&mut state);
                }
            }
            _ => {}
        }
    }

    fn decide(&self, state: &mut State) {
        let State { vectors, lanes, .. } = *state;
        let better = lanes.blocks > 0 && lanes.takes_less(vectors, WORTH_IT);
        let found = if better { Way::Lanes } else { Way::Vectors };
        state.pause = match state.pause {
            0 => FIRST_PAUSE,
            pause if found == state.found => (2 * pause).min(LONGEST_PAUSE),
            _ => FIRST_PAUSE,
        };
        state.found = found;
        let blocks = (vectors.blocks + lanes.blocks).max(1);
        self.left.store(blocks.saturating_mul(state.pause), Ordering::Relaxed);
        self.now.store(if better { RUN_LANES } else { RUN_VECTORS }, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    /// A choice whose warm-up is over.
    fn measuring() -> Choice {
        let choice = Choice::new(2 * MILLI);
        assert_eq!((choice.way(), choice.is_measuring()), (Way::Vectors, true));
        choice.took(Way::Vectors, 1, 3 * MILLI);
        assert_eq!(choice.way(), Way::Vectors);
        choice
    }

    #[test]
    fn the_quicker_way_goes_on() {
        for (vectors, lanes, wanted) in
            [(4, 1, Way::Lanes), (1, 4, Way::Vectors), (100, 97, Way::Vectors), (100, 90, Way::Lanes)]
        {
            let choice = measuring();
            choice.took(Way::Vectors, 8, 2 * vectors * MILLI);
            assert_eq!(choice.way(), Way::Lanes);
            // Another thread's block of before.
            choice.took(Way::Vectors, 1, 1000 * MILLI);
            choice.took(Way::Lanes, 8, 2 * lanes * MILLI);
            if choice.is_measuring() {
                choice.took(Way::Lanes, 8, 2 * lanes * MILLI);
            }
            assert_eq!((choice.way(), choice.is_measuring()), (wanted, false), "{vectors} and {lanes}");
        }
    }

    #[test]
    fn it_is_measured_again_and_less_often() {
        let choice = measuring();
        let mut pauses = Vec::new();
        for _ in 0..3 {
            choice.took(Way::Vectors, 4, 2 * MILLI);
            choice.took(Way::Lanes, 4, 20 * MILLI);
            assert!(!choice.is_measuring());
            let mut pause = 0;
            while !choice.is_measuring() {
                choice.ran(1);
                pause += 1;
            }
            pauses.push(pause);
        }
        assert_eq!(pauses, [8 * 64, 8 * 128, 8 * 256]);
        // The data has changed.
        choice.took(Way::Vectors, 4, 20 * MILLI);
        choice.took(Way::Lanes, 4, 2 * MILLI);
        assert_eq!(choice.way(), Way::Lanes);
    }

    #[test]
    fn a_hopeless_way_ends_early_and_one_without_code_is_never_tried() {
        let choice = measuring();
        choice.took(Way::Vectors, 100, 2 * MILLI);
        // Not even one block has ended.
        choice.took(Way::Lanes, 0, 6 * MILLI);
        assert_eq!((choice.way(), choice.is_measuring()), (Way::Vectors, false));
        let choice = measuring();
        choice.give_up();
        choice.ran(u64::MAX);
        choice.took(Way::Vectors, 100, 2 * MILLI);
        assert_eq!((choice.way(), choice.is_measuring()), (Way::Vectors, false));
    }
}
