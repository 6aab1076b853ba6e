//! Engines, launches on them, and cancel tokens.

use std::ffi::{c_int, c_void};

use warpjit_runtime::{CancelToken, Config, Engine};

use crate::batch::{Arrays, warpjit_batch};
use crate::config::warpjit_config;
use crate::handle::Draft;
use crate::launch::{Description, warpjit_launch};
use crate::memory::{Space, warpjit_memory};
use crate::pointers::{put, put_handle, put_if};
use crate::program::{Loaded, warpjit_program};
use crate::report::{Outcome, warpjit_report};
use crate::status::warpjit_status;
use crate::{entry, handle, object};

/// Runs launches with the settings of a configuration. It has threads that run blocks, and one that compiles. One engine serves any
/// number of programs, memories and threads of the caller.
pub struct warpjit_engine {
    _private: [u8; 0],
}

object!(Engine, 3, "warpjit_engine", warpjit_engine);

/// Cancels launches and the loading of programs.
pub struct warpjit_cancel {
    _private: [u8; 0],
}

object!(CancelToken, 4, "warpjit_cancel", warpjit_cancel);

/// Makes an engine, and installs signal handlers (WARPJIT_SIGNALS_OWN). `config` NULL: the defaults. Later changes of `config` do not
/// concern the engine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_engine_new(
    config: *const warpjit_config,
    engine: *mut *mut warpjit_engine,
) -> warpjit_status {
    entry!({
        put(engine, std::ptr::null_mut())?;
        let config = handle::get_or_none::<Draft<Config>>(config)?;
        let config = config.map_or_else(Config::default, |config| Config::clone(&config.now()));
        put_handle(engine, Engine::new(config)?)?
    })
}

/// Number of host threads that run blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_engine_threads(
    engine: *const warpjit_engine,
    threads: *mut usize,
) -> warpjit_status {
    entry!({ put(threads, handle::get::<Engine>(engine)?.config().thread_count())? })
}

/// Installs the signal handlers again if somebody has replaced them (WARPJIT_SIGNALS_OWN). A launch does so by itself, unless another one
/// has done so within the last 20 microseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_engine_ensure_handlers(engine: *const warpjit_engine) -> warpjit_status {
    entry!({ handle::get::<Engine>(engine)?.ensure_handlers()? })
}

/// Waits until all code that launches have requested so far is compiled (WARPJIT_TIER_AUTO). Later launches start with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_engine_wait_for_compiler(engine: *const warpjit_engine) -> warpjit_status {
    entry!({ handle::get::<Engine>(engine)?.wait_for_compiler() })
}

/// For the end of a process that frees no programs: lets compiler threads go on for at most so many nanoseconds with what launches have
/// asked for, forgets the rest, and stores what was compiled (warpjit_config_set_cache). Programs that are freed store theirs by themselves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_engine_settle(
    engine: *const warpjit_engine,
    nanoseconds: u64,
) -> warpjit_status {
    entry!({ handle::get::<Engine>(engine)?.settle(std::time::Duration::from_nanos(nanoseconds)) })
}

/// Works on this thread for so many nanoseconds: runs what queues have, and helps with launches of other threads. It sleeps while there is
/// nothing to do. `has_worked` says whether there was anything; it may be NULL. For WARPJIT_IDLE_EMBEDDER, where nobody else works; with
/// the engine's own threads this is one more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_engine_work(
    engine: *const warpjit_engine,
    nanoseconds: u64,
    has_worked: *mut bool,
) -> warpjit_status {
    entry!({
        let engine = handle::get::<Engine>(engine)?;
        put_if(has_worked, engine.work(std::time::Duration::from_nanos(nanoseconds)))
    })
}

/// Runs a launch to its end: all blocks done, a fault, or cancelled. The caller waits. An error means that nothing was run, or that a
/// callback has failed; what the guest does wrong is in the report (warpjit_report_fault).
///
/// Any number of threads may run launches on one engine, in one memory, and of one program at the same time. Guest accesses then race as
/// on the chip.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_engine_run(
    engine: *const warpjit_engine,
    program: *const warpjit_program,
    memory: *const warpjit_memory,
    launch: *const warpjit_launch,
    report: *mut *mut warpjit_report,
) -> warpjit_status {
    entry!({
        put(report, std::ptr::null_mut())?;
        let engine = handle::get::<Engine>(engine)?;
        let program = handle::get::<Loaded>(program)?;
        let memory = handle::get::<Space>(memory)?;
        let launch = handle::get::<Description>(launch)?.now();
        put_handle(report, Outcome(engine.run(&program.0, &memory.0, &launch)?))?
    })
}

/// Runs a program of a graphics stage over a batch, to its end. The arrays of the batch are read and written where they are, by threads
/// of the engine, until the call returns; meanwhile nobody else may use them.
///
/// Grid and block of the launch are not used, and a stage takes no arguments. If the guest faults, arrays keep what warps have written
/// that had ended before. An error means that nothing was run, or that a callback has failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_engine_run_stage(
    engine: *const warpjit_engine,
    program: *const warpjit_program,
    memory: *const warpjit_memory,
    launch: *const warpjit_launch,
    batch: *const warpjit_batch,
    report: *mut *mut warpjit_report,
) -> warpjit_status {
    entry!({
        put(report, std::ptr::null_mut())?;
        let engine = handle::get::<Engine>(engine)?;
        let program = handle::get::<Loaded>(program)?;
        let memory = handle::get::<Space>(memory)?;
        let launch = handle::get::<Description>(launch)?.now();
        let arrays = handle::get::<Draft<Arrays>>(batch)?.now();
        let mut batch = arrays.batch()?;
        put_handle(report, Outcome(engine.run_stage(&program.0, &memory.0, &launch, &mut batch)?))?
    })
}

/// Makes a token that has not been used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_cancel_new(cancel: *mut *mut warpjit_cancel) -> warpjit_status {
    entry!({ put_handle(cancel, CancelToken::new())? })
}

/// Uses a token: the launches and loads that have it stop soon. It stays used. Any thread may call this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_cancel_now(cancel: *const warpjit_cancel) -> warpjit_status {
    entry!({ handle::get::<CancelToken>(cancel)?.cancel() })
}

/// For a signal handler of the program (WARPJIT_SIGNALS_EMBEDDER; with WARPJIT_SIGNALS_OWN it may be called, too). The arguments are those
/// that the kernel has passed to a handler with SA_SIGINFO of SIGSEGV, SIGBUS, SIGILL or SIGFPE which runs on this thread: the number,
/// the siginfo_t and the ucontext_t.
///
/// true: the signal was a fault of compiled code or of an access to guest memory, and the handler must return at once. false: it is none
/// of the library's, and nothing has been changed. Async-signal-safe; any stack will do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_handle_signal(
    signal: c_int,
    info: *mut c_void,
    context: *mut c_void,
) -> bool {
    // SAFETY: the caller passes what the kernel has passed.
    unsafe { warpjit_runtime::handle_signal(signal, info.cast(), context) }
}
