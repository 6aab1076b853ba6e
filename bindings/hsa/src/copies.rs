//! Copies that wait for signals, and say by a signal that they are done. A thread does them; small ones that need not wait are done at
//! once.

use crate::clock;
use crate::host;
use crate::signal::{self, Signal, Watch};
use crate::status::{Result, Status};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// Most bytes that are copied before the function that asks for it comes back.
const AT_ONCE: u64 = 256 << 10;

/// A range in three dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Box3 {
    pub to: u64,
    pub from: u64,
    /// Bytes of a line, lines, layers.
    pub size: [u64; 3],
    /// Bytes from line to line, and from layer to layer.
    pub to_pitch: [u64; 2],
    pub from_pitch: [u64; 2],
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Copies bytes.
    Copy { to: u64, from: u64, bytes: u64 },
    /// Copies lines.
    Lines(Box3),
    /// Nothing: only the signals count.
    Nothing,
}

impl Work {
    fn bytes(&self) -> u64 {
        match self {
            Work::Copy { bytes, .. } => *bytes,
            Work::Lines(lines) => lines.size.iter().fold(1, |all, size| all.saturating_mul(*size)),
            Work::Nothing => 0,
        }
    }

    fn run(&self) -> Result<()> {
        match *self {
            Work::Copy { to, from, bytes } => host::copy(to, from, bytes),
            Work::Lines(lines) => {
                for layer in 0..lines.size[2] {
                    for line in 0..lines.size[1] {
                        let offset = |pitch: [u64; 2]| line * pitch[0] + layer * pitch[1];
                        let (to, from) = (offset(lines.to_pitch), offset(lines.from_pitch));
                        host::copy(lines.to + to, lines.from + from, lines.size[0])?;
                    }
                }
                Ok(())
            }
            Work::Nothing => Ok(()),
        }
    }
}

/// Something that waits.
struct Job {
    work: Work,
    after: Vec<Signal>,
    done: Option<Signal>,
    _watch: Watch,
}

impl Job {
    fn can_begin(&self) -> bool {
        are_done(&self.after)
    }
}

static JOBS: Mutex<Vec<Job>> = Mutex::new(Vec::new());
static THREAD: Once = Once::new();
/// Copies, and bytes that were copied.
static COPIES: AtomicU64 = AtomicU64::new(0);
static COPIED: AtomicU64 = AtomicU64::new(0);

/// How many copies there were, and of how many bytes.
pub(crate) fn counts() -> (u64, u64) {
    (COPIES.load(Ordering::Relaxed), COPIED.load(Ordering::Relaxed))
}

/// A signal that was destroyed stands in nobody's way.
fn are_done(signals: &[Signal]) -> bool {
    signals.iter().all(|signal| !signal.exists() || signal.load(Ordering::Acquire) == 0)
}

/// Does something when all signals are 0, then counts a signal down.
pub(crate) fn submit(work: Work, after: Vec<Signal>, done: Option<Signal>) -> Result<()> {
    if work.bytes() <= AT_ONCE && are_done(&after) {
        return finish(&work, done);
    }
    let watch = Watch::new(after.clone());
    JOBS.lock().unwrap_or_else(PoisonError::into_inner).push(Job { work, after, done, _watch: watch });
    let mut started = Ok(());
    THREAD.call_once(|| {
        let thread = std::thread::Builder::new().name("hsa copies".into()).spawn(run);
        started = thread.map(|_| ()).map_err(|_| Status::OUT_OF_RESOURCES);
    });
    signal::ring();
    started
}

/// Copies at once.
pub(crate) fn copy_now(to: u64, from: u64, bytes: u64) -> Result<()> {
    finish(&Work::Copy { to, from, bytes }, None)
}

fn finish(work: &Work, done: Option<Signal>) -> Result<()> {
    let start = clock::now();
    let result = work.run();
    if *work != Work::Nothing {
        COPIES.fetch_add(1, Ordering::Relaxed);
        COPIED.fetch_add(work.bytes(), Ordering::Relaxed);
    }
    if let Some(done) = done {
        done.set_times(start, clock::now());
        match result {
            Ok(()) => done.complete(),
            // HSA says a failure by a negative value.
            Err(_) => done.store(-1, Ordering::Release),
        }
    }
    result
}

fn run() {
    loop {
        let before = signal::rung();
        let (job, none) = {
            let mut jobs = JOBS.lock().unwrap_or_else(PoisonError::into_inner);
            let at = jobs.iter().position(Job::can_begin);
            (at.map(|at| jobs.remove(at)), jobs.is_empty())
        };
        match job {
            // What goes wrong is said by the signal.
            Some(job) => _ = finish(&job.work, job.done),
            None if none => signal::sleep_long(before),
            None => signal::sleep(before, None),
        }
    }
}
