//! Signals.

use crate::support::{COUNT, Signal, call, start, status};
use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use warpjit_hsa::exports::*;
use warpjit_hsa::status::Status;

#[test]
fn operations() {
    let signal = Signal::new(5);
    hsa_signal_add_relaxed(signal.0, 3);
    hsa_signal_subtract_screlease(signal.0, 1);
    hsa_signal_or_relaxed(signal.0, 8);
    hsa_signal_and_scacquire(signal.0, 13);
    hsa_signal_xor_acq_rel(signal.0, 1);
    assert_eq!(signal.value(), (((5 + 3 - 1) | 8) & 13) ^ 1);
    assert_eq!(hsa_signal_exchange_scacq_screl(signal.0, 2), 12);
    assert_eq!(hsa_signal_cas_relaxed(signal.0, 3, 9), 2);
    assert_eq!(hsa_signal_cas_scacq_screl(signal.0, 2, 9), 2);
    assert_eq!(hsa_signal_load_relaxed(signal.0), 9);
    // amd_signal_t: its kind, and the value where the pointer says.
    let mut pointer = std::ptr::null_mut();
    call!(hsa_amd_signal_value_pointer(signal.0, &raw mut pointer));
    assert_eq!(pointer.addr() as u64, signal.0 + 8);
    // SAFETY: the value of a signal that exists.
    unsafe { AtomicI64::from_ptr(pointer) }.store(-4, Ordering::Relaxed);
    assert_eq!(signal.value(), -4);
}

/// A thread that waits sees a change by a function soon, and one through the pointer within a look.
#[test]
fn waiting() {
    for by_pointer in [false, true] {
        let signal = Signal::new(1);
        let handle = signal.0;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(5));
                if by_pointer {
                    let place = std::ptr::with_exposed_provenance_mut(handle as usize + 8);
                    // SAFETY: the value of a signal that exists.
                    unsafe { AtomicI64::from_ptr(place) }.store(0, Ordering::Release);
                } else {
                    hsa_signal_store_screlease(handle, 0);
                }
            });
            assert_eq!(hsa_signal_wait_scacquire(handle, 2, 1, u64::MAX, 0), 0);
        });
    }
    let signal = Signal::new(7);
    let began = Instant::now();
    assert_eq!(hsa_signal_wait_relaxed(signal.0, 0, 0, 3_000_000, 1), 7);
    assert!(began.elapsed() >= Duration::from_millis(3));
    // Conditions: equal, not equal, less, at least.
    for (condition, operand) in [(0, 7), (1, 6), (2, 8), (3, 7)] {
        assert_eq!(hsa_signal_wait_scacquire(signal.0, condition, operand, u64::MAX, 0), 7);
    }
}

#[test]
fn any_of_several() {
    let signals = [Signal::new(1), Signal::new(1), Signal::new(1)];
    let handles: Vec<u64> = signals.iter().map(|signal| signal.0).collect();
    let (conditions, operands) = ([2_u32; 3], [1_i64; 3]);
    let mut value = 0;
    let wait = |time: u64, value: &mut i64| {
        let lists = (handles.as_ptr(), conditions.as_ptr(), operands.as_ptr());
        // SAFETY: lists of three.
        unsafe { hsa_amd_signal_wait_any(3, lists.0, lists.1, lists.2, time, 0, value) }
    };
    assert_eq!(wait(1_000_000, &mut value), u32::MAX);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(5));
            hsa_signal_store_relaxed(handles[1], -3);
        });
        assert_eq!((wait(u64::MAX, &mut value), value), (1, -3));
    });
    let mut group = 0;
    call!(hsa_signal_group_create(3, handles.as_ptr(), 0, std::ptr::null(), &raw mut group));
    let mut signal = 0;
    call!(hsa_signal_group_wait_any_relaxed(
        group,
        conditions.as_ptr(),
        operands.as_ptr(),
        0,
        &raw mut signal,
        &raw mut value
    ));
    assert_eq!((signal, value), (handles[1], -3));
    call!(hsa_signal_group_destroy(group));
    assert_eq!(status!(hsa_signal_group_destroy(group)), Status::INVALID_SIGNAL_GROUP);
}

unsafe extern "C" fn count(value: i64, argument: *mut c_void) -> bool {
    COUNT.fetch_add(1, Ordering::SeqCst);
    // It changes the signal itself, as HIP's do, and is called again until the value is 0.
    hsa_signal_subtract_relaxed(argument.addr() as u64, 1);
    value > 1
}

#[test]
fn handlers() {
    let signal = Signal::new(5);
    call!(hsa_amd_signal_async_handler(signal.0, 2, 4, Some(count), signal.0 as *mut c_void));
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(COUNT.load(Ordering::SeqCst), 0);
    hsa_signal_store_screlease(signal.0, 3);
    signal.wait();
    assert_eq!(COUNT.load(Ordering::SeqCst), 3);
    assert_eq!(
        status!(hsa_amd_signal_async_handler(signal.0, 9, 4, Some(count), std::ptr::null_mut())),
        Status::INVALID_ARGUMENT
    );
}

/// A destroyed signal is none: calls say so or do nothing, and who waits goes on.
#[test]
fn destroyed() {
    start();
    let signal = Signal::new(1);
    std::thread::scope(|scope| {
        let handle = signal.0;
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            call!(hsa_signal_destroy(handle));
        });
        assert_eq!(hsa_signal_wait_scacquire(handle, 0, 0, u64::MAX, 0), 1);
    });
    assert_eq!(status!(hsa_signal_destroy(signal.0)), Status::INVALID_SIGNAL);
    hsa_signal_store_relaxed(signal.0, 9);
    assert_eq!(hsa_signal_load_relaxed(signal.0), 0);
    assert_eq!(status!(hsa_signal_destroy(0)), Status::INVALID_ARGUMENT);
    assert_eq!(status!(hsa_signal_destroy(12)), Status::INVALID_SIGNAL);
    assert_eq!(
        status!(hsa_signal_create(0, 0, std::ptr::null(), std::ptr::null_mut())),
        Status::INVALID_ARGUMENT
    );
}
