//! Who is next: the queues of an engine that have something to run, with their priorities and the time that they have had.
//!
//! Among queues of one priority, the one that has had least time is next. A higher priority goes before a lower one, but a queue that
//! waits rises by one level for each [`AGING_PERIOD`] until it has been served, so none starves. A queue is served for a [`QUANTUM`] at
//! a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long a thread serves a queue before it looks who is next.
pub const QUANTUM: Duration = Duration::from_millis(2);
/// How long a queue waits before it goes as if it had the next higher priority.
const AGING_PERIOD: Duration = Duration::from_millis(20);

/// How urgent the work of a queue is ([`crate::QueueOptions::priority`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Priority {
    /// When nothing else is to do; also a little of the time while there is, so that it does not starve.
    Low,
    /// The usual one.
    #[default]
    Normal,
    /// Before all others.
    High,
}

/// What threads must know of a queue. The queues themselves are in [`crate::queue`], which the pool does not know.
pub trait Served: Send + Sync {
    /// Whether a thread would find something to do, and when to look again.
    fn wants(self: Arc<Self>) -> (bool, Option<Instant>);
    /// How urgent its work is.
    fn priority(&self) -> Priority;
    /// Whether a second thread would find something to do, besides one that serves it.
    fn is_taken_on(&self) -> bool;
    /// Whether it is dropped and empty.
    fn is_finished(&self) -> bool;
    /// Runs its work until then, or as long as there is some.
    fn serve(self: Arc<Self>, until: Instant);
}

/// Something with a deadline.
pub trait Expires: Send + Sync {
    /// Ends it if its deadline has passed before it has begun.
    fn expire(self: Arc<Self>);
}

/// A queue, as threads see it.
struct Lane {
    state: Arc<dyn Served>,
    /// Time that it has had, in nanoseconds, on the scale of its priority.
    time: u64,
    /// Whether a thread would find something to do.
    offered: bool,
    /// Since when it has been waiting for a thread.
    since: Instant,
    /// Threads that serve it.
    inside: usize,
}

/// By what a [`Timer`] is known: when it is due, and a number.
pub type TimerKey = (Instant, u64);

/// What is to be done at a time.
pub enum Timer {
    /// Look again whether a queue has something to run.
    Stir(Weak<dyn Served>),
    /// The deadline of a submission.
    Expire(Weak<dyn Expires>),
}

impl Timer {
    /// Does it. `stir` looks whether a queue has something to run.
    pub fn fire(self, stir: &mut dyn FnMut(&Arc<dyn Served>)) {
        match self {
            Timer::Stir(state) => state.upgrade().iter().for_each(stir),
            Timer::Expire(slot) => {
                if let Some(slot) = slot.upgrade() {
                    slot.expire();
                }
            }
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct Lanes {
    list: Vec<Lane>,
    /// For each priority, the least time that a queue with something to run has had. It never falls, also while no queue has anything.
    floors: [u64; 3],
    timers: BTreeMap<TimerKey, Timer>,
    numbers: u64,
}

impl Lanes {
    /// Looks whether a queue has something to run now.
    pub fn stir(&mut self, state: &Arc<dyn Served>) {
        let at = self.list.iter().position(|lane| Arc::ptr_eq(&lane.state, state));
        let at = at.unwrap_or_else(|| {
            let (state, since) = (state.clone(), Instant::now());
            self.list.push(Lane { state, time: 0, offered: false, since, inside: 0 });
            self.list.len() - 1
        });
        self.look_at(at);
    }

    fn look_at(&mut self, at: usize) {
        let (offer, timer) = self.list[at].state.clone().wants();
        let lane = &mut self.list[at];
        if offer && !lane.offered {
            lane.since = Instant::now();
            if lane.inside == 0 {
                // Idle time is not saved up.
                lane.time = lane.time.max(self.floors[lane.state.priority() as usize]);
            }
        }
        let lane = &mut self.list[at];
        lane.offered = offer;
        if let Some(when) = timer {
            let state = Arc::downgrade(&lane.state);
            self.at(when, Timer::Stir(state));
        }
        if self.list[at].inside == 0 && self.list[at].state.is_finished() {
            self.list.swap_remove(at);
        }
    }

    /// Raises the floor of a priority to the least time of its queues that have something to run.
    fn raise_floor(&mut self, priority: Priority) {
        let active = self.list.iter().filter(|lane| lane.offered || lane.inside > 0);
        let times = active.filter(|lane| lane.state.priority() == priority).map(|lane| lane.time);
        let floor = &mut self.floors[priority as usize];
        *floor = times.min().unwrap_or(0).max(*floor);
    }

    /// Adds something to be done at a time.
    pub fn at(&mut self, when: Instant, timer: Timer) -> TimerKey {
        self.numbers += 1;
        self.timers.insert((when, self.numbers), timer);
        (when, self.numbers)
    }

    /// Forgets it, if it has not been done.
    pub fn forget(&mut self, timer: TimerKey) {
        self.timers.remove(&timer);
    }

    /// When the next thing is to be done.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.first_key_value().map(|((when, _), _)| *when)
    }

    /// Whether anything is to be done at a time.
    pub fn have_timers(&self) -> bool {
        !self.timers.is_empty()
    }

    /// Something that is to be done now.
    pub fn take_due(&mut self) -> Option<Timer> {
        let next = self.next_timer()?;
        if Instant::now() < next {
            return None;
        }
        self.timers.pop_first().map(|(_, timer)| timer)
    }

    /// Whether any queue has something to run.
    pub fn have_work(&self) -> bool {
        self.list.iter().any(|lane| lane.offered)
    }

    /// The queue to serve next.
    pub fn pick(&mut self) -> Option<Arc<dyn Served>> {
        let now = Instant::now();
        let level = |lane: &Lane| {
            let waited = now.saturating_duration_since(lane.since).as_nanos() / AGING_PERIOD.as_nanos();
            (lane.state.priority() as u128 + waited).min(Priority::High as u128 + 1)
        };
        let offered = self.list.iter().enumerate().filter(|(_, lane)| lane.offered);
        let best = offered.min_by_key(|(_, lane)| (u128::MAX - level(lane), lane.inside, lane.time));
        let (at, _) = best?;
        self.raise_floor(self.list[at].state.priority());
        let lane = &mut self.list[at];
        lane.inside += 1;
        lane.since = now;
        let state = lane.state.clone();
        // Another thread may find something too, unless this one takes all.
        lane.offered = state.is_taken_on();
        Some(state)
    }

    /// The time that a queue has had.
    #[cfg(test)]
    pub fn time_of(&self, state: &Arc<dyn Served>) -> Option<u64> {
        self.list.iter().find(|lane| Arc::ptr_eq(&lane.state, state)).map(|lane| lane.time)
    }

    /// A thread has served a queue for so long.
    pub fn served(&mut self, state: &Arc<dyn Served>, time: Duration) {
        let Some(at) = self.list.iter().position(|lane| Arc::ptr_eq(&lane.state, state)) else { return };
        let lane = &mut self.list[at];
        lane.inside -= 1;
        lane.since = Instant::now();
        lane.time = lane.time.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let priority = lane.state.priority();
        self.look_at(at);
        self.raise_floor(priority);
    }
}
