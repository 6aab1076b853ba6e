//! The engine's compiler threads, which compile code while launches run.
//!
//! They start with jobs and end with the engine. Then waiting jobs are dropped, and those at work are finished first,
//! because a code generator cannot be interrupted. A job does not keep its program alive; if the program is gone, the job does
//! nothing. Jobs that a launch has asked for come before storing what was compiled, which comes before those that were asked for ahead of
//! any launch ([`crate::Compilation`]). A child of `fork` has threads and a queue of its own ([`crate::fork`]) and asks for its code again.
//!
//! The queue has a length ([`crate::Config::compiler_queue`]) but drops nothing: whoever finds it full compiles himself.

use crate::fork::PerProcess;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A job: called once, or dropped without being called.
pub type Job = Box<dyn FnOnce() + Send>;

/// What the engine's settings say of the threads.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many there are at most.
    pub threads: usize,
    /// Their nice value; 0: that of the process.
    pub nice: i32,
    /// Most jobs of launches that wait.
    pub waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { threads: 1, nice: 0, waiting: usize::MAX }
    }
}

#[derive(Default)]
struct Queue {
    /// What launches have asked for.
    jobs: VecDeque<Job>,
    /// Storing what was compiled.
    saves: VecDeque<Job>,
    /// What was asked for ahead of launches.
    ahead: VecDeque<Job>,
    /// Jobs of launches, and saves, that are being done.
    busy: usize,
    /// Threads that wait for a job.
    idle: usize,
    closed: bool,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    idle: Condvar,
}

/// The threads and what waits for them.
#[derive(Default)]
pub struct Background {
    limits: Limits,
    shared: PerProcess<Arc<Shared>>,
}

/// Appends saves to the queue of an engine, if that still exists.
#[derive(Clone)]
pub struct Saver(Weak<Shared>);

impl Saver {
    /// Appends one. `false`: the engine ends, or has no thread.
    pub fn push(&self, save: Job) -> bool {
        let Some(shared) = self.0.upgrade() else { return false };
        let mut queue = lock(&shared);
        if queue.closed || queue.threads.is_empty() {
            return false;
        }
        queue.saves.push_back(save);
        drop(queue);
        shared.wake.notify_one();
        true
    }
}

impl Queue {
    /// Whether nothing of launches is left to do.
    fn is_idle(&self) -> bool {
        self.busy == 0 && self.jobs.is_empty() && self.saves.is_empty()
    }
}

/// Bytes of a thread's stack, whatever the environment says.
const STACK_BYTES: usize = 4 << 20;

impl std::fmt::Debug for Background {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Background")
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Queue> {
    shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Background {
    /// No thread yet.
    pub fn new(limits: Limits) -> Background {
        Background { limits, shared: PerProcess::default() }
    }

    /// Appends a job of a launch if there is room, and returns whether there was. `make` is called only then, under the queue's
    /// lock.
    pub fn push(&self, make: impl FnOnce() -> Job) -> bool {
        let shared = self.shared.get();
        let mut queue = lock(shared);
        if queue.jobs.len() >= self.limits.waiting || !self.have_thread(shared, &mut queue) {
            return false;
        }
        queue.jobs.push_back(make());
        drop(queue);
        shared.wake.notify_one();
        true
    }

    /// Appends a job that no launch waits for. It is given back if the system has no thread for it.
    pub fn push_ahead(&self, job: Job) -> Result<(), Job> {
        let shared = self.shared.get();
        let mut queue = lock(shared);
        if !self.have_thread(shared, &mut queue) {
            return Err(job);
        }
        queue.ahead.push_back(job);
        drop(queue);
        shared.wake.notify_one();
        Ok(())
    }

    /// Appends a save. `false`: the system has no thread for it.
    pub fn push_save(&self, save: Job) -> bool {
        let shared = self.shared.get();
        let made = self.have_thread(shared, &mut lock(shared));
        made && self.saver().push(save)
    }

    /// Appends saves for jobs that end later.
    pub fn saver(&self) -> Saver {
        Saver(Arc::downgrade(self.shared.get()))
    }

    /// Starts one more thread if all are at work and there may be more. Returns whether there is any.
    fn have_thread(&self, shared: &Arc<Shared>, queue: &mut Queue) -> bool {
        let waiting = queue.jobs.len() + queue.saves.len() + queue.ahead.len();
        if queue.idle <= waiting && queue.threads.len() < self.limits.threads {
            self.start_thread(shared, queue);
        }
        !queue.threads.is_empty()
    }

    /// `false`: the system gives no more threads. It perhaps does later.
    fn start_thread(&self, shared: &Arc<Shared>, queue: &mut Queue) -> bool {
        let (own, nice) = (shared.clone(), self.limits.nice);
        let thread = std::thread::Builder::new().name("warpjit-compile".into()).stack_size(STACK_BYTES);
        let started = thread.spawn(move || work(&own, nice)).map(|thread| queue.threads.push(thread));
        started.is_ok()
    }

    /// Waits until all jobs of launches are done, and what they have made is stored.
    pub fn wait(&self) {
        let shared = self.shared.get();
        let mut queue = lock(shared);
        while !queue.is_idle() {
            queue = shared.idle.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The same, for so long at most; then what waits is dropped, and what was compiled is stored on this thread. As nothing else is left to
    /// do, there are as many threads as `processors`, if jobs are there for them.
    pub fn settle(&self, time: Duration, processors: usize) {
        let shared = self.shared.get();
        let end = Instant::now() + time;
        let mut queue = lock(shared);
        for _ in queue.threads.len()..processors.min(queue.busy + queue.jobs.len()) {
            if !self.start_thread(shared, &mut queue) {
                break;
            }
        }
        while !queue.is_idle() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            queue = shared.idle.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let undone = (std::mem::take(&mut queue.jobs), std::mem::take(&mut queue.ahead));
        let saves = std::mem::take(&mut queue.saves);
        drop(queue);
        drop(undone);
        saves.into_iter().for_each(|save| save());
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let shared = self.shared.get();
        let mut queue = lock(shared);
        queue.closed = true;
        let undone = (
            std::mem::take(&mut queue.jobs),
            std::mem::take(&mut queue.saves),
            std::mem::take(&mut queue.ahead),
        );
        let threads = std::mem::take(&mut queue.threads);
        drop(queue);
        shared.wake.notify_all();
        // Not under the lock, because dropping a job may run arbitrary code.
        drop(undone);
        for thread in threads {
            if thread.thread().id() != std::thread::current().id() {
                // Its panics have been caught.
                let _ = thread.join();
            }
        }
    }
}

/// Gives the calling thread its nice value. A system that refuses it has the thread run as others do.
fn be_nice(nice: i32) {
    if nice != 0 {
        // On Linux this concerns the calling thread only.
        let _ = rustix::process::setpriority_process(None, nice);
    }
}

/// A thread's main loop.
fn work(shared: &Shared, nice: i32) {
    be_nice(nice);
    loop {
        let mut queue = lock(shared);
        let (job, of_launch) = loop {
            if queue.closed {
                return;
            }
            if let Some(job) = queue.jobs.pop_front() {
                break (job, true);
            }
            if let Some(save) = queue.saves.pop_front() {
                break (save, true);
            }
            if let Some(job) = queue.ahead.pop_front() {
                break (job, false);
            }
            queue.idle += 1;
            queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        };
        queue.busy += usize::from(of_launch);
        drop(queue);
        // A panic only concerns the job: its `Drop` informs those that wait for it.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        let mut queue = lock(shared);
        queue.busy -= usize::from(of_launch);
        if queue.is_idle() {
            shared.idle.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    #[test]
    fn jobs_are_done_in_order_and_waited_for() {
        let background = Background::default();
        let done = Arc::new(Mutex::new(Vec::new()));
        for number in 0..20 {
            let done = done.clone();
            assert!(background.push(|| Box::new(move || done.lock().unwrap().push(number))));
        }
        background.wait();
        assert_eq!(*done.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    /// Keeps the thread at a job until something is sent.
    fn busy(background: &Background) -> mpsc::Sender<()> {
        let (let_go, gate) = mpsc::channel::<()>();
        let (tell, begun) = mpsc::channel();
        let job = move || {
            tell.send(()).unwrap();
            let _ = gate.recv();
        };
        assert!(background.push(|| Box::new(job)));
        begun.recv().unwrap();
        let_go
    }

    #[test]
    fn saves_come_after_jobs_and_are_not_lost_at_the_end() {
        let background = Background::default();
        let let_go = busy(&background);
        let done = Arc::new(Mutex::new(Vec::new()));
        let note = |what: &'static str| {
            let done = done.clone();
            Box::new(move || done.lock().unwrap().push(what))
        };
        assert!(background.push_save(note("save")));
        assert!(background.push(|| note("job")));
        let saver = background.saver();
        let_go.send(()).unwrap();
        background.wait();
        assert_eq!(*done.lock().unwrap(), ["job", "save"]);

        // The thread is at a job that does not end: what waits is dropped, but what was made before is saved.
        let let_go = busy(&background);
        assert!(background.push(|| note("late job")));
        assert!(saver.push(note("late save")));
        background.settle(Duration::from_millis(1), 1);
        assert_eq!(*done.lock().unwrap(), ["job", "save", "late save"]);
        let_go.send(()).unwrap();
        background.wait();
        assert_eq!(done.lock().unwrap().len(), 3);
        drop(background);
        assert!(!saver.push(note("too late")));
    }

    #[test]
    fn at_the_end_all_processors_do_what_is_left() {
        let background = Background::new(Limits { threads: 1, ..Limits::default() });
        let together = Arc::new(std::sync::Barrier::new(3));
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let (together, done) = (together.clone(), done.clone());
            assert!(background.push(|| Box::new(move || {
                together.wait();
                done.fetch_add(1, Ordering::Relaxed);
            })));
        }
        background.settle(Duration::from_secs(60), 3);
        assert_eq!(done.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn the_queue_is_as_long_as_it_may_be_and_what_waits_at_the_end_is_dropped() {
        const MOST_JOBS: usize = 64;
        let background = Background::new(Limits { waiting: MOST_JOBS, ..Limits::default() });
        let let_go = busy(&background);
        // The thread is at the first job: of these none begins.
        let (done, held) = (Arc::new(AtomicUsize::new(0)), Arc::new(()));
        let mut taken = 0;
        for _ in 0..2 * MOST_JOBS {
            let (done, held) = (done.clone(), held.clone());
            taken += usize::from(background.push(|| {
                Box::new(move || {
                    let _held = held;
                    done.fetch_add(1, Ordering::Relaxed);
                })
            }));
        }
        assert_eq!(taken, MOST_JOBS);
        std::thread::scope(|scope| {
            let end = scope.spawn(move || drop(background));
            // The jobs go before the thread is waited for.
            while Arc::strong_count(&held) > 1 {
                std::thread::yield_now();
            }
            let_go.send(()).unwrap();
            end.join().unwrap();
        });
        assert_eq!(done.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_panic_ends_its_job_only() {
        let background = Background::default();
        background.push(|| Box::new(|| std::panic::resume_unwind(Box::new("expected"))));
        let (tell, told) = mpsc::channel();
        background.push(|| Box::new(move || tell.send(1).unwrap()));
        assert_eq!(told.recv(), Ok(1));
        background.wait();
    }

    #[test]
    fn jobs_run_on_as_many_threads_as_there_may_be_and_those_of_launches_first() {
        let background = Background::new(Limits { threads: 3, ..Limits::default() });
        let together = Arc::new(std::sync::Barrier::new(3));
        for _ in 0..3 {
            let together = together.clone();
            assert!(background.push(|| Box::new(move || {
                together.wait();
            })));
        }
        background.wait();
        let background = Background::default();
        let (let_go, gate) = mpsc::channel::<()>();
        let order = Arc::new(Mutex::new(Vec::new()));
        let tell = |number: u32| -> Job {
            let order = order.clone();
            Box::new(move || order.lock().unwrap().push(number))
        };
        assert!(background.push(|| Box::new(move || gate.recv().unwrap_or_default())));
        assert!(background.push_ahead(tell(2)).is_ok());
        assert!(background.push(|| tell(1)));
        let_go.send(()).unwrap();
        background.wait();
        assert_eq!(order.lock().unwrap().first(), Some(&1));
    }

    #[test]
    fn threads_have_the_nice_value_that_was_asked_for() {
        let background = Background::new(Limits { nice: 7, ..Limits::default() });
        let (tell, told) = mpsc::channel();
        background.push(|| Box::new(move || tell.send(rustix::process::getpriority_process(None)).unwrap()));
        assert_eq!(told.recv().unwrap().ok(), Some(7));
    }
}
