//! Fences, and waiting for them.

use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};
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
        if let Some(value) = condition() {
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

/// The end of waiting that a timeout of synchronisation objects means: a negative one is over.
pub(crate) fn until(timeout: i64) -> u64 {
    u64::try_from(timeout).unwrap_or(0)
}
