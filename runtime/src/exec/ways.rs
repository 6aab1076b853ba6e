//! Chooses how a kernel's blocks run: lanes in vectors, or one lane after another in scalar code, or whole warps in vectors. All
//! give the same results.
//!
//! Vectors of few lanes are faster while lanes stay convergent, scalar code when they diverge for good. Whole warps are faster
//! with many cross-lane operations, because these end the regions of the other two. What is faster depends on the data, so it is
//! measured. A kernel starts with vectors. Once it has run for some time, a few blocks are timed each way, and the fastest way
//! continues. The measurement is repeated now and then, less often each time it confirms the choice. Whole warps take
//! part from the second one on, since their code takes long to compile. Time is the processor time of the thread that runs the
//! block, so that other work on the machine does not decide.

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
    /// All lanes of a warp together, in many vectors.
    Warps,
}

impl Way {
    /// All of them, in the order in which they are measured.
    const ALL: [Way; 3] = [Way::Vectors, Way::Lanes, Way::Warps];

    /// How many there are besides `Vectors`.
    pub const OTHERS: usize = 2;

    /// Its number among those besides `Vectors`, if it is one.
    pub fn other(self) -> Option<usize> {
        (self as usize).checked_sub(1)
    }

    /// The way with that number among those besides `Vectors`.
    pub fn of_other(number: usize) -> Way {
        Way::of(number as u8 + 1)
    }

    fn of(number: u8) -> Way {
        Way::ALL[usize::from(number & WAY).min(2)]
    }
}

/// Each way is timed for at least this long and at least this many blocks.
const SAMPLE: Duration = Duration::from_micros(1500);
const FEW_BLOCKS: u64 = 4;

/// One block that takes at least this long is enough.
const LONG_BLOCK: Duration = Duration::from_millis(20);

/// Another way is chosen if it takes less than this percentage of the vectors' time.
const WORTH_IT: u32 = 95;

/// Timing a way ends early if it takes this many times as long as vectors.
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
    /// By way.
    samples: [Sample; Way::ALL.len()],
    /// Ways without code, by way.
    missing: [bool; Way::ALL.len()],
    /// The result of the last measurement.
    found: Way,
    /// Length of the pause after the next measurement, as a multiple of the blocks timed; 0 before the first.
    pause: u64,
}

impl State {
    /// The way to measure behind that one, if there is another.
    fn behind(&self, way: Way) -> Option<Way> {
        let may = |&way: &Way| !self.missing[way as usize] && (way != Way::Warps || self.pause > 0);
        Way::ALL.into_iter().skip(way as usize + 1).find(may)
    }
}

/// The current activity: the number of a way in the lowest bits, and what is done with it.
const WAY: u8 = 3;
const MEASURE: u8 = 4;
const WARM_UP: u8 = 8;

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
        Way::of(self.now.load(Ordering::Relaxed))
    }

    /// Whether blocks are to be timed.
    #[inline]
    pub fn is_measuring(&self) -> bool {
        self.now.load(Ordering::Relaxed) > WAY
    }

    /// Records that there is no code for that way, which is not `Vectors`.
    pub fn give_up(&self, way: Way) {
        let mut state = self.state.lock();
        state.missing[way as usize] = true;
        state.samples[way as usize] = Sample::default();
        let now = self.now.load(Ordering::Relaxed);
        if state.missing[1..].iter().all(|&missing| missing) {
            self.left.store(u64::MAX, Ordering::Relaxed);
            self.now.store(Way::Vectors as u8, Ordering::Relaxed);
        } else if Way::of(now) != way {
            // Another thread has gone on already.
        } else if now & MEASURE != 0 {
            self.go_on_behind(&mut state, way);
        } else {
            self.now.store(Way::Vectors as u8, Ordering::Relaxed);
        }
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
            state.samples = Default::default();
            self.now.store(MEASURE, Ordering::Relaxed);
        }
    }

    /// Records the time that blocks have taken; with 0 blocks, the time of a part of one.
    pub fn took(&self, way: Way, blocks: u64, time: Duration) {
        let mut state = self.state.lock();
        let now = self.now.load(Ordering::Relaxed);
        if Way::of(now) != way {
            return;
        }
        if now & WARM_UP != 0 {
            state.before += time;
            if state.before >= self.patience {
                self.now.store(MEASURE, Ordering::Relaxed);
            }
        } else if now & MEASURE != 0 {
            let vectors = state.samples[0];
            let sample = &mut state.samples[way as usize];
            sample.add(blocks, time);
            let hopeless = way != Way::Vectors
                && sample.time > LONG_BLOCK / 4
                && !sample.takes_less(vectors, 100 * HOPELESS);
            if sample.is_enough() || hopeless {
                self.go_on_behind(&mut state, way);
            }
        }
    }

    /// Measures the next way, or decides if that one was the last.
    fn go_on_behind(&self, state: &mut State, way: Way) {
        match state.behind(way) {
            Some(next) => self.now.store(MEASURE | next as u8, Ordering::Relaxed),
            None => self.decide(state),
        }
    }

    fn decide(&self, state: &mut State) {
        let samples = state.samples;
        let mut found = Way::Vectors;
        for way in [Way::Lanes, Way::Warps] {
            let sample = samples[way as usize];
            let percent = if found == Way::Vectors { WORTH_IT } else { 100 };
            if sample.blocks > 0 && sample.takes_less(samples[found as usize], percent) {
                found = way;
            }
        }
        state.pause = match state.pause {
            0 => FIRST_PAUSE,
            pause if found == state.found => (2 * pause).min(LONGEST_PAUSE),
            _ => FIRST_PAUSE,
        };
        state.found = found;
        let blocks = samples.iter().map(|sample| sample.blocks).sum::<u64>().max(1);
        self.left.store(blocks.saturating_mul(state.pause), Ordering::Relaxed);
        self.now.store(found as u8, Ordering::Relaxed);
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
            if choice.is_measuring() {
                assert_eq!(choice.way(), Way::Warps);
                choice.give_up(Way::Warps);
            }
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
        choice.took(Way::Vectors, 100, 2 * MILLI);
        choice.give_up(Way::Lanes);
        choice.give_up(Way::Warps);
        choice.ran(u64::MAX);
        choice.took(Way::Vectors, 100, 2 * MILLI);
        assert_eq!((choice.way(), choice.is_measuring()), (Way::Vectors, false));
    }

    #[test]
    fn whole_warps_take_part_from_the_second_measurement_on() {
        for (lanes, warps, wanted) in [(1, 2, Way::Lanes), (3, 2, Way::Warps), (9, 8, Way::Vectors)] {
            let choice = measuring();
            choice.took(Way::Vectors, 4, 4 * MILLI);
            choice.took(Way::Lanes, 4, 20 * MILLI);
            assert_eq!((choice.way(), choice.is_measuring()), (Way::Vectors, false));
            choice.ran(u64::from(u32::MAX));
            choice.took(Way::Vectors, 4, 4 * MILLI * 2);
            assert_eq!(choice.way(), Way::Lanes);
            choice.took(Way::Lanes, 4, lanes * 2 * MILLI);
            assert_eq!((choice.way(), choice.is_measuring()), (Way::Warps, true));
            choice.took(Way::Warps, 4, warps * 2 * MILLI);
            assert_eq!((choice.way(), choice.is_measuring()), (wanted, false), "{lanes} and {warps}");
        }
    }

    #[test]
    fn a_way_that_loses_its_code_is_left() {
        let choice = measuring();
        choice.took(Way::Vectors, 4, 20 * MILLI);
        choice.took(Way::Lanes, 4, 4 * MILLI);
        assert_eq!(choice.way(), Way::Lanes);
        choice.give_up(Way::Lanes);
        assert_eq!((choice.way(), choice.is_measuring()), (Way::Vectors, false));
        choice.ran(u64::from(u32::MAX));
        choice.took(Way::Vectors, 4, 20 * MILLI);
        assert_eq!((choice.way(), choice.is_measuring()), (Way::Warps, true));
    }
}
