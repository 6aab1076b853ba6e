//! Calls as C makes them: handles used after free, handles of another kind, arguments that make no sense, callbacks that fail or panic.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use warpjit_c::code::*;
use warpjit_c::config::*;
use warpjit_c::device::*;
use warpjit_c::engine::*;
use warpjit_c::launch::*;
use warpjit_c::memory::*;
use warpjit_c::program::*;
use warpjit_c::report::*;
use warpjit_c::stage::*;
use warpjit_c::status::*;
use warpjit_c::text::*;
use warpjit_c::vp1::*;
use warpjit_c::warpjit_free;

fn last_error() -> String {
    // SAFETY: a text of the library.
    unsafe { CStr::from_ptr(warpjit_last_error()) }.to_str().unwrap().to_owned()
}

/// The result of a call that must go well.
fn made<T>(call: impl FnOnce(*mut *mut T) -> warpjit_status) -> *mut T {
    let mut handle = null_mut();
    assert_eq!(call(&mut handle), WARPJIT_OK, "{}", last_error());
    assert!(!handle.is_null());
    handle
}

fn ok(status: warpjit_status) {
    assert_eq!(status, WARPJIT_OK, "{}", last_error());
}

/// out[i] = in[0] + i for 64 threads: s[0:1] is the address of `in`, s[2:3] that of `out`.
const SOURCE: &CStr = c"
    v_lshlrev_b32 v1, 2, v0
    v_mov_b32 v3, s0
    v_mov_b32 v4, s1
    flat_load_dword v5, v[3:4]
    v_add_i32 v1, vcc, s2, v1
    v_mov_b32 v2, s3
    v_addc_u32 v2, vcc, 0, v2, vcc
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_add_i32 v5, vcc, v5, v0
    flat_store_dword v[1:2], v5
    s_endpgm
";

struct Setup {
    engine: *mut warpjit_engine,
    memory: *mut warpjit_memory,
    program: *mut warpjit_program,
    launch: *mut warpjit_launch,
    out: u64,
}

const INPUT: u64 = 0x20_0000;

impl Setup {
    /// A launch that loads from `INPUT`, where nothing is mapped yet.
    fn new(tier: warpjit_tier) -> Setup {
        // SAFETY: all pointers are those of locals; handles may be anything.
        unsafe {
            let config = made(|out| warpjit_config_new(out));
            ok(warpjit_config_set_tier(config, tier, 0));
            let engine = made(|out| warpjit_engine_new(config, out));
            ok(warpjit_free(config.cast()));
            let code =
                made(|out| warpjit_assemble(c"ps4".as_ptr(), WARPJIT_STAGE_COMPUTE, SOURCE.as_ptr(), out));
            let (mut data, mut size) = (null(), 0);
            ok(warpjit_bytes_get(code, &mut data, &mut size));
            let options = made(|out| warpjit_program_options_new(c"gcn".as_ptr(), out));
            ok(warpjit_program_options_set_chip(options, c"ps4".as_ptr()));
            ok(warpjit_program_options_set_raw(options, true));
            ok(warpjit_program_options_set_rsrc(options, 1 << 6 | 1, 4 << 1));
            let program = made(|out| warpjit_program_load(engine, data.cast(), size, options, null(), out));
            ok(warpjit_free(options.cast()));
            ok(warpjit_free(code.cast()));
            let memory = made(|out| warpjit_memory_new(null(), out));
            let mut out = 0;
            ok(warpjit_memory_map(memory, WARPJIT_ANYWHERE, 256, WARPJIT_ACCESS_READ_WRITE, &mut out));
            let launch = made(|out| warpjit_launch_new(out));
            ok(warpjit_launch_set_grid(launch, 1, 1, 1));
            ok(warpjit_launch_set_block(launch, 64, 1, 1));
            let words = [INPUT as u32, (INPUT >> 32) as u32, out as u32, (out >> 32) as u32];
            ok(warpjit_launch_set_user_data(launch, words.as_ptr(), words.len()));
            Setup { engine, memory, program, launch, out }
        }
    }

    /// Runs it: the status, and the fault if it ran.
    fn run(&self) -> (warpjit_status, Option<warpjit_fault>) {
        let mut report = null_mut();
        // SAFETY: as above.
        unsafe {
            let status = warpjit_engine_run(self.engine, self.program, self.memory, self.launch, &mut report);
            if status != WARPJIT_OK {
                assert!(report.is_null());
                return (status, None);
            }
            let mut fault = std::mem::zeroed::<warpjit_fault>();
            ok(warpjit_report_fault(report, &mut fault, size_of::<warpjit_fault>()));
            ok(warpjit_free(report.cast()));
            (status, Some(fault))
        }
    }

    fn result(&self, lane: u64) -> u64 {
        let mut value = 0;
        // SAFETY: as above.
        ok(unsafe { warpjit_memory_load(self.memory, self.out + 4 * lane, 4, &mut value) });
        value
    }

    fn unmap(&self) {
        // SAFETY: as above.
        ok(unsafe { warpjit_memory_unmap(self.memory, INPUT) });
    }

    fn map(&self) {
        // SAFETY: as above.
        ok(unsafe { warpjit_memory_map(self.memory, INPUT, 4096, WARPJIT_ACCESS_READ_WRITE, null_mut()) });
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        // SAFETY: handles may be anything.
        unsafe {
            for handle in [self.engine.cast(), self.memory.cast(), self.program.cast(), self.launch.cast()] {
                warpjit_free(handle);
            }
        }
    }
}

const TIERS: [warpjit_tier; 2] = [WARPJIT_TIER_INTERPRETER, WARPJIT_TIER_JIT];

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

static DROPS: AtomicU32 = AtomicU32::new(0);

unsafe extern "C-unwind" fn count_drop(_: *mut c_void) {
    DROPS.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C-unwind" fn load(
    user: *mut c_void,
    offset: u64,
    bytes: u32,
    value: *mut u64,
) -> warpjit_status {
    assert_eq!((offset, bytes), (0, 4));
    match user.addr() {
        1 => panic!("no such register"),
        2 => return 77,
        _ => {}
    }
    // SAFETY: where the library wants the value.
    unsafe { value.write(1000) };
    WARPJIT_OK
}

unsafe extern "C-unwind" fn store(_: *mut c_void, _: u64, _: u32, _: u64) -> warpjit_status {
    WARPJIT_OK
}

#[test]
fn devices_may_fail_and_panic() {
    for tier in TIERS {
        let setup = Setup::new(tier);
        // SAFETY: all pointers are those of locals, or numbers that nobody follows.
        unsafe {
            for (user, status) in [(1, WARPJIT_ERROR_CALLBACK), (2, WARPJIT_ERROR_CALLBACK), (3, WARPJIT_OK)]
            {
                let before = DROPS.load(Ordering::SeqCst);
                let device = warpjit_device {
                    load: Some(load),
                    store: Some(store),
                    update: None,
                    drop: Some(count_drop),
                    user: std::ptr::without_provenance_mut(user),
                };
                ok(warpjit_memory_map_device(setup.memory, INPUT, 4096, &device, null_mut()));
                assert_eq!(setup.run().0, status);
                match user {
                    1 => assert!(last_error().contains("no such register"), "{}", last_error()),
                    2 => assert!(last_error().contains("returned 77"), "{}", last_error()),
                    _ => assert_eq!(setup.result(5), 1005),
                }
                // A host's load fails in the same way.
                let mut value = 0;
                assert_eq!(warpjit_memory_load(setup.memory, INPUT, 4, &mut value), status);
                setup.unmap();
                assert!(DROPS.load(Ordering::SeqCst) >= before);
            }
            // Nothing is lost by it.
            setup.map();
            assert_eq!(setup.run().1.unwrap().kind, WARPJIT_FAULT_NONE);
        }
    }
    assert!(DROPS.load(Ordering::SeqCst) > 0);
}

unsafe extern "C-unwind" fn mend(user: *mut c_void, address: u64, store: bool, is_mapped: bool) -> bool {
    assert_eq!((address, store, is_mapped), (INPUT, false, false));
    // SAFETY: handles may be anything. The second call finds the page mapped by another thread.
    unsafe {
        warpjit_memory_map(user.cast_const().cast(), INPUT, 4096, WARPJIT_ACCESS_READ_WRITE, null_mut())
    };
    true
}

unsafe extern "C-unwind" fn panic_at_fault(_: *mut c_void, _: u64, _: bool, _: bool) -> bool {
    panic!("no pages left")
}

unsafe extern "C-unwind" fn panic_at_write(_: *mut c_void, _: u64) {
    panic!("no writes here")
}

#[test]
fn pagers_and_watches_may_panic() {
    for tier in TIERS {
        let setup = Setup::new(tier);
        // SAFETY: handles may be anything.
        unsafe {
            ok(warpjit_memory_set_pager(setup.memory, Some(panic_at_fault), null_mut(), None));
            assert_eq!(setup.run().0, WARPJIT_ERROR_CALLBACK);
            assert!(last_error().contains("no pages left"));
            ok(warpjit_memory_set_pager(setup.memory, Some(mend), setup.memory.cast(), None));
            assert_eq!(setup.run().1.unwrap().kind, WARPJIT_FAULT_NONE);
            assert_eq!(setup.result(9), 9);
            let page = setup.out & !4095;
            ok(warpjit_memory_watch_writes(
                setup.memory,
                page,
                page + 4096,
                Some(panic_at_write),
                null_mut(),
                None,
            ));
            assert_eq!(setup.run().0, WARPJIT_ERROR_CALLBACK);
            assert!(last_error().contains("no writes here"));
            ok(warpjit_memory_watch_writes(setup.memory, page, page + 4096, None, null_mut(), None));
            assert_eq!(setup.run().1.unwrap().kind, WARPJIT_FAULT_NONE);
        }
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
        ok(warpjit_chip_isa(c"8800 GTX".as_ptr(), &mut name).min(WARPJIT_OK));
        ok(warpjit_chip_isa(c"ps4".as_ptr(), &mut name));
        assert_eq!(CStr::from_ptr(name), c"gcn");
        // A source with a mistake: the text says where.
        let bad = c"v_mov_b32 v0, 1\nnonsense";
        let mut code = null_mut();
        let status = warpjit_assemble(c"ps4".as_ptr(), WARPJIT_STAGE_COMPUTE, bad.as_ptr(), &mut code);
        assert_eq!((status, code), (WARPJIT_ERROR_PROGRAM, null_mut()));
        assert!(last_error().starts_with("2:"), "{}", last_error());
        assert_eq!(CStr::from_ptr(warpjit_status_name(WARPJIT_ERROR_PROGRAM)), c"program");
        assert_eq!(CStr::from_ptr(warpjit_status_name(-5)), c"unknown status");
    }
}

unsafe extern "C-unwind" fn push_range(user: *mut c_void, start: u64, end: u64) {
    // SAFETY: what the test has given.
    unsafe { (*user.cast::<Vec<(u64, u64)>>()).push((start, end)) };
}

unsafe extern "C-unwind" fn push_name(user: *mut c_void, name: *const c_char) {
    // SAFETY: as above.
    unsafe { (*user.cast::<Vec<String>>()).push(CStr::from_ptr(name).to_str().unwrap().to_owned()) };
}

#[test]
fn memory_tells_what_it_has_and_what_is_dirty() {
    let setup = Setup::new(WARPJIT_TIER_JIT);
    setup.map();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let user = (&raw mut ranges).cast();
    // SAFETY: all pointers are those of locals.
    unsafe {
        ok(warpjit_memory_buffers(setup.memory, Some(push_range), user));
        assert_eq!(std::mem::take(&mut ranges), [(setup.out, setup.out + 256), (INPUT, INPUT + 4096)]);
        let end = INPUT + 4096;
        ok(warpjit_memory_take_dirty(setup.memory, 0, end, Some(push_range), user));
        ranges.clear();
        assert_eq!(setup.run().1.unwrap().kind, WARPJIT_FAULT_NONE);
        ok(warpjit_memory_take_dirty(setup.memory, 0, end, Some(push_range), user));
        assert_eq!(ranges, [(setup.out, setup.out + 4096)]);
        let mut old = 0;
        ok(warpjit_memory_atomic(setup.memory, setup.out, 4, WARPJIT_ATOMIC_ADD, 5, 0, &mut old));
        assert_eq!((old, setup.result(0)), (0, 5));
        let mut names: Vec<String> = Vec::new();
        ok(warpjit_chips(c"vp1".as_ptr(), Some(push_name), (&raw mut names).cast()));
        assert!(names.contains(&"g80".into()), "{names:?}");
    }
}

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
            warpjit_disassemble(c"fiji".as_ptr(), WARPJIT_STAGE_COMPUTE, null(), code.as_ptr(), 4, 0x40, out)
        });
        ok(warpjit_bytes_get(listing, &mut text, null_mut()));
        assert!(CStr::from_ptr(text).to_str().unwrap().contains("s_endpgm"));
        ok(warpjit_free(listing.cast()));
    }
}

unsafe extern "C-unwind" fn read_outside(user: *mut c_void, file: u32, index: u32, value: *mut u32) -> bool {
    assert_eq!((file, index), (8, 5));
    // SAFETY: what the test and the library have given.
    unsafe {
        *user.cast::<u32>() += 1;
        value.write(*user.cast::<u32>());
    }
    true
}

#[test]
fn the_video_processor_asks_for_what_is_outside() {
    let source = c"
    mov $l0 $c0 2
    .align
again:
    mov $r1 $sr5
    { add $r0 $r0 $r1 | bra loop $l0 $c0 $l0 not $c0 lzf #again }
    snop
    mov $v1 0 $r0
    exit intr 0x7
";
    let mut last = 0_u32;
    // SAFETY: all pointers are those of locals.
    unsafe {
        // The chips' names mean a GPU, so the assembler is asked for the video processor of one without other programs.
        let code =
            warpjit_frontend::vp1::assemble(source.to_str().unwrap(), warpjit_frontend::vp1::Chip::G80)
                .unwrap()
                .code;
        let vp1 = made(|out| warpjit_vp1_new(code.as_ptr(), code.len(), c"g80".as_ptr(), null(), out));
        ok(warpjit_vp1_set_register(vp1, c"r0".as_ptr(), [100].as_ptr(), 1));
        let outside = warpjit_vp1_outside {
            read: Some(read_outside),
            write: None,
            transfer: None,
            user: (&raw mut last).cast(),
        };
        let (mut stop, mut exit_code, mut interrupt) = (9, 0, false);
        ok(warpjit_vp1_run(vp1, 2, &outside, &mut stop, &mut exit_code, &mut interrupt));
        assert_eq!(stop, WARPJIT_VP1_STOP_LIMIT);
        ok(warpjit_vp1_run(vp1, u64::MAX, &outside, &mut stop, &mut exit_code, &mut interrupt));
        assert_eq!((stop, exit_code, interrupt, last), (WARPJIT_VP1_STOP_EXIT, 7, true, 3));
        let (mut values, mut count) = ([0_u64; 16], 16);
        ok(warpjit_vp1_register(vp1, c"v1".as_ptr(), values.as_mut_ptr(), &mut count));
        assert_eq!((count, values[0]), (16, 106));
        assert_eq!(
            warpjit_vp1_register(vp1, c"q7".as_ptr(), values.as_mut_ptr(), &mut count),
            WARPJIT_ERROR_NOT_FOUND
        );
        ok(warpjit_vp1_set_data_store(vp1, 16, [7, 8].as_ptr(), 2));
        assert_eq!(warpjit_vp1_set_data_store(vp1, usize::MAX, [7, 8].as_ptr(), 2), WARPJIT_ERROR_ARGUMENT);
        let (mut store, mut bytes) = ([0_u8; 32], 32);
        ok(warpjit_vp1_data_store(vp1, store.as_mut_ptr(), &mut bytes));
        assert_eq!((store[16], store[17]), (7, 8));
        assert!(bytes > 32);
        ok(warpjit_free(vp1.cast()));
    }
}

#[test]
fn a_launch_is_saved_and_goes_on_with_another_engine() {
    use warpjit_c::saved::*;
    let (first, second) = (Setup::new(WARPJIT_TIER_INTERPRETER), Setup::new(WARPJIT_TIER_JIT));
    first.map();
    // SAFETY: all pointers are those of locals; handles may be anything.
    unsafe {
        ok(warpjit_launch_set_grid(first.launch, 40, 1, 1));
        let save = made(|out| warpjit_save_new(5, out));
        ok(warpjit_launch_set_save(first.launch, save));
        let report =
            made(|out| warpjit_engine_run(first.engine, first.program, first.memory, first.launch, out));
        let saved = made(|out| warpjit_report_saved_launch(report, out));
        let bytes = made(|out| warpjit_saved_launch_to_bytes(saved, first.memory, out));
        let (mut data, mut size) = (null(), 0);
        ok(warpjit_bytes_get(bytes, &mut data, &mut size));
        let mut other = null_mut();
        for cut in [0, 7, size - 1] {
            let status = warpjit_saved_launch_from_bytes(data.cast(), cut, &mut other);
            assert_eq!((status, other), (WARPJIT_ERROR_STATE, null_mut()));
        }
        ok(warpjit_saved_launch_from_bytes(data.cast(), size, &mut other));
        // A space of its own: what is mapped there comes from the bytes.
        let memory = made(|out| warpjit_memory_new(null(), out));
        ok(warpjit_saved_launch_restore_memory(other, memory));
        ok(warpjit_launch_set_save(first.launch, null()));
        let mut end = null_mut();
        let status =
            warpjit_engine_resume(second.engine, first.program, memory, second.launch, other, &mut end);
        assert_eq!((status, end), (WARPJIT_ERROR_STATE, null_mut()), "another launch");
        ok(warpjit_engine_resume(second.engine, first.program, memory, first.launch, other, &mut end));
        assert_eq!(warpjit_report_saved_launch(end, &mut other), WARPJIT_ERROR_NOT_FOUND);
        let mut value = 0;
        ok(warpjit_memory_load(memory, first.out + 4 * 63, 4, &mut value));
        assert_eq!(value, 63);
    }
}

#[test]
fn programs_are_found_at_guest_addresses() {
    use warpjit_c::program_cache::*;
    let setup = Setup::new(WARPJIT_TIER_INTERPRETER);
    setup.map();
    const CODE: u64 = 0x40_0000;
    // SAFETY: as above.
    unsafe {
        let code = made(|out| warpjit_assemble(c"ps4".as_ptr(), WARPJIT_STAGE_COMPUTE, SOURCE.as_ptr(), out));
        let (mut data, mut size) = (null(), 0);
        ok(warpjit_bytes_get(code, &mut data, &mut size));
        ok(warpjit_memory_map(setup.memory, CODE, 4096, WARPJIT_ACCESS_READ_WRITE, null_mut()));
        ok(warpjit_memory_write(setup.memory, CODE, data.cast(), size));
        let options = made(|out| warpjit_program_options_new(c"gcn".as_ptr(), out));
        ok(warpjit_program_options_set_chip(options, c"ps4".as_ptr()));
        ok(warpjit_program_options_set_rsrc(options, 1 << 6 | 1, 4 << 1));
        let cache = made(|out| warpjit_program_cache_new(64 << 20, null(), out));
        let get = || made(|out| warpjit_program_cache_get(cache, setup.memory, CODE, options, out));
        let program = get();
        ok(warpjit_free(get().cast()));
        let report = made(|out| warpjit_engine_run(setup.engine, program, setup.memory, setup.launch, out));
        assert_eq!(setup.result(7), 7);
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

#[test]
fn a_header_becomes_an_interface() {
    // SAFETY: all pointers are those of locals.
    unsafe {
        // A pixel program that reads one word in perspective, and writes the red and green of target 0.
        let mut words = [0_u32; 20];
        words[0] = 2 | 3 << 5 | 5 << 10;
        words[6] = 2;
        words[18] = 3;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let stage = made(|out| {
            warpjit_stage_from_fermi_header(c"gf100".as_ptr(), bytes.as_ptr(), bytes.len(), 0, 0, out)
        });
        let (mut place, mut at, mut count, mut per) = (9, 9, 9, 9);
        ok(warpjit_stage_get_output(stage, 0, &mut place, &mut at, &mut count));
        assert_eq!((place, at, count), (WARPJIT_OUTPUT_REGISTER, 0, 2));
        let mut inputs = 0;
        while warpjit_stage_get_input(stage, inputs, &mut place, &mut at, &mut count, &mut per) == WARPJIT_OK
        {
            assert_eq!((place, per), (WARPJIT_INPUT_ADDRESS, WARPJIT_PER_PLANE));
            inputs += 1;
        }
        assert!(inputs > 0);
        let mut other = null_mut();
        let status = warpjit_stage_from_fermi_header(c"gf100".as_ptr(), bytes.as_ptr(), 79, 0, 0, &mut other);
        assert_eq!((status, other), (WARPJIT_ERROR_PROGRAM, null_mut()));
        ok(warpjit_free(stage.cast()));
    }
}

unsafe extern "C-unwind" fn note_completion(user: *mut c_void, status: warpjit_status, has_fault: bool) {
    assert_eq!(status, WARPJIT_OK);
    // SAFETY: what the test has given, which waits for the submission.
    unsafe { (*user.cast::<AtomicU32>()).fetch_add(1 + u32::from(has_fault), Ordering::SeqCst) };
}

#[test]
fn queues_run_submissions_in_order() {
    use warpjit_c::prepared::*;
    use warpjit_c::queue::*;
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
