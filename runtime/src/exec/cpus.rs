//! Spreads the threads of a launch over different CPUs.
//!
//! The kernel wakes a waiting thread on the CPU where it ran last, or where its waker runs. In a virtual machine whose CPUs seem
//! to share no cache, it then looks for no idle CPU, and two threads of a launch would share one until the kernel balances. That
//! takes longer than most launches.

use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// CPUs on which threads of a launch run.
#[derive(Debug)]
pub struct Taken(CpuSet);

/// A thread that waits for launches.
#[derive(Debug)]
pub struct Sleeper {
    thread: Pid,
    /// Where it ran last.
    cpu: usize,
    /// The CPUs it was allowed to run on, if some were forbidden for its next wake-up.
    allowed: Option<CpuSet>,
}

/// The CPU that this thread is on.
fn here() -> usize {
    sched_getcpu().min(CpuSet::MAX_CPU - 1)
}

/// How many CPUs this thread may use; 1 if unknown.
pub fn count() -> usize {
    sched_getaffinity(None).map_or(1, |cpus| cpus.count() as usize)
}

impl Sleeper {
    /// The calling thread, before it sleeps.
    pub fn this_thread() -> Self {
        Sleeper { thread: gettid(), cpu: here(), allowed: None }
    }

    /// Whether it is the calling thread.
    pub fn is_this_thread(&self) -> bool {
        self.thread == gettid()
    }

    /// To be called by the thread after it has woken up: restores the CPUs it may run on.
    pub fn awake(self) {
        if let Some(allowed) = self.allowed {
            // It fails if the CPUs were taken from the process meanwhile; the kernel has moved the thread then.
            let _ = sched_setaffinity(None, &allowed);
        }
    }
}

impl Taken {
    /// The set with the calling thread's CPU.
    pub fn by_this_thread() -> Self {
        let mut cpus = CpuSet::new();
        cpus.set(here());
        Taken(cpus)
    }

    /// Makes a thread wake up on a CPU that is not taken, if there is one.
    pub fn place(&mut self, sleeper: &mut Sleeper) {
        if self.0.is_set(sleeper.cpu) && sleeper.allowed.is_none() {
            // If this fails, the kernel places the thread as usual.
            let _ = self.forbid(sleeper);
        }
        self.0.set(sleeper.cpu);
    }

    /// Moves the calling thread to a CPU that is not taken, if the one it is on is and there is another.
    pub fn add_this_thread(&mut self) {
        let cpu = here();
        if self.0.is_set(cpu) {
            let mut sleeper = Sleeper::this_thread();
            // This moves the thread at once; later the kernel may move it back.
            let _ = self.forbid(&mut sleeper);
            sleeper.awake();
        }
        self.0.set(here());
    }

    fn forbid(&self, sleeper: &mut Sleeper) -> rustix::io::Result<()> {
        let allowed = sched_getaffinity(Some(sleeper.thread))?;
        let mut free = allowed;
        for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| self.0.is_set(cpu)) {
            free.unset(cpu);
        }
        if let Some(cpu) = (0..CpuSet::MAX_CPU).find(|&cpu| free.is_set(cpu)) {
            sched_setaffinity(Some(sleeper.thread), &free)?;
            sleeper.allowed = Some(allowed);
            sleeper.cpu = cpu;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(cpu: usize) -> CpuSet {
        let mut cpus = CpuSet::new();
        cpus.set(cpu);
        cpus
    }

    fn affinity() -> CpuSet {
        sched_getaffinity(None).expect("known")
    }

    /// On a thread of its own, which may be moved.
    fn on_a_thread(test: fn()) {
        std::thread::spawn(test).join().expect("passes");
    }

    #[test]
    fn a_thread_wakes_up_where_nobody_is_and_may_go_anywhere_then() {
        on_a_thread(|| {
            let allowed = affinity();
            let cpu = here();
            let mut taken = Taken(only(cpu));
            let mut sleeper = Sleeper { cpu, ..Sleeper::this_thread() };
            taken.place(&mut sleeper);
            if allowed.count() > 1 {
                let now = affinity();
                assert!((0..CpuSet::MAX_CPU).all(|n| now.is_set(n) == (allowed.is_set(n) && n != cpu)));
                // It has moved already, being awake.
                assert_ne!(here(), cpu);
                assert_eq!(taken.0.count(), 2);
            } else {
                assert_eq!(affinity(), allowed);
            }
            sleeper.awake();
            assert_eq!(affinity(), allowed);
        });
    }

    #[test]
    fn a_thread_that_comes_to_a_launch_is_one_of_its_own() {
        on_a_thread(|| {
            let allowed = affinity();
            let mut taken = Taken::by_this_thread();
            taken.add_this_thread();
            assert_eq!(affinity(), allowed);
            // Where there is but one, all are there.
            sched_setaffinity(None, &only(here())).expect("allowed");
            let mut taken = Taken::by_this_thread();
            taken.add_this_thread();
            assert_eq!((taken.0, affinity()), (only(here()), only(here())));
        });
    }
}
