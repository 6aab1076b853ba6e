//! Signals.

use super::{Given, exports, list, put};
use crate::clock;
use crate::events;
use crate::info::Agent;
use crate::signal::{self, Condition, Signal};
use crate::status::{Result, Status};
use crate::system::system;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A change of a signal. One that does not exist is a mistake of the program, which the functions cannot tell it.
fn change<T: Default>(handle: u64, change: impl FnOnce(&AtomicI64) -> T) -> T {
    Signal::find(handle).map_or_else(|_| T::default(), |signal| signal.change(change))
}

/// A time of HSA: `u64::MAX` is for ever.
fn time(hint: u64) -> Option<Duration> {
    // Ticks are nanoseconds.
    const _: () = assert!(clock::FREQUENCY == 1_000_000_000);
    (hint != u64::MAX).then(|| Duration::from_nanos(hint))
}

fn wait(handle: u64, condition: u32, operand: i64, hint: u64) -> i64 {
    match (Signal::find(handle), Condition::new(condition)) {
        (Ok(signal), Ok(condition)) => signal.wait(condition, operand, time(hint)),
        _ => 0,
    }
}

macro_rules! loads {
    ($($name:ident: $order:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(signal: u64) -> i64 {
            Signal::find(signal).map_or(0, |signal| signal.load(Ordering::$order))
        }
    )*};
}
loads! {
    hsa_signal_load_scacquire: Acquire
    hsa_signal_load_acquire: Acquire
    hsa_signal_load_relaxed: Relaxed
}

macro_rules! stores {
    ($($name:ident: $store:ident $order:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(signal: u64, value: i64) {
            if let Ok(signal) = Signal::find(signal) {
                signal.$store(value, Ordering::$order);
            }
        }
    )*};
}
stores! {
    hsa_signal_store_relaxed: store Relaxed
    hsa_signal_store_screlease: store Release
    hsa_signal_store_release: store Release
    hsa_signal_silent_store_relaxed: store_silently Relaxed
    hsa_signal_silent_store_screlease: store_silently Release
}

/// Operations on a value, in all memory orders.
macro_rules! operations {
    ($($operation:ident: $($name:ident $order:ident),*;)*) => {$($(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(signal: u64, value: i64) {
            change(signal, |word| {
                word.$operation(value, Ordering::$order);
            });
        }
    )*)*};
}
operations! {
    fetch_add: hsa_signal_add_scacq_screl AcqRel, hsa_signal_add_acq_rel AcqRel, hsa_signal_add_scacquire Acquire,
        hsa_signal_add_acquire Acquire, hsa_signal_add_relaxed Relaxed, hsa_signal_add_screlease Release, hsa_signal_add_release Release;
    fetch_sub: hsa_signal_subtract_scacq_screl AcqRel, hsa_signal_subtract_acq_rel AcqRel, hsa_signal_subtract_scacquire Acquire,
        hsa_signal_subtract_acquire Acquire, hsa_signal_subtract_relaxed Relaxed, hsa_signal_subtract_screlease Release,
        hsa_signal_subtract_release Release;
    fetch_and: hsa_signal_and_scacq_screl AcqRel, hsa_signal_and_acq_rel AcqRel, hsa_signal_and_scacquire Acquire,
        hsa_signal_and_acquire Acquire, hsa_signal_and_relaxed Relaxed, hsa_signal_and_screlease Release, hsa_signal_and_release Release;
    fetch_or: hsa_signal_or_scacq_screl AcqRel, hsa_signal_or_acq_rel AcqRel, hsa_signal_or_scacquire Acquire,
        hsa_signal_or_acquire Acquire, hsa_signal_or_relaxed Relaxed, hsa_signal_or_screlease Release, hsa_signal_or_release Release;
    fetch_xor: hsa_signal_xor_scacq_screl AcqRel, hsa_signal_xor_acq_rel AcqRel, hsa_signal_xor_scacquire Acquire,
        hsa_signal_xor_acquire Acquire, hsa_signal_xor_relaxed Relaxed, hsa_signal_xor_screlease Release, hsa_signal_xor_release Release;
}

macro_rules! exchanges {
    ($($name:ident: $order:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(signal: u64, value: i64) -> i64 {
            change(signal, |word| word.swap(value, Ordering::$order))
        }
    )*};
}
exchanges! {
    hsa_signal_exchange_scacq_screl: AcqRel
    hsa_signal_exchange_acq_rel: AcqRel
    hsa_signal_exchange_scacquire: Acquire
    hsa_signal_exchange_acquire: Acquire
    hsa_signal_exchange_relaxed: Relaxed
    hsa_signal_exchange_screlease: Release
    hsa_signal_exchange_release: Release
}

macro_rules! comparisons {
    ($($name:ident: $order:ident $failed:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(signal: u64, expected: i64, value: i64) -> i64 {
            change(signal, |word| {
                word.compare_exchange(expected, value, Ordering::$order, Ordering::$failed).unwrap_or_else(|seen| seen)
            })
        }
    )*};
}
comparisons! {
    hsa_signal_cas_scacq_screl: AcqRel Acquire
    hsa_signal_cas_acq_rel: AcqRel Acquire
    hsa_signal_cas_scacquire: Acquire Acquire
    hsa_signal_cas_acquire: Acquire Acquire
    hsa_signal_cas_relaxed: Relaxed Relaxed
    hsa_signal_cas_screlease: Release Relaxed
    hsa_signal_cas_release: Release Relaxed
}

macro_rules! waits {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(signal: u64, condition: u32, operand: i64, time: u64, _state: u32) -> i64 {
            wait(signal, condition, operand, time)
        }
    )*};
}
waits!(hsa_signal_wait_scacquire hsa_signal_wait_acquire hsa_signal_wait_relaxed);

/// Checks the agents that shall wait for a signal.
///
/// # Safety
/// HSA's rules for the list.
unsafe fn check_consumers(count: u32, consumers: *const u64) -> Result<()> {
    let system = system()?;
    // SAFETY: as the caller promises.
    for agent in unsafe { list(consumers, count as usize) }? {
        Agent::find(system, *agent).map_err(|_| Status::INVALID_ARGUMENT)?;
    }
    Ok(())
}

/// A group of signals.
static GROUPS: Mutex<Option<HashMap<u64, Vec<Signal>>>> = Mutex::new(None);

fn group(handle: u64) -> Result<Vec<Signal>> {
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    groups.as_ref().and_then(|groups| groups.get(&handle).cloned()).ok_or(Status::INVALID_SIGNAL_GROUP)
}

/// # Safety
/// HSA's rules for `hsa_signal_group_wait_any_scacquire`.
unsafe fn wait_group(
    handle: u64,
    conditions: *const u32,
    operands: *const i64,
    signal: *mut u64,
    value: *mut i64,
) -> Result<()> {
    system()?;
    let signals = group(handle)?;
    // SAFETY: as the caller promises: the lists are as long as the group.
    let (conditions, operands) =
        unsafe { (list(conditions, signals.len())?, list(operands, signals.len())?) };
    let mut wanted = Vec::new();
    for (number, signal) in signals.iter().enumerate() {
        wanted.push((*signal, Condition::new(conditions[number])?, operands[number]));
    }
    let (index, found) = signal::wait_any(&wanted, None).ok_or(Status::INVALID_SIGNAL)?;
    // SAFETY: as the caller promises.
    unsafe {
        put(signal, signals[index].handle())?;
        put(value, found)
    }
}

exports! {
    fn hsa_signal_create(value: i64, count: u32, consumers: *const u64, signal: *mut u64) {
        // SAFETY: HSA's rules for the list and the place.
        unsafe {
            check_consumers(count, consumers)?;
            if signal.is_null() {
                return Err(Status::INVALID_ARGUMENT);
            }
            put(signal, Signal::new(value)?.handle())
        }
    }

    fn hsa_amd_signal_create(value: i64, count: u32, consumers: *const u64, attributes: u64, signal: *mut u64) {
        /// Only for the device; to be shared with other processes.
        const DEVICE_ONLY: u64 = 1;
        const IPC: u64 = 2;
        if attributes & !(DEVICE_ONLY | IPC) != 0 || signal.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        if attributes & IPC != 0 {
            return Err(Status::OUT_OF_RESOURCES);
        }
        // SAFETY: HSA's rules for the list and the place.
        unsafe {
            check_consumers(count, consumers)?;
            put(signal, Signal::new(value)?.handle())
        }
    }

    fn hsa_signal_destroy(signal: u64) {
        system()?;
        if signal == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        Signal::find(signal)?.destroy();
        Ok(())
    }

    fn hsa_amd_signal_value_pointer(signal: u64, pointer: *mut *mut i64) {
        system()?;
        let address = Signal::find(signal)?.value_address();
        // SAFETY: HSA's rules for the place.
        unsafe { put(pointer, std::ptr::with_exposed_provenance_mut(address as usize)) }
    }

    fn hsa_amd_signal_async_handler(
        signal: u64,
        condition: u32,
        operand: i64,
        handler: Option<unsafe extern "C" fn(i64, *mut c_void) -> bool>,
        argument: *mut c_void,
    ) {
        system()?;
        let handler = handler.ok_or(Status::INVALID_ARGUMENT)?;
        let (signal, condition) = (Signal::find(signal)?, Condition::new(condition)?);
        let argument = Given(argument);
        // SAFETY: HSA's rule for the function: it may be called with the argument on any thread.
        let call = move |value| unsafe { handler(value, argument.get()) };
        events::add(signal, condition, operand, Box::new(call));
        Ok(())
    }

    fn hsa_signal_group_create(
        count: u32,
        signals: *const u64,
        consumer_count: u32,
        consumers: *const u64,
        handle: *mut u64,
    ) {
        system()?;
        if count == 0 || handle.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the lists.
        let signals = unsafe {
            check_consumers(consumer_count, consumers)?;
            list(signals, count as usize)?
        };
        let signals = signals.iter().map(|signal| Signal::find(*signal)).collect::<Result<Vec<_>>>()?;
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        let groups = groups.get_or_insert_default();
        let number = (0x7000..).find(|number| !groups.contains_key(number)).ok_or(Status::OUT_OF_RESOURCES)?;
        groups.insert(number, signals);
        // SAFETY: HSA's rules for the place.
        unsafe { put(handle, number) }
    }

    fn hsa_signal_group_destroy(handle: u64) {
        system()?;
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        let removed = groups.as_mut().and_then(|groups| groups.remove(&handle));
        removed.map(|_| ()).ok_or(Status::INVALID_SIGNAL_GROUP)
    }

    fn hsa_signal_group_wait_any_scacquire(
        handle: u64,
        conditions: *const u32,
        operands: *const i64,
        _state: u32,
        signal: *mut u64,
        value: *mut i64,
    ) {
        // SAFETY: HSA's rules for the function.
        unsafe { wait_group(handle, conditions, operands, signal, value) }
    }

    fn hsa_signal_group_wait_any_relaxed(
        handle: u64,
        conditions: *const u32,
        operands: *const i64,
        _state: u32,
        signal: *mut u64,
        value: *mut i64,
    ) {
        // SAFETY: HSA's rules for the function.
        unsafe { wait_group(handle, conditions, operands, signal, value) }
    }

    fn hsa_amd_profiling_get_dispatch_time(agent: u64, signal: u64, times: *mut [u64; 2]) {
        Agent::find(system()?, agent)?;
        let (start, end) = Signal::find(signal)?.times();
        // SAFETY: HSA's rules for the place.
        unsafe { put(times, [start, end]) }
    }

    fn hsa_amd_profiling_get_async_copy_time(signal: u64, times: *mut [u64; 2]) {
        system()?;
        let (start, end) = Signal::find(signal)?.times();
        // SAFETY: HSA's rules for the place.
        unsafe { put(times, [start, end]) }
    }

    fn hsa_amd_profiling_async_copy_enable(_enable: bool) {
        // Times are always taken.
        system().map(|_| ())
    }

    fn hsa_amd_profiling_convert_tick_to_system_domain(agent: u64, tick: u64, system_tick: *mut u64) {
        Agent::find(system()?, agent)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(system_tick, tick) }
    }

    fn hsa_amd_ipc_signal_create(_signal: u64, _handle: *mut c_void) {
        system()?;
        // No signal was made to be shared with other processes.
        Err(Status::INVALID_ARGUMENT)
    }

    fn hsa_amd_ipc_signal_attach(handle: *const c_void, _signal: *mut u64) {
        system()?;
        let _ = handle;
        Err(Status::INVALID_ARGUMENT)
    }
}

/// # Safety
/// HSA's rules for the function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_signal_wait_any(
    count: u32,
    signals: *const u64,
    conditions: *const u32,
    operands: *const i64,
    hint: u64,
    _state: u32,
    value: *mut i64,
) -> u32 {
    let count = count as usize;
    // SAFETY: as the caller promises.
    let lists = unsafe { (list(signals, count), list(conditions, count), list(operands, count)) };
    let (Ok(signals), Ok(conditions), Ok(operands)) = lists else { return u32::MAX };
    let mut wanted = Vec::new();
    let mut indices = Vec::new();
    for index in 0..count {
        // A signal that does not exist is left out.
        if let (Ok(signal), Ok(condition)) = (Signal::find(signals[index]), Condition::new(conditions[index]))
        {
            wanted.push((signal, condition, operands[index]));
            indices.push(index as u32);
        }
    }
    let Some((index, found)) = signal::wait_any(&wanted, time(hint)) else { return u32::MAX };
    if !value.is_null() {
        // SAFETY: as the caller promises.
        unsafe { value.write(found) };
    }
    indices[index]
}
