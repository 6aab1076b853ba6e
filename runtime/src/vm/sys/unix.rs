//! Signals: the handler, the stacks it runs on, and the entry to compiled code it returns to.

use super::{FloatMode, arch};
use crate::Error;
use crate::vm::registry;
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use warpjit_backend::HostRegisters;

/// A processor exception in compiled code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct RawFault {
    /// Host address of the instruction.
    pub pc: usize,
    /// Host address it accessed (of a memory fault; else the pc or 0).
    pub address: usize,
    /// The signal's number (`libc::SIGSEGV`, ...).
    pub signal: i32,
    /// General registers of the instruction.
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
    /// [`enter_all`]: what a call must give for the next one to be made.
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
    /// What the context's first word is to be.
    pub word: u64,
    /// Out: what it gave.
    pub result: u64,
    /// Out: the context's second and third word behind it.
    pub words: [u64; 2],
    /// The caller's.
    pub tag: usize,
}

impl Call {
    /// A call that has not been made.
    pub fn new(frame: *mut u8, word: u64, tag: usize) -> Call {
        Call { frame, word, result: 0, words: [0; 2], tag }
    }
}

impl Entry {
    fn new(code: *const u8, mode: FloatMode, wanted_result: u64) -> Entry {
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

    /// Ends an activation.
    ///
    /// # Safety
    ///
    /// `entry` is the current activation and the trampoline has come back.
    #[inline]
    unsafe fn leave(entry: *mut Entry) -> Option<Box<RawFault>> {
        // SAFETY: nobody else uses it any more. Volatile because the handler wrote it.
        let (previous, faulted) =
            unsafe { ((*entry).previous, (&raw const (*entry).faulted).read_volatile()) };
        CURRENT.set(previous);
        // SAFETY: as above; where it says so, it wrote that as well.
        faulted.then(|| Box::new(unsafe { (&raw const (*entry).fault).cast::<RawFault>().read_volatile() }))
    }
}

thread_local! {
    /// Innermost activation on this thread. Needs no destructor, so a handler may read it.
    static CURRENT: Cell<*mut Entry> = const { Cell::new(std::ptr::null_mut()) };
    /// Makes sure once a thread that the handler has a stack.
    static STACK: Result<AltStack, Error> = AltStack::ensure();
}

/// The innermost activation of this thread, for a handler on the same thread.
pub(super) fn current_entry<'a>() -> Option<&'a Entry> {
    // SAFETY: null or an activation on this thread's stack, which lives at least as long as the handler runs.
    unsafe { CURRENT.get().as_ref() }
}

const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

/// The handlers that were there before ours. Written before ours is installed, never after.
struct Previous(UnsafeCell<[MaybeUninit<libc::sigaction>; SIGNALS.len()]>);
// SAFETY: each element is written once, before the handler that reads it is installed.
unsafe impl Sync for Previous {}
static PREVIOUS: Previous = Previous(UnsafeCell::new([const { MaybeUninit::uninit() }; SIGNALS.len()]));

/// Installs the signal handlers, once a process. [`enter`] needs it.
///
/// Handlers that were there before get every signal that is not a fault of compiled code.
pub fn init() -> Result<(), Error> {
    static DONE: OnceLock<Result<(), Error>> = OnceLock::new();
    DONE.get_or_init(|| {
        for (at, &signal) in SIGNALS.iter().enumerate() {
            // SAFETY: zero is a valid sigaction; pointers are to locals and to our static, which nobody
            // reads before the second call installs the handler, and only this closure writes.
            let status = unsafe {
                let previous = (*PREVIOUS.0.get()).as_mut_ptr().add(at).cast::<libc::sigaction>();
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handle as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                libc::sigemptyset(&mut action.sa_mask);
                // A sample of the handler says nothing, and its frame would need room on the same stack.
                libc::sigaddset(&mut action.sa_mask, libc::SIGPROF);
                match libc::sigaction(signal, std::ptr::null(), previous) {
                    0 => libc::sigaction(signal, &action, std::ptr::null_mut()),
                    failed => failed,
                }
            };
            if status != 0 {
                return Err(Error::os("install signal handler", std::io::Error::last_os_error()));
            }
        }
        Ok(())
    })
    .clone()
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
    let result = unsafe { arch::warpjit_runtime_enter(entry, code, context, frame) };
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
    unsafe { arch::warpjit_runtime_enter_all(entry, code, context, range.start, range.end) };
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
unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let entry = CURRENT.get();
    // SAFETY: the kernel passes a valid ucontext to a SA_SIGINFO handler, alone ours while we run.
    let registers = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let pc = arch::pc(registers);
    if !entry.is_null() && registry::lookup(pc).is_some() {
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
        return;
    }
    // SAFETY: the arguments of this very signal.
    unsafe { pass_on(signal, info, context) }
}

/// Does with a foreign signal what would have happened without us.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(at) = SIGNALS.iter().position(|&other| other == signal) else {
        return;
    };
    // SAFETY: `init` has written the element before it installed this handler.
    let previous = unsafe { (*PREVIOUS.0.get())[at].assume_init_ref() };
    // SAFETY: as the caller promises.
    unsafe { forward(previous, signal, info, context) }
}

/// Does with a signal what an earlier handler of it would have done.
///
/// # Safety
///
/// The last three are the arguments of a handler that runs.
pub(super) unsafe fn forward(
    previous: &libc::sigaction,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    match previous.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // The instruction runs again and takes the default action, a core dump with the true pc.
            // A signal that somebody sent does not come again by itself.
            // SAFETY: plain system calls with valid arguments.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = if (*info).si_code > 0 { libc::SIG_DFL } else { previous.sa_sigaction };
                libc::sigaction(signal, &action, std::ptr::null_mut());
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
        }
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the flag says that the address is of a function of this type.
            let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            // SAFETY: called as the kernel would.
            unsafe { handler(signal, info, context) }
        }
        handler => {
            // SAFETY: without the flag it is a function of the number alone.
            let handler: unsafe extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            // SAFETY: called as the kernel would.
            unsafe { handler(signal) }
        }
    }
}

/// A stack for signal handlers on this thread. Rust's own threads have a small one already; a thread
/// that somebody else made may have none.
struct AltStack {
    /// The mapping that we made, with a guard page at its start; null if the thread had a stack.
    mapping: *mut libc::c_void,
    bytes: usize,
}

impl AltStack {
    const STACK_BYTES: usize = 64 << 10;

    fn ensure() -> Result<Self, Error> {
        // What the kernel puts there, several KiB with wide vectors, and room for the handler.
        const HANDLER_BYTES: usize = 4 << 10;
        // SAFETY: asks for a number; 0 where the kernel does not say.
        let kernel_bytes = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
        let enough_bytes = kernel_bytes.max(2 << 10) + HANDLER_BYTES;
        // SAFETY: system calls with pointers to locals; the mapping is new and given to the kernel whole.
        unsafe {
            let mut old: libc::stack_t = std::mem::zeroed();
            libc::sigaltstack(std::ptr::null(), &mut old);
            if old.ss_flags & libc::SS_DISABLE == 0 && old.ss_size >= enough_bytes {
                return Ok(AltStack { mapping: std::ptr::null_mut(), bytes: 0 });
            }
            let guard = rustix::param::page_size();
            let bytes = guard + Self::STACK_BYTES;
            let mapping = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if mapping == libc::MAP_FAILED {
                return Err(Error::os("signal stack", std::io::Error::last_os_error()));
            }
            let start = mapping.cast::<u8>().add(guard).cast::<libc::c_void>();
            let stack = libc::stack_t { ss_sp: start, ss_flags: 0, ss_size: Self::STACK_BYTES };
            if libc::mprotect(start, Self::STACK_BYTES, libc::PROT_READ | libc::PROT_WRITE) != 0
                || libc::sigaltstack(&stack, std::ptr::null_mut()) != 0
            {
                let error = std::io::Error::last_os_error();
                libc::munmap(mapping, bytes);
                return Err(Error::os("signal stack", error));
            }
            Ok(AltStack { mapping, bytes })
        }
    }
}

impl Drop for AltStack {
    fn drop(&mut self) {
        if self.mapping.is_null() {
            return;
        }
        // SAFETY: the thread is ending and in no handler; only our own stack is disabled before it goes.
        unsafe {
            let mut now: libc::stack_t = std::mem::zeroed();
            libc::sigaltstack(std::ptr::null(), &mut now);
            let start = now.ss_sp as usize;
            let own = self.mapping as usize..self.mapping as usize + self.bytes;
            if own.contains(&start) {
                let off =
                    libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
                libc::sigaltstack(&off, std::ptr::null_mut());
            }
            libc::munmap(self.mapping, self.bytes);
        }
    }
}
