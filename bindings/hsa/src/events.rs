//! Functions of the program that are called when a signal has a value (`hsa_amd_signal_async_handler`), on a thread of the library's.

use crate::signal::{self, Condition, Signal, Watch};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, Once, PoisonError};

/// Called with the signal's value; `true` if it is to be called again.
pub(crate) type Handler = Box<dyn FnMut(i64) -> bool + Send>;

struct Waiting {
    signal: Signal,
    condition: Condition,
    operand: i64,
    handler: Handler,
    _watch: Watch,
}

/// What is to be called without a signal.
type Function = Box<dyn FnOnce() + Send>;

static WAITING: Mutex<Vec<Waiting>> = Mutex::new(Vec::new());
static FUNCTIONS: Mutex<Vec<Function>> = Mutex::new(Vec::new());
static THREAD: Once = Once::new();

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls a function each time that the condition holds, until it says no.
pub(crate) fn add(signal: Signal, condition: Condition, operand: i64, handler: Handler) {
    let waiting = Waiting { signal, condition, operand, handler, _watch: Watch::new(vec![signal]) };
    lock(&WAITING).push(waiting);
    start();
}

/// Calls a function soon.
pub(crate) fn call(function: Function) {
    lock(&FUNCTIONS).push(function);
    start();
}

fn start() {
    THREAD.call_once(|| {
        // Without threads nothing is called, as nothing else would work either.
        let _ = std::thread::Builder::new().name("hsa events".into()).spawn(run);
    });
    signal::ring();
}

fn run() {
    loop {
        let before = signal::rung();
        let mut worked = false;
        for function in std::mem::take(&mut *lock(&FUNCTIONS)) {
            worked = true;
            function();
        }
        // In the order in which they were added; none is called while the list is locked.
        let mut all = std::mem::take(&mut *lock(&WAITING));
        let mut kept = Vec::with_capacity(all.len());
        for mut waiting in all.drain(..) {
            if !waiting.signal.exists() {
                continue;
            }
            let value = waiting.signal.load(Ordering::Acquire);
            if !waiting.condition.holds(value, waiting.operand) {
                kept.push(waiting);
                continue;
            }
            worked = true;
            if (waiting.handler)(value) {
                kept.push(waiting);
            }
        }
        let mut list = lock(&WAITING);
        // Those that were added meanwhile come behind.
        kept.append(&mut list);
        *list = kept;
        let none = list.is_empty();
        drop(list);
        if worked {
            continue;
        }
        if none { signal::sleep_long(before) } else { signal::sleep(before, None) }
    }
}
