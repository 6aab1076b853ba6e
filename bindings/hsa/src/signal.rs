//! Signals: 64-bit numbers that programs, queues and devices change, and wait for.
//!
//! A signal's handle is the address of its `amd_signal_t`, which device code and HIP read and write by themselves. All signals lie in one
//! range of memory that is never given back, so a handle can be checked, and a signal that was destroyed is a mistake of the program and
//! no access to memory of others.
//!
//! Whoever changes a signal by a function of the library wakes those who wait. Device code, and programs that have a signal's address
//! (`hsa_amd_signal_value_pointer`), do not, so waiting threads also look by themselves now and then.

use crate::cells::Cells;
use crate::status::{Result, Status};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use warpjit_runtime::Memory;

/// Bytes of an `amd_signal_t`, and how many there can be.
const BYTES: usize = 64;
const MOST: usize = 1 << 20;

/// Where the fields are.
mod field {
    pub const KIND: usize = 0;
    pub const VALUE: usize = 8;
    pub const START: usize = 32;
    pub const END: usize = 40;
    /// Reserved for the library: how many threads wait for this signal alone, and how many for it and others.
    pub const WAITING: usize = 56;
    pub const WATCHED: usize = 60;
}

/// AMD_SIGNAL_KIND_USER. A kind of 0 is no signal.
const USER: i64 = 1;

/// How long a thread looks at a signal before it sleeps.
const SPIN: Duration = Duration::from_micros(20);
/// How often a sleeping thread looks, while the device runs something and otherwise.
const LOOK: Duration = Duration::from_micros(100);
const LOOK_IDLE: Duration = Duration::from_millis(2);

/// `hsa_signal_condition_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The value is equal to the operand.
    Equal,
    /// It is not.
    NotEqual,
    /// It is smaller.
    Less,
    /// It is as large or larger.
    AtLeast,
}

impl Condition {
    /// By its number.
    ///
    /// # Errors
    /// INVALID_ARGUMENT.
    pub fn new(number: u32) -> Result<Condition> {
        match number {
            0 => Ok(Condition::Equal),
            1 => Ok(Condition::NotEqual),
            2 => Ok(Condition::Less),
            3 => Ok(Condition::AtLeast),
            _ => Err(Status::INVALID_ARGUMENT),
        }
    }

    /// Whether a value is as wanted.
    pub fn holds(self, value: i64, operand: i64) -> bool {
        match self {
            Condition::Equal => value == operand,
            Condition::NotEqual => value != operand,
            Condition::Less => value < operand,
            Condition::AtLeast => value >= operand,
        }
    }
}

/// The memory of all signals.
struct Pool {
    cells: Cells,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    made: usize,
    /// Those that were destroyed, the oldest first: a handle that is used too long is seen for as long as possible.
    free: VecDeque<u32>,
}

static POOL: OnceLock<Pool> = OnceLock::new();

/// Threads that wait sleep here.
struct Bell {
    /// How often it has rung.
    rung: Mutex<u64>,
    condvar: Condvar,
}

impl Bell {
    const fn new() -> Bell {
        Bell { rung: Mutex::new(0), condvar: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        *self.lock() += 1;
        self.condvar.notify_all();
    }
}

const BELLS: usize = 64;
/// For those who wait for one signal, by its number.
static OF_ONE: [Bell; BELLS] = [const { Bell::new() }; BELLS];
/// For those who wait for any of several.
static OF_MANY: Bell = Bell::new();
/// Kernels that run, which may change signals without a word.
static RUNNING: AtomicU32 = AtomicU32::new(0);

/// Counts a kernel that runs for as long as it lives.
pub(crate) struct Running(());

impl Running {
    pub fn new() -> Running {
        RUNNING.fetch_add(1, Ordering::Relaxed);
        Running(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

fn look() -> Duration {
    if RUNNING.load(Ordering::Relaxed) > 0 { LOOK } else { LOOK_IDLE }
}

/// A signal that exists, or has existed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signal(u32);

/// Provides the memory of signals.
///
/// # Errors
/// OUT_OF_RESOURCES.
pub(crate) fn set_up(memory: &Memory) -> Result<()> {
    if POOL.get().is_none() {
        let cells = Cells::new(memory, MOST * BYTES)?;
        // If another thread was faster, its memory stays and this goes.
        let _ = POOL.set(Pool { cells, state: Mutex::default() });
    }
    Ok(())
}

fn pool() -> Option<&'static Pool> {
    POOL.get()
}

impl Signal {
    /// A new one.
    ///
    /// # Errors
    /// NOT_INITIALIZED, OUT_OF_RESOURCES.
    pub fn new(value: i64) -> Result<Signal> {
        let pool = pool().ok_or(Status::NOT_INITIALIZED)?;
        let mut state = pool.state.lock().unwrap_or_else(PoisonError::into_inner);
        // While there are more, old ones rest for a while.
        const REST: usize = 4096;
        let number = if state.made < MOST && state.free.len() < REST {
            state.made += 1;
            state.made - 1
        } else {
            state.free.pop_front().ok_or(Status::OUT_OF_RESOURCES)? as usize
        };
        drop(state);
        let signal = Signal(number as u32);
        for offset in (0..BYTES).step_by(8) {
            signal.word(offset).store(0, Ordering::Relaxed);
        }
        signal.value().store(value, Ordering::Relaxed);
        signal.word(field::KIND).store(USER as u64, Ordering::Release);
        Ok(signal)
    }

    /// By its handle.
    ///
    /// # Errors
    /// INVALID_SIGNAL if there is none, or not any more.
    #[inline]
    pub fn find(handle: u64) -> Result<Signal> {
        let pool = pool().ok_or(Status::INVALID_SIGNAL)?;
        let offset = handle.wrapping_sub(pool.cells.address());
        if offset >= (MOST * BYTES) as u64 || offset % BYTES as u64 != 0 {
            return Err(Status::INVALID_SIGNAL);
        }
        let signal = Signal((offset / BYTES as u64) as u32);
        if signal.exists() { Ok(signal) } else { Err(Status::INVALID_SIGNAL) }
    }

    /// The same, where a handle of 0 is none.
    ///
    /// # Errors
    /// As [`Signal::find`].
    #[inline]
    pub fn find_any(handle: u64) -> Result<Option<Signal>> {
        if handle == 0 { Ok(None) } else { Signal::find(handle).map(Some) }
    }

    /// Ends it. Threads that wait for it go on.
    pub fn destroy(self) {
        self.word(field::KIND).store(0, Ordering::Release);
        self.wake();
        if let Some(pool) = pool() {
            pool.state.lock().unwrap_or_else(PoisonError::into_inner).free.push_back(self.0);
        }
    }

    /// Whether it has not been destroyed.
    #[inline]
    pub fn exists(self) -> bool {
        self.word(field::KIND).load(Ordering::Acquire) != 0
    }

    /// What programs call it by.
    pub fn handle(self) -> u64 {
        pool().map_or(0, |pool| pool.cells.address() + self.0 as u64 * BYTES as u64)
    }

    /// Where its value is.
    pub fn value_address(self) -> u64 {
        self.handle() + field::VALUE as u64
    }

    fn cells(self) -> (&'static Cells, usize) {
        // A signal is only made where there is a pool.
        (&POOL.get().expect("signals have memory").cells, self.0 as usize * BYTES)
    }

    #[inline]
    fn word(self, offset: usize) -> &'static AtomicU64 {
        let (cells, start) = self.cells();
        cells.u64(start + offset)
    }

    #[inline]
    fn count(self, offset: usize) -> &'static AtomicU32 {
        let (cells, start) = self.cells();
        cells.u32(start + offset)
    }

    #[inline]
    fn value(self) -> &'static AtomicI64 {
        let (cells, start) = self.cells();
        cells.i64(start + field::VALUE)
    }

    /// Its value.
    #[inline]
    pub fn load(self, order: Ordering) -> i64 {
        self.value().load(order)
    }

    /// Sets the value, and wakes nobody.
    #[inline]
    pub fn store_silently(self, value: i64, order: Ordering) {
        self.value().store(value, order);
    }

    /// Sets the value.
    #[inline]
    pub fn store(self, value: i64, order: Ordering) {
        self.value().store(value, order);
        self.wake();
    }

    /// Changes the value by an operation on the atomic word; what that gives.
    #[inline]
    pub fn change<T>(self, change: impl FnOnce(&AtomicI64) -> T) -> T {
        let result = change(self.value());
        self.wake();
        result
    }

    /// Counts down by one: what it stands for is complete.
    pub fn complete(self) {
        self.change(|value| value.fetch_sub(1, Ordering::AcqRel));
    }

    /// Notes when what it stands for began and ended, in nanoseconds.
    pub fn set_times(self, start: u64, end: u64) {
        self.word(field::START).store(start, Ordering::Relaxed);
        self.word(field::END).store(end, Ordering::Relaxed);
    }

    /// These times.
    pub fn times(self) -> (u64, u64) {
        (self.word(field::START).load(Ordering::Acquire), self.word(field::END).load(Ordering::Acquire))
    }

    fn bell(self) -> &'static Bell {
        &OF_ONE[self.0 as usize % BELLS]
    }

    /// Wakes who waits, after a change.
    #[inline]
    pub(crate) fn wake(self) {
        // The change comes before the look; who waits counts itself before it looks at the value.
        fence(Ordering::SeqCst);
        if self.count(field::WAITING).load(Ordering::Relaxed) != 0 {
            self.bell().ring();
        }
        if self.count(field::WATCHED).load(Ordering::Relaxed) != 0 {
            OF_MANY.ring();
        }
    }

    /// Waits until a condition holds, the signal is destroyed, or so long; the value then.
    pub fn wait(self, condition: Condition, operand: i64, time: Option<Duration>) -> i64 {
        let mut value = 0;
        self.wait_until(time, || {
            value = self.load(Ordering::Acquire);
            condition.holds(value, operand)
        });
        value
    }

    /// Waits until something holds that whoever makes it true says by a change of this signal, or until the signal is destroyed or so long.
    /// Gives whether it holds.
    pub(crate) fn wait_until(self, time: Option<Duration>, mut holds: impl FnMut() -> bool) -> bool {
        if holds() {
            return true;
        }
        if time.is_some_and(|time| time.is_zero()) {
            return false;
        }
        let began = Instant::now();
        let spin = time.map_or(SPIN, |time| time.min(SPIN));
        loop {
            for _ in 0..16 {
                std::hint::spin_loop();
                if holds() {
                    return true;
                }
            }
            if began.elapsed() >= spin {
                break;
            }
        }
        let waiting = self.count(field::WAITING);
        waiting.fetch_add(1, Ordering::SeqCst);
        let bell = self.bell();
        let mut rung = bell.lock();
        let result = loop {
            fence(Ordering::SeqCst);
            if holds() {
                break true;
            }
            let left = time.map(|time| time.saturating_sub(began.elapsed()));
            if !self.exists() || left.is_some_and(|left| left.is_zero()) {
                break false;
            }
            let most = left.map_or(look(), |left| left.min(look()));
            rung = bell.condvar.wait_timeout(rung, most).unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(rung);
        // A new signal at this place begins at 0 again.
        let _ = waiting.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
        result
    }
}

/// Watches several signals: while it lives, changes of them ring the bell for those who wait for any of several.
pub(crate) struct Watch(Vec<Signal>);

impl Watch {
    /// Of these signals.
    pub fn new(signals: Vec<Signal>) -> Watch {
        for signal in &signals {
            signal.count(field::WATCHED).fetch_add(1, Ordering::SeqCst);
        }
        Watch(signals)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for signal in &self.0 {
            let watched = signal.count(field::WATCHED);
            let _ = watched.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
        }
    }
}

/// How often the bell for several signals has rung.
pub(crate) fn rung() -> u64 {
    *OF_MANY.lock()
}

/// Rings it: what somebody waits for has changed.
pub(crate) fn ring() {
    OF_MANY.ring();
}

/// Sleeps until it has rung more often than `before`, or for so long, and at most until it is time to look at signals again.
pub(crate) fn sleep(before: u64, time: Option<Duration>) {
    let rung = OF_MANY.lock();
    if *rung == before {
        let most = time.map_or(look(), |time| time.min(look()));
        drop(OF_MANY.condvar.wait_timeout(rung, most).unwrap_or_else(PoisonError::into_inner));
    }
}

/// The same for those who wait for no signal now.
pub(crate) fn sleep_long(before: u64) {
    let rung = OF_MANY.lock();
    if *rung == before {
        drop(OF_MANY.condvar.wait(rung).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Waits until the condition of one of several signals holds; its index and value. `None`: the time is over, or all were destroyed.
pub(crate) fn wait_any(wanted: &[(Signal, Condition, i64)], time: Option<Duration>) -> Option<(usize, i64)> {
    let began = Instant::now();
    let find = || {
        wanted.iter().enumerate().find_map(|(index, (signal, condition, operand))| {
            let value = signal.load(Ordering::Acquire);
            condition.holds(value, *operand).then_some((index, value))
        })
    };
    if let Some(found) = find() {
        return Some(found);
    }
    let _watch = Watch::new(wanted.iter().map(|(signal, ..)| *signal).collect());
    loop {
        let before = rung();
        fence(Ordering::SeqCst);
        if let Some(found) = find() {
            return Some(found);
        }
        let left = time.map(|time| time.saturating_sub(began.elapsed()));
        if left.is_some_and(|left| left.is_zero()) || wanted.iter().all(|(signal, ..)| !signal.exists()) {
            return None;
        }
        sleep(before, left);
    }
}
