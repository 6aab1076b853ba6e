//! Host threads that help with launches and wait for the next one in between.
//!
//! Starting a thread takes longer than a short launch. So a thread starts when a launch first needs it, and ends with the engine.
//! After a launch it polls for the next one for a moment before it sleeps, because waking it would take as long.
//!
//! The same threads serve queues ([`crate::queue`]) while no launch wants them as helpers. What there is to serve, and who is next,
//! is in [`Lanes`], under the lock of the pool's own queue. If the embedder brings the threads ([`Idle::Embedder`]), they do the same in
//! [`Pool::work`].
//!
//! A child of `fork` has none of these threads: it finds an empty queue and starts its own ([`crate::fork`]). If a thread forks
//! inside a launch (in an embedder's function that the launch calls), the child has lost the helpers of that launch and does not
//! wait for them.

use super::cpus::{self, Sleeper, Taken};
use super::lanes::{Lanes, QUANTUM, Served, Timer, TimerKey};
use crate::Idle;
use crate::fork::{self, PerProcess};
use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Bounds on how long a thread polls before it sleeps: this is the shortest time, [`MOST_LOOK_OUT`] the longest.
///
/// In between, it polls as long as it has just worked, so that polling at most doubles the CPU time used. The lower
/// bound is the time it takes to wake a thread on an idle CPU. In a virtual machine that can take milliseconds.
const LEAST_LOOK_OUT: Duration = Duration::from_micros(50);
/// See [`LEAST_LOOK_OUT`].
const MOST_LOOK_OUT: Duration = Duration::from_millis(2);

/// The work of a launch, which each of its threads calls.
type Work<'a> = dyn Fn() + Sync + 'a;

/// A request to a helper to call a launch's work.
struct Job {
    work: &'static Work<'static>,
    launch: Arc<Launch>,
}

/// The state that the launching thread waits on.
struct Launch {
    /// Helpers that have begun and not ended. Decremented under the lock of `panic`.
    running: AtomicUsize,
    /// The panic payload of a helper.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    ended: Condvar,
    cpus: Mutex<Taken>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Number of threads.
    threads: usize,
    /// Helpers requested by all running launches together. No more threads than that are started; a thread that is late
    /// for one launch helps with the next.
    requested: usize,
    /// Threads that sleep.
    asleep: Vec<Sleeper>,
    /// Threads in [`Pool::work`] that sleep.
    guests: usize,
    /// What queues have to run, and what is to be done at a time.
    lanes: Lanes,
    /// The pool has been dropped.
    closed: bool,
}

/// See [`Pool`].
#[derive(Clone, Copy, Default)]
struct Settings {
    idle: Idle,
    threads: usize,
}

#[derive(Default)]
struct Shared {
    settings: OnceLock<Settings>,
    queue: Mutex<Queue>,
    /// Set if the queue may have jobs or is closed. Polled without the lock.
    stirred: AtomicBool,
    wake: Condvar,
}

/// Stack bytes of a helper, independent of the environment: enough for [`crate::vm::on_enough_stack`].
const STACK_BYTES: usize = 2 << 20;

/// Threads that help with launches.
#[derive(Default)]
pub struct Pool {
    /// Most threads for queues.
    threads: usize,
    idle: Idle,
    shared: PerProcess<Arc<Shared>>,
}

thread_local! {
    /// Whether this is a thread of a pool, or in [`Pool::work`].
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is a thread of a pool, or of the embedder and in [`Pool::work`]. If it waited, work might wait for it.
pub fn is_at_work() -> bool {
    AT_WORK.get()
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// One without threads yet.
    pub fn new(threads: usize, idle: Idle) -> Pool {
        Pool { threads, idle, shared: PerProcess::default() }
    }

    fn shared(&self) -> &Arc<Shared> {
        let shared = self.shared.get();
        shared.settings.get_or_init(|| Settings { idle: self.idle, threads: self.threads });
        shared
    }

    /// Whether threads of the embedder do all the work.
    pub fn is_embedders(&self) -> bool {
        self.idle == Idle::Embedder
    }

    /// Changes what queues have to run, and wakes or starts a thread for it if there is something.
    pub fn with_lanes<T>(&self, change: impl FnOnce(&mut Lanes) -> T) -> T {
        let shared = self.shared();
        let mut queue = lock(&shared.queue);
        let result = change(&mut queue.lanes);
        if queue.lanes.have_work() || queue.lanes.have_timers() {
            call_another(shared, queue);
        }
        result
    }

    /// Forgets what was to be done at a time.
    pub fn forget(&self, timer: TimerKey) {
        lock(&self.shared().queue).lanes.forget(timer);
    }

    /// Works on this thread for as long as `until` says: helps launches and serves queues. Sleeps while there is nothing to do. Ends early
    /// if `is_enough`, which is asked about every millisecond. Returns whether it has done anything.
    pub fn work(&self, until: Instant, is_enough: &dyn Fn() -> bool) -> bool {
        let shared = self.shared();
        let was = AT_WORK.replace(true);
        let _end = AtWork(was);
        let mut worked = false;
        loop {
            let mut queue = lock(&shared.queue);
            match next_task(&mut queue) {
                Some(task) => {
                    drop(queue);
                    worked = true;
                    if !run_task(shared, task, until, fork::generation()) {
                        return true;
                    }
                    if Instant::now() >= until || is_enough() {
                        return true;
                    }
                }
                None => {
                    let now = Instant::now();
                    if now >= until || is_enough() {
                        return worked;
                    }
                    let mut time = until.saturating_duration_since(now).min(Duration::from_millis(1));
                    if let Some(next) = queue.lanes.next_timer() {
                        time = time.min(next.saturating_duration_since(now));
                    }
                    shared.stirred.store(false, Ordering::Relaxed);
                    queue.guests += 1;
                    let (mut queue, _) =
                        shared.wake.wait_timeout(queue, time).unwrap_or_else(PoisonError::into_inner);
                    queue.guests -= 1;
                }
            }
        }
    }

    /// Calls `work` on this thread, and on up to `helpers` others that become free before this one is done. Returns
    /// when all calls have ended.
    pub fn run(&self, helpers: usize, work: &Work<'_>) {
        if helpers == 0 {
            return work();
        }
        let launch = Arc::new(Launch {
            running: AtomicUsize::new(0),
            panic: Mutex::default(),
            ended: Condvar::new(),
            cpus: Mutex::new(Taken::by_this_thread()),
        });
        // SAFETY: only the lifetime changes. A job is called by a thread that has taken it from the queue and, under
        // the queue's lock, counted itself as running; `Finish` below takes the launch's jobs out of the queue and then waits until none
        // runs, also when `work` panics, so no reference outlives this call.
        let forever = unsafe { std::mem::transmute::<&Work<'_>, &'static Work<'static>>(work) };
        let shared = self.shared();
        let start = Instant::now();
        let finish = Finish { shared, launch: &launch, helpers, start, process: fork::generation() };
        let mut queue = lock(&shared.queue);
        queue.requested += helpers;
        let new = match self.idle {
            Idle::Embedder => 0,
            _ => queue.requested.saturating_sub(queue.threads),
        };
        queue.threads += new;
        queue.jobs.extend((0..helpers).map(|_| Job { work: forever, launch: launch.clone() }));
        shared.stirred.store(true, Ordering::Release);
        let mut taken = Taken::by_this_thread();
        queue.asleep.iter_mut().take(helpers).for_each(|sleeper| taken.place(sleeper));
        drop(queue);
        shared.wake.notify_all();
        for started in 0..new {
            if !start_helper(shared) {
                // The system has no more threads, so the existing ones do the work.
                lock(&shared.queue).threads -= new - started;
                break;
            }
        }
        work();
        drop(finish);
        if let Some(panic) = lock(&launch.panic).take() {
            resume_unwind(panic);
        }
    }
}

/// Ends a launch when dropped, also if `work` panics.
struct Finish<'a> {
    shared: &'a Shared,
    launch: &'a Arc<Launch>,
    helpers: usize,
    start: Instant,
    /// The process that it runs in.
    process: u64,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        if self.process != fork::generation() {
            // This is a child of the process that launched. The queue is not its own, and no helper runs.
            return;
        }
        let mut queue = lock(&self.shared.queue);
        queue.jobs.retain(|job| !Arc::ptr_eq(&job.launch, self.launch));
        queue.requested -= self.helpers;
        drop(queue);
        let running = || self.launch.running.load(Ordering::Acquire) > 0;
        if self.helpers < cpus::count() {
            look_out(self.start.elapsed(), || !running());
        }
        let mut panic = lock(&self.launch.panic);
        while running() {
            panic = self.launch.ended.wait(panic).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // In a child of `fork` that has launched nothing, this is a new, empty state.
        let shared = self.shared.get();
        let mut queue = lock(&shared.queue);
        queue.closed = true;
        shared.stirred.store(true, Ordering::Release);
        drop(queue);
        shared.wake.notify_all();
    }
}

/// Wakes a thread that sleeps, or starts one if there may be more for queues.
fn call_another(shared: &Arc<Shared>, mut queue: MutexGuard<'_, Queue>) {
    shared.stirred.store(true, Ordering::Release);
    let sleeps = !queue.asleep.is_empty() || queue.guests > 0;
    let settings = shared.settings.get().copied().unwrap_or_default();
    let starts = !sleeps && queue.threads < settings.threads && settings.idle != Idle::Embedder;
    queue.threads += usize::from(starts);
    drop(queue);
    if sleeps {
        shared.wake.notify_one();
    } else if starts && !start_helper(shared) {
        lock(&shared.queue).threads -= 1;
    }
}

/// Starts a thread, if the system has one.
fn start_helper(shared: &Arc<Shared>) -> bool {
    let own = shared.clone();
    let thread = std::thread::Builder::new().name("warpjit".into()).stack_size(STACK_BYTES);
    thread.spawn(move || help(&own)).is_ok()
}

/// Restores whether the thread is at work.
struct AtWork(bool);

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.set(self.0);
    }
}

/// Something to do.
enum Task {
    Help(Job),
    Serve(Arc<dyn Served>),
    Timer(Timer),
}

/// What is next: launches that wait for helpers, then what is due, then queues.
fn next_task(queue: &mut Queue) -> Option<Task> {
    if let Some(job) = queue.jobs.pop_front() {
        // Counted under the lock, as `Finish` demands.
        job.launch.running.fetch_add(1, Ordering::AcqRel);
        return Some(Task::Help(job));
    }
    if let Some(timer) = queue.lanes.take_due() {
        return Some(Task::Timer(timer));
    }
    queue.lanes.pick().map(Task::Serve)
}

/// Does it. Returns whether this process still has the pool: the embedder's function may have forked.
fn run_task(shared: &Arc<Shared>, task: Task, until: Instant, process: u64) -> bool {
    match task {
        Task::Help(job) => {
            lock(&job.launch.cpus).add_this_thread();
            let result = catch_unwind(AssertUnwindSafe(job.work));
            if process != fork::generation() {
                // The embedder's function has forked on this thread, so this is the only thread of the child.
                return false;
            }
            let mut panic = lock(&job.launch.panic);
            if let Err(payload) = result {
                panic.get_or_insert(payload);
            }
            job.launch.running.fetch_sub(1, Ordering::AcqRel);
            drop(panic);
            job.launch.ended.notify_all();
        }
        Task::Serve(served) => {
            let start = Instant::now();
            let queue = lock(&shared.queue);
            // What is left is for others, each of which calls the next.
            if queue.lanes.have_work() {
                call_another(shared, queue);
            } else {
                drop(queue);
            }
            served.clone().serve(until.min(start + QUANTUM));
            if process != fork::generation() {
                return false;
            }
            lock(&shared.queue).lanes.served(&served, start.elapsed());
        }
        Task::Timer(timer) => {
            timer.fire(&mut |served| {
                lock(&shared.queue).lanes.stir(served);
            });
            return process == fork::generation();
        }
    }
    true
}

/// Polls `is_there`, but no longer than this thread has just worked.
fn look_out(worked: Duration, is_there: impl Fn() -> bool) {
    look_out_for(worked.clamp(LEAST_LOOK_OUT, MOST_LOOK_OUT), is_there);
}

/// Polls `is_there`, but no longer than `time`.
fn look_out_for(time: Duration, is_there: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_there() && start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The main loop of a helper.
fn help(shared: &Arc<Shared>) {
    let process = fork::generation();
    AT_WORK.set(true);
    let idle = shared.settings.get().copied().unwrap_or_default().idle;
    let mut worked = None;
    loop {
        let mut queue = lock(&shared.queue);
        let task = loop {
            if let Some(task) = next_task(&mut queue) {
                break task;
            }
            if queue.closed {
                return;
            }
            shared.stirred.store(false, Ordering::Relaxed);
            let polls = match (idle, worked.take()) {
                (Idle::Spin(time), Some(_)) => Some(time),
                (Idle::Adaptive, worked) => {
                    let worked: Option<Duration> = worked.filter(|_| queue.threads < cpus::count());
                    worked.map(|worked| worked.clamp(LEAST_LOOK_OUT, MOST_LOOK_OUT))
                }
                _ => None,
            };
            if let Some(time) = polls {
                drop(queue);
                look_out_for(time, || shared.stirred.load(Ordering::Acquire));
                queue = lock(&shared.queue);
                continue;
            }
            queue.asleep.push(Sleeper::this_thread());
            queue = match queue.lanes.next_timer() {
                None => shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(next) => {
                    let time = next.saturating_duration_since(Instant::now());
                    shared.wake.wait_timeout(queue, time).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            if let Some(at) = queue.asleep.iter().position(Sleeper::is_this_thread) {
                queue.asleep.swap_remove(at).awake();
            }
        };
        drop(queue);
        let start = Instant::now();
        if !run_task(shared, task, start + QUANTUM, process) {
            return;
        }
        worked = Some(start.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn helpers_are_used_again_and_all_calls_end() {
        let pool = Pool::default();
        for _ in 0..100 {
            let barrier = Barrier::new(3);
            let calls = AtomicUsize::new(0);
            pool.run(2, &|| {
                barrier.wait();
                calls.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(calls.into_inner(), 3);
        }
    }

    #[test]
    fn there_are_no_more_threads_than_were_wanted_at_a_time() {
        let pool = Pool::default();
        for _ in 0..2000 {
            // Helpers may come late or not at all.
            pool.run(2, &|| {});
        }
        assert_eq!(lock(&pool.shared.get().queue).threads, 2);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..200).for_each(|_| pool.run(2, &|| std::thread::yield_now())));
            }
        });
        let queue = lock(&pool.shared.get().queue);
        assert!(queue.threads <= 6 && queue.requested == 0, "{}", queue.threads);
    }

    #[test]
    fn a_panic_comes_out_where_the_launch_is() {
        let pool = Pool::default();
        let barrier = Barrier::new(2);
        let main = std::thread::current().id();
        let work = || {
            barrier.wait();
            if std::thread::current().id() != main {
                panic!("helper");
            }
        };
        let result = catch_unwind(AssertUnwindSafe(|| pool.run(1, &work)));
        assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"helper"));
    }
}
