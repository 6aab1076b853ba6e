//! The engine's compiler thread, which compiles code while launches run.
//!
//! It starts with the first job and ends with the engine. Then waiting jobs are dropped, and the current one is finished first,
//! because a code generator cannot be interrupted. A job does not keep its program alive; if the program is gone, the job does
//! nothing. A child of `fork` has a thread and a queue of its own ([`crate::fork`]) and asks for its code again.

use crate::fork::PerProcess;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Most waiting jobs. If the queue is full, the caller asks again later.
const MOST_JOBS: usize = 64;

/// A job: called once, or dropped without being called.
pub type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// A job is being done.
    busy: bool,
    closed: bool,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    idle: Condvar,
}

/// The thread and what waits for it.
#[derive(Default)]
pub struct Background {
    shared: PerProcess<Arc<Shared>>,
}

/// Bytes of the thread's stack, whatever the environment says.
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
    /// Appends a job if there is room, and returns whether there was. `make` is called only then, under the queue's
    /// lock.
    pub fn push(&self, make: impl FnOnce() -> Job) -> bool {
        let shared = self.shared.get();
        let mut queue = lock(shared);
        if queue.jobs.len() >= MOST_JOBS {
            return false;
        }
        if queue.thread.is_none() {
            let own = shared.clone();
            let thread = std::thread::Builder::new().name("warpjit-compile".into()).stack_size(STACK_BYTES);
            match thread.spawn(move || work(&own)) {
                Ok(thread) => queue.thread = Some(thread),
                // The system gives no more threads: perhaps it does later.
                Err(_) => return false,
            }
        }
        queue.jobs.push_back(make());
        drop(queue);
        shared.wake.notify_one();
        true
    }

    /// Waits until the queue is empty and no job is running.
    pub fn wait(&self) {
        let shared = self.shared.get();
        let mut queue = lock(shared);
        while queue.busy || !queue.jobs.is_empty() {
            queue = shared.idle.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let shared = self.shared.get();
        let mut queue = lock(shared);
        queue.closed = true;
        let (undone, thread) = (std::mem::take(&mut queue.jobs), queue.thread.take());
        drop(queue);
        shared.wake.notify_all();
        // Not under the lock, because dropping a job may run arbitrary code.
        drop(undone);
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // Its panics have been caught.
            let _ = thread.join();
        }
    }
}

/// The thread's main loop.
fn work(shared: &Shared) {
    loop {
        let mut queue = lock(shared);
        let job = loop {
            if queue.closed {
                return;
            }
            if let Some(job) = queue.jobs.pop_front() {
                break job;
            }
            queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        };
        queue.busy = true;
        drop(queue);
        // A panic only concerns the job: its `Drop` informs those that wait for it.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        let mut queue = lock(shared);
        queue.busy = false;
        if queue.jobs.is_empty() {
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

    #[test]
    fn the_queue_is_bounded_and_what_waits_at_the_end_is_dropped() {
        let background = Background::default();
        let (let_go, gate) = mpsc::channel::<()>();
        let (tell, begun) = mpsc::channel();
        let job = move || {
            tell.send(()).unwrap();
            let _ = gate.recv();
        };
        assert!(background.push(|| Box::new(job)));
        begun.recv().unwrap();
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
}
