//! Queues, prepared launches, compiling ahead.

use std::sync::atomic::{AtomicU32, Ordering};

use warpjit_c::device::*;
use warpjit_c::prepared::*;
use warpjit_c::queue::*;

use super::*;

unsafe extern "C-unwind" fn note_completion(user: *mut c_void, status: warpjit_status, has_fault: bool) {
    assert_eq!(status, WARPJIT_OK);
    // SAFETY: what the test has given, which waits for the submission.
    unsafe { (*user.cast::<AtomicU32>()).fetch_add(1 + u32::from(has_fault), Ordering::SeqCst) };
}

#[test]
fn queues_run_submissions_in_order() {
    for tier in TIERS {
        let setup = Setup::new(tier);
        setup.map();
        let done = AtomicU32::new(0);
        // SAFETY: all pointers are those of locals, which outlive what uses them; handles may be anything.
        unsafe {
            let queue = made(|out| warpjit_queue_new(setup.engine, WARPJIT_PRIORITY_HIGH, false, out));
            let compilation = made(|out| {
                let (program, launch) = (setup.program.cast_const(), setup.launch.cast_const());
                warpjit_engine_precompile(setup.engine, setup.memory, &program, &launch, 1, out)
            });
            ok(warpjit_compilation_wait(compilation, u64::MAX));
            let prepared = made(|out| {
                warpjit_engine_prepare(setup.engine, setup.program, setup.memory, setup.launch, out)
            });
            let mut has_fault = true;
            ok(warpjit_prepared_run(prepared, null_mut(), &mut has_fault));
            assert!(!has_fault);

            // The input moves on by a word for each dispatch: the last one wins.
            for word in 0..8 {
                ok(warpjit_memory_store(setup.memory, INPUT + 4 * word, 4, 100 * word));
            }
            let words: Vec<u32> = (0..8).map(|word| INPUT as u32 + 4 * word).collect();
            let dispatches: Vec<_> = (0..8)
                .map(|n| warpjit_dispatch {
                    prepared,
                    grid: [0; 3],
                    user_data_first: 0,
                    args_offset: 0,
                    args: null(),
                    args_bytes: 0,
                    user_data: &raw const words[n],
                    user_data_words: 1,
                })
                .collect();
            let batch =
                made(|out| warpjit_queue_submit_batch(queue, dispatches.as_ptr(), dispatches.len(), out));
            let second =
                made(|out| warpjit_submission_of_launch(setup.program, setup.memory, setup.launch, out));
            ok(warpjit_submission_add_dependency(second, batch));
            let user = (&raw const done).cast_mut().cast();
            ok(warpjit_submission_on_complete(second, Some(note_completion), user, None));
            ok(warpjit_ticket_wait(batch, u64::MAX, null_mut()));
            assert_eq!(setup.result(3), 703);
            let mut count = 0;
            ok(warpjit_ticket_dispatches(batch, &mut count));
            assert_eq!(count, 8);
            let ticket = made(|out| warpjit_queue_submit(queue, second, out));
            assert_eq!(warpjit_queue_submit(queue, second, null_mut()), WARPJIT_ERROR_ARGUMENT);
            ok(warpjit_queue_finish(queue));
            let report = made(|out| warpjit_ticket_wait(ticket, 0, out));
            assert_eq!((setup.result(3), done.load(Ordering::SeqCst)), (3, 1));

            // What a submission waits for fails.
            setup.unmap();
            let faults = made(|out| warpjit_submission_of_prepared(prepared, out));
            let first = made(|out| warpjit_queue_submit(queue, faults, out));
            let waits = made(|out| warpjit_submission_of_prepared(prepared, out));
            ok(warpjit_submission_add_dependency(waits, first));
            let other = made(|out| warpjit_queue_submit(queue, waits, out));
            assert_eq!(warpjit_ticket_wait(other, u64::MAX, null_mut()), WARPJIT_ERROR_DEPENDENCY);
            // Why: the fault of the other one, and the address that is not mapped any more.
            assert_eq!(CStr::from_ptr(warpjit_last_error_kind()), c"Faulted");
            let mut address = 0;
            ok(warpjit_last_error_number(c"source".as_ptr(), &mut address));
            assert_eq!(address, INPUT);
            // Handles may go while work is in the queue.
            let last = made(|out| warpjit_submission_of_prepared(prepared, out));
            ok(warpjit_queue_submit(queue, last, null_mut()));
            let handles: [*mut c_void; 13] = [
                queue.cast(),
                compilation.cast(),
                prepared.cast(),
                batch.cast(),
                second.cast(),
                ticket.cast(),
                report.cast(),
                faults.cast(),
                first.cast(),
                waits.cast(),
                other.cast(),
                last.cast(),
                null_mut(),
            ];
            for handle in handles {
                ok(warpjit_free(handle));
            }
        }
    }
}

unsafe extern "C-unwind" fn panic_at_end(_: *mut c_void, _: warpjit_status, _: bool) {
    panic!("no end")
}

#[test]
fn submissions_may_be_late_cancelled_or_end_in_a_panic() {
    let setup = Setup::new(WARPJIT_TIER_INTERPRETER);
    setup.map();
    // SAFETY: all pointers are those of locals; handles may be anything.
    unsafe {
        let config = made(|out| warpjit_config_new(out));
        ok(warpjit_config_set_tier(config, WARPJIT_TIER_INTERPRETER, 0));
        ok(warpjit_config_set_idle(config, WARPJIT_IDLE_EMBEDDER, 0));
        let engine = made(|out| warpjit_engine_new(config, out));
        let queue = made(|out| warpjit_queue_new(engine, WARPJIT_PRIORITY_NORMAL, true, out));
        let submission =
            || made(|out| warpjit_submission_of_launch(setup.program, setup.memory, setup.launch, out));

        // Nobody works until the program does.
        let first = submission();
        let ticket = made(|out| warpjit_queue_submit(queue, first, out));
        assert_eq!(warpjit_ticket_wait(ticket, 0, null_mut()), WARPJIT_ERROR_NOT_DONE);
        let (mut has_worked, mut is_done) = (false, true);
        ok(warpjit_ticket_poll(ticket, &mut is_done));
        assert!(!is_done);
        while !is_done {
            ok(warpjit_engine_work(engine, 1_000_000, &mut has_worked));
            assert!(has_worked);
            ok(warpjit_ticket_poll(ticket, &mut is_done));
        }
        assert_eq!(setup.result(6), 6);

        let cancelled = submission();
        let other = made(|out| warpjit_queue_submit(queue, cancelled, out));
        ok(warpjit_ticket_cancel(other));
        assert_eq!(warpjit_ticket_wait(other, u64::MAX, null_mut()), WARPJIT_ERROR_CANCELLED);

        let late = submission();
        ok(warpjit_submission_set_deadline(late, 0));
        let third = made(|out| warpjit_queue_submit(queue, late, out));
        assert_eq!(warpjit_ticket_wait(third, u64::MAX, null_mut()), WARPJIT_ERROR_DEADLINE);

        let panics = submission();
        ok(warpjit_submission_on_complete(panics, Some(panic_at_end), null_mut(), None));
        let fourth = made(|out| warpjit_queue_submit(queue, panics, out));
        assert_eq!(warpjit_ticket_wait(fourth, u64::MAX, null_mut()), WARPJIT_ERROR_CALLBACK);
        assert!(last_error().contains("no end"), "{}", last_error());
        let handles: [*mut c_void; 10] = [
            config.cast(),
            engine.cast(),
            queue.cast(),
            first.cast(),
            ticket.cast(),
            cancelled.cast(),
            other.cast(),
            late.cast(),
            third.cast(),
            fourth.cast(),
        ];
        for handle in handles {
            ok(warpjit_free(handle));
        }
        ok(warpjit_free(panics.cast()));
    }
}

/// Where a device finds the prepared launch that calls it.
struct InUse {
    prepared: *const warpjit_prepared,
    status: AtomicU32,
}

unsafe extern "C-unwind" fn run_again(user: *mut c_void, _: u64, _: u32, value: *mut u64) -> warpjit_status {
    // SAFETY: what the test and the library have given.
    unsafe {
        let user = &*user.cast::<InUse>();
        let status = warpjit_prepared_run(user.prepared, null_mut(), null_mut());
        user.status.store(status as u32, Ordering::SeqCst);
        value.write(50);
    }
    WARPJIT_OK
}

unsafe extern "C-unwind" fn ignore(_: *mut c_void, _: u64, _: u32, _: u64) -> warpjit_status {
    WARPJIT_OK
}

#[test]
fn prepared_launches_run_with_other_arguments() {
    for tier in TIERS {
        let setup = Setup::new(tier);
        setup.map();
        // SAFETY: all pointers are those of locals, which outlive the memory; handles may be anything.
        unsafe {
            let prepared = made(|out| {
                warpjit_engine_prepare(setup.engine, setup.program, setup.memory, setup.launch, out)
            });
            let (mut args, mut words) = (9, 9);
            ok(warpjit_prepared_sizes(prepared, &mut args, &mut words));
            assert_eq!((args, words), (0, 4));
            ok(warpjit_memory_store(setup.memory, INPUT + 4, 4, 30));
            ok(warpjit_prepared_set_user_data(prepared, 0, [INPUT as u32 + 4].as_ptr(), 1));
            ok(warpjit_prepared_set_grid(prepared, 3, 1, 1));
            let copy = made(|out| warpjit_prepared_clone(prepared, out));
            ok(warpjit_prepared_set_blocks(prepared, 1, 2));
            let report = made(|out| warpjit_prepared_run(prepared, out, null_mut()));
            let mut statistics = std::mem::zeroed::<warpjit_statistics>();
            ok(warpjit_report_statistics(report, &mut statistics, size_of::<warpjit_statistics>()));
            assert_eq!((statistics.blocks, setup.result(2)), (1, 32));
            let whole = made(|out| warpjit_prepared_run(copy, out, null_mut()));
            ok(warpjit_report_statistics(whole, &mut statistics, size_of::<warpjit_statistics>()));
            assert_eq!(statistics.blocks, 3);
            assert_eq!(warpjit_prepared_set_user_data(prepared, 4, [0].as_ptr(), 1), WARPJIT_ERROR_LAUNCH);
            assert_eq!(
                warpjit_prepared_set_args(prepared, 0, [0_u8].as_ptr().cast(), 1),
                WARPJIT_ERROR_LAUNCH
            );

            // It is in use while it runs.
            setup.unmap();
            let user = InUse { prepared, status: AtomicU32::new(0) };
            let device = warpjit_c::device::warpjit_device {
                load: Some(run_again),
                store: Some(ignore),
                update: None,
                drop: None,
                user: (&raw const user).cast_mut().cast(),
            };
            ok(warpjit_memory_map_device(setup.memory, INPUT, 4096, &device, null_mut()));
            ok(warpjit_prepared_run(prepared, null_mut(), null_mut()));
            assert_eq!(user.status.load(Ordering::SeqCst), WARPJIT_ERROR_ARGUMENT as u32);
            assert_eq!(setup.result(2), 52);
            let cancel = made(|out| warpjit_cancel_new(out));
            ok(warpjit_cancel_now(cancel));
            ok(warpjit_prepared_set_cancel(prepared, cancel));
            let ended = made(|out| warpjit_prepared_run(prepared, out, null_mut()));
            let mut is_cancelled = false;
            ok(warpjit_report_is_cancelled(ended, &mut is_cancelled));
            assert!(is_cancelled);
            let handles: [*mut c_void; 6] =
                [prepared.cast(), copy.cast(), report.cast(), whole.cast(), cancel.cast(), ended.cast()];
            for handle in handles {
                ok(warpjit_free(handle));
            }
        }
    }
}
