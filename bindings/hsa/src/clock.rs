//! The clock of timestamps: nanoseconds of the monotonic clock, as HIP reads it for its own times.

use rustix::time::{ClockId, clock_gettime};

/// Ticks in a second.
pub(crate) const FREQUENCY: u64 = 1_000_000_000;

/// Now.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * FREQUENCY + time.tv_nsec as u64
}
