//! How long a case may take. Time in which a process is ready and the host runs others does not count: on a busy host, a case
//! that waits for its turn does not hang. One that sleeps, or works, for too long does.

use std::time::{Duration, Instant};

/// The time of a process from some moment on, against a limit.
#[derive(Clone, Debug)]
pub struct TimeLimit {
    process: u32,
    limit: Duration,
    started: Instant,
    waited: Duration,
}

impl TimeLimit {
    /// Begins now.
    pub fn new(process: u32, limit: Duration) -> TimeLimit {
        TimeLimit { process, limit, started: Instant::now(), waited: waited(process) }
    }

    /// Whether it is at its end.
    pub fn is_over(&self) -> bool {
        let elapsed = self.started.elapsed();
        let waited = || waited(self.process).saturating_sub(self.waited);
        elapsed > self.limit && elapsed.saturating_sub(waited()) > self.limit
    }
}

/// How long the threads of a process have waited for processors, all together; nothing where the system does not say. So
/// the limit is longer with more threads, and never shorter than the clock's time.
fn waited(process: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    texts.filter_map(|text| waited_of(&text)).sum()
}

/// The second of three numbers are nanoseconds of waiting.
fn waited_of(text: &str) -> Option<Duration> {
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_says_how_long_a_thread_waited() {
        assert_eq!(waited_of("712345678 2500000000 17\n"), Some(Duration::from_millis(2500)));
        assert_eq!(waited_of(""), None);
    }

    #[test]
    fn one_that_sleeps_or_waits_for_nobody_exceeds_it() {
        let limit = Duration::from_millis(200);
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let sleeper = TimeLimit::new(child.id(), limit);
        let waiter = TimeLimit { waited: Duration::ZERO, ..TimeLimit::new(child.id(), Duration::MAX) };
        while !sleeper.is_over() {
            assert!(child.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(sleeper.started.elapsed() > limit);
        assert!(!waiter.is_over());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(waited(child.id()), Duration::ZERO, "there is no such process");
    }
}
