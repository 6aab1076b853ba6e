//! Limits on the time and memory of loading and compiling a program, and a way to cancel both.
//!
//! Time and memory grow in proportion to the code (docs/design.md, "Size"), but the code may be large. A [`Meter`] counts the
//! work and the memory of one load or one compilation against a [`Budget`]. Loops of analyses call [`Meter::step`]; whatever
//! makes tables, instructions or code calls [`Meter::hold`]. Both return [`Stopped`] if the budget is used up or the work was
//! cancelled, and the caller passes that on with `?`.
//!
//! The memory counted is the size of the project's own tables, instructions and code, not what an allocator reports.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limits on time and memory for loading a program, and separately for compiling it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Budget {
    /// Time; [`Duration::MAX`] is no limit.
    pub time: Duration,
    /// Bytes of tables, instructions and code; [`u64::MAX`] is no limit.
    pub bytes: u64,
}

impl Budget {
    /// No limits.
    pub const UNLIMITED: Budget = Budget { time: Duration::MAX, bytes: u64::MAX };
}

impl Default for Budget {
    /// Two minutes and 4 GiB: many times what the largest code that a container can hold takes on a slow host.
    fn default() -> Budget {
        Budget { time: Duration::from_secs(120), bytes: 4 << 30 }
    }
}

/// The kind of work that is metered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    /// From the bytes of a file to a kernel in SPMD form.
    Loading,
    /// From there to compiled code, with everything that both tiers need of the kernel.
    Compiling,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Task::Loading => "loading",
            Task::Compiling => "compiling",
        })
    }
}

/// Which part of a budget is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// [`Budget::time`].
    Time(Duration),
    /// [`Budget::bytes`].
    Bytes(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Limit::Time(time) => write!(f, "{} s", time.as_secs_f64()),
            Limit::Bytes(bytes) if bytes.is_multiple_of(1 << 20) => write!(f, "{} MiB", bytes >> 20),
            Limit::Bytes(bytes) => write!(f, "{bytes} bytes"),
        }
    }
}

/// Where a budget was used up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exceeded {
    /// What was being done.
    pub task: Task,
    /// The limit.
    pub limit: Limit,
    /// If a region was being compiled: the guest address of its first instruction.
    pub region: Option<u32>,
    /// The part of the work.
    pub stage: &'static str,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ran over the budget of {}: ", self.task, self.limit)?;
        if let Some(pc) = self.region {
            write!(f, "region at {pc:#x}: ")?;
        }
        f.write_str(self.stage)
    }
}

/// Why work has stopped before its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stopped {
    /// The work was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The budget is used up.
    #[error("{0}")]
    OverBudget(Box<Exceeded>),
}

/// What has been used of a budget.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// Time.
    pub time: Duration,
    /// Bytes.
    pub bytes: u64,
}

/// Units of work between two checks of the clock and of cancellation. A unit takes about a microsecond at most.
const LOOK_AFTER: u64 = 1 << 11;

/// Counts the work and the memory of one load, or of one compilation.
#[derive(Debug)]
pub struct Meter {
    task: Task,
    budget: Budget,
    begun: Instant,
    /// What others have already spent of the same budget.
    before: Usage,
    cancel: Option<Arc<AtomicBool>>,
    work: Cell<u64>,
    next_look: Cell<u64>,
    bytes: Cell<u64>,
    stage: Cell<&'static str>,
    region: Cell<Option<u32>>,
}

impl Meter {
    /// A meter for a task that begins now. `before` has been spent already.
    pub fn new(task: Task, budget: Budget, before: Usage) -> Meter {
        Meter {
            task,
            budget,
            begun: Instant::now(),
            before,
            cancel: None,
            work: Cell::new(0),
            next_look: Cell::new(0),
            bytes: Cell::new(before.bytes),
            stage: Cell::new("start"),
            region: Cell::new(None),
        }
    }

    /// A meter without limits.
    pub fn unlimited() -> Meter {
        Meter::new(Task::Compiling, Budget::UNLIMITED, Usage::default())
    }

    /// Stops soon after the flag is set.
    pub fn cancelled_by(mut self, flag: Arc<AtomicBool>) -> Meter {
        self.cancel = Some(flag);
        self
    }

    /// Names the part of the work that follows, for [`Exceeded`], and checks whether it may begin.
    pub fn stage(&self, stage: &'static str) -> Result<(), Stopped> {
        self.stage.set(stage);
        self.look()
    }

    /// Names the region that is compiled from here on.
    pub fn set_region(&self, pc: Option<u32>) {
        self.region.set(pc);
    }

    /// Counts units of work: blocks, instructions or edges visited.
    #[inline]
    pub fn step(&self, units: usize) -> Result<(), Stopped> {
        let work = self.work.get() + units as u64;
        self.work.set(work);
        if work < self.next_look.get() { Ok(()) } else { self.look() }
    }

    /// Counts memory that is taken.
    #[inline]
    pub fn hold(&self, bytes: usize) -> Result<(), Stopped> {
        let held = self.bytes.get().saturating_add(bytes as u64);
        self.bytes.set(held);
        if held <= self.budget.bytes { Ok(()) } else { Err(self.exceeded(Limit::Bytes(self.budget.bytes))) }
    }

    /// Subtracts memory that was counted and has been freed.
    pub fn release(&self, bytes: usize) {
        self.bytes.set(self.bytes.get().saturating_sub(bytes as u64));
    }

    /// Checks the clock and cancellation.
    pub fn look(&self) -> Result<(), Stopped> {
        self.next_look.set(self.work.get() + LOOK_AFTER);
        if self.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Stopped::Cancelled);
        }
        if self.budget.time != Duration::MAX && self.spent().time > self.budget.time {
            return Err(self.exceeded(Limit::Time(self.budget.time)));
        }
        Ok(())
    }

    fn exceeded(&self, limit: Limit) -> Stopped {
        let (region, stage) = (self.region.get(), self.stage.get());
        Stopped::OverBudget(Box::new(Exceeded { task: self.task, limit, region, stage }))
    }

    /// Units of work so far.
    pub fn work(&self) -> u64 {
        self.work.get()
    }

    /// What has been spent of the budget, before the task and since.
    pub fn spent(&self) -> Usage {
        Usage { time: self.before.time.saturating_add(self.begun.elapsed()), bytes: self.bytes.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(result: Result<(), Stopped>) -> String {
        result.expect_err("stops").to_string()
    }

    #[test]
    fn bytes_are_counted_against_the_limit() {
        let budget = Budget { bytes: 100, ..Budget::UNLIMITED };
        let meter = Meter::new(Task::Loading, budget, Usage { bytes: 40, ..Usage::default() });
        meter.stage("tables").unwrap();
        meter.hold(60).unwrap();
        assert_eq!(over(meter.hold(1)), "loading ran over the budget of 100 bytes: tables");
        meter.release(1);
        assert_eq!(meter.spent().bytes, 100);
    }

    #[test]
    fn time_is_looked_at_now_and_then() {
        let budget = Budget { time: Duration::from_secs(10), ..Budget::UNLIMITED };
        let before = Usage { time: Duration::from_secs(11), ..Usage::default() };
        let meter = Meter::new(Task::Compiling, budget, before);
        meter.set_region(Some(0x68));
        assert_eq!(
            over(meter.stage("passes")),
            "compiling ran over the budget of 10 s: region at 0x68: passes"
        );
        // Do not check at each step.
        meter.step(1).unwrap();
        assert!(meter.step(LOOK_AFTER as usize).is_err());
        assert_eq!(meter.work(), 1 + LOOK_AFTER);
    }

    #[test]
    fn a_flag_stops_work() {
        let flag = Arc::new(AtomicBool::new(false));
        let meter = Meter::unlimited().cancelled_by(flag.clone());
        meter.look().unwrap();
        flag.store(true, Ordering::Relaxed);
        assert_eq!(meter.step(LOOK_AFTER as usize), Err(Stopped::Cancelled));
    }
}
