//! Programs in guest memory, for guests that name their code by address.

use warpjit_runtime::{Engine, ProgramCache, ProgramOptions};

use crate::engine::warpjit_engine;
use crate::handle::Draft;
use crate::memory::{Space, warpjit_memory};
use crate::pointers::{put, put_handle, put_sized};
use crate::program::{Loaded, warpjit_program, warpjit_program_options};
use crate::status::warpjit_status;
use crate::{entry, handle, object};

/// Programs in guest memory. A program is loaded when it is first asked for, and again when its code has changed. The cache does not see
/// changes by itself: tell it when the guest flushes instruction caches. Engines and threads can share it.
///
/// Code with the same bytes and options is one program, compiled once, if it is at the same address again, or if nothing in it depends on
/// its address.
pub struct warpjit_program_cache {
    _private: [u8; 0],
}

object!(ProgramCache, 14, "warpjit_program_cache", warpjit_program_cache);

/// Makes an empty cache. When its programs, with what has been compiled of them, take more than `most_bytes`, those that were not got for
/// the longest time are dropped. `budget_of`: an engine whose budget is the limit of each loading; NULL: the default one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_cache_new(
    most_bytes: usize,
    budget_of: *const warpjit_engine,
    cache: *mut *mut warpjit_program_cache,
) -> warpjit_status {
    entry!({
        put(cache, std::ptr::null_mut())?;
        let engine = handle::get_or_none::<Engine>(budget_of)?;
        let budget = engine.map(|engine| engine.config().budget).unwrap_or_default();
        put_handle(cache, ProgramCache::with_budget(most_bytes, budget))?
    })
}

/// The program whose first instruction is at a guest address, as warpjit_program_load_at loads it. The result is a handle of its own, to be
/// freed. The memory must be the same in all calls, or warpjit_program_cache_flush must come between. Errors are not kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_cache_get(
    cache: *const warpjit_program_cache,
    memory: *const warpjit_memory,
    address: u64,
    options: *const warpjit_program_options,
    program: *mut *mut warpjit_program,
) -> warpjit_status {
    entry!({
        put(program, std::ptr::null_mut())?;
        let cache = handle::get::<ProgramCache>(cache)?;
        let memory = handle::get::<Space>(memory)?;
        let options = handle::get::<Draft<ProgramOptions>>(options)?.now();
        put_handle(program, Loaded(cache.get(&memory.0, address, &options)?))?
    })
}

/// The guest may have changed the code from `start` to `end`: programs that depend on it are compared with memory when they are next got.
/// A launch that runs uses the old code as a whole.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_cache_invalidate(
    cache: *const warpjit_program_cache,
    start: u64,
    end: u64,
) -> warpjit_status {
    entry!({ handle::get::<ProgramCache>(cache)?.invalidate(start..end) })
}

/// The guest may have changed any code: each program is compared with memory when it is next got. Costs nothing by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_cache_flush(cache: *const warpjit_program_cache) -> warpjit_status {
    entry!({ handle::get::<ProgramCache>(cache)?.flush() })
}

/// Drops all programs. Those that somebody has a handle of live on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_cache_clear(cache: *const warpjit_program_cache) -> warpjit_status {
    entry!({ handle::get::<ProgramCache>(cache)?.clear() })
}

/// What a cache has done and holds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct warpjit_program_cache_statistics {
    /// Programs that were there, without a look at their code.
    pub hits: u64,
    /// Programs that were there, after their code was compared.
    pub confirmed: u64,
    /// Programs that were there for another address, or for what had been at this address before.
    pub shared: u64,
    /// Programs that were lifted.
    pub loads: u64,
    /// Programs that were dropped because the limit was reached.
    pub evictions: u64,
    /// Programs now.
    pub programs: u64,
    /// Bytes of host memory that they took when each was last got.
    pub bytes: u64,
}

/// The statistics. `size` is sizeof(warpjit_program_cache_statistics).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_cache_get_statistics(
    cache: *const warpjit_program_cache,
    statistics: *mut warpjit_program_cache_statistics,
    size: usize,
) -> warpjit_status {
    entry!({
        let now = handle::get::<ProgramCache>(cache)?.statistics();
        let all = warpjit_program_cache_statistics {
            hits: now.hits,
            confirmed: now.confirmed,
            shared: now.shared,
            loads: now.loads,
            evictions: now.evictions,
            programs: now.programs as u64,
            bytes: now.bytes as u64,
        };
        put_sized(statistics, size, &all)?
    })
}
