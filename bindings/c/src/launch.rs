//! Launches: one run of a kernel, described.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use warpjit_runtime::{Arg, CancelToken, GlobalMode, GlobalSpace, Launch, WarpRing};

use crate::callback::{User, warpjit_drop};
use crate::engine::warpjit_cancel;
use crate::handle::Draft;
use crate::pointers::{array, put_handle, text};
use crate::status::{Failure, warpjit_status};
use crate::{entry, handle, object};

/// One run of a kernel: grid, block, arguments and all else that the hardware would be given. It can be used any number of times, by
/// several threads at the same time, and be changed while launches that use it run: they have a copy.
pub struct warpjit_launch {
    _private: [u8; 0],
}

/// What the handle names.
pub(crate) type Description = Draft<Launch>;

object!(Draft<Launch>, 11, "warpjit_launch", warpjit_launch);

pub(crate) fn edit(launch: *const warpjit_launch, work: impl FnOnce(&mut Launch)) -> Result<(), Failure> {
    handle::get::<Description>(launch)?.edit(work);
    Ok(())
}

/// Makes a launch without blocks and arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_new(launch: *mut *mut warpjit_launch) -> warpjit_status {
    entry!({ put_handle(launch, Draft::new(Launch::default()))? })
}

/// Blocks along each axis.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_grid(
    launch: *mut warpjit_launch,
    x: u32,
    y: u32,
    z: u32,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.grid = [x, y, z])? })
}

/// Threads of a block along each axis.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_block(
    launch: *mut warpjit_launch,
    x: u32,
    y: u32,
    z: u32,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.block = [x, y, z])? })
}

/// Coordinates of the first block: the blocks of the grid are counted from there along each axis (GCN's COMPUTE_START_X, Y and Z). The
/// default is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_grid_start(
    launch: *mut warpjit_launch,
    x: u32,
    y: u32,
    z: u32,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.grid_start = [x, y, z])? })
}

/// Threads of the last block along each axis (GCN's NUM_THREAD_PARTIAL). 0, the default: as many as of all others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_last_block(
    launch: *mut warpjit_launch,
    x: u32,
    y: u32,
    z: u32,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.last_block = [x, y, z])? })
}

/// Bytes of shared memory beyond what the kernel has of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_dynamic_shared(
    launch: *mut warpjit_launch,
    bytes: u32,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.dynamic_shared = bytes)? })
}

/// Most instructions a warp may execute; one more is a timeout fault. 0, the default: no limit. The limit is exact and slows the kernel
/// down. A cancel token stops a runaway launch at no cost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_max_steps(
    launch: *mut warpjit_launch,
    instructions: u64,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.max_steps = instructions)? })
}

/// Adds an argument: its bytes, little endian, and its alignment, a power of two up to 64. Arguments are laid out in order. If the program
/// states the layout of its parameters, the size must be the stated one, and the alignment is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_add_arg(
    launch: *mut warpjit_launch,
    value: *const c_void,
    bytes: usize,
    align: usize,
) -> warpjit_status {
    entry!({
        let value = array(value.cast::<u8>(), bytes, "the argument")?;
        edit(launch, |launch| launch.args.push(Arg::bytes(value, align)))?
    })
}

/// Adds a 32-bit argument: a number or a 32-bit pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_add_arg_u32(
    launch: *mut warpjit_launch,
    value: u32,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.args.push(Arg::u32(value)))? })
}

/// Adds a 64-bit argument: a number or a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_add_arg_u64(
    launch: *mut warpjit_launch,
    value: u64,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.args.push(Arg::u64(value)))? })
}

/// Adds a binary32 argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_add_arg_f32(
    launch: *mut warpjit_launch,
    value: f32,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.args.push(Arg::f32(value)))? })
}

/// Adds a pointer (32 bits) to so many bytes of dynamic shared memory, if the instruction set has such arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_add_arg_shared(
    launch: *mut warpjit_launch,
    bytes: u32,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.args.push(Arg::shared(bytes)))? })
}

/// Removes all arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_clear_args(launch: *mut warpjit_launch) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.args.clear())? })
}

/// Contents of a constant bank, which are copied. They override what the container puts there, and what an earlier call gave for the bank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_constants(
    launch: *mut warpjit_launch,
    bank: u32,
    contents: *const c_void,
    bytes: usize,
) -> warpjit_status {
    entry!({
        let contents = array(contents.cast::<u8>(), bytes, "the contents")?.to_vec();
        edit(launch, |launch| {
            launch.consts.retain(|(known, _)| *known != bank);
            launch.consts.push((bank, contents));
        })?
    })
}

/// Adds a window to global memory: Tesla's g0[] to g15[]. Without any, every window is the whole address space.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_add_global(
    launch: *mut warpjit_launch,
    index: u32,
    address: u64,
    bytes: u64,
) -> warpjit_status {
    entry!({
        let window = GlobalSpace { index, address, bytes, mode: GlobalMode::Linear };
        edit(launch, |launch| launch.globals.push(window))?
    })
}

/// The same of an image in tiles of 64 bytes by `4 << tile_mode` rows. The low half of a guest's address is x in bytes, the high half is y.
/// `pitch`: bytes from one row to the next, a multiple of 64. `width`: bytes of a row that exist. `height`: rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_add_global_tiled(
    launch: *mut warpjit_launch,
    index: u32,
    address: u64,
    bytes: u64,
    pitch: u32,
    width: u32,
    height: u32,
    tile_mode: u32,
) -> warpjit_status {
    entry!({
        let mode = GlobalMode::Tiled2d { pitch, width, height, tile_mode };
        edit(launch, |launch| launch.globals.push(GlobalSpace { index, address, bytes, mode }))?
    })
}

/// Words that the hardware loads into the first scalar registers of each wave, from s0 on: raw GCN code with
/// warpjit_program_options_set_rsrc. Registers without a word start at zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_user_data(
    launch: *mut warpjit_launch,
    words: *const u32,
    count: usize,
) -> warpjit_status {
    entry!({
        let words = array(words, count, "the user data")?.to_vec();
        edit(launch, |launch| launch.user_data = words)?
    })
}

/// How the program's scratch buffer is divided: into so many parts, one for each wave that exists at a time, of so many bytes. Raw GCN
/// code whose COMPUTE_PGM_RSRC2 enables scratch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_scratch_ring(
    launch: *mut warpjit_launch,
    warps: u32,
    warp_bytes: u32,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.scratch_ring = Some(WarpRing { warps, warp_bytes }))? })
}

/// Initial value of a register by its name ("s4", "v0", "r3"): one value for all lanes, or one for each lane. It replaces an earlier one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_register(
    launch: *mut warpjit_launch,
    name: *const c_char,
    values: *const u64,
    count: usize,
) -> warpjit_status {
    entry!({
        let name = text(name, "the register's name")?;
        let values = array(values, count, "the values")?.to_vec();
        edit(launch, |launch| {
            launch.registers.retain(|(known, _)| known != name);
            launch.registers.push((name.to_owned(), values));
        })?
    })
}

/// What to return at the end: registers (launches of one warp only; warpjit_report_register), shared memory (launches of one block only;
/// warpjit_report_shared).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_capture(
    launch: *mut warpjit_launch,
    registers: bool,
    shared: bool,
) -> warpjit_status {
    entry!({
        edit(launch, |launch| {
            launch.capture_registers = registers;
            launch.capture_shared = shared;
        })?
    })
}

/// Initial shared memory of each block; the rest is zero. The contents are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_shared(
    launch: *mut warpjit_launch,
    contents: *const c_void,
    bytes: usize,
) -> warpjit_status {
    entry!({
        let contents = array(contents.cast::<u8>(), bytes, "the contents")?.to_vec();
        edit(launch, |launch| launch.shared = contents)?
    })
}

/// Runs blocks `first` to `end - 1` only, by linear index. `first` = `end` = 0, the default: all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_blocks(
    launch: *mut warpjit_launch,
    first: u64,
    end: u64,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.blocks = ((first, end) != (0, 0)).then_some(first..end))? })
}

/// A token that ends the launch early when it is used. NULL: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_cancel(
    launch: *mut warpjit_launch,
    cancel: *const warpjit_cancel,
) -> warpjit_status {
    entry!({
        let cancel = handle::get_or_none::<CancelToken>(cancel)?;
        edit(launch, |launch| launch.cancel = cancel.map(|cancel| CancelToken::clone(&cancel)))?
    })
}

/// Hears of the progress of a launch: blocks finished, and blocks in all.
pub type warpjit_progress = Option<unsafe extern "C-unwind" fn(user: *mut c_void, finished: u64, all: u64)>;

/// A function that is called now and then, on any thread, while a launch runs. NULL: none. `drop` is called when neither the launch nor a
/// copy of it needs the function any more, also if this call fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_progress(
    launch: *mut warpjit_launch,
    progress: warpjit_progress,
    user: *mut c_void,
    drop: warpjit_drop,
) -> warpjit_status {
    entry!({
        let user = User::new(user, drop);
        let progress = progress.map(|progress| {
            let tell = move |finished: u64, all: u64| {
                // SAFETY: a callback with its user pointer.
                user.call("the progress callback", |user| unsafe { progress(user, finished, all) })
            };
            Arc::new(tell) as warpjit_runtime::Progress
        });
        // The old function may call anything when it is dropped, also this launch.
        let mut old = None;
        edit(launch, |launch| old = std::mem::replace(&mut launch.progress, progress))?;
        std::mem::drop(old)
    })
}
