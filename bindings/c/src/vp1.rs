//! The VP1 video processor as a machine: it runs for a number of bundles, and asks the caller about everything outside of the processor.

use std::ffi::{c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use warpjit_frontend::Chip;
use warpjit_runtime::vp1::{Machine, Outside, Stop, Transfer};
use warpjit_runtime::{CancelToken, Config};

use crate::callback::User;
use crate::config::warpjit_config;
use crate::engine::warpjit_cancel;
use crate::handle::Draft;
use crate::pointers::{array, put, put_handle, put_if, text};
use crate::report::copy_out;
use crate::status::{Failure, WARPJIT_ERROR_NOT_FOUND, warpjit_status};
use crate::{entry, handle, object};

/// A video processor with a program. One thread at a time can use it; another one gets WARPJIT_ERROR_ARGUMENT.
pub struct warpjit_vp1 {
    _private: [u8; 0],
}

/// The machine. It never leaves the lock, and has no ties to a thread.
struct Processor(Mutex<Held>);

struct Held(Machine);

// SAFETY: a machine keeps the registers of its warp as plain words, and pointers to its own memory. Which thread uses it does not matter,
// and the lock lets one in at a time.
unsafe impl Send for Held {}

object!(Processor, 13, "warpjit_vp1", warpjit_vp1);

impl Processor {
    fn lock(&self) -> Result<MutexGuard<'_, Held>, Failure> {
        match self.0.try_lock() {
            Ok(held) => Ok(held),
            Err(TryLockError::Poisoned(held)) => Ok(PoisonError::into_inner(held)),
            Err(TryLockError::WouldBlock) => Err(Failure::argument(
                "the video processor is in use, by another thread or a callback's caller",
            )),
        }
    }
}

/// What is outside of the processor. Functions that are NULL do nothing: destinations keep what they have, and nothing is waited for.
/// They are called by the thread that runs the machine, and may not use it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct warpjit_vp1_outside {
    /// The program reads a register of a file that is no part of the processor's state: 8 $sr, 9 $mi, 10 $uc (but 0 and 16), 22 $d, 23 $f;
    /// others are unknown. false: the destination stays as it is.
    pub read: Option<
        unsafe extern "C-unwind" fn(user: *mut c_void, file: u32, index: u32, value: *mut u32) -> bool,
    >,
    /// The program writes such a register.
    pub write: Option<unsafe extern "C-unwind" fn(user: *mut c_void, file: u32, index: u32, value: u32)>,
    /// The program starts a transfer or waits for one (xdld, xdst, xdbar, xdwait, opcode db). `word`: the instruction. `a`: $a0 to $a31.
    /// `data_store`: the data store in its raw layout, to be read and changed.
    pub transfer: Option<
        unsafe extern "C-unwind" fn(
            user: *mut c_void,
            word: u32,
            a: *const u32,
            data_store: *mut u8,
            data_store_bytes: usize,
        ),
    >,
    /// Passed to the functions.
    pub user: *mut c_void,
}

struct OfOutside {
    functions: warpjit_vp1_outside,
    user: User,
}

impl Outside for OfOutside {
    fn read(&mut self, file: u32, index: u32) -> Option<u32> {
        let read = self.functions.read?;
        let mut value = 0;
        // SAFETY: a callback with its user pointer.
        let is_there =
            self.user.call("a read outside", |user| unsafe { read(user, file, index, &mut value) });
        is_there.then_some(value)
    }

    fn write(&mut self, file: u32, index: u32, value: u32) {
        let Some(write) = self.functions.write else { return };
        // SAFETY: as above.
        self.user.call("a write outside", |user| unsafe { write(user, file, index, value) });
    }

    fn transfer(&mut self, transfer: Transfer<'_>) {
        let Some(callback) = self.functions.transfer else { return };
        let Transfer { word, a, data_store } = transfer;
        // SAFETY: as above.
        self.user.call("a transfer", |user| unsafe {
            callback(user, word, a.as_ptr(), data_store.as_mut_ptr(), data_store.len())
        });
    }
}

/// Makes a machine with all registers and the data store zero, which stands at the first word of `code`: little-endian words, which are
/// copied. `chip_name`: "nv41", "nv44" or "g80". Of the settings, tier, host level and budget matter; NULL: the defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_vp1_new(
    code: *const u8,
    bytes: usize,
    chip_name: *const c_char,
    config: *const warpjit_config,
    vp1: *mut *mut warpjit_vp1,
) -> warpjit_status {
    entry!({
        put(vp1, std::ptr::null_mut())?;
        let code = array(code, bytes, "the code")?;
        // Boards have these names, too, so the chip is looked for among those of this instruction set.
        let name = text(chip_name, "the name of the chip")?;
        let Chip::Vp1(chip) = warpjit_frontend::Isa::Vp1.chip(name)? else {
            return Err(Failure::argument(format!("{name} has no video processor")));
        };
        let config = handle::get_or_none::<Draft<Config>>(config)?;
        let config = config.map_or_else(Config::default, |config| Config::clone(&config.now()));
        let machine = Machine::new(code, chip, &config)?;
        put_handle(vp1, Processor(Mutex::new(Held(machine))))?
    })
}

/// Why a machine stopped: WARPJIT_VP1_STOP_... .
pub type warpjit_vp1_stop = u32;
/// The program has executed an `exit`. Running again continues after it.
pub const WARPJIT_VP1_STOP_EXIT: warpjit_vp1_stop = 0;
/// The bundles that were asked for have been executed.
pub const WARPJIT_VP1_STOP_LIMIT: warpjit_vp1_stop = 1;
/// There is no code where the machine stands.
pub const WARPJIT_VP1_STOP_ILLEGAL: warpjit_vp1_stop = 2;
/// The token was used.
pub const WARPJIT_VP1_STOP_CANCELLED: warpjit_vp1_stop = 3;

/// Runs until the program exits, there is no code, or so many instruction bundles have been executed; UINT64_MAX: no limit. With a limit
/// the machine stops exactly there. `outside` may be NULL: nothing is there. Of an exit, `exit_code` gets its code and `interrupt` whether
/// it asks for an interrupt; both may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_vp1_run(
    vp1: *const warpjit_vp1,
    bundles: u64,
    outside: *const warpjit_vp1_outside,
    stop: *mut warpjit_vp1_stop,
    exit_code: *mut u32,
    interrupt: *mut bool,
) -> warpjit_status {
    entry!({
        let processor = handle::get::<Processor>(vp1)?;
        let mut held = processor.lock()?;
        let nothing =
            warpjit_vp1_outside { read: None, write: None, transfer: None, user: std::ptr::null_mut() };
        let functions = if outside.is_null() { nothing } else { *outside };
        let mut outside = OfOutside { functions, user: User::new(functions.user, None) };
        let why = match held.0.run(Some(bundles).filter(|&most| most != u64::MAX), &mut outside)? {
            Stop::Exit { code, interrupt: asks } => {
                put_if(exit_code, code.into());
                put_if(interrupt, asks);
                WARPJIT_VP1_STOP_EXIT
            }
            Stop::Limit => WARPJIT_VP1_STOP_LIMIT,
            Stop::Illegal => WARPJIT_VP1_STOP_ILLEGAL,
            Stop::Cancelled => WARPJIT_VP1_STOP_CANCELLED,
        };
        put(stop, why)?
    })
}

/// A token that ends warpjit_vp1_run when it is used, also while the machine runs. NULL: nothing does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_vp1_set_cancel(
    vp1: *const warpjit_vp1,
    cancel: *const warpjit_cancel,
) -> warpjit_status {
    entry!({
        let cancel = handle::get_or_none::<CancelToken>(cancel)?;
        let processor = handle::get::<Processor>(vp1)?;
        processor.lock()?.0.set_cancel(cancel.map(|cancel| CancelToken::clone(&cancel)))
    })
}

/// Where the machine stands: the word address of the next bundle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_vp1_pc(vp1: *const warpjit_vp1, pc: *mut u32) -> warpjit_status {
    entry!({ put(pc, handle::get::<Processor>(vp1)?.lock()?.0.pc())? })
}

/// Continues at a word address. A pending branch is dropped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_vp1_set_pc(vp1: *const warpjit_vp1, pc: u32) -> warpjit_status {
    entry!({ handle::get::<Processor>(vp1)?.lock()?.0.set_pc(pc) })
}

/// The value of a register by its name ("r0", "a3", "v1"): one value, or one a component. `count`: in, room in `values`; out, how many
/// there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_vp1_register(
    vp1: *const warpjit_vp1,
    name: *const c_char,
    values: *mut u64,
    count: *mut usize,
) -> warpjit_status {
    entry!({
        let processor = handle::get::<Processor>(vp1)?;
        let name = text(name, "the register's name")?;
        let found = processor.lock()?.0.register(name);
        let found = found
            .ok_or_else(|| Failure::new(WARPJIT_ERROR_NOT_FOUND, format!("there is no register {name}")))?;
        copy_out(&found, values, count)?
    })
}

/// Sets a register by its name: one value, or one a component.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_vp1_set_register(
    vp1: *const warpjit_vp1,
    name: *const c_char,
    values: *const u64,
    count: usize,
) -> warpjit_status {
    entry!({
        let processor = handle::get::<Processor>(vp1)?;
        let values = array(values, count, "the values")?;
        processor.lock()?.0.set_register(text(name, "the register's name")?, values)?
    })
}

/// Reads the data store in its raw layout: byte `16 * row + bank`. `bytes`: in, room in `out`; out, how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_vp1_data_store(
    vp1: *const warpjit_vp1,
    out: *mut u8,
    bytes: *mut usize,
) -> warpjit_status {
    entry!({
        let processor = handle::get::<Processor>(vp1)?;
        copy_out(processor.lock()?.0.data_store(), out, bytes)?
    })
}

/// Writes a part of the data store.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_vp1_set_data_store(
    vp1: *const warpjit_vp1,
    offset: usize,
    data: *const u8,
    bytes: usize,
) -> warpjit_status {
    entry!({
        let processor = handle::get::<Processor>(vp1)?;
        let data = array(data, bytes, "the data")?;
        let mut held = processor.lock()?;
        let end = offset.saturating_add(bytes);
        let to = held.0.data_store_mut().get_mut(offset..end);
        to.ok_or_else(|| Failure::argument(format!("{offset:#x}..{end:#x} is not in the data store")))?
            .copy_from_slice(data)
    })
}
