//! Rings: each runs its submissions one after the other, on a thread of its own.

use crate::Card;
use crate::fence::{AdaptiveSpin, Bell, Fence, lock};
use crate::host_pages::From;
use crate::memory::{AddressSpace, Buffers};
use crate::processor::{Processor, Stop};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A context of a driver.
#[derive(Debug, Default)]
pub(crate) struct Context {
    lost: AtomicBool,
}

impl Context {
    /// Whether something went wrong in it. Then it takes no more submissions.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }
}

/// A command buffer to run.
#[derive(Debug, Clone)]
pub(crate) struct CommandBuffer {
    /// Where it is.
    pub address: u64,
    /// How many words it has.
    pub words: u32,
    /// The words, if they could be read when it was submitted: drivers of gfx6 give the memory back at once.
    pub contents: Option<Vec<u32>>,
}

/// A submission.
#[derive(Debug)]
pub(crate) struct Job {
    /// What must have happened before.
    pub waits: Vec<Fence>,
    /// What is run.
    pub buffers: Vec<CommandBuffer>,
    /// Where in the file of buffer objects the number of the submission is written at the end.
    pub user_fence: Option<u64>,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<(u64, Job, Fence)>,
    /// Number of the last submission.
    last: u64,
    /// Fences of the submissions that may not have ended, in order.
    fences: VecDeque<(u64, Fence)>,
    has_thread: bool,
    /// No more submissions come.
    is_closed: bool,
}

/// A ring of a context.
#[derive(Debug)]
pub(crate) struct Ring {
    name: String,
    graphics: bool,
    context: Arc<Context>,
    queue: Mutex<Queue>,
    filled: Condvar,
    /// How many submissions there have been.
    arrived: AtomicU64,
    spin: AdaptiveSpin,
}

/// What a ring's thread works with.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub card: Arc<Card>,
    pub space: Arc<AddressSpace>,
    pub buffers: Arc<Buffers>,
    pub bell: Arc<Bell>,
}

impl Ring {
    /// A ring without submissions.
    pub fn new(context: Arc<Context>, graphics: bool, number: u32) -> Ring {
        let name = format!("{} ring {number}", if graphics { "graphics" } else { "compute" });
        Ring {
            name,
            graphics,
            context,
            queue: Mutex::default(),
            filled: Condvar::new(),
            arrived: AtomicU64::new(0),
            spin: AdaptiveSpin::default(),
        }
    }

    /// Adds a submission; gives its number and its fence.
    pub fn submit(self: &Arc<Self>, job: Job, around: &Surroundings) -> std::io::Result<(u64, Fence)> {
        let mut queue = lock(&self.queue);
        if !queue.has_thread {
            let (ring, around) = (self.clone(), around.clone());
            let thread = std::thread::Builder::new().name(format!("warpjit {}", self.name));
            thread.spawn(move || ring.work(&around))?;
            queue.has_thread = true;
        }
        queue.last += 1;
        let (number, fence) = (queue.last, Fence::default());
        while queue.fences.front().is_some_and(|(_, fence)| fence.is_signalled()) {
            queue.fences.pop_front();
        }
        queue.fences.push_back((number, fence.clone()));
        queue.jobs.push_back((number, job, fence.clone()));
        self.arrived.store(number, Ordering::Release);
        drop(queue);
        self.filled.notify_one();
        Ok((number, fence))
    }

    /// The fence of a submission by its number; `None` if there is no such submission yet. `u64::MAX`: the latest.
    pub fn fence(&self, number: u64) -> Option<Fence> {
        let queue = lock(&self.queue);
        let number = if number == u64::MAX { queue.last } else { number };
        if number > queue.last {
            return None;
        }
        let found = queue.fences.iter().find(|(at, _)| *at == number);
        Some(found.map_or_else(Fence::signalled, |(_, fence)| fence.clone()))
    }

    /// Whether it is closed and all its submissions have ended.
    pub fn is_finished(&self) -> bool {
        let queue = lock(&self.queue);
        queue.is_closed && queue.fences.iter().all(|(_, fence)| fence.is_signalled())
    }

    /// The fences of all submissions that have not ended.
    pub fn pending(&self) -> Vec<Fence> {
        lock(&self.queue)
            .fences
            .iter()
            .map(|(_, fence)| fence.clone())
            .filter(|fence| !fence.is_signalled())
            .collect()
    }

    /// No more submissions come: the thread ends after the last.
    pub fn close(&self) {
        lock(&self.queue).is_closed = true;
        self.filled.notify_one();
    }

    /// Runs submissions until the ring is closed.
    fn work(&self, around: &Surroundings) {
        let new = || Processor::new(around.card.clone(), around.space.clone(), self.graphics);
        let mut processor = new();
        let ended = around.space.ended();
        while let Some((number, job, fence)) = self.next() {
            for wait in &job.waits {
                around.bell.wait(u64::MAX, || (wait.is_signalled() || ended.is_cancelled()).then_some(()));
            }
            let user_fence = job.user_fence;
            let buffers = &around.buffers;
            buffers.host.copy(buffers.file(), From::Program);
            let run = AssertUnwindSafe(|| self.run(&mut processor, number, job.buffers, around));
            if catch_unwind(run).is_err() {
                around.card.reporter.internal_error(&format!("{}, submission {number}", self.name));
                self.context.lost.store(true, Ordering::Release);
                processor = new();
            }
            buffers.host.copy(buffers.file(), From::Card);
            if let Some(at) = user_fence {
                // The buffer object may have been closed, then nobody reads it.
                let _ = rustix::io::pwrite(around.buffers.file(), &number.to_le_bytes(), at);
            }
            fence.signal();
            around.bell.ring();
        }
    }

    /// The next submission; `None`: the ring is closed, and there are no more.
    fn next(&self) -> Option<(u64, Job, Fence)> {
        let seen = self.arrived.load(Ordering::Acquire);
        if lock(&self.queue).jobs.is_empty() {
            // Programs that wait for one submission send the next one soon.
            let has_come = || (self.arrived.load(Ordering::Acquire) != seen).then_some(());
            self.spin.poll(u64::MAX, has_come);
        }
        let mut queue = lock(&self.queue);
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.is_closed {
                // Who submits nevertheless, because he had the ring before, starts another thread.
                queue.has_thread = false;
                return None;
            }
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run(
        &self,
        processor: &mut Processor,
        number: u64,
        buffers: Vec<CommandBuffer>,
        around: &Surroundings,
    ) {
        let reporter = &around.card.reporter;
        reporter.submission(&self.name, number, buffers.len());
        processor.begin();
        for buffer in buffers {
            if self.context.is_lost() {
                return;
            }
            let result = match buffer.contents {
                Some(contents) => processor.run_words(buffer.address, contents),
                None => processor.run(buffer.address, buffer.words),
            };
            if let Err(stop) = result {
                if let Stop::Commands(what) = &stop {
                    reporter.say(&format!("{}, submission {number}: {what}", self.name));
                }
                self.context.lost.store(true, Ordering::Release);
                return;
            }
        }
    }
}
