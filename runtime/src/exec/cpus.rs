//! The CPUs that the threads of a launch run on.
//!
//! A thread that waits is woken up where it ran last, or where its waker runs, and in a virtual machine whose CPUs share no cache as far as
//! the kernel knows, nothing looks for an idle CPU then: two threads of a launch would share one until the kernel
//! balances, which takes several milliseconds, longer than most launches.

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
    /// Where it may run, if somebody has forbidden it some of that for its next awakening.
    allowed: Option<CpuSet>,
}

/// The CPU that this thread is on.
fn here() -> usize {
    sched_getcpu().min(CpuSet::MAX_CPU - 1)
}

/// How many CPUs this thread may use; 1 if nobody knows.
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

    /// To be called by the thread when it has woken up: lets it run wherever it may.
    pub fn awake(self) {
        if let Some(allowed) = self.allowed {
            // It fails if the CPUs were taken from the process meanwhile; the kernel has moved the thread then.
            let _ = sched_setaffinity(None, &allowed);
        }
    }
}

impl Taken {
    /// With the CPU that the calling thread runs on.
    pub fn by_this_thread() -> Self {
        let mut cpus = CpuSet::new();
        cpus.set(here());
        Taken(cpus)
    }

    /// Sees to it that a thread wakes up on a CPU that is not taken, if there is one.
    pub fn place(&mut self, sleeper: &mut Sleeper) {
        if self.0.is_set(sleeper.cpu) && sleeper.allowed.is_none() {
            // Without a place of its own it stays where it is, and the kernel will see to it.
            let _ = self.forbid(sleeper);
        }
        self.0.set(sleeper.cpu);
    }

    /// Moves the calling thread to a CPU that is not taken, if the one it is on is and there is another.
    pub fn add_this_thread(&mut self) {
        let cpu = here();
        if self.0.is_set(cpu) {
            let mut sleeper = Sleeper::this_thread();
            // It moves at once, and may come back when it likes.
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

    #[test]
    fn a_thread_wakes_up_where_nobody_is_and_may_go_anywhere_then() {
        std::thread::spawn(|| {
            let allowed = sched_getaffinity(None).unwrap();
            let mut taken = Taken::by_this_thread();
            let first = taken.0;
            let mut sleeper = Sleeper {
                cpu: (0..CpuSet::MAX_CPU).find(|&cpu| first.is_set(cpu)).unwrap(),
                ..Sleeper::this_thread()
            };
            taken.place(&mut sleeper);
            let now = sched_getaffinity(None).unwrap();
            if allowed.count() > 1 {
                assert!(
                    (0..CpuSet::MAX_CPU)
                        .all(|cpu| now.is_set(cpu) == (allowed.is_set(cpu) && !first.is_set(cpu)))
                );
                assert_eq!(taken.0.count(), 2);
            } else {
                assert_eq!(now, allowed);
            }
            sleeper.awake();
            assert_eq!(sched_getaffinity(None).unwrap(), allowed);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_moves_where_nobody_is_and_may_go_anywhere_then() {
        std::thread::spawn(|| {
            let allowed = sched_getaffinity(None).unwrap();
            let mut taken = Taken::by_this_thread();
            let first = taken.0;
            taken.add_this_thread();
            assert_eq!(sched_getaffinity(None).unwrap(), allowed);
            let mut after = taken.0;
            (0..CpuSet::MAX_CPU).filter(|&cpu| first.is_set(cpu)).for_each(|cpu| after.unset(cpu));
            // The kernel may move it back or elsewhere at any time.
            assert!((0..CpuSet::MAX_CPU).all(|cpu| !after.is_set(cpu) || allowed.is_set(cpu)));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_with_no_other_cpu_stays() {
        std::thread::spawn(|| {
            let cpu = here();
            sched_setaffinity(None, &only(cpu)).unwrap();
            let mut taken = Taken::by_this_thread();
            let mut sleeper = Sleeper::this_thread();
            taken.place(&mut sleeper);
            sleeper.awake();
            assert_eq!(sched_getaffinity(None).unwrap(), only(cpu));
        })
        .join()
        .unwrap();
    }
}
