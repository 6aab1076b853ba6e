//! Programs: loaded, listed, profiled, and found in guest memory.

use warpjit_c::program_cache::*;

use super::*;

#[test]
fn code_is_listed_and_profiled() {
    // SAFETY: all pointers are those of locals.
    unsafe {
        let setup = Setup::new(WARPJIT_TIER_JIT);
        setup.map();
        let config = made(|out| warpjit_config_new(out));
        ok(warpjit_config_set_tier(config, WARPJIT_TIER_INTERPRETER, 0));
        ok(warpjit_config_set_observe(config, false, 0, true, true));
        let engine = made(|out| warpjit_engine_new(config, out));
        let report = made(|out| warpjit_engine_run(engine, setup.program, setup.memory, setup.launch, out));
        let profile = made(|out| warpjit_report_profile(report, out));
        let mut text = null();
        ok(warpjit_bytes_get(profile, &mut text, null_mut()));
        let json = CStr::from_ptr(text).to_str().unwrap();
        assert!(json.contains("\"direction\":\"store\""), "{json}");
        ok(warpjit_free(made(|out| warpjit_report_listings(report, out)).cast()));
        let ir = made(|out| warpjit_program_ir(setup.program, out));
        ok(warpjit_bytes_get(ir, &mut text, null_mut()));
        assert!(CStr::from_ptr(text).to_str().unwrap().starts_with("function"));
        let mut statistics = std::mem::zeroed::<warpjit_statistics>();
        ok(warpjit_report_statistics(report, &mut statistics, size_of::<warpjit_statistics>()));
        assert_eq!((statistics.blocks, statistics.warps), (1, 1));
        // A program that was compiled when the structure was shorter.
        let mut short = [u64::MAX; 2];
        ok(warpjit_report_statistics(report, (&raw mut short).cast(), 8));
        assert_eq!(short, [1, u64::MAX]);
        for handle in [config.cast(), engine.cast(), report.cast(), profile.cast(), ir.cast::<c_void>()] {
            ok(warpjit_free(handle));
        }
        let code = 0xbf81_0000_u32.to_le_bytes();
        let listing = made(|out| {
            warpjit_disassemble(
                null(),
                c"fiji".as_ptr(),
                WARPJIT_STAGE_COMPUTE,
                null(),
                code.as_ptr(),
                4,
                0x40,
                out,
            )
        });
        ok(warpjit_bytes_get(listing, &mut text, null_mut()));
        assert!(CStr::from_ptr(text).to_str().unwrap().contains("s_endpgm"));
        ok(warpjit_free(listing.cast()));
    }
}

unsafe extern "C-unwind" fn push_piece(user: *mut c_void, address: u64, code: *const u8, bytes: usize) {
    // SAFETY: what the test and the library have given.
    unsafe {
        let code = std::slice::from_raw_parts(code, bytes).to_vec();
        (*user.cast::<Vec<(u64, Vec<u8>)>>()).push((address, code));
    }
}

#[test]
fn programs_are_found_at_guest_addresses() {
    let setup = Setup::new(WARPJIT_TIER_INTERPRETER);
    setup.map();
    const CODE: u64 = 0x40_0000;
    // SAFETY: as above.
    unsafe {
        let code = made(|out| {
            warpjit_assemble(null(), c"ps4".as_ptr(), WARPJIT_STAGE_COMPUTE, SOURCE.as_ptr(), out)
        });
        let (mut data, mut size) = (null(), 0);
        ok(warpjit_bytes_get(code, &mut data, &mut size));
        ok(warpjit_memory_map(setup.memory, CODE, 4096, WARPJIT_ACCESS_READ_WRITE, null_mut()));
        ok(warpjit_memory_write(setup.memory, CODE, data.cast(), size));
        let options = made(|out| warpjit_program_options_new(c"gcn".as_ptr(), out));
        ok(warpjit_program_options_set_chip(options, c"ps4".as_ptr()));
        ok(warpjit_program_options_set_rsrc(options, 1 << 6 | 1, 4 << 1));
        ok(warpjit_program_options_set_flat_apertures(options, false));
        ok(warpjit_program_options_set_data_share_given(options, true));
        ok(warpjit_program_options_set_jump_targets(options, [CODE].as_ptr(), 1));
        let status = warpjit_program_options_set_jump_targets(options, null(), 1);
        assert_eq!(status, WARPJIT_ERROR_ARGUMENT);
        let cache = made(|out| warpjit_program_cache_new(64 << 20, null(), out));
        let get = || made(|out| warpjit_program_cache_get(cache, setup.memory, CODE, options, out));
        let program = get();
        ok(warpjit_free(get().cast()));
        let report = made(|out| warpjit_engine_run(setup.engine, program, setup.memory, setup.launch, out));
        assert_eq!(setup.result(7), 7);
        let mut used = 0;
        ok(warpjit_program_bytes_used(program, &mut used));
        assert!(used > size, "{used} bytes for {size} of code");
        ok(warpjit_engine_settle(setup.engine, 1_000_000));
        let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
        ok(warpjit_program_code(program, Some(push_piece), (&raw mut pieces).cast()));
        assert_eq!(pieces, [(CODE, std::slice::from_raw_parts(data.cast::<u8>(), size).to_vec())]);
        let mut stage = null_mut();
        assert_eq!(warpjit_program_stage(program, &mut stage), WARPJIT_ERROR_NOT_FOUND);
        let (mut registers, mut lanes) = (0, 0);
        ok(warpjit_program_needs(program, &mut registers, null_mut(), null_mut(), &mut lanes));
        assert_eq!((registers, lanes), (8, 64));
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        ok(warpjit_program_code_ranges(program, Some(push_range), (&raw mut ranges).cast()));
        assert_eq!(ranges, [(CODE, CODE + size as u64)]);
        ok(warpjit_memory_store(setup.memory, CODE, 4, 0xbf81_0000));
        let mut is_current = true;
        ok(warpjit_program_is_current(program, setup.memory, &mut is_current));
        assert!(!is_current);
        ok(warpjit_program_cache_invalidate(cache, CODE, CODE + 4));
        ok(warpjit_free(get().cast()));
        let mut statistics = std::mem::zeroed::<warpjit_program_cache_statistics>();
        let bytes = size_of::<warpjit_program_cache_statistics>();
        ok(warpjit_program_cache_get_statistics(cache, &mut statistics, bytes));
        assert_eq!((statistics.hits, statistics.loads), (1, 2));
        for handle in [report.cast(), program.cast(), cache.cast(), options.cast(), code.cast::<c_void>()] {
            ok(warpjit_free(handle));
        }
    }
}
