//! Handles and arguments that are wrong, and faults, which are no errors.

use super::*;

#[test]
fn faults_are_data() {
    for tier in TIERS {
        let setup = Setup::new(tier);
        let fault = setup.run().1.unwrap();
        assert_eq!((fault.kind, fault.pc, fault.lane), (WARPJIT_FAULT_MEMORY, 0xc, 0));
        assert_eq!((fault.has_address, fault.address, fault.store), (true, INPUT, false));
        setup.map();
        assert_eq!(setup.run().1.unwrap().kind, WARPJIT_FAULT_NONE);
        assert_eq!(setup.result(63), 63);
    }
}

#[test]
fn freed_handles_are_refused_by_all_calls() {
    let setup = Setup::new(WARPJIT_TIER_INTERPRETER);
    setup.map();
    // SAFETY: that handles may be anything is what is tested.
    unsafe {
        // One after another, each of the four makes the launch an error.
        let other = Setup::new(WARPJIT_TIER_INTERPRETER);
        let mut report = null_mut();
        let all = [setup.engine.cast(), setup.program.cast(), setup.memory.cast(), setup.launch.cast()];
        let spare: [*mut c_void; 4] =
            [other.engine.cast(), other.program.cast(), other.memory.cast(), other.launch.cast()];
        for freed in 0..4 {
            ok(warpjit_free(all[freed]));
            assert_eq!(warpjit_free(all[freed]), WARPJIT_ERROR_HANDLE);
            assert!(last_error().contains("was freed"), "{}", last_error());
            let at = |n: usize| if n == freed { all[n] } else { spare[n] };
            let status =
                warpjit_engine_run(at(0).cast(), at(1).cast(), at(2).cast(), at(3).cast(), &mut report);
            assert_eq!(status, WARPJIT_ERROR_HANDLE);
            assert!(report.is_null());
        }
        // Other kinds, pointers, and nothing.
        let local = 7_u64;
        for wrong in [other.memory.cast::<warpjit_engine>(), (&raw const local).cast_mut().cast(), null_mut()]
        {
            assert_eq!(warpjit_engine_wait_for_compiler(wrong), WARPJIT_ERROR_HANDLE);
        }
        assert_eq!(warpjit_engine_wait_for_compiler(other.memory.cast()), WARPJIT_ERROR_HANDLE);
        assert_eq!(last_error(), "a warpjit_memory where a warpjit_engine is needed");
        ok(warpjit_free(null_mut()));
    }
}

#[test]
fn handles_may_be_freed_while_threads_use_them() {
    for _ in 0..20 {
        let setup = Setup::new(WARPJIT_TIER_INTERPRETER);
        setup.map();
        let handles =
            [setup.engine as usize, setup.program as usize, setup.memory as usize, setup.launch as usize];
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || {
                    let [engine, program, memory, launch] = handles;
                    for _ in 0..50 {
                        let mut report = null_mut();
                        // SAFETY: handles may be anything.
                        let status = unsafe {
                            warpjit_engine_run(
                                engine as *const _,
                                program as *const _,
                                memory as *const _,
                                launch as *const _,
                                &mut report,
                            )
                        };
                        assert!(matches!(status, WARPJIT_OK | WARPJIT_ERROR_HANDLE));
                        // SAFETY: as above.
                        ok(unsafe { warpjit_free(report.cast()) });
                    }
                });
            }
            for handle in handles {
                // SAFETY: as above.
                ok(unsafe { warpjit_free(handle as *mut c_void) });
            }
        });
    }
}

#[test]
fn arguments_without_sense_are_errors() {
    let setup = Setup::new(WARPJIT_TIER_INTERPRETER);
    setup.map();
    let memory = setup.memory;
    // SAFETY: all pointers are NULL or those of locals.
    unsafe {
        let mut value = 0_u64;
        let is = |status: warpjit_status| assert_eq!(status, WARPJIT_ERROR_ARGUMENT, "{}", last_error());
        is(warpjit_memory_map(memory, WARPJIT_ANYWHERE, 4096, 3, &mut value));
        is(warpjit_memory_load(memory, INPUT, 3, &mut value));
        is(warpjit_memory_load(memory, INPUT, 4, null_mut()));
        is(warpjit_memory_atomic(memory, INPUT, 4, 99, 0, 0, null_mut()));
        is(warpjit_memory_read(memory, INPUT, null_mut(), 4));
        is(warpjit_memory_read(memory, INPUT, (&raw mut value).cast(), usize::MAX));
        is(warpjit_memory_take_dirty(memory, 0, 4096, None, null_mut()));
        is(warpjit_memory_map_file(memory, WARPJIT_ANYWHERE, -1, 0, 4096, 0, false, null_mut()));
        is(warpjit_program_options_new(c"riva".as_ptr(), &mut null_mut()));
        is(warpjit_program_options_new(null(), &mut null_mut()));
        is(warpjit_program_options_new(c"\xff".as_ptr(), &mut null_mut()));
        is(warpjit_engine_new(null(), null_mut()));
        is(warpjit_stage_new(6, &mut null_mut()));
        is(warpjit_launch_set_user_data(setup.launch, null(), 4));
        assert_eq!(warpjit_memory_load(memory, 0, 4, &mut value), WARPJIT_ERROR_MEMORY);
        assert_eq!(warpjit_memory_unmap(memory, 12), WARPJIT_ERROR_MEMORY);
        let mut name = null();
        assert_eq!(warpjit_chip_isa(c"voodoo".as_ptr(), &mut name), WARPJIT_ERROR_PROGRAM);
        assert!(name.is_null());
        ok(warpjit_chip_isa(c"8800GTX".as_ptr(), &mut name));
        assert_eq!(CStr::from_ptr(name), c"tesla");
        ok(warpjit_chip_isa(c"ps4".as_ptr(), &mut name));
        assert_eq!(CStr::from_ptr(name), c"gcn");
        // A source with a mistake: the text says where.
        let bad = c"v_mov_b32 v0, 1\nnonsense";
        let mut code = null_mut();
        let status =
            warpjit_assemble(null(), c"ps4".as_ptr(), WARPJIT_STAGE_COMPUTE, bad.as_ptr(), &mut code);
        assert_eq!((status, code), (WARPJIT_ERROR_PROGRAM, null_mut()));
        assert!(last_error().starts_with("2:"), "{}", last_error());
        assert_eq!(CStr::from_ptr(warpjit_status_name(WARPJIT_ERROR_PROGRAM)), c"program");
        assert_eq!(CStr::from_ptr(warpjit_status_name(-5)), c"unknown status");
    }
}

#[test]
fn settings_are_taken_over() {
    let setup = Setup::new(WARPJIT_TIER_AUTO);
    setup.map();
    // SAFETY: all pointers are those of locals.
    unsafe {
        let config = made(|out| warpjit_config_new(out));
        ok(warpjit_config_set_threads(config, 3));
        ok(warpjit_config_set_tier(config, WARPJIT_TIER_INTERPRETER, 0));
        ok(warpjit_config_set_idle(config, WARPJIT_IDLE_SPIN, 1000));
        ok(warpjit_config_set_compiler(config, 2, 5, 8));
        ok(warpjit_config_set_cache(config, c"/nowhere".as_ptr(), 1 << 20));
        ok(warpjit_config_set_cache(config, null(), 0));
        ok(warpjit_config_set_chunk_groups(config, 4));
        ok(warpjit_config_set_join_after(config, 100));
        ok(warpjit_config_set_checked_memory(config, true));
        ok(warpjit_config_set_signals(config, WARPJIT_SIGNALS_OWN));
        ok(warpjit_config_set_lockstep(config, true));
        ok(warpjit_config_set_numerics(config, WARPJIT_NUMERICS_FAST));
        ok(warpjit_config_set_host(config, WARPJIT_HOST_NATIVE));
        ok(warpjit_config_set_count(config, true));
        ok(warpjit_config_set_budget(config, u64::MAX, 1 << 30));
        for status in [
            warpjit_config_set_tier(config, 3, 0),
            warpjit_config_set_idle(config, 4, 0),
            warpjit_config_set_signals(config, 2),
            warpjit_config_set_numerics(config, 2),
            warpjit_config_set_host(config, 3),
            warpjit_config_set_chunk_groups(config, 300),
            warpjit_config_set_join_after(config, -2),
        ] {
            assert_eq!(status, WARPJIT_ERROR_ARGUMENT);
        }
        let engine = made(|out| warpjit_engine_new(config, out));
        let mut threads = 0;
        ok(warpjit_engine_threads(engine, &mut threads));
        assert_eq!(threads, 3);
        ok(warpjit_engine_ensure_handlers(engine));
        let report = made(|out| warpjit_engine_run(engine, setup.program, setup.memory, setup.launch, out));
        let mut counts: Vec<(String, u64, u64)> = Vec::new();
        ok(warpjit_report_counts(report, true, Some(push_count), (&raw mut counts).cast()));
        assert!(counts.iter().any(|(_, loaded, stored)| (*loaded, *stored) == (256, 256)), "{counts:?}");
        counts.clear();
        ok(warpjit_report_counts(report, false, Some(push_count), (&raw mut counts).cast()));
        // The program has 11 instructions.
        assert_eq!(counts.iter().map(|(_, count, _)| count).sum::<u64>(), 11, "{counts:?}");

        // No memory to load a program with.
        ok(warpjit_config_set_budget(config, u64::MAX, 1));
        let poor = made(|out| warpjit_engine_new(config, out));
        let options = made(|out| warpjit_program_options_new(c"gcn".as_ptr(), out));
        ok(warpjit_program_options_set_chip(options, c"ps4".as_ptr()));
        ok(warpjit_program_options_set_raw(options, true));
        let code = 0xbf81_0000_u32.to_le_bytes();
        let mut program = null_mut();
        let status = warpjit_program_load(poor, code.as_ptr(), 4, options, null(), &mut program);
        assert_eq!((status, program), (WARPJIT_ERROR_BUDGET, null_mut()));
        assert_eq!(CStr::from_ptr(warpjit_last_error_kind()), c"BudgetBytes");
        let mut limit = 0;
        ok(warpjit_last_error_number(c"limit".as_ptr(), &mut limit));
        assert_eq!(limit, 1);
        // Nor the patience.
        let cancel = made(|out| warpjit_cancel_new(out));
        ok(warpjit_cancel_now(cancel));
        let status = warpjit_program_load(null(), code.as_ptr(), 4, options, cancel, &mut program);
        assert_eq!((status, program), (WARPJIT_ERROR_CANCELLED, null_mut()));
        ok(warpjit_launch_set_cancel(setup.launch, cancel));
        let cancelled =
            made(|out| warpjit_engine_run(engine, setup.program, setup.memory, setup.launch, out));
        let mut is_cancelled = false;
        ok(warpjit_report_is_cancelled(cancelled, &mut is_cancelled));
        assert!(is_cancelled);
        let handles: [*mut c_void; 7] = [
            config.cast(),
            engine.cast(),
            report.cast(),
            poor.cast(),
            options.cast(),
            cancel.cast(),
            cancelled.cast(),
        ];
        for handle in handles {
            ok(warpjit_free(handle));
        }
    }
}

unsafe extern "C-unwind" fn push_count(user: *mut c_void, name: *const c_char, first: u64, second: u64) {
    // SAFETY: what the test and the library have given.
    unsafe {
        let name = CStr::from_ptr(name).to_str().unwrap().to_owned();
        (*user.cast::<Vec<(String, u64, u64)>>()).push((name, first, second));
    }
}
