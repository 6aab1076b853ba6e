//! Entering compiled code, and the signal handler that returns from it.

use super::alt_stack::AltStack;
use super::{FloatMode, arch, guarded, signals};
use crate::Error;
use crate::vm::registry;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use warpjit_backend::HostRegisters;

// The trampoline, which `arch` has in assembly for each processor.
unsafe extern "C" {
    /// Saves callee-saved registers and the stack pointer in `entry`, sets the float environment,
    /// calls `code(context, frame)`, restores all.
    pub(super) fn warpjit_runtime_enter(
        entry: *mut Entry,
        code: *const u8,
        context: *mut u8,
        frame: *mut u8,
    ) -> u64;
    /// As [`warpjit_runtime_enter`] for the calls from `first` up to `end`, one after the other while they give
    /// `entry.wanted_result`. Each puts its first word into the first word of the context.
    pub(super) fn warpjit_runtime_enter_all(
        entry: *mut Entry,
        code: *const u8,
        context: *mut u8,
        first: *mut Call,
        end: *const Call,
    );
    #[cfg(target_arch = "x86_64")]
    /// As [`warpjit_runtime_enter`], in the float environment as it is, which `entry.saved_control` says.
    pub(super) fn warpjit_runtime_enter_within(
        entry: *mut Entry,
        code: *const u8,
        context: *mut u8,
        frame: *mut u8,
    ) -> u64;
    /// Where the signal handler resumes, with the stack pointer of `entry`. Not callable.
    pub(super) fn warpjit_runtime_recover();
}

/// A processor exception in compiled code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct RawFault {
    /// Host address of the instruction.
    pub pc: usize,
    /// For a memory fault, the host address accessed; otherwise the pc or 0.
    pub address: usize,
    /// The signal's number (`libc::SIGSEGV`, ...).
    pub signal: i32,
    /// General registers at the instruction.
    pub registers: HostRegisters,
}

/// One activation of [`enter`]; the trampoline and the handler fill it in.
#[derive(Debug)]
#[repr(C)]
pub struct Entry {
    /// Where the trampoline's saved registers are.
    pub(super) stack_pointer: usize,
    /// Float environment of the caller.
    pub(super) saved_control: u64,
    /// Float environment of compiled code.
    pub(super) wanted_control: u64,
    /// [`enter_all`]: the call that runs or ran last.
    pub(super) call: *mut Call,
    /// [`enter_all`]: the result with which a call must end for the next one to be made.
    pub(super) wanted_result: u64,
    /// The code entered.
    pub(super) code: *const u8,
    /// The activation around this one on the same thread.
    previous: *mut Entry,
    faulted: bool,
    fault: MaybeUninit<RawFault>,
}

/// One call of [`enter_all`].
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Call {
    /// The second argument.
    pub frame: *mut u8,
    /// The value for the context's first word.
    pub word: u64,
    /// Out: its result.
    pub result: u64,
    /// Out: the context's second and third word after the call.
    pub words: [u64; 2],
    /// For the caller's use.
    pub tag: usize,
}

impl Call {
    /// A call that has not been made.
    pub fn new(frame: *mut u8, word: u64, tag: usize) -> Call {
        Call { frame, word, result: 0, words: [0; 2], tag }
    }
}

impl Entry {
    pub(super) fn new(code: *const u8, mode: FloatMode, wanted_result: u64) -> Entry {
        Entry {
            stack_pointer: 0,
            saved_control: 0,
            wanted_control: arch::float_control(mode),
            call: std::ptr::null_mut(),
            wanted_result,
            code,
            previous: CURRENT.get(),
            faulted: false,
            fault: MaybeUninit::uninit(),
        }
    }

    /// The exception that ended an activation, if one did.
    ///
    /// # Safety
    ///
    /// The trampoline has come back, and nobody else uses the entry.
    pub(super) unsafe fn fault(entry: *mut Entry) -> Option<Box<RawFault>> {
        // SAFETY: as the caller promises. Volatile because the handler wrote it.
        let faulted = unsafe { (&raw const (*entry).faulted).read_volatile() };
        // SAFETY: as above; where it says so, it wrote that as well.
        faulted.then(|| Box::new(unsafe { (&raw const (*entry).fault).cast::<RawFault>().read_volatile() }))
    }

    /// Ends an activation.
    ///
    /// # Safety
    ///
    /// `entry` is the current activation and the trampoline has come back.
    #[inline]
    unsafe fn leave(entry: *mut Entry) -> Option<Box<RawFault>> {
        // SAFETY: nobody else uses it any more.
        let previous = unsafe { (*entry).previous };
        CURRENT.set(previous);
        // SAFETY: as above.
        unsafe { Entry::fault(entry) }
    }
}

thread_local! {
    /// Innermost activation on this thread. Needs no destructor, so a handler may read it.
    static CURRENT: Cell<*mut Entry> = const { Cell::new(std::ptr::null_mut()) };
    /// Set once this thread's handler has a stack.
    static STACK: Result<AltStack, Error> = AltStack::ensure();
}

/// Makes an activation the innermost one of the current thread; returns the previous one. Not inlined, because a fiber
/// may continue on another thread, and the compiler must not reuse the address of a thread-local variable.
#[inline(never)]
pub(super) fn exchange_current(entry: *mut Entry) -> *mut Entry {
    CURRENT.replace(entry)
}

/// The innermost activation of this thread.
pub(super) fn current() -> *mut Entry {
    CURRENT.get()
}

/// Makes sure that the handler has a stack on this thread.
pub(super) fn ensure_signal_stack() {
    STACK.with(|_| ());
}

/// The innermost activation of this thread, for a handler on the same thread.
pub(super) fn current_entry<'a>() -> Option<&'a Entry> {
    // SAFETY: null or an activation on this thread's stack, which lives at least as long as the handler runs.
    unsafe { CURRENT.get().as_ref() }
}

/// Runs `code(context, frame)` with the float environment of `mode`; its result, or the exception
/// that ended it. Enters nest: compiled code may call a Rust function that enters compiled code.
///
/// # Safety
///
/// - `code` is the start of a function `extern "C" fn(*mut u8, *mut u8) -> u64` in memory of
///   [`crate::vm::CodeMemory`] that stays alive until this returns;
/// - `context` and `frame` are what it expects, and it accesses only what they name, its stack, and
///   guest memory;
/// - Rust functions that it calls do not unwind, and the frames between them and this call hold nothing
///   to drop (a fault skips the frames of compiled code above this call).
pub unsafe fn enter(
    code: *const u8,
    context: *mut u8,
    frame: *mut u8,
    mode: FloatMode,
) -> Result<u64, Box<RawFault>> {
    debug_assert!(registry::lookup(code as usize).is_some(), "code of CodeMemory");
    // A thread without a stack for signals still has its own: an overflow of it is fatal either way.
    STACK.with(|_| ());
    let mut entry = Entry::new(code, mode, 0);
    let entry: *mut Entry = &raw mut entry;
    CURRENT.set(entry);
    // SAFETY: `code`, `context`, `frame` as the caller promises; `entry` lives on this stack frame.
    let result = unsafe { warpjit_runtime_enter(entry, code, context, frame) };
    // SAFETY: made current above; the trampoline has come back.
    match unsafe { Entry::leave(entry) } {
        None => Ok(result),
        Some(fault) => Err(fault),
    }
}

/// As [`enter`], called by compiled code that was entered so, in the float environment in which it was entered. To find that out takes
/// a processor as long as a short call: it waits for all floats that are being computed.
///
/// # Safety
///
/// As for [`enter`], and the float environment is that of the innermost activation of the thread, if there is one. Code leaves it as it is.
#[cfg(target_arch = "x86_64")]
pub unsafe fn enter_within(
    code: *const u8,
    context: *mut u8,
    frame: *mut u8,
    mode: FloatMode,
) -> Result<u64, Box<RawFault>> {
    // SAFETY: null or an activation on this thread's stack, which lives longer than this call.
    let Some(around) = (unsafe { CURRENT.get().as_ref() }) else {
        // SAFETY: as the caller promises.
        return unsafe { enter(code, context, frame, mode) };
    };
    debug_assert!(registry::lookup(code as usize).is_some(), "code of CodeMemory");
    let own = around.wanted_control;
    debug_assert!((arch::control() ^ own) & arch::SETTINGS == 0, "another float environment");
    let mut entry = Entry { saved_control: own, ..Entry::new(code, mode, 0) };
    let turns = entry.wanted_control != own;
    if turns {
        // SAFETY: nothing here computes with floats.
        unsafe { arch::set_control(entry.wanted_control) };
    }
    let entry: *mut Entry = &raw mut entry;
    CURRENT.set(entry);
    // SAFETY: as in `enter`; the environment is what the code wants, and after an exception the one that was saved.
    let result = unsafe { warpjit_runtime_enter_within(entry, code, context, frame) };
    if turns {
        // SAFETY: the environment that there was.
        unsafe { arch::set_control(own) };
    }
    // SAFETY: made current above; the trampoline has come back.
    match unsafe { Entry::leave(entry) } {
        None => Ok(result),
        Some(fault) => Err(fault),
    }
}

/// Makes the calls in order, each with its own frame and first word of the context, while they give `wanted`. Gives the
/// index of the last call made, and in `ended` how it ended if by an exception: cheaper than as many times [`enter`].
///
/// # Safety
///
/// As for [`enter`], for each of the calls; `context` names three words at least, the first of them writable.
pub unsafe fn enter_all(
    code: *const u8,
    context: *mut u8,
    calls: &mut [Call],
    wanted: u64,
    mode: FloatMode,
    ended: &mut Option<Box<RawFault>>,
) -> usize {
    debug_assert!(registry::lookup(code as usize).is_some(), "code of CodeMemory");
    if calls.is_empty() {
        return 0;
    }
    STACK.with(|_| ());
    let mut entry = Entry::new(code, mode, wanted);
    let entry: *mut Entry = &raw mut entry;
    CURRENT.set(entry);
    let range = calls.as_mut_ptr_range();
    // SAFETY: as in `enter`; the range is that of `calls`, which is not empty.
    unsafe { warpjit_runtime_enter_all(entry, code, context, range.start, range.end) };
    // SAFETY: the trampoline wrote it; it points into `calls`.
    let last = unsafe { (&raw const (*entry).call).read_volatile().offset_from(range.start) };
    // SAFETY: made current above; the trampoline has come back.
    if let Some(fault) = unsafe { Entry::leave(entry) } {
        // Written only then: what is returned by value is copied several times on the way, which takes longer than a short call.
        *ended = Some(fault);
    }
    last.unsigned_abs()
}

/// The handler of all four signals. Calls async-signal-safe functions only.
pub(super) unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the arguments of this very signal.
    unsafe {
        if !handle_signal(signal, info, context) {
            signals::hand_on(signal, info, context);
        }
    }
}

/// Takes a signal that a fault of compiled code, or of the runtime's own access to guest memory, has raised, or a store of any code to a
/// page that has been looked at ([`crate::Memory::take_dirty`]). For a
/// handler of the embedder's ([`crate::Signals::Embedder`]; with [`crate::Signals::Own`] it may be called too). `true`:
/// it was one, and the thread goes on when the handler returns, which must do so at once. `false`: it is none of ours,
/// and nothing has been changed. Faults of compiled code are SIGSEGV, SIGBUS, SIGILL and SIGFPE.
///
/// It may be called on any stack, with any signals blocked. It is async-signal-safe.
///
/// # Safety
///
/// The arguments are those that the kernel has passed to a handler with `SA_SIGINFO` which runs on this thread.
pub unsafe extern "C" fn handle_signal(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) -> bool {
    // What somebody sent is no fault of ours.
    // SAFETY: `info` is valid.
    if !signals::SIGNALS.contains(&signal) || unsafe { (*info).si_code } <= 0 {
        return false;
    }
    // SAFETY: as above.
    let address = unsafe { (*info).si_addr() } as usize;
    // Whatever code has stored there: also the embedder's, through a pointer.
    if signal == signals::SIGNALS[0] && super::stores::mend(address) {
        return true;
    }
    // SAFETY: the kernel passes a valid ucontext to a SA_SIGINFO handler, alone ours while we run.
    let registers = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let pc = arch::pc(registers);
    let is_guarded = guarded::is_inside(pc);
    let entry = CURRENT.get();
    if !is_guarded && (entry.is_null() || registry::lookup(pc).is_none()) {
        return false;
    }
    if is_guarded {
        arch::resume_at(registers, guarded::failed());
        return true;
    }
    // SAFETY: CURRENT names an activation on this thread's stack below the interrupted compiled code;
    // `info` is valid, and the address field is that of these signals.
    unsafe {
        (&raw mut (*entry).fault).cast::<RawFault>().write_volatile(RawFault {
            pc,
            address: (*info).si_addr() as usize,
            signal,
            registers: arch::general(registers),
        });
        (&raw mut (*entry).faulted).write_volatile(true);
        arch::resume_at_recovery(registers, (*entry).stack_pointer);
    }
    true
}
