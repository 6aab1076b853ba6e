//! A submission in a queue, and the ticket by which it is known.

use super::run::Work;
use super::state::QueueState;
use crate::exec::lanes::TimerKey;
use crate::fork;
use crate::stage::OwnedBatch;
use crate::{CancelToken, DependencyError, Error, Report};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// What comes of a submission.
pub type Completion = Result<Report, Error>;

/// Called with what has come of a submission.
pub type Callback = Box<dyn FnOnce(&Completion) + Send>;

/// How far a submission is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Waiting,
    Running,
    Done,
}

/// What a [`Slot`] holds.
pub struct Inside {
    pub phase: Phase,
    completion: Option<Completion>,
    /// Callbacks have been called.
    settled: bool,
    callbacks: Vec<Callback>,
    /// Queues whose next submission waits for this one.
    followers: Vec<Weak<QueueState>>,
    /// What a function of the embedder has panicked with.
    panic: Option<Box<dyn Any + Send>>,
    /// The thread that calls callbacks.
    calling: Option<ThreadId>,
    /// The timer of its deadline, until it has ended.
    pub timer: Option<TimerKey>,
    /// What is to be run, until it runs.
    pub work: Work,
    /// Submissions that have to be done before.
    pub after: Vec<Ticket>,
    /// Dispatches that have ended.
    pub dispatches: usize,
    /// The arrays of a batch, when it has been run.
    pub batch: Option<Box<OwnedBatch>>,
}

impl Inside {
    /// See [`Slot::is_settled`].
    fn is_settled(&self) -> bool {
        let is_mine = || self.calling == Some(std::thread::current().id());
        self.settled || self.phase == Phase::Done && is_mine()
    }
}

thread_local! {
    /// Callbacks that this thread is in.
    static CALLBACKS: Cell<usize> = const { Cell::new(0) };
}

/// A submission. Its storage is used again for another one once nobody has a ticket.
pub struct Slot {
    inside: Mutex<Inside>,
    changed: Condvar,
    /// Asks it to stop.
    pub cancel: CancelToken,
    pub deadline: Option<Instant>,
    queue: Weak<QueueState>,
    process: u64,
}

impl crate::exec::lanes::Expires for Slot {
    fn expire(self: Arc<Self>) {
        Slot::expire(&self);
    }
}

impl Slot {
    pub fn new(queue: Weak<QueueState>) -> Slot {
        Slot {
            inside: Mutex::new(Inside {
                phase: Phase::Waiting,
                completion: None,
                settled: false,
                callbacks: Vec::new(),
                followers: Vec::new(),
                panic: None,
                calling: None,
                timer: None,
                work: Work::default(),
                after: Vec::new(),
                dispatches: 0,
                batch: None,
            }),
            changed: Condvar::new(),
            cancel: CancelToken::new(),
            deadline: None,
            queue,
            process: fork::generation(),
        }
    }

    /// Makes it ready for another submission; nobody else has it.
    pub fn reuse(&mut self) {
        self.cancel.renew();
        self.deadline = None;
        let inside = self.inside.get_mut().unwrap_or_else(PoisonError::into_inner);
        inside.phase = Phase::Waiting;
        inside.completion = None;
        inside.settled = false;
        inside.callbacks.clear();
        inside.followers.clear();
        inside.panic = None;
        inside.calling = None;
        inside.timer = None;
        inside.work.clear();
        inside.after.clear();
        inside.dispatches = 0;
        inside.batch = None;
    }

    /// What it holds, before anybody else has it.
    pub fn inside_mut(&mut self) -> &mut Inside {
        self.inside.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_callbacks(&mut self, callbacks: Vec<Callback>) {
        self.inside_mut().callbacks = callbacks;
    }

    pub fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it belongs to the process before a `fork`. Its lock may be held for ever then.
    fn is_lost(&self) -> bool {
        self.process != fork::generation()
    }

    /// Begins it. `false`: it has been ended meanwhile.
    pub fn begin(&self) -> bool {
        let mut inside = self.lock();
        let begins = inside.phase == Phase::Waiting;
        if begins {
            inside.phase = Phase::Running;
        }
        begins
    }

    /// Whether it has ended.
    pub fn is_done(&self) -> bool {
        self.is_lost() || self.lock().phase == Phase::Done
    }

    /// Whether this thread need not wait for it: its callbacks have been called, or it is calling them itself.
    pub fn is_settled(&self) -> bool {
        self.is_lost() || self.lock().is_settled()
    }

    /// The same, but in a callback it need not wait for callbacks of others, which may wait for this one.
    pub fn is_settled_for_caller(&self) -> bool {
        if CALLBACKS.get() > 0 { self.is_done() } else { self.is_settled() }
    }

    /// Whether all that it waits for has ended: then why it must not run, if that is so. Otherwise the queue is told when one of
    /// them ends.
    pub fn may_begin(&self, queue: &Arc<QueueState>) -> Option<Result<(), Error>> {
        let inside = self.lock();
        let mut failed = Ok(());
        for ticket in &inside.after {
            if ticket.0.is_lost() {
                return Some(Err(DependencyError::OtherProcess.into()));
            }
            let mut other = ticket.0.lock();
            if other.phase != Phase::Done {
                let queue = Arc::downgrade(queue);
                if !other.followers.iter().any(|known| known.ptr_eq(&queue)) {
                    other.followers.push(queue);
                }
                return None;
            }
            if failed.is_ok() {
                failed = why_failed(other.completion.as_ref());
            }
        }
        Some(failed)
    }

    /// Ends it: tells queues that wait for it, calls callbacks, and wakes those that wait. Not under any lock.
    pub fn end(&self, completion: Completion, panic: Option<Box<dyn Any + Send>>) {
        let mut inside = self.lock();
        if inside.phase == Phase::Done {
            return;
        }
        inside.phase = Phase::Done;
        inside.completion = Some(completion.clone());
        inside.panic = panic;
        inside.work.clear();
        // Otherwise a chain of submissions would keep all that came before it.
        let after = std::mem::take(&mut inside.after);
        let followers = std::mem::take(&mut inside.followers);
        let callbacks = std::mem::take(&mut inside.callbacks);
        let timer = inside.timer.take();
        let settles = followers.is_empty() && callbacks.is_empty();
        inside.settled = settles;
        inside.calling = (!settles).then(|| std::thread::current().id());
        drop(inside);
        drop(after);
        if let (Some(timer), Some(queue)) = (timer, self.queue.upgrade()) {
            queue.forget(timer);
        }
        self.changed.notify_all();
        if settles {
            return;
        }
        if !callbacks.is_empty()
            && let Some(queue) = self.queue.upgrade()
        {
            // Callbacks may take long, or wait for what is next in the queue: it goes on meanwhile.
            queue.stir();
        }
        for queue in followers.iter().filter_map(Weak::upgrade) {
            queue.stir();
        }
        for callback in callbacks {
            self.call(callback, &completion);
            if self.is_lost() {
                // It has forked: the child has lost the submission.
                return;
            }
        }
        let mut inside = self.lock();
        inside.calling = None;
        inside.settled = true;
        drop(inside);
        self.changed.notify_all();
    }

    fn call(&self, callback: Callback, completion: &Completion) {
        CALLBACKS.set(CALLBACKS.get() + 1);
        let called = catch_unwind(AssertUnwindSafe(|| callback(completion)));
        CALLBACKS.set(CALLBACKS.get() - 1);
        if let Err(payload) = called
            && !self.is_lost()
        {
            self.lock().panic.get_or_insert(payload);
        }
    }

    /// Ends it if it has not begun.
    fn end_early(self: &Arc<Self>, error: Error) {
        if !self.lock().phase.eq(&Phase::Waiting) {
            return;
        }
        let process = fork::generation();
        let queue = self.queue.upgrade();
        // Others take it out of the queue before its callbacks have been called.
        queue.iter().for_each(|queue| queue.add_ending(self));
        // Another thread may begin it just now; then its own polls stop it.
        let begins = self.begin();
        if begins {
            self.end(Err(error), None);
        }
        if process != fork::generation() {
            return;
        }
        let Some(queue) = queue else { return };
        queue.remove_ending(self);
        if begins {
            queue.stir();
        }
    }

    /// Ends it if its deadline has passed before it has begun.
    pub fn expire(self: &Arc<Self>) {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.end_early(Error::Deadline);
        }
    }

    /// Asks it to stop, or ends it if it has not begun.
    pub fn stop(self: &Arc<Self>) {
        self.cancel.cancel();
        self.end_early(Error::Cancelled);
    }
}

/// Why what waits for this must not run.
fn why_failed(completion: Option<&Completion>) -> Result<(), Error> {
    match completion {
        Some(Ok(report)) => match &report.fault {
            Some(fault) => Err(DependencyError::Faulted { source: Box::new(fault.clone()) }.into()),
            None if report.cancelled => Err(DependencyError::Stopped.into()),
            None => Ok(()),
        },
        Some(Err(error)) => Err(DependencyError::Failed { source: Box::new(error.clone()) }.into()),
        None => Err(DependencyError::Stopped.into()),
    }
}

/// A submission of a [`crate::Queue`]. Clones name the same one. It may be dropped; the submission goes on.
///
/// In a child of `fork`, tickets of the parent are cancelled.
#[derive(Clone)]
pub struct Ticket(pub(super) Arc<Slot>);

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("done", &self.poll()).finish()
    }
}

impl Ticket {
    /// Whether it is done, its callbacks included.
    pub fn poll(&self) -> bool {
        self.0.is_lost() || self.0.lock().settled
    }

    /// Waits until it is done, and gives its report. Also in a callback and on threads in [`crate::Engine::work`]: they do other work
    /// meanwhile.
    ///
    /// # Errors
    /// What [`crate::Engine::run`] refuses; and [`Error::Cancelled`], [`Error::Deadline`] and [`Error::Dependency`] if it has not begun
    /// for that reason.
    ///
    /// # Panics
    /// With what a callback has panicked with; once.
    pub fn wait(&self) -> Completion {
        self.wait_until(None).unwrap_or(Err(Error::Cancelled))
    }

    /// The same for at most so long; `None`: it is not done yet.
    ///
    /// # Panics
    /// As [`Ticket::wait`].
    pub fn wait_timeout(&self, time: Duration) -> Option<Completion> {
        self.wait_until(Instant::now().checked_add(time))
    }

    /// Its report, if it is done ([`Ticket::wait`]).
    ///
    /// # Panics
    /// As [`Ticket::wait`].
    pub fn report(&self) -> Option<Completion> {
        self.wait_until(Some(Instant::now()))
    }

    /// Waits until it is done, without taking what comes of it.
    fn settle(&self, until: Option<Instant>) -> bool {
        self.settle_as(until, &Inside::is_settled)
    }

    /// Waits until [`Slot::is_settled_for_caller`].
    pub(super) fn settle_for_caller(&self) {
        let is_done = |inside: &Inside| inside.phase == Phase::Done;
        self.settle_as(None, if CALLBACKS.get() > 0 { &is_done } else { &Inside::is_settled });
    }

    fn settle_as(&self, until: Option<Instant>, is_done: &dyn Fn(&Inside) -> bool) -> bool {
        if self.0.is_lost() {
            return true;
        }
        let is_over = || self.0.is_lost() || is_done(&self.0.lock());
        if let Some(pool) = self.0.queue.upgrade().and_then(|queue| queue.pool_to_help()) {
            let far = Instant::now() + Duration::from_secs(1 << 30);
            while !is_over() && until.is_none_or(|until| Instant::now() < until) {
                pool.work(until.unwrap_or(far), &is_over);
            }
        }
        // What it worked on may have forked.
        if self.0.is_lost() {
            return true;
        }
        let mut inside = self.0.lock();
        while !is_done(&inside) {
            let Some(until) = until else {
                inside = self.0.changed.wait(inside).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let Some(time) = until.checked_duration_since(Instant::now()).filter(|time| !time.is_zero())
            else {
                return false;
            };
            inside = self.0.changed.wait_timeout(inside, time).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn wait_until(&self, until: Option<Instant>) -> Option<Completion> {
        if self.0.is_lost() {
            return Some(Err(Error::Cancelled));
        }
        if !self.settle(until) {
            return None;
        }
        if self.0.is_lost() {
            return Some(Err(Error::Cancelled));
        }
        let mut inside = self.0.lock();
        if let Some(payload) = inside.panic.take() {
            drop(inside);
            resume_unwind(payload);
        }
        inside.completion.clone()
    }

    /// Ends it soon if it runs; if it has not begun, it is done at once ([`Error::Cancelled`]).
    pub fn cancel(&self) {
        if !self.0.is_lost() {
            self.0.stop();
        }
    }

    /// How many of its dispatches have ended: of a batch any number, else 1 at the end.
    pub fn dispatches(&self) -> usize {
        if self.0.is_lost() { 0 } else { self.0.lock().dispatches }
    }

    /// The arrays of a batch of a graphics stage ([`crate::Submission::stage`]), once it is done; once.
    pub fn take_batch(&self) -> Option<OwnedBatch> {
        if self.0.is_lost() {
            return None;
        }
        self.0.lock().batch.take().map(|batch| *batch)
    }

    /// Calls a function when it is done, on the thread that has ended it; at once on this one if it is done already. A panic in it comes
    /// out where somebody waits.
    pub fn on_complete(&self, callback: impl FnOnce(&Completion) + Send + 'static) {
        if self.0.is_lost() {
            return callback(&Err(Error::Cancelled));
        }
        let mut inside = self.0.lock();
        if inside.phase != Phase::Done {
            inside.callbacks.push(Box::new(callback));
            return;
        }
        let completion = inside.completion.clone().unwrap_or(Err(Error::Cancelled));
        drop(inside);
        callback(&completion);
    }
}
