//! The strategies of a launch: which one the next block runs with, a thread's state for each, and how long blocks take.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::Scheduler;
use crate::CancelToken;
use crate::exec::block::RunningBlock;
use crate::exec::samples::thread_time;
use crate::exec::strategy::Strategy;
use crate::exec::tiers::{Stepper, StepperParts, Tiers, Watch};

/// A thread's state for running blocks with one strategy.
pub(super) struct Means<'s> {
    pub(super) tiers: &'s Tiers,
    pub(super) stepper: Stepper<'s>,
    /// A finished block whose storage can be reused.
    pub(super) spare: Option<Box<RunningBlock>>,
}

impl<'a> Scheduler<'a> {
    /// The strategy of the next block.
    pub(super) fn strategy(&self) -> Strategy {
        if self.make_others.is_none() {
            return Strategy::Vectors;
        }
        loop {
            let strategy = self.tiers.choice().strategy();
            if strategy == Strategy::Vectors || self.other(strategy).is_some() {
                return strategy;
            }
            // Then making its code may have been cancelled, too. That says nothing of other launches.
            if self.cancel.is_some_and(CancelToken::is_cancelled) {
                return Strategy::Vectors;
            }
            self.tiers.choice().give_up(strategy);
        }
    }

    /// The tiers for a strategy other than vectors.
    pub(super) fn other(&self, strategy: Strategy) -> Option<&Tiers> {
        let cell = &self.others[strategy.other()?];
        cell.get_or_init(|| self.make_others.and_then(|make| make(strategy))).as_deref()
    }

    /// The strategy that these tiers are for.
    pub(super) fn strategy_of(&self, tiers: &Tiers) -> Strategy {
        let is = |cell: &OnceLock<Option<Arc<Tiers>>>| {
            cell.get().is_some_and(|other| other.as_deref().is_some_and(|other| std::ptr::eq(other, tiers)))
        };
        self.others.iter().position(is).map_or(Strategy::Vectors, Strategy::of_other)
    }

    /// A thread's state for a strategy; `vectors` where there is no code for it.
    pub(super) fn means_of<'m, 's>(
        &'s self,
        strategy: Strategy,
        vectors: &'m mut Means<'s>,
        others: &'m mut [Option<Means<'s>>; Strategy::OTHERS],
        watch: Watch,
    ) -> &'m mut Means<'s> {
        let Some(other) = strategy.other().map(|number| &mut others[number]) else { return vectors };
        if other.is_none() {
            *other = self.other(strategy).map(|tiers| self.means(tiers, watch));
        }
        other.as_mut().unwrap_or(vectors)
    }

    /// If blocks are being timed: this thread's processor time and the compile time so far.
    pub(super) fn start_clock(&self, tiers: &Tiers) -> Option<(Duration, Duration)> {
        let measures = self.make_others.is_some() && self.tiers.choice().is_measuring();
        measures.then(|| (thread_time(), tiers.compile_times().0))
    }

    /// Reports blocks that have run since the clock was started. Compile time in between is subtracted.
    pub(super) fn stop_clock(
        &self,
        started: Option<(Duration, Duration)>,
        strategy: Strategy,
        tiers: &Tiers,
        blocks: u64,
    ) {
        match started {
            Some((start, compiling)) if tiers.compile_times().0 == compiling => {
                let time = thread_time().saturating_sub(start);
                self.tiers.choice().took(strategy, blocks, time, compiling);
            }
            Some(_) => {}
            None if self.make_others.is_some() => self.tiers.choice().ran(blocks),
            None => {}
        }
    }

    /// What steppers of this launch are made for.
    pub(super) fn parts<'s>(&'s self, tiers: &'s Tiers, watch: Watch) -> StepperParts<'s> {
        let &Scheduler { plan, memory, background, cancel, .. } = self;
        StepperParts { tiers, plan, memory, background, cancel, watch }
    }

    /// A thread's state for running blocks with one strategy.
    pub(super) fn means<'s>(&'s self, tiers: &'s Tiers, watch: Watch) -> Means<'s> {
        let stepper = Stepper::new(self.parts(tiers, watch));
        Means { tiers, stepper, spare: None }
    }
}
