//! Samples of what a launch's threads do, by host address. `profiling.rs` resolves them to guest addresses.

use crate::vm::sampler::{Sample, Sampling};
use std::collections::HashMap;
use std::time::Duration;

/// Samples before host addresses are resolved to guest addresses.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawSamples {
    pub samples: HashMap<Sample, u64>,
    pub lost: u64,
    pub busy: Duration,
    pub failed: Option<String>,
}

impl RawSamples {
    /// Adds another thread's.
    pub fn add(&mut self, other: &RawSamples) {
        for (&sample, &count) in &other.samples {
            *self.samples.entry(sample).or_default() += count;
        }
        self.lost += other.lost;
        self.busy += other.busy;
        if self.failed.is_none() {
            self.failed.clone_from(&other.failed);
        }
    }
}

/// The sampling of one thread of a launch.
#[derive(Debug)]
pub(crate) struct Sampler {
    sampling: Option<Sampling>,
    start: Duration,
    raw: RawSamples,
}

impl Sampler {
    /// Begins, if `rate` is not 0.
    pub fn start(rate: u32) -> Sampler {
        let mut raw = RawSamples::default();
        let mut sampling = None;
        if rate > 0 {
            match Sampling::start(rate) {
                Ok(started) => sampling = Some(started),
                Err(error) => raw.failed = Some(error.to_string()),
            }
        }
        let start = if sampling.is_some() { thread_time() } else { Duration::ZERO };
        Sampler { sampling, start, raw }
    }

    /// Empties the sample buffer if it is getting full.
    #[inline]
    pub fn empty(&mut self) {
        if let Some(sampling) = &self.sampling
            && sampling.is_filling()
        {
            self.take();
        }
    }

    fn take(&mut self) {
        if let Some(sampling) = &self.sampling {
            let samples = &mut self.raw.samples;
            self.raw.lost += sampling.take(|sample| *samples.entry(sample).or_default() += 1);
        }
    }

    /// Ends.
    pub fn finish(mut self) -> RawSamples {
        if self.sampling.is_some() {
            self.take();
            self.raw.busy = thread_time().saturating_sub(self.start);
        }
        self.sampling = None;
        self.raw
    }
}

/// Processor time of this thread.
pub fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
