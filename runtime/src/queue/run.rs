//! A submission that has begun: what it runs, and how far it has got.

use super::slot::{Completion, Slot};
use super::state::QueueState;
use crate::exec::Stop;
use crate::prepared::{Begun, Consts, Template, Wide, Working};
use crate::stage::OwnedBatch;
use crate::{Error, Launch, Memory, Program, Report};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Dispatches of a batch between two looks at the clock.
const DISPATCHES: usize = 16;
/// How long a launch waits before it tries again to get the addresses of its segments, which another launch has.
const AGAIN: Duration = Duration::from_micros(100);

/// One launch of a submission.
pub struct Record {
    pub template: Arc<Template>,
    /// What differs from the launch that was prepared; `None`: it is one that is run once.
    pub changes: Option<Changes>,
}

/// The arguments of a dispatch.
pub struct Changes {
    pub args: Range<usize>,
    pub user_data: Range<usize>,
    pub grid: [u32; 3],
    pub blocks: Range<u64>,
    pub consts: Option<Arc<Consts>>,
}

/// A batch of a graphics stage.
pub struct StageJob {
    pub program: Program,
    pub memory: Memory,
    pub launch: Launch,
    pub batch: OwnedBatch,
}

/// What a submission runs.
#[derive(Default)]
pub struct Work {
    pub records: Vec<Record>,
    pub bytes: Vec<u8>,
    pub words: Vec<u32>,
    pub stage: Option<Box<StageJob>>,
}

impl Work {
    pub fn clear(&mut self) {
        self.records.clear();
        self.bytes.clear();
        self.words.clear();
        self.stage = None;
    }
}

/// A submission that has begun.
pub(super) struct Run {
    pub slot: Arc<Slot>,
    pub work: Work,
    /// The dispatch that is next or runs.
    pub at: usize,
    pub working: Option<Box<Working>>,
    /// Whether the dispatch has begun.
    pub begun: bool,
    pub report: Report,
    pub batch: Option<Box<OwnedBatch>>,
}

/// How far a thread has got with a submission.
#[expect(clippy::large_enum_variant, reason = "one exists at a time, for a moment")]
pub(super) enum Advance {
    Parked(Option<Instant>),
    Wide(Box<Wide>),
    End(Completion),
}

impl Run {
    /// Runs dispatches until `until`, or to the end.
    pub(super) fn advance(&mut self, queue: &Arc<QueueState>, until: Instant) -> Advance {
        if let Some(job) = self.work.stage.take() {
            return self.run_stage(queue, job);
        }
        loop {
            let Some(record) = self.work.records.get(self.at) else { return self.finish() };
            if self.report.fault.is_some() || self.report.cancelled {
                return self.finish();
            }
            let slot = self.slot.clone();
            let stop = Stop { cancel: Some(&slot.cancel), deadline: slot.deadline };
            if !self.begun && stop.is_asked() {
                self.report.cancelled = true;
                return self.finish();
            }
            if let Some(other) = self.working.take_if(|own| own.template().id != record.template.id) {
                queue.keep(other);
            }
            let working = match &mut self.working {
                Some(working) => working,
                None => {
                    let kept = record.changes.as_ref().and_then(|_| queue.take_kept(record.template.id));
                    let made = match kept {
                        Some(working) => Ok(working),
                        None => Working::new(record.template.clone()).map(Box::new),
                    };
                    match made {
                        Ok(working) => self.working.insert(working),
                        Err(error) => return Advance::End(Err(error)),
                    }
                }
            };
            if working.is_special() {
                // It is not put aside.
                let Template { program, memory, launch, .. } = &*record.template;
                let own = launch.cancel.clone().unwrap_or_default();
                let cancel = own.joined(&slot.cancel, slot.deadline);
                let launch = Launch { cancel: Some(cancel), ..launch.clone() };
                match queue.engine.run_if_free(program, memory, &launch, None) {
                    Err(error) => return Advance::End(Err(error)),
                    Ok(None) => return Advance::Parked(Some(Instant::now() + AGAIN)),
                    Ok(Some(report)) => self.add(report),
                }
                continue;
            }
            if !self.begun {
                let set = match &record.changes {
                    None => Ok(()),
                    Some(Changes { args, user_data, grid, blocks, consts }) => {
                        let given = (&self.work.bytes[args.clone()], &self.work.words[user_data.clone()]);
                        working.apply(given, (*grid, blocks), consts.as_ref())
                    }
                };
                // It does not wait for another launch, which may need this very thread.
                match set.and_then(|()| working.begin(&|| true)) {
                    Err(error) => return Advance::End(Err(error)),
                    Ok(Begun::Later) => return Advance::Parked(Some(Instant::now() + AGAIN)),
                    Ok(Begun::Cancelled) => {
                        self.report.cancelled = true;
                        return self.finish();
                    }
                    Ok(Begun::Yes) => self.begun = true,
                }
            }
            if !working.is_alone() {
                return Advance::Wide(Box::new(working.widen(&slot.cancel, slot.deadline)));
            }
            match working.go_on(Some(until), stop) {
                None => return Advance::Parked(None),
                Some(report) => self.add(report),
            }
            if self.at.is_multiple_of(DISPATCHES)
                && self.at < self.work.records.len()
                && Instant::now() >= until
            {
                return Advance::Parked(None);
            }
        }
    }

    /// Adds what a dispatch has done.
    pub(super) fn add(&mut self, report: Report) {
        self.begun = false;
        self.at += 1;
        if self.work.records.len() == 1 {
            self.report = report;
        } else {
            self.report.add(report);
        }
    }

    fn finish(&mut self) -> Advance {
        if self.report.cancelled && self.at == 0 {
            let late = self.slot.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let late = late && !self.slot.cancel.is_cancelled();
            return Advance::End(Err(if late { Error::Deadline } else { Error::Cancelled }));
        }
        Advance::End(Ok(std::mem::take(&mut self.report)))
    }

    /// Runs a batch of a graphics stage to its end.
    fn run_stage(&mut self, queue: &QueueState, mut job: Box<StageJob>) -> Advance {
        let StageJob { program, memory, launch, batch } = &mut *job;
        let own = launch.cancel.clone().unwrap_or_default();
        let cancel = own.joined(&self.slot.cancel, self.slot.deadline);
        let launch = Launch { cancel: Some(cancel), ..launch.clone() };
        let done = batch.with(|batch| queue.engine.run_if_free(program, memory, &launch, Some(batch)));
        let completion = match done {
            Ok(None) => {
                self.work.stage = Some(job);
                return Advance::Parked(Some(Instant::now() + AGAIN));
            }
            Ok(Some(report)) => Ok(report),
            Err(error) => Err(error),
        };
        self.batch = Some(Box::new(job.batch));
        self.at = 1;
        Advance::End(completion)
    }
}
