//! Saved launches: a launch that was stopped before its end, as bytes, to be continued elsewhere.

use warpjit_runtime::{Engine, SaveToken, SavedLaunch};

use crate::engine::warpjit_engine;
use crate::launch::{Description, edit, warpjit_launch};
use crate::memory::{Space, warpjit_memory};
use crate::pointers::{array, put, put_handle, put_if};
use crate::program::{Loaded, warpjit_program};
use crate::report::{Outcome, warpjit_report};
use crate::status::{Failure, WARPJIT_ERROR_NOT_FOUND, warpjit_status};
use crate::text::{Bytes, warpjit_bytes};
use crate::{entry, handle, object};

/// Asks launches to stop, so that they can be saved. It stays asked: continue with another token.
pub struct warpjit_save {
    _private: [u8; 0],
}

object!(SaveToken, 15, "warpjit_save", warpjit_save);

/// A launch that was stopped before its end, between regions of code. Guest memory is not part of it, unless it was made from bytes that
/// have it.
pub struct warpjit_saved_launch {
    _private: [u8; 0],
}

object!(SavedLaunch, 16, "warpjit_saved_launch", warpjit_saved_launch);

/// Makes a token. `after`: it asks by itself when warps have run so many blocks or regions of code; 0: only warpjit_save_now asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_save_new(after: u64, save: *mut *mut warpjit_save) -> warpjit_status {
    entry!({
        let token = if after == 0 { SaveToken::new() } else { SaveToken::after(after) };
        put_handle(save, token)?
    })
}

/// Asks the launches that have the token to stop soon. One that has ended meanwhile has nothing to save. Any thread may call this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_save_now(save: *const warpjit_save) -> warpjit_status {
    entry!({ handle::get::<SaveToken>(save)?.save() })
}

/// A token that stops the launch when it asks to, for compute programs. Loops of such launches run slower. NULL: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_save(
    launch: *mut warpjit_launch,
    save: *const warpjit_save,
) -> warpjit_status {
    entry!({
        let save = handle::get_or_none::<SaveToken>(save)?;
        edit(launch, |launch| launch.save = save.map(|save| SaveToken::clone(&save)))?
    })
}

/// The launch that a token has stopped before its end. WARPJIT_ERROR_NOT_FOUND: it has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_report_saved_launch(
    report: *const warpjit_report,
    saved: *mut *mut warpjit_saved_launch,
) -> warpjit_status {
    entry!({
        put(saved, std::ptr::null_mut())?;
        let report = handle::get::<Outcome>(report)?;
        let Some(launch) = &report.0.saved else {
            return Err(Failure::new(WARPJIT_ERROR_NOT_FOUND, "the launch was not stopped"));
        };
        put_handle(saved, SavedLaunch::clone(launch))?
    })
}

/// How many of its blocks have not ended, and whether guest memory is part of it. Both pointers may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_saved_launch_info(
    saved: *const warpjit_saved_launch,
    blocks_left: *mut u64,
    has_memory: *mut bool,
) -> warpjit_status {
    entry!({
        let saved = handle::get::<SavedLaunch>(saved)?;
        put_if(blocks_left, saved.blocks_left());
        put_if(has_memory, saved.has_memory())
    })
}

/// The launch as bytes. `memory`: all of its mappings and what they contain become part of them; NULL: guest memory must be as it is now
/// when the launch goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_saved_launch_to_bytes(
    saved: *const warpjit_saved_launch,
    memory: *const warpjit_memory,
    bytes: *mut *mut warpjit_bytes,
) -> warpjit_status {
    entry!({
        put(bytes, std::ptr::null_mut())?;
        let saved = handle::get::<SavedLaunch>(saved)?;
        let content = match handle::get_or_none::<Space>(memory)? {
            Some(memory) => saved.to_bytes_with(&memory.0)?,
            None => saved.to_bytes(),
        };
        put_handle(bytes, Bytes::new(content))?
    })
}

/// Reads what warpjit_saved_launch_to_bytes has written, in any process, on any host. The bytes may come from anywhere: foreign, cut and
/// damaged ones are WARPJIT_ERROR_STATE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_saved_launch_from_bytes(
    data: *const u8,
    size: usize,
    saved: *mut *mut warpjit_saved_launch,
) -> warpjit_status {
    entry!({
        put(saved, std::ptr::null_mut())?;
        put_handle(saved, SavedLaunch::from_bytes(array(data, size, "the bytes")?)?)?
    })
}

/// Maps the memory that is part of the launch, where it is not mapped, and fills it with what it contained. WARPJIT_ERROR_STATE: it has
/// none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_saved_launch_restore_memory(
    saved: *const warpjit_saved_launch,
    memory: *const warpjit_memory,
) -> warpjit_status {
    entry!({ handle::get::<SavedLaunch>(saved)?.restore_memory(&handle::get::<Space>(memory)?.0)? })
}

/// Continues a launch, to its end or until it is saved again. The launch must be the same: program, grid, arguments, and whatever else its
/// blocks begin with. Tokens, callback and engine may be others, but for the accuracy of floats. The report tells of what runs now.
/// WARPJIT_ERROR_STATE: the state is not of this launch, or none that a launch can be in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_engine_resume(
    engine: *const warpjit_engine,
    program: *const warpjit_program,
    memory: *const warpjit_memory,
    launch: *const warpjit_launch,
    saved: *const warpjit_saved_launch,
    report: *mut *mut warpjit_report,
) -> warpjit_status {
    entry!({
        put(report, std::ptr::null_mut())?;
        let engine = handle::get::<Engine>(engine)?;
        let program = handle::get::<Loaded>(program)?;
        let memory = handle::get::<Space>(memory)?;
        let launch = handle::get::<Description>(launch)?.now();
        let saved = handle::get::<SavedLaunch>(saved)?;
        put_handle(report, Outcome(engine.resume(&program.0, &memory.0, &launch, &saved)?))?
    })
}
