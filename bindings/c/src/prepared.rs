//! Prepared launches, which run many times with other arguments, and code that is compiled ahead of launches.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use warpjit_runtime::{CancelToken, Compilation, Engine, Launch, Prepared, Program};

use crate::engine::{warpjit_cancel, warpjit_engine};
use crate::launch::{Description, warpjit_launch};
use crate::memory::{Space, warpjit_memory};
use crate::pointers::{array, put, put_handle, put_if};
use crate::program::{Loaded, warpjit_program};
use crate::report::{Outcome, warpjit_report};
use crate::status::{Failure, WARPJIT_ERROR_NOT_DONE, warpjit_status};
use crate::{entry, handle, object};

/// A launch that is set up and can be run again and again: a run costs about a microsecond plus what the guest does. It is for one thread
/// at a time, another one gets WARPJIT_ERROR_ARGUMENT; warpjit_prepared_clone makes one for another thread.
pub struct warpjit_prepared {
    _private: [u8; 0],
}

pub(crate) struct Ready(Mutex<Prepared>);

object!(Ready, 17, "warpjit_prepared", warpjit_prepared);

impl Ready {
    pub fn lock(&self) -> Result<MutexGuard<'_, Prepared>, Failure> {
        match self.0.try_lock() {
            Ok(prepared) => Ok(prepared),
            Err(TryLockError::Poisoned(prepared)) => Ok(PoisonError::into_inner(prepared)),
            Err(TryLockError::WouldBlock) => Err(Failure::argument(
                "the prepared launch is in use, by another thread or a callback's caller",
            )),
        }
    }
}

/// Sets a launch up. Later changes of `launch` do not concern it. Launches that may be saved, or with last blocks of another size, cannot be
/// prepared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_engine_prepare(
    engine: *const warpjit_engine,
    program: *const warpjit_program,
    memory: *const warpjit_memory,
    launch: *const warpjit_launch,
    prepared: *mut *mut warpjit_prepared,
) -> warpjit_status {
    entry!({
        put(prepared, std::ptr::null_mut())?;
        let engine = handle::get::<Engine>(engine)?;
        let program = handle::get::<Loaded>(program)?;
        let memory = handle::get::<Space>(memory)?;
        let launch = handle::get::<Description>(launch)?.now();
        put_handle(prepared, Ready(Mutex::new(engine.prepare(&program.0, &memory.0, &launch)?)))?
    })
}

/// One with the same arguments, for another thread. Compiled code is shared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_prepared_clone(
    prepared: *const warpjit_prepared,
    copy: *mut *mut warpjit_prepared,
) -> warpjit_status {
    entry!({
        put(copy, std::ptr::null_mut())?;
        let another = handle::get::<Ready>(prepared)?.lock()?.clone();
        put_handle(copy, Ready(Mutex::new(another)))?
    })
}

/// Runs it to its end on this thread, as warpjit_engine_run does; threads of the engine help. `report` may be NULL, which saves making one:
/// then a fault is told by `has_fault` only, which may be NULL, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_prepared_run(
    prepared: *const warpjit_prepared,
    report: *mut *mut warpjit_report,
    has_fault: *mut bool,
) -> warpjit_status {
    entry!({
        put_if(report, std::ptr::null_mut());
        let outcome = handle::get::<Ready>(prepared)?.lock()?.run()?;
        put_if(has_fault, outcome.fault.is_some());
        if !report.is_null() {
            put_handle(report, Outcome(outcome))?;
        }
    })
}

/// Bytes of the arguments as they are laid out, and how many words of user data the program takes. Both pointers may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_prepared_sizes(
    prepared: *const warpjit_prepared,
    args_bytes: *mut usize,
    user_data_words: *mut usize,
) -> warpjit_status {
    entry!({
        let prepared = handle::get::<Ready>(prepared)?;
        let prepared = prepared.lock()?;
        put_if(args_bytes, prepared.args_bytes());
        put_if(user_data_words, prepared.user_data_words())
    })
}

/// Overwrites a part of the arguments: they are laid out in order with natural alignment, or as the container states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_prepared_set_args(
    prepared: *const warpjit_prepared,
    offset: usize,
    data: *const c_void,
    bytes: usize,
) -> warpjit_status {
    entry!({
        let data = array(data.cast::<u8>(), bytes, "the arguments")?;
        handle::get::<Ready>(prepared)?.lock()?.set_args(offset, data)?
    })
}

/// Overwrites words of user data from word `first` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_prepared_set_user_data(
    prepared: *const warpjit_prepared,
    first: usize,
    words: *const u32,
    count: usize,
) -> warpjit_status {
    entry!({
        let words = array(words, count, "the user data")?;
        handle::get::<Ready>(prepared)?.lock()?.set_user_data(first, words)?
    })
}

/// Overwrites a part of a constant bank. What a launch puts there itself (arguments, sizes) stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_prepared_set_constants(
    prepared: *const warpjit_prepared,
    bank: u32,
    offset: u32,
    data: *const c_void,
    bytes: usize,
) -> warpjit_status {
    entry!({
        let data = array(data.cast::<u8>(), bytes, "the contents")?;
        handle::get::<Ready>(prepared)?.lock()?.set_const(bank, offset, data)?
    })
}

/// Changes the grid, of which all blocks are run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_prepared_set_grid(
    prepared: *const warpjit_prepared,
    x: u32,
    y: u32,
    z: u32,
) -> warpjit_status {
    entry!({ handle::get::<Ready>(prepared)?.lock()?.set_grid([x, y, z])? })
}

/// Runs blocks `first` to `end - 1` only, by linear index. `first` = `end` = 0: all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_prepared_set_blocks(
    prepared: *const warpjit_prepared,
    first: u64,
    end: u64,
) -> warpjit_status {
    entry!({
        let blocks = ((first, end) != (0, 0)).then_some(first..end);
        handle::get::<Ready>(prepared)?.lock()?.set_blocks(blocks)?
    })
}

/// The token that cancels runs from now on. NULL: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_prepared_set_cancel(
    prepared: *const warpjit_prepared,
    cancel: *const warpjit_cancel,
) -> warpjit_status {
    entry!({
        let cancel = handle::get_or_none::<CancelToken>(cancel)?;
        let cancel = cancel.map(|cancel| CancelToken::clone(&cancel));
        handle::get::<Ready>(prepared)?.lock()?.set_cancel(cancel)
    })
}

/// Code that is being compiled ahead of launches. To free it cancels nothing.
pub struct warpjit_compilation {
    _private: [u8; 0],
}

object!(Compilation, 18, "warpjit_compilation", warpjit_compilation);

/// Compiles the code that `count` launches will need in this memory, launch n of program n, on the engine's compiler threads, and comes back
/// at once. What running launches ask for goes first. Arguments do not matter. Nothing is run. What is wrong with a launch comes out of
/// warpjit_compilation_wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_engine_precompile(
    engine: *const warpjit_engine,
    memory: *const warpjit_memory,
    programs: *const *const warpjit_program,
    launches: *const *const warpjit_launch,
    count: usize,
    compilation: *mut *mut warpjit_compilation,
) -> warpjit_status {
    entry!({
        put(compilation, std::ptr::null_mut())?;
        let engine = handle::get::<Engine>(engine)?;
        let memory = handle::get::<Space>(memory)?;
        let programs = array(programs, count, "the array of programs")?;
        let launches = array(launches, count, "the array of launches")?;
        let pairs = programs.iter().zip(launches).map(|(&program, &launch)| {
            Ok((handle::get::<Loaded>(program)?, handle::get::<Description>(launch)?.now()))
        });
        let pairs = pairs.collect::<Result<Vec<_>, Failure>>()?;
        let borrowed = pairs.iter().map(|(program, launch)| -> (&Program, &Launch) { (&program.0, launch) });
        put_handle(compilation, engine.precompile(&memory.0, borrowed))?
    })
}

/// How many launches are done with, and how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_compilation_progress(
    compilation: *const warpjit_compilation,
    done: *mut usize,
    all: *mut usize,
) -> warpjit_status {
    entry!({
        let progress = handle::get::<Compilation>(compilation)?.progress();
        put(done, progress.0)?;
        put(all, progress.1)?
    })
}

/// Waits until all is compiled or cancelled, for at most so many nanoseconds (WARPJIT_ERROR_NOT_DONE); UINT64_MAX: any time. Returns the
/// first error of a launch, and WARPJIT_ERROR_CANCELLED if some were not compiled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_compilation_wait(
    compilation: *const warpjit_compilation,
    nanoseconds: u64,
) -> warpjit_status {
    entry!({
        let compilation = handle::get::<Compilation>(compilation)?;
        if nanoseconds != u64::MAX && !compilation.wait_timeout(Duration::from_nanos(nanoseconds)) {
            return Err(Failure::new(WARPJIT_ERROR_NOT_DONE, "code is still being compiled"));
        }
        compilation.wait()?
    })
}

/// Compiles no more: what is being compiled ends soon, and the rest is not begun.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_compilation_cancel(
    compilation: *const warpjit_compilation,
) -> warpjit_status {
    entry!({ handle::get::<Compilation>(compilation)?.cancel() })
}
