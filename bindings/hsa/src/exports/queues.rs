//! Queues.

use super::{Given, exports, list, put};
use crate::info::Agent;
use crate::queue::{MOST, OnError, field};
use crate::signal::Signal;
use crate::status::Status;
use crate::system::system;
use std::ffi::c_void;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// A queue, as programs have it: the address of its `amd_queue_t`.
type Queue = *mut c_void;

/// Called when a queue cannot go on.
type Callback = Option<unsafe extern "C" fn(Status, Queue, *mut c_void)>;

exports! {
    fn hsa_queue_create(
        agent: u64,
        size: u32,
        kind: u32,
        callback: Callback,
        data: *mut c_void,
        _private_bytes: u32,
        _group_bytes: u32,
        queue: *mut Queue,
    ) {
        let system = system()?;
        if Agent::find(system, agent)? == Agent::Host {
            return Err(Status::INVALID_QUEUE_CREATION);
        }
        if !size.is_power_of_two() || kind > 2 || queue.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        if size > MOST {
            return Err(Status::INVALID_QUEUE_CREATION);
        }
        let data = Given(data);
        let on_error = callback.map(|callback| -> OnError {
            Box::new(move |status, queue| {
                let queue = std::ptr::with_exposed_provenance_mut(queue as usize);
                // SAFETY: HSA's rule for the function: it may be called with the data on any thread.
                unsafe { callback(status, queue, data.get()) };
            })
        });
        let address = system.queues.create(system, size, kind, on_error)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(queue, std::ptr::with_exposed_provenance_mut(address as usize)) }
    }

    fn hsa_soft_queue_create(
        region: u64,
        size: u32,
        kind: u32,
        features: u32,
        doorbell: u64,
        queue: *mut Queue,
    ) {
        let system = system()?;
        if crate::memory::Pool::find(region).is_none_or(|pool| pool.segment() != 0) {
            return Err(Status::INVALID_ARGUMENT);
        }
        if !size.is_power_of_two() || kind > 1 || features == 0 || features > 3 || queue.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        if size > MOST {
            return Err(Status::OUT_OF_RESOURCES);
        }
        let doorbell = Signal::find(doorbell).map_err(|_| Status::INVALID_ARGUMENT)?;
        let address = system.queues.create_soft(system, size, kind, features, doorbell)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(queue, std::ptr::with_exposed_provenance_mut(address as usize)) }
    }

    fn hsa_queue_destroy(queue: Queue) {
        let system = system()?;
        if queue.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        system.queues.destroy(queue.addr() as u64)
    }

    fn hsa_queue_inactivate(queue: Queue) {
        let system = system()?;
        if queue.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        system.queues.get(queue.addr() as u64)?.inactivate();
        Ok(())
    }

    fn hsa_amd_queue_set_priority(queue: Queue, priority: u32) {
        let queue = system()?.queues.get(queue.addr() as u64)?;
        if priority > 2 {
            return Err(Status::INVALID_ARGUMENT);
        }
        queue.priority.store(priority, Ordering::Relaxed);
        Ok(())
    }

    fn hsa_amd_queue_cu_set_mask(queue: Queue, bits: u32, mask: *const u32) {
        let queue = system()?.queues.get(queue.addr() as u64)?;
        if !bits.is_multiple_of(32) {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the list.
        let mask = unsafe { list(mask, bits as usize / 32) }?;
        // There are no compute units to choose among: the mask is kept for who asks.
        *queue.unit_mask.lock().unwrap_or_else(PoisonError::into_inner) = mask.to_vec();
        Ok(())
    }

    fn hsa_amd_queue_cu_get_mask(queue: Queue, bits: u32, mask: *mut u32) {
        let queue = system()?.queues.get(queue.addr() as u64)?;
        if bits == 0 || !bits.is_multiple_of(32) || mask.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let own = queue.unit_mask.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for word in 0..bits as usize / 32 {
            let value = if own.is_empty() { u32::MAX } else { own.get(word).copied().unwrap_or(0) };
            // SAFETY: HSA's rules for the list.
            unsafe { put(mask.add(word), value)? };
        }
        Ok(())
    }

    fn hsa_amd_profiling_set_profiler_enabled(queue: Queue, _enable: i32) {
        // Times are always taken.
        system()?.queues.get(queue.addr() as u64).map(|_| ())
    }
}

/// An index of a queue.
///
/// # Safety
/// The queue exists for as long as the result is used.
unsafe fn index<'a>(queue: *const c_void, offset: usize) -> &'a AtomicU64 {
    // SAFETY: a queue's memory is mapped, is aligned to pages, and is accessed by atomics only.
    unsafe { &*queue.cast::<u8>().add(offset).cast::<AtomicU64>() }
}

/// Functions for indices of a queue. Programs call them for each packet, so they check nothing: the queue exists.
macro_rules! indices {
    (load $field:ident: $($name:ident $order:ident),*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(queue: *const c_void) -> u64 {
            // SAFETY: HSA's rule for the queue.
            unsafe { index(queue, field::$field) }.load(Ordering::$order)
        }
    )*};
    (store $field:ident: $($name:ident $order:ident),*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(queue: *const c_void, value: u64) {
            // SAFETY: HSA's rule for the queue.
            unsafe { index(queue, field::$field) }.store(value, Ordering::$order);
        }
    )*};
    (add: $($name:ident $order:ident),*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(queue: *const c_void, value: u64) -> u64 {
            // SAFETY: HSA's rule for the queue.
            unsafe { index(queue, field::WRITE_INDEX) }.fetch_add(value, Ordering::$order)
        }
    )*};
    (cas: $($name:ident $order:ident $failed:ident),*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(queue: *const c_void, expected: u64, value: u64) -> u64 {
            // SAFETY: HSA's rule for the queue.
            let word = unsafe { index(queue, field::WRITE_INDEX) };
            word.compare_exchange(expected, value, Ordering::$order, Ordering::$failed).unwrap_or_else(|seen| seen)
        }
    )*};
}
indices!(load READ_INDEX: hsa_queue_load_read_index_scacquire Acquire, hsa_queue_load_read_index_acquire Acquire,
    hsa_queue_load_read_index_relaxed Relaxed);
indices!(load WRITE_INDEX: hsa_queue_load_write_index_scacquire Acquire, hsa_queue_load_write_index_acquire Acquire,
    hsa_queue_load_write_index_relaxed Relaxed);
indices!(store WRITE_INDEX: hsa_queue_store_write_index_relaxed Relaxed, hsa_queue_store_write_index_screlease Release,
    hsa_queue_store_write_index_release Release);
indices!(store READ_INDEX: hsa_queue_store_read_index_relaxed Relaxed, hsa_queue_store_read_index_screlease Release,
    hsa_queue_store_read_index_release Release);
indices!(add: hsa_queue_add_write_index_scacq_screl AcqRel, hsa_queue_add_write_index_acq_rel AcqRel,
    hsa_queue_add_write_index_scacquire Acquire, hsa_queue_add_write_index_acquire Acquire,
    hsa_queue_add_write_index_relaxed Relaxed, hsa_queue_add_write_index_screlease Release,
    hsa_queue_add_write_index_release Release);
indices!(cas: hsa_queue_cas_write_index_scacq_screl AcqRel Acquire, hsa_queue_cas_write_index_acq_rel AcqRel Acquire,
    hsa_queue_cas_write_index_scacquire Acquire Acquire, hsa_queue_cas_write_index_acquire Acquire Acquire,
    hsa_queue_cas_write_index_relaxed Relaxed Relaxed, hsa_queue_cas_write_index_screlease Release Relaxed,
    hsa_queue_cas_write_index_release Release Relaxed);
