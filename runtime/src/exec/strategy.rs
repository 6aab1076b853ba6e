//! Chooses the execution strategy of a kernel's blocks: a few lanes at once in vectors, one lane after another in scalar code, all lanes
//! of a warp at once, or fewer lanes at once in narrower vectors. All give the same results.
//!
//! In: the times that blocks have taken ([`Choice::took`]). Out: the strategy of the next block ([`Choice::strategy`]).
//!
//! Vectors of few lanes are faster while lanes stay convergent, scalar code when they diverge for good. Whole warps are faster
//! with many cross-lane operations, because these end the regions of the other two. Narrower vectors are faster where few lanes are
//! active, and their regions are joined to chains. What is faster depends on the data, so it is measured. A kernel starts with vectors. Once
//! it has run for some time, a few blocks are timed with each strategy, and the fastest continues. The measurement is repeated now and then,
//! less often each time it confirms the choice. Whole warps take part from the second one on and narrower vectors from the third, since
//! their code takes long to compile. They run for some time before they are timed first, so that their code has all that it will have. Time
//! is the processor time of the thread that runs the block, so that other work on the machine does not decide.
//!
//! What two measurements in a row have found is kept in the cache beside the kernel's code. A process that finds it there begins with that strategy ([`Choice::new`]) and
//! measures after the first pause as usual.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use crate::fork::Mutex;

/// How the lanes of a block's warps are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// A few lanes at once, in vectors.
    #[default]
    Vectors,
    /// One lane after another.
    Lanes,
    /// All lanes of a warp at once, in many vectors. On hosts whose vectors have 128 bits.
    Warps,
    /// A few lanes at once, in vectors of 128 bits. On hosts that have vectors of 512.
    Narrow,
}

impl Strategy {
    /// All of them, in the order in which they are measured.
    const ALL: [Strategy; 4] = [Strategy::Vectors, Strategy::Lanes, Strategy::Warps, Strategy::Narrow];

    /// How many there are besides `Vectors`.
    pub const OTHERS: usize = Strategy::ALL.len() - 1;

    /// Its number among those besides `Vectors`, if it is one.
    pub fn other(self) -> Option<usize> {
        (self as usize).checked_sub(1)
    }

    /// The strategy with that number among those besides `Vectors`.
    pub fn of_other(number: usize) -> Strategy {
        Strategy::of(number as u8 + 1)
    }

    /// The strategy with that number, as the cache has it: 0 is none.
    pub fn of_stored(number: u8) -> Option<Strategy> {
        Strategy::ALL.get(usize::from(number.checked_sub(1)?)).copied()
    }

    /// Its number in the cache.
    pub fn stored(self) -> u8 {
        self as u8 + 1
    }

    fn of(number: u8) -> Strategy {
        Strategy::ALL[usize::from(number & STRATEGY)]
    }

    /// How many measurements go by before it takes part.
    fn first_measurement(self) -> u32 {
        match self {
            Strategy::Vectors | Strategy::Lanes => 0,
            Strategy::Warps => 1,
            Strategy::Narrow => 2,
        }
    }
}

/// Each strategy is timed for at least this long and over at least this many blocks.
const SAMPLE: Duration = Duration::from_micros(1500);
const FEW_BLOCKS: u64 = 4;

/// How long a strategy that takes part later runs before it is timed first: what runs often is compiled better meanwhile, such as chains.
const SETTLING: Duration = Duration::from_millis(10);

/// One block that takes at least this long is enough.
const LONG_BLOCK: Duration = Duration::from_millis(20);

/// Another strategy is chosen if it takes less than this percentage of the vectors' time.
const WORTH_IT: u32 = 95;

/// Timing a strategy ends early if it takes this many times as long as vectors.
const HOPELESS: u32 = 4;

/// Pause between two measurements, as a multiple of the blocks that were timed: the first pause and the longest.
const FIRST_PAUSE: u64 = 64;
const LONGEST_PAUSE: u64 = 4096;

/// Blocks to run with a strategy from the cache before the first measurement.
const KNOWN_PAUSE: u64 = FIRST_PAUSE * FEW_BLOCKS * Strategy::ALL.len() as u64;

/// Blocks timed with one strategy.
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
    /// By strategy.
    samples: [Sample; Strategy::ALL.len()],
    /// How long each strategy has run to settle.
    settled: [Duration; Strategy::ALL.len()],
    /// Strategies without code.
    missing: [bool; Strategy::ALL.len()],
    /// Measurements that are over.
    measured: u32,
    /// The result of the last measurement.
    found: Strategy,
    /// Whether the one before it had the same, or an earlier process: a single one is often wrong by a tenth.
    sure: bool,
    /// Length of the pause after the next measurement, as a multiple of the blocks timed; 0 before the first.
    pause: u64,
}

impl State {
    /// The strategy to measure after that one, if there is another.
    fn behind(&self, strategy: Strategy) -> Option<Strategy> {
        let may = |&strategy: &Strategy| {
            !self.missing[strategy as usize] && strategy.first_measurement() <= self.measured
        };
        Strategy::ALL.into_iter().skip(strategy as usize + 1).find(may)
    }
}

/// The current activity: the number of a strategy in the lowest bits, and what is done with it.
const STRATEGY: u8 = 3;
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
    warm_up_time: Duration,
}

impl Choice {
    /// A choice without measurements; the first one comes after `warm_up_time`, or, if an earlier process has found the best strategy, after
    /// some blocks with this.
    pub fn new(warm_up_time: Duration, known: Option<Strategy>) -> Choice {
        let (now, left) = known.map_or((WARM_UP, 0), |found| (found as u8, KNOWN_PAUSE));
        let mut state = State::default();
        if let Some(found) = known {
            // All take part: none is new.
            (state.found, state.pause, state.measured) = (found, FIRST_PAUSE, Strategy::OTHERS as u32);
            state.sure = true;
        }
        Choice { now: AtomicU8::new(now), left: AtomicU64::new(left), state: Mutex::new(state), warm_up_time }
    }

    /// The strategy that was found to be the best, by the last two measurements or before this process.
    pub fn found(&self) -> Option<Strategy> {
        let state = self.state.lock();
        state.sure.then_some(state.found)
    }

    /// The strategy of the next block.
    #[inline]
    pub fn strategy(&self) -> Strategy {
        Strategy::of(self.now.load(Ordering::Relaxed))
    }

    /// Whether blocks are to be timed.
    #[inline]
    pub fn is_measuring(&self) -> bool {
        self.now.load(Ordering::Relaxed) > STRATEGY
    }

    /// Records that there is no code for that strategy, which is not `Vectors`.
    pub fn give_up(&self, strategy: Strategy) {
        let mut state = self.state.lock();
        state.missing[strategy as usize] = true;
        state.samples[strategy as usize] = Sample::default();
        if state.found == strategy {
            // What a cache said, or an earlier measurement.
            state.found = Strategy::Vectors;
        }
        let now = self.now.load(Ordering::Relaxed);
        if state.missing[1..].iter().all(|&missing| missing) {
            self.left.store(u64::MAX, Ordering::Relaxed);
            self.now.store(Strategy::Vectors as u8, Ordering::Relaxed);
        } else if Strategy::of(now) != strategy {
            // Another thread has gone on already.
        } else if now & MEASURE != 0 {
            self.go_on_behind(&mut state, strategy);
        } else {
            self.now.store(Strategy::Vectors as u8, Ordering::Relaxed);
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
            // Another thread may have begun, or given up the last strategy, meanwhile.
            if self.is_measuring() || self.left.load(Ordering::Relaxed) == u64::MAX {
                return;
            }
            state.samples = Default::default();
            self.now.store(MEASURE, Ordering::Relaxed);
        }
    }

    /// Records the time that blocks have taken; with 0 blocks, the time of a part of one.
    pub fn took(&self, strategy: Strategy, blocks: u64, time: Duration) {
        let mut state = self.state.lock();
        let now = self.now.load(Ordering::Relaxed);
        if Strategy::of(now) != strategy {
            return;
        }
        if now & WARM_UP != 0 {
            state.before += time;
            if state.before >= self.warm_up_time {
                self.now.store(MEASURE, Ordering::Relaxed);
            }
        } else if now & MEASURE != 0 {
            let state = &mut *state;
            let vectors = state.samples[0];
            let sample = &mut state.samples[strategy as usize];
            sample.add(blocks, time);
            let hopeless = strategy != Strategy::Vectors
                && sample.time > LONG_BLOCK / 4
                && !Sample { blocks: sample.blocks.max(1), ..*sample }.takes_less(vectors, 100 * HOPELESS);
            let settled = &mut state.settled[strategy as usize];
            if strategy.first_measurement() > 0 && *settled < SETTLING && !hopeless {
                *settled += time;
                if *settled >= SETTLING {
                    *sample = Sample::default();
                }
            } else if sample.is_enough() || hopeless {
                self.go_on_behind(state, strategy);
            }
        }
    }

    /// Measures the next strategy, or decides if that one was the last.
    fn go_on_behind(&self, state: &mut State, strategy: Strategy) {
        match state.behind(strategy) {
            Some(next) => self.now.store(MEASURE | next as u8, Ordering::Relaxed),
            None => self.decide(state),
        }
    }

    fn decide(&self, state: &mut State) {
        let samples = state.samples;
        let mut found = Strategy::Vectors;
        for &strategy in &Strategy::ALL[1..] {
            let sample = samples[strategy as usize];
            let percent = if found == Strategy::Vectors { WORTH_IT } else { 100 };
            if sample.blocks > 0 && sample.takes_less(samples[found as usize], percent) {
                found = strategy;
            }
        }
        state.pause = match state.pause {
            0 => FIRST_PAUSE,
            pause if found == state.found => (2 * pause).min(LONGEST_PAUSE),
            _ => FIRST_PAUSE,
        };
        state.sure = state.measured > 0 && found == state.found;
        state.found = found;
        state.measured = state.measured.saturating_add(1);
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
        let choice = Choice::new(2 * MILLI, None);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, true));
        choice.took(Strategy::Vectors, 1, 3 * MILLI);
        assert_eq!(choice.strategy(), Strategy::Vectors);
        choice
    }

    #[test]
    fn the_quicker_strategy_goes_on() {
        for (vectors, lanes, wanted) in [
            (4, 1, Strategy::Lanes),
            (1, 4, Strategy::Vectors),
            (100, 97, Strategy::Vectors),
            (100, 90, Strategy::Lanes),
        ] {
            let choice = measuring();
            choice.took(Strategy::Vectors, 8, 2 * vectors * MILLI);
            assert_eq!(choice.strategy(), Strategy::Lanes);
            // Another thread's block of before.
            choice.took(Strategy::Vectors, 1, 1000 * MILLI);
            choice.took(Strategy::Lanes, 8, 2 * lanes * MILLI);
            if choice.is_measuring() {
                choice.took(Strategy::Lanes, 8, 2 * lanes * MILLI);
            }
            assert_eq!((choice.strategy(), choice.is_measuring()), (wanted, false), "{vectors} and {lanes}");
        }
    }

    #[test]
    fn what_an_earlier_process_has_found_is_where_it_begins() {
        assert_eq!(measuring().found(), None);
        for known in Strategy::ALL {
            assert_eq!(Strategy::of_stored(known.stored()), Some(known));
            let choice = Choice::new(2 * MILLI, Some(known));
            assert_eq!((choice.strategy(), choice.is_measuring()), (known, false));
            assert_eq!(choice.found(), Some(known));
            choice.ran(KNOWN_PAUSE - 1);
            assert_eq!((choice.strategy(), choice.is_measuring()), (known, false));
            choice.ran(1);
            // Each strategy is measured, and another one may be chosen.
            let best = if known == Strategy::Lanes { Strategy::Vectors } else { Strategy::Lanes };
            let measure = || {
                while choice.is_measuring() {
                    let now = choice.strategy();
                    choice.took(now, 4, if now == best { 2 } else { 20 } * MILLI);
                }
            };
            measure();
            // Once is not enough to be told to others.
            assert_eq!((choice.strategy(), choice.found()), (best, (best == known).then_some(best)));
            while !choice.is_measuring() {
                choice.ran(64);
            }
            measure();
            assert_eq!((choice.strategy(), choice.found()), (best, Some(best)));
        }
        for number in [0, 5, 255] {
            assert_eq!(Strategy::of_stored(number), None);
        }
    }

    #[test]
    fn a_known_strategy_without_code_is_given_up() {
        let choice = Choice::new(2 * MILLI, Some(Strategy::Lanes));
        choice.give_up(Strategy::Lanes);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
        // Nor is it written to the cache again.
        assert_eq!(choice.found(), Some(Strategy::Vectors));
    }

    #[test]
    fn it_is_measured_again_and_less_often() {
        let choice = measuring();
        let mut pauses = Vec::new();
        for _ in 0..3 {
            choice.took(Strategy::Vectors, 4, 2 * MILLI);
            choice.took(Strategy::Lanes, 4, 20 * MILLI);
            if choice.is_measuring() {
                let late = choice.strategy();
                assert!(late.first_measurement() > 0);
                choice.give_up(late);
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
        choice.took(Strategy::Vectors, 4, 20 * MILLI);
        choice.took(Strategy::Lanes, 4, 2 * MILLI);
        assert_eq!(choice.strategy(), Strategy::Lanes);
    }

    #[test]
    fn a_hopeless_strategy_ends_early_and_one_without_code_is_never_tried() {
        let choice = measuring();
        choice.took(Strategy::Vectors, 100, 2 * MILLI);
        // Not even one block has ended.
        choice.took(Strategy::Lanes, 0, 6 * MILLI);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
        let choice = measuring();
        choice.took(Strategy::Vectors, 100, 2 * MILLI);
        choice.give_up(Strategy::Lanes);
        choice.give_up(Strategy::Warps);
        choice.give_up(Strategy::Narrow);
        choice.ran(u64::MAX);
        choice.took(Strategy::Vectors, 100, 2 * MILLI);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
    }

    /// Runs until the next measurement, and measures vectors and lanes.
    fn again(choice: &Choice, lanes: u32) {
        choice.ran(u64::MAX);
        choice.took(Strategy::Vectors, 4, 2 * MILLI);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Lanes, true));
        choice.took(Strategy::Lanes, 4, lanes * MILLI);
    }

    #[test]
    fn whole_warps_and_narrow_vectors_take_part_later() {
        for (late, gone) in [(Strategy::Warps, Strategy::Narrow), (Strategy::Narrow, Strategy::Warps)] {
            for (lanes, time, wanted) in [(2, 3, Strategy::Lanes), (5, 3, late), (9, 8, Strategy::Vectors)] {
                let choice = measuring();
                choice.give_up(gone);
                choice.took(Strategy::Vectors, 4, 4 * MILLI);
                choice.took(Strategy::Lanes, 4, 20 * MILLI);
                for _ in 1..late.first_measurement() {
                    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
                    again(&choice, 10);
                }
                assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
                choice.ran(u64::MAX);
                choice.took(Strategy::Vectors, 4, 5 * MILLI);
                choice.took(Strategy::Lanes, 4, lanes * MILLI);
                // What it takes while it settles does not count.
                choice.took(late, 9, 10 * MILLI);
                assert_eq!((choice.strategy(), choice.is_measuring()), (late, true));
                choice.took(late, 4, time * MILLI);
                assert_eq!((choice.strategy(), choice.is_measuring()), (wanted, false), "{lanes} and {time}");
            }
        }
    }

    #[test]
    fn a_strategy_settles_once_and_not_if_it_is_hopeless() {
        let choice = measuring();
        choice.give_up(Strategy::Narrow);
        choice.took(Strategy::Vectors, 4, 2 * MILLI);
        choice.took(Strategy::Lanes, 4, 4 * MILLI);
        again(&choice, 4);
        // Four times as long as vectors: so it ends before it has settled.
        choice.took(Strategy::Warps, 2, 8 * MILLI);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
        again(&choice, 4);
        choice.took(Strategy::Warps, 4, 4 * MILLI);
        choice.took(Strategy::Warps, 6, 6 * MILLI);
        assert!(choice.is_measuring());
        choice.took(Strategy::Warps, 4, 2 * MILLI);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
        again(&choice, 4);
        choice.took(Strategy::Warps, 5, 2 * MILLI);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Warps, false));
    }

    #[test]
    fn a_long_block_is_not_hopeless_before_it_takes_too_long() {
        let choice = measuring();
        choice.took(Strategy::Vectors, 1, 40 * MILLI);
        for _ in 0..2 {
            choice.took(Strategy::Lanes, 0, 6 * MILLI);
            assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Lanes, true));
        }
        choice.took(Strategy::Lanes, 1, 9 * MILLI);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Lanes, false));
    }

    #[test]
    fn a_strategy_that_loses_its_code_is_left() {
        let choice = measuring();
        choice.took(Strategy::Vectors, 4, 20 * MILLI);
        choice.took(Strategy::Lanes, 4, 4 * MILLI);
        assert_eq!(choice.strategy(), Strategy::Lanes);
        choice.give_up(Strategy::Lanes);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
        choice.ran(u64::from(u32::MAX));
        choice.took(Strategy::Vectors, 4, 20 * MILLI);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Warps, true));
    }
}
