//! What a queue holds, and how threads serve it: they begin its next submission, go on with the one that was put aside, or help with a
//! launch of many blocks.

use super::Priority;
use super::run::{Advance, Run};
use super::slot::{Completion, Slot};
use crate::exec::lanes::{Served, Timer, TimerKey};
use crate::exec::pool::{Pool, is_at_work};
use crate::prepared::{Wide, Working};
use crate::{Engine, Error, Report, fork};
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// Prepared launches that a queue keeps storage for.
const MOST_KEPT: usize = 256;
/// Slots kept for other submissions.
const MOST_SLOTS: usize = 64;

/// A launch of many blocks that threads serve.
struct WideRun {
    run: Box<Run>,
    wide: Arc<Wide>,
    inside: usize,
    panic: Option<Box<dyn Any + Send>>,
}

/// The submission that has begun and not ended.
#[derive(Default)]
enum Current {
    #[default]
    None,
    /// A thread is at it.
    Taken,
    /// It waits for a thread, until then at least.
    Parked(Box<Run>, Option<Instant>),
    Wide(WideRun),
}

#[derive(Default)]
struct Inner {
    entries: VecDeque<Arc<Slot>>,
    current: Current,
    /// The slot of `current`.
    running: Option<Arc<Slot>>,
    /// Slots that are in no other place and whose callbacks may not have been called yet.
    ending: Vec<Arc<Slot>>,
    free: Vec<Arc<Slot>>,
    /// Storage for prepared launches, by their templates.
    kept: HashMap<u64, Box<Working>>,
    /// Nothing more will be submitted.
    dropped: bool,
}

/// What a thread does next in a queue.
enum Step {
    Run(Box<Run>),
    Serve(Arc<Wide>),
    /// The next submission must not run.
    End(Arc<Slot>, Error),
    Nothing,
}

/// A queue of an engine.
pub struct QueueState {
    pub(super) engine: Engine,
    priority: Priority,
    inner: Mutex<Inner>,
}

impl Served for QueueState {
    fn wants(self: Arc<Self>) -> (bool, Option<Instant>) {
        QueueState::wants(&self)
    }

    fn priority(&self) -> Priority {
        self.priority()
    }

    fn is_taken_on(&self) -> bool {
        self.is_taken_on()
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }

    fn serve(self: Arc<Self>, until: Instant) {
        QueueState::serve(&self, until);
    }
}

impl QueueState {
    pub fn new(engine: Engine, priority: Priority) -> Arc<QueueState> {
        Arc::new(QueueState { engine, priority, inner: Mutex::default() })
    }

    pub fn priority(&self) -> Priority {
        self.priority
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the storage of a prepared launch, if the queue has some.
    pub(super) fn take_kept(&self, id: u64) -> Option<Box<Working>> {
        self.lock().kept.remove(&id)
    }

    /// Keeps the storage of a prepared launch for its next dispatch.
    pub(super) fn keep(&self, working: Box<Working>) {
        let mut dropped = Vec::new();
        self.lock().keep(working, &mut dropped);
    }

    /// The pool, if the calling thread has to work while it waits: nobody else does, or it is one of those that others wait for.
    pub fn pool_to_help(&self) -> Option<Arc<Pool>> {
        let pool = &self.engine.pool;
        (pool.is_embedders() || is_at_work()).then(|| pool.clone())
    }

    /// A slot for a submission, for which storage is reused if there is some.
    pub fn slot(self: &Arc<Self>) -> Arc<Slot> {
        let mut inner = self.lock();
        let unused = inner.free.iter_mut().position(|slot| Arc::get_mut(slot).is_some());
        let reused = unused.map(|at| inner.free.swap_remove(at));
        drop(inner);
        if let Some(mut slot) = reused
            && let Some(own) = Arc::get_mut(&mut slot)
        {
            own.reuse();
            return slot;
        }
        Arc::new(Slot::new(Arc::downgrade(self)))
    }

    /// Appends a submission.
    pub fn push(self: &Arc<Self>, slot: Arc<Slot>) {
        if let Some(when) = slot.deadline {
            let weak: Weak<Slot> = Arc::downgrade(&slot);
            let timer = Timer::Expire(weak);
            let timer = self.engine.pool.with_lanes(|lanes| lanes.at(when, timer));
            slot.lock().timer = Some(timer);
        }
        let mut inner = self.lock();
        inner.entries.push_back(slot);
        let first = inner.entries.len() == 1 && matches!(inner.current, Current::None);
        drop(inner);
        if first {
            self.stir();
        }
    }

    /// Looks whether there is something to run now, and finds a thread for it.
    pub fn stir(self: &Arc<Self>) {
        let served: Arc<dyn Served> = self.clone();
        self.engine.pool.with_lanes(|lanes| lanes.stir(&served));
    }

    /// Forgets the timer of a submission that has ended.
    pub fn forget(&self, timer: TimerKey) {
        self.engine.pool.forget(timer);
    }

    /// Whether a thread would find something to do, and when to look again.
    pub fn wants(self: &Arc<Self>) -> (bool, Option<Instant>) {
        let mut inner = self.lock();
        match &inner.current {
            Current::Taken => (false, None),
            Current::Wide(wide) => (wide.panic.is_none() && wide.wide.has_work(wide.inside), None),
            Current::Parked(_, Some(when)) if Instant::now() < *when => (false, Some(*when)),
            Current::Parked(..) => (true, None),
            Current::None => {
                while inner.entries.front().is_some_and(|slot| slot.is_done()) {
                    inner.entries.pop_front();
                }
                (inner.entries.front().is_some_and(|slot| slot.may_begin(self).is_some()), None)
            }
        }
    }

    /// Whether one more thread would find something to do after one that is about to come.
    pub fn is_taken_on(&self) -> bool {
        matches!(&self.lock().current, Current::Wide(wide) if wide.wide.has_work(wide.inside + 1))
    }

    /// Whether nothing is left and nothing will come.
    pub fn is_finished(&self) -> bool {
        let inner = self.lock();
        inner.dropped && inner.entries.is_empty() && matches!(inner.current, Current::None)
    }

    /// Says that nothing more is submitted. `cancel`: and what there is must end.
    pub fn close(self: &Arc<Self>, cancel: bool) {
        let mut inner = self.lock();
        inner.dropped = true;
        let all: Vec<Arc<Slot>> = inner.running.iter().chain(&inner.entries).cloned().collect();
        drop(inner);
        if cancel {
            // The last first: the end of what runs must not let begin what is about to be cancelled.
            all.iter().rev().for_each(|slot| slot.stop());
        }
        self.stir();
    }

    /// A submission that has not ended, or whose callbacks another thread calls.
    pub fn unfinished(&self) -> Option<Arc<Slot>> {
        let inner = self.lock();
        let mut all = inner.ending.iter().chain(&inner.running).chain(&inner.entries);
        all.find(|slot| !slot.is_settled_for_caller()).cloned()
    }

    /// Notes a slot that is about to end.
    pub fn add_ending(&self, slot: &Arc<Slot>) {
        self.lock().ending.push(slot.clone());
    }

    /// The slot has ended, or has not.
    pub fn remove_ending(&self, slot: &Arc<Slot>) {
        self.lock().remove_ending(slot);
    }

    /// Serves the queue until `until`, or as long as there is something.
    pub fn serve(self: &Arc<Self>, until: Instant) {
        let process = fork::generation();
        crate::vm::on_enough_stack(|| {
            loop {
                match self.next() {
                    Step::Nothing => return,
                    Step::End(slot, error) => {
                        if slot.begin() {
                            slot.end(Err(error), None);
                        }
                        if process == fork::generation() {
                            self.remove_ending(&slot);
                        }
                    }
                    Step::Run(run) => self.go_on(run, until),
                    Step::Serve(wide) => self.serve_wide(wide, until),
                }
                if process != fork::generation() || Instant::now() >= until {
                    return;
                }
            }
        });
    }

    fn next(self: &Arc<Self>) -> Step {
        let mut inner = self.lock();
        match std::mem::replace(&mut inner.current, Current::Taken) {
            Current::Taken => Step::Nothing,
            Current::Parked(run, when) => {
                if when.is_some_and(|when| Instant::now() < when) {
                    inner.current = Current::Parked(run, when);
                    return Step::Nothing;
                }
                Step::Run(run)
            }
            Current::Wide(mut wide) => {
                let helps = wide.panic.is_none() && wide.wide.has_work(wide.inside);
                let step = if helps { Step::Serve(wide.wide.clone()) } else { Step::Nothing };
                wide.inside += usize::from(helps);
                inner.current = Current::Wide(wide);
                step
            }
            Current::None => {
                inner.current = Current::None;
                loop {
                    let Some(slot) = inner.entries.front() else { return Step::Nothing };
                    if slot.is_done() {
                        let slot = inner.entries.pop_front();
                        inner.free.extend(slot);
                        inner.free.truncate(MOST_SLOTS);
                        continue;
                    }
                    let may = match slot.may_begin(self) {
                        None => return Step::Nothing,
                        Some(may) => may,
                    };
                    let Some(slot) = inner.entries.pop_front() else { return Step::Nothing };
                    let late = slot.deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    if let Err(error) = may.and(if late { Err(Error::Deadline) } else { Ok(()) }) {
                        inner.ending.push(slot.clone());
                        return Step::End(slot, error);
                    }
                    if !slot.begin() {
                        continue;
                    }
                    let work = std::mem::take(&mut slot.lock().work);
                    inner.current = Current::Taken;
                    inner.running = Some(slot.clone());
                    return Step::Run(Box::new(Run {
                        slot,
                        work,
                        at: 0,
                        working: None,
                        begun: false,
                        report: Report::default(),
                        batch: None,
                    }));
                }
            }
        }
    }

    /// Goes on with a submission that this thread has taken.
    fn go_on(self: &Arc<Self>, mut run: Box<Run>, until: Instant) {
        let process = fork::generation();
        let advance = catch_unwind(AssertUnwindSafe(|| run.advance(self, until)));
        if process != fork::generation() {
            // A function of the embedder has forked: the child has lost the queue.
            std::mem::forget(run);
            return;
        }
        match advance {
            Ok(Advance::Parked(when)) => self.lock().current = Current::Parked(run, when),
            Ok(Advance::Wide(wide)) => {
                let wide = Arc::from(wide);
                let own = Arc::clone(&wide);
                self.lock().current = Current::Wide(WideRun { run, wide, inside: 1, panic: None });
                // Others may come.
                self.stir();
                self.serve_wide(own, until);
            }
            Ok(Advance::End(completion)) => self.end(run, completion, None),
            Err(payload) => {
                if let Some(working) = &mut run.working {
                    working.give_up();
                }
                run.working = None;
                self.end(run, Err(Error::Panicked), Some(payload));
            }
        }
    }

    /// Serves a launch of many blocks that this thread has been counted in.
    fn serve_wide(self: &Arc<Self>, wide: Arc<Wide>, until: Instant) {
        let process = fork::generation();
        let served = catch_unwind(AssertUnwindSafe(|| wide.serve(until)));
        if process != fork::generation() {
            std::mem::forget(wide);
            return;
        }
        let is_over = wide.is_over();
        drop(wide);
        let mut inner = self.lock();
        let Current::Wide(own) = &mut inner.current else { return };
        own.inside -= 1;
        if let Err(payload) = served {
            own.run.slot.cancel.cancel();
            own.panic.get_or_insert(payload);
        }
        if own.inside > 0 || !(is_over || own.panic.is_some()) {
            return;
        }
        let Current::Wide(ended) = std::mem::replace(&mut inner.current, Current::Taken) else { return };
        drop(inner);
        let WideRun { mut run, wide, panic, .. } = ended;
        let outcome = Arc::into_inner(wide).map(|wide| wide.outcome());
        if let Some(payload) = panic {
            run.working = None;
            return self.end(run, Err(Error::Panicked), Some(payload));
        }
        if let (Some(outcome), Some(working)) = (outcome, &mut run.working) {
            let report = working.end(outcome);
            run.add(report);
        }
        // The loop of `serve` goes on with it: a batch may have any number of such dispatches.
        self.lock().current = Current::Parked(run, None);
    }

    /// Ends a submission, and makes room for the next one.
    fn end(self: &Arc<Self>, run: Box<Run>, completion: Completion, panic: Option<Box<dyn Any + Send>>) {
        let Run { slot, work, at, mut working, batch, .. } = *run;
        let mut inside = slot.lock();
        inside.dispatches = at;
        inside.work = work;
        inside.batch = batch;
        drop(inside);
        let mut dropped = Vec::new();
        let mut inner = self.lock();
        inner.current = Current::None;
        inner.running = None;
        if let Some(working) = working.take() {
            inner.keep(working, &mut dropped);
        }
        inner.ending.push(slot.clone());
        drop(inner);
        drop(dropped);
        let process = fork::generation();
        slot.end(completion, panic);
        if process != fork::generation() {
            // A callback has forked: the child has lost the queue.
            std::mem::forget(slot);
            return;
        }
        let mut inner = self.lock();
        inner.remove_ending(&slot);
        if inner.free.len() < MOST_SLOTS {
            inner.free.push(slot);
        }
    }
}

impl Inner {
    /// Takes one entry of the slot out; another thread may have noted it, too.
    fn remove_ending(&mut self, slot: &Arc<Slot>) {
        if let Some(at) = self.ending.iter().position(|other| Arc::ptr_eq(other, slot)) {
            self.ending.swap_remove(at);
        }
    }

    /// Keeps the storage of a prepared launch for its next dispatch. What has to go is added to `dropped`.
    #[expect(clippy::vec_box, reason = "they are kept in boxes, which move from list to list")]
    fn keep(&mut self, working: Box<Working>, dropped: &mut Vec<Box<Working>>) {
        // Nobody can submit it again.
        if self.dropped || Arc::strong_count(working.template()) == 1 {
            dropped.push(working);
            return;
        }
        if self.kept.len() >= MOST_KEPT {
            #[expect(clippy::borrowed_box, reason = "what a list of boxes gives")]
            let unused = |working: &Box<Working>| Arc::strong_count(working.template()) == 1;
            let gone: Vec<u64> = self.kept.iter().filter(|(_, w)| unused(w)).map(|(id, _)| *id).collect();
            let gone = if gone.is_empty() { self.kept.keys().take(1).copied().collect() } else { gone };
            dropped.extend(gone.iter().filter_map(|id| self.kept.remove(id)));
        }
        self.kept.insert(working.template().id, working);
    }
}
