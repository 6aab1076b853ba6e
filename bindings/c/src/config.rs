//! The settings of an engine.

use std::ffi::c_char;
use std::time::Duration;

use warpjit_runtime::{Config, HostLevel, Idle, Numerics, Signals, Tier};

use crate::handle::Draft;
use crate::pointers::{put_handle, text};
use crate::status::{Failure, WARPJIT_ERROR_NOT_FOUND, warpjit_status};
use crate::{entry, handle, object};

/// Settings of an engine.
pub struct warpjit_config {
    _private: [u8; 0],
}

object!(Draft<Config>, 2, "warpjit_config", warpjit_config);

/// Which machinery executes guest code: WARPJIT_TIER_... . All give the same results.
pub type warpjit_tier = u32;
/// Interprets first; code that is executed often is compiled on a thread of the engine. The default.
pub const WARPJIT_TIER_AUTO: warpjit_tier = 0;
/// The interpreter: slow, and exact to the instruction in all it reports.
pub const WARPJIT_TIER_INTERPRETER: warpjit_tier = 1;
/// Compiles each region of code when a warp first reaches it.
pub const WARPJIT_TIER_JIT: warpjit_tier = 2;

/// Who installs the handlers of SIGSEGV, SIGBUS, SIGILL and SIGFPE: WARPJIT_SIGNALS_... .
pub type warpjit_signals = u32;
/// The engine does. Handlers of others, installed before or later, get every signal that is no fault of compiled code. The default.
pub const WARPJIT_SIGNALS_OWN: warpjit_signals = 0;
/// The program installs its own, which call warpjit_handle_signal.
pub const WARPJIT_SIGNALS_EMBEDDER: warpjit_signals = 1;

/// Accuracy of float results: WARPJIT_NUMERICS_... .
pub type warpjit_numerics = u32;
/// The guest's bits, as far as they are known. The default.
pub const WARPJIT_NUMERICS_EXACT: warpjit_numerics = 0;
/// Some float instructions give results within a documented bound of the guest's (docs/numerics.md).
pub const WARPJIT_NUMERICS_FAST: warpjit_numerics = 1;

/// Instructions of the host that compiled code may use: WARPJIT_HOST_... .
pub type warpjit_host = u32;
/// All that this processor has. The default.
pub const WARPJIT_HOST_NATIVE: warpjit_host = 0;
/// On x86-64, no AVX-512.
pub const WARPJIT_HOST_AVX2: warpjit_host = 1;
/// On x86-64, nothing newer than SSE4.1.
pub const WARPJIT_HOST_SSE41: warpjit_host = 2;

fn unknown(what: &str, value: u32) -> Failure {
    Failure::argument(format!("{value} is no {what}"))
}

fn edit(
    config: *const warpjit_config,
    work: impl FnOnce(&mut Config) -> Result<(), Failure>,
) -> Result<(), Failure> {
    handle::get::<Draft<Config>>(config)?.edit(work)
}

/// Makes settings: the defaults, which warpjit_engine_new takes for NULL, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_new(config: *mut *mut warpjit_config) -> warpjit_status {
    entry!({ put_handle(config, Draft::new(Config::default()))? })
}

/// Number of host threads that run blocks. 0, the default: one for each processor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_threads(
    config: *mut warpjit_config,
    threads: usize,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.threads = threads;
            Ok(())
        })?
    })
}

/// What the engine's threads do while there is nothing to run: WARPJIT_IDLE_... .
pub type warpjit_idle = u32;
/// After work they poll for more as long as they have just worked, at most 2 ms, and then sleep. The default.
pub const WARPJIT_IDLE_ADAPTIVE: warpjit_idle = 0;
/// They sleep at once.
pub const WARPJIT_IDLE_SLEEP: warpjit_idle = 1;
/// They poll for a given time before they sleep.
pub const WARPJIT_IDLE_SPIN: warpjit_idle = 2;
/// There are no such threads: the program calls warpjit_engine_work on its own. Calls that wait work meanwhile.
pub const WARPJIT_IDLE_EMBEDDER: warpjit_idle = 3;

/// What the engine's threads do while there is nothing to run. `nanoseconds` matters for WARPJIT_IDLE_SPIN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_idle(
    config: *mut warpjit_config,
    idle: warpjit_idle,
    nanoseconds: u64,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.idle = match idle {
                WARPJIT_IDLE_ADAPTIVE => Idle::Adaptive,
                WARPJIT_IDLE_SLEEP => Idle::Sleep,
                WARPJIT_IDLE_SPIN => Idle::Spin(Duration::from_nanos(nanoseconds)),
                WARPJIT_IDLE_EMBEDDER => Idle::Embedder,
                other => return Err(unknown("choice for idle threads", other)),
            };
            Ok(())
        })?
    })
}

/// Threads that compile (WARPJIT_TIER_AUTO, warpjit_engine_precompile): how many, 0: one; their nice value, 0: that of the process; and most
/// regions that wait for them, 0: any number. Nothing is dropped: if so many wait, a launch that needs one more compiles it itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_compiler(
    config: *mut warpjit_config,
    threads: usize,
    nice: i32,
    most_waiting: usize,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.compiler_threads = threads;
            config.compiler_nice = nice;
            config.compiler_queue = Some(most_waiting).filter(|&most| most > 0);
            Ok(())
        })?
    })
}

/// Which tier runs guest code. `hot_after`, for WARPJIT_TIER_AUTO: how often a block of code is interpreted before it is compiled; 0: the
/// usual number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_tier(
    config: *mut warpjit_config,
    tier: warpjit_tier,
    hot_after: u32,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.tier = match tier {
                WARPJIT_TIER_AUTO => Tier::Auto,
                WARPJIT_TIER_INTERPRETER => Tier::Interp,
                WARPJIT_TIER_JIT => Tier::Jit,
                other => return Err(unknown("tier", other)),
            };
            config.hot_after = Some(hot_after).filter(|&count| count > 0);
            Ok(())
        })?
    })
}

/// How often warps go from one compiled region to another by the runtime before the regions of their kernel are joined to one function.
/// -1, the default: so often that joining them pays; 4294967295: never.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_join_after(
    config: *mut warpjit_config,
    times: i64,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.join_after = match times {
                -1 => None,
                _ => Some(
                    u32::try_from(times)
                        .map_err(|_| Failure::argument(format!("regions are joined after {times} times")))?,
                ),
            };
            Ok(())
        })?
    })
}

/// Keeps compiled code in a folder, for later processes that run the same programs. The folder is made when it is needed; it must belong to
/// this user alone. `most_bytes`: size of all files in it; 0: 256 MiB. `folder` NULL, the default: no cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_cache(
    config: *mut warpjit_config,
    folder: *const c_char,
    most_bytes: u64,
) -> warpjit_status {
    entry!({
        let folder = if folder.is_null() { None } else { Some(text(folder, "the cache folder")?) };
        edit(config, |config| set_cache(config, folder, most_bytes))?
    })
}

/// Keeps compiled code in the folder `warpjit` in the user's cache folder ($XDG_CACHE_HOME, or else ~/.cache).
/// WARPJIT_ERROR_NOT_FOUND: the environment names neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_user_cache(config: *mut warpjit_config) -> warpjit_status {
    entry!({ edit(config, set_user_cache)? })
}

#[cfg(feature = "cache")]
fn set_cache(config: &mut Config, folder: Option<&str>, most_bytes: u64) -> Result<(), Failure> {
    config.cache = folder.map(warpjit_runtime::CacheConfig::new);
    if let Some(cache) = config.cache.as_mut().filter(|_| most_bytes > 0) {
        cache.max_bytes = most_bytes;
    }
    Ok(())
}

#[cfg(feature = "cache")]
fn set_user_cache(config: &mut Config) -> Result<(), Failure> {
    let cache = warpjit_runtime::CacheConfig::of_user();
    config.cache = Some(cache.ok_or_else(|| {
        Failure::new(WARPJIT_ERROR_NOT_FOUND, "neither XDG_CACHE_HOME nor HOME names a folder")
    })?);
    Ok(())
}

/// A build without a cache.
#[cfg(not(feature = "cache"))]
fn set_cache(_config: &mut Config, folder: Option<&str>, _most_bytes: u64) -> Result<(), Failure> {
    match folder {
        Some(_) => Err(Failure::new(crate::status::WARPJIT_ERROR_CONFIG, "this build has no cache")),
        None => Ok(()),
    }
}

#[cfg(not(feature = "cache"))]
fn set_user_cache(_config: &mut Config) -> Result<(), Failure> {
    Err(Failure::new(crate::status::WARPJIT_ERROR_CONFIG, "this build has no cache"))
}

/// Size of a chunk of lanes in groups of four: 0 (one lane after another), 1, 2, 4, 8 or 16. -1, the default: the compiler chooses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_chunk_groups(
    config: *mut warpjit_config,
    groups: i32,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.chunk_groups = match groups {
                -1 => None,
                _ => Some(
                    u8::try_from(groups)
                        .map_err(|_| Failure::argument(format!("a chunk of {groups} groups")))?,
                ),
            };
            Ok(())
        })?
    })
}

/// Whether compiled code checks each address itself instead of relying on signals. Slower.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_checked_memory(
    config: *mut warpjit_config,
    checked: bool,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.checked_memory = checked;
            Ok(())
        })?
    })
}

/// Who installs signal handlers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_signals(
    config: *mut warpjit_config,
    signals: warpjit_signals,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.signals = match signals {
                WARPJIT_SIGNALS_OWN => Signals::Own,
                WARPJIT_SIGNALS_EMBEDDER => Signals::Embedder,
                other => return Err(unknown("choice of signals", other)),
            };
            Ok(())
        })?
    })
}

/// Whether accesses to global memory are ordered between the lanes of a warp, for guests that rely on more than the programming model
/// promises. Slower.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_lockstep(
    config: *mut warpjit_config,
    lockstep: bool,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.lockstep = lockstep;
            Ok(())
        })?
    })
}

/// Accuracy of float results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_numerics(
    config: *mut warpjit_config,
    numerics: warpjit_numerics,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.numerics = match numerics {
                WARPJIT_NUMERICS_EXACT => Numerics::Exact,
                WARPJIT_NUMERICS_FAST => Numerics::Fast,
                other => return Err(unknown("accuracy", other)),
            };
            Ok(())
        })?
    })
}

/// Host instructions that compiled code may use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_host(
    config: *mut warpjit_config,
    host: warpjit_host,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.host = match host {
                WARPJIT_HOST_NATIVE => HostLevel::Native,
                WARPJIT_HOST_AVX2 => HostLevel::Avx2,
                WARPJIT_HOST_SSE41 => HostLevel::Sse41,
                other => return Err(unknown("host level", other)),
            };
            Ok(())
        })?
    })
}

/// Whether to count instructions, lanes and memory traffic, and in the interpreter also groups of instructions. Slower.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_count(
    config: *mut warpjit_config,
    count: bool,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.count = count;
            Ok(())
        })?
    })
}

/// What to record of launches. `perf`: announce compiled code to Linux perf (/tmp/perf-PID.map, /tmp/jit-PID.dump). `samples_per_second`
/// of each thread, and `count` of blocks, lanes and accesses by the interpreter: for warpjit_report_profile. `listings`: keep compiled code
/// as text, for warpjit_report_listings; then the cache is not used. The default is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_observe(
    config: *mut warpjit_config,
    perf: bool,
    samples_per_second: u32,
    count: bool,
    listings: bool,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.observe.perf = perf;
            config.observe.sample_rate = samples_per_second;
            config.observe.count = count;
            config.observe.listings = listings;
            Ok(())
        })?
    })
}

/// Limits for loading a program, and separately for compiling it with these settings in all launches together: nanoseconds, and bytes of
/// tables, instructions and code. UINT64_MAX is no limit. The defaults, two minutes and 4 GiB, are many times what ordinary code needs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_config_set_budget(
    config: *mut warpjit_config,
    nanoseconds: u64,
    bytes: u64,
) -> warpjit_status {
    entry!({
        edit(config, |config| {
            config.budget.time =
                if nanoseconds == u64::MAX { Duration::MAX } else { Duration::from_nanos(nanoseconds) };
            config.budget.bytes = bytes;
            Ok(())
        })?
    })
}
