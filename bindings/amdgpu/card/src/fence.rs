//! Fences, and waiting for them.

use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Locks, also after another thread has panicked: what is locked here is whole at any time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nanoseconds of CLOCK_MONOTONIC, which the kernel's timeouts are given in.
pub(crate) fn nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The card's clock: 100 MHz.
pub(crate) fn card_clock() -> u64 {
    nanoseconds() / 10
}

/// Nanoseconds that a thread looks for what it waits for before it sleeps: about as long as another one takes to wake it.
const LOOKS: u64 = 20_000;
/// Waits without a look, after which there is one again.
const RESTS: u32 = 32;

/// Whether looking has been worth it. Where processors are busy with other things, or waits are long, what is waited for does not happen
/// meanwhile, and looking only takes time from it.
#[derive(Debug)]
pub(crate) struct AdaptiveSpin {
    nanoseconds: AtomicU64,
    rested: AtomicU32,
}

impl Default for AdaptiveSpin {
    fn default() -> AdaptiveSpin {
        AdaptiveSpin { nanoseconds: AtomicU64::new(LOOKS), rested: AtomicU32::new(0) }
    }
}

impl AdaptiveSpin {
    /// How long to look now.
    fn now(&self) -> u64 {
        match self.nanoseconds.load(Ordering::Relaxed) {
            0 if self.rested.fetch_add(1, Ordering::Relaxed) % RESTS == RESTS - 1 => LOOKS,
            nanoseconds => nanoseconds,
        }
    }

    fn learn(&self, looked: u64, was_worth_it: bool) {
        let next = match looked / 2 {
            _ if was_worth_it => LOOKS,
            0..1000 => 0,
            half => half,
        };
        // A look after a rest that was in vain is followed by the next rest.
        let next = if looked == LOOKS && self.nanoseconds.load(Ordering::Relaxed) == 0 && !was_worth_it {
            0
        } else {
            next
        };
        self.nanoseconds.store(next, Ordering::Relaxed);
    }

    /// Looks for a short time whether a condition gives something, not beyond a time ([`nanoseconds`]).
    pub fn poll<T>(&self, until: u64, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
        if let Some(value) = condition() {
            return Some(value);
        }
        let looks = self.now();
        if looks == 0 {
            return None;
        }
        let start = nanoseconds();
        let end = start.saturating_add(looks).min(until);
        loop {
            (0..16).for_each(|_| std::hint::spin_loop());
            if let Some(value) = condition() {
                self.learn(looks, true);
                return Some(value);
            }
            if nanoseconds() >= end {
                // A wait that was to be short says nothing.
                if end == start.saturating_add(looks) {
                    self.learn(looks, false);
                }
                return None;
            }
        }
    }
}

/// Something that will have happened. Once it has, it stays so.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fence(Arc<AtomicBool>);

impl Fence {
    /// One that has happened.
    pub fn signalled() -> Fence {
        Fence(Arc::new(AtomicBool::new(true)))
    }

    /// Whether it has happened.
    pub fn is_signalled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// It has happened. Who waits hears of it by [`Bell::ring`].
    pub fn signal(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Wakes all that wait for anything: waits are few, and what each waits for differs.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    waiting: Mutex<()>,
    rung: Condvar,
    spin: AdaptiveSpin,
}

impl Bell {
    /// Something may have happened. The caller holds no lock that conditions of waits take.
    pub fn ring(&self) {
        drop(lock(&self.waiting));
        self.rung.notify_all();
    }

    /// Waits until a condition gives something, or until a time ([`nanoseconds`]): then `None`. A condition is looked at again whenever
    /// the bell rings.
    pub fn wait<T>(&self, until: u64, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
        if let Some(value) = self.spin.poll(until, &mut condition) {
            return Some(value);
        }
        let mut guard = lock(&self.waiting);
        loop {
            if let Some(value) = condition() {
                return Some(value);
            }
            let now = nanoseconds();
            if now >= until {
                return None;
            }
            // Endless timeouts are far away; a look in between costs nothing.
            let time = Duration::from_nanos((until - now).min(3_600_000_000_000));
            guard = self.rung.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The end of waiting that a timeout of amdgpu's ioctls means: one with the highest bit is endless.
pub(crate) fn endless_or_until(timeout: u64) -> u64 {
    if timeout >> 63 != 0 { u64::MAX } else { timeout }
}

/// The end of a driver's wait for a submission. Drivers that give it about a second (RADV does where it waits for a whole queue) take the
/// card for lost after that time. This one is slower than those that they know, and gets a minute at least.
pub(crate) fn end_for_submission(until: u64) -> u64 {
    const ABOUT_A_SECOND: u64 = 900_000_000;
    let now = nanoseconds();
    match until.saturating_sub(now) {
        0..ABOUT_A_SECOND => until,
        _ => until.max(now.saturating_add(60_000_000_000)),
    }
}

/// The end of waiting that a timeout of synchronisation objects means: a negative one is over.
pub(crate) fn until(timeout: i64) -> u64 {
    u64::try_from(timeout).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_drivers() {
        let now = nanoseconds();
        assert_eq!([0, now + 1_000_000].map(end_for_submission), [0, now + 1_000_000]);
        assert!(
            (now + 59_000_000_000..now + 61_000_000_000).contains(&end_for_submission(now + 1_000_000_000))
        );
        assert_eq!(end_for_submission(u64::MAX), u64::MAX);
    }

    /// Looks become shorter when they are in vain, stop, and begin again.
    #[test]
    fn spinning_adapts() {
        let spin = AdaptiveSpin::default();
        let mut looked = Vec::new();
        for _ in 0..100 {
            let start = nanoseconds();
            assert_eq!(spin.poll(u64::MAX, || None::<()>), None);
            looked.push(nanoseconds() - start >= 1000);
        }
        assert!(looked[0] && looked[4]);
        let later = looked[8..].iter().filter(|looked| **looked).count();
        assert!((2..20).contains(&later), "{looked:?}");
        let mut looks = 0;
        let mut third = || {
            looks += 1;
            (looks % 3 == 0).then_some(())
        };
        while spin.poll(u64::MAX, &mut third).is_none() {}
        assert_eq!(spin.now(), LOOKS);
        assert_eq!(spin.poll(0, || Some(3)), Some(3));
    }
}
