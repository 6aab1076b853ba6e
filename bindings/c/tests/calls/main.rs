//! Calls as C makes them: handles used after free, handles of another kind, arguments that make no sense, callbacks that fail or panic.

mod callbacks;
mod handles;
mod memory;
mod programs;
mod queues;
mod saved;
mod stages;
mod vp1;

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use warpjit_c::code::*;
use warpjit_c::config::*;
use warpjit_c::engine::*;
use warpjit_c::launch::*;
use warpjit_c::memory::*;
use warpjit_c::program::*;
use warpjit_c::report::*;
use warpjit_c::stage::*;
use warpjit_c::status::*;
use warpjit_c::text::*;
use warpjit_c::warpjit_free;
use warpjit_c::words::*;

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
            let code = made(|out| {
                warpjit_assemble(null(), c"ps4".as_ptr(), WARPJIT_STAGE_COMPUTE, SOURCE.as_ptr(), out)
            });
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

/// Pushes ranges to a vector.
unsafe extern "C-unwind" fn push_range(user: *mut c_void, start: u64, end: u64) {
    // SAFETY: what the test has given.
    unsafe { (*user.cast::<Vec<(u64, u64)>>()).push((start, end)) };
}

/// Pushes names to a vector.
unsafe extern "C-unwind" fn push_name(user: *mut c_void, name: *const c_char) {
    // SAFETY: as above.
    unsafe { (*user.cast::<Vec<String>>()).push(CStr::from_ptr(name).to_str().unwrap().to_owned()) };
}
