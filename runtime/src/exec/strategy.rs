//! Chooses the execution strategy of a kernel's blocks: a few lanes at once in vectors, one lane after another in scalar code, all lanes
//! of a warp at once, or fewer lanes at once in narrower vectors. All give the same results.
//!
//! In: the times that blocks have taken ([`Choice::took`]). Out: the strategy of the next block ([`Choice::strategy`]).
//!
//! Vectors of few lanes are faster while lanes stay convergent, scalar code when they diverge for good. Whole warps are faster with many
//! cross-lane operations, because these end the regions of the other two. Narrower vectors are faster where few lanes are active, and their
//! regions are joined to chains. What is faster depends on the data, so it is measured. A kernel starts with vectors. Once it has run for
//! some time, a few blocks are timed with each strategy in turn, and the fastest continues. The measurement is repeated now and then, less
//! often each time it confirms the choice. Whole warps and narrower vectors take part from the second one on, which waits until compiling
//! them is a small part of what the kernel has taken. They run for some time before they are timed first, so that their code has all that
//! it will have. Time is the processor time of the thread that runs the block, so that other work on the machine does not decide.
//!
//! What two measurements in a row have found is kept in the cache beside the kernel's code. A process that finds it there begins with that
//! strategy ([`Choice::new`]) and measures after the first pause as usual.

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
    /// All lanes of a warp at once, in many vectors.
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
            Strategy::Warps | Strategy::Narrow => 1,
        }
    }
}

/// A measurement goes round all strategies, so that what changes from block to block meets all of them: this many times if one of them is
/// the fastest in each round, else up to the most.
const FEWEST_ROUNDS: usize = 3;
const ROUNDS: usize = 6;

/// In each round a strategy is timed for at least this long.
const SAMPLE: Duration = Duration::from_micros(500);

/// How long a strategy that takes part later runs before it is timed first: what runs often is compiled better meanwhile, such as chains.
const SETTLING: Duration = Duration::from_millis(10);

/// If vectors have been timed for so long, no more rounds are needed.
const LONG_BLOCK: Duration = Duration::from_millis(20);

/// Another strategy is chosen if it takes less than this percentage of the vectors' time.
const WORTH_IT: u32 = 95;

/// Timing a strategy ends within a round if it takes this many times as long as vectors.
const HOPELESS: u32 = 4;

/// Timing a strategy ends after a round if it takes this many times as long as vectors.
const TOO_SLOW: u32 = 2;

/// A strategy that was too slow is left out of this many measurements.
const LEFT_OUT: u32 = 3;

/// Pause between two measurements, as a multiple of the blocks that were timed: the first pause and the longest.
const FIRST_PAUSE: u64 = 64;
const LONGEST_PAUSE: u64 = 4096;

/// The pause before strategies take part that are compiled only then: the same, but not less than this many times what compiling has
/// taken so far.
const PAUSE_BEFORE_LATE: u64 = 4;
const COMPILE_TIMES: u32 = 8;

/// Blocks to run with a strategy from the cache before the first measurement.
const KNOWN_PAUSE: u64 = 1024;

/// Blocks timed with one strategy.
#[derive(Clone, Copy, Default, Debug)]
struct Sample {
    blocks: u64,
    time: Duration,
}

impl Sample {
    fn add(&mut self, more: Sample) {
        self.blocks += more.blocks;
        self.time += more.time;
    }

    fn is_enough(self) -> bool {
        self.blocks > 0 && self.time >= SAMPLE
    }

    /// Whether its blocks take less than `percent` of another's.
    fn takes_less(self, other: Sample, percent: u32) -> bool {
        let of = |time: Duration, blocks: u64| time.as_nanos() * u128::from(blocks);
        of(self.time, other.blocks) * 100 < of(other.time, self.blocks) * u128::from(percent)
    }
}

/// What a measurement has found of one strategy.
#[derive(Clone, Copy, Default, Debug)]
struct Samples {
    rounds: [Sample; ROUNDS],
    /// It is too slow to be timed any longer in this measurement.
    hopeless: bool,
}

impl Samples {
    fn all(&self) -> Sample {
        self.rounds.iter().fold(Sample::default(), |mut all, &round| {
            all.add(round);
            all
        })
    }
}

#[derive(Debug, Default)]
struct State {
    /// Time spent with vectors before the first measurement.
    before: Duration,
    /// The round of the current measurement.
    round: usize,
    /// By strategy.
    samples: [Samples; Strategy::ALL.len()],
    /// How long each strategy has run to settle.
    settled: [Duration; Strategy::ALL.len()],
    /// Strategies without code.
    missing: [bool; Strategy::ALL.len()],
    /// The number of the measurement in which a strategy takes part again that was too slow.
    again: [u32; Strategy::ALL.len()],
    /// What compiling the code of vectors has taken.
    compiling: Duration,
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
    /// Whether a strategy takes part in this measurement.
    fn takes_part(&self, strategy: Strategy) -> bool {
        let number = strategy as usize;
        !self.missing[number]
            && !self.samples[number].hopeless
            && strategy.first_measurement().max(self.again[number]) <= self.measured
    }

    /// The strategy to measure after that one in this round, if there is another.
    fn behind(&self, strategy: Strategy) -> Option<Strategy> {
        Strategy::ALL.into_iter().skip(strategy as usize + 1).find(|&strategy| self.takes_part(strategy))
    }

    /// The fastest strategy by these samples; vectors if none is worth leaving them.
    fn fastest(&self, samples: [Sample; Strategy::ALL.len()]) -> Strategy {
        let mut found = Strategy::Vectors;
        for &strategy in &Strategy::ALL[1..] {
            let percent = if found == Strategy::Vectors { WORTH_IT } else { 100 };
            let sample = samples[strategy as usize];
            let may = self.takes_part(strategy) && sample.blocks > 0;
            if may && sample.takes_less(samples[found as usize], percent) {
                found = strategy;
            }
        }
        found
    }

    /// Ends the timing of what is too slow, and leaves it out of the next measurements.
    fn leave_slow_ones(&mut self) {
        let vectors = self.samples[0].all();
        for &strategy in &Strategy::ALL[1..] {
            let sample = self.samples[strategy as usize].all();
            if self.takes_part(strategy) && !sample.takes_less(vectors, 100 * TOO_SLOW) {
                self.samples[strategy as usize].hopeless = true;
            }
            if self.samples[strategy as usize].hopeless {
                self.again[strategy as usize] = self.measured + 1 + LEFT_OUT;
            }
        }
    }

    /// Whether one strategy was the fastest in each round, and the rounds are enough.
    fn agrees(&self) -> bool {
        let of_round = |round: usize| self.fastest(self.samples.map(|samples| samples.rounds[round]));
        let first = of_round(0);
        self.round >= FEWEST_ROUNDS && (1..self.round).all(|round| of_round(round) == first)
    }

    /// Whether code of another strategy may come with the next measurement.
    fn has_late(&self) -> bool {
        let is_late = |strategy: Strategy| strategy.first_measurement() == self.measured;
        Strategy::ALL.into_iter().any(|strategy| is_late(strategy) && !self.missing[strategy as usize])
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
    /// A choice without measurements; the first one comes after `warm_up_time`, or, if an earlier process has found the best strategy,
    /// after some blocks with this.
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
        state.samples[strategy as usize] = Samples::default();
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
            state.round = 0;
            self.now.store(MEASURE, Ordering::Relaxed);
        }
    }

    /// Records the time that blocks have taken; with 0 blocks, the time of a part of one. `compiling`: what compiling the strategy's code
    /// has taken so far, of which only that of vectors counts.
    pub fn took(&self, strategy: Strategy, blocks: u64, time: Duration, compiling: Duration) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let now = self.now.load(Ordering::Relaxed);
        if Strategy::of(now) != strategy {
            return;
        }
        if strategy == Strategy::Vectors {
            state.compiling = compiling;
        }
        if now & WARM_UP != 0 {
            state.before += time;
            if state.before >= self.warm_up_time {
                self.now.store(MEASURE, Ordering::Relaxed);
            }
        } else if now & MEASURE != 0 {
            let vectors = state.samples[0].all();
            let samples = &mut state.samples[strategy as usize];
            let round = &mut samples.rounds[state.round];
            round.add(Sample { blocks, time });
            let known = Sample { blocks: round.blocks.max(1), ..*round };
            samples.hopeless = strategy != Strategy::Vectors
                && round.time > LONG_BLOCK / 4
                && !known.takes_less(vectors, 100 * HOPELESS);
            let settled = &mut state.settled[strategy as usize];
            if strategy.first_measurement() > 0 && *settled < SETTLING && !samples.hopeless {
                *settled += time;
                if *settled >= SETTLING {
                    *round = Sample::default();
                }
            } else if round.is_enough() || samples.hopeless {
                self.go_on_behind(state, strategy);
            }
        }
    }

    /// Measures the next strategy, goes on to the next round, or decides if that was the last.
    fn go_on_behind(&self, state: &mut State, strategy: Strategy) {
        if let Some(next) = state.behind(strategy) {
            self.now.store(MEASURE | next as u8, Ordering::Relaxed);
            return;
        }
        state.round += 1;
        state.leave_slow_ones();
        let one = state.behind(Strategy::Vectors).is_none();
        if one || state.samples[0].all().time >= LONG_BLOCK || state.round == ROUNDS || state.agrees() {
            self.decide(state);
        } else {
            self.now.store(MEASURE, Ordering::Relaxed);
        }
    }

    fn decide(&self, state: &mut State) {
        let samples = state.samples.map(|samples| samples.all());
        let found = state.fastest(samples);
        state.pause = match state.pause {
            0 => FIRST_PAUSE,
            pause if found == state.found => (2 * pause).min(LONGEST_PAUSE),
            _ => FIRST_PAUSE,
        };
        state.sure = state.measured > 0 && found == state.found;
        state.found = found;
        state.measured = state.measured.saturating_add(1);
        let blocks = samples.iter().map(|sample| sample.blocks).sum::<u64>().max(1);
        let left = if state.has_late() {
            state.pause = 0;
            let Sample { blocks: timed, time } = samples[found as usize];
            let block = (time.as_nanos() / u128::from(timed.max(1))).max(1);
            let worth = (COMPILE_TIMES * state.compiling).as_nanos() / block;
            (blocks * PAUSE_BEFORE_LATE).max(u64::try_from(worth).unwrap_or(u64::MAX))
        } else {
            blocks.saturating_mul(state.pause)
        };
        self.left.store(left, Ordering::Relaxed);
        self.now.store(found as u8, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "strategy_tests.rs"]
mod tests;
